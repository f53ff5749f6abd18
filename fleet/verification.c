/*
 * fleet/verification.c - see verification.h: on its way.
 */
#include "fleet/verification.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const char *const verification_state_names[] = {"running", "done", "cancelled", NULL};

/* Memory --------------------------------------------------------------------------------------- */

void verification_free(struct verification *verification)
{
    if (verification == NULL)
        return;
    for (size_t i = 0; i < verification->test_count; i++)
        free(verification->tests[i].members);
    free(verification->tests);
    free(verification);
}

enum err_code verification_copy(const struct verification *from, struct verification **out,
                                struct err *err)
{
    OWN(verification) struct verification *copy = malloc(sizeof(*copy));
    if (copy == NULL)
        return err_nomem(err);
    *copy = *from;
    copy->test_count = 0;
    copy->tests = calloc(from->test_count + 1, sizeof(*copy->tests));
    if (copy->tests == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < from->test_count; i++) {
        struct verification_test *test = &copy->tests[i];
        size_t size = (size_t)from->tests[i].member_count * sizeof(*test->members);
        *test = from->tests[i];
        test->members = malloc(size);
        copy->test_count = i + 1;
        if (test->members == NULL)
            return err_nomem(err);
        memcpy(test->members, from->tests[i].members, size);
    }
    *out = GIVE(copy);
    return ERR_OK;
}

/* Names ---------------------------------------------------------------------------------------- */

void verification_id(int64_t number, char out[VERIFICATION_ID_SIZE])
{
    snprintf(out, VERIFICATION_ID_SIZE, "v-%" PRId64, number);
}

bool verification_id_parse(const char *text, int64_t *out)
{
    char again[VERIFICATION_ID_SIZE];
    if (strncmp(text, "v-", 2) != 0 || strlen(text) >= VERIFICATION_ID_SIZE - 4)
        return false;
    int64_t number = strtoll(text + 2, NULL, 10);
    verification_id(number, again);
    if (number < 1 || strcmp(again, text) != 0)
        return false;
    *out = number;
    return true;
}

void verification_task_id(int64_t number, size_t index, char out[NAME_SIZE])
{
    snprintf(out, NAME_SIZE, "v-%" PRId64 "-%zu", number, index + 1);
}

bool verification_task_parse(const char *text, int64_t *out_number, size_t *out_index)
{
    char head[VERIFICATION_ID_SIZE], again[NAME_SIZE];
    const char *dash = strrchr(text, '-');
    size_t len = dash == NULL ? 0 : (size_t)(dash - text);
    if (len == 0 || len >= sizeof(head) || strlen(dash) > 8)
        return false;
    snprintf(head, sizeof(head), "%.*s", (int)len, text);
    unsigned long place = strtoul(dash + 1, NULL, 10);
    if (!verification_id_parse(head, out_number) || place < 1 || place > VERIFICATION_TESTS_MAX)
        return false;
    verification_task_id(*out_number, place - 1, again);
    *out_index = place - 1;
    return strcmp(again, text) == 0;
}

/* Tests ---------------------------------------------------------------------------------------- */

/* Wrong data outweighs whatever else ends the test. why: NULL = it is told already. */
static void end_test(struct verification_test *test, enum verify_verdict verdict, const char *why,
                     const struct verification_now *now)
{
    test->state = VERIFICATION_OVER;
    test->verdict = test->corrupt ? VERIFY_FAIL : verdict;
    if (test->corrupt)
        verify_figures_init(&test->figures);
    else if (why != NULL)
        text_copy(test->why, sizeof(test->why), why);
    test->ended_us = now->wall_us;
    test->changed = true;
    test->ended = true;
}

static int tasks_of(const struct verification_test *test)
{
    return verify_tasks_of(test->kind, test->member_count);
}

/* Who was given a task and said nothing. */
static void time_out(struct verification_test *test, const struct verification_now *now)
{
    int silent = 0;
    const char *first = "";
    char why[VERIFY_WHY_SIZE];
    for (int i = tasks_of(test) - 1; i >= 0; i--) {
        if (test->members[i].told)
            continue;
        silent++;
        first = test->members[i].member.node;
    }
    test->withdraw = true;
    snprintf(why, sizeof(why), "node %s%s did not answer in time", first,
             silent > 1 ? " and others" : "");
    end_test(test, VERIFY_UNKNOWN, why, now);
}

