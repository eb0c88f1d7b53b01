"""Forty questions that people ask about their health data.

Each question has its text, the call that answers it, the place of the number in the answer, and the
expected number, which is computed independently.
"""

import datetime
from fractions import Fraction

from reckon import ASLEEP, MINDFUL, SLEEP

DAY = datetime.timedelta(days=1)


class Question:
    def __init__(self, text, arguments, where, expected, tool="get_health_metrics", part="value"):
        # Points of single sources are only in answers that were asked for them.
        if where.get("source_id", "all") != "all":
            arguments = {**arguments, "by_source": True}
        self.text, self.arguments, self.where = text, arguments, where
        self.expected, self.tool, self.part = expected, tool, part

    @property
    def is_count(self):
        asked = self.arguments
        kind = asked.get("value_type", "STEPS")
        return kind == "STEPS" or asked.get("statistic") == "COUNT"

    def points(self, content):
        if self.tool == "get_health_metrics":
            points = content["healthData"]
        else:
            wanted = [line for line in content["results"] if line["value_type"] == "STEPS"]
            points = wanted[0]["data"]["health_data"]
        return [point for point in points
                if all(point.get(name) == value for name, value in self.where.items())]

    def told(self, content):
        """Returns the number in an answer, or None if there is none."""
        points = self.points(content)
        if self.part == "day of the most":
            return max(points, key=lambda point: point["value"])["date_from"][:10]
        if not points:
            return None
        assert len(points) == 1, f"{len(points)} points for one number"
        number = points[0]
        for name in self.part.split("."):
            number = number.get(name)
            if number is None:
                return None
        return number


class Calendar:
    """The days that the questions concern, relative to the day of the export."""

    def __init__(self, today):
        self.today, self.yesterday = today, today - DAY
        self.monday = today - DAY * today.weekday() - DAY * 7
        self.first = today.replace(day=1)
        self.last_first = (self.first - DAY).replace(day=1)
        self.year = today.replace(month=1, day=1)
        self.last_year = self.year.replace(year=self.year.year - 1)


def ask(kind, start, end, group, statistic=None):
    arguments = {"value_type": kind, "start_time": str(start), "end_time": str(end),
                 "group_by": group}
    return {**arguments, "statistic": statistic} if statistic else arguments


def mean(values):
    values = list(values)
    return sum(values, Fraction(0)) / len(values) if values else None


def merged(kind):
    return {"type": kind, "merged": True}


def forty(export):
    day = Calendar(export.today)
    return (movement(export, day) + energy(export, day) + heart(export, day) + body(export, day)
            + sleep(export, day) + rest(export, day))


def movement(export, day):
    week, end = day.monday, day.monday + DAY * 7
    month, after = day.last_first, day.first

    def steps(start, end, source=None):
        return export.added("StepCount", export.at(start), export.at(end), source)

    by_day = export.by_day("StepCount", month, after)
    sources = {sample.source for sample in export.samples["StepCount"]}
    phone = min(source for source in sources if "iPhone" in source)
    hour = export.added("StepCount", export.at(day.yesterday, 8), export.at(day.yesterday, 9))
    walked = export.by_day("DistanceWalkingRunning", month, after)
    most = max(by_day, key=lambda found: by_day[found])
    hours = (f"{day.yesterday}T08:00:00", f"{day.yesterday}T09:00:00")
    return [
        Question("How many steps did I take last week?", ask("STEPS", week, end, "WEEK"),
                 merged("STEPS"), steps(week, end)),
        Question("How many steps did I take yesterday?",
                 ask("STEPS", day.yesterday, day.today, "DAY", "SUM"), merged("STEPS"),
                 steps(day.yesterday, day.today)),
        Question("How many steps do I take a day, on average, last month?",
                 ask("STEPS", month, after, "MONTH", "AVERAGE"), merged("STEPS"),
                 mean(by_day.values())),
        Question("What was my best day for steps last month?",
                 ask("STEPS", month, after, "MONTH", "MAX"), merged("STEPS"),
                 max(by_day.values())),
        Question("And the laziest?", ask("STEPS", month, after, "MONTH", "MIN"), merged("STEPS"),
                 min(by_day.values())),
        Question("On which day last month did I walk the most?",
                 ask("STEPS", month, after, "DAY", "SUM"), merged("STEPS"), str(most),
                 part="day of the most"),
        Question("How many steps did I take between eight and nine yesterday?",
                 ask("STEPS", *hours, "HOUR", "SUM"), merged("STEPS"), hour),
        Question("How many steps did my phone alone count last week?",
                 ask("STEPS", week, end, "WEEK", "SUM"), {"source_id": phone},
                 steps(week, end, phone)),
        Question("How many steps did I take this year?",
                 ask("STEPS", day.year, day.today, "TOTAL"), merged("STEPS"),
                 steps(day.year, day.today)),
        Question("And last year?", ask("STEPS", day.last_year, day.year, "TOTAL"), merged("STEPS"),
                 steps(day.last_year, day.year)),
        Question("How far did I walk last month?", ask("DISTANCE", month, after, "MONTH"),
                 merged("DISTANCE_WALKING_RUNNING"), sum(walked.values())),
        Question("How far on a day that I walked?",
                 ask("DISTANCE", month, after, "MONTH", "AVERAGE"),
                 merged("DISTANCE_WALKING_RUNNING"), mean(walked.values())),
        Question("Give me an overview of last week: how many steps were it on Monday?",
                 {"start_time": str(week), "end_time": str(end)},
                 {"merged": True, "date_from": f"{week}T00:00:00"}, steps(week, week + DAY),
                 tool="get_summary"),
        Question("How many steps did I take in 1999?",
                 ask("STEPS", "1999-01-01", "2000-01-01", "TOTAL"), merged("STEPS"), None),
    ]


