#!/usr/bin/env python3
"""Health: batches that are not well become findings and incidents, and only those; what is there survives kill -9."""
import copy
import time

from lib import Agent, fixture, inventory, must, run
from telemetry import OCTETS, batch

HERE_S = 30  # for what the server looks at each five seconds


def send(server, agent, rows, at_us=None, seconds=10, node="n1"):
    return must(server.call("POST", f"/v1/nodes/{node}/telemetry", batch(rows, start_us=at_us, seconds=seconds),
                            OCTETS, token=agent.token), 200)


def row(kind, device, number=0, label=0, **columns):
    """Columns: a list of values is a counter, a number a gauge."""
    return (kind, device, number, 0, label,
            {name: ("stays", 0, v) if isinstance(v, list) else ("gauge", 0, [v] * 10) for name, v in columns.items()})


def grew(by, before=0):
    """Ten samples of a counter, the last one more."""
    return [before] * 9 + [before + by]


def incidents(server, query="", token="admin"):
    return must(server.get("/v1/incidents" + query, token=token), 200).json["items"]


def wait_for(what, seconds=HERE_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.2)
    return what()


def rules(server, query="?state=open"):
    return sorted(i["rule"] for i in incidents(server, query))


def one_batch_raises_what_is_wrong_and_nothing_else(tap, server):
    agent, tokens = fixture(server)
    before = must(server.get("/v1/nodes/n1/health"), 200).json
    tap.equal(before["grade"], "unknown", "without telemetry a node is unknown")
    tap.ok("fcs-errors" in before["unknown"] and not before["findings"], "and so are its rules", before)
    quiet = [row("port", "0000:3b:00.0/0", rx_fcs_errors=[123456] * 10, rx_symbol_errors=[255] * 10,
                 link_down_events=[7] * 10, tx_bytes=grew(10**6)),
             row("priority", "0000:3b:00.0/0", 3, rx_pause=[99999] * 10, rx_discards=[17] * 10)]
    now_us = time.time_ns() // 1000
    send(server, agent, quiet, now_us - 30 * 10**6)
    node = must(server.get("/v1/nodes/n1/health"), 200).json
    tap.equal((node["grade"], node["findings"]), ("ok", []), "counters that are high and stand still are well")
    tap.ok("fcs-errors" not in node["unknown"] and "gpu-lost" in node["unknown"], "known and unknown", node["unknown"])
    bad = copy.deepcopy(quiet)
    bad[0][5]["rx_fcs_errors"] = ("stays", 0, grew(12, 123456))
    send(server, agent, bad, now_us - 20 * 10**6)
    node = must(server.get("/v1/nodes/n1/health"), 200).json
    tap.equal([(f["rule"], f["severity"], f["observed"], f["subject"]) for f in node["findings"]],
              [("fcs-errors", "warning", "12 frames", "node/n1/port/0000:3b:00.0/0")], "after one batch the finding is there")
    tap.equal(node["grade"], "warning", "and the grade")
    found = wait_for(lambda: incidents(server))
    tap.equal([(i["rule"], i["state"], i["node"], i["count"]) for i in found], [("fcs-errors", "open", "n1", 1)],
              "one incident and no other")
    tap.ok("cable" in found[0]["hint"] and "root" not in found[0], "it says what to do", found[0])
    events = must(server.get("/v1/events?kinds=incident.*"), 200).json["items"]
    tap.equal([(e["kind"], e["subject"], e["body"]["rule"]) for e in events],
              [("incident.opened", "node/n1/port/0000:3b:00.0/0", "fcs-errors")], "and one event")
    fleet = must(server.get("/v1/health"), 200).json
    tap.equal(fleet["rules"], [{"rule": "fcs-errors", "nodes": 1, "severity": "warning"}], "the fleet's summary")
    tap.equal((fleet["grades"]["warning"], fleet["findings"]["warning"]), (1, 1), "counts it")
    text = must(server.get("/metrics", token=None), 200).body.decode()
    tap.ok('stellar_health_nodes{grade="warning"} 1' in text, "and so do the metrics")
    tap.equal(incidents(server, token=tokens["tenant-user"]), [], "it is no tenant's")
    tap.status(server.get(f"/v1/incidents/{found[0]['id']}", token=tokens["tenant-user"]), 404, "nor by its number")
    tap.status(server.get("/v1/health", token=tokens["tenant-user"]), 403, "nor is the fleet's health")


