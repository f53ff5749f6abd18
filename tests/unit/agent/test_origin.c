/*
 * tests/unit/agent/test_origin.c - knobs that a plan drops go back to what they were before they
 * were managed: after plans, trials, crashes; and which do not, and why.
 */
#include "agent_test.h"

#include "agent/confirm.h"
#include "agent/origin.h"
#include "agent/reconcile.h"

#define MTU(value)                                                                                 \
    {                                                                                              \
        "link.mtu", "sim.0/0", "", value, false, false                                             \
    }
#define STEERING(value)                                                                            \
    {                                                                                              \
        "host.sysctl", "host", "net.solar.flow_steering", value, false, false                      \
    }
#define APP                                                                                        \
    {                                                                                              \
        "dcb.app", "sim.1/0", "", "[{\"dscp\":26,\"priority\":3}]", false, false                   \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, NULL, NULL, NULL, false, false                                                       \
    }

static const struct row wide[] = {STEERING("\"1\""), MTU("4200"), APP, END};
static const struct row narrow[] = {STEERING("\"1\""), END};

struct node {
    char dir[TEST_PATH_MAX];
    struct dp *dp;
    struct reconcile *r;
    struct clock_fake clock;
    int asked, kill_at;
};

static bool kill_now(void *arg)
{
    struct node *node = arg;
    node->asked++;
    return node->kill_at != 0 && node->asked >= node->kill_at;
}

static void wake(struct node *node, int kill_at)
{
    struct err err = ERR_INIT;
    struct reconcile_config config = {
        .node = NODE,
        .state_dir = node->dir,
        .boot_id = "boot",
        .dp = node->dp,
        .clock = &node->clock.base,
        .killed = kill_now,
        .killed_arg = node,
    };
    node->asked = 0;
    node->kill_at = kill_at;
    assert_ok(reconcile_new(&config, &node->r, &err));
}

static void restart(struct node *node)
{
    reconcile_free(node->r);
    wake(node, 0);
}

static void node_open(struct node *node)
{
    *node = (struct node){.dp = make_sim()};
    clock_fake_init(&node->clock, 1700000000000000);
    test_folder(node->dir);
    wake(node, 0);
}

static void node_close(struct node *node)
{
    reconcile_free(node->r);
    dp_free(node->dp);
    remove_folder(node->dir);
}

/* The result's name; "killed" when the hook struck. */
static const char *pass(struct node *node, enum reconcile_cause cause, char problem[ERR_TEXT_MAX])
{
    struct err err = ERR_INIT;
    OWN_OUTCOME struct outcome out = {0};
    if (problem != NULL)
        problem[0] = '\0';
    if (reconcile_run(node->r, cause, &out, &err) != ERR_OK) {
        assert_contains(err.text, "stopped in the middle");
        return "killed";
    }
    assert_non_null(out.receipt);
    if (problem != NULL)
        memcpy(problem, out.receipt->problem, ERR_TEXT_MAX);
    return receipt_result_name(out.receipt->result);
}

static const char *apply(struct node *node, int64_t generation, const struct row *rows)
{
    reconcile_take(node->r, make_plan(generation, rows));
    return pass(node, RECONCILE_PLAN, NULL);
}

static void assert_shows(struct node *node, const char *kind, const char *subject, const char *id,
                         const char *value)
{
    struct row rows[] = {{kind, subject, id, "true", false, false}, END};
    struct plan *view = make_plan(1, rows);
    struct err err = ERR_INIT;
    OWN_STATE struct state state;
    state_init(&state);
    assert_ok(dp_observe(node->dp, view, &state, &err));
    const struct state_knob *is = state_get(&state, knob_kind_get(kind), subject, id);
    const json_t *shown = is == NULL ? NULL : state_knob_value(is);
    json_t *want = value == NULL ? NULL : json_loads(value, JSON_DECODE_ANY, NULL);
    char *text = shown == NULL ? strdup("nothing") : json_canonical(shown, NULL);
    if ((shown == NULL) != (want == NULL) || (want != NULL && !json_equal(shown, want)))
        fail_msg("%s shows %s, not %s", kind, text, value == NULL ? "nothing" : value);
    free(text);
    json_decref(want);
    plan_free(view);
}

static void assert_mtu(struct node *node, const char *value)
{
    assert_shows(node, "link.mtu", "sim.0/0", "", value);
}

static size_t entries(const struct node *node)
{
    struct err err = ERR_INIT;
    OWN_STATE struct state origin;
    state_init(&origin);
    struct clock *clock = clock_system();
    assert_ok(origin_load(node->dir, NODE, clock, &origin, &err));
    return origin.knob_count;
}

