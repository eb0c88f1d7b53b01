"""Measures a backend with OAuth and one phone that eight assistants ask at once, and the backend's memory.

    relay.py HOLDFAST LOAD-GENERATOR SDK-PYTHON

The phone is `holdfast relay` with generated samples. The question is the steps of each day of a week. The load
generator asks it at `/mcp/code`, at `/mcp` with a token of OAuth, and at a server of the official Python SDK
that has the same answer in memory, if `scripts/peers` has installed the SDK. Then 10,000 clients register, and
125 other phones take 1,000 sign-ins. Prints one figure a line, as a name and a number. `HoldfastBench run --only
relay` makes a table of them.
"""

import asyncio
import base64
import hashlib
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

import aiohttp

SECONDS, CLIENTS = 5, 8
REGISTRATIONS, PHONES, ASSISTANTS = 10_000, 125, 8
HERE = pathlib.Path(__file__).resolve().parent
CALLBACK = "http://127.0.0.1:33418/callback"
VERIFIER = "v" * 64
WEEK = {"value_type": "STEPS", "start_time": "2025-12-01", "end_time": "2025-12-08", "group_by": "DAY"}
META = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}


def say(name, value):
    print(name, round(value, 3), flush=True)


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


class Program:
    """A process whose lines of JSON are read. It ends with the block that started it."""

    def __init__(self, *words):
        self.words = [str(word) for word in words]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def event(self, name):
        """Returns the next line of an event."""
        for line in self.process.stdout:
            if (read := json.loads(line))["event"] == name:
                return read
        sys.exit(f"{self.words[1]} ended before the event {name}")

    def memory(self):
        """Returns the private memory in bytes, and the resident memory in megabytes."""
        def kilobytes(file, name):
            text = pathlib.Path(f"/proc/{self.process.pid}/{file}").read_text(encoding="ascii")
            return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(name + ":"))
        return kilobytes("smaps_rollup", "Anonymous") * 1024, kilobytes("status", "VmRSS") / 1024

    def processor(self):
        """Returns the processor time of all threads, in microseconds."""
        threads = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text(encoding="ascii").split()[0]) for thread in threads) / 1000


class Backend(Program):
    """`holdfast serve` with OAuth."""

    def __init__(self, holdfast, folder):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        super().__init__(
            holdfast, "serve", "--port", port, "--data", folder, "--json", "--log-level", "error",
            "--public-url", self.url)

    def __enter__(self):
        super().__enter__()
        self.event("listening")
        return self


def headers(name, token=None):
    found = {
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": META["protocolVersion"],
        "Mcp-Method": "tools/call", "Mcp-Name": name}
    return found | ({"Authorization": f"Bearer {token}"} if token else {})


def message(name, arguments):
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in META.items()}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": name, "arguments": arguments, "_meta": meta}}


async def call(http, url, name, arguments, token=None):
    """Returns the structured content of a tool's answer."""
    async with http.post(url, json=message(name, arguments), headers=headers(name, token)) as answer:
        found = (await answer.json()).get("result", {}).get("structuredContent", {})
    if not found.get("success"):
        sys.exit(f"{name} at {url}: {answer.status} {found}")
    return found


async def register(http, url):
    fields = {"client_name": "A client", "redirect_uris": [CALLBACK]}
    async with http.post(url + "/oauth/register", json=fields) as answer:
        return (await answer.json())["client_id"]


