"""A plain session server for `holdfast session`: 0.4 and 0.5, without idempotency keys.

It delays, repeats and reorders frames as far as the original system's contract allows, answers
acknowledgements with errors as the original does, loses its memory, crashes and restarts. A prompt
whose end cannot be proven may be unsure, and then the exit status is 1.
"""
import asyncio
import hashlib
import http
import json
import signal
import time
import uuid
import warnings

from peer import SHORT_WAITS, Broken, check, check_that, end_with_parent, main

warnings.simplefilter("ignore", DeprecationWarning)
from websockets.exceptions import ConnectionClosed  # noqa: E402
from websockets.legacy.server import serve  # noqa: E402

KEY = "untethered-" + "0123456789abcdef" * 2
# A prompt is unsure at the latest --answer-timeout after its last event.
PATIENCE = 330
ENDS = ("answered", "unsure")


def answer_to(text):
    return f"answer {hashlib.sha256(text.encode()).hexdigest()[:20]}\nto {text[:40]}"


class Conversation:
    """A history of prompts and answers. A compaction changes its offsets."""

    def __init__(self, name, chance):
        self.name, self.chance, self.entries, self.generation = name, chance, [], 0

    def append(self, role, text, name=None):
        self.entries.append({"uuid": name or str(uuid.uuid4()), "role": role, "text": text,
                             "session_id": self.name, "timestamp": time.strftime(
                                 "%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        return self.entries[-1]

    def offset(self, index):
        """Returns the number of bytes before an entry. A compaction shortens each entry."""
        size = 100 - min(self.generation, 9) * 10
        return sum(size + len(entry["text"].encode()) for entry in self.entries[:index])

    def signature(self):
        first = self.entries[0]["uuid"] if self.entries else "none"
        return f"{self.offset(len(self.entries))}:{first}"

    def window(self, version, begin, end, is_whole):
        """Returns the envelope of the entries from begin to end."""
        frame = {"type": "session_history", "session_id": self.name}
        if version == "0.4.0":
            frame["messages"] = [entry | {"seq": index + 1} for index, entry in enumerate(
                self.entries[begin:end], begin)]
            if begin < end:
                frame |= {"first_seq": begin + 1, "last_seq": end}
            else:
                frame["last_seq"] = begin
            return frame | {"next_seq": len(self.entries) + 1, "is_complete": is_whole}
        frame["messages"] = [entry | {"offset": self.offset(index)} for index, entry in enumerate(
            self.entries[begin:end], begin)]
        return frame | {"next_offset": self.offset(end), "end_of_file": is_whole,
                        "file_signature": self.signature()}


class Prompt:
    def __init__(self, text, conversation):
        self.text, self.conversation = text, conversation
        self.receipts, self.answers = 0, 0
        self.acked_at, self.acked_on = None, None
        self.links, self.responses = [], []


class Link:
    """One connection of the client."""

    def __init__(self, server, socket):
        self.server, self.socket, self.chance = server, socket, server.peer.chance
        self.is_in, self.sent, self.lanes, self.subscribed = False, {}, {}, {}
        self.ended_at, self.read_until = None, 0

    async def probe(self):
        """Notes until when the client has surely read: it answers a ping after all that was sent before it."""
        try:
            while True:
                sent = time.monotonic()
                await (await self.socket.ping())
                self.read_until = sent
                await asyncio.sleep(0.1)
        except ConnectionClosed:
            pass

    async def say(self, frame, lane=None):
        """Sends a frame, possibly late. Frames of the same lane keep their order."""
        if lane is not None and not self.server.is_calm:
            async with self.lanes.setdefault(lane, asyncio.Lock()):
                await asyncio.sleep(self.chance.choice([0, 0, 0, 0.01, 0.1]))
                return await self.say(frame)
        if "message_id" in frame:
            self.sent.setdefault(frame["message_id"], time.monotonic())
            self.server.sent.add(frame["message_id"])
        try:
            self.server.note(self, ">", frame)
            await self.socket.send(json.dumps(frame | {"stranger": [1, {"a": None}]}, ensure_ascii=(
                self.chance.random() < 0.5)))
        except ConnectionClosed:
            pass
        return None

    def later(self, frame, lane):
        self.server.spawn(self.say(frame, lane))
        if not self.server.is_calm and lane in ("response", "history") and (
                self.server.peer.draws("doubles", 0.2)):
            self.server.peer.count("doubles")
            self.server.spawn(self.say(frame, lane + " again"))

    async def serve(self):
        server = self.server
        await self.say({"type": "hello", "message": "Welcome", "version": server.version,
                        "auth_version": 1, "instructions": "Send connect"})
        async for text in self.socket:
            if self.ended_at is not None:
                return
            frame = json.loads(text)
            server.note(self, "<", frame)
            await self.take(frame)

    async def take(self, frame):
        server, kind = self.server, frame["type"]
        if not self.is_in:
            check("first message of a client", "connect", kind)
            check("api_key of connect", KEY, frame.get("api_key"))
            server.session = server.session or frame["session_id"]
            check("session_id over all connections", server.session, frame["session_id"])
            await asyncio.sleep(self.chance.choice([0, 0, 0.2]) * (not server.is_calm))
            await self.say({"type": "connected", "message": "Session registered",
                            "session_id": frame["session_id"],
                            "negotiated_protocol_version": server.version})
            self.is_in = True
            await self.say({"type": "session_list", "sessions": [], "total_count": 0})
            for response in list(server.undelivered.values()):
                if "replays" in server.peer.without and response["message_id"] in server.sent:
                    continue
                entry = {"role": "assistant", "text": response["text"], "timestamp": time.strftime(
                    "%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "session_id": response["session_id"]}
                server.peer.count("replays")
                self.later({"type": "replay", "message_id": response["message_id"],
                            "message": entry}, "response")
        elif kind == "ping":
            await self.say({"type": "pong"})
        elif kind == "prompt":
            await self.prompt(frame)
        elif kind == "message_ack":
            name = frame["message_id"]
            check_that("message_ack of a message of this server", name in server.names, "known", name)
            server.acked.add(name)
            if self.chance.random() < 0.9 or server.is_calm:
                server.undelivered.pop(name, None)
            if server.is_original:
                self.later({"type": "error", "message": "Unknown message type: message_ack"}, "error")
        elif kind == "subscribe":
            await self.subscribe(frame)
        elif kind == "unsubscribe":
            self.subscribed.pop(frame["session_id"], None)
        elif kind == "set_max_message_size":
            await self.say({"type": "ack", "message": "Maximum set"})
        elif kind != "disconnect":
            await self.say({"type": "error", "message": f"Unknown message type: {kind}"})

    async def prompt(self, frame):
        server = self.server
        name = frame.get("new_session_id") or frame["resume_session_id"]
        check_that("new_session_id or resume_session_id", not (
            "new_session_id" in frame and "resume_session_id" in frame), "one", frame)
        conversation = server.conversations.setdefault(name, Conversation(name, self.chance))
        self.subscribed.setdefault(name, None)
        prompt = server.receive(frame["text"], conversation)
        prompt.links.append(self)
        conversation.append("user", frame["text"])
        server.push(conversation)
        server.spawn(self.accept(prompt))

    async def accept(self, prompt):
        """Acknowledges and answers a prompt. A prompt lost before its ack is sent again."""
        server = self.server
        await asyncio.sleep(self.chance.choice([0, 0.02, 0.2]) * (not server.is_calm))
        if self.ended_at is None:
            prompt.acked_at, prompt.acked_on = time.monotonic(), self
            await self.say({"type": "ack", "message": "Processing prompt"})
        await asyncio.sleep(self.chance.choice([0, 0.02, 0.2, 0.6]) * (not server.is_calm))
        name = str(uuid.uuid4())
        entry = prompt.conversation.append("assistant", answer_to(prompt.text), name)
        prompt.answers += 1
        server.names.add(name)
        prompt.responses.append(name)
        response = {"type": "response", "message_id": name, "success": True, "text": entry["text"],
                    "session_id": prompt.conversation.name}
        server.undelivered[name] = response
        is_early = server.peer.draws("early-histories", 0.5)
        if is_early:
            server.push(prompt.conversation)
        for link in server.links:
            if link.is_in:
                link.later(response, "response")
        if not is_early:
            server.push(prompt.conversation, "response")
        for link in server.links:
            if link.is_in:
                link.later({"type": "turn_complete", "session_id": prompt.conversation.name},
                           "response")

    async def subscribe(self, frame):
        server, name = self.server, frame["session_id"]
        conversation = server.conversations.setdefault(name, Conversation(name, self.chance))
        self.subscribed[name] = None
        replaced = False
        if server.version == "0.4.0":
            begin = frame["last_seq"]
            check_that("last_seq", begin <= len(conversation.entries), len(conversation.entries), begin)
        else:
            cursor = frame["from_offset"]
            places = [conversation.offset(i) for i in range(len(conversation.entries) + 1)]
            if cursor not in places:
                replaced, cursor = True, 0
                server.is_replaced = True
                server.peer.count("replaced files")
            begin = places.index(cursor)
        length = len(conversation.entries)
        end = length if server.is_calm else min(length, begin + self.chance.choice([1, 3, 100]))
        window = conversation.window(server.version, begin, end, end == length)
        if replaced:
            window["file_replaced"] = True
        self.later(window, "history")

    def live(self, conversation, lane=None):
        """Pushes the newest entry in a window of one message, after the frames of a lane."""
        if conversation.name in self.subscribed:
            length = len(conversation.entries)
            if lane is None:  # 0.4 specifies how a client handles a gap
                lane = "history" if self.server.version == "0.5.0" else self.chance.choice(
                    ["history", "live"])
            self.later(conversation.window(self.server.version, length - 1, length, True), lane)


class Server:
    def __init__(self, peer):
        self.peer, self.chance = peer, peer.chance
        self.version = self.chance.choice(["0.4.0", "0.5.0"])
        self.is_original = self.chance.random() < 0.5  # does not support message_ack
        self.is_forgetful = self.chance.random() < 0.5  # keeps undelivered responses only in memory
        self.conversations, self.prompts, self.order = {}, {}, []
        self.names, self.acked, self.due, self.undelivered = set(), set(), set(), {}
        self.sent, self.is_replaced = set(), False
        self.links, self.tasks, self.broke = set(), set(), asyncio.Event()
        self.wire = open(peer.path("wire"), "a", encoding="utf-8")
        self.session, self.broken, self.port, self.listener = None, None, 0, None

    @property
    def is_calm(self):
        return self.peer.is_over()

    def note(self, link, way, frame):
        self.wire.write(f"{time.time():.3f} {id(link) % 9973} {way} {json.dumps(frame)[:300]}\n")
        self.wire.flush()

    def spawn(self, work):
        task = asyncio.get_running_loop().create_task(self.guard(work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def guard(self, work):
        try:
            await work
        except Broken as broken:
            self.find(broken)

    def find(self, broken):
        self.broken = self.broken or broken
        self.broke.set()

    def receive(self, text, conversation):
        """Records a prompt's arrival. A prompt that was accepted must not arrive again."""
        prompt = self.prompts.get(text)
        if prompt is None:
            prompt = self.prompts[text] = Prompt(text, conversation)
            self.order.append(text)
        else:
            link = prompt.acked_on
            gone = min(link.ended_at or time.monotonic(), link.read_until) if link else 0
            check_that(f"a prompt whose acceptance was read {gone - (prompt.acked_at or gone):.1f} s before "
                       "its connection ended", link is None or gone - prompt.acked_at < 1,
                       "not sent again", text)
            self.peer.count("sent again")
        open_ = [p.text for p in self.prompts.values() if not p.answers and p is not prompt
                 and p.conversation is conversation]
        check("other prompts of the conversation without an answer", [], open_)
        prompt.receipts += 1
        return prompt

    def push(self, conversation, lane=None):
        for link in self.links:
            link.live(conversation, lane)

    async def greet(self, socket):
        link = Link(self, socket)
        self.links.add(link)
        self.peer.count("connections")
        try:
            probe = asyncio.create_task(link.probe())
            await link.serve()
        except ConnectionClosed:
            pass
        except Broken as broken:
            self.find(broken)
        finally:
            probe.cancel()
            link.ended_at = link.ended_at or time.monotonic()
            self.links.discard(link)
            # Frames that were read 2 s before the end have been stored and acknowledged.
            read_until = min(link.ended_at, link.read_until)
            self.due.update(name for name, at in link.sent.items() if at < read_until - 2)

    async def request(self, path, headers):
        if path == "/healthz":
            return http.HTTPStatus.OK, [], b"ok\n"
        if not self.is_calm and self.chance.random() < 0.1:
            self.peer.count("refusals")
            return http.HTTPStatus.SERVICE_UNAVAILABLE, [("Retry-After", "0")], b""
        return None

    async def start(self):
        self.listener = await serve(self.greet, "127.0.0.1", self.port, process_request=self.request,
                                    ping_interval=None, max_size=None, close_timeout=1)
        self.port = self.listener.sockets[0].getsockname()[1]

    def cut(self):
        for link in list(self.links):
            link.ended_at = time.monotonic()
            link.socket.transport.abort()

    async def die(self):
        """Crashes and restarts. Histories are on disk, and running prompts run again."""
        self.peer.count("deaths")
        self.listener.close()
        self.cut()
        for conversation in self.conversations.values():
            if self.chance.random() < 0.3:
                conversation.generation += 1
        if self.is_forgetful:
            self.undelivered.clear()
        await asyncio.sleep(self.chance.uniform(0.05, 1))
        await self.start()

    async def drain(self):
        for link in list(self.links):
            await link.say({"type": "draining", "message": "Restart", "retry_after_ms": 100,
                            "window_ms": 500})
        self.peer.count("drains")

    async def trouble(self):
        while not self.is_calm:
            await asyncio.sleep(self.chance.uniform(0.1, 2.5))
            if self.is_calm or self.chance.random() < 0.4:
                self.peer.count("cuts")
                self.cut()
            elif self.chance.random() < 0.7:
                await self.die()
            else:
                await self.drain()


class Phone:
    """The runs of `holdfast session` and their output."""

    def __init__(self, peer, server):
        self.peer, self.server, self.chance = peer, server, peer.chance
        self.key = peer.write("key", KEY)
        self.written, self.lost, self.runs, self.shown, self.states = [], set(), 0, {}, {}
        self.unsure, self.ended, self.heard = [], {}, 0

    async def run(self, count, kill_after):
        """Runs the client with new prompts. Returns its exit status, or None if it was killed."""
        self.runs += 1
        self.ended, self.heard = {}, time.monotonic()
        prompts = [f"prompt {len(self.written) + n} of seed {self.peer.seed} " + self.chance.choice(
            ["", "é\u2028", "x" * 3000, '"{}[]', "same words"]) for n in range(count)]
        self.written += prompts
        child = await asyncio.create_subprocess_exec(
            self.peer.program, "session", "--server", f"http://127.0.0.1:{self.server.port}",
            "--key-file", self.key, "--data", self.peer.path("phone"), "--once", "--json",
            "--answer-timeout", "15s" if self.peer.seconds < 60 else "5m",
            "--set", "retry.breaker=off", *SHORT_WAITS,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=self.peer.log,
            limit=2**24, preexec_fn=end_with_parent)
        reader = asyncio.create_task(self.read(child.stdout))
        try:
            child.stdin.write("".join(prompt + "\n" for prompt in prompts).encode())
            child.stdin.close()
        except ConnectionError:
            pass
        ended, broke = (asyncio.ensure_future(e) for e in (child.wait(), self.server.broke.wait()))
        try:
            done = set()
            while not done:
                left = kill_after or self.heard + PATIENCE - time.monotonic()
                if left <= 0:
                    break
                done, _ = await asyncio.wait([ended, broke], timeout=left,
                                             return_when=asyncio.FIRST_COMPLETED)
                if kill_after:
                    break
            if self.server.broken:
                raise self.server.broken
            if not done and kill_after is None:
                self.judge_open()
            self.peer.count("kills", not done)
        finally:
            broke.cancel()
            if child.returncode is None:
                child.send_signal(signal.SIGKILL)
                await ended
            await reader
        if child.returncode == -signal.SIGKILL:
            self.lost.update(prompts)  # the client may not have read the pipe
            return None
        self.judge_end(child.returncode)
        return child.returncode

    def judge_end(self, code):
        """Checks that each prompt was answered, in this run or an earlier one, if the status is 0."""
        failed = {text[:60]: state for text, state in self.ended.items() if state not in ENDS}
        check("prompts that failed although the server refuses none", {}, failed)
        if code == 0:
            # A killed run may lose prompts that it had not stored. Prompts that were sent were
            # stored.
            left = {text[:60]: self.states.get(text, "unread") for text in self.written
                    if self.states.get(text) not in ENDS and (
                        text not in self.lost or self.states.get(text) in ("sent", "accepted"))}
            left |= {text[:60]: state for text, state in self.ended.items() if state == "unsure"}
            check("prompts without an answer, and status 0", {}, left)

    def judge_open(self):
        """Reports the prompt that keeps a run from ending."""
        shown = {events[0][1].get("text") for events in self.shown.values()}
        for text, state in self.states.items():
            if state == "accepted":
                came = "came" if text in self.server.prompts else "never came to the server"
                seen = "was" if answer_to(text) in shown else "was not"
                raise Broken(f"state {PATIENCE} s after the last event, of {text[:40]!r}, which {came} and whose answer "
                             f"{seen} shown", "answered or unsure", state)
        raise Broken("session --once ends", f"within {PATIENCE} s of the last event", {
            text[:40]: state for text, state in self.states.items() if state not in ENDS})

    async def read(self, stream):
        async for line in stream:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            self.take(event)

    def take(self, event):
        with open(self.peer.path("events"), "a", encoding="utf-8") as file:
            file.write(f"{self.runs} {json.dumps(event)}\n")
        self.heard = time.monotonic()
        if event.get("event") == "prompt":
            text, state = event["text"], event["state"]
            self.states[text] = state
            if state in ("failed", "interrupted", *ENDS):
                self.ended[text] = state
            if state == "unsure" and text not in self.unsure:
                self.unsure.append(text)
                self.peer.count("unsure")
        if event.get("event") == "message":
            self.shown.setdefault(event["id"], []).append((self.runs, event))


def judge(server, phone):
    """Checks that each prompt has its own answer, in order, and that nothing was shown twice."""
    kills = phone.peer.counts.get("kills", 0)
    repeated = [runs for runs in phone.shown.values() if len(runs) > 1]
    check_that("messages that were shown twice", len(repeated) <= kills, f"{kills} at most, one for "
               "each kill", [[(run, e.get("text", "")[:60]) for run, e in r] for r in repeated][:3])
    arrived = [text for text in phone.written if text in server.prompts]
    check("order in which prompts came", arrived, server.order)
    unsure = set(phone.unsure)
    missing = [t for t in phone.written
               if t not in server.prompts and t not in phone.lost and t not in unsure]
    check("prompts that never came", [], missing)
    texts = [events[0][1].get("text", "") for events in phone.shown.values()]
    for text, prompt in server.prompts.items():
        check_that(f"answers to {text[:60]!r}", texts.count(answer_to(text)) in range(
            1, prompt.receipts + 1), f"1 to {prompt.receipts}", texts.count(answer_to(text)))
    phone.peer.count("prompts", len(server.prompts))
    judge_unsure(server, phone.unsure)
    # A response is acknowledged once its prompt is known. A crash can prevent this.
    excused = {name for text in unsure & server.prompts.keys()
               for name in server.prompts[text].responses}
    check("responses that were not acknowledged", set(), server.due - server.acked - excused)


def judge_unsure(server, unsure):
    """Checks that the first unsure prompt had no response 2 s before its own connection ended.

    From then on, its turn may be open, and later ends may belong to it. The same is true of the
    ends of turns that a replaced file shows again.
    """
    first = server.prompts.get(unsure[0]) if unsure else None
    if first is None or server.is_replaced or first.receipts > 1:
        return
    now = time.monotonic()
    for link in first.links:
        for name in first.responses:
            at, end = link.sent.get(name), link.ended_at or now
            check_that(f"state of {first.text[:60]!r}, whose response was sent on its own connection",
                       at is None or end - at < 2, "answered", "unsure")


def play(peer):
    async def run():
        server = Server(peer)
        await server.start()
        phone = Phone(peer, server)
        trouble = asyncio.create_task(server.trouble())
        try:
            while True:
                is_last = server.is_calm
                is_killed = not server.is_calm and peer.chance.random() < 0.4
                code = await phone.run(0 if is_last else peer.chance.randint(0, 12),
                                       peer.chance.uniform(0.1, 3) if is_killed else None)
                if server.broken:
                    raise server.broken
                # A run ends with 1 or 6 if the server refused, or was unavailable in six attempts.
                is_unsure = "unsure" in phone.ended.values()
                check_that("exit status of session --once", code in ((1 if is_unsure else 0,)
                           if is_last else (0, 1, 6, None)), "0, or 1 if one is unsure", code)
                if is_last and code == 0:
                    break
        finally:
            trouble.cancel()
            server.cut()
        judge(server, phone)

    asyncio.run(run())


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
