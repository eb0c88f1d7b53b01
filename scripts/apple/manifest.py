"""The platforms of the manifest, and the targets that are checked for each."""
from toolchain import Failure, Platform

# The triple of each platform, the name of its module files, and its name in the manifest, from which
# VERSION is. A watch has an Int of 32 bits, and its simulator does not.
TRIPLES = {
    "ios": ("x86_64-apple-iosVERSION-simulator", "x86_64-apple-ios-simulator", "ios"),
    "macos": ("x86_64-apple-macosxVERSION", "x86_64-apple-macos", "macos"),
    "watchos": (
        "x86_64-apple-watchosVERSION-simulator", "x86_64-apple-watchos-simulator", "watchos"),
    "watchos-device": ("arm64_32-apple-watchosVERSION", "arm64_32-apple-watchos", "watchos"),
}
# The modules of Apple's SDKs with Swift sources here, each after its dependencies: the Swift halves
# of modules in Apple/Headers, stubs, and modules that Apple wrote in Swift. Other modules of
# Apple/Headers need no Swift sources, and its module map names the platforms that have them.
APPLE_STUBS = [
    "ObjectiveC", "Dispatch", "Darwin", "Foundation", "CryptoKit", "os", "Network", "SwiftUI",
]
# The adapters, which are checked even if no product uses them.
ADAPTERS = "Sources/Apple/"
# The first version of Android that Swift's SDK supports: 9, API level 28.
ANDROID = Platform(
    "android", "x86_64-unknown-linux-android28", "x86_64-unknown-linux-android",
    ["Dispatch", "Android", "Foundation"],
    # The NDK has no library for HMAC.
    missing={"HoldfastKeyedHashing"})


def versions(package):
    """Returns the oldest supported version of each platform."""
    return {each["platformName"]: each["version"] for each in package["platforms"]}


def platforms(package):
    least, found = versions(package), []
    for name, (triple, file, system) in TRIPLES.items():
        if system not in least:
            raise Failure(f"the manifest names no version of {system}")
        triple = triple.replace("VERSION", least[system])
        found.append(Platform(name, triple, file, APPLE_STUBS, system=system))
    return found + [ANDROID]


def edges(target, platform):
    """Returns the names of the targets that a target depends on, on a platform."""
    for edge in target["dependencies"]:
        name, condition = edge.get("target") or edge.get("byName")
        wanted = condition and condition.get("platformNames")
        if not wanted or platform.system in wanted:
            yield name


def closure(package, platform):
    """Returns the targets of all library products and of Apple's adapters, for macOS also all others,
    each after its dependencies.

    Targets that a platform cannot build yet are left out, with all targets that depend on them.
    """
    targets = {target["name"]: target for target in package["targets"]}
    done = {}

    def visit(name):
        if name in done:
            return
        used = list(edges(targets[name], platform))
        for each in used:
            visit(each)
        if name not in platform.missing and all(done[each] for each in used):
            done[name] = targets[name]
        else:
            done[name] = None

    for product in package["products"]:
        if "library" in product["type"]:
            for name in product["targets"]:
                visit(name)
    for name, target in targets.items():
        is_adapter = (target.get("path") or "").startswith(ADAPTERS)
        if platform.name == "macos" or platform.is_apple and is_adapter:
            visit(name)
    left_out = sorted(name for name, target in done.items() if target is None)
    return [target for target in done.values() if target], left_out
