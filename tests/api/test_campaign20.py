#!/usr/bin/env python3
"""Twenty real agents with simulated devices and a real server: a failing device halts a campaign, it is
resumed, the server is killed in the middle, a drain is cancelled, and all others run the new firmware."""
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

from lib import CALL_S, FABRIC, SLOW, Server, Tap, arguments, finish, must

ALL = "/v1/firmware/campaigns"
NODES = [f"n{i:02}" for i in range(20)]
BROKEN, BUSY = "n05", "n19"
FAULTS = {BROKEN: "flash:fail-50", BUSY: "flash:users"}
PORTS = 2
WAIT_S = 200 * SLOW


class Fleet:
    def __init__(self, args):
        self.server = Server(args)
        self.folder = tempfile.mkdtemp(prefix="stellar-flash-")
        self.procs = {}

    def open(self):
        self.server.start()
        self.server.listen = f"127.0.0.1:{self.server.port}"  # agents find it again
        must(self.server.put("/v1/fabric", FABRIC), 201)
        for name in NODES:
            self.begin(name)

    def begin(self, name):
        token = os.path.join(self.folder, name + ".token")
        with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as f:
            f.write(self.server.node(name) + "\n")
        words = [os.path.join(self.server.args.objdir, "stellar-agent"), "--node", name, "--server",
                 f"http://127.0.0.1:{self.server.port}", "--state-dir", os.path.join(self.folder, name),
                 "--provider", "sim", "--sim-ports", str(PORTS), "--token-file", token]
        if name in FAULTS:
            words += ["--sim-fault", FAULTS[name]]
        os.makedirs(os.path.join(self.folder, name), mode=0o700)
        with open(os.path.join(self.folder, name + ".log"), "ab") as log:
            self.procs[name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def close(self, tap):
        for proc in self.procs.values():
            proc.send_signal(signal.SIGTERM)
        codes = {}
        for name, proc in self.procs.items():
            try:
                codes[name] = proc.wait(CALL_S)
            except subprocess.TimeoutExpired:
                proc.kill()
                codes[name] = proc.wait(CALL_S)
        wrong = {n: c for n, c in codes.items() if c != 0}
        if not tap.ok(not wrong, "every agent ends cleanly", wrong):
            for name in list(wrong)[:2]:
                with open(os.path.join(self.folder, name + ".log"), errors="replace") as log:
                    print("# " + log.read()[-3000:].replace("\n", "\n# "))
        shutil.rmtree(self.folder, ignore_errors=True)

    def get(self, path):
        return must(self.server.get(path), 200).json

    def until(self, what, good):
        end = time.monotonic() + WAIT_S
        while True:
            answer = what()
            if good(answer):
                return answer
            if time.monotonic() > end:
                raise AssertionError(f"not in {WAIT_S} s: {answer}")
            time.sleep(0.2)

    def upload(self, version):
        data = f"sim-firmware {version}\n".encode() + os.urandom(100000)
        query = (f"?component=dp_sim&version={version}&psid=SIM_0000000001"
                 f"&sha256={hashlib.sha256(data).hexdigest()}")
        return must(self.server.call("POST", "/v1/firmware/images" + query, data,
                                     {"Content-Type": "application/octet-stream"}), 201).json["id"]

    def create(self, image, nodes, **more):
        body = {"image": image, "nodes": nodes, "activate": "reload", "canary": 1, "percent": 50,
                "max_unavailable": 20, **more}
        name = must(self.server.call("POST", ALL, body), 201).json["id"]
        self.say(name, "start")
        return name

    def say(self, name, verb):
        must(self.server.call("POST", f"{ALL}/{name}:{verb}"), 200)

    def rests(self, name):
        """Until nothing more happens by itself."""
        return self.until(lambda: self.get(f"{ALL}/{name}"),
                          lambda c: c["state"] in ("done", "halted", "cancelled"))

    def devices(self, name):
        return self.get(f"{ALL}/{name}/devices?page_size=100")["items"]

    def running(self):
        """node -> versions, as reported"""
        found = {}
        for nic in self.get("/v1/inventory/nics?page_size=1000")["items"]:
            found.setdefault(nic["node"], []).append(nic.get("firmware"))
        return found


def a_failure_and_a_crash(tap, fleet):
    image = fleet.upload("2.2.0")
    name = fleet.create(image, NODES[:19])
    fleet.until(lambda: fleet.get(f"{ALL}/{name}"), lambda c: c["devices"]["success"] > 0)
    fleet.server.kill()
    fleet.server.start()
    halts = 0
    while fleet.rests(name)["state"] == "halted":
        halts += 1
        problem = fleet.get(f"{ALL}/{name}")["problem"]
        tap.ok(BROKEN in problem and "failed" in problem, "the failing device halts it", problem)
        fleet.say(name, "resume")
    last = fleet.get(f"{ALL}/{name}")
    tap.ok(1 <= halts <= PORTS, "once for each of its devices", halts)
    tap.equal((last["state"], last["devices"]["success"], last["devices"]["failed"]), ("done", 36, 2),
              "resumed, all others succeed, over a crash of the server")
    tap.equal({d["node"] for d in fleet.devices(name) if d["state"] == "failed"}, {BROKEN},
              "no other one failed")
    wanted = {n: ["2.2.0"] * PORTS for n in NODES[:19] if n != BROKEN}
    seen = fleet.until(fleet.running, lambda r: all(r.get(n) == v for n, v in wanted.items()))
    tap.equal((seen[BROKEN], seen[BUSY]), (["2.1.8"] * PORTS,) * 2, "what failed runs the old one")


def a_drain_that_is_cancelled(tap, fleet):
    name = fleet.create(fleet.upload("2.3.0"), [BUSY], drain_timeout="10m")
    fleet.until(lambda: fleet.devices(name)[0]["state"], lambda s: s == "draining")
    fleet.say(name, "cancel")
    tap.equal((fleet.rests(name)["state"], {d["state"] for d in fleet.devices(name)}),
              ("cancelled", {"cancelled"}), "before the point of no return it stops")
    tap.equal(fleet.running()[BUSY], ["2.1.8"] * PORTS, "nothing was written")


def a_success_over_all(tap, fleet):
    image = fleet.get("/v1/firmware/images")["items"]
    newest = [i["id"] for i in image if i["version"] == "2.3.0"][0]
    nodes = [n for n in NODES if n not in FAULTS]
    name = fleet.create(newest, nodes, percent=100)
    tap.equal(fleet.rests(name)["state"], "done", "a campaign over all goes to its end")
    tap.equal({d["state"] for d in fleet.devices(name)}, {"success"}, "every device succeeds")
    fleet.until(fleet.running, lambda r: all(r[n] == ["2.3.0"] * PORTS for n in nodes))
    tap.ok(fleet.get("/v1/audit:verify")["valid"], "the audit chain holds")


def main():
    args, tap = arguments(), Tap()
    fleet = Fleet(args)
    try:
        fleet.open()
        fleet.until(fleet.running, lambda r: len(r) == len(NODES))
        for step in (a_failure_and_a_crash, a_drain_that_is_cancelled, a_success_over_all):
            step(tap, fleet)
    except Exception:
        import traceback
        tap.ok(False, "it runs to its end", traceback.format_exc())
        print("# " + fleet.server.log_text()[-3000:].replace("\n", "\n# "))
    finally:
        fleet.close(tap)
        finish(tap, fleet.server)
    tap.done()


main()
