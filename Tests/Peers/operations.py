"""The commands of docs/operations.md, run in their order on a machine of their own.

Each block of `sh` runs as it stands there, in a checkout. After it, the section's function below verifies its
effect from outside the machine, so that a new section needs a function here. A section of the level ### is an
alternative, which runs on another machine after `Install`.
"""
import asyncio
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import threading
import warnings

from hook_server import Operator
from identity_client import ISSUER, Key, Provider
from machine import Machine, leave_network
from message_wire import API
from peer import HANG, ROOT, Broken, check, check_that, main, wait_for

warnings.simplefilter("ignore", DeprecationWarning)
from websockets.exceptions import ConnectionClosed  # noqa: E402
from websockets.legacy.client import connect  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "operations.md")
NAMES = ("holdfast.example", "id.example", "app.example")
CHECKOUT = "/opt/holdfast"

# What runs in place of a program that the machine of a test cannot have. All others are the real ones.
STAND_INS = {
    "sudo": 'exec "$@"',  # The commands of a test run as root.
    "make": f"""
        if [ "$*" != deb ]; then exec /usr/bin/make "$@"; fi
        # The programs are built. Only their package is made.
        ls {CHECKOUT}/.build/*.deb 2>/dev/null || exec {CHECKOUT}/packaging/debian/build \
          --programs /srv/programs --output {CHECKOUT}/.build --compression none --maintainer 'Peer <peer@holdfast.example>'
        """,
    # The machine cannot download packages, but has them. As in Debian, an installed service is started.
    "apt-get": """
        [ "$1 $2" = "install -y" ] && shift 2 || exit 2
        for name; do dpkg -s "$name" >/dev/null && systemctl start "${name%-light}" || exit 1; done
        """,
}


def sections():
    """Returns the page's headings, each with its level and its blocks of commands."""
    found, block = [], None
    with open(PAGE, encoding="utf-8") as file:
        for line in file:
            if block is not None:
                if line.startswith("```"):
                    found[-1][2].append("".join(block))
                    block = None
                else:
                    block.append(line)
            elif line.startswith("```"):
                check("language of a block", "```sh", line.strip())
                block = []
            elif line.startswith("#"):
                marks, title = line.strip().split(" ", 1)
                found.append((len(marks), title, []))
    return found


class Authority:
    """A certificate authority that the machines trust."""

    def __init__(self, peer):
        self.chain, self.key = peer.path("authority.pem"), peer.path("authority.key")
        self.peer = peer
        self.sign("/CN=Authority", self.chain, self.key, "-addext", "basicConstraints=critical,CA:TRUE")
        self.tls = ssl.create_default_context(cafile=self.chain)

    @staticmethod
    def sign(subject, chain, key, *options):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", subject, "-keyout", key, "-out", chain, *options], check=True, capture_output=True)

    def certify(self, name):
        """Returns the paths of a chain and of its key for a host."""
        chain, key = self.peer.path(f"{name}.pem"), self.peer.path(f"{name}.key")
        self.sign(f"/CN={name}", chain, key, "-CA", self.chain, "-CAkey", self.key,
                  "-addext", f"subjectAltName=DNS:{name}", "-addext", "basicConstraints=critical,CA:FALSE")
        return chain, key

    def server(self, name):
        """Returns the settings of a server with a certificate for a host."""
        settings = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        settings.load_cert_chain(*self.certify(name))
        return settings


