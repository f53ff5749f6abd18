#!/usr/bin/env python3
"""Differences between revisions, and old revisions that come back."""
from lib import FABRIC, POLICY, fixture, must, run

A_POLICY = "/v1/tenants/a/policy"


def policy(**jobs):
    return {"qos_policy": jobs}


def three(server):
    """Revisions 1 (the fixture's), 2 and 3 of a's policy."""
    fixture_ = fixture(server)
    must(server.put(A_POLICY, policy(nlp_job={"priority": 3, "bw_guarantee": "50%"}), '"1"'), 200)
    must(server.put(A_POLICY, policy(cv_job={"priority": 2}), '"2"'), 200)
    return fixture_


def differences(tap, server):
    _, tokens = three(server)
    answer = must(server.get(A_POLICY + "/diff?from=1&to=2"), 200).json
    tap.equal(answer["patch"], [
        {"op": "remove", "path": "/qos_policy/cv_job"},
        {"op": "replace", "path": "/qos_policy/nlp_job/bw_guarantee", "value": "50%"}],
        "the difference is a JSON Patch")
    tap.ok('-      "bw_guarantee": "40%",' in answer["text"] and
           '+      "bw_guarantee": "50%",' in answer["text"] and
           "--- tenant/a/policy revision 1\n+++ tenant/a/policy revision 2\n" in answer["text"],
           "and text with old and new lines", answer["text"])
    headers = {"If-Match": "*", "Content-Type": "application/json-patch+json"}
    back = must(server.get(A_POLICY + "/diff?from=3&to=1"), 200).json
    must(server.call("PATCH", A_POLICY, back["patch"], headers), 200)
    tap.equal(server.get(A_POLICY).json, POLICY, "PATCH with the difference makes the other")
    now = must(server.get(A_POLICY + "/diff?from=current&to=1"), 200).json
    tap.ok(now["from"] == 4 and now["to"] == 1 and now["patch"] == [] and now["text"] == "",
           "current is a number too; what is equal has no difference", now)
    tap.equal(server.get(A_POLICY + "/diff?from=2").json["to"], 4, "to is the current one")
    for accept, kind in (("text/x-diff", "text/x-diff"), ("text/plain", "text/x-diff"),
                         ("text/*", "text/x-diff"), ("*/*", "application/json"),
                         ("application/json;q=0.1, text/x-diff;q=0.9", "text/x-diff"),
                         ("application/json, text/x-diff;q=0.9", "application/json"),
                         ("image/png", "application/json"), ("", "application/json"),
                         ("text/x-diff;q=0", "application/json")):
        text = server.get(A_POLICY + "/diff?from=1&to=2", headers={"Accept": accept})
        tap.ok(text.headers["Content-Type"].startswith(kind), f"Accept: {accept} gives {kind}",
               text.headers)
        if kind == "text/x-diff":
            tap.equal(text.body.decode(), answer["text"], "which is the same text")
    for query in ("", "?to=1", "?from=0", "?from=x", "?from=1&to=-1", "?from=01",
                  "?from=99999999999999999999"):
        tap.status(server.get(A_POLICY + "/diff" + query), 400, f"diff{query} is 400")
    for path in (A_POLICY + "/diff?from=9", A_POLICY + "/diff?from=1&to=9",
                 "/v1/tenants/b/policy/diff?from=current", "/v1/tenants/x/policy/diff?from=1"):
        tap.status(server.get(path), 404, f"{path} is 404")
    tap.status(server.get("/v1/tenants/b/policy/diff?from=1", token=tokens["tenant-user"]), 404,
               "another tenant's is 404")
    must(server.put("/v1/fabric", {"fabric_profile": dict(FABRIC["fabric_profile"],
                                                          mtu_bytes=4096)}, '"1"'), 200)
    fabric = must(server.get("/v1/fabric/diff?from=1"), 200).json
    tap.equal(fabric["patch"], [{"op": "replace", "path": "/fabric_profile/mtu_bytes",
                                 "value": 4096}], "the fabric profile has differences too")


def rollback(server, path, body, etag="*", **kw):
    headers = {"If-Match": etag} if etag else {}
    headers.update(kw.pop("headers", {}))
    return server.call("POST", path, body, headers, **kw)


