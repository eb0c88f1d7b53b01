"""Type-checks the modules of a platform, each after its dependencies."""
import concurrent.futures
import glob
import os
import re
import shutil

import manifest
from toolchain import (
    CACHE, Failure, HEADERS, OVERLAYS, ROOT, STAND_INS, STUBS, digest, library, once, read, run,
    standard)

ERROR = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+):(?P<column>\d+): error: (?P<text>.*)$", re.M)
# Headers of libraries that Apple's SDKs also have. The other C headers are in Stubs/include.
OF_LIBRARIES = ["zlib.h", "zconf.h", "sqlite3.h"]
# Bodies of functions that cannot depend on the platform are checked for iOS and Android, but not
# again for macOS and watchOS: their versions in the manifest have the standard library of iOS.
FIRST, LIKE_FIRST = "ios", ("macos", "watchos")
# Conditions that distinguish platforms. Embedded Swift and debug builds are not platforms.
CONDITION = re.compile(
    r"#\s*(?:if|elseif)\b(?!\s*!?\s*(?:hasFeature\(Embedded\)|DEBUG)\s*$)|[@#](?:un)?available\b", re.M)
IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)\n]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?"
    r"import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)", re.M)
# Programs of this repository that use the modules: the name and the folders of each, by platform.
PROGRAMS = {
    "ios": ("HoldfastApp", ["Examples/HoldfastApp/App", "Examples/HoldfastApp/Screens"]),
    "watchos": ("HoldfastWatch", ["Examples/HoldfastApp/Watch"]),
}
PLACES = ["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"]


def features():
    """Returns the options of this package's modules."""
    found = ["-strict-memory-safety", "-package-name", "holdfast"]
    for feature in re.findall(r'\.enableUpcomingFeature\("(\w+)"\)', read("Package.swift").decode()):
        found += ["-enable-upcoming-feature", feature]
    return found


def headers():
    """Puts the headers of zlib and SQLite into a folder without the rest of this system."""
    folder = os.path.join(CACHE, "include")
    os.makedirs(folder, exist_ok=True)
    for name in OF_LIBRARIES:
        found = [os.path.join(place, name) for place in PLACES]
        found = [path for path in found if os.path.exists(path)]
        if not found:
            raise Failure(f"{name} is missing; `make setup` installs it")
        link = os.path.join(folder, name)
        if not os.path.islink(link):
            os.symlink(found[0], link)
    return folder


def imported():
    """Returns the modules that the importer makes of our headers."""
    return re.findall(r"(?m)^module (\w+)", read(os.path.join(HEADERS, "module.modulemap")).decode())


def stub(name):
    """Returns the folder and the Swift sources of a module of an SDK.

    A stand-in gets the sources of the same name in Stubs, which do not run on Linux.
    """
    for place in (OVERLAYS, STAND_INS, STUBS):
        found = [os.path.join(place, name + ".swift")]
        found += glob.glob(os.path.join(place, name, "*.swift"))
        if place == STAND_INS:
            found += glob.glob(os.path.join(STUBS, name, "*.swift"))
        found = sorted(filter(os.path.exists, found))
        if found:
            return place, found
    return "", []


def is_c(target):
    """Returns whether a target is a module map of C, with or without a few lines of C."""
    return os.path.exists(os.path.join(target["path"], "module.modulemap"))


