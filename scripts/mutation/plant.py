"""Plants mutants in a copy of the package, and builds it."""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HOME = os.path.join(ROOT, ".build", "mutants")
TOOLS = os.path.join(ROOT, "scripts", "mutation")
# The folders below Sources in which mutants are planted, with their targets. Each target is after
# those that it imports.
MODULES = {
    "Base/Core": "HoldfastCore", "Base/JSON": "HoldfastJSON", "Base/Uploads": "HoldfastUploads",
    "Health/Samples": "HoldfastHealthSamples", "Health/Data": "HoldfastHealth",
    "Messages/Data": "HoldfastMessageData", "Health/Relay/Data": "HoldfastRelayData",
    "Health/Sync/Data": "HoldfastSyncData", "Session/Data": "HoldfastSessionData",
    "Bottle/Data": "HoldfastBottleData", "Base/Protocols": "HoldfastProtocols",
    "Messages/Phone": "HoldfastMessageStream", "Health/Relay/Phone": "HoldfastHealthRelay",
    "HeldSocket/Phone": "HoldfastHeldSocket", "Session/Phone": "HoldfastSession",
    "Health/Sync/Phone": "HoldfastHealthSync", "Bottle/Phone": "HoldfastBottleLink",
    "Bottle/Firmware": "HoldfastFirmware", "Session/Audit": "HoldfastSessionAudit", "Base/Pages": "HoldfastPages",
    "Server/Data": "HoldfastServerData", "Server/Parts": "HoldfastServerParts",
    "Server/Identity": "HoldfastIdentity", "Messages/Server": "HoldfastMessageServer",
    "Health/Relay/Server": "HoldfastRelayServer", "Health/Sync/Server": "HoldfastSyncServer",
    "Session/Server": "HoldfastSessionServer", "Assistants/Server": "HoldfastAssistants",
    "Server/Operators": "HoldfastOperators",
}
# The only worlds that play a feature. All worlds play the shared modules.
WORLDS = {
    "Messages/Phone": ["message-stream"], "Health/Relay/Phone": ["relay"],
    "HeldSocket/Phone": ["held-socket"], "Session/Phone": ["session"],
    "Session/Data": ["session"], "Session/Server": ["session"],
    "Health/Sync/Phone": ["sync"], "Bottle/Phone": ["bottle"], "Bottle/Firmware": ["bottle"],
    "Health/Sync/Data": ["sync"], "Health/Sync/Server": ["sync"], "Bottle/Data": ["bottle"],
}
SUITES = [
    "CoreTests", "JSONTests", "WireTests", "StorageTests", "HealthTests", "ProtocolsTests",
    "MessageStreamTests", "HealthRelayTests", "HeldSocketTests", "SessionTests", "HealthSyncTests",
    "BottleLinkTests", "FirmwareTests", "AuditTests", "ServerPartsTests", "MessageServerTests",
    "RelayServerTests", "SyncServerTests", "SessionServerTests", "AssistantsTests", "FuzzTests",
    "RandomInputTests",
]
# The only suites that reach a feature. SimulatorTests are never run: for minutes, most of their
# tests play the worlds that the simulator plays anyway.
REACHING = {
    "Messages/Phone": ["MessageStreamTests", "FuzzTests", "RandomInputTests"],
    "Health/Relay/Phone": ["HealthRelayTests", "RandomInputTests"],
    "HeldSocket/Phone": ["HeldSocketTests", "FuzzTests", "RandomInputTests"],
    "Session/Phone": ["SessionTests", "RandomInputTests"],
    "Session/Data": [
        "WireTests", "StorageTests", "SessionTests", "AuditTests", "SessionServerTests", "FuzzTests",
        "RandomInputTests"],
    "Session/Server": ["SessionServerTests", "FuzzTests", "RandomInputTests"],
    "Health/Sync/Phone": ["HealthSyncTests", "FuzzTests", "RandomInputTests"],
    "Health/Sync/Data": [
        "WireTests", "StorageTests", "HealthSyncTests", "SyncServerTests", "FuzzTests",
        "RandomInputTests"],
    "Health/Sync/Server": ["SyncServerTests", "FuzzTests", "RandomInputTests"],
    "Bottle/Phone": ["BottleLinkTests", "FuzzTests", "RandomInputTests"],
    "Bottle/Data": [
        "WireTests", "StorageTests", "BottleLinkTests", "FuzzTests", "RandomInputTests"],
    "Bottle/Firmware": ["FirmwareTests", "BottleLinkTests", "FuzzTests", "RandomInputTests"],
    "Session/Audit": ["AuditTests"],
}
SWIFT = os.environ.get("SWIFT", "swift")


