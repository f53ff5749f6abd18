/*
 * tests/unit/fleet/test_evidence_logs.c - kernel logs, of NICs and of GPUs.
 */
#include "evidence_test.h"

#include "fleet/evidence/kernel_line.h"

static const struct expected_file files[] = {
    {"dmesg/hns3_reset_roce_reinit.txt",
     "dmesg",
     {{"pci 0000:bd:00.2", "roce-reinit-begun",
       "hns3 0000:bd:00.2: In reset process RoCE client reinit.", 0},
      {"pci 0000:bd:00.2", "time", "481.424373", 0},
      {"pci 0000:bd:00.2", "interface", "hns_2", 0},
      {"pci 0000:bd:00.2", "error", "-11", 0},
      {"pci 0000:bd:00.2", "mailbox", "20", 0},
      {"pci 0000:bd:00.2", "time", "495.694616", 2},
      {"pci 0000:bd:00.2", "roce-reinit-end",
       "hns3 0000:bd:00.2: Reset done, RoCE client reinit finished.", 0}},
     {{"device-error", "pci 0000:bd:00.2", 4},
      {"device-command-timeout", "pci 0000:bd:00.2", 1},
      {"rdma-client-failed", "rdma hns_2", 2}}},
    {"dmesg/mlx5_create_qp_bad_resource.txt",
     "dmesg",
     {{"rdma mlx5_0", "qp", "261935", 0},
      {"rdma mlx5_0", "qp", "261934", 2},
      {"rdma mlx5_0", "qp", "130863", 7},
      {"pci 0000:02:00.0", "command", "CREATE_QP", 0},
      {"pci 0000:02:00.0", "status", "bad resource", 0},
      {"pci 0000:02:00.0", "syndrome", "6665472", 0},
      {"pci 0000:02:00.0", "time", "952.881401", 0}},
     {{"qp-table-exhausted", "pci 0000:02:00.0", 6}}},
    {"dmesg/mlx5_health_recovery_aborted_s390.txt",
     "dmesg",
     {{"pci 0000:00:00.1", "time", "10144.859042", 0},
      {"process 72", "blocked", "122", 0},
      {"process 1514", "blocked", "122", 0}},
     {{"device-recovery-failed", "pci 0000:00:00.1", 1},
      {"hung-task", "process 72", 1},
      {"hung-task", "process 1514", 1}}},
    {"dmesg/mlx5_pcie_slot_power_27w.txt",
     "dmesg",
     {{"pci 0000:1a:00.0", "firmware_version", "28.39.1002", 0},
      {"pci 0000:1a:00.0", "pcie_bandwidth", "504.112", 0},
      {"pci 0000:1a:00.0", "pcie_speed", "32.0", 0},
      {"pci 0000:1a:00.0", "pcie_width", "16", 0},
      {"pci 0000:1a:00.0", "pcie_slot_power", "27", 0},
      {"pci 0000:1b:00.0", "firmware_version", "22.38.1002", 0},
      {"pci 0000:1b:00.0", "pcie_slot_power", "27", 0},
      {"pci 0000:1b:00.1", "module", "1", 0}},
     {{"pcie-slot-power", "pci 0000:1a:00.0", 1},
      {"pcie-slot-power", "pci 0000:1b:00.0", 1},
      {"pcie-slot-power", "pci 0000:1b:00.1", 1},
      {"pcie-slot-power", "pci 0000:3c:00.0", 1},
      {"pcie-slot-power", "pci 0000:4d:00.0", 1},
      {"pcie-slot-power", "pci 0000:5e:00.0", 1},
      {"pcie-slot-power", "pci 0000:9c:00.0", 1},
      {"pcie-slot-power", "pci 0000:9d:00.0", 1},
      {"cable-unplugged", "pci 0000:1b:00.1", 1}}},
    {"dmesg/mlx5_probe_failed_22.txt",
     "dmesg",
     {{"pci 0000:01:00.0", "firmware_version", "14.32.1010", 0},
      {"pci 0000:01:00.0", "load_error", "-22", 0},
      {"pci 0000:01:00.0", "time", "5.502207", 0}},
     {{"driver-not-bound", "pci 0000:01:00.0", 2}}},
    {"dmesg/mlx5_tx_timeout_vf.txt",
     "dmesg",
     {{"pci 0000:af:00.2", "interface", "ens4f2", 1},
      {"pci 0000:af:00.2", "queue", "0", 0},
      {"pci 0000:af:00.2", "sq", "930286", 0},
      {"pci 0000:af:00.2", "cq", "1156", 0},
      {"pci 0000:af:00.2", "sq_consumer", "0", 0},
      {"pci 0000:af:00.2", "sq_producer", "7", 0},
      {"pci 0000:af:00.2", "since_last_transmit", "18439000", 0}},
     {{"tx-timeout", "pci 0000:af:00.2", 1}}},
    {"dmesg/nvidia_peermem_invalid_context.txt",
     "dmesg",
     {{"driver nvidia-peermem", "time", "2025-02-10T16:28:06,502716+00:00", 0}},
     {{"gpu-peer-memory", "driver nvidia-peermem", 7}}},
    {"dmesg/rdma_cma_listen_error.txt",
     "dmesg",
     {{"rdma syj1", "error", "-98", 0}, {"rdma syj1", "time", "32.423042", 0}},
     {{"cm-listen-failed", "rdma syj1", 1}}},
    {"dmesg/rdma_cma_pkey_mismatch.txt",
     "dmesg",
     {{"host", "pkey_received", "10752", 0}, {"host", "pkey_path", "43520", 0}},
     {{"pkey-membership", "host", 1}}},
    {"xid/rm_init_adapter_failed.log",
     "xid",
     {{"gpu 0000:01:00.0", "time", "21.091872", 0}, {"gpu 0000:01:00.0", "xid", NULL, 0}},
     {{"gpu-init-failed", "gpu 0000:01:00.0", 3}}},
    {"xid/xid_119_gsp_timeout.txt",
     "xid",
     {{"gpu 0000:9b:00.0", "uuid", "GPU-509665ad-b600-ac93-3616-e46f018ed8de", 0},
      {"gpu 0000:9b:00.0 xid 119", "xid", "119", 0},
      {"gpu 0000:9b:00.0 xid 119", "pid", "2024380", 0},
      {"gpu 0000:9b:00.0 xid 119", "process", "nvidia-smi", 0}},
     {{"xid-gpu-reset", "gpu 0000:9b:00.0 xid 119", 5}}},
    {"xid/xid_13_43_app_errors.txt",
     "xid",
     {{"gpu 0000:38:00.0 xid 13", "pid", "?", 0},
      {"gpu 0000:38:00.0 xid 13", "fault", "application", 0},
      {"gpu 0000:38:00.0 xid 43", "pid", "2815167", 0},
      {"gpu 0000:38:00.0 xid 43", "process", "pt_main_thread", 0}},
     {{"xid-application", "gpu 0000:38:00.0 xid 13", 23},
      {"xid-application", "gpu 0000:38:00.0 xid 43", 1}}},
};

