#!/usr/bin/env python3
"""PATCH: both kinds of patch on every document; what it needs, what it refuses, who wins."""
import threading

from lib import FABRIC, POLICY, fixture, must, run

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
A_POLICY = "/v1/tenants/a/policy"


def patch(server, path, body, etag="*", kind=None, **kw):
    kind = kind or (JSON_PATCH if isinstance(body, list) else MERGE_PATCH)
    headers = {"Content-Type": kind}
    if etag:
        headers["If-Match"] = etag
    headers.update(kw.pop("headers", {}))
    return server.call("PATCH", path, body, headers, **kw)


def placed(document):
    return document.get("placement", document)


def every_document(tap, server):
    fixture(server)
    for path, merge, ops, wanted in (
            ("/v1/fabric", {"fabric_profile": {"mtu_bytes": 4096}},
             [{"op": "replace", "path": "/fabric_profile/mtu_bytes", "value": 2048}],
             lambda d: d["fabric_profile"]["mtu_bytes"]),
            ("/v1/tenants/a", {"description": 4096}, None, None),
            ("/v1/tenants/a", {"quota": {"jobs_max": 4096}},
             [{"op": "replace", "path": "/quota/jobs_max", "value": 2048}],
             lambda d: d["quota"]["jobs_max"]),
            (A_POLICY, {"qos_policy": {"nlp_job": {"description": "4096"}}},
             [{"op": "replace", "path": "/qos_policy/nlp_job/description", "value": "2048"}],
             lambda d: int(d["qos_policy"]["nlp_job"]["description"])),
            ("/v1/tenants/a/placements/nlp_job", {"match": {"ip_proto": "udp", "dst_port": 4096}},
             [{"op": "replace", "path": "/match/dst_port", "value": 2048}],
             lambda d: d["match"]["dst_port"]),
            ("/v1/nodes/n1", {"labels": {"x": "4096"}},
             [{"op": "add", "path": "/labels/x", "value": "2048"}],
             lambda d: int(d["labels"]["x"]))):
        if wanted is None:
            bad = patch(server, path, merge)
            tap.ok(bad.status == 422 and bad.json["code"] == "tenant-refused" and
                   bad.json["errors"][0]["pointer"] == "/description",
                   "the result is read like an upload, with every problem's place", bad)
            continue
        etag = server.get(path).etag
        tap.status(patch(server, path, merge, None), 428, f"{path}: PATCH needs If-Match")
        tap.status(patch(server, path, merge, None, headers={"If-None-Match": "*"}), 428,
                   f"{path}: If-None-Match is none for a PATCH")
        stale = patch(server, path, merge, '"9999"')
        tap.ok(stale.status == 412 and stale.etag == etag, f"{path}: a stale ETag is 412", stale)
        dry = patch(server, path + "?dry_run=true", merge, etag)
        tap.ok(dry.status == 200 and dry.json["dry_run"] and server.get(path).etag == etag,
               f"{path}: a rehearsal stores nothing", dry)
        done = patch(server, path, merge, etag)
        now = server.get(path)
        tap.ok(done.status == 200 and done.etag == now.etag != etag and
               wanted(placed(now.json)) == 4096, f"{path}: a merge patch changes it", (done, now))
        again = patch(server, path, merge, done.etag)
        tap.ok(again.status == 200 and again.json.get("unchanged"),
               f"{path}: the same again changes nothing", again)
        done = patch(server, path, ops, done.etag)
        now = server.get(path)
        tap.ok(done.status == 200 and wanted(placed(now.json)) == 2048,
               f"{path}: so does a JSON Patch", (done, now))


