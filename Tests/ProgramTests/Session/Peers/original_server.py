"""The original session server on `websockets`: its protocol and, on request, its mistakes.

    original_server.py PORT KEY [--mistake NAME]... [--version 0.5.0] [--delay SECONDS]
                       [--cut N] [--plain] [--limit BYTES]

The response to each prompt is the text of the prompt. PORT 0 selects a free port. Mistakes:
  acks       `message_ack` causes an error, because the server expects `message-ack`
  ids        responses have no message_id
  replay     messages that were not acknowledged are forgotten
  connected  the first `connect` is not answered with `connected`
  type       an unreadable or unknown message ends the connection
Without mistakes, messages that were not acknowledged are replayed to their client's session_id.
--cut N ends the connection without a close frame after the ack of the N-th prompt. --plain refuses
compression.
The server prints events as JSON lines: listening, opened, got, ended.
"""
import argparse
import asyncio
import hmac
import json
import time
import uuid
from datetime import datetime, timezone

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("key")
parser.add_argument("--mistake", action="append", default=[],
                    choices=["acks", "ids", "replay", "connected", "type"])
parser.add_argument("--version", default="0.5.0")
parser.add_argument("--delay", type=float, default=0)
parser.add_argument("--cut", type=int, default=0)
parser.add_argument("--plain", action="store_true")
parser.add_argument("--limit", type=int, default=1 << 20)
options = parser.parse_args()

FLOOR = (0, 4, 0)
histories = {}  # conversation: entries
undelivered = {}  # session_id of connect: message id to message
subscribers = {}  # conversation: clients
counts = {"prompts": 0, "connects": 0}


def say(**what):
    print(json.dumps(what), flush=True)


def now():
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def version_of(text):
    try:
        parts = tuple(int(part) for part in text.split("."))
        return parts if len(parts) == 3 else FLOOR
    except (AttributeError, ValueError):
        return FLOOR


