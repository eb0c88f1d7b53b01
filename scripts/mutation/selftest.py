"""Checks the tool on a snippet: the mutants it plants, and which of them it reports as caught."""
import argparse
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import tempfile

import cli
import early
import plant
import play
import report
import sieve

SNIPPET = """\
struct Box {
  var items: [Int] = []
  static let most = 30

  mutating func add(_ item: Int, low: Int, high: Int) -> Bool {
    guard item > low, !items.isEmpty else { return false }
    items.append(item)
    if let last = items.last, last == item || low < high { clamp(from: low, to: high) }
    switch item {
    case 1 where low <= 2: items = []
    case 3...4: break
    case _: precondition(item > 1, "not 1 but \\(item + 1)")
    }
    return Self.sum(low, high) - 1 >= min(low, high) && item != 3
  }

  static func sum(_ a: Int, _ b: Int) -> Int { a + b * 2 }
  static func known(_ a: Int?) -> Int? { a ?? 7 }
  mutating func clamp(from low: Int, to high: Int) {
    let least: Int
    if low < high { least = low } else { least = high }
    items = items.map { $0 == least ? high : $0 }
  }
  static func room(capacity: Int, _ a: Int) -> Int { room(capacity: a * 9 + 8, a) }
  var description: String { items.isEmpty ? "empty" : "\\(items.count + 1)" }
}
"""

# The line, class and change of every mutant in the snippet.
EXPECTED = """\
3 changed constant: static let most = 30 => 30 becomes 60
6 skipped guard: item > low => true
6 boundary: item > low => item >= low
6 skipped guard: !items.isEmpty => true
6 changed constant: return false => false becomes true
7 removed statement: items.append(item) => nothing
8 condition: let last = items.last => nil
8 first and last: items.last => items.first
8 condition: last == item || low < high => true
8 condition: last == item || low < high => false
8 dropped operand: last == item || low < high => low < high
8 dropped operand: last == item || low < high => last == item
8 negation: last == item => last != item
8 negation: low < high => low >= high
8 boundary: low < high => low <= high
8 swapped arguments: clamp(from: low, to: high) => clamp(from: high, to: low)
10 skipped guard: low <= 2 => true
10 condition: low <= 2 => false
10 boundary: low <= 2 => low < 2
10 changed constant: low <= 2 => 2 becomes 3
10 removed statement: items = [] => nothing
14 dropped operand: Self.sum(low, high) - 1 >= min(low, high) && item != 3 => item != 3
14 dropped operand: Self.sum(low, high) - 1 >= min(low, high) && item != 3 \
=> Self.sum(low, high) - 1 >= min(low, high)
14 negation: Self.sum(low, high) - 1 >= min(low, high) => Self.sum(low, high) - 1 < min(low, high)
14 boundary: Self.sum(low, high) - 1 >= min(low, high) => Self.sum(low, high) - 1 > min(low, high)
14 arithmetic: Self.sum(low, high) - 1 => Self.sum(low, high) + 1
14 dropped operand: Self.sum(low, high) - 1 => Self.sum(low, high)
14 swapped arguments: Self.sum(low, high) => Self.sum(high, low)
14 changed constant: Self.sum(low, high) - 1 => 1 becomes 2
14 min and max: min(low, high) => max(low, high)
14 negation: item != 3 => item == 3
14 changed constant: item != 3 => 3 becomes 4
17 arithmetic: a + b * 2 => a - b * 2
17 dropped operand: a + b * 2 => a
17 dropped operand: b * 2 => b
17 changed constant: b * 2 => 2 becomes 3
18 changed result: a ?? 7 => nil
18 dropped operand: a ?? 7 => 7
18 changed constant: a ?? 7 => 7 becomes 8
21 condition: low < high => true
21 condition: low < high => false
21 boundary: low < high => low <= high
22 removed statement: items = items.map { $0 == least ? high : $0 } => nothing
22 negation: $0 == least => $0 != least
"""

