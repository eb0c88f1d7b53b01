"""Posts as fast as possible on a small disk, while the backend removes the oldest messages, and follows them.

The numbers of make test are small. A disk of 200 MB for ten minutes:
    python3 Tests/Peers/message_retention.py .build/release/holdfast --disk 200 --keep 64 --seconds 600
"""
import http.client
import json
import os
import random
import threading
import time
import urllib.parse
import uuid

from message_disk import Disk, enter
from peer import HANG, Backend, Broken, check, check_that, main

API, SHOP = "/api/v1/auth/shops", "bakery"
EVENTS = {"Holdfast-Events": "1"}
LONGEST = 4_000  # bytes of a text


def add(parser):
    parser.add_argument("--disk", type=int, default=48, help="MiB of the disk (48)")
    parser.add_argument("--keep", type=int, default=6, help="MB of --keep-bytes (6)")
    parser.add_argument("--writers", type=int, default=6, help="users who post (6)")


def offset(position):
    return int(position.rsplit(":", 1)[1])


class Client:
    """Requests on one connection, which is opened anew after an error."""

    def __init__(self, port, token):
        self.port, self.token, self.connection = port, token, None

    def ask(self, method, path, body=None, fields=None):
        for attempt in range(5):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG)
                self.connection.request(method, path, None if body is None else json.dumps(body), {
                    "Authorization": f"Bearer {self.token}", **(fields or {})})
                response = self.connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException) as error:
                self.connection = None
                check_that("a request has an answer", attempt < 4, "an answer", repr(error))
                time.sleep(0.1)

    def page(self, **query):
        path = f"{API}/{SHOP}/messages/paginated?{urllib.parse.urlencode(query)}"
        status, body = self.ask("GET", path, fields=EVENTS)
        check(f"status of {path}", 200, status)
        return json.loads(body)["data"]


def version(entry):
    return offset(entry.get("changed") or entry["position"])


class Ledger:
    """What the server has accepted: the offset of each post, its version, and the posts that were deleted."""

    def __init__(self):
        self.lock, self.posts, self.versions, self.deleted = threading.Lock(), {}, {}, set()

    def post(self, message):
        with self.lock:
            self.posts[message["id"]] = self.versions[message["id"]] = offset(message["position"])

    def edit(self, message):
        with self.lock:
            self.versions[message["id"]] = version(message)

    def delete(self, deletion):
        with self.lock:
            self.deleted.add(deletion["message_id"])
            self.versions[deletion["message_id"]] = version(deletion)


class Gap:
    """Events that were removed before a reader came to them, and the part of the history that it shows as a gap.

    Pages of events bring a message at its version. So between two pages of a catch-up, messages that were posted
    before the cursor and edited after it have not come yet, and are removed by their versions as well. The gap that is
    shown therefore begins where the catch-up began, not at the cursor.
    """

    def __init__(self, base, cursor, last):
        self.base, self.cursor, self.last = base, cursor, last

    def removed(self, event):
        return self.cursor < event <= self.last

    def spans(self, place):
        return self.base < place <= self.last

    def __repr__(self):
        return f"{self.cursor + 1}...{self.last} shown from {self.base + 1}"


