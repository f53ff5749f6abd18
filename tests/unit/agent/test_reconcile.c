/*
 * tests/unit/agent/test_reconcile.c - one pass: applied, refused, rolled back, stuck, drift.
 */
#include "agent_test.h"

#include "agent/reconcile.h"

struct node {
    char dir[TEST_PATH_MAX];
    struct dp *dp;
    struct reconcile *r;
    int asked;   /* how often the hook was asked */
    int fail_at; /* from this question on every apply fails; 0 = never */
};

static bool fail_from(void *arg)
{
    struct node *node = arg;
    if (node->fail_at != 0 && ++node->asked == node->fail_at)
        dp_sim_fail_all(node->dp, true);
    return false;
}

static void node_open(struct node *node, struct dp *dp)
{
    struct err err = ERR_INIT;
    *node = (struct node){.dp = dp};
    test_folder(node->dir);
    struct reconcile_config config = {
        .node = NODE,
        .state_dir = node->dir,
        .boot_id = "boot",
        .dp = dp,
        .clock = clock_system(),
        .killed = fail_from,
        .killed_arg = node,
    };
    assert_ok(reconcile_new(&config, &node->r, &err));
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

static void apply(struct node *node, int64_t generation, const struct row *rows,
                  struct outcome *out)
{
    reconcile_take(node->r, make_plan(generation, rows));
    run(node, RECONCILE_PLAN, out);
}

static void make_good(struct node *node, const struct row *rows)
{
    struct outcome out;
    apply(node, 1, rows, &out);
    assert_string_equal(out.receipt->problem, "");
    assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
    outcome_release(&out);
}

static void a_plan_is_applied_stored_and_receipted(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    apply(&node, 7, plan_a, &out);
    assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
    assert_int_equal(out.receipt->generation, 7);
    assert_string_equal(out.receipt->observed, out.receipt->digest);
    assert_string_equal(out.receipt->node, NODE);
    assert_true(out.receipt->step_count > 8);
    for (size_t i = 0; i < out.receipt->step_count; i++)
        assert_true(out.receipt->steps[i].done);
    assert_true(kept(node.dir, PLAN_FILE));
    assert_false(kept(node.dir, JOURNAL_FILE));
    assert_non_null(reconcile_good(node.r));
    assert_null(reconcile_latest(node.r));
    outcome_release(&out);
    node_close(&node);
}

static void the_same_knobs_of_a_newer_generation_are_unchanged_and_stored(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    make_good(&node, plan_a);
    int calls = dp_sim_apply_count(node.dp);
    apply(&node, 2, plan_a, &out);
    assert_int_equal(out.receipt->result, RECEIPT_UNCHANGED);
    assert_int_equal(dp_sim_apply_count(node.dp), calls);
    assert_int_equal(reconcile_good(node.r)->generation, 2);
    outcome_release(&out);
    node_close(&node);
}

static void another_plan_removes_changes_and_adds(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    make_good(&node, plan_a);
    apply(&node, 2, plan_b, &out);
    assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
    assert_string_equal(out.receipt->observed, out.receipt->digest);
    int removals = 0;
    for (size_t i = 0; i < out.receipt->step_count; i++)
        removals += strncmp(out.receipt->steps[i].text, "remove", 6) == 0;
    assert_int_equal(removals, 3); /* filter and class of job 1, clsact of the port left out */
    outcome_release(&out);
    node_close(&node);
}

/* Fails the nth apply of the step from plan a to plan b; returns how many steps there are. */
static size_t sweep(int n, bool after)
{
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    make_good(&node, plan_a);
    char *before = picture(node.dp);
    dp_sim_fail_apply(node.dp, n, after);
    apply(&node, 2, plan_b, &out);
    size_t steps = out.receipt->step_count;
    if ((size_t)n <= steps) {
        const struct receipt_step *failed = &out.receipt->steps[n - 1];
        assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
        assert_false(failed->done);
        assert_contains(failed->problem, "injected fault");
        assert_contains(out.receipt->problem, failed->text);
        for (int i = 0; i < n; i++)
            assert_true(out.receipt->steps[i].undone);
        assert_picture(node.dp, before);
        assert_int_equal(reconcile_good(node.r)->generation, 1);
        assert_non_null(reconcile_latest(node.r));
    } else {
        assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
    }
    assert_false(kept(node.dir, JOURNAL_FILE));
    outcome_release(&out);
    free(before);
    node_close(&node);
    return steps;
}

static void whichever_step_fails_before_its_change_the_node_is_as_before(void **state)
{
    (void)state;
    size_t steps = 1;
    for (int n = 1; (size_t)n <= steps + 1; n++)
        steps = sweep(n, false);
    assert_true(steps > 10);
}

static void whichever_step_fails_after_its_change_the_node_is_as_before(void **state)
{
    (void)state;
    size_t steps = 1;
    for (int n = 1; (size_t)n <= steps + 1; n++)
        steps = sweep(n, true);
    assert_true(steps > 10);
}

static void an_undo_that_fails_is_stuck_and_taken_back_later(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    struct err err = ERR_INIT;
    node_open(&node, make_sim());
    make_good(&node, plan_a);
    char *before = picture(node.dp);
    node.fail_at = 5; /* after the journal and four steps the device is dead */
    apply(&node, 2, plan_b, &out);
    assert_int_equal(out.receipt->result, RECEIPT_STUCK);
    assert_contains(out.receipt->problem, "not undone");
    assert_true(kept(node.dir, JOURNAL_FILE));
    outcome_release(&out);

    assert_ok(reconcile_recover(node.r, &out, &err));
    assert_int_equal(out.receipt->result, RECEIPT_STUCK);
    outcome_release(&out);

    dp_sim_fail_all(node.dp, false);
    node.fail_at = 0;
    assert_ok(reconcile_recover(node.r, &out, &err));
    assert_null(out.receipt);
    assert_picture(node.dp, before);
    assert_false(kept(node.dir, JOURNAL_FILE));
    free(before);
    node_close(&node);
}

static void an_undo_that_fails_once_is_tried_again(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    make_good(&node, plan_a);
    char *before = picture(node.dp);
    static const struct row strict[] = {
        {"host.sysctl", "host", "net.solar.flow_steering", "\"1\"", false, false},
        {"link.mtu", "sim.0/0", "", "4200", false, false},
        {"dcb.app", "sim.0/0", "", "[{\"dscp\":26,\"priority\":3}]", false, false},
        {"dcb.ets", "sim.0/0", "", ETS("[10,20,30,40,0,0,0,0]"), false, false},
        {"dcb.maxrate", "sim.0/0", "", "[null,1234567,null,null,null,null,null,null]", true, false},
        {"dcb.pfc", "sim.0/0", "", "{\"delay\":0,\"priorities\":[3]}", false, false},
        {NULL, NULL, NULL, NULL, false, false},
    };
    dp_sim_set_rate_unit(node.dp, 1000000);
    apply(&node, 2, strict, &out);
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    size_t steps = out.receipt->step_count;
    outcome_release(&out);
    int calls = dp_sim_apply_count(node.dp);
    dp_sim_fail_apply(node.dp, (int)steps + 2, false); /* the second undo */
    apply(&node, 3, strict, &out);
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    assert_true(dp_sim_apply_count(node.dp) - calls > 2 * (int)steps);
    dp_sim_set_rate_unit(node.dp, 0);
    assert_picture(node.dp, before);
    outcome_release(&out);
    free(before);
    node_close(&node);
}

static void an_unsupported_knob_is_refused_before_anything_changes(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    struct err err = ERR_INIT;
    struct dp *dp = NULL;
    struct dp_sim_config config = {.port_count = 2};
    assert_ok(dp_sim_new(&config, &dp, &err));
    node_open(&node, dp);
    static const struct row rows[] = {
        {"host.sysctl", "host", "net.solar.flow_steering", "\"2\"", false, false},
        {"host.sysctl", "host", "net.unheard.of", "\"1\"", false, false},
        {"host.sysctl", "host", "net.unheard.too", "\"1\"", false, false},
        {NULL, NULL, NULL, NULL, false, false},
    };
    char *before = picture(node.dp);
    apply(&node, 1, rows, &out);
    assert_int_equal(out.receipt->result, RECEIPT_REFUSED);
    assert_false(out.transient);
    assert_contains(out.receipt->problem, "net.unheard.of");
    int named = 0;
    for (size_t i = 0; i < out.receipt->step_count; i++) {
        named += out.receipt->steps[i].problem[0] != '\0';
        assert_false(out.receipt->steps[i].done);
    }
    assert_int_equal(named, 2); /* every one of them, in one receipt */
    assert_int_equal(dp_sim_apply_count(dp), 0);
    assert_picture(dp, before);
    assert_false(kept(node.dir, JOURNAL_FILE));
    assert_null(reconcile_good(node.r));
    outcome_release(&out);
    free(before);
    node_close(&node);
}

static void a_knob_of_a_missing_port_is_refused_for_now(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    static const struct row rows[] = {
        {"link.mtu", "sim.9/0", "", "4200", false, false},
        {NULL, NULL, NULL, NULL, false, false},
    };
    apply(&node, 1, rows, &out);
    assert_int_equal(out.receipt->result, RECEIPT_REFUSED);
    assert_true(out.transient);
    assert_contains(out.receipt->problem, "sim.9/0");
    assert_int_equal(dp_sim_apply_count(node.dp), 0);
    outcome_release(&out);
    node_close(&node);
}

static void without_a_folder_nothing_is_changed(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    remove_folder(node.dir);
    apply(&node, 1, plan_a, &out);
    assert_int_equal(out.receipt->result, RECEIPT_REFUSED);
    assert_true(out.transient);
    assert_contains(out.receipt->problem, "nothing was changed");
    assert_int_equal(dp_sim_apply_count(node.dp), 0);
    outcome_release(&out);
    node_close(&node);
}

static const struct row odd_rate[] = {
    {"link.mtu", "sim.0/0", "", "4200", false, false},
    {"dcb.maxrate", "sim.0/0", "", "[null,150000001,null,null,null,null,null,null]", false, false},
    {NULL, NULL, NULL, NULL, false, false},
};

static void a_rounded_rate_is_applied_and_told_as_a_deviation(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    dp_sim_set_rate_unit(node.dp, 100000000);
    apply(&node, 1, odd_rate, &out);
    assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
    assert_string_not_equal(out.receipt->observed, out.receipt->digest);
    assert_contains(out.receipt->problem, "dcb.maxrate sim.0/0 wants [null,150000001");
    assert_contains(out.receipt->problem, "shows [null,100000000");
    assert_non_null(out.state);
    outcome_release(&out);

    /* A check does not fight the hardware, and sees other drift all the same. */
    int calls = dp_sim_apply_count(node.dp);
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_UNCHANGED);
    assert_int_equal(dp_sim_apply_count(node.dp), calls);
    outcome_release(&out);
    poke(node.dp, "link.mtu", "sim.0/0", "", "1500");
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_DRIFT);
    assert_int_equal(out.receipt->step_count, 1);
    assert_int_equal(dp_sim_apply_count(node.dp), calls + 1);
    outcome_release(&out);
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_UNCHANGED);
    outcome_release(&out);
    node_close(&node);
}

