// The answers of the tools, in one form.

import { dayOf, plainDay, rangeText } from '../dashboard/dates.js';

const hour = 3600000;

/** Returns a local time as milliseconds. Its offset changes nothing about what a clock shows. */
export const wallTime = text =>
  Date.parse(`${text.length > 10 ? text.slice(0, 19) : `${text}T00:00:00`}Z`);

const textsIn = content => (Array.isArray(content) ? content : [])
  .filter(part => part?.type === 'text').map(part => String(part.text));

/** Returns the text of a tool's result. */
export const textOf = ({ content }) => textsIn(content).join(' ').trim();

/** Returns the object of a tool's result; `null` if it has none. */
export function objectOf({ structuredContent, content }) {
  if (structuredContent && typeof structuredContent === 'object') return structuredContent;
  for (const text of textsIn(content)) {
    try {
      const found = JSON.parse(text);
      if (found && typeof found === 'object') return found;
    } catch {
      // A text for people.
    }
  }
  return null;
}

/**
 * Returns the answers in an object: one for each metric of a summary, else one. Each has its
 * `valueType`, and either `error` or `data` and `points`.
 */
export function answersOf(object) {
  if (Array.isArray(object.results)) {
    return object.results.map(({ value_type: valueType, success, data, ...rest }) =>
      success && data ? answerOf(valueType, data)
        : { valueType, error: rest.error_message ?? rest.message ?? rest.error ?? 'No answer.' });
  }
  if (!pointsIn(object)) return [];
  return [answerOf(object.value_type, object)];
}

const pointsIn = data => data.healthData ?? data.health_data ?? data.rows;

function answerOf(valueType, data) {
  const listed = data.healthData ?? data.health_data;
  const points = listed ? listed.map(flat) : rowsOf(data);
  return { valueType: String(valueType), data, points: points.map(point => timed(point, data)) };
}

/** Returns the members of a point, and those of its value and of its sleep, as one object. */
function flat({ value, sleep, ...point }) {
  const inner = value !== null && typeof value === 'object' ? value : { value };
  return { ...point, ...inner, ...sleep };
}

function rowsOf({ common = {}, columns = [], rows = [], partial_rows: partial = [] }) {
  const isPartial = new Set(partial);
  return rows.map((row, index) => ({
    ...common, ...Object.fromEntries(columns.map((name, place) => [name, row[place]])),
    ...isPartial.has(index) ? { partial: true } : {},
  }));
}

function timed(point, data) {
  const from = point.date_from ?? point.date ?? data.start_time;
  return { ...point, from, to: point.date_to ?? null };
}

/** Returns the first and the last hour of an answer, from 1970. It ends at its own time. */
export function boundsOf(data) {
  const ends = [data.next_start_time ?? data.end_time];
  if (data.answered_at) ends.push(data.answered_at);
  const to = Math.min(...ends.map(wallTime));
  return {
    from: Math.floor(wallTime(data.start_time) / hour), to: Math.ceil(to / hour) - 1,
  };
}

/** Returns the days of an object in words; an empty text if it has none. */
export function daysText({ start_time: start, end_time: end }) {
  if (!start || !end) return '';
  const from = dayOf(start);
  const to = Math.floor((wallTime(end) - 1) / 24 / hour);
  return from <= to ? rangeText(from, to) : plainDay(from);
}
