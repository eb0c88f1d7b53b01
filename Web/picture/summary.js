// Sums of a trace, its sentence, and the state of every lane at an instant.

import { longestOutage } from './moments.js';
import { lowerBound, upperBound } from '../shared/numbers.js';
import { appStates, isTrying, linkStates, pathWords } from './states.js';
import { clockText, count, spanText } from '../shared/words.js';

/** Returns the sums of a model that has its moments. */
export function sumsOf(model) {
  const outages = model.moments.filter(one => one.lost);
  const drops = outages.filter(one => !one.isFirst);
  return {
    drops: drops.length, back: drops.filter(one => one.isBack).length,
    rests: drops.filter(one => one.isRest).length,
    longest: longestOutage(outages), shown: model.shown.length,
    late: model.moments.reduce((sum, one) => sum + (one.missed ?? 0), 0),
    isConnected: model.connections.length > 0
      || model.states.items.some(state => state.state === 'connected'),
    ...positionsOf(model),
  };
}

/** Counts positions that were never shown between the first and the last, and those shown twice. */
function positionsOf(model) {
  const seen = new Set();
  let low = Infinity;
  let high = -Infinity;
  for (const index of model.shownEvents) {
    const { position } = model.events[index];
    if (!Number.isFinite(position)) return { missing: null, twice: null };
    seen.add(position);
    low = Math.min(low, position);
    high = Math.max(high, position);
  }
  if (!seen.size) return { missing: null, twice: null };
  return { missing: high - low + 1 - seen.size, twice: model.shownEvents.length - seen.size };
}

/** Returns the trace in a few sentences. */
export function story(model) {
  const { sums } = model;
  const parts = [linkSentence(model)];
  if (sums.longest) {
    const { t, until, trouble, why } = sums.longest;
    const cause = trouble?.name ?? (why || 'no reason given');
    parts.push(`The longest gap was ${spanText(until - t)}, at ${clockText(t)} (${cause}).`);
  }
  if (sums.shown) {
    const late = sums.late ? `${sums.late.toLocaleString('en')} of them late` : 'none late';
    const whole = sums.missing === null ? ''
      : `, ${sums.missing || 'none'} missing, ${sums.twice || 'none'} twice`;
    parts.push(`${count(sums.shown, 'message')} shown, ${late}${whole}.`);
  }
  const broken = model.findings.length;
  if (broken) parts.push(`The checkers have ${count(broken, 'finding')}.`);
  return parts.join(' ');
}

function linkSentence(model) {
  const { sums } = model;
  const length = spanText(model.end - model.offset);
  if (!model.states.length && !model.attempts.length) return `${length} without a link.`;
  if (!sums.isConnected) {
    const tries = model.attempts.length;
    return `It did not connect in ${length}` + (tries ? `: ${count(tries, 'attempt')}.` : '.');
  }
  if (!sums.drops) return `It never dropped in ${length}.`;
  const times = many => ['', 'once', 'twice'][many] ?? `${many.toLocaleString('en')} times`;
  let end = 'has not come back';
  if (sums.back === sums.drops) end = sums.drops === 1 ? 'came back' : 'came back each time';
  else if (sums.rests === sums.drops) end = 'was not wanted afterwards';
  else if (sums.back + sums.rests === sums.drops) end = 'came back each time it was still wanted';
  else if (sums.back) end = `came back ${times(sums.back)}`;
  return `It dropped ${times(sums.drops)} in ${length} and ${end}.`;
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
    ['Silence', silenceWords(model, time)], ['Fault', troubleWords(model, time)],
    ['Device', deviceWords(model, time)],
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
  const since = time - state.t < recent ? ', just now' : ` for ${spanText(time - state.t)}`;
  return linkStates.get(state.state).name + number + since + why;
}

function attemptWords(model, time) {
  const one = model.attempts.at(time);
  if (!one) return '';
  let words = `attempted for ${spanText(time - one.t)}`;
  if (one.isUp && one.up <= time) words = `open for ${spanText(time - one.up)}`;
  else if (time - one.t < recent) words = 'attempted now';
  return `number ${one.number}, ${words}`;
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
  return spanText(silent) + (closed ? ` of the ${spanText(closed)} that are allowed` : '');
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
