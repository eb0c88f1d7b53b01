"""Runs the simulator and the suites, with one mutant or while watching all."""
import hashlib
import os
import re
import resource
import selectors
import signal
import subprocess
import threading
import time

import plant

SEEDS = 3000
# The number of seeds that one process watches, so that an interrupted run loses little.
CHUNK = 10
# Seeds are played in growing ranges, since the first range catches most mutants.
STAGES = (10, 100, 1000)
# The number of runs of a world that a mutant could change. If it changes none, no more are played.
ENOUGH = 5
# Groups of tests that take more processor time than this, in seconds, run after all others.
SLOW = 2
MEMORY = 8 << 30
FAILED_TEST = re.compile(rb"\xe2\x9c\x98[^\n]*?Test (.*?) (?:recorded|failed)")


class Stopped(Exception):
    """Raised when the user has ended the program."""


class Children:
    """The running child processes, so that all of them end with this process."""

    lock = threading.Lock()
    running = set()
    stopped = threading.Event()

    @classmethod
    def stop(cls):
        cls.stopped.set()
        with cls.lock:
            for child in cls.running:
                try:
                    os.killpg(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


def run(words, environment, seconds, feed=b"", watch=lambda line: False, wall=None):
    """Runs a program with limited processor time, and returns how it ended, its lines, and the
    processor time it took, in seconds.

    It ends "ok", "failed", "watched" if `watch` returned true, "hung" or "crashed".
    """
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(5)

    if Children.stopped.is_set():
        raise Stopped
    child = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True, preexec_fn=limit, cwd=plant.HOME,
        env=dict(os.environ, SWIFT_BACKTRACE="enable=no", SWIFT_DETERMINISTIC_HASHING="1",
                 NO_COLOR="1", **environment))
    with Children.lock:
        Children.running.add(child)
    feeder = threading.Thread(target=give, args=(child, feed), daemon=True)
    feeder.start()
    lines, end = [], time.monotonic() + (wall or 4 * seconds + 60)
    is_over, rest = None, b""
    selector = selectors.DefaultSelector()
    selector.register(child.stdout, selectors.EVENT_READ)
    while is_over is None:
        if not selector.select(max(0, end - time.monotonic())):
            is_over = "hung"
            break
        data = os.read(child.stdout.fileno(), 65536)
        if not data:
            break
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            lines.append(line)
            if watch(line):
                is_over = "watched"
                break
    if is_over:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    _, status, usage = os.wait4(child.pid, 0)
    code = child.returncode = os.waitstatus_to_exitcode(status)
    spent = usage.ru_utime + usage.ru_stime
    child.stdout.close()
    with Children.lock:
        Children.running.discard(child)
    if Children.stopped.is_set():
        raise Stopped
    if is_over:
        return is_over, lines, spent
    if code in (-signal.SIGXCPU, -signal.SIGPROF, -signal.SIGKILL):
        return "hung", lines, spent
    return ("ok" if code == 0 else "failed" if code > 0 else "crashed"), lines, spent


def give(child, feed):
    try:
        child.stdin.write(feed)
        child.stdin.close()
    except OSError:
        pass


def group_of(test):
    """Returns the group of a test that `--list-tests` names: its outermost type, or the test."""
    return re.match(r"(?:`[^`]*`|[^/`])+", test)[0]


def groups_of(listing, suites):
    """Returns the groups of tests in the given suites, which are modules."""
    found = dict.fromkeys(group_of(line) for line in listing.splitlines())
    return [group for group in found if group.split(".")[0] in suites]


def test_command(groups):
    """Returns the arguments that run groups of tests."""
    names = "|".join(re.escape(group) for group in groups)
    return ["--testing-library", "swift-testing", "--filter", f"^({names})(/|$)"]


