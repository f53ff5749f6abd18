#!/usr/bin/env python3
"""Archives: out of one server, into another, whole or not at all; and operations."""
import json
import time

from lib import CALL_S, Agent, Server, fixture, must, planned, run


def wait(server, answer):
    must(answer, 202)
    end = time.monotonic() + CALL_S
    while True:
        operation = must(server.get(answer.json["location"]), 200).json
        if operation["state"] != "running":
            return operation
        if time.monotonic() > end:
            raise AssertionError(f"still {operation}")
        time.sleep(0.01)


def pointers(operation):
    return [e["pointer"] for e in operation["result"]["problem"]["errors"]]


STAGED = {"mode": "staged", "waves": [{"count": 1}], "soak": "0s"}


def bring(server, archive, query="", **kw):
    return server.call("POST", "/v1/import" + query, archive, **kw)


def there_and_back(tap, server):
    agent, _ = fixture(server)
    for i in range(3):
        must(server.put(f"/v1/tenants/a/placements/j{i}",
                        {"nodes": ["n1"], "match": {"dst": f"10.8.{i}.0/24"}}), 201)
    must(server.call("DELETE", "/v1/tenants/a/placements/j1", headers={"If-Match": "*"}), 200)
    must(server.put("/v1/tenants/b", {"quota": {"jobs_max": 4}}, "*"), 200)
    must(server.put("/v1/switches/leaf1", {"vendor": "acme", "pfc": True, "ecn": True}), 201)
    must(server.put("/v1/rollout-policy", STAGED), 201)
    out = must(server.get("/v1/export"), 200)
    archive = out.json
    tap.ok("attachment" in out.headers["Content-Disposition"] and
           archive["digest"].startswith("sha256:"), "an archive is a file with a digest", out)
    text = json.dumps(archive)
    tap.ok(server.admin not in text and agent.token not in text and "sa_" not in text and
           "st_" not in text and "token" not in text, "without any secret")
    tap.equal(archive["content"]["retired_labels"], [{"tenant": "a", "job": "j1", "label": 3}],
              "with the labels of jobs that may come back")
    other = Server(server.args).start()
    dry = must(bring(other, archive, "?dry_run=true"), 200).json
    tap.ok(dry["dry_run"] and dry["changed"] == 11 and "generation" not in dry and
           other.get("/v1/tenants").json["items"] == [] and
           other.get("/v1/operations").json["items"] == [],
           "a rehearsal counts the changes and stores nothing", dry)
    before = other.get("/v1/generations/current").json["generation"]
    operation = wait(other, bring(other, archive, "?reason=moved"))
    result = operation["result"]
    tap.ok(operation["state"] == "succeeded" and result["changed"] == 11 and
           operation["progress"] == {"done": 11, "total": 11}, "an empty server takes it in", operation)
    tap.equal(result["generation"], before + 1, "as one generation")
    again = must(other.get("/v1/export"), 200).json
    tap.ok(again["digest"] == archive["digest"] and again["content"] == archive["content"],
           "and gives the same archive back")
    for path in ("/v1/fabric", "/v1/tenants/a", "/v1/tenants/b", "/v1/tenants/a/policy",
                 "/v1/tenants/a/placements/nlp_job", "/v1/switches/leaf1", "/v1/rollout-policy"):
        a, b = server.get(path).json, other.get(path).json
        tap.ok({**a, "revision": 0, "etag": 0} == {**b, "revision": 0, "etag": 0},
               f"{path} is the same", (a, b))
    tap.equal(must(other.get("/v1/tenants/a/policy/revisions"), 200).json["items"][0]["origin"],
              "import", "revisions say where they came from")
    same = wait(other, bring(other, archive))
    tap.ok(same["result"]["changed"] == 0 and same["result"]["unchanged"] == 11 and
           "generation" not in same["result"] and
           other.get("/v1/generations/current").json["generation"] == before + 1,
           "the same again changes nothing", same)
    made = must(other.put("/v1/tenants/a/placements/j1", {"nodes": ["n1"],
                                                          "match": {"dst": "10.8.9.0/24"}}), 201)
    tap.equal(made.json["label"], 3, "a job that comes back has its old label there too")
    new = must(other.put("/v1/tenants/a/placements/new", {"nodes": ["n1"],
                                                          "match": {"dst": "10.8.8.0/24"}}), 201)
    tap.ok(new.json["label"] > 4, "and a new one none that was given", new)
    token = must(other.call("POST", "/v1/nodes/n1/token"), 201).json["token"]
    twin = Agent(other, "n1", token)
    twin.report()
    planned(other, "n1")
    tap.status(twin.fetch(wait="20s"), 200, "nodes get their plans")
    tap.ok(len(twin.plan["knobs"]) > 0, "with what is wanted of them")
    audit = [r["action"] for r in other.get("/v1/audit?page_size=1000").json["items"]]
    tap.ok("fleet.import" in audit and audit.count("tenant.put") == 2, "the audit tells of it", audit)
    tap.equal(other.stop(), 0, "the other server ends cleanly")
    other.start()
    tap.status(other.get("/v1/tenants/a/policy"), 200, "and has it after a restart")
    other.stop()
    other.remove()


