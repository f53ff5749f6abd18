/*
 * tests/unit/fleet/test_evidence_growth.c - a count of one sample may be old, of two it is of now.
 */
#include "evidence_test.h"

#define NONE (-1)

#define STAT "$ ethtool -S eth0\nNIC statistics:\n"
#define RDMA "$ rdma statistic show link mlx5_0/1\nlink mlx5_0/1 "

#define NVLINK "$ nvidia-smi nvlink -e\nGPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\t Link 0: "
#define UFM(count)                                                                                 \
    "[{\"port_guid\": \"0x1\", \"port_num\": 1, \"Infiniband_SymbolErrors_u_Errors\": " count "}]" \
    "\n"

static const struct {
    const char *text, *rule, *subject;
    int severity; /* NONE = no such finding */
    const char *message;
} cases[] = {
    /* Links between GPUs, since the driver was loaded. */
    {NVLINK "CRC Errors: 17\n", "nvlink-errors", "gpu 0 link 0", FINDING_INFO, "nobody knows"},
    {NVLINK "CRC Errors: 17\n" NVLINK "CRC Errors: 19\n", "nvlink-errors", "gpu 0 link 0",
     FINDING_WARNING, "grew by 2, from 17 to 19"},
    {NVLINK "CRC Errors: 17\n" NVLINK "CRC Errors: 17\n", "nvlink-errors", "gpu 0 link 0",
     FINDING_INFO, "did not grow"},
    {NVLINK "FEC Errors - 0: 87362\n" NVLINK "FEC Errors - 0: 97362\n", "nvlink-errors", NULL, NONE,
     NULL},
    {NVLINK "Link recovery successful events: 2\n", "nvlink-errors", NULL, NONE, NULL},
    /* What UFM reads from a port. */
    {UFM("5"), "ufm-link-errors", "port 0x1/1", FINDING_INFO, "nobody knows"},
    {UFM("5") UFM("8"), "ufm-link-errors", "port 0x1/1", FINDING_WARNING, "grew by 3"},
    {UFM("5") UFM("5"), "ufm-link-errors", "port 0x1/1", FINDING_INFO, "did not grow"},
    /* Damaged frames. */
    {STAT "rx_crc_errors_phy: 7\n", "fcs-errors", "netdev eth0", FINDING_WARNING, "nobody knows"},
    {STAT "rx_crc_errors_phy: 0\n", "fcs-errors", NULL, NONE, NULL},
    {STAT "rx_packets: 70000000\nrx_crc_errors_phy: 7\n", "fcs-errors", "netdev eth0",
     FINDING_ERROR, "7 of 70000000 packets"},
    {STAT "rx_packets: 80000000\nrx_crc_errors_phy: 7\n", "fcs-errors", "netdev eth0",
     FINDING_WARNING, "is 7"},
    {STAT "rx_crc_errors_phy: 7\n" STAT "rx_crc_errors_phy: 9\n", "fcs-errors", "netdev eth0",
     FINDING_ERROR, "grew by 2, from 7 to 9"},
    {STAT "rx_crc_errors_phy: 0\n" STAT "rx_crc_errors_phy: 1\n", "fcs-errors", "netdev eth0",
     FINDING_ERROR, "grew by 1, from 0 to 1"},
    {STAT "rx_crc_errors_phy: 7\n" STAT "rx_crc_errors_phy: 7\n", "fcs-errors", "netdev eth0",
     FINDING_INFO, "is 7 and did not grow"},
    /* Reset between, or another node: the larger of both is known, and no more. */
    {STAT "rx_crc_errors_phy: 7\n" STAT "rx_crc_errors_phy: 1\n", "fcs-errors", "netdev eth0",
     FINDING_WARNING, "is 7"},
    {STAT "rx_crc_errors_phy: 7\nrx_packets: 90000000\n" STAT
          "rx_crc_errors_phy: 8\nrx_packets: 80000000\n",
     "fcs-errors", "netdev eth0", FINDING_WARNING, "is 7"},
    /* A name twice in one sample is no second sample. */
    {STAT "rx_crc_errors_phy: 7\nrx_crc_errors_phy: 9\nrx_prio3_pause: 1\n", "fcs-errors",
     "netdev eth0", FINDING_WARNING, "is 9"},
    /* Two ports are no two samples. */
    {STAT "rx_crc_errors_phy: 7\n$ ethtool -S eth1\nrx_crc_errors_phy: 9\n", "fcs-errors",
     "netdev eth0", FINDING_WARNING, "is 7"},
    /* Symbols, as ibqueryerrors has them. */
    {STAT "rx_symbol_err_phy: 9\n", "symbol-errors", "netdev eth0", FINDING_INFO, "is 9"},
    {STAT "rx_symbol_err_phy: 10\n", "symbol-errors", "netdev eth0", FINDING_WARNING, "is 10"},
    {STAT "rx_symbol_err_phy: 3\n" STAT "rx_symbol_err_phy: 4\n", "symbol-errors", "netdev eth0",
     FINDING_WARNING, "grew by 1"},
    {STAT "rx_symbol_err_phy: 30\n" STAT "rx_symbol_err_phy: 30\n", "symbol-errors", "netdev eth0",
     FINDING_INFO, "did not grow"},
    /* What the host did not take. */
    {STAT "rx_out_of_buffer: 5\n", "receive-discards", "netdev eth0", FINDING_INFO, "is 5"},
    {STAT "rx_packets: 100\nrx_out_of_buffer: 5\n", "receive-discards", "netdev eth0",
     FINDING_WARNING, "5 of 100 packets"},
    {STAT "rx_packets: 600000\nrx_out_of_buffer: 5\n", "receive-discards-few", "netdev eth0",
     FINDING_INFO, "5 of 600000 packets"},
    {STAT "rx_out_of_buffer: 5\n" STAT "rx_out_of_buffer: 6\n", "receive-discards", "netdev eth0",
     FINDING_WARNING, "grew by 1"},
    {STAT "rx_out_of_buffer: 5\n" STAT "rx_out_of_buffer: 5\n", "receive-discards", "netdev eth0",
     FINDING_INFO, "did not grow"},
    /* A lossless priority loses none, whenever it was. */
    {STAT "rx_prio3_pause: 1\nrx_prio3_buf_discard: 2\n", "lossless-discards", "netdev eth0 prio 3",
     FINDING_CRITICAL, "2 frames"},
    {STAT "rx_prio3_pause: 1\nrx_prio3_buf_discard: 2\n" STAT
          "rx_prio3_pause: 1\nrx_prio3_buf_discard: 2\n",
     "lossless-discards", "netdev eth0 prio 3", FINDING_CRITICAL, "2 frames"},
    {STAT "rx_prio3_pause: 1\nrx_prio3_buf_discard: 2\n" STAT
          "rx_prio3_pause: 1\nrx_prio3_buf_discard: 5\n",
     "lossless-discards", "netdev eth0 prio 3", FINDING_CRITICAL, "grew by 3"},
    /* Storms, pause. */
    {STAT "tx_pause_storm_warning_events: 4\n", "pause-storm", "netdev eth0", FINDING_ERROR,
     "is 4"},
    {STAT "tx_pause_storm_warning_events: 4\n" STAT "tx_pause_storm_warning_events: 5\n",
     "pause-storm", "netdev eth0", FINDING_CRITICAL, "grew by 1"},
    {STAT "tx_pause_storm_warning_events: 4\n" STAT "tx_pause_storm_warning_events: 4\n",
     "pause-storm", "netdev eth0", FINDING_INFO, "did not grow"},
    {STAT "rx_prio3_pause: 4\n", "priority-pause-growing", NULL, NONE, NULL},
    {STAT "rx_prio3_pause: 4\ntx_prio3_pause: 5\n" STAT "rx_prio3_pause: 6\ntx_prio3_pause: 8\n",
     "priority-pause-growing", "netdev eth0 prio 3", FINDING_WARNING,
     "rx_prio3_pause grew by 2, from 4 to 6; tx_prio3_pause grew by 3, from 5 to 8"},
    {STAT "rx_prio3_pause: 4\n" STAT "rx_prio3_pause: 4\n", "priority-pause-growing", NULL, NONE,
     NULL},
    /* RDMA. */
    {RDMA "packet_seq_err 3\n", "rdma-packet-loss", "port mlx5_0/1", FINDING_INFO, "is 3"},
    {RDMA "packet_seq_err 0 local_ack_timeout_err 0\n", "rdma-packet-loss", NULL, NONE, NULL},
    {RDMA "packet_seq_err 3\n" RDMA "packet_seq_err 4\n", "rdma-packet-loss", "port mlx5_0/1",
     FINDING_WARNING, "grew by 1, from 3 to 4"},
    {RDMA "packet_seq_err 3\n" RDMA "packet_seq_err 3\n", "rdma-packet-loss", "port mlx5_0/1",
     FINDING_INFO, "did not grow"},
    {RDMA "sent_pkts 300000 packet_seq_err 3\n", "rdma-packet-loss", "port mlx5_0/1",
     FINDING_WARNING, "3 of 300000 packets"},
    {RDMA "sent_pkts 400000 packet_seq_err 3\n", "rdma-packet-loss", "port mlx5_0/1", FINDING_INFO,
     "is 3"},
    {RDMA "req_transport_retries_exceeded 2\n", "rdma-retries-exceeded", "port mlx5_0/1",
     FINDING_WARNING, "is 2"},
    {RDMA "req_transport_retries_exceeded 2\n" RDMA "req_transport_retries_exceeded 3\n",
     "rdma-retries-exceeded", "port mlx5_0/1", FINDING_ERROR, "grew by 1"},
    {"/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_discards:99\n", "send-discards",
     "port mlx5_0/1", FINDING_INFO, "is 99"},
    {"/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_discards:100\n", "send-discards",
     "port mlx5_0/1", FINDING_WARNING, "is 100"},
    /* Queues. */
    {"$ tc -s qdisc show dev eth0\nqdisc htb 1: root refcnt 2 r2q 10 default 0x12\n"
     " Sent 5000 bytes 200 pkt (dropped 1, overlimits 0 requeues 0)\n",
     "qdisc-drops", "netdev eth0", FINDING_WARNING, "1 packets"},
    {"$ tc -s qdisc show dev eth0\nqdisc htb 1: root refcnt 2 r2q 10 default 0x12\n"
     " Sent 50000000 bytes 200000 pkt (dropped 1, overlimits 0 requeues 0)\n",
     "qdisc-drops", "netdev eth0", FINDING_INFO, "1 of 200000 packets"},
};

