#!/bin/sh
# lab: timeout=600
# Drift by event: a knob of every kind whose changes are announced is changed by hand, by a program that knows nothing of
# it, and the receipt comes by the event, with who it was where the kernel tells. The timed check is a minute
# away and takes no part, but for the kind that the kernel does not announce, which comes last. Then real packets with the mark that the self-test followed: they go the way that it
# told. Argument: the build folder.
# shellcheck disable=SC1091,SC2034
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

AGENT=/host$1/stellar-agent
DPCTL=/host$1/tests/lab/dpctl
WORK=/tmp/drift
mkdir -p $WORK /etc/modprobe.d
for program in "$AGENT" "$DPCTL"; do
    [ -x "$program" ] || {
        echo "1..0 # SKIP $program is not built"
        exit 77
    }
done
ip link set solar0 up
ip link set solar1 up
modprobe rdma_cm
modprobe rdma_rxe && rdma link add rxe0 type rxe netdev solar0
printf 'token\n' >$WORK/token
chmod 600 $WORK/token
"$DPCTL" --devices solar0 observe >$WORK/state

cat >$WORK/drift.py <<'END'
import hashlib, http.server, json, os, signal, subprocess, sys, threading, time
work, agent, pid = sys.argv[1], sys.argv[2], None
port, receipts, arrived = "solar_rdma.0/0", [], threading.Condition()
live = {k["kind"]: k.get("live") for k in json.load(open(work + "/state"))["knobs"] if k["subject"] in (port, "host")}

def knob(kind, want, id="", subject=port):
    return dict(kind=kind, subject=subject, id=id, want=want)

def shown(kind, subject=port):
    return [knob(kind, live[kind], subject=subject)] if live.get(kind) is not None else []

ets = dict(bw_percent=[10, 20, 30, 40] + [0] * 4, prio_tc=list(range(8)), tsa=["ets"] * 4 + ["strict"] * 4)
tc = lambda rate, parent: dict(rate_bps=rate, ceil_bps=10**11, parent=parent)
red = dict(ecn=True, limit_bytes=1 << 20, max_bytes=200000, min_bytes=50000, probability_permyriad=100)
flower = dict(actions=[{"priority": 3}], cookie="53544c520000001a0011223344556677", hw="no",
              match=dict(eth_type="ipv4", dscp=26))
knobs = ([knob("host.modparam", "128", "solar_rdma.max_sge", "host"),
          knob("host.sysctl", "1", "net.solar.flow_steering", "host")] + shown("host.thp", "host") +
         [knob("host.file", dict(NCCL_IB_TC="106"), "nccl.env", "host"),
          knob("devlink.param", dict(runtime=1000), "dce_tcp_g"), knob("link.mtu", 4200), knob("link.coalesce", dict(rx_usecs=3)),
          knob("link.arp", dict(arp_ignore=1)),
          *shown("dcb.dcbx"), knob("link.pause", dict(rx=False, tx=False)), knob("dcb.app", [dict(dscp=26, priority=3)]), knob("dcb.ets", ets),
          knob("dcb.maxrate", [None] * 3 + [50 * 10**9] + [None] * 4)] + shown("dcb.buffer") +
         [knob("dcb.pfc", dict(delay=0, priorities=[3]))] + shown("roce.cc") +
         [knob("roce.tos", dict(mode="RoCE v2", tos=106)),
          knob("devlink.rate", dict(tx_max_bps=None, tx_share_bps=10**10), "node/stellar"), knob("tc.clsact", True),
          knob("tc.qdisc", dict(default_class="5e11:ffff", handle="5e11:", kind="htb"), "root"),
          knob("tc.class", tc(10**11, "5e11:"), "5e11:fffe"), knob("tc.class", tc(10**10, "5e11:fffe"), "5e11:1a"),
          knob("tc.class", tc(10**10, "5e11:fffe"), "5e11:ffff"), knob("tc.red", red, "5e11:1a"), knob("tc.flower", flower, "egress/26"),
          knob("solar.page", dict(labels=[], line_bps=10**11))])
text = json.dumps({"knobs": [dict(k, flags=0) for k in knobs], "node": "n1"}, sort_keys=True, separators=(",", ":"))
digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
plan = dict(version=1, node="n1", generation=1, digest=digest,
            knobs=[dict({n: v for n, v in k.items() if v != "" or n != "id"}, enforcement="kernel") for k in knobs])

