"""The comparison of each answer with the numbers of the export."""

import math
from collections import defaultdict
from datetime import timedelta

from report import parts, rows
from rules import event_value, mean, months, slope, training, whole


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
    readings = numbers.readings("VO2Max", plan["year"])
    wanted = {(plan["year"][0],): {"value": mean(s.value for s in readings)}} if readings else {}
    check.rows(name, found["VO2_MAX"], ["date"], wanted)
    days = numbers.daily("FlightsClimbed", plan["year"])
    wanted = {(plan["year"][0],): {"value": whole(sum(days.values()))}} if days else {}
    check.rows(name, found["FLIGHTS_CLIMBED"], ["date"], wanted)
    name = "cycle and headaches"
    found = parts(answers[name])
    for kind, word in (("MenstrualFlow", "MENSTRUAL_FLOW"), ("Headache", "HEADACHE")):
        counts = numbers.events(kind, plan["year"], word)
        wanted = {(type,): {"value": count} for type, count in counts.items()}
        check.rows(name, found[word], ["type"], wanted)


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
    name = "headaches by month"
    wanted = {}
    for month in sorted({f"{day:%Y-%m}" for day in numbers.days(plan["year"])}):
        first, last = (numbers.local(at).date().isoformat() for at in numbers.month(month))
        for type, count in numbers.events("Headache", (first, last), "HEADACHE").items():
            wanted[type, first] = {"value": count}
    check.rows(name, rows(answers[name]), ["type", "date"], wanted)
    check_last(check, numbers, plan, answers)


def check_last(check, numbers, plan, answers):
    name = "my last period"
    low, high = numbers.bounds(plan["year"])
    found = rows(answers[name])
    events = [s for s in numbers.samples["MenstrualFlow"] if low <= s.start < high]
    check.equal(name, "the number of rows", len(found), 1 if events else 0)
    if events:
        check.equal(name, "the value", found[0]["value"], event_value(events[-1]))
        start = numbers.local(events[-1].start).strftime("%Y-%m-%dT%H:%M:%S")
        check.equal(name, "the start", found[0]["date_from"], start)


def check_parts(check, numbers, plan, answers):
    """Checks days of which the last one is not over, and sums of parts of the week."""
    name = "steps of the days until today"
    days = numbers.daily("StepCount", plan["ending"])
    wanted = {(day.isoformat(),): {"value": whole(value)} for day, value in days.items()}
    found = rows(answers[name])
    check.rows(name, found, ["date"], wanted)
    today = numbers.local(numbers.now).date().isoformat()
    for index, row in enumerate(found):
        isPartial = index in answers[name].get("partial_rows", [])
        check.equal(name, f"partial of {row['date']}", isPartial, row["date"] == today)
    name = "steps of all weekdays and of all weekends"
    days = numbers.daily("StepCount", plan["span"])
    wanted = {}
    for group, week in (("WEEKDAYS", range(5)), ("WEEKEND", range(5, 7))):
        values = [v for d, v in days.items() if d.weekday() in week]
        if values:
            wanted[(group,)] = {"value": whole(sum(values)), "statistic": "sum"}
    check.rows(name, rows(answers[name]), ["group"], wanted)


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


ALL = (
    check_sleep, check_heart, check_workouts, check_body, check_food, check_energy, check_week,
    check_year, check_further, check_events, check_parts)
