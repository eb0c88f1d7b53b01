"""An operator's client against `holdfast serve`: list, disconnect, publish, presence, erase, drain.

The model follows docs/administration.md; http.client speaks over the Unix socket, or over TCP with a token.
"""
import asyncio
import http.client
import json
import os
import socket
import stat
import time
import types
import urllib.parse
import uuid

from identity_client import AUDIENCE, CLAIMS, ISSUER, Key, Provider, Session
from message_wire import API, Wire
from peer import HANG, Backend, ask, check, check_that, main
from websockets.exceptions import ConnectionClosed

USER = "ann/4711 é"  # a name that has to be percent-encoded
CONVERSATION = str(uuid.uuid4())
MESSAGES = 60


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=HANG)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Operator:
    """Sends requests to the address for operators."""

    def __init__(self, place, token=None):
        self.place, self.token = place, token

    def ask(self, method, *path, query=None, body=None):
        if self.place.startswith("unix:"):
            connection = UnixConnection(self.place.removeprefix("unix:"))
        else:
            connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.place).netloc, timeout=HANG)
        target = "/admin/" + "/".join(urllib.parse.quote(part, safe="") for part in path)
        if query:
            target += "?" + urllib.parse.urlencode(query)
        fields = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            connection.request(method, target, None if body is None else json.dumps(body).encode(), fields)
            answer = connection.getresponse()
            return answer.status, answer.headers, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def get(self, *path, **query):
        status, _, body = self.ask("GET", *path, query=query)
        check(f"status of GET {path}", 200, status)
        return body

    def all(self, name, *path, limit=2, **query):
        """Returns all elements of a list, page by page."""
        found, after = [], None
        while True:
            page = self.get(*path, **query, limit=limit, **({"after": after} if after else {}))
            check_that(f"elements of a page of {name}", len(page[name]) <= limit, f"at most {limit}", len(page[name]))
            found += page[name]
            after = page["next"]
            if after is None:
                return found


def start(peer, *options):
    """Starts a backend whose socket for operators has a short path."""
    backend = Backend(peer, "--log-format", "json", "--posts-per-second", 1000, *options)
    place = "unix:" + peer.path("s")
    backend.options = (*backend.options, "--admin-listen", place)
    return backend.start(), Operator(place)


def files_with(directory, text):
    found = []
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.stat(path).st_mode):
                with open(path, "rb") as file:
                    if text.encode() in file.read():
                        found.append(path)
    return found


async def code_of(stream):
    """Returns the code with which a socket is closed."""
    async def read():
        try:
            while True:
                await stream.recv()
        except ConnectionClosed as closed:
            return closed.code
    return await asyncio.wait_for(read(), HANG)


async def lists(peer, backend, operator, wire, tokens):
    streams = {"ann": [await wire.open(tokens["ann"]) for _ in range(3)],
               "bob": [await wire.open(tokens["bob"], {"User-Agent": "peer/1"}) for _ in range(2)]}
    connections = operator.all("connections", "connections")
    check("users of connections", [USER] * 3 + ["bob"] * 2, [one["user"] for one in connections])
    numbers = [int(one["id"]) for one in connections]
    check("order of connections", sorted(numbers), numbers)
    for one in connections:
        check("members of a connection", {"id", "kind", "user", "shop", "phone", "address", "since", "sent", "agent"},
              set(one))
        check("kind, shop, phone", ("stream", "bakery", None), (one["kind"], one["shop"], one["phone"]))
        check("address", "127.0.0.1", one["address"])
        check_that("sent", one["sent"] > 0, "bytes of the upgrade", one["sent"])
    check("filter by user", 3, len(operator.all("connections", "connections", user=USER)))
    check("filter by kind", 0, len(operator.all("connections", "connections", kind="phone")))
    presence = operator.all("users", "shops", "bakery", "presence", limit=1)
    check("presence", [(USER, 3), ("bob", 2)], [(one["user"], one["sockets"]) for one in presence])
    # One connection, then all of one user.
    status, _, body = operator.ask("DELETE", "connections", connections[0]["id"], query={"code": 1012})
    check("one closed", (200, 1, 1012), (status, body["closed"], body["code"]))
    check("code of one socket", 1012, await code_of(streams["ann"].pop(0)))
    status, _, body = operator.ask("POST", "users", USER, "disconnect")
    check("all closed", (200, 2, 4401), (status, body["closed"], body["code"]))
    for stream in streams["ann"]:
        check("code of a user's socket", 4401, await code_of(stream))
    return streams["bob"]


