"""Code shared by all peers: options, child processes, checks and the line with the outcome."""
import argparse
import ctypes
import http.client
import json
import logging
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

# The limit of a wait for what surely happens, in seconds. Only a hang reaches it, and no busy machine does.
HANG = 300
KILLED_WITH_PARENT = 1  # PR_SET_PDEATHSIG
LIBC = ctypes.CDLL(None)
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# Waits are short, so that many faults fit into a run.
WAIT = "100ms*2 max 1s +-0.25 min 100ms x20"
SHORT_WAITS = ["--set", f"retry.first={WAIT}", "--set", f"retry.reconnect={WAIT}",
               "--set", "retry.windows=2/1s,90/1m", "--set", "retry.serverJitter=200ms"]


class Broken(Exception):
    """A broken promise of the documentation."""

    def __init__(self, what, expected, actual):
        super().__init__(f"{shorten(what)}: expected {shorten(expected)}, actual {shorten(actual)}")

    @classmethod
    def of(cls, several):
        """Combines several broken promises into one."""
        broken = cls.__new__(cls)
        Exception.__init__(broken, "; ".join(map(str, several)))
        return broken


def shorten(value, limit=400):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def check(what, expected, actual):
    if expected != actual:
        raise Broken(what, expected, actual)


def check_that(what, holds, expected, actual):
    if not holds:
        raise Broken(what, expected, actual)


def wait_for(what, within, find, every=0.05):
    """Calls a function until its result is true, and returns it."""
    end = time.monotonic() + within
    while not (found := find()):
        check_that(what, time.monotonic() < end, f"within {within} s", found)
        time.sleep(every)
    return found


def installed(name):
    """Returns the path of a program; None if it is not installed."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def haproxy():
    """Returns the path of haproxy; None if it is not installed."""
    return installed("haproxy")


def sdk():
    """Returns the Python with the newer SDK of MCP; None if scripts/peers has not installed it."""
    folders = [os.environ.get("MCP_SDK"), os.path.join(ROOT, ".build", "mcp-sdk"), ".build/mcp-sdk"]
    paths = [os.path.abspath(os.path.join(folder, "2", "bin", "python")) for folder in folders if folder]
    return next((path for path in paths if os.access(path, os.X_OK)), None)


def free_port():
    """Returns a port that nobody uses now, and that the kernel selects for no other socket, since it is used
    again after a kill."""
    while True:
        port = random.SystemRandom().randrange(10_240, 32_768)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
                return port
            except OSError:
                continue


def wait_until(what, holds, limit=HANG):
    end = time.monotonic() + limit
    while not holds():
        check_that(what, time.monotonic() < end, f"within {limit} s", "not yet")
        time.sleep(0.02)


def ask(port, method, path, token=None, body=None, fields=None, timeout=HANG):
    """Returns the status, the fields and the body of an answer. A body that is not bytes is sent as JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        connection.request(method, path, body, {
            **({"Authorization": f"Bearer {token}"} if token else {}), **(fields or {})})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def upgrade(port, path, token=None, fields=(), source="127.0.0.1"):
    """Asks for a WebSocket. Returns the status, the body of a refusal, and the socket, which is None if refused."""
    link = socket.create_connection(("127.0.0.1", port), timeout=HANG, source_address=(source, 0))
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket",
             "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *fields]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    link.sendall("\r\n".join([*lines, "", ""]).encode())
    head = link.recv(12, socket.MSG_PEEK | socket.MSG_WAITALL)
    check_that(f"an answer to the upgrade of {path}", head.startswith(b"HTTP/1.1 "), "HTTP/1.1", head)
    if not head.endswith(b"101"):
        answer = http.client.HTTPResponse(link)
        answer.begin()
        body = answer.read()
        link.close()
        return answer.status, body, None
    head = b""
    while not head.endswith(b"\r\n\r\n"):  # What follows is of the WebSocket.
        part = link.recv(1)
        check_that(f"a head from {path}", part, "its end", head)
        head += part
    return 101, b"", link


def metrics(port):
    """Returns the values of the metrics, which are text, by their names with labels."""
    page = ask(port, "GET", "/metrics")[2].decode()
    return dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))


def end_with_parent():
    """Makes the kernel kill this child when its parent ends. Runs before the child's program."""
    LIBC.prctl(KILLED_WITH_PARENT, signal.SIGKILL)


