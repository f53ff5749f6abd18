/*
 * cli/cmd_verify.c - stellarctl verify: tests between the RDMA devices of nodes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/pick.h"
#include "cli/view.h"
#include "cli/watch.h"
#include "cli/write.h"

#define LIST      "/v1/verifications"
#define ONE       "/v1/verifications/{verification}"
#define CELL_MAX  2048
#define PERMYRIAD 100 /* of a percent */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* Shown ---------------------------------------------------------------------------------------- */

/* "2 pass, 1 waiting": what no test is, is not said. */
static void count_tests(const json_t *verification, char out[CELL_MAX])
{
    const char *state;
    json_t *count;
    out[0] = '\0';
    json_object_foreach(json_object_get(verification, "counts"), state, count)
    {
        size_t len = strlen(out);
        if (json_integer_value(count) > 0 && strcmp(state, "total") != 0)
            snprintf(out + len, CELL_MAX - len, "%s%lld %.60s", len > 0 ? ", " : "",
                     (long long)json_integer_value(count), state);
    }
}

static json_t *make_row(const json_t *verification)
{
    char tests[CELL_MAX];
    count_tests(verification, tests);
    return json_pack("{s:s, s:s, s:s, s:s}", "id", text_of(verification, "id"), "state",
                     text_of(verification, "state"), "verdict", text_of(verification, "verdict"),
                     "tests", tests);
}

static enum exit_code print_row(struct context *context, const json_t *verification)
{
    static const struct view view = {"id",
                                     {{"ID", "id", false, false},
                                      {"STATE", "state", false, true},
                                      {"VERDICT", "verdict", false, true},
                                      {"TESTS", "tests", false, false}}};
    if (context_is_json(context))
        return view_show_json(context, verification);
    OWN(json) json_t *row = make_row(verification);
    OWN(json) json_t *items = json_pack("[O]", row);
    return view_show(context, &view, items);
}

static json_t *join_members(const json_t *test)
{
    char text[CELL_MAX] = "";
    const json_t *members = json_object_get(test, "members");
    for (size_t i = 0, at = 0; i < json_array_size(members) && at < sizeof(text); i++) {
        const json_t *member = json_array_get(members, i);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.63s", i > 0 ? " " : "",
                               text_of(member, "node"));
    }
    return json_string(text);
}

/* "+3.20 %" since the last time; "" = there was none. */
static json_t *tell_change(const json_t *test)
{
    char text[64] = "";
    const json_t *change = json_object_get(json_object_get(test, "last"), "change_permyriad");
    json_int_t value = json_integer_value(change);
    if (change != NULL)
        snprintf(text, sizeof(text), "%c%" PRId64 ".%02" PRId64 " %%", value < 0 ? '-' : '+',
                 (int64_t)llabs(value / PERMYRIAD), (int64_t)llabs(value % PERMYRIAD));
    return json_string(text);
}

static enum exit_code print_tests(struct context *context, const json_t *verification)
{
    static const struct view view = {"test",
                                     {{"TEST", "test", false, false},
                                      {"KIND", "kind", false, false},
                                      {"NODES", "nodes", false, false},
                                      {"DEVICE", "device", false, false},
                                      {"STATE", "state", false, true},
                                      {"VERDICT", "verdict", false, true},
                                      {"MEASURE", "measure", false, false},
                                      {"VALUE", "value", true, false},
                                      {"CHANGE", "change", true, false},
                                      {"WHY", "why", false, false},
                                      {"PROBLEM", "problem", false, false}}};
    const json_t *tests = json_object_get(verification, "tests");
    OWN(json) json_t *rows = json_array();
    if (context_is_json(context))
        return view_show_json(context, verification);
    for (size_t i = 0; i < json_array_size(tests); i++) {
        const json_t *test = json_array_get(tests, i);
        const json_t *first = json_array_get(json_object_get(test, "members"), 0);
        json_t *row = json_copy((json_t *)test);
        json_object_set_new(row, "nodes", join_members(test));
        json_object_set_new(row, "device", json_string(text_of(first, "device")));
        json_object_set_new(row, "change", tell_change(test));
        json_array_append_new(rows, row);
    }
    enum exit_code code =
        context->output == OUTPUT_TABLE ? print_row(context, verification) : EXIT_DONE;
    return code != EXIT_DONE ? code : view_show(context, &view, rows);
}

