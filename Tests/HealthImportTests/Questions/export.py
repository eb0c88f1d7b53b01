"""The samples of an Apple Health export, read from its text."""

import math
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from datetime import datetime


def moment(text):
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S %z").timestamp()


def number(text):
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


LENGTHS = {"m": 1, "km": 1000, "cm": 0.01, "mi": 1609.344, "ft": 0.3048, "yd": 0.9144}
ENERGIES = {"kcal": 1, "Cal": 1, "cal": 0.001, "kJ": 1 / 4.184, "J": 1 / 4184}
UNITS = {
    "StepCount": {"count": 1}, "FlightsClimbed": {"count": 1},
    "HeartRate": {"count/min": 1, "count/s": 60}, "RestingHeartRate": {"count/min": 1},
    "HeartRateVariabilitySDNN": {"ms": 1, "s": 1000},
    "BodyMass": {"kg": 1, "g": 0.001, "lb": 0.45359237, "st": 6.35029318},
    "DistanceWalkingRunning": LENGTHS, "ActiveEnergyBurned": ENERGIES,
    "BasalEnergyBurned": ENERGIES, "DietaryEnergyConsumed": ENERGIES,
    "DietaryProtein": {"g": 1, "mg": 0.001}, "DietaryCarbohydrates": {"g": 1, "mg": 0.001},
    "DietaryFatTotal": {"g": 1, "mg": 0.001},
}


def factor(kind, unit):
    if kind == "BloodGlucose":
        return 18.01558800000541 if unit.startswith("mmol") else {"mg/dL": 1, "g/L": 100}[unit]
    return UNITS[kind][unit] if kind in UNITS else 1


def rank(source, device):
    """Entries by hand count first, then watches, phones, other devices, apps; equals by name."""

    def words(text):
        return "".join(c.lower() if c.isalpha() else " " for c in text).split()

    if source == "Health" and not device:
        return -1, source
    found = set(words(source) + words(device))
    if "watch" in found:
        return 0, source
    if found & {"iphone", "phone", "ipad", "ipod"}:
        return 1, source
    return (2 if words(device) else 3), source


class Sample:
    def __init__(self, element):
        get = element.attrib.get
        self.source, self.device = get("sourceName", ""), get("device") or ""
        self.start, self.end = moment(get("startDate")), moment(get("endDate"))
        self.rank = rank(self.source, self.device)


def read(path):
    """Returns the samples of each type, each once, in the order of their starts."""
    samples, seen = defaultdict(list), set()
    depth = 0
    for event, element in ElementTree.iterparse(path, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if event == "start" or depth != 1:
            continue
        if element.tag == "Record":
            take_record(element, samples, seen)
        elif element.tag == "Workout":
            samples["Workout"].append(workout(element))
        element.clear()
    for kind in samples.values():
        kind.sort(key=lambda sample: sample.start)
    return samples


def take_record(element, samples, seen):
    get = element.attrib.get
    kind = get("type").replace("HKQuantityTypeIdentifier", "")
    kind = kind.replace("HKCategoryTypeIdentifier", "")
    # The identity of a sample is told in docs/decisions/0018-exports-by-content.md.
    names = ("type", "sourceName", "unit", "value", "startDate", "endDate", "creationDate")
    key = tuple(get(name) for name in names)
    if key in seen:
        return
    seen.add(key)
    sample = Sample(element)
    if get("type").startswith("HKCategory"):
        sample.value = get("value", "")
    else:
        sample.value = number(get("value"))
        if sample.value is None:
            return
        sample.value *= factor(kind, get("unit"))
    samples[kind].append(sample)


OWN = {
    "Walking": "WalkingRunning", "Running": "WalkingRunning", "Hiking": "WalkingRunning",
    "Cycling": "Cycling", "Swimming": "Swimming"}


def workout(element):
    """Reads a workout: its kind, and its numbers as far as they were recorded."""
    sample = Sample(element)
    get = element.attrib.get
    name = get("workoutActivityType").replace("HKWorkoutActivityType", "")
    sample.kind = "BIKING" if name == "Cycling" else "".join(
        "_" + c if c.isupper() and i else c for i, c in enumerate(name)).upper()
    minutes = number(get("duration"))
    scale = {"min": 1, "s": 1 / 60, "sec": 1 / 60, "hr": 60, "h": 60}.get(get("durationUnit"))
    sample.minutes = (
        minutes * scale if minutes is not None and scale else (sample.end - sample.start) / 60)

    def total(attribute, units):
        value, unit = number(get(attribute)), get(attribute + "Unit")
        return value * units[unit] if value is not None and unit in units else None

    sample.distance = total("totalDistance", LENGTHS)
    sample.energy = total("totalEnergyBurned", ENERGIES)
    sample.steps, distances = None, {}
    for part in element.iter("WorkoutStatistics"):
        kind = part.get("type").replace("HKQuantityTypeIdentifier", "")
        value = number(part.get("sum"))
        if value is None:
            continue
        if kind == "ActiveEnergyBurned":
            sample.energy = value * ENERGIES[part.get("unit")]
        elif kind == "StepCount":
            sample.steps = value
        elif kind.startswith("Distance"):
            distances[kind[len("Distance"):]] = value * LENGTHS[part.get("unit")]
    if distances:
        own = distances.get(OWN[name]) if name in OWN else max(distances.values())
        sample.distance = own if own is not None else sample.distance
    return sample
