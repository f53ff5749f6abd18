#!/bin/sh
# lab: timeout=300
# The inventory against independent readers (ethtool, devlink, rdma, sysfs), and its changes: they are announced,
# not found by polling. Argument: the build folder.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

DPCTL=/host$1/tests/lab/dpctl
WORK=/tmp/inventory
mkdir -p $WORK
[ -x "$DPCTL" ] || {
    echo "1..0 # SKIP $DPCTL is not built"
    exit 77
}

all() { "$DPCTL" inventory; }
of_port() { jq -r ".ports[]|select(.ifname==\"$1\")|$2" $WORK/all; }

# changes TEXT COMMAND...: the command makes another inventory, told by an event
changes() {
    text=$1
    shift
    "$DPCTL" watch-inventory 20 >$WORK/watch 2>&1 &
    watcher=$!
    for _ in $(seq 100); do
        grep -qs watching $WORK/watch && break
        sleep 0.1
    done
    "$@"
    wait $watcher
    is "$text" "$?" 0
}

ip link set solar0 up
ip link set solar1 up
modprobe rdma_rxe && rdma link add rxe0 type rxe netdev solar0
all >$WORK/all
is "nothing failed" "$(jq -c .problems $WORK/all)" "[]"

# ---- against others
is "driver as ethtool has it" "$(of_port solar0 .driver)" "$(ethtool -i solar0 | sed -n 's/^driver: //p')"
is "speed as ethtool has it" "$(of_port solar0 '.speed_bps/1000000|floor')" \
    "$(ethtool solar0 | sed -n 's/.*Speed: \([0-9]*\)Mb.*/\1/p')"
is "FEC in use as ethtool has it" "$(of_port solar0 '.fec.active//"none"' | tr 'a-z' 'A-Z')" \
    "$(ethtool --show-fec solar0 2>/dev/null | sed -n 's/^Active FEC encoding[s]*: *//p' | grep . || echo NONE)"
is "hardware address as ip has it" "$(of_port solar0 .mac)" "$(ip -j link show solar0 | jq -r '.[0].address')"
is "link state as ip has it" "$(of_port solar0 .link.state)" \
    "$(ip -j link show solar0 | jq -r '.[0].operstate' | tr 'A-Z' 'a-z')"
is "firmware as devlink has it" "$(of_port solar0 .firmware)" \
    "$(devlink -j dev info | jq -r '[.info[]][0].versions.running.fw')"
is "serial as devlink has it" "$(of_port solar0 .serial)" \
    "$(devlink -j dev info | jq -r '[.info[]][0].serial_number')"
is "RDMA device as rdma has it" "$(of_port solar0 .rdma_device)" \
    "$(rdma -j link show | jq -r '.[]|select(.netdev=="solar0")|.ifname')"
is "it is software and belongs to its port" \
    "$(jq -c '.rdma_devices[]|select(.name=="rxe0")|[.software,.port_ids,.netdev]' $WORK/all)" \
    "[true,[\"$(of_port solar0 .id)\"],\"solar0\"]"
is "its GUID as rdma has it" "$(jq -r '.rdma_devices[]|select(.name=="rxe0")|.node_guid' $WORK/all)" \
    "$(rdma -j dev show rxe0 | jq -r '.[0].node_guid')"
is "a GID as sysfs has it" \
    "$(jq -r '.rdma_devices[]|select(.name=="rxe0")|.ports[0].gids[0].type' $WORK/all)" rocev2
is "processors as sysfs has them" "$(jq .cpu.threads $WORK/all)" "$(grep -c ^processor /proc/cpuinfo)"
is "kernel" "$(jq -r .kernel $WORK/all)" "$(uname -r)"
is "huge pages" "$(jq -r .thp.enabled $WORK/all)" \
    "$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/mm/transparent_hugepage/enabled)"
is "a parameter of the module" "$(jq -r .modules.solar_rdma.parameters.max_sge $WORK/all)" \
    "$(cat /sys/module/solar_rdma/parameters/max_sge)"
is "no GPU, no complaint" "$(jq -c .gpus $WORK/all)" null
is "again the same" "$(all | jq -cS . | cksum)" "$(jq -cS . $WORK/all | cksum)"

# ---- changes
changes "an RDMA device that goes" rdma link delete rxe0
changes "and comes back" rdma link add rxe0 type rxe netdev solar0
changes "an MTU" ip link set solar0 mtu 4000
rdma link delete rxe0
changes "all ports go with their driver" rmmod solar_rdma
is "and none is left" "$(all | jq '[.ports[]|select(.driver=="solar_rdma")]|length')" 0
changes "and come back" modprobe solar_rdma
is "with the id that they had" "$(all | jq -r '.ports[]|select(.ifname=="solar0")|.id')" "$(of_port solar0 .id)"
is "no complaint of the kernel" "$(kernel_complaints)" ""
tap_end
