// Turns the facts of a trace into spans and columns of numbers, which lanes draw.

import { momentsOf } from './moments.js';
import { bytesOf, phasesOf } from './phases.js';
import { Runs } from './runs.js';
import { Spans } from './spans.js';
import { isTrying, lateAfter, linkStates } from './states.js';
import { sumsOf } from './summary.js';

/** The ways in which a message was shown; other ways count as `fetched`. */
const ways = { live: 0, fetched: 1, poll: 2, history: 3 };

/**
 * Returns the model of a trace.
 *
 * Facts with unknown lanes or kinds are kept in `events` only.
 */
export function buildModel({ header, events }, offset = 0) {
  const collector = new Collector(events, Math.max(header.end + offset, events.at(-1).t, 0.001));
  for (let index = 0; index < events.length; index++) collector.add(events[index], index);
  const model = {
    header, events, offset, end: collector.end, size: events.length, ...collector.finished(),
  };
  model.limits = limitsOf(header.policy);
  model.life = lifeOf(model);
  model.moments = momentsOf(model);
  model.causes = causesOf(model);
  model.sums = sumsOf(model);
  return model;
}

/** Returns the faults that were in force at a loss. */
function causesOf({ moments, troubles }) {
  return new Set(moments.filter(one => one.lost).flatMap(({ t, trouble }) =>
    trouble ? [trouble] : troubles.within(t, t).filter(one => one.until >= t)));
}

/** The time from the first fact of the app to its last one, or to the end if the link lives on. */
function lifeOf({ runs, states, end }) {
  const { first, last } = runs;
  if (Number.isNaN(first)) return [0, end];
  const isOff = !states.length || states.items.at(-1).state === 'idle';
  return [first, isOff ? last : end];
}

/** The silence after which a connection is checked, and after which it is closed. */
function limitsOf(policy) {
  const number = value => Number.isFinite(value) && value > 0 ? value : null;
  const silence = number(policy.silence);
  const ping = number(policy.ping);
  const pong = number(policy.pongTimeout);
  if (silence) return { ping: null, pong, closed: silence };
  if (ping && pong) return { ping, pong, closed: ping + pong };
  return { ping: null, pong, closed: null };
}

class Collector {
  constructor(events, end) {
    this.end = end;
    this.times = new Float64Array(events.length);
    this.attemptsByNumber = new Map();
    this.spans = { states: [], apps: [], paths: [], bytes: [] };
    Object.assign(this.spans, { attempts: [], troubles: [], downs: [], fetches: [], posts: [] });
    // Times, and the indexes of events at those times.
    this.columns = { ins: [], outs: [], heard: [], commits: [], accepted: [] };
    Object.assign(this.columns, { made: [], shown: [], sentFrom: [], sentTo: [] });
    this.indexes = { pings: [], asks: [], shownEvents: [], sentEvents: [], marks: [] };
    Object.assign(this.indexes, { tokens: [], serverMarks: [], findings: [], heads: [] });
    this.indexes.leaves = [];
    this.via = [];
    this.runs = new Runs();
    this.waiting = { times: [], counts: [] };
    this.longest = 0;
    /** The number of messages that came at once by a connection and were late nevertheless. */
    this.slow = 0;
    this.beforeSuspension = null;
  }

  add(event, index) {
    this.times[index] = event.t;
    this.runs.see(event, index);
    const kinds = collectors[event.lane];
    kinds?.[event.kind]?.(this, event, index);
  }

  /** Begins a span and ends the one before it in its list. */
  begin(list, event, fields) {
    this.cut(list, event.t);
    list.push({ t: event.t, until: this.end, ...fields });
  }

  cut(list, time) {
    const last = list.at(-1);
    if (last && last.until > time) last.until = time;
  }

