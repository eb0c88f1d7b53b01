"""Opens the sockets of a crowd: followers of many addresses, and phones of one address, up to the maximums.

The numbers of make test are small, so that a busy machine opens all sockets before the first is dropped for its
silence of a minute. With more descriptors than the shell's limit it measures a real crowd:
    ulimit -n 60000; python3 Tests/Peers/crowd.py .build/release/holdfast --sockets 25000 --addresses 60 --phones 2000
"""
import resource
import time
import uuid

from peer import Backend, ask, check, check_that, free_port, main, metrics, upgrade, wait_until

API, SHOP = "/api/v1/auth/shops", "bakery"
SPARE = 200  # descriptors of this program besides those of the sockets


def add(parser):
    parser.add_argument("--sockets", type=int, default=100, help="followers (100)")
    parser.add_argument("--addresses", type=int, default=6, help="their addresses, 127.0.0.2 and so on (6)")
    # More than the 256 connections of an address that are not open sockets.
    parser.add_argument("--phones", type=int, default=260, help="phones of one address (260)")
    parser.add_argument("--descriptors", type=int, help="the limit of the backend (5,000 more than sockets)")


class Crowd:
    def __init__(self, peer):
        self.peer, options = peer, peer.options
        self.sockets, self.phones, self.addresses = options.sockets, options.phones, options.addresses
        self.limit = options.descriptors or self.sockets + 5_000
        self.raise_limit(self.sockets + self.phones + SPARE)
        # A limit of its own for the backend alone, which raises a soft limit to the hard one.
        program = peer.program
        peer.program = peer.write("limited", f'#!/bin/sh\nulimit -n {self.limit}\nexec "{program}" "$@"\n', 0o700)
        self.metrics = free_port()
        self.backend = Backend(
            peer, "--max-streams", self.sockets, "--max-sockets-per-user", self.sockets,
            "--max-phones", self.phones + 1, "--max-phones-per-address", self.phones,
            "--max-sessions", 100, "--metrics-listen", f"127.0.0.1:{self.metrics}").start()
        self.token = self.backend.token("ann", SHOP)

    def raise_limit(self, need):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        check_that("the hard limit on descriptors (ulimit -Hn)",
                   hard == resource.RLIM_INFINITY or hard >= max(need, self.limit), f"{max(need, self.limit)}", hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def follow(self, number):
        """Returns the status of an upgrade, and its socket."""
        status, _, link = upgrade(self.backend.port, f"{API}/{SHOP}/messages/stream", self.token,
                                  source=f"127.0.0.{2 + number % self.addresses}")
        return status, link

    def phone(self, address="127.0.0.1"):
        status, _, link = upgrade(
            self.backend.port, "/ws/phone", fields=[f"Holdfast-Device: {uuid.uuid4()}"], source=address)
        return status, link

    def value(self, name):
        return float(metrics(self.metrics)[name])

    def until(self, name, value):
        """Waits until a metric has a value."""
        wait_until(f"{name} is {value}", lambda: self.value(name) == value)

    def gather_followers(self):
        begun = time.monotonic()
        open_ones = []
        for number in range(self.sockets):
            status, connection = self.follow(number)
            check(f"status of the upgrade of follower {number + 1}", 101, status)
            open_ones.append(connection)
        self.peer.count("followers", self.sockets)
        self.peer.count("ms for each", round((time.monotonic() - begun) * 1000 / self.sockets, 2))
        check("status of one follower too many", 503, self.follow(0)[0])
        open_ones.pop().close()
        self.until('holdfast_ceiling_used{ceiling="streams"}', self.sockets - 1)
        status, connection = self.follow(0)
        check("status of a follower in the place of one that left", 101, status)
        check("the ceiling in use", self.sockets, self.value('holdfast_ceiling_used{ceiling="streams"}'))
        return open_ones + [connection]

    def post(self, open_ones):
        """Posts a message, and reads its frame at each follower."""
        status = ask(self.backend.port, "POST", f"{API}/messages", self.token, {"shop_id": SHOP, "message": "to all"})[0]
        check("status of a post", 201, status)
        for number, each in enumerate(open_ones):
            frame = b""
            while b"to all" not in frame:
                part = each.recv(4096)
                check_that(f"the frame of follower {number + 1}", part, "the message", frame)
                frame += part
        self.peer.count("frames", len(open_ones))

    def gather_phones(self):
        begun = time.monotonic()
        open_ones = []
        for number in range(self.phones):
            status, connection = self.phone()
            check(f"status of the upgrade of phone {number + 1} of one address", 101, status)
            open_ones.append(connection)
        self.peer.count("phones of one address", self.phones)
        self.peer.count("ms for each phone", round((time.monotonic() - begun) * 1000 / self.phones, 2))
        for address, status in ("127.0.0.1", 429), ("127.0.0.2", 101), ("127.0.0.3", 503):
            found, connection = self.phone(address)
            check(f"status of a phone of {address} after {self.phones} of 127.0.0.1", status, found)
            open_ones.append(connection)
        return [each for each in open_ones if each]

    def play(self):
        followers = self.gather_followers()
        self.post(followers)
        phones = self.gather_phones()
        values = metrics(self.metrics)
        check("refused for streams", "1", values['holdfast_refusals_total{reason="streams"}'])
        check("refused for phones", "1", values['holdfast_refusals_total{reason="phones"}'])
        check("refused for phones of one address", "1", values['holdfast_refusals_total{reason="phones_per_address"}'])
        check("the limit of descriptors", str(self.limit), values["process_max_fds"])
        least = self.sockets + self.phones + 1
        check_that("open descriptors", least < int(values["process_open_fds"]) < least + 200, f"about {least}",
                   values["process_open_fds"])
        self.peer.count("MB", round(int(values["process_resident_memory_bytes"]) / 1e6))
        for each in followers + phones:
            each.close()
        self.until('holdfast_ceiling_used{ceiling="streams"}', 0)
        self.until('holdfast_ceiling_used{ceiling="phones"}', 0)
        self.backend.stop()
        self.peer.log.flush()
        with open(self.peer.path("log"), encoding="utf-8") as log:
            warned = "few_descriptors" in log.read()
        need = self.sockets + 1_024 + self.phones + 1 + 101 + 256
        check(f"a warning with {self.limit} descriptors, of which the ceilings need {need}",
              self.limit < need, warned)


def play(peer):
    Crowd(peer).play()


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play, add)
