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

static void knobs_are_sorted_by_rank_and_parents_come_first(void **unused)
{
    (void)unused;
    OWN(plan) struct plan *plan = small_plan();
    const char *order[] = {"host.sysctl", "dcb.pfc", "tc.class", "tc.class"};
    for (size_t i = 0; i < plan->knob_count; i++)
        assert_string_equal(plan->knobs[i].kind->name, order[i]);
    assert_string_equal(plan->knobs[2].id, "5e11:fffe");
}

static void the_digest_is_that_of_the_documented_json(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    char digest[DIGEST_TEXT_MAX];
    OWN(plan) struct plan *plan = small_plan();
    OWN(json) json_t *knobs = json_array();
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *knob = &plan->knobs[i];
        json_array_append_new(knobs, json_pack("{s:s,s:s,s:s,s:O,s:i}", "kind", knob->kind->name,
                                               "subject", knob->subject, "id", knob->id, "want",
                                               knob->want, "flags", 0));
    }
    OWN(json) json_t *whole = json_pack("{s:s,s:O}", "node", "n1", "knobs", knobs);
    assert_ok(json_digest(whole, digest, &err));
    assert_string_equal(digest, plan->digest);
}

static void the_digest_holds_flags_and_node_but_not_the_generation(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *a = small_plan();
    OWN(plan) struct plan *b = small_plan();
    b->generation = 8;
    assert_ok(plan_seal(b, &err));
    assert_string_equal(a->digest, b->digest);
    b->knobs[0].strict = true;
    assert_ok(plan_seal(b, &err));
    assert_string_not_equal(a->digest, b->digest);
    b->knobs[0].strict = false;
    snprintf(b->node, sizeof(b->node), "n2");
    assert_ok(plan_seal(b, &err));
    assert_string_not_equal(a->digest, b->digest);
}

static void ids_with_quotes_are_digested_too(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    char digest[DIGEST_TEXT_MAX];
    OWN(plan) struct plan *plan = NULL;
    assert_ok(plan_new("n1", 1, &plan, &err));
    add(plan, "host.sysctl", "host", "a\"b\\c", "'1'");
    assert_ok(plan_seal(plan, &err));
    OWN(json)
    json_t *whole =
        json_pack("{s:[{s:s,s:s,s:s,s:s,s:i}],s:s}", "knobs", "kind", "host.sysctl", "subject",
                  "host", "id", "a\"b\\c", "want", "1", "flags", 0, "node", "n1");
    assert_ok(json_digest(whole, digest, &err));
    assert_string_equal(digest, plan->digest);
}

static void a_knob_twice_is_a_conflict(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = small_plan();
    add(plan, "dcb.pfc", "p/0", "", "{'priorities':[],'delay':0}");
    assert_fails(plan_seal(plan, &err), ERR_CONFLICT);
    assert_contains(err.text, "knob dcb.pfc p/0 is in the plan twice");
}

static void a_plan_has_a_maximum_of_knobs(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    assert_ok(plan_new("n1", 1, &plan, &err));
    struct plan_knob knob = {.kind = knob_kind_get("tc.flower"), .subject = "p/0"};
    for (int i = 0; i < PLAN_KNOBS_MAX; i++) {
        knob.want = json_true();
        snprintf(knob.id, sizeof(knob.id), "egress/%d", i);
        assert_ok(plan_add(plan, &knob, &err));
    }
    knob.want = json_object();
    assert_fails(plan_add(plan, &knob, &err), ERR_LIMIT);
    assert_ok(plan_seal(plan, &err));
}

static void a_plan_survives_json(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = small_plan();
    plan->knobs[1].strict = true;
    plan->knobs[1].observe_only = true;
    plan->knobs[1].enforcement = ENFORCEMENT_KERNEL;
    snprintf(plan->knobs[1].tenant, NAME_SIZE, "a");
    snprintf(plan->knobs[1].job, NAME_SIZE, "j");
    assert_ok(plan_seal(plan, &err));
    OWN(json) json_t *document = plan_to_json(plan);
    OWN(plan) struct plan *again = NULL;
    assert_ok(plan_from_json(document, &again, &err));
    OWN(json) json_t *twice = plan_to_json(again);
    assert_true(json_equal(document, twice));
    assert_int_equal(again->generation, 7);
    assert_true(again->knobs[1].strict && again->knobs[1].observe_only);
}

