#!/usr/bin/env python3
"""Rollouts: waves, gates, confirmation, return, restart; staged and direct delivery."""
import copy
import time

from lib import CALL_S, FABRIC, POLICY, Agent, must, planned, run

QUICK = {"mode": "staged", "waves": [{"count": 1}, {"percent": 50}], "soak": "0s",
         "confirm_timeout": "60s", "wave_deadline": "60s"}


def fleet(server, count, policy=QUICK, ports=1):
    """Nodes n1.. on their first plan; then changes are staged."""
    must(server.put("/v1/fabric", FABRIC), 201)
    must(server.put("/v1/tenants/a", {}), 201)
    must(server.put("/v1/tenants/a/policy", POLICY), 201)
    agents = {}
    for i in range(1, count + 1):
        name = f"n{i}"
        agents[name] = Agent(server, name, server.node(name, {"labels": {"rack": "ab"[i % 2]}}))
        agents[name].report(ports)
    must(server.put("/v1/tenants/a/placements/nlp_job",
                    {"nodes": sorted(agents), "match": {"dst": "10.9.1.0/24"}}), 201)
    planned(server, *agents)
    for agent in agents.values():
        agent.settle()
        must(server.get(f"/v1/nodes/{agent.node}"), 200)
    must(server.put("/v1/rollout-policy", policy), 201)
    return agents


def change(server, share):
    """Another guarantee: every node's plan changes."""
    policy = copy.deepcopy(POLICY)
    policy["qos_policy"]["nlp_job"]["bw_guarantee"] = share
    etag = server.get("/v1/tenants/a/policy").etag
    must(server.put("/v1/tenants/a/policy", policy, etag), 200)


def start(server, body=None, **kw):
    answer = must(server.call("POST", "/v1/rollouts", body or {"all": True}, **kw), 201)
    assert answer.headers["Location"] == f"/v1/rollouts/{answer.json['id']}", answer
    return answer.json["id"]


def rollout(server, name):
    return must(server.get(f"/v1/rollouts/{name}"), 200).json


def nodes(server, name):
    items = must(server.get(f"/v1/rollouts/{name}/nodes"), 200).json["items"]
    return {i["node"]: i["state"] for i in items}


def verb(server, name, word, **kw):
    return server.call("POST", f"/v1/rollouts/{name}:{word}?reason=test", **kw)


def turn(agents, receipts=None):
    """Each agent asks once and says that it has done what it got; receipts: node -> function."""
    for agent in agents.values():
        if agent.fetch().status == 200:
            (receipts or {}).get(agent.node, lambda a: must(a.receipt(), 201))(agent)


def until(server, name, states, agents, receipts=None, seconds=CALL_S):
    end = time.monotonic() + seconds
    while True:
        now = rollout(server, name)
        if now["state"] in (states if isinstance(states, tuple) else (states,)):
            return now
        if time.monotonic() > end:
            raise AssertionError(f"{name} is not {states}: {now} {nodes(server, name)}")
        turn(agents, receipts)
        time.sleep(0.02)


def synced(server, agents):
    return {n: must(server.get(f"/v1/nodes/{n}"), 200).json["sync"] for n in agents}


def kinds(server, name):
    items, last = [], 0
    while True:
        page = must(server.get(f"/v1/events?page_size=1000&after={last}"), 200).json
        if not page["items"]:
            return [e["kind"] for e in items if e["subject"] == f"rollout/{name}"]
        items += page["items"]
        last = page["last"]


