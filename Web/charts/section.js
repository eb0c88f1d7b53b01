// The section of one measure of an answer: its number, its chart and its table.

import { make } from '../shared/elements.js';
import { chart, hasTrend } from '../dashboard/chart.js';
import { dayOf, momentText, plainDay } from '../dashboard/dates.js';
import { countText, hoursText, numberText } from '../dashboard/figures.js';
import { stages } from '../dashboard/kinds.js';
import { nameText } from '../dashboard/names.js';
import { gapsOf } from '../dashboard/series.js';
import { slider } from '../dashboard/slider.js';
import { numbers, table } from '../dashboard/table.js';
import { seriesIn } from './columns.js';
import { amountText, drawingOf, statisticText, withUnit } from './measures.js';

const isNumber = value => typeof value === 'number' && Number.isFinite(value);

const section = (name, color, ...body) => make('section', { 'aria-label': name },
  make('div', { class: 'head' }, make('h2', { class: color }, name)),
  make('div', { class: 'body' }, ...body));

/** Returns the section of a metric that has no answer, or no data. */
export function plainSection(name, text, isProblem = false) {
  return section(name, 'plain', make('p', { class: isProblem ? 'none problem' : 'none' }, text));
}

/** Returns the section of a measure. Its `redraw` draws its chart in the width that it has. */
export function measureSection(measure, data) {
  const kind = drawingOf(measure);
  const series = seriesIn(measure, kind, data);
  const title = measure.name;
  const notes = trendNotes(measure, kind, data);
  if (!series || !series.present) {
    const listed = measure.points.filter(point => isNumber(point[measure.member]));
    return listed.length === 1 ? section(title, kind.color, ...oneNumber(measure, kind), ...notes)
      : section(title, kind.color, pointTable(measure, kind), ...notes);
  }
  const plot = make('div', { class: 'plot' });
  const { head, caption } = kind.isEffort ? efforts(measure, kind)
    : headline(measure, kind, series, data);
  const made = section(title, kind.color,
    make('p', { class: 'big' }, head, ' ', make('small', {}, caption)),
    plot, legend(kind, series), ...notes,
    numbers(`${title}, numbers`, ...columnTable(measure, kind, series)));
  made.classList.toggle('long', series.columns.length > 60);
  made.redraw = () => {
    const width = plot.clientWidth;
    return () => drawPlot(plot, width, kind, series);
  };
  return made;
}

function drawPlot(plot, room, kind, series) {
  const width = Math.max(200, Math.floor(room));
  const drawn = chart(kind, series, { width, height: width < 420 ? 180 : 210 });
  const last = series.columns.findLastIndex(column => column.days > 0);
  const words = place => wordsOf(kind, series.columns[place]);
  plot.replaceChildren(drawn.picture, slider(`${kind.name}, ${kind.axis}`, drawn, words, last));
}

// Words.

const nouns = { hour: 'hour', day: 'day', week: 'week', month: 'month', year: 'year' };

function headline({ points }, kind, { columns, finished, mean }, data) {
  const grain = data.group_by;
  if (!nouns[grain] || !isNumber(mean)) {
    const all = columns.filter(column => column.days);
    const best = all.reduce((one, other) => other.value > one.value ? other : one);
    const word = nouns[grain] ? 'only a part of' : kind.isSum ? 'the most:' : 'the highest:';
    return { head: kind.text(best.value), caption: `${kind.unit}, ${word} ${best.text}`
      .replace(/^, /, '') };
  }
  const noun = kind.hasStages && grain === 'day' ? 'night' : nouns[grain];
  const isSum = kind.isSum && points[0].statistic !== 'average_per_night';
  const each = isSum ? ` ${noun === 'hour' ? 'an' : 'a'} ${noun}` : '';
  const many = finished.length;
  const of = many > 1 ? `${each}, mean of the ${countText(many, noun)} with data`
    : `, ${finished[0].text}`;
  return { head: kind.text(mean), caption: `${kind.unit}${of}`.trim().replace(/^, /, '') };
}

/** Returns the sum of what was done now and then. */
function efforts({ member, points }, kind) {
  const sum = name => points.reduce((all, point) => all + (point[name] ?? 0), 0);
  const many = sum('session_count');
  const total = amountText(kind, sum(member));
  return member === 'session_count' || !many ? { head: total, caption: 'in all' }
    : { head: total, caption: `in ${countText(many, 'workout')}` };
}

