// The numbers of an answer, by what they measure: their names, units and colors.

import { fittingText, hoursText, numberText } from '../dashboard/figures.js';
import { nameText } from '../dashboard/names.js';

/** The words of the units of answers. Others are shown as they are. */
const units = {
  __proto__: null,
  count: '', noUnit: '', beatsPerMinute: 'beats a minute',
  respirationsPerMinute: 'breaths a minute',
  millisecond: 'ms', kilocalorie: 'kcal', percentage: '%', millimeterOfMercury: 'mmHg',
  degreeCelsius: '°C', meter: 'm', meterPerSecond: 'm/s', kilogram: 'kg', liter: 'L',
  milligramPerDeciliter: 'mg/dL', minute: 'min', gram: 'g', milligram: 'mg', microgram: 'µg',
  watt: 'W', revolutionsPerMinute: 'turns a minute', decibel: 'dB', literPerMinute: 'L/min',
  milliliterPerKilogramPerMinute: 'mL/min·kg', kilocaloriePerKilogramPerHour: 'kcal/kg·h',
  microsiemens: 'µS', internationalUnit: 'IU',
};

/** The nouns of counts. */
const nouns = { STEPS: 'steps', FLIGHTS_CLIMBED: 'floors', WHEELCHAIR_PUSHES: 'pushes' };

/** The color of a type whose name has one of these words. */
const colors = [
  [/SLEEP/, 'core'], [/HRV|VO2|VARIABILITY/, 'violet'], [/HEART|PRESSURE|GLUCOSE/, 'red'],
  [/ENERGY|CALORIES|NUTRITION|WORKOUT|DIETARY/, 'orange'],
  [/STEPS|DISTANCE|EXERCISE|FLIGHTS|MINDFUL/, 'green'],
];

const colorOf = type => colors.find(([words]) => words.test(type))?.[1] ?? 'blue';

const isNumber = value => typeof value === 'number' && Number.isFinite(value);

/** What a point without a number of its own measures: the member, its name and its unit. */
const nutrients = [
  ['calories', 'Food energy', 'kilocalorie'], ['protein', 'Protein', 'gram'],
  ['carbs', 'Carbohydrates', 'gram'], ['fat', 'Fat', 'gram'],
];
const efforts = [
  ['duration_minutes', '', 'minute'], ['total_distance', ' distance', 'meter'],
  ['session_count', ' workouts', 'count'],
];

/** Returns the members that have a number in any point, by the types of points. */
function numbersOf(points) {
  const found = new Map();
  for (const point of points) {
    const members = found.get(point.type) ?? found.set(point.type, new Set()).get(point.type);
    for (const member in point) if (isNumber(point[member])) members.add(member);
  }
  return found;
}

/** Returns the measures of a point: each the member with its number, its name and its unit. */
function membersOf(point, known) {
  const has = ([member]) => known.has(member);
  if (known.has('value')) return [['value', '', point.unit]];
  const kind = nameText(point.workout_type ?? 'workout');
  return point.type === 'WORKOUT'
    ? efforts.filter(has).slice(0, 1).map(([member, name, unit]) => [member, kind + name, unit])
    : nutrients.filter(has);
}

/**
 * Returns the points that belong together: `{ key, name, member, unit, points }`. Single samples of
 * all sources do.
 */
export function measuresOf(points, isGrouped) {
  const found = new Map();
  const known = numbersOf(points);
  for (const point of points) {
    for (const [member, name, unit] of membersOf(point, known.get(point.type))) {
      const own = name || [point.type, point.workout_type].filter(Boolean).map(nameText).join(': ');
      const isWhole = !isGrouped || ['merged', 'all', null, undefined].includes(point.source_id);
      const source = isWhole ? '' : ` (${point.source_id})`;
      const key = JSON.stringify([own, member, unit, point.statistic, source]);
      if (!found.has(key)) {
        found.set(key, { key, name: `${own}${source}`, member, unit, points: [] });
      }
      found.get(key).points.push(point);
    }
  }
  return [...found.values()];
}

/** Returns the unit in which values are shown, their factor, and how they are written. */
function scaleOf(unit, most, type) {
  if (unit === 'minute' && (most >= 180 || type === 'SLEEP_SESSION')) {
    return { factor: 1 / 60, unit: '', axis: 'hours', text: hoursText, isHours: true };
  }
  const plain = units[unit] ?? String(unit ?? '');
  if (unit === 'meter' && most >= 1000) return { factor: 0.001, unit: 'km', text: fittingText };
  const noun = unit === 'count' && nouns[type] || plain;
  const text = unit === 'count' ? value => numberText(value) : fittingText;
  return { factor: 1, unit: noun, text };
}

const sums = /^(sum|count)$|per_(day|night)$/;

/** Returns how a measure is drawn, in the terms of the charts of the dashboard. */
export function drawingOf({ name, member, unit, points }) {
  const [{ type, statistic }] = points;
  const most = points.reduce((size, point) => Math.max(size, Math.abs(point[member] ?? 0)), 0);
  const scale = scaleOf(unit, most, type);
  const isSum = sums.test(statistic ?? '') || member !== 'value' || type === 'SLEEP_SESSION';
  const hasStages = type === 'SLEEP_SESSION' && unit === 'minute' && statistic !== 'sum'
    && points.some(({ deep, light, rem }) => deep || light || rem);
  const axis = scale.axis ?? (scale.unit || (statistic === 'count' ? 'count' : 'number'));
  const isEffort = member !== 'value' && type === 'WORKOUT' && statistic === 'sum';
  return {
    ...scale, name, color: colorOf(type), axis, isSum, hasStages, isEffort,
    isSparse: !isSum || isEffort,
    form: hasStages ? 'stack' : isSum ? 'bars' : 'line', least: unit === 'count' ? 1 : 0,
  };
}

/** Returns the statistic of a point in words. */
export const statisticText = statistic => String(statistic ?? '').replace(/_/g, ' ');

/** Returns an amount with its unit. */
export const amountText = (kind, value) => `${kind.text(value * kind.factor)} ${kind.unit}`.trim();

/** Returns a number of an answer with the words of its unit. */
export const withUnit = (value, unit) =>
  `${fittingText(value)} ${units[unit] ?? unit ?? ''}`.trim();
