"""Helpers of the API tests: starts a stellard of its own, speaks HTTP to it, counts in TAP.

Each test program is `test_*.py --objdir OBJ --srcdir SRC`. It ends only processes that it started, and
each wait is bounded.
"""
import argparse
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from contract import Document, faults_of_answer

SLOW = 6 if os.environ.get("STELLAR_SANITIZE") else 1
START_S = 20 * SLOW
CALL_S = 30 * SLOW
OUTSIDE_MAX = 50  # faults of answers that are kept

FABRIC = {"fabric_profile": {
    "trust": "dscp", "mtu_bytes": 4200,
    "priorities": [
        {"priority": 0, "dscps": [0], "traffic_class": 0, "ets_weight": 10},
        {"priority": 2, "dscps": [18], "traffic_class": 2, "ets_weight": 40},
        {"priority": 3, "dscps": [26], "traffic_class": 3, "lossless": True, "ets_weight": 50}]}}
POLICY = {"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": "40%"},
                         "cv_job": {"priority": 2, "bw_limit": "60%"}}}
CREATE = {"If-None-Match": "*"}
PASSWORD = "correct horse battery"


def inventory(node, ports=1):
    return {"version": 1, "node": node, "ports": [
        {"id": f"solar_rdma.{i}/0", "ifname": f"sol{i}", "driver": "solar_rdma", "firmware": "2.1.8",
         "speed_bps": 200000000000, "mtu_bytes": 4200,
         "caps": {"dcb_app": True, "dcb_ets": True, "dcb_pfc": True, "dcb_maxrate": True,
                  "dcb_buffer": True, "tc": True, "flower_hw": True, "flower_hw_entries": 1024,
                  "maxrate_unit_bps": 1000000, "ets_tcs": 8}} for i in range(ports)]}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body) if self.body else None

    @property
    def etag(self):
        return self.headers.get("ETag")

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"


class Server:
    """A stellard on a free port with a folder of its own. Each answer is held against the contract."""

    contract = None

    def __init__(self, args, data=None, options=()):
        self.args = args
        self.options = list(options)  # of stellard, at the next start
        self.own = data is None
        self.data = data or tempfile.mkdtemp(prefix="stellar-api-")
        self.proc = None
        self.outside = set()
        self.local = threading.local()
        self.listen = "127.0.0.1:0"
        self.context = None  # ssl.SSLContext: speaks TLS
        if Server.contract is None:
            Server.contract = Document(self.args.srcdir)

    def start(self, preexec=None):
        url = os.path.join(self.data, "url")
        if os.path.exists(url):
            os.unlink(url)
        self.log = open(os.path.join(self.data, "log"), "ab")
        self.proc = subprocess.Popen(
            [os.path.join(self.args.objdir, "stellard"), "--data", self.data, "--listen",
             self.listen, *self.options], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            preexec_fn=preexec)
        end = time.monotonic() + START_S
        while not os.path.exists(url):
            if self.proc.poll() is not None or time.monotonic() > end:
                raise RuntimeError("stellard did not start:\n" + self.log_text())
            time.sleep(0.005)
        self.port = int(open(url).read().strip().rsplit(":", 1)[1])
        self.admin = open(os.path.join(self.data, "admin.token")).read().strip()
        self.local = threading.local()
        return self

    def log_text(self):
        self.log.flush()
        return open(os.path.join(self.data, "log"), errors="replace").read()[-20000:]

    def kill(self):
        self.proc.kill()
        self.proc.wait(CALL_S)
        self.log.close()

    def stop(self):
        """SIGTERM; the exit code (a sanitizer's report makes it other than 0)."""
        if self.proc is None or self.proc.poll() is not None:
            return self.proc.returncode if self.proc else 0
        self.proc.send_signal(signal.SIGTERM)
        try:
            code = self.proc.wait(CALL_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return -9
        self.log.close()
        return code

    def remove(self):
        if self.own:
            shutil.rmtree(self.data, ignore_errors=True)

    def connection(self):
        con = getattr(self.local, "con", None)
        if con is None:
            if self.context is None:
                con = http.client.HTTPConnection("127.0.0.1", self.port, timeout=CALL_S)
            else:
                con = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=CALL_S,
                                                  context=self.context)
            self.local.con = con
        return con

    def drop_connection(self):
        con = getattr(self.local, "con", None)
        if con is not None:
            con.close()
        self.local.con = None

    def call(self, method, path, body=None, headers=None, token="admin"):
        """body: bytes go as they are, anything else as JSON. token: None = none, "ss_..." = the cookie
        of a session, from a page of the server's own."""
        head = dict(headers or {})
        if token is not None and token.startswith("ss_"):
            head["Cookie"] = "__Host-stellar=" + token
            head.setdefault("Origin", f"http://127.0.0.1:{self.port}")
        elif token is not None:
            head["Authorization"] = "Bearer " + (self.admin if token == "admin" else token)
        if body is not None:
            head.setdefault("Content-Type", "application/json")
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        for attempt in (0, 1):
            con = self.connection()
            fresh = con.sock is None
            try:
                con.request(method, path, body, head)
                r = con.getresponse()
                return self.seen(method, path, Answer(r.status, r.headers, r.read()))
            except (http.client.HTTPException, ConnectionError, BrokenPipeError):
                self.drop_connection()
                if fresh or attempt:
                    raise

    def seen(self, method, path, answer):
        """Keeps how the answer leaves schemas/openapi.yaml; finish() fails for it."""
        for fault in faults_of_answer(Server.contract, method, path, answer):
            if len(self.outside) < OUTSIDE_MAX:
                self.outside.add(fault)
        return answer

    def get(self, path, **kw):
        return self.call("GET", path, **kw)

    def put(self, path, body, etag=None, **kw):
        headers = {"If-Match": etag} if etag else CREATE
        headers.update(kw.pop("headers", {}))
        return self.call("PUT", path, body, headers, **kw)

    def token(self, role, tenant=None):
        body = {"role": role}
        if tenant:
            body["tenant"] = tenant
        return must(self.call("POST", "/v1/tokens", body), 201).json

    def user(self, name, role, password=PASSWORD, **more):
        return must(self.call("POST", "/v1/users", {"name": name, "role": role,
                                                    "password": password, **more}), 201)

    def login(self, name, password=PASSWORD):
        """The cookie's value."""
        answer = must(self.call("POST", "/v1/session", {"name": name, "password": password},
                                token=None), 200)
        return answer.headers["Set-Cookie"].split(";")[0].split("=", 1)[1]

    def node(self, name, body=None):
        """A node and its agent's token."""
        must(self.put(f"/v1/nodes/{name}", body or {}), 201)
        return must(self.call("POST", f"/v1/nodes/{name}/token"), 201).json["token"]


