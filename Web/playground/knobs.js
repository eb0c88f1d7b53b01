// The sliders and lists of choices.

import { byId, make } from '../shared/elements.js';
import { count, spanText } from '../shared/words.js';
import { backoffOf, backoffText, durationText, listOf, secondsOf } from './schedule.js';
import {
  capacityOf, causes, changing, fullRules, jitterText, likenessOf, playable, rateText, rules,
  valueOf, valuesOf,
} from './settings.js';

const reconnect = 'retry.reconnect';
const spread = 'retry.serverJitter';

/** Returns a knob for a part of exponential back-off. */
const part = (name, title, range, words, hint) => ({
  group: 'policy', name, title, ...range, words, hint,
  isShown: settings => backoffOf(valueOf(settings, reconnect) ?? '') !== null,
  read: settings => backoffOf(valueOf(settings, reconnect))[name],
  write: (settings, value) => {
    const backoff = { ...backoffOf(valueOf(settings, reconnect)), [name]: value };
    return changing(settings, reconnect, backoffText(backoff));
  },
});

const plain = (group, name, title, range, words, hint) => ({
  group, name, title, ...range, words, hint, read: settings => settings[name],
  write: (settings, value) => ({ ...settings, [name]: value }),
});

const roundCount = power => {
  const digits = 10 ** Math.max(0, Math.floor(power) - 1);
  return Math.round(10 ** power / digits) * digits;
};

const sliders = [
  part('first', 'First wait', { min: 0.5, max: 20, step: 0.5 }, spanText),
  part('factor', 'Each wait grows by', { min: 1, max: 4, step: 1 }, value => `×${value}`),
  part('cap', 'Longest wait', { min: 5, max: 300, step: 5 }, spanText),
  part('jitter', 'Jitter of each wait', { min: 0, max: 1, step: 0.05 }, jitterText,
    'Each phone draws its own wait from this range.'),
  part('floor', 'Shortest wait', { min: 0, max: 5, step: 0.1 }, spanText),
  {
    group: 'policy', name: 'spread', title: 'Spread of returns', min: 0, max: 60, step: 1,
    words: spanText, hint: 'Added where the server closed or refused the connection.',
    isShown: settings => valueOf(settings, spread) !== undefined,
    read: settings => secondsOf(valueOf(settings, spread)),
    write: (settings, value) => changing(settings, spread, durationText(value)),
  },
  plain('outage', 'outage', 'It lasts', { min: 0, max: 600, step: 2 }, spanText),
  {
    group: 'server', name: 'clients', title: 'Phones', min: 2, max: 5.3, step: 0.02,
    words: value => count(roundCount(value), 'phone'),
    read: settings => Math.log10(settings.clients),
    write: (settings, value) => ({ ...settings, clients: roundCount(value) }),
  },
  {
    ...plain('server', 'within', 'It can let all in within', { min: 5, max: 300, step: 5 },
      spanText),
    hintOf: settings => `So it takes ${rateText(capacityOf(settings, settings.clients))}.`,
  },
];

const namesOf = words => Object.entries(words).map(([value, [name]]) => [value, name]);

const choices = [
  {
    group: 'policy', name: 'policy', title: 'The phones follow',
    options: () => [
      ['Policies of Holdfast', playable()], ['Rules of other libraries', rules()],
    ],
    write: (settings, policy) => ({ ...settings, policy, changes: {} }),
  },
  {
    group: 'outage', name: 'cause', title: 'It looks like',
    options: () => namesOf(causes), hintOf: settings => causes[settings.cause][1],
  },
  {
    group: 'server', name: 'full', title: 'Who comes beyond that',
    options: () => namesOf(fullRules), hintOf: settings => fullRules[settings.full][1],
  },
];

const groups = { policy: 'Policy', outage: 'Outage', server: 'Server' };

let current = null;
let report = () => {};

function slider(knob) {
  const output = make('output', {});
  const hint = make('small', {});
  const id = `knob-${knob.name}`;
  const input = make('input', {
    type: 'range', id, min: knob.min, max: knob.max, step: knob.step,
    on: {
      input: () => report(knob.write(current, Number(input.value)), true),
      change: () => report(knob.write(current, Number(input.value)), false),
    },
  });
  Object.assign(knob, { input, output, hintLine: hint });
  knob.row = make('div', { class: 'knob' }, make('label', { for: id }, knob.title), output, input,
    hint);
  return knob.row;
}

const option = entry => typeof entry === 'string' ? make('option', { value: entry }, entry)
  : Array.isArray(entry[1])
    ? make('optgroup', { label: entry[0] }, ...entry[1].map(option))
    : make('option', { value: entry[0] }, entry[1]);

function choice(knob) {
  const id = `knob-${knob.name}`;
  const write = knob.write ?? ((settings, value) => ({ ...settings, [knob.name]: value }));
  knob.input = make('select', {
    id, on: { change: () => report(write(current, knob.input.value), false) },
  }, ...knob.options().map(option));
  knob.hintLine = make('small', {});
  return make('div', { class: 'knob' }, make('label', { for: id }, knob.title), knob.input,
    knob.hintLine);
}

function waits() {
  const input = make('input', {
    type: 'text', id: 'knob-waits', spellcheck: 'false', autocomplete: 'off',
    on: { change: () => report(changing(current, reconnect, input.value.trim()), false) },
  });
  return make('div', { class: 'knob', id: 'waits' },
    make('label', { for: 'knob-waits' }, 'Waits before each try'), input,
    make('small', { id: 'waits-hint' }));
}

/** Adds the knobs, which report changed settings to a function. */
export function startKnobs(changed) {
  report = changed;
  for (const [group, title] of Object.entries(groups)) {
    const rows = [
      ...choices.filter(knob => knob.group === group).map(choice),
      group === 'policy' ? make('p', { id: 'likeness', class: 'note' }) : null,
      group === 'policy' ? waits() : null,
      ...sliders.filter(knob => knob.group === group).map(slider),
    ];
    const where = { class: group === 'policy' ? '' : 'in-fleet' };
    byId('knobs').append(
      make('fieldset', where, make('legend', {}, title), ...rows.filter(Boolean)));
  }
  byId('knobs').addEventListener('submit', event => event.preventDefault());
}

function showSlider(knob, settings) {
  const isShown = knob.isShown?.(settings) ?? true;
  knob.row.hidden = !isShown;
  if (!isShown) return;
  const value = knob.read(settings);
  // The value that a person drags must not jump to a round one.
  if (document.activeElement !== knob.input) knob.input.value = value;
  const words = knob.words(value);
  knob.output.textContent = words;
  knob.input.setAttribute('aria-valuetext', words);
  knob.hintLine.textContent = knob.hintOf?.(settings) ?? knob.hint ?? '';
}

/** Shows settings in the knobs. */
export function showKnobs(settings) {
  current = settings;
  for (const knob of choices) {
    knob.input.value = settings[knob.name];
    knob.hintLine.textContent = knob.hintOf?.(settings) ?? '';
  }
  for (const knob of sliders) showSlider(knob, settings);
  const text = valueOf(settings, reconnect);
  byId('waits').hidden = text === undefined;
  byId('likeness').textContent = likenessOf(settings) ?? '';
  byId('likeness').hidden = !likenessOf(settings);
  if (text === undefined) return;
  byId('knob-waits').value = text;
  const own = valuesOf(settings)[reconnect];
  byId('waits-hint').textContent = text !== own ? `The policy's own: ${own}`
    : listOf(text) ? 'A fixed list: every phone waits the same.' : '';
}
