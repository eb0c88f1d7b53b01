// Days of the calendar as numbers of days since 1970, and their words.

const length = 86400000;

const months = [
  'Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec',
];
const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** Returns the number of a day such as `2026-01-31`; `NaN` for another text. */
export const dayNumber = text => Date.parse(`${text}T00:00:00Z`) / length;

/** Returns the text of a day, such as `2026-01-31`. */
export const dayText = day => new Date(day * length).toISOString().slice(0, 10);

/** Returns the year, the month from 0, the day of the month and the weekday from 0 for Sunday. */
function partsOf(day) {
  const date = new Date(day * length);
  return {
    year: date.getUTCFullYear(), month: date.getUTCMonth(), date: date.getUTCDate(),
    weekday: date.getUTCDay(),
  };
}

/** Returns the number of the first day of a month. The month may be beyond its year. */
const firstOfMonth = (year, month) => Date.UTC(year, month, 1) / length;

/** Returns a day in words: `14 Oct`. */
function shortDay(day) {
  const { month, date } = partsOf(day);
  return `${date} ${months[month]}`;
}

/** Returns a day in words: `14 Oct 2026`. */
export const plainDay = day => `${shortDay(day)} ${partsOf(day).year}`;

/** Returns a day in words: `Wed 14 Oct 2026`. */
export const longDay = day => `${weekdays[partsOf(day).weekday]} ${plainDay(day)}`;

/** Returns a weekday and a date: `Wed 14`. */
function weekdayText(day) {
  const { weekday, date } = partsOf(day);
  return `${weekdays[weekday]} ${date}`;
}

/** Returns the name of a month: `Oct`. */
const monthText = day => months[partsOf(day).month];

/** Returns the days of an interval in words: `15 Sep to 14 Oct 2026`. */
export function rangeText(from, to) {
  if (from === to) return plainDay(from);
  const isOneYear = partsOf(from).year === partsOf(to).year;
  return `${isOneYear ? shortDay(from) : plainDay(from)} to ${plainDay(to)}`;
}

/** Returns the day in a local time such as `2026-10-14T09:12:00+02:00`. */
export const dayOf = time => dayNumber(time.slice(0, 10));

/** Returns a local time in words: `14 Oct 2026, 09:12`. */
export const momentText = time => `${plainDay(dayOf(time))}, ${time.slice(11, 16)}`;

const words = [
  'no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven',
  'twelve',
];

/** Returns the time between two instants in words: `six weeks ago`. */
export function agoText(time, now) {
  const seconds = (Date.parse(now) - Date.parse(time)) / 1000;
  if (seconds < -90) return 'in the future';
  if (seconds < 90) return 'just now';
  const units = [
    ['minute', 60, 90 * 60], ['hour', 3600, 36 * 3600], ['day', 86400, 14 * 86400],
    ['week', 7 * 86400, 70 * 86400], ['month', 30.44 * 86400, 730 * 86400],
    ['year', 365.25 * 86400, Infinity],
  ];
  const [name, size] = units.find(unit => seconds < unit[2]);
  const many = Math.round(seconds / size);
  return `${words[many] ?? many} ${name}${many === 1 ? '' : 's'} ago`;
}

/** Returns the span of a column of a chart that covers a number of days. */
const grainOf = days => days <= 400 ? 'day' : days <= 1200 ? 'week' : 'month';

/** Returns the first and the last day of each column of an interval. */
export function columnsOf(from, to) {
  const grain = grainOf(to - from + 1);
  const columns = [];
  for (let day = from; day <= to;) {
    const next = Math.min(to + 1, nextColumn(day, grain));
    columns.push({ from: day, to: next - 1, grain });
    day = next;
  }
  return columns;
}

function nextColumn(day, grain) {
  if (grain === 'day') return day + 1;
  const { year, month, weekday } = partsOf(day);
  // A week begins on Monday.
  return grain === 'week' ? day + 7 - (weekday + 6) % 7 : firstOfMonth(year, month + 1);
}

/** Returns the days of a column in words. */
export function columnText({ from, to, grain }) {
  if (grain === 'day') return longDay(from);
  if (grain === 'week') return `Week of ${plainDay(from)}`;
  const { year } = partsOf(from);
  const isWhole = partsOf(from).date === 1 && partsOf(to + 1).date === 1;
  return isWhole ? `${monthText(from)} ${year}` : rangeText(from, to);
}

const monthOrYear = day => partsOf(day).month === 0 ? `${partsOf(day).year}` : monthText(day);

/** Returns the label after a day that is every so many days from a Monday in 1970. */
const everyDays = every => day => day + every - ((day - 4) % every + every) % every;

/** Returns the label after a day that is every so many months. */
const everyMonths = every => day => {
  const { year, month } = partsOf(day);
  const months = year * 12 + month;
  return firstOfMonth(1970, months - months % every + every - 1970 * 12);
};

/** The steps of labels on an axis: the days between two of them, the next one, and its text. */
const labels = [
  ...[1, 2, 7, 14].map(days => ({ days, next: everyDays(days), text: shortDay })),
  ...[1, 2, 3, 6].map(months => ({
    days: 30 * months, next: everyMonths(months), text: monthOrYear,
  })),
  ...[1, 2, 5, 10].map(years => ({
    days: 365 * years, next: everyMonths(12 * years), text: day => `${partsOf(day).year}`,
  })),
];

/** Returns the days with labels on an axis that is `width` pixels wide. */
export function dateLabels(from, to, width) {
  const days = to - from + 1;
  if (days <= 10 && width / days >= 44) {
    return Array.from({ length: days }, (_, place) => ({
      day: from + place, text: weekdayText(from + place),
    }));
  }
  const wanted = labels.find(step => step.days * width / days >= 52) ?? labels.at(-1);
  const found = [];
  for (let day = wanted.next(from - 1); day <= to; day = wanted.next(day)) {
    found.push({ day, text: wanted.text(day) });
  }
  return found.length ? found : [{ day: from, text: plainDay(from) }];
}
