// The table of events. Only the rows in sight are in the document.

import { byId, make } from '../shared/elements.js';
import { clamp } from '../shared/numbers.js';
import { model, on, state } from './state.js';
import { stepTo, view } from './view.js';
import { clockText } from '../shared/words.js';

const rowHeight = 24;
// A browser limits the height of an element. Longer tables scroll in proportion.
const mostHeight = 8_000_000;
const extraRows = 6;

const box = byId('scroll');

/** Fills the table while it is open. */
export function startTable() {
  on('link', fill);
  on('matches', fill);
  on('instant', showFocus);
  box.addEventListener('scroll', fill, { passive: true });
  byId('all').addEventListener('toggle', showFocus);
}

const rowCount = () => state.matches ? state.matches.length : model().size;
const eventOfRow = row => state.matches ? state.matches[row] : row;
const heightOf = many => Math.min(mostHeight, many * rowHeight);

/** Returns the row that a place of the scroll bar shows first. */
function firstRow(many) {
  const room = Math.max(1, heightOf(many) - box.clientHeight);
  const seen = box.clientHeight / rowHeight;
  return clamp(box.scrollTop / room, 0, 1) * Math.max(0, many - seen);
}

function showFocus() {
  if (!state.models.length || !byId('all').open) return;
  // A table without rows has no height to scroll in.
  if (!byId('rows').childElementCount) fill();
  const many = rowCount();
  const row = state.matches ? state.matches.indexOf(view.focus) : view.focus;
  const first = firstRow(many);
  const seen = box.clientHeight / rowHeight;
  if (row >= 0 && (row < first || row > first + seen - 3)) {
    const wanted = clamp(row - 4, 0, Math.max(0, many - seen));
    const share = wanted / Math.max(1, many - seen);
    box.scrollTop = share * Math.max(1, heightOf(many) - box.clientHeight);
  }
  fill();
}

function fill() {
  if (!state.models.length || !byId('all').open) return;
  const many = rowCount();
  const top = Math.floor(firstRow(many));
  const first = clamp(top - extraRows, 0, Math.max(0, many - 1));
  const last = Math.min(many, top + Math.ceil(box.clientHeight / rowHeight) + extraRows);
  const before = clamp(box.scrollTop - (firstRow(many) - first) * rowHeight, 0,
    first * rowHeight);
  const after = Math.max(0, heightOf(many) - before - (last - first) * rowHeight);
  const rows = [];
  for (let row = first; row < last; row++) rows.push(rowOf(eventOfRow(row), row));
  byId('table').setAttribute('aria-rowcount', many + 1);
  byId('rows').replaceChildren(filler(before), ...rows, filler(after));
}

const filler = height => make('tr', { 'aria-hidden': 'true' },
  make('td', { colspan: 3, style: `height:${height}px;padding:0` }));

function rowOf(index, row) {
  const event = model().events[index];
  return make('tr', {
    'aria-current': index === view.focus ? 'true' : null, 'aria-rowindex': row + 2,
    on: { click: () => stepTo(index) },
  }, make('td', {}, clockText(event.t, 0.001)), make('td', {}, event.lane),
  make('td', {}, event.say));
}
