/*
 * tests/unit/fleet/test_evidence_nic.c - counters, pause, RDMA devices and ports.
 */
#include "evidence_test.h"

static const struct expected_file files[] = {
    {
        "ethtool-S/bnxt_stats_ring_discards.txt",
        "ethtool-S",
        {
            {"netdev", "rx_total_ring_discards", "655430134", 0},
            {"netdev", "rx_discards_host", "655430134", 0},
            {"netdev", "rx_stat_discard", "49337", 0},
            {"netdev", "rx_fcs_errors", "0", 0},
            {"netdev prio 3", "rx_pause", "0", 0},
            {"netdev", "rx_total_l4_csum_errors", "428620", 0},
            {"netdev queue 0", "rx_discards", "11763190", 0},
            {"netdev queue 0", "rx_l4_csum_errors", "3442", 0},
        },
        {
            {"receive-discards", "netdev", 1},
        },
    },
    {
        "ethtool-S/i40e_stats_v232k.txt",
        "ethtool-S",
        {
            {"netdev", "rx_crc_errors", "0", 0},
            {"netdev", "rx_dropped", "179160", 0},
            {"netdev", "rx_packets", "439831225513", 0},
            {"netdev queue 11", "rx_packets", "36079820245", 0},
            {"netdev queue 0", "tx_bytes", "4404820986920", 0},
        },
        {
            {"receive-discards-few", "netdev", 1},
        },
    },
    {
        "ethtool-S/ice_stats_clean.txt",
        "ethtool-S",
        {
            {"netdev", "rx_crc_errors.nic", "0", 0},
            {"netdev prio 3", "rx_pause", "0", 0},
            {"netdev prio 7", "tx_pause", "0", 0},
            {"netdev", "rx_bytes", "848243014", 0},
            {"netdev", "rx_bytes.nic", "848255752", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "ethtool-S/mlx5_stats_cx4lx_quiet.txt",
        "ethtool-S",
        {
            {"netdev", "rx_fcs_errors", "0", 0},
            {"netdev prio 0", "rx_pause", NULL, 0},
            {"netdev prio 3", "rx_pause", NULL, 0},
            {"netdev", "tx_pci_signal_integrity", "34", 0},
            {"netdev prio 0", "rx_bytes", "2202570777997", 0},
            {"netdev", "pfc_configured", "no", 0},
        },
        {
            {"pcie-signal", "netdev", 1},
        },
    },
    {
        "ethtool-S/mlx5_stats_old_names.txt",
        "ethtool-S",
        {
            {"netdev", "rx_fcs_errors", "0", 0},
            {"netdev", "check_seq_err", "0", 0},
            {"netdev", "rx_symbol_errors", "0", 0},
            {"netdev", "rx_crc_errors_phy", NULL, 0},
            {"netdev prio 0", "rx_bytes", NULL, 0},
            {"netdev", "rx_bytes_phy", "1084993260", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "ethtool-S/pause_frames_grep.txt",
        "ethtool-S",
        {
            {"netdev eth1", "rx_pause", "95331", 0},
            {"netdev eth1", "rx_constant_pause_events", "0", 0},
            {"netdev eth1", "tx_pause", "0", 0},
            {"netdev eth1 prio 0", "rx_pause", NULL, 0},
        },
        {
            {"link-pause-active", "netdev eth1", 1},
        },
    },
    {
        "ethtool-i/be2net_driver_info.txt",
        "ethtool-i",
        {
            {"netdev", "driver", "be2net", 0},
            {"netdev", "firmware", "4.9.311.20", 0},
            {"netdev", "bus-info", "0000:04:00.0", 0},
        },
        {
            {"nic-not-rdma", "netdev", 1},
        },
    },
    {
        "ethtool-i/mlx5_driver_info_cx4.txt",
        "ethtool-i",
        {
            {"netdev", "driver", "mlx5_core", 0},
            {"netdev", "firmware", "14.23.1020", 0},
            {"netdev", "psid", "MT_2420110034", 0},
            {"netdev", "expansion-rom-version", "", 0},
            {"netdev", "version", "5.0-0", 0},
        },
        {
            {"firmware-old", "netdev", 1},
        },
    },
    {
        "pfc/mlx5_global_pause_keys_zero.txt",
        "ethtool-S",
        {
            {"netdev", "rx_pause", "0", 0},
            {"netdev", "tx_pause_storm_warnings", "0", 0},
            {"netdev", "tx_pause_storm_errors", "0", 0},
            {"netdev prio 3", "rx_pause", NULL, 0},
            {"netdev", "pfc_configured", "no", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "pfc/mlx5_prio3_pause_t0.txt",
        "ethtool-S",
        {
            {"netdev prio 3", "rx_prio3_pause", "41927", 0},
            {"netdev prio 3", "rx_pause", "41927", 0},
            {"netdev prio 3", "rx_pause_duration", "8134", 0},
            {"netdev prio 3", "rx_pause_transition", "39218", 0},
            {"netdev prio 3", "tx_pause", "1290418", 0},
            {"netdev prio 3", "tx_pause_duration", "2914772", 0},
            {"netdev prio 3", "rx_discards_buffer", "0", 0},
            {"netdev prio 3", "rx_discards_congestion", "0", 0},
            {"netdev prio 3", "rx_ecn_marked", "9147732", 0},
            {"netdev", "rx_pause_ctrl_phy", "41927", 0},
            {"netdev", "pfc_configured", NULL, 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "pfc/mlx5_prio3_pause_t1.txt",
        "ethtool-S",
        {
            {"netdev prio 3", "rx_pause", "43127", 0},
            {"netdev prio 3", "tx_pause", "1325418", 0},
            {"netdev prio 3", "tx_pause_duration", "3324772", 0},
            {"netdev prio 3", "rx_ecn_marked", "9200000", 0},
            {"netdev prio 3", "rx_discards_buffer", "17", 0},
            {"netdev", "tx_pause_storm_warnings", "1", 0},
        },
        {
            {"lossless-discards", "netdev prio 3", 1},
            {"pause-storm", "netdev", 1},
        },
    },
    {
        "pfc/pfcwd_stats_storm_flap.txt",
        "pfc",
        {
            {"switch-port Ethernet4 prio 3", "storms_detected", "1", 0},
            {"switch-port Ethernet4 prio 3", "storms_restored", "0", 0},
            {"switch-port Ethernet4 prio 3", "pfcwd_status", "stormed", 0},
            {"switch-port Ethernet4 prio 3", "storms_detected", "1", 1},
            {"switch-port Ethernet4 prio 3", "storms_restored", "1", 1},
            {"switch-port Ethernet4 prio 3", "pfcwd_status", "operational", 1},
            {"switch-port Ethernet4 prio 3", "storms_detected", "2", 2},
            {"switch-port Ethernet4 prio 3", "storms_restored", "1", 2},
            {"switch-port Ethernet4 prio 3", "pfcwd_status", "stormed", 2},
            {"switch-port Ethernet4 prio 3", "tx_drop", "41507426", 0},
            {"switch-port Ethernet4 prio 3", "tx_drop", "45830961", 1},
            {"switch-port Ethernet4 prio 3", "tx_drop", "46497254", 2},
            {"switch-port Ethernet4 prio 3", "tx_last_drop", "666293", 2},
        },
        {
            {"pause-storm", "switch-port Ethernet4 prio 3", 3},
        },
    },
    {
        "pfc/sonic_show_pfc_counters.txt",
        "pfc",
        {
            {"switch-port Ethernet0 prio 0", "rx_pause", "1200", 0},
            {"switch-port Ethernet0 prio 3", "rx_pause", "203", 0},
            {"switch-port Ethernet0 prio 3", "tx_pause", "213", 0},
            {"switch-port Ethernet0 prio 0", "tx_pause", "1210", 0},
            {"switch-port Ethernet-BP256 prio 0", "rx_pause", "?", 0},
            {"switch-port Ethernet-BP256 prio 7", "tx_pause", "?", 0},
            {"switch-port Ethernet-BP4 prio 7", "tx_pause", "817", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "rdma-tool/ibdev2netdev_up_down.txt",
        "rdma-tool",
        {
            {"port rocep1s0f0/1", "netdev", "enp1s0f0np0", 0},
            {"port rocep1s0f0/1", "netdev_state", "Up", 0},
            {"port roceP2p1s0f0/1", "netdev", "enP2p1s0f0np0", 0},
            {"port roceP2p1s0f0/1", "netdev_state", "Up", 0},
            {"port rocep1s0f1/1", "netdev_state", "Down", 0},
            {"port roceP2p1s0f1/1", "netdev_state", "Down", 0},
        },
        {
            {"port-down", "port rocep1s0f1/1", 1},
            {"port-down", "port roceP2p1s0f1/1", 1},
        },
    },
    {
        "rdma-tool/rdma_link_show_mlx5.txt",
        "rdma-tool",
        {
            {"port mlx5_0/1", "state", "ACTIVE", 0},
            {"port mlx5_0/1", "physical_state", "LINK_UP", 0},
            {"port mlx5_0/1", "netdev", "p1p1", 0},
            {"port mlx5_1/1", "netdev", "p1p2", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "rdma-tool/rdma_res_show_ctx.txt",
        "rdma-tool",
        {
            {"rdma ibp8s0f0 ctx 0", "pid", "980", 0},
            {"rdma ibp8s0f0 ctx 1", "pid", "981", 0},
            {"rdma ibp8s0f0 ctx 2", "pid", "992", 0},
            {"rdma ibp8s0f1 ctx 0", "pid", "984", 0},
            {"rdma ibp8s0f1 ctx 1", "pid", "987", 0},
            {"rdma ibp8s0f1 ctx 1", "comm", "ibv_rc_pingpong", 0},
            {"rdma ibp8s0f1 ctx 2", "pid", NULL, 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "rdma-tool/rdma_res_show_qp.txt",
        "rdma-tool",
        {
            {"port ibp8s0f1/1 qp 360", "type", "UD", 0},
            {"port ibp8s0f1/1 qp 360", "state", "RTS", 0},
            {"port ibp8s0f1/1 qp 360", "comm", "[mlx5_ib]", 0},
            {"port ibp8s0f1/1 qp 465", "type", "DRIVER", 0},
            {"port ibp8s0f1/1 qp 465", "subtype", "REG_UMR", 0},
            {"port ibp8s0f1/1 qp 0", "type", "SMI", 0},
            {"port ibp8s0f1/1 qp 1", "type", "GSI", 0},
            {"port ibp8s0f1/1 qp 1", "comm", "[ib_core]", 0},
            {"rdma ibp8s0f1", "qp", "3", 0},
            {"rdma ibp8s0f1", "qp", "4", 1},
            {"rdma ibp8s0f0", "cq", "4", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "rdma-tool/rdma_statistic_show_wrapped.txt",
        "rdma-tool",
        {
            {"port mlx5_2/1", "rx_write_requests", "0", 0},
            {"port mlx5_2/1", "rx_atomic_requests", "0", 0},
            {"port mlx5_2/1", "out_of_sequence", "0", 0},
            {"port mlx5_3/1", "rx_icrc_encapsulated", "0", 0},
            {"port mlx5_3/1", "np_cnp_sent", "0", 0},
            {"port mlx5_2/1 counter 4", "pid", "9829", 0},
            {"port mlx5_2/1 counter 4", "comm", "ib_send_bw", 0},
            {"port mlx5_2/1 counter 4", "lqpn", "258", 0},
            {"port mlx5_2/1 counter 4", "out_of_sequence", "0", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "ibstat/ibstat_cx6lx_zero_port_guid.txt",
        "ibstat",
        {
            {"rdma mlx5_0", "firmware", "22.38.1900", 0},
            {"port mlx5_0/1", "state", "Active", 0},
            {"port mlx5_0/1", "physical_state", "LinkUp", 0},
            {"port mlx5_0/1", "rate", "100", 0},
            {"port mlx5_0/1", "link_layer", "Ethernet", 0},
            {"port mlx5_0/1", "port_guid", "?", 0},
            {"port mlx5_1/1", "port_guid", "?", 0},
            {"rdma mlx5_1", "node_guid", "0x946dae0300234b88", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "ibstat/ibstat_h100_frontend_down.txt",
        "ibstat",
        {
            {"port mlx5_0/1", "rate", "400", 0},
            {"port mlx5_10/1", "rate", "400", 0},
            {"port mlx5_11/1", "rate", "400", 0},
            {"port mlx5_3/1", "rate", "400", 0},
            {"port mlx5_0/1", "base_lid", "75", 0},
            {"port mlx5_1/1", "rate", "100", 0},
            {"port mlx5_2/1", "state", "Down", 0},
            {"port mlx5_2/1", "rate", "?", 0},
            {"port mlx5_2/1", "rate_placeholder", "40", 0},
            {"rdma mlx5_0", "type", "MT4129", 0},
            {"port mlx5_0/1", "link_layer", "InfiniBand", 0},
        },
        {
            {"port-disabled", "port mlx5_2/1", 1},
            {"port-disabled", "port mlx5_7/1", 1},
            {"port-disabled", "port mlx5_8/1", 1},
        },
    },
    {
        "ibstat/ibstat_h100_some_down_polling.txt",
        "ibstat",
        {
            {"port mlx5_11/1", "physical_state", "Polling", 0},
            {"port mlx5_11/1", "rate", "?", 0},
            {"port mlx5_5/1", "physical_state", "Disabled", 0},
            {"port mlx5_0/1", "rate", "400", 0},
            {"port mlx5_1/1", "rate", "100", 0},
        },
        {
            {"port-polling", "port mlx5_11/1", 1},
            {"port-disabled", "port mlx5_5/1", 1},
        },
    },
    {
        "ibstat/ibstat_ibpanic_rc255.txt",
        "ibstat",
        {
            {"rdma mlx5_0", "firmware", "20.41.1000", 0},
            {"rdma mlx5_7", "firmware", "20.41.1000", 0},
            {"port mlx5_7/1", "rate", "200", 0},
            {"rdma mlx5_8", "firmware", NULL, 0},
        },
        {
            {"device-vanished", "rdma mlx5_8", 1},
        },
    },
    {
        "ibstat/ibstatus_a100_hdr.txt",
        "ibstat",
        {
            {"port mlx5_0/1", "state", "4: ACTIVE", 0},
            {"port mlx5_0/1", "physical_state", "5: LinkUp", 0},
            {"port mlx5_0/1", "rate", "200", 0},
            {"port mlx5_0/1", "rate_text", "200 Gb/sec (4X HDR)", 0},
            {"port mlx5_0/1", "base_lid", "13247", 0},
            {"port mlx5_7/1", "link_layer", "InfiniBand", 0},
            {"port mlx5_7/1", "rate", "200", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "ibv_devinfo/ibv_devinfo_cx5_bond.txt",
        "ibv_devinfo",
        {
            {"rdma mlx5_0", "firmware", "16.31.1014", 0},
            {"port mlx5_0/1", "state", "PORT_ACTIVE", 0},
            {"port mlx5_0/1", "active_mtu", "1024", 0},
            {"port mlx5_0/1", "max_mtu", "4096", 0},
            {"rdma mlx5_0", "vendor_part_id", "4119", 0},
            {"port mlx5_bond_0/1", "active_mtu", "1024", 0},
            {"rdma mlx5_0", "class", "hardware", 0},
        },
        {
            {"firmware-old", "rdma mlx5_0", 1},
            {"rdma-mtu-low", "port mlx5_0/1", 1},
            {"firmware-old", "rdma mlx5_1", 1},
            {"rdma-mtu-low", "port mlx5_1/1", 1},
            {"firmware-old", "rdma mlx5_bond_0", 1},
            {"rdma-mtu-low", "port mlx5_bond_0/1", 1},
            {"rdma-bond", "rdma mlx5_bond_0", 1},
        },
    },
    {
        "ibv_devinfo/ibv_devinfo_rxe_no_linklayer.txt",
        "ibv_devinfo",
        {
            {"rdma rxe0", "firmware", "?", 0},
            {"rdma rxe0", "class", "software", 0},
            {"rdma rxe0", "sys_image_guid", "?", 0},
            {"port rxe0/1", "active_mtu", "1024", 0},
            {"port rxe0/1", "link_layer", NULL, 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "ibv_devinfo/show_gids_short_qedr.txt",
        "ibv_devinfo",
        {
            {"port qedr0/1 gid 0", "gid", "fe80:0000:0000:0000:020e:1eff:fee4:931a", 0},
            {"port qedr0/1 gid 0", "ipv4", NULL, 0},
            {"port qedr0/1 gid 1", "ipv4", "192.168.10.100", 0},
            {"port qedr0/1 gid 1", "gid_version", "?", 0},
            {"host", "gids_found", "2", 0},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "ibping/ibping_connectx1_57us.txt",
        "ibping",
        {
            {"peer node2.(none) (Lid 2)", "packets_transmitted", "28", 0},
            {"peer node2.(none) (Lid 2)", "packets_received", "28", 0},
            {"peer node2.(none) (Lid 2)", "packet_loss", "0", 0},
            {"peer node2.(none) (Lid 2)", "rtt_min", "0.057", 0},
            {"peer node2.(none) (Lid 2)", "rtt_avg", "0.075", 0},
            {"peer node2.(none) (Lid 2)", "rtt_max", "0.081", 0},
            {"peer node2.(none) (Lid 2)", "rtt", "0.075", 3},
            {"peer node2.(none) (Lid 2)", "rtt", NULL, 4},
        },
        {
            {NULL, NULL, 0},
        },
    },
    {
        "ibping/ibping_flood_10000.txt",
        "ibping",
        {
            {"peer node3.(none) (Lid 205)", "packets_transmitted", "10000", 0},
            {"peer node3.(none) (Lid 205)", "packets_received", "10000", 0},
            {"peer node3.(none) (Lid 205)", "packet_loss", "0", 0},
            {"peer node3.(none) (Lid 205)", "rtt_min", "0.002", 0},
            {"peer node3.(none) (Lid 205)", "rtt_avg", "0.008", 0},
            {"peer node3.(none) (Lid 205)", "rtt_max", "0.019", 0},
        },
        {
            {NULL, NULL, 0},
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
