"""The original session client, on `websockets`: prompts without keys, acks without resume.

    original_client.py URL KEY_FILE [--session ID] [--conversation ID] [--resume]
                       [--prompt TEXT]... [--ack underscore|hyphen|none] [--version V|none]
                       [--subscribe CURSOR] [--size-kb N] [--wait N] [--plain]

The client sends `connect` after `hello`, and everything else after `connected`. It ends once each
prompt has a response, the subscription has a history, and --wait messages of type `replay` have
arrived. Otherwise it exits with 1 after 20 s.
--session is the id of the client. --conversation is the id of the prompts' conversation, which
already exists if --resume is given. --leave TYPE ends the connection without a close frame at the
first message of a type. --version none sends no version.
The client prints events as JSON lines: opened, saw (with the message), ended.
"""
import argparse
import asyncio
import json
import sys
import uuid

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("key_file")
parser.add_argument("--session", default=str(uuid.uuid4()))
parser.add_argument("--conversation", default=str(uuid.uuid4()))
parser.add_argument("--resume", action="store_true")
parser.add_argument("--prompt", action="append", default=[])
parser.add_argument("--ack", choices=["underscore", "hyphen", "none"], default="underscore")
parser.add_argument("--version", default="0.5.0")
parser.add_argument("--subscribe", type=int)
parser.add_argument("--size-kb", type=int)
parser.add_argument("--wait", type=int, default=0)
parser.add_argument("--leave", default="")
parser.add_argument("--plain", action="store_true")
options = parser.parse_args()


def say(**what):
    print(json.dumps(what), flush=True)


class Client:
    def __init__(self, connection):
        self.connection = connection
        self.prompts = list(options.prompt)
        self.left = {"response": len(options.prompt), "replay": options.wait,
                     "session_history": 0 if options.subscribe is None else 1}
        self.is_new = not options.resume

    async def send(self, type, **members):
        await self.connection.send(json.dumps({"type": type, **members}))

    async def prompt(self):
        """Sends the next prompt. The original waits for each response before sending another."""
        if not self.prompts:
            return
        name = "new_session_id" if self.is_new else "resume_session_id"
        self.is_new = False
        await self.send("prompt", text=self.prompts.pop(0), working_directory="/tmp",
                        **{name: options.conversation})

    async def connected(self, version):
        if options.size_kb is not None:
            await self.send("set_max_message_size", size_kb=options.size_kb)
        if options.subscribe is not None:
            name = "from_offset" if version >= "0.5.0" else "last_seq"
            await self.send("subscribe", session_id=options.conversation,
                            **{name: options.subscribe})
        await self.prompt()

    async def take(self, message):
        kind = message["type"]
        if kind == "hello":
            key = open(options.key_file).read().strip()
            version = {} if options.version == "none" else {"protocol_version": options.version}
            await self.send("connect", session_id=options.session, api_key=key, **version)
        elif kind == "connected":
            await self.connected(message["negotiated_protocol_version"])
        elif kind in ("response", "replay") and options.ack != "none" and "message_id" in message:
            name = "message_ack" if options.ack == "underscore" else "message-ack"
            await self.send(name, message_id=message["message_id"])
        if kind == "response":
            await self.prompt()
        if kind in self.left:
            self.left[kind] = max(self.left[kind] - 1, 0)

    async def run(self):
        is_connected = False
        async for text in self.connection:
            message = json.loads(text)
            say(event="saw", message=message)
            if message["type"] == options.leave:
                self.connection.transport.abort()
                return
            is_connected = is_connected or message["type"] == "connected"
            await self.take(message)
            if is_connected and not any(self.left.values()):
                # The pong ensures that the acknowledgements are sent before the close frame.
                await self.send("ping")
                while json.loads(await self.connection.recv())["type"] != "pong":
                    pass
                await self.connection.close()
                return


async def main():
    async with asyncio.timeout(600):
        try:
            connection = await connect(options.url, max_size=None, open_timeout=600, ping_interval=None,
                                       compression=None if options.plain else "deflate")
        except InvalidStatus as refusal:
            say(event="refused", status=refusal.response.status_code)
            return
        extensions = connection.response.headers.get("Sec-WebSocket-Extensions", "")
        say(event="opened", compressed="permessage-deflate" in extensions)
        try:
            await Client(connection).run()
        except ConnectionClosed:
            pass
        await connection.wait_closed()
        say(event="ended", code=connection.close_code)


try:
    asyncio.run(main())
except TimeoutError:
    sys.exit(1)