def staging(tap, server):
    agent, _ = fixture(server)
    planned(server, "n1")
    agent.settle()
    must(server.put("/v1/rollout-policy", STAGED), 201)
    staged = must(server.get("/v1/export"), 200).json["content"]["rollout_policy"]
    must(server.call("PUT", "/v1/rollout-policy", {"mode": "direct"}, {"If-Match": "*"}), 200)
    archive = {"format": "stellar-export", "version": 1, "content": {"rollout_policy": staged}}
    wait(server, bring(server, archive))
    tap.equal(server.get("/v1/rollout-policy").json["mode"], "staged", "an archive begins staging")
    must(server.call("PUT", "/v1/tenants/a/policy", {"qos_policy": {"nlp_job": {"priority": 2}}},
                     {"If-Match": "*"}), 200)
    planned(server, "n1")
    tap.status(agent.fetch(), 204, "then nodes keep the plans that they have")
    tap.equal(server.get("/v1/nodes/n1").json["sync"], "held", "and are shown as held")
    archive["content"]["rollout_policy"] = {"mode": "direct"}
    wait(server, bring(server, archive))
    planned(server, "n1")
    tap.status(agent.fetch(), 200, "an archive that ends staging gives out what was held")
    archive["content"]["rollout_policy"] = {"mode": "slowly"}
    told = pointers(wait(server, bring(server, archive)))
    tap.ok("/content/rollout_policy/mode" in told, "a wrong rollout policy is refused at its place", told)
    archive["content"] = {"switches": [{"name": "s", "switch": {"pfc": 1}}, {"name": "s", "switch": {}}]}
    told = pointers(wait(server, bring(server, archive)))
    tap.ok({"/content/switches/0/switch/pfc", "/content/switches/1"} <= set(told), "so are switches", told)


def modes(tap, server):
    agent, tokens = fixture(server)
    archive = must(server.get("/v1/export"), 200).json
    must(server.put("/v1/switches/leaf2", {"vendor": "acme"}), 201)
    must(server.put("/v1/tenants/c", {}), 201)
    must(server.put("/v1/tenants/c/policy", {"qos_policy": {"x": {"priority": 2}}}), 201)
    must(server.put("/v1/tenants/c/placements/x", {"nodes": ["n1"],
                                                   "match": {"dst": "10.7.0.0/24"}}), 201)
    must(server.put("/v1/tenants/b/policy", {"qos_policy": {"x": {"priority": 2}}}), 201)
    server.node("n2")
    theirs = server.token("tenant-admin", "c")["token"]
    merged = wait(server, bring(server, archive, "?mode=merge"))
    tap.ok(merged["result"]["removed"] == 0 and server.get("/v1/tenants/c").status == 200,
           "a merge leaves what the archive does not have", merged)
    dry = must(bring(server, archive, "?mode=replace&dry_run=true"), 200).json
    tap.ok(dry["removed"] == 5 and server.get("/v1/tenants/c").status == 200,
           "a rehearsal says what would go", dry)
    replaced = wait(server, bring(server, archive, "?mode=replace"))
    tap.ok(replaced["state"] == "succeeded" and replaced["result"]["removed"] == 5,
           "a replacement removes it", replaced)
    for path in ("/v1/tenants/c", "/v1/tenants/c/policy", "/v1/tenants/c/placements/x",
                 "/v1/tenants/b/policy", "/v1/nodes/n2", "/v1/switches/leaf2"):
        tap.status(server.get(path), 404, f"{path} is gone")
    tap.status(server.get("/v1/tenants/c", token=theirs), 401, "with its tokens")
    tap.status(server.get("/v1/fabric", token=tokens["auditor"]), 200, "others stay")
    planned(server, "n1")
    tap.ok(agent.fetch().status in (200, 204), "and so does a node's that stayed")
    content = must(server.get("/v1/export"), 200).json["content"]
    labels = content.pop("retired_labels")
    archive["content"].pop("retired_labels")
    tap.ok(content == archive["content"] and [l["job"] for l in labels] == ["x"],
           "what is left is the archive; labels stay with their jobs", labels)


