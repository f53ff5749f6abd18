#!/usr/bin/env python3
"""The main job, end to end: upload a policy, and the kernels of three nodes are programmed and proven.

demo.py --srcdir S --objdir O [--once] [--tap]

Starts stellard here and one guest of the lab with three nodes (three NIC pairs, one agent each). Everything
goes through the REST API; what the kernels hold is read back with tools that are not ours to
trust: tc, rdma, /proc, and dcbread, a DCB reader that shares no code with the product. Ends only
what it started. --tap prints each check as a TAP line for `make check`.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request

NODES = {"n1": ("solar0", "solar1"), "n2": ("solar2", "solar3"), "n3": ("solar4", "solar5")}
CONVERGE_S = 120


class Failure(Exception):
    """The story broke: what was expected and what came."""


class Teller:
    """Prints the story, or TAP."""

    def __init__(self, tap):
        self.tap, self.count, self.bad = tap, 0, 0

    def say(self, text=""):
        for line in text.split("\n"):
            print(("# " if self.tap else "") + line, flush=True)

    def head(self, text):
        self.say("")
        self.say(f"== {text}")

    def check(self, good, sentence, detail="", quiet=False):
        """quiet: a check like one just shown; the story tells it only when it fails."""
        self.count += 1
        if self.tap:
            print(f"{'ok' if good else 'not ok'} {self.count} - {sentence}", flush=True)
        elif not (good and quiet):
            print(f"   {'proven' if good else 'FAILED'}: {sentence}", flush=True)
        if not good:
            self.bad += 1
            if detail:
                self.say(f"   {detail}")


class Server:
    def __init__(self, objdir, folder):
        self.folder = folder
        self.log = open(os.path.join(folder, "stellard.log"), "wb")
        data = os.path.join(folder, "data")
        self.proc = subprocess.Popen([f"{objdir}/stellard", "--data", data, "--listen",
                                      "127.0.0.1:0"], stdout=self.log, stderr=self.log)
        self.url = self._read(os.path.join(data, "url"))
        self.token = self._read(os.path.join(data, "admin.token"))

    def _read(self, path):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if self.proc.poll() is not None:
                raise Failure(f"stellard ended with {self.proc.returncode}: see {self.log.name}")
            if os.path.exists(path) and os.path.getsize(path):
                with open(path, encoding="utf-8") as f:
                    return f.read().strip()
            time.sleep(0.05)
        raise Failure(f"stellard did not write {path}: see {self.log.name}")

    def call(self, method, path, body=None, headers=None, timeout=60):
        """(status, headers, parsed JSON or None)"""
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = body if isinstance(body, bytes) else json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                text = answer.read()
                return answer.status, dict(answer.headers), json.loads(text) if text else None
        except urllib.error.HTTPError as e:
            text = e.read()
            return e.code, dict(e.headers), json.loads(text) if text else None

    def put(self, path, body, **headers):
        status, _, answer = self.call("PUT", path, body, headers or {"If-None-Match": "*"})
        if status not in (200, 201):
            raise Failure(f"PUT {path}: {status} {json.dumps(answer)}")
        return answer

    def get(self, path, timeout=60):
        status, _, answer = self.call("GET", path, timeout=timeout)
        if status != 200:
            raise Failure(f"GET {path}: {status} {json.dumps(answer)}")
        return answer

    def stop(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
            try:
                self.proc.wait(20)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
        self.log.close()


class Guest:
    def __init__(self, srcdir, objdir, folder):
        self.lab = f"{srcdir}/tests/lab/lab"
        self.dir = os.path.join(folder, "guest")
        self.cache = os.path.join(objdir, "lab")
        self.objdir = objdir

    def up(self):
        rc = subprocess.call([self.lab, "up", "--cache", self.cache, "--smp", "2", self.dir])
        if rc == 77:
            sys.exit(77)
        if rc != 0:
            raise Failure(f"the guest did not come up (lab up: {rc})")

    def run(self, command, timeout=120):
        done = subprocess.run([self.lab, "exec", "--timeout", str(timeout), self.dir, command],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def must(self, command, timeout=120):
        rc, out, err = self.run(command, timeout)
        if rc != 0:
            raise Failure(f"in the guest: {command}: exit {rc}\n{out}{err}")
        return out

    def start(self, command):
        return self.must_detached(command)

    def must_detached(self, command):
        done = subprocess.run([self.lab, "exec", "-d", self.dir, command], stdout=subprocess.PIPE,
                              check=True)
        return done.stdout.decode().strip()

    def down(self):
        if os.path.isdir(os.path.join(self.dir, "share")):
            subprocess.call([self.lab, "down", self.dir], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


class Kernel:
    """What one interface's kernel holds, read by foreign tools in one guest command."""

    def __init__(self, guest, ifname):
        mark = "@@part@@"
        out = guest.must(
            f"dcbread {ifname}; echo {mark};"
            f"tc class show dev {ifname}; echo {mark};"
            f"tc -j filter show dev {ifname} egress; echo {mark};"
            f"tc -j filter show dev {ifname} ingress; echo {mark};"
            f"cat /sys/class/net/{ifname}/mtu /proc/sys/net/solar/flow_steering"
            " /sys/module/solar_rdma/parameters/max_sge"
            " /sys/kernel/mm/transparent_hugepage/enabled /etc/modprobe.d/stellar.conf")
        parts = out.split(mark)
        self.dcb = json.loads(parts[0])
        # Debian 12's tc prints no JSON for classes.
        self.classes = dict(re.findall(r"class htb (\S+) .*?(rate \S+ ceil \S+)", parts[1]))
        self.egress, self.ingress = flows(parts[2]), flows(parts[3])
        self.host = parts[4].strip()

    def pfc(self):
        return self.dcb["pfc"]["enabled"]

    def dscp_map(self):
        return {a["protocol"]: a["priority"] for a in self.dcb["app"] if a["selector"] == 5}

    def lines(self):
        ets = self.dcb["ets"]
        yield "DSCP -> priority: " + ", ".join(f"{d}->{p}" for d, p in self.dscp_map().items())
        yield "priority -> class: " + " ".join(str(x) for x in ets["prio_tc"])
        yield "ETS: " + ", ".join(f"tc{i} {ets['tsa'][i]} {ets['bw'][i]}%" for i in range(8)
                                  if ets["bw"][i] or ets["tsa"][i] == "ets")
        yield "PFC on: " + (", ".join(str(p) for p in self.pfc()) or "none")
        yield "max rate: " + (", ".join(f"tc{i} {r / 1e9:g} Gbit/s" for i, r in
                                        enumerate(self.dcb["maxrate_bps"]) if r) or "none")
        for name, rates in self.classes.items():
            yield f"htb class {name}: {rates}"
        for where, rules in (("egress", self.egress), ("ingress", self.ingress)):
            for f in rules:
                o = f["options"]
                act = o.get("actions", [{}])[0]
                hw = "in the NIC" if o.get("in_hw") else "in software"
                yield (f"{where} filter {o.get('handle')}: {json.dumps(o.get('keys'))} "
                       f"{act.get('kind')} cookie {act.get('cookie')} ({hw})")


