// The charts: tries in each second above, the share of connected phones below.

import { svg } from '../shared/elements.js';
import { axisText, spanText, timeStep } from '../shared/words.js';
import { rateText } from './settings.js';
import { shortCount, ticks } from './scales.js';

const left = 46;
const right = 12;

/** The places of a chart in pixels. */
class Frame {
  constructor(width, height, seconds, most, { top = 12, bottom = 24 } = {}) {
    Object.assign(this, { width, height, seconds, most, top, bottom });
  }

  x(second) {
    return left + second / this.seconds * (this.width - left - right);
  }

  y(value) {
    const share = Math.min(1, Math.max(0, value / this.most));
    return this.top + (this.height - this.top - this.bottom) * (1 - share);
  }

  /** Returns the second at a place. */
  secondAt(x) {
    const second = Math.floor((x - left) / (this.width - left - right) * this.seconds);
    return Math.min(this.seconds - 1, Math.max(0, second));
  }

  /** Returns a path with a step for each second. */
  steps(values) {
    let path = `M${this.x(0)} ${this.y(values[0] ?? 0)}`;
    for (let second = 0; second < this.seconds; second++) {
      const y = this.y(values[second] ?? 0).toFixed(1);
      path += `L${this.x(second).toFixed(1)} ${y}L${this.x(second + 1).toFixed(1)} ${y}`;
    }
    return path;
  }

  area(values) {
    return `${this.steps(values)}L${this.x(this.seconds)} ${this.y(0)}L${left} ${this.y(0)}Z`;
  }

  /** Returns a path through the values at the ends of seconds, which begins with all phones. */
  curve(values) {
    let path = `M${this.x(0)} ${this.y(1)}`;
    const last = values.at(-1) ?? 1;
    for (let second = 0; second < this.seconds; second++) {
      const y = this.y(values[second] ?? last).toFixed(1);
      path += `L${this.x(second + 1).toFixed(1)} ${y}`;
    }
    return path;
  }
}

const text = (words, fields) => svg('text', fields, words);

/** Returns the seconds that the charts show: until nearly all phones are back, and some more. */
function lengthOf(...runs) {
  const ends = runs.filter(Boolean).map(run => {
    const back = run.most ?? run.all ?? 600;
    return Math.max(run.away + 20, (run.away + back) * 1.15);
  });
  return Math.ceil(Math.min(3600, Math.max(20, ...ends)));
}

function axis(frame, area) {
  const step = timeStep(frame.seconds, frame.width - left - right, 70);
  const labels = [];
  for (let second = 0; second <= frame.seconds; second += step) {
    labels.push(text(axisText(second, step), {
      x: frame.x(second), y: frame.height - 7, 'text-anchor': 'middle',
    }));
  }
  area.append(...labels);
}

function rows(frame, values, words) {
  return values.flatMap(value => [
    svg('line', {
      class: 'grid', x1: left, x2: frame.width - right, y1: frame.y(value), y2: frame.y(value),
    }),
    text(words(value), { x: left - 6, y: frame.y(value) + 4, 'text-anchor': 'end' }),
  ]);
}

function outage(frame, run) {
  const [from, to] = [frame.x(0), frame.x(Math.min(run.away, frame.seconds))];
  return run.away === 0 ? [] : [svg('rect', {
    class: 'away', x: from, y: frame.top, width: to - from,
    height: frame.height - frame.top - frame.bottom,
  })];
}

/** Returns a word on a plate that keeps it apart from the curves. */
function plate(words, x, y, kind) {
  const width = words.length * 6.4 + 10;
  return [
    svg('rect', { class: 'plate', x: x - width / 2, y: y - 13, width, height: 18, rx: 4 }),
    text(words, { class: kind, x, y, 'text-anchor': 'middle' }),
  ];
}

function outageWords(frame, run) {
  if (run.away === 0) return [];
  const middle = (frame.x(0) + frame.x(Math.min(run.away, frame.seconds))) / 2;
  const width = frame.x(run.away) - frame.x(0);
  const lines = [`no server for ${spanText(run.away)}`];
  if (run.peakAway > frame.most) lines.push(`up to ${rateText(Math.round(run.peakAway))}`);
  return lines.filter(words => words.length * 6.4 + 10 < width)
    .flatMap((words, index) => plate(words, middle, frame.top + 20 + index * 22, 'bad'));
}

function capacity(frame, run) {
  const y = frame.y(run.capacity);
  const words = `the server takes ${rateText(run.capacity)}`;
  return [
    svg('line', { class: 'capacity', x1: left, x2: frame.width - right, y1: y, y2: y }),
    ...plate(words, frame.width - right - words.length * 3.2 - 8, y - 7, 'bad'),
  ];
}

/** Returns the chart of the tries in each second. */
export function triesChart(width, height, run, kept) {
  const seconds = lengthOf(run, kept);
  const after = [run, kept].filter(Boolean).flatMap(one => one.tries.slice(one.away, seconds));
  const most = Math.max(run.capacity * 1.3, 1.08 * after.reduce((a, b) => Math.max(a, b), 1));
  const frame = new Frame(width, height, seconds, most);
  const area = svg('svg', { width, height, 'aria-hidden': 'true' });
  area.append(
    ...outage(frame, run), ...rows(frame, ticks(most, 5), shortCount),
    svg('path', { class: 'vain', d: frame.area(run.tries) }),
    svg('path', { class: 'let', d: frame.area(run.accepted) }));
  if (run.peakPolls > 0) area.append(svg('path', { class: 'polls', d: frame.steps(run.polls) }));
  if (kept) area.append(svg('path', { class: 'kept', d: frame.steps(kept.tries) }));
  area.append(...capacity(frame, run), ...outageWords(frame, run));
  axis(frame, area);
  return { area, frame };
}

/** Returns the chart of the share of connected phones. */
export function shareChart(width, height, run, kept) {
  const frame = new Frame(width, height, lengthOf(run, kept), 1);
  const area = svg('svg', { width, height, 'aria-hidden': 'true' });
  area.append(
    ...outage(frame, run),
    ...rows(frame, [0, 0.5, 1], share => `${share * 100} %`));
  if (kept) area.append(svg('path', { class: 'kept', d: frame.curve(kept.connected) }));
  area.append(svg('path', { class: 'share', d: frame.curve(run.connected) }));
  axis(frame, area);
  return { area, frame };
}

/** Returns the mark of a second on a chart. */
export function mark(frame, second) {
  const x = frame.x(second + 0.5);
  return svg('line', {
    class: 'mark', x1: x, x2: x, y1: frame.top, y2: frame.height - frame.bottom,
  });
}
