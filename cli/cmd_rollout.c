/*
 * cli/cmd_rollout.c - stellarctl rollout: waves of changes, begun, watched and steered.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/fetch.h"
#include "cli/pick.h"
#include "cli/rollout_view.h"
#include "cli/view.h"
#include "cli/watch.h"
#include "cli/write.h"

#define LIST "/v1/rollouts"
#define ONE  "/v1/rollouts/{rollout}"

/* States in which nothing more happens by itself. */
static const struct {
    const char *state;
    enum exit_code code;
} ends[] = {{"done", EXIT_DONE}, {"failed", EXIT_REFUSED}, {"rolled-back", EXIT_REFUSED}};

static enum exit_code list_one(struct context *context, const struct arguments *arguments)
{
    struct arguments words = *arguments;
    words.words[0] = "rollouts";
    words.word_count = 1;
    return cmd_get(context, &words);
}

enum exit_code cmd_rollout_list(struct context *context, const struct arguments *arguments)
{
    return list_one(context, arguments);
}

/* "rollout r-7: preparing", and what can be done next. */
static void report(struct context *context, const struct reply *reply)
{
    const char *id = json_string_value(json_object_get(reply->json, "id"));
    const char *state = json_string_value(json_object_get(reply->json, "state"));
    if (context->output == OUTPUT_TABLE) {
        fputs("rollout ", context->out);
        print_text(context->out, id != NULL ? id : "?");
        fputs(": ", context->out);
        print_text(context->out, state != NULL ? state : "done");
        fputc('\n', context->out);
    } else {
        write_report(context, id != NULL ? id : "?", "done", reply);
    }
    rollout_print_next(context, reply->json);
}

enum exit_code cmd_rollout_start(struct context *context, const struct arguments *arguments)
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
    if (arguments_has(arguments, OPTION_DRY_RUN))
        call_add(&call, OPERATION_QUERY, "dry_run", "true");
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code done = body_send(context, &call, body, &reply);
    if (done != EXIT_DONE || reply.printed)
        return done;
    if (json_is_true(json_object_get(reply.json, "dry_run")))
        return rollout_print_preview(context, reply.json);
    report(context, &reply);
    return EXIT_DONE;
}

static enum exit_code fetch_rollout(struct context *context, const char *id, struct reply *out)
{
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("GET", ONE, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "rollout", id);
    return context_call(context, &call, out);
}

enum exit_code cmd_rollout_show(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    enum exit_code code = fetch_rollout(context, arguments->words[0], &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    code = rollout_print(context, reply.json);
    rollout_print_next(context, reply.json);
    return code;
}

enum exit_code cmd_rollout_nodes(struct context *context, const struct arguments *arguments)
{
    static const struct kind kind = {.name = "rollout nodes",
                                     .list = "rollout_nodes",
                                     .view = {"node",
                                              {{"NODE", "node", false, false},
                                               {"WAVE", "wave", true, false},
                                               {"STATE", "state", false, true},
                                               {"PROBLEM", "problem", false, false}}}};
    OWN(json) json_t *items = NULL;
    enum exit_code code = fetch_list_below(context, &kind, "rollout", arguments, &items);
    if (code != EXIT_DONE || context->print_request)
        return code;
    return view_show(context, &kind.view, items);
}

/* One row for each change. */
static void show_step(struct context *context, const json_t *rollout)
{
    rollout_print_row(context, rollout);
    context->headings = false;
    fflush(context->out);
    rollout_print_next(context, rollout);
}

enum exit_code cmd_rollout_watch(struct context *context, const struct arguments *arguments)
{
    OWN(json) json_t *before = NULL;
    struct err err = ERR_INIT;
    int64_t interval_s = WATCH_INTERVAL_DEFAULT_S;
    int failures = 0;
    if (arguments_seconds(arguments, OPTION_INTERVAL, &interval_s, &err) != ERR_OK)
        return context_fail(context, &err);
    for (;;) {
        OWN_REPLY struct reply reply = {.printed = false};
        enum exit_code code = fetch_rollout(context, arguments->words[0], &reply);
        failures = code == EXIT_DONE ? 0 : failures + 1;
        if (reply.printed ||
            (code != EXIT_DONE && (code != EXIT_UNREACHABLE || failures == WATCH_FAILURES_MAX)))
            return code;
        if (code == EXIT_DONE && !rollout_same_row(before, reply.json)) {
            show_step(context, reply.json);
            json_decref(before);
            before = json_incref(reply.json);
        }
        const char *state = json_string_value(json_object_get(reply.json, "state"));
        for (size_t i = 0; state != NULL && i < sizeof(ends) / sizeof(ends[0]); i++)
            if (strcmp(ends[i].state, state) == 0)
                return ends[i].code;
        watch_sleep(interval_s);
    }
}

static enum exit_code steer(struct context *context, const struct arguments *arguments,
                            const char *path)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("POST", path, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "rollout", arguments->words[0]);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code code = context_call(context, &call, &reply);
    if (code == EXIT_DONE && !reply.printed)
        report(context, &reply);
    return code;
}

enum exit_code cmd_rollout_pause(struct context *context, const struct arguments *arguments)
{
    return steer(context, arguments, ONE ":pause");
}

enum exit_code cmd_rollout_resume(struct context *context, const struct arguments *arguments)
{
    return steer(context, arguments, ONE ":resume");
}

enum exit_code cmd_rollout_confirm(struct context *context, const struct arguments *arguments)
{
    return steer(context, arguments, ONE ":confirm");
}

enum exit_code cmd_rollout_rollback(struct context *context, const struct arguments *arguments)
{
    return steer(context, arguments, ONE ":rollback");
}
