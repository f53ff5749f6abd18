#!/usr/bin/python3
# lab: smp=2
# lab: timeout=590
"""Two jobs over a wire, each a process of solar-perf below a real agent and under the key that it gave: what their
policies say is what they send, and another policy through the REST API is followed live, as the statistics pages
show it, which are read here byte by byte. Argument: the build folder."""

import os
import struct
import subprocess
import sys
import threading
import time

import agent_lab as lab
import health_lab as health
from agent_lab import ok

FOLDER = "/run/stellar/solar"
SERVER_PORT = 4999
MBPS = 1000000
HIGH, LOW = 3, 1  # Mbit/s: an emulated processor that others want too carries some 7 in all
WINDOW_S = 4
WITHIN = 0.05
FOLLOW_S = 60  # of an emulated guest that shares its cores; the time that it took is printed
FABRIC = {"fabric_profile": {
    "trust": "dscp",
    "priorities": [{"priority": 0, "dscps": [0], "traffic_class": 0, "ets_weight": 50},
                   {"priority": 3, "dscps": [26], "traffic_class": 3, "ets_weight": 50, "lossless": True}],
    "solar": {"control_page": True}}}


def policy(mbps):
    return {"qos_policy": {"job": {"priority": 3, "bw_limit": f"{mbps}Mbps"}, "free": {"priority": 3}}}


class Site(health.Site):
    """One server, one node with one end of a wire; the other end is in a namespace."""

    def __init__(self, objdir):
        self.objdir, self.child = objdir, None
        for program in ("stellard", "stellar-agent", "solar-perf"):
            if not os.access(f"/host{objdir}/{program}", os.X_OK):
                print(f"1..0 # SKIP {program} is not built")
                sys.exit(77)
        os.makedirs(health.WORK, exist_ok=True)
        health.need("ip netns add peer && ip link set solar1 netns peer")
        health.need("ip address add 10.9.0.1/24 dev solar0 && ip link set solar0 up && rxe_up 0")
        health.need("ip netns exec peer sh -c 'ip link set lo up; ip address add 10.9.0.2/24 dev solar1; ip link set solar1 up'")
        # What a first filter waits for in an emulated guest is no part of this.
        health.need("modprobe -a sch_htb sch_ingress cls_flower act_skbedit act_gact")
        self.serve()

    def set_up(self):
        self.call("PUT", "/v1/fabric", FABRIC, If_None_Match="*")
        self.call("PUT", "/v1/nodes/n1", {}, If_None_Match="*")
        self.labels = {}
        for tenant, mbps, port in (("a", HIGH, 4791), ("b", LOW, 4792)):
            self.call("PUT", f"/v1/tenants/{tenant}", {}, If_None_Match="*")
            self.call("PUT", f"/v1/tenants/{tenant}/policy", policy(mbps), If_None_Match="*")
            made = self.call("PUT", f"/v1/tenants/{tenant}/placements/job",
                             {"nodes": ["n1"], "match": {"ip_proto": "udp", "dst_port": port}}, If_None_Match="*")
            self.labels[tenant] = made["label"]
        health.write(health.WORK + "/token", self.call("POST", "/v1/nodes/n1/token", {})["token"])
        os.chmod(health.WORK + "/token", 0o600)
        self.child = subprocess.Popen(
            [f"/host{self.objdir}/stellar-agent", "--node", "n1", "--state-dir", health.WORK + "/state", "--server",
             "http://127.0.0.1:8440", "--token-file", health.WORK + "/token", "--devices", "solar0"],
            stderr=open(health.WORK + "/agent.log", "w"))

    def perf(self, tenant, *options, peer=False):
        port = SERVER_PORT + self.labels[tenant]
        argv = [f"/host{self.objdir}/solar-perf", "--control", FOLDER, "--label", str(self.labels[tenant]), "--port", str(port),
                "--spin", "0", *options]
        log = open(f"{health.WORK}/perf-{tenant}-{'server' if peer else 'client'}.log", "w")
        return subprocess.Popen((["ip", "netns", "exec", "peer"] if peer else []) + argv, stdout=log, stderr=log)

    def run_jobs(self):
        children = []
        for tenant in self.labels:
            children.append(self.perf(tenant, "--serve", "--address", "10.9.0.2", peer=True))
        time.sleep(2)
        for tenant in self.labels:
            children.append(self.perf(tenant, "--connect", "10.9.0.2", "--address", "10.9.0.1", "--size", "4096", "--depth",
                                      "4", "--rounds", "1", "--time", "3600000", "write_bw"))
        return children

    def change(self, tenant, mbps):
        self.call("PUT", f"/v1/tenants/{tenant}/policy", policy(mbps), If_Match="*")


