/*
 * tests/unit/fleet/test_evidence_link.c - links, transceivers, tuning, neighbours, NVLink.
 */
#include "evidence_test.h"

static const struct expected_file files[] = {
    {
        "ethtool-link/mlx5_settings.txt",
        "ethtool-link",
        {
            {"netdev ens1f0np0", "speed", "100000", 0},
            {"netdev ens1f0np0", "lanes", "4", 0},
            {"netdev ens1f0np0", "duplex", "Full", 0},
            {"netdev ens1f0np0", "autoneg", "on", 0},
            {"netdev ens1f0np0", "autoneg_supported", "Yes", 0},
            {"netdev ens1f0np0", "fec_advertised", "RS", 0},
            {"netdev ens1f0np0", "fec_partner", "?", 0},
            {"netdev ens1f0np0", "port_type", "Direct Attach Copper", 0},
            {"netdev ens1f0np0", "link_detected", "yes", 0},
            {"netdev ens1f1np1", "speed", "?", 0},
            {"netdev ens1f1np1", "duplex", "?", 0},
            {"netdev ens1f1np1", "link_detected", "no", 0},
            {"netdev ens1f1np1", "link_down_reason", "No cable", 0},
            {"netdev ens1f0np0", "fec_configured", "Auto Off RS BaseR", 0},
            {"netdev ens1f0np0", "fec_active", "RS", 0},
            {"netdev ens1f0np0", "fec_corrected_blocks", "256", 0},
            {"netdev ens1f0np0", "fec_uncorrectable_blocks", "3", 0},
        },
        {{"port-down", "netdev ens1f1np1", 1}, {"symbol-errors", "netdev ens1f0np0", 1}},
    },
    {
        "ethtool-link/module_qsfp28.txt",
        "ethtool-link",
        {
            {"netdev ens1f0np0", "module_vendor_pn", "MMA1B00-C100D", 0},
            {"netdev ens1f0np0", "module_vendor_sn", "0012300456", 0},
            {"netdev ens1f0np0", "module_date_code", "210104", 0},
            {"netdev ens1f0np0", "module_module_temperature", "35.11", 0},
            {"netdev ens1f0np0", "module_module_voltage", "3.2946", 0},
            {"netdev ens1f0np0", "module_laser_tx_bias_current_channel_1", "7.482", 0},
            {"netdev ens1f0np0", "module_transmit_avg_optical_power_channel_1", "0.9116", 0},
            {"netdev ens1f0np0", "module_transmit_avg_optical_power_channel_1_dbm", "-0.40", 0},
            {"netdev ens1f0np0", "module_rcvr_signal_avg_optical_power_channel_1_dbm", "?", 0},
            {"netdev ens1f0np0", "module_rcvr_signal_avg_optical_power_channel_2_dbm", "-1.54", 0},
            {"netdev ens1f0np0", "module_laser_rx_power_low_alarm_channel_1", "On", 0},
        },
        {{"transceiver-alarm", "netdev ens1f0np0", 1}},
    },
    {
        "ethtool-tune/mlx5_tuning.txt",
        "ethtool-tune",
        {
            {"netdev ens1f0np0", "coalesce_adaptive_rx", "on", 0},
            {"netdev ens1f0np0", "coalesce_adaptive_tx", "off", 0},
            {"netdev ens1f0np0", "coalesce_rx_usecs", "8", 0},
            {"netdev ens1f0np0", "coalesce_rx_usecs_irq", "?", 0},
            {"netdev ens1f0np0", "ring_rx_max", "8192", 0},
            {"netdev ens1f0np0", "ring_rx", "1024", 0},
            {"netdev ens1f0np0", "ring_rx_mini_max", "?", 0},
            {"netdev ens1f0np0", "ring_tx_push", "off", 0},
            {"netdev ens1f0np0", "channels_combined_max", "63", 0},
            {"netdev ens1f0np0", "channels_combined", "8", 0},
            {"netdev ens1f0np0", "feature_tx_checksum_ipv4", "off", 0},
            {"netdev ens1f0np0", "feature_large_receive_offload", "off", 0},
            {"netdev ens1f0np0", "feature_hw_tc_offload", "on", 0},
            {"netdev ens1f0np0", "private_flag_rx_cqe_moder", "on", 0},
            {"netdev ens1f0np0", "timestamping_ptp_hardware_clock", "2", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "devlink-show/health_port_param.txt",
        "bundle",
        {
            {"pci 0000:82:00.0 reporter fw", "reporter_state", "healthy", 0},
            {"pci 0000:82:00.0 reporter fw_fatal", "reporter_state", "error", 0},
            {"pci 0000:82:00.0 reporter fw_fatal", "reporter_error", "2", 0},
            {"pci 0000:82:00.0 port 1 reporter tx", "reporter_recover", "0", 0},
            {"pci 0000:82:00.0 port 65535", "devlink_port_netdev", "ens1f0np0", 0},
            {"pci 0000:82:00.0 port 1", "devlink_port_flavour", "pcivf", 0},
            {"pci 0000:82:00.0 port 1", "function_state", "active", 0},
            {"pci 0000:82:00.0", "param enable_roce driverinit", "false", 0},
            {"pci 0000:82:00.0", "param flow_steering_mode runtime", "smfs", 0},
        },
        {{"device-health", "pci 0000:82:00.0 reporter fw_fatal", 1}},
    },
    {
        "lldp/lldptool_neighbour.txt",
        "lldp",
        {
            {"netdev ens1f0np0", "neighbour_chassis_id", "00:1b:21:87:a6:e1", 0},
            {"netdev ens1f0np0", "neighbour_port_id", "swp1", 0},
            {"netdev ens1f0np0", "neighbour_port_description", "rail 0: node 7", 0},
            {"netdev ens1f0np0", "neighbour_system_name", "leaf01", 0},
            {"netdev ens1f0np0", "neighbour_ttl", "120", 0},
            {"netdev ens1f0np0", "neighbour_max_frame_size", "9216", 0},
            {"netdev ens1f0np0", "neighbour_pfc_pfc_enabled", "3", 0},
            {"netdev ens1f0np0", "neighbour_ets_willing", "no", 0},
            {"netdev ens1f0np0", "neighbour_app_0_priority", "3", 0},
            {"netdev ens1f0np0", "neighbour_app_0_dscp", "26", 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "lldp/lldpcli_neighbors.txt",
        "lldp",
        {
            {"netdev ens1f0np0", "neighbour_system_name", "leaf01", 0},
            {"netdev ens1f0np0", "neighbour_port_id", "swp1", 0},
            {"netdev ens1f0np0", "neighbour_management_address", "192.0.2.10", 0},
            {"netdev ens1f1np1", "neighbour_chassis_id", "00:1b:21:87:a6:f2", 0},
            {"netdev ens1f1np1", "neighbour_port_id", "swp9", 0},
            {"netdev ens1f1np1", "neighbour_port_description", NULL, 0},
        },
        {{NULL, NULL, 0}},
    },
    {
        "nvlink/h100_status_errors.txt",
        "nvidia-smi-nvlink",
        {
            {"gpu 0 link 0", "nvlink_bandwidth", "26.562", 0},
            {"gpu 0 link 1", "nvlink_state", "inactive", 0},
            {"gpu 0 link 1", "nvlink_bandwidth", NULL, 0},
            {"gpu 1 link 1", "nvlink_state", "active", 0},
            {"gpu 0 link 0", "nvlink_crc_errors", "17", 0},
            {"gpu 0 link 1", "nvlink_crc_errors", "?", 0},
        },
        {{"nvlink-errors", "gpu 0 link 0", 1}},
    },
};

static void each_file_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        check_file(&files[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_says_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
