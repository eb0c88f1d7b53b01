"""Requests, sockets, a proxy with faults, and the forms of docs/messages.md, for message_client.py."""
import asyncio
import concurrent.futures
import http.client
import json
import socket
import struct
import time
import urllib.parse
import uuid
import warnings

from peer import HANG, check, check_that

warnings.simplefilter("ignore", DeprecationWarning)
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatusCode  # noqa: E402
from websockets.legacy.client import connect  # noqa: E402

API = "/api/v1/auth/shops"
SHOP = "bakery"
FRAME = 10_240
MEMBERS = {"id", "shop_id", "user_id", "username", "message", "created_at", "updated_at", "is_edited",
           "parent_id", "position"}
ORIGINAL = ("id", "shop_id", "user_id", "username", "message", "created_at", "updated_at", "is_edited")


def make_token(peer, backend, user, shops, admin=None, life="1h"):
    return backend.token(user, shops, *(["--admin", admin] if admin else []), life=life)


class Lost(Exception):
    """A request without a complete answer, or one that must be repeated later."""

    def __init__(self, why, wait=0.1, may_have_happened=True):
        super().__init__(why)
        self.wait, self.may_have_happened = wait, may_have_happened


BAD = (OSError, ConnectionClosed, InvalidHandshake, asyncio.TimeoutError, Lost)


class Answer:
    def __init__(self, status, fields, body, begun):
        self.status, self.fields, self.body, self.begun = status, fields, body, begun

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"

    @property
    def data(self):
        value = json.loads(self.body)
        check_that("envelope of an answer", set(value) >= {"status", "message", "data"} and
                   value["status"] == self.status, "status, message, data", self)
        return value["data"]


class Wire:
    """Requests of any user to a backend, each on its own connection."""

    def __init__(self, port):
        self.port = port
        self.pool = concurrent.futures.ThreadPoolExecutor(70)

    async def ask(self, method, path, token, body=None, fields=None, lose=None, port=None):
        """Returns an answer. With `lose`, closes the connection after so many seconds instead."""
        return await asyncio.get_running_loop().run_in_executor(
            self.pool, self.ask_now, method, path, token, body, fields or {}, lose, port or self.port)

    def ask_now(self, method, path, token, body, fields, lose, port):
        begun = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG)
        try:
            named = {**fields, **({"Authorization": f"Bearer {token}"} if token else {})}
            if body is not None and not isinstance(body, bytes):
                body = json.dumps(body, ensure_ascii=len(body) % 2 == 0).encode()
            connection.request(method, path, body, named)
            if lose is not None:
                time.sleep(lose)
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                raise Lost("the answer was not read")
            response = connection.getresponse()
            content = response.read()
            if not content:  # http.client accepts a head that was cut
                raise Lost("an answer without a body")
            return Answer(response.status, response.headers, content, begun)
        except (OSError, http.client.HTTPException) as error:
            raise Lost(repr(error)) from error
        finally:
            connection.close()

    async def open(self, token, fields=None, shop=SHOP, port=None, is_in_query=False, **options):
        """Opens the stream of a shop."""
        url = f"ws://127.0.0.1:{port or self.port}{API}/{shop}/messages/stream"
        named = dict(fields or {})
        if is_in_query:
            url += "?" + urllib.parse.urlencode({"token": token})
        elif token:
            named["Authorization"] = f"Bearer {token}"
        return await connect(url, extra_headers=named, max_size=None, open_timeout=HANG, ping_interval=None,
                             close_timeout=2, **options)


async def attempt(opening):
    """Returns (status, fields) of an upgrade that is expected to be refused."""
    try:
        stream = await opening
    except InvalidStatusCode as error:
        return error.status_code, error.headers
    await stream.close()
    return 101, stream.response_headers


