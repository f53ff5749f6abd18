/*
 * tests/unit/fleet/test_evidence_queues.c - queues and filters of switches and hosts, interrupts,
 * and other tools that measure, in the formats of NX-OS, EOS, Cumulus Linux, SONiC, tc and qperf.
 */
#include "evidence_test.h"

#define PORT "switch-port Ethernet1/1"

static const struct expected_file texts[] = {
    {
        "Egress Queuing for Ethernet1/1 [System]\n"
        "+-------------------------------------------------------------+\n"
        "|                              QOS GROUP 3                    |\n"
        "+-------------------------------------------------------------+\n"
        "|                           |  Unicast       |Multicast       |\n"
        "+-------------------------------------------------------------+\n"
        "|                   Tx Pkts |      1234567890|               7|\n"
        "| WRED/AFD & Tail Drop Pkts |            4711|               0|\n"
        "|        Tx Byts |              50|   Dropped Pkts |               0|\n"
        "+-------------------------------------------------------------+\n"
        "Port Egress Statistics\n"
        "--------------------------------------------------------\n"
        "Ingress MMU Drop Pkts                      19490\n"
        "PFC Statistics\n"
        "----------------------------------------------------------------------------\n"
        "TxPPP:             1234,   RxPPP:             5678\n"
        "----------------------------------------------------------------------------\n"
        " COS QOS Group        PG   TxPause   TxCount         RxPause         RxCount\n"
        "   0         0         -  Inactive         0        Inactive               0\n"
        "   3         3         -    Active      1234        Inactive            5678\n",
        "switch-roce",
        {{PORT " group 3", "tx_pkts", "1234567890", 0},
         {PORT " group 3", "tx_pkts.multicast", "7", 0},
         {PORT " group 3", "tx_byts", "50", 0},
         {PORT " group 3", "dropped_pkts", "0", 0},
         {PORT, "tx_pause", "1234", 0},
         {PORT, "rx_pause", "5678", 0},
         {PORT " prio 3", "tx_pause_state", "Active", 0},
         {PORT " prio 3", "rx_pause", "5678", 0},
         {PORT " prio 0", "tx_pause", "0", 0}},
        {{"switch-discards", PORT " group 3", 1}, {"switch-discards", PORT, 1}},
    },
    {
        "Ethernet1:\n"
        "   Trust Mode: COS\n"
        "   Default DSCP: 0\n"
        "\n"
        "  Tx    Bandwidth          Shape Rate            Priority  ECN/WRED\n"
        " Queue  Guaranteed (units)  (units)\n"
        " -----------------------------------------------------------------\n"
        "   7       - / -            - / -     ( - )        SP / SP     D\n"
        "   3      50 / 50 ( % )     - / -     ( - )        RR / RR     E\n",
        "switch-roce",
        {{"switch-port Ethernet1", "trust_mode", "COS", 0},
         {"switch-port Ethernet1 queue 7", "bandwidth_percent", "?", 0},
         {"switch-port Ethernet1 queue 3", "bandwidth_percent", "50", 0},
         {"switch-port Ethernet1 queue 3", "scheduling", "RR", 0},
         {"switch-port Ethernet1 queue 3", "ecn", "on", 0}},
        {{"trust-not-dscp", "switch-port Ethernet1", 1}},
    },
    {
        "$ nv show qos roce -o json\n"
        "{\"congestion-control\": {\"congestion-mode\": \"ECN\", \"min-threshold\": \"146.48 "
        "KB\"},\n"
        " \"mode\": \"lossless\",\n"
        " \"pfc\": {\"pfc-priority\": \"3\", \"tx-enabled\": \"disabled\"}}\n",
        "switch-roce",
        {{"switch", "congestion_control.min_threshold", "146.48", 0},
         {"switch", "pfc.pfc_priority", "3", 0}},
        {{"switch-pfc-off", "switch", 1}},
    },
    {
        "     Port    Priority    RX Pause Transitions    Total RX Pause Time MS\n"
        "---------  ----------  ----------------------  ------------------------\n"
        "Ethernet0        PFC3                      12                    12,000\n"
        "\n"
        "Ethernet4        PFC3                     N/A                       N/A\n",
        "sonic-qos",
        {{"switch-port Ethernet0 prio 3", "total_rx_pause_time_ms", "12000", 0},
         {"switch-port Ethernet4 prio 3", "rx_pause_transitions", "?", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "$ tc -s filter show dev eth0 ingress\n"
        "filter protocol ip pref 1 flower chain 0 \n"
        "filter protocol ip pref 1 flower chain 0 handle 0x1 \n"
        "  eth_type ipv4\n"
        "  ip_tos 0x68\n"
        "  in_hw in_hw_count 1\n"
        "\taction order 1: skbedit  priority :3 pipe\n"
        "\t index 1 ref 1 bind 1 installed 10 sec used 5 sec\n"
        "\tSent 1234 bytes 12 pkt (dropped 0, overlimits 0 requeues 0) \n"
        "filter protocol ip pref 2 flower chain 0 handle 0x1 \n"
        "  not_in_hw\n",
        "tc",
        {{"netdev eth0 filter 1 0x1", "kind", "flower", 0},
         {"netdev eth0 filter 1 0x1", "ip_tos", "104", 0},
         {"netdev eth0 filter 1 0x1", "hardware", "in_hw", 0},
         {"netdev eth0 filter 1 0x1", "sent_packets", "12", 0},
         {"netdev eth0 filter 2 0x1", "hardware", "not_in_hw", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "# show_irq_affinity.sh eth0\n"
        "98: 000000,00000001\n"
        "99: 000000,00000001\n"
        "100: 000000,00000001\n",
        "interrupts",
        {{"irq 99", "affinity", "000000,00000001", 0}},
        {{"irq-one-cpu", "netdev eth0", 1}},
    },
    {
        "98: 000000,0000000f\n"
        "99: 000000,0000000f\n"
        "100: 000000,0000000f\n",
        "interrupts",
        {{"irq 98", "affinity", "000000,0000000f", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "rc_rdma_write_bw:\n"
        "    bw  =  11.5 GB/sec\n"
        "rc_rdma_write_lat:\n"
        "    latency  =  1.75 us\n",
        "perftest",
        {{"run rc_rdma_write_bw", "bw", "11.5", 0},
         {"run rc_rdma_write_lat", "latency", "1.75", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "                    Send BW Test\n"
        " Connection type : RawEth\t\tUsing SRQ      : OFF\n"
        " Mtu             : 1518[B]\n"
        " Link type       : Ethernet\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 1024       1000           95.13              94.99                 11.595\n",
        "perftest",
        {{"run", "mtu", "1518", 0}, {"run 1024", "bw_average", "94.99", 0}},
        {{NULL, NULL, 0}}, /* the MTU of the link, not of RDMA */
    },
    {
        "Preparing to flash\n"
        "[fw.mgmt] Flashing 100%\n"
        "[fw.undi] Erasing timeout\n"
        "Error: Failed to flash device.\n",
        "devlink-flash",
        {{"firmware", "result", "failed", 0}},
        {{"flash-failed", "firmware", 2}},
    },
    {
        "index, name, temperature.gpu, ecc.errors.uncorrected.volatile.total\n"
        "0, NVIDIA A100-SXM4-80GB, [GPU requires reset], [N/A]\n",
        "nvidia-smi",
        {{"gpu 0", "temperature.gpu_current_temp", "?", 0},
         {"gpu 0", "ecc_errors.volatile.uncorrectable", "?", 0}},
        {{"gpu-reset-required", "gpu 0", 1}},
    },
    {
        "No devices were found\n",
        "nvidia-smi",
        {{NULL, NULL, NULL, 0}},
        {{"gpu-init-failed", "host", 1}},
    },
    {
        "Device #1:\n"
        "----------\n"
        "Device type:    ConnectX5\n"
        "Device:         /dev/mst/mt4119_pciconf0\n"
        "Configurations:                              Next Boot       New\n"
        "         LINK_TYPE_P1                        ETH(2)          IB(1)\n"
        "\n"
        " Apply new Configuration? (y/n) [n] : y\n"
        "Applying... Done!\n"
        "-I- Please reboot machine to load new configurations.\n",
        "dcqcn",
        {{"firmware port 1", "LINK_TYPE_P1", "1", 0}, {"firmware", "result", "pending-reset", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "Device #1:\n"
        "----------\n"
        "Device type:        ConnectX6DX\n"
        "Device:             0000:03:00.0\n"
        "-E- The Device doesn't support FOO parameter\n",
        "dcqcn",
        {{"firmware", "device_type", "ConnectX6DX", 0}},
        {{"tool-failed", "firmware", 1}},
    },
    {
        "$ niccli --dev 1 qos --ets --show\n"
        "IEEE 8021QAZ ETS Configuration TLV:\n"
        "         PRIO_MAP: 0:0 3:1 7:2\n"
        "         TC Bandwidth: 50% 50% 0%\n"
        "         TSA_MAP: 0:ets 1:ets 2:strict\n"
        "IEEE 8021QAZ PFC TLV:\n"
        "         PFC enabled: 4\n"
        "IEEE 8021QAZ APP TLV:\n"
        "         APP#0:\n"
        "          Priority: 3\n"
        "          Sel: 5\n"
        "          DSCP: 26\n"
        "\n"
        "         APP#1:\n"
        "          Priority: 3\n"
        "          Sel: 3\n"
        "          UDP or DCCP: 4791\n"
        "\n"
        "TC Rate Limit: 100% 100% 100% 0% 0% 0% 0% 0%\n",
        "dcb",
        {{"netdev prio 3", "prio-tc", "1", 0},
         {"netdev tc 1", "tc-bw", "50", 0},
         {"netdev tc 2", "tc-tsa", "strict", 0},
         {"netdev prio 4", "prio-pfc", "on", 0},
         {"netdev prio 3", "prio-pfc", "off", 0},
         {"netdev dscp 26", "prio", "3", 0},
         {"netdev app 4791", "prio", "3", 0},
         {"netdev tc 2", "tc-rate-limit", "100", 0}},
        {{"roce-without-pfc", "netdev", 1}},
    },
    {
        "Command:        Get Config\n"
        "Feature:        Priority Flow Control\n"
        "Port:           eth3\n"
        "Enable:         true\n"
        "pfcup:          0 0 0 1 0 0 0 0 \n",
        "dcb",
        {{"netdev eth3", "dcbtool_enable", "true", 0},
         {"netdev eth3 prio 3", "prio-pfc", "on", 0},
         {"netdev eth3 prio 0", "prio-pfc", "off", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "$ lldptool -t -n -i eth3\n"
        "Chassis ID TLV\n"
        "\tMAC: 00:00:5e:00:53:01\n"
        "CEE DCBX TLV\n"
        "\tPriority Groups TLV:\n"
        "\t  PGID Percentages: 0:20% 1:10% 2:40%\n"
        "\tPriority Flow Control TLV:\n"
        "\t  Enabled, Not Willing, No Error\n"
        "\t  PFC enabled priorities: 2, 3, 4, 6\n"
        "End of LLDPDU TLV\n",
        "lldp",
        {{"netdev eth3", "neighbour_cee_pg_pgid_percentages", "0:20% 1:10% 2:40%", 0},
         {"netdev eth3", "neighbour_cee_pfc_state", "Enabled, Not Willing, No Error", 0},
         {"netdev eth3", "neighbour_cee_pfc_pfc_enabled_priorities", "2, 3, 4, 6", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "$ cat /sys/class/net/ens1f0/ecn/roce_np/enable/3\n"
        "1\n"
        "$ cat /sys/class/infiniband/mlx5_0/tc/1/traffic_class\n"
        "Global tclass=106\n",
        "sysfs-counters",
        {{"netdev ens1f0 prio 3", "roce_np_enable", "1", 0},
         {"rdma mlx5_0", "traffic_class", "106", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "ethernet_read_keys: Couldn't read remote address\n"
        " Unable to read to socket/rdma_cm\n"
        "Failed to exchange data between server and clients\n",
        "perftest",
        {{NULL, NULL, NULL, 0}},
        {{"run-failed", "run", 3}},
    },
    {
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 65536      11345600         0.00               396.52             0.756303\n",
        "perftest",
        {{"run 65536", "bw_peak", "?", 0}, {"run 65536", "bw_average", "396.52", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "cma event RDMA_CM_EVENT_ADDR_ERROR, error -19\n"
        "waiting for addr/route resolution state 1\n"
        "cq completion failed status 5\n",
        "perftest",
        {{"run", "cm_event", "ADDR_ERROR", 0},
         {"run", "error", "-19", 0},
         {"run", "error", "5", 1}},
        {{"run-failed", "run", 2}},
    },
    {
        "mlx5: n1: got completion with error:\n"
        "00000000 00000000 00000000 00000000\n"
        "00000000 00000000 00000000 00000000\n"
        "00000000 00000000 00000000 00000000\n"
        "00000000 00008813 08000213 0008f5d2\n"
        " Completion with error at client\n"
        " Failed status 10: wr_id 0 syndrom 0x88\n",
        "perftest",
        {{"host n1", "syndrome", "19", 0}, {"host n1", "vendor_syndrome", "136", 0}},
        {{"completion-error", "host n1", 1}, {"run-failed", "run", 1}},
    },
    {
        "mlx5: n1: got completion with error:\n"
        "00000000 00000000 00000000 00000000\n"
        "00000000 00000000 00000000 00000000\n"
        "00000000 00000000 00000000 00000000\n"
        "00000000 00008115 08000213 0008f5d2\n"
        "n1:9:13 [4] p.c:16 NCCL WARN NET/IB : Got completion from peer 192.0.2.5<4> with "
        "status=12 opcode=0 len=0 vendor err 129 (Send)\n",
        "nccl-log",
        {{"host n1", "syndrome", "21", 0}, {"peer 192.0.2.5", "completion_status", "12", 0}},
        {{"completion-error", "host n1", 1}, {"nccl-transport-retry", "peer 192.0.2.5", 1}},
    },
    {
        "No IB devices found\n",
        "ibv_devinfo",
        {{"host", "failure", "No IB devices found", 0}},
        {{"tool-failed", "host", 1}},
    },
    {
        "hca_id:\trocep175s0f0\n"
        "\ttransport:\t\tInfiniBand (0)\n"
        "\t\tport:\t1\n"
        "\t\t\tstate:\t\tPORT_DOWN (1)\n"
        "\t\t\tmax_mtu:\t4096 (5)\n"
        "\t\t\tactive_mtu:\t1024 (3)\n"
        "\t\t\tlink_layer:\tEthernet\n"
        "\t\t\tphys_state:\tDISABLED (3)\n",
        "ibv_devinfo",
        {{"port rocep175s0f0/1", "active_mtu", "1024", 0}},
        {{"port-disabled", "port rocep175s0f0/1", 1}}, /* no MTU of a port that is down */
    },
    {
        "$ rdma statistic mode supported\n"
        "link rocep8s0f0/1\n"
        "    Optional-set: cc_rx_ce_pkts cc_rx_cnp_pkts cc_tx_cnp_pkts\n"
        "$ rdma statistic show link rocep8s0f0/1\n"
        "link rocep8s0f0/1 rx_write_requests 1 out_of_buffer 0\n"
        "packet_seq_err 5 local_ack_timeout_err 6\n"
        "    Optional-set: cc_rx_ce_pkts 7 cc_tx_cnp_pkts 9\n"
        "$ rdma stat qp mode\n"
        "link mlx5_0/1 qp auto type off\n"
        "link mlx5_1/1 qp auto on\n"
        "$ rdma stat qp show\n"
        "link mlx5_0/1 cntn 4 <qp-type RC> rx_write_requests 1 LQPN: <178>\n",
        "rdma-tool",
        {{"port rocep8s0f0/1", "optional_counters", "cc_rx_ce_pkts cc_rx_cnp_pkts cc_tx_cnp_pkts",
          0},
         {"port rocep8s0f0/1", "cc_rx_ce_pkts", "7", 0},
         {"port rocep8s0f0/1", "cc_tx_cnp_pkts", "9", 0},
         {"port mlx5_0/1", "qp_auto_type", "off", 0},
         {"port mlx5_1/1", "qp_auto", "on", 0},
         {"port mlx5_0/1 counter 4", "qp-type", "RC", 0},
         {"port mlx5_0/1 counter 4", "lqpn", "178", 0}},
        {{"rdma-packet-loss", "port rocep8s0f0/1", 2}},
    },
    {
        "| NVIDIA-SMI 525.125.06   Driver Version: 525.125.06   CUDA Version: 12.0     |\n"
        "|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0 Off |                    0 |\n"
        "|ERR!   38C    P5    49W / 450W |   2021MiB / 23028MiB |      0%   E. Process |\n",
        "nvidia-smi",
        {{"gpu 0000:01:00.0", "fan_speed", "?", 0},
         {"gpu 0000:01:00.0", "temperature.gpu_current_temp", "38", 0}},
        {{"gpu-fan-failed", "gpu 0000:01:00.0", 1}},
    },
    {
        "$ cma_roce_tos -d mlx5_0\n"
        "106\n"
        "$ cma_roce_mode -d mlx5_0 -p 1\n"
        "RoCE v2\n",
        "rdma-tool",
        {{"rdma mlx5_0", "cma_tos", "106", 0}, {"rdma mlx5_0", "cma_roce_mode", "RoCE v2", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "$ nvidia-smi --query-gpu=index,memory.used,ecc.errors.uncorrected.volatile.total "
        "--format=csv,noheader,nounits\n"
        "0, 10, 0\n"
        "1, 71000, 2\n",
        "nvidia-smi",
        {{"gpu 0", "fb_memory_usage.used", "10", 0}, {"gpu 1", "fb_memory_usage.used", "71000", 0}},
        {{"gpu-ecc-uncorrected", "gpu 1", 1}},
    },
    {
        "# gpu   pwr gtemp mtemp    sm dbecc\n"
        "# Idx     W     C     C     %  errs\n"
        "    0    43    35    33     0     0\n"
        "    1   299    81     -   100     2\n",
        "nvidia-smi",
        {{"gpu 0", "pwr", "43", 0}, {"gpu 1", "mtemp", "?", 0}, {"gpu 1", "sm", "100", 0}},
        {{"gpu-ecc-uncorrected", "gpu 1", 1}},
    },
    {
        "# gpu         pid   type     sm    command\n"
        "# Idx           #    C/G      %    name\n"
        "    0    1543321     C     97    python3\n"
        "    1          -     -      -    -\n",
        "nvidia-smi",
        {{"gpu 0 process 1543321", "sm", "97", 0}, {"gpu 1", "sm", "?", 0}},
        {{NULL, NULL, 0}},
    },
    {
        "<system version=\"1\">\n"
        "  <pci busid=\"0000:0c:00.0\" class=\"0x020700\" link_speed=\"8.0 GT/s PCIe\" "
        "link_width=\"8\">\n"
        "    <nic>\n"
        "      <net name=\"mlx5_0\" dev=\"0\" speed=\"200000\" port=\"1\" gdr=\"0\"/>\n"
        "    </nic>\n"
        "  </pci>\n"
        "</system>\n",
        "nccl-log",
        {{"pci 0000:0c:00.0", "pcie_speed", "8.0", 0},
         {"pci 0000:0c:00.0", "pcie_width", "8", 0},
         {"rdma mlx5_0", "speed", "200000", 0},
         {"rdma mlx5_0", "pci", "0000:0c:00.0", 0}},
        {{"nccl-gdr-off", "rdma mlx5_0", 1}},
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_says_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
