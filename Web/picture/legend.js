// The legend.

import { byId, make, svg } from '../shared/elements.js';

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

/** The entries: what they need in a model, their picture and their words. */
const entries = [
  [hasState('connected'), () => box('ok'), 'connected'],
  [hasAttempts, () => box('try', { 'stroke-dasharray': '3 2' }),
    'attempt, or time until the next one'],
  [hasState('standby'), () => box('poll'), 'polling instead'],
  [hasState('held'), () => box('rest'), 'resting'],
  [hasAttempts, cross, 'lost'],
  [hasAttempts, square, 'closed by this end'],
  [hasMessages, () => line('ok'), 'message, live'],
  [hasMessages, () => line('late'), 'message, fetched later'],
  [model => model.via.includes(2), () => line('poll'), 'message, polled'],
  [model => model.sentTo.length > 0, rising,
    'the user’s, waiting to be sent'],
  [model => model.troubles.length > 0, trouble, 'fault outside'],
];

function hasState(name) {
  return model => model.states.items.some(state => state.state === name);
}

function hasAttempts(model) {
  return model.attempts.length > 0;
}

function hasMessages(model) {
  return model.shown.length > 0;
}

/** Shows the entries for what a model contains. */
export function fillLegend(model) {
  byId('legend').replaceChildren(...entries.filter(([isShown]) => isShown(model))
    .map(([, drawing, words]) => make('li', {}, drawing(), words)));
}
