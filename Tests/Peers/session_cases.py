"""Scripts for a plain session server that repeats known answers to `holdfast session`.

The answers of a plain server do not name their prompts. Each case sends frames in an order that the
original system's contract allows. Each prompt must arrive once and show its own answer. If its end
cannot be proven ("A server without keys" in docs/session.md), it is unsure and the status is 1.
"""
import asyncio
import json
import signal
import uuid
import warnings

from peer import HANG, Broken, check, end_with_parent, main

warnings.simplefilter("ignore", DeprecationWarning)
from websockets.exceptions import ConnectionClosed  # noqa: E402
from websockets.legacy.server import serve  # noqa: E402

STAMP = "2026-01-18T20:00:00Z"


# A prompt is unsure after this time-out without an event. Cases where none is have a longer one.
UNSURE_AFTER = 30


class Server:
    """A plain 0.4 server that answers each prompt. Cases change its frames and their order."""

    unproven = ()  # the prompts whose end cannot be proven

    def __init__(self):
        self.history, self.responses, self.prompts = [], [], []
        self.connections, self.conversation, self.is_shown = 0, None, asyncio.Event()

    async def say(self, link, **frame):
        await link.send(json.dumps(frame))

    def add(self, role, text):
        self.history.append({
            "uuid": str(uuid.uuid4()), "role": role, "text": text, "timestamp": STAMP,
            "session_id": self.conversation, "seq": len(self.history) + 1})
        return self.history[-1]

    def answer(self, text):
        """Adds the answer to the history, and returns its response."""
        entry = self.add("assistant", f"answer to {text}")
        self.responses.append({
            "type": "response", "message_id": entry["uuid"], "success": True,
            "text": entry["text"], "session_id": self.conversation})
        return self.responses[-1]

    async def window(self, link, begin):
        await self.say(link, type="session_history", session_id=self.conversation,
                       messages=self.history[begin:], first_seq=begin + 1,
                       last_seq=len(self.history), next_seq=len(self.history) + 1,
                       is_complete=True)

    async def serve(self, link):
        self.connections += 1
        number = self.connections
        try:
            await self.say(link, type="hello", message="", version="0.4.0", auth_version=1,
                           instructions="")
            async for text in link:
                await self.take(link, number, json.loads(text))
        except ConnectionClosed:
            pass

    async def take(self, link, number, frame):
        kind = frame["type"]
        if kind == "connect":
            await self.say(link, type="connected", message="", session_id=frame["session_id"],
                           negotiated_protocol_version="0.4.0")
            await self.connected(link, number)
        elif kind == "ping":
            await self.say(link, type="pong")
        elif kind == "set_max_message_size":
            await self.say(link, type="ack", message="set")
        elif kind == "subscribe":
            await self.window(link, frame["last_seq"])
        elif kind == "prompt":
            self.conversation = frame.get("new_session_id") or frame["resume_session_id"]
            self.prompts.append(frame["text"])
            self.add("user", frame["text"])
            await self.say(link, type="ack", message="Processing prompt")
            await self.prompt(link, number, frame["text"])

    async def connected(self, link, number):
        pass

    async def prompt(self, link, number, text):
        await asyncio.sleep(0.3)
        await self.say(link, **self.answer(text))


class Twice(Server):
    """an answer comes again while the next prompt is under way"""

    async def prompt(self, link, number, text):
        for response in self.responses:
            await self.say(link, **response)
        await super().prompt(link, number, text)


class Shared(Server):
    """another client's prompt is answered between two of this one"""

    async def prompt(self, link, number, text):
        await super().prompt(link, number, text)
        if text == "one":
            self.add("user", "other")
            response = self.answer("other")
            await self.window(link, len(self.history) - 2)
            await self.say(link, **response)


class Late(Server):
    """an answer comes by the history of the next connection, and then as a response"""

    unproven = ("one",)

    async def prompt(self, link, number, text):
        if number == 1:
            self.answer(text)
            link.transport.abort()
            return
        if len(self.prompts) == 2:
            await self.say(link, **self.responses[0])
        await super().prompt(link, number, text)


