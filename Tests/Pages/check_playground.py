#!/usr/bin/env python3
"""Checks the page that scripts/playground builds, in Chromium.

    check_playground.py PAGE            prints a line for each check, and exits with 1 if one fails
    check_playground.py PAGE REQUEST…   prints the engine's answer to each request, a line each

Needs Playwright for Python and Chromium; CHROMIUM is the path of its program.
"""

import pathlib
import random
import sys

import pages
from pages import CONTRAST, DESKTOP, PHONE, wait_for

UNNAMED = """() => [...document.querySelectorAll('button, input, select, [role], a, summary')]
  .filter(element => !(element.getAttribute('aria-label') || element.labels?.length
    || element.getAttribute('aria-labelledby') || element.textContent.trim()
    || ['status', 'alert'].includes(element.getAttribute('role'))))
  .map(element => element.outerHTML.slice(0, 80))"""

SMALL = """() => [...document.querySelectorAll('button, input, select, summary')]
  .filter(element => element.getClientRects().length
    && element.getBoundingClientRect().height < 24)
  .map(element => element.id || element.textContent)"""

BOTH = "playground.runs.present?.result && playground.runs.kept?.result"
ACTS = ("want", "want", "leave", "background", "foreground", "pull", "woke", "Wi-Fi", "mobile",
        "offline", "works", "works", "silent", "away", "cut", "restart", "message")

# The engine's answer to a request.
ASK = """request => playground.runs.engines.quick.ask(request.split('\\n'))"""

SETTLED = "['whole', 'problem'].includes(document.body.dataset.state)"


