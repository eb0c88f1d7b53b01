"""A health sync server for `holdfast health sync`: refusals, cuts, lost answers, kills of the phone.

The peer writes exports, lets the phone import and sync them, and compares the samples received with
the newest export. docs/health-sync.md specifies how the phone interprets each answer.
"""
import datetime
import gzip
import http.server
import json
import signal
import threading
import time
import uuid

from peer import HANG, SHORT_WAITS, Broken, check, check_that, main

DAY = 86400
QUANTITIES = {  # type: unit of the export, unit of the wire, factor
    "HKQuantityTypeIdentifierStepCount": ("count", "count", 1),
    "HKQuantityTypeIdentifierHeartRate": ("count/min", "count/min", 1),
    "HKQuantityTypeIdentifierActiveEnergyBurned": ("kJ", "kcal", 1 / 4.184),
    "HKQuantityTypeIdentifierBodyMass": ("kg", "lb", 1 / 0.45359237),
    "HKQuantityTypeIdentifierVO2Max": ("mL/min·kg", "mL/min·kg", 1),
}
SLEEP, WORKOUT = "HKCategoryTypeIdentifierSleepAnalysis", "HKWorkoutType"
STAGES = ["InBed", "AsleepUnspecified", "Awake", "AsleepCore", "AsleepDeep", "AsleepREM"]


def local(moment):
    """Formats a time as exports do, in a zone derived from the time."""
    zone = datetime.timezone(datetime.timedelta(hours=moment % 5 - 2))
    return datetime.datetime.fromtimestamp(moment, zone).strftime("%Y-%m-%d %H:%M:%S %z")


def wire(moment):
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Sample:
    """A sample in the forms of an export and of the wire."""

    def __init__(self, chance, kind, begin):
        self.kind, self.begin, self.end = kind, begin, begin + chance.randint(1, 50)
        source, value = chance.choice(["Watch", "Phone & <Pad>"]), chance.randint(1, 2000) / 4
        times = f'startDate="{local(self.begin)}" endDate="{local(self.end)}"'
        origin = f'sourceName="{source.replace("&", "&amp;").replace("<", "&lt;")}" '
        self.fields = {"sourceName": source, "startTime": wire(self.begin), "endTime": wire(self.end)}
        if kind == WORKOUT:
            name = "HKWorkoutActivityType" + chance.choice(["Running", "Yoga", "Curling"])
            minutes = chance.randint(4, 400) / 4
            self.xml = (
                f'<Workout workoutActivityType="{name}" duration="{minutes}" durationUnit="min" '
                f'totalDistance="{value}" totalDistanceUnit="km" totalEnergyBurned="{value}" '
                f'totalEnergyBurnedUnit="kcal" {origin}{times}/>')
            self.fields |= {"workoutType": name, "durationSeconds": minutes * 60,
                            "totalDistance": value / 1.609344, "totalEnergyBurned": value}
        elif kind == SLEEP:
            stage = chance.randrange(len(STAGES))
            self.xml = (f'<Record type="{kind}" {origin}value="HKCategoryValueSleepAnalysis'
                        f'{STAGES[stage]}" {times}/>')
            self.fields |= {"recordType": kind, "value": stage, "valueText": STAGES[stage]}
        else:
            unit, sent, factor = QUANTITIES[kind]
            self.xml = f'<Record type="{kind}" {origin}unit="{unit}" value="{value}" {times}/>'
            self.fields |= {"recordType": kind, "value": value * factor, "unit": sent}

    def key(self):
        return self.kind, self.fields["sourceName"], self.fields["startTime"], self.fields["endTime"]