/* Messages of drivers, one of each rule and more of those that drivers say differently. */
static const struct {
    const char *text, *rule, *subject; /* rule NULL = nothing to find */
} messages[] = {
    {"[ 5.1] mlx5_core 0000:3b:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s "
     "PCIe x8 link at 0000:3a:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)",
     "pcie-bandwidth-limited", "pci 0000:3b:00.0"},
    {"[ 5.1] mlx5_core 0000:3b:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 "
     "link)",
     NULL, NULL},
    {"[ 5.1] mlx5_core 0000:1a:00.0: mlx5_pcie_event:299:(pid 9): Detected insufficient power on "
     "the PCIe slot (27W).",
     "pcie-slot-power", "pci 0000:1a:00.0"},
    {"[ 9.5] mlx5_core 0000:5e:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
     "(Receiver ID)",
     "pcie-corrected", "pci 0000:5e:00.0"},
    {"[ 9.5] pcieport 0000:5d:00.0: AER: Corrected error received: 0000:5e:00.0", NULL, NULL},
    {"[ 9.5] nvme 0000:5e:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction "
     "Layer, (Requester ID)",
     "pcie-uncorrected", "pci 0000:5e:00.0"},
    {"[ 9.5] pcieport 0000:5d:00.0: pciehp: Slot(12): Link Down", "pcie-device-lost",
     "pci 0000:5d:00.0"},
    {"[ 9.5] mlx5_core 0000:5e:00.0: Unable to change power state from D3cold to D0, device "
     "inaccessible",
     "pcie-device-lost", "pci 0000:5e:00.0"},
    {"[ 3.0] ice 0000:31:00.0: probe with driver ice failed with error -5", "driver-not-bound",
     "pci 0000:31:00.0"},
    {"[ 3.0] mlx5_core 0000:01:00.0: wait_fw_init:199:(pid 7): Firmware over 120000 MS in "
     "pre-initializing state, aborting",
     "firmware-not-ready", "pci 0000:01:00.0"},
    {"[ 3.0] ice 0000:31:00.0: The DDP package file was not found or could not be read. Entering "
     "Safe Mode",
     "driver-safe-mode", "pci 0000:31:00.0"},
    {"[ 3.0] NETDEV WATCHDOG: ens1f0 (i40e): transmit queue 3 timed out", "tx-timeout",
     "netdev ens1f0"},
    {"[ 3.0] i40e 0000:18:00.0: TX driver issue detected, PF reset issued", "tx-timeout",
     "pci 0000:18:00.0"},
    {"[ 3.0] mlx5_core 0000:af:00.0: poll_health:800:(pid 0): device's health compromised - "
     "reached miss count",
     "device-health", "pci 0000:af:00.0"},
    {"[ 3.0] bnxt_en 0000:17:00.0 eth2: Firmware fatal reset event, event data: 0x1",
     "device-health", "pci 0000:17:00.0"},
    {"[ 3.0] mlx5_core 0000:af:00.0: temp_warn:250:(pid 9): High temperature on sensors with bit "
     "set 0x0 0x1",
     "device-hot", "pci 0000:af:00.0"},
    {"[ 3.0] mlx5_core 0000:af:00.0: wait_func:1000:(pid 9): DESTROY_QP(0x501) timeout. Will cause "
     "a leak of a command resource",
     "device-command-timeout", "pci 0000:af:00.0"},
    {"[ 3.0] bnxt_en 0000:17:00.0 eth2: Error (timeout: 5000015) msg {0x23 0x1d2} len:0",
     "device-command-timeout", "pci 0000:17:00.0"},
    {"[ 3.0] mlx5_core 0000:af:00.0: mlx5_cmd_out_err:835:(pid 12): CREATE_MKEY(0x200) "
     "op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x9b2da8), err(-22)",
     "device-command-failed", "pci 0000:af:00.0"},
    {"[ 3.0] hns3 0000:bd:00.0 hns_0: failed to alloc mtpt, ret = -16.", "device-error",
     "pci 0000:bd:00.0"},
    {"[ 3.0] infiniband irdma0: abnormal ae_id = 0x502 bool qp=1 qp_id = 7, ae_src=5",
     "rdma-async-error", "rdma irdma0"},
    {"[ 3.0] infiniband mlx5_0: dump_cqe:272:(pid 0): dump error cqe", "completion-error",
     "rdma mlx5_0"},
    {"[ 3.0] mlx5_core 0000:af:00.0: Port module event[error]: module 0, Cable error, High "
     "Temperature",
     "module-error", "pci 0000:af:00.0"},
    {"[ 3.0] mlx5_core 0000:af:00.0 ens1np0: Link down", "link-down", "pci 0000:af:00.0"},
    {"[ 3.0] mlx5_core 0000:af:00.0 ens1np0: Link up", NULL, NULL},
    {"[ 3.0] i40e 0000:18:00.0 eno1: NIC Link is Down", "link-down", "pci 0000:18:00.0"},
    {"[ 3.0] cm_destroy_id_wait_timeout: cm_id=00000000a1 timed out. state 2 refcnt 1",
     "cm-id-stuck", "host"},
    {"[ 3.0] RDMA CMA: got different BTH P_Key (0x2a00) and primary path P_Key (0xaa01)",
     "pkey-mismatch", "host"},
    {"[ 3.0] pt_main_thread[2536443]: segfault at 7f79 ip 00007f7c sp 00007f7d error 4 in "
     "libnccl.so.2[7f7c7ac00000+d3d3000]",
     "process-fault", "process 2536443"},
    {"kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1234", "xid-gpu-hardware",
     "gpu 0000:01:00.0 xid 79"},
    {"[gpu-health] [WARN] GPU-e11d: XID: NVRM: Xid (PCI:0000:00:06): 31, pid=79749, name=exe, Ch "
     "0000000a",
     "xid-application", "gpu 0000:00:06.0 xid 31"},
    {"[ 3.0] Out of memory: Killed process 4242 (python3) total-vm:1kB", "out-of-memory",
     "process 4242"},
    {"[ 3.0] watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:77]", "cpu-lockup",
     "host"},
    {"[ 3.0] mce: [Hardware Error]: Machine check events logged", "machine-check", "host"},
    {"[ 3.0] EDAC MC0: 1 UE memory read error on CPU_SrcID#0", "memory-uncorrected", "host"},
    {"[ 3.0] EDAC MC0: 1 CE memory read error on CPU_SrcID#0", "memory-corrected", "host"},
    {"[ 3.0] DMAR: [DMA Write] Request device [3b:00.0] fault addr ff000000", "iommu-fault",
     "pci 0000:3b:00.0"},
    {"[ 3.0] NVRM: GPU 0000:4d:00.0: GPU has fallen off the bus.", "gpu-lost", "gpu 0000:4d:00.0"},
    {"[ 3.0] NVRM: API mismatch: the client has the version 535.1, but", "gpu-driver-mismatch",
     "host"},
    {"[ 3.0] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress",
     "nvswitch-error", "pci 0000:05:00.0"},
    {"[ 3.0] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
     "nvswitch-fatal", "pci 0000:05:00.0"},
    {"[ 3.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.",
     "xid-gpu-hardware", "gpu 0000:3b:00.0 xid 79"},
    {"[ 3.0] NVRM: Xid (0000:03:00): 74, NVLink: fatal error detected on link 2(0x0, 0x0)",
     "xid-nvlink", "gpu 0000:03:00.0 xid 74"},
    {"[ 3.0] NVRM: Xid (PCI:0000:3b:00): 32, pid=7, name=a, Channel ID 1 intr 2", "xid-driver",
     "gpu 0000:3b:00.0 xid 32"},
    {"[ 3.0] NVRM: Xid (PCI:0000:3b:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New "
     "row marked for remapping",
     "xid-notice", "gpu 0000:3b:00.0 xid 63"},
    {"[ 3.0] NVRM: Xid (PCI:0000:3b:00): 4711, something", "xid-unlisted",
     "gpu 0000:3b:00.0 xid 4711"},
};

