/*
 * tests/unit/fleet/test_verification.c - which tests a request means, how they take turns, how they
 * end, and that a stored one is read again as it was.
 */
#include "tests/unit/test.h"

#include "base/clock.h"
#include "base/json.h"
#include "fleet/verification.h"

#define NODES_MAX 40

static struct inventory *inventories[NODES_MAX];
static struct view_node view_nodes[NODES_MAX];
static char names[NODES_MAX][NAME_SIZE];
static struct view view;
static int secrets;

static void make_secret(char out[2 * VERIFY_SECRET_BYTES + 1])
{
    snprintf(out, 2 * VERIFY_SECRET_BYTES + 1, "%032x", ++secrets);
}

static struct verification_now now = {
    .mono_ns = NS_PER_S, .wall_us = 1000000, .make_secret = make_secret};

/* n00, n01, ...: each with mlx5_0, without an address where `dark` says so. */
static void fleet_of(int count, int dark)
{
    view = (struct view){.nodes = view_nodes, .node_count = (size_t)count};
    for (int i = 0; i < count; i++) {
        struct err err = ERR_INIT;
        OWN_FINDINGS struct finding_list findings;
        finding_list_init(&findings);
        snprintf(names[i], NAME_SIZE, "n%02d", i);
        OWN(json)
        json_t *document = json_pack(
            "{si, ss, s[{ss, ss, ss, sI}], s[{ss, s[{si, s[{si, so, ss, ss}]}]}]}", "version", 1,
            "node", names[i], "ports", "id", "0000:3b:00.0/0", "ifname", "eth0", "rdma_device",
            "mlx5_0", "speed_bps", (json_int_t)100000000000, "rdma_devices", "name", "mlx5_0",
            "ports", "port", 1, "gids", "index", 3, "gid",
            i == dark ? json_string("fe80::1") : json_sprintf("::ffff:10.0.0.%d", i + 1), "type",
            "rocev2", "netdev", "eth0");
        assert_non_null(document);
        assert_int_equal(inventory_from_json(document, &inventories[i], &findings, &err), ERR_OK);
        view_nodes[i] = (struct view_node){.name = names[i], .inventory = inventories[i]};
    }
}

static int end_fleet(void **state)
{
    (void)state;
    for (int i = 0; i < NODES_MAX; i++) {
        inventory_free(inventories[i]);
        inventories[i] = NULL;
    }
    return 0;
}

static enum err_code try_make(const char *text, struct verification **out, struct err *err)
{
    struct verification_settings settings;
    OWN(json) json_t *document = json_loads(text, 0, NULL);
    assert_non_null(document);
    enum err_code code = verification_request_from_json(document, &settings, NULL, err);
    return code != ERR_OK ? code : verification_make(&view, document, &settings, out, err);
}

static struct verification *make(const char *text)
{
    struct verification *v = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(try_make(text, &v, &err), ERR_OK);
    v->number = 7;
    return v;
}

static int running(const struct verification *v)
{
    int count = 0;
    for (size_t i = 0; i < v->test_count; i++)
        count += v->tests[i].state == VERIFICATION_RUNNING;
    return count;
}

static struct verify_report report_of(int64_t value, enum verify_figure figure)
{
    struct verify_report report = {.outcome = VERIFY_DONE};
    verify_figures_init(&report.figures);
    report.figures.values[figure] = value;
    return report;
}

