// The canvas on which lanes are drawn.

import { fitCanvas, hatch, themeColors } from './canvas.js';
import { lowerBound } from '../shared/numbers.js';

const family = 'system-ui, -apple-system, "Segoe UI", sans-serif';

/** The fonts of the picture. */
const fonts = {
  plain: `12px ${family}`, small: `11px ${family}`, bold: `600 12px ${family}`,
};

const columnWidth = 3;

/** A canvas with a scale of time. */
export class Surface {
  constructor(canvas) {
    this.canvas = canvas;
    this.width = 800;
    this.height = 100;
    this.from = 0;
    this.to = 1;
    this.model = null;
    this.pen = null;
    this.sizes = new Map();
    this.updateColors();
  }

  updateColors() {
    this.colors = themeColors();
  }

  /** Begins a drawing of an interval. */
  begin(from, to) {
    this.from = from;
    this.to = to;
    this.pen = fitCanvas(this.canvas, this.width, this.height);
    this.pen.clearRect(0, 0, this.width, this.height);
    this.pen.textBaseline = 'middle';
  }

  x(time) {
    return (time - this.from) / (this.to - this.from) * this.width;
  }

  time(x) {
    return this.from + x / this.width * (this.to - this.from);
  }

  /** Returns the duration of a number of pixels. */
  duration(pixels) {
    return pixels / this.width * (this.to - this.from);
  }

  fill(color, x, y, width, height) {
    this.pen.fillStyle = this.colors[color];
    this.pen.fillRect(x, y, width, height);
  }

  hatch(color, x, y, width, height, gap = 5, line = 1.2) {
    this.pen.fillStyle = hatch(this.pen, this.colors[color], gap, line);
    this.pen.fillRect(x, y, width, height);
  }

  line(color, x1, y1, x2, y2, { width = 1, dash = [] } = {}) {
    const { pen } = this;
    pen.strokeStyle = this.colors[color];
    pen.lineWidth = width;
    pen.setLineDash(dash);
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
    pen.setLineDash([]);
    pen.lineWidth = 1;
  }

  /** Draws a horizontal line across the surface. */
  rule(color, y, dash = []) {
    this.line(color, 0, y, this.width, y, { dash });
  }

  dot(color, x, y, radius) {
    this.pen.fillStyle = this.colors[color];
    this.pen.beginPath();
    this.pen.arc(x, y, radius, 0, 7);
    this.pen.fill();
  }

  ring(color, x, y, radius, width = 1.4, inside = 'panel') {
    const { pen } = this;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    if (inside) {
      pen.fillStyle = this.colors[inside];
      pen.fill();
    }
    pen.strokeStyle = this.colors[color];
    pen.lineWidth = width;
    pen.stroke();
    pen.lineWidth = 1;
  }

  /** Draws a triangle whose point is at the bottom. */
  pointer(color, x, top, size) {
    const { pen } = this;
    pen.fillStyle = this.colors[color];
    pen.beginPath();
    pen.moveTo(x - size, top);
    pen.lineTo(x + size, top);
    pen.lineTo(x, top + size * 1.5);
    pen.fill();
  }

  /** Returns the width of a text. */
  measure(words, font = 'plain') {
    const key = `${font}${words}`;
    let size = this.sizes.get(key);
    if (size === undefined) {
      this.pen.font = fonts[font];
      size = this.pen.measureText(words).width;
      if (this.sizes.size > 5000) this.sizes.clear();
      this.sizes.set(key, size);
    }
    return size;
  }

  text(words, x, y, color, { font = 'plain', align = 'left', back = null } = {}) {
    const { pen } = this;
    if (back) {
      const size = this.measure(words, font);
      const left = align === 'right' ? x - size : align === 'center' ? x - size / 2 : x;
      pen.globalAlpha = 0.85;
      this.fill(back, left - 2, y - 7, size + 4, 14);
      pen.globalAlpha = 1;
    }
    pen.font = fonts[font];
    pen.textAlign = align;
    pen.fillStyle = this.colors[color];
    pen.fillText(words, x, y + 0.5);
  }

  /** Draws the first of several texts that ends before a limit. Returns its end, or -Infinity. */
  fitText(texts, x, y, limit, color, options = {}) {
    for (const words of texts) {
      const end = x + this.measure(words, options.font);
      if (end > limit) continue;
      this.text(words, x, y, color, options);
      return end;
    }
    return -Infinity;
  }

  /** Calls a function with the place, the count and the width of each column of sorted times. */
  columns(times, draw) {
    const last = lowerBound(times, this.to);
    const scale = this.width / (this.to - this.from) / columnWidth;
    let column = -1;
    let many = 0;
    for (let index = lowerBound(times, this.from); index < last; index++) {
      const at = Math.floor((times[index] - this.from) * scale);
      if (at !== column) {
        if (many) draw(column * columnWidth, many, columnWidth);
        column = at;
        many = 0;
      }
      many++;
    }
    if (many) draw(column * columnWidth, many, columnWidth);
  }

  /** Returns the first place in a list of indexes whose event is at a time or later. */
  lowerEvent(indexes, time) {
    const { times } = this.model;
    let low = 0;
    let high = indexes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[indexes[middle]] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the indexes of a list whose events are in sight. */
  inSight(indexes, margin = 0) {
    const from = this.lowerEvent(indexes, this.from - this.duration(margin));
    return indexes.slice(from, this.lowerEvent(indexes, this.to + this.duration(margin)));
  }

  /** Returns the index of a list whose event is nearest to a time within `reach`; or -1. */
  nearestOf(indexes, time, reach) {
    const { times } = this.model;
    let best = -1;
    let least = reach;
    for (let at = this.lowerEvent(indexes, time - reach); at < indexes.length; at++) {
      const distance = Math.abs(times[indexes[at]] - time);
      if (times[indexes[at]] > time + reach) break;
      if (distance >= least) continue;
      least = distance;
      best = indexes[at];
    }
    return best;
  }

  /** Returns the event nearest to a time within `reach` that a function accepts; or -1. */
  nearestEvent(time, reach, accepts) {
    const { times, events } = this.model;
    let best = -1;
    let least = reach;
    for (let index = lowerBound(times, time - reach); index < times.length; index++) {
      if (times[index] > time + reach) break;
      const distance = Math.abs(times[index] - time);
      if (distance >= least || !accepts(events[index])) continue;
      least = distance;
      best = index;
    }
    return best;
  }
}
