#include "fleet_test.h"

#include "fleet/plan.h"

static void add(struct plan *plan, const char *kind, const char *subject, const char *id,
                const char *want)
{
    struct err err = ERR_INIT;
    struct plan_knob knob = {.kind = knob_kind_get(kind), .want = json_of(want)};
    snprintf(knob.subject, sizeof(knob.subject), "%s", subject);
    snprintf(knob.id, sizeof(knob.id), "%s", id);
    assert_ok(plan_add(plan, &knob, &err));
}

static struct plan *small_plan(void)
{
    struct err err = ERR_INIT;
    struct plan *plan = NULL;
    assert_ok(plan_new("n1", 7, &plan, &err));
    add(plan, "tc.class", "p/0", "5e11:1", "{'ceil_bps':10,'parent':'5e11:fffe','rate_bps':5}");
    add(plan, "tc.class", "p/0", "5e11:fffe", "{'ceil_bps':10,'parent':'5e11:','rate_bps':10}");
    add(plan, "dcb.pfc", "p/0", "", "{'priorities':[3],'delay':0}");
    add(plan, "host.sysctl", "host", "net.a", "'1'");
    assert_ok(plan_seal(plan, &err));
    return plan;
}

static void state_put(struct state *state, const char *kind, const char *subject, const char *id,
                      const char *live, enum knob_owner owner)
{
    struct err err = ERR_INIT;
    struct state_knob knob = {
        .kind = knob_kind_get(kind), .live = live == NULL ? NULL : json_of(live), .owner = owner};
    snprintf(knob.subject, sizeof(knob.subject), "%s", subject);
    snprintf(knob.id, sizeof(knob.id), "%s", id);
    assert_ok(state_add(state, &knob, &err));
}

static void state_of_plan(const struct plan *plan, struct state *state)
{
    struct err err = ERR_INIT;
    state_init(state);
    for (size_t i = 0; i < plan->knob_count; i++) {
        struct state_knob knob = {.kind = plan->knobs[i].kind,
                                  .live = json_incref(plan->knobs[i].want),
                                  .next_boot = json_incref(plan->knobs[i].want),
                                  .owner = KNOB_OWNER_STELLAR};
        memcpy(knob.subject, plan->knobs[i].subject, sizeof(knob.subject));
        memcpy(knob.id, plan->knobs[i].id, sizeof(knob.id));
        assert_ok(state_add(state, &knob, &err));
    }
    state_seal(state);
}

static void steps_remove_then_change_then_add(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = small_plan();
    OWN_STATE struct state state;
    state_init(&state);
    state_put(&state, "dcb.pfc", "p/0", "", "{'delay':0,'priorities':[]}", KNOB_OWNER_UNKNOWN);
    state_put(&state, "host.sysctl", "host", "net.a", "'0'", KNOB_OWNER_UNKNOWN);
    state_put(&state, "tc.class", "p/0", "5e11:2", "{}", KNOB_OWNER_STELLAR);
    state_put(&state, "tc.flower", "p/0", "egress/2", "{}", KNOB_OWNER_STELLAR);
    state_put(&state, "tc.flower", "p/0", "egress/3", "{}", KNOB_OWNER_OTHER);
    state_seal(&state);
    OWN_STEPS struct plan_steps steps = {0};
    assert_ok(plan_diff(plan, &state, &steps, &err));
    const char *wanted[] = {"remove tc.flower p/0 egress/2", "remove tc.class p/0 5e11:2",
                            "change host.sysctl host net.a", "change dcb.pfc p/0",
                            "add tc.class p/0 5e11:fffe",    "add tc.class p/0 5e11:1"};
    assert_int_equal(steps.count, 6);
    for (size_t i = 0; i < steps.count; i++) {
        char text[256];
        plan_step_describe(&steps.items[i], text, sizeof(text));
        assert_string_equal(text, wanted[i]);
        assert_true((steps.items[i].from == NULL) == (steps.items[i].op == STEP_ADD));
        assert_true((steps.items[i].to == NULL) == (steps.items[i].op == STEP_REMOVE));
    }
    assert_int_equal(steps.items[3].disruption, DISRUPTION_LINK_RESET);
}

#define HTB  "{'default_class':'5e11:ffff','handle':'5e11:','kind':'htb'}"
#define ETS  "{'bands':2,'handle':'5e11:','kind':'ets','priomap':[0],'quanta':[1514],'strict':1}"
#define ETS2 "{'bands':2,'handle':'5e11:','kind':'ets','priomap':[0],'quanta':[3028],'strict':1}"
#define RED  "{'ecn':true,'limit_bytes':9,'max_bytes':8,'min_bytes':4,'probability_permyriad':1}"