static void a_request_means_these_tests(void **state)
{
    (void)state;
    static const struct {
        int nodes;
        const char *request;
        size_t tests;
        int members; /* of the first */
    } rows[] = {
        {2, "{\"kinds\":[\"send_lat\"],\"all\":true}", 1, 2},
        {3, "{\"kinds\":[\"send_lat\"],\"all\":true}", 3, 2},
        {5, "{\"kinds\":[\"read_bw\"],\"all\":true,\"pairs\":\"all\"}", 10, 2},
        {4, "{\"kinds\":[\"mesh\"],\"all\":true}", 4, 4},
        {40, "{\"kinds\":[\"mesh\"],\"all\":true}", 40, 32},
        {4, "{\"kinds\":[\"allreduce\"],\"all\":true}", 1, 4},
        {33, "{\"kinds\":[\"allreduce\"],\"all\":true}", 2, 16},
        {3, "{\"kinds\":[\"mesh\",\"send_lat\"],\"nodes\":[\"n00\",\"n02\"]}", 3, 2},
        {1, "{\"kinds\":[\"send_lat\"],\"all\":true}", 1, 1},
        {2, "{\"kinds\":[\"send_lat\"],\"all\":true,\"devices\":[\"mlx5_9\"]}", 2, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fleet_of(rows[i].nodes, -1);
        OWN(verification) struct verification *v = make(rows[i].request);
        assert_int_equal(v->test_count, rows[i].tests);
        assert_int_equal(v->tests[0].member_count, rows[i].members);
        (void)end_fleet(NULL);
    }
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        enum err_code code;
    } rows[] = {
        {"{\"all\":true}", ERR_INVALID},
        {"{\"kinds\":[],\"all\":true}", ERR_INVALID},
        {"{\"kinds\":[\"ping\"],\"all\":true}", ERR_INVALID},
        {"{\"kinds\":[7],\"all\":true}", ERR_INVALID},
        {"{\"kinds\":[\"mesh\"]}", ERR_INVALID},
        {"{\"kinds\":[\"mesh\"],\"all\":true,\"nodes\":[\"n00\"]}", ERR_INVALID},
        {"{\"kinds\":[\"mesh\"],\"all\":true,\"deadline\":\"1500ms\"}", ERR_INVALID},
        {"{\"kinds\":[\"mesh\"],\"all\":true,\"deadline\":\"11m\"}", ERR_INVALID},
        {"{\"kinds\":[\"mesh\"],\"all\":true,\"bytes\":1048577}", ERR_INVALID},
        {"{\"kinds\":[\"mesh\"],\"all\":true,\"devices\":[\"\"]}", ERR_INVALID},
        {"{\"kinds\":[\"mesh\"],\"all\":true,\"else\":1}", ERR_INVALID},
        {"{\"kinds\":[\"mesh\"],\"nodes\":[\"n99\"]}", ERR_NOT_FOUND},
        {"{\"kinds\":[\"send_lat\"],\"all\":true,\"pairs\":\"all\"}", ERR_LIMIT},
    };
    fleet_of(40, -1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct verification *v = NULL;
        struct err err = ERR_INIT;
        assert_int_equal(try_make(rows[i].request, &v, &err), rows[i].code);
        assert_null(v);
    }
}

static void nodes_are_in_one_test_at_a_time(void **state)
{
    (void)state;
    fleet_of(4, -1);
    OWN(verification) struct verification *v = make("{\"kinds\":[\"send_lat\"],\"all\":true}");
    assert_true(verification_step(v, &now));
    assert_int_equal(running(v), 2); /* 0-1 and 2-3 */
    assert_int_equal(v->tests[1].state, VERIFICATION_WAITING);
    assert_string_not_equal(v->tests[0].secret, v->tests[2].secret);
    assert_false(verification_step(v, &now));
    struct verify_report report = report_of(1000, VERIFY_LATENCY_P50_NS);
    assert_true(verification_report(v, 0, 0, &report, &now));
    assert_false(verification_report(v, 0, 0, &report, &now));
    assert_int_equal(v->tests[0].state, VERIFICATION_RUNNING);
    assert_true(verification_report(v, 0, 1, &report, &now));
    assert_int_equal(v->tests[0].verdict, VERIFY_PASS);
    assert_false(verification_is_due(v, now.mono_ns)); /* 1-2 and 3-0 wait for 2-3 */
    assert_true(verification_report(v, 2, 0, &report, &now));
    assert_true(verification_report(v, 2, 1, &report, &now));
    assert_true(verification_step(v, &now));
    assert_int_equal(running(v), 2);
    assert_true(verification_has_node(v, "n00"));
}

static void silence_is_unknown(void **state)
{
    (void)state;
    fleet_of(2, -1);
    OWN(verification) struct verification *v = make("{\"kinds\":[\"read_bw\"],\"all\":true}");
    struct verification_now later = now;
    (void)verification_step(v, &now);
    struct verify_report report = report_of(INT64_C(99000000000), VERIFY_RATE_BPS);
    assert_true(verification_report(v, 0, 0, &report, &now));
    later.mono_ns = v->tests[0].deadline_ns - 1;
    assert_false(verification_is_due(v, later.mono_ns));
    later.mono_ns++;
    assert_true(verification_is_due(v, later.mono_ns));
    assert_true(verification_step(v, &later));
    assert_int_equal(v->tests[0].verdict, VERIFY_UNKNOWN);
    assert_true(v->tests[0].withdraw);
    assert_contains(v->tests[0].why, "n01");
    assert_int_equal(v->state, VERIFICATION_DONE);
    assert_false(verification_report(v, 0, 1, &report, &later));
    struct verify_task task;
    verification_task(v, 0, 1, &task);
    assert_true(task.cancelled);
}

/* A ring of three that runs: three reports are to come. */
static struct verification *make_ring(void)
{
    struct verification *v = make("{\"kinds\":[\"allreduce\"],\"all\":true}");
    assert_true(verification_step(v, &now));
    assert_int_equal(v->tests[0].state, VERIFICATION_RUNNING);
    return v;
}