class Replayed(Server):
    """an answer that was shown is replayed, and the next prompt was lost with its connection"""

    async def connected(self, link, number):
        for response in self.responses:
            await self.say(link, type="replay", message_id=response["message_id"], message={
                "role": "assistant", "text": response["text"], "timestamp": STAMP,
                "session_id": self.conversation})

    async def prompt(self, link, number, text):
        await super().prompt(link, number, text)
        if number == 1:
            link.transport.close()
            await asyncio.sleep(1)  # frames that the client sends in this time are lost


class Killed(Server):
    """an answer is shown from the history, and the client is killed before the response"""

    unproven = ("one",)

    async def prompt(self, link, number, text):
        if number > 1:
            return await super().prompt(link, number, text)
        self.answer(text)
        await self.window(link, len(self.history) - 2)
        await asyncio.sleep(5)
        return None


async def run(peer, url, folder, prompts, shown, states, answer_timeout, is_killed=False):
    """Runs the client once, and returns its exit status, or None if it was killed."""
    child = await asyncio.create_subprocess_exec(
        peer.program, "session", "--server", url, "--key-file", peer.path("key"), "--data",
        folder, "--once", "--json", "--answer-timeout", f"{answer_timeout}s", stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=peer.log, preexec_fn=end_with_parent)
    child.stdin.write("".join(prompt + "\n" for prompt in prompts).encode())
    child.stdin.close()

    async def read():
        async for line in child.stdout:
            event = json.loads(line)
            if event["event"] == "prompt":
                states[event["text"]] = event["state"]
            if event["event"] == "message" and event["role"] == "assistant":
                shown.append(event["text"])
                if is_killed:
                    await asyncio.sleep(0.5)  # until the client has stored that it was shown
                    return
        await child.wait()

    try:
        await asyncio.wait_for(read(), HANG)
    except asyncio.TimeoutError:
        pass
    if child.returncode is None:
        child.send_signal(signal.SIGKILL)
        await child.wait()
        return None
    return child.returncode


async def play_case(peer, case, prompts):
    server, shown, states, first = case(), [], {}, {}
    listener = await serve(server.serve, "127.0.0.1", 0, ping_interval=None, close_timeout=1)
    url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    folder, prompts_left = peer.path(case.__name__), prompts
    answer_timeout = UNSURE_AFTER if case.unproven else HANG
    if case is Killed:
        await run(peer, url, folder, prompts, shown, first, answer_timeout, True)
        prompts_left = []
    before = list(shown)
    code = await run(peer, url, folder, prompts_left, shown, states, answer_timeout)
    listener.close()
    if case is Killed and shown[len(before):] == before:  # it was killed before it had stored what it showed
        shown = before
    check(f"where {case.__doc__}: prompts that came, answers shown",
          (prompts, [f"answer to {prompt}" for prompt in prompts]), (
              server.prompts, [text for text in shown if text != "answer to other"]))
    ends = {prompt: "unsure" if prompt in case.unproven else "answered" for prompt in prompts}
    check(f"where {case.__doc__}: states of the prompts, exit status",
          (ends, 1 if case.unproven else 0), (states, "it runs" if code is None else code))


def play(peer):
    peer.write("key", "untethered-" + "0123456789abcdef" * 2)
    cases = [(Server, ["one", "two"]), (Twice, ["one", "two"]), (Shared, ["one", "two"]), (Late, ["one", "two"]),
             (Replayed, ["one", "two"]), (Killed, ["one"])]

    async def play_all():
        return await asyncio.gather(*(play_case(peer, *case) for case in cases),
                                    return_exceptions=True)

    outcomes = asyncio.run(play_all())
    for outcome in outcomes:
        if outcome is not None and not isinstance(outcome, Broken):
            raise outcome
    peer.count("cases", outcomes.count(None))
    broken = [outcome for outcome in outcomes if outcome is not None]
    if broken:
        raise Broken.of(broken)


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