class Reader:
    """A client that keeps the versions of messages by id, and notes the gaps of which it is told."""

    def __init__(self, name, client, pause, limit=100, rest=0.0):
        self.name, self.client, self.pause, self.limit, self.rest = name, client, pause, limit, rest
        self.cursor, self.base, self.seen, self.gaps = None, 0, {}, []

    def begin(self):
        page = self.client.page(page=1, limit=100)
        self.cursor = page["head"]
        check(f"{self.name}: messages before the first post", [], page["messages"])

    def catch_up(self, wait=time.sleep):
        """Fetches what follows the cursor, with a rest after each page. Returns once nothing does."""
        self.base = offset(self.cursor)
        while True:
            page = self.client.page(after=self.cursor, limit=self.limit)
            if not page["recovered"]:
                self.pass_gap(page)
                continue
            versions = [version(message) for message in page["messages"]]
            check(f"{self.name}: the order of a page", sorted(versions), versions)
            check_that(f"{self.name}: a page after {self.cursor}",
                       not versions or versions[0] > offset(self.cursor), "later events", versions[:1])
            for message in page["messages"]:
                self.seen[message["id"]] = version(message)
            for deletion in page["deleted"]:
                self.seen.pop(deletion["message_id"], None)
            self.cursor = page["through"]
            if not page["pagination"]["has_next"]:
                return
            if self.rest:
                wait(self.rest)

    def pass_gap(self, page):
        oldest = page.get("oldest")
        check_that(f"{self.name}: a position that is not recovered, of the same log", oldest and
                   oldest.rsplit(":", 1)[0] == self.cursor.rsplit(":", 1)[0], "oldest in this epoch", page["head"])
        gap = Gap(self.base, offset(self.cursor), offset(oldest) - 1)
        check_that(f"{self.name}: a gap after {self.cursor}", gap.cursor < gap.last, "removed events", oldest)
        self.gaps.append(gap)
        self.cursor = f"{oldest.rsplit(':', 1)[0]}:{gap.last}"
        # What was posted before and comes later, comes with an edit. Nothing else is missing up to here.
        self.base = gap.last

    def verify(self, ledger):
        """Each message is there in its last version, or that version was removed before it came.

        A message that is not there lies in the part that is shown as a gap. One that is there, and was deleted or
        edited in a gap, stays as it was.
        """
        for message_id, place in ledger.posts.items():
            newest = ledger.versions[message_id]
            what, seen = f"{self.name}: message at {place} with version {newest}", self.seen.get(message_id)
            gaps = [gap for gap in self.gaps if gap.removed(newest)] if seen != newest else []
            near = f"{len(self.gaps)} gaps, {self.gaps[-3:]}"
            if seen is not None:
                check_that(what, gaps or seen == newest and message_id not in ledger.deleted, "its last version",
                           f"{seen}; {near}")
            elif message_id not in ledger.deleted:
                check_that(what, gaps, "shown, or removed", f"missing; {near}")
                check_that(what, any(gap.spans(place) for gap in self.gaps), "in a part that is shown as a gap", near)


