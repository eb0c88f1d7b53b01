"""Tokens of an identity provider against `holdfast serve`: messages, health sync and sessions.

PyJWT signs the tokens, and a small server serves the public keys (RFC 7517). Keys are rotated, withdrawn
and unavailable; tokens are forged in the ways of RFC 8725. docs/messages.md tells what must happen.
"""
import asyncio
import base64
import hashlib
import hmac
import http.server
import json
import os
import signal
import threading
import time
import uuid
import warnings

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from message_wire import API
from peer import HANG, Backend, Broken, check, check_that, main
from uploads import Uploader

warnings.simplefilter("ignore", DeprecationWarning)
from websockets.exceptions import ConnectionClosed, InvalidStatusCode  # noqa: E402
from websockets.legacy.client import connect  # noqa: E402

ISSUER, AUDIENCE = "https://id.example/realms/main", "holdfast"
CLAIMS = "user=sub,name=preferred_username,shops=realm_access.roles[shop-]"
STEPS = "HKQuantityTypeIdentifierStepCount"
PAGES, MESSAGES = f"{API}/bakery/messages/paginated", f"{API}/messages"


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value, size=None):
    return text(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


class Key:
    """A key pair of the provider, for one algorithm."""

    def __init__(self, algorithm, **more):
        self.algorithm, self.id, self.more = algorithm, str(uuid.uuid4()), more
        if algorithm in ("RS256", "PS256"):
            self.private = rsa.generate_private_key(65537, more.pop("size", 2048))
        elif algorithm == "ES256":
            self.private = ec.generate_private_key(ec.SECP256R1())
        else:
            self.private = ed25519.Ed25519PrivateKey.generate()

    @property
    def public(self):
        """Returns the public key as providers publish it."""
        key, common = self.private.public_key(), {"kid": self.id, "use": "sig", "alg": self.algorithm, **self.more}
        if self.algorithm in ("RS256", "PS256"):
            numbers = key.public_numbers()
            return {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e), **common}
        if self.algorithm == "ES256":
            numbers = key.public_numbers()
            return {"kty": "EC", "crv": "P-256", "x": number(numbers.x, 32), "y": number(numbers.y, 32), **common}
        raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return {"kty": "OKP", "crv": "Ed25519", "x": text(raw), **common}

    def pem(self):
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class Provider:
    """An identity provider: its keys, a server for them, and tokens."""

    def __init__(self, address=("127.0.0.1", 0), tls=None):
        self.keys, self.status, self.fetches, self.delay = [], 200, 0, 0
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                provider.fetches += 1
                time.sleep(provider.delay)
                body = json.dumps({"keys": [key.public for key in provider.keys]}).encode()
                self.send_response(provider.status)
                self.send_header("Cache-Control", "public, max-age=3600")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(address, Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/certs"

    def claims(self, user, **changes):
        now = int(time.time())
        roles = ["offline_access", "shop-bakery"]
        claims = {"iss": ISSUER, "aud": ["account", AUDIENCE], "sub": user, "iat": now, "exp": now + 600,
                  "preferred_username": user.upper(), "typ": "Bearer", "realm_access": {"roles": roles}, **changes}
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, user, key=None, head=None, algorithm=None, **changes):
        key = key or self.keys[0]
        return jwt.encode(self.claims(user, **changes), key.private, algorithm or key.algorithm,
                          {"kid": key.id, **(head or {})})


def forge(head, claims, sign):
    """Returns a token with any header and signature."""
    signed = f"{text(json.dumps(head).encode())}.{text(json.dumps(claims).encode())}"
    return f"{signed}.{text(sign(signed.encode()))}"


