"""The targets of a manifest."""
import json
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Manifest:
    """The targets of a manifest: their folders, and who uses whom."""

    def __init__(self, text):
        """Evaluates a manifest, in a folder of its own: it neither waits for a build nor needs sources."""
        environment = dict(os.environ, HOLDFAST_STRICT="1")
        environment.pop("HOLDFAST_SUITES", None)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "Package.swift"), "w", encoding="utf-8") as file:
                file.write(text)
            dumped = subprocess.run(
                [os.environ.get("SWIFT", "swift"), "package", "--package-path", folder, "dump-package"],
                capture_output=True, text=True, check=False, env=environment)
        if dumped.returncode:
            raise SystemExit(f"check: the manifest has an error:\n{dumped.stderr[:2000]}")
        self.package = json.loads(dumped.stdout)
        self.targets = {target["name"]: target for target in self.package.pop("targets")}
        self.package.pop("packageKind")
        self.suites = {name for name, each in self.targets.items() if each["type"] == "test"}
        # For each target, those that name it as a dependency.
        self.users = {name: set() for name in self.targets}
        for name, target in self.targets.items():
            for dependency in target["dependencies"]:
                for used, *_ in dependency.values():
                    self.users.setdefault(used, set()).add(name)
        # The targets that apps get.
        self.shipped = {name for name in self.targets if self.closure(name) & self.offered()}

    def owner(self, path):
        """Returns the target with the longest folder that contains a path."""
        holders = [name for name, each in self.targets.items() if path.startswith(each["path"] + "/")]
        return max(holders, key=lambda name: len(self.targets[name]["path"]), default=None)

    def closure(self, name):
        """Returns a target and all that use it, directly or through others."""
        found, waiting = set(), [name]
        while waiting:
            target = waiting.pop()
            if target not in found:
                found.add(target)
                waiting += self.users[target]
        return found

    def declared_anew(self, older):
        """Returns the targets that an older manifest lacks or declares in another way; None if the package
        itself differs."""
        if self.package != older.package:
            return None
        return {name for name, target in self.targets.items() if older.targets.get(name) != target}

    def programs(self):
        """Returns the target of each program, by the names of the target and of its product."""
        found = {name: name for name, each in self.targets.items() if each["type"] == "executable"}
        for product in self.package["products"]:
            if "executable" in product["type"]:
                found[product["name"]] = product["targets"][0]
        return found

    def offered(self):
        """Returns the targets of products that are libraries."""
        return {name for product in self.package["products"] if "library" in product["type"]
                for name in product["targets"]}
