#!/usr/bin/env python3
"""Marking chains: told by an agent, shown with the neighbour, found as findings."""
from lib import Agent, fixture, inventory, must, planned, run

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


JOB = "/v1/tenants/a/placements/nlp_job/chains"
OWN = chain("a/nlp_job", "whole", label=1, buffer=1)


def held(server, agent, chains, **more):
    """Told of the plan that the node was given."""
    return tell(server, agent, chains, node=agent.node, digest=agent.digest, **more)


def of_job(server, query="", **more):
    return must(server.get(JOB + query, **more), 200).json


def verdicts(answer):
    return [(i["node"], i["verdict"]) for i in answer["items"]]


def a_job_has_the_chains_of_its_nodes(tap, server):
    agent, tokens = fixture(server)
    second = Agent(server, "n2", server.node("n2", {"labels": {"rack": "b"}}))
    second.report()
    server.node("n3", {"labels": {"rack": "b"}})
    must(server.put("/v1/tenants/a/placements/nlp_job", {
        "nodes": ["n1"], "selector": {"rack": "b"}, "match": {"dst": "10.9.1.0/24"}}, "*"), 200)
    planned(server, "n1", "n2")
    agent.fetch()
    must(second.fetch(), 200)
    now = of_job(server)
    tap.equal(verdicts(now), [("n1", "unknown"), ("n2", "unknown"), ("n3", "unknown")],
              "each node of the job, named or selected, is there once; who told nothing is unknown")
    tap.ok(all("told no chains" in i["why"] and not i["reported"] for i in now["items"]), "and says why", now)
    tap.equal((now["verdict"], now["nodes"], now["label"]), ("unknown", {"whole": 0, "broken": 0, "unknown": 3}, 1),
              "so is the job")
    other = chain("b/other", "broken", label=2, at="pfc", why="of another tenant")
    must(held(server, agent, [other, OWN, chain("NCCL_IB_TC", "whole", buffer=1)]), 200)
    one = of_job(server)["items"][0]
    tap.equal((one["verdict"], [c["source"] for c in one["chains"]]), ("whole", ["a/nlp_job", "NCCL_IB_TC"]),
              "the job's marks and the node's own, not another job's")
    must(held(server, second, [{**OWN, "verdict": "unknown", "at": "class", "why": "not shown"},
                               {**OWN, "subject": "solar_rdma.0/1", "verdict": "broken", "at": "buffer",
                                "why": "buffer 1 has 0 bytes"}]), 200)
    now = of_job(server)
    tap.equal((now["verdict"], now["nodes"]), ("broken", {"whole": 1, "broken": 1, "unknown": 1}), "the worst node counts")
    tap.equal({k: now["first"][k] for k in ("node", "subject", "source", "at", "why")},
              {"node": "n2", "subject": "solar_rdma.0/1", "source": "a/nlp_job", "at": "buffer",
               "why": "buffer 1 has 0 bytes"}, "the first hop that is broken is named, before one that is not known")
    page = of_job(server, "?page_size=2")
    rest = of_job(server, f"?page_size=2&page_token={page['next_page_token']}")
    tap.equal((verdicts(page) + verdicts(rest), page["nodes"]), (verdicts(now), now["nodes"]), "in pages it is the same")
    tap.ok("verdict" not in rest and "next_page_token" not in rest, "what is of all nodes stands on the first", rest)
    must(held(server, agent, [chain("roce.tos", "whole", buffer=1)]), 200)
    must(server.put("/v1/tenants/a/placements/nlp_job", {"nodes": ["n1"], "match": {"dst": "10.9.3.0/24"}}, "*"), 200)
    planned(server, "n1")
    one = of_job(server)["items"]
    tap.ok(len(one) == 1 and one[0]["verdict"] == "unknown" and not one[0]["current"] and "another plan" in one[0]["why"],
           "what was told of an older plan vouches for nothing", one)
    must(agent.fetch(), 200)
    must(held(server, agent, [other]), 200)
    one = of_job(server)["items"][0]
    tap.ok(one["verdict"] == "unknown" and one["chains"] == [] and "nothing that the node told" in one["why"],
           "a node that marks nothing of the job is unknown", one)
    must(held(server, agent, [OWN] * 300), 200)
    one = of_job(server)["items"][0]
    tap.equal((len(one["chains"]), one["truncated"], one["verdict"]), (256, True, "whole"), "256 are shown, all count")
    must(held(server, agent, [OWN], truncated=True), 200)
    tap.equal(of_job(server)["items"][0]["verdict"], "unknown", "a node that did not tell all is not whole")
    must(server.put("/v1/tenants/a/placements/nlp_job", {"selector": {"rack": "z"}}, "*"), 200)
    now = of_job(server)
    tap.equal((now["verdict"], now["items"]), ("unknown", []), "a job on no node is unknown")
    tap.status(server.get("/v1/tenants/a/placements/cv_job/chains"), 404, "a job that is not placed has none")
    csv = server.get(JOB, headers={"Accept": "text/csv"})
    tap.ok(csv.status == 200 and csv.body.startswith(b"node,"), "they are a table, too", csv)


def who_reads_the_chains_of_a_job(tap, server):
    agent, tokens = fixture(server)
    body = inventory("n1")
    body["ports"][0]["neighbour"] = {"system": "sw9", "port": "Ethernet8", "source": "lldp"}
    must(server.call("PUT", "/v1/agent/inventory", body, token=agent.token), 200)
    must(server.put("/v1/switches/sw9", {"vendor": "x", "pfc": False}), 201)
    planned(server, "n1")
    agent.fetch()
    must(held(server, agent, [OWN]), 200)
    now = of_job(server)
    tap.equal((now["verdict"], now["first"]["at"], now["items"][0]["chains"][0]["neighbour"]["switch"]),
              ("broken", "neighbour", "sw9"), "a switch without PFC is the first hop that is broken")
    for role in ("tenant-admin", "tenant-user"):
        own = server.get(JOB, token=tokens[role])
        tap.ok(own.status == 200 and own.json["verdict"] == "broken" and own.json["first"]["at"] == "neighbour" and
               b"sw9" not in own.body and b"Ethernet8" not in own.body,
               f"{role} reads the same of its job, and no name of a switch", own)
        for path in ("/v1/tenants/b/placements/x/chains", "/v1/tenants/none/placements/x/chains"):
            tap.status(server.get(path, token=tokens[role]), 404, f"{role}: another tenant's are not there")
    tap.status(server.get(JOB, token=tokens["auditor"]), 200, "an auditor reads them")
    tap.status(server.get(JOB, token=agent.token), 403, "an agent does not")


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
    run([chains_are_shown_and_found, the_neighbour_is_what_lldp_and_the_switch_say, a_job_has_the_chains_of_its_nodes,
         who_reads_the_chains_of_a_job, hostile_reports_are_refused])
