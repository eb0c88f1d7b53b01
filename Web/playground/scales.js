// Steps of axes.

/** Returns the round values from 0 to a limit, at most about `many`. */
export function ticks(limit, many) {
  const wanted = limit / many;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(value => value >= wanted);
  const values = [];
  for (let value = 0; value <= limit * 1.0001; value += step) values.push(value);
  return values;
}

/** Returns a count on an axis, such as `2.5k`. */
export function shortCount(value) {
  if (value >= 1e6) return `${+(value / 1e6).toFixed(1)}M`;
  return value >= 1000 ? `${+(value / 1000).toFixed(1)}k` : `${+value.toFixed(1)}`;
}
