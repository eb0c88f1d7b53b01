"""What was asked of the server, and which of it must, may and must not be there in the end."""
import re

# The mark of a version of a text (v) or of an image (i): round, author, number, version.
MARK = re.compile(rb"_r\d+[a-z]\d+[vi]\d+_")


def mark_of(text):
    """Returns the mark of a message without its version, or None."""
    found = re.match(r"_(r\d+[a-z]\d+)v\d+_", text)
    return found and found[1]


class Image:
    """An image. Its `id` is None if the answer to its upload was not received."""

    def __init__(self, mark, content, owner):
        self.mark, self.content, self.owner = mark, content, owner
        self.id, self.url = None, None
        # unknown (perhaps stored, perhaps claimed), unclaimed, claimed, deleted
        self.state = "unknown"


class Version:
    def __init__(self, text):
        self.text = text
        self.is_certain = False  # the server has confirmed it
        self.is_unsure = False  # the outcome of an attempt was unknown


class Record:
    """A message that was posted, or perhaps was."""

    def __init__(self, mark, text, owner, parent=None, image=None):
        self.mark, self.owner, self.parent, self.image = mark, owner, parent, image
        self.id = None
        self.versions = [Version(text)]
        self.gone = "no"  # no, maybe, yes

    def texts(self):
        return [version.text for version in self.versions]

    def last_texts(self, is_plain):
        """Returns the texts that the message may have in the end.

        Without keys, an attempt whose answer was lost may be carried out after later edits.
        """
        certain = [n for n, version in enumerate(self.versions) if version.is_certain]
        first = certain[-1] if certain else 0
        return [
            version.text for n, version in enumerate(self.versions)
            if n >= first or is_plain and version.is_unsure]

    def may_have_lost_its_image(self, is_plain):
        """Returns whether a late edit may have restored a reference to an image that is gone."""
        return (
            is_plain and len(self.versions) > 1
            and any(version.is_unsure for version in self.versions)
            and not all("[IMAGE:" in text for text in self.texts()))


class Ledger:
    """The messages and images of a server."""

    def __init__(self, is_plain):
        self.is_plain = is_plain
        self.records = {}  # by mark
        self.images = {}  # by mark
        self.edits = self.deletions = self.replies = 0

    def add(self, record):
        self.records[record.mark] = record
        return record

    def faults(self, messages):
        """Returns what is wrong with the messages of the server, which are those of its pages."""
        there, found = {message["id"]: message for message in messages}, set()
        if len(there) != len(messages):
            yield "pages hold a message twice"
        for message in messages:
            text = message["message"]
            record = self.records.get(mark_of(text))
            if record is None:
                yield f"never posted: {text[:40]}"
                continue
            name = f"{message['id']} ({record.mark})"
            if record.mark in found and not (self.is_plain and record.versions[0].is_unsure):
                yield f"{name} is there twice"
            found.add(record.mark)
            if record.id is None and record.versions[0].is_unsure:
                record.id = message["id"]
            if record.id != message["id"] and not (
                    self.is_plain and record.versions[0].is_unsure):
                yield f"{name} was answered with the id {record.id}"
            if record.gone == "yes" and record.id == message["id"]:
                yield f"{name} is there although its deletion was confirmed"
            if body(text) not in [body(text) for text in record.last_texts(self.is_plain)]:
                yield f"{name} is {text[:40]!r} in place of {record.texts()[-1][:40]!r}"
            parent = record.parent if record.parent in there else None
            if message["parent_id"] != parent:
                yield f"{name} replies to {message['parent_id']} in place of {parent}"
        for mark, record in self.records.items():
            if mark not in found and record.id is not None and record.gone == "no":
                yield f"{record.id} ({mark}) is missing on the server"

    def is_explained(self, identifier, text):
        """Returns whether a message that the server does not have may have been there."""
        record = self.records.get(mark_of(text))
        return record is not None and record.id == identifier and record.gone != "no"

    def is_version(self, text):
        """Returns whether a text was asked for."""
        record = self.records.get(mark_of(text))
        return record is not None and body(text) in [body(text) for text in record.texts()]


def body(text):
    """Returns a text without its reference to an image."""
    return text.split("[IMAGE:")[0].rstrip()


def reference(text):
    """Returns the id of the image to which a text refers, or None."""
    found = re.search(r"\[IMAGE:[^\]]*/([0-9a-fA-F-]{36})\]", text)
    return found and found[1].lower()