static bool are_apart(const struct verification_test *a, const struct verification_test *b)
{
    for (int i = 0; i < a->member_count; i++)
        for (int k = 0; k < b->member_count; k++)
            if (strcmp(a->members[i].member.node, b->members[k].member.node) == 0)
                return false;
    return true;
}

static bool may_begin(const struct verification *v, size_t index)
{
    for (size_t i = 0; i < v->test_count; i++)
        if (v->tests[i].state == VERIFICATION_RUNNING && !are_apart(&v->tests[i], &v->tests[index]))
            return false;
    return true;
}

static void begin_test(struct verification *v, struct verification_test *test,
                       const struct verification_now *now)
{
    now->make_secret(test->secret);
    test->state = VERIFICATION_RUNNING;
    test->started_us = now->wall_us;
    test->deadline_ns = now->mono_ns + v->settings.deadline_s * NS_PER_S + VERIFICATION_GRACE_NS;
    test->changed = true;
    test->begun = true;
}

bool verification_is_due(const struct verification *v, int64_t mono_ns)
{
    bool open = false;
    for (size_t i = 0; i < v->test_count; i++) {
        const struct verification_test *test = &v->tests[i];
        if ((test->state == VERIFICATION_RUNNING && mono_ns >= test->deadline_ns) ||
            (test->state == VERIFICATION_WAITING && may_begin(v, i)))
            return true;
        open |= test->state != VERIFICATION_OVER;
    }
    return !open && v->state == VERIFICATION_ACTIVE;
}

bool verification_step(struct verification *v, const struct verification_now *now)
{
    bool open = false, did = false;
    if (v->state != VERIFICATION_ACTIVE)
        return false;
    for (size_t i = 0; i < v->test_count; i++)
        if (v->tests[i].state == VERIFICATION_RUNNING && now->mono_ns >= v->tests[i].deadline_ns) {
            time_out(&v->tests[i], now);
            did = true;
        }
    for (size_t i = 0; i < v->test_count; i++) {
        if (v->tests[i].state == VERIFICATION_WAITING && may_begin(v, i)) {
            begin_test(v, &v->tests[i], now);
            did = true;
        }
        open |= v->tests[i].state != VERIFICATION_OVER;
    }
    if (!open)
        v->state = VERIFICATION_DONE;
    return did || !open;
}

bool verification_cancel(struct verification *v, const struct verification_now *now)
{
    if (v->state != VERIFICATION_ACTIVE)
        return false;
    for (size_t i = 0; i < v->test_count; i++) {
        struct verification_test *test = &v->tests[i];
        if (test->state == VERIFICATION_OVER)
            continue;
        test->withdraw = test->state == VERIFICATION_RUNNING;
        end_test(test, VERIFY_UNKNOWN, "cancelled", now);
    }
    v->state = VERIFICATION_CANCELLED;
    return true;
}

/* Reports -------------------------------------------------------------------------------------- */

int verification_place(const struct verification_test *test, const char *node)
{
    for (int i = 0; i < tasks_of(test); i++)
        if (strcmp(test->members[i].member.node, node) == 0)
            return i;
    return -1;
}

/* Figures that the test cannot have are none. */
static bool are_credible(const struct verification_test *test, const struct verify_figures *figures)
{
    const int64_t *values = figures->values;
    if (test->kind != VERIFY_MESH)
        return true;
    return values[VERIFY_ASKED] == test->member_count - 1 &&
           values[VERIFY_ANSWERED] <= values[VERIFY_ASKED];
}

/* Who asks measures; of a ring the end that saw the greatest spread. */
static void take_figures(struct verification_test *test, int place,
                         const struct verify_figures *figures)
{
    enum verify_figure graded = verify_graded_figure(test->kind);
    bool worse = figures->values[graded] > test->figures.values[graded];
    if (test->kind == VERIFY_ALLREDUCE ? worse : place == 0)
        test->figures = *figures;
}

static void grade(struct verification_test *test, const struct verification_now *now)
{
    enum verify_verdict verdict = VERIFY_UNKNOWN;
    for (int i = 0; i < tasks_of(test); i++)
        if (!test->members[i].told)
            return;
    if (test->why[0] == '\0')
        verdict = verify_grade(test->kind, &test->device, &test->figures, test->why);
    else
        verify_figures_init(&test->figures); /* of a test that did not come to its end */
    end_test(test, verdict, NULL, now);
}

