// Questions to begin with: two runs each, of which one is kept for comparison.

import { byId, make } from '../shared/elements.js';
import { usual } from './settings.js';

const backoff = jitter => ({
  'retry.reconnect': `1s*2 max 30s +-${jitter} min 500ms xunlimited`,
});

/** Each question with the settings that it compares. The first is the run that is kept. */
const questions = [
  {
    title: 'Does more jitter help?',
    about: 'A crash of 60 s. The waits of each phone vary by ±25 %, and then by ±50 %.',
    kept: usual, shown: { ...usual, changes: backoff(0.5) },
  },
  {
    title: 'And without jitter?',
    about: 'The same crash. All phones wait for the same times, and so they come together.',
    kept: usual, shown: { ...usual, changes: backoff(0) },
  },
  {
    title: 'What does a deploy do?',
    about: 'The server closes with code 1012 and is back after 4 s. Returns are spread over 5 s, '
      + 'and then over 30 s.',
    kept: { ...usual, cause: 'close', outage: 4 },
    shown: { ...usual, cause: 'close', outage: 4, changes: { 'retry.serverJitter': '30s' } },
  },
  {
    title: 'Why not try every second?',
    about: 'Clients that wait 1 s for ever, beside the policy “socket”. This server refuses '
      + 'them without effort; a real one would be overrun.',
    kept: usual, shown: { ...usual, policy: 'fixed-1s' },
  },
  {
    title: 'A list of waits, then polls?',
    about: 'The policy “message-stream” tries five times and then asks for messages instead.',
    kept: usual, shown: { ...usual, policy: 'message-stream' },
  },
];

/** The question with which the page opens. */
export const firstQuestion = questions[0];

/** Adds the questions, which report their settings to a function. */
export function startQuestions(ask) {
  byId('questions').append(...questions.map(question => make('button', {
    type: 'button', on: { click: () => ask(question) },
  }, make('b', {}, question.title), make('span', {}, question.about))));
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Marks the question whose settings are shown. */
export function showQuestion(settings) {
  [...byId('questions').children].forEach((button, index) => {
    button.setAttribute('aria-pressed', same(questions[index].shown, settings));
  });
}
