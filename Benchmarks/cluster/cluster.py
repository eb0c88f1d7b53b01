"""Measures one, two and three nodes over PostgreSQL: posts, delivery at another node, and a failover.

    cluster.py HOLDFAST LOAD-GENERATOR [SECONDS]

First the primary of a pair is killed and its synchronous standby promoted, while posters wait. The promoted
server goes on alone, and each load takes SECONDS (0.8) there, in an order by chance: posts to the nodes, posts
to `holdfast serve` over SQLite, plain inserts of ten rows a transaction into a table with the same columns and
indexes, and publications to JetStream. All files are on the disk of /var/tmp. Prints one figure a line, as a
name and a number. `HoldfastBench run --only cluster` makes a table of them.
"""

import collections
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "Tests/Peers"))

from peer import Backend, Broken, Peer, end_with_parent  # noqa: E402
from postgres import Database, programs  # noqa: E402

DISK = "/var/tmp"
# Batches of about ten posts form by themselves if three times as many posters wait for answers. Each user is a
# member of five shops, and posts to any of them at each node.
POSTERS, USERS, SHOPS = 32, 20, 100
RATE, SOCKETS = 200, 5
# Seconds: of a load before it is measured, and of the outage, before the kill and in all.
WARM, BEFORE, OUTAGE = 0.2, 0.5, 2.5
# The second one is needed for promotion at once: within the default of 5 s after the loss of the primary, a
# standby may sleep, and then notices the promotion late.
SETTINGS = ["shared_buffers=128MB", "wal_retrieve_retry_interval=100ms"]
NATS_SERVER = "/usr/sbin/nats-server"
STREAM, POSTS = "/api/v1/auth/shops/bench0/messages/stream", "/api/v1/auth/shops/messages"
NATS = """
listen: "127.0.0.1:{port}"
websocket {{ listen: "127.0.0.1:{front}", no_tls: true }}
jetstream {{ store_dir: "{folder}" }}
"""


def say(name, value):
    print(name, round(value, 4), flush=True)


class Load:
    """A load generator that posts to the given ports, and whose sockets are at the first one or at `sockets`."""

    def __init__(self, world, ports, *words, sockets=None):
        words = [world.load, sockets or ports[0], *words, *(word for port in ports for word in ("--post-port", port))]
        self.child = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            preexec_fn=end_with_parent)
        world.peer.children.append(self.child)

    def begin(self, command):
        self.child.stdin.write(command + "\n")
        self.child.stdin.flush()

    def end(self):
        """Returns the numbers of the next response."""
        line = self.child.stdout.readline()
        if not line or line.startswith("failed"):
            sys.exit(f"load generator: {line.strip() or 'it ended'}")
        return [float(word) for word in line.split()[1:]]

    def ask(self, command):
        self.begin(command)
        return self.end()


