#!/usr/bin/python3
# lab: smp=2
# lab: timeout=580
"""Each runbook by REST over a live node: on one that is well; with a priority that is paused without end; with real
RoCE traffic of no job of which frames arrive damaged; with a cable that is pulled under that traffic, and with an
agent that is not heard. What a fault brings is explained by it, and what is not known is unknown.
Argument: the build folder."""

import os
import signal
import subprocess
import sys

import agent_lab as lab
import health_lab as health
from agent_lab import ok, sh
from health_lab import PORTS, Growth, grow

site = health.Site(sys.argv[1])
site.set_up()
BOOKS = ["cm-error", "packet-loss", "performance-drop", "slow-node", "tenant-interference"]
NCCL_LOG = ("n1:3468:3905 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.9.2.2<54862> with status=12 "
            "opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.9.2.1 remoteGids::ffff:10.9.2.2\n")
FAULT_S = 120  # until a fault is told: the guest is emulated


def verdicts(run):
    return {s["step"]: s["verdict"] for s in run["steps"]}


def until_likely(book, *steps, files=()):
    """The run that has all of the steps among its likely causes, or the last one."""
    run = {}

    def holds():
        nonlocal run
        run = site.call("POST", f"/v1/runbooks/{book}:run", {"nodes": ["n1"], "window": "1m", "files": list(files)})["runs"][0]
        return set(steps) <= {i["step"] for i in run["likely"]}

    lab.until(FAULT_S, holds)
    return run


def leads(book, step, run=None):
    run = run or until_likely(book, step)
    return ok(step in [i["step"] for i in run["likely"]] and verdicts(run)[step] == "fault", f"{book} leads to {step}",
              run["likely"])


def cause_of(run, step):
    return [i.get("explained_by") for i in run["likely"] if i["step"] == step]


def incidents():
    return site.call("GET", "/v1/incidents?page_size=1000")["items"]


def roots_of(rule, before=()):
    """Of the open or ended incidents of a rule that were not there before: the rule of each one's root."""
    items = incidents()
    rules = {i["id"]: i["rule"] for i in items}
    return [rules.get(i.get("root")) for i in items if i["rule"] == rule and i["id"] not in before]


def ids():
    return {i["id"] for i in incidents()}


def pull(netdev, wants):
    """Takes the carrier; again when the drop fell into a gap of an emulated guest's samples, where no count is invented."""
    before = ids()
    for _ in range(3):
        lab.poke(netdev, "carrier", 0)
        if lab.until(30, lambda: wants <= {(i["rule"], i.get("port")) for i in incidents() if i["id"] not in before}) is not None:
            return
        lab.note("no drop was counted:", sorted(str(i.get("port")) for i in incidents() if i["rule"] == "link-down"))
        lab.poke(netdev, "carrier", 1)
        site.batches(1)
    ok(False, "a drop is counted", incidents())


class Traffic:
    """RoCE of no job over wire K, in a group of its own, until it is stopped or its wire is gone."""

    def __init__(self, k):
        self.child = subprocess.Popen(
            ["sh", "-c", f". {health.HERE}/lib.sh; pair_perftest {k} ib_write_bw -n 5000000 -s 4096 --mtu 1024"],
            stdout=open(f"{health.WORK}/traffic.{k}", "w"), stderr=subprocess.STDOUT, start_new_session=True)
        ok(lab.until(90, lambda: "type RC state RTS" in sh(f"rdma resource show qp link rxe{2 * k}").stdout) is not None,
           f"RoCE goes over wire {k}", lab.read(f"{health.WORK}/traffic.{k}"))

    def stop(self):
        os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()


# ---- a node that is well
asked = {"gid-not-routable", "marking-chain", "lossless-discards"}
ok(lab.until(150, lambda: not asked & set(site.health()["unknown"])) is not None, "the node tells all that it is asked",
   f"{site.health()} {lab.read(health.WORK + '/agent.log')[-3000:]}")
site.batches(2)
for book in BOOKS:
    run = site.run(book)
    ok(not run["likely"] and run["verdict"] != "fault", f"{book} finds no cause on a node that is well", run["likely"])
    ok(run["open"] and all(one["needs"] for one in run["open"]), f"{book} says what it does not know, and what to bring", run)

