#!/usr/bin/env python3
"""Verifications: tests between nodes, graded, compared, cancelled; silent and hostile nodes, a killed server.
The nodes are played here; the real agent is asked once, as a simulated node."""
import os
import subprocess
import tempfile
import time

from lib import CALL_S, Agent, inventory, must, run

ALL = "/v1/verifications"
SOFT = "software device, threshold not applicable"


class Node(Agent):
    """A node with one RDMA device that says of a test what it is told to."""

    def __init__(self, server, name, number, software=False, speed=100000000000, address=True):
        super().__init__(server, name, server.node(name, {"labels": {"rack": f"r{number % 2}"}}))
        body = inventory(name)
        body["ports"][0].update(rdma_device="mlx5_0", rdma_software=software, speed_bps=speed)
        gids = [{"index": 3, "gid": f"::ffff:10.9.0.{number}", "type": "rocev2", "netdev": "sol0"}]
        body["rdma_devices"] = [{"name": "mlx5_0", "software": software, "port_ids": ["solar_rdma.0/0"],
                                 "ports": [{"port": 1, "gids": gids if address else []}]}]
        self.body = body
        self.tell()

    def tell(self):
        must(self.server.call("PUT", "/v1/agent/inventory", self.body, token=self.token), 200)

    def task(self, wait="0s", known=None):
        more = f"&known={known}" if known else ""
        return self.server.get(f"/v1/nodes/{self.node}/verify?wait={wait}{more}", token=self.token)

    def say(self, task, outcome="done", figures=None, node=None, **more):
        body = {"version": 1, "task": task, "outcome": outcome, "figures": figures or {}, **more}
        return self.server.call("POST", f"/v1/nodes/{node or self.node}/verify/{task}:report", body, token=self.token)


def nodes_of(server, count, **more):
    return [Node(server, f"n{i}", i, **more) for i in range(1, count + 1)]


def order(server, *kinds, **more):
    body = {"kinds": list(kinds), "deadline": "1s", **({} if "nodes" in more else {"all": True}), **more}
    return must(server.call("POST", ALL, body), 201).json


def show(server, name):
    return must(server.get(f"{ALL}/{name}"), 200).json


def ends(server, name, wait_s=CALL_S):
    end = time.monotonic() + wait_s
    while show(server, name)["state"] == "running" and time.monotonic() < end:
        time.sleep(0.1)
    return show(server, name)


def measure(nodes, figures, count=1):
    """Both ends of each test say that it is done; who asks has the figures."""
    for _ in range(count):
        for node in nodes:
            answer = node.task()
            if answer.status == 200 and not answer.json["cancelled"]:
                task = answer.json
                must(node.say(task["verification"], figures=figures if task["place"] == 0 else None), 200)


