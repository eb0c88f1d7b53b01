"""The choice of suites and checks for a change."""
import ast
import fnmatch
import re

from readers import text
from rules import ALWAYS, LEFT_OUT, PEERS, RULES, UNREACHED

PAGES, PEER_FOLDER = "Tests/Pages/", "Tests/Peers/"
CHECK = re.compile(r"check_\w+$")


def all_peers():
    """Returns the names of all peers."""
    return ast.literal_eval(re.search(r"^PEERS = (\[.*?\])", text("scripts/peer-runs"), re.M | re.S)[1])


class Choice:
    """What a change needs, and why."""

    def __init__(self, manifest, readers):
        self.manifest, self.readers = manifest, readers
        self.suites = {ALWAYS: {""}}
        self.checks, self.peers, self.by_hand = set(), set(), set()
        # Each reason with the paths that have it. The second half says what they need.
        self.reasons = {}
        # The paths that no rule knows.
        self.unknown = []
        self.everything = self.all_styles = False

    def change(self, path):
        """Adds what a changed path needs."""
        words = {pattern: RULES[pattern] for pattern in RULES if fnmatch.fnmatchcase(path, pattern)}
        if not any(fnmatch.fnmatchcase(path, pattern) for pattern in UNREACHED):
            words |= {pattern: PEERS[pattern] for pattern in PEERS if fnmatch.fnmatchcase(path, pattern)}
        owner, known = self.manifest.owner(path), bool(words)
        if owner and not fnmatch.fnmatchcase(path, "Sources/*.docc/*"):
            known = True
            if path in self.readers.own:
                self.add(owner, self.readers.own[path], path, "its own")
            else:
                self.use(owner, path)
            if owner in self.manifest.shipped:
                for check in ("apple-check:ios", "example"):
                    self.check(check, path, "for a product that apps use")
        for pattern, line in words.items():
            for word in line.split():
                self.word(word, path, pattern)
        for suite, tests in self.readers.of(path).items():
            known = True
            self.add(suite, tests, path, "which reads it")
        if path.startswith(PAGES):
            for name in filter(CHECK.match, self.readers.importers(path)):
                known = True
                self.page(name + ".py", path, "which runs it")
        if path.startswith(PEER_FOLDER) and (peers := self.readers.importers(path) & set(all_peers())):
            known = True
            self.run_peers(peers, path, "which use it")
        if not known:
            self.unknown.append(path)
            self.need_everything(path, "no target and no rule has it")

    def use(self, target, path):
        """Adds the suites that use a target or start a program with it."""
        users = self.manifest.closure(target)
        found = sorted(users & self.manifest.suites)
        for suite in found:
            self.suites.setdefault(suite, set()).add("")
        for program in users & self.readers.starters.keys():
            for suite, tests in self.readers.starters[program].items():
                tests = {name for name in tests if not name.startswith(LEFT_OUT.get(suite, ()))}
                self.suites.setdefault(suite, set()).update(tests)
                if suite not in found:
                    found.append(f"parts of {suite}")
        what = f"{len(found)} suites" if len(found) > 6 else ", ".join(found) or "the build alone"
        self.explain(what, "its own" if found == [target] else f"for {target}", path)

    def word(self, word, path, pattern):
        """Adds what a word of a rule names."""
        kind, _, rest = word.partition(":")
        why = f"by the rule for {pattern}"
        if kind == "page":
            self.page(rest, path, why)
        elif kind == "peers":
            self.run_peers(rest.split("+"), path, why)
        elif kind == "make":
            self.by_hand.add(rest)
            self.explain(f"make {rest} by hand", why, path)
        elif kind == "lint":
            self.all_styles = True
            self.explain("the style of all files", why, path)
        elif kind[0].isupper():
            suite, _, tests = word.partition("=")
            self.add(suite, {tests}, path, why)
        else:
            self.check(word, path, why)

    def check(self, word, path, why):
        self.checks.add(word)
        self.explain(word, why, path)

    def page(self, script, path, why):
        """Adds the suites that run a script of Tests/Pages."""
        for suite, tests in self.readers.of(PAGES + script).items():
            self.add(suite, tests, path, why)

    def add(self, suite, tests, path, why):
        self.suites.setdefault(suite, set()).update(tests)
        named = " ".join(sorted(tests - {""})) if "" not in tests else ""
        self.explain(f"{suite} {named}".strip(), why, path)

    def run_peers(self, names, path, why):
        self.peers |= set(names)
        self.explain("peers " + ", ".join(sorted(names)), why, path)

    def need_everything(self, path, why):
        self.everything = True
        self.explain("everything", why, path)

    def explain(self, what, why, path):
        self.reasons.setdefault((what, why), []).append(path)

    def filters(self):
        """Returns the expression of each suite of which a part runs, for the names of its tests."""
        found = {}
        for suite, tests in sorted(self.suites.items()):
            if "" in tests and suite in LEFT_OUT:
                left_out = [name for name in LEFT_OUT[suite]
                            if not any(test.startswith(name) for test in tests)]
                tests = {f"(?!{'|'.join(left_out)})" if left_out else ""}
            tests = sorted(tests)
            if "" not in tests:
                found[suite] = tests[0] if len(tests) == 1 else f"({'|'.join(tests)})"
        return found

    def words(self):
        """Returns the checks, as words of scripts/test."""
        return sorted(self.checks) + (["peers:" + "+".join(sorted(self.peers))] if self.peers else [])

    def lines(self):
        """Returns a line for each reason."""
        for (what, why), paths in self.reasons.items():
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            yield f"{paths[0]}{more}: {what} ({why})"
