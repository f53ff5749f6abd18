#!/usr/bin/env python3
"""Fifty real agents with simulated nodes and a real server, driven through the API alone: enrolment, fabric,
tenants, uploads, refusals, rollouts with canary and gates, return, confirm, rollback, and a server that is
killed inside a confirm window."""
import copy
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.parse

from lib import CALL_S, FABRIC, SLOW, Server, Tap, arguments, finish, must

NODES = [f"n{i:02}" for i in range(50)]
RACK_A, RACK_B = NODES[:25], NODES[25:]
CANARY, BAD = "n00", "n07"
WAIT_S = 60 * SLOW

VISION = {"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": "40%"}}}
SPEECH = {"qos_policy": {"asr_job": {"priority": 2, "bw_limit": "60%"}}}
STAGED = {"mode": "staged", "start": "manual",
          "waves": [{"selector": {"canary": "yes"}}, {"percent": 40}],
          "max_unavailable": 0, "confirm": "auto", "confirm_timeout": "120s", "soak": "1s",
          "wave_deadline": "60s"}

# A signing request of a key that no agent here has.
STRANGER = """-----BEGIN NEW CERTIFICATE REQUEST-----
MIHGMG8CAQAwDTELMAkGA1UEAxMCbjEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AATPTuPFBXHz24qJYOJkRGvjwPZFaEGykD4n6ZKuJxtjOhMjoZ8A/rOPwf9bxdeq
zCJTmXPi1a7ctN+MF2fci7oCoAAwCgYIKoZIzj0EAwIDRwAwRAIgGQZQbkVcQb6Q
Cbvl2B595KXI9RQF6W8g4baxIQtE7psCIBpORtMXYFPZqEmtES0RQx70haa/GwmA
KFt0e9YoWN5G
-----END NEW CERTIFICATE REQUEST-----
"""


class Node:
    """A stellar-agent of its own process. What the simulator holds ends with the process."""

    def __init__(self, server, folder, name):
        self.server, self.name = server, name
        self.state = os.path.join(folder, name)
        self.proc = None

    def start(self, join, faults=()):
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        args = [os.path.join(self.server.args.objdir, "stellar-agent"), "--node", self.name,
                "--server", f"https://127.0.0.1:{self.server.port}", "--state-dir", self.state,
                "--provider", "sim", "--sim-ports", "1", "--join", join]
        for fault in faults:
            args += ["--sim-fault", fault]
        with open(self.state + ".log", "ab") as log:
            self.proc = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)

    def ended(self):
        try:
            return self.proc.wait(CALL_S)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait(CALL_S)
            return -9

    def log_text(self):
        with open(self.state + ".log", errors="replace") as log:
            return log.read()[-3000:]


class Fleet:
    def __init__(self, tap, args):
        self.tap = tap
        self.folder = tempfile.mkdtemp(prefix="stellar-fleet-")
        self.server = Server(args, options=["--tls", "on"])
        self.server.context = ssl._create_unverified_context()  # until it has the authority
        self.nodes = {}

    def open(self):
        server = self.server.start()
        server.listen = f"127.0.0.1:{server.port}"  # agents find it again after a restart
        ca = must(server.get("/v1/ca", token=None), 200).body.decode()
        server.context = ssl.create_default_context(cadata=ca)
        server.drop_connection()

    def close(self):
        for node in self.nodes.values():
            if node.proc is not None and node.proc.poll() is None:
                node.stop()
        codes = {n.name: n.ended() for n in self.nodes.values() if n.proc is not None}
        wrong = {n: c for n, c in codes.items() if c != 0}
        if not self.tap.ok(not wrong, "every agent ends cleanly", wrong):
            for name in list(wrong)[:3]:
                print("# " + self.nodes[name].log_text().replace("\n", "\n# "))
        shutil.rmtree(self.folder, ignore_errors=True)

    def get(self, path):
        return must(self.server.get(path), 200).json

    def sync(self):
        items = self.get("/v1/nodes?page_size=100")["items"]
        return {item["name"]: item["sync"] for item in items}

    def until(self, what, good, seconds=WAIT_S):
        """Asks what() until good(answer); the answer, or a failure that shows it."""
        end = time.monotonic() + seconds
        while True:
            answer = what()
            if good(answer):
                return answer
            if time.monotonic() > end:
                raise AssertionError(f"not in {seconds} s: {answer}")
            time.sleep(0.1)

    def settled(self, sentence):
        """The barrier: every node is what is wanted of it."""
        now = self.until(lambda: self.get("/v1/generations/current?wait=applied&timeout=10s"),
                         lambda g: g["applied"])
        self.tap.equal(now["nodes"], {"total": 50, "in_sync": 50, "pending": 0, "failed": 0,
                                      "held": 0, "confirming": 0},
                       sentence)

    def held(self, nodes):
        self.until(self.sync, lambda sync: all(sync[n] == "held" for n in nodes) and
                   "planning" not in sync.values())

    def replace(self, path, change):
        """Reads, changes, writes with the ETag."""
        answer = must(self.server.get(path), 200)
        document = change(answer.json)
        return must(self.server.put(path, document, answer.etag), 200)

    def share(self, tenant, job, member, value):
        def change(document):
            document["qos_policy"][job][member] = value
            return document
        self.replace(f"/v1/tenants/{tenant}/policy", change)

    def roll(self, **body):
        answer = must(self.server.call("POST", "/v1/rollouts", {"all": True, **body}), 201)
        return answer.json["id"]

    def rollout(self, name):
        return self.get(f"/v1/rollouts/{name}")

    def states(self, name):
        items = self.get(f"/v1/rollouts/{name}/nodes?page_size=100")["items"]
        return {item["node"]: item["state"] for item in items}

    def verb(self, name, word):
        reason = urllib.parse.quote("acceptance")
        return self.server.call("POST", f"/v1/rollouts/{name}:{word}?reason={reason}")

    def reaches(self, name, *states):
        return self.until(lambda: self.rollout(name), lambda r: r["state"] in states)

    def receipts(self, node):
        return [r["receipt"] for r in self.get(f"/v1/nodes/{node}/receipts")["items"]]


