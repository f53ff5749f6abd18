#!/usr/bin/env python3
"""Every route with every role: who may is served, who may not gets 403, nobody gets 401."""
import os
import subprocess

from lib import PASSWORD, Server, Tap, arguments, finish, fixture, inventory, must

ROLES = ("agent", "admin", "operator", "auditor", "tenant-admin", "tenant-user")  # agent first: others end its token
# Something that a route can be called with; what it answers beyond "you may" is not judged here.
BODIES = {"agent_enrol": {}, "agent_renew": {},
          "fabric_put": {}, "fabric_validate": {}, "policy_put": {}, "policy_validate": {},
          "tenant_put": {}, "placement_put": {}, "node_put": {}, "token_post": {},
          "rollout_policy_put": {}, "rollout_post": {},
          "fabric_patch": {}, "tenant_patch": {}, "policy_patch": {}, "placement_patch": {},
          "import": {"format": "stellar-export", "version": 1, "content": {}},
          "node_patch": {}, "fabric_rollback": {"revision": 1}, "policy_rollback": {"revision": 1},
          "switch_put": {}, "switches_import": {"switches": []},
          "session_post": {"name": "root", "password": PASSWORD}, "user_post": {}, "user_patch": {},
          "user_password": {}, "agent_inventory": inventory("n1"), "agent_receipt": {},
          "agent_state": {"knobs": []}}
# What an open route says to that body, where it is not 200.
OPEN_STATUS = {"agent_enrol": 422}
PARAMS = {"{image}": "0123456789abcdef", "{switch}": "sw1",
          "{tenant}": "a", "{job}": "nlp_job", "{node}": "n1", "{number}": "1",
          "{generation}": "current", "{id}": "nothing", "{user}": "nobody", "{rollout}": "r-1",
          "{operation}": "op-0"}


def routes(args):
    out = subprocess.run([os.path.join(args.objdir, "stellard"), "--routes"], check=True,
                         capture_output=True, text=True, timeout=30).stdout
    for line in out.splitlines():
        method, path, roles, flags, operation = line.split("\t")[:5]
        yield method, path, set(roles.split(",")), flags.split(), operation


def call(server, method, path, operation, flags, token, values=PARAMS):
    for name, value in values.items():
        path = path.replace(name, value)
    headers = {"If-Match": '"9999"'} if "if-match" in flags else {}
    if "patch" in flags:
        headers["Content-Type"] = "application/merge-patch+json"
    return server.call(method, path, BODIES.get(operation), headers, token=token)


def user_of(role):
    return "u-" + role + ("@a" if role.startswith("tenant") else "")


def check_others(tap, server, row, sessions, read_only):
    """A session may what a token of its role may; a token with the scope read changes nothing."""
    method, path, roles, flags, operation = row
    safe = method == "GET" or "safe" in flags
    wrong = []
    for role, session in sessions.items():
        answer = call(server, method, path, operation, flags, session)
        if (answer.status == 403) == (role in roles) or answer.status in (401, 500):
            wrong.append(("session", role, answer))
        if operation == "session_delete":
            sessions[role] = server.login(user_of(role))
        answer = call(server, method, path, operation, flags, read_only[role])
        if (answer.status == 403) == (role in roles and safe) or answer.status in (401, 500):
            wrong.append(("read", role, answer))
        elif role in roles and not safe and answer.json["code"] != "scope":
            wrong.append(("scope", role, answer))
    tap.ok(not wrong, f"{operation}: sessions as their roles, read-only tokens only read", wrong)


def main():
    args, tap = arguments(), Tap()
    server = Server(args).start()
    _, tokens = fixture(server)
    sessions, read_only = {}, {}
    for role in ROLES[1:]:
        server.user(user_of(role), role)
        sessions[role] = server.login(user_of(role))
        body = {"role": role, "scopes": ["read"]}
        if role.startswith("tenant"):
            body["tenant"] = "a"
        read_only[role] = must(server.call("POST", "/v1/tokens", body), 201).json["token"]
    server.user("root", "admin")
    table = list(routes(args))
    for method, path, roles, flags, operation in table:
        if "open" in flags:
            tap.status(call(server, method, path, operation, flags, None),
                       OPEN_STATUS.get(operation, 200), f"{operation} needs no token")
            continue
        tap.status(call(server, method, path, operation, flags, None), 401,
                   f"{operation} without a token is 401")
        wrong = [(role, answer) for role in ROLES for answer in
                 [call(server, method, path, operation, flags, tokens[role])]
                 if (answer.status == 403) == (role in roles) or answer.status in (401, 500)]
        check_others(tap, server, (method, path, roles, flags, operation), sessions, read_only)
        if operation == "node_token":  # it ended the agent's token
            tokens["agent"] = server.call(method, "/v1/nodes/n1/token").json["token"]
        tap.ok(not wrong, f"{operation}: {', '.join(sorted(roles))} and nobody else", wrong)
        if "tenant" in flags:
            other = dict(PARAMS, **{"{tenant}": "b"})
            nobody = dict(PARAMS, **{"{tenant}": "nobody"})
            for role in roles & {"tenant-admin", "tenant-user"}:
                there = call(server, method, path, operation, flags, tokens[role], other)
                absent = call(server, method, path, operation, flags, tokens[role], nobody)
                tap.ok(there.status == absent.status == 404, f"{operation}: another tenant is 404 for "
                       f"{role}", (there, absent))
    tap.ok(len(table) > 40, "the whole table was tried")
    for bad in ("", "x", "st_" + "0" * 64, tokens["auditor"][:-1], tokens["auditor"] + "0",
                tokens["auditor"].upper()):
        tap.status(server.get("/v1/fabric", token=bad), 401, f"token '{bad[:6]}...' is unknown")
    for scheme in ("Basic abc", "Bearer", tokens["auditor"]):
        answer = server.call("GET", "/v1/fabric", headers={"Authorization": scheme}, token=None)
        tap.ok(answer.status == 401 and "WWW-Authenticate" in answer.headers,
               f"'{scheme[:8]}' is no bearer token", answer)
    finish(tap, server)
    tap.done()


main()
