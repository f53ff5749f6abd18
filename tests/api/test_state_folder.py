#!/usr/bin/env python3
"""A real agent over a state folder that holds what nobody should have put there: it starts, is what its plan wants,
and begins nothing that nobody asked for."""
import copy
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

from lib import CALL_S, FABRIC, POLICY, must, run

FILES = ("plan.json", "confirm.json", "receipt.json", "origin.json", "budget.json", "journal.json", "flash.json",
         "telemetry", "telemetry/00000000000000000001", "flash", "flash/i1.bin", "flash/i1.part",
         "ca.crt", "identity-1.pem", "enrol.key", "joined")  # test_tls looks at the last four in use
GOOD = r"generation \d+ (applied|unchanged|drift)"
APPLIED = r"generation \d+ applied"
BEGUN = r"flash task|driver of|rebooted now"
VALUES = (0, -1, 2**31, 2**53, 2**63 - 1, 2**63, 1e308, 0.5, "", "\0", "a\0b", "x" * 70000, "../../etc/passwd", "n2",
          "sha256:" + "0" * 64, "%s%n", None, True, [], {}, [[[]]])
SEED = 20261202
HOSTILE = 24  # documents with values that no writer writes


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def write(path, data):
    remove(path)
    with open(path, "wb") as file:
        file.write(data)


def content(path):
    if not os.path.isfile(path):
        return b"{}"
    with open(path, "rb") as file:
        return file.read()


def swapped(path):
    """What another node has there."""
    remove(path)
    other = path.replace("/case/", "/n2/")
    if os.path.isfile(other):
        shutil.copy(other, path)
    elif os.path.isdir(other):
        shutil.copytree(other, path)


