/*
 * tests/unit/fleet/test_evidence_variants.c - what other drivers, versions and options of the same
 * tools print, written here in the tools' formats.
 */
#include "evidence_test.h"

static const struct expected_file texts[] = {
    {
        "# ethtool -i eth0\n"
        "driver: bnxt_en\n"
        "version: 1.10.2-227.0.130.0\n"
        "firmware-version: 227.0.131.0/pkg 227.1.111.0\n"
        "bus-info: 0000:31:00.0\n"
        "# ethtool -i ib0\n"
        "driver: ib_ipoib\n"
        "firmware-version: 20.31.1014 (MT_0000000223)\n"
        "bus-info: 0000:5e:00.0\n"
        "# ethtool -i bond0\n"
        "driver: bonding\n"
        "firmware-version: 2\n",
        "ethtool-i",
        {
            {"netdev eth0", "firmware", "227.0.131.0", 0},
            {"netdev eth0", "firmware_package", "227.1.111.0", 0},
            {"netdev ib0", "firmware", "20.31.1014", 0},
            {"netdev ib0", "psid", "MT_0000000223", 0},
            {"netdev bond0", "driver", "bonding", 0},
        },
        {{NULL, NULL, 0}}, /* neither IPoIB nor a bond is a card that cannot speak RDMA */
    },
    {
        "=== eth0 ===\n"
        "NIC statistics:\n"
        "     rx_crc_errors_phy: 5\n"
        "=== eth1 ===\n"
        "NIC statistics:\n"
        "     rx_crc_errors_phy: 0\n"
        "     rx_discards_phy: -1\n"
        "     rx_bytes_phy: 18446744073709551615\n",
        "ethtool-S",
        {
            {"netdev eth0", "rx_fcs_errors", "5", 0},
            {"netdev eth1", "rx_fcs_errors", "0", 0},
            {"netdev eth1", "rx_discards_phy", "?", 0},
            {"netdev eth1", "rx_bytes_phy", "!18446744073709551615", 0},
        },
        {{"fcs-errors", "netdev eth0", 1}},
    },
    {
        "Interface: ens1f0np0\n"
        "driver: mlx5_core\n"
        "firmware-version: 22.41.1000 (MT_0000000359)\n",
        "ethtool-i",
        {{"netdev ens1f0np0", "firmware", "22.41.1000", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "$ ethtool -I -a eth0\n"
        "Pause parameters for eth0:\n"
        "Autonegotiate:\toff\n"
        "RX:\t\ton\n"
        "TX:\t\ton\n"
        "Statistics:\n"
        "  tx_pause_frames: 1\n"
        "  rx_pause_frames: 12345\n",
        "pfc",
        {
            {"netdev eth0", "pause_rx", "on", 0},
            {"netdev eth0", "tx_pause", "1", 0},
            {"netdev eth0", "rx_pause", "12345", 0},
        },
        {{"link-pause-active", "netdev eth0", 1}},
    },
    {
        "--- (Lid 7) ibping statistics ---\n"
        "10 packets transmitted, 0 received, 100% packet loss, time 9999 ms\n"
        "rtt min/avg/max = 0.000/0.000/0.000 ms\n"
        "--- node2.(none) (Lid 5) ibping statistics ---\n"
        "2 packets transmitted, 2 received, 0% packet loss, time 1000 ms\n"
        "rtt min/avg/max = 0.087/0.099/0.112 ms\n",
        "ibping",
        {
            {"peer (Lid 7)", "packet_loss", "100", 0},
            {"peer (Lid 7)", "rtt_avg", "?", 0},
            {"peer node2.(none) (Lid 5)", "rtt_avg", "0.099", 0},
        },
        {{"ping-loss", "peer (Lid 7)", 1}},
    },
    {
        "Infiniband device 'mlx5_0' port 1 status:\n"
        "\tstate:\t\t 1: DOWN\n"
        "\tphys state:\t 3: Disabled\n"
        "\trate:\t\t 40 Gb/sec (4X QDR)\n"
        "\tlink_layer:\t Ethernet\n",
        "ibstat",
        {
            {"port mlx5_0/1", "rate", "?", 0},
            {"port mlx5_0/1", "rate_placeholder", "40", 0},
        },
        {{"port-disabled", "port mlx5_0/1", 1}},
    },
    {
        "$ ibstat mlx5_3 1\n"
        "State: Active\n"
        "Physical state: LinkUp\n"
        "Rate: 200\n"
        "Base lid: 4\n"
        "Link layer: InfiniBand\n",
        "ibstat",
        {
            {"port mlx5_3/1", "state", "Active", 0},
            {"port mlx5_3/1", "rate", "200", 0},
            {"port mlx5_3/1", "base_lid", "4", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "hca_id:\tbnxt_re0\n"
        "\tfw_ver:\t\t\t\t227.0.131.0\n"
        "\t\tport:\t1\n"
        "\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
        "\t\t\tGID[  0]:\t\tfe80::b226:28ff:fe12:3456, RoCE v1\n"
        "\t\t\tGID[  3]:\t\t::ffff:192.0.2.7, RoCE v2\n"
        "\t\t\tGID[  4]:\t\tfe80:0000:0000:0000:b226:28ff:fe12:3456\n",
        "ibv_devinfo",
        {
            {"port bnxt_re0/1 gid 0", "gid", "fe80::b226:28ff:fe12:3456", 0},
            {"port bnxt_re0/1 gid 0", "gid_version", "v1", 0},
            {"port bnxt_re0/1 gid 3", "gid", "::ffff:192.0.2.7", 0},
            {"port bnxt_re0/1 gid 3", "gid_version", "v2", 0},
            {"port bnxt_re0/1 gid 4", "gid", "fe80:0000:0000:0000:b226:28ff:fe12:3456", 0},
            {"port bnxt_re0/1 gid 4", "gid_version", NULL, 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "link mlx5_0/1 cntn 3 type RC pid 4242 comm python out_of_sequence 4 lqpn 258,259\n",
        "rdma-tool",
        {
            {"port mlx5_0/1 counter 3", "out_of_sequence", "4", 0},
            {"port mlx5_0/1 counter 3", "lqpn", "258,259", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "4: ens1f0np0@if3: <BROADCAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT\n"
        "    link/ether b8:e9:24:12:ab:cd brd ff:ff:ff:ff:ff:ff\n"
        "    RX: bytes  packets  errors  dropped overrun mcast\n"
        "    1234       2        3       4       0       0\n"
        "    TX: bytes  packets  errors  dropped carrier collsns\n"
        "    5          6        0       0       7       0\n",
        "ip-link",
        {
            {"netdev ens1f0np0", "mtu", "9000", 0},
            {"netdev ens1f0np0", "operstate", "UP", 0},
            {"netdev ens1f0np0", "address", "b8:e9:24:12:ab:cd", 0},
            {"netdev ens1f0np0", "rx_bytes", "1234", 0},
            {"netdev ens1f0np0", "rx_errors", "3", 0},
            {"netdev ens1f0np0", "tx_carrier", "7", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "/sys/class/infiniband/mlx5_0/ports/1/gids/3:0000:0000:0000:0000:0000:ffff:c000:0207\n"
        "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/3:RoCE v2\n"
        "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data:18446744073709551615\n"
        "/sys/class/net/eth2/speed:-1\n"
        "/sys/class/net/eth2/mtu:9000\n",
        "sysfs-counters",
        {
            {"port mlx5_0/1 gid 3", "gid", "0000:0000:0000:0000:0000:ffff:c000:0207", 0},
            {"port mlx5_0/1 gid 3", "gid_version", "v2", 0},
            {"port mlx5_0/1", "port_rcv_data", "!18446744073709551615", 0},
            {"netdev eth2", "speed", "?", 0},
            {"netdev eth2", "mtu", "9000", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "2024-05-01T10:11:12,345678+0200 mlx5_core 0000:03:00.0: mlx5_pcie_event:301:(pid 8): "
        "Detected insufficient power on the PCIe slot (27W).\n"
        "2024-05-01T10:11:13,345678+0200 mlx5_core 0000:03:00.0: 31.504 Gb/s available PCIe "
        "bandwidth, limited by 2.5 GT/s PCIe x16 link at 0000:00:01.0 (capable of 252.048 Gb/s "
        "with 16.0 GT/s PCIe x16 link)\n",
        "dmesg",
        {
            {"pci 0000:03:00.0", "pcie_slot_power", "27", 0},
            {"pci 0000:03:00.0", "pcie_bandwidth", "31.504", 0},
            {"pci 0000:03:00.0", "pcie_bandwidth_limit", "2.5", 0},
            {"pci 0000:03:00.0", "pcie_bandwidth_capable", "252.048", 0},
        },
        {{"pcie-slot-power", "pci 0000:03:00.0", 1},
         {"pcie-bandwidth-limited", "pci 0000:03:00.0", 1}},
    },
    {
        "[Mon Jan  6 03:14:18 2025] nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, "
        "Link 28 egress non-posted PRIV error (First)\n"
        "[Mon Jan  6 03:14:19 2025] NVRM: Xid (PCI:0000:41:00): 31, Ch 00000010\n",
        "xid",
        {
            {"pci 0000:c4:00.0", "interface", NULL, 0},
            {"gpu 0000:41:00.0 xid 31", "xid", "31", 0},
        },
        {{"nvswitch-error", "pci 0000:c4:00.0", 1},
         {"xid-application", "gpu 0000:41:00.0 xid 31", 1}},
    },
    {
        "node1:1234:1400 [0] transport/net_ib.cc:2110 NCCL WARN NET/IB: Got completion from peer "
        "10.0.0.2<43211> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=0 "
        "vendor_err=129 req_type=Send localGid ::ffff:192.0.2.1 remoteGids::ffff:192.0.2.2 "
        "hca mlx5_1\n"
        "node1:1234:1400 [0] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with "
        "error Connection timed out errno 110\n",
        "nccl-log",
        {
            {"peer 10.0.0.2", "completion_status", "12", 0},
            {"peer 10.0.0.2", "vendor_error", "129", 0},
            {"peer 10.0.0.2", "hca", "mlx5_1", 0},
            {"host node1", "errno", "110", 0},
        },
        {{"nccl-transport-retry", "peer 10.0.0.2", 1}, {"nccl-modify-qp", "host node1", 1}},
    },
    {
        " 0: #       size         count      type   redop    root     time   algbw   busbw  error"
        "     time   algbw   busbw  error\n"
        " 0:   268435456      67108864     float     sum      -1   1486.8  180.55  338.53  0e+00"
        "   1485.0  180.76  338.93  5e-07\n"
        " 0: # Avg bus bandwidth    : 338.73\n",
        "nccl-tests",
        {
            {"run 268435456", "out_of_place.busbw", "338.53", 0},
            {"run 268435456", "in_place.busbw", "338.93", 0},
            {"host", "average_busbw_all_sizes", "338.73", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "0001:01:00.0 Ethernet controller: Mellanox Technologies MT2892 Family [ConnectX-6 Dx]\n"
        "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
        "\t\tLnkSta:\tSpeed unknown, Width x0\n"
        "81:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7] (rev ff)\n"
        "\t!!! Unknown header type 7f\n"
        "\tKernel driver in use: mlx5_core\n",
        "lspci",
        {
            {"pci 0001:01:00.0", "pcie_speed", "?", 0},
            {"pci 0001:01:00.0", "pcie_width", "?", 0},
            {"pci 0000:81:00.0", "driver", "mlx5_core", 0},
        },
        {{"pcie-device-lost", "pci 0000:81:00.0", 1}},
    },
    {
        "qdisc taprio 100: dev eth3 root refcnt 9 tc 3 map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2\n",
        "tc",
        {
            {"netdev eth3 qdisc 100: prio 2", "tc", "1", 0},
            {"netdev eth3 qdisc 100: prio 3", "tc", "0", 0},
            {"netdev eth3 qdisc 100: prio 3", "band", NULL, 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "$ mlnx_qos -i ens1f0np0\n"
        "DCBX mode: OS controlled\n"
        "Priority trust state: dscp\n"
        "Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,total_size=262016\n"
        "PFC configuration:\n"
        "\tpriority    0   1   2   3   4   5   6   7\n"
        "\tenabled     0   0   0   1   0   0   0   0\n",
        "mlnx_qos",
        {
            {"netdev ens1f0np0 buffer 1", "size", "130944", 0},
            {"netdev ens1f0np0", "total_buffer_size", "262016", 0},
            {"netdev ens1f0np0 buffer 8", "size", NULL, 0},
            {"netdev ens1f0np0 prio 3", "pfc", "1", 0},
        },
        {{NULL, NULL, 0}},
    },
};

static void each_text_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_text(&texts[i]);
}

/* Lines that name an interface, and lines that only look so. */
static void a_heading_names_the_interface_below_it(void **unused)
{
    (void)unused;
    static const struct {
        const char *line, *subject;
    } lines[] = {
        {"=== eth0 ===", "netdev eth0"},
        {"[ens1f0np0]", "netdev ens1f0np0"},
        {"## p1p1", "netdev p1p1"},
        {"eth0:", "netdev eth0"},
        {"Interface: eth0", "netdev eth0"},
        {"device eth0:", "netdev eth0"},
        {"results", "netdev"},
        {"=== results ===", "netdev"},
        {"=== 10.0.0.1 ===", "netdev"},
        {"eth0", "netdev"},
        {"=== eth0 and eth1 ===", "netdev"},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "%s\nNIC statistics:\n     rx_crc_errors_phy: 5\n",
                 lines[i].line);
        OWN(evidence) struct evidence *e = evidence_of_text(text);
        assert_int_equal(e->fact_count, 1);
        assert_string_equal(e->facts[0].subject, lines[i].subject);
    }
}

static void a_command_ends_what_a_heading_says(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e =
        evidence_of_text("=== eth0 ===\n$ date\nNIC statistics:\n     rx_bytes: 5\n");
    assert_int_equal(e->fact_count, 1);
    assert_string_equal(e->facts[0].subject, "netdev");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_says_what_it_says),
        cmocka_unit_test(a_heading_names_the_interface_below_it),
        cmocka_unit_test(a_command_ends_what_a_heading_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
