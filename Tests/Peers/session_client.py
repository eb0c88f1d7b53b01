"""A session client against `holdfast serve`: 0.4 and 0.5, with and without keys and challenges.

Three clients share conversations, cut their connections, withhold acknowledgements and repeat
prompts while the backend is killed and restarted. They check the promises in docs/session.md.
"""
import asyncio
import datetime
import hashlib
import hmac
import json
import os
import signal
import time
import uuid
import warnings

from peer import HANG, Backend, Broken, check, check_that, main

warnings.simplefilter("ignore", DeprecationWarning)
from websockets.exceptions import ConnectionClosed, InvalidHandshake  # noqa: E402
from websockets.legacy.client import connect  # noqa: E402

HANDLER = """#!/bin/sh
text=$(cat)
sum=$(printf '%s' "$text" | sha256sum | cut -c1-16)
echo "$sum" >> "{log}"
case "$text" in
  slow*) sleep 0.3 ;;
  fail*) echo "refused by the handler" >&2; exit 3 ;;
  long*) head -c 150000 /dev/zero | tr '\\0' x ;;
esac
echo "$sum"
"""
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
BAD = (OSError, ConnectionClosed, InvalidHandshake, asyncio.TimeoutError)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def proof(key, hello, session, version, is_bound, stamp=None):
    """Returns the response to a challenge; see "What is signed" in docs/session.md."""
    text = hello["challenge"]
    if is_bound:
        parts = [hello["challenge"], session, version, str(stamp)]
        text = " " * 128 + "".join(f"{len(part.encode())}:{part}," for part in parts)
    return hmac.new(key.encode(), text.encode(), "sha256").hexdigest()


def milliseconds(stamp):
    """Returns the milliseconds since 1970-01-01, rounded down."""
    moment = datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    return (moment - EPOCH) // datetime.timedelta(milliseconds=1)


class Prompt:
    def __init__(self, text, conversation, key):
        self.text, self.conversation, self.key = text, conversation, key
        self.sends, self.is_acked, self.stops = 0, False, 0
        self.answer = None  # (message_id, success, text)


class Conversation:
    def __init__(self):
        self.id, self.is_new = str(uuid.uuid4()), True