class Export:
    """The phone's health data and its exports."""

    def __init__(self, peer):
        self.peer, self.chance = peer, peer.chance
        self.now = int(time.time()) - 3600
        self.samples, self.expected, self.number = [], {}, 0
        self.slots = set()
        for kind in [*QUANTITIES, SLEEP, WORKOUT]:
            # The first and the last sample are kept, so that each export covers the time between them.
            for moment in (self.now - 100 * DAY, self.now - 60):
                self.samples.append(Sample(self.chance, kind, moment))
            for _ in range(self.chance.choice([3, 40, 1500])):
                self.add(kind, self.chance.choice([29, 29, 29, 99]))
        # Samples older than 30 days at the first export are not sent.
        for sample in self.samples:
            if sample.begin > self.now - 30 * DAY:
                self.expected[sample.key()] = sample

    def add(self, kind, days, is_later=False):
        slot = self.chance.randrange(60, days * DAY // 60)
        begin = self.now - slot * 60
        # There are no samples near the limit of 30 days.
        if (kind, slot) in self.slots or 29 * DAY < self.now - begin < 31 * DAY:
            return
        self.slots.add((kind, slot))
        sample = Sample(self.chance, kind, begin)
        self.samples.append(sample)
        if is_later:
            self.expected[sample.key()] = sample

    def change(self):
        """Deletes and adds samples of any time. New samples are sent whatever their date."""
        for kind in [*QUANTITIES, SLEEP, WORKOUT]:
            mine = [s for s in self.samples if s.kind == kind and s.begin not in (
                self.now - 100 * DAY, self.now - 60)]
            for sample in self.chance.sample(mine, min(len(mine), self.chance.randint(0, 5))):
                self.samples.remove(sample)
                self.expected.pop(sample.key(), None)
            for _ in range(self.chance.randint(0, 20)):
                self.add(kind, self.chance.choice([29, 99]), is_later=True)

    def write(self):
        self.number += 1
        lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<HealthData locale="en_GB">',
                 f' <ExportDate value="{local(self.now + self.number)}"/>']
        records = [s for s in self.samples if s.kind != WORKOUT]
        workouts = [s for s in self.samples if s.kind == WORKOUT]
        for part in (records, workouts):
            self.chance.shuffle(part)
            lines += [" " + sample.xml for sample in part]
        return self.peer.write(f"export-{self.number}.xml", "\n".join([*lines, "</HealthData>", ""]))


class Store:
    """The data that the server stores, and the faults of the phone that it has detected."""

    def __init__(self, peer):
        self.peer, self.chance, self.lock = peer, peer.chance, threading.Lock()
        self.secret, self.run, self.is_tired, self.killed = "s" * 40, 0, False, set()
        self.samples, self.stamps = {}, {}  # uuid: record; uuid: newest stamp
        self.answered = {}  # uuid: (run, stamp) of an answered addition
        self.newest, self.busy, self.closed = {}, set(), (0, 0, 0)
        self.wire = open(peer.path("wire"), "a", encoding="utf-8")
        self.uploads, self.broken, self.refreshed = {}, None, 0
        self.dialect = self.chance.choice(["none", "draft", "tus"])
        self.is_gzip = self.chance.random() < 0.5
        self.limit = self.chance.choice([6000, 40_000, 4 * 2**20])

    @property
    def is_calm(self):
        return self.is_tired or self.peer.is_over()

    def find(self, what, expected, actual):
        if self.broken is None:
            self.broken = Broken(what, expected, actual)

    def take(self, batch):
        """Stores a batch once. The newest batch that contains a UUID wins."""
        stamp, kind = batch["timestamp"], batch["dataType"]
        if stamp < self.newest.get(kind, ""):
            self.find(f"stamp of a batch of {kind}", f"{self.newest[kind]} or later", stamp)
        self.newest[kind] = stamp
        for name in batch.get("deletedUUIDs") or []:
            if self.stamps.get(name, "") <= stamp:
                self.stamps[name] = stamp
                self.samples.pop(name, None)
                self.answered.pop(name, None)
        members = (batch.get("records") or []) + (batch.get("workouts") or [])
        if len(members) > 1000:
            self.find("members of a batch", "1000 at most", len(members))
        inserted = 0
        for member in members:
            name = member["uuid"]
            if str(uuid.UUID(name)).upper() != name:
                self.find("form of a UUID", str(uuid.UUID(name)).upper(), name)
            before = self.answered.get(name)
            # A phone that was killed may have lost the answer.
            if before and (before[0] == self.run or before[0] not in self.killed):
                self.find(f"a sample of {kind} that was acknowledged in run {before[0]}",
                          "not sent again", f"sent again in run {self.run}")
            inserted += name not in self.samples
            if self.stamps.get(name, "") <= stamp:
                self.stamps[name], self.samples[name] = stamp, dict(member, kind=kind)
        return inserted, len(members) - inserted

    def acknowledge(self, batch):
        for member in (batch.get("records") or []) + (batch.get("workouts") or []):
            self.answered[member["uuid"]] = (self.run, batch["timestamp"])