class Peer:
    """One run of a peer: its seed, duration, directory and child processes."""

    def __init__(self, program, seed, seconds, without=()):
        self.without = without
        self.program, self.seed, self.seconds = os.path.abspath(program), seed, seconds
        self.chance = random.Random(seed)
        self.directory = tempfile.mkdtemp(prefix="holdfast-peer-")
        self.log = open(self.path("log"), "ab")
        self.children = []
        self.at_end = []  # functions that are called with `is_kept` once all child processes have ended
        self.counts = {}
        self.end = time.monotonic() + seconds

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text, mode=0o600):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w",
                  encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def count(self, name, number=1):
        self.counts[name] = self.counts.get(name, 0) + number

    def draws(self, fault, likelihood):
        """Returns whether a fault occurs now. An excluded fault never occurs."""
        return self.chance.random() < likelihood and fault not in self.without

    def is_over(self):
        return time.monotonic() >= self.end

    def start(self, *words, program=None, **options):
        child = subprocess.Popen(
            [program or self.program, *map(str, words)], stderr=self.log, preexec_fn=end_with_parent,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options})
        self.children.append(child)
        return child

    def call(self, *words, timeout=HANG, code=0):
        """Runs a command to its end, and returns its standard output."""
        child = self.start(*words)
        try:
            output = child.communicate(timeout=timeout)[0].decode()
        except subprocess.TimeoutExpired:
            raise Broken(f"holdfast {words[0]} ends", f"within {timeout} s", "it runs") from None
        check(f"exit status of holdfast {' '.join(map(str, words))}", code, child.returncode)
        return output

    def close(self, is_kept):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        self.log.close()
        for function in self.at_end:
            function(is_kept)
        if not is_kept:
            shutil.rmtree(self.directory, ignore_errors=True)


class Backend:
    """A `holdfast serve` process that can be killed, stopped and restarted on the same port."""

    def __init__(self, peer, *options):
        self.peer, self.options = peer, options
        self.port, self.child = free_port(), None
        self.data, self.program = peer.path("backend"), None

    def start(self):
        check_that("holdfast serve starts", self.attempt() is None, "one line with its address", "no output")
        return self

    def attempt(self):
        """Starts a process. Returns None once it listens, or the exit status if it ends instead."""
        self.child = self.peer.start(
            "serve", "--data", self.data, "--port", self.port, "--json", *self.options,
            program=self.program)
        line = self.child.stdout.readline()
        if not line:
            return self.child.wait(HANG)
        self.port = int(json.loads(line)["url"].rsplit(":", 1)[1].rstrip("/"))
        return None

    def token(self, user, shops="bakery", *words, life="1h"):
        return self.peer.call(
            "token", "--data", self.data, "--user", user, "--shops", shops, "--ttl", life, *words).strip()

    def kill(self):
        self.child.kill()
        self.child.wait()

    def stop(self, timeout=HANG):
        self.child.terminate()
        try:
            check("exit status of serve after SIGTERM", 0, self.child.wait(timeout))
        except subprocess.TimeoutExpired:
            raise Broken("serve ends after SIGTERM", f"within {timeout} s", "it runs") from None


def main(title, play, add=lambda parser: None):
    """Runs a peer and prints one line. Exits with 1 if a promise is broken. `add` adds options of the peer."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("program", help="the built holdfast")
    parser.add_argument("--seed", type=int, default=1, help="draws the faults (1)")
    parser.add_argument("--seconds", type=float, default=20, help="how long faults occur (20)")
    parser.add_argument("--without", action="append", default=[], metavar="FAULT",
                        help="leave out a fault by its name in the line of a run (repeatable)")
    add(parser)
    options = parser.parse_args()
    name = os.path.basename(sys.argv[0]).removesuffix(".py")
    peer = Peer(options.program, options.seed, options.seconds, options.without)
    peer.options = options

    def leave(number, _):
        peer.close(is_kept=False)
        os._exit(128 + number)

    # Messages of asyncio about aborted connections are not part of the outcome.
    logging.getLogger("asyncio").disabled = True
    sys.unraisablehook = lambda _: None
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, leave)
    broken = None
    try:
        play(peer)
    except Broken as error:
        broken = str(error)
    except Exception as error:
        broken = f"the peer runs: expected to its end, actual {error!r}"
        peer.log.write(traceback.format_exc().encode())
    peer.close(is_kept=broken is not None)
    if broken:
        print(f"{name}: broken, seed {peer.seed}: {broken}; files in {peer.directory}", flush=True)
        sys.exit(1)
    numbers = ", ".join(f"{value} {key}" for key, value in peer.counts.items())
    print(f"{name}: passed, seed {peer.seed}: {numbers}", flush=True)
