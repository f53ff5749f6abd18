/*
 * tests/unit/fleet/test_rules_ports.c - rules that look at ports, placements and quotas.
 */
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

static void rates_up_to_the_ports_speed_pass(void **unused)
{
    (void)unused;
    check_job("'bw_guarantee':'90Gbps'", "port-capacity", false);
    check_job("'bw_limit':'100Gbps'", "port-capacity", false);
    check_job("'bw_limit':'100000000001bps'", "port-capacity", true);
    check_job("'bw_guarantee':'100000000001bps'", "port-capacity", true);
}

static void a_limit_that_the_nic_rounds_to_nothing_is_refused(void **unused)
{
    (void)unused;
    check_job("'bw_limit':'100Mbps'", "port-capacity", false);
    check_job("'bw_limit':'99999999bps'", "port-capacity", true);
    check_job("'bw_limit':'0.1%'", "port-capacity", false);
    check_job("'bw_limit':'0.09%'", "port-capacity", true);
}

static void a_class_limit_below_the_step_of_a_nic_is_refused(void **unused)
{
    (void)unused;
    for (int below = 0; below < 2; below++) {
        struct fleet fleet;
        fleet_init(&fleet);
        fleet_fabric(&fleet, below ? "{'fabric_profile':{'priorities':[{'priority':3,'limit':"
                                     "'99999999bps'}]}}"
                                   : "{'fabric_profile':{'priorities':[{'priority':3,'limit':"
                                     "'100Mbps'}]}}");
        fleet_node(&fleet, "n1", TEST_NODE);
        fleet_check(&fleet, CHANGE_FABRIC, NULL, NULL);
        if (below)
            assert_refused_by(&fleet, "port-capacity");
        else
            assert_silent(&fleet, "port-capacity");
        fleet_release(&fleet);
    }
}

static void a_port_of_unknown_speed_is_a_warning(void **unused)
{
    (void)unused;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, TEST_FABRIC);
    fleet_tenant(&fleet, "a", "{'qos_policy':{'j':{'priority':3,'bw_guarantee':'40Gbps'}}}");
    fleet_node(&fleet, "n1", "{'ports':[{'id':'p/0','caps':{'dcb_ets':true}}]}");
    fleet_place(&fleet, "a", "j", "{'nodes':['n1'],'ports':['p/0']}");
    fleet_check_policy(&fleet, "a");
    assert_false(finding_list_has_errors(&fleet.findings));
    assert_int_equal(fleet_count(&fleet, "port-capacity", FINDING_WARNING), 1);
    fleet_release(&fleet);
}

static void on_hardware(struct fleet *fleet, const char *policy)
{
    fleet_init(fleet);
    fleet_fabric(fleet, TEST_FABRIC);
    fleet_tenant(fleet, "a", policy);
    fleet_node(fleet, "n1", TEST_HARDWARE_NODE);
}

static void a_nic_limits_one_job_a_class_but_not_two(void **unused)
{
    (void)unused;
    struct fleet fleet;
    on_hardware(&fleet, "{'qos_policy':{'x':{'priority':3,'bw_limit':'60%'},"
                        "'y':{'priority':3,'bw_limit':'60%'}}}");
    fleet_place(&fleet, "a", "x", "{'nodes':['n1'],'match':{'dst':'10.0.0.1'}}");
    fleet_check_policy(&fleet, "a");
    assert_silent(&fleet, "knob-unsupported");
    fleet_place(&fleet, "a", "y", "{'nodes':['n1'],'match':{'dst':'10.0.0.2'}}");
    fleet_check_policy(&fleet, "a");
    assert_int_equal(fleet_count(&fleet, "knob-unsupported", FINDING_ERROR), 2);
    assert_contains(fleet_finding(&fleet, "knob-unsupported")->message, "mlx5_core");
    OWN(json) json_t *by = enforcement_of_policy(&fleet.view, "a");
    OWN(json) json_t *wanted = json_of("{'x':{'limit':'none'},'y':{'limit':'none'}}");
    assert_true(json_equal(by, wanted));
    fleet_release(&fleet);
}