/* The same message as tools and loggers print it. */
static const struct {
    const char *text, *time;
} prefixes[] = {
    {"[ 12.345678] X y", "12.345678"},
    {"[12.345678] X y", "12.345678"},
    {"12.345678] X y", "12.345678"},
    {"[   12.345678] [  T3491] X y", "12.345678"},
    {"[   12.345678][    C1] X y", "12.345678"},
    {"<6>[   12.345678] X y", "12.345678"},
    {"[Sun Feb 23 16:24:18 2025] X y", "Sun Feb 23 16:24:18 2025"},
    {"[2025-01-17T15:36:26,128279+00:00] X y", "2025-01-17T15:36:26,128279+00:00"},
    {"2025-01-17T15:36:26,128279+00:00 X y", "2025-01-17T15:36:26,128279+00:00"},
    {"2025-01-17T15:36:26,128 X y", NULL},
    {"kern  :info  : 2025-01-17T15:36:26,128279+00:00 X y", "2025-01-17T15:36:26,128279+00:00"},
    {"kern  :warn  : [   12.345678] X y", "12.345678"},
    {"[Feb23 16:24] X y", "Feb23 16:24"},
    {"[  +0.000012] X y", "+0.000012"},
    {"[   12.345678 <    0.000012>] X y", "12.345678 <    0.000012>"},
    {"Feb 23 16:24:18 n1 kernel: X y", "Feb 23 16:24:18"},
    {"Feb  3 16:24:18 n1 kernel: [   12.345678] X y", "12.345678"},
    {"Okt 06 17:59:27 n1 kernel: X y", "Okt 06 17:59:27"},
    {"M\xc3\xa4r 06 17:59:27 n1 kernel: X y", "M\xc3\xa4r 06 17:59:27"},
    {"kernel: X y", ""},
    {"2025-02-23T16:24:18+0000 n1 kernel: X y", "2025-02-23T16:24:18+0000"},
    {"2025-02-23T16:24:18.123456+00:00 n1 kernel: X y", "2025-02-23T16:24:18.123456+00:00"},
    {"[   12.345678] n1 kernel: X y", "12.345678"},
};

