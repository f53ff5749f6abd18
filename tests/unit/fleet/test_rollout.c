/*
 * The state machine of rollouts: every move, every deadline, and random walks in which nothing that
 * must hold is ever hurt.
 */
#include "tests/unit/fleet/rollout_test.h"

#define NODES 6

static void digests(struct rollout_node *node)
{
    snprintf(node->target, sizeof(node->target), "target-%s", node->name);
    snprintf(node->before, sizeof(node->before), "before-%s", node->name);
    node->stands = true;
}

/* Waves of 1, 2 and 3 nodes. */
static void begin(bool manual, int64_t unavailable)
{
    static const char *const names[NODES] = {"n1", "n2", "n3", "n4", "n5", "n6"};
    static const uint32_t waves[NODES] = {0, 1, 1, 2, 2, 2};
    struct err err = ERR_INIT;
    struct rollout_settings settings;
    rollout_settings_init(&settings);
    settings.manual = manual;
    settings.unavailable = unavailable;
    rollout_free(r);
    r = NULL;
    rollout_actions_release(&actions);
    assert_ok(rollout_new(&settings, names, NODES, &r, &err));
    for (size_t i = 0; i < NODES; i++) {
        r->nodes[i].wave = waves[i];
        digests(&r->nodes[i]);
    }
    now_ns = 1000 * NS_PER_S;
    rollout_start(r, 3, &actions);
    rollout_step(r, now_ns, &actions);
}

static void tell(size_t i, const char *observed, bool good, bool mine)
{
    const struct rollout_report report = {.digest = r->nodes[i].target,
                                          .observed = observed,
                                          .good = good,
                                          .mine = mine,
                                          .probes_ok = true,
                                          .problem = good ? "" : "broken"};
    rollout_receipt(r, i, &report, now_ns);
}

static void apply(size_t i)
{
    tell(i, r->nodes[i].target, true, true);
    rollout_heard(r, i, now_ns);
}

static void stand_before(size_t i)
{
    const struct rollout_report report = {.digest = r->nodes[i].before,
                                          .observed = r->nodes[i].before,
                                          .good = true,
                                          .probes_ok = true,
                                          .problem = ""};
    rollout_receipt(r, i, &report, now_ns);
}

static size_t count(enum rollout_action_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < actions.count; i++)
        n += actions.items[i].kind == kind;
    return n;
}

static void a_wave_is_offered_soaks_and_is_confirmed(void **state)
{
    (void)state;
    begin(false, 0);
    assert_int_equal(count(ROLLOUT_OFFER), 1);
    assert_int_equal(r->nodes[0].state, ROLLOUT_NODE_OFFERED);
    apply(0);
    later(0);
    later(30 * NS_PER_S - 1);
    assert_int_equal(r->wave, 0);
    assert_int_equal(rollout_due_ns(r), now_ns + 1);
    later(1);
    assert_int_equal(r->wave, 1);
    assert_int_equal(r->nodes[0].state, ROLLOUT_NODE_CONFIRMED);
    assert_int_equal(count(ROLLOUT_CONFIRM), 1);
    assert_int_equal(count(ROLLOUT_OFFER), 3);
    for (size_t first = 1; first < NODES; first += 2) {
        for (size_t i = first; i < NODES && i < 2 * first + 1; i++)
            if (r->nodes[i].state == ROLLOUT_NODE_OFFERED)
                apply(i);
        later(0);
        later(30 * NS_PER_S);
    }
    assert_int_equal(r->state, ROLLOUT_DONE);
    assert_int_equal(rollout_due_ns(r), INT64_MAX);
}

static void the_gates_have_a_deadline(void **state)
{
    (void)state;
    begin(false, 0);
    tell(0, r->nodes[0].target, true, true); /* and is not heard again */
    r->confirm_ns = INT64_MAX;               /* its own timer apart */
    later(900 * NS_PER_S - 1);
    assert_int_equal(r->state, ROLLOUT_RUNNING);
    later(1);
    assert_int_equal(r->state, ROLLOUT_RETURNING);
    assert_int_equal(count(ROLLOUT_RETURN), 1);
    assert_int_equal(count(ROLLOUT_REFUSE), NODES - 1);
    stand_before(0);
    later(0);
    assert_int_equal(r->state, ROLLOUT_FAILED);
    assert_int_equal(r->nodes[0].state, ROLLOUT_NODE_RETURNED);
}