class Agent:
    """A node's agent that believes everything it is told."""

    def __init__(self, server, node, token):
        self.server, self.node, self.token, self.digest = server, node, token, None
        self.plan = {}

    @property
    def rollout(self):
        """For which its plan is on trial; None = it is final."""
        return self.plan.get("confirm", {}).get("rollout") if self.digest else None

    @property
    def tag(self):
        tag = f"{self.digest}+{self.rollout}" if self.rollout else self.digest
        attempt = self.plan.get("attempt") if tag else None
        return f"{tag}!{attempt}" if attempt else tag

    def report(self, ports=1, **more):
        return must(self.server.call("PUT", "/v1/agent/inventory", {**inventory(self.node, ports), **more},
                                     token=self.token), 200)

    def fetch(self, wait="0s", known=None):
        known = known if known is not None else self.tag
        path = f"/v1/agent/plan?wait={wait}" + (f"&known={known.replace('+', '%2B')}" if known else "")
        answer = self.server.get(path, token=self.token)
        if answer.status == 200:
            self.plan = answer.json
            self.digest = self.plan["digest"]
        return answer

    def receipt(self, result="applied", observed=None, **more):
        body = {"version": 1, "node": self.node, "generation": self.plan["generation"],
                "digest": self.digest, "observed": observed or self.digest, "result": result,
                "time_us": time.time_ns() // 1000, "apply_ns": 1000000, "steps": [], **more}
        if self.rollout:
            body.setdefault("rollout", self.rollout)
        return self.server.call("POST", "/v1/agent/receipts", body, token=self.token)

    def state(self, change=None, of=False):
        """Everything as the plan wants it, but for what change(knob) alters; `of`: says of which plan."""
        knobs = []
        for k in self.plan["knobs"]:
            knob = {"kind": k["kind"], "subject": k["subject"], "live": k["want"],
                    "next_boot": k["want"], "owner": "stellar"}
            if "id" in k:
                knob["id"] = k["id"]
            knobs.append(knob)
        if change:
            for knob in knobs:
                change(knob)
        body = {"knobs": knobs}
        if of:
            body["of"] = {"digest": self.digest, "generation": self.plan["generation"],
                          "time_us": time.time_ns() // 1000}
        return self.server.call("PUT", "/v1/agent/state", body, token=self.token)

    def settle(self):
        """Fetches and confirms until the plan is the one known."""
        end = time.monotonic() + CALL_S
        while self.fetch(wait="0s").status == 200 and time.monotonic() < end:
            must(self.receipt(), 201)


def must(answer, *statuses):
    if answer.status not in statuses:
        raise AssertionError(f"answer {answer}, wanted {statuses}")
    return answer


def finish(tap, server, sentence="the server ends cleanly", quiet=False):
    """Stops the server; an exit code other than 0 fails with its log. Its folder is removed."""
    code = server.stop()
    if code != 0 or not quiet:
        if not tap.ok(code == 0, sentence, f"exit {code}"):
            with open(os.path.join(server.data, "log"), errors="replace") as log:
                print("# " + log.read()[-20000:].replace("\n", "\n# "))
    if server.outside:
        tap.ok(False, "every answer is as schemas/openapi.yaml says", "\n".join(sorted(server.outside)))
    server.remove()


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, good, sentence, detail=""):
        self.count += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {sentence}", flush=True)
        if not good:
            self.failed += 1
            for line in str(detail).splitlines() or [""]:
                print("# " + line)
        return good

    def equal(self, got, wanted, sentence):
        return self.ok(got == wanted, sentence, f"got {got!r}, wanted {wanted!r}")

    def status(self, answer, wanted, sentence):
        return self.ok(answer.status == wanted, sentence, f"got {answer}, wanted {wanted}")

    def done(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--objdir", default="obj")
    parser.add_argument("--srcdir", default=".")
    args = parser.parse_args()
    args.objdir, args.srcdir = os.path.abspath(args.objdir), os.path.abspath(args.srcdir)
    return args


def run(tests):
    """tests: functions of (tap, server). Each gets a server of its own, which must end with 0."""
    args, tap = arguments(), Tap()
    for test in tests:
        server = Server(args)
        try:
            server.start()
            test(tap, server)
        except Exception as e:  # one broken test must not hide the others
            import traceback
            tap.ok(False, f"{test.__name__} runs to its end", traceback.format_exc())
            print("# " + server.log_text().replace("\n", "\n# ") if server.proc else "# no server")
            del e
        finally:
            finish(tap, server, f"{test.__name__}: the server ends cleanly")
    tap.done()


def planned(server, *nodes):
    """Waits until the nodes' plans are of the newest generation."""
    end = time.monotonic() + CALL_S
    for node in nodes:
        while server.get(f"/v1/nodes/{node}").json["sync"] == "planning":
            if time.monotonic() > end:
                raise AssertionError(f"no plan for {node}")
            time.sleep(0.002)


def fixture(server):
    """Fabric, tenants a and b, a's policy, node n1 with inventory, a's nlp_job placed on it; n1 has
    its plan and said its state, but gave no receipt. A token a role."""
    must(server.put("/v1/fabric", FABRIC), 201)
    must(server.put("/v1/tenants/a", {"description": "language models"}), 201)
    must(server.put("/v1/tenants/b", {}), 201)
    must(server.put("/v1/tenants/a/policy", POLICY), 201)
    agent = Agent(server, "n1", server.node("n1", {"labels": {"rack": "a"}}))
    agent.report()
    must(server.put("/v1/tenants/a/placements/nlp_job",
                    {"nodes": ["n1"], "match": {"dst": "10.9.1.0/24"}}), 201)
    must(server.put("/v1/switches/sw1", {"vendor": "Mellanox", "pfc": True, "ecn": True}), 201)
    planned(server, "n1")
    must(agent.fetch(), 200)
    must(agent.state(), 200)
    tokens = {"admin": "admin", "agent": agent.token}
    for role in ("operator", "auditor"):
        tokens[role] = server.token(role)["token"]
    for role in ("tenant-admin", "tenant-user"):
        made = server.token(role, "a")
        tokens[role] = made["token"]
    tokens["id"] = made["id"]
    return agent, tokens
