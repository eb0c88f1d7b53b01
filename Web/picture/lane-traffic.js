// The lanes of traffic and of the time since the last received byte.

import { lowerBound, upperBound } from '../shared/numbers.js';
import { Places } from './places.js';
import { spanText } from '../shared/words.js';

/** What was received above a line, and what was sent below it. */
export const trafficLane = {
  key: 'traffic', name: 'Traffic', note: 'in above, out below', height: 56,
  has: model => model.ins.length + model.outs.length + model.bytes.length > 0,

  draw(surface, lane) {
    const { model } = surface;
    const middle = Math.round(lane.top + lane.height / 2) + 0.5;
    const room = lane.height / 2 - 5;
    const size = many => Math.min(room, 5 + 6.5 * Math.log2(many));
    surface.rule('line', middle);
    surface.columns(model.ins, (x, many, width) => {
      surface.fill('ok', x, middle - 1 - size(many), width - 1, size(many));
    });
    surface.columns(model.outs, (x, many, width) => {
      surface.fill('out', x, middle + 1, width - 1, size(many));
    });
    drawRates(surface, middle, room);
    const pings = surface.inSight(model.pings, 4);
    if (pings.length > surface.width / 6) return;
    for (const index of pings) {
      const { kind } = model.events[index];
      const isOut = kind === 'pingOut' || kind === 'poll';
      const y = middle + (isOut ? 12 : -12);
      surface.ring(isOut ? 'out' : 'ok', surface.x(model.times[index]), y, 3.2);
    }
  },

  hit(surface, lane, x, y) {
    const isOut = y > lane.top + lane.height / 2;
    const reach = surface.duration(7);
    const found = surface.nearestEvent(surface.time(x), reach, event =>
      isDrawn(event) && outgoing.has(event.kind) === isOut);
    if (found >= 0) return found;
    return surface.nearestEvent(surface.time(x), reach, isDrawn);
  },
};

/** Draws thin lines for the bytes per second, by their logarithm. */
function drawRates(surface, middle, room) {
  const { bytes } = surface.model;
  const size = rate => Math.min(room, room / 6 * Math.log10(1 + rate));
  for (const { t, until, received, sent } of bytes.within(surface.from, surface.to)) {
    const a = surface.x(t);
    const b = Math.max(surface.x(until), a + 1);
    surface.line('soft', a, middle - 1 - size(received), b, middle - 1 - size(received));
    surface.line('soft', a, middle + 1 + size(sent), b, middle + 1 + size(sent));
  }
}

const outgoing = new Set(['out', 'pingOut', 'poll']);
const incoming = new Set(['in', 'pingIn', 'pong']);

/** Returns whether an event is drawn as traffic. Notes are not. */
const isDrawn = event => event.lane === 'traffic'
  && (outgoing.has(event.kind) || incoming.has(event.kind));

/** The time since the last received byte, with the limits of the policy. */
export const silenceLane = {
  key: 'silence', name: 'Silence', note: 'since the last byte', height: 74,
  has: model => model.connections.length > 0 && model.heard.length > 0,

  draw(surface, lane) {
    const { model } = surface;
    const { ping, closed } = model.limits;
    const scale = silenceScale(model, lane);
    if (closed && ping === null) {
      surface.fill('badwash', 0, lane.top, surface.width, scale.y(closed) - lane.top);
    }
    drawRamps(surface, scale);
    drawAsleep(surface, lane);
    if (closed && ping === null) {
      surface.rule('bad', scale.y(closed), [5, 3]);
      drawLossDots(surface, scale, closed);
      const words = `closed after ${spanText(closed)}`;
      surface.text(words, surface.width - 5, scale.y(closed) - 8, 'bad',
        { font: 'small', align: 'right', back: 'panel' });
    }
    surface.rule('line', scale.base + 0.5);
    if (ping !== null) {
      surface.rule('out', scale.y(ping), [2, 3]);
      const words = `ping after ${spanText(ping)}`;
      drawAnswerWindows(surface, scale, surface.measure(words, 'small') + 9);
      surface.text(words, surface.width - 5, scale.y(ping) - 7, 'out',
        { font: 'small', align: 'right', back: 'panel' });
    }
  },

  hit(surface, lane, x) {
    return surface.nearestEvent(surface.time(x), surface.duration(7), event =>
      isDrawn(event) || (event.lane === 'attempt' && event.kind === 'end'));
  },
};

function silenceScale(model, lane) {
  const base = lane.bottom - 6;
  const room = lane.height - 18;
  let top = 1;
  if (model.limits.closed) top = model.limits.closed * 1.12;
  else {
    for (const one of model.connections.items) {
      top = Math.max(top, Math.min(120, (one.until - one.t) / 8));
    }
  }
  const most = 1.04 * top;
  return { base, room, top, most, y: seconds => base - Math.min(most, seconds) / top * room };
}

