"""The clients of message_client.py against three nodes over PostgreSQL, directly and through haproxy.

Nodes are killed, stopped and frozen, for longer than their leases last. The connections for reports are cut,
and once the primary is killed and its standby promoted. All clients must end with the messages of the server.
With an even seed the reports go over a server of NATS, if one is installed, which is killed and started again.
"""
import asyncio
import os
import shutil
import signal
import time

import nats_server
from message_client import World
from message_wire import Lost, Proxy, Wire, check
from peer import HANG, Backend, haproxy, main
from postgres import Database

HAPROXY = """
global
  maxconn 2000
defaults
  mode http
  timeout connect 2s
  timeout check 10s
  timeout client 75s
  timeout server 75s
  timeout tunnel 75s
  option redispatch 1
  option httpchk GET /readyz
  default-server check inter 1s fall 2 rise 1
frontend front
  bind 127.0.0.1:{port}
  default_backend nodes
backend nodes
  balance leastconn
{servers}
"""


class Cluster:
    """Three nodes, in the form of one backend."""

    template = HAPROXY

    def __init__(self, peer, *options):
        self.peer, self.database, self.nats = peer, Database(peer), None
        if peer.seed % 2 == 0 and "nats" not in peer.without and nats_server.program():
            self.nats = nats_server.Nats(peer)
            peer.count("runs over NATS")
            options = (*options, "--bus", self.nats.url)
        self.options = options
        self.nodes = [Backend(peer, "--database", self.database.url, "--node", name, *options) for name in "abc"]
        for node, name in zip(self.nodes, "abc"):
            node.data = peer.path(f"node-{name}")
        self.front, self.balancer, self.spreads = None, None, False

    def token(self, *words, **options):
        return self.nodes[0].token(*words, **options)

    def cut_reports(self):
        """Ends the connections for reports, or their server for a while."""
        if self.nats:
            self.nats.interrupt(self.peer.chance.choice([0, 1, 5]))
        else:
            self.database.cut_reports()

    @property
    def data(self):
        return self.nodes[0].data

    @property
    def child(self):
        return self.nodes[0].child

    @property
    def port(self):
        """A node, or the balancer. The first node until requests are spread."""
        if not self.spreads:
            return self.nodes[0].port
        if self.front and self.peer.chance.random() < 0.5:
            return self.front
        alive = [n for n in self.nodes if n.child and n.child.poll() is None] or self.nodes
        return self.peer.chance.choice(alive).port

    def start(self):
        first, *others = self.nodes
        first.start()
        for node in others:
            os.makedirs(node.data, 0o700, exist_ok=True)
            for name in ("secret", "session-key"):
                shutil.copy2(os.path.join(first.data, name), os.path.join(node.data, name))
            node.start()
        self.balance()
        return self

    def balance(self):
        program = haproxy()
        if self.front or not program:
            return
        self.front = self.nodes[0].port + 1 if self.nodes[0].port < 65000 else self.nodes[0].port - 500
        servers = "\n".join(f"  server {name} 127.0.0.1:{node.port}" for node, name in zip(self.nodes, "abc"))
        self.peer.write("haproxy.cfg", self.template.format(port=self.front, servers=servers))
        self.start_balancer(program)

    def start_balancer(self, program):
        self.balancer = self.peer.start("-f", self.peer.path("haproxy.cfg"), program=program, stdout=self.peer.log)

    def kill(self):
        for node in self.nodes:
            node.kill()

    def stop(self):
        for node in self.nodes:
            node.child.send_signal(signal.SIGTERM)
        for node in self.nodes:
            check("exit status of serve after SIGTERM", 0, node.child.wait(HANG))


class ClusterWire(Wire):
    """Requests and sockets that go to another node each time."""

    def __init__(self, cluster):
        self.cluster = cluster
        super().__init__(0)

    @property
    def port(self):
        return self.cluster.port

    @port.setter
    def port(self, _):
        pass

    async def ask(self, *words, **options):
        answer = await super().ask(*words, **options)
        if answer.status in (502, 504):
            raise Lost(f"{answer.status} from the balancer, whose node died")
        return answer


class ClusterProxy(Proxy):
    """A proxy to another node each time."""

    def __init__(self, peer, cluster):
        self.cluster = cluster
        super().__init__(peer, 0)

    @property
    def to(self):
        return self.cluster.port

    @to.setter
    def to(self, _):
        pass


class ClusterWorld(World):
    has_gaps = True

    def __init__(self, peer):
        peer.without = [*peer.without, "small"]
        super().__init__(peer)
        self.wire = ClusterWire(self.backend)
        self.has_failed_over = False

    def open_backend(self):
        return Cluster(self.peer, "--log-format", "json", "--log-level", "debug").start()

    def open_proxy(self):
        return ClusterProxy(self.peer, self.backend)

    async def disturb(self):
        chance, database = self.peer.chance, self.backend.database
        self.backend.spreads = True  # the limits of a user hold for each node
        while not self.peer.is_over():
            await asyncio.sleep(min(chance.uniform(0.2, 4), max(0, self.peer.end - time.monotonic())))
            node = chance.choice(self.backend.nodes)
            way = chance.choice(["kills", "kills", "stops", "freezes", "cuts of reports", "failovers"])
            if way in self.peer.without or way == "failovers" and self.has_failed_over:
                continue
            self.peer.count(way)
            if way == "kills":
                node.kill()
            elif way == "stops":
                node.child.send_signal(signal.SIGTERM)
                check("exit status of serve after SIGTERM", 0, await asyncio.to_thread(node.child.wait, HANG))
            elif way == "freezes":
                node.child.send_signal(signal.SIGSTOP)
                await asyncio.sleep(chance.choice([0.5, 3, 12]))
                node.child.send_signal(signal.SIGCONT)
                continue
            elif way == "cuts of reports":
                await asyncio.to_thread(self.backend.cut_reports)
                continue
            else:
                self.has_failed_over = True
                await asyncio.to_thread(database.fail_over)
                continue
            await asyncio.sleep(chance.uniform(0, 2))
            await asyncio.to_thread(node.start)

    async def inspect(self):
        """Does nothing: the database keeps what was deleted as long as its operator wants."""

    def search_data(self, data, texts, when):
        """Searches the phone's files. Those of a node are unfinished uploads, which end with their time."""
        if data != self.backend.data:
            super().search_data(data, texts, when)


def play(peer):
    asyncio.run(ClusterWorld(peer).play())


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
