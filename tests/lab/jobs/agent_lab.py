"""What the jobs in Python share: TAP, a server of a few lines for one agent, the agent itself, and plans that
hold a knob of every kind that the test NIC shows. Runs inside a guest; uses none of the product's code."""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import urllib.parse

PORT = "solar_rdma.0/0"  # of solar0
DEBUG = "/sys/kernel/debug/solar_rdma"
DRIVER = "/sys/bus/platform/drivers/solar_rdma"
OTHER = "solar_rdma.2/0"  # of solar2
counts = {"n": 0, "bad": 0}


def ok(good, words, more=""):
    counts["n"] += 1
    counts["bad"] += not good
    print("ok" if good else "not ok", counts["n"], "-", words, flush=True)
    if more and not good:
        print("\n".join("# " + line for line in str(more).splitlines()), flush=True)
    return bool(good)


def note(*words):
    print("#", *words, flush=True)


def skip(words, reason):
    counts["n"] += 1
    print("ok", counts["n"], "-", words, "# SKIP", reason, flush=True)


def end():
    complaints = sh("dmesg | grep -E 'WARNING:|BUG:|Oops|Call Trace|RTNL: assertion|refcount|use-after-free'").stdout
    ok(not complaints, "the kernel has nothing to complain of", complaints)
    print(f"1..{counts['n']}", flush=True)
    sys.exit(counts["bad"] != 0)


def sh(command):
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True)


def read(path):
    with open(path) as f:
        return f.read().strip()


def poke(netdev, name, value):
    with open(f"{DEBUG}/{netdev}/{name}", "w") as f:
        f.write(str(value))


def bind(how, device="solar_rdma.0"):
    """how: "bind" or "unbind"."""
    with open(f"{DRIVER}/{how}", "w") as f:
        f.write(device)


def until(seconds, holds):
    """The seconds until it held; None: it never did."""
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > seconds:
            return None
        time.sleep(0.05)
    return time.monotonic() - begin


# Plans ------------------------------------------------------------------------------------------


def knob(kind, want, id="", subject=PORT):
    return dict(kind=kind, subject=subject, id=id, want=want)


def seal(knobs, generation):
    text = json.dumps({"knobs": [dict(k, flags=0) for k in knobs], "node": "n1"}, sort_keys=True, separators=(",", ":"))
    return dict(version=1, node="n1", generation=generation, digest="sha256:" + hashlib.sha256(text.encode()).hexdigest(),
                knobs=[dict({n: v for n, v in k.items() if v != "" or n != "id"}, enforcement="kernel") for k in knobs])


def tag(plan):
    """What an agent says that it knows."""
    return plan["digest"] + (f"!{plan['attempt']}" if "attempt" in plan else "")


def of_port(port, b=False):
    """A knob of every kind of a port that the test NIC has with a form of its own here; b: another value each."""
    ets = dict(bw_percent=[40, 30, 20, 10] + [0] * 4 if b else [10, 20, 30, 40] + [0] * 4, prio_tc=list(range(8)),
               tsa=["ets"] * 4 + ["strict"] * 4)
    tc = lambda rate, parent: dict(rate_bps=rate, ceil_bps=10**11, parent=parent)
    flower = dict(actions=[{"priority": 2 if b else 3}], cookie="53544c520000001a0011223344556677", hw="no",
                  match=dict(eth_type="ipv4", dscp=26))
    rate = (2 if b else 1) * 10**10
    return [knob("devlink.param", dict(runtime=900 if b else 1000), "dce_tcp_g", port),
            knob("link.mtu", 9000 if b else 4200, subject=port),
            knob("link.coalesce", dict(rx_usecs=16 if b else 12), subject=port),
            knob("link.arp", dict(arp_announce=1 if b else 2, arp_ignore=1), subject=port),
            knob("dcb.dcbx", dict(agent="none", mode=["host", "ieee"]), subject=port),
            knob("link.pause", dict(rx=False, tx=False), subject=port),  # PFC excludes the other values
            knob("dcb.app", [dict(dscp=18, priority=2)] * b + [dict(dscp=26, priority=3)], subject=port),
            knob("dcb.ets", ets, subject=port),
            knob("dcb.maxrate", [None] * 3 + [(60 if b else 50) * 10**9] + [None] * 4, subject=port),
            knob("dcb.pfc", dict(delay=0, priorities=[2, 3] if b else [3]), subject=port),
            knob("roce.tos", dict(mode="RoCE v2", tos=74 if b else 106), subject=port),
            knob("devlink.rate", dict(tx_max_bps=None, tx_share_bps=rate), "node/stellar", port),
            knob("tc.clsact", True, subject=port),
            knob("tc.qdisc", dict(default_class="5e11:ffff", handle="5e11:", kind="htb"), "root", port),
            knob("tc.class", tc(10**11, "5e11:"), "5e11:fffe", port),
            knob("tc.class", tc(rate, "5e11:fffe"), "5e11:1a", port),
            knob("tc.class", tc(10**10, "5e11:fffe"), "5e11:ffff", port),
            knob("tc.flower", flower, "egress/26", port)]


