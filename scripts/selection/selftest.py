"""Tests of the rules with all files of this checkout, and of some choices."""
import fnmatch

from choose import Choice, all_peers
from manifest import Manifest
from readers import Readers, text
from rules import ALWAYS, LEFT_OUT, PEERS, RULES

# Any part of a suite.
ANY = "any"
EMPTY = "// swift-tools-version: 6.2\nimport PackageDescription\nlet package = Package(name: \"Empty\")\n"


def run(paths):
    """Runs all tests, and prints each failure."""
    manifest = Manifest(text("Package.swift"))
    readers = Readers(manifest, paths)
    failures = [*rules(manifest, paths), *files(manifest, readers, paths), *choices(manifest, readers, paths)]
    for failure in failures:
        print(failure)
    print(f"{len(paths)} files, {len(RULES) + len(PEERS)} rules, {len(failures)} failures")
    return 1 if failures else 0


def rules(manifest, paths):
    """Each pattern has a file, and each word names something that exists."""
    for pattern, line in (RULES | PEERS).items():
        if not fnmatch.filter(paths, pattern):
            yield f"the rule for {pattern} has no file: remove it from scripts/selection/rules.py"
        for word in line.split():
            kind, _, rest = word.partition(":")
            if kind[0].isupper() and word.partition("=")[0] not in manifest.suites:
                yield f"the rule for {pattern} names {word}, which is no suite"
            if kind == "page" and f"Tests/Pages/{rest}" not in paths:
                yield f"the rule for {pattern} names {rest}, which is not in Tests/Pages"
            if kind == "peers" and (unknown := set(rest.split("+")) - set(all_peers())):
                yield f"the rule for {pattern} names {', '.join(unknown)}, which scripts/peer-runs lacks"
            if kind == "make" and f"\n{rest}:" not in text("Makefile"):
                yield f"the rule for {pattern} names {word}, which the Makefile lacks"
    for suite in {ALWAYS, *LEFT_OUT} - manifest.suites:
        yield f"scripts/selection/rules.py names {suite}, which is no suite"


def files(manifest, readers, paths):
    """Each file has a target, a rule or a reader, and each check of a page and each peer is run."""
    for path in paths:
        choice = chosen(manifest, readers, path)
        if choice.unknown:
            yield f"{path} has no target and no rule: add one to scripts/selection/rules.py"
        if path.startswith("Tests/Pages/") and len(choice.suites) == 1:
            yield f"no suite runs {path} of those that name its script"
        if path.startswith("Tests/Peers/") and not choice.peers:
            yield f"no peer of scripts/peer-runs uses {path}"
    if not Manifest(EMPTY).declared_anew(manifest) is None:
        yield "another manifest is another package: expected None"


def chosen(manifest, readers, *paths):
    choice = Choice(manifest, readers)
    for path in paths:
        choice.change(path)
    return choice


def wrong(path, expected, actual):
    if expected != actual:
        yield f"{path}: expected {expected}, actual {actual}"


def choices(manifest, readers, paths):
    """Some paths, with the suites, the checks and the expressions that they need."""
    def first(pattern):
        return next(iter(fnmatch.filter(paths, pattern)), pattern)

    for path, suites, words in [
            ("Tests/CoreTests/Exploration/Explorer.swift", {"CoreTests": None}, []),
            ("Tests/DemoTests/DemoPictureTests.swift", {"DemoTests": "DemoPictureTests"}, []),
            ("Tests/DemoTests/DemoRunTests.swift",
             {"DemoTests": "(DemoClusterTests|DemoRunTests)"}, []),
            ("docs/policies.md", {"CoreTests": "PolicyPageTests"}, []),
            ("docs/bottle.md", {"HoldfastTests": "PageExampleTests"}, []),
            ("README.md", {"AppleLaunchTests": "ExampleAppTests",
                           "HoldfastTests": "(ArticleExampleTests|ReadmeExampleTests)"}, []),
            ("docs/decisions/README.md", {}, []),
            (first("Sources/Holdfast/*.docc/*.md"), {"HoldfastTests": "ArticleExampleTests"}, []),
            ("scripts/wall-clock.c", {"ProgramTests": "(CommandProgramTests|TortureTests)"}, ["peers:image_client"]),
            ("Tests/Pages/check_oauth.py", {"BackendTests": ANY}, []),
            ("Tests/Peers/bottle.py", {}, ["peers:bottle"]),
            ("Tests/Peers/uploads.py", {"ProgramTests": "TortureTests"}, ["peers:admin_client+cluster_client+cluster_torture+health_client+"
                                            "identity_client+image_client+message_client+operations"]),
            (first("Benchmarks/Bench/*.swift"), {"HerdTests": ANY}, []),
            (first("Sources/Simulator/Command/*.swift"),
             {"ProgramTests": ANY, "SimulateTests": ANY}, [])]:
        choice = chosen(manifest, readers, path)
        actual = {suite: choice.filters().get(suite) for suite in choice.suites}
        yield from wrong(path, {ALWAYS: None, **suites},
                         {suite: ANY if actual[suite] and suites.get(suite) == ANY else actual[suite]
                          for suite in actual})
        yield from wrong(path, words, choice.words())
    yield from whole_modules(manifest, readers, first)


def whole_modules(manifest, readers, first):
    """Modules that many suites use, a path that nothing knows, and a part that is not left out."""
    choice = chosen(manifest, readers, first("Sources/Base/Core/*.swift"))
    lacking = manifest.suites - choice.suites.keys() - {"ProtocolsTests"}
    yield from wrong("Sources/Base/Core", set(), lacking)
    yield from wrong("Sources/Base/Core", ["apple-check:ios", "embedded", "example"], choice.words())
    choice = chosen(manifest, readers, first("Sources/Session/Phone/*.swift"))
    yield from wrong("Sources/Session/Phone", ["apple-check:ios", "example",
                                                  "peers:session_cases+session_client+session_server"],
                     choice.words())
    yield from wrong("Sources/Session/Phone", (True, False),
                     ("SessionTests" in choice.suites, "CoreTests" in choice.suites))
    choice = chosen(manifest, readers, first("Sources/Base/Core/*.swift"), "scripts/torture")
    yield from wrong("Sources/Base/Core with scripts/torture", "(?!PeerRun|PeerShop|PeerOperation)",
                     choice.filters().get("ProgramTests"))
    choice = chosen(manifest, readers, "new/file.txt")
    yield from wrong("new/file.txt", (True, ["new/file.txt"]), (choice.everything, choice.unknown))