def a_pair_is_measured_graded_and_compared(tap, server):
    nodes = nodes_of(server, 2)
    made = order(server, "send_lat")
    tap.equal((made["id"], made["state"], made["counts"]["total"], made["counts"]["running"]),
              ("v-1", "running", 1, 1), "it begins at once")
    one, two = must(nodes[0].task(), 200).json, must(nodes[1].task(), 200).json
    tap.equal((one["place"], two["place"], one["secret"] == two["secret"], one["service"] == two["service"]),
              (0, 1, True, True), "both ends have the same test")
    tap.ok("secret" not in must(server.get(f"{ALL}/v-1"), 200).body.decode(), "nobody else sees its secret")
    tap.equal(nodes[0].task(known="v-1-1").status, 204, "the known task is no news")
    tap.equal(must(nodes[1].say("v-1-1"), 200).json, {"state": "running"}, "one end is not enough")
    tap.equal(must(nodes[1].say("v-1-1"), 200).json, {"state": "running", "unchanged": True}, "said twice it counts once")
    must(nodes[0].say("v-1-1", figures={"latency_p50_ns": 1000}), 200)
    seen = show(server, "v-1")
    test = seen["tests"][0]
    tap.equal((seen["state"], seen["verdict"], test["verdict"], test["value"], "last" in test),
              ("done", "pass", "pass", 1000, False), "below its limit it passes; it is the first")
    tap.equal((test["limit"], test["limit_is"]), (1200, "below"), "the limit is told")
    tap.equal([n.task().status for n in nodes], [204, 204], "and no task is left")
    order(server, "send_lat")
    measure(nodes, {"latency_p50_ns": 1250})
    test = show(server, "v-2")["tests"][0]
    tap.equal((test["verdict"], test["last"]), ("fail", {"verification": "v-1", "value": 1000, "change_permyriad": 2500}),
              "over it fails, and is compared with the last one")
    order(server, "read_bw")
    measure(nodes, {"rate_bps": 98000000000})
    seen = show(server, "v-3")
    tap.equal((seen["verdict"], "last" in seen["tests"][0]), ("pass", False), "another kind is another test")
    listed = must(server.get(ALL + "?page_size=2"), 200).json
    tap.equal(([i["id"] for i in listed["items"]], [i["verdict"] for i in listed["items"]]),
              (["v-3", "v-2"], ["pass", "fail"]), "they are listed, the newest first")
    tap.equal([(i["nodes"], "nodes" in i["counts"]) for i in listed["items"]], [(2, False)] * 2, "with how many nodes")
    events = must(server.get("/v1/events?kinds=verification.*&page_size=100"), 200).json["items"]
    tap.equal([e["body"]["state"] for e in events if e["subject"] == "verification/v-1"],
              ["running", "running", "done"], "each step is an event")
    text = must(server.get("/metrics"), 200).body.decode()
    tap.ok('stellar_verification_tests_total{verdict="pass"} 2' in text and
           'stellar_verification_tests_total{verdict="fail"} 1' in text, "and counted")


def software_is_not_graded(tap, server):
    nodes = nodes_of(server, 2, software=True)
    order(server, "send_lat", "write_bw", "allreduce", "mesh")
    measure(nodes, {"latency_p50_ns": 90000, "rate_bps": 1, "spread_permyriad": 9000, "answered": 1, "asked": 1}, 5)
    seen = ends(server, "v-1")
    tests = {t["kind"]: t for t in seen["tests"]}
    tap.equal([(tests[k]["verdict"], tests[k]["why"]) for k in ("send_lat", "write_bw", "allreduce")],
              [("not-applicable", SOFT)] * 3, "a software device is held against no limit of hardware")
    tap.equal(("limit" in tests["send_lat"], tests["mesh"].get("limit_is")), (False, "at-least"), "no limit is for them")
    tap.equal((tests["mesh"]["verdict"], tests["send_lat"]["value"], seen["verdict"]), ("pass", 90000, "pass"),
              "its figures stay, and its mesh is graded")