def waves_go_in_order_and_the_barrier_waits(tap, server):
    agents = fleet(server, 5)
    before = {n: a.digest for n, a in agents.items()}
    change(server, "30%")
    planned(server, *agents)
    tap.equal(set(synced(server, agents).values()), {"held"}, "a staged change is held on every node")
    barrier = server.get("/v1/generations/current").json
    tap.ok(not barrier["applied"] and barrier["nodes"]["pending"] == 5,
           "held nodes are pending in the barrier", barrier)
    tap.ok(barrier["nodes"]["held"] == 5 and barrier["hint"].startswith("5 nodes ") and
           "POST /v1/rollouts" in barrier["hint"], "which says that they need a rollout", barrier)
    tap.equal([a.fetch().status for a in agents.values()], [204] * 5, "no agent is given anything")
    preview = must(server.call("POST", "/v1/rollouts?dry_run=true", {"all": True}), 200).json
    tap.equal([w["nodes_total"] for w in preview["waves"]], [1, 3, 1],
              "the dry run says how many nodes each wave has")
    tap.ok(preview["waves"][0]["nodes"] == ["n1"] and preview["waves"][0]["steps"] > 0 and
           preview["waves"][0]["tenants"] == ["a"] and
           preview["waves"][0]["jobs"] == [{"tenant": "a", "job": "nlp_job"}],
           "and whom it hits", preview)
    tap.equal(server.get("/v1/rollouts").json["items"], [], "a dry run begins nothing")
    name = start(server, {"all": True, "message": "less"})
    until(server, name, "running", {})
    tap.equal([n for n, a in agents.items() if a.fetch().status == 200], ["n1"],
              "only the canary is offered its plan")
    tap.ok(agents["n1"].rollout == name and agents["n1"].plan["confirm"]["timeout_s"] == 60,
           "it is to be confirmed, within the time of the policy", agents["n1"].plan.get("confirm"))
    barrier = server.get("/v1/generations/current?wait=applied&timeout=0s").json
    tap.ok((barrier["nodes"]["held"], barrier["nodes"]["confirming"]) == (4, 1) and
           barrier["hint"].startswith("4 nodes"), "the barrier counts it", barrier)
    tap.equal(synced(server, ["n1", "n2"]), {"n1": "confirming", "n2": "held"},
              "a node on trial is not in sync")
    must(agents["n1"].receipt(), 201)
    time.sleep(0.5)
    now = rollout(server, name)
    gates = {g["name"]: g for g in now["waves"][0]["gates"]}
    tap.ok(gates["receipts"]["state"] == "ok" and gates["probe"]["state"] == "pending" and
           gates["probe"]["nodes"] == ["n1"] and 0 < now["confirm_remaining_s"] <= 60,
           "a node that was not heard after its receipt holds the wave", now)
    done = until(server, name, "done", agents)
    tap.equal([w["state"] for w in done["waves"]], ["confirmed"] * 3, "all waves are confirmed")
    turn(agents)
    turn(agents)
    tap.ok(all(a.digest != before[n] and a.rollout is None for n, a in agents.items()),
           "every node has its new plan, as a final one")
    tap.equal(set(synced(server, agents).values()), {"in-sync"}, "all are in sync")
    barrier = server.get("/v1/generations/current").json
    tap.ok(barrier["applied"] and "hint" not in barrier, "the barrier is reached", barrier)
    tap.equal(set(nodes(server, name).values()), {"confirmed"}, "the rollout says so of each node")
    told = kinds(server, name)
    tap.ok(told[0] == "rollout.started" and told.count("rollout.wave") == 3 and
           told[-1] == "rollout.done", "events tell of it", told)
    tap.equal(must(server.call("POST", "/v1/rollouts", {"all": True}), 409).json["code"],
              "nothing-to-roll-out", "there is nothing more to roll out")
    receipts = server.get("/v1/nodes/n1/receipts").json["items"]
    tap.ok(any(r["receipt"].get("rollout") == name for r in receipts), "receipts carry the rollout")
    page = must(server.get("/v1/rollouts"), 200).json["items"]
    tap.ok(page[0]["id"] == name and page[0]["message"] == "less", "the list shows it", page)
    etag = server.get(f"/v1/rollouts/{name}").etag
    tap.status(server.call("GET", f"/v1/rollouts/{name}", headers={"If-None-Match": etag}), 304,
               "a rollout has an ETag")


