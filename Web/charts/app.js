// The page: what the host sends, and the sections of an answer.

import { byId, make } from '../shared/elements.js';
import { momentText } from '../dashboard/dates.js';
import { nameText } from '../dashboard/names.js';
import { forgetCharts, startTips } from '../dashboard/slider.js';
import { answersOf, daysText, objectOf, textOf } from './answer.js';
import { connect, useTheme } from './host.js';
import { measuresOf } from './measures.js';
import { absentText, eventSection, measureSection, plainSection } from './section.js';

/** The most sections. An answer by source may have many. */
const mostSections = 40;

function show(state, message = '') {
  document.body.dataset.state = state;
  byId('message').textContent = message;
}

function showResult(result) {
  const object = objectOf(result);
  forgetCharts();
  byId('cards').replaceChildren();
  byId('fresh').textContent = '';
  if (!object) {
    show('failed', textOf(result) || 'The answer has nothing that can be drawn.');
    return;
  }
  let answers = [];
  try {
    answers = answersOf(object);
    if (answers.length) lay(object, answers);
  } catch {
    show('failed', 'The answer cannot be drawn.');
    return;
  }
  if (answers.length) show('ready', warningOf(object));
  else show('failed', object.message ?? object.error_message ?? 'There is no answer.');
}

/** Returns what a person should know about the answer as a whole. */
function warningOf(object) {
  const cut = [object, ...(object.results ?? []).map(one => one.data ?? {})]
    .some(one => one.truncated);
  return [
    object.clock_warning, cut ? 'Not all of the answer fits: its end is left out.' : '',
  ].filter(Boolean).join(' ');
}

function lay(object, answers) {
  const span = daysText(object);
  byId('title').textContent = span ? `Health data, ${span}` : 'Health data';
  byId('fresh').textContent = freshText(object);
  const sections = answers.flatMap(sectionsOf);
  byId('cards').replaceChildren(...sections.slice(0, mostSections));
  if (sections.length > mostSections) {
    byId('cards').append(plainSection('More',
      `${sections.length - mostSections} more are in the text of the answer.`));
  }
  redraw();
}

function freshText({ time_zone: zone, last_import: imported, source, as_of: asOf }) {
  return [
    source === 'synced' && asOf ? `Synced data of ${momentText(asOf)}.` : '',
    imported ? `Imported ${momentText(imported)}.` : '', zone ? `Time zone ${zone}.` : '',
  ].filter(Boolean).join(' ');
}

function sectionsOf({ valueType, error, data, points }) {
  const name = nameText(valueType);
  if (error) return [plainSection(name, error, true)];
  // Without points, the notes are for the assistant.
  if (!points.length) return [plainSection(name, absentText(data))];
  const sections = drawn(data, points);
  const notes = (data.notes ?? []).map(note => make('p', { class: 'note' }, note));
  sections.at(-1)?.querySelector('.body').append(...notes);
  return sections;
}

function drawn(data, points) {
  const measures = measuresOf(points, Boolean(data.group_by));
  const measured = new Set(measures.flatMap(measure => measure.points));
  const events = points.filter(point => !measured.has(point));
  const types = [...new Set(events.map(point => point.type))];
  return [
    ...measures.map(measure => measureSection(measure, data)),
    ...types.map(type => eventSection(nameText(type), events.filter(one => one.type === type))),
  ];
}

/** Draws all charts again. All widths are read before the first chart is drawn. */
function redraw() {
  forgetCharts();
  const draws = [...byId('cards').children].map(section => section.redraw?.());
  for (const draw of draws) draw?.();
}

function startResizing() {
  let width = 0;
  new ResizeObserver(() => {
    const now = byId('cards').clientWidth;
    if (now === 0 || Math.abs(now - width) < 1) return;
    width = now;
    redraw();
  }).observe(byId('cards'));
}

function useContext({ theme, safeAreaInsets: insets }) {
  useTheme(theme);
  for (const side of ['top', 'right', 'bottom', 'left']) {
    if (insets?.[side] > 0) document.body.style[`margin-${side}`] = `${insets[side]}px`;
  }
}

startTips();
startResizing();
const isShown = connect({
  context: useContext,
  input: () => show('loading', 'Reading health data…'),
  result: showResult,
  cancelled: () => show('cancelled', 'The question was cancelled.'),
});
if (!isShown) show('alone', 'This page is shown by an assistant, which sends it an answer.');
