#!/bin/sh
# Every feature of the test NIC, by stock tools and dcbread. No product code runs here.
# usage: kmod_selftest.sh [PART...]     (default: all parts)
# lab: timeout=600
# shellcheck disable=SC1091
. ./lib.sh
. ./kmod_devlink.sh
. ./kmod_offload.sh

dcbjq() { # NETDEV FILTER
    dcbread "$1" | jq -c "$2"
}

rate_limits() { # NETDEV: what the oracle reads of class 3
    dcbjq "$1" '.maxrate_bps[3]'
}

test_identity() {
    is 'three pairs give six netdevs' "$(ls -d /sys/class/net/solar* | wc -l)" 6
    is 'the device of a netdev is bound to solar_rdma' \
        "$(basename "$(readlink -f /sys/class/net/solar3/device/driver)")" solar_rdma
    is 'the device of a netdev is its own' \
        "$(basename "$(readlink -f /sys/class/net/solar3/device)")" solar_rdma.3
    is 'MTU is 4200' "$(cat /sys/class/net/solar0/mtu)" 4200
    is 'type is Ethernet' "$(cat /sys/class/net/solar0/type)" 1
    ok 'MTU can be set' ip link set solar0 mtu 9000
    is 'MTU was set' "$(cat /sys/class/net/solar0/mtu)" 9000
    refused 'MTU over 9978 is refused' 'greater than device maximum' ip link set solar0 mtu 9979
    ip link set solar0 mtu 4200
    is 'PCIe speed' "$(cat /sys/class/net/solar0/device/current_link_speed)" '16.0 GT/s PCIe'
    poke solar0 pcie_width 8
    is 'a narrow PCIe link shows' "$(cat /sys/class/net/solar0/device/current_link_width)" 8
    poke solar0 pcie_width 16
    poke solar0 aer_bad_tlp 7
    ok 'PCIe errors show' grep -qx 'BadTLP 7' /sys/class/net/solar0/device/aer_dev_correctable
}

test_dcb_app() {
    ok 'DSCP 26 to priority 3' dcb app add dev solar0 dscp-prio 26:3
    is 'the app table holds it' "$(dcbjq solar0 .app)" '[{"selector":5,"protocol":26,"priority":3}]'
    dcb app add dev solar0 dscp-prio 26:4
    is 'one priority a DSCP' "$(dcbjq solar0 '[.app[].priority]')" '[4]'
    dcb app add dev solar0 ethtype-prio 0x8915:3 >/dev/null 2>&1
    is 'an ethertype entry is refused' "$(dcbjq solar0 '.app | length')" 1
    dcb app flush dev solar0
    is 'the app table is empty again, trust is PCP' "$(dcbjq solar0 '[.app, .trust]')" '[[],"pcp"]'
}

test_dcb_ets() {
    dcb ets set dev solar0 tc-tsa 0:ets 1:ets 2:ets 3:ets 4:strict 5:strict 6:strict 7:strict \
        tc-bw 0:10 1:20 2:30 3:40 prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:6
    is 'ETS shares' "$(dcbjq solar0 .ets.bw)" '[10,20,30,40,0,0,0,0]'
    is 'ETS algorithms' "$(dcbjq solar0 '.ets.tsa[3:5]')" '["ets","strict"]'
    is 'ETS priorities' "$(dcbjq solar0 .ets.prio_tc)" '[0,1,2,3,4,5,6,6]'
    is 'ETS capacity' "$(dcbjq solar0 .ets.cap)" 8
    poke solar0 fail_ets_set 1
    dcb ets set dev solar0 prio-tc 7:7 >/dev/null 2>&1
    is 'a set fails on demand and changes nothing' "$(dcbjq solar0 '.ets.prio_tc[7]')" 6
    poke solar0 ignore_ets_set 1
    dcb ets set dev solar0 prio-tc 7:7
    is 'a set is swallowed on demand' "$(dcbjq solar0 '.ets.prio_tc[7]')" 6
    dcb ets set dev solar0 prio-tc 7:7
    is 'and works again' "$(dcbjq solar0 '.ets.prio_tc[7]')" 7
}

