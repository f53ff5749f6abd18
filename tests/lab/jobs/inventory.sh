#!/bin/sh
# lab: timeout=420
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

# ---- the other end of the cable, as it says by LLDP
until_line() { # N: line N of what was told, when it is there
    for _ in $(seq 150); do
        [ "$(wc -l <$WORK/neighbours)" -ge "$1" ] && break
        sleep 0.2
    done
    sed -n "$1p" $WORK/neighbours
}
"$DPCTL" --devices solar0,solar1 neighbours 200 >$WORK/neighbours 2>&1 &
listener=$!
is "nobody has spoken yet" "$(until_line 1)" "{}"
"$here/lldp_send.py" solar1 leaf1 8 dcb
is "a frame on the wire is a neighbour of the port that it comes to" \
    "$(until_line 2 | jq -c '[keys, .solar0.system, .solar0.port, .solar0.chassis, .solar0.port_description]')" \
    '[["solar0"],"leaf1","Ethernet8","94:6d:ae:00:00:01","to n1"]'
is "with what it does to priority 3" "$(sed -n 2p $WORK/neighbours | jq -cS '.solar0.priorities[3]')" \
    '{"class":3,"lossless":true,"percent":50,"priority":3,"tsa":"ets"}'
is "and to DSCP 26" "$(sed -n 2p $WORK/neighbours | jq -cS '.solar0.dscps')" '[{"dscp":26,"priority":3}]'
is "it is gone when its time is over" "$(until_line 3)" "{}"
"$here/lldp_send.py" solar1 leaf2 100
is "another one comes" "$(until_line 4 | jq -r .solar0.system)" leaf2
"$here/lldp_send.py" solar1 leaf2 0
is "and says good bye" "$(until_line 5)" "{}"
kill $listener

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