static void a_trial_is_in_json_and_tag_but_not_in_the_digest(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    char tag[PLAN_TAG_SIZE], wanted[PLAN_TAG_SIZE];
    OWN(plan) struct plan *plan = small_plan();
    plan_tag(plan, tag);
    assert_true(plan_is_final(plan));
    assert_string_equal(tag, plan->digest);
    plan->confirm = (struct plan_confirm){.rollout = "r-7", .timeout_s = 600};
    OWN(json) json_t *document = plan_to_json(plan);
    OWN(plan) struct plan *again = NULL;
    assert_ok(plan_from_json(document, &again, &err));
    assert_false(plan_is_final(again));
    assert_string_equal(again->digest, plan->digest);
    assert_string_equal(again->confirm.rollout, "r-7");
    assert_int_equal(again->confirm.timeout_s, 600);
    plan_tag(again, tag);
    snprintf(wanted, sizeof(wanted), "%s+r-7", plan->digest);
    assert_string_equal(tag, wanted);
    OWN(json) json_t *twice = plan_to_json(again);
    assert_true(json_equal(document, twice));
}

static void the_longest_tag_fits(void **unused)
{
    (void)unused;
    char tag[PLAN_TAG_SIZE];
    OWN(plan) struct plan *plan = small_plan();
    memset(plan->confirm.rollout, 'r', NAME_MAX_LEN);
    plan_tag(plan, tag);
    assert_int_equal(strlen(tag), strlen(plan->digest) + 1 + NAME_MAX_LEN);
}

static void hostile_plans_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        const char *member, *value;
        enum err_code code;
    } cases[] = {
        {"version", "2", ERR_INVALID},
        {"version", "null", ERR_INVALID},
        {"node", "'../n1'", ERR_INVALID},
        {"node", "''", ERR_INVALID},
        {"generation", "-1", ERR_INVALID},
        {"generation", "1.5", ERR_INVALID},
        {"digest", "'sha256:0'", ERR_INVALID},
        {"knobs", "{}", ERR_INVALID},
        {"knobs", "[1]", ERR_INVALID},
        {"knobs", "[{}]", ERR_INVALID},
        {"surplus", "1", ERR_INVALID},
        {"confirm", "null", ERR_INVALID},
        {"confirm", "'r-7'", ERR_INVALID},
        {"confirm", "{}", ERR_INVALID},
        {"confirm", "{'rollout':'r-7'}", ERR_INVALID},
        {"confirm", "{'timeout_s':600}", ERR_INVALID},
        {"confirm", "{'rollout':'','timeout_s':600}", ERR_INVALID},
        {"confirm", "{'rollout':'r 7','timeout_s':600}", ERR_INVALID},
        {"confirm", "{'rollout':'r-7','timeout_s':0}", ERR_INVALID},
        {"confirm", "{'rollout':'r-7','timeout_s':1}", ERR_OK},
        {"confirm", "{'rollout':'r-7','timeout_s':86400}", ERR_OK},
        {"confirm", "{'rollout':'r-7','timeout_s':86401}", ERR_INVALID},
        {"confirm", "{'rollout':'r-7','timeout_s':600,'x':1}", ERR_INVALID},
        {"knobs", "[{'kind':'gpu.clock','subject':'x','want':1,'enforcement':'nic'}]",
         ERR_UNSUPPORTED},
        {"knobs", "[{'kind':'dcb.pfc','subject':'x','want':null,'enforcement':'nic'}]",
         ERR_INVALID},
        {"knobs", "[{'kind':'dcb.pfc','subject':'x','want':1,'enforcement':'magic'}]", ERR_INVALID},
        {"knobs", "[{'kind':'dcb.pfc','subject':'x','want':1,'enforcement':'nic','y':1}]",
         ERR_INVALID},
        {"knobs", "[]", ERR_INVALID}, /* the digest is another */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        OWN(plan) struct plan *plan = small_plan();
        OWN(plan) struct plan *out = NULL;
        OWN(json) json_t *document = plan_to_json(plan);
        json_object_set_new(document, cases[i].member, json_of(cases[i].value));
        if (cases[i].code == ERR_OK) { /* the other side of a limit */
            assert_ok(plan_from_json(document, &out, &err));
            continue;
        }
        assert_fails(plan_from_json(document, &out, &err), cases[i].code);
        assert_null(out);
    }
}

