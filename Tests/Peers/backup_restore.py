"""Backups of `holdfast serve` under posts, and their restoration.

Users post all the time and note which posts were acknowledged. Each backup is restored and served beside the
running backend: it must have each post that was acknowledged before the backup began, once and in the order of its
author. A follower with a position of the running backend must be told of the new epoch, and catches up by pages.
Python's sqlite3, tarfile and hashlib, and Debian's tar and sha256sum, check what is in a backup.
"""
import hashlib
import http.client
import json
import os
import sqlite3
import stat
import subprocess
import tarfile
import threading
import time
import urllib.parse
import uuid

from peer import HANG, Backend, check, check_that, main

API = "/api/v1/auth/shops"
SHOP = "bakery"
USERS = 10
RATE = 1_000  # posts per second of all users together; a busy machine may do fewer
STORES = {"messages.sqlite", "relay.sqlite", "session.sqlite", "sync.sqlite"}
WAIT_MS = 60_000  # the longest wait of writers on a busy machine; an idle one needs some milliseconds


def make_token(peer, data, user):
    return peer.call("token", "--data", data, "--user", user, "--shops", SHOP, "--ttl", "24h").strip()


class Line:
    """A connection of one user to a backend, which is opened again when it ends."""

    def __init__(self, port, token):
        self.port, self.token, self.connection = port, token, None

    def ask(self, method, path, body=None, fields=()):
        """Returns (status, fields, body), or None if there was no complete answer."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG)
            named = {"Authorization": f"Bearer {self.token}", **dict(fields)}
            self.connection.request(method, path, None if body is None else json.dumps(body).encode(), named)
            answer = self.connection.getresponse()
            content = answer.read()
            return answer.status, answer.headers, json.loads(content) if content else None
        except (OSError, http.client.HTTPException):
            self.close()
            return None

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Author(threading.Thread):
    """A user who posts numbered texts at a steady rate, one after the other."""

    def __init__(self, peer, backend, name):
        super().__init__(daemon=True)
        self.name_of_user, self.line = name, Line(backend.port, make_token(peer, backend.data, name))
        self.acknowledged = []  # (text, position, seconds that the answer took)
        self.is_over = threading.Event()
        self.fault = None

    def run(self):
        try:
            self.post_all()
        except Exception as error:  # the main thread reports it
            self.fault = error

    def post_all(self):
        number, due, key = 0, time.monotonic(), uuid.uuid4()
        while not self.is_over.is_set():
            due = max(due + USERS / RATE, time.monotonic() - 1)
            self.is_over.wait(max(0.0, due - time.monotonic()))
            text, begun = f"{self.name_of_user} {number}", time.monotonic()
            answer = self.line.ask("POST", f"{API}/messages", {"shop_id": SHOP, "message": text},
                                   {"Idempotency-Key": str(key)})
            if answer is None or answer[0] in (429, 503):
                self.is_over.wait(0.05)
                continue  # the same text again, with the same key
            check_that("status of a post", answer[0] in (200, 201), "200 or 201", answer)
            self.acknowledged.append((text, answer[2]["data"]["position"], time.monotonic() - begun))
            number, key = number + 1, uuid.uuid4()


def page(line, **query):
    """Returns a page of the log."""
    answer = line.ask("GET", f"{API}/{SHOP}/messages/paginated?{urllib.parse.urlencode({**query, 'limit': 100})}")
    check_that("a page", answer is not None and answer[0] == 200, 200, answer)
    return answer[2]["data"]


def everything(line):
    """Returns all messages, oldest first."""
    found, position = [], f"{epoch_of(page(line, page=1)['head'])}:0"
    while True:
        data = page(line, after=position)
        check_that("a page of the log", data.get("recovered") is not False, "recovered", data.get("recovered"))
        found += data["messages"]
        if not data["pagination"]["has_next"]:
            return found
        position = data["messages"][-1]["position"]


def upgrade(line, position):
    """Opens a stream after a position, and returns the fields of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", line.port, timeout=HANG)
    try:
        connection.request("GET", f"{API}/{SHOP}/messages/stream", headers={
            "Authorization": f"Bearer {line.token}", "Connection": "Upgrade", "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
            "Holdfast-After": position})
        answer = connection.getresponse()
        check("status of an upgrade", 101, answer.status)
        return answer.headers
    finally:
        connection.close()


def epoch_of(position):
    return position.rsplit(":", 1)[0]


def check_archive(path, report):
    """Checks a backup with programs that know nothing of holdfast."""
    check("mode of a backup", 0o600, stat.S_IMODE(os.stat(path).st_mode))
    check("size of a backup", report["bytes"], os.path.getsize(path))
    with open(path, "rb") as file:
        check("SHA-256 of a backup", report["sha256"], hashlib.file_digest(file, "sha256").hexdigest())
    listed = subprocess.run(["tar", "-tf", path], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    check("first and last member", ("backup.json", "SHA256SUMS"), (listed[0], listed[-1]))
    check_that("stores in a backup", STORES <= set(listed), STORES, listed)
    check_that("files without use", not any(name.endswith((".lock", "-wal", "-shm")) for name in listed), "none", listed)
    check("files of a backup", report["files"], len(listed) - 2)


def check_stores(folder):
    """Unpacks a backup's stores, and lets Python's sqlite3 check them."""
    for name in sorted(STORES):
        store = sqlite3.connect(os.path.join(folder, name))
        try:
            check(f"integrity of {name}", [("ok",)], store.execute("PRAGMA integrity_check").fetchall())
        finally:
            store.close()


def check_sums(peer, path, number):
    folder = peer.path(f"unpacked{number}")
    os.mkdir(folder, 0o700)
    with tarfile.open(path) as archive:
        archive.extractall(folder)
    checked = subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=folder, check=False,
                             capture_output=True, text=True)
    check("sha256sum", (0, ""), (checked.returncode, checked.stdout))
    check_stores(folder)


