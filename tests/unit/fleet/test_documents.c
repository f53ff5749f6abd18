/*
 * tests/unit/fleet/test_documents.c - readers of fabric profile, placement, inventory and receipt.
 */
#include "fleet_test.h"

#include "fleet/receipt.h"

static void fabric_refused(const char *members, const char *pointer)
{
    struct err err = ERR_INIT;
    char text[2048];
    OWN(fabric) struct fabric *fabric = NULL;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    snprintf(text, sizeof(text), "{'fabric_profile':{%s}}", members);
    OWN(json) json_t *document = json_of(text);
    assert_fails(fabric_from_json(document, &fabric, &findings, &err), ERR_INVALID);
    for (size_t i = 0; i < findings.count; i++)
        if (strcmp(findings.items[i].pointer, pointer) == 0)
            return;
    fleet_print(&findings);
    fail_msg("nothing at %s", pointer);
}

#define P3 "'priorities':[{'priority':3}]"
#define FP "/fabric_profile"

static void a_whole_profile_is_read(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(fabric) struct fabric *fabric = NULL;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    OWN(json)
    json_t *document = json_of(
        "{'fabric_profile':{'priorities':[{'priority':3,'dscps':[28,26],'traffic_class':2,"
        "'lossless':true,'ets_weight':60},{'priority':6,'strict':true,'limit':'10%'}],"
        "'trust':'pcp','lossless_max':1,'default_reserve':'7.5%','cnp':{'dscp':48,'priority':6},"
        "'ecn':{'kmin_bytes':1,'kmax_bytes':2,'pmax':'1%'},'mtu_bytes':4200,'cable_length_m':5,"
        "'buffer':{'sizes_bytes':[0,0,9,0,0,0,0,0],'buffer_of_priority':[0,0,0,2,0,0,0,0]},"
        "'limit_action':'police','solar':{'eta':'0.05','update_period_us':50,'weights':"
        "{'throughput':'1'}},'host':{'module_parameters':{'m':{'b':true,'a':7}},'sysctl':"
        "{'vm.swappiness':'1','net.ipv4.tcp_rmem':'4096 87380 6291456'},"
        "'transparent_hugepage':'never'},'nccl':{'buffer_size':'32MB','traffic_class':106,"
        "'gid_index':3,'hca_list':['mlx5_0:1']},"
        "'firmware_minimums':[{'driver':'mlx5_core','minimum':'22.35'}]}}");
    assert_ok(fabric_from_json(document, &fabric, &findings, &err));
    const struct fabric_priority *p3 = &fabric->priorities[3];
    assert_true(p3->used && p3->lossless && !p3->strict);
    assert_int_equal(p3->dscps[0], 26);
    assert_int_equal(p3->traffic_class, 2);
    assert_int_equal(p3->ets_weight, 60);
    assert_int_equal(fabric->priorities[6].traffic_class, 6); /* the priority's number */
    assert_int_equal(fabric->priorities[6].limit.share_permyriad, 1000);
    assert_false(fabric->priorities[0].used);
    assert_int_equal(fabric->trust, FABRIC_TRUST_PCP);
    assert_int_equal(fabric->reserve_permyriad, 750);
    assert_int_equal(fabric->buffer_of_priority[3], 2);
    assert_int_equal(fabric->limit_action, FABRIC_LIMIT_POLICE);
    assert_string_equal(fabric->modparams[0].name, "m.a");
    assert_string_equal(fabric->modparams[0].value, "7");
    assert_string_equal(fabric->modparams[1].value, "Y");
    assert_string_equal(fabric->sysctls[0].value, "4096 87380 6291456");
    assert_string_equal(fabric->firmware[0].minimum, "22.35");
    /* What is not programmed is said, member by member. */
    assert_int_equal(findings.count, 3);
    for (size_t i = 0; i < findings.count; i++)
        assert_string_equal(findings.items[i].rule, "not-enforced-yet");
}

static void defaults_of_a_profile_are_the_documented_ones(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(fabric) struct fabric *fabric = NULL;
    OWN(json) json_t *document = json_of("{'fabric_profile':{" P3 "}}");
    assert_ok(fabric_from_json(document, &fabric, NULL, &err));
    assert_int_equal(fabric->lossless_max, 2);
    assert_int_equal(fabric->reserve_permyriad, 500);
    assert_int_equal(fabric->priorities[3].ets_weight, 1);
    assert_int_equal(fabric->mtu_bytes, 0);
    assert_string_equal(fabric->thp, "");
}