def flows(text):
    """The flower rules of one `tc -j filter show`, without its heading rows."""
    return [f for f in json.loads(text.strip() or "[]")
            if f.get("kind") == "flower" and "handle" in f.get("options", {})]


def load(srcdir, name):
    with open(f"{srcdir}/tests/lab/demo/{name}", "rb") as f:
        return f.read()


def wait_for(what, seconds, probe):
    end = time.monotonic() + seconds
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(0.3)


def barrier(server, teller, generation):
    start = time.monotonic()
    while True:
        answer = server.get(f"/v1/generations/{generation}?wait=applied&timeout=20s", timeout=60)
        if answer["applied"]:
            break
        if time.monotonic() - start > CONVERGE_S:
            nodes = server.get("/v1/nodes")
            raise Failure(f"generation {generation} was not applied within {CONVERGE_S} s: "
                          f"{json.dumps(answer)}\n{json.dumps(nodes, indent=1)}")
    teller.say(f"   generation {answer['generation']}: applied by {answer['nodes']['in_sync']} of "
               f"{answer['nodes']['total']} nodes, {time.monotonic() - start:.1f} s after asking")
    return answer


class Story:
    def __init__(self, args, folder, teller):
        self.args, self.folder, self.t = args, folder, teller
        self.server = Server(args.objdir, folder)
        self.guest = Guest(args.srcdir, args.objdir, folder)
        self.agents = {}

    def boot(self):
        self.t.say("""
Three nodes with two test NICs each are configured from one server, and what their kernel then holds is
read back by tools that are not Stellar's. A line "proven:" is a check; the demo fails if one fails.
Words: a job is what a tenant trains; a policy says what bandwidth its jobs get; a placement says on
which nodes a job runs; a plan is what one node must be; a generation counts the changes of all these,
and is applied when each node has read itself back and the digest of that equals its plan's.""")
        self.t.head("The server and the three nodes")
        self.t.say("   a virtual machine holds the nodes (lines \"lab:\"); the first time, its kernel and\n"
                   "   the NICs' module are fetched and built, which takes some minutes")
        self.t.say(f"   stellard listens on {self.server.url}, data in {self.folder}/data")
        self.guest.up()
        for k in range(6):
            self.guest.must(f"ip link set solar{k} up && rdma link add rxe{k} type rxe netdev solar{k}")

    def start_agent(self, node):
        devices = ",".join(NODES[node])
        port = self.server.url.rsplit(":", 1)[1]
        self.agents[node] = self.guest.start(
            f"exec /host{self.args.objdir}/stellar-agent --server http://10.0.2.2:{port} --node {node}"
            f" --devices {devices} --token-file /tmp/{node}.token --state-dir /tmp/stellar-{node}"
            f" >/tmp/agent-{node}.log 2>&1")

    def enrol(self):
        for node in NODES:
            self.server.put(f"/v1/nodes/{node}", {"labels": {"rack": "a"}})
            status, _, answer = self.server.call("POST", f"/v1/nodes/{node}/token", {})
            if status not in (200, 201):
                raise Failure(f"POST /v1/nodes/{node}/token: {status} {answer}")
            self.guest.must(f"umask 077; printf %s '{answer['token']}' >/tmp/{node}.token")
            self.start_agent(node)
        for node in NODES:
            inventory = wait_for(f"inventory of {node}", CONVERGE_S, lambda n=node: self.inventory(n))
            ports = ", ".join(f"{p['ifname']} (port {p['id']}, RDMA {p.get('rdma_device', 'none')})"
                              for p in inventory["ports"])
            self.t.say(f"   {node}: {ports}")
            self.t.check(len(inventory["ports"]) == 2, f"{node} reports the two NICs it was given")

    def inventory(self, node):
        status, _, answer = self.server.call("GET", f"/v1/nodes/{node}/inventory")
        return answer if status == 200 else None

    def upload(self):
        self.t.head("The operator's profile, two tenants, their policies and placements")
        s = self.server
        s.put("/v1/fabric", load(self.args.srcdir, "fabric.json"))
        self.t.say("   fabric profile: priorities, DSCPs, MTU, host settings (tests/lab/demo/fabric.json)")
        for tenant in ("alpha", "beta"):
            s.put(f"/v1/tenants/{tenant}", {"quota": {"jobs_max": 10}})
            answer = s.put(f"/v1/tenants/{tenant}/policy",
                           load(self.args.srcdir, f"policy-{tenant}.json"))
            self.t.say(f"   tenant {tenant}: policy revision {answer['revision']} (tests/lab/demo/"
                       f"policy-{tenant}.json)")
            for finding in answer.get("findings", []):
                self.t.say(f"     {finding['severity']} {finding['rule']}: {finding['message']}")
        for tenant, job in (("alpha", "nlp_job"), ("alpha", "cv_job"), ("beta", "rec_job")):
            answer = s.put(f"/v1/tenants/{tenant}/placements/{job}",
                           {"selector": {"rack": "a"}, "match": {"ip_proto": "udp", "dst_port": 4791}})
            self.t.say(f"   {tenant}/{job} is placed on rack a: filter {answer['label']}, htb class "
                       f"5e11:{answer['label']:x}")
        status, _, policy = s.call("GET", "/v1/tenants/alpha/policy")
        seed = json.loads(load(self.args.srcdir, "policy-alpha.json"))
        self.t.check(status == 200 and policy == seed, "the seed policy is accepted to the letter")
        answer = barrier(s, self.t, "current")
        self.t.check(answer["applied"] and answer["nodes"]["in_sync"] == 3,
                     "all three nodes prove the generation by matching digests")

    def show(self):
        self.t.head("What the kernels hold, read back by tc, ethtool, rdma, /proc and an independent DCB reader")
        first = None
        for node, ports in NODES.items():
            for ifname in ports:
                k = Kernel(self.guest, ifname)
                lines = list(k.lines())
                same = lines == first
                self.t.say(f"   {node} {ifname}" + (": the same, line by line" if same else ""))
                if not same:
                    for line in lines:
                        self.t.say(f"     {line}")
                first = first or lines
                bad = self.t.bad
                self.judge(node, ifname, k, same)
                if same and self.t.bad == bad and not self.t.tap:
                    self.t.say("   proven: the same seven checks")
        mtu, steering, sge, pages, *modprobe = k.host.split("\n")
        self.t.say(f"   host: MTU {mtu}, net.solar.flow_steering {steering}, max_sge {sge}, "
                   f"huge pages: {pages}")
        for line in modprobe:
            self.t.say(f"     /etc/modprobe.d/stellar.conf: {line}")
        self.t.check(steering == "2" and sge == "256",
                     "sysctl net.solar.flow_steering is 2 and max_sge is 256")
        self.t.check("[never]" in k.host, "transparent huge pages are off")
        self.t.check("qp_mtu=4096" in k.host, "qp_mtu=4096 is set for the next load of the driver")
        for line in self.guest.must("rdma link show").strip().split("\n"):
            self.t.say(f"   rdma {line.strip()}")
        self.compare_inventory()

    def compare_inventory(self):
        """What the agents reported of their NICs, beside ethtool."""
        for node, ports in NODES.items():
            told = {p["ifname"]: p for p in self.inventory(node)["ports"]}
            for ifname in ports:
                text = self.guest.must(f"ethtool -i {ifname}; ethtool {ifname}")
                seen = dict(re.findall(r"^\s*(driver|firmware-version|Speed): (\S+)", text, re.M))
                p = told[ifname]
                mine = (p["driver"], p["firmware"], f"{p['speed_bps'] // 1_000_000}Mb/s")
                theirs = (seen.get("driver"), seen.get("firmware-version"), seen.get("Speed"))
                self.t.check(mine == theirs, f"{node} {ifname}: reported as ethtool shows it: "
                             + " ".join(mine), str(theirs))

    def judge(self, node, ifname, k, quiet):
        where = f"{node} {ifname}"
        app = k.dscp_map()
        self.t.check(app == {0: 0, 18: 2, 26: 3, 34: 4, 48: 6}, f"{where}: DSCP map as the profile",
                     str(app), quiet)
        ets = k.dcb["ets"]
        self.t.check(ets["prio_tc"][2:5] == [2, 3, 4] and ets["bw"][3] >= 40 and ets["bw"][4] >= 20
                     and sum(ets["bw"]) == 100, f"{where}: ETS gives at least 40 % to nlp_job's class and "
                     "20 % to rec_job's", str(ets), quiet)
        self.t.check(k.pfc() == [3], f"{where}: PFC on priority 3 alone", str(k.pfc()), quiet)
        self.t.check(k.dcb["maxrate_bps"][2] == 60_000_000_000, f"{where}: cv_job's class is limited to "
                     "60 Gbit/s", str(k.dcb["maxrate_bps"]), quiet)
        self.t.check(len(k.ingress) == 3 and all(f["options"].get("in_hw") for f in k.ingress),
                     f"{where}: three flows stand in the NIC's table", str(k.ingress), quiet)
        self.t.check(k.classes.get("5e11:1") == "rate 40Gbit ceil 100Gbit"
                     and k.classes.get("5e11:3") == "rate 20Gbit ceil 50Gbit",
                     f"{where}: htb guarantees nlp_job 40 Gbit/s and holds rec_job to 20..50",
                     str(k.classes), quiet)
        self.t.check(len(k.egress) == 3, f"{where}: three flows are mapped to htb classes",
                     str(k.egress), quiet)

    def refuse(self):
        self.t.head("Bad policies are refused")
        for name, rule in (("policy-under-floor.json", "bw-limit-floor"),
                           ("policy-over-100.json", "guarantee-sum")):
            self.t.say(f"   tests/lab/demo/{name}:")
            status, headers, _ = self.server.call("GET", "/v1/tenants/alpha/policy")
            etag = headers.get("ETag") or headers.get("Etag")
            status, _, problem = self.server.call("PUT", "/v1/tenants/alpha/policy",
                                                  load(self.args.srcdir, name), {"If-Match": etag})
            for e in (problem or {}).get("errors", []):
                self.t.say(f"   {status} {e.get('rule')} at {e.get('pointer')}: {e.get('message')}")
            rules = {e.get("rule") for e in (problem or {}).get("errors", [])}
            self.t.check(status == 422 and rule in rules, f"{name} is refused by {rule}",
                         f"{status} {json.dumps(problem)}")
            after = self.server.get("/v1/tenants/alpha/policy")
            self.t.check(after == json.loads(load(self.args.srcdir, "policy-alpha.json")),
                         f"{name} changed nothing")

    def drift(self):
        self.t.head("A knob is changed by hand in the guest: drift is found and repaired")
        for text, command, good in (
                ("PFC of priority 3 is switched off on n2 solar2",
                 "dcb pfc set dev solar2 prio-pfc 3:off",
                 lambda k: k.pfc() == [3]),
                ("a flow is deleted from the NIC's table on n1 solar0",
                 "tc filter del dev solar0 ingress pref 100 protocol ip handle 0x1 flower",
                 lambda k: len(k.ingress) == 3)):
            self.drift_one(text, command, good)

    def drift_one(self, text, command, good):
        ifname = re.search(r"dev (\w+)", command).group(1)
        node = next(n for n, ports in NODES.items() if ifname in ports)
        before = self.drifts(node)
        self.t.say(f"   by hand: {command}")
        self.guest.must(command)
        start = time.monotonic()
        receipts = wait_for(f"drift receipt of {node}", CONVERGE_S,
                            lambda: [r for r in self.drifts(node) if r not in before])
        took = time.monotonic() - start
        for step in receipts[0]["steps"]:
            self.t.say(f"   {node} reports: {step['text']}: wanted {json.dumps(step.get('before'))}, "
                       f"found {json.dumps(step.get('after'))}")
        self.t.check(good(Kernel(self.guest, ifname)), f"{text}: repaired (receipt after {took:.1f} s)")
        barrier(self.server, self.t, "current")

    def drifts(self, node):
        return [r for r in self.receipts(node) if r["result"] == "drift"]

    def receipts(self, node):
        """Newest first."""
        return [i["receipt"] for i in self.server.get(f"/v1/nodes/{node}/receipts")["items"]]

    def crash(self):
        self.t.head("An agent is killed, a flow table is too small: the node stays whole")
        self.kill_agent()
        self.full_table()

    def kill_agent(self):
        self.guest.must("pkill -KILL -f 'stellar-agent.*--node n3 ' || pkill -KILL -f 'node n3'")
        self.guest.must("dcb pfc set dev solar4 prio-pfc 3:off")
        self.start_agent("n3")
        wait_for("repair after the restart", CONVERGE_S,
                 lambda: Kernel(self.guest, "solar4").pfc() == [3])
        self.t.check(True, "n3: its agent was killed with -9, came back and repaired what changed meanwhile")

    def full_table(self):
        """A revision that needs one more flow than n1's table has room for leaves n1 as it was."""
        self.guest.must("echo 3 >/sys/kernel/debug/solar_rdma/solar0/tcam_entries")
        before = Kernel(self.guest, "solar0")
        policy = json.loads(load(self.args.srcdir, "policy-beta.json"))
        policy["qos_policy"]["extra_job"] = {"priority": 0}
        _, headers, _ = self.server.call("GET", "/v1/tenants/beta/policy")
        self.server.put("/v1/tenants/beta/policy", policy, **{"If-Match": headers["ETag"]})
        self.server.put("/v1/tenants/beta/placements/extra_job",
                        {"nodes": ["n1"], "match": {"ip_proto": "udp", "dst_port": 4791}})
        receipt = wait_for("the failed receipt of n1", CONVERGE_S, lambda: next(
            (r for r in self.receipts("n1")[:3] if r["result"] in ("rolled-back", "refused")), None))
        self.t.say(f"   n1: {receipt['result']}: {receipt.get('problem')}")
        after = Kernel(self.guest, "solar0")
        same = (before.dcb == after.dcb and len(before.ingress) == len(after.ingress)
                and len(before.egress) == len(after.egress))
        self.t.check(same, "n1: a full flow table was named and left the node as it was",
                     f"{list(before.lines())}\n{list(after.lines())}")
        node = self.server.get("/v1/nodes/n1")
        self.t.check(node["in_sync"] is False, "n1 is not called in sync while it is not")
        self.guest.must("echo 64 >/sys/kernel/debug/solar_rdma/solar0/tcam_entries")
        _, headers, _ = self.server.call("GET", "/v1/tenants/beta/placements/extra_job")
        self.server.call("DELETE", "/v1/tenants/beta/placements/extra_job", None,
                         {"If-Match": headers["ETag"]})
        barrier(self.server, self.t, "current")

    def tell(self):
        self.boot()
        self.enrol()
        self.upload()
        self.show()
        self.refuse()
        self.drift()
        if self.args.tap:
            self.crash()

    def logs(self):
        for node in NODES:
            _, out, _ = self.guest.run(f"tail -n 30 /tmp/agent-{node}.log", 20)
            self.t.say(f"-- log of the agent of {node}\n{out}")
        with open(self.server.log.name, encoding="utf-8", errors="replace") as f:
            self.t.say("-- log of stellard\n" + "".join(f.readlines()[-30:]))

    def stop(self):
        self.guest.down()
        self.server.stop()


