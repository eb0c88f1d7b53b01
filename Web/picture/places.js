// The places of labels in a row.

/** The places that labels take in a row, of which no two overlap. */
export class Places {
  constructor() {
    this.taken = [];
  }

  /** Takes a place unless a label is there. Returns whether it was free. */
  take(from, to, gap = 6) {
    if (this.taken.some(([a, b]) => from < b + gap && to > a - gap)) return false;
    this.taken.push([from, to]);
    return true;
  }
}
