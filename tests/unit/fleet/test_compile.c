#include "fleet_test.h"

#include "base/schema.h"
#include "fleet/compile_job.h"

static const json_t *want_of(const struct plan *plan, const char *kind, const char *subject,
                             const char *id)
{
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *knob = &plan->knobs[i];
        if (strcmp(knob->kind->name, kind) == 0 && strcmp(knob->subject, subject) == 0 &&
            strcmp(knob->id, id) == 0)
            return knob->want;
    }
    return NULL;
}

static void assert_want(const struct plan *plan, const char *kind, const char *id, const char *text)
{
    const json_t *got = want_of(plan, kind, "solar_rdma.0/0", id);
    OWN(json) json_t *wanted = json_of(text);
    if (got == NULL || !json_equal(got, wanted)) {
        char *shown = got == NULL ? NULL : json_dumps(got, JSON_ENCODE_ANY);
        fail_msg("%s %s is %s, wanted %s", kind, id, shown == NULL ? "not there" : shown, text);
    }
}

static struct plan *compile_first(struct fleet *fleet)
{
    struct err err = ERR_INIT;
    struct plan *plan = NULL;
    finding_list_release(&fleet->findings);
    assert_ok(compile_plan(&fleet->view, &fleet->nodes[0], 1, &plan, &fleet->findings, &err));
    return plan;
}

static void small_fleet(struct fleet *fleet, const char *fabric, const char *policy,
                        const char *node)
{
    fleet_init(fleet);
    fleet_fabric(fleet, fabric);
    fleet_tenant(fleet, "a", policy);
    fleet_node(fleet, "n1", node);
}

static void without_profile_or_inventory_nothing_is_planned(void **unused)
{
    (void)unused;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_node(&fleet, "n1", TEST_NODE);
    OWN(plan) struct plan *no_profile = compile_first(&fleet);
    assert_int_equal(no_profile->knob_count, 0);
    fleet_release(&fleet);
    fleet_init(&fleet);
    fleet_fabric(&fleet, TEST_FABRIC);
    fleet_node(&fleet, "n1", NULL);
    OWN(plan) struct plan *no_inventory = compile_first(&fleet);
    assert_int_equal(no_inventory->knob_count, 0);
    assert_true(strncmp(no_inventory->digest, "sha256:", 7) == 0);
    fleet_release(&fleet);
}

static void a_port_without_jobs_gets_the_profile_and_no_scheduler(void **unused)
{
    (void)unused;
    struct fleet fleet;
    small_fleet(&fleet, TEST_FABRIC, TEST_SEED, TEST_NODE);
    OWN(plan) struct plan *plan = compile_first(&fleet);
    assert_want(plan, "dcb.pfc", "", "{'delay':0,'priorities':[3]}");
    assert_null(want_of(plan, "tc.qdisc", "solar_rdma.0/0", "root"));
    assert_null(want_of(plan, "tc.clsact", "solar_rdma.0/0", ""));
    assert_null(want_of(plan, "link.mtu", "solar_rdma.0/0", ""));
    assert_null(want_of(plan, "dcb.buffer", "solar_rdma.0/0", ""));
    fleet_release(&fleet);
}

static void same_input_gives_the_same_bytes(void **unused)
{
    (void)unused;
    struct fleet fleet;
    small_fleet(&fleet, TEST_FABRIC, TEST_SEED, TEST_NODE);
    fleet_place(&fleet, "a", "cv_job", "{'nodes':['n1']}");
    fleet_place(&fleet, "a", "nlp_job", "{'nodes':['n1']}");
    OWN(plan) struct plan *one = compile_first(&fleet);
    OWN(plan) struct plan *two = compile_first(&fleet);
    assert_string_equal(one->digest, two->digest);
    OWN(json) json_t *document = plan_to_json(one);
    assert_true(schema_validate(schema_get("plan"), document, NULL));
    fleet_release(&fleet);
}

static void check_shares(const struct ets_class classes[TC_COUNT], const int wanted[TC_COUNT])
{
    int percent[TC_COUNT];
    compile_ets_shares(classes, percent);
    for (int i = 0; i < TC_COUNT; i++)
        assert_int_equal(percent[i], wanted[i]);
}