static void a_dropped_knob_is_given_back_as_it_was(void **state)
{
    (void)state;
    struct node node;
    node_open(&node);
    poke(node.dp, "link.mtu", "sim.0/0", "", "2048");
    assert_string_equal(apply(&node, 1, wide), "applied");
    assert_int_equal(entries(&node), 3);
    assert_mtu(&node, "4200");
    assert_string_equal(apply(&node, 2, narrow), "applied");
    assert_mtu(&node, "2048");
    assert_shows(&node, "dcb.app", "sim.1/0", "", "[]");
    assert_shows(&node, "host.sysctl", "host", "net.solar.flow_steering", "\"1\"");
    assert_int_equal(entries(&node), 1);
    poke(node.dp, "link.mtu", "sim.0/0", "", "3000"); /* nobody's any more: no drift */
    assert_string_equal(pass(&node, RECONCILE_CHECK, NULL), "unchanged");
    assert_mtu(&node, "3000");
    assert_string_equal(apply(&node, 3, wide), "applied");
    assert_string_equal(apply(&node, 4, narrow), "applied");
    assert_mtu(&node, "3000"); /* learnt anew */
    node_close(&node);
}

static void the_first_value_counts_whatever_came_between(void **state)
{
    (void)state;
    static const struct row same[] = {MTU("1500"), END}, other[] = {MTU("9000"), END};
    struct node node;
    node_open(&node);
    assert_string_equal(apply(&node, 1, same), "unchanged"); /* it is so already */
    poke(node.dp, "link.mtu", "sim.0/0", "", "3000");
    assert_string_equal(pass(&node, RECONCILE_CHECK, NULL), "drift");
    assert_string_equal(apply(&node, 2, other), "applied");
    restart(&node);
    assert_string_equal(pass(&node, RECONCILE_START, NULL), "unchanged");
    assert_string_equal(apply(&node, 3, narrow), "applied");
    assert_mtu(&node, "1500");
    node_close(&node);
}

static void what_was_not_there_goes_away_again(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"host.modparam", "host", "solar_rdma.max_sge", "\"256\"", false, false},
        STEERING("\"1\""),
        END,
    };
    struct node node;
    node_open(&node);
    assert_string_equal(apply(&node, 1, rows), "applied");
    assert_string_equal(apply(&node, 2, narrow), "applied");
    assert_shows(&node, "host.modparam", "host", "solar_rdma.max_sge", NULL);
    assert_int_equal(entries(&node), 1);
    node_close(&node);
}

static void a_trial_that_drops_a_knob_gives_it_back_and_its_end_sets_it_again(void **state)
{
    (void)state;
    struct node node;
    node_open(&node);
    assert_string_equal(apply(&node, 1, wide), "applied");
    reconcile_take(node.r, make_trial(2, narrow, "r-1", 60));
    assert_string_equal(pass(&node, RECONCILE_PLAN, NULL), "applied");
    assert_mtu(&node, "1500");
    assert_int_equal(entries(&node), 3); /* the good plan may come back */
    clock_fake_advance(&node.clock, 60 * NS_PER_S);
    assert_string_equal(pass(&node, RECONCILE_RETURN, NULL), "expired");
    assert_mtu(&node, "4200");
    reconcile_take(node.r, make_trial(2, narrow, "r-2", 60));
    assert_string_equal(pass(&node, RECONCILE_PLAN, NULL), "applied");
    assert_string_equal(apply(&node, 2, narrow), "unchanged"); /* confirmed */
    assert_mtu(&node, "1500");
    assert_int_equal(entries(&node), 1);
    node_close(&node);
}

static void a_trial_that_brought_a_knob_leaves_no_entry(void **state)
{
    (void)state;
    struct node node;
    node_open(&node);
    assert_string_equal(apply(&node, 1, narrow), "applied");
    reconcile_take(node.r, make_trial(2, wide, "r-1", 60));
    assert_string_equal(pass(&node, RECONCILE_PLAN, NULL), "applied");
    assert_int_equal(entries(&node), 3);
    clock_fake_advance(&node.clock, 60 * NS_PER_S);
    assert_string_equal(pass(&node, RECONCILE_RETURN, NULL), "expired");
    assert_mtu(&node, "1500");
    assert_int_equal(entries(&node), 1);
    node_close(&node);
}

static void a_failed_plan_gives_nothing_back(void **state)
{
    (void)state;
    static const struct row next[] = {STEERING("\"2\""), END};
    for (int n = 1; n <= 3; n++) {
        struct node node;
        node_open(&node);
        assert_string_equal(apply(&node, 1, wide), "applied");
        dp_sim_fail_apply(node.dp, n, true);
        assert_string_equal(apply(&node, 2, next), "rolled-back");
        assert_mtu(&node, "4200");
        assert_int_equal(entries(&node), 3);
        node_close(&node);
    }
}

