#!/usr/bin/env python3
"""A tenant learns nothing of others: not from answers, findings, lists, events or dry runs."""
from lib import Agent, FABRIC, must, planned, run

SECRETS = ("other-tenant", "secret_job", "secret-node")


def setup(server):
    must(server.put("/v1/fabric", FABRIC), 201)
    for name in ("mine", "other-tenant"):
        must(server.put(f"/v1/tenants/{name}", {}), 201)
    must(server.put("/v1/tenants/other-tenant/policy",
                    {"qos_policy": {"secret_job": {"priority": 3, "bw_guarantee": "60%"}}}), 201)
    agents = [Agent(server, n, server.node(n)) for n in ("n1", "secret-node")]
    for agent in agents:
        agent.report()
    must(server.put("/v1/tenants/other-tenant/placements/secret_job",
                    {"nodes": ["n1", "secret-node"], "match": {"dst": "10.1.0.0/16"}}), 201)
    must(server.put("/v1/tenants/mine/placements/job", {"nodes": ["n1"],
                                                        "match": {"dst": "10.2.0.0/16"}}), 201)
    planned(server, "n1", "secret-node")
    return {role: server.token(role, "mine")["token"] for role in ("tenant-admin", "tenant-user")}


def leaks(answer):
    text = answer.body.decode(errors="replace") + str(answer.headers)
    return [s for s in SECRETS if s in text]


def reads(tap, server):
    tokens = setup(server)
    for role, token in tokens.items():
        for path in ("/v1/tenants", "/v1/tenants/mine", "/v1/tenants/mine/policy/revisions",
                     "/v1/tenants/mine/placements", "/v1/tenants/mine/placements/job", "/v1/tenants/mine/placements/job/chains", "/v1/rules",
                     "/v1/events", "/v1/events?after=2&page_size=1"):
            answer = server.get(path, token=token)
            tap.ok(answer.status == 200 and not leaks(answer), f"{role}: {path} names no other",
                   answer)
        tap.equal([t["name"] for t in server.get("/v1/tenants", token=token).json["items"]], ["mine"],
                  f"{role} sees itself only")
        kinds = {e["subject"].split("/")[1] for e in
                 server.get("/v1/events", token=token).json["items"]}
        tap.equal(kinds, {"mine"}, f"{role} sees its own events only")
        for path in ("/v1/nodes", "/v1/nodes/n1", "/v1/fabric", "/v1/generations/current",
                     "/v1/nodes/n1/plan"):
            tap.status(server.get(path, token=token), 403, f"{role} may not read {path}")
        for path in ("/v1/tokens", "/v1/tokens?page_size=1"):
            answer = server.get(path, token=token)
            tap.ok(answer.status == 200 and not leaks(answer) and answer.json["items"] and
                   all(t["tenant"] == "mine" for t in answer.json["items"]),
                   f"{role} sees tokens of its own tenant only: {path}", answer)
    audit = server.get("/v1/audit", token=tokens["tenant-admin"])
    tap.ok(audit.status == 200 and audit.json["items"] and not leaks(audit),
           "the tenant's own audit rows name no other", audit)


def same_answer_for_absent_and_foreign(tap, server):
    token = setup(server)["tenant-admin"]

    def shape(answer, name):
        body = answer.json
        body.pop("request_id")
        head = {k: v for k, v in answer.headers.items() if k not in ("X-Request-Id", "Date",
                                                                     "Content-Length")}
        return answer.status, str(body).replace(name, "NAME"), str(head)

    policy = {"qos_policy": {"j": {"priority": 3}}}
    for method, path, body, head in (
            ("GET", "", None, {}), ("GET", "/policy", None, {}), ("GET", "/placements", None, {}),
            ("GET", "/placements/secret_job", None, {}), ("GET", "/placements/secret_job/chains", None, {}),
            ("GET", "/policy/revisions", None, {}),
            ("GET", "/policy/revisions/1", None, {}),
            ("PUT", "/policy", policy, {"If-Match": '"1"'}),
            ("PUT", "/policy", policy, {"If-None-Match": "*"}), ("PUT", "/policy", policy, {}),
            ("PUT", "/policy", {"qos_policy": 1}, {"If-Match": '"1"'}),
            ("PUT", "/policy?dry_run=true", policy, {"If-Match": '"1"'}),
            ("PUT", "/policy", b"{", {"If-Match": '"1"'}),
            ("DELETE", "/policy", None, {"If-Match": '"1"'}),
            ("POST", "/policy:validate", policy, {})):
        foreign = server.call(method, "/v1/tenants/other-tenant" + path, body, head, token=token)
        absent = server.call(method, "/v1/tenants/no-such-thing" + path, body, head, token=token)
        tap.equal(shape(foreign, "other-tenant"), shape(absent, "no-such-thing"),
                  f"{method} {path or '/'}: a foreign tenant looks like none at all")