class World:
    """Three nodes over a pair of databases, and the servers beside them, with the same users."""

    def __init__(self, peer, load, seconds):
        self.peer, self.load, self.seconds = peer, load, seconds
        self.database = Database(peer, directory=DISK, settings=SETTINGS)
        options = ["--posts-per-second", 1000, "--log-level", "error"]
        self.nodes = [Backend(peer, "--database", self.database.url, "--node", name, *options) for name in "abc"]
        self.files = Backend(peer, *options)
        for backend, name in zip([*self.nodes, self.files], ["a", "b", "c", "files"]):
            backend.data = peer.path(name)
            if name != "a":
                os.mkdir(backend.data, 0o700)
                for file in ("secret", "session-key"):
                    shutil.copy2(os.path.join(self.nodes[0].data, file), backend.data)
            backend.start()
        self.words = ["--json", "--shops", SHOPS, "--path", STREAM, "--post", POSTS]
        share = SHOPS // USERS
        for number in range(USERS):
            shops = ",".join(f"bench{number * share + place}" for place in range(share))
            token = peer.call("token", "--data", self.files.data, "--user", f"user{number}", "--shops", shops)
            self.words += ["--header", f"Authorization: Bearer {token.strip()}"]

    def progress(self):
        """Returns how many posts are stored, and how many transactions the nodes have begun."""
        posts = self.database.primary.ask("SELECT count(*) FROM messages")
        commits = self.database.primary.ask(
            "SELECT sum(newest) FROM (SELECT max(number) newest FROM lanes GROUP BY run) runs")
        return int(posts), int(commits)

    def fail_over(self):
        load = Load(self, [node.port for node in self.nodes], "--mixed", *self.words)
        load.begin(f"outage 6 {OUTAGE}")
        time.sleep(BEFORE)
        start = time.monotonic()
        self.database.fail_over()
        promoted = time.monotonic() - start
        accepted, refused, gap, longest, *times = load.end()
        say("failover", gap)
        say("failover.one", longest)
        say("failover.promoted", promoted)
        say("failover.accepted", accepted)
        say("failover.refused", refused)
        stored = self.database.primary.ask("SELECT substr(convert_from(text, 'UTF8'), 3, 20) FROM messages").split()
        lost = collections.Counter(map(int, times)) - collections.Counter(map(int, stored))
        say("failover.lost", lost.total())
        # The first checkpoint of the new primary would otherwise be part of some load.
        self.database.primary.ask("CHECKPOINT")

    def accept(self, posters, ports, *words):
        """Returns the accepted posts a second."""
        load = Load(self, ports, *words)
        load.ask(f"accept {posters} {WARM}")
        return load.ask(f"accept {posters} {self.seconds}")[0]

    def measure_nodes(self, count):
        posts, commits = self.progress()
        rate = self.accept(POSTERS * count, [node.port for node in self.nodes[:count]], "--mixed", *self.words)
        say(f"nodes{count}", rate)
        more_posts, more_commits = self.progress()
        say(f"nodes{count}.batch", (more_posts - posts) / (more_commits - commits))

    def measure_files(self):
        say("files", self.accept(POSTERS, [self.files.port], "--mixed", *self.words))

    def measure_plain(self, connections):
        """Inserts rows whose values PostgreSQL makes itself, with nothing else in the transaction."""
        found = subprocess.run(
            [f"{programs()}/pgbench", "-n", "-h", self.database.primary.path, "-U", "test", "-M", "prepared",
             "-c", str(connections), "-j", str(connections), "-T", str(max(1, round(self.seconds))),
             "-D", f"base={connections}00000000", "-D", f"text=t={'0' * 20};{'r' * 159}", "-f", HERE / "plain.sql",
             "postgres"], capture_output=True, text=True, check=False)
        rate = re.search(r"tps = ([0-9.]+) \(without", found.stdout)
        if not rate:
            sys.exit(f"pgbench: {found.stderr.strip()}")
        say(f"plain{connections}", 10 * float(rate[1]))

    def measure_stream(self):
        """Publishes to a stream in a file, which the server syncs every two minutes."""
        ports = [free_port(), free_port()]
        file = self.peer.write("nats.conf", NATS.format(port=ports[0], front=ports[1], folder=self.peer.path("nats")))
        whole, self.peer.program = self.peer.program, NATS_SERVER
        server = self.peer.start("-c", file, stdout=self.peer.log)
        self.peer.program = whole
        for port in ports:
            wait_for(port)
        subprocess.run([sys.executable, HERE.parent / "peers/nats_stream.py", str(ports[0])], check=True)
        say("stream", self.accept(POSTERS, [ports[1]], "--nats"))
        server.kill()
        server.wait()

    def deliver(self, name, node):
        """Posts to the first node, and receives at `node`."""
        load = Load(self, [self.nodes[0].port], *self.words, sockets=node.port)
        load.ask(f"open {SOCKETS}")
        load.ask(f"deliver {RATE} {WARM}")
        seen, expected, post, post_most, hint, hint_most = load.ask(f"deliver {RATE} {2 * self.seconds}")
        say(name, hint_most / 1000)
        say(f"{name}.median", hint / 1000)
        say(f"{name}.post", post / 1000)
        say(f"{name}.postMost", post_most / 1000)
        say(f"{name}.unseen", expected - seen)

    def play(self):
        self.fail_over()
        self.database.primary.ask("CREATE SCHEMA plain; CREATE TABLE plain.messages (LIKE messages INCLUDING ALL)")
        loads = [lambda count=count: self.measure_nodes(count) for count in (1, 2, 3)]
        loads += [lambda count=count: self.measure_plain(count) for count in (1, 2, 3)]
        loads.append(self.measure_files)
        if os.access(NATS_SERVER, os.X_OK):
            loads.append(self.measure_stream)
        loads += [lambda: self.deliver("here", self.nodes[0]), lambda: self.deliver("there", self.nodes[1])]
        random.shuffle(loads)
        for load in loads:
            load()


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def wait_for(port):
    limit = time.monotonic() + 5
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionRefusedError:
            if time.monotonic() > limit:
                sys.exit(f"nothing listens on port {port}")
            time.sleep(0.02)


def main(holdfast, load, seconds="0.8"):
    if not programs():
        sys.exit("Debian's postgresql is not installed; scripts/setup installs it")
    # A thread of the caller may block all signals, and programs inherit that. pgbench ends by SIGALRM.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    tempfile.tempdir = DISK
    peer = Peer(holdfast, seed=0, seconds=0)
    try:
        World(peer, load, float(seconds)).play()
    except Broken as error:
        sys.exit(str(error))
    finally:
        peer.close(is_kept=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
