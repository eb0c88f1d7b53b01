"""A phone for `holdfast bottle virtual` that is cut off, leaves, repeats and sends invalid data.

docs/bottle.md specifies the frames of the radio on a Unix socket and the characteristics' values.
"""
import asyncio
import json
import os
import signal
import struct
import time

from peer import HANG, Broken, check, check_that, main

CLOCK_WAS_SET = 1577836800
SERVICE = bytes.fromhex("6F75616B766174652D00"[:16] + "2D00000000000000")[::-1]
BATTERY = bytes.fromhex("00002A1900001000800000805F9B34FB")[::-1]
STATE, CONFIG, SYNC, DRINKS, COMMAND, SETTINGS, ACTIVITY, CALIBRATION = range(1, 9)
START, ACK = 1, 2
UNITS = [23, 24, 36, 37, 50, 51, 65, 100, 185, 247, 288, 289, 400, 515]  # maximum packet sizes


def characteristic(number):
    return bytes([number]) + SERVICE[1:]


class Cut(Exception):
    """Raised when the phone ends the connection."""


class Lost(Exception):
    """Raised when the bottle has ended the connection or the link."""


class Record:
    def __init__(self, line, bottle):
        self.id, self.amount, self.is_set = line["id"], line["amountML"], bottle.is_set
        self.poured, self.value = time.time(), None

    def compare(self, value, peer):
        name, moment, amount, level, kind, flags = struct.unpack("<IIhHBB", value)
        check("id and amount of a record", (self.id, self.amount), (name, amount))
        check("kind of a record", int(amount >= 100), kind)
        check_that("level and flags of a record", level <= 2000 and flags in (0, 2),
                   "neither synchronised nor deleted", (level, flags))
        if self.is_set is not None:
            check_that("time of a record", self.poured - 3 < moment < time.time() + 3 if self.is_set else moment < CLOCK_WAS_SET,
                       self.poured if self.is_set else "unset", moment)
        check("a record that comes again", (self.value or value).hex(), value.hex())
        peer.count("repeats" if self.value else "records")
        self.value = value


class Bottle:
    """A `holdfast bottle virtual` process that is killed and restarted, and its expected records."""

    def __init__(self, peer):
        self.peer, self.chance, self.path = peer, peer.chance, peer.path("radio")
        self.child, self.runs, self.read, self.longest, self.id = None, 0, 0, 20, None
        self.waiting, self.done, self.pending = [], [], []
        self.is_set = False  # whether the clock is set; None if a write of the time was cut off
        self.wire = open(peer.path("wire"), "a", encoding="utf-8")

    def note(self, text):
        self.wire.write(f"{time.time():.3f} {text}\n")
        self.wire.flush()

    async def start(self):
        self.runs, self.read = self.runs + 1, 0
        unit, self.is_set = self.chance.choice(UNITS), False
        self.longest = unit - 3
        with open(self.peer.path(f"out-{self.runs}"), "wb") as out:
            self.child = self.peer.start(
                "bottle", "virtual", "--socket", self.path, "--flash", self.peer.path("flash"), "--interactive",
                "--json", "--mtu", unit, "--profile", self.chance.choice(["028", "034", "035"]),
                stdin=-1, stdout=out)
        self.say("move")
        await self.event(lambda line: line.get("state") == "advertising")

    def say(self, action):
        self.note(f"> {action}")
        self.child.stdin.write(f"{action}\n".encode())
        self.child.stdin.flush()

    async def event(self, is_it):
        """Waits for a matching line of the bottle's output, and returns it."""
        until = time.monotonic() + HANG
        while True:
            with open(self.peer.path(f"out-{self.runs}"), "rb") as file:
                file.seek(self.read)
                lines = file.read().split(b"\n")[:-1]
            for text in lines:
                self.read += len(text) + 1
                self.note(text.decode())
                line = json.loads(text)
                if is_it(line):
                    return line
            check_that("a line of the bottle", time.monotonic() < until and self.child.poll() is None,
                       f"within {HANG} s", f"none; exit status {self.child.poll()}")
            await asyncio.sleep(0.005)

    def restart(self, action):
        self.say(action)
        self.is_set = False
        if action == "erase":
            self.waiting, self.done, self.pending = [], [], []

    async def pour(self, number=1):
        for _ in range(number):
            amount = self.chance.choice([30, 99, 100, 250, -100, -400])
            self.say(f"pour {amount}" if amount > 0 else f"refill {-amount}")
            record = Record(await self.event(lambda line: line["event"] == "record"), self)
            check("amount of a record", amount, record.amount)
            self.waiting.append(record)

    def forget(self, records):
        """Removes records from the waiting records."""
        self.done += records
        self.waiting = [record for record in self.waiting if record not in records]
        self.pending = []

    def resolve(self, number):
        """Updates the waiting records. Their number shows whether the last write arrived."""
        rest = [record for record in self.waiting if record not in self.pending]
        check_that("records that wait", number in (len(self.waiting), len(rest)),
                   f"{len(self.waiting)}, or {len(rest)} if the last write arrived", number)
        self.forget(self.pending if number == len(rest) else [])

    def is_one(self, record):
        """Returns whether no other record has the same id."""
        return sum(other.id == record.id for other in self.waiting + self.done) == 1

    async def end(self, does_kill):
        if does_kill:
            self.child.kill()
        elif self.chance.random() < 0.5:
            self.say("quit")
        else:
            self.child.send_signal(self.chance.choice([signal.SIGTERM, signal.SIGINT]))
        until = time.monotonic() + HANG
        while self.child.poll() is None:
            check_that("bottle virtual ends", time.monotonic() < until, f"within {HANG} s", "it runs")
            await asyncio.sleep(0.01)
        check("exit status of bottle virtual", -9 if does_kill else 0, self.child.returncode)


