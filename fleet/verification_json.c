/*
 * fleet/verification_json.c - a verification as it is stored and as it is shown. Its own rows are
 * read as strictly as any document.
 */
#include "fleet/verification.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "fleet/read.h"

#define PERMYRIAD    10000
#define KEY_TEXT_MAX (64 + VERIFY_MEMBERS_MAX * (NAME_SIZE + VERIFY_DEVICE_SIZE + 2))

static const char *const state_names[] = {"waiting", "running", "over", NULL};

/* Worth ---------------------------------------------------------------------------------------- */

enum verify_verdict verification_verdict(const struct verification *v)
{
    static const enum verify_verdict order[] = {VERIFY_FAIL, VERIFY_UNKNOWN, VERIFY_PASS,
                                                VERIFY_NOT_APPLICABLE};
    bool seen[VERIFY_UNKNOWN + 1] = {false};
    for (size_t i = 0; i < v->test_count; i++)
        seen[v->tests[i].verdict] = true;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (seen[order[i]])
            return order[i];
    return VERIFY_OPEN;
}

int64_t verification_test_value(const struct verification_test *test)
{
    return test->figures.values[verify_graded_figure(test->kind)];
}

enum err_code verification_count_nodes(struct verification *v, struct err *err)
{
    OWN(json) json_t *seen = json_object();
    for (size_t i = 0; i < v->test_count; i++)
        for (int k = 0; k < v->tests[i].member_count; k++)
            if (json_object_set_new(seen, v->tests[i].members[k].member.node, json_true()) != 0)
                return err_nomem(err);
    v->node_count = (int)json_object_size(seen);
    return ERR_OK;
}

void verification_test_key(const struct verification *v, size_t index,
                           char out[VERIFICATION_KEY_SIZE])
{
    const struct verification_test *test = &v->tests[index];
    struct verify_task task;
    char text[KEY_TEXT_MAX], digest[DIGEST_TEXT_MAX];
    verification_task(v, index, 0, &task);
    size_t at = (size_t)snprintf(text, sizeof(text), "%s %d %d", verify_kind_names[test->kind],
                                 task.bytes, task.iterations);
    for (int i = 0; i < test->member_count && at < sizeof(text); i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, " %s/%s", test->members[i].member.node,
                               test->members[i].device);
    bytes_digest(text, strlen(text), digest);
    text_copy(out, VERIFICATION_KEY_SIZE, digest);
}

/* Stored --------------------------------------------------------------------------------------- */

static json_t *kinds_to_json(const struct verification_settings *settings)
{
    OWN(json) json_t *kinds = json_array();
    for (int i = 0; i < VERIFY_KIND_COUNT; i++)
        if (settings->kinds[i] &&
            json_array_append_new(kinds, json_string(verify_kind_names[i])) != 0)
            return NULL;
    return GIVE(kinds);
}

json_t *verification_head_to_json(const struct verification *v)
{
    const struct verification_settings *settings = &v->settings;
    OWN(json) json_t *head = json_object();
    if (head == NULL || !write_text(head, "author", v->author) ||
        !write_text(head, "message", settings->note) ||
        !write_member(head, "kinds", kinds_to_json(settings)) ||
        !write_member(head, "pairs", json_string(settings->all_pairs ? "all" : "next")) ||
        !write_member(head, "deadline_s", json_integer(settings->deadline_s)) ||
        !write_member(head, "force", json_boolean(settings->force)) ||
        (settings->bytes > 0 && !write_member(head, "bytes", json_integer(settings->bytes))) ||
        (settings->iterations > 0 &&
         !write_member(head, "iterations", json_integer(settings->iterations))))
        return NULL;
    return GIVE(head);
}

