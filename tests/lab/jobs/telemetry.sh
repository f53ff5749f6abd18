#!/bin/sh
# lab: timeout=300
# The counters that telemetry reads against independent readers: bytes of a queue pair that writes over the wire
# against what the NIC sent, its owner and its job, ports against ethtool and sysfs. Argument: the build folder.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

DPCTL=/host$1/tests/lab/dpctl
WORK=/tmp/telemetry
mkdir -p $WORK
[ -x "$DPCTL" ] || {
    echo "1..0 # SKIP $DPCTL is not built"
    exit 77
}

look() { "$DPCTL" counters >$WORK/look; }

# value KIND DEVICE NAME: of the first row that has it
value() { awk -v k="$1" -v d="$2" -v n="$3" '$1 == k && $2 == d && $6 == n { print $7; exit }' $WORK/look; }

near() { # A B: at most 1 % apart
    awk -v a="$1" -v b="$2" 'BEGIN { d = a > b ? a - b : b - a; exit !(a > 0 && d * 100 <= b) }'
}

for k in 0 1; do pair_up $k; done
for k in 0 1 2 3; do rxe_up $k; done
ok 'a look' look
is 'without queue pairs there is no row of one' "$(grep -c '^qp ' $WORK/look)" 0

# Jobs of labels 7 and 9 write over a wire each, messages of two sizes, of one packet: two emulated rxe fail longer ones
# that are sent again. All ends are stopped in the middle, so that all readers see the same.
job() { # LABEL K BYTES
    mkdir -p "/sys/fs/cgroup/stellar-job-$1"
    (
        echo 0 >"/sys/fs/cgroup/stellar-job-$1/cgroup.procs"
        pair_perftest "$2" ib_write_bw -n 200000 -s "$3"
    ) >"$WORK/job.$1" 2>&1 &
}
base0=$(counter solar0 tx_bytes)
base2=$(counter solar2 tx_bytes)
job 7 0 4096
writer=$!
job 9 1 1024
other=$!
for _ in $(seq 600); do
    look
    sent=$(value qp rxe0 tx_bytes)
    [ "${sent:-0}" -gt 10000000 ] && sent=$(value qp rxe2 tx_bytes) && [ "${sent:-0}" -gt 5000000 ] && break
    kill -0 $writer 2>/dev/null || break
    sleep 0.1
done
# shellcheck disable=SC2046
kill -STOP $(pidof ib_write_bw)
last=''
for _ in $(seq 100); do
    now=$(counter solar0 tx_bytes)-$(counter solar2 tx_bytes)
    [ "$now" = "$last" ] && break
    last=$now
    sleep 0.3
done
look
bytes() { # LABEL K BASE: of both ends against the wire
    sent=$(value qp "rxe$((2 * $2))" tx_bytes)
    received=$(value qp "rxe$((2 * $2 + 1))" rx_bytes)
    wire=$(($(counter "solar$((2 * $2))" tx_bytes) - $3))
    echo "# job $1: queue pair: $sent bytes, the NIC sent: $wire"
    [ -n "$sent" ] || sed 's/^/# /' "$WORK/job.$1"
    ok "job $1: the bytes of the queue pair are those that the NIC sent, within 1 %" near "${sent:-0}" "$wire"
    ok "job $1: and those that the other end received" near "${received:-0}" "$wire"
    is "job $1: it is one queue pair" "$(value qp "rxe$((2 * $2))" queue_pairs)" 1
    is "job $1: which is that of its control group" \
        "$(awk -v d="rxe$((2 * $2))" '$1 == "qp" && $2 == d { print $5; exit }' $WORK/look)" "$1"
}
bytes 7 0 "$base0"
bytes 9 1 "$base2"
qpn=$(rdma -j resource show qp | jq -r '.[]|select(.ifname=="rxe0" and .type=="RC")|.lqpn')
is 'its number is what rdma says' "$(awk '$1 == "qp" && $2 == "rxe0" { print $3; exit }' $WORK/look)" "$qpn"
pid=$(rdma -j resource show qp | jq -r '.[]|select(.ifname=="rxe0" and .type=="RC")|.pid')
is 'its owner too' "$(awk '$1 == "qp" && $2 == "rxe0" { print $4; exit }' $WORK/look)" "$pid"
# shellcheck disable=SC2046
kill -KILL $(pidof ib_write_bw)
wait $writer $other

port=$(basename "$(readlink /sys/class/net/solar0/device)")/$(cat /sys/class/net/solar0/dev_port)
# The kernel sends packets of its own at any time: the file is read before and after the look.
between() { # KIND DEVICE NAME FILE
    before=$(cat "$4")
    look
    after=$(cat "$4")
    got=$(value "$1" "$2" "$3")
    echo "# $3: $before, $got, $after"
    [ "${got:--1}" -ge "$before" ] && [ "$got" -le "$after" ]
}
ok 'bytes of a port as sysfs has them' \
    between port "$port" tx_bytes /sys/class/net/solar0/statistics/tx_bytes
poke solar0 counters/fcs 17
look
is 'FCS errors as they were set' "$(value port "$port" rx_fcs_errors)" 17
is 'priorities have rows' "$(awk -v p="$port" '$1 == "priority" && $2 == p { print $3 }' $WORK/look | sort -u | wc -l)" 8
ok 'counters of the RDMA device as sysfs has them' between rdma rxe0 duplicate_request \
    /sys/class/infiniband/rxe0/ports/1/hw_counters/duplicate_request
is 'the kernel does not complain' "$(kernel_complaints)" ''
tap_end
