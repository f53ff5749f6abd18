#!/usr/bin/env python3
"""Every example of openapi.yaml as a request, and the route table against the paths."""
import copy
import os
import subprocess

from contract import Document, faults
from lib import Server, Tap, arguments, finish, fixture

LITERAL = {"code", "rule", "status", "unchanged", "applied", "valid", "dry_run", "severity", "role"}


def unlike(example, value, at=""):
    """Where an answer does not have what its example shows."""
    if isinstance(example, dict):
        for key, sub in example.items():
            if not isinstance(value, dict) or key not in value:
                yield f"{at}: the example has '{key}', the answer has not"
            elif key in LITERAL and not isinstance(sub, (dict, list)) and sub != value[key]:
                yield f"{at}/{key}: {value[key]!r}, the example has {sub!r}"
            else:
                yield from unlike(sub, value[key], f"{at}/{key}")
    elif isinstance(example, list):
        if not isinstance(value, list):
            yield f"{at}: no list"
        elif example and not any(not list(unlike(example[0], v, at)) for v in value):
            yield f"{at}: no element is like the example's"
    elif type(example) is not type(value):
        yield f"{at}: {value!r} is of another type than {example!r}"


def request_bodies(op):
    """name -> (content type, example)"""
    return {name: (kind, example) for kind, content in
            op.get("requestBody", {}).get("content", {}).items()
            for name, example in content.get("examples", {}).items()}


def cases(doc):
    """(operation, method, path, parameters, status, name, example, schema, bodies)"""
    for method, path, op, params in doc.operations():
        bodies = request_bodies(op)
        for status, answer in op["responses"].items():
            answer, _ = doc.resolve(answer)
            for content in answer.get("content", {}).values():
                for name, example in content.get("examples", {}).items():
                    yield op, method, path, params, int(status), name, example, \
                        content.get("schema"), bodies
            for name, example in answer.get("x-examples", {}).items():
                yield op, method, path, params, int(status), name, example, None, bodies


def people(server, tokens):
    """Users ann (operator) and bob@a, and ann's session: made when they are asked for, because their
    passwords take time."""
    if "session" not in tokens:
        server.user("ann", "operator")
        server.user("bob@a", "tenant-user")
        tokens["session"] = server.login("ann")


def send(doc, server, tokens, agent, case):
    op, method, path, params, _, name, example, _, bodies = case
    asked = example.get("x-request", {})
    words = {"$token": tokens["id"], "$digest": agent.digest}
    for param in params:
        param, _ = doc.resolve(param)
        if param["in"] == "path":
            value = asked.get("params", {}).get(param["name"], param.get("example"))
            path = path.replace("{%s}" % param["name"], str(words.get(value, value)))
    query = {k: words.get(v, v) for k, v in asked.get("query", {}).items()}
    if query:
        from urllib.parse import urlencode
        path += "?" + urlencode(query)
    body, headers = None, dict(asked.get("headers", {}))
    if bodies:
        if name not in bodies:
            raise KeyError(f"{op['operationId']}: no request example '{name}'")
        kind, shown = bodies[name]
        body = copy.deepcopy(doc.resolve(shown)[0]["value"])
        headers.setdefault("Content-Type", kind)
        if kind == "text/plain":
            body = body.encode()
        if isinstance(body, dict) and body.get("join_token") == "$join":
            made = server.call("POST", "/v1/nodes/n1/join-token")
            body["join_token"] = made.json["join_token"]
    if path.startswith(("/v1/users", "/v1/session")):
        people(server, tokens)
    token = None if op.get("security") == [] else tokens[asked.get("as", "admin")]
    return server.call(method, path, body, headers, token=token)


