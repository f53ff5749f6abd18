#!/usr/bin/python3
# lab: timeout=580
"""kill -9 at KILL_POINTS moments spread over the change from one plan to another that differs in a knob of every
kind. After each the files that undo lives on are whole, and a start makes the node one plan or the other, never
between: without a server the plan that stands, with one the plan that it gives. Argument: the build folder."""

import json
import os
import signal
import subprocess
import sys
import time

import agent_lab as lab
from agent_lab import ok, sh

KILL_POINTS = 24
LEAST_POINTS = 3  # where a point takes minutes instead of seconds
TIME_S = 440  # after the start of the job no new point is begun
BEGIN = time.monotonic()

CM = "/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos"
READERS = [  # none of the product's code; each shows the two plans apart
    "dcbread solar0 | jq -cS '[.app,.ets,.maxrate_bps,.buffer,.pfc.enabled]'",
    "cat /sys/class/net/solar0/mtu /proc/sys/net/solar/flow_steering /sys/kernel/mm/transparent_hugepage/enabled",
    "cat /etc/modprobe.d/stellar.conf /etc/stellar/env/nccl.env",
    "ethtool -c solar0 | grep rx-usecs:; ethtool -a solar0 | grep -E 'RX|TX'",
    "cat /proc/sys/net/ipv4/conf/solar0/arp_announce /proc/sys/net/ipv4/conf/solar0/arp_ignore",
    "devlink -j dev param show platform/solar_rdma.0 name dce_tcp_g | jq -cS .",
    "devlink -j port function rate show platform/solar_rdma.0/stellar | jq -cS .",
    "cat /sys/class/net/solar0/ecn/roce_np/cnp_dscp",
    f"cat {CM}",
    "tc -j qdisc show dev solar0 | jq -cS 'map(select(.root or .kind == \"clsact\") | .kind + .handle) | sort'; "
    "tc filter show dev solar0 egress",
    "dcbread solar1 | jq .dcbx; ethtool -a solar1 | grep -E 'RX|TX'",
    # The number of a red queue is the kernel's choice; its parent's is ours.
    "for n in 0 1; do tc class show dev solar$n | grep '^class htb' | sed 's/ leaf [^ ]*//' | sort; done",
    "for n in 0 1; do tc qdisc show dev solar$n | grep '^qdisc red' | sed 's/^qdisc red [^ ]*//' | sort; done",
    "tc qdisc show dev solar1 | grep -E '^qdisc (htb|ets|clsact)' | sort",
]
OTHER = "solar_rdma.1/0"  # of solar1


def of_other(b=False):
    """The other port: one scheduler in the place of another, with a queue of the same number and value on both, a
    hook that comes and goes, and pause, which the first port's PFC forbids. dcb.dcbx has one value only: each point
    begins with another one, set by hand."""
    red = dict(ecn=True, limit_bytes=1 << 20, max_bytes=200000, min_bytes=50000, probability_permyriad=100)
    ets = dict(bands=3, handle="5e11:", kind="ets", priomap=[2, 2, 2, 1] + [2] * 12, quanta=[90840, 60560], strict=1)
    tc = lambda rate, parent: dict(rate_bps=rate, ceil_bps=10**11, parent=parent)
    knobs = [lab.knob("dcb.dcbx", dict(agent="none", mode=["host", "ieee"]), subject=OTHER),
             lab.knob("link.pause", dict(rx=b, tx=b), subject=OTHER),
             lab.knob("tc.red", dict(red, max_bytes=300000 if b else 200000), "5e11:ffff"),
             lab.knob("tc.red", red, "5e11:2", OTHER)]
    if b:
        return knobs + [lab.knob("tc.clsact", True, subject=OTHER), lab.knob("tc.qdisc", ets, "root", OTHER)]
    return knobs + [lab.knob("tc.qdisc", dict(default_class="5e11:2", handle="5e11:", kind="htb"), "root", OTHER),
                    lab.knob("tc.class", tc(10**11, "5e11:"), "5e11:fffe", OTHER),
                    lab.knob("tc.class", tc(10**9, "5e11:fffe"), "5e11:2", OTHER)]


def picture():
    """What each reader says; one that fails says so, and is never the same as one that works."""
    seen = {}
    for reader in READERS:
        said = sh("set -e; " + reader)
        seen[reader] = said.stdout if said.returncode == 0 else f"exit code {said.returncode}: {said.stderr}"
    return seen


def files_are_whole():
    """Every file of the state folder is there whole or not at all; whether a journal is."""
    names = [n for n in os.listdir(site.work + "/state") if n.endswith(".json")]
    for name in names:
        json.loads(lab.read(f"{site.work}/state/{name}"))
    return "journal.json" in names


def changing(number):
    """Whether the journal on disk is that plan's, and not one of a repair of the plan that stands."""
    try:
        return json.loads(lab.read(f"{site.work}/state/journal.json"))["generation"] == number
    except (FileNotFoundError, ValueError):
        return False


