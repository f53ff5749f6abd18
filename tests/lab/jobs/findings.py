#!/usr/bin/python3
# lab: smp=2
# lab: timeout=590
"""Faults of a node, one after another, told by a real agent to a real server: each raises its finding with the next
batch of telemetry and nothing else, and is found by the runbooks that ask for it.
Argument: the build folder."""

import sys

import agent_lab as lab
import health_lab as health
from agent_lab import ok, sh
from health_lab import CARD, PORTS, add, grow, write

site = health.Site(sys.argv[1])
interrupts = health.host_files()
has_gpus = health.gpu_library(sys.argv[1])
site.set_up(env={"LD_LIBRARY_PATH": health.WORK + "/lib", "STELLAR_NVML_STUB": "@" + health.WORK + "/mode"})
BOOKS = ["cm-error", "packet-loss", "performance-drop", "slow-node", "tenant-interference"]


def port(i):
    return f"port/{PORTS[i]}"


def priority(i, number):
    return f"priority/{PORTS[i]}/{number}"


# ---- a node that is well
known = {"gid-not-routable", "marking-chain", "irq-one-cpu", "device-hot", "pcie-link-degraded", "thp-on",
         "lossless-discards"} | ({"gpu-ecc-uncorrected"} if has_gpus else set())
ok(lab.until(150, lambda: not known & set(site.health()["unknown"])) is not None, "the node tells all that it is asked",
   f"{site.health()} {lab.read(health.WORK + '/agent.log')[-3000:]}")
site.hear()
ok(lab.until(health.KNOWN_S, lambda: "mtu-mismatch" not in site.health()["unknown"]) is not None, "its ports are a rail",
   site.health()["unknown"])
site.batches(3)
well = site.health()
ok(well["grade"] == "ok" and not well["findings"], "a node that is well has no finding", well)
ok("ptp-offset" in well["unknown"], "without a PTP clock its offset is unknown, and no finding", well["unknown"])
for book in BOOKS:
    run = site.run(book)
    reasons = [one for one in run["steps"] if one["verdict"] != "ok" and not one.get("why")]
    ok(not run["likely"] and run["verdict"] != "fault", f"{book} finds no cause on it", run["likely"])
    ok(not reasons and all(one["needs"] for one in run["open"]) and all(one["why"] for one in run["excluded"]),
       "and says of each step why not, or what it needs", run)

# ---- counters of ports
site.finds("frames with a wrong check sequence are found", {("fcs-errors", port(0))}, lambda: add("solar0", fcs=5))
site.leads("performance-drop", "fcs", "rx_fcs_errors")
site.leads("packet-loss", "fcs", "fcs-errors")
site.leads("slow-node", "fcs", "fcs-errors")
likely = [one["step"] for one in site.run("packet-loss")["likely"]]
ok(likely[:1] == ["fcs"], "as the first cause of lost packets", likely)
site.finds("symbols that do not exist", {("symbol-errors", port(2))}, lambda: add("solar2", symbol_errors=3))
site.finds("a frame dropped in a class with flow control", {("lossless-discards", priority(3, 3))},
           lambda: add("solar3", rx_prio3_discards=1))
site.leads("packet-loss", "discards", "lossless-discards")
site.finds("a frame dropped in a class without it is no finding", set(), lambda: add("solar3", rx_prio0_discards=1))
site.finds("traffic on a priority that nobody planned", {("traffic-wrong-priority", priority(4, 5))}, None, looks=2,
           grows=grow("solar4", tx_prio5_packets=300))
site.leads("tenant-interference", "marking", "traffic-wrong-priority")

# ---- the host
site.finds("interrupts on one CPU", {("irq-one-cpu", f"irq/{CARD}")},
           lambda: setattr(interrupts, "is_spread", False), looks=6)
site.leads("performance-drop", "irq-balance", "irq-one-cpu")
interrupts.is_spread = True
site.finds("a device at its critical temperature", {("device-hot", f"temperature/{CARD}/1")},
           lambda: write(health.WORK + "/hwmon/hwmon0/temp1_input", "94000\n"), looks=2)
write(health.WORK + "/hwmon/hwmon0/temp1_input", "41000\n")
site.finds("huge pages for every process", {("thp-on", "")},
           lambda: write("/sys/kernel/mm/transparent_hugepage/enabled", "always\n"))
site.leads("slow-node", "host", "thp-on")
write("/sys/kernel/mm/transparent_hugepage/enabled", "never\n")
site.later.add(("pcie-link-degraded", port(4)))  # the port's own, by the inventory of each minute
site.finds("a card with half of its lanes", {("pcie-link-degraded", "pcie/solar_rdma.4")},
           lambda: lab.poke("solar4", "pcie_width", 8), looks=2)
site.leads("slow-node", "pcie", "pcie-link-degraded")
site.leads("performance-drop", "pcie", "pcie-link-degraded")
lab.poke("solar4", "pcie_width", 16)
if has_gpus:
    site.finds("a GPU with errors of its memory",
               {("gpu-ecc-uncorrected", "gpu/0000:2a:00.0"), ("gpu-remap-pending", "gpu/0000:2a:00.0")},
               lambda: write(health.WORK + "/mode", "worn\n"))
    site.leads("performance-drop", "gpu-ecc", "gpu-ecc-uncorrected")
    write(health.WORK + "/mode", "mended\n")
else:
    lab.skip("a GPU with errors of its memory", "nvml_stub.so is not built")

# ---- what the server knows by the inventory
site.finds("an MTU that is not the rail's", {("mtu-mismatch", port(4))}, lambda: sh("ip link set solar4 mtu 1400"), known=True)
site.leads("cm-error", "mtu", "mtu-mismatch")
sh("ip link set solar4 mtu 4200")
site.later.add(("gid-moved", port(5)))  # what is left in the table has another index
site.finds("a port without an address that can be routed", {("gid-not-routable", port(5))},
           lambda: sh("ip addr del 10.9.2.2/24 dev solar5"), known=True)
site.leads("cm-error", "gid", "gid-not-routable")
sh("ip addr add 10.9.2.2/24 dev solar5")
running = sh("devlink -j dev info platform/solar_rdma.3 | jq -r '[.info[]][0].versions.running.fw'").stdout.strip()
for name, version in (("next", "9.9.9"), ("now", running)):
    sh(f"mkdir -p /lib/firmware; python3 {health.HERE}/../mkfw.py /lib/firmware/{name} {version}")
site.finds("firmware that was written and does not run", {("firmware-staged", port(3))},
           lambda: sh("devlink dev flash platform/solar_rdma.3 file next"), known=True)
sh("devlink dev flash platform/solar_rdma.3 file now")
lab.end()
