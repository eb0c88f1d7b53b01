// What each chart shows of a type of samples, and in which words.

import { fittingText, hoursText, numberText, tenthText } from './figures.js';
import { nameText } from './names.js';

const quantity = 'HKQuantityTypeIdentifier';

/** The type of nights. */
export const sleepType = 'HKCategoryTypeIdentifierSleepAnalysis';

/** The type of workouts. */
export const workoutType = 'HKWorkoutTypeIdentifier';

/** The stages of sleep, from the bottom of a column to its top. */
export const stages = [
  ['deep', 'deep'], ['core', 'core'], ['rem', 'REM'], ['asleep', 'stage not recorded'],
  ['awake', 'awake'],
];

const steps = {
  type: `${quantity}StepCount`, name: 'Steps', color: 'green', form: 'bars', isSum: true,
  unit: 'steps', caption: 'steps a day', axis: 'steps', least: 1,
  more: ['more', 'less'], text: value => numberText(value),
};

const heart = {
  type: `${quantity}HeartRate`, name: 'Heart rate', color: 'red', form: 'range', least: 1,
  unit: 'beats a minute', caption: 'beats a minute on average', axis: 'beats a minute',
  short: 'bpm', more: ['higher', 'lower'], text: value => numberText(value),
};

const sleep = {
  type: sleepType, name: 'Sleep', color: 'core', form: 'stack', isSum: true, isHours: true,
  unit: '', caption: 'asleep a night', axis: 'hours', least: 1,
  more: ['longer', 'shorter'], text: hoursText,
};

const resting = {
  type: `${quantity}RestingHeartRate`, name: 'Resting heart rate', color: 'red', form: 'line',
  unit: 'beats a minute', caption: 'beats a minute', axis: 'beats a minute', least: 1,
  short: 'bpm', more: ['higher', 'lower'], text: value => tenthText(value),
};

/** The charts that every person has, in order. */
export const usual = [steps, heart, sleep, resting];

/** What charts show of types, by their words: that which the words do not tell. */
const known = {
  __proto__: null,
  CALORIES: { color: 'orange' }, BASAL_ENERGY: { color: 'orange' }, HRV: { color: 'violet' },
  FLIGHTS_CLIMBED: { unit: 'flights' }, BLOOD_OXYGEN: { color: 'blue' },
  VO2_MAX: { color: 'violet' }, WEIGHT: { color: 'blue' },
  BODY_MASS_INDEX: { color: 'blue', unit: '' }, EXERCISE_TIME: { color: 'green' },
  STAND_TIME: { color: 'blue' }, DISTANCE: { color: 'green' },
  WALKING_HEART_RATE: { color: 'red', unit: 'beats a minute' },
  RESPIRATORY_RATE: { color: 'blue', unit: 'breaths a minute' }, WATER: { color: 'blue' },
  GLUCOSE: { color: 'red' }, WHEELCHAIR_PUSHES: { unit: 'pushes' },
};

/** The words of HealthKit's units. */
const units = {
  'count/min': 'a minute', degC: '°C', count: '', 'mL/min·kg': 'mL/min·kg', min: 'min',
};

/** Returns the name of a type that the server lists. */
export const nameOf = ({ type, word }) =>
  usual.find(kind => kind.type === type)?.name ?? nameText(word);

/** Returns what a chart shows of a type that was chosen from the list of synced types. */
export function kindOf({ type, word, style, unit }) {
  const words = known[word] ?? {};
  const scale = scaleOf(type, unit);
  const noun = words.unit ?? (scale.unit !== '' ? scale.unit : style === 'count' ? 'samples' : '');
  const isSum = style !== 'reading';
  return {
    type, name: nameOf({ type, word }), color: words.color ?? (isSum ? 'green' : 'violet'),
    form: isSum ? 'bars' : 'line', isSum, isSparse: !isSum, unit: noun, factor: scale.factor,
    caption: isSum ? `${noun} a day`.trim() : noun, axis: noun,
    least: style === 'count' || unit === 'count' ? 1 : 0,
    more: isSum ? ['more', 'less'] : ['higher', 'lower'],
    text: value => fittingText(value), isOther: true,
  };
}

/** Returns the unit in which values of a type are shown, and their factor. */
function scaleOf(type, unit) {
  if (!unit) return { unit: '', factor: 1 };
  if (unit === 'm' && type.includes('Distance')) return { unit: 'km', factor: 0.001 };
  const words = units[unit] ?? (unit.startsWith('mL/min') ? 'mL/min·kg' : unit);
  return { unit: words, factor: 1 };
}
