/*
 * tests/unit/agent/test_apply.c - many steps of one kind at once: what fails in the middle is
 * named, what was begun behind it is taken back, too.
 */
#include "agent_test.h"

#include "agent/reconcile.h"

#define FILTERS 11 /* the simulator's runs are of four */

struct node {
    char dir[TEST_PATH_MAX];
    struct dp *dp;
    struct reconcile *r;
};

static void node_open(struct node *node, int32_t flow_entries)
{
    struct err err = ERR_INIT;
    struct dp_sim_config sim = {.port_count = 2, .flow_entries = flow_entries};
    test_folder(node->dir);
    assert_ok(dp_sim_new(&sim, &node->dp, &err));
    struct reconcile_config config = {
        .node = NODE,
        .state_dir = node->dir,
        .boot_id = "boot",
        .dp = node->dp,
        .clock = clock_system(),
    };
    assert_ok(reconcile_new(&config, &node->r, &err));
}

static void node_close(struct node *node)
{
    reconcile_free(node->r);
    dp_free(node->dp);
    remove_folder(node->dir);
}

static void add(struct plan *plan, const char *kind, const char *id, json_t *want)
{
    struct err err = ERR_INIT;
    struct plan_knob knob = {.kind = knob_kind_get(kind), .want = want};
    assert_non_null(want);
    snprintf(knob.subject, sizeof(knob.subject), "sim.0/0");
    snprintf(knob.id, sizeof(knob.id), "%s", id);
    assert_ok(plan_add(plan, &knob, &err));
}

/* count filters of hardware; *out owned by the caller. */
static struct plan *filters(int64_t generation, int count, int priority)
{
    struct err err = ERR_INIT;
    struct plan *plan = NULL;
    assert_ok(plan_new(NODE, generation, &plan, &err));
    add(plan, "tc.clsact", "", json_true());
    for (int i = 1; i <= count; i++) {
        char id[32], cookie[33], dst[32];
        snprintf(id, sizeof(id), "ingress/%d", i);
        snprintf(cookie, sizeof(cookie), "53544c52%08x0011223344556677", (unsigned)i);
        snprintf(dst, sizeof(dst), "10.0.0.%d/32", i);
        add(plan, "tc.flower", id,
            json_pack("{s:[{s:i}],s:s,s:s,s:{s:s,s:s}}", "actions", "priority", priority, "cookie",
                      cookie, "hw", "only", "match", "dst", dst, "eth_type", "ipv4"));
    }
    assert_ok(plan_seal(plan, &err));
    return plan;
}

static void apply(struct node *node, struct plan *plan, struct outcome *out)
{
    struct err err = ERR_INIT;
    reconcile_take(node->r, plan);
    assert_ok(reconcile_run(node->r, RECONCILE_PLAN, out, &err));
    assert_non_null(out->receipt);
}

static size_t count_filters(struct node *node)
{
    struct err err = ERR_INIT;
    struct state state;
    size_t count = 0;
    state_init(&state);
    assert_ok(dp_observe(node->dp, NULL, &state, &err));
    for (size_t i = 0; i < state.knob_count; i++)
        count += strcmp(state.knobs[i].kind->name, "tc.flower") == 0;
    state_release(&state);
    return count;
}

static void many_filters_are_applied_changed_and_removed(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, FILTERS);
    static const int priorities[] = {3, 4};
    for (int i = 0; i < 2; i++) {
        apply(&node, filters(i + 1, FILTERS, priorities[i]), &out);
        assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
        assert_string_equal(out.receipt->observed, out.receipt->digest);
        for (size_t k = 0; k < out.receipt->step_count; k++)
            assert_true(out.receipt->steps[k].done);
        assert_int_equal(count_filters(&node), FILTERS);
        outcome_release(&out);
    }
    apply(&node, filters(3, 0, 3), &out);
    assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
    assert_int_equal(count_filters(&node), 0);
    outcome_release(&out);
    node_close(&node);
}

/* The table is full at step 7 of 12 (the hook is the first): 8 and 9 were begun with it. */
static void a_full_table_in_the_middle_of_a_run_takes_all_back(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, 5);
    apply(&node, filters(1, FILTERS, 3), &out);
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    assert_contains(out.receipt->problem, "step 7 of 12, add tc.flower sim.0/0");
    assert_contains(out.receipt->problem, "flow table full");
    assert_int_equal(out.receipt->step_count, 12);
    for (size_t i = 0; i < out.receipt->step_count; i++) {
        assert_true(out.receipt->steps[i].done == (i < 6));
        assert_true((out.receipt->steps[i].problem[0] != '\0') == (i == 6));
    }
    assert_int_equal(count_filters(&node), 0);
    assert_false(kept(node.dir, JOURNAL_FILE));
    outcome_release(&out);
    node_close(&node);
}

/* One of a run fails and those behind it are done: they go, too, though no step of theirs is told
 * as done. */
static void what_was_begun_behind_the_failure_goes_too(void **state)
{
    (void)state;
    for (int n = 2; n <= FILTERS + 1; n++) {
        for (int after = 0; after <= 1; after++) {
            struct node node;
            struct outcome out;
            node_open(&node, FILTERS);
            dp_sim_fail_apply(node.dp, n, after == 1);
            apply(&node, filters(1, FILTERS, 3), &out);
            assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
            assert_contains(out.receipt->problem, "injected fault");
            assert_false(out.receipt->steps[n - 1].done);
            assert_true(out.receipt->steps[n - 1].undone);
            assert_int_equal(count_filters(&node), 0);
            outcome_release(&out);
            node_close(&node);
        }
    }
}

/* A run of the undo fails once: the next round takes the rest back. */
static void an_undo_of_many_goes_on_behind_a_failure(void **state)
{
    (void)state;
    struct node node;
    struct outcome out;
    node_open(&node, 6);
    dp_sim_fail_apply(node.dp, FILTERS + 2,
                      false); /* the 9 begun, and one of the undo's first run */
    apply(&node, filters(1, FILTERS, 3), &out);
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    assert_contains(out.receipt->problem, "flow table full");
    assert_int_equal(count_filters(&node), 0);
    outcome_release(&out);
    node_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_filters_are_applied_changed_and_removed),
        cmocka_unit_test(a_full_table_in_the_middle_of_a_run_takes_all_back),
        cmocka_unit_test(what_was_begun_behind_the_failure_goes_too),
        cmocka_unit_test(an_undo_of_many_goes_on_behind_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
