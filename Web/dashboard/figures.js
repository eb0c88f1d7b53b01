// Numbers, their units and their axes.

const plain = [0, 1, 2].map(digits => new Intl.NumberFormat('en', {
  minimumFractionDigits: 0, maximumFractionDigits: digits,
}));
const fixed = new Intl.NumberFormat('en', {
  minimumFractionDigits: 1, maximumFractionDigits: 1,
});
// Numbers beyond sense, of which one has hundreds of digits, are written short.
const short = new Intl.NumberFormat('en', { notation: 'scientific', maximumFractionDigits: 2 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** Returns a number with at most `digits` decimals. */
export function numberText(value, digits = 0) {
  if (Math.abs(value) >= 1e15) return short.format(value);
  return plain[digits].format(value);
}

/** Returns a number with one decimal, also if it is 0. */
export const tenthText = value => Math.abs(value) >= 1e15 ? short.format(value)
  : fixed.format(value);

/** Returns a number with as many decimals as its size needs. */
export function fittingText(value) {
  const size = Math.abs(value);
  return numberText(value, size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** Returns hours in words: `7 h 05 min`. */
export function hoursText(hours) {
  if (hours >= 99.5) return `${numberText(hours)} h`;
  const minutes = Math.round(hours * 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}

/** Returns a count with its noun. */
export const countText = (many, one, more = `${one}s`) =>
  `${numberText(many)} ${many === 1 ? one : more}`;

/** Returns the labels of the values on an axis. */
export function axisTexts(values) {
  const size = Math.max(...values.map(Math.abs));
  const format = size >= 1e15 ? short : size >= 10000 ? compact : plain[2];
  return values.map(value => value === 0 ? '0' : format.format(value).replace('K', 'k'));
}

/** Returns the mean of numbers; `NaN` if there are none. */
export const meanOf = values => values.reduce((sum, value) => sum + value / values.length, 0)
  + (values.length ? 0 : NaN);

const rounds = [1, 2, 2.5, 5, 10];
const hourRounds = [1, 2, 3, 4, 6, 8, 10];

/** Returns the least round number that is at least `value`. */
function roundStep(value, rounds) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (rounds.find(round => round * power >= value * 0.999) ?? 10);
}

/**
 * Returns an axis with round steps.
 *
 * @param {number} low The lowest value.
 * @param {number} high The highest value.
 * @param {boolean} isSum Whether the axis begins at 0.
 * @param {number} least The least step.
 * @param {boolean} isHours Whether the steps are those of a clock.
 */
export function axisOf(low, high, isSum, least = 0, isHours = false) {
  const first = isSum ? Math.min(0, low) : low;
  const span = high - first;
  const wanted = span > 0 && Number.isFinite(span) ? span / 4
    : Math.max(Math.abs(high) / 8, least, 1e-9);
  const step = Math.max(least, roundStep(wanted, isHours ? hourRounds : rounds));
  const from = isSum && first >= 0 ? 0 : Math.floor(first / step) * step;
  let to = Math.ceil(high / step) * step;
  if (to <= from) to = from + step;
  const ticks = [];
  for (let place = 0; place < 12 && from + place * step <= to + step / 2; place++) {
    ticks.push(Number((from + place * step).toPrecision(12)));
  }
  return { from, to, ticks };
}
