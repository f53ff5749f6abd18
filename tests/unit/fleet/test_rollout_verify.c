/*
 * A verification as a gate of rollouts: when it is ordered, between whom, what each verdict means.
 */
#include "tests/unit/fleet/rollout_test.h"

#include "fleet/rollout_verify.h"
#include "fleet/verification.h"

static enum err_code read_settings(const char *text, struct rollout_settings *out, struct err *err)
{
    OWN(json) json_t *document = json_loads(text, 0, NULL);
    assert_non_null(document);
    rollout_settings_init(out);
    return rollout_request_from_json(document, out, NULL, err);
}

/* n1, then n2 and n3. */
static void begin(const char *verify)
{
    static const char *const names[] = {"n1", "n2", "n3"};
    char text[512];
    struct err err = ERR_INIT;
    struct rollout_settings settings;
    snprintf(text, sizeof(text), "{\"all\": true, \"soak\": \"1s\", \"verify\": %s}", verify);
    assert_ok(read_settings(text, &settings, &err));
    assert_ok(rollout_new(&settings, names, 3, &r, &err));
    rollout_settings_release(&settings);
    for (size_t i = 0; i < 3; i++) {
        r->nodes[i].wave = i > 0;
        snprintf(r->nodes[i].target, sizeof(r->nodes[i].target), "target-%s", names[i]);
        snprintf(r->nodes[i].before, sizeof(r->nodes[i].before), "before-%s", names[i]);
    }
    r->number = 4;
    now_ns = 1000 * NS_PER_S;
    rollout_start(r, 2, &actions);
    rollout_step(r, now_ns, &actions);
}

static void apply(size_t i)
{
    const struct rollout_report report = {.digest = r->nodes[i].target,
                                          .observed = r->nodes[i].target,
                                          .good = true,
                                          .mine = true,
                                          .probes_ok = true,
                                          .problem = ""};
    rollout_receipt(r, i, &report, now_ns);
    rollout_heard(r, i, now_ns);
    later(0);
}

static void assert_asks(const char *nodes)
{
    OWN(json) json_t *request = rollout_verify_request(r);
    OWN(json) json_t *wanted = json_loads(nodes, 0, NULL);
    struct verification_settings settings;
    struct err err = ERR_INIT;
    assert_non_null(request);
    if (!json_equal(json_object_get(request, "nodes"), wanted))
        fail_msg("asks %s", json_dumps(json_object_get(request, "nodes"), 0));
    assert_ok(verification_request_from_json(request, &settings, NULL, &err));
    assert_true(settings.kinds[VERIFY_MESH]);
}

static void it_is_due_once_the_other_gates_have_passed(void **state)
{
    (void)state;
    begin("{\"kinds\": [\"mesh\"]}");
    assert_false(rollout_verify_is_due(r));
    apply(0);
    assert_true(rollout_verify_is_due(r));
    later(2 * NS_PER_S);
    assert_int_equal(r->wave, 0); /* it holds the wave */
    rollout_verify_ordered(r, 7, &actions);
    assert_false(rollout_verify_is_due(r));
    assert_string_equal(r->verify_why, "v-7 runs");
    later(2 * NS_PER_S);
    assert_int_equal(r->wave, 0);
    rollout_verify_ended(r, VERIFY_PASS, "");
    later(0);
    later(NS_PER_S - 1);
    assert_int_equal(r->wave, 0); /* then it soaks */
    later(1);
    assert_int_equal(r->wave, 1);
    assert_int_equal(r->verify_number, 0);
    assert_false(rollout_verify_is_due(r)); /* the next wave has not applied */
}

static void without_it_nothing_is_due(void **state)
{
    struct rollout_gate gates[ROLLOUT_GATES];
    (void)state;
    begin("{\"kinds\": []}");
    apply(0);
    assert_false(rollout_verify_is_due(r));
    assert_int_equal(rollout_gates(r, 0, gates), ROLLOUT_GATES - 1);
    later(NS_PER_S);
    assert_int_equal(r->wave, 1);
}

