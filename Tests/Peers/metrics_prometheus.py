"""Lets Debian's Prometheus scrape a backend, with the alerts of packaging/prometheus."""
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from peer import HANG, ROOT, Backend, Broken, ask, check, check_that, end_with_parent, free_port, main, upgrade

FOLDER = os.path.join(ROOT, "packaging", "prometheus")
FAMILIES = [
    "holdfast_build_info", "holdfast_ready", "holdfast_connections", "holdfast_messages_accepted_total",
    "holdfast_relay_phones", "holdfast_request_seconds_bucket", "holdfast_store_commit_seconds_bucket",
    "holdfast_database_bytes", "holdfast_disk_free_bytes", "holdfast_disk_size_bytes", "holdfast_refusals_total",
    "holdfast_ceiling", "holdfast_ceiling_used", "process_resident_memory_bytes", "process_open_fds",
    "process_max_fds", "process_cpu_seconds_total", "process_start_time_seconds"]


def promtool(*words, **options):
    run = subprocess.run(["promtool", *words], capture_output=True, text=True, cwd=FOLDER, check=False, **options)
    check(f"promtool {' '.join(words)}: {run.stdout[-600:]} {run.stderr[-600:]}", 0, run.returncode)
    return run.stdout + run.stderr


class World:
    def __init__(self, peer):
        self.peer = peer
        self.metrics, self.port = free_port(), free_port()
        self.backend = Backend(peer, "--metrics-listen", f"127.0.0.1:{self.metrics}").start()
        with open(os.path.join(FOLDER, "holdfast.rules.yml"), encoding="utf-8") as file:
            rules = file.read()
        # An alert begins at once, so that a run is short.
        peer.write("holdfast.rules.yml", re.sub(r"\bfor: \w+", "for: 0s", rules))
        with open(os.path.join(FOLDER, "prometheus.yml"), encoding="utf-8") as file:
            config = file.read().replace("15s", "2s").replace("127.0.0.1:9464", f"127.0.0.1:{self.metrics}")
        self.child = subprocess.Popen(
            ["prometheus", f"--config.file={peer.write('prometheus.yml', config)}",
             f"--storage.tsdb.path={peer.path('tsdb')}", f"--web.listen-address=127.0.0.1:{self.port}"],
            stdin=subprocess.DEVNULL, stdout=peer.log, stderr=peer.log, preexec_fn=end_with_parent)
        peer.children.append(self.child)

    def api(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=HANG) as answer:
            return json.load(answer)["data"]

    def values(self, query):
        return [float(each["value"][1]) for each in self.api("query", query=query)["result"]]

    def until(self, what, expected, find):
        """Waits until Prometheus tells a value."""
        end, actual = time.monotonic() + HANG, None
        while time.monotonic() < end:
            try:
                actual = find()
                if actual == expected:
                    return
            except (OSError, urllib.error.URLError) as error:
                actual = error
            time.sleep(0.2)
        raise Broken(what, expected, actual)

    def firing(self):
        """Returns the alerts that are on, without those that depend on the machine, such as a full disk."""
        return sorted({each["labels"]["alertname"] for each in self.api("alerts")["alerts"]
                       if each["state"] == "firing"} & {"HoldfastDown", "HoldfastNotReady"})

    def ask(self, path, body=None):
        return ask(self.backend.port, "POST" if body else "GET", path, self.token, body)[0]

    def play(self):
        promtool("check", "rules", "holdfast.rules.yml")
        promtool("check", "config", "prometheus.yml")
        check_that("promtool test rules", "SUCCESS" in promtool("test", "rules", "holdfast.tests.yml"), "SUCCESS", "none")
        self.token = self.backend.token("ann")
        for number in range(3):
            body = {"shop_id": "bakery", "message": f"{number}"}
            check("status of a post", 201, self.ask("/api/v1/auth/shops/messages", body))
        check("metrics at the address for clients", 404, self.ask("/metrics"))
        check("what promtool finds in the metrics", "", promtool("check", "metrics", input=ask(self.metrics, "GET", "/metrics")[2].decode()))
        self.until("up", [1.0], lambda: self.values("up"))
        self.until("messages", [3.0], lambda: self.values("holdfast_messages_accepted_total"))
        for family in FAMILIES:
            check_that(f"samples of {family}", self.values(family), "some", "none")
        self.peer.count("families", len(set(self.api("label/__name__/values"))))
        self.until("health of all rules", {"ok"}, lambda: {
            rule["health"] for group in self.api("rules")["groups"] for rule in group["rules"]})
        self.until("alerts", [], self.firing)
        self.freeze()
        self.drain()

    def freeze(self):
        self.backend.child.send_signal(signal.SIGSTOP)
        self.until("alerts about a frozen backend", ["HoldfastDown"], self.firing)
        self.backend.child.send_signal(signal.SIGCONT)
        self.until("alerts once it runs again", [], self.firing)
        self.peer.count("freezes")

    def drain(self):
        """Ends backends until Prometheus has asked one that drains, for which a busy machine may be too slow."""
        fired = 'max_over_time(ALERTS{alertname="HoldfastNotReady",alertstate="firing"}[1h])'
        limit = time.monotonic() + HANG
        while True:
            # It never answers a close frame, so that the drain takes some seconds.
            status, _, follower = upgrade(self.backend.port, "/api/v1/auth/shops/bakery/messages/stream", self.token)
            check("status of an upgrade", 101, status)
            self.backend.child.terminate()
            check("exit status of serve after SIGTERM", 0, self.backend.child.wait(HANG))
            follower.close()
            self.until("alerts about a backend that has ended", ["HoldfastDown"], self.firing)
            self.peer.count("drains")
            if self.values(fired) == [1.0]:
                return
            check_that("alerts about a backend that drains", time.monotonic() < limit, "HoldfastNotReady", "none")
            self.backend.start()
            self.until("alerts once it runs again", [], self.firing)


def play(peer):
    World(peer).play()


if __name__ == "__main__":
    main(__doc__.splitlines()[0], play)
