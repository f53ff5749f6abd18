#!/bin/sh
# lab: timeout=420
# Knobs of RDMA devices and their drivers against a real kernel and the test NIC: each is set by a plan through
# dpctl, read by a program that knows nothing of the product, changed by hand and seen, and taken back; refusals
# carry the kernel's words. Argument: the build folder.
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
step_count() { dpctl steps "$WORK/$1" | jq length; }

ip link set solar0 up
ip link set solar1 up
modprobe rdma_rxe && rdma link add rxe0 type rxe netdev solar0

# ---- roce.tos: configfs of rdma_cm
CM=/sys/kernel/config/rdma_cm
tos() { knob roce.tos '' "{\"mode\":\"RoCE v2\",\"tos\":$1}" "${2-$PORT}"; }
plan tos "$(tos 106)"
if [ ! -d $CM ]; then
    refused "tos: without rdma_cm it is unsupported and says what to load" "unsupported.*load the module rdma_cm" \
        dpctl check $WORK/tos
    is "tos: the inventory says so" "$(caps .roce_tos)" false
    modprobe rdma_cm
fi
is "tos: the inventory has it" "$(caps .roce_tos)" true
ok "tos: a plan sets it" apply tos
is "tos: the kernel shows it" "$(cat $CM/rxe0/ports/1/default_roce_tos)" 106
is "tos: again, nothing to do" "$(step_count tos)" 0
echo 32 >$CM/rxe0/ports/1/default_roce_tos
is "tos: a change by hand is seen" "$(dpctl steps $WORK/tos | jq -c '[.[0].op,.[0].from.tos,.[0].to.tos]')" \
    '["change",32,106]'
ok "tos: and repaired" apply tos
# FLOWER fails after what stands before it in a plan's order was done.
FLOWER=$(knob tc.flower ingress/7 '{"actions":[{"priority":3}],"cookie":"53544c52000000070011223344556677","hw":"only","match":{"dscp":26,"eth_type":"ipv4"}}')
CLSACT=$(knob tc.clsact '' true)
fails_late() { # PLAN: applied with a flow table that fails
    poke solar0 fail_flower_set 1
    apply "$1"
}
plan two "$(tos 72)" "$CLSACT" "$FLOWER"
refused "tos: a plan that fails later is taken back" "all was taken back" fails_late two
is "tos: it is as it was" "$(cat $CM/rxe0/ports/1/default_roce_tos)" 106
plan bad "$(tos 256)"
refused "tos: more than a byte is refused" "tos.*range" dpctl check $WORK/bad
plan bad "$(knob roce.tos '' '{"mode":"RoCE v9","tos":106}')"
refused "tos: a version that the kernel refuses is named" "roce.tos.*Invalid argument" apply bad
is "tos: and nothing changed" "$(cat $CM/rxe0/ports/1/default_roce_mode)" "RoCE v2"
plan bad "$(tos 106 solar_rdma.1/0)"
refused "tos: a port without an RDMA device is unsupported" "unsupported.*no RDMA device stands on solar1" \
    dpctl check $WORK/bad

