// Words for times and counts.

const minute = 60;
const hour = 3600;
const day = 86400;

const steps = [
  0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15,
  30, minute, 120, 300, 600, 900, 1800, hour, 7200, 10800, 21600, 43200, day, 2 * day, 7 * day,
];

/** Returns the step of a time axis whose labels are at least `least` pixels apart. */
export function timeStep(span, width, least = 90) {
  const wanted = span * least / width;
  return steps.find(step => step >= wanted) ?? Math.ceil(wanted / (7 * day)) * 7 * day;
}

const twoDigits = value => String(value).padStart(2, '0');

function digitsOf(step) {
  if (step >= 1) return 0;
  if (step >= 0.1) return 1;
  if (step >= 0.01) return 2;
  return step >= 0.001 ? 3 : 4;
}

/** Returns a time of the trace, such as `3:05`, `3:05.2`, `1:02:03` and `2 d 1:02:03`. */
export function clockText(time, step = 1) {
  const digits = digitsOf(step);
  const factor = 10 ** digits;
  const all = Math.round(Math.abs(time) * factor) / factor;
  const days = Math.floor(all / day);
  const hours = Math.floor(all % day / hour);
  const minutes = Math.floor(all % hour / minute);
  const seconds = (all % minute).toFixed(digits).padStart(digits ? 3 + digits : 2, '0');
  let text = `${minutes}:${seconds}`;
  if (hours || days) text = `${hours}:${twoDigits(minutes)}:${seconds}`;
  if (days) text = `${days} d ${text}`;
  return time < 0 && all > 0 ? `−${text}` : text;
}

/** Returns the label of a time on an axis with a step. */
export function axisText(time, step) {
  if (step < hour || time < 0) return clockText(time, step);
  const all = Math.round(time);
  const days = Math.floor(all / day);
  const hours = Math.floor(all % day / hour);
  if (all === 0) return '0:00';
  return [days && `${days} d`, hours && `${hours} h`].filter(Boolean).join(' ');
}

/**
 * Returns a duration, such as `0.8 ms`, `240 ms`, `12.3 s`, `4 min 35 s`, `2 h 5 min`. From 1 ms it
 * is cut off as in the sentences of a trace, so that both tell a length in the same words.
 */
export function spanText(seconds) {
  if (!Number.isFinite(seconds)) return 'unlimited time';
  // Times of a trace have six decimals, and their difference is a little off.
  const time = seconds + 0.5e-6;
  if (time < 0.00005) return '0 s';
  if (time < 0.001) return `${Math.floor(time * 10_000) / 10} ms`;
  if (time < 1) return `${Math.floor(time * 1000)} ms`;
  if (time < minute) return `${Math.floor(time * 10) / 10} s`;
  if (time < hour) return pair(Math.floor(time), minute, 'min', 's');
  if (time < 2 * day) return pair(Math.floor(time / minute), 60, 'h', 'min');
  return pair(Math.floor(time / hour), 24, 'd', 'h');
}

function pair(amount, size, name, rest) {
  const remainder = amount % size;
  return `${Math.floor(amount / size)} ${name}` + (remainder ? ` ${remainder} ${rest}` : '');
}

/** Returns a count with its noun. */
export function count(many, one, more = `${one}s`) {
  return `${many.toLocaleString('en')} ${many === 1 ? one : more}`;
}

/** Returns the word of a place in an order, such as `1st`, `2nd`, `13th`. */
export function ordinal(number) {
  const isTeen = number % 100 > 10 && number % 100 < 14;
  return number + (isTeen ? 'th' : ['th', 'st', 'nd', 'rd'][number % 10] ?? 'th');
}

/** Returns how often something happened: `once`, `twice`, `3 times`. */
export const timesText = many =>
  ['', 'once', 'twice'][many] ?? `${many.toLocaleString('en')} times`;

/** Returns a text with a capital first letter. */
export const capitalized = text => text.charAt(0).toUpperCase() + text.slice(1);