static void read_kinds(struct json_reader *r, struct verification_settings *out)
{
    const json_t *kinds = NULL;
    json_reader_array(r, "kinds", true, VERIFY_KIND_COUNT, &kinds);
    for (size_t i = 0; i < json_array_size(kinds); i++)
        for (int kind = 0; kind < VERIFY_KIND_COUNT; kind++) {
            const char *name = json_string_value(json_array_get(kinds, i));
            out->kinds[kind] |= name != NULL && strcmp(name, verify_kind_names[kind]) == 0;
        }
}

enum err_code verification_head_from_json(struct verification *v, const json_t *head,
                                          struct err *err)
{
    static const char *const pairing_names[] = {"next", "all", NULL};
    OWN_FINDINGS struct finding_list findings;
    struct verification_settings *settings = &v->settings;
    struct json_reader r;
    int64_t bytes = 0, iterations = 0, deadline_s = 1;
    int pairs = 0;
    finding_list_init(&findings);
    json_reader_init(&r, head, "", &findings);
    read_text(&r, "author", false, 0, v->author, sizeof(v->author));
    read_text(&r, "message", false, 0, settings->note, sizeof(settings->note));
    read_kinds(&r, settings);
    json_reader_enum(&r, "pairs", true, pairing_names, &pairs);
    json_reader_int(&r, "deadline_s", true, 1, VERIFY_DEADLINE_MAX_S, &deadline_s);
    json_reader_bool(&r, "force", true, &settings->force);
    json_reader_int(&r, "bytes", false, 1, VERIFY_BYTES_MAX, &bytes);
    json_reader_int(&r, "iterations", false, 1, VERIFY_ITERATIONS_MAX, &iterations);
    json_reader_end(&r);
    settings->all_pairs = pairs == 1;
    settings->bytes = (int)bytes;
    settings->iterations = (int)iterations;
    settings->deadline_s = (int)deadline_s;
    return read_result(&findings, err);
}

static json_t *member_to_json(const struct verification_member *member, bool stored)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "node", member->member.node) ||
        !write_text(object, "device", member->device) ||
        !write_text(object, "address", member->member.address) ||
        (stored && !write_member(object, "told", json_boolean(member->told))))
        return NULL;
    return GIVE(object);
}

static json_t *members_to_json(const struct verification_test *test, bool stored)
{
    OWN(json) json_t *list = json_array();
    for (int i = 0; i < test->member_count; i++)
        if (json_array_append_new(list, member_to_json(&test->members[i], stored)) != 0)
            return NULL;
    return GIVE(list);
}

/* What is stored and shown alike. */
static bool write_common(json_t *object, const struct verification_test *test, bool stored)
{
    const char *state = state_names[test->state];
    return write_member(object, "kind", json_string(verify_kind_names[test->kind])) &&
           write_member(object, "members", members_to_json(test, stored)) &&
           write_member(object, "state", json_string(state)) &&
           write_member(object, "software", json_boolean(test->device.software)) &&
           (test->device.speed_bps < 0 ||
            write_member(object, "speed_bps", json_integer(test->device.speed_bps))) &&
           write_member(object, "figures", verify_figures_to_json(&test->figures)) &&
           write_text(object, "why", test->why) && write_text(object, "problem", test->problem);
}

json_t *verification_test_to_json(const struct verification_test *test)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_common(object, test, true) ||
        !write_member(object, "verdict", json_string(verify_verdict_names[test->verdict])) ||
        !write_text(object, "secret", test->secret) ||
        !write_member(object, "started_us", json_integer(test->started_us)) ||
        !write_member(object, "ended_us", json_integer(test->ended_us)) ||
        !write_member(object, "last_number", json_integer(test->last_number)) ||
        !write_member(object, "last_value", json_integer(test->last_value)) ||
        (test->corrupt && !write_member(object, "corrupt", json_true())))
        return NULL;
    return GIVE(object);
}