class Phone:
    """A connection to the bottle."""

    def __init__(self, bottle, reader, writer, fuse):
        self.bottle, self.reader, self.writer, self.fuse = bottle, reader, writer, fuse
        self.is_linked = self.is_leaving = self.is_syncing = False
        self.subscribed, self.inbox, self.state = set(), [], None
        self.number = bottle.chance.randrange(65536)

    @classmethod
    async def open(cls, bottle, fuse=None):
        return cls(bottle, *await asyncio.open_unix_connection(bottle.path), fuse)

    def burn(self):
        """Cuts the connection at the frame that the seed selects."""
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                raise Cut

    def send(self, kind, content=b""):
        frame = struct.pack("<BH", kind, len(content)) + content
        self.bottle.note(f"phone {kind} {content.hex()}")
        try:
            self.burn()
        except Cut:
            self.writer.write(frame[:self.bottle.chance.randrange(len(frame))])
            raise
        self.writer.write(frame)

    async def frame(self, limit=HANG):
        try:
            async with asyncio.timeout(limit):
                kind, length = struct.unpack("<BH", await self.reader.readexactly(3))
                content = await self.reader.readexactly(length)
        except TimeoutError:
            raise Broken("a frame of the bottle", f"within {limit} s", "none") from None
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Lost from None
        self.bottle.note(f"bottle {kind} {content.hex()}")
        self.judge(kind, content)
        self.burn()
        return kind, content

    def judge(self, kind, content):
        sizes = {1: (32, 96), 2: (2, 2), 3: (0, 0), 4: (16, 16 + max(20, self.bottle.longest)), 5: (3, 1000)}
        check_that("kind and length of a frame", kind in sizes and sizes[kind][0] <= len(content) <= sizes[kind][1],
                   "1 to 5, with a length of the document", (kind, len(content)))
        if kind == 1:
            check_that("an advertisement", not self.is_linked, "without a link", "on a link")
            self.bottle.id = self.bottle.id or content[:16]
            check("id and service", (self.bottle.id.hex(), SERVICE.hex()), (content[:16].hex(), content[16:32].hex()))
            check_that("name", content[32:].decode(), "UTF-8", "none")
            self.is_leaving = False
        elif kind == 4:
            check_that("a notification", self.is_leaving or content[:16] in self.subscribed,
                       "of what was subscribed to, on a link", content[:16].hex())
            if content[:16] == characteristic(STATE):
                self.state = self.states(content[16:])
            else:
                self.inbox.append((content[:16], content[16:]))

    def states(self, value):
        check("length of the state", 14, len(value))
        moment, _, level, drunk, battery, flags, number = struct.unpack("<IhHHBBH", value)
        check_that("level, battery and flags", battery <= 100 and flags < 64, "in their bounds", (level, battery, flags))
        is_set = bool(flags & 1)
        check("whether the clock was set", is_set if self.bottle.is_set is None else self.bottle.is_set, is_set)
        check_that("time of the bottle", time.time() - HANG < moment < time.time() + 3 if is_set else moment < CLOCK_WAS_SET,
                   time.time() if is_set else "unset", moment)
        return {"number": number, "drunk": drunk, "is_set": is_set}

    async def connect(self):
        until = time.monotonic() + HANG
        while True:
            check_that("a link", time.monotonic() < until, f"within {HANG} s", "none")
            while (await self.frame())[0] != 1:
                pass
            does_restart = self.bottle.peer.draws("restart", 0.1)
            if does_restart:
                self.bottle.restart("restart")
            self.send(16, os.urandom(self.bottle.chance.choice([0, 0, 3])))
            if does_restart:
                await self.bottle.pour()
            kind = 1
            while kind not in (2, 3):
                kind, content = await self.frame()
            if kind == 2 and (not does_restart or await self.is_standing()):
                break
        self.is_linked, self.is_syncing, self.inbox = True, False, []
        check("longest value", self.bottle.longest, struct.unpack("<H", content)[0])
        self.bottle.peer.count("links")

    async def is_standing(self):
        """Returns whether the link survived a restart."""
        self.is_linked = True
        try:
            await self.look()
        except Lost:
            self.is_linked = False
        return self.is_linked

    async def request(self, kind, content, pending=()):
        """Sends a request, and returns the value of its reply, or None if it was refused."""
        self.number = (self.number + 1) % 65536
        number = struct.pack("<H", self.number)
        self.send(kind, number + content)
        self.bottle.pending = list(pending) or self.bottle.pending
        while True:
            answer, content = await self.frame()
            if answer == 3:
                raise Lost
            if answer == 5:
                check("number of a reply", number.hex(), content[:2].hex())
                self.bottle.pending = [] if pending else self.bottle.pending
                return content[3:] if content[2] == 1 else None

    async def done(self, what, kind, content, pending=()):
        value = await self.request(kind, content, pending)
        check_that(what, value is not None, "taken", "refused")
        return value

    async def write(self, number, value, pending=()):
        what = f"write of {value.hex()} to {number}"
        check(what, b"", await self.done(what, 21, characteristic(number) + value, pending))

    async def look(self):
        """Reads the state."""
        value = await self.done("read of the state", 20, characteristic(STATE))
        return self.states(value)

    async def told(self, what):
        """Waits until a notified state contains the expected number of waiting records."""
        until = time.monotonic() + HANG
        while self.state is None or self.state["number"] != len(self.bottle.waiting):
            check_that(f"the state after {what}", time.monotonic() < until, len(self.bottle.waiting), self.state)
            await self.frame()

    async def prepare(self):
        """Performs the steps that the document requires for a new link."""
        known = b"".join(map(characteristic, range(1, 7)))
        check("reply to what it has", b"", await self.done("what it has", 18, known))
        check("what it has not", None, await self.request(18, known + characteristic(99)))
        for uuid in (characteristic(STATE), characteristic(DRINKS), characteristic(CALIBRATION), BATTERY):
            self.subscribed.add(uuid)
            check("reply to a subscription", b"", await self.done("a subscription", 19, uuid))
        check("subscription to what it has not", None, await self.request(19, characteristic(99)))
        state = await self.look()
        self.bottle.resolve(state["number"])
        self.bottle.is_set = state["is_set"]
        if not self.bottle.is_set or self.bottle.chance.random() < 0.3:
            await self.set_time()

    async def set_time(self):
        """Sets the clock, possibly after writes that are not a time."""
        for bad in (b"\x10", b"\x10\1\2", b"\x10\1\2\3\4\5\6"):
            if self.bottle.chance.random() < 0.3:
                check("a time of another length", None, await self.request(21, characteristic(COMMAND) + bad))
        await self.look()
        self.bottle.is_set = None
        await self.write(COMMAND, struct.pack("<BI", 16, int(time.time())))
        self.bottle.is_set = True
        await self.look()

    def chunk(self):
        """Returns the notified chunk or None. A chunk with a count of 0 is ignored."""
        values = [value for uuid, value in self.inbox if uuid == characteristic(DRINKS) and value[2:4] != b"\0\0"]
        self.inbox = []
        check_that("chunks at once", len(values) <= 1, "one", [value.hex() for value in values])
        return values[0] if values else None

    async def next_chunk(self):
        while (value := self.chunk()) is None:
            await self.frame()
        return value

    async def sync(self):
        """Fetches drinks, possibly with a fault."""
        bottle, chance = self.bottle, self.bottle.chance
        size = chance.choice([1, 3, 20, 20, 20])
        size = min(size, max(1, (bottle.longest + 3 - 9) // 14), 20)
        wanted = bottle.waiting[:chance.choice([1, 5, 1000, 1000, 1000])]
        chunks = [wanted[i:i + size] for i in range(0, len(wanted), size)]
        fault, place_of_fault = chance.choice(["again", "deaf", "pour", None, None]), chance.randrange(len(chunks) or 1)
        self.inbox, self.is_syncing = [], bool(chunks)
        await self.write(SYNC, struct.pack("<HHBBH", 0, len(wanted), START, 0, size))
        bottle.peer.count("syncs")
        for index, records in enumerate(chunks):
            value = await self.next_chunk()
            check("chunk, chunks, records and 0", (index, len(chunks), len(records), 0), struct.unpack("<HHBB", value[:6]))
            check("length of a chunk", 6 + 14 * len(records), len(value))
            for place, record in enumerate(records):
                record.compare(value[6 + 14 * place:20 + 14 * place], bottle.peer)
            is_faulty = index == place_of_fault and fault not in bottle.peer.without
            if is_faulty and fault == "again":
                bottle.peer.count("again")
                return  # the next START begins from the first chunk
            if is_faulty and fault == "deaf":
                return await self.lose(wanted if index + 1 == len(chunks) else [])
            if is_faulty and fault == "pour":
                await bottle.pour()
            self.state = None
            await self.write(SYNC, bytes([0, 0, 0, 0, ACK, 0, 0, 0]), wanted if index + 1 == len(chunks) else [])
        self.is_syncing = False
        if chunks:
            bottle.forget(wanted)
            await self.told("the last acknowledgement")
        check("a chunk after the last", None, self.chunk())

    async def lose(self, records):
        """Writes an acknowledgement that the bottle loses, unless a cut comes first."""
        self.bottle.say("deaf")
        await self.bottle.pour()  # actions run in order, so the earlier one is complete
        self.bottle.pending = records
        self.send(21, b"\0\0" + characteristic(SYNC) + bytes([0, 0, 0, 0, ACK, 0, 0, 0]))
        await self.look()  # the next reply is to this request
        self.bottle.pending = []
        check("a chunk after an acknowledgement that was lost", None, self.chunk())
        self.bottle.say("hear")
        await self.bottle.pour()
        self.bottle.peer.count("deaf")

    async def command(self):
        """Writes commands, and checks their effects."""
        bottle, chance = self.bottle, self.bottle.chance
        code = chance.choice([1, 2, 3, 4, 5, 6, 17, 18, 18, 32, 48, "settings", "configuration"])
        self.state = None
        if code == 18:
            records = [record for record in bottle.waiting + bottle.done[-3:] if bottle.is_one(record)]
            if not records:
                return
            record = chance.choice(records)
            gone = [record] if record in bottle.waiting else []
            await self.write(COMMAND, struct.pack("<BI", 18, record.id), gone)
            bottle.forget(gone)
            await self.told("a deletion")
        elif code == 6:
            await self.write(COMMAND, bytes([6, 0, 0, 0]), bottle.waiting)
            bottle.forget(bottle.waiting)
        elif code == 5:
            await self.write(COMMAND, bytes([5, 0, 0, 0]))
            check("drunk today after command 5", 0, (await self.look())["drunk"])
        elif code == 17:
            before = await self.look()
            check("command 17", None, await self.request(21, characteristic(COMMAND) + struct.pack("<BH", 17, 700)))
            check("drunk today after command 17", before["drunk"], (await self.look())["drunk"])
        elif code == 3:
            await self.calibrate()
        elif code == 4:
            await self.write(COMMAND, struct.pack("<Biif", 4, 1000, 330000, 400.5))
            value = await self.done("read of the configuration", 20, characteristic(CONFIG))
            check("scale", 400.5, struct.unpack("<f", value[:4])[0])
        elif code == "settings":
            flag = bytes([chance.randrange(2), 0, 0, 0])
            await self.write(SETTINGS, flag)
            check("settings", flag, await self.done("read of the settings", 20, characteristic(SETTINGS)))
        elif code == "configuration":
            await self.configure()
        elif code != 48 or "activities" not in bottle.peer.without:
            await self.write(COMMAND, bytes([code, 0, 0, 0]))
        check(f"records that wait after {code}", len(bottle.waiting), (await self.look())["number"])
        bottle.peer.count("commands")

    async def calibrate(self):
        """Begins a calibration, measures an empty and a full bottle, and cancels it."""
        for value in (b"\x20\0\0\0", b"\x03\0\0\0", b"\x03\1\0\0", b"\x21\0\0\0"):
            self.inbox = []
            await self.write(COMMAND, value)
            while not (steps := [value for uuid, value in self.inbox if uuid == characteristic(CALIBRATION)]):
                await self.frame()
            check_that(f"progress after {value.hex()}", len(steps[-1]) == 12 and steps[-1][1] == 0 and
                       (steps[-1][0] == 0) == (value[0] == 33), "12 bytes, no failure, idle at the end", steps[-1].hex())

    async def configure(self):
        """Writes configurations within and beyond the limits."""
        old = await self.done("read of the configuration", 20, characteristic(CONFIG))
        check("length of the configuration", 12, len(old))
        scale = self.bottle.chance.choice([100, 800, 99.5, 800.5, float("nan"), 412.5])
        goal = self.bottle.chance.choice([1000, 4000, 999, 4001, 2500])
        new = struct.pack("<f", scale) + old[4:10] + struct.pack("<H", goal)
        await self.request(21, characteristic(CONFIG) + new)
        value = await self.done("read of the configuration", 20, characteristic(CONFIG))
        is_good = 100 <= scale <= 800 and 1000 <= goal <= 4000
        check(f"configuration after {new.hex()}", (new if is_good else old).hex(), value.hex())

    async def nonsense(self):
        """Writes invalid values, which must neither end the link nor lose data."""
        chance, ack = self.bottle.chance, bytes([0, 0, 0, 0, ACK, 0, 0, 0])
        bad = [(COMMAND, b""), (COMMAND, b"\0" * 4), (COMMAND, b"\x07\0\0\0"), (COMMAND, b"\xff" * 4),
               (COMMAND, b"\x12\1"), (COMMAND, b"\x06"), (COMMAND, b"\x03\x09\0\0"), (COMMAND, b"\x11\1"),
               (COMMAND, struct.pack("<BI", 18, 0xFFFFFFFF)), (SYNC, b""), (SYNC, ack[:7]), (SYNC, ack + b"\0"),
               (SYNC, bytes([0, 0, 0, 0, 3, 0, 0, 0])), (SYNC, ack), (SYNC, ack), (SETTINGS, b""), (CONFIG, b"\1\2"),
               (STATE, bytes(14)), (DRINKS, bytes(6)), (99, b"\1")]
        self.send(chance.choice([1, 2, 3, 4, 5]), bytes(40))  # frame kinds that only a bottle sends are ignored
        for number, value in chance.sample(bad, 4):
            if value == ack and self.is_syncing:
                continue
            self.bottle.note(f"nonsense {number} {value.hex()}")
            answer = await self.request(21, characteristic(number) + value)
            check_that(f"write to {number}", answer is None or number < 7 and number not in (STATE, DRINKS), "refused", "taken")
        check("read of what cannot be read", None, await self.request(20, characteristic(chance.choice([COMMAND, 99]))))
        check("records that wait after nonsense", len(self.bottle.waiting), (await self.look())["number"])
        self.bottle.peer.count("nonsense", 4)

    async def second(self):
        """Connects a second phone while this one is linked."""
        other = await Phone.open(self.bottle)
        other.send(16)
        check("answer to a second phone, without an advertisement", 3, (await other.frame())[0])
        check("request of a second phone", None, await other.request(20, characteristic(STATE)))
        other.writer.transport.abort()
        await self.look()
        self.bottle.peer.count("second phones")

    async def leave(self):
        self.send(17, os.urandom(self.bottle.chance.choice([0, 0, 3])))
        self.is_linked, self.is_leaving, self.subscribed = False, True, set()

    async def vanish(self, content):
        """Sends bytes that must end the connection, and waits for its end."""
        self.bottle.note(f"phone sends {content.hex()}")
        self.writer.write(content)
        until = time.monotonic() + HANG
        try:
            while True:
                check_that("a connection after a bad frame", time.monotonic() < until, "ended", "it stands")
                await self.frame()
        except Lost:
            self.bottle.peer.count("bad frames")


async def use(bottle, phone):
    """Uses one connection until the seed ends it."""
    chance = bottle.chance
    await phone.connect()
    await phone.prepare()
    while True:
        await phone.look()
        action = chance.choice(["sync", "sync", "sync", "pour", "pour", "command", "nonsense", "second", "leave",
                                "gone", "bad", "move"]) if len(bottle.waiting) < 200 else "sync"
        if action in bottle.peer.without:
            continue
        bottle.note(f"action {action}")
        if action == "sync":
            await phone.sync()
        elif action == "pour":
            phone.state = None
            await bottle.pour(chance.choice([1, 1, 3, 30]))
            await phone.told("a drink")
        elif action in ("command", "nonsense", "second"):
            await getattr(phone, action)()
        elif action == "leave":
            await phone.leave()
            bottle.peer.count("leaves")
            if chance.random() < 0.5:
                return
            await phone.connect()
            await phone.prepare()
        elif action == "gone":
            return await gone(bottle, phone)
        elif action == "bad":
            return await phone.vanish(chance.choice([
                bytes([kind, 0, 0]) for kind in (0, 1, 2, 4, 5, 15, 22, 255)] + [
                b"\x10\x01\x04", b"\x12\x01\0\0", b"\x13\x11\0" + bytes(17), b"\x14\x02\0\0\0",
                b"\x15\x11\0" + bytes(17)]))
        elif action == "move":
            for word in ("still", "lift", "still", "tap", "move"):
                bottle.say(word)


async def gone(bottle, phone):
    """Takes the bottle out of range for a while."""
    phone.fuse = None  # the bottle ends this connection, so the phone must not
    bottle.say("gone")
    try:
        while True:
            await phone.frame()
    except Lost:
        pass
    check("a bottle that is gone", False, await is_there(bottle))
    await bottle.pour(bottle.chance.choice([0, 1, 5]))
    bottle.say("back")
    until = time.monotonic() + HANG
    while not await is_there(bottle):
        check_that("a bottle that is back", time.monotonic() < until, f"there within {HANG} s", "gone")
    bottle.peer.count("gone")


async def is_there(bottle):
    try:
        (await asyncio.open_unix_connection(bottle.path))[1].close()
    except OSError:
        return False
    return True


async def between(bottle):
    """Injects faults between two connections."""
    chance = bottle.chance
    fault = chance.choice(["none", "none", "none", "pour", "restart", "erase", "kill", "end", "look", "early"])
    if fault == "none" or fault in bottle.peer.without:
        return
    bottle.peer.count(fault)
    bottle.note(f"between {fault}")
    if fault == "pour":
        await bottle.pour(chance.choice([1, 5]))
    elif fault in ("restart", "erase"):
        bottle.restart(fault)
        await bottle.pour()  # actions run in order, so the earlier one is complete
        check_that("id after erase", fault == "restart" or bottle.waiting[0].id == 1, 1, bottle.waiting[0].id)
    elif fault in ("kill", "end"):
        await bottle.end(does_kill=fault == "kill")
        await bottle.start()
    elif fault == "look":
        (await Phone.open(bottle)).writer.transport.abort()
    elif fault == "early":
        phone = await Phone.open(bottle)
        check("a request before the link", None, await phone.request(20, characteristic(STATE)))
        phone.writer.transport.abort()


async def play(peer):
    bottle = Bottle(peer)
    await bottle.start()
    while not peer.is_over():
        fuse = peer.chance.choice([None, None, peer.chance.randrange(60), peer.chance.randrange(15, 400)])
        bottle.say("move")
        bottle.say("hear")
        phone = await Phone.open(bottle, fuse)
        try:
            await use(bottle, phone)
        except Cut:
            peer.count("cuts")
        phone.writer.close()
        bottle.note("phone closes")
        await between(bottle)
    phone = await Phone.open(bottle)
    await phone.connect()
    await phone.prepare()
    while bottle.waiting:
        await phone.sync()
    check("records that wait at the end", 0, (await phone.look())["number"])
    await bottle.end(does_kill=False)


if __name__ == "__main__":
    main(__doc__.splitlines()[0], lambda peer: asyncio.run(play(peer)))
