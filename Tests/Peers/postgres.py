"""A PostgreSQL primary with its synchronous standby, for peers. Their files end with the run."""
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from peer import HANG, check_that, end_with_parent

ROOT = "/usr/lib/postgresql"


def programs():
    """Returns the newest directory with the server's programs; None if there is none."""
    versions = sorted((int(v) for v in os.listdir(ROOT) if v.isdigit()), reverse=True) if os.path.isdir(ROOT) else []
    return f"{ROOT}/{versions[0]}/bin" if versions else None


def is_in(process, folder):
    """Returns whether a process works in a folder."""
    try:
        return os.readlink(f"/proc/{process}/cwd") == folder
    except OSError:
        return False


def processes(folder):
    """Returns the processes that work in a folder."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and is_in(name, folder)]


class Server:
    """One server, which is killed as a power failure would."""

    def __init__(self, database, name):
        self.database, self.path, self.child, self.settings = database, os.path.join(database.path, name), None, []

    def start(self):
        words = [f"listen_addresses=", f"unix_socket_directories={self.path}", "max_connections=200",
                 "shared_buffers=32MB", "wal_retrieve_retry_interval=200ms",
                 "wal_receiver_status_interval=1s", *self.settings]
        options = [part for word in words for part in ("-c", word)]
        limit = time.monotonic() + HANG
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
            check_that("PostgreSQL starts", time.monotonic() < limit, f"within {HANG} s", "it ends")
            time.sleep(0.1)

    def kill(self):
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()

    def kill_all(self):
        """Kills the server, and waits for the processes that work for it."""
        self.kill()
        limit = time.monotonic() + HANG
        while processes(f"{self.path}/data"):
            check_that("processes of a killed PostgreSQL end", time.monotonic() < limit, f"within {HANG} s", "they run")
            time.sleep(0.02)

    def freeze(self, seconds):
        """Stops the server and the processes that work for it for some time."""
        stopped = processes(f"{self.path}/data")
        for number, wait in ((signal.SIGSTOP, seconds), (signal.SIGCONT, 0)):
            for process in stopped:
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    pass
            time.sleep(wait)

    def ask(self, query):
        return self.run("psql", "-h", self.path, "-U", "test", "-d", "postgres", "-qAtc", query).stdout.strip()

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
        self.settings = settings
        self.primary.settings = [*settings, "synchronous_standby_names=standby"]
        self.primary.start()
        self.start_standby()

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

    def start_standby(self):
        self.standby.settings = [
            *self.settings, f"primary_conninfo=host={self.primary.path} user=test application_name=standby"]
        self.standby.start()

    def fail_over(self):
        """Kills the primary and promotes the standby, which goes on alone. Returns the server that was killed."""
        killed = self.primary
        killed.kill()
        self.standby.run("pg_ctl", "promote", "-w", "-D", f"{self.standby.path}/data")
        self.primary, self.standby = self.standby, None
        return killed

    def rebuild(self, killed):
        """Makes a killed server the synchronous standby of the present primary."""
        killed.kill_all()
        shutil.rmtree(f"{killed.path}/data")
        killed.run("pg_basebackup", "-h", self.primary.path, "-U", "test", "-D", f"{killed.path}/data", "-c", "fast",
                   "--no-sync")
        for name in ("standby.signal", "postgresql.auto.conf"):  # the names of standbys are those of the primary
            open(f"{killed.path}/data/{name}", "w", encoding="ascii").close()
            self.own(f"{killed.path}/data/{name}")
        self.standby = killed
        self.start_standby()
        self.wait_for("streaming|async")  # until then each commit would wait
        self.primary.ask("ALTER SYSTEM SET synchronous_standby_names = standby")
        self.primary.ask("SELECT pg_reload_conf()")
        self.wait_for("streaming|sync")

    def wait_for(self, state):
        limit = time.monotonic() + HANG
        while (found := self.primary.ask("SELECT state, sync_state FROM pg_stat_replication")) != state:
            check_that("state of a standby", time.monotonic() < limit, f"{state} within {HANG} s", found)
            time.sleep(0.05)

    def restart(self):
        """Kills the primary, and starts it in its place."""
        self.primary.kill_all()
        self.primary.start()

    def cut_reports(self):
        """Ends the connections over which nodes report to each other."""
        self.primary.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_notify%'"
                         " AND pid <> pg_backend_pid()")

    def leave(self, _):
        for server in (self.primary, self.standby):
            if server:
                server.kill()
        shutil.rmtree(self.path, ignore_errors=True)