class World:
    """The machines, and what the page expects outside of them: an identity provider and the operator's backend."""

    def __init__(self, peer):
        self.peer, self.machines = peer, []
        leave_network()
        self.authority = Authority(peer)
        self.certificate = self.authority.certify(NAMES[0])
        self.machine = self.start()
        for address in (1, 3):
            subprocess.run(["ip", "addr", "add", f"10.77.9.{address}/32", "dev", "lo"], check=True)
        self.provider = Provider(("10.77.9.1", 443), self.authority.server(NAMES[1]))
        self.provider.keys = [Key("RS256")]
        self.operator = Operator(peer, b"", "10.77.9.3", 443, self.authority.server(NAMES[2]))

    def start(self):
        """Starts a machine with what a reader of the page has: a checkout, a certificate, names."""
        machine = Machine(self.peer, len(self.machines) + 1)
        self.machines.append(machine)
        machine.run(f"""
            ip route add default via {machine.outside}
            printf '%s\n' '127.0.0.1 {NAMES[0]}' '10.77.9.1 {NAMES[1]}' '10.77.9.3 {NAMES[2]}' >>/etc/hosts
            """)
        for name, script in STAND_INS.items():
            machine.write(f"/usr/local/bin/{name}", f"#!/bin/bash\n{script}\n", 0o755)
        for name in ("Makefile", "CHANGELOG.md", "packaging"):
            machine.write(f"{CHECKOUT}/.build/checkout", "")
            machine.copy(os.path.join(ROOT, name), f"{CHECKOUT}/{name}")
        for path, name in zip(self.certificate, ("chain.pem", "key.pem")):
            machine.copy(path, f"{CHECKOUT}/{name}")
        machine.copy(self.authority.chain, "/etc/ssl/certs/peer.pem")
        machine.run("""
            cd /etc/ssl/certs
            cat peer.pem >>ca-certificates.crt
            ln -s peer.pem "$(openssl x509 -in peer.pem -noout -subject_hash).0"
            """)
        return machine

    # MARK: - Commands

    def play(self):
        found = sections()
        install = next(blocks for _, title, blocks in found if title == "Install")
        check("sections with commands, and those with functions", sorted(
            (title, len(blocks)) for _, title, blocks in found if blocks), sorted(
            (title, len(functions)) for title, functions in AFTER.items()))
        for level, title, blocks in found:
            if blocks and level > 2:
                self.other(install)
            for block, verify in zip(blocks, AFTER.get(title, [])):
                self.command(block)
                verify(self)
            self.peer.count("sections", 1 if blocks else 0)
            self.machine = self.machines[0]
        for machine in self.machines:
            check("units that failed", "", machine.run("systemctl --failed --quiet --plain --no-legend"))

    def other(self, install):
        """Starts another machine with the package."""
        first, self.machine = self.machine, self.start()
        folder = f"/proc/{first.first}/root{CHECKOUT}/.build"
        for name in os.listdir(folder):
            if name.endswith(".deb"):
                self.machine.copy(f"{folder}/{name}", f"{CHECKOUT}/.build/{name}")
        for block in install:
            self.command(block)

    def command(self, block):
        self.output = self.machine.run(block, folder=CHECKOUT, TOKEN=self.token("ann"))
        lines = re.sub(r"<<'END'.*?^END$", "", block, flags=re.S | re.M).splitlines()
        self.peer.count("commands", len(lines))

    # MARK: - From outside

    def token(self, user):
        return self.provider.token(user, iss=ISSUER) if hasattr(self, "provider") else ""

    def ask(self, path, user=None, body=None, plain=False):
        """Sends a request to the backend under its name. Returns the status and the body of the answer."""
        kind = http.client.HTTPConnection if plain else http.client.HTTPSConnection
        connection = kind(NAMES[0], timeout=HANG, **({} if plain else {"context": self.authority.tls}))
        connection._create_connection = lambda place, *rest: socket.create_connection(
            (self.machine.inside, place[1]), *rest)
        try:
            fields = {"Authorization": f"Bearer {self.token(user)}"} if user else {}
            connection.request("GET" if body is None else "POST", path, body and json.dumps(body).encode(), fields)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def post(self, user, text):
        return self.ask(f"{API}/messages", user, {"shop_id": "bakery", "message": text})[0]

    def is_active(self, *units):
        self.machine.run(f"systemctl is-active {' '.join(units)}")

    # MARK: - Sections

    def installed(self):
        self.is_active("holdfast.socket", "holdfast.service")
        self.machine.run("test $(stat -Lc %a /var/lib/holdfast) = 700 && test $(stat -Lc %U /var/lib/holdfast) != root")

    def configured(self):
        for name in ("trusted-proxy", "allow-host"):
            check_that("output of --check", name in self.output, name, self.output)
        self.is_active("holdfast.service")

    def encrypted(self):
        check("status under the name", 200, self.ask("/")[0])
        check("status without TLS", 301, self.ask("/", plain=True)[0])
        check("status of metrics from outside", 404, self.ask("/metrics")[0])

    def encrypted_without_proxy(self):
        check("status under the name", 200, self.ask("/healthz")[0])

    def identified(self):
        check("status of a post", 201, self.post("ann", "text one"))
        status, _ = self.ask(f"{API}/bakery/messages", None)
        check("status without a token", 401, status)

    def measured(self):
        try:
            socket.create_connection((self.machine.inside, 9464), 5).close()
            raise Broken("metrics from outside", "no connection", "a connection")
        except ConnectionRefusedError:
            pass
        self.until_prometheus("query?query=up", lambda data: [
            each["value"][1] for each in data["result"] if each["metric"]["job"] == "holdfast"] == ["1"])
        self.until_prometheus("rules", lambda data: {
            rule["health"] for group in data["groups"] for rule in group["rules"]} == {"ok"})

    def until_prometheus(self, path, holds):
        def ask():
            text = self.machine.run(f"curl -s '127.0.0.1:9090/api/v1/{path}'", check=False)
            return text.startswith("{") and holds(json.loads(text)["data"])
        wait_for(f"Prometheus tells {path}", HANG, ask, every=0.5)

    def decided(self):
        secret = self.machine.run("cat /var/lib/holdfast/hook-secret").strip()
        self.operator.secret = secret.encode()
        check("status of a post that is allowed", 201, self.post("ann", "allow this"))
        check("status of a post that is denied", 403, self.post("ann", "deny this"))
        self.operator.check()

    def watched(self):
        """Opens a socket of ann, which the next block closes."""
        opened, self.codes = threading.Event(), []

        async def follow():
            stream = await connect(
                f"wss://{NAMES[0]}{API}/bakery/messages/stream", ssl=self.authority.tls, host=self.machine.inside,
                extra_headers={"Authorization": f"Bearer {self.token('ann')}"}, server_hostname=NAMES[0],
                ping_interval=None)
            opened.set()
            try:
                while True:
                    await stream.recv()
            except ConnectionClosed as closed:
                self.codes.append(closed.code)

        threading.Thread(target=lambda: asyncio.run(follow()), daemon=True).start()
        check_that("a socket of ann", opened.wait(HANG), f"it opens within {HANG} s", "none")

    def acted(self):
        for words in ("ann", "closed 1"):
            check_that("output of admin", words in self.output, words, self.output)
        wait_for("ann's socket is closed", HANG, lambda: self.codes)
        check("close code of ann's socket", [4403], self.codes)
        # The command begins a job, which goes on after the socket was closed.
        jobs = "sudo holdfast admin jobs --data /var/lib/holdfast"
        wait_for("the end of the erasure", HANG, lambda: "done" in self.machine.run(jobs), every=0.5)
        self.machine.run("! sudo grep -rqa 'text one' /var/lib/holdfast/")
        texts = self.ask(f"{API}/bakery/messages", "bob")[1].decode()
        check_that("messages", "Closed today" in texts and "text one" not in texts, "only that of shop-bot", texts)


    def backed_up(self):
        check("mode of a backup", "600", self.machine.run(f"stat -c %a {CHECKOUT}/backup.tar").strip())
        check("status of a post after the backup", 201, self.post("bob", "allow after the backup"))

    def restored(self):
        texts = self.ask(f"{API}/bakery/messages", "bob")[1].decode()
        check_that("messages of the backup", "Closed today" in texts and "after the backup" not in texts,
                   "those of the backup alone", texts)
        check("status of a post", 201, self.post("bob", "allow this, too"))

    def retained(self):
        self.is_active("holdfast.service")
        check("status of a post", 201, self.post("bob", "allow this at last"))


# What is verified after each block of a section.
AFTER = {
    "Install": [World.installed], "Configure": [World.configured], "TLS": [World.encrypted],
    "Without a proxy": [World.encrypted_without_proxy], "Identity provider": [World.identified],
    "Metrics, probes and alerts": [World.measured], "Your own backend decides": [World.decided],
    "Act on a running backend": [World.watched, World.acted], "Backup and restore": [World.backed_up, World.restored],
    "Retention": [World.retained]}


def play(peer):
    World(peer).play()


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