  finished() {
    const model = { times: this.times, longest: this.longest, slow: this.slow, ...this.indexes };
    for (const name in this.spans) {
      const items = name === 'states' ? this.spans[name].filter(hasLength) : this.spans[name];
      model[name] = new Spans(items);
    }
    for (const name in this.columns) model[name] = Float64Array.from(this.columns[name]);
    model.via = Uint8Array.from(this.via);
    model.bands = new Spans(merged(model.states.items));
    model.runs = this.runs;
    model.connections = new Spans(this.spans.attempts.filter(one => one.isUp).map(connection));
    model.waiting = {
      times: Float64Array.from(this.waiting.times), counts: this.waiting.counts,
      most: this.waiting.counts.reduce((most, many) => Math.max(most, many), 1),
    };
    model.newestMade = model.made.reduce((most, one) => Math.max(most, one), -Infinity);
    return model;
  }
}

// A state that was replaced at once is not visible at any instant, and remains if it is the last.
const hasLength = (span, index, all) => span.until > span.t || index === all.length - 1;

/** Returns states without those that only tell again what was already so. */
function merged(states) {
  const found = [];
  for (const state of states) {
    const last = found.at(-1);
    const isSame = last && last.until >= state.t && last.state === state.state
      && last.try === state.try && last.retryAt === state.retryAt
      && (isSteady(state.state) || last.why === state.why);
    if (isSame) found[found.length - 1] = { ...last, until: state.until };
    else found.push(state);
  }
  return found;
}

const isSteady = state => state === 'connected' || state === 'standby' || state === 'idle';

const connection = attempt => ({ ...attempt, t: attempt.up });

const kinds = table => Object.assign(Object.create(null), table);

const collectors = kinds({
  link: kinds({ state: addState }),
  attempt: kinds({
    open(to, event, index) {
      const attempt = {
        t: event.t, until: to.end, number: event.attempt, run: to.runs.number, up: Infinity,
        isUp: false, isOver: false, why: '', lost: false, event: index, upEvent: -1, endEvent: -1,
        phases: null,
      };
      to.attemptsByNumber.set(event.attempt, attempt);
      to.spans.attempts.push(attempt);
    },
    up(to, event, index) {
      to.columns.heard.push(event.t);
      const attempt = to.attemptsByNumber.get(event.attempt);
      if (attempt) Object.assign(attempt, { up: event.t, isUp: true, upEvent: index });
    },
    phases(to, event, index) {
      const attempt = to.attemptsByNumber.get(event.attempt);
      if (attempt) attempt.phases ??= phasesOf(event, index);
    },
    end(to, event, index) {
      const attempt = to.attemptsByNumber.get(event.attempt);
      if (!attempt || attempt.isOver) return;
      const why = String(event.why ?? '');
      const lost = event.lost === true;
      Object.assign(attempt, { until: event.t, why, lost, isOver: true, endEvent: index });
    },
  }),
  traffic: kinds({
    in: heard,
    pingIn: (to, event, index) => {
      heard(to, event);
      to.indexes.pings.push(index);
    },
    pong: (to, event, index) => {
      heard(to, event);
      to.indexes.pings.push(index);
    },
    out: (to, event) => to.columns.outs.push(event.t),
    bytes: (to, event) => to.spans.bytes.push(bytesOf(event)),
    pingOut: (to, event, index) => {
      to.columns.outs.push(event.t);
      to.indexes.pings.push(index);
      to.indexes.asks.push(index);
    },
    poll: (to, event, index) => {
      to.columns.outs.push(event.t);
      to.indexes.pings.push(index);
    },
  }),
  data: kinds({
    message: addMessage,
    sent: addSent,
    outbox: (to, event) => addWaiting(to, event),
    fetched: (to, event, index) => addRequest(to.spans.fetches, event, index),
    post: (to, event, index) => addRequest(to.spans.posts, event, index),
    head: (to, event, index) => to.indexes.heads.push(index),
  }),
  store: kinds({ commit: (to, event) => to.columns.commits.push(event.t) }),
  device: kinds({
    path: (to, event, index) => {
      to.begin(to.spans.paths, event, { value: String(event.value ?? ''), event: index });
    },
    app: addApp,
    token: (to, event, index) => to.indexes.tokens.push(index),
    woke: addMark,
    note: addMark,
  }),
  user: kinds({ want: addMark, leave: addLeave, wrote: addMark, note: addMark }),
  network: kinds({
    trouble(to, event, index) {
      const until = Math.max(event.t, event.until ?? to.end);
      const name = String(event.name ?? 'fault');
      to.spans.troubles.push({ t: event.t, until, name, event: index });
    },
    note: addMark,
  }),
  server: kinds({
    down(to, event, index) {
      const until = Math.max(event.t, event.until ?? to.end);
      to.spans.downs.push({ t: event.t, until, event: index });
    },
    accepted: (to, event) => to.columns.accepted.push(event.t),
    draining: (to, event, index) => to.indexes.serverMarks.push(index),
    note: (to, event, index) => to.indexes.serverMarks.push(index),
  }),
  finding: kinds({ finding: (to, event, index) => to.indexes.findings.push(index) }),
});

