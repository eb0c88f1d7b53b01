"""Numbers of samples, by the rules in docs/decisions/0015-health-answers.md.

Nothing here is shared with the program whose answers are checked.
"""

import math
from collections import defaultdict
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo


class Numbers:
    """The numbers of an export in a time zone."""

    def __init__(self, samples, plan):
        self.samples, self.zone = samples, ZoneInfo(plan["zone"])
        self.now = datetime.fromisoformat(plan["now"].replace("Z", "+00:00")).timestamp()

    def midnight(self, day, hours=0):
        local = datetime(day.year, day.month, day.day) + timedelta(hours=hours)
        return local.replace(tzinfo=self.zone).timestamp()

    def local(self, at):
        return datetime.fromtimestamp(at, self.zone)

    def days(self, span):
        first, last = (date.fromisoformat(text) for text in span)
        while first < last:
            yield first
            first += timedelta(days=1)

    def bounds(self, span):
        return tuple(self.midnight(date.fromisoformat(text)) for text in span)

    def month(self, day):
        """Returns the first and the last moment of the month of a day in text."""
        first = date.fromisoformat(day[:7] + "-01")
        return self.midnight(first), self.midnight((first + timedelta(days=32)).replace(day=1))

    def daily(self, kind, span):
        """Returns the sum of each day that has data; overlapping sources count once."""
        low, high = self.bounds(span)
        pieces = self.merged(kind, low, high)
        sums = {}
        for start, end, value in pieces:
            whole = end - start
            at = start
            while True:
                day = self.local(at).date()
                stop = min(end, self.midnight(day + timedelta(days=1)))
                share = value if whole == 0 else value * (stop - at) / whole
                sums[day] = sums.get(day, 0.0) + share
                at = stop
                if at >= end:
                    break
        return sums

    def merged(self, kind, low, high):
        """Returns the parts of samples that count: at each moment those of the first source."""
        found = [
            s for s in self.samples[kind]
            if s.start < high and (s.end > low or s.start >= low)]
        edges = sorted({min(max(t, low), high) for s in found for t in (s.start, s.end)})
        ordered = sorted(found, key=lambda s: s.start)
        active, index, pieces = [], 0, []
        for position, at in enumerate(edges):
            active = [s for s in active if s.end > at]
            points = []
            while index < len(ordered) and max(ordered[index].start, low) <= at:
                sample = ordered[index]
                index += 1
                if sample.end > sample.start:
                    if sample.end > at:
                        active.append(sample)
                elif low <= sample.start < high:
                    points.append(sample)
            if points:
                best = min(s.rank for s in points)
                if not active or best <= min(s.rank for s in active):
                    pieces += [(at, at, s.value) for s in points if s.rank == best]
            if not active or position + 1 == len(edges):
                continue
            stop, best = edges[position + 1], min(s.rank for s in active)
            for sample in active:
                if sample.rank == best:
                    share = (stop - at) / (sample.end - sample.start)
                    pieces.append((at, stop, sample.value * share))
        return pieces

    def readings(self, kind, span):
        """Returns the readings of a span; one that two sources report counts once."""
        low, high = self.bounds(span)
        seen, found = set(), []
        for sample in self.samples[kind]:
            key = (sample.start, round(sample.value, 9))
            if low <= sample.start < high and key not in seen:
                seen.add(key)
                found.append(sample)
        return found

    def over_time(self, kind, span):
        """Returns the average over time: each moment counts to the next, at most ten minutes."""
        moments = defaultdict(list)
        for sample in self.readings(kind, span):
            moments[sample.start].append(sample.value)
        times = sorted(moments)
        total = length = 0.0
        for at, following in zip(times, times[1:] + [self.bounds(span)[1]]):
            held = min(following - at, 600)
            total += sum(moments[at]) / len(moments[at]) * held
            length += held
        return total / length

    def nights(self, span):
        """Returns the minutes of each part of each night, by the day on which it ends."""
        first, last = (date.fromisoformat(text) for text in span)
        low = self.midnight(first - timedelta(days=1), 21)
        high = self.midnight(last - timedelta(days=1), 21)
        stages = sorted(
            (s for s in self.samples["SleepAnalysis"] if s.end > low - 43200 and
             s.start < high + 43200), key=lambda s: s.start)
        sessions, run, end = [], [], None
        for stage in stages:
            if run and stage.start - end > 300:
                sessions.append(run)
                run = []
            run.append(stage)
            end = stage.end if len(run) == 1 else max(end, stage.end)
        if run:
            sessions.append(run)
        nights = defaultdict(dict)
        for run in sessions:
            start, end, parts = session(run)
            if start is None or not low <= end < high:
                continue
            middle = self.local((start + end) / 2)
            asleep = parts.get("asleep", parts.get("in_bed", 0))
            if asleep < 180 and 9 <= middle.hour < 21:
                continue
            ends = self.local(end)
            day = ends.date() + timedelta(days=1 if ends.hour >= 21 else 0)
            for part, minutes in parts.items():
                nights[day][part] = nights[day].get(part, 0.0) + minutes
        return nights

    def events(self, kind, span, word):
        """Returns the number of events of a span, and of each of their values, by their types."""
        low, high = self.bounds(span)
        found = defaultdict(int)
        for event in self.samples[kind]:
            if low <= event.start < high:
                found[word] += 1
                found[f"{word}_{event_value(event)}"] += 1
        return found

    def workouts(self, span):
        """Returns the workouts of a span; one that two apps recorded counts once."""
        low, high = self.bounds(span)
        kept = []
        for one in sorted(self.samples["Workout"], key=lambda s: (s.rank, s.start)):
            if not any(same(one, other) for other in kept):
                kept.append(one)
        return [s for s in kept if low <= (s.start + max(s.start, s.end)) / 2 < high]


