"""Reads an export of Apple Health as Python does: `expat` or `iterparse`, and FILE.

Ends with a line: megabytes a second, and the most memory it had, in megabytes. `expat` only counts
start tags; `iterparse` looks at each record's type, value and dates and drops it, as most scripts do.
"""

import os
import sys
import time
import xml.etree.ElementTree
import xml.parsers.expat


def expat(path: str) -> int:
    count = 0

    def start(name, attributes):
        nonlocal count
        count += 1

    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = start
    with open(path, "rb") as file:
        parser.ParseFile(file)
    return count


def iterparse(path: str) -> int:
    count = 0
    events = xml.etree.ElementTree.iterparse(path, events=("start", "end"))
    _, root = next(events)
    for event, element in events:
        if event == "end" and element.tag == "Record":
            if element.get("type") and element.get("startDate") and element.get("endDate"):
                count += 1
            root.clear()
    return count


way, path = sys.argv[1:]
start = time.monotonic()
if {"expat": expat, "iterparse": iterparse}[way](path) < 1:
    sys.exit("nothing was read")
seconds = time.monotonic() - start
# Not ru_maxrss: that may be the size of whoever started this.
with open("/proc/self/status", encoding="ascii") as status:
    kilobytes = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
print(os.path.getsize(path) / seconds / 1e6, kilobytes / 1024, flush=True)