function amount(kind, value) {
  return `${kind.text(value)} ${kind.unit}`.trim();
}

function wordsOf(kind, column) {
  const { text: head, days, value, low, high, parts, point, from, to } = column;
  if (!days) return { head, text: 'no data' };
  const words = [amount(kind, value)];
  if (parts) words.push(stageText(parts));
  if (!point && to > from) {
    words.push(`on average, ${countText(days, 'day')} of ${numberText(to - from + 1)} with data`);
    if (!kind.isSum && high > low) words.push(`${kind.text(low)} to ${kind.text(high)}`);
  }
  if (point) words.push(...beforeTexts(kind, point));
  if (column.isOpen) words.push('only a part of this span');
  return { head, text: words.filter(Boolean).join(', ') };
}

const stageText = parts => stages.filter(([name]) => parts[name] > 0.005)
  .map(([name, words]) => `${words} ${hoursText(parts[name])}`).join(', ');

const signOf = change => change > 0 ? '+' : change < 0 ? '−' : '±';

function beforeTexts(kind, { previous, change, change_percent: percent }) {
  if (previous === undefined) return [];
  if (!isNumber(previous)) return ['before: no data'];
  const sign = signOf(change);
  const size = isNumber(change)
    ? ` (${sign}${kind.text(Math.abs(change) * kind.factor)}`
      + `${isNumber(percent) ? `, ${sign}${numberText(Math.abs(percent), 1)} %` : ''})` : '';
  return [`before: ${amountText(kind, previous)}${size}`];
}

function oneNumber({ member, points }, kind) {
  const point = points.find(one => isNumber(one[member]));
  const latest = point.statistic === 'latest' ? `latest, ${momentText(point.from)}`
    : statisticText(point.statistic);
  const stagesOf = kind.hasStages ? ['in_bed', 'awake', 'light', 'deep', 'rem']
    .filter(name => isNumber(point[name]))
    .map(name => `${statisticText(name)} ${hoursText(point[name] / 60)}`).join(', ') : '';
  return [
    make('p', { class: 'big' }, kind.text(point[member] * kind.factor), ' ',
      make('small', {}, [kind.unit, latest].filter(Boolean).join(', '))),
    ...[stagesOf, ...beforeTexts(kind, point), ...effortTexts(point, member),
      point.partial ? 'only a part of this span' : ''].filter(Boolean)
      .map(text => make('p', { class: 'note' }, text)),
  ];
}

function effortTexts(point, member) {
  if (point.type !== 'WORKOUT' || member === 'value') return [];
  return effortHeads.filter(([name]) => name !== member && isNumber(point[name]))
    .map(([name, head, unit]) => `${head.toLowerCase()}: ${withUnit(point[name], unit)}`);
}

/** Returns the trend of the number that is drawn. Other numbers of the points have their own. */
function trendNotes({ member, points }, kind, { trend }) {
  const [{ type, source_id: source, workout_type: workout, statistic }] = points;
  return (Array.isArray(trend) ? trend : [])
    .filter(one => one.type === type && one.source_id === source
      && (one.workout_type ?? workout) === workout && (one.number ?? 'value') === member
      && isNumber(one.slope_per_week))
    .map(one => make('p', { class: 'note' }, trendText(kind, one, statistic)));
}

/** The slope is always that of a week. The trend of sums of months and years is that of a day. */
function trendText(kind, trend, ofPoints) {
  const { statistic = '', slope_per_week: slope, change_over_span: change } = trend;
  const signed = number => `${signOf(number)}${amountText(kind, Math.abs(number))}`;
  const isOfDays = statistic.endsWith('per_day') && statistic !== ofPoints;
  const what = isOfDays ? 'Trend of an average day' : 'Trend';
  const whole = isNumber(change) ? `, ${signed(change)} from the first to the last` : '';
  return `${what}: ${signed(slope)} a week${whole}`;
}

