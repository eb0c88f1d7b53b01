"""The command line of `scripts/check`."""
import argparse
import json
import os
import shlex
import signal
import subprocess
import sys

import selftest
from choose import Choice
from manifest import ROOT, Manifest
from readers import Readers, text

HELP = """Checks what has changed since BASE, uncommitted and new files included: the style of the changed
Swift files, the build, and the suites and checks that the change needs. `make test` checks everything.

A changed file needs the suites that use its target by the manifest, the tests that name it, and
what the rules in scripts/selection/rules.py say; a file with tests alone needs these, and those that
use its types. Without BASE it is the last commit that main has,
too; on main, the last one that origin/main has, or the one before the last."""


def git(*words):
    """Returns the lines that git prints, or with -z the paths."""
    # A container may run this as another user than the owner of the files.
    done = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=ROOT, capture_output=True,
                          text=True, errors="surrogateescape", check=False)
    if done.returncode:
        said = done.stderr.strip() or "it finds nothing; name BASE, a commit with which to compare"
        raise SystemExit(f"check: git {' '.join(words)}: {said}")
    return [path for path in done.stdout.split("\0") if path] if "-z" in words else done.stdout.splitlines()


def base_of(given):
    """Returns the commit with which the files are compared."""
    if given:
        return git("rev-parse", "--verify", given + "^{commit}")[0]
    head = git("rev-parse", "HEAD")[0]
    found = [main for main in ("main", "origin/main")
             if git("branch", "--all", "--list", main, "remotes/" + main)]
    if not found:
        raise SystemExit("check: there is no branch main or origin/main; name BASE, the commit before the change")
    for main in found:
        base = git("merge-base", main, head)[0]
        if base != head:
            return base
    if git("status", "--porcelain"):
        return head
    earlier = git("rev-list", "--max-count=2", "HEAD")[1:]
    if not earlier:
        raise SystemExit("check: nothing has changed, and this clone has no earlier commit; name BASE")
    return earlier[0]


def changed_since(base):
    """Returns the paths that differ from a commit, removed and new ones included."""
    return sorted({*git("diff", "-z", "--name-only", "--no-renames", base),
                   *git("ls-files", "-z", "--others", "--exclude-standard")})


def all_paths(*which):
    """Returns the paths of the files in git, and with `--others` of those that are new."""
    paths = git("ls-files", "-z", "--cached", *which, "--exclude-standard")
    return sorted(path for path in set(paths) if os.path.isfile(os.path.join(ROOT, path)))


def choice_for(paths, base):
    """Returns what a change of some paths since a commit needs."""
    if not os.path.exists(os.path.join(ROOT, "Package.swift")):
        raise SystemExit("check: Package.swift is gone: git restore Package.swift")
    manifest = Manifest(text("Package.swift"))
    choice = Choice(manifest, Readers(manifest, all_paths("--others"), gone=paths))
    older = None
    if "Package.swift" in paths:
        older = Manifest("\n".join(git("show", f"{base}:Package.swift")))
        declared = manifest.declared_anew(older)
        if declared is None:
            choice.need_everything("Package.swift", "more than targets has changed")
        for target in sorted(declared or ()):
            choice.use(target, "Package.swift")
    for path in paths:
        # The users of a target that is gone are declared in another way.
        if not (older and older.owner(path) and not os.path.exists(os.path.join(ROOT, path))
                and not manifest.owner(path)):
            choice.change(path)
    return choice


def styled(paths):
    """Returns the changed files whose style `make lint` checks."""
    return [path for path in paths if path.endswith(".swift") and not path.startswith("scripts/")
            and os.path.exists(os.path.join(ROOT, path))]


def commands(choice, paths):
    """Returns the commands that check a change, with their environment."""
    if choice.everything:
        return [["make", "test"]]
    suites = ",".join(sorted(choice.suites))
    # Make reads a dollar sign as the beginning of a variable.
    linted = " ".join(map(shlex.quote, styled(paths))).replace("$", "$$")
    style = [] if choice.all_styles else [f"LINTED={linted}"]
    steps = ["lint"] * (style != ["LINTED="]) + ["build"]
    tests = ["scripts/test", "--suites", suites]
    for suite, expression in choice.filters().items():
        tests += ["--filter", f"{suite}={expression}"]
    return [["make", *steps, *style, f"HOLDFAST_SUITES={suites}"],
            tests + ["--checks", ",".join(choice.words()) or "none"]]


def show(choice, base, paths):
    """Prints what a change needs, and why."""
    print(f"{len(paths)} changed files since {base[:10]}")
    for line in choice.lines():
        print(f"  {line}")
    if choice.everything:
        print("runs everything")
    else:
        filters = choice.filters()
        names = [f"{suite}={filters[suite]}" if suite in filters else suite
                 for suite in sorted(choice.suites)]
        print(f"suites, {len(names)} of {len(choice.manifest.suites)}: {', '.join(names)}")
        print(f"checks: {', '.join(choice.words()) or 'none'}")
    for target in sorted(choice.by_hand):
        print(f"not run: make {target}")


def main():
    parser = argparse.ArgumentParser(prog="scripts/check", description=HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", metavar="BASE", help="the commit with which files are compared")
    parser.add_argument("--list", action="store_true", help="print what would run, and why")
    parser.add_argument("--json", action="store_true", help="print what would run as JSON")
    parser.add_argument("--self-test", action="store_true", help="test the rules with all files")
    given = parser.parse_args()
    # The names of files need not be UTF-8.
    sys.stdout.reconfigure(errors="surrogateescape")
    if given.self_test:
        return selftest.run(all_paths())
    base = base_of(given.base)
    paths = changed_since(base)
    choice = choice_for(paths, base)
    if given.json:
        print(json.dumps({
            "base": base, "paths": paths, "everything": choice.everything,
            "suites": {suite: choice.filters().get(suite) for suite in sorted(choice.suites)},
            "checks": choice.words(), "by_hand": sorted(choice.by_hand), "reasons": list(choice.lines()),
            "commands": commands(choice, paths)}, indent=2))
        return 0
    show(choice, base, paths)
    if given.list:
        return 0
    sys.stdout.flush()
    # The checks build, too, and need the same choice of suites.
    environment = dict(os.environ, HOLDFAST_STRICT="1")
    environment.pop("HOLDFAST_SUITES", None)
    if not choice.everything:
        environment["HOLDFAST_SUITES"] = ",".join(sorted(choice.suites))
    for command in commands(choice, paths):
        if status := run(command, environment):
            return status
    return 0


def run(command, environment):
    """Runs a command to its end, and returns its status. The command, which ends its own children,
    gets Ctrl-C from the terminal, and the other signals from here."""
    child = subprocess.Popen(command, cwd=ROOT, env=environment)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: child.terminate())
    try:
        status = child.wait()
    except KeyboardInterrupt:
        child.wait()
        return 130
    return 128 - status if status < 0 else status
