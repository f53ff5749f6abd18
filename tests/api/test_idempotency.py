#!/usr/bin/env python3
"""Each POST that makes something has its effect once for an Idempotency-Key: repeated, at once, after a
kill -9. The cases are those of the server's own table of routes."""
import copy
import hashlib
import os
import random
import subprocess
import threading
import time

from lib import CALL_S, FABRIC, PASSWORD, POLICY, Agent, must, planned, run

# POSTs without the key, and why a repetition does no harm.
NATURAL = {
    "fabric_rollback": "If-Match", "policy_rollback": "If-Match",
    "fabric_validate": "changes nothing", "health_inspect": "changes nothing", "policy_validate": "changes nothing",
    "runbook_run": "changes nothing",
    "rollout_pause": "a state", "rollout_resume": "a state", "rollout_confirm": "a state",
    "rollout_rollback": "a state", "operation_cancel": "a state",
    "campaign_start": "a state", "campaign_pause": "a state", "campaign_resume": "a state",
    "campaign_cancel": "a state", "flash_report": "the same report is known",
    "verification_cancel": "a state", "verify_report": "the first one counts",
    "image_post": "the same bytes are unchanged", "agent_receipt": "the same receipt is known",
    "agent_enrol": "the same key gets its certificate again", "agent_renew": "the last one counts",
    "telemetry_post": "the same batch is known", "incident_acknowledge": "the first one is kept",
    "session_post": "a cookie is given once", "user_password": "the last one counts"}
ARCHIVE = {"format": "stellar-export", "version": 1,
           "content": {"tenants": [{"name": "imported", "tenant": {}}]}}
STAGED = {"mode": "staged", "waves": [], "soak": "0s", "confirm": "manual",
          "confirm_timeout": "600s", "wave_deadline": "600s"}
EXCLUSION = {"subject": "node/n1", "reason": "x",
             "expires": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))}
HEALTH_REPORT = {"version": 1, "kind": "upload", "source": "tool", "time": "2026-01-02T03:04:05Z", "grade": "ok"}
CAMPAIGN = {"image": "", "all": True}  # the image is the one of world()


def idempotent_routes(server):
    text = subprocess.run([os.path.join(server.args.objdir, "stellard"), "--routes"], text=True,
                          capture_output=True, check=True, timeout=CALL_S).stdout
    rows = [line.split("\t") for line in text.splitlines()]
    return ({r[4] for r in rows if r[0] == "POST" and "idempotent" in r[3].split()},
            {r[4] for r in rows if r[0] == "POST" and "idempotent" not in r[3].split()})


def audited(action):
    return lambda server: len(must(server.get(f"/v1/audit?action={action}&page_size=1000"), 200)
                              .json["items"])


def operations(kind):
    return lambda server: len([o for o in must(server.get("/v1/operations?page_size=1000"), 200)
                               .json["items"] if o["kind"] == kind])


def user(number, **more):
    return {"name": f"u{number}", "role": "auditor", "password": PASSWORD, **more}


# operation: path, body of a number, another body, status, how often it had its effect.
CASES = {
    "token_post": ("/v1/tokens", lambda n: {"role": "auditor"}, {"role": "operator"}, 201,
                   audited("token.post")),
    "node_token": ("/v1/nodes/n1/token", lambda n: None, None, 201, audited("node.token")),
    "node_join_token": ("/v1/nodes/n1/join-token", lambda n: None, None, 201,
                        audited("node.join-token")),
    "node_reboot": ("/v1/nodes/n1:reboot", lambda n: None, None, 200, audited("node.reboot")),
    "node_release": ("/v1/nodes/n1:release", lambda n: None, None, 200, audited("node.release")),
    "rollout_post": ("/v1/rollouts", lambda n: {"all": True}, {"nodes": ["n1"]}, 201,
                     audited("rollout.create")),
    "verification_post": ("/v1/verifications", lambda n: {"kinds": ["mesh"], "nodes": ["n1"], "message": str(n)},
                          {"kinds": ["mesh"], "all": True}, 201, audited("verification.create")),
    "campaign_post": ("/v1/firmware/campaigns", lambda n: CAMPAIGN, {"image": "other", "all": True},
                      201, audited("campaign.create")),
    "import": ("/v1/import", lambda n: ARCHIVE, dict(ARCHIVE, content={}), 202,
               operations("import")),
    "backup_post": ("/v1/backups", lambda n: None, None, 202, operations("backup")),
    "exclusion_post": ("/v1/exclusions", lambda n: EXCLUSION, {**EXCLUSION, "subject": "node/n2"}, 201,
                       audited("exclusion.create")),
    "health_report_post": ("/v1/health/reports", lambda n: {**HEALTH_REPORT, "source": f"tool{n}"}, HEALTH_REPORT, 201,
                           audited("health-report.post")),
    "user_post": ("/v1/users", user, user(999, role="operator"), 201, audited("user.post")),
    "switches_import": ("/v1/switches:import",
                        lambda n: {"switches": [{"name": f"s{n}", "pfc": True, "ecn": True}]},
                        {"switches": [{"name": "other"}]}, 200, audited("switch.put")),
}


