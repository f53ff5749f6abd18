/*
 * tests/unit/fleet/test_evidence_formats.c - the same tools in other versions, drivers and layouts.
 */
#include "evidence_test.h"

static const struct expected_file texts[] = {
    {
        "rx_pause_prio_3: 5\n"
        "tx_pause_duration_prio_3: 7\n"
        "rx_pause: 0\n",
        "ethtool-S",
        {
            {"netdev prio 3", "rx_pause", "5", 0},
            {"netdev prio 3", "tx_pause_duration", "7", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "NIC statistics:\n"
        "     rx_symbol_err_phy: 5\n"
        "     rx_crc_errors_phy: 3\n"
        "     rx_zorg_drops: 7\n",
        "ethtool-S",
        {
            {"netdev", "rx_symbol_errors", "5", 0},
            {"netdev", "rx_zorg_drops", "7", 0},
        },
        {
            {"symbol-errors", "netdev", 1},
            {"fcs-errors", "netdev", 1},
        },
    },
    {
        "Standard stats for eth4:\n"
        "eth-mac-FrameCheckSequenceErrors: 2\n"
        "eth-mac-OctetsReceivedOK: 9\n",
        "ethtool-S",
        {
            {"netdev eth4", "rx_fcs_errors", "2", 0},
            {"netdev eth4", "rx_bytes_phy", "9", 0},
        },
        {
            {"fcs-errors", "netdev eth4", 1},
        },
    },
    {
        "$ ethtool -S ens1\n"
        "NIC statistics:\n"
        "     mac_rx_fcs_err_pkt_num: 0\n"
        "     mac_tx_pfc_pri3_pkt_num: 12\n"
        "     rx_prio3_pause: 18446744073709551616\n",
        "ethtool-S",
        {
            {"netdev ens1 prio 3", "tx_pause", "12", 0},
            {"netdev ens1 prio 3", "rx_pause", "?", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "sos/ethtool_-S_eth1:     rx_prio3_pause: 4\n",
        "ethtool-S",
        {
            {"netdev prio 3", "rx_pause", "4", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "$ ethtool -S e1\n"
        "rx_prio3_pause: 10\n"
        "rx_prio4_pause: 9\n"
        "$ ethtool -S e1\n"
        "rx_prio3_pause: 25\n"
        "rx_prio4_pause: 9\n",
        "ethtool-S",
        {
            {"netdev e1 prio 3", "rx_pause", "25", 1},
        },
        {
            {"priority-pause-growing", "netdev e1 prio 3", 1},
        },
    },
    {
        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:12\n"
        "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_discards:7\n"
        "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_errors:65535\n",
        "sysfs-counters",
        {
            {"port mlx5_0/1", "out_of_sequence", "12", 0},
            {"port mlx5_0/1", "port_rcv_errors", "!65535", 0},
        },
        {
            {"send-discards", "port mlx5_0/1", 1},
            {"counter-saturated", "port mlx5_0/1", 1},
        },
    },
    {
        "==> /sys/class/infiniband/mlx5_2/ports/1/counters/symbol_error <==\n"
        "3\n"
        "\n"
        "==> /sys/class/infiniband/mlx5_2/ports/1/hw_counters/np_cnp_sent <==\n"
        "8\n",
        "sysfs-counters",
        {
            {"port mlx5_2/1", "symbol_error", "3", 0},
            {"port mlx5_2/1", "cnp_sent", "8", 0},
        },
        {
            {"symbol-errors", "port mlx5_2/1", 1},
        },
    },
    {
        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/req_transport_retries_exceeded 3\n"
        "/sys/class/infiniband/mlx5_0/ports/1/phys_state 3: Disabled\n"
        "/sys/class/infiniband/mlx5_0/ports/1/state 1: DOWN\n"
        "/sys/class/net/eth0/statistics/rx_packets 5\n",
        "sysfs-counters",
        {
            {"port mlx5_0/1", "state", "1: DOWN", 0},
            {"netdev eth0", "rx_packets", "5", 0},
        },
        {
            {"rdma-retries-exceeded", "port mlx5_0/1", 1},
            {"port-disabled", "port mlx5_0/1", 1},
        },
    },
    {
        "qp_create_err        --- 2\n"
        "cmds_err             --- 0\n",
        "sysfs-counters",
        {
            {"rdma", "qp_create_err", "2", 0},
        },
        {
            {"driver-errors", "rdma", 1},
        },
    },
    {
        "^C--- n1 (Lid 7) ibping statistics ---\n"
        "10 packets transmitted, 8 received, 20% packet loss, time 9000 ms\n"
        "rtt min/avg/max = 0,012/0,057/0,100 ms\n",
        "ibping",
        {
            {"peer n1 (Lid 7)", "packets_received", "8", 0},
            {"peer n1 (Lid 7)", "rtt_avg", "0.057", 0},
        },
        {
            {"ping-loss", "peer n1 (Lid 7)", 1},
        },
    },
    {
        "Jan 05 10:11:12 123456 [8A4C7700] 0x01 -> osm_x: ERR 0F12: no path\n"
        "Jan 05 10:11:13 123456 [8A4C7700] 0x01 -> osm_x: ERR 0F12: no path\n"
        "Jan 05 10:11:14 123456 [8A4C7700] 0x02 -> SUBNET UP\n",
        "opensm",
        {
            {"sm error 0F12", "message", "no path", 0},
        },
        {
            {"subnet-manager-error", "sm error 0F12", 2},
        },
    },
    {
        "CA: n1 HCA-1:\n"
        "      0x506b4b0300776a26    134    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>    "
        "1719   10[  ] \"leaf\" ( )\n"
        "           6   11[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n",
        "opensm",
        {
            {"lid 134 port 1", "speed", "25.78125", 0},
            {"lid 134 port 1", "state", "Active", 0},
            {"lid 6 port 11", "physical_state", "Polling", 0},
        },
        {
            {"port-polling", "lid 6 port 11", 1},
        },
    },
    {
        "0000:81:00.0 mlx5_0 (MT4123 - MCX653105A-ECAT) ConnectX-6 VPI adapter card fw 20.28.1002 "
        "port 1 (ACTIVE) ==> ib0 (Up)\n",
        "rdma-tool",
        {
            {"rdma mlx5_0", "pci", "0000:81:00.0", 0},
            {"rdma mlx5_0", "firmware", "20.28.1002", 0},
            {"port mlx5_0/1", "netdev_state", "Up", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "link rocep3s0/1 state DOWN physical_state POLLING netdev eth9\n"
        "link rocep4s0/1 state DOWN physical_state DISABLED netdev eth8\n"
        "link rocep5s0/1 state INIT physical_state LINK_UP netdev eth7\n",
        "rdma-tool",
        {
            {"port rocep3s0/1", "netdev", "eth9", 0},
        },
        {
            {"port-polling", "port rocep3s0/1", 1},
            {"port-disabled", "port rocep4s0/1", 1},
            {"port-down", "port rocep5s0/1", 1},
        },
    },
    {
        "1/1: mlx5_0/1: subnet_prefix fe80:0000:0000:0000 lid 13399 sm_lid 49151 lmc 0 state "
        "ACTIVE physical_state LINK_UP\n"
        "0: mlx5_0: node_type ca fw 28.39.1002 node_guid 248a:0703:00a4:f2b4\n",
        "rdma-tool",
        {
            {"port mlx5_0/1", "lid", "13399", 0},
            {"rdma mlx5_0", "firmware", "28.39.1002", 0},
            {"rdma mlx5_0", "node_guid", "248a:0703:00a4:f2b4", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "Device #1:\n"
        "----------\n"
        "\n"
        "Device type:    ConnectX6DX\n"
        "Name:           MCX623106AN-CDA_Ax\n"
        "Device:         0000:3b:00.0\n"
        "\n"
        "Configurations:                              Default         Current         Next Boot\n"
        "         ROCE_CC_PRIO_MASK_P1                255             255             8\n"
        "*        SRIOV_EN                            False(0)        False(0)        True(1)\n"
        "         NUM_OF_VFS                          0               0               16\n",
        "dcqcn",
        {
            {"firmware", "device_type", "ConnectX6DX", 0},
            {"firmware port 1", "ROCE_CC_PRIO_MASK_P1", "8", 0},
            {"firmware port 1", "ROCE_CC_PRIO_MASK_P1 default", "255", 0},
            {"firmware", "SRIOV_EN", "1", 0},
            {"firmware", "SRIOV_EN current", "0", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "3b:00.0 Ethernet controller [0200]: Mellanox Technologies MT2892 Family [ConnectX-6 Dx] "
        "[15b3:101d]\n"
        "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
        "\t\tLnkSta:\tSpeed 8GT/s, Width x8\n"
        "41:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"
        "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1\n"
        "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)\n",
        "lspci",
        {
            {"pci 0000:3b:00.0", "pcie_width", "8", 0},
            {"pci 0000:41:00.0", "pcie_speed", "2.5", 0},
            {"pci 0000:41:00.0", "revision", "a1", 0},
        },
        {
            {"pcie-link-degraded", "pci 0000:3b:00.0", 1},
            {"pcie-link-degraded-other", "pci 0000:41:00.0", 1},
        },
    },
    {
        "Image type:            FS4\n"
        "FW Version:            22.36.1010\n"
        "FW Version(Running):   22.31.1014\n"
        "PSID:                  MT_0000000359\n",
        "devlink-info",
        {
            {"firmware", "firmware", "22.36.1010", 0},
            {"firmware", "firmware_running", "22.31.1014", 0},
        },
        {
            {"firmware-staged", "firmware", 1},
        },
    },
    {
        "pci/0000:3b:00.0:\n"
        "  driver mlx5_core\n"
        "  versions:\n"
        "      fixed:\n"
        "        fw.psid MT_0000000359\n"
        "      running:\n"
        "        fw.version 22.31.1014\n"
        "        fw 22.31.1014\n"
        "      stored:\n"
        "        fw.version 22.36.1010\n"
        "        fw 22.36.1010\n",
        "devlink-info",
        {
            {"pci 0000:3b:00.0", "stored fw.version", "22.36.1010", 0},
        },
        {
            {"firmware-staged", "pci 0000:3b:00.0", 2},
        },
    },
    {
        " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]    "
        "CPU_Util[%]\n"
        " 65536      1000             11000.61            10999.10\t\t   0.175986\t3.25\n"
        "WARNING: BW peak won't be measured in this run.\n"
        " 131072     1000             11001.61            inf               0.09    3\n",
        "perftest",
        {
            {"run 65536", "bw_average", "10999.10", 0},
            {"run 65536", "cpu_util", "3.25", 0},
            {"run 131072", "bw_average", "?", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        " #bytes        #iterations       t_avg[usec]    tps average\n"
        " 2       100000          1.05        475000.12\n",
        "perftest",
        {
            {"run 2", "t_avg", "1.05", 0},
            {"run 2", "tps_average", "475000.12", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "Couldn't connect to 192.0.2.7:18515\n"
        "Unable to open file descriptor for socket connection\n",
        "perftest",
        {
            {"run", "bw_average", NULL, 0},
        },
        {
            {"run-failed", "run", 2},
        },
    },
    {
        "class htb 1:10 root leaf 110: prio 0 rate 10Gbit ceil 25Gbit burst 1600b cburst 1600b\n"
        " Sent 12 bytes 1 pkt (dropped 4, overlimits 0 requeues 0)\n"
        "qdisc noqueue 0: dev lo root refcnt 2\n",
        "tc",
        {
            {"netdev class 1:10", "rate", "10", 0},
            {"netdev class 1:10", "ceil", "25", 0},
            {"netdev class 1:10", "dropped", "4", 0},
            {"netdev lo qdisc 0:", "kind", "noqueue", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "Priority trust state: dscp\n"
        "dscp2prio mapping:\n"
        "\tprio:3 dscp:31,30,29,28,27,26,25,24,\n"
        "PFC configuration:\n"
        "\tpriority    0   1   2   3   4   5   6   7\n"
        "\tenabled     0   0   0   1   0   0   0   0\n"
        "tc: 3 ratelimit: 25.0 Gbps, tsa: ets, bw: 40%\n"
        "\t priority:  3\n",
        "mlnx_qos",
        {
            {"netdev tc 3", "ratelimit", "25.0", 0},
            {"netdev prio 3", "pfc", "1", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "            CPU0       CPU1       CPU2       CPU3\n"
        " 90:      10001      10002      10003      10004   PCI-MSI 1-edge      "
        "mlx5_comp0@pci:0000:3b:00.0\n"
        " 91:      99999          0          0          0   PCI-MSI 2-edge      nvme0q1\n"
        " 92:      30000          0          0          0   PCI-MSI 2-edge      "
        "mlx5_async0@pci:0000:3b:00.0\n",
        "interrupts",
        {
            {"irq 90", "name", "mlx5_comp0@pci:0000:3b:00.0", 0},
            {"irq 90 cpu 3", "interrupts", "10004", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "hca_id:\tmlx5_3\n"
        "\tfw_ver:\t\t\t\t28.39.1002\n"
        "\tvendor_id:\t\t\t0x02c9\n"
        "\tmax_qp:\t\t\t\t131072\n"
        "\tdevice_cap_flags:\t\t0xa5721c36\n"
        "\t\t\t\t\tBAD_PKEY_CNTR\n"
        "\t\t\t\t\tPORT_ACTIVE_EVENT\n"
        "\t\tport:\t1\n"
        "\t\t\tstate:\t\t\tPORT_DOWN (1)\n"
        "\t\t\tactive_speed:\t\t25.0 Gbps (32)\n"
        "\t\t\tphys_state:\t\tPOLLING (2)\n"
        "\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0c42:a1ff:fe7d:47a1, RoCE v1\n",
        "ibv_devinfo",
        {
            {"rdma mlx5_3", "max_qp", "131072", 0},
            {"port mlx5_3/1", "state", "PORT_DOWN", 0},
            {"port mlx5_3/1", "active_speed", "25.0 Gbps", 0},
        },
        {
            {"port-polling", "port mlx5_3/1", 1},
        },
    },
    {
        "DEV     PORT    INDEX   GID                                     IPv4            VER     "
        "DEV\n"
        "---     ----    -----   ---                                     ------------    ---     "
        "---\n"
        "mlx5_0  1       3       0000:0000:0000:0000:0000:ffff:0a00:0001 10.0.0.1        v2      "
        "ens1f0np0\n",
        "ibv_devinfo",
        {
            {"port mlx5_0/1 gid 3", "gid_version", "v2", 0},
            {"port mlx5_0/1 gid 3", "ipv4", "10.0.0.1", 0},
            {"port mlx5_0/1 gid 3", "netdev", "ens1f0np0", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "# Port counters: Lid 5 port 2 (CapMask: 0x5200)\n"
        "PortSelect:......................2\n"
        "SymbolErrorCounter:..............65535\n"
        "PortXmitDiscards:................3\n"
        "PortXmitData:....................4294967295\n",
        "opensm",
        {
            {"lid 5 port 2", "symbol_error", "!65535", 0},
            {"lid 5 port 2", "port_xmit_data", "!4294967295", 0},
            {"lid 5 port 2", "tx_bytes", NULL, 0},
        },
        {
            {"counter-saturated", "lid 5 port 2", 2},
            {"send-discards", "lid 5 port 2", 1},
        },
    },
    {
        "NIC statistics:\n"
        "  Tx Queue#: 0\n"
        "    TSO pkts tx: 12\n"
        "    drv dropped tx total: 0\n"
        "  Rx Queue#: 1\n"
        "    LRO pkts rx: 4\n"
        "  tx timeout count: 0\n",
        "ethtool-S",
        {
            {"netdev queue 0", "TSO pkts tx", "12", 0},
            {"netdev queue 1", "LRO pkts rx", "4", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "NIC statistics:\n"
        "     rx_crc_errors: 0\n"
        "     rx_priority_pause_frames: 3\n"
        "     rxq0: rx_bytes: 100\n"
        "     txq7: tx_pkts: 9\n"
        "     3: rcv_pkts: 5\n",
        "ethtool-S",
        {
            {"netdev", "rx_fcs_errors", "0", 0},
            {"netdev queue 0", "rx_bytes", "100", 0},
            {"netdev queue 7", "tx_pkts", "9", 0},
            {"netdev queue 3", "rcv_pkts", "5", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "NIC statistics:\n"
        "     tx_octets           : 5\n"
        "     rx_fcs_errors       : 0\n"
        "     -------Loopback 0----------- :\n"
        "     octets_ok           : 7\n",
        "ethtool-S",
        {
            {"netdev", "tx_octets", "5", 0},
            {"netdev", "octets_ok", "7", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "Pause parameters for eth0:\n"
        "Autonegotiate:\toff\n"
        "RX:\t\ton\n"
        "TX:\t\toff\n",
        "pfc",
        {
            {"netdev eth0", "pause_rx", "on", 0},
            {"netdev eth0", "pause_tx", "off", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "mlx5_2 port 1 ==>  (Down)\n",
        "rdma-tool",
        {
            {"port mlx5_2/1", "netdev", "?", 0},
            {"port mlx5_2/1", "netdev_state", "Down", 0},
        },
        {
            {"port-down", "port mlx5_2/1", 1},
        },
    },
    {
        "CA: 'mlx5_0'\n"
        "Port 1:\n"
        "State: Initializing\n"
        "Physical state: LinkUp\n"
        "Rate: 56\n"
        "Base lid: 65535\n"
        "Link layer: InfiniBand\n",
        "ibstat",
        {
            {"port mlx5_0/1", "state", "Initializing", 0},
            {"port mlx5_0/1", "rate", "56", 0},
        },
        {
            {"port-down", "port mlx5_0/1", 1},
        },
    },
    {
        "# lspci -s 3b:00.0 -vv | grep -i lnk\n"
        "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
        "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+\n"
        "\t\tLnkSta:\tSpeed 16GT/s, Width x8\n"
        "\t\tLnkCap2: Supported Link Speeds: 2.5-16GT/s, Crosslink- Retimer+ 2Retimers+ DRS-\n",
        "lspci",
        {
            {"pci 0000:3b:00.0", "pcie_width", "8", 0},
        },
        {
            {"pcie-link-degraded", "pci 0000:3b:00.0", 1},
        },
    },
    {
        "class htb 1:1 dev eth0 root rate 1Gbit ceil 1Gbit burst 1375b cburst 1375b\n"
        " Sent 100 bytes 2 pkt (dropped 0, overlimits 0 requeues 0)\n"
        " lended: 5 borrowed: 0 giants: 0\n"
        " tokens: -187 ctokens: 187\n",
        "tc",
        {
            {"netdev eth0 class 1:1", "lended", "5", 0},
            {"netdev eth0 class 1:1", "tokens", "-187", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "Image type:            FS4\n"
        "FW Version:            20.43.2026\n"
        "FW Release Date:       23.10.2024\n"
        "Chip Revision:         0\n"
        "Life cycle:            GA SECURED\n"
        "Secure boot:           Enabled\n"
        "EFUSE Security Ver:    0\n"
        "Security Attributes:   secure-fw\n",
        "devlink-info",
        {
            {"firmware", "life_cycle", "GA SECURED", 0},
            {"firmware", "security", "secure-fw", 0},
            {"firmware", "firmware", "20.43.2026", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "Preparing to flash\n"
        "[fw.mgmt] Erasing\n"
        "[fw.mgmt] Flashing 100%\n"
        "devlink answers: Operation not permitted\n",
        "devlink-flash",
        {
            {"firmware", "result", "failed", 0},
        },
        {
            {"flash-failed", "firmware", 1},
        },
    },
    {
        "/sys/class/net/ens1f0/ecn/roce_np/cnp_dscp:48\n"
        "/sys/class/net/ens1f0/ecn/roce_rp/enable/3:1\n"
        "/sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/rp_ai_rate:5\n",
        "sysfs-counters",
        {
            {"netdev ens1f0", "roce_np_cnp_dscp", "48", 0},
            {"netdev ens1f0 prio 3", "roce_rp_enable", "1", 0},
            {"pci 0000:3b:00.0", "rp_ai_rate", "5", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "vendid=0x2c9\n"
        "devid=0xc738\n"
        "Switch\t36 \"S-0002c903006e0a20\"\t\t# \"MF0;leaf:SX6036/U1\" enhanced port 0 lid 6 lmc "
        "0\n"
        "[1]\t\"H-0002c90300503ff0\"[1](2c90300503ff1) \t\t# \"n1 HCA-1\" lid 4 4xFDR\n"
        "\n"
        "Ca\t1 \"H-0002c90300503ff0\"\t\t# \"n1 HCA-1\"\n"
        "[1](2c90300503ff1) \t\"S-0002c903006e0a20\"[1]\t\t# lid 4 lmc 0 \"MF0;leaf:SX6036/U1\" "
        "lid 6 4xFDR\n",
        "opensm",
        {
            {"switch S-0002c903006e0a20", "name", "MF0;leaf:SX6036/U1", 0},
            {"switch-port S-0002c903006e0a20/1", "peer", "H-0002c90300503ff0", 0},
            {"switch-port S-0002c903006e0a20/1", "speed", "4xFDR", 0},
            {"port H-0002c90300503ff0/1", "peer_port", "1", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "Ca\t: 0x506b4b0300776a26 ports 1 \"n1 HCA-1\"\n"
        "Switch\t: 0x506b4b03006714f3 ports 41 \"leaf\" enhanced port 0 lid 2052 lmc 0\n",
        "opensm",
        {
            {"node 0x506b4b0300776a26", "name", "n1 HCA-1", 0},
            {"switch 0x506b4b03006714f3", "lid", "2052", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "Errors for \"n1 HCA-1\"\n"
        "   GUID 0x506b4b0300776a26 port 1: [SymbolErrorCounter == 5] [LinkDownedCounter == 255] "
        "[PortXmitWait == 123]\n",
        "opensm",
        {
            {"port 0x506b4b0300776a26/1", "symbol_error", "5", 0},
            {"port 0x506b4b0300776a26/1", "link_downed", "!255", 0},
            {"port 0x506b4b0300776a26/1", "port_xmit_wait", "123", 0},
        },
        {
            {"symbol-errors", "port 0x506b4b0300776a26/1", 1},
            {"link-flapping", "port 0x506b4b0300776a26/1", 1},
        },
    },
    {
        "sminfo: sm lid 1 sm guid 0x506b4b0300776a26, activity count 123 priority 14 state 3 "
        "SMINFO_MASTER\n",
        "opensm",
        {
            {"sm", "lid", "1", 0},
            {"sm", "state", "3", 0},
            {"sm", "state_name", "SMINFO_MASTER", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "    device          \t   node GUID\n"
        "    ------          \t----------------\n"
        "    mlx5_0          \tb8599f0300c77ab8\n",
        "ibv_devinfo",
        {
            {"rdma mlx5_0", "node_guid", "b8599f0300c77ab8", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "Field Name                    | Data\n"
        "============================================\n"
        "roce_adp_retrans_en           | 0x00000001\n",
        "dcqcn",
        {
            {"firmware register", "roce_adp_retrans_en", "1", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
};

static void other_layouts_of_the_tools_are_read(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_text(&texts[i]);
}

static void a_mismatch_of_boards_is_found_between_other_lines(void **unused)
{
    (void)unused;
    size_t len;
    struct err err = ERR_INIT;
    OWN(evidence) struct evidence *e = NULL;
    OWN(str) char *bytes = test_load(EVIDENCE_FOLDER "devlink-flash/flint_psid_mismatch.txt", &len);
    assert_ok(evidence_read(NULL, bytes, len, &e, &err));
    assert_string_equal(evidence_get(e, "firmware", "psid")->value, "LNV0000000025");
    assert_string_equal(evidence_get(e, "firmware", "image_psid")->value, "MT_0000000158");
    const struct finding *finding = evidence_finding(e, "flash-psid-mismatch", "firmware");
    assert_non_null(finding);
    assert_int_equal(finding->severity, FINDING_ERROR);
    assert_int_equal(e->proofs[finding - e->findings.items].first_line, 4);
}

static void two_samples_after_one_another_show_growth(void **unused)
{
    (void)unused;
    size_t first, second;
    struct err err = ERR_INIT;
    OWN(evidence) struct evidence *e = NULL;
    OWN(str) char *a = test_load(EVIDENCE_FOLDER "pfc/mlx5_prio3_pause_t0.txt", &first);
    OWN(str) char *b = test_load(EVIDENCE_FOLDER "pfc/mlx5_prio3_pause_t1.txt", &second);
    OWN(str) char *both = malloc(first + second);
    assert_non_null(both);
    memcpy(both, a, first);
    memcpy(both + first, b, second);
    assert_ok(evidence_read(NULL, both, first + second, &e, &err));
    const struct finding *grown = evidence_finding(e, "priority-pause-growing", "netdev prio 3");
    assert_non_null(grown);
    assert_contains(grown->message, "1200");
    assert_non_null(evidence_finding(e, "lossless-discards", "netdev prio 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_layouts_of_the_tools_are_read),
        cmocka_unit_test(a_mismatch_of_boards_is_found_between_other_lines),
        cmocka_unit_test(two_samples_after_one_another_show_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
