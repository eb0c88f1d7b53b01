// Sums of a trace, its sentence, and the state of every lane at an instant.

import { isGap, longestOutage } from './moments.js';
import { lowerBound, upperBound } from '../shared/numbers.js';
import { phaseAt, rateWords } from './phases.js';
import { appStates, isLate, isTrying, lateAfter, linkStates, pathWords } from './states.js';
import { clockText, count, spanText, timesText } from '../shared/words.js';

/** Returns the sums of a model that has its moments. */
export function sumsOf(model) {
  const outages = model.moments.filter(isGap);
  const drops = outages.filter(one => !one.isFirst);
  return {
    drops: drops.length, back: drops.filter(one => one.isBack).length,
    rests: drops.filter(one => one.isRest).length,
    longest: longestOutage(outages), shown: model.shown.length,
    ...lateOf(model), ...offOf(model), ...uploadsOf(model),
    isConnected: model.connections.length > 0
      || model.states.items.some(state => state.state === 'connected'),
    ...positionsOf(model),
  };
}

/** Counts messages that were fetched, polled, or shown long after they were made. */
function lateOf({ via, slow }) {
  const many = [0, 0, 0, 0];
  for (const way of via) many[way]++;
  const [, late, polled, history] = many;
  return { late: late + polled, polled, slow, fetched: late - slow, history };
}

/** Sums the times in which the app did not run, was in the background, and was suspended. */
function offOf({ apps, runs }) {
  const sum = value => apps.items.reduce((total, span) =>
    span.value === value ? total + span.until - span.t : total, 0);
  return {
    kills: runs.ends.filter(end => end.isKill).length, off: sum('killed'),
    background: sum('background'), asleep: sum('suspended'),
  };
}

/** Counts the uploads of a link that only sends, and those that failed. */
function uploadsOf({ attempts, connections, posts, states }) {
  const sends = states.items.every(state => state.state === 'idle') && !attempts.length;
  if (!sends || connections.length || !posts.length) return { uploads: 0, failed: 0 };
  const failed = posts.items.filter(post => !post.ok).length;
  return { uploads: posts.length, failed };
}

/** Counts positions that were never shown between the first and the last, and those shown twice. */
function positionsOf(model) {
  const seen = new Set();
  let low = Infinity;
  let high = -Infinity;
  for (const index of model.shownEvents) {
    const { position } = model.events[index];
    if (!Number.isFinite(position)) return unnumbered(model);
    seen.add(position);
    low = Math.min(low, position);
    high = Math.max(high, position);
  }
  if (!seen.size) return { missing: null, twice: null };
  return { missing: high - low + 1 - seen.size, twice: model.shownEvents.length - seen.size };
}

/** Counts messages that the server accepted and that were not shown, if the trace tells of them. */
function unnumbered({ accepted, shown, header }) {
  if (!header.world || !accepted.length) return { missing: null, twice: null };
  return { missing: Math.max(0, accepted.length - shown.length), twice: null };
}

/** Returns the trace in a few sentences. */
export function story(model) {
  const { sums } = model;
  const parts = [linkSentence(model), ...offSentences(sums)];
  // A link that never connected has no gap.
  if (sums.longest && sums.isConnected) {
    const { t, until, trouble, why } = sums.longest;
    const cause = trouble?.name ?? (why || 'no reason given');
    parts.push(`The longest gap was ${spanText(until - t)}, at ${clockText(t)} (${cause}).`);
  }
  if (sums.shown) parts.push(messageSentence(sums));
  parts.push(findingSentence(model));
  return parts.filter(Boolean).join(' ');
}

/** Returns sentences about the times that are not counted as gaps. */
function offSentences({ kills, off, background, asleep }) {
  const parts = [];
  if (kills) {
    const length = off < 0.001 ? 'started again at once' : `not running for ${spanText(off)}`;
    parts.push(`was killed ${timesText(kills)} (${length})`);
  }
  if (background) parts.push(`was in the background for ${spanText(background)}`);
  if (asleep) parts.push(`was asleep for ${spanText(asleep)}`);
  if (!parts.length) return [];
  const last = parts.pop();
  const words = parts.length ? `${parts.join(', ')} and ${last}` : last;
  return [`The app ${words}, which is not counted as a gap.`];
}

