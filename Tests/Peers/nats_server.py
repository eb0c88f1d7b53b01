"""A server of NATS for the reports between nodes. It ends with the run."""
import os
import random
import shutil
import socket
import subprocess
import time

from peer import HANG, check_that, end_with_parent


def program():
    """Returns the path of the server; None if it is not installed."""
    return shutil.which("nats-server", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class Nats:
    """One server, which keeps its port when it is killed and started again."""

    def __init__(self, peer):
        self.log, self.child = open(peer.path("nats.log"), "ab"), None
        self.port = random.SystemRandom().randrange(10_240, 32_768)
        peer.at_end.append(self.leave)
        self.start()

    @property
    def url(self):
        """The address, behind one where nothing listens."""
        return f"nats://127.0.0.1:1,nats://127.0.0.1:{self.port}"

    def start(self):
        self.child = subprocess.Popen(
            [program(), "-a", "127.0.0.1", "-p", str(self.port)], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, preexec_fn=end_with_parent)
        limit = time.monotonic() + HANG
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                check_that("NATS starts", time.monotonic() < limit and self.child.poll() is None, f"within {HANG} s",
                           "it does not accept connections")
                time.sleep(0.05)

    def interrupt(self, pause):
        """Kills the server, and starts it again after some seconds."""
        self.child.kill()
        self.child.wait()
        time.sleep(pause)
        self.start()

    def leave(self, _):
        self.child.kill()
        self.child.wait()
        self.log.close()
