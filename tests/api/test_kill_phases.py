#!/usr/bin/env python3
"""kill -9 in each phase of long work: rollout, import, backup, upload of an image. Afterwards the log is
whole, nothing is half there, no file is nobody's, and what was under way goes on or says that it ended."""
import copy
import hashlib
import os
import random
import sqlite3
import threading
import time

from lib import CALL_S, FABRIC, POLICY, SLOW, Agent, must, planned, run

QUICK = {"mode": "staged", "waves": [{"count": 1}], "soak": "0s", "confirm_timeout": "60s",
         "wave_deadline": "60s"}
BIG = 4000  # tenants of an archive


def until(what, seconds=CALL_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = what()
        if got:
            return got
        time.sleep(0.01)
    return what()


def kill_and_start(tap, server, sentence):
    server.kill()
    con = sqlite3.connect(os.path.join(server.data, "stellar.db"))
    faults = con.execute("PRAGMA integrity_check").fetchall(), con.execute("PRAGMA foreign_key_check").fetchall()
    con.close()
    server.start()
    checked = must(server.get("/v1/audit:verify"), 200).json
    tap.ok(faults == ([("ok",)], []) and checked["valid"],
           f"{sentence}: the store and its log are whole", (faults, checked))


def in_background(call):
    """A call that may be cut; returns its thread."""
    def one():
        try:
            call()
        except Exception:  # the connection ended in the middle
            pass
    thread = threading.Thread(target=one)
    thread.start()
    return thread


def fleet(server, count):
    must(server.put("/v1/fabric", FABRIC), 201)
    must(server.put("/v1/tenants/a", {}), 201)
    must(server.put("/v1/tenants/a/policy", POLICY), 201)
    agents = {}
    for i in range(1, count + 1):
        agents[f"n{i}"] = Agent(server, f"n{i}", server.node(f"n{i}"))
        agents[f"n{i}"].report()
    must(server.put("/v1/tenants/a/placements/nlp_job",
                    {"nodes": sorted(agents), "match": {"dst": "10.9.1.0/24"}}), 201)
    planned(server, *agents)
    for agent in agents.values():
        agent.settle()
    must(server.put("/v1/rollout-policy", QUICK), 201)
    return agents


def change(server, share):
    policy = copy.deepcopy(POLICY)
    policy["qos_policy"]["nlp_job"]["bw_guarantee"] = share
    must(server.put("/v1/tenants/a/policy", policy, server.get("/v1/tenants/a/policy").etag), 200)


def turn(agents):
    for agent in agents.values():
        if agent.fetch().status == 200:
            must(agent.receipt(), 201)


def state(server, name):
    return must(server.get(f"/v1/rollouts/{name}"), 200).json["state"]


def a_rollout_goes_on(tap, server):
    agents = fleet(server, 3)
    change(server, "30%")
    name = must(server.call("POST", "/v1/rollouts", {"all": True}), 201).json["id"]
    kill_and_start(tap, server, "while it is prepared")
    until(lambda: state(server, name) == "running")
    kill_and_start(tap, server, "when the first plan is offered")
    must(agents["n1"].fetch(), 200)
    kill_and_start(tap, server, "when it is fetched")
    must(agents["n1"].receipt(), 201)
    kill_and_start(tap, server, "when the receipt is there")
    turn({"n1": agents["n1"]})
    kill_and_start(tap, server, "when the gates may pass")
    for _ in range(4):
        turn(agents)
        time.sleep(random.uniform(0, 0.05))
        kill_and_start(tap, server, "somewhere on the way")
        if state(server, name) == "done":
            break
    tap.ok(until(lambda: turn(agents) or state(server, name) == "done"), "the rollout comes to its end")
    turn(agents)
    turn(agents)
    tap.ok(until(lambda: server.get("/v1/generations/current").json["applied"]), "every node has its plan")
    change(server, "20%")
    planned(server, *agents)
    second = must(server.call("POST", "/v1/rollouts", {"all": True}), 201).json["id"]
    until(lambda: state(server, second) == "running")
    turn(agents)
    must(server.call("POST", f"/v1/rollouts/{second}:rollback"), 200)
    kill_and_start(tap, server, "while it is rolled back")
    tap.ok(until(lambda: turn(agents) or state(server, second) == "rolled-back"),
           "what was being taken back is taken back")
    turn(agents)
    tap.equal({must(server.get(f"/v1/nodes/{n}"), 200).json["sync"] for n in agents}, {"held"},
              "and every node holds the newer plan again")


def archive(count, policy=None):
    tenants = [{"name": f"t{i}", "tenant": {}} for i in range(count)]
    content = {"tenants": tenants}
    if policy:
        content["tenants"] = [{"name": "a", "tenant": {}, "policy": policy}]
    return {"format": "stellar-export", "version": 1, "content": content}


def tenants(server):
    con = sqlite3.connect(os.path.join(server.data, "stellar.db"))
    count = con.execute("SELECT count(*) FROM tenants").fetchone()[0]
    con.close()
    return count


def an_import_is_whole_or_not_there(tap, server):
    seen = set()
    for delay in (0, 0.05, 0.2, 0.5, 1):
        before = tenants(server)
        body = archive(BIG)
        body["content"]["tenants"] = [dict(t, name=f"d{int(delay * 100)}-{t['name']}")
                                      for t in body["content"]["tenants"]]
        thread = in_background(lambda body=body: server.call("POST", "/v1/import", body))
        time.sleep(random.uniform(0, 0.05) * SLOW + delay * SLOW)
        kill_and_start(tap, server, f"an import killed after {delay} s")
        thread.join()
        made = tenants(server) - before
        ops = must(server.get("/v1/operations"), 200).json["items"]
        states = [o["state"] for o in ops]
        seen.add(made)
        tap.ok(made in (0, BIG) and "running" not in states and
               states.count("succeeded") * BIG == tenants(server),
               "it is whole or not there, and its operation says which", (made, states))
    tap.ok(True, f"seen: {sorted(seen)}")
    begun = must(server.call("POST", "/v1/import", archive(3)), 202).json["location"]
    tap.ok(until(lambda: server.get(begun).json["state"] == "succeeded"), "imports go on")


def an_import_comes_during_a_rollout(tap, server):
    agents = fleet(server, 2)
    change(server, "30%")
    planned(server, *agents)
    name = must(server.call("POST", "/v1/rollouts", {"all": True}), 201).json["id"]
    until(lambda: state(server, name) == "running")
    policy = copy.deepcopy(POLICY)
    policy["qos_policy"]["nlp_job"]["bw_guarantee"] = "20%"
    begun = must(server.call("POST", "/v1/import", archive(0, policy)), 202).json["location"]
    done = until(lambda: [o for o in [server.get(begun).json] if o["state"] != "running"])
    tap.equal(done[0]["state"], "succeeded", "an import during a rollout succeeds")
    kill_and_start(tap, server, "a kill behind it")
    tap.ok(until(lambda: turn(agents) or state(server, name) == "done"), "the rollout comes to its end")
    planned(server, *agents)
    turn(agents)
    turn(agents)
    tap.equal({must(server.get(f"/v1/nodes/{n}"), 200).json["sync"] for n in agents}, {"held"},
              "with what it began with; what the import brought waits for the next one")
    next_one = must(server.call("POST", "/v1/rollouts", {"all": True}), 201).json["id"]
    tap.ok(until(lambda: turn(agents) or state(server, next_one) == "done"), "which brings it")


def backups_are_whole(tap, server):
    must(server.put("/v1/tenants/fill", {}), 201)
    etag = None
    for number in range(12):
        body = {"qos_policy": {f"j{i}": {"priority": 3, "description": f"{number} " + "x" * 1000}
                               for i in range(250)}}
        etag = must(server.put("/v1/tenants/fill/policy", body, etag), 200, 201).etag
    for delay in (0, 0.005, 0.02, 0.05, 0.1):
        must(server.call("POST", "/v1/backups"), 202)
        time.sleep(delay * SLOW)
        kill_and_start(tap, server, f"a backup killed after {delay} s")
        listed = must(server.get("/v1/backups"), 200).json["items"]
        names = sorted(os.listdir(os.path.join(server.data, "backups")))
        wanted = sorted(b["id"] + end for b in listed for end in (".db", ".json"))
        sums = [hashlib.sha256(must(server.get(f"/v1/backups/{b['id']}/content"), 200).body).hexdigest()
                == b["sha256"] for b in listed]
        states = {o["state"] for o in server.get("/v1/operations").json["items"]}
        tap.ok(names == wanted and all(sums) and "running" not in states,
               "each backup is whole, and no file is nobody's", (names, wanted, sums, states))


def images_are_whole(tap, server):
    folder = os.path.join(server.data, "images")
    for number, delay in enumerate((0, 0.01, 0.03, 0.06, 0.1, 0.2)):
        data = os.urandom(4 * 1024 * 1024)
        query = f"component=mlx5_core&version=22.{number}&sha256={hashlib.sha256(data).hexdigest()}"
        thread = in_background(lambda: server.call(
            "POST", "/v1/firmware/images?" + query, data,
            {"Content-Type": "application/octet-stream"}))
        time.sleep(delay * SLOW)
        kill_and_start(tap, server, f"an upload killed after {delay} s")
        thread.join()
        rows = must(server.get("/v1/firmware/images"), 200).json["items"]
        names = sorted(n for n in os.listdir(folder) if n != "aside")
        tap.equal(names, sorted(r["id"] + ".bin" for r in rows), "a file a row, and no other")
        again = server.call("POST", "/v1/firmware/images?" + query, data,
                            {"Content-Type": "application/octet-stream"})
        tap.ok(again.status in (200, 201), "the same upload can be sent again", again)
        content = must(server.get(f"/v1/firmware/images/{again.json['id']}/content"), 200).body
        tap.ok(content == data, "and is whole")


if __name__ == "__main__":
    run([a_rollout_goes_on, an_import_is_whole_or_not_there, an_import_comes_during_a_rollout,
         backups_are_whole, images_are_whole])
