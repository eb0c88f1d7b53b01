// The timeline of one link: its phases, its connections, and the deadlines ahead.

import { svg } from '../shared/elements.js';
import { clockText, spanText, timeStep } from '../shared/words.js';

/** The height of a phase in the skyline, and the name of its color. */
const phases = {
  connected: [1, 'ok'], standby: [0.55, 'poll'], connecting: [0.35, 'try'],
  reconnecting: [0.35, 'try'], held: [0.15, 'rest'], disconnected: [0.04, 'rest'],
  failed: [0.04, 'bad'],
};

const left = 84;
const top = 10;
const skyline = 74;
const band = 98;
const marks = 132;
const height = 232;

const text = (words, x, y, fields = {}) => svg('text', { x, y, ...fields }, words);

/** A window of time on the page. */
class Scale {
  constructor(width, from, to) {
    Object.assign(this, { width, from, to });
  }

  x(time) {
    return left + (time - this.from) / (this.to - this.from) * (this.width - left - 8);
  }

  isInSight(from, to) {
    return to > this.from && from < this.to;
  }

  /** Returns the place and the width of a span, cut to the window. */
  span(from, to) {
    const x = this.x(Math.max(this.from, from));
    return [x, Math.max(1, this.x(Math.min(this.to, to)) - x)];
  }
}

function skylineOf(scale, answer) {
  return answer.phases.flatMap(({ t, phase, isPolling }, index) => {
    const until = answer.phases[index + 1]?.t ?? answer.now;
    if (!scale.isInSight(t, until)) return [];
    const [share, color] = phases[phase];
    const [x, width] = scale.span(t, until);
    const high = share * (skyline - top);
    const y = skyline - high;
    const block = svg('rect', { class: `phase ${color}`, x, y, width, height: high });
    const words = isPolling ? 'polling' : phase;
    if (width < words.length * 6.8 + 8) return [block];
    const isOutside = share < 0.3;
    const line = isOutside ? y - 5 : y + 16;
    return [block, text(words, x + 5, line, { class: isOutside ? '' : 'on' })];
  });
}

function connectionsOf(scale, answer) {
  return answer.connections.flatMap(({ number, from, up, until, why }) => {
    const end = until ?? answer.now;
    if (!scale.isInSight(from, end)) return [];
    const [x, width] = scale.span(from, end);
    const parts = [svg('rect', { class: 'opening', x, y: band - 8, width, height: 16, rx: 3 })];
    if (up !== null && scale.isInSight(up, end)) {
      const [begin, size] = scale.span(up, end);
      parts.push(svg('rect', {
        class: 'open', x: begin, y: band - 8, width: size, height: 16, rx: 3,
      }));
    }
    if (width > 16) parts.push(text(`${number}`, x + 4, band + 4, { class: 'on' }));
    if (why && until < scale.to) {
      parts.push(text('✕', scale.x(until), band + 4, { class: 'bad', 'text-anchor': 'middle' }));
    }
    return parts;
  });
}

function marksOf(scale, answer) {
  return answer.lines.filter(({ t, kind }) => kind === 'act' && t >= scale.from && t <= scale.to)
    .map(({ t, say }) => {
      const x = scale.x(t);
      return svg('path', { class: 'act', d: `M${x - 5} ${marks - 6}h10l-5 9z` },
        svg('title', {}, `${clockText(t, 0.1)} ${say}`));
    });
}

function deadlinesOf(scale, answer) {
  const inSight = answer.deadlines.filter(({ at }) => at < scale.to);
  return inSight.flatMap(({ name, at }, index) => {
    const x = scale.x(at);
    const y = marks + 22 + index % 3 * 19;
    const words = `${name}, in ${spanText(Math.max(0, at - answer.now))}`;
    const isLeft = x + words.length * 6.4 > scale.width;
    return [
      svg('line', { class: 'deadline', x1: x, x2: x, y1: top, y2: y + 4 }),
      text(words, x + (isLeft ? -5 : 5), y, { 'text-anchor': isLeft ? 'end' : 'start' }),
    ];
  });
}

function axisOf(scale) {
  const step = timeStep(scale.to - scale.from, scale.width - left, 80);
  const parts = [];
  const first = Math.max(0, Math.ceil(scale.from / step) * step);
  for (let time = first; time <= scale.to; time += step) {
    const x = scale.x(time);
    parts.push(
      svg('line', { class: 'grid', x1: x, x2: x, y1: top, y2: height - 18 }),
      text(clockText(time, step), x, height - 5, { 'text-anchor': 'middle' }));
  }
  return parts;
}

/** Returns the timeline of an answer. */
export function timeline(width, answer, span) {
  const from = Math.max(0, answer.now - span * 0.68) - span * 0.02;
  const scale = new Scale(width, from, from + span);
  const now = scale.x(answer.now);
  return svg('svg', { width, height, 'aria-hidden': 'true' },
    ...axisOf(scale),
    svg('line', { class: 'grid', x1: left, x2: width, y1: skyline, y2: skyline }),
    ...skylineOf(scale, answer), ...connectionsOf(scale, answer), ...marksOf(scale, answer),
    ...deadlinesOf(scale, answer),
    svg('line', { class: 'now', x1: now, x2: now, y1: top, y2: height - 18 }),
    ...[['Link', skyline - 24], ['Connection', band + 4], ['Acts', marks + 2],
      ['Deadlines', marks + 22]].map(([words, y]) => text(words, 0, y, { class: 'name' })));
}
