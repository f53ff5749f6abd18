/*
 * tests/unit/fleet/test_device.c - devices' parameters, rates of virtual functions and who manages
 * dcb: in the profile, in capabilities, in plans and as findings.
 */
#include "fleet_test.h"

#define PF "0000:3b:00.0/0"
#define VF(n)                                                                                      \
    "{'id':'0000:3b:00." #n "/0','driver':'mlx5_core','rdma_device':'mlx5_" #n "',"                \
    "'virtual_function':true,'speed_bps':100000000000,'caps':{'devlink_rate':{'port':'" PF "',"    \
    "'leaf':'leaf/pf0vf" #n "'}}}"
#define PF_PORT                                                                                    \
    "{'id':'" PF "','driver':'mlx5_core','speed_bps':100000000000,'caps':{'dcb_app':true,"         \
    "'dcb_pfc':true,'dcb_ets':true,'dcbx_agent':'none','devlink_params':"                          \
    "{'enable_roce':['driverinit'],'max_macs':['driverinit','permanent']}}}"
#define NODE      "{'ports':[" PF_PORT "," VF(1) "," VF(2) "]}"
#define PRIORITY3 "'priorities':[{'priority':0},{'priority':3,'dscps':[26]}]"
#define PARAM(name, cmode, value)                                                                  \
    "{'driver':'mlx5_core','name':'" name "','cmode':'" cmode "','value':" value "}"

static void assert_want(const struct plan *plan, const char *kind, const char *id, const char *want)
{
    const struct plan_knob *knob = plan_knob_get(plan, knob_kind_get(kind), PF, id);
    if (want == NULL) {
        assert_null(knob);
        return;
    }
    assert_non_null(knob);
    OWN(json) json_t *wanted = json_of(want);
    OWN(str) char *a = json_canonical(knob->want, NULL);
    OWN(str) char *b = json_canonical(wanted, NULL);
    assert_string_equal(a, b);
    assert_int_equal(knob->enforcement, ENFORCEMENT_NIC);
}

static struct plan *plan_of(struct fleet *fleet)
{
    struct plan *plan = NULL;
    struct err err = ERR_INIT;
    finding_list_release(&fleet->findings);
    assert_ok(compile_plan(&fleet->view, &fleet->nodes[0], 1, &plan, &fleet->findings, &err));
    return plan;
}

static bool says(const struct fleet *fleet, const char *text)
{
    for (size_t i = 0; i < fleet->findings.count; i++)
        if (strstr(fleet->findings.items[i].message, text) != NULL)
            return true;
    fleet_print(&fleet->findings);
    return false;
}

/* Parameters ---------------------------------------------------------------------------------- */

static void parameters_reach_the_ports_of_their_driver(void **state)
{
    (void)state;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(
        &fleet,
        "{'fabric_profile':{" PRIORITY3
        ",'devlink_params':[" PARAM("max_macs", "permanent", "128") "," PARAM(
            "enable_roce", "driverinit",
            "true") "," PARAM("max_macs", "driverinit",
                              "64") ","
                                    "{'driver':'ice','name':'x','cmode':'runtime','value':1}]}}");
    fleet_node(&fleet, "n1", NODE);
    OWN(plan) struct plan *plan = plan_of(&fleet);
    assert_want(plan, "devlink.param", "enable_roce", "{'driverinit':true}");
    assert_want(plan, "devlink.param", "max_macs", "{'driverinit':64,'permanent':128}");
    assert_want(plan, "devlink.param", "x", NULL);
    fleet_node(&fleet, "n2", "{'ports':[{'id':'" PF "','driver':'mlx5_core','speed_bps':1}]}");
    fleet_check(&fleet, CHANGE_FABRIC, NULL, NULL);
    assert_true(says(&fleet, "1 port cannot take all of the profile's parameters"));
    fleet_release(&fleet);
}

static void a_parameter_that_a_driver_lacks_is_left_out_and_named(void **state)
{
    (void)state;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, "{'fabric_profile':{" PRIORITY3
                         ",'devlink_params':[" PARAM("enable_roce", "permanent", "true") "]}}");
    fleet_node(&fleet, "n1", NODE);
    OWN(plan) struct plan *plan = plan_of(&fleet);
    assert_want(plan, "devlink.param", "enable_roce", NULL);
    assert_true(says(&fleet, "no parameter enable_roce that is permanent"));
    fleet_release(&fleet);
}