async def posts(peer, operator, others):
    body = {"as": "shop-bot", "name": "The Shop", "text": "Closed today", "idempotency_key": str(uuid.uuid4())}
    first = operator.ask("POST", "shops", "bakery", "messages", body=body)
    again = operator.ask("POST", "shops", "bakery", "messages", body=body)
    check("status of a post and of its repetition", (201, 200), (first[0], again[0]))
    check("message of both", first[2]["data"]["id"], again[2]["data"]["id"])
    frame = json.loads(await asyncio.wait_for(others[0].recv(), HANG))
    check("frame of the post", ("shop-bot", "The Shop", "Closed today"),
          (frame["user_id"], frame["username"], frame["message"]))
    check("another text with the key", 409,
          operator.ask("POST", "shops", "bakery", "messages", body={**body, "text": "Open"})[0])
    return body["text"]


def refusals(operator, backend):
    key = str(uuid.uuid4())
    for status, method, path, query, body in [
            (404, "GET", ["nothing"], None, None), (405, "PUT", ["connections"], None, None),
            (400, "GET", ["connections"], {"limit": 0}, None), (400, "GET", ["connections"], {"limit": 1001}, None),
            (400, "GET", ["connections"], {"who": "x"}, None), (404, "DELETE", ["connections", "1"], None, None),
            (400, "DELETE", ["users", "u" * 257], None, None), (404, "GET", ["jobs", key], None, None),
            (400, "POST", ["users", "ann", "disconnect"], {"code": 1000}, None),
            (400, "POST", ["shops", "bakery", "messages"], None, {"as": "bot", "text": "x"}),
            (413, "POST", ["shops", "bakery", "messages"], None,
             {"as": "bot", "text": "x" * 10_001, "idempotency_key": key})]:
        found, _, answer = operator.ask(method, *path, query=query, body=body)
        check(f"status of {method} {path} {query}", status, found)
        check("envelope of a refusal", ({"status", "message", "data"}, status, None),
              (set(answer), answer["status"], answer["data"]))
        check_that("remedy", len(answer["message"]) > 10, "a sentence", answer["message"])
    # The public port knows none of it.
    check("the routes at the public port", 404, ask(backend.port, "GET", "/admin/connections")[0])


async def prompt(backend, provider, user):
    """Sends a prompt in the name of a user, whose token is one of the provider."""
    session = await Session.open(types.SimpleNamespace(backend=backend), provider.token(user))
    words = f"words of {user}"
    check(f"answer to {user}", words, await session.prompt(words, CONVERSATION))
    return session


