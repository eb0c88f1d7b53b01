"""Compares the headers of Apple/Headers with Apple/Facts: names, versions, optional methods, values.

Each line of Apple/Facts is a member of Apple's API, as two public lists of it agree:

  HKWorkout @type sendable=yes main=no by=objc2
  HKWorkout statisticsForType: optional=no ios=16.0 macos=13.0 watchos=9.0 by=macios,objc2

`@type` stands for a class or protocol itself, and `handler` tells whether a method's function is
sendable.
`-` stands for the owner of a constant or function, and `no` for a platform that lacks the member.
The lists are dotnet/macios, written by hand with versions, and madsmtm/objc2-generated, made from
Apple's headers without versions.
"""
import glob
import os
import re

from toolchain import HEADERS, ROOT, read

FACTS = os.path.join(ROOT, "Apple", "Facts")
# The files of a module, if they are not one of its name.
FILES = {
    "Foundation": ["Foundation.h", "URLSession.h"],
    "HealthKit": ["HealthKit.h", "HKWorkoutActivityType.h"],
}
# Macros that take a parenthesis, and those that do not.
MACROS = re.compile(
    r"\b(?:SWIFT_NAME|SWIFT_ASYNC_NAME|BRIDGED_TO|ERRORS|(?:IOS|MACOS|WATCHOS)(?=\())"
    r"\((?:[^()]|\([^()]*\))*\)"
    r"|\b(?:SENDABLE|MAIN_ACTOR|NONISOLATED|DESIGNATED|UNAVAILABLE|OPEN_ENUM|OPTIONS|STRING_\w+"
    r"|NOT_\w+|RETURNS_RETAINED)\b")
PLATFORMS = ("ios", "macos", "watchos")
VERSION = re.compile(r"\b(IOS|MACOS|WATCHOS)\(([\d.]+)\)|\bNOT_ON_(IOS|MACOS|WATCHOS)\b")
# What every class has.
INHERITED = {"init", "alloc", "isEqual:", "hash"}


class Member:
    """A member that a header declares: its place, versions, value, and whether it is optional."""

    def __init__(self, place, versions, optional=False, value=None, traits=None):
        """`traits`: what the facts of a type or of a handler tell."""
        self.place, self.versions, self.optional, self.value = place, versions, optional, value
        self.traits = traits or {}


def type_traits(macros):
    return {"sendable": "yes" if re.search(r"\bSENDABLE\b", macros) else "no",
            "main": "yes" if re.search(r"\bMAIN_ACTOR\b", macros) else "no"}


def handler_traits(line):
    return {"handler": "sendable" if "SENDABLE" in line else "plain"} if "^" in line else {}


def versions(line):
    """Returns the versions that a line names, by platform: `no` if the platform lacks it."""
    return {(name or lacking).lower(): version or "no"
            for name, version, lacking in VERSION.findall(line)}


def selector(text):
    """Returns the selector of a method: `- (void)stop`, `- (A *)first:(B)b second:(C)c`."""
    text = MACROS.sub("", text)
    flat, depth = "", 0
    for char in text.lstrip("-+ "):
        depth += char == "("
        if depth == 0:
            flat += char
        depth -= char == ")"
    parts = re.findall(r"(\w*):", flat)
    return "".join(part + ":" for part in parts) if parts else flat.split()[0].rstrip(";")


def property_name(line):
    getter = re.search(r"getter\s*=\s*(\w+)", line)
    block = re.search(r"\(\^\s*(?:\w+\s+)?(\w+)\)", line)
    if getter or block:
        return (getter or block)[1]
    return re.findall(r"\w+", MACROS.sub("", line))[-1]


def members(headers, module):
    """Returns the members that the headers of a module declare, by owner and name."""
    found = {}
    for name in FILES.get(module, [module + ".h"]):
        path = os.path.join(headers, name)
        if os.path.exists(path):
            scan(path, found)
    return found