/* Killed at question k while plan `from` gives way to `to`. False: k is past the last one. */
static bool killed_at(int k, const struct row *from, const struct row *to)
{
    struct node node;
    node_open(&node);
    if (from != NULL)
        assert_string_equal(apply(&node, 1, from), "applied");
    reconcile_free(node.r);
    wake(&node, k);
    bool killed = strcmp(apply(&node, 2, to), "killed") == 0;
    restart(&node);
    struct err err = ERR_INIT;
    OWN_OUTCOME struct outcome out = {0};
    assert_ok(reconcile_recover(node.r, &out, &err));
    assert_null(out.receipt);
    if (reconcile_good(node.r) != NULL)
        (void)pass(&node, RECONCILE_START, NULL);
    (void)apply(&node, 2, to);
    (void)apply(&node, 3, narrow);
    assert_mtu(&node, "1500");
    assert_shows(&node, "dcb.app", "sim.1/0", "", "[]");
    assert_int_equal(entries(&node), 1);
    node_close(&node);
    return killed;
}

static void killed_anywhere_the_first_value_is_kept(void **state)
{
    (void)state;
    int k = 1;
    while (killed_at(k, NULL, wide))
        k++;
    assert_true(k > 5);
    for (k = 1; killed_at(k, wide, narrow);)
        k++;
    assert_true(k > 4);
}

static void a_port_that_is_away_is_given_back_when_it_returns(void **state)
{
    (void)state;
    struct node node;
    node_open(&node);
    assert_string_equal(apply(&node, 1, wide), "applied");
    dp_sim_hide_port(node.dp, 0, true);
    assert_string_equal(apply(&node, 2, narrow), "applied");
    assert_int_equal(entries(&node), 2);
    dp_sim_hide_port(node.dp, 0, false);
    assert_string_equal(pass(&node, RECONCILE_CHECK, NULL), "drift");
    assert_mtu(&node, "1500");
    assert_int_equal(entries(&node), 1);
    node_close(&node);
}

static void what_the_device_does_not_take_back_stops_no_plan(void **state)
{
    (void)state;
    struct node node;
    struct err err = ERR_INIT;
    char problem[ERR_TEXT_MAX];
    node_open(&node);
    assert_string_equal(apply(&node, 1, wide), "applied");
    assert_ok(dp_sim_fault(node.dp, "refuse:link.mtu", &err));
    reconcile_take(node.r, make_plan(2, narrow));
    assert_string_equal(pass(&node, RECONCILE_PLAN, problem), "applied");
    assert_contains(problem, "change link.mtu sim.0/0: no plan names it any more, and it cannot");
    assert_mtu(&node, "4200");
    assert_shows(&node, "dcb.app", "sim.1/0", "", "[]");
    assert_int_equal(entries(&node), 2);
    assert_string_equal(pass(&node, RECONCILE_CHECK, problem), "unchanged");
    assert_contains(problem, "cannot be given back");
    node_close(&node);
}

static void a_knob_managed_before_there_was_the_file_stays(void **state)
{
    (void)state;
    struct node node;
    node_open(&node);
    assert_string_equal(apply(&node, 1, wide), "applied");
    reconcile_free(node.r);
    struct err err = ERR_INIT;
    assert_ok(keep_remove(node.dir, ORIGIN_FILE, &err));
    wake(&node, 0);
    assert_string_equal(apply(&node, 2, wide), "unchanged");
    assert_int_equal(entries(&node), 0); /* what it shows is ours */
    assert_string_equal(apply(&node, 3, narrow), "unchanged");
    assert_mtu(&node, "4200");
    node_close(&node);
}

static void the_mode_of_dcbx_is_left_and_it_is_said_why(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"dcb.dcbx", "sim.0/0", "", "{\"agent\":\"none\",\"mode\":[\"host\",\"ieee\"]}", false,
         false},
        STEERING("\"1\""),
        END,
    };
    struct node node;
    node_open(&node);
    poke(node.dp, "dcb.dcbx", "sim.0/0", "", "{\"agent\":\"none\",\"mode\":[\"host\"]}");
    assert_string_equal(apply(&node, 1, rows), "applied");
    assert_int_equal(entries(&node), 1);
    assert_string_equal(apply(&node, 2, narrow), "unchanged");
    assert_shows(&node, "dcb.dcbx", "sim.0/0", "",
                 "{\"agent\":\"none\",\"mode\":[\"host\",\"ieee\"]}");
    assert_contains(origin_left_why(knob_kind_get("dcb.dcbx")), "a person's choice");
    assert_null(origin_left_why(knob_kind_get("link.mtu")));
    node_close(&node);
}

