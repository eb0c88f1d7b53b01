// The panel with the values of the policy.

import { byId, make } from '../shared/elements.js';
import { model, on } from './state.js';
import { spanText } from '../shared/words.js';

const times = {
  silence: 'closed after silence of', ping: 'ping after silence of',
  pongTimeout: 'answer due within',
};

/** The schedules that a trace also has in words. */
const schedules = { 'retry.first': 'first', 'retry.reconnect': 'reconnect' };
const seconds = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400 };
const yesNo = { true: 'yes', false: 'no', off: 'off' };

/** Shows the values on demand. */
export function startPolicy() {
  on('link', fill);
  byId('policy').addEventListener('click', () => byId('policy-panel').showModal());
}

function fill() {
  const { policy } = model().header;
  const entries = entriesOf(policy);
  byId('policy').hidden = !entries.length;
  byId('policy-title').textContent = policy.name ? `Policy ${policy.name}` : 'Policy';
  byId('policy-values').replaceChildren(...entries.flatMap(([name, value]) =>
    [make('dt', {}, name), make('dd', {}, value)]));
}

/** Returns the values of a policy: all of them if the trace has them, else the fields it has. */
function entriesOf({ name, values, ...fields }) {
  if (typeof values === 'object' && values !== null) {
    return Object.entries(values).map(([key, value]) =>
      [key, textOf(fields[schedules[key]] ?? withUnits(key, value))]);
  }
  return Object.entries(fields).map(([key, value]) => {
    const isTime = key in times;
    return [times[key] ?? key, isTime && Number.isFinite(value) ? spanText(value) : textOf(value)];
  });
}

/** Returns a value of a policy with the units of its times, such as `1.5 s` and `10 in 1 min`. */
function withUnits(key, value) {
  if (typeof value !== 'string') return value;
  if (Object.hasOwn(yesNo, value)) return yesNo[value];
  if (/[jJ]itter$/.test(key) && Number(value) < 1) return `±${Number(value) * 100} %`;
  const list = /^[\d.]+(ms|s|m|h|d)(,[\d.]+(ms|s|m|h|d))+$/.test(value);
  return (list ? value.replaceAll(',', ', ') : value)
    .replace(/^(\d+)\/(?=\d)/, '$1 in ').replace(/:(?=\d)/, ', then a pause of ')
    .replace(/(\d+(?:\.\d+)?)(ms|s|m|h|d)(?![a-zA-Z])/g,
      (_, number, unit) => spanText(number * seconds[unit]));
}

function textOf(value) {
  if (value === null) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
