/*
 * fleet/evidence/readers.c - the kinds of files, in the order in which they are tried: what says
 * most surely what it is comes first.
 */
#include "fleet/evidence/readers.h"

#include <stddef.h>

const struct evidence_reader *const evidence_readers[] = {
    /* Headlines and rows that nothing else has. */
    &reader_ibstat,
    &reader_ibstatus,
    &reader_devinfo,
    &reader_show_gids,
    &reader_ibping,
    &reader_rdma,
    &reader_ibdev2netdev,
    &reader_sonic_pfcwd,
    &reader_sonic_pfc_counters,
    &reader_perftest,
    &reader_rping,
    &reader_pingpong,
    &reader_tc,
    &reader_dcb,
    &reader_mlnx_qos,
    &reader_interrupts,
    &reader_lspci,
    &reader_devlink_info,
    &reader_mlxconfig,
    &reader_flint_query,
    &reader_flint,
    &reader_ibnetdiscover,
    &reader_iblinkinfo,
    &reader_perfquery,
    &reader_ib_topology,
    &reader_ibhosts,
    &reader_ibqueryerrors,
    &reader_sminfo,
    &reader_ibv_devices,
    &reader_mlxreg,
    &reader_ethtool_pause,
    &reader_ibswinfo,
    &reader_opensm_log,
    &reader_ethtool_info,
    /* Rows of names and numbers: the names decide. */
    &reader_sysfs,
    &reader_ethtool_stats,
    NULL,
};
