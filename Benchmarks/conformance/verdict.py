"""Reads the report of a run of the Autobahn suite, prints its counts, and exits with 1 if a case failed."""

import collections
import json
import pathlib
import sys

ACCEPTED = {"OK", "INFORMATIONAL"}


def main(report: str, name: str) -> int:
    cases = next(iter(json.loads(pathlib.Path(report, "index.json").read_text()).values()))
    counts = collections.Counter(case["behavior"] for case in cases.values())
    failed = {
        number: (case["behavior"], case["behaviorClose"])
        for number, case in cases.items()
        if not {case["behavior"], case["behaviorClose"]} <= ACCEPTED
    }
    told = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
    print(f"{name:<24} {len(cases)} cases: {told}")
    for number, (behaviour, closing) in sorted(failed.items()):
        print(f"  case {number}: {behaviour}, close {closing}")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
