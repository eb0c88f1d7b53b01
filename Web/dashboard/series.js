// The columns of a chart, their mean, and the comparison with the period before.

import { columnsOf } from './dates.js';
import { meanOf, numberText } from './figures.js';

/**
 * Returns the series of a kind: its columns and what is known about the whole.
 *
 * A column is of one day, or the mean of the days of a week or month. Days that were not over when
 * the phone synced count in no mean. `openDay` is the first of them. Days before `knownFrom` are
 * still loaded.
 */
export function seriesOf(kind, values, { from, to, openDay, knownFrom = from }) {
  const factor = kind.factor ?? 1;
  const one = day => scaled(values.get(day), factor);
  const columns = columnsOf(from, to).map(column => ({
    ...column, ...combined(column, one, openDay), isLoading: column.to < knownFrom,
  }));
  const finished = [];
  let present = 0;
  for (let day = from; day <= to; day++) {
    const found = one(day);
    if (!found) continue;
    present++;
    if (day < openDay) finished.push(found);
  }
  const most = column => column.stacked ?? column.high ?? column.value;
  const shown = columns.filter(column => column.days > 0);
  return {
    columns, present, finished, missing: to - Math.max(from, knownFrom) + 1 - present,
    mean: meanOf(finished.map(found => found.value)),
    low: Math.min(...shown.map(column => column.low)), high: Math.max(...shown.map(most)),
  };
}

function scaled(found, factor) {
  if (!found || factor === 1) return found;
  return { value: found.value * factor, low: found.low * factor, high: found.high * factor };
}

function combined({ from, to }, one, openDay) {
  const all = [];
  const over = [];
  for (let day = from; day <= to; day++) {
    const found = one(day);
    if (!found) continue;
    all.push(found);
    if (day < openDay) over.push(found);
  }
  if (!all.length) return { days: 0 };
  // Only if no day is over, the column is that of an unfinished day.
  const used = over.length ? over : all;
  const mean = pick => meanOf(used.map(pick));
  const result = {
    days: used.length, isOpen: !over.length, value: mean(found => found.value),
    low: Math.min(...used.map(found => found.low)),
    high: Math.max(...used.map(found => found.high)),
  };
  if (used[0].parts) addParts(result, used, mean);
  return result;
}

function addParts(result, used, mean) {
  result.parts = {};
  for (const name in used[0].parts) {
    result.parts[name] = mean(found => found.parts[name] ?? 0);
  }
  const inBed = used.filter(found => found.inBed > 0);
  result.inBed = inBed.length ? meanOf(inBed.map(found => found.inBed)) : null;
  result.stacked = Object.values(result.parts).reduce((sum, part) => sum + part, 0);
}

/**
 * Returns the change of the mean against the period before: `{ sign, size, words }`; `null` if
 * there are too few days to compare with.
 */
export function comparison(kind, now, before, days) {
  const enough = Math.ceil(days / 2);
  const isSparse = kind.isSparse || kind.isOther;
  if (!now.finished.length || before.finished.length < (isSparse ? 1 : enough)) return null;
  const change = now.mean - before.mean;
  const share = change / Math.abs(before.mean);
  const than = days === 1 ? 'on the day before' : `in the ${numberText(days)} days before`;
  const same = { sign: '', size: '', words: `about the same as ${than}` };
  const word = kind.more[change > 0 ? 0 : 1];
  const sign = change > 0 ? '▲' : '▼';
  if (change === 0) return same;
  if (before.mean === 0) return { sign, size: '', words: `${word} than ${than}` };
  if (kind.isSum) {
    if (!(Math.abs(share) >= 0.015)) return same;
    return { sign, size: `${numberText(Math.abs(share) * 100)} %`, words: `${word} than ${than}` };
  }
  const size = kind.text(Math.abs(change));
  if (Math.abs(share) < 0.005 || Number(size) === 0) return same;
  return { sign, size: `${size} ${kind.short ?? kind.unit}`.trim(), words: `${word} than ${than}` };
}

/** Returns the mean of the seven days that end at each column of single days. */
export function sevenDayMeans(columns) {
  const window = [];
  return columns.map(column => {
    window.push(column);
    if (window.length > 7) window.shift();
    const used = window.filter(one => one.days > 0 && !one.isOpen);
    return used.length >= 4 ? meanOf(used.map(one => one.value)) : NaN;
  });
}

/** Returns the intervals of columns without data: `[first, last]`. */
export function gapsOf(columns, kind) {
  const gaps = [];
  columns.forEach((column, place) => {
    if (column.days > 0 || column.isLoading) return;
    if (gaps.length && gaps.at(-1)[1] === place - 1) gaps.at(-1)[1] = place;
    else gaps.push([place, place]);
  });
  if (!kind.isSparse) return gaps;
  // Of what is measured now and then, only a break that is long for the type is a gap.
  const lengths = gaps.map(([first, last]) => last - first + 1).sort((one, other) => one - other);
  const usual = columns.some(column => column.days > 0) ? lengths[lengths.length >> 1] * 3 : 0;
  return gaps.filter(([first, last]) => last - first + 1 > usual);
}
