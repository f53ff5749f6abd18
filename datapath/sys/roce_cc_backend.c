/*
 * datapath/sys/roce_cc_backend.c - which vendor keeps which congestion control parameter where.
 */
#include "datapath/sys/roce_cc_backend.h"

#define MBIT_BPS  1000000
#define U8        255
#define U16       65535
#define U32       INT64_C(4294967295)
#define RATE_MBPS INT64_C(1000000000)

/* drivers/net/ethernet/mellanox/mlx5/core/.../cong.c of the kernel. */
static const struct roce_cc_file mlx5_debugfs[] = {
    {ROCE_CC_CLAMP_TGT_RATE, "rp_clamp_tgt_rate", 0, 1, 1},
    {ROCE_CC_CLAMP_TGT_RATE_AFTER_TIME_INC, "rp_clamp_tgt_rate_ati", 0, 1, 1},
    {ROCE_CC_RPG_TIME_RESET, "rp_time_reset", 1, 131071, 1},
    {ROCE_CC_RPG_BYTE_RESET, "rp_byte_reset", 0, 32767, 1},
    {ROCE_CC_RPG_THRESHOLD, "rp_threshold", 1, 31, 1},
    {ROCE_CC_RPG_AI_RATE, "rp_ai_rate", 1, RATE_MBPS, MBIT_BPS},
    {ROCE_CC_RPG_MAX_RATE, "rp_max_rate", 0, RATE_MBPS, MBIT_BPS},
    {ROCE_CC_RPG_HAI_RATE, "rp_hai_rate", 1, RATE_MBPS, MBIT_BPS},
    {ROCE_CC_RPG_MIN_DEC_FAC, "rp_min_dec_fac", 0, 100, 1},
    {ROCE_CC_RPG_MIN_RATE, "rp_min_rate", 1, RATE_MBPS, MBIT_BPS},
    {ROCE_CC_RATE_TO_SET_ON_FIRST_CNP, "rp_rate_to_set_on_first_cnp", 0, RATE_MBPS, MBIT_BPS},
    {ROCE_CC_DCE_TCP_G, "rp_dce_tcp_g", 0, 1023, 1},
    {ROCE_CC_DCE_TCP_RTT, "rp_dce_tcp_rtt", 1, 131071, 1},
    {ROCE_CC_RATE_REDUCE_MONITOR_PERIOD, "rp_rate_reduce_monitor_period", 1, U32, 1},
    {ROCE_CC_INITIAL_ALPHA_VALUE, "rp_initial_alpha_value", 1, 1023, 1},
    {ROCE_CC_RPG_GD, "rp_gd", 10, 11, 1},
    {ROCE_CC_MIN_TIME_BETWEEN_CNPS, "np_min_time_between_cnps", 0, 4095, 1},
    {ROCE_CC_CNP_DSCP, "np_cnp_dscp", 0, 63, 1},
    {ROCE_CC_CNP_PRIORITY_MODE, "np_cnp_prio_mode", 0, 1, 1},
    {ROCE_CC_CNP_PRIORITY, "np_cnp_prio", 0, 7, 1},
};

/* The vendor's own driver package. */
static const struct roce_cc_file mlx5_ofed[] = {
    {ROCE_CC_CLAMP_TGT_RATE, "roce_rp/clamp_tgt_rate", 0, 1, 1},
    {ROCE_CC_CLAMP_TGT_RATE_AFTER_TIME_INC, "roce_rp/clamp_tgt_rate_after_time_inc", 0, 1, 1},
    {ROCE_CC_RPG_TIME_RESET, "roce_rp/rpg_time_reset", 1, 131071, 1},
    {ROCE_CC_RPG_BYTE_RESET, "roce_rp/rpg_byte_reset", 0, 32767, 1},
    {ROCE_CC_RPG_THRESHOLD, "roce_rp/rpg_threshold", 1, 31, 1},
    {ROCE_CC_RPG_AI_RATE, "roce_rp/rpg_ai_rate", 1, RATE_MBPS, MBIT_BPS},
    {ROCE_CC_RPG_MAX_RATE, "roce_rp/rpg_max_rate", 0, RATE_MBPS, MBIT_BPS},
    {ROCE_CC_RPG_HAI_RATE, "roce_rp/rpg_hai_rate", 1, RATE_MBPS, MBIT_BPS},
    {ROCE_CC_RPG_MIN_DEC_FAC, "roce_rp/rpg_min_dec_fac", 0, 100, 1},
    {ROCE_CC_RPG_MIN_RATE, "roce_rp/rpg_min_rate", 1, RATE_MBPS, MBIT_BPS},
    {ROCE_CC_RATE_TO_SET_ON_FIRST_CNP, "roce_rp/rate_to_set_on_first_cnp", 0, RATE_MBPS, MBIT_BPS},
    {ROCE_CC_DCE_TCP_G, "roce_rp/dce_tcp_g", 0, 1023, 1},
    {ROCE_CC_DCE_TCP_RTT, "roce_rp/dce_tcp_rtt", 1, 131071, 1},
    {ROCE_CC_RATE_REDUCE_MONITOR_PERIOD, "roce_rp/rate_reduce_monitor_period", 1, U32, 1},
    {ROCE_CC_INITIAL_ALPHA_VALUE, "roce_rp/initial_alpha_value", 1, 1023, 1},
    {ROCE_CC_RPG_GD, "roce_rp/rpg_gd", 10, 11, 1},
    {ROCE_CC_MIN_TIME_BETWEEN_CNPS, "roce_np/min_time_between_cnps", 0, 4095, 1},
    {ROCE_CC_CNP_DSCP, "roce_np/cnp_dscp", 0, 63, 1},
    {ROCE_CC_CNP_PRIORITY, "roce_np/cnp_802p_prio", 0, 7, 1},
};

