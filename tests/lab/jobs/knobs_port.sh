#!/bin/sh
# lab: timeout=420
# Knobs of ports and hosts against a real kernel and the test NIC: each is set by a plan through dpctl, read by a
# program that knows nothing of the product, changed by hand and seen, and taken back; refusals carry the kernel's
# words. Argument: the build folder.
# shellcheck disable=SC2016
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

DPCTL=/host$1/tests/lab/dpctl
WORK=/tmp/knobs
PORT=solar_rdma.0/0
mkdir -p $WORK
[ -x "$DPCTL" ] || {
    echo "1..0 # SKIP $DPCTL is not built"
    exit 77
}
. "$here/plan.sh"

caps() { dpctl inventory | jq -cS --arg p "$PORT" ".ports[]|select(.id==\$p)|.caps|$1"; }
steps() { dpctl steps "$WORK/$1" | jq -c "$2"; }

ip link set solar0 up
ip link set solar1 up

# FLOWER fails after what stands before it in a plan's order was done.
FLOWER=$(knob tc.flower ingress/7 '{"actions":[{"priority":3}],"cookie":"53544c52000000070011223344556677","hw":"only","match":{"dscp":26,"eth_type":"ipv4"}}')
CLSACT=$(knob tc.clsact '' true)
fails_late() { # PLAN: applied with a flow table that fails
    poke solar0 fail_flower_set 1
    apply "$1"
}

# ---- link.pause
pause() { ethtool -a solar0 | sed -n 's/^\(RX\|TX\):[[:space:]]*/\1 /p' | tr '\n' ' '; } # its JSON always says true
OFF='{"rx":false,"tx":false}'
ethtool -A solar0 rx on tx on
is "pause: the inventory has it" "$(caps .pause)" true
is "pause: ethtool switched it on" "$(pause)" "RX on TX on "
plan pause "$(knob link.pause '' "$OFF")" "$(knob dcb.pfc '' '{"delay":0,"priorities":[3]}')"
is "pause: it is off before PFC is on" "$(steps pause '[.[].kind]')" '["link.pause","dcb.pfc"]'
ok "pause: a plan switches it off" apply pause
is "pause: ethtool shows it" "$(pause)" "RX off TX off "
is "pause: again, nothing to do" "$(steps pause length)" 0
ethtool -A solar0 rx on
is "pause: a change by hand is seen" "$(steps pause '[.[0].op,.[0].from]')" '["change",{"rx":true,"tx":false}]'
ok "pause: and repaired" apply pause
plan two "$(knob link.pause '' '{"rx":true,"tx":true}')" "$CLSACT" "$FLOWER"
refused "pause: a plan that fails later is taken back" "all was taken back" fails_late two
is "pause: it is as it was" "$(pause)" "RX off TX off "
poke solar0 fail_pause_set 1
refused "pause: a refusal carries the kernel's words" "link.pause.*Input/output error" apply two
poke solar0 ignore_pause_set 1
refused "pause: a set that the driver swallows is noticed" "kernel took.*but shows" apply two
plan bad "$(knob link.pause '' "$OFF" virtual.lo/0)"
refused "pause: a driver without it is unsupported" "unsupported.*lo has no pause" "$DPCTL" --devices lo check $WORK/bad

# ---- link.coalesce
coalesce() { ethtool -c solar0 | sed -n "s/^$1:[[:space:]]*//p"; }
ethtool -C solar0 adaptive-rx on rx-usecs 8 rx-frames 128 tx-usecs 8
is "coalesce: the inventory names what the driver has" "$(caps .coalesce)" \
    '["adaptive_rx","rx_frames","rx_usecs","tx_frames","tx_usecs"]'