static void a_wave_is_confirmed_within_the_nodes_timer(void **state)
{
    (void)state;
    begin(true, 0);
    apply(0);
    later(0);
    later(30 * NS_PER_S);
    assert_int_equal(r->state, ROLLOUT_CONFIRMING);
    later(570 * NS_PER_S - 1);
    assert_int_equal(r->state, ROLLOUT_CONFIRMING);
    later(1);
    assert_int_equal(r->state, ROLLOUT_RETURNING);
    assert_contains(r->problem, "timer");
}

static void a_silent_node_is_absent_after_a_minute(void **state)
{
    (void)state;
    begin(false, 1);
    apply(0);
    later(0);
    later(30 * NS_PER_S);
    apply(1);
    later(60 * NS_PER_S - 1);
    assert_int_equal(r->nodes[2].state, ROLLOUT_NODE_OFFERED);
    later(1);
    assert_int_equal(r->nodes[2].state, ROLLOUT_NODE_ABSENT);
    later(30 * NS_PER_S);
    assert_int_equal(r->wave, 2);
    assert_int_equal(r->nodes[2].state, ROLLOUT_NODE_ABSENT);
    tell(2, r->nodes[2].target, true, false);
    assert_int_equal(r->nodes[2].state, ROLLOUT_NODE_CONFIRMED); /* back, on the final plan */
    later(60 * NS_PER_S);
    assert_int_equal(r->state, ROLLOUT_FAILED); /* three of the last wave are too many */
}

static void a_node_that_is_heard_is_not_absent(void **state)
{
    (void)state;
    begin(false, 0);
    for (int i = 0; i < 10; i++) {
        assert_false(rollout_heard(r, 0, now_ns));
        later(59 * NS_PER_S);
        assert_int_equal(r->nodes[0].state, ROLLOUT_NODE_OFFERED);
    }
}

static void a_wave_of_absent_nodes_proves_nothing(void **state)
{
    (void)state;
    begin(false, 1);
    later(60 * NS_PER_S);
    assert_int_equal(r->state, ROLLOUT_FAILED);
    assert_contains(r->problem, "nothing is proven");
}

static void one_failed_node_more_than_may_be_returns_its_wave(void **state)
{
    (void)state;
    for (int64_t may = 0; may < 2; may++) {
        begin(false, may);
        apply(0);
        later(0);
        later(30 * NS_PER_S);
        apply(1);
        tell(2, "other", false, true);
        later(0);
        assert_int_equal(r->state, may == 0 ? ROLLOUT_RETURNING : ROLLOUT_RUNNING);
        assert_int_equal(r->nodes[0].state, ROLLOUT_NODE_CONFIRMED);
        assert_int_equal(r->nodes[1].state,
                         may == 0 ? ROLLOUT_NODE_RETURNING : ROLLOUT_NODE_APPLIED);
    }
    later(30 * NS_PER_S);
    assert_int_equal(r->wave, 2);
    assert_int_equal(r->nodes[2].state, ROLLOUT_NODE_FAILED);
    assert_int_equal(count(ROLLOUT_RETURN), 1); /* it keeps what it had */
}

static void a_finding_fails_the_wave(void **state)
{
    (void)state;
    begin(false, 5);
    assert_false(rollout_finding(r, 0, "before it applied"));
    apply(0);
    assert_true(rollout_finding(r, 0, "drift"));
    assert_false(rollout_finding(r, 0, "again"));
    later(0);
    assert_int_equal(r->state, ROLLOUT_RETURNING);
    assert_contains(r->problem, "findings");
}

static void a_receipt_of_another_trial_proves_nothing(void **state)
{
    (void)state;
    begin(false, 0);
    tell(0, r->nodes[0].target, true, false);
    assert_int_equal(r->nodes[0].state, ROLLOUT_NODE_OFFERED);
    stand_before(0);
    assert_int_equal(r->nodes[0].state, ROLLOUT_NODE_OFFERED);
    tell(0, "other", true, true);
    assert_int_equal(r->nodes[0].state, ROLLOUT_NODE_FAILED);
}

static void returning_has_a_deadline(void **state)
{
    struct err err = ERR_INIT;
    bool unchanged;
    (void)state;
    begin(false, 0);
    apply(0);
    assert_ok(rollout_command(r, ROLLOUT_ROLLBACK, now_ns, &actions, &unchanged, &err));
    assert_int_equal(r->state, ROLLOUT_ROLLING_BACK);
    later(900 * NS_PER_S - 1);
    assert_int_equal(r->state, ROLLOUT_ROLLING_BACK);
    later(1);
    assert_int_equal(r->state, ROLLOUT_ROLLED_BACK);
    assert_int_equal(r->nodes[0].state, ROLLOUT_NODE_ABSENT);
}

