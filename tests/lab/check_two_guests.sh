#!/bin/sh
# Two guests on one wire: connections of rdma_cm carry the DSCP of the plan's roce.tos, counted by the peer.
# Usage: check_two_guests.sh SRCDIR OBJDIR.
set -u
jobs=$1/tests/lab/jobs
n=100 # behind those of the guest's own
. "$1/tests/lab/wire.sh"
wire_up "$1" "$2" two 600
main=$("$lab" exec -d "$a" "cd '$jobs' && PYTHONDONTWRITEBYTECODE=1 exec python3 two_guests.py '$2'")
"$lab" wait --timeout 450 "$a" "$main" &
waiter=$!

await() { # FILE PATTERN: a line of it; false after a minute and a half, or when the job has ended
    for _ in $(seq 450); do
        grep -qs "$2" "$1" && return 0
        [ ! -s "$a/share/out/$main.rc" ] || return 1
        sleep 0.2
    done
    return 1
}
peer() { # NAME DSCP*4 TEXT [OPTIONS]: what the peer saw during one run of the other guest
    name=$1
    want=$2
    text=$3
    shift 3
    for try in $name.1 $name.2 $name.3; do # an emulated rxe now and then fails a connection after its first messages
        await "$a/share/$try.ready" ready || return 1
        id=$("$lab" exec -d "$b" "exec python3 '$jobs/two_guests_peer.py' -n 100 $*")
        await "$b/share/out/$id.out" listening || return 1
        sleep 2 # rdma_cm's listening cannot be seen
        : >"$a/share/$try.go"
        "$lab" wait --timeout 150 "$b" "$id" >/dev/null 2>&1
        : >"$a/share/$try.over"
        counts=$(tail -n 1 "$b/share/out/$id.out")
        echo "# $try: packets by DSCP * 4: $counts"
        await "$a/share/$try.end" . || return 1
        grep -qs failed "$a/share/$try.end" && echo "$counts" | jq -e --arg want "$want" 'keys - [$want] == []' >/dev/null ||
            break
    done
    echo "$counts" | jq -e --arg want "$want" 'keys == [$want] and .[$want] >= 100' >/dev/null
    say $? "$text"
}
peer before 0 'without a plan the peer sees DSCP 0' -R
peer 106 104 'with a type of service of 106 the peer sees DSCP 26 and no other' -R
peer 74 72 'with 74 the next connection has DSCP 18' -R
wait "$waiter"
say $? 'the guest with the agent found nothing wrong'
[ $n -eq 104 ] || { echo "not ok 105 - all parts were run" && bad=1; }
exit $bad
