"""The third follower of message_client.py: `holdfast stream`, which is cut, killed and out of disk space."""
import asyncio
import fcntl
import itertools
import json
import os
import signal
import subprocess
import time

from message_outbox import NAME, Outbox
from message_wire import SHOP, check, check_that, moment, offset, split
from peer import HANG, SHORT_WAITS, Broken

WAITS = [*SHORT_WAITS, "--set", "standby.interval=1s", "--set", "standby.probe=2s", "--set", "standby.slowProbe=2s"]
ALL = 10_000


class Run:
    """One process of `holdfast stream` and what it printed."""

    def __init__(self, phone, words, ways):
        self.phone, self.world, self.ways = phone, phone.world, ways
        self.messages, self.printed, self.deliveries, self.waiting = {}, set(), set(), []
        self.was_full, self.is_up, self.lines = False, False, set()
        self.child = phone.start("stream", "--server", f"http://127.0.0.1:{phone.world.any_port()}", *WAITS, *words,
                                 stdin=subprocess.PIPE)
        if "full-pipes" in self.world.peer.without:
            fcntl.fcntl(self.child.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.reading = asyncio.create_task(self.read())

    async def read(self):
        reader = asyncio.StreamReader(limit=1 << 22)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self.child.stdout)
        try:
            while line := await reader.readline():
                if not line.endswith(b"\n"):
                    break  # a kill cut the last line
                self.phone.write_events(line)
                try:
                    event = json.loads(line)
                except ValueError:
                    raise Broken("a line of holdfast stream --json", "one JSON object", line[-300:]) from None
                self.take(event)
        finally:
            transport.close()

    def take(self, event):
        kind, self.is_up = event["event"], True
        self.world.peer.count(f"phone: {kind}")
        if kind in ("message", "edited", "deleted"):
            self.judge(kind, event)
            if "consumer" not in self.ways:
                self.phone.apply(self.messages, event)
            elif "confirm" not in self.ways:
                self.phone.apply(self.phone.read, event)
            else:
                self.waiting.append(event)
        elif kind in ("outbox", "sent", "discarded"):
            self.phone.outbox.note(kind, event)
        elif kind == "notice" and event["kind"].startswith("store"):
            check_that(f"a notice about the store: {event}", self.was_full or self.phone.is_full(), "a full disk",
                       "none")

    def judge(self, kind, event):
        """Checks one change of a message."""
        world, name, text, number = self.world, event["id"], event.get("text"), event.get("delivery")
        check_that(f"members of {event}", kind == "deleted" or event.get("position") and text, "all", event)
        check_that(f"text of a deletion {event}", kind != "deleted" or text is None, "none", text)
        check_that(f"a text in {kind}", text is None or world.base(text) in world.used and text not in world.refused,
                   "one that was sent", event)
        check_that(f"{kind} of a message whose deletion was printed", kind == "deleted" or name not in self.phone.dead,
                   "nothing", event)
        if kind == "message":
            check_that("message events of one id in a process", name not in self.printed, "one", event)
            self.printed.add(name)
            if event["username"] == NAME:
                self.phone.outbox.own(event)
        elif kind == "deleted":
            self.phone.dead.add(name)
        if event["position"]:  # without one it stands for a message that was deleted before it was read
            # A delivery has the text that holds when it is read.
            world.happened(event["position"], name, text if kind == "edited" and number is None else None)
        if "consumer" in self.ways:
            check_that("delivery of an event for a consumer", number is not None, "a number", event)
            check_that(f"delivery {number} in a process", number not in self.deliveries, "once", event)
            check(f"message of delivery {number}", self.phone.numbers.setdefault(number, name), name)
            check_that(f"delivery {number} after a clean end", number not in self.phone.settled, "not again", event)
            self.deliveries.add(number)

    def confirm(self, share):
        """Applies a share of the deliveries, then confirms them."""
        ready = self.waiting[:round(len(self.waiting) * share)]
        del self.waiting[:len(ready)]
        for event in ready:
            self.phone.apply(self.phone.read, event)
        self.send("".join(f"{e['delivery']}\n" for e in ready))

    def send(self, text):
        try:
            self.child.stdin.write(text.encode())
            self.child.stdin.flush()
        except OSError:
            pass

    async def end(self, number):
        """Sends a signal, waits for the end, and checks the status."""
        if self.child.poll() is None:
            self.child.send_signal(number)
            self.child.send_signal(signal.SIGCONT)
        limit = time.monotonic() + HANG
        while self.child.poll() is None:
            check_that(f"holdfast stream ends after signal {number}", time.monotonic() < limit, f"in {HANG} s", "it runs")
            await asyncio.sleep(0.02)
        await self.reading
        if number == signal.SIGTERM:
            self.check_status({0} if self.is_up else {0, -signal.SIGTERM})
            if not self.was_full and "confirm" not in self.ways:
                self.phone.settled |= self.deliveries
        for pipe in (self.child.stdin, self.child.stdout):
            try:
                pipe.close()
            except OSError:
                pass

    def check_status(self, good):
        status = self.child.poll()
        check_that("exit status of holdfast stream", status in good or self.was_full and status == 1, good, status)


