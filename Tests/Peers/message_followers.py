"""Two followers of message_client.py: one with events, and one that knows only the original protocol."""
import asyncio
import json
import os
import time

from message_wire import (BAD, Lost, ORIGINAL, SHOP, bodies, check, check_frame, check_order, check_that,
                          moment, offset, split, version)
from peer import HANG


class Again(Exception):
    """The log is another one, so the follower begins anew."""


class Follower:
    """A client with events, as in "A client" of docs/messages.md."""

    def __init__(self, world, user):
        self.world, self.chance, self.file = world, world.peer.chance, world.peer.path(f"{user}.json")
        self.token = world.token(user)
        self.forget()
        self.is_week = False

    def forget(self):
        self.messages, self.cursor, self.epoch = {}, None, None
        self.dead, self.requests = {}, 0

    def save(self):
        with open(self.file + ".new", "w", encoding="utf-8") as file:
            json.dump([self.epoch, self.cursor, self.messages], file)
        os.replace(self.file + ".new", self.file)

    def load(self):
        self.forget()
        if os.path.exists(self.file):
            with open(self.file, encoding="utf-8") as file:
                self.epoch, self.cursor, self.messages = json.load(file)

    @property
    def place(self):
        return f"{self.epoch}:{self.cursor}"

    async def run(self):
        world, limit = self.world, time.monotonic() + HANG
        while not (world.is_calm and self.is_done()):
            try:
                await self.live()
                limit = time.monotonic() + HANG
            except Again:
                world.peer.count("new logs")
                self.forget()
                if os.path.exists(self.file):
                    os.remove(self.file)
            except BAD as error:
                check_that("a connection to a backend that runs", time.monotonic() < limit, "one", repr(error))
                await asyncio.sleep(0.1)
            if world.is_calm:
                check_that("the follower with events reaches the head", time.monotonic() < world.limit,
                           f"{world.head} within {HANG} s", self.place)
                continue
            if self.cursor is not None and self.chance.random() < 0.7:
                self.save()
            await self.stay_away()
            if self.chance.random() < 0.3:
                self.load()
                world.peer.count("loaded states")

    async def stay_away(self):
        world, way = self.world, self.chance.choice(["none", "short", "short", "long", "week"])
        seen, limit = world.events, time.monotonic() + 8
        self.is_week = way == "week" and "week" not in world.peer.without
        if way == "short":
            await asyncio.sleep(self.chance.uniform(0.1, 1.2))
        elif way in ("long", "week"):
            while world.events < seen + 110 and time.monotonic() < limit and not world.is_calm:
                await asyncio.sleep(0.05)

    def is_done(self):
        return self.cursor is not None and self.place == self.world.head

    # State

    def apply(self, message):
        message = {k: v for k, v in message.items() if k != "event"}
        name, known = message["id"], self.messages.get(message["id"])
        if name in self.dead:
            return
        if message.get("parent_id") in self.dead:
            message["parent_id"] = None
        if known is None or version(known) < version(message):
            self.messages[name] = message
            for member in ("user_id", "username", "created_at", "position") * bool(known):
                check(f"{member} of {name} after an edit", known[member], message[member])
        elif version(known) == version(message):
            check("two forms of one version", known | {"parent_id": 0}, message | {"parent_id": 0})

    def remove(self, entry):
        name = entry["message_id"]
        known = self.messages.pop(name, None)
        if known:
            check("position in a deletion", known["position"], entry["position"])
            check_that("version of a deletion", version(entry) > version(known), f"> {version(known)}", entry)
        self.dead[name] = version(entry)
        for message in self.messages.values():
            if message.get("parent_id") == name:
                message["parent_id"] = None

    async def fetch(self, query, apply):
        """Fetches a page and applies it, possibly after frames that came later."""
        self.requests += 1
        epoch = self.epoch
        try:
            page = await self.world.page(self.token, query, True, self.world.any_port())
            if epoch and split(page["head"])[0] != epoch:
                raise Again
            check_that(f"recovered of {query}", page.get("recovered") is not False, "not false", page["head"])
            if self.world.peer.draws("late", 0.3) and not self.world.is_calm:
                await asyncio.sleep(self.chance.uniform(0.05, 0.8))
                self.world.peer.count("late")
            apply(page)
            return page
        finally:
            self.requests -= 1
            if not self.requests:
                self.dead.clear()

    def apply_all(self, page):
        for message in page["messages"] + page.get("changes", []):
            self.apply(message)
        for entry in page.get("deleted", []):
            self.remove(entry)

    # Beginnings

    async def begin(self):
        limit = self.chance.randint(5, 100)
        page = await self.fetch({"page": 1, "limit": limit}, lambda page: None)
        self.forget()
        self.epoch = split(page["head"])[0]
        self.apply_all(page)
        await self.walk_back(page, 0)
        self.cursor = offset(page["head"])
        self.world.peer.count("beginnings")

    async def walk_back(self, page, least):
        """Fetches the messages before a page, down to an offset. Returns the ids of all of them."""
        names = [m["id"] for m in page["messages"]]
        while page["pagination"]["has_next"] and page["messages"] and (
                offset(page["messages"][-1]["position"]) > least + 1):
            oldest, limit = page["messages"][-1]["position"], self.chance.randint(20, 100)
            page = await self.fetch({"before": oldest, "limit": limit}, self.apply_all)
            check_order(f"positions before {oldest}", [offset(oldest)] + [
                offset(m["position"]) for m in page["messages"]], False)
            check_that("messages before a position", len(page["messages"]) <= limit, limit, len(page["messages"]))
            names += [m["id"] for m in page["messages"]]
        return set(names)

    async def resume(self):
        """Shows the newest messages after a long absence, and what changed before them."""
        known, limit = self.cursor, self.chance.choice([20, 100])
        page = await self.fetch({"page": 1, "limit": limit, "known": self.place}, self.apply_all)
        changes, deleted, through = page["changes"], page["deleted"], offset(page["changes_through"])
        for what, entries in (("changes", changes), ("deleted", deleted)):
            check_order(f"versions of {what}", [version(e) for e in entries])
            for entry in entries:
                # A deletion is listed wherever the message was; this client may have it from a frame after a gap.
                is_listed = what == "deleted" or offset(entry["position"]) <= known
                check_that(f"an entry of {what} after {known}", is_listed and known < version(entry) <= through,
                           f"position <= {known} < version <= {through}", entry)
        check_that("size of changes", len(changes) + len(deleted) <= 1000 and bodies(changes) <= 2**19,
                   "1000 entries, 512 KiB", (len(changes), len(deleted), bodies(changes)))
        await self.walk_back(page, known)
        self.cursor = through
        self.world.peer.count("weeks")
        self.world.peer.count("changes of weeks", len(changes) + len(deleted))

    async def catch_up(self):
        """Fetches what follows the cursor, to the head. Returns bytes of messages."""
        total = 0
        while True:
            start, limit = self.cursor, self.chance.choice([7, 50, 100])
            page = await self.fetch({"after": self.place, "limit": limit}, self.apply_all)
            through, head = offset(page["through"]), offset(page["head"])
            messages, deleted = page["messages"], page["deleted"]
            for what, entries in (("messages", messages), ("deleted", deleted)):
                numbers = [version(e) for e in entries]
                check_order(f"versions of {what} after {start}", numbers)
                check_that(f"versions of {what}", all(start < n <= through for n in numbers),
                           f"{start} < version <= {through}", numbers)
            check_that("entries of a page", len(messages) + len(deleted) <= limit, limit, page)
            total += bodies(messages) + 150 * len(deleted)
            self.cursor = max(self.cursor, through)
            self.world.peer.count("pages after a cursor")
            if not page["pagination"]["has_next"]:
                check("through of the last page", head, through)
                return total
            check_that("progress of a page", through > start, f"> {start}", through)

    # The stream

    async def live(self):
        world = self.world
        if self.cursor is None:
            await self.begin()
        while self.is_week:
            before = self.cursor
            await self.resume()
            self.is_week = self.cursor > before and self.chance.random() < 0.3
        begun, asked = time.monotonic(), self.place if self.chance.random() < 0.7 else None
        after = {"Holdfast-After": asked} if asked else {}
        stream = await world.wire.open(
            self.token, {"Holdfast-Events": "1", **after}, port=world.any_port(),
            is_in_query=self.chance.random() < 0.3,
            compression=self.chance.choice([None, "deflate"]))
        world.peer.count("sockets with events")
        self.tasks = []
        try:
            await self.follow(stream, begun, asked)
        finally:
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)
            if self.chance.random() < 0.5 and not stream.closed:
                await stream.close()
            elif stream.transport:
                stream.transport.abort()

    async def follow(self, stream, begun, asked):
        world, fields = self.world, stream.response_headers
        check("Holdfast-Events of an upgrade", "1", fields.get("Holdfast-Events"))
        epoch, head = split(fields["Holdfast-Head"])
        if epoch != self.epoch:
            check("Holdfast-After of another log", None, fields.get("Holdfast-After"))
            raise Again
        behind, has_arrears = head - self.cursor, "Holdfast-After" in fields
        # A node that was told nothing newer may lag behind the one that the client comes from.
        check_that(f"head of an upgrade with Holdfast-After {asked}", behind >= 0 or world.has_gaps and not asked,
                   f"{self.cursor} at least", head)
        self.head, self.last = head, self.cursor if has_arrears else head
        self.is_caught = has_arrears or behind <= 0
        if has_arrears:
            check("Holdfast-After in the answer", asked, fields["Holdfast-After"])
            check_that("offsets of arrears", behind <= 100, "100 at most", behind)
            world.peer.count("arrears", behind > 0)
        elif behind > 0:
            self.tasks.append(asyncio.create_task(self.close_gap(head, behind, asked)))
        end = time.monotonic() + self.chance.uniform(0.3, 4)
        while time.monotonic() < (world.limit if world.is_calm else end) and not (
                world.is_calm and self.is_done()):
            for task in self.tasks:
                if task.done():
                    task.result()
            if not world.is_calm and self.chance.random() < 0.01:
                self.tasks.append(asyncio.create_task(self.look_back()))
            try:
                frame = await asyncio.wait_for(stream.recv(), 0.1)
            except asyncio.TimeoutError:
                continue
            self.take(frame, begun)

    async def close_gap(self, head, behind, asked):
        """Fetches what lies between the cursor and the head of the socket."""
        total = await self.catch_up()
        check_that(f"arrears of {behind} offsets and about {total} bytes", not asked or behind > 100 or
                   total > 100_000, "sent on the socket", "none")
        check_that("pages reach the head of the socket", self.cursor >= head, head, self.cursor)
        self.cursor, self.is_caught = max(self.cursor, self.last), True

    async def close_live_gap(self):
        """Fetches until no frame is ahead of the cursor."""
        while not self.is_caught:
            await self.catch_up()
            self.is_caught = self.cursor >= self.last

    async def look_back(self):
        """Fetches an old or new page, whose answer may be late."""
        query = {"page": 1} if self.chance.random() < 0.5 or not self.messages else {
            "before": self.chance.choice(list(self.messages.values()))["position"]}
        try:
            await self.fetch(query | {"limit": 100}, self.apply_all)
        except Lost:
            pass

    def take(self, text, begun):
        is_notice, value = check_frame(text)
        if is_notice and value["type"] != "deleted":
            return
        if is_notice:
            check_that("members of a deletion", value.get("message_id") and value.get("shop_id") == SHOP and
                       value.get("position") and value.get("changed"), "all", text)
            self.world.happened(value["changed"], value["message_id"], None)
        else:
            check("event of a frame", "edited" if value.get("changed") else None, value.get("event"))
            self.world.seen(value, begun, True)
        check("epoch of a frame", self.epoch, split(value["position"])[0])
        number = version(value)
        if self.last < self.head:
            check_that("version of an arrear", self.last < number <= self.head,
                       f"{self.last + 1} to {self.head}", text)
        elif self.world.has_gaps and number > self.last + 1:
            # An event that another one has replaced is left out.
            self.world.peer.count("gaps")
            self.is_caught = False
            self.tasks.append(asyncio.create_task(self.close_live_gap()))
        else:
            check(f"version of a frame: {text}", self.last + 1, number)
        (self.remove if is_notice else self.apply)(value)
        if not self.requests:
            self.dead.clear()
        self.last = number
        if self.is_caught:
            self.cursor = max(self.cursor, number)
        if self.chance.random() < 0.03:
            self.save()
        self.world.peer.count("frames with events")