static void each_file_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        check_file(&files[i]);
}

static void each_message_is_its_finding(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        OWN(evidence) struct evidence *e = evidence_of_text(messages[i].text);
        if (e->section_count != 1)
            fail_msg("'%s' is no kernel log", messages[i].text);
        if (messages[i].rule == NULL) {
            if (e->findings.count > 0)
                fail_msg("'%s' gives %s", messages[i].text, e->findings.items[0].rule);
            continue;
        }
        if (evidence_finding(e, messages[i].rule, messages[i].subject) == NULL)
            fail_msg("'%s' gives %s on '%s', wanted %s on '%s'", messages[i].text,
                     e->findings.count > 0 ? e->findings.items[0].rule : "nothing",
                     e->findings.count > 0 ? e->findings.items[0].subject : "", messages[i].rule,
                     messages[i].subject);
        assert_int_equal(e->findings.count, 1);
    }
}

static void each_prefix_leaves_the_message(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        struct kernel_line line;
        bool is = kernel_line_read(slice_of(prefixes[i].text), &line);
        if (is != (prefixes[i].time != NULL))
            fail_msg("'%s' is%s read as a log", prefixes[i].text, is ? "" : " not");
        if (is && (!slice_is(line.message, "X y") || !slice_is(line.time, prefixes[i].time)))
            fail_msg("'%s' is read as '%.*s' at '%.*s'", prefixes[i].text, (int)line.message.len,
                     line.message.at, (int)line.time.len, line.time.at);
    }
}