async def erase(peer, backend, operator, wire, tokens, provider):
    sessions = [await prompt(backend, provider, user) for user in (USER, "bob")]
    for number in range(MESSAGES):
        answer = await wire.ask("POST", f"{API}/messages", tokens["ann"],
                                {"shop_id": "bakery", "message": f"text {number} of {USER}"})
        check("status of a post", 201, answer.status)
    check("status of a post of bob", 201, (await wire.ask(
        "POST", f"{API}/messages", tokens["bob"], {"shop_id": "bakery", "message": "of bob"})).status)
    check_that("files with the user", files_with(backend.data, USER), "the log", "none")
    follower = await wire.open(tokens["bob"], {"Holdfast-Events": "1"})
    status, fields, job = operator.ask("DELETE", "users", USER)
    check("status of an erasure", 202, status)
    check("Location of an erasure", f"/admin/jobs/{job['id']}", fields["Location"])
    if peer.draws("kills", 0.5):
        peer.count("kills")
        backend.kill()
        backend.start()
    else:
        seen = 0
        while seen < MESSAGES:
            frame = json.loads(await asyncio.wait_for(follower.recv(), HANG))
            seen += frame.get("type") == "deleted"
    limit = time.monotonic() + HANG
    while (found := operator.get("jobs", job["id"]))["state"] != "done":
        check_that("an erasure ends", time.monotonic() < limit, f"within {HANG} s", found)
        await asyncio.sleep(0.05)
    check("failure of the job", None, found["failure"])
    check("the job in the list", [job["id"]], [one["id"] for one in operator.all("jobs", "jobs")])
    check("files with the user", [], files_with(backend.data, USER))
    for session in sessions:
        await session.socket.close()
    other = await Session.open(types.SimpleNamespace(backend=backend), provider.token("bob"))
    check("history of another user", ["words of bob"] * 2, await other.history(CONVERSATION))
    answer = await wire.ask("GET", f"{API}/bakery/messages", tokens["bob"])
    check_that("messages of others", "of bob" in answer.body.decode(), "they remain", answer)
    check_that("messages of the user", "text 0" not in answer.body.decode(), "none", answer)


def over_tcp(peer):
    token_file = peer.path("token")
    backend = Backend(peer, "--admin-listen", "127.0.0.1:0", "--admin-token-file", token_file)
    backend.data = peer.path("other")
    child = peer.start("serve", "--data", backend.data, "--port", 0, "--json", *backend.options)
    place = json.loads(child.stdout.readline())["admin"]
    check("mode of the token", 0o600, stat.S_IMODE(os.stat(token_file).st_mode))
    with open(token_file, encoding="ascii") as file:
        token = file.read().strip()
    for wrong in (None, "w" * len(token), token[:-1]):
        status, fields, _ = Operator(place, wrong).ask("GET", "connections")
        check("status without the token", (401, "Bearer"), (status, fields["WWW-Authenticate"]))
    check("status with the token", 200, Operator(place, token).ask("GET", "connections")[0])
    status, _, body = Operator(place, token).ask("POST", "drain")
    check("a drain", (202, "draining"), (status, body["state"]))
    check("exit status after a drain", 0, child.wait(HANG))


async def run(peer):
    provider = Provider()
    provider.keys = [Key("ES256")]
    backend, operator = start(peer, "--jwks-url", provider.url, "--token-issuer", ISSUER, "--token-audience",
                              AUDIENCE, "--token-claims", CLAIMS)
    check("mode of the socket", 0o600, stat.S_IMODE(os.stat(peer.path("s")).st_mode))
    tokens = {"ann": backend.token(USER), "bob": backend.token("bob")}
    wire = Wire(backend.port)
    while (await wire.ask("GET", f"{API}/bakery/messages", provider.token("bob"))).status == 503:
        await asyncio.sleep(0.05)
    others = await lists(peer, backend, operator, wire, tokens)
    text = await posts(peer, operator, others)
    refusals(operator, backend)
    for stream in others:
        await stream.close()
    await erase(peer, backend, operator, wire, tokens, provider)
    status, _, _ = operator.ask("POST", "drain")
    check("status of a drain", 202, status)
    check("exit status after a drain", 0, backend.child.wait(HANG))
    over_tcp(peer)
    with open(peer.path("log"), encoding="utf-8", errors="replace") as file:
        acts = [json.loads(line) for line in file if '"event":"admin"' in line]
    check_that("who acted", all(act["by"] in (f"uid {os.getuid()}", "job") or act["by"].startswith("token ")
                                for act in acts if act.get("by")), "uid, token or job", acts)
    for name in ("connections", "disconnect", "disconnect_user", "publish", "presence", "erase", "drain", "sign_in"):
        check_that(f"acts of {name}", any(act.get("act") == name for act in acts), "a line", "none")
    check_that("acts with a text", not any(text in json.dumps(act) for act in acts), "none", text)
    peer.count("acts", len(acts))


if __name__ == "__main__":
    main(__doc__.splitlines()[0], lambda peer: asyncio.run(run(peer)))
