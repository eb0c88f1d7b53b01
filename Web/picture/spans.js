// Lists of events that last.

import { lowerBound, upperBound } from '../shared/numbers.js';

/** A list of spans `{ t, until, event, … }` in order of their begin. */
export class Spans {
  /** Creates a list. The spans need not be in order. */
  constructor(items) {
    this.items = isSorted(items) ? items : items.toSorted((a, b) => a.t - b.t);
    this.starts = Float64Array.from(this.items, span => span.t);
    // The latest end of each span and those before it, which is in order even if spans overlap.
    this.reach = new Float64Array(this.items.length);
    let latest = -Infinity;
    for (let index = 0; index < this.items.length; index++) {
      latest = Math.max(latest, this.items[index].until);
      this.reach[index] = latest;
    }
  }

  get length() {
    return this.items.length;
  }

  /** Returns the spans that may intersect an interval. */
  within(from, to) {
    return this.items.slice(this.first(from), upperBound(this.starts, to));
  }

  /** Returns the index of the first span that may end at an instant or later. */
  first(from) {
    return lowerBound(this.reach, from);
  }

  /** Returns the latest span that covers an instant; `undefined` if there is none. */
  at(time) {
    const first = this.first(time);
    for (let index = upperBound(this.starts, time) - 1; index >= first; index--) {
      if (this.items[index].until >= time) return this.items[index];
    }
    return undefined;
  }

  /** Returns the last span that has begun; `undefined` if there is none. */
  lastBegun(time) {
    return this.items[upperBound(this.starts, time) - 1];
  }

  /** Returns the shortest span that is at most `reach` away from an instant. */
  nearest(time, reach) {
    let best;
    for (let index = this.first(time - reach); index < this.length; index++) {
      const span = this.items[index];
      if (span.t > time + reach) break;
      if (span.until < time - reach) continue;
      if (!best || span.until - span.t <= best.until - best.t) best = span;
    }
    return best;
  }
}

function isSorted(items) {
  for (let index = 1; index < items.length; index++) {
    if (items[index].t < items[index - 1].t) return false;
  }
  return true;
}