def a_reset_is_no_finding(tap, server):
    agent, _ = fixture(server)
    now_us = time.time_ns() // 1000
    send(server, agent, [row("port", "p0", rx_fcs_errors=[5000] * 10)], now_us - 30 * 10**6)
    send(server, agent, [row("port", "p0", rx_fcs_errors=[5000] * 5 + [3] * 5)], now_us - 20 * 10**6)
    send(server, agent, [row("port", "p0")], now_us - 10 * 10**6)
    time.sleep(1)
    tap.equal(incidents(server), [], "a driver that was loaded again")


def drops(before):
    return [row("port", "p0", link_down_events=grew(1, before)), row("rdma", "mlx5_0", 1, retry_exceeded_err=grew(3, before))]


def an_incident_survives_kill_9_and_clears(tap, server):
    agent, _ = fixture(server)
    start_us = time.time_ns() // 1000 - 50 * 10**6
    send(server, agent, drops(0), start_us)
    wait_for(lambda: len(incidents(server)) == 2)
    found = {i["rule"]: i for i in incidents(server)}
    tap.equal(sorted(found), ["link-down", "rdma-retries-exceeded"], "a link went down and queue pairs gave up")
    tap.equal(found["rdma-retries-exceeded"].get("root"), found["link-down"]["id"], "the one has the other as its root")
    tap.equal([i["rule"] for i in incidents(server, "?root=0")], ["link-down"], "there is one root")
    server.kill()
    server.start()
    tap.equal(rules(server), ["link-down", "rdma-retries-exceeded"], "both are there after kill -9")
    node = must(server.get("/v1/nodes/n1/health"), 200).json
    tap.equal(node["grade"], "warning", "and the node is as it was")
    for i in range(8):  # of one second each, all well
        rows = [("port", "p0", 0, 0, 0, {"link_down_events": ("stays", 0, [1, 1])}),
                ("rdma", "mlx5_0", 1, 0, 0, {"retry_exceeded_err": ("stays", 0, [3, 3])})]
        send(server, agent, rows, start_us + (12 + 2 * i) * 10**6, seconds=2)
    tap.ok(wait_for(lambda: rules(server) == []), "six good looks clear them", incidents(server))
    tap.equal({i["state"] for i in incidents(server)}, {"cleared"}, "they stay to be looked at")
    send(server, agent, drops(3), start_us + 32 * 10**6)
    tap.ok(wait_for(lambda: len(rules(server)) == 2), "it comes again")
    tap.equal([i["count"] for i in incidents(server)], [2, 2], "as the same incidents")
    must(server.call("DELETE", "/v1/nodes/n1", headers={"If-Match": "*"}), 204, 200)
    tap.ok(wait_for(lambda: rules(server) == []), "a node that is removed takes them along")


def a_peers_link_is_the_root(tap, server):
    """n1 and n2 run one job, n3 does not."""
    agent, _ = fixture(server)
    agents = [agent] + [Agent(server, n, server.node(n)) for n in ("n2", "n3")]
    placed = must(server.get("/v1/tenants/a/placements/nlp_job"), 200)
    body = {k: v for k, v in placed.json.items() if k in ("match", "ports", "nodes")}
    must(server.call("PUT", "/v1/tenants/a/placements/nlp_job", {**body, "nodes": ["n1", "n2"]},
                     headers={"If-Match": placed.etag}), 200)
    gave_up = [row("rdma", "mlx5_0", 1, retry_exceeded_err=grew(3))]
    for one in agents[1:]:
        send(server, one, gave_up, node=one.node)
    tap.ok(wait_for(lambda: rules(server) == ["rdma-retries-exceeded"] * 2), "queue pairs of two nodes gave up", rules(server))
    send(server, agent, [row("port", "p0", link_down_events=grew(1))])
    tap.ok(wait_for(lambda: "link-down" in rules(server)), "then a link of n1 is seen to have gone down")
    found = {(i["rule"], i["node"]): i for i in incidents(server, "?state=open")}
    down = found["link-down", "n1"]
    tap.equal(found["rdma-retries-exceeded", "n2"].get("root"), down["id"], "which is the root on the peer")
    tap.equal(found["rdma-retries-exceeded", "n3"].get("root"), None, "and not on a node without a job of it")
    send(server, agents[1], [("qp", "mlx5_0", 9, 0, 0, {"retransmits": ("stays", 0, [0] * 9 + [2000]),
                                                     "tx_packets": ("stays", 0, [0] * 9 + [10**6])})], node="n2")
    send(server, agents[1], [("qp", "mlx5_0", 9, 0, 0, {"retransmits": ("stays", 0, [2000] * 9 + [4000]),
                                                     "tx_packets": ("stays", 0, [10**6] * 9 + [2 * 10**6])})], node="n2")
    late = wait_for(lambda: incidents(server, "?state=open&rule=retransmission-rate"))
    tap.equal([(i["node"], i.get("root")) for i in late], [("n2", down["id"])], "what comes later has it as well")


