"""Tests the check with files that must fail with a text or must pass, and with clashing names."""
import concurrent.futures
import glob
import os
import re

import compare
import facts
import graph
from toolchain import CACHE, Failure, ROOT, digest, once, read, run

CHECKS = os.path.join(ROOT, "Apple", "Checks")
# The modules that an app imports.
OURS = ["Holdfast", "HoldfastUI", "HoldfastBluetooth", "HoldfastHealthKit"]
# The platforms and the error of a fixture: `// fails: …` for iOS, `// fails on macos, watchos: …`.
MUST = re.compile(r"(?m)^// (?:fails|passes)(?: on ([\w, -]+))?(?:: (.*))?$")
# What must be found in the stand-ins that differ.
MUST_DIFFER = {
    "CoreBluetooth": [
        "`var name: String` differs from", "`CBPeripheral.setNotify(_:)` is not declared",
        "`CBPeripheral` is class open sendable, and not class open",
        "didConnect:)` is func, and not func optional", "`CBUUID` is struct",
    ],
    "UIKit": [
        "`UIApplication.endBackgroundTask(_:)` is func on the main actor, and not func",
        "`UIApplication.openDefaultApplicationsSettingsURLString` needs `@available(iOS 18.2, *)`",
    ],
    "Network": ["`NWPathMonitor.start(on:)` is not declared", "`var pathUpdateHandler:"],
}
# Mistakes in the manifest: a text, what replaces it, and what a Mac says.
MANIFESTS = [
    # As when each target without Linux was in a list that somebody wrote.
    ("let targets = chosen(onAMac(everything))",
     "let targets = chosen(everything.filter { !needLinux.contains($0.name) })",
     "'CHoldfastLinux' required by package"),
    ('"Base/Ports", uses: ["HoldfastCore"]', '"Base/Ports", uses: ["HoldfastCore", "CHoldfastLinux"]',
     "target 'HoldfastPorts' referenced in product 'HoldfastPorts' could not be found"),
    ('targets: ["HoldfastSocket"]', 'targets: ["HoldfastSocket", "HoldfastLab"]',
     "target 'HoldfastLab' referenced in product 'HoldfastSocket' could not be found"),
    # The project in Xcode names it.
    ('    .library(name: "HoldfastBluetooth", targets: ["HoldfastBluetooth"]),', "",
     "product 'HoldfastBluetooth' required by package 'holdfastapp'"),
]
# The same without our own builds' variables, as in `make demo`.
UNSET = [
    ('    "HoldfastTests",\n    uses: [', '    "HoldfastTests",\n    uses: ["os", ',
     "product 'os' required by package"),
]
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


def expected(path):
    """Returns the platforms of a fixture, each with the error that it must have there."""
    found = {}
    for platforms, text in MUST.findall(read(path).decode()):
        for name in re.findall(r"[\w-]+", platforms) or ["ios"]:
            found[name] = text
    return found or {"ios": ""}


def fixtures(check):
    """Returns the faults of the files that must fail or pass on a platform, and their number."""
    wrong, count, platform = [], 0, check.platform.name
    for path in sorted(glob.glob(os.path.join(CHECKS, "Failing", "*.swift"))):
        text = expected(path).get(platform)
        if text is None:
            continue
        count += 1
        found = [each for _, _, each in check.compile("Fixture", [path])]
        if not any(text in each for each in found):
            wrong.append(
                f"{os.path.relpath(path)} must fail on {platform} with: {text}; it has {found}")
    for path in sorted(glob.glob(os.path.join(CHECKS, "Passing", "*.swift"))):
        if platform in expected(path):
            wrong += [f"{place}: must pass on {platform}: {text}" for _, place, text in
                      check.compile("Fixture", [path])]
    return wrong, count


