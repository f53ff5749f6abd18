#!/usr/bin/env python3
"""A day of a small fleet in minutes: the server's clock is stepped (stepped_clock.c) while nodes send their batches,
faults come and go, one is accepted and one node falls silent. The next day's report is right, in each of its forms."""
import csv
import datetime
import io
import os
import struct
import tempfile
import time

from lib import FABRIC, Agent, must, planned, run
from telemetry import OCTETS, batch

DAY_S, STEP_S, SAMPLES = 86400, 45, 3  # a node that says nothing for a minute is silent
HOUR_S = 3600
REAL_S = 150  # real seconds: the server looks once a minute whether a day has begun
URL = "/v1/health/reports"
CARD = "0000:65:00.0"
NODES = ("n1", "n2", "n3", "n4")


class Clock:
    """The server's; this side's stays."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="stellar-clock-")
        self.ahead_s = 0
        self.set(0)

    def set(self, ahead_s):
        self.ahead_s = ahead_s
        os.pwrite(self.file.fileno(), struct.pack("=q", ahead_s), 0)

    def now_us(self):
        return time.time_ns() // 1000 + self.ahead_s * 1000000

    def now_s(self):
        return self.now_us() // 1000000


def gauge(value):
    return ("gauge", 0, [value] * SAMPLES)


class Fleet:
    """What each node tells at a time of the day, in seconds from its midnight; the day before is below 0."""

    def __init__(self, server, clock, midnight_s):
        self.server, self.clock, self.midnight_s = server, clock, midnight_s
        self.fcs = 100  # of n3; counted before the day
        self.seen = set()  # daily reports
        self.agents = {}
        for name in NODES:
            self.agents[name] = Agent(server, name, server.node(name))
            self.agents[name].report()
        planned(server, *NODES)
        for agent in self.agents.values():
            agent.settle()

    def rows(self, name, at_s):
        thp = 2 if name == "n2" and at_s < 6 * HOUR_S else 0  # from before the day until six
        hot = 99000 if name == "n2" and 8 * HOUR_S <= at_s < 9 * HOUR_S else 40000  # within the day
        lock = 8 << 20 if name == "n3" else 1 << 40  # all the time, and accepted
        before = self.fcs
        if name == "n3" and at_s >= 20 * HOUR_S:  # since eight in the evening
            self.fcs += 5
        rows = [("node", "", 0, 0, 0, {"thp_mode": gauge(thp), "memlock_bytes": gauge(lock)}),
                ("temperature", CARD, 1, 0, 0, {"temperature_millicelsius": gauge(hot),
                                                "temperature_critical_millicelsius": gauge(95000)})]
        if name == "n3":
            counts = [before] * (SAMPLES - 1) + [self.fcs]
            rows.append(("port", "solar_rdma.0/0", 0, 0, 0, {"rx_fcs_errors": ("stays", 0, counts)}))
        return rows

    def speak(self):
        at_s = self.clock.now_s() - self.midnight_s
        for name, agent in self.agents.items():
            if name == "n4" and at_s >= 18 * HOUR_S:  # falls silent at six in the evening
                continue
            start_us = self.clock.now_us() - (SAMPLES - 1) * 1000000
            must(self.server.call("POST", f"/v1/nodes/{name}/telemetry",
                                  batch(self.rows(name, at_s), start_us, seconds=SAMPLES), OCTETS, token=agent.token), 200)

    def step_to(self, at_s):
        while self.clock.now_s() - self.midnight_s < at_s:
            self.clock.set(self.clock.ahead_s + STEP_S)
            self.speak()

    def until(self, what):
        """What it gives at last, while nodes go on in real time."""
        end, found = time.monotonic() + REAL_S, what()
        while not found and time.monotonic() < end:
            self.speak()
            time.sleep(1)
            found = what()
        return found

    def report_of(self, count):
        """The count-th daily report."""
        items = self.until(lambda: [i for i in must(self.server.get(f"{URL}?kind=daily"), 200).json["items"]
                                    if i["id"] not in self.seen])
        assert len(items) == 1, f"no daily report {count}: {items}"
        self.seen.add(items[0]["id"])
        return items[0]


def at(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def hours(item, key, midnight_s):
    return (at(item[key]) - midnight_s) / HOUR_S


def named(findings):
    return sorted((f["rule"], f["subject"].split("/")[1]) for f in findings)


def check_document(tap, day, first, midnight_s):
    tap.equal((day["kind"], day["grade"], at(day["since"]) - at(first["time"])), ("fleet", "critical", 0),
              "it is as bad as its worst node, and new is what is new since the day before")
    tap.equal(day["nodes"], {"total": 4, "ok": 2, "warning": 1, "critical": 1, "unknown": 0}, "nodes are counted by grade")
    tap.equal(named(day["new"]), [("agent-silent", "n4"), ("fcs-errors", "n3"), ("telemetry-stale", "n4")],
              "what came and stayed is new")
    tap.equal(named(day["cured"]), [("device-hot", "n2"), ("thp-on", "n2")], "what went is cured, also what came before the day")
    tap.equal({k: day["findings"][k] for k in ("critical", "warning", "new", "cured", "excepted", "explained")},
              {"critical": 2, "warning": 1, "new": 3, "cured": 2, "excepted": 1, "explained": 1}, "each is counted")
    tap.equal([(o["node"], o["critical"], o["warning"]) for o in day["outliers"]], [("n4", 2, 0), ("n3", 0, 1)],
              "the worst node is the first outlier")
    tap.equal([(r["rule"], r["critical"], r["warning"]) for r in day["rules"]],
              [("agent-silent", 1, 0), ("telemetry-stale", 1, 0), ("fcs-errors", 0, 1)], "findings by rule")
    tap.equal([(e["rule"], e["subject"], e["reason"]) for e in day["exceptions"]], [("memlock-low", "node/n3", "a test bed")],
              "what is accepted, and why")
    times = {f["rule"]: hours(f, "opened", midnight_s) for f in day["new"] + day["cured"]}
    tap.ok(times["thp-on"] < 0 and 8 <= times["device-hot"] < 8.25 and 20 <= times["fcs-errors"] < 20.25 and
           18 <= times["agent-silent"] < 18.25, "each at its time", times)
    ended = {f["rule"]: hours(f, "cleared", midnight_s) for f in day["cured"]}
    tap.ok(6 <= ended["thp-on"] < 6.25 and 9 <= ended["device-hot"] < 9.25, "and ended at its", ended)
    convergence = day["convergence"]
    tap.equal({k: convergence[k] for k in ("total", "in_sync", "pending", "failed", "quarantined", "held", "stale",
                                           "in_sync_percent")},
              {"total": 4, "in_sync": 4, "pending": 0, "failed": 0, "quarantined": 0, "held": 0, "stale": 1,
               "in_sync_percent": 100}, "all had converged, and one is not heard")


def check_table(tap, server, url, day):
    answer = must(server.get(url, headers={"Accept": "text/csv"}), 200)
    cells = {(r[0], r[1], r[2]): r[3] for r in csv.reader(io.StringIO(answer.body.decode())) if len(r) == 4}
    wrong = [(section, name, cells.get((section, "", name)), value) for section in ("nodes", "findings", "convergence")
             for name, value in day[section].items() if cells.get((section, "", name)) != str(value)]
    tap.ok(not wrong, "the table has the same numbers", wrong)
    shown = {section: sorted(v for (s, _, name), v in cells.items() if s == section and name == "rule")
             for section in ("new", "cured")}
    tap.equal(shown, {s: sorted(f["rule"] for f in day[s]) for s in shown}, "and the same findings")
    tap.ok("a test bed" in cells.values(), "and what is accepted", cells)


def check_page(tap, server, url, lang, words):
    page = must(server.get(f"{url}?lang={lang}", headers={"Accept": "text/html"}), 200).body.decode()
    missing = [w for w in (*words, "agent-silent", "fcs-errors", "telemetry-stale", "device-hot", "thp-on", "memlock-low",
                           "a test bed", "n4") if w not in page]
    tap.ok(f'<html lang="{lang}">' in page and not missing, f"the page in {lang} has it all", missing)


def the_report_is_right_after_a_day(tap, server):
    """run() gave a server of now: it is started again with a clock of its own."""
    clock = Clock()
    server.stop()
    midnight_s = (time.time_ns() // 10**9 // DAY_S + 2) * DAY_S
    clock.set(midnight_s - 600 - time.time_ns() // 10**9)  # ten minutes before
    asan = os.environ.get("ASAN_OPTIONS", "")
    os.environ.update(LD_PRELOAD=os.path.join(server.args.objdir, "tests/api/stepped_clock.so"), STEPPED_CLOCK=clock.file.name,
                      ASAN_OPTIONS=(asan + ":" if asan else "") + "verify_asan_link_order=0")
    try:
        server.start()
    finally:
        del os.environ["LD_PRELOAD"]
    must(server.put("/v1/fabric", FABRIC), 201)
    fleet = Fleet(server, clock, midnight_s)
    until = datetime.datetime.fromtimestamp(midnight_s + 2 * DAY_S, datetime.timezone.utc)
    must(server.call("POST", "/v1/exclusions", {"rule": "memlock-low", "subject": "node/n3", "reason": "a test bed",
                                                "expires": until.strftime("%Y-%m-%dT%H:%M:%SZ")}), 201)
    fleet.step_to(-STEP_S)  # thp-on is there before midnight
    fleet.seen |= {i["id"] for i in must(server.get(f"{URL}?kind=daily"), 200).json["items"]}  # the day before's
    fleet.step_to(STEP_S)
    first = fleet.report_of(1)
    tap.equal(first["grade"], "warning", "the first report: huge pages of one node")
    fleet.step_to(18 * HOUR_S + 3 * STEP_S)  # the server looks for silent nodes each five seconds of its threads' time
    tap.ok(fleet.until(lambda: must(server.get("/v1/incidents?rule=agent-silent"), 200).json["items"]), "a node falls silent")
    fleet.step_to(DAY_S + STEP_S)
    made = fleet.report_of(2)
    url = f"{URL}/{made['id']}"
    day = must(server.get(url), 200).json
    tap.ok(0 <= at(made["time"]) - midnight_s - DAY_S < 2 * HOUR_S, "the next day's is made when that day begins", made)
    check_document(tap, day, first, midnight_s)
    check_table(tap, server, url, day)
    check_page(tap, server, url, "en", ("Fleet health report", "Convergence", "Accepted exceptions", "Cured findings"))
    check_page(tap, server, url, "zh", ("集群健康报告", "收敛情况", "已接受的例外", "已解决的问题"))


if __name__ == "__main__":
    run([the_report_is_right_after_a_day])
