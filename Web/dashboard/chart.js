// The drawing of a chart.

import { svg } from '../shared/elements.js';
import { dateLabels } from './dates.js';
import { axisOf, axisTexts } from './figures.js';
import { stages } from './kinds.js';
import { gapsOf, sevenDayMeans } from './series.js';

const top = 22;
const bottom = 24;
const right = 6;

/** The least number of single days of which a chart has a seven-day mean. */
const manyDays = 61;

/** The width of a column, in pixels, from which it has a gap to the next and round corners. */
const wide = 5;

/** Returns whether a chart of these columns has a seven-day mean. */
export function hasTrend(kind, columns) {
  if (kind.form === 'stack' || columns.length < manyDays) return false;
  const present = columns.filter(column => column.days > 0).length;
  return columns[0].grain === 'day' && present > columns.length * 0.6;
}

/**
 * Draws a series, and returns the picture with the places of its columns.
 *
 * @param {object} kind What the chart shows.
 * @param {object} series The columns. Its `marks` return the labels of the axis of a width, if they
 * are not days: the place and the text of each.
 * @param {{width: number, height: number}} size The size in pixels.
 */
export function chart(kind, series, { width, height }) {
  const { columns } = series;
  const axis = axisOf(...limits(kind, series), kind.isSum, kind.least, kind.isHours);
  const labels = axisTexts(axis.ticks);
  const left = 10 + 7 * Math.max(...labels.map(label => label.length));
  const plot = { left, top, width: width - left - right, height: height - top - bottom };
  const step = plot.width / columns.length;
  const scale = {
    x: place => left + place * step,
    middle: place => left + (place + 0.5) * step,
    y: value => top + plot.height * (1 - (value - axis.from) / (axis.to - axis.from)),
    step, plot, axis,
  };
  const picture = svg('svg', {
    class: 'chart', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true',
  });
  const marks = series.marks?.(plot.width) ?? dateMarks(columns, plot.width);
  drawAxes(picture, kind, labels, marks, scale);
  drawGaps(picture, kind, columns, scale);
  forms[kind.form](picture, kind, columns, scale);
  drawTrend(picture, kind, columns, scale);
  drawMean(picture, series, scale);
  return { picture, left, step, plot, count: columns.length };
}

function limits(kind, series) {
  const { low, high, columns } = series;
  if (!columns.some(column => column.days > 0)) return [0, 1];
  return kind.isSum ? [0, high] : [low, high];
}

function write(words, x, y, anchor, name = '') {
  const text = svg('text', { x, y, 'text-anchor': anchor, ...(name ? { class: name } : {}) });
  text.textContent = words;
  return text;
}

/** Returns the labels of days: their places on the axis, and their texts. */
function dateMarks(columns, width) {
  const isDay = columns[0].grain === 'day';
  return dateLabels(columns[0].from, columns.at(-1).to, width).map(({ day, text }) => {
    const place = columns.findIndex(column => column.to >= day);
    return { at: isDay ? place + 0.5 : place, text };
  });
}

function drawAxes(picture, kind, labels, marks, { x, y, plot, axis }) {
  const end = plot.left + plot.width;
  picture.append(write(kind.axis, plot.left, 12, 'start', 'unit'));
  axis.ticks.forEach((tick, place) => {
    const isZero = kind.isSum && tick === 0;
    picture.append(
      svg('line', {
        x1: plot.left, x2: end, y1: y(tick), y2: y(tick), class: isZero ? 'zero' : 'grid',
      }),
      write(labels[place], plot.left - 6, y(tick) + 4, 'end'));
  });
  let last = -Infinity;
  for (const { at: where, text } of marks) {
    const middle = x(where);
    const half = text.length * 3.3;
    const at = Math.min(end - half, Math.max(plot.left + half, middle));
    if (at - half < last + 8) continue;
    last = at + half;
    const floor = plot.top + plot.height;
    picture.append(
      svg('line', { x1: middle, x2: middle, y1: floor, y2: floor + 4, class: 'zero' }),
      write(text, at, plot.top + plot.height + 18, 'middle'));
  }
}

function drawGaps(picture, kind, columns, { x, plot, step }) {
  for (const [first, last] of gapsOf(columns, kind)) {
    const width = (last - first + 1) * step;
    picture.append(svg('rect', {
      class: 'hole', x: x(first), width, y: plot.top, height: plot.height,
      rx: Math.min(3, width / 4),
    }));
    if (width > 52) {
      picture.append(write('no data', x(first) + width / 2, plot.top + 16, 'middle', 'none'));
    }
  }
}

/** Returns the path of a column, whose top is round if it is wide enough. */
function box(x, y, width, height, radius) {
  const round = Math.min(radius, width / 2, height);
  return `M${x.toFixed(2)} ${(y + height).toFixed(2)}v${(round - height).toFixed(2)}`
    + `q0 ${-round} ${round} ${-round}h${(width - 2 * round).toFixed(2)}`
    + `q${round} 0 ${round} ${round}v${(height - round).toFixed(2)}z`;
}

