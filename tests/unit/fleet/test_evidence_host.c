/*
 * tests/unit/fleet/test_evidence_host.c - runs, queueing, interrupts, PCIe, firmware, subnets.
 */
#include "evidence_test.h"

static const struct expected_file files[] = {
    {
        "perftest/ib_send_bw_status12_syndrom81.txt",
        "perftest",
        {
            {"run", "completion_status", "12", 0},
            {"run", "vendor_syndrome", "129", 0},
            {"run", "sent", "128", 0},
            {"run", "completed", "0", 0},
        },
        {
            {"run-failed", "run", 1},
        },
    },
    {
        "perftest/ib_write_bw_100g_cpufreq_line.txt",
        "perftest",
        {
            {"run 65536", "bw_average", "92.40", 0},
            {"run 65536", "bw_peak", "92.42", 0},
            {"run 65536", "iterations", "5000", 0},
            {"run", "gid_index", "3", 0},
            {"run", "rdma_cm", "ON", 0},
            {"run", "mtu", "4096", 0},
            {"run", "device", "mlx5_0", 0},
            {"run", "direction", "unidirectional", 0},
            {"run remote", "gid", "0000:0000:0000:0000:0000:ffff:0a0a:0b0b", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "perftest/ib_write_bw_bidir_a_all_sizes.txt",
        "perftest",
        {
            {"run", "direction", "bidirectional", 0},
            {"run 8388608", "bw_average", "204.59", 0},
            {"run 2", "bw_peak", "0.142947", 0},
            {"run 2", "bw_average", "0.012281", 0},
            {"run 4096", "msgrate", "5.754307", 0},
            {"run", "device", "<RDMA-NIC-2>", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "perftest/ib_write_bw_mtu1024_36g.txt",
        "perftest",
        {
            {"run 65536", "bw_average", "36.31", 0},
            {"run 65536", "bw_peak", "?", 0},
            {"run", "mtu", "1024", 0},
            {"run local", "gid", "0000:0000:0000:0000:0000:ffff:0a0a:0a06", 0},
        },
        {
            {"rdma-mtu-low", "run", 1},
        },
    },
    {
        "perftest/ib_write_lat_rxe_blank_lines.txt",
        "perftest",
        {
            {"run 2", "t_min", "1.57", 0},
            {"run 2", "t_typical", "1.84", 0},
            {"run 2", "t_avg", "2.04", 0},
            {"run 2", "99_percentile", "5.02", 0},
            {"run 2", "99.9_percentile", "9.65", 0},
            {"run 4096", "t_avg", "2.76", 0},
            {"run 8192", "t_avg", NULL, 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "perftest/rping_data.txt",
        "perftest",
        {
            {"run", "latency", "?", 0},
            {"run", "ping_answered", "0", 0},
            {"run", "ping_answered", "2", 2},
            {"run", "ping_answered", NULL, 3},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "dcb/dcb_show_ets_pfc_buffer.txt",
        "dcb",
        {
            {"netdev eth0 tc 0", "tc-bw", "33", 0},
            {"netdev eth0 tc 1", "tc-bw", "33", 0},
            {"netdev eth0 tc 2", "tc-bw", "34", 0},
            {"netdev eth0 tc 3", "tc-tsa", "strict", 0},
            {"netdev eth0 tc 7", "tc-bw", "0", 0},
            {"netdev eth0 prio 6", "prio-pfc", "on", 0},
            {"netdev eth0 prio 7", "prio-pfc", "on", 0},
            {"netdev eth0 prio 3", "prio-pfc", "off", 0},
            {"netdev eth0", "delay", "4096", 0},
            {"netdev eth0", "pfc-cap", "8", 0},
            {"netdev eth0", "total-size", "1222", 0},
            {"netdev eth0 buffer 6", "buffer-size", "1", 0},
            {"netdev eth0 tc 6", "tc-maxrate", "100", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "mlnx_qos/mlnx_qos_dscp_pfc_0_2_6_7.txt",
        "mlnx_qos",
        {
            {"netdev", "trust", "dscp", 0},
            {"netdev dscp 26", "prio", "3", 0},
            {"netdev dscp 0", "prio", "0", 0},
            {"netdev dscp 63", "prio", "7", 0},
            {"netdev prio 0", "pfc", "1", 0},
            {"netdev prio 2", "pfc", "1", 0},
            {"netdev prio 3", "pfc", "0", 0},
            {"netdev prio 7", "pfc", "1", 0},
            {"netdev", "cable_length", "10", 0},
            {"netdev tc 0", "prio", "1", 0},
            {"netdev tc 1", "prio", "0", 0},
            {"netdev tc 5", "bw", "10", 0},
            {"netdev tc 6", "tsa", "strict", 0},
            {"netdev tc 6", "bw", NULL, 0},
        },
        {
            {"roce-without-pfc", "netdev", 1},
        },
    },
    {
        "mlnx_qos/mlnx_qos_trust_pcp_default.txt",
        "mlnx_qos",
        {
            {"netdev", "trust", "pcp", 0},
            {"netdev dscp 26", "prio", NULL, 0},
            {"netdev prio 3", "pfc", "0", 0},
            {"netdev prio 3", "buffer", "0", 0},
            {"netdev tc 0", "ratelimit", "unlimited", 0},
            {"netdev buffer 0", "size", "20352", 0},
            {"netdev", "max_buffer_size", "2069280", 0},
            {"netdev tc 7", "prio", "7", 0},
        },
        {
            {"trust-not-dscp", "netdev", 1},
            {"roce-without-pfc", "netdev", 1},
        },
    },
    {
        "tc/tc_htb_qdisc_drop81.txt",
        "tc",
        {
            {"netdev eth1 qdisc 1:", "dropped", "81", 0},
            {"netdev eth1 qdisc 1:", "overlimits", "2968", 0},
            {"netdev eth1 qdisc 1:", "default", "12", 0},
            {"netdev eth1 qdisc 120: parent 1:12", "dropped", "81", 0},
            {"netdev eth1 qdisc 120: parent 1:12", "target", "24.6", 0},
        },
        {
            {"qdisc-drops", "netdev eth1", 1},
        },
    },
    {
        "tc/tc_mqprio_map.txt",
        "tc",
        {
            {"netdev qdisc 6666:", "tc", "3", 0},
            {"netdev qdisc 6666: prio 3", "tc", "0", 0},
            {"netdev qdisc 6666: prio 2", "tc", "1", 0},
            {"netdev qdisc 6666: prio 0", "tc", "2", 0},
            {"netdev qdisc 6666: tc 2", "queue_first", "2", 0},
            {"netdev qdisc 6666: tc 2", "queue_last", "3", 0},
            {"netdev qdisc 0: parent 6666:1 prio 6", "band", "0", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "tc/tc_qdisc_ets_8bands.txt",
        "tc",
        {
            {"netdev qdisc 1: band 0", "share", "12.50", 0},
            {"netdev qdisc 1: band 7", "quantum", "1514", 0},
            {"netdev qdisc 1: prio 7", "band", "0", 0},
            {"netdev qdisc 1: band 0", "quantum", "2650", 1},
            {"netdev qdisc 1: band 0", "share", "20.00", 1},
            {"netdev qdisc 1:", "strict", "8", 0},
            {"netdev qdisc 1: band 7", "strict", "1", 0},
            {"netdev qdisc 1:", "strict", "3", 1},
            {"netdev qdisc 1: band 3", "quantum", "3500", 2},
            {"netdev qdisc 1: band 5", "quantum", "2500", 2},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "tc/tc_qdisc_fq_plimit_drops.txt",
        "tc",
        {
            {"netdev qdisc 8002:", "sent_bytes", "768138725", 0},
            {"netdev qdisc 8002:", "dropped", "13619", 0},
            {"netdev qdisc 0: parent 8002:8", "flows_plimit", "1743", 0},
            {"netdev qdisc 0: parent 8002:7", "flows_plimit", "2506", 0},
            {"netdev qdisc 0: parent 8002:6", "dropped", "1803", 0},
            {"netdev qdisc 0: parent 8002:8", "flow_limit", "100", 0},
        },
        {
            {"qdisc-drops", "netdev", 1},
            {"flow-limit-drops", "netdev", 2},
        },
    },
    {
        "interrupts/interrupts_centos5_eth1_queues.txt",
        "interrupts",
        {
            {"irq 98 cpu 15", "interrupts", "2902361", 0},
            {"irq 98 cpu 0", "interrupts", "35", 0},
            {"irq 98 cpu 1", "interrupts", "0", 0},
            {"irq 98 cpu 2", "interrupts", NULL, 0},
            {"irq 98", "name", "eth1-0", 0},
            {"irq NMI cpu 15", "interrupts", "2931", 0},
            {"irq ERR", "interrupts", "0", 0},
        },
        {
            {"irq-one-cpu", "netdev eth1", 1},
        },
    },
    {
        "interrupts/interrupts_iavf_all_on_cpu4.txt",
        "interrupts",
        {
            {"irq 942 cpu 4", "interrupts", "333832", 0},
            {"irq 942 cpu 0", "interrupts", "0", 0},
            {"irq 942", "name", "iavf-net1-TxRx-0", 0},
            {"irq 941", "name", "iavf-0000:b5:03.6:mbx", 0},
            {"irq 965 cpu 4", "interrupts", "192847", 0},
        },
        {
            {"irq-one-cpu", "netdev net1", 1},
        },
    },
    {
        "interrupts/interrupts_insights_8cpu.txt",
        "interrupts",
        {
            {"irq 29 cpu 0", "interrupts", "974462", 0},
            {"irq 29", "name", "enp0s25", 0},
            {"irq 30", "name", NULL, 0},
            {"irq 30 cpu 0", "interrupts", "100", 0},
            {"irq LOC cpu 7", "interrupts", "2508884", 0},
            {"irq ERR", "interrupts", "0", 0},
            {"irq MIS", "interrupts", "0", 0},
            {"irq 16", "name", "ehci_hcd:usb1, mmc0", 0},
            {"irq 27", "name", "ahci[0000:00:1f.2]", 0},
        },
        {
            {"irq-one-cpu", "netdev enp0s25", 1},
        },
    },
    {
        "lspci/lspci_bcm5720_x1_of_x2.txt",
        "lspci",
        {
            {"pci 0000:01:00.0", "pcie_width", "1", 0},
            {"pci 0000:01:00.0", "pcie_width_max", "2", 0},
            {"pci 0000:01:00.0", "pcie_speed", "5", 0},
        },
        {
            {"pcie-link-degraded-other", "pci 0000:01:00.0", 1},
        },
    },
    {
        "lspci/lspci_cx7_gen5_x16_ok.txt",
        "lspci",
        {
            {"pci 0000:1a:00.0", "pcie_speed", "32", 0},
            {"pci 0000:1a:00.0", "pcie_width", "16", 0},
            {"pci 0000:1a:00.0", "pcie_speed_max", "32", 0},
            {"pci 0000:1a:00.0", "max_read_request", "4096", 0},
            {"pci 0000:1a:00.0", "part_number", "MCX75310AAS-NEAT", 0},
            {"pci 0000:1a:00.0", "driver", "mlx5_core", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "lspci/lspci_pex890xx_port_gen4.txt",
        "lspci",
        {
            {"pci 0000:17:03.0", "pcie_speed", "16", 0},
            {"pci 0000:17:03.0", "pcie_speed_max", "32", 0},
            {"pci 0000:17:03.0", "pcie_width", "16", 0},
        },
        {
            {"pcie-link-bridge", "pci 0000:17:03.0", 1},
        },
    },
    {
        "lspci/lspci_rocm_gpu_nic_speed_grep.txt",
        "lspci",
        {
            {"pci 0000:02:00.0", "pcie_speed", "32", 0},
            {"pci 0000:05:00.0", "pcie_speed", "16", 0},
            {"pci 0000:05:00.0", "pcie_width_max", "16", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "devlink-info/devlink_info_ice_6_1_5.txt",
        "devlink-info",
        {
            {"pci 0000:af:00.0", "driver", "ice", 0},
            {"pci 0000:af:00.0", "fixed board.id", "K91258-000", 0},
            {"pci 0000:af:00.0", "running fw.mgmt", "6.1.5", 0},
            {"pci 0000:af:00.0", "running fw.bundle_id", "0x80008e6a", 0},
            {"pci 0000:af:00.0", "stored fw.bundle_id", "0x80008e6a", 0},
            {"pci 0000:af:00.0", "serial_number", "?", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "devlink-info/devlink_info_ice_2_1_7.txt",
        "devlink-info",
        {
            {"pci 0000:3b:00.0", "running fw.mgmt", "2.1.7", 0},
            {"pci 0000:3b:00.0", "running fw.mgmt.api", "1.5", 0},
            {"pci 0000:3b:00.0", "running fw.app", "1.3.1.0", 0},
            {"pci 0000:3b:00.0", "serial_number", "00-01-ab-ff-ff-c7-41-93", 0},
            {"pci 0000:3b:00.0", "stored fw.bundle_id", NULL, 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "devlink-info/flint_query_cx5.txt",
        "devlink-info",
        {
            {"firmware", "firmware", "16.28.2006", 0},
            {"firmware", "release_date", "15.9.2020", 0},
            {"firmware", "psid", "MT_0000000158", 0},
            {"firmware", "rom", "type=UEFI version=14.21.17 cpu=AMD64", 0},
            {"firmware", "rom", "type=PXE version=3.6.102 cpu=AMD64", 1},
            {"firmware", "image_vsd", "?", 0},
        },
        {
            {"firmware-old", "firmware", 1},
        },
    },
    {
        "devlink-flash/mlxfwmanager_digest_wrong.txt",
        "devlink-flash",
        {
            {"firmware device 1", "psid", "MT_0000000359", 0},
            {"firmware device 1", "firmware", "22.32.0498", 0},
            {"firmware device 1", "FW_available", "22.32.0498", 0},
            {"firmware device 1", "status", "Forced update required", 0},
            {"firmware device 1", "result", "failed", 0},
        },
        {
            {"flash-failed", "firmware device 1", 1},
        },
    },
    {
        "devlink-flash/mstflint_burn_needs_reset.txt",
        "devlink-flash",
        {
            {"firmware 05:00.0", "firmware_flash", "10.16.1020", 0},
            {"firmware 05:00.0", "firmware_new", "10.16.1200", 0},
            {"firmware 05:00.0", "result", "pending-reset", 0},
        },
        {
            {"firmware-staged", "firmware 05:00.0", 1},
        },
    },
    {
        "dcqcn/mlxconfig_dcqcn_cx5_p1.txt",
        "dcqcn",
        {
            {"firmware port 1", "ROCE_CC_PRIO_MASK_P1", "255", 0},
            {"firmware port 1", "CNP_DSCP_P1", "48", 0},
            {"firmware port 1", "CNP_802P_PRIO_P1", "6", 0},
            {"firmware port 1", "MIN_TIME_BETWEEN_CNPS_P1", "4", 0},
            {"firmware port 1", "DCE_TCP_G_P1", "1019", 0},
            {"firmware port 1", "INITIAL_ALPHA_VALUE_P1", "1023", 0},
            {"firmware port 1", "RPG_MAX_RATE_P1", "0", 0},
            {"firmware port 1", "RATE_TO_SET_ON_FIRST_CNP_P1", "0", 0},
            {"firmware port 1", "CLAMP_TGT_RATE_AFTER_TIME_INC_P1", "1", 0},
            {"firmware port 2", "CLAMP_TGT_RATE_P2", "0", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "opensm/ibnetdiscover_speed_unknown.txt",
        "opensm",
        {
            {"switch-port 0x506b4b03006714f3/37", "speed", "?", 0},
            {"switch-port 0x506b4b03006714f3/37", "peer_guid", "?", 0},
            {"switch-port 0x506b4b03006714f3/37", "lid", "2052", 0},
            {"switch-port 0x08c0eb03009ee135/80", "speed", "SDR", 0},
            {"switch-port 0x08c0eb03009ee135/80", "peer_guid", "?", 0},
            {"port 0x7cfe90030080f0e5/1", "speed", "EDR", 0},
            {"port 0x7cfe90030080f0e5/1", "peer_port", "10", 0},
            {"port 0x7cfe90030080f0e5/1", "node", "o0001 HCA-1", 0},
        },
        {
            {"port-down", "switch-port 0x506b4b03006714f3/37", 1},
            {"port-down", "switch-port 0x08c0eb03009ee135/80", 1},
        },
    },
    {
        "opensm/ibswinfo_fan_error.txt",
        "opensm",
        {
            {"switch", "fan_status", "ERROR", 0},
            {"switch", "fan#1", "8493", 0},
            {"switch", "fan#6", "7156", 0},
            {"switch psu 0", "fan_status", "OK", 0},
            {"switch psu 1", "power", "71", 0},
            {"switch", "temperature", "45", 0},
            {"switch", "max_temp", "57", 0},
            {"switch", "firmware", "11.2008.2102", 0},
            {"switch", "GUID", "0x1c34da03003945f8", 0},
        },
        {
            {"switch-alarm", "switch", 1},
        },
    },
    {
        "opensm/perfquery_clean.txt",
        "opensm",
        {
            {"lid 133 port 1", "PortXmitData", "37108676853855", 0},
            {"lid 133 port 1", "tx_bytes", "148434707415420", 0},
            {"lid 133 port 1", "symbol_error", "0", 0},
            {"lid 133 port 1", "LinkDownedCounter", "0", 0},
            {"lid 133 port 1", "QP1Dropped", "0", 0},
            {"lid 133 port 1", "multicast_rcv_packets", "3732373137", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "sysfs-counters/hns_debugfs_sw_stat.txt",
        "sysfs-counters",
        {
            {"rdma hns_0", "aeqe", "3341", 0},
            {"rdma hns_0", "cmds", "6764", 0},
            {"rdma hns_0", "cmds_err", "0", 0},
            {"rdma hns_0", "mmap_err", "0", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "sysfs-counters/sysfs_iwarp_hw_counters_dup.txt",
        "sysfs-counters",
        {
            {"rdma iwp3s0f0", "ip4InPkts", "87399", 0},
            {"rdma iwp3s0f0", "tcpRetransSegs", "0", 0},
            {"rdma iwp3s0f0", "cnpSent", "0", 0},
            {"rdma iwp3s0f0", "ecn_marked_packets", "0", 0},
            {"port iwp3s0f0/1", "ip4InPkts", NULL, 0},
            {"port iwp3s0f0/1", "cnp_sent", NULL, 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "sysfs-counters/sysfs_mlx5_0.txt",
        "sysfs-counters",
        {
            {"port mlx5_0/1", "link_downed", "0", 0},
            {"port mlx5_0/1", "excessive_buffer_overrun_errors", "!15", 0},
            {"port mlx5_0/1", "physical_state", "5: LinkUp", 0},
            {"port mlx5_0/1", "port_rcv_errors", "14", 0},
            {"port mlx5_0/1", "rate", "400", 0},
            {"rdma mlx5_0", "firmware", "28.41.1000", 0},
            {"port mlx5_0/1", "out_of_sequence", "0", 0},
        },
        {
            {"counter-saturated", "port mlx5_0/1", 1},
        },
    },
    {
        "sysfs-counters/sysfs_mlx5_1_link_downed_255.txt",
        "sysfs-counters",
        {
            {"port mlx5_1/1", "link_downed", "!255", 0},
            {"port mlx5_1/1", "excessive_buffer_overrun_errors", "!15", 0},
            {"port mlx5_1/1", "port_rcv_errors", "14", 0},
            {"port mlx5_1/1", "port_xmit_wait", "2489603687", 0},
            {"port mlx5_1/1", "state", "4: ACTIVE", 0},
            {"port mlx5_1/1", "rate_text", "400 Gb/sec (4X NDR)", 0},
            {"rdma mlx5_1", "firmware", "28.41.1000", 0},
        },
        {
            {"counter-saturated", "port mlx5_1/1", 1},
            {"link-flapping", "port mlx5_1/1", 1},
        },
    },
    {
        "sysfs-counters/sysfs_mlx5_bond_0_bf3.txt",
        "sysfs-counters",
        {
            {"port mlx5_bond_0/1", "link_layer", "Ethernet", 0},
            {"port mlx5_bond_0/1", "rate_text", "200 Gb/sec (2X NDR)", 0},
            {"port mlx5_bond_0/1", "rate", "200", 0},
            {"rdma mlx5_bond_0", "firmware", "32.38.3056", 0},
        },
        {
            {"counter-saturated", "port mlx5_bond_0/1", 1},
        },
    },
};

static void each_file_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        check_file(&files[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_says_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
