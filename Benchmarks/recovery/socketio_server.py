"""A server based on `python-socketio`. POST /post sends its body to every connected client.

    socketio_server.py HOST PORT PATIENCE [CERTIFICATE KEY]
"""

import asyncio
import ssl
import sys

import socketio
from aiohttp import web

host, port, patience = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
server = socketio.AsyncServer(
    async_mode="aiohttp", ping_interval=patience / 2, ping_timeout=patience / 2)
app = web.Application()
server.attach(app)


async def post(request: web.Request) -> web.Response:
    await server.emit("message", await request.text())
    return web.Response(status=201)


async def main() -> None:
    app.router.add_post("/post", post)
    context = None
    if len(sys.argv) > 4:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(sys.argv[4], sys.argv[5])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, host, port, ssl_context=context, reuse_address=True).start()
    print("listening", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
