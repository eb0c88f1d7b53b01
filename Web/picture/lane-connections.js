// The lane of attempts and connections.

import { clamp } from '../shared/numbers.js';
import { Places } from './places.js';

const barHeight = 18;
const barTop = 6;

/** Each attempt: hatched until its connection is open, with its number and how it ended. */
export const connectionsLane = {
  key: 'connections', name: 'Connections', note: 'attempts and their ends', height: 52,
  has: model => model.attempts.length > 0,

  draw(surface, lane) {
    const margin = surface.duration(20);
    const spans = surface.model.attempts.within(surface.from - margin, surface.to + margin);
    const top = lane.top + barTop;
    let lastEnd = -Infinity;
    let lastMark = -Infinity;
    const shown = spans.filter(span => {
      const end = surface.x(span.until);
      const isNarrow = end - surface.x(span.t) < 0.6 && end - lastEnd < 0.6;
      if (!isNarrow) lastEnd = end;
      return !isNarrow;
    });
    for (const span of shown) drawBar(surface, span, top);
    for (const span of shown) {
      if (!span.isOver) continue;
      const x = surface.x(span.until);
      if (x > surface.width + 1) continue;
      if (drawEnd(surface, span, x, top, x - lastMark < 9)) lastMark = x;
    }
    drawWhys(surface, shown, top);
  },

  hit(surface, lane, x) {
    const { attempts } = surface.model;
    const time = surface.time(x);
    const reach = surface.duration(7);
    let best = null;
    for (const span of attempts.within(time - reach, time + reach)) {
      const distance = Math.abs(span.until - time);
      if (!span.isOver || distance > reach) continue;
      if (!best || distance < Math.abs(best.until - time)) best = span;
    }
    if (best) return best.endEvent >= 0 ? best.endEvent : best.upEvent;
    const span = attempts.nearest(time, reach);
    if (!span) return -1;
    const { phases } = span;
    if (phases && time >= phases.t && time <= phases.until) return phases.event;
    return span.isUp && span.up <= time + reach ? span.upEvent : span.event;
  },
};

function drawBar(surface, span, top) {
  const { pen, colors } = surface;
  const a = surface.x(span.t);
  const b = surface.x(span.until);
  const up = span.isUp ? surface.x(span.up) : b;
  if (up - a > 0.8) {
    const width = Math.max(1, up - a);
    surface.hatch('try', a, top + 3, width, barHeight - 6);
    pen.strokeStyle = colors.try;
    pen.strokeRect(a + 0.5, top + 3.5, width - 1, barHeight - 7);
    drawPhases(surface, span, top + 3);
  }
  if (span.isUp) {
    const width = Math.max(1.5, b - up);
    pen.fillStyle = colors.oksoft;
    pen.strokeStyle = colors.ok;
    pen.beginPath();
    pen.roundRect(up, top, width, barHeight, Math.min(3, width / 2));
    pen.fill();
    pen.stroke();
  }
  drawNumber(surface, span, a, b, up, top + barHeight / 2);
}

/** Draws the phases of an attempt, each in its own row, with their names where there is room. */
function drawPhases(surface, { phases }, top) {
  const least = surface.duration(4);
  if (!phases || phases.until - phases.t < least) return;
  const row = (barHeight - 6) / 4;
  for (const phase of phases.list) {
    const a = surface.x(phase.t);
    const width = Math.max(1, surface.x(phase.until) - a);
    surface.fill(phase.failed ? 'bad' : 'try', a, top + phase.row * row, width, row);
  }
  for (const { name, t, until, failed } of phases.list) {
    const a = Math.max(0, surface.x(t));
    const size = surface.measure(name, 'small');
    const middle = (a + Math.min(surface.width, surface.x(until)) - size) / 2;
    if (middle < a + 2) continue;
    const color = failed ? 'bad' : 'try';
    surface.text(name, middle, top + barHeight / 2 - 3, color, { font: 'small', back: 'panel' });
  }
}

function drawNumber(surface, span, a, b, up, y) {
  const isOpen = up < b - 14;
  const left = Math.max(0, isOpen ? up : a) + 6;
  const words = String(span.number ?? '');
  // Before the connection is open, its phases have the room.
  if (!isOpen && span.phases && surface.x(span.phases.until) - left > 40) return;
  if (b - Math.max(0, a) <= 22 || left + surface.measure(words, 'bold') > b - 6) return;
  const back = isOpen ? null : 'panel';
  surface.text(words, left, y, isOpen ? 'ok' : 'try', { font: 'bold', back });
}

/** Draws an end as a cross, a square, or a line if it has no room. Returns whether it is wide. */
function drawEnd(surface, span, x, top, isCrowded) {
  const middle = top + barHeight / 2;
  if (isCrowded) {
    surface.fill(span.lost ? 'bad' : 'rest', x - 1, top, 2, barHeight);
    return false;
  }
  if (!span.lost) {
    surface.fill('rest', x - 3, middle - 4, 6, 8);
    return true;
  }
  surface.line('bad', x - 4, middle - 4, x + 4, middle + 4, { width: 2 });
  surface.line('bad', x + 4, middle - 4, x - 4, middle + 4, { width: 2 });
  return true;
}

/** Writes why connections ended: those that were lost first, and the others where room is left. */
function drawWhys(surface, spans, top) {
  const places = new Places();
  const rank = span => (span.lost ? 2 : 0) + (span.isUp ? 1 : 0);
  const ended = spans.filter(span => span.isOver && span.why);
  for (const span of ended.toSorted((a, b) => rank(b) - rank(a) || a.t - b.t)) {
    const x = surface.x(span.until);
    if (x >= -1 && x <= surface.width + 1) drawWhy(surface, span, x, top, places);
  }
}

function drawWhy(surface, span, x, top, places) {
  const words = span.why === 'killed' ? `killed, run ${span.run + 1}` : span.why;
  const size = surface.measure(words, 'small');
  // A label that has no room in the middle of its mark may stand beside it.
  for (const shift of [-0.5, 0, -1]) {
    const left = clamp(x + size * shift, 2, surface.width - size - 2);
    if (!places.take(left, left + size)) continue;
    const color = span.lost ? 'bad' : 'faint';
    surface.text(words, left, top + barHeight + 11, color, { font: 'small' });
    return;
  }
}
