#!/usr/bin/env python3
"""/metrics: taken by Prometheus' own checker, counts what happened, names nobody."""
import http.client
import re
import shutil
import subprocess

from lib import fixture, must, run


def read(server):
    text = must(server.get("/metrics", token=None), 200).body.decode()
    return text, {k: float(v) for k, v in re.findall(r"^(stellar_\S+) (\S+)$", text, re.M)}


def counts(tap, server):
    agent, _ = fixture(server)
    _, before = read(server)
    must(agent.receipt(), 201)
    bad = {"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": "40%", "bw_limit": "30%"}}}
    must(server.put("/v1/tenants/a/policy", bad, '"1"'), 422)
    must(server.put("/v1/tenants/a/policy", {"qos_policy": {"j": {"prioritty": 3}}}, '"1"'), 422)
    must(server.get("/v1/fabric", token=None), 401)
    must(server.put("/v1/tenants/c", {}, token=server.token("auditor")["token"]), 403)
    stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    stream.request("GET", "/v1/events", headers={"Accept": "text/event-stream",
                                                 "Authorization": "Bearer " + server.admin})
    tap.equal(stream.getresponse().status, 200, "a stream is open")
    text, after = read(server)

    def grew(name):
        return after.get("stellar_" + name, -1) - before.get("stellar_" + name, 0)

    tap.equal(grew('receipts_total{result="applied"}'), 1, "a receipt is counted by its result")
    tap.equal(grew('refusals_total{rule="limit-below-guarantee"}'), 1, "a refusal by its rule")
    tap.ok(grew('refusals_total{rule="schema"}') >= 1, "and what is no rule")
    tap.equal((grew("http_unauthenticated_total"), grew("http_denied_total")), (1, 1),
              "strangers, and callers that may not")
    tap.equal(grew('http_answers_total{method="PUT",status="4xx"}'), 3, "answers by class")
    tap.equal(after["stellar_event_streams"], 1, "a stream is counted")
    tap.ok(after["stellar_db_file_bytes"] >= 4096 and after["stellar_process_cpu_seconds_total"] > 0
           and after["stellar_process_resident_memory_bytes"] > 1e6, "sizes are there", after)
    buckets = [v for k, v in after.items() if k.startswith("stellar_http_answer_seconds_bucket")]
    tap.ok(buckets == sorted(buckets) and buckets[-1] == after["stellar_http_answer_seconds_count"]
           and buckets[-1] > 10, "the histogram adds up", buckets)
    tap.equal(after['stellar_nodes{sync="in-sync"}'] + after['stellar_nodes{sync="pending"}'], 1,
              "nodes by state")
    tap.equal(after["stellar_stale_nodes"], 0, "none is stale")
    names = [n for n in ("n1", "nlp_job", "cv_job", "rack") if re.search(rf'"{n}"', text)]
    tap.equal(names, [], "nobody is named")
    stream.close()
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                              capture_output=True, timeout=60, check=False)
        tap.ok(done.returncode == 0 and not done.stderr, "promtool check metrics takes it",
               done.stderr + done.stdout)
    else:
        tap.ok(True, "promtool check metrics takes it # SKIP promtool (prometheus) is not installed")


run([counts])
