// The list of moments.

import { byId, make } from '../shared/elements.js';
import { momentWords } from './moments.js';
import { model, on } from './state.js';
import { showMoment, view } from './view.js';
import { clockText } from '../shared/words.js';

const most = 400;

/** Shows the moments of the chosen link, and marks the one at the cursor. */
export function startMoments() {
  on('link', fill);
  on('grown', refill);
  on('instant', mark);
  new ResizeObserver(scrollSoon).observe(byId('moments'));
}

/** The words of the list, to see whether it has changed. */
let written = '';

/** Fills the list again if its words have changed, so that a button is not replaced in vain. */
function refill() {
  const { moments } = model();
  const words = JSON.stringify(moments.map(one => [one.t, one.event, momentWords(one)]));
  if (words === written) return;
  written = words;
  fill();
  mark();
}

function fill() {
  const { moments, sums } = model();
  const shown = moments.slice(0, most);
  byId('moments-count').textContent = moments.length ? moments.length.toLocaleString('en') : '';
  byId('moments').replaceChildren(...shown.map(item));
  // Days stand on a line of their own.
  const widths = shown.map(one => clockText(one.t).replace(/.* d /, '').length);
  const longest = widths.reduce((most, width) => Math.max(most, width), 4);
  byId('moments').style.setProperty('--time', `${longest}ch`);
  if (!moments.length) {
    let words = sums.isConnected ? 'The link never dropped.' : 'The link did not connect.';
    if (sums.uploads) words = 'Every upload was accepted.';
    byId('moments').append(make('li', { class: 'empty' }, words));
  }
  if (moments.length > most) {
    const words = `The first ${most} of ${moments.length.toLocaleString('en')} are listed.`;
    byId('moments').append(make('li', { class: 'empty' }, words));
  }
}

function item(moment, index) {
  const { title, parts } = momentWords(moment);
  const color = moment.finding ? 'poll' : moment.lost ? 'bad' : 'quiet';
  return make('li', { 'data-index': index }, make('button', {
    class: 'moment', type: 'button', on: { click: () => showMoment(index) },
  }, make('time', {}, clockText(moment.t)), make('span', {},
    make('strong', { class: color }, title),
    make('span', { class: 'parts' }, parts.join(' · ')))));
}

function mark() {
  const { moments } = model();
  const margin = 1e-6;
  let current = moments.findIndex(one => one.event === view.focus);
  if (current < 0) {
    current = moments.findLastIndex(one =>
      view.cursor >= one.t - margin && view.cursor <= one.until + margin);
  }
  for (const element of byId('moments').querySelectorAll('li[data-index]')) {
    const isCurrent = Number(element.dataset.index) === current;
    const button = element.firstElementChild;
    if (button.hasAttribute('aria-current') === isCurrent) continue;
    if (!isCurrent) {
      button.removeAttribute('aria-current');
      continue;
    }
    button.setAttribute('aria-current', 'true');
    scrollSoon();
  }
}

/** Scrolls after a layout: the card below the list changes its height with the instant. */
function scrollSoon() {
  requestAnimationFrame(() => {
    const element = byId('moments').querySelector('li:has([aria-current])');
    if (element) scrollToWhole(element);
  });
}

/** Scrolls the list, and not the page, so that an entry and the one before it are whole. */
function scrollToWhole(element) {
  const list = byId('moments');
  const top = element.offsetTop - list.offsetTop;
  const isSeen = top >= list.scrollTop
    && top + element.offsetHeight <= list.scrollTop + list.clientHeight;
  if (isSeen) return;
  const before = element.previousElementSibling?.offsetHeight ?? 0;
  const isRoomy = before + element.offsetHeight <= list.clientHeight;
  list.scrollTop = top - (isRoomy ? before : 0);
}
