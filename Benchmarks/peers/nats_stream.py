"""Makes a NATS server store the messages of the subject `bench` in a file: nats_stream.py PORT."""

import json
import socket
import sys

with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5) as peer:
    stream = json.dumps({
        "name": "bench", "subjects": ["bench"], "storage": "file", "retention": "limits",
        "discard": "old", "num_replicas": 1, "max_consumers": -1, "max_msgs": -1, "max_bytes": -1,
        "max_age": 0})
    words = f"PUB $JS.API.STREAM.CREATE.bench answer {len(stream)}\r\n{stream}\r\n"
    peer.sendall(f'CONNECT {{"verbose":false}}\r\nSUB answer 1\r\n{words}'.encode())
    seen = b""
    while b"io.nats.jetstream" not in seen or not seen.endswith(b"\r\n"):
        piece = peer.recv(65_536)
        if not piece:
            sys.exit("the server ended the connection")
        seen += piece
    if b'"error"' in seen:
        sys.exit(seen.decode())
