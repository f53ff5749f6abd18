#include "fleet_test.h"

#include "fleet/rules.h"

#define PLACE "{'nodes':['n1']}"

/* One tenant "a" with this policy on one port of node n1; its jobs are placed as named. */
static void one_tenant(struct fleet *fleet, const char *policy, const char *job1, const char *job2)
{
    fleet_init(fleet);
    fleet_fabric(fleet, TEST_FABRIC);
    fleet_tenant(fleet, "a", policy);
    fleet_node(fleet, "n1", TEST_NODE);
    if (job1 != NULL)
        fleet_place(fleet, "a", job1, PLACE);
    if (job2 != NULL)
        fleet_place(fleet, "a", job2, PLACE);
}

/* Checks a policy of tenant "a" with one job "j" placed on one 100 Gbit/s port. */
static void check_job(const char *members, const char *rule, bool refused)
{
    struct fleet fleet;
    char policy[512];
    snprintf(policy, sizeof(policy), "{'qos_policy':{'j':{'priority':3,%s}}}", members);
    one_tenant(&fleet, policy, "j", NULL);
    fleet_check_policy(&fleet, "a");
    if (refused) {
        assert_refused_by(&fleet, rule);
        assert_string_equal(fleet_finding(&fleet, rule)->subject, "tenant/a/job/j");
        assert_contains(fleet_finding(&fleet, rule)->pointer, "/qos_policy/j/");
    } else {
        assert_silent(&fleet, rule);
    }
    fleet_release(&fleet);
}

static void the_seed_policy_is_accepted_with_one_warning(void **unused)
{
    (void)unused;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_tenant(&fleet, "a", TEST_SEED);
    for (int with_fabric = 0; with_fabric < 2; with_fabric++) {
        fleet_check_policy(&fleet, "a");
        assert_false(finding_list_has_errors(&fleet.findings));
        assert_int_equal(fleet.findings.count, 1);
        assert_contains(fleet.findings.items[0].message, "floor unchecked");
        fleet_fabric(&fleet, TEST_FABRIC);
    }
    fleet_node(&fleet, "n1", TEST_NODE);
    fleet_place(&fleet, "a", "cv_job", PLACE);
    fleet_place(&fleet, "a", "nlp_job", PLACE);
    fleet_check_policy(&fleet, "a");
    assert_false(finding_list_has_errors(&fleet.findings));
    OWN(json) json_t *by = enforcement_of_policy(&fleet.view, "a");
    OWN(json) json_t *wanted = json_of("{'nlp_job':{'guarantee':'nic'},'cv_job':{'limit':'nic'}}");
    assert_true(json_equal(by, wanted));
    fleet_release(&fleet);
}

static void limit_equal_to_the_guarantee_passes(void **unused)
{
    (void)unused;
    check_job("'bw_guarantee':'40%','bw_limit':'40%'", "limit-below-guarantee", false);
    check_job("'bw_guarantee':'40Gbps','bw_limit':'40Gbps'", "limit-below-guarantee", false);
    check_job("'bw_guarantee':'40%','bw_limit':'40Gbps'", "limit-below-guarantee", false);
    check_job("'bw_guarantee':'40Gbps','bw_limit':'40%'", "limit-below-guarantee", false);
}

static void limit_one_step_under_the_guarantee_is_refused(void **unused)
{
    (void)unused;
    check_job("'bw_guarantee':'40%','bw_limit':'39.99%'", "limit-below-guarantee", true);
    check_job("'bw_guarantee':'40000000000bps','bw_limit':'39999999999bps'",
              "limit-below-guarantee", true);
    check_job("'bw_guarantee':'40%','bw_limit':'39999999999bps'", "limit-below-guarantee", true);
    check_job("'bw_guarantee':'40000000001bps','bw_limit':'40%'", "limit-below-guarantee", true);
}

static void limit_at_the_floor_passes(void **unused)
{
    (void)unused;
    check_job("'bw_limit':'63%','demand':'90%'", "bw-limit-floor", false);
    check_job("'bw_limit':'63Gbps','demand':'90Gbps'", "bw-limit-floor", false);
    check_job("'bw_limit':'63Gbps','demand':'90%'", "bw-limit-floor", false);
    check_job("'bw_limit':'63%','demand':'90Gbps'", "bw-limit-floor", false);
}

