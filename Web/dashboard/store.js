// The values by day that the server has told, so that no day is asked for twice.

import { ask } from './api.js';
import { dayNumber, dayOf, dayText } from './dates.js';
import { sleepType, workoutType } from './kinds.js';

/** The most days of one request, so that each is answered at once. */
const mostDays = 366;

/** The days and values of each type: `{ values, loaded, unit }`. */
let known = new Map();

/** What the summary said when the values were loaded. */
let mark = '';

/** Forgets all values. */
export function forget() {
  known = new Map();
  mark = '';
}

/** Returns the summary of the person's samples. After new samples, the values are forgotten. */
export async function summary() {
  const reply = await ask('summary');
  const now = JSON.stringify([reply.types, reply.lastSync, reply.timeZone]);
  if (now !== mark) forget();
  mark = now;
  return reply;
}

function storeOf(type) {
  if (!known.has(type)) known.set(type, { values: new Map(), loaded: [], unit: null });
  return known.get(type);
}

/** Returns the known values of a type by the number of their day, and their unit. */
export const valuesOf = type => storeOf(type);

/** Returns the first day from which all days up to another one are known. */
export function knownFrom(type, to) {
  return storeOf(type).loaded.find(([from, last]) => from <= to && to <= last)?.[0] ?? to + 1;
}

/** Loads the values of a type of an interval, the newest days first. */
export async function load(type, from, to, loaded = () => {}) {
  const store = storeOf(type);
  for (const [first, last] of missing(store.loaded, from, to)) {
    for (let end = last; end >= first; end -= mostDays) {
      const begin = Math.max(first, end - mostDays + 1);
      await request(type, store, begin, end);
      loaded();
    }
  }
}

async function request(type, store, from, to) {
  const days = { from: dayText(from), to: dayText(to) };
  if (type === workoutType) await loadWorkouts(store, days);
  else if (type === sleepType) takeNights(store, await ask('sleep', days));
  else takeDays(store, await ask('daily', { type, ...days }));
  if (known.get(type) === store) store.loaded = joined(store.loaded, [from, to]);
}

function takeDays(store, reply) {
  store.unit = reply.unit ?? store.unit;
  for (const { date, value, min, max } of reply.daily) {
    // A sum of more than a number can hold has no value.
    if (value === null) continue;
    store.values.set(dayNumber(date), { value, low: min ?? value, high: max ?? value });
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

async function loadWorkouts(store, days) {
  // An answer that is too long names the start of the first workout that it left out.
  for (let from = days.from; from;) {
    const reply = await ask('workouts', { from, to: days.to });
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
