// The lanes of one link: their places, what crosses all of them, and what lies under a point.

import { connectionsLane } from './lane-connections.js';
import { deviceLane, linkLane } from './lane-link.js';
import { messagesLane, outboxLane } from './lane-messages.js';
import { requestsLane, serverLane } from './lane-requests.js';
import { silenceLane, trafficLane } from './lane-traffic.js';
import { clamp } from '../shared/numbers.js';
import { Places } from './places.js';
import { Surface } from './surface.js';
import { axisText, spanText, timeStep } from '../shared/words.js';

const laneList = [
  deviceLane, linkLane, connectionsLane, trafficLane, silenceLane, messagesLane, outboxLane,
  requestsLane, serverLane,
];

const bareAxis = 24;
const troubleRow = 22;
const gap = 1;
/** The most names of faults that are tried. */
const mostNames = 400;
/** The height of a lane's name where it stands above the lane. */
const nameHeight = 13;

/** Returns the lanes of a model with their places. A lane without content is left out. */
function layout(model, scale, strip) {
  const hasRow = model.troubles.length || model.findings.length;
  const axis = bareAxis + (hasRow ? troubleRow : 0);
  let top = axis;
  const lanes = laneList.filter(lane => lane.has(model)).map(kind => {
    const height = Math.round(kind.height * scale);
    const place = { kind, top: top + strip, bottom: top + strip + height, height, strip };
    top += height + strip + gap;
    return place;
  });
  return { lanes, axis, height: top + 4 };
}

/** The picture of the lanes on a canvas. */
export class Lanes {
  constructor(canvas) {
    this.surface = new Surface(canvas);
    this.plan = { lanes: [], axis: bareAxis, height: bareAxis };
    /** The left edge of the lanes in the page, from that of the ribbons. */
    this.left = 0;
  }

  get width() {
    return this.surface.width;
  }

  set width(width) {
    this.surface.width = width;
  }

  get model() {
    return this.surface.model;
  }

  /** Takes the model that is drawn, and lays its lanes out in a height. */
  use(model, { isNarrow, room, least }) {
    this.surface.model = model;
    const bare = layout(model, 1, 0).height;
    const scale = isNarrow ? 0.86 : clamp((room - 60) / (bare - 60), least, 1.8);
    this.plan = layout(model, scale, isNarrow ? nameHeight : 0);
    this.surface.height = this.plan.height;
  }

  x(time) {
    return this.surface.x(time);
  }

  time(x) {
    return this.surface.time(x);
  }

  lane(key) {
    return this.plan.lanes.find(lane => lane.kind.key === key);
  }

  /** Returns the lane at a height; `undefined` above and between lanes. */
  laneAt(y) {
    return this.plan.lanes.find(lane => y >= lane.top && y <= lane.bottom);
  }

  draw(view) {
    const { surface } = this;
    surface.begin(view.from, view.to);
    this.plan.lanes.forEach((lane, index) => {
      const top = lane.top - lane.strip;
      surface.fill(index % 2 ? 'band' : 'panel', 0, top, surface.width, lane.bottom - top);
    });
    this.drawAxis();
    this.drawTroubles();
    for (const lane of this.plan.lanes) this.drawLane(lane);
    this.drawMoments();
    if (view.range) this.drawRange(view.range);
    if (view.focus >= 0) this.drawFocus(view.focus);
    if (view.hover !== null) this.drawCursor(view.hover, 'faint', 1);
    this.drawCursor(view.cursor, 'ink', 1.5);
  }

  drawLane(lane) {
    const { pen, width } = this.surface;
    pen.save();
    pen.beginPath();
    pen.rect(0, lane.top, width, lane.height);
    pen.clip();
    lane.kind.draw(this.surface, lane);
    pen.restore();
  }

  drawAxis() {
    const { surface } = this;
    const { from, to, width } = surface;
    const step = timeStep(to - from, width);
    for (let index = Math.ceil(from / step); index * step <= to; index++) {
      const at = index * step;
      const x = Math.round(surface.x(at)) + 0.5;
      surface.line('line', x, 16, x, this.plan.height);
      surface.fitText([axisText(at, step)], x + 4, 9, width, 'soft', { font: 'small' });
    }
  }

  drawTroubles() {
    const { surface } = this;
    const { model } = surface;
    const spans = model.troubles.within(surface.from, surface.to);
    const height = this.plan.height - 20;
    for (const one of spans) {
      const a = surface.x(one.t);
      const size = Math.max(3, surface.x(one.until) - a);
      surface.fill('badwash', a, 20, size, height);
      surface.hatch('badhatch', a, 20, size, height, 7, 1);
      surface.fill('bad', a, 20, size, 2);
    }
    this.nameTroubles(spans.filter(one => one.until >= surface.from));
  }

  /** Writes the names of faults: those at a loss first, then the longest, as many as fit. */
  nameTroubles(spans) {
    const { surface } = this;
    const { causes } = surface.model;
    const places = new Places();
    const rank = one => causes.has(one) ? 1 : 0;
    const ranked = spans.toSorted((a, b) =>
      rank(b) - rank(a) || (b.until - b.t) - (a.until - a.t) || a.t - b.t);
    for (const one of ranked.slice(0, mostNames)) {
      const left = Math.max(2, surface.x(one.t)) + 1;
      const length = one.until - one.t > 0.5 ? [`${one.name} ${spanText(one.until - one.t)}`] : [];
      const words = [...length, one.name].find(text => {
        const end = left + surface.measure(text, 'bold');
        return end <= surface.width - 2 && places.take(left, end);
      });
      if (words) surface.text(words, left, 33, 'bad', { font: 'bold', back: 'panel' });
    }
  }

