"""Sends request heads that two parsers could interpret differently to a real socket of a server.

    heads.py PORT

Each case uses its own connection and is followed by a request for /smuggled. A refusal must consist of
one response with the expected status and the end of the connection. If a case is accepted, it and the
request after it must both be answered. The server responds with 200 and `METHOD TARGET BODYBYTES`.
"""

import socket
import sys
import threading

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
BEHIND = "GET /smuggled 0"


def get(*fields: bytes, target: bytes = b"/x", host: bytes = b"Host: a") -> bytes:
    return b"\r\n".join([b"GET " + target + b" HTTP/1.1", *([host] if host else []), *fields]) + b"\r\n\r\n"


def post(*fields: bytes, body: bytes = b"") -> bytes:
    return b"\r\n".join([b"POST /x HTTP/1.1", b"Host: a", *fields]) + b"\r\n\r\n" + body


def chunked(body: bytes) -> bytes:
    return post(b"Transfer-Encoding: chunked", body=body)


UPGRADE = [b"Connection: Upgrade", b"Upgrade: websocket"]
KEY = b"Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw=="
VERSION = b"Sec-WebSocket-Version: 13"

# The refused requests: description, bytes, status.
REFUSED = [
    ("Content-Length twice, differing", post(b"Content-Length: 1", b"Content-Length: 36", body=b"x"), 400),
    ("Content-Length twice, the same", post(b"Content-Length: 1", b"Content-Length: 1", body=b"x"), 400),
    ("Content-Length as a list", post(b"Content-Length: 1, 1", body=b"x"), 400),
    ("Content-Length with a sign", post(b"Content-Length: +1", body=b"x"), 400),
    ("Content-Length below zero", post(b"Content-Length: -1"), 400),
    ("Content-Length in hex", post(b"Content-Length: 0x1", body=b"x"), 400),
    ("Content-Length of two words", post(b"Content-Length: 1 1", body=b"x"), 400),
    ("Content-Length empty", post(b"Content-Length:"), 400),
    ("Content-Length over 64 bits", post(b"Content-Length: 18446744073709551617", body=b"x"), 413),
    ("Content-Length over the bound", post(b"Content-Length: 65537"), 413),
    ("length and chunks", post(b"Content-Length: 4", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"), 400),
    ("chunks and length", post(b"Transfer-Encoding: chunked", b"Content-Length: 4", body=b"0\r\n\r\n"), 400),
    ("Transfer-Encoding twice", post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"), 400),
    ("Transfer-Encoding: identity", post(b"Transfer-Encoding: identity"), 501),
    ("Transfer-Encoding: xchunked", post(b"Transfer-Encoding: xchunked"), 501),
    ("Transfer-Encoding: gzip, chunked", post(b"Transfer-Encoding: gzip, chunked"), 501),
    ("Transfer-Encoding: chunked, identity", post(b"Transfer-Encoding: chunked, identity"), 501),
    ("Transfer-Encoding with a quote", post(b'Transfer-Encoding: "chunked"'), 501),
    ("Transfer-Encoding with a vertical tab", post(b"Transfer-Encoding: \x0bchunked"), 400),
    ("Transfer-Encoding, a space before the colon", post(b"Transfer-Encoding : chunked"), 400),
    ("Transfer-Encoding in HTTP/1.0", b"POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("a chunk size of no digits", chunked(b"\r\n\r\n"), 400),
    ("a chunk size below zero", chunked(b"-1\r\nx\r\n0\r\n\r\n"), 400),
    ("a chunk size with 0x", chunked(b"0x1\r\nx\r\n0\r\n\r\n"), 400),
    ("a chunk size with a space before it", chunked(b" 1\r\nx\r\n0\r\n\r\n"), 400),
    ("a chunk size with an underscore", chunked(b"1_0\r\n0123456789abcdef\r\n0\r\n\r\n"), 400),
    ("a chunk size of 17 digits", chunked(b"10000000000000001\r\nx\r\n0\r\n\r\n"), 400),
    ("a chunk size over the bound", chunked(b"10001\r\n"), 413),
    ("a chunk size that ends in a bare LF", chunked(b"1\nx\r\n0\r\n\r\n"), 400),
    ("a chunk longer than its size", chunked(b"1\r\nxy\r\n0\r\n\r\n"), 400),
    ("a chunk that ends in a bare LF", chunked(b"1\r\nx\n0\r\n\r\n"), 400),
    ("a bare CR in a chunk extension", chunked(b"1;a\rb\r\nx\r\n0\r\n\r\n"), 400),
    ("endless chunk extensions", chunked(b"".join(b"1;" + b"a" * 4000 + b"\r\nx\r\n" for _ in range(5))), 400),
    ("trailer fields over the bound", chunked(b"0\r\n" + b"A: b\r\n" * 101 + b"\r\n"), 431),
    ("a folded field", get(b"A: b", b" c"), 400),
    ("a folded field, by a tab", get(b"A: b", b"\tc"), 400),
    ("a folded first field", b"GET /x HTTP/1.1\r\n Host: a\r\nHost: a\r\n\r\n", 400),
    ("bare LF behind the request line", b"GET /x HTTP/1.1\nHost: a\r\n\r\n", 400),
    ("bare LF behind a field", b"GET /x HTTP/1.1\r\nHost: a\nA: b\r\n\r\n", 400),
    ("bare LF as the empty line", b"GET /x HTTP/1.1\r\nHost: a\r\n\n", 400),
    ("a bare CR in a field", get(b"A: b\rc"), 400),
    ("CR CR LF", b"GET /x HTTP/1.1\r\nHost: a\r\r\n\r\n", 400),
    ("NUL in a field value", get(b"A: b\0c"), 400),
    ("NUL in a field name", get(b"A\0: b"), 400),
    ("NUL in the target", get(target=b"/x\0y"), 400),
    ("NUL, percent-encoded, in the target", get(target=b"/x%00y"), 400),
    ("a control byte in a field value", get(b"A: b\x01c"), 400),
    ("DEL in a field value", get(b"A: b\x7fc"), 400),
    ("a space before the colon", get(b"A : b"), 400),
    ("a space within a field name", get(b"A b: c"), 400),
    ("a field without a colon", get(b"A"), 400),
    ("a field without a name", get(b": b"), 400),
    ("a byte over 127 in a field name", get(b"\xc3\xa4: b"), 400),
    ("no Host", get(host=b""), 400),
    ("two Hosts", get(b"Host: b"), 400),
    ("an empty Host", get(host=b"Host:"), 400),
    ("a Host of two words", get(host=b"Host: a b"), 400),
    ("a Host with a user", get(host=b"Host: a@b"), 400),
    ("a Host with a path", get(host=b"Host: a/b"), 400),
    ("a Host with a port that is none", get(host=b"Host: a:99999999"), 400),
    ("absolute form with a user", get(target=b"http://a@b/x"), 400),
    ("absolute form of another scheme", get(target=b"ftp://a/x"), 400),
    ("authority form for GET", get(target=b"a:80"), 400),
    ("CONNECT", b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
    ("GET *", get(target=b"*"), 400),
    ("a fragment in the target", get(target=b"/x#y"), 400),
    ("a byte over 127 in the target", get(target=b"/\xff"), 400),
    ("dot segments", get(target=b"/a/../x"), 400),
    ("dot segments, percent-encoded", get(target=b"/a/%2e%2e/x"), 400),
    ("a broken percent-encoding", get(target=b"/%4"), 400),
    ("two spaces in the request line", get(target=b" /x"), 400),
    ("a tab in the request line", b"GET\t/x\tHTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("a space before the method", b" GET /x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("a method that is no token", b"G(T /x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("no version", b"GET /x\r\n\r\n", 400),
    ("the version in small letters", b"GET /x http/1.1\r\nHost: a\r\n\r\n", 400),
    ("HTTP/1.10", b"GET /x HTTP/1.10\r\nHost: a\r\n\r\n", 400),
    ("HTTP/2.0", b"GET /x HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("two empty lines first", b"\r\n\r\n" + get(), 400),
    ("a TLS hello", b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + bytes(100), 400),
    ("an unknown expectation", post(b"Expect: 200-ok", b"Content-Length: 1", body=b"x"), 417),
    ("a target over its bound", get(target=b"/" + b"a" * 8192), 414),
    ("an endless request line", b"GET /" + b"a" * 20_000, 414),
    ("a field over the bound", get(b"A: " + b"a" * 17_000), 431),
    ("an endless field", get()[:-2] + b"A: " + b"a" * 20_000, 431),
    ("101 fields", get(*[b"A: b"] * 100), 431),
    ("an upgrade without a key", get(*UPGRADE, VERSION), 400),
    ("an upgrade with a short key", get(*UPGRADE, VERSION, b"Sec-WebSocket-Key: AAEC"), 400),
    ("an upgrade with two keys", get(*UPGRADE, VERSION, KEY, KEY), 400),
    ("an upgrade of another version", get(*UPGRADE, KEY, b"Sec-WebSocket-Version: 8"), 426),
    ("an upgrade by POST", post(*UPGRADE, KEY, VERSION), 405),
]

# The accepted requests: description, bytes, body of the response.
SERVED = [
    ("a plain request", get(), "GET /x 0"),
    ("one empty line first", b"\r\n" + get(), "GET /x 0"),
    ("a length of leading zeros", post(b"Content-Length: 0005", body=b"hello"), "POST /x 5"),
    ("a body that looks like a request", post(b"Content-Length: 35", body=SMUGGLED), "POST /x 35"),
    ("chunks", chunked(b"3\r\nabc\r\n2;a=b\r\nde\r\n0\r\nA: b\r\n\r\n"), "POST /x 5"),
    ("Transfer-Encoding: CHUNKED", post(b"Transfer-Encoding: CHUNKED", body=b"1\r\nx\r\n0\r\n\r\n"), "POST /x 1"),
    ("absolute form", get(target=b"http://b/x"), "GET /x 0"),
    ("absolute form without a path", get(target=b"http://b"), "GET / 0"),
    ("OPTIONS *", b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * 0"),
    ("space around a value", get(b"A: \t b \t"), "GET /x 0"),
    ("an empty value", get(b"A:"), "GET /x 0"),
    ("bytes over 127 in a value", get(b"A: \xff\xfe"), "GET /x 0"),
    ("100 fields", get(*[b"A: b"] * 99), "GET /x 0"),
    ("a target at its bound", get(target=b"/" + b"a" * 8191), "GET /" + "a" * 8191 + " 0"),
]


def exchange(port: int, data: bytes) -> bytes:
    """Returns the bytes received until the connection ends or no bytes arrive for two seconds."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as peer:
        peer.settimeout(2)
        # Writing is concurrent, since a response and the end may arrive before all data is written.
        writer = threading.Thread(target=lambda: write(peer, data))
        writer.start()
        try:
            while piece := peer.recv(65_536):
                answer += piece
            answer += b"<end>"
        except ConnectionResetError:
            answer += b"<reset>"
        except TimeoutError:
            pass
        writer.join()
    return answer


def write(peer: socket.socket, data: bytes) -> None:
    try:
        peer.sendall(data)
    except OSError:
        pass


def answers(text: bytes) -> tuple[list[tuple[int, str]], str]:
    """Returns the statuses and bodies of the responses, and the text after the last response."""
    found = []
    while text.startswith(b"HTTP/1.1 "):
        head, _, rest = text.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        found.append((int(head[9:12]), rest[:length].decode().strip()))
        text = rest[length:]
    return found, text.decode("latin-1")


def judge(port: int, data: bytes, status: int, body: str | None) -> tuple[str, str, bool]:
    """Returns the expected result, the actual result, and whether they are equal."""
    found, rest = answers(exchange(port, data + SMUGGLED))
    statuses = " ".join(str(status) for status, _ in found) or "nothing"
    got = f"{statuses} {rest.strip('<>') or 'open'}"
    if body is None:
        return f"{status} end", got, [s for s, _ in found] == [status] and rest == "<end>"
    return "200 200 open", got, found == [(200, body), (200, BEHIND)] and rest == ""


def main(port: int) -> int:
    cases = [(n, d, s, None) for n, d, s in REFUSED] + [(n, d, 200, b) for n, d, b in SERVED]
    failures = 0
    print(f"{'head':<48} {'expected':<14} {'seen':<14}")
    for name, data, status, body in cases:
        expected, got, same = judge(port, data, status, body)
        failures += not same
        print(f"{name:<48} {expected:<14} {got:<14}{'' if same else ' WRONG'}")
    print(f"heads: {len(cases)} cases, {failures} wrong")
    return 1 if failures else 0


sys.exit(main(int(sys.argv[1])))