class Client:
    def __init__(self, connection):
        self.connection = connection
        self.session = None
        self.version = FLOOR
        self.limit = 100 * 1024

    async def send(self, type, **members):
        await self.connection.send(json.dumps({"type": type, **members}))

    async def take(self, message):
        """Handles one message. Returns False if the connection must be closed."""
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "ping":
            await self.send("pong")
        elif kind == "connect":
            return await self.connect(message)
        elif self.session is None:
            await self.send("auth_error", message="Authentication failed")
            return False
        elif kind == "prompt":
            await self.prompt(message)
        elif kind in ("message_ack", "message-ack"):
            if "acks" in options.mistake and kind == "message_ack":
                await self.send("error", message="Unknown message type: message_ack")
            undelivered.get(self.session, {}).pop(message.get("message_id"), None)
        elif kind == "set_max_message_size":
            self.limit = int(message["size_kb"]) * 1024
            await self.send("ack", message=f"Max message size set to {message['size_kb']} KB")
        elif kind == "subscribe":
            await self.subscribe(message)
        elif kind == "unsubscribe":
            subscribers.get(message["session_id"], set()).discard(self)
        elif kind == "kill_session":
            await self.send("session_killed", session_id=message["session_id"])
        else:
            await self.send("error", message=f"Unknown message type: {kind}")
            return "type" not in options.mistake
        return True

    async def connect(self, message):
        if not hmac.compare_digest(str(message.get("api_key")), options.key):
            await self.send("auth_error", message="Authentication failed")
            return False
        version = version_of(message.get("protocol_version"))
        if version < FLOOR:
            await self.send("error", code="unsupported_protocol_version", required="0.4.0",
                            received=message["protocol_version"], message="Please upgrade")
            return False
        self.version = min(version, version_of(options.version))
        self.session = message["session_id"]
        counts["connects"] += 1
        if "connected" in options.mistake and counts["connects"] == 1:
            return True
        await self.send("connected", message="Session registered", session_id=self.session,
                        negotiated_protocol_version=".".join(map(str, self.version)))
        listed = [dict(session_id=id, name=id[:8], working_directory="/tmp", provider="claude")
                  for id in histories]
        stamp = int(time.time() * 1000)
        await self.send("session_list", total_count=len(listed), sessions=[
            {**one, "last_modified": stamp, "message_count": len(histories[one["session_id"]])}
            for one in listed])
        await self.send("recent_sessions", limit=5,
                        sessions=[{**one, "last_modified": now()} for one in listed])
        await self.send("available_commands", project_commands=[], general_commands=[])
        for id, answer in list(undelivered.get(self.session, {}).items()):
            await self.send("replay", message_id=id, message=dict(
                role="assistant", text=answer["text"], session_id=answer["session_id"],
                timestamp=now()))
        return True

    async def prompt(self, message):
        conversation = message.get("new_session_id") or message.get("resume_session_id")
        counts["prompts"] += 1
        cut = counts["prompts"] == options.cut
        await self.send("ack", message="Processing prompt...")
        say(event="prompt", number=counts["prompts"], text=message["text"])
        if cut:
            self.connection.transport.abort()
        asyncio.create_task(self.answer(conversation, message["text"]))

    async def answer(self, conversation, text):
        await asyncio.sleep(options.delay)
        id = str(uuid.uuid4())
        entries = histories.setdefault(conversation, [])
        first = len(entries)
        entries += [
            dict(uuid=str(uuid.uuid4()), role="user", text=text, timestamp=now(),
                 session_id=conversation),
            dict(uuid=id, role="assistant", text=text, timestamp=now(), session_id=conversation)]
        if len(text.encode()) > self.limit:
            half = (self.limit - 600) // 2
            text = f"{text[:half]}\n\n... [truncated {len(text) - 2 * half} chars] ...\n\n{text[-half:]}"
        answer = dict(success=True, text=text, session_id=conversation)
        if "ids" not in options.mistake:
            answer["message_id"] = id
            if "replay" not in options.mistake:
                undelivered.setdefault(self.session, {})[id] = answer
        try:
            await self.send("response", **answer)
            await self.send("turn_complete", session_id=conversation)
        except ConnectionClosed:
            pass
        for client in list(subscribers.get(conversation, ())):
            try:
                await client.send("session_history", **client.window(conversation, first))
            except ConnectionClosed:
                subscribers[conversation].discard(client)

    async def subscribe(self, message):
        conversation = message["session_id"]
        wanted = "from_offset" if self.version >= (0, 5, 0) else "last_seq"
        cursor = message.get(wanted, 0)
        if type(cursor) is not int or cursor < 0:
            await self.send("error", code="invalid_subscribe", session_id=conversation,
                            message=f"{wanted} is a number from 0")
            return
        subscribers.setdefault(conversation, set()).add(self)
        await self.send("session_history", **self.window(conversation, cursor))

    def window(self, conversation, start):
        entries = histories.get(conversation, [])
        common = dict(session_id=conversation)
        if self.version >= (0, 5, 0):
            signature = f"{len(entries[0]['text'])}:{entries[0]['uuid']}" if entries else "0:"
            return dict(common, next_offset=len(entries), end_of_file=True,
                        file_signature=signature,
                        messages=[{**one, "offset": start + index}
                                  for index, one in enumerate(entries[start:])])
        if start > len(entries):
            return dict(common, messages=[], next_seq=len(entries) + 1, is_complete=True,
                        gap=dict(requested_last_seq=start, min_available_seq=1,
                                 reason="client_ahead"))
        window = [{**one, "seq": start + 1 + index} for index, one in enumerate(entries[start:])]
        ends = dict(first_seq=window[0]["seq"], last_seq=window[-1]["seq"]) if window else {}
        return dict(common, messages=window, next_seq=len(entries) + 1, is_complete=True, **ends)


async def handle(connection):
    compressed = connection.response.headers.get("Sec-WebSocket-Extensions", "")
    say(event="opened", compressed="permessage-deflate" in compressed)
    client = Client(connection)
    try:
        await client.send("hello", message="Welcome to voice-code backend",
                          version=options.version, auth_version=1,
                          instructions="Send connect message with api_key")
        async for text in connection:
            try:
                message = json.loads(text)
            except ValueError:
                await client.send("error", message="Error processing message")
                if "type" in options.mistake:
                    break
                continue
            is_connect = isinstance(message, dict) and "api_key" in message
            say(event="got", message={**message, "api_key": "..."} if is_connect else message)
            try:
                if not await client.take(message):
                    break
            except (KeyError, TypeError, ValueError):
                await client.send("error", message="Error processing message")
    except ConnectionClosed:
        pass
    for clients in subscribers.values():
        clients.discard(client)
    await connection.close()
    say(event="ended", code=connection.close_code)


async def main():
    async with serve(handle, "127.0.0.1", options.port, max_size=options.limit, open_timeout=600,
                     ping_interval=None, compression=None if options.plain else "deflate") as server:
        say(event="listening", port=server.sockets[0].getsockname()[1])
        await asyncio.get_running_loop().create_future()


asyncio.run(main())
