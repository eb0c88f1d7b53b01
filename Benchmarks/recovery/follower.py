"""Code shared by the programs of this folder: a client's process with timed output, and a certificate."""

import subprocess
import threading

from path import SERVER, Path


class Follower:
    """A client's process, and the times of its output lines."""

    def __init__(self, path: Path, words: list[str]) -> None:
        self.opened: list[float] = []
        self.shown: list[tuple[float, str]] = []
        self.is_open = False
        self.changed = threading.Condition()
        self.process = path.start(path.phone, words)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.process.stdout:
            at, kind, *rest = line.split()
            with self.changed:
                if kind == "message":
                    self.shown.append((int(at) / 1e9, rest[-1]))
                elif kind == "open" or rest[:1] == ["CONNECTED"]:
                    if not self.is_open:
                        self.opened.append(int(at) / 1e9)
                    self.is_open = True
                else:
                    self.is_open = False
                self.changed.notify_all()

    def opens(self, since: float, patience: float) -> float | None:
        """Returns when the client first connected after `since`, or None if it does not within `patience`."""
        with self.changed:
            self.changed.wait_for(lambda: any(at > since for at in self.opened), patience)
            return min((at for at in self.opened if at > since), default=None)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def make_certificate(folder: str) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-subj", "/CN=server", "-addext", f"subjectAltName=IP:{SERVER}", "-days", "2",
         "-keyout", f"{folder}/server.key", "-out", f"{folder}/server.pem"],
        check=True, capture_output=True)
