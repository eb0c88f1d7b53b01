"""An image client against `holdfast serve`: uploads, pieces, references, downloads, deletions, kills.

The model follows "Images" of docs/messages.md: an image belongs to its uploader until a message of the
uploader claims it, and ends with that message. Every answer and the files of the server must match it.
"""
import json
import os
import re
import struct
import subprocess
import threading
import time
import uuid

from message_disk import Disk, enter
from message_wire import API, make_token
from peer import HANG, Backend, check, check_that, main, wait_until
from uploads import Uploader, make_image

IMAGES, UPLOAD = f"{API}/messages/image", f"{API}/messages/image/upload"
LARGEST = 5 * 2**20
KINDS = ["jpg", "png", "gif", "webp", "heic"]
CLOCK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "wall-clock.c")


class Image:
    def __init__(self, name, owner, shop, kind, content, mark):
        self.name, self.owner, self.shop, self.kind, self.content = name, owner, shop, kind, content
        self.mark, self.message, self.gone = mark, None, None
        self.path = f"{IMAGES}/{name}"


class Message:
    def __init__(self, name, owner, shop, text):
        self.name, self.owner, self.shop, self.text, self.is_gone = name, owner, shop, text, False


class User(Uploader):
    """A user whose requests are repeated after 429."""

    def __init__(self, world, name, shops, admin=None):
        super().__init__(world.peer, world.backend, name,
                         make_token(world.peer, world.backend, name, shops, admin, "100h"))
        self.shops = shops.split(",")

    def ask(self, *arguments, is_limited=True, **named):
        limit = time.monotonic() + HANG
        while True:
            check_that(f"a request within {HANG} s", time.monotonic() < limit, "accepted", "429")
            answer = super().ask(*arguments, **named)
            if not is_limited or answer is None or answer[0] != 429:
                return answer
            check_that("Retry-After of 429", answer[1]["Retry-After"].isdigit(), "seconds", answer[1]["Retry-After"])
            self.peer.count("429")
            time.sleep(min(2, int(answer[1]["Retry-After"])))

    def change(self, method, path, body, status, key=None):
        """Posts, edits or deletes, and returns the data of the answer."""
        fields = {"Idempotency-Key": key} if key else {}
        answer = self.ask(method, path, None if body is None else json.dumps(body).encode(), fields)
        check(f"status of {method} by {self.user}: {answer[2][:200]}", status, answer[0])
        return json.loads(answer[2])["data"]


