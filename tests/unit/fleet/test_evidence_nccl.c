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
    {"Call to ibv_create_qp failed", "nccl-verbs-failed"},
    {"Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "nccl-verbs-failed"},
    {"Bootstrap Root : mismatch in rank count from procs 16 : 8", "nccl-setup"},
    {"Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000", "nccl-setup"},
    {"Call to posix_fallocate failed : No space left on device", "nccl-shared-memory"},
    {"NET/IB: mlx5_bond_0:1 async fatal event: local catastrophic error", "nccl-async-event"},
    {"NET/OFI Request 0x7f completed with error. RC: 113. Error: unknown error.",
     "nccl-completion-error"},
    {"Attribute busid of node nic not found", "nccl-warning"},
    {"Error while creating shared memory segment /dev/shm/nccl-a (size 1)", "nccl-shared-memory"},
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

/* Logs of more than a line, as libraries above NCCL leave them. */
static const struct expected_file texts[] = {
    {
        "NET/IBP:Got completion from peer 192.0.2.83<36315> with status=12 opcode=32698 len=32696 "
        "vendor err 129 (Send)\n",
        "nccl-log",
        {{"peer 192.0.2.83", "completion_status", "12", 0},
         {"peer 192.0.2.83", "length", "32696", 0}},
        {{"nccl-transport-retry", "peer 192.0.2.83", 1}},
    },
    {
        "n1:9:13 [4] p.c:16 NCCL WARN NET/IB : Got completion from peer 192.0.2.59<44206> with "
        "status=12 opcode=129 len=65536 vendor err 129 (Recv)\n"
        "n1:9:13 [4] p.c:16 NCCL WARN NET/IB : Got completion from peer 192.0.2.59<44206> with "
        "status=5 opcode=32656 len=32659 vendor err 249 (Recv)\n",
        "nccl-log",
        {{"peer 192.0.2.59", "completion_status", "5", 1},
         {"peer 192.0.2.59", "consequence",
          "work request flushed: a consequence of an earlier error", 0}},
        {{"nccl-transport-retry", "peer 192.0.2.59", 1}},
    },
    {
        "[rank3]:[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, NumelIn=131072000, "
        "NumelOut=131072000, Timeout(ms)=600000) ran for 600081 milliseconds before timing out.\n"
        "torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1331, "
        "unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.18.1\n"
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or "
        "device error.\n"
        "Last error:\n"
        "socketStartConnect: Connect to 192.0.2.11<39847> failed : No route to host\n",
        "nccl-log",
        {{"rank 3", "operation", "BROADCAST", 0},
         {"rank 3", "timeout_ms", "600000", 0},
         {"rank 3", "ran_ms", "600081", 0},
         {"host", "nccl_version", "2.18.1", 0}},
        {{"nccl-collective-timeout", "rank 3", 1},
         {"nccl-failed", "host", 2},
         {"nccl-peer-lost", "host", 1}},
    },
    {
        "n1:9:9 [4] NCCL INFO NCCL_IB_QPS_PER_CONNECTION set by environment to 4.\n"
        "n1:9:9 [4] NCCL INFO Channel 00/0 : 3[3] -> 4[4] [receive] via NET/IB/2/GDRDMA\n"
        "n1:9:9 [4] NCCL INFO Channel 01/0 : 4[4] -> 5[5] via P2P/IPC\n"
        "n1:9:9 [4] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/0\n"
        "n1:9:9 [4] NCCL INFO NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 4660 mtu 3 GID 3 "
        "(0/5D00A8C0FFFF0000)\n"
        "n1:9:9 [4] NCCL INFO NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 4661 mtu 4 LID 12\n"
        "n1:9:9 [4] NCCL INFO RCCL version : 2.20.5-HEAD:d380693+\n",
        "nccl-log",
        {{"host n1", "env.NCCL_IB_QPS_PER_CONNECTION", "4", 0},
         {"host n1", "way", "NET/GDRDMA", 0},
         {"host n1", "way", "P2P", 1},
         {"host n1", "way", "NET", 2},
         {"host n1", "path_mtu", "1024", 0},
         {"host n1", "gid_index", "3", 0},
         {"host n1", "path_mtu", "2048", 1},
         {"host n1", "nccl_version", "2.20.5-HEAD:d380693+", 0}},
        {{"nccl-gdr-off", "host n1", 1}, {"rdma-mtu-low", "host n1", 1}},
    },
    {
        "nThread 1 nGpus 8 minBytes 9 maxBytes 33554432 step: 1048576(bytes) warmup iters: 5 "
        "iters: 20 validation: 1\n"
        "# NCCL Tests compiled with NCCL 2.1\n"
        "#                                     out-of-place              in-place\n"
        "#  bytes    N    type   op     time  algbw  busbw    res     time  algbw  busbw    res\n"
        "  33554432  8388608 float  sum  10.120  3.32  6.21  4e-07  10.030  3.34  6.27  1e+00\n"
        " Out of bounds values : 248 FAILED\n"
        " Avg bus bandwidth    : 3.46\n",
        "nccl-tests",
        {{"host", "gpus_per_thread", "8", 0},
         {"run 33554432", "out_of_place.busbw", "6.21", 0},
         {"host", "out_of_bounds", "248", 0},
         {"host", "average_busbw_all_sizes", "3.46", 0}},
        {{"nccl-tests-wrong", "host", 1}},
    },
    {
        "# nThread: 1 nGpus: 1 minBytes: 8 maxBytes: 17179869184 step: 2(factor) warmupIters: 5 "
        "iters: 20 validation: 1\n"
        "#       size   count  type  redop root  time algbw busbw #wrong time algbw busbw #wrong\n"
        "    33554432 8388608 float none -1 19.56 1715.44 0.00 0 0.78 43046.10 0.00 N/A\n",
        "nccl-tests",
        {{"host", "max_size", "17179869184", 0},
         {"host", "warmup_iterations", "5", 0},
         {"host", "iterations", "20", 0},
         {"run 33554432", "in_place.wrong", "?", 0}},
        {{NULL, NULL, 0}}, /* nothing is done in place: its time says nothing */
    },
};

static void each_text_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_text(&texts[i]);
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
        cmocka_unit_test(each_text_says_what_it_says),
        cmocka_unit_test(information_tells_of_missing_paths),
        cmocka_unit_test(wrong_values_are_a_finding),
        cmocka_unit_test(a_stopped_test_is_a_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