def wait_fine(seconds, holds):
    """A change is shorter than what lab.until() sleeps."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.005)
    return time.monotonic()


def standing():
    path = site.work + "/state/plan.json"
    return json.loads(lab.read(path))["generation"] if os.path.exists(path) else 0


def moved(first, second):
    """Kinds that show another value in the second plan."""
    was = {(k["kind"], k["subject"], k["id"]): k["want"] for k in first}
    return {k["kind"] for k in second if was.get((k["kind"], k["subject"], k["id"])) != k["want"]}


def converge(number, words):
    """An agent with a server that gives the plan: the node is it."""
    since = len(site.receipts)
    site.give(plans[number])
    site.start()
    good = site.holds(plans[number], 90, since) and picture() == pictures[number]
    if not good:
        ok(False, words, f"{site.receipts[since:]}\n{picture()}\n--\n{pictures[number]}\n{site.log()}"[:6000])
    return good


site = lab.Site("/tmp/sweep", sys.argv[1])
for command in ("modprobe -a sch_htb sch_ets sch_red",  # not in the time of a step
                "modprobe rdma_cm", "modprobe rdma_rxe", "rdma link add rxe0 type rxe netdev solar0",
                "ip link set solar0 up", "ip link set solar1 up"):
    sh(command)
state = site.state("solar0")
knobs = {n: lab.ordered(lab.of_host(b) + lab.of_port(lab.PORT, b) + lab.shown(state, ["roce.cc", "dcb.buffer"], b) +
                        of_other(b))
         for n, b in ((1, False), (2, True))}
# In the second plan a class and its filter are others, so that things are removed and added too.
for k in knobs[2]:
    if k["id"] == "5e11:1a":
        k["id"] = "5e11:1b"
    if k["id"] == "egress/26":
        k["id"], k["want"] = "egress/27", dict(k["want"], cookie="53544c520000001b0011223344556677")
plans = {n: lab.seal(lab.ordered(knobs[n]), n) for n in knobs}
kinds = {k["kind"] for k in knobs[1]}
ok(kinds - moved(knobs[1], knobs[2]) == {"dcb.dcbx"}, "a knob of each kind but one is another in the second plan",
   kinds - moved(knobs[1], knobs[2]))
shows = {k["kind"] for k in state["knobs"] if k["subject"] in (lab.PORT, "host") and not k.get("problem")}
for kind in sorted(shows - kinds):
    lab.skip(f"{kind} in the plans", "no value of it is known here")
pictures, seconds = {}, {}
for number in (1, 2, 1):
    begin = time.monotonic()
    since = len(site.receipts)
    site.give(plans[number])
    if site.child is None:
        site.start()
    start = wait_fine(90, lambda: changing(number) or standing() == number)
    # Looked for from afar: a guest that reads it all the time makes the change longer than it is.
    lab.until(90, lambda: not os.path.exists(site.work + "/state/journal.json"))
    seconds[number] = time.monotonic() - start
    ok(site.holds(plans[number], 90, since), f"plan {number} is applied", f"{site.receipts[since:]} {site.log()}"[:4000])
    pictures.setdefault(number, picture())
for reader in READERS:
    a, b = pictures[1][reader], pictures[2][reader]
    ok(a.strip() and b.strip() and not a.startswith("exit code") and not b.startswith("exit code") and a != b,
       f"others see that they are two: {reader}", f"{a}\n--\n{b}")
ok(picture() == pictures[1], "and that the first came back", f"{picture()}\n--\n{pictures[1]}")
site.stop()

begin, done, middle, failed = time.monotonic(), 0, 0, 0
while done < KILL_POINTS and time.monotonic() - BEGIN < TIME_S and not failed:
    before = standing()
    target = 3 - before
    lab.poke("solar1", "dcbx_mode", 0)
    site.give(plans[target])
    site.start()
    wait_fine(60, lambda: changing(target) or standing() == target)
    # Neighbours are far apart, so that a sweep that is cut short has seen the whole change.
    time.sleep(1.1 * seconds[target] * (done * 7 % KILL_POINTS) / KILL_POINTS)
    site.stop(signal.SIGKILL)
    words = f"killed at point {done + 1}"
    middle += files_are_whole()
    if done % 2 == 0:
        once = subprocess.run([site.agent, "--node", "n1", "--devices", "solar0,solar1", "--state-dir", site.work + "/state",
                               "--once"], capture_output=True, text=True)
        now = standing()
        good = once.returncode == 0 and picture() == pictures[now] and not files_are_whole()
        if not good:
            ok(False, f"{words}: without a server it is plan {now} again", f"{once}\n{picture()}\n--\n{pictures[now]}"[:6000])
    else:
        good = converge(target, f"{words}: the plan of the server")
        site.stop()
        good = good and not files_are_whole()
    done += 1
    failed += not good
    lab.note(f"point {done}, {time.monotonic() - BEGIN:.0f} s after the start")
lab.note(f"a change takes {seconds[1]:.2f} and {seconds[2]:.2f} s")
lab.note(f"{done} points in {time.monotonic() - begin:.0f} s, {middle} in the middle of a change")
ok(not failed, f"after a kill at each of {done} points the node is one plan or the other")
ok(done >= LEAST_POINTS, f"at least {LEAST_POINTS} points were tried", done)
ok(middle >= done // 3, "a third of them at least in the middle of a change", middle)
lab.end()
