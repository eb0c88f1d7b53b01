// The columns of a chart of an answer.

import { columnText, dayNumber, dayOf, dayText, plainDay } from '../dashboard/dates.js';
import { meanOf } from '../dashboard/figures.js';
import { nameText } from '../dashboard/names.js';
import { seriesOf } from '../dashboard/series.js';
import { boundsOf, wallTime } from './answer.js';

/** The most columns of a chart. */
const most = 4000;
/** The most days of which each has its own column. */
const manyDays = 400;

const weekdays = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'];
const parts = {
  weekday: weekdays, weekpart: ['WEEKDAYS', 'WEEKEND'],
  hour_of_day: Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0')),
};
const partTexts = { WEEKDAYS: 'Monday to Friday', WEEKEND: 'Weekend' };

/** Returns the words of a part of all days: `Monday`, `06:00 to 07:00`. */
function partText(part) {
  if (!/^\d\d$/.test(part)) return partTexts[part] ?? nameText(part);
  return `${part}:00 to ${String((Number(part) + 1) % 24).padStart(2, '0')}:00`;
}

/** Returns the first day after a span that contains a day. */
const nextOf = {
  day: day => day + 1,
  week: day => day + 7 - (day + 3) % 7,
  month: day => {
    const [year, month] = dayText(day).split('-').map(Number);
    return Date.UTC(year, month, 1) / 86400000;
  },
  year: day => dayNumber(`${Number(dayText(day).slice(0, 4)) + 1}-01-01`),
};

/** Returns the words of a span that are not those of its days. */
const spanWords = {
  month: day => plainDay(day).split(' ').slice(1).join(' '), year: day => dayText(day).slice(0, 4),
};

/** Returns the first day of a span that contains a day. Points of a part name it too. */
const firstOf = {
  day: day => day,
  week: day => day - (day + 3) % 7,
  month: day => dayNumber(`${dayText(day).slice(0, 7)}-01`),
  year: day => dayNumber(`${dayText(day).slice(0, 4)}-01-01`),
};

function spans(grain, { from, to }) {
  const found = [];
  if (grain === 'hour') {
    for (let hour = from; hour <= to && found.length <= most; hour++) found.push(hourSpan(hour));
    return found;
  }
  const last = Math.floor(to / 24);
  for (let day = firstOf[grain](Math.floor(from / 24)); day <= last && found.length <= most;) {
    const next = nextOf[grain](day);
    const span = { from: day, to: Math.min(next - 1, last), grain };
    found.push({ ...span, text: spanWords[grain]?.(day) ?? columnText(span) });
    day = next;
  }
  return found;
}

function hourSpan(hour) {
  const day = Math.floor(hour / 24);
  const time = hour % 24;
  return { from: hour, to: hour, grain: 'hour', day, time,
    text: `${plainDay(day)}, ${partText(String(time).padStart(2, '0'))}` };
}

/** Returns the place of a point among the columns. */
function placeOf(grain, columns) {
  if (parts[grain]) return point => parts[grain].indexOf(point.group);
  const places = new Map();
  columns.forEach(({ from, to }, place) => {
    for (let at = from; at <= to; at++) places.set(at, place);
  });
  return grain === 'hour' ? point => places.get(Math.floor(wallTime(point.from) / 3600000)) ?? -1
    : point => places.get(dayOf(point.from)) ?? -1;
}

function valueOf(point, member, kind) {
  const raw = point[member];
  if (typeof raw !== 'number' || !Number.isFinite(raw)) return { days: 0 };
  const value = raw * kind.factor;
  const found = {
    days: 1, value, low: value, high: value, isOpen: point.partial === true, point,
  };
  if (!kind.hasStages) return found;
  const [deep, core, rem, awake] = [point.deep, point.light, point.rem, point.awake]
    .map(minutes => (minutes ?? 0) / 60);
  const stages = { deep, core, rem, awake, asleep: Math.max(0, value - deep - core - rem) };
  return {
    ...found, low: 0, high: value + awake, stacked: value + awake, parts: stages,
  };
}

/**
 * Returns the series of a measure as the charts of the dashboard draw it; `null` if there is one
 * number, if the points are single samples, and if there are too many spans.
 */
