#!/usr/bin/python3
# lab: timeout=400
"""What stellar-agent keeps of root's rights when root starts it, that it does its work with them, and
that the kernel refuses the rest. Argument: the build folder."""

import os
import signal
import subprocess
import sys
import time

import agent_lab as lab
from agent_lab import ok, sh

NET_ADMIN, SYS_ADMIN = 1 << 12, 1 << 21
MODULES = {"sch_htb", "sch_ingress", "cls_flower", "act_skbedit"}


def status(pid, thread=None):
    path = f"/proc/{pid}/status" if thread is None else f"/proc/{pid}/task/{thread}/status"
    return dict(line.split(":", 1) for line in lab.read(path).splitlines() if ":" in line)


def caps(fields, name):
    return int(fields[name], 16)


def loaded():
    return {line.split()[0] for line in lab.read("/proc/modules").splitlines()}


def config_bytes(*prefix):
    device = sorted(os.listdir("/sys/bus/pci/devices"))[0]
    return len(subprocess.run([*prefix, "cat", f"/sys/bus/pci/devices/{device}/config"], capture_output=True).stdout)


site = lab.Site("/tmp/privileges", sys.argv[1])
for command in ("ip link set solar0 up", "ip link set solar1 up", "modprobe rdma_cm", "modprobe rdma_rxe",
                "rdma link add rxe0 type rxe netdev solar0"):
    sh(command)

# ---- the work
state = site.state("solar0,solar1")
plan = lab.seal(lab.ordered(lab.of_host() + lab.of_port(lab.PORT) + lab.shown(state, ["roce.cc", "dcb.buffer"])), 1)
sh("modprobe -r " + " ".join(sorted(MODULES)))
ok(not MODULES & loaded(), "no qdisc and no filter is loaded yet", MODULES & loaded())
site.give(plan)
child = site.start()
ok(site.holds(plan), "a plan with a knob of every kind is applied", f"{site.receipts} {site.log()}")
ok(MODULES <= loaded(), "the kernel has loaded what its qdiscs and filters need", MODULES - loaded())

# ---- what is left
threads = [status(child.pid, t) for t in os.listdir(f"/proc/{child.pid}/task")]
lab.note(len(threads), "threads:", {t["Name"].strip() for t in threads})
for name in ("CapEff", "CapPrm", "CapBnd"):
    ok(all(caps(t, name) == NET_ADMIN for t in threads), f"{name} of each thread is CAP_NET_ADMIN alone",
       [t[name] for t in threads])
ok(all(caps(t, n) == 0 for t in threads for n in ("CapInh", "CapAmb")), "none is inherited")
ok(all(t["NoNewPrivs"].strip() == "1" for t in threads), "NoNewPrivs is set for each thread")
ok(all(t["Seccomp"].strip() == "2" for t in threads), "each thread has a filter of system calls")
children = lab.read(f"/proc/{child.pid}/task/{child.pid}/children").split()
ok(len(children) == 1, "it has one child", children)
tools = status(children[0])
ok(tools["Name"].strip() == "stellar-tools", "which is the one that starts tools", tools["Name"])
ok(caps(tools, "CapEff") == caps(tools, "CapBnd") == SYS_ADMIN, "and keeps CAP_SYS_ADMIN alone", tools["CapEff"])
ok(tools["NoNewPrivs"].strip() == "1" and tools["Seccomp"].strip() == "2", "with NoNewPrivs and a filter too")
ok(os.readlink(f"/proc/{child.pid}/ns/pid") == os.readlink("/proc/1/ns/pid"), "it stands in the host's pid namespace")

# ---- what takes a right only to be opened
sh(f"{os.path.dirname(os.path.abspath(__file__))}/lldp_send.py solar1 leaf1 100")
ok(lab.until(20, lambda: any(p.get("neighbour", {}).get("system") == "leaf1" for i in site.inventories for p in i["ports"])),
   "it hears its neighbour on the socket that it opened before", site.log())

# ---- why the tools keep it
whole, cut = config_bytes(), config_bytes("setpriv", "--bounding-set", "-sys_admin")
ok(cut == 64 and whole > 64, "without CAP_SYS_ADMIN PCI configuration space ends at 64 bytes", f"{whole} {cut}")

# ---- refusals, by the function that the agent calls
unit = f"/host{sys.argv[1]}/tests/unit/datapath/test_confine"
if os.access(unit, os.X_OK):
    done = sh(unit)
    ok(done.returncode == 0, "module loading, mounts, ptrace, reboot and 25 more are refused", done.stdout + done.stderr)
else:
    lab.skip("module loading, mounts, ptrace and reboot are refused", "test_confine is not built")

# ---- it goes on
sh("ip link set solar0 mtu 1500")
ok(lab.until(10, lambda: lab.read("/sys/class/net/solar0/mtu") == "4200"), "drift is repaired", site.log())
child.send_signal(signal.SIGKILL)
child.wait()
ok(lab.until(5, lambda: not os.path.exists(f"/proc/{children[0]}")) is not None, "killed: what starts tools ends with it")
since = len(site.receipts)
child = site.start(prefix=["setpriv", "--no-new-privs", "--bounding-set", "-all,+net_admin"])
ok(site.holds(plan, since=since), "with no more than the unit gives it does the same", site.log())
sh("tc filter del dev solar0 egress pref 100 handle 26 flower")
ok(lab.until(10, lambda: "0x1a" in sh("tc filter show dev solar0 egress").stdout), "and repairs", site.log())
children = lab.read(f"/proc/{child.pid}/task/{child.pid}/children").split()
ok(caps(status(children[0]), "CapEff") == 0, "tools then have no capability at all")
ok(site.stop() == 0, "SIGTERM ends it well")
time.sleep(0.2)
ok(not os.path.exists(f"/proc/{children[0]}"), "and what starts tools")
lab.end()
