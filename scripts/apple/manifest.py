"""The manifest as a Mac reads it, and the targets that an app builds on each platform."""
import json
import os
import subprocess

from toolchain import CACHE, Failure, Platform, SWIFT

# The triple of each platform, and the name of its module files. VERSION is the manifest's.
TRIPLES = {
    "ios": ("x86_64-apple-iosVERSION-simulator", "x86_64-apple-ios-simulator"),
    "macos": ("x86_64-apple-macosxVERSION", "x86_64-apple-macos"),
    "watchos": ("x86_64-apple-watchosVERSION-simulator", "x86_64-apple-watchos-simulator"),
}
# The modules of Apple's SDKs with Swift sources here, each after its dependencies: the Swift halves
# of modules in Apple/Headers, stubs, and modules that Apple wrote in Swift. Other modules of
# Apple/Headers need no Swift sources, and its module map names the platforms that have them.
APPLE_STUBS = [
    "ObjectiveC", "Dispatch", "Darwin", "Foundation", "CryptoKit", "os", "Network", "SwiftUI",
]
# The adapters, which are checked even if no product uses them.
ADAPTERS = "Sources/Adapters/Apple/"
# The first version of Android that Swift's SDK supports: 9, API level 28.
ANDROID = Platform(
    "android", "x86_64-unknown-linux-android28", "x86_64-unknown-linux-android",
    ["Dispatch", "Android", "Foundation"],
    # The NDK has no library for HMAC.
    missing={"HoldfastKeyedHashing"})


def as_on_a_mac():
    """Returns the manifest as a Mac reads it, where `#if os(Linux)` is false."""
    folder = os.path.join(CACHE, "manifest")
    os.makedirs(folder, exist_ok=True)
    with open("Package.swift", encoding="utf-8") as file:
        text = file.read()
    text = text.replace("#if os(Linux)", "#if os(macOS) || false")
    # The condition is false on a host that is not a Mac; it marks the branch that a Mac takes.
    with open(os.path.join(folder, "Package.swift"), "w", encoding="utf-8") as file:
        file.write(text.replace("#if os(macOS) || false", "#if false"))
    done = subprocess.run(
        [SWIFT, "package", "--package-path", folder, "dump-package"],
        capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"the manifest is not valid on a Mac:\n{done.stderr[:2000]}")
    return json.loads(done.stdout)


def versions(package):
    """Returns the oldest supported version of each platform."""
    return {each["platformName"]: each["version"] for each in package["platforms"]}


def platforms(package):
    least, found = versions(package), []
    for name, (triple, file) in TRIPLES.items():
        if name not in least:
            raise Failure(f"the manifest names no version of {name}")
        found.append(Platform(name, triple.replace("VERSION", least[name]), file, APPLE_STUBS))
    return found + [ANDROID]


def edges(target, platform):
    """Returns the names of the targets that a target depends on, on a platform."""
    for edge in target["dependencies"]:
        name, condition = edge.get("target") or edge.get("byName")
        wanted = condition and condition.get("platformNames")
        if not wanted or platform.name in wanted:
            yield name


def closure(package, platform):
    """Returns the targets of all library products and of Apple's adapters, each after its
    dependencies.

    Targets that a platform cannot build yet are left out, with all targets that depend on them.
    """
    targets = {target["name"]: target for target in package["targets"]}
    done = {}

    def visit(name, user):
        if name in done:
            return
        if name not in targets:
            raise Failure(
                f"{user} uses {name}, which the manifest declares on Linux alone; "
                "use onLinux() for it in Package.swift")
        used = list(edges(targets[name], platform))
        for each in used:
            visit(each, name)
        if name not in platform.missing and all(done[each] for each in used):
            done[name] = targets[name]
        else:
            done[name] = None

    for product in package["products"]:
        if "library" in product["type"]:
            for name in product["targets"]:
                visit(name, f"the product {product['name']}")
    if platform.is_apple:
        for name, target in targets.items():
            if (target.get("path") or "").startswith(ADAPTERS):
                visit(name, "the check")
    left_out = sorted(name for name, target in done.items() if target is None)
    return [target for target in done.values() if target], left_out