static void wrong_profiles_are_refused_with_their_place(void **unused)
{
    (void)unused;
    fabric_refused("", FP "/priorities");
    fabric_refused("'priorities':[]", FP "/priorities");
    fabric_refused("'priorities':[{'priority':8}]", FP "/priorities/0/priority");
    fabric_refused("'priorities':[{'priority':3},{'priority':3}]", FP "/priorities/1/priority");
    fabric_refused("'priorities':[{'priority':3,'dscps':[64]}]", FP "/priorities/0/dscps");
    fabric_refused("'priorities':[{'priority':3,'dscps':[26,26]}]", FP "/priorities/0/dscps");
    fabric_refused("'priorities':[{'priority':3,'strict':true,'ets_weight':1,'limit':'1%'}]",
                   FP "/priorities/0/ets_weight");
    fabric_refused("'priorities':[{'priority':3,'strict':true,'limit':'1%'},"
                   "{'priority':4,'traffic_class':3}]",
                   FP "/priorities");
    fabric_refused("'priorities':[{'priority':3,'limit':'1%'},"
                   "{'priority':4,'traffic_class':3,'limit':'2%'}]",
                   FP "/priorities");
    fabric_refused(P3 ",'mtu':9000", FP "/mtu");
    fabric_refused(P3 ",'default_reserve':'1Gbps'", FP "/default_reserve");
    fabric_refused(P3 ",'ecn':{'kmin_bytes':2,'kmax_bytes':1,'pmax':'1%'}", FP "/ecn/kmin_bytes");
    fabric_refused(P3 ",'ecn':{'kmin_bytes':1,'kmax_bytes':1}", FP "/ecn/pmax");
    fabric_refused(P3 ",'buffer':{'sizes_bytes':[0],'buffer_of_priority':[0,0,0,0,0,0,0,0]}",
                   FP "/buffer/sizes_bytes");
    fabric_refused("'priorities':[{'priority':3,'lossless':true}],'buffer':{'sizes_bytes':"
                   "[9,0,0,0,0,0,0,0],'buffer_of_priority':[0,0,0,1,0,0,0,0]}",
                   FP "/buffer/sizes_bytes");
    fabric_refused(P3 ",'firmware_minimums':[{'driver':'a','minimum':'1.x'}]",
                   FP "/firmware_minimums/0/minimum");
    fabric_refused(P3 ",'nccl':{'hca_list':['a b']}", FP "/nccl/hca_list");
}

static void host_settings_cannot_leave_their_files(void **unused)
{
    (void)unused;
    static const char *const sysctls[] = {
        "'net/../kernel.core_pattern':1",
        "'net..a':1",
        "'kernel.core_pattern':'x'",
        "'kernel.modprobe':'/x'",
        "'net.a':'x\\ny'",
        "'net.a':''",
        "'net.a':'|x'",
        "'net.a':true",
        "'':1",
        "'net.a':[1]",
        "'net.a.':1",
        "'net.a':' 1'",
    };
    static const char *const parameters[] = {
        "'m':{'a':'x y'}", "'m':{'a':'x\\ninstall y'}",
        "'m':{'a-b':1}",   "'m-n':{'a':1}",
        "'m':1",           "'m':{'a':1.5}",
        "'m':{'a':''}",
    };
    char text[256];
    for (size_t i = 0; i < sizeof(sysctls) / sizeof(sysctls[0]); i++) {
        struct err err = ERR_INIT;
        OWN(fabric) struct fabric *fabric = NULL;
        snprintf(text, sizeof(text), "{'fabric_profile':{" P3 ",'host':{'sysctl':{%s}}}}",
                 sysctls[i]);
        OWN(json) json_t *document = json_of(text);
        if (fabric_from_json(document, &fabric, NULL, &err) != ERR_INVALID)
            fail_msg("accepted: %s", sysctls[i]);
    }
    for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
        struct err err = ERR_INIT;
        OWN(fabric) struct fabric *fabric = NULL;
        snprintf(text, sizeof(text),
                 "{'fabric_profile':{" P3 ",'host':{'module_parameters':{%s}}}}", parameters[i]);
        OWN(json) json_t *document = json_of(text);
        if (fabric_from_json(document, &fabric, NULL, &err) != ERR_INVALID)
            fail_msg("accepted: %s", parameters[i]);
    }
}

