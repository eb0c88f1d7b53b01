// The canvas with the lanes of the chosen link, its size, and its names.

import { byId, make } from '../shared/elements.js';
import { Lanes } from './lanes.js';
import { drawRibbons, moveBrush } from './links.js';
import { model, on, state } from './state.js';
import { advance, view } from './view.js';

/** The widest window in which names stand above their lanes. */
const narrow = 680;
/** The height below the lanes and the legend, for the table's title. */
const below = 58;
const tall = 40;

/** The drawn lanes. */
export const lanes = new Lanes(byId('canvas'));

let isAsked = false;
let isLayoutAsked = false;
/** The size that a printed page has; `null` on the screen. */
let paper = null;

/** Draws before the next frame, once however often it is asked. */
function paint() {
  if (isAsked || !state.models.length) return;
  isAsked = true;
  requestAnimationFrame(now => {
    isAsked = false;
    advance(now);
    drawNow();
  });
}

function drawNow() {
  lanes.draw(view);
  moveBrush(lanes);
}

/** Lays the lanes out in the place that the window leaves, and draws. */
function layOut() {
  if (!state.models.length) return;
  const board = byId('board');
  const top = board.getBoundingClientRect().top + scrollY;
  const room = paper ? paperRoom() : innerHeight - top - byId('legend').offsetHeight - below;
  lanes.use(model(), { isNarrow: innerWidth < narrow && !paper, room, least: paper ? 0.66 : 1 });
  lanes.width = paper ? paper.width : Math.max(120, board.clientWidth);
  lanes.left = paper ? paper.left : byId('links').clientWidth - board.clientWidth;
  board.style.height = `${lanes.plan.height}px`;
  byId('names').style.height = board.style.height;
  byId('names').replaceChildren(...lanes.plan.lanes.map(nameOf));
  drawRibbons(lanes);
  paint();
}

/** Returns the height of the lanes that leaves place for the rest of a printed page. */
function paperRoom() {
  const ribbons = state.models.length * 23;
  const moments = Math.ceil(model().moments.length / 3) * 56;
  const legend = Math.ceil(byId('legend').childElementCount / 7) * 16;
  return paper.height - 124 - legend - ribbons - moments;
}

function nameOf(lane) {
  const isTall = lane.height > tall;
  const inside = lane.top + Math.max(2, lane.height / 2 - (isTall ? 17 : 9));
  const top = lane.strip ? lane.top - lane.strip : inside;
  return make('div', { style: `top:${top}px;height:${lane.height}px` },
    make('b', {}, lane.kind.name), isTall ? make('i', {}, lane.kind.note) : null);
}

function layOutSoon() {
  if (isLayoutAsked) return;
  isLayoutAsked = true;
  requestAnimationFrame(() => {
    isLayoutAsked = false;
    layOut();
  });
}

/** Uses the size of a printed page; `null` for that of the window. */
export function usePaper(size) {
  paper = size;
  byId('canvas').dataset.ratio = size ? 2 : '';
  layOut();
  if (state.models.length) drawNow();
}

/** Draws after changes of the page and of the window. */
export function startBoard() {
  on('opened', layOut);
  on('link', layOut);
  on('grown', layOut);
  on('frame', paint);
  on('colors', () => {
    lanes.surface.updateColors();
    layOut();
  });
  // The width is watched alone: a layout changes the height, which must not ask for a layout.
  let width = 0;
  new ResizeObserver(entries => {
    const seen = entries.at(-1).contentRect.width;
    if (seen === width) return;
    width = seen;
    layOutSoon();
  }).observe(byId('board'));
  addEventListener('resize', layOutSoon);
}