class Failure(Exception):
    """A failure that ends the program, described by a sentence with a remedy."""


def folder(module):
    return "Sources/" + module


def is_below(file, path):
    """Returns whether a file is at, or below, a path below Sources."""
    return file == folder(path) or file.startswith(folder(path) + "/")


def target_of(file):
    """Returns the module that a file is compiled in."""
    return next(module for module in MODULES if is_below(file, module))


def sources_of(module, root=ROOT):
    return [file for file in files_below(root, folder(module)) if file.endswith(".swift")]


def files_below(root, path):
    for place, folders, names in os.walk(os.path.join(root, path)):
        folders.sort()
        for name in sorted(names):
            yield os.path.relpath(os.path.join(place, name), root)


def digest(root, paths):
    """Returns a hash of the names and the bytes of files."""
    total = hashlib.sha256()
    for path in paths:
        for file in files_below(root, path):
            with open(os.path.join(root, file), "rb") as content:
                total.update(file.encode() + b"\0" + hashlib.sha256(content.read()).digest())
    return total.hexdigest()[:16]


def planter():
    """Compiles the program that plants mutants, and returns its path."""
    sources = sorted(
        os.path.join(TOOLS, "planter", name) for name in os.listdir(os.path.join(TOOLS, "planter")))
    name = digest(TOOLS, ["planter"])
    program = os.path.join(HOME, "planter-" + name)
    if os.path.exists(program):
        return program
    os.makedirs(HOME, exist_ok=True)
    info = subprocess.run([SWIFT, "-print-target-info"], check=True, capture_output=True, text=True)
    host = json.loads(info.stdout)["paths"]["runtimeResourcePath"] + "/host"
    if not os.path.isdir(host):
        raise Failure(f"this toolchain has no SwiftSyntax in {host}; use one of swift.org")
    command = [
        SWIFT + "c", "-O", "-swift-version", "6", "-parse-as-library", *sources,
        "-I", host, "-L", host, "-lSwiftParser", "-lSwiftSyntax", "-lSwiftOperators",
        "-Xlinker", "-rpath", "-Xlinker", host, "-o", program + ".new"]
    made = subprocess.run(command, check=False, capture_output=True, text=True)
    if made.returncode != 0:
        raise Failure("the planter does not compile:\n" + made.stdout + made.stderr)
    os.rename(program + ".new", program)
    return program


def plant(root, copy, files, dropped):
    """Writes planted files below `copy`, and returns all mutants as rows."""
    request = {"root": root, "copy": copy, "files": files, "dropped": sorted(dropped)}
    made = subprocess.run(
        [planter()], input=json.dumps(request), check=False, capture_output=True, text=True)
    if made.returncode != 0:
        raise Failure("the planter failed: " + made.stderr)
    return json.loads(made.stdout)


