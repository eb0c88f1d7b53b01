// The text forms of durations and schedules in a policy.

const units = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };

/** Returns the seconds of a duration such as `500ms`; `NaN` for another text. */
export function secondsOf(text) {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)$/.exec(text.trim()) ?? [];
  return number === undefined ? NaN : Number(number) * units[unit];
}

/** Returns the text of a duration in a policy. */
export function durationText(seconds) {
  const milliseconds = Math.round(seconds * 1000);
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000}s` : `${milliseconds}ms`;
}

const form = new RegExp('^(\\S+)\\*(\\d+) max (\\S+) \\+-(\\d+(?:\\.\\d+)?) min (\\S+) x(\\S+)$');

/** Returns the parts of exponential back-off in seconds; `null` for another schedule. */
export function backoffOf(text) {
  const parts = form.exec(text.trim());
  if (!parts) return null;
  const [, first, factor, cap, jitter, floor, attempts] = parts;
  const backoff = {
    first: secondsOf(first), factor: Number(factor), cap: secondsOf(cap), jitter: Number(jitter),
    floor: secondsOf(floor), attempts,
  };
  return [backoff.first, backoff.cap, backoff.floor].some(Number.isNaN) ? null : backoff;
}

/** Returns the text of exponential back-off. */
export function backoffText({ first, factor, cap, jitter, floor, attempts }) {
  const [start, most, least] = [first, cap, floor].map(durationText);
  return `${start}*${factor} max ${most} +-${jitter} min ${least} x${attempts}`;
}

/** Returns the waits of a list in words; `null` for another schedule. */
export function listOf(text) {
  const waits = text.split(',').map(wait => wait.trim());
  return waits.every(wait => !Number.isNaN(secondsOf(wait))) ? waits : null;
}