static void ets_shares_hold_promises_and_split_the_rest_by_weight(void **unused)
{
    (void)unused;
    /* 40.01 % is rounded up; the rest of 59 is split 1 : 2, largest remainder first. */
    check_shares((struct ets_class[TC_COUNT]){{true, false, 0, 1}, {true, false, 4001, 2}},
                 (int[TC_COUNT]){20, 80});
    check_shares(
        (struct ets_class[TC_COUNT]){{true, false, 0, 1}, {true, false, 0, 1}, {true, false, 0, 1}},
        (int[TC_COUNT]){34, 33, 33});
    check_shares((struct ets_class[TC_COUNT]){{true, true, 0, 0}, {true, false, 0, 5}},
                 (int[TC_COUNT]){0, 100});
    /* More than everything: in proportion. */
    check_shares((struct ets_class[TC_COUNT]){{true, false, 15000, 1}, {true, false, 5000, 9}},
                 (int[TC_COUNT]){75, 25});
    /* No ETS class ends with nothing. */
    check_shares((struct ets_class[TC_COUNT]){{true, false, 10000, 1}, {true, false, 0, 1}},
                 (int[TC_COUNT]){99, 1});
}

static void ets_shares_always_add_up_to_100(void **unused)
{
    (void)unused;
    uint64_t x = 88172645463325252ULL;
    for (int round = 0; round < 20000; round++) {
        struct ets_class classes[TC_COUNT] = {{0}};
        int percent[TC_COUNT], sum = 0, ets = 0;
        for (int i = 0; i < TC_COUNT; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            classes[i].used = x % 3 > 0;
            classes[i].strict = classes[i].used && x % 5 == 0;
            if (!classes[i].used || classes[i].strict)
                continue;
            ets++;
            classes[i].weight = 1 + (int)((x >> 8) % 100);
            classes[i].wanted_permyriad = (x >> 20) % 4 == 0 ? (int64_t)(x >> 24) % 6000 : 0;
        }
        compile_ets_shares(classes, percent);
        for (int i = 0; i < TC_COUNT; i++) {
            bool is_ets = classes[i].used && !classes[i].strict;
            assert_true(is_ets ? percent[i] >= 1 : percent[i] == 0);
            sum += percent[i];
        }
        assert_int_equal(sum, ets > 0 ? 100 : 0);
    }
}

static void class_rates_never_exceed_the_port(void **unused)
{
    (void)unused;
    static const char *const guarantees[] = {"0.01%", "47.5%", "95%", "100%"};
    for (size_t a = 0; a < 4; a++) {
        for (size_t b = 0; b < 4; b++) {
            struct fleet fleet;
            char policy[256];
            snprintf(policy, sizeof(policy),
                     "{'qos_policy':{'x':{'priority':3,'bw_guarantee':'%s'},'y':{'priority':2,"
                     "'bw_guarantee':'%s'},'z':{'priority':0}}}",
                     guarantees[a], guarantees[b]);
            small_fleet(&fleet, TEST_FABRIC, policy, TEST_NODE);
            fleet_place(&fleet, "a", "x", "{'nodes':['n1']}");
            fleet_place(&fleet, "a", "y", "{'nodes':['n1']}");
            fleet_place(&fleet, "a", "z", "{'nodes':['n1']}");
            OWN(plan) struct plan *plan = compile_first(&fleet);
            int64_t sum = 0;
            for (size_t i = 0; i < plan->knob_count; i++) {
                const struct plan_knob *knob = &plan->knobs[i];
                if (strcmp(knob->kind->name, "tc.class") != 0 || strcmp(knob->id, "5e11:fffe") == 0)
                    continue;
                int64_t rate = json_integer_value(json_object_get(knob->want, "rate_bps"));
                assert_true(rate >= 1);
                assert_true(rate <= json_integer_value(json_object_get(knob->want, "ceil_bps")));
                sum += rate;
            }
            assert_true(sum > 0 && sum <= 100000000000);
            fleet_release(&fleet);
        }
    }
}

