"""Clients of other makers against three nodes behind one balancer, while nodes, primary and balancer fail in turn.

Each round has one fault, and at the same time the users of message_client.py, the clients of session_client.py,
a phone of the relay, and two assistants of the official SDK of MCP. Once all are served again and at rest, each
acknowledged message, prompt and question is compared with what became of it.
"""
import asyncio
import collections
import http.client
import random
import signal
import time

import session_client
from cluster_assistant import Assistant, Phone
from cluster_client import Cluster, ClusterWorld
from message_followers import Follower
from message_wire import API, SHOP, check, check_that
from peer import HANG, Broken, haproxy, main, sdk
from session_client import make_handler

# As in docs/cluster.md, where only the node with the role has the relay, assistants and sessions. On a busy machine the
# answer to a check may take longer than a second.
TWO_BACKENDS = """
global
  maxconn 2000
defaults
  mode http
  option forwardfor
  timeout connect 2s
  timeout check 10s
  timeout client 75s
  timeout server 75s
  timeout tunnel 75s
  option redispatch 1
frontend front
  bind 127.0.0.1:{port}
  use_backend every if {{ path_beg /api/v1/auth/shops /api/v1/health /api/sync /api/health /health }}
  default_backend services
backend every
  balance leastconn
  option httpchk GET /healthz
  default-server check inter 1s fall 2 rise 1
{servers}
backend services
  option httpchk GET /healthz/session
  default-server check inter 1s fall 1 rise 1
{servers}
"""
# Each node passes on what it does not serve itself.
ONE_BACKEND = TWO_BACKENDS[:TWO_BACKENDS.index("\nbackend services") + 1].replace(
    "default_backend services", "default_backend every")
SHORT = 3  # seconds of a freeze after which a node still has its lease; --freeze is that of the long one
PAUSE = 0.3  # seconds between two prompts of a client
KINDS = ("posts", "prompts", ("questions", 0), ("questions", 1))
WAYS = {
    "kill of the node with the role": ("kill", True), "kill of another node": ("kill", False),
    "stop of the node with the role": ("stop", True), "stop of another node": ("stop", False),
    "long freeze of the node with the role": ("long_freeze", True),
    "long freeze of another node": ("long_freeze", False),
    "short freeze of the node with the role": ("short_freeze", True), "failover": ("failover", None),
    "restart of the primary": ("restart", None), "short freeze of the primary": ("freeze_primary", None),
    "cut of reports": ("cut", None),
    "kill of the balancer": ("kill_balancer", None),
}
UPGRADE = "upgrade of all nodes"  # only with --former
MOVING = ("kill", "stop", "long_freeze", "upgrade")  # faults that take the role from the node that has it
SLOW = ("failover", "restart", "freeze_primary")  # faults that may last longer than a lease on a busy machine


