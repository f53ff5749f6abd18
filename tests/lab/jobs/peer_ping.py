#!/usr/bin/python3
"""The guest of check_peer_ping.sh that has the agent. Each plan names the other guest as a peer; what the self-test
says of it is in the receipt. Arguments: the build folder."""

import os
import sys

import agent_lab as lab
from agent_lab import ok, sh

PEER = "10.8.0.2"
RUN = "/run/lab"  # shared with the host, which makes NAME.go

site = lab.Site("/tmp/ping", sys.argv[1], port=8081)
state = site.state("eth1")
tos = [k for k in state["knobs"] if k["kind"] == "roce.tos"]
ok(len(tos) == 1 and not tos[0].get("problem"), "the port on the wire has a type of service for rdma_cm", state)
port, first = tos[0]["subject"], tos[0]["live"]
generation = 0


def said(knobs, address=PEER):
    """What the self-test of a plan with a new type of service and these knobs says of the peer."""
    global generation
    generation += 1
    knobs = lab.ordered([lab.knob("roce.tos", dict(first, tos=4 * generation), subject=port)] + knobs)
    plan = dict(lab.seal(knobs, generation), peers=[dict(port=port, node="n2", address=address)])
    since = len(site.receipts)
    site.give(plan)
    if site.child is None:
        site.start("eth1")
    receipt = site.wait(lambda r: r["digest"] == plan["digest"] and "probes" in r, 90, since)
    probes = {} if receipt is None else {p["name"]: p for p in receipt["probes"]}
    lab.note(generation, probes.get("peers", receipt or site.log()))
    return probes.get("peers", dict(ok=None, detail=""))


def is_possible(probe):
    return not probe.get("not_possible", False)


def turn(name):
    """The host does something to the peer first."""
    with open(f"{RUN}/{name}.ready", "w"):
        pass
    ok(lab.until(90, lambda: os.path.exists(f"{RUN}/{name}.go")) is not None, f"the host goes on: {name}")


def done(name):
    with open(f"{RUN}/{name}.done", "w"):
        pass


turn("there")
peers = said([])
ok(peers["ok"] and is_possible(peers), "a peer that has a device and no agent answers", peers)
done("there")
turn("gone")
peers = said([])
ok(peers["ok"] is False and not is_possible(peers), "without its device it was silent before the plan too: not possible",
   peers)
done("gone")
turn("back")
peers = said([])
ok(peers["ok"] and is_possible(peers), "with a new device it answers again", peers)
done("back")

drop = dict(actions=[{"burst_bytes": 64, "police_bps": 8000}], cookie="53544c520000001a0011223344556677", hw="no",
            match=dict(eth_type="ipv4", dst=PEER + "/32"))
cut = [lab.knob("tc.clsact", True, subject=port), lab.knob("tc.flower", drop, "egress/26", port)]
peers = said(cut)
ok(peers["ok"] is False and is_possible(peers), "a plan that cuts the node off from its peer fails the question", peers)
ok("answered over RoCE before the plan" in peers["detail"], "and the detail says so", peers)
peers = said([])
ok(peers["ok"] and is_possible(peers), "without that the peer answers again", peers)
peers = said([], "10.8.0.77")
ok(peers["ok"] is False and not is_possible(peers), "an address that nobody has is not possible", peers)
gone = sh("modprobe -r rdma_ucm")
ok(gone.returncode == 0, "nothing keeps rdma_ucm in use", gone.stderr)
peers = said([])
ok(peers["ok"] is False and not is_possible(peers) and "rdma_ucm" in peers["detail"],
   "without rdma_cm the reason says what to load", peers)
ok(site.stop() == 0, "the agent ends well")
lab.end()
