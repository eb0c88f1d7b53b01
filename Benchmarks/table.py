"""Makes the README's table of a file that scripts/bench wrote: table.py FILE."""

import datetime
import json
import statistics
import sys


def figure(value: float) -> str:
    """Three digits that count; thousands apart."""
    if value == 0 or abs(value) >= 1000:
        digits = max(0, len(str(int(abs(value)))) - 3)
        return f"{round(value / 10**digits) * 10**digits:,}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def cell(contender: dict, unit: str = "") -> str:
    if "obstacle" in contender:
        return f"{contender['name']}: cannot run here: {contender['obstacle']}"
    text = figure(statistics.median(contender["values"])) + (f" {unit}" if unit else "")
    if not unit:
        text = f"{contender['name']}: {text}"
    for name, values in contender.get("beside", {}).items():
        text += f", {name} {figure(statistics.median(values))}"
    return f"{text}; {contender['remark']}" if "remark" in contender else text


def ratio(benchmark: dict, ours: dict, peer: dict) -> tuple[str, str]:
    """The ratio with its least and most, and what became of the aim."""
    if "obstacle" in peer or "obstacle" in ours:
        return "", ""
    ratios = [a / b for a, b in zip(ours["values"], peer["values"]) if b]
    if not ratios:
        return "", ""
    middle = statistics.median(ratios)
    text = f"{figure(middle)} ({figure(min(ratios))}-{figure(max(ratios))})"
    if "aim" not in peer:
        return text, ""
    more = benchmark["better"] == "more"
    reached = middle >= peer["aim"] if more else middle <= peer["aim"]
    return text, f"{'≥' if more else '≤'} {figure(peer['aim'])} {'✓' if reached else '✗'}"


def main(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        machine, *lines = [json.loads(line) for line in file if line.strip()]
    benchmarks = [line for line in lines if "benchmark" in line]
    load = [machine["load"]] + [line["load"] for line in lines if "load" in line]
    day = datetime.datetime.fromisoformat(machine["date"].replace("Z", "+00:00"))
    shape = ", ".join(
        part for part in [
            f"{machine['cores']} cores" + (f" of {machine['processor']}" if machine.get("processor") else ""),
            f"{machine['memory']} of memory" if machine.get("memory") else "", machine["system"]] if part)
    print(f"{day.day} {day:%B %Y}, commit {machine['commit']}; {shape}; load {' to '.join(load)}.\n")
    print("| | ours | beside | ratio (least-most) | aim |\n|---|---|---|---|---|")
    for benchmark in benchmarks:
        ours, *peers = benchmark["contenders"]
        start = f"| **{benchmark['benchmark']}** {benchmark['question']} | {cell(ours, benchmark['unit'])} |"
        for peer in peers:
            text, aim = ratio(benchmark, ours, peer)
            print(f"{start} {cell(peer)} | {text} | {aim} |")
            start = "| | |"
        if not peers:
            print(f"{start} | | |")


main(sys.argv[1])