static void a_rounded_rate_of_a_strict_knob_rolls_back(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    char *before = picture(node.dp);
    struct row rows[3];
    memcpy(rows, odd_rate, sizeof(rows));
    rows[1].strict = true;
    dp_sim_set_rate_unit(node.dp, 100000000);
    apply(&node, 1, rows, &out);
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    assert_contains(out.receipt->problem, "dcb.maxrate");
    assert_picture(node.dp, before);
    outcome_release(&out);
    free(before);
    node_close(&node);
}

static void drift_is_reported_with_both_values_and_repaired(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    make_good(&node, plan_a);
    char *before = picture(node.dp);
    poke(node.dp, "dcb.pfc", "sim.0/0", "", "{\"delay\":0,\"priorities\":[1]}");
    poke(node.dp, "tc.class", "sim.0/0", "5e11:9", CLASS("1000000", "5e11:fffe"));
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_DRIFT);
    assert_true(out.repaired);
    assert_int_equal(out.receipt->step_count, 2);
    const struct receipt_step *ours = &out.receipt->steps[0], *pfc = &out.receipt->steps[1];
    assert_string_equal(ours->text, "drift tc.class sim.0/0 5e11:9");
    assert_null(ours->before);
    assert_non_null(ours->after);
    assert_string_equal(pfc->text, "drift dcb.pfc sim.0/0");
    assert_int_equal(
        json_integer_value(json_array_get(json_object_get(pfc->before, "priorities"), 0)), 3);
    assert_int_equal(
        json_integer_value(json_array_get(json_object_get(pfc->after, "priorities"), 0)), 1);
    assert_string_equal(pfc->writer, "unknown"); /* the simulator knows of its last poke alone */
    assert_string_equal(ours->writer, DP_SIM_WRITER);
    assert_true(pfc->done);
    assert_string_equal(out.receipt->observed, out.receipt->digest);
    assert_non_null(out.state);
    assert_picture(node.dp, before);
    outcome_release(&out);
    node_close(&node);
    free(before);
}

