#!/bin/sh
# lab: timeout=420
# dp_linux against a real kernel and the test NIC: every knob kind is programmed through dpctl and checked with
# other programs, refusals are named, and what fails leaves the node as it was. Argument: the build folder.
# shellcheck disable=SC2016
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

DPCTL=/host$1/tests/lab/dpctl
WORK=/tmp/dp
PORT=solar_rdma.0/0
mkdir -p $WORK
[ -x "$DPCTL" ] || {
    echo "1..0 # SKIP $DPCTL is not built"
    exit 77
}

. "$here/plan.sh"
# All of the two ports and the host, for "as it was".
snapshot() { dpctl observe | jq -cS '[.knobs[]|[.kind,.subject,.id,.live]]'; }
tc_count() { tc -j filter show dev solar0 "$1" | jq '[.[]|select(.options.handle)]|length'; }

flower() { # LABEL DSCP ACTIONS HW
    printf '{"cookie":"53544c52%08x0011223344556677","hw":"%s","match":{"dscp":%d,"dst_port":4791,"eth_type":"ipv4","ip_proto":"udp"},"actions":[%s]}' \
        "$1" "$4" "$2" "$3"
}

ip link set solar0 up
ip link set solar1 up
modprobe rdma_rxe && rdma link add rxe0 type rxe netdev solar0

# ---- inventory
dpctl inventory >$WORK/inventory
is "inventory: driver and firmware" \
    "$(jq -r '.ports[0]|.driver+" "+.firmware' $WORK/inventory)" "solar_rdma 2.1.8"
is "inventory: speed as ethtool has it" "$(jq -r '.ports[0].speed_bps/1e6|floor' $WORK/inventory)" \
    "$(ethtool solar0 | sed -n 's/.*Speed: \([0-9]*\)Mb.*/\1/p')"
is "inventory: flow table capacity" "$(jq '.ports[0].caps.flower_hw_entries' $WORK/inventory)" \
    "$(peek solar0 tcam_entries)"
is "inventory: rxe stands on its port and is software" \
    "$(jq -r '.ports[0]|.rdma_device+" "+(.rdma_software|tostring)' $WORK/inventory)" "rxe0 true"
is "inventory: verbs port is active" "$(jq -r '.rdma_devices[0].ports[0].state' $WORK/inventory)" active
# Linux 6.1: rxe has no create_flow, and its driver's answer is EOPNOTSUPP.
is "inventory: verbs steers nothing on rxe" "$(jq .rdma_devices[0].flow_steering $WORK/inventory)" false
is "inventory: nothing failed" "$(jq -c .problems $WORK/inventory)" "[]"
is "inventory: PCIe link" "$(jq -c '.ports[0].pcie|[.current_gen,.current_width]' $WORK/inventory)" "[4,16]"

# ---- host
plan host "$(knob host.sysctl net.solar.flow_steering '"2"' host)" "$(knob host.thp '' '"never"' host)" \
    "$(knob host.modparam solar_rdma.max_sge '"256"' host)"
ok "host knobs are applied" apply host
is "sysctl" "$(cat /proc/sys/net/solar/flow_steering)" 2
is "huge pages" "$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/mm/transparent_hugepage/enabled)" never
is "module parameter is persisted" "$(grep -c '^options solar_rdma max_sge=256$' /etc/modprobe.d/stellar.conf)" 1
is "modprobe would use it" "$(modprobe -c | grep -c '^options solar_rdma max_sge=256$')" 1
plan bad "$(knob host.sysctl net.solar.flow_steering '"9"' host)"
refused "a sysctl that the kernel refuses is named" "net.solar.flow_steering" apply bad
is "and keeps its value" "$(cat /proc/sys/net/solar/flow_steering)" 2
plan bad "$(knob host.sysctl net.no.such '"1"' host)"
refused "an absent sysctl is unsupported" "unsupported.*net.no.such" dpctl check $WORK/bad
plan bad "$(knob host.modparam no_such_module.x '"1"' host)"
refused "an absent module is unsupported" "unsupported.*no_such_module" dpctl check $WORK/bad

# ---- link and dcb
plan dcb "$(knob link.mtu '' 4100)" \
    "$(knob dcb.app '' '[{"dscp":26,"priority":3},{"dscp":48,"priority":6}]')" \
    "$(knob dcb.ets '' '{"bw_percent":[50,0,0,50,0,0,0,0],"prio_tc":[0,0,0,3,0,0,6,0],"tsa":["ets","strict","strict","ets","strict","strict","strict","strict"]}')" \
    "$(knob dcb.maxrate '' '[null,null,null,40000000000,null,null,null,null]')" \
    "$(knob dcb.buffer '' '{"prio_buffer":[0,0,0,1,0,0,0,0],"size_bytes":[131072,262144,0,0,0,0,0,0]}')" \
    "$(knob dcb.pfc '' '{"delay":0,"priorities":[3]}')"