def of_host(b=False):
    return [knob("host.modparam", "64" if b else "128", "solar_rdma.max_sge", "host"),
            knob("host.sysctl", "2" if b else "1", "net.solar.flow_steering", "host"),
            knob("host.thp", "madvise" if b else "never", subject="host"),
            knob("host.file", dict(NCCL_IB_TC="104" if b else "106"), "nccl.env", "host")]


def shown(state, kinds, b=False):
    """Of kinds whose form is large: what the node shows now, with one thing changed in b."""
    knobs = []
    for is_now in state["knobs"]:
        value = is_now.get("live")
        if is_now["kind"] not in kinds or is_now["subject"] != PORT or value is None:
            continue
        if b and is_now["kind"] == "roce.cc":
            value = dict(value, parameters=dict(value["parameters"], cnp_dscp=40))
        if b and is_now["kind"] == "dcb.buffer":
            value = dict(value, prio_buffer=value["prio_buffer"][:7] + [1 - min(1, value["prio_buffer"][7])])
        knobs.append(knob(is_now["kind"], value, is_now.get("id", "")))
    return knobs


RANK = ["host.modparam", "host.sysctl", "host.thp", "host.file", "devlink.param", "link.mtu", "link.coalesce", "link.arp",
        "dcb.dcbx", "link.pause", "dcb.app", "dcb.ets", "dcb.maxrate", "dcb.buffer", "dcb.pfc", "roce.cc", "roce.tos", "devlink.rate", "tc.clsact", "tc.qdisc", "tc.class",
        "tc.red", "tc.flower", "solar.page"]


def ordered(knobs):
    """As plans are: by rank, subject and id; the class that the others stand on comes first."""
    return sorted(knobs, key=lambda k: (RANK.index(k["kind"]), k["subject"], k["id"] not in ("5e11:fffe", "node/stellar"), k["id"]))


# One agent and its server -----------------------------------------------------------------------


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *args):
        pass  # an agent that was killed takes no answer


class Site:
    def __init__(self, work, objdir, port=8080):
        self.work, self.port = work, port
        self.agent, self.dpctl = f"/host{objdir}/stellar-agent", f"/host{objdir}/tests/lab/dpctl"
        for program in (self.agent, self.dpctl):
            if not os.access(program, os.X_OK):
                print(f"1..0 # SKIP {program} is not built")
                sys.exit(77)
        os.makedirs(work, exist_ok=True)
        os.makedirs("/etc/modprobe.d", exist_ok=True)
        with open(work + "/token", "w", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write("token\n")
        self.changed = threading.Condition()
        self.plan, self.receipts, self.inventories, self.child = None, [], [], None
        server = Server(("127.0.0.1", port), self.handler())
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def handler(site):
        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, body=b""):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                url = urllib.parse.urlparse(self.path)
                known = urllib.parse.parse_qs(url.query).get("known", [""])[0]
                end = time.monotonic() + 10
                with site.changed:
                    while url.path != "/v1/agent/plan" or site.plan is None or tag(site.plan) == known:
                        if not site.changed.wait(max(0, end - time.monotonic())) and time.monotonic() >= end:
                            return self.answer(204)
                    body = json.dumps(site.plan).encode()
                self.answer(200, body)

            def do_PUT(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with site.changed:
                    if self.path.endswith("receipts"):
                        site.receipts.append(json.loads(body))
                    if self.path.endswith("inventory"):
                        site.inventories.append(json.loads(body))
                    site.changed.notify_all()
                self.answer(204)

            do_POST = do_PUT

            def log_message(self, *args):
                pass

        return Handler

    def state(self, devices):
        done = subprocess.run([self.dpctl, "--devices", devices, "observe"], capture_output=True, text=True)
        return json.loads(done.stdout)

    def give(self, plan):
        with self.changed:
            self.plan = plan
            self.changed.notify_all()

    def start(self, devices="solar0,solar1", prefix=(), options=()):
        with open(self.work + "/log", "a") as log:
            self.child = subprocess.Popen([*prefix, self.agent, "--node", "n1", "--devices", devices, "--state-dir",
                                           self.work + "/state", "--server", f"http://127.0.0.1:{self.port}", "--token-file",
                                           self.work + "/token", *options], stderr=log)
        return self.child

    def stop(self, signal=None):
        self.child.terminate() if signal is None else self.child.send_signal(signal)
        return self.child.wait(timeout=30)

    def wait(self, fits, seconds=60, since=0):
        """The first receipt from `since` on that fits; None: none came in time."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                for receipt in self.receipts[since:]:
                    if fits(receipt):
                        return receipt
                if not self.changed.wait(max(0, end - time.monotonic())) and time.monotonic() >= end:
                    return None

    def holds(self, plan, seconds=60, since=0):
        return self.wait(lambda r: r.get("observed") == plan["digest"], seconds, since)

    def log(self):
        return read(self.work + "/log")[-4000:]