test_dcb_pfc() {
    dcb pfc set dev solar0 prio-pfc 3:on 4:on delay 40
    is 'PFC on two priorities' "$(dcbjq solar0 '[.pfc.enabled, .pfc.delay]')" '[[3,4],40]'
    poke solar0 counters/tx_prio3_pause 111
    poke solar0 counters/rx_prio4_pause 222
    is 'PFC requests and indications' \
        "$(dcbjq solar0 '[.pfc.requests[3], .pfc.indications[4]]')" '[111,222]'
    poke solar0 fail_dcb_set 1
    dcb pfc set dev solar0 prio-pfc 3:off 4:off >/dev/null 2>&1
    is 'fail_dcb_set reaches PFC' "$(dcbjq solar0 .pfc.enabled)" '[3,4]'
    ip link set solar0 up
    poke solar0 pfc_resets_link 1
    before=$(counter solar1 link_flaps)
    dcb pfc set dev solar0 prio-pfc 4:off
    is 'PFC resets the link of both ends on demand' "$(counter solar1 link_flaps)" $((before + 1))
    poke solar0 pfc_resets_link 0
    ip link set solar0 down
}

# Debian's dcb puts bytes/s where the kernel wants kbit/s: 204400kbit = 25,550,000 B/s = 25.55 Gb/s.
test_dcb_maxrate() {
    dcb maxrate set dev solar0 tc-maxrate 3:204400kbit
    is 'a rate is floored to 100 Mb/s' "$(rate_limits solar0)" 25500000000
    dcb maxrate set dev solar0 tc-maxrate 3:400kbit >/dev/null 2>&1
    is 'a rate that floors to 0 is refused' "$(rate_limits solar0)" 25500000000
    dcb maxrate set dev solar0 tc-maxrate 3:800kbit
    is 'one unit is accepted' "$(rate_limits solar0)" 100000000
    dcb maxrate set dev solar0 tc-maxrate 3:0bit
    is '0 is no limit' "$(rate_limits solar0)" null
}

test_dcb_buffer() {
    dcb buffer set dev solar0 prio-buffer 3:1 buffer-size 0:100000 1:424288
    is 'buffers up to the total' \
        "$(dcbjq solar0 '[.buffer.prio2buffer[3], .buffer.size[1], .buffer.total_size]')" \
        '[1,424288,524288]'
    dcb buffer set dev solar0 buffer-size 1:424289 >/dev/null 2>&1
    is 'one byte over the total is refused' "$(dcbjq solar0 '.buffer.size[1]')" 424288
    poke solar0 buffer_total 1000000
    dcb buffer set dev solar0 buffer-size 1:424289
    is 'the total is settable' "$(dcbjq solar0 '.buffer.size[1]')" 424289
}

test_dcb_dcbx() {
    is 'DCBX starts in host IEEE mode' "$(dcbjq solar0 .dcbx)" 9
    dcb dcbx set dev solar0 lld-managed >/dev/null 2>&1
    is 'another DCBX mode is refused' "$(dcbjq solar0 .dcbx)" 9
    ok 'host and IEEE are accepted' dcb dcbx set dev solar0 host ieee
    dcb pfc set dev solar0 prio-pfc all:off
    poke solar0 dcbx_refuses 1
    poke solar0 dcbx_mode 10
    dcb pfc set dev solar0 prio-pfc 6:on >/dev/null 2>&1
    dcb ets set dev solar0 prio-tc 7:0 >/dev/null 2>&1
    is 'a port that the host does not manage refuses' \
        "$(dcbjq solar0 '[.dcbx, .pfc.enabled, .ets.prio_tc[7]]')" '[10,[],7]'
    dcb dcbx set dev solar0 host ieee
    dcb pfc set dev solar0 prio-pfc 6:on
    is 'and accepts after host and IEEE' "$(dcbjq solar0 '[.dcbx, .pfc.enabled]')" '[9,[6]]'
    dcb pfc set dev solar0 prio-pfc 6:off
    poke solar0 dcbx_refuses 0
    is 'a port that has no DCB says so' "$(dcbread lo 2>&1)" 'dcbread: lo: Operation not supported'
}

