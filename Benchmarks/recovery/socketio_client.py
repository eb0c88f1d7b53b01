"""Follows a shop with the client of `python-socketio`, which reconnects automatically.

    socketio_client.py URL AUTHORITIES
"""

import asyncio
import ssl
import sys
import time

import aiohttp
import socketio


async def main(url: str, authorities: str) -> None:
    context = ssl.create_default_context(cafile=authorities) if url.startswith("https:") else False
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))
    client = socketio.AsyncClient(http_session=session)

    @client.event
    async def connect() -> None:
        print(time.monotonic_ns(), "open", flush=True)

    @client.event
    async def disconnect(reason: str = "") -> None:
        print(time.monotonic_ns(), "lost", reason, flush=True)

    @client.on("message")
    async def message(text: str) -> None:
        print(time.monotonic_ns(), "message", text, flush=True)

    await client.connect(url, transports=["websocket"])
    await client.wait()
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], sys.argv[2]))
