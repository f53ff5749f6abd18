#!/usr/bin/env python3
"""A node that waits for a reboot: what its agent tells, and the approval that comes back with its plan."""
from lib import fixture, must, planned, run

DIGEST = "sha256:" + "1" * 64
OTHER = "sha256:" + "2" * 64


def waits(digest, approved=False):
    return {"digest": digest, "count": 2, "first": "module parameter solar_rdma.max_sge",
            "why": "an operator has to approve it", "approved": approved}


def node(server):
    return must(server.get("/v1/nodes/n1"), 200).json


def reboot(server, query=""):
    return server.call("POST", "/v1/nodes/n1:reboot" + query)


def what_waits_is_shown(tap, server):
    agent, _ = fixture(server)
    tap.ok("reboot" not in node(server), "nothing waits at first")
    agent.report(reboot=waits(DIGEST))
    planned(server, "n1")
    tap.equal(node(server)["reboot"], waits(DIGEST), "the node shows what waits, and why")
    tap.status(agent.fetch(), 204, "which is no other plan")
    server.stop()
    server.start()
    tap.equal(node(server)["reboot"], waits(DIGEST), "also after a restart")
    agent.report()
    planned(server, "n1")
    tap.ok("reboot" not in node(server), "and no more when nothing waits")
    for wrong in ({"digest": "sha256:1"}, {"count": 0}, {"first": ""}, {"approved": None}, {"more": 1}):
        document = {**waits(DIGEST), **wrong}
        document = {k: v for k, v in document.items() if v is not None}
        answer = server.call("PUT", "/v1/agent/inventory", {"version": 1, "node": "n1", "ports": [], "reboot": document},
                             token=agent.token)
        tap.status(answer, 422, f"an agent that tells {wrong} is refused")


def an_approval_comes_with_the_plan(tap, server):
    agent, tokens = fixture(server)
    answer = reboot(server)
    tap.equal((answer.status, answer.json["code"]), (409, "reboot-not-wanted"), "with nothing to approve it is refused")
    tap.status(server.call("POST", "/v1/nodes/n9:reboot"), 404, "and of no node")
    agent.report(reboot=waits(DIGEST))
    planned(server, "n1")
    for query, status, code in (("?digest=x", 400, "invalid-parameter"), (f"?digest={OTHER}", 409, "conflict")):
        answer = reboot(server, query)
        tap.equal((answer.status, answer.json["code"]), (status, code), f"{query}: nothing is approved that was not seen")
    tap.status(agent.fetch(), 204, "its plan is no news")
    for role in ("auditor", "tenant-admin", "agent"):
        answer = server.call("POST", "/v1/nodes/n1:reboot", token=tokens[role])
        tap.equal((answer.status, answer.json["code"]), (403, "denied"), f"{role} may not")
    made = must(reboot(server, f"?digest={DIGEST}&reason=drained"), 200).json
    tap.equal(made, {"node": "n1", "attempt": 1, "digest": DIGEST}, "it is approved")
    before = agent.digest
    tap.status(agent.fetch(), 200, "the agent hears it at once")
    tap.equal((agent.plan["approved"], agent.plan["attempt"], agent.digest), (DIGEST, 1, before), "with the same plan")
    tap.status(agent.fetch(), 204, "once")
    agent.report(reboot=waits(DIGEST, True))
    planned(server, "n1")
    tap.ok(node(server)["reboot"]["approved"], "and the node shows that it has arrived")
    events = [e for e in server.get("/v1/events").json["items"] if e["kind"] == "node.reboot"]
    tap.equal([(e["subject"], e["body"]) for e in events], [("node/n1", {"attempt": 1, "digest": DIGEST})],
              "an event tells")
    rows = [r for r in server.get("/v1/audit?page_size=1000").json["items"] if r["action"] == "node.reboot"]
    tap.equal([(r["subject"], r["reason"]) for r in rows], [("node/n1", "drained")], "and the audit log")


def what_was_begun_is_not_approved_again(tap, server):
    agent, _ = fixture(server)
    agent.report(reboot={**waits(DIGEST), "begun": True, "why": "begun already: look at the node"})
    planned(server, "n1")
    tap.ok(node(server)["reboot"]["begun"], "the node shows that one was begun")
    answer = reboot(server)
    tap.ok(answer.status == 409 and answer.json["code"] == "reboot-begun" and
           "look at the node" in answer.json["detail"], "no other one is, so none is approved", answer)
    tap.status(agent.fetch(), 204, "and the agent hears nothing")
    agent.report(reboot={**waits(OTHER), "begun": False})
    planned(server, "n1")
    tap.status(reboot(server), 200, "for something else it can be")


def an_approval_ends(tap, server):
    agent, _ = fixture(server)
    must(agent.receipt(), 201)
    agent.report(reboot=waits(DIGEST))
    planned(server, "n1")
    must(reboot(server), 200)
    must(server.call("POST", "/v1/nodes/n1:release"), 200)
    must(agent.fetch(), 200)
    tap.equal((agent.plan["attempt"], agent.plan.get("approved")), (2, None), "another order takes it back")
    must(reboot(server), 200)
    server.stop()
    server.start()
    planned(server, "n1")
    must(agent.fetch(), 200)
    tap.equal((agent.plan["attempt"], agent.plan.get("approved")), (3, DIGEST), "a restart keeps it")
    must(reboot(server), 200)
    must(server.put("/v1/rollout-policy", {"mode": "staged"}), 201)
    must(agent.fetch(), 200)
    tap.equal((agent.plan["attempt"], agent.plan["approved"]), (4, DIGEST), "while changes are staged it comes too")
    must(agent.receipt(), 201)
    server.stop()
    server.start()
    planned(server, "n1")
    tap.status(agent.fetch(), 204, "what the agent has is what a restarted server gives")
    tap.equal(must(server.get("/v1/nodes/n1/plan"), 200).json.get("approved"), DIGEST, "and the operator sees")
    must(server.call("POST", "/v1/nodes/n1:release"), 200)
    server.stop()
    server.start()
    planned(server, "n1")
    must(agent.fetch(), 200)
    tap.equal((agent.plan["attempt"], agent.plan.get("approved")), (5, None), "what was taken back does not return")


if __name__ == "__main__":
    run([what_waits_is_shown, an_approval_comes_with_the_plan, what_was_begun_is_not_approved_again, an_approval_ends])