static enum err_code read_members(struct json_reader *r, struct verification_test *test,
                                  struct err *err)
{
    const json_t *members = NULL;
    if (!json_reader_array(r, "members", true, VERIFY_MEMBERS_MAX, &members))
        return ERR_OK;
    size_t count = json_array_size(members);
    test->members = calloc(count + 1, sizeof(*test->members));
    if (test->members == NULL)
        return err_nomem(err);
    test->member_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        struct verification_member *member = &test->members[i];
        struct json_reader element;
        json_reader_element(r, "members", i, json_array_get(members, i), &element);
        read_name(&element, "node", true, member->member.node);
        read_text(&element, "device", false, 0, member->device, sizeof(member->device));
        read_text(&element, "address", false, 0, member->member.address, INVENTORY_ADDRESS_MAX);
        json_reader_bool(&element, "told", true, &member->told);
        json_reader_end(&element);
    }
    if (count == 0)
        read_problem(r, "members", "is empty");
    return ERR_OK;
}

/* Of a running one: what its start and the clock leave of it. */
static void set_deadline(struct verification_test *test, int deadline_s,
                         const struct verification_now *now)
{
    int64_t whole_ns = deadline_s * NS_PER_S + VERIFICATION_GRACE_NS;
    int64_t gone_ns = (now->wall_us - test->started_us) * 1000;
    if (gone_ns < 0 || now->wall_us < test->started_us)
        gone_ns = 0;
    test->deadline_ns = now->mono_ns + (gone_ns < whole_ns ? whole_ns - gone_ns : 0);
}

enum err_code verification_test_from_json(struct verification_test *test, const json_t *body,
                                          int deadline_s, const struct verification_now *now,
                                          struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    struct json_reader r, figures;
    int kind = 0, state = 0, verdict = 0;
    finding_list_init(&findings);
    *test = (struct verification_test){.device = {.speed_bps = -1}};
    json_reader_init(&r, body, "", &findings);
    json_reader_enum(&r, "kind", true, verify_kind_names, &kind);
    json_reader_enum(&r, "state", true, state_names, &state);
    json_reader_enum(&r, "verdict", true, verify_verdict_names, &verdict);
    enum err_code code = read_members(&r, test, err);
    json_reader_bool(&r, "software", true, &test->device.software);
    json_reader_int(&r, "speed_bps", false, 0, INT64_MAX, &test->device.speed_bps);
    verify_figures_init(&test->figures);
    if (json_reader_object(&r, "figures", true, &figures))
        verify_figures_from_json(&figures, &test->figures);
    read_text(&r, "why", false, 0, test->why, sizeof(test->why));
    read_text(&r, "problem", false, 0, test->problem, sizeof(test->problem));
    read_text(&r, "secret", false, 0, test->secret, sizeof(test->secret));
    json_reader_int(&r, "started_us", true, 0, INT64_MAX, &test->started_us);
    json_reader_int(&r, "ended_us", true, 0, INT64_MAX, &test->ended_us);
    json_reader_int(&r, "last_number", true, 0, INT64_MAX, &test->last_number);
    json_reader_int(&r, "last_value", true, 0, INT64_MAX, &test->last_value);
    json_reader_bool(&r, "corrupt", false, &test->corrupt);
    json_reader_end(&r);
    test->kind = (enum verify_kind)kind;
    test->state = (enum verification_test_state)state;
    test->verdict = (enum verify_verdict)verdict;
    if (test->state == VERIFICATION_RUNNING)
        set_deadline(test, deadline_s, now);
    return code != ERR_OK ? code : read_result(&findings, err);
}

/* Shown ---------------------------------------------------------------------------------------- */

static bool write_time(json_t *object, const char *key, int64_t wall_us)
{
    char text[CLOCK_TEXT_MAX];
    if (wall_us == 0)
        return true;
    clock_format(wall_us, text);
    return write_member(object, key, json_string(text));
}