static void a_late_apply_makes_a_node_return_again(void **state)
{
    struct err err = ERR_INIT;
    bool unchanged;
    (void)state;
    begin(false, 0);
    apply(0);
    later(0);
    later(30 * NS_PER_S);
    apply(1);
    assert_ok(rollout_command(r, ROLLOUT_ROLLBACK, now_ns, &actions, &unchanged, &err));
    assert_int_equal(r->nodes[2].state, ROLLOUT_NODE_RETURNED);
    tell(2, r->nodes[2].target, true, true);
    assert_int_equal(r->nodes[2].state, ROLLOUT_NODE_RETURNING);
    for (size_t i = 0; i < 3; i++)
        stand_before(i);
    later(0);
    assert_int_equal(r->state, ROLLOUT_ROLLED_BACK);
}

static void what_remains_of_timers_is_stored(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    begin(true, 0);
    apply(0);
    later(0);
    later(100 * NS_PER_S + 1);
    OWN(json) json_t *head = rollout_head_to_json(r, now_ns);
    assert_non_null(head);
    struct rollout other = {.number = 0};
    int64_t boot_ns = 5 * NS_PER_S; /* another clock altogether */
    assert_ok(rollout_head_from_json(&other, head, boot_ns, &err));
    assert_true(other.wave_open && other.passed);
    int64_t left = r->confirm_ns - now_ns, again = other.confirm_ns - boot_ns;
    assert_true(again >= left && again < left + NS_PER_MS);
    OWN(json) json_t *twice = rollout_head_to_json(&other, boot_ns);
    other.nodes = NULL;
    rollout_settings_release(&other.settings);
    json_object_set(twice, "nodes", json_object_get(head, "nodes"));
    assert_true(json_equal(head, twice));
    json_object_set_new(head, "soon", json_true());
    assert_fails(rollout_head_from_json(&other, head, boot_ns, &err), ERR_INVALID);
    rollout_settings_release(&other.settings);
}

static void a_command_in_the_wrong_state_names_the_state(void **state)
{
    struct err err = ERR_INIT;
    bool unchanged;
    (void)state;
    begin(false, 0);
    assert_fails(rollout_command(r, ROLLOUT_CONFIRM_WAVE, now_ns, &actions, &unchanged, &err),
                 ERR_CONFLICT);
    assert_contains(err.text, "running");
    assert_ok(rollout_command(r, ROLLOUT_RESUME, now_ns, &actions, &unchanged, &err));
    assert_true(unchanged);
    assert_ok(rollout_command(r, ROLLOUT_PAUSE, now_ns, &actions, &unchanged, &err));
    assert_false(unchanged);
    assert_int_equal(r->state, ROLLOUT_PAUSED);
    assert_ok(rollout_command(r, ROLLOUT_ROLLBACK, now_ns, &actions, &unchanged, &err));
    assert_int_equal(r->state, ROLLOUT_ROLLED_BACK); /* nothing had been applied */
    assert_ok(rollout_command(r, ROLLOUT_ROLLBACK, now_ns, &actions, &unchanged, &err));
    assert_true(unchanged);
    assert_fails(rollout_command(r, ROLLOUT_PAUSE, now_ns, &actions, &unchanged, &err),
                 ERR_CONFLICT);
    assert_contains(err.text, "rolled-back");
}

/* The moves, written once more as the document has them. */
static void only_the_moves_of_the_document_are_allowed(void **state)
{
    static const char *const moves[ROLLOUT_STATE_COUNT] = {
        [ROLLOUT_PREPARING] = "running done rolled-back",
        [ROLLOUT_RUNNING] = "paused confirming returning rolling-back done",
        [ROLLOUT_PAUSED] = "running returning rolling-back",
        [ROLLOUT_CONFIRMING] = "running returning rolling-back",
        [ROLLOUT_RETURNING] = "failed rolling-back",
        [ROLLOUT_ROLLING_BACK] = "rolled-back",
        [ROLLOUT_DONE] = "rolling-back",
        [ROLLOUT_FAILED] = "rolling-back",
        [ROLLOUT_ROLLED_BACK] = "",
    };
    (void)state;
    for (int from = 0; from < ROLLOUT_STATE_COUNT; from++)
        for (int to = 0; to < ROLLOUT_STATE_COUNT; to++) {
            char wanted[32], list[128];
            snprintf(wanted, sizeof(wanted), " %s ", rollout_state_name((enum rollout_state)to));
            snprintf(list, sizeof(list), " %s ", moves[from]);
            assert_int_equal(rollout_may_move((enum rollout_state)from, (enum rollout_state)to),
                             strstr(list, wanted) != NULL);
        }
    for (int to = 0; to < ROLLOUT_NODE_STATE_COUNT; to++) {
        assert_int_equal(rollout_node_may_move(ROLLOUT_NODE_WAITING, (enum rollout_node_state)to),
                         to == ROLLOUT_NODE_OFFERED);
        assert_int_equal(rollout_node_may_move(ROLLOUT_NODE_CONFIRMED, (enum rollout_node_state)to),
                         to == ROLLOUT_NODE_RETURNING);
        assert_int_equal(rollout_node_may_move(ROLLOUT_NODE_RETURNED, (enum rollout_node_state)to),
                         to == ROLLOUT_NODE_RETURNING);
    }
}