static void drift_of_an_observe_only_knob_is_told_once_and_left(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    static const struct row rows[] = {
        {"link.mtu", "sim.0/0", "", "1500", false, true},
        {"dcb.pfc", "sim.0/0", "", "{\"delay\":0,\"priorities\":[3]}", false, false},
        {NULL, NULL, NULL, NULL, false, false},
    };
    make_good(&node, rows);
    int calls = dp_sim_apply_count(node.dp);
    poke(node.dp, "link.mtu", "sim.0/0", "", "9000");
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_DRIFT);
    assert_false(out.repaired);
    assert_int_equal(out.receipt->step_count, 1);
    assert_false(out.receipt->steps[0].done);
    assert_contains(out.receipt->steps[0].problem, "observe only");
    assert_int_equal(json_integer_value(out.receipt->steps[0].before), 1500);
    assert_int_equal(json_integer_value(out.receipt->steps[0].after), 9000);
    assert_non_null(out.state);
    assert_int_equal(dp_sim_apply_count(node.dp), calls);
    outcome_release(&out);
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_UNCHANGED);
    outcome_release(&out);
    node_close(&node);
}

static void a_check_whose_repair_fails_says_so(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    make_good(&node, plan_a);
    poke(node.dp, "link.mtu", "sim.0/0", "", "1500");
    dp_sim_fail_apply(node.dp, 1, false);
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    assert_string_not_equal(out.receipt->observed, out.receipt->digest);
    outcome_release(&out);
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_DRIFT);
    assert_string_equal(out.receipt->observed, out.receipt->digest);
    outcome_release(&out);
    node_close(&node);
}

