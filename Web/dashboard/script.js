'use strict';
const id = name => document.getElementById(name);
const show = state => { document.body.dataset.state = state; };
// Numbers; those beyond sense, of which one has hundreds of digits, are written short.
const numbers = digits => {
  const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: digits });
  const short = new Intl.NumberFormat(undefined,
    { notation: 'scientific', maximumFractionDigits: 2 });
  return { format: value => (Math.abs(value) < 1e15 ? plain : short).format(value) };
};
const number = numbers(0), tenth = numbers(1);
// Times of workouts are readings of the user's own clock; those that it shows twice have an
// offset, which changes nothing about what it shows.
const wall = text => new Date(text.slice(0, 19) + 'Z');
const clock = new Intl.DateTimeFormat(undefined,
  { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
let turn = 0;
// The days up to today that were chosen; 0 for days of the two fields.
let chosen = 30;
// The zone of the person who is signed in, once the server has told it.
let zone = null;

function make(name, text, fields = {}) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  for (const key in fields) element.setAttribute(key, fields[key]);
  return element;
}

function draw(name, fields, title) {
  const shape = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in fields) shape.setAttribute(key, fields[key]);
  if (title) {
    const words = document.createElementNS('http://www.w3.org/2000/svg', 'title');
    words.textContent = title;
    shape.append(words);
  }
  return shape;
}

// Every day of a span, so that days without data leave a hole.
function daysOf(from, to) {
  const days = [];
  const last = Date.parse(to + 'T00:00:00Z');
  for (let at = Date.parse(from + 'T00:00:00Z'); at <= last; at += 86400000) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}

// Columns of stacked parts, each {low, high, color, title}.
function chart(svg, days, top, label, columns) {
  const width = 1000, height = 100, step = width / days.length;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  const scale = value => height - height * value / (top || 1);
  const shapes = [draw('line', { x1: 0, x2: width, y1: height, y2: height,
    stroke: 'var(--line)' })];
  days.forEach((day, place) => {
    for (const part of columns.get(day) ?? []) {
      shapes.push(draw('rect', { x: (place + .1) * step, width: .8 * step,
        y: scale(part.high), height: Math.max(.5, scale(part.low) - scale(part.high)),
        fill: part.color }, part.title));
    }
  });
  svg.replaceChildren(...shapes);
}

function table(names, rows) {
  const all = make('table'), first = make('tr');
  first.append(...names.map(name => make('th', name, { scope: 'col' })));
  const top = make('thead'), rest = make('tbody');
  top.append(first);
  rest.append(...rows.map(row => {
    const line = make('tr');
    line.append(...row.map(cell => make('td', cell ?? '–')));
    return line;
  }));
  all.append(top, rest);
  return all;
}

// A section with its sentence, its chart and its numbers.
function fill(name, sentence, days, columns, heads, rows) {
  const section = id(name);
  const high = [...columns.values()].flat().reduce((top, part) => Math.max(top, part.high), 0);
  section.querySelector('p').textContent = sentence;
  const svg = section.querySelector('svg'), details = section.querySelector('details');
  // A picture has no property `hidden`, but every element has the attribute.
  for (const part of [svg, details]) part.toggleAttribute('hidden', rows.length === 0);
  chart(svg, days, high, sentence, columns);
  details.replaceChildren(make('summary', 'Numbers'), table(heads, rows));
}

const count = (many, name) => `${number.format(many)} ${name}${many === 1 ? '' : 's'}`;
const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;

function steps(reply, days) {
  const found = reply.daily.filter(day => day.steps !== null);
  const energy = new Map(reply.energy.map(day => [day.date, day.calories]));
  const sentence = found.length === 0 ? 'No steps in this period.'
    : `${number.format(mean(found.map(day => day.steps)))} a day on average, `
      + `${number.format(found.reduce((sum, day) => sum + day.steps, 0))} in all.`;
  const columns = new Map(found.map(day => [day.date, [{ low: 0, high: day.steps,
    color: 'var(--bar)', title: `${day.date}: ${number.format(day.steps)} steps` }]]));
  fill('steps', sentence, days, columns, ['Day', 'Steps', 'Energy (kcal)'],
    found.map(day => [day.date, number.format(day.steps),
      energy.has(day.date) ? number.format(energy.get(day.date)) : null]));
}