class Client:
    def __init__(self, world, number):
        self.world, self.chance = world, world.peer.chance
        self.session, self.number = str(uuid.uuid4()), number
        self.version = self.chance.choice(["0.4.0", "0.5.0"])
        self.proof = self.chance.choice(["key", "challenge", "bound"])
        self.is_keyed = number < 2
        self.prompts, self.confirmed, self.settled, self.open = [], set(), set(), {}
        self.cursors, self.signatures, self.seen = {}, {}, {}
        self.socket, self.connections = None, 0
        self.acked_here, self.kb = [], None
        self.arrived, self.arrived_before = [], 0  # acknowledgements confirmed by a later pong

    # Connections

    async def enter(self):
        """Connects, and returns once the server has confirmed the session."""
        peer, kills = self.world.peer, self.world.kills
        self.socket = await connect(self.world.url, max_size=None, open_timeout=HANG, ping_interval=None)
        hello = await self.receive()
        check("first message of the server", "hello", hello.get("type"))
        frame = {"type": "connect", "session_id": self.session, "protocol_version": self.version}
        if self.proof == "key" or "challenge" not in hello:
            frame["api_key"] = self.world.key
        else:
            frame["timestamp"] = hello["timestamp"]
            is_bound = self.proof == "bound"
            if is_bound:
                frame["features"] = ["bound_proof"]
            frame["challenge_response"] = proof(
                self.world.key, hello, self.session, self.version, is_bound,
                milliseconds(hello["timestamp"]))
        await self.say(frame)
        connected = await self.receive()
        check(f"answer to connect: {connected}", ("connected", self.version, self.session), (
            connected.get("type"), connected.get("negotiated_protocol_version"),
            connected.get("session_id")))
        self.connections += 1
        self.acked_here, self.kb, self.pongs, self.entered = [], None, 0, kills
        self.is_refused = False
        peer.count("connections")
        return set(self.open)

    async def say(self, frame):
        await self.socket.send(json.dumps(frame))

    async def receive(self, timeout=HANG):
        return json.loads(await asyncio.wait_for(self.socket.recv(), timeout))

    async def live(self):
        """Runs one connection: replays, histories, prompts and faults."""
        world, chance = self.world, self.chance
        awaited = await self.enter()
        replayed = set()
        if self.is_keyed and chance.random() < 0.3:
            self.asked = chance.choice([50, 100])
            await self.say({"type": "set_max_message_size", "size_kb": self.asked})
        for conversation in world.conversations:
            if not conversation.is_new:
                await self.subscribe(conversation)
        for prompt in self.prompts:  # unanswered prompts are sent again, in the original order
            if prompt.answer is None and (self.is_keyed or not prompt.is_acked):
                await self.send(prompt)
        end = time.monotonic() + chance.uniform(0.1, 3)
        limit = time.monotonic() + HANG
        is_last = world.is_calm  # what an earlier connection left without message_ack comes again on the next one
        while time.monotonic() < end or is_last and not self.is_done() or awaited - replayed:
            check_that("messages without message_ack are replayed", time.monotonic() < limit or not (
                awaited - replayed), awaited, replayed)
            if time.monotonic() > limit:
                raise Broken("prompts are answered", f"within {HANG} s of calm", [
                    (p.text, p.is_acked) for p in self.prompts if p.answer is None][:3])
            if self.is_refused:
                break
            if not world.is_calm and chance.random() < 0.3:
                await self.write()
            try:
                frame = await self.receive(chance.uniform(0.01, 0.2))
            except asyncio.TimeoutError:
                continue
            if frame["type"] in ("replay", "response"):
                replayed.add(frame.get("message_id"))
            await self.take(frame)
        await self.leave()

    async def leave(self):
        """Ends a connection in a random way. A pong proves that acknowledgements arrived."""
        pongs, limit = self.pongs, time.monotonic() + HANG
        way = "close" if self.world.is_calm else self.chance.choice(["abort", "close", "disconnect"])
        if way != "abort":
            await self.say({"type": "ping"})
            while self.pongs == pongs:
                check_that("ping is answered", time.monotonic() < limit, "pong",
                           f"nothing in {HANG} s")
                await self.take(await self.receive())
            if self.entered == self.world.kills:
                self.arrived += self.acked_here
                self.arrived_before = self.entered
        if way == "disconnect":
            await self.say({"type": "disconnect", "reason": "background"})
            try:
                while True:
                    await self.take(await self.receive())
            except ConnectionClosed as end:
                if self.entered == self.world.kills:
                    check("close code after disconnect", 1000, end.code)
        elif way == "close":
            await self.socket.close()
        self.world.peer.count(way)

    # Sending
    async def write(self):
        """Sends a new prompt, or repeats an earlier one."""
        chance, world = self.chance, self.world
        answered = [p for p in self.prompts if p.answer and self.is_keyed]
        if answered and chance.random() < 0.2:
            prompt = chance.choice(answered)
            world.peer.count("repeats")
            await self.send(prompt)  # the same key must get the same answer, which take() checks
            return
        if sum(p.answer is None for p in self.prompts) > (20 if self.is_keyed else 0):
            return
        kinds = ["plain"] * 6 + ["slow", "long", "é\u2028\U0001f600"]
        # A failure identifies its prompt only by the key.
        kind = chance.choice(kinds + ["fail"] * self.is_keyed)
        text = f"{kind} {self.number}-{len(self.prompts)} of {world.mark}"
        key = str(uuid.UUID(int=chance.getrandbits(128))) if self.is_keyed else None
        prompt = Prompt(text, chance.choice(world.mine(self)), key)
        prompt.stops = world.stops
        self.prompts.append(prompt)
        await self.send(prompt)
        if self.is_keyed and chance.random() < 0.2:
            await self.send(prompt)

    async def send(self, prompt):
        conversation = prompt.conversation
        frame = {"type": "prompt", "text": prompt.text, "unknown": {"member": 1}}
        frame["new_session_id" if conversation.is_new else "resume_session_id"] = conversation.id
        if prompt.key:
            frame["idempotency_key"] = prompt.key
        prompt.sends += 1
        await self.say(frame)
        if conversation.is_new:
            conversation.is_new = False
            await self.subscribe(conversation)

    async def subscribe(self, conversation):
        cursor = self.cursors.get(conversation.id, 0)
        frame = {"type": "subscribe", "session_id": conversation.id}
        if self.version == "0.4.0":
            frame["last_seq"] = cursor
        else:
            frame["from_offset"] = cursor
            if conversation.id in self.signatures:
                frame["file_signature_seen"] = self.signatures[conversation.id]
        await self.say(frame)

    # Receiving
    async def take(self, frame):
        kind = frame["type"]
        if kind == "pong":
            self.pongs += 1
        elif kind == "ack":
            if self.is_keyed and "idempotency_key" not in frame:
                self.kb = self.asked  # earlier frames were sent under the old limit
            for prompt in self.prompts:
                if prompt.key == frame.get("idempotency_key"):
                    prompt.is_acked = True
            self.settle(frame)
        elif kind == "response":
            await self.answered(frame, frame.get("text"), frame["success"], frame.get("error"))
        elif kind == "replay":
            message = frame["message"]
            await self.answered(frame, message["text"], None, message["text"])
        elif kind == "session_history":
            await self.window(frame)
        elif kind == "error":
            # A prompt refused with these codes is sent again on the next connection.
            check_that("code of an error", frame.get("code") in ("draining", "busy", "rate_limited"),
                       "draining, busy or rate_limited", frame)
            self.world.peer.count(frame["code"])
            self.is_refused = True
        if kind in ("response", "replay", "session_history"):
            # The limit is 100 KB for a client that has not set its own.
            size, most = len(json.dumps(frame, ensure_ascii=False).encode()), (self.kb or 100) * 1024
            check_that(f"bytes of a {kind}", size <= most, f"{most} at most", size)

    def settle(self, frame):
        """Records that earlier acknowledgements are stored.

        A prompt that was sent once is stored after them. A server that is killed within a second of
        an acknowledgement may have lost it."""
        if self.entered != self.arrived_before or self.entered != self.world.kills:
            self.arrived = []
        elif any(p.sends == 1 and p.key == frame.get("idempotency_key") for p in self.prompts if p.key):
            self.settled.update(self.arrived)
            for _ in self.arrived:
                self.world.peer.count("stored acknowledgements")
            self.arrived = []

    async def answered(self, frame, text, success, error):
        """Compares an answer with its prompt, and possibly acknowledges it."""
        name = frame.get("message_id")
        check_that("message_id of an answer", name, "one", frame)
        check_that("a message that was acknowledged", name not in self.settled or self.repeats(frame),
                   "no replay", frame)
        prompt = self.find(frame, text, name)
        if prompt is None:
            return
        if success is not None or prompt.answer is None:
            value = (name, success, text if success else error)
            if prompt.key and prompt.answer and None not in (prompt.answer[1], success):
                same = prompt.answer[:2] == value[:2]
                check_that(f"the answer to {prompt.text} again", same, prompt.answer, value)
            prompt.answer = value
        self.judge(prompt, text, success, error)
        if name not in self.confirmed:
            self.open[name] = prompt
        if self.chance.random() < 0.7 or self.world.is_calm:
            await self.say({"type": "message_ack", "message_id": name})
            self.acked_here.append(name)
            self.confirmed.add(name)
            self.open.pop(name, None)

    def repeats(self, frame):
        """Returns whether a prompt with this answer was sent more than once."""
        return frame["type"] == "response" and any(
            p.answer and p.answer[0] == frame["message_id"] and p.sends > 1 for p in self.prompts)

    def find(self, frame, text, name):
        key = frame.get("idempotency_key")
        for prompt in self.prompts:
            if (key and prompt.key == key) or (prompt.answer and prompt.answer[0] == name) or (
                    text and digest(prompt.text) in text):
                return prompt
        # An answer without a key may only report that its handler was interrupted.
        check_that("an answer belongs to a prompt of this client", not text or not self.is_keyed,
                   "a prompt of this client", frame)
        for prompt in self.prompts:
            if prompt.answer is None and prompt.conversation.id == frame.get(
                    "session_id", (frame.get("message") or {}).get("session_id")):
                return prompt
        return None

    def judge(self, prompt, text, success, error):
        if success is False or success is None and digest(prompt.text) not in (text or ""):
            # Without a key, the interrupted prompt may be an earlier one.
            stops = prompt.stops if prompt.key else 0
            is_interrupted = "interrupted" in json.dumps(error) and self.world.stops > stops
            is_meant = prompt.text.startswith("fail") and "refused by the handler" in (error or "")
            check_that(f"failure of {prompt.text}", is_interrupted or is_meant,
                       "interrupted after a stop, or the handler's own", error)
            self.world.peer.count("interrupted" if is_interrupted else "failed")
            return
        is_long = prompt.text.startswith("long")
        check_that(f"answer to {prompt.text}", text.endswith(digest(prompt.text)) and (
            is_long or len(text) == 16), digest(prompt.text), (len(text), text[-200:]))

    async def window(self, frame):
        """Processes a window of a history, and requests the rest of an incomplete one."""
        name, known = frame["session_id"], self.seen.setdefault(frame["session_id"], {})
        cursor = self.cursors.get(name, 0)
        check_that("gap in a history that was not pruned", not frame.get("gap"), "none", frame)
        is_old = self.version == "0.4.0"
        for message in frame["messages"]:
            place = message["seq" if is_old else "offset"]
            before = known.setdefault(message["uuid"], (place, message["role"], message["text"]))
            if not self.kb and "x" * 100 not in message["text"]:
                check("a message of a history again", before, (
                    place, message["role"], message["text"]))
        if is_old:
            places = [m["seq"] for m in frame["messages"]]
            check("sequence numbers of a window", list(range(places[0], places[0] + len(places)))
                  if places else [], places)
            if places and places[0] > cursor + 1:
                self.world.peer.count("gaps")
                return await self.subscribe_id(name)
            if places:
                self.cursors[name] = max(cursor, places[-1])
            if not frame["is_complete"]:
                await self.subscribe_id(name)
        else:
            check_that("file_replaced of a file that grows", not frame.get("file_replaced"), False, frame)
            self.signatures[name] = frame.get("file_signature")
            self.cursors[name] = max(cursor, frame["next_offset"])
            if not frame["end_of_file"]:
                await self.subscribe_id(name)
        return None

    async def catch_up(self, names):
        """Reads histories from the cursors to their ends, on a separate connection."""
        await self.enter()
        for name in list(names):
            await self.subscribe_id(name)
            frame = {}
            while frame.get("session_id") != name or not frame.get(
                    "is_complete", frame.get("end_of_file")):
                frame = await self.receive()
                await self.take(frame)
        await self.socket.close()

    async def subscribe_id(self, name):
        await self.subscribe(next(c for c in self.world.conversations if c.id == name))

    def is_done(self):
        return all(p.answer for p in self.prompts) and not self.open


