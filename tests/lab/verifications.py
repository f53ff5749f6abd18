#!/usr/bin/env python3
"""Verifications end to end, as TAP: a stellard here, an agent in each of two guests with an rxe device on one wire.
Tests are ordered by REST and measured over verbs; the devices' own counters say that the wire was used. One agent is
killed in the middle of a test, another test is cancelled. Ends only what it started."""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import demo

ALL = "/v1/verifications"
SOFT = "software device, threshold not applicable"
NODES = {"n1": "10.8.0.1", "n2": "10.8.0.2"}
KINDS = ["send_lat", "read_bw", "mesh", "allreduce"]
SHORT = {"bytes": 4096, "iterations": 20, "deadline": "60s"}
LONG = {"kinds": ["write_bw"], "all": True, "bytes": 1048576, "iterations": 100000}  # far longer than its deadline
ENDS_S = 120  # of a verification with short tests: the guests are emulated
DEADLINE_S, GRACE_S = 30, 10


class Wired(demo.Guest):
    """One end of the wire."""

    def __init__(self, args, folder, node, wire):
        super().__init__(args.srcdir, args.objdir, folder)
        self.node, self.wire, self.dir = node, wire, os.path.join(folder, node)

    def up(self):
        rc = subprocess.call([self.lab, "up", "--cache", self.cache, "--module", "no", "--name", self.node, "--life", "580",
                              "--wire", self.wire, self.dir])
        if rc == 77:
            sys.exit(77)
        if rc != 0:
            raise demo.Failure(f"the guest of {self.node} did not come up (lab up: {rc})")
        self.must("modprobe -a ib_uverbs rdma_cm rdma_ucm rdma_rxe && rdma link add rxe0 type rxe netdev eth1")

    def start_agent(self, server):
        port = server.url.rsplit(":", 1)[1]
        self.start(f"exec /host{self.objdir}/stellar-agent --server http://10.0.2.2:{port} --node {self.node} --devices eth1"
                   f" --token-file /tmp/token --state-dir /tmp/stellar 2>>/run/lab/agent.log")

    def sent(self):
        return int(self.must("cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"))

    def when_connected(self, command=":"):
        """Once a test is connected here. In one go: a guest that measures answers slowly."""
        self.must("for _ in $(seq 400); do rdma resource show qp | grep -q 'type RC state RTS' && break; sleep 0.1; done;"
                  f" rdma resource show qp | grep -q 'type RC state RTS' && {command}", timeout=60)

    def is_idle(self):
        return "type RC" not in self.must("rdma resource show qp")

    def log(self):
        path = os.path.join(self.dir, "share", "agent.log")
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()[-3000:]


