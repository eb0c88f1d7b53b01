// Functions of numbers and sorted lists.

/** Returns the number of an interval that is nearest to a value. */
export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** Returns the first index of a sorted list whose value is at least `value`. */
export function lowerBound(values, value, size = values.length) {
  let low = 0;
  let high = size;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the first index of a sorted list whose value is more than `value`. */
export function upperBound(values, value, size = values.length) {
  let low = 0;
  let high = size;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
