"""A working call of every route, for test_roles.py.

A GET needs no row when PARAMS is enough and its answer is 200. A route whose sample cannot succeed says
the exact status, the code of the problem and why.
"""
import copy
import hashlib
import itertools
import os
import subprocess
import time

import telemetry
from lib import CALL_S, FABRIC, PASSWORD, POLICY, inventory, must, planned

PARAMS = {"tenant": "a", "job": "nlp_job", "node": "n1", "number": "1", "generation": "current",
          "switch": "sw1", "runbook": "performance-drop", "report": "current"}
HEALTH_REPORT = {"version": 1, "kind": "upload", "source": "n1", "time": "2026-01-02T03:04:05Z", "grade": "ok"}
PLACEMENT = {"nodes": ["n1"], "match": {"dst": "10.9.1.0/24"}}
MANUAL = {"mode": "staged", "waves": [], "soak": "0s", "confirm": "manual",
          "confirm_timeout": "600s", "wave_deadline": "600s"}
NEXT_PASSWORD = "another correct horse"
count = itertools.count(1)


class Sample:
    """before(world, who) makes what the call needs and returns what it replaces: params, body, query."""

    def __init__(self, body=None, status=200, before=None, query="", headers=None, why=""):
        self.body, self.status, self.before = body, status, before
        self.query, self.headers, self.why = query, headers or {}, why


def ensure(server, path, body):
    """There, whatever it was before."""
    answer = server.put(path, body)
    if answer.status == 412:
        answer = server.put(path, body, "*")
    must(answer, 200, 201)


def placed(world, _):
    world.server.call("DELETE", "/v1/tenants/a/policy", headers={"If-Match": "*"})
    ensure(world.server, "/v1/tenants/a/policy", POLICY)
    ensure(world.server, "/v1/tenants/a/placements/nlp_job", PLACEMENT)


def policy_alone(world, _):
    world.server.call("DELETE", "/v1/tenants/a/placements/nlp_job", headers={"If-Match": "*"})
    ensure(world.server, "/v1/tenants/a/policy", POLICY)


def spare_tenant(world, _):
    ensure(world.server, "/v1/tenants/spare", {})
    return {"params": {"tenant": "spare"}}


def spare_node(world, _):
    ensure(world.server, "/v1/nodes/spare", {})
    return {"params": {"node": "spare"}}


def spare_node_that_waits(world, _):
    server = world.server
    ensure(server, "/v1/nodes/spare", {})
    token = must(server.call("POST", "/v1/nodes/spare/token"), 201).json["token"]
    document = inventory("spare")
    document["reboot"] = {"digest": "sha256:" + "1" * 64, "count": 1, "first": "module parameter a.b", "approved": False}
    must(server.call("PUT", "/v1/agent/inventory", document, token=token), 200)
    return {"params": {"node": "spare"}}


def spare_switch(world, _):
    ensure(world.server, "/v1/switches/spare", {"pfc": True, "ecn": True})
    return {"params": {"switch": "spare"}}


def image_query(data):
    return (f"?component=mlx5_core&version=22.41.{1000 + next(count)}"
            f"&sha256={hashlib.sha256(data).hexdigest()}")


def new_image(_, __):
    data = os.urandom(64)
    return {"body": data, "query": image_query(data)}


def image(world, who):
    new = new_image(world, who)
    made = must(world.server.call("POST", "/v1/firmware/images" + new["query"], new["body"],
                                  {"Content-Type": "application/octet-stream"}), 201)
    return {"params": {"image": made.json["id"]}}


def person(world, who):
    """Somebody whom the caller manages."""
    name = f"p{next(count)}" + ("@a" if who.role.startswith("tenant") else "")
    world.server.user(name, "tenant-user" if "@" in name else "auditor")
    return {"params": {"user": name}}


def new_person(_, who):
    tenant = who.role.startswith("tenant")
    return {"body": {"name": f"p{next(count)}" + ("@a" if tenant else ""), "password": PASSWORD,
                     "role": "tenant-user" if tenant else "auditor"}}


def own_password(world, who):
    """Who manages people sets another's; the others their own, which ends their sessions."""
    if who.role in ("admin", "tenant-admin"):
        return person(world, who)
    return {"params": {"user": who.user}, "body": {"old": PASSWORD, "new": PASSWORD}}


