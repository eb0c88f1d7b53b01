"""A client that posts, replies, edits, deletes and uploads by REST while faults occur."""
import json
import threading
import time
import uuid

from ledger import Image, Record, Version
from processes import HANG, IMAGES, MESSAGES, NOT_SENT, SHOP, UNKNOWN, Failure
from uploads import make_image

UPLOAD = f"{IMAGES}/upload"
# The share of changes whose answer the client does not wait for.
LOSS = 0.05
# No more images without a message than this are kept on purpose.
MOST_UNCLAIMED = 3
REFUSALS = {NOT_SENT, 429, 503, 507}


class Worker(threading.Thread):
    """A client that acts until it is stopped. A failure ends it."""

    letter = "?"

    def __init__(self, world, number, chance, pause):
        super().__init__(daemon=True)
        self.world, self.number, self.chance, self.pause = world, number, chance, pause
        self.ledger, self.server = world.ledger, world.server
        self.count = 0
        self.failure = None
        self.stop = threading.Event()

    def run(self):
        try:
            while not self.stop.is_set():
                self.act()
                time.sleep(self.pause)
        except Exception as failure:  # the main thread reports it
            self.failure = failure

    def mark(self):
        self.count += 1
        return f"r{self.number}{self.letter}{self.count}"

    def text(self, mark, version):
        """Returns a text with a unique mark; some are longer than a page of the database."""
        mark = f"_{mark}v{version}_"
        return mark if self.chance.random() < 0.95 else mark * self.chance.randint(100, 700)

    def picture(self, mark, owner):
        mark = f"_{mark}i0_".encode()
        kind = self.chance.choice(["png", "jpg", "gif", "webp", "heic"])
        content = make_image(mark, kind, self.chance.choice([500, self.chance.randint(500, 20_000)]))
        image = self.ledger.images[mark] = Image(mark, content, owner)
        return image

    def target(self, records):
        """Returns a message to change, mostly a new one, or None."""
        while records:
            index = self.chance.randrange(len(records))
            if self.chance.random() < 0.7:
                index = max(0, len(records) - 1 - self.chance.randrange(50))
            if records[index].gone == "no":
                return records[index]
            records[index] = records[-1]
            records.pop()
        return None

    def parent(self):
        """Returns the id of a message to reply to, which may have been deleted, or None."""
        newest = self.world.own[-50:]
        return self.chance.choice(newest).id if newest and self.chance.random() < 0.2 else None