/* "verification v-7: running", and what can be done next. */
static void report(struct context *context, const struct reply *reply)
{
    const char *id = text_of(reply->json, "id"), *state = text_of(reply->json, "state");
    if (context->output != OUTPUT_TABLE) {
        write_report(context, id, "done", reply);
        return;
    }
    fputs("verification ", context->out);
    print_text(context->out, id);
    fputs(": ", context->out);
    print_text(context->out, state);
    fputc('\n', context->out);
    fprintf(context->err, "  %s: stellarctl verify %s ",
            strcmp(state, "running") == 0 ? "follow it" : "see its tests",
            strcmp(state, "running") == 0 ? "watch" : "show");
    print_text(context->err, id);
    fputc('\n', context->err);
}

/* Calls ---------------------------------------------------------------------------------------- */

enum exit_code cmd_verify_start(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    json_t *body = NULL;
    enum err_code code = body_call("POST", LIST, &call, &err);
    if (code == ERR_OK)
        code = pick_body(context, arguments, &body, &err);
    if (code != ERR_OK)
        return context_fail(context, &err);
    if (arguments->word_count > 0) {
        json_t *names = json_array();
        for (size_t i = 0; i < arguments->word_count; i++)
            json_array_append_new(names, json_string(arguments->words[i]));
        json_object_set_new(body, "kinds", names);
    }
    if (arguments_has(arguments, OPTION_DRY_RUN))
        call_add(&call, OPERATION_QUERY, "dry_run", "true");
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code done = body_send(context, &call, body, &reply);
    if (done != EXIT_DONE || reply.printed)
        return done;
    if (json_is_true(json_object_get(reply.json, "dry_run")))
        return print_tests(context, reply.json);
    report(context, &reply);
    return EXIT_DONE;
}

enum exit_code cmd_verify_list(struct context *context, const struct arguments *arguments)
{
    struct arguments words = *arguments;
    words.words[0] = "verifications";
    words.word_count = 1;
    return cmd_get(context, &words);
}

static enum exit_code fetch_one(struct context *context, const char *id, struct reply *out)
{
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("GET", ONE, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "verification", id);
    return context_call(context, &call, out);
}

enum exit_code cmd_verify_show(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    enum exit_code code = fetch_one(context, arguments->words[0], &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    return print_tests(context, reply.json);
}

static bool same_row(const json_t *before, const json_t *now)
{
    if (before == NULL)
        return false;
    OWN(json) json_t *old = make_row(before);
    OWN(json) json_t *new = make_row(now);
    return json_equal(old, new);
}

/* Whether nothing more happens by itself, and how it went. */
static bool is_over(const json_t *verification, enum exit_code *out)
{
    const char *state = text_of(verification, "state"), *verdict = text_of(verification, "verdict");
    bool good = strcmp(verdict, "pass") == 0 || strcmp(verdict, "not-applicable") == 0;
    *out = strcmp(state, "done") == 0 && good ? EXIT_DONE : EXIT_REFUSED;
    return strcmp(state, "running") != 0;
}

enum exit_code cmd_verify_watch(struct context *context, const struct arguments *arguments)
{
    OWN(json) json_t *before = NULL;
    struct err err = ERR_INIT;
    int64_t interval_s = WATCH_INTERVAL_DEFAULT_S;
    int failures = 0;
    if (arguments_seconds(arguments, OPTION_INTERVAL, &interval_s, &err) != ERR_OK)
        return context_fail(context, &err);
    for (;;) {
        OWN_REPLY struct reply reply = {.printed = false};
        enum exit_code code = fetch_one(context, arguments->words[0], &reply), end;
        failures = code == EXIT_DONE ? 0 : failures + 1;
        if (reply.printed ||
            (code != EXIT_DONE && (code != EXIT_UNREACHABLE || failures == WATCH_FAILURES_MAX)))
            return code;
        if (code == EXIT_DONE && !same_row(before, reply.json)) {
            print_row(context, reply.json);
            context->headings = false;
            fflush(context->out);
            json_decref(before);
            before = json_incref(reply.json);
        }
        if (code == EXIT_DONE && is_over(reply.json, &end))
            return end;
        watch_sleep(interval_s);
    }
}

enum exit_code cmd_verify_cancel(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("POST", ONE ":cancel", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "verification", arguments->words[0]);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code code = context_call(context, &call, &reply);
    if (code == EXIT_DONE && !reply.printed)
        report(context, &reply);
    return code;
}
