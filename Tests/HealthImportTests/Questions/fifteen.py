"""Asks fifteen questions and four further ones, and checks the answers with numbers of its own.

    fifteen.py calls SET                   prints the tool call of each question as a JSON object
    fifteen.py check SET EXPORT ANSWERS    compares the answers with numbers from the export

SET is `generated` or `real`. EXPORT is an Apple Health export. ANSWERS is a JSON object with the
answer to each question. The numbers are computed with plain Python from the text of the export, by
the rules in docs/decisions/0015-health-answers.md. One line is printed for each number that
differs, and then a line with the number of comparisons.
"""

import functools
import json
import math
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

SETS = {
    "generated": {
        "zone": "Europe/Zurich", "now": "2025-12-31T19:00:00Z", "run": "RUNNING",
        "week": ("2025-12-15", "2025-12-22"), "before": ("2025-11-15", "2025-12-15"),
        "year": ("2025-01-01", "2026-01-01"), "month": ("2025-10-01", "2025-11-01"),
        "span": ("2025-11-01", "2026-01-01"), "day": ("2025-03-03", "2025-03-04"),
        "earlier": ("2025-09-01", "2025-11-01"), "today": ("2025-12-31", "2026-01-01"),
    },
    "real": {
        "zone": "Europe/Berlin", "now": "2017-11-12T12:00:00Z", "run": "RUNNING",
        "week": ("2017-10-23", "2017-10-30"), "before": ("2017-09-23", "2017-10-23"),
        "year": ("2017-01-01", "2018-01-01"), "month": ("2017-10-01", "2017-11-01"),
        "span": ("2017-09-01", "2017-11-01"), "day": ("2017-09-03", "2017-09-04"),
        "earlier": ("2017-07-01", "2017-09-01"), "today": ("2017-11-12", "2017-11-13"),
    },
}


def one_call(plan, value_type, span, **more):
    """Returns a call about one type and one span of the plan."""
    start, end = plan[span]
    return "get_health_metrics", {
        "value_type": value_type, "start_time": start, "end_time": end, **more}


def further(plan):
    """Returns calls about spans of different lengths, a day that is not over, and events."""
    ask = functools.partial(one_call, plan)
    before, earlier = (
        {"start_time": plan[name][0], "end_time": plan[name][1]} for name in ("before", "earlier"))
    return {
        "steps of two months and the two before": ask(
            "STEPS", "span", group_by="MONTH", compare_with=earlier),
        "steps of weekends and of those of the month before": ask(
            "STEPS", "week", group_by="WEEKPART", statistic="SUM", compare_with=before),
        "hours in which I stood": ask("STAND_HOURS", "week", group_by="TOTAL"),
        "steps today": ask("STEPS", "today", group_by="DAY"),
    }


def calls(plan):
    """Returns the one call of each question: the name of a tool and its arguments."""
    ask = functools.partial(one_call, plan)

    def summary(span, metrics, **more):
        return "get_summary", {
            "start_time": plan[span][0], "end_time": plan[span][1],
            "metrics": [
                {"value_type": name, **({"group_by": by} if by else {})} for name, by in metrics],
            **more}

    before = {"start_time": plan["before"][0], "end_time": plan["before"][1]}
    return {
        "sleep last week and the month before": ask(
            "SLEEP", "week", group_by="TOTAL", compare_with=before),
        "heart rate variability by month": ask("HRV", "year", group_by="MONTH", format="table"),
        "resting heart rate since January": ask(
            "RESTING_HEART_RATE", "year", group_by="MONTH", trend=True, format="table"),
        "average heart rate in October": ask("HEART_RATE", "month", group_by="TOTAL"),
        "workouts by type this year": ask("WORKOUT", "year", group_by="TOTAL", format="table"),
        "my longest run": ask(
            "WORKOUT", "year", group_by="TOTAL", statistic="MAX", workout_type=plan["run"]),
        "weight on a day without one": ask("WEIGHT", "day", nearest=True),
        "average blood glucose": ask("GLUCOSE", "year", group_by="TOTAL"),
        "steps on weekdays and weekends": ask("STEPS", "span", group_by="WEEKPART"),
        "what did I eat last week": ask("NUTRITION", "week", group_by="DAY", format="table"),
        "energy a day": summary(
            "month", [("CALORIES", "TOTAL"), ("BASAL_ENERGY", "TOTAL")],
            format="table", compare_with=before),
        "VO2max and floors climbed": summary(
            "year", [("VO2_MAX", "YEAR"), ("FLIGHTS_CLIMBED", "YEAR")], format="table"),
        "cycle and headaches": summary(
            "year", [("MENSTRUAL_FLOW", "TOTAL"), ("HEADACHE", "TOTAL")], format="table"),
        "how was my week": summary(
            "week", [(name, "TOTAL") for name in
                     ("STEPS", "CALORIES", "DISTANCE", "WORKOUT", "SLEEP")],
            format="table"),
        "steps and sleep a day for a year": summary(
            "year", [("STEPS", "DAY"), ("SLEEP", "DAY")], format="table"),
    }