class Reach:
    """The runs in which each mutant would make a difference, measured once for each build."""

    def __init__(self, package, build, seeds):
        self.package, self.last = package, seeds
        self.count = package.rows[-1]["number"] + 1
        self.folder = os.path.join(plant.HOME, "reach", build)
        # The mutants that a suite reaches change with its tests.
        self.versions = {suite: package.suite(suite) for suite in package.suites}
        self.worlds = []
        self.maps = {}
        self.groups = {}
        self.seconds = {}

    def jobs(self):
        """Returns the measurements still to be made: names, each with its function."""
        os.makedirs(self.folder, exist_ok=True)
        if self.package.plays:
            told = subprocess.run(
                [self.package.runs, "list"], check=False, capture_output=True, text=True).stdout
            self.worlds = self.package.worlds(told.split()[1:])
        jobs = []
        listing = subprocess.run(
            [self.package.tests, "--testing-library", "swift-testing", "--list-tests"],
            check=True, capture_output=True, text=True).stdout
        self.groups = dict.fromkeys(groups_of(listing, self.package.suites))
        for group in self.groups:
            if not os.path.exists(self.path(group, "seconds")):
                jobs.append((group, lambda group=group: self.watch_group(group)))
        for world in self.worlds:
            for first in range(1, self.last + 1, CHUNK):
                if not os.path.exists(self.path(f"{world}-{first}", "seen")):
                    jobs.append((
                        f"{world} from seed {first}",
                        lambda world=world, first=first: self.watch_world(world, first)))
        return jobs

    def path(self, name, ending):
        """Returns the path of a file of a world, or of a group of tests."""
        version = self.versions.get(name.split(".")[0])
        if version:
            name = hashlib.sha256(f"{version} {name}".encode()).hexdigest()[:16]
        return os.path.join(self.folder, f"{name}.{ending}")

    def watch_world(self, world, first):
        name = f"{world}-{first}"
        how, lines, _ = run(
            [self.package.runs, "reach", world, str(first), str(first + CHUNK - 1),
             str(self.count), self.path(name, "seen"), self.path(name, "digests")], {}, 3600)
        if how != "ok":
            raise plant.Failure(f"{name} {how} without a mutant: {tail(lines)}")

    def watch_group(self, group):
        seen = self.path(group, "seen")
        if os.path.exists(seen):
            os.unlink(seen)
        how, lines, seconds = run(
            [self.package.tests, *test_command([group])], {"MUTANTS_SEEN": seen}, 1800)
        if how != "ok":
            raise plant.Failure(
                f"{group} {how} without a mutant: "
                + tail([line for line in lines if b"\xe2\x9c\x98" in line] or lines))
        with open(self.path(group, "seconds"), "w", encoding="utf-8") as file:
            file.write(f"{seconds:.2f}")

    def load(self):
        width = (self.count + 7) // 8
        for world in self.worlds:
            self.maps[world] = [None] * self.last
            self.maps[world + " once"] = bytearray(width)
            digests = b""
            for first in range(1, self.last + 1, CHUNK):
                with open(self.path(f"{world}-{first}", "seen"), "rb") as file:
                    data = file.read()
                once = self.maps[world + " once"]
                for index in range(width):
                    once[index] |= data[index]
                for seed in range(CHUNK):
                    begin = width * (seed + 1)
                    self.maps[world][first - 1 + seed] = data[begin:begin + width]
                with open(self.path(f"{world}-{first}", "digests"), "rb") as file:
                    digests += file.read()
            with open(self.path(world, "digests"), "wb") as file:
                file.write(digests)
        for group in self.groups:
            with open(self.path(group, "seen"), "rb") as file:
                self.groups[group] = file.read()
            with open(self.path(group, "seconds"), encoding="utf-8") as file:
                self.seconds[group] = float(file.read())

    def seeds(self, world, row):
        """Returns the seeds of a world for which a mutant would make a difference."""
        index, bit = row["number"] // 8, 1 << row["number"] % 8
        maps = self.maps[world]
        if self.maps[world + " once"][index] & bit:
            return list(range(1, self.last + 1))
        seeds = [seed for seed, seen in enumerate(maps, 1) if seen[index] & bit]
        return list(range(1, self.last + 1)) if seeds and row["isOnce"] else seeds

    def tests_of(self, row):
        """Returns the groups for which a mutant would make a difference, in batches for one process
        each. A batch is of one suite. The suite of the mutant's module is first, then the cheapest,
        and the slow groups of all suites are last."""
        own = plant.MODULES[plant.target_of(row["file"])].removeprefix("Holdfast") + "Tests"
        batches = {}
        for group, seen in self.groups.items():
            if seen[row["number"]]:
                key = (self.seconds[group] > SLOW, group.split(".")[0])
                batches.setdefault(key, []).append(group)
        return sorted(batches.values(), key=lambda batch: (
            max(self.seconds[group] for group in batch) > SLOW,
            not batch[0].startswith(own + "."),
            sum(self.seconds[group] for group in batch)))


