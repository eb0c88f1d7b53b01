"""A phone with a durable consumer, and commands that change messages through an outbox."""
import json
import os
import signal
import subprocess
import threading
import time

from author import Worker
from ledger import Record, Version
from processes import HANG, SHOP, Failure, Process


def history(program, data):
    """Returns the events of a phone's stored history."""
    lines = subprocess.run(
        [program, "history", "--data", data, "--shop", SHOP, "--limit", "100000", "--json"],
        check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


class Consumer(Process):
    """A `holdfast stream --consumer` process, and the program that reads its output."""

    def __init__(self, program, server, disk, clock, token, log):
        super().__init__()
        self.program, self.server, self.clock = program, server, clock
        self.data = disk.path + "/data"
        self.token, self.log = token, log
        self.lock = threading.Lock()
        self.numbers = {}  # delivery number to message id
        self.texts = {}  # id to text, with all edits and deletions applied
        self.deleted = set()  # ids
        self.confirmed = 0
        self.faults = []
        self.lives = 0
        self.stalled = threading.Event()

    def start(self):
        words = [
            self.program, "stream", "--server", f"http://127.0.0.1:{self.server.port}", "--shop",
            SHOP, "--data", self.data, "--json", "--consumer", "torture",
            "--confirm", "--from", "all", "--token-file", self.token]
        self.child = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            env=self.clock.environment())
        self.lives += 1
        threading.Thread(target=self.read, args=(self.child,), daemon=True).start()

    def read(self, child):
        expected = None
        for line in child.stdout:
            while self.stalled.is_set():
                time.sleep(0.01)
            try:
                event = json.loads(line)
            except ValueError:
                # Only the last line of a killed process may be incomplete.
                if child.poll() is None:
                    self.faults.append(f"not JSON: {line[:200]!r}")
                continue
            number = event.get("delivery")
            if number is None:
                continue
            with self.lock:
                self.take(number, event, expected)
            expected = number + 1
            if number % 7 == 0 or self.confirmed + 50 < number:
                self.confirm(child, number)

    def take(self, number, event, expected):
        if expected is None:
            if number > self.confirmed + 1:
                self.faults.append(
                    f"a life begins with {number}, confirmed were {self.confirmed}")
        elif number != expected:
            self.faults.append(f"{number} follows {expected - 1}")
        identifier = event["id"]
        known = self.numbers.setdefault(number, identifier)
        if known != identifier:
            self.faults.append(f"{number} was {known} and is {identifier}")
        if event["event"] == "deleted":
            self.texts.pop(identifier, None)
            self.deleted.add(identifier)
        elif identifier in self.deleted:
            self.faults.append(f"{number} is {identifier}, which was deleted")
        elif event["event"] == "edited" and identifier not in self.texts:
            self.faults.append(f"{number} edits {identifier}, which was not delivered")
        else:
            self.texts[identifier] = event["text"]

    def confirm(self, child, number):
        try:
            child.stdin.write(f"{number}\n".encode())
            child.stdin.flush()
        except (BrokenPipeError, OSError, ValueError):
            return
        with self.lock:
            self.confirmed = max(self.confirmed, number)

    def result(self):
        """Returns the texts by id, after the deliveries so far."""
        with self.lock:
            if self.faults:
                raise Failure("; ".join(self.faults[:5]))
            return dict(self.texts)

    def keep_up(self):
        """Restarts the process if it has ended. Its disk may have been full."""
        if self.child.poll() is not None:
            self.start()

    def stall(self, span, is_killed):
        self.stalled.set()
        time.sleep(span)
        if is_killed:
            self.kill()
        self.stalled.clear()
        if is_killed:
            self.start()

    def leave(self, span):
        """Moves the app to the background for a time."""
        self.signal(signal.SIGUSR1)
        time.sleep(span)
        self.signal(signal.SIGUSR2)