class Backend(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # the connections of a killed phone end


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store = work = None

    def log_message(self, *_):
        pass

    def parse_request(self):
        self.note("asks")
        return super().parse_request()

    def note(self, text):
        with self.store.lock:
            self.store.wire.write(f"{time.time():.3f} run {self.store.run} "
                                  f"{self.client_address[1]} {text}\n")
            self.store.wire.flush()

    def idle(self):
        """Allows the next batch of the type, before the phone receives the answer."""
        self.store.busy.discard(self.work)

    def reply(self, status, value=b"", kind="application/json", **fields):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.idle()
        self.note(f"{self.command} {self.path} {self.work} is answered {status} {fields}")
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        for name, text in fields.items():
            self.send_header(name.replace("_", "-"), str(text))
        self.end_headers()
        if status != 204 and self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def cut(self):
        self.note(f"{self.command} {self.path} {self.work} is cut")
        self.idle()
        self.close_connection = True
        self.connection.shutdown(2)

    def is_let_in(self):
        return self.headers["Authorization"] == f"Bearer {self.store.secret}"

    def do_GET(self):
        fields = {"Accept_Encoding": "gzip"} if self.store.is_gzip else {}
        self.reply(200, {"status": "ok", "endpoint": "sync"}, **fields)

    def do_OPTIONS(self):
        dialect = self.store.dialect
        if dialect == "draft":
            self.reply(204, Accept_Patch="application/partial-upload", Upload_Limit="max-size=4194304",
                       Upload_Draft_Interop_Version=8)
        elif dialect == "tus":
            self.reply(204, Tus_Resumable="1.0.0", Tus_Version="1.0.0", Tus_Max_Size=2**22,
                       Tus_Extension="creation,termination")
        else:
            self.reply(405, {"error": "no OPTIONS"})

    def do_HEAD(self):
        upload = self.store.uploads.get(self.path)
        if upload is None:
            return self.reply(404)
        fields = {"Upload_Offset": len(upload["bytes"]), "Cache_Control": "no-store"}
        if self.store.dialect == "tus":
            fields |= {"Tus_Resumable": "1.0.0", "Upload_Length": upload["length"]}
        else:
            fields |= {"Upload_Complete": "?0", "Upload_Draft_Interop_Version": 8}
        return self.reply(200 if self.store.dialect == "tus" else 204, **fields)

    def do_PATCH(self):
        store, upload = self.store, self.store.uploads.get(self.path)
        size, chance = int(self.headers["Content-Length"]), self.store.chance
        if not self.is_let_in() or upload is None:
            self.rfile.read(size)
            return self.reply(404 if self.is_let_in() else 401, {"error": "no"})
        if int(self.headers["Upload-Offset"]) != len(upload["bytes"]):
            store.find("offset of a piece", len(upload["bytes"]), self.headers["Upload-Offset"])
        if not store.is_calm and chance.random() < 0.2:
            upload["bytes"] += self.rfile.read(chance.randint(0, size))
            store.peer.count("cut pieces")
            return self.cut()
        upload["bytes"] += self.rfile.read(size)
        whole = len(upload["bytes"]) == upload["length"] if store.dialect == "tus" else (
            self.headers["Upload-Complete"] == "?1")
        if not whole:
            return self.reply(204, Upload_Offset=len(upload["bytes"]), **(
                {"Tus_Resumable": "1.0.0"} if store.dialect == "tus" else {"Upload_Complete": "?0"}))
        del store.uploads[self.path]
        store.peer.count("uploads")
        # tus requires the offset in each answer to a piece that was stored, also in the last one.
        self.offset = {"Upload_Offset": len(upload["bytes"]), "Tus_Resumable": "1.0.0"} if (
            store.dialect == "tus") else {}
        return self.batch(bytes(upload["bytes"]), upload["coding"], len(upload["bytes"]))

    def do_POST(self):
        store, arrival, self.offset = self.store, time.monotonic(), {}
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path == "/api/sync/refresh":
            store.refreshed += self.is_let_in()
            return self.reply(200, {"success": True, "refreshedIn": 1}) if self.is_let_in() else (
                self.reply(401, {"error": "Unauthorized"}))
        if not self.is_let_in():
            return self.reply(401, {"error": "Unauthorized"})
        # The answer does not apply to a request of another run or one that was already in transit.
        begin, wait, run = store.closed
        since = arrival - begin
        if 0.4 < since < wait - 0.05 and run == store.run:
            store.find(f"a request after Retry-After: {wait}", "none", f"one {since:.2f} s later")
        begins = self.headers["Upload-Complete"] == "?0" or "Upload-Length" in self.headers and (
            "Tus-Resumable" in self.headers)
        coding = self.headers["Content-Encoding"]
        if begins:
            with store.lock:
                place = f"/api/sync/place/{len(store.uploads)}-{uuid.uuid4()}"
                store.uploads[place] = {"bytes": bytearray(body), "coding": coding, "length": int(
                    self.headers["Upload-Length"] or 0)}
            fields = {"Tus_Resumable": "1.0.0"} if store.dialect == "tus" else {
                "Upload_Complete": "?0", "Upload_Draft_Interop_Version": 8}
            return self.reply(201, Location=place, Upload_Offset=len(body), **fields)
        return self.batch(body, coding, len(body))

    def batch(self, body, coding, size):
        store, chance = self.store, self.store.chance
        if coding == "gzip" and not store.is_gzip:
            return self.reply(415, {"error": "coding"})
        try:
            batch = json.loads(gzip.decompress(body) if coding == "gzip" else body)
        except ValueError as error:
            store.find("body of a batch", "JSON", repr(error))
            return self.reply(400, {"error": "no JSON"})
        if size > store.limit:
            store.peer.count("413s")
            return self.reply(413, {"error": "too large"})
        # A request of a killed phone may still be in progress.
        self.work = (store.run, batch["dataType"])
        with store.lock:
            if self.work in store.busy:
                store.find(f"batches of {batch['dataType']} at once", 1, 2)
            store.busy.add(self.work)
        time.sleep(0 if store.is_calm else chance.choice([0, 0, 0.02, 0.1]))
        fault = "none" if store.is_calm else chance.choice(
            ["none"] * 8 + ["unstored", "unsent", "half", "busy", "500", "login", "page", "park"])
        return self.answer(batch, "none" if fault in store.peer.without else fault)

    def answer(self, batch, fault):
        store, chance = self.store, self.store.chance
        if fault != "none":
            store.peer.count(fault)
        if fault == "unstored":
            return self.cut()
        if fault == "busy":
            wait = chance.choice([0, 1, 1])
            store.closed = time.monotonic(), wait, store.run
            return self.reply(chance.choice([429, 503]), {"error": "busy"}, Retry_After=wait)
        if fault == "500":
            return self.reply(chance.choice([500, 501, 507]), {"error": "failed"})
        if fault == "login":
            return self.reply(302, b"", Location="http://login.example/")
        if fault == "page":
            return self.reply(200, b"<!DOCTYPE html><html><body>Sign in</body></html>", "text/html")
        if fault == "park":
            return self.reply(chance.choice([400, 403, 422]), {"error": "refused", "details": "no"})
        with store.lock:
            inserted, skipped = store.take(batch)
        value = {"success": True, "inserted": {"records": inserted, "workouts": 0},
                 "skippedDuplicates": skipped}
        if fault == "unsent":
            return self.cut()
        if fault == "half":
            self.send_response(200)
            self.send_header("Content-Length", "500")
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())
            self.wfile.flush()
            return self.cut()
        self.reply(200, value, **self.offset)
        with store.lock:
            store.acknowledge(batch)
        return None


