"""A message client against `holdfast serve`: posts, edits, deletions, events, absences, kills.

Three users change messages. Two followers receive events as docs/messages.md describes and keep their
state on disk; another knows only the original protocol; the last is `holdfast stream`. All must end with
the messages of the server.
"""
import asyncio
import json
import os
import re
import signal
import time
import urllib.parse
import uuid

from message_cases import absences, ending, large, refusals, speaks_plain, without_events
from message_disk import Disk, enter
from message_followers import Follower, Original
from message_phone import Phone
from message_wire import (API, ORIGINAL, SHOP, Lost, Proxy, Wire, check, check_message, check_order, check_that,
                          make_token, moment, offset, split)
from peer import HANG, Backend, Broken, main

ROOM = 1 << 16  # the free space below which a store counts as full


class Post:
    """What its author knows of a message."""

    def __init__(self, message, parent, is_vague):
        self.id, self.author, self.position = message["id"], message["user_id"], message["position"]
        self.text, self.texts, self.parent = message["message"], {message["message"]}, parent
        self.is_vague = is_vague  # a request without a key may happen twice, or late
        self.is_going, self.is_gone, self.changed = False, False, None


class Writer:
    """A user who posts, replies, edits and deletes, one request after the other."""

    def __init__(self, world, user, is_admin=False):
        self.world, self.chance, self.user, self.is_admin = world, world.peer.chance, user, is_admin
        self.token = world.token(user, admin=is_admin)
        self.keyed = []  # (method, path, body, key, post)

    async def run(self):
        while not self.world.peer.is_over():
            ways = [self.post] * 8 + [self.edit] * 5 + [self.delete] * 2 + [self.repeat] * 2 + [self.forbidden]
            await self.chance.choice(ways)()
            await asyncio.sleep(self.chance.choice([0, 0, 0.02, 0.05, 0.1]))

    async def send(self, method, path, body=None, key=None):
        """Repeats a request until it is answered. Returns the answer, and the earlier attempts."""
        peer, doubts, limit = self.world.peer, 0, time.monotonic() + HANG
        fields = {"Idempotency-Key": key} if key else {}
        while True:
            check_that(f"{method} {path} is answered", time.monotonic() < limit, f"within {HANG} s", "not at all")
            try:
                if key and peer.draws("twice", 0.05):
                    answer = await self.twice(method, path, body, fields)
                    doubts += 1
                else:
                    lose = self.chance.uniform(0, 0.03) if peer.draws("lost", 0.1) else None
                    answer = await self.world.wire.ask(method, path, self.token, body, fields, lose)
            except Lost:
                peer.count("lost")
                doubts += 1
                await asyncio.sleep(self.chance.uniform(0, 0.2))
                continue
            if answer.status == 429:
                wait = answer.fields["Retry-After"]
                check_that("Retry-After of 429", wait and wait.isdigit(), "seconds", wait)
                await asyncio.sleep(min(int(wait), 3))
            elif answer.status == 503:
                doubts += 1
                await asyncio.sleep(0.2)
            else:
                return answer, doubts

    async def twice(self, method, path, body, fields):
        """Sends a request twice at once."""
        answers = await asyncio.gather(*(self.world.wire.ask(method, path, self.token, body, fields)
                                         for _ in range(2)), return_exceptions=True)
        good = [a for a in answers if not isinstance(a, Exception) and a.status not in (429, 503)]
        for answer in answers:
            if isinstance(answer, Exception) and not isinstance(answer, Lost):
                raise answer
        if len(good) == 2:
            self.world.peer.count("twice")
            check_that(f"{method} twice at once with one key", method != "POST" or 200 in (
                good[0].status, good[1].status) or good[0].status >= 400, "one 201 at most", good)
            if good[0].status < 300 and good[1].status < 300:
                check("ids of two answers", good[0].data["id"], good[1].data["id"])
        if not good:
            raise Lost("both are lost")
        return good[0]

    def pick(self, test):
        posts = [p for p in self.world.posts.values() if test(p)]
        # Mostly a recent message.
        return self.chance.choice(posts[-30:] if self.chance.random() < 0.6 else posts) if posts else None

    async def post(self):
        world, parent = self.world, None
        if self.chance.random() < 0.3:
            parent = self.pick(lambda p: not p.is_gone)
        key = str(uuid.UUID(int=self.chance.getrandbits(128), version=4)) if self.chance.random() < 0.6 else None
        body = {"shop_id": SHOP, "message": world.text()}
        if parent:
            body["parent_id"] = parent.id
        answer, doubts = await self.send("POST", f"{API}/messages", body, key)
        if parent and parent.is_going and answer.status in (400, 404, 409, 410):
            world.copies[body["message"]] = doubts
            return world.peer.count("refused replies")  # the page does not say which status
        check_that(f"status of a post after {doubts} attempts: {answer}", answer.status == 201 or (
            key and doubts and answer.status == 200), "201, or 200 again", answer.status)
        message = answer.data
        world.seen(message, answer.begun, None)
        check("text and author of the answer to a post", (body["message"], self.user, self.user), (
            message["message"], message["user_id"], message.get("username")))
        check_that("parent of the answer to a post", message.get("parent_id") == body.get("parent_id") or (
            parent and parent.is_going and not message.get("parent_id")), body.get("parent_id"), message)
        check_that("a message is answered to one post", message["id"] not in world.posts, "another id", message)
        post = world.posts[message["id"]] = Post(message, parent, bool(doubts and not key))
        if post.is_vague:
            world.copies[post.text] = doubts + 1
        if key:
            self.keyed.append(("POST", f"{API}/messages", body, key, post))
        world.did("posts")

    async def edit(self):
        world, post = self.world, self.pick(lambda p: p.author == self.user)
        if post is None:
            return
        was_gone, before = post.is_gone, post.text
        text = before if self.chance.random() < 0.1 else world.text()
        key = str(uuid.UUID(int=self.chance.getrandbits(128), version=4)) if self.chance.random() < 0.6 else None
        body = {"message_id": post.id, "message": text}
        post.texts.add(text)
        answer, doubts = await self.send("PUT", f"{API}/messages", body, key)
        if answer.status == 404:
            check_that("404 for an edit", post.is_going, "a message that was deleted", answer)
            return world.peer.count("edits of deleted messages")
        check(f"status of an edit: {answer}", 200, answer.status)
        check_that("edit of a deleted message", not was_gone, 404, answer)
        message = answer.data
        world.seen(message, answer.begun, None)
        check("id and text of the answer to an edit", (post.id, text), (message["id"], message["message"]))
        if text == before and not post.is_vague and message.get("changed") and (
                post.changed and split(post.changed)[0] == split(message["changed"])[0]):
            check("version after an edit to the same text", post.changed, message["changed"])
        post.is_vague |= bool(doubts and not key)
        if text != before and not post.is_vague:
            world.gone.setdefault(before, time.monotonic())
        post.text, post.changed = text, message.get("changed") or post.changed
        if key:
            self.keyed.append(("PUT", f"{API}/messages", body, key, post))
        world.did("edits" if text != before else "edits to the same text")

    async def delete(self):
        world = self.world
        again = self.chance.random() < 0.1
        post = self.pick(lambda p: (self.is_admin or p.author == self.user) and p.is_gone == again)
        if post:
            await self.remove(post)

    async def remove(self, post):
        world, post.is_going = self.world, True
        answer, _ = await self.send("DELETE", f"{API}/messages/{post.id}")
        check(f"status of a deletion by {self.user}: {answer}", 200, answer.status)
        entry = answer.data
        check("answer to a deletion", (post.id, post.position if split(post.position)[0] == world.epoch else
                                       entry["position"]), (entry["message_id"], entry["position"]))
        world.happened(entry["changed"], post.id, None)
        if post.is_gone and split(post.changed)[0] == split(entry["changed"])[0]:
            check("version of a repeated deletion", post.changed, entry["changed"])
        elif not post.is_vague:
            for text in post.texts:
                world.gone.setdefault(text, time.monotonic())
        world.did("deletions" if not post.is_gone else "repeated deletions")
        post.is_gone, post.changed = True, entry["changed"]

    async def repeat(self):
        """Repeats an earlier request with its key, or uses its key for something else."""
        if not self.keyed:
            return
        world = self.world
        method, path, body, key, post = self.chance.choice(self.keyed[-50:])
        is_other = self.chance.random() < 0.3
        if is_other:
            body = {**body, "message": world.text(is_refused=True)}
        was_gone = post.is_gone
        answer, _ = await self.send(method, path, body, key)
        what = f"a {method} with a known key{' for something else' * is_other}: {answer}"
        if is_other:
            # After an edit the text of a repeated request is not compared.
            was_edited = post.is_vague or len(post.texts) > 1
            check_that(f"status of {what}", answer.status == 409 or was_edited and answer.status == 200
                       or post.is_going and answer.status in (404, 410), 409, answer.status)
            return world.peer.count("409")
        if post.is_going:
            # The page has two rules for an edit with a known key of a deleted message.
            wanted = {410} if method == "POST" else {200, 404}
            wanted |= set() if was_gone else {200}
        else:
            wanted = {200}
        check_that(f"status of {what}", answer.status in wanted, wanted, answer.status)
        if answer.status == 200 and not post.is_going:
            check("id and present text of a repeated request", (post.id, post.text if not post.is_vague else
                                                                answer.data["message"]),
                  (answer.data["id"], answer.data["message"]))
            if answer.data.get("changed") and not post.is_vague and post.changed and (
                    split(post.changed)[0] == split(answer.data["changed"])[0]):
                check("version of a repeated request", post.changed, answer.data["changed"])
        world.peer.count("repeats" if answer.status != 410 else "410")

    async def forbidden(self):
        """Edits or deletes a message of another user without being allowed to."""
        world, post = self.world, self.pick(lambda p: p.author != self.user)
        if post is None:
            return
        if self.is_admin or self.chance.random() < 0.5:
            answer, _ = await self.send("PUT", f"{API}/messages", {
                "message_id": post.id, "message": world.text(is_refused=True)})
        else:
            answer, _ = await self.send("DELETE", f"{API}/messages/{post.id}")
        check_that(f"status of a change by {self.user} of a message of {post.author}: {answer}",
                   answer.status == 403 or post.is_going and answer.status in (200, 404), 403, answer.status)
        world.peer.count("403")


