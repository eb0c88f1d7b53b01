// Titles for the reasons for which attempts and connections end.

import { capitalized, spanText } from '../shared/words.js';

const titles = new Map(Object.entries({
  background: 'Closed for the background',
  ended: 'Ended unexpectedly',
  idle: 'Closed because it was idle',
  killed: 'The app was killed',
  leaving: 'Switched off',
  local: 'An error of this device',
  'login page': 'A login page answered',
  'network changed': 'The network changed',
  'no answer': 'No answer in time',
  'no pong': 'No answer to a ping',
  'no route': 'No route to the server',
  offline: 'No network',
  protocol: 'Protocol error',
  proxy: 'The proxy failed',
  'rate limit': 'Limited by its rate',
  refused: 'Connection refused',
  rejected: 'Rejected by the app',
  reset: 'Connection reset',
  settling: 'The network settled',
  'sign in': 'Signed out',
  superseded: 'Replaced by another connection',
  TLS: 'TLS failed',
  'unknown name': 'The name of the server was not found',
}));

const closeCodes = new Map([
  [1000, 'normal'], [1001, 'going away'], [1002, 'protocol error'], [1003, 'unsupported data'],
  [1005, 'no code'], [1006, 'no close frame'], [1007, 'invalid data'], [1008, 'policy violation'],
  [1009, 'too large'], [1011, 'server error'], [1012, 'restart'], [1013, 'try again later'],
  [1014, 'bad gateway'],
]);

const statuses = new Map([
  [400, 'bad request'], [401, 'unauthorized'], [403, 'forbidden'], [404, 'not found'],
  [408, 'request timeout'], [409, 'conflict'], [410, 'gone'], [426, 'upgrade required'],
  [429, 'too many requests'], [500, 'server error'], [502, 'bad gateway'],
  [503, 'service unavailable'], [504, 'gateway timeout'],
]);

/** Returns the title of a loss for a reason, after `silent` seconds without a byte. */
export function reasonTitle(why, silent) {
  // A source may tell of a silence that began before what the trace has.
  if (why === 'silent') {
    return silent < 0.05 ? 'Nothing received in time' : `Nothing received for ${spanText(silent)}`;
  }
  const close = /^close (\d+)$/.exec(why);
  if (close) return `Closed by the server (${coded(close[1], closeCodes)})`;
  const status = /^HTTP (\d+)$/.exec(why);
  if (status) return `HTTP ${coded(status[1], statuses)}`;
  return titles.get(why) ?? (capitalized(why) || 'Ended');
}

function coded(digits, names) {
  const name = names.get(Number(digits));
  return name ? `${digits} ${name}` : digits;
}
