// The wheel, the pointer and touches on the board.

import { byId } from '../shared/elements.js';
import { lanes } from './board.js';
import { clamp } from '../shared/numbers.js';
import { changed, model } from './state.js';
import { hideTip, showTip } from './tip.js';
import { pan, place, show, stopMoving, view, zoom } from './view.js';

const board = byId('board');
/** The horizontal places of pressed pointers. */
const pointers = new Map();
/** The drag in progress; `null` without one. */
let drag = null;

const pointOf = event => {
  const box = board.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};

/** Returns the time at a place, also before the interval in sight is drawn. */
const timeAt = x => view.from + x / lanes.width * (view.to - view.from);

function turnWheel(event) {
  event.preventDefault();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
  const sideways = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
  const upright = event.shiftKey ? 0 : event.deltaY;
  if (Math.abs(sideways) > Math.abs(upright)) {
    pan(sideways * unit / lanes.width, false);
    return;
  }
  // Browsers report a pinch on a touchpad as a wheel with Ctrl.
  const speed = event.ctrlKey ? 0.01 : 0.0022;
  const factor = Math.exp(clamp(upright * unit, -120, 120) * speed);
  zoom(factor, timeAt(pointOf(event).x), false);
}

function press(event) {
  if (event.pointerType === 'mouse' && event.button !== 0) return;
  board.setPointerCapture(event.pointerId);
  const { x, y } = pointOf(event);
  pointers.set(event.pointerId, x);
  stopMoving();
  drag = {
    x, y, from: view.from, to: view.to, hasMoved: false,
    measured: event.shiftKey ? timeAt(x) : null, pinch: null,
  };
  if (pointers.size !== 2) return;
  const [a, b] = pointers.values();
  drag.pinch = { gap: Math.max(20, Math.abs(a - b)), at: timeAt((a + b) / 2) };
}

function move(event) {
  const { x, y } = pointOf(event);
  if (pointers.has(event.pointerId)) pointers.set(event.pointerId, x);
  if (drag?.pinch && pointers.size === 2) pinch();
  else if (drag && pointers.size === 1) dragTo(x);
  else if (!drag) hover(x, y, event);
}

function pinch() {
  const [a, b] = pointers.values();
  const span = (drag.to - drag.from) * drag.pinch.gap / Math.max(20, Math.abs(a - b));
  const share = (a + b) / 2 / lanes.width;
  show(drag.pinch.at - span * share, drag.pinch.at + span * (1 - share), false);
  drag.hasMoved = true;
}

function dragTo(x) {
  if (Math.abs(x - drag.x) > 4) {
    drag.hasMoved = true;
    board.classList.add('drag');
  }
  hideTip();
  if (drag.measured !== null) {
    view.range = [drag.measured, timeAt(x)];
    changed('frame');
  } else if (drag.hasMoved) {
    const by = (drag.x - x) / lanes.width * (drag.to - drag.from);
    show(drag.from + by, drag.to + by, false);
  }
}

function release(event) {
  pointers.delete(event.pointerId);
  if (!drag) return;
  if (view.range && drag.hasMoved) {
    const [a, b] = view.range.toSorted((one, other) => one - other);
    if (b > a) show(a, b);
  } else if (!drag.hasMoved && event.type === 'pointerup') {
    focusOn(drag.x, drag.y);
  }
  // A finger that remains after a pinch does not move the picture.
  drag.hasMoved = true;
  drag.pinch = null;
  drag.from = view.from;
  drag.to = view.to;
  if (pointers.size) {
    [drag.x] = pointers.values();
    return;
  }
  drag = null;
  view.range = null;
  board.classList.remove('drag');
  changed('frame');
}

function focusOn(x, y) {
  const index = lanes.hit(x, y);
  place(index >= 0 ? model().events[index].t : timeAt(x), index);
}

function hover(x, y, event) {
  view.hover = timeAt(x);
  changed('frame');
  showTip(lanes, x, y, event);
}

function leave() {
  hideTip();
  view.hover = null;
  changed('frame');
}

/** Reacts to pointers on the board. */
export function startPointer() {
  board.addEventListener('wheel', turnWheel, { passive: false });
  board.addEventListener('pointerdown', press);
  board.addEventListener('pointermove', move);
  board.addEventListener('pointerup', release);
  board.addEventListener('pointercancel', release);
  board.addEventListener('pointerleave', leave);
  board.addEventListener('dblclick', event => zoom(0.35, timeAt(pointOf(event).x)));
}
