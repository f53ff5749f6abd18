/*
 * tests/unit/fleet/test_evidence_json.c - what a tool prints as JSON says the same as its text.
 */
#include "evidence_test.h"

#define LLDP_TEXT                                                                                  \
    "Interface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:01:02\n  Chassis:\n"                   \
    "    ChassisID:    mac 00:1b:21:87:a6:e1\n    SysName:      leaf01\n"                          \
    "    SysDescr:     Debian GNU/Linux 11\n    MgmtIP:       192.0.2.10\n  Port:\n"               \
    "    PortID:       ifname swp1\n    PortDescr:    swp1\n    TTL:          120\n"               \
    "    MFS:          9216\n"

static const struct {
    const char *kind, *text, *json;
} pairs[] = {
    {"rdma-tool",
     "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0 netdev_index 4\n"
     "link mlx5_1/1 state DOWN physical_state DISABLED netdev ens1f1np1 netdev_index 5\n",
     "[ {\n\"ifindex\": 0,\n\"ifname\": \"mlx5_0\",\n\"port\": 1,\n\"state\": \"ACTIVE\",\n"
     "\"physical_state\": \"LINK_UP\",\n\"netdev\": \"ens1f0np0\",\n\"netdev_index\": 4\n},{\n"
     "\"ifindex\": 1,\n\"ifname\": \"mlx5_1\",\n\"port\": 1,\n\"state\": \"DOWN\",\n"
     "\"physical_state\": \"DISABLED\",\n\"netdev\": \"ens1f1np1\",\n\"netdev_index\": 5\n} ]\n"},
    {"rdma-tool", "0: mlx5_0: node_type ca fw 28.43.1014 node_guid b8e9:2403:0012:abcd\n",
     "[{\"ifindex\":0,\"ifname\":\"mlx5_0\",\"node_type\":\"ca\",\"fw\":\"28.43.1014\","
     "\"node_guid\":\"b8e9:2403:0012:abcd\"}]\n"},
    {"rdma-tool",
     "link mlx5_0/1 lqpn 258 rqpn 300 type RC state RTS rq-psn 1 sq-psn 2 pdn 5 pid 42 comm a\n",
     "[{\"ifindex\":0,\"ifname\":\"mlx5_0\",\"port\":1,\"lqpn\":258,\"rqpn\":300,\"type\":\"RC\","
     "\"state\":\"RTS\",\"rq-psn\":1,\"sq-psn\":2,\"pdn\":5,\"pid\":42,\"comm\":\"a\"}]\n"},
    {"rdma-tool", "link mlx5_0/1 rx_write_requests 12 np_cnp_sent 4 retry_exceeded_err 3\n",
     "[{\"ifname\":\"mlx5_0\",\"port\":1,\"rx_write_requests\":12,\"np_cnp_sent\":4,"
     "\"retry_exceeded_err\":3}]\n"},
    {"rdma-tool", "link mlx5_0/1 cntn 3 type RC pid 42 comm a out_of_sequence 4 lqpn 258,259\n",
     "[{\"ifname\":\"mlx5_0\",\"port\":1,\"cntn\":3,\"type\":\"RC\",\"pid\":42,\"comm\":\"a\","
     "\"out_of_sequence\":4,\"lqpn\":[258,259]}]\n"},
    {"tc",
     "qdisc mq 0: dev eth0 root\n Sent 187236 bytes 900 pkt (dropped 5, overlimits 0 requeues 2)\n"
     " backlog 0b 0p requeues 2\n"
     "qdisc ets 10: dev eth1 root bands 4 strict 2 quanta 3000 1000 priomap 3 2 1 0\n",
     "[{\"kind\":\"mq\",\"handle\":\"0:\",\"dev\":\"eth0\",\"root\":true,\"options\":{},"
     "\"bytes\":187236,\"packets\":900,\"drops\":5,\"overlimits\":0,\"requeues\":2,\"backlog\":0,"
     "\"qlen\":0},{\"kind\":\"ets\",\"handle\":\"10:\",\"dev\":\"eth1\",\"root\":true,\"options\":"
     "{\"bands\":4,\"strict\":2,\"quanta\":[3000,1000],\"priomap\":[3,2,1,0]}}]\n"},
    {"dcb",
     "$ dcb pfc show dev eth0\npfc-cap 8 macsec-bypass off delay 4096\n"
     "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n",
     "$ dcb -j pfc show dev eth0\n{\"pfc_cap\":8,\"macsec_bypass\":false,\"delay\":4096,"
     "\"prio_pfc\":[false,false,false,true,false,false,false,false]}\n"},
    {"dcb",
     "$ dcb ets show dev eth0\nwilling off ets-cap 8 cbs off\ntc-bw 0:10 1:90\n"
     "tc-tsa 0:ets 1:strict\nprio-tc 0:0 1:1\n",
     "$ dcb -j ets show dev eth0\n{\"willing\":false,\"ets_cap\":8,\"cbs\":false,"
     "\"tc_bw\":[10,90],\"tc_tsa\":[\"ets\",\"strict\"],\"prio_tc\":[0,1]}\n"},
    {"dcb", "$ dcb app show dev eth0\ndefault-prio 0\ndscp-prio 26:3 48:6\n",
     "$ dcb -j app show dev eth0\n{\"default_prio\":[0],\"dscp_prio\":[[26,3],[48,6]]}\n"},
    {"devlink-info",
     "pci/0000:03:00.0:\n  driver ice\n  serial_number 00-01-00-ff-ff-00-00-00\n  versions:\n"
     "      fixed:\n        board.id K91258-000\n      running:\n        fw.mgmt 6.1.5\n"
     "      stored:\n        fw.mgmt 6.1.6\n",
     "{\"info\":{\"pci/0000:03:00.0\":{\"driver\":\"ice\",\"serial_number\":"
     "\"00-01-00-ff-ff-00-00-00\",\"versions\":{\"fixed\":{\"board.id\":\"K91258-000\"},"
     "\"running\":{\"fw.mgmt\":\"6.1.5\"},\"stored\":{\"fw.mgmt\":\"6.1.6\"}}}}}\n"},
    {"devlink-health",
     "pci/0000:82:00.0:\n  reporter fw\n    state healthy error 0 recover 0 auto_dump true\n"
     "  reporter fw_fatal\n    state error error 2 recover 1 last_dump_date 2024-05-01"
     " grace_period 60000 auto_recover true\n"
     "pci/0000:82:00.0/1:\n  reporter tx\n    state healthy error 0\n",
     "{\"health\":{\"pci/0000:82:00.0\":[{\"reporter\":\"fw\",\"state\":\"healthy\",\"error\":0,"
     "\"recover\":0,\"auto_dump\":true},{\"reporter\":\"fw_fatal\",\"state\":\"error\",\"error\":2,"
     "\"recover\":1,\"last_dump_date\":\"2024-05-01\",\"grace_period\":60000,"
     "\"auto_recover\":true}],\"pci/0000:82:00.0/1\":[{\"reporter\":\"tx\","
     "\"state\":\"healthy\",\"error\":0}]}}\n"},
    {"devlink-port",
     "pci/0000:82:00.0/65535: type eth netdev ens1f0np0 flavour physical port 0 splittable false\n"
     "pci/0000:82:00.0/1: type eth netdev pf0vf0 flavour pcivf pfnum 0 vfnum 0 external false\n"
     "  function:\n    hw_addr 10:22:33:44:55:66 state active\n",
     "{\"port\":{\"pci/0000:82:00.0/65535\":{\"type\":\"eth\",\"netdev\":\"ens1f0np0\","
     "\"flavour\":\"physical\",\"port\":0,\"splittable\":false},\"pci/0000:82:00.0/1\":{"
     "\"type\":\"eth\",\"netdev\":\"pf0vf0\",\"flavour\":\"pcivf\",\"pfnum\":0,\"vfnum\":0,"
     "\"external\":false,\"function\":{\"hw_addr\":\"10:22:33:44:55:66\","
     "\"state\":\"active\"}}}}\n"},
    {"devlink-param",
     "pci/0000:82:00.0:\n  name enable_roce type generic\n    values:\n"
     "      cmode driverinit value false\n  name max_macs type generic\n    values:\n"
     "      cmode driverinit value 128\n",
     "{\"param\":{\"pci/0000:82:00.0\":[{\"name\":\"enable_roce\",\"type\":\"generic\","
     "\"values\":[{\"cmode\":\"driverinit\",\"value\":false}]},{\"name\":\"max_macs\","
     "\"type\":\"generic\",\"values\":[{\"cmode\":\"driverinit\",\"value\":128}]}]}}\n"},
    {"lldp", LLDP_TEXT,
     "{\n\"lldp\":{\"interface\":{\"eth0\":{\"via\":\"LLDP\",\"rid\":\"1\",\"chassis\":{"
     "\"leaf01\":{\"id\":{\"type\":\"mac\",\"value\":\"00:1b:21:87:a6:e1\"},"
     "\"descr\":\"Debian GNU/Linux 11\",\"mgmt-ip\":[\"192.0.2.10\",\"fe80::1\"],"
     "\"capability\":{\"type\":\"Bridge\",\"enabled\":true}}},\"port\":{\"id\":{"
     "\"type\":\"ifname\",\"value\":\"swp1\"},\"descr\":\"swp1\",\"ttl\":\"120\","
     "\"mfs\":\"9216\"}}}}}\n"},
    {"lldp", LLDP_TEXT,
     "{\"lldp\":[{\"interface\":[{\"name\":\"eth0\",\"via\":\"LLDP\",\"chassis\":[{\"id\":[{"
     "\"type\":\"mac\",\"value\":\"00:1b:21:87:a6:e1\"}],\"name\":[{\"value\":\"leaf01\"}],"
     "\"descr\":[{\"value\":\"Debian GNU/Linux 11\"}],\"mgmt-ip\":[{\"value\":"
     "\"192.0.2.10\"}]}],\"port\":[{\"id\":[{\"type\":\"ifname\",\"value\":\"swp1\"}],"
     "\"descr\":[{\"value\":\"swp1\"}],\"ttl\":[{\"value\":\"120\"}],"
     "\"mfs\":[{\"value\":\"9216\"}]}]}]}]}\n"},
    {"lldp",
     "Interface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:01:02\n  Chassis:\n"
     "    ChassisID:    mac 00:1b:21:87:a6:e1\n  Port:\n    PortID:       ifname swp1\n"
     "Interface:    eth1, via: LLDP, RID: 2, Time: 0 day, 00:01:02\n  Chassis:\n"
     "    ChassisID:    mac 00:1b:21:87:a6:f2\n  Port:\n    PortID:       ifname swp9\n",
     "{\"lldp\":{\"interface\":[{\"eth0\":{\"chassis\":{\"id\":{\"type\":\"mac\","
     "\"value\":\"00:1b:21:87:a6:e1\"}},\"port\":{\"id\":{\"type\":\"ifname\","
     "\"value\":\"swp1\"}}}},{\"eth1\":{\"chassis\":{\"id\":{\"type\":\"mac\","
     "\"value\":\"00:1b:21:87:a6:f2\"}},\"port\":{\"id\":{\"type\":\"ifname\","
     "\"value\":\"swp9\"}}}}]}}\n"},
    {"ethtool-S",
     "Standard stats for eth0:\neth-mac-FramesReceivedOK: 902623288966\n"
     "eth-mac-FrameCheckSequenceErrors: 3\neth-phy-SymbolErrorDuringCarrier: 2\n",
     "[{\"ifname\":\"eth0\",\"eth-mac\":{\"FramesReceivedOK\":902623288966,"
     "\"FrameCheckSequenceErrors\":3},\"eth-phy\":{\"SymbolErrorDuringCarrier\":2},\"rmon\":{}}]"
     "\n"},
    {"pfc",
     "Pause parameters for eth0:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\nStatistics:\n"
     "  tx_pause_frames: 0\n  rx_pause_frames: 77\n",
     "[{\"ifname\":\"eth0\",\"autonegotiate\":false,\"rx\":true,\"tx\":false,\"statistics\":{"
     "\"tx_pause_frames\":0,\"rx_pause_frames\":77}}]\n"},
    {"ip-link",
     "4: eth0: <BROADCAST,UP> mtu 9000 qdisc mq state UP\n    link/ether b8:e9:24:12:ab:cd brd x\n"
     "    RX: bytes  packets  errors  dropped overrun mcast\n    1 2 3 4 5 6\n",
     "[{\"ifindex\":4,\"ifname\":\"eth0\",\"flags\":[\"BROADCAST\",\"UP\"],\"mtu\":9000,"
     "\"qdisc\":\"mq\",\"operstate\":\"UP\",\"link_type\":\"ether\","
     "\"address\":\"b8:e9:24:12:ab:cd\",\"stats64\":{\"rx\":{\"bytes\":1,\"packets\":2,"
     "\"errors\":3,\"dropped\":4,\"over_errors\":5,\"multicast\":6}}}]\n"},
};

