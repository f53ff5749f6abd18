#!/usr/bin/python3
# lab: timeout=400
"""A parameter that a driver takes when it is reloaded, and an agent that may do that. What is in effect is read from the
test NIC itself and with the tools of iproute2. Argument: the build folder."""

import json
import os
import signal
import sys

import agent_lab as lab
from agent_lab import ok, sh

KINDS = ("dcb.dcbx", "link.pause", "dcb.pfc")

site = lab.Site("/tmp/reload", sys.argv[1])


def plan(size, generation):
    knobs = [knob for knob in lab.of_port(lab.PORT) if knob["kind"] in KINDS]
    return lab.seal(lab.ordered([lab.knob("devlink.param", dict(driverinit=size), "io_eq_size")] + knobs), generation)


def options(mode):
    return ("--reboot", mode, "--reboots-a-day", "10", "--reboot-command", "/bin/false")


def in_effect(netdev="solar0"):
    return int(lab.read(f"{lab.DEBUG}/{netdev}/io_eq_size"))


def pfc():
    return json.loads(sh("dcb -j pfc show dev solar0 prio-pfc").stdout or "{}").get("prio_pfc", [])


def told():
    return site.inventories[-1].get("reboot", {}) if site.inventories else {}


def log_has(words):
    return lab.until(90, lambda: words in site.log()) is not None


def begun(words="is reloaded now"):
    return lab.read("/tmp/reload/log").count(words)


first = in_effect()
site.give(plan(4096, 1))
site.start("solar0,solar1", options=options("ask"))
ok(site.holds(plan(4096, 1)), "a plan with a parameter of the driver's next start is applied", site.log())
ok(in_effect() == first != 4096, "which is not in effect", in_effect())
ok(len(pfc()) == 8 and pfc()[3] is True, "the rest of it is", pfc())
site.child.send_signal(signal.SIGHUP)  # looks now, not within a minute
ok(log_has("an operator has to approve it"), "an agent that asks says so", site.log())
ok(lab.until(90, told) is not None and "driver of solar_rdma.0" in told()["first"] and told()["count"] == 1,
   "and tells its server which device waits", told())
ok(begun() == 0 and in_effect() == first, "nothing is reloaded before", site.log())

since = len(site.receipts)
site.give(dict(plan(4096, 1), attempt=1, approved=told()["digest"]))
ok(lab.until(90, lambda: in_effect() == 4096) is not None, "approved, the driver is reloaded and has it", site.log())
ok(in_effect("solar1") == first, "no other device was", in_effect("solar1"))
back = site.wait(lambda r: r["result"] == "drift" and r.get("observed") == plan(4096, 1)["digest"], 60, since)
ok(back is not None and "dcb.pfc" in json.dumps(back["steps"]),
   "what the reload took is brought back, and a receipt says so", site.receipts[since:])
ok(lab.until(10, lambda: pfc()[3] is True) is not None, "the kernel has it again", pfc())
ok(lab.until(90, lambda: not told()) is not None, "nothing waits any more", told())
kept = json.loads(lab.read("/tmp/reload/state/reboot.json"))
ok("reloads" not in kept and "approved" not in kept and len(kept["begun_us"]) == 1, "on disk neither", kept)
ok(site.stop() == 0, "the agent ends well")

lab.poke("solar0", "fail_reload_set", 1)
site.give(plan(2048, 2))
site.start("solar0,solar1", options=options("window"))
ok(site.holds(plan(2048, 2)), "another value is applied", site.log())
site.child.send_signal(signal.SIGHUP)
ok(log_has("was not reloaded"), "a driver that fails to is told in the log", site.log())
ok(lab.until(90, lambda: "fault on demand" in told().get("why", "")) is not None, "and to the server, in its words", told())
ok(in_effect() == 4096 and begun() == 2, "it was tried", site.log())
lab.poke("solar0", "fail_reload_set", 0)
site.child.send_signal(signal.SIGHUP)
AGAIN = "was begun already, and it still waits"
ok(log_has(AGAIN) and begun() == 2, "once", site.log())
said = begun(AGAIN)
ok(site.stop() == 0, "the agent ends well")
site.start("solar0,solar1", options=options("window"))
ok(lab.until(90, lambda: begun(AGAIN) > said) is not None and begun() == 2,
   "an agent that begins anew does not try it again", site.log())
site.give(plan(512, 3))
ok(site.holds(plan(512, 3)), "a third value is applied", site.log())
site.child.send_signal(signal.SIGHUP)
ok(lab.until(90, lambda: in_effect() == 512) is not None, "and is in effect without a question in the window", site.log())
ok(site.holds(plan(512, 3)), "the node is what the plan wants", site.log())
ok(site.stop() == 0, "the agent ends well")
lab.end()