function heart(reply, days) {
  const found = reply.daily.filter(day => day.avg !== null);
  const latest = reply.latest == null ? ''
    : ` Latest: ${number.format(reply.latest)} bpm.`;
  const sentence = found.length === 0 ? 'No heart rates in this period.' + latest
    : `${number.format(mean(found.map(day => day.avg)))} bpm on average, from `
      + `${number.format(Math.min(...found.map(day => day.min)))} to `
      + `${number.format(Math.max(...found.map(day => day.max)))}.` + latest;
  const columns = new Map(found.map(day => [day.date, [
    { low: day.min, high: day.max, color: 'var(--soft)',
      title: `${day.date}: ${number.format(day.min)} to ${number.format(day.max)} bpm` },
    { low: day.avg - .5, high: day.avg + .5, color: 'var(--bar)',
      title: `${day.date}: ${tenth.format(day.avg)} bpm on average` }]]));
  fill('heart', sentence, days, columns, ['Day', 'Average', 'Lowest', 'Highest'],
    found.map(day => [day.date, tenth.format(day.avg), number.format(day.min),
      number.format(day.max)]));
}

function sleep(reply, days) {
  const found = reply.daily.filter(night => night.hours > 0);
  const sentence = found.length === 0 ? 'No nights in this period.'
    : `${tenth.format(mean(found.map(night => night.hours)))} hours a night on average, `
      + count(found.length, 'night') + '.';
  const columns = new Map(found.map(night => {
    const parts = [];
    let low = 0;
    const staged = (night.deep ?? 0) + (night.core ?? 0) + (night.rem ?? 0);
    const kinds = [['deep', night.deep], ['core', night.core], ['rem', night.rem],
      ['asleep', Math.max(0, night.hours - staged)], ['awake', night.awake]];
    for (const [kind, hours] of kinds) {
      if (!(hours > .005)) continue;
      parts.push({ low, high: low + hours, color: `var(--${kind})`,
        title: `${night.date}: ${tenth.format(hours)} hours ${kind}` });
      low += hours;
    }
    return [night.date, parts];
  }));
  const hours = value => value > 0 ? tenth.format(value) : null;
  fill('sleep', sentence, days, columns,
    ['Night to', 'Asleep (h)', 'Deep', 'Core', 'REM', 'Awake', 'In bed'],
    found.map(night => [night.date, hours(night.hours), hours(night.deep),
      hours(night.core), hours(night.rem), hours(night.awake), hours(night.inBed)]));
}

function workouts(reply) {
  const found = [...reply.workouts].reverse();
  const minutes = one => (wall(one.end) - wall(one.start)) / 60000;
  id('workouts').querySelector('p').textContent = found.length === 0
    ? 'No workouts in this period.'
    : count(found.length, 'workout') + ', ' + tenth.format(
        found.reduce((sum, one) => sum + minutes(one), 0) / 60) + ' hours.'
      + (reply.nextStart == null ? '' : ' There are more: choose a shorter period.');
  id('workouts').querySelector('div').replaceChildren(...(found.length === 0 ? [] : [table(
    ['Start', 'Kind', 'Minutes', 'Distance (km)', 'Energy (kcal)', 'Source'],
    found.map(one => [clock.format(wall(one.start)), one.type,
      number.format(minutes(one)),
      one.distanceMeters == null ? null : tenth.format(one.distanceMeters / 1000),
      one.energyKcal == null ? null : number.format(one.energyKcal), one.source]))]));
}

class Refused extends Error {}
class Unfit extends Error {}

async function ask(path) {
  const secret = sessionStorage.getItem('secret');
  const unknown = 'The server does not know this secret.';
  // No secret has blanks or control characters, nor can a header field carry them.
  if (/[\x00-\x20\x7f]/.test(secret)) throw new Refused(unknown);
  // A header field carries bytes: those of the secret in UTF-8, as the server's file has it.
  const bytes = String.fromCharCode(...new TextEncoder().encode(secret));
  const answer = await fetch(path, { cache: 'no-store',
    headers: { Authorization: 'Bearer ' + bytes } }).catch(() => {
    throw new Error('The server cannot be reached.');
  });
  if (answer.status === 401) throw new Refused(unknown);
  const reply = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(reply.details ?? reply.error ?? `HTTP ${answer.status}`);
  return reply;
}