function legend(kind, series) {
  const { columns } = series;
  const items = [];
  const item = (name, words) => items.push(
    make('li', {}, make('i', { class: name, 'aria-hidden': 'true' }), words));
  if (kind.form === 'stack') {
    for (const [name, words] of stages) {
      if (columns.some(column => column.parts?.[name] > 0.005)) item(name, words);
    }
  }
  if (hasTrend(kind, columns)) item('week stroke', 'mean of seven days');
  if (series.finished.length > 1 && isNumber(series.mean)) item('mean stroke', 'mean');
  if (columns.some(column => column.isOpen && column.days)) item('open', 'only a part of the span');
  const noun = series.isUnited ? 'day' : nouns[columns[0].grain] ?? 'part';
  if (series.before) item('hole', `no data before ${series.before}`);
  if (gapsOf(columns, kind).length) item('hole', `no data: ${countText(series.missing, noun)}`);
  return make('ul', { class: 'legend' }, ...items);
}

// Tables.

const sleep = [
  ['in_bed', 'In bed'], ['awake', 'Awake'], ['light', 'Core'], ['deep', 'Deep'], ['rem', 'REM'],
];
const effortHeads = [
  ['session_count', 'Workouts', 'count'], ['total_distance', 'Distance', 'meter'],
  ['total_energy_burned', 'Energy', 'kilocalorie'], ['total_steps', 'Steps', 'count'],
  ['average_heart_rate', 'Heart rate', 'beatsPerMinute'],
];

/** Returns the further columns of a table: their heads, and the functions that return the cells. */
function extras({ member, points }, kind) {
  const has = name => points.some(point => isNumber(point[name]));
  const found = [];
  if (kind.hasStages) {
    found.push(...sleep.filter(([name]) => has(name)).map(([name, head]) =>
      [head, point => isNumber(point[name]) ? hoursText(point[name] / 60) : null]));
  }
  if (points[0].type === 'WORKOUT' && member !== 'value') {
    found.push(...effortHeads.filter(([name]) => name !== member && has(name))
      .map(([name, head, unit]) =>
        [head, point => isNumber(point[name]) ? withUnit(point[name], unit) : null]));
  }
  if (points.some(point => point.previous !== undefined)) {
    found.push(['Before', point => isNumber(point.previous) ? amountText(kind, point.previous)
      : null], ['Change', point => isNumber(point.change) ? (point.change > 0 ? '+' : '')
      + withUnit(point.change * kind.factor, kind.isHours ? 'h' : '') : null]);
  }
  return found;
}

const heads = { hour: 'Hour', day: 'Day', week: 'Week', month: 'Month', year: 'Year' };

function columnTable(measure, kind, { columns }) {
  const more = columns.some(column => column.point) ? extras(measure, kind) : [];
  const unit = kind.unit && kind.unit !== kind.name.toLowerCase() ? ` (${kind.unit})` : '';
  return [
    [heads[columns[0].grain] ?? 'Part', `${kind.hasStages ? 'Asleep' : kind.name}${unit}`,
      ...more.map(([head]) => head)],
    () => columns.filter(column => column.days || !kind.isSparse).map(column => [
      `${column.text}${column.isOpen ? ' (part)' : ''}`,
      column.days ? kind.text(column.value) : 'no data',
      ...more.map(([, cell]) => column.point ? cell(column.point) : null),
    ]),
  ];
}

/** Returns a table of points by themselves: single samples, or what no chart has room for. */
function pointTable(measure, kind) {
  const { member, points } = measure;
  const more = extras(measure, kind);
  return table(measure.name,
    ['From', kind.unit ? `${measure.name} (${kind.unit})` : measure.name,
      ...more.map(([head]) => head), 'Source'],
    points.map(point => [
      `${momentText(point.from)}${point.partial ? ' (part)' : ''}`,
      isNumber(point[member]) ? kind.text(point[member] * kind.factor) : null,
      ...more.map(([, cell]) => cell(point)), point.source_id ?? null,
    ]), [2 + more.length]);
}

/** Returns the section of points whose values are words. */
export function eventSection(name, points) {
  return section(name, 'plain', table(name, ['From', 'To', 'Value', 'Source'],
    points.map(point => [
      momentText(point.from), point.to && point.to !== point.from ? momentText(point.to) : null,
      point.value === undefined || point.value === null ? null : nameText(point.value),
      point.source_id ?? null,
    ]), [2, 3]));
}

/** Returns the words about a metric without points. */
export function absentText({ last_samples: last }) {
  const found = (Array.isArray(last) ? last : []).map(({ at }) => at).filter(Boolean).sort().at(-1);
  return found ? `No data in this time. The last is of ${plainDay(dayOf(found))}.`
    : 'No data in this time.';
}
