"""Checks of what the page draws: lanes, contrast, a phone, paper."""

import re

from pages import CONTRAST, FRAMES, PHONE
from pictures import GRID, STILL, PictureChecks

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


class Looks(PictureChecks):
    """Checks of pages in other themes and sizes."""

    def run(self):
        for part in (self.drawn, self.looks, self.phone, self.paper):
            part()

    def drawn(self):
        page = self.open()
        for link, (header, facts) in enumerate(self.traces):
            page.evaluate("index => document.querySelectorAll('.linkrow')[index].click()", link)
            page.evaluate("picture.show(...[-1, 2].map(share => share * picture.state.end), false)")
            page.evaluate(FRAMES)
            offset = page.evaluate(f"picture.state.models[{link}].offset")
            wrong = wrong_hits(facts, offset, page.evaluate(GRID))
            self.check(f"what is under each point is there: {header['name']}", not wrong, wrong[:5])
            empty = [key for key, colors in page.evaluate(DRAWN) if colors < 3]
            self.check(f"no lane is empty: {header['name']}", not empty, empty)
        self.check("drawing reports nothing", not page.problems, page.problems)
        page.context.close()

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
        page.evaluate(STILL)
        self.check("two fingers zoom", self.span(page) < before * 0.5, self.span(page))
        start = page.evaluate("picture.view.from")
        touch("touchStart", 250)
        for x in (240, 200, 160):
            touch("touchMove", x)
        touch("touchEnd")
        page.evaluate(STILL)
        self.check("one finger moves", page.evaluate("picture.view.from") > start)
        self.check("a phone reports nothing", not page.problems, page.problems)
        page.context.close()

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


def wrong_hits(facts, offset, grid):
    """Returns the points of a grid whose event is not where the trace has it."""
    kinds = {
        "link": {("link", "state")},
        "connections": {("attempt", kind) for kind in ("open", "up", "phases", "end")},
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
