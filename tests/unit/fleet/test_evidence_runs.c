/*
 * tests/unit/fleet/test_evidence_runs.c - OSU micro-benchmarks, iperf and iperf3.
 */
#include "evidence_test.h"

static const struct expected_file files[] = {
    {
        "perftest/iperf3_tcp_retransmits.txt",
        "perftest",
        {
            {"run stream 5 0.00-1.00", "bitrate", "9.42", 0},
            {"run stream 5 0.00-1.00", "retransmits", "12", 0},
            {"run stream 5 1.00-2.00", "retransmits", "0", 0},
            {"run stream 5 0.00-2.00 sender", "transfer", "2.19", 0},
            {"run stream 5 0.00-2.00 sender", "retransmits", "12", 0},
            {"run stream 5 0.00-2.04 receiver", "bitrate", "9.21", 0},
            {"run stream 5 0.00-2.04 receiver", "retransmits", NULL, 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "perftest/osu_allreduce_v7.txt",
        "perftest",
        {
            {"run", "test", "MPI-CUDA Allreduce Latency", 0},
            {"run", "version", "7.3", 0},
            {"run 4", "avg_latency", "5.35", 0},
            {"run 4", "iterations", "1000", 0},
            {"run 1048576", "max_latency", "812.55", 0},
            {"run 1048576", "min_latency", "780.00", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "perftest/ucx_perftest_tag_lat.txt",
        "perftest",
        {
            {"run", "test", "tag match latency", 0},
            {"run", "message_size", "8", 0},
            {"run", "iterations", "3000000", 0},
            {"run", "latency_50_0_ile", "1.600", 0},
            {"run", "latency_average", "1.621", 0},
            {"run", "latency_overall", "1.624", 0},
            {"run", "bandwidth_overall", "4.70", 0},
            {"run", "message_rate_average", "616903", 0},
            {"run", "message_rate_overall", "615763", 0},
            {"run interval 2", "latency_overall", "1.626", 0},
        },
        {{NULL, NULL, 0}},
    },
};

#define UCX_HEAD                                                                                   \
    "|              |       latency (usec)         |   bandwidth (MB/s)  |  message rate (msg/s) " \
    "|\n"                                                                                          \
    "+--------------+---------+---------+----------+----------+----------+-----------+-----------" \
    "+\n"                                                                                          \
    "| # iterations | typical | average | overall  |  average |  overall |   average |   overall " \
    "|\n"                                                                                          \
    "+--------------+---------+---------+----------+----------+----------+-----------+-----------" \
    "+\n"

/* What a program says of itself with the kernel's form of time is no kernel's message. */
static void a_message_of_ucx_is_no_kernel_log(void **unused)
{
    (void)unused;
    static const char *const lines[] = {
        "[1751287214.402117] [node1:48213:0]  perftest.c:806  UCX  WARN  CPU affinity is not set\n",
        "[1688.000102] [gpu-3:17   :1]   ib_mlx5_log.c:171  UCX  ERROR Remote access error\n",
        "[1751287214.402117] anything of a program\n",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct evidence *e = evidence_of_text(lines[i]);
        assert_string_equal(e->kind, "unknown");
        evidence_free(e);
    }
    struct evidence *e = evidence_of_text("[175128721.402117] mlx5_core 0000:3b:00.0: text\n");
    assert_string_equal(e->kind, "dmesg");
    evidence_free(e);
}

static void each_file_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        check_file(&files[i]);
}

/* value NULL = there is no such fact. */
static const struct {
    const char *text, *subject, *name, *value, *unit;
} texts[] = {
    /* ucx_perftest before its stages; a row that was cut; a head that is not of this form. */
    {UCX_HEAD "586527     0.845     0.852     0.853       4.47       4.48      586520   586521\n",
     "run interval 1", "latency_typical", "0.845", "us"},
    {UCX_HEAD "586527     0.845     0.852     0.853       4.47       4.48      586520   586521\n",
     "run interval 1", "message_rate_overall", "586521", "msg/s"},
    {UCX_HEAD "586527     0.845     0.852     0.853       4.47       4.48\n", "run interval 1",
     "latency_typical", NULL, NULL},
    {"| latency (usec) | bandwidth (MB/s) | message rate (msg/s) |\n"
     "| # iterations | average | average | average |\n586527 0.845 4.47 586520\n",
     "run interval 1", "latency_average", NULL, NULL},
    {"# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1                       3.25\n",
     "run 1", "bandwidth", "3.25", "MB/s"},
    {"# OSU MPI Latency Test v5.6.3\n# Size          Latency (us)\n0       1.02\n", "run 0",
     "latency", "1.02", "us"},
    {"[1,0]<stdout>:# OSU MPI Latency Test v5.6.3\n[1,0]<stdout>:# Size          Latency (us)\n"
     "[1,0]<stdout>:8       1.12\n",
     "run 8", "latency", "1.12", "us"},
    /* Without its head a row is of nobody; one of another number of columns as well. */
    {"# OSU MPI Latency Test v5.6.3\n0       1.02\n", "run 0", "latency", NULL, NULL},
    {"# OSU MPI Latency Test v5.6.3\n# Size          Latency (us)\n0   1.02   3\n", "run 0",
     "latency", NULL, NULL},
    {"# OSU MPI Latency Test v5.6.3\n# Size          Latency (us)\n0   nan\n", "run 0", "latency",
     NULL, NULL},
    /* iperf 2, sums, UDP, the window behind the retransmits. */
    {"Client connecting to 192.0.2.2, TCP port 5001\nTCP window size: 85.0 KByte (default)\n"
     "[  3] local 192.0.2.1 port 41234 connected with 192.0.2.2 port 5001\n"
     "[ ID] Interval       Transfer     Bandwidth\n"
     "[  3]  0.0-10.0 sec  11.0 GBytes  9.41 Gbits/sec\n",
     "run stream 3 0.0-10.0", "bitrate", "9.41", "Gbits/sec"},
    {"[ ID] Interval       Transfer     Bandwidth\n"
     "[  3]  0.0- 1.0 sec  1.10 GBytes  9.40 Gbits/sec\n",
     "run stream 3 0.0-1.0", "bitrate", "9.40", "Gbits/sec"},
    {"[ ID] Interval           Transfer     Bitrate         Retr\n"
     "[SUM]   0.00-2.00   sec  4.00 GBytes  17.2 Gbits/sec   42             sender\n",
     "run stream SUM 0.00-2.00 sender", "retransmits", "42", ""},
    {"[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
     "[  5]   0.00-1.00   sec  1.10 GBytes  9.42 Gbits/sec   12   1.56 MBytes\n",
     "run stream 5 0.00-1.00", "transfer", "1.10", "GBytes"},
    {"[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
     "[  5]   0.00-2.00   sec  2.50 MBytes  10.5 Mbits/sec  0.012 ms  12/1800 (0.67%)  receiver\n",
     "run stream 5 0.00-2.00 receiver", "lost", "12", ""},
    {"[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
     "[  5]   0.00-2.00   sec  2.50 MBytes  10.5 Mbits/sec  0.012 ms  12/1800 (0.67%)  receiver\n",
     "run stream 5 0.00-2.00 receiver", "jitter", "0.012", "ms"},
    {"[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
     "[  5]   0.00-2.00   sec  2.50 MBytes  10.5 Mbits/sec  0.012 ms  12/1800 (0.67%)  receiver\n",
     "run stream 5 0.00-2.00 receiver", "retransmits", NULL, NULL},
};

static void each_text_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        OWN(evidence) struct evidence *e = evidence_of_text(texts[i].text);
        const struct evidence_fact *fact = evidence_get(e, texts[i].subject, texts[i].name);
        if ((fact == NULL) != (texts[i].value == NULL))
            fail_msg("%s: %s is %s", texts[i].text, texts[i].name,
                     fact != NULL ? fact->value : "not there");
        if (fact == NULL)
            continue;
        assert_string_equal(fact->value, texts[i].value);
        assert_string_equal(fact->unit, texts[i].unit);
        assert_int_equal(e->findings.count, 0);
    }
}

static void a_run_that_stopped_is_a_finding(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e =
        evidence_of_text("iperf3: error - unable to connect to server: Connection refused\n");
    assert_string_equal(e->kind, "perftest");
    assert_non_null(evidence_finding(e, "run-failed", "run"));
    assert_contains(e->findings.items[0].message, "Connection refused");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_of_ucx_is_no_kernel_log),
        cmocka_unit_test(each_file_says_what_it_says),
        cmocka_unit_test(each_text_says_what_it_says),
        cmocka_unit_test(a_run_that_stopped_is_a_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
