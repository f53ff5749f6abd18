/*
 * tests/unit/fleet/test_evidence_drivers.c - other drivers, versions, switches and logs of
 * services, in the formats of their tools.
 */
#include "evidence_test.h"

static const struct expected_file texts[] = {
    {
        "NIC statistics:\n"
        "     [0]: rx_discards: 3\n"
        "     [7]: rx_bytes: 209722406252\n"
        "     rx_crc_errors: 0\n"
        "     rx_discards: 2\n"
        "     pfc_frames_received: 5\n"
        "     pfc_frames_sent: 6\n"
        "     rx_constant_pause_events: 2\n"
        "     Tx LPI entry count: 0\n",
        "ethtool-S",
        {
            {"netdev queue 0", "rx_discards", "3", 0},
            {"netdev queue 7", "rx_bytes", "209722406252", 0},
            {"netdev", "rx_fcs_errors", "0", 0},
            {"netdev", "rx_discards_port", "2", 0},
            {"netdev", "rx_pause", "5", 0},
            {"netdev", "tx_pause", "6", 0},
            {"netdev", "rx_constant_pause_events", "2", 0},
            {"netdev", "Tx LPI entry count", "0", 0},
        },
        {{"receive-discards", "netdev", 1}}, /* PFC is no pause of the whole link */
    },
    {
        "NIC statistics:\n"
        "[hw] rx frames: 92343581\n"
        "[hw] rx bytes: 48809586696\n"
        "[hw] rx nobuffer discards: 4\n"
        "[drv] cdan: 189818939\n"
        "[mac] rx 64 bytes: 4496630\n"
        "[mac] rx pause: 7\n"
        "[mac] rx frame errors: 0\n",
        "ethtool-S",
        {
            {"netdev", "rx_packets", "92343581", 0},
            {"netdev", "rx_bytes", "48809586696", 0},
            {"netdev", "rx_discards_no_descriptor", "4", 0},
            {"netdev", "[drv] cdan", "189818939", 0},
            {"netdev", "[mac] rx 64 bytes", "4496630", 0},
            {"netdev", "rx_pause", "7", 0},
            {"netdev", "[mac] rx frame errors", "0", 0},
        },
        {{"link-pause-active", "netdev", 1}, {"receive-discards-few", "netdev", 1}},
    },
    {
        "NIC statistics:\n"
        "port_rx_pause: 0\n"
        "port_tx_bytes: 795279\n"
        "port_rx_nodesc_drops: 0\n"
        "port_rx_dp_di_dropped_packets: 27\n"
        "rx_eth_crc_err: 9\n"
        "tx-11.tx_packets: 439\n",
        "ethtool-S",
        {
            {"netdev", "rx_pause", "0", 0},
            {"netdev", "tx_bytes_phy", "795279", 0},
            {"netdev", "rx_discards_no_descriptor", "0", 0},
            {"netdev", "rx_fcs_errors", "9", 0},
            {"netdev queue 11", "tx_packets", "439", 0},
        },
        {{"fcs-errors", "netdev", 1}},
    },
    {
        "     rx_crc_errors: 0\n"
        "     tx_pauseframes: 0\n"
        "     rx_priority_pause_frames: 12\n"
        "     rxq8: rx_compl_err: 93862\n"
        "     txq0: tx_bytes: 1481166547\n",
        "ethtool-S",
        {
            {"netdev", "tx_pause", "0", 0},
            {"netdev", "rx_pause", "12", 0},
            {"netdev queue 8", "rx_compl_err", "93862", 0},
            {"netdev queue 0", "tx_bytes", "1481166547", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "rx_crc_errors: 0\n"
        "tx_xoff_frames: 332\n"
        "rx_xoff_frames: 0\n"
        "rx_fw_discards: 0\n",
        "ethtool-S",
        {{"netdev", "tx_pause", "332", 0}, {"netdev", "rx_discards_host", "0", 0}},
        {{"link-pause-active", "netdev", 1}},
    },
    {
        "# PortRcvErrorDetails counters: Lid 2052 port 1\n"
        "PortSelect:......................1\n"
        "CounterSelect:...................0x0000\n"
        "PortLocalPhysicalErrors:.........3\n"
        "PortMalformedPktErrors:..........0\n"
        "PortVLMappingErrors:.............0\n"
        "PortLoopingErrors:...............0\n",
        "opensm",
        {
            {"lid 2052 port 1", "port_local_physical_errors", "3", 0},
            {"lid 2052 port 1", "port_malformed_packet_errors", "0", 0},
            {"lid 2052 port 1", "PortLoopingErrors", "0", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "part number        | MSB7790-ES2F\n"
        "PSU1 status        | \n"
        "     DC power      | OK\n"
        "     power (W)     | foo\n"
        "fan#1 (rpm)        |\n"
        "fan#2 (rpm)        | 7349\n",
        "opensm",
        {
            {"switch psu 1", "PSU1_status", "?", 0},
            {"switch psu 1", "power", "?", 0},
            {"switch", "fan#1", "?", 0},
            {"switch", "fan#2", "7349", 0},
            {"switch", "temperature", NULL, 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "6,3973,227996636,-;nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid "
        "context, skipping further processing\n"
        "4,3974,227996640,-,caller=T12;NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the "
        "bus.\n"
        " SUBSYSTEM=pci\n"
        " DEVICE=+pci:0000:9b:00.0\n"
        "6,3975,227996650,-;nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid "
        "context, skipping further processing\n"
        "30,3976,227996651,-;nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid "
        "context, said by a program\n",
        "dmesg",
        {{"gpu 0000:9b:00.0 xid 79", "xid", "79", 0}},
        {
            {"gpu-peer-memory", "driver nvidia-peermem", 2},
            {"xid-gpu-hardware", "gpu 0000:9b:00.0 xid 79", 1},
        },
    },
    {
        "[Feb 27 2025 14:10:02] [INFO] [tid 1808] multicast group 1 is allocated.\n"
        "[Feb 27 2025 14:10:02] [INFO] [tid 1584] Sending inband response message:  Message header "
        "details: magic Id:adbc request Id:fd892a54b49d70d9 status:0 type:3 length:24\n"
        "Message payload details:Team setup response: Team Handle:a5ca69ee2fc092 Flags:0\n"
        "\n"
        "[Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid "
        "0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61\n"
        "[Feb 27 2025 15:10:03] [ERROR] [tid 12727] detected NVSwitch fatal error 20034 on fid 0 "
        "on NVSwitch pci bus id 00000000:87:00.0 physical id 2 port 30\n",
        "dmesg",
        {
            {"pci 0000:86:00.0", "sxid", "12028", 0},
            {"pci 0000:86:00.0", "port", "61", 0},
            {"pci 0000:87:00.0", "sxid", "20034", 0},
        },
        {{"nvswitch-error", "pci 0000:86:00.0", 1}, {"nvswitch-fatal", "pci 0000:87:00.0", 1}},
    },
    {
        "      QUEUE    STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP\n"
        "-----------  --------  -------------------------  ------------  ------------\n"
        "Ethernet0:3       N/A                        0/0       5871/11       4740/47\n"
        "Ethernet0:10      N/A                        0/1       5356/70       2716/68\n",
        "pfc",
        {
            {"switch-port Ethernet0 prio 3", "pfcwd_status", "?", 0},
            {"switch-port Ethernet0 prio 3", "tx_drop", "11", 0},
            {"switch-port Ethernet0 queue 10", "rx_drop", "68", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "leaf1 [standalone: master] (config) # show interfaces ethernet 1/1 counters priority 3\n"
        "\n"
        "Rx:\n"
        "  0                   packets\n"
        "  1500                bytes\n"
        "  120                 pause packets\n"
        "  340                 pause duration\n"
        "  2                   buffer discard\n"
        "\n"
        "Tx:\n"
        "  17                  pause packets\n",
        "switch-roce",
        {
            {"switch-port Eth1/1 prio 3", "rx_packets", "0", 0},
            {"switch-port Eth1/1 prio 3", "rx_bytes", "1500", 0},
            {"switch-port Eth1/1 prio 3", "rx_pause", "120", 0},
            {"switch-port Eth1/1 prio 3", "rx_pause_duration", "340", 0},
            {"switch-port Eth1/1 prio 3", "tx_pause", "17", 0},
        },
        {{"switch-discards", "switch-port Eth1/1 prio 3", 1}},
    },
    {
        "Eth1/1\n"
        "\n"
        "Rx\n"
        "  120                 packets\n"
        "  2                   fcs errors\n"
        "  3                   discard packets\n"
        "  4                   buffer discard\n"
        "\n"
        "Tx\n"
        "  5                   packets\n"
        "Eth1/2\n"
        "Rx\n"
        "  7                   packets\n"
        "  18446744073709551616 fcs errors\n",
        "switch-roce",
        {
            {"switch-port Eth1/1", "rx_packets", "120", 0},
            {"switch-port Eth1/1", "rx_fcs_errors", "2", 0},
            {"switch-port Eth1/1", "rx_discards", "3", 0},
            {"switch-port Eth1/1", "tx_packets", "5", 0},
            {"switch-port Eth1/2", "rx_packets", "7", 0},
            {"switch-port Eth1/2", "rx_fcs_errors", NULL, 0},
        },
        {{"fcs-errors", "switch-port Eth1/1", 1}, {"receive-discards", "switch-port Eth1/1", 1}},
    },
    {
        "PFC enabled\n"
        "Priority Enabled List   :3\n"
        "Priority Disabled List  :0 1 2 4 5 6 7\n"
        "\n"
        "TC  Lossless\n"
        "--- ----------\n"
        "0        N\n"
        "3        Y\n"
        "\n"
        "Interface        PFC admin        PFC oper\n"
        "Eth1/1           On               Enabled\n"
        "Eth1/2           On               Disabled\n",
        "switch-roce",
        {
            {"switch prio 3", "pfc", "enabled", 0},
            {"switch prio 7", "pfc", "disabled", 0},
            {"switch tc 3", "lossless", "Y", 0},
            {"switch-port Eth1/1", "pfc_oper", "Enabled", 0},
        },
        {{"switch-pfc-off", "switch-port Eth1/2", 1}},
    },
    {
        "Port         Status  Priorities    Action        Timeout  Recovery        Polling\n"
        "                                                          Interval/Mode   Config/Oper\n"
        "-------------------------------------------------------------------------------------\n"
        "Et1/1        E A W   3 4           errdisable    1.0      1.0/auto        0.1/0.1\n"
        "Et1/2        D - -   -             -             -        -               -\n"
        "Et1/3        E - -   3             drop          1.0      1.0/auto        0.1/0.1\n",
        "switch-roce",
        {
            {"switch-port Et1/1", "pfc_enabled", "Yes", 0},
            {"switch-port Et1/1", "pfc_active", "Yes", 0},
            {"switch-port Et1/1", "pfc_priorities", "3,4", 0},
            {"switch-port Et1/2", "pfc_enabled", "No", 0},
            {"switch-port Et1/2", "pfc_priorities", NULL, 0},
        },
        {{"switch-pfc-off", "switch-port Et1/3", 1}},
    },
    {
        " Completion with error at client\n"
        " Failed status transport retry counter exceeded: wr_id 0 syndrom 0x81\n"
        "scnt=128, ccnt=0\n",
        "perftest",
        {
            {"run", "completion_status", "12", 0},
            {"run", "vendor_syndrome", "129", 0},
            {"run", "completed", "0", 0},
        },
        {{"run-failed", "run", 1}},
    },
    {
        " Failed status RNR retry counter exceeded (13): wr_id 0 syndrom 0x86\n"
        " Failed status of another kind: wr_id 0 syndrom 0x86\n",
        "perftest",
        {{"run", "completion_status", "13", 0}, {"run", "completion_status", "?", 1}},
        {{"run-failed", "run", 2}},
    },
    {
        "RDMA CM event error:\n"
        "Event: RDMA_CM_EVENT_REJECTED; error: -111.\n",
        "perftest",
        {{NULL, NULL, NULL, 0}},
        {{"run-failed", "run", 1}},
    },
};

static void each_text_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_text(&texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_text_says_what_it_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
