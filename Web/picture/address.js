// The instant, the interval and the link in the address of the page.

import { worstMoment } from './moments.js';
import { lowerBound } from '../shared/numbers.js';
import { model, on, state } from './state.js';
import { choose, place, show, showAll, view } from './view.js';

const delay = 250;
let timer = 0;

const rounded = (value, digits) => String(+value.toFixed(digits));

function fragment() {
  const event = view.focus >= 0 ? `&e=${view.focus}` : '';
  const interval = `${rounded(view.from, 4)}~${rounded(view.to, 4)}`;
  return `#t=${rounded(view.cursor, 4)}${event}&z=${interval}&l=${state.chosen}`;
}

/** Writes what is shown into the address. */
export function remember() {
  write(fragment());
}

function write(text) {
  clearTimeout(timer);
  try {
    history.replaceState(null, '', text);
  } catch {
    // A page inside another page may have no address of its own.
  }
}

function rememberSoon() {
  clearTimeout(timer);
  timer = setTimeout(remember, delay);
}

/** Removes what is shown from the address. */
export function forget() {
  write('#');
}

const number = text => text === null || text.trim() === '' ? NaN : Number(text);

/** Shows what the address says; without an instant, the most important one. */
export function recall() {
  if (!state.models.length) return;
  const found = new URLSearchParams(location.hash.slice(1));
  const link = number(found.get('l'));
  choose(Number.isInteger(link) && state.models[link] ? link : Math.max(0, firstWithFinding()));
  const [from, to] = (found.get('z') ?? '').split('~').map(number);
  if (to > from) show(from, to, false);
  else showAll(false);
  const time = number(found.get('t'));
  if (Number.isFinite(time)) {
    place(time, eventAt(time, number(found.get('e'))));
    return;
  }
  const first = worstMoment(model().moments);
  if (first) place(first.t, first.event);
}

const firstWithFinding = () => state.models.findIndex(one => one.findings.length > 0);

/** Returns the event of a number if it happens at a time, else the first one at that time. */
function eventAt(time, event) {
  const { times } = model();
  const isHere = index => index < times.length && Math.abs(times[index] - time) < 2e-4;
  if (Number.isInteger(event) && event >= 0 && isHere(event)) return event;
  const index = lowerBound(times, time - 1e-4);
  return isHere(index) ? index : -1;
}

/** Keeps the address up to date, and follows its changes. */
export function startAddress() {
  on('instant', rememberSoon);
  on('interval', rememberSoon);
  addEventListener('hashchange', recall);
}
