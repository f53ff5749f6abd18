#!/bin/sh
# lab: timeout=420
# stellar-agent against a real kernel and the test NIC, with a server of a few lines: plans,
# the agent is killed at several moments of the next one, drift by a shell command, the server away.
# Argument: the build folder.
# shellcheck disable=SC1091
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

AGENT=/host$1/stellar-agent
WORK=/tmp/agent
mkdir -p $WORK
[ -x "$AGENT" ] || {
    echo "1..0 # SKIP $AGENT is not built"
    exit 77
}

# server.py: answers $WORK/plan when the agent knows another one; receipts go to $WORK/receipts.
cat >$WORK/server.py <<'END'
import hashlib, http.server, json, sys, time, urllib.parse
work = sys.argv[1]

def seal(name, generation, knobs):
    want = [dict(k, flags=0, id="") for k in knobs]
    text = json.dumps({"knobs": want, "node": "n1"}, sort_keys=True, separators=(",", ":"))
    plan = dict(version=1, node="n1", generation=generation,
                knobs=[dict(k, enforcement="nic") for k in knobs],
                digest="sha256:" + hashlib.sha256(text.encode()).hexdigest())
    with open(f"{work}/{name}", "w") as f:
        json.dump(plan, f)

def knobs(mtu, dscp, bw, rate, pfc):
    ets = dict(bw_percent=bw + [0] * 4, prio_tc=list(range(8)), tsa=["ets"] * 4 + ["strict"] * 4)
    port = "solar_rdma.0/0"
    return [dict(kind="link.mtu", subject=port, want=mtu),
            dict(kind="dcb.app", subject=port, want=[dict(dscp=d, priority=p) for d, p in dscp]),
            dict(kind="dcb.ets", subject=port, want=ets),
            dict(kind="dcb.maxrate", subject=port, want=[None] * 3 + [rate] + [None] * 4),
            dict(kind="dcb.pfc", subject=port, want=dict(delay=0, priorities=pfc))]

seal("a", 1, knobs(4200, [(26, 3)], [10, 20, 30, 40], 50000000000, [3]))
seal("b", 2, knobs(9000, [(18, 2), (26, 3)], [40, 30, 20, 10], 60000000000, [2, 3]))
if len(sys.argv) < 3:
    sys.exit(0)

class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        known = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query).get("known", [""])[0]
        for _ in range(50):
            with open(f"{work}/plan") as f:
                plan = f.read()
            if "/agent/plan" in self.path and json.loads(plan)["digest"] != known:
                return self.answer(200, plan.encode())
            time.sleep(0.1)
        self.answer(204)
    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("receipts"):
            with open(f"{work}/receipts", "a") as f:
                f.write(body.decode() + "\n")
        self.answer(204)
    do_POST = do_PUT
    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
END

picture() {
    dcbread solar0 | jq -cS '[.app,.ets,.maxrate_bps,.pfc.enabled]'
    cat /sys/class/net/solar0/mtu
}
agent() { "$AGENT" --node n1 --devices solar0,solar1 --state-dir $WORK/state "$@"; }
within() { # TENTHS COMMAND...: comes true
    tries=$1
    shift
    while [ "$tries" -gt 0 ]; do
        "$@" && return 0
        tries=$((tries - 1))
        sleep 0.1
    done
    return 1
}
last_result() { # GENERATION RESULT, as one word
    [ "$(tail -n 1 $WORK/receipts 2>/dev/null | jq -r '"\(.generation) \(.result)"')" = "$1" ]
}
shows() { [ "$(picture)" = "$1" ]; }
no_journal() { [ ! -e $WORK/state/journal.json ]; }
server_up() {
    python3 $WORK/server.py $WORK 8080 &
    SERVER=$!
    listening 8080
}
agent_up() { # not through agent(): the shell would stand between us and its process
    "$AGENT" --node n1 --devices solar0,solar1 --state-dir $WORK/state \
        --server http://127.0.0.1:8080 --token-file $WORK/token 2>>$WORK/log &
    PID=$!
}

for dev in solar0 solar1; do
    ip link set $dev up
done
python3 $WORK/server.py $WORK
printf 'token\n' >$WORK/token
chmod 600 $WORK/token
cp $WORK/a $WORK/plan
ok 'without a plan --once has nothing to do' agent --once
server_up
agent_up
ok 'plan a is applied and receipted' within 100 last_result '1 applied'
is 'its digest was observed' "$(tail -n 1 $WORK/receipts | jq '.digest == .observed')" true
a=$(picture)

ip link set solar0 mtu 1500
ok 'a manual change is repaired by its event' within 50 shows "$a"
ok 'and receipted as drift' within 50 last_result '1 drift'

poke solar0 op_delay_ms 300
killed=0
for moment in 0.1 0.4 0.7 1.0 1.3; do
    cp $WORK/b $WORK/plan
    within 50 test -e $WORK/state/journal.json
    sleep $moment
    kill -9 $PID
    wait $PID 2>/dev/null
    cp $WORK/a $WORK/plan
    no_journal || killed=$((killed + 1))
    ok "killed after $moment s: --once takes it back without a server" agent --once
    if [ "$(jq .generation $WORK/state/plan.json)" = 1 ]; then
        is 'the node is as before' "$(picture)" "$a"
    fi
    ok 'no journal is left' no_journal
    : >$WORK/receipts # what is waited for is this agent's receipt
    agent_up
    within 100 last_result '1 unchanged' || within 50 last_result '1 applied'
    kill -HUP $PID # an operator's order: or five kills in a row would be plan b's last try
done
poke solar0 op_delay_ms 0
ok 'some of them were in the middle' [ $killed -ge 2 ]

poke solar0 fail_pfc_set 1
cp $WORK/b $WORK/plan
ok 'a refused set rolls plan b back' within 100 last_result '2 rolled-back'
is 'the node is as before' "$(picture)" "$a"
kill -HUP $PID
ok 'on SIGHUP plan b is applied' within 100 last_result '2 applied'
b=$(picture)

kill $SERVER
wait $SERVER 2>/dev/null
ip link set solar0 mtu 1500
ok 'without the server drift is repaired' within 50 shows "$b"
server_up
ok 'and told when it is back' within 350 last_result '2 drift'
kill $PID
wait $PID
is 'SIGTERM ends it well' $? 0
is 'and undoes nothing' "$(picture)" "$b"
is 'the token is in no log line' "$(grep -c token $WORK/log)" 0
kill $SERVER
is 'the kernel did not complain' "$(kernel_complaints)" ''
[ "$TAP_BAD" -eq 0 ] || tail -n 40 $WORK/log | sed 's/^/# /'
tap_end
