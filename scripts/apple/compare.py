"""Compares the stand-ins of Apple/StandIns with Apple's modules.

Tests run the adapters against the stand-ins, and apps compile them against Apple's modules. So what
a stand-in declares as public must be declared by Apple too, with the same types, isolation,
sendability, optional requirements and versions. The declarations of Objective-C modules are what
the importer makes of Apple/Headers. Those of Swift modules are in Apple/Facts/Swift: path,
declaration, traits, and the public sources that show it. A question mark marks a trait that is not
known.

  NWConnection.State | enum State | sendable by=overlay,docs

Symbols of `@_spi` are a test's side of a stand-in, and are ignored.
"""
import glob
import json
import os
import re
import shutil
import subprocess

from facts import FACTS, older
from modules import imported
from toolchain import CACHE, Failure, HEADERS, STAND_INS, STUBS, SWIFT, digest, read, turns

# The module of Apple that a stand-in is a part of, if it has another name.
PARTS = {"BackgroundSession": "Foundation"}
# Modules that Apple's modules re-export.
EXPORTED = ["ObjectiveC", "Foundation"]
# What classes, options, views and wrapped values inherit or get from the compiler.
INHERITED = {
    "hash", "hashValue", "hash(into:)", "isEqual(_:)", "==(_:_:)", "!=(_:_:)", "init()", "rawValue",
    "init(rawValue:)", "encode(with:)", "init(coder:)", "supportsSecureCoding", "Body", "Element",
    "ArrayLiteralElement", "contains(_:)", "insert(_:)", "remove(_:)", "update(with:)", "union(_:)",
    "intersection(_:)", "symmetricDifference(_:)", "formUnion(_:)", "formIntersection(_:)",
    "formSymmetricDifference(_:)",
}
# What errors with a type of codes inherit.
OF_ERRORS = {"code", "init(_:)"}
TRIPLE = "x86_64-unknown-linux-gnu"
SENDABLE = "s:s8SendableP"
# Attributes of a whole declaration. `graph` reads those that matter; attributes of parameters stay.
ATTRIBUTES = re.compile(r"^(?:@\w+(?:\((?:[^()]|\([^()]*\))*\))?\s+)+")
# Modifiers in which a Swift class may differ from an imported one.
WORDS = re.compile(
    r"\b(?:optional|open|public|final|weak|override|unowned|nonisolated|convenience|required"
    r"|indirect|mutating|nonmutating|class(?= func| var| let))\s+")
MODULES = re.compile(r"\b(?:Foundation|FoundationEssentials|Swift|Dispatch|ObjectiveC)\.(?=\w)")
TYPE = re.compile(r"^(?:actor|class|struct|enum|protocol|typealias) (\w+).*")


class Declaration:
    """A public declaration: its text, and the traits that differ between modules of one text."""

    def __init__(self, text, traits=(), since=None):
        """`since`: the first version of iOS that has the declaration."""
        self.kind = re.match(r"\w*", plain(text, with_kind=True))[0]
        self.text, self.traits, self.since = plain(text), frozenset(traits), since

    def __str__(self):
        return self.text + "".join(f" ({trait})" for trait in sorted(self.traits))


def plain(text, with_kind=False):
    """Returns a declaration without what may differ between Swift and Objective-C."""
    text = ATTRIBUTES.sub("", text.strip())
    text = WORDS.sub("", text.replace("unowned(unsafe) ", ""))
    text = MODULES.sub("", text)
    text = re.sub(r"\s*\{[^}]*\}", "", text)
    # A function of the main actor is sendable.
    text = text.replace("@MainActor @Sendable ", "@MainActor ")
    text = re.sub(r" = [^,()]*(?:\([^()]*\))?(?=[,)]|$)", "", text)
    text = re.sub(r"^(let|var|static let|static var) ", "var ", text)
    if not with_kind:
        text = TYPE.sub(r"type \1", text)
    text = re.sub(r"([(,] ?)(\w+) \w+: ", r"\1\2: ", text)
    return re.sub(r"\s+", " ", text).strip()


