#!/usr/bin/env python3
"""Checks the page of answers (an MCP App) in Chromium, in a host that this script contains.

    check_app.py HOLDFAST [FOLDER]

The host follows the specification of 2026-01-26: it reads the page with `resources/read` from
`holdfast mcp`, shows it in a frame with the content security policy of the specification, and sends
it real answers of tools. With a folder, the script writes pictures of the page there. It prints one
line for each check, and exits with 1 if one fails. Needs Playwright for Python and Chromium;
CHROMIUM is the path of its program.
"""

import datetime
import http.server
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from playwright.sync_api import sync_playwright

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from pages import CONTRAST, UNNAMED, launch, until  # noqa: E402

MIME = "text/html;profile=mcp-app"
EXTENSION = "io.modelcontextprotocol/ui"
MARKUP = '<img src=x onerror="window.hacked=1"><b id="markup">Watch</b>'
# The policy for a page that declares no address, by the section "Content Security Policy
# Enforcement".
POLICY = ("default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline';"
          " connect-src 'self'; img-src 'self' data:; font-src 'self'; media-src 'self' data:;"
          " frame-src 'none'; object-src 'none'; base-uri 'self'")
LAST = datetime.date(2026, 3, 1)
SPAN = {"start_time": "2026-02-01", "end_time": "2026-03-01"}
SIZES = {"a phone": 320, "a large phone": 412, "a conversation": 720}
WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
HOST = """<!doctype html><title>Host</title>
<style>html { background: %s } body { margin: 0 }</style>
<iframe id="view" sandbox="allow-scripts" style="border: 0; width: 100%%; height: 100px"></iframe>
<script>
const log = [], waiting = [];
let context = {}, isReady = false;
const view = document.getElementById('view');
const send = message => view.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
const deliver = message => isReady ? send(message) : waiting.push(message);
addEventListener('message', ({ source, data }) => {
  if (source !== view.contentWindow) return;
  log.push(data);
  if (data.method === 'ui/initialize') {
    send({ id: data.id, result: {
      protocolVersion: '2026-01-26', hostInfo: { name: 'host', version: '1' },
      hostCapabilities: {}, hostContext: context } });
  } else if (data.method === 'ui/notifications/initialized') {
    isReady = true;
    waiting.splice(0).forEach(send);
  } else if (data.method === 'ui/notifications/size-changed') {
    view.style.height = `${data.params.height}px`;
  }
});
function start(given) {
  context = given;
  view.src = '/view';
}
</script>"""


def record(kind, day, value, unit, source="Watch", hour=8, minutes=30):
    start = datetime.datetime.combine(day, datetime.time(hour))
    end = start + datetime.timedelta(minutes=minutes)
    source = source.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return (f'<Record type="{kind}" sourceName="{source}" unit="{unit}" value="{value}" '
            f'startDate="{start} +0000" endDate="{end} +0000"/>')


