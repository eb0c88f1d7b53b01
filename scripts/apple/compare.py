"""Compares the stand-ins of Apple/StandIns with what the importer makes of Apple/Headers.

Tests run the adapters against the stand-ins, and apps compile them against Apple's modules. So what a
stand-in declares as public must be declared in the headers too, with the same types. Symbols of
`@_spi` are a test's side of a stand-in, and are ignored.
"""
import glob
import json
import os
import re
import shutil
import subprocess

from modules import imported
from toolchain import CACHE, Failure, HEADERS, STAND_INS, SWIFT, digest, read, turns

# The module of Apple that a stand-in is a part of, if it has another name.
PARTS = {"BackgroundSession": "Foundation"}
# Modules that Apple's modules re-export.
EXPORTED = ["ObjectiveC", "Foundation"]
# What classes, options and wrapped values inherit or get from the compiler.
INHERITED = {
    "hash", "hashValue", "hash(into:)", "isEqual(_:)", "==(_:_:)", "!=(_:_:)", "init()", "rawValue",
    "init(rawValue:)", "encode(with:)", "init(coder:)", "supportsSecureCoding",
}
# What errors with a type of codes inherit.
OF_ERRORS = {"code", "init(_:)"}
TRIPLE = "x86_64-unknown-linux-gnu"
# Attributes and modifiers in which a Swift class may differ from an imported one.
WORDS = re.compile(
    r"\b(?:optional|open|public|final|weak|override|unowned|nonisolated|convenience|required"
    r"|indirect|mutating|nonmutating|class(?= func| var| let))\s+")


def host(words):
    with turns:
        done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def graph(folder, module, words):
    """Returns the public declarations of a module by path: texts and kinds."""
    status, said = host([
        SWIFT + "-symbolgraph-extract", "-module-name", module, "-minimum-access-level", "public",
        "-output-dir", folder, *words])
    path = os.path.join(folder, module + ".symbols.json")
    if status or not os.path.exists(path):
        raise Failure(f"the declarations of {module} cannot be read:\n{said[:2000]}")
    found = {}
    for path in [path, *glob.glob(os.path.join(folder, module + "@*.symbols.json"))]:
        for symbol in json.loads(read(path))["symbols"]:
            text = "".join(part["spelling"] for part in symbol.get("declarationFragments", []))
            is_own = "::SYNTHESIZED::" not in symbol["identifier"]["precise"]
            if is_own and not symbol.get("spi"):
                found.setdefault(".".join(symbol["pathComponents"]), set()).add(text)
    return found


def plain(text):
    """Returns a declaration without what may differ between Swift and Objective-C."""
    text = re.sub(r"@\w+(\([^)]*\))?\s+", "", text)
    text = WORDS.sub("", text.replace("unowned(unsafe) ", ""))
    text = re.sub(r"\b(?:Foundation|Swift|Dispatch)\.", "", text)
    text = re.sub(r"\s*\{[^}]*\}", "", text)
    text = re.sub(r" = [^,)]+", "", text)
    text = re.sub(r"^(let|var|static let|static var) ", "var ", text)
    text = re.sub(r"^(actor|class|struct|enum|protocol|typealias) (\w+).*", r"type \2", text)
    text = re.sub(r"\((_|\w+) \w+: ", r"(\1: ", text)
    return re.sub(r"\s+", " ", text).strip()


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
    found = {}
    for name in dict.fromkeys([module, *EXPORTED]):
        for path, texts in imported_graph(check, name).items():
            found.setdefault(path, set()).update(texts)
    return found


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


def differences(check, name, sources, known):
    """Returns how a stand-in differs from the headers of its module."""
    texts = {path: {plain(text) for text in found} for path, found in known.items()}
    for path, found in sorted(stand_in(name, sources).items()):
        owner, _, last = path.rpartition(".")
        is_inherited = last in INHERITED or last in OF_ERRORS and owner + ".Code" in texts
        if path not in texts and is_inherited:
            continue
        if path not in texts:
            yield f"Apple/StandIns/{name}: `{path}` is not in the headers"
            continue
        for text in sorted(found):
            if plain(text) not in texts[path]:
                yield (f"Apple/StandIns/{name}: `{plain(text)}` differs from "
                       f"`{'` and `'.join(sorted(texts[path]))}`")


def stand_ins():
    """Returns the stand-ins whose module has headers, each with its sources."""
    found = {}
    for path in sorted(glob.glob(os.path.join(STAND_INS, "*"))):
        name, sources = os.path.basename(path), sorted(glob.glob(os.path.join(path, "*.swift")))
        if sources and PARTS.get(name, name) in imported():
            found[name] = sources
    return found


def report(check):
    """Returns the differences of all stand-ins."""
    wrong = []
    for name, sources in stand_ins().items():
        wrong += differences(check, name, sources, declared(check, PARTS.get(name, name)))
    return wrong


def key():
    paths = [path for sources in stand_ins().values() for path in sources]
    paths += sorted(glob.glob(os.path.join(HEADERS, "*")))
    return digest(*paths, *map(read, paths))
