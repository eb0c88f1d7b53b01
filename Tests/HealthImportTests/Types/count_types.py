"""Counts the samples of each type in the text of a health export, without any code of the product.

Prints one JSON object per type: its identifier, the number of samples, the number of different
readings (by start, value and unit), the start of the first and the last sample in the given zone,
and the sources. Equal records count once, because the parts of a correlation occur twice.
"""

import datetime
import json
import sys
import xml.etree.ElementTree
from zoneinfo import ZoneInfo

TIME = "%Y-%m-%d %H:%M:%S %z"
CONTENT = ("type", "startDate", "endDate", "sourceName", "value", "unit", "creationDate")
WORKOUT = (
    "workoutActivityType", "startDate", "endDate", "sourceName", "duration", "totalDistance",
    "totalEnergyBurned", "creationDate")


def main(path, zone):
    types, seen = {}, set()
    for _, element in xml.etree.ElementTree.iterparse(path):
        names = {"Record": CONTENT, "Workout": WORKOUT}.get(element.tag)
        if names:
            content = (element.tag,) + tuple(element.get(name) for name in names)
            kind = element.get("type") if element.tag == "Record" else "HKWorkoutTypeIdentifier"
            if content not in seen:
                seen.add(content)
                types.setdefault(kind, []).append(element.attrib.copy())
        if element.tag in ("Record", "Workout", "Correlation", "ActivitySummary"):
            element.clear()
    for kind, records in sorted(types.items()):
        starts = [datetime.datetime.strptime(record["startDate"], TIME) for record in records]
        shown = [start.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%dT%H:%M:%S")
                 for start in (min(starts), max(starts))]
        readings = {(start, record.get("value"), record.get("unit"))
                    for start, record in zip(starts, records)}
        print(json.dumps({
            "type": kind, "count": len(records), "readings": len(readings), "first": shown[0],
            "last": shown[1], "sources": sorted({record["sourceName"] for record in records})}))


main(*sys.argv[1:])
