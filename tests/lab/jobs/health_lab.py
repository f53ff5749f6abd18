"""What the jobs about health share: a real stellard and a real agent in the guest, files of a host that the guest has
not (PCIe, interrupts, a hot sensor, GPUs), and faults that must be found and nothing else. Runs inside a guest."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import agent_lab as lab
from agent_lab import ok, sh

HERE = os.path.dirname(os.path.abspath(__file__))
PORTS = [f"solar_rdma.{i}/0" for i in range(6)]
CARD = "0000:65:00.0"  # an accelerator of files alone: interrupts and a temperature
BATCH_S = 2
KNOWN_S = 90  # the agent tells a change of the inventory at once, others each minute; the server looks each five seconds
WORK = "/tmp/health"
FABRIC = {"fabric_profile": {
    "trust": "dscp",
    "priorities": [{"priority": 0, "dscps": [0], "traffic_class": 0, "ets_weight": 50},
                   {"priority": 3, "dscps": [26], "traffic_class": 3, "ets_weight": 50, "lossless": True},
                   {"priority": 6, "dscps": [48], "traffic_class": 6, "strict": True, "limit": "5%"}],
    "cnp": {"dscp": 48, "priority": 6},
    "ecn": {"kmin_bytes": 100000, "kmax_bytes": 400000, "pmax": "10%"}}}
POLICY = {"qos_policy": {"nlp_job": {"priority": 3, "bw_guarantee": "40%"}, "cv_job": {"priority": 3}}}


def shell(command):
    """With the functions of lib.sh."""
    return subprocess.run(["sh", "-c", f". {HERE}/lib.sh; {command}"], capture_output=True, text=True)


def need(command):
    done = shell(command)
    if done.returncode != 0:
        ok(False, command, done.stdout + done.stderr)
        lab.end()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


class Growth:
    """Counters that grow ten times a second, until they are stopped."""

    def __init__(self, step):
        self.step, self.over = step, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.over.wait(0.1):
            self.step()

    def stop(self):
        self.over.set()
        self.thread.join()


def grow(netdev, **counters):
    def step():
        for name, by in counters.items():
            path = f"counters/{name}"
            lab.poke(netdev, path, int(lab.read(f"{lab.DEBUG}/{netdev}/{path}")) + by)
    return step


def add(netdev, **counters):
    grow(netdev, **counters)()


class Interrupts:
    """/proc/interrupts with four vectors of CARD: 5000 interrupts a second, spread or on one CPU."""

    def __init__(self):
        self.counts, self.is_spread = [[1000, 1000] for _ in range(4)], True
        self.path = WORK + "/interrupts"
        self.tell()
        need(f"mount --bind {self.path} /proc/interrupts")
        self.growth = Growth(self.step)

    def step(self):
        for vector, counts in enumerate(self.counts):
            counts[vector % 2 if self.is_spread else 0] += 125
        self.tell()

    def tell(self):
        """In one write of one length: who reads meanwhile sees lines, if of two moments."""
        lines = ["            CPU0       CPU1"]
        lines += [f" {40 + v}:  {c[0]:9d}  {c[1]:9d}  PCI-MSI card-{v}" for v, c in enumerate(self.counts)]
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(fd, ("\n".join(lines) + "\n").encode())
        os.close(fd)


def host_files():
    """The ports' own PCIe files at the place of PCI devices; an accelerator; a sensor on it."""
    devices = WORK + "/devices"
    for i in range(6):
        os.makedirs(devices, exist_ok=True)
        os.symlink(f"/sys/devices/platform/solar_rdma.{i}", f"{devices}/solar_rdma.{i}")
    card = {"class": "0x030200", "vendor": "0x10de", "device": "0x20b2", "current_link_speed": "16.0 GT/s PCIe",
            "max_link_speed": "16.0 GT/s PCIe", "current_link_width": "16", "max_link_width": "16"}
    for name, text in card.items():
        write(f"{devices}/{CARD}/{name}", text + "\n")
    for vector in range(40, 44):
        write(f"{devices}/{CARD}/msi_irqs/{vector}", "msix\n")
    need(f"mount --bind {devices} /sys/bus/pci/devices")
    write(WORK + "/hwmon/hwmon0/temp1_input", "41000\n")
    write(WORK + "/hwmon/hwmon0/temp1_crit", "95000\n")
    os.symlink(f"/sys/bus/pci/devices/{CARD}", WORK + "/hwmon/hwmon0/device")
    need("modprobe hwmon; [ -d /sys/class/hwmon ] && mount --bind " + WORK + "/hwmon /sys/class/hwmon")
    return Interrupts()


def gpu_library(objdir):
    """A stand-in for NVML that answers as the file `mode` says; False: it was not built."""
    stub = f"/host{objdir}/tests/unit/datapath/nvml_stub.so"
    write(WORK + "/mode", "well\n")
    if not os.path.exists(stub):
        return False
    os.makedirs(WORK + "/lib", exist_ok=True)
    os.symlink(stub, WORK + "/lib/libnvidia-ml.so.1")
    return True