plan coalesce "$(knob link.coalesce '' '{"adaptive_rx":false,"rx_frames":64,"rx_usecs":3}')"
ok "coalesce: a plan sets it" apply coalesce
is "coalesce: ethtool shows the time" "$(coalesce rx-usecs)" 3
is "coalesce: and the frames" "$(coalesce rx-frames)" 64
is "coalesce: and that nothing adapts" "$(ethtool -c solar0 | grep -c '^Adaptive RX: off')" 1
is "coalesce: what is not named is left alone" "$(coalesce tx-usecs)" 8
is "coalesce: again, nothing to do" "$(steps coalesce length)" 0
ethtool -C solar0 rx-usecs 100
is "coalesce: a change by hand is seen" "$(steps coalesce '[.[0].op,.[0].from.rx_usecs]')" '["change",100]'
ok "coalesce: and repaired" apply coalesce
plan two "$(knob link.coalesce '' '{"rx_usecs":50,"tx_usecs":50}')" "$CLSACT" "$FLOWER"
refused "coalesce: a plan that fails later is taken back" "all was taken back" fails_late two
is "coalesce: it is as it was" "$(coalesce rx-usecs) $(coalesce tx-usecs)" "3 8"
plan bad "$(knob link.coalesce '' '{"rx_usecs":1001}')"
refused "coalesce: a refusal carries the driver's words" "coalescing takes at most 1000 us" apply bad
plan bad "$(knob link.coalesce '' '{"adaptive_tx":true}')"
refused "coalesce: what the driver lacks is unsupported" "unsupported.*moderates nothing by adaptive_tx" \
    dpctl check $WORK/bad
plan bad "$(knob link.coalesce '' '{"rx_usecs":3}' virtual.lo/0)"
refused "coalesce: a driver without it is unsupported" "unsupported.*lo has no interrupt moderation" \
    "$DPCTL" --devices lo check $WORK/bad

# ---- link.arp
CONF=/proc/sys/net/ipv4/conf
arp() { cat $CONF/solar0/arp_announce $CONF/solar0/arp_ignore $CONF/solar0/rp_filter | tr '\n' ' '; }
for setting in arp_announce arp_ignore rp_filter; do
    echo 0 >$CONF/all/$setting
    echo 0 >$CONF/solar0/$setting
done
plan arp "$(knob link.arp '' '{"arp_announce":2,"arp_ignore":1,"rp_filter":0}')"
ok "arp: a plan sets it" apply arp
is "arp: the kernel shows it" "$(sysctl -n net.ipv4.conf.solar0.arp_announce net.ipv4.conf.solar0.arp_ignore | tr '\n' ' ')" "2 1 "
is "arp: again, nothing to do" "$(steps arp length)" 0
echo 0 >$CONF/solar0/arp_ignore
is "arp: a change by hand is seen" "$(steps arp '[.[0].op,.[0].from.arp_ignore]')" '["change",0]'
ok "arp: and repaired" apply arp
plan two "$(knob link.arp '' '{"arp_announce":1,"rp_filter":2}')" "$CLSACT" "$FLOWER"
refused "arp: a plan that fails later is taken back" "all was taken back" fails_late two
is "arp: it is as it was" "$(arp)" "2 1 0 "
echo 1 >$CONF/all/rp_filter
is "arp: what conf/all makes of it is seen" "$(steps arp '[.[0].from.rp_filter,.[0].from.effective]')" \
    '[0,{"rp_filter":1}]'
refused "arp: a value that would not be in effect is a conflict" "conflict.*net.ipv4.conf.all.rp_filter is 1.*larger" \
    dpctl check $WORK/arp
echo 0 >$CONF/all/rp_filter
is "arp: without it all is well" "$(steps arp length)" 0
plan bad "$(knob link.arp '' '{"rp_filter":3}')"
refused "arp: a value out of range is refused" "rp_filter" dpctl check $WORK/bad

