/*
 * tests/unit/fleet/test_evidence_kernel.c - messages of drivers and of the kernel itself, in the
 * words of their sources.
 */
#include "evidence_test.h"

static const struct expected_file texts[] = {
    {
        "[  212.301010] bnxt_en 0000:3b:00.0: QPLIB: bnxt_re_is_fw_stalled: FW STALL Detected. "
        "cmdq[0xe]=0x3 waited (102721 > 100000) msec active 1\n"
        "[  212.301011] bnxt_en 0000:3b:00.0 bnxt_re0: Failed to modify HW QP\n"
        "[  212.301015] bnxt_en 0000:3b:00.0: QPLIB: cmdq[0x11e]=0x11 timedout (20000)msec\n"
        "[  212.301020] bnxt_en 0000:3b:00.0 ens3f0np0: TX timeout detected, starting reset "
        "task!\n",
        "dmesg",
        {{"pci 0000:3b:00.0", "interface", "ens3f0np0", 1}},
        {{"device-command-timeout", "pci 0000:3b:00.0", 2},
         {"device-error", "pci 0000:3b:00.0", 1},
         {"tx-timeout", "pci 0000:3b:00.0", 1}},
    },
    {
        "[ 1020.300002] irdma: CQP: Failed to post CQP cmd\n"
        "[ 1020.300003] ib_core: irdma0 abnormal ae_id = 0x50b bool qp=1 qp_id = 33, ae_src=5\n"
        "[ 1020.300006] ice 0000:18:00.0 ens1f0: NETDEV WATCHDOG: CPU: 33: transmit queue 12 "
        "timed out 5012 ms\n"
        "[ 1020.300008] ice 0000:18:00.0: PF VF-lan Malicious Driver Detection event TX_PQM "
        "detected on PF\n"
        "[ 1020.300012] ice 0000:18:00.0 ens1f0: An unsupported module type was detected.\n",
        "dmesg",
        {{"pci 0000:18:00.0", "queue", "12", 0}, {"rdma irdma0", "qp", "33", 0}},
        {{"device-command-failed", "host", 1},
         {"rdma-async-error", "rdma irdma0", 1},
         {"tx-timeout", "pci 0000:18:00.0", 1},
         {"device-error", "pci 0000:18:00.0", 1},
         {"module-error", "pci 0000:18:00.0", 1}},
    },
    {
        "[  311.1] hns3 0000:7d:00.0: IMP RD poison detected\n"
        "[  312.2] hns3 0000:bd:00.0: ppp_mpf_abnormal_int_st3 found [error status=0x1]\n"
        "[  316.6] hns3 0000:bd:00.2: cmdq is still busy.\n"
        "[  321.9] hns3 0000:7d:00.0: Reset fail!\n",
        "dmesg",
        {{"pci 0000:bd:00.0", "error_status", "1", 0}},
        {{"device-health", "pci 0000:7d:00.0", 1},
         {"device-error", "pci 0000:bd:00.0", 1},
         {"device-command-timeout", "pci 0000:bd:00.2", 1},
         {"device-recovery-failed", "pci 0000:7d:00.0", 1}},
    },
    {
        "[  2.2] infiniband rdmap0s29: Failed to process command CREATE_QP (opcode 1) "
        "comp_status 7 err -12\n"
        "[  3.1] mana 7870:00:00.0: HWC: Request timed out!\n"
        "[  4.1] ionic 0000:b1:00.0: FW recovery: heartbeat check failed\n"
        "[  5.1] erdma 0000:00:05.0: Poll cmdq timeout\n"
        "[  6.2] [qedr_poll_cq_req:4112(qedr0)]Error: POLL CQ with "
        "RDMA_CQE_REQ_STS_TRANSPORT_RETRY_CNT_ERR. CQ icid=0x1, QP icid=0x2\n",
        "dmesg",
        {{"rdma rdmap0s29", "error", "-12", 0}},
        {{"device-command-failed", "rdma rdmap0s29", 1},
         {"device-command-timeout", "pci 7870:00:00.0", 1},
         {"device-health", "pci 0000:b1:00.0", 1},
         {"device-command-timeout", "pci 0000:00:05.0", 1},
         {"rdma-retries-exceeded", "host", 1}},
    },
    {
        "rdma_rxe: qp#17 moved to error state\n"
        "infiniband mlx5_0: mlx5_poll_one:527:(pid 0): Responder error cqe on cqn 0x406:\n"
        "infiniband mlx5_0: mlx5_poll_one:530:(pid 0): syndrome 0x5, vendor syndrome 0xf9\n"
        "mlx5_core 0000:5e:00.0 ens1f0: Error cqe on cqn 0x48b, ci 0x1e9, qn 0x1161, opcode 0xd, "
        "syndrome 0x2, vendor syndrome 0x68\n"
        "mlx5_core 0000:02:00.0: mlx5_eq_int:556:(pid 0): CQ error on CQN 0x40a, syndrom 0x1\n"
        "mlx5_core 0000:5e:00.0: synd 0x7: irisc not responding\n",
        "dmesg",
        {{"host", "qp", "17", 0},
         {"pci 0000:5e:00.0", "syndrome", "2", 0},
         {"pci 0000:5e:00.0", "vendor_syndrome", "104", 0},
         {"pci 0000:02:00.0", "cqn", "1034", 0}},
        {{"rdma-async-error", "host", 1},
         {"completion-error", "rdma mlx5_0", 1},
         {"completion-error", "pci 0000:5e:00.0", 1},
         {"rdma-async-error", "pci 0000:02:00.0", 1},
         {"device-health", "pci 0000:5e:00.0", 1}},
    },
    {
        "Mar 12 09:11:18 n1 kernel: mlx4_core 0000:07:00.0: Internal error detected on the "
        "communication channel\n"
        "Mar 12 09:11:18 n1 kernel: mlx4_core 0000:07:00.0: command 0x31 timed out "
        "(go bit not cleared)\n"
        "Mar 12 09:11:19 n1 kernel: ib0: transmit timeout: latency 1024 msecs\n"
        "Mar 12 09:11:20 n1 kernel: ib0: multicast join failed for ff12:401b:ffff::1, status -22\n"
        "Mar 12 09:11:21 n1 kernel: nvme nvme0: RECV for CQE 0x0000000001 failed with status "
        "transport retry counter exceeded (12)\n"
        "Mar 12 09:11:22 n1 kernel: ib_srpt: receiving failed for idx 45 with status 5\n",
        "dmesg",
        {{"pci 0000:07:00.0", "command", "49", 0}, {"host", "status", "5", 0}},
        {{"device-health", "pci 0000:07:00.0", 1},
         {"device-command-timeout", "pci 0000:07:00.0", 1},
         {"tx-timeout", "netdev ib0", 1},
         {"rdma-client-failed", "netdev ib0", 1},
         {"rdma-retries-exceeded", "device nvme0", 1},
         {"completion-error", "host", 1}},
    },
    {
        "[   84.1] BUG: KASAN: slab-use-after-free in rxe_comp_queue_pkt+0x3d/0x80 [rdma_rxe]\n"
        "[   84.1] Read of size 8 at addr ffff888111865928 by task kworker/u18:5/3502\n"
        "[   85.2] WARNING: CPU: 3 PID: 71 at drivers/infiniband/core/cma.c:4920 cma_x+0x1\n"
        "[   86.3] {1}[Hardware Error]: event severity: fatal\n"
        "[   87.4] pcieport 0000:17:01.0: DPC: containment event, status:0x1f01 source:0x0000\n"
        "[   88.5] watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:71]\n",
        "dmesg",
        {{"host", "at", "rxe_comp_queue_pkt+0x3d/0x80 [rdma_rxe]", 0},
         {"host", "at", "drivers/infiniband/core/cma.c:4920 cma_x+0x1", 1}},
        {{"kernel-fault", "host", 1},
         {"kernel-warning", "host", 1},
         {"machine-check", "host", 1},
         {"pcie-uncorrected", "pci 0000:17:01.0", 1},
         {"cpu-lockup", "host", 1}},
    },
    {
        "NVRM: Xid (PCI:0000:9a:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 "
        "(Node Reboot Required)\n"
        "NVRM: Xid (PCI:0000:18:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
        "Required) to 0x0 (None)\n"
        "NVRM: The NVIDIA GPU 0000:9a:00.0 (PCI ID: 10de:2330) installed in this system has "
        "fallen off the bus and is not responding to commands.\n",
        "xid",
        {{"gpu 0000:9a:00.0 xid 154", "recovery_action", "0x2 (Node Reboot Required)", 0},
         {"gpu 0000:18:00.0 xid 154", "recovery_action", "0x0 (None)", 0}},
        {{"xid-gpu-reset", "gpu 0000:9a:00.0 xid 154", 1},
         {"xid-notice", "gpu 0000:18:00.0 xid 154", 1},
         {"gpu-lost", "gpu 0000:9a:00.0", 1}},
    },
};

static void each_log_says_what_happened(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_text(&texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_log_says_what_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
