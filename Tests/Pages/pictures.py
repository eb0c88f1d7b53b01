"""Pages with traces: what checks of pictures read, open and make."""

import base64
import gzip
import json
import pathlib
import re

from pages import DESKTOP, FRAMES, Checks, wait_for, watched

TRACE = re.compile(r'<script type="application/x-trace(\+gzip)?">\n(.*?)</script>\n?', re.S)

# The event that each point of a grid hits, with the lane and the times at the edges of the point.
GRID = """() => {
  const { lanes, view } = picture;
  const { surface } = lanes;
  const reach = surface.duration(7) + 1e-9;
  const found = [];
  for (const lane of lanes.plan.lanes) {
    for (let row = 1; row < 6; row++) {
      const y = lane.top + lane.height * row / 6;
      for (let x = 1; x < lanes.width; x += 9) {
        found.push([lane.kind.key, surface.time(x), reach, lanes.hit(x, y)]);
      }
    }
  }
  return found;
}"""

STILL = """async () => {
  for (let still = 0, last = NaN; still < 5;) {
    await new Promise(requestAnimationFrame);
    const { from, to } = picture.view;
    still = from * 3 + to === last ? still + 1 : 0;
    last = from * 3 + to;
  }
}"""

HEADER = {
    "trace": 1, "source": "simulator", "machine": "held-socket", "name": "example",
    "startedAt": "2026-01-01T00:00:00Z", "end": 30, "policy": {"name": "socket", "silence": 10},
}
FACTS = [
    {"t": 0, "lane": "device", "kind": "app", "say": "The app starts.", "value": "launched"},
    {"t": 0, "lane": "device", "kind": "path", "say": "A network.", "value": "wifi"},
    {"t": 0, "lane": "user", "kind": "note", "say": "The user switches something on."},
    {"t": 1, "lane": "attempt", "kind": "open", "say": "Attempt 1.", "attempt": 1},
    {"t": 1, "lane": "link", "kind": "state", "say": "Connects.", "state": "connecting", "try": 1},
    {"t": 2, "lane": "attempt", "kind": "up", "say": "Open.", "attempt": 1, "by": 3},
    {"t": 2, "lane": "link", "kind": "state", "say": "Connected.", "state": "connected", "by": 5},
    {"t": 3, "lane": "traffic", "kind": "in", "say": "A message.", "attempt": 1, "bytes": 7},
    {"t": 13, "lane": "attempt", "kind": "end", "say": "Nothing came.", "attempt": 1,
     "why": "silent", "lost": True},
    {"t": 13, "lane": "link", "kind": "state", "say": "Reconnects.", "state": "reconnecting",
     "try": 1, "retryAt": 15, "why": "silent", "by": 8},
    {"t": 15, "lane": "attempt", "kind": "open", "say": "Attempt 2.", "attempt": 2},
    {"t": 16, "lane": "attempt", "kind": "up", "say": "Open.", "attempt": 2, "by": 10},
    {"t": 16, "lane": "link", "kind": "state", "say": "Connected.", "state": "connected"},
]


def trace(header=None, facts=None):
    """Returns the text of a trace: that of the example with other fields or facts."""
    lines = [{**HEADER, **(header or {})}, *(FACTS if facts is None else facts)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def element(text, packed=False):
    """Returns the element of a trace in a page."""
    if packed:
        data = base64.b64encode(gzip.compress(text.encode())).decode()
        return f'<script type="application/x-trace+gzip">\n{data}</script>\n'
    escaped = text.replace("<", "\\u003c")
    return f'<script type="application/x-trace">\n{escaped}</script>\n'


def traces_of(text):
    """Returns the header and the facts of each trace in the text of a page."""
    found = []
    for packed, lines in TRACE.findall(text):
        if packed:
            lines = gzip.decompress(base64.b64decode(lines)).decode()
        header, *facts = map(json.loads, lines.strip().split("\n"))
        found.append((header, facts))
    return found


class PictureChecks(Checks):
    """Checks of a page with traces, or of pages made from it."""

    def __init__(self, browser, page, folder):
        super().__init__()
        self.browser = browser
        self.text = page.read_text(encoding="utf-8")
        self.folder = pathlib.Path(folder)
        self.url = page.resolve().as_uri()
        self.made = 0
        self.shown = None
        self.traces = traces_of(self.text)

    def open(self, url=None, **options):
        """Opens a page in a new context."""
        options.setdefault("viewport", DESKTOP)
        page = watched(self.browser.new_context(**options).new_page())
        page.goto(url or self.url)
        self.wait_open(page)
        return page

    @staticmethod
    def wait_open(page):
        """Waits until a page shows its traces or what is wrong with them."""
        wait_for(page, "document.body.dataset.state === 'open'"
                 " || document.querySelector('.message p:not(:has(progress))') !== null")
        page.evaluate(FRAMES)

    def show(self, url):
        """Opens a page in place of the one that was shown before. Returns the page."""
        if self.shown is None:
            self.shown = watched(self.browser.new_context(
                viewport=DESKTOP, reduced_motion="reduce").new_page())
        self.shown.problems.clear()
        self.shown.goto(url)
        self.wait_open(self.shown)
        return self.shown

    def page_of(self, *elements):
        """Shows the page with other traces."""
        parts = TRACE.split(self.text)
        self.made += 1
        path = self.folder / f"{type(self).__name__}{self.made}.html"
        path.write_text(parts[0] + "".join(elements) + parts[-1], encoding="utf-8")
        return self.show(path.as_uri())

    @staticmethod
    def span(page):
        """Returns the length of the interval in sight."""
        return page.evaluate("picture.view.to - picture.view.from")
