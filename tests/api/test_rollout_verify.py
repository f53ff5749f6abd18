#!/usr/bin/env python3
"""Verifications as gates of rollouts: passed, failed, unknown with the reason, held, cancelled; a killed server.
The nodes are played here: they apply what they are given, and say of a test what they are told to."""
import time

from lib import CALL_S, must, planned, run
from test_rollouts import change, fleet, nodes, rollout, start, turn, until, verb

VERIFY = {"kinds": ["send_lat"], "deadline": "10s"}
POLICY = {"mode": "staged", "waves": [], "soak": "0s", "confirm_timeout": "60s", "wave_deadline": "40s", "verify": VERIFY}
FAST, SLOW = {"latency_p50_ns": 1000}, {"latency_p50_ns": 2000}


def site(server, count=2, **more):
    """Nodes with an RDMA device each, and a change that is staged."""
    agents = fleet(server, count, {**POLICY, **more})
    for i, agent in enumerate(agents.values(), 1):
        gids = [{"index": 3, "gid": f"::ffff:10.9.0.{i}", "type": "rocev2", "netdev": "sol0"}]
        body = must(server.get(f"/v1/nodes/{agent.node}/inventory"), 200).json
        body = {k: body[k] for k in ("version", "node", "ports")}
        body["ports"][0].update(rdma_device="mlx5_0", speed_bps=100000000000)
        body["rdma_devices"] = [{"name": "mlx5_0", "software": False, "port_ids": ["solar_rdma.0/0"],
                                 "ports": [{"port": 1, "gids": gids}]}]
        must(server.call("PUT", "/v1/agent/inventory", body, token=agent.token), 200)
    planned(server, *agents)
    change(server, "30%")
    planned(server, *agents)
    return agents


def gate_of(server, name, wave=0):
    gates = rollout(server, name)["waves"][wave]["gates"]
    return {g["name"]: g for g in gates}.get("verification", {})


def comes(agents, holds):
    """Agents go on until it holds; what it gave."""
    end = time.monotonic() + CALL_S
    while True:
        turn(agents)
        got = holds()
        if got or time.monotonic() > end:
            return got
        time.sleep(0.1)


def measure(agents, figures, outcome="done"):
    """Each node with a task reports; how many did."""
    count = 0
    for agent in agents.values():
        answer = agent.server.get(f"/v1/nodes/{agent.node}/verify?wait=0s", token=agent.token)
        if answer.status != 200 or answer.json["cancelled"]:
            continue
        task = answer.json["verification"]
        body = {"version": 1, "task": task, "outcome": outcome, "figures": figures if answer.json["place"] == 0 else {}}
        must(agent.server.call("POST", f"/v1/nodes/{agent.node}/verify/{task}:report", body, token=agent.token), 200)
        count += 1
    return count


def a_verification_passes_the_wave(tap, server):
    agents = site(server)
    name = start(server)
    why = comes(agents, lambda: gate_of(server, name).get("why"))
    tap.equal((why, gate_of(server, name)["state"]), ("v-1 runs", "pending"), "the wave waits for its verification")
    made = must(server.get("/v1/verifications/v-1"), 200).json
    tap.equal((made["author"], made["message"], [m["node"] for m in made["tests"][0]["members"]]),
              (f"rollout {name}", f"gate of rollout {name}, wave 1 of 1", ["n1", "n2"]), "between the nodes of the wave")
    tap.ok(rollout(server, name)["state"] == "running" and set(nodes(server, name).values()) == {"applied"},
           "nothing is confirmed before", rollout(server, name))
    measure(agents, FAST)
    done = until(server, name, "done", agents)
    gate = {g["name"]: g for g in done["waves"][0]["gates"]}["verification"]
    tap.equal((gate["state"], gate["value"], gate["wanted"]), ("ok", 1, 1), "which passes with it")
    tap.equal(done["settings"]["verify"], VERIFY, "the rollout says what was asked for")


def a_failed_one_returns_the_wave(tap, server):
    agents = site(server)
    before = {n: a.plan["confirm"] if "confirm" in a.plan else None for n, a in agents.items()}
    name = start(server)
    comes(agents, lambda: gate_of(server, name).get("why"))
    measure(agents, SLOW)
    end = until(server, name, "failed", agents)
    tap.ok(end["problem"].startswith("gate verification: v-1: fail: ") and "2000" in end["problem"],
           "a figure beyond its limit fails the wave, and is told", end)
    tap.equal(set(nodes(server, name).values()), {"returned"}, "its nodes go back")
    tap.ok(all(b is None for b in before.values()), "to plans that were final")
    second = start(server, {"all": True, "verify": {"kinds": []}})
    done = until(server, second, "done", agents)
    tap.ok("verify" not in done["settings"] and len(done["waves"][0]["gates"]) == 3, "a rollout may leave it out", done)


