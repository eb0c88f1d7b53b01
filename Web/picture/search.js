// The search in the sentences of events.

import { byId } from '../shared/elements.js';
import { changed, model, on, state } from './state.js';
import { stepTo, view } from './view.js';
import { count } from '../shared/words.js';

const field = byId('search');
/** The number of events that can be searched while a key is pressed. */
const quick = 100_000;
const pause = 200;
/** The search that waits for the end of typing; 0 without one. */
let waiting = 0;

/** Searches while the person types. */
export function startSearch() {
  field.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = 0;
    if (model().size > quick) waiting = setTimeout(search, pause);
    else search();
  });
  on('link', search);
  on('grown', search);
}

/** Removes the words of the search. */
export function clearSearch() {
  field.value = '';
  search();
}

function search() {
  clearTimeout(waiting);
  waiting = 0;
  const words = field.value.trim().toLowerCase();
  state.matches = words ? find(words) : null;
  const many = state.matches?.length ?? 0;
  byId('matches').textContent = words ? count(many, 'match', 'matches') : '';
  field.setAttribute('aria-invalid', words !== '' && many === 0);
  changed('matches');
}

function find(words) {
  const found = [];
  model().events.forEach((event, index) => {
    const isMatch = event.lane === words || event.kind === words;
    if (isMatch || event.say.toLowerCase().includes(words)) found.push(index);
  });
  return found;
}

/** Puts the focus on the match after or before the event in focus. */
export function stepMatch(direction) {
  if (waiting) search();
  const { matches } = state;
  if (!matches?.length) return;
  const next = direction > 0 ? matches.find(index => index > view.focus) ?? matches[0]
    : matches.findLast(index => index < view.focus) ?? matches.at(-1);
  stepTo(next);
}
