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

/** Returns a duration, such as `0.8 ms`, `240 ms`, `1.3 s`, `35 s`, `4 min 35 s`, `2 h 5 min`. */
export function spanText(seconds) {
  if (!Number.isFinite(seconds)) return 'unlimited time';
  if (seconds < 0.00005) return '0 s';
  if (seconds < 0.01) return `${+(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${+seconds.toFixed(1)} s`;
  if (seconds < 119.5) return `${Math.round(seconds)} s`;
  if (seconds < hour - 0.5) return pair(Math.round(seconds), minute, 'min', 's');
  if (seconds < 2 * day) return pair(Math.round(seconds / minute), 60, 'h', 'min');
  return pair(Math.round(seconds / hour), 24, 'd', 'h');
}

function pair(amount, size, name, rest) {
  const remainder = amount % size;
  return `${Math.floor(amount / size)} ${name}` + (remainder ? ` ${remainder} ${rest}` : '');
}

/** Returns a count with its noun. */
export function count(many, one, more = `${one}s`) {
  return `${many.toLocaleString('en')} ${many === 1 ? one : more}`;
}

/** Returns a text with a capital first letter. */
export const capitalized = text => text.charAt(0).toUpperCase() + text.slice(1);