def make_handler(peer):
    """Writes the handler of prompts, which notes each run, and returns its path."""
    return peer.write("handler", HANDLER.replace("{log}", peer.path("ran")), 0o700)


class World:
    def __init__(self, peer):
        self.peer, self.kills, self.stops, self.is_calm, self.mark = peer, 0, 0, False, peer.seed
        self.backend = self.open_backend()
        with open(os.path.join(self.backend.data, "session-key"), encoding="ascii") as file:
            self.key = file.read().strip()
        self.url = f"ws://127.0.0.1:{self.backend.port}/session"
        self.broken = None
        self.begin()

    def open_backend(self):
        return Backend(self.peer, "--session-handler", make_handler(self.peer)).start()

    def begin(self):
        """Makes new clients with conversations of their own."""
        self.conversations = [Conversation() for _ in range(5)]
        self.clients = [Client(self, number) for number in range(3)]

    def mine(self, client):
        """Returns the client's own conversation and the one shared by two clients with keys."""
        return [self.conversations[client.number]] + (
            [self.conversations[3]] if client.is_keyed else [])

    async def play(self, client):
        limit = time.monotonic() + HANG
        while self.broken is None and not (self.is_calm and client.is_done()):
            try:
                await client.live()
                limit = time.monotonic() + HANG
            except BAD as error:
                check_that("a connection to a backend that runs", time.monotonic() < limit, "one", repr(error))
                await asyncio.sleep(0.1)
            finally:
                if client.socket is not None and client.socket.transport is not None:
                    client.socket.transport.abort()

    async def kill(self):
        while not self.peer.is_over():
            await asyncio.sleep(self.peer.chance.uniform(0.5, 4))
            self.kills += 1
            if self.peer.draws("kills", 0.7):
                self.backend.kill()
                self.peer.count("kills")
            else:
                self.backend.child.send_signal(signal.SIGTERM)
                limit = time.monotonic() + HANG
                while self.backend.child.poll() is None:
                    check_that("serve ends after SIGTERM", time.monotonic() < limit, f"in {HANG} s", "runs")
                    await asyncio.sleep(0.02)
                check("exit status of serve after SIGTERM", 0, self.backend.child.returncode)
                self.peer.count("restarts")
            self.stops += 1
            self.backend.start()
        self.is_calm = True

    async def entrances(self):
        """Checks which first messages open a session."""
        session, key = str(uuid.uuid4()), self.key

        async def visit(make, replies=1):
            async with connect(self.url, open_timeout=HANG, ping_interval=None) as socket:
                hello = json.loads(await socket.recv())
                for frame in make(hello):
                    await socket.send(json.dumps(frame))
                answers = []
                try:
                    for _ in range(replies):
                        answers.append(json.loads(await asyncio.wait_for(socket.recv(), HANG)))
                    try:
                        await asyncio.wait_for(socket.recv(), 0.5)
                    except asyncio.TimeoutError:  # a close frame comes before a pong, also late
                        await asyncio.wait_for(await socket.ping(), HANG)
                except ConnectionClosed as end:
                    return answers, end.code
                return answers, None

        def enter(hello, **changes):
            return [{"type": "connect", "session_id": session, "api_key": key,
                     "protocol_version": "0.5.0", **changes}]

        def signed(hello, stamp, is_bound=True, version="0.5.0", says=None):
            frame = {"type": "connect", "session_id": session, "protocol_version": version,
                     "timestamp": says or stamp, "challenge_response": proof(
                         key, hello, session, "0.5.0", is_bound, milliseconds(stamp)),
                     "features": ["bound_proof"]}
            return [frame]

        def shifted(seconds):
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))

        old = []

        def replayed(hello):
            old.extend(signed(hello, hello["timestamp"]))
            return old[:1]

        table = [
            ("the wrong key", lambda h: enter(h, api_key="x" + key[1:]), "auth_error", 4401),
            ("no key", lambda h: enter(h, api_key=None), "auth_error", 4401),
            ("a prompt before connect", lambda h: [{"type": "prompt", "text": "x"}], "auth_error", 4401),
            ("a ping before connect", lambda h: [{"type": "ping"}], "pong", None),
            ("version 0.3.0", lambda h: enter(h, protocol_version="0.3.0"), "error", 4426),
            ("version 0.4.0", lambda h: enter(h, protocol_version="0.4.0"), "0.4.0", None),
            ("version 9.9.9", lambda h: enter(h, protocol_version="9.9.9"), "0.5.0", None),
            ("no version", lambda h: enter(h, protocol_version=None), "0.4.0", None),
            ("a version that is none", lambda h: enter(h, protocol_version="new"), "0.4.0", None),
            ("a signed challenge", replayed, "0.5.0", None),
            ("the same again on another connection", lambda h: old[:1], "auth_error", 4401),
            ("a clock 20 s behind", lambda h: signed(h, shifted(-20)), "0.5.0", None),
            ("a clock 40 s behind", lambda h: signed(h, shifted(-40)), "auth_error", 4401),
            ("a clock 40 s ahead", lambda h: signed(h, shifted(40)), "auth_error", 4401),
            ("an unbound proof that says it is bound", lambda h: signed(h, h["timestamp"], False),
             "auth_error", 4401),
            ("a proof for another version", lambda h: signed(h, h["timestamp"], version="0.4.0"),
             "auth_error", 4401),
            ("a proof for another time", lambda h: signed(h, h["timestamp"], says=shifted(5)),
             "auth_error", 4401),
        ]
        for what, make, expected, code in table:
            answers, end = await visit(make)
            first = answers[0] if answers else {}
            actual = first.get("negotiated_protocol_version", first.get("type"))
            check(f"answer to {what}: {first}", (expected, code), (actual, end))
            self.peer.count("entrances")

    async def refusals(self):
        """Checks that the backend runs none of the prompts that it refuses."""
        client, conversation = Client(self, 8), str(uuid.uuid4())
        await client.enter()
        prompt = {"type": "prompt", "text": "first", "new_session_id": conversation,
                  "idempotency_key": str(uuid.uuid4())}
        other = {"resume_session_id": conversation, "idempotency_key": str(uuid.uuid4())}
        later = {name: prompt[name] for name in ("type", "text")} | other
        # The last prompt has the maximum length.
        for frame, code in ((prompt, None), (prompt | {"text": "second"}, "any"),
                            (later | {"text": "third", "system_prompt": "x" * 131_049}, "too_long"),
                            (later | {"system_prompt": "x" * 131_048}, None)):
            await client.say(frame)
            answer = {"type": "ack"}
            while answer["type"] not in ("response", "error"):
                answer = await client.receive()
            actual = "any" if code == "any" and answer["type"] == "error" else answer.get("code")
            check(f"code and key of the answer {answer}", (code, frame["idempotency_key"]), (
                actual, answer.get("idempotency_key")))
        await client.socket.close()
        check("runs of the handler for two accepted prompts", [digest("first")] * 2, self.ran())

    async def histories(self):
        """Reads each conversation from its beginning in both versions, and compares the results."""
        whole = {}
        for client in self.clients:
            await client.catch_up(client.seen)
        for version in ("0.4.0", "0.5.0"):
            reader = Client(self, 9)
            reader.version, reader.is_keyed = version, True
            await reader.catch_up([c.id for c in self.conversations if not c.is_new])
            for conversation in self.conversations:
                if conversation.is_new:
                    continue
                entries = reader.seen[conversation.id]
                order = sorted(entries, key=lambda name: entries[name][0])
                rows = [(name, *entries[name][1:]) for name in order]
                check("a history in both versions", whole.setdefault(conversation.id, rows), rows)
        for client in self.clients:
            for name, seen in client.seen.items():
                missing = {row[0] for row in whole[name]} - seen.keys()
                check_that(f"messages of a conversation that client {client.number} did not get",
                           not missing, "none", [r[1:] for r in whole[name] if r[0] in missing][:3])
        for conversation in self.conversations:
            self.judge(conversation, whole.get(conversation.id, []))

    def judge(self, conversation, rows):
        users = [text for _, role, text in rows if role == "user"]
        replies = {name: text for name, role, text in rows if role == "assistant"}
        for client in self.clients:
            prompts = [p for p in client.prompts if p.conversation is conversation]
            for prompt in prompts:
                if client.is_keyed:
                    check(f"times that {prompt.text} is in its history", 1, users.count(prompt.text))
                if prompt.answer[1]:
                    check_that(f"the answer to {prompt.text} in its history",
                               prompt.answer[0] in replies, prompt.answer[0], sorted(replies)[:3])
            if client.is_keyed:
                texts = [p.text for p in prompts]
                check(f"order of prompts of client {client.number}", texts,
                      [text for text in users if text in set(texts)])
        if not any(p.conversation is conversation and not p.key for c in self.clients for p in c.prompts):
            ran, sums = self.ran(), [digest(text) for text in users]
            check("order of the runs of a conversation", [s for s in sums if s in set(ran)],
                  [s for s in ran if s in set(sums)])

    def ran(self):
        with open(self.peer.path("ran"), encoding="ascii") as file:
            return file.read().split()

    def check_runs(self):
        ran = self.ran()
        for client in self.clients:
            for prompt in client.prompts:
                times = ran.count(digest(prompt.text))
                most = 1 if client.is_keyed else prompt.sends
                check_that(f"runs of the handler for {prompt.text}", times <= most and (
                    times or not prompt.answer[1]), f"1 to {most}", times)
        self.peer.count("prompts", sum(len(c.prompts) for c in self.clients))


def play(peer):
    async def run():
        world = World(peer)
        await world.entrances()
        await world.refusals()
        peer.end = time.monotonic() + peer.seconds
        tasks = [asyncio.create_task(world.play(client)) for client in world.clients]
        tasks.append(asyncio.create_task(world.kill()))
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        await world.histories()
        world.check_runs()

    asyncio.run(run())


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
