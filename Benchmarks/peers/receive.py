"""Receives COUNT messages from a server and prints their rate, or connects COUNT times.

    receive.py URL COUNT [AUTHORITIES]            prints messages per second
    receive.py URL COUNT [AUTHORITIES] --connect  prints the median time of a connect, in microseconds
"""

import asyncio
import ssl
import statistics
import sys
import time

from websockets.asyncio.client import connect

url, count = sys.argv[1], int(sys.argv[2])
rest = [word for word in sys.argv[3:] if word != "--connect"]
context = ssl.create_default_context(cafile=rest[0]) if rest else None


async def receive() -> None:
    async with connect(url, compression=None, ssl=context, ping_interval=None) as socket:
        await socket.send(f"push {count}")
        start, left = time.monotonic(), count
        async for _ in socket:
            left -= 1
            if left == 0:
                break
        print(count / (time.monotonic() - start), flush=True)
        sys.exit(0)


async def connects() -> None:
    times, kept = [], []
    for _ in range(count):
        start = time.monotonic()
        kept.append(await connect(url, compression=None, ssl=context, ping_interval=None))
        times.append((time.monotonic() - start) * 1e6)
    print(statistics.median(times), flush=True)
    sys.exit(0)


asyncio.run(connects() if "--connect" in sys.argv else receive())