def energy(export, day):
    week, end = day.monday, day.monday + DAY * 7
    month, after = day.last_first, day.first
    burned = export.by_day("ActiveEnergyBurned", month, after)

    def total(kind, start, end):
        return export.added(kind, export.at(start), export.at(end))

    return [
        Question("How many calories did I burn last week?", ask("CALORIES", week, end, "WEEK"),
                 merged("ACTIVE_ENERGY_BURNED"), total("ActiveEnergyBurned", week, end)),
        Question("How many a day, on average, last month?",
                 ask("CALORIES", month, after, "MONTH", "AVERAGE"),
                 merged("ACTIVE_ENERGY_BURNED"), mean(burned.values())),
        Question("How many minutes did I exercise last week?",
                 ask("EXERCISE_TIME", week, end, "WEEK"), merged("EXERCISE_TIME"),
                 total("AppleExerciseTime", week, end)),
    ]


def heart(export, day):
    month, after = day.last_first, day.first

    def reading(text, word, kind, name, start, end, statistic, reckoned, group="TOTAL"):
        values, source = export.readings(name, export.at(start), export.at(end))
        return Question(text, ask(word, start, end, group, statistic),
                        {"type": kind, "source_id": source}, reckoned(values) if values else None)

    def last(values):
        return values[-1]

    return [
        reading("What was my resting heart rate this year?", "HEART_RATE", "RESTING_HEART_RATE",
                "RestingHeartRate", day.year, day.today, "AVERAGE", mean),
        reading("And last year?", "HEART_RATE", "RESTING_HEART_RATE", "RestingHeartRate",
                day.last_year, day.year, "AVERAGE", mean),
        reading("How high did my heart rate go last week?", "HEART_RATE", "HEART_RATE",
                "HeartRate", day.monday, day.monday + DAY * 7, "MAX", max, "WEEK"),
        reading("And how low last month?", "HEART_RATE", "HEART_RATE", "HeartRate", month, after,
                "MIN", min, "MONTH"),
        Question("What was my heart rate yesterday?",
                 ask("HEART_RATE", day.yesterday, day.today, "DAY"),
                 {"type": "HEART_RATE", "source_id": "all"},
                 export.over_time("HeartRate", export.at(day.yesterday), export.at(day.today))),
        reading("How is my heart rate variability?", "HRV", "HEART_RATE_VARIABILITY_SDNN",
                "HeartRateVariabilitySDNN", month, after, None, mean),
        reading("Did my oxygen ever drop last month?", "BLOOD_OXYGEN", "BLOOD_OXYGEN",
                "OxygenSaturation", month, after, "MIN", min),
        reading("What is my latest blood pressure?", "BLOOD_PRESSURE", "BLOOD_PRESSURE_SYSTOLIC",
                "BloodPressureSystolic", month, day.today, "LATEST", last),
        reading("What was the lower value on average last month?", "BLOOD_PRESSURE",
                "BLOOD_PRESSURE_DIASTOLIC", "BloodPressureDiastolic", month, after, None, mean),
        reading("How often did I measure it?", "BLOOD_PRESSURE", "BLOOD_PRESSURE_SYSTOLIC",
                "BloodPressureSystolic", month, after, "COUNT", len),
        reading("How fast do I breathe?", "RESPIRATORY_RATE", "RESPIRATORY_RATE",
                "RespiratoryRate", month, after, None, mean, "MONTH"),
    ]