static void limits_are_floored_to_the_step_of_the_nic(void **unused)
{
    (void)unused;
    static const struct {
        const char *limit, *rate;
    } cases[] = {
        {"60Gbps", "60000000000"}, {"60050Mbps", "60000000000"},      {"60100Mbps", "60100000000"},
        {"100Mbps", "100000000"},  {"99Mbps", "100000000"}, /* never 0 */
        {"100Gbps", "null"},       {"99999999999bps", "99900000000"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fleet fleet;
        char policy[256], rates[256];
        snprintf(policy, sizeof(policy), "{'qos_policy':{'x':{'priority':2,'bw_limit':'%s'}}}",
                 cases[i].limit);
        snprintf(rates, sizeof(rates), "[null,null,%s,null,null,null,10000000000,null]",
                 cases[i].rate);
        small_fleet(&fleet, TEST_FABRIC, policy, TEST_NODE);
        fleet_place(&fleet, "a", "x", "{'nodes':['n1']}");
        OWN(plan) struct plan *plan = compile_first(&fleet);
        assert_want(plan, "dcb.maxrate", "", rates);
        assert_int_equal(fleet.findings.count, strcmp(cases[i].limit, "99Mbps") == 0);
        fleet_release(&fleet);
    }
}

static void a_class_is_limited_when_all_its_jobs_are(void **unused)
{
    (void)unused;
    for (int all = 0; all < 2; all++) {
        struct fleet fleet;
        small_fleet(&fleet, TEST_FABRIC,
                    all ? "{'qos_policy':{'x':{'priority':2,'bw_limit':'10%'},'y':{'priority':2,"
                          "'bw_limit':'20Gbps'}}}"
                        : "{'qos_policy':{'x':{'priority':2,'bw_limit':'10%'},'y':{'priority':2}}}",
                    TEST_NODE);
        fleet_place(&fleet, "a", "x", "{'nodes':['n1'],'match':{'dst':'10.0.0.1'}}");
        fleet_place(&fleet, "a", "y", "{'nodes':['n1'],'match':{'dst':'10.0.0.2'}}");
        OWN(plan) struct plan *plan = compile_first(&fleet);
        assert_want(plan, "dcb.maxrate", "",
                    all ? "[null,null,30000000000,null,null,null,10000000000,null]"
                        : "[null,null,null,null,null,null,10000000000,null]");
        fleet_release(&fleet);
    }
}

static void trust_in_pcp_leaves_no_dscp_entries(void **unused)
{
    (void)unused;
    struct fleet fleet;
    small_fleet(&fleet,
                "{'fabric_profile':{'trust':'pcp','priorities':[{'priority':3,'dscps':[26]}]}}",
                TEST_SEED, TEST_NODE);
    OWN(plan) struct plan *plan = compile_first(&fleet);
    assert_want(plan, "dcb.app", "", "[]");
    fleet_release(&fleet);
}

static void unnamed_priorities_share_class_0_with_the_reserve(void **unused)
{
    (void)unused;
    struct fleet fleet;
    small_fleet(&fleet, "{'fabric_profile':{'priorities':[{'priority':3,'ets_weight':100}]}}",
                TEST_SEED, TEST_NODE);
    OWN(plan) struct plan *plan = compile_first(&fleet);
    assert_want(plan, "dcb.ets", "",
                "{'bw_percent':[6,0,0,94,0,0,0,0],'prio_tc':[0,0,0,3,0,0,0,0],'tsa':['ets',"
                "'strict','strict','ets','strict','strict','strict','strict']}");
    fleet_release(&fleet);
}

static void labels_without_a_class_are_left_out(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t label;
        bool fits;
    } cases[] = {{0, false}, {1, true}, {65533, true}, {65534, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fleet fleet;
        char id[32];
        small_fleet(&fleet, TEST_FABRIC, TEST_SEED, TEST_NODE);
        fleet_place(&fleet, "a", "cv_job", "{'nodes':['n1']}");
        fleet.placements[0]->label = cases[i].label;
        OWN(plan) struct plan *plan = compile_first(&fleet);
        snprintf(id, sizeof(id), "egress/%u", (unsigned)cases[i].label);
        assert_true((want_of(plan, "tc.flower", "solar_rdma.0/0", id) != NULL) == cases[i].fits);
        assert_int_equal(fleet.findings.count, !cases[i].fits);
        fleet_release(&fleet);
    }
}

static void solar_sysctls_only_reach_solar_nodes(void **unused)
{
    (void)unused;
    static const char fabric[] =
        "{'fabric_profile':{'priorities':[{'priority':3,'dscps':[26]}],'host':{'sysctl':"
        "{'net.solar.flow_steering':2,'net.core.rmem_max':4194304}}}}";
    for (int hardware = 0; hardware < 2; hardware++) {
        struct fleet fleet;
        small_fleet(&fleet, fabric, TEST_SEED, hardware ? TEST_HARDWARE_NODE : TEST_NODE);
        OWN(plan) struct plan *plan = compile_first(&fleet);
        assert_non_null(want_of(plan, "host.sysctl", "host", "net.core.rmem_max"));
        assert_true((want_of(plan, "host.sysctl", "host", "net.solar.flow_steering") == NULL) ==
                    (hardware == 1));
        fleet_release(&fleet);
    }
}

static void hardware_rdma_gets_no_scheduler_of_the_kernel(void **unused)
{
    (void)unused;
    struct fleet fleet;
    small_fleet(&fleet, TEST_FABRIC, TEST_SEED, TEST_HARDWARE_NODE);
    fleet_place(&fleet, "a", "cv_job", "{'nodes':['n1']}");
    OWN(plan) struct plan *plan = compile_first(&fleet);
    assert_null(want_of(plan, "tc.qdisc", "0000:3b:00.0/0", "root"));
    assert_null(want_of(plan, "tc.flower", "0000:3b:00.0/0", "egress/1"));
    assert_non_null(want_of(plan, "tc.flower", "0000:3b:00.0/0", "ingress/1"));
    assert_non_null(want_of(plan, "tc.clsact", "0000:3b:00.0/0", ""));
    fleet_release(&fleet);
}

static void what_a_bare_port_lacks_is_named(void **unused)
{
    (void)unused;
    struct fleet fleet;
    small_fleet(&fleet,
                "{'fabric_profile':{'priorities':[{'priority':3,'dscps':[26],'lossless':true,"
                "'limit':'50%'}],'buffer':{'sizes_bytes':[9,0,0,0,0,0,0,0],'buffer_of_priority':"
                "[0,0,0,0,0,0,0,0]}}}",
                TEST_SEED, "{'ports':[{'id':'p/0','speed_bps':1000000000}]}");
    OWN(plan) struct plan *plan = compile_first(&fleet);
    assert_int_equal(plan->knob_count, 0);
    assert_int_equal(fleet_count(&fleet, "knob-unsupported", FINDING_WARNING), 5);
    fleet_release(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_profile_or_inventory_nothing_is_planned),
        cmocka_unit_test(a_port_without_jobs_gets_the_profile_and_no_scheduler),
        cmocka_unit_test(same_input_gives_the_same_bytes),
        cmocka_unit_test(ets_shares_hold_promises_and_split_the_rest_by_weight),
        cmocka_unit_test(ets_shares_always_add_up_to_100),
        cmocka_unit_test(class_rates_never_exceed_the_port),
        cmocka_unit_test(limits_are_floored_to_the_step_of_the_nic),
        cmocka_unit_test(a_class_is_limited_when_all_its_jobs_are),
        cmocka_unit_test(trust_in_pcp_leaves_no_dscp_entries),
        cmocka_unit_test(unnamed_priorities_share_class_0_with_the_reserve),
        cmocka_unit_test(labels_without_a_class_are_left_out),
        cmocka_unit_test(solar_sysctls_only_reach_solar_nodes),
        cmocka_unit_test(hardware_rdma_gets_no_scheduler_of_the_kernel),
        cmocka_unit_test(what_a_bare_port_lacks_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