static void limit_one_bit_under_the_floor_is_refused(void **unused)
{
    (void)unused;
    check_job("'bw_limit':'62.99%','demand':'90%'", "bw-limit-floor", true);
    check_job("'bw_limit':'62999999999bps','demand':'90Gbps'", "bw-limit-floor", true);
    check_job("'bw_limit':'62999999999bps','demand':'90%'", "bw-limit-floor", true);
    check_job("'bw_limit':'63%','demand':'90000000002bps'", "bw-limit-floor", true);
}

static void the_floor_of_60_for_90_is_63(void **unused)
{
    (void)unused;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_tenant(&fleet, "a",
                 "{'qos_policy':{'cv_job':{'priority':2,'bw_limit':'60%','demand':'90%'}}}");
    fleet_check_policy(&fleet, "a");
    assert_refused_by(&fleet, "bw-limit-floor");
    assert_string_equal(fleet_finding(&fleet, "bw-limit-floor")->limit, "63%");
    assert_string_equal(fleet_finding(&fleet, "bw-limit-floor")->observed, "60%");
    fleet_release(&fleet);
}

static void the_largest_rates_do_not_overflow(void **unused)
{
    (void)unused;
    check_job("'bw_limit':'1000000Gbps','demand':'1000000Gbps'", "bw-limit-floor", false);
    check_job("'bw_limit':'1bps','demand':'1000000Gbps'", "bw-limit-floor", true);
}

static void many_unchecked_floors_are_counted(void **unused)
{
    (void)unused;
    struct fleet fleet;
    char policy[4096] = "{'qos_policy':{";
    for (int i = 0; i < 20; i++)
        snprintf(policy + strlen(policy), 128, "%s'j%02d':{'priority':3,'bw_limit':'60%%'}",
                 i == 0 ? "" : ",", i);
    strcat(policy, "}}");
    fleet_init(&fleet);
    fleet_tenant(&fleet, "a", policy);
    fleet_check_policy(&fleet, "a");
    assert_int_equal(fleet_count(&fleet, "bw-limit-floor", FINDING_WARNING), 17);
    assert_contains(fleet.findings.items[16].message, "4 more jobs");
    fleet_release(&fleet);
}

static void check_sum(const char *first, const char *second, bool refused)
{
    struct fleet fleet;
    char policy[512];
    snprintf(policy, sizeof(policy),
             "{'qos_policy':{'x':{'priority':3,'bw_guarantee':'%s'},"
             "'y':{'priority':2,'bw_guarantee':'%s'}}}",
             first, second);
    for (int placed = 0; placed < 2; placed++) {
        one_tenant(&fleet, policy, placed ? "x" : NULL, placed ? "y" : NULL);
        fleet_check_policy(&fleet, "a");
        /* A rate can be summed on a port only. */
        if (refused && (placed || strchr(first, 'b') == NULL))
            assert_refused_by(&fleet, "guarantee-sum");
        else
            assert_silent(&fleet, "guarantee-sum");
        fleet_release(&fleet);
    }
}

static void guarantees_up_to_the_reserve_pass(void **unused)
{
    (void)unused;
    check_sum("60%", "35%", false);
    check_sum("60Gbps", "35%", false);
}

static void guarantees_one_step_into_the_reserve_are_refused(void **unused)
{
    (void)unused;
    check_sum("60%", "35.01%", true);
    check_sum("60000000001bps", "35%", true);
    check_sum("60%", "50%", true);
}

static void guarantees_on_different_ports_are_not_summed(void **unused)
{
    (void)unused;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, TEST_FABRIC);
    fleet_tenant(&fleet, "a",
                 "{'qos_policy':{'x':{'priority':3,'bw_guarantee':'90%'},"
                 "'y':{'priority':2,'bw_guarantee':'90%'}}}");
    fleet_node(&fleet, "n1", "{'ports':[" TEST_PORT("p/0") "," TEST_PORT("q/0") "]}");
    fleet_place(&fleet, "a", "x", "{'nodes':['n1'],'ports':['p/0']}");
    fleet_place(&fleet, "a", "y", "{'nodes':['n1'],'ports':['q/0']}");
    fleet_check_policy(&fleet, "a");
    assert_silent(&fleet, "guarantee-sum");
    fleet_release(&fleet);
}

