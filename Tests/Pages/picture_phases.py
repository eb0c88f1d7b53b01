"""Checks of the phases of attempts and the bytes of connections, which notes in journals tell."""

import json

from pages import FRAMES
from pictures import FACTS, PictureChecks, element, trace

PHASES = [("resolve", .1, "name"), ("connect", .2, "connection"), ("tls", .4, "TLS"),
          ("upgrade", .3, "upgrade")]
OPENED = {"t": 2, "lane": "attempt", "kind": "phases", "say": "Connection 1 opened in 1 s.",
          "attempt": 1, "from": 1, "by": 3, **{name: length for name, length, _ in PHASES}}
FAILED = [
    {"t": 20, "lane": "attempt", "kind": "open", "say": "Attempt 3.", "attempt": 3},
    {"t": 22, "lane": "attempt", "kind": "phases", "say": "Attempt 3 ended in TLS.", "attempt": 3,
     "from": 20, "resolve": .5, "connect": .5, "tls": 1, "failed": "tls"},
    {"t": 22.1, "lane": "attempt", "kind": "end", "say": "Attempt 3 is over.", "attempt": 3,
     "why": "TLS", "lost": True},
]
BYTES = {"t": 12, "lane": "traffic", "kind": "bytes", "say": "Connection 1 received 2.0 kB.",
         "attempt": 1, "from": 2, "received": 20_000, "sent": 500}

# The rows of the bar of an attempt that have a color at a time, from the top.
ROWS = """([time, color]) => {
  const { lanes } = picture;
  const { surface } = lanes;
  const canvas = document.getElementById('canvas');
  const ratio = canvas.width / lanes.width;
  const copy = Object.assign(document.createElement('canvas'),
    { width: canvas.width, height: canvas.height });
  const pen = copy.getContext('2d', { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const probe = document.createElement('canvas').getContext('2d');
  probe.fillStyle = surface.colors[color];
  probe.fillRect(0, 0, 1, 1);
  const wanted = [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3).join();
  const top = lanes.lane('connections').top + 9;
  const found = [];
  for (let row = 0; row < 4; row++) {
    // Two points, since the line of the cursor can cover one of them.
    const hits = [-3, 3].filter(shift => {
      const x = Math.round((surface.x(time) + shift) * ratio);
      const y = Math.round((top + row * 3 + 1.5) * ratio);
      return [...pen.getImageData(x, y, 1, 1).data].slice(0, 3).join() === wanted;
    });
    if (hits.length) found.push(row);
  }
  return found;
}"""


def ordered(facts):
    """Returns facts in order of time without causes, whose places have changed."""
    facts = [{key: value for key, value in fact.items() if key != "by"} for fact in facts]
    return sorted(facts, key=lambda fact: fact["t"])


class Phases(PictureChecks):
    """Checks of what notes add to a picture."""

    def run(self):
        for part in (self.phases, self.failure, self.rates, self.others):
            part()

    def tip(self, page, lane, time, share=.5):
        """Returns the words beside the pointer in a lane."""
        box = page.locator("#board").bounding_box()
        x, y = page.evaluate("""([key, time, share]) => {
          const lane = picture.lanes.lane(key);
          return [picture.lanes.x(time), lane.top + lane.height * share];
        }""", [lane, time, share])
        page.mouse.move(box["x"] + x, box["y"] + y)
        page.evaluate(FRAMES)
        return page.locator("#tip").inner_text()

    def open_at(self, facts, begin, end):
        """Shows a part of a trace."""
        page = self.page_of(element(trace(facts=ordered(facts))))
        page.mouse.move(5, 5)
        page.evaluate(f"picture.show({begin}, {end}, false)")
        page.evaluate(FRAMES)
        return page

    def phases(self):
        page = self.open_at([*FACTS, OPENED], .9, 2.1)
        time = 1
        for row, (name, length, words) in enumerate(PHASES):
            # A third of the phase: its name stands in the middle.
            rows = page.evaluate(ROWS, [time + length * .1, "try"])
            self.check(f"the phase of the {words} is drawn in its row", row in rows, rows)
            tip = self.tip(page, "connections", time + length / 2, .25)
            expected = f"here: {words}, {round(length * 1000)} ms"
            self.check(f"the pointer tells the phase of the {words}",
                       expected in tip and "opened in 1 s" in tip, (expected, tip))
            page.mouse.move(5, 5)
            time += length
        legend = page.locator("#legend").inner_text()
        self.check("the legend has the phases", "its phases" in legend, legend)
        self.check("phases report nothing", not page.problems, page.problems)

    def failure(self):
        page = self.open_at([*FACTS, *FAILED], 19.9, 22.3)
        rows = page.evaluate(ROWS, [21.1, "bad"])
        self.check("the phase in which an attempt failed is marked", rows == [2], rows)
        tip = self.tip(page, "connections", 21.5, .25)
        self.check("the pointer tells in which phase an attempt ended",
                   "here: TLS, 1 s, where attempt 3 ended" in tip, tip)

    def rates(self):
        page = self.open_at([*FACTS, BYTES], 0, 14)
        tip = self.tip(page, "traffic", 8)
        self.check("the pointer tells the bytes per second",
                   "2.0 kB/s received, 50 bytes/s sent" in tip, tip)
        tip = self.tip(page, "traffic", 12.6)
        self.check("without a note the pointer tells the silence", "Silence: 9.6 s" in tip, tip)
        legend = page.locator("#legend").inner_text()
        self.check("the legend has the bytes", "bytes per second" in legend, legend)

    def others(self):
        """Checks traces without notes, and notes with values that no program writes."""
        page = self.open_at(FACTS, 0, 30)
        legend = page.locator("#legend").inner_text()
        self.check("a trace without notes shows no phases and bytes",
                   "phases" not in legend and "bytes" not in legend, legend)
        broken = [
            {**OPENED, "from": 9}, {**OPENED, "attempt": 99}, {**OPENED, "resolve": "1"},
            {**OPENED, "tls": -1, "connect": None}, {**OPENED, "failed": 7},
            {key: value for key, value in OPENED.items() if key not in ("from", "resolve")},
            {**BYTES, "from": 99}, {**BYTES, "received": "x"}, {**BYTES, "sent": -1},
            {**BYTES, "from": None}, {"t": 3, "lane": "attempt", "kind": "phases"},
        ]
        for fact in broken:
            page = self.open_at([*FACTS, fact], .9, 13)
            for time in (1.2, 1.7, 5, 11):
                for lane in ("connections", "traffic"):
                    self.tip(page, lane, time)
            self.check(f"opens with {json.dumps(fact)[-60:]}",
                       not page.problems and page.locator(".linkrow").count() == 1, page.problems)