/* The steps from a port with scheduler `is`, a queue and a class to one with `want` and both. */
static void diff_of_scheduler(const char *is, const char *want, struct plan_steps *out)
{
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    OWN_STATE struct state state;
    state_init(&state);
    assert_ok(plan_new("n1", 7, &plan, &err));
    for (int port = 0; port < 2; port++) { /* of the other one nothing changes */
        const char *subject = port == 0 ? "p/0" : "q/0";
        add(plan, "tc.qdisc", subject, "root", port == 0 ? want : HTB);
        add(plan, "tc.class", subject, "5e11:2", "{'rate_bps':5}");
        add(plan, "tc.red", subject, "5e11:2", RED);
        add(plan, "tc.flower", subject, "egress/2", "{}");
        if (is != NULL || port == 1)
            state_put(&state, "tc.qdisc", subject, "root", port == 0 ? is : HTB,
                      KNOB_OWNER_STELLAR);
        state_put(&state, "tc.class", subject, "5e11:2", "{'rate_bps':5}", KNOB_OWNER_STELLAR);
        state_put(&state, "tc.red", subject, "5e11:2", RED, KNOB_OWNER_STELLAR);
        state_put(&state, "tc.flower", subject, "egress/2", "{}", KNOB_OWNER_STELLAR);
    }
    assert_ok(plan_seal(plan, &err));
    state_seal(&state);
    assert_ok(plan_diff(plan, &state, out, &err));
}

static void what_stands_on_a_new_scheduler_is_set_again(void **unused)
{
    (void)unused;
    static const char *const pairs[][2] = {
        {HTB, ETS}, {ETS, HTB}, {HTB, "{'default_class':'5e11:1','handle':'5e11:','kind':'htb'}"}};
    const char *wanted[] = {"change tc.qdisc p/0 root", "change tc.class p/0 5e11:2",
                            "change tc.red p/0 5e11:2"};
    for (size_t pair = 0; pair < 3; pair++) {
        OWN_STEPS struct plan_steps steps = {0};
        diff_of_scheduler(pairs[pair][0], pairs[pair][1], &steps);
        assert_int_equal(steps.count, 3);
        for (size_t i = 0; i < steps.count; i++) {
            char text[256];
            plan_step_describe(&steps.items[i], text, sizeof(text));
            assert_string_equal(text, wanted[i]);
        }
        assert_true(json_equal(steps.items[2].from, steps.items[2].to));
    }
}

static void a_queue_follows_the_class_that_it_needs(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    OWN_STATE struct state state;
    OWN_STEPS struct plan_steps steps = {0};
    state_init(&state);
    assert_ok(plan_new("n1", 7, &plan, &err));
    add(plan, "tc.qdisc", "p/0", "root", HTB);
    add(plan, "tc.class", "p/0", "5e11:1", "{'rate_bps':5}");
    add(plan, "tc.class", "p/0", "5e11:2", "{'rate_bps':5}");
    add(plan, "tc.red", "p/0", "5e11:1", RED);
    add(plan, "tc.red", "p/0", "5e11:2", RED);
    assert_ok(plan_seal(plan, &err));
    state_put(&state, "tc.qdisc", "p/0", "root", ETS, KNOB_OWNER_STELLAR);
    state_put(&state, "tc.red", "p/0", "5e11:2", RED, KNOB_OWNER_STELLAR);
    state_seal(&state);
    assert_ok(plan_diff(plan, &state, &steps, &err));
    const char *wanted[] = {"change tc.qdisc p/0 root", "add tc.class p/0 5e11:1",
                            "add tc.class p/0 5e11:2", "change tc.red p/0 5e11:2",
                            "add tc.red p/0 5e11:1"};
    assert_int_equal(steps.count, 5);
    for (size_t i = 0; i < steps.count; i++) {
        char text[256];
        plan_step_describe(&steps.items[i], text, sizeof(text));
        assert_string_equal(text, wanted[i]);
    }
}

static void what_stands_on_a_scheduler_that_lives_on_is_left_alone(void **unused)
{
    (void)unused;
    OWN_STEPS struct plan_steps same = {0}, shares = {0};
    diff_of_scheduler(HTB, HTB, &same);
    assert_int_equal(same.count, 0);
    diff_of_scheduler(ETS, ETS2, &shares);
    assert_int_equal(shares.count, 1);
    assert_string_equal(shares.items[0].kind->name, "tc.qdisc");
}

static void an_unreadable_wanted_knob_stops_the_diff(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = small_plan();
    OWN_STATE struct state state;
    state_of_plan(plan, &state);
    json_decref(state.knobs[1].live);
    state.knobs[1].live = NULL;
    snprintf(state.knobs[1].problem, sizeof(state.knobs[1].problem), "device is gone");
    OWN_STEPS struct plan_steps steps = {0};
    assert_fails(plan_diff(plan, &state, &steps, &err), ERR_UNAVAILABLE);
    assert_contains(err.text, "dcb.pfc p/0");
    assert_contains(err.text, "device is gone");
}

