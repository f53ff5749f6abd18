#!/usr/bin/env python3
"""If-Match, If-None-Match, dry runs, idempotency keys: who wins, and what is stored."""
import threading

from lib import CREATE, FABRIC, POLICY, fixture, must, run

OTHER = {"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": "30%"}}}


def documents(server):
    """(name, path, body, ETag now) of everything that is changed with a precondition."""
    fabric = {"fabric_profile": dict(FABRIC["fabric_profile"], mtu_bytes=4096)}
    for name, path, body in (
            ("fabric", "/v1/fabric", fabric), ("tenant", "/v1/tenants/a", {"description": "x"}),
            ("policy", "/v1/tenants/a/policy", OTHER),
            ("placement", "/v1/tenants/a/placements/nlp_job", {"nodes": ["n1", "n2"]}),
            ("node", "/v1/nodes/n1", {"labels": {"rack": "z"}})):
        yield name, path, body, server.get(path).etag


def every_document(tap, server):
    fixture(server)
    for name, path, body, etag in documents(server):
        bare = server.call("PUT", path, body)
        tap.ok(bare.status == 428 and bare.json["code"], f"{name}: no precondition is 428", bare)
        stale = server.call("PUT", path, body, {"If-Match": '"9999"'})
        tap.ok(stale.status == 412 and stale.etag == etag,
               f"{name}: a stale ETag is 412 with the current one", stale)
        weak = server.call("PUT", path, body, {"If-Match": "W/" + etag})
        tap.status(weak, 412, f"{name}: a weak ETag does not match")
        again = server.call("PUT", path, body, CREATE)
        tap.ok(again.status == 412 and again.etag == etag, f"{name}: creating what exists is 412",
               again)
        listed = server.call("PUT", path, body, {"If-Match": '"7777", ' + etag})
        tap.ok(listed.status == 200 and listed.etag != etag, f"{name}: one ETag of a list is enough",
               listed)
        tap.equal(server.get(path).etag, listed.etag, f"{name}: the answer's ETag is the next one")
        late = server.call("PUT", path, body, {"If-Match": etag})
        tap.status(late, 412, f"{name}: the old ETag is stale now, also for the same content")
    for name, path, _, etag in list(documents(server))[1:]:
        if name == "tenant":
            continue
        tap.status(server.call("DELETE", path), 428, f"{name}: DELETE needs a precondition")
        tap.status(server.call("DELETE", path, headers={"If-Match": '"9999"'}), 412,
                   f"{name}: DELETE with a stale ETag is 412")
        tap.status(server.call("DELETE", path, headers={"If-Match": etag}), 200,
                   f"{name}: DELETE with the right one works")
        tap.status(server.get(path), 404, f"{name}: then it is gone")
        tap.status(server.call("DELETE", path, headers={"If-Match": etag}), 404,
                   f"{name}: and cannot be removed twice")


def made_anew(tap, server):
    fixture(server)
    things = [d for d in documents(server) if d[0] != "fabric"]
    olds = {path: etag for _, path, _, etag in things}
    must(server.call("DELETE", "/v1/tenants/a", headers={"If-Match": "*"}), 200)
    must(server.call("DELETE", "/v1/nodes/n1", headers={"If-Match": "*"}), 200)
    for name, path, body, etag in things:
        must(server.put(path, body), 201)
        for method in ("PUT", "DELETE"):
            old = server.call(method, path, body if method == "PUT" else None, {"If-Match": etag})
            tap.ok(old.status == 412 and old.etag != olds[path],
                   f"{name} made anew: {method} with the ETag of the one before is 412", old)