static void two_tenants(struct fleet *fleet, const char *a, const char *b)
{
    fleet_init(fleet);
    fleet_fabric(fleet, TEST_FABRIC);
    fleet_tenant(fleet, "acme", a);
    fleet_tenant(fleet, "zeta", b);
    fleet_node(fleet, "n1", TEST_NODE);
    fleet_place(fleet, "acme", "j", PLACE);
    fleet_place(fleet, "zeta", "secret", PLACE);
}

static void other_tenants_count_but_are_not_named(void **unused)
{
    (void)unused;
    struct fleet fleet;
    two_tenants(&fleet, "{'qos_policy':{'j':{'priority':3,'bw_guarantee':'60%'}}}",
                "{'qos_policy':{'secret':{'priority':2,'bw_guarantee':'50%'}}}");
    fleet_check_policy(&fleet, "acme");
    assert_refused_by(&fleet, "guarantee-sum");
    const struct finding *finding = fleet_finding(&fleet, "guarantee-sum");
    assert_string_equal(finding->observed, "60%");
    assert_string_equal(finding->limit, "45%");
    assert_string_equal(finding->pointer, "/qos_policy");
    assert_contains(finding->message, "other tenants");
    assert_never_says(&fleet, "zeta");
    assert_never_says(&fleet, "secret");
    /* The operator sees the sum. */
    fleet_check(&fleet, CHANGE_FABRIC, NULL, NULL);
    assert_string_equal(fleet_finding(&fleet, "guarantee-sum")->observed, "110%");
    fleet_release(&fleet);
}

static void flows_of_a_stranger_are_refused_without_his_name(void **unused)
{
    (void)unused;
    struct fleet fleet;
    two_tenants(&fleet, "{'qos_policy':{'j':{'priority':3}}}",
                "{'qos_policy':{'secret':{'priority':3}}}");
    fleet_check(&fleet, CHANGE_PLACEMENT, "acme", "j");
    assert_refused_by(&fleet, "selector-overlap");
    assert_string_equal(fleet_finding(&fleet, "selector-overlap")->pointer, "/match");
    assert_never_says(&fleet, "zeta");
    assert_never_says(&fleet, "secret");
    fleet_check(&fleet, CHANGE_FABRIC, NULL, NULL);
    assert_int_equal(fleet_count(&fleet, "selector-overlap", FINDING_ERROR), 2);
    fleet_release(&fleet);
}

static void other_flows_or_other_ports_do_not_overlap(void **unused)
{
    (void)unused;
    static const char *const matches[] = {"{'dst':'10.0.0.0/24'}", "{'dst':'10.0.1.0/24'}",
                                          "{'dst':'10.0.0.0/23'}"};
    for (int wide = 0; wide < 2; wide++) {
        struct fleet fleet;
        char text[256];
        one_tenant(&fleet, "{'qos_policy':{'x':{'priority':3},'y':{'priority':3}}}", NULL, NULL);
        snprintf(text, sizeof(text), "{'nodes':['n1'],'match':%s}", matches[0]);
        fleet_place(&fleet, "a", "x", text);
        snprintf(text, sizeof(text), "{'nodes':['n1'],'match':%s}", matches[1 + wide]);
        fleet_place(&fleet, "a", "y", text);
        fleet_check_policy(&fleet, "a");
        assert_int_equal(fleet_count(&fleet, "selector-overlap", FINDING_ERROR), wide ? 2 : 0);
        fleet_release(&fleet);
    }
}

static void a_priority_must_be_offered(void **unused)
{
    (void)unused;
    struct fleet fleet;
    one_tenant(&fleet, "{'qos_policy':{'j':{'priority':5}}}", NULL, NULL);
    fleet_check_policy(&fleet, "a");
    assert_refused_by(&fleet, "priority-range");
    assert_string_equal(fleet_finding(&fleet, "priority-range")->pointer, "/qos_policy/j/priority");
    assert_string_equal(fleet_finding(&fleet, "priority-range")->limit, "0, 2, 3, 6");
    /* The operator may not take it away either. */
    fleet_check(&fleet, CHANGE_FABRIC, NULL, NULL);
    assert_refused_by(&fleet, "priority-range");
    fleet_release(&fleet);
    one_tenant(&fleet, "{'qos_policy':{'j':{'priority':6}}}", NULL, NULL);
    fleet_check_policy(&fleet, "a");
    assert_silent(&fleet, "priority-range");
    fleet_release(&fleet);
}