static void a_failed_plan_leaves_what_was_told_of_the_good_one(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, make_sim());
    dp_sim_set_rate_unit(node.dp, 100000000);
    apply(&node, 1, odd_rate, &out);
    outcome_release(&out);
    dp_sim_fail_apply(node.dp, 2, true);
    apply(&node, 2, plan_b, &out);
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    outcome_release(&out);
    int calls = dp_sim_apply_count(node.dp);
    run(&node, RECONCILE_CHECK, &out);
    assert_int_equal(out.receipt->result, RECEIPT_UNCHANGED);
    assert_int_equal(dp_sim_apply_count(node.dp), calls);
    outcome_release(&out);
    node_close(&node);
}

static void receipts_survive_the_way_through_json(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    struct err err = ERR_INIT;
    node_open(&node, make_sim());
    make_good(&node, plan_a);
    dp_sim_fail_apply(node.dp, 4, true);
    apply(&node, 2, plan_b, &out);
    json_t *json = receipt_to_json(out.receipt);
    struct receipt *again = NULL;
    assert_ok(receipt_from_json(json, &again, &err));
    assert_int_equal(again->step_count, out.receipt->step_count);
    json_decref(json);
    receipt_free(again);
    outcome_release(&out);
    node_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_applied_stored_and_receipted),
        cmocka_unit_test(the_same_knobs_of_a_newer_generation_are_unchanged_and_stored),
        cmocka_unit_test(another_plan_removes_changes_and_adds),
        cmocka_unit_test(whichever_step_fails_before_its_change_the_node_is_as_before),
        cmocka_unit_test(whichever_step_fails_after_its_change_the_node_is_as_before),
        cmocka_unit_test(an_undo_that_fails_is_stuck_and_taken_back_later),
        cmocka_unit_test(an_undo_that_fails_once_is_tried_again),
        cmocka_unit_test(an_unsupported_knob_is_refused_before_anything_changes),
        cmocka_unit_test(a_knob_of_a_missing_port_is_refused_for_now),
        cmocka_unit_test(without_a_folder_nothing_is_changed),
        cmocka_unit_test(a_rounded_rate_is_applied_and_told_as_a_deviation),
        cmocka_unit_test(a_rounded_rate_of_a_strict_knob_rolls_back),
        cmocka_unit_test(drift_is_reported_with_both_values_and_repaired),
        cmocka_unit_test(drift_of_an_observe_only_knob_is_told_once_and_left),
        cmocka_unit_test(a_check_whose_repair_fails_says_so),
        cmocka_unit_test(a_failed_plan_leaves_what_was_told_of_the_good_one),
        cmocka_unit_test(receipts_survive_the_way_through_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
