// Moments: the ends of open connections, links that did not connect at first, kills of the app, the
// ends of the user's wish, and findings.

import { lowerBound, upperBound } from '../shared/numbers.js';
import { reasonTitle } from './reasons.js';
import { isLate } from './states.js';
import { capitalized, count, ordinal, spanText } from '../shared/words.js';

const instantly = 1e-6;

/** Returns the moments of a model in order of time. */
export function momentsOf(model) {
  const connected = model.states.length
    ? model.states.items.filter(state => state.state === 'connected') : model.connections.items;
  const starts = Float64Array.from(connected, state => state.t);
  const back = (from, after) => {
    const index = Math.max(lowerBound(starts, from - instantly), upperBound(starts, after));
    return connected[index];
  };
  const found = [];
  const first = firstFailure(model, back);
  if (first) found.push(first);
  for (const one of model.connections.items) {
    if (!one.isOver || isWish(one.why) || isOfKill(model, one)) continue;
    found.push(loss(model, one, back(one.until, one.up)));
  }
  for (const end of model.runs.ends) {
    found.push(restart(model, end, back(Math.min(end.until, model.end), end.t)));
  }
  for (const event of model.leaves) {
    const { t, say } = model.events[event];
    found.push({ t, until: t, isLeave: true, event, words: say });
  }
  for (const event of model.findings) {
    const { t, say, name } = model.events[event];
    found.push({ t, until: t, finding: String(name ?? 'finding'), event, words: say });
  }
  return found.sort((a, b) => a.t - b.t || a.event - b.event);
}

const isWish = why => why === 'leaving' || why === 'left';

/** Returns whether a connection ended by a kill, which is a moment of its own. */
const isOfKill = (model, one) => one.why === 'killed'
  && model.runs.ends.some(end => Math.abs(end.t - one.until) < 0.01);

/** Returns the moment of an end of the app, whose time without the app is not a gap. */
function restart(model, { t, until, event, run, isKill, isInferred }, next) {
  const isBack = next !== undefined;
  const started = Math.min(until, model.end);
  const one = model.connections.items.findLast(other => Math.abs(other.until - t) < 0.01);
  const heard = model.heard[upperBound(model.heard, t) - 1] ?? t;
  const end = next?.t ?? started;
  const [missed, shownAt] = one ? missedMessages(model, one, heard, end) : [0, end];
  return {
    t, until: end, whole: shownAt, event, run, missed, started, isBack, lost: isKill,
    isKill, isRestart: true, isInferred,
    hasStarted: until <= model.end,
  };
}

/** Returns whether a moment is a gap: a time without a connection that the app wanted. */
export const isGap = moment => moment.lost === true && !moment.isRestart;

/** Returns the moment of the first attempt if it failed: the link was not connected before it. */
function firstFailure(model, back) {
  const one = model.attempts.items[0];
  if (!one || one.isUp || !one.isOver || !one.lost) return null;
  const next = back(one.until, -Infinity);
  return {
    ...outage(model, one, next), t: one.until, isFirst: true, lost: true, why: one.why, missed: 0,
    sent: 0, silent: 0, noticed: null, event: one.endEvent,
  };
}

/** Returns whether a state is a wish of this device and not an outage. */
const isWished = state => state.state === 'idle'
  || (state.state === 'held' && state.why === 'background');

/** Returns the part of a moment that all outages have. */
function outage(model, one, next) {
  const back = next?.t ?? model.end;
  // An outage ends when the connection is no longer wanted. One that begins so ends with its rest.
  // A killed app has no wish, and begins without a connection.
  const hasWishes = one.lost && one.why !== 'killed';
  const rest = hasWishes ? model.states.within(one.until, back).find(state =>
    isWished(state) && state.t >= one.until - instantly
      && (state.t < back || (!next && state.t === back))) : undefined;
  // So does one in which the app ends.
  const death = hasWishes ? model.runs.ends.find(end =>
    end.t >= one.until - instantly && end.t <= (rest?.t ?? back) + instantly) : undefined;
  const until = death?.t ?? rest?.t ?? back;
  const isRest = rest !== undefined || death !== undefined;
  const tries = upperBound(model.attempts.starts, until + instantly)
    - lowerBound(model.attempts.starts, one.until - instantly);
  const polled = model.states.within(one.until, until).reduce((sum, state) =>
    state.state === 'standby' && state.t >= one.until - instantly && state.t < until
      ? sum + Math.min(state.until, until) - state.t : sum, 0);
  return {
    until, back, isBack: next !== undefined && !isRest, isRest,
    isResting: rest?.state === 'held', isEnded: death !== undefined,
    tries: one.isUp ? tries : tries + 1,
    number: next && !isRest ? model.attempts.at(next.t)?.number : undefined, polled,
    isLive: model.header.source === 'live',
  };
}

function loss(model, one, next) {
  const moment = outage(model, one, next);
  const heard = model.heard[upperBound(model.heard, one.until) - 1] ?? one.up;
  const lastHeard = Math.max(one.up, heard);
  const trouble = troubleOf(model, one);
  const [missed, shownAt] = missedMessages(model, one, lastHeard, moment.back);
  const [sent, sentAt] = sentAfterwards(model, one, moment.back);
  return {
    ...moment, t: one.until, lost: one.lost, why: one.why, missed, sent, trouble,
    whole: Math.max(shownAt, sentAt), silent: one.until - lastHeard, event: one.endEvent,
    noticed: trouble ? Math.max(0, one.until - trouble.t) : null,
  };
}