def own_token(world, who):
    return {"params": {"id": who.id}}


def incident(world, _):
    """Of a queue pair of the tenant's job, whose packets are sent again: one for all callers."""
    placed(world, None)
    if not hasattr(world, "incident"):
        label = must(world.server.get("/v1/tenants/a/placements/nlp_job"), 200).json["label"]
        for i in range(2):  # later than what else was counted
            columns = {name: ("stays", 0, [i * by] * 9 + [i * by + by]) for name, by in
                       (("retransmits", 100), ("tx_packets", 1000000))}
            body = telemetry.batch([("qp", "mlx5_9", 17, 0, label, columns)],
                                   start_us=time.time_ns() // 1000 + (5 + 10 * i) * 1000000)
            must(world.server.call("POST", "/v1/nodes/n1/telemetry", body, telemetry.OCTETS, token=world.agent.token), 200)
        end = time.monotonic() + CALL_S
        while not hasattr(world, "incident") and time.monotonic() < end:
            for item in must(world.server.get("/v1/incidents?rule=retransmission-rate"), 200).json["items"]:
                world.incident = str(item["id"])
            time.sleep(0.05)
    return {"params": {"incident": world.incident}, "query": "?reason=seen"}


def exclusion_body(_, __):
    return {"body": {"subject": "node/n1", "reason": "test",
                     "expires": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))}}


def exclusion(world, who):
    made = must(world.server.call("POST", "/v1/exclusions", exclusion_body(world, who)["body"]), 201).json
    return {"params": {"exclusion": str(made["id"])}}


def spare_token(world, who):
    """One more of the caller's own."""
    if who.kind == "read":
        return own_token(world, who)
    made = must(world.server.call("POST", "/v1/tokens", {"role": who.role}, token=who.secret), 201)
    return {"params": {"id": made.json["id"]}}


def own_sessions(_, who):
    return {"params": {"user": who.user}}


def change_row(world, _):
    rows = must(world.server.get("/v1/audit?action=policy.put"), 200).json["items"]
    return {"params": {"id": str(rows[0]["id"])}}


def operation(world, _):
    made = must(world.server.call("POST", "/v1/import", ARCHIVE), 202).json
    end = time.monotonic() + CALL_S
    while must(world.server.get(made["location"]), 200).json["state"] == "running":
        assert time.monotonic() < end, "the import does not end"
        time.sleep(0.01)
    return {"params": {"operation": made["operation"]}}


def no_backup(world, _):
    """None is being made."""
    end = time.monotonic() + CALL_S
    while any(o["state"] == "running" for o in must(world.server.get("/v1/operations"), 200).json["items"]):
        assert time.monotonic() < end, "an operation does not end"
        time.sleep(0.01)


def backup(world, _):
    no_backup(world, None)
    made = must(world.server.call("POST", "/v1/backups"), 202).json
    no_backup(world, None)
    result = must(world.server.get(made["location"]), 200).json["result"]
    return {"params": {"backup": result["backup"]["id"]}}


def joining(world, _):
    node = spare_node(world, None)["params"]["node"]
    token = must(world.server.call("POST", f"/v1/nodes/{node}/join-token"), 201).json["join_token"]
    return {"body": {"join_token": token, "csr": request_of(world, node)}}


def request_of(world, node):
    tool = os.path.join(world.server.args.objdir, "tests/api/certtool")
    return subprocess.run([tool, "request", node], check=True, capture_output=True, text=True,
                          timeout=CALL_S).stdout


def renewing(world, _):
    return {"body": {"csr": request_of(world, "n1")}}


LATER = [{"from": "2100-01-01T00:00:00Z", "until": "2100-01-02T00:00:00Z"}]


def no_campaigns(world):
    """Each is cancelled; a device that n1 was given says so."""
    for item in must(world.server.get("/v1/firmware/campaigns"), 200).json["items"]:
        if item["state"] in ("done", "cancelled"):
            continue
        one = f"/v1/firmware/campaigns/{item['id']}"
        must(world.server.call("POST", one + ":cancel"), 200)
        for device in must(world.server.get(one + "/devices"), 200).json["items"]:
            if device["state"] == "offered":
                must(world.server.call("POST", f"/v1/nodes/n1/flash/{device['task']}:report",
                                       flash_report(device["task"], outcome="cancelled"),
                                       token=world.agent.token), 200)


