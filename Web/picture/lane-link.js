// The lanes of the device and of the link's state.

import { upperBound } from '../shared/numbers.js';
import { appStates, isBlocked, isTrying, linkStates, pathWords } from './states.js';
import { spanText } from '../shared/words.js';

/** The app, the path of the network, tokens, and what the user does. */
export const deviceLane = {
  key: 'device', name: 'Phone', note: 'app and network', height: 34,
  has: model => model.apps.length + model.paths.length + model.marks.length > 0,

  draw(surface, lane) {
    const { model } = surface;
    const middle = lane.top + lane.height / 2 - 2;
    for (const span of model.apps.within(surface.from, surface.to)) {
      drawApp(surface, lane, span, middle);
    }
    for (const span of model.paths.within(surface.from, surface.to)) {
      drawPath(surface, lane, span, middle);
    }
    for (const index of sparse(surface, surface.inSight(model.tokens, 4))) {
      surface.ring('late', surface.x(model.times[index]), lane.bottom - 10, 2.5, 1.2);
    }
    for (const index of sparse(surface, surface.inSight(model.marks, 4))) {
      surface.pointer('soft', surface.x(model.times[index]), lane.top + 1, 3);
    }
  },

  hit(surface, lane, x, y) {
    const { model } = surface;
    const time = surface.time(x);
    const reach = surface.duration(7);
    if (y < lane.top + 11) {
      const mark = surface.nearestOf(model.marks, time, reach);
      if (mark >= 0) return mark;
    }
    if (y > lane.bottom - 14) {
      const token = surface.nearestOf(model.tokens, time, reach);
      return token >= 0 ? token : model.paths.nearest(time, reach)?.event ?? -1;
    }
    const app = model.apps.nearest(time, reach);
    return app?.event ?? model.paths.nearest(time, reach)?.event ?? -1;
  },
};

/** Returns the events of a list that are drawn: at most one for each three pixels. */
function sparse(surface, indexes) {
  let last = -Infinity;
  return indexes.filter(index => {
    const x = surface.x(surface.model.times[index]);
    if (x - last < 3) return false;
    last = x;
    return true;
  });
}

function drawApp(surface, lane, span, middle) {
  const { pen } = surface;
  const a = surface.x(span.t);
  const b = surface.x(span.until);
  const state = appStates.get(span.value);
  const isActive = state?.isActive ?? false;
  const top = lane.top + 4;
  const height = lane.height - 9;
  if (!isActive && state) {
    const color = span.value === 'killed' ? 'bad' : 'rest';
    surface.fill(`${color}soft`, a, top, b - a, height);
    pen.globalAlpha = 0.5;
    surface.hatch(color, a, top, b - a, height, span.value === 'suspended' ? 3 : 5, 0.8);
    pen.globalAlpha = 1;
  }
  const back = isActive ? null : span.value === 'killed' ? 'badsoft' : 'restsoft';
  const words = state?.name ?? span.value;
  const left = Math.max(0, a) + 6;
  surface.fitText([words], left, middle, Math.min(surface.width, b) - 4,
    isActive ? 'soft' : 'ink', { back });
}

function drawPath(surface, lane, span, middle) {
  const { model } = surface;
  const a = surface.x(span.t);
  const b = surface.x(span.until);
  const blocked = isBlocked(span.value);
  surface.fill(blocked ? 'bad' : 'ok', a, lane.bottom - 4, Math.max(1, b - a), 2.5);
  const left = Math.max(0, a) + 6;
  const limit = Math.min(surface.width, b) - 4;
  if (blocked) surface.hatch('bad', a, lane.bottom - 8, Math.max(1, b - a), 4, 4, 1);
  // The name of the path stands behind the word for the app, if the app has one there.
  const app = model.apps.lastBegun(Math.max(span.t, surface.from));
  const word = app ? appStates.get(app.value)?.name ?? app.value : '';
  const isHere = word !== '' && surface.x(app.until) > left;
  const x = isHere ? Math.max(left, Math.max(0, surface.x(app.t)) + 6 + surface.measure(word) + 14)
    : left;
  const next = model.apps.items[upperBound(model.apps.starts, surface.time(left))];
  const end = Math.min(limit, next ? surface.x(next.t) - 6 : Infinity);
  if (isHere && app.until < span.until && !appStates.get(app.value)?.isActive) return;
  surface.fitText([pathWords(span.value)], x, middle, end, blocked ? 'bad' : 'faint');
}

