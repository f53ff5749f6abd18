#!/usr/bin/env python3
"""Users, sessions and tokens: who gets in, with what, for how long, and what nobody can tell."""
import os
import statistics
import subprocess
import threading
import time

import lib
from lib import PASSWORD, Server, must, run

lib.CALL_S *= 4  # many passwords at once take their time on a small machine
OTHER = "another horse battery"
EVIL = {"Origin": "https://evil.test"}


def problem(tap, answer, status, code, sentence):
    return tap.ok(answer.status == status and answer.json.get("code") == code, sentence,
                  f"got {answer}, wanted {status} {code}")


def login(server, name, password=PASSWORD, **kw):
    return server.call("POST", "/v1/session", {"name": name, "password": password}, token=None, **kw)


def patch(server, name, body, token="admin"):
    etag = server.get(f"/v1/users/{name}", token=token).etag
    return server.call("PATCH", f"/v1/users/{name}", body, {"If-Match": etag}, token=token)


def delete(server, name, token="admin"):
    etag = server.get(f"/v1/users/{name}", token=token).etag
    return server.call("DELETE", f"/v1/users/{name}", None, {"If-Match": etag}, token=token)


def token(server, by="admin", **body):
    return server.call("POST", "/v1/tokens", body, token=by)


def sessions_begin_and_end(tap, server):
    server.user("ann", "operator", description="night shift")
    answer = login(server, "ann")
    cookie = answer.headers["Set-Cookie"]
    tap.ok(cookie.startswith("__Host-stellar=ss_") and
           all(part in cookie for part in ("; Path=/", "; Secure", "; HttpOnly", "; SameSite=Strict"))
           and "Domain" not in cookie, "the cookie is the server's alone", cookie)
    first = cookie.split(";")[0].split("=", 1)[1]
    second = server.login("ann")
    tap.ok(first != second, "each login is a new session")
    tap.ok(first not in answer.body.decode(), "the body does not hold the secret")
    who = server.get("/v1/session", token=first).json
    tap.equal([who["user"], who["role"], who["by"]], ["ann", "operator", "session"],
              "the session is ann's")
    tap.status(server.put("/v1/tenants/a", {}, token=first), 201, "ann may what an operator may")
    problem(tap, server.put("/v1/tenants/b", {}, token=first, headers=EVIL), 403, "cross-origin",
            "another site's page changes nothing with her cookie")
    problem(tap, server.call("GET", "/v1/session", headers={"Authorization": "Bearer " + first},
                             token=None), 401, "unauthenticated", "a cookie's value is no token")
    tap.status(server.call("DELETE", "/v1/session", token=first), 204, "ann logs out")
    problem(tap, server.get("/v1/session", token=first), 401, "unauthenticated",
            "her session has ended")
    tap.status(server.get("/v1/session", token=second), 200, "her other one has not")
    third = server.login("ann")
    tap.status(server.call("DELETE", "/v1/users/ann/sessions", token=third), 204,
               "she ends all of hers")
    tap.equal([server.get("/v1/session", token=t).status for t in (second, third)], [401, 401],
              "all have ended")
    many = [server.login("ann") for _ in range(21)]
    tap.equal([server.get("/v1/session", token=t).status for t in (many[0], many[1], many[20])],
              [401, 200, 200], "the 21st session ends the oldest")
    server.stop()
    server.start()
    tap.status(server.get("/v1/session", token=many[20]), 200, "a session outlives a restart")
    server.call("DELETE", "/v1/session", token=many[20])
    server.stop()
    server.start()
    tap.status(server.get("/v1/session", token=many[20]), 401, "an ended one stays ended")


