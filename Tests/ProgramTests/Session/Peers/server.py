"""A session server of another maker, based on the `websockets` library.

    server.py PORT OPTIONS

OPTIONS is a JSON object:
  key        the key that it accepts
  dialect    "original": like the original's server, with its mistakes (no message_id, no keys,
             every message_ack causes an error, the history has its own ids); "kept": with keys,
             message ids and replay until message_ack (the default)
  version    "0.4.0" or "0.5.0" (the default)
  challenge  whether it requests a proof of the key
  compress   whether it offers compression
  plan       a list with one entry for each connection; the last entry also applies to all later
             connections; an entry can contain
               forget    a list of messages that are never sent: "hello", "connected", "pong"
               cut       end the connection without a close frame at "prompt" (before the prompt is
                         accepted), "ack" (accepted, but no ack sent), or "response" (answered and
                         stored, but not sent)
               close     close with this code after `connected`
               drain     send `draining`, then close with 1001
               heartbeat send a heartbeat immediately, with a clock that is this many seconds ahead
               refuse    answer the upgrade with this status
               error     [code, times]: refuse this number of prompts with an error of this code
               fail      answer prompts with `success` false and this error text
               garbage   texts that are sent after `connected`
               outdated  refuse each `connect`, because this version is required
The server prints events as JSON lines: listening, refused, opened, got, ran, ended.
"""
import asyncio
import hashlib
import hmac
import json
import sys
import uuid
from datetime import datetime, timedelta, timezone

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

port, options = int(sys.argv[1]), json.loads(sys.argv[2])
KEY = options.get("key", "untethered-" + "0" * 32)
ORIGINAL = options.get("dialect", "kept") == "original"
VERSION = options.get("version", "0.5.0")
PLAN = options.get("plan") or [{}]

connections = 0
histories = {}     # conversation -> entries
results = {}       # idempotency key -> response
undelivered = {}   # client -> list of (message id, response)
faults = {}        # plan entry -> prompts refused so far


def say(**what):
    print(json.dumps(what), flush=True)


def now(offset=0.0):
    return (datetime.now(timezone.utc) + timedelta(seconds=offset)).isoformat()


class Cut(Exception):
    pass


