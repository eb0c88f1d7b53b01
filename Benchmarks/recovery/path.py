"""A phone with two network paths to a server, 50 ms each way, in local network namespaces.

    phone  wlan0 10.1.0.2 -- 50 ms -- 10.1.0.1 wifi  net  203.0.113.10
           cell0 10.2.0.2 -- 50 ms -- 10.2.0.1 cell

Each path is a pair of TAP devices and a thread that delays every packet between them. Connects, TLS and
requests therefore take round trips as in a real network. Needs root and the program `ip`.
"""

import ctypes
import fcntl
import os
import select
import struct
import subprocess
import threading
import time
from collections import deque

SERVER = "203.0.113.10"
ONE_WAY = 0.050
ROUND_TRIP = 2 * ONE_WAY

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TAP_NO_PI = 0x0002 | 0x1000


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def tap(space: str, device: str) -> int:
    """Creates a TAP device in a namespace. Returns a descriptor for reading and writing its packets."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", "rb") as home, open(f"/run/netns/{space}", "rb") as there:
        if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TAP_NO_PI))
        libc.setns(home.fileno(), CLONE_NEWNET)
    return descriptor


class Way:
    """A network path: two TAP devices and the thread that forwards packets between them."""

    def __init__(self, phone: str, device: str, net: str, far: str) -> None:
        self.ends = (tap(phone, device), tap(net, far))
        self.is_blocked = False
        self.syns: list[tuple[float, int]] = []
        self.flows: set[tuple[int, int]] = set()
        self.forgotten: set[tuple[int, int]] = set()
        self.queues: tuple[deque, deque] = (deque(), deque())
        self.is_running = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def forget(self) -> None:
        """Drops packets of all existing flows in both directions, like a NAT whose entries have expired."""
        self.forgotten |= self.flows

    def run(self) -> None:
        while self.is_running:
            due = min((queue[0][0] for queue in self.queues if queue), default=None)
            now = time.monotonic()
            timeout = 0.2 if due is None else max(0.0, due - now)
            for end in select.select(self.ends, [], [], timeout)[0]:
                self.read(self.ends.index(end))
            now = time.monotonic()
            for side, queue in enumerate(self.queues):
                while queue and queue[0][0] <= now:
                    try:
                        os.write(self.ends[1 - side], queue.popleft()[1])
                    except OSError:
                        pass  # The device is down, so the packet is lost, as in a real network.

    def read(self, side: int) -> None:
        while True:
            try:
                packet = os.read(self.ends[side], 65_536)
            except OSError:
                return
            if self.passes(packet, side):
                self.queues[side].append((time.monotonic() + ONE_WAY, packet))

    def passes(self, packet: bytes, side: int) -> bool:
        # The packet contains IPv4 and TCP after the 14 bytes of the Ethernet header.
        if len(packet) >= 54 and packet[12:14] == b"\x08\x00" and packet[23] == 6:
            start = 14 + (packet[14] & 15) * 4
            source, target = struct.unpack("!HH", packet[start:start + 4])
            flow = (source, target) if side == 0 else (target, source)
            if packet[start + 13] & 0x12 == 0x02:
                self.syns.append((time.monotonic(), target))
                self.forgotten.discard(flow)
            self.flows.add(flow)
            if flow in self.forgotten:
                return False
        return not self.is_blocked

    def end(self) -> None:
        self.is_running = False
        self.thread.join()
        for end in self.ends:
            os.close(end)


class Path:
    """Both network paths, the namespaces at their ends, and faults."""

    def __init__(self) -> None:
        self.phone, self.net = f"benchphone-{os.getpid()}", f"benchnet-{os.getpid()}"
        for space in (self.phone, self.net):
            ip("netns", "add", space)
            ip("-n", space, "link", "set", "lo", "up")
        ip("-n", self.net, "addr", "add", f"{SERVER}/32", "dev", "lo")
        self.ways = []
        for number, (device, far, metric) in enumerate([("wlan0", "wifi", 100), ("cell0", "cell", 600)], 1):
            self.ways.append(Way(self.phone, device, self.net, far))
            for space, name, host in [(self.phone, device, 2), (self.net, far, 1)]:
                ip("-n", space, "addr", "add", f"10.{number}.0.{host}/24", "dev", name)
                ip("-n", space, "link", "set", name, "up")
            ip("-n", self.phone, "route", "add", "default", "via", f"10.{number}.0.1",
               "dev", device, "metric", str(metric))

    def __enter__(self) -> "Path":
        return self

    def __exit__(self, *_: object) -> None:
        for way in self.ways:
            way.end()
        for space in (self.phone, self.net):
            pids = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True, check=False)
            for pid in pids.stdout.split():
                try:
                    os.kill(int(pid), 9)
                except ProcessLookupError:
                    pass
            subprocess.run(["ip", "netns", "delete", space], capture_output=True, check=False)

    def start(self, space: str, words: list[str]) -> subprocess.Popen:
        return subprocess.Popen(
            ["ip", "netns", "exec", space, *words], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)

    def kill_sockets(self) -> None:
        """Resets the phone's sockets, as a mobile system does after an app was suspended."""
        subprocess.run(
            ["ip", "netns", "exec", self.phone, "ss", "-K", "dst", SERVER], check=True, capture_output=True)

    def syn(self, port: int, since: float) -> float | None:
        """Returns when the phone first sent a SYN to a port at or after `since`, or None if it did not."""
        return min((at for way in self.ways for at, to in way.syns if to == port and at >= since), default=None)