# ---- roce.cc: the vendor's files, on the test NIC as mlx5's package has them
ECN=/sys/class/net/solar0/ecn
if [ -d $ECN ]; then
    cc() { knob roce.cc '' "$1"; }
    plan cc "$(cc '{"notify":[3],"parameters":{"cnp_dscp":46,"min_time_between_cnps_us":8},"react":[3,4]}')"
    is "cc: the inventory names the back-end" "$(caps .roce_cc.backend)" '"mlx5-ofed"'
    ok "cc: a plan sets it" apply cc
    is "cc: the kernel shows the CNP's DSCP" "$(cat $ECN/roce_np/cnp_dscp)" 46
    is "cc: and the time between two" "$(cat $ECN/roce_np/min_time_between_cnps)" 8
    is "cc: and the priorities" "$(cat $ECN/roce_np/enable/[0-7] $ECN/roce_rp/enable/[0-7] | tr -d '\n')" \
        0001000000011000
    is "cc: again, nothing to do" "$(step_count cc)" 0
    echo 40 >$ECN/roce_np/cnp_dscp
    is "cc: a change by hand is seen" "$(dpctl steps $WORK/cc | jq -c '[.[0].op,.[0].from.parameters.cnp_dscp]')" \
        '["change",40]'
    ok "cc: and repaired" apply cc
    plan two "$(cc '{"parameters":{"cnp_dscp":30},"react":[]}')" "$CLSACT" "$FLOWER"
    refused "cc: a plan that fails later is taken back" "all was taken back" fails_late two
    is "cc: it is as it was" "$(cat $ECN/roce_np/cnp_dscp $ECN/roce_rp/enable/3 | tr '\n' ' ')" "46 1 "
    poke solar0 fail_cc_set 1
    plan bad "$(cc '{"parameters":{"cnp_dscp":30}}')"
    refused "cc: a refusal carries the kernel's words" "roce_np/cnp_dscp.*Input/output error" apply bad
    poke solar0 ignore_cc_set 1
    refused "cc: a set that the driver swallows is noticed" "kernel took.*but shows" apply bad
    plan bad "$(cc '{"parameters":{"init_cr":1}}')"
    refused "cc: a parameter of another vendor is unsupported" "unsupported.*no parameter init_cr" \
        dpctl check $WORK/bad
    plan bad "$(cc '{"parameters":{"cnp_dscp":64}}')"
    refused "cc: a value out of range is refused" "cnp_dscp of 64.*range" dpctl check $WORK/bad
else
    skip_test "cc: the vendor's files" "the test NIC has no ecn/"
fi
plan bad "$(knob roce.cc '' '{"parameters":{"cnp_dscp":46}}' virtual.lo/0)"
refused "cc: a driver without parameters is unsupported" "unsupported.*(unknown) of lo" \
    "$DPCTL" --devices lo check $WORK/bad