# ---------------------------------------------------------------- the export


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
    """Watches count first, then phones, other devices, and apps; among equals by name."""

    def words(text):
        return "".join(c.lower() if c.isalpha() else " " for c in text).split()

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


# ---------------------------------------------------------------- the rules


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

    def workouts(self, span):
        """Returns the workouts of a span; one that two apps recorded counts once."""
        low, high = self.bounds(span)
        kept = []
        for one in sorted(self.samples["Workout"], key=lambda s: (s.rank, s.start)):
            if not any(same(one, other) for other in kept):
                kept.append(one)
        return [s for s in kept if low <= (s.start + max(s.start, s.end)) / 2 < high]


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


# ---------------------------------------------------------------- the answers


def rows(answer):
    """Returns the points or rows of an answer, each as one flat object."""
    points = answer.get("healthData", answer.get("health_data"))
    if points is None:
        return [
            {**answer["common"], **dict(zip(answer["columns"], row))} for row in answer["rows"]]
    flat = []
    for point in points:
        row = {}
        for name, value in point.items():
            if isinstance(value, dict):
                prefix = "" if name in ("value", "sleep") else name + "_"
                row.update({prefix + inner: number for inner, number in value.items()})
            else:
                row[name] = value
        flat.append(row)
    return flat


def parts(answer):
    """Returns the rows of each metric of a summary."""
    found = defaultdict(list)
    for result in answer["results"]:
        assert result["success"], result
        found[result["value_type"]] = rows(result["data"])
    return found


class Check:
    def __init__(self):
        self.compared, self.failed = 0, 0

    def equal(self, question, what, found, wanted):
        self.compared += 1
        if found is None or wanted is None:
            good = found is None and wanted is None
        elif isinstance(wanted, str):
            good = found == wanted
        else:
            # Counts are whole numbers, and other numbers have four decimals.
            good = abs(found - wanted) <= max(6e-4, 1e-6 * abs(wanted))
        if not good:
            self.failed += 1
            print(f"{question}: {what} is {found}, and the export has {wanted}")

    def rows(self, question, found, names, wanted):
        """Compares rows with wanted ones. `names` are the columns that identify a row."""

        def key(row):
            return tuple(row.get(name) for name in names)

        found = {key(row): row for row in found}
        self.equal(question, "the number of rows", len(found), len(wanted))
        for at, numbers in wanted.items():
            row = found.get(at, {})
            for name, value in numbers.items():
                self.equal(question, f"{name} of {at}", row.get(name), value)


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