def old_revisions(tap, server):
    _, tokens = three(server)
    path = A_POLICY + ":rollback"
    tap.status(rollback(server, path, {"revision": 1}, None), 428, "a rollback needs If-Match")
    tap.status(rollback(server, path, {"revision": 1}, '"2"'), 412, "which must be the current one")
    dry = rollback(server, path + "?dry_run=true", {"revision": 1}, '"3"')
    tap.ok(dry.status == 200 and dry.json["dry_run"] and dry.json["nodes_total"] == 1 and
           server.get(A_POLICY).etag == '"3"', "a rehearsal shows the nodes and stores nothing", dry)
    done = rollback(server, path, {"revision": 1, "message": "the new one was slow"}, '"3"',
                    token=tokens["tenant-admin"])
    tap.ok(done.status == 200 and done.etag == '"4"' and server.get(A_POLICY).json == POLICY,
           "the old document is a new revision", done)
    newest = server.get(A_POLICY + "/revisions").json["items"][0]
    tap.ok(newest["origin"] == "rollback:1" and newest["message"] == "the new one was slow" and
           newest["author"].startswith("token:") and newest["number"] == 4,
           "which says where it came from, who did it, and why", newest)
    tap.ok(rollback(server, path, {"revision": 1}).json.get("unchanged"),
           "what is in force already is not stored again")
    for body, code in (({"revision": 99}, "no-such-revision"), ({}, "policy-refused"),
                       ({"revision": 0}, "policy-refused"), ({"revision": "1"}, "policy-refused"),
                       ({"revision": 1, "mesage": "x"}, "policy-refused"),
                       ({"revision": 1, "message": "x" * 257}, "policy-refused")):
        answer = rollback(server, path, body)
        tap.ok(answer.status == 422 and answer.json["code"] == code and answer.json["errors"],
               f"{str(body)[:40]} is 422 {code}", answer)
    must(server.call("DELETE", A_POLICY, headers={"If-Match": "*"}), 200)
    tap.status(rollback(server, path, {"revision": 2}), 412, "a removed policy has no ETag")
    answer = rollback(server, path, {"revision": 2}, None, headers={"If-None-Match": "*"})
    tap.ok(answer.status == 201 and answer.etag == '"5"', "but can come back", answer)


def todays_rules(tap, server):
    fixture(server)
    loose = policy(cv_job={"priority": 2, "bw_limit": "60%", "demand": "90%"})
    query = "?override=bw-limit-floor&reason=measured"
    must(server.put(A_POLICY + query, loose, '"1"'), 200)
    must(server.put(A_POLICY, POLICY, '"2"'), 200)
    path = A_POLICY + ":rollback"
    answer = rollback(server, path, {"revision": 2})
    tap.ok(answer.status == 422 and answer.json["errors"][0]["rule"] == "bw-limit-floor",
           "what needed an override then needs one now", answer)
    tap.status(rollback(server, path + query, {"revision": 2}), 200, "and may have it")
    must(server.put(A_POLICY, POLICY, "*"), 200)
    must(server.put("/v1/fabric", {"fabric_profile": dict(FABRIC["fabric_profile"],
                                                          mtu_bytes=4096)}, "*"), 200)
    done = rollback(server, "/v1/fabric:rollback", {"revision": 1})
    tap.ok(done.status == 200 and server.get("/v1/fabric").json == FABRIC,
           "the fabric profile rolls back too", done)
    tap.equal(server.get("/v1/fabric/revisions").json["items"][0]["origin"], "rollback:1",
              "with its origin")


def former_tenant(tap, server):
    three(server)
    must(server.call("DELETE", "/v1/tenants/a", headers={"If-Match": "*"}), 200)
    must(server.put("/v1/tenants/a", {}), 201)
    heir = server.token("tenant-admin", "a")["token"]
    answer = rollback(server, A_POLICY + ":rollback", {"revision": 1}, None,
                      headers={"If-None-Match": "*"}, token=heir)
    tap.ok(answer.status == 422 and answer.json["code"] == "no-such-revision",
           "a former tenant's policy is not its heir's to bring back", answer)
    tap.status(server.get(A_POLICY + "/diff?from=1&to=2", token=heir), 404, "nor to read")


run([differences, old_revisions, todays_rules, former_tenant])