def who_acknowledges_says_why(tap, server):
    agent, tokens = fixture(server)
    send(server, agent, drops(0))
    found = wait_for(lambda: incidents(server, "?rule=link-down"))[0]
    one = f"/v1/incidents/{found['id']}"
    tap.equal(server.call("POST", one + ":acknowledge").json["code"], "invalid-parameter", "not without a reason")
    tap.status(server.call("POST", one + ":acknowledge?reason=x", token=tokens["auditor"]), 403, "nor by an auditor")
    done = must(server.call("POST", one + ":acknowledge?reason=cable+ordered", token=tokens["operator"]), 200).json
    tap.equal((done["acknowledged_reason"], done["state"]), ("cable ordered", "open"), "acknowledged, and open still")
    again = must(server.call("POST", one + ":acknowledge?reason=me+too"), 200).json
    tap.equal(again["acknowledged_reason"], "cable ordered", "the first one is kept")
    rows = must(server.get("/v1/audit?action=incident.acknowledge"), 200).json["items"]
    tap.equal([(r["subject"], r["reason"]) for r in rows], [(f"incident/{found['id']}", "cable ordered")], "one audit row")
    tap.equal(rules(server, "?acknowledged=false"), ["rdma-retries-exceeded"], "the filter knows")
    tap.status(server.call("POST", "/v1/incidents/x:acknowledge?reason=y"), 404, "no number")
    for bad in ("state=opened", "severity=error", "rule=nothing", "root=-1"):
        tap.equal(server.get("/v1/incidents?" + bad).json["code"], "invalid-parameter", bad)


def what_is_excluded_counts_for_no_grade(tap, server):
    agent, tokens = fixture(server)
    send(server, agent, [row("port", "p0", rx_fcs_errors=grew(5))])
    wait_for(lambda: incidents(server))
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    body = {"rule": "fcs-errors", "subject": "node/n1", "reason": "being moved", "expires": until}
    made = must(server.call("POST", "/v1/exclusions", body, token=tokens["operator"]), 201).json
    node = must(server.get("/v1/nodes/n1/health"), 200).json
    tap.equal((node["grade"], node["excluded"], node["findings"][0]["exclusion"]), ("ok", 1, made["id"]), "the node is ok")
    tap.equal(incidents(server)[0]["exclusion"], made["id"], "the incident names it")
    server.stop()
    server.start()
    tap.equal([e["reason"] for e in must(server.get("/v1/exclusions"), 200).json["items"]], ["being moved"],
              "it is there after a restart")
    tap.equal(must(server.get("/v1/health"), 200).json["findings"]["excluded"], 1, "and holds")
    must(server.call("DELETE", f"/v1/exclusions/{made['id']}"), 204)
    tap.equal(must(server.get("/v1/nodes/n1/health"), 200).json["grade"], "warning", "without it the node is not ok")
    soon = {**body, "expires": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))}
    must(server.call("POST", "/v1/exclusions", soon), 201)
    tap.equal(must(server.get("/v1/nodes/n1/health"), 200).json["excluded"], 1, "for three seconds")
    tap.ok(wait_for(lambda: must(server.get("/v1/nodes/n1/health"), 200).json["excluded"] == 0), "then it is over")
    for change, pointer in (({"rule": "nothing"}, "/rule"), ({"subject": "n1"}, "/subject"), ({"expires": "soon"}, "/expires"),
                            ({"expires": "2999-01-01T00:00:00Z"}, "/expires"), ({"reason": ""}, "/reason")):
        answer = server.call("POST", "/v1/exclusions", {**body, **change})
        tap.equal((answer.status, [e["pointer"] for e in answer.json["errors"]]), (422, [pointer]), f"refused: {change}")
    for _ in range(1000 - len(must(server.get("/v1/exclusions"), 200).json["items"])):
        must(server.call("POST", "/v1/exclusions", body), 201)
    tap.equal(server.call("POST", "/v1/exclusions", body).json["code"], "exclusions-full", "and one too many")