/* drivers/infiniband/hw/bnxt_re/debugfs.c of recent kernels; files are 0400 and yet take writes. */
static const struct roce_cc_file bnxt_debugfs[] = {
    {ROCE_CC_CC_ENABLE, "enable_cc", 0, 1, 1},
    {ROCE_CC_RUN_AVG_WEIGHT_G, "run_avg_weight_g", 0, U8, 1},
    {ROCE_CC_PHASES_PER_STATE, "num_phase_per_state", 0, U8, 1},
    {ROCE_CC_INIT_CR, "init_cr", 0, U16, 1},
    {ROCE_CC_INIT_TR, "init_tr", 0, U16, 1},
    {ROCE_CC_ECN_MARKING, "tos_ecn", 0, 3, 1},
    {ROCE_CC_ROCE_DSCP, "tos_dscp", 0, 63, 1},
    {ROCE_CC_CNP_PRIORITY, "alt_vlan_pcp", 0, 7, 1},
    {ROCE_CC_CNP_DSCP, "alt_vlan_dscp", 0, 63, 1},
    {ROCE_CC_RTT, "rtt", 0, U16, 1},
    {ROCE_CC_CC_MODE, "cc_mode", 0, 1, 1},
    {ROCE_CC_TCP_CP, "tcp_cp", 0, U16, 1},
    {ROCE_CC_INACTIVITY_TH, "inactivity_cp", 0, U16, 1},
};

/* The vendor's own driver package; values are staged until "apply". */
static const struct roce_cc_file bnxt_configfs[] = {
    {ROCE_CC_CC_ENABLE, "ecn_enable", 0, 1, 1},
    {ROCE_CC_RUN_AVG_WEIGHT_G, "g", 0, U8, 1},
    {ROCE_CC_PHASES_PER_STATE, "nph_per_state", 0, U8, 1},
    {ROCE_CC_INIT_CR, "init_cr", 0, U16, 1},
    {ROCE_CC_INIT_TR, "init_tr", 0, U16, 1},
    {ROCE_CC_ECN_MARKING, "ecn_marking", 0, 3, 1},
    {ROCE_CC_ROCE_DSCP, "roce_dscp", 0, 63, 1},
    {ROCE_CC_ROCE_PRIORITY, "roce_prio", 0, 7, 1},
    {ROCE_CC_CNP_PRIORITY, "cnp_prio", 0, 7, 1},
    {ROCE_CC_CNP_DSCP, "cnp_dscp", 0, 63, 1},
    {ROCE_CC_RTT, "rtt", 0, U16, 1},
    {ROCE_CC_CC_MODE, "cc_mode", 0, 1, 1},
    {ROCE_CC_TCP_CP, "tcp_cp", 0, U16, 1},
    {ROCE_CC_INACTIVITY_TH, "inact_th", 0, U16, 1},
};

/* The vendor's own driver package; finer values are module parameters there. */
static const struct roce_cc_file irdma_configfs[] = {
    {ROCE_CC_DCQCN_ENABLE, "roce_dcqcn_enable", 0, 1, 1},
    {ROCE_CC_DCTCP_ENABLE, "roce_dctcp_enable", 0, 1, 1},
    {ROCE_CC_TIMELY_ENABLE, "roce_timely_enable", 0, 1, 1},
};

#define FILES(table) .files = (table), .file_count = sizeof(table) / sizeof((table)[0])

/* solar_rdma is the lab's test NIC. */
const struct roce_cc_backend roce_cc_backends[] = {
    {.name = "mlx5-ofed",
     .drivers = {"mlx5_core", "solar_rdma"},
     .folder = "/sys/class/net/{if}/ecn",
     .notify = "roce_np/enable",
     .react = "roce_rp/enable",
     FILES(mlx5_ofed)},
    {.name = "mlx5-debugfs",
     .drivers = {"mlx5_core"},
     .folder = "/sys/kernel/debug/mlx5/{pci}/cc_params",
     FILES(mlx5_debugfs)},
    {.name = "bnxt-configfs",
     .drivers = {"bnxt_en"},
     .folder = "/sys/kernel/config/bnxt_re/{rdma}/ports/{port}/cc",
     .make = "/sys/kernel/config/bnxt_re/{rdma}",
     .make_root = "/sys/kernel/config/bnxt_re",
     .commit = "apply",
     .hex = true,
     FILES(bnxt_configfs)},
    {.name = "bnxt-debugfs",
     .drivers = {"bnxt_en"},
     .folder = "/sys/kernel/debug/bnxt_re/{pci}/cc_config",
     FILES(bnxt_debugfs)},
    {.name = "irdma-configfs",
     .drivers = {"ice", "i40e", "idpf"},
     .folder = "/sys/kernel/config/irdma/{rdma}",
     .make = "/sys/kernel/config/irdma/{rdma}",
     .make_root = "/sys/kernel/config/irdma",
     FILES(irdma_configfs)},
    {.name = NULL},
};
