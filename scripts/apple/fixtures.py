"""Tests the check with files that must fail with a text or must pass, and with clashing names."""
import glob
import os
import re

import compare
import facts
from toolchain import Failure, ROOT, digest, once, read, run

CHECKS = os.path.join(ROOT, "Apple", "Checks")
# The modules that an app imports.
OURS = ["Holdfast"]
# Names that clash and have yet to be renamed. The list may only shrink.
KNOWN = set()
# Names that clash and are accepted.
ACCEPTED = set()


def names():
    """Returns the names in Apple's and other modules that apps use, by module."""
    return {
        os.path.basename(path)[: -len(".txt")]: read(path).decode().split()
        for path in sorted(glob.glob(os.path.join(CHECKS, "Names", "*.txt")))
    }


class Names:
    """Modules that declare only Apple's names, and a file that uses each name."""

    def __init__(self, check):
        self.check, self.names = check, names()
        self.folder = os.path.join(check.platform.folder, "names")
        os.makedirs(self.folder, exist_ok=True)

    def emit(self, module, text, *words):
        path = os.path.join(self.folder, module + ".swift")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        status, said = run([
            "-emit-module", "-module-name", module, *words, "-target", self.check.platform.triple,
            "-I", self.check.std, "-o", os.path.join(self.folder, module + ".swiftmodule"), path])
        if status:
            raise Failure(f"the names of {module} do not compile:\n{said}")

    def make(self):
        for module, declared in self.names.items():
            self.emit("Names" + module, "".join(f"public struct {name} {{}}\n" for name in declared))
        with open(os.path.join(CHECKS, "Failing", "Clashing", "Link.swift")) as file:
            self.emit("Clashing", file.read())

    def clashes(self, ours):
        """Returns the names that an app cannot use if it also imports these modules."""
        lines = [f"import {module}" for module in ours]
        lines += [f"import Names{module}" for module in self.names]
        wanted = sorted({name for declared in self.names.values() for name in declared})
        lines += [f"private typealias Use{place} = {name}" for place, name in enumerate(wanted)]
        path = os.path.join(self.folder, "Use.swift")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        found = self.check.compile("Use", [path], ["-I", self.folder], strict=False)
        clashing = [re.match(r"'(\w+)' is ambiguous", text) for _, _, text in found]
        if not all(clashing):
            raise Failure(f"the names cannot be checked: {found}")
        return sorted({match[1] for match in clashing})

    def owner(self, name):
        return " and ".join(module for module, declared in self.names.items() if name in declared)


def fixtures(check):
    """Returns the faults of the files that must fail or pass."""
    wrong = []
    for path in sorted(glob.glob(os.path.join(CHECKS, "Failing", "*.swift"))):
        expected = re.match(r"// fails: (.*)", read(path).decode())[1]
        found = [text for _, _, text in check.compile("Fixture", [path])]
        if not any(expected in text for text in found):
            wrong.append(f"{os.path.relpath(path)} must fail with: {expected}; it has {found}")
    for path in sorted(glob.glob(os.path.join(CHECKS, "Passing", "*.swift"))):
        wrong += [f"{place}: must pass: {text}" for _, place, text in
                  check.compile("Fixture", [path])]
    return wrong


def planted(check, least):
    """Returns the faults of the header and of the stand-in that must differ."""
    wrong = []
    header = list(facts.differences(os.path.join(CHECKS, "Failing", "Header"), "CoreBluetooth", least))
    for text in ("setNotify:forCharacteristic: is in no list", "optional=yes", "iOS 17.0", "say 2"):
        if not any(text in found for found in header):
            wrong.append(f"Failing/Header must be found to differ by: {text}; found: {header}")
    source = os.path.join(CHECKS, "Failing", "StandIn", "CoreBluetooth.swift")
    found = list(compare.differences(
        check, "CoreBluetooth", [source], compare.declared(check, "CoreBluetooth")))
    for text in ("`var name: String` differs from", "`CBPeripheral.setNotify(_:)` is not"):
        if not any(text in each for each in found):
            wrong.append(f"Failing/StandIn must be found to differ by: {text}; found: {found}")
    if any("script" in each for each in found):
        wrong.append("symbols of @_spi in a stand-in must be ignored")
    return wrong


def report(checks):
    """Checks fixtures and names on the first platform that has all of Apple's modules."""
    check = next((each for each in checks if each.platform.name == "ios"), None)
    if check is None:
        return 0
    files = glob.glob(os.path.join(CHECKS, "[FPN]*", "**", "*.*"), recursive=True)
    own = [read(path) for path in glob.glob(os.path.join(os.path.dirname(__file__), "*.py"))]
    files += glob.glob(os.path.join(facts.FACTS, "*.txt"))
    key = digest(*check.keys.values(), *map(read, sorted(files)), *own, compare.key())
    wrong = []

    def all_of_them():
        names = Names(check)
        names.make()
        wrong.extend(fixtures(check))
        least = re.search(r"ios([\d.]+)", check.platform.triple)[1]
        differ, count = facts.report(least)
        wrong.extend(differ + planted(check, least) + compare.report(check))
        print(f"{count} members of the headers were compared with the facts")
        if names.clashes(["Clashing"]) != ["Link"]:
            wrong.append("a module with a name of SwiftUI must clash: Failing/Clashing/Link.swift")
        found = set(names.clashes(OURS))
        wrong.extend(
            f"`{name}` does not clash: remove it from scripts/apple/fixtures.py"
            for name in sorted((KNOWN | ACCEPTED) - found))
        wrong.extend(
            f"`{name}` is a name of {names.owner(name)} too; an app that imports Holdfast cannot "
            "use it: rename ours, or make it `package`"
            for name in sorted(found - KNOWN - ACCEPTED))
        if wrong:
            raise Wrong

    try:
        once(check.platform.folder, "fixtures", key, all_of_them)
        print("the check fails where it must: newer APIs, misspelled callbacks, data races, clashing "
              "names, headers that differ from the facts, stand-ins that differ from the headers")
    except Wrong:
        print(*wrong, sep="\n")
    return len(wrong)


class Wrong(Exception):
    """Raised if a fault was found, so that the next run checks again."""