def check_heart(check, numbers, plan, answers):
    name = "heart rate variability by month"
    check.rows(
        name, rows(answers[name]), ["date"],
        months(numbers, "HeartRateVariabilitySDNN", plan["year"]))
    name = "resting heart rate since January"
    wanted = months(numbers, "RestingHeartRate", plan["year"])
    check.rows(name, rows(answers[name]), ["date"], wanted)
    lines = answers[name].get("trend", [])
    check.equal(name, "the number of trends", len(lines), 1 if len(wanted) > 1 else 0)
    if lines:
        points = []
        for (month,), values in sorted(wanted.items()):
            points.append((sum(numbers.month(month)) / 2, values["value"]))
        check.equal(name, "the slope", lines[0]["slope_per_week"], slope(points))
    name = "average heart rate in October"
    wanted = (
        {("HEART_RATE",): {"value": numbers.over_time("HeartRate", plan["month"])}}
        if numbers.readings("HeartRate", plan["month"]) else {})
    found = [row for row in rows(answers[name]) if row["type"] == "HEART_RATE"]
    check.rows(name, found, ["type"], wanted)


def check_workouts(check, numbers, plan, answers):
    name = "workouts by type this year"
    found = training(numbers.workouts(plan["year"]))
    wanted = {(kind,): {**values, "total_steps": whole(values["total_steps"])}
              for kind, values in found.items()}
    check.rows(name, rows(answers[name]), ["workout_type"], wanted)
    name = "my longest run"
    own = [w for w in numbers.workouts(plan["year"]) if w.kind == plan["run"]]
    row = rows(answers[name])[0]
    far = [w for w in own if w.distance]
    best = max(far, key=lambda w: w.distance) if far else max(own, key=lambda w: w.minutes)
    check.equal(name, "the distance", row["total_distance"], best.distance)
    check.equal(name, "the minutes", row["duration_minutes"], best.minutes)
    start = numbers.local(best.start).strftime("%Y-%m-%dT%H:%M:%S")
    check.equal(name, "the start", row["date_from"], start)


def check_body(check, numbers, plan, answers):
    name = "weight on a day without one"
    end = numbers.bounds(plan["day"])[1]
    last = max((s for s in numbers.samples["BodyMass"] if s.start < end), key=lambda s: s.start)
    check.equal(name, "the weight", rows(answers[name])[0]["value"], last.value)
    name = "average blood glucose"
    wanted = mean(s.value for s in numbers.readings("BloodGlucose", plan["year"]))
    check.rows(
        name, rows(answers[name]), ["type"],
        {} if wanted is None else {("BLOOD_GLUCOSE",): {"value": wanted}})
    name = "steps on weekdays and weekends"
    days = numbers.daily("StepCount", plan["span"])
    # A day that is not over does not count where whole days have data.
    over = {d: v for d, v in days.items() if numbers.midnight(d + timedelta(1)) <= numbers.now}
    days = over or days
    wanted = {}
    for group, week in (("WEEKDAYS", range(5)), ("WEEKEND", range(5, 7))):
        value = mean(v for d, v in days.items() if d.weekday() in week)
        if value is not None:
            wanted[(group,)] = {"value": whole(value), "statistic": "average_per_day"}
    check.rows(name, rows(answers[name]), ["group"], wanted)


def check_food(check, numbers, plan, answers):
    name = "what did I eat last week"
    wanted = defaultdict(dict)
    for kind, member in (
            ("DietaryEnergyConsumed", "calories"), ("DietaryProtein", "protein"),
            ("DietaryCarbohydrates", "carbs"), ("DietaryFatTotal", "fat")):
        for day, value in numbers.daily(kind, plan["week"]).items():
            wanted[(day.isoformat(),)][member] = value
    check.rows(name, rows(answers[name]), ["date"], wanted)


def compared(numbers, kind, span, other):
    """Returns the wanted members of a sum of a span that is compared with a longer one."""
    days, before = numbers.daily(kind, span), numbers.daily(kind, other)
    if not days:
        return None
    wanted = {"value": sum(days.values())}
    if before:
        mine, theirs = mean(days.values()), mean(before.values())
        wanted.update({
            "previous": sum(before.values()), "per_day": mine, "previous_per_day": theirs,
            "change": mine - theirs, "change_percent": (mine - theirs) / theirs * 100})
    return wanted


