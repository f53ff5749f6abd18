#!/usr/bin/python3
"""The guest of check_two_guests.sh that has the agent. Plans give roce.tos of the port on the wire; for each the host
starts the peer, then this one connects to it. Arguments: the build folder."""

import os
import subprocess
import sys
import time

import agent_lab as lab
from agent_lab import ok

PEER = "10.8.0.2"
RUN = "/run/lab"  # shared with the host, which makes NAME.go

site = lab.Site("/tmp/two", sys.argv[1], port=8081)
state = site.state("eth1")
tos = [k for k in state["knobs"] if k["kind"] == "roce.tos"]
ok(len(tos) == 1 and not tos[0].get("problem"), "the port on the wire has a type of service for rdma_cm", state)
subject, first = tos[0]["subject"], tos[0]["live"]


def told(name, text):
    with open(f"{RUN}/{name}", "w") as f:
        f.write(text + "\n")


def connect(name, options):
    """One connection against the peer, once the host says that it listens."""
    told(f"{name}.ready", "ready")
    if lab.until(90, lambda: os.path.exists(f"{RUN}/{name}.go")) is None:
        return "no peer"
    for _ in range(20):  # rejected while the peer does not listen yet, which nobody can see
        done = subprocess.run(["timeout", "-k", "2", "60", "ib_send_lat", "-d", "rxe0", "-n", "100", *options, PEER],
                              capture_output=True, text=True)
        if done.returncode == 0:
            return ""
        if os.path.exists(f"{RUN}/{name}.over"):
            break
        time.sleep(1)
    return f"exit {done.returncode}: {done.stdout}{done.stderr}"


def traffic(name, *options):
    """Up to three runs: an emulated rxe now and then fails a connection after its first messages."""
    for run in (1, 2, 3):
        why = connect(f"{name}.{run}", options)
        told(f"{name}.{run}.end", "failed" if why else "good")
        if not why:
            break
    return why


why = traffic("before", "-R")
ok(not why, "a connection of rdma_cm before any plan", why)
for generation, value in ((1, 106), (2, 74)):
    plan = lab.seal([lab.knob("roce.tos", dict(first, tos=value), subject=subject)], generation)
    site.give(plan)
    if site.child is None:
        site.start("eth1")
    ok(site.holds(plan), f"a plan with {value} is applied", f"{site.receipts} {site.log()}")
    why = traffic(str(value), "-R")
    ok(not why, f"a connection of rdma_cm under the plan with {value}", why)
ok(site.stop() == 0, "the agent ends well")
lab.end()
