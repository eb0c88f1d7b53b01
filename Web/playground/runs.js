// The runs that the page shows: one for the present settings, and one that is kept.

import { capacityOf, few, requestOf } from './settings.js';

/**
 * A run: its settings and the result with the most phones so far.
 *
 * @typedef {object} Run
 * @property {object} settings
 * @property {object|null} result The answer of the engine; `null` before the first.
 * @property {boolean} isWhole Whether the result has all phones.
 */

/** Plays runs: first with few phones at once, and then with all of them. */
export class Runs {
  /**
   * @param {Engine} quick The engine for few phones.
   * @param {Engine} whole The engine for all phones.
   * @param {() => void} changed A function that is called after each change.
   */
  constructor(quick, whole, changed) {
    this.engines = { quick, whole };
    this.working = { quick: null, whole: null };
    this.changed = changed;
    this.present = null;
    this.kept = null;
    this.isMoving = false;
  }

  /** Plays settings. While a slider `isMoving`, only a part of the phones is played. */
  play(settings, isMoving = false) {
    this.isMoving = isMoving;
    if (this.present?.settings !== settings) {
      this.present = { ...newRun(settings), before: shownOf(this.present) };
    }
    this.dropOld();
    this.continue();
  }

  /** Plays settings beside others, which are kept for comparison. */
  compare(settings, other) {
    this.kept = newRun(other);
    this.play(settings);
  }

  /** Keeps the present run for comparison. */
  keep() {
    this.kept = this.present;
    this.changed();
  }

  /** Removes the kept run. */
  forget() {
    this.kept = null;
    this.dropOld();
    this.changed();
  }

  dropOld() {
    const { whole } = this.working;
    if (!whole || whole === this.present || whole === this.kept) return;
    this.working.whole = null;
    this.engines.whole.restart();
  }

  continue() {
    this.work('quick', run => !run.result, run => Math.min(few, run.settings.clients));
    if (!this.isMoving) this.work('whole', run => !run.isWhole, run => run.settings.clients);
    this.changed();
  }

  async work(name, isWanted, clientsOf) {
    if (this.working[name]) return;
    const run = [this.present, this.kept].find(one => one && !one.problems && isWanted(one));
    if (!run) return;
    const clients = clientsOf(run);
    this.working[name] = run;
    let result;
    try {
      result = await this.engines[name].ask(requestOf(run.settings, clients));
    } catch (error) {
      result = { problems: [`The engine has stopped: ${error.message}`] };
    }
    if (this.working[name] !== run) return;
    this.working[name] = null;
    this.take(run, result, clients);
    this.continue();
  }

  take(run, result, clients) {
    const isWhole = clients === run.settings.clients;
    if (result.problems) run.problems = result.problems;
    else if (isWhole || !run.isWhole) Object.assign(run, { result, isWhole });
    // While a slider moves, the newest result is shown, though its settings are not the newest.
    if (!this.present.result && run !== this.kept) this.present.before = shownOf(run);
  }
}

const newRun = settings => ({ settings, result: null, isWhole: false });

/** Returns the run whose result is shown in place of a run: itself, or one before it. */
export function shownOf(run) {
  if (!run?.result) return run?.before ?? null;
  const { settings, result, isWhole } = run;
  return { settings, result, isWhole };
}

/**
 * Returns what a run shows, with counts for all its phones; `null` before its first result.
 *
 * @param {Run} run
 */
export function figuresOf({ settings, result }) {
  if (!result) return null;
  const { clients } = settings;
  const scale = clients / result.clients;
  const times = values => values.map(value => value * scale);
  const { tries, accepted, polls, connected } = result.seconds;
  return {
    settings, clients, played: result.clients, took: result.took, away: settings.outage,
    capacity: capacityOf(settings, clients), tries: times(tries), accepted: times(accepted),
    polls: times(polls), connected: connected.map(value => value / result.clients),
    peak: result.peakAfter.count * scale, peakAt: result.peakAfter.second,
    peakAway: Math.max(0, ...tries.slice(0, settings.outage)) * scale,
    peakPolls: result.peakPolls.count * scale, refused: result.refused * scale,
    each: result.tries / result.clients, half: result.back50, most: result.back99,
    all: result.backAll, gaveUp: result.gaveUp * scale, missing: result.away * scale,
  };
}
