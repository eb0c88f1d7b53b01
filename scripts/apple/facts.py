"""Compares the headers of Apple/Headers with Apple/Facts: names, versions, optional methods, values.

Each line of Apple/Facts is a member of Apple's API, as two public lists of it agree:

  CBPeripheral setNotifyValue:forCharacteristic: optional=no ios=5.0 by=macios,objc2

`-` stands for the owner of a constant or function. The lists are dotnet/macios, written by hand with
versions, and madsmtm/objc2-generated, made from Apple's headers without versions.
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
    r"\b(?:SWIFT_NAME|SWIFT_ASYNC_NAME|BRIDGED_TO|ERRORS|IOS)\((?:[^()]|\([^()]*\))*\)"
    r"|\b(?:SENDABLE|MAIN_ACTOR|NONISOLATED|DESIGNATED|UNAVAILABLE|OPEN_ENUM|OPTIONS|STRING_\w+"
    r"|NOT_\w+|RETURNS_RETAINED)\b")
VERSION = re.compile(r"\bIOS\(([\d.]+)\)")
# What every class has.
INHERITED = {"init", "alloc", "isEqual:", "hash"}


class Member:
    """A member that a header declares: its place, version, value, and whether it is optional."""

    def __init__(self, place, version=None, optional=False, value=None):
        self.place, self.version, self.optional, self.value = place, version, optional, value


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
    owner, optional, least, pending = None, False, None, None
    for number, line in enumerate(read(path).decode().splitlines(), 1):
        line, place = re.sub(r"//.*", "", line).strip(), f"{os.path.relpath(path, ROOT)}:{number}"
        version = VERSION.search(line)
        version = version and version[1]
        begins = re.match(r"@(?:interface|protocol) (\w+)[^;]*$", line)
        case = re.match(r"(\w+)(?: IOS\([\d.]+\))? = ([^,]+),$", line)
        constant = re.match(r"extern .*?(\w+)\s*;$", MACROS.sub("", line))
        function = re.match(r"\w+ (\w+)\(.*\).*;$", line)
        if begins:
            owner, optional, least, pending = begins[1], False, pending, None
        elif line in ("@optional", "@required"):
            optional = line == "@optional"
        elif line == "@end":
            owner = least = None
        elif owner and line[:1] in ("-", "+"):
            found.setdefault(
                (owner, selector(line)), Member(place, version or least, optional))
        elif owner and line.startswith("@property"):
            found[owner, property_name(line)] = Member(place, version or least, optional)
        elif case and not owner:
            found[None, case[1]] = Member(place, version, value=int(eval(case[2], {})))
        elif (constant or function) and not line.startswith("typedef"):
            found[None, (constant or function)[1]] = Member(place, version)
        elif line and not line.startswith(("@", "#")):
            # Macros before a class, on a line of their own, hold for all of its members.
            pending = version if not MACROS.sub("", line).strip() else None


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

    A version that the oldest supported system has need not be declared: `least` is that system's.
    """
    known = facts(os.path.join(FACTS, module + ".txt"))
    for (owner, name), member in members(headers, module).items():
        fact = known.get((owner, name))
        title = f"{member.place}: {owner + ' ' if owner else ''}{name}"
        if fact is None:
            if name not in INHERITED:
                yield f"{title} is in no list of Apple's API"
            continue
        if owner and fact["optional"] != ("yes" if member.optional else "no"):
            yield f"{title}: the lists say optional={fact['optional']}"
        version = fact.get("ios")
        if version and version != member.version and (
                member.version or not older(version, least)):
            yield f"{title}: the lists say iOS {version}, not {member.version}"
        if member.version and not version and older(member.version, least):
            yield f"{title}: no list names iOS {member.version}; leave the version out"
        if "value" in fact and member.value is not None and int(fact["value"]) != member.value:
            yield f"{title}: the lists say {fact['value']}, not {member.value}"


def report(least, headers=HEADERS):
    """Returns the differences of all modules, and the number of members compared."""
    modules = sorted(os.path.basename(path)[:-4] for path in glob.glob(os.path.join(FACTS, "*.txt")))
    wrong = [text for module in modules for text in differences(headers, module, least)]
    return wrong, sum(len(members(headers, module)) for module in modules)