SPOILED = {
    "nothing": lambda path: write(path, b""),
    "half of it": lambda path: write(path, content(path)[:len(content(path)) // 2]),
    "noise": lambda path: write(path, random.Random(SEED).randbytes(5000)),
    "a deep array": lambda path: write(path, b"[" * 100000 + b"]" * 100000),
    "a name twice": lambda path: write(path, content(path).rstrip()[:-1] + b',"node":"n2"}'),
    "a folder": lambda path: (remove(path), os.makedirs(path + "/x")),
    "a pipe": lambda path: (remove(path), os.mkfifo(path)),
    "a link to zeros": lambda path: (remove(path), os.symlink("/dev/zero", path)),
    "a link to itself": lambda path: (remove(path), os.symlink(path, path)),
    "another node's": swapped,
}


def spoil_value(value, chance):
    """One value of the document, at any depth, becomes another one."""
    places = []

    def walk(at):
        for key in at if isinstance(at, dict) else range(min(len(at), 6)):
            places.append((at, key))
            if isinstance(at[key], (dict, list)):
                walk(at[key])
    walk(value)
    at, key = chance.choice(places)
    at[key] = chance.choice(VALUES)


class Site:
    def __init__(self, server):
        self.server, self.folder = server, tempfile.mkdtemp(prefix="stellar-state-")
        must(server.put("/v1/fabric", FABRIC), 201)
        must(server.put("/v1/tenants/a", {}), 201)
        must(server.put("/v1/tenants/a/policy", POLICY), 201)
        for node in ("n1", "n2"):
            path = os.path.join(self.folder, node + ".token")
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
                file.write(server.node(node))
        must(server.put("/v1/tenants/a/placements/nlp_job",
                        {"nodes": ["n1", "n2"], "match": {"dst": "10.9.1.0/24"}}), 201)

    def live(self, state, node="n1", token=None, until=GOOD):
        """The agent, from its start to a good pass (None: it ends by itself), and its end: exit code and log."""
        words = [os.path.join(self.server.args.objdir, "stellar-agent"), "--node", node, "--server",
                 f"http://127.0.0.1:{self.server.port}", "--state-dir", os.path.join(self.folder, state),
                 "--provider", "sim", "--token-file", os.path.join(self.folder, token or node + ".token")]
        log = os.path.join(self.folder, "log")
        with open(log, "wb") as file:
            proc = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        end = time.monotonic() + CALL_S
        while until and proc.poll() is None and not re.search(until, self.text(log)) and time.monotonic() < end:
            time.sleep(0.01)
        if until:
            proc.send_signal(signal.SIGTERM)
        try:
            code = proc.wait(CALL_S)
        except subprocess.TimeoutExpired:
            proc.kill()
            code = f"hangs, then {proc.wait(CALL_S)}"
        return code, self.text(log)

    @staticmethod
    def text(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def write(self, state, name, document):
        with open(os.path.join(self.folder, state, name), "w", encoding="utf-8") as file:
            json.dump(document, file)

    def furnish(self, state, node):
        """Beside what a good pass left: a trial that is armed, a journal, a task in the middle of its way."""
        plan = json.loads(content(os.path.join(self.folder, state, "plan.json")))
        steps = [{"op": "add", "kind": k["kind"], "subject": k["subject"], "to": k["want"],
                  **({"id": k["id"]} if "id" in k else {})} for k in plan["knobs"]]
        trial = dict(plan, confirm={"rollout": "r-7", "timeout_s": 600})
        self.write(state, "confirm.json", {
            "version": 1, "state": "armed", "node": node, "tag": plan["digest"] + "+r-7", "plan": trial, "undo": [],
            "base": {"generation": plan["generation"], "tag": plan["digest"]}, "boot": "x", "deadline_ns": 10**15,
            "left_ns": 10**11})
        self.write(state, "journal.json", {"version": 1, "node": node, "generation": 1, "boot": "x",
                                           "digest": "sha256:" + "1" * 64, "steps": steps})
        self.write(state, "budget.json", {"version": 1, "node": node, "attempt": 0, "boots": 0, "tries": {
            "plan": {"digest": plan["digest"], "count": 5, "why": "it was so", "quarantined_us": 1}}})
        task = {"version": 1, "id": "c-1-1-1", "campaign": "c-1", "device": "sim.0", "activate": "reload",
                "drain_timeout_s": 10, "deadline_s": 3600, "cancelled": False, "image": {
                    "id": "i1", "component": "dp_sim", "version": "2.2.0", "psids": [], "sha256": "b" * 64,
                    "size_bytes": 100}}
        phase = {} if node == "n2" else {"outcome": "failed"}  # the other node is in the middle of it
        self.write(state, "flash.json", {"node": node, "task": task, "told": True, "report": {
            "version": 1, "task": "c-1-1-1", "phase": "flashed" if node == "n2" else "flashing", "at_us": 1, **phase}})
        for name in ("flash", "telemetry"):
            os.makedirs(os.path.join(self.folder, state, name), exist_ok=True)

    def fresh(self):
        case = os.path.join(self.folder, "case")
        remove(case)
        shutil.copytree(os.path.join(self.folder, "n1"), case)
        return case


def judge(code, log):
    """Why it is not right; None = it is."""
    if code != 0:
        return f"it ends with {code}"
    if not re.search(GOOD, log):
        return "no good pass"
    return "it began something" if re.search(BEGUN, log) else None


def nothing_in_the_folder_stops_an_agent(tap, server):
    site, wrong, count, chance = Site(server), [], 0, random.Random(SEED)
    for node in ("n1", "n2"):
        code, log = site.live(node, node, until=APPLIED)
        assert judge(code, log) is None, log
        site.furnish(node, node)
    cases = [(name, what) for name in FILES for what in SPOILED]
    for name, what in chance.sample(cases, len(cases) // 3) + [("flash.json", "another node's"),
                                                             ("telemetry/00000000000000000001", "a pipe"),
                                                             ("telemetry/00000000000000000001", "a folder")]:
        SPOILED[what](os.path.join(site.fresh(), name))
        code, log = site.live("case")
        why, count = judge(code, log), count + 1
        if why:
            wrong.append((name, what, why, log[-2000:]))
    for _ in range(HOSTILE):
        case, name = site.fresh(), chance.choice([n for n in FILES if n.endswith(".json")])
        path = os.path.join(case, name)
        if os.path.isfile(path):
            document = copy.deepcopy(json.loads(content(path)))
            spoil_value(document, chance)
            site.write("case", name, document)
        code, log = site.live("case")
        why, count = judge(code, log), count + 1
        if why:
            wrong.append((name, content(path)[:500], why, log[-2000:]))
    tap.ok(not wrong, f"of {count} starts over a spoiled folder each is good", "\n".join(map(str, wrong[:5])))
    shutil.rmtree(site.folder, ignore_errors=True)


def a_node_without_a_way_keeps_its_plan(tap, server):
    site = Site(server)
    code, log = site.live("n1", until=APPLIED)
    tap.equal(code, 0, "a plan stands")
    with open(os.path.join(site.folder, "bad.token"), "wb"):
        pass
    code, log = site.live("n1", token="bad.token", until=None)
    tap.ok(code == 1 and "holds no token" in log, "without a token that reads it ends and says why", (code, log))
    tap.ok(re.search(APPLIED, log), "the node has its plan all the same", log)
    shutil.rmtree(site.folder, ignore_errors=True)


READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,"$1",bind "$0" && shift && exec "$@"'


class Mounted:
    """An agent whose state folder is a mount of its own, which can be made read-only."""
    started = []

    def __init__(self, site, state, how, *options):
        self.folder, self.log = os.path.join(site.folder, state), os.path.join(site.folder, "log")
        os.makedirs(self.folder, exist_ok=True)
        words = ["unshare", "-m", "sh", "-c", READ_ONLY, self.folder, how,
                 os.path.join(site.server.args.objdir, "stellar-agent"), "--node", "n1", "--server",
                 f"http://127.0.0.1:{site.server.port}", "--state-dir", self.folder, "--provider", "sim",
                 "--token-file", os.path.join(site.folder, "n1.token"), *options]
        with open(self.log, "wb") as file:
            self.proc = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.started.append(self.proc)

    def remount(self, how):
        """Busy while a file is being written: again, then."""
        words = ["nsenter", "-t", str(self.proc.pid), "-m", "mount", "-o", f"remount,{how},bind", self.folder]
        end = time.monotonic() + CALL_S
        while subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            assert time.monotonic() < end, words
            time.sleep(0.05)

    def says(self, pattern):
        end = time.monotonic() + CALL_S
        while time.monotonic() < end and self.proc.poll() is None:
            if re.search(pattern, Site.text(self.log)):
                return True
            time.sleep(0.02)
        return False

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)
        try:
            return self.proc.wait(CALL_S)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            return f"hangs, then {self.proc.wait(CALL_S)}"


def can_mount():
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(["unshare", "-m", "sh", "-c", READ_ONLY, folder, "ro", "true"], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0


def receipts(server):
    return [item["receipt"] for item in must(server.get("/v1/nodes/n1/receipts"), 200).json["items"]]


def waits(what):
    end = time.monotonic() + CALL_S
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return what()


def a_folder_that_cannot_be_written_is_named(tap, server):
    if os.geteuid() != 0 or not can_mount():
        print("ok - a read-only state folder # SKIP needs root, and mounts")
        return
    try:
        mounted_agents(tap, server)
    finally:
        for proc in Mounted.started:
            proc.kill()
            proc.wait()


def mounted_agents(tap, server):
    site = Site(server)
    code, log = site.live("n1", until=APPLIED)
    assert judge(code, log) is None, log
    before = {name: content(os.path.join(site.folder, "n1", name)) for name in os.listdir(os.path.join(site.folder, "n1"))}
    count = len(receipts(server))
    agent = Mounted(site, "n1", "ro", "--telemetry-interval", "1s", "--telemetry-batch", "1s")
    tap.ok(agent.says(r"state folder \S+/n1 cannot be written \(Read-only file system\): nothing is changed"),
           "an agent that starts on a read-only folder says which, why and what to do", Site.text(agent.log))
    tap.ok(waits(lambda: len(receipts(server)) > count), "it tells the server how its node is", Site.text(agent.log))
    told = receipts(server)[-1] if receipts(server)[-1]["time_us"] > receipts(server)[0]["time_us"] else receipts(server)[0]
    tap.ok(told["result"] in ("refused", "drift") and "nothing was changed" in told["problem"] and
           "Read-only file system" in told["problem"] and told.get("observed") != told["digest"],
           "that nothing was changed, and why", told)
    tap.ok(waits(lambda: must(server.get("/v1/telemetry/latest?node=n1"), 200).json["items"]),
           "its telemetry goes on", Site.text(agent.log))
    second = Mounted(site, "n1", "ro")
    tap.equal((second.proc.wait(CALL_S), "another agent runs on the state folder" in Site.text(second.log)), (1, True),
              "a second agent is kept out all the same")
    tap.equal(agent.stop(), 0, "it ends as told")
    tap.equal({name: content(os.path.join(site.folder, "n1", name)) for name in before}, before, "nothing was written")
    agent = Mounted(site, "late", "rw")
    tap.ok(agent.says(APPLIED), "an agent with a folder that can be written applies", Site.text(agent.log))
    agent.remount("ro")
    must(server.put("/v1/tenants/a/placements/nlp_job", {"nodes": ["n1"], "match": {"dst": "10.9.7.0/24"}}, "*"), 200)
    tap.ok(agent.says(r"generation \d+ refused.*nothing was changed.*cannot .*/late/\S+: Read-only file system"),
           "when it cannot be written any more a new plan is refused, with the file and the reason", Site.text(agent.log))
    tap.equal(agent.proc.poll(), None, "the agent stays")
    tap.ok(waits(lambda: any(r["result"] == "refused" and "Read-only" in r["problem"] for r in receipts(server))),
           "the server hears of it", receipts(server))
    mark = len(re.findall(APPLIED, Site.text(agent.log)))
    agent.remount("rw")
    agent.proc.send_signal(signal.SIGHUP)
    tap.ok(waits(lambda: len(re.findall(APPLIED, Site.text(agent.log))) > mark),
           "when it can be written again the plan is applied", Site.text(agent.log))
    tap.equal(agent.stop(), 0, "it ends as told")
    shutil.rmtree(site.folder, ignore_errors=True)


if __name__ == "__main__":
    run([nothing_in_the_folder_stops_an_agent, a_node_without_a_way_keeps_its_plan,
         a_folder_that_cannot_be_written_is_named])
