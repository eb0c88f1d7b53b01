#!/usr/bin/env python3
"""Measures how fast the page of a picture opens and draws a large trace, in Chromium.

    speed.py [FACTS]

The page is that of Web/picture with a generated trace of 100,000 facts, or of FACTS, compressed as
`PictureFile` does with a large one. Prints one figure a line, as a name and a number; times are in
milliseconds. `HoldfastBench run --only picture` makes a table of them. Needs Playwright for Python
and Chromium; CHROMIUM is the path of its program.
"""

import base64
import gzip
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sys.exit("no Playwright; scripts/bench installs it into .build/bench/venv")

ROOT = pathlib.Path(__file__).resolve().parents[2]
WINDOW = {"width": 1280, "height": 800}
OPENINGS = 5
FRAMES = 120
# The intervals that are in sight: everything, and ten minutes.
SCENES = {
    "all": "[-picture.state.end, 2 * picture.state.end]",
    "minutes": "[1000, 1600]",
}

# Records when the page shows the trace, and the longest tasks until then.
WATCH = """() => {
  window.seen = { tasks: [] };
  new PerformanceObserver(list => {
    for (const task of list.getEntries()) seen.tasks.push([task.startTime, task.duration]);
  }).observe({ type: 'longtask', buffered: true });
  document.addEventListener('DOMContentLoaded', () => {
    const look = () => {
      if (document.body.dataset.state !== 'open' || seen.open) return;
      // The trace is drawn in the next frame.
      seen.open = -1;
      requestAnimationFrame(() => setTimeout(() => { seen.open = performance.now(); }));
    };
    new MutationObserver(look).observe(document.body, { attributes: true });
    look();
  });
}"""

# Parses each line of the trace, as a program does that needs its values and nothing else.
PARSE = """async () => {
  const [element] = document.querySelectorAll('script[type^="application/x-trace"]');
  const data = element.textContent.trim();
  const start = performance.now();
  const binary = atob(data);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const text = await new Response(stream).text();
  const facts = text.trim().split('\\n').map(line => JSON.parse(line));
  const time = performance.now() - start;
  return facts.length > 1 ? time : NaN;
}"""

# Drives the page for a number of frames. Returns the times of drawing and those between frames.
DRIVE = """async ([what, frames]) => {
  const { lanes, pan, zoom } = picture;
  const board = document.getElementById('board');
  const box = board.getBoundingClientRect();
  const drawn = [];
  const gaps = [];
  const draw = lanes.draw;
  lanes.draw = view => {
    const start = performance.now();
    draw.call(lanes, view);
    drawn.push(performance.now() - start);
  };
  const acts = {
    zoom: turn => zoom(turn < frames / 2 ? 0.9 : 1 / 0.9, undefined, false),
    pan: () => pan(0.01, false),
    hover: turn => board.dispatchEvent(new PointerEvent('pointermove', { pointerId: 1,
      clientX: box.left + turn * 7 % box.width, clientY: box.top + turn * 5 % box.height })),
  };
  let last = await new Promise(requestAnimationFrame);
  for (let turn = 0; turn < frames; turn++) {
    acts[what](turn);
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  delete lanes.draw;
  return [drawn, gaps];
}"""

# The times between frames of a page whose canvas is cleared, and nothing else.
EMPTY = """async frames => {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [innerWidth, innerHeight];
  document.body.append(canvas);
  const pen = canvas.getContext('2d');
  const gaps = [];
  let last = await new Promise(requestAnimationFrame);
  for (let turn = 0; turn < frames; turn++) {
    pen.fillStyle = turn % 2 ? '#fff' : '#eee';
    pen.fillRect(0, 0, canvas.width, canvas.height);
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}"""