class World:
    def __init__(self, peer, provider, *options):
        self.peer, self.provider = peer, provider
        self.backend = Backend(peer, "--token-issuer", ISSUER, "--token-audience", AUDIENCE, "--token-claims", CLAIMS,
                               "--session-handler", 'cat; printf " %s" "$HOLDFAST_USER"', *options)
        self.backend.start()

    def ask(self, token, method="GET", path=PAGES, body=None):
        headers = {} if token else {"Authorization": None}
        body = None if body is None else json.dumps(body).encode()
        self.peer.count("requests")
        return Uploader(self.peer, self.backend, "", token).ask(method, path, body, headers)

    def expect(self, what, status, token, *request):
        answer = self.ask(token, *request)
        check(f"status of {what}", status, answer[0])
        return answer

    def expect_refusal(self, what, token, why=None):
        """Expects that messages, health sync and sessions refuse a token with a challenge."""
        for path in (PAGES, "/api/health/summary", "/api/sync?deviceId=x"):
            _, headers, _, _ = self.expect(f"{what} at {path}", 401, token, "GET", path)
            challenge = headers["WWW-Authenticate"]
            check_that(f"challenge of {what} at {path}", challenge.startswith(
                'Bearer error="invalid_token", error_description="'), "RFC 6750 section 3.1", challenge)
            check_that(f"reason of {what}", why is None or why in challenge, why, challenge)
        asyncio.run(self.expect_no_session(what, token))

    async def expect_no_session(self, what, token):
        try:
            await (await Session.open(self, token)).socket.close()
        except InvalidStatusCode as error:
            check(f"status of a session with {what}", 401, error.status_code)
            check_that(f"challenge of a session with {what}", "invalid_token" in error.headers["WWW-Authenticate"],
                       "invalid_token", error.headers["WWW-Authenticate"])
        else:
            raise Broken(f"a session with {what}", "401", "it is open")

    def reload(self, *events):
        """Sends SIGHUP, and waits for events of the log."""
        before = self.events()
        os.kill(self.backend.child.pid, signal.SIGHUP)
        limit = time.monotonic() + HANG
        while not all(self.events().get(event, 0) > before.get(event, 0) for event in events):
            check_that("SIGHUP has an effect", time.monotonic() < limit, events, self.events())
            time.sleep(0.02)

    def events(self):
        counts = {}
        with open(self.peer.path("log"), encoding="utf-8") as log:
            for line in log:
                if line.startswith("{"):
                    name = json.loads(line).get("event")
                    counts[name] = counts.get(name, 0) + 1
        return counts


class Session:
    """A socket of `/session` that shows a token in its upgrade."""

    @classmethod
    async def open(cls, world, token, key=None, client="phone"):
        self = cls()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.socket = await connect(f"ws://127.0.0.1:{world.backend.port}/session", extra_headers=headers,
                                    max_size=None, open_timeout=HANG, ping_interval=None)
        check("first message of the server", "hello", (await self.receive())["type"])
        frame = {"type": "connect", "session_id": client, "protocol_version": "0.4.0"}
        await self.say(frame | ({"api_key": key} if key else {}))
        connected = await self.receive()
        check("answer to connect", ("connected", client), (connected["type"], connected.get("session_id")))
        return self

    async def say(self, frame):
        await self.socket.send(json.dumps(frame))

    async def receive(self):
        return json.loads(await asyncio.wait_for(self.socket.recv(), HANG))

    async def await_type(self, name):
        while (frame := await self.receive())["type"] != name:
            pass
        return frame

    async def prompt(self, words, conversation, key=None):
        await self.say({"type": "prompt", "text": words, "new_session_id": conversation,
                        "idempotency_key": key or words})
        answer = await self.await_type("response")
        check("conversation of a response", conversation, answer["session_id"])
        return answer["text"]

    async def history(self, conversation):
        await self.say({"type": "subscribe", "session_id": conversation, "last_seq": 0})
        window = await self.await_type("session_history")
        check("conversation of a history", conversation, window["session_id"])
        for message in window["messages"]:
            check("conversation of a message", conversation, message["session_id"])
        await self.say({"type": "unsubscribe", "session_id": conversation})
        return [message["text"] for message in window["messages"]]


def check_algorithms(world):
    """Each algorithm is accepted for messages, health sync and sessions."""
    for key in world.provider.keys:
        token = world.provider.token("ann", key)
        for path in (PAGES, "/api/health/summary", "/api/sync?deviceId=x"):
            world.expect(f"{path} with {key.algorithm}", 200, token, "GET", path)
        asyncio.run(Session.open(world, token))
        user = json.loads(world.ask(token, "GET", "/api/sync?deviceId=x")[2])["user"]
        check("user of health sync", "ann", user)
        body = {"shop_id": "bakery", "message": f"by {key.algorithm}"}
        post = json.loads(world.expect("a post", 201, token, "POST", MESSAGES, body)[2])["data"]
        check("author of a post", ("ann", "ANN"), (post["user_id"], post["username"]))
        world.expect("a post to another shop", 403, token, "POST", MESSAGES, body | {"shop_id": "offline_access"})
        world.peer.count("algorithms")


