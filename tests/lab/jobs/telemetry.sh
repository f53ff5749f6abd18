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

pair_up 0
rxe_up 0
rxe_up 1
ok 'a look' look
is 'without queue pairs there is no row of one' "$(grep -c '^qp ' $WORK/look)" 0

# A job of label 7 writes; both ends are stopped in the middle, so that all readers see the same.
mkdir -p /sys/fs/cgroup/stellar-job-7
base=$(counter solar0 tx_bytes)
(
    echo 0 >/sys/fs/cgroup/stellar-job-7/cgroup.procs
    pair_perftest 0 ib_write_bw -n 20000 -s 65536
) >/dev/null 2>&1 &
writer=$!
for _ in $(seq 300); do
    look
    sent=$(value qp rxe0 tx_bytes)
    [ "${sent:-0}" -gt 20000000 ] && break
    kill -0 $writer 2>/dev/null || break
    sleep 0.1
done
# shellcheck disable=SC2046
kill -STOP $(pidof ib_write_bw)
last=''
for _ in $(seq 100); do
    now=$(counter solar0 tx_bytes)
    [ "$now" = "$last" ] && break
    last=$now
    sleep 0.3
done
look
sent=$(value qp rxe0 tx_bytes)
wire=$(($(counter solar0 tx_bytes) - base))
echo "# queue pair: $sent bytes, the NIC sent: $wire"
ok 'the bytes of the queue pair are those that the NIC sent, within 1 %' near "${sent:-0}" "$wire"
received=$(value qp rxe1 rx_bytes)
ok 'and those that the other end received' near "${received:-0}" "$wire"
is 'it is one queue pair' "$(value qp rxe0 queue_pairs)" 1
qpn=$(rdma -j resource show qp | jq -r '.[]|select(.ifname=="rxe0" and .type=="RC")|.lqpn')
is 'its number is what rdma says' "$(awk '$1 == "qp" && $2 == "rxe0" { print $3; exit }' $WORK/look)" "$qpn"
pid=$(rdma -j resource show qp | jq -r '.[]|select(.ifname=="rxe0" and .type=="RC")|.pid')
is 'its owner too' "$(awk '$1 == "qp" && $2 == "rxe0" { print $4; exit }' $WORK/look)" "$pid"
is 'and its job is that of the control group' "$(awk '$1 == "qp" && $2 == "rxe0" { print $5; exit }' $WORK/look)" 7
# shellcheck disable=SC2046
kill -KILL $(pidof ib_write_bw)
wait $writer

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