def is_served(port, path):
    """Returns whether a health check at a port is answered with 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Balanced(Cluster):
    """Three nodes, of which clients see the balancer alone."""

    def __init__(self, peer, *options):
        super().__init__(peer, *options)
        for node in self.nodes:
            node.program = peer.options.former
        self.template = ONE_BACKEND if peer.options.one_backend else TWO_BACKENDS
        if peer.options.one_backend:
            for node in self.nodes:
                port = random.SystemRandom().randrange(10_240, 32_768)
                node.options += ("--cluster-listen", f"127.0.0.1:{port}")

    @property
    def port(self):
        return self.front


class Shops(ClusterWorld):
    """The users of message_client.py, for one round after the other."""

    def __init__(self, torture):
        self.torture = torture
        super().__init__(torture.peer)

    def open_backend(self):
        return self.torture.cluster

    def did(self, what):
        super().did(what)
        self.torture.answered("posts")

    async def hire(self):
        """Makes the clients, and some messages. The first one is deleted, and walks begin at it."""
        token, posts = self.token("wes"), []
        for _ in range(20):
            posts.append(await self.wire.ask(
                "POST", f"{API}/messages", token, {"shop_id": SHOP, "message": self.text()}))
            check(f"status of a post: {posts[-1]}", 201, posts[-1].status)
        self.first, *others = (answer.data["id"] for answer in posts)
        self.posts |= {name: self.Post(answer.data, None, False) for name, answer in zip(others, posts[1:])}
        check("status of a deletion", 200, (await self.wire.ask(
            "DELETE", f"{API}/messages/{self.first}", token)).status)
        self.proxy = await self.open_proxy().start()
        await self.employ()
        self.followers += [Follower(self, f"eve-{number}") for number in range(self.peer.options.followers - 2)]

    def begin(self):
        """Starts the clients. Returns the tasks of those that write, and of those that follow."""
        self.is_calm = self.proxy.is_calm = False
        writers = [*(writer.run() for writer in self.writers), self.wander()]
        return writers, [follower.run() for follower in (*self.followers, self.original)]


class Speaker(session_client.Client):
    """A client of session_client.py that counts its answers, and leaves the machine time for other clients."""

    written = 0.0

    async def write(self):
        if time.monotonic() > self.written + PAUSE:
            self.written = time.monotonic()
            await super().write()

    async def answered(self, *words):
        await super().answered(*words)
        self.world.torture.answered("prompts")


class Prompts(session_client.World):
    """The clients of session_client.py, new ones in each round."""

    def __init__(self, torture):
        self.torture = torture
        super().__init__(torture.peer)

    def open_backend(self):
        return self.torture.cluster

    # While a fault lasts, any moment may be that of its effect: each look at these numbers is before the next one.

    @property
    def kills(self):
        return self.torture.moment(True)

    @kills.setter
    def kills(self, _):
        pass

    @property
    def stops(self):
        return self.torture.moment(self.torture.may_interrupt)

    @stops.setter
    def stops(self, _):
        pass

    def begin(self):
        super().begin()
        self.mark, self.is_calm = f"{self.peer.seed}-{self.torture.round}", False
        self.clients = [Speaker(self, number) for number in range(3)]


class Torture:
    def __init__(self, peer):
        self.peer, self.round, self.epochs, self.is_shaken, self.may_interrupt = peer, 0, 0, False, False
        self.begin_count()
        self.cluster = Balanced(
            peer, "--log-format", "json", "--log-level", "debug", "--trusted-proxy", "127.0.0.1/32",
            "--session-handler", make_handler(peer)).start()
        self.shops, self.prompts, self.phone = Shops(self), Prompts(self), Phone(self)
        self.assistants = [Assistant(self, 0, True), Assistant(self, 1, False)]

    @property
    def front(self):
        return self.cluster.front

    def moment(self, counts):
        """Returns a number that grows while a fault lasts that counts."""
        self.epochs += self.is_shaken and counts
        return self.epochs

    # Figures

    def begin_count(self):
        """Forgets what was answered before."""
        now = time.monotonic()
        self.marks = {kind: (now, 0, 0) for kind in KINDS}  # when the last answer was, the longest wait, the answers
        self.begun, self.fresh = now, dict.fromkeys(KINDS, 0)

    def answered(self, kind, begun=None):
        (last, longest, number), now = self.marks[kind], time.monotonic()
        self.marks[kind] = (now, max(longest, now - last), number + 1)
        self.fresh[kind] += begun is None or begun >= self.begun

    async def served(self, what, number):
        """Waits until each kind of client was answered so often after this moment."""
        self.begun, self.fresh = time.monotonic(), dict.fromkeys(KINDS, 0)
        while missing := [kind for kind in KINDS if self.fresh[kind] < number]:
            check_that(f"all clients are served {what}", time.monotonic() < self.begun + HANG, f"within {HANG} s",
                       f"no answers: {missing}, {[a.errors[-3:] for a in self.assistants]}")
            await self.watch()
        return time.monotonic()

    # Tasks

    async def watch(self):
        """Waits for a moment, fails if a client has failed, and begins sessions anew that may have ended."""
        await asyncio.wait(self.tasks, timeout=0.05, return_when=asyncio.FIRST_EXCEPTION)
        for task in self.tasks:
            if task.done():
                task.result()
        for assistant in self.assistants:
            if assistant.is_lost and assistant.asking.done():
                is_meant = not self.peer.options.one_backend and self.may_interrupt
                check_that(f"the SDK's session after a {self.way}", is_meant, "it goes on", assistant.errors[-1:])
                self.peer.count("sessions of the SDK that ended with their node")
                await assistant.enter(self.phone)
                assistant.asking, = self.start(assistant.run())

    def start(self, *works):
        tasks = [asyncio.create_task(work) for work in works]
        self.tasks += tasks
        return tasks

    async def rest(self, tasks, what):
        """Waits until clients have come to their end."""
        limit = time.monotonic() + HANG
        while not all(task.done() for task in tasks):
            check_that(f"{what} come to rest", time.monotonic() < limit, f"within {HANG} s", "they do not")
            await self.watch()

    # Faults

    @staticmethod
    def holders(nodes):
        """Returns those nodes that say that they have the role."""
        return [node for node in nodes if is_served(node.port, "/healthz/session")]

    async def healthy(self, what):
        """Waits until all nodes serve, and one has the role. Returns it."""
        limit = time.monotonic() + HANG
        while True:
            states = await asyncio.to_thread(lambda: [is_served(port, "/healthz") for port in (
                self.front, *(node.port for node in self.cluster.nodes))])
            holders = await asyncio.to_thread(self.holders, self.cluster.nodes)
            if all(states) and len(holders) == 1:
                return holders[0]
            check_that(f"all nodes serve {what}, and one has the role", time.monotonic() < limit, f"within {HANG} s",
                       (states, len(holders)))
            await asyncio.sleep(0.1)

    async def fail(self, way, node):
        """Makes one fault, and repairs what it has broken."""
        database, chance = self.cluster.database, self.peer.chance
        if way == "kill":
            others = [other for other in self.cluster.nodes if other is not node]
            takes_over = is_served(node.port, "/healthz/session") and chance.random() < 0.5
            node.kill()
            await asyncio.sleep(chance.uniform(0, 2))
            limit = time.monotonic() + HANG
            while takes_over and not await asyncio.to_thread(self.holders, others):
                check_that("another node takes the role", time.monotonic() < limit, f"within {HANG} s", "none does")
                await asyncio.sleep(0.1)
            await asyncio.to_thread(node.start)
        elif way == "stop":
            await self.restart(node)
        elif way == "upgrade":
            for node in chance.sample(self.cluster.nodes, 3):
                node.program = None
                await self.restart(node)
                await self.healthy(f"in an {UPGRADE}")
        elif way in ("long_freeze", "short_freeze"):
            node.child.send_signal(signal.SIGSTOP)
            await asyncio.sleep(self.peer.options.freeze if way == "long_freeze" else SHORT)
            node.child.send_signal(signal.SIGCONT)
        elif way == "failover":
            killed = await asyncio.to_thread(database.fail_over)
            await asyncio.to_thread(database.rebuild, killed)
        elif way == "restart":
            await asyncio.to_thread(database.restart)
        elif way == "freeze_primary":
            await asyncio.to_thread(database.primary.freeze, SHORT)
        elif way == "cut":
            await asyncio.to_thread(database.cut_reports)
        else:
            self.cluster.balancer.kill()
            self.cluster.balancer.wait()
            await asyncio.sleep(chance.uniform(0, 2))
            self.cluster.start_balancer(haproxy())

    @staticmethod
    async def restart(node):
        node.child.send_signal(signal.SIGTERM)
        check("exit status of serve after SIGTERM", 0, await asyncio.to_thread(node.child.wait, HANG))
        await asyncio.to_thread(node.start)

    # Rounds

    async def play_round(self, name):
        self.round, self.way = self.round + 1, name
        way, has_role = WAYS.get(name, ("upgrade", True))
        self.tasks = self.start_all()
        self.begin_count()
        await self.served("before a fault", 2)
        holder = await self.healthy("before a fault")
        node = holder if has_role else self.peer.chance.choice([n for n in self.cluster.nodes if n is not holder])
        self.begin_count()
        shaken = time.monotonic()
        self.is_shaken, self.may_interrupt = True, has_role and way in MOVING or way in SLOW
        fault, = self.start(self.fail(way, node))
        while not fault.done():
            await self.watch()
        await self.healthy(f"after a {name}")
        calm = await self.served(f"after a {name}", 3)
        figures = dict(self.marks)
        self.is_shaken = self.may_interrupt = False
        await self.settle()
        self.judge(shaken, calm)
        self.say(name, figures, calm - shaken)

    def start_all(self):
        self.tasks, self.peer.end = [], time.monotonic() + 1e6
        self.prompts.begin()
        writers, followers = self.shops.begin()
        self.writers, self.followers = self.start(*writers), self.start(*followers)
        self.speakers = self.start(*(self.prompts.play(client) for client in self.prompts.clients))
        for assistant in self.assistants:
            assistant.is_over, assistant.errors = False, []
            assistant.asking, = self.start(assistant.run())
        self.start(self.phone.run())
        return self.tasks

    async def settle(self):
        """Lets all clients come to rest, and compares what they know with what the nodes have."""
        self.peer.end = time.monotonic()
        self.prompts.is_calm = True
        for assistant in self.assistants:
            assistant.is_over = True
        await self.rest(self.writers, "writers")
        await self.rest(self.speakers, "clients of sessions")
        await self.rest(self.start(self.shops.settle(self.followers)), "followers")
        await self.rest(self.start(self.prompts.histories()), "histories")
        self.prompts.check_runs()
        await self.rest([assistant.asking for assistant in self.assistants], "assistants")
        await self.dismiss()

    async def dismiss(self):
        # A wait with a time-out can lose a cancellation.
        while pending := [task for task in self.tasks if not task.done()]:
            for task in pending:
                task.cancel()
            await asyncio.wait(pending, timeout=1)

    def judge(self, shaken, calm):
        """Checks that questions were refused only because of the fault."""
        for assistant in self.assistants:
            late = [error for error in assistant.errors if error[2] < shaken or error[1] > calm]
            check_that(f"refusals of questions while nothing fails, after a {self.way}", not late, "none", late)

    def say(self, name, figures, seconds):
        (_, posts, _), (_, prompts, _), (_, one, _), (_, two, _) = figures.values()
        refusals = collections.Counter(error[0] for assistant in self.assistants for error in assistant.errors)
        print(f"cluster_torture: round {self.round}, {name}: no answer to posts for {posts:.1f} s, "
              f"prompts {prompts:.1f} s, questions {one:.1f} and {two:.1f} s; all are served after {seconds:.1f} s, "
              f"in which were answered {figures['posts'][2]} posts, {figures['prompts'][2]} prompts, "
              f"{sum(figures[kind][2] for kind in KINDS[2:])} questions; refused questions: "
              f"{dict(refusals) or 'none'}", flush=True)
        self.peer.count("rounds")

    async def play(self):
        # The order of the faults depends on the seed alone.
        options, chance = self.peer.options, random.Random(self.peer.seed)
        deck = [UPGRADE] if options.former else []
        await self.healthy("at first")
        await self.shops.hire()
        self.tasks, limit = [], time.monotonic() + self.peer.seconds
        self.start(self.phone.run())
        for assistant in self.assistants:
            await assistant.enter(self.phone)
        await self.dismiss()
        try:
            while self.round < options.rounds if options.rounds else self.round == 0 or time.monotonic() < limit:
                if not deck:
                    deck = [name for name in WAYS if name not in self.peer.without]
                    chance.shuffle(deck)
                await self.play_round(deck.pop())
        except Broken as error:
            raise Broken.of([f"round {self.round}, {self.way}", error]) from error
        finally:
            await self.dismiss()
            for assistant in self.assistants:
                await assistant.end()


def play(peer):
    check_that("the SDK of MCP and haproxy", sdk() and haproxy(), "installed", (sdk(), haproxy()))
    asyncio.run(Torture(peer).play())


def add(parser):
    parser.add_argument("--rounds", type=int, default=0, help="how many faults (as many as begin in --seconds)")
    parser.add_argument("--former", metavar="PROGRAM",
                        help="an older holdfast, with which all nodes begin; the first fault is their upgrade")
    parser.add_argument("--followers", type=int, default=2, help="how many sockets follow the shop (2)")
    parser.add_argument("--freeze", type=float, default=12,
                        help="seconds of a long freeze, in which a node loses its lease (12)")
    parser.add_argument("--one-backend", action="store_true",
                        help="each node has --cluster-listen, and the balancer one backend")


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play, add)
