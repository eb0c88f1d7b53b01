"""Follows a shop with the reconnecting iterator of `websockets`, as shown in its documentation.

    websockets_client.py URL TOKEN AUTHORITIES PATIENCE
"""

import asyncio
import json
import ssl
import sys
import time

from websockets.asyncio.client import connect


async def main(url: str, token: str, authorities: str, patience: float) -> None:
    context = ssl.create_default_context(cafile=authorities) if url.startswith("wss:") else None
    async for socket in connect(
            url, ssl=context, additional_headers={"Authorization": f"Bearer {token}"},
            ping_interval=patience / 2, ping_timeout=patience / 2, compression=None):
        print(time.monotonic_ns(), "open", flush=True)
        try:
            async for text in socket:
                print(time.monotonic_ns(), "message", json.loads(text)["message"], flush=True)
        except OSError as error:
            print(time.monotonic_ns(), "lost", error, flush=True)
        except Exception as error:  # The documentation catches ConnectionClosed and continues.
            print(time.monotonic_ns(), "lost", type(error).__name__, flush=True)


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
