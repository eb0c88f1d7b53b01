#!/usr/bin/env python3
"""Checks the page of `GET /health` in Chromium, against a running server.

    check_dashboard.py URL SECRET…
    check_dashboard.py --serve HOLDFAST [FOLDER]

The server has the users of USERS, in this order, and no samples. With `--serve`, the script runs
`holdfast serve` by itself, and with a folder it writes pictures of the page there. It prints one
line for each check, and exits with 1 if one fails. Needs Playwright for Python and Chromium;
CHROMIUM is the path of its program.
"""

import calendar
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pages  # noqa: E402
from dashboard_data import DAY, Phone, long, night, usual  # noqa: E402
from pages import DESKTOP, until  # noqa: E402

USERS = (("usual", "Etc/UTC"), ("empty", "Etc/UTC"), ("clocks", "Europe/Berlin"),
         ("odd", "Etc/UTC"), ("today", "Pacific/Niue"), ("long", "Etc/UTC"))
PHONE = {"width": 375, "height": 812}
# The newest sample of the usual data is 42 days old, and was recorded in the morning.
NOW = time.time()
NEWEST = int(NOW) // DAY * DAY - 42 * DAY + 9 * 3600
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

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
  const hole = getComputedStyle(document.querySelector('rect.hole') ?? document.body).fill;
  let worst = [99];
  for (const element of document.querySelectorAll('body *')) {
    const hasText = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!hasText || !element.getClientRects().length) continue;
    if (element.closest('script, style, noscript, :disabled, select')) continue;
    const style = getComputedStyle(element);
    const isSVG = element.namespaceURI.endsWith('svg');
    const one = light(isSVG ? style.fill : style.color);
    const behind = element.matches('text.none') ? hole
      : back(isSVG ? element.closest('section') : element);
    const other = light(behind);
    const ratio = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
    if (ratio < worst[0]) worst = [ratio, element.textContent.slice(0, 40)];
  }
  return worst;
}"""

UNNAMED = """() => [...document.querySelectorAll('button, input, select, summary, [role]')]
  .filter(element => element.getClientRects().length)
  .filter(element => !(element.getAttribute('aria-label') || element.textContent.trim()
    || element.labels?.length || element.getAttribute('role') === 'status'))
  .map(element => element.outerHTML.slice(0, 80))"""

SMALL = """() => [...document.querySelectorAll('button, input, select, summary')]
  .filter(element => element.getClientRects().length)
  .map(element => [element.getBoundingClientRect(), element.outerHTML.slice(0, 60)])
  .filter(([box]) => box.height < 39.5 || box.width < 39.5)
  .map(([box, text]) => [box.width, box.height, text])"""

# The time that drawing all charts takes, and the time until they are on the screen.
DRAW = """async () => {
  const times = [];
  for (let turn = 0; turn < 15; turn++) {
    const begin = performance.now();
    const sections = [...document.getElementById('cards').children];
    for (const draw of sections.map(section => section.redraw?.())) draw?.();
    document.body.getBoundingClientRect();
    times.push(performance.now() - begin);
    await new Promise(requestAnimationFrame);
  }
  // Not the median: other work of the machine is not that of the page.
  return times.sort((a, b) => a - b)[3];
}"""


def day_words(seconds):
    """Returns a day in the words of the page: `14 Oct 2026`."""
    parts = time.gmtime(seconds)
    return f"{parts.tm_mday} {MONTHS[parts.tm_mon - 1]} {parts.tm_year}"


def iso(seconds):
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def overlaps(urls):
    """Returns the requests for days that another one has asked for too."""
    seen, found = set(), []
    for url in urls:
        parts = urllib.parse.urlparse(url)
        query = {key: values[0] for key, values in urllib.parse.parse_qs(parts.query).items()}
        first, last = (calendar.timegm(time.strptime(query[key], "%Y-%m-%d")) // DAY
                       for key in ("from", "to"))
        days = {(parts.path, query.get("type"), day) for day in range(first, last + 1)}
        if days & seen:
            found.append(url)
        seen |= days
    return found


def mean(values):
    values = list(values)
    return sum(values) / len(values)


class Checks(pages.Checks):
    """The checks of the page of a server."""

    def __init__(self, browser, base, secrets, folder=None):
        super().__init__()
        self.browser, self.base, self.folder = browser, base, folder
        self.secrets = dict(zip([name for name, _ in USERS], secrets, strict=True))

    def phone(self, user):
        return Phone(self.base, self.secrets[user])

    # Pages.

    def open(self, user=None, address="", state="ready", **options):
        """Opens the page in a new context, and signs in."""
        options.setdefault("viewport", DESKTOP)
        page = pages.watched(self.browser.new_context(**options).new_page())
        page.goto(self.base + "/health" + address)
        if user:
            self.sign_in(page, self.secrets[user], state)
        return page

    def sign_in(self, page, secret, state="ready"):
        page.fill("#secret", secret)
        page.keyboard.press("Enter")
        self.settle(page, state)

    def settle(self, page, state="ready"):
        """Waits until nothing is loaded any more."""
        page.wait_for_timeout(50)
        until(page, lambda: page.evaluate("document.body.dataset.state") != "loading")
        found = page.evaluate("document.body.dataset.state")
        if found != state:
            raise AssertionError((found, state, page.locator("#message").inner_text()))

    def close(self, page, name):
        foreign = [url for url in page.requests if not url.startswith(self.base + "/")]
        self.check(f"{name}: no request elsewhere", not foreign, foreign)
        self.check(f"{name}: no message in the console", not page.problems, page.problems)
        page.context.close()

    def picture(self, page, name):
        if self.folder:
            page.screenshot(path=f"{self.folder}/{name}.png", full_page=True)

    def section(self, page, kind):
        return page.locator(f"section[data-type$=Identifier{kind}], section[data-type={kind}]")

    def value(self, page, kind):
        return self.section(page, kind).locator(".slider").get_attribute("aria-valuetext")

    def text(self, page, kind, part):
        return self.section(page, kind).locator(part).inner_text()

    def run(self):
        for part in (self.signing, self.usual_data, self.keys, self.stepping, self.choosing,
                     self.failures, self.empty, self.clocks, self.odd, self.today, self.long,
                     self.outdated, self.units, self.looks, self.small, self.paper):
            try:
                part()
            except Exception as error:  # Of Playwright, or a page that does not settle.
                self.check(part.__name__, False, str(error)[:500])
        return self.status()

    # Signing in.

    def signing(self):
        page = self.open()
        self.check("signed out at first", not page.locator("#data").is_visible())
        for wrong in ("not it", "unknown"):
            self.sign_in(page, wrong, "refused")
            self.check(f"the secret {wrong!r} is refused", page.locator("#message").inner_text()
                       == "The server does not know this secret.")
        page.problems[:] = [text for text in page.problems if "401" not in text]
        self.sign_in(page, self.secrets["empty"])
        page.locator("#leave").click()
        self.settle(page, "signed-out")
        left = page.evaluate("[sessionStorage.getItem('secret'), secret.value, cards.innerHTML]")
        self.check("signing out leaves nothing", left == [None, "", ""], left)
        self.close(page, "signing in")

    # Data of which the newest are six weeks old.

    def usual_data(self):
        phone = self.phone("usual")
        self.steps = usual(phone, NEWEST, 260)
        phone.workout("Yoga", NEWEST - 3 * DAY, 1800, source="<b id=x>Watch</b>")
        phone.sync(NEWEST)
        page = self.page = self.open("usual", timezone_id="Pacific/Auckland", locale="de-DE")
        fresh = page.locator("#fresh").inner_text()
        self.check("the newest sample and its age", "six weeks ago" in fresh
                   and day_words(NEWEST) in fresh, fresh)
        advice = page.locator("#advice").inner_text()
        self.check("what to do about old data", "open the app on the phone" in advice
                   and day_words(NEWEST) in advice, advice)
        self.check("the period ends at the newest sample",
                   page.locator("#range").inner_text().endswith(day_words(NEWEST)),
                   page.locator("#range").inner_text())
        self.figures(page)
        self.charts(page)
        self.tables(page)
        self.check("the zone of the days",
                   page.locator("#zone").inner_text() == "Days are those of Etc/UTC.")
        self.picture(page, "usual")

    def figures(self, page):
        finished = [self.steps[age] for age in range(1, 30) if age in self.steps]
        before = [self.steps[age] for age in range(30, 60)]
        big = self.text(page, "StepCount", ".big")
        self.check("the mean leaves out the day that is not over, and days without data",
                   big == f"{round(mean(finished)):,} steps a day", (big, mean(finished)))
        change = (mean(finished) - mean(before)) / mean(before) * 100
        told = self.text(page, "StepCount", ".trend")
        self.check("the comparison with the period before",
                   told == f"▼ {abs(round(change))} % less than in the 30 days before", told)
        told = self.text(page, "HeartRate", ".trend")
        self.check("rates are compared in their unit", "the 30 days before" in told, told)
        told = self.text(page, "SleepAnalysis", ".big")
        self.check("sleep in hours and minutes", re.match(r"\d h \d\d min asleep a night", told),
                   told)

    def charts(self, page):
        value = self.value(page, "StepCount")
        self.check("the last day was not over", value.endswith(
            "1,200 steps, the day was not over when last synced"), value)
        self.check("a day that is not over is pale and dashed",
                   self.section(page, "StepCount").locator("path.bar.open").count() == 1
                   and "day not over" in self.text(page, "StepCount", ".legend"))
        self.check("days without data are a field",
                   self.section(page, "StepCount").locator("rect.hole").count() == 1
                   and self.section(page, "StepCount").locator("text.none").text_content()
                   == "no data", self.text(page, "StepCount", ".legend"))
        self.check("the legend counts them", "no data: 4 days" in
                   self.text(page, "StepCount", ".legend"), self.text(page, "StepCount", ".legend"))
        ticks = page.evaluate("""[...document.querySelectorAll(
          "section[data-type$=StepCount] text[text-anchor=end]")].map(one => one.textContent)""")
        value = self.value(page, "SleepAnalysis")
        self.check("the last night was over", "asleep: deep" in value and "not over" not in value,
                   value)
        self.check("round steps on the axis", ticks == ["0", "2,000", "4,000", "6,000", "8,000"]
                   or ticks == ["0", "2,500", "5,000", "7,500", "10k"]
                   or ticks == ["0", "2,500", "5,000", "7,500"], ticks)
        units = page.evaluate("[...document.querySelectorAll('text.unit')].map(x => x.textContent)")
        self.check("units on the axes", units == [
            "steps", "beats a minute", "hours", "beats a minute"], units)
        legend = self.text(page, "SleepAnalysis", ".legend").split("\n")
        self.check("stages of sleep in the legend", legend[:4] == ["deep", "core", "REM", "awake"],
                   legend)
        line = self.section(page, "RestingHeartRate").locator("path.line").get_attribute("d")
        self.check("a line is broken where data are missing", line.count("M") >= 3, line)
        self.check("a range with its average", self.section(page, "HeartRate")
                   .locator("path.mark").count() >= 1)

    def tables(self, page):
        section = self.section(page, "StepCount")
        self.check("numbers are made when they are opened", section.locator("table").count() == 0)
        section.locator("summary").click()
        rows = section.locator("tbody tr").all_inner_texts()
        self.check("the table has a row for each day with data", len(rows) == 26, len(rows))
        self.check("a day of zero is a row of its own", any(
            row.split("\t") == [f"{row.split(chr(9))[0]}", "0"] for row in rows), rows)
        section.locator("summary").click()
        workouts = self.section(page, "HKWorkoutTypeIdentifier")
        self.check("markup stays text", page.evaluate("document.getElementById('x') === null")
                   and "<b id=x>Watch</b>" in workouts.inner_text())
        first = workouts.locator("tbody tr").first.inner_text().split("\t")
        self.check("workouts with distance and energy", first[1:] == [
            "06:00", "Running", "30 min", "8.05 km", "300 kcal", "Watch"], first)
        self.check("the number of workouts", re.match(r"\d+ workouts, ",
                   workouts.locator(".big").inner_text()), workouts.locator(".big").inner_text())

    # Keys and the pointer.

    def keys(self):
        page = self.page
        slider = self.section(page, "StepCount").locator(".slider")
        slider.focus()
        page.keyboard.press("Home")
        self.check("Home: the first day", slider.get_attribute("aria-valuenow") == "1")
        page.keyboard.press("End")
        self.check("End: the last day", slider.get_attribute("aria-valuenow") == "30")
        for _ in range(5):
            page.keyboard.press("ArrowLeft")
        value = slider.get_attribute("aria-valuetext")
        self.check("left: the day before; a day of zero is not one without data",
                   value.endswith(": 0 steps"), value)
        tip = page.locator("#tip").inner_text().replace("\n", ": ")
        self.check("the words of the day are shown", tip == value, (tip, value))
        page.keyboard.press("PageDown")
        value = slider.get_attribute("aria-valuetext")
        self.check("page down: a week before; a day without data says so",
                   "no data: nothing was recorded, or the phone did not share it" in value, value)
        marked = page.locator("rect.cursor.shown").count()
        self.check("the day is marked in all charts", marked == 4, marked)
        page.keyboard.press("Escape")
        self.check("Escape hides the words", not page.locator("#tip").is_visible())
        box = self.section(page, "SleepAnalysis").locator(".slider").bounding_box()
        page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 30)
        tip = page.locator("#tip").inner_text()
        self.check("the pointer shows the stages of a night", "asleep: deep" in tip
                   and "awake" in tip and day_words(NEWEST) in tip, tip)
        page.mouse.move(5, 5)
        self.check("the words go with the pointer", not page.locator("#tip").is_visible())

    # The period.

    def stepping(self):
        page = self.page
        self.check("there is nothing later", page.locator("#on").is_disabled())
        first = page.locator("#range").inner_text()
        page.locator("#back").click()
        self.settle(page)
        earlier = page.locator("#range").inner_text()
        self.check("earlier: a period before", earlier.endswith(day_words(NEWEST - 30 * DAY)),
                   earlier)
        asked = len(page.requests)
        page.locator("#on").click()
        self.settle(page)
        self.check("later: the same again", page.locator("#range").inner_text() == first)
        again = [url for url in page.requests[asked:] if "summary" not in url]
        self.check("no day is asked for twice", not again, again)
        page.locator("[data-days='7']").click()
        self.settle(page)
        sliders = page.evaluate(
            "[...document.querySelectorAll('.slider')].map(x => x.getAttribute('aria-valuemax'))")
        self.check("seven days", set(sliders) == {"7"}, sliders)
        page.reload()
        self.settle(page)
        self.check("a reload shows the same period", page.locator(
            "[data-days='7']").get_attribute("aria-pressed") == "true")
        page.locator("[data-days='365']").click()
        self.settle(page)
        self.check("a mean of seven days over many", "mean of seven days" in self.text(
            page, "StepCount", ".legend"))
        missing = self.section(page, "StepCount").locator(".slider")
        missing.focus()
        page.keyboard.press("Home")
        self.check("before the first sample: when it was", "the first that was synced is of"
                   in missing.get_attribute("aria-valuetext"),
                   missing.get_attribute("aria-valuetext"))
        self.picture(page, "year")

    def choosing(self):
        page = self.page
        page.locator("[data-days='30']").click()
        self.settle(page)
        page.select_option("#more", label="Weight")
        self.settle(page)
        kind = "BodyMass"
        self.check("another type can be added", re.match(
            r"\d\d\.?\d* kg", self.text(page, kind, ".big")), self.text(page, kind, ".big"))
        self.check("what is measured now and then has no field for each day between",
                   self.section(page, kind).locator("rect.hole").count() <= 1)
        page.select_option("#more", label="Flights climbed")
        self.settle(page)
        self.check("sums of another type", "flights a day" in self.text(
            page, "FlightsClimbed", ".big"), self.text(page, "FlightsClimbed", ".big"))
        page.reload()
        self.settle(page)
        self.check("the address keeps them", self.section(page, kind).count() == 1)
        self.section(page, kind).locator(".remove").click()
        self.settle(page)
        self.check("and they can be removed", self.section(page, kind).count() == 0)

    # What cannot be loaded.

    def failures(self):
        page = self.page
        page.locator(".pick summary").click()
        self.dates(page, iso(NEWEST), iso(NEWEST - DAY), "failed")
        message = page.locator("#message").inner_text()
        self.check("reversed days", message == "Choose 1 to 3,653 days.", message)
        self.check("nothing of another period is shown", not page.locator("#shown").is_visible())
        self.dates(page, "2131-01-01", "2131-01-31", "failed")
        message = page.locator("#message").inner_text()
        self.check("days in the future", message == "These days are in the future.", message)
        self.dates(page, iso(NEWEST - 9 * DAY), iso(NEWEST))
        self.check("days of one's own", page.locator("#shown").is_visible()
                   and self.section(page, "StepCount").locator(".slider")
                   .get_attribute("aria-valuemax") == "10")
        page.route("**/api/**", lambda route: route.abort())
        page.locator("#back").click()
        self.settle(page, "failed")
        message = page.locator("#message").inner_text()
        self.check("the server is away", message.startswith(
            "Nothing could be loaded: The server cannot be reached."), message)
        self.check("no old numbers are shown", not page.locator("#shown").is_visible()
                   and page.locator("#cards section").count() == 0)
        page.unroute("**/api/**")
        page.get_by_role("button", name="Try again").click()
        self.settle(page)
        self.check("try again", page.locator("#shown").is_visible()
                   and page.locator("#message").inner_text() == "")
        page.problems[:] = [text for text in page.problems if "ERR_FAILED" not in text]
        self.close(page, "usual data")

    def dates(self, page, first, last, state="ready"):
        page.fill("#from", first)
        page.fill("#to", last)
        page.locator("#dates button").click()
        self.settle(page, state)

    # Other persons.

    def empty(self):
        page = self.open("empty")
        self.check("no samples: what to do", page.locator("#fresh").inner_text()
                   == "No samples yet." and "Open the app" in page.locator("#advice").inner_text())
        self.check("no samples: no blank charts", page.locator("svg, section").count() == 0)
        self.picture(page, "empty")
        self.close(page, "no samples")

    def clocks(self):
        """The days on which clocks change have 25 and 23 hours."""
        phone = self.phone("clocks")
        # 2025-10-24 to 27 and 2026-03-27 to 30, in UTC; 100 steps in each hour.
        for begin in (1_761_264_000, 1_774_569_600):
            for hour in range(96):
                start = begin + hour * 3600
                phone.add("StepCount", start, start + 3600, 100, "count")
        phone.workout("Running", 1_761_441_000, 1800)
        phone.sync(1_774_915_200)
        page = self.open("clocks", "#days=3&to=2025-10-27")
        slider = self.section(page, "StepCount").locator(".slider")
        slider.focus()
        page.keyboard.press("ArrowLeft")
        value = slider.get_attribute("aria-valuetext")
        self.check("a day of 25 hours", value == "Sun 26 Oct 2025: 2,500 steps", value)
        row = self.section(page, "HKWorkoutTypeIdentifier").locator("tbody tr").inner_text()
        self.check("a time that clocks show twice", "02:10 +01:00" in row, row)
        page.locator(".pick summary").click()
        self.dates(page, "2026-03-28", "2026-03-29")
        value = self.value(page, "StepCount")
        self.check("a day of 23 hours", value == "Sun 29 Mar 2026: 2,300 steps", value)
        self.close(page, "clock changes")

    def odd(self):
        phone = self.phone("odd")
        phone.add("StepCount", NEWEST - DAY, NEWEST - DAY + 60, 1e300, "count")
        phone.add("StepCount", NEWEST - 3 * DAY, NEWEST - 3 * DAY + 60, 100, "count")
        phone.add("HK" + "Odd" * 40 + "<i>", NEWEST, NEWEST, 1, "x" * 40)
        phone.workout("Running", NEWEST, 1800, source="x" * 200)
        phone.sync(NEWEST)
        page = self.open("odd", viewport=PHONE)
        page.locator("#more").select_option(index=1)
        self.settle(page)
        self.check("numbers beyond sense are short", "E299" in self.text(page, "StepCount", ".big")
                   or "E300" in self.text(page, "StepCount", ".big"),
                   self.text(page, "StepCount", ".big"))
        width = page.evaluate("document.documentElement.scrollWidth")
        self.check("nothing is wider than a phone", width == PHONE["width"], width)
        zone = page.locator("#zone").inner_text()
        self.check("types of which nothing was synced", zone.endswith(
            "Not synced: heart rate, sleep, resting heart rate."), zone)
        self.picture(page, "odd")
        self.close(page, "odd data")

    def today(self):
        """Samples of the last hour, in a zone that is a day behind that of the browser."""
        now = int(NOW)
        phone = self.phone("today")
        for age in range(3):
            phone.add("StepCount", now - age * DAY - 600, now - age * DAY - 300, 100, "count")
        phone.sync(now)
        page = self.open("today", timezone_id="Pacific/Auckland")
        local = now - 11 * 3600
        shown = page.locator("#range").inner_text()
        self.check("the days of the person's zone", shown.endswith(day_words(local)), shown)
        fresh = page.locator("#fresh").inner_text()
        self.check("new data need no advice", "minutes ago" in fresh
                   and page.locator("#advice").inner_text() == "", fresh)
        value = self.value(page, "StepCount")
        self.check("today is not over", value.endswith("was not over when last synced"), value)
        self.close(page, "new data")

    def long(self):
        phone = self.phone("long")
        long(phone, NEWEST, 3652)
        phone.sync(NEWEST)
        page = self.open("long")
        begin = time.monotonic()
        page.locator("[data-days=all]").click()
        self.settle(page)
        took = time.monotonic() - begin
        columns = int(self.section(page, "StepCount").locator(".slider")
                      .get_attribute("aria-valuemax"))
        self.check(f"ten years are shown ({took:.1f} s)", 115 <= columns <= 122, columns)
        value = self.value(page, "HeartRate")
        self.check("a column is a month", re.search(r"\d+ of \d+ days with data", value), value)
        for days in ("all", "365"):
            page.locator(f"[data-days='{days}']").click()
            self.settle(page)
            draw = page.evaluate(DRAW)
            # The time depends on what else the machine does. On an idle one it is less than a frame.
            print(f"  all charts are drawn in {draw:.1f} ms: {days}", flush=True)
        self.picture(page, "long")
        self.close(page, "ten years")

    def outdated(self):
        """A load of another period begins while one is under way."""
        page = self.open("long")
        page.requests.clear()
        held, is_holding = [], True
        days = re.compile("/api/health/(daily|sleep|workouts)")
        page.route(days, lambda route: held.append(route) if is_holding else route.continue_())
        for button in ("all", "365", "90"):
            page.locator(f"[data-days='{button}']").click()
            page.wait_for_timeout(100)
        is_holding = False
        for route in held:
            route.continue_()
        self.settle(page)
        page.wait_for_timeout(500)
        asked = [url for url in page.requests if days.search(url)]
        self.check("loads that overlap ask no day twice", not overlaps(asked), overlaps(asked))
        self.check("an outdated load asks for no more", len(asked) == 5, asked)
        self.close(page, "outdated loads")

    def units(self):
        """Answers of a type in different units are not mixed."""
        page = self.open("usual", "#days=10")

        def answer(route):
            at = urllib.parse.parse_qs(urllib.parse.urlparse(route.request.url).query)
            if not at["type"][0].endswith("BodyMass"):
                return route.continue_()
            days = [day for day in (iso(NEWEST - age * DAY) for age in range(40))
                    if at["from"][0] <= day <= at["to"][0]]
            unit, value = ("kg", 80) if days[0] == iso(NEWEST) else ("lb", 176)
            return route.fulfill(json={"unit": unit, "daily": [
                {"date": day, "value": value, "min": value, "max": value} for day in days]})

        def untold(route):
            reply = route.fetch().json()
            for one in reply["types"]:
                if one["type"].endswith("BodyMass"):
                    one["unit"] = None
            route.fulfill(json=reply)

        page.route("**/api/health/daily**", answer)
        page.route("**/api/health/summary", untold)
        page.select_option("#more", label="Weight")
        self.settle(page)
        page.locator("[data-days='30']").click()
        self.settle(page)
        section = self.section(page, "BodyMass")
        self.check("the unit is that of the newest day", section.locator(".big").inner_text()
                   == "80 kg", section.locator(".big").inner_text())
        told = section.locator(".trend").all_inner_texts()
        self.check("days in another unit are left out, and it says so",
                   told[-1] == "10 days in another unit than kg are left out: lb.", told)
        section.locator(".slider").focus()
        page.keyboard.press("Home")
        self.check("each of these days says so", self.value(page, "BodyMass").endswith(
            "left out: in another unit (lb)"), self.value(page, "BodyMass"))
        self.picture(page, "units")
        self.close(page, "units")

    # How it looks.

    def looks(self):
        for scheme in ("light", "dark"):
            page = self.open("usual", color_scheme=scheme)
            self.section(page, "StepCount").locator("summary").click()
            slider = self.section(page, "HeartRate").locator(".slider")
            slider.focus()
            page.keyboard.press("ArrowLeft")
            worst = page.evaluate(CONTRAST)
            self.check(f"contrast of all text, {scheme}: {worst[0]:.1f}", worst[0] >= 4.5, worst)
            unnamed = page.evaluate(UNNAMED)
            self.check(f"every control has a name, {scheme}", not unnamed, unnamed)
            self.picture(page, f"usual-{scheme}")
            self.close(page, scheme)
        page = self.open("usual", forced_colors="active")
        fills = page.evaluate("""[...document.querySelectorAll('path.bar')]
          .map(path => getComputedStyle(path).fill)""")
        self.check("a person's own colors", fills and all(fill != "none" for fill in fills), fills)
        self.picture(page, "forced")
        self.close(page, "own colors")

    def small(self):
        page = self.open("usual", viewport=PHONE, has_touch=True, is_mobile=True,
                         color_scheme="dark", reduced_motion="reduce")
        page.locator(".pick summary").click()
        self.section(page, "StepCount").locator("summary").click()
        width = page.evaluate("document.documentElement.scrollWidth")
        self.check("a phone: nothing is wider", width == PHONE["width"], width)
        small = page.evaluate(SMALL)
        self.check("a phone: targets of 40 px", not small, small)
        left = page.evaluate("""new Set([...document.querySelectorAll('section')]
          .map(section => Math.round(section.getBoundingClientRect().left))).size""")
        self.check("a phone: one column", left == 1, left)
        moving = page.evaluate("""[...document.querySelectorAll('*')].filter(element =>
          parseFloat(getComputedStyle(element).transitionDuration) > 0).length""")
        self.check("reduced motion: nothing moves", moving == 0, moving)
        box = self.section(page, "StepCount").locator(".slider").bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + 40)
        self.check("a finger shows a day", page.locator("#tip").is_visible())
        self.picture(page, "phone")
        self.close(page, "phone")

    def paper(self):
        page = self.open("usual", color_scheme="dark")
        page.emulate_media(media="print")
        self.check("paper is white", until(page, lambda: page.evaluate(
            "getComputedStyle(document.documentElement).backgroundColor")
            == "rgb(255, 255, 255)"))
        self.check("paper has no controls", not page.locator("#leave").is_visible()
                   and not page.locator("#back").is_visible())
        if self.folder:
            page.pdf(path=f"{self.folder}/paper.pdf")
        self.close(page, "paper")


def check(base, secrets, folder=None):
    return pages.in_browser(
        lambda browser: Checks(browser, base.rstrip("/"), secrets, folder).run())


def serve(program, folder=None):
    """Checks the page of a server that runs as long as the checks."""
    with tempfile.TemporaryDirectory() as data:
        secrets = [f"secret-of-{name}-0123456789" for name, _ in USERS]
        path = pathlib.Path(data) / "secrets"
        path.write_text("".join(f"{name} {secret} {zone}\n"
                                for (name, zone), secret in zip(USERS, secrets, strict=True)))
        path.chmod(0o600)
        server = subprocess.Popen(
            [program, "serve", "--port", "0", "--json", "--data", f"{data}/server",
             "--sync-secret-file", str(path)], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        try:
            url = None
            while url is None:
                line = server.stdout.readline()
                if not line:
                    sys.exit("the server ended")
                url = json.loads(line).get("url")
            return check(url, secrets, folder)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(20)


def main():
    if sys.argv[1:2] == ["--serve"] and len(sys.argv) in (3, 4):
        return serve(*sys.argv[2:])
    if len(sys.argv) != 2 + len(USERS):
        sys.exit(__doc__)
    return check(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
