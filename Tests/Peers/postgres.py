"""A PostgreSQL primary with its synchronous standby, for peers. Their files end with the run."""
import os
import pwd
import shutil
import subprocess
import tempfile
import time

from peer import check_that, end_with_parent

ROOT = "/usr/lib/postgresql"


def programs():
    """Returns the newest directory with the server's programs; None if there is none."""
    versions = sorted((int(v) for v in os.listdir(ROOT) if v.isdigit()), reverse=True) if os.path.isdir(ROOT) else []
    return f"{ROOT}/{versions[0]}/bin" if versions else None


class Server:
    """One server, which is killed as a power failure would."""

    def __init__(self, database, name):
        self.database, self.path, self.child, self.settings = database, os.path.join(database.path, name), None, []

    def start(self):
        words = [f"listen_addresses=", f"unix_socket_directories={self.path}", "max_connections=200",
                 "shared_buffers=32MB", *self.settings]
        options = [part for word in words for part in ("-c", word)]
        limit = time.monotonic() + 20
        while True:  # children of a killed server may still hold its files
            self.child = subprocess.Popen(
                [*self.database.command("postgres"), "-D", f"{self.path}/data", *options],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                preexec_fn=end_with_parent)
            for line in self.child.stderr:
                if "ready to accept" in line:
                    log = open(os.path.join(self.path, "log"), "ab")
                    subprocess.Popen(["cat"], stdin=self.child.stderr, stdout=log, preexec_fn=end_with_parent)
                    return
            self.child.wait()
            check_that("PostgreSQL starts", time.monotonic() < limit, "within 20 s", "it ends")
            time.sleep(0.1)

    def kill(self):
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()

    def run(self, program, *words):
        return subprocess.run([*self.database.command(program), *words], check=True, capture_output=True, text=True)


class Database:
    """A primary and its standby. Commits are acknowledged when both have them.

    Their files are in memory, if possible, or in the given directory.
    """

    def __init__(self, peer, directory=None, settings=()):
        self.peer, self.is_root = peer, os.geteuid() == 0
        self.path = tempfile.mkdtemp(
            prefix="holdfast-peer-pg-", dir=directory or ("/dev/shm" if self.is_root else None))
        self.primary, self.standby = Server(self, "a"), Server(self, "b")
        self.hosts = f"{self.primary.path},{self.standby.path}"
        peer.at_end.append(self.leave)
        self.own(self.path)
        os.mkdir(self.primary.path, 0o700)
        self.own(self.primary.path)
        self.primary.run("initdb", "-D", f"{self.primary.path}/data", "-U", "test", "-A", "trust", "--no-sync",
                         "--no-instructions", "--locale=C", "-E", "UTF8")
        subprocess.run(["cp", "-a", self.primary.path, self.standby.path], check=True)
        open(f"{self.standby.path}/data/standby.signal", "w", encoding="ascii").close()
        self.own(f"{self.standby.path}/data/standby.signal")
        self.primary.settings = [*settings, "synchronous_standby_names=standby"]
        self.standby.settings = [
            *settings, f"primary_conninfo=host={self.primary.path} user=test application_name=standby"]
        self.primary.start()
        self.standby.start()

    @property
    def url(self):
        return f"postgres://test@/postgres?host={self.hosts}"

    def command(self, program):
        words = [f"{programs()}/{program}"]
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words] if self.is_root else words

    def own(self, path):
        if self.is_root:
            user = pwd.getpwnam("postgres")
            os.chown(path, user.pw_uid, user.pw_gid)

    def fail_over(self):
        """Kills the primary and promotes the standby, which goes on alone."""
        self.primary.kill()
        self.standby.run("pg_ctl", "promote", "-w", "-D", f"{self.standby.path}/data")
        self.primary, self.standby = self.standby, None

    def query(self, text):
        """Returns what the primary answers, as text."""
        return self.primary.run(
            "psql", "-h", self.primary.path, "-U", "test", "-d", "postgres", "-qAtc", text).stdout.strip()

    def cut_reports(self):
        """Ends the connections over which nodes report to each other."""
        self.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_notify%'"
                   " AND pid <> pg_backend_pid()")

    def leave(self, _):
        for server in (self.primary, self.standby):
            if server:
                server.kill()
        shutil.rmtree(self.path, ignore_errors=True)