def check_claims(world):
    """Wrong claims are refused, at the bounds of the leeway."""
    now, token = int(time.time()), world.provider.token
    for what, why, changes in (
            ("another issuer", "issuer", {"iss": ISSUER + "/"}), ("no issuer", "issuer", {"iss": None}),
            ("another audience", "audience", {"aud": "account"}), ("no audience", "audience", {"aud": None}),
            ("audiences without this one", "audience", {"aud": ["account", AUDIENCE + "x"]}),
            ("no exp", "exp", {"exp": None}), ("a past exp", "expired", {"exp": now - 1}),
            ("an exp that is text", "exp", {"exp": str(now + 60)}),
            ("a later nbf", "not valid yet", {"nbf": now + 120}), ("a later iat", "not valid yet", {"iat": now + 120}),
            ("no user", "sub", {"sub": None}), ("an empty user", "sub", {"sub": ""}),
            ("a user that is too long", "sub", {"sub": "u" * 257})):
        world.expect_refusal(what, token("ann", **changes), why)
        world.peer.count("wrong claims")
    world.expect("nbf within the leeway", 200, token("ann", nbf=now + 50, iat=now + 50))
    world.expect("an audience as text", 200, token("ann", aud=AUDIENCE))
    world.expect("a user of 256 bytes", 200, token("u" * 256))
    world.expect("a token of RFC 9068", 200, token("ann", head={"typ": "at+jwt"}))
    world.expect("no shops", 403, token("ann", realm_access=None))
    challenge = world.expect("no token", 401, None)[1]["WWW-Authenticate"]
    check("challenge without a token", "Bearer", challenge)


def check_forgeries(world):
    """Forged tokens (RFC 8725 sections 2.1, 3.1 and 3.11)."""
    rs, ps, es, ed = world.provider.keys
    claims, token = world.provider.claims("ann"), world.provider.token
    for what, secret in (("PEM", rs.pem()), ("PEM without its last line end", rs.pem().strip()),
                         ("JSON", json.dumps(rs.public).encode())):
        head = {"alg": "HS256", "typ": "JWT", "kid": rs.id}
        forged = forge(head, claims, lambda signed: hmac.new(secret, signed, hashlib.sha256).digest())
        world.expect_refusal(f"HS256 with the public key as {what}", forged)
    for name in ("none", "None", "nOnE"):
        world.expect_refusal(f"alg {name}", forge({"alg": name, "kid": rs.id}, claims, lambda _: b""), "algorithm")
    world.expect_refusal("RS384", token("ann", rs, algorithm="RS384"), "algorithm")
    world.expect_refusal("PS256 with a key of RS256", token("ann", rs, algorithm="PS256"), "algorithm")
    world.expect_refusal("RS256 with a key of PS256", token("ann", ps, algorithm="RS256"), "algorithm")
    world.expect_refusal("ES256 with the name of an RSA key", token("ann", es, {"kid": rs.id}), "algorithm")
    world.expect_refusal("EdDSA with the name of an EC key", token("ann", ed, {"kid": es.id}), "algorithm")
    world.expect_refusal("a type of another use", token("ann", head={"typ": "logout+jwt"}), "type")
    world.expect_refusal("critical extensions", token("ann", head={"crit": ["exp"]}), "critical")
    for key in world.provider.keys:
        good = token("ann", key)
        signed, signature = good.rsplit(".", 1)
        raw = bytearray(base64.urlsafe_b64decode(signature + "=="))
        raw[world.peer.chance.randrange(len(raw))] ^= 1 << world.peer.chance.randrange(8)
        world.expect_refusal(f"{key.algorithm} with one other bit", f"{signed}.{text(bytes(raw))}", "signature")
        world.expect_refusal(f"{key.algorithm} without a signature", f"{signed}.", "signature")
        head, _, rest = good.split(".")
        claims_of_bob = text(json.dumps(world.provider.claims("bob")).encode())
        world.expect_refusal(f"{key.algorithm} with other claims", f"{head}.{claims_of_bob}.{rest}", "signature")
    zeros = forge({"alg": "ES256", "kid": es.id}, claims, lambda _: bytes(64))
    world.expect_refusal("ES256 with r and s of zero", zeros, "signature")
    own = world.backend.token("ann")
    world.expect("a token of the data directory", 200, own)
    world.expect("a token of the data directory for health sync", 401, own, "GET", "/api/health/summary")


