/*
 * tests/unit/datapath/test_dp_sim.c - the simulator behaves as the kernel with the test NIC, and
 * fails when told to.
 */
#include "tests/unit/datapath/dp_test.h"

#include <poll.h>

#include "datapath/dp_sim.h"
#include "fleet/inventory.h"

#define P0      "sim.0/0"
#define ROUNDED "[1250000000,null,null,null,null,null,null,null]"

static struct dp *sim(const struct dp_sim_config *config)
{
    struct dp *dp = NULL;
    struct err err = ERR_INIT;
    assert_ok(dp_sim_new(config, &dp, &err));
    return dp;
}

static void its_inventory_is_one(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 2});
    OWN(json) json_t *json = NULL;
    OWN(inventory) struct inventory *inventory = NULL;
    struct err err = ERR_INIT;
    assert_ok(dp_inventory(dp, &json, &err));
    assert_ok(inventory_from_json(json, &inventory, NULL, &err));
    assert_int_equal(inventory->port_count, 2);
    const struct port *port = inventory_port_get(inventory, "sim.1/0");
    assert_non_null(port);
    assert_string_equal(port->ifname, "sim1");
    assert_int_equal(port->speed_bps, INT64_C(100000000000));
    assert_int_equal(port->caps.flower_hw_entries, 64);
    assert_true(port->caps.dcb_pfc && port->rdma_software);
}

static void ports_are_counted(void **state)
{
    (void)state;
    struct dp *dp = NULL;
    struct err err = ERR_INIT;
    assert_fails(dp_sim_new(&(struct dp_sim_config){.port_count = 0}, &dp, &err), ERR_INVALID);
    assert_fails(dp_sim_new(&(struct dp_sim_config){.port_count = 129}, &dp, &err), ERR_INVALID);
    assert_ok(dp_sim_new(&(struct dp_sim_config){.port_count = 128}, &dp, &err));
    dp_free(dp);
    dp_free(NULL);
}

static void a_value_is_set_and_shown(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    assert_ok(apply_step(dp, "dcb.pfc", P0, "", "{\"delay\":0,\"priorities\":[3]}", &err));
    assert_shows(dp, "dcb.pfc", P0, "", "{\"delay\":0,\"priorities\":[3]}");
    assert_ok(apply_step(dp, "host.thp", "host", "", "\"never\"", &err));
    assert_shows(dp, "host.thp", "host", "", "\"never\"");
    assert_int_equal(dp_sim_apply_count(dp), 2);
}

static void a_module_parameter_comes_and_goes(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    assert_shows(dp, "host.modparam", "host", "solar_rdma.max_sge", "absent");
    assert_ok(apply_step(dp, "host.modparam", "host", "solar_rdma.max_sge", "\"256\"", &err));
    assert_shows(dp, "host.modparam", "host", "solar_rdma.max_sge", "\"256\"");
    assert_ok(apply_step(dp, "host.modparam", "host", "solar_rdma.max_sge", NULL, &err));
    assert_shows(dp, "host.modparam", "host", "solar_rdma.max_sge", "absent");
}

static void what_it_cannot_do_is_found_without_a_change(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1, .no_pfc = true});
    struct err err = ERR_INIT;
    const char *pfc = "{\"delay\":0,\"priorities\":[3]}";
    assert_fails(check_step(dp, "dcb.pfc", P0, "", pfc, &err), ERR_UNSUPPORTED);
    assert_contains(err.text, P0);
    assert_contains(err.text, "dcb.pfc");
    assert_shows(dp, "dcb.pfc", P0, "", "absent");
    assert_fails(check_step(dp, "host.sysctl", "host", "no.such", "\"1\"", &err), ERR_UNSUPPORTED);
    assert_fails(check_step(dp, "dcb.pfc", "sim.1/0", "", pfc, &err), ERR_NOT_FOUND);
    assert_fails(check_step(dp, "link.mtu", "host", "", "1500", &err), ERR_INVALID);
    assert_fails(check_step(dp, "link.mtu", P0, "", NULL, &err), ERR_INVALID);
    assert_fails(check_step(dp, "link.mtu", P0, "", "67", &err), ERR_INVALID);
}