def host(words):
    with turns:
        done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def graph(folder, module, words):
    """Returns the public declarations of a module by path."""
    status, said = host([
        SWIFT + "-symbolgraph-extract", "-module-name", module, "-minimum-access-level", "public",
        "-output-dir", folder, *words])
    path = os.path.join(folder, module + ".symbols.json")
    if status or not os.path.exists(path):
        raise Failure(f"the declarations of {module} cannot be read:\n{said[:2000]}")
    symbols, relations = [], []
    for path in [path, *sorted(glob.glob(os.path.join(folder, module + "@*.symbols.json")))]:
        found = json.loads(read(path))
        symbols, relations = symbols + found["symbols"], relations + found["relationships"]
    return Graph(symbols, relations).declarations()


class Graph:
    """The symbols of a module and their relations, as the compiler describes them."""

    def __init__(self, symbols, relations):
        self.symbols = symbols
        self.related = {}
        for relation in relations:
            self.related.setdefault((relation["kind"], relation["source"]), []).append(
                relation["target"])
        self.have_defaults = {
            target for (kind, _), targets in self.related.items()
            if kind == "defaultImplementationOf" for target in targets}
        self.isolated = {
            ".".join(symbol["pathComponents"]) for symbol in symbols
            if "@MainActor" in fragments(symbol).partition("(")[0]}

    def declarations(self):
        found = {}
        for symbol in self.symbols:
            name = symbol["identifier"]["precise"]
            is_default = ("defaultImplementationOf", name) in self.related
            if "::SYNTHESIZED::" in name or symbol.get("spi") or is_default:
                continue
            found.setdefault(".".join(symbol["pathComponents"]), []).append(
                Declaration(fragments(symbol), self.traits(symbol), since(symbol)))
        return found

    def traits(self, symbol):
        kind, name = symbol["kind"]["identifier"], symbol["identifier"]["precise"]
        path = ".".join(symbol["pathComponents"])
        is_isolated = "nonisolated " not in fragments(symbol) and (
            path in self.isolated or path.rpartition(".")[0] in self.isolated)
        if is_isolated and kind not in ("swift.enum", "swift.struct", "swift.typealias"):
            yield "main"
        if kind in ("swift.class", "swift.struct", "swift.enum", "swift.protocol") and (
                self.is_sendable(name) or path in self.isolated):
            yield "sendable"
        if kind == "swift.class" and symbol["accessLevel"] == "open":
            yield "open"
        if ("optionalRequirementOf", name) in self.related or (
                ("requirementOf", name) in self.related and name in self.have_defaults):
            yield "optional"

    def is_sendable(self, name):
        if SENDABLE in self.related.get(("conformsTo", name), []):
            return True
        return any(self.is_sendable(each) for each in self.related.get(("inheritsFrom", name), []))


def since(symbol):
    for each in symbol.get("availability", []):
        if each.get("domain") == "iOS" and "introduced" in each:
            return "{major}.{minor}".format(**{"minor": 0, **each["introduced"]})
    return None


def fragments(symbol):
    return "".join(part["spelling"] for part in symbol.get("declarationFragments", []))