/* The first node that found wrong data is named, also where another one, whose connection then
 * broke, had been heard before. */
static void take_corrupt(struct verification_test *test, const char *node, const char *problem)
{
    if (test->corrupt)
        return;
    test->corrupt = true;
    snprintf(test->why, sizeof(test->why), "silent data corruption: node %s found a wrong result",
             node);
    if (problem[0] != '\0')
        snprintf(test->problem, sizeof(test->problem), "node %s: %.180s", node, problem);
}

/* A report that was long on its way may tell of wrong data: never lost for being late. */
static bool take_late(struct verification_test *test, struct verification_member *member,
                      const struct verify_report *report)
{
    if (report->outcome != VERIFY_CORRUPT || test->started_us == 0)
        return false;
    member->told = test->changed = true;
    test->amended = test->verdict != VERIFY_FAIL;
    take_corrupt(test, member->member.node, report->problem);
    verify_figures_init(&test->figures);
    test->verdict = VERIFY_FAIL;
    return true;
}

bool verification_report(struct verification *v, size_t index, int place,
                         const struct verify_report *report, const struct verification_now *now)
{
    struct verification_test *test = &v->tests[index];
    struct verification_member *member = &test->members[place];
    if (test->state == VERIFICATION_OVER && !member->told)
        return take_late(test, member, report);
    if (test->state != VERIFICATION_RUNNING || member->told)
        return false;
    member->told = true;
    test->changed = true;
    if (report->outcome == VERIFY_CORRUPT)
        take_corrupt(test, member->member.node, report->problem);
    if (test->problem[0] == '\0' && report->problem[0] != '\0')
        snprintf(test->problem, sizeof(test->problem), "node %s: %.180s", member->member.node,
                 report->problem);
    if (report->outcome != VERIFY_DONE && test->why[0] == '\0')
        snprintf(test->why, sizeof(test->why), "not measured: node %s: %s", member->member.node,
                 verify_outcome_names[report->outcome]);
    if (report->outcome == VERIFY_DONE && !are_credible(test, &report->figures) &&
        test->why[0] == '\0')
        snprintf(test->why, sizeof(test->why), "node %s told figures that the test cannot have",
                 member->member.node);
    if (report->outcome == VERIFY_DONE && test->why[0] == '\0')
        take_figures(test, place, &report->figures);
    grade(test, now);
    return true;
}

bool verification_has_node(const struct verification *v, const char *node)
{
    for (size_t i = 0; i < v->test_count; i++)
        for (int k = 0; k < v->tests[i].member_count; k++)
            if (v->tests[i].state != VERIFICATION_OVER &&
                strcmp(v->tests[i].members[k].member.node, node) == 0)
                return true;
    return false;
}

static const struct {
    int bytes, iterations;
} sizes[VERIFY_KIND_COUNT] = {
    [VERIFY_SEND_LAT] = {8, 1000},          [VERIFY_READ_BW] = {65536, 2000},
    [VERIFY_WRITE_BW] = {65536, 2000},      [VERIFY_MESH] = {1, 1},
    [VERIFY_ALLREDUCE] = {1024 * 1024, 20},
};

void verification_task(const struct verification *v, size_t index, int place,
                       struct verify_task *out)
{
    const struct verification_test *test = &v->tests[index];
    const struct verification_settings *settings = &v->settings;
    bool sized = test->kind != VERIFY_MESH;
    *out = (struct verify_task){
        .kind = test->kind,
        .place = place,
        .member_count = test->member_count,
        .service =
            VERIFICATION_SERVICE + (int)(((size_t)v->number + index) % VERIFICATION_SERVICES),
        .bytes = sized && settings->bytes > 0 ? settings->bytes : sizes[test->kind].bytes,
        .iterations =
            sized && settings->iterations > 0 ? settings->iterations : sizes[test->kind].iterations,
        .deadline_s = settings->deadline_s,
        .force = settings->force,
        .cancelled = test->state == VERIFICATION_OVER,
    };
    verification_task_id(v->number, index, out->id);
    for (int i = 0; i < test->member_count; i++)
        out->members[i] = test->members[i].member;
    text_copy(out->device, sizeof(out->device), test->members[place].device);
    text_copy(out->secret, sizeof(out->secret), test->secret);
}