static void undoing_a_step_twice_gives_the_step(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = small_plan();
    OWN_STEPS struct plan_steps steps = {0};
    assert_ok(plan_compare(NULL, plan, &steps, &err));
    assert_int_equal(steps.count, plan->knob_count);
    struct plan_step undo, redo;
    assert_ok(plan_step_undo(&steps.items[0], &undo, &err));
    assert_int_equal(undo.op, STEP_REMOVE);
    assert_null(undo.to);
    assert_ok(plan_step_undo(&undo, &redo, &err));
    assert_int_equal(redo.op, STEP_ADD);
    assert_true(json_equal(redo.to, steps.items[0].to));
    plan_step_release(&undo);
    plan_step_release(&redo);
}

static void steps_survive_json(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = small_plan();
    OWN_STEPS struct plan_steps steps = {0}, again = {0};
    assert_ok(plan_compare(NULL, plan, &steps, &err));
    OWN(json) json_t *array = plan_steps_to_json(&steps);
    assert_ok(plan_steps_from_json(array, &again, &err));
    OWN(json) json_t *twice = plan_steps_to_json(&again);
    assert_true(json_equal(array, twice));
}

static void hostile_steps_are_refused(void **unused)
{
    (void)unused;
    static const char *const cases[] = {
        "{}",
        "[1]",
        "[{'op':'add','kind':'dcb.pfc','subject':'p','disruption':'none'}]",
        "[{'op':'add','kind':'dcb.pfc','subject':'p','disruption':'none','to':1,'from':1}]",
        "[{'op':'remove','kind':'dcb.pfc','subject':'p','disruption':'none','to':1,'from':1}]",
        "[{'op':'change','kind':'dcb.pfc','subject':'p','disruption':'none','to':1}]",
        "[{'op':'change','kind':'dcb.pfc','subject':'p','disruption':'boom','to':1,'from':1}]",
        "[{'op':'melt','kind':'dcb.pfc','subject':'p','disruption':'none','to':1,'from':1}]",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        OWN_STEPS struct plan_steps steps = {0};
        OWN(json) json_t *array = json_of(cases[i]);
        assert_fails(plan_steps_from_json(array, &steps, &err), ERR_INVALID);
    }
}

static void between_plans_only_what_differs_is_a_step(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *from = small_plan();
    OWN(plan) struct plan *to = NULL;
    OWN_STEPS struct plan_steps steps = {0};
    assert_ok(plan_new("n1", 8, &to, &err));
    add(to, "dcb.pfc", "p/0", "", "{'priorities':[],'delay':0}");
    assert_ok(plan_seal(to, &err));
    assert_ok(plan_compare(from, to, &steps, &err));
    assert_int_equal(steps.count, 3); /* both classes go, PFC changes, the sysctl stays */
    assert_string_equal(steps.items[1].id, "5e11:fffe");
    OWN_STEPS struct plan_steps none = {0};
    assert_ok(plan_compare(from, from, &none, &err));
    assert_int_equal(none.count, 0);
}

static void modules_are_compared_by_what_the_next_load_gives(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    assert_ok(plan_new("n1", 1, &plan, &err));
    add(plan, "host.modparam", "host", "m.p", "'1'");
    assert_ok(plan_seal(plan, &err));
    OWN_STATE struct state state;
    state_init(&state);
    struct state_knob knob = {.kind = knob_kind_get("host.modparam"),
                              .subject = "host",
                              .id = "m.p",
                              .live = json_string("0"),
                              .next_boot = json_string("1")};
    assert_ok(state_add(&state, &knob, &err));
    OWN_STEPS struct plan_steps steps = {0};
    assert_ok(plan_diff(plan, &state, &steps, &err));
    assert_int_equal(steps.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_remove_then_change_then_add),
        cmocka_unit_test(what_stands_on_a_new_scheduler_is_set_again),
        cmocka_unit_test(a_queue_follows_the_class_that_it_needs),
        cmocka_unit_test(what_stands_on_a_scheduler_that_lives_on_is_left_alone),
        cmocka_unit_test(an_unreadable_wanted_knob_stops_the_diff),
        cmocka_unit_test(undoing_a_step_twice_gives_the_step),
        cmocka_unit_test(steps_survive_json),
        cmocka_unit_test(hostile_steps_are_refused),
        cmocka_unit_test(between_plans_only_what_differs_is_a_step),
        cmocka_unit_test(modules_are_compared_by_what_the_next_load_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
