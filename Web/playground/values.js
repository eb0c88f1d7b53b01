// The table of all values of the policy, each of which can be changed.

import { byId, make } from '../shared/elements.js';
import { changing, likenessOf, meanings, valueOf, valuesOf } from './settings.js';

let policy = null;
let inputs = new Map();

function row(key, settings, report) {
  const input = make('input', {
    type: 'text', 'aria-label': key, spellcheck: 'false', autocomplete: 'off',
    on: {
      change: () => report(now => changing(now, key, input.value.trim())),
    },
  });
  inputs.set(key, input);
  return make('tr', {}, make('th', { scope: 'row' }, make('code', {}, key)),
    make('td', {}, meanings.get(key)), make('td', {}, input));
}

/** Shows the values. A changed value is reported as a function of the present settings. */
export function showValues(settings, report) {
  byId('values').closest('details').hidden = likenessOf(settings) !== undefined;
  if (policy !== settings.policy) {
    policy = settings.policy;
    inputs = new Map();
    byId('values').replaceChildren(...Object.keys(valuesOf(settings))
      .map(key => row(key, settings, report)));
  }
  for (const [key, input] of inputs) {
    input.value = valueOf(settings, key);
    input.classList.toggle('changed', key in settings.changes);
  }
}
