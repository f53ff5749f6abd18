#!/usr/bin/env python3
"""Runbooks: over what a node told and over files, one node and a set; what is unknown stays so."""
import os
import subprocess
import tempfile
import time

from lib import CALL_S, fixture, inventory, must, run
from telemetry import OCTETS, batch

PORT = "solar_rdma.0/0"
ETHTOOL = "$ ethtool -S eth0\nNIC statistics:\n     rx_crc_errors_phy: {}\n"
BOOKS = ["cm-error", "packet-loss", "performance-drop", "slow-node", "tenant-interference"]


def grow(step, seconds=10, first=1000):
    return ("stays", 0, [first + i * step for i in range(seconds)])


def send(server, token, rows, node="n1"):
    must(server.call("POST", f"/v1/nodes/{node}/telemetry", batch(rows), OCTETS, token=token), 200)


def do(server, book, body, **kw):
    return server.call("POST", f"/v1/runbooks/{book}:run", body, **kw)


def steps(answer, at=0):
    return {s["step"]: s for s in must(answer, 200).json["runs"][at]["steps"]}


def a_node_that_told_nothing_is_unknown(tap, server):
    fixture(server)
    items = must(server.get("/v1/runbooks"), 200).json["items"]
    tap.equal([i["name"] for i in items], BOOKS, "the runbooks are listed")
    for book in BOOKS:
        answer = must(do(server, book, {"nodes": ["n1"]}), 200).json
        one = answer["runs"][0]
        tap.equal((answer["runbook"], answer["window_s"], one["node"]), (book, 600, "n1"), f"{book} runs")
        told = {s["step"] for s in one["steps"] if s["verdict"] in ("ok", "fault")}
        tap.ok(told <= {"pcie", "link-state", "device-health", "marking", "gid"},
               "nothing is ok that nobody told", told)
        tap.ok(all(s["needs"] for s in one["open"]), "each open step says what to bring", one["open"])
        tap.equal(len(one["likely"]) + len(one["open"]) + len(one["excluded"]), len(one["steps"]),
                  "each step is in one of the three lists")


def telemetry_leads_to_the_cause(tap, server):
    agent, _ = fixture(server)
    send(server, agent.token, [
        ("port", PORT, 0, 0, 0, {"rx_fcs_errors": grow(2), "rx_symbol_errors": grow(0)}),
        ("priority", PORT, 3, 0, 0, {"rx_pause_duration": grow(20000)}),
        ("rdma", "solar_rdma0", 1, 0, 0, {"packet_seq_err": grow(1), "out_of_buffer": grow(0)}),
        ("gpu", "0000:9b:00.0", 0, 0, 0, {"ecc_uncorrected": grow(0)}),
        ("irq", PORT, 0, 0, 0, {"busiest_cpu_share_permyriad": ("gauge", 0, [2000] * 9 + [3000])}),
        ("qp", "solar_rdma0", 17, 0, 0, {"tx_bytes": grow(500)}),
        ("ptp", "ptp0", 0, 0, 0, {"offset_ns": ("gauge", 0, [-90] * 10)})])
    answer = do(server, "performance-drop", {"nodes": ["n1"], "window": "5m"})
    seen = steps(answer)
    tap.equal({k: seen[k]["verdict"] for k in ("fcs", "gpu-ecc", "irq-balance", "pause", "retransmission",
                                               "receive-queue", "ptp")},
              {"fcs": "fault", "gpu-ecc": "ok", "irq-balance": "ok", "pause": "ok", "retransmission": "fault",
               "receive-queue": "ok", "ptp": "ok"}, "what was counted is judged")
    one = answer.json["runs"][0]
    tap.equal([i["step"] for i in one["likely"]], ["fcs", "retransmission"], "the cause comes first")
    tap.equal((one["likely"][0]["strength"], one["likely"][1]["explained_by"]), ("strong", "fcs"),
              "and explains the symptom")
    proof = seen["fcs"]["evidence"][0]
    tap.equal((proof["source"], proof["subject"], proof["name"], proof["observed"], proof["counted"]),
              ("telemetry", f"port {PORT}", "rx_fcs_errors", "18", True), "with the number of the window")
    tap.equal(answer.json["causes"], [{"step": "fcs", "nodes": ["n1"]}], "and is told for the set")
    seen = steps(do(server, "tenant-interference", {"nodes": ["n1"]}))
    tap.equal(seen["unlabelled-traffic"]["verdict"], "fault", "traffic of no job is told")


