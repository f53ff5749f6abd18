#!/usr/bin/env python3
"""Hostile policies and hostile JSON: the verdict, nothing stored, the server alive after each."""
import json
import os

from lib import CREATE, FABRIC, POLICY, fixture, must, run

# 01 is the document that must be accepted; the others say what refuses them.
POLICIES = {
    "p01_seed_example.json": (200, None),
    "p02_percent_with_space.json": (422, "schema"),
    "p03_fraction_number.json": (422, "schema"),
    "p04_integer_percent.json": (422, "schema"),
    "p05_fullwidth_percent.json": (422, "schema"),
    "p06_priority_negative.json": (422, "priority-range"),
    "p07_priority_8.json": (422, "priority-range"),
    "p08_priority_string.json": (422, "schema"),
    "p09_guarantee_sum_over_100.json": (422, "guarantee-sum"),
    "p10_limit_below_guarantee.json": (422, "limit-below-guarantee"),
    "p11_limit_below_floor.json": (422, "bw-limit-floor"),
    "p12_unknown_field.json": (422, "schema"),
    "p13_duplicate_job.json": (400, None),
    "p14_empty_policy.json": (422, "schema"),
    "p15_null_values.json": (422, "schema"),
    "p16_job_name_sql.json": (422, "schema"),
    "p17_job_name_long.json": (422, "schema"),
    "p18_zero_guarantee.json": (422, "schema"),
}
# Legal JSON texts; as a policy they are still refused, by the reader of policies (422). Everything else
# is refused by the JSON parser (400).
LEGAL_OBJECTS = {"jts_y_object_empty_key.json", "jts_y_object_extreme_numbers.json"}
LEGAL_ARRAYS = {"jts_y_string_accepted_surrogate_pair.json",
                "jts_y_string_backslash_and_u_escaped_zero.json",
                "jts_y_string_unicode_U+200B_ZERO_WIDTH_SPACE.json"}


def folder(server, name):
    return os.path.join(server.args.srcdir, "tests", "data", name)


def snapshot(server):
    """What must not move when an upload is refused."""
    return (server.get("/v1/tenants/a/policy").body, server.get("/v1/tenants/a/policy").etag,
            server.get("/v1/tenants/a/policy/revisions").body,
            server.get("/v1/generations/current").json["generation"],
            server.get("/v1/audit?page_size=1").body)


def upload(server, body):
    etag = server.get("/v1/tenants/a/policy").etag
    return server.call("PUT", "/v1/tenants/a/policy", body, {"If-Match": etag})


def hostile_policies(tap, server):
    fixture(server)
    before = snapshot(server)
    path = folder(server, "hostile-policy")
    files = sorted(f for f in os.listdir(path) if f.endswith(".json"))
    tap.equal(files, sorted(POLICIES), "each policy of the collection has a verdict")
    for name in files:
        wanted, rule = POLICIES[name]
        with open(os.path.join(path, name), "rb") as f:
            body = f.read()
        answer = upload(server, body)
        tap.status(answer, wanted, f"{name} is answered with {wanted}")
        problem = answer.json
        if rule:
            tap.ok(problem["code"] == "policy-refused" and
                   any(e["rule"] == rule for e in problem["errors"]),
                   f"{name} is refused by {rule}", answer)
            tap.ok(all(e.get("message") for e in problem["errors"]), f"{name}: each error says why")
        dry = server.call("POST", "/v1/tenants/a/policy:validate", body)
        if wanted == 400:
            tap.status(dry, 400, f"{name} is no JSON for validate either")
        else:
            tap.equal(dry.json["valid"], wanted == 200, f"{name}: validate says the same")
        tap.ok(snapshot(server) == before and server.proc.poll() is None,
               f"{name}: nothing stored, server alive", snapshot(server))


def hostile_json(tap, server):
    fixture(server)
    before = snapshot(server)
    path = folder(server, "hostile-json")
    files = sorted(f for f in os.listdir(path) if f.endswith(".json"))
    for name in files:
        with open(os.path.join(path, name), "rb") as f:
            text = f.read()
        answer = upload(server, text)
        tap.status(answer, 422 if name in LEGAL_OBJECTS else 400, f"{name} as a policy")
        # The same inside a policy, so that it is its own fault that counts and not the missing object.
        inside = b'{"qos_policy":{"j":{"priority":3,"tensor_classes":' + text + b'}}}'
        answer = upload(server, inside)
        legal = name in LEGAL_OBJECTS | LEGAL_ARRAYS or name == "jts_y_structure_lonely_int.json"
        tap.status(answer, 422 if legal else 400, f"{name} inside a policy")
        if not legal and answer.status == 400:
            tap.ok("line" in answer.json["detail"] or "deep" in answer.json["detail"],
                   f"{name}: the answer says where", answer)
        tap.ok(snapshot(server) == before and server.proc.poll() is None,
               f"{name}: nothing stored, server alive")