class World:
    def __init__(self, peer):
        self.peer, self.chance, self.images, self.messages, self.refused = peer, peer.chance, [], [], set()
        has_small = "small" not in peer.without
        try:
            enter()
        except OSError as error:
            has_small = False
            print(f"image_client: no disk is full, since this system refuses small ones: {error}", flush=True)
        self.shift_clock()
        self.disk = Disk(peer, "disk", 400, has_small)
        self.backend = Backend(peer, "--log-format", "json", "--log-level", "debug")
        self.backend.data = self.disk.path("backend")
        self.backend.start()
        self.up_since = time.monotonic()
        self.ann, self.bob = User(self, "ann", "bakery"), User(self, "bob", "bakery,cellar")
        self.root, self.carl = User(self, "root", "bakery", "bakery"), User(self, "carl", "cellar")
        self.users = [self.ann, self.bob, self.root]

    def shift_clock(self, seconds=0):
        """Shifts the clock of servers, if a compiler is there. Intervals are not shifted."""
        library, file = self.peer.path("clock.so"), self.peer.path("clock")
        with open(file, "wb") as out:
            out.write(struct.pack("q", seconds))
        try:
            if not os.path.exists(library):
                subprocess.run(["cc", "-shared", "-fPIC", "-o", library, CLOCK], check=True, capture_output=True)
            os.environ.update({"LD_PRELOAD": library, "WALL_CLOCK": file})
        except (OSError, subprocess.CalledProcessError):
            pass

    # Uploads

    def mark(self):
        return f"m{self.chance.getrandbits(64):016x}".encode()

    def content(self, kind=None, size=None):
        mark, kind = self.mark(), kind or self.chance.choice(KINDS)
        size = size or self.chance.choice([self.chance.randint(100, 5000), self.chance.randint(5000, 400_000)])
        return mark, kind, make_image(mark, kind, size)

    def multipart(self, content, shop):
        """Returns a form and its type, with the fields in any order and others between."""
        line = "".join(self.chance.choice("abcXYZ019'()+_,-./:=?") for _ in range(self.chance.randint(1, 69))) + "x"
        name = self.chance.choice(['filename="a.png"', 'filename="caf\u00e9 \\"1\\".exe"', "filename=x"])
        fields = [f'Content-Disposition: form-data; name="file"; {name}\r\nContent-Type: text/plain\r\n\r\n'.encode()
                  + content, f'Content-Disposition: form-data; name="shop_id"\r\n\r\n{shop}'.encode()]
        if self.chance.random() < 0.5:
            fields.append(b'content-disposition:form-data; name=other\r\n\r\n\r\n--' + line.encode()[:-1])
        self.chance.shuffle(fields)
        body = b"".join(b"--" + line.encode() + b"\r\n" + field + b"\r\n" for field in fields)
        return body + b"--" + line.encode() + b"--\r\n", f'multipart/form-data; boundary="{line}"'

    def add_some(self):
        self.add(self.chance.choice([self.ann, self.ann, self.bob]))

    def make_room(self, user):
        """Deletes images of a user that no message claims, before they reach the limit."""
        unclaimed = [i for i in self.images if i.owner is user and not i.message and not i.gone]
        for image in unclaimed[13:]:
            self.remove_image(image)

    def add(self, user, way=None):
        """Uploads an image in one of many ways."""
        if user in self.users:
            self.make_room(user)
        shop, (mark, kind, content) = self.chance.choice(user.shops), self.content()
        way = way or self.chance.choice(["raw", "raw", "form", "form", "draft", "ios", "tus", "cut", "lost"])
        self.peer.count(way)
        path, place = f"{UPLOAD}?shop_id={shop}", None
        if way in ("draft", "ios", "tus"):
            before = self.peer.counts.get("kills", 0)
            place, answer = user.upload(way, path, content, "image/png")
            self.up_since = time.monotonic() if self.peer.counts.get("kills", 0) > before else self.up_since
        elif way == "lost":
            return self.lose(user, shop, kind, content, mark)
        else:
            body, sort = (content, self.chance.choice(["image/png", "application/octet-stream", "text/html"]))
            if way == "form" or way == "cut" and self.chance.random() < 0.5:
                (body, sort), path = self.multipart(content, shop), UPLOAD
            if way == "cut":
                user.ask("POST", path, body, {"Content-Type": sort}, cut=self.chance.randrange(len(body) - 1))
            answer = user.ask("POST", path, body, {"Content-Type": sort})
        if way == "tus":
            name = answer[1]["Content-Location"].rsplit("/", 1)[1]
            check_that("Content-Location of a tus upload", answer[1]["Content-Location"].endswith(f"{IMAGES}/{name}"),
                       IMAGES, answer[1]["Content-Location"])
        else:
            check(f"status of an upload by {way}: {answer[2][:200]}", 200, answer[0])
            data = json.loads(answer[2])["data"]
            name = data["message_id"]
            check("answer to an upload", {"message_id": name, "shop_id": shop, "file_extension": kind, "image_url":
                                          f"http://127.0.0.1:{self.backend.port}{IMAGES}/{name}"}, data)
        if place:
            check("id of an upload and of its image", place.rsplit("id=", 1)[1], name)
            fields = {"Tus-Resumable": "1.0.0"} if way == "tus" else {"Upload-Draft-Interop-Version": "8"}
            check("an upload that is complete", 404, user.ask("HEAD", place, None, fields)[0])
        return self.keep(name, user, shop, kind, content, mark)

    def keep(self, name, user, shop, kind, content, mark):
        uuid.UUID(name)
        check_that("id of an image", all(i.name != name for i in self.images), "a new one", name)
        self.images.append(Image(name, user, shop, kind, content, mark))
        return self.images[-1]

    def lose(self, user, shop, kind, content, mark):
        """Loses the answer to the last piece, perhaps with a kill. The image is there, or nothing is."""
        fields = {"Upload-Draft-Interop-Version": "8", "Upload-Length": str(len(content)), "Upload-Complete": "?0"}
        answer = user.ask("POST", f"{UPLOAD}?shop_id={shop}", b"", fields)
        check(f"status of an upload that begins: {answer[2][:200]}", 201, answer[0])
        place = answer[1]["Location"]
        check_that("Location", place.startswith(f"{UPLOAD}?id="), "a path", place)
        name = place.rsplit("id=", 1)[1]
        user.ask("PATCH", place, content, {"Upload-Draft-Interop-Version": "8", "Upload-Offset": "0", "Upload-Complete":
                 "?1", "Content-Type": "application/partial-upload"}, is_answer_read=False)
        limit = time.monotonic() + 3
        if self.chance.random() < 0.5:
            time.sleep(self.chance.choice([0, 0.005, 0.02]))
            self.restart()
            limit = 0  # The former process has ended, so that no image can come any more.
        while (status := user.ask("HEAD", f"{IMAGES}/{name}")[0]) == 404 and time.monotonic() < limit:
            time.sleep(0.05)
        # An upload that the server does not know any more was complete.
        if status == 404 and user.ask("DELETE", place, None, {"Upload-Draft-Interop-Version": "8"})[0] == 404 and limit:
            wait_until("an image whose upload was complete", lambda: user.ask("HEAD", f"{IMAGES}/{name}")[0] == 200)
            status = 200
        if status == 200:
            return self.keep(name, user, shop, kind, content, mark)
        check("HEAD of an image whose last answer was lost", 404, status)
        self.peer.count("lost images")
        self.refused.add(mark)
        return None

    # References

    def pick(self, test):
        found = [x for x in self.images if not x.gone and test(x)]
        return self.chance.choice(found) if found else None

    def reference(self, image):
        host = self.chance.choice([f"http://127.0.0.1:{self.backend.port}", "https://shops.example", "http://[::1]:80"])
        return f"[IMAGE:{host}{image.path}]"

    def no_reference(self, image):
        return self.chance.choice([f"[IMAGE:{image.path}]", f"[IMAGE:http://x.example/a b{image.path}]", image.path,
                                   f"[image http://127.0.0.1{image.path}", f"[IMAGE:ftp://x.example{image.path}]",
                                   f"[IMAGE:http://x.example/{'y' * 2100}{image.path}]",
                                   f"[IMAGE:http://x.example\u0001{image.path}]"])

    def post(self):
        """Posts or edits a text with references, some of which claim an image."""
        user = self.chance.choice(self.users)
        shop = self.chance.choice(user.shops)
        chosen = [i for i in self.images if self.chance.random() < 0.2][-4:]
        fakes = [i for i in self.images if self.chance.random() < 0.1 and i not in chosen][-2:]
        words = [self.reference(i) for i in chosen] + [self.no_reference(i) for i in fakes] + ["bread", "\u00e9[IMAGE:"]
        self.chance.shuffle(words)
        text = self.chance.choice([" ", "", "\n"]).join(words) + self.mark().decode()
        mine = [m for m in self.messages if m.owner is user and not m.is_gone]
        key = str(uuid.UUID(int=self.chance.getrandbits(128), version=4)) if self.chance.random() < 0.5 else None
        if mine and self.chance.random() < 0.4:
            message = self.chance.choice(mine)
            body = {"message_id": message.name, "message": text}
            self.repeat(user, "PUT", body, 200, key)
            message.text = text
            for image in self.images:
                if image.message is message and not image.gone and self.reference_free(image, text):
                    self.bury(image)
            self.peer.count("edits")
        else:
            body = {"shop_id": shop, "message": text}
            message = Message(self.repeat(user, "POST", body, 201, key)["id"], user, shop, text)
            self.messages.append(message)
            self.peer.count("posts")
        for image in chosen:
            if not image.gone and not image.message and image.owner is user and image.shop == message.shop:
                image.message = message
                self.peer.count("claims")
        for image in chosen + fakes:
            self.look(image)

    def repeat(self, user, method, body, status, key):
        data = user.change(method, f"{API}/messages", body, status, key)
        if key and self.chance.random() < 0.3:
            if self.chance.random() < 0.2:
                self.restart()
            check("id of a repeated request", data["id"], user.change(method, f"{API}/messages", body, 200, key)["id"])
        return data

    @staticmethod
    def reference_free(image, text):
        return not re.search(r"\[IMAGE:https?://[^/\]\x00-\x20]*(\[::1\]:80)?" + re.escape(image.path) + r"\]", text)

    def bury(self, image):
        image.gone = time.monotonic()
        self.peer.count("deleted images")

    def race(self):
        """Claims an image by two posts at once. It ends with that of the two which has it, and at last with both."""
        image = self.pick(lambda i: not i.message)
        if not image:
            return
        user, posts = image.owner, []
        text = self.reference(image) + self.mark().decode()
        body = {"shop_id": image.shop, "message": text}
        tasks = [threading.Thread(target=lambda: posts.append(user.change("POST", f"{API}/messages", body, 201)["id"]))
                 for _ in range(2)]
        for task in tasks:
            task.start()
        for task in tasks:
            task.join()
        check("answers to two posts at once", 2, len(posts))
        image.message = Message(posts[0], user, image.shop, text)
        self.look(image)
        user.change("DELETE", f"{API}/messages/{posts[0]}", None, 200)
        status = user.ask("HEAD", image.path)[0]
        check_that("an image of two posts, one of which was deleted", status in (200, 404), "200 or 404", status)
        user.change("DELETE", f"{API}/messages/{posts[1]}", None, 200)
        self.bury(image)
        self.look(image, user)
        self.peer.count("races")

    def rest(self):
        """Lets the server work on for some seconds, and searches its files."""
        if self.chance.random() < 0.1:
            time.sleep(6)
            self.search()

    def remove_message(self):
        found = [m for m in self.messages if not m.is_gone]
        if found:
            message = self.chance.choice(found)
            user = self.root if message.shop == "bakery" and self.chance.random() < 0.3 else message.owner
            user.change("DELETE", f"{API}/messages/{message.name}", None, 200)
            message.is_gone = True
            for image in self.images:
                if image.message is message and not image.gone:
                    self.bury(image)
                    self.look(image)
            self.peer.count("deleted messages")

    def remove_image(self, image=None):
        image = image or self.pick(lambda i: True)
        if image is None:
            return
        other = self.bob if image.owner is self.ann else self.ann
        if image.shop == "bakery":
            answer = other.ask("DELETE", f"{image.path}?shop_id=bakery")
            check_that(f"a deletion by another user: {answer[:3]}", answer[0] == 403 or answer[0] == 404 and not
                       image.message, "403, or 404 if it is unclaimed", answer[0])
        user = self.root if image.message and image.shop == "bakery" and self.chance.random() < 0.3 else image.owner
        answer = user.ask("DELETE", f"{image.path}?shop_id={image.shop}")
        check(f"a deletion of an image by {user.user}: {answer[2][:200]}", (200, ["message"]), (
            answer[0], list(json.loads(answer[2]))))
        self.bury(image)
        self.look(image)
        check("a repeated deletion of an image", 404, user.ask("DELETE", f"{image.path}?shop_id={image.shop}")[0])

    # Downloads

    def look(self, image, user=None):
        """Downloads an image, or parts of it, and checks who may."""
        user = user or self.chance.choice([*self.users, self.carl])
        fields, path = {}, image.path
        if self.chance.random() < 0.3:
            fields, path = {"Authorization": None}, f"{path}?token={user.token}"
        status, headers, body, _ = user.ask("GET", path, None, fields)
        what = f"image {image.name} for {user.user}"
        if image.gone or image.shop not in user.shops or not image.message and image.owner is not user:
            good = {404} if image.shop in user.shops else {404, 403} if image.gone or not image.message else {403}
            check_that(f"status of {what}", status in good, good, status)
            check_that(f"content of {what}", image.mark not in body, "none", body[:100])
            return self.peer.count("refused downloads")
        check(f"status of {what}: {body[:100]}", 200, status)
        check(f"content of {what}", image.content, body)
        types = {"jpg": "image/jpeg"}
        common = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-cache", "Accept-Ranges": "bytes",
                  "Content-Disposition": "inline", "Content-Type": types.get(image.kind, f"image/{image.kind}")}
        check(f"fields of {what}", common, {k: headers[k] for k in common})
        tag, size = headers["ETag"], len(image.content)
        check_that("ETag", re.fullmatch(r'"[^"]+"', tag), "a strong one", tag)
        first, last = sorted((self.chance.randrange(size), self.chance.randrange(size)))
        whole = (200, image.content, None)
        part = (206, image.content[first:last + 1], f"bytes {first}-{last}/{size}")
        for sent, wanted in (
                ({"Range": f"bytes={first}-{last}"}, part),
                ({"Range": f"bytes={first}-"}, (206, image.content[first:], f"bytes {first}-{size - 1}/{size}")),
                ({"Range": f"bytes={first}-{size + 9}"}, (206, image.content[first:], f"bytes {first}-{size - 1}/{size}")),
                ({"Range": f"bytes=-{last + 1}"}, (206, image.content[-last - 1:],
                                                   f"bytes {size - last - 1}-{size - 1}/{size}")),
                ({"Range": f"bytes={size}-"}, (416, None, f"bytes */{size}")),
                ({"Range": "bytes=0-1,3-4"}, whole), ({"Range": "pages=1-2"}, whole),
                ({"Range": f"bytes={first}-{last}", "If-Range": tag}, part),
                ({"Range": f"bytes={first}-{last}", "If-Range": '"other"'}, whole),
                ({"If-None-Match": tag}, (304, b"", None)), ({"If-None-Match": f'"a", {tag}'}, (304, b"", None)),
                ({"If-None-Match": '"other"'}, whole)):
            if self.chance.random() < 0.3:
                answer = user.ask("GET", image.path, None, sent)
                check(f"answer to {sent} for {what}", wanted, (
                    answer[0], wanted[1] if wanted[1] is None else answer[2], answer[1]["Content-Range"]))
                self.peer.count("ranges")
        answer = user.ask("HEAD", image.path)
        check(f"HEAD of {what}", (200, b"", str(size), tag), (
            answer[0], answer[2], answer[1]["Content-Length"], answer[1]["ETag"]))
        self.peer.count("downloads")

    # The server

    def restart(self):
        if self.chance.random() < 0.7:
            self.backend.kill()
        else:
            self.backend.stop()
        self.backend.start()
        self.up_since = time.monotonic()
        self.peer.count("restarts")

    def search(self, is_end=False):
        """Looks for images that must be gone in the files of the server. A busy one may need more time."""
        late = time.monotonic() - 5.5
        if self.up_since > late and not is_end:
            return
        dead = {i.mark for i in self.images if i.gone and i.gone < late} | (self.refused if is_end else set())
        wait_until(f"files without {len(dead)} deleted images", lambda: not self.find(dead))
        self.peer.count("searches")

    def find(self, marks):
        """Returns the files of the server that have one of these marks."""
        found = []
        for folder, _, names in os.walk(self.backend.data):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        content = file.read()
                except FileNotFoundError:
                    continue
                if marks & set(re.findall(rb"m[0-9a-f]{16}", content)):
                    found.append(os.path.join(folder, name))
                self.peer.count("searched KiB", len(content) // 1024)
        return found

    # Fixed sequences

    def refusals(self):
        mark, _, content = self.content("png", 2000)
        image, kept = self.add(self.ann, "raw"), self.add(self.ann, "form")
        form = self.multipart(content, "bakery")
        self.refused.add(mark)
        bare = form[0].replace(b'name="file"', b'name="fill"')
        tus = {"Tus-Resumable": "1.0.0"}
        draft = {"Upload-Draft-Interop-Version": "8", "Upload-Complete": "?0"}
        here, ann = f"{UPLOAD}?shop_id=bakery", self.ann
        table = [
            ("no token", 401, "POST", here, content, {"Authorization": None}),
            ("another shop", 403, "POST", f"{UPLOAD}?shop_id=cellar", content, {}),
            ("no shop", 400, "POST", UPLOAD, content, {"Content-Type": "image/png"}),
            ("a form without a file", 400, "POST", UPLOAD, bare, {"Content-Type": form[1]}),
            ("a form without a shop", 400, "POST", UPLOAD, form[0].replace(b"shop_id", b"ship_id"), {"Content-Type": form[1]}),
            ("a form without an end", 400, "POST", UPLOAD, form[0][:-6], {"Content-Type": form[1]}),
            ("a form without a boundary", 400, "POST", UPLOAD, form[0], {"Content-Type": "multipart/form-data"}),
            ("a form for another shop", 403, "POST", UPLOAD, *self.form_fields(content, "cellar")),
            ("text", 415, "POST", here, b"hello" * 100, {"Content-Type": "image/png"}),
            ("BMP", 415, "POST", here, b"BM" + bytes(200), {"Content-Type": "image/png"}),
            ("no bytes", 415, "POST", here, b"", {"Content-Type": "image/png"}),
            ("an encoded body", 415, "POST", here, content, {"Content-Type": "image/png", "Content-Encoding": "gzip"}),
            ("5 MiB and a byte", 413, "POST", here, make_image(mark, "png", LARGEST + 1), {"Content-Type": "image/png"}),
            ("a form of 5 MiB and a byte", 413, "POST", UPLOAD,
             *self.form_fields(make_image(mark, "gif", LARGEST + 1), "bakery")),
            ("tus of 5 MiB and a byte", 413, "POST", here, b"", tus | {"Upload-Length": str(LARGEST + 1)}),
            ("a draft of 5 MiB and a byte", 413, "POST", here, b"", draft | {"Upload-Length": str(LARGEST + 1)}),
            ("another tus", 412, "POST", here, b"", {"Tus-Resumable": "0.2.2", "Upload-Length": "5"}),
            ("an unknown upload", 404, "HEAD", f"{UPLOAD}?id={uuid.uuid4()}", None, tus),
            ("an unknown image", 404, "GET", f"{IMAGES}/{uuid.uuid4()}", None, {}),
            ("a deletion without a shop", 400, "DELETE", image.path, None, {}),
            ("another method", 405, "PATCH", image.path, b"x", {}),
            ("a download without a token", 401, "GET", image.path, None, {"Authorization": None})]
        for what, status, method, path, body, fields in table:
            answer = ann.ask(method, path, body, fields)
            check(f"status of {what}: {answer[2][:200]}", status, answer[0])
            self.peer.count("refusals")
        self.pieces(tus, here)
        offer = ann.ask("OPTIONS", UPLOAD)
        check("OPTIONS of uploads", (204, "application/partial-upload", True), (
            offer[0], offer[1]["Accept-Patch"], f"max-size={LARGEST}" in offer[1]["Upload-Limit"]))
        for kind in KINDS:
            largest = self.content(kind, LARGEST)
            check("bytes of the largest image", LARGEST, len(largest[2]))
            answer = ann.ask("POST", here, largest[2], {"Content-Type": "x/y"})
            check(f"status of a {kind} of 5 MiB: {answer[2][:200]}", 200, answer[0])
            self.look(self.keep(json.loads(answer[2])["data"]["message_id"], ann, "bakery", kind, largest[2], largest[0]), ann)
        for found in (image, kept):
            self.look(found, self.ann)
            self.look(found, self.bob)

    def form_fields(self, content, shop):
        body, kind = self.multipart(content, shop)
        return body, {"Content-Type": kind}

    def pieces(self, tus, here):
        """Refuses pieces of uploads, and uploads of other users."""
        place = self.ann.ask("POST", here, b"", tus | {"Upload-Length": "50"})[1]["Location"]
        piece = tus | {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
        check("a piece of another type", 415, self.ann.ask("PATCH", place, b"x", piece | {"Content-Type": "text/plain"})[0])
        check("a piece at a wrong offset", 409, self.ann.ask("PATCH", place, b"x", piece | {"Upload-Offset": "1"})[0])
        check("a piece by another user", 404, self.bob.ask("PATCH", place, b"x", piece)[0])
        check("HEAD by another user", 404, self.bob.ask("HEAD", place, None, tus)[0])
        check("more bytes than announced", 400, self.ann.ask("PATCH", place, b"x" * 51, piece)[0])
        place = self.ann.ask("POST", here, b"", tus | {"Upload-Length": "50"})[1]["Location"]
        check("an upload that is no image", 415, self.ann.ask("PATCH", place, b"x" * 50, piece)[0])
        place = self.ann.ask("POST", here, b"", tus | {"Upload-Length": "50"})[1]["Location"]
        check("the end of an upload", 204, self.ann.ask("DELETE", place, None, tus)[0])
        check("an upload that ended", 404, self.ann.ask("HEAD", place, None, tus)[0])

    def limits(self):
        """Uploads 16 images that no message claims, and one more. A claim makes room."""
        user, images = User(self, "zoe", "bakery"), []
        for _ in range(16):
            images.append(self.add(user, "raw"))
        content = self.content("png", 500)
        path, fields = f"{UPLOAD}?shop_id=bakery", {"Content-Type": "image/png"}
        answer = user.ask("POST", path, content[2], fields, is_limited=False)
        check("status of the 17th unclaimed image", (429, True), (answer[0], (answer[1]["Retry-After"] or "").isdigit()))
        text = " ".join(self.reference(i) for i in images[:2])
        message = Message(user.change("POST", f"{API}/messages", {"shop_id": "bakery", "message": text}, 201)["id"],
                          user, "bakery", text)
        self.messages.append(message)
        images[0].message = images[1].message = message
        answer = user.ask("POST", path, content[2], fields)
        check(f"status of an upload after a claim: {answer[2][:200]}", 200, answer[0])
        self.keep(json.loads(answer[2])["data"]["message_id"], user, "bakery", "png", content[2], content[0])

    def fill(self):
        """Refuses images while the disk is full, and accepts them after it."""
        if not self.disk.is_small:
            return
        self.make_room(self.ann)
        image, (mark, kind, content) = self.pick(lambda i: i.message), self.content("png", 300_000)
        self.disk.fill(self.chance.choice([0, 1, 20]))
        path, fields = f"{UPLOAD}?shop_id=bakery", {"Content-Type": "image/png"}
        for _ in range(3):
            answer = self.ann.ask("POST", path, content, fields)
            check(f"status of an upload on a full disk: {answer[2][:200]}", 503, answer[0])
        if image:
            self.look(image)
        self.disk.empty()
        answer = self.ann.ask("POST", path, content, fields)
        check(f"status of an upload once there is space: {answer[2][:200]}", 200, answer[0])
        self.keep(json.loads(answer[2])["data"]["message_id"], self.ann, "bakery", kind, content, mark)
        self.peer.count("full disks")

    def expire(self):
        """Lets a day pass. Unclaimed images and unfinished uploads end, and claimed images stay."""
        unclaimed = self.pick(lambda i: not i.message) or self.add(self.ann, "raw")
        tus = {"Tus-Resumable": "1.0.0"}
        begun = self.ann.ask("POST", f"{UPLOAD}?shop_id=bakery", b"", tus | {"Upload-Length": "50"})
        for seconds, status in ((86_400 - 600, 200), (86_400 + 600, 404)):
            self.shift_clock(seconds)
            self.restart()
            sent = self.root.change("POST", f"{API}/messages", {"shop_id": "bakery", "message": "later"}, 201)["created_at"]
            if sent[:10] == time.strftime("%Y-%m-%d", time.gmtime()):
                return self.peer.count("no shifted clock")
            limit = time.monotonic() + HANG
            while (now := unclaimed.owner.ask("GET", unclaimed.path)[0]) != status and time.monotonic() < limit:
                time.sleep(0.2)
            check(f"an unclaimed image {seconds} s after its upload", status, now)
            now = self.ann.ask("HEAD", begun[1]["Location"], None, tus)[0]
            check(f"an unfinished upload after {seconds} s: {now}", status // 100, now // 100)
        for image in self.images:
            if not image.message and not image.gone:
                self.bury(image)
        self.peer.count("expired")

    def compare(self):
        for image in self.images:
            self.look(image)
            if not image.gone:
                self.look(image, image.owner)

    def play(self):
        self.refusals()
        self.limits()
        self.peer.end = time.monotonic() + self.peer.seconds
        steps = [self.add_some] * 6 + [self.post] * 8 + [self.remove_message] * 3 + [self.remove_image] * 2
        steps += [lambda: self.look(self.chance.choice(self.images))] * 3
        steps += [self.search, self.race, self.rest, self.restart, self.fill]
        while not self.peer.is_over():
            self.chance.choice(steps)()
        self.compare()
        self.restart()
        self.compare()
        self.expire()
        self.compare()
        time.sleep(6)
        self.search(is_end=True)
        self.backend.stop()
        self.search(is_end=True)
        self.peer.count("images", len(self.images))


def play(peer):
    World(peer).play()


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
