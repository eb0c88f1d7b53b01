"""Removes the bodies of functions from a .swiftinterface file.

A type check needs only declarations, and a compiler that reads no bodies builds the standard
library in a quarter of the time. The parser relies on the compiler's layout, in which each
declaration begins on its own line.
"""
import re

TYPE = re.compile(r"\b(struct|class|enum|extension|protocol|actor)\b")
NAMED_TYPE = re.compile(r"\b(struct|class|enum|extension|protocol|actor) [A-Za-z_`]")
FUNCTION = re.compile(r"\b(func|init|deinit)\b\W")
STORAGE = re.compile(r"\b(var|subscript)\b")
DECLARATION = re.compile(
    r"\b(func|init|deinit|var|let|subscript|case|typealias|associatedtype|import|struct|class|enum"
    r"|extension|protocol)\b"
)


def strip(text, kept=None):
    """Returns the text without bodies, except those of functions whose declarations match `kept`."""
    return _Strip(text, kept).run()


class _Strip:
    def __init__(self, text, kept):
        self.text, self.kept, self.out, self.open = text, kept, [], []
        # The start of the current declaration, and the number of open parentheses.
        self.start, self.parentheses = 0, 0

    def run(self):
        at = 0
        while at < len(self.text):
            at = self._step(at)
        return "".join(self.out)

    def _keep(self, at, end):
        self.out.append(self.text[at:end])
        return end

    def _step(self, at):
        char = self.text[at]
        if char == '"' or self.text.startswith("//", at):
            return self._keep(at, self._after_word(at))
        if char == "{":
            return self._opened(at)
        if char in "([":
            self.parentheses += 1
        elif char in ")]":
            self.parentheses -= 1
        elif char == "}":
            self.open.pop()
            self.start = at + 1
        elif char == "\n" and self.parentheses == 0 and self.open[-1:] != ["accessors"]:
            line = self.text[self.start : at]
            if line.lstrip().startswith("#") or DECLARATION.search(line):
                self.start = at + 1
        return self._keep(at, at + 1)

    def _opened(self, at):
        """Handles the brace of a type, of accessors, or of a body, which is removed."""
        if self.parentheses:
            return self._keep(at, self._after_block(at))
        declaration = re.sub(r"//.*", "", self.text[self.start : at])
        inner = self.open[-1:] == ["accessors"]
        if inner or FUNCTION.search(declaration) and not NAMED_TYPE.search(declaration):
            self.start = self._after_block(at)
            is_kept = self.kept and self.kept.search(declaration)
            return self._keep(at, self.start) if is_kept else self.start
        storage = STORAGE.search(declaration) and not NAMED_TYPE.search(declaration)
        self.open.append("accessors" if storage else "type")
        self.start = at + 1
        return self._keep(at, at + 1)

    def _after_word(self, at):
        """Returns the end of a string or a comment."""
        if self.text.startswith("//", at):
            return self.text.index("\n", at)
        if self.text.startswith('"""', at):
            return self.text.index('"""', at + 3) + 3
        end = at + 1
        while self.text[end] != '"':
            end += 2 if self.text[end] == "\\" else 1
        return end + 1

    def _after_block(self, at):
        depth = 0
        while True:
            char = self.text[at]
            if char == '"' or self.text.startswith("//", at):
                at = self._after_word(at)
                continue
            depth += (char == "{") - (char == "}")
            at += 1
            if depth == 0:
                return at
