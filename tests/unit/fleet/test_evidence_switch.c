/*
 * tests/unit/fleet/test_evidence_switch.c - what switches say of their QoS.
 */
#include "evidence_test.h"

#define WRED "wred AZURE_LOSSLESS"
#define MAP  "dscp-map AZURE dscp "

static const struct expected_file files[] = {
    {"sonic-qos/sonic_config_db_qos_azure.json",
     "sonic-qos",
     {{"switch-port Ethernet4", "pfc_enable", "3,4", 0},
      {"switch-port Ethernet8 prio 3", "pfc", "true", 0},
      {"switch-port Ethernet8 prio 4", "pfc", "true", 0},
      {"switch-port Ethernet8 prio 2", "pfc", NULL, 0},
      {"switch-port Ethernet0 prio 3", "pfc", NULL, 0},
      {MAP "3", "tc", "3", 0},
      {MAP "4", "tc", "4", 0},
      {MAP "26", "tc", "1", 0},
      {MAP "48", "tc", "6", 0},
      {WRED, "ecn", "ecn_all", 0},
      {WRED, "green_min_threshold", "1048576", 0},
      {WRED, "green_max_threshold", "2097152", 0},
      {WRED, "green_drop_probability", "5", 0},
      {"switch-port Ethernet0", "cable_length", "300", 0},
      {"switch-port Ethernet4", "cable_length", "5", 0},
      {"switch-port Ethernet4", "speed", "40000", 0},
      {"switch-port Ethernet4", "lanes", "25,26,27,28", 0},
      {"buffer-profile pg_lossless_40000_5m_profile", "dynamic_th", "-3", 0},
      {"switch-port Ethernet4 queue 3", "wred_profile", "AZURE_LOSSLESS", 0},
      {"switch-port Ethernet4 pg 3-4", "profile", "pg_lossless_40000_5m_profile", 0}},
     {{"switch-dscp-lossy", "dscp-map AZURE", 2}}},
    {"sonic-qos/sonic_dscp_map_short.json",
     "sonic-qos",
     {{"dscp-map Dscp_to_tc_map1 dscp 24", "tc", "3", 0},
      {"dscp-map Dscp_to_tc_map1 dscp 0", "tc", NULL, 0}},
     {{"switch-dscp-unmapped", "dscp-map Dscp_to_tc_map1", 1}}},
    {"sonic-qos/sonic_ecn_show_config.txt",
     "sonic-qos",
     {{WRED, "ecn", "ecn_all", 0},
      {WRED, "red_min_threshold", "1048576", 0},
      {WRED, "green_max_threshold", "2097152", 0},
      {WRED, "green_drop_probability", "5", 0}},
     {{NULL, NULL, 0}}},
    {"switch-roce/aruba_show_dcbx_pfc6.txt",
     "switch-roce",
     {{"switch-port", "pfc.local.willing", "No", 0},
      {"switch-port", "pfc.remote.willing", "Yes", 0},
      {"switch-port", "pfc.local.max_traffic_classes", "4", 0},
      {"switch-port prio 6", "pfc.local.enabled", "True", 0},
      {"switch-port prio 6", "pfc.remote.enabled", "True", 0},
      {"switch-port prio 3", "pfc.local.enabled", "False", 0},
      {"switch-port prio 3", "pfc.remote.enabled", "False", 0}},
     {{NULL, NULL, 0}}},
    {"switch-roce/onyx_show_roce.txt",
     "switch-roce",
     {{"switch", "roce_mode", "lossless", 0},
      {"switch", "port_trust_mode", "L3", 0},
      {"switch", "lldp", "disabled", 0},
      {"switch", "application_tlv.protocol", "4791", 0},
      {"switch", "application_tlv.priority", "3", 0},
      {"switch", "port_congestion_control.mode", "ecn, absolute", 0},
      {"switch", "port_congestion_control.min", "150", 0},
      {"switch", "port_congestion_control.max", "1500", 0},
      {"switch", "pfc", "enabled", 0},
      {"switch prio 3", "pfc", "enabled", 0},
      {"switch prio 3", "traffic_class", "3", 0},
      {"switch prio 3", "ets", "WRR 50%", 0},
      {"switch prio 6", "traffic_class", "6", 0},
      {"switch prio 6", "application", "CNP", 0},
      {"switch prio 6", "ets", "Strict", 0}},
     {{"switch-lldp-off", "switch", 1}}},
};

