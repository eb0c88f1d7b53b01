// The legend.

import { byId, make, svg } from '../shared/elements.js';
import { lateAfter } from './states.js';
import { spanText } from '../shared/words.js';

const picture = (width, ...content) =>
  svg('svg', { width, height: 12, 'aria-hidden': 'true' }, ...content);

const box = (color, attributes = {}) => picture(18, svg('rect', {
  x: 0.5, y: 1.5, width: 17, height: 9, rx: 2, fill: `var(--${color}soft)`,
  stroke: `var(--${color})`, ...attributes,
}));

const line = (color, attributes = {}) => picture(18, svg('line', {
  x1: 1, y1: 1, x2: 17, y2: 11, stroke: `var(--${color})`, 'stroke-width': 1.8, ...attributes,
}));

const cross = () => picture(12, svg('path', {
  d: 'M2 2L10 10M10 2L2 10', stroke: 'var(--bad)', 'stroke-width': 2,
}));

const square = () => picture(12, svg('rect', {
  x: 3, y: 2, width: 6, height: 8, fill: 'var(--rest)',
}));

const trouble = () => picture(18,
  svg('path', {
    d: 'M0 8L6 2M2 12L12 2M8 12L18 2M14 12L18 8', stroke: 'var(--bad)', 'stroke-opacity': 0.5,
  }),
  svg('rect', { width: 18, height: 2, fill: 'var(--bad)' }));

const rising = () => line('out', { 'stroke-dasharray': '4 2', y1: 11, y2: 1 });

const wedge = (color, points, attributes = {}) => picture(18, svg('polygon', {
  points, fill: `var(--${color})`, ...attributes,
}));

const triangle = color => picture(12, svg('polygon', { points: '2,2 10,2 6,9',
  fill: `var(--${color})` }));

const circle = color => picture(12, svg('circle', {
  cx: 6, cy: 6, r: 3.5, fill: 'var(--panel)', stroke: `var(--${color})`, 'stroke-width': 1.5,
}));

const hatched = (color, width = 18) => picture(width,
  svg('rect', { width, y: 1, height: 10, fill: `var(--${color}soft)` }),
  svg('path', {
    d: 'M0 7L6 1M2 11L12 1M8 11L18 1M14 11L18 7', stroke: `var(--${color})`, 'stroke-width': 0.8,
  }));

const bar = color => picture(10, svg('rect', {
  x: 1, y: 3, width: 8, height: 6, fill: `var(--${color})`,
}));

const tick = () => picture(8, svg('path', {
  d: 'M2 11V5M6 11V7', stroke: 'var(--faint)', 'stroke-width': 1.5,
}));

const stairs = () => picture(18, svg('path', {
  d: 'M1 2H5M5 5H9M9 8H14M14 11H17', stroke: 'var(--try)', 'stroke-width': 3,
}));

/** Returns why messages of a model were late, of the ways that occur in it. */
function lateWords({ sums }) {
  const slow = `after more than ${spanText(lateAfter)}`;
  if (!sums.slow) return 'message, late: fetched';
  return sums.fetched ? `message, late: fetched, or ${slow}` : `message, late: ${slow}`;
}

/** The entries: what they need in a model, their picture, and their words or a function of them. */
const entries = [
  [hasState('connected'), () => box('ok'), 'connected'],
  [hasAttempts, () => box('try', { 'stroke-dasharray': '3 2' }), 'attempt'],
  [model => model.attempts.items.some(one => one.phases), stairs,
    'its phases: name, connection, TLS, upgrade'],
  [hasState('waiting'), () => wedge('try', '1,2 17,11 1,11', { opacity: 0.5 }),
    'time until the next attempt'],
  [hasState('standby'), () => box('poll'), 'polling instead'],
  [hasState('held'), () => box('rest'), 'resting'],
  [hasApp('background', 'suspended'), () => hatched('rest'), 'app in the background or asleep'],
  [hasApp('killed'), () => hatched('bad'), 'app not running'],
  [hasEnd(true), cross, 'lost'],
  [hasEnd(false), square, 'closed by this end'],
  [model => model.pings.length > 0, () => circle('ok'), 'ping, pong or poll'],
  [model => model.bytes.length > 0, () => line('soft', { y1: 6, y2: 6 }), 'bytes per second'],
  [model => model.connections.length > 0 && model.heard.length > 0,
    () => wedge('silence', '1,11 17,2 17,11'), 'silence'],
  [hasWay(0), () => line('ok'), 'message, live'],
  [hasWay(1), () => line('late'), lateWords],
  [hasWay(2), () => line('poll'), 'message, late: polled'],
  [hasWay(3), () => line('rest'), 'message of the history'],
  [model => model.sentTo.length > 0, rising,
    'the user’s, waiting to be sent'],
  [model => model.fetches.length > 0, () => bar('late'), 'fetch'],
  [model => model.posts.length > 0, () => bar('out'), 'upload'],
  [hasFailedRequest, () => bar('bad'), 'failed request'],
  [model => model.commits.length > 0, tick, 'stored'],
  [model => model.tokens.length > 0, () => circle('late'), 'token'],
  [model => model.marks.length + model.serverMarks.length > 0, () => triangle('soft'),
    'event of the phone, the user or the server'],
  [model => model.downs.length > 0, () => hatched('bad'), 'server down'],
  [model => model.troubles.length > 0, trouble, 'fault outside'],
  [model => model.findings.length > 0, () => triangle('poll'), 'finding'],
];

function hasState(name) {
  return model => model.states.items.some(state => state.state === name);
}

function hasApp(...values) {
  return model => model.apps.items.some(app => values.includes(app.value));
}

function hasEnd(lost) {
  return model => model.attempts.items.some(one => one.isOver && one.lost === lost);
}

function hasWay(way) {
  return model => model.via.includes(way);
}

function hasFailedRequest({ fetches, posts }) {
  return fetches.items.some(one => !one.ok) || posts.items.some(one => !one.ok);
}

function hasAttempts(model) {
  return model.attempts.length > 0;
}

/** Shows the entries for what a model contains. */
export function fillLegend(model) {
  byId('legend').replaceChildren(...entries.filter(([isShown]) => isShown(model))
    .map(([, drawing, words]) => make('li', {}, drawing(),
      typeof words === 'string' ? words : words(model))));
}