function messageSentence(sums) {
  const number = many => many.toLocaleString('en');
  const kinds = [
    [sums.fetched, 'fetched later'], [sums.polled, 'polled'],
    [sums.slow, `more than ${spanText(lateAfter)} after they were made`],
  ].filter(([many]) => many)
    .map(([many, words], _, all) => all.length > 1 ? `${number(many)} ${words}` : words);
  const late = sums.late ? `${number(sums.late)} late (${kinds.join(', ')})` : 'none late';
  const before = sums.history ? ` (${number(sums.history)} of the history)` : '';
  const shown = `${count(sums.shown, 'message')} shown${before}, ${late}`;
  if (sums.missing === null) return `${shown}; whether messages are missing is not known.`;
  const twice = sums.twice === null ? '' : `, ${sums.twice || 'none'} twice`;
  return `${shown}, ${sums.missing || 'none'} missing${twice}.`;
}

/** Returns why a message was late; an empty text for other events. */
export function lateWords(model, event) {
  const index = lowerBound(model.shownEvents, event);
  const way = model.shownEvents[index] === event ? model.via[index] : 0;
  if (!isLate(way)) return '';
  const isLive = model.events[event].via === 'live';
  const how = isLive ? '' : way === 2 ? 'polled, ' : 'fetched later, ';
  return `late: ${how}${spanText(model.shown[index] - model.made[index])} after it was made`;
}

function findingSentence({ findings, header }) {
  if (findings.length) return `The checkers have ${count(findings.length, 'finding')}.`;
  if (header.source === 'journal') return 'The journal has no findings.';
  const isChecked = header.source === 'simulator' || header.source === 'demo';
  return isChecked ? 'Checked: no findings.' : '';
}

function linkSentence(model) {
  const { sums } = model;
  const length = spanText(model.life[1] - model.life[0]);
  if (sums.uploads) return uploadSentence(sums, length);
  if (!model.states.length && !model.attempts.length) return `${length} without a link.`;
  if (!sums.isConnected) {
    return `It did not connect in ${length}${triesText(model.attempts)}.`;
  }
  if (!sums.drops) return `It never dropped in ${length}.`;
  let end = 'has not come back';
  if (sums.back === sums.drops) end = sums.drops === 1 ? 'came back' : 'came back each time';
  else if (sums.rests === sums.drops) end = 'was not wanted afterwards';
  else if (sums.back + sums.rests === sums.drops) end = 'came back each time it was still wanted';
  else if (sums.back) end = `came back ${timesText(sums.back)}`;
  return `It dropped ${timesText(sums.drops)} in ${length} and ${end}.`;
}

/** Returns the number of attempts that failed, and why if all failed for the same reason. */
function triesText({ items }) {
  if (!items.length) return '';
  const whys = new Set(items.map(one => one.why));
  const [why] = whys;
  const each = items.length > 1 ? 'each ' : '';
  return ` (${count(items.length, 'attempt')}${whys.size === 1 && why ? `, ${each}${why}` : ''})`;
}

function uploadSentence({ uploads, failed }, length) {
  const accepted = uploads - failed;
  const end = failed ? `${accepted} accepted, ${failed} failed` : 'all accepted';
  return `It sent ${count(uploads, 'upload')} in ${length}, ${end}.`;
}

/** Returns for how long nothing had been received at an instant; `NaN` without a connection. */
function silenceAt(model, time) {
  const one = model.connections.at(time);
  if (!one) return NaN;
  const last = model.heard[upperBound(model.heard, time) - 1] ?? one.up;
  return time - Math.max(one.up, last);
}

/**
 * Returns what is true at an instant.
 *
 * @returns {string[][]} A name and its words for each line.
 */
export function instant(model, time) {
  const lines = [
    ['Link', linkWords(model, time)], ['Connection', attemptWords(model, time)],
    ['Silence', silenceWords(model, time)], ['Bytes', rateWords(model, time)],
    ['Fault', troubleWords(model, time)], ['Device', deviceWords(model, time)],
    ['Server', model.downs.at(time) ? 'not running' : ''],
    ['Messages', messageWords(model, time)], ['Outbox', outboxWords(model, time)],
  ];
  return lines.filter(([, words]) => words);
}