# ---- dcb.dcbx: one manager
HOST_MODE='{"agent":"none","mode":["host","ieee"]}'
plan dcbx "$(knob dcb.dcbx '' "$HOST_MODE")"
is "dcbx: the inventory knows of no other manager" "$(caps .dcbx_agent)" '"none"'
ok "dcbx: the host is the manager" apply dcbx
# dcbx_raw MODE: sets solar0's mode by netlink, with none of the product's code (linux/dcbnl.h); prints the answer.
dcbx_raw() {
    python3 - "$@" <<'END'
import socket, struct, sys
RTM_SETDCB, SDCBX, IFNAME, DCBX = 79, 23, 1, 14
def attr(kind, data):
    return struct.pack("HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)
body = struct.pack("BBH", 0, SDCBX, 0) + attr(IFNAME, b"solar0\0") + attr(DCBX, bytes([int(sys.argv[1])]))
sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
sock.send(struct.pack("IHHII", 16 + len(body), RTM_SETDCB, 1, 1, 0) + body)
reply = sock.recv(4096)
assert struct.unpack_from("H", reply, 22)[0] == DCBX, reply
print(reply[24])
END
}
is "dcbx: somebody hands it to the firmware" "$(dcbx_raw 0)" 0
is "dcbx: a change by hand is seen" "$(dpctl steps $WORK/dcbx | jq -c '[.[0].op,.[0].from.mode]')" '["change",[]]'
ok "dcbx: and repaired" apply dcbx
is "dcbx: the kernel shows it" "$(dcbread solar0 | jq .dcbx)" 9
# As lldpad does: it listens on its name.
python3 -c 'import socket,time
s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.bind("\0/com/intel/lldpad"); time.sleep(60)' &
lldpad=$!
for _ in $(seq 50); do
    grep -q '@/com/intel/lldpad$' /proc/net/unix && break
    sleep 0.1
done
refused "dcbx: a running lldpad is a conflict, by name" "conflict.*lldpad manages DCBX.*systemctl disable" \
    dpctl check $WORK/dcbx
is "dcbx: the inventory names it" "$(caps .dcbx_agent)" '"lldpad"'
kill $lldpad
wait $lldpad 2>/dev/null
ok "dcbx: without it the plan passes" apply dcbx
poke solar0 dcbx_mode 10 # IEEE, managed by the firmware
refused "dcbx: a firmware that runs DCBX is a conflict" "conflict.*firmware of solar0 runs DCBX" \
    dpctl check $WORK/dcbx
is "dcbx: the inventory tells" "$(caps .dcbx_agent)" '"firmware"'
poke solar0 dcbx_mode 9
plan bad "$(knob dcb.dcbx '' "$HOST_MODE" virtual.lo/0)"
refused "dcbx: a device without DCB is unsupported" "unsupported.*lo.*DCBX" "$DPCTL" --devices lo check $WORK/bad

# ---- devlink.param
DL=platform/solar_rdma.0
param() { devlink -j dev param show $DL name "$1" | jq -c ".param[\"$DL\"][0].values[0]|[.cmode,.value]"; }
plan params "$(knob devlink.param dce_tcp_g '{"runtime":1000}')" \
    "$(knob devlink.param enable_roce '{"driverinit":false}')" \
    "$(knob devlink.param enable_sriov '{"permanent":true}')" \
    "$(knob devlink.param flow_steering_mode '{"runtime":"smfs"}')"
is "param: the inventory lists them" "$(caps '.devlink_params|[.dce_tcp_g,.enable_roce,.enable_sriov]')" \
    '[["runtime"],["driverinit"],["permanent"]]'
is "param: each says what it takes" "$(dpctl steps $WORK/params | jq -c '[.[]|.disruption]')" \
    '["none","driver-reload","reboot","none"]'
ok "param: a plan sets them" apply params
is "param: a number" "$(param dce_tcp_g)" '["runtime",1000]'
is "param: a boolean that is false" "$(param enable_roce)" '["driverinit",false]'
is "param: a boolean that is true" "$(param enable_sriov)" '["permanent",true]'
is "param: a text" "$(param flow_steering_mode)" '["runtime","smfs"]'
is "param: what is asked for is not yet in effect" "$(peek solar0 enable_roce)" Y
is "param: three states" "$(dpctl observe $WORK/params |
    jq -cS '[.knobs[]|select(.id=="dce_tcp_g" or .id=="enable_sriov")|[.live,.persisted,.next_boot]]')" \
    '[[{"runtime":1000},null,{"runtime":1000}],[null,{"permanent":true},{"permanent":true}]]'
devlink dev param set $DL name enable_roce value true cmode driverinit
is "param: a change by hand is seen" "$(dpctl steps $WORK/params | jq -c '[.[]|[.id,.from.driverinit]]')" \
    '[["enable_roce",true]]'
ok "param: and repaired" apply params
plan two "$(knob devlink.param dce_tcp_g '{"runtime":5}')" "$CLSACT" "$FLOWER"
refused "param: a plan that fails later is taken back" "all was taken back" fails_late two
is "param: it is as it was" "$(param dce_tcp_g)" '["runtime",1000]'
plan bad "$(knob devlink.param dce_tcp_g '{"runtime":1024}')"
refused "param: a refusal carries the driver's words" "dce_tcp_g must be 1..1023" apply bad
plan bad "$(knob devlink.param no_such '{"runtime":1}')"
refused "param: an unknown one is unsupported" "unsupported.*no parameter no_such" dpctl check $WORK/bad
plan bad "$(knob devlink.param dce_tcp_g '{"permanent":1}')"
refused "param: a cmode that it lacks is unsupported" "unsupported.*no permanent value" dpctl check $WORK/bad
plan bad "$(knob devlink.param dce_tcp_g '{"runtime":true}')"
refused "param: the wrong type is refused" "must be a number of 32 bits" dpctl check $WORK/bad
poke solar0 ignore_param_set 1
plan bad "$(knob devlink.param dce_tcp_g '{"runtime":7}')"
refused "param: a set that the driver swallows is noticed" "kernel took.*but shows" apply bad

