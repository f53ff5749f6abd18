#!/bin/sh
# Two guests on one wire: the self-test of a plan asks the RDMA device of the other guest, which has no agent; that
# one's own counter says whether the question came. Usage: check_peer_ping.sh SRCDIR OBJDIR.
set -u
jobs=$1/tests/lab/jobs
n=100 # behind those of the guest's own
. "$1/tests/lab/wire.sh"
wire_up "$1" "$2" ping 600
main=$("$lab" exec -d "$a" "cd '$jobs' && PYTHONDONTWRITEBYTECODE=1 exec python3 peer_ping.py '$2'")

came() { # packets that the peer's RDMA device has received
    "$lab" exec --timeout 30 "$b" 'cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts'
}
await() { # FILE: false after a minute and a half, or when the job has ended
    for _ in $(seq 450); do
        [ -e "$1" ] && return 0
        [ ! -s "$a/share/out/$main.rc" ] || return 1
        sleep 0.2
    done
    return 1
}
turn() { # NAME [COMMAND]: runs the command in the peer, then lets the job go on
    await "$a/share/$1.ready" || return 1
    [ -z "${2:-}" ] || "$lab" exec --timeout 60 "$b" "$2" || return 1
    : >"$a/share/$1.go"
    await "$a/share/$1.done"
}
before=$(came)
turn there
say $? 'the first plan was looked at'
after=$(came)
echo "# RoCE packets at the peer: $before, then $after"
[ "$after" -gt "$before" ]
say $? 'the question came over the wire to the RDMA device of the peer'
turn gone 'rdma link delete rxe0'
say $? 'the device of the peer is removed'
turn back 'rdma link add rxe0 type rxe netdev eth1'
say $? 'and made anew'
"$lab" wait --timeout 300 "$a" "$main"
say $? 'the guest with the agent found nothing wrong'
exit $bad
