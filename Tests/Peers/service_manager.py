"""A service manager such as systemd, written from sd_notify(3), sd_watchdog_enabled(3) and sd_listen_fds(3).

It starts `holdfast serve`, waits for its reports and passes it sockets.
"""
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from peer import HANG, Broken, ask, check, check_that, end_with_parent, main

# Puts the descriptors in the first argument to 3 and following, as systemd does, and runs the rest.
PASS = """
import fcntl, os, sys
high = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 100) for number in sys.argv[1].split(",") if number]
for index, number in enumerate(high):
    os.dup2(number, 3 + index, inheritable=True)
for number in high:
    os.close(number)
os.environ["LISTEN_PID"] = os.environ.get("LISTEN_PID") or str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""
WATCHDOG = 0.4


class Service:
    """A process of `holdfast serve`, started as a service manager starts it."""

    def __init__(self, peer, *options, sockets=(), names=None, data="data", **environment):
        self.peer = peer
        if sockets:
            environment["LISTEN_FDS"] = str(len(sockets))
        if names is not None:
            environment["LISTEN_FDNAMES"] = names
        descriptors = [made.fileno() for made in sockets]
        self.child = subprocess.Popen(
            [sys.executable, "-c", PASS, ",".join(map(str, descriptors)), peer.program, "serve", "--data",
             peer.path(data), "--json", *map(str, options)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=descriptors,
            env={**os.environ, **environment}, preexec_fn=end_with_parent)
        peer.children.append(self.child)
        self.log, self.reader = [], threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stderr:
            self.log.append(line.decode())

    def listening(self):
        """Returns the first line of its output, or fails with its log."""
        line = self.child.stdout.readline()
        check_that("holdfast serve starts", line, "a line with its address", "".join(self.log)[-400:])
        return json.loads(line)

    def logged(self, event, within=HANG):
        """Waits for a line of the log."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            for line in list(self.log):
                if line.startswith("{") and json.loads(line)["event"] == event:
                    return json.loads(line)
            time.sleep(0.02)
        raise Broken("the log", event, "".join(self.log)[-400:])

    def ends(self, status, number=None):
        if number:
            self.child.send_signal(number)
        try:
            check("exit status of serve", status, self.child.wait(HANG))
        except subprocess.TimeoutExpired:
            raise Broken("serve ends", f"within {HANG} s", "it runs") from None
        self.reader.join(HANG)
        return "".join(self.log)


