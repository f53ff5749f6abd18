#!/usr/bin/env python3
"""A fake agent: inventory, plan, receipts, state, and the barrier that waits for them."""
import http.client
import threading
import time

from lib import Agent, CALL_S, FABRIC, POLICY, fixture, inventory, must, run

CHANGED = {"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": "50%"}}}


def barrier(server, query=""):
    return must(server.get("/v1/generations/current" + query), 200).json


def later(seconds, fn):
    result = {}

    def call():
        time.sleep(seconds)
        result["answer"] = fn()

    thread = threading.Thread(target=call)
    thread.start()
    result["thread"] = thread
    return result


def plan_comes(tap, server):
    agent, _ = fixture(server)
    plan = agent.plan
    tap.equal((plan["node"], plan["version"]), ("n1", 1), "the plan is the token's node's")
    kinds = {k["kind"] for k in plan["knobs"]}
    tap.ok({"dcb.ets", "dcb.pfc", "link.mtu", "tc.class"} <= kinds, "it has the fabric and the job",
           kinds)
    tap.equal(server.get("/v1/nodes/n1/plan").json, plan, "the operator sees the same plan")
    start = time.monotonic()
    tap.status(agent.fetch(wait="1s"), 204, "a known plan is 204")
    tap.ok(0.9 < time.monotonic() - start < 20, "after the wait", time.monotonic() - start)
    start = time.monotonic()
    tap.status(agent.fetch(wait="0s"), 204, "without a wait at once")
    tap.ok(time.monotonic() - start < 5, "really at once")
    waiting = later(0, lambda: agent.fetch(wait="25s"))
    time.sleep(0.2)
    start = time.monotonic()
    must(server.put("/v1/tenants/a/policy", CHANGED, '"1"'), 200)
    waiting["thread"].join()
    tap.ok(waiting["answer"].status == 200 and time.monotonic() - start < 10,
           "a waiting agent is woken by a change", waiting["answer"])
    tap.equal(server.get("/v1/nodes/n1/plan").json["digest"], agent.digest, "with the newest plan")
    waiting = later(0, lambda: agent.fetch(wait="2s"))
    time.sleep(0.2)
    must(server.put("/v1/tenants/b/policy", POLICY), 201)
    waiting["thread"].join()
    tap.status(waiting["answer"], 204, "a change that does not touch the node wakes nobody")


def longest_name_waits(tap, server):
    """A waiting agent is known by a key that holds the node's name."""
    fixture(server)
    name = "n" * 63
    agent = Agent(server, name, server.node(name))
    agent.report()
    must(server.put("/v1/tenants/a/placements/cv_job", {"nodes": [name]}), 201)
    agent.settle()
    tap.status(agent.fetch(wait="1s"), 204, "a wait of a node with 63 letters ends at its deadline")
    waiting = later(0, lambda: agent.fetch(wait="25s"))
    time.sleep(0.2)
    start = time.monotonic()
    must(server.call("DELETE", "/v1/tenants/a/placements/cv_job", headers={"If-Match": "*"}), 200)
    waiting["thread"].join()
    tap.ok(waiting["answer"].status == 200 and time.monotonic() - start < 10,
           "and is woken by a change", waiting["answer"])


def barrier_waits(tap, server):
    agent, _ = fixture(server)
    state = barrier(server)
    tap.ok(not state["applied"] and state["pending"] == ["n1"] and state["nodes"]["total"] == 1,
           "a node that never answered is pending", state)
    waiting = later(0, lambda: barrier(server, "?wait=applied&timeout=20s"))
    time.sleep(0.2)
    start = time.monotonic()
    must(agent.receipt(), 201)
    waiting["thread"].join()
    tap.ok(waiting["answer"]["applied"] and time.monotonic() - start < 5,
           "the last receipt answers the barrier at once", waiting["answer"])
    tap.equal(barrier(server)["nodes"], {"total": 1, "in_sync": 1, "pending": 0, "failed": 0,
                                         "held": 0, "confirming": 0},
              "then it is in sync")
    old = barrier(server)["generation"]
    must(server.put("/v1/tenants/a/policy", CHANGED, '"1"'), 200)
    tap.ok(not barrier(server)["applied"], "a new policy: not applied until the node says so")
    tap.ok(not server.get(f"/v1/generations/{old}").json["applied"],
           "nor does an older generation count while the node moves on")
    start = time.monotonic()
    late = barrier(server, "?wait=applied&timeout=1s")
    tap.ok(not late["applied"] and time.monotonic() - start > 0.9, "a wait ends with the truth", late)
    agent.settle()
    tap.ok(barrier(server, "?wait=applied&timeout=10s")["applied"], "until the node has settled")
    tap.status(server.get("/v1/generations/999999?wait=applied&timeout=1s"), 404,
               "a generation of the future is 404")
    node = server.get("/v1/nodes/n1").json
    tap.ok(node["in_sync"] and node["digest"] == node["observed"] == agent.digest and
           node["result"] == "applied" and not node["stale"], "the node's row says the same", node)


