"""The standard modules for another platform, rebuilt from the interfaces of this toolchain."""
import hashlib
import os
import re
import shutil
import subprocess
import threading

from strip import strip

SWIFT = os.environ.get("SWIFT", "swift")
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STUBS = os.path.join(ROOT, "Apple", "Checks", "Stubs")
HEADERS = os.path.join(ROOT, "Apple", "Headers")
OVERLAYS = os.path.join(ROOT, "Apple", "Overlays")
STAND_INS = os.path.join(ROOT, "Apple", "StandIns")
CACHE = os.path.join(".build", "apple-check")
# Limits the number of concurrent compilers to the number of processors.
turns = threading.Semaphore(os.cpu_count() or 2)

# The standard modules, each after its dependencies.
STANDARD = [
    "Swift", "_Concurrency", "SwiftOnoneSupport", "Synchronization", "Observation",
    "_RegexParser", "_StringProcessing",
]


# With Objective-C, the compiler converts no pointers unless the library also declares this type.
AUTORELEASING = """
@frozen @unsafe public struct AutoreleasingUnsafeMutablePointer<Pointee> : Swift._Pointer {
  public typealias Distance = Swift.Int
  public let _rawValue: Builtin.RawPointer
  public init(_ _rawValue: Builtin.RawPointer)
  public var pointee: Pointee { get nonmutating set }
}
"""
# Functions whose bodies are kept. With them the compiler calculates constants, which tests need, and
# finds those that do not fit into 32 bits.
CALCULATED = re.compile(
    r"init\(_builtin(Integer|Boolean)Literal |init\(_ _value: Builtin\.Int64\)"
    r"|func [-+*]=? \(lhs: (inout )?Swift\.U?Int,")


class Failure(Exception):
    pass


class Platform:
    """A platform: its name, its triple, the name of its module files, and its name in the manifest."""

    def __init__(self, name, triple, file, stubs, missing=frozenset(), system=None):
        self.name, self.triple, self.file = name, triple, file
        self.stubs, self.missing, self.system = stubs, missing, system or name

    @property
    def standard(self):
        """The standard modules. Tests are checked for macOS alone."""
        return STANDARD + (["Testing"] if self.name == "macos" else [])

    @property
    def is_narrow(self):
        """Whether Int has 32 bits."""
        return self.triple.startswith("arm64_32-")

    @property
    def is_apple(self):
        return "-apple-" in self.triple

    @property
    def headers(self):
        """The options that replace this system's headers with the stubs."""
        found = [] if self.is_apple else ["-sdk", os.path.join(STUBS, "android")]
        if self.is_apple:
            found += ["-Xcc", "-nostdlibinc"]
        return found + ["-Xcc", "-isystem", "-Xcc", os.path.join(STUBS, "include")]

    @property
    def folder(self):
        return os.path.join(CACHE, self.name)


def frontend():
    swiftc = shutil.which(SWIFT + "c")
    if swiftc is None:
        raise Failure(f"{SWIFT}c is missing; install Swift from https://www.swift.org/install")
    return os.path.realpath(swiftc)


def library():
    """Returns the folder with the toolchain's own modules."""
    return os.path.join(os.path.dirname(os.path.dirname(frontend())), "lib", "swift")


def run(arguments):
    """Runs the compiler's frontend, and returns its status and output."""
    with turns:
        done = subprocess.run(
            [SWIFT + "c", "-frontend", *arguments], capture_output=True, text=True)
    return done.returncode, done.stderr + done.stdout


def digest(*parts):
    value = hashlib.sha256()
    for part in parts:
        value.update(part if isinstance(part, bytes) else str(part).encode())
        value.update(b"\0")
    return value.hexdigest()[:24]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def once(folder, name, key, make):
    """Calls `make` unless it has already completed with the same key."""
    mark = os.path.join(folder, name + ".key")
    if os.path.exists(mark) and read(mark).decode() == key:
        return False
    make()
    os.makedirs(folder, exist_ok=True)
    with open(mark, "w", encoding="utf-8") as file:
        file.write(key)
    return True


def compiler_key():
    own = [read(os.path.join(HERE, name)) for name in ("strip.py", "toolchain.py")]
    return digest(os.path.realpath(frontend()), os.stat(frontend()).st_mtime_ns, *own)


def interface(module, platform):
    """Returns the interface of one of this toolchain's modules, adapted to another platform."""
    with open(os.path.join(
        library(), "linux", module + ".swiftmodule", "x86_64-unknown-linux-gnu.swiftinterface"
    ), encoding="utf-8") as file:
        text = file.read()
    head, separator, body = text.partition("\nimport ")
    head = head.replace("-target x86_64-unknown-linux-gnu", f"-target {platform.triple}")
    head = head.replace(" -O ", " -Onone ")
    body = re.sub(r"(?m)^import Glibc$", "", separator + body)
    # Back-deployed bodies are absent, so these declarations keep the version they deploy back to.
    body = re.sub(r"(?m)^( *)@backDeployed\([^)]*\) ?", r"\1", body)
    body = strip(body, CALCULATED)
    text = head + (narrowed(body) if platform.is_narrow else body)
    return text + AUTORELEASING if module == "Swift" and platform.is_apple else text


def narrowed(body):
    """Returns an interface in which Int and UInt have 32 bits."""
    return re.sub(
        r"(?ms)^@frozen public struct U?Int : .*?^}",
        lambda found: re.sub(r"(Builtin\.|_)Int64\b", r"\1Int32", found[0]), body)


def build_standard(platform):
    folder = os.path.join(platform.folder, "std")
    work = os.path.join(platform.folder, "interfaces")
    shutil.rmtree(platform.folder, ignore_errors=True)
    for module in platform.standard:
        os.makedirs(os.path.join(folder, module + ".swiftmodule"))
        os.makedirs(os.path.join(work, module))
        source = os.path.join(work, module, platform.file + ".swiftinterface")
        with open(source, "w", encoding="utf-8") as file:
            file.write(interface(module, platform))
        words = ["-compile-module-from-interface", "-target", platform.triple]
        words += ["-module-name", module, "-disable-objc-interop", "-I", folder, *platform.headers, "-o"]
        words += [os.path.join(folder, module + ".swiftmodule", platform.file + ".swiftmodule")]
        if module in ("Swift", "_Concurrency", "SwiftOnoneSupport"):
            words.append("-parse-stdlib")
        if module != "Swift":
            words.append("-disable-availability-checking")
        status, said = run([*words, source])
        if status:
            raise Failure(f"{module} cannot be rebuilt for {platform.name}:\n{said[:2000]}")


def standard(platform):
    """Builds the standard modules of a platform unless they exist."""
    key = digest(compiler_key(), platform.triple)
    once(platform.folder, "std", key, lambda: build_standard(platform))
    return key
