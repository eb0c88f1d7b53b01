"""The server, small disks and clocks, and programs that can be killed and frozen."""
import collections
import http.client
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import threading
import time

SHOP = "bakery"
API = "/api/v1/auth/shops"
MESSAGES = f"{API}/messages"
IMAGES = f"{MESSAGES}/image"

# The limit of a wait for what surely happens, in seconds. Only a hang reaches it, and no busy machine does.
HANG = 300


class Failure(Exception):
    """A broken promise."""


class Clock:
    """The wall clock of one process, shifted by a file that a preloaded library reads."""

    library = None

    @classmethod
    def compile(cls, directory):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wall-clock.c")
        library = directory + "/wall-clock.so"
        for compiler in ("cc", "clang", "gcc"):
            if shutil.which(compiler) and subprocess.run(
                    [compiler, "-O2", "-shared", "-fPIC", "-o", library, source],
                    check=False).returncode == 0:
                cls.library = library
                return

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.write(struct.pack("q", 0))

    def set(self, seconds):
        with open(self.path, "r+b") as file:
            file.write(struct.pack("q", seconds))

    def environment(self):
        if self.library is None:
            return dict(os.environ)
        return dict(os.environ, LD_PRELOAD=self.library, WALL_CLOCK=self.path)


class Disk:
    """A small file system, and a file that fills it."""

    def __init__(self, path, megabytes):
        self.path = path
        os.makedirs(path)
        self.is_small = (
            os.geteuid() == 0
            and subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "torture", path],
                check=False, stderr=subprocess.DEVNULL).returncode == 0)

    def fill(self):
        with open(self.path + "/filler", "ab", buffering=0) as file:
            for size in (65536, 4096, 512):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass

    def empty(self):
        try:
            os.unlink(self.path + "/filler")
        except FileNotFoundError:
            pass

    def remove(self, keep):
        if self.is_small:
            if keep:
                shutil.copytree(self.path, self.path + ".kept", dirs_exist_ok=True)
            subprocess.run(["umount", "-l", self.path], check=False)


class Process:
    """A program that can be killed, frozen and restarted."""

    def __init__(self):
        self.child = None

    def signal(self, number):
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(number)

    def freeze(self, span):
        self.signal(signal.SIGSTOP)
        time.sleep(span)
        self.signal(signal.SIGCONT)

    def kill(self):
        if self.child is None:
            return
        self.signal(signal.SIGKILL)
        self.child.wait()


# The status is NOT_SENT if no byte was sent, and UNKNOWN if no answer came.
Answer = collections.namedtuple("Answer", "status fields body")
NOT_SENT, UNKNOWN = 0, -1


class Server(Process):
    def __init__(self, program, disk, clock, is_plain, log):
        super().__init__()
        self.program, self.disk, self.clock, self.log = program, disk, clock, log
        # Not one that the kernel selects for other sockets, since it is used again after a kill.
        self.is_plain, self.port = is_plain, random.SystemRandom().randrange(10_240, 32_768)
        self.data = disk.path + "/data"

    def start(self):
        words = [
            self.program, "serve", "--data", self.data, "--port", str(self.port),
            "--posts-per-second", "1000", "--drain-window", "500ms", "--json"]
        if self.is_plain:
            words.append("--plain")
        self.child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
            env=self.clock.environment())
        line = self.child.stdout.readline()
        if not line:
            return False
        self.port = int(json.loads(line)["url"].rsplit(":", 1)[1])
        threading.Thread(target=self.child.stdout.read, daemon=True).start()
        return True

    def start_until_up(self):
        give_up = time.monotonic() + HANG
        while not self.start():
            self.child.wait()
            if time.monotonic() > give_up:
                raise Failure("the server does not start again")
            time.sleep(0.1)

    def restart(self, is_killed, span=0):
        if is_killed:
            self.kill()
        else:
            self.signal(signal.SIGTERM)
            try:
                self.child.wait(timeout=HANG)
            except subprocess.TimeoutExpired as late:
                self.kill()
                raise Failure(f"the server did not end within {HANG} s of SIGTERM") from late
        time.sleep(span)
        self.start_until_up()

    def make_token(self, user, *words):
        return subprocess.run(
            [self.program, "token", "--user", user, "--shops", SHOP, "--ttl", "8000h", "--data",
             self.data, *words],
            check=True, capture_output=True, text=True).stdout.strip()

    def ask(self, method, path, token, body=None, fields=None, cut=None):
        """Makes a request. With `cut`, the connection ends after so many bytes of the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.connect()
        except OSError:
            return Answer(NOT_SENT, {}, b"")
        try:
            connection.putrequest(method, path)
            named = {"Authorization": f"Bearer {token}", **(fields or {})}
            if body is not None:
                named["Content-Length"] = str(len(body))
            for name, value in named.items():
                connection.putheader(name, value)
            connection.endheaders()
            if body:
                connection.send(body[:cut])
            if cut is not None:
                return Answer(UNKNOWN, {}, b"")
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        except (OSError, http.client.HTTPException):
            return Answer(UNKNOWN, {}, b"")
        finally:
            connection.close()

    def messages(self, token):
        """Returns all messages that the server has, oldest first."""
        found, page = [], 1
        while True:
            answer = self.ask(
                "GET", f"{API}/{SHOP}/messages/paginated?page={page}&limit=100", token)
            if answer.status != 200:
                raise Failure(f"page {page} of a healthy server: {answer.status}")
            data = json.loads(answer.body)["data"]
            found += data["messages"]
            if not data["pagination"]["has_next"]:
                return found[::-1]
            page += 1