class Proxy:
    """Forwards connections to a port. It may cut, stall, or divide what the server sends."""

    def __init__(self, peer, port):
        self.peer, self.to, self.is_calm, self.port = peer, port, False, None

    async def start(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return self

    async def serve(self, reader, writer):
        chance, cut, stall, piece = self.peer.chance, None, None, 65536
        if not self.is_calm:
            if self.peer.draws("cuts", 0.3):
                cut = chance.choice([chance.randint(1, 900), chance.randint(1, 40_000)])
            if self.peer.draws("stalls", 0.1):
                stall = (chance.randint(100, 5000), chance.uniform(0.2, 3))
            if self.peer.draws("pieces", 0.2):
                piece = chance.randint(1, 60)
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", self.to)
        except OSError:
            return writer.transport.abort()
        up = asyncio.create_task(self.forward(reader, outer))
        try:
            passed = 0
            while data := await inner.read(piece):
                if cut is not None and passed + len(data) >= cut:
                    writer.write(data[:cut - passed])
                    await writer.drain()
                    await asyncio.sleep(0.01)
                    self.peer.count("cuts")
                    break
                passed += len(data)
                writer.write(data)
                await writer.drain()
                if stall and passed >= stall[0]:
                    await asyncio.sleep(stall[1])
                    self.peer.count("stalls")
                    stall = None
            else:
                writer.write_eof()
        except OSError:
            pass
        finally:
            up.cancel()
            if cut is None:
                writer.close()
            else:
                writer.transport.abort()
            outer.transport.abort()

    async def forward(self, reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.transport.abort()
        except OSError:
            pass


# Forms

def split(position):
    epoch, _, offset = position.rpartition(":")
    check_that("form of a position", epoch and offset.isdigit(), "EPOCH:OFFSET", position)
    return epoch, int(offset)


def offset(position):
    return split(position)[1]


def version(entry):
    """Returns the offset of the newest event of a message or of an entry of `deleted`."""
    return offset(entry.get("changed") or entry["position"])


def moment(text):
    """Returns a time as something that can be compared."""
    check_that("form of a time", text.endswith("Z") and text[10] == "T", "RFC 3339 in UTC", text)
    return text[:19], text[20:-1].ljust(9, "0")


def check_message(message, shop, has_events):
    """Checks the members of a message. `has_events` is None where the page says nothing."""
    what = f"a message: {message}"
    missing = MEMBERS - set(message) - {"username", "parent_id", "updated_at"}
    check_that(f"members of {what}", not missing, "all", missing)
    check(f"shop of {what}", shop, message["shop_id"])
    uuid.UUID(message["id"])
    moment(message["created_at"])
    check(f"updated_at and is_edited of {what}", bool(message["is_edited"]),
          bool(message.get("updated_at")))
    check_that(f"text of {what}", 1 <= len(message["message"]) <= 10_000, "1 to 10000 scalars",
               len(message["message"]))
    if has_events:
        check(f"changed of {what}", bool(message["is_edited"]), bool(message.get("changed")))
        if message.get("changed"):
            check_that(f"changed of {what}", version(message) > offset(message["position"]), "after the post",
                       message["changed"])
    elif has_events is False:
        check_that(f"members without events of {what}", not {"changed", "event"} & set(message), "neither "
                   "changed nor event", sorted(message))


def check_frame(text):
    """Checks a text frame, and returns (is_notice, value)."""
    check_that("type of a frame", isinstance(text, str), "text", repr(text))
    check_that("bytes of a frame", len(text.encode()) <= FRAME, f"{FRAME} at most", len(text.encode()))
    value = json.loads(text)
    is_notice = "id" not in value and isinstance(value.get("type"), str)
    if is_notice and value["type"] == "draining":
        check_that("within_ms of draining", isinstance(value.get("within_ms"), int), "a number", text)
    return is_notice, value


def check_order(what, numbers, is_rising=True):
    """Checks that numbers rise or fall, without repetition."""
    wanted = sorted(set(numbers), reverse=not is_rising)
    check_that(f"order of {what}", numbers == wanted, "rising" if is_rising else "falling", numbers)


def bodies(messages):
    return sum(len(json.dumps(m, ensure_ascii=False, separators=(",", ":")).encode()) for m in messages)
