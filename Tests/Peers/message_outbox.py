"""What the phone of message_client.py sends: lines, and commands that send, reply, edit, delete and may be killed."""
import asyncio
import json

from message_wire import API, check, check_that
from uploads import make_image

NAME = "phil"
STORED = {0, 6}  # statuses of a command whose change is kept: the server has it, or could not be reached


class Outbox:
    """The changes of the phone, and which of them must have happened at the end."""

    def __init__(self, phone):
        self.phone, self.world, self.chance = phone, phone.world, phone.world.peer.chance
        self.queued, self.sent = {}, {}  # by key: a text or (action, id, text); the id of the message
        self.owed = set()  # texts of messages that must be posted
        self.parents, self.pictures = {}, {}  # by text: the message that is replied to; mark and content of an image
        self.edits, self.deletions = {}, {}  # by id: [text, is it certain]; is it certain
        self.killed = set()  # texts of commands with an image that were killed

    def text(self, is_new=True):
        text = self.world.text().replace("\n", " ").strip()
        self.world.used.add(text)
        if is_new:
            self.world.copies[text] = 1
        return text

    def mine(self):
        return [p for p in self.world.posts.values() if p.author == NAME and not p.is_going]

    # What events say

    def note(self, kind, event):
        """Notes what becomes of a change. Returns nothing."""
        key, posts = event["key"], self.world.posts
        if kind == "outbox":
            check_that(f"state of a change: {event}", event["state"] == "queued", "queued", event)
            action, text = event.get("action"), event["text"]
            value = (action, event["id"], text) if action else text
            check("a change of one key", self.queued.setdefault(key, value), value)
            if action:
                self.confirm(*value)
            else:
                self.owed.add(text)
        elif kind == "sent":
            check("id of a change", self.sent.setdefault(key, event["id"]), event["id"])
        else:  # the server has answered 404 or 410
            value = self.queued.get(key)
            name = value[1] if isinstance(value, tuple) else self.sent.get(key)
            is_gone = name in posts and posts[name].is_going or value in self.parents and self.parents[value].is_going
            check_that(f"a change that is discarded: {event}", is_gone or any(
                p.is_going and self.world.base(p.text) == value for p in posts.values()), "one of a deleted message", value)
            self.owed.discard(value)

    def confirm(self, action, name, text):
        """Notes that an edit or a deletion is stored, so that it must happen."""
        if action == "delete":
            self.deletions[name] = True
        for edit in self.edits.get(name, []):
            edit[1] |= action == "edit" and edit[0] == self.world.base(text)

    def own(self, event):
        """Lets other users reply to a message of the phone, and delete it."""
        posts, text = self.world.posts, self.world.base(event["text"])
        if event["id"] not in posts:
            posts[event["id"]] = post = self.world.Post({
                "id": event["id"], "user_id": NAME, "position": event["position"], "message": event["text"]},
                self.parents.get(text), True)
            post.is_going = event["id"] in self.deletions

    # Commands

    async def change(self):
        """Runs a command. It may be killed at any moment."""
        chance, mine = self.chance, self.mine()
        way = chance.choice(["send", "reply"] + ["image"] * ("images" not in self.world.peer.without) + [
            "edit", "edit", "delete"] * bool(mine))
        post = chance.choice(mine[-20:]) if mine else None
        text = self.text(way in ("send", "image", "reply")) if way != "delete" else None
        words = {"edit": lambda: ["edit", post.id, text], "delete": lambda: ["delete", post.id]}.get(
            way, lambda: ["send", text])()
        if way == "image":
            words = [words[0], "--image", self.picture(text), *words[1:]]
        if way == "reply" and (parent := self.world.writers[0].pick(lambda p: not p.is_gone)):
            words = [words[0], "--reply-to", parent.id, *words[1:]]
            self.parents[text] = parent
        if way == "edit":
            post.texts.add(text)
            self.edits.setdefault(post.id, []).append([text, False])
        elif way == "delete":
            post.is_going = True
            self.deletions.setdefault(post.id, False)
        self.world.peer.count(f"commands that {way}")
        status, events = await self.run(words)
        if status is None and way == "image":
            self.killed.add(text)
        if status in STORED:
            if way in ("edit", "delete"):
                self.confirm(way, post.id, text)
            else:
                self.owed.add(text)
        for event in events:
            check("event of a command", {"edit": "edited", "delete": "deleted"}.get(way, "sent"), event["event"])
            self.sent.setdefault(event["key"], event["id"])

    def picture(self, text):
        mark, kind = f"m{self.chance.getrandbits(64):016x}", self.chance.choice(["png", "jpg", "heic"])
        content = make_image(mark.encode(), kind, self.chance.choice([2000, 300_000]))
        self.pictures[text] = (mark, content)
        path = self.world.peer.path("picture")
        with open(path, "wb") as file:
            file.write(content)
        return path

    async def run(self, words):
        """Returns the exit status and the events of a command, or None and the events before its kill."""
        phone, chance, was_full = self.phone, self.chance, self.phone.is_full()
        child = phone.start(words[0], "--server", f"http://127.0.0.1:{self.world.any_port()}", "--timeout", "4s",
                            *phone.waits, *words[1:])
        reading = asyncio.get_running_loop().run_in_executor(None, child.communicate)
        if self.world.peer.draws("command-kills", 0.3):
            await asyncio.sleep(chance.choice([chance.uniform(0, 0.1), chance.uniform(0, 0.5), chance.uniform(0, 3)]))
            child.kill()
        output = (await reading)[0]
        self.world.peer.count(f"commands with status {child.returncode}")
        events = [json.loads(line) for line in output.splitlines(keepends=True) if line.endswith(b"\n")]
        if child.returncode < 0:
            return None, events
        was_full |= phone.is_full()
        # A message that others delete meanwhile, a server that answers 503, and a full disk are failures.
        check_that(f"exit status of {words[0]}", child.returncode in {0, 1, 6}, "0, 1 or 6", child.returncode)
        return child.returncode, events

    # The end

    async def judge(self, whole):
        """Checks that each change that was stored has happened once, unless somebody deleted the message."""
        world, posts = self.world, self.world.posts
        texts = [world.base(m["message"]) for m in whole]
        there = {m["id"]: m for m in whole}
        for name, is_certain in self.deletions.items():
            check_that(f"a deletion by the phone of {name}", not is_certain or name not in there, "done", "not done")
            if name in posts and name not in there:
                posts[name].is_gone = True
        changed = {w for p in posts.values() if p.author == NAME and (p.is_gone or p.id in self.edits)
                   for w in map(world.base, p.texts)}
        for text in self.owed:
            check_that(f"messages with the text {text[:60]}", texts.count(text) == 1 or text in changed and
                       texts.count(text) == 0, "1, unless it was changed", texts.count(text))
        for name, edits in self.edits.items():
            certain = [n for n, edit in enumerate(edits) if edit[1]]
            wanted = [edit[0] for edit in edits[certain[-1] if certain else 0:]]
            wanted += [] if certain else [world.base(posts[name].text)]
            if name in there:
                check_that(f"text of {name} after edits by the phone", world.base(there[name]["message"]) in wanted,
                           wanted, there[name]["message"])
        for name, message in there.items():
            mark, content = self.pictures.get(world.base(message["message"]), (None, None))
            if mark:
                place = message["message"].rsplit("[IMAGE:", 1)[1][:-1]
                answer = await world.wire.ask("GET", place[place.index(API):], self.phone.token)
                check(f"status and content of an image of the phone in {name}", (200, content), (
                    answer.status, answer.body))
                world.peer.count("images of the phone")
        world.peer.count("changes of the phone", len(self.owed) + len(self.edits) + len(self.deletions))

    def dead_marks(self, live):
        """Returns marks of images whose message is gone. The image of a command that was killed before its message
        was stored may remain for an hour."""
        texts = {self.world.base(text) for text in live}
        posted = {self.world.base(text) for post in self.world.posts.values() for text in post.texts}
        unknown = self.killed - self.owed - set(self.queued.values()) - posted
        return {mark for text, (mark, _) in self.pictures.items() if text not in texts | unknown}