def legal_text_round_trips(tap, server):
    must(server.put("/v1/fabric", FABRIC), 201)
    for i, text in enumerate((b'"\\ud801\\udc37"', b'"\\\\u0000"')):
        must(server.call("PUT", f"/v1/tenants/t{i}", b'{"description":' + text + b'}', CREATE), 201)
        tap.equal(server.get(f"/v1/tenants/t{i}").json["description"], json.loads(text),
                  f"{text.decode()} comes back as it was sent")
    for bad in ("\u200b", "a\u202eb", "\u0000", "\u007f"):
        tap.status(server.call("PUT", "/v1/tenants/t9", {"description": bad}, CREATE),
                   400 if bad == "\u0000" else 422, f"hidden character {bad!r} is refused")


def uploads(tap, server):
    fixture(server)
    url = "/v1/tenants/b/policy"
    made = server.put(url, POLICY)
    tap.ok(made.status == 201 and made.etag == '"1"' and made.headers["Location"] == url,
           "the seed document is accepted and made", made)
    tap.equal(made.json["revision"], 1, "it is revision 1")
    tap.ok(set(made.json) >= {"findings", "enforcement", "generation"},
           "findings, enforcement and generation come with it", made)
    same = server.put(url, POLICY, '"1"')
    tap.ok(same.status == 200 and same.json.get("unchanged") is True and same.etag == '"1"',
           "the same document again makes no revision", same)
    tap.equal(len(server.get(url + "/revisions").json["items"]), 1, "and none is listed")
    changed = {"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": "10%"}}}
    tap.status(server.put(url, changed, '"1"'), 200, "a change is taken")
    tap.equal(server.get(url).json, changed, "and comes back")
    tap.equal(server.get(url + "/revisions/1").json["document"], POLICY, "revision 1 is as it was")
    got = server.get(url, headers={"If-None-Match": '"2"'})
    tap.ok(got.status == 304 and got.body == b"", "an unchanged policy is 304", got)
    gone = server.call("DELETE", url, headers={"If-Match": '"2"'})
    tap.status(gone, 200, "it can be removed")
    tap.status(server.get(url), 404, "then there is none")
    back = server.put(url, POLICY)
    tap.ok(back.status == 201 and back.json["revision"] == 3, "a revision number never repeats", back)
    tap.status(server.put("/v1/tenants/nobody/policy", POLICY), 404, "no tenant, no policy")


def many_problems_at_once(tap, server):
    fixture(server)
    answer = upload(server, {"qos_policy": {"j1": {"priority": 9}, "j2": {"priority": 3, "x": 1},
                                            "j3": {"priority": 1, "bw_limit": "0%"}}})
    pointers = {e["pointer"] for e in answer.json["errors"]}
    tap.ok({"/qos_policy/j1/priority", "/qos_policy/j2/x", "/qos_policy/j3/bw_limit"} <= pointers,
           "all problems come at once with their pointers", answer)


def override(tap, server):
    fixture(server)
    body = {"qos_policy": {"cv_job": {"priority": 2, "bw_limit": "60%", "demand": "90%"}}}
    url, head = "/v1/tenants/a/policy", {"If-Match": '"1"'}
    query = "?override=bw-limit-floor&reason=measured"
    tap.status(server.call("PUT", url + "?override=bw-limit-floor", body, head), 400,
               "an override without a reason is refused")
    tap.status(server.call("PUT", url + "?override=guarantee-sum&reason=x", body, head), 400,
               "only the floor can be overridden")
    worse = {"qos_policy": {"cv_job": {"priority": 2, "bw_limit": "60%", "demand": "90%",
                                       "bw_guarantee": "70%"}}}
    tap.status(server.call("PUT", url + query, worse, head), 422,
               "an override leaves the other rules in force")
    tap.status(server.call("PUT", url + query, body, head), 200, "an admin overrides the floor")
    row = server.get("/v1/audit?page_size=1").json["items"][0]
    tap.equal((row["action"], row["reason"]), ("policy.put", "measured"),
              "the audit keeps the reason")


if __name__ == "__main__":
    run([hostile_policies, hostile_json, legal_text_round_trips, uploads, many_problems_at_once,
         override])
