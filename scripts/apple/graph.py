"""The package manager's graph of the manifest as a Mac reads it, alone and as a dependency, and as
somebody on Linux reads it without this repository's Makefile."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess

from toolchain import CACHE, Failure, SWIFT, compiler_key, digest, once, read

PACKAGE = "Examples/App"
PROJECT = "Examples/HoldfastApp"
XCODE = PROJECT + "/HoldfastApp.xcodeproj/project.pbxproj"


def as_on_a_mac(text=None, name="Holdfast"):
    """Returns the manifest as a Mac reads it, where `#if os(Linux)` is false.

    The package manager resolves every target, for this package alone and for each example. It fails
    where a Mac does. `dump-package` alone finds no missing target.
    """
    text = read("Package.swift").decode() if text is None else text
    folder = os.path.join(CACHE, "manifest", name)

    def resolve():
        lay_out(folder, text.replace("#if os(Linux)", "#if false"))
        # As a dependency, the package manager says less about what is missing.
        package(folder, "show-dependencies")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(
                lambda example: package(os.path.join(folder, example), "show-dependencies"),
                [PACKAGE, PROJECT]))
        with open(os.path.join(folder, "dump.json"), "w", encoding="utf-8") as file:
            file.write(package(folder, "dump-package"))

    once(folder, "graph", key(text), resolve)
    return json.loads(read(os.path.join(folder, "dump.json")))


def as_a_user(text=None, name="User"):
    """Resolves the manifest as somebody reads it on Linux, without the targets of our own builds."""
    text = read("Package.swift").decode() if text is None else text
    folder = os.path.join(CACHE, "manifest", name)

    def resolve():
        lay_out(folder, text)
        package(folder, "show-dependencies",
                "nobody can", "without HOLDFAST_STRICT the targets of our own builds are not declared")

    once(folder, "graph", key(text), resolve)


def key(text):
    return digest(
        compiler_key(), read(__file__), text, read(PACKAGE + "/Package.swift"), read(XCODE))


def lay_out(folder, manifest):
    """Puts the manifest into a folder, with links to the sources and with the examples."""
    shutil.rmtree(folder, ignore_errors=True)
    for example in (PACKAGE, PROJECT):
        os.makedirs(os.path.join(folder, example))
    link(".", folder, without={"Examples", "Package.swift"})
    link(PACKAGE, os.path.join(folder, PACKAGE), without={"Package.swift"})
    shutil.copy(PACKAGE + "/Package.swift", os.path.join(folder, PACKAGE))
    for place, text in (folder, manifest), (os.path.join(folder, PROJECT), app(manifest)):
        with open(os.path.join(place, "Package.swift"), "w", encoding="utf-8") as file:
            file.write(text)
    os.makedirs(os.path.join(folder, PROJECT, "Sources", "App"))
    open(os.path.join(folder, PROJECT, "Sources", "App", "App.swift"), "w").close()


def link(source, folder, without):
    for name in os.listdir(source):
        if name not in without and not name.startswith("."):
            os.symlink(os.path.abspath(os.path.join(source, name)), os.path.join(folder, name))


def app(manifest):
    """Returns a manifest with the dependencies of the project in Xcode, and on every library."""
    project = read(XCODE).decode()
    path = re.findall(r"(?s)isa = XCLocalSwiftPackageReference;.*?relativePath = ([^;]+);", project)
    named = re.findall(r"(?s)isa = XCSwiftPackageProductDependency;.*?productName = ([^;]+);", project)
    if not path or not named:
        raise Failure(f"{XCODE} names no package or none of its products")
    libraries = re.findall(r'(?m)^ +\.library\(\s*name: "(\w+)"', manifest)
    products = ", ".join(
        f'.product(name: "{name.strip(chr(34))}", package: "Holdfast")'
        for name in sorted({*named, *libraries}))
    return f"""// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "App",
  dependencies: [.package(name: "Holdfast", path: "{path[0].strip(chr(34))}")],
  targets: [.target(name: "App", dependencies: [{products}])]
)
"""


def package(folder, command, who="a Mac cannot",
            why="it declares no target that needs Linux or depends on one that does"):
    # The whole manifest, as a user reads it.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    done = subprocess.run(
        [SWIFT, "package", "--package-path", folder, command], capture_output=True, text=True,
        env=environment)
    if done.returncode:
        said = re.findall(r"(?m)^error: .*?(?=; valid|$)", done.stderr) or [done.stderr[:2000]]
        raise Failure(
            f"{who} load the package in {os.path.relpath(folder)}; {why}:\n" + "\n".join(said))
    return done.stdout
