#!/bin/sh
# Two guests on one wire measure between their rxe devices as agents do (agent/verify_run.h): latency, reads, writes, mesh
# and all-reduce; packets are counted by the devices themselves. Usage: check_verify.sh SRCDIR OBJDIR.
set -u
ctl=$2/tests/lab/verifyctl
service=18600
n=0
. "$1/tests/lab/wire.sh"
wire_up "$1" "$2" verify 900

task() { # KIND PLACE BYTES ITERATIONS [DEVICE]
    printf '{"version":1,"verification":"v1-1","kind":"%s","members":[{"node":"n1","address":"10.8.0.1"},' "$1"
    printf '{"node":"n2","address":"10.8.0.2"}],"place":%s,"device":"%s","service":%s,' "$2" "${5:-rxe0}" "$service"
    printf '"secret":"%s",' "${secret:-00112233445566778899aabbccddeeff}"
    printf '"bytes":%s,"iterations":%s,"deadline_s":90,"force":false,"cancelled":false}' "$3" "$4"
}
part() { # GUEST CLASS TASK: prints the report
    "$lab" exec --timeout 150 "$1" "echo '$3' | '$ctl' $2"
}
came() { # packets that the device of b has received
    "$lab" exec --timeout 30 "$b" 'cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts'
}
has() { # FILE EXPRESSION TEXT
    [ -s "$1" ] && jq -e "$2" "$1" >/dev/null # jq is content with a file that says nothing
    say $? "$3"
}
both() { # KIND BYTES ITERATIONS [SECONDS THAT WHO ASKS BEGINS EARLIER]: reports in $sock/0 and $sock/1
    service=$((service + 1))
    before=$(came)
    part "$a" software "$(task "$1" 0 "$2" "$3")" >"$sock/0" &
    sleep "${4:-0}"
    part "$b" software "$(task "$1" 1 "$2" "$3")" >"$sock/1"
    wait $!
    after=$(came)
    echo "# $1: $(cat "$sock/0")"
    echo "# $1: $(cat "$sock/1")"
    has "$sock/0" '.outcome == "done"' "$1: who asks comes to the end"
    has "$sock/1" '.outcome == "done"' "$1: who answers, too"
    has "$sock/0" '.verdict == "not-applicable" and .why == "software device, threshold not applicable"' \
        "$1: a software device is not graded"
}

both send_lat 8 100
has "$sock/0" '.figures | .latency_min_ns > 0 and .latency_min_ns <= .latency_p50_ns and .latency_p50_ns <= .latency_p99_ns' \
    'send_lat: the latencies are in order'
has "$sock/1" '.figures == {}' 'send_lat: who answers measures nothing'
[ $((after - before)) -ge 100 ]
say $? "send_lat: each message came over the wire ($((after - before)) packets)"
both write_bw 65536 50
has "$sock/0" '.figures.rate_bps > 0' 'write_bw: a rate is known'
[ $((after - before)) -ge 800 ] # of 4096 bytes at most
say $? "write_bw: what was written came over the wire ($((after - before)) packets)"
both read_bw 65536 50
has "$sock/0" '.figures.rate_bps > 0' 'read_bw: a rate is known'
both send_lat 8 5 4 # the first attempts find nobody: what is left of them is not of the connection that is made
both allreduce 65536 5
has "$sock/0" '.figures | .iteration_ns > 0 and .spread_permyriad >= 0' 'allreduce: the iterations have a time and a spread'
has "$sock/1" '.figures.iteration_ns > 0' 'allreduce: at both ends'

# A stranger that knows the port and not the secret is turned away, and the test goes on to its end.
service=$((service + 1))
part "$b" software "$(task send_lat 1 8 5 | sed 's/"deadline_s":90/"deadline_s":10/')" >"$sock/1" &
part "$a" software "$(secret=ffffffffffffffffffffffffffffffff task send_lat 0 8 5 | sed 's/"deadline_s":90/"deadline_s":8/')" >"$sock/0"
wait $!
echo "# stranger: $(cat "$sock/0")"
echo "# stranger: $(cat "$sock/1")"
has "$sock/0" '.outcome == "failed" and .figures == {}' 'another secret gets no connection'
has "$sock/1" '.outcome == "failed" and (.problem | contains("time of the test"))' 'who listens waited for the right one until its time was over'

part "$a" software "$(task mesh 0 1 1)" >"$sock/0"
echo "# mesh: $(cat "$sock/0")"
has "$sock/0" '.outcome == "done" and .figures == {"answered": 1, "asked": 1} and .verdict == "pass"' \
    'mesh: a software device that answers passes'
part "$a" software "$(task send_lat 0 8 1 mlx5_0)" >"$sock/0"
has "$sock/0" '.outcome == "unsupported" and .verdict == "unknown"' 'a device that is not there is unknown'
# A program of ours plays the job: its queue pair stands while it measures.
service=$((service + 1))
"$lab" exec -d "$b" "echo '$(task read_bw 1 1048576 100000)' | '$ctl' software" >/dev/null
"$lab" exec -d "$a" "echo '$(task read_bw 0 1048576 100000)' | '$ctl' software" >/dev/null
for _ in $(seq 100); do
    "$lab" exec --timeout 30 "$a" 'rdma resource show qp link rxe0 | grep -q "type RC"' && break
    sleep 0.2
done
service=$((service + 1))
part "$a" software "$(task send_lat 0 8 1)" >"$sock/0"
echo "# in use: $(cat "$sock/0")"
has "$sock/0" '.outcome == "refused" and (.problem | contains("force"))' 'a device that a program uses is left alone'
"$lab" exec --timeout 30 "$b" 'rdma link delete rxe0'
part "$a" software "$(task mesh 0 1 1 | sed 's/"deadline_s":90/"deadline_s":3/; s/"force":false/"force":true/')" >"$sock/0"
echo "# gone: $(cat "$sock/0")"
has "$sock/0" '.figures.answered == 0 and .verdict == "fail" and (.problem | contains("n2"))' \
    'mesh: a peer without its device fails it, by name'
echo "1..$n"
exit $bad
