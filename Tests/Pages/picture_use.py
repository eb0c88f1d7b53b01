"""Checks of what a person does on the page: keys, the pointer, the address, the table."""

import re

from pages import FRAMES, UNNAMED, wait_for
from pictures import STILL, PictureChecks


class Use(PictureChecks):
    """Checks of one page that is open all the time."""

    def run(self):
        for part in (self.loading, self.opening, self.keys, self.pointer, self.address,
                     self.text_of):
            part()
        self.check("the console has no message until the end", not self.page.problems,
                   self.page.problems)
        self.page.context.close()

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

    def focus(self):
        return self.page.evaluate("picture.view.focus")

    def settle(self):
        """Waits until the interval in sight no longer moves."""
        self.page.evaluate(STILL)

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
        before = self.span(self.page)
        page.keyboard.press("+")
        self.settle()
        self.check("plus zooms", self.span(self.page) < before * 0.6, self.span(self.page))
        start = page.evaluate("picture.view.from")
        page.keyboard.press("]")
        self.settle()
        self.check("] moves", page.evaluate("picture.view.from") > start)
        page.keyboard.press("0")
        self.settle()
        seen = self.span(page)
        self.check("0 shows everything", abs(seen - before) < before * 0.01, seen)
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

    def pointer(self):
        page = self.page
        self.settle()
        box = page.locator("#board").bounding_box()
        page.mouse.move(box["x"] + 300, box["y"] + 100)
        time, before = page.evaluate("picture.lanes.time(300)"), self.span(self.page)
        page.mouse.wheel(0, -240)
        wait_for(page, f"picture.view.to - picture.view.from < {before * 0.9}")
        self.settle()
        moved = abs(page.evaluate("picture.lanes.time(300)") - time)
        self.check("the wheel zooms around the pointer",
                   moved < before / 500 and self.span(self.page) < before * 0.9, moved)
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
        start, seen = page.evaluate("picture.view.from"), self.span(page)
        self.check("a drag with Shift zooms to what it measures",
                   abs(start - a) < (b - a) / 50 and abs(seen - (b - a)) < (b - a) / 50,
                   (a, b, start, seen))
        page.keyboard.press("0")
        self.settle()
        # The lanes are drawn some frames after the interval has changed.
        spot = page.wait_for_function("""() => {
          const { lanes } = picture;
          for (const lane of lanes.plan.lanes) {
            for (let x = 30; x < lanes.width - 30; x++) {
              const y = lane.top + lane.height / 2;
              const event = lanes.hit(x, y);
              if (event >= 0) return [x, y, lanes.surface.model.events[event].say, event];
            }
          }
          return null;
        }""").json_value()
        page.mouse.move(box["x"] + spot[0], box["y"] + spot[1])
        page.evaluate(FRAMES)
        tip = page.locator("#tip").inner_text()
        self.check("the pointer shows what is there", " ".join(spot[2].split()) in
                   " ".join(tip.split()), (tip, spot))
        page.mouse.click(box["x"] + spot[0], box["y"] + spot[1])
        self.check("a click puts the focus on it", self.focus() == spot[3], (self.focus(), spot))
        page.mouse.move(5, 5)

    def address(self):
        page = self.page
        page.locator("#board").focus()
        page.keyboard.press("Home")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("+")
        self.settle()
        # The page writes its address a quarter of a second after the last change.
        page.wait_for_timeout(300)
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

    def text_of(self):
        page = self.page
        page.locator("summary").click()
        page.evaluate(FRAMES)
        size = page.evaluate("picture.state.models[picture.state.chosen].size")
        rows = page.locator("#rows tr").count()
        self.check("the table has few rows in the document", min(size, 10) < rows < 60, rows)
        page.locator("#board").focus()
        page.keyboard.press("End")
        page.evaluate(FRAMES)
        last = page.evaluate("picture.state.models[picture.state.chosen].events.at(-1).say")
        self.check("the table follows the focus",
                   last in page.locator("#rows tr[aria-current=true]").inner_text())
        page.locator("#scroll").evaluate("element => { element.scrollTop = 0; }")
        page.evaluate(FRAMES)
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
