#!/usr/bin/env python3
"""Every route of the table with every role and kind of credential: who may gets what the sample of
the route promises, who may not is told 403 and why, nobody gets 401."""
import os
import subprocess
from collections import namedtuple

from lib import Server, Tap, arguments, finish, fixture, must
from role_samples import SAMPLES, Call

ROLES = ("admin", "operator", "auditor", "tenant-admin", "tenant-user", "agent")
Row = namedtuple("Row", "method path roles flags operation")


class Caller:
    """kind: token (of a user), session (its cookie), read (a token with the scope read)."""

    def __init__(self, role, kind, user=None, secret=None, ident=None):
        self.role, self.kind, self.user, self.secret, self.id = role, kind, user, secret, ident

    def __repr__(self):
        return f"{self.role} by {self.kind}"


class World:
    def __init__(self, server):
        self.server = server
        self.agent, self.fixture_tokens = fixture(server)
        self.agent.settle()
        server.user("root", "admin")
        self.callers = [Caller("agent", "token", secret=self.agent.token)]
        for role in ROLES[:-1]:
            user = "u-" + role + ("@a" if role.startswith("tenant") else "")
            server.user(user, role)
            session = server.login(user)
            for kind, more in (("token", {}), ("read", {"scopes": ["read"]})):
                made = must(server.call("POST", "/v1/tokens", {"role": role, **more}, token=session), 201)
                self.callers.append(Caller(role, kind, user, made.json["token"], made.json["id"]))
            mine = must(server.call("POST", "/v1/tokens", {"role": role}, token=session), 201).json
            self.callers.append(Caller(role, "session", user, session, mine["id"]))

    def refresh(self, who):
        """A call may have ended the session that it came with."""
        if who.kind == "session" and self.server.get("/v1/session", token=who.secret).status == 401:
            who.secret = self.server.login(who.user)

    def of(self, role, kind="token"):
        return next(c for c in self.callers if (c.role, c.kind) == (role, kind))


def table(args):
    out = subprocess.run([os.path.join(args.objdir, "stellard"), "--routes"], check=True,
                         capture_output=True, text=True, timeout=30).stdout
    for line in out.splitlines():
        method, path, roles, flags, operation = line.split("\t")[:5]
        yield Row(method, path, set(filter(None, roles.split(","))), flags.split(), operation)


def differs(answer, status, code=None):
    return answer.status != status or (code is not None and answer.json["code"] != code)


def verdict(row, who):
    """What the route's row says to this caller: None = it may."""
    if who.role not in row.roles:
        return 403, "denied"
    if who.kind == "read" and not (row.method == "GET" or "safe" in row.flags):
        return 403, "scope"
    return None


def check_cell(world, row, who):
    """An error's text, None = right."""
    world.refresh(who)
    refused = verdict(row, who)
    call = Call(world, row, who, prepared=refused is None)
    answer = call.send(who.secret)
    wanted = refused or call.wanted()
    if not refused and who.kind == "read" and isinstance(call.sample.status, dict):
        wanted = call.sample.status["token"]
    if differs(answer, *wanted):
        return f"{who}: {answer}, wanted {wanted}"
    return None


def check_strangers(tap, world, row):
    """Without a credential, with a wrong one, and with a cookie that another site's page sent."""
    call = Call(world, row, world.of("admin"), prepared=False)
    wrong = [a for a in (call.send(None), call.send("st_" + "0" * 64), call.send("ss_" + "0" * 64))
             if differs(a, 401, "unauthenticated") or "WWW-Authenticate" not in a.headers]
    tap.ok(not wrong, f"{row.operation}: 401 without a token, with a wrong one, with a session that "
           "nobody has", wrong)
    if row.method == "GET" or "safe" in row.flags:
        return
    who = world.of("admin", "session")
    world.refresh(who)
    for headers in ({"Origin": "https://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = call.send(who.secret, headers=headers)
        if differs(answer, 403, "cross-origin"):
            wrong.append(answer)
    tap.ok(not wrong, f"{row.operation}: refused when another site's page sends the cookie", wrong)


def check_tenants(tap, world, row):
    """Another tenant is as one that is not there."""
    for role in ("tenant-admin", "tenant-user"):
        for kind in ("token", "session"):
            who = world.of(role, kind)
            world.refresh(who)
            call = Call(world, row, who, prepared=False)
            there, absent = (call.send(who.secret, {"tenant": t}) for t in ("b", "nobody"))
            same = {k: v for k, v in there.json.items() if k not in ("request_id", "detail")} == \
                {k: v for k, v in absent.json.items() if k not in ("request_id", "detail")} and \
                there.json["detail"].replace("'b'", "'nobody'") == absent.json["detail"]
            tap.ok(there.status == absent.status == 404 and same,
                   f"{row.operation}: another tenant is 404 for {who}", (there, absent))


def check_route(tap, world, row):
    if row.operation not in SAMPLES and row.method != "GET":
        tap.ok(False, f"{row.operation} has a sample call", f"a new route: put a row for "
               f"'{row.operation}' with a call that succeeds into SAMPLES of tests/api/role_samples.py")
        return
    if "open" in row.flags:
        who = Caller("nobody", "token")
        call = Call(world, row, who)
        answer = call.send(None)
        tap.ok(not differs(answer, *call.wanted()), f"{row.operation} needs no token", answer)
        return
    check_strangers(tap, world, row)
    wrong = list(filter(None, [check_cell(world, row, who) for who in world.callers]))
    tap.ok(not wrong, f"{row.operation}: {', '.join(sorted(row.roles))} and nobody else, by token, "
           "session and read-only token", "\n".join(wrong))
    if "tenant" in row.flags:
        check_tenants(tap, world, row)


def check_tokens(tap, server, auditor):
    for bad in ("", "x", "st_" + "0" * 64, auditor[:-1], auditor + "0", auditor.upper()):
        tap.status(server.get("/v1/fabric", token=bad), 401, f"token '{bad[:6]}...' is unknown")
    for scheme in ("Basic abc", "Bearer", auditor):
        answer = server.call("GET", "/v1/fabric", headers={"Authorization": scheme}, token=None)
        tap.ok(answer.status == 401 and "WWW-Authenticate" in answer.headers,
               f"'{scheme[:8]}' is no bearer token", answer)


def main():
    args, tap = arguments(), Tap()
    server = Server(args).start()
    world = World(server)
    rows = list(table(args))
    for row in rows:
        try:
            check_route(tap, world, row)
        except (AssertionError, KeyError, TypeError) as e:
            tap.ok(False, f"{row.operation} can be called", f"its sample in tests/api/role_samples.py: {e!r}")
    tap.equal(sorted(set(SAMPLES) - {row.operation for row in rows}), [],
              "there is no sample of a route that is gone")
    tap.equal([k for k, s in SAMPLES.items() if not s.why and (
        isinstance(s.status, dict) or isinstance(s.status, tuple))], [],
              "a sample that does not succeed says why")
    check_tokens(tap, server, world.of("auditor").secret)
    finish(tap, server)
    tap.done()


main()
