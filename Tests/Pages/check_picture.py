#!/usr/bin/env python3
"""Checks pages that `holdfast replay --html` wrote, in Chromium.

    check_picture.py [--schema FILE] PAGE [OTHER...]

Prints one line for each check, and exits with 1 if one fails. Some checks put other traces into
PAGE; the other pages are opened only. With a schema, the traces of all pages are validated. Needs
Playwright for Python and Chromium, whose path can be in CHROMIUM, and jsonschema for the schema.
"""

import argparse
import base64
import gzip
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

from playwright.sync_api import sync_playwright

TRACE = re.compile(r'<script type="application/x-trace(\+gzip)?">\n(.*?)</script>\n?', re.S)
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

CONTRAST = """() => {
  const parse = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => parse(color).slice(0, 3).map(value => value / 255)
    .map(value => value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4)
    .reduce((sum, value, index) => sum + value * [.2126, .7152, .0722][index], 0);
  const back = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      const [, , , alpha = 1] = parse(color);
      if (alpha >= .5) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  let worst = [99];
  for (const element of document.querySelectorAll('body *')) {
    const hasText = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!hasText || !element.getClientRects().length) continue;
    if (element.closest('.unseen, .skip, dialog, script')) continue;
    const one = light(getComputedStyle(element).color);
    const other = light(back(element));
    const ratio = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
    if (ratio < worst[0]) worst = [ratio, element.textContent.slice(0, 40), element.className];
  }
  return worst;
}"""

# The contrast of the colors of texts on the canvas, on each color that is behind them.
CANVAS_CONTRAST = """() => {
  const light = color => color.match(/[\\d.]+/g).slice(0, 3).map(value => value / 255)
    .map(value => value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4)
    .reduce((sum, value, index) => sum + value * [.2126, .7152, .0722][index], 0);
  const { colors } = picture.lanes.surface;
  const pairs = [['soft', 'panel'], ['soft', 'band'], ['faint', 'panel'], ['faint', 'band'],
    ['bad', 'panel'], ['bad', 'badsoft'], ['ok', 'oksoft'], ['ink', 'restsoft'], ['poll', 'panel'],
    ['late', 'panel'], ['out', 'panel'], ['try', 'panel']];
  return pairs.map(pair => {
    const [one, other] = pair.map(name => light(colors[name]));
    return [(Math.max(one, other) + .05) / (Math.min(one, other) + .05), ...pair];
  }).sort((a, b) => a[0] - b[0])[0];
}"""

UNNAMED = """() => [...document.querySelectorAll('button, input, [role], a, summary, dialog')]
  .filter(element => !(element.getAttribute('aria-label') || element.getAttribute('title')
    || element.getAttribute('aria-labelledby') || element.textContent.trim()
    || ['status', 'region', 'alert'].includes(element.getAttribute('role'))))
  .map(element => element.outerHTML.slice(0, 80))"""

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

# The number of colors in each lane.
DRAWN = """() => {
  const { lanes } = picture;
  const canvas = document.getElementById('canvas');
  const copy = document.createElement('canvas');
  copy.width = canvas.width;
  copy.height = canvas.height;
  const pen = copy.getContext('2d', { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const ratio = canvas.width / lanes.width;
  return lanes.plan.lanes.map(lane => {
    const { data } = pen.getImageData(0, lane.top * ratio, lanes.width * ratio,
      lane.height * ratio);
    const colors = new Set();
    for (let at = 0; at < data.length; at += 4) {
      colors.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
    }
    return [lane.kind.key, colors.size];
  });
}"""

DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  window.dispatchEvent(new DragEvent('drop', { dataTransfer: data }));
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


def wait_for(page, condition, seconds=30):
    """Waits for a condition without Playwright's own wait, which the policy of the page forbids."""
    for _ in range(seconds * 20):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise TimeoutError(condition)