static void a_port_that_is_gone_is_a_problem(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    OWN(str) char *shown = observed_as(dp, "link.mtu", "sim.7/0", "", "1500");
    assert_contains(shown, "problem: port sim.7/0 is not there");
}

static void a_filter_needs_its_hook(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    const char *flower = FLOWER("00000001", "no");
    assert_fails(apply_step(dp, "tc.flower", P0, "egress/1", flower, &err), ERR_IO);
    assert_ok(apply_step(dp, "tc.clsact", P0, "", "true", &err));
    assert_ok(apply_step(dp, "tc.flower", P0, "egress/1", flower, &err));
    assert_ok(apply_step(dp, "tc.clsact", P0, "", NULL, &err));
    assert_shows(dp, "tc.flower", P0, "egress/1", "absent");
}

static void a_class_needs_qdisc_and_parent(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    const char *child = CLASS("1000", "5e11:fffe");
    assert_fails(apply_step(dp, "tc.class", P0, "5e11:1", child, &err), ERR_IO);
    assert_ok(apply_step(dp, "tc.qdisc", P0, "root", QDISC, &err));
    assert_fails(apply_step(dp, "tc.class", P0, "5e11:1", child, &err), ERR_IO);
    assert_ok(apply_step(dp, "tc.class", P0, "5e11:fffe", CLASS("1000", "5e11:"), &err));
    assert_ok(apply_step(dp, "tc.class", P0, "5e11:1", child, &err));
    assert_fails(apply_step(dp, "tc.class", P0, "5e11:fffe", NULL, &err), ERR_IO);
    assert_ok(apply_step(dp, "tc.qdisc", P0, "root", NULL, &err));
    assert_shows(dp, "tc.class", P0, "5e11:1", "absent");
}

static void the_flow_table_ends(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1, .flow_entries = 2});
    struct err err = ERR_INIT;
    assert_ok(apply_step(dp, "tc.clsact", P0, "", "true", &err));
    assert_ok(apply_step(dp, "tc.flower", P0, "ingress/1", FLOWER("00000001", "only"), &err));
    assert_ok(apply_step(dp, "tc.flower", P0, "ingress/2", FLOWER("00000002", "only"), &err));
    assert_fails(apply_step(dp, "tc.flower", P0, "ingress/3", FLOWER("00000003", "only"), &err),
                 ERR_LIMIT);
    assert_contains(err.text, "flow table full");
    assert_ok(apply_step(dp, "tc.flower", P0, "egress/3", FLOWER("00000003", "no"), &err));
    assert_ok(apply_step(dp, "tc.flower", P0, "ingress/1", FLOWER("00000001", "only"), &err));
    assert_ok(apply_step(dp, "tc.flower", P0, "ingress/1", NULL, &err));
    assert_ok(apply_step(dp, "tc.flower", P0, "ingress/3", FLOWER("00000003", "only"), &err));
}

static void rates_are_floored_when_told(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    assert_ok(apply_step(dp, "dcb.maxrate", P0, "", ROUNDED, &err));
    assert_shows(dp, "dcb.maxrate", P0, "", ROUNDED);
    dp_sim_set_rate_unit(dp, 100000000);
    assert_ok(apply_step(dp, "dcb.maxrate", P0, "", ROUNDED, &err));
    assert_shows(dp, "dcb.maxrate", P0, "", "[1200000000,null,null,null,null,null,null,null]");
    struct plan_step step = make_step("dcb.maxrate", P0, "", ROUNDED, true);
    assert_fails(dp_apply(dp, &step, &err), ERR_IO);
    assert_contains(err.text, "kernel took");
    plan_step_release(&step);
    assert_fails(check_step(dp, "dcb.maxrate", P0, "",
                            "[99999999,null,null,null,null,null,null,null]", &err),
                 ERR_INVALID);
}