class Session:
    def __init__(self, connection, number, plan):
        self.connection, self.number, self.plan = connection, number, plan
        self.client, self.subscribed, self.version = None, set(), "0.4.0"
        self.challenge = uuid.uuid4().hex if options.get("challenge") else None

    async def send(self, type, **members):
        if type in self.plan.get("forget", []):
            return
        await self.connection.send(json.dumps({"type": type, **members}))

    def cut(self, place):
        if self.plan.get("cut") == place:
            raise Cut()

    async def run(self):
        hello = {"message": "Welcome", "version": VERSION, "auth_version": 1,
                 "instructions": "Send connect"}
        if self.challenge:
            hello["challenge"] = self.challenge
        if not ORIGINAL:
            hello["features"] = ["idempotency"]
        await self.send("hello", **hello)
        async for text in self.connection:
            message = json.loads(text)
            shown = {name: value for name, value in message.items() if name != "api_key"}
            if len(text) > 2000:
                shown["text"] = f"{len(message.get('text', ''))} characters"
            say(event="got", connection=self.number, message=shown)
            if not await self.take(message):
                return

    def knows(self, message):
        if self.challenge and "challenge_response" in message:
            wanted = hmac.new(KEY.encode(), self.challenge.encode(), hashlib.sha256).hexdigest()
            return hmac.compare_digest(wanted, message["challenge_response"])
        return hmac.compare_digest(KEY, message.get("api_key", ""))

    async def take(self, message):
        kind = message.get("type")
        if kind == "ping":
            await self.send("pong")
        elif kind == "connect" and not self.knows(message) or self.client is None and kind != "connect":
            await self.send("auth_error", message="Authentication failed")
            await self.connection.close(1000)
            return False
        elif kind == "connect":
            return await self.connected(message)
        elif kind == "prompt":
            await self.prompt(message)
        elif kind == "subscribe":
            self.subscribed.add(message["session_id"])
            await self.history(message)
        elif kind == "set_max_message_size":
            await self.send("ack", message=f"Max message size set to {message['size_kb']}")
        elif kind == "message_ack" and not ORIGINAL:
            queue = undelivered.get(self.client, [])
            undelivered[self.client] = [one for one in queue if one[0] != message["message_id"]]
        elif kind != "disconnect":
            await self.send("error", message=f"Unknown message type: {kind}")
        return True

    async def connected(self, message):
        if "outdated" in self.plan:
            await self.send("error", code="unsupported_protocol_version",
                            required=self.plan["outdated"], received=message["protocol_version"],
                            message="Please upgrade")
            await self.connection.close(1000)
            return False
        self.client = message["session_id"]
        wanted = message.get("protocol_version", "0.4.0")
        self.version = min(wanted, VERSION)
        extra = {} if ORIGINAL else {"features": ["idempotency"]}
        await self.send("connected", message="Session registered", session_id=self.client,
                        negotiated_protocol_version=self.version, **extra)
        await self.send("session_list", sessions=[{"session_id": "x", "last_modified": 1732190000000}],
                        total_count=1)
        await self.send("recent_sessions", sessions=[], limit=5)
        await self.send("available_commands", working_directory="/")
        for text in self.plan.get("garbage", []):
            await self.connection.send(text)
        if "heartbeat" in self.plan:
            await self.send("heartbeat", timestamp=now(self.plan["heartbeat"]))
        if self.plan.get("drain"):
            await self.send("draining", message="stopping", retry_after_ms=100, window_ms=100)
            await self.connection.close(1001)
            return False
        if "close" in self.plan:
            await self.connection.close(self.plan["close"])
            return False
        for id, response in undelivered.get(self.client, []):
            if response["success"]:
                await self.send("replay", message_id=id, message={
                    "role": "assistant", "text": response["text"],
                    "session_id": response["session_id"], "timestamp": now()})
            else:
                await self.send("response", **response)
        return True

    async def prompt(self, message):
        conversation = message.get("new_session_id") or message["resume_session_id"]
        key = None if ORIGINAL else message.get("idempotency_key")
        self.cut("prompt")
        code, times = self.plan.get("error", ("", 0))
        if faults.get(self.number, 0) < times:
            faults[self.number] = faults.get(self.number, 0) + 1
            await self.send("error", message=f"refused: {code}", code=code,
                            session_id=conversation, **({"idempotency_key": key} if key else {}))
            return
        if key in results:
            await self.send("response", **results[key])
            return
        text = message["text"]
        say(event="ran", connection=self.number, text=text if len(text) < 200 else len(text), key=key)
        entries = histories.setdefault(conversation, [])
        known = key if key and not ORIGINAL else str(uuid.uuid4())
        fails = self.plan.get("fail")
        self.add(entries, known, "user", text, conversation)
        answer = str(uuid.uuid4())
        if fails is None:
            self.add(entries, answer, "assistant", f"echo {text}", conversation)
        response = {"success": fails is None, "session_id": conversation}
        response.update({"text": f"echo {text}"} if fails is None else {"error": fails})
        if not ORIGINAL:
            response.update({"message_id": answer, "idempotency_key": key})
            results[key] = response
            undelivered.setdefault(self.client, []).append((answer, response))
        self.cut("ack")
        await self.send("ack", message="Processing prompt...",
                        **({"idempotency_key": key} if key else {}))
        self.cut("response")
        if conversation in self.subscribed:
            for entry in entries[-2 if fails is None else -1:]:
                await self.window(conversation, [entry], True)
        await self.send("response", **response)
        await self.send("turn_complete", session_id=conversation)

    @staticmethod
    def add(entries, id, role, text, conversation):
        entries.append({"uuid": id, "role": role, "text": text, "timestamp": now(),
                        "session_id": conversation})

    async def history(self, message):
        conversation = message["session_id"]
        entries = histories.get(conversation, [])
        start = message.get("last_seq", message.get("from_offset", 0))
        part = entries[start:start + 3]
        await self.window(conversation, part, start + len(part) >= len(entries), start)

    async def window(self, conversation, part, complete, start=None):
        entries = histories.get(conversation, [])
        if start is None:
            start = entries.index(part[0])
        if self.version < "0.5.0":
            numbered = [{**entry, "seq": start + index + 1} for index, entry in enumerate(part)]
            place = {"next_seq": start + len(part) + 1, "is_complete": complete}
            if part:
                place.update(first_seq=start + 1, last_seq=start + len(part))
        else:
            numbered = [{**entry, "offset": start + index} for index, entry in enumerate(part)]
            first = entries[0]["uuid"] if entries else ""
            place = {"next_offset": start + len(part), "end_of_file": complete,
                     "file_signature": f"{len(entries)}:{first}"}
        await self.send("session_history", session_id=conversation, messages=numbered, **place)


plans = {}


def decide(connection, request):
    global connections
    connections += 1
    plan = PLAN[min(connections, len(PLAN)) - 1]
    plans[connection] = connections, plan
    if "refuse" in plan:
        say(event="refused", connection=connections)
        return connection.respond(plan["refuse"], "no\n")
    return None


async def handle(connection):
    number, plan = plans.pop(connection)
    say(event="opened", connection=number, path=connection.request.path,
        compressed="permessage-deflate" in connection.response.headers.get(
            "Sec-WebSocket-Extensions", ""))
    try:
        await Session(connection, number, plan).run()
    except Cut:
        connection.transport.abort()
    except ConnectionClosed:
        pass
    await connection.wait_closed()
    say(event="ended", connection=number, code=connection.close_code)


async def main():
    compression = "deflate" if options.get("compress", True) else None
    async with serve(handle, "127.0.0.1", port, process_request=decide, max_size=None,
                     compression=compression, open_timeout=600, ping_interval=None) as server:
        say(event="listening", port=server.sockets[0].getsockname()[1])
        await asyncio.get_running_loop().create_future()


asyncio.run(main())
