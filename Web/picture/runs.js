// The runs of the app, and the times between them.

/** The lanes of facts that do not come from the app. */
const outside = new Set(['network', 'server', 'finding']);

/** Returns whether a fault is a kill of the app, and not one of the server. */
const isKillOfApp = name => /\bkill/.test(name) && !/\bserver\b/.test(name);

/** The runs of an app, and what ended each: `{ t, until, event, run, isKill }`. */
export class Runs {
  constructor() {
    this.number = 0;
    this.ends = [];
    /** The first and the last fact of the app, and the index of the last one. */
    this.first = NaN;
    this.last = NaN;
    this.lastIndex = -1;
  }

  /** Takes a fact of the trace. */
  see(event, index) {
    if (outside.has(event.lane)) return;
    // Another run's first fact is no longer a fact of this one.
    this.before = { t: this.last, event: this.lastIndex };
    if (Number.isNaN(this.first)) this.first = event.t;
    this.last = event.t;
    this.lastIndex = index;
  }

  /** Takes a fact that the app was killed. */
  killed(t, event) {
    if (this.ends.at(-1)?.until === Infinity) return;
    this.ends.push({ t, until: Infinity, event, run: this.number + 1, isKill: true });
  }

  /**
   * Takes the begin of a run.
   *
   * @returns {object|null} The end of the run before it, if no fact tells of that.
   */
  launched({ t }, index, { attempts, troubles }) {
    this.number++;
    const last = this.ends.at(-1);
    if (last?.until === Infinity) {
      Object.assign(last, { until: t, run: this.number });
      return null;
    }
    if (this.number === 1 || this.before.event < 0) return null;
    const fault = troubles.findLast(one => isKillOfApp(one.name) && one.until > this.before.t
      && one.t > (last?.until ?? -Infinity));
    const death = fault ? { t: fault.t, event: fault.event } : this.before;
    const isKill = fault !== undefined || attempts.some(one => !one.isOver);
    const end = { ...death, until: t, run: this.number, isKill, isInferred: !fault };
    this.ends.push(end);
    return end;
  }
}