ok "dcb knobs are applied" apply dcb
dcbread solar0 >$WORK/dcbread
is "mtu" "$(cat /sys/class/net/solar0/mtu)" 4100
is "app" "$(jq -cS '[.app[]|[.selector,.protocol,.priority]]|sort' $WORK/dcbread)" '[[5,26,3],[5,48,6]]'
is "trust" "$(jq -r .trust $WORK/dcbread)" dscp
is "ets" "$(jq -c '[.ets.bw,.ets.prio_tc,(.ets.tsa|map(.[0:1])|add)]' $WORK/dcbread)" \
    '[[50,0,0,50,0,0,0,0],[0,0,0,3,0,0,6,0],"essessss"]'
is "pfc" "$(jq -c .pfc.enabled $WORK/dcbread)" '[3]'
is "maxrate" "$(jq -c .maxrate_bps $WORK/dcbread)" '[null,null,null,40000000000,null,null,null,null]'
is "buffer" "$(jq -c '[.buffer.prio2buffer,.buffer.size]' $WORK/dcbread)" \
    '[[0,0,0,1,0,0,0,0],[131072,262144,0,0,0,0,0,0]]'
ok "again: nothing to do" sh -c "[ \"\$($DPCTL --devices solar0 steps $WORK/dcb)\" = '[]' ]"
flaps=$(counter solar0 link_flaps)
poke solar0 pfc_resets_link Y
ok "again: in sync" apply dcb
is "and the link was not touched" "$(counter solar0 link_flaps)" "$flaps"
poke solar0 pfc_resets_link N
plan app "$(knob dcb.app '' '[{"dscp":26,"priority":4}]')"
ok "a dscp moves to another priority" apply app
is "and only that entry is there" "$(live dcb.app '')" '[{"dscp":26,"priority":4}]'
plan app "$(knob dcb.app '' '[]')"
ok "all entries go" apply app
is "none is left" "$(live dcb.app '')" '[]'

# ---- refusals and half-truths of a driver
plan bad "$(knob dcb.ets '' '{"bw_percent":[50,0,0,49,0,0,0,0],"prio_tc":[0,0,0,3,0,0,6,0],"tsa":["ets","strict","strict","ets","strict","strict","strict","strict"]}')"
refused "shares of 99 %" "sum to 99" dpctl check $WORK/bad
plan bad "$(knob dcb.maxrate '' '[99999999,null,null,null,null,null,null,null]')"
refused "a rate under the unit, which would mean no limit" "below the unit" dpctl check $WORK/bad
plan bad "$(knob dcb.buffer '' '{"prio_buffer":[0,0,0,0,0,0,0,0],"size_bytes":[9999999,0,0,0,0,0,0,0]}')"
refused "more buffer than there is" "unsupported.*9999999" dpctl check $WORK/bad
plan bad "$(knob link.mtu '' 60000)"
refused "an MTU over the driver's" "unsupported.*60000" dpctl check $WORK/bad
plan bad "$(knob dcb.pfc '' '{"delay":0,"priorities":[3]}' solar_rdma.77/0)"
refused "a port that is not there" "solar_rdma.77/0" apply bad
before_pfc=$(live dcb.pfc '')
plan pfc "$(knob dcb.pfc '' '{"delay":0,"priorities":[1,2]}')"
poke solar0 fail_pfc_set 1
refused "a driver's EIO is named with device and knob" "solar0.*dcb.pfc.*Input/output" apply pfc
is "pfc is as it was" "$(live dcb.pfc '')" "$before_pfc"
poke solar0 ignore_pfc_set 1
refused "a set that the driver swallows is noticed" "kernel took.*but shows" apply pfc
is "pfc is as it was, too" "$(live dcb.pfc '')" "$before_pfc"
plan rate "$(knob dcb.maxrate '' '[1250000000,null,null,null,null,null,null,null]')"
refused "a rounded rate is reported as not in sync" "NOT IN SYNC" apply rate
is "the kernel has it floored" "$(live dcb.maxrate '')" '[1200000000,null,null,null,null,null,null,null]'
sed -i 's/"want"/"strict":true,"want"/;s/1250000000/1350000000/' $WORK/rate
refused "strict: rounding is a failure" "kernel took.*1350000000.*but shows.*1300000000" apply rate
is "and is taken back" "$(live dcb.maxrate '')" '[1200000000,null,null,null,null,null,null,null]'
plan bad "$(knob dcb.pfc '' '{"delay":0,"priorities":[3]}' virtual.lo/0)"
refused "a device without dcb is unsupported" "unsupported.*lo.*dcb" "$DPCTL" --devices lo check $WORK/bad