def one_of_many_wins(tap, server):
    fixture(server)
    answers, lock = [], threading.Lock()

    def upload(i):
        body = {"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": f"{i + 1}%"}}}
        answer = server.call("PUT", "/v1/tenants/a/policy", body, {"If-Match": '"1"'})
        with lock:
            answers.append(answer)
        server.drop_connection()

    threads = [threading.Thread(target=upload, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    codes = sorted(a.status for a in answers)
    tap.equal(codes, [200] + [412] * 15, "of 16 writers with the same ETag one wins")
    tap.equal(server.get("/v1/tenants/a/policy").etag, '"2"', "there is one new revision")


def dry_run_stores_nothing(tap, server):
    fixture(server)
    before = server.get("/v1/generations/current").json, server.get("/v1/audit").body, \
        server.get("/v1/events").body
    for name, path, body, etag in documents(server):
        answer = server.call("PUT", path + "?dry_run=true", body, {"If-Match": etag})
        tap.ok(answer.status == 200 and answer.json["dry_run"] is True, f"{name}: dry run of a change",
               answer)
        stale = server.call("PUT", path + "?dry_run=true", body, {"If-Match": '"9999"'})
        tap.status(stale, 412, f"{name}: a dry run has the same preconditions")
    for path, body in (("/v1/tenants/c", {}), ("/v1/nodes/n7", {}),
                       ("/v1/tenants/a/placements/cv_job", {"nodes": ["n1"]}),
                       ("/v1/tenants/b/policy", POLICY)):
        answer = server.call("PUT", path + "?dry_run=1", body, CREATE)
        tap.ok(answer.status == 200 and answer.json["dry_run"] is True, f"{path}: dry run of making",
               answer)
        tap.status(server.get(path), 404, f"{path}: it is still not there")
    for path in ("/v1/tenants/a", "/v1/nodes/n1", "/v1/tenants/a/policy",
                 "/v1/tenants/a/placements/nlp_job"):
        answer = server.call("DELETE", path + "?dry_run=true", headers={"If-Match": "*"})
        tap.ok(answer.status == 200 and answer.json["dry_run"] is True,
               f"{path}: dry run of removing", answer)
        tap.status(server.get(path), 200, f"{path}: it is still there")
    bad = server.call("PUT", "/v1/tenants/a/policy?dry_run=true", {"qos_policy": {}},
                      {"If-Match": '"1"'})
    tap.status(bad, 422, "a dry run refuses what the write would refuse")
    tap.equal((server.get("/v1/generations/current").json, server.get("/v1/audit").body,
               server.get("/v1/events").body), before, "no generation, audit row or event is left")


def dry_run_shows_steps(tap, server):
    agent, _ = fixture(server)
    body = {"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": "50%"}}}
    answer = server.call("PUT", "/v1/tenants/a/policy?dry_run=true", body, {"If-Match": '"1"'}).json
    tap.equal(answer["nodes_total"], 1, "one node's plan would change")
    steps = answer["nodes"][0]["steps"]
    tap.ok(any(s["kind"] == "tc.class" and s.get("job") == "nlp_job" for s in steps),
           "the job's class is among the steps", steps)
    tap.equal(answer["jobs"], [{"tenant": "a", "job": "nlp_job"}], "the job that is hit is named")
    tap.ok(answer["disruption"] in ("none", "pause"), "the worst disruption is said", answer)
    same = server.call("PUT", "/v1/tenants/a/policy?dry_run=true", POLICY, {"If-Match": '"1"'}).json
    tap.ok(same["nodes_total"] == 0 and same.get("unchanged"), "the same policy changes no node", same)
    must(agent.fetch(), 204)
    tap.ok(True, "the agent was not told anything")


