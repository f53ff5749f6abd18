#!/usr/bin/env python3
"""Firmware campaigns: waves, halts, restarts, hostile agents. The nodes are played here."""
import hashlib
import os
import shutil
import threading
import time

from lib import CALL_S, FABRIC, POLICY, Agent, inventory, must, run

ALL = "/v1/firmware/campaigns"
TARGET = "2.2.0"
STREAM = {"Content-Type": "application/octet-stream"}


def upload(server, version=TARGET, psid=None):
    data = os.urandom(200)
    query = f"?component=solar_rdma&version={version}&sha256={hashlib.sha256(data).hexdigest()}"
    query += f"&psid={psid}" if psid else ""
    return must(server.call("POST", "/v1/firmware/images" + query, data, STREAM), 201).json["id"]


class Node(Agent):
    """A node with devices solar_rdma.0, .1, ... that flashes what it is told."""

    def __init__(self, server, name, ports=1, labels=None):
        super().__init__(server, name, server.node(name, {"labels": labels} if labels else {}))
        self.ports, self.firmware = ports, ["2.1.8"] * ports
        self.tell_inventory()

    def tell_inventory(self):
        body = inventory(self.node, self.ports)
        for port, firmware in zip(body["ports"], self.firmware):
            port["firmware"] = firmware
            port["psid"] = "SOLAR_1"
        must(self.server.call("PUT", "/v1/agent/inventory", body, token=self.token), 200)

    def task(self, wait="0s", known=None, node=None):
        more = f"&known={known}" if known else ""
        return self.server.get(f"/v1/nodes/{node or self.node}/flash?wait={wait}{more}",
                               token=self.token)

    def report(self, task, phase, node=None, **more):
        body = {"version": 1, "task": task, "phase": phase, "at_us": time.time_ns() // 1000, **more}
        return self.server.call("POST", f"/v1/nodes/{node or self.node}/flash/{task}:report", body,
                                token=self.token)

    def flash(self, task=None, outcome="success", phase="done"):
        """The whole way of the task that it has."""
        given = task or must(self.task(), 200).json
        for step in ("fetching", "checking", "draining", "flashing", "flashed"):
            must(self.report(given["id"], step), 200)
        good = outcome == "success"
        if good:
            self.firmware[int(given["device"].rsplit(".", 1)[1])] = given["image"]["version"]
        return must(self.report(given["id"], phase, outcome=outcome, stored=given["image"]["version"],
                                running=given["image"]["version"] if good else "2.1.8"), 200)


def nodes_of(server, count, ports=1):
    must(server.put("/v1/fabric", FABRIC), 201)
    return [Node(server, f"n{i:02}", ports) for i in range(1, count + 1)]


def create(server, image, start=True, **more):
    made = must(server.call("POST", ALL, {"image": image, "all": True, **more}), 201).json["id"]
    if start:
        must(say(server, made, "start"), 200)
    return made


def say(server, name, verb):
    return server.call("POST", f"{ALL}/{name}:{verb}")


def show(server, name):
    return must(server.get(f"{ALL}/{name}"), 200).json


def devices(server, name):
    return must(server.get(f"{ALL}/{name}/devices?page_size=500"), 200).json["items"]


def states(server, name):
    return [d["state"] for d in devices(server, name)]


def until(what, wait_s=CALL_S):
    end = time.monotonic() + wait_s
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def becomes(server, name, state):
    return until(lambda: show(server, name)["state"] == state)


def drive(server, name, nodes):
    """Every task that is given ends well."""
    end = time.monotonic() + 4 * CALL_S
    while show(server, name)["state"] == "running" and time.monotonic() < end:
        for node in nodes:
            answer = node.task()
            if answer.status == 200 and not answer.json["cancelled"]:
                node.flash(answer.json)


def a_dry_run_shows_what_it_would_do(tap, server):
    nodes = nodes_of(server, 3, ports=2)
    nodes[2].firmware = ["3.0.0", TARGET]
    nodes[2].tell_inventory()
    must(server.put("/v1/tenants/a", {}), 201)
    must(server.put("/v1/tenants/a/policy", POLICY), 201)
    must(server.put("/v1/tenants/a/placements/nlp_job",
                    {"nodes": ["n01"], "match": {"dst": "10.9.1.0/24"}}), 201)
    image = upload(server, psid="SOLAR_1")
    body = {"image": image, "all": True, "canary": 1, "percent": 50}
    seen = must(server.call("POST", ALL + "?dry_run=true", body), 200).json
    tap.equal((seen["devices_total"], seen["excluded_total"], [w["devices"] for w in seen["waves"]]),
              (5, 1, [1, 2, 1]), "devices and waves; what runs the version needs no wave")
    tap.equal([(e["node"], e["device"], e["reason"]) for e in seen["excluded"]],
              [("n03", "solar_rdma.0", "downgrade")], "what is left out, and why")
    tap.equal((seen["tenants"], seen["jobs"]), (["a"], [{"tenant": "a", "job": "nlp_job"}]),
              "whose jobs run there")
    tap.equal([(d["node"], d["device"], d.get("wave")) for d in seen["devices"]],
              [("n01", "solar_rdma.0", 1), ("n01", "solar_rdma.1", 2), ("n02", "solar_rdma.0", 2),
               ("n02", "solar_rdma.1", 3), ("n03", "solar_rdma.1", None)],
              "first devices of all nodes come before second ones")
    tap.equal(must(server.get(ALL), 200).json["items"], [], "nothing was made")
    other = upload(server, version="2.3.0", psid="OTHER_1")
    refused = server.call("POST", ALL, {"image": other, "all": True})
    tap.ok(refused.status == 409 and refused.json["code"] == "nothing-to-flash" and
           "PSID" in refused.json["detail"], "an image for other boards finds no device", refused)
    for wrong, code in (({"image": "0" * 16, "all": True}, "unknown-image"),
                        ({"image": image, "nodes": ["nobody"]}, "unknown-node"),
                        ({"image": image, "all": True, "canary": -1}, "campaign-refused")):
        answer = server.call("POST", ALL, wrong)
        tap.ok(answer.status == 422 and answer.json["code"] == code, code, answer)


def a_campaign_goes_through_the_fleet(tap, server):
    nodes = nodes_of(server, 3, ports=2)
    image = upload(server)
    key = {"Idempotency-Key": "k1"}
    body = {"image": image, "all": True, "canary": 1, "percent": 50, "max_unavailable": 3,
            "message": "security", "drain_timeout": "30s", "deadline": "10m", "activate": "reload"}
    first = must(server.call("POST", ALL, body, key), 201)
    again = must(server.call("POST", ALL, body, key), 201)
    name = first.json["id"]
    tap.ok(again.json["id"] == name and again.json["replayed"], "a repeated key makes one campaign", again)
    tap.equal(first.headers["Location"], f"{ALL}/{name}", "where it is")
    tap.equal((first.json["state"], nodes[0].task().status), ("draft", 204), "a draft does nothing")
    kept = server.call("DELETE", f"/v1/firmware/images/{image}", headers={"If-Match": "*"})
    tap.ok(kept.status == 409 and kept.json["code"] == "image-in-use" and name in kept.json["detail"],
           "its image cannot be deleted", kept)
    got = []
    waits = threading.Thread(target=lambda: got.append(nodes[0].task(wait="20s")))
    waits.start()
    must(say(server, name, "start"), 200)
    waits.join(CALL_S)
    task = must(got[0], 200).json
    tap.ok(task["device"] == "solar_rdma.0" and task["image"]["version"] == TARGET and
           task["drain_timeout_s"] == 30 and task["deadline_s"] == 600 and
           task["activate"] == "reload" and task["from_version"] == "2.1.8" and
           not task["cancelled"] and task["campaign"] == name,
           "a waiting agent is given its task", task)
    tap.equal((nodes[0].task(known=task["id"]).status, [n.task().status for n in nodes[1:]]),
              (204, [204, 204]), "once; the canary alone")
    must(nodes[0].report(task["id"], "flashing", percent=35, running="2.1.8"), 200)
    row = devices(server, name)[0]
    tap.equal((row["state"], row["percent"], row["task"], row["from"]),
              ("flashing", 35, task["id"], "2.1.8"), "its progress is shown")
    must(nodes[0].report(task["id"], "flashing", percent=72), 200)
    nodes[0].flash(task)
    drive(server, name, nodes)
    done = show(server, name)
    tap.equal((done["state"], done["devices"]["success"]), ("done", 6), "all six devices run it")
    tap.equal({d["running"] for d in devices(server, name)}, {TARGET}, "by their own words")
    tap.equal([n.task().status for n in nodes], [204] * 3, "no task is left")
    item = must(server.get(ALL), 200).json["items"][0]
    tap.equal((item["id"], item["devices_total"], item["version"], item["message"]),
              (name, 6, TARGET, "security"), "the list has it")
    events = must(server.get("/v1/events?kinds=firmware.*&page_size=1000"), 200).json["items"]
    kinds = {e["kind"] for e in events}
    tap.ok({"firmware.started", "firmware.wave", "firmware.device", "firmware.progress",
            "firmware.done"} <= kinds, "events tell of it", kinds)
    rows = must(server.get(f"/v1/audit?subject=firmware/{name}"), 200).json["items"]
    tap.equal([r["action"] for r in rows], ["campaign.start", "campaign.create"], "audit rows too")
    metrics = server.get("/metrics", token=None).body.decode()
    tap.ok('stellar_firmware_devices_total{outcome="success"} 6' in metrics and
           'stellar_firmware_campaigns{state="running"} 0' in metrics, "metrics count them")
    gone = server.call("DELETE", f"/v1/firmware/images/{image}", headers={"If-Match": "*"})
    tap.status(gone, 204, "now its image may go")
    tap.equal(say(server, name, "cancel").json["code"], "campaign-state", "it is over")


def one_plane_of_a_node_at_a_time(tap, server):
    nodes = nodes_of(server, 2, ports=4)
    name = create(server, upload(server), canary=0, percent=100, max_unavailable=8)
    tap.equal(show(server, name)["devices"]["offered"], 2, "one device of each node")
    first = must(nodes[0].task(), 200).json
    nodes[0].flash(first)
    second = must(nodes[0].task(known=first["id"]), 200).json
    tap.ok(first["device"] != second["device"], "then its next one", second)


def a_failing_device_halts_it(tap, server):
    nodes = nodes_of(server, 4)
    image = upload(server)
    name = create(server, image, canary=1, percent=50, max_unavailable=2)
    nodes[0].flash(outcome="failed", phase="flashing")
    seen = show(server, name)
    tap.ok(seen["state"] == "halted" and "n01" in seen["problem"], "the first failure halts it", seen)
    tap.equal([n.task().status for n in nodes], [204] * 4, "no other device is given a task")
    tap.equal(say(server, name, "pause").json["code"], "campaign-state", "it cannot be paused")
    must(say(server, name, "resume"), 200)
    tap.equal(show(server, name)["devices"]["offered"], 2, "a resumed one goes on")
    task = must(nodes[1].task(), 200).json
    must(say(server, name, "pause"), 200)
    nodes[1].flash(task)
    tap.equal(show(server, name)["devices"]["offered"], 1, "while it is paused none starts")
    must(say(server, name, "resume"), 200)
    drive(server, name, nodes)
    tap.equal((show(server, name)["state"], states(server, name)),
              ("done", ["failed", "success", "success", "success"]), "the others have it")


def a_reset_that_is_pending_is_shown(tap, server):
    nodes = nodes_of(server, 1)
    name = create(server, upload(server))
    task = must(nodes[0].task(), 200).json
    must(nodes[0].report(task["id"], "flashed", outcome="pending-reset", stored=TARGET,
                         running="2.1.8"), 200)
    row = devices(server, name)[0]
    tap.equal((show(server, name)["state"], row["state"], row["running"], row["stored"]),
              ("done", "pending-reset", "2.1.8", TARGET), "it is no failure, and no success")


def cancelling_stops_what_can_be_stopped(tap, server):
    nodes = nodes_of(server, 3)
    image = upload(server)
    name = create(server, image, canary=0, percent=100, max_unavailable=2)
    tasks = [must(n.task(), 200).json for n in nodes[:2]]
    must(nodes[0].report(tasks[0]["id"], "flashing"), 200)
    must(nodes[1].report(tasks[1]["id"], "draining"), 200)
    got = []
    waits = threading.Thread(
        target=lambda: got.append(nodes[1].task(wait="20s", known=tasks[1]["id"])))
    waits.start()
    must(say(server, name, "cancel"), 200)
    waits.join(CALL_S)
    tap.ok(got[0].status == 200 and got[0].json["cancelled"], "who waits is told to stop", got)
    tap.equal((show(server, name)["state"], nodes[0].task(known=tasks[0]["id"]).status),
              ("cancelling", 204), "past the point of no return it goes on")
    late = nodes[1].report(tasks[1]["id"], "draining", outcome="cancelled", running="2.1.8")
    tap.equal((late.status, late.json["state"]), (200, "cancelled"), "the one that stopped says so")
    nodes[0].flash(tasks[0])
    tap.equal((show(server, name)["state"], states(server, name)),
              ("cancelled", ["success", "cancelled", "cancelled"]), "then it is cancelled")
    draft = create(server, image, start=False)
    must(say(server, draft, "cancel"), 200)
    tap.equal(show(server, draft)["state"], "cancelled", "a draft at once")


def a_restored_server_gives_no_task_twice(tap, server):
    """Numbers of campaigns come again; what agents know of the old ones must not count for the new."""
    node = nodes_of(server, 1)[0]
    image = upload(server)
    server.stop()
    kept = server.data + ".kept"
    shutil.copytree(server.data, kept)
    server.start()
    name = create(server, image)
    old = must(node.task(), 200).json
    node.flash(old, "failed", "flashing")
    tap.ok(becomes(server, name, "halted"), "a campaign that failed")
    server.stop()
    shutil.rmtree(server.data)
    shutil.move(kept, server.data)
    server.start()
    tap.equal(create(server, image), name, "the restored server gives the next one its number")
    given = node.task(known=old["id"])
    tap.ok(given.status == 200 and given.json["id"] != old["id"] and given.json["device"] == old["device"],
           "and the agent that ended the old one's task gets the new one's", given)
    late = node.report(old["id"], "flashing", outcome="failed", problem="no power")
    tap.status(late, 404, "what it still says of the old one is of no task")
    tap.equal(states(server, name), ["offered"], "and nothing has moved")
    node.flash(given.json)
    tap.ok(becomes(server, name, "done"), "the new one goes its way")


def hostile_agents_change_nothing(tap, server):
    nodes = nodes_of(server, 2)
    name = create(server, upload(server), canary=0, percent=100, max_unavailable=1)
    task = must(nodes[0].task(), 200).json["id"]
    made = task.rsplit("-", 1)[1]
    stranger = nodes[1]
    for sentence, answer, status, code in (
            ("another node's address", stranger.report(task, "flashing", node="n01"), 403, "wrong-node"),
            ("another node's task", stranger.report(task, "flashing"), 404, "not-found"),
            ("the task of its own device that was not offered",
             stranger.report(f"{name}-2-{made}", "flashing"), 200, None),
            ("the task of another campaign that had its number", nodes[0].report(f"{name}-1-1", "flashing"), 404,
             "not-found"),
            ("a task that is none", stranger.report("c-99-1-1", "flashing"), 404, "not-found"),
            ("a name that is none", stranger.report("x", "flashing"), 404, "not-found"),
            ("an index behind the end", stranger.report(f"{name}-99-{made}", "flashing"), 404, "not-found"),
            ("a phase that is none", nodes[0].report(task, "sleeping"), 422, "invalid"),
            ("a percentage over 100", nodes[0].report(task, "flashing", percent=101), 422, "invalid"),
            ("a member too many", nodes[0].report(task, "flashing", force=True), 422, "invalid"),
            ("an outcome that does not fit", nodes[0].report(task, "checking", outcome="success"),
             422, "invalid"),
            ("a huge message", nodes[0].report(task, "flashing", message="x" * 9000), 413, "too-large"),
            ("a long message", nodes[0].report(task, "flashing", message="x" * 300), 422, "invalid"),
            ("control characters", nodes[0].report(task, "flashing", message="a\x1b[2J"), 422,
             "invalid")):
        tap.ok(answer.status == status and (code is None or answer.json["code"] == code), sentence, answer)
    tap.equal(states(server, name), ["offered", "waiting"], "nothing has moved")
    tap.status(stranger.task(node="n01"), 403, "nobody reads another node's task")
    tap.status(server.get("/v1/nodes/n01/flash"), 403, "it is for agents alone")
    must(nodes[0].report(task, "draining"), 200)
    back = must(nodes[0].report(task, "fetching"), 200)
    tap.ok(back.json.get("unchanged") and back.json["state"] == "draining", "phases go forward", back)
    must(nodes[0].report(task, "flashing", percent=50, message="ü" * 100), 200)
    must(nodes[0].report(task, "done", outcome="success", running=TARGET, stored=TARGET), 200)
    for outcome, phase in (("success", "done"), ("failed", "flashing")):
        twice = must(nodes[0].report(task, phase, outcome=outcome, running="2.1.8"), 200)
        tap.ok(twice.json.get("unchanged") and twice.json["state"] == "success",
               f"{outcome} after an outcome changes nothing", twice)
    second = must(nodes[1].task(), 200).json["id"]
    must(nodes[1].report(second, "done", outcome="success", running="2.1.8"), 200)
    tap.equal((states(server, name)[1], show(server, name)["state"]), ("failed", "halted"),
              "a success that does not run it is a failure")


def a_restart_in_the_middle_loses_nothing(tap, server):
    nodes = nodes_of(server, 3, ports=2)
    name = create(server, upload(server), canary=0, percent=100, max_unavailable=2,
                  phase_deadline="1h")
    task = must(nodes[0].task(), 200).json
    must(nodes[0].report(task["id"], "flashing", percent=40), 200)
    before = (show(server, name), devices(server, name))
    server.kill()
    server.start()
    after = (show(server, name), devices(server, name))
    tap.equal(after, before, "it is as it was")
    tap.equal(must(nodes[0].task(), 200).json, task, "the task is published as before")
    nodes[0].flash(task)
    must(say(server, name, "cancel"), 200)
    server.kill()
    server.start()
    for node in nodes:
        told = node.task()
        if told.status == 200:
            tap.ok(told.json["cancelled"], "a cancelled one too", told)
            must(node.report(told.json["id"], "offered", outcome="cancelled"), 200)
    tap.equal(show(server, name)["state"], "cancelled", "it comes to its end")
    tap.ok(must(server.get("/v1/audit:verify"), 200).json["valid"], "the audit chain holds")


def a_node_that_vanishes_halts_it(tap, server):
    nodes = nodes_of(server, 2)
    name = create(server, upload(server), canary=1, phase_deadline="2s")
    task = must(nodes[0].task(), 200).json
    must(nodes[0].report(task["id"], "flashing"), 200)
    tap.ok(becomes(server, name, "halted"), "it halts", show(server, name))
    row = devices(server, name)[0]
    tap.ok(row["state"] == "lost" and "unknown" in row["problem"], "the device is lost", row)
    told = must(nodes[0].task(known=task["id"]), 200).json
    tap.ok(told["cancelled"], "should it come back, it is told to stop", told)
    must(say(server, name, "cancel"), 200)
    tap.equal(show(server, name)["state"], "cancelled", "it can be ended")
    server.kill()
    server.start()
    tap.ok(must(nodes[0].task(), 200).json["cancelled"], "also after a restart")
    must(nodes[0].report(task["id"], "done", outcome="success", running=TARGET, stored=TARGET), 200)
    tap.equal((states(server, name)[0], nodes[0].task().status), ("success", 204),
              "how it ended is still taken")


def a_node_made_anew_has_no_task_of_the_old_one(tap, server):
    nodes = nodes_of(server, 2)
    name = create(server, upload(server), canary=1, phase_deadline="2s")
    task = must(nodes[0].task(), 200).json
    must(nodes[0].report(task["id"], "flashing"), 200)
    tap.ok(becomes(server, name, "halted"), "it halts", show(server, name))
    must(say(server, name, "cancel"), 200)
    tap.ok(must(nodes[0].task(), 200).json["cancelled"], "the lost node would be told to stop")
    must(server.call("DELETE", "/v1/nodes/n01", headers={"If-Match": "*"}), 200)
    again = Node(server, "n01", 1)
    tap.equal(again.task().status, 204, "another node of its name has no task")
    server.kill()
    server.start()
    tap.equal(again.task().status, 204, "nor after a restart")


def a_node_remade_while_at_work_is_lost_to_it(tap, server):
    nodes = nodes_of(server, 2)
    name = create(server, upload(server), canary=1)
    task = must(nodes[0].task(), 200).json
    must(nodes[0].report(task["id"], "flashing"), 200)
    must(server.call("DELETE", "/v1/nodes/n01", headers={"If-Match": "*"}), 200)
    again = Node(server, "n01", 1)
    tap.ok(becomes(server, name, "halted"), "the campaign halts", show(server, name))
    row = devices(server, name)[0]
    tap.ok(row["state"] == "lost" and "left the fleet" in row["problem"], "its device is lost", row)
    tap.equal(again.task().status, 204, "the new node has no task")


def a_node_that_was_lost_twice_is_told_of_the_newer(tap, server):
    nodes = nodes_of(server, 1)
    image, tasks = upload(server), []
    for _ in range(2):
        name = create(server, image, phase_deadline="2s")
        tasks.append(must(nodes[0].task(), 200).json["id"])
        tap.ok(becomes(server, name, "halted"), "it halts", show(server, name))
        must(say(server, name, "cancel"), 200)
    seen = must(nodes[0].task(), 200).json["id"]
    server.kill()
    server.start()
    again = must(nodes[0].task(), 200).json["id"]
    tap.equal((seen, again), (tasks[1], tasks[1]), "its newest task, after a restart too")


def what_a_node_says_in_other_letters_is_told(tap, server):
    nodes = nodes_of(server, 1)
    name = create(server, upload(server))
    task = must(nodes[0].task(), 200).json["id"]
    why = "x" + 127 * "\u00e9"
    said = nodes[0].report(task, "flashing", outcome="failed", problem=why, running="2.1.8")
    tap.equal((said.status, devices(server, name)[0]["problem"]), (200, why), "its words are kept")
    event = must(server.get("/v1/events?kinds=firmware.halted"), 200).json["items"][0]
    tap.ok(event["body"]["text"].endswith("x" + 49 * "\u00e9"), "events have the beginning", event)


def rollouts_and_campaigns_keep_apart(tap, server):
    nodes = nodes_of(server, 2)
    for node in nodes:
        until(lambda n=node: n.fetch().status == 200)
        must(node.receipt(), 201)
    image = upload(server)
    must(server.put("/v1/rollout-policy", {"mode": "staged", "confirm": "manual"}), 201)
    changed = {"fabric_profile": {**FABRIC["fabric_profile"], "mtu_bytes": 2200}}
    must(server.put("/v1/fabric", changed, "*"), 200)
    until(lambda: server.get("/v1/nodes/n01").json["sync"] == "held")
    until(lambda: server.get("/v1/nodes/n02").json["sync"] == "held")
    name = create(server, image, canary=1)
    refused = server.call("POST", "/v1/rollouts", {"all": True})
    tap.ok(refused.status == 409 and refused.json["code"] == "node-in-campaign" and
           name in refused.json["detail"] and "n01" in refused.json["detail"],
           "no rollout takes a node that is being flashed", refused)
    rollout = must(server.call("POST", "/v1/rollouts", {"nodes": ["n02"]}), 201).json["id"]
    nodes[0].flash()
    tap.equal((states(server, name), nodes[1].task().status), (["success", "waiting"], 204),
              "no campaign starts on a node that a rollout has")
    draft = create(server, upload(server, "2.4.0"), start=False)
    tap.equal(must(server.get(f"{ALL}/{draft}/devices"), 200).json["items"][0]["node"], "n01",
              "a device of another campaign is left out")
    must(server.call("POST", f"/v1/rollouts/{rollout}:rollback"), 200)
    tap.ok(until(lambda: states(server, name)[1] == "offered"), "when it has ended the device starts")
    nodes[1].flash()
    tap.ok(becomes(server, name, "done"), "and it comes to its end", show(server, name))
    held = must(server.call("POST", "/v1/rollouts", {"nodes": ["n01"]}), 201).json["id"]
    refused = say(server, draft, "start")
    tap.ok(refused.status == 409 and refused.json["code"] == "node-in-rollout" and
           held in refused.json["detail"], "no campaign begins with a node of a rollout", refused)


def windows_are_kept(tap, server):
    nodes = nodes_of(server, 2)
    image = upload(server)
    later = [{"from": "2100-01-01T00:00:00Z", "until": "2100-01-02T00:00:00Z"}]
    name = create(server, image, windows=later)
    seen = show(server, name)
    tap.equal((seen["window"], seen["window_opens"][:4], states(server, name)),
              ("closed", "2100", ["waiting", "waiting"]), "no device starts before it")
    must(say(server, name, "cancel"), 200)
    week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    name = create(server, image, windows=[{"days": week, "from": "00:00", "until": "00:00"}])
    tap.equal((show(server, name)["window"], nodes[0].task().status), ("open", 200),
              "one that is always open")


def what_changes_by_itself_is_seen(tap, server):
    nodes = nodes_of(server, 3)
    name = create(server, upload(server), canary=1, percent=100, max_unavailable=1)
    nodes[1].firmware = [TARGET]
    nodes[1].tell_inventory()
    must(server.call("DELETE", "/v1/nodes/n03", headers={"If-Match": "*"}), 200)
    nodes[0].flash()
    tap.ok(becomes(server, name, "done"), "it ends", show(server, name))
    tap.equal(states(server, name), ["success", "unchanged", "cancelled"],
              "a device that runs it by then is unchanged, one that is gone is cancelled")


def there_is_a_limit_of_campaigns(tap, server):
    nodes_of(server, 1, ports=17)
    image = upload(server)
    made = [server.call("POST", ALL, {"image": image, "all": True, "devices": [f"solar_rdma.{i}"]})
            for i in range(17)]
    tap.equal([m.status for m in made], [201] * 16 + [409], "sixteen at a time")
    tap.equal(made[-1].json["code"], "campaigns-full", "and it says so")


def many_devices_in_one_campaign(tap, server):
    nodes = nodes_of(server, 20, ports=2)
    name = create(server, upload(server), canary=2, percent=25, max_unavailable=20)
    drive(server, name, nodes)
    seen = show(server, name)
    tap.equal((seen["state"], seen["devices"]["success"], len(seen["waves"])), ("done", 40, 5),
              "forty devices of twenty nodes")


run([a_dry_run_shows_what_it_would_do, a_campaign_goes_through_the_fleet,
     one_plane_of_a_node_at_a_time, a_failing_device_halts_it, a_reset_that_is_pending_is_shown,
     cancelling_stops_what_can_be_stopped, a_restored_server_gives_no_task_twice, hostile_agents_change_nothing,
     a_restart_in_the_middle_loses_nothing, a_node_that_vanishes_halts_it,
     a_node_made_anew_has_no_task_of_the_old_one, a_node_remade_while_at_work_is_lost_to_it,
     a_node_that_was_lost_twice_is_told_of_the_newer, what_a_node_says_in_other_letters_is_told,
     rollouts_and_campaigns_keep_apart, windows_are_kept, what_changes_by_itself_is_seen,
     there_is_a_limit_of_campaigns, many_devices_in_one_campaign])
