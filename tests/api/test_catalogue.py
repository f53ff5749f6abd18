#!/usr/bin/env python3
"""Inventory lists, switches, and what hardware rules find on them."""
import copy

from lib import FABRIC, inventory, must, run

LINK = {"current_gen": 4, "max_gen": 4, "current_width": 16, "max_width": 16}


def hardware(node, firmware="2.1.8", width=16, ports=1):
    """A node with all that the rules look at."""
    report = inventory(node, ports)
    for port in report["ports"]:
        port.update(firmware=firmware, rdma_device="solar0", psid="SOL_0001", product="Solar-NIC 200G",
                    pcie=dict(LINK, current_width=width))
    report["gpus"] = [{"id": f"0000:0{i}:00.0", "model": "NVIDIA A100-SXM4-80GB", "pcie": LINK,
                       "memory_bytes": 85899345920, "nvlink_bps": 4800000000000} for i in (7, 8)]
    report["cpu"] = {"model": "Neoverse-N1", "architecture": "aarch64", "iommu": "smmuv3"}
    return report


def report(server, node, document, token=None):
    token = token or server.node(node)
    return must(server.call("PUT", "/v1/agent/inventory", document, token=token), 200), token


def rules(findings):
    return [(f["rule"], f["severity"]) for f in findings]


def all_pages(server, path, size):
    items, token = [], ""
    while True:
        answer = must(server.get(f"{path}page_size={size}{token}"), 200).json
        items += answer["items"]
        assert len(answer["items"]) <= size
        if "next_page_token" not in answer:
            return items
        token = f"&page_token={answer['next_page_token']}"


def lists_hold_each_item_once(tap, server):
    for node, ports in (("n1", 2), ("n2", 3), ("n3", 0)):
        report(server, node, hardware(node, ports=ports))
    server.node("n4")
    report(server, "n5", {"version": 1, "ports": [{"id": "a/0"}]})
    for kind, count in (("nics", 6), ("gpus", 6), ("cpus", 3)):
        whole = all_pages(server, f"/v1/inventory/{kind}?", 1000)
        tap.equal(len(whole), count, f"all {kind} are listed")
        for size in (1, 2, 5):
            tap.equal(all_pages(server, f"/v1/inventory/{kind}?", size), whole,
                      f"{kind} in pages of {size} are the same")
    nic = server.get("/v1/inventory/nics?node=n2").json["items"]
    tap.equal([i["id"] for i in nic], [f"solar_rdma.{i}/0" for i in range(3)], "one node's NICs")
    tap.equal((nic[0]["firmware"], nic[0]["psid"], nic[0]["pcie"], nic[0]["product"]),
              ("2.1.8", "SOL_0001", LINK, "Solar-NIC 200G"), "with firmware, PSID, PCIe and product")
    bare = server.get("/v1/inventory/nics?node=n5").json["items"]
    tap.equal(bare, [{"node": "n5", "id": "a/0", "virtual_function": False}],
              "what was not reported is absent, never 0")
    must(server.put("/v1/nodes/silent", {}), 201)
    for kind in ("nics", "gpus", "cpus"):
        tap.status(server.get(f"/v1/inventory/{kind}?node=nobody"), 404, f"{kind} of a node that is none are not found")
        tap.equal(server.get(f"/v1/inventory/{kind}?node=silent").json, {"items": [], "reported": False},
                  f"of a node that told nothing the {kind} are unknown")
        tap.equal(server.get(f"/v1/inventory/{kind}?node=n5").json["reported"], True, "of one that did they are known")
        tap.ok("reported" not in server.get(f"/v1/inventory/{kind}").json, "of all nodes nothing is said of one")
    tap.status(server.get("/v1/inventory/nics?node=a%20b"), 422, "a name that is none is refused")