def enrol(fleet):
    tap, server = fleet.tap, fleet.server
    spent = None
    for name in NODES:
        labels = {"rack": "a" if name in RACK_A else "b"}
        if name == CANARY:
            labels["canary"] = "yes"
        must(server.put(f"/v1/nodes/{name}", {"labels": labels}), 201)
        made = must(server.call("POST", f"/v1/nodes/{name}/join-token"), 201).json
        token = made["join_token"]
        spent = spent or token
        fleet.nodes[name] = Node(server, fleet.folder, name)
        fleet.nodes[name].start(token, ["refuse:host.sysctl"] if name == BAD else [])
    nodes = fleet.until(lambda: fleet.get("/v1/nodes?page_size=100")["items"],
                        lambda items: all(not item["stale"] for item in items))
    tap.equal([n["name"] for n in nodes], NODES, "fifty agents have enrolled and report")
    fleet.until(lambda: [n for n in NODES if server.get(f"/v1/nodes/{n}/inventory").status != 200],
                lambda missing: not missing)
    tap.equal(len(fleet.get(f"/v1/nodes/{CANARY}/inventory")["ports"]), 1, "with their ports")
    certificates = fleet.get(f"/v1/nodes/{CANARY}/certificates")["items"]
    tap.equal(len(certificates), 1, "each speaks with a certificate of its own")
    again = server.call("POST", "/v1/agent/enrol", {"join_token": spent, "csr": STRANGER}, token=None)
    tap.status(again, 401, "a join token that was spent opens nothing to another key")


def settle_first(fleet):
    tap, server = fleet.tap, fleet.server
    must(server.put("/v1/fabric", FABRIC), 201)
    must(server.put("/v1/tenants/vision", {"quota": {"jobs_max": 2}}), 201)
    must(server.put("/v1/tenants/speech", {}), 201)
    must(server.put("/v1/tenants/vision/policy", VISION), 201)
    must(server.put("/v1/tenants/speech/policy", SPEECH), 201)
    must(server.put("/v1/tenants/vision/placements/nlp_job",
                    {"selector": {"rack": "a"}, "match": {"dst": "10.9.1.0/24"}}), 201)
    must(server.put("/v1/tenants/speech/placements/asr_job",
                    {"selector": {"rack": "b"}, "match": {"dst": "10.9.2.0/24"}}), 201)
    fleet.settled("fabric, two tenants and their jobs are on fifty nodes")
    rows = fleet.get("/v1/nodes?page_size=100")["items"]
    tap.ok(all(r["digest"] == r["observed"] for r in rows), "each node observes what it was given")
    kinds = {k["kind"] for k in fleet.get(f"/v1/nodes/{CANARY}/plan")["knobs"]}
    tap.ok({"link.mtu", "dcb.pfc", "dcb.ets"} <= kinds, "fabric knobs are in the plan", kinds)