def passwords_are_judged_and_changed(tap, server):
    for password, sentence in (("x" * 11, "11 bytes are too short"), ("x" * 129, "129 are too long"),
                               ("longusername1", "the user's own name is none")):
        problem(tap, server.call("POST", "/v1/users", {"name": "longusername1", "role": "auditor",
                                                       "password": password}), 422, "user-refused",
                f"a password: {sentence}")
    for n, size in enumerate((12, 128)):
        server.user(f"u{n}", "auditor", "x" * size)
        tap.status(login(server, f"u{n}", "x" * size), 200, f"{size} bytes are a password")
    server.user("ann", "auditor")
    session, own = server.login("ann"), token(server, server.login("ann"), role="auditor").json
    path = "/v1/users/ann/password"
    problem(tap, server.call("POST", path, {"new": OTHER}, token=session), 422, "password-refused",
            "one's own password needs the old one")
    problem(tap, server.call("POST", path, {"old": OTHER, "new": OTHER}, token=session), 422,
            "password-refused", "the old one must be right")
    tap.status(server.call("POST", path, {"old": PASSWORD, "new": OTHER}, token=session), 204,
               "it is changed")
    tap.status(server.get("/v1/session", token=session), 401, "the sessions have ended")
    tap.status(server.get("/v1/session", token=own["token"]), 200, "the tokens have not")
    problem(tap, login(server, "ann"), 401, "login-failed", "the old password is none")
    tap.status(login(server, "ann", OTHER), 200, "the new one is")
    tap.status(server.call("POST", path, {"new": PASSWORD, "end_tokens": True}), 204,
               "an admin resets it")
    tap.status(server.get("/v1/session", token=own["token"]), 401, "and ends the tokens when asked")
    with open(os.path.join(server.data, "stellar.db"), "rb") as f:
        stored = f.read()
    with open(os.path.join(server.data, "stellar.db-wal"), "rb") as f:
        stored += f.read()
    tap.ok(PASSWORD.encode() not in stored and b"$argon2id$" in stored and
           session.encode() not in stored, "the store has hashes only")
    tap.ok(PASSWORD not in server.log_text() and session not in server.log_text(),
           "the log has no secret")


def users_come_and_go(tap, server):
    server.user("ann", "operator")
    problem(tap, server.call("POST", "/v1/users", {"name": "ann", "role": "auditor",
                                                   "password": PASSWORD}), 409, "exists",
            "a name is one user's")
    for name, role in (("x y", "auditor"), ("", "auditor"), ("a" * 33, "auditor"), ("ann@", "tenant-user"),
                       ("ann", "tenant-user"), ("ann@a", "operator"), ("ann@nobody", "tenant-user"),
                       ("ann@a@b", "tenant-user")):
        problem(tap, server.call("POST", "/v1/users", {"name": name, "role": role,
                                                       "password": PASSWORD}), 422, "user-refused",
                f"'{name}' is no {role}")
    server.user("a" * 32, "auditor")
    session = server.login("ann")
    own = token(server, session, role="operator").json["token"]
    problem(tap, server.call("PATCH", "/v1/users/ann", {"disabled": True}, {"If-Match": '"9"'}), 412,
            "precondition-failed", "a stale etag changes nothing")
    answer = patch(server, "ann", {"disabled": True})
    tap.ok(answer.status == 200 and answer.json["disabled"], "ann is disabled", answer)
    tap.equal([server.get("/v1/session", token=t).status for t in (session, own)], [401, 401],
              "her session and her token are refused")
    problem(tap, login(server, "ann"), 401, "login-failed", "so is her password")
    server.stop()
    server.start()
    tap.status(server.get("/v1/session", token=own), 401, "the token stays refused over a restart")
    patch(server, "ann", {"disabled": False})
    tap.equal([server.get("/v1/session", token=t).status for t in (session, own)], [401, 200],
              "enabled again, the token is good, the session is not")
    tap.status(patch(server, "ann", {"role": "auditor"}), 200, "her role changes")
    tap.status(server.get("/v1/session", token=own), 401, "what was made with the old one ends")
    tap.equal(server.get("/v1/session", token=server.login("ann")).json["role"], "auditor",
              "she is an auditor now")
    own = token(server, server.login("ann"), role="auditor").json["token"]
    tap.status(delete(server, "ann"), 204, "ann is deleted")
    tap.status(server.get("/v1/session", token=own), 401, "and her token with her")
    tap.ok(not any(t.get("owner") == "ann" for t in server.get("/v1/tokens").json["items"]),
           "it is not listed any more")
    actions = {a["action"] for a in server.get("/v1/audit").json["items"]}
    tap.ok({"user.post", "user.patch", "user.delete", "session.post", "token.post"} <= actions,
           "all of it is in the audit", actions)