def a_failed_gate_returns_the_wave(tap, server):
    agents = fleet(server, 4)
    before = {n: a.digest for n, a in agents.items()}
    change(server, "30%")
    planned(server, *agents)
    name = start(server)
    bad = {"n2": lambda a: must(a.receipt("rolled-back", observed=before["n2"], problem="no such qdisc"), 201)
           if a.rollout else must(a.receipt(), 201)}
    end = until(server, name, "failed", agents, bad)
    tap.ok("receipts" in end["problem"] and "n2" in end["problem"], "it says which gate and node", end)
    turn(agents)
    states = nodes(server, name)
    tap.equal(states["n1"], "confirmed", "the wave before stays")
    tap.equal(states["n2"], "returned", "the node of the wave went back")
    tap.ok(agents["n1"].digest != before["n1"] and agents["n2"].digest == before["n2"] and
           agents["n2"].rollout is None, "and its plan is the old one again, final")
    tap.equal(synced(server, ["n2"])["n2"], "held", "it holds the newer plan")
    told = kinds(server, name)
    tap.ok("rollout.gate" in told and "rollout.returning" in told and "rollout.failed" in told,
           "events tell of it", told)
    tap.equal(must(verb(server, name, "pause"), 409).json["code"], "rollout-state",
              "what has failed cannot be paused")
    probes = {"n2": lambda a: must(a.receipt(probes=[{"name": "server", "ok": not a.rollout}]), 201)}
    second = start(server, {"all": True})
    end = until(server, second, "failed", agents, probes)
    tap.ok("probe" in end["problem"], "a failed self-test fails the wave too", end)
    expired = {"n2": lambda a: must(a.receipt("expired", observed=before["n2"]), 201)
               if a.rollout else must(a.receipt(), 201)}
    third = start(server, {"nodes": ["n2"], "max_unavailable": 0})
    end = until(server, third, "failed", agents, expired)
    tap.ok("receipts" in end["problem"], "an expired timer fails the wave", end)
    drifted = {}
    fourth = start(server, {"nodes": ["n2"], "soak": "20s"})
    end = time.monotonic() + CALL_S
    while rollout(server, fourth).get("soak_remaining_s", 0) == 0 and time.monotonic() < end:
        turn(agents, drifted)

    def alter(knob):
        if knob["kind"] == "dcb.pfc":
            knob["live"] = {"delay": 0, "priorities": [1]}
    must(agents["n2"].state(alter), 200)
    end = until(server, fourth, "failed", agents)
    tap.ok("findings" in end["problem"], "drift during the soak fails the wave", end)


def what_is_taken_back_unprepared_is_refused(tap, server):
    """The rollout is taken back before the nodes have their new plans, or just after."""
    many = [f"m{i:03}" for i in range(300)]
    agents = fleet(server, 2)
    for name in many:
        must(server.put(f"/v1/nodes/{name}", {}), 201)
    old = {n: must(server.get(f"/v1/nodes/{n}"), 200).json["digest"] for n in agents}
    for share in ("31%", "32%", "33%"):
        policy = copy.deepcopy(POLICY)
        policy["qos_policy"]["nlp_job"]["bw_guarantee"] = share
        etag = server.get("/v1/tenants/a/policy").etag
        # On one connection, so that they come as fast as they can.
        must(server.put("/v1/tenants/a/policy", policy, etag), 200)
        answer = must(server.call("POST", "/v1/rollouts", {"nodes": sorted(agents)}), 201, 409)
        if answer.status == 201:
            must(verb(server, answer.json["id"], "rollback"), 200)
    planned(server, *agents)
    end = time.monotonic() + CALL_S
    while set(synced(server, agents).values()) != {"held"} and time.monotonic() < end:
        time.sleep(0.02)
    begun = len(server.get("/v1/rollouts").json["items"])
    tap.ok(begun == 3, "three rollouts were begun and taken back", begun)
    etag = server.get("/v1/rollout-policy").etag
    must(server.put("/v1/rollout-policy", dict(QUICK, start="auto", waves=[]), etag), 200)
    time.sleep(0.5)
    tap.equal(len(server.get("/v1/rollouts").json["items"]), begun,
              "what was taken back does not begin by itself")
    change(server, "20%")
    end = time.monotonic() + CALL_S
    while server.get(f"/v1/rollouts/r-{begun + 1}").status == 404 and time.monotonic() < end:
        time.sleep(0.02)
    until(server, f"r-{begun + 1}", "done", agents)
    turn(agents)
    turn(agents)
    change(server, "40%")
    until(server, f"r-{begun + 2}", "done", agents)
    turn(agents)
    now = {n: must(server.get(f"/v1/nodes/{n}"), 200).json["digest"] for n in agents}
    tap.equal(now, old, "and the plan that the nodes had then is not refused")