static void placement_refused(const char *text)
{
    struct err err = ERR_INIT;
    OWN(placement) struct placement *placement = NULL;
    OWN(json) json_t *document = json_of(text);
    enum err_code code = placement_from_json(document, "t", "j", 1, &placement, NULL, &err);
    if (code != ERR_INVALID)
        fail_msg("accepted: %s", text);
}

static void a_placement_survives_json(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(placement) struct placement *placement = NULL;
    OWN(json)
    json_t *document =
        json_of("{'nodes':['n2','n1'],'selector':{'rack':'a','gpu':''},'ports':['p/0'],'match':"
                "{'src':'10.9.0.0/24','dst':'10.9.1.7','ip_proto':'udp','src_port':1,"
                "'dst_port':65535,'dscp':63}}");
    assert_ok(placement_from_json(document, "t", "j", 9, &placement, NULL, &err));
    assert_string_equal(placement->nodes[0], "n1");
    assert_int_equal(placement->label, 9);
    assert_int_equal(placement->match.src.prefix_len, 24);
    assert_int_equal(placement->match.dst.prefix_len, 32);
    OWN(json) json_t *again = placement_to_json(placement);
    json_object_set_new(document, "nodes", json_of("['n1','n2']"));
    assert_true(json_equal(document, again));
}

static void wrong_placements_are_refused(void **unused)
{
    (void)unused;
    placement_refused("{}");
    placement_refused("{'nodes':[]}");
    placement_refused("{'nodes':[],'selector':{}}");
    placement_refused("{'nodes':['a','a']}");
    placement_refused("{'nodes':['a b']}");
    placement_refused("{'nodes':[1]}");
    placement_refused("{'nodes':['a'],'node':1}");
    placement_refused("{'selector':{'a':1}}");
    placement_refused("{'selector':{'a b':'c'}}");
    placement_refused("{'nodes':['a'],'match':{'dst':'10.0.0.1/24'}}");
    placement_refused("{'nodes':['a'],'match':{'dst':'10.0.0.0/33'}}");
    placement_refused("{'nodes':['a'],'match':{'dst':'10.0.0.0/08'}}");
    placement_refused("{'nodes':['a'],'match':{'dst':'10.0.0'}}");
    placement_refused("{'nodes':['a'],'match':{'dst':'fd00::/129'}}");
    placement_refused("{'nodes':['a'],'match':{'dst':'fd00::1','src':'10.0.0.1'}}");
    placement_refused("{'nodes':['a'],'match':{'dst_port':1}}");
    placement_refused("{'nodes':['a'],'match':{'ip_proto':'udp','dst_port':0}}");
    placement_refused("{'nodes':['a'],'match':{'ip_proto':'udp','dst_port':65536}}");
    placement_refused("{'nodes':['a'],'match':{'dscp':64}}");
    struct err err = ERR_INIT;
    OWN(placement) struct placement *placement = NULL;
    OWN(json) json_t *document = json_of("{'nodes':['a']}");
    assert_fails(placement_from_json(document, "t t", "j", 1, &placement, NULL, &err), ERR_INVALID);
}

static struct flow_match match_of(const char *text)
{
    struct err err = ERR_INIT;
    char whole[512];
    OWN(placement) struct placement *placement = NULL;
    snprintf(whole, sizeof(whole), "{'nodes':['a'],'match':%s}", text);
    OWN(json) json_t *document = json_of(whole);
    assert_ok(placement_from_json(document, "t", "j", 1, &placement, NULL, &err));
    return placement->match;
}

