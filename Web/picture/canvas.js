// Colors, hatching and the resolution of a canvas.

/**
 * Returns the colors of the style sheet by the names of its custom properties.
 *
 * They are resolved to plain colors, since a canvas does not know the colors that a forced palette
 * gives to the system's names.
 */
export function themeColors() {
  const style = getComputedStyle(document.documentElement);
  const probe = document.createElement('span');
  probe.style.forcedColorAdjust = 'none';
  document.body.append(probe);
  const known = {};
  for (const name of colorNames) {
    probe.style.color = style.getPropertyValue(`--${name}`).trim();
    known[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return known;
}

const colorNames = [
  'paper', 'panel', 'band', 'ink', 'soft', 'faint', 'line', 'ok', 'oksoft', 'try', 'trysoft',
  'rest', 'restsoft', 'poll', 'pollsoft', 'bad', 'badsoft', 'badwash', 'badhatch', 'late', 'out',
  'silence', 'ring',
];

/** Gives a canvas a size in CSS pixels and returns its context, scaled to the screen's pixels. */
export function fitCanvas(canvas, width, height) {
  const ratio = clampRatio(canvas.dataset.ratio ?? window.devicePixelRatio);
  const columns = Math.round(width * ratio);
  const rows = Math.round(height * ratio);
  if (canvas.width !== columns || canvas.height !== rows) {
    canvas.width = columns;
    canvas.height = rows;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

const clampRatio = ratio => Math.min(3, Math.max(1, Number(ratio) || 1));

const patterns = new Map();

/** Returns a pattern of diagonal lines. */
export function hatch(context, color, gap = 6, width = 1.2) {
  const key = `${color}/${gap}/${width}`;
  if (!patterns.has(key)) {
    const ratio = 2;
    const tile = document.createElement('canvas');
    tile.width = gap * ratio;
    tile.height = gap * ratio;
    const pen = tile.getContext('2d');
    pen.scale(ratio, ratio);
    pen.strokeStyle = color;
    pen.lineWidth = width;
    for (const shift of [-gap, 0, gap]) {
      pen.beginPath();
      pen.moveTo(shift - 1, gap + 1);
      pen.lineTo(shift + gap + 1, -1);
      pen.stroke();
    }
    const pattern = context.createPattern(tile, 'repeat');
    pattern.setTransform(new DOMMatrix().scale(1 / ratio));
    patterns.set(key, pattern);
  }
  return patterns.get(key);
}
