/*
 * tests/unit/fleet/test_evidence_nccl.c - logs of NCCL and results of nccl-tests.
 */
#include "evidence_test.h"

#define PEER "peer 10.216.210.236"
#define MASK "host host-01.example.com"

static const struct expected_file files[] = {
    {"nccl-log/nccl_err12_gid_wrong.log",
     "nccl-log",
     {{"host gpu5", "completion_status", "12", 0},
      {"host gpu5", "opcode", "1", 0},
      {"host gpu5", "vendor_error", "129", 0},
      {"host gpu4", "completion_status", "12", 0},
      {"host gpu5", "consequence", "Cuda failure 'an illegal memory access was encountered'", 0}},
     {{"nccl-transport-retry", "host gpu5", 1}, {"nccl-transport-retry", "host gpu4", 1}}},
    {"nccl-log/nccl_info_using_irdma_roce.log",
     "nccl-log",
     {{"host", "nccl_version", "2.21.5+cuda12.4", 0},
      {"host node01 rdma irdma0:1", "link_layer", "RoCE", 0},
      {"host node01 rdma irdma3:1", "link_layer", "RoCE", 0},
      {"host node01", "oob_interface", "eth0:172.16.121.86", 0},
      {"host node01", "cuda_driver_version", "12040", 0},
      {"host node01", "p2p_plugin", "IBext_v8", 0},
      {"host node01", "network", "IBext_v8", 0}},
     {{NULL, NULL, 0}}},
    {"nccl-log/nccl_modify_qp_110_rtr.log",
     "nccl-log",
     {{MASK, "errno", "110", 0},
      {MASK, "state", "INIT", 0},
      {MASK, "next_state", "RTR", 0},
      {MASK, "gid_index", "3", 0},
      {MASK, "device", "mlx_x:1", 0},
      {MASK, "local_gid", "?", 0},
      {MASK, "remote_gid", "?", 0}},
     {{"nccl-modify-qp", MASK, 1}}},
    {"nccl-log/nccl_status12_ipv6_gid_many_peers.log",
     "nccl-log",
     {{PEER, "completion_status", "12", 0},
      {PEER, "completion_status", "12", 2},
      {PEER, "completion_status", NULL, 3},
      {PEER, "opcode", "32616", 1},
      {PEER, "local_gid", "fd00:1148:9000:5000:4:200:3:ff22", 0},
      {PEER, "remote_gid", "fd00:1148:9000:5000:4:200:3:ff1f", 0},
      {PEER, "local_gid", "fd00:1148:9000:5000:4:200:3:ff21", 1},
      {PEER, "remote_gid", "fd00:1148:9000:5000:4:200:3:ff20", 1}},
     {{"nccl-transport-retry", PEER, 3}}},
    {"nccl-tests/all_reduce_perf_100g_error_column.txt",
     "nccl-tests",
     {{"run 2147483648", "out_of_place.time", "175667", 0},
      {"run 2147483648", "out_of_place.algbw", "12.22", 0},
      {"run 2147483648", "out_of_place.busbw", "22.92", 0},
      {"run 2147483648", "out_of_place.error", "0.0000005", 0},
      {"run 2147483648", "root", NULL, 0},
      {"run 256", "out_of_place.time", "130.4", 0},
      {"run 512", "out_of_place.time", "575.6", 0},
      {"host", "average_busbw_all_sizes", "7.76739", 0},
      {"host", "out_of_bounds", "0", 0}},
     {{"nccl-tests-unstable", "host", 13}}},
    {"nccl-tests/all_reduce_perf_mpi_tag_prefix.txt",
     "nccl-tests",
     {{"run 17179869184", "out_of_place.busbw", "483.05", 0},
      {"run 17179869184", "in_place.busbw", "483.35", 0},
      {"run 17179869184", "in_place.wrong", "0", 0},
      {"run 8", "root", "-1", 0},
      {"host", "average_busbw_all_sizes", "156.742", 0}},
     {{NULL, NULL, 0}}},
    {"nccl-tests/all_reduce_perf_size0_row.txt",
     "nccl-tests",
     {{"run 0", "out_of_place.busbw", "0.00", 0},
      {"run 2147483648", "out_of_place.busbw", "437.79", 0},
      {"run 2147483648", "in_place.busbw", "437.89", 0},
      {"host", "average_busbw_all_sizes", "52.9753", 0}},
     {{NULL, NULL, 0}}},
    {"nccl-tests/broadcast_perf_na_column.txt",
     "nccl-tests",
     {{"host", "validation", "0", 0},
      {"host", "warmup_iterations", "10", 0},
      {"host", "iterations", "100", 0},
      {"host", "max_size", "2147483648", 0},
      {"rank 1", "host", "node-5", 0},
      {"run 8", "redop", NULL, 0},
      {"run 8", "root", "0", 0},
      {"run 8", "out_of_place.time", "45.82", 0},
      {"run 8", "out_of_place.error", "?", 0},
      {"run 8", "in_place.error", "?", 0}},
     {{"nccl-no-verbs", "host node-1", 1}, {"nccl-no-verbs", "host node-5", 1}}},
};