def the_last_admin_stays(tap, server):
    first = [t for t in server.get("/v1/tokens").json["items"] if t["role"] == "admin"][0]["id"]
    problem(tap, server.call("DELETE", f"/v1/tokens/{first}"), 409, "last-admin",
            "the only admin's token cannot be ended")
    token(server, role="admin", lifetime_s=3600)
    token(server, role="admin", sources=["10.0.0.0/8"])
    token(server, role="admin", scopes=["read", "write"], lifetime_s=1)
    problem(tap, server.call("DELETE", f"/v1/tokens/{first}"), 409, "last-admin",
            "tokens that end, or are bound, are no way in")
    server.user("root", "admin")
    session = server.login("root")
    tap.status(server.call("DELETE", f"/v1/tokens/{first}", token=session), 204,
               "with an admin who can log in it can")
    problem(tap, patch(server, "root", {"disabled": True}, session), 409, "last-admin",
            "the only admin cannot be disabled")
    problem(tap, patch(server, "root", {"role": "operator"}, session), 409, "last-admin",
            "nor become something else")
    problem(tap, delete(server, "root", session), 409, "last-admin", "nor be deleted")
    tap.status(server.get("/v1/users/root", token=session), 200, "root is as before")
    server.stop()
    command = [os.path.join(server.args.objdir, "stellard"), "--data", server.data,
               "--new-admin-token"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=lib.CALL_S, check=False)
    tap.ok(made.returncode == 0, "a new admin's token is made without a server", made)
    server.start()
    tap.status(server.get("/v1/users"), 200, "and is good")
    tap.ok(any(a["reason"] == "new admin's token" for a in server.get("/v1/audit").json["items"]
               if "reason" in a), "and in the audit")
    made = subprocess.run(command, capture_output=True, text=True, timeout=lib.CALL_S, check=False)
    tap.ok(made.returncode == 1 and "in use by process" in made.stderr, "not while a server runs", made)
    tap.status(server.get("/v1/users"), 200, "whose token stays")
    made = subprocess.run(command[:2] + [server.data + "/none", command[3]], capture_output=True,
                          text=True, timeout=lib.CALL_S, check=False)
    tap.ok(made.returncode == 1 and "no store" in made.stderr, "nor where no store is", made)