def unreported_nodes_count(tap, server):
    """A barrier that says "applied" while a node's agent never came would be a lie."""
    server.node("n1")
    tap.ok(barrier(server)["applied"], "without a profile nothing is wanted of a node")
    must(server.put("/v1/fabric", FABRIC), 201)
    state = barrier(server, "?wait=applied&timeout=1s")
    tap.ok(not state["applied"] and state["pending"] == ["n1"],
           "with a profile a node whose agent never came is pending", state)
    must(server.call("DELETE", "/v1/nodes/n1", headers={"If-Match": "*"}), 200)
    tap.ok(barrier(server)["applied"], "until it is deleted")


def wrong_token(tap, server):
    """The token of one node in the hands of another's agent changes nothing."""
    agent, _ = fixture(server)
    agent.report()
    before = server.get("/v1/nodes/n1/inventory").json
    other = dict(before, node="n2")
    tap.status(server.call("PUT", "/v1/agent/inventory", other, token=agent.token), 403,
               "an inventory that names another node is refused")
    tap.equal(server.get("/v1/nodes/n1/inventory").json, before, "and changes nothing")


def only_equal_digests_count(tap, server):
    agent, _ = fixture(server)
    other = "sha256:" + "1" * 64
    for result, observed, sync in (("applied", other, "failed"), ("rolled-back", other, "failed"),
                                   ("refused", other, "failed"), ("stuck", other, "failed"),
                                   ("rolled-back", None, "failed"), ("unchanged", None, "in-sync"),
                                   ("drift", None, "in-sync"), ("applied", None, "in-sync")):
        must(agent.receipt(result, observed), 201)
        node = server.get("/v1/nodes/n1").json
        tap.ok(node["sync"] == sync and node["in_sync"] == (sync == "in-sync"),
               f"{result} with {'the' if observed is None else 'another'} observed digest is {sync}",
               node)
        tap.equal(barrier(server)["applied"], sync == "in-sync", "and so says the barrier")
    right, agent.digest = agent.digest, other
    must(agent.receipt(), 201)
    tap.equal(server.get("/v1/nodes/n1").json["sync"], "pending", "an old plan's receipt is pending")
    agent.digest = right
    body = {"version": 1, "node": "n1", "generation": 7, "digest": right, "result": "applied",
            "time_us": 1, "apply_ns": 1, "steps": []}
    must(server.call("POST", "/v1/agent/receipts", body, token=agent.token), 201)
    tap.ok(not server.get("/v1/nodes/n1").json["in_sync"],
           "what could not be observed is not in sync")
    twice = [server.call("POST", "/v1/agent/receipts", body, token=agent.token).json["id"]
             for _ in range(2)]
    tap.equal(twice[0], twice[1], "the same receipt again is the same receipt")
    listed = server.get("/v1/nodes/n1/receipts").json["items"]
    tap.ok(listed[0]["id"] == twice[0] and len(listed) == 10, "all others are kept, newest first",
           [i["id"] for i in listed])
    must(agent.receipt("stuck", problem="x" + "\u00e4" * 200), 201)
    tap.equal(server.get("/v1/nodes/n1").json.get("problem"), "x" + "\u00e4" * 127,
              "a long problem is shown up to a whole character")


