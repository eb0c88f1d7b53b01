// The page on which policies are tried out with a fleet.

import { byId } from '../shared/elements.js';
import { spanText } from '../shared/words.js';
import { settingsOfAddress, showAddress, viewOfAddress } from './address.js';
import { drawCharts, startCharts } from './charts.js';
import { Engine } from './engine.js';
import { startHand } from './handview.js';
import { showKnobs, startKnobs } from './knobs.js';
import { firstQuestion, showQuestion, startQuestions } from './questions.js';
import { Runs, figuresOf, shownOf } from './runs.js';
import { commandOf, learn, usual } from './settings.js';
import { showFigures, showLegend, showStory } from './story.js';
import { startThemeButton } from '../shared/theme.js';
import { showValues } from './values.js';

const packed = byId('engine').textContent.trim();
const runs = new Runs(new Engine(packed), new Engine(packed), show);
let current = null;
let hand = null;

const view = () => document.body.dataset.view;

function change(settings, isMoving = false) {
  showSettings(settings);
  play(isMoving);
}

/** Plays the present settings in the view that is shown. */
function play(isMoving = false) {
  if (view() === 'link') hand.use(current);
  else runs.play(current, isMoving);
}

function showSettings(settings) {
  current = settings;
  showKnobs(settings);
  showValues(settings, write => change(write(current)));
  showQuestion(settings);
  showAddress(settings, view());
  byId('command').textContent = commandOf(settings);
  byId('copy').textContent = 'Copy';
}

function showView(name) {
  document.body.dataset.view = name;
  for (const button of byId('views').children) {
    button.setAttribute('aria-pressed', button.dataset.view === name);
  }
}

function startViews() {
  for (const button of byId('views').children) {
    button.addEventListener('click', () => {
      showView(button.dataset.view);
      showAddress(current, view());
      play();
    });
  }
}

function ask({ shown, kept }) {
  showSettings(shown);
  runs.compare(shown, kept);
}

function showProblem({ problems }) {
  const problem = byId('problem');
  problem.hidden = !problems;
  if (problems) problem.textContent = problems.join('; ');
}

function progressOf(run, shown) {
  const many = shown.played.toLocaleString('en');
  const all = shown.clients.toLocaleString('en');
  if (run.isWhole) return `${many} phones, played in ${spanText(shown.took / 1000)}.`;
  if (run.problems) return '';
  return `${many} phones so far, and figures for ${all}; all of them are being played …`;
}

function stateOf(run) {
  if (run.problems) return 'problem';
  return run.isWhole && (runs.kept?.isWhole ?? true) ? 'whole' : 'quick';
}

/** Shows the newest results. */
function show() {
  const run = runs.present;
  if (!run) return;
  const isKept = runs.kept && runs.kept.settings !== run.settings;
  byId('keep').disabled = !run.result || runs.kept === run;
  byId('forget').hidden = !runs.kept;
  showProblem(run);
  const latest = shownOf(run);
  document.body.dataset.state = stateOf(run);
  if (!latest) return;
  const shown = figuresOf(latest);
  const kept = isKept ? figuresOf(runs.kept) : null;
  showStory(shown, kept);
  showLegend(shown, kept);
  showFigures(shown, kept);
  drawCharts(shown, kept);
  byId('progress').textContent = progressOf(run, shown);
}

function startButtons() {
  byId('keep').addEventListener('click', () => runs.keep());
  byId('forget').addEventListener('click', () => runs.forget());
  byId('copy').addEventListener('click', async () => {
    const command = byId('command');
    getSelection().selectAllChildren(command);
    // A page from a disk may have no clipboard.
    const isCopied = await navigator.clipboard?.writeText(command.textContent)
      .then(() => true, () => false);
    byId('copy').textContent = isCopied ? 'Copied' : 'Selected: press Ctrl-C';
  });
}

async function start() {
  startThemeButton();
  if (typeof DecompressionStream === 'undefined') {
    throw new Error('this browser has no DecompressionStream');
  }
  learn(await runs.engines.quick.ask(['policies']));
  startKnobs(change);
  startQuestions(ask);
  startCharts(show);
  startButtons();
  startViews();
  hand = startHand(runs.engines.quick);
  showView(viewOfAddress());
  const settings = settingsOfAddress();
  if (settings || view() === 'link') change(settings ?? usual);
  else ask(firstQuestion);
}

start().catch(error => {
  document.body.dataset.state = 'problem';
  showProblem({ problems: [`The engine cannot be started: ${error.message}.`] });
});

/** The parts of the page that tests drive. */
window.playground = { runs, change, hand: () => hand };