def event_value(event):
    """Returns the value of an event in capitals: `HKCategoryValueSeverityMild` is `MILD`."""
    name = event.value
    for prefix in ("HKCategoryValue", "VaginalBleeding", "MenstrualFlow", "Severity"):
        name = name.removeprefix(prefix)
    return "".join("_" + c if c.isupper() and i else c for i, c in enumerate(name)).upper()


PARTS = {
    "InBed": "in_bed", "Asleep": "unspecified", "AsleepUnspecified": "unspecified",
    "AsleepCore": "light", "AsleepDeep": "deep", "AsleepREM": "rem", "Awake": "awake"}


def session(run):
    """Returns start, end and the minutes of the parts of one session of sleep."""
    spans = [(s, PARTS[s.value.replace("HKCategoryValueSleepAnalysis", "")]) for s in run]
    asleep = [s for s, part in spans if part not in ("in_bed", "awake")]
    counting = asleep or [s for s, part in spans if part == "in_bed"]
    if not counting:
        return None, None, {}
    parts = {part: 0.0 for _, part in spans}
    if asleep:
        parts["asleep"] = 0.0
    edges = sorted({t for s in run for t in (s.start, s.end)})
    for at, stop in zip(edges, edges[1:]):
        active = [(s, part) for s, part in spans if s.start <= at and s.end >= stop]
        minutes = (stop - at) / 60
        if any(part == "in_bed" for _, part in active):
            parts["in_bed"] += minutes
        staged = [(s.rank, part) for s, part in active if part != "in_bed"]
        if not staged:
            continue
        best = min(rank for rank, _ in staged)
        own = {part for rank, part in staged if rank == best}
        if "awake" in own:
            parts["awake"] += minutes
            continue
        parts["asleep"] += minutes
        for part in ("deep", "rem", "light", "unspecified"):
            if part in own:
                parts[part] += minutes
                break
    return min(s.start for s in counting), max(s.end for s in counting), parts


def same(one, other):
    if one.kind != other.kind or one.source == other.source:
        return False
    overlap = min(one.end, other.end) - max(one.start, other.start)
    shorter = min(one.end - one.start, other.end - other.start)
    return overlap >= 0 and 2 * overlap >= shorter


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None


def whole(value):
    # Numbers have four decimals before they are rounded to whole ones.
    return None if value is None else float(math.floor(round(value, 4) + 0.5))


def months(numbers, kind, span):
    found = defaultdict(list)
    for sample in numbers.readings(kind, span):
        found[numbers.local(sample.start).strftime("%Y-%m-01")].append(sample.value)
    return {(month,): {"value": mean(values)} for month, values in found.items()}


def slope(points):
    """Returns the slope a week of the best line through (seconds, value)."""
    first = points[0][0]
    xs, ys = [(at - first) / 604800 for at, _ in points], [y for _, y in points]
    mx, my = mean(xs), mean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def training(workouts):
    found = {}
    for kind in {w.kind for w in workouts}:
        own = [w for w in workouts if w.kind == kind]

        def total(name):
            known = [getattr(w, name) for w in own if getattr(w, name) is not None]
            return sum(known) if known else None

        found[kind] = {
            "total_distance": total("distance"), "total_energy_burned": total("energy"),
            "total_steps": total("steps"), "session_count": len(own),
            "duration_minutes": total("minutes")}
    return found