static void a_full_flow_table_is_refused_with_its_capacity(void **unused)
{
    (void)unused;
    struct fleet fleet;
    on_hardware(&fleet,
                "{'qos_policy':{'x':{'priority':3},'y':{'priority':3},'z':{'priority':2}}}");
    fleet_place(&fleet, "a", "x", "{'nodes':['n1'],'match':{'dst':'10.0.0.1'}}");
    fleet_place(&fleet, "a", "y", "{'nodes':['n1'],'match':{'dst':'10.0.0.2'}}");
    fleet_check_policy(&fleet, "a");
    assert_silent(&fleet, "knob-unsupported");
    fleet_place(&fleet, "a", "z", PLACE);
    fleet_check_policy(&fleet, "a");
    assert_refused_by(&fleet, "knob-unsupported");
    assert_string_equal(fleet_finding(&fleet, "knob-unsupported")->limit, "2 entries");
    fleet_release(&fleet);
}

#define MANY 100

/* The table of the last of many ports is looked at too. */
static void the_flow_table_of_every_port_is_looked_at(void **unused)
{
    (void)unused;
    char ports[MANY * 128];
    size_t length = 0;
    for (int i = 0; i < MANY; i++)
        length += (size_t)snprintf(ports + length, sizeof(ports) - length,
                                   "%s{'id':'p/%d','speed_bps':1000000000,'caps':{'tc':true,"
                                   "'flower_hw':true,'flower_hw_entries':%d}}",
                                   i == 0 ? "" : ",", i, i < MANY - 1);
    char node[sizeof(ports) + 32];
    snprintf(node, sizeof(node), "{'version':1,'ports':[%s]}", ports);
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, TEST_FABRIC);
    fleet_tenant(&fleet, "a", "{'qos_policy':{'j':{'priority':2}}}");
    fleet_node(&fleet, "n1", node);
    fleet_place(&fleet, "a", "j", PLACE);
    fleet_check_policy(&fleet, "a");
    assert_int_equal(fleet_count(&fleet, "knob-unsupported", FINDING_ERROR), 1);
    assert_contains(fleet_finding(&fleet, "knob-unsupported")->message, "p/99");
    fleet_release(&fleet);
}

/* Jobs that keep the rules take no room from the last one, which does not. */
static void the_dscp_of_every_job_is_looked_at(void **unused)
{
    (void)unused;
    char policy[MANY * 32] = "{'qos_policy':{";
    size_t length = strlen(policy);
    for (int i = 0; i < MANY; i++)
        length += (size_t)snprintf(policy + length, sizeof(policy) - length,
                                   "%s'j%02d':{'priority':3}", i == 0 ? "" : ",", i);
    snprintf(policy + length, sizeof(policy) - length, "}}");
    for (int wrong = 0; wrong < 2; wrong++) {
        struct fleet fleet;
        one_tenant(&fleet, policy, NULL, NULL);
        for (int i = 0; i < MANY; i++) {
            char job[8], match[80];
            snprintf(job, sizeof(job), "j%02d", i);
            snprintf(match, sizeof(match), "{'nodes':['n1'],'match':{'dst':'10.0.0.%d','dscp':%d}}",
                     i + 1, wrong && i == MANY - 1 ? 18 : 26);
            fleet_place(&fleet, "a", job, match);
        }
        fleet_check_policy(&fleet, "a");
        assert_false(fleet.findings.truncated);
        assert_int_equal(fleet_count(&fleet, "dscp-conflict", FINDING_ERROR), wrong);
        if (wrong)
            assert_string_equal(fleet_finding(&fleet, "dscp-conflict")->subject,
                                "tenant/a/job/j99");
        fleet_release(&fleet);
    }
}

