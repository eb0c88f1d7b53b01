"""Health samples for the checks of the dashboard, as phones send them."""

import http.client
import json
import math
import time
import urllib.parse

DAY = 86_400
QUANTITY = "HKQuantityTypeIdentifier"
SLEEP = "HKCategoryTypeIdentifierSleepAnalysis"
# HealthKit's numbers of the stages of sleep.
STAGES = {"awake": 2, "core": 3, "deep": 4, "rem": 5}


def instant(seconds):
    """Returns a time in the form of batches."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Phone:
    """A phone that sends the samples of one person."""

    def __init__(self, base, secret):
        self.base = urllib.parse.urlparse(base)
        self.secret = secret
        self.connection = http.client.HTTPConnection(self.base.hostname, self.base.port)
        self.waiting = {}
        self.workouts = []

    def add(self, name, start, end, value, unit, source="Watch"):
        kind = name if name.startswith("HK") else QUANTITY + name
        self.waiting.setdefault(kind, []).append({
            "recordType": kind, "sourceName": source, "value": value, "unit": unit,
            "startTime": instant(start), "endTime": instant(end)})

    def workout(self, kind, start, seconds, source="Watch", **more):
        self.workouts.append({
            "workoutType": "HKWorkoutActivityType" + kind, "sourceName": source,
            "durationSeconds": seconds, "startTime": instant(start),
            "endTime": instant(start + seconds), **more})

    def sync(self, now):
        """Sends what waits, at a time of the phone's clock."""
        for kind, records in self.waiting.items():
            for first in range(0, len(records), 4000):
                self.post({"dataType": kind, "records": records[first:first + 4000]}, now)
        if self.workouts:
            self.post({"dataType": "HKWorkoutType", "workouts": self.workouts}, now)
        self.waiting, self.workouts = {}, []

    def post(self, batch, now):
        body = json.dumps({**batch, "deviceId": "phone", "timestamp": instant(now)})
        token = "Bearer " + self.secret
        self.connection.request("POST", "/api/sync", body, {"Authorization": token.encode()})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {text[:300]}")


def night(phone, midnight, scale=1.0):
    """Adds a night that begins an hour before midnight. Returns its hours by stage."""
    at, hours = midnight - 3600, dict.fromkeys(STAGES, 0)
    for stage, minutes in (("core", 90), ("deep", 60), ("core", 90), ("rem", 80), ("awake", 12),
                           ("core", 60), ("rem", 40)):
        length = round(minutes * scale) * 60
        phone.add(SLEEP, at, at + length, STAGES[stage], None)
        at += length
        hours[stage] += length / 3600
    return hours


def usual(phone, newest, days):
    """
    Adds the usual data of days up to that of `newest`, by UTC. Nothing is recorded 12 to 15 days
    before, and no steps are counted 5 days before. Returns the steps by the number of days before.
    """
    midnight = newest // DAY * DAY
    told = {}
    for age in range(days, -1, -1):
        at = midnight - age * DAY
        if 12 <= age < 16:
            continue
        steps = 0 if age == 5 else 5000 + 250 * (age % 13) + (1000 if age >= 30 else 0)
        noon = min(at + DAY // 2, newest - 600)
        if age == 0:
            steps = 1200
        phone.add("StepCount", noon - 1800, noon, steps, "count")
        phone.add("StepCount", noon - 1700, noon, steps // 2, "count", "iPhone")
        told[age] = steps
        for hour, rate in ((1, 48), (4, 52), (7, 70), (8, 90 + age % 7)):
            phone.add("HeartRate", at + hour * 3600, at + hour * 3600, rate, "count/min")
        if age % 9 != 4:
            phone.add("RestingHeartRate", at + 3600, at + 3600, 55 + math.sin(age / 9),
                      "count/min")
        night(phone, at, 0.9 + 0.02 * (age % 10))
        if age % 4 == 0:
            phone.add("BodyMass", at + 6 * 3600, at + 6 * 3600, 78 + age % 3, "kg")
        phone.add("FlightsClimbed", noon - 600, noon - 300, age % 5, "count")
        if age % 3 == 1:
            phone.workout("Running", at + 6 * 3600, 1800, totalDistance=5, totalEnergyBurned=300)
    return told


def long(phone, newest, days):
    """Adds some samples for each of many days."""
    midnight = newest // DAY * DAY
    for age in range(days, -1, -1):
        at = midnight - age * DAY
        wave = math.sin(age / 60)
        for hour in range(6, 22, 3):
            start = at + hour * 3600
            if start + 1800 > newest:
                break
            phone.add("StepCount", start, start + 1800, 1500 + round(400 * wave), "count")
        for hour in range(0, 24, 2):
            if at + hour * 3600 <= newest:
                phone.add("HeartRate", at + hour * 3600, at + hour * 3600,
                          60 + hour + round(5 * wave), "count/min")
        phone.add("RestingHeartRate", at, at, 55 + 2 * wave, "count/min")
        night(phone, at)
        if age % 3 == 0:
            phone.workout("Cycling", at + 3600, 3600, totalDistance=20)
