"""Measures the time from "path restored" to "timeline complete" for three clients, over 50 ms each way.

    recovery.py HOLDFAST-BENCH TROUBLE [--tls]

Holdfast, the reconnecting iterator of `websockets`, and `python-socketio` each follow their own shop while
15 messages per second are posted to each shop. All of them experience the same fault at the same time:

    cut       no packet passes for a second; then the phone's sockets are reset, and the path works again
    handover  no packet passes for a second; then Wi-Fi is down, and only the cellular path remains
    half-open the path silently drops the packets of existing flows; new flows work
    restart   the servers are killed, and restarted after half a second
    relaunch  the client is killed, and restarted with its stored data after a second (Holdfast only)

All clients treat two seconds of silence as a dead link. Prints one JSON object for each client: the round
trips to the complete timeline from the restored path (`whole`) and from the first packet of the attempt
(`tried`), and the numbers of messages that were lost and shown twice. A client that catches up is complete
when it has shown the missed messages. A client that does not catch up is complete when it has reconnected.
"""

import ctypes
import http.client
import json
import os
import signal
import ssl
import sys
import tempfile
import threading
import time

from follower import Follower, make_certificate
from path import CLONE_NEWNET, ONE_WAY, ROUND_TRIP, SERVER, Path, ip

PATIENCE = 2.0
# With this pause, the missed messages fit into one page of 100.
PAUSE = 1 / 15
HERE = os.path.dirname(os.path.abspath(__file__))


