// The lanes of messages and of the outbox.

import { lowerBound, upperBound } from '../shared/numbers.js';

const above = 14;
const below = 12;
const wayColors = ['ok', 'late', 'poll', 'rest'];

/**
 * Messages between the server's line above and the phone's line below: upright if they arrive at
 * once, and a fan if several arrive together later.
 */
export const messagesLane = {
  key: 'messages', name: 'Messages', note: 'from server to phone', height: 96,
  has: model => model.shown.length + model.sentTo.length > 0,

  draw(surface, lane) {
    const place = { top: lane.top + above, bottom: lane.bottom - below };
    surface.rule('line', place.top + 0.5);
    surface.rule('line', place.bottom + 0.5);
    const isDense = drawShown(surface, place);
    if (isDense) drawCounts(surface, place);
    else drawSent(surface, place);
    if (surface.model.header.world) drawUnseen(surface, place);
    drawLateCounts(surface, place);
  },

  hit(surface, lane, x, y) {
    const { model } = surface;
    const share = (y - lane.top - above) / (lane.height - above - below);
    const time = surface.time(x);
    const found = { event: -1, distance: 6 };
    const search = (starts, ends, events, part) => {
      const from = lowerBound(ends, time - surface.duration(8));
      const last = upperBound(ends, time + model.longest + surface.duration(8));
      const to = Math.min(from + 3000, last);
      for (let index = from; index < to; index++) {
        const at = surface.x(starts[index]) * (1 - part) + surface.x(ends[index]) * part;
        const distance = Math.abs(at - x);
        if (distance >= found.distance) continue;
        found.distance = distance;
        found.event = events[index];
      }
    };
    search(model.made, model.shown, model.shownEvents, share);
    search(model.sentFrom, model.sentTo, model.sentEvents, 1 - share);
    return found.event;
  },
};

/** Draws received messages. Returns whether there are too many to tell them apart. */
function drawShown(surface, { top, bottom }) {
  const { pen, model } = surface;
  const from = lowerBound(model.shown, surface.from);
  const to = upperBound(model.shown, surface.to + model.longest);
  const isDense = to - from > surface.width * 3;
  const withDots = to - from < 600;
  const step = isDense ? 2 : 1;
  const paths = wayColors.map(() => new Path2D());
  const seen = new Set();
  const short = isDense ? surface.duration(2) : -1;
  for (let index = from; index < to; index++) {
    const made = model.made[index];
    if (made > surface.to || model.shown[index] - made < short) continue;
    const a = Math.round(surface.x(made) / step) * step;
    const b = Math.round(surface.x(model.shown[index]) / step) * step;
    const isUpright = b - a <= 2;
    if (isUpright && isDense) continue;
    const key = isUpright ? b : pairKey(a, b);
    if (seen.has(key)) continue;
    seen.add(key);
    const path = paths[model.via[index]];
    path.moveTo(a, top);
    path.lineTo(b, bottom);
    if (!withDots) continue;
    path.moveTo(b + 2, bottom);
    path.arc(b, bottom, 2, 0, 7);
  }
  pen.lineWidth = isDense ? 1 : 1.3;
  pen.globalAlpha = isDense ? 0.7 : 0.9;
  paths.forEach((path, way) => {
    pen.strokeStyle = surface.colors[wayColors[way]];
    pen.stroke(path);
  });
  pen.globalAlpha = 1;
  pen.lineWidth = 1;
  return isDense;
}

/** Returns a number that no other pair of pixels has, nor a pixel alone. */
const pairKey = (a, b) => (a + 1) * 1e6 + b + 0.5;

function drawCounts(surface, { top, bottom }) {
  const size = many => Math.min((bottom - top) * 0.46, 4 + 5.5 * Math.log2(many));
  surface.columns(surface.model.shown, (x, many, width) => {
    surface.fill('ok', x, bottom - size(many), width - 1, size(many));
  });
  surface.columns(surface.model.sentTo, (x, many, width) => {
    surface.fill('out', x, top, width - 1, size(many));
  });
}