static void check_fabric(const char *profile, const char *rule, const char *pointer)
{
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, profile);
    fleet_check(&fleet, CHANGE_FABRIC, NULL, NULL);
    if (pointer == NULL) {
        assert_silent(&fleet, rule);
    } else {
        assert_refused_by(&fleet, rule);
        assert_string_equal(fleet_finding(&fleet, rule)->pointer, pointer);
    }
    /* A tenant's upload is not refused because of the profile. */
    fleet_tenant(&fleet, "a", "{'qos_policy':{'j':{'priority':3}}}");
    fleet_check_policy(&fleet, "a");
    assert_int_equal(fleet_count(&fleet, rule, FINDING_ERROR), 0);
    fleet_release(&fleet);
}

static void lossless_priorities_have_a_maximum(void **unused)
{
    (void)unused;
    check_fabric("{'fabric_profile':{'priorities':[{'priority':3,'lossless':true},"
                 "{'priority':4,'lossless':true}]}}",
                 "lossless-set", NULL);
    check_fabric("{'fabric_profile':{'priorities':[{'priority':3,'lossless':true},"
                 "{'priority':4,'lossless':true},{'priority':5,'lossless':true}]}}",
                 "lossless-set", "/fabric_profile/priorities");
    check_fabric("{'fabric_profile':{'lossless_max':3,'priorities':[{'priority':3,'lossless':true},"
                 "{'priority':4,'lossless':true},{'priority':5,'lossless':true}]}}",
                 "lossless-set", NULL);
}

static void congestion_notifications_are_never_lossless(void **unused)
{
    (void)unused;
    check_fabric("{'fabric_profile':{'cnp':{'dscp':48,'priority':3},"
                 "'priorities':[{'priority':3,'lossless':true}]}}",
                 "lossless-set", "/fabric_profile/cnp/priority");
    check_fabric("{'fabric_profile':{'cnp':{'dscp':48,'priority':6},"
                 "'priorities':[{'priority':3,'lossless':true},{'priority':6}]}}",
                 "lossless-set", NULL);
}

static void one_dscp_has_one_priority(void **unused)
{
    (void)unused;
    check_fabric("{'fabric_profile':{'priorities':[{'priority':3,'dscps':[26]},"
                 "{'priority':4,'dscps':[34,26]}]}}",
                 "dscp-conflict", "/fabric_profile/priorities/1/dscps");
    check_fabric("{'fabric_profile':{'cnp':{'dscp':26,'priority':6},'priorities':["
                 "{'priority':3,'dscps':[26]},{'priority':6}]}}",
                 "dscp-conflict", "/fabric_profile/cnp/priority");
    check_fabric("{'fabric_profile':{'priorities':[{'priority':3,'dscps':[26]},"
                 "{'priority':4,'dscps':[34]}]}}",
                 "dscp-conflict", NULL);
}

static void a_strict_class_needs_a_limit(void **unused)
{
    (void)unused;
    check_fabric("{'fabric_profile':{'priorities':[{'priority':3},{'priority':6,'strict':true}]}}",
                 "strict-needs-limit", "/fabric_profile/priorities/1/limit");
    check_fabric("{'fabric_profile':{'priorities':[{'priority':3},"
                 "{'priority':6,'strict':true,'limit':'10%'}]}}",
                 "strict-needs-limit", NULL);
}

static void check_placement(const char *fabric, const char *policy, const char *placement,
                            const char *rule, bool refused)
{
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, fabric);
    fleet_tenant(&fleet, "a", policy);
    fleet_node(&fleet, "n1", TEST_NODE);
    fleet_place(&fleet, "a", "j", placement);
    fleet_check(&fleet, CHANGE_PLACEMENT, "a", "j");
    if (refused)
        assert_refused_by(&fleet, rule);
    else
        assert_silent(&fleet, rule);
    fleet_release(&fleet);
}