def world(server):
    """Something for each case to work on: a node that holds a newer plan."""
    must(server.put("/v1/fabric", FABRIC), 201)
    must(server.put("/v1/tenants/a", {}), 201)
    must(server.put("/v1/tenants/a/policy", POLICY), 201)
    agent = Agent(server, "n1", server.node("n1"))
    agent.report(reboot={"digest": "sha256:" + "1" * 64, "count": 1, "first": "a parameter", "approved": False})
    must(server.put("/v1/tenants/a/placements/nlp_job",
                    {"nodes": ["n1"], "match": {"dst": "10.9.1.0/24"}}), 201)
    planned(server, "n1")
    agent.settle()
    must(server.put("/v1/rollout-policy", STAGED), 201)
    policy = copy.deepcopy(POLICY)
    policy["qos_policy"]["nlp_job"]["bw_guarantee"] = "30%"
    must(server.put("/v1/tenants/a/policy", policy, '"1"'), 200)
    planned(server, "n1")
    path = f"/v1/firmware/images?component=solar_rdma&version=2.2.0&sha256={hashlib.sha256(b'x').hexdigest()}"
    CAMPAIGN["image"] = must(server.call("POST", path, b"x", {
        "Content-Type": "application/octet-stream"}), 200, 201).json["id"]


def free_again(server, name):
    """What would refuse the next one is out of the way."""
    end = time.monotonic() + CALL_S
    while time.monotonic() < end:
        running = [o for o in server.get("/v1/operations").json["items"] if o["state"] == "running"]
        if not running:
            break
        time.sleep(0.02)
    for item in server.get("/v1/firmware/campaigns?page_size=1000").json["items"]:
        if item["state"] != "cancelled":
            must(server.call("POST", f"/v1/firmware/campaigns/{item['id']}:cancel"), 200)
    if name != "rollout_post":
        return
    for item in server.get("/v1/rollouts?page_size=1000").json["items"]:
        if item["state"] not in ("done", "failed", "rolled-back"):
            must(server.call("POST", f"/v1/rollouts/{item['id']}:rollback"), 200)
    while time.monotonic() < end and [
            i for i in server.get("/v1/rollouts?page_size=1000").json["items"]
            if i["state"] not in ("done", "failed", "rolled-back")]:
        time.sleep(0.02)


def send(server, name, number, key):
    path, body = CASES[name][:2]
    return server.call("POST", path, body(number), {"Idempotency-Key": key})


def shown(answer):
    """What two answers must have in common: all but secrets and the mark."""
    return {k: v for k, v in answer.json.items()
            if k not in ("token", "join_token", "replayed", "ca", "command")}


def table_is_covered(tap, server):
    with_key, without = idempotent_routes(server)
    tap.equal(with_key, set(CASES), "each route with Idempotency-Key is tried here")
    tap.equal(without, set(NATURAL), "each POST without it says why it needs none")


def repeated(tap, server):
    world(server)
    for number, name in enumerate(CASES):
        path, _, other, status, effects = CASES[name]
        free_again(server, name)
        before = effects(server)
        first = must(send(server, name, number, name), status)
        second = must(send(server, name, number, name), status)
        tap.ok(second.json.get("replayed") is True and shown(first) == shown(second),
               f"{name}: the same answer again", (first, second))
        tap.equal(effects(server), before + 1, f"{name}: and one effect")
        query = "" if other is not None else "?reason=other"
        clash = server.call("POST", path + query, other, {"Idempotency-Key": name})
        tap.ok(clash.status == 422 and clash.json["code"] == "idempotency-key-reused",
               f"{name}: the key with another request is refused", clash)
    again = server.call("POST", "/v1/users", dict(user(list(CASES).index("user_post")),
                                                  password="another horse battery"),
                        {"Idempotency-Key": "user_post"})
    tap.ok(again.status == 201 and again.json["replayed"], "a user's password is not compared", again)
    with open(os.path.join(server.data, "stellar.db-wal"), "rb") as f:
        tap.ok(PASSWORD.encode() not in f.read(), "nor kept")


def at_once(tap, server):
    world(server)
    for number, name in enumerate(CASES):
        free_again(server, name)
        status, effects = CASES[name][3:]
        before, answers = effects(server), []

        def one():
            answers.append(send(server, name, 100 + number, name + "-at-once"))
            server.drop_connection()
        # A caller has two new passwords at a time.
        threads = [threading.Thread(target=one) for _ in range(2 if name == "user_post" else 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tap.ok({a.status for a in answers} == {status} and
               all(shown(a) == shown(answers[0]) for a in answers),
               f"{name}: all at once are one", answers)
        tap.equal(effects(server), before + 1, f"{name}: with one effect")
        fresh = [a for a in answers if "replayed" not in a.json]
        tap.equal(len(fresh), 1, f"{name}: and one first answer")


def killed(tap, server):
    """kill -9 while the request is under way: afterwards it was, or was not, and never twice."""
    world(server)
    for number, name in enumerate(CASES):
        status, effects = CASES[name][3:]
        for turn in range(2):
            free_again(server, name)
            before, key = effects(server), f"{name}-killed-{turn}"

            def one():
                try:
                    send(server, name, 200 + 10 * number + turn, key)
                except Exception:  # the connection ended in the middle
                    pass
                server.drop_connection()
            thread = threading.Thread(target=one)
            thread.start()
            time.sleep(random.uniform(0, 0.02 if name != "user_post" else 0.4))
            server.kill()
            thread.join()
            server.start()
            planned(server, "n1")
            kept = effects(server) - before
            answer = must(send(server, name, 200 + 10 * number + turn, key), status)
            tap.ok(kept in (0, 1) and answer.json.get("replayed", False) == (kept == 1) and
                   effects(server) == before + 1,
                   f"{name}: after a kill it is done once", (kept, answer, effects(server) - before))


run([table_is_covered, repeated, at_once, killed])
