"""A phone of the relay, written from docs/relay.md, and assistants of the official SDK, for cluster_torture.py."""
import asyncio
import datetime
import json
import os
import time
import uuid
import warnings
import zlib

from peer import HANG, ROOT, check, check_that, end_with_parent, sdk

warnings.simplefilter("ignore", DeprecationWarning)
from websockets.exceptions import ConnectionClosed, InvalidHandshake  # noqa: E402
from websockets.legacy.client import connect  # noqa: E402

SCRIPT = os.path.join(ROOT, "Tests", "BackendTests", "MCP", "SDK", "assistant.py")
BAD = (OSError, ConnectionClosed, InvalidHandshake, asyncio.TimeoutError)
FIRST = datetime.datetime(2024, 1, 1)
ENDED = ("Session not found", "Session terminated")  # of a session that the server does not know
SIGNED_OUT = {"signed_out", "not_signed_in", "login_required", "unauthorized"}


def steps(start):
    """Returns the answer to the question that begins at a time. No two questions have the same one."""
    return zlib.crc32(start.encode()) % 1_000_000


class Phone:
    """A phone that keeps its pairing over all connections, and answers each question by its time."""

    def __init__(self, world):
        self.world, self.chance, self.device = world, world.peer.chance, str(uuid.uuid4())
        self.token, self.pair, self.has_assistants = None, None, False
        self.asked, self.connections, self.tasks = {}, 0, set()

    async def run(self):
        while True:
            try:
                await self.live()
            except BAD:
                pass
            await asyncio.sleep(self.chance.uniform(0.05, 0.3))

    async def live(self):
        fields = {"Holdfast-Device": self.device}
        if self.token:
            fields["Holdfast-Resume"] = self.token
        async with connect(f"ws://127.0.0.1:{self.world.front}/ws/phone", extra_headers=fields, open_timeout=HANG,
                           ping_interval=None, close_timeout=1, max_size=None) as socket:
            try:
                await self.greet(json.loads(await asyncio.wait_for(socket.recv(), HANG)))
                while True:
                    frame = json.loads(await asyncio.wait_for(socket.recv(), 80))
                    if frame["type"] == "connection_code":
                        self.pair = (frame["word"], frame["code"])
                    elif frame["type"].endswith("_request") and frame["type"] != "cancel_request":
                        self.spawn(self.answer(socket, frame))
            finally:
                for task in self.tasks:
                    task.cancel()
                self.pair = None
                if socket.transport:
                    socket.transport.abort()

    async def greet(self, frame):
        check("type of the first message to a phone", "connection_code", frame["type"])
        if self.has_assistants:
            check(f"resumed of a phone with assistants: {sorted(frame)}", (True, self.token), (
                frame.get("resumed"), frame.get("resume_token", self.token)))
        self.token = frame.get("resume_token", self.token)
        self.is_parted = frame.get("accepts_parts")
        self.pair = (frame["word"], frame["code"])
        self.connections += 1
        self.world.peer.count("connections of the phone")

    def spawn(self, work):
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def answer(self, socket, frame):
        check("type of a question", "health_data_request", frame["type"])
        name = frame.get("request_id")
        start = frame["payload"]["start_time"][:19]
        self.asked[start] = self.asked.get(start, 0) + 1
        if self.asked[start] > 1:
            self.world.peer.count("questions that came again")
        await asyncio.sleep(self.chance.choice([0, 0, 0.05, 0.5]))
        if self.chance.random() < 0.02:
            self.world.peer.count("sockets that the phone cut")
            return socket.transport.abort()
        point = {"type": "STEPS", "value": steps(start), "unit": "COUNT", "date_from": start, "date_to": start,
                 "source_id": None}
        data = {"success": True, "count": 1, "value_type": "STEPS", "start_time": start, "end_time": start,
                "health_data": [point]}
        try:
            if self.is_parted and self.chance.random() < 0.1:
                text = json.dumps(data)
                texts = [text[at:at + 100] for at in range(0, len(text), 100)]
                for index, part in enumerate(texts):
                    await socket.send(json.dumps({"type": "answer_part", "id": name, "kind": "health_data",
                                                  "index": index, "count": len(texts), "text": part}))
            else:
                await socket.send(json.dumps({"type": "health_data_response", "id": name, "health_data": data}))
        except ConnectionClosed:
            pass