def planted(least):
    """Returns the faults of the header and of the stand-ins that must differ."""
    failing = os.path.join(CHECKS, "Failing")
    header = list(facts.differences(os.path.join(failing, "Header"), "CoreBluetooth", least))
    return missing("Header", header, [
        "setNotify:forCharacteristic: is in no list", "optional=yes", "ios 17.0, not 16.0",
        "watchos 10.0, not 9.0", "macos=yes, not no", "say 2", "sendable=no, not yes"])


def planted_stand_ins(check):
    wrong = []
    for name, texts in MUST_DIFFER.items():
        source = os.path.join(CHECKS, "Failing", "StandIn", name + ".swift")
        found = list(compare.differences(
            name, compare.stand_in(name, [source]), compare.declared(check, name),
            check.least["ios"]))
        wrong += missing(f"StandIn/{name}.swift", found, texts)
        if any("script" in each for each in found):
            wrong.append("symbols of @_spi in a stand-in must be ignored")
    return wrong


def missing(name, found, texts):
    return [f"Failing/{name} must be found to differ by: {text}; found: {found}"
            for text in texts if not any(text in each for each in found)]


def manifests():
    """Returns the mistakes in the manifest that were not found."""
    whole = read("Package.swift").decode()

    def found(place, plant, resolve):
        text, other, said = plant
        try:
            resolve(whole.replace(text, other), f"Planted{place}")
        except Failure as failure:
            return [] if said in str(failure) else [f"{resolve.__name__} must say: {said}; it says: {failure}"]
        return [f"`{text}` as `{other}` in Package.swift must fail in {resolve.__name__}"]

    plants = [(plant, graph.as_on_a_mac) for plant in MANIFESTS]
    plants += [(plant, graph.as_a_user) for plant in UNSET]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return sum(pool.map(lambda each: found(each[0], *each[1]), enumerate(plants)), [])


def clashing(check):
    """Returns the faults of names that an app cannot use beside this package's."""
    names, wrong = Names(check), []
    names.make()
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
    return wrong


def all_of(check):
    """Returns the faults of a platform. Facts, stand-ins and names are compared for iOS alone."""
    wrong, count = fixtures(check)
    said = f"{count} planted mistakes in programs were found for {check.platform.name}"
    if check.platform.name == "ios":
        differ, members = facts.report(check.least)
        wrong += differ + planted(check.least) + planted_stand_ins(check)
        wrong += compare.report(check) + clashing(check)
        said += (f"; {members} types and members of the headers agree with the facts, and the stand-ins with "
                 f"Apple's declarations, of which {compare.unproven()} are in no public source")
    return wrong, said


def report(checks):
    """Prints the faults of the fixtures, and returns their number."""
    checks = [each for each in checks if each.platform.is_apple]
    with concurrent.futures.ThreadPoolExecutor(len(checks) or 1) as pool:
        return report_manifests() + sum(pool.map(report_one, checks))


def report_manifests():
    key = digest(graph.key(read("Package.swift").decode()), read(__file__))

    def check():
        if wrong := manifests():
            raise Wrong(*wrong)

    return report_once(CACHE, "manifests", key, check)


def report_one(check):
    files = glob.glob(os.path.join(CHECKS, "[FPN]*", "**", "*.*"), recursive=True)
    own = [read(path) for path in glob.glob(os.path.join(os.path.dirname(__file__), "*.py"))]
    files += glob.glob(os.path.join(facts.FACTS, "*.txt"))
    key = digest(*check.keys.values(), *map(read, sorted(files)), *own, compare.key())

    def compare_once():
        found, said = all_of(check)
        if found:
            raise Wrong(*found)
        print(said)

    return report_once(check.platform.folder, "fixtures", key, compare_once)


def report_once(folder, name, key, check):
    """Prints the faults that a check raises, and returns their number."""
    try:
        once(folder, name, key, check)
    except Wrong as wrong:
        print(*wrong.args, sep="\n")
        return len(wrong.args)
    return 0


class Wrong(Exception):
    """Raised with the faults that were found, so that the next run checks again."""