static void matches_overlap_when_a_packet_fits_both(void **unused)
{
    (void)unused;
    static const struct {
        const char *a, *b;
        bool overlap;
    } cases[] = {
        {"{}", "{}", true},
        {"{'dscp':26}", "{'dscp':18}", false},
        {"{'dscp':26}", "{}", true},
        {"{'dst':'10.0.0.0/8'}", "{'dst':'10.1.2.3'}", true},
        {"{'dst':'10.0.0.0/9'}", "{'dst':'10.128.0.0/9'}", false},
        {"{'dst':'0.0.0.0/0'}", "{'dst':'11.0.0.0/8'}", true},
        {"{'src':'10.0.0.1'}", "{'dst':'10.0.0.2'}", true},
        {"{'ip_proto':'udp'}", "{'ip_proto':'tcp'}", false},
        {"{'ip_proto':'udp','dst_port':1}", "{'ip_proto':'udp','dst_port':2}", false},
        {"{'ip_proto':'udp','dst_port':1}", "{'ip_proto':'udp','src_port':2}", true},
        {"{'dst':'fd00::/8'}", "{'dst':'fd12::1'}", true},
        {"{'dst':'fd00::/8'}", "{}", false}, /* without addresses: IPv4 */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct flow_match a = match_of(cases[i].a), b = match_of(cases[i].b);
        assert_int_equal(flow_match_overlaps(&a, &b), cases[i].overlap);
        assert_int_equal(flow_match_overlaps(&b, &a), cases[i].overlap);
    }
}

static void an_absent_value_of_an_inventory_is_unknown(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(inventory) struct inventory *inventory = NULL;
    OWN(json) json_t *document = json_of("{'ports':[{'id':'b/0'},{'id':'a/1','speed_bps':1}]}");
    assert_ok(inventory_from_json(document, &inventory, NULL, &err));
    const struct port *port = inventory_port_get(inventory, "b/0");
    assert_non_null(port);
    assert_int_equal(port->speed_bps, -1);
    assert_int_equal(port->mtu_bytes, -1);
    assert_int_equal(port->caps.flower_hw_entries, -1);
    assert_false(port->caps.dcb_ets);
    assert_string_equal(inventory->ports[0].id, "a/1");
    assert_null(inventory_port_get(inventory, "c/0"));
}

static void hostile_inventories_are_refused(void **unused)
{
    (void)unused;
    static const char *const cases[] = {
        "{}",
        "{'ports':{}}",
        "{'ports':[1]}",
        "{'ports':[{}]}",
        "{'ports':[{'id':'x'}]}",
        "{'ports':[{'id':'/0'}]}",
        "{'ports':[{'id':'x/'}]}",
        "{'ports':[{'id':'a b/0'}]}",
        "{'ports':[{'id':'../../etc/passwd/0'}]}",
        "{'ports':[{'id':'../0'}]}",
        "{'ports':[{'id':'a/b/0'}]}",
        "{'ports':[{'id':'a/0x'}]}",
        "{'ports':[{'id':'a/0'},{'id':'a/0'}]}",
        "{'ports':[{'id':'a/0','speed_bps':0}]}",
        "{'ports':[{'id':'a/0','speed_bps':1000000000000001}]}",
        "{'ports':[{'id':'a/0','speed_bps':-2}]}",
        "{'ports':[{'id':'a/0','mtu_bytes':67}]}",
        "{'ports':[{'id':'a/0','mtu_bytes':65536}]}",
        "{'ports':[{'id':'a/0','ifname':'0123456789abcdef'}]}",
        "{'ports':[{'id':'a/0','caps':{'ets_tcs':9}}]}",
        "{'ports':[{'id':'a/0','caps':{'flower_hw_entries':-2}}]}",
        "{'ports':[{'id':'a/0','caps':{'warp':true}}]}",
        "{'ports':[],'version':2}",
        "{'ports':[],'node':'a/b'}",
        "{'ports':[],'surprise':1}",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        OWN(inventory) struct inventory *inventory = NULL;
        OWN(json) json_t *document = json_of(cases[i]);
        if (inventory_from_json(document, &inventory, NULL, &err) != ERR_INVALID)
            fail_msg("accepted: %s", cases[i]);
    }
    OWN(inventory) struct inventory *inventory = NULL;
    OWN(json) json_t *ports = json_array();
    for (int i = 0; i <= INVENTORY_PORTS_MAX; i++)
        json_array_append_new(ports, json_pack("{s:o}", "id", json_sprintf("p/%d", i)));
    OWN(json) json_t *document = json_pack("{s:O}", "ports", ports);
    assert_int_equal(inventory_from_json(document, &inventory, NULL, NULL), ERR_INVALID);
    json_array_remove(ports, 0);
    assert_int_equal(inventory_from_json(document, &inventory, NULL, NULL), ERR_OK);
}

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define RECEIPT(more)                                                                              \
    "{'version':1,'node':'n1','generation':7,'digest':'" DIGEST "','result':'applied',"            \
    "'time_us':1,'apply_ns':2," more "}"