def refusals(fleet):
    tap, server = fleet.tap, fleet.server
    url = "/v1/tenants/vision/policy"
    made = server.token("tenant-admin", "vision")
    etag = server.get(url).etag
    tap.status(server.get(url, token=made["token"]), 200, "a tenant's token reads its policy")
    tap.status(server.get("/v1/tenants/speech/policy", token=made["token"]), 404,
               "and does not see the other tenant")
    three = {"qos_policy": {f"j{i}": {"priority": 2} for i in range(3)}}
    refused = server.put(url, three, etag, token=made["token"])
    tap.ok(refused.status == 422 and "tenant-quota" in refused.body.decode(),
           "more jobs than the quota are refused by its rule", refused)
    low = copy.deepcopy(VISION)
    low["qos_policy"]["cv_job"] = {"priority": 2, "bw_limit": "50Gbps", "demand": "90Gbps"}
    refused = server.put(url, low, etag, token=made["token"])
    tap.ok(refused.status == 422 and "bw-limit-floor" in refused.body.decode(),
           "a limit under the floor is refused", refused)
    must(server.call("DELETE", f"/v1/tokens/{made['id']}"), 200, 204)
    tap.status(server.put(url, low, etag, token=made["token"]), 401,
               "a token that was revoked in between is worth nothing")
    query = "?override=bw-limit-floor&reason=measured"
    tap.status(server.put(url + query, low, etag), 200, "an admin overrides the floor, with a reason")
    row = fleet.get("/v1/audit?page_size=1")["items"][0]
    tap.equal((row["action"], row["reason"]), ("policy.put", "measured"), "which the audit keeps")
    must(server.put(url, VISION, server.get(url).etag), 200)
    fleet.settled("and the fleet is as before")


def canary_first(fleet):
    """A staged change: held, canary, then the others; never two waves at once."""
    tap, server = fleet.tap, fleet.server
    must(server.put("/v1/rollout-policy", STAGED), 201)
    fleet.share("vision", "nlp_job", "bw_guarantee", "30%")
    fleet.held(RACK_A)
    sync = fleet.sync()
    tap.ok(all(sync[n] == "in-sync" for n in RACK_B), "a staged change touches its own nodes only", sync)
    tap.ok(not fleet.get("/v1/generations/current")["applied"], "what is held is not applied")
    dry = must(server.call("POST", "/v1/rollouts?dry_run=true", {"all": True}), 200).json
    tap.equal([w["nodes_total"] for w in dry["waves"]], [1, 10, 14], "the dry run shows three waves")
    name = fleet.roll(message="less for vision")
    early = set()
    while True:
        states = fleet.states(name)
        now = fleet.rollout(name)
        if states[CANARY] != "confirmed":
            early |= {n for n, s in states.items() if n != CANARY and s != "waiting"}
        if now["state"] not in ("preparing", "running"):
            break
        time.sleep(0.05)
    tap.equal(now["state"], "done", "the rollout ends")
    tap.equal(early, set(), "nobody was offered the plan before the canary was confirmed")
    tap.equal(sorted(fleet.states(name)), RACK_A, "it had rack a's nodes")
    receipts = fleet.until(lambda: fleet.receipts(CANARY),
                           lambda rows: rows[0]["result"] == "unchanged")
    trial = next((r for r in receipts if r.get("rollout") == name), {})
    tap.ok(trial.get("result") == "applied" and "rollout" not in receipts[0],
           "the canary applied it on trial, then heard that it is final", receipts[:2])
    probes = trial.get("probes", [])
    tap.ok(probes and all(p["ok"] or p.get("not_possible") for p in probes) and any(p["ok"] for p in probes),
           "its self-test is in the receipt", probes)  # no peer to ping has told an address here
    fleet.settled("all nodes are in sync on the new plan")