def a_person_confirms(tap, server):
    agents = fleet(server, 2, dict(QUICK, confirm="manual", waves=[]))
    change(server, "30%")
    planned(server, *agents)
    name = start(server)
    tap.equal(must(verb(server, name, "confirm"), 409).json["code"], "rollout-state",
              "what has not passed its gates cannot be confirmed")
    now = until(server, name, "confirming", agents)
    tap.equal(now["waves"][0]["state"], "passed", "the gates have passed, and it waits")
    tap.ok(all(a.rollout == name for a in agents.values()), "the nodes are on trial")
    tap.equal(must(verb(server, name, "confirm"), 200).json["state"], "done", "confirmed, it is done")
    turn(agents)
    turn(agents)
    tap.equal(set(synced(server, agents).values()), {"in-sync"}, "the nodes are in sync")
    audit = server.get("/v1/audit").json["items"]
    tap.ok(any(r["action"] == "rollout.confirm" and r.get("reason") == "test" and
               r["subject"] == f"rollout/{name}" for r in audit), "the audit knows who did it")
    change(server, "35%")
    planned(server, *agents)
    second = start(server, {"all": True, "confirm_timeout": "1s"})
    end = until(server, second, "failed", agents)
    tap.ok("timer" in end["problem"], "what nobody confirms goes back", end)
    tap.status(verb(server, "r-99", "confirm"), 404, "there is no such rollout")
    tap.status(verb(server, "r-0", "confirm"), 404, "nor one of no number")


def pause_and_resume(tap, server):
    agents = fleet(server, 3)
    change(server, "30%")
    planned(server, *agents)
    name = start(server)
    until(server, name, "running", {})
    tap.equal(must(verb(server, name, "pause"), 200).json["state"], "paused", "it pauses")
    tap.equal(must(verb(server, name, "pause"), 200).json["state"], "paused", "twice is no error")
    end = time.monotonic() + CALL_S
    while nodes(server, name)["n1"] != "confirmed" and time.monotonic() < end:
        turn(agents)
    time.sleep(0.5)
    tap.equal(nodes(server, name), {"n1": "confirmed", "n2": "waiting", "n3": "waiting"},
              "the open wave went to its end, no other began")
    must(verb(server, name, "resume"), 200)
    until(server, name, "done", agents)
    tap.ok(True, "resumed, it ends")
    tap.status(verb(server, name, "resume"), 409, "what is done cannot be resumed")


def rollback_after_done(tap, server):
    agents = fleet(server, 2, dict(QUICK, waves=[]))
    before = {n: a.digest for n, a in agents.items()}
    change(server, "30%")
    planned(server, *agents)
    name = start(server)
    until(server, name, "done", agents)
    turn(agents)
    tap.equal(must(verb(server, name, "rollback"), 200).json["state"], "rolling-back",
              "a rollout that is done can be taken back")
    until(server, name, "rolled-back", agents)
    waves = must(server.get(f"/v1/rollouts/{name}"), 200).json["waves"]
    tap.equal([(w["state"], w["gates"]) for w in waves], [("returned", [])] * len(waves),
              "its waves are said to be back, and no gate judges plans that are gone")
    tap.equal({n: a.digest for n, a in agents.items()}, before, "the nodes have their old plans")
    tap.equal(set(synced(server, agents).values()), {"held"}, "they hold the newer ones")
    tap.equal(must(verb(server, name, "rollback"), 200).json["state"], "rolled-back",
              "twice is no error")
    second = start(server)
    until(server, second, "done", agents)
    third_refused = verb(server, second, "rollback")
    must(third_refused, 200)
    until(server, second, "rolled-back", agents)
    third = start(server, {"nodes": ["n1"]})
    until(server, third, "done", agents)
    fourth = start(server, {"nodes": ["n2"]})
    must(verb(server, fourth, "rollback"), 200)
    until(server, fourth, "rolled-back", agents)
    change(server, "25%")
    planned(server, *agents)
    fifth = start(server, {"nodes": ["n1"]})
    until(server, fifth, "done", agents)
    tap.equal(must(verb(server, third, "rollback"), 409).json["code"], "rollout-superseded",
              "not when its nodes were given something else since")