def tokens_are_bound(tap, server):
    must(server.put("/v1/tenants/a", {}), 201)
    read = token(server, role="admin", scopes=["read"]).json["token"]
    tap.status(server.get("/v1/tenants", token=read), 200, "a read token reads")
    problem(tap, server.put("/v1/tenants/b", {}, token=read), 403, "scope", "and changes nothing")
    write = token(server, role="admin", scopes=["write"]).json["token"]
    problem(tap, server.get("/v1/tenants", token=write), 403, "scope", "a write token reads nothing")
    tap.status(server.put("/v1/tenants/b", {}, token=write), 201, "and writes")
    far = token(server, role="admin", sources=["10.0.0.0/8", "2001:db8::/32"]).json["token"]
    unknown, bound = server.get("/v1/tenants", token="st_" + "0" * 64), server.get("/v1/tenants",
                                                                                  token=far)
    tap.equal((bound.status, bound.json["code"], bound.json["detail"]),
              (unknown.status, unknown.json["code"], unknown.json["detail"]),
              "from elsewhere a token is as unknown as any")
    near = token(server, role="admin", sources=["127.0.0.0/8"]).json["token"]
    tap.status(server.get("/v1/tenants", token=near), 200, "from its source it is good")
    short = token(server, role="admin", lifetime_s=1).json["token"]
    tap.status(server.get("/v1/tenants", token=short), 200, "a short token is good for its time")
    for bad in ({"scopes": []}, {"scopes": ["read", "read"]}, {"scopes": ["all"]}, {"scopes": [1]},
                {"sources": []}, {"sources": ["10.0.0.1/8"]}, {"sources": ["x"]}, {"sources": [1]},
                {"sources": ["10.0.0.0/8"] * 9}, {"lifetime_s": 0}, {"tenant": "a"}, {"what": 1}):
        problem(tap, token(server, role="admin", **bad), 422, "token-refused", f"{bad} is refused")
    tap.status(token(server, role="admin", sources=["10.0.0.0/8"] * 8), 201, "8 sources are taken")
    child = token(server, near, role="operator").json
    tap.equal(child["sources"], ["127.0.0.0/8"], "a token's child is bound to its sources")
    problem(tap, token(server, near, role="operator", sources=["0.0.0.0/0"]), 422, "token-refused",
            "and to no more")
    tap.equal(token(server, near, role="operator", sources=["127.0.0.1"]).json["sources"],
              ["127.0.0.1/32"], "but to less")
    parent = token(server, role="admin", lifetime_s=600).json
    tap.equal(token(server, parent["token"], role="admin").json["expires"], parent["expires"],
              "a token's child ends with it")
    operator = token(server, role="operator").json
    problem(tap, token(server, operator["token"], role="admin"), 422, "token-refused",
            "an operator makes no admin")
    problem(tap, token(server, operator["token"], role="auditor"), 422, "token-refused",
            "nor an auditor, who reads more")
    items = server.get("/v1/tokens", token=operator["token"]).json["items"]
    tap.equal([t["id"] for t in items], [operator["id"]], "a token of nobody sees itself alone")
    tap.status(server.get(f"/v1/tokens/{parent['id']}", token=operator["token"]), 404,
               "no other one is there for it")
    tap.status(server.call("DELETE", f"/v1/tokens/{parent['id']}", token=operator["token"]), 404,
               "nor can it end one")
    tap.ok("last_used" in server.get(f"/v1/tokens/{operator['id']}").json, "its last use is known")
    server.stop()
    server.start()
    tap.ok("last_used" in server.get(f"/v1/tokens/{operator['id']}").json,
           "and kept over a restart")
    tap.equal([server.get("/v1/tenants", token=t).status for t in (near, far, write, read)],
              [200, 401, 403, 200], "so are sources and scopes")
    time.sleep(1.1)
    tap.status(server.get("/v1/tenants", token=short), 401, "a token ends at its time")
    server.user("ann", "operator")
    session = server.login("ann")
    made = [token(server, session, role="operator") for _ in range(100)]
    tap.equal({m.status for m in made}, {201}, "a user has 100 tokens")
    problem(tap, token(server, session, role="operator"), 422, "token-refused", "and not 101")
    tap.equal(len(server.get("/v1/tokens?page_size=1000", token=session).json["items"]), 100,
              "she sees hers")