static void a_changed_want_breaks_the_digest(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = small_plan();
    OWN(plan) struct plan *out = NULL;
    OWN(json) json_t *document = plan_to_json(plan);
    json_t *knob = json_array_get(json_object_get(document, "knobs"), 0);
    json_object_set_new(knob, "want", json_string("2"));
    assert_fails(plan_from_json(document, &out, &err), ERR_INVALID);
    assert_string_equal(err.pointer, "/digest");
}

static void a_node_in_sync_has_the_plans_digest(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    char digest[DIGEST_TEXT_MAX];
    OWN(plan) struct plan *plan = small_plan();
    OWN_STATE struct state state;
    state_of_plan(plan, &state);
    /* What is not ours and not planned does not count. */
    state_put(&state, "tc.flower", "p/0", "egress/9", "{}", KNOB_OWNER_OTHER);
    state_put(&state, "link.mtu", "p/0", "", "1500", KNOB_OWNER_STELLAR);
    state_seal(&state);
    assert_ok(plan_observed_digest(plan, &state, digest, &err));
    assert_string_equal(digest, plan->digest);
}

static void every_kind_of_drift_changes_the_observed_digest(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    char digest[DIGEST_TEXT_MAX], other[DIGEST_TEXT_MAX];
    OWN(plan) struct plan *plan = small_plan();
    for (int drift = 0; drift < 3; drift++) {
        OWN_STATE struct state state;
        state_of_plan(plan, &state);
        if (drift == 0) {
            json_decref(state.knobs[1].live);
            state.knobs[1].live = NULL;
        } else if (drift == 1) {
            json_decref(state.knobs[1].live);
            state.knobs[1].live = json_of("{'delay':0,'priorities':[4]}");
        } else {
            state_put(&state, "tc.flower", "p/0", "egress/9", "{}", KNOB_OWNER_STELLAR);
            state_seal(&state);
        }
        assert_ok(plan_observed_digest(plan, &state, digest, &err));
        assert_string_not_equal(digest, plan->digest);
        if (drift > 0)
            assert_string_not_equal(digest, other);
        memcpy(other, digest, sizeof(other));
    }
}

static void an_observe_only_knob_counts_as_wanted(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    char digest[DIGEST_TEXT_MAX];
    OWN(plan) struct plan *plan = small_plan();
    plan->knobs[0].observe_only = true;
    assert_ok(plan_seal(plan, &err));
    OWN_STATE struct state state;
    state_of_plan(plan, &state);
    json_decref(state.knobs[0].live);
    state.knobs[0].live = json_string("9");
    assert_ok(plan_observed_digest(plan, &state, digest, &err));
    assert_string_equal(digest, plan->digest);
    OWN_STEPS struct plan_steps steps = {0};
    assert_ok(plan_diff(plan, &state, &steps, &err));
    assert_int_equal(steps.count, 0);
}

