"""A price board: a WebSocket server with a greeting, a subscription, a resume and its own ping.

Usage: feed_server.py SECONDS-PER-LINE. It prints its port. A token is the word "good" or "old"; "old" is refused
with a message and the close code 4401. SIGUSR1 closes every connection with 1012. After SIGUSR2, the program
ignores the present connections, and only their WebSocket pings are answered. At the end (SIGTERM) it prints how often each order arrived and was executed.
"""
import asyncio
import json
import signal
import sys

import websockets

LINES, SUBSCRIBERS, ORDERS, MUTED = [], {}, {}, set()


async def serve(socket, path=None):
    hello = json.loads(await socket.recv())
    if hello.get("token") != "good":
        await socket.send(json.dumps({"op": "denied"}))
        return await socket.close(4401, "the token is too old")
    await socket.send('{"op":"welcome"}')
    try:
        async for text in socket:
            if socket not in MUTED:
                await answer(socket, json.loads(text))
    except websockets.ConnectionClosed:
        pass
    finally:
        SUBSCRIBERS.pop(socket, None)


async def answer(socket, message):
    if message["op"] == "ping":
        await socket.send('{"op":"pong"}')
    elif message["op"] == "subscribe":
        for line in LINES[message["after"]:]:
            if line["topic"] in message["topics"]:
                await socket.send(json.dumps(line))
        SUBSCRIBERS[socket] = message["topics"]
    elif message["op"] == "order":
        ORDERS.setdefault(message["id"], [message["text"], 0])[1] += 1
        await socket.send(json.dumps({"op": "taken", "id": message["id"]}))


async def write_lines(seconds):
    while True:
        await asyncio.sleep(seconds)
        number = len(LINES) + 1
        topic = ["bread", "cake", "news"][number % 3]
        LINES.append({"op": "line", "seq": number, "topic": topic, "text": f"{topic} {number}"})
        for socket, topics in list(SUBSCRIBERS.items()):
            if topic in topics and socket not in MUTED:
                try:
                    await socket.send(json.dumps(LINES[-1]))
                except websockets.ConnectionClosed:
                    pass


async def main():
    loop = asyncio.get_running_loop()

    def restart():
        for socket in list(SUBSCRIBERS):
            loop.create_task(socket.close(1012, "restart"))

    ended = loop.create_future()
    loop.add_signal_handler(signal.SIGUSR1, restart)
    loop.add_signal_handler(signal.SIGUSR2, lambda: MUTED.update(SUBSCRIBERS))
    loop.add_signal_handler(signal.SIGTERM, lambda: ended.done() or ended.set_result(None))
    server = await websockets.serve(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    writer = loop.create_task(write_lines(float(sys.argv[1])))
    await ended
    writer.cancel()
    print(json.dumps(list(ORDERS.values())), flush=True)


asyncio.run(main())
