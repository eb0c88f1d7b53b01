"""Stores, adds up and prints the results of mutants."""
import json
import os
import re

import plant

# Mutants in the statement of invariants only affect whether a broken one is noticed, so a run of
# the simulator without another mutant cannot differ.
INVARIANT = re.compile(r"(^|\.)check([A-Z]\w*)?\(_:\)$")
# Invariants that are checked after every 64th step hold after every step; the guard saves work.
THOROUGH = " | check.isThorough => true"


class Results:
    """The results, one line for each mutant, so that a run continues an interrupted one."""

    def __init__(self, build, versions, seeds):
        self.seeds = seeds
        folder = os.path.join(plant.HOME, "results")
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, build + ".jsonl")
        self.versions = versions
        self.entries = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                for line in file:
                    try:
                        entry = json.loads(line)
                    except ValueError:
                        continue  # the last line of a process that was killed
                    self.entries[entry["key"]] = entry

    def played(self, key):
        """Returns the simulator's result after any number of seeds."""
        return self.entries.get(key, {}).get("simulator")

    def simulated(self, key):
        """Returns the simulator's result, unless fewer seeds were played than requested."""
        result = self.played(key)
        return result if result and (result["caught"] or result["seeds"] >= self.seeds) else None

    def tested(self, key):
        """Returns the suites' result, unless a relevant suite has changed."""
        entry = self.entries.get(key, {})
        tests, versions = entry.get("tests"), entry.get("versions")
        if not tests or self.simulated(key) and entry["simulator"]["caught"]:
            return tests
        suites = [tests["suite"]] if tests["caught"] else self.versions
        is_valid = all(versions.get(suite) == self.versions.get(suite) for suite in suites)
        return tests if is_valid else None

    def add(self, row, simulator, tests):
        entry = {
            "key": row["key"], "number": row["number"], "simulator": simulator, "tests": tests,
            "versions": self.versions}
        self.entries[row["key"]] = entry
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


class Sums:
    """The counts of a module."""

    def __init__(self):
        self.mutants = self.uncompiled = self.tried = self.implied = 0
        self.simulator = self.both = self.reached = self.unreached = self.invariants = 0

    def add(self, other):
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def counted(self):
        return self.tried - self.implied

    @property
    def playable(self):
        """The number of mutants that a run of the simulator can detect at all."""
        return self.counted - self.invariants


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "-"


def add_up(rows, results):
    """Returns the counts by module, and the survivors with their results."""
    sums, survivors = {}, []
    for row in rows:
        own = sums.setdefault(plant.target_of(row["file"]), Sums())
        own.mutants += 1
        own.uncompiled += not row["isPlanted"]
        simulator, tests = results.simulated(row["key"]), results.tested(row["key"])
        if not row["isPlanted"] or simulator is None or tests is None:
            continue
        own.tried += 1
        is_caught = bool(simulator["caught"] or tests["caught"])
        if not is_caught and row["key"].endswith(THOROUGH):
            own.implied += 1
            continue
        is_invariant = bool(INVARIANT.search(row["scope"]))
        own.invariants += is_invariant
        own.simulator += bool(simulator["caught"]) and not is_invariant
        own.both += is_caught
        own.reached += bool(simulator["reached"]) and not is_invariant
        if not is_caught:
            own.unreached += not simulator["reached"] and not tests["reached"]
            survivors.append((row, simulator, tests))
    return sums, survivors


def lines(sums, survivors):
    """Returns the report as lines of text."""
    heads = ("module", "mutants", "tried", "simulator alone", "with tests", "survive")
    table = [heads]
    total = Sums()
    for own in sums.values():
        total.add(own)
    for name, own in [*sums.items(), ("all", total)]:
        table.append((
            name, f"{own.mutants - own.uncompiled:,}", f"{own.counted:,}",
            percent(own.simulator, own.playable), percent(own.both, own.counted),
            f"{own.counted - own.both:,}"))
    widths = [max(len(line[column]) for line in table) for column in range(len(heads))]
    for line in table:
        yield "  ".join(
            text.ljust(width) if not column else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths))).rstrip()
    yield ""
    yield (
        f"{total.uncompiled:,} places do not compile when changed. Of those tried the simulator's "
        f"runs reach {total.reached:,}, and catch {percent(total.simulator, total.reached)} of "
        f"these. {total.invariants:,} are in invariants, which change no run: the simulator's own "
        "score leaves them out.")
    for row, simulator, tests in survivors:
        yield ""
        yield from describe(row)
        yield f"    {standing(simulator, tests)}"


def describe(row):
    yield f"{row['number']}  {row['file']}:{row['line']}  {row['kind']} in {row['scope']}"
    yield f"    {row['before']}"
    yield f"    => {row['after']}"


def standing(simulator, tests):
    """Returns a text that describes where a survivor makes a difference."""
    if not simulator["reached"] and not tests["reached"]:
        return "makes no difference in any run"
    suites = ", ".join(tests["reached"]) or "no suite"
    if not simulator["reached"]:
        return f"makes a difference only in {suites}"
    if simulator["differs"] is None:
        return "makes a difference in seeds that an earlier run found"
    return (
        f"runs otherwise in {simulator['differs']} of {simulator['reached']} seeds that reach it; "
        f"and in {suites}")


def data(sums, survivors):
    """Returns the report as one value."""
    return {
        "modules": {name: vars(own) for name, own in sums.items()},
        "survivors": [
            {"number": row["number"], "key": row["key"], "file": row["file"], "line": row["line"],
             "kind": row["kind"], "in": row["scope"], "before": row["before"],
             "after": row["after"], "simulator": simulator, "tests": tests}
            for row, simulator, tests in survivors],
    }
