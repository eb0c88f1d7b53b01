"""Runs the program Corner against real servers, kills both sides, and checks what arrived.

Usage: try_corner.py CORNER HOLDFAST. It needs Python's `websockets`. The last line is the result.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

CORNER, HOLDFAST = (os.path.abspath(path) for path in sys.argv[1:3])
HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 120  # seconds until a wait counts as a failure, even on a busy machine
CHILDREN = []


class Program:
    """A child process whose output can be awaited."""

    def __init__(self, *words, cwd=None):
        self.lines = []
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=cwd)
        CHILDREN.append(self.child)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            self.lines.append(line.rstrip("\n"))

    def wait(self, pattern, count=1):
        """Waits until `count` lines match, and returns the last match."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            found = [match for match in (re.search(pattern, line) for line in list(self.lines)) if match]
            if len(found) >= count:
                return found[count - 1]
            time.sleep(0.02)
        raise SystemExit(f"the line {pattern!r} did not appear {count} times within {LIMIT} s; the output:\n"
                         + "\n".join(self.lines[-20:]))

    def end(self, number=signal.SIGTERM):
        self.child.send_signal(number)
        self.child.wait(LIMIT)
        self.reader.join(LIMIT)


def try_board(folder):
    feed = Program(sys.executable, os.path.join(HERE, "feed_server.py"), "0.05")
    port = feed.wait(r"^(\d+)$").group(1)
    url = f"ws://127.0.0.1:{port}/"
    # The first token is refused, so that the program requests another.
    tokens = f"echo x >>{folder}/asked; [ $(wc -l <{folder}/asked) -gt 1 ] && echo good || echo old"
    words = (CORNER, "board", url, folder, tokens)
    board = Program(*words, "two rye", "a cake")
    board.wait("price", 5)
    for count, number in enumerate((signal.SIGUSR1, signal.SIGUSR2), 2):
        feed.child.send_signal(number)
        board.wait("connected", count)
        board.wait("price", len([line for line in board.lines if "price" in line]) + 5)
    board.end(signal.SIGKILL)
    again = Program(*words, "two oat")
    again.wait("price", 5)
    again.wait("taken")
    again.end(signal.SIGKILL)
    feed.end()
    numbers = [int(found) for found in re.findall(r"price.*?seq: (\d+)", "\n".join(board.lines + again.lines))]
    wanted = [number for number in range(1, numbers[-1] + 1) if number % 3 != 2]
    # The line that the kill interrupted can be printed and not be recorded.
    assert sorted(set(numbers)) == wanted, f"missing lines: {sorted(set(wanted) - set(numbers))}"
    assert len(numbers) - len(wanted) <= 1, "a line was shown twice"
    orders = json.loads(feed.lines[-1])
    assert sorted(text for text, _ in orders) == ["a cake", "two oat", "two rye"], orders


def try_backend(folder):
    data = folder + "/server"
    server = Program(HOLDFAST, "serve", "--port", "0", "--data", data, "--json", "--log-level", "error")
    url = server.wait(r"(http://127\.0\.0\.1:\d+)").group(1)
    token = f"{HOLDFAST} token --user bob --shops bakery --data {data} --ttl 40s"
    shop = Program(CORNER, "shop", url, folder + "/shop", token, "two rye", "closing time")
    shop.wait("sent as", 2)
    shop.wait(": closing time")
    assert shop.child.wait(LIMIT) == 0
    talk = Program(CORNER, "talk", url.replace("http", "ws") + "/session", folder + "/talk",
                   f"cat {data}/session-key", "good morning", "two rye")
    assert talk.child.wait(LIMIT) == 0
    talk.reader.join(LIMIT)
    assert len(talk.lines) == 2, talk.lines
    server.end()


try:
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(place + "/board")
        try_board(place + "/board")
        try_backend(place)
    print("the example app ran against its servers: kills, a restart, silence and a refused token lost nothing")
finally:
    for child in CHILDREN:
        child.kill()
