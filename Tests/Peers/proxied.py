"""What a client sees of `holdfast serve` behind a proxy with TLS, for proxy_nginx.py and proxy_caddy.py.

Each runs the proxy with the file that packaging has for operators; only its ports, its host and the paths of
the certificate are replaced.
"""
import asyncio
import http.client
import json
import os
import socket
import ssl
import subprocess
import time
import warnings

from peer import HANG, ROOT, Backend, Broken, check, check_that, end_with_parent, free_port
from message_wire import API, SHOP

warnings.simplefilter("ignore", DeprecationWarning)
from websockets.legacy.client import connect  # noqa: E402


def shipped(path, *changes):
    """Returns a file of packaging with replacements, each of which must apply."""
    with open(os.path.join(ROOT, "packaging", path), encoding="utf-8") as file:
        text = file.read()
    for old, new in changes:
        check_that(f"packaging/{path}", old in text, old, "it is not there")
        text = text.replace(old, new)
    return text


def certificate(peer, name):
    """Makes a certificate of a host with its key. Returns their paths."""
    key, chain = peer.path(f"{name}.key"), peer.path(f"{name}.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
         f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-days", "2", "-keyout", key, "-out", chain],
        check=True, capture_output=True)
    return chain, key


class Proxied:
    """A backend, and a proxy with TLS in front of it."""

    def __init__(self, peer):
        self.peer = peer
        self.backend = Backend(
            peer, "--trusted-proxy", "127.0.0.1", "--allow-host", "localhost").start()
        self.token = self.backend.token("ann", SHOP)
        self.port = free_port()
        self.chain, self.key = certificate(peer, "localhost")
        self.tls = ssl.create_default_context(cafile=self.chain)

    def start(self, *words, **environment):
        """Starts the proxy, and waits until it listens."""
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=self.peer.log, stderr=self.peer.log,
            env={**os.environ, **environment}, preexec_fn=end_with_parent)
        self.peer.children.append(child)
        end = time.monotonic() + HANG
        while time.monotonic() < end and child.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise Broken(f"{words[0]} listens with the shipped file", f"within {HANG} s", child.poll())

    def ask(self, method, path, body=None, fields=None, source="127.0.0.1"):
        """Returns the status and the body of an answer."""
        connection = http.client.HTTPSConnection(
            "localhost", self.port, timeout=HANG, context=self.tls, source_address=(source, 0))
        connection._create_connection = lambda _, *rest: socket.create_connection(("127.0.0.1", self.port), *rest)
        try:
            connection.request(method, path, body, fields or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def fields(self):
        return {"Authorization": f"Bearer {self.token}"}

    async def follow(self):
        """A post through the proxy arrives on a WebSocket through the proxy."""
        url = f"wss://localhost:{self.port}{API}/{SHOP}/messages/stream"
        stream = await connect(
            url, ssl=self.tls, extra_headers=self.fields(), host="127.0.0.1",
            server_hostname="localhost", ping_interval=None)
        for number in range(20):
            text = f"message {number} " + "x" * self.peer.chance.randrange(8_000)
            body = json.dumps({"shop_id": SHOP, "message": text}).encode()
            status, answer = await asyncio.to_thread(
                self.ask, "POST", f"{API}/messages", body, self.fields())
            check(f"status of a post: {answer[:200]!r}", 201, status)
            frame = json.loads(await asyncio.wait_for(stream.recv(), HANG))
            check("the message on the stream", text, frame["message"])
            self.peer.count("messages")
        await stream.close()

    def verify(self):
        asyncio.run(self.follow())
        self.refusals()
        self.addresses()
        for path in ("/metrics", "/healthz", "/livez", "/readyz"):
            check(f"status of {path} from outside", 404, self.ask("GET", path)[0])
        self.stopped()

    def refusals(self):
        """Bodies that are too large are refused by the backend, in its own words."""
        status, answer = self.ask(
            "POST", f"{API}/messages", b'{"message":"' + b"x" * 1_500_000 + b'"}', self.fields())
        check("status of a post of 1.5 MB", 413, status)
        check("status in the answer to a post of 1.5 MB", 413, json.loads(answer)["status"])

    def addresses(self):
        """Clients are told apart by their addresses, whatever they claim."""
        wrong = b"word=nonsense&code=000000"
        claims = [{"X-Forwarded-For": f"192.0.2.{number}", "Forwarded": f"for=192.0.2.{number}"}
                  for number in range(6)]
        statuses = [self.ask("POST", "/api/direct-login", wrong, claim, "127.0.0.2")[0] for claim in claims]
        check("statuses of wrong logins from one address", [401] * 5 + [429], statuses)
        status = self.ask("POST", "/api/direct-login", wrong, claims[0], "127.0.0.3")[0]
        check("status of a wrong login from another address", 401, status)
        self.peer.count("claimed addresses", len(claims))

    def stopped(self):
        """Without a backend the answer is that of a proxy, and after a restart all is well."""
        self.backend.kill()
        status = self.ask("GET", f"{API}/{SHOP}/messages", fields=self.fields())[0]
        check("status without a backend", 502, status)
        self.backend.start()
        end = time.monotonic() + HANG
        while status != 200 and time.monotonic() < end:
            status = self.ask("GET", f"{API}/{SHOP}/messages", fields=self.fields())[0]
        check("status after a restart of the backend", 200, status)
        self.peer.count("restarts")