class Job:
    def __init__(self, args, folder, teller):
        self.t, self.server = teller, demo.Server(args.objdir, folder)
        sock = os.path.join(folder, "wire")
        self.guests = {"n1": Wired(args, folder, "n1", "listen:" + sock), "n2": Wired(args, folder, "n2", "connect:" + sock)}

    def set_up(self):
        for node, guest in self.guests.items():
            guest.up()
            self.server.put(f"/v1/nodes/{node}", {})
            status, _, answer = self.server.call("POST", f"/v1/nodes/{node}/token", {})
            if status not in (200, 201):
                raise demo.Failure(f"POST /v1/nodes/{node}/token: {status} {answer}")
            guest.must(f"umask 077; printf %s '{answer['token']}' >/tmp/token")
            guest.start_agent(self.server)
        demo.wait_for("both nodes tell of their devices", 120, lambda: all(self.has_address(n) for n in NODES))

    def has_address(self, node):
        status, _, answer = self.server.call("GET", f"/v1/nodes/{node}/inventory")
        return status == 200 and NODES[node] in str(answer.get("rdma_devices"))

    def order(self, body):
        status, _, answer = self.server.call("POST", ALL, body)
        if status != 201:
            raise demo.Failure(f"POST {ALL} {body}: {status} {answer}")
        return answer["id"]

    def show(self, name):
        return self.server.get(f"{ALL}/{name}")

    def end_of(self, name, seconds=ENDS_S):
        demo.wait_for(f"verification {name} ends", seconds, lambda: self.show(name)["state"] != "running")
        return self.show(name)

    # ---- the story

    def measured(self):
        before = {node: guest.sent() for node, guest in self.guests.items()}
        seen = self.end_of(self.order({"kinds": KINDS, "all": True, **SHORT}))
        sent = {node: guest.sent() - before[node] for node, guest in self.guests.items()}
        tests = {t["kind"]: t for t in seen["tests"]}
        self.t.say(str({k: t["figures"] for k, t in tests.items()}) + f", packets sent: {sent}")
        self.t.check(seen["state"] == "done" and seen["counts"]["total"] == 5, "each kind is measured", seen)
        for kind in ("send_lat", "read_bw", "allreduce"):
            test = tests[kind]
            self.t.check(test["verdict"] == "not-applicable" and test["why"] == SOFT and test["software"],
                         f"{kind}: {SOFT}", test)
            self.t.check(test.get("value", -1) >= 0 and "limit" not in test, f"{kind}: the figure is stored, without a limit",
                         test)
        lat = tests["send_lat"]["figures"]
        self.t.check(0 < lat["latency_min_ns"] <= lat["latency_p50_ns"] <= lat["latency_p99_ns"], "the latencies are in order",
                     lat)
        self.t.check(tests["read_bw"]["figures"]["rate_bps"] > 0 and tests["allreduce"]["figures"]["iteration_ns"] > 0,
                     "rate and iterations are known", tests)
        meshes = [t for t in seen["tests"] if t["kind"] == "mesh"]
        self.t.check([(t["verdict"], t["figures"]) for t in meshes] == [("pass", {"asked": 1, "answered": 1})] * 2,
                     "mesh: each node's peer answers, and that is graded", meshes)
        self.t.check(seen["verdict"] == "pass", "the whole passes by what could be graded", seen["counts"])
        self.t.check(all(count >= 40 for count in sent.values()), "both devices sent what was measured", sent)
        return seen

    def compared(self, first):
        second = self.end_of(self.order({"kinds": KINDS, "all": True, **SHORT}))
        for old, new in zip(first["tests"], second["tests"]):
            last = new.get("last", {})
            self.t.check((new["kind"], last.get("verification"), last.get("value")) == (old["kind"], first["id"], old["value"]),
                         f"{new['kind']}: compared with the last run", new)
            if old["value"] > 0:
                change = int((new["value"] - old["value"]) * 10000 / old["value"])
                self.t.check(abs(last.get("change_permyriad", 10**9) - change) <= 1, f"{new['kind']}: by how much it changed",
                             f"{last}, {old['value']} -> {new['value']}")

    def killed(self):
        name = self.order({**LONG, "deadline": f"{DEADLINE_S}s"})
        self.guests["n2"].when_connected("kill -KILL $(pidof stellar-agent)")
        seen = self.end_of(name, DEADLINE_S + GRACE_S + 60)
        test = seen["tests"][0]
        self.t.check((seen["verdict"], test["verdict"]) == ("unknown", "unknown") and "value" not in test,
                     "an agent that is killed in the middle leaves a test unknown, without a figure", seen)
        self.t.check(test["why"] == "node n2 did not answer in time", "and is named", test)
        self.t.check(self.guests["n1"].is_idle(), "the other end has let go of its device")
        self.guests["n2"].start_agent(self.server)
        seen = self.end_of(self.order({"kinds": ["mesh"], "all": True, **SHORT}))
        self.t.check(seen["verdict"] == "pass", "with its agent back the next verification passes", seen)

    def cancelled(self):
        name = self.order({**LONG, "deadline": "300s"})
        self.guests["n1"].when_connected()
        status, _, seen = self.server.call("POST", f"{ALL}/{name}:cancel")
        self.t.check(status == 200 and seen["state"] == "cancelled" and seen["tests"][0]["verdict"] == "unknown" and
                     seen["tests"][0]["why"] == "cancelled", "a cancelled test is unknown", seen)
        demo.wait_for("both ends stop", 60, lambda: all(g.is_idle() for g in self.guests.values()))
        self.t.check(True, "both ends stop long before its deadline")
        seen = self.end_of(self.order({"kinds": ["send_lat"], "all": True, **SHORT}))
        self.t.check(seen["state"] == "done" and "value" in seen["tests"][0], "and measure again when they are asked", seen)

    def end(self):
        for node, guest in self.guests.items():
            if self.t.bad:
                self.t.say(f"{node}: " + guest.log())
            guest.down()
        self.server.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--srcdir", required=True)
    parser.add_argument("--objdir", required=True)
    args = parser.parse_args()
    args.srcdir, args.objdir = os.path.abspath(args.srcdir), os.path.abspath(args.objdir)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(126))
    folder, teller = tempfile.mkdtemp(prefix="stellar-verifications-"), demo.Teller(True)
    job = None
    try:
        job = Job(args, folder, teller)
        job.set_up()
        job.compared(job.measured())
        job.killed()
        job.cancelled()
    except demo.Failure as e:
        teller.check(False, "the job comes to its end", str(e))
    finally:
        if job is not None:
            job.end()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"1..{teller.count}")
    sys.exit(teller.bad != 0)


if __name__ == "__main__":
    main()