def unknown_halts_with_its_reason(tap, server):
    agents = site(server)
    name = start(server)
    comes(agents, lambda: gate_of(server, name).get("why"))
    measure(agents, {}, "refused")
    end = until(server, name, "failed", agents)
    tap.equal(end["problem"], "gate verification: v-1: unknown: not measured: node n1: refused", "what a node refused")
    name = start(server, {"nodes": ["n1"]})
    end = until(server, name, "failed", agents)
    tap.ok(end["problem"].startswith("gate verification: v-2: unknown: no other chosen node"), "a canary with nobody", end)
    name = start(server, {"nodes": ["n1"], "verify": {**VERIFY, "with": ["n7"]}})
    end = until(server, name, "failed", agents)
    tap.equal(end["problem"], "gate verification: unknown: there is no node 'n7'", "a node that is not there")
    name = start(server)
    comes(agents, lambda: gate_of(server, name).get("why"))
    must(server.call("POST", "/v1/verifications/v-3:cancel"), 200)
    end = until(server, name, "failed", agents)
    tap.equal(end["problem"], "gate verification: v-3: unknown: cancelled", "what somebody cancelled")
    name = start(server, {"nodes": ["n1"], "verify": {**VERIFY, "unknown": "pass"}})
    done = until(server, name, "done", agents)
    gate = done["waves"][0]["gates"][3]
    tap.equal(gate["state"], "ok", "unless unknown may pass")


def a_canary_is_tested_with_named_nodes_then_with_itself(tap, server):
    agents = site(server, 3, waves=[{"count": 1}, {"count": 1}], verify={**VERIFY, "with": ["n3"]})
    name = start(server, {"nodes": ["n1", "n2"]})
    comes(agents, lambda: gate_of(server, name).get("why"))
    members = must(server.get("/v1/verifications/v-1"), 200).json["tests"][0]["members"]
    tap.equal([m["node"] for m in members], ["n1", "n3"], "the canary with the node that is named")
    measure(agents, FAST)
    comes(agents, lambda: rollout(server, name)["waves"][1]["state"] == "open" and gate_of(server, name, 1).get("why"))
    tap.equal(gate_of(server, name, 1).get("why"), "v-2 runs", "the next wave has its own")
    measure(agents, FAST)
    until(server, name, "done", agents)
    change(server, "20%")
    planned(server, *agents)
    name = start(server, {"nodes": ["n1", "n2"], "verify": VERIFY, "waves": [{"nodes": ["n2"]}],
                          "confirm": "auto", "message": "alone"})
    end = until(server, name, "failed", agents)
    tap.ok("no other chosen node" in end["problem"], "without, the first is unknown", end)


def a_node_in_another_verification_is_waited_for(tap, server):
    agents = site(server, 3)
    must(server.call("POST", "/v1/verifications", {"kinds": ["send_lat"], "nodes": ["n1", "n3"], "deadline": "60s"}), 201)
    name = start(server, {"nodes": ["n1", "n2"]})
    why = comes(agents, lambda: gate_of(server, name).get("why"))
    tap.ok("node n1 is in verification v-1" in why and gate_of(server, name)["state"] == "pending", "and is told", why)
    measure(agents, FAST)
    comes(agents, lambda: gate_of(server, name).get("why") == "v-2 runs")
    tap.equal(gate_of(server, name).get("why"), "v-2 runs", "then it begins")
    measure(agents, FAST)
    until(server, name, "done", agents)
    tap.equal(rollout(server, name)["state"], "done", "and the wave passes")


def what_is_taken_back_is_not_tested_any_more(tap, server):
    agents = site(server)
    name = start(server)
    comes(agents, lambda: gate_of(server, name).get("why"))
    must(verb(server, name, "rollback"), 200)
    until(server, name, "rolled-back", agents)
    comes(agents, lambda: server.get("/v1/verifications/v-1").json["state"] != "running")
    tap.equal(server.get("/v1/verifications/v-1").json["state"], "cancelled", "its verification is cancelled")


def a_killed_server_waits_on(tap, server):
    agents = site(server)
    name = start(server)
    comes(agents, lambda: gate_of(server, name).get("why"))
    server.kill()
    server.start()
    tap.equal(gate_of(server, name)["why"], "v-1 runs", "the gate still waits for the same one")
    comes(agents, lambda: measure(agents, FAST))
    until(server, name, "done", agents)
    listed = must(server.get("/v1/verifications"), 200).json["items"]
    tap.equal([i["id"] for i in listed], ["v-1"], "and no other was ordered")


def requests_are_checked(tap, server):
    fleet(server, 1, {**POLICY, "verify": {**VERIFY, "deadline": "20s"}})
    for body, where in (({"verify": {"kinds": ["ping"]}}, "/verify/kinds"), ({"verify": {}}, "/verify/kinds"),
                        ({"verify": {**VERIFY, "nodes": ["n1"]}}, "/verify/nodes"),
                        ({"verify": {**VERIFY, "unknown": "perhaps"}}, "/verify/unknown")):
        answer = server.call("POST", "/v1/rollouts", {"all": True, **body})
        tap.ok(answer.status == 422 and answer.json["code"] == "rollout-refused" and
               where in [e["pointer"] for e in answer.json["errors"]], f"{where} is refused", answer)
    answer = server.call("POST", "/v1/rollouts", {"all": True, "confirm_timeout": "25s"})
    tap.ok(answer.status == 422 and "confirm_timeout" in str(answer.json), "a test must end before the nodes go back", answer)
    etag = server.get("/v1/rollout-policy").etag
    answer = server.put("/v1/rollout-policy", {**POLICY, "verify": {**VERIFY, "deadline": "30s"}}, etag)
    tap.ok(answer.status == 422 and "wave_deadline" in str(answer.json), "and before the wave's deadline", answer)


if __name__ == "__main__":
    run([a_verification_passes_the_wave, a_failed_one_returns_the_wave, unknown_halts_with_its_reason,
         a_canary_is_tested_with_named_nodes_then_with_itself, a_node_in_another_verification_is_waited_for,
         what_is_taken_back_is_not_tested_any_more, a_killed_server_waits_on, requests_are_checked])
