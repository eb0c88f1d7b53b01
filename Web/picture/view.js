// The interval in sight and the instant in focus.

import { clamp, lowerBound } from '../shared/numbers.js';
import { worstMoment } from './moments.js';
import { changed, model, state } from './state.js';

/** The interval, the cursor, the event in focus or -1, and what the pointer does. */
export const view = {
  from: 0, to: 1, cursor: 0, focus: -1, hover: null,
  /** The interval that a drag measures; `null` without one. */
  range: null,
};

const leastSpan = 0.002;
const margin = 0.01;
const duration = 180;
const still = matchMedia('(prefers-reduced-motion: reduce)');
/** The movement to another interval; `null` without one. */
let movement = null;

/** Returns the whole axis, with its margins. */
export const wholeAxis = () => [-state.end * margin, state.end * (1 + margin)];

/** Returns the interval at which a movement ends. */
const target = () => movement ? movement.end : [view.from, view.to];

/** Shows an interval, at once or with a movement. */
export function show(from, to, isSmooth = true) {
  const span = clamp(to - from, Math.min(leastSpan, state.end), state.end * 1.04);
  const pad = state.end * 0.02;
  const left = clamp((from + to - span) / 2, -pad, Math.max(-pad, state.end + pad - span));
  const end = [left, left + span];
  if (isSmooth && !still.matches) {
    movement = { begin: [view.from, view.to], end, start: performance.now() };
  } else {
    movement = null;
    [view.from, view.to] = end;
    changed('interval');
  }
  changed('moved');
  changed('frame');
}

/** Ends a movement where it is. */
export function stopMoving() {
  movement = null;
}

/** Moves on for a frame at a time. */
export function advance(now) {
  if (!movement) return;
  const share = clamp((now - movement.start) / duration, 0, 1);
  const eased = 1 - (1 - share) ** 3;
  const { begin, end } = movement;
  view.from = begin[0] + (end[0] - begin[0]) * eased;
  view.to = begin[1] + (end[1] - begin[1]) * eased;
  if (share >= 1) {
    movement = null;
    changed('interval');
  }
  changed('frame');
}

/** Multiplies the length of the interval. The instant `at` keeps its place. */
export function zoom(factor, at, isSmooth) {
  const [from, to] = target();
  const isCursorSeen = view.cursor >= from && view.cursor <= to;
  const fixed = at ?? (isCursorSeen ? view.cursor : (from + to) / 2);
  show(fixed - (fixed - from) * factor, fixed + (to - fixed) * factor, isSmooth);
}

/** Moves the interval by a share of its length. */
export function pan(share, isSmooth) {
  const [from, to] = target();
  const by = (to - from) * share;
  show(from + by, to + by, isSmooth);
}

/** Shows the whole axis. */
export function showAll(isSmooth) {
  show(...wholeAxis(), isSmooth);
}

/** Moves an instant into sight. */
function reveal(time) {
  const [from, to] = target();
  const span = to - from;
  if (time < from + span * 0.08 || time > to - span * 0.08) {
    show(time - span / 2, time + span / 2);
  }
}

/** Puts the cursor on an instant, and the focus on an event or on none. */
export function place(time, event = -1) {
  view.cursor = clamp(time, 0, state.end);
  view.focus = event;
  changed('instant');
  changed('frame');
}

/** Puts the focus on an event, in sight. */
export function stepTo(index) {
  const { t } = model().events[index];
  reveal(t);
  place(t, index);
}

/** Puts the focus on the event before or after the cursor. */
export function step(direction) {
  const { times, size } = model();
  const here = view.focus >= 0 ? view.focus
    : lowerBound(times, view.cursor) - (direction > 0 ? 1 : 0);
  stepTo(clamp(here + direction, 0, size - 1));
}

/** Puts the focus on the moment before or after the cursor. */
export function stepMoment(direction) {
  const isAfter = one => one.t > view.cursor + 1e-4
    || (one.t > view.cursor - 1e-4 && one.event > view.focus && view.focus >= 0);
  const isBefore = one => one.t < view.cursor - 1e-4
    || (one.t < view.cursor + 1e-4 && one.event < view.focus);
  const { moments } = model();
  const moment = direction > 0 ? moments.find(isAfter) : moments.findLast(isBefore);
  if (moment) stepTo(moment.event);
}

/** Shows a moment from its cause to the end of its consequences. */
export function showMoment(index) {
  const moment = model().moments[index];
  if (!moment) return;
  const end = moment.whole ?? moment.until;
  const pad = Math.max(2, end - moment.t) * 0.7;
  const lead = Math.max(pad, moment.noticed ? moment.noticed + 2 : 0, moment.silent ?? 0);
  show(moment.t - lead, end + pad);
  place(moment.t, moment.event);
}

/** Shows the moment at the cursor or the last one before it. */
export function showLastMoment() {
  showMoment(model().moments.findLastIndex(one => one.t <= view.cursor + 1e-4));
}

/** Chooses another link. */
export function choose(index) {
  state.chosen = clamp(index, 0, state.models.length - 1);
  view.focus = -1;
  changed('link');
  place(view.cursor);
}

/** Chooses another link, and shows its life with the cursor on its worst moment. */
export function visit(index) {
  choose(index);
  const one = model();
  if (one.header.source === 'live') return;
  const [from, to] = one.life;
  const pad = Math.max(0.05, (to - from) * 0.04);
  if (to - from > state.end * 0.8) showAll();
  else show(from - pad, to + pad);
  const worst = worstMoment(one.moments);
  if (worst) place(worst.t, worst.event);
  else place(from);
}