static const struct {
    const char *text, *rule; /* rule NULL = clean */
} lines[] = {
    {"NET/IB : Got completion with error 13, opcode 0, len 0, vendor err 135",
     "nccl-receiver-not-ready"},
    {"NET/IB : Got completion from peer 192.0.2.1<4> with status=5 opcode=0 len=0 vendor err 249 "
     "(Recv)",
     "nccl-completion-error"},
    {"NET/IB: Got completion from peer 192.0.2.1<4> with status=IBV_WC_RETRY_EXC_ERR(12) "
     "opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129 req_type=Send",
     "nccl-transport-retry"},
    {"Call to ibv_modify_qp failed with error Invalid argument", "nccl-modify-qp"},
    {"NET/IB : No device found.", "nccl-socket-transport"},
    {"NET/IB : mlx5_0:1 Got async event : port error", "nccl-async-event"},
    {"socketProgress: Connection closed by remote peer n2.example.com<41000>", "nccl-peer-lost"},
    {"[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, "
     "OpType=ALLREDUCE)",
     "nccl-collective-timeout"},
    {"Cuda failure 'out of memory'", "nccl-cuda-failure"},
    {"Error while creating shared memory segment /dev/shm/nccl-a (size 1)", "nccl-warning"},
};

static void each_file_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        check_file(&files[i]);
}

static void each_warning_is_its_finding(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text), "n1:10:11 [0] transport/net_ib.cc:1 NCCL WARN %s\n",
                 lines[i].text);
        OWN(evidence) struct evidence *e = evidence_of_text(text);
        assert_string_equal(e->kind, "nccl-log");
        if (e->findings.count != 1 || strcmp(e->findings.items[0].rule, lines[i].rule) != 0)
            fail_msg("'%s' gives %zu findings, wanted %s", lines[i].text, e->findings.count,
                     lines[i].rule);
    }
}

static void information_tells_of_missing_paths(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e =
        evidence_of_text("n1:10:11 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.\n"
                         "n1:10:11 [0] NCCL INFO GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
                         "n1:10:11 [0] NCCL INFO Using network Socket\n");
    check_fact("info", e, &(struct expected_fact){"host n1", "env.NCCL_IB_GID_INDEX", "3", 0});
    check_fact("info", e, &(struct expected_fact){"host n1", "network", "Socket", 0});
    static const struct expected_finding findings[] = {
        {"nccl-gdr-off", "host n1", 1}, {"nccl-socket-transport", "host n1", 1}, {NULL, NULL, 0}};
    check_findings("info", e, findings);
}

static void wrong_values_are_a_finding(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text(
        "#       size   count  type   redop   root  time  algbw  busbw #wrong  time  algbw  busbw "
        "#wrong\n"
        "     1048576  262144 float     sum     -1  28.5   36.7   64.2      0  28.4   36.9   64.6  "
        "    5\n"
        "# Out of bounds values : 5 FAILED\n");
    check_fact("wrong", e, &(struct expected_fact){"run 1048576", "in_place.wrong", "5", 0});
    assert_non_null(evidence_finding(e, "nccl-tests-wrong", "run 1048576"));
    assert_non_null(evidence_finding(e, "nccl-tests-wrong", "host"));
}

static void a_stopped_test_is_a_finding(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e =
        evidence_of_text("# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: "
                         "5 iters: 20 agg iters: 1 validation: 1 graph: 0\n"
                         "n1: Test NCCL failure common.cu:954 'unhandled system error'\n");
    assert_string_equal(e->kind, "nccl-tests");
    check_fact("options", e, &(struct expected_fact){"host", "iterations", "20", 0});
    assert_non_null(evidence_finding(e, "nccl-tests-failed", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_says_what_it_says),
        cmocka_unit_test(each_warning_is_its_finding),
        cmocka_unit_test(information_tells_of_missing_paths),
        cmocka_unit_test(wrong_values_are_a_finding),
        cmocka_unit_test(a_stopped_test_is_a_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