def sync(peer, store, url, secret):
    """Runs the phone once, and returns its exit status, or None if it was killed."""
    store.run += 1
    child = peer.start("health", "sync", "--server", url, "--secret-file", secret, "--data",
                       peer.path("phone"), "--once", "--json", "--resume-from", "3000", *SHORT_WAITS,
                       stdout=open(peer.path(f"out-{store.run}"), "wb"))
    kill_after = None if store.is_calm or peer.chance.random() < 0.6 else peer.chance.uniform(0.05, 2)
    try:
        return child.wait(kill_after or HANG)
    except Exception:
        if kill_after is None:
            raise Broken("health sync --once ends", f"within {HANG} s", "it runs") from None
        store.killed.add(store.run)
        child.send_signal(signal.SIGKILL)
        child.wait()
        peer.count("kills")
        return None


def compare(export, store):
    """Compares the server's samples with the newest export."""
    found = {}
    for member in store.samples.values():
        key = member["kind"], member["sourceName"], member["startTime"], member["endTime"]
        check_that("a sample under two UUIDs", key not in found, "one", key)
        found[key] = member
    missing, foreign = export.expected.keys() - found.keys(), found.keys() - export.expected.keys()
    check_that("samples that the server lacks", not missing, "none", (len(missing), sorted(missing)[:3]))
    check_that("samples that the export lacks", not foreign, "none", (len(foreign), sorted(foreign)[:3]))
    for key, sample in export.expected.items():
        for name, value in sample.fields.items():
            actual = found[key].get(name)
            is_same = (isinstance(actual, (int, float)) and abs(actual - value) <= 1e-6 * abs(value)
                       if isinstance(value, (int, float)) else actual == value)
            check_that(f"{name} of {key}", is_same, value, actual)


