"""A WebSocket server of another maker that follows a plan with one entry for each connection.

    server.py websockets|aiohttp PORT PLAN

PLAN is a JSON array. Its last entry also applies to all later connections. An entry can contain:
  refuse    answer the upgrade with this status
  expect    wait for this number of messages first
  send      the texts to send; {"binary": N} and {"text": N} are messages of N bytes
  close     then close with this code; without it, the server echoes messages until the end
The server prints events as JSON lines: listening, refused, opened, got, ended.
"""
import asyncio
import json
import sys

flavour, port, plan = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
connections = 0
SUBPROTOCOLS = ["feed.v2", "feed.v1"]


def say(**what):
    print(json.dumps(what), flush=True)


def next_entry():
    global connections
    connections += 1
    return connections, plan[min(connections, len(plan)) - 1]


def content(item):
    if isinstance(item, str):
        return item
    if "binary" in item:
        return bytes(index % 251 for index in range(item["binary"]))
    return "x" * item["text"]


def shown(message):
    if isinstance(message, bytes):
        return {"binary": len(message)}
    return {"text": message} if len(message) < 200 else {"long": len(message)}


async def serve(number, entry, receive, send, close):
    """Follows an entry. `receive` returns None once the connection has ended."""
    for _ in range(entry.get("expect", 0)):
        message = await receive()
        if message is None:
            return
        say(event="got", connection=number, **shown(message))
    for item in entry.get("send", []):
        await send(content(item))
    if "close" in entry:
        await close(entry["close"])
        return
    while (message := await receive()) is not None:
        say(event="got", connection=number, **shown(message))
        await send(message)


def headers_of(headers):
    wanted = ("authorization", "x-test", "sec-websocket-extensions")
    return {name: headers[name] for name in wanted if name in headers}


async def with_websockets():
    from websockets.asyncio.server import serve as listen
    from websockets.exceptions import ConnectionClosed

    entries = {}

    def select(connection, offered):
        # The library's own function would refuse clients that offer no subprotocol.
        return next((name for name in SUBPROTOCOLS if name in offered), None)

    def decide(connection, request):
        number, entry = next_entry()
        entries[connection] = number, entry
        if "refuse" in entry:
            say(event="refused", connection=number, headers=headers_of(request.headers))
            return connection.respond(entry["refuse"], "no\n")
        return None

    async def handle(connection):
        number, entry = entries.pop(connection)
        request = connection.request
        say(event="opened", connection=number, subprotocol=connection.subprotocol,
            headers=headers_of(request.headers),
            compressed="permessage-deflate" in connection.response.headers.get(
                "Sec-WebSocket-Extensions", ""))

        async def receive():
            try:
                return await connection.recv()
            except ConnectionClosed:
                return None

        try:
            await serve(number, entry, receive, connection.send, connection.close)
        except ConnectionClosed:
            pass
        await connection.wait_closed()
        say(event="ended", connection=number, code=connection.close_code)

    async with listen(handle, "127.0.0.1", port, process_request=decide, max_size=None,
                      select_subprotocol=select, open_timeout=600, ping_interval=None) as server:
        say(event="listening", port=server.sockets[0].getsockname()[1])
        await asyncio.get_running_loop().create_future()


async def with_aiohttp():
    from aiohttp import WSMsgType, web

    async def handle(request):
        number, entry = next_entry()
        if "refuse" in entry:
            say(event="refused", connection=number, headers=headers_of(request.headers))
            return web.Response(status=entry["refuse"], text="no\n")
        socket = web.WebSocketResponse(protocols=SUBPROTOCOLS, max_msg_size=0)
        await socket.prepare(request)
        say(event="opened", connection=number, subprotocol=socket.ws_protocol,
            headers=headers_of(request.headers), compressed=bool(socket.compress))

        async def receive():
            message = await socket.receive()
            return message.data if message.type in (WSMsgType.TEXT, WSMsgType.BINARY) else None

        async def send(message):
            if isinstance(message, bytes):
                await socket.send_bytes(message)
            else:
                await socket.send_str(message)

        async def close(code):
            await socket.close(code=code)

        try:
            await serve(number, entry, receive, send, close)
        except ConnectionError:
            pass
        say(event="ended", connection=number, code=socket.close_code)
        return socket

    application = web.Application()
    application.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    say(event="listening", port=site._server.sockets[0].getsockname()[1])
    await asyncio.get_running_loop().create_future()


asyncio.run(with_websockets() if flavour == "websockets" else with_aiohttp())