def findings_and_dry_runs(tap, server):
    token = setup(server)["tenant-admin"]
    url = "/v1/tenants/mine/policy"
    body = {"qos_policy": {"job": {"priority": 3, "bw_guarantee": "50%"}}}
    for sentence, answer in (
            ("an upload", server.put(url, body, token=token)),
            ("a dry run", server.call("PUT", url + "?dry_run=1", body, {"If-None-Match": "*"},
                                      token=token)),
            ("a check", server.call("POST", url + ":validate", body, token=token))):
        tap.ok((answer.status == 422 or answer.json.get("valid") is False) and not leaks(answer),
               f"{sentence} over the port's capacity is refused without a foreign name", answer)
    body["qos_policy"]["job"]["bw_guarantee"] = "10%"
    dry = server.call("PUT", url + "?dry_run=1", body, {"If-None-Match": "*"}, token=token)
    tap.ok(dry.status == 200 and not leaks(dry) and dry.json["nodes_total"] == 1,
           "a dry run names no other", dry)
    steps = dry.json["nodes"][0]["steps"]
    tap.ok(all(s.get("tenant") == "mine" for s in steps), "and shows the tenant's own steps", steps)
    tap.equal(dry.json["jobs"], [{"tenant": "mine", "job": "job"}], "and its own jobs")
    stored = server.put(url, body, token=token)
    tap.ok(stored.status == 201 and not leaks(stored), "an upload's answer names no other", stored)
    placed = server.call("PUT", "/v1/tenants/mine/placements/job", {"nodes": ["secret-node"]},
                         {"If-Match": '"1"'}, token=token)
    tap.status(placed, 403, "a tenant cannot place its jobs itself")


def end_of_a_tenant(tap, server):
    tokens = setup(server)
    must(server.put("/v1/tenants/mine/policy", {"qos_policy": {"job": {"priority": 3}}}), 201)
    must(server.call("DELETE", "/v1/tenants/mine", headers={"If-Match": "*"}), 200)
    for role, token in tokens.items():
        tap.status(server.get("/v1/tenants/mine", token=token), 401, f"{role}'s token is over")
    for path in ("", "/policy", "/placements/job"):
        tap.status(server.get("/v1/tenants/mine" + path), 404, f"tenant{path} is gone")
    must(server.put("/v1/tenants/mine", {}), 201)
    tap.status(server.get("/v1/tenants/mine/policy"), 404, "a new tenant of that name has no policy")
    tap.equal(server.get("/v1/tenants/mine/placements").json["items"], [], "and no placements")
    heir = server.token("tenant-admin", "mine")["token"]
    url = "/v1/tenants/mine/policy/revisions"
    tap.equal(server.get(url, token=heir).json["items"], [], "nor does it see revisions of the old")
    tap.status(server.get(url + "/1", token=heir), 404, "not even by number")
    tap.status(server.get(url + "/1"), 200, "which the operator still can")
    tap.equal([r["action"] for r in server.get("/v1/audit", token=heir).json["items"]],
              ["token.post", "tenant.put"], "/v1/audit begins with its own making")
    first = server.get("/v1/audit?page_size=1", token=heir).json
    rest = server.get("/v1/audit?page_size=9&page_token=" + first["next_page_token"], token=heir).json
    tap.equal([r["action"] for r in rest["items"]], ["tenant.put"], "and its pages end there")
    tap.status(server.get("/v1/audit?page_token=39", token=heir), 400, "a page made up is none")
    for path in ("/v1/events", "/v1/events?after=1&page_size=2"):
        rows = server.get(path, token=heir).json["items"]
        tap.equal([r["kind"] for r in rows], ["tenant.changed", "token.changed"], f"{path} too")
    must(server.put("/v1/tenants/mine/policy", {"qos_policy": {"mine": {"priority": 2}}},
                    token=heir), 201)
    tap.equal([r["number"] for r in server.get(url, token=heir).json["items"]], [2],
              "its own revisions it sees")
    must(server.call("DELETE", "/v1/tenants/mine/policy", headers={"If-Match": "*"}), 200)
    planned(server, "n1")
    plan = server.get("/v1/nodes/n1/plan").body.decode()
    tap.ok('"tenant":"mine"' not in plan and '"tenant":"other-tenant"' in plan,
           "the node's plan has the other tenant only", plan)


if __name__ == "__main__":
    run([reads, same_answer_for_absent_and_foreign, findings_and_dry_runs, end_of_a_tenant])