def live_findings_are_evidence(tap, server):
    """What no single number of the window shows: that one port's MTU is not its rail's, a share of packets, a flap."""
    agent, _ = fixture(server)
    now_us = time.time_ns() // 1000
    must(server.put("/v1/nodes/n2", {}), 201)
    for i in range(3):
        lost, sent = grow(10, first=1000 + 100 * i), grow(10**5, first=10**6 * (i + 1))
        must(server.call("POST", "/v1/nodes/n1/telemetry", batch([
            ("node", "", 0, 0, 0, {"thp_mode": ("gauge", 0, [2] * 10)}),
            ("port", PORT, 0, 0, 0, {"link_down_events": grow(0, first=7)}),
            ("qp", "solar_rdma0", 17, 0, 0, {"retransmits": lost, "tx_packets": sent})],
            start_us=now_us - (40 - 10 * i) * 10**6), OCTETS, token=agent.token), 200)
    found = {f["rule"] for f in must(server.get("/v1/nodes/n1/health"), 200).json["findings"]}
    tap.equal(found, {"thp-on", "retransmission-rate"}, "the node has two findings")
    answer = do(server, "slow-node", {"nodes": ["n1", "n2"]})
    seen = steps(answer)
    proof = [e for e in seen["host"]["evidence"] if e["source"] == "rules"]
    tap.equal((seen["host"]["verdict"], proof[0]["name"], proof[0]["subject"]), ("fault", "thp-on", "node"),
              "a live rule is evidence")
    likely = {i["step"]: i["strength"] for i in answer.json["runs"][0]["likely"]}
    tap.equal(likely.get("host"), "strong", "and a strong one: it is so now")
    tap.equal(steps(answer, 1)["host"]["verdict"], "unknown", "of its node alone")
    seen = steps(do(server, "packet-loss", {"nodes": ["n1"]}))
    names = [e["name"] for e in seen["retransmission"]["evidence"] if e["source"] == "rules"]
    tap.ok("retransmission-rate" in names and seen["retransmission"]["verdict"] == "fault", "as is that of a queue pair", seen)


def files_are_more_evidence(tap, server):
    fixture(server)
    damaged = {"files": [{"name": "a.txt", "text": ETHTOOL.format(12)}]}
    answer = do(server, "packet-loss", damaged)
    one = must(answer, 200).json["runs"][0]
    tap.ok("node" not in one, "files alone are of no node")
    tap.equal(one["files"], [{"name": "a.txt", "kind": "ethtool-S"}], "each is recognised")
    proof = steps(answer)["fcs"]["evidence"][0]
    tap.equal((proof["source"], proof["line"]), ("a.txt", 3), "the evidence has its line")
    must(server.put("/v1/nodes/n2", {}), 201)
    both = {"nodes": ["n1", "n2"], "files": [{**damaged["files"][0], "node": "n2"}]}
    answer = do(server, "packet-loss", both)
    tap.equal([steps(answer, i)["fcs"]["verdict"] for i in (0, 1)], ["unknown", "fault"], "it is its node's alone")
    tap.equal(answer.json["causes"], [{"step": "fcs", "nodes": ["n2"]}], "and its node's cause")
    ping = ("Pong from n2.(none) (Lid 2): time 0.075 ms\n\n--- n2.(none) (Lid 2) ibping statistics ---\n"
            "4 packets transmitted, 4 received, 0% packet loss, time 4000 ms\n"
            "rtt min/avg/max = 0.057/0.081/2.100 ms\n")
    seen = steps(do(server, "cm-error", {"nodes": ["n1"], "files": [{"name": "p", "text": ping}]}))
    tap.equal(seen["base-latency"]["verdict"], "ok", "a healthy ibping is not slow")
    storm = {"files": [{"name": "x", "text": "\x1b[31m\x07 nothing of it \u2603\n" * 1000}]}
    tap.equal(must(do(server, "slow-node", storm), 200).json["verdicts"]["unknown"], 1, "what nobody knows is nothing")