const recent = 0.005;

function linkWords(model, time) {
  const state = model.states.at(time);
  if (!state) return '';
  const why = state.why && state.state !== 'connected' ? `, because: ${state.why}` : '';
  if (state.state === 'waiting') {
    const most = state.of ? ` of ${state.of}` : '';
    const number = state.try ? ` (try ${state.try}${most})` : '';
    return `next try in ${spanText(Math.max(0, state.retryAt - time))}${number}${why}`;
  }
  const number = isTrying(state.state) && state.try ? `, try ${state.try}` : '';
  const since = model.bands.at(time)?.t ?? state.t;
  const length = time - since < recent ? ', just now' : ` for ${spanText(time - since)}`;
  return linkStates.get(state.state).name + number + length + why;
}

function attemptWords(model, time) {
  const one = model.attempts.at(time);
  if (!one) return '';
  let words = `attempted for ${spanText(time - one.t)}`;
  if (one.isUp && one.up <= time) words = `open for ${spanText(time - one.up)}`;
  else if (time - one.t < recent) words = 'attempted now';
  const phase = one.isUp && one.up <= time ? undefined : phaseAt(one, time);
  if (phase) words += `, in the phase “${phase.name}”`;
  const run = model.runs.number > 1 ? ` of run ${one.run}` : '';
  return `number ${one.number}${run}, ${words}`;
}

function silenceWords(model, time) {
  const silent = silenceAt(model, time);
  if (Number.isNaN(silent)) return '';
  const { ping, pong, closed } = model.limits;
  if (ping !== null) {
    const asked = lastAsk(model, time);
    if (asked === undefined || asked <= time - silent) return spanText(silent);
    return `${spanText(silent)}; a ping waits for ${spanText(time - asked)} of ${spanText(pong)}`;
  }
  if (!closed) return spanText(silent);
  // A suspended app has no timers.
  if (silent > closed && model.apps.at(time)?.value === 'suspended') {
    return `${spanText(silent)}; asleep, could not check the limit of ${spanText(closed)}`;
  }
  if (silent > closed) return `${spanText(silent)}, more than the limit of ${spanText(closed)}`;
  return `${spanText(silent)} of the ${spanText(closed)} that are allowed`;
}

function lastAsk(model, time) {
  const index = model.asks.findLast(at => model.times[at] <= time);
  return index === undefined ? undefined : model.times[index];
}

function troubleWords(model, time) {
  const trouble = model.troubles.at(time);
  return trouble ? `${trouble.name}, for ${spanText(time - trouble.t)} so far` : '';
}

function deviceWords(model, time) {
  const app = model.apps.at(time);
  const path = model.paths.at(time);
  const parts = [
    app ? appStates.get(app.value)?.now ?? app.value : '', path ? pathWords(path.value) : '',
  ];
  return parts.filter(Boolean).join(', ');
}

function messageWords(model, time) {
  if (!model.shown.length && !model.accepted.length) return '';
  const missing = missingAt(model, time);
  if (missing) return `${count(missing, 'message is', 'messages are')} on the server only`;
  const state = model.states.at(time)?.state;
  if (state === 'connected' || state === 'standby') return 'everything has arrived';
  return 'what the server has is not known';
}

/** Returns the number of messages that the server had at an instant and that were shown later. */
function missingAt(model, time) {
  let many = 0;
  const from = upperBound(model.shown, time);
  const to = Math.min(from + 5000, upperBound(model.shown, time + model.longest));
  for (let index = from; index < to; index++) if (model.made[index] <= time) many++;
  if (!model.header.world) return many;
  // Facts of the server itself may concern messages that were never shown.
  const unseen = lowerBound(model.accepted, model.newestMade + 0.3);
  return many + Math.max(0, upperBound(model.accepted, time) - unseen);
}

function outboxWords(model, time) {
  const { times, counts } = model.waiting;
  if (!times.length) return '';
  const many = counts[upperBound(times, time) - 1] ?? 0;
  return many ? count(many, 'message waits', 'messages wait') : 'empty';
}