def check_examples(tap, doc, args):
    server = dirty = None
    bodies_used = set()
    for case in cases(doc):
        op, method, _, _, status, name, example, schema, bodies = case
        if server is None or dirty:
            if server:
                finish(tap, server, f"the server ends cleanly before {case[0]['operationId']}", True)
            server = Server(args).start()
            agent, tokens = fixture(server)
        dirty = method != "GET"
        bodies_used.add((op["operationId"], name))
        where = f"{op['operationId']} {status} {name}"
        answer = send(doc, server, tokens, agent, case)
        wrong = []
        if answer.status != status:
            wrong.append(f"status {answer.status}, wanted {status}")
        kind = (answer.headers.get("Content-Type") or "").split(";")[0]
        shown = doc.resolve(example)[0].get("value")
        if schema is not None and kind.endswith("json"):
            wrong += list(faults(doc, schema, answer.json)) + list(unlike(shown, answer.json))
        elif schema is not None and shown.split(" ")[0] not in answer.body.decode():
            wrong.append("the text is another one")
        tap.ok(not wrong, f"example {where}", "\n".join(wrong[:6]) + f"\n{answer}")
    for method, path, op, _ in doc.operations():
        for name in request_bodies(op):
            if (op["operationId"], name) not in bodies_used:
                tap.ok(False, f"request example {op['operationId']} {name} has an answer")
    served = server.get("/openapi.json", token=None).json
    tap.ok(served["components"]["schemas"]["Policy"].get("$id") == "stellar:policy",
           "the served document holds the documents' schemas")
    finish(tap, server)


def check_routes(tap, doc, args):
    out = subprocess.run([os.path.join(args.objdir, "stellard"), "--routes"], check=True,
                         capture_output=True, text=True, timeout=30).stdout
    table = {tuple(line.split("\t")[:2]): line.split("\t")[4] for line in out.splitlines()}
    described = {(m, p): op["operationId"] for m, p, op, _ in doc.operations()}
    tap.equal(sorted(set(table) - set(described)), [], "every route is in openapi.yaml")
    tap.equal(sorted(set(described) - set(table)), [], "every operation is a route")
    tap.equal({k: v for k, v in table.items() if described.get(k, v) != v}, {},
              "operation ids are the same")
    queries = {tuple(line.split("\t")[:2]): sorted(filter(None, line.split("\t")[5].split(",")))
               for line in out.splitlines()}
    named = {(m, p): sorted(q["name"] for q in (doc.resolve(q)[0] for q in params)
                            if q["in"] == "query") for m, p, _, params in doc.operations()}
    tap.equal({k: v for k, v in queries.items() if named.get(k, v) != v}, {},
              "a route takes the query parameters that are described")
    lacking = [op["operationId"] for _, _, op, _ in doc.operations() if not any(
        "examples" in c for r in op["responses"].values()
        for c in doc.resolve(r)[0].get("content", {}).values()) and not any(
        "x-examples" in r for r in op["responses"].values())]
    tap.equal(lacking, [], "every operation has an example")


def token_ids(server):
    return sorted(item["id"] for item in server.get("/v1/tokens").json["items"])


def check_queries(tap, doc, args):
    """A parameter that is not described is refused; what it would have changed stays."""
    server = Server(args).start()
    agent, tokens = fixture(server)
    tenants = server.get("/v1/tenants").body
    keys = token_ids(server)
    for method, path, op, params in doc.operations():
        for param in (doc.resolve(p)[0] for p in params):
            if param["in"] == "path":
                path = path.replace("{%s}" % param["name"], str(param.get("example", "x")))
        agents = "/agent/" in path or "/flash" in path or "/verify" in path or op["operationId"] == "telemetry_post"
        token = None if op.get("security") == [] else agent.token if agents else "admin"
        answer = server.call(method, path + "?dry_run=true&dryrun=true", headers={"If-Match": "*"},
                             body={} if "requestBody" in op else None, token=token)
        tap.ok(answer.status == 400 and answer.json["code"] == "unknown-query",
               f"{op['operationId']} refuses a parameter that it does not know", answer)
    for method, path in (("POST", "/v1/tokens"), ("POST", "/v1/nodes/n1/token"),
                         ("DELETE", f"/v1/tokens/{tokens['id']}")):
        answer = server.call(method, path + "?dry_run=true",
                             {"role": "auditor"} if path == "/v1/tokens" else None)
        tap.status(answer, 400, f"{method} {path} has no rehearsal and says so")
    long = server.call("POST", "/v1/tokens?reason=" + "x" * 257, {"role": "auditor"})
    tap.status(long, 400, "a reason has its limit for tokens too")
    tap.equal(token_ids(server), keys, "the tokens are as they were")
    tap.equal(server.get("/v1/tenants").body, tenants, "the tenants too")
    tap.status(agent.fetch(), 204, "the agent's token is the one that it was")
    finish(tap, server)


def main():
    args, tap = arguments(), Tap()
    doc = Document(args.srcdir)
    check_routes(tap, doc, args)
    check_queries(tap, doc, args)
    check_examples(tap, doc, args)
    tap.done()


main()
