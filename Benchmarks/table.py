"""Creates the table of figures from a file written by scripts/bench: table.py [PAGE] FILE.

If a page is given, the table replaces the text between the page's two marks.
"""

import datetime
import json
import pathlib
import re
import statistics
import subprocess
import sys

MARKS = "<!-- figures -->", "<!-- /figures -->"


def figure(value: float) -> str:
    """Formats a number with three significant digits and thousands separators."""
    if 0 < value < 0.0005:
        return "<0.001"
    if value == 0 or abs(value) >= 1000:
        digits = max(0, len(str(int(abs(value)))) - 3)
        return f"{round(value / 10**digits) * 10**digits:,}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.9995 else f"{value:.3f}"


def cell(contender: dict, label: str, counts: list[str]) -> str:
    """Returns the label with the median in place of its %, and the counts. An obstacle has no unit."""
    if "obstacle" in contender:
        return label.partition("%")[0] + f"cannot run here: {contender['obstacle']}"
    values = contender.get("beside", {})
    more = [f", {name} {figure(statistics.median(values[name]))}" for name in counts if name in values]
    text = label.replace("%", figure(statistics.median(contender["values"])), 1) + "".join(more)
    return f"{text}; {contender['remark']}" if "remark" in contender else text


def ratio(benchmark: dict, ours: dict, peer: dict) -> tuple[str, str]:
    """Returns the ratio with its minimum and maximum, and whether the aim was met."""
    if "obstacle" in peer or "obstacle" in ours:
        return "-", ""
    ratios = [a / b for a, b in zip(ours["values"], peer["values"]) if b]
    if not ratios:
        return "-", ""
    middle = statistics.median(ratios)
    text = f"{figure(middle)} ({figure(min(ratios))}-{figure(max(ratios))})"
    if "aim" not in peer:
        return text, ""
    more = benchmark["better"] == "more"
    reached = middle >= peer["aim"] if more else middle <= peer["aim"]
    return text, f"{'≥' if more else '≤'} {figure(peer['aim'])} {'✓' if reached else '✗'}"


def brief(name: str) -> str:
    """Returns the part of a name before the first comma or colon, which identifies the contender."""
    return re.split("[,:] ", name)[0]


def row(benchmark: dict) -> str:
    """Returns the table row of a benchmark, which has one line for each peer."""
    ours, *peers = benchmark["contenders"]
    counts = list(dict.fromkeys(
        name for contender in [ours] + peers for name in contender.get("beside", {})))
    beside = [cell(peer, brief(peer["name"]) + ": %", counts) for peer in peers]
    ratios = [ratio(benchmark, ours, peer) for peer in peers]
    columns = [
        benchmark["benchmark"], str(len(ours["values"])), cell(ours, f"% {benchmark['unit'].replace('%', 'percent')}", counts), "<br>".join(beside),
        "<br>".join(text for text, _ in ratios), "<br>".join(aim for _, aim in ratios) if any(aim for _, aim in ratios) else ""]
    return "| " + " | ".join(columns) + " |"


def table(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        machine, *lines = [json.loads(line) for line in file if line.strip()]
    load = [machine["load"]] + [line["load"] for line in lines if "load" in line]
    day = datetime.datetime.fromisoformat(machine["date"].replace("Z", "+00:00"))
    kind = {True: "full run, ", False: "quick run, "}.get(machine.get("full"), "")
    shape = ", ".join(
        part for part in [
            f"{machine['cores']} cores" + (f" of {machine['processor']}" if machine.get("processor") else ""),
            f"{machine['memory']} of memory" if machine.get("memory") else "", machine["system"]] if part)
    return "\n".join([
        f"{day.day} {day:%B %Y}, {kind}commit {machine['commit']}; {shape}; load {' to '.join(load)}; n is "
        "the number of rounds.", "",
        "| | n | ours | beside | ratio (least-most) | aim |", "|---|---|---|---|---|---|",
        *(row(line) for line in lines if "benchmark" in line)])


def warn_of_strangers(path: str) -> None:
    """Warns if the commit of the figures is not an ancestor of the current commit."""
    with open(path, encoding="utf-8") as file:
        commit = json.loads(file.readline())["commit"]
    known = subprocess.run(
        ["git", "merge-base", "--is-ancestor", commit, "HEAD"], capture_output=True)
    if known.returncode:
        print(f"table.py: {path} is of {commit}, which HEAD does not come from", file=sys.stderr)


def main(path: str, target: str) -> None:
    text = table(path)
    if not target:
        print(text)
        return
    warn_of_strangers(path)
    page = pathlib.Path(target)
    before, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    _, mark, after = rest.partition(MARKS[1])
    if not mark:
        sys.exit(f"{target} has no {MARKS[0]} followed by {MARKS[1]}")
    page.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}", encoding="utf-8")


main(sys.argv[-1], sys.argv[1] if len(sys.argv) > 2 else "")
