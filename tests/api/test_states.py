#!/usr/bin/env python3
"""Real agents with simulated nodes tell what their nodes are: one state a plan, and again to a server whose
store was restored from a backup."""
import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

from lib import CALL_S, FABRIC, SLOW, Server, Tap, arguments, finish, must

NODES = [f"n{i}" for i in range(5)]
CHECK_S = 0.5  # between two checks; plus a quarter at most
PLAN_WAIT_S = 40 * SLOW


class Fleet:
    def __init__(self, args, server):
        self.args, self.server = args, server
        self.folder = tempfile.mkdtemp(prefix="stellar-states-")
        self.agents = []

    def start(self):
        for name in NODES:
            token = os.path.join(self.folder, name + ".token")
            with open(token, "w", encoding="ascii") as f:
                f.write(self.server.node(name) + "\n")
            words = [os.path.join(self.args.objdir, "stellar-agent"), "--node", name, "--server",
                     f"http://127.0.0.1:{self.server.port}", "--state-dir", os.path.join(self.folder, name),
                     "--token-file", token, "--provider", "sim", "--sim-ports", "1", "--sim-check", f"{int(CHECK_S * 1000)}ms"]
            with open(self.log_path(name), "ab") as log:
                self.agents.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def log_path(self, name):
        return os.path.join(self.folder, name + ".log")

    def log_text(self, name):
        with open(self.log_path(name), errors="replace") as f:
            return f.read()

    def stop(self):
        for agent in self.agents:
            if agent.poll() is None:
                agent.send_signal(signal.SIGTERM)
        codes = []
        for agent in self.agents:
            try:
                codes.append(agent.wait(CALL_S))
            except subprocess.TimeoutExpired:
                agent.kill()
                codes.append(agent.wait(CALL_S))
        return codes

    def told(self):
        """States that the server was told since it started."""
        text = must(self.server.get("/metrics"), 200).body.decode()
        return int(re.search(r"^stellar_states_total (\d+)$", text, re.M).group(1))

    def get(self, node, part=""):
        return must(self.server.get(f"/v1/nodes/{node}{part}"), 200).json

    def current(self):
        """The nodes whose state is of the plan that they have now, which they follow."""
        names = []
        for node in NODES:
            answer = self.server.get(f"/v1/nodes/{node}/state")
            if answer.status == 200 and answer.json.get("current") and self.get(node)["sync"] == "in-sync":
                names.append(node)
        return names

    def checks_go_by(self, count):
        """Timed checks go by; no event shows them from outside."""
        time.sleep(count * CHECK_S * 1.25)


def until(what, wanted, seconds=PLAN_WAIT_S):
    end = time.monotonic() + seconds
    while True:
        answer = what()
        if answer == wanted:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"not in {seconds} s: {answer}")
        time.sleep(0.1)


def one_state_a_plan(tap, server, fleet):
    must(server.put("/v1/fabric", FABRIC), 201)
    must(server.put("/v1/tenants/a", {}), 201)
    fleet.start()
    until(fleet.current, NODES)
    tap.ok(True, "each node in sync tells its state, without any deviation")
    fleet.checks_go_by(8)
    tap.equal(fleet.told(), len(NODES), "once, however often it is checked")
    knobs = fleet.get("n1", "/state")["knobs"]
    plan = fleet.get("n1", "/plan")["knobs"]
    live = {(k["kind"], k["subject"], k.get("id")): k.get("live") for k in knobs}
    tap.ok(plan and all(live[k["kind"], k["subject"], k.get("id")] == k["want"] for k in plan), "every knob as wanted", knobs)
    before = fleet.get("n0", "/state")["received"]
    for number, mtu in enumerate((9000, 4200), 2):
        fabric = {"fabric_profile": dict(FABRIC["fabric_profile"], mtu_bytes=mtu)}
        must(server.put("/v1/fabric", fabric, server.get("/v1/fabric").etag), 200)
        until(fleet.current, NODES)
        fleet.checks_go_by(4)
        tap.equal(fleet.told(), number * len(NODES), f"under plan {number} once more")
    tap.ok(fleet.get("n0", "/state")["received"] > before, "and the server says since when")


def told_again_after_a_restore(tap, server, fleet):
    """The copy is of a time before the nodes had this plan, or any: the store that is put back knows less."""
    copy = os.path.join(fleet.folder, "copy.db")
    early = os.path.join(fleet.folder, "early.db")
    stellard = os.path.join(fleet.args.objdir, "stellard")

    def call(*words):
        return subprocess.run([stellard, *words], capture_output=True, text=True, timeout=CALL_S, check=False)

    plans = {node: fleet.get(node)["digest"] for node in NODES}
    tap.equal(server.stop(), 0, "the server stops")
    made = call("backup", "--data", server.data, "--out", copy)
    tap.equal(made.returncode, 0, "and is copied: " + made.stderr)
    # What a copy made before the agents spoke would hold: their nodes and the fabric, and no word of theirs.
    shutil.copy(copy, early)
    with contextlib.closing(sqlite3.connect(early)) as db:
        db.executescript("DELETE FROM node_reports; DELETE FROM receipts;")
    junk = os.path.join(fleet.folder, "junk.db")
    with open(junk, "w", encoding="ascii") as f:
        f.write("x" * 5000)
    refused = call("restore", "--data", server.data, "--from", junk)
    tap.ok(refused.returncode == 1 and "nothing was changed" in refused.stderr, "what is no copy changes nothing", refused)
    server.listen = f"127.0.0.1:{server.port}"
    server.start()
    until(fleet.current, NODES)
    fleet.checks_go_by(4)
    tap.equal(fleet.told(), 0, "a start of the server alone makes nobody tell anything again")
    tap.equal(server.stop(), 0, "it stops again")
    done = call("restore", "--data", server.data, "--from", early)
    tap.equal(done.returncode, 0, "the early copy is put back: " + done.stderr)
    server.start()
    until(fleet.current, NODES)
    tap.ok(True, "the agents tell receipt and state again, under the same plan")
    tap.equal({node: fleet.get(node)["digest"] for node in NODES}, plans, "which is as before")
    tap.equal([node for node in NODES if server.get(f"/v1/nodes/{node}/inventory").status != 200], [],
              "and what they are made of")
    fleet.checks_go_by(4)
    tap.ok(fleet.told() <= 2 * len(NODES), "at a bounded cost", fleet.told())
    settled = fleet.told()
    fleet.checks_go_by(8)
    tap.equal(fleet.told(), settled, "and then no more")
    tap.ok("store is another" in fleet.log_text("n3"), "their log says why", fleet.log_text("n3")[-800:])


def main():
    args, tap = arguments(), Tap()
    server = Server(args).start()
    fleet = Fleet(args, server)
    try:
        one_state_a_plan(tap, server, fleet)
        told_again_after_a_restore(tap, server, fleet)
    except Exception:  # the agents must end in any case
        import traceback
        tap.ok(False, "the scenes run to their end", traceback.format_exc())
        for name in NODES[:2]:
            print("# " + fleet.log_text(name)[-3000:].replace("\n", "\n# "))
    finally:
        codes = fleet.stop()
        tap.equal(set(codes), {0}, "every agent ends cleanly")
        shutil.rmtree(fleet.folder, ignore_errors=True)
        finish(tap, server)
    tap.done()


if __name__ == "__main__":
    main()