def the_server_dies_inside_the_window(tap, server):
    agents = fleet(server, 3, dict(QUICK, confirm="manual"))
    change(server, "30%")
    planned(server, *agents)
    name = start(server)
    until(server, name, "confirming", agents)
    left = rollout(server, name)["confirm_remaining_s"]
    server.kill()
    server.start()
    now = rollout(server, name)
    tap.ok(now["state"] == "confirming" and 0 < now["confirm_remaining_s"] <= 60 and
           now["confirm_remaining_s"] >= left - 10,
           "state and timer are there after the restart", (left, now))
    tap.equal(agents["n1"].fetch().status, 204, "the node on trial is given nothing else")
    tap.equal({n: agents[n].fetch().status for n in ("n2", "n3")}, {"n2": 204, "n3": 204},
              "those that wait keep what they had")
    tap.equal(synced(server, ["n1"])["n1"], "confirming", "it is still on trial")
    must(verb(server, name, "confirm"), 200)
    # A receipt that is durable, and the conclusions that are not, come to the same.
    turn(agents)
    server.kill()
    server.start()
    until(server, name, "confirming", agents)
    must(verb(server, name, "confirm"), 200)
    until(server, name, "done", agents)
    change(server, "35%")
    planned(server, *agents)
    tap.ok(start(server) != name, "a number is not given twice")


def two_rollouts_at_once(tap, server):
    agents = fleet(server, 4, dict(QUICK, confirm="manual", waves=[]))
    change(server, "30%")
    planned(server, *agents)
    one = start(server, {"selector": {"rack": "a"}})
    other = must(server.call("POST", "/v1/rollouts", {"nodes": ["n2"]}), 409).json
    tap.ok(other["code"] == "rollout-active" and "n2" in other["detail"] and one in other["detail"],
           "a node in two rollouts is refused, and named", other)
    two = start(server, {"selector": {"rack": "b"}})
    until(server, one, "confirming", agents)
    until(server, two, "confirming", agents)
    tap.equal((set(nodes(server, one)), set(nodes(server, two))), ({"n2", "n4"}, {"n1", "n3"}),
              "two on other nodes run side by side")
    must(verb(server, one, "rollback"), 200)
    must(verb(server, two, "confirm"), 200)
    until(server, one, "rolled-back", agents)
    until(server, two, "done", agents)
    turn(agents)
    tap.equal(synced(server, agents), {"n1": "in-sync", "n2": "held", "n3": "in-sync", "n4": "held"},
              "one went back, the other stayed")
    three = start(server)
    until(server, three, "confirming", agents)
    etag = server.get("/v1/nodes/n2").etag
    must(server.call("DELETE", "/v1/nodes/n2", headers={"If-Match": etag}), 200)
    gone = agents.pop("n2")
    must(verb(server, three, "confirm"), 200)
    tap.equal(set(nodes(server, three)), {"n4"}, "a node that is removed leaves the rollout")
    tap.status(gone.fetch(), 401, "its agent is no longer known")


def an_absent_node_gets_the_newest_only(tap, server):
    policy = dict(QUICK, waves=[{"nodes": ["n1"]}], max_unavailable=1, wave_deadline="1s")
    agents = fleet(server, 3, policy)
    away = agents.pop("n3")
    change(server, "30%")
    planned(server, "n1", "n2", "n3")
    first = start(server)
    until(server, first, "done", agents)
    tap.equal(nodes(server, first)["n3"], "absent", "a node that is away does not hold the others")
    etag = server.get("/v1/tenants/a/policy").etag
    must(server.call("DELETE", "/v1/tenants/a/policy", headers={"If-Match": etag}), 200)
    planned(server, "n1", "n2", "n3")
    second = start(server)
    until(server, second, "done", agents)
    must(away.fetch(), 200)
    tap.ok(away.rollout is None, "back again it is given a final plan")
    owners = {k.get("tenant") for k in away.plan["knobs"]}
    tap.equal(owners, {None}, "the newest one: nothing of the policy that was deleted is left")
    must(away.receipt(), 201)
    turn(dict(agents, n3=away))
    tap.equal(synced(server, ["n3"])["n3"], "in-sync", "and then it is in sync")
    strict = start_after(server, {"all": True, "max_unavailable": 0, "wave_deadline": "1s"})
    end = until(server, strict, "failed", agents)
    tap.ok("n3" in end["problem"], "where none may be away the wave fails", end)


def start_after(server, body):
    fabric = copy.deepcopy(FABRIC)
    fabric["fabric_profile"]["mtu_bytes"] = 2048
    must(server.put("/v1/fabric", fabric, server.get("/v1/fabric").etag), 200)
    planned(server, "n1", "n2", "n3")
    return start(server, body)