# ---- host.file
ENV=/etc/stellar/env/nccl.env
rm -rf /etc/stellar/env
file() { knob host.file "$1" "$2" host; }
nccl() { file nccl.env "{\"NCCL_IB_HCA\":\"=rxe0:1\",\"NCCL_IB_TC\":\"$1\"}"; }
sourced() { env -i sh -c ". $ENV; env" | grep '^NCCL_' | sort | tr '\n' ' '; }
plan nccl "$(nccl 106)"
ok "file: a plan writes it" apply nccl
is "file: a shell that sources it has the variables" "$(sourced)" "NCCL_IB_HCA==rxe0:1 NCCL_IB_TC=106 "
is "file: everybody may read it" "$(stat -c %a $ENV)" 644
is "file: again, nothing to do" "$(steps nccl length)" 0
echo "export NCCL_DEBUG='INFO'" >>$ENV
is "file: a change by hand is seen" "$(steps nccl '[.[0].op,(.[0].from.text|endswith("export NCCL_DEBUG='"'INFO'"'\n"))]')" \
    '["change",true]'
plan two "$(nccl 104)" "$CLSACT" "$FLOWER"
refused "file: a plan that fails later is taken back" "all was taken back" fails_late two
is "file: the edited file is as it was" "$(tail -n 1 $ENV)" "export NCCL_DEBUG='INFO'"
ok "file: and repaired" apply nccl
is "file: to what it was" "$(sourced)" "NCCL_IB_HCA==rxe0:1 NCCL_IB_TC=106 "
rm $ENV
is "file: a removal by hand is seen" "$(steps nccl '[.[].op]')" '["add"]'
echo "export NCCL_IB_TC='1'" >$ENV
refused "file: a file of somebody else is left alone" "conflict.*nccl.env is not ours" dpctl check $WORK/nccl
is "file: and is as it was" "$(cat $ENV)" "export NCCL_IB_TC='1'"
rm $ENV
for name in ../nccl.env /etc/passwd a/b; do
    plan bad "$(file "$name" '{"NCCL_X":"1"}')"
    refused "file: $name is outside of the folder" "outside of /etc/stellar/env" dpctl check $WORK/bad
done
plan bad "$(file nccl.env '{"LD_PRELOAD":"/tmp/x.so"}')"
refused "file: only variables of NCCL" "LD_PRELOAD.*no variable" dpctl check $WORK/bad
ok "file: it is written again" apply nccl
echo "NCCL_X=1" >/etc/stellar/env/theirs.env
plan none
ok "file: what a plan no longer has is removed" apply none
is "file: ours is gone, theirs is there" "$(ls /etc/stellar/env)" theirs.env

# ---- solar.page, read by a program that knows the form alone (doc: datapath/solar/board.h, page.h)
SOLAR=/run/stellar/solar/solar_rdma.0-0.page
page() {
    python3 - "$SOLAR" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
room, _, newest = struct.unpack(">IIQ", data[16:32])
at = 32 + newest % 2 * (24 + room)
generation, size = struct.unpack(">QI", data[at:at + 12])
value = data[at + 24:at + 24 + size]
line, count = struct.unpack(">qH", value[:10])
name = value[12:28].rstrip(b"\0").decode()
rows = [struct.unpack(">IHBBqqii", value[28 + 32 * i:60 + 32 * i]) for i in range(count)]
print(generation == newest, line, name, *(":".join(map(str, (r[0], r[2], r[3], r[4], r[5]))) for r in rows))
END
}
label() { # LABEL LIMIT
    printf '{"beta_micro":null,"dscp":26,"eta_micro":50000,"guarantee_bps":1000000000,"label":%s,"limit_bps":%s,"priority":3,"weight":1}' "$1" "$2"
}
plan solar "$(knob solar.page '' "{\"labels\":[$(label 7 2000000000),$(label 8 null)],\"line_bps\":100000000000}")"
ok "solar: a plan writes it" apply solar
is "solar: an independent reader has the page" "$(page)" \
    "True 100000000000 solar0 7:26:3:1000000000:2000000000 8:26:3:1000000000:0"
