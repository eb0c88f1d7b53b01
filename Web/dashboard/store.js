// The values by day that the server has told, so that no day is asked for twice.

import { ask } from './api.js';
import { dayNumber, dayOf, dayText } from './dates.js';
import { sleepType, workoutType } from './kinds.js';

/** The most days of one request, so that each is answered at once. */
const mostDays = 366;

/** The days and values of each type, and its last load: `{ values, loaded, last }`. */
let known = new Map();

/** Ends the requests for what is known, when it is forgotten. */
let requests = new AbortController();

/** What the summary said when the values were loaded. */
let mark = '';

/** Forgets all values. */
export function forget() {
  requests.abort();
  requests = new AbortController();
  known = new Map();
  mark = '';
}

/** Returns the summary of the person's samples. After new samples, the values are forgotten. */
export async function summary(signal) {
  const reply = await ask('summary', {}, signal);
  signal.throwIfAborted();
  const now = JSON.stringify([reply.types, reply.lastSync, reply.timeZone]);
  if (now !== mark) forget();
  mark = now;
  return reply;
}

function storeOf(type) {
  if (!known.has(type)) {
    known.set(type, { values: new Map(), loaded: [], last: Promise.resolve() });
  }
  return known.get(type);
}

/** Returns the known values of a type by the number of their day. */
export const valuesOf = type => storeOf(type).values;

/**
 * Returns the known values of an interval in one unit: `{ unit, values, others }`. Answers about a
 * type without a unit of its own may have different ones: the unit is that of the newest day, and
 * `others` has the units of the days whose values are in another one.
 *
 * @param {string|null} own The unit of the type, if it has one.
 */
export function unitedOf(type, own, from, to) {
  const all = [...storeOf(type).values].filter(([day]) => day >= from && day <= to);
  const newest = all.reduce((found, one) => found && found[0] > one[0] ? found : one, null);
  const unit = own ?? newest?.[1].unit ?? null;
  const others = all.filter(([, value]) => value.unit !== unit);
  return {
    unit, values: new Map(all.filter(([, value]) => value.unit === unit)),
    others: new Map(others.map(([day, value]) => [day, value.unit])),
  };
}

/** Returns the first day from which all days up to another one are known. */
export function knownFrom(type, to) {
  return storeOf(type).loaded.find(([from, last]) => from <= to && to <= last)?.[0] ?? to + 1;
}

/**
 * Loads the values of a type of an interval, the newest days first, until `signal` is aborted. A
 * request that has begun is finished: the load after it waits for it, and asks for no day again.
 */
export function load(type, from, to, signal, loaded = () => {}) {
  const store = storeOf(type);
  const all = requests.signal;
  const whole = store.last.then(async () => {
    for (const [first, last] of missing(store.loaded, from, to)) {
      for (let end = last; end >= first; end -= mostDays) {
        if (signal.aborted || all.aborted) return;
        await request(type, store, Math.max(first, end - mostDays + 1), end, all);
        loaded();
      }
    }
  });
  store.last = whole.catch(() => {});
  return whole;
}

async function request(type, store, from, to, signal) {
  const days = { from: dayText(from), to: dayText(to) };
  if (type === workoutType) await loadWorkouts(store, days, signal);
  else if (type === sleepType) takeNights(store, await ask('sleep', days, signal));
  else takeDays(store, await ask('daily', { type, ...days }, signal));
  if (known.get(type) === store) store.loaded = joined(store.loaded, [from, to]);
}

function takeDays(store, reply) {
  const { unit } = reply;
  for (const { date, value, min, max } of reply.daily) {
    // A sum of more than a number can hold has no value.
    if (value === null) continue;
    const [low, high] = [min ?? value, max ?? value];
    store.values.set(dayNumber(date), { value, low, high, unit: unit ?? null });
  }
}

function takeNights(store, reply) {
  for (const night of reply.daily) {
    if (!(night.hours > 0)) continue;
    const { hours, deep, core, rem, awake, inBed } = night;
    const staged = (deep ?? 0) + (core ?? 0) + (rem ?? 0);
    const parts = { deep, core, rem, awake, asleep: Math.max(0, hours - staged) };
    store.values.set(dayNumber(night.date), {
      value: hours, low: 0, high: hours + (awake ?? 0), parts, inBed,
    });
  }
}

async function loadWorkouts(store, days, signal) {
  // An answer that is too long names the start of the first workout that it left out.
  for (let from = days.from; from;) {
    const reply = await ask('workouts', { from, to: days.to }, signal);
    for (const workout of reply.workouts) {
      const day = dayOf(workout.start);
      const others = store.values.get(day) ?? [];
      const isKnown = others.some(other => JSON.stringify(other) === JSON.stringify(workout));
      if (!isKnown) store.values.set(day, [...others, workout]);
    }
    const next = reply.nextStart?.slice(0, 10);
    from = next > from ? next : null;
  }
}

/** Returns the parts of an interval that are not loaded, the newest first. */
function missing(loaded, from, to) {
  const gaps = [];
  let first = from;
  for (const [begin, end] of loaded) {
    if (begin > first) gaps.push([first, Math.min(to, begin - 1)]);
    first = Math.max(first, end + 1);
    if (first > to) break;
  }
  if (first <= to) gaps.push([first, to]);
  return gaps.filter(([begin, end]) => begin <= end).reverse();
}

/** Returns sorted intervals with another one. */
function joined(loaded, added) {
  const sorted = [...loaded, added].sort((one, other) => one[0] - other[0]);
  const result = [];
  for (const [from, to] of sorted) {
    const last = result.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else result.push([from, to]);
  }
  return result;
}