static bool has_fact(const struct evidence *e, const struct evidence_fact *wanted)
{
    for (size_t i = 0; i < e->fact_count; i++) {
        const struct evidence_fact *fact = &e->facts[i];
        if (strcmp(fact->subject, wanted->subject) == 0 && strcmp(fact->name, wanted->name) == 0 &&
            strcmp(fact->value, wanted->value) == 0 && strcmp(fact->unit, wanted->unit) == 0 &&
            strcmp(fact->raw, wanted->raw) == 0 && fact->state == wanted->state)
            return true;
    }
    return false;
}

static void check_within(const struct evidence *part, const struct evidence *whole,
                         const char *text)
{
    for (size_t i = 0; i < part->fact_count; i++) {
        if (!has_fact(whole, &part->facts[i]))
            fail_msg("'%s' %s %s%s is not in the other form of %s", part->facts[i].subject,
                     part->facts[i].name, part->facts[i].value, part->facts[i].unit, text);
    }
    for (size_t i = 0; i < part->findings.count; i++) {
        const struct finding *f = &part->findings.items[i];
        if (evidence_finding(whole, f->rule, f->subject) == NULL)
            fail_msg("%s on '%s' is not found in the other form of %s", f->rule, f->subject, text);
    }
}

static void json_and_text_say_the_same(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        OWN(evidence) struct evidence *text = evidence_of_text(pairs[i].text);
        OWN(evidence) struct evidence *json = evidence_of_text(pairs[i].json);
        assert_string_equal(text->kind, pairs[i].kind);
        if (strcmp(json->kind, pairs[i].kind) != 0)
            fail_msg("read as %s: %s", json->kind, pairs[i].json);
        assert_true(json->fact_count > 0);
        check_within(json, text, pairs[i].text);
        check_within(text, json, pairs[i].text);
    }
}

