"""An operator's backend for `holdfast serve --hook-url`: it allows, denies, hangs, dies and is away.

The model follows docs/hooks.md: what was not allowed is not stored and not opened, what is denied gets 403
with the reason, and a failure gets 503, or passes with `--hook-on-failure open`. Each request is signed.
"""
import datetime
import hashlib
import hmac
import http.server
import json
import os
import random
import threading
import time
import uuid

from peer import HANG, Backend, ask, check, check_that, main, metrics, upgrade, wait_until

API = "/api/v1/auth/shops"
SHOP = "bakery"
MEMBERS = {
    "connect": {"event", "id", "route", "user", "shop", "address", "at"},
    "post": {"event", "id", "key", "edit", "user", "shop", "parent", "text", "address", "at"},
    "disconnect": {"event", "id", "route", "user", "shop", "address", "code", "ms", "at"}}
# What the operator does, and the status that a client then gets if failures refuse or pass.
DEEDS = {"allow": (201, 201), "true": (201, 201), "text": (201, 201), "deny": (403, 403), "403": (403, 403),
         "500": (503, 201), "404": (503, 201), "429": (503, 201), "302": (503, 201), "cut": (503, 201),
         "die": (503, 201), "hang": (503, 201)}
PROMPT = [deed for deed in DEEDS if deed != "hang"]
# What ends like a failure, whether it is answered in time or not.
FAILURES = [deed for deed, statuses in DEEDS.items() if statuses == (503, 201)]
MOST = 64
# The time limits of an answer in seconds. A busy machine may reach the short one by itself, so only failures occur then.
LONG, SHORT = 30, 2


