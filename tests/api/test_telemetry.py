#!/usr/bin/env python3
"""Telemetry: what nodes send comes back by node, queue pair, job and tenant, and to nobody else."""
import os
import subprocess
import tempfile
import time

from lib import Agent, arguments, fixture, must, run
from telemetry import OCTETS, batch, steady

WAIT_S = 90  # for two batches of an agent
POST = "/v1/nodes/n1/telemetry"


def send(server, agent, body, node="n1"):
    return server.call("POST", f"/v1/nodes/{node}/telemetry", body, OCTETS, token=agent.token)


def total(answer, metric="tx_bytes"):
    return sum(point[1] for row in answer.json["series"] if row["metric"] == metric
               for point in row["points"])


def comes_back(tap, server):
    agent, _ = fixture(server)
    gap = (time.time_ns() // 1000 - 60 * 10**6, time.time_ns() // 1000 - 30 * 10**6, "overflow")
    sent = batch([steady(500)], gaps=[gap], seq=1)
    answer = send(server, agent, sent)
    tap.status(answer, 200, "a batch is taken")
    tap.equal(answer.json, {"samples": 10, "dropped": 0, "repeated": False}, "all of it")
    tap.equal(must(send(server, agent, sent), 200).json["repeated"], True, "again, it is known")
    for step in ("1s", "1m", "1h"):
        answer = must(server.get(f"/v1/telemetry?node=n1&kind=qp&number=17&step={step}"), 200)
        tap.equal(total(answer), 9 * 500, f"what was counted, in steps of {step}")
        tap.equal([g["reason"] for g in answer.json["gaps"]], ["overflow"] if step != "1h" else [],
                  f"and the gap, {step}")
    points = must(server.get("/v1/telemetry?node=n1&step=1s"), 200).json["series"][0]["points"]
    tap.ok(all(p[1:] == [500, 500, 500, 1000] for p in points) and len(points) == 9,
           "each second's rate is the right one", points)
    latest = must(server.get("/v1/telemetry/latest?node=n1"), 200).json["items"]
    tap.equal([(i["metric"], i["value"], i["rate"], i["pid"]) for i in latest],
              [("tx_bytes", 5500, 500, 4711)], "the latest value")
    server.stop()
    server.start()
    tap.equal(total(must(server.get("/v1/telemetry?step=1h"), 200)), 9 * 500,
              "after a restart it is there once")
    tap.equal(must(send(server, agent, sent), 200).json["repeated"], True, "and still known")


def refuses(tap, server):
    agent, _ = fixture(server)
    good = batch([steady(500)])
    tap.status(send(server, agent, good[:-1]), 422, "a batch that is cut")
    tap.status(send(server, agent, b""), 422, "nothing")
    tap.status(server.call("POST", POST, {"a": 1}, token=agent.token), 415, "JSON")
    ahead = batch([steady(500)], start_us=time.time_ns() // 1000 + 600 * 10**6)
    answer = send(server, agent, ahead)
    tap.status(answer, 422, "a clock that is ahead")
    tap.ok("clock" in answer.json["detail"], "is said", answer)
    tap.equal(send(server, agent, good, node="n2").json["code"], "wrong-node", "another node")
    end = time.monotonic() + WAIT_S
    while not (rows := must(server.get("/v1/audit?action=request.denied"), 200).json["items"]) and \
            time.monotonic() < end:
        time.sleep(0.05)
    tap.equal([row["actor"] for row in rows], ["node:n1"], "and it is in the audit")
    for query in ("kind=lane", "number=x", "number=4294967296", "metric=a%20b", "step=1500ms",
                  "step=8785h", "from=yesterday",
                  "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "job=j", "nod=n1"):
        tap.status(server.get("/v1/telemetry?" + query), 400, f"?{query}")
    tap.status(server.get("/v1/telemetry?step=8784h"), 200, "the longest step")
    tap.status(server.get("/v1/telemetry?from=2020-01-01T00:00:00Z&to=2021-01-01T00:00:00Z&step=1m"),
               422, "too many steps")
    tap.status(server.get("/v1/telemetry?node=n9"), 404, "a node that is not there")
    tap.status(server.get("/v1/telemetry?tenant=t9"), 404, "a tenant that is not there")
    tap.status(server.get("/v1/telemetry?tenant=a&job=j9"), 404, "a job that is not placed")


def own_jobs_alone(tap, server):
    agent, _ = fixture(server)
    label = must(server.get("/v1/tenants/a/placements/nlp_job"), 200).json["label"]
    must(send(server, agent, batch([steady(500, label=label), steady(70, label=0, qp=18),
                                    steady(9, label=label + 1, qp=19)])), 200)
    a, b = (server.token("tenant-user", t)["token"] for t in "ab")
    for path in ("/v1/telemetry?step=1s&", "/v1/telemetry/latest?"):
        items = "items" if "latest" in path else "series"

        def labels(token, query="", path=path, items=items):
            got = must(server.get(path + query, token=token), 200).json[items]
            return sorted(i.get("label", 0) for i in got)

        tap.equal(labels("admin"), [0, label, label + 1], f"{path} staff sees all")
        tap.equal(labels("admin", "tenant=a"), [label], f"{path} or a tenant's")
        tap.equal(labels("admin", "tenant=a&job=nlp_job"), [label], f"{path} or a job's")
        tap.equal(labels(a), [label], f"{path} a tenant sees its own")
        tap.equal(labels(a, "node=n1"), [label], f"{path} also by node")
        tap.equal(labels(a, "node=n9"), [], f"{path} of a node that is not there nothing")
        tap.equal(labels(b), [], f"{path} and another tenant nothing")
        tap.status(server.get(path + "tenant=a", token=b), 404, f"{path} nor by its name")


def a_node_speaks_for_its_jobs_alone(tap, server):
    """A node that says another one's label reaches no tenant's answer."""
    fixture(server)
    label = must(server.get("/v1/tenants/a/placements/nlp_job"), 200).json["label"]
    liar = Agent(server, "n2", server.node("n2", {"labels": {"rack": "b"}}))
    must(send(server, liar, batch([steady(1, label=label)]), node="n2"), 200)
    a = server.token("tenant-user", "a")["token"]

    def nodes(token, query=""):
        history = must(server.get("/v1/telemetry?step=1s" + query, token=token), 200).json["series"]
        latest = must(server.get("/v1/telemetry/latest?metric=tx_bytes" + query, token=token), 200).json["items"]
        rolled = must(server.get("/v1/telemetry?step=1m" + query, token=token), 200).json["series"]
        return [[i["node"] for i in items] for items in (history, rolled, latest)]
    tap.equal(nodes("admin"), [["n2"]] * 3, "staff sees what the node said")
    tap.equal(nodes("admin", "&tenant=a"), [[]] * 3, "asked for the tenant it is not there")
    tap.equal(nodes(a), [[]] * 3, "nor does the tenant see it")
    must(server.put("/v1/tenants/a/placements/more", {"selector": {"rack": "b"}, "match": {"dst": "10.9.2.0/24"}}), 201)
    label = must(server.get("/v1/tenants/a/placements/more"), 200).json["label"]
    must(send(server, liar, batch([steady(1, label=label)], start_us=time.time_ns() // 1000 + 1000000),
              node="n2"), 200)
    tap.equal(nodes(a)[1:], [["n2"]] * 2, "where a selector places its job it does")


def one_node_leaves_room_for_the_names_of_others(tap, server):
    agent, _ = fixture(server)
    flood = server.node("n2")
    for i in range(140):  # 70,000 names: more than the store has room for
        columns = {f"n{i}_{j}": ("gauge", 0, [1]) for j in range(500)}
        must(server.call("POST", "/v1/nodes/n2/telemetry",
                         batch([("port", "eth0", 0, 0, 0, columns)], seconds=1,
                               start_us=time.time_ns() // 1000 - 10**9 + i * 10**6),
                         OCTETS, token=flood), 200)
    must(send(server, agent, batch([("port", "eth1", 0, 0, 0, {"new_here": ("gauge", 0, [7] * 10)})])), 200)
    items = must(server.get("/v1/telemetry/latest?node=n1"), 200).json["items"]
    tap.equal([(i["device"], i["metric"], i["value"]) for i in items], [("eth1", "new_here", 7)],
              "a new name of another node has its place")


def an_agent_sends(tap, server):
    """The whole way, with made traffic."""
    token = server.node("sim1")
    with tempfile.TemporaryDirectory() as state:
        secret = os.path.join(state, "token")
        with open(secret, "w", encoding="utf-8") as f:
            f.write(token)
        agent = subprocess.Popen([os.path.join(arguments().objdir, "stellar-agent"), "--provider", "sim", "--server",
                                  f"http://127.0.0.1:{server.port}", "--node", "sim1", "--token-file",
                                  secret, "--state-dir", state], stderr=subprocess.DEVNULL)
        try:
            end, items = time.monotonic() + WAIT_S, []
            while not items and time.monotonic() < end:
                time.sleep(0.2)
                items = must(server.get("/v1/telemetry/latest?node=sim1&kind=qp&metric=tx_bytes"),
                             200).json["items"]
            first = {i["number"]: i["value"] for i in items}
            grown = []
            while not grown and time.monotonic() < end:
                time.sleep(0.2)
                items = must(server.get("/v1/telemetry/latest?node=sim1&kind=qp&metric=tx_bytes"),
                             200).json["items"]
                grown = [i["number"] for i in items if i["value"] > first[i["number"]]]
        finally:
            agent.terminate()
            agent.wait(timeout=30)
    tap.equal(sorted(set(grown)), list(range(17, 33)), "each queue pair of the node has grown")
    tap.equal(agent.returncode, 0, "the agent ends cleanly")


if __name__ == "__main__":
    run([comes_back, refuses, own_jobs_alone, a_node_speaks_for_its_jobs_alone,
         one_node_leaves_room_for_the_names_of_others, an_agent_sends])