  /** Draws a line through the lanes for each moment. */
  drawMoments() {
    const { surface } = this;
    const { pen } = surface;
    const reach = surface.duration(10);
    const moments = surface.model.moments.filter(one =>
      one.t >= surface.from - reach && one.t <= surface.to + reach);
    const isCrowded = moments.length > surface.width / 25;
    const top = this.lane('link')?.top ?? this.plan.lanes[0]?.top ?? this.plan.axis;
    const bottom = this.momentEnd(moments.length, top);
    pen.globalAlpha = isCrowded ? 0.5 : 1;
    let last = -Infinity;
    for (const one of moments) {
      const x = Math.round(surface.x(one.t)) + 0.5;
      if (!one.finding && x === last) continue;
      if (!one.finding) last = x;
      const color = one.finding ? 'poll' : one.lost ? 'bad' : 'rest';
      const dash = one.lost || one.finding ? [] : [2, 3];
      surface.line(color, x, one.finding ? this.plan.axis - 10 : top, x, bottom, { dash });
      if (one.finding) surface.pointer('poll', x, this.plan.axis - 12, 6);
    }
    pen.globalAlpha = 1;
  }

  /** Returns where the lines of moments end, which is higher if they would cover the lanes. */
  momentEnd(many, top) {
    if (many > this.width / 4) return top + 7;
    const connections = this.lane('connections');
    return many > this.width / 25 && connections ? connections.top : this.plan.height - 4;
  }

  drawRange([one, other]) {
    const { surface } = this;
    const a = surface.x(Math.min(one, other));
    const b = surface.x(Math.max(one, other));
    surface.pen.globalAlpha = 0.14;
    surface.fill('late', a, 16, b - a, this.plan.height);
    surface.pen.globalAlpha = 1;
    surface.text(spanText(Math.abs(other - one)), (a + b) / 2, 28, 'late',
      { font: 'bold', align: 'center', back: 'panel' });
  }

  drawCursor(time, color, width) {
    const { surface } = this;
    const x = surface.x(time);
    if (x < 0 || x > surface.width) return;
    surface.line(color, x, 14, x, this.plan.height, { width });
    if (color === 'ink') surface.pointer('ink', x, 12, 5);
  }

  /** Returns where an event is drawn. */
  spot(index) {
    const event = this.model.events[index];
    const lane = this.lane(laneOf(event)) ?? this.plan.lanes[0];
    const x = this.surface.x(event.t);
    if (!lane) return [x, this.plan.axis / 2];
    const key = lane.kind.key;
    if (key === 'connections') return [x, lane.top + 15];
    if (key === 'messages') return [x, event.kind === 'sent' ? lane.top + 14 : lane.bottom - 12];
    return [x, lane.top + lane.height / 2];
  }

  /** Draws the event in focus, with curves to its cause and its effects. */
  drawFocus(index) {
    const { surface } = this;
    const { events } = this.model;
    const [x, y] = this.spot(index);
    const related = effectsOf(events, index);
    if (events[index].by !== undefined) related.push(events[index].by);
    for (const other of related) this.drawCurve(this.spot(other), [x, y]);
    surface.ring('ink', x, y, 6, 2, null);
  }

  drawCurve([u, v], [x, y]) {
    const { surface } = this;
    const { pen } = surface;
    const middle = (v + y) / 2;
    pen.strokeStyle = surface.colors.late;
    pen.lineWidth = 1.6;
    pen.beginPath();
    pen.moveTo(u, v);
    pen.bezierCurveTo(u + 18, middle, x - 18, middle, x, y);
    pen.stroke();
    pen.lineWidth = 1;
    surface.dot('late', u, v, 3.5);
  }

  /** Returns the event under a point; or -1. */
  hit(x, y) {
    const { surface } = this;
    const lane = this.laneAt(y);
    if (lane) return lane.kind.hit(surface, lane, x, y);
    if (y >= this.plan.axis) return -1;
    const { model } = surface;
    const time = surface.time(x);
    const reach = surface.duration(7);
    const finding = surface.nearestOf(model.findings, time, reach);
    return finding >= 0 ? finding : model.troubles.nearest(time, reach)?.event ?? -1;
  }
}

const dataLanes = { outbox: 'outbox', fetched: 'requests', post: 'requests' };

function laneOf(event) {
  switch (event.lane) {
    case 'link': return 'link';
    case 'attempt': return 'connections';
    case 'traffic': return 'traffic';
    case 'data': return dataLanes[event.kind] ?? 'messages';
    case 'store': return 'requests';
    case 'server': return 'server';
    default: return 'device';
  }
}

const nearEvents = 60;

/** Returns the indexes of events that an event caused, of those that follow it closely. */
export function effectsOf(events, index, most = Infinity) {
  const found = [];
  const end = Math.min(events.length, index + nearEvents);
  for (let at = index + 1; at < end && found.length < most; at++) {
    if (events[at].by === index) found.push(at);
  }
  return found;
}