def check_sums(check, name, found, wanted, isCount=False):
    """Compares the members of a compared sum. Percent have one decimal."""
    if wanted is None:
        return check.equal(name, "the number of rows", len(found), 0)
    for member, value in wanted.items():
        given = found[0].get(member)
        if isCount:
            value = whole(value)
        # Changes are those of the numbers that are shown, which are rounded. Percent have one
        # decimal.
        near = {"change": 1 if isCount else 0, "change_percent": 0.11 + abs(value) / 1000}
        isNear = given is not None and abs(given - value) <= near.get(member, 0)
        check.equal(name, member, value if isNear else given, value)


def check_energy(check, numbers, plan, answers):
    name = "energy a day"
    found = parts(answers[name])
    for word, kind in (("CALORIES", "ActiveEnergyBurned"), ("BASAL_ENERGY", "BasalEnergyBurned")):
        wanted = compared(numbers, kind, plan["month"], plan["before"])
        check_sums(check, f"{name}, {word}", found[word], wanted)
    name = "VO2max and floors climbed"
    found = parts(answers[name])
    check.equal(name, "VO2max", len(found["VO2_MAX"]), 0)
    days = numbers.daily("FlightsClimbed", plan["year"])
    wanted = {(plan["year"][0],): {"value": whole(sum(days.values()))}} if days else {}
    check.rows(name, found["FLIGHTS_CLIMBED"], ["date"], wanted)
    name = "cycle and headaches"
    found = parts(answers[name])
    check.equal(name, "events", sum(map(len, found.values())), 0)


def check_uneven(check, name, row, numbers, days, before):
    """Checks a sum of steps that is compared as the average of whole days."""

    mine, theirs = (
        whole(mean(v for d, v in all.items() if numbers.midnight(d + timedelta(1)) <= numbers.now))
        for all in (days, before))
    percent = math.floor((mine - theirs) / theirs * 1000 + 0.5) / 10
    for member, value in {
            "value": whole(sum(days.values())), "previous": whole(sum(before.values())),
            "change_of": "average_per_day", "per_day": mine, "previous_per_day": theirs,
            "change": mine - theirs, "change_percent": percent}.items():
        check.equal(name, member, row.get(member), value)


def check_further(check, numbers, plan, answers):
    name = "steps of two months and the two before"
    days, before = (numbers.daily("StepCount", plan[span]) for span in ("span", "earlier"))
    found = {row["date_from"][:7]: row for row in rows(answers[name])}
    for month, other in zip(*(sorted({f"{day:%Y-%m}" for day in all}) for all in (days, before))):
        mine = {day: value for day, value in days.items() if f"{day:%Y-%m}" == month}
        theirs = {day: value for day, value in before.items() if f"{day:%Y-%m}" == other}
        row = found.get(month, {})
        spans = (numbers.month(month), numbers.month(other))
        lengths = [min(end, numbers.now) - start for start, end in spans]
        if abs(lengths[0] - lengths[1]) > 8640:
            check_uneven(check, f"{name}, {month}", row, numbers, mine, theirs)
            continue
        value, previous = whole(sum(mine.values())), whole(sum(theirs.values()))
        wanted = {"value": value, "previous": previous, "change": value - previous, "per_day": None}
        for member, number in wanted.items():
            check.equal(f"{name}, {month}", member, row.get(member), number)
    name = "steps of weekends and of those of the month before"
    days, before = (numbers.daily("StepCount", plan[span]) for span in ("week", "before"))
    found = {row["group"]: row for row in rows(answers[name])}
    for group, week in (("WEEKDAYS", range(5)), ("WEEKEND", range(5, 7))):
        mine, theirs = (
            {d: v for d, v in all.items() if d.weekday() in week} for all in (days, before))
        if mine and theirs:
            check_uneven(check, f"{name}, {group}", found.get(group, {}), numbers, mine, theirs)


