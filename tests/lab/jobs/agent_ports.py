#!/usr/bin/python3
# lab: timeout=580
"""Ports come and go below a running agent: unbound and bound, their driver removed and loaded, the cable pulled.
What is lost is told, what comes back is made as the plan says, and nothing of before is left standing.
Argument: the build folder."""

import os
import signal
import sys
import time

import agent_lab as lab
from agent_lab import OTHER, bind, ok, sh


def up():
    for name in ("solar0", "solar1", "solar2", "solar3"):
        sh(f"ip link set {name} up")
    # The one of a port that went is taken away later than the port, and may still have the name.
    lab.until(10, lambda: sh("rdma link add rxe0 type rxe netdev solar0").returncode == 0)


def picture(netdev):
    """What others see of a port."""
    if not os.path.exists(f"/sys/class/net/{netdev}"):
        return "no port"
    parts = sh(f"dcbread {netdev} | jq -cS '[.app,.ets,.maxrate_bps,.pfc.enabled]'; cat /sys/class/net/{netdev}/mtu;"
               f"tc -j qdisc show dev {netdev} | jq -c 'map(select(.root or .kind == \"clsact\") | .kind + .handle) | sort';"
               f"tc -j class show dev {netdev} | jq -c 'map(.handle) | sort'; tc filter show dev {netdev} egress | grep -c 0x1a")
    return parts.stdout


def ports_told(inventory):
    return [port["id"] for port in inventory.get("ports", [])]


def told(what, seconds=150):
    """The latest inventory becomes such that what(inventory) holds: after the first five one comes each minute."""
    return lab.until(seconds, lambda: site.inventories and what(site.inventories[-1])) is not None


def whole(seconds=40):
    """The node is what the plan says, and was said to be so after all that was said before."""
    since = len(site.receipts)
    return lab.until(seconds, lambda: [r for r in site.receipts[max(0, since - 1):]][-1:] and
                     site.receipts[-1].get("observed") == plan["digest"] and picture("solar0") == before["solar0"] and
                     picture("solar2") == before["solar2"])


site = lab.Site("/tmp/ports", sys.argv[1])
sh("modprobe rdma_cm; modprobe rdma_rxe")
up()
knobs = lab.ordered(lab.of_host() + lab.of_port(lab.PORT) + [k for k in lab.of_port(OTHER) if k["kind"] != "roce.tos"])
plan = lab.seal(knobs, 1)
site.give(plan)
child = site.start("solar0,solar1,solar2,solar3")
ok(site.holds(plan), "a plan of two ports is applied", f"{site.receipts} {site.log()}")
before = {name: picture(name) for name in ("solar0", "solar2")}
ok(told(lambda i: lab.PORT in ports_told(i)), "both ports are in the inventory", site.inventories[-1:])

# ---- gone
since = len(site.receipts)
bind("unbind")
lost = site.wait(lambda r: lab.PORT in r.get("problem", ""), 15, since)
ok(lost and lost.get("observed") != plan["digest"], "a port that goes is told by name, and no longer as planned", lost)
ok(told(lambda i: lab.PORT not in ports_told(i)), "and is in the inventory no more")
sh("ip link set solar2 mtu 1500")
seconds = lab.until(10, lambda: lab.read("/sys/class/net/solar2/mtu") == "4200")
ok(seconds is not None, "drift of another port is repaired meanwhile", site.log())
lab.note("repaired after", seconds, "s")
ok(picture("solar2") == before["solar2"], "all of that port is as it was", picture("solar2"))

# ---- back, the RDMA device later than the port, as real ones are
since = len(site.receipts)
bind("bind")
sh("ip link set solar0 up")
partly = site.wait(lambda r: r["result"] == "drift" and "roce.tos" in r.get("problem", ""), 15, since)
ok(partly, "when it is back, drift is told, with what cannot be repaired yet", site.log())
ok(lab.until(15, lambda: picture("solar0") == before["solar0"]) is not None, "and the other knobs are put back", picture("solar0"))
up()
ok(whole() is not None, "with its RDMA device the rest is, and the node is as planned", site.log())
ok(told(lambda i: lab.PORT in ports_told(i)), "it is in the inventory again")

# ---- in quick succession
time.sleep(60)  # the agent counts repairs in a minute: those of before are none of these
for pause in (0.0, 0.3, 1.2):
    child.send_signal(signal.SIGHUP)  # repairs in quick succession look like a fight, which pauses
    time.sleep(1.5)
    bind("unbind")
    time.sleep(pause)
    bind("bind")
    up()
    ok(whole() is not None, f"gone for {pause} s: the node comes to be as planned", site.log())

# ---- the cable
def carrier_told(netdev, is_up):
    """Nothing but the link is another: the inventory says so."""
    def holds(inventory):
        for port in inventory.get("ports", []):
            if port.get("ifname") == netdev:
                return (port.get("link", {}).get("state") == "up") == is_up
        return False
    return told(holds)


lab.poke("solar2", "carrier", 0)
ok(carrier_told("solar2", False), "a lost carrier is told", site.inventories[-1])
lab.poke("solar2", "carrier", 1)
ok(carrier_told("solar2", True), "and that it is back", site.inventories[-1])

# ---- all of them
child.send_signal(signal.SIGHUP)
time.sleep(1.5)
ok(sh("rmmod solar_rdma").returncode == 0, "the driver goes below the agent")
ok(told(lambda i: lab.PORT not in ports_told(i) and OTHER not in ports_told(i)), "no port is told of any more")
ok(child.poll() is None, "the agent goes on")
sh("modprobe solar_rdma pairs=3")
up()
ok(whole() is not None, "with the driver all is as planned again", site.log())
ok(child.poll() is None, "it was one agent all the time", child.poll())
ok(site.stop() == 0, "which ends well", site.log())
lab.end()