class Assistant:
    """A process with one client of the SDK, whose session must last. Each call has one outcome."""

    def __init__(self, world, number, sends_token):
        self.world, self.chance, self.number, self.sends_token = world, world.peer.chance, number, sends_token
        self.token, self.child, self.calls, self.last, self.asked = None, None, {}, 0, 0
        self.is_over, self.is_lost, self.errors = False, False, []

    # The process

    async def start(self):
        peer = self.world.peer
        environment = {**os.environ, "NO_PROXY": "*", "no_proxy": "*", "PYTHONDONTWRITEBYTECODE": "1",
                       "HOLDFAST_BALANCER_DIES": "1"}
        self.child = await asyncio.create_subprocess_exec(
            sdk(), SCRIPT, f"http://127.0.0.1:{self.world.front}/mcp", "legacy", stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=peer.log, env=environment, limit=2**24, preexec_fn=end_with_parent)
        self.calls, self.last, self.is_lost = {}, 0, False
        first = await asyncio.wait_for(self.child.stdout.readline(), HANG)
        check_that("the SDK initializes a session", first, "a version", "its process ended")
        check("version of the SDK's session", "2025-11-25", json.loads(first)["version"])
        self.reader = asyncio.create_task(self.read())

    async def read(self):
        async for line in self.child.stdout:
            answer = json.loads(line)
            call = self.calls.pop(answer["id"], None)
            check_that(f"an outcome of call {answer['id']} of the SDK", call, "one", answer)
            call.set_result(answer)
        for call in self.calls.values():
            call.set_result({"failed": "the process of the SDK ended"})

    async def call(self, tool, arguments):
        self.last += 1
        number, future = self.last, asyncio.get_running_loop().create_future()
        self.calls[number] = future
        line = {"id": number, "do": "call", "tool": tool, "arguments": arguments}
        self.child.stdin.write(json.dumps(line).encode() + b"\n")
        try:
            answer = await asyncio.wait_for(asyncio.shield(future), HANG)
        except asyncio.TimeoutError:
            check(f"outcome of {tool} {arguments}", f"one within {HANG} s", "none")
        if any(text in answer.get("failed", "") for text in ENDED):
            self.is_lost = True
        return answer

    async def end(self):
        if self.child and self.child.returncode is None:
            self.child.kill()
            await self.child.wait()

    # Logins and questions

    async def enter(self, phone):
        """Begins a session. Signs in if it is the first one, or if only the session knew of the login."""
        await self.end()
        await self.start()
        if self.token and self.sends_token:
            return
        limit, used = time.monotonic() + HANG, None
        while True:
            check_that("a login with the pair that the phone shows", time.monotonic() < limit, f"within {HANG} s", used)
            pair = phone.pair
            if pair is None or pair == used:
                await asyncio.sleep(0.05)
                continue
            used = pair
            answer = await self.call("direct_login", {"word": pair[0], "code": pair[1]})
            if (answer.get("structured") or {}).get("success"):
                break
            self.world.peer.count("logins that failed")
        self.token, phone.has_assistants = answer["structured"]["access_token"], True
        self.world.peer.count("logins")

    async def run(self):
        """Asks until it is told to end. Sometimes asks several questions at once."""
        while not self.is_over and not self.is_lost:
            number = self.chance.choice([1, 1, 1, 3])
            await asyncio.gather(*(self.ask() for _ in range(number)))
            await asyncio.sleep(self.chance.uniform(0, 0.2))

    async def ask(self):
        world = self.world
        self.asked += 1
        minutes = self.asked * 10 + self.number
        start = (FIRST + datetime.timedelta(minutes=minutes)).isoformat()
        end = (FIRST + datetime.timedelta(minutes=minutes + 1)).isoformat()
        arguments = {"value_type": "STEPS", "start_time": start, "end_time": end}
        if self.sends_token:
            arguments["access_token"] = self.token
        begun, answer = time.monotonic(), await self.call("get_health_metrics", arguments)
        world.peer.count("questions")
        if "failed" in answer:
            check_that(f"error of the SDK for a call: {answer}", answer["failed"], "a text", answer)
            return self.fail(answer["failed"][:60], begun)
        told = answer.get("structured") or {}
        if answer["isError"]:
            check_that(f"a refusal of a call: {answer}", told.get("success") is False and told.get("error") and
                       told.get("message"), "success false, error and message", told)
            check_that(f"a refusal of an assistant that is signed in: {told}", told["error"] not in SIGNED_OUT,
                       "another one", told["error"])
            return self.fail(told["error"], begun)
        check(f"answer to the question of {start}", [(start, steps(start))], [
            (point["date_from"], point["value"]) for point in told["healthData"]])
        return world.answered(("questions", self.number), begun)

    def fail(self, what, begun):
        self.errors.append((what, begun, time.monotonic()))
        self.world.peer.count(f"refusals: {what}")
