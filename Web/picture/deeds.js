// The buttons of the lab, and the line in which a person writes.

import { byId, make } from '../shared/elements.js';
import { capitalized } from '../shared/words.js';
import { showMessages } from './message.js';
import { on, state } from './state.js';

/** The secret of the page's address, which each request repeats. */
export const labSecret = new URLSearchParams(location.search).get('lab') ?? '';

const longestText = 1000;
/** The links of the lab in the order of their traces: `{ name, title, writes }`. */
let links = [];
const buttons = new Map();
const chapter = make('p', { class: 'chapter', role: 'status' });
const follow = make('button', { type: 'button', id: 'follow', 'aria-pressed': 'true' }, 'Follow');

/**
 * Shows the buttons.
 *
 * @param {{links: object[], groups: object[]}} lab The description of the lab.
 * @param {function(boolean)} setFollow Begins or ends the following of the newest facts.
 */
export function startDeeds(lab, setFollow) {
  links = lab.links;
  follow.addEventListener('click', () => setFollow(!isPressed(follow)));
  byId('deeds').append(...lab.groups.map(group), writing(), chapter, follow);
  byId('deeds').hidden = false;
  on('link', showWriting);
}

/** Shows which deeds are in force, and which parts of the world cannot be changed now. */
export function showDeeds({ on: inForce, busy }) {
  for (const [name, { element, groupName, lasts }] of buttons) {
    if (lasts) element.setAttribute('aria-pressed', inForce.includes(name));
    element.setAttribute('aria-disabled', busy.includes(groupName));
  }
}

/** Shows whether the picture follows the newest facts. */
export function showFollow(isOn) {
  follow.setAttribute('aria-pressed', isOn);
}

/** Shows the chapter that a demo plays. */
export function showChapter({ title, say }) {
  chapter.replaceChildren(make('strong', {}, title), ` ${say}`);
}

const isPressed = button => button.getAttribute('aria-pressed') === 'true';

function group({ name, deeds }) {
  return make('div', { class: 'group', role: 'group', 'aria-label': capitalized(name) },
    make('span', { 'aria-hidden': 'true' }, capitalized(name)),
    ...deeds.map(deed => button(deed, name)));
}

function button({ name, title, say, lasts }, groupName) {
  const element = make('button', {
    type: 'button', title: say, 'data-deed': name, 'aria-pressed': lasts ? 'false' : null,
    on: { click: () => press(name, lasts, element) },
  }, title);
  buttons.set(name, { element, groupName, lasts });
  return element;
}

function press(name, lasts, element) {
  if (element.getAttribute('aria-disabled') === 'true') return;
  send(lasts ? `${name}/${isPressed(element) ? 'off' : 'on'}` : name);
}

function writing() {
  const field = make('input', { id: 'write', autocomplete: 'off', maxlength: longestText });
  const submit = async event => {
    event.preventDefault();
    const text = field.value;
    if (!text.trim()) return;
    const isSent = await send('say', text);
    if (isSent && field.value === text) field.value = '';
  };
  return make('form', { class: 'group', on: { submit } }, field,
    make('button', { type: 'submit' }, 'Send'));
}

/** The link that the person writes to. */
const chosenLink = () => links.find(one => one.name === state.models[state.chosen]?.link);

function showWriting() {
  const words = `Write ${chosenLink()?.writes ?? 'a text'}`;
  byId('write').setAttribute('placeholder', words);
  byId('write').setAttribute('aria-label', words);
}

/** Returns whether the lab accepted the request. */
async function send(path, body) {
  const headers = { 'X-Lab': labSecret, 'X-Lab-Link': chosenLink()?.name ?? links[0].name };
  try {
    const answer = await fetch(`/lab/do/${path}`, { method: 'POST', headers, body });
    if (!answer.ok) showMessages([(await answer.text()).trim()]);
    return answer.ok;
  } catch {
    showMessages(['The lab does not answer.']);
    return false;
  }
}
