// What the page shows, and the functions that hear of its changes.

/** The opened links, the chosen one, and the time axis that all share. */
export const state = {
  models: [],
  chosen: 0,
  /** The end of the axis in seconds. */
  end: 1,
  /** The wall-clock time of the axis's zero, in milliseconds since 1970; `NaN` if not known. */
  startedAt: NaN,
  /** The events that the search found; `null` without a search. */
  matches: null,
};

/** Returns the model of the chosen link. */
export const model = () => state.models[state.chosen];

const listeners = new Map();

/**
 * Calls a function after each change of a kind.
 *
 * The kinds are `opened`, `grown`, `link`, `instant`, `moved`, `interval`, `frame`, `matches`,
 * `colors`. `moved` tells of a wish for another interval, and `interval` that it was reached.
 */
export function on(change, action) {
  listeners.set(change, [...listeners.get(change) ?? [], action]);
}

/** Reports a change of a kind. */
export function changed(change, ...details) {
  for (const action of listeners.get(change) ?? []) action(...details);
}
