#!/usr/bin/env python3
"""What every answer of every route carries, and what none does."""
import os
import subprocess

from lib import Server, Tap, arguments, finish, fixture

STRICT = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
          "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin",
          "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
NEVER = ("Server", "Strict-Transport-Security", "Access-Control-Allow-Origin",
         "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
         "Access-Control-Allow-Credentials", "Access-Control-Max-Age", "X-Powered-By")
CACHING = {"no-store", "private, no-cache"}
FOREIGN = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "PUT",
           "Access-Control-Request-Headers": "authorization"}


def routes(args):
    out = subprocess.run([os.path.join(args.objdir, "stellard"), "--routes"], check=True,
                         capture_output=True, text=True, timeout=30).stdout
    return [line.split("\t")[:4] for line in out.splitlines()]


def faults(answer, wanted_id=None):
    head = answer.headers
    wrong = [f"{k}: {head.get_all(k)}" for k, v in STRICT.items() if head.get_all(k) != [v]]
    wrong += [f"{k} is there" for k in NEVER if k in head]
    if head.get("Cache-Control") not in CACHING or len(head.get_all("Cache-Control")) != 1:
        wrong.append(f"Cache-Control: {head.get_all('Cache-Control')}")
    if not head.get("X-Request-Id") or wanted_id not in (None, head["X-Request-Id"]):
        wrong.append(f"X-Request-Id: {head.get('X-Request-Id')}")
    if answer.status == 401 and "Bearer" not in head.get("WWW-Authenticate", ""):
        wrong.append("no WWW-Authenticate")
    if answer.status >= 400 and answer.body and answer.json.get("request_id") != head["X-Request-Id"]:
        wrong.append("the problem has another request id")
    return wrong


def path_of(path):
    for name, value in {"{tenant}": "a", "{job}": "nlp_job", "{node}": "n1", "{number}": "1",
                        "{generation}": "current"}.items():
        path = path.replace(name, value)
    return path.replace("{", "").replace("}", "")


def main():
    args, tap = arguments(), Tap()
    server = Server(args).start()
    agent, tokens = fixture(server)
    number = 0
    for method, path, roles, flags in routes(args):
        path, wrong, statuses = path_of(path), [], []
        body = {} if "json" in flags else None
        who = agent.token if roles == "agent" else "admin"
        for token in (who, None, tokens["tenant-user"]):
            number += 1
            answer = server.call(method, path, body, dict(FOREIGN, **{"X-Request-Id": f"q{number}"}),
                                 token=token)
            statuses.append(answer.status)
            wrong += [f"{answer.status}: {w}" for w in faults(answer, f"q{number}")]
        options = server.call("OPTIONS", path, headers=FOREIGN, token=None)
        wrong += [f"OPTIONS: {w}" for w in faults(options)]
        if options.status != 204 or method not in options.headers["Allow"]:
            wrong.append(f"OPTIONS: {options}")
        tap.ok(not wrong, f"{method} {path} ({', '.join(map(str, statuses))})", "\n".join(wrong[:8]))
    for what, answer in (
            ("a path that is not there", server.get("/v1/nothing")),
            ("another method", server.call("PATCH", "/v1/rules", {})),
            ("JSON that is none", server.call("PUT", "/v1/fabric", b"{", {"If-Match": "*"})),
            ("a body too large", server.call("PUT", "/v1/fabric", b" " * (1 << 20 | 1),
                                             {"If-Match": "*"})),
            ("304", server.get("/openapi.json", headers={
                "If-None-Match": server.get("/openapi.json").etag})),
            ("HEAD", server.call("HEAD", "/v1/fabric"))):
        tap.ok(not faults(answer), f"{what} ({answer.status})", faults(answer))
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    tap.equal(server.get("/healthz", headers={"traceparent": trace}).headers["X-Request-Id"],
              "4bf92f3577b34da6a3ce929d0e0e4736", "the trace's id is the request's")
    odd = server.get("/healthz", headers={"X-Request-Id": "a b\tc"}).headers["X-Request-Id"]
    tap.ok(len(odd) == 32, "an id with other letters is not taken over", odd)
    finish(tap, server)
    tap.done()


main()
