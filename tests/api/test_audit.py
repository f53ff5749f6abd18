#!/usr/bin/env python3
"""The audit: what a row says, which rows are found, whether the chain is whole, who has answered."""
import os
import sqlite3
import threading
import time

from lib import CALL_S, POLICY, Agent, fixture, must, planned, run


def rows(server, query="", **kw):
    return must(server.get("/v1/audit" + query, **kw), 200).json["items"]


def denied(server, count, query="?action=request.denied", **kw):
    """Rows of refused calls, which come soon after the answers."""
    end = time.monotonic() + CALL_S
    while len(got := rows(server, query + "&page_size=1000", **kw)) < count and \
            time.monotonic() < end:
        time.sleep(0.01)
    return got


def what_a_row_says(tap, server):
    must(server.put("/v1/tenants/a", {"description": "one"}), 201)
    must(server.put("/v1/tenants/a", {"description": "two"}, '"1"'), 200)
    row = rows(server)[0]
    tap.ok(row["before"]["document"] == {"description": "one"} and row["before"]["revision"] == 1 and
           row["after"]["document"] == {"description": "two"} and row["after"]["revision"] == 2 and
           row["before"]["digest"] != row["after"]["digest"], "a tenant's documents are kept", row)
    tap.equal(row["generation"], 2, "with the generation that the change became")
    policy = must(server.put("/v1/tenants/a/policy", POLICY), 201)
    row = rows(server)[0]
    tap.ok("before" not in row and row["after"]["revision"] == 1 and "document" not in row["after"]
           and row["request_id"] == policy.headers["X-Request-Id"],
           "a policy is named by its revision", row)
    must(server.put("/v1/nodes/n1", {"labels": {"rack": "a"}}), 201)
    must(server.put("/v1/nodes/n1", {"labels": {"rack": "b"}}, '"1"'), 200)
    row = rows(server)[0]
    tap.equal([row[k]["document"] for k in ("before", "after")],
              [{"labels": {"rack": "a"}}, {"labels": {"rack": "b"}}], "a node's are kept")
    place = {"nodes": ["n1"], "match": {"dst": "10.9.1.0/24"}}
    etag = must(server.put("/v1/tenants/a/placements/nlp_job", place), 201).etag
    must(server.call("DELETE", "/v1/tenants/a/placements/nlp_job?reason=moved",
                     headers={"If-Match": etag}), 200)
    row = rows(server)[0]
    tap.ok(row["before"]["document"] == place and "after" not in row and row["reason"] == "moved",
           "a placement that went is kept", row)
    made = server.token("auditor")
    row = rows(server)[0]
    tap.ok(row["action"] == "token.post" and row["after"]["role"] == "auditor" and
           row["after"]["id"] == made["id"] and made["token"] not in str(row),
           "a token's row says what it may, never the token", row)


