#!/usr/bin/env python3
"""Lists: pages whose tokens cannot be made up, chosen members, tables, nodes by label and state."""
import csv
import io

from lib import CREATE, Server, fixture, must, run


def walk(server, path, **kw):
    """Every item by pages of two, and the tokens."""
    items, tokens, token = [], [], None
    while True:
        join = "&" if "?" in path else "?"
        page = must(server.get(path + f"{join}page_size=2" +
                               (f"&page_token={token}" if token else ""), **kw), 200).json
        items += page["items"]
        token = page.get("next_page_token")
        if token is None:
            return items, tokens
        tokens.append(token)


def pages(tap, server):
    agent, tokens = fixture(server)
    for i in range(7):
        must(server.put(f"/v1/nodes/m{i}", {"labels": {"rack": "ab"[i % 2]}}), 201)
        must(server.put(f"/v1/tenants/t{i}", {}), 201)
    for i in range(4):
        must(server.put(f"/v1/tenants/a/placements/j{i}",
                        {"nodes": ["m1"], "match": {"dst": f"10.8.{i}.0/24"}}), 201)
        server.token("auditor")
        must(agent.receipt("unchanged", time_us=i + 1), 201)
    lists = {"/v1/nodes": 8, "/v1/tenants": 9, "/v1/tenants/a/placements": 5, "/v1/tokens": None,
             "/v1/audit": None, "/v1/events": None, "/v1/nodes/n1/receipts": None,
             "/v1/tenants/a/policy/revisions": 1, "/v1/fabric/revisions": 1}
    kept = {}
    for path, count in lists.items():
        whole = must(server.get(path + "?page_size=1000"), 200).json["items"]
        items, kept[path] = walk(server, path)
        tap.ok(items == whole and count in (None, len(items)) and len(items) >= 1,
               f"{path}: the pages together are the list", (len(items), len(whole)))
    for path, of in kept.items():
        for token in of[:1]:
            for other in kept:
                answer = server.get(f"{other}?page_token={token}")
                tap.status(answer, 200 if other == path else 400,
                           f"a token of {path} at {other}")
    token = kept["/v1/nodes"][0]
    for i, wrong in enumerate((token[:-1], token + "00", token[:-2] + "7a", "", "x",
                               token[:32] + "6e31", "616263")):
        answer = server.get(f"/v1/nodes?page_token={wrong}")
        tap.ok(answer.status == 400 and answer.json["code"] == "page-token",
               f"forged token {i} is 400", answer)
    tap.status(server.get(f"/v1/nodes?page_token={token}&selector=rack"), 400,
               "a token does not fit another filter")
    tap.status(server.get(f"/v1/nodes?page_token={token}&fields=name&page_size=7"), 200,
               "but any size and fields")
    own = must(server.get("/v1/events?page_size=1", token=tokens["tenant-user"]), 200).json
    tap.status(server.get(f"/v1/events?page_token={own['next_page_token']}"), 400,
               "nor another tenant's caller")
    tap.status(server.get(f"/v1/events?page_token={own['next_page_token']}",
                          token=tokens["tenant-admin"]), 200, "but one of the same tenant")
    first = must(server.get("/v1/events?after=3&page_size=2"), 200).json
    second = must(server.get("/v1/events?after=3&page_size=2&page_token=" +
                             first["next_page_token"]), 200).json
    tap.equal([e["id"] for e in first["items"] + second["items"]], [4, 5, 6, 7],
              "events go on behind the page, not behind `after`")
    again = Server(server.args, server.data)
    server.stop()
    again.start()
    answer = again.get(f"/v1/nodes?page_token={token}")
    tap.status(answer, 200, "a token is good after a restart")
    again.stop()
    server.start()
    stranger = Server(server.args).start()
    must(stranger.put("/v1/nodes/n1", {}), 201)
    tap.status(stranger.get(f"/v1/nodes?page_token={token}"), 400, "and of no worth to another store")
    tap.equal(stranger.stop(), 0, "that one ends cleanly")
    stranger.remove()


def members(tap, server):
    fixture(server)
    must(server.put("/v1/nodes/n2", {"labels": {"top.rack": "7", "rack": "b"}}), 201)
    page = must(server.get("/v1/nodes?fields=name,labels.rack"), 200).json
    tap.equal(page["items"], [{"name": "n1", "labels": {"rack": "a"}},
                              {"name": "n2", "labels": {"rack": "b"}}], "members and their members")
    page = must(server.get("/v1/nodes?fields=labels.top.rack,etag&page_size=1"), 200).json
    tap.ok(page["items"] == [{"etag": '"2"'}] and "next_page_token" in page,
           "a member that an item lacks is absent; the page stays a page", page)
    for path, field in (("/v1/tenants", "tenant.description"), ("/v1/events", "kind"),
                        ("/v1/audit", "action"), ("/v1/tokens", "role"),
                        ("/v1/tenants/a/placements", "placement.match.dst"),
                        ("/v1/fabric/revisions", "digest"), ("/v1/nodes/n1/receipts", "received")):
        must(server.get(f"{path}?fields={field}"), 200)
        for bad in ("colour", field + ",", "", field + "," + "colour"):
            answer = server.get(f"{path}?fields={bad}")
            tap.ok(answer.status == 400 and answer.json["code"] == "invalid-parameter",
                   f"{path}?fields={bad} is 400", answer)
    tap.status(server.get("/v1/nodes?fields=" + ",".join(["name"] * 32)), 200, "32 fields are taken")
    tap.status(server.get("/v1/nodes?fields=" + ",".join(["name"] * 33)), 400, "33 are not")
    etags = {"/v1/nodes": "n1", "/v1/tenants": "a", "/v1/tenants/a/placements": "nlp_job"}
    for path, name in etags.items():
        item = [i for i in server.get(path).json["items"] if name in (i.get("name"), i.get("job"))][0]
        tap.equal(item["etag"], server.get(f"{path}/{name}").etag, f"{path}: items carry their ETag")