def stand_in(name, sources):
    """Compiles a stand-in for this system, and returns its public declarations."""
    folder = os.path.join(CACHE, "stand-ins", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    status, said = host([
        SWIFT + "c", "-emit-module", "-parse-as-library", "-swift-version", "6", "-module-name",
        name, "-suppress-warnings", "-o", os.path.join(folder, name + ".swiftmodule"), *sources])
    if status:
        raise Failure(f"the stand-in {name} does not compile:\n{said[:2000]}")
    return graph(folder, name, ["-target", TRIPLE, "-I", folder])


def declared(check, module):
    """Returns the public declarations of a module for a platform, with those that it re-exports."""
    if module not in imported():
        return listed(module)
    found = {}
    for name in dict.fromkeys([module, *EXPORTED]):
        for path, each in imported_graph(check, name).items():
            found.setdefault(path, []).extend(each)
    return found


def listed(module):
    """Returns the declarations of a Swift module that Apple/Facts/Swift has."""
    found = {}
    for line in read(facts_of(module)).decode().splitlines():
        if line and not line.startswith("#"):
            path, text, words = line.split(" | ")
            traits = [word for word in words.split() if "=" not in word]
            found.setdefault(path, []).append(Declaration(text, traits))
    return found


def facts_of(module):
    return os.path.join(FACTS, "Swift", module + ".txt")


def imported_graph(check, module):
    folder = os.path.join(check.platform.folder, "declared")
    os.makedirs(folder, exist_ok=True)
    kept, words = check.words(), []
    for place, word in enumerate(kept):
        if word in ("-I", "-target", "-module-cache-path", "-sdk"):
            words += [word, kept[place + 1]]
        elif word == "-Xcc":
            words += [word, kept[place + 1]]
    return graph(folder, module, words)


def differences(name, declarations, known, least):
    """Returns how the declarations of a stand-in differ from those of its module.

    `least`: the oldest supported version of iOS. What is newer, a stand-in has to mark as such.
    """
    for path, found in sorted(declarations.items()):
        owner, _, last = path.rpartition(".")
        is_inherited = last in INHERITED or last in OF_ERRORS and owner + ".Code" in known
        if path not in known and is_inherited:
            continue
        if path not in known:
            yield f"Apple/StandIns/{name}: `{path}` is not declared by Apple, as far as is known"
            continue
        for each in found:
            like = [other for other in known[path] if other.text == each.text]
            if not like:
                yield (f"Apple/StandIns/{name}: `{each}` differs from "
                       f"`{'` and `'.join(sorted(set(map(str, known[path]))))}`")
            elif not any(is_like(each, other) for other in like):
                yield (f"Apple/StandIns/{name}: `{path}` is {described(each)}, and not "
                       f"{described(like[0])}")
            elif like[0].since != each.since and not older(like[0].since or least, least):
                yield f"Apple/StandIns/{name}: `{path}` needs `@available(iOS {like[0].since}, *)`"


def is_like(each, other):
    """Returns whether kind and traits are equal. A stand-in's class need not be `open`, and a trait
    with a question mark is not known."""
    unknown = {trait[:-1] for trait in other.traits if trait.endswith("?")}
    wider = (each.traits ^ other.traits) - unknown - {trait + "?" for trait in unknown}
    kinds_differ = each.kind != other.kind and "kind" not in unknown and (
        each.text.startswith("type ") and "typealias" not in (each.kind, other.kind))
    return not kinds_differ and wider <= {"open"} and not wider & each.traits


def described(declaration):
    names = {"main": "on the main actor"}
    traits = [names.get(trait, trait) for trait in sorted(declaration.traits)]
    return " ".join([declaration.kind, *traits])


def stand_ins():
    """Returns the stand-ins whose module has headers or facts, each with its sources."""
    found = {}
    for path in sorted(glob.glob(os.path.join(STAND_INS, "*"))):
        name = os.path.basename(path)
        sources = sorted(glob.glob(os.path.join(path, "**", "*.swift"), recursive=True))
        module = PARTS.get(name, name)
        if sources and (module in imported() or os.path.exists(facts_of(module))):
            found[name] = sources
    return found


def report(check):
    """Returns the differences of all stand-ins."""
    wrong = []
    for name, sources in stand_ins().items():
        # What a stand-in gets from Stubs, only the check compiles.
        found = (imported_graph(check, name) if os.path.isdir(os.path.join(STUBS, name))
                 else stand_in(name, sources))
        wrong += differences(
            name, found, declared(check, PARTS.get(name, name)), check.least["ios"])
    return wrong


def unproven():
    """Returns the number of declarations that no public source shows."""
    files = glob.glob(os.path.join(FACTS, "Swift", "*.txt"))
    return sum(read(path).count(b" by=-\n") for path in files)


def key():
    paths = [path for sources in stand_ins().values() for path in sources]
    paths += sorted(glob.glob(os.path.join(HEADERS, "*")))
    paths += sorted(glob.glob(os.path.join(FACTS, "Swift", "*.txt")))
    return digest(*paths, *map(read, paths))
