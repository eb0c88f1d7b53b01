// The words beside the pointer.

import { byId, make } from '../shared/elements.js';
import { clamp } from '../shared/numbers.js';
import { model } from './state.js';
import { phaseWords } from './phases.js';
import { instant, lateWords } from './summary.js';
import { wholeAxis } from './view.js';
import { clockText } from '../shared/words.js';

/** The line of `instant` that a lane shows where it has no event. */
const lineOfLane = {
  device: 'Device', link: 'Link', connections: 'Connection', traffic: 'Bytes',
  silence: 'Silence', messages: 'Messages', outbox: 'Outbox', server: 'Server',
};

/** Hides the words. */
export function hideTip() {
  byId('tip').hidden = true;
}

/** Shows what is under a point of the board. */
export function showTip(lanes, x, y, event) {
  const time = lanes.time(x);
  const [from, to] = wholeAxis();
  const content = time < from || time > to ? null : contentAt(lanes, x, y, time);
  if (!content) {
    hideTip();
    return;
  }
  const tip = byId('tip');
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const isLow = event.clientY + 18 + height > innerHeight;
  // The words stay over the lanes, and beside what they are about.
  const edge = byId('board').getBoundingClientRect().right - width - 4;
  const left = event.clientX + 14 <= edge ? event.clientX + 14 : event.clientX - width - 14;
  tip.style.left = `${clamp(left, 8, Math.max(8, innerWidth - width - 8))}px`;
  tip.style.top = `${event.clientY + (isLow ? -height - 12 : 18)}px`;
}

function contentAt(lanes, x, y, time) {
  const { events } = model();
  const index = lanes.hit(x, y);
  if (index >= 0) {
    const { t, say, by } = events[index];
    const cause = by === undefined ? [] : [make('em', {}, `because: ${events[by].say}`)];
    const late = lateWords(model(), index) || phaseWords(model(), index, time);
    const more = late ? [make('em', {}, late)] : [];
    return [make('b', {}, clockText(t, 0.01)), ` ${say}`, ...more, ...cause];
  }
  const lines = instant(model(), time);
  const wanted = lineOfLane[lanes.laneAt(y)?.kind.key];
  const line = lines.find(([name]) => name === wanted)
    ?? lines.find(([name]) => wanted === 'Bytes' && name === 'Silence') ?? lines[0];
  if (!line) return null;
  return [make('b', {}, clockText(time, 0.1)), ` ${line[0]}: ${line[1]}`];
}
