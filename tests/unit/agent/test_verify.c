/*
 * tests/unit/agent/test_verify.c - the node's tests: one at a time on a thread of its own, a task
 * that is cancelled or replaced, a report each, and bodies that are no task of this node.
 */
#include "tests/unit/test.h"

#include <stdatomic.h>
#include <time.h>

#include "agent/verify.h"
#include "base/json.h"

struct site {
    struct link base; /* first */
    struct loop *loop;
    struct verifier *verifier;
    char known[VERIFY_TAG_SIZE];
    int known_count;
    char reports[8][NAME_SIZE + 24]; /* "v-1-1 done" */
    int report_count;
};

static atomic_int began, stopped;
static atomic_bool hold; /* a test goes on until it is stopped, or this is false */

static void take_known(struct link *link, const char *tag)
{
    struct site *site = (struct site *)link;
    snprintf(site->known, sizeof(site->known), "%s", tag);
    site->known_count++;
}

static void take_report(struct link *link, const char *task, const json_t *document)
{
    struct site *site = (struct site *)link;
    struct verify_report report;
    struct err err = ERR_INIT;
    assert_ok(verify_report_from_json(document, &report, &err)); /* what a server would take */
    assert_string_equal(report.task, task);
    assert_in_range(site->report_count, 0, 7);
    snprintf(site->reports[site->report_count++], sizeof(site->reports[0]), "%s %s", task,
             verify_outcome_names[report.outcome]);
}

static const struct link_ops ops = {.verify_known = take_known, .verify_report = take_report};

/* On the thread. */
static void run(const struct verify_task *task, const atomic_bool *stop, struct verify_report *out)
{
    *out = (struct verify_report){.outcome = VERIFY_DONE};
    snprintf(out->task, sizeof(out->task), "%s", task->id);
    verify_figures_init(&out->figures);
    atomic_fetch_add(&began, 1);
    while (atomic_load(&hold) && !atomic_load(stop))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (!atomic_load(stop))
        return;
    atomic_fetch_add(&stopped, 1);
    out->outcome = VERIFY_FAILED;
}

static int setup(void **state)
{
    struct err err = ERR_INIT;
    struct site *site = calloc(1, sizeof(*site));
    assert_non_null(site);
    site->base.ops = &ops;
    atomic_store(&began, 0);
    atomic_store(&stopped, 0);
    atomic_store(&hold, false);
    assert_ok(loop_new(&site->loop, &err));
    assert_ok(verifier_new(site->loop, &site->base, "n1", run, &site->verifier, &err));
    *state = site;
    return 0;
}

static int teardown(void **state)
{
    struct site *site = *state;
    verifier_free(site->verifier);
    loop_free(site->loop);
    free(site);
    return 0;
}

/* A task of n1's, as its text. */
static char *task_of(const char *id, bool cancelled)
{
    struct verify_task task = {.kind = VERIFY_SEND_LAT,
                               .place = 0,
                               .member_count = 2,
                               .members = {{"n1", "10.0.0.1"}, {"n2", "10.0.0.2"}},
                               .device = "mlx5_0",
                               .service = 18515,
                               .secret = "00112233445566778899aabbccddeeff",
                               .bytes = 8,
                               .iterations = 10,
                               .deadline_s = 5,
                               .cancelled = cancelled};
    snprintf(task.id, sizeof(task.id), "%s", id);
    OWN(json) json_t *document = verify_task_to_json(&task);
    char *text = document == NULL ? NULL : json_dumps(document, 0);
    assert_non_null(text);
    return text;
}

static bool give(struct site *site, const char *id, bool cancelled)
{
    char *text = task_of(id, cancelled);
    bool is_news = verifier_take(site->verifier, text, strlen(text));
    free(text);
    return is_news;
}

static void until_reports(struct site *site, int count)
{
    struct err err = ERR_INIT;
    for (int i = 0; site->report_count < count && i < 2000; i++)
        assert_ok(loop_turn(site->loop, 10, &err));
    assert_int_equal(site->report_count, count);
}

static void until_began(struct site *site, int count)
{
    struct err err = ERR_INIT;
    for (int i = 0; atomic_load(&began) < count && i < 2000; i++)
        assert_ok(loop_turn(site->loop, 10, &err));
    assert_int_equal(atomic_load(&began), count);
}

static void a_task_is_run_and_reported_once(void **state)
{
    struct site *site = *state;
    verifier_start(site->verifier);
    assert_string_equal(site->known, "");
    assert_int_equal(site->known_count, 1);
    assert_true(give(site, "v-1-1", false));
    assert_string_equal(site->known, "v-1-1");
    until_reports(site, 1);
    assert_string_equal(site->reports[0], "v-1-1 done");
    assert_false(give(site, "v-1-1", false)); /* the same answer once more */
    assert_int_equal(site->known_count, 2);
    assert_true(give(site, "v-1-2", false));
    until_reports(site, 2);
    assert_int_equal(atomic_load(&began), 2);
}

