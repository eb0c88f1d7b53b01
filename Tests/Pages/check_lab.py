#!/usr/bin/env python3
"""Checks `holdfast lab` in Chromium: presses each button, looks at the picture and the processes.

    check_lab.py HOLDFAST [FOLDER]

Starts the lab. Prints one line for each check, and exits with 1 if one fails. Screenshots are
written into FOLDER. Needs Playwright for Python and Chromium; CHROMIUM is the path of its program.
"""

import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

import pages
from pages import CONTRAST, DESKTOP, HANG, PHONE, UNNAMED, until

# The facts of a link that a condition accepts, with an index of at least `from`.
FACTS = """([link, from, lane, kind, words]) => {
  const model = picture.state.models.find(one => one.link === link);
  return (model?.events ?? []).filter(one => one.t >= from && (!lane || one.lane === lane)
    && (!kind || one.kind === kind) && (!words || JSON.stringify(one).includes(words)));
}"""
NOW = "picture.state.end"
STATE = """link => {
  const items = picture.state.models.find(one => one.link === link)?.states.items ?? [];
  return items.at(-1)?.state;
}"""


def children(parent):
    """Returns the processes below a process: their number, state and arguments."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        found[int(entry.name)] = (int(fields[1]), fields[0], words)
    below, known = [], {parent}
    while True:
        more = [number for number, (above, _, _) in found.items()
                if above in known and number not in known]
        if not more:
            return [(number, found[number][1], found[number][2]) for number in below]
        known.update(more)
        below += more


class Lab:
    """A running lab."""

    def __init__(self, program, *features, command=("lab",)):
        arguments = [program, *command, "--json"]
        if features:
            arguments += ["--feature", ",".join(features)]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.url = json.loads(line)["url"]
        parts = urllib.parse.urlsplit(self.url)
        self.port = parts.port
        self.secret = urllib.parse.parse_qs(parts.query)["lab"][0]

    def ask(self, method, path, secret=True, body=None, **fields):
        """Sends a request. Returns its status and its body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", fields.pop("host", f"127.0.0.1:{self.port}"))
        if secret:
            connection.putheader("X-Lab", self.secret)
        for name, value in fields.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders()
        if body:
            connection.send(body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())

    def events(self, after, least, seconds=2):
        """Returns the numbers and the events that the lab sends within a time, and at least so many."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG)
        fields = {"Last-Event-ID": str(after)} if after else {}
        connection.request("GET", f"/lab/events?lab={self.secret}", headers=fields)
        answer = connection.getresponse()
        text, end = b"", time.monotonic() + seconds
        while time.monotonic() < end or text.count(b"id: ") <= least:
            text += answer.read1(65536)
        found = []
        for block in text.decode().split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
            if "id" in fields:
                found.append((int(fields["id"]), fields["event"], fields["data"]))
        return found

    def programs(self, command):
        """Returns the processes of a command of the lab."""
        return [(number, state) for number, state, words in children(self.process.pid)
                if words[1:1 + len(command)] == command]

    @property
    def folder(self):
        """The folder with the files of the lab."""
        words = next(words for _, _, words in children(self.process.pid) if "serve" in words)
        return pathlib.Path(words[words.index("--data") + 1]).parent

    def end(self, number=signal.SIGINT):
        before = [one[0] for one in children(self.process.pid)]
        self.process.send_signal(number)
        status = self.process.wait(timeout=HANG)
        limit = time.monotonic() + HANG
        while time.monotonic() < limit:
            left = [one for one in before if alive(one)]
            if not left:
                break
            time.sleep(0.05)
        return status, left


def alive(number):
    try:
        return "State:\tZ" not in pathlib.Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False


class Checks(pages.Checks):
    """The checks of a lab."""

    def __init__(self, browser, program, folder):
        super().__init__()
        self.browser, self.program, self.folder = browser, program, folder

    def run(self):
        self.lab = Lab(self.program, "stream")
        try:
            self.requests()
            self.open()
            for part in (self.looks, self.network, self.server, self.phone, self.writing,
                         self.following, self.resuming):
                part()
            self.check("the console has no message", not self.page.problems, self.page.problems)
        finally:
            folder = self.lab.folder
            open_to_others = [path for path in [folder, *folder.rglob("*")]
                              if path.lstat().st_mode & 0o077]
            status, left = self.lab.end()
        self.check("the files are for their owner only", not open_to_others, open_to_others)
        self.check("Ctrl-C ends the lab with status 0", status == 0, status)
        self.check("no process is left", not left, left)
        self.check("no file is left", not folder.exists(), folder)
        self.killed()
        self.all_features()
        self.chapters()
        return self.status()

    # Requests of others.

    def requests(self):
        ask = self.lab.ask
        for host in ("evil.example", f"evil.example:{self.lab.port}", "127.0.0.1"):
            status = ask("GET", "/", host=host)[0]
            self.check(f"421 for the host “{host}”", status == 421, status)
        status, _, fields = ask("GET", "/")
        policy = fields["Content-Security-Policy"]
        self.check("the page is served with its policy", status == 200
                   and "default-src 'none'" in policy and "connect-src 'self'" in policy, policy)
        origins = ("https://evil.example", f"http://127.0.0.1:{self.lab.port + 1}", "null")
        for origin in origins:
            status = ask("POST", "/lab/do/cut", Origin=origin)[0]
            self.check(f"403 for the origin {origin}", status == 403, status)
        status = ask("POST", "/lab/do/cut", secret=False)[0]
        self.check("403 without the secret", status == 403, status)
        status = ask("POST", "/lab/do/cut", secret=False, X_Lab="0" * 36)[0]
        self.check("403 with another secret", status == 403, status)
        status = ask("GET", "/lab/events")[0]
        self.check("403 for the events without the secret", status == 403, status)
        status = ask("POST", "/lab/do/nothing")[0]
        self.check("404 for an unknown button", status == 404, status)
        status = ask("POST", "/lab/do/half-open")[0]
        self.check("404 for half a button", status == 404, status)
        status = ask("POST", "/lab/do/say", body=b"   ")[0]
        self.check("400 for a text of spaces", status == 400, status)
        status = ask("POST", "/lab/do/say", body=b"x" * 5000)[0]
        self.check("a long text is refused", status in (400, 413), status)
        page = ask("GET", "/")[1]
        self.check("the page does not contain the secret", self.lab.secret not in page)

    # The page.

    def open(self):
        self.page = self.browser.new_context(viewport=DESKTOP).new_page()
        page = self.page
        page.problems, page.outside = [], []
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        own = f"http://127.0.0.1:{self.lab.port}/"
        page.on("request", lambda one: None if one.url.startswith(own)
                else page.outside.append(one.url))
        page.goto(self.lab.url)
        self.wait("document.body.dataset.state === 'open'")
        self.wait_state("connected")
        self.check("the link is connected and drawn", True)

    def evaluate(self, code, *values):
        return self.page.evaluate(code, *values)

    def wait(self, condition, seconds=HANG):
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if self.page.evaluate(condition):
                return True
            self.page.wait_for_timeout(50)
        return False

    def wait_state(self, *states, link="stream", seconds=HANG):
        """Waits until a link has been in one of the states for a while."""
        limit, held = time.monotonic() + seconds, 0
        while time.monotonic() < limit:
            held = held + 1 if self.evaluate(STATE, link) in states else 0
            if held == 10:
                return True
            self.page.wait_for_timeout(50)
        return False

    def fact(self, since, lane, kind, words="", link="stream", seconds=HANG):
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            found = self.evaluate(FACTS, [link, since, lane, kind, words])
            if found:
                return found[0]
            self.page.wait_for_timeout(50)
        return None

    def press(self, name):
        """Presses a button as a person does. Returns the time before."""
        since = self.evaluate(NOW)
        self.page.locator(f"[data-deed={name}]").click()
        return since

    def is_pressed(self, name):
        return self.page.locator(f"[data-deed={name}]").get_attribute("aria-pressed") == "true"

    def stop(self, name):
        self.press(name)
        return self.wait(f"document.querySelector('[data-deed={name}]')"
                         ".getAttribute('aria-pressed') === 'false'")

    def shot(self, name):
        if self.folder:
            self.page.screenshot(path=f"{self.folder}/{name}.png")

    def looks(self):
        self.page.wait_for_timeout(3000)
        self.shot("lab")
        worst = self.evaluate(CONTRAST)
        self.check("the contrast of every text is at least 4.5", worst[0] >= 4.5, worst)
        unnamed = self.evaluate(UNNAMED)
        self.check("every control has a name", not unnamed, unnamed)
        self.check("nothing is loaded from elsewhere", not self.page.outside, self.page.outside)
        self.page.set_viewport_size(PHONE)
        self.page.wait_for_timeout(400)
        wide = self.evaluate("document.documentElement.scrollWidth - innerWidth")
        self.check("nothing is wider than a phone", wide <= 0, wide)
        self.shot("lab-phone")
        self.page.set_viewport_size(DESKTOP)

    # The network.

    def network(self):
        since = self.press("cut")
        self.check("cut: a fault in the picture",
                   self.fact(since, "network", "trouble", '"name":"cut"') is not None)
        end = self.fact(since, "attempt", "end")
        self.check("cut: the connection is lost", end is not None and end["lost"], end)
        self.check("cut: the link comes back", self.wait_state("connected"))

        since = self.press("half-open")
        self.check("half-open: the button is pressed", self.wait(
            "document.querySelector('[data-deed=half-open]').ariaPressed === 'true'"))
        end = self.fact(since, "attempt", "end", "silent")
        self.check("half-open: the silence is noticed", end is not None, end)
        self.shot("lab-half-open")
        self.stop("half-open")
        trouble = self.fact(since, "network", "trouble", "half-open")
        self.check("half-open: the fault has an end", self.wait(
            "picture.state.models[0].troubles.items.at(-1).until < picture.state.end - 0.1"),
            trouble)
        self.check("half-open: the link comes back", self.wait_state("connected"))

        since = self.press("slow")
        self.check("slow: a fault in the picture",
                   self.fact(since, "network", "trouble", "slow") is not None)
        self.check("slow: the link stays", self.evaluate(STATE, "stream") == "connected")
        late = "picture.state.models[0].made.at(-1) < picture.state.models[0].shown.at(-1) - 0.5"
        self.check("slow: messages are late", self.wait(late))
        self.stop("slow")

        since = self.press("no-way")
        self.check("no way: the phone has no network",
                   self.fact(since, "device", "path", '"none"') is not None)
        self.check("no way: the link rests", self.wait_state("held"),
                   self.evaluate(STATE, "stream"))
        self.stop("no-way")
        self.check("no way: the link comes back", self.wait_state("connected"))

        since = self.press("login-page")
        self.check("login page: it answers in place of the server",
                   self.fact(since, "attempt", "end", "302") is not None)
        self.check("login page: the phone finds it",
                   self.fact(since, "device", "path", "login page") is not None)
        self.stop("login-page")
        self.check("login page: the link comes back", self.wait_state("connected"))

    # The server.

    def server(self):
        for name, status in (("restart", "asked to end"), ("kill", "killed")):
            before = self.lab.programs(["serve"])
            since = self.press(name)
            down = self.fact(since, "server", "down")
            self.check(f"{name}: the server is down in the picture", down is not None)
            self.check(f"{name}: the process was {status}",
                       self.gone(before[0][0]), before)
            self.check(f"{name}: the server runs again", self.fact(
                since, "server", "note", "runs again") is not None)
            after = self.lab.programs(["serve"])
            self.check(f"{name}: it is another process", after and after[0][0] != before[0][0])
            self.check(f"{name}: the link comes back", self.wait_state("connected"))

        since = self.press("answer-503")
        self.check("answer 503: the status is told",
                   self.fact(since, "", "", "503") is not None
                   and self.fact(since, "attempt", "end") is not None)
        self.stop("answer-503")
        self.check("answer 503: the link comes back", self.wait_state("connected"))

        since = self.press("expire-tokens")
        self.check("expire tokens: a new token is asked for",
                   self.fact(since, "device", "token", "asks") is not None)
        self.check("expire tokens: the link comes back", self.fact(
            since, "server", "note", "runs again") is not None and self.wait_state("connected"))

    def gone(self, number, seconds=HANG):
        limit = time.monotonic() + seconds
        while alive(number) and time.monotonic() < limit:
            time.sleep(0.05)
        return not alive(number)

    # The phone.

    def phone(self):
        since = self.press("background")
        self.check("background: the app is told",
                   self.fact(since, "device", "app", '"background"') is not None)
        self.check("background: the link rests", self.wait_state("held", "idle"),
                   self.evaluate(STATE, "stream"))
        self.stop("background")
        self.check("background: the app returns",
                   self.fact(since, "device", "app", '"foreground"') is not None
                   and self.wait_state("connected"))

        since = self.press("sleep")
        self.check("sleep: in the picture",
                   self.fact(since, "device", "app", "suspended") is not None)
        self.check("sleep: the process is stopped", self.has_phone_state("T"))
        self.stop("sleep")
        self.check("sleep: it runs again", self.has_phone_state("RSD"))
        self.check("sleep: told", self.fact(since, "device", "app", "resumed") is not None)

        before = self.lab.programs(["stream"])[0][0]
        since = self.press("kill-app")
        self.check("kill the app: in the picture",
                   self.fact(since, "device", "app", "killed") is not None)
        status, say, _ = self.lab.ask("POST", "/lab/do/background/on")
        self.check("kill the app: the phone is busy", status == 409 and "Background" in say, status)
        self.check("kill the app: the process is gone", self.gone(before))
        self.check("kill the app: it is launched again",
                   self.fact(since, "device", "app", "launched") is not None
                   and self.wait_state("connected"))
        self.check("kill the app: another process",
                   [one[0] for one in self.lab.programs(["stream"])] not in ([], [before]))

        since = self.press("lose-wifi")
        self.check("lose Wi-Fi: the path changes",
                   self.fact(since, "device", "path", '"cell"') is not None)
        self.check("lose Wi-Fi: another connection",
                   self.fact(since, "attempt", "up") is not None and self.wait_state("connected"))
        self.stop("lose-wifi")
        self.check("lose Wi-Fi: back on Wi-Fi",
                   self.fact(since, "device", "path", '"wifi"') is not None)

    def has_phone_state(self, states):
        """Waits until the process of the phone is in one of the states."""
        return until(self.page, lambda: any(
            state in states for _, state in self.lab.programs(["stream"])[:1]))

    # What a person does.

    def writing(self):
        self.wait_state("connected")
        since = self.evaluate(NOW)
        self.page.locator("#write").fill("two rye loaves <b>")
        self.page.keyboard.press("Enter")
        self.check("a written message is shown", self.fact(
            since, "data", "message", "two rye loaves <b>") is not None)
        self.check("the field is empty again", self.page.locator("#write").input_value() == "")
        button = self.page.locator("[data-deed=slow]")
        button.focus()
        self.page.keyboard.press("Space")
        self.check("a button works by key", self.wait(
            "document.querySelector('[data-deed=slow]').ariaPressed === 'true'"))
        self.page.keyboard.press("Space")
        self.wait("document.querySelector('[data-deed=slow]').ariaPressed === 'false'")
        self.check("the focus stays on the button", self.evaluate(
            "document.activeElement.dataset.deed") == "slow")

    def following(self):
        to = self.evaluate("picture.view.to")
        self.check("the picture follows", self.wait(f"picture.view.to > {to} + 1"))
        box = self.page.locator("#board").bounding_box()
        self.page.mouse.move(box["x"] + 300, box["y"] + 60)
        self.page.mouse.wheel(0, -300)
        self.wait("document.getElementById('follow').getAttribute('aria-pressed') === 'false'")
        self.page.wait_for_timeout(400)
        to = self.evaluate("picture.view.to")
        self.page.wait_for_timeout(1000)
        self.check("a wheel ends the following", self.evaluate("picture.view.to") == to
                   and self.page.locator("#follow").get_attribute("aria-pressed") == "false")
        self.page.locator("#follow").click()
        self.check("“Follow” begins it again", self.wait(f"picture.view.to > {to}"))
        self.shot("lab-end")
        rate = self.evaluate("""async () => {
          let many = 0, frames = 0, last = picture.state.models;
          const end = performance.now() + 3000;
          while (performance.now() < end) {
            await new Promise(requestAnimationFrame);
            frames++;
            if (picture.state.models !== last) many++;
            last = picture.state.models;
          }
          return [many / 3, frames / 3];
        }""")
        # On a busy machine there are few frames in which it can be drawn.
        self.check("the picture is updated 5 times a second",
                   min(3, rate[1] / 15) <= rate[0] <= 5.5, rate)

    def resuming(self):
        whole = self.lab.events(0, 21)
        numbers = [number for number, _, _ in whole]
        self.check("the events are numbered from 1", numbers == list(range(1, len(numbers) + 1)))
        part = self.lab.events(numbers[-1] - 20, 20)
        first = [number for number, _, _ in part]
        self.check("Last-Event-ID resumes without loss or repetition",
                   first[:20] == numbers[-20:] and first == sorted(set(first))
                   and part[:20] == whole[-20:], first)
        self.check("each event is JSON", all(json.loads(data) for _, _, data in whole))
        text = json.dumps([data for _, _, data in whole])
        tokens = [word for word in ("eyJ", "Bearer", "holdfast-", self.lab.secret) if word in text]
        self.check("no token in the facts", not tokens, tokens)
        other = self.browser.new_context(viewport=DESKTOP).new_page()
        other.goto(self.lab.url)
        for _ in range(60):
            other.wait_for_timeout(500)
            sizes = [page.evaluate("picture.state.models[0]?.size ?? -100") for page in (other, self.page)]
            if abs(sizes[0] - sizes[1]) <= 10:
                break
        self.check("a second page shows the same", abs(sizes[0] - sizes[1]) <= 10, sizes)
        other.close()

    # Ends.

    def killed(self):
        lab = Lab(self.program, "stream")
        folders = [lab.folder]
        before = [one[0] for one in children(lab.process.pid)]
        status, left = lab.end(signal.SIGKILL)
        self.check("after SIGKILL no process is left", before and not left, (before, left))
        lab = Lab(self.program, "stream", "session", "sync")
        folders.append(lab.folder)
        lab.ask("POST", "/lab/do/sleep/on")
        time.sleep(0.5)
        status = lab.ask("POST", "/lab/do/say", body=b"nobody reads this")[0]
        self.check("409 for a text to an app that is asleep", status == 409, status)
        status, left = lab.end(signal.SIGKILL)
        self.check("after SIGKILL no stopped process is left", not left, left)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    def all_features(self):
        self.lab = Lab(self.program)
        try:
            self.open_all()
        finally:
            status, left = self.lab.end(signal.SIGTERM)
        self.check("SIGTERM ends all features", status == 0 and not left, (status, left))

    def open_all(self):
        self.open()
        names = ("stream", "socket", "session", "relay", "sync", "bottle")
        for name in names:
            self.check(f"{name}: connected", self.is_well(name, 0))
        since = self.evaluate(NOW)
        self.page.wait_for_timeout(2000)
        self.press("half-open")
        self.page.wait_for_timeout(14000)
        self.stop("half-open")
        for name in names:
            if name != "sync":
                end = self.fact(since, "attempt", "end", link=name)
                self.check(f"{name}: lost while half-open", end is not None)
        after = self.evaluate(NOW)
        for name in names:
            self.check(f"{name}: works again", self.is_well(name, after),
                       self.evaluate(STATE, name))
        for name in names:
            since = self.evaluate(NOW)
            self.page.locator(f".linkrow >> nth={names.index(name)}").click()
            self.page.locator("#write").fill("250")
            self.page.keyboard.press("Enter")
            good = self.fact(since, "", "", link=name) is not None
            self.check(f"{name}: a written text has an effect", good)
            self.page.wait_for_timeout(800)
            self.shot(f"lab-{name}")
        since = self.press("kill")
        for name in names:
            self.check(f"{name}: the server's end is shown",
                       self.fact(since, "server", "down", link=name) is not None)
        self.fact(since, "server", "note", "runs again")
        after = self.evaluate(NOW)
        for name in names:
            self.check(f"{name}: works with the new server", self.is_well(name, after),
                       self.evaluate(STATE, name))
        since = self.press("kill-app")
        for name in names:
            launched = self.fact(since, "device", "app", "launched", link=name)
            self.check(f"{name}: launched again", launched is not None
                       and self.is_well(name, launched["t"]), self.evaluate(STATE, name))
        since = self.press("login-page")
        self.fact(since, "attempt", "end")
        self.page.wait_for_timeout(1000)
        end = self.fact(since, "attempt", "end", link="bottle", seconds=0.1)
        self.check("login page: the bottle does not notice it", end is None, end)
        self.stop("login-page")
        self.page.wait_for_timeout(1000)
        self.shot("lab-all")
        self.check("the console has no message with all features", not self.page.problems,
                   self.page.problems)


    def chapters(self):
        self.lab = Lab(self.program, command=("demo", "--web"))
        try:
            self.open()
            fault = self.fact(0, "network", "trouble", '"name":"cut"')
            self.check("demo --web: the first chapter cuts the network", fault is not None)
            shown = self.wait("document.querySelector('.chapter').textContent.startsWith('1 of')")
            self.check("demo --web: the page shows the chapter", shown)
            pressed = self.wait("document.querySelector('[data-deed=half-open]').ariaPressed"
                                " === 'true'")
            self.check("demo --web: the second one presses a button", pressed)
            self.page.wait_for_timeout(6000)
            self.shot("lab-chapters")
        finally:
            status, left = self.lab.end()
        self.check("demo --web ends with Ctrl-C", status == 0 and not left, (status, left))
        self.check("the console has no message with chapters", not self.page.problems,
                   self.page.problems)

    def is_well(self, name, since):
        """Returns whether a link is connected; an upload has no connection that stays."""
        if name == "sync":
            return self.fact(since, "data", "post", '"ok":true', link=name) is not None
        return self.wait_state("connected", link=name)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[2] if len(sys.argv) == 3 else os.environ.get("HOLDFAST_SCREENSHOTS")
    return pages.in_browser(lambda browser: Checks(browser, sys.argv[1], folder).run())


if __name__ == "__main__":
    sys.exit(main())