static void a_receipt_survives_json(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(receipt) struct receipt *receipt = NULL;
    OWN(json)
    json_t *document = json_of(RECEIPT("'observed':'" DIGEST
                                       "','problem':'p','steps':[{'text':'change dcb.pfc p/0',"
                                       "'disruption':'link-reset','done':true,'undone':false,'"
                                       "problem':'q','writer':'tc (process 8)','before':1,"
                                       "'after':null}]"));
    assert_ok(receipt_from_json(document, &receipt, &err));
    assert_int_equal(receipt->step_count, 1);
    assert_int_equal(receipt->steps[0].disruption, DISRUPTION_LINK_RESET);
    OWN(json) json_t *again = receipt_to_json(receipt);
    assert_true(json_equal(document, again));
}

static void a_receipt_of_a_trial_survives_json(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(receipt) struct receipt *receipt = NULL;
    OWN(json)
    json_t *document = json_of(RECEIPT(
        "'steps':[],'rollout':'r-7','probes':[{'name':'links','ok':false,'detail':'port p/0 "
        "is down'},{'name':'server','ok':true}]"));
    json_object_set_new(document, "result", json_string("expired"));
    assert_ok(receipt_from_json(document, &receipt, &err));
    assert_int_equal(receipt->result, RECEIPT_EXPIRED);
    assert_string_equal(receipt->rollout, "r-7");
    assert_int_equal(receipt->probe_count, 2);
    assert_false(receipt->probes[0].ok);
    assert_true(receipt->probes[1].ok);
    OWN(json) json_t *again = receipt_to_json(receipt);
    assert_true(json_equal(document, again));
}