def drift(tap, server):
    agent, _ = fixture(server)
    must(agent.receipt(), 201)
    events = server.get("/v1/events").json["last"]
    tap.equal(agent.state().json, {"drift": 0}, "a state like the plan is no drift")
    tap.ok(barrier(server)["applied"], "and stays in sync")

    def other_mtu(knob):
        if knob["kind"] == "link.mtu":
            knob["live"] = 1500

    tap.equal(agent.state(other_mtu).json, {"drift": 1}, "one knob changed by hand is one drift")
    tap.ok(not barrier(server)["applied"], "then the node is not in sync")
    must(agent.state(other_mtu), 200)
    found = [e for e in server.get(f"/v1/events?after={events}").json["items"]
             if e["kind"] == "node.drift"]
    tap.ok(len(found) == 1, "one event, however often it is reported", found)
    knob = found[0]["body"]["knobs"][0]
    tap.equal((knob["kind"], knob["subject"], knob["want"], knob["is"]),
              ("link.mtu", "solar_rdma.0/0", 4200, 1500), "with the knob, the wanted and the real value")
    tap.equal(agent.state().json, {"drift": 0}, "repaired")
    tap.ok(barrier(server)["applied"], "and in sync again")
    tap.equal(server.get("/v1/nodes/n1/state").json["knobs"][0]["kind"],
              agent.plan["knobs"][0]["kind"], "the operator can read the state")


def state_of_another_plan(tap, server):
    """States and receipts come on two ways: one that was seen before the last plan is no drift."""
    agent, _ = fixture(server)
    must(server.node("n2") and server.get("/v1/nodes/n2"), 200)
    none = server.get("/v1/nodes/n2/state")
    tap.ok(none.status == 404 and "about one a minute" in none.json.get("detail", ""),
           "a node that never told its state is 404, with what to do", none)
    must(agent.receipt(), 201)
    must(agent.state(of=True), 200)
    first = server.get("/v1/nodes/n1/state").json
    tap.ok(first["of"]["digest"] == agent.digest and first["current"] and
           first["of"]["generation"] == agent.plan["generation"] and first["observed"] <= first["received"],
           "a good state is shown with its plan and its time", first)
    must(agent.state(of=True), 200)
    tap.equal(server.get("/v1/nodes/n1/state").json, first, "the same state again writes nothing")
    old, old_digest = agent.plan, agent.digest
    must(server.put("/v1/tenants/a/policy", CHANGED, '"1"'), 200)
    must(agent.fetch(wait="10s"), 200)
    tap.equal(server.get("/v1/nodes/n1/state").json["current"], False,
              "with a new plan the state says that it is not of that one")
    must(agent.receipt(), 201)
    new, new_digest = agent.plan, agent.digest
    events = server.get("/v1/events").json["last"]

    def drifts():
        return [e for e in server.get(f"/v1/events?after={events}").json["items"] if e["kind"] == "node.drift"]

    agent.plan, agent.digest = old, old_digest
    tap.equal(agent.state(of=True).json, {"drift": 0}, "the late state of the plan before is not compared")
    tap.equal((drifts(), server.get("/v1/nodes/n1").json["sync"]), ([], "in-sync"), "it is no drift")
    tap.equal((server.stop(), server.start() and None, server.get("/v1/nodes/n1").json["sync"]),
              (0, None, "in-sync"), "nor after a restart of the server")
    events = server.get("/v1/events").json["last"]
    tap.ok(agent.state().json["drift"] > 0 and len(drifts()) == 1,
           "only a state that does not say of which plan it is counts for the last one", drifts())
    agent.plan, agent.digest = new, new_digest
    must(agent.state(of=True), 200)
    now = server.get("/v1/nodes/n1")
    tap.ok(now.json["sync"] == "in-sync" and server.get("/v1/nodes/n1/state").json["current"],
           "a state of the new plan is compared", now)

    def other_mtu(knob):
        if knob["kind"] == "link.mtu":
            knob["live"] = 1500

    tap.equal(agent.state(other_mtu, of=True).json, {"drift": 1}, "and drift of it is still found")
    wrong = {"knobs": [], "of": {"digest": "x", "generation": 1, "time_us": 1}}
    tap.status(server.call("PUT", "/v1/agent/state", wrong, token=agent.token), 422, "a wrong digest is 422")
    con = http.client.HTTPConnection("127.0.0.1", server.port, timeout=CALL_S)
    con.putrequest("PUT", "/v1/agent/state")
    for name, value in (("Authorization", f"Bearer {agent.token}"), ("Content-Type", "application/json"),
                        ("Content-Length", (16 << 20) + 1)):
        con.putheader(name, value)
    con.endheaders()
    tap.equal(con.getresponse().status, 413, "one byte more than 16 MiB is 413")
    con.close()


