// The charts on the page: drawing, and the second in focus.

import { byId, make } from '../shared/elements.js';
import { clamp } from '../shared/numbers.js';
import { clockText } from '../shared/words.js';
import { mark, shareChart, triesChart } from './chart.js';

let drawn = null;
let second = null;

/** Draws a run, and another one for comparison or `null`. */
export function drawCharts(run, kept) {
  const board = byId('board');
  const width = Math.max(280, board.clientWidth);
  const high = clamp(width * 0.4, 220, 340);
  const tries = triesChart(width, high, run, kept);
  const share = shareChart(width, 130, run, kept);
  byId('tries').replaceChildren(tries.area);
  byId('share').replaceChildren(share.area);
  drawn = { run, kept, frames: [tries.frame, share.frame], areas: [tries.area, share.area] };
  board.setAttribute('aria-valuemax', tries.frame.seconds - 1);
  showSecond();
}

const rounded = value => Math.round(value).toLocaleString('en');

/** Returns what happened in a second, as pairs of a name and words. */
function wordsOf({ run, kept }, at) {
  const of = (one, name) => one[name][at] ?? 0;
  const connected = one => one.connected[at] ?? one.connected.at(-1);
  const pairs = [
    ['tries', rounded(of(run, 'tries'))], ['let in', rounded(of(run, 'accepted'))],
    ['connected', `${(connected(run) * 100).toFixed(1)} %`],
  ];
  if (run.peakPolls > 0) pairs.push(['polls', rounded(of(run, 'polls'))]);
  if (kept) pairs.push(['kept run: tries', rounded(of(kept, 'tries'))]);
  return pairs;
}

function timeWords(run, at) {
  if (at < run.away) return `${clockText(at)} into the outage`;
  return `${clockText(at - run.away)} after the server's return`;
}

function showSecond() {
  if (!drawn) return;
  const board = byId('board');
  for (const area of drawn.areas) area.querySelector('.mark')?.remove();
  const at = second === null ? null : Math.min(second, drawn.frames[0].seconds - 1);
  const pairs = at === null ? [] : wordsOf(drawn, at);
  const title = at === null ? 'Point at the chart, or press → on it, to read a second.'
    : timeWords(drawn.run, at);
  board.setAttribute('aria-valuenow', at ?? 0);
  board.setAttribute('aria-valuetext',
    [title, ...pairs.map(([name, words]) => `${name} ${words}`)].join(', '));
  byId('second').replaceChildren(
    make(at === null ? 'i' : 'b', {}, title),
    ...pairs.map(([name, words]) => make('span', {}, `${name} ${words}`)));
  if (at === null) return;
  drawn.areas.forEach((area, index) => area.append(mark(drawn.frames[index], at)));
}

function focus(value) {
  second = value;
  showSecond();
}

function press(event) {
  if (!drawn || event.ctrlKey || event.metaKey || event.altKey) return;
  const last = drawn.frames[0].seconds - 1;
  const step = event.shiftKey ? 10 : 1;
  const from = second ?? drawn.run.away - step;
  const places = {
    ArrowRight: from + step, ArrowLeft: from - step, ArrowUp: from + step, ArrowDown: from - step,
    PageUp: from + 30, PageDown: from - 30, Home: 0, End: last,
  };
  const place = places[event.key];
  if (place === undefined) return;
  event.preventDefault();
  focus(clamp(place, 0, last));
}

/** Follows the pointer and the keys, and calls a function when the width of the charts changes. */
export function startCharts(redraw) {
  const board = byId('board');
  board.addEventListener('keydown', press);
  board.addEventListener('pointermove', event => {
    if (drawn) focus(drawn.frames[0].secondAt(event.clientX - board.getBoundingClientRect().left));
  });
  board.addEventListener('pointerleave', event => {
    if (event.pointerType === 'mouse') focus(null);
  });
  new ResizeObserver(redraw).observe(board);
}
