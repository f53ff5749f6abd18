#!/usr/bin/env python3
"""stellarctl against a real server: every operation can be reached, the friendly commands do what they
say, and each exit code is given."""
import csv
import fcntl
import hashlib
import json
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import tempfile
import termios
import threading
import time

import yaml

from lib import FABRIC, POLICY, Agent, fixture, inventory, must, planned, run
from telemetry import OCTETS, batch

METHODS = ("get", "put", "post", "delete", "patch", "head")
DONE, REFUSED, USAGE, MISSING, AUTH, CONFLICT, UNREACHABLE, PARTIAL = range(8)


class Ctl:
    """Runs stellarctl with a configuration folder of its own."""

    def __init__(self, server, token="admin"):
        self.program = os.path.join(server.args.objdir, "stellarctl")
        self.folder = tempfile.TemporaryDirectory(prefix="stellar-ctl-")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("STELLAR_")}
        self.env.update(STELLAR_SERVER=f"http://127.0.0.1:{server.port}",
                        XDG_CONFIG_HOME=self.folder.name)
        self.token(server.admin if token == "admin" else token)

    def token(self, token):
        self.env["STELLAR_TOKEN"] = token

    def file(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def __call__(self, *words, stdin="", env=None):
        return subprocess.run([self.program, *words], input=stdin, env={**self.env, **(env or {})},
                              capture_output=True, text=True, timeout=60, encoding="utf-8")

    def json(self, *words):
        answer = self(*words, "-o", "json")
        if answer.returncode != 0:
            raise AssertionError(f"{words}: {answer}")
        return json.loads(answer.stdout)


def operations(server):
    path = os.path.join(server.args.srcdir, "schemas", "openapi.yaml")
    with open(path, encoding="utf-8") as f:
        document = yaml.safe_load(f)
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method.upper(), item[method]["operationId"], item[method]


def every_operation_is_reached(tap, server):
    ctl = Ctl(server)
    body = ctl.file("body", {})
    listed = [row["operation"] for row in ctl.json("api")["items"]]
    wanted = [op for _, _, op, _ in operations(server)]
    tap.equal(sorted(listed), sorted(wanted), "api lists every operation of openapi.yaml")
    missed = []
    for path, method, op, spec in operations(server):
        words = ["api", op, "--print-request"]
        for name in re.findall(r"{(\w+)}", path):
            words += ["--param", f"{name}=x.{name}"]
        for given in spec.get("parameters", []):
            if given.get("required") and given.get("in") in ("query", "header"):
                words += ["--" + given["in"], given["name"] + "=1"]
        if "requestBody" in spec:
            words += ["-f", body]
        answer = ctl(*words)
        line = f"{method} {ctl.env['STELLAR_SERVER']}{re.sub(r'{(.*?)}', r'x.' + chr(92) + '1', path)}"
        if answer.returncode != 0 or answer.stdout.split("\n")[0].split("?")[0] != line:
            missed.append((op, line, answer))
    tap.ok(not missed, f"each of the {len(wanted)} operations becomes its request", missed)


def every_read_works(tap, server):
    """Each GET of the API, for real, on the fixture."""
    _, tokens = fixture(server)
    ctl = Ctl(server)
    values = {"switch": "sw1", "tenant": "a", "job": "nlp_job", "node": "n1", "number": "1", "generation": "current",
              "id": tokens["id"]}
    failed = []
    for path, method, op, spec in operations(server):
        names = re.findall(r"{(\w+)}", path)
        agents = path.startswith("/v1/agent") or path.endswith(("/flash", "/verify"))
        if method != "GET" or agents or set(names) - set(values):
            continue
        own = dict(values, id="1") if op.startswith("audit") else values
        words = [x for name in names for x in ("--param", f"{name}={own[name]}")]
        for given in spec.get("parameters", []):
            if given.get("in") == "query" and given.get("required"):
                words += ["--query", given["name"] + "=" + str(given.get("example", 1))]
        answer = ctl("api", op, *words)
        if answer.returncode != DONE or not answer.stdout:
            failed.append((op, answer))
    tap.ok(not failed, "every GET is answered", failed)


def kinds_are_shown(tap, server):
    fixture(server)
    ctl = Ctl(server)
    help_text = ctl("help", "kinds").stdout
    kinds = [line.split()[0] for line in help_text.split("\n")[1:] if line]
    names = {"plans": ["n1"], "states": ["n1"], "inventories": ["n1"], "generations": ["current"],
             "receipts": ["--node", "n1"], "certificates": ["--node", "n1"],
             "chains": ["--node", "n1"], "node-health": ["n1"], "job-chains": ["nlp_job", "--tenant", "a"]}
    tap.ok(len(kinds) > 12, "help kinds lists the kinds", help_text)
    for kind in kinds:
        for output in ("table", "json", "jsonl"):
            answer = ctl("get", kind, *names.get(kind, []), "-o", output)
            good = answer.returncode == DONE
            if good and output == "json":
                json.loads(answer.stdout)
            if not good:
                tap.ok(False, f"get {kind} -o {output}", answer)
                break
        else:
            tap.ok(True, f"get {kind} works in every form")
    table = ctl("get", "policies").stdout.split("\n")
    tap.ok(table[0].split() == ["TENANT", "JOB", "PRIORITY", "GUARANTEE", "LIMIT", "DEMAND",
                                "DESCRIPTION"] and table[1].split()[:2] == ["a", "cv_job"],
           "policies of all tenants are one table", table)
    text = ctl("get", "nodes", "-o", "csv", "--no-headers").stdout
    tap.ok(text.startswith("n1,pending,"), "CSV without titles", text)
    tap.equal(ctl("get", "tenants", "-o", "name", "--limit", "1").stdout, "a\n", "names, limited")


def on_a_terminal(ctl, columns, *words):
    """What a terminal so wide shows of a command."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    child = subprocess.Popen([ctl.program, *words], env=ctl.env, stdin=slave, stdout=slave, stderr=subprocess.PIPE)
    os.close(slave)
    text = b""
    try:
        while part := os.read(master, 65536):
            text += part
    except OSError:  # the other end is closed
        pass
    os.close(master)
    child.stderr.close()
    return child.wait(10), text.decode().replace("\r\n", "\n")


def states_are_a_row_a_knob(tap, server):
    agent, _ = fixture(server)
    ctl = Ctl(server)

    def rows():
        answer = ctl("get", "state", "n1", "-o", "csv", "--no-headers")
        return {row[0]: row for row in csv.reader(answer.stdout.splitlines())}

    tap.equal({row[5] for row in rows().values()}, {""}, "a state that is of no plan is compared with none")
    must(agent.receipt(), 201)

    def change(knob):
        if knob["kind"] == "dcb.ets":
            knob["live"] = {"mode": "other"}
        if knob["kind"] == "dcb.app":
            knob["persisted"] = knob["live"]
        if knob["kind"] == "link.mtu":
            del knob["next_boot"]
    must(agent.state(change, of=True), 200)
    titles = ctl("get", "states", "n1").stdout.split("\n")[0]
    tap.equal(titles.split(), "KNOB LIVE PERSISTED NEXT BOOT OWNER IN SYNC PROBLEM".split(), "a table of knobs")
    shown = rows()
    tap.equal(shown["dcb.ets solar_rdma.0/0"][5], "no", "a knob that is not what the plan wants is told")
    tap.equal(shown["link.mtu solar_rdma.0/0"][1:6], ["4200", "", "", "stellar", "yes"], "one that is, too")
    dscps = shown["dcb.app solar_rdma.0/0"]
    tap.ok(dscps[1] == dscps[2] != "", "what is kept for a boot stands beside", dscps)
    flower = [name for name in shown if name.startswith("tc.flower ")]
    tap.ok(flower and all(len(name.split()) == 3 for name in flower), "rules have their id in the name", list(shown))
    tap.equal(sorted(ctl("get", "states", "n1", "-o", "name").stdout.split("\n")[:-1]), sorted(shown), "names are these")
    tap.equal(ctl.json("get", "states", "n1"), server.get("/v1/nodes/n1/state").json, "JSON is what the server says")
    code, narrow = on_a_terminal(ctl, 100, "get", "states", "n1", "-o", "table")
    lines = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in narrow.split("\n") if line]
    tap.ok(code == DONE and max(map(len, lines)) <= 100 and len(lines) == len(shown) + 1,
           "on a terminal long values are cut, a line a knob", lines)
    ets = [line.split() for line in lines if line.startswith("dcb.ets")]
    tap.ok(ets and "no" in ets[0] and "stellar" in ets[0], "and whose it is and whether it is right are not", ets)
    must(server.put("/v1/fabric", {"fabric_profile": dict(FABRIC["fabric_profile"], mtu_bytes=9000)}, "*"), 200)
    planned(server, "n1")
    tap.equal({row[5] for row in rows().values()}, {""}, "under another plan it is not compared")


def unknown_is_not_none(tap, server):
    agent, _ = fixture(server)
    ctl = Ctl(server)
    chains = ("get", "chains", "--node", "n1")
    tap.ok("unknown: nothing of this was reported" in ctl(*chains).stderr, "chains that nobody told are unknown")
    tap.equal(ctl.json(*chains), {"items": [], "reported": False}, "in JSON too")
    body = {"version": 1, "node": "n1", "generation": 7, "digest": "sha256:" + "1" * 64, "chains": []}
    must(server.call("PUT", "/v1/agent/chains", body, token=agent.token), 200)
    tap.equal(ctl(*chains).stderr, "none\n", "a node that told that it has none has none")
    tap.equal(ctl.json(*chains), {"items": []}, "in JSON too")


def the_chains_of_a_job_are_a_table(tap, server):
    fixture(server)
    ctl = Ctl(server)
    table = ctl("get", "job-chains", "nlp_job", "-t", "a").stdout.split("\n")
    tap.ok(table[0].split()[:3] == ["NODE", "VERDICT", "PORT"] and table[1].split()[:2] == ["n1", "unknown"] and
           "told no chains" in table[1], "a node that told none is unknown, and the row says why", table)
    tap.equal([i["node"] for i in ctl.json("get", "job-chains", "nlp_job", "-t", "a")["items"]], ["n1"], "in JSON too")
    answer = ctl("get", "job-chains", "-t", "a")
    tap.ok(answer.returncode == 2 and "need a name" in answer.stderr, "of which job must be said", answer)
    answer = ctl("get", "job-chains", "nlp_job")
    tap.ok(answer.returncode != DONE and "--tenant" in answer.stderr, "and of which tenant", answer)


def health_is_a_table(tap, server):
    agent, _ = fixture(server)
    ctl = Ctl(server)
    table = ctl("get", "health").stdout.split("\n")
    tap.ok(table[0].split()[:4] == ["CRITICAL", "NODES", "WARNING", "NODES"] and len(table[1].split()) == 7,
           "nodes by grade and findings by severity are a row", table)
    tap.ok("rules" in ctl.json("get", "health"), "in JSON all of it")
    lines = ctl("get", "health", "-o", "csv").stdout.split("\n")
    tap.ok(len(set(lines[0].split(","))) == 7, "each column of the CSV has a title of its own", lines)
    named = ctl("get", "health", "-o", "name")
    tap.ok(named.returncode != DONE and "has no name" in named.stderr, "the fleet's health has no name", named)
    frames = ("port", "0000:3b:00.0/0", 0, 0, 0, {"rx_fcs_errors": ("stays", 0, [0] * 9 + [12])})
    must(server.call("POST", "/v1/nodes/n1/telemetry", batch([frames]), OCTETS, token=agent.token), 200)
    one = ctl("get", "node-health", "n1").stdout
    tap.ok(one.split()[:2] == ["NODE", "GRADE"] and "\n\nSEVERITY" in one and "fcs-errors" in one,
           "a node's findings stand under its grade", one)
    tap.ok("\n\nSEVERITY" in ctl("get", "health").stdout, "the fleet's rules stand under its grades")
    none = ctl("get", "nics", "--node", "n9")
    tap.ok(none.returncode != DONE and "no such node" in none.stderr, "NICs of a node that is none are an error", none)


def an_ended_prompt_leaves_the_terminal_as_it_was(tap, server):
    ctl = Ctl(server)
    for end in (signal.SIGINT, signal.SIGTERM):
        master, slave = pty.openpty()
        child = subprocess.Popen([ctl.program, "login", "--user", "somebody"], env=ctl.env, stdin=slave,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # a shell's & ignores it
        prompt = child.stderr.read1(200)
        tap.ok(b": " in prompt and not termios.tcgetattr(slave)[3] & termios.ECHO, "the password asked for is not shown",
               prompt)
        child.send_signal(end)
        tap.equal(child.wait(10), -end, f"{end.name} ends it")
        tap.ok(termios.tcgetattr(slave)[3] & termios.ECHO, "and what is typed next is shown")
        child.stderr.close()
        os.close(master)
        os.close(slave)


def a_release_says_what_it_is_for(tap, server):
    agent, _ = fixture(server)
    ctl = Ctl(server)
    must(agent.receipt(), 201)
    freed = ctl("node", "release", "n1")
    tap.ok("not 'quarantined' but 'in-sync'" in freed.stderr, "there was nothing to end", freed)
    tap.ok("stellarctl get receipts --node n1" in freed.stderr, "where to look", freed)
    must(agent.receipt("quarantined", observed="sha256:" + "0" * 64, problem="stuck"), 201)
    freed = ctl("node", "release", "n1")
    tap.ok("attempt: 2" in freed.stdout and "not 'quarantined'" not in freed.stderr, "there was", freed)
    tap.equal(ctl("node", "release", "n1", "-o", "json").stderr, "", "programs get the answer alone")
    lost = ctl("node", "release", "n9")
    tap.ok(lost.returncode == MISSING and lost.stderr.count("not-found") == 1, "no node, said once", lost)


def documents_make_the_round(tap, server):
    ctl = Ctl(server)
    files = os.path.join(ctl.folder.name, "all")
    os.mkdir(files)
    for name, content in (
            ("1-jobs.json", "\n".join(json.dumps(d) for d in (
                {"kind": "placement", "tenant": "a", "name": "nlp_job",
                 "document": {"nodes": ["n1"], "match": {"dst": "10.9.1.0/24"}}},
                {"kind": "policy", "name": "a", "document": POLICY}))),
            ("2-fleet.json", {"items": [FABRIC, {"kind": "node", "name": "n1", "document": {}},
                                        {"kind": "tenant", "name": "a", "document": {}}]})):
        ctl.file("all/" + name, content)
    first = ctl("apply", "-f", files, "-m", "first")
    tap.ok(first.returncode == DONE and first.stdout.count("created") == 5,
           "a folder is applied in the order that its documents need", first)
    second = ctl("apply", "-f", files)
    tap.ok(second.returncode == DONE and second.stdout.count("unchanged") == 5,
           "a second time nothing changes", second)
    tap.equal(server.get("/v1/tenants/a/policy").json, POLICY, "the server has the policy")
    tap.equal(ctl.json("get", "revisions", "-t", "a")["items"][0]["message"], "first",
              "the message is kept")
    policy = {"qos_policy": dict(POLICY["qos_policy"], cv_job={"priority": 2, "bw_limit": "70%"})}
    changed = ctl.file("policy.json", policy)
    tap.equal(ctl("diff", "-f", changed, "-t", "a").returncode, REFUSED, "diff finds the change")
    dry = ctl("apply", "-f", changed, "-t", "a", "--dry-run")
    tap.ok(dry.returncode == DONE and "dry run" in dry.stdout, "a dry run says so", dry)
    tap.equal(server.get("/v1/tenants/a/policy").json, POLICY, "and stores nothing")
    must_do(ctl("apply", "-f", changed, "-t", "a"))
    tap.equal(ctl("diff", "-f", changed, "-t", "a").returncode, DONE, "then nothing differs")
    old = ctl("diff", "policy", "a", "--from", "1")
    tap.ok(old.returncode == REFUSED and '+      "bw_limit": "70%"' in old.stdout,
           "two revisions differ", old)
    must_do(ctl("rollback", "policy", "a", "--to", "1", "-m", "back"))
    tap.equal(server.get("/v1/tenants/a/policy").json, POLICY, "a rollback brings the old one back")
    tap.equal(ctl("validate", "-f", changed, "-t", "a").returncode, DONE, "a good file is valid")
    gone = ctl("delete", "placement", "nlp_job", "-t", "a")
    tap.ok(gone.returncode == DONE and "removed" in gone.stdout, "a placement is removed", gone)
    tap.equal(server.get("/v1/tenants/a/placements/nlp_job").status, 404, "it is gone")


def must_do(answer, code=DONE):
    if answer.returncode != code:
        raise AssertionError(f"{answer}, wanted {code}")
    return answer


def exit_codes(tap, server):
    _, tokens = fixture(server)
    ctl = Ctl(server)
    bad = ctl.file("bad.json", {"qos_policy": {"x": {"priority": 9}}})
    refused = ctl("apply", "-f", bad, "-t", "a")
    tap.ok(refused.returncode == REFUSED and "priority-range at /qos_policy/x/priority" in
           refused.stderr and "observed 9" in refused.stderr, "1: refused, with every reason", refused)
    problem = json.loads(ctl("api", "policy_put", "--param", "tenant=a", "--header", "If-Match=*",
                             "-f", bad, "-o", "json").stderr)
    tap.equal(problem["code"], "policy-refused", "a problem as JSON")
    tap.equal(ctl("validate", "-f", bad, "-t", "a").returncode, REFUSED, "1: not valid")
    tap.equal(ctl("get", "nothing").returncode, USAGE, "2: no such kind")
    tap.equal(ctl("get", "tenant", "zz").returncode, MISSING, "3: no such tenant")
    tap.equal(ctl("delete", "tenant", "zz").returncode, MISSING, "3: nothing to remove")
    tap.equal(ctl("get", "nodes", env={"STELLAR_TOKEN": "st_wrong"}).returncode, AUTH, "4: 401")
    tap.equal(ctl("get", "users", env={"STELLAR_TOKEN": tokens["operator"]}).returncode, AUTH,
              "4: 403")
    stale = ctl("apply", "-f", ctl.file("good.json", POLICY), "-t", "a", "--if-match", '"99"')
    tap.equal(stale.returncode, CONFLICT, "5: stale")
    tap.equal(ctl("api", "policy_put", "--param", "tenant=a", "-f", bad).returncode, CONFLICT,
              "5: no precondition")
    tap.equal(ctl("get", "nodes", "-s", "http://127.0.0.1:1").returncode, UNREACHABLE,
              "6: no server")
    some = ctl("delete", "tenant", "b", "zz")
    tap.equal(some.returncode, PARTIAL, "7: one of two")
    late = ctl("wait", "generation", "current", "--timeout", "1s")
    tap.ok(late.returncode == REFUSED and "n1" in late.stdout, "1: not applied in time", late)


def waiting_ends_when_it_is_applied(tap, server):
    agent, _ = fixture(server)
    ctl = Ctl(server)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(
        ctl("wait", "generation", "current", "--timeout", "30s")))
    thread.start()
    time.sleep(0.3)
    agent.settle()
    must(agent.receipt(), 201)
    must(agent.state(), 200)
    thread.join(60)
    tap.ok(answers and answers[0].returncode == DONE, "wait returns when every node applied",
           answers)


def tokens_are_made_and_ended(tap, server):
    fixture(server)
    ctl = Ctl(server)
    made = ctl.json("tokens", "create", "--role", "auditor", "--lifetime", "1h", "--description",
                    "ci")
    tap.ok(made["token"].startswith("st_"), "the secret is printed once", made)
    other = Ctl(server, made["token"])
    tap.equal(other("get", "nodes", "-o", "name").stdout, "n1\n", "it works")
    tap.ok(made["token"] not in ctl("get", "tokens", "-o", "json").stdout, "and is not shown again")
    must_do(ctl("delete", "token", made["id"]))
    tap.equal(other("get", "nodes").returncode, AUTH, "a deleted token does not")
    node = ctl.json("node", "token", "n1")
    tap.ok(node["token"].startswith("sa_"), "a node's token is made", node)
    env = {"STELLAR_SERVER": "", "STELLAR_TOKEN": ""}
    must_do(ctl("profile", "set", "here", "-s", ctl.env["STELLAR_SERVER"], "--token-file", "-",
                stdin=server.admin + "\n", env=env))
    config = os.path.join(ctl.folder.name, "stellar", "config.json")
    tap.equal(os.stat(config).st_mode & 0o777, 0o600, "a profile is for its owner only")
    tap.equal(ctl("get", "nodes", "-o", "name", env=env).stdout, "n1\n", "a profile is enough")
    os.chmod(config, 0o644)
    tap.equal(ctl("get", "nodes", env=env).returncode, USAGE, "one that others may read is refused")


def backups_are_made_fetched_and_removed(tap, server):
    ctl = Ctl(server)
    tap.equal(ctl("backup", "list", "-o", "name").stdout, "", "at first there is none")
    made = ctl.json("backup", "create", "--reason", "nightly")
    shown = ctl.json("backup", "get", made["id"])
    tap.ok(made["sha256"] == shown["sha256"] and made["generation"] == 0, "create shows what it made",
           (made, shown))
    tap.equal(ctl("backup", "list", "-o", "name").stdout, made["id"] + "\n", "list shows it")
    named = ctl("backup", "create", "-o", "name").stdout
    tap.ok(named in ctl("backup", "list", "-o", "name").stdout and named.count("\n") == 1,
           "create -o name gives the name alone", named)
    must_do(ctl("backup", "delete", named.strip()))
    rows = ctl("whoami", "-o", "csv").stdout.splitlines()
    tap.ok(len(rows) == 2 and dict(zip(rows[0].lower().split(","), rows[1].split(",")))["role"] == "admin",
           "an answer of one thing is a row of CSV", rows)
    answer = ctl("audit", "verify", "-o", "name")
    tap.ok(answer.returncode == USAGE and "has no name" in answer.stderr, "what has no name is told", answer)
    path = os.path.join(ctl.folder.name, "copy.db")
    must_do(ctl("backup", "get", made["id"], "--out", path))
    with open(path, "rb") as file:
        tap.equal(hashlib.sha256(file.read()).hexdigest(), made["sha256"], "get --out fetches it")
    tap.equal(os.stat(path).st_mode & 0o777, 0o600, "for its owner only")
    line = ctl("backup", "get", made["id"], "--out", path, "--print-request").stdout.split("\n")[0]
    tap.ok(line.endswith(f"/v1/backups/{made['id']}/content"), "--print-request only prints", line)
    must_do(ctl("backup", "delete", made["id"], "--reason", "old"))
    tap.equal(ctl("backup", "get", made["id"]).returncode, MISSING, "delete removes it")
    tap.equal(Ctl(server, server.token("operator")["token"])("backup", "create").returncode, AUTH,
              "an operator makes none")


def rollouts_are_steered(tap, server):
    agent, _ = fixture(server)
    agent.settle()
    ctl = Ctl(server)
    tap.equal(ctl("rollout", "start", "--all").returncode, CONFLICT, "5: nothing to roll out")
    policy = ctl.file("staged.json", {"kind": "rollout-policy", "document": {
        "mode": "staged", "start": "manual", "confirm": "manual", "confirm_timeout": "10m"}})
    set_up = ctl("apply", "-f", policy)
    tap.ok(set_up.returncode == DONE and "rollout-policy: created" in set_up.stdout,
           "a default that nobody wrote is replaced", set_up)
    must_do(ctl("apply", "-t", "a", "-f", ctl.file("new.json", {"qos_policy": {
        "nlp_job": {"priority": 3, "bw_guarantee": "35%"}}})))
    end = time.monotonic() + 30
    started = ctl("rollout", "start", "--all", "-m", "less", "-o", "json")
    while started.returncode == CONFLICT and time.monotonic() < end:
        time.sleep(0.1)  # the plan is being compiled
        started = ctl("rollout", "start", "--all", "-m", "less", "-o", "json")
    name = json.loads(must_do(started).stdout)["id"]
    listed = ctl("rollout", "list", "-o", "csv", "--no-headers").stdout
    tap.ok(listed.startswith(name + ",") and ",less," in listed, "it is listed", listed)
    paused = ctl("rollout", "pause", name)
    tap.ok(paused.returncode == DONE and f"rollout {name}: paused" in paused.stdout, "paused",
           paused)
    tap.equal(ctl.json("rollout", "show", name)["state"], "paused", "shown so")
    shown = ctl("rollout", "show", name)
    tap.ok(shown.stdout.startswith(f"rollout {name}: paused\n") and "RECEIPTS" in shown.stdout
           and f"stellarctl rollout resume {name}" in shown.stderr, "with gates and what to do", shown)
    nodes = ctl("rollout", "nodes", name, "-o", "csv")
    tap.ok(nodes.stdout.startswith("NODE,WAVE,STATE,PROBLEM\nn1,1,"), "its nodes", nodes)
    must_do(ctl("rollout", "resume", name))
    tap.equal(ctl("rollout", "pause", "r-999").returncode, MISSING, "3: no such rollout")
    must_do(ctl("rollout", "rollback", name, "--reason", "test"))
    agent.settle()
    ended = ctl("rollout", "watch", name, "--interval", "1s", "-o", "jsonl")
    last = json.loads(ended.stdout.splitlines()[-1])
    tap.ok(ended.returncode == REFUSED and last["state"] == "rolled-back",
           "a watch ends with the rollout, 1: rolled back", ended)


def verifications_are_ordered(tap, server):
    agent, _ = fixture(server)
    ctl = Ctl(server)
    two = Agent(server, "n2", server.node("n2"))
    for number, node in enumerate((agent, two), 1):
        gids = [{"index": 3, "gid": f"::ffff:10.9.0.{number}", "type": "rocev2", "netdev": "sol0"}]
        body = inventory(node.node)
        body["ports"][0]["rdma_device"] = "mlx5_0"
        body["rdma_devices"] = [{"name": "mlx5_0", "ports": [{"port": 1, "gids": gids}]}]
        must(server.call("PUT", "/v1/agent/inventory", body, token=node.token), 200)
    rehearsed = ctl("verify", "start", "send_lat", "mesh", "--all", "--dry-run")
    tap.ok(rehearsed.returncode == DONE and "send_lat" in rehearsed.stdout and "n1 n2" in rehearsed.stdout and
           "v-1" not in rehearsed.stdout, "a dry run shows the tests", rehearsed)
    tap.equal(ctl("verify", "start", "ping", "--all").returncode, REFUSED, "1: no such kind")
    for value in (1000, 1100):
        made = ctl("verify", "start", "send_lat", "--node", "n1", "--node", "n2", "-m", "why")
        name = made.stdout.split(":")[0].split()[-1]
        tap.ok(made.returncode == DONE and f"stellarctl verify watch {name}" in made.stderr, "made, and what comes next", made)
        for node, figures in ((agent, {"latency_p50_ns": value}), (two, {})):
            must(server.call("POST", f"/v1/nodes/{node.node}/verify/{name}-1:report",
                             {"version": 1, "task": f"{name}-1", "outcome": "done", "figures": figures},
                             token=node.token), 200)
    shown = ctl("verify", "show", "v-2")
    tap.ok(shown.returncode == DONE and "+10.00 %" in shown.stdout and "1100" in shown.stdout, "and compared", shown)
    tap.equal(ctl("verify", "watch", "v-2").returncode, DONE, "0: it passed")
    listed = ctl("verify", "list", "-o", "csv", "--no-headers")
    tap.equal([row.split(",")[:3] for row in listed.stdout.split()][:2], [["v-2", "done", "pass"], ["v-1", "done", "pass"]],
              "listed")
    must_do(ctl("verify", "start", "mesh", "--all"))
    must_do(ctl("verify", "cancel", "v-3", "--reason", "test"))
    tap.equal(ctl("verify", "watch", "v-3").returncode, REFUSED, "1: it was cancelled")
    tap.equal((ctl("verify", "show", "v-9").returncode, ctl("verify", "cancel", "v-2").returncode), (MISSING, CONFLICT),
              "3: no such one; 5: it is done")


def campaigns_are_steered(tap, server):
    agent, _ = fixture(server)
    ctl = Ctl(server)
    image = ctl.file("fw.bin", "firmware")
    must_do(ctl("image", "upload", image, "solar_rdma", "2.2.0"))
    row = ctl.json("get", "images")["items"][0]["id"]
    rehearsed = ctl("campaign", "create", row, "--all", "--dry-run")
    tap.ok(rehearsed.returncode == DONE and "solar_rdma.0" in rehearsed.stdout and
           "2.1.8" in rehearsed.stdout, "a rehearsal shows the devices", rehearsed)
    tap.ok(re.search(r"JOB THERE +TENANT\nnlp_job +a\n", rehearsed.stdout), "and whose jobs run there",
           rehearsed)
    tap.equal(ctl("campaign", "create", "nothing", "--all").returncode, REFUSED, "1: no such image")
    made = ctl("campaign", "create", row, "--node", "n1", "-m", "fix")
    tap.ok(made.returncode == DONE and "campaign c-1: draft" in made.stdout and
           "stellarctl campaign start c-1" in made.stderr, "made, and what comes next", made)
    tap.equal(ctl("campaign", "pause", "c-1").returncode, CONFLICT, "5: a draft cannot be paused")
    for verb, state in (("start", "running"), ("pause", "paused"), ("resume", "running")):
        told = ctl("campaign", verb, "c-1")
        tap.ok(told.returncode == DONE and f"campaign c-1: {state}" in told.stdout, verb, told)
    shown = ctl("campaign", "show", "c-1")
    tap.ok(shown.returncode == DONE and "1 offered" in shown.stdout and "WAVE" in shown.stdout,
           "shown with its waves", shown)
    listed = ctl("campaign", "list", "-o", "csv", "--no-headers")
    tap.ok(listed.stdout.startswith("c-1,running,solar_rdma,2.2.0,1,"), "listed", listed)
    rows = ctl("campaign", "devices", "c-1", "-o", "csv")
    tap.ok(rows.stdout.splitlines()[1].startswith("n1,solar_rdma.0,1,offered,"), "its devices", rows)
    task = must(server.get("/v1/firmware/campaigns/c-1/devices"), 200).json["items"][0]["task"]
    server.call("POST", f"/v1/nodes/n1/flash/{task}:report",
                {"version": 1, "task": task, "phase": "flashing", "outcome": "failed",
                 "problem": "no power", "at_us": 1}, token=agent.token)
    halted = ctl("campaign", "watch", "c-1", "--interval", "1s", "-o", "jsonl")
    tap.ok(halted.returncode == REFUSED and json.loads(halted.stdout)["state"] == "halted",
           "a watch ends when it halts, 1", halted)
    must_do(ctl("campaign", "cancel", "c-1", "--reason", "test"))
    tap.equal(ctl("campaign", "show", "c-9").returncode, MISSING, "3: no such campaign")


def people_and_images_are_made(tap, server):
    ctl = Ctl(server)
    made = ctl("user", "create", "eva", "--role", "operator", stdin="correct horse battery\n")
    tap.ok(made.returncode == DONE and "user eva: created" in made.stdout, "a user is made", made)
    short = ctl("user", "create", "bob", "--role", "operator", stdin="short\n")
    tap.ok(short.returncode == REFUSED and "12 to 128" in short.stderr, "a short password", short)
    must_do(ctl("user", "password", "eva", stdin="another horse battery\n"))
    eva = Ctl(server, token="")
    del eva.env["STELLAR_TOKEN"]
    no = eva("login", "-u", "eva", stdin="correct horse battery\n")
    tap.equal(no.returncode, AUTH, "the old password is over")
    must_do(eva("login", "-u", "eva", stdin="another horse battery\n"))
    must_do(eva("user", "password", "eva", stdin="another horse battery\nthe third horse\n"))
    tap.equal(eva("user", "password", "eva", stdin="wrong horse\nthe fourth horse\n").returncode,
              REFUSED, "one's own needs the old one")
    image = ctl.file("fw.bin", "firmware")
    words = ("image", "upload", image, "mlx5_core", "22.41.1000", "--psid", "MT_0000000359")
    first, again = ctl(*words), ctl(*words)
    tap.ok(first.returncode == DONE and ": created" in first.stdout, "an image is stored", first)
    tap.ok(again.returncode == DONE and ": unchanged" in again.stdout, "and once only", again)
    row = ctl.json("get", "images")["items"][0]
    tap.ok(row["name"] == "fw.bin" and row["psids"] == ["MT_0000000359"] and row["size_bytes"] == 8,
           "with name and boards", row)


def the_audit_is_verified(tap, server):
    fixture(server)
    ctl = Ctl(server)
    good = ctl("audit", "verify")
    tap.ok(good.returncode == DONE and "valid: yes" in good.stdout, "the chain is whole", good)
    anchor = "999:sha256:" + "0" * 64
    tap.equal(ctl("audit", "verify", "--anchor", anchor).returncode, REFUSED,
              "1: the anchor is not in it")


def events_are_watched(tap, server):
    fixture(server)
    ctl = Ctl(server)
    seen = ctl("get", "events", "--watch", "--after", "0", "--limit", "2", "-o", "jsonl")
    events = [json.loads(line) for line in seen.stdout.splitlines()]
    tap.ok(seen.returncode == DONE and [e["id"] for e in events] == [1, 2],
           "events from the first one on", seen)
    proc = subprocess.Popen([ctl.program, "get", "events", "-w", "--limit", "1", "-o", "jsonl"],
                            env=ctl.env, stdout=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 30
        number = 0
        while proc.poll() is None and time.monotonic() < end:
            number += 1  # until the watch is under way
            must(server.put(f"/v1/tenants/w{number}", {}), 201)
            time.sleep(0.2)
        out = proc.communicate(timeout=10)[0]
    finally:
        if proc.poll() is None:
            proc.kill()
    event = json.loads(out)
    tap.ok(event["kind"] == "tenant.changed" and event["subject"].startswith("tenant/w"),
           "what happens is told as it happens", event)


def answers_go_to_files(tap, server):
    fixture(server)
    ctl = Ctl(server)
    path = os.path.join(ctl.folder.name, "out.json")
    must_do(ctl("api", "openapi", "--out", path))
    with open(path, encoding="utf-8") as f:
        tap.ok(json.load(f)["openapi"].startswith("3"), "an answer is written to a file")
    tap.equal(os.stat(path).st_mode & 0o777, 0o600, "for its owner only")
    ctl("api", "tenant_get", "--param", "tenant=zz", "--out", path)
    with open(path, encoding="utf-8") as f:
        tap.ok("openapi" in f.read(), "a failure leaves the file as it was")
    tap.equal(sorted(n for n in os.listdir(ctl.folder.name) if "part" in n), [], "and nothing beside")
    pipe = os.path.join(ctl.folder.name, "pipe")
    os.mkfifo(pipe)
    with open(path + ".read", "w+b") as got, subprocess.Popen(["cat", pipe], stdout=got) as reader:
        must_do(ctl("api", "openapi", "--out", pipe))
        reader.wait(60)
        got.seek(0)
        tap.ok(json.load(got)["openapi"].startswith("3"), "a pipe or a device is written to")
    tap.ok(stat.S_ISFIFO(os.stat(pipe).st_mode), "and no file put in its place")
    if os.geteuid() == 0:
        device = os.path.join(ctl.folder.name, "full")
        os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 7))
        answer = ctl("api", "openapi", "--out", device)
        tap.ok(answer.returncode == USAGE and "was not written whole" in answer.stderr,
               "a device that takes nothing is told", answer)
        tap.ok(stat.S_ISCHR(os.stat(device).st_mode), "and stays what it is")
    plain = ctl("whoami", "--server", f"https://127.0.0.1:{server.port}")
    tap.ok(plain.returncode == UNREACHABLE and "without TLS" in plain.stderr, "TLS with who speaks none has a hint", plain)
    full = subprocess.run(f"{ctl.program} api openapi >/dev/full", shell=True, env=ctl.env,
                          capture_output=True, text=True, timeout=60)
    tap.equal(full.returncode, USAGE, "output that cannot be written is no success")


def hostile_text_stays_text(tap, server):
    """What a stranger may write into a document does not steer the operator's terminal."""
    ctl = Ctl(server)
    evil = "\u001b]0;owned\u0007 \u202e \u009b31m"
    server.put("/v1/tenants/x", {"description": "quiet"})
    answer = server.put("/v1/tenants/y", {"description": evil})
    shown = ctl("get", "tenants").stdout + ctl("get", "audit").stdout + ctl(
        "api", "tenant_get", "--param", "tenant=" + evil).stderr
    tap.ok(not any(c in shown for c in "\u001b\u0007\u202e\u009b") and "quiet" in shown,
           f"nothing of it is printed raw (stored with {answer.status})", shown)


def completion_works(tap, server):
    ctl = Ctl(server)
    script = ctl.file("done.bash", must_do(ctl("completion", "bash")).stdout)
    tap.equal(subprocess.run(["bash", "-n", script]).returncode, 0, "bash parses its completions")

    def complete(*words):
        text = f"source {script}\nCOMP_WORDS=({' '.join(map(repr, words))})\n" \
               f"COMP_CWORD={len(words) - 1}\n_stellarctl\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
        return subprocess.run(["bash", "-c", text], capture_output=True, text=True,
                              timeout=30, env=ctl.env).stdout.split()

    tap.equal(complete("stellarctl", "rol"), ["rollback", "rollout"], "commands")
    tap.equal(complete("stellarctl", "rollout", "st"), ["start"], "their second words")
    tap.equal(complete("stellarctl", "get", "pla"), ["placements", "plans"], "kinds")
    tap.equal(complete("stellarctl", "-s", "x", "get", "nodes", "-o", "js"), ["json", "jsonl"],
              "values of options")
    tap.equal(complete("stellarctl", "api", "tenant_g"), ["tenant_get"], "operations")
    tap.ok("--override" in complete("stellarctl", "apply", "--"), "options of a command")
    tap.ok("--override" not in complete("stellarctl", "get", "--"), "not those of another")
    tap.equal(complete("stellarctl", "completion", ""), ["bash", "zsh", "fish"], "shells")
    zsh = ctl.file("done.zsh", must_do(ctl("completion", "zsh")).stdout)
    fish = ctl.file("done.fish", must_do(ctl("completion", "fish")).stdout)
    stub = 'compdef() {}; compadd() { print -l -- "${@:2}"; }; words=(stellarctl %s); ' \
           f'CURRENT=$#words; source {zsh}; _stellarctl'
    for words, wanted in (("rol", "rollout"), ("rollout st", "start"), ("get pla", "placements"),
                          ("-s x get nodes -o js", "jsonl"), ("api ten", "tenant_get"),
                          ("apply --", "--override")):
        got = other_shell(ctl, ["zsh", "-fc", stub % words])
        tap.ok(wanted in got, f"zsh completes '{words}'", got)
        line = f"stellarctl {words}"
        got = other_shell(ctl, ["fish", "-N", "-c", f"source {fish}; complete -C '{line}'"])
        tap.ok(wanted in got, f"fish completes '{words}'", got)


def other_shell(ctl, words):
    answer = subprocess.run(words, capture_output=True, text=True, timeout=60, env=ctl.env)
    return answer.stdout.split() if not answer.stderr else [answer.stderr]


def manual_names_every_option(tap, server):
    """The lists in the manual page and in --help are the same."""
    ctl = Ctl(server)
    path = os.path.join(server.args.srcdir, "doc", "man", "stellarctl.1.scd")
    with open(path, encoding="utf-8") as f:
        manual = f.read()
    commands = re.findall(r"^\*stellarctl ([a-z -]+)\*", manual, re.M)
    listed = re.findall(r"^    '([a-z -]+)'\) opts=", ctl("completion", "bash").stdout, re.M)
    tap.equal(sorted(commands), sorted(listed), "the manual has every command")
    documented = set(re.findall(r"\*(?:-\w\*, \*)?--([a-z-]+)\*", manual))
    helped = set()
    for command in listed:
        helped |= set(re.findall(r"--([a-z-]+)", "\n".join(
            line[:34] for line in must_do(ctl(*command.split(), "--help")).stdout.split("\n")
            if line.startswith("  "))))
    tap.equal(sorted(documented), sorted(helped), "and every option, and no other")
    tap.equal(ctl("version").stdout.split()[0], "stellarctl", "version")


if __name__ == "__main__":
    run([every_operation_is_reached, every_read_works, kinds_are_shown, states_are_a_row_a_knob, unknown_is_not_none,
         the_chains_of_a_job_are_a_table, health_is_a_table,
         an_ended_prompt_leaves_the_terminal_as_it_was,
         a_release_says_what_it_is_for, documents_make_the_round,
         exit_codes, waiting_ends_when_it_is_applied, tokens_are_made_and_ended, rollouts_are_steered,
         verifications_are_ordered, campaigns_are_steered, people_and_images_are_made,
         backups_are_made_fetched_and_removed,
         the_audit_is_verified, events_are_watched,
         answers_go_to_files, hostile_text_stays_text, completion_works,
         manual_names_every_option])