def link_layers_decide(tap, server):
    agent, _ = fixture(server)
    body = inventory("n1")
    body["ports"][0]["rdma_device"] = "solar_rdma0"
    for mac, wanted in (("02:00:00:00:00:01", "not-applicable"), (":".join(["80"] * 20), "unknown")):
        body["ports"][0]["mac"] = mac
        must(server.call("PUT", "/v1/agent/inventory", body, token=agent.token), 200)
        seen = steps(do(server, "cm-error", {"nodes": ["n1"]}))
        tap.equal([seen[k]["verdict"] for k in ("subnet-manager", "ibping")], [wanted] * 2,
                  f"{mac}: what is InfiniBand's alone is {wanted}")


def what_cannot_be_run_is_said(tap, server):
    fixture(server)
    for what, body in (("nothing", {}), ("a node twice", {"nodes": ["n1", "n1"]}), ("no name", {"nodes": ["a b"]}),
                       ("65 nodes", {"nodes": [f"n{i}" for i in range(65)]}), ("seconds", {"nodes": ["n1"], "window": "90s"}),
                       ("no time", {"nodes": ["n1"], "window": "0m"}), ("25 hours", {"nodes": ["n1"], "window": "25h"}),
                       ("another's file", {"nodes": ["n1"], "files": [{"name": "a", "node": "n2", "text": ""}]}),
                       ("no content", {"files": [{"name": "a"}]}), ("a number", {"files": [{"name": "a", "text": 1}]}),
                       ("a misspelt member", {"node": ["n1"]}),
                       ("33 files", {"files": [{"name": "a", "text": ""}] * 33})):
        answer = do(server, "cm-error", body)
        tap.equal((answer.status, answer.json["code"]), (422, "runbook-refused"), f"{what} is refused")
    must(server.put("/v1/nodes/n2", {}), 201)
    answer = do(server, "cm-error", {"nodes": ["n1", "n2"], "files": [{"name": "a", "text": ""}]})
    tap.equal((answer.status, answer.json["errors"][0]["pointer"]), (422, "/files/0/node"), "whose file it is must be said")
    tap.status(do(server, "cm-error", {"nodes": ["n9"]}), 404, "no run on no node")
    tap.status(do(server, "cm-eror", {"nodes": ["n1"]}), 404, "nor of no runbook")
    must(do(server, "cm-error", {"nodes": ["n1"], "window": "24h"}), 200)
    must(do(server, "cm-error", {"nodes": ["n1"], "files": [{"name": "a", "text": ""}] * 32}), 200)
    tap.status(do(server, "cm-error", {"nodes": ["n1"]}, token=server.token("tenant-admin", "a")["token"]), 403,
               "a tenant has no nodes to look into")
    reader = server.call("POST", "/v1/tokens", {"role": "auditor", "scopes": ["read"]}).json["token"]
    tap.status(do(server, "cm-error", {"nodes": ["n1"]}, token=reader), 200, "the scope read is enough")


def the_command_line_runs_them(tap, server):
    fixture(server)
    env = {**os.environ, "STELLAR_SERVER": f"http://127.0.0.1:{server.port}", "STELLAR_TOKEN": server.admin,
           "HOME": server.data, "XDG_CONFIG_HOME": server.data}

    def ctl(*words):
        return subprocess.run([os.path.join(server.args.objdir, "stellarctl"), "runbook", *words], env=env, text=True,
                              capture_output=True, timeout=CALL_S, check=False)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "eth0.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write(ETHTOOL.format(12))
        shown = ctl("run", "packet-loss", "--node", "n1", "-f", f"n1={path}", "--window", "2m")
    rows = [line.split() for line in shown.stdout.splitlines()]
    tap.ok(rows and rows[1][:3] == ["n1", "fcs", "fault"], "the cause is the first row", shown)
    tap.ok("performance-drop" in ctl("list").stdout, "runbooks are listed", shown)
    tap.equal(ctl("run", "packet-loss", "-f", "/nowhere").returncode != 0, True, "a file that is not there fails")


if __name__ == "__main__":
    run([a_node_that_told_nothing_is_unknown, telemetry_leads_to_the_cause, live_findings_are_evidence, files_are_more_evidence,
         link_layers_decide, what_cannot_be_run_is_said, the_command_line_runs_them])
