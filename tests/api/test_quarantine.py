#!/usr/bin/env python3
"""A node that gave up, and the order to try again: as told by an agent, and with a whole one that fails
in each of its lives."""
import os
import shutil
import subprocess
import tempfile
import time

from lib import FABRIC, fixture, must, planned, run

LIFE_S = 60


def node(server):
    return must(server.get("/v1/nodes/n1"), 200).json


def an_order_is_offered_once_and_kept(tap, server):
    agent, _ = fixture(server)
    must(agent.receipt("quarantined", observed="sha256:" + "0" * 64, problem="the device is stuck"), 201)
    shown = node(server)
    tap.equal((shown["sync"], shown["result"], shown["problem"]),
              ("quarantined", "quarantined", "the device is stuck"), "the node says so, and why")
    tap.equal([n["name"] for n in server.get("/v1/nodes?sync=quarantined").json["items"]], ["n1"],
              "such nodes are found")
    tap.equal(server.get("/v1/generations/current").json["nodes"]["failed"], 1, "it counts as failed")
    tap.ok("\nstellar_quarantined_nodes 1\n" in server.get("/metrics", token=None).body.decode(), "in the metrics")
    tap.status(agent.fetch(), 204, "its plan is no news")
    made = must(server.call("POST", "/v1/nodes/n1:release?reason=cable"), 200).json
    tap.equal(made, {"node": "n1", "attempt": 1}, "the first order")
    before = agent.digest
    tap.status(agent.fetch(), 200, "it is offered again")
    tap.equal((agent.plan["attempt"], agent.digest), (1, before), "with the order's number, the same plan")
    tap.status(agent.fetch(), 204, "and is no news then")
    must(agent.receipt(), 201)
    tap.equal(node(server)["sync"], "in-sync", "the order has helped")
    events = [e for e in server.get("/v1/events").json["items"] if e["kind"] == "node.release"]
    tap.equal([(e["subject"], e["body"]) for e in events], [("node/n1", {"attempt": 1})], "an event tells")
    rows = [r for r in server.get("/v1/audit?page_size=1000").json["items"] if r["action"] == "node.release"]
    tap.equal([(r["subject"], r["reason"]) for r in rows], [("node/n1", "cable")], "and the audit log")
    tap.status(server.call("POST", "/v1/nodes/n9:release"), 404, "no order for no node")
    tap.equal(must(server.call("POST", "/v1/nodes/n1:release"), 200).json["attempt"], 2, "the second")
    server.stop()
    server.start()
    planned(server, "n1")
    tap.status(agent.fetch(), 200, "after a restart it is still offered")
    tap.equal(agent.plan["attempt"], 2, "with its number")
    tap.equal(must(server.get("/v1/nodes/n1/plan"), 200).json["attempt"], 2, "the operator sees it")


def a_staged_plan_carries_it_too(tap, server):
    agent, _ = fixture(server)
    must(agent.receipt(), 201)
    must(server.call("POST", "/v1/nodes/n1:release"), 200)
    must(server.put("/v1/rollout-policy", {"mode": "staged"}), 201)
    must(agent.fetch(), 200)
    tap.equal(agent.plan["attempt"], 1, "what it has now keeps the number")
    must(agent.receipt(), 201)
    server.stop()
    server.start()
    planned(server, "n1")
    tap.status(agent.fetch(), 204, "also as it is stored")
    must(server.call("POST", "/v1/nodes/n1:release"), 200)
    tap.status(agent.fetch(), 200, "another order")
    tap.equal(agent.plan["attempt"], 2, "has another number")


def gap_is_shown(tap, server):
    agent, _ = fixture(server)
    must(agent.receipt(gap={"cause": "boot", "ms": 21480}), 201)
    tap.equal(node(server)["gap"], {"cause": "boot", "ms": 21480}, "the node shows how long nothing was in force")
    server.stop()
    server.start()
    planned(server, "n1")
    tap.equal(node(server)["gap"]["ms"], 21480, "also after a restart")
    must(agent.receipt(), 201)
    tap.ok("gap" not in node(server), "until its next receipt")
    for bad in ({"cause": "x", "ms": 1}, {"cause": "boot"}, {"cause": "boot", "ms": -1}, 7):
        tap.status(agent.receipt(gap=bad), 422, f"{bad} is refused")


class Life:
    """The agent, from a start to a kill."""

    def __init__(self, server, token, state, fault=None):
        self.log = open(os.path.join(state, "log"), "ab")
        path = os.path.join(state, "token")
        with open(path, "w") as file:
            file.write(token)
        os.chmod(path, 0o600)
        args = [os.path.join(server.args.objdir, "stellar-agent"), "--node", "n1",
                "--server", f"http://127.0.0.1:{server.port}", "--state-dir", os.path.join(state, "state"),
                "--provider", "sim", "--sim-ports", "1", "--token-file", path]
        if fault:
            args += ["--sim-fault", fault]
        self.proc = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def kill(self):
        self.proc.kill()
        self.proc.wait(LIFE_S)
        self.log.close()


def receipts(server):
    """The results, newest first, but for those of starts that found what stands."""
    answer = server.get("/v1/nodes/n1/receipts")
    rows = answer.json["items"] if answer.status == 200 else []
    return [r["receipt"]["result"] for r in rows if r["receipt"]["result"] != "unchanged"]


def told(server, count):
    end = time.monotonic() + LIFE_S
    while len(receipts(server)) <= count and time.monotonic() < end:
        time.sleep(0.05)
    return receipts(server)[0]


def a_whole_agent_gives_up_and_is_released(tap, server):
    must(server.put("/v1/fabric", FABRIC), 201)
    token = server.node("n1")
    state = tempfile.mkdtemp(prefix="stellar-api-")
    life = None
    try:
        results = []
        for _ in range(6):
            count = len(receipts(server))
            life = Life(server, token, state, "fail:dcb.pfc")
            results.append(told(server, count))
            life.kill()
        tap.equal(results, ["rolled-back"] * 4 + ["quarantined"] * 2, "five tries, each in a life of its own")
        tap.equal(node(server)["sync"], "quarantined", "the node is in quarantine")
        count = len(receipts(server))
        life = Life(server, token, state)
        tap.equal(told(server, count), "quarantined", "what failed is mended, but it does not know")
        count = len(receipts(server))
        must(server.call("POST", "/v1/nodes/n1:release"), 200)
        tap.equal(told(server, count), "applied", "the order lets it try")
        tap.equal(node(server)["sync"], "in-sync", "and it is in sync")
    finally:
        if life is not None:
            life.kill()
        shutil.rmtree(state, ignore_errors=True)


if __name__ == "__main__":
    run([an_order_is_offered_once_and_kept, a_staged_plan_carries_it_too, gap_is_shown,
         a_whole_agent_gives_up_and_is_released])