class Original:
    """A client that knows only the original protocol: ids, times and pages."""

    def __init__(self, world):
        self.world, self.chance = world, world.peer.chance
        self.token, self.messages, self.stamp = world.token("pat"), {}, None
        self.oldest = None  # when the first message of the first page was created
        # The original page fetches before it connects, which leaves a hole that later pages close.
        self.has_hole = world.peer.seed % 2 == 0

    def add(self, message):
        self.messages.setdefault(message["id"], {k: message.get(k) for k in ORIGINAL})

    def move(self, message):
        if self.stamp is None or moment(message["created_at"]) > moment(self.stamp):
            self.stamp = message["created_at"]

    async def catch_up(self, stamp):
        """Fetches all messages created after a time, oldest first."""
        query = {"since": stamp, "limit": 100}
        while True:
            page = await self.world.page(self.token, query, False, self.world.any_port())
            times = [moment(m["created_at"]) for m in page["messages"]]
            check_that(f"times of messages since {query}", times == sorted(times) and (
                not times or times[0] > moment(query["since"])), "rising, after it", times)
            for message in page["messages"]:
                self.add(message)
            self.world.peer.count("pages since a time")
            if not page["pagination"]["has_next"]:
                break
            if self.has_hole:
                query["page"] = query.get("page", 1) + 1
            else:
                query["since"] = page["messages"][-1]["created_at"]
        for message in self.messages.values():
            self.move(message)

    async def live(self):
        world = self.world
        if self.stamp is None:
            page = await world.page(self.token, {"page": 1, "limit": 50}, False, world.any_port())
            for message in page["messages"]:
                self.add(message)
                self.move(message)
            self.oldest = moment(page["messages"][-1]["created_at"])
        if self.has_hole:
            await self.catch_up(self.stamp)
        begun, is_caught = time.monotonic(), False
        stream = await world.wire.open(self.token, port=world.any_port(), is_in_query=True)
        check_that("fields of an upgrade without events", "Holdfast-Events" not in stream.response_headers,
                   "no Holdfast-Events", dict(stream.response_headers))
        world.peer.count("sockets without events")
        try:
            end = time.monotonic() + self.chance.uniform(0.2, 4)
            while time.monotonic() < end:
                if not is_caught:
                    await self.catch_up(self.stamp)
                    is_caught = True
                try:
                    frame = await asyncio.wait_for(stream.recv(), 0.1)
                except asyncio.TimeoutError:
                    if world.is_calm and self.chance.random() < 0.3:
                        return True
                    continue
                is_notice, value = check_frame(frame)
                if is_notice:
                    check("type of a notice without events", "draining", value["type"])
                    continue
                world.seen(value, begun, False)
                world.peer.count("frames without events")
                self.add(value)
                self.move(value)
        finally:
            if stream.transport:
                stream.transport.abort()
        return False

    async def run(self):
        world, limit = self.world, time.monotonic() + HANG
        while True:
            try:
                if await self.live():
                    return
                limit = time.monotonic() + HANG
            except BAD as error:
                check_that("a connection to a backend that runs", time.monotonic() < limit, "one", repr(error))
            await asyncio.sleep(self.chance.choice([0.05, 0.05, 1, 3]) * (not world.is_calm))

    async def refresh(self):
        """Fetches all pages once more, and replaces what it knows."""
        number, found, limit = 1, {}, self.chance.randint(20, 100)
        while True:
            page = await self.world.page(self.token, {"page": number, "limit": limit}, False)
            check("page and limit of a page", (number, limit), (
                page["pagination"]["page"], page["pagination"]["limit"]))
            check("has_prev of a page", number > 1, page["pagination"]["has_prev"])
            for message in page["messages"]:
                check_that("a message on one page", message["id"] not in found, "once", message)
                found[message["id"]] = {k: message.get(k) for k in ORIGINAL}
            if not page["pagination"]["has_next"]:
                check("total_pages", number, page["pagination"]["total_pages"])
                break
            number += 1
        missing = [m for name, m in found.items() if name not in self.messages and
                   moment(m["created_at"]) > self.oldest]
        check_that("messages that the original client missed before it fetched all pages", self.has_hole or
                   not missing, "none", missing[:3])
        self.messages = found