is "solar: again, nothing to do" "$(steps solar length)" 0
printf 'x' | dd of=$SOLAR bs=1 seek=70 conv=notrunc 2>/dev/null
printf 'x' | dd of=$SOLAR bs=1 seek=8290 conv=notrunc 2>/dev/null
is "solar: one that is damaged is missed" "$(steps solar '[.[0].op,.[0].kind]')" '["add","solar.page"]'
ok "solar: and repaired" apply solar
is "solar: it is whole again" "$(page | cut -d' ' -f1-3)" "True 100000000000 solar0"
plan none "$CLSACT"
ok "solar: a plan without it removes it" apply none
is "solar: it is gone" "$(ls /run/stellar/solar)" "jobs"

# ---- tc.red under htb: RoCE traffic that is held to 80 Mb/s
modprobe rdma_rxe
pair_up 0
ip link set solar0 mtu 4200
ip link set solar1 mtu 4200
rxe_up 0
rxe_up 1
class() { knob tc.class "5e11:$1" "{\"ceil_bps\":$3,\"parent\":\"5e11:$4\",\"rate_bps\":$2}"; }
flow() { # LABEL DSCP ACTION...
    knob tc.flower "egress/$1" "{\"actions\":[$3],\"cookie\":\"$(printf '53544c52%08x0011223344556677' "$1")\",\"hw\":\"no\",\"match\":{\"dscp\":$2,\"dst_port\":4791,\"eth_type\":\"ipv4\",\"ip_proto\":\"udp\"}}"
}
queue() { knob tc.red "5e11:$1" "{\"ecn\":true,\"limit_bytes\":1048576,\"max_bytes\":$2,\"min_bytes\":8192,\"probability_permyriad\":5000}"; }
red_shown() { tc -s -j qdisc show dev solar0 | jq -c "[.[]|select(.kind==\"red\" and .parent==\"$1\")|$2][0]"; }
G=1000000000
htb() { # KMAX
    plan htb "$CLSACT" "$(knob tc.qdisc root '{"default_class":"5e11:ffff","handle":"5e11:","kind":"htb"}')" \
        "$(class fffe $((100 * G)) $((100 * G)) '')" "$(class 1a 80000000 80000000 fffe)" \
        "$(class ffff $((5 * G)) $((100 * G)) fffe)" "$(queue 1a "$1")" "$(flow 26 26 '{"class":"5e11:1a"}')"
}
htb 65536
ok "red: a plan puts it under a class" apply htb
is "red: tc shows it" "$(red_shown 5e11:1a '[.options.limit,.options.min,.options.max,.options.ecn]')" \
    '[1048576,8192,65536,true]'
is "red: again, nothing to do" "$(steps htb length)" 0
ok "red: RoCE traffic passes" pair_perftest 0 ib_write_bw -n 300 -s 65536 --tclass=106
marked=$(red_shown 5e11:1a .marked)
ok "red: RoCE packets are marked" [ "${marked:-0}" -gt 0 ]
tc qdisc replace dev solar0 parent 5e11:1a red limit 1000000 min 8192 max 32768 avpkt 4000 burst 10 probability 0.5 ecn
is "red: a change by hand is seen" "$(steps htb '[.[]|[.id,.op,.from.max_bytes]]')" '[["5e11:1a","change",32768]]'
ok "red: and repaired" apply htb
is "red: to what it was" "$(red_shown 5e11:1a .options.max)" 65536
htb 131072
ok "red: it changes while it lives" apply htb
is "red: to the new mark" "$(red_shown 5e11:1a .options.max)" 131072
plan bad "$(queue 1a 4096)"
refused "red: marks that make no sense are refused" "min_bytes <= max_bytes" dpctl check $WORK/bad