export function seriesIn({ member, points }, kind, data) {
  const grain = data.group_by;
  if (!parts[grain] && !nextOf[grain] && grain !== 'hour') return null;
  const columns = parts[grain]
    ? parts[grain].map(part => ({ from: 0, to: 0, grain, text: partText(part), part }))
    : spans(grain, boundsOf(data));
  if (columns.length < 2 || columns.length > most) return null;
  const place = placeOf(grain, columns);
  const filled = columns.map(column => ({ ...column, days: 0 }));
  for (const point of points) {
    const column = filled[place(point)];
    if (column) Object.assign(column, added(column, valueOf(point, member, kind), kind));
  }
  const { shown, before } = begun(filled, parts[grain]);
  const series = grain === 'day' && shown.length > manyDays ? united(shown) : whole(shown, grain);
  return { ...series, before, ...kind.isEffort ? { mean: NaN } : {} };
}

/** Adds a value to that of its column: an hour is there twice when the clocks go back. */
function added(column, found, { isSum }) {
  if (!column.days || !found.days || !isSum) return found;
  const sum = name => column[name] + found[name];
  return { ...found, value: sum('value'), low: sum('low'), high: sum('high') };
}

/**
 * Leaves out the columns before the first data if they are more than half: who wants all data asks
 * from an early day. `before` are the words of the first column then.
 */
function begun(columns, isPart) {
  const first = columns.findIndex(column => column.days);
  if (isPart || first <= columns.length / 2) return { shown: columns, before: '' };
  // A chart has two columns at least.
  const shown = columns.slice(Math.min(first, columns.length - 2));
  return { shown, before: shown[0].text };
}

function whole(columns, grain) {
  const present = columns.filter(column => column.days);
  const finished = present.filter(column => !column.isOpen);
  return {
    columns, present: present.length, finished, missing: columns.length - present.length,
    mean: parts[grain] ? NaN : meanOf(finished.map(column => column.value)),
    low: Math.min(...present.map(column => column.low)),
    high: Math.max(...present.map(column => column.stacked ?? column.high)),
    ...grain === 'day' ? {} : { marks: width => marksOf(columns, grain, width) },
  };
}

/** Returns the series of many days, whose columns are weeks or months. It counts days. */
function united(columns) {
  const values = new Map(columns.filter(column => column.days)
    .map(column => [column.from, column]));
  const series = seriesOf({}, values, {
    from: columns[0].from, to: columns.at(-1).to, openDay: Infinity,
  });
  for (const column of series.columns) column.text = columnText(column);
  return { ...series, isUnited: true };
}

/** The numbers of columns between two labels, and the number of a column from 1970. */
const steps = {
  hour: [1, 2, 3, 6, 12, 24, 48, 72, 168, 336, 720, 1440, 2880],
  month: [1, 2, 3, 6, 12, 24, 60, 120],
};
const orderOf = {
  hour: column => column.from,
  month: column => {
    const [year, month] = dayText(column.from).split('-').map(Number);
    return year * 12 + month - 1;
  },
};

/** Returns the labels of an axis: at the middle of their columns, and not too many. */
function marksOf(columns, grain, width) {
  const room = width / columns.length;
  const least = (grain === 'weekday' && room < 66 ? 30 : 58) / room;
  const step = steps[grain]?.find(many => many >= least) ?? Math.ceil(least);
  const found = [];
  columns.forEach((column, place) => {
    const order = orderOf[grain]?.(column) ?? place;
    if (order % step === 0) found.push({ at: place + 0.5, text: markText(column, room) });
  });
  return found;
}

function markText({ grain, from, day, time, part, text }, room) {
  if (grain === 'hour') {
    return time === 0 ? plainDay(day).slice(0, -5) : `${String(time).padStart(2, '0')}:00`;
  }
  if (grain === 'hour_of_day') return `${part}:00`;
  if (grain === 'weekday' && room < 66) return text.slice(0, 3);
  if (grain === 'week') return plainDay(from).slice(0, -5);
  if (grain === 'month' && room < 90) {
    return text.startsWith('Jan') ? text.slice(4) : text.slice(0, 3);
  }
  return text;
}