/** The state of the link, higher where it is better. */
export const linkLane = {
  key: 'link', name: 'Link', note: 'higher is better', height: 62,
  has: model => model.states.length > 0,

  draw(surface, lane) {
    const { model } = surface;
    const base = lane.bottom - 4;
    const room = lane.height - 12;
    const spans = model.bands.within(surface.from, surface.to);
    const drawn = visible(surface, spans);
    for (const span of drawn) drawState(surface, span, base, room);
    surface.rule('line', base + 0.5);
    const texts = { free: -Infinity };
    drawn.forEach((span, index) => {
      drawStateWords(surface, span, () => nextHigh(surface, drawn, index), base, room, texts);
    });
  },

  hit(surface, lane, x) {
    const span = surface.model.states.nearest(surface.time(x), surface.duration(5));
    return span?.event ?? -1;
  },
};

/** Returns the states that are drawn: of those that share a pixel, the worst. */
function visible(surface, spans) {
  const drawn = [];
  let column = NaN;
  let lowest = 0;
  for (const span of spans) {
    const a = surface.x(span.t);
    if (surface.x(span.until) - a < 0.7) {
      const { level } = linkStates.get(span.state);
      if (Math.round(a) === column && level >= lowest) continue;
      column = Math.round(a);
      lowest = level;
    }
    drawn.push(span);
  }
  return drawn;
}

function drawState(surface, span, base, room) {
  const { pen } = surface;
  const { level, color } = linkStates.get(span.state);
  const a = surface.x(span.t);
  const width = Math.max(surface.x(span.until) - a, 1);
  const height = Math.max(3, room * level);
  const top = base - height;
  surface.fill(`${color}soft`, a, top, width, height);
  if (isTrying(span.state)) surface.hatch(color, a, top, width, height);
  if (span.state === 'standby') surface.hatch(color, a, top, width, height, 8, 0.8);
  if (span.state === 'waiting' && width > 3) {
    // The triangle ends at the time of the next attempt.
    pen.fillStyle = surface.colors[color];
    pen.globalAlpha = 0.35;
    pen.beginPath();
    pen.moveTo(a, top);
    pen.lineTo(surface.x(Math.min(span.retryAt, span.until)), base);
    pen.lineTo(a, base);
    pen.fill();
    pen.globalAlpha = 1;
  }
  surface.fill(color, a, top, width, 2.5);
}

const highLevel = 0.5;

/** Returns where the next high state begins, up to which words of a low state may stand. */
function nextHigh(surface, spans, index) {
  for (let at = index + 1; at < Math.min(spans.length, index + 40); at++) {
    if (linkStates.get(spans[at].state).level > highLevel) return surface.x(spans[at].t);
  }
  return surface.width;
}

function drawStateWords(surface, span, findHigh, base, room, texts) {
  const { level, color } = linkStates.get(span.state);
  const a = surface.x(span.t);
  const b = surface.x(span.until);
  const isHigh = level > highLevel;
  const left = Math.max(0, a) + 6;
  if (!isHigh && left <= texts.free) return;
  const right = Math.min(surface.width, b) - 5;
  // No text is narrower, and most spans of a long trace are.
  if (isHigh && right - left < 14) return;
  const limit = isHigh ? right : Math.min(surface.width, Math.max(right, findHigh())) - 4;
  if (limit - left < 14) return;
  const y = isHigh ? base - room * level / 2 + 1 : base - room * 0.34 - 9;
  const font = span.state === 'connected' ? 'bold' : 'small';
  const back = span.state === 'standby' ? 'panel' : null;
  const words = stateWords(span);
  const end = surface.fitText(words, left, y, limit, isHigh ? color : 'soft', { font, back });
  if (!isHigh && end > 0) texts.free = end + 8;
}

function stateWords(span) {
  const length = spanText(span.until - span.t);
  const why = span.why ? `: ${span.why}` : '';
  const most = span.of ? ` of ${span.of}` : '';
  switch (span.state) {
    case 'connected': return [`connected ${length}`, 'connected', length];
    case 'standby': return [`polling ${length}`, 'polling', 'poll'];
    case 'held': return [`resting${why} ${length}`, `resting ${length}`, 'resting', 'rest'];
    case 'idle': return ['not connected', 'off'];
    case 'failed': return [`failed${why}`, 'failed'];
    case 'waiting': {
      const wait = spanText(span.retryAt - span.t);
      return [`next try in ${wait}`, wait];
    }
    default: return span.try ? [`try ${span.try}${most}`, `try ${span.try}`] : [span.state];
  }
}
