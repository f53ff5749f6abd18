#!/usr/bin/env python3
"""Marking chains: told by an agent, shown with the neighbour, found as findings."""
from lib import fixture, inventory, must, run

RULE = "marking-chain"


def chain(source, verdict, **more):
    return {"subject": "solar_rdma.0/0", "source": source, "dscp": 26, "priority": 3, "class": 3,
            "lossless": True, "verdict": verdict, **more}


def tell(server, agent, chains, **more):
    body = {"version": 1, "node": "n1", "generation": 7, "digest": "sha256:" + "1" * 64, "chains": chains, **more}
    return server.call("PUT", "/v1/agent/chains", body, token=agent.token)


def shown(server):
    return must(server.get("/v1/nodes/n1/chains"), 200).json


def chains_are_shown_and_found(tap, server):
    agent, _ = fixture(server)
    tap.equal(shown(server), {"node": "n1", "reported": False, "items": []}, "none were told")
    broken = chain("a/nlp_job", "broken", label=1, at="buffer", why="buffer 1 of lossless priority 3 has 0 bytes")
    hidden = chain("roce.tos", "unknown", at="pfc", why="the port does not show which priorities have PFC")
    made = must(tell(server, agent, [broken, chain("NCCL_IB_TC", "whole", buffer=1), hidden]), 200)
    tap.equal(made.json, {"whole": 1, "broken": 1, "unknown": 1}, "the verdicts are counted")
    now = shown(server)
    tap.equal((now["reported"], now["generation"], len(now["items"])), (True, 7, 3), "they are shown")
    tap.equal({k: now["items"][0][k] for k in broken}, broken, "as they were told")
    tap.ok(all(i["neighbour"]["verdict"] == "unknown" and "no LLDP" in i["neighbour"]["why"] for i in now["items"]),
           "without LLDP nobody knows the neighbour", now["items"])
    found = [f for f in server.get("/v1/nodes/n1/findings").json["items"] if f["rule"] == RULE]
    tap.equal([(f["severity"], f["observed"]) for f in found], [("warning", "buffer"), ("info", "unknown")],
              "what is broken is a warning, what is hidden unknown")
    tap.ok("buffer 1 of lossless priority 3 has 0 bytes" in found[0]["message"], "the finding says why", found[0])
    tap.equal(len(server.get(f"/v1/findings?rule={RULE}").json["items"]), 2, "they are among the fleet's")
    events = [e for e in server.get("/v1/events").json["items"] if e["kind"] == "node.marking"]
    tap.equal([e["body"] for e in events], [{"whole": 1, "broken": 1, "unknown": 1}], "an event tells")
    server.stop()
    server.start()
    tap.equal(shown(server), now, "a restart keeps them")
    must(tell(server, agent, [chain("NCCL_IB_TC", "whole", buffer=1)]), 200)
    tap.equal(server.get(f"/v1/findings?rule={RULE}").json["items"], [], "what is whole again is no finding")
    tap.status(server.get("/v1/nodes/n9/chains"), 404, "no chains of no node")
    must(server.call("DELETE", "/v1/nodes/n1", headers={"If-Match": "*"}), 200)
    must(server.put("/v1/nodes/n1", {}), 201)
    tap.equal(shown(server)["reported"], False, "a new node of the name told none")


def the_neighbour_is_what_lldp_and_the_switch_say(tap, server):
    agent, _ = fixture(server)
    body = inventory("n1")
    body["ports"][0]["neighbour"] = {"system": "sw9", "port": "Ethernet8", "source": "lldp"}
    must(server.call("PUT", "/v1/agent/inventory", body, token=agent.token), 200)
    must(tell(server, agent, [chain("roce.tos", "whole", buffer=1)]), 200)
    one = shown(server)["items"][0]["neighbour"]
    tap.equal((one["verdict"], one["switch"], one["port"]), ("unknown", "sw9", "Ethernet8"), "the switch has no document")
    must(server.put("/v1/switches/sw9", {"vendor": "x", "pfc": False}), 201)
    one = shown(server)["items"][0]["neighbour"]
    tap.equal(one["verdict"], "broken", "a switch without PFC breaks a lossless chain")
    tap.ok("sw9 has no PFC" in one["why"], "and is named", one)


def hostile_reports_are_refused(tap, server):
    agent, _ = fixture(server)
    tap.status(tell(server, agent, [], node="n2"), 403, "another node's")
    for what, chains in (("an unknown verdict", [chain("x", "good")]), ("no hop", [chain("x", "broken")]),
                         ("a DSCP of 64", [{**chain("x", "whole"), "dscp": 64}]),
                         ("2,049", [chain("x", "whole")] * 2049)):
        answer = tell(server, agent, chains)
        tap.ok(answer.status in (400, 413, 422), f"{what} is refused", answer)
    must(tell(server, agent, [chain("x", "whole")] * 2048, truncated=True), 200)
    tap.equal((shown(server)["truncated"], len(shown(server)["items"])), (True, 2048), "2,048 are taken")


if __name__ == "__main__":
    run([chains_are_shown_and_found, the_neighbour_is_what_lldp_and_the_switch_say, hostile_reports_are_refused])