/* The same test before, and by how much the figure has changed. */
static bool write_last(json_t *object, const struct verification_test *test)
{
    char id[VERIFICATION_ID_SIZE];
    int64_t value = verification_test_value(test), last = test->last_value;
    if (test->last_number == 0)
        return true;
    verification_id(test->last_number, id);
    OWN(json) json_t *shown = json_pack("{ss, sI}", "verification", id, "value", (json_int_t)last);
    if (shown == NULL)
        return false;
    if (value >= 0 && last > 0) {
        long double share = ((long double)value - (long double)last) * PERMYRIAD;
        share /= (long double)last;
        if (share < (long double)INT64_MAX &&
            !write_member(shown, "change_permyriad", json_integer((json_int_t)share)))
            return false;
    }
    return write_member(object, "last", json_incref(shown));
}

/* Of a test that was not measured nothing was held against anything. */
static bool write_limit(json_t *object, const struct verification_test *test)
{
    bool below;
    int64_t limit = verify_limit(test->kind, &test->device, &test->figures, &below);
    if (limit < 0 || verification_test_value(test) < 0)
        return true;
    return write_member(object, "limit", json_integer(limit)) &&
           write_member(object, "limit_is", json_string(below ? "below" : "at-least"));
}

static json_t *show_test(const struct verification *v, size_t index)
{
    const struct verification_test *test = &v->tests[index];
    OWN(json) json_t *object = json_object();
    char id[NAME_SIZE];
    verification_task_id(v->number, index, id);
    int64_t value = verification_test_value(test);
    if (object == NULL || (v->number != 0 && !write_text(object, "test", id)) ||
        !write_common(object, test, false) ||
        (test->verdict != VERIFY_OPEN &&
         !write_member(object, "verdict", json_string(verify_verdict_names[test->verdict]))) ||
        !write_member(object, "measure",
                      json_string(verify_figure_names[verify_graded_figure(test->kind)])) ||
        (value >= 0 && !write_member(object, "value", json_integer(value))) ||
        !write_limit(object, test) || !write_time(object, "started", test->started_us) ||
        !write_time(object, "ended", test->ended_us) || !write_last(object, test))
        return NULL;
    return GIVE(object);
}

static json_t *show_tests(const struct verification *v)
{
    OWN(json) json_t *list = json_array();
    for (size_t i = 0; i < v->test_count; i++)
        if (json_array_append_new(list, show_test(v, i)) != 0)
            return NULL;
    return GIVE(list);
}

static json_t *show_counts(const struct verification *v)
{
    int64_t states[VERIFICATION_OVER + 1] = {0}, verdicts[VERIFY_UNKNOWN + 1] = {0};
    OWN(json) json_t *counts = json_object();
    for (size_t i = 0; i < v->test_count; i++) {
        states[v->tests[i].state]++;
        verdicts[v->tests[i].verdict]++;
    }
    bool whole = write_member(counts, "total", json_integer((json_int_t)v->test_count));
    for (int i = VERIFICATION_WAITING; i < VERIFICATION_OVER; i++)
        whole = whole && write_member(counts, state_names[i], json_integer(states[i]));
    for (int i = VERIFY_PASS; i <= VERIFY_UNKNOWN; i++)
        whole = whole && write_member(counts, verify_verdict_names[i], json_integer(verdicts[i]));
    return whole ? GIVE(counts) : NULL;
}

json_t *verification_to_json(const struct verification *v, bool tests)
{
    char id[VERIFICATION_ID_SIZE];
    OWN(json) json_t *object = verification_head_to_json(v);
    enum verify_verdict verdict = verification_verdict(v);
    verification_id(v->number, id);
    if (object == NULL || (v->number != 0 && !write_text(object, "id", id)) ||
        !write_member(object, "state", json_string(verification_state_names[v->state])) ||
        (verdict != VERIFY_OPEN &&
         !write_member(object, "verdict", json_string(verify_verdict_names[verdict]))) ||
        !write_member(object, "counts", show_counts(v)) ||
        !write_time(object, "created", v->created_us) ||
        !write_time(object, "updated", v->updated_us) ||
        (tests && !write_member(object, "tests", show_tests(v))))
        return NULL;
    return GIVE(object);
}
