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

is "the kernel has nothing to complain of" "$(kernel_complaints)" ""
tap_end
