// The lab's page: traces that grow while they are shown.

import { byId } from '../shared/elements.js';
import { clamp } from '../shared/numbers.js';
import { labSecret, showChapter, showDeeds, showFollow, startDeeds } from './deeds.js';
import { GrowingTrace } from './growing.js';
import { showMessages } from './message.js';
import { buildModel } from './model.js';
import { momentsOf } from './moments.js';
import { headerOf } from './reading.js';
import { Spans } from './spans.js';
import { changed, model, on, state } from './state.js';
import { sumsOf } from './summary.js';
import { choose, place, show, view } from './view.js';

/** The time between two updates, in milliseconds. */
const pace = 200;
/** The interval that is followed at first, and the limits of one that a person has chosen. */
const firstSpan = 60;
const spans = [2, 3600];

const traces = [];
/** The time of the lab, and that of this page when it arrived. */
const clock = { lab: 0, page: 0, isRunning: false };
let order = [];
let isFollowing = true;
let isOwnMove = false;
let span = firstSpan;
/** The traces with facts that are not shown yet. */
const grownTraces = new Set();
let lastSaid = null;

/**
 * Follows the lab that serves this page.
 *
 * @returns {boolean} Whether there is one.
 */
export function startLive() {
  const element = document.querySelector('script[type="application/x-lab"]');
  if (!element) return false;
  const lab = JSON.parse(element.textContent);
  order = lab.links.map(link => link.name);
  document.body.dataset.live = '';
  if (!labSecret) {
    showMessages(['This address lacks its secret. Open the one that “holdfast lab” printed.']);
    return true;
  }
  startDeeds(lab, setFollow);
  on('moved', () => {
    if (!isOwnMove) setFollow(false);
  });
  on('instant', () => {
    if (view.focus >= 0) setFollow(false);
  });
  listen();
  setInterval(update, pace);
  return true;
}

function listen() {
  const source = new EventSource(`/lab/events?lab=${encodeURIComponent(labSecret)}`);
  const hear = (name, action) =>
    source.addEventListener(name, event => action(JSON.parse(event.data)));
  hear('trace', ({ link, trace }) => begin(link, trace));
  hear('fact', ({ link, fact }) => add(link, fact));
  hear('end', ({ link, fact, until }) => end(link, fact, until));
  hear('clock', ({ t }) => Object.assign(clock, {
    lab: t, page: performance.now(), isRunning: true,
  }));
  hear('state', showDeeds);
  hear('chapter', showChapter);
  hear('full', () => showMessages(['The lab has recorded all that it can. Start it again.']));
  source.addEventListener('open', () => showMessages([]));
  source.addEventListener('error', () => {
    Object.assign(clock, { lab: now(), isRunning: false });
    const isOver = source.readyState === EventSource.CLOSED;
    showMessages([isOver ? 'The lab does not accept this page. Open the address that it printed.'
      : 'The lab does not answer: it has ended, or is about to be reached again.']);
  });
}

/** The time of the lab. It stands while the lab does not answer. */
function now() {
  return clock.lab + (clock.isRunning ? (performance.now() - clock.page) / 1000 : 0);
}

const traceOf = link => traces.find(one => one.link === link);

function begin(link, header) {
  if (traceOf(link)) return;
  const trace = new GrowingTrace(link, headerOf(JSON.stringify(header)));
  traces.push(trace);
  traces.sort((a, b) => order.indexOf(a.link) - order.indexOf(b.link));
  grownTraces.add(trace);
}

function add(link, fact) {
  const trace = traceOf(link);
  if (!trace) return;
  const added = trace.add(fact);
  if (model()?.link === link && view.focus >= added) view.focus++;
  grownTraces.add(trace);
}

function end(link, fact, until) {
  const trace = traceOf(link);
  if (!trace) return;
  trace.end(fact, until);
  grownTraces.add(trace);
}

/** Shows what has arrived, and how much time has passed. */
function update() {
  const shown = traces.filter(one => one.events.length);
  if (!shown.length || document.hidden || (!grownTraces.size && !clock.isRunning)) return;
  const chosen = model()?.link;
  const time = Math.max(now(), ...shown.map(one => one.events.at(-1).t));
  const isNew = shown.length !== state.models.length;
  state.models = shown.map(trace => grown(trace, time));
  grownTraces.clear();
  state.startedAt = shown[0].header.startedAt;
  state.end = time;
  state.chosen = Math.max(0, state.models.findIndex(one => one.link === chosen));
  if (isNew) {
    document.body.dataset.state = 'open';
    changed('opened');
    choose(state.chosen);
  } else {
    changed('grown');
  }
  if (isFollowing) moveOn(time);
  tellState();
}

/** Returns the model of a trace. It is built again only if facts have arrived. */
function grown(trace, time) {
  const { link, header, events } = trace;
  const last = state.models.find(one => one.link === link);
  // Until the time is later than that of the last fact, ended spans look as if they were open.
  if (last && !grownTraces.has(trace) && last.end > events.at(-1).t) return extended(last, time);
  return Object.assign(buildModel({ header: { ...header, end: time }, events }), { link });
}

/** Returns a model without new facts at a later time: what has not ended lasts until then. */
function extended(last, time) {
  const next = { ...last, header: { ...last.header, end: time }, end: time };
  for (const name in last) {
    if (last[name] instanceof Spans) next[name] = longer(last[name], last.end, time);
  }
  // The sums change only with an outage that has not ended.
  if (last.moments.some(one => one.back === last.end || one.until === last.end)) {
    next.moments = momentsOf(next);
    next.sums = sumsOf(next);
  }
  return next;
}

function longer(spans, end, time) {
  if (!spans.items.some(span => span.until === end)) return spans;
  return new Spans(spans.items.map(span => span.until === end ? { ...span, until: time } : span));
}

/** Moves the interval, and the cursor unless a person reads the values of the board. */
function moveOn(time) {
  isOwnMove = true;
  show(time - span, time + span * 0.02, false);
  if (document.activeElement !== byId('board')) place(time);
  isOwnMove = false;
}

function setFollow(isOn) {
  if (isOn && !isFollowing) span = clamp(view.to - view.from, ...spans);
  isFollowing = isOn;
  showFollow(isOn);
}

/** Tells screen readers each new state of the chosen link. */
function tellState() {
  const { states, events, header } = model();
  const last = states.items.at(-1);
  if (!last || events[last.event] === lastSaid) return;
  lastSaid = events[last.event];
  byId('live').textContent = `${header.name}: ${lastSaid.say}`;
}