def export():
    """Returns an export: ten years of steps, and a month of other types."""
    quantity = "HKQuantityTypeIdentifier"
    lines = []
    for age in range(1, 3653):
        day = LAST - datetime.timedelta(days=age)
        # One day without steps, and two days without data.
        if age not in (10, 11):
            steps = 0 if age == 5 else 5000 + age * 37 % 4000
            lines.append(record(quantity + "StepCount", day, steps, "count"))
        if age > 40:
            continue
        for hour in (7, 13, 20):
            lines.append(record(quantity + "HeartRate", day, 60 + hour + age % 5, "count/min",
                                MARKUP if hour == 7 else "Watch", hour, 0))
        lines.append(record(quantity + "DietaryCarbohydrates", day, 80 + age, "g", minutes=0))
        if age % 9 == 0:
            lines.append(record(quantity + "BodyMass", day, 70 + age / 10, "kg", minutes=0))
        sleep, at = "HKCategoryTypeIdentifierSleepAnalysis", 0
        for stage, minutes in (("Core", 200), ("Deep", 60), ("REM", 70), ("Awake", 15)):
            start = datetime.datetime.combine(day, datetime.time(0)) + datetime.timedelta(
                minutes=at)
            at += minutes + age
            end = datetime.datetime.combine(day, datetime.time(0)) + datetime.timedelta(minutes=at)
            value = stage if stage == "Awake" else "Asleep" + stage
            lines.append(f'<Record type="{sleep}" sourceName="Watch" '
                         f'value="HKCategoryValueSleepAnalysis{value}" '
                         f'startDate="{start} +0000" endDate="{end} +0000"/>')
        if age % 6 == 0:
            start = datetime.datetime.combine(day, datetime.time(17))
            lines.append(
                '<Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="40" '
                f'durationUnit="min" sourceName="Watch" startDate="{start} +0000" '
                f'endDate="{start + datetime.timedelta(minutes=40)} +0000"/>')
    return ('<HealthData><ExportDate value="2026-03-01 12:00:00 +0000"/>' + "\n".join(lines)
            + "</HealthData>")


