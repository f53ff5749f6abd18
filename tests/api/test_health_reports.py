#!/usr/bin/env python3
"""Reports of health: of now, the daily one, uploads; as JSON, CSV and a page in two languages."""
import os
import subprocess
import time

from lib import CALL_S, fixture, must, run
from telemetry import OCTETS, batch, steady

URL = "/v1/health/reports"
UPLOAD = {"version": 1, "kind": "upload", "source": "cablecheck 2.1", "time": "2026-01-02T03:04:05Z", "grade": "critical",
          "nodes": {"total": 2, "critical": 1, "unknown": 1},
          "new": [{"rule": "fcs-errors", "subject": "<script>alert(1)</script>", "severity": "error", "message": "=1+1"}]}
DAILY_S = 150  # the server looks once a minute


def now(server, **kw):
    return server.get(f"{URL}/current", **kw)


def the_report_of_now(tap, server):
    agent, _ = fixture(server)
    one = must(now(server), 200).json
    tap.equal((one["version"], one["kind"], one["grade"]), (1, "fleet", "unknown"), "a node that told nothing is unknown")
    tap.equal({k: one["nodes"][k] for k in ("total", "ok", "unknown")}, {"total": 1, "ok": 0, "unknown": 1}, "and is counted so")
    tap.ok("since" not in one, "there was no report before", one)
    tap.equal(one["convergence"]["generation"], must(server.get("/v1/generations/current"), 200).json["generation"],
              "the generation is the fleet's")
    must(server.call("POST", "/v1/nodes/n1/telemetry", batch([steady(500)]), OCTETS, token=agent.token), 200)
    one = must(now(server), 200).json
    tap.ok(one["nodes"]["unknown"] == 0, "a node whose counters are new is known", one["nodes"])
    table = must(now(server, headers={"Accept": "text/csv"}), 200)
    tap.ok(table.headers["Content-Type"].startswith("text/csv") and b'"nodes",,"total",1\r\n' in table.body, "as a table", table)
    for query, accept, lang, title in (("", "", "en", "Fleet health report"), ("?lang=zh", "", "zh", "集群健康报告"),
                                       ("", "zh-CN,en;q=0.5", "zh", "集群健康报告"),
                                       ("?lang=en", "zh", "en", "Fleet health report")):
        page = must(server.get(f"{URL}/current{query}", headers={"Accept": "text/html", "Accept-Language": accept}), 200)
        text = page.body.decode()
        tap.ok(f'<html lang="{lang}">' in text and title in text, f"{query} {accept}: a page in {lang}", page)
        tap.ok("<script" not in text and "http" not in text, "with nothing from elsewhere", page)
    tap.status(server.get(f"{URL}/current?lang=de"), 400, "a language that there is not")
    tap.status(server.get(f"{URL}/7"), 404, "a number that is none")
    tap.status(server.get(f"{URL}/today"), 404, "a name that is none")
    tap.status(now(server, token=server.token("tenant-admin", "a")["token"]), 403, "a tenant has no fleet")


def uploads_are_kept(tap, server):
    agent, _ = fixture(server)
    made = must(server.call("POST", URL, UPLOAD), 201)
    tap.equal((made.json["source"], made.json["grade"]), ("cablecheck 2.1", "critical"), "an upload is kept")
    back = must(server.get(made.headers["Location"]), 200).json
    tap.equal({k: back[k] for k in UPLOAD}, UPLOAD, "and read back")
    page = must(server.get(made.headers["Location"], headers={"Accept": "text/html"}), 200).body.decode()
    tap.ok("<script" not in page and "&lt;script&gt;" in page, "its texts are escaped", page[:2000])
    table = must(server.get(made.headers["Location"], headers={"Accept": "text/csv"}), 200).body
    tap.ok(b"\"'=1+1\"" in table, "and run no formula", table)
    rows = must(server.get("/v1/audit?action=health-report.post"), 200).json["items"]
    tap.equal(len(rows), 1, "it is in the audit")
    own = {**UPLOAD, "source": "n1"}
    must(server.call("POST", URL, own, token=agent.token), 201)
    answer = server.call("POST", URL, UPLOAD, token=agent.token)
    tap.equal((answer.status, answer.json["code"]), (403, "wrong-node"), "an agent reports as its node")
    tap.equal([i["source"] for i in must(server.get(f"{URL}?kind=upload"), 200).json["items"]], ["n1", "cablecheck 2.1"],
              "they are listed, newest first")
    tap.equal([u["source"] for u in must(now(server), 200).json["uploads"]], ["n1", "cablecheck 2.1"],
              "and named by the fleet's report")
    for what, change in (("no grade", {"grade": None}), ("another grade", {"grade": "good"}), ("another kind", {"kind": "fleet"}),
                         ("a hidden source", {"source": "a\u202eb"}), ("an unknown member", {"x": 1}),
                         ("less than nothing", {"nodes": {"ok": -1}}), ("201 findings", {"new": UPLOAD["new"] * 201})):
        body = {k: v for k, v in {**UPLOAD, **change}.items() if v is not None}
        answer = server.call("POST", URL, body)
        tap.equal((answer.status, answer.json["code"]), (422, "health-report-refused"), f"{what} is refused")
    server.stop()
    server.start()
    tap.equal(len(must(server.get(URL), 200).json["items"]), 2, "a restart keeps them")


def one_a_day_is_kept(tap, server):
    fixture(server)
    end, items = time.monotonic() + DAILY_S, []
    while not items and time.monotonic() < end:
        time.sleep(1)
        items = must(server.get(f"{URL}?kind=daily"), 200).json["items"]
    tap.equal([(i["source"], i["grade"]) for i in items], [("stellard", "unknown")], "the day's report is made")
    kept = must(server.get(f"{URL}/{items[0]['id']}"), 200).json
    tap.equal(kept["kind"], "fleet", "and is a report of the fleet")
    tap.equal(must(now(server), 200).json["since"], items[0]["time"], "what is new is new since then")


def the_command_line_shows_them(tap, server):
    fixture(server)
    must(server.call("POST", URL, UPLOAD), 201)
    env = {**os.environ, "STELLAR_SERVER": f"http://127.0.0.1:{server.port}", "STELLAR_TOKEN": server.admin,
           "HOME": server.data, "XDG_CONFIG_HOME": server.data}

    def ctl(*words):
        return subprocess.run([os.path.join(server.args.objdir, "stellarctl"), *words], env=env, text=True,
                              capture_output=True, timeout=CALL_S, check=False)
    tap.ok("cablecheck 2.1" in ctl("get", "health-reports").stdout, "kept ones are listed")
    tap.ok('"grade"' in ctl("report").stdout, "the report of now")
    tap.ok("集群健康报告" in ctl("report", "current", "--lang", "zh").stdout, "and as a page in Chinese")


if __name__ == "__main__":
    run([the_report_of_now, uploads_are_kept, one_a_day_is_kept, the_command_line_shows_them])