# Exits with 1 if the sum or the guard is wrong, and checks nothing else.
PROGRAM = """\
@main struct Program {
  static func main() {
    var box = Box(items: [1])
    if Box.sum(1, 2) != 5 || box.add(0, low: 0, high: 1) { exit(1) }
  }
}
"""


def run():
    """Prints the faults, and returns the exit code."""
    wrong = [text for check in (
        refuses, generates, catches, blames, sieves, adds_up, plays, times)
        for text in check()]
    for text in wrong:
        print(f"self-test: {text}")
    print(f"self-test: {'failed' if wrong else 'all is well'}")
    return 1 if wrong else 0


def refuses():
    """Checks that numbers of mutants or processes below 1 are refused before anything is built."""
    for option in ("--sample", "--jobs", "--early"):
        for number, expected in [("0", None), ("-1", None), ("1", 1)]:
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    options = cli.parser().parse_args([f"{option}={number}"])
                found = getattr(options, option[2:])
            except SystemExit:
                found = None
            if found != expected:
                yield f"{option} {number} means {found}"


def times():
    """Checks that the output of a run about a mutant is parsed and shown."""
    said = ["seed 3", "seed 4", "server plain", "cause 1500.0", "broken 1500.0 a: b",
            "other 2501.0 stuck: c d"]
    found = early.parsed(said)
    expected = {"seed": 4, "server": "plain", "cause": 1500.0, "broken": 1500.0,
                "invariant": "a: b", "other": 2501.0, "finding": "stuck: c d"}
    if found != expected:
        yield f"{said} is read as {found}"
    if early.parsed(said[:2]) is not None:
        yield "a run without a broken invariant is read as one with one"
    row = {"number": 1, "key": "a", "file": "A.swift", "line": 2, "kind": "k", "scope": "f",
           "before": "x", "after": "y"}
    text = "\n".join(early.lines(row, {"world": "relay", **found}))
    shown = r"(?s)at 1.500 s\n.*in the same step .*a: b\n.*1.001 s later .*stuck: c d"
    if not re.search(shown, text):
        yield f"a mutant that is found early is shown as {text}"
    alone = early.parsed(said[:-1])
    if "no other checker" not in "\n".join(early.lines(row, {"world": "relay", **alone})):
        yield "an invariant that is alone is not said to be"

    class Said:
        def played(self, key):
            return {"a": {"caught": "relay seed 3: brokenInvariant: b"}, "b": {"caught": None},
                    "c": {"caught": "relay seed 3: stuck: b"}}.get(key)
    rows = [dict(row, key=key) for key in "abcd"] + [dict(row, scope="Link.check(_:)")]
    if [one["key"] for one in early.chosen(rows, Said())] != ["a"]:
        yield "other mutants are shown than those that an invariant found"


def planted(folder):
    with open(os.path.join(folder, "Box.swift"), "w", encoding="utf-8") as file:
        file.write(SNIPPET)
    return plant.plant(folder, os.path.join(folder, "copy"), ["Box.swift"], [])


def generates():
    """Checks that each operator produces its mutants, and that nothing else is changed."""
    folder = tempfile.mkdtemp()
    rows = planted(folder)
    shutil.rmtree(folder)
    found = [f"{row['line']} {row['kind']}: {row['before']} => {row['after']}" for row in rows]
    expected = EXPECTED.splitlines()
    yield from (f"not planted: {line}" for line in expected if line not in found)
    yield from (f"planted too: {line}" for line in found if line not in expected)
    if [row["number"] for row in rows] != list(range(1, len(rows) + 1)):
        yield "the numbers do not go up by one"