def failing_gate(fleet):
    """One node cannot do what the new fabric wants: its wave goes back, the one before stays."""
    tap = fleet.tap
    before = {n["name"]: n["observed"] for n in fleet.get("/v1/nodes?page_size=100")["items"]}

    def tune(document):
        document["fabric_profile"]["host"] = {"sysctl": {"net.core.rmem_max": 4194304}}
        return document
    fleet.replace("/v1/fabric", tune)
    fleet.held(NODES)
    wave = [BAD, "n08", "n09"]
    name = fleet.roll(waves=[{"nodes": [CANARY]}, {"nodes": wave}])
    end = fleet.reaches(name, "failed")
    tap.ok("receipts" in end["problem"] and BAD in end["problem"],
           "the gate that failed says which node", end["problem"])
    states = fleet.until(lambda: fleet.states(name),
                         lambda s: all(s[n] == "returned" for n in wave[1:]))
    tap.equal(states[CANARY], "confirmed", "the wave before stays confirmed")
    tap.equal({states[n] for n in NODES if n not in wave + [CANARY]}, {"waiting"},
              "no later wave was begun")
    rows = fleet.until(lambda: {n: fleet.get(f"/v1/nodes/{n}") for n in wave},
                       lambda rows: all(rows[n]["observed"] == before[n] for n in wave))
    tap.ok(all(rows[n]["sync"] == "held" for n in wave), "the wave's nodes are what they were", rows)
    refusal = next((r for r in fleet.receipts(BAD) if r["result"] == "refused"), {})
    tap.ok("host.sysctl" in refusal.get("problem", ""), "the receipt names the knob", refusal)
    tap.status(fleet.verb(name, "confirm"), 409, "what failed cannot be confirmed")
    must(fleet.verb(name, "rollback"), 200)
    fleet.reaches(name, "rolled-back")
    fleet.until(lambda: fleet.get(f"/v1/nodes/{CANARY}")["observed"],
                lambda observed: observed == before[CANARY])
    tap.ok(True, "a rollback takes the canary back too")

    def untune(document):
        del document["fabric_profile"]["host"]
        return document
    fleet.replace("/v1/fabric", untune)
    fleet.settled("with the old fabric nothing is held any more")


def killed_in_the_window(fleet):
    tap, server = fleet.tap, fleet.server
    fleet.share("speech", "asr_job", "bw_limit", "70%")
    fleet.held(RACK_B)
    name = fleet.roll(waves=[], confirm="manual", soak="0s")
    before = fleet.reaches(name, "confirming")
    tap.equal({fleet.sync()[n] for n in RACK_B}, {"confirming"}, "25 nodes are on trial")
    server.kill()
    time.sleep(2)
    server.start()
    after = fleet.rollout(name)
    tap.equal(after["state"], "confirming", "after kill -9 the rollout is there, with its id")
    left, was = after["confirm_remaining_s"], before["confirm_remaining_s"]
    tap.ok(was - 60 * SLOW < left <= was, "and its timer went on", (was, left))
    answer = fleet.verb(name, "confirm")
    tap.status(answer, 200, "it can be confirmed")
    fleet.reaches(name, "done")
    fleet.settled("the agents came back, and all nodes are final")
    tap.ok(all("expired" != r["result"] for n in RACK_B[:3] for r in fleet.receipts(n)),
           "no node's own timer fired")


def no_server_in_the_window(fleet):
    """Nobody can confirm: the nodes go back by themselves and say so later."""
    tap, server = fleet.tap, fleet.server
    pair = RACK_B[-2:]
    before = {n: fleet.get(f"/v1/nodes/{n}")["observed"] for n in pair}
    fleet.share("speech", "asr_job", "bw_limit", "80%")
    fleet.held(RACK_B)
    name = must(server.call("POST", "/v1/rollouts",
                            {"nodes": pair, "waves": [], "confirm": "manual", "soak": "0s",
                             "confirm_timeout": f"{8 * SLOW}s"}), 201).json["id"]
    fleet.reaches(name, "confirming")
    server.kill()
    time.sleep(9 * SLOW)
    server.start()
    told = fleet.until(lambda: {n: fleet.receipts(n) for n in pair},
                       lambda rows: all(any(r["result"] == "expired" for r in rows[n])
                                        for n in pair))
    for node in pair:
        receipt = next(r for r in told[node] if r["result"] == "expired")
        tap.equal((receipt["rollout"], receipt["observed"]), (name, before[node]),
                  f"{node} went back by its own timer and says from which rollout")
    tap.equal(fleet.reaches(name, "failed")["state"], "failed", "the rollout has failed")
    late = fleet.verb(name, "confirm")
    tap.status(late, 409, "it is too late to confirm it")
    fleet.share("speech", "asr_job", "bw_limit", "70%")
    fleet.settled("with the policy of before the fleet is in sync")


SCENES = [enrol, settle_first, refusals, canary_first, failing_gate, killed_in_the_window,
          no_server_in_the_window]


def main():
    args, tap = arguments(), Tap()
    fleet = Fleet(tap, args)
    try:
        fleet.open()
        for scene in SCENES:
            start = time.monotonic()
            scene(fleet)
            print(f"# {scene.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    except Exception:  # the agents must end in any case
        import traceback
        tap.ok(False, "the scenes run to their end", traceback.format_exc())
        print("# " + fleet.server.log_text()[-6000:].replace("\n", "\n# "))
        for name in (CANARY, BAD, RACK_B[0]):
            if name in fleet.nodes:
                print(f"# {name}: " + fleet.nodes[name].log_text().replace("\n", "\n# "))
    finally:
        fleet.close()
        finish(tap, fleet.server)
    tap.done()


if __name__ == "__main__":
    main()