static void each_file_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        check_file(&files[i]);
}

static const struct {
    const char *text, *rule, *subject;
} faults[] = {
    {"{\"PORT_QOS_MAP\": {\"Ethernet0\": {\"pfc_enable\": \"3\"}}, \"QUEUE\": {\"Ethernet0|3\": "
     "{\"scheduler\": \"[SCHEDULER|s]\"}}}",
     "switch-ecn-off", "switch-port Ethernet0 queue 3"},
    {"{\"PORT_QOS_MAP\": {\"Ethernet0\": {\"pfc_enable\": \"3,4\"}}, \"QUEUE\": "
     "{\"Ethernet0|4\": {\"wred_profile\": \"[WRED_PROFILE|W]\"}}, \"WRED_PROFILE\": {\"W\": "
     "{\"ecn\": \"ecn_none\"}}}",
     "switch-ecn-off", "switch-port Ethernet0 queue 4"},
    {"{\"WRED_PROFILE\": {\"W\": {\"ecn\": \"ecn_all\", \"green_min_threshold\": \"100\", "
     "\"green_max_threshold\": \"100\"}}}",
     "switch-ecn-threshold", "wred W"},
    {"Profile: W\n----  ---\necn                     ecn_all\ngreen_drop_probability  0\n",
     "switch-ecn-threshold", "wred W"},
    {"Priority Flow Control (PFC)\n---\nLocal advertisement:\n  Priority  Enabled\n  3  True\n"
     "Remote advertisement:\n  Priority  Enabled\n  3  False\n",
     "switch-pfc-disagrees", "switch-port prio 3"},
    {"RoCE mode : lossless\nPFC : disabled\n", "switch-pfc-off", "switch"},
    {"Port               Mode Oper(VL bmap)  RxPPP      TxPPP\n"
     "Ethernet1/2        On   Off           0          0\n",
     "switch-pfc-off", "switch-port Ethernet1/2"},
    {"Port       TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes\n"
     "---------  -----  --------------  ---------------  -----------  ------------\n"
     "Ethernet0  UC3                 1               64            7           448\n",
     "switch-discards", "switch-port Ethernet0 queue UC3"},
};

static void each_fault_is_its_finding(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        OWN(evidence) struct evidence *e = evidence_of_text(faults[i].text);
        if (evidence_finding(e, faults[i].rule, faults[i].subject) == NULL)
            fail_msg("%zu: '%s' is %s and gives %s on '%s', wanted %s on '%s'", i, faults[i].text,
                     e->kind, e->findings.count > 0 ? e->findings.items[0].rule : "nothing",
                     e->findings.count > 0 ? e->findings.items[0].subject : "", faults[i].rule,
                     faults[i].subject);
        assert_int_equal(e->findings.count, 1);
    }
}