test_ethtool() {
    ip link set solar0 up
    ip link set solar1 up
    ok 'driver and bus' sh -c 'ethtool -i solar0 | grep -qx "bus-info: solar_rdma.0"'
    is 'speed' "$(cat /sys/class/net/solar0/speed)" 100000
    ok 'ethtool sets a speed that the cable knows' \
        ethtool -s solar0 speed 200000 duplex full autoneg off
    is 'the speed changed' "$(cat /sys/class/net/solar0/speed)" 200000
    refused 'and refuses another' . ethtool -s solar0 speed 1000 duplex full autoneg off
    poke solar0 speed_mbps 100000
    is 'debugfs sets any speed' "$(cat /sys/class/net/solar0/speed)" 100000
    poke solar0 counters/rx_prio3_pause 33
    poke solar0 counters/rx_prio5_discards 55
    stats=$(ethtool -S solar0)
    for line in 'rx_prio3_pause: 33' 'rx_prio5_discards: 55' \
        'tx_prio7_packets: 0' 'rx_prio0_bytes: '; do
        ok "-S shows $line" sh -c 'printf "%s" "$0" | grep -q " $1"' "$stats" "$line"
    done
    poke solar0 counters/fcs 12345
    ok 'FCS errors in the eth-mac group' \
        sh -c 'ethtool -S solar0 --groups eth-mac | grep -q "FrameCheckSequenceErrors: 12345"'
    is 'FCS errors in the link statistics' \
        "$(cat /sys/class/net/solar0/statistics/rx_crc_errors)" 12345
    ok 'pause on' ethtool -A solar0 rx on tx on autoneg off
    is 'pause is on' "$(ethtool --json -a solar0 | jq -c '.[0] | [.rx, .tx]')" '[true,true]'
    poke solar0 fail_pause_set 1
    refused 'a pause set fails on demand' . ethtool -A solar0 rx off tx off
    ok 'coalescing' ethtool -C solar0 rx-usecs 10
    is 'coalescing was set' "$(ethtool -c solar0 | sed -n 's/^rx-usecs:[[:space:]]*//p')" 10
    refused 'coalescing over 1000 us' . ethtool -C solar0 rx-usecs 1001
    ok 'FEC' ethtool --set-fec solar0 encoding baser
    ok 'FEC was set' sh -c 'ethtool --show-fec solar0 | grep -qi "Active FEC encoding: baser"'
    ok 'channels' ethtool -L solar0 combined 4
    is 'channels were set' \
        "$(ethtool -l solar0 | sed -n 's/^Combined:[[:space:]]*//p' | tail -n 1)" 4
    poke solar0 carrier 0
    is 'a pulled cable is down at both ends' \
        "$(cat /sys/class/net/solar0/carrier /sys/class/net/solar1/carrier | tr '\n' ' ')" '0 0 '
    poke solar1 carrier 1
    is 'and up again' "$(cat /sys/class/net/solar0/carrier)" 1
    poke solar0 counters/fcs 0
}

flower() { # VERB PARENT PRIO MATCH... : a skip_sw filter
    verb=$1
    parent=$2
    prio=$3
    shift 3
    tc filter "$verb" dev solar2 "$parent" protocol ip prio "$prio" flower skip_sw "$@"
}

