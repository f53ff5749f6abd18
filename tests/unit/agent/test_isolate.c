/*
 * tests/unit/agent/test_isolate.c - agent/isolate through whole passes: what fails is gone on
 * without when the plan that stands is checked, and never when a new one is taken.
 */
#include "agent_test.h"

#include "agent/budget.h"
#include "agent/isolate.h"
#include "agent/reconcile.h"

#define PORTS     (ISOLATE_MAX + 2)
#define PFC_WANT  "{\"delay\":0,\"priorities\":[3]}"
#define PFC_OTHER "{\"delay\":0,\"priorities\":[]}"

struct node {
    char dir[TEST_PATH_MAX];
    struct dp *dp;
    struct reconcile *r;
    struct row rows[2 * PORTS + 1];
    char names[PORTS][PORT_ID_SIZE];
};

/* Many ports, each with an MTU and PFC, and a plan that stands. */
static void node_open(struct node *node)
{
    struct err err = ERR_INIT;
    struct outcome out;
    *node = (struct node){0};
    test_folder(node->dir);
    const struct dp_sim_config sim = {.port_count = PORTS};
    assert_ok(dp_sim_new(&sim, &node->dp, &err));
    const struct reconcile_config config = {.node = NODE,
                                            .state_dir = node->dir,
                                            .boot_id = "boot",
                                            .dp = node->dp,
                                            .clock = clock_system()};
    assert_ok(reconcile_new(&config, &node->r, &err));
    for (int i = 0; i < PORTS; i++) {
        snprintf(node->names[i], PORT_ID_SIZE, "sim.%d/0", i);
        node->rows[2 * i] =
            (struct row){.kind = "link.mtu", .subject = node->names[i], .id = "", .want = "4200"};
        node->rows[2 * i + 1] =
            (struct row){.kind = "dcb.pfc", .subject = node->names[i], .id = "", .want = PFC_WANT};
    }
    reconcile_take(node->r, make_plan(1, node->rows));
    assert_ok(reconcile_run(node->r, RECONCILE_PLAN, &out, &err));
    assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
    outcome_release(&out);
}

static void node_close(struct node *node)
{
    reconcile_free(node->r);
    dp_free(node->dp);
    remove_folder(node->dir);
}

static void run(struct node *node, enum reconcile_cause cause, struct outcome *out)
{
    struct err err = ERR_INIT;
    assert_ok(reconcile_run(node->r, cause, out, &err));
    assert_non_null(out->receipt);
}

static bool is_now(struct node *node, const char *kind, int port, const char *want)
{
    struct err err = ERR_INIT;
    struct state state;
    OWN(json) json_t *value = json_loads(want, JSON_DECODE_ANY, NULL);
    assert_ok(dp_observe(node->dp, NULL, &state, &err));
    const struct state_knob *is = state_get(&state, knob_kind_get(kind), node->names[port], "");
    bool same = is != NULL && json_equal(is->live, value);
    state_release(&state);
    return same;
}

static const struct receipt_step *row_of(const struct receipt *receipt, const char *text)
{
    for (size_t i = 0; i < receipt->step_count; i++)
        if (strstr(receipt->steps[i].text, text) != NULL)
            return &receipt->steps[i];
    fail_msg("no step '%s'", text);
    return NULL;
}

static void fault(struct node *node, const char *text)
{
    struct err err = ERR_INIT;
    assert_ok(dp_sim_fault(node->dp, text, &err));
}

