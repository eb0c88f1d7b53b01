"""What was found out about the whole list of bugs: kept in the repository, so that a run of all of
them goes on where one ended, on any machine."""
import hashlib
import json
import os

import plant

PATH = os.path.join(plant.TOOLS, "tried.json")
NOTE = (
    "Written by scripts/mutants --all. Each file has one letter for each of its bugs, in order. "
    "s: the simulator catches it. T, t: the tests catch it, and the simulator does not; seeds reach "
    "it, or none does. R, r, u: nothing catches it; seeds reach it, only tests do, nothing does. "
    "x: it does not compile. .: not tried yet. A file that changes is tried anew, and so is what "
    "nothing caught once the tests have changed.")


class Tried:
    """The letters of all bugs, by file."""

    def __init__(self, rows, digest, path=PATH):
        """`digest` returns what the bugs of a file depend on."""
        self.path = path
        self.rows = {}
        for row in rows:
            self.rows.setdefault(row["file"], []).append(row)
        self.digests = {file: digest(file) for file in self.rows}
        self.files = plant.Package.load(path, {"files": {}})["files"]

    def known(self, file):
        """Returns what is known of the bugs of a file, unless it has changed since."""
        known = self.files.get(file, {"digest": None, "bugs": ""})
        is_valid = known["digest"] == self.digests[file] and len(known["bugs"]) == len(
            self.rows[file])
        return known if is_valid else None

    def sift(self, found):
        """Tells a sieve which bugs do not compile, so that it checks only files that changed."""
        for file, rows in self.rows.items():
            known = self.known(file)
            if known and found.found.get(file, {}).get("digest") != self.digests[file]:
                found.found[file] = {"digest": self.digests[file], "dropped": sorted(
                    row["key"] for row, letter in zip(rows, known["bugs"]) if letter == "x")}

    def adopt(self, results, keeps_survivors=False):
        """Adds what is known to results that do not know it.

        `keeps_survivors` adds what nothing caught before the tests changed, too.
        """
        for file, rows in self.rows.items():
            known = self.known(file) or {"bugs": ""}
            is_present = keeps_survivors or known.get("tests") == suites(results)
            unknown = "x." if is_present else "x.Rru"
            for row, letter in zip(rows, known["bugs"]):
                if letter not in unknown and row["key"] not in results.entries:
                    results.entries[row["key"]] = entry(letter, known["seeds"], results.versions)

    def least_seeds(self):
        """Returns how many seeds all of what is known was played with; `None` if nothing is."""
        known = [self.known(file) for file in self.rows]
        return min((one["seeds"] for one in known if one), default=None)

    def survivors(self):
        """Returns the keys of the bugs that nothing caught, whatever the tests were then."""
        return {
            row["key"] for file, rows in self.rows.items() if self.known(file)
            for row, letter in zip(rows, self.known(file)["bugs"]) if letter in "Rru"}

    def keep(self, rows, results):
        """Writes what results know of the rows of a build, beside what was known."""
        letters = {}
        for row in rows:
            letters[row["file"]] = letters.get(row["file"], "") + letter(row, results)
        for file, bugs in letters.items():
            if bugs.strip("x."):
                self.files[file] = {
                    "digest": self.digests[file], "seeds": results.seeds, "bugs": bugs,
                    "tests": suites(results)}
        text = json.dumps({"note": NOTE, "files": self.files}, indent=1, sort_keys=True)
        plant.write(self.path, (text + "\n").encode())


def suites(results):
    """Returns a hash of the tests."""
    return hashlib.sha256(json.dumps(results.versions, sort_keys=True).encode()).hexdigest()[:16]


def letter(row, results):
    """Returns the letter of a bug."""
    if not row["isPlanted"]:
        return "x"
    simulator, tests = results.simulated(row["key"]), results.tested(row["key"])
    if simulator is None or tests is None:
        return "."
    if simulator["caught"]:
        return "s"
    if tests["caught"]:
        return "T" if simulator["reached"] else "t"
    return "R" if simulator["reached"] else "r" if tests["reached"] else "u"


def entry(letter, seeds, versions):
    """Returns the results that a letter stands for."""
    return {
        "simulator": {
            "reached": int(letter in "sTR"), "caught": "in an earlier run" if letter == "s" else None,
            "differs": None, "seeds": seeds},
        "tests": {
            "reached": ["a suite"] if letter in "tTr" else [],
            "caught": "in an earlier run" if letter in "tT" else None, "suite": None},
        "versions": versions}