# ---- many classes and queues of one plan go together, in batches
many() { # NAME RATE KMAX
    set -- "$1" "$2" "$3" "$(knob tc.qdisc root '{"default_class":"5e11:ffff","handle":"5e11:","kind":"htb"}')" \
        "$(class fffe $((100 * G)) $((100 * G)) '')"
    for i in $(seq 16 55); do
        set -- "$@" "$(class "$(printf %x "$i")" "$2" $((100 * G)) fffe)" "$(queue "$(printf %x "$i")" "$3")"
    done
    name=$1
    shift 3
    plan "$name" "$@"
}
many many $G 65536
ok "many: a plan of 40 classes and queues is applied" apply many
is "many: tc shows each" "$(tc class show dev solar0 | grep -c 'parent 5e11:fffe') $(tc -j qdisc show dev solar0 | jq '[.[]|select(.kind=="red")]|length')" "40 40"
is "many: again, nothing to do" "$(steps many length)" 0
many other $((2 * G)) 131072
ok "many: all of them change" apply other
is "many: tc shows the new rate and mark of each" \
    "$(tc class show dev solar0 | grep -c 'rate 2Gbit') $(tc -j qdisc show dev solar0 | jq '[.[]|select(.kind=="red" and .options.max==131072)]|length')" "40 40"
plan broken "$(class fffe $((100 * G)) $((100 * G)) '')" \
    "$(knob tc.qdisc root '{"default_class":"5e11:ffff","handle":"5e11:","kind":"htb"}')" \
    $(for i in $(seq 16 30); do class "$(printf %x "$i")" $G $((100 * G)) "$([ "$i" = 25 ] && echo 77 || echo fffe)" && echo; done)
plan nothing
ok "many: all are removed" apply nothing
refused "many: one that the kernel refuses names itself" "5e11:19" apply broken
is "many: and nothing of the plan is left" "$(tc class show dev solar0 | grep -c 'class htb')" 0

# ---- tc.qdisc: ets
ETS='{"bands":3,"handle":"5e11:","kind":"ets","priomap":[2,2,2,1,2,2,0,2,2,2,2,2,2,2,2,2],"quanta":[90840,60560],"strict":1}'
ets() { # ETS
    plan ets "$CLSACT" "$(knob tc.qdisc root "$1")" "$(queue 2 65536)" "$(flow 26 26 '{"class":"5e11:2"}')"
}
ets "$ETS"
plan htb "$CLSACT" "$(knob tc.qdisc root '{"default_class":"5e11:ffff","handle":"5e11:","kind":"htb"}')" \
    "$(class fffe $((100 * G)) $((100 * G)) '')" "$(class 2 $G $((100 * G)) fffe)" "$(queue 2 65536)"
ok "ets: before it there is htb, with a queue of the same number" apply htb
ok "ets: a plan puts it in htb's place, and the queue on it again" apply ets
ok "ets: and back" apply htb
ok "ets: again" apply ets
is "ets: tc shows it" "$(tc -j qdisc show dev solar0 root | jq -c '.[0]|[.kind,.handle,.options.bands,.options.strict,.options.quanta]')" \
    '["ets","5e11:",3,1,[90840,60560]]'
is "ets: and the priorities" "$(tc -j qdisc show dev solar0 root | jq -c '.[0].options.priomap')" \
    '[2,2,2,1,2,2,0,2,2,2,2,2,2,2,2,2]'
is "ets: whether the NIC does it is told as tc tells it" "$(live tc.qdisc root | jq '.offloaded // false')" \
    "$(tc -j qdisc show dev solar0 root | jq '.[0].offloaded // false')"