static void ports_of_one_device_get_its_parameters_once(void **state)
{
    (void)state;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, "{'fabric_profile':{" PRIORITY3
                         ",'devlink_params':[" PARAM("enable_roce", "driverinit", "false") "]}}");
    fleet_node(&fleet, "n1",
               "{'ports':[" PF_PORT ",{'id':'0000:3b:00.0/1','driver':'mlx5_core',"
               "'speed_bps':1000000,'caps':{'devlink_params':{'enable_roce':['driverinit']}}}]}");
    OWN(plan) struct plan *plan = plan_of(&fleet);
    size_t count = 0;
    for (size_t i = 0; i < plan->knob_count; i++)
        count += strcmp(plan->knobs[i].kind->name, "devlink.param") == 0;
    assert_int_equal(count, 1);
    fleet_release(&fleet);
}

static void a_parameter_says_what_it_takes(void **state)
{
    (void)state;
    static const struct {
        const char *want;
        enum disruption disruption;
    } cases[] = {{"{'runtime':1}", DISRUPTION_NONE},
                 {"{'driverinit':1,'runtime':1}", DISRUPTION_DRIVER_RELOAD},
                 {"{'driverinit':1,'permanent':1}", DISRUPTION_REBOOT}};
    const struct knob_kind *kind = knob_kind_get("devlink.param");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        OWN(json) json_t *want = json_of(cases[i].want);
        assert_int_equal(knob_disruption(kind, want), cases[i].disruption);
    }
    assert_int_equal(knob_disruption(kind, NULL), DISRUPTION_DRIVER_RELOAD);
    assert_int_equal(knob_disruption(knob_kind_get("dcb.pfc"), NULL), DISRUPTION_LINK_RESET);
}

static void what_a_profile_cannot_ask_for(void **state)
{
    (void)state;
    static const struct {
        const char *member, *pointer;
    } cases[] = {
        {"'dcbx':'firmware'", "/fabric_profile/dcbx"},
        {"'devlink_params':[{}]", "/fabric_profile/devlink_params/0/driver"},
        {"'devlink_params':[" PARAM("a b", "runtime", "1") "]",
         "/fabric_profile/devlink_params/0/name"},
        {"'devlink_params':[" PARAM("a", "boot", "1") "]",
         "/fabric_profile/devlink_params/0/cmode"},
        {"'devlink_params':[" PARAM("a", "runtime", "null") "]",
         "/fabric_profile/devlink_params/0/value"},
        {"'devlink_params':[" PARAM("a", "runtime", "4294967296") "]",
         "/fabric_profile/devlink_params/0/value"},
        {"'devlink_params':[" PARAM("a", "runtime", "-1") "]",
         "/fabric_profile/devlink_params/0/value"},
        {"'devlink_params':[" PARAM("a", "runtime", "'32 bytes_are_one_more_than_it_has'") "]",
         "/fabric_profile/devlink_params/0/value"},
        {"'devlink_params':[" PARAM("a", "runtime", "1") "," PARAM("a", "runtime", "2") "]",
         "/fabric_profile/devlink_params"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        struct fabric *fabric = NULL;
        char text[1024];
        snprintf(text, sizeof(text), "{'fabric_profile':{" PRIORITY3 ",%s}}", cases[i].member);
        OWN(json) json_t *document = json_of(text);
        assert_fails(fabric_from_json(document, &fabric, NULL, &err), ERR_INVALID);
        assert_string_equal(err.pointer, cases[i].pointer);
    }
}

/* Rates --------------------------------------------------------------------------------------- */

static void a_job_on_a_virtual_function_is_held_by_the_nic(void **state)
{
    (void)state;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, "{'fabric_profile':{" PRIORITY3 "}}");
    fleet_tenant(&fleet, "a",
                 "{'qos_policy':{'j1':{'priority':3,'bw_guarantee':'30%','bw_limit':'60%'},"
                 "'j2':{'priority':3,'bw_guarantee':'10.00005Gbps'}}}");
    fleet_node(&fleet, "n1", NODE);
    fleet_place(&fleet, "a", "j1", "{'nodes':['n1'],'ports':['0000:3b:00.1/0']}");
    fleet_place(&fleet, "a", "j2", "{'nodes':['n1'],'ports':['0000:3b:00.2/0']}");
    OWN(plan) struct plan *plan = plan_of(&fleet);
    assert_want(plan, "devlink.rate", "leaf/pf0vf1",
                "{'parent':'stellar','tx_max_bps':60000000000,'tx_share_bps':30000000000}");
    assert_want(plan, "devlink.rate", "leaf/pf0vf2", /* up: down would break the promise */
                "{'parent':'stellar','tx_max_bps':null,'tx_share_bps':10001000000}");
    assert_want(plan, "devlink.rate", "node/stellar",
                "{'tx_max_bps':null,'tx_share_bps':40001000000}");
    const struct plan_knob *leaf =
        plan_knob_get(plan, knob_kind_get("devlink.rate"), PF, "leaf/pf0vf1");
    assert_string_equal(leaf->job, "j1");
    assert_string_equal(leaf->tenant, "a");
    OWN(str) char *text = enforcement_text(&fleet.view, "a");
    assert_string_equal(text, "{\"j1\":{\"guarantee\":\"nic\",\"limit\":\"nic\"},"
                              "\"j2\":{\"guarantee\":\"nic\"}}");
    fleet_release(&fleet);
}