/** Marks the times in which the app was suspended with an open connection. */
function drawAsleep(surface, lane) {
  const { pen, model } = surface;
  for (const span of model.apps.within(surface.from, surface.to)) {
    if (span.value !== 'suspended' || !model.connections.at(span.t)) continue;
    const a = surface.x(span.t);
    const b = surface.x(span.until);
    pen.globalAlpha = 0.6;
    surface.hatch('panel', a, lane.top, b - a, lane.height, 5, 1.6);
    pen.globalAlpha = 1;
    surface.fitText(['asleep, could not check', 'asleep'], Math.max(0, a) + 4, lane.bottom - 15,
      Math.min(surface.width, b) - 3, 'ink', { font: 'small', back: 'panel' });
  }
}

/** Draws a triangle for each silence; where several share a pixel, the height of the longest. */
function drawRamps(surface, scale) {
  const { pen, model } = surface;
  pen.beginPath();
  let column = -1;
  let longest = 0;
  const flush = () => {
    if (column >= 0) pen.rect(column, scale.y(longest), 1, scale.base - scale.y(longest));
    longest = 0;
  };
  const narrow = surface.duration(1.5);
  const ramp = (from, to) => {
    const b = surface.x(to);
    if (to - from >= narrow) {
      const a = surface.x(from);
      if (b < 0 || a > surface.width) return;
      pen.moveTo(a, scale.base);
      // A longer silence than fits goes on at the top, so that it crosses the limit at the limit.
      if (to - from > scale.most) pen.lineTo(surface.x(from + scale.most), scale.y(scale.most));
      pen.lineTo(b, scale.y(to - from));
      pen.lineTo(b, scale.base);
      pen.closePath();
      return;
    }
    const pixel = Math.floor(b);
    if (pixel !== column) {
      flush();
      column = pixel;
    }
    if (to - from > longest) longest = to - from;
  };
  for (const one of model.connections.within(surface.from, surface.to)) {
    eachSilence(surface, one, ramp);
  }
  flush();
  pen.fillStyle = surface.colors.silence;
  pen.fill();
}

function eachSilence(surface, one, ramp) {
  const { heard } = surface.model;
  let index = lowerBound(heard, Math.max(one.up, surface.from));
  const stop = upperBound(heard, Math.min(one.until, surface.to));
  let last = one.up;
  if (one.up < surface.from && index > 0) last = Math.max(one.up, heard[index - 1]);
  for (; index < stop; index++) {
    if (heard[index] > last) ramp(last, heard[index]);
    last = heard[index];
  }
  const next = one.until > surface.to ? Math.min(one.until, heard[stop] ?? one.until) : one.until;
  ramp(last, next);
}

/** Returns when a connection brought something for the last time. */
function lastHeardIn({ heard }, one) {
  return Math.max(one.up, heard[upperBound(heard, one.until) - 1] ?? one.up);
}

function drawLossDots(surface, scale, closed) {
  let last = -Infinity;
  for (const one of surface.model.connections.within(surface.from, surface.to)) {
    const isSilent = one.lost && (one.why === 'silent' || one.why === 'no pong');
    const x = surface.x(one.until);
    if (!isSilent || x < 0 || x > surface.width || x - last < 4) continue;
    const silent = one.until - lastHeardIn(surface.model, one);
    surface.dot('bad', x, scale.y(Math.max(closed, silent)), 4);
    last = x;
  }
}

const mostWindows = 400;

/** Draws the time in which the answer to each ping is due. */
function drawAnswerWindows(surface, scale, reserved) {
  const { model } = surface;
  const { pong } = model.limits;
  const margin = pong / (surface.to - surface.from) * surface.width;
  const asks = surface.inSight(model.asks, margin);
  if (asks.length > mostWindows) return;
  const places = new Places();
  places.take(surface.width - reserved, surface.width);
  for (const index of asks) {
    const asked = model.times[index];
    const answered = model.heard[upperBound(model.heard, asked)] ?? Infinity;
    const over = model.connections.lastBegun(asked)?.until ?? asked;
    const until = Math.min(answered, asked + pong, Math.max(over, asked));
    drawAnswerWindow(surface, scale, { asked, until, due: asked + pong }, places);
  }
}

function drawAnswerWindow(surface, scale, { asked, until, due }, places) {
  const a = surface.x(asked);
  const b = surface.x(until);
  const end = surface.x(due);
  const level = scale.base - scale.room * 0.78;
  const isMissed = until >= due - 0.05;
  if (b - a < 3 && !(isMissed && end - a > 2)) return;
  surface.line('out', a, level, end, level, { dash: [2, 3] });
  surface.line('out', a, level, b, level, { width: 2.5 });
  surface.line('out', a + 0.5, level, a + 0.5, scale.base);
  if (isMissed) {
    const words = `no answer in ${spanText(due - asked)}`;
    const size = surface.measure(words, 'small');
    const left = Math.min(b + 9, surface.width - size - 4);
    if (end - a > 8 && places.take(left, left + size)) {
      surface.text(words, left, level, 'bad', { font: 'small', back: 'panel' });
    }
    surface.dot('bad', b, level, 4);
  } else if (end - a > 90 && places.take(a + 4, a + 4 + surface.measure('answer due', 'small'))) {
    surface.text('answer due', a + 4, level - 8, 'out', { font: 'small' });
  }
}