static void a_port_that_is_gone_does_not_keep_others_from_repair(void **state)
{
    (void)state;
    for (int start = 0; start < 2; start++) {
        struct node node;
        struct outcome out;
        node_open(&node);
        dp_sim_hide_port(node.dp, 0, true);
        poke(node.dp, "link.mtu", "sim.1/0", "", "1500");
        run(&node, start ? RECONCILE_START : RECONCILE_CHECK, &out);
        assert_int_equal(out.receipt->result, start ? RECEIPT_APPLIED : RECEIPT_DRIFT);
        assert_int_equal(out.receipt->step_count, 1);
        assert_true(out.receipt->steps[0].done);
        assert_true(is_now(&node, "link.mtu", 1, "4200"));
        assert_contains(out.receipt->problem, "sim.0/0");
        assert_contains(out.receipt->problem, "cannot be read");
        assert_string_not_equal(out.receipt->observed, out.receipt->digest);
        assert_non_null(out.state); /* what is not known is told as such */
        assert_true(out.transient);
        outcome_release(&out);
        node_close(&node);
    }
}

static void with_nothing_else_to_do_a_port_that_is_gone_is_refused(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node);
    dp_sim_hide_port(node.dp, 0, true);
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_REFUSED);
    assert_contains(out.receipt->problem, "sim.0/0");
    assert_true(out.transient);
    outcome_release(&out);
    dp_sim_hide_port(node.dp, 0, false);
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_UNCHANGED);
    assert_string_equal(out.receipt->observed, out.receipt->digest);
    assert_false(out.transient);
    outcome_release(&out);
    node_close(&node);
}

static void a_refused_knob_is_gone_on_without(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node);
    fault(&node, "refuse:dcb.pfc");
    poke(node.dp, "link.mtu", "sim.0/0", "", "1500");
    poke(node.dp, "dcb.pfc", "sim.0/0", "", PFC_OTHER);
    poke(node.dp, "link.mtu", "sim.1/0", "", "1500");
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_DRIFT);
    assert_true(is_now(&node, "link.mtu", 0, "4200"));
    assert_true(is_now(&node, "link.mtu", 1, "4200"));
    assert_int_equal(out.receipt->step_count, 3);
    const struct receipt_step *refused = row_of(out.receipt, "dcb.pfc sim.0/0");
    assert_false(refused->done);
    assert_string_not_equal(refused->problem, "");
    assert_true(row_of(out.receipt, "link.mtu sim.0/0")->done);
    assert_true(row_of(out.receipt, "link.mtu sim.1/0")->done);
    assert_contains(out.receipt->problem, "dcb.pfc");
    assert_true(out.transient);
    assert_false(kept(node.dir, JOURNAL_FILE));
    outcome_release(&out);
    node_close(&node);
}

/* Ports 0..bad-1 have drift that cannot be repaired, the one after them has drift that can. */
static void check_with_bad_ports(int bad, enum receipt_result result, bool repaired)
{
    struct node node;
    struct outcome out;
    node_open(&node);
    fault(&node, "fail:dcb.pfc");
    for (int i = 0; i < bad; i++) {
        poke(node.dp, "dcb.pfc", node.names[i], "", PFC_OTHER);
        poke(node.dp, "link.mtu", node.names[i], "", "1500");
    }
    poke(node.dp, "link.mtu", node.names[bad], "", "1500");
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, result);
    assert_int_equal(is_now(&node, "link.mtu", bad, "4200"), repaired);
    for (int i = 0; i < bad; i++)
        assert_true(is_now(&node, "link.mtu", i, "1500")); /* its port is left whole */
    assert_contains(out.receipt->problem, "dcb.pfc: injected fault");
    assert_false(kept(node.dir, JOURNAL_FILE));
    outcome_release(&out);
    node_close(&node);
}

static void a_port_that_fails_is_rolled_back_and_the_others_repaired(void **state)
{
    (void)state;
    check_with_bad_ports(1, RECEIPT_DRIFT, true);
    check_with_bad_ports(2, RECEIPT_DRIFT, true);
}

static void at_most_so_many_ports_are_left_alone(void **state)
{
    (void)state;
    check_with_bad_ports(ISOLATE_MAX, RECEIPT_DRIFT, true);
    check_with_bad_ports(ISOLATE_MAX + 1, RECEIPT_ROLLED_BACK, false);
}

