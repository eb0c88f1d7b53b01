// A trace that grows.

import { factOf } from './reading.js';

/** A trace whose facts arrive one by one, almost in order of time. */
export class GrowingTrace {
  constructor(link, header) {
    this.link = link;
    this.header = header;
    /** The facts in order of time. */
    this.events = [];
    /** The place of each fact in `events`, in the order of arrival. */
    this.places = [];
    /** The order of arrival of each fact in `events`. */
    this.arrivals = [];
  }

  /**
   * Adds a fact.
   *
   * @returns {number} Its place. Later facts have moved by one.
   */
  add(value) {
    const fact = factOf(value);
    let place = this.events.length;
    while (place > 0 && this.events[place - 1].t > fact.t) place--;
    if (fact.by !== undefined) fact.by = this.places[fact.by];
    this.places.push(place);
    if (place === this.events.length) {
      this.events.push(fact);
      this.arrivals.push(this.places.length - 1);
    } else {
      this.insert(fact, place);
    }
    return place;
  }

  insert(fact, place) {
    this.events.splice(place, 0, fact);
    this.arrivals.splice(place, 0, this.places.length - 1);
    for (let index = place + 1; index < this.events.length; index++) {
      const moved = this.events[index];
      this.places[this.arrivals[index]] = index;
      if (moved.by >= place) moved.by++;
    }
  }

  /** Ends a fact that lasts, given by its order of arrival. */
  end(arrival, until) {
    const fact = this.events[this.places[arrival]];
    if (fact) fact.until = until;
  }
}