static void a_lone_node_is_tested_with_one_that_is_confirmed(void **state)
{
    (void)state;
    begin("{\"kinds\": [\"mesh\"]}");
    apply(0);
    assert_asks("[\"n1\"]"); /* there is none: the test is unknown */
    rollout_verify_ordered(r, 7, &actions);
    rollout_verify_ended(r, VERIFY_PASS, "");
    later(0);
    later(NS_PER_S);
    apply(1);
    assert_asks("[\"n2\", \"n1\"]");
    apply(2);
    assert_asks("[\"n2\", \"n3\"]");
}

static void nodes_may_be_named_to_be_tested_with(void **state)
{
    (void)state;
    begin("{\"kinds\": [\"mesh\"], \"with\": [\"n9\", \"n1\"], \"unknown\": \"pass\"}");
    apply(0);
    assert_asks("[\"n1\", \"n9\"]");
}

static void ends_with(const char *verify, enum verify_verdict verdict, const char *problem)
{
    begin(verify);
    apply(0);
    rollout_verify_ordered(r, 7, &actions);
    rollout_verify_ended(r, verdict, "because");
    later(0);
    assert_int_equal(r->state, problem == NULL ? ROLLOUT_RUNNING : ROLLOUT_RETURNING);
    if (problem != NULL)
        assert_string_equal(r->problem, problem);
    else
        assert_int_not_equal(r->soak_ns, 0);
    teardown(NULL);
}

static void each_verdict_has_its_meaning(void **state)
{
    static const char strict[] = "{\"kinds\": [\"mesh\"]}";
    static const char lax[] = "{\"kinds\": [\"mesh\"], \"unknown\": \"pass\"}";
    (void)state;
    ends_with(strict, VERIFY_PASS, NULL);
    ends_with(strict, VERIFY_NOT_APPLICABLE, NULL);
    ends_with(strict, VERIFY_FAIL, "gate verification: v-7: fail: because");
    ends_with(strict, VERIFY_UNKNOWN, "gate verification: v-7: unknown: because");
    ends_with(lax, VERIFY_UNKNOWN, NULL);
    ends_with(lax, VERIFY_FAIL, "gate verification: v-7: fail: because");
}

static void what_cannot_be_ordered_is_unknown(void **state)
{
    (void)state;
    begin("{\"kinds\": [\"mesh\"]}");
    apply(0);
    rollout_verify_refused(r, "there is no node 'n9'");
    later(0);
    assert_string_equal(r->problem, "gate verification: unknown: there is no node 'n9'");
}

static void what_waits_fails_with_the_deadline_and_says_for_what(void **state)
{
    (void)state;
    begin("{\"kinds\": [\"mesh\"]}");
    apply(0);
    rollout_verify_held(r, "node n1 is in verification v-3");
    assert_true(rollout_verify_is_due(r));
    r->confirm_ns = 0; /* not what is tested */
    later(r->gates_ns - now_ns);
    assert_string_equal(r->problem, "the gates did not pass before the wave's deadline; "
                                    "verification: node n1 is in verification v-3");
}

static void of_a_wave_that_is_over_it_is_in_vain(void **state)
{
    (void)state;
    begin("{\"kinds\": [\"mesh\"]}");
    apply(0);
    rollout_verify_ordered(r, 7, &actions);
    assert_false(rollout_verify_is_in_vain(r));
    assert_true(rollout_finding(r, 0, "drift"));
    later(0);
    assert_int_equal(r->state, ROLLOUT_RETURNING);
    assert_true(rollout_verify_is_in_vain(r));
}

