/*
 * tests/unit/fleet/test_sched.c - the kernel's schedulers: bands of ets and queues that mark.
 */
#include "fleet_test.h"

#define PORT "0000:3b:00.0/0"
#define NODE                                                                                       \
    "{'ports':[{'id':'" PORT "','driver':'x','rdma_device':'rxe0','rdma_software':true,"           \
    "'speed_bps':100000000000,'caps':{'tc':true}}]}"
#define PRIORITIES                                                                                 \
    "'priorities':[{'priority':0,'ets_weight':40},{'priority':3,'dscps':[26],'ets_weight':60},"    \
    "{'priority':5,'strict':true,'limit':'5%'},{'priority':6,'strict':true,'limit':'10%'}]"
#define ECN     ",'ecn':{'kmin_bytes':1000,'kmax_bytes':400000,'pmax':'1%'}"
#define POLICY  "{'qos_policy':{'j':{'priority':3,'bw_guarantee':'30%'}}}"
#define LIMITED "{'qos_policy':{'j':{'priority':3,'bw_guarantee':'30%','bw_limit':'50%'}}}"
#define PLACE   "{'nodes':['n1'],'ports':['" PORT "']}"

static struct plan *plan_of(struct fleet *fleet, const char *members, const char *policy)
{
    struct plan *plan = NULL;
    struct err err = ERR_INIT;
    char text[2048];
    fleet_init(fleet);
    snprintf(text, sizeof(text), "{'fabric_profile':{%s%s}}", PRIORITIES, members);
    fleet_fabric(fleet, text);
    fleet_tenant(fleet, "t", policy);
    fleet_node(fleet, "n1", NODE);
    fleet_place(fleet, "t", "j", PLACE);
    assert_ok(compile_plan(&fleet->view, &fleet->nodes[0], 1, &plan, &fleet->findings, &err));
    return plan;
}

static void assert_want(const struct plan *plan, const char *kind, const char *id, const char *want)
{
    const struct plan_knob *knob = plan_knob_get(plan, knob_kind_get(kind), PORT, id);
    if (want == NULL) {
        assert_null(knob);
        return;
    }
    assert_non_null(knob);
    OWN(json) json_t *wanted = json_of(want);
    OWN(str) char *a = json_canonical(knob->want, NULL);
    OWN(str) char *b = json_canonical(wanted, NULL);
    assert_string_equal(a, b);
    assert_int_equal(knob->enforcement, ENFORCEMENT_KERNEL);
}

static json_t *actions_of(const struct plan *plan)
{
    const struct plan_knob *knob =
        plan_knob_get(plan, knob_kind_get("tc.flower"), PORT, "egress/1");
    assert_non_null(knob);
    return json_object_get(knob->want, "actions");
}

/* Class 6 before class 5, then 0 and 3 with what is promised: 40 to 60, of which 5 are reserved. */
static void ets_has_a_band_for_each_class(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan) struct plan *plan = plan_of(&fleet, ",'kernel_scheduler':{'kind':'ets'}", POLICY);
    const struct plan_knob *root = plan_knob_get(plan, knob_kind_get("tc.qdisc"), PORT, "root");
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root->want, "bands")), 4);
    assert_int_equal(json_integer_value(json_object_get(root->want, "strict")), 2);
    OWN(json) json_t *priomap = json_of("[2,2,2,3,2,1,0,2,2,2,2,2,2,2,2,2]");
    assert_true(json_equal(json_object_get(root->want, "priomap"), priomap));
    const json_t *quanta = json_object_get(root->want, "quanta");
    int64_t rest = json_integer_value(json_array_get(quanta, 0));
    int64_t job = json_integer_value(json_array_get(quanta, 1));
    assert_int_equal(rest + job, 100 * 1514);
    assert_true(job >= 30 * 1514 && rest >= 5 * 1514);
    OWN(json) json_t *actions = json_of("[{'class':'5e11:4'}]");
    assert_true(json_equal(actions_of(plan), actions));
    assert_want(plan, "tc.class", "5e11:fffe", NULL);
    assert_want(plan, "tc.red", "5e11:4", NULL);
    assert_want(plan, "tc.clsact", "", "true");
    fleet_release(&fleet);
}