test_tcam() {
    ip link set solar2 up
    tc qdisc add dev solar2 clsact
    poke solar2 tcam_entries 4
    ok 'egress: skbedit priority' flower add egress 1 ip_proto udp dst_port 4791 ip_tos 0x68/0xfc \
        action skbedit priority 3
    ok 'egress: drop' flower add egress 2 dst_ip 10.1.2.0/24 action drop
    ok 'ingress: pass' flower add ingress 1 src_ip 10.1.2.3 action pass
    ok 'ingress: police' flower add ingress 2 ip_proto tcp src_port 99 \
        action police rate 1gbit burst 1m mtu 64k conform-exceed drop
    is 'stock tc shows all four in hardware' \
        "$( (tc filter show dev solar2 egress && tc filter show dev solar2 ingress) |
            grep -c '^  in_hw')" 4
    refused 'a full TCAM' 'TCAM full' flower add egress 3 dst_ip 10.9.9.9 action drop
    ok 'without skip_sw it stays in software' \
        tc filter add dev solar2 egress protocol ip prio 9 flower dst_ip 10.9.9.9 action drop
    ok 'and says so' sh -c 'tc filter show dev solar2 egress prio 9 | grep -q not_in_hw'
    tc filter del dev solar2 egress prio 9
    ok 'a row is given back' tc filter del dev solar2 egress prio 2
    is 'three rows are used' "$(peek solar2 tcam_used)" 3
    refused 'another action' 'skbedit priority, drop, pass, police only' \
        flower add egress 4 dst_ip 10.9.9.9 action mirred egress redirect dev lo
    refused 'priority 8' 'priority must be 0..7' flower add egress 4 action skbedit priority 8
    refused 'another key' 'match keys' flower add egress 4 dst_mac 02:00:00:00:00:01 action drop
    poke solar2 fail_flower_set 1
    refused 'a fault on demand' 'fault on demand' flower add egress 4 action drop
    ethtool -K solar2 hw-tc-offload off >/dev/null 2>&1
    ok 'offload stays on while rows are used' \
        sh -c 'ethtool -k solar2 | grep -q "^hw-tc-offload: on"'
    ethtool -K solar2 hw-tc-offload on
    tc qdisc del dev solar2 clsact
    is 'no row is lost' "$(peek solar2 tcam_used)" 0
    ethtool -K solar2 hw-tc-offload off
    tc qdisc add dev solar2 clsact
    refused 'offload off' 'TC offload is disabled' flower add egress 4 action drop
    tc qdisc del dev solar2 clsact
    ethtool -K solar2 hw-tc-offload on
}

# Packets to an address nobody has, behind solar2: they arrive at solar3.
send_udp() { # COUNT PORT
    bash -c 'for i in $(seq '"$1"'); do echo x >/dev/udp/10.77.0.9/'"$2"'; done'
}

test_hardware_path() {
    ip link set solar3 up
    ip addr add 10.77.0.1/24 dev solar2
    ip neigh add 10.77.0.9 lladdr 02:00:00:00:00:99 dev solar2 nud permanent
    before=$(counter solar3 rx_packets)
    send_udp 10 1000
    ok 'packets cross the wire' [ "$(counter solar3 rx_packets)" -ge $((before + 10)) ]
    tc qdisc add dev solar2 clsact
    flower add egress 1 ip_proto udp dst_port 1001 action skbedit priority 6
    flower add egress 2 ip_proto udp dst_port 1002 action drop
    send_udp 10 1001
    is 'a row moves packets to a priority' "$(counter solar2 tx_prio6_packets)" 10
    before=$(counter solar2 tx_dropped)
    send_udp 10 1002
    is 'a row drops packets' "$(counter solar2 tx_dropped)" $((before + 10))
    is 'rows count' "$(tc -j -s filter show dev solar2 egress prio 2 |
        jq '[.[].options.actions[]?.stats.packets] | add')" 10
    tc qdisc del dev solar2 clsact
    tc qdisc add dev solar3 clsact
    tc filter add dev solar3 ingress protocol ip prio 1 flower skip_sw ip_proto udp \
        dst_port 1003 action police rate 8kbit burst 100 mtu 64k conform-exceed drop
    before=$(counter solar3 rx_prio0_discards)
    send_udp 10 1003
    ok 'an ingress row polices' [ "$(counter solar3 rx_prio0_discards)" -ge $((before + 5)) ]
    tc qdisc del dev solar3 clsact
    poke solar3 fcs_every 2
    before=$(counter solar3 fcs)
    send_udp 10 1004
    is 'fcs_every drops and counts' "$(counter solar3 fcs)" $((before + 5))
    poke solar3 fcs_every 0
}

