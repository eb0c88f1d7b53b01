"""Checks of pages with other traces: unusual, damaged, packed and dropped ones."""

from pages import FRAMES, wait_for
from pictures import FACTS, GRID, STILL, PictureChecks, element, trace

DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  window.dispatchEvent(new DragEvent('drop', { dataTransfer: data }));
}"""


class OtherTraces(PictureChecks):
    """Checks of pages, each with another trace."""

    def run(self):
        for part in (self.other_traces, self.newer, self.markup, self.layouts, self.damaged,
                     self.packed, self.dropped):
            part()

    def other_traces(self):
        self.opens("a seed as a number", trace({"seed": 3}), "seed 3")
        self.opens("a seed as a string", trace({"seed": "18446744073709551615"}),
                   "seed 18446744073709551615")
        finding = {"t": 20, "lane": "finding", "kind": "finding", "name": "stuck", "say": "Stuck."}
        page = self.opens("a seed with a finding", trace(facts=[*FACTS, finding]))
        value = page.locator("#board").get_attribute("aria-valuetext")
        self.check("a seed with a finding opens at it", "Stuck." in value, value)
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
        page = self.opens("values of a policy", trace({"policy": {"name": "p", "values": values}}))
        page.locator("#policy").click()
        shown = [page.locator(f"#policy-values {name}").all_inner_texts() for name in ("dt", "dd")]
        self.check("the panel has every value of the policy, with units",
                   shown == [list(values), ["10 s", "0 s, 1 s, 2 s"]], shown)
        page = self.opens("no policy", trace({"policy": {}}))
        self.check("no panel without a policy", not page.locator("#policy").is_visible())

    def opens(self, name, text, expected="", more=()):
        """Checks that a trace opens, and that keys report nothing. Returns the page."""
        page = self.page_of(element(text), *map(element, more))
        words = page.locator("body").inner_text()
        page.locator("#board").focus()
        for key in ("ArrowRight", "Shift+ArrowRight", "Shift+ArrowLeft", "Enter", "Home", "End"):
            page.keyboard.press(key)
        page.evaluate(STILL)
        self.check(f"opens: {name}", not page.problems and expected in words,
                   (page.problems, words[:300]))
        return page

    def newer(self):
        facts = [
            {"t": 20, "lane": "satellite", "kind": "state", "say": "A lane of the future."},
            {"t": 21, "lane": "link", "kind": "toString", "say": "A kind of the future.", "x": {}},
            {"t": 22, "lane": "__proto__", "kind": "constructor", "say": "Another of them."},
            {"t": 23, "lane": "link", "kind": "state", "say": "A new state.", "state": "dozing"},
            {"t": 24, "lane": "traffic", "kind": "in", "say": "Odd fields.", "by": 999,
             "attempt": "x", "until": "y", "bytes": None},
        ]
        page = self.opens("facts of a newer version", trace({"future": [1]}, [*FACTS, *facts]))
        page.locator("summary").click()
        page.evaluate(FRAMES)
        table = page.locator("#rows").inner_text()
        missing = [fact["say"] for fact in facts if fact["say"] not in table]
        self.check("facts of a newer version are in the table", not missing, missing)
        hits = {hit[3] for hit in page.evaluate(GRID)}
        places = range(len(FACTS), len(FACTS) + 3)
        self.check("facts of a newer version are not drawn", not hits & set(places), hits)

    def markup(self):
        evil = "<img src=x onerror=alert(1)></script><script>alert(2)</script><!-- <b>x</b>"
        header = {"name": evil, "machine": evil, "source": evil, "seed": evil, "policy": {
            "name": evil, "values": {evil: evil}}}
        facts = [{**fact, "say": evil, "value": evil, "why": evil, "name": evil} for fact in FACTS]
        facts.append({"t": 18, "lane": "finding", "kind": "finding", "say": evil, "name": evil})
        self.stays_text(self.opens("markup", trace(header, facts)), evil, "")
        packed = self.page_of(element(trace(header, facts), packed=True))
        self.stays_text(packed, evil, ", in a packed trace too")

    def stays_text(self, page, evil, where):
        page.locator("summary").click()
        page.locator("#policy").click()
        page.evaluate(FRAMES)
        made = page.evaluate("document.querySelectorAll('img, b b, h1 b, td b, script').length"
                             " - document.scripts.length")
        named = page.locator(".linkrow").inner_text()
        good = made == 0 and not page.problems and "<img" in named and evil in page.title()
        self.check(f"markup in names and sentences stays text{where}", good,
                   (made, page.problems, named, page.title()))

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
        wait_for(page, "['Copied', 'In address'].includes(document.getElementById('copy').innerText)")
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
        facts = [{**fact, "t": fact["t"] + 20 * at, "attempt": at + 1} for at in range(40)
                 for fact in (FACTS[3], FACTS[5], FACTS[8])]
        page = self.page_of(element(trace({"end": 800}, facts)))
        page.locator("#board").focus()
        for key in ("Shift+ArrowRight", "Shift+ArrowRight", "End", "Shift+ArrowLeft"):
            page.keyboard.press(key)
            page.evaluate(STILL)
            whole = page.evaluate("""() => {
              const list = document.getElementById('moments').getBoundingClientRect();
              const one = document.querySelector('.moment[aria-current]')?.getBoundingClientRect();
              return !one || (one.top >= list.top - 1 && one.bottom <= list.bottom + 1);
            }""")
            self.check(f"the moment in focus is whole after {key}", whole)

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
        page = self.page_of()
        self.check("a page without traces says so",
                   "no trace" in page.locator("#message").inner_text() and not page.problems)

    def says(self, name, text, expected, is_open):
        page = self.page_of(element(text))
        message = page.locator("#message").inner_text()
        visible = page.locator("#board").is_visible()
        self.check(f"a message for {name}", expected in message and visible == is_open
                   and not page.problems, (message, visible, page.problems))

    def packed(self):
        page = self.page_of(element(trace({"name": "packed"}), packed=True))
        self.check("a packed trace opens", page.title().startswith("packed")
                   and not page.problems, (page.title(), page.problems))
        whole = element(trace(), packed=True)
        page = self.page_of(whole.replace(whole[60:90], "A" * 30))
        message = page.locator("#message").inner_text()
        self.check("a message for a damaged packed trace", "damaged" in message
                   and not page.problems, (message, page.problems))

    def dropped(self):
        page = self.show(self.url)
        before = page.title()
        page.evaluate(DROP, ["a.journal", '{"journal":1,"machine":"session"}\n{"at":1}\n'])
        wait_for(page, "document.getElementById('message').innerText !== ''")
        message = page.locator("#message").inner_text()
        self.check("a dropped journal: how its page is made", "holdfast replay --html" in message
                   and page.title() == before, message)
        page.evaluate(DROP, ["a.trace", trace({"name": "dropped"})])
        wait_for(page, "document.getElementById('message').innerText === ''")
        self.check("a dropped trace opens", page.title().startswith("dropped")
                   and not page.locator("#message").is_visible(), page.title())
        self.check("a drop reports nothing", not page.problems, page.problems)