static void tell(struct verification *v, int place, enum verify_outcome outcome)
{
    struct verify_report report = {.outcome = outcome};
    verify_figures_init(&report.figures);
    if (outcome == VERIFY_DONE)
        report.figures.values[VERIFY_SPREAD_PERMYRIAD] = 10;
    else
        snprintf(report.problem, sizeof(report.problem), "it is %s", verify_outcome_names[outcome]);
    assert_true(verification_report(v, 0, place, &report, &now));
}

static void assert_corrupt(const struct verification *v, const char *node)
{
    const struct verification_test *test = &v->tests[0];
    char problem[64];
    snprintf(problem, sizeof(problem), "node %s: it is corrupt", node);
    assert_int_equal(test->state, VERIFICATION_OVER);
    assert_int_equal(test->verdict, VERIFY_FAIL);
    assert_contains(test->why, "silent data corruption");
    assert_contains(test->why, node);
    assert_string_equal(test->problem, problem);
    assert_int_equal(verification_test_value(test), -1);
    assert_int_equal(verification_verdict(v), VERIFY_FAIL);
}

static void wrong_data_fails_whoever_is_heard_first(void **state)
{
    (void)state;
    static const enum verify_outcome others[] = {VERIFY_DONE, VERIFY_REFUSED, VERIFY_UNSUPPORTED,
                                                 VERIFY_FAILED};
    fleet_of(3, -1);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        for (int turn = 0; turn < 3; turn++) {
            OWN(verification) struct verification *v = make_ring();
            v->tests[0].device.software = i % 2 == 1;
            for (int k = 0; k < 3; k++) /* place 1 is the corrupt one, told first, second or last */
                tell(v, (1 + turn + k) % 3, (1 + turn + k) % 3 == 1 ? VERIFY_CORRUPT : others[i]);
            assert_corrupt(v, "n01");
        }
    OWN(verification) struct verification *v = make_ring();
    tell(v, 2, VERIFY_CORRUPT);
    tell(v, 0, VERIFY_CORRUPT);
    assert_int_equal(v->tests[0].verdict, VERIFY_OPEN);
    tell(v, 1, VERIFY_FAILED);
    assert_corrupt(v, "n02");
}

static void wrong_data_outweighs_silence_and_a_cancellation(void **state)
{
    (void)state;
    struct verification_now later = now;
    fleet_of(3, -1);
    OWN(verification) struct verification *silent = make_ring();
    OWN(verification) struct verification *cancelled = make_ring();
    tell(silent, 0, VERIFY_DONE);
    tell(silent, 1, VERIFY_CORRUPT);
    later.mono_ns = silent->tests[0].deadline_ns;
    assert_true(verification_step(silent, &later));
    assert_corrupt(silent, "n01");
    assert_true(silent->tests[0].withdraw);
    tell(cancelled, 0, VERIFY_FAILED);
    tell(cancelled, 1, VERIFY_CORRUPT);
    assert_true(verification_cancel(cancelled, &now));
    assert_corrupt(cancelled, "n01");
    assert_int_equal(cancelled->state, VERIFICATION_CANCELLED);
}

static void wrong_data_is_still_known_after_a_restart(void **state)
{
    (void)state;
    struct verification_test again = {.members = NULL};
    struct err err = ERR_INIT;
    fleet_of(3, -1);
    OWN(verification) struct verification *v = make_ring();
    tell(v, 1, VERIFY_CORRUPT);
    OWN(json) json_t *body = verification_test_to_json(&v->tests[0]);
    assert_ok(verification_test_from_json(&again, body, v->settings.deadline_s, &now, &err));
    free(v->tests[0].members);
    v->tests[0] = again;
    tell(v, 0, VERIFY_FAILED);
    tell(v, 2, VERIFY_FAILED);
    assert_corrupt(v, "n01");
}

static struct verify_report corrupt_report(void)
{
    struct verify_report report = {.outcome = VERIFY_CORRUPT, .problem = "it is corrupt"};
    verify_figures_init(&report.figures);
    return report;
}