static void what_is_no_log_is_none(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "[1,0]<stdout>: hello", "[info] started",    "Feb 30 is no day",
        "[12] a list",          "kern is a word: x", "Mar 24 15:00:00 123456 [7F8C] 0x01 -> x",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct kernel_line line;
        if (kernel_line_read(slice_of(texts[i]), &line))
            fail_msg("'%s' is read as a line of a log", texts[i]);
    }
}

static void lines_of_other_programs_belong_to_the_log_and_say_nothing(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e =
        evidence_of_text("Feb 23 16:24:18 n1 kernel: mlx5_core 0000:af:00.0 ens1np0: Link down\n"
                         "Feb 23 16:24:19 n1 systemd[1]: ens1np0: Link is Down\n"
                         "Feb 23 16:24:20 n1 kernel: mlx5_core 0000:af:00.0 ens1np0: Link down\n");
    assert_string_equal(e->kind, "dmesg");
    assert_int_equal(e->section_count, 1);
    assert_int_equal(e->findings.count, 1);
    assert_int_equal(e->proofs[0].count, 2);
    assert_int_equal(e->proofs[0].first_line, 1);
    assert_int_equal(e->proofs[0].last_line, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_says_what_it_says),
        cmocka_unit_test(each_message_is_its_finding),
        cmocka_unit_test(each_prefix_leaves_the_message),
        cmocka_unit_test(what_is_no_log_is_none),
        cmocka_unit_test(lines_of_other_programs_belong_to_the_log_and_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