def reports_are_checked(tap, server):
    agent, tokens = fixture(server)
    two = server.node("n2")
    tap.status(server.call("POST", "/v1/agent/receipts",
                           {"version": 1, "node": "n1", "generation": 1, "digest": agent.digest,
                            "result": "applied", "time_us": 1, "apply_ns": 1, "steps": []},
                           token=two), 403, "a token cannot speak for another node")
    tap.status(server.call("PUT", "/v1/agent/inventory", inventory("n1"), token=two), 403,
               "nor send its inventory")
    for name, method, path, body in (
            ("inventory", "PUT", "inventory", {"version": 2, "ports": []}),
            ("inventory with a port twice", "PUT", "inventory",
             {"version": 1, "ports": [{"id": "a/0"}, {"id": "a/0"}]}),
            ("receipt", "POST", "receipts", {"version": 1}),
            ("state", "PUT", "state", {"knobs": [{"kind": "no.such", "subject": "host"}]})):
        tap.status(server.call(method, "/v1/agent/" + path, body, token=two), 422,
                   f"a wrong {name} is 422")
    same = agent.report().json
    tap.ok(same.get("unchanged"), "the same inventory again changes nothing", same)
    agent.report(ports=2)
    must(agent.fetch(wait="10s"), 200)
    tap.equal(len({k["subject"] for k in agent.plan["knobs"]}), 2, "a second port is in the plan")
    new = must(server.call("POST", "/v1/nodes/n1/token"), 201).json["token"]
    tap.status(agent.fetch(), 401, "the old token ends with the new one")
    agent.token = new
    tap.status(agent.fetch(), 204, "the new one works")
    waiting = later(0, lambda: agent.fetch(wait="20s"))
    time.sleep(0.2)
    must(server.call("DELETE", "/v1/nodes/n1", headers={"If-Match": "*"}), 200)
    waiting["thread"].join()
    tap.status(waiting["answer"], 404, "a deleted node's agent is told")
    tap.status(agent.fetch(), 401, "and its token is over")
    tap.ok("n1" not in barrier(server)["pending"], "the barrier does not wait for it")


def many_agents(tap, server):
    must(server.put("/v1/fabric", FABRIC), 201)
    must(server.put("/v1/tenants/a", {}), 201)
    must(server.put("/v1/tenants/a/policy", POLICY), 201)
    must(server.put("/v1/tenants/a/placements/nlp_job", {"selector": {"rack": "a"},
                                                         "match": {"dst": "10.9.0.0/16"}}), 201)
    agents = [Agent(server, f"n{i:02}", server.node(f"n{i:02}", {"labels": {"rack": "ab"[i % 2]}}))
              for i in range(20)]
    for agent in agents:
        agent.report()
    stop = threading.Event()

    def live(agent):
        while not stop.is_set():
            if agent.fetch(wait="1s").status == 200:
                must(agent.receipt(), 201)
        server.drop_connection()

    threads = [threading.Thread(target=live, args=(a,)) for a in agents]
    for t in threads:
        t.start()
    state = barrier(server, "?wait=applied&timeout=30s")
    tap.ok(state["applied"] and state["nodes"]["in_sync"] == 20, "20 agents reach the plan", state)
    before = {a.node: a.digest for a in agents}
    made = must(server.put("/v1/tenants/a/policy", CHANGED, '"1"'), 200).json
    state = must(server.get(f"/v1/generations/{made['generation']}?wait=applied&timeout=30s"), 200).json
    tap.ok(state["applied"], "an upload is waited for by its generation", state)
    moved = {a.node for a in agents if a.digest != before[a.node]}
    tap.equal(moved, {a.node for i, a in enumerate(agents) if i % 2 == 0},
              "only the selected rack got a new plan")
    must(server.put("/v1/nodes/n01", {"labels": {"rack": "a"}},
                    server.get("/v1/nodes/n01").etag), 200)
    tap.ok(barrier(server, "?wait=applied&timeout=30s")["applied"], "a node moves into the rack")
    tap.ok(any(k.get("job") == "nlp_job" for k in agents[1].plan["knobs"]), "and gets the job")
    pages, token = [], ""
    while True:
        page = server.get("/v1/nodes?page_size=7" + token).json
        pages.append([n["name"] for n in page["items"]])
        if "next_page_token" not in page:
            break
        token = "&page_token=" + page["next_page_token"]
    tap.equal(sum(pages, []), [a.node for a in agents], "pages list every node once, in order")
    stop.set()
    for t in threads:
        t.join()


if __name__ == "__main__":
    run([plan_comes, longest_name_waits, barrier_waits, unreported_nodes_count, wrong_token,
         only_equal_digests_count, drift, state_of_another_plan, reports_are_checked, many_agents])