static void results_of_perftest_have_the_units_that_the_document_tells(void **unused)
{
    (void)unused;
    check_text(&(const struct expected_file){
        "{\n\"test_info\": {\n\"test\": \"Send BW Test\",\n\"Device\": \"mlx5_0\",\n"
        "\"MTU\": 4096\n},\n\"results\": {\n\"MsgSize\": 65536,\n\"n_iterations\": 1000,\n"
        "\"BW_peak\": 98.12,\n\"BW_average\": 97.91,\n\"MsgRate\": 0.186729\n}\n}\n",
        "perftest",
        {
            {"run", "device", "mlx5_0", 0},
            {"run", "mtu", "4096", 0},
            {"run 65536", "iterations", "1000", 0},
            {"run 65536", "bw_average", "97.91", 0},
            {"run 65536", "msgrate", "0.186729", 0},
        },
        {{NULL, NULL, 0}}});
}

static void what_has_another_type_is_left_out(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "[{\"ifname\":5,\"port\":1,\"lqpn\":258}]",
        "[{\"ifname\":\"a\",\"lqpn\":[[1]]}]",
        "[{\"ifname\":\"eth0\",\"operstate\":{},\"stats64\":[1],\"flags\":[{}]}]",
        "[{\"kind\":[],\"class\":1,\"handle\":\"1:\"}]",
        "[{\"kind\":\"ets\",\"handle\":\"1:\",\"options\":{\"bands\":-1,\"quanta\":[1.5,{}]}}]",
        "{\"info\":[{\"versions\":1}]}",
        "{\"info\":{\"pci/x\":{\"versions\":{\"running\":[],\"stored\":3}}}}",
        "{\"prio_pfc\":{},\"tc_bw\":[[1,2,3],[]],\"dscp_prio\":[[{},1]]}",
        "[{\"ifname\":\"eth0\",\"eth-mac\":[1]}]",
        "[{\"ifname\":\"eth0\",\"autonegotiate\":[],\"statistics\":[],\"negotiated\":{\"rx\":[]}}]",
        "{\"health\":{\"pci/0000:82:00.0\":[{\"reporter\":1},3],\"x\":[]}}",
        "{\"port\":{\"pci/0000:82:00.0/1\":[{\"flavour\":[]}],\"a/1\":5}}",
        "{\"param\":{\"pci/0000:82:00.0\":[{\"name\":\"a\",\"values\":{\"cmode\":1}}]}}",
        "{\"lldp\":[{\"interface\":[{\"name\":[],\"chassis\":[]},[{}],4]}]}",
        "{\"lldp\":{\"interface\":{\"eth0\":{\"chassis\":[[{\"id\":5}]],\"port\":[5]}}}}",
        "{\"test_info\":[],\"results\":[1,{\"BW_average\":[]}]}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        OWN(evidence) struct evidence *e = evidence_of_text(texts[i]);
        for (size_t f = 0; f < e->fact_count; f++)
            assert_string_not_equal(e->facts[f].name, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_and_text_say_the_same),
        cmocka_unit_test(results_of_perftest_have_the_units_that_the_document_tells),
        cmocka_unit_test(what_has_another_type_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