static void a_state_survives_json(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN_STATE struct state state, again;
    state_init(&state);
    state_init(&again);
    state_put(&state, "tc.clsact", "p/0", "", "true", KNOB_OWNER_STELLAR);
    state_put(&state, "host.thp", "host", "", "'never'", KNOB_OWNER_OTHER);
    struct state_knob broken = {
        .kind = knob_kind_get("dcb.pfc"), .subject = "p/0", .problem = "no\nanswer"};
    assert_ok(state_add(&state, &broken, &err));
    state_seal(&state);
    bytes_digest("x", 1, state.of.digest);
    state.of.generation = 7;
    state.of.time_us = 9;
    OWN(json) json_t *document = state_to_json(&state);
    assert_ok(state_from_json(document, &again, &err));
    assert_memory_equal(&again.of, &state.of, sizeof(again.of));
    assert_int_equal(again.knob_count, 3);
    assert_string_equal(again.knobs[1].problem, "no\\u000aanswer");
    assert_non_null(state_get(&again, knob_kind_get("tc.clsact"), "p/0", ""));
    assert_null(state_get(&again, knob_kind_get("tc.clsact"), "p/1", ""));
}

static void hostile_states_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        enum err_code code;
    } cases[] = {
        {"[]", ERR_INVALID},
        {"{'knobs':1}", ERR_INVALID},
        {"{'knobs':[],'x':1}", ERR_INVALID},
        {"{'knobs':[],'of':{}}", ERR_INVALID},
        {"{'knobs':[],'of':{'digest':'sha256:1','generation':1,'time_us':1}}", ERR_INVALID},
        {"{'knobs':[{'kind':'dcb.pfc','subject':'p'}]}", ERR_INVALID},
        {"{'knobs':[{'kind':'dcb.pfc','subject':'p','owner':'me'}]}", ERR_INVALID},
        {"{'knobs':[{'kind':'no.kind','subject':'p','owner':'other'}]}", ERR_UNSUPPORTED},
        {"{'knobs':[{'kind':'dcb.pfc','subject':'p','owner':'other'},"
         "{'kind':'dcb.pfc','subject':'p','owner':'other'}]}",
         ERR_INVALID},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        OWN_STATE struct state state;
        state_init(&state);
        OWN(json) json_t *document = json_of(cases[i].text);
        assert_fails(state_from_json(document, &state, &err), cases[i].code);
    }
}

static void knob_kinds_are_in_the_order_of_their_ranks(void **unused)
{
    (void)unused;
    for (size_t i = 1; knob_kinds[i].name != NULL; i++)
        assert_true(knob_kinds[i - 1].rank < knob_kinds[i].rank);
    assert_null(knob_kind_get("dcb"));
}

static void disruptions_have_names_both_ways(void **unused)
{
    (void)unused;
    enum disruption out;
    for (int i = DISRUPTION_NONE; i <= DISRUPTION_REBOOT; i++) {
        assert_true(disruption_from_name(disruption_name((enum disruption)i), &out));
        assert_int_equal(out, i);
    }
    assert_false(disruption_from_name("", &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knobs_are_sorted_by_rank_and_parents_come_first),
        cmocka_unit_test(the_digest_is_that_of_the_documented_json),
        cmocka_unit_test(the_digest_holds_flags_and_node_but_not_the_generation),
        cmocka_unit_test(ids_with_quotes_are_digested_too),
        cmocka_unit_test(a_knob_twice_is_a_conflict),
        cmocka_unit_test(a_plan_has_a_maximum_of_knobs),
        cmocka_unit_test(a_plan_survives_json),
        cmocka_unit_test(a_trial_is_in_json_and_tag_but_not_in_the_digest),
        cmocka_unit_test(the_longest_tag_fits),
        cmocka_unit_test(hostile_plans_are_refused),
        cmocka_unit_test(a_changed_want_breaks_the_digest),
        cmocka_unit_test(a_node_in_sync_has_the_plans_digest),
        cmocka_unit_test(every_kind_of_drift_changes_the_observed_digest),
        cmocka_unit_test(an_observe_only_knob_counts_as_wanted),
        cmocka_unit_test(a_state_survives_json),
        cmocka_unit_test(hostile_states_are_refused),
        cmocka_unit_test(knob_kinds_are_in_the_order_of_their_ranks),
        cmocka_unit_test(disruptions_have_names_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