def what_cannot_be_measured_is_unknown(tap, server):
    nodes = nodes_of(server, 3)
    Node(server, "n4", 4, address=False)
    server.node("n5")
    order(server, "send_lat")
    seen = show(server, "v-1")
    alone = [t for t in seen["tests"] if len(t["members"]) == 1]
    tap.equal([(t["members"][0]["node"], t["verdict"]) for t in alone], [("n4", "unknown"), ("n5", "unknown")],
              "a node without an address that others can reach")
    tap.equal(seen["counts"], {"total": 5, "waiting": 2, "running": 1, "pass": 0, "fail": 0, "not-applicable": 0,
                               "unknown": 2}, "a node is in one test at a time")
    must(nodes[0].say("v-1-3", figures={"latency_p50_ns": 1}), 200)  # n2 says nothing
    seen = ends(server, "v-1", 90)
    why = {t["test"]: (t["verdict"], t["why"]) for t in seen["tests"]}
    tap.equal((seen["state"], seen["verdict"]), ("done", "unknown"), "silence ends, and is no failure")
    tap.equal(why["v-1-3"], ("unknown", "node n2 did not answer in time"), "who was silent is named")
    tap.ok("value" not in [t for t in seen["tests"] if t["test"] == "v-1-4"][0], "no figure is invented")
    late = must(nodes[1].say("v-1-3"), 200).json
    tap.equal(late, {"state": "over", "unchanged": True}, "a late report changes nothing")
    order(server, "send_lat", nodes=["n1", "n2"])
    must(nodes[0].say("v-2-1", "refused", problem="programs have 3 queue pairs"), 200)
    must(nodes[1].say("v-2-1", "failed", problem="nobody came"), 200)
    test = show(server, "v-2")["tests"][0]
    tap.equal((test["verdict"], test["why"], test["problem"]),
              ("unknown", "not measured: node n1: refused", "node n1: programs have 3 queue pairs"),
              "nor is what a node refused")
    order(server, "mesh", nodes=["n1", "n2", "n3"])
    must(nodes[0].say("v-3-1", figures={"asked": 9, "answered": 9}), 200)
    must(nodes[1].say("v-3-2", figures={"asked": 2, "answered": 1}, problem="silent: n3 (timeout)"), 200)
    must(nodes[2].say("v-3-3", figures={"asked": 2, "answered": 2}), 200)
    seen = show(server, "v-3")
    tap.equal([t["verdict"] for t in seen["tests"]], ["unknown", "fail", "pass"], "figures that cannot be are none")
    tap.equal((seen["verdict"], seen["tests"][1]["problem"]), ("fail", "node n2: silent: n3 (timeout)"),
              "a peer that does not answer fails a mesh")


def wrong_data_fails(tap, server):
    """Also between software devices, and after a neighbour whose connection broke."""
    nodes = nodes_of(server, 3, software=True)
    order(server, "allreduce", deadline="60s")
    must(nodes[2].say("v-1-1", "failed", problem="the other end went"), 200)
    must(nodes[1].say("v-1-1", "corrupt", problem="iteration 3 gave a wrong sum"), 200)
    server.kill()
    server.start()
    must(nodes[0].say("v-1-1", "failed", problem="the other end went"), 200)
    seen = show(server, "v-1")
    test = seen["tests"][0]
    tap.equal((seen["state"], seen["verdict"], seen["counts"]["fail"]), ("done", "fail", 1), "a wrong sum fails")
    tap.equal((test["verdict"], test["why"], test["problem"], "value" in test, test["figures"]),
              ("fail", "silent data corruption: node n2 found a wrong result", "node n2: iteration 3 gave a wrong sum",
               False, {}), "whoever found it is named, and there is no figure")
    order(server, "allreduce")
    must(nodes[1].say("v-2-1", "corrupt", problem="iteration 0 gave a wrong sum"), 200)
    seen = ends(server, "v-2", 40)
    tap.equal((seen["verdict"], seen["tests"][0]["why"]),
              ("fail", "silent data corruption: node n2 found a wrong result"), "also when others stay silent")
    order(server, "allreduce")
    must(nodes[0].say("v-3-1", "failed", problem="the other end went"), 200)
    seen = ends(server, "v-3", 40)
    tap.equal((seen["verdict"], seen["tests"][0]["why"]), ("unknown", "node n2 and others did not answer in time"),
              "who is late leaves it unknown")
    order(server, "mesh")  # the nodes are at other tests by now
    late = must(nodes[2].say("v-3-1", "corrupt", problem="iteration 1 gave a wrong sum"), 200).json
    seen = show(server, "v-3")
    tap.equal((late, seen["state"], seen["verdict"], seen["tests"][0]["why"], seen["tests"][0]["problem"]),
              ({"state": "over"}, "done", "fail", "silent data corruption: node n3 found a wrong result",
               "node n3: iteration 1 gave a wrong sum"), "until it tells of wrong data: never too late")
    tap.equal(must(nodes[0].say("v-3-1", "corrupt"), 200).json, {"state": "over", "unchanged": True},
              "whoever had answered has answered")
    task = must(nodes[0].task(), 200).json
    tap.equal((task["verification"], task["cancelled"]), ("v-4-1", False), "the task of now stays")
    listed = must(server.get(ALL + "?page_size=2"), 200).json["items"]
    tap.equal([(i["id"], i.get("verdict")) for i in listed], [("v-4", None), ("v-3", "fail")], "the list says so too")
    must(server.call("POST", f"{ALL}/v-4:cancel"), 200)
    order(server, "allreduce")
    for node in nodes:  # as an agent of before says it
        must(node.say("v-5-1", "failed", problem="iteration 3 gave a wrong sum"), 200)
    test = show(server, "v-5")["tests"][0]
    tap.equal((test["verdict"], test["problem"]), ("unknown", "node n1: iteration 3 gave a wrong sum"),
              "words are shown and not judged")


