// The section of one type: figures, comparison, chart, legend and numbers.

import { make } from '../shared/elements.js';
import { chart, hasTrend } from './chart.js';
import { plainDay } from './dates.js';
import { countText } from './figures.js';
import { stages } from './kinds.js';
import { comparison, gapsOf, seriesOf } from './series.js';
import { slider } from './slider.js';
import { numbers } from './table.js';
import { columnWords, tableHeads, tableRow } from './words.js';

/**
 * Fills the section of a kind.
 *
 * @param {Element} section The section.
 * @param {object} kind What it shows.
 * @param {Map} values The values by day.
 * @param {object} period `from`, `to` and `before`, the first day of the period before; or `null`.
 * @param {object} facts What is known about the type: `first`, `newest`, `openDay`, `today`, and
 * the unit of each of the `others`: the days whose values are in another unit.
 */
export function fillCard(section, kind, values, period, facts) {
  const { from, to } = period;
  const { openDay, knownFrom } = facts;
  const series = seriesOf(kind, values, { from, to, openDay, knownFrom });
  const body = [
    headline(kind, series), trend(kind, series, values, period, facts),
    ...otherUnits(kind, period, facts),
  ];
  if (series.present) {
    const plot = make('div', { class: 'plot' });
    body.push(plot, legend(kind, series, facts), numbers(`${kind.name}, numbers`,
      tableHeads(kind, series.columns[0].grain),
      () => series.columns.filter(column => column.days).reverse()
        .map(column => tableRow(kind, column))));
    section.redraw = () => {
      const width = plot.clientWidth;
      // All widths are read before the first chart is drawn, so that the page is laid out once.
      return () => drawPlot(plot, width, kind, series, facts);
    };
  } else {
    section.redraw = null;
  }
  section.querySelector('.body').replaceChildren(...body);
  section.redraw?.()();
}

function headline(kind, series) {
  if (!series.present) {
    const isLoading = series.columns.some(column => column.isLoading);
    const text = isLoading ? 'Loading…' : 'No data in this period.';
    return make('p', { class: 'none' }, text);
  }
  if (!series.finished.length) {
    const [open] = series.columns.filter(column => column.days);
    return make('p', { class: 'big' }, kind.text(open.value), ' ',
      make('small', {}, `${kind.unit} so far`.trim()));
  }
  return make('p', { class: 'big' }, kind.text(series.mean), ' ', make('small', {}, kind.caption));
}

function trend(kind, series, values, { from, to, before }, facts) {
  const days = to - from + 1;
  const parts = [];
  if (before !== null && series.finished.length) {
    const earlier = seriesOf(kind, values, { from: before, to: from - 1, openDay: facts.openDay });
    const change = comparison(kind, series, earlier, days);
    if (change) {
      parts.push(change.sign ? make('span', { 'aria-hidden': 'true' }, `${change.sign} `) : '',
        change.size ? make('b', {}, `${change.size} `) : '', change.words);
    } else parts.push('too few earlier days to compare with');
  }
  if (facts.newest !== null && facts.newest < from) {
    parts.push(`The newest is of ${plainDay(facts.newest)}.`);
  }
  return make('p', { class: 'trend' }, ...parts);
}

/** Returns a sentence about the days of a period that are left out for their unit, or nothing. */
function otherUnits({ unit }, { from, to }, { others }) {
  const left = [...others].filter(([day]) => day >= from && day <= to);
  if (!left.length) return [];
  const units = [...new Set(left.map(([, other]) => other ?? 'no unit'))].join(', ');
  const are = left.length === 1 ? 'is' : 'are';
  return [make('p', { class: 'trend' }, `${countText(left.length, 'day')} in another unit than `
    + `${unit || 'that of the newest day'} ${are} left out: ${units}.`)];
}

function legend(kind, series, { openDay, others }) {
  const { columns } = series;
  const items = [];
  const item = (name, words) => items.push(
    make('li', {}, make('i', { class: name, 'aria-hidden': 'true' }), words));
  if (kind.form === 'range') {
    item(`${kind.color} pale`, 'lowest to highest');
    if (!hasTrend(kind, columns)) item(`${kind.color} stroke`, 'average');
  }
  if (kind.form === 'stack') {
    for (const [name, words] of stages) {
      if (columns.some(column => column.parts?.[name] > 0.005)) item(name, words);
    }
  }
  if (hasTrend(kind, columns)) item('week stroke', 'mean of seven days');
  if (series.finished.length > 1) item('mean stroke', 'mean of the period');
  if (columns.some(column => column.isOpen && column.days)) {
    item('open', kind.form === 'stack' ? 'night not over' : 'day not over');
  } else if (columns.some(({ from, to, days }) => days && from <= openDay && to >= openDay)) {
    item('open', 'a day that is not over is left out');
  }
  if (gapsOf(columns, kind).length) {
    const unit = others.size && kind.unit ? ` in ${kind.unit}` : '';
    item('hole', `no data${unit}: ${countText(series.missing, 'day')}`);
  }
  return make('ul', { class: 'legend' }, ...items);
}

function drawPlot(plot, room, kind, series, facts) {
  const width = Math.max(200, Math.floor(room));
  const height = width < 420 ? 190 : 220;
  const drawn = chart(kind, series, { width, height });
  const words = place => columnWords(kind, series.columns[place], facts);
  const last = series.columns.findLastIndex(column => column.days > 0);
  plot.replaceChildren(drawn.picture, slider(`${kind.name} by ${series.columns[0].grain}`, drawn,
    words, last));
}

/** Returns an empty section with a heading. `remove` takes a chosen section away again. */
export function newCard(key, name, color, remove = null) {
  const button = remove && make('button', {
    type: 'button', class: 'remove', 'aria-label': `Remove ${name}`, title: `Remove ${name}`,
    on: { click: remove },
  }, '×');
  return make('section', { 'data-type': key, 'aria-label': name, 'aria-busy': 'true' },
    make('div', { class: 'head' }, make('h2', { class: color }, name), button),
    make('div', { class: 'body' }, make('p', { class: 'none' }, 'Loading…')));
}
