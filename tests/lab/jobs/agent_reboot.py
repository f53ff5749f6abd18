#!/usr/bin/python3
# lab: timeout=600
"""A module parameter that the loaded module does not take, and an agent that may reboot the node for it. The command is
a program of this job that writes down how it was called: the guest stays up. Argument: the build folder."""

import json
import os
import signal
import subprocess
import sys
import time

import agent_lab as lab
from agent_lab import ok, sh

CALLS = "/tmp/reboot/calls"
COMMAND = "/tmp/reboot/down"
PARAM = "qp_mtu"

site = lab.Site("/tmp/reboot", sys.argv[1])
with open(COMMAND, "w") as f:
    f.write(f"#!/bin/sh\necho \"$@\" >>{CALLS}\n")
os.chmod(COMMAND, 0o755)
loaded = lab.read(f"/sys/module/solar_rdma/parameters/{PARAM}")
lab.note("the loaded module has", PARAM, loaded)


def calls():
    return lab.read(CALLS).splitlines() if os.path.exists(CALLS) else []


def params(value):
    return [lab.knob("host.modparam", value, f"solar_rdma.{PARAM}", "host")]


def options(window, mode="window"):
    return ("--reboot", mode, "--reboot-window", window, "--reboots-a-day", "2", "--reboot-command", f"{COMMAND} now")


def log_has(words):
    return lab.until(90, lambda: words in site.log()) is not None


def ten_minutes_later():
    """The guest stayed up, which the agent waits for no longer than that."""
    path = "/tmp/reboot/state/reboot.json"
    kept = json.loads(lab.read(path))
    kept["down_us"] -= 600 * 1000000
    with open(path, "w") as f:
        json.dump(kept, f)


LIB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib.sh")
with open("/tmp/reboot/traffic", "w") as out:
    subprocess.Popen(["sh", "-c", f". {LIB}; pair_up 0; rxe_up 0; rxe_up 1; pair_perftest 0 ib_send_bw -D 1000"],
                     stdout=out, stderr=out)
tools = "pgrep -x ib_send_bw"
used = lab.until(90, lambda: len(sh("rdma resource show qp | grep ib_send_bw").stdout.splitlines()) >= 2)
ok(used is not None, "programs have queue pairs", sh("rdma resource show qp").stdout + lab.read("/tmp/reboot/traffic"))
sh(f"kill -STOP $({tools})")  # so that they cost nothing

now = time.gmtime()
away = f"{(now.tm_hour + 3) % 24:02}:00-{(now.tm_hour + 4) % 24:02}:00"
plan = lab.seal(params("2048"), 1)
site.give(plan)
site.start("solar0", options=options(away))
ok(site.holds(plan), "a plan with a parameter for the next load is applied", site.log())
site.child.send_signal(signal.SIGHUP)  # looks now, not within a minute
ok(lab.read(f"/sys/module/solar_rdma/parameters/{PARAM}") == loaded, "which the loaded module does not take")
ok(log_has("the window for reboots is " + away), "outside the window the agent says so and waits", site.log())
ok(site.stop() == 0 and not calls(), "and begins nothing", calls())

site.start("solar0", options=options("00:00-00:00"))
ok(log_has("programs have queue pairs"), "under a program that uses RDMA the node is not rebooted", site.log())
ok(not calls(), "the command was not run", calls())
sh(f"kill -9 $({tools})")
time.sleep(2)
site.child.send_signal(signal.SIGHUP)
ok(lab.until(150, calls) is not None, "without one the command is run", site.log())
ok(calls() == ["now"], "once, with its words", calls())
kept = json.loads(lab.read("/tmp/reboot/state/reboot.json"))
ok(len(kept.get("begun_us", [])) == 1, "and it is kept on disk", kept)
ok(site.stop() == 0, "the agent ends well")
ten_minutes_later()
site.start("solar0", options=options("00:00-00:00"))
ok(log_has("was begun already, and it still waits"), "what a reboot did not bring is not tried again", site.log())
ok(calls() == ["now"], "the command was run once", calls())
ok(site.stop() == 0, "the agent ends well")

# An agent that asks: another value that the loaded module (1024) does not have, so another digest.
asked = lab.seal(params("4096"), 2)
site.give(asked)
site.start("solar0", options=options("00:00-00:00", "ask"))
ok(site.holds(asked), "another value is applied", site.log())
site.child.send_signal(signal.SIGHUP)
ok(log_has("an operator has to approve it"), "an agent that asks says so", site.log())


def told():
    return site.inventories[-1].get("reboot", {}) if site.inventories else {}


# Not what the agent before it had told.
ok(lab.until(90, lambda: told().get("digest", kept["tried"]) != kept["tried"]) is not None and not told()["approved"] and
   PARAM in told()["first"],
   "and tells its server what waits", told())
ok(calls() == ["now"], "the command was not run again", calls())
site.give(dict(asked, attempt=1, approved="sha256:" + "1" * 64))
ok(log_has("what was approved is not what waits now"), "an approval of something else is stale", site.log())
ok(calls() == ["now"], "and begins nothing", calls())
site.give(dict(asked, attempt=2, approved=told()["digest"]))
ok(lab.until(150, lambda: len(calls()) == 2) is not None, "approved, the command is run", site.log())
kept = json.loads(lab.read("/tmp/reboot/state/reboot.json"))
ok(len(kept.get("begun_us", [])) == 2 and "approved" not in kept, "and the approval is used up", kept)
ok(site.stop() == 0, "the agent ends well")
lab.end()
