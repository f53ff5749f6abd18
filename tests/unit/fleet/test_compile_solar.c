/*
 * tests/unit/fleet/test_compile_solar.c - control pages: policies and placements in, a page a port
 * out, where the profile wants that.
 */
#include "fleet_test.h"

#define PROFILE(solar)                                                                             \
    "{'fabric_profile':{'priorities':[{'priority':2,'dscps':[18]},{'priority':3,'dscps':[26]}],"   \
    "'solar':{" solar "}}}"
#define ON PROFILE("'control_page':true")
#define LABEL(label, beta, dscp, eta, guarantee, limit, priority)                                  \
    "{'beta_micro':" #beta ",'dscp':" #dscp ",'eta_micro':" #eta ",'guarantee_bps':" #guarantee    \
    ",'label':" #label ",'limit_bps':" #limit ",'priority':" #priority ",'weight':1}"

static void make(struct fleet *fleet, const char *profile, const char *policy, const char *node)
{
    fleet_init(fleet);
    fleet_fabric(fleet, profile);
    fleet_tenant(fleet, "a", policy);
    fleet_node(fleet, "n1", node);
}

static void assert_page(struct fleet *fleet, const char *port, const char *want)
{
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    assert_ok(compile_plan(&fleet->view, &fleet->nodes[0], 1, &plan, &fleet->findings, &err));
    const struct plan_knob *knob = plan_knob_get(plan, knob_kind_get("solar.page"), port, "");
    if (want == NULL) {
        assert_null(knob);
        return;
    }
    assert_non_null(knob);
    assert_int_equal(knob->enforcement, ENFORCEMENT_SOLAR);
    OWN(json) json_t *wanted = json_of(want);
    OWN(str) char *a = json_canonical(knob->want, NULL);
    OWN(str) char *b = json_canonical(wanted, NULL);
    assert_string_equal(a, b);
}

static void each_job_of_a_port_stands_in_its_page(void **unused)
{
    (void)unused;
    struct fleet fleet;
    make(&fleet, ON, TEST_SEED, TEST_NODE);
    fleet_place(&fleet, "a", "cv_job", "{'nodes':['n1']}");
    fleet_place(&fleet, "a", "nlp_job", "{'nodes':['n1']}");
    assert_page(&fleet, "solar_rdma.0/0",
                "{'labels':[" LABEL(1, null, 18, null, null, 60000000000, 2) "," LABEL(
                    2, null, 26, null, 40000000000, null, 3) "],'line_bps':100000000000}");
    fleet_release(&fleet);
}

static void without_jobs_or_the_profiles_word_there_is_none(void **unused)
{
    (void)unused;
    struct fleet fleet;
    make(&fleet, ON, TEST_SEED, TEST_NODE);
    assert_page(&fleet, "solar_rdma.0/0", NULL);
    fleet_release(&fleet);
    make(&fleet, PROFILE("'eta':'0.1'"), TEST_SEED, TEST_NODE);
    fleet_place(&fleet, "a", "nlp_job", "{'nodes':['n1']}");
    assert_page(&fleet, "solar_rdma.0/0", NULL);
    fleet_release(&fleet);
}

static void congestion_control_is_the_jobs_or_else_the_profiles(void **unused)
{
    (void)unused;
    struct fleet fleet;
    make(&fleet, PROFILE("'control_page':true,'eta':'0.1','beta':'0.000001'"),
         "{'qos_policy':{'x':{'priority':3,'solar':{'eta':'0.05'}},"
         "'y':{'priority':3,'bw_guarantee':'10%','bw_limit':'20Gbps','solar':{'beta':'0.5'}}}}",
         TEST_NODE);
    fleet_place(&fleet, "a", "x", "{'nodes':['n1'],'match':{'dscp':12}}");
    fleet_place(&fleet, "a", "y", "{'nodes':['n1']}");
    assert_page(&fleet, "solar_rdma.0/0",
                "{'labels':[" LABEL(1, 1000, 12, 50000, null, null,
                                    3) "," LABEL(2, 500000, 26, 100000, 10000000000, 20000000000,
                                                 3) "],'line_bps':100000000000}");
    fleet_release(&fleet);
}

static void a_policy_says_solar_where_nothing_else_enforces(void **unused)
{
    (void)unused;
    struct fleet fleet;
    const char *node = "{'version':1,'ports':[{'id':'0000:3b:00.0/0','driver':'x',"
                       "'rdma_device':'mlx5_0','speed_bps':100000000000,'caps':{}}]}";
    for (int on = 0; on < 2; on++) {
        make(&fleet, on == 1 ? ON : PROFILE(""), TEST_SEED, node);
        fleet_place(&fleet, "a", "cv_job", "{'nodes':['n1']}");
        fleet_place(&fleet, "a", "nlp_job", "{'nodes':['n1']}");
        OWN(str) char *text = enforcement_text(&fleet.view, "a");
        assert_string_equal(text, on == 1 ? "{\"cv_job\":{\"limit\":\"solar\"},"
                                            "\"nlp_job\":{\"guarantee\":\"solar\"}}"
                                          : "{\"cv_job\":{\"limit\":\"none\"},"
                                            "\"nlp_job\":{\"guarantee\":\"none\"}}");
        fleet_release(&fleet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_job_of_a_port_stands_in_its_page),
        cmocka_unit_test(without_jobs_or_the_profiles_word_there_is_none),
        cmocka_unit_test(congestion_control_is_the_jobs_or_else_the_profiles),
        cmocka_unit_test(a_policy_says_solar_where_nothing_else_enforces),
    };
    return cmocka_run_group_tests_name("compile_solar", tests, NULL, NULL);
}