def findings_follow_the_hardware(tap, server):
    answer, token = report(server, "n1", hardware("n1"))
    tap.equal(answer.json["findings"], [], "good hardware has no findings")
    events = lambda: [e for e in must(server.get("/v1/events?page_size=1000"), 200).json["items"]
                      if e["kind"] == "node.compat"]
    tap.equal(len(events()), 0, "and no event")
    answer, _ = report(server, "n1", hardware("n1", "2.1.7", 8), token)
    tap.equal(rules(answer.json["findings"]), [("compat-firmware", "warning"), ("compat-pcie", "warning")],
              "old firmware and a narrow link are told with the report's answer")
    tap.equal([(f["observed"], f["limit"]) for f in answer.json["findings"]], [("2.1.7", "2.1.8"), ("8", "16")],
              "with what was seen and what would pass")
    tap.ok(all(f["hint"] and "n1" in f["subject"] for f in answer.json["findings"]), "and what to do",
           answer)
    got = events()
    tap.ok(len(got) == 1 and got[0]["subject"] == "node/n1" and got[0]["body"]["appeared_count"] == 2 and
           got[0]["body"]["gone_count"] == 0, "one event tells what appeared", got)
    one = must(server.get("/v1/nodes/n1/findings"), 200).json
    tap.equal(rules(one["items"]), rules(answer.json["findings"]), "the node's findings are the same")
    changed = hardware("n1", "2.1.7", 8)
    changed["kernel"] = "6.1.0"
    report(server, "n1", changed, token)
    tap.equal(len(events()), 1, "a report with the same findings is no event")
    report(server, "n1", hardware("n1", "2.1.10"), token)
    got = events()
    tap.ok(len(got) == 2 and got[1]["body"]["gone_count"] == 2, "what is mended is told too", got)
    tap.equal(server.get("/v1/nodes/n1/findings").json["items"], [], "and gone")
    unknown = inventory("n1")
    unknown["ports"][0]["firmware"] = "N/A"
    answer, _ = report(server, "n1", unknown, token)
    tap.equal(answer.json["findings"], [], "what is unknown is no warning")
    one = server.get("/v1/nodes/n1/findings").json["items"]
    tap.equal([(f["rule"], f["severity"], f["observed"]) for f in one],
              [("compat-firmware", "info", "unknown")], "but is not passed over as compliant")
    must(server.put("/v1/nodes/n9", {}), 201)
    tap.equal(server.get("/v1/nodes/n9/findings").json, {"node": "n9", "items": [], "reported": False},
              "a node that reported nothing says so")


def the_profiles_minimum_counts(tap, server):
    _, token = report(server, "n1", hardware("n1", "2.1.9"))
    report(server, "n2", hardware("n2", "2.2.0"))
    profile = copy.deepcopy(FABRIC)
    profile["fabric_profile"]["firmware_minimums"] = [{"driver": "solar_rdma", "minimum": "2.2"}]
    made = must(server.put("/v1/fabric", profile), 201)
    tap.equal([(f["rule"], f["subject"]) for f in made.json["findings"]],
              [("firmware-minimum", "node/n1/port/solar_rdma.0/0")],
              "the profile's answer names ports below its minimum")
    tap.equal([e["subject"] for e in server.get("/v1/events?page_size=1000").json["items"]
               if e["kind"] == "node.compat"], ["node/n1"], "and the node's set changed")
    tap.equal(len(all_pages(server, "/v1/findings?rule=firmware-minimum&", 10)), 1, "it is found by its rule")
    answer, _ = report(server, "n1", hardware("n1", "2.10.0"), token)
    tap.equal(answer.json["findings"], [], "2.10 is above 2.2")
    must(server.put("/v1/tenants/a", {}), 201)
    report(server, "n1", hardware("n1", "2.1.9"), token)
    path = "/v1/tenants/a/placements/j?dry_run=true"
    dry = must(server.put(path, {"nodes": ["n1"], "match": {"dst": "10.9.1.0/24"}}), 200)
    tap.ok(("firmware-minimum", "warning") in rules(dry.json["findings"]),
           "a rehearsed placement on the node is warned", dry)
    dry = must(server.put(path, {"nodes": ["n2"], "match": {"dst": "10.9.1.0/24"}}), 200)
    tap.ok("firmware-minimum" not in [f["rule"] for f in dry.json["findings"]],
           "one on another node is not", dry)


def lists_of_findings_are_paged_and_filtered(tap, server):
    for i in range(7):
        report(server, f"n{i}", hardware(f"n{i}", "2.1.7" if i % 2 else "N/A", 8))
    must(server.put("/v1/switches/sw1", {"pfc": False, "ecn": False}), 201)
    must(server.put("/v1/switches/sw2", {"pfc": True}), 201)
    whole = all_pages(server, "/v1/findings?", 1000)
    tap.equal(len(whole), 7 * 2 + 2 + 1, "nodes' and switches' findings are listed")
    for size in (1, 2, 3, 16):
        tap.equal(all_pages(server, "/v1/findings?", size), whole, f"in pages of {size} too")
    tap.equal(len(all_pages(server, "/v1/findings?severity=warning&rule=compat-firmware&", 2)), 3, "by both filters")
    tap.equal(len(all_pages(server, "/v1/findings?severity=info&", 2)), 5, "unknown ones by severity")
    tap.equal([f["subject"] for f in all_pages(server, "/v1/findings?rule=compat-switch-pfc&", 5)],
              ["switch/sw1"], "a switch's")
    for query in ("rule=compat-frimware", "severity=critical", "severity=", "rule="):
        tap.status(server.get(f"/v1/findings?{query}"), 400, f"{query} is refused")