static void a_single_port_that_fails_is_rolled_back_as_ever(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node);
    fault(&node, "fail:dcb.pfc");
    poke(node.dp, "dcb.pfc", "sim.0/0", "", PFC_OTHER);
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    outcome_release(&out);
    node_close(&node);
}

/* Port 0 fails in each check; `others`: there is something else to put back each time. */
static void fail_port_until_quarantine(struct node *node, bool others)
{
    struct outcome out;
    fault(node, "fail:dcb.pfc");
    poke(node->dp, "dcb.pfc", "sim.0/0", "", PFC_OTHER);
    for (int i = 0; i < BUDGET_TRIES; i++) {
        if (others)
            poke(node->dp, "link.mtu", "sim.1/0", "", "1500");
        run(node, RECONCILE_CHECK, &out);
        assert_int_equal(out.receipt->result, others                 ? RECEIPT_DRIFT
                                              : i + 1 < BUDGET_TRIES ? RECEIPT_ROLLED_BACK
                                                                     : RECEIPT_QUARANTINED);
        outcome_release(&out);
    }
}

static void a_port_that_fails_too_often_is_quarantined_alone(void **state)
{
    (void)state;
    for (int others = 0; others < 2; others++) {
        struct node node;
        struct outcome out;
        node_open(&node);
        fail_port_until_quarantine(&node, others);
        dp_sim_fault_clear(node.dp);
        run(&node, RECONCILE_CHECK, &out);
        assert_int_equal(out.receipt->result, RECEIPT_QUARANTINED);
        assert_contains(out.receipt->problem, "sim.0/0 is not put back");
        assert_string_not_equal(out.receipt->observed, out.receipt->digest);
        assert_false(out.transient);
        outcome_release(&out);
        poke(node.dp, "link.mtu", "sim.2/0", "", "1500");
        run(&node, RECONCILE_CHECK, &out);
        assert_int_equal(out.receipt->result, RECEIPT_DRIFT);
        assert_contains(out.receipt->problem, "sim.0/0 is not put back");
        assert_true(is_now(&node, "link.mtu", 2, "4200"));
        assert_true(is_now(&node, "dcb.pfc", 0, PFC_OTHER));
        outcome_release(&out);
        reconcile_begin_anew(node.r);
        run(&node, RECONCILE_CHECK, &out);
        assert_int_equal(out.receipt->result, RECEIPT_DRIFT);
        assert_string_equal(out.receipt->observed, out.receipt->digest);
        outcome_release(&out);
        node_close(&node);
    }
}

static void a_new_plan_is_taken_whole_or_not_at_all(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node);
    dp_sim_hide_port(node.dp, 0, true);
    node.rows[2].want = "9000";
    reconcile_take(node.r, make_plan(2, node.rows));
    run(&node, RECONCILE_PLAN, &out);
    assert_int_equal(out.receipt->result, RECEIPT_REFUSED);
    assert_true(is_now(&node, "link.mtu", 1, "4200"));
    outcome_release(&out);
    dp_sim_hide_port(node.dp, 0, false);
    fault(&node, "fail:dcb.pfc");
    node.rows[1].want = PFC_OTHER;
    reconcile_take(node.r, make_plan(3, node.rows));
    run(&node, RECONCILE_PLAN, &out);
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    assert_true(is_now(&node, "link.mtu", 1, "4200"));
    outcome_release(&out);
    node_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_that_is_gone_does_not_keep_others_from_repair),
        cmocka_unit_test(with_nothing_else_to_do_a_port_that_is_gone_is_refused),
        cmocka_unit_test(a_refused_knob_is_gone_on_without),
        cmocka_unit_test(a_port_that_fails_is_rolled_back_and_the_others_repaired),
        cmocka_unit_test(at_most_so_many_ports_are_left_alone),
        cmocka_unit_test(a_single_port_that_fails_is_rolled_back_as_ever),
        cmocka_unit_test(a_port_that_fails_too_often_is_quarantined_alone),
        cmocka_unit_test(a_new_plan_is_taken_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