static void a_function_pauses_as_its_port_does(void **state)
{
    (void)state;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, "{'fabric_profile':{'priorities':[{'priority':0},{'priority':3,"
                         "'dscps':[26],'lossless':true}]}}");
    fleet_tenant(&fleet, "a", "{'qos_policy':{'j1':{'priority':3}}}");
    fleet_node(&fleet, "n1", NODE);
    fleet_place(&fleet, "a", "j1", "{'nodes':['n1'],'ports':['0000:3b:00.1/0']}");
    fleet_check_policy(&fleet, "a");
    assert_silent(&fleet, "knob-unsupported");
    OWN(plan) struct plan *plan = plan_of(&fleet);
    assert_want(plan, "dcb.pfc", "", "{'delay':0,'priorities':[3]}");
    assert_null(plan_knob_get(plan, knob_kind_get("dcb.pfc"), "0000:3b:00.1/0", ""));
    assert_silent(&fleet, "knob-unsupported"); /* what functions share is no lack of theirs */
    fleet_release(&fleet);
}

static void jobs_that_share_a_function_share_its_rates(void **state)
{
    (void)state;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, "{'fabric_profile':{" PRIORITY3 "}}");
    fleet_tenant(&fleet, "a",
                 "{'qos_policy':{'j1':{'priority':3,'bw_guarantee':'30%','bw_limit':'60%'},"
                 "'j2':{'priority':3,'bw_guarantee':'20%','bw_limit':'20%'}}}");
    fleet_node(&fleet, "n1", NODE);
    fleet_place(&fleet, "a", "j1", "{'nodes':['n1'],'ports':['0000:3b:00.1/0']}");
    fleet_place(&fleet, "a", "j2", "{'nodes':['n1'],'ports':['0000:3b:00.1/0']}");
    OWN(plan) struct plan *plan = plan_of(&fleet);
    assert_want(plan, "devlink.rate", "leaf/pf0vf1",
                "{'parent':'stellar','tx_max_bps':80000000000,'tx_share_bps':50000000000}");
    assert_want(plan, "devlink.rate", "leaf/pf0vf2", NULL); /* nobody is on it */
    OWN(str) char *text = enforcement_text(&fleet.view, "a");
    assert_string_equal(text, "{\"j1\":{\"guarantee\":\"nic\",\"limit\":\"none\"},"
                              "\"j2\":{\"guarantee\":\"nic\",\"limit\":\"none\"}}");
    fleet_release(&fleet);
}

static void functions_are_never_promised_more_than_their_port_has(void **state)
{
    (void)state;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, "{'fabric_profile':{" PRIORITY3 "}}");
    fleet_tenant(&fleet, "a",
                 "{'qos_policy':{'j1':{'priority':3,'bw_guarantee':'60%'},"
                 "'j2':{'priority':3,'bw_guarantee':'60%'}}}");
    fleet_node(&fleet, "n1", NODE);
    fleet_place(&fleet, "a", "j1", "{'nodes':['n1'],'ports':['0000:3b:00.1/0']}");
    fleet_place(&fleet, "a", "j2", "{'nodes':['n1'],'ports':['0000:3b:00.2/0']}");
    OWN(plan) struct plan *plan = plan_of(&fleet);
    assert_want(plan, "devlink.rate", "leaf/pf0vf2",
                "{'parent':'stellar','tx_max_bps':null,'tx_share_bps':null}");
    assert_want(plan, "devlink.rate", "node/stellar",
                "{'tx_max_bps':null,'tx_share_bps':60000000000}");
    assert_true(says(&fleet, "guaranteed more than that port has"));
    fleet_release(&fleet);
}