class Check:
    """The check of one platform: its modules, their errors, and the number checked in this run."""

    def __init__(self, platform, package, names):
        """`names`: the names of all platforms of this run."""
        self.platform, self.errors, self.fresh = platform, [], 0
        self.names, self.skipped, self.depends = names, 0, set()
        self.least = manifest.versions(package)
        self.targets, self.left_out = manifest.closure(package, platform)
        self.folder = os.path.join(platform.folder, "modules")
        self.std = os.path.join(platform.folder, "std")
        self.stubs = os.path.join(platform.folder, "stubs")
        self.cache = os.path.join(platform.folder, "cache")
        self.keys, self.program = {}, ""

    def run(self):
        base = digest(standard(self.platform))
        os.makedirs(self.folder, exist_ok=True)
        self.keys[""] = self.make_stubs(base)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            checks = []
            for target in self.targets:
                if not self.sources(target):
                    self.keys[target["name"]] = digest(*map(read, filter(
                        os.path.isfile, glob.glob(target["path"] + "/**", recursive=True))))
                    continue
                self.emit(target)
                checks.append(pool.submit(self.check, target, self.may_differ(target)))
            checks.append(pool.submit(self.check_program))
            for check in checks:
                check.result()
        return self

    def words(self):
        """Returns the options of every compiler call."""
        found = ["-target", self.platform.triple, "-parse-as-library", "-I", self.std]
        found += ["-I", self.stubs, "-I", self.folder]
        found += ["-I", HEADERS] if self.platform.is_apple else []
        found += ["-enable-objc-interop", "-disable-objc-attr-requires-foundation-module"] if (
            self.platform.is_apple) else ["-disable-objc-interop"]
        found += ["-plugin-path", os.path.join(library(), "host", "plugins")]
        found += ["-swift-version", "6"]
        found += [*self.platform.headers, "-Xcc", "-isystem", "-Xcc", headers()]
        found += ["-Xcc", f"-fmodule-map-file={STUBS}/include/posix/module.modulemap"]
        for target in self.targets:
            if is_c(target):
                found += ["-Xcc", f"-fmodule-map-file={target['path']}/module.modulemap"]
        return found + ["-module-cache-path", self.cache]

    def make_stubs(self, key):
        """Creates the modules of the platform's SDK, and returns a key of all its declarations."""
        places = [(os.path.join(STUBS, "include"), "*.h"), (HEADERS, "*")]
        used = [path for folder, name in places[:1 + self.platform.is_apple]
                for path in glob.glob(os.path.join(folder, "**", name), recursive=True)]
        key = digest(key, *map(read, sorted(filter(os.path.isfile, used))))
        # The importer does not see that the header of a system module changed.
        once(self.platform.folder, "cache", key, lambda: shutil.rmtree(self.cache, True))
        for name in self.platform.stubs:
            place, sources = stub(name)
            key = digest(key, place, *sources, *map(read, sources))
            if sources:
                once(self.stubs, name, key, lambda: self.make_stub(name, place, sources))
        return key

    def make_stub(self, name, place, sources):
        os.makedirs(self.stubs, exist_ok=True)
        if place == STAND_INS:
            sources = [self.with_darwin(name, source) for source in sources]
        # Enumerations of Apple's modules may get new cases, so a switch needs `@unknown default`.
        words = ["-enable-library-evolution"] if place == STAND_INS else ["-swift-version", "5"]
        if place == OVERLAYS and self.platform.is_apple and name in imported():
            words.append("-import-underlying-module")
        status, said = run([
            "-emit-module", "-module-name", name, *self.words(), "-suppress-warnings", *words,
            "-experimental-skip-all-function-bodies",
            "-o", os.path.join(self.stubs, name + ".swiftmodule"), *sources])
        if status:
            raise Failure(f"the stub of {name} does not compile for {self.platform.name}:\n{said}")

    def with_darwin(self, name, source):
        """Returns a copy of a source of a stand-in that imports the C library of this platform."""
        copy = os.path.join(self.stubs, name, os.path.basename(source))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        with open(copy, "wb") as file:
            file.write(re.sub(rb"(?m)^((?:\w+ )?import) Glibc$", rb"\1 Darwin", read(source)))
        return copy

    def sources(self, target):
        found = sorted(glob.glob(os.path.join(target["path"], "**", "*.swift"), recursive=True))
        left_out = [os.path.join(target["path"], path) for path in target.get("exclude", [])]
        return [path for path in found if not any(path.startswith(out) for out in left_out)]

    def emit(self, target):
        """Creates the module without its function bodies, for the modules that import it.

        No module imports a suite.
        """
        name, sources = target["name"], self.sources(target)
        used = [self.keys[edge] for edge in manifest.edges(target, self.platform)]
        self.keys[name] = digest(
            self.keys[""], *used, *features(), *sources, *map(read, sources))
        if target["type"] == "test":
            return
        once(self.folder, name, self.keys[name], lambda: run([
            "-emit-module", "-module-name", name, *self.words(), *features(),
            "-experimental-skip-all-function-bodies", "-suppress-warnings",
            "-disable-availability-checking", "-enable-testing",
            "-o", os.path.join(self.folder, name + ".swiftmodule"), *sources]))

    def may_differ(self, target):
        """Returns whether the bodies of a module's functions may depend on the platform: through a
        condition, a foreign module, or a module of this package that itself may depend on it."""
        text = "\n".join(read(path).decode() for path in self.sources(target))
        ours = {each["name"] for each in self.targets}
        used = set(IMPORT.findall(text))
        if CONDITION.search(text) or used - ours or used & self.depends:
            self.depends.add(target["name"])
        is_like = self.platform.name in LIKE_FIRST and FIRST in self.names
        return not is_like or target["name"] in self.depends

    def check(self, target, with_bodies):
        name, sources = target["name"], self.sources(target)
        self.skipped += not with_bodies
        more = [] if with_bodies else ["-experimental-skip-all-function-bodies"]

        def compile_once():
            self.fresh += 1
            # The compiler warns that Android has no C library here; the stubs replace it.
            self.errors += self.compile(name, sources, more, strict=self.platform.is_apple)
            if any(error[0] == name for error in self.errors):
                raise Broken

        try:
            once(self.folder, name + ".check", self.keys[name], compile_once)
        except Broken:
            pass

    def check_program(self):
        """Checks a program, which uses the modules as an app of another package does."""
        name, folders = PROGRAMS.get(self.platform.system, ("", []))
        sources = [path for folder in folders for path in self.sources({"path": folder})]
        if not sources:
            return
        key = digest(*self.keys.values(), *sources, *map(read, sources))

        def compile_once():
            self.errors += self.compile(name, sources, options=())
            if any(error[0] == name for error in self.errors):
                raise Broken

        try:
            once(self.folder, "program.check", key, compile_once)
            self.program = f"; {name} type-checks"
        except Broken:
            pass

    def compile(self, name, sources, more=(), strict=True, options=None):
        """Returns the errors in the given files, each with its module, location and text.

        Errors of ownership and data races are found only when the compiler creates SIL, its
        intermediate language. No file is written.
        """
        more = [*more, "-warnings-as-errors"] if strict else [*more, "-suppress-warnings"]
        status, said = run([
            "-emit-sil", "-o", os.devnull, "-module-name", name, *self.words(),
            *(features() if options is None else options), *more, *sources])
        found = [
            (name, f"{os.path.relpath(match['file'])}:{match['line']}", match["text"])
            for match in ERROR.finditer(said)]
        if status and not found:
            # A compiler that crashes reports no error.
            found = [(name, sources[0], f"the compiler ended with {status}: {said.strip()[:600]}")]
        return found


class Broken(Exception):
    """Raised if a module has errors, so that the next run checks it again."""


def report(checks):
    """Prints each error once, with its platforms, and returns the number of errors."""
    found = {}
    for check in checks:
        for _, place, text in check.errors:
            found.setdefault((place, text), []).append(check.platform.name)
    for (place, text), names in sorted(found.items()):
        print(f"{place}: {text} [{', '.join(sorted(set(names)))}]")
    for check in checks:
        broken = {error[0] for error in check.errors}
        count = sum(bool(check.sources(target)) for target in check.targets)
        print(f"{check.platform.triple}: {count - len(broken)} of {count} modules type-check, "
              f"{check.fresh} of them checked now"
              + (f", {check.skipped} without bodies, which do not depend on the platform"
                 if check.skipped else "")
              + check.program
              + (f"; not built there: {', '.join(check.left_out)}" if check.left_out else ""))
    return len(found)
