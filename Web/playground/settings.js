// The settings of a run: a policy with its changes, an outage, and a server.

import { spanText } from '../shared/words.js';
import { backoffOf, secondsOf } from './schedule.js';

/** The settings with which the page opens. */
export const usual = {
  policy: 'socket', changes: {}, cause: 'crash', outage: 60, clients: 100000, within: 60,
  full: 'refuse',
};

/** The number of phones that is played while a slider moves. */
export const few = 10000;

/** The causes of outages, in words, with what the phones see. */
export const causes = {
  crash: ['a crash', 'Connections are reset, and then refused.'],
  close: ['a deploy', 'Connections are closed with code 1012, and then refused.'],
  drain: ['a deploy with notice',
    'A notice announces a window of 5 s; after 1 s connections are closed with code 1001.'],
  refused: ['an ended process', 'Connections end without a close, and are then refused.'],
  unavailable: ['503 of a balancer',
    'Connections are reset; then a balancer without a server answers 503.'],
  unreachable: ['silence', 'Nothing is closed, and nothing answers.'],
};

/** What a server does with those that it cannot take, in words. */
export const fullRules = {
  refuse: ['is refused', 'The answer is 503, with a wish to be tried again after 2 s.'],
  wait: ['waits in line', 'The handshake is answered in turn, unless the phone gives up.'],
};

const policies = new Map();
const naive = new Map();
/** The keys of policies with their meanings. */
export const meanings = new Map();

/** Learns what the engine knows of policies. */
export function learn(answer) {
  for (const one of answer.policies) policies.set(one.name, one);
  for (const one of answer.naive) naive.set(one.name, one);
  for (const { name, meaning } of answer.keys) meanings.set(name, meaning);
}

/** Returns the names of the policies that a fleet can follow. */
export const playable = () => [...policies.values()].filter(one => !one.obstacle)
  .map(one => one.name);

/** Returns the names of rules without a policy, which some libraries have. */
export const rules = () => [...naive.keys()];

/** Returns the description of a rule; `undefined` for a policy. */
export const likenessOf = settings => naive.get(settings.policy)?.likeness;

/** Returns the values of the policy before any change. */
export const valuesOf = settings => policies.get(settings.policy)?.values ?? {};

/** Returns a value of the policy as text; `undefined` if it has none. */
export const valueOf = (settings, key) => settings.changes[key] ?? valuesOf(settings)[key];

/** Returns settings with another value of the policy; its own again for an empty text. */
export function changing(settings, key, text) {
  const changes = { ...settings.changes, [key]: text };
  if (!text || text === valuesOf(settings)[key]) delete changes[key];
  return { ...settings, changes };
}

/** Returns the connections that a server takes in a second, so that all fit into a time. */
export const capacityOf = ({ within }, clients) => Math.ceil(clients / within);

/** Returns the lines of the request that plays a number of phones. */
export function requestOf(settings, clients) {
  return [
    'herd', `policy=${settings.policy}`,
    ...Object.entries(settings.changes).map(([key, text]) => `set=${key}=${text}`),
    `clients=${clients}`, `outage=${settings.outage}s`, `cause=${settings.cause}`,
    `capacity=${capacityOf(settings, clients)}`, `when-full=${settings.full}`, 'seed=1',
  ];
}

const quoted = text => /^[\w.,:=/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Returns the command that prints the same numbers. It plays each rule beside any policy. */
export function commandOf(settings) {
  const isRule = naive.has(settings.policy);
  const changes = Object.entries(settings.changes)
    .map(([key, text]) => `--set ${quoted(`${key}=${text}`)}`);
  return [
    'HoldfastBench herd', ...isRule ? [] : [`--policy ${settings.policy}`], ...changes,
    `--clients ${settings.clients}`, `--cause ${settings.cause}`, `--outage ${settings.outage}s`,
    `--capacity ${capacityOf(settings, settings.clients)}/s`, `--when-full ${settings.full}`,
    ...isRule ? [] : ['--alone'],
  ].join(' ');
}

/** Returns the jitter of waits in words. */
export const jitterText = share => share === 0 ? 'no jitter' : `±${Math.round(share * 100)} %`;

/** Returns a number for a second in words. */
export const rateText = many => `${many.toLocaleString('en')}/s`;

const backoffWords = {
  first: value => `first wait ${spanText(value)}`, factor: value => `waits grow ${value}×`,
  cap: value => `waits up to ${spanText(value)}`,
  jitter: value => value === 0 ? 'no jitter' : `jitter ${jitterText(value)}`,
  floor: value => `waits of at least ${spanText(value)}`,
  attempts: value => value === 'unlimited' ? 'tries without end' : `${value} tries`,
};

function scheduleWords(mine, other) {
  const [own, its] = [mine, other].map(text => backoffOf(text ?? ''));
  if (!own || !its) return [`waits ${mine}`];
  return Object.keys(own).filter(part => own[part] !== its[part])
    .map(part => backoffWords[part](own[part]));
}

function valueWords(key, mine, other) {
  if (key === 'retry.reconnect') return scheduleWords(mine, other);
  if (key === 'retry.serverJitter') return [`spread ${spanText(secondsOf(mine))}`];
  return [`${key} ${mine}`];
}

function policyWords(settings, other) {
  if (settings.policy !== other.policy) return [settings.policy];
  const keys = Object.keys({ ...other.changes, ...settings.changes });
  return keys.flatMap(key => {
    const [mine, its] = [valueOf(settings, key), valueOf(other, key)];
    return mine === its ? [] : valueWords(key, mine, its);
  });
}

/** Returns in what settings differ from others, in a few words. */
export function difference(settings, other) {
  const words = policyWords(settings, other);
  if (settings.cause !== other.cause) words.push(causes[settings.cause][0]);
  if (settings.outage !== other.outage) words.push(`${spanText(settings.outage)} away`);
  if (settings.clients !== other.clients) {
    words.push(`${settings.clients.toLocaleString('en')} phones`);
  }
  if (settings.within !== other.within) {
    words.push(`server takes ${rateText(capacityOf(settings, settings.clients))}`);
  }
  if (settings.full !== other.full) {
    words.push(settings.full === 'wait' ? 'the others wait in line' : 'the others are refused');
  }
  return words.join(', ') || 'the same settings';
}