/* Who manages dcb ----------------------------------------------------------------------------- */

static void the_host_manages_dcb(void **state)
{
    (void)state;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, "{'fabric_profile':{" PRIORITY3 "}}");
    fleet_node(&fleet, "n1", NODE);
    OWN(plan) struct plan *plan = plan_of(&fleet);
    assert_want(plan, "dcb.dcbx", "", "{'agent':'none','mode':['host','ieee']}");
    fleet_fabric(&fleet, "{'fabric_profile':{" PRIORITY3 ",'dcbx':'unmanaged'}}");
    OWN(plan) struct plan *unmanaged = plan_of(&fleet);
    assert_want(unmanaged, "dcb.dcbx", "", NULL);
    fleet_check(&fleet, CHANGE_FABRIC, NULL, NULL);
    assert_silent(&fleet, "dcbx-conflict");
    fleet_release(&fleet);
}

static void another_manager_is_named_and_its_port_left_alone(void **state)
{
    (void)state;
    struct fleet fleet;
    fleet_init(&fleet);
    fleet_fabric(&fleet, "{'fabric_profile':{" PRIORITY3 "}}");
    fleet_node(&fleet, "n1",
               "{'ports':[{'id':'" PF "','driver':'bnxt_en','speed_bps':100000000000,"
               "'caps':{'dcb_pfc':true,'dcb_app':true,'dcbx_agent':'lldpad'}}]}");
    OWN(plan) struct plan *plan = plan_of(&fleet);
    assert_want(plan, "dcb.dcbx", "", NULL);
    assert_want(plan, "dcb.pfc", "", NULL);
    assert_true(says(&fleet, "lldpad manages its DCB"));
    fleet_check(&fleet, CHANGE_FABRIC, NULL, NULL);
    const struct finding *finding = fleet_finding(&fleet, "dcbx-conflict");
    assert_int_equal(finding->severity, FINDING_WARNING);
    assert_contains(finding->message, "1 port has another DCBX agent");
    assert_string_equal(finding->observed, "lldpad");
    fleet_fabric(&fleet, "{'fabric_profile':{" PRIORITY3 ",'dcbx':'unmanaged'}}");
    OWN(plan) struct plan *unmanaged = plan_of(&fleet);
    assert_want(unmanaged, "dcb.pfc", "", "{'delay':0,'priorities':[]}");
    fleet_release(&fleet);
}

/* Capabilities -------------------------------------------------------------------------------- */

static void capabilities_are_hostile_until_read(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "'dcbx_agent':''",
        "'dcbx_agent':'a name of 16 ch.'",
        "'devlink_params':[]",
        "'devlink_params':{'a':1}",
        "'devlink_params':{'a b':['runtime']}",
        "'devlink_params':{'a':['run time']}",
        "'devlink_params':{'a':[1]}",
        "'devlink_rate':{'port':'x/0'}",
        "'devlink_rate':{'port':'x/0','leaf':'node/x'}",
        "'devlink_rate':{'port':'x/0','leaf':'leaf/'}",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[512];
        struct err err = ERR_INIT;
        struct inventory *inventory = NULL;
        snprintf(text, sizeof(text), "{'ports':[{'id':'a/0','caps':{%s}}]}", wrong[i]);
        OWN(json) json_t *json = json_of(text);
        assert_fails(inventory_from_json(json, &inventory, NULL, &err), ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_reach_the_ports_of_their_driver),
        cmocka_unit_test(a_parameter_that_a_driver_lacks_is_left_out_and_named),
        cmocka_unit_test(ports_of_one_device_get_its_parameters_once),
        cmocka_unit_test(a_parameter_says_what_it_takes),
        cmocka_unit_test(what_a_profile_cannot_ask_for),
        cmocka_unit_test(a_job_on_a_virtual_function_is_held_by_the_nic),
        cmocka_unit_test(a_function_pauses_as_its_port_does),
        cmocka_unit_test(jobs_that_share_a_function_share_its_rates),
        cmocka_unit_test(functions_are_never_promised_more_than_their_port_has),
        cmocka_unit_test(the_host_manages_dcb),
        cmocka_unit_test(another_manager_is_named_and_its_port_left_alone),
        cmocka_unit_test(capabilities_are_hostile_until_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
