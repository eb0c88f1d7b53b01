"""Computes answers from the text of a health export, without any code of the product.

The code is deliberately slow and simple: it cuts spans at every start and end of a sample, and
evaluates each piece separately. The rules are those of docs/decisions/0015-health-answers.md.
"""

import datetime
import re
import xml.etree.ElementTree
from fractions import Fraction
from zoneinfo import ZoneInfo

PREFIX = "HKQuantityTypeIdentifier"
SLEEP = "HKCategoryTypeIdentifierSleepAnalysis"
MINDFUL = "HKCategoryTypeIdentifierMindfulSession"
ASLEEP = {"Asleep", "AsleepUnspecified", "AsleepCore", "AsleepDeep", "AsleepREM"}
NIGHT = 3 * 3600
UNITS = {
    "count": 1, "count/min": 1, "ms": 1, "kcal": 1, "Cal": 1, "mmHg": 1, "degC": 1, "m": 1,
    "m/s": 1, "kg": 1, "L": 1, "mg/dL": 1, "min": 1, "km": 1000, "mi": Fraction("1609.344"),
    "kJ": 1 / Fraction("4.184"), "%": 100, "km/hr": Fraction(10, 36), "mL": Fraction(1, 1000),
    "g": 1, "lb": Fraction("0.45359237"), "mmol<180.1558800000541>/L": Fraction("18.01558800000541"),
}


class Sample:
    def __init__(self, start, end, value, source, device):
        self.start, self.end, self.value, self.source = start, end, value, source
        words = set()
        for text in (source, device or ""):
            words |= {word.lower() for word in split(text)}
        if not device and source == "Health":  # what its user entered by hand
            kind = -1
        elif "watch" in words:
            kind = 0
        elif words & {"iphone", "phone", "ipad", "ipod"}:
            kind = 1
        else:
            kind = 2 if split(device or "") else 3
        self.rank = (kind, source)


def split(text):
    """Returns the words of a text. All characters other than letters separate words."""
    return "".join(letter if letter.isalpha() else " " for letter in text).split()


def second(text):
    return int(datetime.datetime.strptime(text, "%Y-%m-%d %H:%M:%S %z").timestamp())


def device(text):
    return re.sub(r"<<HKDevice: 0x[0-9a-f]+>,? ?", "<<", text or "").strip("<> ")


