// The title, the sentence, and the ribbons of all links.

import { drawRibbon } from './ribbon.js';
import { byId, make } from '../shared/elements.js';
import { clamp } from '../shared/numbers.js';
import { model, on, state } from './state.js';
import { story } from './summary.js';
import { choose, show, view, visit, wholeAxis } from './view.js';

const rows = () => [...byId('links').querySelectorAll('.linkrow')];

/** Shows the ribbons and the heading, and follows changes. */
export function startLinks() {
  on('opened', fillRows);
  on('link', fillHeading);
  on('grown', updateWords);
}

/** Chooses the link above or below. */
export function stepLink(direction, withFocus) {
  const many = state.models.length;
  visit((state.chosen + direction + many) % many);
  byId('live').textContent = `${model().header.name}. ${story(model())}`;
  if (withFocus) rows()[state.chosen].focus();
}

function fillRows() {
  byId('links').replaceChildren(
    ...state.models.map(row), make('div', { class: 'brush', id: 'brush' }));
}

function row(one, index) {
  const chooseIt = event => {
    if (index !== state.chosen) {
      visit(index);
      return;
    }
    choose(index);
    // A click on the chosen link by a pointer moves the interval; one by a key has no place.
    if (event.detail) moveTo(event);
  };
  return make('button', {
    class: 'linkrow', role: 'radio', type: 'button', 'data-index': index, 'aria-checked': 'false',
    'aria-label': `${one.header.name}: ${story(one)}`, on: { click: chooseIt },
  }, make('span', {}, one.header.name), make('canvas', { 'aria-hidden': 'true' }));
}

function moveTo(event) {
  const box = event.currentTarget.querySelector('canvas').getBoundingClientRect();
  const [from, to] = wholeAxis();
  const time = from + (event.clientX - box.left) / box.width * (to - from);
  const span = view.to - view.from;
  if (event.clientX > box.left && span < state.end) show(time - span / 2, time + span / 2);
}

function fillHeading() {
  const { header } = model();
  const details = [header.machine, `policy ${header.policy.name ?? 'unknown'}`, originOf(header)];
  if (header.seed !== undefined) details.push(`seed ${header.seed}`);
  byId('title').replaceChildren(header.name, make('small', {}, details.join(', ')));
  document.title = `${header.name}: picture of a link`;
  byId('story').textContent = story(model());
  for (const element of rows()) {
    const isChosen = Number(element.dataset.index) === state.chosen;
    element.setAttribute('aria-checked', isChosen);
    element.tabIndex = isChosen ? 0 : -1;
    if (isChosen) scrollTo(element);
  }
}

/** Updates the sentences of the links. */
function updateWords() {
  byId('story').textContent = story(model());
  for (const element of rows()) {
    const one = state.models[element.dataset.index];
    element.setAttribute('aria-label', `${one.header.name}: ${story(one)}`);
  }
}

/** Scrolls the ribbons, and not the page. */
function scrollTo(element) {
  const list = byId('links').parentElement;
  const top = element.offsetTop;
  const isSeen = top >= list.scrollTop
    && top + element.offsetHeight <= list.scrollTop + list.clientHeight;
  if (!isSeen) list.scrollTop = top - list.clientHeight / 2;
}

function originOf({ source, startedAt }) {
  if (!Number.isFinite(startedAt)) return source;
  const text = new Date(startedAt).toISOString();
  return `${source} of ${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;
}

/** Draws the ribbons in the width of the lanes. */
export function drawRibbons(lanes) {
  const [from, to] = wholeAxis();
  const height = state.models.length > 1 ? 22 : 30;
  const { colors } = lanes.surface;
  for (const element of rows()) {
    const canvas = element.querySelector('canvas');
    const one = state.models[element.dataset.index];
    drawRibbon(canvas, one, { from, to, width: lanes.width, height, colors });
  }
}

/** Moves the frame around the part of the ribbons that the lanes show. */
export function moveBrush(lanes) {
  const brush = byId('brush');
  if (!brush) return;
  const { left, width } = lanes;
  const [from, to] = wholeAxis();
  const x = time => clamp(left + (time - from) / (to - from) * width, left, left + width);
  const a = x(view.from);
  brush.style.transform = `translateX(${a}px)`;
  brush.style.width = `${Math.max(4, x(view.to) - a)}px`;
  brush.hidden = view.to - view.from > state.end * 1.015;
}