def catches():
    """Checks that a mutant in checked code is caught, that another survives, and that the switch
    reports which mutants would make a difference."""
    folder = tempfile.mkdtemp()
    rows = planted(folder)
    program = compiled(folder)
    if not program:
        yield "the planted snippet does not compile"
        return
    cases = {
        "a + b * 2 => a - b * 2": "failed", "item > low => item >= low": "crashed",
        "b * 2 => b": "failed", "low < high => low <= high": "ok",
        "static let most = 30 => 30 becomes 60": "ok",
    }
    numbers = {f"{row['before']} => {row['after']}": row["number"] for row in rows}
    for change, expected in cases.items():
        how, _, _ = play.run([program], {"MUTANT": str(numbers[change])}, 5)
        if how != expected:
            yield f"{change}: {how} instead of {expected}"
    seen = os.path.join(folder, "seen")
    how, _, _ = play.run([program], {"MUTANTS_SEEN": seen}, 5)
    with open(seen, "rb") as file:
        flags = file.read()
    for change, is_seen in {
            "a + b * 2 => a - b * 2": 1, "item > low => item >= low": 1,
            "static let most = 30 => 30 becomes 60": 0, "a ?? 7 => nil": 0}.items():
        if flags[numbers[change]] != is_seen:
            yield f"{change}: noted as {flags[numbers[change]]} instead of {is_seen}"
    how, _, _ = play.run(["sh", "-c", "while :; do :; done"], {}, 1)
    if how != "hung":
        yield f"what spins is {how} instead of hung"
    how, _, _ = play.run(["sh", "-c", "kill -ILL $$"], {}, 5)
    if how != "crashed":
        yield f"what traps is {how} instead of crashed"
    shutil.rmtree(folder)


def compiled(folder):
    switch = os.path.join(plant.TOOLS, "switch")
    include = os.path.join(folder, "include")
    shutil.copytree(os.path.join(switch, "CMutants", "include"), include)
    with open(os.path.join(include, "module.modulemap"), "w", encoding="utf-8") as file:
        file.write('module CMutants { header "CMutants.h" export * }\n')
    with open(os.path.join(folder, "copy", "Box.swift"), encoding="utf-8") as file:
        text = file.read().replace("public import Mutants; ", "")
    with open(os.path.join(folder, "Planted.swift"), "w", encoding="utf-8") as file:
        file.write("import Foundation\n" + text + PROGRAM)
    program = os.path.join(folder, "program")
    clang = shutil.which("clang") or shutil.which("cc")
    commands = [
        [clang, "-c", "-I", include, os.path.join(switch, "CMutants", "CMutants.c"), "-o",
         os.path.join(folder, "CMutants.o")],
        [plant.SWIFT + "c", "-Onone", "-wmo", "-parse-as-library", "-suppress-warnings", "-I",
         include, os.path.join(switch, "Mutants", "Mutants.swift"),
         os.path.join(folder, "Planted.swift"), os.path.join(folder, "CMutants.o"), "-o", program],
    ]
    for command in commands:
        made = subprocess.run(command, check=False, capture_output=True, text=True)
        if made.returncode != 0:
            print(made.stdout + made.stderr)
            return None
    return program


def blames():
    """Checks that a compile error drops the innermost mutant around it, or the one that removes an
    initialization, or the likeliest near it."""
    def row(number, kind, before, place):
        return {"number": number, "key": str(number), "kind": kind, "before": before,
                "line": place[0], "scope": "f()", "place": place, "isPlanted": True, "file": "a"}

    rows = [row(1, "condition", "a < b", [3, 5, 3, 60]), row(2, "boundary", "b", [3, 10, 3, 20]),
            row(3, "removed statement", "x = 1", [4, 5, 4, 30])]
    for line, column, message, expected in [
            (3, 12, "cannot convert", ["2"]), (3, 40, "cannot convert", ["1"]),
            (3, 70, "cannot convert", ["2"]),
            (2, 1, "unable to type-check this expression in reasonable time", ["1", "2", "3"]),
            (9, 3, "constant 'x' used before being initialized", ["3"]),
            (90, 3, "cannot convert", [])]:
        found = [one["key"] for one in plant.blame(rows, line, column, message)]
        if found != expected:
            yield f"an error at {line}:{column} blames {found} instead of {expected}"


# The mutants here do not compile: both arguments, and the differences of strings and of types.
UNFIT = """\
struct Time {
  var value = 1
  static func + (left: Time, right: Int) -> Time { Time(value: left.value + right) }
  func text(_ name: String, _ count: Int) -> String { name + String(count) }
  func later(_ count: Int, _ name: String) -> Time {
    _ = text(name, count)
    return count > 3 ? self + count : self
  }
}
"""
UNFIT_DROPPED = """\
text(name, count) => text(count, name)
name + String(count) => name - String(count)
self + count => self - count
"""


