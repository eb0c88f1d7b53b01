"""A health sync client against `holdfast serve`: batches, deletions, uploads, errors, kills.

The model follows docs/health-sync.md: a sample is identified by its content and is deleted with the
last of its UUIDs, and the newest batch that names a UUID wins. Answers and totals must match it.
"""
import collections
import datetime
import gzip
import http.client
import json
import threading
import uuid
import zoneinfo

from peer import Backend, Broken, check, check_that, main
from uploads import Uploader

STEPS, RATE = "HKQuantityTypeIdentifierStepCount", "HKQuantityTypeIdentifierHeartRate"
WORKOUT = "HKWorkoutType"
ZONE = "Europe/Berlin"
FIRST = datetime.datetime(2025, 10, 24, tzinfo=datetime.timezone.utc)  # clocks change on the 26th
DAYS = 90


def instant(seconds):
    return (FIRST + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Client(Uploader):
    """The requests of one user, and a model of the user's data on the backend."""

    def __init__(self, peer, backend, user, secret):
        super().__init__(peer, backend, user, secret)
        self.samples = []  # (dataType, content, [uuid])
        self.stamps, self.present, self.history = {}, set(), []
        self.slot = self.stamp = 0

    # Requests

    def get(self, path):
        status, _, body, _ = self.ask("GET", path)
        check(f"status of GET {path}", 200, status)
        return json.loads(body)

    # Batches

    def sample(self, kind):
        """Creates a sample in an unused minute, and returns its index."""
        self.slot += self.chance.randint(1, 7)
        begin = self.slot * 60
        content = {"sourceName": self.chance.choice(["Watch", "Phone", "Ring é"]),
                   "startTime": instant(begin), "endTime": instant(begin + 60)}
        if kind == WORKOUT:
            content |= {"workoutType": "HKWorkoutActivityTypeRunning", "durationSeconds": 60,
                        "totalDistance": 1.5, "totalEnergyBurned": 100}
        else:
            content |= {"recordType": kind, "value": self.chance.randint(1, 180),
                        "unit": "count" if kind == STEPS else "count/min"}
        self.samples.append((kind, content, [str(uuid.uuid4()).upper()]))
        return len(self.samples) - 1

    def batch(self):
        """Returns (stamp, kind, deleted uuids, [(sample, uuid)]). Often contains known samples."""
        kind = self.chance.choice([STEPS, STEPS, RATE, WORKOUT])
        known = [n for n, (k, _, _) in enumerate(self.samples) if k == kind]
        added, deleted = [], []
        for _ in range(self.chance.randint(0, 30)):
            is_new = not known or self.chance.random() < 0.7 and self.slot < DAYS * 1430
            number = self.sample(kind) if is_new else self.chance.choice(known)
            names = self.samples[number][2]
            if self.chance.random() < 0.1:
                names.append(str(uuid.uuid4()).upper())
            added.append((number, self.chance.choice(names)))
        rest = [n for n in known if n not in {number for number, _ in added}]
        for number in self.chance.sample(rest, min(len(rest), self.chance.randint(0, 8))):
            deleted.append(self.chance.choice(self.samples[number][2]))
        self.stamp += 10
        # Every fourth batch has an earlier stamp than its predecessors. No two stamps are equal.
        stamp = self.stamp - (0 if self.chance.random() < 0.75 else self.chance.choice([25, 105]))
        if stamp in {batch[0] for batch in self.history}:
            stamp = self.stamp
        return stamp, kind, deleted, added

    def body(self, batch):
        stamp, kind, deleted, added = batch
        members = [self.samples[number][1] | {"uuid": name} for number, name in added]
        value = {"dataType": kind, "deletedUUIDs": deleted, "deviceId": "peer",
                 "timestamp": instant(10**7 + stamp), "strange": {"a": [None]}}
        value["workouts" if kind == WORKOUT else "records"] = members
        return json.dumps(value, ensure_ascii=self.chance.random() < 0.5).encode()

    def is_there(self, number):
        return any(name in self.present for name in self.samples[number][2])

    def apply(self, batch):
        """Applies a batch, and returns the number of new samples and whether any was stale."""
        stamp, _, deleted, added = batch
        stale = False
        for name in deleted:
            if self.stamps.get(name, stamp) <= stamp:
                self.stamps[name] = stamp
                self.present.discard(name)
        new = set()
        for number, name in added:
            if self.stamps.get(name, stamp) > stamp:
                stale = True
                continue
            if not self.is_there(number):
                new.add(number)
            self.stamps[name] = stamp
            self.present.add(name)
        return len(new), stale

    def check_answer(self, batch, answer, expected, is_exact):
        status, _, body, _ = answer
        check(f"status of a batch of {self.user}: {body[:200]!r}", 200, status)
        value = json.loads(body)
        inserted = value["inserted"]["workouts" if batch[1] == WORKOUT else "records"]
        new, stale = expected
        wanted = {new} if is_exact else {new, 0}
        check_that(f"inserted of a batch of {len(batch[3])}", inserted in wanted, wanted, inserted)
        if not stale:
            check("inserted and skipped of a batch", len(batch[3]), inserted + value["skippedDuplicates"])

    def post(self, batch, is_exact=True):
        """Sends a batch in a randomly chosen way, until it is answered."""
        body, headers = self.body(batch), {"Content-Type": "application/json"}
        expected = self.apply(batch)
        is_exact = is_exact and not self.history.count(batch)
        way = self.chance.choice(["plain", "gzip", "unread", "cut", "twice", "draft", "ios", "tus"])
        self.peer.count(way)
        if way in ("draft", "ios", "tus"):
            _, answer = self.upload(way, "/api/sync", body, "application/json")
            if way != "tus":
                self.check_answer(batch, answer, expected, is_exact)
        elif way == "twice":
            answers = []
            tasks = [threading.Thread(target=lambda: answers.append(
                self.ask("POST", "/api/sync", body, headers))) for _ in range(2)]
            for task in tasks:
                task.start()
            for task in tasks:
                task.join()
            check("answers of a batch that is sent twice at once", 2, len(answers))
            key = "workouts" if batch[1] == WORKOUT else "records"
            inserted = sum(json.loads(answer[2])["inserted"][key] for answer in answers)
            check("inserted of a batch that is sent twice at once", expected[0], inserted)
        else:
            if way == "gzip":
                body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
            if way == "cut":
                self.ask("POST", "/api/sync", body, headers, cut=self.chance.randrange(len(body)))
            if way == "unread":
                self.ask("POST", "/api/sync", body, headers, is_answer_read=False)
            answer = self.ask("POST", "/api/sync", body, headers)
            self.check_answer(batch, answer, expected, is_exact and way != "unread")
        self.history.append(batch)

    # Totals

    def check_totals(self):
        zone = zoneinfo.ZoneInfo(ZONE)
        steps, rates, workouts = {}, {}, []
        for number, (kind, content, _) in enumerate(self.samples):
            if not self.is_there(number):
                continue
            begin = datetime.datetime.fromisoformat(content["startTime"].replace("Z", "+00:00"))
            day = begin.astimezone(zone).date().isoformat()
            if kind == STEPS:
                steps[day] = steps.get(day, 0) + content["value"]
            elif kind == RATE:
                rates.setdefault(day, []).append(content["value"])
            else:
                workouts.append(begin)
        span = "?from=2025-10-23&to=2026-02-01"
        daily = self.get("/api/health/steps" + span)["daily"]
        check(f"steps of {self.user}", steps, {d["date"]: round(d["steps"]) for d in daily if d["steps"]})
        daily = self.get("/api/health/heart-rate" + span)["daily"]
        check(f"least and greatest heart rates of {self.user}",
              {day: (min(values), max(values)) for day, values in rates.items()},
              {d["date"]: (d["min"], d["max"]) for d in daily if d.get("max") is not None})
        found = []
        for workout in self.get("/api/health/workouts" + span)["workouts"]:
            # A time without an offset is in the user's zone. In a repeated hour, it is the earlier time.
            begin = datetime.datetime.fromisoformat(workout["start"])
            found.append((begin if begin.tzinfo else begin.replace(tzinfo=zone)).astimezone(
                datetime.timezone.utc))
        counts = collections.Counter(found)
        counts.subtract(workouts)
        check(f"workouts of {self.user} that are missing or too many", {}, {
            begin.isoformat(): count for begin, count in counts.items() if count})
        self.peer.count("totals")

    # Errors

    def check_errors(self):
        record = {"recordType": "X", "sourceName": "s", "value": 1, "startTime": instant(0),
                  "endTime": instant(60)}

        def batch(**changes):
            return json.dumps({"dataType": "X", "records": [
                {k: v for k, v in (record | changes).items() if v != "gone"}]}).encode()

        tus = {"Tus-Resumable": "1.0.0"}
        table = [
            ("no JSON", 400, "POST", "/api/sync", b"{", {}),
            ("an array", 400, "POST", "/api/sync", b"[]", {}),
            ("no dataType", 400, "POST", "/api/sync", b"{}", {}),
            ("no recordType", 400, "POST", "/api/sync", batch(recordType="gone"), {}),
            ("no sourceName", 400, "POST", "/api/sync", batch(sourceName="gone"), {}),
            ("a value that is an array", 400, "POST", "/api/sync", batch(value=[1]), {}),
            ("a date that is none", 400, "POST", "/api/sync", batch(startTime="yesterday"), {}),
            ("a date before 1678", 400, "POST", "/api/sync", batch(startTime="1677-01-01T00:00:00Z"), {}),
            ("a date after 2261", 400, "POST", "/api/sync", batch(endTime="2262-12-31T00:00:00Z"), {}),
            ("no gzip", 400, "POST", "/api/sync", b"xx", {"Content-Encoding": "gzip"}),
            ("another coding", 415, "POST", "/api/sync", b"{}", {"Content-Encoding": "br"}),
            ("4 MiB and a byte", 413, "POST", "/api/sync", b" " * (4 * 2**20 + 1), {}),
            ("4 MiB and more, compressed", 413, "POST", "/api/sync", gzip.compress(b" " * (5 * 2**20)),
             {"Content-Encoding": "gzip"}),
            ("no secret", 401, "POST", "/api/sync", batch(), {"Authorization": None}),
            ("a secret of nobody", 401, "POST", "/api/sync", batch(), {"Authorization": "Bearer x"}),
            ("an unknown upload", 404, "HEAD", "/api/sync/upload?id=nothing", None, tus),
            ("another version of tus", 412, "POST", "/api/sync", b"",
             {"Tus-Resumable": "0.2.2", "Upload-Length": "5"}),
            ("a foreign host", 421, "POST", "/api/sync", batch(), {"Host": "example.com"}),
            ("a foreign origin", 403, "POST", "/api/sync", batch(), {"Origin": "https://example.com"}),
        ]
        for what, expected, method, path, body, headers in table:
            try:
                status, _, answer, _ = self.ask(method, path, body, headers)
            except (ConnectionError, http.client.HTTPException) as error:
                raise Broken(f"status of a request with {what}", expected, repr(error)) from error
            check(f"status of a request with {what}: {answer[:200]!r}", expected, status)
        _, headers, _, _ = self.ask("POST", "/api/sync", b"", tus | {"Upload-Length": "5"})
        place = headers["Location"].split(f":{self.backend.port}")[-1]
        piece = tus | {"Upload-Offset": "0", "Content-Type": "text/plain"}
        check("a piece of another type", 415, self.ask("PATCH", place, b"12", piece)[0])
        piece["Content-Type"] = "application/offset+octet-stream"
        check("more bytes than announced", 400, self.ask("PATCH", place, b"1234567", piece)[0])
        check("an upload that has ended", 404, self.ask("HEAD", place, headers=tus)[0])
        status, _, body, _ = self.ask("GET", "/api/sync", headers={"Authorization": None})
        check("GET /api/sync without a secret", (200, {"status": "ok", "endpoint": "sync"}), (
            status, json.loads(body)))
        check("user of GET /api/sync", self.user, self.get("/api/sync").get("user"))
        # Numbers are equal if their values are equal, whatever their spelling.
        for text, expected in (("72", 1), ("72.0", 0), ("7.2e1", 0)):
            body = batch(value="NUMBER", sourceName=self.user).replace(b'"NUMBER"', text.encode())
            answer = json.loads(self.ask("POST", "/api/sync", body)[2])
            check(f"inserted with value {text}", expected, answer["inserted"]["records"])


def play(peer):
    secrets = peer.write("secrets", f"# two users\n\nann {'a' * 40} {ZONE}\nbob {'b' * 40} {ZONE}\n")
    backend = Backend(peer, "--sync-secret-file", secrets).start()
    clients = [Client(peer, backend, "ann", "a" * 40), Client(peer, backend, "bob", "b" * 40)]
    for client in clients:
        client.check_errors()
    while not peer.is_over():
        client = peer.chance.choice(clients)
        if client.history and peer.chance.random() < 0.2:
            client.post(peer.chance.choice(client.history), is_exact=False)  # a late copy
            peer.count("copies")
        else:
            client.post(client.batch())
        peer.count("batches")
        fault = peer.chance.random()
        if fault < 0.03:
            backend.kill()
            backend.start()
            peer.count("kills")
        elif fault < 0.05:
            backend.stop()
            backend.start()
            peer.count("restarts")
        elif fault < 0.1:
            client.check_totals()
    for client in clients:
        client.check_totals()
    backend.kill()
    backend.start()
    for client in clients:
        client.check_totals()


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