class Site:
    """One server, one node with six ports of test NICs, soft-RoCE on each."""

    def __init__(self, objdir):
        self.objdir, self.child, self.later = objdir, None, set()
        for program in ("stellard", "stellar-agent"):
            if not os.access(f"/host{objdir}/{program}", os.X_OK):
                print(f"1..0 # SKIP {program} is not built")
                sys.exit(77)
        os.makedirs(WORK, exist_ok=True)
        need("pair_up 0; pair_up 1; pair_up 2; for k in 0 1 2 3 4 5; do rxe_up $k || exit 1; done")
        need("echo never >/sys/kernel/mm/transparent_hugepage/enabled")
        self.serve()

    def serve(self):
        log = open(WORK + "/stellard.log", "w")
        self.server = subprocess.Popen([f"/host{self.objdir}/stellard", "--data", WORK + "/data", "--listen", "127.0.0.1:8440"],
                                       stdout=log, stderr=log)
        if lab.until(120, lambda: os.path.exists(WORK + "/data/url")) is None:
            ok(False, "the server starts", lab.read(WORK + "/stellard.log"))
            lab.end()
        self.token = lab.read(WORK + "/data/admin.token")

    def call(self, method, path, body=None, **headers):
        request = urllib.request.Request("http://127.0.0.1:8440" + path, method=method,
                                         data=None if body is None else json.dumps(body).encode())
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as e:
            ok(False, f"{method} {path} is answered", f"{e.code} {e.read()}")
            lab.end()

    def set_up(self, options=(), env=None):
        self.call("PUT", "/v1/fabric", FABRIC, If_None_Match="*")
        self.call("PUT", "/v1/tenants/a", {}, If_None_Match="*")
        self.call("PUT", "/v1/nodes/n1", {}, If_None_Match="*")
        self.call("PUT", "/v1/tenants/a/policy", POLICY, If_None_Match="*")
        self.labels = {}
        for job, net in (("nlp_job", "10.9.0.0/24"), ("cv_job", "10.9.1.0/24")):
            made = self.call("PUT", f"/v1/tenants/a/placements/{job}", {"nodes": ["n1"], "match": {"dst": net}},
                             If_None_Match="*")
            self.labels[job] = made["label"]
        write(WORK + "/token", self.call("POST", "/v1/nodes/n1/token", {})["token"])
        os.chmod(WORK + "/token", 0o600)
        log = open(WORK + "/agent.log", "w")
        self.child = subprocess.Popen(
            [f"/host{self.objdir}/stellar-agent", "--node", "n1", "--state-dir", WORK + "/state", "--server",
             "http://127.0.0.1:8440", "--token-file", WORK + "/token", "--devices", "solar0,solar1,solar2,solar3,solar4,solar5",
             "--telemetry-interval", "1s", "--telemetry-batch", f"{BATCH_S}s", *options],
            stderr=log, env=dict(os.environ, **(env or {})))

    def hear(self):
        """Each port hears from its neighbour that it is the switch leaf1: they are one rail."""
        for name in ("solar0", "solar1", "solar2", "solar3", "solar4", "solar5"):
            need(f"{HERE}/lldp_send.py {name} leaf1 3600")

    def end(self):
        for child in (self.child, self.server):
            child.send_signal(signal.SIGCONT)
            child.terminate()
            ok(child.wait(timeout=60) == 0, f"{os.path.basename(child.args[0])} ends well",
               lab.read(f"{WORK}/{'agent' if child is self.child else 'stellard'}.log")[-3000:])
        lab.end()

    # Findings ---------------------------------------------------------------------------------

    def health(self):
        return self.call("GET", "/v1/nodes/n1/health")

    def raised(self):
        """{(rule, subject below the node)}"""
        return {(f["rule"], f["subject"].removeprefix("node/n1").lstrip("/")) for f in self.health()["findings"]}

    def newest(self):
        """When the newest sample is of that the server has."""
        items = self.call("GET", f"/v1/telemetry/latest?node=n1&kind=port&device={PORTS[0]}&metric=tx_bytes")["items"]
        return items[0]["time"] if items else ""

    def batches(self, count):
        """Waits for so many batches of which a sample is newer than now; what is raised then. They may come late."""
        last, seen = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 1)), 0
        end = time.monotonic() + 60 + 10 * count
        while seen < count and time.monotonic() < end:
            time.sleep(0.2)
            now = self.newest()
            seen += now > last
            last = max(now, last)
        return self.raised() if seen == count else {("no batch came", "")}

    def finds(self, words, wants, make, looks=1, grows=None, known=False):
        """make(), or grows() ten times a second, raises `wants` ({(rule, subject)}) with the first batch that is all of
        after it (with the `looks`-th, for what must last), and nothing else; of what the server knows (`known`) as soon
        as it looks."""
        before = self.raised()
        growth = Growth(grows) if grows else None
        if make:
            make()
        if known:
            lab.until(KNOWN_S, lambda: wants <= self.raised() - before)
            now = self.raised()
        else:  # the batch under way may be of before
            now = self.batches(looks + 1)
        good = ok(wants <= now - before, words, f"{sorted(now - before)}, wanted {sorted(wants)}")
        extra = {one for one in self.batches(1) - before - wants if one not in self.later}
        ok(not extra, "and nothing else", sorted(extra))
        if growth:
            growth.stop()
        return good

    # Runbooks ---------------------------------------------------------------------------------

    def run(self, book, window="1m"):
        return self.call("POST", f"/v1/runbooks/{book}:run", {"nodes": ["n1"], "window": window})["runs"][0]

    def leads(self, book, step, *proofs):
        """The runbook has `step` among its likely causes, first of all when nothing older is there, with these rules or
        numbers as evidence."""
        run = self.run(book)
        seen = {s["step"]: s for s in run["steps"]}[step]
        names = {e["name"] for e in seen["evidence"]}
        ok(seen["verdict"] == "fault" and set(proofs) <= names and step in [i["step"] for i in run["likely"]],
           f"{book} leads to {step}", json.dumps(seen))