def sieves():
    """Checks that mutants that do not compile are left out and remembered, and that others in the
    same place stay."""
    folder = tempfile.mkdtemp()
    file = "Sources/Base/Core/Time.swift"
    plant.write(os.path.join(folder, file), UNFIT.encode())
    shutil.copy(os.path.join(plant.ROOT, "Package.swift"), folder)
    checks = []
    for _ in range(2):
        found = sieve.Sieve(folder, folder, {"Base/Core": "HoldfastCore"})
        found.run([file], checks.append)
    rows = plant.plant(folder, os.path.join(folder, "copy"), [file], found.dropped())
    shutil.rmtree(folder)
    left = [f"{row['before']} => {row['after']}" for row in rows if not row["isPlanted"]]
    if sorted(left) != sorted(UNFIT_DROPPED.splitlines()):
        yield f"left out as not compiling: {left}"
    if len([text for text in checks if text.startswith("check 1")]) != 1:
        yield f"what is known is checked again: {checks}"


def adds_up():
    """Checks the counts of the report."""
    class Known:
        entries = {
            "a": ({"caught": "x", "reached": 2, "differs": 2}, {"caught": None, "reached": []}),
            "b": ({"caught": None, "reached": 2, "differs": 0}, {"caught": "y", "reached": ["s"]}),
            "c": ({"caught": None, "reached": 2, "differs": 1}, {"caught": None, "reached": []}),
            "d": ({"caught": None, "reached": 0, "differs": 0}, {"caught": None, "reached": []}),
        }

        def simulated(self, key):
            return self.entries.get(key, (None, None))[0]

        def tested(self, key):
            return self.entries.get(key, (None, None))[1]

    rows = [
        {"number": number, "key": key, "file": "Sources/Base/Core/A.swift", "line": 1, "kind": "k",
         "scope": "f", "before": "x", "after": "y", "isPlanted": key != "f"}
        for number, key in enumerate("abcdef", 1)]
    sums, survivors = report.add_up(rows, Known())
    own = vars(sums["Base/Core"])
    expected = {"mutants": 6, "uncompiled": 1, "tried": 4, "implied": 0, "simulator": 1,
                "both": 2, "reached": 3, "unreached": 1, "invariants": 0}
    if own != expected:
        yield f"adds up {own} instead of {expected}"
    if [row["key"] for row, _, _ in survivors] != ["c", "d"]:
        yield "another one survives"
    rows[2]["key"] = "A.swift | A.check(_:) | skipped guard" + report.THOROUGH
    Known.entries[rows[2]["key"]] = Known.entries["c"]
    if len(report.add_up(rows, Known())[1]) != 1:
        yield "a check of all that is made more often survives"
    for scope, expected in [
            ("Talk.check(_:)", True), ("Server.checkTurns(_:)", True), ("Server.checked(_:)", False),
            ("Server.check(_:_:)", False), ("Server.recheck(_:)", False)]:
        if bool(report.INVARIANT.search(scope)) != expected:
            yield f"{scope} is taken for {'no' if expected else 'an'} invariant"
    text = "\n".join(report.lines(sums, survivors))
    if not re.search(r"^Base/Core +5 +4 +25 % +50 % +2$", text, re.M):
        yield f"the table is wrong:\n{text}"
    for text, expected in [
            ("Session", ["Session/Phone"]), ("Core,Session/Server", ["Base/Core", "Session/Server"]),
            ("Session/Data", None), ("Simulator", []), ("Base/Core/Nothing", [])]:
        try:
            paths = cli.modules(text)
        except argparse.ArgumentTypeError:
            paths = []
        if paths != (text.split(",") if expected is None else expected):
            yield f"--modules {text} means {paths}"
    package = plant.Package(["Session/Phone", "Session/Data/Stored/StoredClientSession.swift"])
    expected = ["WireTests", "StorageTests", "SessionTests", "AuditTests", "SessionServerTests", "FuzzTests",
                "RandomInputTests"]
    if package.suites != expected:
        yield f"the suites of a feature are {package.suites}"
    if package.worlds(["relay", "session"]) != ["session"]:
        yield "the worlds of a feature are others"
    parts = [plant.Package([name]).part for name in ("Base/Core", "a" * 99, "a" * 100, "b" * 100)]
    if parts[:2] != ["-Base-Core", "-" + "a" * 99] or len({*parts}) < 4 or len(parts[2]) != 17:
        yield "many modules make a long name of a file, or the same one as others"
    if plant.Package(["Base/Core"]).suites != plant.SUITES or plant.Package().worlds(["x"]) != ["x"]:
        yield "shared modules are not tried everywhere"
    listing = (
        "ATests.First/`is a/b`()\nATests.First/other()\nATests.`A second/`/x()\n"
        "ATests.`free a/b`(kind:)\nBTests.First/x()\n")
    groups = play.groups_of(listing, ["ATests"])
    if groups != ["ATests.First", "ATests.`A second/`", "ATests.`free a/b`(kind:)"]:
        yield f"the groups of tests are {groups}"
    words = re.compile(play.test_command(groups)[-1])
    if [bool(words.match(line)) for line in [*listing.splitlines(), "ATests.First2/x()"]] != [
            True, True, True, True, False, False]:
        yield f"what runs groups of tests runs others: {words.pattern}"
    reach = play.Reach.__new__(play.Reach)
    reach.groups = {name: seen for name, seen in [
        ("ATests.Slow", b"\1"), ("ATests.One", b"\1"), ("ATests.Two", b"\1"),
        ("BTests.One", b"\1"), ("BTests.Two", b"\0")]}
    reach.seconds = dict(zip(reach.groups, [play.SLOW + 1, 1, 1, 1, 1]))
    for file, expected in [
            ("Sources/Base/Core/A.swift", [["BTests.One"], ["ATests.One", "ATests.Two"]]),
            ("Sources/A/Phone/A.swift", [["ATests.One", "ATests.Two"], ["BTests.One"]])]:
        modules = dict(plant.MODULES)
        plant.MODULES["A/Phone"] = "A"
        batches = reach.tests_of({"number": 0, "file": file})
        plant.MODULES.clear()
        plant.MODULES.update(modules)
        if batches != [*expected, ["ATests.Slow"]]:
            yield f"tests of {file} run in the order {batches}"
    names = {plant.target_of(f"Sources/{name}/A.swift") for name in (
        "Base/Core/Parts", "Session/Server/Parts", "Messages/Server/Shop", "Session/Phone")}
    if names != {"Base/Core", "Session/Server", "Messages/Server", "Session/Phone"}:
        yield f"mutants are counted under {names}"
    options = cli.parser().parse_args(["--sample", "2"])
    rows[5]["isPlanted"] = True
    chosen = cli.sample(rows, options)
    if len(chosen) != 2 or chosen != cli.sample(rows[::-1], options):
        yield "a sample is not what was asked for"
    if not json.dumps(report.data(sums, survivors)):
        yield "the report is no JSON"


def plays():
    """Checks that seeds are played in stages, and fewer in a world without a difference."""
    class Reach:
        worlds, last = ["calm", "wild"], 30

        def seeds(self, world, row):
            return list(range(1, 31, 2)) if world == "calm" else [2, 4, 12, 22]

    class Trial(play.Trial):
        def play(self, world, seeds, result):
            self.played.append((world, seeds[0], seeds[-1]))
            result["differs"] += self.difference
            return False
    for difference, expected in [
            (0, [("calm", 1, 9), ("wild", 2, 4), ("wild", 12, 22)]),
            (1, [("calm", 1, 9), ("wild", 2, 4), ("calm", 11, 29), ("wild", 12, 22)])]:
        trial = Trial(None, Reach(), {"number": 1})
        trial.played, trial.difference = [], difference
        trial.simulate(None)
        if trial.played != expected:
            yield f"with {difference} difference {trial.played} is played"
