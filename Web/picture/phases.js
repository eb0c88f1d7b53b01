// The phases of attempts, and the bytes of connections, which notes in a journal tell.

import { spanText } from '../shared/words.js';

/** The phases of an attempt in their order, with their names. */
const names = [
  ['resolve', 'name'], ['connect', 'connection'], ['tls', 'TLS'], ['upgrade', 'upgrade'],
];

/** Returns the phases that a fact tells, `null` if there are none. */
export function phasesOf(fact, index) {
  let time = Math.min(fact.from ?? fact.t, fact.t);
  const list = [];
  for (const [key, name] of names) {
    const length = fact[key];
    if (!Number.isFinite(length) || length < 0) continue;
    const row = names.findIndex(([other]) => other === key);
    list.push({ name, row, t: time, until: time + length, failed: fact.failed === key });
    time += length;
  }
  return list.length ? { list, t: list[0].t, until: time, event: index } : null;
}

/** Returns the phase of an attempt at an instant; `undefined` if it is not known. */
export function phaseAt(attempt, time) {
  return attempt.phases?.list.findLast(one => one.t <= time && time <= one.until);
}

/** Returns the words for the phase under a point; an empty text if there is none. */
export function phaseWords(model, index, time) {
  const { lane, kind, attempt } = model.events[index];
  if (lane !== 'attempt' || kind !== 'phases') return '';
  const one = model.attempts.items.find(item => item.phases?.event === index);
  const phase = one && phaseAt(one, time);
  if (!phase) return '';
  const end = phase.failed ? `, where attempt ${attempt} ended` : '';
  return `here: ${phase.name}, ${spanText(phase.until - phase.t)}${end}`;
}

/** Returns the span of the bytes that a fact tells. */
export function bytesOf(fact) {
  const from = Math.min(fact.from ?? fact.t, fact.t);
  const number = value => Number.isFinite(value) && value > 0 ? value : 0;
  const length = Math.max(fact.t - from, 0.001);
  return {
    t: from, until: fact.t, received: number(fact.received) / length,
    sent: number(fact.sent) / length,
  };
}

/** Returns the bytes per second at an instant in words; an empty text if they are not known. */
export function rateWords(model, time) {
  const one = model.bytes.at(time);
  return one ? `${rateText(one.received)} received, ${rateText(one.sent)} sent` : '';
}

/** Returns a number of bytes per second, such as `12 bytes/s` and `3.4 kB/s`. */
export function rateText(rate) {
  if (rate < 999.5) return `${rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate)} bytes/s`;
  const isLarge = rate >= 999_500;
  const amount = rate / (isLarge ? 1e6 : 1e3);
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${isLarge ? 'MB' : 'kB'}/s`;
}