test_parameters() {
    p=/sys/module/solar_rdma/parameters
    is 'parameter defaults' \
        "$(cat $p/max_sge $p/qp_mtu $p/cq_moderation | tr '\n' ' ')" '32 1024 0 '
    ok 'max_sge 256' sh -c "echo 256 >$p/max_sge"
    refused 'max_sge 257' . sh -c "echo 257 >$p/max_sge"
    refused 'max_sge 0' . sh -c "echo 0 >$p/max_sge"
    ok 'cq_moderation 1000' sh -c "echo 1000 >$p/cq_moderation"
    refused 'cq_moderation 1001' . sh -c "echo 1001 >$p/cq_moderation"
    is 'refused values changed nothing' \
        "$(cat $p/max_sge $p/cq_moderation | tr '\n' ' ')" '256 1000 '
    is 'qp_mtu is for load time' "$(stat -c %a $p/qp_mtu)" 444
    s=/proc/sys/net/solar/flow_steering
    is 'flow steering is off' "$(cat $s)" 0
    ok 'flow steering 2' sh -c "echo 2 >$s"
    refused 'flow steering 3' 'Invalid argument\|I/O error' sh -c "echo 3 >$s"
    refused 'flow steering -1' . sh -c "echo -1 >$s"
    is 'flow steering is 2' "$(cat $s)" 2
}

test_rxe() {
    pair_up 0
    rxe_up 0
    rxe_up 1
    sleep 1
    is 'rxe is active' "$(cat /sys/class/infiniband/rxe0/ports/1/state)" '4: ACTIVE'
    ok 'the address has a GID' [ -n "$(gid_index rxe0 10.9.0.1)" ]
    dcb app add dev solar0 dscp-prio 26:3
    zero=$(counter solar0 tx_prio0_packets)
    before=$(counter solar0 tx_prio3_packets)
    ok 'ib_send_lat with DSCP 26' pair_perftest 0 ib_send_lat -n 200 --tclass=104
    ok 'MTU 4200 gives RoCE MTU 4096' sh -c 'printf "%s" "$0" | grep -q "Mtu *: 4096"' "$out"
    after=$(counter solar0 tx_prio3_packets)
    ok 'its packets are counted at priority 3' [ $((after - before)) -ge 400 ]
    ok 'and not at priority 0' [ $(($(counter solar0 tx_prio0_packets) - zero)) -lt 50 ]
    poke solar0 ecn_every 1
    before=$(counter solar1 rx_ecn_marked)
    pair_perftest 0 ib_send_lat -n 50 --tclass=106 >/dev/null
    ok 'ECN-capable packets are marked on demand' \
        [ "$(counter solar1 rx_ecn_marked)" -ge $((before + 50)) ]
    poke solar0 ecn_every 0
}

test_htb() {
    tc qdisc add dev solar0 root handle 1: htb default 10
    tc class add dev solar0 parent 1: classid 1:10 htb rate 1gbit
    tc class add dev solar0 parent 1: classid 1:20 htb rate 80mbit ceil 80mbit
    tc qdisc add dev solar0 clsact
    tc filter add dev solar0 egress protocol ip prio 1 flower skip_hw ip_proto udp dst_port 4791 \
        ip_tos 0x68/0xfc action skbedit priority 1:20
    ok 'ib_write_bw through htb' pair_perftest 0 ib_write_bw -n 100 -s 65536 --tclass=104
    packets=$(tc -s class show dev solar0 classid 1:20 |
        sed -n 's/^ Sent .* bytes \([0-9]*\) pkt.*/\1/p')
    ok 'labelled packets took their class' [ "${packets:-0}" -ge 1600 ]
    tc qdisc del dev solar0 clsact
    tc qdisc del dev solar0 root
}

qp_counter() { # LINK FILTER: of its first counter, if it has one
    rdma -j statistic qp show link "$1/1" | jq -r ".[0] // {} | $2"
}

# After test_rxe. Counters end with their queue pairs, so they are read while the test runs.
test_qp_counters() {
    ok 'counters per queue pair at one end' rdma statistic qp set link rxe0/1 auto type on
    ok 'and at the other' rdma statistic qp set link rxe1/1 auto type on
    poke solar0 ecn_every 1
    poke solar1 fcs_every 50
    pair_perftest 0 ib_write_bw -n 2000 -s 65536 --tclass=106 >/dev/null 2>&1 &
    writer=$!
    seen='' marked=''
    for _ in $(seq 100); do
        [ "$seen" = true ] || seen=$(qp_counter rxe0 \
            '.tx_packets > 100 and .retransmits > 0 and .rx_packets > 0 and (.lqpn | length) == 1')
        [ "$marked" = true ] || marked=$(qp_counter rxe1 '.rx_ecn_marked > 100')
        [ "$seen $marked" != 'true true' ] || break
        kill -0 $writer 2>/dev/null || break
        sleep 0.1
    done
    is 'the sender counts packets and retransmits' "$seen" true
    is 'the receiver counts ECN marks' "$marked" true
    refused 'the module stays while a counter is bound' 'in use' rmmod solar_rdma
    poke solar1 fcs_every 0
    poke solar0 ecn_every 0
    wait $writer
    is 'no counter is left' "$(rdma -j statistic qp show | jq -c .)" '[]'
}

