#pragma once
/*
 * fleet/evidence/readers.h - the readers, one file a kind. Private to fleet/evidence/. A new kind
 * is a file, a line here and a row in readers.c.
 */

#include "fleet/evidence/reader.h"

extern const struct evidence_reader reader_dcb;
extern const struct evidence_reader reader_devinfo;
extern const struct evidence_reader reader_devlink_info;
extern const struct evidence_reader reader_ethtool_info;
extern const struct evidence_reader reader_ethtool_pause;
extern const struct evidence_reader reader_ethtool_stats;
extern const struct evidence_reader reader_flint;
extern const struct evidence_reader reader_flint_query;
extern const struct evidence_reader reader_ib_topology;
extern const struct evidence_reader reader_ibdev2netdev;
extern const struct evidence_reader reader_ibhosts;
extern const struct evidence_reader reader_iblinkinfo;
extern const struct evidence_reader reader_ibnetdiscover;
extern const struct evidence_reader reader_ibping;
extern const struct evidence_reader reader_ibqueryerrors;
extern const struct evidence_reader reader_ibstat;
extern const struct evidence_reader reader_ibstatus;
extern const struct evidence_reader reader_ibswinfo;
extern const struct evidence_reader reader_ibv_devices;
extern const struct evidence_reader reader_interrupts;
extern const struct evidence_reader reader_lspci;
extern const struct evidence_reader reader_mlnx_qos;
extern const struct evidence_reader reader_mlxconfig;
extern const struct evidence_reader reader_mlxreg;
extern const struct evidence_reader reader_opensm_log;
extern const struct evidence_reader reader_perfquery;
extern const struct evidence_reader reader_perftest;
extern const struct evidence_reader reader_pingpong;
extern const struct evidence_reader reader_rdma;
extern const struct evidence_reader reader_rdma_json;
extern const struct evidence_reader reader_tc_json;
extern const struct evidence_reader reader_devlink_json;
extern const struct evidence_reader reader_devlink_health_json;
extern const struct evidence_reader reader_devlink_port_json;
extern const struct evidence_reader reader_devlink_param_json;
extern const struct evidence_reader reader_lldpcli_json;
extern const struct evidence_reader reader_ethtool_stats_json;
extern const struct evidence_reader reader_ethtool_pause_json;
extern const struct evidence_reader reader_ip_json;
extern const struct evidence_reader reader_ip;
extern const struct evidence_reader reader_dcb_json;
extern const struct evidence_reader reader_perftest_json;
extern const struct evidence_reader reader_rping;
extern const struct evidence_reader reader_show_gids;
extern const struct evidence_reader reader_sminfo;
extern const struct evidence_reader reader_sonic_pfc_counters;
extern const struct evidence_reader reader_sonic_pfcwd;
extern const struct evidence_reader reader_sysfs;
extern const struct evidence_reader reader_tc;
extern const struct evidence_reader reader_dmesg;
extern const struct evidence_reader reader_xid;
extern const struct evidence_reader reader_gpu_query;
extern const struct evidence_reader reader_gpu_table;
extern const struct evidence_reader reader_gpu_csv;
extern const struct evidence_reader reader_gpu_xml;
extern const struct evidence_reader reader_gpu_topo;
extern const struct evidence_reader reader_nccl_log;
extern const struct evidence_reader reader_nccl_tests;
extern const struct evidence_reader reader_redfish;
extern const struct evidence_reader reader_sonic_config;
extern const struct evidence_reader reader_sonic_ecn;
extern const struct evidence_reader reader_ufm;
extern const struct evidence_reader reader_ufm_qos;
extern const struct evidence_reader reader_k8s;
extern const struct evidence_reader reader_switch_dcbx;
extern const struct evidence_reader reader_switch_onyx;
extern const struct evidence_reader reader_switch_nvue;
extern const struct evidence_reader reader_switch_ports;
extern const struct evidence_reader reader_sonic_table;
extern const struct evidence_reader reader_ethtool_settings;
extern const struct evidence_reader reader_ethtool_fec;
extern const struct evidence_reader reader_ethtool_module;
extern const struct evidence_reader reader_ethtool_tune;
extern const struct evidence_reader reader_devlink_health;
extern const struct evidence_reader reader_devlink_port;
extern const struct evidence_reader reader_devlink_param;
extern const struct evidence_reader reader_gpu_nvlink;
extern const struct evidence_reader reader_lldptool;
extern const struct evidence_reader reader_lldpcli;
