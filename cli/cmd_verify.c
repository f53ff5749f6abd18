/*
 * cli/cmd_verify.c - stellarctl verify: tests between the RDMA devices of nodes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "cli/command.h"
#include "cli/steered.h"
#include "cli/view.h"

#define ONE       "/v1/verifications/{verification}"
#define CELL_MAX  2048
#define PERMYRIAD 100 /* of a percent */

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
    return json_pack("{s:s, s:s, s:s, s:s}", "id", steered_text(verification, "id"), "state",
                     steered_text(verification, "state"), "verdict",
                     steered_text(verification, "verdict"), "tests", tests);
}

static const struct view rows_view = {"id",
                                      {COLUMN("ID", "id"), COLUMN_STATE("STATE", "state"),
                                       COLUMN_STATE("VERDICT", "verdict"),
                                       COLUMN("TESTS", "tests")}};

static json_t *join_members(const json_t *test)
{
    char text[CELL_MAX] = "";
    const json_t *members = json_object_get(test, "members");
    for (size_t i = 0, at = 0; i < json_array_size(members) && at < sizeof(text); i++) {
        const json_t *member = json_array_get(members, i);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.63s", i > 0 ? " " : "",
                               steered_text(member, "node"));
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
    static const struct view view = {
        "test",
        {COLUMN("TEST", "test"), COLUMN("KIND", "kind"), COLUMN("NODES", "nodes"),
         COLUMN("DEVICE", "device"), COLUMN_STATE("STATE", "state"),
         COLUMN_STATE("VERDICT", "verdict"), COLUMN("MEASURE", "measure"),
         COLUMN_NUMBER("VALUE", "value"), COLUMN_NUMBER("CHANGE", "change"), COLUMN("WHY", "why"),
         COLUMN("PROBLEM", "problem")}};
    const json_t *tests = json_object_get(verification, "tests");
    OWN(json) json_t *rows = json_array();
    if (context_is_json(context))
        return view_show_json(context, verification);
    for (size_t i = 0; i < json_array_size(tests); i++) {
        const json_t *test = json_array_get(tests, i);
        const json_t *first = json_array_get(json_object_get(test, "members"), 0);
        json_t *row = json_copy((json_t *)test);
        json_object_set_new(row, "nodes", join_members(test));
        json_object_set_new(row, "device", json_string(steered_text(first, "device")));
        json_object_set_new(row, "change", tell_change(test));
        json_array_append_new(rows, row);
    }
    enum exit_code code = context->output == OUTPUT_TABLE
                              ? steered_row(context, verification, &rows_view, make_row)
                              : EXIT_DONE;
    return code != EXIT_DONE ? code : view_show(context, &view, rows);
}

static void print_next(struct context *context, const json_t *verification)
{
    bool running = strcmp(steered_text(verification, "state"), "running") == 0;
    if (context->output != OUTPUT_TABLE)
        return;
    fprintf(context->err, "  %s: stellarctl verify %s ", running ? "follow it" : "see its tests",
            running ? "watch" : "show");
    print_text(context->err, steered_text(verification, "id"));
    fputc('\n', context->err);
}

static bool went_well(const json_t *verification)
{
    const char *verdict = steered_text(verification, "verdict");
    return strcmp(verdict, "pass") == 0 || strcmp(verdict, "not-applicable") == 0;
}

static const struct steered verifications = {
    .what = "verification",
    .kind = "verifications",
    .list = "/v1/verifications",
    .one = ONE,
    .view = &rows_view,
    .make_row = make_row,
    .preview = print_tests,
    .next = print_next,
    .ends = {{"done", EXIT_DONE}, {"cancelled", EXIT_REFUSED}},
    .went_well = went_well,
};

/* Calls ---------------------------------------------------------------------------------------- */

enum exit_code cmd_verify_start(struct context *context, const struct arguments *arguments)
{
    json_t *kinds = arguments->word_count > 0 ? json_array() : NULL;
    for (size_t i = 0; i < arguments->word_count; i++)
        json_array_append_new(kinds, json_string(arguments->words[i]));
    return steered_make(context, &verifications, arguments, "kinds", kinds);
}

enum exit_code cmd_verify_list(struct context *context, const struct arguments *arguments)
{
    return steered_list(context, &verifications, arguments);
}

enum exit_code cmd_verify_show(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    enum exit_code code = steered_fetch(context, &verifications, arguments, &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    return print_tests(context, reply.json);
}

enum exit_code cmd_verify_watch(struct context *context, const struct arguments *arguments)
{
    return steered_watch(context, &verifications, arguments);
}

enum exit_code cmd_verify_cancel(struct context *context, const struct arguments *arguments)
{
    return steered_steer(context, &verifications, arguments, ONE ":cancel");
}