def stay(story):
    story.t.head("The demo stays up")
    story.t.say(f"   {story.server.url}   (admin token in {story.folder}/data/admin.token)")
    story.t.say(f"   curl -s -H \"Authorization: Bearer $(cat {story.folder}/data/admin.token)\" "
                f"{story.server.url}/v1/nodes")
    story.t.say(f"   a shell command in the guest: {story.guest.lab} exec {story.guest.dir} 'COMMAND'")
    story.t.say("   Ctrl-C ends it")
    try:
        while story.server.proc.poll() is None:
            time.sleep(1)
    except KeyboardInterrupt:
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--srcdir", required=True)
    parser.add_argument("--objdir", required=True)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--tap", action="store_true")
    args = parser.parse_args()
    args.srcdir, args.objdir = os.path.abspath(args.srcdir), os.path.abspath(args.objdir)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    teller = Teller(args.tap)
    folder = tempfile.mkdtemp(prefix="stellar-demo-")
    story, good = None, False
    try:
        story = Story(args, folder, teller)
        story.tell()
        good = teller.bad == 0
        if good and not (args.once or args.tap):
            stay(story)
    except Failure as e:
        teller.check(False, f"the story goes on: {e}".split("\n", 1)[0], str(e))
    except (KeyError, ValueError, OSError):
        teller.check(False, "the story goes on", traceback.format_exc())
    except KeyboardInterrupt:
        teller.say("   interrupted")
    finally:
        if story is not None:
            if not good:
                story.logs()
            story.stop()
        shutil.rmtree(folder, ignore_errors=True)
    teller.head(f"{teller.count - teller.bad} of {teller.count} proven")
    if args.tap:
        print(f"1..{teller.count}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