def scan(path, found):
    owner, optional, least, pending, macros = None, False, {}, {}, ""
    for number, line in enumerate(read(path).decode().splitlines(), 1):
        line, place = re.sub(r"//.*", "", line).strip(), f"{os.path.relpath(path, ROOT)}:{number}"
        named, bare = versions(line), MACROS.sub("", line)
        begins = re.match(r"@(?:interface|protocol) (\w+)[^;]*$", line)
        case = re.match(r"(\w+) +(?:= )?([^,=]+),$", bare)
        constant = re.match(r"extern .*?(\w+)\s*;$", bare)
        function = re.match(r"\w+ (\w+)\(.*\).*;$", line)
        if begins:
            owner, optional, least, pending = begins[1], False, pending, {}
            found[owner, "@type"] = Member(place, least, traits=type_traits(macros))
        elif line in ("@optional", "@required"):
            optional = line == "@optional"
        elif line == "@end":
            owner, least = None, {}
        elif owner and line[:1] in ("-", "+"):
            found.setdefault((owner, selector(line)), Member(
                place, {**least, **named}, optional, traits=handler_traits(line)))
        elif owner and line.startswith("@property"):
            found[owner, property_name(line)] = Member(place, {**least, **named}, optional)
        elif case and not owner and "=" in bare:
            found[None, case[1]] = Member(place, named, value=int(eval(case[2], {})))
        elif (constant or function) and not line.startswith("typedef"):
            found[None, (constant or function)[1]] = Member(place, named)
        elif line and not line.startswith(("@", "#")):
            # Macros before a class, on a line of their own, hold for all of its members.
            pending = {} if bare.strip() else named
        macros = "" if bare.strip() else line


def facts(path):
    """Returns the facts of a file by owner and name, each a dictionary."""
    found = {}
    for line in read(path).decode().splitlines():
        owner, name, *words = line.split()
        found[None if owner == "-" else owner, name] = dict(word.split("=", 1) for word in words)
    return found


def older(version, least):
    def parts(text):
        return [int(part) for part in text.split(".")]
    return parts(version) <= parts(least)


def differences(headers, module, least):
    """Returns how the headers of a module differ from its facts.

    A version that the oldest supported system has need not be declared: `least` has the version of
    that system for each platform.
    """
    known = facts(os.path.join(FACTS, module + ".txt"))
    for (owner, name), member in members(headers, module).items():
        fact = known.get((owner, name))
        title = f"{member.place}: {owner + ' ' if owner else ''}{name}"
        if fact is None:
            if name not in INHERITED | {"@type"}:
                yield f"{title} is in no list of Apple's API"
            continue
        for trait, value in member.traits.items():
            if trait in fact and fact[trait] != value:
                yield f"{title}: the lists say {trait}={fact[trait]}, not {value}"
        if "optional" in fact and fact["optional"] != ("yes" if member.optional else "no"):
            yield f"{title}: the lists say optional={fact['optional']}"
        if "value" in fact and member.value is not None and int(fact["value"]) != member.value:
            yield f"{title}: the lists say {fact['value']}, not {member.value}"
        for platform in PLATFORMS if name != "@type" else ():
            said, declared = fact.get(platform), member.versions.get(platform)
            yield from (f"{title}: {text}" for text in
                        in_versions(platform, said, declared, least[platform], is_owned=owner))
        if member.versions.get("ios", "no") != "no" and "watchos" not in member.versions:
            yield f"{title}: name the version of watchOS, or the compiler guesses one"


def in_versions(platform, said, declared, least, is_owned):
    """Returns the differences between the lists' version and the header's on a platform."""
    if "no" in (said, declared):
        # The lists tell this of a class, and not of the constants that belong to it.
        if said != declared and (said == "no" or is_owned):
            yield f"the lists say {platform}={said or 'yes'}, not {declared or 'yes'}"
    elif said and said != declared and (declared or not older(said, least)):
        yield f"the lists say {platform} {said}, not {declared}"
    elif declared and not said and older(declared, least):
        yield f"no list names {platform} {declared}; leave the version out"


def report(least, headers=HEADERS):
    """Returns the differences of all modules, and the number of members compared."""
    modules = sorted(os.path.basename(path)[:-4] for path in glob.glob(os.path.join(FACTS, "*.txt")))
    wrong = [text for module in modules for text in differences(headers, module, least)]
    return wrong, sum(len(members(headers, module)) for module in modules)
