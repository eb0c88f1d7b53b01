// What a fleet did: one sentence, the legend, and the figures.

import { byId, make } from '../shared/elements.js';
import { count, spanText } from '../shared/words.js';
import { difference, rateText } from './settings.js';

const whole = value => Math.round(value).toLocaleString('en');
const timesText = value => value < 9.95 ? `${+value.toFixed(1)}` : whole(value);

function returnWords(run) {
  const back = run.away === 0 ? 'after the loss' : 'after the server';
  if (run.half === null) {
    return run.gaveUp > 0 ? `${count(Math.round(run.gaveUp), 'phone')} gave up: only their users `
      + 'can connect them again.' : 'Half of the phones were not back after two hours.';
  }
  const most = run.most === null ? '1 in 100 or more did not come back'
    : `99 % after ${spanText(run.most)}`;
  return `Of ${count(run.clients, 'phone')}, half are back ${spanText(run.half)} ${back}, ${most}.`;
}

function loadWords(run) {
  const times = run.peak / run.capacity;
  const refused = run.refused > 0 ? `, and ${whole(run.refused)} tries are turned away` : '';
  const begin = `In the busiest second from then on, ${whole(run.peak)} try`;
  if (times <= 1) return [`${begin}; the server takes ${whole(run.capacity)}, so all get in.`];
  const load = make('strong', { class: times > 3 ? 'bad' : '' }, `${timesText(times)} times`);
  return [`${begin}: `, load, ` what the server takes${refused}.`];
}

function comparisonWords(run, kept) {
  const name = difference(kept.settings, run.settings);
  const peak = `${whole(kept.peak)} in the busiest second`;
  const half = kept.half === null ? 'half never back' : `half back after ${spanText(kept.half)}`;
  return [' Kept for comparison ', make('span', { class: 'keptname' }, `(${name})`),
    `: ${peak}, ${half}.`];
}

/** Shows the sentence of a run, and of the kept one or `null`. */
export function showStory(run, kept) {
  byId('story').replaceChildren(
    make('b', {}, returnWords(run)), ' ', ...loadWords(run),
    ...kept ? comparisonWords(run, kept) : []);
}

/** Shows what the colors mean. */
export function showLegend(run, kept) {
  const entries = [
    ['let', 'let in'], ['vain', 'in vain'], ['capacity', 'what the server takes'],
    run.away > 0 && ['away', 'no server'], run.peakPolls > 0 && ['polls', 'polls'],
    kept && ['kept', `kept: ${difference(kept.settings, run.settings)}`],
  ];
  byId('legend').replaceChildren(...entries.filter(Boolean).map(([kind, words]) =>
    make('li', {}, make('i', { class: kind, 'aria-hidden': 'true' }), words)));
}

const time = value => value === null ? 'never' : spanText(value);

const rows = [
  ['Half of the phones are back after', run => time(run.half)],
  ['99 % are back after', run => time(run.most)],
  ['The last one is back after', run => time(run.all)],
  ['Busiest second after the return', run => `${whole(run.peak)} tries`],
  ['What the server takes', run => rateText(run.capacity)],
  ['Turned away', run => `${whole(run.refused)} tries`],
  ['Tries of a phone, on average', run => timesText(run.each)],
  ['Busiest second of the outage', run => `${whole(run.peakAway)} tries`],
  ['Most polls in a second', run => whole(run.peakPolls), run => run.peakPolls > 0],
  ['Phones that gave up', run => whole(run.gaveUp), run => run.gaveUp > 0],
];

const column = (name, words) => make('th', { scope: 'col' }, name,
  words ? make('small', {}, words) : null);

/** Shows the figures of a run, and of the kept one or `null`. */
export function showFigures(run, kept) {
  const runs = [run, kept].filter(Boolean);
  const cell = words => make('td', {}, words);
  const head = make('tr', {}, make('td', {}),
    column('Shown', kept && difference(run.settings, kept.settings)),
    kept ? column('Kept', difference(kept.settings, run.settings)) : null);
  const body = rows.filter(([, , isShown = () => true]) => runs.some(isShown))
    .map(([name, words]) => make('tr', {}, make('th', { scope: 'row' }, name),
      ...runs.map(one => cell(words(one)))));
  byId('figures').replaceChildren(make('thead', {}, head), make('tbody', {}, ...body));
}
