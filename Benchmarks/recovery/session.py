"""Measures the time from "path restored" to "every answer shown" in a session, over 50 ms each way.

    session.py HOLDFAST-BENCH [--tls]

Ten prompts, each in its own conversation, reach a server whose program answers after 2 s. Then no packet
passes for 2 s, during which the answers are created. Finally, the phone's sockets are reset, and the path
works again. Prints one JSON object: the round trips to the last answer from the restored path (`whole`) and
from the first packet of the attempt (`tried`), and the numbers of answers that were lost and shown twice.
"""

import json
import os
import sys
import tempfile
import time

from follower import Follower, make_certificate
from path import ONE_WAY, ROUND_TRIP, SERVER, Path

PORT = 7004
PROMPTS = [f"m{number}" for number in range(10)]


def play(path: Path, program: str, folder: str, is_tls: bool) -> dict:
    tls, trust = [], []
    if is_tls:
        make_certificate(folder)
        tls = ["--tls-cert", f"{folder}/server.pem", "--tls-key", f"{folder}/server.key"]
        trust = ["--authorities", f"{folder}/server.pem"]
    server = path.start(path.net, [
        program, "session-server", "--host", SERVER, "--port", str(PORT), "--data", f"{folder}/server",
        "--handler", "sleep 2; cat", *tls])
    url, key = server.stdout.readline().strip(), server.stdout.readline().strip()
    client = Follower(path, [
        program, "converse", url, "--key-file", key, "--data", f"{folder}/phone", *trust])
    if client.opens(0.0, 20) is None:
        return {"obstacle": "the client never connected"}
    for prompt in PROMPTS:
        client.process.stdin.write(prompt + "\n")
    client.process.stdin.flush()
    # Each prompt is sent once the previous prompt has been acknowledged.
    time.sleep(len(PROMPTS) * ROUND_TRIP + 0.4)
    path.ways[0].is_blocked = True
    early = len(client.shown)
    time.sleep(2)
    path.ways[0].is_blocked = False
    restored = time.monotonic()
    path.kill_sockets()
    with client.changed:
        client.changed.wait_for(lambda: len({text for _, text in client.shown}) == len(PROMPTS), 30)
    time.sleep(0.5)
    shown = [text for _, text in client.shown]
    whole = max((at for at, _ in client.shown), default=restored)
    tried = path.syn(PORT, restored - ONE_WAY)
    if early or tried is None:
        return {"obstacle": f"{early} answers came before the cut" if early else "there was no try"}
    return {
        "whole": (whole - restored) / ROUND_TRIP,
        "tried": (whole - tried) / ROUND_TRIP,
        "lost": len(set(PROMPTS) - set(shown)),
        "twice": len(shown) - len(set(shown)),
    }


def main(program: str, *flags: str) -> None:
    with tempfile.TemporaryDirectory() as folder, Path() as path:
        print(json.dumps(play(path, program, folder, "--tls" in flags)), flush=True)


main(os.path.abspath(sys.argv[1]), *sys.argv[2:])
