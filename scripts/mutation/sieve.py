"""Finds the mutants that do not compile, before the copy is built.

A build of the copy reports the errors of one module and ends. The next module is not compiled until
the first one has no errors, and errors of initialization are not reported until all types are
correct. So each file is checked separately here, until it has no errors, against the modules of the
sources, whose interfaces mutants do not change. The results are kept for each file.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess

import plant

# The number of files that one compiler process checks, which reads the rest of their module once.
CHUNK = 12
# The rounds after which an error drops more than the innermost mutant around it: all mutants in its
# lines, then in its declaration, and at last in its file.
PATIENCE = (6, 10, 14)


class Sieve:
    """The mutants of each file that do not compile."""

    def __init__(self, home=plant.HOME, root=plant.ROOT, modules=None):
        self.root = root
        self.targets = modules or plant.MODULES
        self.home = os.path.join(home, "sieve")
        self.modules = os.path.join(self.home, "modules")
        self.copy = os.path.join(self.home, "copy")
        self.path = os.path.join(self.home, "found.json")
        self.tools = plant.digest(plant.TOOLS, ["planter", "switch"])
        self.found = plant.Package.load(self.path, {})
        self.rounds = {}

    def digest(self, file):
        with open(os.path.join(self.root, file), "rb") as content:
            return hashlib.sha256(self.tools.encode() + content.read()).hexdigest()[:16]

    def dropped(self):
        """Returns the keys of all mutants that do not compile."""
        return {key for entry in self.found.values() for key in entry["dropped"]}

    def add(self, file, keys):
        entry = self.found.setdefault(file, {"digest": "", "dropped": []})
        entry["dropped"] = sorted(set(entry["dropped"]) | set(keys))

    def keep(self):
        os.makedirs(self.home, exist_ok=True)
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.found, file, indent=0)
        os.rename(self.path + ".new", self.path)

    def run(self, files, log):
        """Checks files until their planted versions compile. Unchanged files are skipped."""
        digests = {file: self.digest(file) for file in files}
        for gone in [
                file for file in self.found
                if not os.path.exists(os.path.join(self.root, file))]:
            del self.found[gone]
        waiting = [
            file for file in files if self.found.get(file, {}).get("digest") != digests[file]]
        if not waiting:
            return
        self.make_modules(log)
        # Files with a known error are checked separately, since they hide the errors of others.
        failed = set()
        count = 0
        while waiting:
            count += 1
            rows = plant.plant(self.root, self.copy, waiting, self.dropped())
            log(f"check {count}: {len(waiting)} files, "
                f"{len(self.dropped())} mutants do not compile")
            chunks = self.chunks(waiting, failed)
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                outputs = list(pool.map(lambda chunk: self.check(*chunk), chunks))
            failed = set()
            for (_, chunk), output in zip(chunks, outputs):
                if output is None:
                    for file in chunk:
                        self.found.setdefault(file, {"digest": "", "dropped": []})
                        self.found[file]["digest"] = digests[file]
                    waiting = [file for file in waiting if file not in chunk]
                    continue
                failed |= self.blame(rows, chunk, output)
            self.keep()

    def chunks(self, files, failed):
        """Returns pairs of a module and files of it to check together."""
        made = []
        for module in self.targets:
            own = [file for file in files if plant.target_of(file) == module]
            for part in ([file for file in own if file in failed],
                         [file for file in own if file not in failed]):
                size = CHUNK if len(files) > CHUNK else max(1, (len(part) + 1) // 2)
                made += [
                    (module, part[at:at + size]) for at in range(0, len(part), size)]
        return made

    def blame(self, rows, chunk, output):
        """Drops the mutants that caused errors, and returns the files with errors."""
        failed = set()
        errors = {}
        for path, line, column, message in plant.ERROR.findall(output):
            file = os.path.relpath(os.path.realpath(path), os.path.realpath(self.copy))
            errors.setdefault(file, []).append((int(line), int(column), message))
        for file, own in errors.items():
            failed.add(file)
            self.rounds[file] = self.rounds.get(file, 0) + 1
            planted = [row for row in rows if row["isPlanted"] and row["file"] == file]
            keys = set()
            for line, column, message in own:
                found = plant.blame(planted, line, column, message)
                keys |= {row["key"] for row in self.widened(file, planted, found)}
            if not keys and planted:
                keys = {row["key"] for row in plant.burden(planted, own[0][0])}
            if not keys:
                self.keep()
                raise plant.Failure(f"{file} does not compile without mutants:\n{output}")
            self.add(file, keys)
        if not errors:
            # The compiler has crashed, or has reported no location.
            if len(chunk) > 1:
                for file in chunk:
                    alone = self.check(plant.target_of(file), [file])
                    if alone is not None:
                        failed |= self.blame(rows, [file], alone)
            else:
                failed.add(chunk[0])
                self.add(chunk[0], [row["key"] for row in rows if row["file"] == chunk[0]])
        return failed

    def widened(self, file, rows, found):
        """Returns more mutants the more rounds a file has failed."""
        times = self.rounds[file]
        if times <= PATIENCE[0] or not found:
            return found if times <= PATIENCE[2] else rows
        first = min(row["place"][0] for row in found)
        last = max(row["place"][2] for row in found)
        scopes = {row["scope"] for row in found}
        return [
            row for row in rows
            if row["place"][0] <= last and first <= row["place"][2]
            or times > PATIENCE[1] and row["scope"] in scopes or times > PATIENCE[2]]

    # Compiling

    def check(self, module, files):
        """Returns the compiler's output for planted files, or `None` if they compile."""
        chosen = set(files)
        words = []
        for file in plant.sources_of(module, self.root):
            if file in chosen:
                words += ["-primary-file", os.path.join(self.copy, file)]
            else:
                words.append(os.path.join(self.root, file))
        for _ in files:
            words += ["-o", os.devnull]
        made = subprocess.run(
            [plant.SWIFT + "c", "-frontend", "-emit-sil", "-module-name", self.targets[module],
             "-suppress-warnings", *self.flags(), *words],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return None if made.returncode == 0 else made.stdout

    def flags(self):
        with open(os.path.join(self.root, "Package.swift"), encoding="utf-8") as file:
            features = re.findall(r'\.enableUpcomingFeature\("(\w+)"\)', file.read())
        system = os.path.join(plant.ROOT, "Sources/Base/System")
        words = ["-swift-version", "6", "-parse-as-library", "-package-name", "holdfast",
                 "-I", self.modules, "-I", os.path.join(system, "CHoldfastZlib"),
                 "-I", os.path.join(system, "CHoldfastPages"), "-module-cache-path",
                 os.path.join(self.home, "cache")]
        for feature in features:
            if feature == "MemberImportVisibility":
                continue  # the copy does not enable it, either
            words += ["-enable-upcoming-feature", feature]
        return words

    def make_modules(self, log):
        """Compiles the interfaces of all modules and of the switch."""
        log("reading the modules")
        os.makedirs(self.modules, exist_ok=True)
        switch = os.path.join(plant.TOOLS, "switch")
        header = os.path.join(switch, "CMutants", "include", "CMutants.h")
        plant.write(
            os.path.join(self.modules, "module.modulemap"),
            f'module CMutants {{ header "{header}" export * }}\n'.encode())
        self.make_module("Mutants", [os.path.join(switch, "Mutants", "Mutants.swift")])
        for module, target in self.targets.items():
            files = plant.sources_of(module, self.root)
            self.make_module(target, [os.path.join(self.root, file) for file in files])

    def make_module(self, name, files):
        made = subprocess.run(
            [plant.SWIFT + "c", "-frontend", "-emit-module", "-module-name", name,
             "-experimental-skip-non-inlinable-function-bodies", "-suppress-warnings",
             *self.flags(), *files, "-o", os.path.join(self.modules, name + ".swiftmodule")],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if made.returncode != 0:
            raise plant.Failure(f"{name} does not compile:\n{made.stdout[-3000:]}")
