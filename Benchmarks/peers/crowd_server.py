"""The server of the transport benchmarks, based on `websockets`.

    crowd_server.py [--deflate] [--ping SECONDS] [--tls CERTIFICATE KEY]
"""

import argparse
import asyncio
import logging
import ssl

from websockets.asyncio.server import broadcast, serve

FRAME = "@" + "f" * 299

words = argparse.ArgumentParser()
words.add_argument("--deflate", action="store_true")
words.add_argument("--ping", type=float)
words.add_argument("--tls", nargs=2)
options = words.parse_args()
logging.disable(logging.CRITICAL)
crowd = set()


async def handle(socket) -> None:
    crowd.add(socket)
    try:
        async for message in socket:
            if message.startswith("fan "):
                for _ in range(int(message[4:])):
                    broadcast(crowd, FRAME)
                    await asyncio.sleep(0)
            else:
                await socket.send(message)
    finally:
        crowd.discard(socket)


async def main() -> None:
    context = None
    if options.tls:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*options.tls)
    server = await serve(
        handle, "127.0.0.1", 0, ssl=context, compression="deflate" if options.deflate else None,
        ping_interval=options.ping, ping_timeout=None, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