def flash_report(task, phase="checking", **more):
    return {"version": 1, "task": task, "phase": phase, "at_us": time.time_ns() // 1000, **more}


def counted(_, __):
    return {"body": telemetry.batch([telemetry.steady(500)])}


def new_campaign(world, _, windows=LATER):
    no_rollouts(world)
    data = os.urandom(64)
    query = image_query(data).replace("mlx5_core", "solar_rdma").replace("22.41", "2.2")
    made = must(world.server.call("POST", "/v1/firmware/images" + query, data,
                                  {"Content-Type": "application/octet-stream"}), 201)
    return {"body": {"image": made.json["id"], "all": True, "windows": windows}}


def campaign(*verbs, windows=LATER):
    """One that `verbs` were said to."""
    def before(world, who):
        body = new_campaign(world, who, windows)["body"]
        name = must(world.server.call("POST", "/v1/firmware/campaigns", body), 201).json["id"]
        for verb in verbs:
            must(world.server.call("POST", f"/v1/firmware/campaigns/{name}:{verb}"), 200)
        return {"params": {"campaign": name}}
    return before


def flashing(world, who):
    name = campaign("start", windows=[])(world, who)["params"]["campaign"]
    task = must(world.server.get(f"/v1/firmware/campaigns/{name}/devices"), 200).json["items"][0]["task"]
    return {"params": {"task": task}, "body": flash_report(task)}


def no_flash(world, _):
    no_campaigns(world)


def no_verifications(world, _):
    for item in must(world.server.get("/v1/verifications"), 200).json["items"]:
        if item["state"] == "running":
            must(world.server.call("POST", f"/v1/verifications/{item['id']}:cancel"), 200)


def with_rdma(node, address):
    body = inventory(node)
    body["ports"][0]["rdma_device"] = "solar_rdma0"
    gids = [{"index": 3, "gid": f"::ffff:{address}", "type": "rocev2", "netdev": "sol0"}]
    return {**body, "rdma_devices": [{"name": "solar_rdma0", "ports": [{"port": 1, "gids": gids}]}]}


def verification(world, _):
    """One that runs: n1 and another node have a device that can be reached."""
    no_verifications(world, None)
    other = spare_node(world, None)["params"]["node"]
    token = must(world.server.call("POST", f"/v1/nodes/{other}/token"), 201).json["token"]
    for node, given, address in (("n1", world.agent.token, "10.9.0.1"), (other, token, "10.9.0.2")):
        must(world.server.call("PUT", "/v1/agent/inventory", with_rdma(node, address), token=given), 200)
    made = must(world.server.call("POST", "/v1/verifications", {"kinds": ["mesh"], "nodes": ["n1", other]}), 201)
    return {"params": {"verification": made.json["id"]}}


def verifying(world, who):
    """The task of n1 is the first or, when the other node's name comes first, the second one."""
    name = verification(world, who)["params"]["verification"]
    tests = must(world.server.get(f"/v1/verifications/{name}"), 200).json["tests"]
    task = next(t for t in tests if t["members"][0]["node"] == "n1" and t["state"] == "running")["test"]
    return {"params": {"task": task},
            "body": {"version": 1, "task": task, "outcome": "done", "figures": {"asked": 1, "answered": 1}}}


def no_rollouts(world):
    """Each that is under way is taken back, to its end."""
    no_campaigns(world)
    end = time.monotonic() + CALL_S
    while True:
        active = [r for r in must(world.server.get("/v1/rollouts"), 200).json["items"]
                  if r["state"] not in ("done", "failed", "rolled-back", "superseded")]
        if not active:
            return
        assert time.monotonic() < end, f"rollouts do not end: {active}"
        for r in active:
            world.server.call("POST", f"/v1/rollouts/{r['id']}:rollback")
        turn(world)
        time.sleep(0.02)


def turn(world):
    if world.agent.fetch().status == 200:
        must(world.agent.receipt(), 201)


def held(world, _):
    """A newer plan that waits for its rollout."""
    placed(world, None)
    no_rollouts(world)
    ensure(world.server, "/v1/rollout-policy", MANUAL)
    policy = copy.deepcopy(POLICY)
    policy["qos_policy"]["nlp_job"]["bw_guarantee"] = f"{20 + next(count) % 20}%"
    ensure(world.server, "/v1/tenants/a/policy", policy)
    planned(world.server, "n1")


def rollout(state):
    def before(world, _):
        held(world, None)
        name = must(world.server.call("POST", "/v1/rollouts", {"all": True}), 201).json["id"]
        wanted, end = "running" if state == "paused" else state, time.monotonic() + CALL_S
        while must(world.server.get(f"/v1/rollouts/{name}"), 200).json["state"] != wanted:
            assert time.monotonic() < end, f"{name} does not become {wanted}"
            if wanted == "confirming":
                turn(world)
            time.sleep(0.02)
        if state == "paused":
            must(world.server.call("POST", f"/v1/rollouts/{name}:pause"), 200)
        return {"params": {"rollout": name}}
    return before


def a_receipt(world, _):
    return {"body": {"version": 1, "node": "n1", "generation": world.agent.plan["generation"],
                     "digest": world.agent.digest, "observed": world.agent.digest,
                     "result": "applied", "time_us": time.time_ns() // 1000, "apply_ns": 1,
                     "steps": []}}


MERGE = {"Content-Type": "application/merge-patch+json"}
ARCHIVE = {"format": "stellar-export", "version": 1,
           "content": {"tenants": [{"name": "c", "tenant": {}}]}}
BACK = {"revision": 1}

SAMPLES = {
    "fabric_put": Sample(FABRIC),
    "fabric_patch": Sample({}, headers=MERGE),
    "fabric_rollback": Sample(BACK),
    "fabric_diff": Sample(query="?from=1&to=1"),
    "fabric_validate": Sample(FABRIC),
    "tenant_put": Sample({"description": "language models"}),
    "tenant_patch": Sample({"description": "language models"}, headers=MERGE),
    "tenant_delete": Sample(before=spare_tenant),
    "policy_get": Sample(before=placed),
    "policy_put": Sample(POLICY, before=placed),
    "policy_patch": Sample({}, headers=MERGE, before=placed),
    "policy_rollback": Sample(BACK, before=placed),
    "policy_diff": Sample(query="?from=1&to=1"),
    "policy_delete": Sample(before=policy_alone),
    "policy_validate": Sample(POLICY),
    "placement_get": Sample(before=placed),
    "job_chains": Sample(before=placed),
    "placement_put": Sample(PLACEMENT, before=placed),
    "placement_patch": Sample({}, headers=MERGE, before=placed),
    "placement_delete": Sample(before=placed),
    "node_put": Sample({"labels": {"rack": "a"}}),
    "node_patch": Sample({}, headers=MERGE),
    "node_delete": Sample(before=spare_node),
    "node_token": Sample(status=201, before=spare_node),
    "node_join_token": Sample(status=201, before=spare_node),
    "node_reboot": Sample(status=200, before=spare_node_that_waits),
    "node_release": Sample(status=200, before=spare_node),
    "node_certificates_delete": Sample(status=204, before=spare_node),
    "rollout_policy_get": Sample(before=held),
    "rollout_policy_put": Sample(MANUAL, before=held),
    "rollout_post": Sample({"all": True}, status=201, before=held),
    "rollout_get": Sample(before=rollout("running")),
    "rollout_nodes": Sample(before=rollout("running")),
    "rollout_pause": Sample(before=rollout("running")),
    "rollout_resume": Sample(before=rollout("paused")),
    "rollout_confirm": Sample(before=rollout("confirming")),
    "rollout_rollback": Sample(before=rollout("running")),
    "switches_import": Sample({"switches": [{"name": "sw1", "pfc": True, "ecn": True}]}),
    "switch_put": Sample({"pfc": True, "ecn": True}),
    "switch_delete": Sample(status=204, before=spare_switch),
    "image_post": Sample(status=201, before=new_image,
                         headers={"Content-Type": "application/octet-stream"}),
    "health_inspect": Sample(b"rx_prio3_pause: 5\n", headers={"Content-Type": "text/plain"}),
    "health_report_post": Sample(HEALTH_REPORT, status=201),
    "runbook_run": Sample({"nodes": ["n1"]}),
    "incident_get": Sample(before=lambda world, who: {"params": incident(world, who)["params"]}),
    "incident_acknowledge": Sample(before=incident),
    "exclusion_post": Sample(status=201, before=exclusion_body),
    "exclusion_delete": Sample(status=204, before=exclusion),
    "image_get": Sample(before=image),
    "image_content": Sample(before=image),
    "image_delete": Sample(status=204, before=image),
    "campaign_post": Sample(status=201, before=new_campaign),
    "campaign_get": Sample(before=campaign()),
    "campaign_devices": Sample(before=campaign()),
    "campaign_start": Sample(before=campaign()),
    "campaign_pause": Sample(before=campaign("start")),
    "campaign_resume": Sample(before=campaign("start", "pause")),
    "campaign_cancel": Sample(before=campaign("start")),
    "verification_post": Sample({"kinds": ["send_lat"], "all": True}, status=201, before=no_verifications),
    "verification_get": Sample(before=verification),
    "verification_cancel": Sample(before=verification),
    "verify_task": Sample(before=verification),
    "verify_report": Sample(before=verifying),
    "flash_task": Sample(status=204, before=no_flash),
    "flash_report": Sample(before=flashing),
    "operation_get": Sample(before=operation),
    "operation_cancel": Sample(before=operation, status=(409, "operation-finished"),
                               why="an import of this size has ended before it can be cancelled; "
                                   "test_export_import.py cancels a long one"),
    "import": Sample(ARCHIVE, status=202),
    "backup_post": Sample(status=202, before=no_backup),
    "backup_get": Sample(before=backup),
    "backup_content": Sample(before=backup),
    "backup_delete": Sample(status=204, before=backup),
    "audit_receipts": Sample(before=change_row),
    "session_post": Sample({"name": "root", "password": PASSWORD}),
    "session_delete": Sample(status={"token": (404, "not-found"), "session": 204},
                             why="a token is no session"),
    "user_get": Sample(before=person),
    "user_post": Sample(status=201, before=new_person),
    "user_patch": Sample({"disabled": True}, before=person),
    "user_delete": Sample(status=204, before=person),
    "user_password": Sample({"new": NEXT_PASSWORD}, status=204, before=own_password),
    "user_sessions_delete": Sample(status=204, before=own_sessions),
    "token_post": Sample(status=201, before=lambda _, who: {"body": {"role": who.role}}),
    "token_get": Sample(before=own_token),
    "token_delete": Sample(status=204, before=spare_token),
    "agent_enrol": Sample(status=201, before=joining),
    "agent_renew": Sample(before=renewing, status=(409, "certificate-needed"),
                          why="the agent of this test calls with a token; test_tls.py renews"),
    "agent_inventory": Sample(inventory("n1")),
    "agent_receipt": Sample(status=201, before=a_receipt),
    "agent_state": Sample({"knobs": []}),
    "telemetry_post": Sample(before=counted, headers=telemetry.OCTETS),
    "agent_chains": Sample({"version": 1, "node": "n1", "generation": 1, "digest": "sha256:" + "0" * 64,
                            "chains": []}),
}


class Call:
    """What is sent: the sample of the operation, in the state that it needs."""

    def __init__(self, world, row, who, prepared=True):
        self.world, self.row, self.who = world, row, who
        sample = SAMPLES.get(row.operation, Sample())
        made = (sample.before(world, who) if sample.before and prepared else None) or {}
        self.params = {**PARAMS, **made.get("params", {})}
        self.body = made.get("body", sample.body)
        self.query = made.get("query", sample.query)
        self.headers = dict(sample.headers)
        if "if-match" in row.flags:
            self.headers["If-Match"] = "*"
        self.sample = sample

    def send(self, secret, params=None, headers=None):
        path = self.row.path
        for name, value in {**self.params, **(params or {})}.items():
            path = path.replace("{%s}" % name, value)
        path = path.replace("{", "").replace("}", "")  # what only `before` knows: any name will do
        return self.world.server.call(self.row.method, path + self.query, self.body,
                                      {**self.headers, **(headers or {})}, token=secret)

    def wanted(self):
        """(status, code of the problem or None)"""
        status = self.sample.status
        if isinstance(status, dict):
            status = status[self.who.kind]
        return status if isinstance(status, tuple) else (status, None)
