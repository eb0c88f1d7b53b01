"""A bottle for `holdfast bottle watch` that sleeps, leaves, crashes, loses data, and kills the phone.

docs/bottle.md specifies the frames of the radio on a Unix socket and the characteristics' values.
"""
import asyncio
import datetime
import json
import os
import signal
import struct
import time

from peer import HANG, Broken, check, check_that, main

CLOCK_WAS_SET = 1577836800
AQUA = bytes.fromhex("6F75616B766174652D00"[:16]) + bytes.fromhex("2D00000000000000")
SERVICE = AQUA[::-1]
BATTERY = bytes.fromhex("00002A1900001000800000805F9B34FB")[::-1]
STATE, CONFIG, SYNC, DRINKS, COMMAND, SETTINGS, ACTIVITY, CALIBRATION = range(1, 9)
COMMANDS = {1: 4, 2: 4, 3: 4, 4: 13, 5: 4, 6: 4, 16: 5, 17: 3, 18: 5, 32: 4, 33: 4, 48: 4}
WAITS = ["--set", "retry.reconnect=200ms", "--set", "retry.windows=2/1s,90/1m", "--set", "retry.serverJitter=100ms",
         "--set", "standby.rearm=1s", "--set", "standby.fastFailure=100ms", "--set", "standby.floor=1s"]


def characteristic(number):
    return bytes([number]) + SERVICE[1:]


class Lost(Exception):
    """Raised when the bottle ends the connection."""


class Record:
    def __init__(self, epoch, name, moment, amount, level):
        self.epoch, self.id, self.time, self.amount, self.level = epoch, name, moment, amount, level
        self.is_synced = self.is_deleted = self.is_sent = self.is_lost = False

    def bytes(self, is_first):
        return struct.pack("<IIhHBB", self.id, self.time, self.amount, self.level,
                           int(self.amount >= 100), 2 * is_first)

    def shown(self):
        """Returns the drink in the form in which the phone shows it, without the level."""
        return self.id, self.amount, self.time if self.time >= CLOCK_WAS_SET else None