def switches_have_revisions_and_whole_imports(tap, server):
    path = "/v1/switches/sw1"
    tap.status(server.call("PUT", path, {}), 428, "a PUT needs a precondition")
    made = must(server.put(path, {"pfc": True, "ecn": False}), 201)
    tap.equal((made.etag, made.headers.get("Location"), rules(made.json["findings"])),
              ('"1"', path, [("compat-switch-ecn", "warning")]), "made, with an ETag and its findings")
    again = server.put(path, {"pfc": True})
    tap.ok(again.status == 412 and again.etag == '"1"', "made again is 412 with the ETag", again)
    same = must(server.put(path, {"name": "sw1", "ecn": False, "pfc": True}, '"1"'), 200)
    tap.ok(same.json.get("unchanged") and same.etag == '"1"', "the same again is unchanged", same)
    must(server.put(path, {"pfc": True, "ecn": True}, '"1"'), 200)
    tap.status(server.put(path, {}, '"1"'), 412, "a stale ETag is refused")
    tap.status(server.put("/v1/switches/sw9", {}, '"1"'), 412, "If-Match of none is refused")
    got = must(server.get(path), 200)
    tap.equal((got.json, got.etag), ({"pfc": True, "ecn": True}, '"2"'), "and read back")
    bad = server.call("POST", "/v1/switches:import", {"switches": [
        {"name": "sw2", "pfc": 1}, {"name": "sw3"}, {"ecn": True}, {"name": "sw4", "pcf": True}, 7]})
    tap.ok(bad.status == 422 and bad.json["code"] == "switch-refused" and
           sorted({e["pointer"] for e in bad.json["errors"]}) ==
           ["/switches/0/pfc", "/switches/2/name", "/switches/3/pcf", "/switches/4"],
           "an import with faults names each", bad)
    tap.equal(len(server.get("/v1/switches").json["items"]), 1, "and stores nothing")
    twice = server.call("POST", "/v1/switches:import", {"switches": [{"name": "b"}, {"name": "a"}, {"name": "b"}]})
    tap.ok(twice.status == 422 and "'b'" in str(twice.json["errors"]), "the same name twice is refused", twice)
    rows = [{"name": f"s{i:04}", "pfc": True, "ecn": True} for i in range(1001)]
    tap.status(server.call("POST", "/v1/switches:import", {"switches": rows}), 422, "1001 are too many")
    many = must(server.call("POST", "/v1/switches:import", {"switches": rows[:1000]}), 200)
    tap.equal((many.json["created"], many.json["changed"]), (1000, 0), "1000 are not")
    rows[5]["ecn"] = False
    many = must(server.call("POST", "/v1/switches:import", {"switches": rows[:1000]}), 200)
    tap.equal((many.json["created"], many.json["changed"], many.json["unchanged"], rules(many.json["findings"])),
              (0, 1, 999, [("compat-switch-ecn", "warning")]), "only what differs is changed")
    tap.equal(len(all_pages(server, "/v1/switches?", 300)), 1001, "all are listed")
    must(server.put("/v1/switches/zz", {"pfc": True, "ecn": False}), 201)
    for size in (1, 1000):
        tap.equal([f["subject"] for f in all_pages(server, "/v1/findings?rule=compat-switch-ecn&", size)],
                  ["switch/s0005", "switch/zz"], f"findings behind the 1000th switch are found, {size} a page")
    must(server.call("DELETE", "/v1/switches/zz", headers={"If-Match": "*"}), 204)
    tap.status(server.call("DELETE", path, headers={"If-Match": '"1"'}), 412, "a stale DELETE is refused")
    tap.status(server.call("DELETE", path, headers={"If-Match": '"2"'}), 204, "a DELETE")
    tap.status(server.get(path), 404, "it is gone")
    tap.status(server.call("DELETE", path, headers={"If-Match": "*"}), 404, "twice is 404")
    tap.equal(must(server.put(path, {}), 201).etag, '"3"', "made anew it goes on counting")
    audit = server.get("/v1/audit?page_size=5").json["items"]
    tap.equal([a["action"] for a in audit[:2]], ["switch.put", "switch.delete"], "the audit tells")
    server.stop()
    server.start()
    tap.equal(must(server.get(path), 200).etag, '"3"', "a restart keeps them")


run([lists_hold_each_item_once, findings_follow_the_hardware, the_profiles_minimum_counts,
     lists_of_findings_are_paged_and_filtered, switches_have_revisions_and_whole_imports])