static void the_nth_change_fails(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    dp_sim_fail_apply(dp, 2, false);
    assert_ok(apply_step(dp, "link.mtu", P0, "", "2000", &err));
    assert_fails(apply_step(dp, "link.mtu", P0, "", "3000", &err), ERR_IO);
    assert_shows(dp, "link.mtu", P0, "", "2000");
    assert_ok(apply_step(dp, "link.mtu", P0, "", "4000", &err));
    dp_sim_fail_apply(dp, 1, true);
    assert_fails(apply_step(dp, "link.mtu", P0, "", "5000", &err), ERR_IO);
    assert_shows(dp, "link.mtu", P0, "", "5000"); /* done, and then the failure */
    dp_sim_fail_all(dp, true);
    assert_fails(apply_step(dp, "link.mtu", P0, "", "6000", &err), ERR_IO);
    assert_fails(apply_step(dp, "link.mtu", P0, "", "6000", &err), ERR_IO);
    dp_sim_fail_all(dp, false);
    assert_ok(apply_step(dp, "link.mtu", P0, "", "6000", &err));
    assert_int_equal(dp_sim_apply_count(dp), 7);
}

static void a_run_goes_on_behind_a_step_that_fails(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    struct dp_progress did;
    struct plan_step steps[] = {
        make_step("tc.clsact", P0, "", "true", false),
        make_step("tc.flower", P0, "egress/1", FLOWER("00000001", "no"), false),
        make_step("tc.flower", P0, "egress/2", FLOWER("00000002", "no"), false),
        make_step("tc.flower", P0, "egress/3", FLOWER("00000003", "no"), false),
    };
    assert_ok(dp_apply_run(dp, steps, 4, &did, &err));
    assert_int_equal(did.begun, 1); /* another kind is another run */
    assert_int_equal(did.failed, 1);
    dp_sim_fail_apply(dp, 2, false);
    assert_fails(dp_apply_run(dp, steps + 1, 3, &did, &err), ERR_IO);
    assert_contains(err.text, "egress/2");
    assert_int_equal(did.begun, 3);
    assert_int_equal(did.failed, 1);
    assert_shows(dp, "tc.flower", P0, "egress/2", "absent");
    assert_shows(dp, "tc.flower", P0, "egress/3", FLOWER("00000003", "no"));
    for (size_t i = 0; i < 4; i++)
        plan_step_release(&steps[i]);
}

static bool is_readable(struct dp *dp)
{
    struct pollfd pfd = {.fd = dp_event_fd(dp), .events = POLLIN};
    return poll(&pfd, 1, 0) == 1;
}

static void a_poke_is_an_event(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    bool changed = true;
    assert_false(is_readable(dp));
    assert_ok(dp_drain(dp, &changed, &err));
    assert_false(changed);
    OWN(json) json_t *mtu = json_integer(9000);
    assert_ok(dp_sim_poke(dp, "link.mtu", P0, "", mtu, &err));
    assert_true(is_readable(dp));
    assert_ok(dp_drain(dp, &changed, &err));
    assert_true(changed);
    assert_false(is_readable(dp));
    assert_shows(dp, "link.mtu", P0, "", "9000");
    assert_fails(dp_sim_poke(dp, "no.such", P0, "", mtu, &err), ERR_NOT_FOUND);
    assert_fails(dp_sim_poke(dp, "link.mtu", "sim.1/0", "", mtu, &err), ERR_NOT_FOUND);
}

static enum knob_owner owner(struct dp *dp, const char *kind, const char *id)
{
    struct err err = ERR_INIT;
    OWN_STATE struct state state;
    state_init(&state);
    assert_ok(dp_observe(dp, NULL, &state, &err));
    const struct state_knob *knob = state_get(&state, knob_kind_get(kind), P0, id);
    assert_non_null(knob);
    return knob->owner;
}

