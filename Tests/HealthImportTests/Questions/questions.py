"""The questions about an export, and the days that they are about."""

import functools

SETS = {
    "generated": {
        "zone": "Europe/Zurich", "now": "2025-12-31T19:00:00Z", "run": "RUNNING",
        "week": ("2025-12-15", "2025-12-22"), "before": ("2025-11-15", "2025-12-15"),
        "year": ("2025-01-01", "2026-01-01"), "month": ("2025-10-01", "2025-11-01"),
        "span": ("2025-11-01", "2026-01-01"), "day": ("2025-03-03", "2025-03-04"),
        "earlier": ("2025-09-01", "2025-11-01"), "today": ("2025-12-31", "2026-01-01"),
        "ending": ("2025-12-26", "2026-01-01"),
    },
    "real": {
        "zone": "Europe/Berlin", "now": "2017-11-12T12:00:00Z", "run": "RUNNING",
        "week": ("2017-10-23", "2017-10-30"), "before": ("2017-09-23", "2017-10-23"),
        "year": ("2017-01-01", "2018-01-01"), "month": ("2017-10-01", "2017-11-01"),
        "span": ("2017-09-01", "2017-11-01"), "day": ("2017-09-03", "2017-09-04"),
        "earlier": ("2017-07-01", "2017-09-01"), "today": ("2017-11-12", "2017-11-13"),
        "ending": ("2017-11-07", "2017-11-13"),
    },
}


def one_call(plan, value_type, span, **more):
    """Returns a call about one type and one span of the plan."""
    start, end = plan[span]
    return "get_health_metrics", {
        "value_type": value_type, "start_time": start, "end_time": end, **more}


def further(plan):
    """Returns calls about spans of different lengths, days that are not over, and events."""
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
        "steps of the days until today": ask("STEPS", "ending", group_by="DAY", format="table"),
        "steps of all weekdays and of all weekends": ask(
            "STEPS", "span", group_by="WEEKPART", statistic="SUM"),
        "headaches by month": ask("HEADACHE", "year", group_by="MONTH", format="table"),
        "my last period": ask(
            "MENSTRUAL_FLOW", "year", group_by="TOTAL", statistic="LATEST"),
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
