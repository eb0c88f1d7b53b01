"""Sends messages of 300 bytes to an echo server, with `websockets`.

    echo.py URL COUNT AT_ONCE

Prints the median and the 99th percentile of the round-trip time in microseconds, and the round trips per second.
"""

import asyncio
import sys
import time
from collections import deque

from websockets.asyncio.client import connect

TEXT = "e" * 300
WARM_UP = 50


async def main(url: str, count: int, at_once: int) -> None:
    async with connect(url, compression=None, ping_interval=None) as socket:
        begun = deque()
        times = []
        for _ in range(at_once):
            begun.append(time.perf_counter())
            await socket.send(TEXT)
        for number in range(WARM_UP + count):
            if number == WARM_UP:
                start = time.perf_counter()
            await socket.recv()
            if number >= WARM_UP:
                times.append(time.perf_counter() - begun[0])
            begun.popleft()
            begun.append(time.perf_counter())
            await socket.send(TEXT)
        seconds = time.perf_counter() - start
    times.sort()
    print(times[count // 2] * 1e6, times[int(count * 0.99)] * 1e6, count / seconds)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