# One port of a pair goes and comes back while the other pairs work.
test_rebind() {
    bus=/sys/bus/platform/drivers/solar_rdma
    ip link set solar4 up
    ip link set solar5 up
    is 'the pair has a link' "$(cat /sys/class/net/solar5/carrier)" 1
    ok 'a port is unbound' sh -c "echo solar_rdma.4 >$bus/unbind"
    ok 'its netdev is gone' [ ! -e /sys/class/net/solar4 ]
    is 'its neighbour has no link' "$(cat /sys/class/net/solar5/carrier)" 0
    is 'others have' "$(ip link set solar2 up; ip link set solar3 up
        cat /sys/class/net/solar2/carrier)" 1
    ok 'it is bound again' sh -c "echo solar_rdma.4 >$bus/bind"
    ip link set solar4 up
    is 'and wired' "$(cat /sys/class/net/solar4/carrier /sys/class/net/solar5/carrier |
        tr '\n' ' ')" '1 1 '
}

# Traffic, rows in the TCAM and a reader of every table, while the module goes.
test_unload_in_use() {
    ip link set solar2 up
    ip link set solar3 up
    tc qdisc add dev solar2 clsact
    flower add egress 1 ip_proto udp dst_port 1005 action skbedit priority 2
    bash -c 'while :; do echo x >/dev/udp/10.77.0.9/1005; done' 2>/dev/null &
    sender=$!
    sh -c 'while :; do dcbread solar2; ethtool -S solar2; devlink dev info; done' >/dev/null 2>&1 &
    reader=$!
    sleep 1
    ok 'the module unloads in use' rmmod solar_rdma
    kill "$sender" "$reader"
    is 'rxe left with its netdev' "$(ls /sys/class/infiniband 2>/dev/null)" ''
    ok 'and loads again' modprobe solar_rdma
}

test_reload() {
    code=0
    for _ in 1 2 3 4 5; do
        rmmod solar_rdma && modprobe solar_rdma || code=1
    done
    result $code 'five reloads'
    is 'a new port has a clean table' "$(dcbjq solar0 .app)" '[]'
    rmmod solar_rdma
    for bad in max_sge=257 qp_mtu=1500 qp_mtu=8192 cq_moderation=1001 cc=4 pairs=0 pairs=9; do
        refused "load with $bad" . modprobe solar_rdma $bad
    done
    ok 'load with other values' \
        modprobe solar_rdma pairs=1 qp_mtu=4096 max_sge=256 tcam_entries=2 fw_version=2.1.7
    is 'one pair' "$(ls -d /sys/class/net/solar* | wc -l)" 2
    is 'load-time values hold' \
        "$(cat /sys/module/solar_rdma/parameters/qp_mtu) $(peek solar1 tcam_entries)" '4096 2'
    is 'another firmware' \
        "$(ethtool -i solar0 | sed -n 's/^firmware-version: \([^ ]*\).*/\1/p')" 2.1.7
    rmmod solar_rdma
    modprobe solar_rdma pairs=1 cc=2
    test_cc_debugfs
    rmmod solar_rdma
    is 'the sysctl left with the module' "$(ls /proc/sys/net/solar 2>/dev/null)" ''
}

[ $# -gt 0 ] || set -- identity dcb_app dcb_ets dcb_pfc dcb_maxrate dcb_buffer dcb_dcbx ethtool \
    devlink flash activation devlink_params rates health tcam hardware_path parameters cc \
    qdisc_offload htb_offload rxe qp_counters htb rebind unload_in_use reload
for part; do
    echo "# $part"
    command -v "test_$part" >/dev/null || {
        result 1 "there is a part $part"
        continue
    }
    "test_$part"
done
is 'the kernel did not complain' "$(kernel_complaints)" ''
tap_end