class Author(Worker):
    """Its messages are kept in `world.own` for later rounds. It may delete those of others."""

    letter = "w"

    def __init__(self, world, number, chance, pause):
        super().__init__(world, number, chance, pause)
        self.accepted, self.unsure = 0, 0
        self.images = 0.2 if self.server.is_plain else 0.06  # fewer messages are posted to a plain one

    def act(self):
        dice = self.chance.random()
        if dice < 0.68 - self.images:
            self.post(self.world.writer)
        elif dice < 0.68:
            self.post_image()
        elif dice < 0.85:
            record = self.target(self.world.own)
            if record:
                self.edit(record)
        else:
            pool = self.world.foreign if self.chance.random() < 0.05 else self.world.own
            record = self.target(pool)
            if record:
                self.delete(record)

    def repeat(self, method, path, body, token, key=None, is_repeated=True):
        """Makes a change, again until it is answered. Returns the answer, and whether an attempt
        had an unknown outcome. The answer has the status UNKNOWN if it is not repeated."""
        fields = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        sent = None if body is None else json.dumps(body).encode()
        is_unsure, give_up = False, None
        while True:
            # During the faults some answers are not waited for.
            is_lost = self.chance.random() < LOSS and not self.stop.is_set()
            answer = self.server.ask(
                method, path, token, sent, fields, cut=len(sent or b"") if is_lost else None)
            if answer.status == UNKNOWN:
                self.unsure += not is_unsure
                is_unsure = True
                if not is_repeated:
                    return answer, True
            elif answer.status not in REFUSALS:
                return answer, is_unsure
            if self.stop.is_set():
                give_up = give_up or time.monotonic() + HANG
                if time.monotonic() > give_up:
                    raise Failure(
                        f"a {method} was not answered within {HANG} s after all faults: "
                        f"{answer.status}")
            time.sleep(0.05)

    def post(self, owner, image=None):
        mark = self.mark()
        text = self.text(mark, 0) if image is None else f"_{mark}v0_ [IMAGE:{image.url}]"
        record = self.ledger.add(Record(mark, text, owner, self.parent(), image))
        if image:
            image.state = "unknown"
        # Without keys, a repetition may duplicate the message.
        answer, record.versions[0].is_unsure = self.repeat(
            "POST", MESSAGES, {"shop_id": SHOP, "message": text, "parent_id": record.parent}, owner,
            str(uuid.uuid4()), is_repeated=not self.server.is_plain)
        if answer.status == UNKNOWN:
            return None
        if answer.status not in (200, 201):
            raise Failure(f"a post was answered by {answer.status}: {answer.body[:200]}")
        record.id = json.loads(answer.body)["data"]["id"]
        record.versions[0].is_certain = True
        self.accepted += 1
        self.ledger.replies += record.parent is not None
        if image:
            image.state = "claimed"
        self.world.own.append(record)
        return record

    def edit(self, record, keeps_image=None):
        version = Version(self.text(record.mark, len(record.versions)))
        last = record.texts()[-1]
        if keeps_image is None:
            keeps_image = self.chance.random() < 0.6
        if record.image and "[IMAGE:" in last and keeps_image:
            version.text = f"[IMAGE:{record.image.url}]".join(
                (f"_{record.mark}v{len(record.versions)}_ ", ""))
        record.versions.append(version)
        answer, version.is_unsure = self.repeat(
            "PUT", MESSAGES, {"message_id": record.id, "message": version.text}, record.owner,
            str(uuid.uuid4()))
        if answer.status != 200:
            raise Failure(f"an edit was answered by {answer.status}: {answer.body[:200]}")
        version.is_certain = True
        self.ledger.edits += 1

    def delete(self, record):
        record.gone = "maybe"
        answer, _ = self.repeat("DELETE", f"{MESSAGES}/{record.id}", None, self.world.writer)
        if answer.status != 200:
            raise Failure(f"a deletion was answered by {answer.status}: {answer.body[:200]}")
        record.gone = "yes"
        self.ledger.deletions += 1

    # Images

    def post_image(self):
        image = self.upload()
        if image is None:
            return
        if self.chance.random() < 0.7:
            self.post(image.owner, image)
            return
        self.world.unclaimed.append(image)
        if len(self.world.unclaimed) > MOST_UNCLAIMED:
            self.delete_image(self.world.unclaimed.pop(0))

    def delete_image(self, image):
        image.state = "unknown"
        answer, is_unsure = self.repeat(
            "DELETE", f"{IMAGES}/{image.id}?shop_id={SHOP}", None, image.owner)
        if answer.status != 200 and not (answer.status == 404 and is_unsure):
            raise Failure(f"a deletion of an image: {answer.status}: {answer.body[:200]}")
        image.state = "deleted"

    def upload(self):
        """Uploads an image. Returns None if it is not certainly stored."""
        image = self.picture(self.mark(), self.world.painter())
        way = self.chance.choice([self.upload_whole, self.upload_form, self.upload_pieces])
        if way(image):
            image.state = "unclaimed"
            return image
        return None

    def upload_form(self, image):
        line = f"line{self.chance.getrandbits(64)}"
        fields = [
            f'Content-Disposition: form-data; name="shop_id"\r\n\r\n{SHOP}'.encode(),
            b'Content-Disposition: form-data; name="file"; filename="a.png"\r\n'
            b"Content-Type: image/png\r\n\r\n" + image.content]
        self.chance.shuffle(fields)
        body = b"".join(b"--" + line.encode() + b"\r\n" + field + b"\r\n" for field in fields)
        return self.upload_whole(
            image, UPLOAD, body + b"--" + line.encode() + b"--\r\n",
            f"multipart/form-data; boundary={line}")

    def upload_whole(self, image, path=f"{UPLOAD}?shop_id={SHOP}", body=None, kind="image/png"):
        answer = self.server.ask(
            "POST", path, image.owner, body or image.content, {"Content-Type": kind})
        return self.note(image, answer)

    def note(self, image, answer):
        """Records the answer to an upload. Returns whether the image is stored."""
        if answer.status == 200:
            data = json.loads(answer.body)["data"]
            image.id, image.url = data["message_id"].lower(), data["image_url"]
            return True
        if answer.status == 429:
            # Answers that were lost left images behind, and a user has 16 at most.
            self.world.change_painter()
        elif answer.status not in REFUSALS | {UNKNOWN}:
            raise Failure(f"an upload was answered by {answer.status}: {answer.body[:200]}")
        return False

    def upload_pieces(self, image):
        """Uploads an image in pieces, some of which are cut."""
        draft = {"Upload-Draft-Interop-Version": "8"}
        size = len(image.content)
        answer = self.server.ask(
            "POST", f"{UPLOAD}?shop_id={SHOP}", image.owner, b"",
            draft | {"Upload-Complete": "?0", "Upload-Length": str(size), "Content-Type": "image/png"})
        if answer.status != 201:
            return self.note(image, answer)
        place, offset = answer.fields["Location"], 0
        name = place.rsplit("id=", 1)[1].lower()
        while not self.stop.is_set():
            piece = self.chance.randint(min(1, size - offset), size - offset)
            is_last = offset + piece == size
            answer = self.server.ask(
                "PATCH", place, image.owner, image.content[offset:offset + piece],
                draft | {
                    "Upload-Offset": str(offset), "Upload-Complete": "?1" if is_last else "?0",
                    "Content-Type": "application/partial-upload"},
                cut=piece // 2 if self.chance.random() < 0.1 else None)
            if answer.status == 200 and is_last:
                return self.note(image, answer)
            if answer.status // 100 == 2:
                offset += piece
                continue
            if answer.status not in REFUSALS | {UNKNOWN, 404, 409}:
                return self.note(image, answer)
            time.sleep(0.05)
            answer = self.server.ask("HEAD", place, image.owner, None, draft)
            if answer.status // 100 == 2:
                offset = int(answer.fields["Upload-Offset"])
            elif answer.status == 404:
                answer = self.server.ask("HEAD", f"{IMAGES}/{name}", image.owner)
                if answer.status == 200:
                    image.id = name
                    image.url = f"http://127.0.0.1:{self.server.port}{IMAGES}/{name}"
                    return True
                if answer.status == 404:
                    return False
        return False