class Phone:
    """A user's phone: its data directory, and what a reader of its events knows."""

    def __init__(self, world, disk):
        self.world, self.chance, self.disk = world, world.peer.chance, disk
        self.token = world.token(NAME)
        self.data = disk.path("phone")
        self.read = {}  # what the program knows that reads the consumer's events
        self.dead, self.numbers, self.settled = set(), {}, set()
        self.outbox, self.waits = Outbox(self), WAITS
        self.full_until, self.run_now, self.is_quiet, self.is_filling = 0, None, False, False

    def start(self, command, *words, **options):
        return self.world.peer.start(command, "--shop", SHOP, "--json", "--data", self.data, *words,
                                     env={**os.environ, "HOLDFAST_TOKEN": self.token}, **options)

    def write_events(self, line):
        with open(self.world.peer.path("phone-events"), "ab") as file:
            file.write(line)

    # What events say

    @staticmethod
    def apply(messages, event):
        name = event["id"]
        if event["event"] == "deleted":
            messages.pop(name, None)
        else:
            known = messages.setdefault(name, {})
            known["message"], known["username"] = event["text"], event["username"]
            if event["event"] == "message":
                known["created_at"] = event["createdAt"]

    # Life

    def is_full(self):
        return time.monotonic() < self.full_until

    async def fill(self):
        """Fills the disk of the phone again and again."""
        chance, peer = self.chance, self.world.peer
        while not peer.is_over():
            await asyncio.sleep(chance.uniform(1, 6))
            if not self.disk.is_small or not peer.draws("full-phone", 0.8):
                continue
            end, left = time.monotonic() + chance.uniform(0.2, 4), chance.choice([0, 0, 1, 3, 8])
            self.is_filling = True
            while time.monotonic() < end:
                self.full_until = time.monotonic() + 10
                if self.run_now:
                    self.run_now.was_full = True
                self.disk.fill(left)
                await asyncio.sleep(0.05)
            self.disk.empty()
            self.is_filling = False
            peer.count("full disks of the phone")

    async def run(self):
        world = self.world
        while True:
            run = self.begin()
            await self.live(run)
            if world.peer.is_over() and run.child.poll() is None:
                break
            way = signal.SIGKILL if world.peer.draws("phone-kills", 0.65) else signal.SIGTERM
            world.peer.count("kills of the phone" if way == signal.SIGKILL else "ends of the phone")
            await self.stop(way)
            while world.peer.draws("commands", 0.7) and not world.peer.is_over():
                await self.outbox.change()
            await asyncio.sleep(self.chance.choice([0, 0, 0.2, 1]))
        self.thaw(run)
        self.return_to_front(run)
        while self.is_filling:
            await asyncio.sleep(0.05)
        await self.wait("the phone sends all lines", self.find_lines)
        self.is_quiet = True
        while not world.is_calm:
            await asyncio.sleep(0.05)
        await self.wait("the phone has the newest messages", self.recover)
        await self.stop(signal.SIGTERM)
        await self.settle()

    async def stop(self, way):
        run, self.run_now = self.run_now, None
        await run.end(way)

    def begin(self, words=(), ways=None):
        chance = self.chance
        ways = ways or chance.choice([{"lines"}, {"lines", "consumer"}, {"consumer", "confirm"}, set()])
        if "consumer" in ways:
            words = [*words, "--consumer", "indexer", "--from", "all"]
        elif not words and chance.random() < 0.3:
            words = ["--from", "all"]
        words = [*words, *["--confirm"] * ("confirm" in ways), *["--send-stdin"] * ("lines" in ways)]
        if chance.random() < 0.2 and "--older" not in words:
            words += ["--older", str(chance.choice([10, 200]))]
        self.run_now = Run(self, words, ways)
        self.run_now.was_full = self.is_full()
        self.world.peer.count("runs of the phone")
        return self.run_now

    async def live(self, run):
        """Lets a process run for some time. It must not end by itself."""
        chance, world = self.chance, self.world
        end = time.monotonic() + chance.choice([chance.uniform(0.1, 1), chance.uniform(1, 4), chance.uniform(4, 8)])
        while time.monotonic() < end and not world.peer.is_over():
            if run.reading.done():
                run.reading.result()
            if run.child.poll() is not None:
                run.check_status(set())
                world.peer.count("runs that end on a full disk")
                return
            self.act(run)
            await asyncio.sleep(0.05)

    def act(self, run):
        chance, world = self.chance, self.world
        if "lines" in run.ways and world.peer.draws("lines", 0.15):
            for _ in range(chance.choice([1, 1, 1, 4])):
                text = self.outbox.text()
                run.lines.add(text)
                run.send(text + "\n")
                world.peer.count("lines of the phone")
        if "confirm" in run.ways and chance.random() < 0.2:
            run.confirm(chance.choice([0.5, 1, 1]))
        if not run.is_up:
            return
        if chance.random() < 0.01:
            run.child.send_signal(signal.SIGHUP)
        elif world.peer.draws("background", 0.01):
            # The first signal moves it to the background, and the second one back, in any order of arrival.
            run.child.send_signal(signal.SIGUSR1)
            asyncio.get_running_loop().call_later(chance.uniform(0, 1), self.return_to_front, run)

        elif world.peer.draws("freezes", 0.01):
            world.peer.count("freezes of the phone")
            run.child.send_signal(signal.SIGSTOP)
            asyncio.get_running_loop().call_later(chance.uniform(0.2, 3), self.thaw, run)

    @staticmethod
    def thaw(run):
        if run.child.poll() is None:
            run.child.send_signal(signal.SIGCONT)

    @staticmethod
    def return_to_front(run):
        if run.is_up and run.child.poll() is None:
            run.child.send_signal(signal.SIGUSR2)

    # The end

    async def command(self, *words):
        """Runs a command of the phone to its end, and returns its JSON lines."""
        child = self.start(*words)
        output = (await asyncio.get_running_loop().run_in_executor(None, child.communicate))[0]
        check(f"exit status of {words[0]}", 0, child.returncode)
        return [json.loads(line) for line in output.splitlines()]

    async def history(self):
        entries = await self.command("history", "--limit", str(ALL))
        return [e for e in entries if e["event"] == "message"], [e for e in entries if e["event"] != "message"]

    async def wait(self, what, test):
        """Waits until a test returns nothing. Otherwise it returns (expected, actual)."""
        limit = time.monotonic() + HANG
        while problem := await test():
            if self.run_now.reading.done():
                self.run_now.reading.result()
            check_that(f"{what} within {HANG} s", time.monotonic() < limit, *problem)
            await asyncio.sleep(0.3)

    async def server_list(self):
        return await self.world.walk(self.token, "after_id", self.world.first, True, 100)

    def look_after(self):
        """Starts the command again if its disk was full and it has ended."""
        if self.run_now.child.poll() is not None:
            self.run_now.check_status(set())
            self.begin()

    async def find_lines(self):
        self.look_after()
        _, others = await self.history()
        waiting = [e for e in others if e["event"] == "outbox"] or list(self.run_now.lines - self.outbox.owed)
        return waiting and ("no line waits", waiting[:2])

    async def recover(self):
        """Compares the newest messages. The process that saw the faults must fetch them without a restart."""
        self.look_after()
        if "confirm" in self.run_now.ways:
            self.run_now.confirm(1)
        whole, (messages, _) = await self.server_list(), await self.history()
        newest = whole[-max(1, min(50, len(messages))):]
        return self.differ(newest, messages[-len(newest):])

    def differ(self, wanted, shown):
        """Returns (expected, actual) of the first difference between messages of the server and events."""
        epoch = split(self.world.head or wanted[-1]["position"])[0]

        def place(message):  # the phone may know a message from an earlier log
            return offset(message["position"]) if split(message["position"])[0] == epoch else None

        wanted = [(m["id"], moment(m["created_at"]), m["username"], place(m), m["message"]) for m in wanted]
        shown = [(m["id"], moment(m["createdAt"]), m["username"], place(m), m["text"]) for m in shown]
        wanted = [w if not s or s[3] is not None else (*w[:3], None, w[4])
                  for w, s in itertools.zip_longest(wanted, shown)]
        for pair in zip(wanted, shown):
            if pair[0] != pair[1]:
                return pair
        if len(wanted) != len(shown):
            return f"{len(wanted)} messages", f"{len(shown)}: only one has {sorted(set(wanted) ^ set(shown))[:2]}"
        return None

    async def settle(self):
        """Compares all messages that the phone has, and all that its consumer read. Its process remains."""
        whole = await self.server_list()
        run = self.begin(["--older", str(ALL)], {"consumer"})

        async def test_history():
            messages, others = await self.history()
            return self.differ(whole, messages) or others and ("neither gaps nor lines", others[:3])

        async def test_consumer():
            first = min((moment(m["created_at"]) for m in self.read.values() if "created_at" in m), default=None)
            if first is None:
                return "messages", "none"
            wanted = {m["id"]: (m["message"], m["username"]) for m in whole if moment(m["created_at"]) >= first}
            actual = {k: (m["message"], m["username"]) for k, m in self.read.items()}
            for name in wanted.keys() | actual.keys():
                if wanted.get(name) != actual.get(name) and (name in wanted or "created_at" in self.read[name]):
                    return (name, wanted.get(name)), (name, actual.get(name))
            return None

        await self.wait("the phone has all messages", test_history)
        await self.wait("the consumer read all messages", test_consumer)
        self.world.peer.count("messages of the phone", len(whole))
        self.world.peer.count("messages of its consumer", len(self.read))
        await self.outbox.judge(whole)

    async def close(self):
        """Ends the last process, and compares what the next one prints from its store alone."""
        await self.stop(signal.SIGTERM)
        whole = await self.server_list()
        run = self.begin(["--from", "all", "--once"], {"plain"})
        await run.reading
        check("exit status of stream --once", 0, run.child.wait(HANG))
        check("messages of a process", sorted((m["id"], m["message"]) for m in whole), sorted(
            (name, m["message"]) for name, m in run.messages.items()))
        problem = self.differ(whole, (await self.history())[0])
        check_that("history at the end", not problem, *(problem or (0, 0)))