class Checks(pages.Checks):
    """The checks of the page."""

    def __init__(self, browser, page):
        super().__init__()
        self.browser = browser
        self.url = page.resolve().as_uri()

    def open(self, fragment="", until=SETTLED, **options):
        """Opens the page in a new context, and collects what it reports and requests."""
        options.setdefault("viewport", DESKTOP)
        page = pages.watched(self.browser.new_context(**options).new_page())
        page.goto(self.url + fragment)
        wait_for(page, until)
        return page

    def run(self):
        page = self.open("#policy=socket&clients=20000")
        for part in (self.loading, self.knobs, self.invalid, self.keys, self.comparison,
                     self.looks, self.address):
            part(page)
        self.check("the console has no message until the end", not page.problems, page.problems)
        self.phone()
        self.questions()
        self.link()
        return self.status()

    def loading(self, page):
        outside = [url for url in page.requests
                   if not url.startswith(("blob:", self.url))]
        self.check("the page requests nothing", not outside, outside)
        self.check("the console has no message", not page.problems, page.problems)
        story = page.inner_text("#story")
        self.check("one sentence says when the phones are back",
                   story.startswith("Of 20,000 phones, half are back "), story)

    def knobs(self, page):
        story = page.inner_text("#story")
        jitter = page.locator("#knob-jitter")
        jitter.focus()
        jitter.press("ArrowRight")
        self.check("a key moves a slider, with its unit",
                   jitter.get_attribute("aria-valuetext") == "±30 %",
                   jitter.get_attribute("aria-valuetext"))
        wait_for(page, SETTLED)
        self.check("the fleet is played again", page.inner_text("#story") != story)
        self.check("the address has the change", "%2B-0.3" in page.evaluate("location.hash"),
                   page.evaluate("location.hash"))
        self.check("the command has the change",
                   "--set 'retry.reconnect=1s*2 max 30s +-0.3 min 500ms xunlimited'"
                   in page.locator("#command").text_content(),
                   page.locator("#command").text_content())
        moving = """() => {
          const knob = document.getElementById('knob-cap');
          knob.value = 60;
          knob.dispatchEvent(new Event('input'));
        }"""
        page.evaluate(moving)
        wait_for(page, "playground.runs.present.result !== null")
        page.wait_for_timeout(400)
        self.check("while a slider moves, 10,000 phones are played",
                   page.evaluate("playground.runs.present.result.clients") == 10000)
        page.evaluate("document.getElementById('knob-cap').dispatchEvent(new Event('change'))")
        wait_for(page, SETTLED)
        self.check("after it, all of them are",
                   page.evaluate("playground.runs.present.result.clients") == 20000)

    def invalid(self, page):
        waits = page.locator("#knob-waits")
        waits.fill("1s*2 max 30s +-0.25 min 5s xunlimited")
        waits.press("Enter")
        wait_for(page, "document.body.dataset.state === 'problem'")
        problem = page.inner_text("#problem")
        self.check("the engine says why a policy is invalid",
                   problem == "retry.reconnect: its floor leaves no room for jitter", problem)
        waits.fill("<b id=x>soon</b>")
        waits.press("Enter")
        wait_for(page, "document.getElementById('problem').textContent.includes('soon')")
        self.check("markup in a value stays text", page.locator("#x").count() == 0)
        waits.fill("")
        waits.press("Enter")
        wait_for(page, SETTLED.replace("'problem'", "''"))
        self.check("an empty field takes the policy's own value",
                   page.input_value("#knob-waits") == "1s*2 max 30s +-0.25 min 500ms xunlimited",
                   page.input_value("#knob-waits"))

    def keys(self, page):
        board = page.locator("#board")
        board.focus()
        board.press("End")
        board.press("Home")
        board.press("ArrowRight")
        words = board.get_attribute("aria-valuetext")
        self.check("the charts are read by keys",
                   words.startswith("0:01 into the outage, tries "), words)
        self.check("the marked second is drawn in both charts", board.locator(".mark").count() == 2)
        unnamed = page.evaluate(UNNAMED)
        self.check("every control has a name", not unnamed, unnamed)

    def comparison(self, page):
        page.click("#keep")
        page.select_option("#knob-policy", "fixed-1s")
        wait_for(page, SETTLED)
        story = page.inner_text("#story")
        self.check("a kept run is compared", "Kept for comparison (socket): " in story, story)
        self.check("a rule of a library is described",
                   "nats.swift" in page.inner_text("#likeness"), page.inner_text("#likeness"))
        columns = page.locator("#figures thead th").all_inner_texts()
        self.check("the table names both runs", [text.split() for text in columns]
                   == [["Shown", "fixed-1s"], ["Kept", "socket"]], columns)
        page.click("#forget")
        self.check("a kept run can be removed", "Kept" not in page.inner_text("#story"))

    def looks(self, page):
        for theme in ("light", "dark"):
            worst = page.evaluate(f"document.documentElement.dataset.theme = '{theme}'") and (
                page.evaluate(CONTRAST))
            self.check(f"texts have contrast, {theme}", worst[0] >= 4.5, worst)

    def address(self, page):
        page.select_option("#knob-cause", "unavailable")
        wait_for(page, SETTLED)
        story = page.inner_text("#story")
        again = self.open(page.evaluate("location.hash"))
        self.check("the address opens the same run", again.inner_text("#story") == story)
        foreign = self.open("#policy=socket&clients=0&retry.windows=%3Cb+id%3Dx%3E")
        self.check("a foreign address is refused in words",
                   "retry.windows cannot be" in foreign.inner_text("#problem")
                   and foreign.locator("#x").count() == 0, foreign.inner_text("#problem"))

    def phone(self):
        page = self.open("#policy=session&clients=1000", viewport=PHONE, has_touch=True)
        width = page.evaluate("document.documentElement.scrollWidth")
        self.check("nothing is wider than a phone", width <= PHONE["width"], width)
        small = page.evaluate(SMALL)
        self.check("controls are large enough for fingers", not small, small)

    def questions(self):
        page = self.open(until=BOTH)
        story = page.inner_text("#story")
        self.check("the page opens with a comparison", "(jitter ±25 %)" in story, story)
        for index in range(1, page.locator("#questions button").count()):
            page.locator("#questions button").nth(index).click()
            wait_for(page, BOTH)
            self.check(f"question {index + 1} has an answer",
                       "Kept for comparison" in page.inner_text("#story")
                       and page.is_hidden("#problem"), page.inner_text("#problem"))

    def link(self):
        page = self.open("#view=link&policy=socket", "playground.hand()?.answer")
        page.click("#run")
        page.click("#again")
        page.evaluate("playground.hand().pass(5)")
        for act in ("silent", "works"):
            page.get_by_role("button", name=act, exact=True).click()
            for _ in range(3):
                page.click("#skip")
                page.wait_for_timeout(150)
        wait_for(page, "document.getElementById('status').innerText === 'Connected'")
        story = page.inner_text("#lines")
        self.check("a silent server is noticed by a ping, and the link comes back",
                   "a ping was not answered in time" in story
                   and page.inner_text("#status") == "Connected", story)
        waits = page.inner_text("#deadlines")
        self.check("each deadline has a name and a time", "The next ping\nin " in waits, waits)
        page.fill("#knob-waits", "20s*2 max 60s +-0.25 min 5s x20")
        page.press("#knob-waits", "Enter")
        self.check("another policy plays the same acts",
                   pages.until(page, lambda: page.inner_text("#lines") != story))
        page.fill("#knob-waits", "soon")
        page.press("#knob-waits", "Enter")
        wait_for(page, "!document.getElementById('link-problem').hidden")
        self.check("the engine refuses an invalid policy here too",
                   "retry.reconnect cannot be" in page.inner_text("#link-problem"))
        for theme in ("light", "dark"):
            worst = page.evaluate(f"document.documentElement.dataset.theme = '{theme}'") and (
                page.evaluate(CONTRAST))
            self.check(f"texts have contrast in the link's view, {theme}", worst[0] >= 4.5, worst)
        unnamed = page.evaluate(UNNAMED)
        self.check("every control of the link's view has a name", not unnamed, unnamed)
        self.check("the link's view reports no problem", not page.problems, page.problems)
        self.deadlines(page)
        self.pings(page)
        self.bounds(page)
        self.stopped(page)
        page.set_viewport_size(PHONE)
        width = page.evaluate("document.documentElement.scrollWidth")
        self.check("the link's view fits a phone", width <= PHONE["width"], width)

    def deadlines(self, page):
        """Checks that the deadlines of a link have names, and that no act is a problem."""
        chance = random.Random(1)
        policies = page.locator("#knob-policy optgroup").first.locator("option").all_inner_texts()
        wrong, seen = [], set()
        for policy in policies * 3:
            at, lines = 0, ["link", f"policy={policy}"]
            for _ in range(120):
                at += int(chance.expovariate(1 / 20_000))
                lines.append(f"act={at} {chance.choice(ACTS)}")
                if chance.random() < 0.2:
                    answer = page.evaluate(ASK, "\n".join([*lines, f"until={at + 1}"]))
                    seen.update(deadline["name"] for deadline in answer["deadlines"])
            answer = page.evaluate(ASK, "\n".join([*lines, f"until={at + 600_000}"]))
            if "problems" in answer:
                wrong.append((policy, answer["problems"]))
        self.check("random acts are played with each policy", len(policies) == 6 and not wrong,
                   wrong)
        self.check("the deadlines of each part occur", len(seen) >= 10, sorted(seen))

    def pings(self, page):
        """Checks that a short silence does not move the pings of the server."""
        answer = page.evaluate(ASK, "\n".join([
            "link", "policy=socket", "act=0 want", "act=30000 silent", "act=30500 works",
            "until=130000"]))
        pings = [round(line["t"]) for line in answer["lines"] if line["say"] == "The server pings."]
        self.check("the server pings after a short silence", pings == [54, 108], answer["lines"])

    def bounds(self, page):
        for name, lines, problem in (
                ("acts", ["act=1 pull"] * 2001, "at most 2000 acts"),
                ("steps", ["act=0 want", "set=liveness.ping=1s", "until=864000000"],
                 "more than 200000 steps")):
            answer = page.evaluate(ASK, "\n".join(["link", "policy=socket", *lines]))
            self.check(f"an answer has a bound of its {name}", problem in str(
                answer.get("problems")), (answer.get("problems"), answer["took"]))
        answer = page.evaluate(ASK, "link\npolicy=socket\nact=0 want\nuntil=" + "9" * 18)
        self.check("no link is played for more than ten days", answer["now"] == 864_000,
                   (answer["now"], answer["took"]))
        self.check("the lines, phases and connections have bounds", len(answer["lines"]) <= 300
                   and max(len(answer["phases"]), len(answer["connections"])) <= 1000)

    def stopped(self, page):
        """Checks that a failure of the engine ends all requests, and that it is started again."""
        failures = page.evaluate("""async () => {
          const engine = playground.runs.engines.quick;
          const asked = [engine.ask(['policies']), engine.ask(['policies'])];
          engine.worker.dispatchEvent(new ErrorEvent('error', { message: 'unreachable' }));
          return (await Promise.allSettled(asked)).map(one => one.reason?.message);
        }""")
        self.check("a failure of the engine ends all requests", failures == ["unreachable"] * 2,
                   failures)
        page.evaluate("""() => {
          const engine = playground.runs.engines.quick;
          playground.hand().pass(1);
          engine.worker.dispatchEvent(new ErrorEvent('error', { message: 'unreachable' }));
        }""")
        wait_for(page, "document.getElementById('link-problem').textContent.includes('stopped')")
        self.check("the link's view says so", page.inner_text("#link-problem")
                   == "The engine has stopped: unreachable", page.inner_text("#link-problem"))
        page.evaluate("() => { playground.hand().use({ policy: 'socket', changes: {} }); }")
        wait_for(page, "document.getElementById('link-problem').hidden")
        self.check("and goes on with the next act", page.evaluate("!playground.hand().isAsking"))


def answers(browser, page, requests):
    """Prints the engine's answer to each request."""
    opened = browser.new_page()
    opened.goto(page.resolve().as_uri() + "#policy=socket&clients=100")
    wait_for(opened, SETTLED)
    for request in requests:
        print(opened.evaluate(ASK, request)["text"])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[1])
    if len(sys.argv) > 2:
        return pages.in_browser(lambda browser: answers(browser, path, sys.argv[2:]))
    return pages.in_browser(lambda browser: Checks(browser, path).run())


if __name__ == "__main__":
    sys.exit(main())
