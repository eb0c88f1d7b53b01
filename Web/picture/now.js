// The card of the instant in focus, and its words for screen readers.

import { byId, make } from '../shared/elements.js';
import { effectsOf } from './lanes.js';
import { model, on, state } from './state.js';
import { instant, lateWords } from './summary.js';
import { stepTo, view } from './view.js';
import { clockText } from '../shared/words.js';

const mostEffects = 4;

/** Follows the cursor. */
export function startNow() {
  on('instant', fill);
}

function fill() {
  const lines = instant(model(), view.cursor);
  byId('at').textContent = clockText(view.cursor, 0.001);
  byId('wall').textContent = wallText();
  byId('now').replaceChildren(...lines.flatMap(([name, words]) =>
    [make('dt', {}, name), make('dd', {}, words)]));
  byId('event').replaceChildren(...view.focus >= 0 ? [eventBox(view.focus)] : []);
  describeBoard(lines);
}

function wallText() {
  if (!Number.isFinite(state.startedAt)) return '';
  const time = new Date(state.startedAt + view.cursor * 1000);
  return `${time.toISOString().slice(11, 23)} UTC`;
}

function eventBox(index) {
  const { events } = model();
  const event = events[index];
  const link = at => make('button', {
    class: 'thread', type: 'button', on: { click: () => stepTo(at) },
  }, events[at].say);
  const row = (word, at) => make('p', { class: 'related' }, make('span', {}, word), link(at));
  const related = effectsOf(events, index, mostEffects).map(at => row('so:', at));
  if (event.by !== undefined) related.unshift(row('because:', event.by));
  const inferred = event.guess === true ? ' (inferred: the source does not tell)' : '';
  const line = Number.isInteger(event.line) ? make('p', {}, `journal, line ${event.line}`) : null;
  const late = lateWords(model(), index);
  return make('div', { class: 'event' }, make('p', {}, event.say + inferred),
    late ? make('p', {}, late) : null, ...related, line);
}

function describeBoard(lines) {
  const board = byId('board');
  const event = view.focus >= 0 ? `${model().events[view.focus].say} ` : '';
  const words = lines.map(([name, text]) => `${name}: ${text}`).join('. ');
  board.setAttribute('aria-valuemax', +state.end.toFixed(3));
  board.setAttribute('aria-valuenow', +view.cursor.toFixed(3));
  board.setAttribute('aria-valuetext', `${clockText(view.cursor, 0.1)}. ${event}${words}`);
}
