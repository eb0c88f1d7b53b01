"""Requests that may be cut, uploads in pieces by three protocols, and images, for several clients."""
import http.client
import struct
import zlib

from peer import HANG, check, check_that


def make_image(mark, kind, size):
    """Returns an image of a type and a size, which contains its mark everywhere."""
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    def body(size):
        return (mark + b" ") * (max(0, size) // (len(mark) + 1)) + b"x" * (max(0, size) % (len(mark) + 1))

    if kind == "jpg":
        return b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0" + body(size - 22) + b"\xff\xd9"
    if kind == "png":
        head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
        return head + chunk(b"IDAT", body(size - len(head) - 24)) + chunk(b"IEND", b"")
    if kind == "gif":
        return b"GIF89a\x01\0\x01\0\0\0\0" + body(size - 14) + b";"
    if kind == "webp":
        return b"RIFF" + struct.pack("<I", size - 8) + b"WEBPVP8 " + struct.pack("<I", size - 20) + body(size - 20)
    return struct.pack(">I", 24) + b"ftypheic\0\0\0\0mif1heic" + struct.pack(">I", size - 24) + b"mdat" + body(size - 32)


class Response(http.client.HTTPResponse):
    """A response that also collects interim responses such as 104."""

    def _read_status(self):
        self.interim = getattr(self, "interim", [])
        while True:
            version, status, reason = super()._read_status()
            if not 100 <= status < 200:
                return version, status, reason
            self.interim.append((status, http.client.parse_headers(self.fp)))


class Uploader:
    """A user of a backend who sends requests, and bodies in pieces. `token` is in each request."""

    def __init__(self, peer, backend, user, token):
        self.peer, self.backend, self.user, self.token = peer, backend, user, token
        self.chance = peer.chance

    def ask(self, method, path, body=None, headers=None, cut=None, is_answer_read=True):
        """Returns status, headers, body and interim responses, or None if the request was cut."""
        connection = http.client.HTTPConnection("127.0.0.1", self.backend.port, timeout=HANG)
        connection.response_class = Response
        try:
            connection.putrequest(method, path, skip_host="Host" in (headers or {}))
            named = {"Authorization": f"Bearer {self.token}", **(headers or {})}
            if body is not None:
                named["Content-Length"] = str(len(body))
            for name, value in named.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders()
            if body:
                connection.send(body if cut is None else body[:cut])
            if cut is not None or not is_answer_read:
                return None
            response = connection.getresponse()
            return response.status, response.headers, response.read(), response.interim
        finally:
            connection.close()

    def upload(self, way, path, body, kind):
        """Sends a body in pieces. Some are cut off, and the backend may be killed in between.

        Returns the place of the upload and the last answer.
        """
        common = {"Tus-Resumable": "1.0.0"} if way == "tus" else {
            "Upload-Draft-Interop-Version": "8" if way == "draft" else "3"}

        def more(is_last):
            return {"draft": {"Upload-Complete": "?1" if is_last else "?0",
                              "Content-Type": "application/partial-upload"},
                    "ios": {"Upload-Incomplete": "?0" if is_last else "?1"},
                    "tus": {"Content-Type": "application/offset+octet-stream"}}[way]

        begin = common | ({"Upload-Length": str(len(body))} if way == "tus" else more(False))
        if way == "draft":
            begin["Content-Type"] = kind
        status, headers, answer, _ = self.ask("POST", path, b"", begin)
        check(f"status of a {way} upload that begins: {answer[:200]!r}", 201, status)
        place = headers["Location"].split(f":{self.backend.port}")[-1]
        offset = 0
        while True:
            size = self.chance.randint(1, max(1, len(body) - offset))
            is_last = offset + size == len(body)
            fields = common | more(is_last) | {"Upload-Offset": str(offset)}
            fault = self.chance.random()
            if fault < 0.2 and size > 1:
                cut = self.chance.randrange(size)
                self.ask("PATCH", place, body[offset:offset + size], fields, cut=cut)
                offset = self.offset(place, common, offset, offset + cut)
                continue
            if fault < 0.25 and not is_last:
                wrong = self.ask("PATCH", place, b"x", fields | {"Upload-Offset": str(offset + 1)})
                check("an upload at another offset", (409, str(offset)),
                      (wrong[0], wrong[1]["Upload-Offset"]))
            answer = self.ask("PATCH", place, body[offset:offset + size], fields)
            if is_last:
                break
            check(f"status of a piece of a {way} upload: {answer[2][:200]!r}", 2, answer[0] // 100)
            offset += size
            if self.chance.random() < 0.1:
                self.backend.kill()
                self.backend.start()
                self.peer.count("kills")
                offset = self.offset(place, common, offset, offset)
        if way == "tus":
            check(f"status of the last piece: {answer[2][:200]!r}", 204, answer[0])
        return place, answer

    def offset(self, place, common, least, most):
        status, headers, _, _ = self.ask("HEAD", place, headers=common)
        check("status of HEAD of an upload", 2, status // 100)
        offset = int(headers["Upload-Offset"])
        check_that("offset of an upload", least <= offset <= most, f"{least} to {most}", offset)
        return offset