static void a_probe_that_was_not_possible_is_not_ok(void **unused)
{
    (void)unused;
    static const struct {
        const char *probe;
        bool good;
    } rows[] = {{"{'name':'peers','ok':false,'not_possible':true,'detail':'nobody'}", true},
                {"{'name':'peers','ok':true,'not_possible':true}", false},
                {"{'name':'peers','not_possible':true}", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = ERR_INIT;
        OWN(receipt) struct receipt *receipt = NULL;
        OWN(json) json_t *document = json_of(RECEIPT("'steps':[]"));
        json_t *probes = json_array();
        json_array_append_new(probes, json_of(rows[i].probe));
        json_object_set_new(document, "probes", probes);
        if (!rows[i].good) {
            assert_fails(receipt_from_json(document, &receipt, &err), ERR_INVALID);
            continue;
        }
        assert_ok(receipt_from_json(document, &receipt, &err));
        assert_true(receipt->probes[0].not_possible && !receipt->probes[0].ok);
        OWN(json) json_t *again = receipt_to_json(receipt);
        assert_true(json_equal(document, again));
    }
}

static void only_an_event_has_a_time_until_drift_was_found(void **unused)
{
    (void)unused;
    static const struct {
        const char *found;
        bool good;
    } rows[] = {{"{'by':'event','ms':0}", true},
                {"{'by':'check'}", true},
                {"{'by':'event'}", false},
                {"{'by':'check','ms':3}", false},
                {"{'by':'event','ms':-1}", false},
                {"{'by':'luck'}", false},
                {"{'by':'event','ms':1,'x':1}", false},
                {"{}", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = ERR_INIT;
        OWN(receipt) struct receipt *receipt = NULL;
        OWN(json) json_t *document = json_of(RECEIPT("'steps':[]"));
        json_object_set_new(document, "found", json_of(rows[i].found));
        if (!rows[i].good) {
            assert_fails(receipt_from_json(document, &receipt, &err), ERR_INVALID);
            continue;
        }
        assert_ok(receipt_from_json(document, &receipt, &err));
        OWN(json) json_t *again = receipt_to_json(receipt);
        assert_true(json_equal(document, again));
    }
}

static void a_receipt_has_a_maximum_of_probes(void **unused)
{
    (void)unused;
    OWN(json) json_t *document = json_of(RECEIPT("'steps':[]"));
    json_t *probes = json_array();
    json_object_set_new(document, "probes", probes);
    for (int i = 0; i <= RECEIPT_PROBES_MAX; i++) {
        OWN(receipt) struct receipt *receipt = NULL;
        struct err err = ERR_INIT;
        assert_int_equal(receipt_from_json(document, &receipt, &err), ERR_OK);
        json_array_append_new(probes, json_of("{'name':'links','ok':true}"));
    }
    OWN(receipt) struct receipt *receipt = NULL;
    struct err err = ERR_INIT;
    assert_fails(receipt_from_json(document, &receipt, &err), ERR_INVALID);
}

static void a_receipt_is_not_lost_over_a_kernels_odd_words(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(receipt) struct receipt *receipt = NULL;
    OWN(receipt) struct receipt *again = NULL;
    OWN(json) json_t *document = json_of(RECEIPT("'steps':[]"));
    assert_ok(receipt_from_json(document, &receipt, &err));
    snprintf(receipt->problem, sizeof(receipt->problem), "line\nend \xff");
    memset(receipt->problem + 10, '\x01', 400);
    receipt->problem[410] = '\0';
    OWN(json) json_t *written = receipt_to_json(receipt);
    assert_non_null(written);
    assert_ok(receipt_from_json(written, &again, &err));
    assert_contains(again->problem, "line\\u");
}

static void hostile_receipts_are_refused(void **unused)
{
    (void)unused;
    static const char *const cases[] = {
        "{}",
        RECEIPT("'steps':{}"),
        RECEIPT("'steps':[1]"),
        RECEIPT("'steps':[{}]"),
        RECEIPT("'steps':[],'result':'great'"),
        RECEIPT("'steps':[],'observed':'sha256:xyz'"),
        RECEIPT("'steps':[],'surprise':1"),
        RECEIPT("'steps':[],'rollout':''"),
        RECEIPT("'steps':[],'rollout':'r 7'"),
        RECEIPT("'steps':[],'probes':{}"),
        RECEIPT("'steps':[],'probes':[{'ok':true}]"),
        RECEIPT("'steps':[],'probes':[{'name':'links'}]"),
        RECEIPT("'steps':[],'probes':[{'name':'a b','ok':true}]"),
        RECEIPT("'steps':[],'probes':[{'name':'links','ok':true,'more':1}]"),
        "{'version':1,'node':'n 1','generation':7,'digest':'" DIGEST
        "','result':'applied','time_us':1,'apply_ns':2,'steps':[]}",
        "{'version':1,'node':'n1','generation':-7,'digest':'" DIGEST
        "','result':'applied','time_us':1,'apply_ns':2,'steps':[]}",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        OWN(receipt) struct receipt *receipt = NULL;
        OWN(json) json_t *document = NULL;
        json_error_t error;
        char *text = strdup(cases[i]);
        for (char *p = text; *p != '\0'; p++)
            *p = *p == '\'' ? '"' : *p;
        document = json_loads(text, 0, &error); /* doubles are let in: the last one counts */
        free(text);
        assert_non_null(document);
        if (receipt_from_json(document, &receipt, &err) != ERR_INVALID)
            fail_msg("accepted: %s", cases[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_profile_is_read),
        cmocka_unit_test(defaults_of_a_profile_are_the_documented_ones),
        cmocka_unit_test(wrong_profiles_are_refused_with_their_place),
        cmocka_unit_test(host_settings_cannot_leave_their_files),
        cmocka_unit_test(a_placement_survives_json),
        cmocka_unit_test(wrong_placements_are_refused),
        cmocka_unit_test(matches_overlap_when_a_packet_fits_both),
        cmocka_unit_test(an_absent_value_of_an_inventory_is_unknown),
        cmocka_unit_test(hostile_inventories_are_refused),
        cmocka_unit_test(a_receipt_survives_json),
        cmocka_unit_test(a_receipt_of_a_trial_survives_json),
        cmocka_unit_test(a_probe_that_was_not_possible_is_not_ok),
        cmocka_unit_test(only_an_event_has_a_time_until_drift_was_found),
        cmocka_unit_test(a_receipt_has_a_maximum_of_probes),
        cmocka_unit_test(a_receipt_is_not_lost_over_a_kernels_odd_words),
        cmocka_unit_test(hostile_receipts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
