// Keys.

import { remember } from './address.js';
import { byId } from '../shared/elements.js';
import { stepLink } from './links.js';
import { clearSearch, stepMatch } from './search.js';
import { model, state } from './state.js';
import {
  pan, showAll, showLastMoment, step, stepMoment, stepTo, zoom,
} from './view.js';

/** The keys that work everywhere except in fields and dialogs. */
const everywhere = {
  '+': () => zoom(0.5),
  '=': () => zoom(0.5),
  '-': () => zoom(2),
  0: () => showAll(),
  '[': () => pan(-0.25),
  ']': () => pan(0.25),
  '/': () => byId('search').focus(),
  '?': () => byId('keys').showModal(),
  c: () => copyLink(),
  n: () => stepMatch(1),
  N: () => stepMatch(-1),
};

/** The keys of the board. */
const onBoard = {
  ArrowRight: event => event.shiftKey ? stepMoment(1) : step(1),
  ArrowLeft: event => event.shiftKey ? stepMoment(-1) : step(-1),
  Home: () => stepTo(0),
  End: () => stepTo(model().size - 1),
  PageDown: () => pan(0.8),
  PageUp: () => pan(-0.8),
  Enter: () => showLastMoment(),
};

const links = { ArrowDown: 1, ArrowUp: -1 };
/** The links are a group of radio buttons, in which all four arrows choose. */
const inLinks = { ...links, ArrowRight: 1, ArrowLeft: -1 };

function actionOf(event) {
  const { activeElement } = document;
  const isOnBoard = activeElement === byId('board') || activeElement === document.body;
  if (activeElement?.matches('.linkrow') && inLinks[event.key]) {
    return () => stepLink(inLinks[event.key], true);
  }
  if (isOnBoard && links[event.key]) return () => stepLink(links[event.key], false);
  return isOnBoard && onBoard[event.key] || everywhere[event.key];
}

function press(event) {
  if (!state.models.length || document.querySelector('dialog[open]')) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === byId('search')) {
    pressInSearch(event);
    return;
  }
  if (event.target.matches?.('input, select, textarea')) return;
  const action = actionOf(event);
  if (!action) return;
  event.preventDefault();
  action(event);
}

function pressInSearch(event) {
  if (event.key === 'Enter') stepMatch(event.shiftKey ? -1 : 1);
  if (event.key !== 'Escape') return;
  clearSearch();
  byId('board').focus();
}

async function copyLink() {
  remember();
  const button = byId('copy');
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'In address';
  }
  setTimeout(() => {
    button.textContent = 'Copy link';
  }, 1500);
}

/** Reacts to keys and to the buttons above the picture. */
export function startKeys() {
  document.addEventListener('keydown', press);
  const click = (name, action) => byId(name).addEventListener('click', action);
  click('in', () => zoom(0.5));
  click('out', () => zoom(2));
  click('fit', () => showAll());
  click('copy', copyLink);
  click('help', () => byId('keys').showModal());
  for (const button of document.querySelectorAll('[data-close]')) {
    button.addEventListener('click', () => button.closest('dialog').close());
  }
}