async def sign_in(http, url, client, pair):
    """Signs in with the pair of a phone, and returns the access token."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
    form = {
        "response_type": "code", "client_id": client, "redirect_uri": CALLBACK, "code_challenge": challenge,
        "code_challenge_method": "S256", "resource": url + "/mcp", "word": pair["word"], "code": pair["code"]}
    async with http.post(url + "/oauth/authorize", data=form, allow_redirects=False) as answer:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(answer.headers["location"]).query)
    form = {"grant_type": "authorization_code", "code": query["code"][0], "client_id": client,
            "redirect_uri": CALLBACK, "code_verifier": VERIFIER}
    async with http.post(url + "/oauth/token", data=form) as answer:
        return (await answer.json())["access_token"]


def ask(load, name, folder, url, token=None, programs=()):
    """Lets the load generator ask, and prints its figures and the processor time of each program."""
    address = urllib.parse.urlsplit(url)
    body = pathlib.Path(folder, "question.json")
    body.write_text(json.dumps(message("get_health_metrics", WEEK)), encoding="utf-8")
    fields = "\r\n".join(f"{key}: {value}" for key, value in headers("get_health_metrics", token).items())
    before = {key: program.processor() for key, program in programs}
    done = subprocess.run(
        [load, str(address.port), "--post", address.path, "--body", body, "--expect", '"success":true',
         "--header", fields], input=f"ask {CLIENTS} {SECONDS}\n", capture_output=True, text=True, check=False)
    words = done.stdout.split()
    if done.returncode or words[:1] != ["asked"]:
        sys.exit(f"{name}: {done.stdout}{done.stderr}")
    rate, middle, most = map(float, words[1:])
    say(name, rate)
    say(f"{name}.median", middle / 1000)
    say(f"{name}.p99", most / 1000)
    for key, program in programs:
        say(f"{name}.{key}", (program.processor() - before[key]) / (rate * SECONDS))


async def measure_questions(holdfast, load, sdk, folder):
    export, phone = f"{folder}/export.xml", f"{folder}/phone"
    for words in (["generate", "--size", "20MB", export], ["import", export, "--data", phone]):
        subprocess.run([holdfast, "health", *words], check=True, stdout=subprocess.DEVNULL)
    with Backend(holdfast, f"{folder}/one") as backend, Program(
            holdfast, "relay", "--server", backend.url, "--data", phone, "--time-zone", "UTC", "--json",
            "--set", "liveness.idle=off") as relay:
        programs = [("backend", backend), ("phone", relay)]
        async with aiohttp.ClientSession() as http:
            pair = relay.event("pair")
            login = {"word": pair["word"], "code": pair["code"]}
            code = (await call(http, backend.url + "/mcp/code", "direct_login", login))["access_token"]
            token = await sign_in(http, backend.url, await register(http, backend.url), relay.event("pair"))
            answer = await call(http, backend.url + "/mcp", "get_health_metrics", WEEK, token)
        pathlib.Path(folder, "answer.json").write_text(json.dumps(answer), encoding="utf-8")
        # A pipe that nobody reads would fill up.
        asyncio.get_running_loop().run_in_executor(None, relay.process.stdout.read)
        # The first one also fills caches, so the order is by chance.
        for name, path, key in random.sample([("code", "/mcp/code", code), ("oauth", "/mcp", token)], 2):
            ask(load, name, folder, backend.url + path, key, programs)
    if os.access(sdk, os.X_OK):
        await measure_sdk(load, sdk, folder)


async def measure_sdk(load, sdk, folder):
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    with Program(sdk, HERE.parent / "peers/mcp_server.py", port, f"{folder}/answer.json") as server:
        async with aiohttp.ClientSession() as http:
            for _ in range(200):
                try:
                    await call(http, url, "get_health_metrics", WEEK)
                    break
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.1)
        ask(load, "sdk", folder, url, None, [("backend", server)])


async def pairs(http, url):
    """Yields the pairs of a new phone, each after the one before it was used."""
    async with http.ws_connect(url + "/ws/phone") as phone:
        async for frame in phone:
            read = json.loads(frame.data)
            if read["type"] == "connection_code":
                yield read


async def measure_growth(backend, name, count, work):
    """Prints the growth of memory in bytes, the resident memory in megabytes, and the pieces of work per second."""
    before, resident = backend.memory()
    start = time.monotonic()
    await work
    speed = count / (time.monotonic() - start)
    after, later = backend.memory()
    say(name, after - before)
    say(f"{name}.before", resident)
    say(f"{name}.after", later)
    say(f"{name}.speed", speed)


async def measure_memory(holdfast, folder):
    with Backend(holdfast, f"{folder}/two") as backend:
        # The phones have a connection each.
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            async def registrations(count):
                async def some():
                    for _ in range(count // CLIENTS):
                        await register(http, backend.url)
                await asyncio.gather(*(some() for _ in range(CLIENTS)))

            async def grants(phones):
                for phone in phones:
                    for _ in range(ASSISTANTS):
                        tokens.append(await sign_in(http, backend.url, client, pair[phone]))
                        pair[phone] = await anext(phone)

            client, tokens = await register(http, backend.url), []
            phones = [pairs(http, backend.url) for _ in range(PHONES + 5)]
            pair = {phone: await anext(phone) for phone in phones}
            # What the first registrations and sign-ins cost once is not measured.
            await registrations(REGISTRATIONS // 10)
            await grants(phones[:5])
            await measure_growth(backend, "registrations", REGISTRATIONS, registrations(REGISTRATIONS))
            await measure_growth(backend, "grants", PHONES * ASSISTANTS, grants(phones[5:]))
            for token in tokens:
                async with http.post(
                        backend.url + "/mcp", json=message("list_health_types", {}) | {"method": "tools/list"},
                        headers=headers("", token) | {"Mcp-Method": "tools/list"}) as answer:
                    if answer.status != 200:
                        sys.exit(f"a sign-in of {len(tokens)} has ended: {answer.status}")
            for phone in phones:
                await phone.aclose()


async def main(holdfast, load, sdk):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        await measure_questions(holdfast, load, sdk, folder)
        await measure_memory(holdfast, folder)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
