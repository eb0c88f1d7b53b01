// The section of workouts.

import { make } from '../shared/elements.js';
import { longDay, dayOf } from './dates.js';
import { countText, fittingText, hoursText, numberText } from './figures.js';
import { nameText } from './names.js';
import { table } from './table.js';

// Times of workouts are readings of the person's own clock. Those that it shows twice have an
// offset, which changes nothing about what it shows.
const wall = text => Date.parse(`${text.slice(0, 19)}Z`);
const hoursOf = ({ start, end }) => Math.max(0, end.length === start.length
  ? (wall(end) - wall(start)) / 3600000 : (Date.parse(end) - Date.parse(start)) / 3600000 || 0);

/** Fills the section of the workouts of a period. `first` is the day of the first of all. */
export function fillWorkouts(section, values, { from, to, before }, first) {
  const found = within(values, from, to);
  section.redraw = null;
  const body = section.querySelector('.body');
  if (!found.length) {
    body.replaceChildren(make('p', { class: 'none' }, 'No workouts in this period.'));
    return;
  }
  const earlier = before === null ? [] : within(values, before, from - 1);
  const hours = found.reduce((sum, one) => sum + hoursOf(one), 0);
  const noun = found.length === 1 ? 'workout' : 'workouts';
  const total = `${noun}, ${hoursText(hours)} in all`;
  body.replaceChildren(
    make('p', { class: 'big' }, numberText(found.length), ' ', make('small', {}, total)),
    make('p', { class: 'trend' }, ...change(found, earlier, { from, to, before }, first)),
    table('Workouts', ['Day', 'Start', 'Kind', 'Duration', 'Distance', 'Energy', 'Source'],
      found.map(row), [2, 6]));
}

function within(values, from, to) {
  const found = [];
  for (const [day, workouts] of values) {
    if (day >= from && day <= to) found.push(...workouts);
  }
  return found.sort((one, other) => one.start < other.start ? 1 : -1);
}

function change(found, earlier, { from, to, before }, first) {
  if (before === null) return [];
  if (before < first) return ['too few earlier days to compare with'];
  const days = to - from + 1;
  const than = days === 1 ? 'on the day before' : `in the ${numberText(days)} days before`;
  const more = found.length - earlier.length;
  if (more === 0) return [`as many as ${than}`];
  return [
    make('span', { 'aria-hidden': 'true' }, more > 0 ? '▲ ' : '▼ '),
    make('b', {}, `${numberText(Math.abs(more))} `), `${more > 0 ? 'more' : 'fewer'} than ${than}`,
  ];
}

function row(one) {
  const { start, type, distanceMeters, energyKcal, source } = one;
  return [
    longDay(dayOf(start)), `${start.slice(11, 16)} ${start.slice(19)}`.trim(), nameText(type),
    hoursText(hoursOf(one)),
    distanceMeters === null ? null : `${fittingText(distanceMeters / 1000)} km`,
    energyKcal === null ? null : countText(energyKcal, 'kcal', 'kcal'), source,
  ];
}