def hostile_agents_change_nothing(tap, server):
    nodes = nodes_of(server, 3)
    order(server, "send_lat", nodes=["n1", "n2"])
    tap.equal(nodes[2].say("v-1-1").status, 404, "no part of it, no report")
    tap.equal(nodes[2].say("v-1-1", node="n1").status, 403, "nor for another node")
    tap.equal(nodes[0].say("v-1-2").status, 404, "no such test")
    tap.equal(nodes[0].say("v-01-1").status, 404, "no such name")
    tap.equal(nodes[0].say("v-1-1", figures={"latency_p50_ns": -5}).status, 422, "no figure below nothing")
    tap.equal(nodes[0].say("v-1-1", figures={"speed": 5}).status, 422, "nor one that there is not")
    tap.equal(nodes[0].say("v-1-1", "splendid").status, 422, "nor such an outcome")
    tap.equal(nodes[0].say("v-1-1", problem="x" * 9000).status, 413, "nor so much")
    tap.equal(show(server, "v-1")["counts"]["running"], 1, "it still runs")
    busy = server.call("POST", ALL, {"kinds": ["mesh"], "all": True})
    tap.equal((busy.status, busy.json["code"], "v-1" in busy.json["detail"]), (409, "verification-active", True),
              "a node is in one at a time")
    refused = server.call("POST", ALL, {"kinds": ["ping"], "all": True, "deadline": "1ms"})
    tap.equal((refused.status, refused.json["code"], len(refused.json["errors"])), (422, "verification-refused", 2),
              "all problems of a request at once")
    none = server.call("POST", ALL, {"kinds": ["mesh"], "selector": {"rack": "none"}})
    tap.equal((none.status, none.json["code"]), (409, "nothing-to-verify"), "no node is chosen")
    dry = must(server.call("POST", ALL + "?dry_run=true", {"kinds": ["read_bw"], "nodes": ["n3"]}), 200).json
    tap.ok("id" not in dry and dry["tests"][0]["verdict"] == "unknown" and len(show(server, "v-1")["tests"]) == 1 and
           server.get(f"{ALL}/v-2").status == 404, "a dry run makes nothing", dry)
    must(server.call("DELETE", "/v1/nodes/n2", headers={"If-Match": "*"}), 200, 204)
    seen = ends(server, "v-1", 40)
    tap.equal(seen["verdict"], "unknown", "a node that is gone says nothing")


def cancelling_tells_the_nodes(tap, server):
    nodes = nodes_of(server, 3)
    order(server, "write_bw", deadline="60s")
    must(nodes[0].task(), 200)
    seen = must(server.call("POST", f"{ALL}/v-1:cancel?reason=enough"), 200).json
    tap.equal((seen["state"], seen["counts"]["unknown"], {t["why"] for t in seen["tests"]}),
              ("cancelled", 3, {"cancelled"}), "what is not over is unknown")
    told = must(nodes[0].task(known="v-1-1"), 200).json
    tap.equal((told["verification"], told["cancelled"]), ("v-1-1", True), "who is at it is told")
    tap.equal(nodes[0].task(known="v-1-1~cancelled").status, 204, "once")
    again = must(server.call("POST", f"{ALL}/v-1:cancel"), 200).json
    tap.equal(again["state"], "cancelled", "twice is no error")
    audit = must(server.get("/v1/audit?action=verification.cancel"), 200).json["items"]
    tap.equal([(a["subject"], a["before"], a["after"]) for a in audit],
              [("verification/v-1", "running", "cancelled")], "and is one row of the audit")
    order(server, "mesh", nodes=["n1", "n2"])
    tap.equal(must(nodes[0].task(), 200).json["cancelled"], False, "the next one takes its place")
    measure(nodes[:2], {"answered": 1, "asked": 1}, 2)
    tap.equal(server.call("POST", f"{ALL}/v-2:cancel").json["code"], "verification-state", "what is done is done")
    tap.equal(server.call("POST", f"{ALL}/v-9:cancel").status, 404, "there is no such one")