# ---- a priority is paused without end
before = ids()
storm = Growth(grow("solar0", rx_prio3_pause_duration=60000, rx_prio3_pause=200, tx_prio3_pause=1))
site.batches(4)
ok(("pause-storm", f"priority/{PORTS[0]}/3") in site.raised(), "a pause storm is found", site.raised())
for book in ("performance-drop", "packet-loss", "slow-node", "tenant-interference"):
    leads(book, "pause")
ok(not site.run("cm-error")["likely"], "cm-error has no cause in it", site.run("cm-error")["likely"])
lab.until(FAULT_S, lambda: "pause-storm" in roots_of("pause-asymmetry", before))
ok(set(roots_of("pause-asymmetry", before)) == {"pause-storm"} and roots_of("pause-storm", before) == [None],
   "that it is paused a hundred times as often as it pauses is explained by the storm", incidents())
storm.stop()

# ---- frames that arrive damaged, under real traffic of no job
lab.poke("solar3", "fcs_every", 200)
traffic = Traffic(1)
run = until_likely("packet-loss", "fcs", "retransmission")
leads("packet-loss", "fcs", run)
leads("packet-loss", "retransmission", run)
ok(cause_of(run, "fcs") == [None] and cause_of(run, "retransmission") == ["fcs"],
   "and what is sent again is explained by the damaged frames", run["likely"])
leads("performance-drop", "fcs")
leads("slow-node", "retransmission")
leads("tenant-interference", "unlabelled-traffic")
lab.poke("solar3", "fcs_every", 0)
traffic.stop()

# ---- a cable is pulled under traffic
before = ids()
traffic = Traffic(2)
site.batches(2)
pull("solar4", {("link-down", PORTS[4]), ("link-down", PORTS[5])})
log = {"name": "nccl.log", "text": NCCL_LOG}
run = until_likely("cm-error", "link-state", "retries", files=[log])
leads("cm-error", "link-state", run)
leads("cm-error", "retries", run)
ok([i["step"] for i in run["likely"]][:1] == ["link-state"] and cause_of(run, "retries") == ["link-state"],
   "first the link, which explains that a job's queue pairs gave up, as its log says", run["likely"])
run = until_likely("performance-drop", "link-state")
leads("performance-drop", "link-state", run)
ok(set(cause_of(run, "retransmission")) <= {"link-state"}, "and what is sent again meanwhile", run["likely"])
lab.until(FAULT_S, lambda: len(roots_of("port-down", before)) == 2)
ok(set(roots_of("port-down", before)) == {"link-down"}, "that of the port that is down, too", incidents())
made = [i for i in incidents() if i["id"] not in before and i["rule"] != "memlock-low"]  # of the traffic's own process
ok(sorted((i["rule"], i["port"]) for i in made if "root" not in i) == [("link-down", PORTS[4]), ("link-down", PORTS[5])],
   "one incident for each end of the cable is a root, and nothing else", made)
lab.poke("solar4", "carrier", 1)
ok(lab.until(FAULT_S, lambda: "port-down" not in {rule for rule, _ in site.raised()}) is not None,
   "with the cable back the port is up", site.raised())
traffic.stop()

# ---- an agent that is not heard
site.child.send_signal(signal.SIGSTOP)
run = until_likely("slow-node", "agent")
leads("slow-node", "agent", run)
silent = ("pause", "retransmission", "receive-queue", "discards")  # the damaged frames were told, and are not cured
lab.until(90, lambda: {verdicts(site.run("performance-drop"))[step] for step in silent} == {"unknown"})
run = site.run("performance-drop")
ok({verdicts(run)[step] for step in silent} == {"unknown"} and set(silent) <= {i["step"] for i in run["open"]},
   "its counters are unknown, and not well", [s for s in run["steps"] if s["step"] in silent and s["verdict"] != "unknown"])
site.child.send_signal(signal.SIGCONT)
ok(lab.until(FAULT_S, lambda: "agent" not in [i["step"] for i in site.run("slow-node")["likely"]]) is not None,
   "when it is heard again that is over", site.run("slow-node")["likely"])
site.end()