class Generator:
    """A phone whose link drops every few minutes under heavy traffic."""

    def __init__(self, size):
        self.random = random.Random(7)
        self.size = size
        self.lines = []
        self.now = 0.0
        self.attempt = self.position = self.waiting = 0

    def text(self):
        self.add("device", "path", "A network over wifi.", value="wifi")
        while len(self.lines) < self.size:
            self.connection()
        header = {
            "trace": 1, "source": "simulator", "machine": "message-stream", "name": "Generated",
            "startedAt": "2026-11-25T08:00:00.000Z", "end": self.now, "seed": "7",
            "policy": {"name": "message-stream", "silence": 20, "ping": None, "pongTimeout": 10}}
        return json.dumps(header) + "\n" + "".join(self.lines[: self.size])

    def add(self, lane, kind, say, **values):
        fact = {"t": round(self.now, 6), "lane": lane, "kind": kind, "say": say, **values}
        self.lines.append(json.dumps(fact, ensure_ascii=False) + "\n")

    def connection(self):
        chance = self.random.random
        self.open("connecting" if self.attempt == 0 else "reconnecting")
        self.now += 0.05 + chance() * 0.3
        self.add("attempt", "up", f"Connection {self.attempt} is open.", attempt=self.attempt)
        self.add("link", "state", "Connected.", state="connected")
        end = self.now + 20 + chance() * 200
        for _ in range(int(chance() * 60) if self.attempt > 1 else 0):
            self.now += 0.001
            self.message("catchUp", chance() * 12)
        while self.now < end and len(self.lines) < self.size:
            self.now += chance() * chance() * 0.8
            self.traffic(chance())
        why = self.random.choice(["reset", "silent", "close 1001", "ended"])
        self.now += 20 if why == "silent" else 0
        self.over(why)
        for attempt in range(int(chance() * 4)):
            wait = 2 ** attempt
            self.add("link", "state", f"Reconnects, in {wait} s.", state="reconnecting",
                     retryAt=round(self.now + wait, 6), why=why, **{"try": attempt + 1, "of": 5})
            self.now += wait
            self.open("reconnecting")
            self.now += 0.3
            self.over("refused")

    def open(self, state):
        self.attempt += 1
        self.add("link", "state", "Connects, now.", state=state, **{"try": 1, "of": 5})
        self.add("attempt", "open", f"Connection {self.attempt} is attempted.",
                 attempt=self.attempt)

    def over(self, why):
        self.add("attempt", "end", f"Connection {self.attempt} is over: {why}.",
                 attempt=self.attempt, why=why, lost=True)

    def message(self, via, delay):
        self.add("data", "message", f"“message {self.position}” is shown.", via=via,
                 made=round(self.now - delay, 6), position=self.position)
        self.position += 1

    def traffic(self, choice):
        if choice < 0.45:
            self.add("traffic", "in", "A message arrives.", attempt=self.attempt, bytes=100)
            self.message("live", 0.02 + self.random.random() * 0.05)
        elif choice < 0.9:
            self.add("store", "commit", "Stored in 1 ms.", ok=True, **{
                "from": round(self.now - 0.001, 6)})
        elif choice < 0.94:
            self.add("traffic", "pingIn", "The server pings.", attempt=self.attempt)
        elif choice < 0.97:
            self.waiting += 1
            self.add("data", "outbox", f"{self.waiting} waiting.", waiting=self.waiting)
        elif self.waiting:
            self.waiting -= 1
            self.add("data", "sent", "The server has it.", waiting=self.waiting,
                     made=round(self.now - 0.3, 6))


def say(name, value):
    print(name, round(value, 3), flush=True)


def share(values, part):
    """Returns the value below which a part of the values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def lost(gaps):
    """Returns the number of frames that a screen with 60 Hz showed twice."""
    return sum(max(0, round(gap * 60 / 1000) - 1) for gap in gaps)


def say_frames(name, gaps):
    """Prints the time of a frame, and how many were lost, for the times between frames."""
    say(name, statistics.mean(gaps))
    say(f"{name}.lost", lost(gaps))
    say(f"{name}.most", max(gaps))


def chromium():
    """Returns the path of Chromium."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    return found or sys.exit("no Chromium; scripts/setup installs it")


def page_with(trace, folder):
    """Writes the page with a compressed trace, and returns its address."""
    data = base64.b64encode(gzip.compress(trace.encode())).decode()
    (folder / "connect").write_text("'none'", encoding="utf-8")
    (folder / "traces").write_text(
        f'<script type="application/x-trace+gzip">\n{data}</script>\n', encoding="utf-8")
    text = subprocess.run(
        [sys.executable, ROOT / "scripts/web", "--join", "picture",
         f"connect={folder / 'connect'}", f"traces={folder / 'traces'}"],
        check=True, capture_output=True).stdout
    (folder / "picture.html").write_bytes(text)
    return (folder / "picture.html").as_uri()


def opened(browser, address):
    """Opens the page in a new context, and waits until it shows the trace."""
    page = browser.new_context(viewport=WINDOW).new_page()
    page.add_init_script(f"({WATCH})()")
    page.goto(address, wait_until="commit")
    # The policy of the page forbids Playwright's own wait.
    for _ in range(2400):
        if page.evaluate("window.seen?.open > 0"):
            return page
        page.wait_for_timeout(50)
    sys.exit("the page did not open within two minutes")


def measure_opening(browser, address):
    """Measures the opening of the page, and parsing alone. Returns the last page."""
    times, tasks, parsing, page = [], [], [], None
    for _ in range(OPENINGS):
        if page:
            page.context.close()
        page = opened(browser, address)
        page.wait_for_timeout(300)
        seen = page.evaluate("seen")
        times.append(seen["open"])
        before = [time for start, time in seen["tasks"] if start < seen["open"]]
        tasks.append(max(before, default=0))
        parsing.append(page.evaluate(PARSE))
    say("open", statistics.median(times))
    say("open.most", max(times))
    say("open.task", statistics.median(tasks))
    say("parse", statistics.median(parsing))
    return page


def measure_frames(browser, page):
    """Measures frames of the page and, in turns with them, those of an empty canvas."""
    other = browser.new_context(viewport=WINDOW).new_page()
    all_gaps, empty_gaps = [], []
    for what in ("zoom", "pan", "hover"):
        times = []
        for interval in SCENES.values():
            page.bring_to_front()
            page.evaluate(f"picture.show(...{interval}, false)")
            page.wait_for_timeout(200)
            drawn, gaps = page.evaluate(DRIVE, [what, FRAMES])
            times += drawn
            all_gaps += gaps
            other.bring_to_front()
            empty_gaps += other.evaluate(EMPTY, FRAMES // 2)
        say(what, statistics.median(times))
        say(f"{what}.p99", share(times, 0.99))
        say(f"{what}.most", max(times))
    say_frames("frame", all_gaps)
    say_frames("empty", empty_gaps)


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    program = chromium()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        address = page_with(Generator(size).text(), pathlib.Path(folder))
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = measure_opening(browser, address)
        measure_frames(browser, page)
        browser.close()


if __name__ == "__main__":
    main()