def many_nodes_are_frozen_in_slices(tap, server):
    agents = fleet(server, 240, dict(QUICK, waves=[{"count": 2}]), ports=8)
    change(server, "30%")
    name = start(server)
    until(server, name, "running", {})
    revision = int(server.get(f"/v1/rollouts/{name}").etag.strip('"'))
    tap.ok(revision > 3, "plans are compiled over several writes, others come in between", revision)
    items = server.get(f"/v1/rollouts/{name}/nodes?page_size=1000").json["items"]
    tap.equal(({n["node"] for n in items}, sorted({n["wave"] for n in items}),
               all(n["target"] for n in items)), (set(agents), [1, 2], True),
              "all are in it, with their plans")
    until(server, name, "done", agents)
    turn(agents)
    tap.equal(set(synced(server, agents).values()), {"in-sync"}, "and get them")
    must(verb(server, name, "rollback"), 200)
    until(server, name, "rolled-back", agents)
    tap.equal(set(synced(server, agents).values()), {"held"}, "what they had before is kept for them")


def rollouts_start_by_themselves(tap, server):
    agents = fleet(server, 3, dict(QUICK, start="auto", waves=[{"count": 1}]))
    change(server, "30%")
    end = time.monotonic() + CALL_S
    while not server.get("/v1/rollouts").json["items"] and time.monotonic() < end:
        time.sleep(0.02)
    tap.equal(server.get("/v1/rollouts").json["items"][0]["author"], "stellard", "one has begun")
    until(server, "r-1", "done", agents)
    turn(agents)
    tap.equal(set(synced(server, agents).values()), {"in-sync"}, "it ends with all in sync")
    change(server, "35%")
    bad = {"n1": lambda a: must(a.receipt("refused", observed=None, problem="no"), 201)
           if a.rollout else must(a.receipt(), 201)}
    end = time.monotonic() + CALL_S
    while len(server.get("/v1/rollouts").json["items"]) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    until(server, "r-2", "failed", agents, bad)
    time.sleep(1)
    tap.equal(len(server.get("/v1/rollouts").json["items"]), 2,
              "after a failure it does not begin with the same plans again")
    change(server, "20%")
    end = time.monotonic() + CALL_S
    while len(server.get("/v1/rollouts").json["items"]) < 3 and time.monotonic() < end:
        time.sleep(0.02)
    until(server, "r-3", "done", agents)
    tap.ok(True, "with newer ones it does")


def modes_are_switched(tap, server):
    default = must(server.get("/v1/rollout-policy"), 200)
    tap.ok(default.json["mode"] == "direct" and default.etag is None, "direct is the default", default)
    agents = fleet(server, 2, dict(QUICK, confirm="manual", waves=[]))
    change(server, "30%")
    planned(server, *agents)
    name = start(server)
    until(server, name, "confirming", agents)
    policy = server.get("/v1/rollout-policy")
    direct = server.put("/v1/rollout-policy", {"mode": "direct"}, policy.etag)
    tap.equal(must(direct, 409).json["code"], "rollout-active", "not while a rollout is under way")
    must(verb(server, name, "rollback"), 200)
    until(server, name, "rolled-back", agents)
    newcomer = Agent(server, "n9", server.node("n9"))
    must(server.put("/v1/tenants/a/placements/cv_job",
                    {"nodes": ["n9"], "match": {"dst": "10.9.2.0/24"}}), 201)
    newcomer.report()
    must(newcomer.fetch(wait="20s"), 200)
    must(newcomer.receipt(), 201)
    newcomer.settle()
    tap.ok(newcomer.plan["knobs"] and newcomer.rollout is None,
           "a node that never had a plan is given one at once")
    tap.equal(synced(server, ["n9"])["n9"], "in-sync", "and is in sync with it")
    server.kill()
    server.start()
    tap.equal([a.fetch().status for a in agents.values()], [204, 204],
              "after a restart held plans are still held")
    tap.equal(newcomer.fetch().status, 204, "and given ones given")
    planned(server, "n9", *agents)
    dry = must(server.put("/v1/rollout-policy?dry_run=true", {"mode": "direct"}, policy.etag), 200).json
    tap.ok(dry["nodes_total"] == 2 and [n["node"] for n in dry["nodes"]] == ["n1", "n2"] and
           all(n["steps"] for n in dry["nodes"]) and
           {"tenant": "a", "job": "nlp_job"} in dry["jobs"],
           "a dry run shows what direct would give to the nodes that hold a plan", dry)
    tap.equal([a.fetch().status for a in agents.values()], [204, 204], "and gives nothing")
    dry = must(server.put("/v1/rollout-policy?dry_run=true", dict(QUICK, soak="1s"), policy.etag), 200)
    tap.equal(dry.json["nodes_total"], 0, "while changes stay staged nothing would be given")
    must(server.put("/v1/rollout-policy", {"mode": "direct"}, policy.etag), 200)
    planned(server, *agents)
    for agent in agents.values():
        agent.settle()
    tap.equal(set(synced(server, agents).values()), {"in-sync"}, "direct gives what was held")
    tap.ok(all(a.rollout is None for a in agents.values()), "as final plans")
    change(server, "35%")
    planned(server, *agents)
    tap.equal([a.fetch().status for a in agents.values()], [200, 200], "and all that follows at once")
    tap.equal(must(verb(server, name, "rollback"), 200).json["state"], "rolled-back", "over is over")