def tenants_manage_their_own(tap, server):
    for tenant in "ab":
        must(server.put(f"/v1/tenants/{tenant}", {}), 201)
        server.user(f"boss@{tenant}", "tenant-admin")
    server.user("root", "admin")
    boss, other = server.login("boss@a"), server.login("boss@b")
    tap.status(server.call("POST", "/v1/users", {"name": "ann@a", "role": "tenant-user",
                                                 "password": PASSWORD}, token=boss), 201,
               "a tenant-admin makes users")
    for name, role in (("ann@b", "tenant-user"), ("ann", "operator"), ("ann@a", "admin"),
                       ("ann@nobody", "tenant-user")):
        problem(tap, server.call("POST", "/v1/users", {"name": name, "role": role,
                                                       "password": PASSWORD}, token=boss), 422,
                "user-refused", f"but not {name} as {role}")
    names = [u["name"] for u in server.get("/v1/users", token=boss).json["items"]]
    tap.equal(names, ["ann@a", "boss@a"], "and sees the tenant's")
    head = {"X-Request-Id": "same", "If-Match": '"1"'}
    for method, path, body in (("GET", "", None), ("PATCH", "", {"disabled": True}),
                               ("DELETE", "", None), ("POST", "/password", {"new": OTHER}),
                               ("DELETE", "/sessions", None)):
        seen = {server.call(method, f"/v1/users/{name}{path}", body, head, token=boss).body
                for name in ("boss@b", "root", "nobody", "x@b", "x" * 120)}
        tap.ok(len(seen) == 1 and b'"status":404' in seen.copy().pop(),
               f"{method} {path}: strangers are as absent as nobody", seen)
    tap.status(server.get("/v1/session", token=other), 200, "and nothing happened to them")
    ann = server.login("ann@a")
    tap.status(server.call("POST", "/v1/users/ann@a/password", {"new": OTHER}, token=boss), 204,
               "a tenant-admin resets a password")
    tap.status(server.get("/v1/session", token=ann), 401, "which ends sessions")
    ann = server.login("ann@a", OTHER)
    problem(tap, server.get("/v1/users", token=ann), 403, "denied", "a tenant-user manages nobody")
    problem(tap, token(server, ann, role="tenant-admin"), 422, "token-refused",
            "nor makes more of herself")
    mine = token(server, ann, role="tenant-user").json
    tap.equal((mine["tenant"], mine["owner"]), ("a", "ann@a"), "her token is her tenant's and hers")
    theirs = token(server, other, role="tenant-user", service=True).json
    tap.ok("owner" not in theirs, "a service token is nobody's", theirs)
    problem(tap, token(server, ann, role="tenant-user", service=True), 422, "token-refused",
            "a tenant-user makes none")
    problem(tap, token(server, boss, role="tenant-user", tenant="b"), 422, "token-refused",
            "no tenant makes tokens of another")
    staff = token(server, role="tenant-user", tenant="a").json
    listed = server.get("/v1/tokens", token=boss).json["items"]
    tap.equal(sorted(t["id"] for t in listed), sorted([mine["id"], staff["id"]]),
              "a tenant-admin sees the tenant's tokens")
    tap.ok(all("token:" not in t.get("created_by", "") for t in listed),
           "and not who of the staff made one", listed)
    for method in ("GET", "DELETE"):
        seen = {server.call(method, f"/v1/tokens/{i}", None, head, token=boss).body
                for i in (theirs["id"], "nothing", "0" * 16)}
        tap.ok(len(seen) == 1, f"{method}: another's token is as absent as none", seen)
    text = server.get("/v1/audit", token=boss).body + server.get("/v1/events", token=boss).body
    tap.ok(b"boss@a" in text and b"@b" not in text and b"root" not in text,
           "the audit that a tenant sees names nobody else", text)
    etag = server.get("/v1/tenants/a").etag
    must(server.call("DELETE", "/v1/tenants/a", None, {"If-Match": etag}), 200, 204)
    tap.equal([server.get("/v1/session", token=t).status
               for t in (boss, ann, mine["token"], other)], [401, 401, 401, 200],
              "with the tenant all that is its own ends")
    problem(tap, login(server, "boss@a"), 401, "login-failed", "its users are gone")


