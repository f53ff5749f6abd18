#!/usr/bin/env python3
"""What must be the same after a clean stop and start."""
import os
import stat
import subprocess

from lib import Agent, POLICY, Server, Tap, arguments, finish, fixture, must, planned

CHANGED = {"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": "50%"}}}


def picture(server):
    paths = ("/v1/fabric", "/v1/tenants", "/v1/tenants/a", "/v1/tenants/a/policy",
             "/v1/tenants/a/policy/revisions", "/v1/tenants/a/policy/revisions/1",
             "/v1/tenants/a/placements", "/v1/tenants/a/placements/nlp_job", "/v1/nodes/n1/inventory",
             "/v1/nodes/n1/state", "/v1/nodes/n1/receipts", "/v1/audit", "/v1/events", "/v1/tokens",
             "/v1/generations/current")
    return {p: (a.status, a.etag, a.body) for p in paths for a in [server.get(p)]}


def lost_store(tap, args):
    """A folder where a server has run, without its store: no silent start from nothing."""
    server = Server(args).start()
    server.put("/v1/tenants/a", {})
    server.kill()
    token = open(os.path.join(server.data, "admin.token")).read()
    for name in ("stellar.db", "stellar.db-wal", "stellar.db-shm"):
        if os.path.exists(os.path.join(server.data, name)):
            os.unlink(os.path.join(server.data, name))
    out = subprocess.run([os.path.join(args.objdir, "stellard"), "--data", server.data, "--listen",
                          "127.0.0.1:0"], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(out.returncode == 1 and "lost" in out.stderr and "Restore" in out.stderr,
           "a lost store is said, not replaced in silence", out)
    tap.equal(open(os.path.join(server.data, "admin.token")).read(), token,
              "and admin.token stays as it was")
    server.start()  # removes url, as the message says
    tap.status(server.get("/v1/tenants/a"), 404, "without url it starts anew")
    finish(tap, server, "and ends cleanly")


def drift(tap, server, agent):
    """A state that differed from the plan is not forgotten, one before the last receipt is."""
    def sync():
        planned(server, "n1")
        return server.get("/v1/nodes/n1").json["sync"]

    def restart():
        must_be_zero = server.stop()
        server.start()
        return must_be_zero

    must(agent.state(lambda knob: knob.update(live=0) if knob["kind"] == "dcb.ets" else None), 200)
    tap.equal(sync(), "pending", "a node whose state differs is not in sync")
    tap.equal((restart(), sync()), (0, "pending"), "nor is it after a restart")
    must(agent.state(), 200)
    tap.equal((sync(), restart(), sync()), ("in-sync", 0, "in-sync"), "a good state ends that")
    must(agent.state(lambda knob: knob.update(live=0) if knob["kind"] == "dcb.ets" else None), 200)
    server.stop()
    server.start()
    must(agent.receipt("drift"), 201)
    tap.equal((sync(), restart(), sync()), ("in-sync", 0, "in-sync"),
              "and so does a receipt, whatever the state before it was")


def main():
    args, tap = arguments(), Tap()
    server = Server(args).start()
    agent, tokens = fixture(server)
    mode = stat.S_IMODE(os.stat(os.path.join(server.data, "admin.token")).st_mode)
    tap.equal(mode, 0o600, "the admin's token is for its owner only")
    tap.ok(server.admin not in server.log_text(), "and is not in the log")
    must(agent.receipt(), 201)
    short = server.call("POST", "/v1/tokens", {"role": "auditor", "lifetime_s": 3600}).json["token"]
    before, node, digest = picture(server), server.get("/v1/nodes/n1").json, agent.digest
    before["/v1/tokens"] = before["/v1/audit"] = None
    admin = server.admin

    second = Server(args, server.data)
    try:
        second.start()
        tap.ok(False, "a second server in the folder is refused")
        second.stop()
    except RuntimeError as e:
        tap.ok(str(server.proc.pid) in str(e), "a second server is refused with the first's pid", e)
    open(os.path.join(server.data, "url"), "w").write(f"http://127.0.0.1:{server.port}\n")

    tap.equal(server.stop(), 0, "SIGTERM ends it with 0")
    server.start()
    planned(server, "n1")
    tap.equal(server.admin, admin, "the admin's token is the same")
    after = picture(server)
    after["/v1/tokens"] = after["/v1/audit"] = None
    for path in before:
        tap.equal(after[path], before[path], f"{path} is as it was")
    again = server.get("/v1/nodes/n1").json
    tap.equal((again["digest"], again["in_sync"]), (node["digest"], True),
              "the same plan, still in sync, before the agent has spoken")
    for role, token in tokens.items():
        if role != "id":
            path = "/v1/agent/plan" if role == "agent" else "/v1/tenants/a/policy"
            tap.status(server.get(path, token=token), 200, f"{role}'s token still works")
    tap.status(server.get("/v1/fabric", token=short), 200, "a token with an end works until then")
    agent.digest = digest
    tap.status(agent.fetch(), 204, "the agent's plan is not new to it")

    drift(tap, server, agent)
    label = server.get("/v1/tenants/a/placements/nlp_job").json["label"]
    must(server.call("DELETE", "/v1/tenants/a/placements/nlp_job", headers={"If-Match": "*"}), 200)
    tap.equal(must(server.put("/v1/tenants/a/placements/cv_job", {"nodes": ["n1"]}), 201)
              .json["label"], label + 1, "another job gets another label")
    must(server.put("/v1/tenants/a/policy", CHANGED, '"1"'), 200)
    server.kill()
    server.start()
    tap.equal(must(server.put("/v1/tenants/a/placements/nlp_job", {"nodes": ["n1"]}), 201)
              .json["label"], label, "a job that comes back gets its old label")
    tap.equal(server.get("/v1/tenants/a/policy").json, CHANGED, "an answered upload survives kill -9")
    planned(server, "n1")
    Agent(server, "n1", agent.token).settle()
    tap.ok(server.get("/v1/generations/current?wait=applied&timeout=10s").json["applied"],
           "and the fleet goes on")
    must(server.call("DELETE", "/v1/tokens/" + tokens["id"]), 204)
    tap.equal(server.stop(), 0, "it ends cleanly")
    server.start()
    tap.status(server.get("/v1/tenants/a/policy", token=tokens["tenant-user"]), 401,
               "an ended token stays ended")
    tap.status(server.get("/v1/tenants/a/policy", token=tokens["tenant-admin"]), 200,
               "the others do not end with it")
    finish(tap, server, "it ends cleanly again")
    for bad in (["--listen", "0.0.0.0:0", "--tls", "off"], ["--listen", "127.0.0.1"],
                ["--listen", "[::]:0", "--tls", "off"], []):
        argv = [os.path.join(args.objdir, "stellard")] + (["--data", server.data] if bad else []) + bad
        out = subprocess.run(argv, capture_output=True, text=True, timeout=60)
        tap.ok(out.returncode in (1, 2) and out.stderr and not os.path.exists(server.data),
               f"options {bad} are refused before anything is made", out)
    lost_store(tap, args)
    tap.done()


main()
