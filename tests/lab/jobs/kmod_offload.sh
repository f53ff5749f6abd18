# The parts of kmod_selftest.sh on congestion control files and offloaded qdiscs, by stock tools.
# Sourced by it, after lib.sh.
# shellcheck shell=sh disable=SC2154
ECN=/sys/class/net/solar0/ecn

put() { # FILE VALUE
    echo "$2" >"$1"
}

test_cc() {
    is 'every file of both sides' "$(find $ECN/ -type f | wc -l)" 35
    is 'defaults' "$(cat $ECN/roce_np/cnp_dscp $ECN/roce_np/cnp_802p_prio \
        $ECN/roce_np/min_time_between_cnps $ECN/roce_rp/dce_tcp_g \
        $ECN/roce_rp/initial_alpha_value $ECN/roce_rp/rpg_gd | tr '\n' ' ')" \
        '48 6 4 1019 1023 11 '
    ok 'dce_tcp_g 1023' put $ECN/roce_rp/dce_tcp_g 1023
    refused 'dce_tcp_g 1024' 'Invalid argument\|I/O error' put $ECN/roce_rp/dce_tcp_g 1024
    is 'a refused value changes nothing' "$(cat $ECN/roce_rp/dce_tcp_g)" 1023
    ok 'cnp_dscp 0' put $ECN/roce_np/cnp_dscp 0
    refused 'cnp_dscp 64' . put $ECN/roce_np/cnp_dscp 64
    refused 'rpg_gd 9' . put $ECN/roce_rp/rpg_gd 9
    refused 'no number' . put $ECN/roce_rp/rpg_gd x
    ok 'one priority off' put $ECN/roce_np/enable/3 0
    is 'only that one, only there' \
        "$(cat $ECN/roce_np/enable/? | tr -d '\n') $(cat $ECN/roce_rp/enable/? | tr -d '\n')" \
        '11101111 11111111'
    refused 'a priority takes 0 and 1' . put $ECN/roce_rp/enable/0 2
    is 'the other port is as it was' "$(cat /sys/class/net/solar1/ecn/roce_np/enable/3)" 1
    poke solar0 fail_cc_set 1
    refused 'a set fails on demand' . put $ECN/roce_rp/rpg_threshold 5
    poke solar0 ignore_cc_set 1
    ok 'a set is swallowed on demand' put $ECN/roce_rp/rpg_threshold 5
    is 'and changed nothing' "$(cat $ECN/roce_rp/rpg_threshold)" 1
    ok 'there is no cc_params folder' [ ! -e $DEBUG/solar0/cc_params ]
}

# With the module parameter cc=2.
test_cc_debugfs() {
    params=$DEBUG/solar0/cc_params
    ok 'there is no ecn folder' [ ! -e $ECN ]
    is 'every file of cc_params' "$(find $params/ -type f | wc -l)" 20
    is 'mode of cc_params' "$(stat -c %a $params/rp_dce_tcp_g)" 600
    ok 'rp_min_dec_fac 100' put $params/rp_min_dec_fac 100
    refused 'rp_min_dec_fac 101' . put $params/rp_min_dec_fac 101
    is 'it was set' "$(cat $params/rp_min_dec_fac)" 100
}

offloaded() { # the kinds and handles that tc shows as offloaded
    tc -j qdisc show dev solar0 | jq -c '[.[] | select(.offloaded) | .kind + .handle]'
}

test_qdisc_offload() {
    ip link set solar0 up
    ip link set solar1 up
    ok 'ets' tc qdisc replace dev solar0 root handle 1: ets bands 4 strict 1 \
        quanta 3000 3000 4000 priomap 0 1 2 3
    ok 'tbf below it' tc qdisc add dev solar0 parent 1:1 handle 11: \
        tbf rate 1gbit burst 100k limit 1m
    ok 'red below it' tc qdisc add dev solar0 parent 1:2 handle 12: red limit 1000000 \
        min 30000 max 90000 avpkt 1500 burst 30 bandwidth 10gbit ecn
    is 'all are offloaded' "$(offloaded)" '["ets1:","red12:","tbf11:"]'
    tc qdisc del dev solar0 root
    is 'and given back' "$(peek solar0 qdiscs_offloaded)" 0
    poke solar0 fail_qdisc_set 1
    ok 'a refused one is taken all the same' tc qdisc replace dev solar0 root handle 1: ets bands 4
    is 'in software' "$(offloaded)" '[]'
    tc qdisc del dev solar0 root
    ethtool -K solar0 hw-tc-offload off
    tc qdisc replace dev solar0 root handle 1: tbf rate 1gbit burst 100k limit 1m
    is 'with offload off too' "$(offloaded)" '[]'
    tc qdisc del dev solar0 root
    ethtool -K solar0 hw-tc-offload on
}

class_packets() { # CLASSID
    tc -s class show dev solar0 classid "$1" |
        sed -n 's/^ Sent .* bytes \([0-9]*\) pkt.*/\1/p'
}

htb_class() { # PARENT CLASSID RATE
    tc class add dev solar0 parent "$1" classid "$2" htb rate "$3" ceil 10gbit
}

test_htb_offload() {
    poke solar0 fail_qdisc_set 1
    refused 'htb fails on demand' 'Input/output error\|on demand' \
        tc qdisc add dev solar0 root handle 1: htb offload default 10
    ok 'htb' tc qdisc add dev solar0 root handle 1: htb offload default 10
    ok 'an inner class' htb_class 1: 1:1 10gbit
    ok 'its first leaf takes its queue' htb_class 1:1 1:10 1gbit
    ok 'a second leaf has its own' htb_class 1:1 1:20 2gbit
    poke solar0 fail_qdisc_set 1
    refused 'a class fails on demand' 'fault on demand' htb_class 1:1 1:30 1gbit
    is 'offloaded' "$(offloaded) $(tc class show dev solar0 | grep -c ' offload')" '["htb1:"] 3'
    ip addr add 10.78.0.1/24 dev solar0
    ip neigh add 10.78.0.9 lladdr 02:00:00:00:00:99 dev solar0 nud permanent
    tc qdisc add dev solar0 clsact
    tc filter add dev solar0 egress protocol ip prio 1 flower skip_hw ip_proto udp dst_port 98 \
        action skbedit priority 1:20
    bash -c 'for i in $(seq 20); do echo x >/dev/udp/10.78.0.9/98; done'
    is 'a class counts the packets labelled with it' "$(class_packets 1:20)" 20
    bash -c 'for i in $(seq 5); do echo x >/dev/udp/10.78.0.9/99; done'
    ok 'others take the default class' [ "$(class_packets 1:10)" -ge 5 ]
    refused 'offload stays on' . sh -c \
        'ethtool -K solar0 hw-tc-offload off && ethtool -k solar0 | grep -q "hw-tc-offload: off"'
    ok 'a leaf goes' tc class del dev solar0 classid 1:20
    ok 'the last leaf goes' tc class del dev solar0 classid 1:10
    tc qdisc del dev solar0 root
    tc qdisc del dev solar0 clsact
    tc qdisc add dev solar0 root handle 1: htb offload
    n=0
    while [ $n -lt 20 ] && htb_class 1: "1:$((n + 1))" 1gbit >/dev/null 2>&1; do
        n=$((n + 1))
    done
    is 'it has 16 leaves' $n 16
    tc qdisc del dev solar0 root
    ip addr del 10.78.0.1/24 dev solar0
}
