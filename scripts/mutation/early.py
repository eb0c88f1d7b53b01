"""Measures how early invariants find mutants: when a mutant first makes a difference, when an
invariant breaks, and what the other checkers find in the same run."""
import play
import report

# The number of runs played, since a mutant may make a difference in a run without breaking
# anything.
SEEDS = 50


def chosen(rows, results):
    """Returns the mutants that the simulator first found by a broken invariant.

    Mutants of invariants themselves are left out, since a wrong invariant breaks in a correct run.
    """
    for row in rows:
        said = results.played(row["key"]) or {}
        if "brokenInvariant" in (said.get("caught") or "") and not report.INVARIANT.search(
                row["scope"]):
            yield row


def timed(package, reach, row):
    """Returns the times of the first run in which a mutant breaks an invariant, or `None`."""
    for world in reach.worlds:
        seeds = reach.seeds(world, row)[:SEEDS]
        if not seeds:
            continue
        _, lines, _ = play.run(
            [package.runs, "time", world], {"MUTANT": str(row["number"])}, 6 * len(seeds),
            feed="".join(f"{seed}\n" for seed in seeds).encode())
        found = parsed(line.decode(errors="replace") for line in lines)
        if found:
            return {"world": world, **found}
    return None


def parsed(lines):
    """Returns the parsed output of `mutant-runs time`, or `None` if no invariant broke."""
    said = {}
    for line in lines:
        name, _, rest = line.partition(" ")
        said[name] = rest
    if "broken" not in said:
        return None
    broken, name = said["broken"].split(" ", 1)
    other, finding = said["other"].split(" ", 1) if "other" in said else (None, None)
    return {
        "seed": int(said["seed"]), "server": said["server"], "cause": float(said["cause"]),
        "broken": float(broken), "invariant": name,
        "other": float(other) if other else None, "finding": finding}


def lines(row, found):
    """Returns a text that describes how early an invariant found a mutant."""
    yield from report.describe(row)
    yield (
        f"    {found['world']}, seed {found['seed']}, {found['server']}: makes a difference at "
        f"{seconds(found['cause'])}")
    yield (
        f"    {after(found['broken'] - found['cause'])} the invariant breaks: "
        f"{found['invariant']}")
    if found["other"] is None:
        yield "    no other checker finds anything in this run"
    else:
        yield f"    {after(found['other'] - found['cause'])} another checker: {found['finding']}"


def seconds(milliseconds):
    return f"{milliseconds / 1000:,.3f} s"


def after(milliseconds):
    return "in the same step" if milliseconds == 0 else f"{seconds(milliseconds)} later"