class Shop:
    """A server, the thread that posts to it, and the accepted messages."""

    def __init__(self, path: Path, words: list[str], port: int, route: str, is_tls: bool) -> None:
        self.path, self.words, self.port, self.route, self.is_tls = path, words, port, route, is_tls
        self.token = ""
        self.acknowledged: list[tuple[float, str]] = []
        self.may_post = threading.Event()
        self.is_over = False
        self.start()
        self.poster = threading.Thread(target=self.post, daemon=True)
        self.poster.start()

    def start(self) -> None:
        self.process = self.path.start(self.path.net, self.words)
        if self.process.stdout.readline().startswith("http"):
            self.token = self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def post(self) -> None:
        with open(f"/run/netns/{self.path.net}", "rb") as space:
            ctypes.CDLL(None).setns(space.fileno(), CLONE_NEWNET)
        connection, number = None, 0
        while not self.is_over:
            self.may_post.wait()
            number += 1
            try:
                if connection is None:
                    connection = self.connect()
                text = f"m{number}"
                body = json.dumps({"shop_id": "bench", "message": text}) if self.token else text
                connection.request("POST", self.route, body, {
                    "Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                if answer.status in (200, 201):
                    self.acknowledged.append((time.monotonic(), text))
            except OSError:
                connection = None
            except http.client.HTTPException:
                connection = None
            time.sleep(PAUSE)

    def connect(self) -> http.client.HTTPConnection:
        if not self.is_tls:
            return http.client.HTTPConnection(SERVER, self.port, timeout=2)
        # The poster runs on the server's side, and certificate validation is not measured.
        return http.client.HTTPSConnection(
            SERVER, self.port, timeout=2, context=ssl._create_unverified_context())


class Rig:
    """Three clients, each with its own server."""

    def __init__(self, path: Path, program: str, folder: str, is_tls: bool) -> None:
        self.path, self.folder = path, folder
        tls = [f"{folder}/server.pem", f"{folder}/server.key"] if is_tls else []
        if is_tls:
            make_certificate(folder)
        http_, ws = ("https", "wss") if is_tls else ("http", "ws")
        backend = [program, "shop-server", "--host", SERVER, "--ping-interval", "1s"]
        if is_tls:
            backend += ["--tls-cert", tls[0], "--tls-key", tls[1]]
        route = "/api/v1/auth/shops/messages"
        self.shops = {
            "holdfast": Shop(
                path, [*backend, "--port", "7001", "--data", f"{folder}/a"], 7001, route, is_tls),
            "websockets": Shop(
                path, [*backend, "--port", "7002", "--data", f"{folder}/b"], 7002, route, is_tls),
            "socketio": Shop(
                path, [sys.executable, f"{HERE}/socketio_server.py", SERVER, "7003", str(PATIENCE), *tls],
                7003, "/post", is_tls),
        }
        authorities = tls[0] if is_tls else "none"
        trust = ["--authorities", authorities] if is_tls else []
        self.words = {
            "holdfast": [
                program, "follow", f"{http_}://{SERVER}:7001", "--token", self.shops["holdfast"].token,
                "--data", f"{folder}/phone", "--set", f"liveness.silence={PATIENCE:g}s", *trust],
            "websockets": [
                sys.executable, f"{HERE}/websockets_client.py", f"{ws}://{SERVER}:7002/api/v1/auth/shops/bench/messages/stream",
                self.shops["websockets"].token, authorities, str(PATIENCE)],
            "socketio": [
                sys.executable, f"{HERE}/socketio_client.py", f"{http_}://{SERVER}:7003", authorities],
        }
        self.followers = {name: Follower(path, words) for name, words in self.words.items()}
        # The followers that a relaunch ended.
        self.former: list[Follower] = []
        self.restored = {name: 0.0 for name in self.words}
        for name, follower in self.followers.items():
            if follower.opens(0.0, 20) is None:
                raise RuntimeError(f"{name} never connected")
        self.post(True)
        time.sleep(1)

    def post(self, is_on: bool) -> None:
        for shop in self.shops.values():
            shop.may_post.set() if is_on else shop.may_post.clear()

    def restore(self) -> None:
        self.restored = {name: time.monotonic() for name in self.words}

    def cut(self) -> None:
        self.block()
        self.path.ways[0].is_blocked = False
        self.restore()
        self.path.kill_sockets()

    def handover(self) -> None:
        self.block()
        self.restore()
        ip("-n", self.path.phone, "link", "set", "wlan0", "down")

    def block(self) -> None:
        self.path.ways[0].is_blocked = True
        time.sleep(1)

    def half_open(self) -> None:
        self.path.ways[0].forget()
        self.restore()

    def restart(self) -> None:
        self.post(False)
        time.sleep(0.1)
        for shop in self.shops.values():
            shop.kill()
        time.sleep(0.5)
        for name, shop in self.shops.items():
            shop.start()
            self.restored[name] = time.monotonic()
        self.post(True)

    def relaunch(self) -> None:
        for name in ("websockets", "socketio"):
            self.followers.pop(name).kill()
        self.former.append(self.followers["holdfast"])
        self.former[0].kill()
        time.sleep(1)
        self.restore()
        self.followers["holdfast"] = Follower(self.path, self.words["holdfast"])

    def play(self, trouble: str) -> list[dict]:
        began = time.monotonic()
        getattr(self, trouble.replace("-", "_"))()
        opened = {name: f.opens(self.restored[name], 30) for name, f in self.followers.items()}
        time.sleep(1)
        self.post(False)
        time.sleep(1)
        return [self.result(name, began, opened[name]) for name in self.followers]

    def result(self, name: str, began: float, opened: float | None) -> dict:
        follower, shop, restored = self.followers[name], self.shops[name], self.restored[name]
        shown = dict((text, at) for at, text in reversed(follower.shown))
        kept = {text for former in self.former for _, text in former.shown}
        if opened is None:
            return {"client": name, "obstacle": "did not connect again within 30 s"}
        missed = [text for at, text in shop.acknowledged if began - 0.2 < at < opened - ONE_WAY]
        whole = max([opened, *(shown[text] for text in missed if text in shown)])
        tried = self.path.syn(shop.port, restored - ONE_WAY)
        return {
            "client": name,
            "whole": (whole - restored) / ROUND_TRIP,
            "tried": (whole - tried) / ROUND_TRIP if tried else None,
            "missed": len(missed),
            "lost": sum(text not in shown and text not in kept for _, text in shop.acknowledged),
            "twice": len(follower.shown) - len(shown),
        }


def main(program: str, trouble: str, *flags: str) -> None:
    with tempfile.TemporaryDirectory() as folder, Path() as path:
        rig = Rig(path, program, folder, "--tls" in flags)
        for result in rig.play(trouble):
            print(json.dumps(result), flush=True)
        for shop in rig.shops.values():
            shop.is_over = True
            shop.may_post.set()


main(os.path.abspath(sys.argv[1]), *sys.argv[2:])