def refusals(tap, server):
    fixture(server)
    archive = must(server.get("/v1/export"), 200).json
    before = must(server.get("/v1/export"), 200).json["digest"]

    def with_(content, **more):
        return {"format": "stellar-export", "version": 1, "content": content, **more}

    for sentence, body, pointer in (
            ("a newer format", dict(archive, version=2), "/version"),
            ("another format", dict(archive, format="x"), "/format"),
            ("a changed content", dict(archive, content={"tenants": []}), "/digest"),
            ("no content", {"format": "stellar-export", "version": 1}, "/content"),
            ("an unknown part", with_({"users": []}), "/content/users"),
            ("an unknown member", with_({}, password="x"), "/password")):
        answer = bring(server, body)
        tap.ok(answer.status == 422 and answer.json["code"] == "import-refused" and
               pointer in [e["pointer"] for e in answer.json["errors"]], f"{sentence} is refused",
               answer)
    bad = with_({"fabric": {"fabric_profile": {"mtu_bytes": 9, "priorities": [{"priority": 0}]}},
                 "tenants": [{"name": "-x", "tenant": {}}, {"name": "d", "tenant": {"quta": {}}},
                             {"name": "e", "tenant": {}, "policy": {}}, {"name": "e", "tenant": {}}],
                 "nodes": [{"name": "n9"}, {"name": "n8", "node": {"labels": {"a b": "x"}}}],
                 "placements": [{"tenant": "e", "job": "j", "label": 0, "placement": {}}]})
    places = ("/content/fabric/fabric_profile/mtu_bytes", "/content/tenants/0/name",
              "/content/tenants/1/tenant/quta", "/content/tenants/2/policy/qos_policy",
              "/content/tenants/3", "/content/nodes/0/node", "/content/placements/0/label")
    for query in ("?dry_run=true", ""):
        answer = bring(server, bad, query)
        problem = answer.json if query else wait(server, answer)["result"]["problem"]
        found = [e["pointer"] for e in problem["errors"]]
        tap.ok(problem["code"] == "import-refused" and all(p in found for p in places),
               f"every problem at once ({query or 'operation'})", (found, problem))
    for sentence, content, pointer in (
            ("a label of another job", {"placements": [
                {"tenant": "a", "job": "z", "label": 1, "placement": {"nodes": ["n1"]}}]},
             "/content/placements/0"),
            ("another label of a job", {"placements": [
                {"tenant": "a", "job": "nlp_job", "label": 9, "placement": {"nodes": ["n1"]}}]},
             "/content/placements/0"),
            ("a tenant that is nowhere", {"tenants": [{"name": "new", "tenant": {}}], "placements": [
                {"tenant": "zz", "job": "z", "label": 7, "placement": {"nodes": ["n1"]}}]},
             "/content/placements/0")):
        operation = wait(server, bring(server, with_(content)))
        tap.ok(operation["state"] == "failed" and
               operation["result"]["problem"]["errors"][0]["pointer"] == pointer,
               f"{sentence} is refused", operation)
    floor = with_({"tenants": [{"name": "new", "tenant": {}, "policy": {"qos_policy": {
        "j": {"priority": 2, "bw_limit": "60%", "demand": "90%"}}}}]})
    answer = must(bring(server, floor, "?dry_run=true"), 422).json
    tap.equal(answer["errors"][0]["rule"], "bw-limit-floor", "the rules judge the whole")
    tap.status(bring(server, floor, "?override=bw-limit-floor"), 400, "an override needs a reason")
    tap.status(bring(server, floor, "?override=dscp-conflict&reason=x"), 400, "and a rule that may")
    tap.status(bring(server, floor, "?mode=mixed"), 400, "there are two modes")
    tap.equal(must(server.get("/v1/export"), 200).json["digest"], before,
              "nothing of all this was stored")
    tap.status(server.get("/v1/tenants/new"), 404, "nor shown")
    done = wait(server, bring(server, floor, "?override=bw-limit-floor&reason=measured"))
    tap.equal(done["state"], "succeeded", "an override is taken")