static void nvue_has_depth_revisions_and_mappings(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text(
        "cumulus@leaf1:~$ nv show qos roce\n"
        "                    operational  applied   description\n"
        "------------------  -----------  --------  ------------------------------------\n"
        "enable                           on        Turn the feature 'on' or 'off'.\n"
        "mode                lossless     lossless  Roce Mode\n"
        "cable-length        100          100       Cable Length(in meters)\n"
        "congestion-control\n"
        "  congestion-mode   ECN                    Congestion config mode\n"
        "  enabled-tc        0,3                    Congestion config enabled Traffic Class\n"
        "  max-threshold     1.43 MB                Congestion config max-threshold\n"
        "  min-threshold     146.48 KB              Congestion config min-threshold\n"
        "pfc\n"
        "  pfc-priority      3                      switch-prio on which PFC is enabled\n"
        "  rx-enabled        enabled                PFC Rx Enabled status\n"
        "  tx-enabled        enabled                PFC Tx Enabled status\n"
        "trust\n"
        "  trust-mode        pcp,dscp               Trust Setting on the port\n"
        "\n"
        "RoCE PCP/DSCP->SP mapping configurations\n"
        "===========================================\n"
        "       pcp  dscp                     switch-prio\n"
        "    -  ---  -----------------------  -----------\n"
        "    0  0    0,1,2,3,4,5,6,7          0\n"
        "    3  3    24,25,26,27,28,29,30,31  3\n"
        "\n"
        "RoCE SP->TC mapping and ETS configurations\n"
        "=============================================\n"
        "       switch-prio  traffic-class  scheduler-weight\n"
        "    -  -----------  -------------  ----------------\n"
        "    3  3            3              DWRR-50%\n"
        "    6  6            6              strict-priority\n");
    static const struct expected_fact facts[] = {
        {"switch", "mode", "lossless", 0},
        {"switch", "enable", NULL, 0},
        {"switch", "enable.applied", "on", 0},
        {"switch", "cable_length", "100", 0},
        {"switch", "congestion_control.congestion_mode", "ECN", 0},
        {"switch", "congestion_control.enabled_tc", "0,3", 0},
        {"switch", "congestion_control.max_threshold", "1.43", 0},
        {"switch", "congestion_control.min_threshold", "146.48", 0},
        {"switch", "pfc.pfc_priority", "3", 0},
        {"switch", "pfc.rx_enabled", "enabled", 0},
        {"switch", "trust.trust_mode", "pcp,dscp", 0},
        {"switch prio 3", "dscp", "24,25,26,27,28,29,30,31", 0},
        {"switch prio 0", "pcp", "0", 0},
        {"switch prio 3", "traffic_class", "3", 0},
        {"switch prio 3", "scheduler_weight", "DWRR-50%", 0},
        {"switch prio 6", "scheduler_weight", "strict-priority", 0},
    };
    assert_string_equal(e->kind, "switch-roce");
    assert_int_equal(e->unread_lines, 0);
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        check_fact("nvue", e, &facts[i]);
    assert_int_equal(e->findings.count, 0);
}

static void ports_of_other_makers_are_read(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *nxos =
        evidence_of_text("============================================================\n"
                         "Port               Mode Oper(VL bmap)  RxPPP      TxPPP\n"
                         "============================================================\n"
                         "Ethernet1/1        Auto Off           0          0\n"
                         "Ethernet1/2        On   On  (8)       12         345\n"
                         "Eth1/1/1           On   On(8)         0          9,286\n"
                         "Vethernet9547      Auto Off           0          0\n");
    static const struct expected_fact first[] = {
        {"switch-port Ethernet1/1", "pfc_oper", "Off", 0},
        {"switch-port Ethernet1/2", "pfc_mode", "On", 0},
        {"switch-port Ethernet1/2", "pfc_bitmap", "8", 0},
        {"switch-port Ethernet1/2", "rx_pause", "12", 0},
        {"switch-port Ethernet1/2", "tx_pause", "345", 0},
        {"switch-port Eth1/1/1", "pfc_oper", "On", 0},
        {"switch-port Eth1/1/1", "pfc_bitmap", "8", 0},
        {"switch-port Eth1/1/1", "tx_pause", "9286", 0},
        {"switch-port Vethernet9547", "pfc_oper", "Off", 0},
    };
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        check_fact("NX-OS", nxos, &first[i]);
    assert_string_equal(nxos->kind, "switch-roce");
    assert_int_equal(nxos->findings.count, 0);
    OWN(evidence)
    struct evidence *eos = evidence_of_text("Port    Enabled Priorities Active Note\n"
                                            "Et1/1   Yes     3,4        Yes\n"
                                            "Et2/1   No                 No\n"
                                            "Port    RxPfc  TxPfc\n"
                                            "Et1/1   5      0\n");
    static const struct expected_fact second[] = {
        {"switch-port Et1/1", "pfc_priorities", "3,4", 0},
        {"switch-port Et1/1", "pfc_active", "Yes", 0},
        {"switch-port Et2/1", "pfc_priorities", NULL, 0},
        {"switch-port Et2/1", "pfc_active", "No", 0},
        {"switch-port Et1/1", "rx_pause", "5", 0},
    };
    for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++)
        check_fact("EOS", eos, &second[i]);
    assert_int_equal(eos->findings.count, 0);
}