class Program:
    """`holdfast mcp`, which is spoken to in lines."""

    def __init__(self, holdfast, folder):
        data = [holdfast, "health", "import", f"{folder}/export.xml", "--data", f"{folder}/data"]
        pathlib.Path(folder, "export.xml").write_text(export(), encoding="utf-8")
        subprocess.run(data, check=True, capture_output=True)
        self.process = subprocess.Popen(
            [holdfast, "mcp", "--data", f"{folder}/data", "--time-zone", "UTC"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.id = 0
        self.hello = self.ask("initialize", {
            "protocolVersion": "2025-11-25", "clientInfo": {"name": "host", "version": "1"},
            "capabilities": {"extensions": {EXTENSION: {"mimeTypes": [MIME]}}}})

    def ask(self, method, params=None):
        self.id += 1
        line = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params or {}}
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer.get("result") or answer

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def metric(self, word, **arguments):
        return self.call("get_health_metrics", value_type=word, **{**SPAN, **arguments})

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def serve(page):
    """Serves a host and the page, and returns the server."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            is_view = self.path == "/view"
            body = (page if is_view else HOST % "#ccc").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if is_view:
                self.send_header("Content-Security-Policy", POLICY)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Checks:
    """The checks of the page."""

    def __init__(self, browser, program, folder=None):
        self.browser, self.program, self.folder = browser, program, folder
        self.failed = []
        self.page = self.resource()
        self.server = serve(self.page)
        self.base = f"http://127.0.0.1:{self.server.server_port}"

    def check(self, name, good, seen=""):
        print("✓" if good else "✗", name, "" if good else seen, flush=True)
        if not good:
            self.failed.append(name)

    def run(self):
        for part in (self.handshake, self.summary, self.forms, self.nothing, self.markup,
                     self.years, self.groups, self.lists, self.refusals, self.themes, self.sizes,
                     self.keyboard, self.alone):
            try:
                part()
            except Exception as error:  # Of Playwright, or a page that does not settle.
                self.check(part.__name__, False, str(error)[:500])
        self.server.shutdown()
        print(f"{len(self.failed)} failed")
        return 1 if self.failed else 0

    # The host.

    def resource(self):
        """Checks what the server says about the page, and returns the page."""
        capabilities = self.program.hello["capabilities"]
        self.check("the server declares the extension", EXTENSION in capabilities["extensions"])
        tools = {tool["name"]: tool.get("_meta")
                 for tool in self.program.ask("tools/list")["tools"]}
        uri = tools["get_summary"]["ui"]["resourceUri"]
        self.check("the address of the page", uri.startswith("ui://"), uri)
        self.check("only tools with numbers have a page",
                   [name for name in tools if tools[name]] == ["get_health_metrics", "get_summary"])
        listed = self.program.ask("resources/list")["resources"]
        self.check("the page is listed", [one["uri"] for one in listed] == [uri], listed)
        [content] = self.program.ask("resources/read", {"uri": uri})["contents"]
        self.check("the type of the page", content["mimeType"] == listed[0]["mimeType"] == MIME)
        self.check("the page needs no address", content["_meta"]["ui"]["csp"] == {
            "connectDomains": [], "resourceDomains": []}, content["_meta"])
        known = "http://www.w3.org/2000/svg"
        links = set(re.findall(r"https?://[^'\"\s)]+", content["text"])) - {known}
        self.check("the page names no address", not links, links)
        error = self.program.ask("resources/read", {"uri": "ui://holdfast/other"})
        self.check("another page does not exist", error["error"]["code"] == -32002, error)
        return content["text"]

    def open(self, result=None, state="ready", context=None, width=720, **options):
        """Opens the host, and sends the page an answer."""
        page = self.browser.new_context(
            viewport={"width": width, "height": 900}, **options).new_page()
        page.problems, page.requests = [], []
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(self.base)
        page.evaluate("start", context or {"theme": "light"})
        self.deliver(page, "tool-input", {"arguments": {}})
        page.view = page.frame(url="**/view")
        if result is not None:
            self.deliver(page, "tool-result", result)
            self.settle(page, state)
        return page

    def deliver(self, page, name, params):
        page.evaluate("deliver", {"method": f"ui/notifications/{name}", "params": params})

    def settle(self, page, state):
        page.wait_for_function("isReady")
        page.view = page.frame(url="**/view")
        page.view.locator(f"body[data-state={state}]").wait_for(state="attached")
        page.wait_for_timeout(100)

    def close(self, page, name):
        foreign = [url for url in page.requests if not url.startswith(self.base + "/")]
        self.check(f"{name}: no request elsewhere", not foreign, foreign)
        problems = [text for text in page.problems if "favicon" not in text]
        self.check(f"{name}: no message in the console", not problems, problems)
        page.context.close()

    def picture(self, page, name):
        if self.folder:
            page.screenshot(path=f"{self.folder}/app-{name}.png", full_page=True)

    def section(self, page, name):
        return page.view.locator(f"section[aria-label='{name}']")

    def names(self, page):
        return page.view.locator("h2").all_inner_texts()

    def rows(self, page, name):
        """Returns the cells of the numbers of a section."""
        section = self.section(page, name)
        if section.locator("summary").count():
            section.locator("summary").click()
        section.locator("tbody").wait_for()
        more = section.get_by_role("button", name="more")
        if more.count():
            more.click()
        return [row.split("\t") for row in section.locator("tbody").inner_text().splitlines()]

    def summary_of(self, *words, **more):
        return self.program.call(
            "get_summary", metrics=[{"value_type": word} for word in words], **{**SPAN, **more})

    # The parts.

    def handshake(self):
        page = self.open()
        self.settle(page, "loading")
        log = page.evaluate("log")
        first = log[0]
        self.check("the page begins", first["method"] == "ui/initialize" and first["jsonrpc"]
                   == "2.0" and set(first["params"]) == {
                       "protocolVersion", "appInfo", "appCapabilities"}, first)
        self.check("and is initialized", log[1] == {
            "jsonrpc": "2.0", "method": "ui/notifications/initialized", "params": {}}, log)
        for message, wanted in (
                ({"id": 7, "method": "ping"}, {"result": {}}),
                ({"id": "a", "method": "ui/resource-teardown", "params": {"reason": "x"}},
                 {"result": {}}),
                ({"id": 8, "method": "tools/list"}, {"error": -32601})):
            page.evaluate("send", message)
            answer = until(page, lambda: page.evaluate(
                "id => log.find(one => one.id === id && !one.method)", message["id"])) or {}
            good = answer.get("id") == message["id"] and (
                answer.get("error", {}).get("code", answer.get("result")) in wanted.values())
            self.check(f"{message['method']} is answered", good, answer)
        page.view.evaluate("""window.postMessage({ jsonrpc: '2.0',
          method: 'ui/notifications/tool-cancelled', params: {} }, '*')""")
        page.wait_for_timeout(100)
        self.check("only the host is listened to",
                   page.view.evaluate("document.body.dataset.state") == "loading")
        self.deliver(page, "tool-cancelled", {"reason": "the user"})
        self.settle(page, "cancelled")
        self.check("a cancelled question is told", "cancelled"
                   in page.view.locator("#message").inner_text())
        self.close(page, "the handshake")

    def summary(self):
        answer = self.program.call("get_summary", **SPAN)
        page = self.open(answer)
        self.picture(page, "summary")
        names = self.names(page)
        self.check("each metric has a section", names == [
            "Steps", "Active energy", "Distance on foot", "Running", "Sleep"], names)
        self.check("the title has the days", page.view.locator("h1").inner_text()
                   == "Health data, 1 Feb to 28 Feb 2026", page.view.locator("h1").inner_text())
        points = answer["structuredContent"]["results"][0]["data"]["health_data"]
        values = {point["date_from"][:10]: point["value"] for point in points}
        rows = self.rows(page, "Steps")
        seen = {row[0]: row[1] for row in rows}
        wanted = {}
        for day in range(1, 29):
            value = values.get(f"2026-02-{day:02d}")
            date = datetime.date(2026, 2, day)
            wanted[f"{date:%a} {day} Feb 2026"] = "no data" if value is None else f"{value:,}"
        self.check("each day has its number", seen == wanted, (seen, wanted))
        self.check("zero is not no data", "0" in seen.values() and "no data" in seen.values())
        self.check("no data is shown in the chart",
                   self.section(page, "Steps").locator("rect.hole").count() == 1)
        self.check("the axis has its unit",
                   self.section(page, "Steps").locator("text.unit").inner_html() == "steps")
        mean = round(sum(values.values()) / len(values))
        big = self.section(page, "Steps").locator(".big").inner_text()
        self.check("the mean of the days", big.startswith(f"{mean:,} steps a day"), (big, mean))
        big = self.section(page, "Sleep").locator(".big").inner_text()
        self.check("sleep in hours", re.match(r"\d h \d\d min mean of the 28 nights", big), big)
        heads = self.section(page, "Sleep").locator("thead th").all_inner_texts()
        self.rows(page, "Sleep")
        heads = self.section(page, "Sleep").locator("thead th").all_inner_texts()
        self.check("the stages of sleep", heads[1:] == [
            "Asleep", "Awake", "Core", "Deep", "REM"], heads)
        self.check("everything has a name", page.view.evaluate(UNNAMED) == [],
                   page.view.evaluate(UNNAMED))
        self.close(page, "a summary")

    def forms(self):
        """Compares a table, and an answer that has only its text, with an answer in points."""
        words = ("STEPS", "HEART_RATE", "SLEEP", "WORKOUT", "NUTRITION", "WEIGHT")
        texts = []
        for form, answer in (
                ("points", self.summary_of(*words, max_bytes=100_000)),
                ("table", self.summary_of(*words, format="table"))):
            for part in ("both", "text"):
                if part == "text":
                    answer = {"content": answer["content"]}
                page = self.open(answer)
                for summary in page.view.locator("summary").all():
                    summary.click()
                page.wait_for_timeout(200)
                texts.append(page.view.locator("#cards").inner_text())
                if part == "both":
                    self.picture(page, f"form-{form}")
                self.close(page, f"{form}, {part}")
        others = [text for text in texts if text != texts[0]]
        self.check("all forms of an answer look the same", not others,
                   [len(text) for text in texts] + others[:1])
        self.check("there is a table of each", texts[0].count("Numbers") >= 6, texts[0])
        # The question cuts its first and its last week.
        spans = []
        for form in ("points", "table"):
            page = self.open(self.program.metric("STEPS", group_by="WEEK", format=form, **SPAN))
            spans.append([row[0].endswith(" (part)") for row in self.rows(page, "Steps")])
            self.close(page, f"weeks, {form}")
        self.check("partial spans are marked in both forms",
                   spans == [[True, False, False, False, True]] * 2, spans)

    def nothing(self):
        page = self.open(self.summary_of("NUTRITION", "BODY_FAT", "WEIGHT"))
        self.picture(page, "nothing")
        names = self.names(page)
        self.check("nutrients that were not recorded have no chart",
                   names == ["Carbohydrates", "Body fat percentage", "Weight"], names)
        text = self.section(page, "Body fat percentage").inner_text()
        self.check("a metric without data says so", "No data in this time." in text, text)
        self.check("a measurement now and then has points",
                   self.section(page, "Weight").locator("circle").count() == 3)
        self.close(page, "nothing")
        page = self.open(self.program.metric(
            "STEPS", group_by="DAY", start_time="2026-04-01", end_time="2026-05-01"))
        text = self.section(page, "Steps").inner_text()
        self.check("the last sample is told", "The last is of 28 Feb 2026." in text, text)
        self.close(page, "later")

    def markup(self):
        page = self.open(self.program.metric("HEART_RATE", group_by="DAY", by_source=True))
        self.picture(page, "markup")
        names = self.names(page)
        self.check("markup in a source stays text",
                   f"Heart rate ({MARKUP})" in names, names)
        self.check("and makes no element", page.view.locator("#markup, img").count() == 0)
        self.check("and runs nothing", page.view.evaluate("window.hacked") is None)
        self.close(page, "markup")
        answer = {"content": [{"type": "text", "text": MARKUP}], "isError": True}
        page = self.open(answer, "failed")
        self.check("markup in a text stays text",
                   page.view.locator("#message").inner_text() == MARKUP)
        self.close(page, "a text")

    def years(self):
        years = {"start_time": "2016-03-01", "end_time": "2026-03-01"}
        page = self.open(self.program.metric(
            "STEPS", group_by="DAY", format="table", max_bytes=1_000_000, **years))
        self.picture(page, "years")
        count = page.view.locator(".slider").get_attribute("aria-valuemax")
        self.check("3,652 days are drawn as months", count == "120", count)
        self.check("a long chart has no gaps of single days", len(self.rows(page, "Steps")) == 120)
        milliseconds = page.view.evaluate("""() => {
          const begin = performance.now();
          for (const one of document.getElementById('cards').children) one.redraw()();
          return performance.now() - begin; }""")
        self.check("and are drawn within 100 ms", milliseconds < 100, milliseconds)
        self.close(page, "ten years by day")
        page = self.open(self.program.call("get_summary", **years))
        self.picture(page, "years-summary")
        warning = page.view.locator("#message").inner_text()
        self.check("what is left out is told", "left out" in warning, warning)
        self.close(page, "ten years in a summary")

    def groups(self):
        for group, columns in (("WEEKDAY", 7), ("WEEKPART", 2), ("HOUR_OF_DAY", 24), ("WEEK", 5),
                               ("MONTH", 2), ("YEAR", 2), ("HOUR", 96)):
            span = {"WEEK": ("2026-02-01", "2026-03-01"), "MONTH": ("2026-01-01", "2026-03-01"),
                    "YEAR": ("2025-01-01", "2026-03-01"),
                    "HOUR": ("2026-02-01", "2026-02-05")}.get(group, ("2026-02-01", "2026-03-01"))
            answer = self.program.metric(
                "STEPS", group_by=group, start_time=span[0], end_time=span[1])
            page = self.open(answer)
            shown = sum(row[1] != "no data" for row in self.rows(page, "Steps"))
            self.check(f"{group} shows each point",
                       shown == answer["structuredContent"]["count"], shown)
            seen = page.view.locator(".slider").get_attribute("aria-valuemax")
            self.check(f"{group} has {columns} columns", seen == str(columns), seen)
            labels = page.view.locator("svg text").count()
            self.check(f"{group} has labels", labels >= 5, labels)
            self.picture(page, f"group-{group.lower()}")
            self.close(page, group)
        page = self.open(self.program.metric(
            "SLEEP", group_by="DAY", format="table", start_time="2016-03-01"))
        self.picture(page, "early")
        text = self.section(page, "Sleep").locator(".legend").inner_text()
        self.check("a chart begins with the data", "no data before Tue 20 Jan 2026" in text, text)
        self.close(page, "an early start")

    def lists(self):
        page = self.open(self.program.metric(
            "SLEEP", group_by="TOTAL", trend=False,
            compare_with={"start_time": "2026-01-25", "end_time": "2026-02-01"}))
        self.picture(page, "total")
        text = self.section(page, "Sleep").inner_text()
        self.check("one number and the one before", re.search(
            r"\d h \d\d min average per night", text) and "before: " in text, text)
        self.check("one number has no chart", page.view.locator("svg").count() == 0)
        self.close(page, "a total")
        page = self.open(self.program.metric(
            "STEPS", group_by="DAY", trend=True,
            compare_with={"start_time": "2026-01-04", "end_time": "2026-02-01"}))
        self.picture(page, "compared")
        self.check("the trend is told", "a week" in self.section(page, "Steps").inner_text())
        self.check("each day has the one before", self.rows(page, "Steps")[0][2:] != [])
        self.close(page, "compared")
        self.trends()
        for word in ("HEART_RATE", "WORKOUT", "SLEEP", "WEIGHT"):
            page = self.open(self.program.metric(word, max_bytes=100_000))
            self.picture(page, f"list-{word.lower()}")
            self.check(f"single samples of {word} are in a table",
                       page.view.locator("tbody tr").count() >= 3)
            self.close(page, f"single {word}")

    def trends(self):
        page = self.open(self.program.metric(
            "STEPS", group_by="MONTH", trend=True, start_time="2025-01-01"))
        self.picture(page, "trend-months")
        text = self.section(page, "Steps").inner_text()
        self.check("the trend of months is that of an average day, and its slope of a week",
                   re.search(r"Trend of an average day: [+−±][\d,.]+ steps a week, [+−±][\d,.]+ "
                             r"steps from the first to the last", text), text)
        self.close(page, "a trend of months")
        answer = self.program.metric("WORKOUT", group_by="WEEK", trend=True)
        page = self.open(answer)
        told = [one["number"] for one in answer["structuredContent"]["trend"]]
        notes = self.section(page, "Running").locator(".note", has_text="Trend").all_inner_texts()
        self.check("of several numbers, the trend of the one that is drawn",
                   len(told) > 1 and len(notes) == 1 and " min a week" in notes[0], [told, notes])
        self.close(page, "a trend of workouts")

    def refusals(self):
        page = self.open(self.program.metric("STEPS", start_time="soon"), "failed")
        self.picture(page, "refused")
        text = page.view.locator("#message").inner_text()
        self.check("a refusal is told", "start_time" in text, text)
        self.check("a refusal has no section", self.names(page) == [])
        self.close(page, "a refusal")
        page = self.open(self.summary_of("STEPS", "NOPE", "constructor"))
        text = self.section(page, "Nope").inner_text()
        self.check("a metric that failed says why", "NOPE is no kind" in text, text)
        self.check("each by its name", self.names(page) == ["Steps", "Nope", "Constructor"])
        self.check("and the others are drawn", self.section(page, "Steps").locator("svg").count())
        self.close(page, "a part refused")
        for answer in ({}, {"content": []}, {"structuredContent": {"results": [None]}},
                       {"structuredContent": {"rows": 7}}, {"content": "text"}):
            page = self.open(answer, "failed")
            self.check(f"{answer} cannot be drawn", page.view.locator("#message").inner_text())
            self.close(page, "another form")

    def themes(self):
        seen = {}
        answer = self.program.call("get_summary", **SPAN)
        for theme in ("light", "dark"):
            for device in ("light", "dark"):
                page = self.open(answer, context={"theme": theme}, color_scheme=device)
                seen[theme, device] = page.view.evaluate(
                    "getComputedStyle(document.documentElement).backgroundColor")
                worst = page.view.evaluate(CONTRAST)
                self.check(f"{theme} on a {device} device: letters stand out", worst[0] >= 4.5,
                           worst)
                if theme != device:
                    self.picture(page, f"theme-{theme}")
                self.deliver(page, "host-context-changed", {"theme": device})
                now = until(page, lambda: theme == device and seen[theme, device] or (
                    color := page.view.evaluate(
                        "getComputedStyle(document.documentElement).backgroundColor")
                ) != seen[theme, device] and color)
                seen[device, "changed from " + theme] = now
                page.context.close()
        colors = {theme: {color for (name, _), color in seen.items() if name == theme}
                  for theme in ("light", "dark")}
        self.check("the theme of the host decides", len(colors["light"]) == len(colors["dark"]) == 1
                   and colors["light"] != colors["dark"], seen)

    def sizes(self):
        answer = self.program.call("get_summary", **SPAN)
        for name, width in SIZES.items():
            page = self.open(answer, width=width)
            self.picture(page, name.replace(" ", "-"))
            self.check(f"{name}: nothing is cut off", not page.view.evaluate(WIDE))
            told = [message["params"] for message in page.evaluate("log")
                    if message.get("method") == "ui/notifications/size-changed"]
            height = page.view.evaluate(
                "Math.ceil(document.body.getBoundingClientRect().height)")
            self.check(f"{name}: the host knows the height",
                       told[-1]["height"] == height > 500, (told, height))
            self.check(f"{name}: the size settles", len(told) < 12, len(told))
            before = len(told)
            page.view.locator("summary").first.click()
            self.check(f"{name}: and each change", until(page, lambda: sum(
                message.get("method") == "ui/notifications/size-changed"
                for message in page.evaluate("log")) > before))
            page.set_viewport_size({"width": 500, "height": 900})
            self.check(f"{name}: the charts follow the width",
                       until(page, lambda: not page.view.evaluate(WIDE)))
            self.close(page, name)

    def keyboard(self):
        page = self.open(self.summary_of("STEPS", "SLEEP"))
        page.view.locator("h1").click()
        roles = []
        for _ in range(4):
            page.keyboard.press("Tab")
            roles.append(page.view.evaluate(
                "document.activeElement.getAttribute('role') ?? document.activeElement.tagName"))
        self.check("the keyboard reaches charts and numbers",
                   roles == ["slider", "SUMMARY", "slider", "SUMMARY"], roles)
        page.view.locator(".slider").first.focus()
        page.keyboard.press("Home")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        tip = page.view.locator("#tip")
        value = page.view.locator(".slider").first.get_attribute("aria-valuetext")
        self.check("arrows choose a day", value.startswith("Wed 4 Feb 2026: ")
                   and value.endswith(" steps"), value)
        self.check("and its words are shown", tip.is_visible()
                   and tip.inner_text().replace("\n", ": ") == value, tip.inner_text())
        self.picture(page, "tip")
        page.keyboard.press("Escape")
        self.check("Escape hides them", not tip.is_visible())
        self.close(page, "the keyboard")

    def alone(self):
        page = self.browser.new_context().new_page()
        page.goto(self.base + "/view")
        self.check("without a host the page says what it is",
                   "assistant" in page.inner_text("#message"), page.inner_text("#message"))
        page.context.close()


def main():
    holdfast, *folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        browser = launch(playwright)
        program = Program(holdfast, data)
        status = Checks(browser, program, *folder).run()
        program.end()
        browser.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