static void a_jobs_dscp_is_one_of_its_priority(void **unused)
{
    (void)unused;
    static const char policy[] = "{'qos_policy':{'j':{'priority':3}}}";
    check_placement(TEST_FABRIC, policy, "{'nodes':['n1'],'match':{'dscp':26}}", "dscp-conflict",
                    false);
    check_placement(TEST_FABRIC, policy, "{'nodes':['n1'],'match':{'dscp':18}}", "dscp-conflict",
                    true);
    check_placement(TEST_FABRIC, policy, "{'nodes':['n1'],'match':{'dscp':27}}", "dscp-conflict",
                    true);
    static const char pcp[] =
        "{'fabric_profile':{'trust':'pcp','priorities':[{'priority':3,'dscps':[26]}]}}";
    check_placement(pcp, policy, "{'nodes':['n1'],'match':{'dscp':26}}", "dscp-conflict", true);
    check_placement(pcp, policy, PLACE, "dscp-conflict", false);
    static const char none[] = "{'fabric_profile':{'priorities':[{'priority':3}]}}";
    check_placement(none, policy, PLACE, "dscp-conflict", true);
}

static void congestion_control_stays_in_the_stable_region(void **unused)
{
    (void)unused;
    check_job("'solar':{'eta':'0.05','beta':'0.5'}", "solar-stability", false);
    check_job("'solar':{'eta':'1','beta':'0.000001'}", "solar-stability", false);
    check_job("'solar':{'eta':'1.000001'}", "solar-stability", true);
    check_job("'solar':{'beta':'0.500001'}", "solar-stability", true);
    check_job("'solar':{'eta':'0'}", "solar-stability", true);
    check_job("'solar':{'beta':'0'}", "solar-stability", true);
    check_fabric("{'fabric_profile':{'priorities':[{'priority':3}],'solar':{'eta':'0.05',"
                 "'beta':'0.5'}}}",
                 "solar-stability", NULL);
    check_fabric("{'fabric_profile':{'priorities':[{'priority':3}],'solar':{'beta':'0.6'}}}",
                 "solar-stability", "/fabric_profile/solar/beta");
}

static void every_rule_is_in_the_users_table(void **unused)
{
    (void)unused;
    char *text = test_load("../doc/rules.md", NULL);
    for (size_t i = 0; rules[i] != NULL; i++) {
        char row[64];
        snprintf(row, sizeof(row), "| %s |", rules[i]->id);
        assert_contains(text, row);
        assert_true(rules[i]->text[0] != '\0' && rules[i]->reason[0] != '\0');
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_policy_is_accepted_with_one_warning),
        cmocka_unit_test(limit_equal_to_the_guarantee_passes),
        cmocka_unit_test(limit_one_step_under_the_guarantee_is_refused),
        cmocka_unit_test(limit_at_the_floor_passes),
        cmocka_unit_test(limit_one_bit_under_the_floor_is_refused),
        cmocka_unit_test(the_floor_of_60_for_90_is_63),
        cmocka_unit_test(the_largest_rates_do_not_overflow),
        cmocka_unit_test(many_unchecked_floors_are_counted),
        cmocka_unit_test(guarantees_up_to_the_reserve_pass),
        cmocka_unit_test(guarantees_one_step_into_the_reserve_are_refused),
        cmocka_unit_test(guarantees_on_different_ports_are_not_summed),
        cmocka_unit_test(other_tenants_count_but_are_not_named),
        cmocka_unit_test(flows_of_a_stranger_are_refused_without_his_name),
        cmocka_unit_test(other_flows_or_other_ports_do_not_overlap),
        cmocka_unit_test(a_priority_must_be_offered),
        cmocka_unit_test(lossless_priorities_have_a_maximum),
        cmocka_unit_test(congestion_notifications_are_never_lossless),
        cmocka_unit_test(one_dscp_has_one_priority),
        cmocka_unit_test(a_strict_class_needs_a_limit),
        cmocka_unit_test(a_jobs_dscp_is_one_of_its_priority),
        cmocka_unit_test(congestion_control_stays_in_the_stable_region),
        cmocka_unit_test(every_rule_is_in_the_users_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