function heard(to, event) {
  to.columns.ins.push(event.t);
  to.columns.heard.push(event.t);
}

function addMark(to, event, index) {
  to.indexes.marks.push(index);
}

function addLeave(to, event, index) {
  addMark(to, event, index);
  to.indexes.leaves.push(index);
}

function addState(to, event, index) {
  const waits = isTrying(event.state) && event.retryAt > event.t;
  const state = waits ? 'waiting' : event.state;
  to.begin(to.spans.states, event, {
    state: linkStates.has(state) ? state : 'idle', retryAt: event.retryAt, try: event.try,
    of: event.of, why: event.why ? String(event.why) : '', event: index,
  });
}

function addApp(to, event, index) {
  let value = String(event.value ?? '');
  if (value === 'launched') addRun(to, event, index);
  const last = to.spans.apps.at(-1)?.value;
  if (value === 'resumed') value = to.beforeSuspension ?? 'foreground';
  if (value === 'suspended' && last !== 'suspended') to.beforeSuspension = last ?? null;
  if (value === 'killed') {
    to.cut(to.spans.states, event.t);
    to.runs.killed(event.t, index);
  }
  to.begin(to.spans.apps, event, { value, event: index });
}

/** Begins a run of the app. If no fact tells of the end of the one before it, it is inferred. */
function addRun(to, event, index) {
  const death = to.runs.launched(event, index, to.spans);
  if (!death) return;
  to.cut(to.spans.states, death.t);
  to.begin(to.spans.apps, { t: death.t }, { value: 'killed', event: -1 });
  for (const attempt of to.spans.attempts) {
    if (attempt.isOver) continue;
    const until = Math.max(attempt.t, death.t);
    Object.assign(attempt, { until, why: 'killed', lost: true, isOver: true });
  }
}

function addMessage(to, event, index) {
  const made = event.made ?? event.t;
  to.columns.made.push(made);
  to.columns.shown.push(event.t);
  let way = ways[event.via] ?? ways.fetched;
  // A message of the history is late only if it was made while the trace tells of the server.
  if (way === ways.history && made < event.t) way = ways.fetched;
  const isSlow = way === ways.live && event.t - made > lateAfter;
  if (isSlow) to.slow++;
  to.via.push(isSlow ? ways.fetched : way);
  to.indexes.shownEvents.push(index);
  to.longest = Math.max(to.longest, event.t - made);
}

function addSent(to, event, index) {
  const made = event.made ?? event.t;
  to.columns.sentFrom.push(made);
  to.columns.sentTo.push(event.t);
  to.indexes.sentEvents.push(index);
  to.longest = Math.max(to.longest, event.t - made);
  addWaiting(to, event);
}

function addWaiting(to, event) {
  if (!Number.isFinite(event.waiting)) return;
  to.waiting.times.push(event.t);
  to.waiting.counts.push(Math.max(0, event.waiting));
}

function addRequest(list, event, index) {
  const from = Math.min(event.from ?? event.t, event.t);
  list.push({ t: from, until: event.t, ok: event.ok !== false, event: index });
}