/**
 * Returns the fault that explains the loss of a connection: one in force, or else one that was
 * noted just after the loss, or else one that ended before it.
 */
function troubleOf(model, one) {
  const { until } = one;
  const near = model.troubles.within(until - 6, until + 0.5).filter(trouble =>
    trouble.name !== 'calm' && trouble.until >= until - 6 && trouble.t >= one.up - 1);
  return near.findLast(trouble => trouble.t <= until && trouble.until >= until)
    ?? near.find(trouble => trouble.t > until) ?? near.at(-1);
}

/**
 * Returns the number of messages that were written after the last received byte and shown after
 * the end of the connection, and the time at which the last of them was shown.
 */
function missedMessages(model, one, lastHeard, until) {
  let many = 0;
  let last = until;
  const from = lowerBound(model.shown, one.until);
  const to = upperBound(model.shown, until + Math.max(60, model.longest));
  for (let index = from; index < to; index++) {
    const made = model.made[index];
    const shown = model.shown[index];
    if (made < lastHeard - 1 || made >= until || !isLate(model.via[index])) continue;
    many++;
    last = Math.max(last, shown);
  }
  return [many, last];
}

/** Returns the number of the user's entries that were sent after an outage, and the last time. */
function sentAfterwards(model, one, until) {
  let many = 0;
  let last = until;
  const from = lowerBound(model.sentTo, until - instantly);
  const to = upperBound(model.sentTo, until + Math.max(60, model.longest));
  for (let index = from; index < to; index++) {
    if (model.sentFrom[index] >= until || model.sentFrom[index] <= one.up) continue;
    many++;
    last = Math.max(last, model.sentTo[index]);
  }
  return [many, last];
}

/**
 * Returns the title of a moment, and the parts of its sentence.
 *
 * @returns {{title: string, parts: string[]}}
 */
export function momentWords(moment) {
  if (moment.isLeave) return { title: 'No longer wanted', parts: [moment.words] };
  if (moment.isRestart) return restartWords(moment);
  if (moment.finding) return { title: `Finding: ${moment.finding}`, parts: [moment.words] };
  const parts = [];
  if (moment.isFirst) parts.push('the first attempt failed');
  if (moment.trouble) {
    const late = moment.noticed > 0.05;
    parts.push(`${moment.trouble.name}, ` + (late ? `noticed after ${spanText(moment.noticed)}`
      : 'noticed at once'));
  }
  if (!moment.trouble && moment.why === 'background') parts.push('this is no loss');
  if (moment.polled) parts.push(`polled for ${spanText(moment.polled)} instead`);
  parts.push(returnWords(moment));
  if (moment.missed) parts.push(`${count(moment.missed, 'message')} fetched afterwards`);
  if (moment.sent) parts.push(`${count(moment.sent, 'message')} of the user sent afterwards`);
  return { title: reasonTitle(moment.why, moment.silent), parts: capitalizedFirst(parts) };
}

function restartWords(moment) {
  const { t, until, started, run, isKill, isBack, hasStarted, missed, isInferred } = moment;
  const title = isKill ? 'The app was killed' : 'The app started again';
  if (!hasStarted) return { title, parts: ['It was not running until the end'] };
  const off = started - t;
  const parts = [off < instantly ? `started again at once as run ${run}`
    : `not running for ${isInferred ? 'at most ' : ''}${spanText(off)} (not counted as a gap)`];
  if (off >= instantly) parts.push(`started as run ${run}`);
  if (isBack) parts.push(`connected ${spanText(until - started)} later`);
  if (missed) parts.push(`${count(missed, 'message')} fetched afterwards`);
  return { title, parts: capitalizedFirst(parts) };
}

const capitalizedFirst = ([first, ...rest]) => [capitalized(first), ...rest];

function returnWords(moment) {
  const word = moment.isFirst ? 'connected' : 'back';
  if (moment.isRest) {
    let rest = moment.isResting ? 'the app went to the background' : 'it was switched off';
    if (moment.isEnded) rest = 'the app ended';
    return `not ${word} until ${rest}, ${spanText(moment.until - moment.t)} later`;
  }
  if (!moment.isBack) return moment.isLive ? `not ${word} yet` : `not ${word} before the end`;
  const { number } = moment;
  const tries = moment.tries > 1 ? ` with ${number === undefined ? 'its'
    : `connection ${number}, the`} ${ordinal(moment.tries)} try` : '';
  return `${word} after ${spanText(moment.until - moment.t)}${tries}`;
}

/** Returns the longest outage of moments; `null` if there is none. */
export function longestOutage(moments) {
  let longest = null;
  for (const one of moments) {
    if (!isGap(one)) continue;
    if (!longest || one.until - one.t > longest.until - longest.t) longest = one;
  }
  return longest;
}

/** Returns the moment that a person looks at first; `undefined` if there is none. */
export function worstMoment(moments) {
  return moments.find(one => one.finding) ?? longestOutage(moments)
    ?? moments.find(one => one.lost) ?? moments.find(one => !one.isLeave);
}