def body(export, day):
    month, after = day.last_first, day.first

    def reading(word, kind, name, statistic, reckoned, start=month):
        values, source = export.readings(name, export.at(start), export.at(day.today))
        return (ask(word, start, day.today, "TOTAL", statistic),
                {"type": kind, "source_id": source}, reckoned(values) if values else None)

    water = export.added("DietaryWater", export.at(day.yesterday), export.at(day.today))
    return [
        Question("What do I weigh?",
                 *reading("BODY_METRICS", "WEIGHT", "BodyMass", "LATEST", lambda all: all[-1])),
        Question("What did I weigh on average this year?",
                 *reading("BODY_METRICS", "WEIGHT", "BodyMass", "AVERAGE", mean, day.year)),
        Question("How much water did I drink yesterday?",
                 ask("BODY_METRICS", day.yesterday, day.today, "DAY"), merged("WATER"), water),
        Question("How is my blood sugar?", ask("GLUCOSE", month, day.today, "TOTAL"),
                 {"type": "BLOOD_GLUCOSE", "source_id": "all"},
                 mean(value for _, value in export.everything(
                     "BloodGlucose", export.at(month), export.at(day.today)))),
        Question("How fast do I walk?",
                 *reading("WALKING_SPEED", "WALKING_SPEED", "WalkingSpeed", None, mean)),
    ]


def sleep(export, day):
    month, after = day.last_first, day.first
    nights, naps = export.nights(month, after)

    def minutes(name, days=None, reckoned=mean):
        found = [Fraction(night[name], 60) for on, night in nights.items()
                 if name in night and (days is None or on in days)]
        return reckoned(found) if found else None

    has_sleep = any(sample.value in ASLEEP for sample in export.samples.get(SLEEP, ())
                    if export.at(month) - 86400 <= sample.start < export.at(after))
    where = merged("SLEEP_SESSION" if has_sleep else "SLEEP_IN_BED")
    asked = ask("SLEEP", month, after, "MONTH", "AVERAGE")
    last = after - DAY
    return [
        Question("How long did I sleep on average last month?", asked, where, minutes("asleep")),
        Question("How long did I sleep in its last night?", ask("SLEEP", last, after, "DAY"),
                 where, minutes("asleep", {last})),
        Question("How much of it was deep sleep, on average?", asked, where,
                 minutes("AsleepDeep"), part="sleep.deep"),
        Question("How long did I lie in bed?", asked, where, minutes("InBed"),
                 part="sleep.in_bed"),
        Question("How often did I nap?", ask("SLEEP", month, after, "MONTH", "COUNT"),
                 merged("SLEEP_SESSION"), len(naps) if nights or naps else None,
                 part="sleep.naps"),
    ]


def rest(export, day):
    month, after = day.last_first, day.first
    trained = {}
    for time, app, kind in export.workouts:
        if export.at(month) <= time < export.at(after):
            trained[app, kind] = trained.get((app, kind), 0) + 1
    often = max(trained, key=lambda found: (trained[found], found), default=(None, None))
    calm = [sample for sample in export.samples.get(MINDFUL, ())
            if export.at(month) <= (sample.start + sample.end) / 2 < export.at(after)]
    sums = {}
    for sample in calm:
        sums[sample.source] = sums.get(sample.source, 0) + Fraction(sample.end - sample.start, 60)
    source = min(sums, default=None)
    return [
        Question("How often did I do what I do most, last month?",
                 ask("WORKOUT", month, after, "MONTH", "COUNT"),
                 {"type": "WORKOUT", "source_id": often[0], "workout_type": often[1]},
                 trained.get(often)),
        Question("How many minutes did I meditate last month?",
                 ask("MINDFULNESS", month, after, "MONTH"),
                 {"type": "MINDFULNESS", "source_id": source}, sums.get(source)),
    ]
