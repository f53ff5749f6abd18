/*
 * tests/unit/fleet/test_roce.c - RoCE in the profile, in capabilities and in plans.
 */
#include "fleet_test.h"

#include "fleet/compile.h"
#include "fleet/roce_cc.h"

#define PRIORITIES                                                                                 \
    "\"priorities\":[{\"priority\":0},{\"priority\":3,\"dscps\":[28,26],\"lossless\":true}]"
#define CNP   "\"cnp\":{\"dscp\":48,\"priority\":6}"
#define PORT  "{\"id\":\"0000:3b:00.0/0\",\"speed_bps\":100000000000,\"driver\":\"mlx5_core\""
#define NO_CC PORT "}"
#define CC                                                                                         \
    PORT                                                                                           \
        ",\"caps\":{\"roce_tos\":true,\"roce_cc\":{\"backend\":\"mlx5-ofed\",\"notify\":true,"     \
        "\"react\":true,\"parameters\":[\"cnp_dscp\",\"cnp_priority\",\"dce_tcp_g\",\"newer\"]}}}"
#define MIN_CC                                                                                     \
    PORT ",\"caps\":{\"roce_cc\":{\"backend\":\"bnxt-debugfs\",\"parameters\":[\"init_cr\"]}}}"

static struct fabric *fabric_of(const char *members)
{
    char text[4096];
    struct err err = ERR_INIT;
    struct fabric *fabric = NULL;
    snprintf(text, sizeof(text), "{\"fabric_profile\":{" PRIORITIES "%s%s}}",
             members[0] == '\0' ? "" : ",", members);
    OWN(json) json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_ok(fabric_from_json(json, &fabric, NULL, &err));
    return fabric;
}

/* Compiles a node with one port; findings may be NULL. */
static struct plan *plan_of(const struct fabric *fabric, const char *port,
                            struct finding_list *findings)
{
    char text[2048];
    struct err err = ERR_INIT;
    struct plan *plan = NULL;
    OWN(inventory) struct inventory *inventory = NULL;
    snprintf(text, sizeof(text), "{\"ports\":[%s]}", port);
    OWN(json) json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_ok(inventory_from_json(json, &inventory, NULL, &err));
    struct view_node node = {.name = "n1", .inventory = inventory};
    struct view view = {.fabric = fabric, .nodes = &node, .node_count = 1};
    assert_ok(compile_plan(&view, &node, 1, &plan, findings, &err));
    return plan;
}

static void assert_want(const struct plan *plan, const char *kind, const char *want)
{
    const struct plan_knob *knob = plan_knob_get(plan, knob_kind_get(kind), "0000:3b:00.0/0", "");
    if (want == NULL) {
        assert_null(knob);
        return;
    }
    assert_non_null(knob);
    OWN(str) char *text = json_canonical(knob->want, NULL);
    assert_string_equal(text, want);
    assert_int_equal(knob->enforcement, ENFORCEMENT_NIC);
}

static bool finds(const struct finding_list *findings, const char *text)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strstr(findings->items[i].message, text) != NULL)
            return true;
    return false;
}

static void the_type_of_service_is_the_lowest_dscp_ecn_capable(void **state)
{
    (void)state;
    OWN(fabric) struct fabric *fabric = fabric_of("\"roce\":{\"priority\":3}");
    OWN(plan) struct plan *plan = plan_of(fabric, CC, NULL);
    assert_want(plan, "roce.tos", "{\"mode\":\"RoCE v2\",\"tos\":106}");
    assert_want(plan, "roce.cc", NULL);
}

static void without_rdma_cm_the_type_of_service_is_left_out(void **state)
{
    (void)state;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    OWN(fabric) struct fabric *fabric = fabric_of("\"roce\":{\"priority\":3}");
    OWN(plan) struct plan *plan = plan_of(fabric, NO_CC, &findings);
    assert_want(plan, "roce.tos", NULL);
    assert_true(finds(&findings, "rdma_cm"));
}

static void the_profiles_cnp_reaches_nics_that_mark_them(void **state)
{
    (void)state;
    OWN(fabric) struct fabric *fabric = fabric_of(CNP);
    OWN(plan) struct plan *plan = plan_of(fabric, CC, NULL);
    assert_want(plan, "roce.cc", "{\"parameters\":{\"cnp_dscp\":48,\"cnp_priority\":6}}");
    OWN(plan) struct plan *without = plan_of(fabric, NO_CC, NULL);
    assert_want(without, "roce.cc", NULL);
}

static void parameters_go_before_the_profiles_cnp(void **state)
{
    (void)state;
    OWN(fabric)
    struct fabric *fabric =
        fabric_of(CNP ",\"roce\":{\"congestion_control\":{\"notify\":[3],\"react\":[3],"
                      "\"parameters\":{\"cnp_dscp\":40,\"dce_tcp_g\":1000}}}");
    OWN(plan) struct plan *plan = plan_of(fabric, CC, NULL);
    assert_want(plan, "roce.cc",
                "{\"notify\":[3],\"parameters\":{\"cnp_dscp\":40,\"cnp_priority\":6,"
                "\"dce_tcp_g\":1000},\"react\":[3]}");
}

static void a_nic_takes_what_it_has_and_the_rest_is_named(void **state)
{
    (void)state;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    OWN(fabric)
    struct fabric *fabric = fabric_of("\"roce\":{\"congestion_control\":{\"react\":[3],"
                                      "\"parameters\":{\"init_cr\":5,\"dce_tcp_g\":1000}}}");
    OWN(plan) struct plan *plan = plan_of(fabric, MIN_CC, &findings);
    assert_want(plan, "roce.cc", "{\"parameters\":{\"init_cr\":5}}");
    assert_true(finds(&findings, "no dce_tcp_g, react"));
}