class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if "/agent/plan" not in self.path or "sha256" in self.path:
            time.sleep(5)
            return self.answer(204)
        self.answer(200, json.dumps(plan).encode())
    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("receipts"):
            with arrived:
                receipts.append((time.monotonic(), json.loads(body)))
                arrived.notify_all()
        self.answer(204)
    do_POST = do_PUT
    def log_message(self, *args):
        pass

def wait_for(count, seconds, fits):
    end = time.monotonic() + seconds
    with arrived:
        while True:
            for at, receipt in receipts[count:]:
                if fits(receipt):
                    return at, receipt
            if not arrived.wait(max(0, end - time.monotonic())) and time.monotonic() >= end:
                return None, None

server = http.server.ThreadingHTTPServer(("127.0.0.1", 8080), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
child = subprocess.Popen([agent, "--node", "n1", "--devices", "solar0,solar1", "--state-dir", work + "/state.d",
                          "--server", "http://127.0.0.1:8080", "--token-file", work + "/token"],
                         stderr=open(work + "/log", "w"))
n = bad = 0
def ok(good, words, more=""):
    global n, bad
    n, bad = n + 1, bad + (not good)
    print(("ok" if good else "not ok"), n, "-", words, flush=True)
    if more:
        print("#", more, flush=True)

at, first = wait_for(0, 60, lambda r: True)
ok(first and first["result"] in ("applied", "unchanged") and first.get("observed") == digest, "the plan is applied",
   json.dumps(first)[:1500] if not first or first.get("observed") != digest else "")

marking = next((p for p in (first or {}).get("probes", []) if p["name"] == "marking"), None)
ok(marking and marking["ok"] and "3 whole" in marking["detail"] and " 0 broken" in marking["detail"],
   "the self-test followed the marks of all three sources", json.dumps(marking))

cm = "/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos"
thp = "/sys/kernel/mm/transparent_hugepage/enabled"
other = "never" if live.get("host.thp") != "never" else "always"
hands = [  # kind, command, whether the kernel tells who asked
    ("host.modparam", "echo 'options solar_rdma max_sge=64' >/etc/modprobe.d/stellar.conf", False),
    ("host.sysctl", "echo 2 >/proc/sys/net/solar/flow_steering", False),
    ("host.thp", f"echo {other} >{thp}", False),
    ("host.file", "echo >>/etc/stellar/env/nccl.env", False),
    ("link.coalesce", "ethtool -C solar0 rx-usecs 77", False),
    ("link.arp", "echo 0 >/proc/sys/net/ipv4/conf/solar0/arp_ignore", False),
    ("link.pause", "ethtool -A solar0 rx on", False),
    ("devlink.param", "devlink dev param set platform/solar_rdma.0 name dce_tcp_g value 7 cmode runtime", False),
    ("devlink.rate", "devlink port function rate set platform/solar_rdma.0/stellar tx_share 5gbit", False),
    ("link.mtu", "ip link set solar0 mtu 1500", False),
    ("dcb.app", "dcb app add dev solar0 dscp-prio 10:1", False),
    ("dcb.ets", "dcb ets set dev solar0 tc-bw 0:40 1:30 2:20 3:10", False),
    ("dcb.maxrate", "dcb maxrate set dev solar0 tc-maxrate 1:5gbit", False),
    ("dcb.buffer", "dcb buffer set dev solar0 prio-buffer 3:1", False),
    ("dcb.pfc", "dcb pfc set dev solar0 prio-pfc 1:on", False),
    ("roce.cc", "f=/sys/class/net/solar0/ecn/roce_np/cnp_dscp; echo 11 >$f", False),
    ("roce.tos", f"echo 32 >{cm}", False),
    ("tc.flower", "tc filter del dev solar0 egress pref 100 handle 26 flower", True),
    ("tc.clsact", "tc qdisc del dev solar0 clsact", True),
    ("tc.red", "tc qdisc del dev solar0 parent 5e11:1a", True),
    ("tc.class", "tc class change dev solar0 parent 5e11:fffe classid 5e11:1a htb rate 5gbit ceil 100gbit", True),
    ("tc.qdisc", "tc qdisc del dev solar0 root", True),
    ("solar.page", "rm /run/stellar/solar/solar_rdma.0-0.page", False),
]
def begin_anew():
    """No pause for a fight; its pass is over, so that no look but the event's finds what comes."""
    before = len(receipts)
    child.send_signal(signal.SIGHUP)
    wait_for(before, 20, lambda r: r["result"] in ("unchanged", "applied"))
    time.sleep(0.5)

ways = {}
managed = {k["kind"] for k in knobs}
for kind, command, told in hands:
    if kind not in managed:
        ok(True, f"{kind} # SKIP the test NIC shows none")
        continue
    begin_anew()
    before = len(receipts)
    by_hand = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    done = time.monotonic()
    at, receipt = wait_for(before, 10, lambda r: any(s["text"].startswith("drift " + kind) for s in r["steps"]))
    if receipt is None:
        ok(False, f"{kind}: its change is an event", f"{by_hand} {receipts[before:]}"[:1500])
        continue
    step = next(s for s in receipt["steps"] if s["text"].startswith("drift " + kind))
    ms, found = (at - done) * 1000, receipt.get("found", {})
    ways[kind] = f"{found.get('by', 'unknown')} {found.get('ms', '-')} {ms:.0f}"
    ok(receipt["result"] == "drift" and found.get("by") == "event", f"{kind}: drift is found by its event",
       f"{kind} seen {found.get('ms')} ms after its event, repaired and told {ms:.0f} ms after the command ended, "
       f"result {receipt['result']}")
    ok(("process" in step["writer"] or "netlink port" in step["writer"]) if told else step["writer"] == "unknown",
       f"{kind}: the writer is " + ("told" if told else "unknown"), step["writer"])
    ok(receipt.get("observed") == digest, f"{kind}: and it is repaired", receipt.get("problem", ""))

# Firmware sets another mode, of which nobody tells: the check of each minute finds it.
if "dcb.dcbx" in managed:
    before = len(receipts)
    mode = "/sys/kernel/debug/solar_rdma/solar0/dcbx_mode"
    was = open(mode).read().strip()
    with open(mode, "w") as f:
        f.write("1\n" if was != "1" else "2\n")
    start = time.monotonic()
    at, receipt = wait_for(before, 90, lambda r: any(s["text"].startswith("drift dcb.dcbx") for s in r["steps"]))
    ok(receipt and receipt["result"] == "drift" and "found" in receipt, "dcb.dcbx: drift is found by a check", f"{receipts[before:]}"[:900])
    ways["dcb.dcbx"] = f"{receipt['found']['by']} - {(at - start) * 1000:.0f}" if receipt else "not found"
ok(set(ways) == managed, "each kind of knob was changed by hand", str(set(ways) ^ managed))
for kind, way in ways.items():
    print(f"# way of {kind}: by {way} ms (until seen after the event; until told after the command)")

# A program that still runs when the event comes is named.
begin_anew()
before = len(receipts)
tool = subprocess.Popen(["tc", "-batch", "-"], stdin=subprocess.PIPE, text=True)
tool.stdin.write("filter del dev solar0 egress pref 100 handle 26 flower\n")
tool.stdin.flush()
at, receipt = wait_for(before, 10, lambda r: r["result"] == "drift")
writer = receipt["steps"][0]["writer"] if receipt else None
ok(writer == f"tc (process {tool.pid})", "a program that still runs is named", str(writer))
tool.stdin.close()
tool.wait()
child.terminate()
child.wait()
print(n, file=open(work + "/count", "w"))
sys.exit(bad != 0)
END
python3 $WORK/drift.py $WORK "$AGENT"
rc=$?
[ $rc -eq 0 ] || sed 's/^/# agent: /' $WORK/log
read -r TAP_N <$WORK/count
TAP_BAD=$rc

# ---- DSCP 26 -> priority 3, as the plan says that stays on the node; DSCP 10 has no entry.
pair_up 0
rxe_up 1
sleep 1
sent() { # PRIORITY BEFORE: packets since
    echo $(($(counter solar0 "tx_prio$1_packets") - $2))
}
for way in 104:3:0 40:0:3; do # tclass:priority that moves:priority that does not
    mark=${way%%:*}
    moves=$(echo "$way" | cut -d: -f2)
    rests=${way##*:}
    was_moving=$(counter solar0 "tx_prio${moves}_packets")
    was_resting=$(counter solar0 "tx_prio${rests}_packets")
    ok "RoCE traffic of class $mark passes" pair_perftest 0 ib_send_lat -n 200 "--tclass=$mark"
    ok "its packets are counted at priority $moves" [ "$(sent "$moves" "$was_moving")" -ge 400 ]
    ok "and not at priority $rests" [ "$(sent "$rests" "$was_resting")" -lt 50 ]
done
is "the kernel has nothing to complain of" "$(kernel_complaints)" ""
tap_end