# ---- tc in software
class() { knob tc.class "5e11:$1" "{\"ceil_bps\":$3,\"parent\":\"5e11:$4\",\"rate_bps\":$2}"; }
G=1000000000
htb() { # RATE of class 1a
    plan tc "$(knob tc.clsact '' true)" \
        "$(knob tc.qdisc root '{"default_class":"5e11:ffff","handle":"5e11:","kind":"htb"}')" \
        "$(class fffe 100000000000 100000000000 '')" "$(class ffff $((5 * G)) 100000000000 fffe)" \
        "$(class 1a "$1" $((60 * G)) fffe)" \
        "$(knob tc.flower egress/26 "$(flower 26 26 '{"class":"5e11:1a"},{"burst_bytes":131072,"police_bps":80000000}' no)")" \
        "$(knob tc.flower egress/27 '{"cookie":"53544c520000001b0011223344556677","hw":"no","match":{"eth_type":"ipv6","src":"fd00::/8"},"actions":[{"priority":3}]}')"
}
htb $((40 * G + 5))
ok "scheduler, classes and filters are applied" apply tc
class_shown() { tc class show dev solar0 | sed -n 's/^class htb 5e11:1a \(parent [^ ]*\) .*\(rate [^ ]* ceil [^ ]*\) .*/\1 \2/p'; }
is "class as tc has it" "$(class_shown)" "parent 5e11:fffe rate 40Gbit ceil 60Gbit"
is "the default class" "$(tc -j qdisc show dev solar0 root | jq -r '.[0].options.default')" "0xffff"
is "the hook as tc has it" "$(tc -j qdisc show dev solar0 clsact | jq -c '[.[]|[.kind,.parent]]')" '[["clsact","ffff:fff1"]]'
is "two filters" "$(tc_count egress)" 2
tc -j filter show dev solar0 egress >$WORK/filter
is "tos key and mask" "$(tc filter show dev solar0 egress | grep -o 'ip_tos .*')" "ip_tos 104/0xfc"
is "police rate and mtu as tc has them" "$(tc filter show dev solar0 egress | grep -o 'rate 80Mbit burst [^ ]* mtu [^ ]*')" \
    "rate 80Mbit burst 128Kb mtu 64Kb"
is "cookie as tc has it" \
    "$(jq -r '[.[]|.options|select(.handle==26)|.actions[0].cookie][0]' $WORK/filter)" "53544c520000001a0011223344556677"
ok "again: nothing to do" sh -c "[ \"\$($DPCTL --devices solar0 steps $WORK/tc)\" = '[]' ]"
tc qdisc show dev solar0 >$WORK/qdisc.before
htb $((20 * G))
is "a class changes in one step" "$(dpctl steps $WORK/tc | jq -c '[.[]|[.op,.id]]')" '[["change","5e11:1a"]]'
ok "live" apply tc
is "to the new rate" "$(class_shown)" "parent 5e11:fffe rate 20Gbit ceil 60Gbit"
tc qdisc show dev solar0 >$WORK/qdisc.after
ok "the qdisc is the same one" cmp $WORK/qdisc.before $WORK/qdisc.after
jq -c --argjson k "$(class 1b $G $G abcd)" '.knobs+=[$k]' $WORK/tc >$WORK/bad
refused "a class under a parent that is not there" "but shows" apply bad
is "is not left behind" "$(tc class show dev solar0 | grep -c '5e11:1b')" 0

# ---- drift, events, other people's things
"$DPCTL" --devices solar0 watch 20 >$WORK/watch &
watcher=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    grep -qs watching $WORK/watch && break
    sleep 0.1
done
tc filter del dev solar0 egress pref 100 handle 26 flower
wait $watcher
is "a change by hand is announced" "$?" 0
is "and seen" "$(dpctl steps $WORK/tc | jq -c '[.[]|[.op,.id]]')" '[["add","egress/26"]]'
ok "and repaired" apply tc
tc filter add dev solar0 egress pref 7 protocol ip flower skip_hw ip_proto tcp action pass
plan none
refused "the hook stays when somebody else's filter is in it" "tc.clsact" sh -c \
    "$DPCTL --devices solar0 steps $WORK/none | grep -q clsact || { echo no step for tc.clsact; false; }"
ok "all of ours goes" apply none
is "only the other filter is left" "$(tc -j filter show dev solar0 egress | jq '[.[].pref]|unique|.[]')" 7
is "no htb is left" "$(tc qdisc show dev solar0 root | grep -c htb)" 0
tc qdisc del dev solar0 clsact
tc qdisc add dev solar0 root handle 7: tbf rate 1gbit burst 1m latency 10ms
htb $G
refused "somebody else's scheduler is left alone" "conflict.*tbf" apply tc
is "and stands" "$(tc qdisc show dev solar0 root | grep -c 'tbf 7:')" 1
tc qdisc del dev solar0 root

