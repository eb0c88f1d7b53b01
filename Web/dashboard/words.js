// Sentences about columns, and the cells of their tables.

import { columnText, plainDay } from './dates.js';
import { countText, hoursText, tenthText } from './figures.js';
import { stages } from './kinds.js';

/** Returns the words of a column: its days, and what it shows. */
export function columnWords(kind, column, facts) {
  return { head: columnText(column), text: sentence(kind, column, facts) };
}

function sentence(kind, column, facts) {
  if (column.isLoading) return 'loading…';
  if (!column.days) return otherUnit(column, facts) ?? whyMissing(column, facts);
  const isOne = column.grain === 'day';
  const whole = column.to - column.from + 1;
  const days = isOne ? '' : `, ${column.days} of ${countText(whole, 'day')} with data`;
  const open = column.isOpen ? openWords(kind) : '';
  return `${says[kind.form](kind, column, isOne)}${days}${open}`;
}

const openWords = kind => kind.form === 'stack' ? ', the night was not over when last synced'
  : ', the day was not over when last synced';

const amount = (kind, value) => `${kind.text(value)} ${kind.unit}`.trim();

const says = {
  bars: (kind, { value }, isOne) => `${amount(kind, value)}${isOne ? '' : ' a day on average'}`,
  line: (kind, { value, low, high }, isOne) => {
    const range = high > low ? `, ${kind.text(low)} to ${kind.text(high)}` : '';
    return `${amount(kind, value)}${isOne && !range ? '' : ' on average'}${range}`;
  },
  range: (kind, { value, low, high }) =>
    `${amount(kind, value)} on average, ${kind.text(low)} to ${kind.text(high)}`,
  stack: (kind, { value, parts }, isOne) => {
    const asleep = stages.slice(0, 3).filter(([name]) => parts[name] > 0.005)
      .map(([name, words]) => `${words} ${hoursText(parts[name])}`);
    const awake = parts.awake > 0.005 ? `; awake ${hoursText(parts.awake)}` : '';
    const detail = asleep.length ? `: ${asleep.join(', ')}` : '';
    return `${hoursText(value)} asleep${isOne ? '' : ' a night'}${detail}${awake}`;
  },
};

/** Returns the words of a column without data but in another unit; `null` for any other one. */
function otherUnit({ from, to }, { others }) {
  const day = [...others.keys()].find(day => day >= from && day <= to);
  return day === undefined ? null : `left out: in another unit (${others.get(day) ?? 'none'})`;
}

/** Returns why a column has no data, as far as it is known. */
function whyMissing({ from, to }, { first, newest, openDay, today }) {
  if (from > today) return 'not yet';
  if (from > newest && from > openDay) return 'no data: not synced yet';
  if (from > newest && to >= openDay) return 'no data yet: the day was not over when last synced';
  if (from > newest) return `no data: the newest that was synced is of ${plainDay(newest)}`;
  if (to < first) return `no data: the first that was synced is of ${plainDay(first)}`;
  return 'no data: nothing was recorded, or the phone did not share it';
}

/** Returns the heads of the columns of a table. */
export function tableHeads(kind, grain) {
  const days = { day: kind.form === 'stack' ? 'Night to' : 'Day', week: 'Week', month: 'Month' };
  const unit = kind.unit ? ` (${kind.unit})` : '';
  const heads = {
    bars: [`${kind.name}${kind.name.toLowerCase() === kind.unit ? '' : unit}`],
    line: [`Average${unit}`, 'Lowest', 'Highest'],
    range: [`Average${unit}`, 'Lowest', 'Highest'],
    stack: ['Asleep', 'Deep', 'Core', 'REM', 'Awake', 'In bed'],
  };
  return [days[grain], ...heads[kind.form]];
}

/** Returns the cells of the row of a column with data. */
export function tableRow(kind, column) {
  const note = column.isOpen ? ' (not over)' : '';
  const text = value => (kind.isOther ? kind.text : tenthText)(value);
  const duration = hours => hours > 0.005 ? hoursText(hours) : null;
  const cells = {
    bars: ({ value }) => [kind.text(value)],
    line: ({ value, low, high }) => [text(value), kind.text(low), kind.text(high)],
    range: ({ value, low, high }) => [text(value), kind.text(low), kind.text(high)],
    stack: ({ value, parts, inBed }) => [
      hoursText(value), ...['deep', 'core', 'rem', 'awake'].map(name => duration(parts[name])),
      duration(inBed),
    ],
  };
  return [`${columnText(column)}${note}`, ...cells[kind.form](column)];
}