class Checks:
    """The checks of a page."""

    def __init__(self, browser, page, folder):
        self.browser = browser
        self.text = page.read_text(encoding="utf-8")
        self.folder = pathlib.Path(folder)
        self.url = page.resolve().as_uri()
        self.failed = []
        self.made = 0
        self.traces = [self.facts(*match) for match in TRACE.findall(self.text)]

    @staticmethod
    def facts(packed, text):
        if packed:
            text = gzip.decompress(base64.b64decode(text)).decode()
        header, *facts = map(json.loads, text.strip().split("\n"))
        return header, facts

    def check(self, name, good, seen=""):
        print("✓" if good else "✗", name, "" if good else seen, flush=True)
        if not good:
            self.failed.append(name)

    def open(self, url=None, **options):
        """Opens a page in a new context, and collects what it reports and requests."""
        options.setdefault("viewport", DESKTOP)
        page = self.browser.new_context(**options).new_page()
        page.problems, page.requests = [], []
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(url or self.url)
        wait_for(page, "document.body.dataset.state === 'open'"
                 " || document.querySelector('.message p:not(:has(progress))') !== null")
        page.wait_for_timeout(250)
        return page

    def page_of(self, *elements, **options):
        """Opens the page with other traces."""
        parts = TRACE.split(self.text)
        self.made += 1
        path = self.folder / f"{self.made}.html"
        path.write_text(parts[0] + "".join(elements) + parts[-1], encoding="utf-8")
        return self.open(path.as_uri(), **options)

    def run(self):
        for part in (self.loading, self.opening, self.keys, self.pointer, self.address,
                     self.text_of, self.drawn, self.looks, self.phone, self.paper,
                     self.other_traces, self.damaged, self.packed, self.dropped):
            part()
        self.check("the console has no message until the end", not self.page.problems,
                   self.page.problems)
        print(f"{len(self.failed)} failed")
        return 1 if self.failed else 0

    # What the page loads.

    def loading(self):
        page = self.open()
        outside = [url for url in page.requests if url != self.url]
        self.check("the page requests nothing", not outside, outside)
        self.check("the console has no message", not page.problems, page.problems)
        policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
        self.check("the policy forbids every load", "default-src 'none'" in policy
                   and "http" not in policy
                   and not re.search("connect-src (?!'none')", policy), policy)
        blocked = page.evaluate("""async () => {
          const outcomes = [];
          try { await fetch('https://example.com/'); outcomes.push('fetch'); } catch { }
          await new Promise(done => {
            const image = new Image();
            image.onload = () => { outcomes.push('image'); done(); };
            image.onerror = done;
            image.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=';
          });
          return outcomes;
        }""")
        left = [url for url in page.requests if url.startswith("http")]
        self.check("a load from a script is blocked", not blocked and not left, (blocked, left))
        page.context.close()

    # Where the page opens.

    def opening(self):
        page = self.page = self.open()
        link = page.evaluate("picture.state.chosen")
        header, facts = self.traces[link]
        finding = next((fact for fact in facts if fact["kind"] == "finding"), None)
        moment = page.evaluate("""() => {
          const { models, chosen } = picture.state;
          const lost = models[chosen].moments.filter(one =>
            one.lost && !one.isRestart);
          return lost.length ? lost.reduce((most, one) =>
            one.until - one.t > most.until - most.t ? one : most) : null;
        }""")
        if finding:
            self.check("opens at the first finding", finding["say"] in self.value(), self.value())
        elif moment:
            say = page.evaluate(f"picture.state.models[{link}].events[{moment['event']}].say")
            self.check("opens at the longest gap", say in self.value(), self.value())
        ends = [fact for fact in facts if fact["kind"] == "end" and fact.get("lost")]
        story = page.locator("#story").inner_text()
        self.check("the story is a sentence", story.endswith(".") and len(story) > 20, story)
        if ends:
            told = any(word in story for word in ("It dropped", "did not", "was killed"))
            self.check("the story tells of losses", told, story)
        self.check("the title is the link's name", header["name"] in page.title(), page.title())
        rows = page.locator(".linkrow").count()
        self.check("one ribbon for each link", rows == len(self.traces), rows)

    def value(self):
        return self.page.locator("#board").get_attribute("aria-valuetext")

    def now(self):
        return float(self.page.locator("#board").get_attribute("aria-valuenow"))

    def span(self, page=None):
        return (page or self.page).evaluate("picture.view.to - picture.view.from")

    def focus(self):
        return self.page.evaluate("picture.view.focus")

    def settle(self):
        """Waits until the interval in sight no longer moves."""
        self.page.evaluate(STILL)

    # Keys.

    def keys(self):
        page = self.page
        page.locator("#board").focus()
        page.keyboard.press("Home")
        self.check("Home: the first event", self.focus() == 0, self.focus())
        page.keyboard.press("ArrowRight")
        self.check("right: the next event", self.focus() == 1, self.focus())
        page.keyboard.press("ArrowLeft")
        self.check("left: the event before", self.focus() == 0, self.focus())
        page.keyboard.press("End")
        size = page.evaluate("picture.state.models[picture.state.chosen].size")
        self.check("End: the last event", self.focus() == size - 1, self.focus())
        page.keyboard.press("Home")
        moments = page.evaluate(
            "picture.state.models[picture.state.chosen].moments.map(one => one.event)")
        seen = []
        for _ in moments:
            page.keyboard.press("Shift+ArrowRight")
            seen.append(self.focus())
        expected = moments if moments[:1] != [0] else moments[1:] + moments[-1:]
        self.check("Shift and right: each moment in turn", seen == expected, (seen, expected))
        page.keyboard.press("Enter")
        self.settle()
        if moments:
            seen = page.evaluate("""() => {
              const { models, chosen } = picture.state;
              const { t, until } = models[chosen].moments.at(-1);
              return picture.view.from <= t && picture.view.to >= until;
            }""")
            self.check("Enter: shows the moment until its end", seen)
        if len(self.traces) > 1:
            before = page.evaluate("picture.state.chosen")
            page.keyboard.press("ArrowDown")
            after = page.evaluate("picture.state.chosen")
            self.check("down: the next link", after == (before + 1) % len(self.traces), after)
            page.keyboard.press("ArrowUp")
        page.keyboard.press("0")
        self.settle()
        before = self.span()
        page.keyboard.press("+")
        self.settle()
        self.check("plus zooms", self.span() < before * 0.6, self.span())
        start = page.evaluate("picture.view.from")
        page.keyboard.press("]")
        self.settle()
        self.check("] moves", page.evaluate("picture.view.from") > start)
        page.keyboard.press("0")
        self.settle()
        self.check("0 shows everything", abs(self.span() - before) < before * 0.01, self.span())
        page.keyboard.press("?")
        self.check("? shows the keys", page.locator("#keys").is_visible())
        page.keyboard.press("Escape")
        self.search()

    def search(self):
        page = self.page
        events = page.evaluate("""() => {
          const { models, chosen } = picture.state;
          return models[chosen].events.map(({ say, lane, kind }) => [say, lane, kind]);
        }""")
        word = max(re.findall(r"[A-Za-z]{4,}", events[len(events) // 2][0]), key=len)
        page.keyboard.press("/")
        page.keyboard.type(word)
        page.keyboard.press("Enter")
        found = [word.lower() in event[0].lower() or word.lower() in event[1:] for event in events]
        self.check("search finds an event", found[self.focus()], word)
        expected = sum(found)
        status = page.locator("#matches").inner_text()
        self.check("search counts", status.startswith(f"{expected:,} "), (status, expected))
        page.keyboard.press("Escape")
        self.check("Escape ends the search", page.locator("#search").input_value() == "")

    # The pointer.

    def pointer(self):
        page = self.page
        self.settle()
        box = page.locator("#board").bounding_box()
        page.mouse.move(box["x"] + 300, box["y"] + 100)
        time, before = page.evaluate("picture.lanes.time(300)"), self.span()
        page.mouse.wheel(0, -240)
        page.wait_for_timeout(200)
        moved = abs(page.evaluate("picture.lanes.time(300)") - time)
        self.check("the wheel zooms around the pointer",
                   moved < before / 500 and self.span() < before * 0.9, moved)
        start = page.evaluate("picture.view.from")
        page.mouse.down()
        page.mouse.move(box["x"] + 200, box["y"] + 100, steps=4)
        page.mouse.up()
        self.check("a drag moves", page.evaluate("picture.view.from") > start)
        page.keyboard.down("Shift")
        page.mouse.move(box["x"] + 200, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 400, box["y"] + 100, steps=4)
        a, b = page.evaluate("[picture.lanes.time(200), picture.lanes.time(400)]")
        page.mouse.up()
        page.keyboard.up("Shift")
        self.settle()
        good = abs(page.evaluate("picture.view.from") - a) < (b - a) / 50
        self.check("a drag with Shift zooms to what it measures",
                   good and abs(self.span() - (b - a)) < (b - a) / 50, (a, b, self.span()))
        page.keyboard.press("0")
        self.settle()
        spot = page.evaluate("""() => {
          const { lanes } = picture;
          for (const lane of lanes.plan.lanes) {
            for (let x = 30; x < lanes.width - 30; x++) {
              const y = lane.top + lane.height / 2;
              const event = lanes.hit(x, y);
              if (event >= 0) return [x, y, lanes.surface.model.events[event].say, event];
            }
          }
          return null;
        }""")
        page.mouse.move(box["x"] + spot[0], box["y"] + spot[1])
        page.wait_for_timeout(100)
        tip = page.locator("#tip").inner_text()
        self.check("the pointer shows what is there", " ".join(spot[2].split()) in
                   " ".join(tip.split()), (tip, spot))
        page.mouse.click(box["x"] + spot[0], box["y"] + spot[1])
        self.check("a click puts the focus on it", self.focus() == spot[3], (self.focus(), spot))
        page.mouse.move(5, 5)

    # The address.

    def address(self):
        page = self.page
        page.locator("#board").focus()
        page.keyboard.press("Home")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("+")
        self.settle()
        page.wait_for_timeout(400)
        wait_for(page, "location.hash.includes(`&e=${picture.view.focus}&`)")
        fragment = page.evaluate("location.hash")
        other = self.open(self.url + fragment)
        code = "(({ cursor, from, to, focus }) => [cursor, from, to, focus])(picture.view)"
        same = all(abs(one - two) < 0.001 for one, two in
                   zip(page.evaluate(code), other.evaluate(code)))
        self.check("an address leads to the same instant and event", same, fragment)
        other.context.close()
        wrong = self.open(self.url + "#t=abc&z=9~1&l=77&e=1e99")
        self.check("a damaged address opens the page", not wrong.problems
                   and wrong.locator("#board").get_attribute("aria-valuetext"), wrong.problems)
        wrong.context.close()

    # Text: the table, the accessibility tree, names.

    def text_of(self):
        page = self.page
        page.locator("summary").click()
        page.wait_for_timeout(200)
        size = page.evaluate("picture.state.models[picture.state.chosen].size")
        rows = page.locator("#rows tr").count()
        self.check("the table has few rows in the document", min(size, 10) < rows < 60, rows)
        page.locator("#board").focus()
        page.keyboard.press("End")
        page.wait_for_timeout(200)
        last = page.evaluate("picture.state.models[picture.state.chosen].events.at(-1).say")
        self.check("the table follows the focus",
                   last in page.locator("#rows tr[aria-current=true]").inner_text())
        page.locator("#scroll").evaluate("element => { element.scrollTop = 0; }")
        page.wait_for_timeout(200)
        first = page.evaluate("picture.state.models[picture.state.chosen].events[0].say")
        self.check("the table begins with the first event",
                   first in page.locator("#rows tr[aria-rowindex='2']").inner_text())
        page.locator("summary").click()
        tree = page.locator("body").aria_snapshot()
        names = ('radiogroup "Links"', 'slider "Instant"', 'heading "Moments that matter',
                 'searchbox "Search the events"', 'group "View"')
        missing = [name for name in names if name not in tree]
        self.check("names are in the accessibility tree", not missing, missing)
        unnamed = page.evaluate(UNNAMED)
        self.check("every control has a name", not unnamed, unnamed)
        self.policy()

    def policy(self):
        page = self.page
        policy = self.traces[page.evaluate("picture.state.chosen")][0].get("policy", {})
        if not policy:
            return
        page.locator("#policy").click()
        self.check("the policy is shown on demand", page.locator("#policy-values dt").count() > 0
                   and page.locator("#policy-panel").is_visible())
        page.keyboard.press("Escape")

    # What is drawn.

    def drawn(self):
        page = self.open()
        for link, (header, facts) in enumerate(self.traces):
            page.evaluate("index => document.querySelectorAll('.linkrow')[index].click()", link)
            page.evaluate("picture.show(...[-1, 2].map(share => share * picture.state.end), false)")
            page.wait_for_timeout(150)
            offset = page.evaluate(f"picture.state.models[{link}].offset")
            wrong = wrong_hits(facts, offset, page.evaluate(GRID))
            self.check(f"what is under each point is there: {header['name']}", not wrong, wrong[:5])
            empty = [key for key, colors in page.evaluate(DRAWN) if colors < 3]
            self.check(f"no lane is empty: {header['name']}", not empty, empty)
        self.check("drawing reports nothing", not page.problems, page.problems)
        page.context.close()

    # Contrast, forced colors, motion.

    def looks(self):
        for scheme in ("light", "dark"):
            page = self.open(color_scheme=scheme)
            page.locator("summary").click()
            worst = page.evaluate(CONTRAST)
            self.check(f"the contrast of texts is at least 4.5 ({scheme})", worst[0] >= 4.5, worst)
            worst = page.evaluate(CANVAS_CONTRAST)
            self.check(f"the contrast on the canvas is at least 4.5 ({scheme})", worst[0] >= 4.5,
                       worst)
            before = page.evaluate("getComputedStyle(document.body).color")
            page.locator("#theme").click()
            after = page.evaluate("getComputedStyle(document.body).color")
            self.check(f"the button changes the theme ({scheme})", before != after, before)
            page.context.close()
        page = self.open(forced_colors="active")
        worst = page.evaluate(CONTRAST)
        self.check("forced colors: texts can be read", worst[0] >= 4.5, worst)
        empty = [key for key, colors in page.evaluate(DRAWN) if colors < 2]
        same = page.evaluate("picture.lanes.surface.colors.ink === getComputedStyle("
                             "document.querySelector('.names b')).color")
        self.check("forced colors: the canvas uses them", not empty and same, (empty, same))
        page.context.close()
        page = self.open(reduced_motion="reduce")
        before = self.span(page)
        page.locator("#board").focus()
        page.keyboard.press("+")
        self.check("no movement where none is wanted", self.span(page) < before * 0.6)
        page.context.close()

    # A phone.

    def phone(self):
        page = self.open(viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)
        width = page.evaluate("document.documentElement.scrollWidth")
        self.check("nothing is wider than a phone", width <= PHONE["width"], width)
        small = page.evaluate("""() => [...document.querySelectorAll(
          '.tools button, .tools input, .moment, .thread, summary')]
          .filter(element => element.getBoundingClientRect().height < 24)
          .map(element => element.outerHTML.slice(0, 80))""")
        self.check("targets are at least 24 px high", not small, small)
        area = page.locator("#board").bounding_box()
        y = area["y"] + 150
        session = page.context.new_cdp_session(page)

        def touch(kind, *places):
            points = [{"x": x, "y": y, "id": index} for index, x in enumerate(places)]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        before = self.span(page)
        touch("touchStart", 150, 230)
        for distance in (10, 30, 60, 90):
            touch("touchMove", 150 - distance, 230 + distance)
        touch("touchEnd")
        page.wait_for_timeout(200)
        self.check("two fingers zoom", self.span(page) < before * 0.5, self.span(page))
        start = page.evaluate("picture.view.from")
        touch("touchStart", 250)
        for x in (240, 200, 160):
            touch("touchMove", x)
        touch("touchEnd")
        page.wait_for_timeout(200)
        self.check("one finger moves", page.evaluate("picture.view.from") > start)
        self.check("a phone reports nothing", not page.problems, page.problems)
        page.context.close()

    # Print.

    def paper(self):
        page = self.open(color_scheme="dark")
        before = page.evaluate("[picture.lanes.width, document.documentElement.dataset.theme]")
        pages = page.pdf(landscape=True, prefer_css_page_size=True, print_background=True)
        page.wait_for_timeout(200)
        count = len(re.findall(rb"/Type\s*/Page\b", pages))
        moments = page.evaluate("picture.state.models[picture.state.chosen].moments.length")
        links = len(self.traces)
        most = 1 if moments <= 9 and links <= 6 else 2 if moments <= 40 and links <= 20 else 99
        self.check("print: the picture and its moments fit on a page", count <= most,
                   (count, moments))
        after = page.evaluate("[picture.lanes.width, document.documentElement.dataset.theme]")
        self.check("print: the page is as before afterwards", before == after, (before, after))
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        self.check("print: the paper is white", color == "rgb(255, 255, 255)", color)
        page.context.close()

    # Other traces.

    def other_traces(self):
        self.opens("a seed as a number", trace({"seed": 3}), "seed 3")
        self.opens("a seed as a string", trace({"seed": "18446744073709551615"}),
                   "seed 18446744073709551615")
        finding = {"t": 20, "lane": "finding", "kind": "finding", "name": "stuck", "say": "Stuck."}
        page = self.opens("a seed with a finding", trace(facts=[*FACTS, finding]), close=False)
        value = page.locator("#board").get_attribute("aria-valuetext")
        self.check("a seed with a finding opens at it", "Stuck." in value, value)
        page.context.close()
        self.opens("no states", trace(facts=[f for f in FACTS if f["kind"] != "state"]))
        self.opens("no link", trace(facts=[FACTS[0]]), "without a link")
        self.opens("a link that did not connect", trace(facts=[
            FACTS[4], FACTS[3], {**FACTS[8], "why": "refused"}]), "did not connect")
        self.opens("all at one instant", trace({"end": 0}, [{**f, "t": 0} for f in FACTS]))
        values = ["background", "suspended", "resumed", "killed", "launched", "foreground", "new"]
        self.opens("states of the app", trace(facts=[*FACTS, *(
            {"t": 17 + at, "lane": "device", "kind": "app", "say": value, "value": value}
            for at, value in enumerate(values))]))
        paths = ["none", "login page", "cellular", ""]
        self.opens("paths", trace(facts=[*FACTS, *(
            {"t": 17 + at, "lane": "device", "kind": "path", "say": value, "value": value}
            for at, value in enumerate(paths))]))
        self.opens("several phones", trace(), "example", more=[
            trace({"startedAt": "2026-01-01T00:00:10Z"}), trace({"name": "another"})])
        values = {"liveness.silence": "10s", "reconnect.delays": "0s, 1s, 2s"}
        page = self.opens("values of a policy", trace({"policy": {"name": "p", "values": values}}),
                          close=False)
        page.locator("#policy").click()
        shown = [page.locator(f"#policy-values {name}").all_inner_texts() for name in ("dt", "dd")]
        self.check("the panel has every value of the policy, with units",
                   shown == [list(values), ["10 s", "0 s, 1 s, 2 s"]], shown)
        page.context.close()
        page = self.opens("no policy", trace({"policy": {}}), close=False)
        self.check("no panel without a policy", not page.locator("#policy").is_visible())
        page.context.close()
        self.newer()
        self.markup()
        self.reasons()
        self.sentences()
        self.restarts()
        self.silences()
        self.layouts()

    def opens(self, name, text, expected="", more=(), close=True):
        page = self.page_of(element(text), *map(element, more))
        words = page.locator("body").inner_text()
        page.locator("#board").focus()
        for key in ("ArrowRight", "Shift+ArrowRight", "Shift+ArrowLeft", "Enter", "Home", "End"):
            page.keyboard.press(key)
        page.wait_for_timeout(250)
        self.check(f"opens: {name}", not page.problems and expected in words,
                   (page.problems, words[:300]))
        if close:
            page.context.close()
        return page

    def story_of(self, header, facts):
        """Returns the sentences of a trace, and the words of its moments."""
        page = self.page_of(element(trace(header, facts)))
        story = page.locator("#story").inner_text()
        moments = page.locator("#moments li").all_inner_texts()
        page.context.close()
        return story, [" | ".join(words.split("\n")) for words in moments]

    def tells(self, name, seen, *expected):
        missing = [words for words in expected if words not in str(seen)]
        self.check(f"tells {name}", not missing, (missing, seen))

    def sentences(self):
        """Checks the headline: messages, findings, links without a connection, uploads."""
        messages = [
            {"t": 4 + at, "lane": "data", "kind": "message", "say": "Shown.", "made": made,
             "via": via} for at, (made, via) in enumerate(
                 [(4, "live"), (-2, "live"), (5, "catchUp"), (6, "poll")])]
        facts = sorted([*FACTS, *messages], key=lambda fact: fact["t"])
        for fact in facts:
            fact.pop("by", None)
        story, _ = self.story_of({}, facts)
        self.tells("which messages were late", story,
                   "4 messages shown, 3 late (1 fetched later, 1 polled, 1 more than 5 s after",
                   "whether messages are missing is not known", "Checked: no findings.")
        accepted = [{"t": 3, "lane": "server", "kind": "accepted", "say": "Accepted."}] * 4
        story, _ = self.story_of({"world": True, "source": "journal"},
                                 sorted([*facts, *accepted], key=lambda fact: fact["t"]))
        self.tells("what the server had", story, "none missing", "The journal has no findings.")
        leave = {"t": 9, "lane": "user", "kind": "leave", "say": "The user leaves."}
        idle = {"t": 9, "lane": "link", "kind": "state", "say": "Off.", "state": "idle"}
        story, moments = self.story_of({}, [
            FACTS[0], FACTS[4], FACTS[3],
            {"t": 1.5, "lane": "attempt", "kind": "end", "say": "Refused.", "attempt": 1,
             "why": "refused", "lost": True}, leave, idle])
        self.tells("of a link that never connected", story,
                   "It did not connect in 9 s (1 attempt, refused).")
        self.check("no gap without a connection", "gap" not in story, story)
        self.tells("of its end", moments, "switched off, 7.5 s later", "No longer wanted")
        post = {"lane": "data", "kind": "post", "say": "Sent.", "from": 1}
        story, _ = self.story_of({}, [
            FACTS[0], {**idle, "t": 0}, {**post, "t": 2, "ok": True}, {**post, "t": 3, "ok": False},
            {**leave, "t": 4}])
        self.tells("of uploads", story, "It sent 2 uploads in 4 s, 1 accepted, 1 failed.")
        same = [{**FACTS[6], "t": 2 + at / 2} for at in range(6)]
        page = self.page_of(element(trace(facts=[*FACTS[:6], *same])))
        many = page.evaluate("picture.state.models[0].bands.items"
                             ".filter(one => one.state === 'connected').length")
        self.check("a state that is told again is drawn once", many == 1, many)
        page.context.close()

    def restarts(self):
        """Checks kills of the app, told and inferred, and the numbers of connections."""
        app = {"lane": "device", "kind": "app", "say": "App."}
        again = [
            {**app, "t": 14, "value": "launched"},
            *({**fact, "t": 13 + fact["t"]} for fact in FACTS[3:8] if fact["kind"] != "in")]
        for fact in again:
            fact.pop("by", None)
        killed = [
            {**app, "t": 8, "value": "killed"},
            {"t": 8, "lane": "attempt", "kind": "end", "say": "Over.", "attempt": 1,
             "why": "killed", "lost": True}]
        fault = {"t": 8, "until": 13, "lane": "network", "kind": "trouble", "say": "Killed.",
                 "name": "phone killed"}
        for name, facts in (("told", killed), ("inferred", [fault])):
            story, moments = self.story_of({}, [*FACTS[:8], *facts, *again])
            self.tells(f"of a kill ({name})", story, "It never dropped",
                       "killed once (not running for 6 s)", "not counted as a gap")
            self.tells(f"of the next run ({name})", moments, "The app was killed", "run 2",
                       "Not running for 6 s")
        states = [{"t": at, "lane": "link", "kind": "state", "say": "S.", "state": state}
                  for at, state in ((13, "standby"), (14, "connecting"), (14.5, "standby"))]
        facts = sorted([*FACTS[:9], *states, *FACTS[10:]], key=lambda fact: fact["t"])
        for fact in facts:
            fact.pop("by", None)
        more = {"t": 15.2, "lane": "attempt", "kind": "end", "say": "No.", "attempt": 2,
                "why": "refused", "lost": True}
        third = [{**facts[at], "attempt": 3, "t": 15.5 + at / 100} for at in (-3, -2)]
        _, moments = self.story_of({}, [*facts[:-2], more, *third, {**facts[-1], "t": 16}])
        self.tells("how long it polled in all", moments, "Polled for 2.5 s instead")
        self.tells("which connection came back", moments, "with connection 3, the 2nd try")

    def silences(self):
        """Checks that a silence crosses the limit at the limit, and what a suspended app says."""
        app = {"lane": "device", "kind": "app", "say": "App."}
        facts = [*FACTS[:8], {**app, "t": 5, "value": "suspended"},
                 {**app, "t": 28, "value": "resumed"}, {**FACTS[8], "t": 29}]
        page = self.page_of(element(trace(facts=facts)))
        page.evaluate("picture.show(0, 30, false)")
        page.wait_for_timeout(200)
        seen = page.evaluate("""() => {
          const { lanes } = picture;
          const lane = lanes.lane('silence');
          const canvas = document.getElementById('canvas');
          const ratio = canvas.width / lanes.width;
          const room = lane.height - 18;
          const y = lane.bottom - 6 - room / 1.12 + 3;
          const pen = canvas.getContext('2d');
          const color = time => [...pen.getImageData(lanes.x(time) * ratio, y * ratio, 1, 1).data];
          return [color(12.5), color(16), color(16.02), color(20)].map(([r, g, b]) => r - b > 60);
        }""")
        self.check("a silence crosses the limit at the limit", not seen[0] and any(seen[1:]), seen)
        page.evaluate("""() => {
          const { lanes } = picture;
          const lane = lanes.lane('silence');
          const box = document.getElementById('board').getBoundingClientRect();
          document.getElementById('board').dispatchEvent(new PointerEvent('pointermove', {
            clientX: box.left + lanes.x(22), clientY: box.top + lane.top + 20, bubbles: true }));
        }""")
        tip = page.locator("#tip").inner_text()
        self.tells("of a suspended app", tip, "19 s; asleep, could not check the limit of 10 s")
        page.context.close()

    def layouts(self):
        """Checks what a choice shows, and what stays where it is."""
        late = [{**fact, "t": fact["t"] + 1000} for fact in FACTS]
        page = self.page_of(element(trace({"end": 1100})),
                            element(trace({"name": "another", "end": 1100}, late)))
        page.locator(".linkrow").nth(1).click(position={"x": 300, "y": 5})
        page.evaluate(STILL)
        cursor, start, end = page.evaluate(
            "(({ cursor, from, to }) => [cursor, from, to])(picture.view)")
        self.check("a choice shows the link's life at its worst moment",
                   abs(cursor - 1013) < 0.01 and start > 900 and end >= 1099, (cursor, start, end))
        before = page.locator("#help").bounding_box()
        page.locator("#copy").click()
        page.wait_for_timeout(100)
        after = page.locator("#help").bounding_box()
        words = page.locator("#copy").inner_text()
        self.check("the answer of a button moves nothing", before == after
                   and words in ("Copied", "In address"), (words, before, after))
        board, tip = page.evaluate("""() => {
          const board = document.getElementById('board');
          const box = board.getBoundingClientRect();
          board.dispatchEvent(new PointerEvent('pointermove', {
            clientX: box.right - 6, clientY: box.top + 60, bubbles: true }));
          return [box.right, document.getElementById('tip').getBoundingClientRect().right];
        }""")
        self.check("the tip does not cover the card", tip <= board, (tip, board))
        page.context.close()
        facts = [{**fact, "t": fact["t"] + 20 * at, "attempt": at + 1} for at in range(40)
                 for fact in (FACTS[3], FACTS[5], FACTS[8])]
        page = self.page_of(element(trace({"end": 800}, facts)))
        page.locator("#board").focus()
        for key in ("Shift+ArrowRight", "Shift+ArrowRight", "End", "Shift+ArrowLeft"):
            page.keyboard.press(key)
            page.wait_for_timeout(150)
            whole = page.evaluate("""() => {
              const list = document.getElementById('moments').getBoundingClientRect();
              const one = document.querySelector('.moment[aria-current]')?.getBoundingClientRect();
              return !one || (one.top >= list.top - 1 && one.bottom <= list.bottom + 1);
            }""")
            self.check(f"the moment in focus is whole after {key}", whole)
        page.context.close()

    def newer(self):
        facts = [
            {"t": 20, "lane": "satellite", "kind": "state", "say": "A lane of the future."},
            {"t": 21, "lane": "link", "kind": "toString", "say": "A kind of the future.", "x": {}},
            {"t": 22, "lane": "__proto__", "kind": "constructor", "say": "Another of them."},
            {"t": 23, "lane": "link", "kind": "state", "say": "A new state.", "state": "dozing"},
            {"t": 24, "lane": "traffic", "kind": "in", "say": "Odd fields.", "by": 999,
             "attempt": "x", "until": "y", "bytes": None},
        ]
        page = self.opens("facts of a newer version", trace({"future": [1]}, [*FACTS, *facts]),
                          close=False)
        page.locator("summary").click()
        page.wait_for_timeout(200)
        table = page.locator("#rows").inner_text()
        missing = [fact["say"] for fact in facts if fact["say"] not in table]
        self.check("facts of a newer version are in the table", not missing, missing)
        hits = {hit[3] for hit in page.evaluate(GRID)}
        places = range(len(FACTS), len(FACTS) + 3)
        self.check("facts of a newer version are not drawn", not hits & set(places), hits)
        page.context.close()

    def markup(self):
        evil = "<img src=x onerror=alert(1)></script><script>alert(2)</script><!-- <b>x</b>"
        header = {"name": evil, "machine": evil, "source": evil, "seed": evil, "policy": {
            "name": evil, "values": {evil: evil}}}
        facts = [{**fact, "say": evil, "value": evil, "why": evil, "name": evil} for fact in FACTS]
        facts.append({"t": 18, "lane": "finding", "kind": "finding", "say": evil, "name": evil})
        self.stays_text(self.opens("markup", trace(header, facts), close=False), evil, "")
        packed = self.page_of(element(trace(header, facts), packed=True))
        self.stays_text(packed, evil, ", in a packed trace too")

    def stays_text(self, page, evil, where):
        page.on("dialog", lambda dialog: (page.problems.append("dialog"), dialog.dismiss()))
        page.locator("summary").click()
        page.locator("#policy").click()
        page.wait_for_timeout(200)
        made = page.evaluate("document.querySelectorAll('img, b b, h1 b, td b, script').length"
                             " - document.scripts.length")
        named = page.locator(".linkrow").inner_text()
        good = made == 0 and not page.problems and "<img" in named and evil in page.title()
        self.check(f"markup in names and sentences stays text{where}", good,
                   (made, page.problems, named, page.title()))
        page.context.close()

    def reasons(self):
        words = ["silent", "no pong", "no answer", "network changed", "background", "refused",
                 "close 1001", "HTTP 503", "login page", "no route", "unknown name", "ended",
                 "reset", "idle", "rejected", "superseded", "offline", "TLS", "protocol", "proxy",
                 "local", "killed", "sign in", "rate limit", "settling", "a new reason", ""]
        facts = []
        for number, why in enumerate(words):
            facts += [
                {"t": number, "lane": "attempt", "kind": "open", "say": "o", "attempt": number},
                {"t": number + .2, "lane": "attempt", "kind": "up", "say": "u", "attempt": number},
                {"t": number + .8, "lane": "attempt", "kind": "end", "say": "e", "attempt": number,
                 "why": why, "lost": True}]
        page = self.opens("reasons", trace(facts=facts), close=False)
        titles = page.locator(".moment strong").all_inner_texts()
        good = len(titles) == len(words) == len(set(titles)) and all(titles)
        self.check("every reason has a title", good, titles)
        for title in ("Closed by the server (1001 going away)", "HTTP 503 service unavailable",
                      "A new reason", "Connection refused"):
            self.check(f"a title: {title}", title in titles, titles)
        page.context.close()

    # Traces that cannot be read.

    def damaged(self):
        good = trace()
        cut = good[: len(good) - 30]
        broken = good.replace('"t": 13,', '"t": "late",', 1)
        self.says("a trace that is cut off", cut, "damaged", True)
        self.says("a line that is not a fact", broken, "line 10", True)
        self.says("an empty trace", "", "empty", False)
        self.says("a trace without facts", good.split("\n")[0], "no facts", False)
        self.says("another version", trace({"trace": 2}), "version 2", False)
        self.says("another file", "hello\n", "not a trace", False)
        self.says("a journal", '{"journal":1,"machine":"session"}\n', "replay --html", False)
        page = self.page_of(element(trace({"trace": 9})), element(good))
        self.check("one of two traces opens", "version 9" in page.locator("#message").inner_text()
                   and page.locator(".linkrow").count() == 1 and not page.problems, page.problems)
        page.context.close()
        page = self.page_of()
        self.check("a page without traces says so",
                   "no trace" in page.locator("#message").inner_text() and not page.problems)
        page.context.close()

    def says(self, name, text, expected, is_open):
        page = self.page_of(element(text))
        message = page.locator("#message").inner_text()
        visible = page.locator("#board").is_visible()
        self.check(f"a message for {name}", expected in message and visible == is_open
                   and not page.problems, (message, visible, page.problems))
        page.context.close()

    # Traces that are packed.

    def packed(self):
        page = self.page_of(element(trace({"name": "packed"}), packed=True))
        self.check("a packed trace opens", page.title().startswith("packed")
                   and not page.problems, (page.title(), page.problems))
        page.context.close()
        whole = element(trace(), packed=True)
        page = self.page_of(whole.replace(whole[60:90], "A" * 30))
        message = page.locator("#message").inner_text()
        self.check("a message for a damaged packed trace", "damaged" in message
                   and not page.problems, (message, page.problems))
        page.context.close()

    # Traces that are dropped.

    def dropped(self):
        page = self.open()
        before = page.title()
        page.evaluate(DROP, ["a.journal", '{"journal":1,"machine":"session"}\n{"at":1}\n'])
        page.wait_for_timeout(300)
        message = page.locator("#message").inner_text()
        self.check("a dropped journal: how its page is made", "holdfast replay --html" in message
                   and page.title() == before, message)
        page.evaluate(DROP, ["a.trace", trace({"name": "dropped"})])
        page.wait_for_timeout(300)
        self.check("a dropped trace opens", page.title().startswith("dropped")
                   and not page.locator("#message").is_visible(), page.title())
        self.check("a drop reports nothing", not page.problems, page.problems)
        page.context.close()


def wrong_hits(facts, offset, grid):
    """Returns the points of a grid whose event is not where the trace has it."""
    kinds = {
        "link": {("link", "state")},
        "connections": {("attempt", kind) for kind in ("open", "up", "end")},
        "traffic": {("traffic", kind) for kind in
                    ("in", "out", "pingIn", "pingOut", "pong", "poll")},
        "messages": {("data", "message"), ("data", "sent")},
        "outbox": {("data", "outbox"), ("data", "sent"), ("user", "wrote")},
        "requests": {("data", "fetched"), ("data", "post"), ("store", "commit")},
        "server": {("server", kind) for kind in ("down", "draining", "note")},
    }
    ends = span_ends(facts)
    pauses = pauses_of(facts)
    wrong = []
    # A killed app has no state of the link until the next one.
    states = [fact for fact in facts if fact["kind"] == "state" or fact.get("value") == "killed"]
    for key, time, reach, event in grid:
        time -= offset
        if event < 0:
            last = [fact for fact in states if fact["t"] < time - reach][-1:]
            if any(a - reach <= time <= b + reach for a, b in pauses):
                continue
            if key == "link" and last and last[0]["kind"] == "state" and time < states[-1]["t"]:
                wrong.append((key, time, "nothing"))
            continue
        fact = facts[event]
        a, b = span_of(fact, ends)
        allowed = kinds.get(key)
        if allowed and (fact["lane"], fact["kind"]) not in allowed:
            wrong.append((key, time, fact))
        elif not a - 2 * reach <= time <= b + 2 * reach:
            wrong.append((key, time, (a, b), fact))
    return wrong


def pauses_of(facts):
    """Returns the times between runs of the app that no fact ends: nothing is known of the link."""
    pauses, last, begun, killed = [], 0, False, False
    for fact in facts:
        value = fact.get("value") if fact["kind"] == "app" else None
        if value == "launched" and begun and not killed:
            fault = [one["t"] for one in facts if one["kind"] == "trouble"
                     and "kill" in one["name"] and "server" not in one["name"]
                     and one["t"] < fact["t"]][-1:]
            pauses.append((min([last, *fault]), fact["t"]))
        begun = begun or value == "launched"
        killed = value == "killed" or (killed and value != "launched")
        if fact["lane"] not in ("network", "server", "finding"):
            last = fact["t"]
    return pauses


def span_ends(facts):
    """Returns the ends of facts that last until the next one of their kind or connection."""
    ends, last = {}, {}
    finish = facts[-1]["t"] + 1e9
    over = {fact.get("attempt"): fact["t"] for fact in facts if fact["kind"] == "end"}
    for fact in facts:
        name = fact["kind"]
        if name in ("open", "up"):
            ends[id(fact)] = over.get(fact.get("attempt"), finish)
        if name in ("down", "trouble") and "until" not in fact:
            ends[id(fact)] = finish
        if name in ("state", "app", "path"):
            if name in last:
                ends[id(last[name])] = fact["t"]
            last[name] = fact
            ends[id(fact)] = finish
    return ends


def span_of(fact, ends):
    """Returns the times between which a fact is drawn."""
    begin = min(fact["t"], fact.get("from", fact["t"]), fact.get("made", fact["t"]))
    return begin, max(fact["t"], fact.get("until", fact["t"]), ends.get(id(fact), fact["t"]))


def arguments():
    """Returns the arguments of this program."""
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--schema")
    options.add_argument("page", type=pathlib.Path)
    options.add_argument("others", nargs="*", type=pathlib.Path)
    return options.parse_args()


def check_others(checks, pages):
    """Opens further pages, and returns their traces."""
    traces = []
    for path in pages:
        text = path.read_text(encoding="utf-8")
        found = [checks.facts(*match) for match in TRACE.findall(text)]
        page = checks.open(path.resolve().as_uri())
        shown = page.locator(".linkrow").count()
        names = page.locator("#links").inner_text()
        good = shown == len(found) > 0 and all(header["name"] in names for header, _ in found)
        checks.check(f"{path.name} opens with its {len(found)} traces", good and not page.problems,
                     (shown, names, page.problems, page.locator("#message").inner_text()))
        page.context.close()
        traces += found
    return traces


def check_schema(checks, path, traces):
    """Validates traces."""
    from trace_schema import Schema
    schema = Schema(path)
    for header, facts in traces:
        problems = schema.problems(header, facts)
        name = f"{header['machine']} “{header['name']}” of {len(facts)} facts"
        checks.check(f"valid: {header['source']} {name}", not problems, problems)
        accepted = schema.accepted(header, facts)
        checks.check(f"the schema refuses its damaged lines: {name}", not accepted, accepted[:3])


def chromium():
    """Returns the path of Chromium; `None` for that of Playwright."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def main():
    options = arguments()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        checks = Checks(browser, options.page, folder)
        traces = checks.traces + check_others(checks, options.others)
        if options.schema:
            check_schema(checks, options.schema, traces)
        status = checks.run()
        browser.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