def check_events(check, numbers, plan, answers):
    name = "hours in which I stood"
    low, high = numbers.bounds(plan["week"])
    hours = [s for s in numbers.samples["AppleStandHour"] if low <= s.start < high]
    stood = sum(hour.value.endswith("Stood") for hour in hours)
    found = {row["type"]: row["value"] for row in rows(answers[name])}
    check.equal(name, "all hours", found.get("STAND_HOURS"), len(hours) or None)
    check.equal(name, "hours with a stand", found.get("STAND_HOURS_STOOD"), stood or None)
    name = "steps today"
    days = numbers.daily("StepCount", plan["today"])
    found = rows(answers[name])
    check.equal(name, "the number of rows", len(found), len(days))
    for row, value in zip(found, days.values()):
        check.equal(name, "steps", row["value"], whole(value))
        check.equal(name, "partial", row.get("partial"), True)


SLEEP = ("in_bed", "awake", "light", "deep", "rem", "unspecified")


def sleep(nights):
    """Returns the wanted members of the average of nights."""
    known = list(nights.values())
    if not known:
        return None
    main = "asleep" if any("asleep" in night for night in known) else "in_bed"
    wanted = {"value": mean(n[main] for n in known if main in n), "nights": len(known)}
    for part in SLEEP:
        values = [night[part] for night in known if part in night]
        if values:
            wanted[part] = mean(values)
    return wanted


def check_sleep(check, numbers, plan, answers):
    name = "sleep last week and the month before"
    now, before = sleep(numbers.nights(plan["week"])), sleep(numbers.nights(plan["before"]))
    found = rows(answers[name])
    check.equal(name, "the number of rows", len(found), 1 if now else 0)
    if now:
        for member, value in now.items():
            check.equal(name, member, found[0].get(member), value)
        check.equal(name, "previous", found[0]["previous"], before and before["value"])
        if before:
            check.equal(
                name, "change", found[0]["change"], now["value"] - before["value"])


def check_week(check, numbers, plan, answers):
    name = "how was my week"
    found = parts(answers[name])
    for word, kind in (
            ("STEPS", "StepCount"), ("CALORIES", "ActiveEnergyBurned"),
            ("DISTANCE", "DistanceWalkingRunning")):
        days = numbers.daily(kind, plan["week"])
        wanted = {"value": sum(days.values())} if days else None
        check_sums(check, f"{name}, {word}", found[word], wanted, isCount=word == "STEPS")
    own = training(numbers.workouts(plan["week"]))
    check.equal(name, "kinds of workouts", len(found["WORKOUT"]), len(own))
    for row in found["WORKOUT"]:
        check.equal(
            name, "sessions", row["session_count"], own[row["workout_type"]]["session_count"])
    wanted = sleep(numbers.nights(plan["week"]))
    check.equal(name, "rows of sleep", len(found["SLEEP"]), 1 if wanted else 0)
    if wanted:
        check.equal(name, "sleep", found["SLEEP"][0]["value"], whole(wanted["value"]))


def check_year(check, numbers, plan, answers):
    name = "steps and sleep a day for a year"
    found = parts(answers[name])
    steps = {(day.isoformat(),): {"value": whole(value)}
             for day, value in numbers.daily("StepCount", plan["year"]).items()}
    check.rows(name, found["STEPS"], ["date"], steps)
    # Tables have whole minutes of sleep.
    nights = {(day.isoformat(),): {
        member: whole(value) for member, value in sleep({day: night}).items()}
        for day, night in numbers.nights(plan["year"]).items()}
    check.rows(name, found["SLEEP"], ["date"], nights)
    for result in answers[name]["results"]:
        check.equal(name, "truncated", result["data"].get("truncated"), None)


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
    for one in (check_sleep, check_heart, check_workouts, check_body, check_food, check_energy,
                check_week, check_year, check_further, check_events):
        one(check, numbers, plan, answers)
    print(f"{check.compared} numbers compared, {check.failed} differ")
    return 0 if check.failed == 0 and check.compared > 50 else 1


if __name__ == "__main__":
    sys.exit(main())
