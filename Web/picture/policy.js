// The panel with the values of the policy.

import { byId, make } from '../shared/elements.js';
import { model, on } from './state.js';
import { spanText } from '../shared/words.js';

const times = {
  silence: 'closed after silence of', ping: 'ping after silence of',
  pongTimeout: 'answer due within',
};

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
    return Object.entries(values).map(([key, value]) => [key, textOf(value)]);
  }
  return Object.entries(fields).map(([key, value]) => {
    const isTime = key in times;
    return [times[key] ?? key, isTime && Number.isFinite(value) ? spanText(value) : textOf(value)];
  });
}

function textOf(value) {
  if (value === null) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