def which_rows_are_found(tap, server):
    _, tokens = fixture(server)
    everything = rows(server)
    for query, fits in (("action=tenant.put", lambda r: r["action"] == "tenant.put"),
                        ("actor=stellard", lambda r: r["actor"] == "stellard"),
                        ("subject=tenant/a", lambda r: r["subject"].split("/")[:2] == ["tenant", "a"]),
                        (f"request_id={everything[3]['request_id']}",
                         lambda r: r.get("request_id") == everything[3]["request_id"]),
                        (f"since={everything[4]['time']}", lambda r: r["id"] >= everything[4]["id"]),
                        (f"until={everything[4]['time']}", lambda r: r["id"] < everything[4]["id"]),
                        ("since=2999-01-01T00:00:00Z", lambda r: False)):
        wanted = [r["id"] for r in everything if fits(r)]
        tap.equal([r["id"] for r in rows(server, "?" + query)], wanted, f"?{query[:30]}")
    own = rows(server, "?subject=tenant/b", token=tokens["tenant-admin"])
    tap.equal(own, [], "a tenant does not find another's")
    page = must(server.get("/v1/audit?action=tenant.put&page_size=1"), 200).json
    rest = rows(server, f"?action=tenant.put&page_size=1&page_token={page['next_page_token']}")
    tap.ok(page["items"][0]["subject"] == "tenant/b" and rest[0]["subject"] == "tenant/a",
           "filters and pages go together", (page, rest))
    for bad in ("2026-01-01", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00+01:00", "1", ""):
        tap.status(server.get(f"/v1/audit?since={bad.replace('+', '%2B')}"), 400,
                   f"since={bad} is refused")


def is_the_chain_whole(tap, server):
    for i in range(5):
        must(server.put(f"/v1/tenants/t{i}", {}), 201)
    first = must(server.get("/v1/audit:verify"), 200).json
    tap.ok(first["valid"] and first["rows"] == first["head"]["id"] == 6 and
           first["head"]["hash"] == rows(server)[0]["hash"], "an untouched log is whole", first)
    stop, statuses = threading.Event(), set()

    def write():
        i = 0
        while not stop.is_set():
            statuses.add(server.put(f"/v1/tenants/w{i}", {}).status)
            i += 1
        server.drop_connection()

    writer = threading.Thread(target=write)
    writer.start()
    under_load = [server.get("/v1/audit:verify").json["valid"] for _ in range(20)]
    stop.set()
    writer.join()
    tap.ok(all(under_load) and statuses == {201}, "and while it grows", (under_load, statuses))
    anchor = must(server.get(f"/v1/audit:verify?anchor={first['anchor_next']}"), 200).json
    tap.ok(anchor["valid"] and anchor["anchor"] == {"id": 6, "found": True},
           "what was its end is still in it", anchor)
    other = f"6:sha256:{'0' * 64}"
    answer = must(server.get(f"/v1/audit:verify?anchor={other}"), 200).json
    tap.ok(not answer["valid"] and not answer["anchor"]["found"], "another hash is not", answer)
    for bad in ("6", "6:", "x:sha256:" + "0" * 64, "0:sha256:" + "0" * 64, "6:sha256:" + "0" * 63,
                "6:sha256:" + "g" * 64, "6:md5___:" + "0" * 64, "9" * 30 + ":sha256:" + "0" * 64):
        tap.status(server.get(f"/v1/audit:verify?anchor={bad}"), 400, f"anchor={bad[:12]} is none")

    def changed(sql):
        server.stop()
        with sqlite3.connect(os.path.join(server.data, "stellar.db")) as db:
            db.execute(sql)
        db.close()
        server.start()
        return must(server.get(f"/v1/audit:verify?anchor={first['anchor_next']}"), 200).json

    cut = changed("DELETE FROM audit WHERE id > 4")
    tap.ok(not cut["valid"] and "first_bad" not in cut and not cut["anchor"]["found"] and
           cut["rows"] == 4, "a cut end shows against the anchor", cut)
    bad = changed("UPDATE audit SET actor = 'somebody' WHERE id = 3")
    tap.ok(not bad["valid"] and bad["first_bad"] == {"id": 3, "problem": "the row was changed"} and
           bad["rows"] == 2, "a changed row is named", bad)
    gone = changed("DELETE FROM audit WHERE id = 3")
    tap.equal(gone["first_bad"], {"id": 3, "problem": "the row is missing"}, "a missing one too")


def who_has_answered(tap, server):
    agent, _ = fixture(server)
    must(agent.receipt(), 201)
    row = next(r for r in rows(server) if r["action"] == "placement.put")
    path = f"/v1/audit/{row['id']}/receipts"
    got = must(server.get(path), 200).json
    tap.ok(got["audit"]["id"] == row["id"] and [(i["node"], i["result"], i["equal"]) for i in
           got["items"]] == [("n1", "applied", True)], "the node that applied it", got)
    second = Agent(server, "n0", server.node("n0"))
    second.report()
    planned(server, "n0")
    must(second.fetch(), 200)
    must(second.receipt(), 201)
    got = must(server.get(path), 200).json
    tap.equal([i["node"] for i in got["items"]], ["n0", "n1"], "each node once, by name")
    page = must(server.get(path + "?page_size=1"), 200).json
    rest = must(server.get(f"{path}?page_size=1&page_token={page['next_page_token']}"), 200).json
    tap.equal([page["items"][0]["node"], rest["items"][0]["node"]], ["n0", "n1"], "in pages")
    newest = rows(server, "?action=node.put")[0]
    later = must(server.get(f"/v1/audit/{newest['id']}/receipts"), 200).json
    tap.ok(all(i["generation"] >= newest["generation"] for i in later["items"]),
           "older answers are not answers to it", later)
    token = rows(server, "?action=node.token")[0]
    tap.equal(must(server.get(f"/v1/audit/{token['id']}/receipts"), 200).json["items"], [],
              "nobody answers to a token")
    for bad in ("0", "999", "x", "-1"):
        tap.status(server.get(f"/v1/audit/{bad}/receipts"), 404, f"row {bad} is not there")


def a_person_is_named_with_the_token(tap, server):
    must(server.put("/v1/tenants/a", {}), 201)
    server.user("ann", "operator")
    server.user("eve@a", "tenant-admin")
    ann, eve = server.login("ann"), server.login("eve@a")
    by = {n: must(server.call("POST", "/v1/tokens", {"role": r}, token=t), 201).json
          for n, r, t in (("ann", "operator", ann), ("eve@a", "tenant-admin", eve))}
    must(server.put("/v1/tenants/a/policy", POLICY, token=by["ann"]["token"]), 201)
    tap.equal(server.get("/v1/tenants/a/policy/revisions").json["items"][0]["author"],
              f"token:{by['ann']['id']} user:ann", "a revision names the token and the person who made it")
    must(server.put("/v1/tenants/a", {"description": "x"}, '"1"', token=ann), 200)
    must(server.call("DELETE", "/v1/tenants/a/policy", headers={"If-Match": '"1"'},
                     token=by["eve@a"]["token"]), 200)
    must(server.put("/v1/fabric", {}, token=by["eve@a"]["token"]), 403)
    denied(server, 1)

    def shown(query, **kw):
        return [(r["action"], r["actor"], r.get("user")) for r in rows(server, query, **kw)]

    tap.equal(shown("?subject=tenant/a&action=policy.put"),
              [("policy.put", f"token:{by['ann']['id']}", "ann")],
              "what a person's token did names the token and the person")
    tap.equal(shown("?action=tenant.put")[0], ("tenant.put", "user:ann", "ann"), "a session too")
    tap.equal(shown("?action=request.denied"),
              [("request.denied", f"token:{by['eve@a']['id']}", "eve@a")], "and a refused call")
    tap.equal({a for a, _, _ in shown("?actor=user:ann")},
              {"policy.put", "tenant.put", "token.post", "session.post"},
              "a person is found with its tokens")
    tap.equal([a for a, _, _ in shown(f"?actor=token:{by['ann']['id']}")], ["policy.put"],
              "a token alone")
    must(server.call("DELETE", f"/v1/tokens/{by['ann']['id']}", token=ann), 204)
    tap.equal(shown("?action=policy.put")[0][2], "ann", "also when the token is gone")
    tap.equal(shown("?action=policy.delete", token=eve),
              [("policy.delete", f"token:{by['eve@a']['id']}", "eve@a")],
              "a tenant's admin sees whose token of its people it was")
    tap.equal(shown("?action=policy.put", token=eve),
              [("policy.put", f"token:{by['ann']['id']}", None)], "not whose of the staff's")
    tap.equal([a for a, _, _ in shown("?actor=user:ann", token=eve)], ["tenant.put"],
              "nor by asking for them")
    tap.equal({a for a, _, _ in shown("?actor=user:eve@a", token=eve)},
              {"policy.delete", "request.denied", "token.post", "session.post"},
              "but its own people are found")
    tap.equal([a for a, _, _ in shown(f"?actor=token:{by['eve@a']['id']}", token=eve)],
              ["request.denied", "policy.delete"], "and their tokens")
    tap.equal([r.get("user") for r in rows(server) if r["actor"] == "stellard"], [None],
              "nobody is nobody")
    tap.ok(must(server.get("/v1/audit:verify"), 200).json["valid"], "the chain is whole")


def refused_changes_leave_rows(tap, server):
    agent, tokens = fixture(server)
    before = len(rows(server, "?page_size=1000"))
    answer = must(server.put("/v1/tenants/c", {}, token=tokens["auditor"]), 403)
    row = denied(server, 1)[0]
    tap.ok(row["action"] == "request.denied" and row["subject"] == "denied/tenant_put" and
           row["actor"].startswith("token:") and row["request_id"] == answer.headers["X-Request-Id"]
           and row["after"] == {"code": "denied", "from": "127.0.0.1", "method": "PUT",
                                "path": "/v1/tenants/c", "status": 403},
           "a refused change says who tried what, from where", row)
    read = must(server.call("POST", "/v1/tokens", {"role": "admin", "scopes": ["read"]}), 201).json
    must(server.put("/v1/tenants/c", {}, token=read["token"]), 403)
    must(server.put("/v1/tenants/a/policy?override=bw-limit-floor&reason=x", POLICY, '"1"',
                    token=tokens["operator"]), 403)
    must(server.call("POST", "/v1/agent/receipts", {"version": 1}, token=tokens["auditor"]), 403)
    must(server.put("/v1/tenants/b/policy", POLICY, token=tokens["tenant-admin"]), 404)
    must(server.put("/v1/tenants/nobody/policy", POLICY, token=tokens["tenant-admin"]), 404)
    got = [(r["after"]["code"], r["subject"]) for r in denied(server, 6)]
    tap.equal(got, [("not-found", "tenant/a/denied/policy_put")] * 2 + [
        ("denied", "denied/agent_receipt"), ("override-denied", "denied/policy_put"),
        ("scope", "denied/tenant_put"), ("denied", "denied/tenant_put")],
        "each reason has its row; of another tenant and of none the same")
    must(server.get("/v1/users", token=tokens["auditor"]), 403)
    tap.equal(len(rows(server, "?action=request.denied")), 6, "what only reads leaves none")
    own = rows(server, "?action=request.denied", token=tokens["tenant-admin"])
    tap.equal([r["subject"] for r in own], ["tenant/a/denied/policy_put"] * 2,
              "a tenant sees what its own callers tried")
    other = server.token("tenant-admin", "b")["token"]
    tap.equal(rows(server, "?action=request.denied", token=other), [], "and no other's")
    tap.ok(len(rows(server, "?page_size=1000")) > before, "the log has grown")


def refused_changes_cannot_fill_the_log(tap, server):
    _, tokens = fixture(server)
    calls = [server.put("/v1/tenants/c", {}, token=tokens["auditor"]).status for _ in range(200)]
    tap.equal(set(calls), {403}, "many are refused")
    count = len(denied(server, 10))
    tap.ok(10 <= count <= 20, "with ten rows a minute", count)
    must(server.put("/v1/tenants/c", {}, token=tokens["tenant-admin"]), 403)
    tap.equal(len(denied(server, 1, "?action=request.denied&subject=tenant/a")), 1,
              "another caller still has its own")
    metrics = server.get("/metrics", token=None).body.decode()
    untold = float(metrics.split("\nstellar_denied_untold_total ")[1].split()[0])
    tap.equal(untold, 200 - count, "the others are counted")
    tap.equal(server.stop(), 0, "the server ends")
    server.start()
    told = [r for r in rows(server, "?action=request.denied&page_size=1000")
            if r["subject"] == "denied"]
    tap.ok(len(told) == 1 and told[0]["after"] == {"more": untold} and
           told[0]["actor"] == "stellard", "and told in one row", told)
    tap.ok(must(server.get("/v1/audit:verify"), 200).json["valid"], "the chain is whole")


def failed_logins_leave_rows(tap, server):
    must(server.put("/v1/tenants/a", {}), 201)
    server.user("ann", "auditor")
    server.user("eve@a", "tenant-admin")
    eve = server.login("eve@a")
    secret = "hunter2 hunter2"
    for name in ("ann", "eve@a", secret):
        must(server.call("POST", "/v1/session", {"name": name, "password": "not the password"},
                         token=None), 401)
    got = denied(server, 3, "?action=session.denied")
    tap.equal([r["subject"] for r in got], ["user", "tenant/a/user/eve@a", "user/ann"],
              "a failed login names the account, when there is one")
    tap.ok(all(r["actor"] == "anonymous" and r["after"] == {"code": "login-failed",
                                                            "from": "127.0.0.1"} for r in got),
           "and from where", got)
    everything = str(rows(server, "?page_size=1000"))
    tap.ok(secret not in everything and "not the password" not in everything,
           "what may be a password is not kept")
    tap.equal([r["subject"] for r in rows(server, "?action=session.denied", token=eve)],
              ["tenant/a/user/eve@a"], "a tenant sees those of its own")
    must(server.call("POST", "/v1/users/eve@a/password",
                     {"old": "not the password", "new": "another horse battery"}, token=eve), 422)
    tap.equal([r["after"]["code"] for r in denied(server, 1, "?subject=tenant/a/denied")],
              ["password-refused"], "a wrong old password leaves one too")


run([what_a_row_says, which_rows_are_found, is_the_chain_whole, who_has_answered,
     a_person_is_named_with_the_token, refused_changes_leave_rows, refused_changes_cannot_fill_the_log,
     failed_logins_leave_rows])