# ---- devlink.rate
rate() { devlink -j port function rate show "$DL/$1" 2>/dev/null | jq -c ".rate[\"$DL/$1\"]//empty|[.tx_share,.tx_max,.parent]"; }
leaf() { knob devlink.rate "leaf/$1" "{\"parent\":\"stellar\",\"tx_max_bps\":$3,\"tx_share_bps\":$2}"; }
node() { knob devlink.rate node/stellar "{\"tx_max_bps\":null,\"tx_share_bps\":$1}"; }
plan rates "$(node 30000000000)" "$(leaf pf0vf0 20000000000 40000000000)" "$(leaf pf0vf1 10000000000 null)"
ok "rate: a plan sets two functions and their node" apply rates
is "rate: the kernel shows the node, bytes a second" "$(rate stellar)" '[3750000000,null,null]'
is "rate: and the first function" "$(rate 1)" '[2500000000,5000000000,"stellar"]'
is "rate: and the second, which has no limit" "$(rate 2)" '[1250000000,null,"stellar"]'
is "rate: the device was told" "$(peek solar0 vf0_tx_max)" 5000000000
is "rate: again, nothing to do" "$(step_count rates)" 0
devlink port function rate set $DL/1 tx_max 30gbit
is "rate: a change by hand is seen" "$(dpctl steps $WORK/rates | jq -c '[.[]|[.id,.from.tx_max_bps]]')" \
    '[["leaf/pf0vf0",30000000000]]'
ok "rate: and repaired" apply rates
is "rate: to what it was" "$(rate 1)" '[2500000000,5000000000,"stellar"]'
devlink port function rate add $DL/theirs
devlink port function rate set $DL/1 noparent
devlink port function rate set $DL/1 parent theirs
ok "rate: a function that was put elsewhere comes back" apply rates
is "rate: into its node" "$(rate 1)" '[2500000000,5000000000,"stellar"]'
plan two "$(node 30000000000)" "$(leaf pf0vf0 1000000000 2000000000)" "$(leaf pf0vf1 10000000000 null)" \
    "$CLSACT" "$FLOWER"
refused "rate: a plan that fails later is taken back" "all was taken back" fails_late two
is "rate: it is as it was" "$(rate 1)" '[2500000000,5000000000,"stellar"]'
plan bad "$(node 30000000000)" "$(leaf pf0vf0 20000000000 40000500000)" "$(leaf pf0vf1 10000000000 null)"
refused "rate: a refusal carries the driver's words" "multiple of 1 Mb/s" apply bad
is "rate: and nothing of it stays" "$(rate 1)" '[2500000000,5000000000,"stellar"]'
plan bad "$(node 1000000000)" "$(leaf pf0vf9 1000000000 null)"
refused "rate: a function that is not there is unsupported" "unsupported.*no function pf0vf9" dpctl check $WORK/bad
# A node of somebody else's, with the second function in it, is left alone.
devlink port function rate set $DL/2 noparent
devlink port function rate set $DL/2 parent theirs
plan none
ok "rate: what a plan no longer has is removed" apply none
is "rate: the node is gone" "$(rate stellar)" ''
is "rate: the function has no rates" "$(rate 1)" '[null,null,null]'
is "rate: the other's function is left alone" "$(rate 2)" '[1250000000,null,"theirs"]'
plan bad "$(knob devlink.rate node/theirs '{"tx_max_bps":null,"tx_share_bps":8000000}')"
refused "rate: a node with another name is refused" "does not begin with stellar" dpctl check $WORK/bad

is "the kernel has nothing to complain of" "$(kernel_complaints)" ""
tap_end