# ---- the flow table
flows() { # COUNT [PRIORITY]: hardware rows 1..COUNT
    set -- "$1" 1 "${2-3}"
    knobs=''
    while [ "$2" -le "$1" ]; do
        knobs="$knobs,$(knob tc.flower "ingress/$2" "$(flower "$2" $(($2 % 64)) "{\"priority\":$3}" only)")"
        set -- "$1" $(($2 + 1)) "$3"
    done
    printf '{"knobs":[%s%s]}' "$(knob tc.clsact '' true)" "$knobs" >$WORK/flows
}
poke solar0 tcam_entries 8
flows 8
ok "the flow table is filled" apply flows
is "all rows are in the NIC" "$(tc filter show dev solar0 ingress | grep -c '^  in_hw ')" 8
is "and none in software" "$(tc filter show dev solar0 ingress | grep -c skip_sw)" 8
others() { tc filter show dev solar0 ingress; tc qdisc show dev solar0; peek solar0 tcam_used; dcbread solar0; } # what they see
full=$(snapshot)
seen=$(others)
flows 9
refused "one more: the table is full, in the kernel's words" "flow table full.*TCAM" apply flows
is "and everything is as it was" "$(snapshot)" "$full"
is "to others too" "$(others)" "$seen"
ethtool -K solar1 hw-tc-offload off
plan bad "$(knob tc.clsact '' true solar_rdma.1/0)" \
    "$(knob tc.flower ingress/1 "$(flower 1 1 '{"priority":3}' only)" solar_rdma.1/0)"
refused "offload switched off is found before anything changes" "unsupported.*hw-tc-offload" apply bad
is "nothing was made" "$(tc qdisc show dev solar1 clsact | grep -c clsact)" 0
ethtool -K solar1 hw-tc-offload on
plan none
ok "the flow table is emptied" apply none
is "no row is left" "$(peek solar0 tcam_used)" 0
is "no hook is left" "$(tc qdisc show dev solar0 clsact | grep -c clsact)" 0

# ---- many filters at once
flows 12
refused "the table is full in the middle of many" "flow table full.*TCAM" apply flows
is "and the rows before and behind it are gone" "$(peek solar0 tcam_used)" 0
is "with the hook" "$(tc qdisc show dev solar0 clsact | grep -c clsact)" 0
poke solar0 tcam_entries 16
tc qdisc add dev solar0 clsact
tc filter add dev solar0 ingress pref 100 handle 9 protocol ip flower skip_hw ip_proto tcp action pass
refused "a filter of somebody else among them is a conflict" "ingress/9.*not ours" apply flows
is "and alone is left" "$(tc -j filter show dev solar0 ingress | jq -c '[.[].options.handle//empty]')" '[9]'
tc qdisc del dev solar0 clsact
ok "many are made" apply flows
is "in the NIC" "$(tc filter show dev solar0 ingress | grep -c '^  in_hw ')" 12
ok "and again: nothing is to be done" sh -c "[ '$(dpctl steps $WORK/flows)' = '[]' ]"
flows 12 5
ok "all are changed" apply flows
is "to another priority" "$(tc -j filter show dev solar0 ingress |
    jq -c '[.[].options.actions//empty|.[].priority]|unique')" '[":5"]'
is "in their rows" "$(peek solar0 tcam_used)" 12
poke solar0 fail_flower_set 1
flows 12 6
refused "one that the NIC refuses is named" "tc.flower ingress/1:.*Input/output" apply flows
is "and all are as before" "$(tc -j filter show dev solar0 ingress |
    jq -c '[.[].options.actions//empty|.[].priority]|unique')" '[":5"]'
plan none
ok "and all are removed" apply none
is "no row is left of many" "$(peek solar0 tcam_used)" 0
poke solar0 op_delay_ms 600
ok "a driver that takes longer for all than a call may take" apply flows
poke solar0 op_delay_ms 0
is "gets them in several" "$(peek solar0 tcam_used)" 12
ok "and rid of them" apply none

# ---- a slow driver, a vanishing device
poke solar0 op_delay_ms 7000
begin=$(date +%s)
plan pfc "$(knob dcb.pfc '' '{"delay":0,"priorities":[5]}')"
refused "a stuck driver costs the deadline, not more" "unavailable" apply pfc
took=$(($(date +%s) - begin))
ok "(it took $took s)" test "$took" -le 30
poke solar0 op_delay_ms 0
sleep 8
ip link set solar0 down
ip link set solar0 name nic7
ip link set nic7 up
is "a renamed interface keeps its id" \
    "$("$DPCTL" inventory | jq -r '.ports[]|select(.ifname=="nic7")|.id')" "$PORT"
is "no complaint of the kernel" "$(kernel_complaints)" ""
tap_end
