// The page: signing in, the period, and the sections.

import { byId, make } from '../shared/elements.js';
import { Refused, secret } from './api.js';
import { fillCard, newCard } from './card.js';
import { dayNumber, dayOf, dayText } from './dates.js';
import { adviceText, newestText, openDayOf, openNightOf } from './fresh.js';
import { kindOf, nameOf, sleepType, usual, workoutType } from './kinds.js';
import {
  keep, mostDays, period, periodText, readAddress, resetPeriod, shownDays, step, Unfit,
} from './period.js';
import { forgetCharts, startTips } from './slider.js';
import { forget, knownFrom, load, summary, unitedOf, valuesOf } from './store.js';
import { fillWorkouts } from './workouts.js';

/** Ends the last load when the page shows something else: it asks no more, and shows nothing. */
let loading = new AbortController();
/** What the server said about the samples, and the days that are shown. */
let facts = null;
let shown = null;

const show = state => { document.body.dataset.state = state; };

// Signing in and out.

function enter() {
  byId('door').hidden = true;
  byId('data').hidden = byId('leave').hidden = false;
}

function leave(reason) {
  loading.abort();
  facts = null;
  clear();
  forget();
  resetPeriod();
  secret.remove();
  byId('message').textContent = reason;
  byId('data').hidden = byId('leave').hidden = true;
  byId('door').hidden = false;
  byId('secret').value = '';
  show(reason ? 'refused' : 'signed-out');
}

/** Takes back what is shown: it is of another period, or of another person. */
function clear() {
  forgetCharts();
  byId('shown').hidden = true;
  byId('cards').replaceChildren();
  for (const name of ['fresh', 'advice', 'zone', 'range']) byId(name).textContent = '';
}

// Loading.

async function reload() {
  loading.abort();
  loading = new AbortController();
  const { signal } = loading;
  if (secret.get() === null) {
    leave('');
    return;
  }
  show('loading');
  byId('message').textContent = '';
  try {
    prepare(await summary(signal));
    await Promise.all([...byId('cards').children].map(section => fill(section, signal)));
    if (!signal.aborted) show('ready');
  } catch (error) {
    if (!signal.aborted) fail(error);
  }
}

function fail(error) {
  if (error instanceof Refused) {
    leave(error.message);
    return;
  }
  loading.abort();
  clear();
  byId('message').replaceChildren(...error instanceof Unfit ? [error.message] : [
    `Nothing could be loaded: ${error.message} `,
    make('button', { type: 'button', on: { click: reload } }, 'Try again'),
  ]);
  enter();
  show('failed');
}

function prepare(reply) {
  const today = dayOf(reply.now);
  const first = reply.types.map(type => dayOf(type.first));
  // A sample of a clock that is ahead does not move the period into the future.
  const newest = Math.min(today, ...reply.newest === null ? [] : [dayOf(reply.newest)]);
  facts = { reply, today, newest, first: Math.min(newest, ...first) };
  shown = shownDays(facts);
  if (!(shown.to - shown.from < mostDays)) throw new Unfit('Choose 1 to 3,653 days.');
  if (shown.from > today) throw new Unfit('These days are in the future.');
  byId('fresh').textContent = newestText(reply);
  byId('advice').textContent = adviceText(reply);
  document.querySelector('.period').hidden = reply.newest === null;
  byId('zone').textContent = `Days are those of ${reply.timeZone}. ${absentText(reply)}`.trim();
  showPeriod();
  layOut(reply);
  enter();
  byId('shown').hidden = false;
}

function showPeriod() {
  byId('range').textContent = periodText(shown);
  byId('from').value = dayText(shown.from);
  byId('to').value = dayText(shown.to);
  byId('on').disabled = byId('newest').hidden = shown.to >= facts.newest;
  byId('back').disabled = shown.from <= facts.first && facts.reply.newest !== null;
  for (const button of document.querySelectorAll('[data-days]')) {
    const isChosen = button.dataset.days === String(period.days);
    button.setAttribute('aria-pressed', isChosen);
  }
}

// The sections.

const workouts = { name: 'Workouts', color: 'orange' };

/** Returns the sections that a person sees: each a type and what it shows. */
function wanted(reply) {
  const others = period.more
    .map(type => reply.types.find(one => one.type === type)).filter(Boolean);
  const isStored = ({ type }) => reply.types.some(one => one.type === type);
  return [
    ...usual.filter(isStored).map(kind => ({ type: kind.type, kind })),
    ...others.map(type => ({ type: type.type, other: type, kind: kindOf(type) })),
    ...[{ type: workoutType, kind: workouts }].filter(isStored),
  ];
}

