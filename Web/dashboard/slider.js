// The choice of a column of a chart with the pointer or the keys.

import { byId, make, svg } from '../shared/elements.js';
import { clamp } from '../shared/numbers.js';

/** The charts in sight. The chosen column is marked in all of them. */
const charts = new Set();

/** Forgets the charts. */
export function forgetCharts() {
  charts.clear();
  hideTip();
}

/**
 * Returns a slider over a drawn chart. Its value is a column, and its text what the column shows.
 *
 * @param {string} name The name of the chart.
 * @param {object} drawn What `chart` returned.
 * @param {function(number): {head: string, text: string}} words Returns the words of a column.
 * @param {number} first The column that is chosen at first.
 */
export function slider(name, drawn, words, first) {
  const { picture, plot, step, count } = drawn;
  const mark = svg('rect', {
    class: 'cursor', y: plot.top, height: plot.height, width: Math.max(1.5, step),
  });
  picture.append(mark);
  const element = make('div', {
    class: 'slider', role: 'slider', tabindex: 0, 'aria-label': name, 'aria-valuemin': 1,
    'aria-valuemax': count, 'aria-orientation': 'horizontal',
    style: `left:${plot.left}px;top:${plot.top}px;width:${plot.width}px;`
      + `height:${plot.height}px`,
  });
  const one = { element, words, count, mark, step, left: plot.left, at: first };
  charts.add(one);
  setValue(one, first);
  listen(one);
  return element;
}

function setValue(one, at) {
  one.at = clamp(at, 0, one.count - 1);
  const { head, text } = one.words(one.at);
  one.element.setAttribute('aria-valuenow', one.at + 1);
  one.element.setAttribute('aria-valuetext', `${head}: ${text}`);
}

function show(one, at, event = null) {
  setValue(one, at);
  for (const other of charts) {
    if (other.count !== one.count || !other.element.isConnected) continue;
    other.mark.setAttribute('x', other.left + one.at * other.step);
    other.mark.classList.toggle('shown', true);
  }
  const { head, text } = one.words(one.at);
  const tip = byId('tip');
  tip.replaceChildren(make('b', {}, head), text);
  tip.hidden = false;
  placeTip(tip, one, event);
}

function placeTip(tip, one, event) {
  const box = one.element.getBoundingClientRect();
  const x = event?.clientX ?? box.left + (one.at + 0.5) * one.step;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const wanted = x + width + 24 > innerWidth ? x - width - 14 : x + 14;
  const above = box.top - height - 6;
  tip.style.left = `${clamp(wanted, 8, Math.max(8, innerWidth - width - 8))}px`;
  tip.style.top = `${above >= 8 ? above : box.bottom + 6}px`;
}

function hideTip() {
  byId('tip').hidden = true;
  for (const one of charts) one.mark.classList.toggle('shown', false);
}

const steps = {
  ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 7, PageDown: -7,
  Home: -Infinity, End: Infinity,
};

function listen(one) {
  const { element } = one;
  const follow = event => {
    const box = element.getBoundingClientRect();
    show(one, Math.floor((event.clientX - box.left) / one.step), event);
  };
  const hide = event => {
    // A finger leaves the chart, but its day stays.
    if (event.pointerType !== 'touch') hideTip();
  };
  element.addEventListener('pointerdown', follow);
  element.addEventListener('pointermove', follow);
  element.addEventListener('pointerleave', hide);
  element.addEventListener('blur', hideTip);
  element.addEventListener('focus', () => {
    if (element.matches(':focus-visible')) show(one, one.at);
  });
  element.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape') hideTip();
    const by = steps[event.key];
    if (by === undefined) return;
    event.preventDefault();
    show(one, one.at + by);
  });
}

/** Keeps the words at their chart when the page scrolls, or hides them. */
export function startTips() {
  addEventListener('scroll', () => {
    if (byId('tip').hidden) return;
    const focused = [...charts].find(one => one.element === document.activeElement);
    if (focused) placeTip(byId('tip'), focused, null);
    else hideTip();
  }, { passive: true });
}
