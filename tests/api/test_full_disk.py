#!/usr/bin/env python3
"""The store's file cannot grow: uploads get a problem, reads go on, nothing answered is lost."""
import json
import resource
import signal

from lib import FABRIC, Server, Tap, arguments, finish, must, planned

ROOM_BYTES = 3 * 1024 * 1024


def no_room():
    """For the child: a file that grows over the limit gives an error instead of the signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM_BYTES, ROOM_BYTES))


def policy(number):
    return {"qos_policy": {f"job_{i}": {"priority": 3, "description": f"{number} " + "x" * 1000}
                           for i in range(40)}}


def main():
    args, tap = arguments(), Tap()
    server = Server(args)
    server.start(preexec=no_room)
    must(server.put("/v1/fabric", FABRIC), 201)
    must(server.put("/v1/tenants/a", {}), 201)
    token = server.node("n1")
    etag, stored, refused = None, 0, []
    for number in range(1, 400):
        answer = server.put("/v1/tenants/a/policy", policy(number), etag)
        if answer.status in (200, 201):
            etag, stored = answer.etag, number
        else:
            refused.append(answer)
            if len(refused) == 5:
                break
    tap.ok(stored > 10 and len(refused) == 5, f"after {stored} uploads there is no room", refused)
    tap.ok(all(a.status in (500, 503, 507) and json.loads(a.body)["code"] and
               a.headers["Content-Type"].startswith("application/problem+json") for a in refused),
           "each refused upload is a problem of the server", refused[:1])
    tap.ok(server.data not in str([a.body for a in refused]), "that shows no path of the machine")
    tap.ok(server.proc.poll() is None, "the server lives")
    got = must(server.get("/v1/tenants/a/policy"), 200)
    tap.equal((got.json, got.etag), (policy(stored), etag), "reads give the last stored policy")
    tap.equal(server.get("/v1/tenants/a/policy/revisions?page_size=1").json["items"][0]["number"],
              int(etag.strip('"')), "and its history")
    tap.equal(server.get("/healthz", token=None).status, 200, "it says that it is alive")
    planned(server, "n1")
    tap.status(server.get("/v1/agent/plan", token=token), 200, "agents still get their plan")
    tap.status(server.put("/v1/tenants/a/policy", {"qos_policy": {}}, etag), 422,
               "a wrong policy is still told what is wrong")
    dry = server.call("PUT", "/v1/tenants/a/policy?dry_run=1", policy(0), {"If-Match": etag})
    tap.status(dry, 200, "a dry run still works")
    code = server.stop()
    tap.equal(code, 0, "it ends cleanly")
    server.start()
    got = must(server.get("/v1/tenants/a/policy"), 200)
    tap.equal((got.json, got.etag), (policy(stored), etag), "with room again nothing is lost")
    must(server.put("/v1/tenants/a/policy", policy(1000), etag), 200)
    tap.ok(True, "and uploads go on")
    finish(tap, server)
    tap.done()


main()