def idempotency(tap, server):
    fixture(server)
    key = {"Idempotency-Key": "k1"}
    first = server.call("POST", "/v1/tokens", {"role": "auditor"}, key)
    second = server.call("POST", "/v1/tokens", {"role": "auditor"}, key)
    tap.ok(first.status == second.status == 201 and first.json["id"] == second.json["id"],
           "a repeated POST makes one token", second)
    tap.ok("token" in first.json and "token" not in second.json and second.json["replayed"],
           "the repetition does not show the secret again", second)
    other = server.call("POST", "/v1/tokens", {"role": "operator"}, key)
    tap.ok(other.status == 422, "the same key for another body is 422", other)
    count = len(server.get("/v1/tokens").json["items"])
    threads = [threading.Thread(target=lambda: (server.call(
        "POST", "/v1/tokens", {"role": "auditor"}, {"Idempotency-Key": "k2"}),
        server.drop_connection())) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    tap.equal(len(server.get("/v1/tokens").json["items"]), count + 1,
              "eight at once with one key make one token")
    one = server.call("POST", "/v1/nodes/n1/token", headers={"Idempotency-Key": "k3"})
    two = server.call("POST", "/v1/nodes/n1/token", headers={"Idempotency-Key": "k3"})
    tap.ok(one.status == 201 and two.status == 201 and "token" not in two.json,
           "an agent's token is made once", two)
    tap.status(server.get("/v1/agent/plan", token=one.json["token"]), 200, "and works")
    auditor = first.json["token"]
    clash = server.call("POST", "/v1/tokens", {"role": "auditor"}, key, token=auditor)
    tap.ok(must(clash, 201).json["id"] != first.json["id"] and "replayed" not in clash.json,
           "another caller cannot use the key to learn the answer", clash)
    archive = must(server.get("/v1/export"), 200).json
    must(server.call("POST", "/v1/import?mode=merge", archive, {"Idempotency-Key": "k4"}), 202)
    other = server.call("POST", "/v1/import?mode=replace", archive, {"Idempotency-Key": "k4"})
    tap.ok(other.status == 422 and other.json["code"] == "idempotency-key-reused",
           "the same key with another query is no repetition", other)


def token_pages(tap, server):
    fixture(server)
    made = {must(server.call("POST", "/v1/tokens", {"role": "auditor"}), 201).json["id"]
            for _ in range(9)}
    whole = [t["id"] for t in server.get("/v1/tokens").json["items"]]
    pages, after = [], ""
    while True:
        page = server.get("/v1/tokens?page_size=4" + after).json
        pages.append([t["id"] for t in page["items"]])
        if "next_page_token" not in page:
            break
        after = "&page_token=" + page["next_page_token"]
    tap.ok(made <= set(whole) and whole == sorted(whole), "tokens are listed by id", whole)
    tap.equal(sum(pages, []), whole, "pages list every token once, in order")
    tap.ok(len(pages) > 2 and all(len(p) == 4 for p in pages[:-1]), "pages are as long as asked",
           pages)
    tap.status(server.get("/v1/tokens/" + max(made)), 200, "and each is found by its id")


def bad_parameters(tap, server):
    fixture(server)
    for path in ("/v1/tenants?page_size=0", "/v1/tenants?page_size=1001", "/v1/tenants?page_size=x",
                 "/v1/tenants?page_token=zz", "/v1/tenants?page_token=6", "/v1/nodes?page_size=-1",
                 "/v1/events?after=-1", "/v1/events?after=x", "/v1/generations/current?wait=x",
                 "/v1/generations/current?wait=applied&timeout=9d",
                 "/v1/generations/current?wait=applied&timeout=101s"):
        answer = server.get(path)
        tap.ok(answer.status == 400 and answer.json["code"], f"{path} is 400", answer)
    for path in ("/v1/fabric/revisions/0", "/v1/fabric/revisions/x", "/v1/generations/-1",
                 "/v1/generations/1x", "/v1/nodes/" + "n" * 300):
        tap.status(server.get(path), 404, f"{path[:40]} is 404")
    for name in ("-x", "a" * 64, "a%20b", "%C3%A4", "a%3Bb"):
        tap.status(server.put(f"/v1/tenants/{name}", {}), 422, f"'{name[:12]}' is no name")
    tap.status(server.put("/v1/tenants/" + "a" * 63, {}), 201, "63 letters are a name")
    tap.status(server.put("/v1/tenants/c", {"name": "d"}), 422, "a document cannot rename its thing")


if __name__ == "__main__":
    run([every_document, made_anew, one_of_many_wins, dry_run_stores_nothing, dry_run_shows_steps, idempotency,
         token_pages, bad_parameters])