def requests_are_checked(tap, server):
    agents = fleet(server, 1)
    for body, where in (({}, "nothing chosen"), ({"all": True, "nodes": ["n1"]}, "two choices"),
                        ({"all": False}, "all that is not true"), ({"nodes": []}, "no nodes"),
                        ({"all": True, "soak": "1 h"}, "no time"),
                        ({"all": True, "soak": "25h", "confirm_timeout": "24h"}, "too long"),
                        ({"all": True, "confirm_timeout": "0s"}, "too short"),
                        ({"all": True, "confirm_timeout": "1500ms"}, "not whole seconds"),
                        ({"all": True, "waves": [{"count": 1, "percent": 5}]}, "a wave of two kinds"),
                        ({"all": True, "waves": [{}]}, "an empty wave"),
                        ({"all": True, "waves": [{"count": 1}] * 17}, "too many waves"),
                        ({"all": True, "max_unavailable": "0%"}, "a share of nothing"),
                        ({"all": True, "max_unavailable": -1}, "fewer than none"),
                        ({"all": True, "wave": []}, "an unknown member"),
                        ({"all": True, "message": "x" * 257}, "a long message")):
        answer = server.call("POST", "/v1/rollouts", body)
        tap.ok(answer.status == 422 and answer.json["code"] == "rollout-refused" and
               answer.json["errors"], f"{where} is refused", answer)
    answer = server.call("POST", "/v1/rollouts", {"all": True, "soak": "90s"})
    tap.ok(answer.status == 422 and answer.json["code"] == "rollout-refused",
           "what does not fit the policy is refused too", answer)
    change(server, "30%")
    planned(server, *agents)
    key = {"Idempotency-Key": "k1"}
    one = must(server.call("POST", "/v1/rollouts", {"all": True}, key), 201).json
    two = must(server.call("POST", "/v1/rollouts", {"all": True}, key), 201).json
    tap.ok(one["id"] == two["id"] and two["replayed"], "a repeated request makes one rollout")


def many_rollouts(tap, server):
    agents = fleet(server, 65, dict(QUICK, confirm="manual"))
    change(server, "30%")
    planned(server, *agents)
    names = [start(server, {"nodes": [n]}) for n in sorted(agents)[:64]]
    last = sorted(agents)[64]
    answer = server.call("POST", "/v1/rollouts", {"nodes": [last]})
    tap.ok(answer.status == 409 and answer.json["code"] == "rollouts-full", "64 at once, no more", answer)
    must(verb(server, names[0], "rollback"), 200)
    until(server, names[0], "rolled-back", agents)
    tap.ok(start(server, {"nodes": [last]}) not in names, "when one has ended another may begin")
    page = must(server.get("/v1/rollouts?page_size=10"), 200).json
    tap.ok(len(page["items"]) == 10 and "next_page_token" in page, "the list comes in pages")


if __name__ == "__main__":
    run([waves_go_in_order_and_the_barrier_waits, a_failed_gate_returns_the_wave,
         what_is_taken_back_unprepared_is_refused, a_person_confirms,
         pause_and_resume, rollback_after_done, the_server_dies_inside_the_window,
         two_rollouts_at_once, an_absent_node_gets_the_newest_only, many_nodes_are_frozen_in_slices,
         rollouts_start_by_themselves, modes_are_switched, requests_are_checked, many_rollouts])