class Pages:
    """What the processes of a label tell: the one that has sent most, looked at each 20 ms."""

    def __init__(self, label):
        self.folder, self.over = f"{FOLDER}/jobs/{label}", threading.Event()
        self.samples = []  # (when it was read, made_ns, sent_bytes, may_bps)
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    @staticmethod
    def report(path):
        with open(path, "rb") as f:
            board = f.read()
        room, newest = struct.unpack_from(">I", board, 16)[0], struct.unpack_from(">Q", board, 24)[0]
        at = 32 + newest % 2 * (24 + room)
        generation, length = struct.unpack_from(">QI", board, at)
        if newest == 0 or generation != newest or length < 56:
            return None  # it is being written
        _, made_ns, sent, may = struct.unpack_from(">QQQQ", board, at + 24)
        return made_ns, sent, may

    def newest(self):
        found = []
        for name in os.listdir(self.folder):
            if name.endswith(".report"):
                try:
                    found.append(self.report(f"{self.folder}/{name}"))
                except (OSError, struct.error):
                    pass
        return max((r for r in found if r), key=lambda r: r[1], default=None)

    def look(self):
        while not self.over.wait(0.02):
            now = self.newest()
            if now and (not self.samples or now[0] != self.samples[-1][1]):
                self.samples.append((time.monotonic(), *now))

    def rate(self, begin, end):
        """Mbit/s between two moments; 0 = too little was seen."""
        seen = [s for s in self.samples if begin <= s[0] <= end]
        if len(seen) < 2 or seen[-1][1] == seen[0][1]:
            return 0
        return (seen[-1][2] - seen[0][2]) * 8e3 / (seen[-1][1] - seen[0][1])

    def told(self, mbps, since):
        """When the process first said that it may send so much."""
        return next((s[0] for s in list(self.samples) if s[0] >= since and s[3] == mbps * MBPS), None)


def near(rate, mbps):
    return abs(rate - mbps) <= WITHIN * mbps


def follow(pages, wanted, since):
    """Until each label's rate over WINDOW_S is as wanted: the rates then."""
    rates = {}
    end = time.monotonic() + FOLLOW_S
    while time.monotonic() < end:
        now = time.monotonic()
        if now - since >= WINDOW_S:
            rates = {t: pages[t].rate(now - WINDOW_S, now) for t in wanted}
            if all(near(rates[t], mbps) for t, mbps in wanted.items()):
                break
        time.sleep(0.2)
    return rates


site = Site(sys.argv[1])
site.set_up()
keys = {t: f"{FOLDER}/jobs/{label}/key" for t, label in site.labels.items()}
ok(lab.until(120, lambda: os.path.isdir(FOLDER + "/jobs")) is not None, "the plan makes a control page",
   lab.read(health.WORK + "/agent.log")[-3000:])
for made in site.labels.values():
    health.need(f"install -d -o root -g root -m 3730 {FOLDER}/jobs/{made}")
ok(lab.until(60, lambda: all(os.path.exists(path) for path in keys.values())) is not None,
   "the agent gives each job its key", lab.read(health.WORK + "/agent.log")[-3000:])
ok(len({lab.read(path) for path in keys.values()}) == 2 and
   all(os.stat(path).st_mode & 0o7777 == 0o640 for path in keys.values()), "another to each, hidden from others")

jobs = site.run_jobs()
watched = {t: Pages(label) for t, label in site.labels.items()}
ok(lab.until(60, lambda: all(p.samples and p.samples[-1][2] > 0 for p in watched.values())) is not None,
   "both jobs send", "".join(lab.read(f"{health.WORK}/perf-{t}-client.log") for t in site.labels))
want = {"a": HIGH, "b": LOW}
seen = follow(watched, want, time.monotonic())
ok(all(near(seen.get(t, 0), want[t]) for t in want), "each sends what its policy says, within 5 %", f"{seen}, wanted {want}")
lab.note("Mbit/s by the statistics pages:", {t: round(r, 2) for t, r in seen.items()})

for turn in range(2):
    want = {"a": LOW, "b": HIGH} if turn == 0 else {"a": HIGH, "b": LOW}
    changed = {}
    for name, speed in want.items():
        changed[name] = time.monotonic()
        site.change(name, speed)
    took = {}
    lab.until(FOLLOW_S, lambda: all(watched[t].told(want[t], changed[t]) for t in want))
    for name, speed in want.items():
        when = watched[name].told(speed, changed[name])
        took[name] = None if when is None else round((when - changed[name]) * 1e3)
    ok(all(t is not None for t in took.values()), f"policies are changed, turn {turn + 1}: the processes say so", took)
    lab.note("from the upload's begin to the statistics page, ms:", took, "(aim on real processors: 100)")
    seen = follow(watched, want, time.monotonic())
    ok(all(near(seen.get(t, 0), want[t]) for t in want), "and each sends that, within 5 %", f"{seen}, wanted {want}")
    lab.note("Mbit/s by the statistics pages:", {t: round(r, 2) for t, r in seen.items()})
ok(all(child.poll() is None for child in jobs), "no job's connection broke over it",
   "".join(lab.read(f"{health.WORK}/perf-{t}-{s}.log") for t in site.labels for s in ("client", "server")))
for page in watched.values():
    page.over.set()
    page.thread.join()
for job in jobs:
    job.kill()
    job.wait()
site.end()