class Notices:
    """The datagram socket to which a service reports."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)

    def next(self, within=HANG):
        """Returns the variables of the next report; None if there is none in time."""
        self.socket.settimeout(within)
        try:
            text = self.socket.recv(65_536).decode()
        except TimeoutError:
            return None
        return dict(line.split("=", 1) for line in text.splitlines())

    def wait(self, *names):
        """Returns the next report other than those of the watchdog, which has these variables."""
        while (found := self.next()) is not None:
            if found != {"WATCHDOG": "1"}:
                check("the variables of a report", sorted(names), sorted(found))
                return found
        raise Broken("a report", names, f"none within {HANG} s")

    def pings(self, count):
        end = time.monotonic() + HANG
        while count and (left := end - time.monotonic()) > 0:
            count -= self.next(left) == {"WATCHDOG": "1"}
        return count == 0


def listen(kind=socket.SOCK_STREAM, family=socket.AF_INET, address=("127.0.0.1", 0)):
    made = socket.socket(family, kind)
    made.bind(address)
    if kind == socket.SOCK_STREAM:
        made.listen(socket.SOMAXCONN)
    return made


def reports(peer):
    """READY, RELOADING, STOPPING and WATCHDOG."""
    notices = Notices(peer.path("notify"))
    service = Service(peer, "--port", 0, NOTIFY_SOCKET=notices.path, WATCHDOG_USEC=str(int(WATCHDOG * 1e6)))
    ready = notices.wait("READY", "STATUS")
    url = service.listening()["url"]
    check("the status of a service", f"serves at {url}", ready["STATUS"])
    check("status when the service is ready", 200, ask(int(url.rsplit(":", 1)[1]), "GET", "/healthz")[0])
    check_that("reports to the watchdog", notices.pings(50), "50", "fewer")
    service.child.send_signal(signal.SIGSTOP)
    while notices.next(WATCHDOG):
        pass
    service.child.send_signal(signal.SIGCONT)
    check_that("reports to the watchdog after a stop", notices.pings(2), "2", "fewer")
    for text, end in [('{"removed":[]}', ""), ("{", "; the last reload failed, see the log"), ('{"removed":[]}', "")]:
        peer.write("data/removed.json", text)
        before = time.monotonic()
        service.child.send_signal(signal.SIGHUP)
        found = notices.wait("RELOADING", "MONOTONIC_USEC", "STATUS")
        at = int(found["MONOTONIC_USEC"]) / 1e6
        check_that("time of a reload", before - 0.001 <= at <= time.monotonic(), "since the signal", at - before)
        check("status after a reload", f"serves at {url}{end}", notices.wait("READY", "STATUS")["STATUS"])
        peer.count("reloads")
    service.child.send_signal(signal.SIGTERM)
    notices.wait("STOPPING", "STATUS")
    service.ends(0)


def silence(peer):
    """A watchdog of another process, and no watchdog, expect no reports."""
    notices = Notices(peer.path("silent"))
    for environment in ({"WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "0"}, {}):
        service = Service(peer, "--port", 0, NOTIFY_SOCKET=notices.path, **environment)
        notices.wait("READY", "STATUS")
        check(f"report with {environment}", None, notices.next(0.5))
        service.ends(0, signal.SIGTERM)
        notices.wait("STOPPING", "STATUS")
    # A service manager that is gone ends nothing.
    service = Service(peer, "--port", 0, NOTIFY_SOCKET=peer.path("nobody"))
    service.listening()
    service.ends(0, signal.SIGTERM)


def passed(peer):
    """Passed sockets replace the address, and those that cannot be used are refused."""
    clients, metrics = listen(), listen(address=("127.0.0.1", 0))
    port = clients.getsockname()[1]
    service = Service(peer, "--host", "192.0.2.1", "--port", 9, sockets=[clients, metrics], names="clients:metrics")
    check("the address of a passed socket", f"http://127.0.0.1:{port}", service.listening()["url"])
    check_that("the log", "1 for clients, 1 for metrics" in service.logged("inherited")["detail"],
               "names the sockets", service.log)
    check("status at a passed socket", 200, ask(port, "GET", "/healthz")[0])
    check("status at a passed socket for metrics", 200, ask(metrics.getsockname()[1], "GET", "/metrics")[0])
    service.ends(0, signal.SIGTERM)
    local = listen(family=socket.AF_UNIX, address=peer.path("local"))
    for sockets, names, reason in [
            ([clients], "metric", 'a socket with the name "metric"'),
            ([clients, metrics], "metrics:metrics", "two sockets with the name metrics"),
            ([listen(socket.SOCK_DGRAM)], "clients", "does not listen"),
            ([local], "clients", "not one of TCP")]:
        text = Service(peer, sockets=sockets, names=names, data="refused").ends(1)
        check_that("why a passed socket is refused", reason in text, reason, text)
        check("a data directory after a refusal", False, os.path.exists(peer.path("refused")))
        peer.count("refusals")
    text = Service(peer, LISTEN_FDS="99", data="refused").ends(1)
    check_that("why 99 sockets are refused", "LISTEN_FDS" in text, "LISTEN_FDS", text)
    # Those of another process are not taken.
    service = Service(peer, "--port", 0, sockets=[clients], LISTEN_PID="1")
    check_that("the address", str(port) not in service.listening()["url"], "another one", port)
    service.ends(0, signal.SIGTERM)


class Crowd:
    """Clients that connect all the time. The kernel must refuse none."""

    def __init__(self, peer, port, count):
        self.peer, self.port, self.is_over, self.broken = peer, port, False, []
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.is_over:
            try:
                status = ask(self.port, "GET", "/")[0]
                if status != 200:
                    self.broken.append(f"status {status}")
                self.peer.count("answers")
            except ConnectionRefusedError as error:
                self.broken.append(repr(error))
            except (OSError, http.client.HTTPException):
                # The connection was accepted, and its request came when the process ended.
                self.peer.count("lost answers")

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join(HANG)
        check("refused connections and other answers during restarts", [], self.broken[:3])


def restarts(peer):
    """A service that is restarted or killed refuses no connection."""
    clients = listen()
    service = Service(peer, sockets=[clients], names="holdfast.socket")
    service.listening()
    crowd = Crowd(peer, clients.getsockname()[1], 4)
    end = time.monotonic() + peer.seconds
    while time.monotonic() < end:
        time.sleep(peer.chance.uniform(0.05, 0.3))
        if peer.draws("kills", 0.3):
            service.ends(-signal.SIGKILL, signal.SIGKILL)
            peer.count("kills")
        else:
            service.ends(0, signal.SIGTERM)
            peer.count("restarts")
        time.sleep(peer.chance.uniform(0, 0.2))
        service = Service(peer, sockets=[clients], names="holdfast.socket")
        service.listening()
    crowd.end()
    service.ends(0, signal.SIGTERM)


def play(peer):
    os.mkdir(peer.path("data"), 0o700)
    reports(peer)
    silence(peer)
    passed(peer)
    restarts(peer)


if __name__ == "__main__":
    main(__doc__, play)