static void wrong_data_is_never_told_too_late(void **state)
{
    (void)state;
    struct verification_now later = now;
    struct verify_report corrupt = corrupt_report(), done = corrupt;
    done.outcome = VERIFY_DONE;
    fleet_of(3, -1);
    OWN(verification) struct verification *v = make_ring();
    tell(v, 0, VERIFY_FAILED);
    later.mono_ns = v->tests[0].deadline_ns;
    assert_true(verification_step(v, &later));
    assert_int_equal(v->state, VERIFICATION_DONE);
    assert_int_equal(v->tests[0].verdict, VERIFY_UNKNOWN);
    assert_false(verification_report(v, 0, 1, &done, &later));    /* nothing else is news */
    v->tests[0].ended = false;                                    /* as once it was settled */
    assert_false(verification_report(v, 0, 0, &corrupt, &later)); /* it had answered */
    assert_true(verification_report(v, 0, 1, &corrupt, &later));
    assert_corrupt(v, "n01");
    assert_true(v->tests[0].changed && v->tests[0].amended);
    assert_false(v->tests[0].ended); /* no task is taken from who is at another one */
    v->tests[0].amended = false;
    assert_true(verification_report(v, 0, 2, &corrupt, &later));
    assert_false(v->tests[0].amended);
    assert_corrupt(v, "n01");
    assert_false(verification_report(v, 0, 1, &corrupt, &later));
}

static void wrong_data_of_a_test_that_never_began_is_no_news(void **state)
{
    (void)state;
    struct verify_report corrupt = corrupt_report();
    fleet_of(3, -1);
    OWN(verification)
    struct verification *v = make("{\"kinds\":[\"send_lat\"],\"all\":true}");
    assert_true(verification_cancel(v, &now));
    assert_false(verification_report(v, 0, 0, &corrupt, &now));
    assert_int_equal(v->tests[0].verdict, VERIFY_UNKNOWN);
}

static void a_stored_one_is_read_as_it_was(void **state)
{
    (void)state;
    fleet_of(3, 2);
    OWN(verification)
    struct verification *v = make("{\"kinds\":[\"send_lat\",\"mesh\"],\"all\":true,\"bytes\":16,"
                                  "\"deadline\":\"9s\",\"force\":true,\"message\":\"why\"}");
    OWN(verification) struct verification *again = calloc(1, sizeof(*again));
    struct err err = ERR_INIT;
    (void)verification_step(v, &now);
    OWN(json) json_t *head = verification_head_to_json(v);
    assert_non_null(again);
    again->tests = calloc(v->test_count, sizeof(*again->tests));
    assert_int_equal(verification_head_from_json(again, head, &err), ERR_OK);
    for (size_t i = 0; i < v->test_count; i++) {
        OWN(json) json_t *body = verification_test_to_json(&v->tests[i]);
        again->test_count = i + 1;
        assert_int_equal(verification_test_from_json(&again->tests[i], body,
                                                     again->settings.deadline_s, &now, &err),
                         ERR_OK);
        OWN(json) json_t *twice = verification_test_to_json(&again->tests[i]);
        assert_true(json_equal(body, twice));
        assert_int_equal(again->tests[i].deadline_ns, v->tests[i].deadline_ns);
    }
    again->number = v->number;
    OWN(json) json_t *shown = verification_to_json(v, true);
    OWN(json) json_t *shown_again = verification_to_json(again, true);
    assert_true(json_equal(shown, shown_again));
    OWN(str) char *text = json_canonical(shown, NULL);
    assert_null(strstr(text, "secret"));
    char key[VERIFICATION_KEY_SIZE], key_again[VERIFICATION_KEY_SIZE];
    verification_test_key(v, 0, key);
    verification_test_key(again, 0, key_again);
    assert_string_equal(key, key_again);
    again->settings.bytes = 17;
    verification_test_key(again, 0, key_again);
    assert_string_not_equal(key, key_again);
}

static void names_are_read_strictly(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "v-0-1",  "v-1-0", "v-01-1", "v-1-01", "v-1", "v-1-513", "v-1-",
        "v--1-1", "c-1-1", "",       "v-1-1x", "-1",  "v-1- 1",  "v-99999999999999999999-1"};
    int64_t number;
    size_t index;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(verification_task_parse(bad[i], &number, &index));
    assert_true(verification_task_parse("v-12-512", &number, &index));
    assert_int_equal(number, 12);
    assert_int_equal(index, 511);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_request_means_these_tests, end_fleet),
        cmocka_unit_test_teardown(what_is_wrong_is_refused, end_fleet),
        cmocka_unit_test_teardown(nodes_are_in_one_test_at_a_time, end_fleet),
        cmocka_unit_test_teardown(silence_is_unknown, end_fleet),
        cmocka_unit_test_teardown(wrong_data_fails_whoever_is_heard_first, end_fleet),
        cmocka_unit_test_teardown(wrong_data_outweighs_silence_and_a_cancellation, end_fleet),
        cmocka_unit_test_teardown(wrong_data_is_still_known_after_a_restart, end_fleet),
        cmocka_unit_test_teardown(wrong_data_is_never_told_too_late, end_fleet),
        cmocka_unit_test_teardown(wrong_data_of_a_test_that_never_began_is_no_news, end_fleet),
        cmocka_unit_test_teardown(a_stored_one_is_read_as_it_was, end_fleet),
        cmocka_unit_test(names_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
