// The whole run of a link in a small height.

import { fitCanvas, hatch } from './canvas.js';
import { linkStates } from './states.js';

/** Draws the states of a link on a canvas, with faults and losses. */
export function drawRibbon(canvas, model, { from, to, width, height, colors }) {
  const pen = fitCanvas(canvas, width, height);
  const x = time => (time - from) / (to - from) * width;
  pen.clearRect(0, 0, width, height);
  for (const one of model.troubles.items) {
    const size = Math.max(1.5, x(one.until) - x(one.t));
    for (const fill of [colors.badwash, hatch(pen, colors.badhatch, 5, 1.6)]) {
      pen.fillStyle = fill;
      pen.fillRect(x(one.t), 0, size, height);
    }
  }
  let column = NaN;
  let lowest = 0;
  for (const one of model.bands.items) {
    const { level, color } = linkStates.get(one.state);
    const a = x(one.t);
    const size = Math.max(1, x(one.until) - a);
    // Of the states that share a pixel, the lowest is drawn.
    if (size <= 1.01) {
      if (Math.round(a) === column && level >= lowest) continue;
      column = Math.round(a);
      lowest = level;
    }
    const top = height - Math.max(2, (height - 3) * level);
    pen.fillStyle = colors.panel;
    pen.fillRect(a, top, size, height - top);
    pen.fillStyle = colors[color];
    pen.globalAlpha = one.state === 'connected' ? 0.5 : 0.95;
    pen.fillRect(a, top, size, height - top);
    pen.globalAlpha = 1;
  }
  drawLosses(pen, model, x, height, colors);
}

function drawLosses(pen, model, x, height, colors) {
  const marked = model.moments.filter(one => one.lost || one.finding);
  // Many lines would cover the states.
  const length = marked.length > pen.canvas.clientWidth / 4 ? height / 4 : height;
  let last = -Infinity;
  for (const one of marked) {
    const at = x(one.t);
    if (at - last < 0.7 && !one.finding) continue;
    last = at;
    pen.fillStyle = one.finding ? colors.poll : colors.bad;
    pen.fillRect(at - 0.5, 0, 1.5, one.finding ? height : length);
  }
}