function drawSent(surface, { top, bottom }) {
  const { pen, model } = surface;
  const from = lowerBound(model.sentTo, surface.from);
  const to = upperBound(model.sentTo, surface.to + model.longest);
  const withArrows = to - from < 400;
  const path = new Path2D();
  const seen = new Set();
  for (let index = from; index < to; index++) {
    const a = Math.round(surface.x(model.sentFrom[index]));
    const b = Math.round(surface.x(model.sentTo[index]));
    const key = pairKey(a, b);
    if (a > surface.width || seen.has(key)) continue;
    seen.add(key);
    path.moveTo(a, bottom);
    path.lineTo(b, top);
    if (!withArrows) continue;
    path.moveTo(b - 3.5, top + 6);
    path.lineTo(b, top);
    path.lineTo(b + 3.5, top + 6);
  }
  const isCrowded = seen.size > 200;
  pen.strokeStyle = surface.colors.out;
  pen.lineWidth = isCrowded ? 1 : 1.6;
  pen.globalAlpha = isCrowded ? 0.3 : 1;
  pen.setLineDash(isCrowded ? [] : [4, 2]);
  pen.stroke(path);
  pen.setLineDash([]);
  pen.globalAlpha = 1;
  pen.lineWidth = 1;
}

/** Draws messages that the server has and the phone never showed. */
function drawUnseen(surface, { top, bottom }) {
  const { model } = surface;
  const end = surface.x(model.end);
  const from = lowerBound(model.accepted, model.newestMade + 0.3);
  const to = Math.min(from + 500, upperBound(model.accepted, surface.to));
  for (let index = from; index < to; index++) {
    const x = surface.x(model.accepted[index]);
    surface.line('late', x, top, end, top + (bottom - top) * 0.82, { dash: [2, 3] });
    surface.dot('late', x, top, 2);
  }
}

function drawLateCounts(surface, { top, bottom }) {
  let free = -Infinity;
  for (const one of surface.model.moments) {
    if (!one.missed || one.until < surface.from || one.t > surface.to) continue;
    const words = `${one.missed} late`;
    const x = surface.x(one.until) + 5;
    const size = surface.measure(words, 'small');
    if (x <= free || x < 0 || x + size > surface.width - 4) continue;
    surface.text(words, x, (top + bottom) / 2, 'late', { font: 'small', back: 'panel' });
    free = x + size + 6;
  }
}

/** The number of the user's messages that wait to be sent. */
export const outboxLane = {
  key: 'outbox', name: 'Outbox', note: 'waiting to be sent', height: 34,
  has: model => model.waiting.times.length > 0,

  draw(surface, lane) {
    const { pen, model } = surface;
    const { times, counts, most } = model.waiting;
    const base = lane.bottom - 4;
    const room = lane.height - 12;
    const first = Math.max(0, upperBound(times, surface.from) - 1);
    const last = Math.min(times.length - 1, upperBound(times, surface.to));
    pen.beginPath();
    // Of the counts that share a pixel, the largest is drawn.
    let column = NaN;
    let largest = 0;
    for (let index = first; index <= last; index++) {
      const a = surface.x(times[index]);
      const b = surface.x(index + 1 < times.length ? times[index + 1] : model.end);
      if (b - a < 1 && Math.floor(a) === column && counts[index] <= largest) continue;
      column = Math.floor(a);
      largest = counts[index];
      const height = room * largest / most;
      if (largest) pen.rect(a, base - height, Math.max(1, b - a), height);
    }
    pen.fillStyle = surface.colors.out;
    pen.globalAlpha = 0.8;
    pen.fill();
    pen.globalAlpha = 1;
    surface.rule('line', base + 0.5);
    if (most > 1) drawMost(surface, most, lane);
  },

  hit(surface, lane, x) {
    const kinds = ['outbox', 'sent', 'wrote'];
    return surface.nearestEvent(surface.time(x), surface.duration(14), event =>
      (event.lane === 'data' || event.lane === 'user') && kinds.includes(event.kind));
  },
};

function drawMost(surface, most, lane) {
  surface.text(`at most ${most.toLocaleString('en')}`, surface.width - 5, lane.top + 8, 'faint',
    { font: 'small', align: 'right', back: 'panel' });
}