class Phone:
    """A connection of the phone."""

    def __init__(self, bottle, reader, writer):
        self.bottle, self.reader, self.writer = bottle, reader, writer
        self.is_linked = False
        self.numbers, self.subscribed = set(), set()
        self.longest = self.carried = 20
        self.chunks, self.sent, self.is_broken = None, 0, False
        self.time_tries, self.is_timed, self.is_cut, self.ended = [], False, False, 0
        self.advertised = 0

    def send(self, kind, content=b""):
        self.bottle.note(f"bottle {kind} {content.hex()}")
        self.writer.write(struct.pack("<BH", kind, len(content)) + content)

    def notify(self, which, value):
        uuid = which if isinstance(which, bytes) else characteristic(which)
        if self.is_linked and uuid in self.subscribed:
            self.send(4, uuid + value)

    def unlink(self, tells=True):
        if self.is_linked and tells:
            self.send(3, os.urandom(self.bottle.chance.choice([0, 0, 3])))
        self.is_linked = False
        if self.bottle.link is self:
            self.bottle.link = None

    async def serve(self):
        try:
            while True:
                kind, length = struct.unpack("<BH", await self.reader.readexactly(3))
                check_that("length of a frame", length <= 1024, "1024 at most", length)
                content = await self.reader.readexactly(length)
                self.bottle.note(f"phone {kind} {content.hex()}")
                check_that("kind of a frame", 16 <= kind <= 21, "16 to 21", kind)
                await self.take(kind, content)
        except (asyncio.IncompleteReadError, ConnectionError, Lost):
            pass
        except Broken as error:
            self.bottle.broken = self.bottle.broken or error
        finally:
            self.unlink(tells=False)
            self.bottle.phones.discard(self)
            self.writer.transport.abort()
            self.bottle.note("closed")

    async def take(self, kind, content):
        bottle = self.bottle
        if kind == 16:
            check("content of a connect", b"", content)
            check_that("a connect", not self.is_linked, "while there is no link", "on a link")
            since = time.monotonic() - self.advertised
            # Within 2 s for the phone, whose request waits for its turn on a busy machine.
            check_that("an advertisement of this bottle before a connect", since < 60,
                       "within 60 s", f"{since:.1f} s ago")
            if not bottle.advertises or bottle.draws("refused", 0.1):
                return self.send(3)
            bottle.link, self.is_linked = self, True
            self.numbers, self.subscribed, self.chunks = set(), set(), None
            self.time_tries, self.is_timed, self.is_cut, self.ended = [], False, False, 0
            self.longest = bottle.chance.choice([5, 20, 33, 34, 61, 182, 244, 512])
            self.carried = max(20, self.longest)
            bottle.peer.count("links")
            return self.send(2, struct.pack("<H", self.longest) + os.urandom(bottle.chance.choice([0, 0, 2])))
        if kind == 17:
            check("content of a disconnect", b"", content)
            return self.unlink(tells=False)
        if not self.is_linked:
            return None  # the request was sent before the end of the link arrived
        check_that("length of a request", len(content) >= 18, "18 at least", len(content))
        number, uuid, value = content[:2], content[2:18], content[18:]
        check_that("number of a request", number not in self.numbers, "free", number.hex())
        return await self.answer(kind, number, uuid, value)

    async def answer(self, kind, number, uuid, value):
        bottle, chance = self.bottle, self.bottle.chance
        self.numbers.add(number)
        if bottle.draws("late", 0.1):
            await asyncio.sleep(chance.uniform(0, 0.4))
        if bottle.draws("cut", 0.02):
            bottle.peer.count("cuts")
            self.writer.write(b"\x05\x30\x00\x00"[:chance.randint(1, 4)])
            raise Lost
        if bottle.draws("drop", 0.02):
            return self.unlink()
        if not self.is_linked:
            return None
        refuses = struct.pack("<B", chance.choice([0, 2, 255]))
        if kind == 18:
            check("what the phone asks for", [characteristic(n).hex() for n in range(1, 7)],
                  [content.hex() for content in (uuid, *(value[i:i + 16] for i in range(0, len(value), 16)))])
            return self.reply(number, refuses if bottle.draws("lacks", 0.03) else b"\1")
        if kind == 19:
            is_optional = uuid in (characteristic(CALIBRATION), BATTERY)
            check_that("a subscription", is_optional or uuid in map(characteristic, (STATE, DRINKS)),
                       "1, 4, 8 or the battery level", uuid.hex())
            if bottle.draws("unsubscribed", 0.3 if is_optional else 0.02):
                return self.reply(number, refuses)
            self.subscribed.add(uuid)
            return self.reply(number, b"\1")
        if kind == 20:
            values = {characteristic(STATE): bottle.state(), BATTERY: b"\x57",
                      characteristic(CONFIG): struct.pack("<fiHH", 412.5, 233, 830, 2500),
                      characteristic(SETTINGS): bottle.settings}
            check_that("a read", uuid in values, "1, 2, 6 or the battery level", uuid.hex())
            if bottle.draws("unread", 0.02):
                return self.reply(number, refuses)
            return self.reply(number, b"\1" + values[uuid])
        return self.write(number, uuid, value, refuses)

    def reply(self, number, taken_and_value):
        self.numbers.discard(number)
        self.send(5, number + taken_and_value)

    def write(self, number, uuid, value, refuses):
        bottle = self.bottle
        is_refused = bottle.draws("unwritten", 0.05)
        check_that("a write", {characteristic(STATE), characteristic(DRINKS)} <= self.subscribed,
                   "after 1 and 4 were subscribed to", len(self.subscribed))
        if uuid == characteristic(COMMAND):
            check("length of a command", (value[0], COMMANDS.get(value[0])), (value[0], len(value)))
            if value[0] == 16:
                seconds = struct.unpack("<I", value[1:])[0]
                check_that("time of the bottle", abs(seconds - time.time()) < 3, time.time(), seconds)
                self.time_tries.append(time.monotonic())
                waits = [b - a for a, b in zip(self.time_tries, self.time_tries[1:])]
                check_that("waits between writes of the time", len(waits) <= 3 and all(
                    actual > wait - 0.1 for actual, wait in zip(waits, (1, 5, 15))), "1, 5 and 15 s", waits)
                if not is_refused:
                    check_that("a time that was taken", not self.is_timed, "not set again", "set again")
                    self.is_timed, bottle.offset = True, seconds - time.monotonic()
            elif not is_refused:
                bottle.command(value)
        elif uuid == characteristic(SETTINGS):
            check("length of the settings", 4, len(value))
            bottle.settings = bottle.settings if is_refused else value
        elif uuid == characteristic(SYNC):
            first, count, command, status, size = struct.unpack("<HHBBH", value)
            if command == 1:
                self.start(first, count, status, size, is_refused)
                self.reply(number, refuses if is_refused else b"\1")
                return None if is_refused else self.chunk()
            check("an acknowledgement", bytes([0, 0, 0, 0, 2, 0, 0, 0]).hex(), value.hex())
            check_that("an acknowledgement", self.chunks is not None and self.sent and not self.is_broken,
                       "of a chunk that is whole and next", "without one")
            self.reply(number, refuses if is_refused else b"\1")
            if not is_refused:
                return self.acknowledged()
            self.chunks, self.ended = None, time.monotonic()
            return None
        else:
            raise Broken("characteristic of a write", "3, 5 or 6", uuid.hex())
        return self.reply(number, refuses if is_refused else b"\1")

    def start(self, first, count, status, size, is_refused):
        bottle = self.bottle
        check("first and status of START", (0, 0), (first, status))
        if self.is_cut:
            self.carried, self.is_cut = max(20, self.carried // 2), False
        check(f"records for a chunk of {self.carried} bytes", min(20, max(1, (self.carried - 6) // 14)), size)
        since = time.monotonic() - self.ended
        check_that("START after a synchronisation that failed", since > 0.9, "1 s later", f"{since:.2f} s later")
        waiting = bottle.waiting()
        check_that("count of START", 0 < count <= max(bottle.said), f"1 to {max(bottle.said)}", count)
        if is_refused:
            self.ended = time.monotonic()
            return
        bottle.peer.count("syncs")
        snapshot = waiting[:count]
        self.chunks = [snapshot[i:i + size] for i in range(0, len(snapshot), size)]
        self.sent, self.is_broken = 0, False

    def chunk(self):
        """Sends the next chunk, possibly with a fault."""
        bottle, chance = self.bottle, self.bottle.chance
        if self.chunks is None or self.sent >= len(self.chunks):
            return
        records, index = self.chunks[self.sent], self.sent
        value = struct.pack("<HHBB", index, len(self.chunks), len(records), 0) + b"".join(
            record.bytes(place == 0) for place, record in enumerate(records))
        self.sent += 1
        if bottle.draws("nothing", 0.1):
            self.notify(DRINKS, bytes(6))
        if bottle.draws("repeat", 0.1) and index > 0:
            bottle.peer.count("repeats")
            self.notify(DRINKS, self.last)
        self.last = value
        if bottle.draws("broken", 0.04):
            self.is_broken = True
            bottle.peer.count("broken")
            fault = chance.randrange(3)
            self.ended = time.monotonic()
            self.is_cut = fault != 1
            if fault == 0:
                return self.notify(DRINKS, value[:chance.randint(6, len(value) - 1)])
            if fault == 1:
                return self.notify(DRINKS, struct.pack("<H", index + 1) + value[2:])
            return self.notify(DRINKS, value[:4] + struct.pack("<B", len(records) + 1) + value[5:])
        for record in records:
            record.is_sent = True
        self.notify(DRINKS, value)
        return None

    def acknowledged(self):
        bottle = self.bottle
        bottle.acks += 1
        if bottle.draws("deaf", 0.02):
            self.chunks = None
            return None
        if self.sent < len(self.chunks):
            return self.chunk()
        for record in sum(self.chunks, []):
            record.is_synced = True
        self.chunks = None
        return bottle.tell()


class Bottle:
    def __init__(self, peer):
        self.peer, self.chance = peer, peer.chance
        self.id, self.path = os.urandom(16), peer.path("radio")
        self.server, self.phones, self.link, self.broken = None, set(), None, None
        self.is_awake, self.is_calm, self.acks = False, False, 0
        self.records, self.all, self.epoch, self.next = [], [], 0, 1
        self.offset, self.began, self.level, self.settings = None, time.monotonic(), 830, bytes(4)
        self.said, self.commands = [0], []
        self.wire = open(peer.path("wire"), "a", encoding="utf-8")

    def note(self, text):
        self.wire.write(f"{time.time():.3f} {text}\n")
        self.wire.flush()

    def draws(self, fault, likelihood):
        return not self.is_calm and self.peer.draws(fault, likelihood)

    @property
    def advertises(self):
        return self.is_awake and self.link is None

    def waiting(self):
        return [record for record in self.records if not record.is_synced and not record.is_deleted]

    def now(self):
        return int(time.monotonic() + self.offset) if self.offset else int(time.monotonic() - self.began)

    def state(self):
        number = len(self.waiting())
        self.said = [*self.said[-5:], number]
        flags = bool(self.offset) + 2 + 4
        return struct.pack("<IhHHBBH", self.now(), 412, self.level, 1200, 87, flags, number)

    def is_unique(self, key):
        return sum(record.shown() == key for record in self.all) == 1

    def tell(self):
        if self.link:
            self.link.notify(STATE, self.state())

    def pour(self):
        self.level = self.level - 1 if self.level > 30 else 830
        amount = self.chance.choice([30, 99, 100, 250, -100, -400])
        record = Record(self.epoch, self.next, self.now(), amount, self.level)
        self.next += 1
        self.records.append(record)
        self.all.append(record)
        self.tell()

    def command(self, value):
        self.commands.append(value[0])
        if value[0] == 18:
            for record in self.records:
                if record.id == struct.unpack("<I", value[1:])[0]:
                    record.is_deleted = True
            self.tell()

    def advertise(self, phone):
        if self.draws("foreign", 0.1):
            self.foreign(phone)
        phone.advertised = time.monotonic()
        phone.send(1, self.id + SERVICE + "Flasche Ä".encode())

    def foreign(self, phone):
        """Advertises another bottle or device, to which the phone must not connect."""
        if self.all and self.all[0].is_synced:
            phone.send(1, os.urandom(16) + SERVICE + b"Other")
        phone.send(1, os.urandom(16) + os.urandom(16) + b"x" * 64)

    async def keep_advertising(self):
        while True:
            await asyncio.sleep(1)
            for phone in [*self.phones]:
                if self.advertises:
                    self.advertise(phone)
                elif self.draws("foreign", 0.5):
                    self.foreign(phone)

    async def come(self):
        async def serve(reader, writer):
            phone = Phone(self, reader, writer)
            self.note("connection")
            self.phones.add(phone)
            if self.advertises:
                self.advertise(phone)
            await phone.serve()

        if self.server is None:
            self.server = await asyncio.start_unix_server(serve, self.path)

    def go(self):
        """Moves the bottle out of range."""
        if self.server:
            self.server.close()
            self.server = None
            if os.path.exists(self.path):
                os.unlink(self.path)
        for phone in [*self.phones]:
            phone.unlink(tells=False)
            phone.writer.transport.abort()

    def sleep(self):
        self.is_awake = False
        if self.link:
            self.link.unlink()

    def wake(self):
        self.is_awake = True
        for phone in [*self.phones]:
            self.advertise(phone)

    def die(self, forgets):
        self.go()
        self.is_awake, self.offset, self.began = False, None, time.monotonic()
        if forgets:
            for record in self.waiting():
                record.is_lost = True
            self.records, self.next, self.epoch = [], 1, self.epoch + 1


class App:
    """A `holdfast bottle watch` process that is killed and restarted."""

    def __init__(self, peer, bottle):
        self.peer, self.bottle, self.runs, self.killed = peer, bottle, 0, set()
        self.child = None
        self.data = peer.path("phone")

    def start(self):
        self.runs += 1
        with open(self.peer.path(f"out-{self.runs}"), "wb") as out:
            self.child = self.peer.start("bottle", "watch", "--radio", self.bottle.path, "--data", self.data,
                                         "--json", *WAITS, stdout=out)

    async def started(self):
        """Waits for the first output. An earlier signal would end the process without being handled."""
        while self.child.poll() is None and not os.path.getsize(self.peer.path(f"out-{self.runs}")):
            await asyncio.sleep(0.01)

    def kill(self):
        self.killed.add(self.runs)
        self.child.kill()
        self.child.wait()
        self.peer.count("kills")

    async def stop(self):
        await self.started()
        self.child.terminate()
        check("exit status of bottle watch after SIGTERM", 0, await self.end(self.child, "bottle watch"))

    async def end(self, child, name):
        until = time.monotonic() + HANG
        while child.poll() is None:
            check_that(f"{name} ends", time.monotonic() < until, f"within {HANG} s", "it runs")
            await asyncio.sleep(0.02)
        return child.returncode

    async def call(self, *words):
        """Runs a command while the bottle serves it, and returns its exit status and output."""
        name = self.peer.path("call")
        with open(name, "wb") as out:
            child = self.peer.start("bottle", *words, "--data", self.data, "--json", stdout=out)
        code = await self.end(child, f"bottle {words[0]}")
        with open(name, encoding="utf-8") as file:
            return code, [json.loads(line) for line in file]

    async def result(self, *words):
        code, output = await self.call(*words, "--radio", self.bottle.path, *WAITS)
        return code, output[-1]["result"] if output else None

    async def signal(self, number):
        await self.started()
        self.child.send_signal(number)

    async def count(self):
        """Returns the number of stored drinks."""
        return (await self.call("status"))[1][0]["drinks"]

    def drinks(self, run):
        with open(self.peer.path(f"out-{run}"), "rb") as file:
            lines = [json.loads(line) for line in file.read().split(b"\n")[:-1] if line]
        return [seen(line) for line in lines if line["event"] == "drink"]


def seen(line):
    moment = line["time"] and int(datetime.datetime.fromisoformat(line["time"]).timestamp())
    return line["id"], line["amountML"], moment



def compare(bottle, app, stored):
    """Compares the stored and the printed drinks with those that the bottle recorded."""
    found = [seen(line) + (line["levelML"],) for line in stored]
    check("drinks that are stored twice", [], [key for key in set(found) if found.count(key) > 1])
    made = [record for record in bottle.all if not record.is_lost or (record.shown() + (record.level,)) in found]
    for record in made:
        check_that("a drink that the phone stored", record.is_sent, "sent once", record.shown())
    expected = [record.shown() + (record.level,) for record in made]
    check("drinks that the phone lacks", [], [key for key in expected if key not in found][:3])
    check("stored drinks in order", expected, found)
    check("deleted drinks", [key for key, record in zip(expected, made) if record.is_deleted],
          [key for key, line in zip(found, stored) if line["deleted"]])
    printed, last = [], {}
    for run in range(1, app.runs + 1):
        for key in app.drinks(run):
            if key in last and bottle.is_unique(key):
                check_that(f"run {run} prints a drink again", set(range(last[key], run)) <= app.killed,
                           f"not after run {last[key]}, which was not killed", key)
            else:
                printed.append(key)
            last[key] = run
    check("printed drinks in order", [record.shown() for record in made], printed)


async def commands(peer, bottle, app):
    """Runs a command that connects once, between two runs of `bottle watch`."""
    await app.stop()
    known = [record for record in bottle.records if record.is_synced and not record.is_deleted]
    words = peer.chance.choice([["refresh"], ["refresh"], ["ping"], ["delete"], [
        "settings", peer.chance.choice(["shake-to-empty", "no-shake"])]])
    if words == ["delete"]:
        words = ["delete", peer.chance.choice(known).id] if known else ["ping"]
    before, (links, settings) = await app.count(), (peer.counts.get("links", 0), bottle.settings)
    bottle.commands = []
    code, result = await app.result(*words)
    bottle.note(f"{words} ends with {code}: {result}")
    peer.count("commands")
    new = await app.count() - before
    if words[0] == "refresh":
        allowed = {"already-synced": 0, "bottle-asleep": 6, "connection-failed": 1, "sync-failed": 1,
                   "nothing-came": 1}
        kind, *number = result.split()
        if kind == "synced":
            check("new drinks after refresh, and its exit status", (int(number[0]), 0), (new, code))
        else:
            check(f"exit status of refresh with {result}", allowed.get(kind), code)
            check_that(f"new drinks after {result}", not new or kind != "already-synced", 0, new)
    elif code == 0:
        check(f"the bottle was told to {words[0]}", True, {
            "ping": 2 in bottle.commands, "delete": 18 in bottle.commands,
            "settings": bottle.settings[0] == (words[-1] == "shake-to-empty")}[words[0]])
    check_that("links of a command that succeeds", code or peer.counts["links"] > links, "one", 0)
    app.start()


async def strike(peer, bottle, app):
    chance = peer.chance
    while not peer.is_over() and not bottle.broken:
        await asyncio.sleep(chance.choice([0.02, 0.1, 0.5, 1]))
        if chance.random() < 0.6:
            for _ in range(chance.choice([1, 3, 12, 60])):
                bottle.pour()
        fault = chance.choice(["none", "none", "sleep", "gone", "power", "erase", "kill", "command", "front", "look"])
        if fault in peer.without:
            continue
        if fault not in ("none", "command", "kill"):
            peer.count(fault)
        if fault == "sleep":
            bottle.sleep()
            await asyncio.sleep(chance.choice([0, 0.5, 1, 4]))
            bottle.wake()
        elif fault in ("gone", "power", "erase"):
            bottle.go() if fault == "gone" else bottle.die(fault == "erase")
            await asyncio.sleep(chance.uniform(0, 1))
            await bottle.come()
            bottle.wake()
        elif fault == "kill":
            app.kill()
            app.start()
        elif fault == "command":
            await commands(peer, bottle, app)
        elif fault == "front":
            await app.signal(signal.SIGUSR1)
            await asyncio.sleep(chance.uniform(0, 1))
            await app.signal(signal.SIGUSR2)
        elif fault == "look":
            await app.signal(signal.SIGHUP)


async def play(peer):
    bottle = Bottle(peer)
    app = App(peer, bottle)
    advertising = asyncio.ensure_future(bottle.keep_advertising())
    await bottle.come()
    bottle.wake()
    app.start()
    await strike(peer, bottle, app)
    bottle.is_calm = True
    await app.signal(signal.SIGUSR2)
    bottle.pour()
    until = time.monotonic() + HANG
    while bottle.waiting() and not bottle.broken:
        check("exit status of bottle watch", None, app.child.poll())
        check_that("all drinks come", time.monotonic() < until, f"within {HANG} s", f"{len(bottle.waiting())} wait")
        await asyncio.sleep(0.05)
    if bottle.broken:
        raise bottle.broken
    await app.stop()
    code, stored = await app.call("drinks", "--limit", "100000")
    compare(bottle, app, stored)
    code, status = await app.call("status")
    check("drinks and unshown in the status", (len(stored), 0), (status[0]["drinks"], status[0]["unshown"]))
    check("refresh with nothing to do", (0, "already-synced"), await app.result("refresh"))
    check("broken promises on the wire", None, bottle.broken)
    peer.count("drinks", len(stored))
    advertising.cancel()


if __name__ == "__main__":
    main(__doc__.splitlines()[0], lambda peer: asyncio.run(play(peer)))
