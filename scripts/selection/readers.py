"""What tests read and start, by the names in their sources, and what scripts import."""
import os
import re

from manifest import ROOT
from rules import ALWAYS

# A path in a literal, possibly after `../`, and what follows it: the end, or a value.
LITERAL = re.compile(r'(path: )?"(?:\.\./|/)*([\w.-]+(?:/[\w.-]+)*)(/?"|/\\\()')
# Paths in literals begin at the package or at one of these folders.
BEGINNINGS = ("", "Sources/", "Tests/", "Tests/Pages/")
# A run of the program `holdfast`, which `CommandProcess` starts unless another is named.
STARTS = re.compile(r"CommandProcess\.(?:path\b(?!\()|(?:run|start)\((?![^\n]*\bof: ))")
NAMES = re.compile(r'(?:\bof: |\bprogram = |path: )"([\w-]+)"')
TYPE = re.compile(
    r"^(?:@.*[\w)] )?(private )?(?:final )?(struct|enum|class|actor|extension) (`.+?`|\w+)", re.M)
# A declaration outside of a type that other files may use.
SHARED = re.compile(r"^(?!private |fileprivate )(?:@\S+ )*(?:\w+ )?"
                    r"(?:extension|func|let|var|typealias|protocol|operator|macro) ", re.M)
IMPORT = re.compile(r"^ *(?:from|import) (\w+)", re.M)


def text(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


class TestFile:
    """The types in a file of a suite."""

    def __init__(self, source):
        if not TYPE.search(source):
            # Everything may be in a condition.
            source = re.sub(r"^  ", "", source, flags=re.M)
        declared = list(TYPE.finditer(source))
        ends = [one.start() for one in declared[1:]] + [len(source)]
        self.source = source
        # The types with tests, as expressions; "" if there are tests outside of types.
        self.tests = [re.sub(r"\W", ".", one[3]) for one, end in zip(declared, ends)
                      if "@Test" in source[one.start():end]]
        if re.search(r"^@Test", source, re.M):
            self.tests = [""]
        # Whether other files can only use the types with tests.
        self.is_alone = bool(self.tests) and not SHARED.search(source) and all(
            one[1] or "@Test" in source[one.start():end] for one, end in zip(declared, ends))
        self.names = [one[3] for one in declared]
        # The types that other files may use.
        self.helpers = [one[3] for one in declared
                        if not one[1] and not (self.tests and one[2] == "extension")]

    def tests_among(self, files):
        """Returns the tests in this file, and those in the files that use its types; "" stands for all."""
        types = self.names if self.is_alone else self.helpers
        word = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, types))})(?!\w)")
        users = [one for one in files if one is not self and types and word.search(one.source)]
        found = {test for one in users for test in one.tests or [""]} | set(self.tests)
        return found or {""}


class Readers:
    """The tests that read a path, and those that start a program."""

    def __init__(self, manifest, paths, gone=()):
        """Reads the sources of all suites. They may still name files that are gone."""
        self.sources, self.paths = set(paths), {*paths, *gone}
        self.folders = {path[:at] for path in self.paths for at, one in enumerate(path) if one == "/"}
        # For each path or folder, the suites with their tests that name it; "" is the whole suite.
        self.named = {}
        # For each target of a program, the suites with their tests that start it.
        self.starters = {}
        # For each file with tests alone, these tests and those that use them.
        self.own = {}
        programs = manifest.programs()
        suites = {}
        for path in paths:
            suite = path.endswith(".swift") and path.startswith("Tests/") and manifest.owner(path)
            if suite and suite != ALWAYS:
                suites.setdefault(suite, {})[path] = TestFile(text(path))
        for suite, files in suites.items():
            for path, file in files.items():
                if file.is_alone:
                    self.own[path] = file.tests_among(files.values())
                self.read(suite, file, files.values(), programs)

    def read(self, suite, file, files, programs):
        """Adds what a file of a suite reads and starts."""
        named = list(self.names_in(file.source))
        started = ["holdfast"] * bool(STARTS.search(file.source)) + NAMES.findall(file.source)
        started = [programs[name] for name in started if name in programs]
        tests = file.tests_among(files) if named or started else ()
        for path in named:
            self.named.setdefault(path, {}).setdefault(suite, set()).update(tests)
        for target in started:
            self.starters.setdefault(target, {}).setdefault(suite, set()).update(tests)

    def names_in(self, source):
        """Yields the paths and folders of this package that a source names."""
        for marked, literal, end in LITERAL.findall(source):
            for known in (beginning + literal for beginning in BEGINNINGS):
                if known in self.paths or (known in self.folders and (marked or "/" in literal + end)
                                           and known + "/" not in BEGINNINGS):
                    yield known

    def of(self, path):
        """Returns the suites that read a path or a folder around it, each with the names of its tests."""
        found = {}
        parts = path.split("/")
        for length in range(1, len(parts) + 1):
            for suite, tests in self.named.get("/".join(parts[:length]), {}).items():
                found.setdefault(suite, set()).update(tests)
        return found

    def importers(self, path):
        """Returns the names of a Python module and of those in its folder that import it."""
        folder = os.path.dirname(path)
        modules = {os.path.basename(one)[:-3]: IMPORT.findall(text(one)) for one in self.sources
                   if os.path.dirname(one) == folder and one.endswith(".py")}
        found = {os.path.basename(path).removesuffix(".py")}
        while True:
            more = {name for name, used in modules.items() if found & set(used)} - found
            if not more:
                return found
            found |= more