static void other_peoples_things_are_left_alone(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    OWN(json) json_t *filter = parse("{\"cookie\":\"00\"}");
    OWN(json) json_t *tbf = parse("{\"handle\":\"7:\",\"kind\":\"tbf\"}");
    assert_ok(apply_step(dp, "tc.clsact", P0, "", "true", &err));
    assert_int_equal(owner(dp, "tc.clsact", ""), KNOB_OWNER_STELLAR);
    assert_ok(dp_sim_poke(dp, "tc.flower", P0, "egress/9", filter, &err));
    assert_int_equal(owner(dp, "tc.flower", "egress/9"), KNOB_OWNER_OTHER);
    assert_int_equal(owner(dp, "tc.clsact", ""), KNOB_OWNER_OTHER);
    assert_fails(apply_step(dp, "tc.flower", P0, "egress/9", FLOWER("00000009", "no"), &err),
                 ERR_CONFLICT);
    assert_fails(apply_step(dp, "tc.flower", P0, "egress/9", NULL, &err), ERR_CONFLICT);
    assert_fails(apply_step(dp, "tc.clsact", P0, "", NULL, &err), ERR_CONFLICT);
    assert_ok(dp_sim_poke(dp, "tc.qdisc", P0, "root", tbf, &err));
    assert_int_equal(owner(dp, "tc.qdisc", "root"), KNOB_OWNER_OTHER);
    assert_fails(apply_step(dp, "tc.qdisc", P0, "root", QDISC, &err), ERR_CONFLICT);
    assert_fails(apply_step(dp, "tc.qdisc", P0, "root", NULL, &err), ERR_CONFLICT);
}

#define PFC "{\"delay\":0,\"priorities\":[3]}"

static void faults_are_named_by_a_text(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "fail",
                                        "fail:",
                                        "fail:no.such",
                                        "burn:dcb.pfc",
                                        ":",
                                        "fail-step:0",
                                        "fail-step:-1",
                                        "fail-step:1x",
                                        "fail-step:1000001",
                                        "refuse:",
                                        "dcb.pfc",
                                        "fail-step:",
                                        "link-down:tc.class",
                                        "flash:",
                                        "peers-silent:tc.class",
                                        "peers-silent:",
                                        "alter:",
                                        "alter:tc.class",
                                        "flash:burn",
                                        "flash:fail-",
                                        "flash:fail-101",
                                        "flash:slow-60001",
                                        "flash:fail-5x"};
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_fails(dp_sim_fault(dp, wrong[i], &err), ERR_INVALID);
    for (int i = 0; i < SIM_FAULTS_MAX; i++)
        assert_ok(dp_sim_fault(dp, "fail-step:1000000", &err));
    assert_fails(dp_sim_fault(dp, "fail-step:1000000", &err), ERR_LIMIT);
}

static void a_step_fails_by_its_number_once(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct err err = ERR_INIT;
    assert_ok(dp_sim_fault(dp, "fail-step:2", &err));
    assert_ok(apply_step(dp, "link.mtu", P0, "", "3000", &err));
    assert_fails(apply_step(dp, "link.mtu", P0, "", "4000", &err), ERR_IO);
    assert_shows(dp, "link.mtu", P0, "", "3000");
    assert_ok(apply_step(dp, "link.mtu", P0, "", "4000", &err));
}

static void a_kind_of_knob_fails_is_refused_or_ignored(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    assert_ok(dp_sim_fault(dp, "fail:dcb.pfc", &err));
    assert_ok(dp_sim_fault(dp, "refuse:dcb.maxrate", &err));
    assert_ok(dp_sim_fault(dp, "ignore:link.mtu", &err));
    assert_ok(check_step(dp, "dcb.pfc", P0, "", PFC, &err));
    assert_fails(apply_step(dp, "dcb.pfc", P0, "", PFC, &err), ERR_IO);
    assert_fails(check_step(dp, "dcb.maxrate", P0, "", ROUNDED, &err), ERR_UNSUPPORTED);
    assert_ok(apply_step(dp, "link.mtu", P0, "", "9000", &err));
    assert_shows(dp, "link.mtu", P0, "", "1500");
    assert_ok(apply_step(dp, "host.thp", "host", "", "\"never\"", &err)); /* others are fine */
}