class Operator:
    """The operator's backend. The text of a post, or the user of a socket, says what it does."""

    def __init__(self, peer, secret, host="127.0.0.1", port=0, tls=None):
        self.host, self.tls = host, tls
        self.peer, self.secret, self.lock = peer, secret, threading.Lock()
        self.faults, self.allowed, self.asked, self.told, self.open = [], set(), [], [], {}
        self.most, self.held, self.limit = 0, threading.Event(), LONG
        self.port, self.server = port, None
        self.start()

    def start(self):
        operator = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = HANG

            def do_POST(self):
                operator.handle(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, allow_reuse_address, request_queue_size = True, True, 200

            def handle_error(self, request, client_address):
                pass

        self.server = Server((self.host, self.port), Handler)
        if self.tls:
            self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        """Refuses connections. Those that are open are closed with their next request."""
        self.server.shutdown()
        self.server.server_close()
        self.server = None

    def note(self, what, expected, actual):
        with self.lock:
            self.faults.append((what, expected, actual))

    def check(self):
        """Raises the first fault that a handler has found."""
        with self.lock:
            for what, expected, actual in self.faults:
                check_that(what, False, expected, actual)

    def handle(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        self.verify(request, body)
        asked = json.loads(body)
        event, key = asked["event"], asked.get("key")
        if set(asked) != MEMBERS[event]:
            self.note(f"members of {event}", MEMBERS[event], set(asked))
        # The backend sends no request before its `at`, and so does not give it up before this time.
        end = datetime.datetime.fromisoformat(asked["at"]).timestamp() + self.limit
        with self.lock:
            now = time.time()
            same = [each for each, until in self.open.values() if key and each == key and now < until]
            if same:
                self.faults.append(("questions about a key at once", 1, len(same) + 1))
            self.open[request] = (key, end)
            self.most = max(self.most, len(self.open))
        try:
            self.answer(request, event, asked)
        finally:
            self.settle(request)

    def settle(self, request):
        """Counts a request as answered. This precedes the answer, since the backend may ask again as soon as it has
        the answer, while this thread waits for its turn."""
        with self.lock:
            self.open.pop(request, None)

    def verify(self, request, body):
        value = request.headers.get("Holdfast-Signature", "")
        fields = dict(field.split("=", 1) for field in value.split(",") if "=" in field)
        seconds, sign = fields.get("t", ""), fields.get("v1", "")
        if not seconds.isdigit() or abs(time.time() - int(seconds)) > HANG:
            self.note("time of a signature", "now", value)
        expected = hmac.new(self.secret, seconds.encode() + b"." + body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected, sign):
            self.note("signature", expected, value)
        if request.headers.get("Content-Type") != "application/json":
            self.note("Content-Type", "application/json", request.headers.get("Content-Type"))

    def answer(self, request, event, asked):
        if self.server is None:  # A connection that was open when the operator left.
            request.close_connection = True
            return None
        if event == "disconnect":
            with self.lock:
                self.told.append(asked)
            return self.reply(request, 204)
        deed = (asked["text"] if event == "post" else asked["user"] or "allow").replace("-", " ").split(" ")[0]
        with self.lock:
            self.asked.append((event, deed, asked))
            if deed in ("allow", "true", "text", "held"):
                self.allowed.add((event, asked["id"]))
        if deed == "held":
            self.held.wait(HANG)
            return self.reply(request, 204)
        if deed == "deny":
            return self.reply(request, 200, json.dumps({"allow": False, "reason": "no: é \"x\""}))
        if deed == "403":
            return self.reply(request, 403, json.dumps({"reason": "no: é \"x\""}))
        if deed == "hang":
            request.rfile.read(1)  # until the time limit of the backend closes the connection
            request.close_connection = True
            return None
        if deed == "die":
            request.close_connection = True
            return None
        if deed == "cut":
            return self.reply(request, 200, '{"allow":fal')
        if deed == "text":
            return self.reply(request, 200, "OK")
        if deed == "true":
            return self.reply(request, 201, '{"allow":true,"x":[1]}')
        return self.reply(request, int(deed) if deed.isdigit() else 204)

    def reply(self, request, status, body=""):
        self.settle(request)
        request.send_response(status)
        if status != 204:
            request.send_header("Content-Length", str(len(body.encode())))
        request.end_headers()
        request.wfile.write(body.encode())


class World:
    def __init__(self, peer):
        self.peer, self.secret = peer, os.urandom(24).hex()
        self.operator = Operator(peer, self.secret.encode())
        self.stored, self.tokens = [], {}
        self.backend = None

    def serve(self, on_failure, limit):
        if self.backend:
            self.backend.stop()
        self.on_failure, self.operator.limit = on_failure, limit
        self.backend = Backend(
            self.peer, "--hook-url", f"http://127.0.0.1:{self.operator.port}/hook?a=b", "--hook-timeout", f"{limit}s",
            "--hook-on-failure", on_failure, "--hook-secret-file", self.peer.write("secret", self.secret + "\n"),
            "--log-format", "json", "--posts-per-second", "1000")
        self.backend.start()
        return self

    def token(self, user):
        if user not in self.tokens:
            self.tokens[user] = self.backend.token(user, SHOP)
        return self.tokens[user]

    def ask(self, method, path, user, body=None, key=None):
        fields = {"Idempotency-Key": key} if key else {}
        return ask(self.backend.port, method, path, self.token(user), body, fields)

    def post(self, user, text, key=None):
        return self.ask("POST", f"{API}/messages", user, {"shop_id": SHOP, "message": text}, key)

    def open(self, user, path=f"{API}/{SHOP}/messages/stream"):
        return upgrade(self.backend.port, path, user and self.token(user))

    def expect(self, deed):
        return DEEDS[deed][self.on_failure == "open"]

    def try_post(self, user, deed):
        """Posts a text, sometimes twice at once, and checks the answers."""
        text, key = f"{deed} {uuid.uuid4()}", str(uuid.uuid4())
        answers, twice = [], random.random() < 0.3
        threads = [threading.Thread(target=lambda: answers.append(self.post(user, text, key)))
                   for _ in range(2 if twice else 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check("answers to posts", len(threads), len(answers))
        for status, fields, body in answers:
            expected = self.expect(deed)
            allowed = {expected, 200} if expected == 201 else {expected}
            check_that(f"status of a post ({deed}): {body[:200]}", status in allowed, allowed, status)
            if status == 403:
                check("reason of a refusal", "no: é \"x\"", json.loads(body)["message"])
            if status == 503:
                check_that("Retry-After of 503", fields["Retry-After"].isdigit(), "seconds", fields["Retry-After"])
        stored = {json.loads(body)["data"]["id"] for status, _, body in answers if status < 300}
        check_that("one message for a key", len(stored) <= 1, "one", stored)
        for name in stored:
            if deed in ("allow", "true", "text"):
                check_that("a stored message was allowed", ("post", name) in self.operator.allowed, name, "another ID")
            self.stored.append((user, text, name))
        self.peer.count(f"posts: {deed}")

    def try_socket(self, deed, number=0):
        status, body, link = self.open(f"{deed}-{number}")
        expected = 101 if self.expect(deed) == 201 else self.expect(deed)
        check(f"status of an upgrade ({deed}): {body[:200]}", expected, status)
        if status == 403:
            check("reason of a refused socket", "no: é \"x\"", json.loads(body)["message"])
        if link:
            link.close()
        self.peer.count(f"sockets: {deed}")
        return link is not None

    def history(self):
        messages, number, has_next = [], 0, True
        while has_next:
            number += 1
            status, _, body = self.ask("GET", f"{API}/{SHOP}/messages/paginated?page={number}&limit=100", "allow")
            check("status of a page", 200, status)
            page = json.loads(body)["data"]
            messages += page["messages"]
            has_next = page["pagination"]["has_next"]
        return [(each["user_id"], each["message"], each["id"]) for each in reversed(messages)]

    def play(self, deeds, seconds):
        """Lets several users post and connect at once."""
        faults, end = [], time.monotonic() + seconds

        def use(number):
            chance = random.Random(self.peer.seed * 100 + number)
            try:
                while time.monotonic() < end:
                    if number % 4:
                        self.try_post(f"user{number}", chance.choice(deeds))
                    else:
                        self.try_socket(chance.choice(deeds), number)
            except Exception as error:
                faults.append(error)

        threads = [threading.Thread(target=use, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if faults:
            raise faults[0]
        self.operator.check()
        check_that("requests at once", self.operator.most <= MOST, f"at most {MOST}", self.operator.most)

    def play_timeouts(self, on_failure):
        """Lets the operator hang, beside other failures."""
        self.serve(on_failure, SHORT).play(FAILURES, self.peer.seconds / 5)
        self.try_post("hanging", "hang")
        self.check_history()
        numbers = metrics(self.backend.port)
        check_that("metrics count timeouts", any('"timed_out"' in name for name in numbers), "timed_out", numbers)

    def check_history(self):
        """The history has what was stored, and the posts of each author in their order."""
        history = self.history()
        check("messages of the history", sorted(self.stored), sorted(history))
        for user in {user for user, _, _ in self.stored}:
            check(f"order of the posts of {user}", [row for row in self.stored if row[0] == user],
                  [row for row in history if row[0] == user])


def play_held(world):
    """A post that waits holds up nobody else, and no post of its author overtakes it."""
    world.serve("closed", LONG)
    for user in ("slow", "quick"):  # before the first post waits, whose time is limited
        world.token(user)
    answers = []
    threads = [threading.Thread(target=lambda text=text: answers.append((text, world.post("slow", text))))
               for text in ("held 1", "allow 2")]
    threads[0].start()
    wait_until("the first post is asked about", lambda: any(deed == "held" for _, deed, _ in world.operator.asked))
    threads[1].start()
    for _ in range(5):
        world.try_post("quick", "allow")
    check("answers to posts that wait", [], answers)
    world.operator.held.set()
    for thread in threads:
        thread.join()
    for text, (status, _, body) in sorted(answers, key=lambda each: each[0] != "held 1"):
        check(f"status of {text}", 201, status)
        world.stored.append(("slow", text, json.loads(body)["data"]["id"]))
    world.check_history()
    # An edit is asked about, too.
    name = world.stored[-1][2]
    status, _, _ = world.ask("PUT", f"{API}/messages", "slow", {"message_id": name, "message": "deny this"})
    check("status of an edit that is denied", 403, status)
    check("the edit was asked about", (True, name), (world.operator.asked[-1][2]["edit"], world.operator.asked[-1][2]["id"]))


def play_routes(world):
    """Phones and sessions are asked about; who has no token is not."""
    for path, route in (("/ws/phone", "phone"), ("/session", "session")):
        status, _, link = world.open(None, path)
        check(f"status of an upgrade of {path}", 101, status)
        check("route of a question", (route, None), (world.operator.asked[-1][2]["route"], world.operator.asked[-1][2]["user"]))
        link.close()
    before = len(world.operator.asked)
    status, _, _ = world.open(None)
    check("status of an upgrade without a token", 401, status)
    check("questions without a token", before, len(world.operator.asked))


def play(peer):
    world = World(peer)
    play_held(world)
    play_routes(world)
    world.play_timeouts("closed")
    world.serve("closed", LONG).play(PROMPT, peer.seconds / 5)
    world.check_history()
    # Each socket that opened is told of once, while the operator is there.
    opened, told = len(world.operator.told), world.try_socket("allow")
    check("a socket opens", True, told)
    wait_until("the end of a socket is told", lambda: len(world.operator.told) > opened)
    check("code of a socket that was cut", 1006, world.operator.told[-1]["code"])
    world.operator.stop()
    for deed in ("allow", "deny"):
        status, _, _ = world.post("away", f"{deed} away")
        check("status while the operator is away", 503, status)
    world.operator.start()
    world.play(["allow", "deny"], peer.seconds / 5)
    world.play_timeouts("open")
    world.serve("open", LONG).play(PROMPT, peer.seconds / 5)
    world.check_history()
    world.operator.stop()
    status, _, body = world.post("away", "deny while away")
    check("status while the operator is away and failures pass", 201, status)
    world.stored.append(("away", "deny while away", json.loads(body)["data"]["id"]))
    world.check_history()
    world.operator.check()
    world.backend.stop()
    with open(peer.path("log"), encoding="utf-8", errors="replace") as log:
        text = log.read()
    check_that("the log has no text", "away" not in text.replace('"user":"away"', ""), "no text", "a text")
    check_that("the log has no secret", world.secret not in text, "no secret", "the secret")
    check_that("the log has failures", '"event":"hook_failed"' in text, "hook_failed", "none")


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
