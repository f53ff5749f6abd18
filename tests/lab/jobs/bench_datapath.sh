#!/bin/sh
# lab: timeout=550
# Figures of the data path, as JSON lines: a plan of flower rules beside `tc -b` of the same rules and tc's list of
# them, and the observation of a node. Nothing is asserted. Arguments: the build folder, rules, rounds.
# shellcheck disable=SC1091,SC2034
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

BUILT=/host$1/tests/lab/dpctl
RULES=${2:-1000}
ROUNDS=${3:-5}
WORK=/tmp/bench
PORT=solar_rdma.0/0
mkdir -p $WORK
[ -x "$BUILT" ] || {
    echo "lab: skipped: $BUILT is not built"
    exit 77
}
DPCTL=$WORK/dpctl # in the guest's memory, as tc is: the host's files are read through the emulator
cp "$BUILT" "$DPCTL"

. "$here/plan.sh"
DEVICES=solar0

die() {
    echo "bench_datapath: $1" >&2
    sed 's/^/  /' $WORK/said >&2
    exit 1
}

# rules HW FLAG: the same rules as $WORK/plan and as $WORK/batch
rules() {
    awk -v n="$RULES" -v hw="$1" -v flag="$2" -v port="$PORT" -v work="$WORK" 'BEGIN {
        plan = work "/plan"; batch = work "/batch"
        knob = "{\"kind\":\"%s\",\"subject\":\"" port "\",\"id\":\"%s\",\"want\":%s}"
        printf "{\"knobs\":[" knob, "tc.clsact", "", "true" >plan
        print "qdisc add dev solar0 clsact" >batch
        for (i = 1; i <= n; i++) {
            cookie = sprintf("53544c52%08x0011223344556677", i)
            dst = "10.1." int(i / 256) "." i % 256
            printf "," knob, "tc.flower", "egress/" i, sprintf("{\"cookie\":\"%s\",\"hw\":\"%s\"," \
                "\"match\":{\"dscp\":%d,\"dst\":\"%s/32\",\"dst_port\":4791,\"eth_type\":\"ipv4\"," \
                "\"ip_proto\":\"udp\"},\"actions\":[{\"priority\":3}]}", cookie, hw, i % 64, dst) >plan
            printf "filter add dev solar0 egress pref 100 handle %d protocol ip flower %s ip_proto udp " \
                "ip_tos 0x%02x/0xfc dst_ip %s dst_port 4791 action skbedit priority 3 pipe cookie %s\n",
                i, flag, i % 64 * 4, dst, cookie >batch
        }
        print "]}" >plan
    }'
}

clean() {
    tc qdisc del dev solar0 clsact 2>/dev/null
}

children_ms() { awk '{ print ($16 + $17) * 10 }' /proc/$$/stat; } # CPU of the children waited for

# timed VARIABLE COMMAND...: its milliseconds, of the clock and of CPU, appended to the files VARIABLE and VARIABLE_cpu
timed() {
    name=$1
    shift
    cpu=$(children_ms)
    begin=$(date +%s%N)
    "$@" >$WORK/said 2>&1 || die "failed: $*"
    echo $((($(date +%s%N) - begin) / 1000000)) >>$WORK/"$name"
    echo $(($(children_ms) - cpu)) >>$WORK/"$name"_cpu
}

by_tc() { tc -b $WORK/batch && tc -j filter show dev solar0 egress; }
median() { sort -n $WORK/"$1" | sed -n "$(((ROUNDS + 1) / 2))p"; }

# beside HW FLAG: rounds of each in turn, on an empty hook
beside() {
    rules "$1" "$2"
    rm -f $WORK/ours* $WORK/tc* $WORK/apply_cpu
    clean
    for _ in $(seq "$ROUNDS"); do
        timed tc by_tc
        # Both must have made the same: our provider finds nothing to do behind tc's batch.
        [ "$(dpctl steps $WORK/plan)" = '[]' ] || die "tc's rules are not those of the plan"
        clean
        timed ours dpctl apply-timed $WORK/plan
        grep -q '^in sync' $WORK/said || die "the plan is not in sync"
        tail -n 1 $WORK/said | jq .cpu_ms >>$WORK/apply_cpu
        clean
    done
    echo "{\"what\":\"flower\",\"hw\":\"$1\",\"rules\":$RULES,\"ours_ms\":$(median ours),\"tc_ms\":$(median tc)," \
        "\"ours_cpu_ms\":$(median ours_cpu),\"apply_cpu_ms\":$(median apply_cpu),\"tc_cpu_ms\":$(median tc_cpu)}"
}

observed() { # TEXT
    dpctl times 9 >$WORK/said || die "cannot observe"
    jq -c --arg text "$1" '{what: "observe", node: $text} + .' $WORK/said
}

ip link set solar0 up
ip link set solar1 up
poke solar0 tcam_entries $((2 * RULES))
observed "one port, no rules"
beside no skip_hw
beside only skip_sw
timed ours dpctl apply $WORK/plan
observed "one port, $RULES rules"
DEVICES=solar0,solar1
clean
observed "two ports, no rules"