def tail(lines):
    return b"\n".join(lines[-5:]).decode(errors="replace")


class Trial:
    """The trial of one mutant."""

    def __init__(self, package, reach, row):
        self.package, self.reach, self.row = package, reach, row
        self.environment = {"MUTANT": str(row["number"])}

    def simulate(self, before):
        """Returns the simulator's result: what caught the mutant, and how many runs differed.

        `before` is the result of fewer seeds, if they were played.
        """
        seeds = {world: self.reach.seeds(world, self.row) for world in self.reach.worlds}
        result = {
            "reached": sum(len(found) for found in seeds.values()), "caught": None,
            "differs": before and before["differs"] or 0, "seeds": self.reach.last}
        first = before["seeds"] + 1 if before else 1
        played, differing = dict.fromkeys(seeds, 0), set()
        for last in [*(stage for stage in STAGES if stage < self.reach.last), self.reach.last]:
            for world in self.reach.worlds:
                part = [seed for seed in seeds[world] if first <= seed <= last]
                if not part or played[world] >= ENOUGH and world not in differing:
                    continue
                known = result["differs"]
                if self.play(world, part, result):
                    return result
                played[world] += len(part)
                if result["differs"] > known:
                    differing.add(world)
            first = max(first, last + 1)
        return result

    def play(self, world, seeds, result):
        how, lines, _ = run(
            [self.package.runs, "play", world, self.reach.path(world, "digests")],
            self.environment, 6 * len(seeds),
            feed="".join(f"{seed}\n" for seed in seeds).encode())
        said = [line.decode(errors="replace") for line in lines]
        for line in said:
            if line.startswith("differs "):
                result["differs"] += int(line.split()[1])
        if how == "ok":
            return False
        seed = next((line for line in reversed(said) if line.startswith("seed ")), "no seed")
        found = [line[6:] for line in said if line.startswith("found ")]
        result["caught"] = f"{world} {seed}: {found[0] if found else how}"[:300]
        result["differs"] = max(1, result["differs"])
        return True

    def test(self):
        """Returns the result of the tests, of which the quick ones run first."""
        batches = self.reach.tests_of(self.row)
        suites = sorted({batch[0].split(".")[0] for batch in batches})
        result = {"reached": suites, "caught": None}
        for batch in batches:
            suite = batch[0].split(".")[0]
            limit = 10 + 5 * sum(self.reach.seconds[group] for group in batch)
            how, lines, _ = run(
                [self.package.tests, *test_command(batch)], self.environment, limit,
                watch=lambda line: b"\xe2\x9c\x98" in line, wall=2 * limit)
            if how == "ok":
                continue
            failed = FAILED_TEST.search(lines[-1]) if how == "watched" and lines else None
            result["caught"] = (
                f"{suite}: {failed[1].decode(errors='replace') if failed else how}"[:300])
            result["suite"] = suite
            return result
        return result