static void a_lossless_job_needs_a_port_with_pfc(void **unused)
{
    (void)unused;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, TEST_FABRIC);
    fleet_tenant(&fleet, "a", "{'qos_policy':{'j':{'priority':3}}}");
    fleet_node(&fleet, "n1",
               "{'ports':[{'id':'p/0','speed_bps':1000000000,'caps':{'dcb_ets':true,"
               "'dcb_app':true,'dcb_maxrate':true}}]}");
    fleet_check(&fleet, CHANGE_INVENTORY, NULL, NULL);
    assert_int_equal(fleet_count(&fleet, "knob-unsupported", FINDING_WARNING), 1);
    fleet_place(&fleet, "a", "j", PLACE);
    fleet_check_policy(&fleet, "a");
    assert_refused_by(&fleet, "knob-unsupported");
    assert_contains(fleet_finding(&fleet, "knob-unsupported")->message, "no PFC");
    fleet_release(&fleet);
}

static void nothing_enforces_a_guarantee_on_a_bare_port(void **unused)
{
    (void)unused;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, TEST_FABRIC);
    fleet_tenant(&fleet, "a", "{'qos_policy':{'j':{'priority':2,'bw_guarantee':'10%'}}}");
    fleet_node(&fleet, "n1", "{'ports':[{'id':'p/0','speed_bps':1000000000,'caps':{'tc':false}}]}");
    fleet_node(&fleet, "n2", "{'ports':[{'id':'p/0','speed_bps':1000000000,'caps':{'tc':true}}]}");
    fleet_place(&fleet, "a", "j", "{'nodes':['n2']}");
    fleet_check_policy(&fleet, "a");
    assert_silent(&fleet, "knob-unsupported");
    OWN(json) json_t *by = enforcement_of_policy(&fleet.view, "a");
    assert_string_equal(json_string_value(json_object_get(json_object_get(by, "j"), "guarantee")),
                        "kernel");
    fleet_release(&fleet);
    fleet_init(&fleet);
    fleet_fabric(&fleet, TEST_FABRIC);
    fleet_tenant(&fleet, "a", "{'qos_policy':{'j':{'priority':2,'bw_guarantee':'10%'}}}");
    fleet_node(&fleet, "n1", "{'ports':[{'id':'p/0','speed_bps':1000000000,'caps':{'tc':false}}]}");
    fleet_place(&fleet, "a", "j", PLACE);
    fleet_check_policy(&fleet, "a");
    assert_refused_by(&fleet, "knob-unsupported");
    fleet_release(&fleet);
}

static void a_job_without_a_node_is_unplaced(void **unused)
{
    (void)unused;
    struct fleet fleet;
    one_tenant(&fleet, TEST_SEED, NULL, NULL);
    OWN(json) json_t *by = enforcement_of_policy(&fleet.view, "a");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(by, "nlp_job"), "guarantee")),
        "unplaced");
    OWN(json) json_t *none = enforcement_of_policy(&fleet.view, "nobody");
    assert_int_equal(json_object_size(none), 0);
    fleet_release(&fleet);
}