def check_sync(world):
    """Users of tokens and of the file have samples of their own."""
    token = world.provider.token
    for user in ("ann", "bob"):
        value = 100 if user == "ann" else 7
        record = {"sourceName": "Phone", "startTime": "2026-01-01T10:00:00Z", "endTime": "2026-01-01T10:01:00Z",
                  "recordType": STEPS, "value": value, "unit": "count", "uuid": str(uuid.uuid4()).upper()}
        body = {"dataType": STEPS, "deletedUUIDs": [], "deviceId": "peer", "timestamp": "2026-01-01T11:00:00Z",
                "records": [record]}
        world.expect(f"a batch of {user}", 200, token(user), "POST", "/api/sync", body)
    for user, steps in (("ann", 100), ("bob", 7), ("eve", 0)):
        path = "/api/health/steps?from=2025-12-31&to=2026-01-02"
        daily = json.loads(world.expect("steps", 200, token(user), "GET", path)[2])["daily"]
        check(f"steps of {user}", steps, round(sum(day["steps"] for day in daily)))
    with open(world.backend.data + "/sync-secrets", encoding="utf-8") as file:
        secrets = file.read()
    first = secrets.split()[-1]
    world.expect("the secret of the file", 200, first, "GET", "/api/health/summary")
    world.expect("a new secret before SIGHUP", 401, "a-new-secret-of-carl", "GET", "/api/health/summary")
    with open(world.backend.data + "/sync-secrets", "a", encoding="utf-8") as file:
        file.write("carl a-new-secret-of-carl\n")
    world.reload("token_keys")
    world.expect("a new secret after SIGHUP", 200, "a-new-secret-of-carl", "GET", "/api/health/summary")
    with open(world.backend.data + "/sync-secrets", "w", encoding="utf-8") as file:
        file.write("no secret\n")
    world.reload("reload_failed", "token_keys")
    world.expect("a secret after an invalid file", 200, first, "GET", "/api/health/summary")
    with open(world.backend.data + "/sync-secrets", "w", encoding="utf-8") as file:
        file.write(secrets)
    world.reload("token_keys")
    world.expect("a secret that was removed", 401, "a-new-secret-of-carl", "GET", "/api/health/summary")


async def check_sessions(world):
    """A user sees only conversations of their own, whatever ids another user knows."""
    token, name = world.provider.token, str(uuid.uuid4())
    with open(world.backend.data + "/session-key", encoding="utf-8") as file:
        shared = file.read().strip()
    ann, bob = await Session.open(world, token("ann")), await Session.open(world, token("bob"))
    keyed = await Session.open(world, None, shared)
    check("an answer to ann", "one ann", await ann.prompt("one", name))
    check("history of ann", ["one", "one ann"], await ann.history(name))
    for other in (bob, keyed):
        check("history for another user", [], await other.history(name))
        await other.say({"type": "kill_session", "session_id": name})
        await other.await_type("session_killed")
    check("an answer to bob", "two bob", await bob.prompt("two", name, "one"))
    check("an answer to a client with the key", "three ", await keyed.prompt("three", name))
    check("history of bob", ["two", "two bob"], await bob.history(name))
    again = await Session.open(world, token("ann", exp=int(time.time()) + 15), client="other")
    check("history of ann on another client", ["one", "one ann"], await again.history(name))
    check("history with the key", ["three", "three "], await keyed.history(name))
    try:
        while True:
            await again.receive()
    except ConnectionClosed as end:
        check("close code at exp", 4401, end.code)
    world.peer.count("sessions", 4)
    try:
        await Session.open(world, None)
    except (ConnectionClosed, Broken):
        return
    raise Broken("a session without key and token", "refused", "it is open")