def check_damage(peer, path):
    """A bit that changed, and an end that is missing, are found before anything is restored."""
    with open(path, "rb") as file:
        content = bytearray(file.read())
    with tarfile.open(path) as archive:
        member = peer.chance.choice([one for one in archive.getmembers() if one.size and one.name != "backup.json"])
    changed = bytearray(content)
    changed[member.offset_data + peer.chance.randrange(member.size)] ^= 1 << peer.chance.randrange(8)
    for name, damaged in (("changed", changed), ("cut", content[:peer.chance.randrange(member.offset_data)])):
        with open(peer.path(name), "wb") as file:
            file.write(damaged)
        peer.call("restore", "--check", peer.path(name), code=1)
        peer.call("restore", peer.path(name), "--data", peer.path("damaged"), code=1)
        check(f"a directory after a {name} backup", False, os.path.exists(peer.path("damaged")))


def check_posts(found, known):
    """Checks that all known posts of each author are there, once and in order."""
    texts = [message["message"] for message in found]
    check("posts that are there twice", len(set(texts)), len(texts))
    for name, posts in known.items():
        own = [text for text in texts if text.rsplit(" ", 1)[0] == name]
        numbers = [int(text.rsplit(" ", 1)[1]) for text in own]
        check(f"order of the posts of {name}", list(range(len(numbers))), numbers)
        check_that(f"acknowledged posts of {name}", len(own) >= len(posts), f"{len(posts)} or more", len(own))
        check(f"first posts of {name}", [post[0] for post in posts], own[:len(posts)])


def one_round(peer, backend, authors, number):
    target, data = peer.path(f"backup{number}.tar"), peer.path(f"restored{number}")
    known = {author.name_of_user: list(author.acknowledged) for author in authors}
    report = json.loads(peer.call("backup", "--data", backend.data, "--to", target, "--json"))
    check("stores", STORES, set(report["stores"]))
    check_that("wait of writers", report["wait_ms"] <= WAIT_MS, f"at most {WAIT_MS} ms", report["wait_ms"])
    peer.counts["ms of the longest wait"] = max(peer.counts.get("ms of the longest wait", 0), report["wait_ms"])
    check("what is left out", [], report["left_out"])
    check_archive(target, report)
    if number == 0:
        check_sums(peer, target, number)
        check_damage(peer, target)
        peer.call("backup", "--data", backend.data, "--to", target, code=1)
    check("files of the check", report["files"],
          json.loads(peer.call("restore", "--check", target, "--json"))["files"])
    peer.call("restore", target, "--data", data)
    if number == 0:
        peer.call("restore", target, "--data", data, code=1)
    check_stores(data)
    serve_again(peer, data, known)
    os.remove(target)
    peer.count("backups")


def serve_again(peer, data, known):
    """Serves what was restored, and checks it as a client that knew the former backend."""
    again = Backend(peer, "--log-format", "json", "--posts-per-second", 1000)
    again.data = data
    again.start()
    line = Line(again.port, make_token(peer, data, "reader"))
    check_posts(everything(line), known)
    last = max((post[1] for posts in known.values() for post in posts),
               key=lambda position: int(position.rsplit(":", 1)[1]))
    fields = upgrade(line, last)
    check("where a stream of the former epoch goes on", None, fields["Holdfast-After"])
    check_that("epoch", epoch_of(fields["Holdfast-Head"]) != epoch_of(last), "a new one", fields["Holdfast-Head"])
    anew = page(line, after=last)
    check("whether a position of the former epoch is known", False, anew["recovered"])
    posted = line.ask("POST", f"{API}/messages", {"shop_id": SHOP, "message": "reader 0"})
    check_that("a post afterwards", posted is not None and posted[0] == 201, 201, posted)
    # The client goes on from the page with which it began anew.
    more = page(line, after=anew["head"])
    check("what follows", ["reader 0"], [message["message"] for message in more["messages"]])
    fields = upgrade(line, anew["head"])
    check("where a stream of the new epoch goes on", anew["head"], fields["Holdfast-After"])
    line.close()
    again.stop()


def play(peer):
    backend = Backend(peer, "--log-format", "json", "--posts-per-second", 1000).start()
    authors = [Author(peer, backend, f"user{number}") for number in range(USERS)]
    for author in authors:
        author.start()
    begun = time.monotonic()
    while not all(author.acknowledged or author.fault for author in authors):
        time.sleep(0.1)
    for number in range(peer.options.rounds):
        one_round(peer, backend, authors, number)
    seconds = time.monotonic() - begun
    for author in authors:
        author.is_over.set()
    for author in authors:
        author.join(HANG)
        if author.fault:
            raise author.fault
    posts = [post for author in authors for post in author.acknowledged]
    check_that("posts", bool(posts), "some", "none")
    line = Line(backend.port, authors[0].line.token)
    check_posts(everything(line), {author.name_of_user: author.acknowledged for author in authors})
    line.close()
    backend.stop()
    peer.count("posts", len(posts))
    peer.counts["posts per second"] = round(len(posts) / seconds)
    peer.counts["ms of the slowest post"] = round(1000 * max(post[2] for post in posts))


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play,
         lambda parser: parser.add_argument("--rounds", type=int, default=3, help="how many backups (3)"))
