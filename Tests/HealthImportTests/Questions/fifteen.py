"""Asks fifteen questions and some further ones, and checks the answers with numbers of its own.

    fifteen.py calls SET                   prints the tool call of each question as a JSON object
    fifteen.py check SET EXPORT ANSWERS    compares the answers with numbers from the export

SET is `generated` or `real`. EXPORT is an Apple Health export. ANSWERS is a JSON object with the
answer to each question. The numbers are computed with plain Python from the text of the export, by
the rules in docs/decisions/0015-health-answers.md. One line is printed for each number that
differs, and then a line with the number of comparisons.
"""

import json
import sys

import checks
from export import read
from questions import SETS, calls, further
from report import Check
from rules import Numbers


def main():
    plan = SETS[sys.argv[2]]
    if sys.argv[1] == "calls":
        written = {
            name: [{"question": question, "tool": tool, "arguments": json.dumps(arguments)}
                   for question, (tool, arguments) in found.items()]
            for name, found in (("calls", calls(plan)), ("further", further(plan)))}
        print(json.dumps({"zone": plan["zone"], "now": plan["now"], **written}))
        return 0
    numbers = Numbers(read(sys.argv[3]), plan)
    with open(sys.argv[4], encoding="utf-8") as file:
        answers = json.load(file)
    check = Check()
    for one in checks.ALL:
        one(check, numbers, plan, answers)
    print(f"{check.compared} numbers compared, {check.failed} differ")
    return 0 if check.failed == 0 and check.compared > 50 else 1


if __name__ == "__main__":
    sys.exit(main())