def a_tenant_sees_its_own_queue_pairs(tap, server):
    agent, tokens = fixture(server)
    label = must(server.get("/v1/tenants/a/placements/nlp_job"), 200).json["label"]
    now_us = time.time_ns() // 1000
    for i in range(3):
        lost = [i * 100] * 9 + [i * 100 + 100]
        sent = [i * 1000000] * 9 + [i * 1000000 + 1000000]
        send(server, agent, [row("qp", "mlx5_0", 17, label, retransmits=lost, tx_packets=sent),
                             row("qp", "mlx5_0", 18, 0, retransmits=lost, tx_packets=sent)], now_us - (40 - 10 * i) * 10**6)
    tap.ok(wait_for(lambda: len(incidents(server)) == 2), "two queue pairs retransmit", incidents(server))
    seen = incidents(server, token=tokens["tenant-user"])
    tap.equal([(i["rule"], i["tenant"], i["job"], i["observed"]) for i in seen],
              [("retransmission-rate", "a", "nlp_job", "100 ppm")], "its tenant sees its own")
    tap.equal(must(server.get(f"/v1/incidents/{seen[0]['id']}", token=tokens["tenant-user"]), 200).json["id"], seen[0]["id"],
              "by number too")
    other = server.token("tenant-user", "b")["token"]
    tap.equal(incidents(server, token=other), [], "another tenant sees none")
    tap.equal(incidents(server, "?tenant=a", token=other), [], "nor when it asks for it")
    tap.status(server.get(f"/v1/incidents/{seen[0]['id']}", token=other), 404, "nor by number")


def what_the_server_knows_is_looked_at(tap, server):
    agent, _ = fixture(server)
    agents = [agent] + [Agent(server, n, server.node(n)) for n in ("n2", "n3")]
    for i, one in enumerate(agents):
        document = inventory(one.node)
        document["ports"][0].update({"rdma_device": "mlx5_0", "mtu_bytes": 1500 if i == 2 else 9000})
        must(server.call("PUT", "/v1/agent/inventory", document, token=one.token), 200)
    found = wait_for(lambda: incidents(server, "?rule=mtu-mismatch"), 90)
    tap.equal([i["node"] for i in found], ["n3"], "the port whose MTU is another than its rail's")


def the_tenants_report_says_so(tap, server, tokens):
    url = "/v1/tenants/a/report"
    one = must(server.get(url, token=tokens["tenant-user"]), 200).json
    tap.equal((one["kind"], one["source"], one["grade"], one["findings"]["critical"]), ("tenant", "a", "critical", 1),
              "the tenant's report has its grade")
    tap.equal(sorted(f["rule"] for f in one["new"]), ["bw-limit-floor", "guarantee-not-met"], "what is new of its jobs")
    tap.ok(not {"nodes", "outliers", "exceptions", "convergence", "uploads"} & set(one), "nothing of the fleet's", one)
    jobs = {j["job"]: j for j in one["jobs"]}
    nlp = jobs["nlp_job"]
    tap.equal((nlp["asked"], nlp["ports"], nlp["known_ports"], nlp["known_minutes"], nlp["below_minutes"]), ("40%", 1, 1, 20, 20),
              "a guarantee as asked, and the minutes below it")
    tap.ok(nlp["granted_bps"] > 9 * nlp["mean_bps"] and abs(nlp["mean_bps"] - 8 * 10**9) < 8 * 10**8 <= nlp["peak_bps"],
           "as granted and as measured", nlp)
    tap.ok("asked" not in jobs["cv_job"] and jobs["cv_job"]["limit_bps"] > 0, "who has a limit alone asked for nothing",
           jobs["cv_job"])
    table = must(server.get(url, headers={"Accept": "text/csv"}, token=tokens["tenant-admin"]), 200)
    tap.ok(b'"below_minutes",20\r\n' in table.body, "as a table", table.body)
    page = must(server.get(url + "?lang=zh", headers={"Accept": "text/html"}, token=tokens["tenant-user"]), 200).body.decode()
    tap.ok("租户报告" in page and "<script" not in page and "http" not in page, "as a page in Chinese", page[:500])
    other = server.token("tenant-admin", "b")["token"]
    tap.status(server.get(url, token=other), 404, "to another tenant it is not there")
    mine = must(server.get("/v1/tenants/b/report", token=other), 200).json
    tap.equal((mine["grade"], mine["jobs"], mine["new"], mine["findings"]["critical"]), ("unknown", [], [], 0),
              "and its own has nothing of others")
    tap.status(server.get("/v1/tenants/nobody/report"), 404, "there is no such tenant")