static void units_in_keys_and_tables_of_buffers_are_known(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text(
        "RoCE mode      : lossless\nLLDP           : enabled\nPort trust mode: L3\n\n"
        "Port congestion-control:\n  Mode    : ecn, absolute\n  Min (KB): 150\n"
        "  Max (KB): 1500\n\nPFC              : enabled\nswitch-priority 3: enabled\n\n"
        "RoCE used TCs:\n  ------------------\n  Switch-Priority   TC     Application   ETS\n"
        "  ------------------\n  3                 3      RoCE          WRR 50%\n\n"
        "RoCE buffer pools:\n  ------------------\n  Traffic    Type      Memory\n"
        "  Pool                 [%]\n  lossy-default  lossy     auto     0, 1, 2\n");
    static const struct expected_fact facts[] = {
        {"switch", "port_congestion_control.min", "150", 0},
        {"switch", "port_congestion_control.max", "1500", 0},
        {"switch prio 3", "traffic_class", "3", 0},
    };
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        check_fact("onyx", e, &facts[i]);
    assert_int_equal(e->findings.count, 0);
    assert_int_equal(e->unread_lines, 0);
    OWN(evidence)
    struct evidence *buffers =
        evidence_of_text("Profile: egress_lossless_profile\n---------  ---------\n"
                         "size       0\nstatic_th  12766208\n---------  ---------\n\n"
                         "Pool: egress_lossless_pool\n----  --------\nmode  static\n"
                         "size  12766208\ntype  egress\n----  --------\n");
    assert_string_equal(buffers->kind, "sonic-qos");
    check_fact("buffers", buffers,
               &(struct expected_fact){"buffer-profile egress_lossless_profile", "static_th",
                                       "12766208", 0});
    check_fact("buffers", buffers,
               &(struct expected_fact){"buffer-pool egress_lossless_pool", "mode", "static", 0});
    assert_int_equal(buffers->findings.count, 0);
}

static void tables_of_sonic_are_read_by_their_columns(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text("root@sonic:~# show pfc priority\n"
                                          "Interface    Lossless priorities\n"
                                          "-----------  ---------------------\n"
                                          "Ethernet0    N/A\n"
                                          "Ethernet4    3,4\n"
                                          "root@sonic:~# show queue counters Ethernet4\n"
                                          "     Port    TxQ    Counter/pkts\n"
                                          "---------  -----  --------------\n"
                                          "Ethernet4    UC3           1,200\n");
    static const struct expected_fact facts[] = {
        {"switch-port Ethernet0", "lossless_priorities", "?", 0},
        {"switch-port Ethernet4", "lossless_priorities", "3,4", 0},
        {"switch-port Ethernet4 queue UC3", "counter/pkts", "1200", 0},
    };
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        check_fact("SONiC", e, &facts[i]);
    assert_string_equal(e->kind, "sonic-qos");
    assert_int_equal(e->section_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_says_what_it_says),
        cmocka_unit_test(each_fault_is_its_finding),
        cmocka_unit_test(nvue_has_depth_revisions_and_mappings),
        cmocka_unit_test(ports_of_other_makers_are_read),
        cmocka_unit_test(units_in_keys_and_tables_of_buffers_are_known),
        cmocka_unit_test(tables_of_sonic_are_read_by_their_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
