"""Reads an export of Apple Health with a parser of Python: import.py expat|iterparse FILE

Prints the speed in megabytes per second and the peak memory in megabytes. `expat` only counts start tags.
`iterparse` reads the type and the dates of each record and then discards the record, as most scripts do.
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
# ru_maxrss is not used, since it may be the size of the parent process.
with open("/proc/self/status", encoding="ascii") as status:
    kilobytes = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
print(os.path.getsize(path) / seconds / 1e6, kilobytes / 1024, flush=True)