static void bands_that_share_mark_when_the_profile_says_so(void **state)
{
    (void)state;
    static const char red[] = "{'ecn':true,'limit_bytes':1600000,'max_bytes':400000,"
                              "'min_bytes':1000,'probability_permyriad':100}";
    struct fleet fleet;
    OWN(plan)
    struct plan *plan =
        plan_of(&fleet, ECN ",'kernel_scheduler':{'kind':'ets','ecn':true}", POLICY);
    assert_want(plan, "tc.red", "5e11:1", NULL); /* strict */
    assert_want(plan, "tc.red", "5e11:3", red);
    assert_want(plan, "tc.red", "5e11:4", red);
    fleet_release(&fleet);
    OWN(plan)
    struct plan *htb = plan_of(&fleet, ECN ",'kernel_scheduler':{'ecn':true}", POLICY);
    assert_want(htb, "tc.red", "5e11:1", red); /* the job's class */
    assert_want(htb, "tc.red", "5e11:ffff", NULL);
    fleet_release(&fleet);
    OWN(plan) struct plan *none = plan_of(&fleet, ECN, POLICY);
    assert_want(none, "tc.red", "5e11:1", NULL);
    fleet_release(&fleet);
}

static void a_small_queue_has_room_for_a_mebibyte(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan)
    struct plan *plan = plan_of(&fleet,
                                ",'ecn':{'kmin_bytes':1,'kmax_bytes':2,'pmax':'100%'},"
                                "'kernel_scheduler':{'ecn':true}",
                                POLICY);
    assert_want(plan, "tc.red", "5e11:1",
                "{'ecn':true,'limit_bytes':1048576,'max_bytes':2,'min_bytes':1,"
                "'probability_permyriad':10000}");
    fleet_release(&fleet);
}

/* ets limits nothing: what was promised is refused, or a policer keeps it. */
static void a_limit_under_ets_needs_a_policer(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan) struct plan *plan = plan_of(&fleet, ",'kernel_scheduler':{'kind':'ets'}", LIMITED);
    assert_int_equal(json_array_size(actions_of(plan)), 1);
    fleet_check_policy(&fleet, "t");
    assert_true(fleet_count(&fleet, "knob-unsupported", FINDING_ERROR) > 0);
    fleet_release(&fleet);
    OWN(plan)
    struct plan *policed =
        plan_of(&fleet, ",'limit_action':'police','kernel_scheduler':{'kind':'ets'}", LIMITED);
    const json_t *action = json_array_get(actions_of(policed), 1);
    assert_int_equal(json_integer_value(json_object_get(action, "police_bps")), 50000000000);
    fleet_check_policy(&fleet, "t");
    assert_int_equal(fleet_count(&fleet, "knob-unsupported", FINDING_ERROR), 0);
    fleet_release(&fleet);
    OWN(plan) struct plan *htb = plan_of(&fleet, "", LIMITED);
    assert_non_null(htb);
    fleet_check_policy(&fleet, "t");
    assert_int_equal(fleet_count(&fleet, "knob-unsupported", FINDING_ERROR), 0);
    fleet_release(&fleet);
}

static void what_a_profile_cannot_ask_for(void **state)
{
    (void)state;
    static const struct {
        const char *members, *pointer;
    } cases[] = {
        {"'kernel_scheduler':{'kind':'fq'}", "/fabric_profile/kernel_scheduler/kind"},
        {"'kernel_scheduler':{'ecn':true}", "/fabric_profile/kernel_scheduler/ecn"},
        {"'kernel_scheduler':{'ecn':1}", "/fabric_profile/kernel_scheduler/ecn"},
        {"'kernel_scheduler':{'bands':3}", "/fabric_profile/kernel_scheduler/bands"},
        {"'ecn':{'kmin_bytes':1,'kmax_bytes':536870913,'pmax':'1%'},'kernel_scheduler':{'ecn':"
         "true}",
         "/fabric_profile/kernel_scheduler/ecn"},
        {"'ecn':{'kmin_bytes':1,'kmax_bytes':536870912,'pmax':'1%'},'kernel_scheduler':{'ecn':"
         "true}",
         NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1024];
        struct err err = ERR_INIT;
        struct fabric *fabric = NULL;
        OWN_FINDINGS struct finding_list findings;
        finding_list_init(&findings);
        snprintf(text, sizeof(text), "{'fabric_profile':{%s,%s}}", PRIORITIES, cases[i].members);
        OWN(json) json_t *json = json_of(text);
        enum err_code code = fabric_from_json(json, &fabric, &findings, &err);
        fabric_free(fabric);
        assert_int_equal(code, cases[i].pointer == NULL ? ERR_OK : ERR_INVALID);
        if (cases[i].pointer != NULL)
            assert_string_equal(findings.items[0].pointer, cases[i].pointer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ets_has_a_band_for_each_class),
        cmocka_unit_test(bands_that_share_mark_when_the_profile_says_so),
        cmocka_unit_test(a_small_queue_has_room_for_a_mebibyte),
        cmocka_unit_test(a_limit_under_ets_needs_a_policer),
        cmocka_unit_test(what_a_profile_cannot_ask_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
