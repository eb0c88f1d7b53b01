// What each chart shows of a type of samples, and in which words.

import { fittingText, hoursText, numberText, tenthText } from './figures.js';

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

/** The names and words of types whose identifier does not tell them. */
const known = {
  ActiveEnergyBurned: { name: 'Active energy', color: 'orange' },
  BasalEnergyBurned: { name: 'Resting energy', color: 'orange' },
  FlightsClimbed: { name: 'Flights climbed', unit: 'flights' },
  HeartRateVariabilitySDNN: { name: 'Heart rate variability', color: 'violet' },
  OxygenSaturation: { name: 'Blood oxygen', color: 'blue' },
  VO2Max: { name: 'VO₂ max', color: 'violet' },
  BodyMass: { name: 'Weight', color: 'blue' },
  BodyMassIndex: { name: 'Body mass index', color: 'blue', unit: '' },
  AppleExerciseTime: { name: 'Exercise', color: 'green' },
  AppleStandTime: { name: 'Standing', color: 'blue' },
  DistanceWalkingRunning: { name: 'Walking and running distance', color: 'green' },
  WalkingHeartRateAverage: { name: 'Walking heart rate', color: 'red', unit: 'beats a minute' },
  RespiratoryRate: { name: 'Respiratory rate', color: 'blue', unit: 'breaths a minute' },
  DietaryWater: { name: 'Water', color: 'blue' },
  BloodGlucose: { name: 'Blood glucose', color: 'red' },
  PushCount: { name: 'Wheelchair pushes', unit: 'pushes' },
};

/** The words of HealthKit's units. */
const units = {
  'count/min': 'a minute', degC: '°C', count: '', 'mL/min·kg': 'mL/min·kg', min: 'min',
};

/** Returns the name of a type: `HKQuantityTypeIdentifierBodyMass` becomes `Body mass`. */
export function nameOf(type) {
  const built = usual.find(kind => kind.type === type);
  if (built) return built.name;
  const plain = plainName(type);
  if (known[plain]) return known[plain].name;
  const spaced = plain.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/_/g, ' ').trim();
  const lower = spaced.replace(/\b([A-Z])(?=[a-z])/g, letter => letter.toLowerCase());
  return lower ? lower.charAt(0).toUpperCase() + lower.slice(1) : type;
}

const plainName = type => type
  .replace(/^HK(Quantity|Category|Correlation|Data)?Type(Identifier)?/, '');

/** Returns what a chart shows of a type that was chosen from the list of synced types. */
export function kindOf({ type, style, unit }) {
  const words = known[plainName(type)] ?? {};
  const scale = scaleOf(type, unit);
  const noun = words.unit ?? (scale.unit !== '' ? scale.unit : style === 'count' ? 'samples' : '');
  const isSum = style !== 'reading';
  return {
    type, name: nameOf(type), color: words.color ?? (isSum ? 'green' : 'violet'),
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