static void a_knob_is_altered_some_time_after_its_change(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    bool changed = false;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 1});
    struct pollfd pfd = {.fd = dp_event_fd(dp), .events = POLLIN};
    assert_ok(dp_sim_fault(dp, "alter:link.mtu", &err));
    assert_ok(apply_step(dp, "link.mtu", P0, "", "1500", &err)); /* as it was: nothing to alter */
    assert_int_equal(poll(&pfd, 1, SIM_ALTER_MS + 500), 0);
    assert_ok(apply_step(dp, "link.mtu", P0, "", "9000", &err));
    assert_ok(dp_drain(dp, &changed, &err));
    assert_false(changed);
    assert_shows(dp, "link.mtu", P0, "", "9000");
    assert_int_equal(poll(&pfd, 1, 10 * SIM_ALTER_MS), 1);
    assert_ok(dp_drain(dp, &changed, &err));
    assert_true(changed);
    assert_shows(dp, "link.mtu", P0, "", "1500");
    char who[DP_WRITER_SIZE] = "";
    dp_writer(dp, "link.mtu", P0, who);
    assert_string_equal(who, DP_SIM_WRITER);
    assert_ok(apply_step(dp, "link.mtu", P0, "", "9000", &err)); /* once */
    assert_int_equal(poll(&pfd, 1, SIM_ALTER_MS + 500), 0);
}

static void a_link_is_down_while_its_knob_is_not_as_at_the_start(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    bool up = false;
    OWN(dp) struct dp *dp = sim(&(struct dp_sim_config){.port_count = 2});
    assert_ok(dp_sim_fault(dp, "link-down:dcb.pfc", &err));
    assert_ok(dp_link(dp, P0, &up, &err));
    assert_true(up);
    assert_ok(apply_step(dp, "dcb.pfc", P0, "", PFC, &err));
    assert_ok(dp_link(dp, P0, &up, &err));
    assert_false(up);
    assert_ok(dp_link(dp, "sim.1/0", &up, &err));
    assert_true(up);
    assert_ok(apply_step(dp, "dcb.pfc", P0, "", "{\"delay\":0,\"priorities\":[]}", &err));
    assert_ok(dp_link(dp, P0, &up, &err));
    assert_true(up);
    assert_fails(dp_link(dp, "sim.2/0", &up, &err), ERR_NOT_FOUND);
    assert_fails(dp_link(dp, "host", &up, &err), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_inventory_is_one),
        cmocka_unit_test(ports_are_counted),
        cmocka_unit_test(a_value_is_set_and_shown),
        cmocka_unit_test(a_module_parameter_comes_and_goes),
        cmocka_unit_test(what_it_cannot_do_is_found_without_a_change),
        cmocka_unit_test(a_port_that_is_gone_is_a_problem),
        cmocka_unit_test(a_filter_needs_its_hook),
        cmocka_unit_test(a_class_needs_qdisc_and_parent),
        cmocka_unit_test(the_flow_table_ends),
        cmocka_unit_test(rates_are_floored_when_told),
        cmocka_unit_test(the_nth_change_fails),
        cmocka_unit_test(a_run_goes_on_behind_a_step_that_fails),
        cmocka_unit_test(a_poke_is_an_event),
        cmocka_unit_test(faults_are_named_by_a_text),
        cmocka_unit_test(a_knob_is_altered_some_time_after_its_change),
        cmocka_unit_test(a_step_fails_by_its_number_once),
        cmocka_unit_test(a_kind_of_knob_fails_is_refused_or_ignored),
        cmocka_unit_test(a_link_is_down_while_its_knob_is_not_as_at_the_start),
        cmocka_unit_test(other_peoples_things_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