class Package:
    """The copy of the package with all mutants in it."""

    def __init__(self, only=None, plays=True):
        """`only`: the modules, folders or files that get mutants, or none for all.

        `plays`: whether the simulator is also built.
        """
        self.plays = plays
        self.copy = os.path.join(HOME, "package")
        self.scratch = os.path.join(HOME, "build")
        self.only = sorted(only or [])
        self.rows = []
        self.state = None

    @property
    def runs(self):
        return os.path.join(self.scratch, "release", "MutantRuns")

    @property
    def tests(self):
        return os.path.join(self.scratch, "release", "HoldfastPackageTests.xctest")

    def planted_files(self):
        return [
            file for module in MODULES for file in sources_of(module)
            if not self.only or any(is_below(file, path) for path in self.only)]

    def worlds(self, known):
        """Returns the known worlds in which a mutant can make a difference."""
        return self.narrowed(WORLDS, known) if self.plays else []

    @property
    def suites(self):
        """The suites in which a mutant can make a difference."""
        return self.narrowed(REACHING, SUITES)

    def narrowed(self, names, known):
        """Returns the names listed for the modules with mutants, or all if a module has no list."""
        wanted = [next((names[name] for name in names if is_below(folder(path), name)), None)
                  for path in self.only]
        if not wanted or None in wanted:
            return known
        return [name for name in known if any(name in some for some in wanted)]

    def world(self):
        """Returns a hash of everything that the simulator's results depend on."""
        self.state = self.state or digest(ROOT, [folder(module) for module in MODULES] + [
            "Sources/Base/LinkChecks", "Sources/Simulator", "scripts/mutation/planter", "scripts/mutation/runs",
            "scripts/mutation/switch", *sorted(path for name in ("Checks", "World") for path in glob.glob(
                f"Sources/**/{name}", root_dir=ROOT, recursive=True))]) + self.part + ("" if self.plays else "-suites")
        return self.state

    @property
    def part(self):
        """The modules with mutants as part of a file name, or a hash if there are too many."""
        names = "".join("-" + path.replace("/", "-") for path in self.only)
        return names if len(names) <= 100 else "-" + hashlib.sha256(names.encode()).hexdigest()[:16]

    def suite(self, name):
        """Returns a hash of what a suite's results depend on, besides the world: its own files."""
        return digest(self.copy, [f"Tests/{name}"])

    def build(self, found, log):
        """Builds the copy without the mutants that do not compile."""
        self.world()
        self.mirror()
        files = self.planted_files()
        found.run(files, log)
        for attempt in range(1, 10):
            self.rows = plant(ROOT, self.copy, files, found.dropped())
            log(f"build {attempt}: {len(self.rows)} mutants, "
                f"{len(found.dropped())} do not compile")
            output = self.compile()
            if output is None:
                with open(os.path.join(HOME, "mutants.json"), "w", encoding="utf-8") as file:
                    json.dump(self.rows, file)
                return
            more = blamed(self.rows, self.copy, output)
            if not more:
                raise Failure("the copy does not build:\n" + output[-6000:])
            for row in self.rows:
                if row["key"] in more:
                    found.add(row["file"], [row["key"]])
            found.keep()
        raise Failure("the copy does not build after 10 rounds:\n" + output[-6000:])

    def load_rows(self):
        self.rows = self.load(os.path.join(HOME, "mutants.json"), [])
        return self.rows

    @staticmethod
    def load(path, otherwise):
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return otherwise

    def compile(self):
        """Returns the compiler's output, or `None` if the build succeeds."""
        made = subprocess.run(
            [SWIFT, "build", "-c", "release", "--build-tests", "--package-path", self.copy,
             "--scratch-path", self.scratch, "-Xswiftc", "-enable-testing",
             "-Xswiftc", "-suppress-warnings"],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return None if made.returncode == 0 else made.stdout

    def mirror(self):
        """Copies all files that are not planted, and removes those that no longer exist."""
        planted = set(self.planted_files())
        wanted = {}
        for path in ["Sources", "Web", "docs"] + [f"Tests/{suite}" for suite in self.suites]:
            for file in files_below(ROOT, path):
                if file not in planted:
                    wanted[file] = os.path.join(ROOT, file)
        for file in files_below(TOOLS, "switch"):
            wanted["Mutation/" + file.removeprefix("switch/")] = os.path.join(TOOLS, file)
        for file in files_below(TOOLS, "runs"):
            wanted["Mutation/MutantRuns/" + file.removeprefix("runs/")] = os.path.join(TOOLS, file)
        for place in ("Sources", "Tests", "Mutation", "Web", "docs"):
            for file in list(files_below(self.copy, place)):
                if file not in wanted and file not in planted:
                    os.unlink(os.path.join(self.copy, file))
        for file, source in wanted.items():
            with open(source, "rb") as content:
                write(os.path.join(self.copy, file), content.read())
        write(os.path.join(self.copy, "Package.swift"), manifest(self.suites, self.plays).encode())


def write(path, data):
    """Writes a file unless it has this content, so that it is not compiled again."""
    try:
        with open(path, "rb") as old:
            if old.read() == data:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as new:
        new.write(data)


def manifest(names, plays):
    """Returns the manifest of the copy: the dependencies of these suites, and the switch."""
    with open(os.path.join(ROOT, "Package.swift"), encoding="utf-8") as file:
        text = file.read()
    # Planted code may cause warnings, and no file imports the module of its switch explicitly.
    for setting in (".treatAllWarnings(as: .error)", ".strictMemorySafety(),",
                    '.enableUpcomingFeature("MemberImportVisibility"),'):
        if setting not in text:
            raise Failure(f"Package.swift has no {setting}; adapt scripts/mutation/plant.py")
        text = text.replace(setting, "")
    with open(os.path.join(TOOLS, "Package.tail.swift"), encoding="utf-8") as file:
        tail = file.read()
    quoted = ", ".join(f'"{target}"' for target in MODULES.values())
    suites = ", ".join(f'"{suite}"' for suite in names)
    return text + tail.replace('"PLANTED"', quoted).replace('"SUITES"', suites).replace(
        "RUNS", "MutantRuns" if plays else "Mutants")


ERROR = re.compile(r"^(/[^:\n]+\.swift):(\d+):(\d+): error: (.*)$", re.M)
COMPLEX = re.compile(r"in reasonable time")
UNSET = re.compile(r"initializ|missing return|used before|captured")


def blamed(rows, copy, output):
    """Returns the keys of the mutants that caused errors."""
    by_file = {}
    for row in rows:
        if row["isPlanted"]:
            by_file.setdefault(row["file"], []).append(row)
    keys = set()
    for path, line, column, message in ERROR.findall(output):
        file = os.path.relpath(os.path.realpath(path), os.path.realpath(copy))
        keys |= {row["key"] for row in blame(
            by_file.get(file, []), int(line), int(column), message)}
    return keys


# The kinds of mutants with the highest and the next highest risk of not compiling.
UNLIKELY = ("swapped arguments", "first and last", "arithmetic", "min and max")
LIKELY = ("boundary", "dropped operand", "changed constant")


def risk(row):
    kind = row["kind"]
    return 0 if kind in UNLIKELY else 1 if kind in LIKELY else 2


def riskiest(rows):
    least = min(map(risk, rows))
    return [row for row in rows if risk(row) == least]


def blame(rows, line, column, message):
    """Returns the mutants of a file that may have caused an error: the innermost around it, or
    those that remove the initialization of a variable, or those near it."""
    def size(row):
        first, start, last, end = row["place"]
        return (last - first, end - start if last == first else 0)

    if COMPLEX.search(message):
        return burden(rows, line)
    around = [
        row for row in rows
        if row["place"][:2] <= [line, column] <= row["place"][2:]]
    if UNSET.search(message):
        name = re.search(r"'(?:self\.)?(\w+)'", message)
        near = sorted(rows, key=lambda row: abs(row["line"] - line))[:1]
        setting = [
            row for row in rows
            if near and row["scope"] == near[0]["scope"] and row["kind"] == "removed statement"
            and (not name or re.match(rf"(self\.)?{name[1]}\b", row["before"]))]
        if setting:
            return setting
    if around:
        least = min(size(row) for row in around)
        return riskiest([row for row in around if size(row) == least])
    for distance in (0, 1, 3):
        close = [
            row for row in rows if row["place"][0] - distance <= line <= row["place"][2] + distance]
        if close:
            return riskiest(close)
    return []


def burden(rows, line):
    """Returns the mutants of operators in the declaration at a line, or else all mutants in it.

    If an expression takes the compiler too long, its error is at the expression's beginning.
    """
    ahead = [row for row in rows if row["place"][2] >= line] or rows
    nearest = min(ahead, key=lambda row: abs(row["place"][0] - line), default=None)
    own = [row for row in ahead if row["scope"] == nearest["scope"]]
    return [row for row in own if row["kind"] in ("arithmetic", "dropped operand")] or own


def remove(path):
    shutil.rmtree(path, ignore_errors=True)


def say(text):
    print(text, file=sys.stderr, flush=True)