def there_is_a_limit_of_verifications(tap, server):
    nodes_of(server, 34)
    for i in range(1, 33, 2):
        order(server, "mesh", nodes=[f"n{i}", f"n{i + 1}"], deadline="60s")
    full = server.call("POST", ALL, {"kinds": ["mesh"], "nodes": ["n33", "n34"]})
    tap.equal((full.status, full.json["code"]), (409, "verifications-full"), "sixteen at once")
    must(server.call("POST", f"{ALL}/v-1:cancel"), 200)
    order(server, "mesh", nodes=["n33", "n34"])


def a_killed_server_goes_on(tap, server):
    nodes = nodes_of(server, 2)
    order(server, "send_lat", "read_bw", deadline="20s")
    before = must(nodes[0].task(), 200).json
    must(nodes[1].say("v-1-1"), 200)
    server.kill()
    server.start()
    after = must(nodes[0].task(), 200).json
    tap.equal(after, before, "the task is the same, with its secret")
    must(nodes[0].say("v-1-1", figures={"latency_p50_ns": 500}), 200)
    measure(nodes, {"rate_bps": 1})
    seen = ends(server, "v-1")
    tap.equal([t["verdict"] for t in seen["tests"]], ["pass", "fail"], "what one end had told is known")


def a_simulated_agent_says_so(tap, server):
    """The real agent: it takes the task, and has no device to measure with."""
    node, two = nodes_of(server, 2)
    with tempfile.TemporaryDirectory(prefix="stellar-verify-") as folder:
        path = os.path.join(folder, "token")
        with open(path, "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(node.token)
        agent = subprocess.Popen(
            [os.path.join(server.args.objdir, "stellar-agent"), "--node", "n1", "--server",
             f"http://127.0.0.1:{server.port}", "--state-dir", os.path.join(folder, "state"), "--provider", "sim",
             "--sim-ports", "1", "--token-file", path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            first = must(server.get("/v1/nodes/n1/inventory"), 200).etag
            end = time.monotonic() + CALL_S
            while must(server.get("/v1/nodes/n1/inventory"), 200).etag == first and time.monotonic() < end:
                time.sleep(0.1)
            node.tell()  # the device that the test is ordered for: the simulator tells of none with an address
            must(server.call("POST", ALL, {"kinds": ["mesh"], "nodes": ["n1", "n2"], "deadline": "20s"}), 201)
            end = time.monotonic() + CALL_S
            while show(server, "v-1")["tests"][0]["state"] != "over" and time.monotonic() < end:
                time.sleep(0.1)
        finally:
            agent.kill()
            agent.wait(timeout=CALL_S)
    test = show(server, "v-1")["tests"][0]
    tap.equal((test["verdict"], test["why"], test["problem"]),
              ("unknown", "not measured: node n1: unsupported",
               "node n1: the node is simulated: it has no RDMA device to measure with"), "it says so")
    must(two.say("v-1-2", figures={"asked": 1, "answered": 0}), 200)
    tap.equal(ends(server, "v-1")["verdict"], "fail", "whom nobody answers fails")


run([a_pair_is_measured_graded_and_compared, software_is_not_graded, what_cannot_be_measured_is_unknown,
     wrong_data_fails, hostile_agents_change_nothing, cancelling_tells_the_nodes, there_is_a_limit_of_verifications,
     a_killed_server_goes_on, a_simulated_agent_says_so])