class Export:
    def __init__(self, path, zone):
        self.zone = ZoneInfo(zone)
        self.samples, self.workouts, seen = {}, [], set()
        for _, element in xml.etree.ElementTree.iterparse(path):
            if element.tag == "ExportDate":
                text = element.get("value")
                self.today = datetime.datetime.fromtimestamp(second(text), self.zone).date()
            elif element.tag == "Record":
                self.record(element, seen)
            elif element.tag == "Workout":
                middle = (second(element.get("startDate")) + second(element.get("endDate"))) / 2
                kind = element.get("workoutActivityType").removeprefix("HKWorkoutActivityType")
                words = re.findall("[A-Z][^A-Z]*", "Biking" if kind == "Cycling" else kind)
                self.workouts.append(
                    (middle, element.get("sourceName"), "_".join(words).upper()))
            if element.tag in ("Record", "Workout", "ActivitySummary", "Correlation"):
                element.clear()
        for samples in self.samples.values():
            samples.sort(key=lambda sample: (sample.start, sample.end))

    def record(self, element, seen):
        get = element.get
        key = (get("type"), get("startDate"), get("endDate"), get("sourceName"), get("value"),
               get("unit"), get("creationDate"))
        if key in seen:  # The parts of a correlation occur twice in an export.
            return
        seen.add(key)
        kind = get("type")
        if kind.startswith(PREFIX):
            scale = UNITS.get(get("unit"))
            if scale is None:
                return
            kind, value = kind[len(PREFIX):], Fraction(get("value")) * scale
        else:
            value = (get("value") or "").removeprefix("HKCategoryValueSleepAnalysis")
        sample = Sample(second(get("startDate")), second(get("endDate")), value,
                        get("sourceName"), device(get("device")))
        self.samples.setdefault(kind, []).append(sample)

    # Time

    def at(self, day, hour=0):
        """Returns the time at which a day, or an hour of it, begins."""
        return int(datetime.datetime(day.year, day.month, day.day, hour, tzinfo=self.zone).timestamp())

    def days(self, start, end):
        while start < end:
            yield start
            start += datetime.timedelta(days=1)

    def inside(self, kind, start, end):
        return [sample for sample in self.samples.get(kind, ())
                if start <= sample.start < end or (sample.start < end and sample.end > start)]

    # Totals

    def added(self, kind, start, end, source=None):
        """Returns the sum of one source, or of all sources merged; None if there is no data."""
        found = [sample for sample in self.inside(kind, start, end)
                 if source is None or sample.source == source]
        lasting = [sample for sample in found if sample.end > sample.start]
        taps = [sample for sample in found if sample.end == sample.start]
        if source is not None:
            total = sum((share(sample, max(start, sample.start), min(end, sample.end))
                         for sample in lasting), sum((tap.value for tap in taps), Fraction(0)))
            return total if found else None
        total, known = Fraction(0), False
        edges = sorted({edge for sample in lasting for edge in (sample.start, sample.end)
                        if start < edge < end} | {start, end})
        active, rest = [], sorted(lasting, key=lambda sample: sample.start)
        for left, right in zip(edges, edges[1:]):
            while rest and rest[0].start <= left:
                active.append(rest.pop(0))
            active = [sample for sample in active if sample.end > left]
            best = min((sample.rank for sample in active), default=None)
            for sample in active:
                if sample.rank == best:
                    known = True
                    total += share(sample, left, right)
        for moment in {tap.start for tap in taps}:
            here = [tap for tap in taps if tap.start == moment]
            best = min(tap.rank for tap in here)
            going = [sample.rank for sample in lasting if sample.start <= moment < sample.end]
            if not going or best <= min(going):
                known = True
                total += sum(tap.value for tap in here if tap.rank == best)
        return total if known else None

    def by_day(self, kind, start, end):
        """Returns the merged sum of each day that has data, by day."""
        sums = {day: self.added(kind, self.at(day), self.at(day + datetime.timedelta(days=1)))
                for day in self.days(start, end)}
        return {day: value for day, value in sums.items() if value is not None}

    # Readings

    def readings(self, kind, start, end):
        """Returns the readings of the source with the most readings, in order, and that source."""
        sources = {}
        for sample in self.samples.get(kind, ()):
            if start <= sample.start < end:
                sources.setdefault(sample.source, []).append(sample)
        if not sources:
            return [], None
        best = max(sources, key=lambda source: (len(sources[source]), source))
        return [sample.value for sample in sources[best]], best

    def everything(self, kind, start, end):
        """Returns the readings of all sources with their times, in order and without duplicates."""
        return sorted({(sample.start, sample.value) for sample in self.samples.get(kind, ())
                       if start <= sample.start < end})

    def over_time(self, kind, start, end):
        """Returns the time average of all sources. A reading counts for at most ten minutes."""
        moments = {}
        for time, value in self.everything(kind, start, end):
            moments.setdefault(time, []).append(value)
        total, length, times = Fraction(0), 0, sorted(moments)
        for time, following in zip(times, times[1:] + [end]):
            held = min(following - time, 600)
            total += sum(moments[time], Fraction(0)) / len(moments[time]) * held
            length += held
        return total / length if length else None

    # Sleep

    def nights(self, start, end):
        """Returns the merged night of each day, and the naps, both in seconds."""
        nights, naps, run, reach = {}, [], [], None
        for span in self.samples.get(SLEEP, []) + [None]:
            if run and (span is None or span.start > reach + 300):
                self.session(run, start, end, nights, naps)
                run, reach = [], None
            if span is not None:
                run.append(span)
                reach = max(reach or span.end, span.end)
        return nights, naps

    def session(self, run, start, end, nights, naps):
        telling = [span for span in run if span.value in ASLEEP] or [
            span for span in run if span.value == "InBed"]
        if not telling:
            return
        first, last = min(s.start for s in telling), max(s.end for s in telling)
        local = datetime.datetime.fromtimestamp(last, self.zone)
        day = (local.replace(tzinfo=None) + datetime.timedelta(hours=3)).date()
        if not start <= day < end:
            return
        parts = stages(run)
        length = parts["asleep"] if parts["asleep"] is not None else parts["InBed"]
        clock = datetime.datetime.fromtimestamp((first + last) / 2, self.zone).hour
        if length >= NIGHT or clock >= 21 or clock < 9:
            night = nights.setdefault(day, {})
            for name, value in parts.items():
                if value is not None:
                    night[name] = night.get(name, 0) + value
        else:
            naps.append(parts)


def share(sample, start, end):
    return sample.value * Fraction(end - start, sample.end - sample.start)


def stages(run):
    """Returns the seconds of each stage. The best-ranked source determines the current stage."""
    names = {span.value for span in run}
    parts = {name: 0 for name in names}
    parts["asleep"] = 0 if names & ASLEEP else None
    edges = sorted({edge for span in run for edge in (span.start, span.end)})
    for left, right in zip(edges, edges[1:]):
        here = [span for span in run if span.start <= left and right <= span.end]
        if any(span.value == "InBed" for span in here):
            parts["InBed"] += right - left
        here = [span for span in here if span.value != "InBed"]
        best = min((span.rank for span in here), default=None)
        told = {span.value for span in here if span.rank == best}
        if "Awake" in told:
            told = {"Awake"}
        for name in told:
            parts[name] += right - left
        if told & ASLEEP:
            parts["asleep"] += right - left
    return parts