static void a_tenant_at_its_quota_passes_and_one_over_is_refused(void **unused)
{
    (void)unused;
    static const struct {
        struct tenant_quota quota;
        bool refused;
        const char *pointer;
    } cases[] = {
        {{0, 0, 0}, false, NULL},
        {{2, 4000, 1}, false, NULL},
        {{1, 0, 0}, true, "/quota/jobs_max"},
        {{0, 3999, 0}, true, "/quota/guarantee_max"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fleet fleet;
        one_tenant(&fleet, TEST_SEED, "nlp_job", NULL);
        fleet.tenants[0].quota = cases[i].quota;
        fleet_check_policy(&fleet, "a");
        assert_int_equal(fleet_count(&fleet, "tenant-quota", FINDING_ERROR), cases[i].refused);
        fleet_check(&fleet, CHANGE_TENANT, "a", NULL);
        assert_int_equal(fleet_count(&fleet, "tenant-quota", FINDING_ERROR), cases[i].refused);
        if (cases[i].refused)
            assert_string_equal(fleet_finding(&fleet, "tenant-quota")->pointer, cases[i].pointer);
        fleet_release(&fleet);
    }
}

static void labels_are_counted_against_the_quota(void **unused)
{
    (void)unused;
    struct fleet fleet;
    one_tenant(&fleet, TEST_SEED, "cv_job", "nlp_job");
    fleet.tenants[0].quota.labels_max = 2;
    fleet_check(&fleet, CHANGE_PLACEMENT, "a", "nlp_job");
    assert_silent(&fleet, "tenant-quota");
    fleet.tenants[0].quota.labels_max = 1;
    fleet_check(&fleet, CHANGE_PLACEMENT, "a", "nlp_job");
    assert_refused_by(&fleet, "tenant-quota");
    fleet_release(&fleet);
}

static void a_single_job_over_the_quota_is_refused_unplaced(void **unused)
{
    (void)unused;
    struct fleet fleet;
    one_tenant(&fleet, TEST_SEED, NULL, NULL);
    fleet.tenants[0].quota.guarantee_permyriad_max = 3999;
    fleet_check_policy(&fleet, "a");
    assert_refused_by(&fleet, "tenant-quota");
    fleet_release(&fleet);
}

static void a_placement_that_reaches_nothing_is_a_warning(void **unused)
{
    (void)unused;
    static const struct {
        const char *job, *placement, *text;
    } cases[] = {
        {"nlp_job", "{'nodes':['n9']}", "matches no node"},
        {"nlp_job", "{'selector':{'rack':'b'}}", "matches no node"},
        {"nlp_job", "{'nodes':['n1'],'ports':['x/0']}", "has such a port"},
        {"nlp_job", "{'nodes':['n2']}", "reported"},
        {"typo_job", "{'nodes':['n1']}", "does not name this job"},
        {"nlp_job", "{'selector':{'rack':'a'}}", NULL},
        {"nlp_job", "{'nodes':['n1']}", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fleet fleet;
        one_tenant(&fleet, TEST_SEED, NULL, NULL);
        fleet_node(&fleet, "n2", NULL);
        fleet_label(&fleet, 0, "rack", "a");
        fleet_place(&fleet, "a", cases[i].job, cases[i].placement);
        fleet_check(&fleet, CHANGE_PLACEMENT, "a", cases[i].job);
        assert_false(finding_list_has_errors(&fleet.findings));
        if (cases[i].text == NULL)
            assert_silent(&fleet, "selector-empty");
        else
            assert_contains(fleet_finding(&fleet, "selector-empty")->message, cases[i].text);
        fleet_release(&fleet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_up_to_the_ports_speed_pass),
        cmocka_unit_test(a_limit_that_the_nic_rounds_to_nothing_is_refused),
        cmocka_unit_test(a_class_limit_below_the_step_of_a_nic_is_refused),
        cmocka_unit_test(a_port_of_unknown_speed_is_a_warning),
        cmocka_unit_test(a_nic_limits_one_job_a_class_but_not_two),
        cmocka_unit_test(a_full_flow_table_is_refused_with_its_capacity),
        cmocka_unit_test(the_flow_table_of_every_port_is_looked_at),
        cmocka_unit_test(the_dscp_of_every_job_is_looked_at),
        cmocka_unit_test(a_lossless_job_needs_a_port_with_pfc),
        cmocka_unit_test(nothing_enforces_a_guarantee_on_a_bare_port),
        cmocka_unit_test(a_job_without_a_node_is_unplaced),
        cmocka_unit_test(a_tenant_at_its_quota_passes_and_one_over_is_refused),
        cmocka_unit_test(labels_are_counted_against_the_quota),
        cmocka_unit_test(a_single_job_over_the_quota_is_refused_unplaced),
        cmocka_unit_test(a_placement_that_reaches_nothing_is_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