class Retention:
    def __init__(self, peer):
        self.peer, options = peer, peer.options
        self.stop, self.failures, self.ledger = threading.Event(), [], Ledger()
        is_small = "small" not in peer.without
        try:
            enter()
        except OSError as error:
            is_small = False
            print(f"message_retention: the disk is not small, since this system refuses that: {error}", flush=True)
        self.disk = Disk(peer, "disk", options.disk, is_small)
        self.backend = Backend(peer, "--keep-bytes", f"{options.keep}MB", "--keep-messages", "1h",
                               "--posts-per-second", 1000, "--log-level", "info")
        self.backend.data = self.disk.path("backend")
        self.backend.start()
        names = [f"writer{number}" for number in range(options.writers)] + ["reader"]
        self.tokens = {name: peer.call("token", "--data", self.backend.data, "--user", name, "--shops", SHOP,
                                       "--ttl", "4h").strip() for name in names}

    def client(self, name):
        return Client(self.backend.port, self.tokens[name])

    def guard(self, work, *words):
        """Runs a thread's work, and keeps its failure."""
        try:
            work(*words)
        except Exception as error:
            self.failures.append(error)
            self.stop.set()

    def write(self, name, seed):
        """Posts, and now and then edits, deletes or repeats one of the last messages."""
        client, own = self.client(name), []
        draws = random.Random(seed)
        while not self.stop.is_set():
            key, text = str(uuid.UUID(int=draws.getrandbits(128), version=4)), "x" * draws.randrange(1, LONGEST)
            post = {"shop_id": SHOP, "message": text}
            status, body = client.ask("POST", f"{API}/messages", post, {"Idempotency-Key": key})
            if status == 429:
                time.sleep(0.05)
                continue
            check(f"status of a post on a disk of {self.peer.options.disk} MiB", 201, status)
            message = json.loads(body)["data"]
            self.ledger.post(message)
            own = own[-20:] + [message["id"]]
            draw = draws.random()
            if draw < 0.02:
                status, _ = client.ask("POST", f"{API}/messages", post, {"Idempotency-Key": key})
                check_that("status of a repeated post", status in (200, 410, 429), "200 or 410", status)
            elif draw < 0.04:
                status, body = client.ask(
                    "PUT", f"{API}/messages", {"message_id": draws.choice(own), "message": text[:-1] + "y"})
                check_that("status of an edit", status in (200, 404, 410, 429), "200 or 404", status)
                if status == 200:
                    self.ledger.edit(json.loads(body)["data"])
            elif draw < 0.06:
                gone = own.pop(draws.randrange(len(own)))
                status, body = client.ask("DELETE", f"{API}/messages/{gone}")
                check_that("status of a deletion", status in (200, 404, 429), "200 or 404", status)
                if status == 200:
                    self.ledger.delete(json.loads(body)["data"])

    def read(self, reader):
        while not self.stop.is_set():
            self.stop.wait(reader.pause)
            reader.catch_up(self.stop.wait)

    def watch(self):
        """The files stay below the size of the disk."""
        limit, largest = self.peer.options.disk << 20, 0
        while not self.stop.is_set():
            size = 0
            for folder, _, names in os.walk(self.disk.place):
                for name in names:
                    try:
                        size += os.stat(os.path.join(folder, name)).st_blocks * 512
                    except FileNotFoundError:
                        pass
            largest = max(largest, size)
            check_that("size of the data directory", size < limit, f"below {limit}", size)
            self.stop.wait(0.2)
        self.peer.counts["MB at most"] = round(largest / 1e6, 1)

    def metrics(self):
        _, body = self.client("reader").ask("GET", "/metrics")
        return dict(line.rsplit(" ", 1) for line in body.decode().splitlines() if not line.startswith("#"))

    def play(self):
        peer = self.peer
        readers = [Reader(name, self.client("reader"), *pauses) for name, *pauses in (
            ("a reader that keeps up", 0.02), ("a slow reader", peer.seconds / 4),
            ("a reader that is overtaken", 0.02, 10, 0.04))]
        late = Reader("a reader that was away", self.client("reader"), 0)
        for reader in [*readers, late]:
            reader.begin()
        works = [(self.write, name, peer.seed * 100 + number)
                 for number, name in enumerate(self.tokens) if name != "reader"]
        works += [(self.read, reader) for reader in readers] + [(self.watch,)]
        threads = [threading.Thread(target=self.guard, args=work, daemon=True) for work in works]
        for thread in threads:
            thread.start()
        while not peer.is_over() and not self.stop.is_set():
            time.sleep(0.1)
        self.wait_for_removal()
        self.stop.set()
        for thread in threads:
            thread.join(HANG)
        if self.failures:
            raise self.failures[0] if isinstance(self.failures[0], Broken) else Broken.of(self.failures)
        self.finish([*readers, late])

    def wait_for_removal(self):
        """Writes on until something was removed."""
        end = time.monotonic() + HANG
        while not self.stop.is_set() and float(
                self.metrics()["holdfast_retention_removed_messages_total"]) == 0:
            check_that("messages are removed", time.monotonic() < end, f"within {HANG} s", "none")
            time.sleep(0.2)

    def finish(self, readers):
        for reader in readers:
            reader.catch_up()
            reader.verify(self.ledger)
        check_that("the reader that was away sees one gap", len(readers[-1].gaps) == 1, 1, readers[-1].gaps)
        self.verify_history()
        values = self.metrics()
        check("failures of removals", "0", values["holdfast_retention_failures_total"])
        head = self.client("reader").page(page=1, limit=1)["head"]
        self.backend.kill()
        self.backend.start()
        check("the head after a kill", head, self.client("reader").page(page=1, limit=1)["head"])
        self.peer.count("posts", len(self.ledger.posts))
        self.peer.count("removed", int(float(values["holdfast_retention_removed_messages_total"])))
        self.peer.count("gaps", sum(len(reader.gaps) for reader in readers))

    def verify_history(self):
        """Pages down to the oldest message have each message that is kept, and no other."""
        client, found = self.client("reader"), []
        page = client.page(page=1, limit=100)
        oldest = offset(page["oldest"])
        while True:
            found += [(offset(message["position"]), message["id"]) for message in page["messages"]]
            if not page["pagination"]["has_next"]:
                break
            page = client.page(before=page["messages"][-1]["position"], limit=100)
        places = [place for place, _ in found]
        check("the order of all pages", sorted(places, reverse=True), places)
        # More may have been removed while the pages were read.
        end = offset(client.page(page=1, limit=1)["oldest"])
        kept = {message_id for message_id, place in self.ledger.posts.items()
                if place >= end and message_id not in self.ledger.deleted}
        check("the messages of all pages", len(kept), len(kept & {message_id for _, message_id in found}))
        check_that("nothing before the oldest event is on a page", not places or places[-1] >= oldest, oldest,
                   places[-1:])


main(__doc__.splitlines()[0], lambda peer: Retention(peer).play(), add)