static void a_cancelled_task_stops(void **state)
{
    struct site *site = *state;
    atomic_store(&hold, true);
    assert_true(give(site, "v-1-1", false));
    until_began(site, 1);
    assert_true(give(site, "v-1-1", true));
    assert_string_equal(site->known, "v-1-1~cancelled");
    until_reports(site, 1);
    assert_string_equal(site->reports[0], "v-1-1 failed");
    assert_int_equal(atomic_load(&stopped), 1);
}

static void one_that_was_cancelled_before_it_came_never_begins(void **state)
{
    struct site *site = *state;
    struct err err = ERR_INIT;
    assert_true(give(site, "v-1-1", true));
    for (int i = 0; i < 5; i++)
        assert_ok(loop_turn(site->loop, 1, &err));
    assert_int_equal(atomic_load(&began), 0);
    assert_int_equal(site->report_count, 0);
}

static void the_next_task_waits_for_the_one_that_it_replaces(void **state)
{
    struct site *site = *state;
    atomic_store(&hold, true);
    assert_true(give(site, "v-1-1", false));
    until_began(site, 1);
    assert_true(give(site, "v-2-1", false));
    assert_true(give(site, "v-3-1", false)); /* v-2-1 is over before it began */
    assert_int_equal(atomic_load(&began), 1);
    until_began(site, 2);
    assert_string_equal(site->reports[0], "v-1-1 failed");
    atomic_store(&hold, false);
    until_reports(site, 2);
    assert_string_equal(site->reports[1], "v-3-1 done");
}

static void a_task_that_waits_may_be_cancelled(void **state)
{
    struct site *site = *state;
    atomic_store(&hold, true);
    assert_true(give(site, "v-1-1", false));
    until_began(site, 1);
    assert_true(give(site, "v-2-1", false));
    assert_true(give(site, "v-2-1", true));
    until_reports(site, 1);
    assert_int_equal(atomic_load(&began), 1);
}

static void it_is_freed_in_the_middle_of_a_test(void **state)
{
    struct site *site = *state;
    atomic_store(&hold, true);
    assert_true(give(site, "v-1-1", false));
    until_began(site, 1);
    verifier_free(site->verifier);
    site->verifier = NULL;
    for (int i = 0; atomic_load(&stopped) == 0 && i < 10000; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(atomic_load(&stopped), 1);
    assert_int_equal(site->report_count, 0);
}

static void what_is_no_task_of_this_node_is_refused(void **state)
{
    struct site *site = *state;
    char *text = task_of("v-1-1", false);
    char *place = strstr(text, "\"place\": 0");
    static char huge[VERIFY_TASK_BYTES_MAX + 2];
    assert_false(verifier_take(site->verifier, "{", 1));
    assert_false(verifier_take(site->verifier, "", 0));
    assert_false(verifier_take(site->verifier, "[]", 2));
    assert_false(verifier_take(site->verifier, text, strlen(text) - 1));
    memset(huge, ' ', sizeof(huge));
    assert_false(verifier_take(site->verifier, huge, sizeof(huge)));
    assert_non_null(place);
    place[strlen("\"place\": ")] = '1'; /* n2's */
    assert_false(verifier_take(site->verifier, text, strlen(text)));
    free(text);
    assert_int_equal(site->known_count, 0);
    assert_int_equal(atomic_load(&began), 0);
    assert_true(give(site, "v-1-1", false)); /* and the right one is still taken */
    until_reports(site, 1);
}

static void a_simulated_node_says_that_it_cannot(void **state)
{
    struct verify_report report;
    const struct verify_task task = {.id = "v-1-1"};
    (void)state;
    verifier_run_nothing(&task, NULL, &report);
    assert_int_equal(report.outcome, VERIFY_UNSUPPORTED);
    assert_string_equal(report.task, "v-1-1");
    for (int i = 0; i < VERIFY_FIGURE_COUNT; i++)
        assert_int_equal(report.figures.values[i], -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_task_is_run_and_reported_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_task_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_was_cancelled_before_it_came_never_begins, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_next_task_waits_for_the_one_that_it_replaces, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_task_that_waits_may_be_cancelled, setup, teardown),
        cmocka_unit_test_setup_teardown(it_is_freed_in_the_middle_of_a_test, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_task_of_this_node_is_refused, setup, teardown),
        cmocka_unit_test(a_simulated_node_says_that_it_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