def operations(tap, server):
    fixture(server)
    archive = {"format": "stellar-export", "version": 1, "content": {
        "tenants": [{"name": f"t{i}", "tenant": {}} for i in range(3000)]}}
    key = {"Idempotency-Key": "once"}
    first = bring(server, archive, headers=key)
    again = bring(server, archive, headers=key)
    tap.ok(again.status == 202 and again.json.get("replayed") and
           again.json["operation"] == first.json["operation"], "a repetition is the same operation",
           again)
    operation = wait(server, first)
    tap.ok(operation["state"] == "succeeded" and operation["result"]["changed"] == 3000 and
           operation["progress"] == {"done": 3000, "total": 3000} and operation["finished"] and
           operation["actor"].startswith("token:"), "a long import ends well", operation)
    late = server.call("POST", first.json["location"] + ":cancel")
    tap.ok(late.status == 409 and late.json["code"] == "operation-finished",
           "what has ended cannot be cancelled", late)
    items = server.get("/v1/operations").json["items"]
    tap.equal([i["id"] for i in items], [first.json["operation"]], "operations are listed")
    for i in range(4):
        for tenant in archive["content"]["tenants"]:
            tenant["tenant"]["description"] = f"round {i}"
        started = must(bring(server, archive), 202)
        cancel = server.call("POST", started.json["location"] + ":cancel")
        ended = wait(server, started)
        now = server.get("/v1/tenants/t7").json.get("description")
        right = {202: ended["state"] == "cancelled" and now != f"round {i}",
                 409: ended["state"] == "succeeded" and now == f"round {i}"}
        tap.ok(right.get(cancel.status), "a cancelled import stores nothing, another everything",
               (cancel, ended, now))
    # So many documents that the wish to cancel comes while they are read; the last is wrong, so that
    # none is ever stored.
    many = [{"name": f"n{i}", "tenant": {}} for i in range(60000)] + [{"name": "-", "tenant": {}}]
    started = must(bring(server, {"format": "stellar-export", "version": 1,
                                  "content": {"tenants": many}}), 202)
    tap.status(server.call("POST", started.json["location"] + ":cancel"), 202,
               "what is being read can be cancelled")
    ended = wait(server, started)
    tap.ok(ended["state"] == "cancelled" and ended["progress"]["done"] < 60001 and
           ended["result"]["problem"]["code"] == "cancelled", "and then it ends as cancelled", ended)


def killed(tap, server):
    """A server that is killed in an import says so truthfully afterwards."""
    fixture(server)
    archive = {"format": "stellar-export", "version": 1, "content": {
        "tenants": [{"name": f"t{i}", "tenant": {}} for i in range(5000)]}}
    started = must(bring(server, archive), 202)
    server.kill()
    server.start()
    operation = must(server.get(started.json["location"]), 200).json
    count = len(server.get("/v1/tenants?page_size=1000").json["items"])
    tap.ok((operation["state"], count) in (("interrupted", 2), ("succeeded", 1000)),
           "interrupted and nothing stored, or stored whole", (operation, count))
    tap.ok(operation["finished"], "with the time of its end", operation)


run([there_and_back, staging, modes, refusals, operations, killed])