async function load() {
  const mine = ++turn;
  if (sessionStorage.getItem('secret') === null) return leave('');
  show('loading');
  try {
    if (chosen > 0) {
      if (zone === null) {
        const reply = await ask('/api/health/workouts?from=2000-01-01&to=2000-01-01');
        if (mine !== turn) return;
        zone = reply.timeZone;
      }
      choose(chosen);
    }
    const [from, to] = [id('from').value, id('to').value];
    const days = daysOf(from, to);
    if (days.length === 0 || days.length > 3653) throw new Unfit('Choose 1 to 3,653 days.');
    const all = await Promise.all(['steps', 'heart-rate', 'sleep', 'workouts'].map(
      name => ask(`/api/health/${name}?from=${from}&to=${to}`)));
    if (mine !== turn) return;
    steps(all[0], days); heart(all[1], days); sleep(all[2], days); workouts(all[3]);
    zone = all[0].timeZone;
    id('zone').textContent = `Days are those of ${zone}.`;
    id('span').textContent = `From ${from} to ${to}.`;
    id('message').textContent = '';
    enter();
    id('shown').hidden = false;
    show('ready');
  } catch (error) {
    if (mine !== turn) return;
    if (error instanceof Refused) return leave(error.message);
    clear();
    id('message').textContent = error instanceof Unfit ? error.message
      : `Nothing could be loaded: ${error.message} Try again.`;
    enter();
    show('failed');
  }
}

function enter() {
  id('door').hidden = true;
  id('data').hidden = id('leave').hidden = false;
}

// Takes back what is shown: it is of another period, or of another person.
function clear() {
  id('shown').hidden = true;
  for (const part of document.querySelectorAll('#shown p')) part.textContent = '';
  for (const part of document.querySelectorAll('#shown svg, #shown details, #shown .wide')) {
    part.replaceChildren();
  }
}

function leave(reason) {
  ++turn;
  zone = null;
  mark(30);
  clear();
  sessionStorage.removeItem('secret');
  id('message').textContent = reason;
  id('data').hidden = id('leave').hidden = true;
  id('door').hidden = false;
  id('secret').value = '';
  show(reason ? 'refused' : 'signed-out');
}

// The date where the person is, whatever the zone of the browser.
function today() {
  const fields = { year: 'numeric', month: '2-digit', day: '2-digit' };
  const language = 'en-US-u-ca-gregory-nu-latn';
  let format = new Intl.DateTimeFormat(language, fields);
  try {
    format = new Intl.DateTimeFormat(language, { ...fields, timeZone: zone });
  } catch { /* a zone that this browser does not know */ }
  const parts = {};
  for (const part of format.formatToParts(new Date())) parts[part.type] = part.value;
  return `${parts.year}-${parts.month}-${parts.day}`;
}

function choose(days) {
  const last = today();
  id('to').value = last;
  id('from').value = new Date(Date.parse(last + 'T00:00:00Z') - (days - 1) * 86400000)
    .toISOString().slice(0, 10);
}

function mark(days) {
  chosen = days;
  for (const button of document.querySelectorAll('[data-days]')) {
    button.setAttribute('aria-pressed', button.dataset.days === String(days));
  }
}

id('door').addEventListener('submit', event => {
  event.preventDefault();
  sessionStorage.setItem('secret', id('secret').value.trim());
  load();
});
id('period').addEventListener('submit', event => {
  event.preventDefault();
  mark(0);
  load();
});
for (const button of document.querySelectorAll('[data-days]')) {
  button.addEventListener('click', () => { mark(Number(button.dataset.days)); load(); });
}
id('leave').addEventListener('click', () => leave(''));
mark(30);
if (sessionStorage.getItem('secret') !== null) load();