def play(peer):
    store = Store(peer)
    Handler.store = store
    server = Backend(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, secret = f"http://127.0.0.1:{server.server_port}", peer.write("secret", store.secret + "\n")
    export = Export(peer)
    while True:
        peer.call("health", "import", export.write(), "--data", peer.path("phone"))
        peer.count("exports")
        refreshed, tries, store.is_tired = store.refreshed, 0, False
        if not store.is_calm and peer.chance.random() < 0.3:
            store.secret = "t" * 20 + str(export.number)
            peer.call("health", "sync", "--server", url, "--secret-file", secret, "--data",
                      peer.path("phone"), "--once", code=3)
            peer.write("secret", store.secret + "\n")
            peer.count("secrets")
        while True:
            code = sync(peer, store, url, secret)
            if store.broken:
                raise store.broken
            if code == 0:
                break
            tries += 1
            store.is_tired = tries > 8
            check_that("exit status of health sync --once", code in (None, 1, 6), "0, 1 or 6", code)
            if code == 1:
                peer.call("health", "retry", "--data", peer.path("phone"))
        check_that("a refresh once all was sent", store.refreshed > refreshed, "one or more", 0)
        compare(export, store)
        for line in peer.call("health", "status", "--data", peer.path("phone"), "--json").splitlines():
            state = json.loads(line)
            if "type" not in state:  # a line about the owner of the queue
                continue
            check(f"batches of {state['type']} that wait or are quarantined", (0, 0), (
                state.get("pending"), state.get("quarantined")))
        if peer.is_over():
            break
        export.change()
    peer.count("samples", len(store.samples))


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