def at_once(calls):
    """Runs them in threads of their own; their answers in any order."""
    answers, lock = [], threading.Lock()

    def one(call):
        answer = call()
        with lock:
            answers.append(answer)

    threads = [threading.Thread(target=one, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def guess(server, name, times):
    """The statuses of wrong logins at once, and a refusal for their number."""
    answers = at_once([lambda: login(server, name, "wrong password")] * times)
    refused = [a for a in answers if a.status == 429]
    return sorted(a.status for a in answers), refused[0] if refused else None


def new_passwords_leave_logins_their_share(tap, server):
    must(server.put("/v1/tenants/a", {}), 201)
    server.user("ann", "auditor")
    server.user("boss@a", "tenant-admin")
    boss = server.login("boss@a")
    calls = [lambda i=i: ("user", server.call("POST", "/v1/users", {
        "name": f"u{i}@a", "role": "tenant-user", "password": PASSWORD}, token=boss))
        for i in range(12)]
    answers = at_once(calls + [lambda: ("login", login(server, "ann"))])
    made = [a for kind, a in answers if kind == "user"]
    refused = [a for a in made if a.status == 429]
    tap.ok({a.status for a in made} == {201, 429}, "users made all at once are too many",
           [a.status for a in made])
    problem(tap, refused[0], 429, "rate-limited", "which the answer says")
    tap.ok(int(refused[0].headers["Retry-After"]) >= 1, "and when to come again")
    tap.equal([a.status for kind, a in answers if kind == "login"], [200], "a login passes them")
    changes = at_once([lambda: server.call("POST", "/v1/users/ann/password", {"new": OTHER})] * 8)
    tap.equal({a.status for a in changes}, {204, 429}, "new passwords for others are bounded too")
    tap.status(server.call("POST", "/v1/users", {"name": "last", "role": "auditor",
                                                 "password": PASSWORD}), 201,
               "one after the other is no matter")


def changes_of_people_are_events(tap, server):
    must(server.put("/v1/tenants/a", {}), 201)

    def heard(by="admin"):
        items = must(server.get("/v1/events?page_size=1000&kinds=user.*,token.*,session.*",
                                token=by), 200).json["items"]
        return [(e["kind"].split(".")[0], e["body"]["action"], e["subject"]) for e in items]

    server.user("ann", "operator")
    server.user("boss@a", "tenant-admin")
    ann, boss = server.login("ann"), server.login("boss@a")
    server.user("eve@a", "tenant-user")
    eve = server.login("eve@a")
    made = token(server, ann, role="operator").json
    of_eve = token(server, eve, role="tenant-user").json
    free = server.token("auditor")
    must(patch(server, "ann", {"description": "nights"}), 200)
    must(server.call("DELETE", f"/v1/tokens/{of_eve['id']}", token=eve), 204)
    ids = {n: server.get("/v1/session", token=s).json["id"] for n, s in
           (("ann", ann), ("boss@a", boss), ("eve@a", eve))}
    of_ann = [("user", "user.post", "user/ann"),
              ("session", "session.post", f"user/ann/session/{ids['ann']}"),
              ("token", "token.post", f"user/ann/token/{made['id']}"),
              ("user", "user.patch", "user/ann")]
    e = "tenant/a/user/eve@a"
    eves = [("user", "user.post", e), ("session", "session.post", f"{e}/session/{ids['eve@a']}"),
            ("token", "token.post", f"{e}/token/{of_eve['id']}"),
            ("token", "token.delete", f"{e}/token/{of_eve['id']}")]
    b = "tenant/a/user/boss@a"
    everything = heard()
    tap.ok(set(of_ann + eves) <= set(everything) and
           ("token", "token.post", f"token/{free['id']}") in everything, "an admin hears of all",
           everything)
    tap.equal(heard(ann), of_ann, "a person of itself")
    tap.equal(heard(made["token"]), of_ann, "also with its token")
    tap.equal(heard(eve), eves, "a tenant's person too")
    tap.equal(sorted(heard(boss)), sorted(eves + [("user", "user.post", b), (
        "session", "session.post", f"{b}/session/{ids['boss@a']}")]), "its admin of its people")
    tap.equal(heard(free["token"]), [], "a token of nobody of none")
    page = must(server.get("/v1/events?page_size=1000", token=free["token"]), 200).json["items"]
    tap.equal([i["kind"] for i in page], ["tenant.changed"], "without a filter neither")
    must(server.call("DELETE", "/v1/session", token=ann), 204)
    must(server.call("POST", "/v1/users/ann/password", {"new": OTHER}), 204)
    must(server.call("DELETE", "/v1/users/eve@a/sessions", token=eve), 204)
    must(delete(server, "ann"), 204)
    tap.equal(heard()[-4:], [
        ("session", "session.delete", f"user/ann/session/{ids['ann']}"),
        ("user", "user.password", "user/ann"), ("session", "user.sessions", e),
        ("user", "user.delete", "user/ann")], "ends are told too")
    text = must(server.get("/v1/events?page_size=1000"), 200).body.decode()
    tap.ok(not [s for s in (ann, boss, eve, made["token"], PASSWORD, OTHER, "argon2") if s in text],
           "no secret is in them")


def guessing_is_slow(tap, server):
    server.user("ann", "auditor")
    statuses, refused = guess(server, "ann", 12)
    tap.ok(set(statuses) == {401, 429} and 6 <= statuses.count(401) <= 9,
           "six guesses, then a wait", statuses)
    problem(tap, refused, 429, "too-many-attempts", "which says so")
    tap.ok(int(refused.headers["Retry-After"]) >= 1, "and how long")
    while refused is None or int(refused.headers["Retry-After"]) < 4:
        _, refused = guess(server, "ann", 3)
    waiting = login(server, "ann")
    problem(tap, waiting, 429, "too-many-attempts", "the right password waits too")
    tap.status(login(server, "bob", "wrong password"), 401, "another name does not")
    end = time.monotonic() + lib.CALL_S
    while login(server, "ann").status == 429 and time.monotonic() < end:
        time.sleep(0.2)
    tap.equal([login(server, "ann", "wrong password").status for _ in range(3)], [401] * 3,
              "after the wait she got in, and her count starts anew")
    statuses, _ = guess(server, "nobody", 12)
    tap.ok(set(statuses) == {401, 429} and 6 <= statuses.count(401) <= 9,
           "a name that nobody has is slowed the same", statuses)
    for name in ("", "x" * 97, 7):
        problem(tap, login(server, name), 422, "login-refused", f"{str(name)[:9]!r} is no name")
    problem(tap, login(server, "ann", "x" * 129), 422, "login-refused", "129 bytes are no password")
    tap.status(server.call("POST", "/v1/session", b"name=ann", {"Content-Type": "text/plain"},
                           token=None), 415, "a form of another site is no login")


def median_ms(call, times):
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def times_tell_nothing(tap, server):
    must(server.put("/v1/tenants/a", {}), 201)
    must(server.put("/v1/tenants/b", {}), 201)
    server.user("ann", "auditor")
    server.user("off", "auditor", disabled=True)
    server.user("u@b", "tenant-user")
    boss = server.token("tenant-admin", "a")["token"]
    logins = {name: median_ms(lambda n=name: login(server, n, "wrong password"), 5)
              for name in ("ann", "off", "nobody")}
    tap.ok(max(logins.values()) < 3 * min(logins.values()) + 5,
           "a login takes as long for nobody as for somebody", logins)
    for what, there, absent in (("user", "/v1/users/u@b", "/v1/users/u@c"),
                                ("tenant", "/v1/tenants/b", "/v1/tenants/c"),
                                ("token", "/v1/tokens/" + server.token("auditor")["id"],
                                 "/v1/tokens/0123456789abcdef")):
        times = [median_ms(lambda p=path: server.get(p, token=boss), 200) for path in (there, absent)]
        tap.ok(max(times) < 3 * min(times) + 1, f"a strange {what} takes as long as none", times)


def rates_are_kept(tap, server):
    server.stop()
    server.options = ["--rate-token", "20", "--rate-tenant", "30"]
    server.start()
    for tenant in "ab":
        answer = server.put(f"/v1/tenants/{tenant}", {})
        must(answer, 201)
    one, two = (server.token("tenant-user", "a")["token"] for _ in range(2))
    other = server.token("tenant-user", "b")["token"]

    def until_limited(secret):
        for i in range(1000):
            answer = server.get("/v1/tenants", token=secret)
            if answer.status != 200:
                return i, answer
        return 1000, None

    count, answer = until_limited(one)
    problem(tap, answer, 429, "rate-limited", "a token over its rate is told so")
    tap.ok(int(answer.headers["Retry-After"]) >= 1, "and when to come again")
    tap.ok(40 <= count < 80, "its burst is two seconds' worth", count)
    count, _ = until_limited(two)
    tap.ok(count < 40, "a second token of the tenant gets what is left of the tenant's", count)
    count, _ = until_limited(other)
    tap.ok(40 <= count < 80, "another tenant is not touched", count)
    tap.status(server.get("/healthz", token=None), 200, "what is open stays open")
    bad = subprocess.run([os.path.join(server.args.objdir, "stellard"), "--data", server.data,
                          "--rate-token", "x"], capture_output=True, text=True, timeout=lib.CALL_S,
                         check=False)
    tap.ok(bad.returncode == 2 and "--rate-token: 'x'" in bad.stderr, "a rate is a number", bad)


def one_address_is_slowed_over_names(tap, server):
    """Whatever it says of itself: what a client sends as its address is not looked at."""
    answers = at_once([lambda n=n: login(server, f"user{n}@nobody", "wrong password",
                                         headers={"X-Forwarded-For": f"10.0.0.{n}"})
                       for n in range(50)])
    statuses = [a.status for a in answers]
    tap.equal(len(statuses), 50, "each is answered")
    tap.ok(set(statuses) <= {401, 429} and 31 <= statuses.count(401) <= 40,
           "31 names, then a wait", sorted(statuses))
    tap.status(server.get("/v1/tenants"), 200, "the server serves")


run([sessions_begin_and_end, passwords_are_judged_and_changed, users_come_and_go,
     the_last_admin_stays, tokens_are_bound, tenants_manage_their_own,
     changes_of_people_are_events, new_passwords_leave_logins_their_share,
     guessing_is_slow,
     times_tell_nothing, rates_are_kept, one_address_is_slowed_over_names])
