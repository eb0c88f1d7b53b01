// Reads traces, which are JSON Lines: a header, and one line for each fact in order of time.

/** The version of the format that the page reads. */
const version = 1;

/** An error whose message is a sentence for the person who opened the trace. */
export class TraceError extends Error {}

/** A reader of the text of one trace, which may arrive in parts. */
export class TraceReader {
  constructor() {
    this.rest = '';
    this.line = 0;
    this.header = null;
    this.events = [];
    /** The number of each event among the facts of the file, which `by` refers to. */
    this.places = [];
    this.place = 0;
    this.damaged = [];
  }

  /** Reads a part of the text. */
  read(part) {
    const lines = (this.rest + part).split('\n');
    this.rest = lines.pop();
    for (const line of lines) this.readLine(line);
  }

  /**
   * Ends the text and returns the trace.
   *
   * @returns {{header: object, events: object[], damaged: number[]}} `damaged` contains the numbers
   *   of the lines that are not facts.
   */
  finish() {
    this.readLine(this.rest);
    this.rest = '';
    if (!this.header) throw new TraceError('The trace is empty.');
    if (!this.events.length) {
      throw new TraceError(`The trace “${this.header.name}” contains no facts.`);
    }
    const events = inOrder(this.events, this.places, this.damaged.length > 0);
    return { header: this.header, events, damaged: this.damaged };
  }

  readLine(line) {
    this.line++;
    if (!line.trim()) return;
    if (!this.header) {
      this.header = headerOf(line);
      return;
    }
    const fact = parsed(line);
    if (isFact(fact)) {
      this.events.push(factOf(fact));
      this.places.push(this.place);
    } else {
      this.damaged.push(this.line);
    }
    this.place++;
  }
}

/** Returns the trace of a text. */
export function readTrace(text) {
  const reader = new TraceReader();
  reader.read(text);
  return reader.finish();
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value);
const isFact = value => isObject(value) && Number.isFinite(value.t);
const textOf = (value, other) => typeof value === 'string' && value ? value : other;

/** Returns a time in milliseconds. Not every browser reads more than three decimals of seconds. */
const timeOf = text => Date.parse(String(text).replace(/(\.\d{3})\d+/, '$1'));

/** Returns the header in the first line of a trace. */
export function headerOf(line) {
  const header = parsed(line);
  if (isObject(header) && 'journal' in header) {
    throw new TraceError(
      'This is a journal. The command “holdfast replay --html FILE JOURNAL” makes its page.');
  }
  if (!isObject(header) || !('trace' in header)) {
    throw new TraceError('This is not a trace: its first line is not the header of a trace.');
  }
  if (header.trace !== version) {
    const found = JSON.stringify(header.trace);
    throw new TraceError(
      `This trace has version ${found} of the format, and this page reads version ${version}.`);
  }
  const machine = textOf(header.machine, 'link');
  return {
    ...header, machine, name: textOf(header.name, machine), source: textOf(header.source, 'trace'),
    startedAt: timeOf(header.startedAt), end: Number.isFinite(header.end) ? header.end : 0,
    policy: isObject(header.policy) ? header.policy : {},
  };
}

const timeFields = ['until', 'from', 'made', 'retryAt', 'at'];

/** Returns a fact whose fields have the types that the page expects. */
export function factOf(fact) {
  if (typeof fact.lane !== 'string') fact.lane = '';
  if (typeof fact.kind !== 'string') fact.kind = '';
  if (typeof fact.say !== 'string') fact.say = `${fact.lane} ${fact.kind}`.trim();
  for (const field of timeFields) {
    if (fact[field] !== undefined && !Number.isFinite(fact[field])) fact[field] = undefined;
  }
  if (fact.by !== undefined && !Number.isInteger(fact.by)) fact.by = undefined;
  return fact;
}

/** Returns events in order of time, with the index of an event as `by`. */
function inOrder(events, places, isDamaged) {
  let isSorted = true;
  for (let index = 1; index < events.length && isSorted; index++) {
    isSorted = events[index - 1].t <= events[index].t;
  }
  let order = null;
  if (!isSorted) {
    order = events.map((_, index) => index).sort((a, b) => events[a].t - events[b].t || a - b);
  }
  const indexes = isSorted && !isDamaged ? null : new Map();
  if (indexes) places.forEach((_, now) => indexes.set(places[order ? order[now] : now], now));
  for (const event of events) {
    if (event.by === undefined) continue;
    if (indexes) event.by = indexes.get(event.by);
    if (!(event.by >= 0 && event.by < events.length)) event.by = undefined;
  }
  return order ? order.map(old => events[old]) : events;
}

/** Moves the times of a trace, so that traces share an axis. */
export function moveTimes({ events }, by) {
  if (by === 0) return;
  for (const event of events) {
    event.t += by;
    for (const field of timeFields) if (event[field] !== undefined) event[field] += by;
  }
}