static uint64_t seed;
static uint32_t dice(uint32_t sides)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % sides;
}

static void random_receipt(size_t i)
{
    const struct rollout_node *node = &r->nodes[i];
    const char *const values[] = {node->target, node->before, "other", ""};
    const struct rollout_report report = {.digest = values[dice(3)],
                                          .observed = values[dice(4)],
                                          .mine = dice(4) > 0,
                                          .good = dice(4) > 0,
                                          .expired = dice(10) == 0,
                                          .drift = dice(20) == 0,
                                          .probes_ok = dice(15) > 0,
                                          .problem = dice(2) ? "why" : ""};
    rollout_receipt(r, i, &report, now_ns);
}

static void random_event(void)
{
    bool unchanged;
    struct err err = ERR_INIT;
    size_t i = r->node_count == 0 ? 0 : dice((uint32_t)r->node_count);
    switch (r->node_count == 0 ? 10 : dice(12)) {
    case 0:
    case 1:
    case 2:
        random_receipt(i);
        break;
    case 3:
    case 4:
    case 5:
        apply(i);
        break;
    case 6:
        stand_before(i);
        break;
    case 7:
        rollout_heard(r, i, now_ns);
        break;
    case 8:
        if (dice(20) == 0)
            rollout_finding(r, i, "seen");
        break;
    case 9:
        if (dice(20) == 0)
            rollout_gone(r, i);
        break;
    case 10:
        now_ns += dice(2) ? dice(40) * NS_PER_S : rollout_due_ns(r) == INT64_MAX ? 0 : 1;
        break;
    default: {
        enum rollout_verb verb = dice(30) == 0 ? ROLLOUT_ROLLBACK : (enum rollout_verb)dice(3);
        enum err_code code = rollout_command(r, verb, now_ns, &actions, &unchanged, &err);
        assert_true(code == ERR_OK || code == ERR_CONFLICT);
    }
    }
}

static void nothing_that_must_hold_is_hurt_on_random_walks(void **state)
{
    unsigned ends[ROLLOUT_STATE_COUNT] = {0};
    (void)state;
    for (uint64_t walk = 0; walk < 4000; walk++) {
        seed = walk;
        begin(dice(2), dice(4));
        for (int step = 0; step < 150; step++) {
            struct err err = ERR_INIT;
            random_event();
            rollout_step(r, now_ns, &actions);
            assert_ok(rollout_check(r, &err));
        }
        ends[r->state]++;
    }
    for (int s = ROLLOUT_DONE; s < ROLLOUT_STATE_COUNT; s++)
        assert_true(ends[s] > 20); /* the walks come everywhere */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_wave_is_offered_soaks_and_is_confirmed, teardown),
        cmocka_unit_test_teardown(the_gates_have_a_deadline, teardown),
        cmocka_unit_test_teardown(a_wave_is_confirmed_within_the_nodes_timer, teardown),
        cmocka_unit_test_teardown(a_silent_node_is_absent_after_a_minute, teardown),
        cmocka_unit_test_teardown(a_node_that_is_heard_is_not_absent, teardown),
        cmocka_unit_test_teardown(a_wave_of_absent_nodes_proves_nothing, teardown),
        cmocka_unit_test_teardown(one_failed_node_more_than_may_be_returns_its_wave, teardown),
        cmocka_unit_test_teardown(a_finding_fails_the_wave, teardown),
        cmocka_unit_test_teardown(a_receipt_of_another_trial_proves_nothing, teardown),
        cmocka_unit_test_teardown(returning_has_a_deadline, teardown),
        cmocka_unit_test_teardown(a_late_apply_makes_a_node_return_again, teardown),
        cmocka_unit_test_teardown(what_remains_of_timers_is_stored, teardown),
        cmocka_unit_test_teardown(a_command_in_the_wrong_state_names_the_state, teardown),
        cmocka_unit_test_teardown(only_the_moves_of_the_document_are_allowed, teardown),
        cmocka_unit_test_teardown(nothing_that_must_hold_is_hurt_on_random_walks, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