def what_is_refused(tap, server):
    _, tokens = fixture(server)
    before = server.get(A_POLICY)
    for kind in (None, "application/json", "text/plain", JSON_PATCH + "; charset=latin1"):
        headers = {"If-Match": "*", "Content-Type": kind or "x/y"}
        answer = server.call("PATCH", A_POLICY, {}, headers)
        tap.ok(answer.status == 415 and JSON_PATCH in answer.headers.get("Accept-Patch", "") and
               MERGE_PATCH in answer.json["detail"], f"Content-Type {kind} is 415 and names both",
               answer)
    options = server.call("OPTIONS", A_POLICY)
    tap.ok("PATCH" in options.headers["Allow"] and MERGE_PATCH in options.headers["Accept-Patch"],
           "OPTIONS says which patches there are", options.headers)
    for body, pointer in (
            ([{"op": "test", "path": "/qos_policy/nlp_job/priority", "value": 4}], "/0/value"),
            ([{"op": "test", "path": "/qos_policy/nlp_job/priority", "value": 3},
              {"op": "remove", "path": "/nothing"}], "/1/path"),
            ([{"op": "spam", "path": ""}], "/0/op"),
            ([{"op": "add", "path": "/x"}], "/0/value")):
        answer = patch(server, A_POLICY, body)
        tap.ok(answer.status == 422 and answer.json["code"] == "patch-failed" and
               answer.json["errors"][0]["pointer"] == pointer, f"422 points at {pointer}", answer)
    answer = patch(server, A_POLICY, {"op": "add"}, kind=JSON_PATCH)
    tap.ok(answer.status == 422 and answer.json["code"] == "patch-failed",
           "an object is no JSON Patch", answer)
    many = [{"op": "test", "path": "", "value": POLICY}] * 1001
    answer = patch(server, A_POLICY, many)
    tap.ok(answer.status == 422 and "1000" in answer.json["detail"], "1001 operations are too many",
           answer)
    tap.status(patch(server, A_POLICY, many[:1000]), 200, "1000 are not")
    answer = patch(server, A_POLICY, b"[{]")
    tap.ok(answer.status == 400 and answer.json["code"] == "invalid-json", "no JSON is 400", answer)
    answer = patch(server, A_POLICY, [1])
    tap.status(patch(server, A_POLICY, "x"), 422, "a text as the new document is refused")
    grown = patch(server, A_POLICY, [{"op": "copy", "from": "", "path": "/qos_policy/x"}])
    tap.ok(grown.status == 422 and grown.json["code"] == "policy-refused",
           "a document within itself is no policy", grown)
    floor = patch(server, A_POLICY, {"qos_policy": {"cv_job": {"demand": "90%"}}})
    tap.ok(floor.status == 422 and floor.json["errors"][0]["rule"] == "bw-limit-floor",
           "the rules judge the result", floor)
    query = "?override=bw-limit-floor&reason=measured"
    tap.equal(server.get(A_POLICY).body, before.body, "nothing of this was stored")
    tap.status(patch(server, A_POLICY + query, {"qos_policy": {"cv_job": {"demand": "90%"}}}), 200,
               "an admin may override")
    for path in ("/v1/tenants/b/policy", "/v1/tenants/b/placements/x", "/v1/nodes/n7",
                 "/v1/tenants/nobody", "/v1/tenants/nobody/policy"):
        tap.status(patch(server, path, {}), 404, f"{path}: what is not there cannot be patched")
    tap.status(patch(server, "/v1/tenants/b/policy", {}, token=tokens["tenant-admin"]), 404,
               "nor what is another tenant's")
    own = patch(server, A_POLICY, {"qos_policy": {"cv_job": None}}, token=tokens["tenant-admin"])
    tap.status(own, 200, "a tenant's admin patches its own policy")
    newest = server.get(A_POLICY + "/revisions").json["items"][0]
    tap.ok(newest["origin"] == "patch" and newest["author"].startswith("token:"),
           "the revision says that it was a patch, and whose", newest)


def many_at_once(tap, server):
    """Without an ETag of theirs (If-Match: *) no change is lost: each patches what the last left."""
    fixture(server)
    answers = []

    def one(i):
        answers.append(patch(server, "/v1/nodes/n1", {"labels": {f"k{i}": "v"}}).status)
        server.drop_connection()

    threads = [threading.Thread(target=one, args=(i,)) for i in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    labels = server.get("/v1/nodes/n1").json["labels"]
    tap.equal(answers, [200] * 20, "twenty patches at once are all stored")
    tap.ok(all(f"k{i}" in labels for i in range(20)), "and none undoes another", labels)
    etag = server.get("/v1/fabric").etag
    results = []

    def race(i):
        results.append(patch(server, "/v1/fabric", {"fabric_profile": {"mtu_bytes": 2000 + i}},
                             etag).status)
        server.drop_connection()

    threads = [threading.Thread(target=race, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    tap.equal(sorted(results), [200] + [412] * 7, "with one ETag one of eight wins")
    must(server.put("/v1/fabric", FABRIC, "*"), 200)


run([every_document, what_is_refused, many_at_once])