static void it_is_stored(void **state)
{
    struct rollout again = {.node_count = 0};
    struct err err = ERR_INIT;
    (void)state;
    begin("{\"kinds\": [\"mesh\"], \"with\": [\"n9\"]}");
    apply(0);
    rollout_verify_ordered(r, 7, &actions);
    OWN(json) json_t *head = rollout_head_to_json(r, now_ns);
    assert_ok(rollout_head_from_json(&again, head, now_ns, &err));
    assert_int_equal(again.verify_number, 7);
    assert_int_equal(again.verify_state, ROLLOUT_GATE_PENDING);
    assert_string_equal(again.verify_why, "v-7 runs");
    assert_true(json_equal(again.settings.verify, r->settings.verify));
    rollout_settings_release(&again.settings);
    rollout_verify_ended(r, VERIFY_FAIL, "because");
    OWN(json) json_t *later_head = rollout_head_to_json(r, now_ns);
    assert_ok(rollout_head_from_json(&again, later_head, now_ns, &err));
    assert_int_equal(again.verify_state, ROLLOUT_GATE_FAILED);
    rollout_settings_release(&again.settings);
}

static void refused(const char *text, const char *pointer)
{
    struct err err = ERR_INIT;
    struct rollout_settings settings;
    assert_int_equal(read_settings(text, &settings, &err), ERR_INVALID);
    assert_string_equal(err.pointer, pointer);
    rollout_settings_release(&settings);
}

static void times_must_leave_room_for_it(void **state)
{
    struct err err = ERR_INIT;
    struct rollout_settings settings;
    (void)state;
    assert_ok(read_settings("{\"all\": true, \"soak\": \"1s\", \"confirm_timeout\": \"42s\","
                            " \"verify\": {\"kinds\": [\"mesh\"], \"deadline\": \"30s\"}}",
                            &settings, &err));
    rollout_settings_release(&settings);
    refused("{\"all\": true, \"soak\": \"1s\", \"confirm_timeout\": \"41s\","
            " \"verify\": {\"kinds\": [\"mesh\"], \"deadline\": \"30s\"}}",
            "/verify");
    refused("{\"all\": true, \"wave_deadline\": \"40s\","
            " \"verify\": {\"kinds\": [\"mesh\"], \"deadline\": \"30s\"}}",
            "/verify");
}

static void what_it_cannot_say_is_refused(void **state)
{
    (void)state;
    refused("{\"all\": true, \"verify\": {}}", "/verify/kinds");
    refused("{\"all\": true, \"verify\": {\"kinds\": [\"ping\"]}}", "/verify/kinds");
    refused("{\"all\": true, \"verify\": {\"kinds\": [\"mesh\"], \"unknown\": \"maybe\"}}",
            "/verify/unknown");
    refused("{\"all\": true, \"verify\": {\"kinds\": [\"mesh\"], \"with\": [\"a b\"]}}",
            "/verify/with");
    refused("{\"all\": true, \"verify\": {\"kinds\": [\"mesh\"], \"nodes\": [\"n1\"]}}",
            "/verify/nodes");
    refused("{\"all\": true, \"verify\": {\"kinds\": [], \"force\": true}}", "/verify/force");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(it_is_due_once_the_other_gates_have_passed, teardown),
        cmocka_unit_test_teardown(without_it_nothing_is_due, teardown),
        cmocka_unit_test_teardown(a_lone_node_is_tested_with_one_that_is_confirmed, teardown),
        cmocka_unit_test_teardown(nodes_may_be_named_to_be_tested_with, teardown),
        cmocka_unit_test(each_verdict_has_its_meaning),
        cmocka_unit_test_teardown(what_cannot_be_ordered_is_unknown, teardown),
        cmocka_unit_test_teardown(what_waits_fails_with_the_deadline_and_says_for_what, teardown),
        cmocka_unit_test_teardown(of_a_wave_that_is_over_it_is_in_vain, teardown),
        cmocka_unit_test_teardown(it_is_stored, teardown),
        cmocka_unit_test(times_must_leave_room_for_it),
        cmocka_unit_test(what_it_cannot_say_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