def check_rotation(world):
    """A new key is fetched with the first token that names it, and false names cause few fetches."""
    provider = world.provider
    old, new = provider.keys[0], Key("ES256")
    before, provider.keys, provider.delay = provider.fetches, provider.keys + [new], 0.3
    statuses = []
    tasks = [threading.Thread(target=lambda: statuses.append(world.ask(provider.token("ann", new))[0]))
             for _ in range(20)]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    provider.delay = 0
    check("requests with a new key", [200] * 20, statuses)
    check("fetches because of a new key", 1, provider.fetches - before)
    for _ in range(5):
        world.expect_refusal("an unknown key", provider.token("ann", Key("ES256")), "key is unknown")
    check("fetches within a minute", 1, provider.fetches - before)
    provider.keys = [key for key in provider.keys if key is not old]
    world.expect("a withdrawn key before SIGHUP", 200, provider.token("ann", old))
    world.reload("token_keys")
    world.expect_refusal("a withdrawn key", provider.token("ann", old), "key is unknown")
    provider.status = 500
    world.reload("token_keys_failed")
    world.expect("a key after a failed fetch", 200, provider.token("ann", new))
    provider.status, keys = 200, provider.keys
    for bad in ([], [Key("RS256", size=1024)], [Key("RS256", use="enc")], keys * 26):
        provider.keys = bad
        world.reload("token_keys_failed")
        provider.keys = keys
        world.expect("a key after an unusable key set", 200, provider.token("ann", new))
    world.reload("token_keys")
    world.peer.count("rotations", 2)


def check_absence(world):
    """Without any key, tokens are answered with 503 until the first fetch succeeds."""
    provider = world.provider
    world.backend.stop()
    provider.status = 503
    world.backend.start()
    token = provider.token("ann")
    _, headers, _, _ = world.expect("a token before any key", 503, token)
    wait = headers["Retry-After"]
    check_that("Retry-After before any key", wait.isdigit() and 1 <= int(wait) <= 12, "1 to 12 s", wait)
    world.expect("a forged token before any key", 401, forge({"alg": "none"}, provider.claims("ann"), lambda _: b""))
    world.expect("a token of the data directory", 200, world.backend.token("ann"))
    provider.status, limit = 200, time.monotonic() + HANG
    while world.ask(token)[0] != 200:
        check_that("a token once keys are there", time.monotonic() < limit, "200", "503")
        time.sleep(0.2)
    world.backend.stop()


def check_file(peer, provider):
    """Keys of a file, which SIGHUP reloads."""
    peer.write("keys.json", json.dumps({"keys": [key.public for key in provider.keys]}))
    world = World(peer, provider, "--jwks-file", peer.path("keys.json"))
    world.expect("a key of the file", 200, provider.token("ann"))
    new = Key("EdDSA")
    world.expect_refusal("a key that the file lacks", provider.token("ann", new), "key is unknown")
    peer.write("keys.json", json.dumps({"keys": [new.public]}))
    world.reload("token_keys")
    world.expect("a new key of the file", 200, provider.token("ann", new))
    world.expect_refusal("a former key of the file", provider.token("ann"), "key is unknown")
    peer.write("keys.json", "{")
    world.reload("reload_failed")
    world.expect("a key after an invalid file", 200, provider.token("ann", new))
    key = peer.path("backend") + "/session-key"
    with open(key, encoding="utf-8") as file:
        former = file.read().strip()
    with open(key, "w", encoding="utf-8") as file:
        file.write("holdfast-" + "0123456789abcdef" * 2)
    peer.write("keys.json", json.dumps({"keys": [new.public]}))
    world.reload("token_keys")
    asyncio.run(Session.open(world, None, "holdfast-" + "0123456789abcdef" * 2))
    try:
        asyncio.run(Session.open(world, None, former))
    except (ConnectionClosed, Broken):
        return world.backend.stop()
    raise Broken("a session with the former key", "refused", "it is open")


def play(peer):
    provider = Provider()
    provider.keys = [Key("RS256"), Key("PS256"), Key("ES256"), Key("EdDSA")]
    world = World(peer, provider, "--jwks-url", provider.url)
    limit = time.monotonic() + HANG
    while world.ask(provider.token("ann"))[0] == 503:
        check_that("the first keys", time.monotonic() < limit, f"within {HANG} s", "503")
    check_algorithms(world)
    check_claims(world)
    check_forgeries(world)
    check_sync(world)
    asyncio.run(check_sessions(world))
    check_rotation(world)
    check_absence(world)
    check_file(peer, provider)
    with open(peer.path("log"), encoding="utf-8") as log:
        check_that("the log contains no token", "eyJ" not in log.read(), "no eyJ", "eyJ")


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