function place(scale, index) {
  const gap = scale.step >= wide ? Math.min(0.26 * scale.step, 8) : 0;
  return { x: scale.x(index) + gap / 2, width: Math.max(0.6, scale.step - gap) };
}

/** Returns the classes of a column whose days are not over. A narrow one has no dashes. */
function openName({ isOpen }, { step }) {
  if (!isOpen) return '';
  return step >= wide ? ' open' : ' open thin';
}

/** Collects paths by their class, so that each class is one element. */
class Paths {
  constructor() {
    this.all = new Map();
  }

  add(name, path) {
    this.all.set(name, `${this.all.get(name) ?? ''}${path}`);
  }

  draw(picture) {
    for (const [name, path] of this.all) picture.append(svg('path', { class: name, d: path }));
  }
}

function drawBars(picture, kind, columns, scale) {
  const paths = new Paths();
  const floor = scale.y(0);
  columns.forEach((column, index) => {
    if (!column.days) return;
    const { x, width } = place(scale, index);
    // A day of zero is a thin line, apart from a day without data.
    const height = Math.max(1.5, Math.abs(floor - scale.y(column.value)));
    paths.add(`bar ${kind.color}${openName(column, scale)}`,
      box(x, floor - height, width, height, scale.step >= wide ? 3 : 0));
  });
  paths.draw(picture);
}

function drawStack(picture, kind, columns, scale) {
  const paths = new Paths();
  columns.forEach((column, index) => {
    if (!column.days) return;
    const { x, width } = place(scale, index);
    let low = 0;
    const parts = stages.filter(([name]) => column.parts[name] > 0.005);
    parts.forEach(([name], order) => {
      const high = low + column.parts[name];
      const isTop = order === parts.length - 1;
      const seam = isTop || scale.step < wide ? 0 : 0.6;
      const height = Math.max(0.8, scale.y(low) - scale.y(high) - seam);
      const round = isTop && scale.step >= wide ? 3 : 0;
      paths.add(`bar ${name}${openName(column, scale)}`,
        box(x, scale.y(low) - height, width, height, round));
      low = high;
    });
  });
  paths.draw(picture);
}

function drawRange(picture, kind, columns, scale) {
  const paths = new Paths();
  const isWide = scale.step >= wide;
  columns.forEach((column, index) => {
    if (!column.days) return;
    const { x, width } = place(scale, index);
    const open = openName(column, scale);
    const height = Math.max(2, scale.y(column.low) - scale.y(column.high));
    paths.add(`bar ${kind.color} pale${open}`,
      box(x, scale.y(column.high), width, height, isWide ? 3 : 0));
    if (isWide) {
      paths.add(`mark ${kind.color}${open}`,
        `M${x.toFixed(2)} ${scale.y(column.value).toFixed(2)}h${width.toFixed(2)}`);
    }
  });
  paths.draw(picture);
  if (!isWide && !hasTrend(kind, columns)) drawLine(picture, kind, columns, scale);
}

function drawLine(picture, kind, columns, scale) {
  const breaks = new Set(gapsOf(columns, kind).flatMap(([first, last]) => [first, last]));
  const points = [];
  columns.forEach((column, index) => {
    if (breaks.has(index)) points.push(null);
    if (column.days > 0) points.push({ column, index });
  });
  let path = '';
  points.forEach((point, order) => {
    const before = points[order - 1];
    if (!point) return;
    const at = `${scale.middle(point.index).toFixed(2)} ${scale.y(point.column.value).toFixed(2)}`;
    const isJoined = before && !before.column.isOpen && !point.column.isOpen;
    path += `${isJoined ? 'L' : 'M'}${at}`;
  });
  picture.append(svg('path', { class: `line ${kind.color}`, d: path }));
  const each = kind.isSparse ? scale.plot.width / points.length : scale.step;
  points.forEach((point, order) => {
    const isAlone = !points[order - 1] && !points[order + 1];
    if (!point || !(each >= 2 * wide || isAlone)) return;
    picture.append(svg('circle', {
      class: `dot ${kind.color}${point.column.isOpen ? ' open' : ''}`,
      cx: scale.middle(point.index), cy: scale.y(point.column.value),
      r: Math.min(3.6, Math.max(2, each / 4)),
    }));
  });
}

const forms = { bars: drawBars, stack: drawStack, range: drawRange, line: drawLine };

function drawTrend(picture, kind, columns, scale) {
  if (!hasTrend(kind, columns)) return;
  let path = '';
  let isDown = false;
  sevenDayMeans(columns).forEach((mean, index) => {
    if (Number.isFinite(mean)) {
      path += `${isDown ? 'L' : 'M'}${scale.middle(index).toFixed(2)} ${scale.y(mean).toFixed(2)}`;
    }
    isDown = Number.isFinite(mean);
  });
  picture.append(svg('path', { class: 'trend', d: path }));
}

function drawMean(picture, { mean, finished }, { y, plot }) {
  if (finished.length < 2 || !Number.isFinite(mean)) return;
  picture.append(svg('line', {
    class: 'mean', x1: plot.left, x2: plot.left + plot.width, y1: y(mean), y2: y(mean),
  }));
}
