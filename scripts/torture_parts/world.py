"""A server and a phone that last for many rounds, and what must hold after each."""
import os
import random
import shutil
import time
import uuid

from author import Author
from ledger import MARK, Ledger, mark_of, reference
from phone import Consumer, Pen, history
from processes import HANG, IMAGES, SHOP, Clock, Disk, Failure, Server

# The tries to show a deletion on a plain server's newest page, and the time for each.
PROBES, PROBE = 10, 60
# The number of messages on the newest page that the phone fetches at each catch-up, at least.
NEWEST = 20


class World:
    def __init__(self, program, directory, is_plain, chance, is_idle):
        self.program, self.chance = program, chance
        self.healing, self.erasure = (90, 5 + 5) if is_idle else (HANG, HANG)
        self.directory = directory
        os.makedirs(directory)
        self.disks = [Disk(directory + "/server", 64), Disk(directory + "/phone", 64)]
        self.clocks = [Clock(directory + "/server.clock"), Clock(directory + "/phone.clock")]
        self.log = open(directory + "/phone.log", "ab")
        self.server_log = open(directory + "/server.log", "ab")
        self.server = Server(
            program, self.disks[0], self.clocks[0], is_plain, self.server_log)
        self.consumer = Consumer(
            program, self.server, self.disks[1], self.clocks[1], directory + "/token", self.log)
        self.ledger = Ledger(is_plain)
        self.own, self.foreign, self.unclaimed, self.painters = [], [], [], []
        self.names = []

    def start(self):
        self.server.start_until_up()
        self.token = self.server.make_token("ann")
        with open(self.consumer.token, "w", encoding="ascii") as file:
            file.write(self.token)
        self.writer = self.server.make_token("writer", "--admin", SHOP)
        self.change_painter()
        self.consumer.start()

    def change_painter(self):
        """Lets another user upload images from now on."""
        self.painters.append(self.server.make_token(f"painter{len(self.painters)}"))

    def painter(self):
        return self.painters[-1]

    # Faults

    def faults(self):
        names = [
            "kill server", "end server", "freeze server", "kill phone", "freeze phone",
            "kill reader and phone", "stall reader", "background"]
        if self.disks[0].is_small:
            names += ["fill server's disk", "fill phone's disk"]
        if Clock.library is not None:
            names.append("jump phone's clock")
            if not self.server.is_plain:  # decision 0011 has the effects of a plain server's clock
                names.append("jump server's clock")
        return names

    def strike(self, name, span):
        server, phone = self.server, self.consumer
        if name in ("kill server", "end server"):
            server.restart(name == "kill server", span)
        elif name == "freeze server":
            server.freeze(span)
        elif name == "kill phone":
            phone.kill()
            time.sleep(span)
            phone.start()
        elif name in ("stall reader", "kill reader and phone"):
            phone.stall(span, name != "stall reader")
        elif name == "freeze phone":
            phone.freeze(span)
        elif name == "background":
            phone.leave(span)
        elif name.startswith("fill"):
            disk = self.disks[0 if "server" in name else 1]
            disk.fill()
            time.sleep(span)
            disk.empty()
        elif name.startswith("jump"):
            clock = self.clocks[0 if "server" in name else 1]
            clock.set(self.chance.choice([-3600, -90, -5, 0, 5, 90, 3600]))

    def round(self, number, seconds):
        """Plays one round, checks it, and returns a line about it."""
        # On a plain server, more than 1,000 messages in two minutes leave a gap to scroll over,
        # since the phone compares pages with its newest 1,000 messages.
        pauses = [0.05, 0.1] if self.server.is_plain else [0.005, 0.03]
        self.foreign = []
        author = Author(
            self, number, random.Random(self.chance.random()), self.chance.choice(pauses))
        pen = Pen(self, number, random.Random(self.chance.random()), 0.05)
        pen.flush()
        author.start()
        pen.start()
        end = time.monotonic() + seconds
        names = self.names = []
        while time.monotonic() < end:
            time.sleep(self.chance.uniform(0.05, 0.8))
            name = self.chance.choice(self.faults())
            names.append(name)
            self.strike(name, self.chance.uniform(0.05, 1.5))
        self.finish(author, pen)
        pen.flush()
        if self.server.is_plain:
            self.probe(author)
            pen.flush()
        calm = time.monotonic()
        self.messages = self.server.messages(self.token)
        for fault in self.ledger.faults(self.messages):
            raise Failure(fault)
        whole = self.heal()
        self.check_pen(pen)
        images = self.check_images()
        erased = self.check_files(pen, calm)
        shutil.rmtree(pen.data)
        counts = pen.counts
        return (
            f"{author.accepted:4} accepted, {author.unsure:2} unsure, {len(self.messages):5} there, "
            f"{images:3} images, commands {counts['confirmed']}/{counts['killed']}/"
            f"{counts['failed']}, whole after {whole:5.2f} s, erased after {erased:4.1f} s")

    def finish(self, *workers):
        for worker in workers:
            worker.stop.set()
        for worker in workers:
            worker.join()
        for worker in workers:
            if worker.failure:
                raise worker.failure

    def probe(self, author):
        """Edits and deletes messages on the newest page of a plain server, lets the phone connect
        again, and waits until it shows both.

        A page proves the deletion of a message only if an earlier one had it among others. A
        catch-up by time does not count as one, so the first tries may prove nothing.
        """
        for _ in range(PROBES):
            first, second, third = [author.post(self.writer) for _ in range(3)]
            if not (first and second and third):
                raise Failure("a post without faults was not answered")
            names = {first.id, second.id, third.id}
            if not self.wait(lambda texts: names <= texts.keys(), HANG):
                raise Failure("messages that were posted after all faults are missing")
            author.edit(first)
            author.delete(second)
            self.server.restart(is_killed=False)
            if self.wait(
                    lambda texts: texts.get(first.id) == first.texts()[-1]
                    and second.id not in texts, PROBE):
                return
        raise Failure("the phone does not show an edit and a deletion on the newest page")

    def wait(self, holds, limit):
        """Waits until something holds for the consumer's result. Returns whether it does."""
        end = time.monotonic() + limit
        while not holds(self.consumer.result()):
            self.consumer.keep_up()
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    # What must hold

    def heal(self):
        """Waits until the consumer and the history have what the server has, and returns the time.

        A catch-up may deliver the last message before it closes its gap.
        """
        begin = time.monotonic()
        while True:
            self.consumer.keep_up()
            texts = self.consumer.result()
            fault = self.difference(texts) or self.history_fault(texts)
            waited = time.monotonic() - begin
            if not fault:
                return waited
            if waited > self.healing:
                raise Failure(fault)
            time.sleep(0.05)

    def difference(self, texts):
        """Returns how these texts differ from the server's in a way that is not allowed."""
        there = {message["id"]: message["message"] for message in self.messages}
        missing = sorted(mark_of(there[name]) for name in there.keys() - texts.keys())
        if missing:
            return f"{len(missing)} messages are missing: {missing[:5]}"
        extra = [name for name in texts if name not in there]
        if self.server.is_plain:
            extra = [name for name in extra if not self.ledger.is_explained(name, texts[name])]
        if extra:
            return f"{len(extra)} messages are not on the server: {[texts[n][:40] for n in extra[:5]]}"
        exact = list(there)[-NEWEST:] if self.server.is_plain else list(there)
        for name in exact:
            if texts[name] != there[name]:
                return f"{name} is {texts[name][:40]!r}, on the server {there[name][:40]!r}"
        for name in there:
            if mark_of(texts[name]) != mark_of(there[name]) or not self.ledger.is_version(
                    texts[name]):
                return f"{name} is {texts[name][:40]!r}, which was not posted"
        return None

    def history_fault(self, texts):
        """Returns what is wrong with the phone's stored history."""
        events = history(self.program, self.consumer.data)
        if any(event["event"] == "gap" for event in events):
            return "the history has a gap"
        found = [event for event in events if event["event"] == "message"]
        shown = {event["id"]: event["text"] for event in found}
        if len(shown) != len(found):
            return "the history holds a message twice"
        if shown != texts:
            names = [name for name in shown.keys() | texts.keys() if shown.get(name) != texts.get(name)]
            return f"history and consumer differ in {len(names)} messages: {names[:5]}"
        stamps = [(event["createdAt"].rstrip("Z").ljust(30, "0"), event["id"]) for event in found]
        if stamps != sorted(stamps):
            return "the history is out of order"
        parents = {message["id"]: message["parent_id"] for message in self.messages}
        for event in found:
            # The phone keeps the id of a parent that was deleted.
            parent, right = event.get("parentId"), parents.get(event["id"])
            if not self.server.is_plain and parent != right and (right or parent in parents):
                return f"{event['id']} replies to {parent} in the history"
        return None

    def check_pen(self, pen):
        """Checks that the second phone has nothing but messages of the server in their last form."""
        there = {message["id"]: message["message"] for message in self.messages}
        shown = pen.history()
        newest = list(there)[-NEWEST:]
        if not self.server.is_plain:
            newest = list(there.keys() & shown.keys()) + newest
            extra = shown.keys() - there.keys()
            if extra:
                raise Failure(f"the second phone shows what the server has not: {sorted(extra)[:5]}")
        for name in newest:
            if shown.get(name) != there[name]:
                raise Failure(
                    f"the second phone has {name} as {str(shown.get(name))[:40]!r}, the server as "
                    f"{there[name][:40]!r}")

    def check_images(self):
        """Checks each image whose id is known. Returns the number of those with a message."""
        referring = {}
        for message in self.messages:
            name = reference(message["message"])
            if name:
                referring[name] = self.ledger.records[mark_of(message["message"])]
        self.living, self.doubtful = set(), set()
        for name, record in referring.items():
            if record.may_have_lost_its_image(self.server.is_plain):
                self.doubtful.add(name)
                self.check_image(name, record.image, self.token, {200, 404})
            else:
                self.living.add(name)
                self.check_image(name, record.image, self.token, {200})
        for image in self.ledger.images.values():
            if image.id and image.id not in referring:
                good = {"deleted": {404}, "claimed": {404}, "unclaimed": {200}}
                self.check_image(image.id, image, image.owner, good.get(image.state, {200, 404}))
        return len(self.living)

    def check_image(self, name, image, token, good):
        answer = self.server.ask("GET", f"{IMAGES}/{name}", token)
        if answer.status not in good:
            raise Failure(f"image {name} ({image.state}, {image.mark}): {answer.status}, not {good}")
        if answer.status == 200 and answer.body != image.content:
            raise Failure(f"image {name} ({image.mark}) has other bytes")

    def check_files(self, pen, calm):
        """Waits until no file has what was deleted or replaced, and returns the time since `calm`."""
        begin = time.monotonic()
        while True:
            fault = self.file_fault(pen)
            waited = time.monotonic() - calm
            if not fault:
                return waited
            if waited > self.erasure and time.monotonic() - begin > 2:
                raise Failure(f"{waited:.1f} s after all changes {fault}")
            time.sleep(0.1)

    def file_fault(self, pen):
        """Returns which file contains a text or an image that must be gone."""
        texts = {m for message in self.messages for m in marks(message["message"].encode())}
        shown = {m for text in self.consumer.result().values() for m in marks(text.encode())}
        kept = {m for text in pen.history().values() for m in marks(text.encode())}
        for place, allowed in (
                (self.server.data, texts), (self.consumer.data, shown), (pen.data, kept | texts)):
            for path, content in files(place):
                found = marks(content)
                gone = {mark for mark in found if b"v" in mark} - allowed
                if gone:
                    return f"{path} has {len(gone)} texts that are gone: {sorted(gone)[:3]}"
                if place == self.server.data and "/images/" not in path:
                    left = {mark for mark in found & self.ledger.images.keys()
                            if self.ledger.images[mark].state != "unknown"}
                    if left:
                        return f"{path} has images whose upload ended: {sorted(left)[:3]}"
        found = {m for m in marks(open(self.server_log.name, "rb").read()) if b"v" in m}
        if found:
            return f"the server's log has texts: {sorted(found)[:3]}"
        return self.image_file_fault()

    def image_file_fault(self):
        """Returns which image has a file, but neither a message nor the right to wait for one."""
        names = set()
        for path, content in files(self.server.data + "/images"):
            name = os.path.basename(path).split(".")[0].lower()
            try:
                uuid.UUID(name)
            except ValueError:
                continue
            names.add(name)
            if name in self.living or name in self.doubtful:
                continue
            image = self.ledger.images.get(next(iter(marks(content)), None))
            if image is None or image.state in ("deleted", "claimed") and image.id == name:
                return f"{path} ({image and image.mark}) is the file of no message"
            # An unclaimed image is its uploader's alone. Others see what a message has claimed.
            statuses = [
                self.server.ask("HEAD", f"{IMAGES}/{name}", token).status
                for token in (image.owner, self.token)]
            if statuses != [200, 404]:
                return f"{path} ({image.mark}) is the file of no message: {statuses}"
        missing = self.living - names
        return f"{len(missing)} images have no file" if missing else None

    def summary(self):
        ledger = self.ledger
        count = sum(record.id is not None for record in ledger.records.values())
        return (
            f"{count} messages, {ledger.replies} replies, {ledger.edits} edits, "
            f"{ledger.deletions} deletions, {sum(i.id is not None for i in ledger.images.values())} "
            f"images in {self.consumer.lives} lives of the phone: none lost, none twice, none out "
            f"of order, none left behind")

    def end(self, keep):
        self.consumer.kill()
        self.server.kill()
        for disk in self.disks:
            disk.empty()
            disk.remove(keep)
        self.log.close()
        self.server_log.close()


def marks(content):
    return set(MARK.findall(content))


def files(place):
    """Yields the path and the content of each file below a directory."""
    for folder, _, names in os.walk(place):
        for name in names:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    yield path, file.read()
            except FileNotFoundError:
                pass