static void an_observe_only_knob_is_not_ours(void **state)
{
    (void)state;
    static const struct row watched[] = {
        {"link.mtu", "sim.0/0", "", "4200", false, true}, STEERING("\"1\""), END};
    struct node node;
    node_open(&node);
    assert_string_equal(apply(&node, 1, watched), "applied");
    assert_int_equal(entries(&node), 1);
    poke(node.dp, "link.mtu", "sim.0/0", "", "3000");
    assert_string_equal(apply(&node, 2, narrow), "unchanged");
    assert_mtu(&node, "3000");
    node_close(&node);
}

static void of_a_value_that_speaks_of_a_part_only_that_goes_back(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"roce.cc", "sim.0/0", "", "{\"parameters\":{\"cnp_dscp\":48}}", false, false},
        STEERING("\"1\""),
        END,
    };
    struct node node;
    struct err err = ERR_INIT;
    node_open(&node);
    assert_string_equal(apply(&node, 1, rows), "applied");
    OWN_STATE struct state origin;
    state_init(&origin);
    assert_ok(origin_load(node.dir, NODE, clock_system(), &origin, &err));
    const struct state_knob *entry = state_get(&origin, knob_kind_get("roce.cc"), "sim.0/0", "");
    assert_non_null(entry);
    char *text = json_canonical(entry->live, NULL);
    assert_string_equal(text, "{\"parameters\":{\"cnp_dscp\":0}}");
    free(text);
    node_close(&node);
}

static void a_damaged_or_foreign_file_is_set_aside(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{",
        "[]",
        "{\"version\":2,\"node\":\"n1\",\"state\":{\"knobs\":[]}}",
        "{\"version\":1,\"node\":\"n2\",\"state\":{\"knobs\":[]}}",
        "{\"version\":1,\"node\":\"n1\",\"state\":{\"knobs\":[{\"kind\":\"x\"}]}}",
        "{\"version\":1,\"node\":\"n1\",\"state\":{\"knobs\":[]},\"more\":1}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct node node;
        node_open(&node);
        reconcile_free(node.r);
        scribble(node.dir, ORIGIN_FILE, texts[i]);
        wake(&node, 0);
        assert_false(kept(node.dir, ORIGIN_FILE));
        assert_int_equal(count_files(node.dir, ORIGIN_FILE ".corrupt-"), 1);
        assert_string_equal(apply(&node, 1, wide), "applied");
        node_close(&node);
    }
}

static void more_entries_than_the_limit_refuse_the_plan(void **state)
{
    (void)state;
    OWN_STATE struct state origin;
    OWN_STATE struct state before;
    struct err err = ERR_INIT;
    bool news = true;
    struct origin_plans none = {0};
    state_init(&origin);
    state_init(&before);
    for (int i = 0; i < ORIGIN_MAX; i++) {
        struct state_knob knob = {.kind = knob_kind_get("host.sysctl"), .live = json_string("1")};
        snprintf(knob.subject, sizeof(knob.subject), "host");
        snprintf(knob.id, sizeof(knob.id), "a.%d", i);
        assert_ok(state_add(&origin, &knob, &err));
    }
    state_seal(&origin);
    struct state_knob mtu = {.kind = knob_kind_get("link.mtu"), .live = json_integer(1500)};
    snprintf(mtu.subject, sizeof(mtu.subject), "sim.0/0");
    assert_ok(state_add(&before, &mtu, &err));
    struct plan *plan = make_plan(1, wide);
    assert_fails(origin_learn(&origin, plan, &none, &before, &news, &err), ERR_LIMIT);
    assert_int_equal(origin.knob_count, ORIGIN_MAX);
    assert_false(news);
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dropped_knob_is_given_back_as_it_was),
        cmocka_unit_test(the_first_value_counts_whatever_came_between),
        cmocka_unit_test(what_was_not_there_goes_away_again),
        cmocka_unit_test(a_trial_that_drops_a_knob_gives_it_back_and_its_end_sets_it_again),
        cmocka_unit_test(a_trial_that_brought_a_knob_leaves_no_entry),
        cmocka_unit_test(a_failed_plan_gives_nothing_back),
        cmocka_unit_test(killed_anywhere_the_first_value_is_kept),
        cmocka_unit_test(a_port_that_is_away_is_given_back_when_it_returns),
        cmocka_unit_test(what_the_device_does_not_take_back_stops_no_plan),
        cmocka_unit_test(a_knob_managed_before_there_was_the_file_stays),
        cmocka_unit_test(the_mode_of_dcbx_is_left_and_it_is_said_why),
        cmocka_unit_test(an_observe_only_knob_is_not_ours),
        cmocka_unit_test(of_a_value_that_speaks_of_a_part_only_that_goes_back),
        cmocka_unit_test(a_damaged_or_foreign_file_is_set_aside),
        cmocka_unit_test(more_entries_than_the_limit_refuse_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