class World:
    Post = Post
    has_gaps = False  # whether frames may leave out an event that another one has replaced

    def __init__(self, peer):
        self.peer, self.is_calm, self.limit, self.head = peer, False, None, None
        self.posts, self.copies, self.refused, self.gone, self.used = {}, {}, set(), {}, set()
        self.up_since = time.monotonic()
        self.events, self.ids, self.texts, self.epoch = 0, {}, {}, None
        has_small = "small" not in peer.without
        try:
            enter()
        except OSError as error:
            has_small = False
            print(f"message_client: no disk is full, since this system refuses small ones: {error}", flush=True)
        size = 48 + int(peer.seconds / 2)
        self.disk, self.phone_disk = (Disk(peer, name, size, has_small) for name in ("backend-disk", "phone-disk"))
        self.backend = self.open_backend()
        self.wire = Wire(self.backend.port)

    def open_backend(self):
        backend = Backend(self.peer, "--log-format", "json", "--log-level", "debug")
        backend.data = self.disk.path("backend")
        return backend.start()

    def open_proxy(self):
        return Proxy(self.peer, self.backend.port)

    def token(self, user, shops=SHOP, admin=None, life="1h"):
        return make_token(self.peer, self.backend, user, shops, SHOP if admin is True else admin, life)

    def any_port(self):
        return self.wire.port if self.is_calm or self.peer.chance.random() < 0.2 else self.proxy.port

    def text(self, is_refused=False, size=None):
        """Returns a text that no other message has, and that each part of it identifies."""
        chance = self.peer.chance
        mark = f"m{chance.getrandbits(64):016x} "
        size = size or (chance.randint(3000, 9000) if chance.random() < 0.06 else chance.randint(20, 300))
        text = mark * (size // len(mark) + 1) + chance.choice(["", "é\u2028\U0001f600", '"\\\n\t</', "\u0001"])
        self.used.add(text)
        if is_refused:
            self.refused.add(text)
        return text

    def base(self, text):
        """Returns a text without the reference to an image, which the phone appends to a new and to an edited text."""
        base = text.rsplit("\n[IMAGE:", 1)[0]
        return base if base in self.used else text

    def did(self, what):
        self.events += 1
        self.peer.count(what)

    def happened(self, position, name, text):
        """Compares an event with what was said of the same position before."""
        check(f"message of event {position}", self.ids.setdefault(position, name), name)
        if text is not None:
            check(f"text of event {position}", self.texts.setdefault(position, text), text)

    def seen(self, message, begun, has_events):
        """Checks a message of an answer or a frame that was requested at a time."""
        check_message(message, SHOP, has_events)
        text = message["message"]
        check_that("a text on the wire", self.base(text) in self.used, "one that was sent", message)
        check_that("a refused text", text not in self.refused, "nowhere", message)
        check_that("a text that was deleted or replaced before the request", self.gone.get(
            text, begun) >= begun, "nowhere", message)
        if has_events:
            self.happened(message.get("changed") or message["position"], message["id"], text)
        self.happened(message["position"], message["id"], None)

    async def page(self, token, query, has_events, port=None):
        """Fetches a page and checks what is common to all pages."""
        fields = {"Holdfast-Events": "1"} if has_events else {}
        answer = await self.wire.ask("GET", f"{API}/{SHOP}/messages/paginated?" + urllib.parse.urlencode(query),
                                     token, None, fields, port=port)
        if answer.status == 503:
            raise Lost("503")
        check(f"status of a page {query}: {answer}", 200, answer.status)
        check(f"Holdfast-Events of a page {query}", "1" if has_events else None, answer.fields["Holdfast-Events"])
        page = answer.data
        split(page["head"])
        for message in page["messages"] + page.get("changes", []):
            self.seen(message, answer.begun, has_events)
        names = [m["id"] for m in page["messages"]]
        check("ids of a page", len(names), len(set(names)))
        for entry in page.get("deleted", []):
            self.happened(entry["changed"], entry["message_id"], None)
        return page

    async def steadily(self, *arguments):
        """Fetches a page, again if it is lost."""
        limit = time.monotonic() + HANG
        while True:
            try:
                return await self.page(*arguments)
            except Lost as error:
                check_that("a page is answered", time.monotonic() < limit, f"within {HANG} s", repr(error))
                await asyncio.sleep(0.1)

    async def walk(self, token, way, start, has_events, limit):
        """Walks the log by before_id or after_id, and returns the messages."""
        found, cursor, steps = [], start, 0
        while cursor:
            page = await self.steadily(token, {way: cursor, "limit": limit}, has_events)
            check_that("members of a page by id", not page.get("pagination"), "no pagination", sorted(page))
            check_that(f"messages of a page by {way}", len(page["messages"]) <= limit, limit,
                       len(page["messages"]))
            found += page["messages"]
            cursor, steps = page.get("next_cursor"), steps + 1
            check_that(f"pages of a walk by {way}", steps < 3000, "an end", page.get("next_cursor"))
        names = [m["id"] for m in found]
        check_that(f"messages of a walk by {way}", len(names) == len(set(names)), "none twice", names)
        if len({split(m["position"])[0] for m in found}) == 1:
            check_order(f"a walk by {way}", [offset(m["position"]) for m in found], way == "after_id")
        return found

    async def wander(self):
        """Walks both ways while messages are posted, edited and deleted."""
        token, chance = self.token("wes"), self.peer.chance
        while not self.peer.is_over():
            sure = {name for name, p in self.posts.items() if not p.is_going}
            way, has_events = chance.choice(["before_id", "after_id"]), chance.random() < 0.5
            start = self.first
            if way == "before_id":
                start = (await self.steadily(token, {"page": 1, "limit": 1}, False))["messages"][0]["id"]
            found = await self.walk(token, way, start, has_events, chance.randint(10, 100))
            names = {m["id"] for m in found} | {start}
            missing = [n for n in sure if not self.posts[n].is_going and n not in names]
            check_that(f"messages that a walk by {way} from {start} missed", not missing, "none", missing[:3])
            self.peer.count("walks")
            await asyncio.sleep(0.3)

    async def disturb(self):
        """Kills and restarts the server, once with a new epoch."""
        chance, epochs = self.peer.chance, 0
        options = self.backend.options
        while not self.peer.is_over():
            calm = time.monotonic() + (chance.uniform(8, 11) if chance.random() < 0.2 else chance.uniform(0.5, 4))
            while time.monotonic() < calm and not self.peer.is_over():
                await asyncio.sleep(0.1)
            if self.disk.is_small and self.peer.draws("full", 0.3):
                await self.fill_up()
                continue
            if self.peer.draws("freezes", 0.15):
                self.up_since = time.monotonic() + 1000
                self.backend.child.send_signal(signal.SIGSTOP)
                await asyncio.sleep(chance.uniform(0.2, 3))
                self.backend.child.send_signal(signal.SIGCONT)
                self.up_since = time.monotonic()
                self.peer.count("freezes")
                continue
            if self.peer.draws("kills", 0.7):
                self.backend.kill()
                self.peer.count("kills")
            elif "restarts" not in self.peer.without:
                self.backend.child.send_signal(signal.SIGTERM)
                limit = time.monotonic() + HANG
                while self.backend.child.poll() is None:
                    check_that("serve ends after SIGTERM", time.monotonic() < limit, f"in {HANG} s", "runs")
                    await asyncio.sleep(0.02)
                check("exit status of serve after SIGTERM", 0, self.backend.child.returncode)
                self.peer.count("restarts")
            else:
                continue
            is_new = epochs == 0 and self.peer.draws("epochs", 0.1)
            epochs += is_new
            self.backend.options = (*options, "--new-epoch") if is_new else options
            if is_new:
                self.epoch = None
            self.backend.start()
            self.up_since = time.monotonic()
            self.backend.options = options
            if is_new:
                self.peer.count("new epochs")
                self.epoch = split((await self.steadily(self.token("wes"), {"page": 1, "limit": 1}, False))[
                    "head"])[0]

    async def fill_up(self):
        """Fills the disk of the server, which still serves what is stored, and goes on once there is space."""
        chance, token = self.peer.chance, self.token("wes")
        left, is_killed = chance.choice([0, 0, 0, 1, 4, 16]), self.peer.draws("full-kills", 0.3)
        end, refused, self.up_since = time.monotonic() + chance.uniform(0.3, 4), 0, time.monotonic() + 1000
        while time.monotonic() < end:
            self.disk.fill(left)
            answer = await self.probe(token)
            refused += answer.status == 503
            if answer.status == 503:
                room = self.disk.room()
                health = await self.wire.ask("GET", "/healthz", None)
                # Another client's post may have found or made room for a commit meanwhile.
                room = max(room, self.disk.room())
                check("status of /healthz on a full disk", (200, "ok") if health.status == 200 and room >= ROOM else (
                    503, "failing"), (health.status, json.loads(health.body)["status"]))
            page = await self.wire.ask("GET", f"{API}/{SHOP}/messages/paginated?page=1&limit=5", token)
            check(f"status of a page on a full disk: {page}", 200, page.status)
            await asyncio.sleep(0.1)
        check_that("answers to posts on a full disk", refused or left, "503 at least once", "none")
        if is_killed:
            self.backend.kill()
            self.peer.count("kills on a full disk")
            if (status := self.backend.attempt()) is not None:
                check("exit status of serve on a full disk", 1, status)
                self.peer.count("refused starts on a full disk")
        self.disk.empty()
        if is_killed and self.backend.child.poll() is not None:
            self.backend.start()
        self.up_since, limit = time.monotonic(), time.monotonic() + HANG
        while (answer := await self.probe(token)).status == 503:
            check_that("a post once there is space", time.monotonic() < limit, f"accepted in {HANG} s", answer)
            await asyncio.sleep(0.05)
        while (health := await self.wire.ask("GET", "/healthz", None)).status != 200:
            check_that("/healthz once there is space", time.monotonic() < limit + HANG, f"200 in {2 * HANG} s", health)
            await asyncio.sleep(0.1)
        self.peer.count("full disks")
        self.peer.count("503 on full disks", refused)

    async def probe(self, token):
        """Posts a large message."""
        answer = await self.wire.ask("POST", f"{API}/messages", token, {
            "shop_id": SHOP, "message": self.text(size=9000)}, {"Idempotency-Key": str(uuid.uuid4())})
        check_that(f"status of a post on a full disk: {answer}", answer.status in (201, 429, 503), "201 or 503",
                   answer.status)
        if answer.status == 201:
            self.posts[answer.data["id"]] = Post(answer.data, None, False)
        return answer

    async def inspect(self):
        """Looks for texts that are gone while the server works, if it was up for long enough."""
        def look():
            late = time.monotonic() - 7
            if self.up_since < late:
                self.search_data(self.backend.data, {text for text, when in self.gone.items() if when < late},
                                 "after 7 s")

        while not self.peer.is_over():
            await asyncio.sleep(1)
            await self.patiently(look)

    @staticmethod
    async def patiently(look):
        """Repeats a check until it holds, since a busy machine takes longer."""
        limit = time.monotonic() + HANG
        while True:
            try:
                return look()
            except Broken:
                if time.monotonic() > limit:
                    raise
            await asyncio.sleep(1)

    # The end

    async def finish(self, followers):
        """Makes last changes, kills the server, and compares all states once nothing changes."""
        while not (self.phone.is_quiet or followers[-1].done()):
            await asyncio.sleep(0.1)
        ann = self.writers[0]
        for post in [p for p in self.posts.values() if p.author == "ann" and not p.is_going][-2:]:
            await ann.remove(post)
        self.backend.kill()
        self.backend.start()
        still = time.monotonic()
        await self.settle(followers)
        await asyncio.sleep(max(0, still + 10 - time.monotonic()))
        await self.patiently(lambda: self.search("10 s after the last change"))
        await self.phone.close()
        self.search("after the phone ended")
        await ending(self)
        self.search("after the server ended")

    async def settle(self, followers):
        """Waits until followers know what the server has, and compares all states."""
        self.head = (await self.steadily(self.token("wes"), {"page": 1, "limit": 1}, False))["head"]
        self.limit, self.is_calm, self.proxy.is_calm = time.monotonic() + HANG, True, True
        await asyncio.gather(*followers)
        await self.compare()

    async def compare(self):
        token, chance = self.token("wes"), self.peer.chance
        limit = chance.randint(20, 100)
        forward = await self.walk(token, "after_id", self.first, True, limit)
        newest = await self.page(token, {"page": 1, "limit": limit}, True)
        check("newest page", forward[::-1][:limit], newest["messages"])
        if forward:
            backward = await self.walk(token, "before_id", forward[-1]["id"], True, limit)
            check("walks in both directions", forward[-2::-1], backward)
        answer = await self.wire.ask("GET", f"{API}/{SHOP}/messages", token)
        check("the newest 1000 messages", [m["id"] for m in forward[-1000:]], [m["id"] for m in answer.data])
        for has_events in (True, False):
            place, rest, pages = f"{split(self.head)[0]}:0", [], 0
            while pages == 0 or page["pagination"]["has_next"]:
                page = await self.page(token, {"after": place, "limit": 100}, has_events)
                check("head at the end", self.head, page["head"])
                rest, pages = rest + page["messages"], pages + 1
                place = page["through"] if has_events else rest[-1]["position"]
            names = sorted(m["id"] for m in rest) if has_events else [m["id"] for m in rest]
            wanted = sorted(m["id"] for m in forward) if has_events else [m["id"] for m in forward]
            check(f"messages after the beginning, events {has_events}", wanted, names)
        times = [moment(m["created_at"]) for m in forward]
        check_that("times of creation", times == sorted(set(times)), "rising with each message", times)
        whole = {m["id"]: m for m in forward}
        self.judge(whole)
        for follower in self.followers:
            self.same("a follower with events", whole, follower.messages)
        await self.original.refresh()
        self.same("the original client", {name: {k: m.get(k) for k in ORIGINAL} for name, m in whole.items()},
                  self.original.messages)
        self.peer.counts["messages at the end"] = len(whole)

    def same(self, who, wanted, actual):
        for name in wanted.keys() | actual.keys():
            check(f"message {name} of {who}", wanted.get(name), actual.get(name))

    def judge(self, whole):
        """Compares the messages of the server with all answers."""
        counts = {}
        for message in whole.values():
            text = self.base(message["message"])
            counts[text] = counts.get(text, 0) + 1
            check_that("a message that was posted", message["id"] in self.posts or text in self.copies,
                       "an answer, or a post without a key whose answer was lost", message)
        for text, number in counts.items():
            most = self.copies.get(text, 1)
            check_that(f"messages with the text {text[:40]}", number <= most, f"{most} at most", number)
        for post in self.posts.values():
            message = whole.get(post.id)
            check(f"is message {post.id} there", not post.is_gone, message is not None)
            if message:
                wanted = post.texts if post.is_vague else {post.text}
                check_that(f"text of {post.id}", self.base(message["message"]) in map(self.base, wanted), wanted,
                           message["message"])
                parent = post.parent and None if not post.parent or post.parent.is_gone else post.parent.id
                check(f"parent of {post.id}", parent, message.get("parent_id"))
        self.live = {m["message"] for m in whole.values()}

    def search(self, when):
        """Looks for texts that must be gone in the data directory, and for any text in the log."""
        alive = {text.split(" ")[0] for text in self.live}
        dead = {text for text in self.used if text.split(" ")[0] not in alive}
        self.search_data(self.backend.data, dead, when)
        self.search_data(self.phone.data, dead | self.phone.outbox.dead_marks(self.live), when)
        self.peer.log.flush()
        with open(self.peer.path("log"), "rb") as file:
            log = file.read()
        logged = self.marks(log) & {text.split(" ")[0].encode() for text in self.used}
        check_that("texts in the log", not logged, "none", logged)
        users = (*self.followers, self.original, self.phone)
        tokens = [u.token for u in users if u.token.encode() in log]
        check_that("tokens in the log", not tokens, "none", tokens)

    def search_data(self, data, texts, when):
        dead, what = {text.split(" ")[0].encode() for text in texts}, "deleted, replaced and refused texts in"
        for folder, _, names in os.walk(data):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        content = file.read()
                except FileNotFoundError:
                    continue
                found = self.marks(content) & dead
                check_that(f"{what} {name} {when}", not found, "none", [
                    (mark, content.find(mark), len(content)) for mark in found][:5])
                self.peer.count("searched KiB", len(content) // 1024)

    @staticmethod
    def marks(content):
        """Returns everything in bytes that looks like the mark of a text."""
        return set(re.findall(rb"m[0-9a-f]{16}", content))

    async def employ(self):
        """Makes the clients that write and follow."""
        self.epoch = split((await self.page(self.token("wes"), {"page": 1, "limit": 1}, True))["head"])[0]
        self.writers = [Writer(self, "ann"), Writer(self, "bob"), Writer(self, "root", is_admin=True)]
        self.followers, self.original = [Follower(self, "eve"), Follower(self, "eva")], Original(self)

    async def play(self):
        self.proxy, self.phone = await self.open_proxy().start(), Phone(self, self.phone_disk)
        await speaks_plain(self.peer)
        await refusals(self)
        await without_events(self)
        await large(self)
        await absences(self)
        await self.employ()
        self.peer.end = time.monotonic() + self.peer.seconds
        followers = [asyncio.create_task(f.run()) for f in (*self.followers, self.original, self.phone)]
        others = [asyncio.create_task(t) for t in (*(w.run() for w in self.writers), self.wander(), self.disturb(),
                                                     self.inspect(), self.phone.fill())]
        tasks = followers + others
        try:
            while not all(t.done() for t in others):
                await asyncio.wait(tasks, timeout=1, return_when=asyncio.FIRST_EXCEPTION)
                for task in tasks:
                    if task.done():
                        task.result()
            await self.finish(followers)
        finally:
            # A wait with a time-out can lose a cancellation.
            while pending := [task for task in tasks if not task.done()]:
                for task in pending:
                    task.cancel()
                await asyncio.wait(pending, timeout=1)


def play(peer):
    asyncio.run(World(peer).play())


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