is "ets: again, nothing to do" "$(steps ets length)" 0
ethtool -K solar0 hw-tc-offload off # the queues of the kernel, not of the NIC
tc qdisc del dev solar0 root
is "ets: a removal by hand is seen" "$(steps ets '[.[]|[.op,.kind]]')" '[["add","tc.qdisc"],["add","tc.red"]]'
ok "ets: and repaired" apply ets
ok "ets: RoCE traffic passes" pair_perftest 0 ib_write_bw -n 50 -s 65536 --tclass=106
band() { tc -s -j class show dev solar0 | jq "[.[]|select(.handle==\"5e11:$1\")|.stats.packets // .packets][0]"; }
sent=$(red_shown 5e11:2 .packets)
ok "ets: its packets went through the band of their class" [ "${sent:-0}" -gt 500 ]
ets "$(echo "$ETS" | sed 's/90840/30280/')"
is "ets: other shares are one change" "$(steps ets '[.[]|[.op,.kind]]')" '[["change","tc.qdisc"]]'
ok "ets: of the one that lives" apply ets
is "ets: to the new shares" "$(tc -j qdisc show dev solar0 root | jq -c '.[0].options.quanta')" '[30280,60560]'
is "ets: whose queue stays" "$(red_shown 5e11:2 .packets)" "$sent"
# ---- the shares of ets under a bottleneck: the plan's own filters and numbers, below a shaped link that is made by hand
# (the test NIC's wire takes all at once). The NIC counts what left it, by its own table of DSCPs.
share_flow() { # LABEL DSCP CLASS
    knob tc.flower "egress/$1" "{\"actions\":[{\"class\":\"5e11:$3\"}],\"cookie\":\"$(printf '53544c52%08x0011223344556677' "$1")\",\"hw\":\"no\",\"match\":{\"dscp\":$2,\"dst_port\":5001,\"eth_type\":\"ipv4\",\"ip_proto\":\"udp\"}}"
}
plan shares "$CLSACT" "$(knob tc.qdisc root "$(echo "$ETS" | sed 's/90840/30280/')")" "$(share_flow 26 26 2)" "$(share_flow 10 10 3)"
ok "shares: a plan of two flows, one part to two" apply shares
made=$(tc -j qdisc show dev solar0 root | jq -r '.[0].options|"bands \(.bands) strict \(.strict) quanta \(.quanta|map(tostring)|join(" ")) priomap \(.priomap|map(tostring)|join(" "))"')
tc qdisc del dev solar0 root
tc qdisc add dev solar0 root handle 1: tbf rate 5mbit burst 16kb latency 1s
# shellcheck disable=SC2086
ok "shares: its numbers below a link of 5 Mb/s" tc qdisc add dev solar0 parent 1:1 handle 5e11: ets $made
dcb app replace dev solar0 dscp-prio 26:3 10:1
sent_of() { counter solar0 "tx_prio$1_packets"; }
cat >$WORK/flood.py <<'END'
import socket, sys, time
flows = []
for tos in (26 << 2, 10 << 2):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"solar0")
    s.bind(("10.9.0.1", 0))
    s.connect(("10.9.0.2", 5001))
    s.setblocking(False)
    flows.append(s)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    for s in flows:
        try:
            s.send(bytes(1400))
        except (BlockingIOError, ConnectionRefusedError):
            pass
END
shares() { # what DSCP 26 got of both, in per cent, from when both queues are full
    python3 $WORK/flood.py 10 &
    flood=$!
    sleep 1
    three=$(sent_of 3) one=$(sent_of 1)
    sleep 8
    three=$(($(sent_of 3) - three)) one=$(($(sent_of 1) - one))
    wait $flood
    echo "# shares: $three and $one packets" >&2
    echo $((100 * three / (three + one + 1)))
}
got=$(shares)
ok "shares: the smaller one is a third within a tenth ($got %)" awk -v g="$got" 'BEGIN { exit !(g >= 30 && g <= 36) }'
tc qdisc del dev solar0 root
dcb app flush dev solar0 dscp-prio

plan bad "$(knob tc.qdisc root "$(echo "$ETS" | sed 's/"bands":3/"bands":17/')")"
refused "ets: more bands than the kernel has are refused" "bands.*range" dpctl check $WORK/bad

# ---- police: RoCE of 4 KiB, whose packets are larger than the default of tc
plan police "$CLSACT" "$(knob tc.qdisc root "$ETS")" \
    "$(flow 26 26 '{"class":"5e11:2"},{"burst_bytes":262144,"police_bps":800000000}')"
ok "police: a plan sets it" apply police
is "police: tc shows an MTU that fits" "$(tc filter show dev solar0 egress | grep -o 'mtu [^ ]*')" "mtu 64Kb"
ok "police: RoCE traffic of 4 KiB passes" pair_perftest 0 ib_write_bw -m 4096 -n 20 -s 65536 --tclass=106
ok "police: nothing is left" apply none

is "the kernel has nothing to complain of" "$(kernel_complaints)" ""
tap_end