static void a_count_is_judged_by_what_its_file_tells(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        OWN(evidence) struct evidence *e = evidence_of_text(cases[i].text);
        const struct finding *found = evidence_finding(e, cases[i].rule, cases[i].subject);
        int severity = found != NULL ? (int)found->severity : NONE;
        if (severity != cases[i].severity)
            fail_msg("%s\n%s: severity %d, wanted %d: %s", cases[i].text, cases[i].rule, severity,
                     cases[i].severity, found != NULL ? found->message : "");
        if (found != NULL && strstr(found->message, cases[i].message) == NULL)
            fail_msg("%s\n%s: '%s' without '%s'", cases[i].text, cases[i].rule, found->message,
                     cases[i].message);
    }
}

static void many_counters_of_one_port_are_no_work(void **unused)
{
    (void)unused;
    enum { ROWS = 90000 };
    static char text[ROWS * 24 + 64];
    size_t len = (size_t)sprintf(text, STAT);
    for (int i = 0; i < ROWS; i++)
        len += (size_t)sprintf(text + len, "rx_crc_errors_phy: %d\n", i % 9 + 1);
    OWN(evidence) struct evidence *e = evidence_of_text(text);
    const struct finding *found = evidence_finding(e, "fcs-errors", "netdev eth0");
    assert_non_null(found);
    assert_int_equal(found->severity, FINDING_WARNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_is_judged_by_what_its_file_tells),
        cmocka_unit_test(many_counters_of_one_port_are_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