def table(server, path, **kw):
    answer = must(server.get(path, headers={"Accept": "text/csv"}, **kw), 200)
    return answer, list(csv.reader(io.StringIO(answer.body.decode(), newline="")))


def tables(tap, server):
    fixture(server)
    for name, text in (("x1", '=HYPERLINK("http://x")'), ("x2", "+1"), ("x3", "-1"), ("x4", "@SUM"),
                       ("x5", 'a,"b"'), ("x6", "plain")):
        must(server.call("PUT", f"/v1/tenants/{name}", {"description": text}, CREATE), 201)
    answer, rows = table(server, "/v1/tenants?fields=name,tenant.description")
    tap.ok(answer.headers["Content-Type"].startswith("text/csv") and
           answer.headers["Vary"] == "Accept", "a table by Accept: text/csv", answer.headers)
    tap.equal(rows[0], ["name", "tenant.description"], "the header row is the fields")
    cells = dict(rows[1:])
    tap.equal([cells[f"x{i}"] for i in range(1, 7)],
              ["'=HYPERLINK(\"http://x\")", "'+1", "'-1", "'@SUM", 'a,"b"', "plain"],
              "no cell is a formula")
    tap.ok(answer.body.count(b"\r\n") == len(rows) and answer.body.endswith(b"\r\n"),
           "lines end as RFC 4180 wants", answer)
    for path in ("/v1/nodes", "/v1/tenants", "/v1/tenants/a/placements", "/v1/tokens", "/v1/audit",
                 "/v1/events", "/v1/nodes/n1/receipts", "/v1/fabric/revisions"):
        _, rows = table(server, path)
        whole = server.get(path).json["items"]
        tap.ok(len(rows) == len(whole) + 1 and all(len(r) == len(rows[0]) for r in rows),
               f"{path}: a row an item, a column a member", rows[:3])
    _, rows = table(server, "/v1/nodes")
    tap.ok("labels.rack" in rows[0] and rows[1][rows[0].index("labels.rack")] == "a",
           "objects are flattened", rows)
    answer, rows = table(server, "/v1/tenants?page_size=2&fields=name")
    token = answer.headers["X-Next-Page-Token"]
    _, more = table(server, f"/v1/tenants?page_size=2&fields=name&page_token={token}")
    tap.ok(rows[1:] + more[1:] == [["a"], ["b"], ["x1"], ["x2"]], "tables have pages", (rows, more))


def nodes_by(tap, server):
    fixture(server)
    for i in range(30):
        must(server.put(f"/v1/nodes/m{i:02}", {"labels": {"rack": "abc"[i % 3], "n": str(i),
                                                          **({"gpu": ""} if i % 2 else {})}}), 201)

    def names(query):
        items, _ = walk(server, "/v1/nodes?" + query)
        return [i["name"] for i in items]

    every = [f"m{i:02}" for i in range(30)] + ["n1"]
    for query, wanted in (
            ("selector=rack=a", lambda n: n == "n1" or int(n[1:]) % 3 == 0),
            ("selector=rack!=a", lambda n: n != "n1" and int(n[1:]) % 3 != 0),
            ("selector=gpu", lambda n: n != "n1" and int(n[1:]) % 2 == 1),
            ("selector=!gpu", lambda n: n == "n1" or int(n[1:]) % 2 == 0),
            ("selector=rack=b,gpu", lambda n: n != "n1" and int(n[1:]) % 6 == 1),
            ("selector=rack=x", lambda n: False),
            ("sync=in-sync", lambda n: False), ("sync=held", lambda n: False),
            ("sync=confirming", lambda n: False)):
        tap.equal(names(query), [n for n in every if wanted(n)], query)
    sync = {i["name"]: i["sync"] for i in server.get("/v1/nodes").json["items"]}
    tap.equal(names("sync=" + sync["n1"] + "&selector=!n"), ["n1"], "state and labels together")
    for query in ("selector=", "selector=,", "selector=a=b=c", "selector=a%20b", "sync=happy", "sync="):
        answer = server.get("/v1/nodes?" + query)
        tap.ok(answer.status == 400 and answer.json["code"] == "invalid-parameter",
               f"{query} is 400", answer)


run([pages, members, tables, nodes_by])
