// The view of one link: its acts, its deadlines and its story.

import { byId, make } from '../shared/elements.js';
import { capitalized, clockText, spanText } from '../shared/words.js';
import { Hand, groups } from './hand.js';
import { timeline } from './timeline.js';

/** The seconds that the timeline shows. */
const spans = [20, 60, 300, 1800];
/** The time between two answers while the clock runs, in milliseconds. */
const pace = 100;

let hand = null;
const pressed = [];

function choiceOf(choice) {
  const buttons = choice.map(([name, words]) => make('button', {
    type: 'button', on: { click: () => hand.act(name) },
  }, words));
  pressed.push(() => choice.forEach(([name], index) => {
    buttons[index].setAttribute('aria-pressed', hand.held(choice) === name);
  }));
  return make('span', { class: 'choice' }, ...buttons);
}

function groupOf({ title, choices, acts }) {
  const buttons = acts.map(([name, words]) => make('button', {
    type: 'button', on: { click: () => hand.act(name) },
  }, words));
  return make('div', { class: 'acts', role: 'group', 'aria-label': title },
    make('b', {}, title), ...choices.map(choiceOf), ...buttons);
}

function showDeadlines({ deadlines, now }) {
  byId('deadlines').replaceChildren(...deadlines.map(({ name, at }) => make('li', {},
    make('span', {}, capitalized(name)), make('b', {}, `in ${spanText(Math.max(0, at - now))}`))));
  byId('no-deadline').hidden = deadlines.length > 0;
}

function showLines({ lines }) {
  byId('lines').replaceChildren(...lines.toReversed().slice(0, 80).map(({ t, kind, say }) =>
    make('li', { class: kind }, make('span', {}, clockText(t, 0.1)), ' ', capitalized(say))));
}

function drawTimeline(answer) {
  const place = byId('timeline');
  const width = Math.max(280, place.clientWidth);
  place.replaceChildren(timeline(width, answer, Number(byId('span').value)));
}

/** Shows the newest answer. */
function show() {
  const { answer, problems } = hand;
  byId('link-problem').hidden = !problems;
  byId('link-problem').textContent = problems?.join('; ') ?? '';
  byId('run').textContent = hand.isRunning ? 'Pause' : 'Run';
  for (const update of pressed) update();
  if (!answer) return;
  byId('clock').textContent = clockText(answer.now, 0.1);
  // A status that stays must not be read again by a screen reader.
  const words = capitalized(answer.status);
  if (byId('status').textContent !== words) byId('status').textContent = words;
  byId('skip').disabled = answer.next === null;
  showDeadlines(answer);
  showLines(answer);
  drawTimeline(answer);
}

function startClock() {
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    const isShown = document.body.dataset.view === 'link' && !document.hidden;
    if (isShown && hand.isRunning) hand.pass((now - last) / 1000 * hand.speed);
    last = now;
  }, pace);
}

function startControls() {
  byId('run').addEventListener('click', () => {
    hand.isRunning = !hand.isRunning;
    show();
  });
  byId('skip').addEventListener('click', () => hand.skip());
  byId('again').addEventListener('click', () => hand.restart());
  byId('speed').addEventListener('change', () => {
    hand.speed = Number(byId('speed').value);
  });
  byId('span').append(...spans.map(span =>
    make('option', { value: span, selected: span === 60 }, spanText(span))));
  byId('span').addEventListener('change', show);
  byId('acts').append(...groups.map(groupOf));
  new ResizeObserver(show).observe(byId('timeline'));
}

/** Adds the view, and returns the link that it shows. */
export function startHand(engine) {
  hand = new Hand(engine, show);
  startControls();
  startClock();
  return hand;
}