/** Returns the words about the usual types of which nothing was synced. */
function absentText(reply) {
  const stored = new Set(reply.types.map(one => one.type));
  const absent = [...usual, { ...workouts, type: workoutType }]
    .filter(({ type }) => !stored.has(type)).map(({ name }) => name.toLowerCase());
  return absent.length && stored.size ? `Not synced: ${absent.join(', ')}.` : '';
}

/** Makes the sections that are not there, and takes away those that are no longer wanted. */
function layOut(reply) {
  forgetCharts();
  const old = new Map([...byId('cards').children].map(one => [one.dataset.type, one]));
  byId('cards').replaceChildren(...wanted(reply).map(({ type, other, kind }) => {
    const section = old.get(type)
      ?? newCard(type, kind.name, kind.color, other ? () => remove(type) : null);
    section.setAttribute('aria-busy', 'true');
    return section;
  }));
  listOthers(reply);
}

function listOthers(reply) {
  const seen = new Set(wanted(reply).map(one => one.type));
  const left = reply.types.filter(({ type }) => !seen.has(type))
    .map(one => [nameOf(one), one.type]).sort();
  byId('more').replaceChildren(make('option', { value: '' }, 'Add a chart…'),
    ...left.map(([name, type]) => make('option', { value: type }, name)));
  byId('adding').hidden = !left.length;
}

async function fill(section, signal) {
  const { type } = section.dataset;
  const { from, to, before } = shown;
  // A long period is drawn while it arrives, and compared when the one before has arrived.
  await load(type, before ?? from, to, signal, () => {
    if (!signal.aborted) draw(section, { from, to, before: null });
  });
  if (signal.aborted) return;
  draw(section, shown);
  section.removeAttribute('aria-busy');
}

function draw(section, days) {
  const { type } = section.dataset;
  const { reply, today } = facts;
  const about = reply.types.find(one => one.type === type);
  if (type === workoutType) {
    fillWorkouts(section, valuesOf(type), days, dayOf(about.first));
    return;
  }
  const built = usual.find(one => one.type === type);
  const { unit, values, others } = built ? { values: valuesOf(type), others: new Map() }
    : unitedOf(type, about.unit, days.before ?? days.from, days.to);
  fillCard(section, built ?? kindOf({ ...about, unit }), values, days, {
    today, others, first: dayOf(about.first), newest: newestDay(type, about),
    openDay: type === sleepType ? openNightOf(reply) : openDayOf(reply),
    knownFrom: knownFrom(type, days.to),
  });
}

/** Returns the newest day of a type: that of its newest sample, or of a value that it ends in. */
function newestDay(type, about) {
  const newest = dayOf(about.newest);
  return valuesOf(type).has(newest + 1) ? newest + 1 : newest;
}

function remove(type) {
  period.more = period.more.filter(other => other !== type);
  keep();
  reload();
  byId('more').focus();
}

// Controls.

function listen() {
  byId('door').addEventListener('submit', event => {
    event.preventDefault();
    secret.set(byId('secret').value.trim());
    reload();
  });
  byId('leave').addEventListener('click', () => leave(''));
  for (const button of document.querySelectorAll('[data-days]')) {
    button.addEventListener('click', () => choose(button.dataset.days));
  }
  byId('back').addEventListener('click', () => move(-1));
  byId('on').addEventListener('click', () => move(1));
  byId('newest').addEventListener('click', () => { period.to = null; keep(); reload(); });
  byId('dates').addEventListener('submit', event => {
    event.preventDefault();
    chooseDates(dayNumber(byId('from').value), dayNumber(byId('to').value));
  });
  byId('more').addEventListener('change', event => {
    if (!event.target.value) return;
    period.more.push(event.target.value);
    keep();
    reload();
  });
}

function choose(days) {
  period.days = days === 'all' ? 'all' : Number(days);
  if (period.days === 'all') period.to = null;
  keep();
  reload();
}

function move(direction) {
  if (!shown) return;
  step(direction, shown, facts.newest);
  reload();
}

function chooseDates(from, to) {
  const days = to - from + 1;
  if (!(days >= 1 && days <= mostDays)) {
    fail(new Unfit('Choose 1 to 3,653 days.'));
    return;
  }
  Object.assign(period, { days, to });
  keep();
  reload();
}

/** Draws all charts again. */
function redraw() {
  forgetCharts();
  const draws = [...byId('cards').children].map(section => section.redraw?.());
  for (const draw of draws) draw?.();
}

/** Draws the charts again when the width of the page changes. */
function startResizing() {
  let width = 0;
  new ResizeObserver(() => {
    const now = byId('cards').clientWidth;
    if (now === 0 || Math.abs(now - width) < 1) return;
    width = now;
    redraw();
  }).observe(byId('cards'));
}

readAddress();
listen();
startTips();
startResizing();
if (secret.get() !== null) reload();