static void refuses(const char *members, const char *pointer)
{
    char text[2048];
    struct err err = ERR_INIT;
    struct fabric *fabric = NULL;
    snprintf(text, sizeof(text), "{\"fabric_profile\":{" PRIORITIES ",%s}}", members);
    OWN(json) json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_fails(fabric_from_json(json, &fabric, NULL, &err), ERR_INVALID);
    assert_string_equal(err.pointer, pointer);
}

static void what_a_profile_cannot_ask_for(void **state)
{
    (void)state;
#define AT "/fabric_profile/roce"
    refuses("\"roce\":{\"priority\":0}", AT "/priority"); /* has no DSCP */
    refuses("\"roce\":{\"priority\":5}", AT "/priority"); /* not offered */
    refuses("\"roce\":{\"priority\":8}", AT "/priority");
    refuses("\"roce\":{\"tos\":106}", AT "/tos");
#define AT_CC       AT "/congestion_control"
#define CC_OF(text) "\"roce\":{\"congestion_control\":{" text "}}"
    refuses(CC_OF("\"react\":[5]"), AT_CC "/react");
    refuses(CC_OF("\"notify\":[3,3]"), AT_CC "/notify");
    refuses(CC_OF("\"notify\":[8]"), AT_CC "/notify");
    refuses(CC_OF("\"notify\":[-1]"), AT_CC "/notify");
    refuses(CC_OF("\"notify\":3"), AT_CC "/notify");
    refuses(CC_OF("\"parameters\":{\"cnp_dcsp\":3}"), AT_CC "/parameters/cnp_dcsp");
    refuses(CC_OF("\"parameters\":{\"cnp_dscp\":\"48\"}"), AT_CC "/parameters/cnp_dscp");
}

static void every_parameter_has_its_boundaries(void **state)
{
    (void)state;
    for (int i = 0; i < ROCE_CC_IDS; i++) {
        const struct roce_cc_param *param = &roce_cc_params[i];
        const int64_t values[] = {param->min - 1, param->min, param->max, param->max + 1};
        assert_int_equal(roce_cc_param_get(param->name), i);
        for (int v = 0; v < 4; v++) {
            struct err err = ERR_INIT;
            OWN(fabric) struct fabric *fabric = NULL;
            char text[512];
            snprintf(text, sizeof(text),
                     "{\"fabric_profile\":{" PRIORITIES ",\"roce\":{\"congestion_control\":"
                     "{\"parameters\":{\"%s\":%lld}}}}}",
                     param->name, (long long)values[v]);
            OWN(json) json_t *json = json_loads(text, 0, NULL);
            bool good = v == 1 || v == 2;
            if (good)
                assert_ok(fabric_from_json(json, &fabric, NULL, &err));
            else
                assert_fails(fabric_from_json(json, &fabric, NULL, &err), ERR_INVALID);
            if (good)
                assert_int_equal(fabric->cc.values[i], values[v]);
        }
    }
    assert_int_equal(roce_cc_param_get("no_such"), -1);
}

static void a_value_goes_through_json_and_back(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{\"parameters\":{}}",
        "{\"notify\":[],\"parameters\":{}}",
        "{\"notify\":[0,7],\"parameters\":{\"cnp_dscp\":48,\"rpg_gd\":99},\"react\":[3]}",
    };
    static const char *const wrong[] = {"{\"parameters\":{\"cnp_dscp\":-1}}", "{\"parameters\":[]}",
                                        "{\"other\":1}", "{\"notify\":[\"3\"],\"parameters\":{}}"};
    struct roce_cc cc;
    struct err err = ERR_INIT;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        OWN(json) json_t *json = json_loads(good[i], 0, NULL);
        assert_ok(roce_cc_from_json(json, &cc, &err));
        assert_int_equal(roce_cc_is_empty(&cc), i == 0);
        OWN(json) json_t *back = roce_cc_to_json(&cc);
        OWN(str) char *text = json_canonical(back, NULL);
        assert_string_equal(text, good[i]);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        OWN(json) json_t *json = json_loads(wrong[i], 0, NULL);
        assert_fails(roce_cc_from_json(json, &cc, &err), ERR_INVALID);
    }
    assert_fails(roce_cc_from_json(NULL, &cc, &err), ERR_INVALID);
}

static void capabilities_are_hostile_until_read(void **state)
{
    (void)state;
    static const char *const wrong[] = {"\"roce_tos\":1", "\"roce_cc\":true",
                                        "\"roce_cc\":{\"parameters\":[]}",
                                        "\"roce_cc\":{\"backend\":\"x\",\"parameters\":[1]}",
                                        "\"roce_cc\":{\"backend\":\"x\",\"other\":1}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[512];
        struct err err = ERR_INIT;
        struct inventory *inventory = NULL;
        snprintf(text, sizeof(text), "{\"ports\":[{\"id\":\"a/0\",\"caps\":{%s}}]}", wrong[i]);
        OWN(json) json_t *json = json_loads(text, 0, NULL);
        assert_fails(inventory_from_json(json, &inventory, NULL, &err), ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_type_of_service_is_the_lowest_dscp_ecn_capable),
        cmocka_unit_test(without_rdma_cm_the_type_of_service_is_left_out),
        cmocka_unit_test(the_profiles_cnp_reaches_nics_that_mark_them),
        cmocka_unit_test(parameters_go_before_the_profiles_cnp),
        cmocka_unit_test(a_nic_takes_what_it_has_and_the_rest_is_named),
        cmocka_unit_test(what_a_profile_cannot_ask_for),
        cmocka_unit_test(every_parameter_has_its_boundaries),
        cmocka_unit_test(a_value_goes_through_json_and_back),
        cmocka_unit_test(capabilities_are_hostile_until_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
