// The lanes of requests and commits, and of the server.

import { spanText } from '../shared/words.js';

/** Requests for data above, requests that send data below them, and commits of the store. */
export const requestsLane = {
  key: 'requests', name: 'Requests, store', note: 'fetches, posts, commits', height: 34,
  has: model => model.fetches.length + model.posts.length + model.commits.length > 0,

  draw(surface, lane) {
    const { model } = surface;
    drawRequests(surface, model.fetches, lane.top + 4, 'late');
    drawRequests(surface, model.posts, lane.top + 13, 'out');
    surface.columns(model.commits, (x, many) => {
      const height = Math.min(6, 2 + many);
      surface.fill('faint', x, lane.bottom - 4 - height, 1.5, height);
    });
  },

  hit(surface, lane, x, y) {
    const { model } = surface;
    const time = surface.time(x);
    const reach = surface.duration(7);
    if (y < lane.top + 23) {
      const [first, second] = y < lane.top + 12 ? [model.fetches, model.posts]
        : [model.posts, model.fetches];
      const span = first.nearest(time, reach) ?? second.nearest(time, reach);
      if (span) return span.event;
    }
    return surface.nearestEvent(time, reach, event => event.lane === 'store');
  },
};

function drawRequests(surface, list, y, color) {
  let last = -Infinity;
  for (const span of list.within(surface.from, surface.to)) {
    const a = surface.x(span.t);
    const width = Math.max(3, surface.x(span.until) - a);
    if (span.ok && a + width - last < 0.7) continue;
    last = a + width;
    surface.fill(span.ok ? color : 'bad', a, y, width, 7);
    if (!span.ok) surface.hatch('panel', a, y, width, 7, 5, 1);
  }
}

/** The server, as far as it is known from outside of the phone. */
export const serverLane = {
  key: 'server', name: 'Server', note: 'seen from outside', height: 26,
  has: model => model.header.world === true || model.downs.length > 0,

  draw(surface, lane) {
    const { model } = surface;
    const y = lane.top + 5;
    const height = lane.height - 11;
    const from = Math.max(0, surface.x(model.offset));
    const to = Math.min(surface.width, surface.x(model.end));
    surface.fill('oksoft', from, y, Math.max(0, to - from), height);
    surface.fill('ok', from, y, Math.max(0, to - from), 1.5);
    for (const span of model.downs.within(surface.from, surface.to)) {
      const a = surface.x(span.t);
      const b = Math.max(a + 2, surface.x(span.until));
      surface.fill('panel', a, y - 1, b - a, height + 2);
      surface.hatch('bad', a, y, b - a, height);
      surface.fitText([`down ${spanText(span.until - span.t)}`, 'down'], Math.max(0, a) + 5,
        y + height / 2, Math.min(surface.width, b) - 3, 'bad', { back: 'panel' });
    }
    for (const index of surface.inSight(model.serverMarks, 4).slice(0, 400)) {
      surface.pointer('soft', surface.x(model.times[index]), y - 3, 3);
    }
  },

  hit(surface, lane, x) {
    const { model } = surface;
    const time = surface.time(x);
    const reach = surface.duration(7);
    const mark = surface.nearestOf(model.serverMarks, time, reach);
    return mark >= 0 ? mark : model.downs.nearest(time, reach)?.event ?? -1;
  },
};