def jobs_are_held_against_what_they_were_promised(tap, server):
    """An hour of batches: nlp_job gets a tenth of its guarantee while it sends all the time, cv_job would use more than its
    limit leaves it."""
    agent, tokens = fixture(server)
    must(server.put("/v1/tenants/a/placements/cv_job", {"nodes": ["n1"], "match": {"dst": "10.9.2.0/24"}}), 201)
    label = {job: must(server.get(f"/v1/tenants/a/placements/{job}"), 200).json["label"] for job in ("nlp_job", "cv_job")}
    document = inventory("n1")
    document["ports"][0]["rdma_device"] = "mlx5_0"
    document["rdma_devices"] = [{"name": "mlx5_0", "ports": [{"port": 1}]}]
    must(server.call("PUT", "/v1/agent/inventory", document, token=agent.token), 200)
    tap.ok(wait_for(lambda: "gid-not-routable" in rules(server), 90), "the server knows the port's RDMA device")
    rate = {"nlp_job": 8 * 10**9 // 8, "cv_job": 190 * 10**9 // 8}
    batches = 6 * 62
    start_us = time.time_ns() // 1000 - batches * 10 * 10**6
    for i in range(batches):
        send(server, agent, [row("qp", "mlx5_0", qp, label[job], tx_bytes=[(10 * i + k) * rate[job] for k in range(10)])
                             for qp, job in ((17, "nlp_job"), (18, "cv_job"))], start_us + 10 * i * 10**6)
    tap.ok(wait_for(lambda: {"guarantee-not-met", "bw-limit-floor"} <= set(rules(server))), "both are found", rules(server))
    found = {i["rule"]: i for i in incidents(server, token=tokens["tenant-user"])}
    tap.equal({r: (i["subject"], i["tenant"], i["job"], i["node"]) for r, i in found.items()},
              {"guarantee-not-met": ("tenant/a/job/nlp_job/node/n1", "a", "nlp_job", "n1"),
               "bw-limit-floor": ("tenant/a/job/cv_job/node/n1", "a", "cv_job", "n1")}, "and they are its tenant's alone")
    tap.equal((found["guarantee-not-met"]["severity"], found["guarantee-not-met"]["observed"]), ("critical", "20 minutes"),
              "with how long it was below")
    tap.equal(found["bw-limit-floor"]["observed"], "63% of the demand", "and what the limit leaves of the demand")
    tap.equal(incidents(server, token=server.token("tenant-user", "b")["token"]), [], "another tenant sees none")
    the_tenants_report_says_so(tap, server, tokens)
    run_of = must(server.call("POST", "/v1/runbooks/tenant-interference:run", {"nodes": ["n1"]}), 200).json["runs"][0]
    tap.equal([i["step"] for i in run_of["likely"]], ["guarantee", "limit-floor"], "the runbook leads to both")


run([jobs_are_held_against_what_they_were_promised, one_batch_raises_what_is_wrong_and_nothing_else, a_reset_is_no_finding, an_incident_survives_kill_9_and_clears, a_peers_link_is_the_root,
     who_acknowledges_says_why, what_is_excluded_counts_for_no_grade, a_tenant_sees_its_own_queue_pairs,
     what_the_server_knows_is_looked_at])
