"""The command line of `scripts/mutants`."""
import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import signal
import sys
import time

import early
import plant
import play
import report
import selftest
import sieve

SAMPLE = 200
HELP = """Plants mutants in the pure modules, and counts those that the simulator or tests catch.

All mutants are in one build of a copy of the package (.build/mutants), each behind a switch. The
sources are not changed. For each mutant, the tool first finds the runs in which it would make a
difference. Then it makes these runs with the mutant: up to 3,000 seeds of each world of the
simulator, then the suites of the pure modules. A mutant that compiles and that nothing catches is
printed with its location. Results are kept: the next run continues one that was interrupted, and
after a change of tests only the survivors run again."""


def parser():
    made = argparse.ArgumentParser(
        prog="scripts/mutants", description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument(
        "--sample", type=count, default=SAMPLE, metavar="N", help=f"try N mutants ({SAMPLE})")
    made.add_argument(
        "--each", type=count, metavar="N",
        help="try N mutants of each module, in place of a sample of them all")
    made.add_argument(
        "--suites", action="store_true", help="run only the suites, without the simulator")
    made.add_argument(
        "--all", action="store_true",
        help="try every mutant, which takes many hours; the next run continues")
    made.add_argument("--seed", type=int, default=1, metavar="N", help="chooses the sample (1)")
    made.add_argument(
        "--seeds", type=seeds, metavar="N",
        help=f"play seeds 1 to N of each world, by the {play.CHUNK} ({play.SEEDS}); with --report, "
        "count what was played with as many (as few as anything was)")
    made.add_argument(
        "--modules", type=modules, metavar="LIST",
        help="only mutants of these modules, folders or files, separated by commas: "
        "Session,Session/Server; there are " + ", ".join(plant.MODULES))
    made.add_argument(
        "--jobs", type=count, default=os.cpu_count(), metavar="N",
        help="processes at the same time (one for each processor)")
    made.add_argument(
        "--minutes", type=float, metavar="N", help="end after N minutes; the next run continues")
    made.add_argument("--json", action="store_true", help="print the report as JSON")
    made.add_argument(
        "--report", action="store_true",
        help="print the report of what was tried; what nothing caught before the tests changed "
        "counts as not caught")
    made.add_argument("--show", type=int, metavar="N", help="print a description of mutant N")
    made.add_argument("--run", type=int, metavar="N", help="try only mutant N, again")
    made.add_argument(
        "--early", type=count, metavar="N",
        help="show N mutants of this build that an invariant found: how long after their first "
        "difference it broke, and what another checker found in the same run")
    made.add_argument("--self-test", action="store_true", help="check this tool, in seconds")
    return made


def count(text):
    """Returns a number that must be at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def seeds(text):
    """Returns a number of seeds, which must be a multiple of a chunk."""
    number = int(text)
    if number <= 0 or number % play.CHUNK:
        raise argparse.ArgumentTypeError(f"must be a multiple of {play.CHUNK}")
    return number


def modules(text):
    """Returns folders below Sources. The name of a feature means the folder with its rules."""
    found = []
    for name in text.split(","):
        name = name.rstrip("/")
        paths = [path for path in (name, "Base/" + name, name + "/Phone") if any(
            path == module or path.startswith(module + "/") for module in plant.MODULES)]
        if not paths or not os.path.exists(os.path.join(plant.ROOT, plant.folder(paths[0]))):
            raise argparse.ArgumentTypeError(
                f"'{name}' is no module with mutants, and no folder or file of one; there are "
                + ", ".join(plant.MODULES))
        found.append(paths[0])
    return found


def is_wanted(row, options):
    return not options.modules or any(
        plant.is_below(row["file"], path) for path in options.modules)


def sample(rows, options):
    """Returns the mutants to try: those with the lowest hashes of seed and key.

    They are always tried in this order, so that an interrupted run is also a sample.
    """
    rows = [row for row in rows if row["isPlanted"] and is_wanted(row, options)]
    rows.sort(key=lambda row: hashlib.sha256(f"{options.seed} {row['key']}".encode()).digest())
    if options.each:
        chosen = {}
        for row in rows:
            chosen.setdefault(plant.target_of(row["file"]), []).append(row)
        return [row for part in chosen.values() for row in part[:options.each]]
    return rows if options.all else rows[:max(0, options.sample)]


class Progress:
    """Progress as one line on a terminal, or as a line a minute elsewhere."""

    def __init__(self, total, what):
        self.total, self.what, self.done = total, what, 0
        self.begin = self.told = time.monotonic()
        self.is_terminal = sys.stderr.isatty()

    def add(self, note=""):
        self.done += 1
        now = time.monotonic()
        left = (now - self.begin) / self.done * (self.total - self.done) / 60
        text = f"{self.done} of {self.total} {self.what}, about {left:.0f} min left{note}"
        if self.is_terminal:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        elif now - self.told >= 60 or self.done == self.total:
            self.told = now
            plant.say(text)

    def end(self):
        if self.is_terminal and self.done:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Late(Exception):
    """Raised when the time of --minutes is over."""


def work(jobs, count, what, end):
    """Runs jobs on several threads, and ends all of them at the first failure."""
    if not jobs:
        return
    progress = Progress(len(jobs), what)
    pool = concurrent.futures.ThreadPoolExecutor(max(1, count))
    # A wait examines each future, so only those of the next jobs exist.
    rest = iter(jobs)
    waiting = {pool.submit(job) for job in itertools.islice(rest, 2 * max(1, count))}
    try:
        while waiting:
            done, waiting = concurrent.futures.wait(
                waiting, timeout=1, return_when=concurrent.futures.FIRST_COMPLETED)
            for one in done:
                one.result()
                progress.add()
            waiting |= {pool.submit(job) for job in itertools.islice(rest, len(done))}
            if end and time.monotonic() > end and waiting:
                raise Late
    finally:
        for one in waiting:
            one.cancel()
        if waiting:
            play.Children.stop()
        pool.shutdown(wait=True)
        progress.end()


def attempt(package, reach, results, row, is_anew=False):
    """Tries a mutant with the parts that have no result yet."""
    trial = play.Trial(package, reach, row)
    before = None if is_anew else results.played(row["key"])
    simulator = None if is_anew else results.simulated(row["key"])
    tests = None if is_anew else results.tested(row["key"])
    if simulator is None:
        simulator = trial.simulate(before)
    if tests is None:
        # A mutant that the simulator catches is not tested: the suites take most of the time.
        tests = {"reached": [], "caught": None} if simulator["caught"] else trial.test()
    results.add(row, simulator, tests)
    return simulator, tests


def main():
    options = parser().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = perform(options)
        sys.stdout.flush()
        return status
    except plant.Failure as failure:
        plant.say(f"mutants: {failure}")
        return 1
    except Late:
        plant.say("mutants: the time is over; the next run continues")
        return 75
    except BrokenPipeError:
        # Nothing reads the rest. Without this, Python would print another error when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, play.Stopped):
        play.Children.stop()
        plant.say("mutants: ended by the user; the next run continues")
        return 130


def perform(options):
    if options.self_test:
        return selftest.run()
    end = time.monotonic() + options.minutes * 60 if options.minutes else None
    package, found = plant.Package(options.modules, not options.suites), sieve.Sieve()
    options.seeds = options.seeds or play.SEEDS
    if options.show is not None or options.report:
        rows = package.load_rows() or plant.plant(
            plant.ROOT, os.path.join(plant.HOME, "shown"), package.planted_files(),
            found.dropped())
    else:
        package.build(found, plant.say)
        rows = package.rows
    if options.show is not None:
        print("\n".join(report.describe(find(rows, options.show))))
        return 0
    build = package.world()
    versions = {suite: package.suite(suite) for suite in package.suites}
    results = report.Results(build, versions, options.seeds)
    chosen = sample(rows, options)
    if not options.report:
        reach = play.Reach(package, build, options.seeds)
        work([job for _, job in reach.jobs()], options.jobs, "parts of what mutants reach", end)
        reach.load()
        if options.early is not None:
            return tell_early(package, reach, results, chosen, options.early)
        if options.run is not None:
            return run_one(package, reach, results, find(rows, options.run))
        jobs = [
            lambda row=row: attempt(package, reach, results, row) for row in chosen
            if results.simulated(row["key"]) is None or results.tested(row["key"]) is None]
        work(jobs, options.jobs, "mutants", end)
    tell(options, [row for row in rows if is_wanted(row, options)], results)
    return 0


def find(rows, number):
    for row in rows:
        if row["number"] == number:
            return row
    raise plant.Failure(f"there is no mutant {number}; there are 1 to {len(rows)}")


def run_one(package, reach, results, row):
    if not row["isPlanted"]:
        raise plant.Failure(f"mutant {row['number']} does not compile")
    simulator, tests = attempt(package, reach, results, row, is_anew=True)
    print("\n".join(report.describe(row)))
    print(f"    simulator: {simulator['caught'] or 'not caught'}")
    print(f"    tests: {tests['caught'] or 'not caught'}")
    if not simulator["caught"] and not tests["caught"]:
        print(f"    {report.standing(simulator, tests)}")
    return 0


def tell_early(package, reach, results, rows, count):
    told = 0
    for row in early.chosen(rows, results):
        found = early.timed(package, reach, row)
        if found and told < count:
            print("\n".join([*early.lines(row, found), ""]), flush=True)
            told += 1
        if told >= count:
            break
    if not told:
        plant.say("mutants: no mutant of this build was found by an invariant so far")
    return 0


def tell(options, rows, results):
    sums, survivors = report.add_up(rows, results)
    if options.json:
        print(json.dumps(report.data(sums, survivors), indent=1))
    else:
        print("\n".join(report.lines(sums, survivors)))