class Pen(Worker):
    """A phone of its own user that sends, edits and deletes by commands, some of which are killed.

    Its data directory lasts for one round. It follows the stream once before the faults, and once
    after them.
    """

    letter = "p"

    def __init__(self, world, number, chance, pause):
        super().__init__(world, number, chance, pause)
        self.data = f"{world.disks[1].path}/pen{number}"
        self.token = world.server.make_token(f"pen{number}")
        self.file = f"{world.directory}/pen.token"
        with open(self.file, "w", encoding="ascii") as file:
            file.write(self.token)
        self.own = []
        self.counts = {"confirmed": 0, "killed": 0, "failed": 0}

    def act(self):
        dice, record = self.chance.random(), self.target(self.own)
        if dice < 0.5 or record is None:
            self.send()
        elif dice < 0.8:
            version = Version(self.text(record.mark, len(record.versions)))
            version.is_unsure = True
            record.versions.append(version)
            if self.call("edit", record.id, version.text):
                version.is_certain = True
                self.ledger.edits += 1
        else:
            record.gone = record.gone if record.gone == "yes" else "maybe"
            if self.call("delete", record.id):
                record.gone = "yes"
                self.ledger.deletions += 1

    def send(self):
        mark, words, image = self.mark(), [], None
        if self.chance.random() < 0.2:
            image = self.picture(self.mark(), self.token)
            words = ["--image", f"{self.world.directory}/picture"]
            with open(words[1], "wb") as file:
                file.write(image.content)
        parent = self.parent()
        if parent:
            words += ["--reply-to", parent]
        record = self.ledger.add(Record(mark, self.text(mark, 0), self.token, parent, image))
        record.versions[0].is_unsure = True
        event = self.call("send", *words, record.texts()[0])
        if event:
            record.id = event["id"].lower()
            record.versions[0].is_certain = True
            self.own.append(record)
            self.world.foreign.append(record)

    def words(self, verb):
        return [
            self.world.program, verb, "--server", f"http://127.0.0.1:{self.server.port}", "--shop",
            SHOP, "--data", self.data, "--json", "--token-file", self.file]

    def call(self, verb, *words):
        """Runs a command, which may be killed. Returns its event, or None."""
        child = subprocess.Popen(
            self.words(verb) + ["--timeout", "3s", *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.world.log, env=self.world.clocks[1].environment())
        is_killed = self.chance.random() < 0.35
        if is_killed:
            try:
                child.wait(self.chance.choice([0.05, 0.2, 1]) * self.chance.random())
            except subprocess.TimeoutExpired:
                child.kill()
        output = child.communicate()[0]
        lines = [line for line in output.splitlines(keepends=True) if line.endswith(b"\n")]
        if child.returncode not in (0, 1, 6, -signal.SIGKILL):
            raise Failure(f"{verb} ended with {child.returncode}")
        event = json.loads(lines[0]) if lines else None
        if child.returncode == 0 and event is None:
            raise Failure(f"{verb} reported nothing")
        name = "confirmed" if event else "killed" if child.returncode < 0 else "failed"
        self.counts[name] += 1
        return event

    def flush(self):
        """Sends what is left in the outbox, and follows the stream to its end."""
        try:
            run = subprocess.run(
                self.words("stream") + ["--once"], stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=HANG, check=False, env=self.world.clocks[1].environment())
        except subprocess.TimeoutExpired as late:
            raise Failure(f"stream --once of the second phone does not end within {HANG} s") from late
        if run.returncode != 0:
            raise Failure(f"stream --once ended with {run.returncode}: {run.stderr[-300:]}")
        left = subprocess.run(
            [self.world.program, "outbox", "list", "--data", self.data, "--json"],
            check=True, capture_output=True, text=True).stdout
        if left:
            raise Failure(f"the outbox of the second phone is not empty: {left[:300]}")

    def history(self):
        """Returns the stored texts by id."""
        return {
            event["id"]: event["text"] for event in history(self.world.program, self.data)
            if event["event"] == "message"}
