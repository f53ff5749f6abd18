/*
 * cli/steered.c - see steered.h. Called by the commands of rollouts, campaigns and verifications.
 */
#include "cli/steered.h"

#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/pick.h"
#include "cli/watch.h"
#include "cli/write.h"

const char *steered_text(const json_t *thing, const char *key)
{
    const char *text = json_string_value(json_object_get(thing, key));
    return text != NULL ? text : "";
}

enum exit_code steered_row(struct context *context, const json_t *thing, const struct view *view,
                           json_t *(*make_row)(const json_t *thing))
{
    if (context_is_json(context))
        return view_show_json(context, thing);
    OWN(json) json_t *row = make_row(thing);
    OWN(json) json_t *items = json_pack("[O]", row);
    return view_show(context, view, items);
}

enum exit_code steered_list(struct context *context, const struct steered *steered,
                            const struct arguments *arguments)
{
    struct arguments words = *arguments;
    words.words[0] = steered->kind;
    words.word_count = 1;
    return cmd_get(context, &words);
}

enum exit_code steered_fetch(struct context *context, const struct steered *steered,
                             const struct arguments *arguments, struct reply *out)
{
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("GET", steered->one, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, steered->what, arguments->words[0]);
    return context_call(context, &call, out);
}

/* "rollout r-7: preparing", and what can be done next. */
static void report(struct context *context, const struct steered *steered,
                   const struct reply *reply)
{
    const char *id = steered_text(reply->json, "id");
    if (context->output == OUTPUT_TABLE) {
        fprintf(context->out, "%s ", steered->what);
        print_text(context->out, id);
        fputs(": ", context->out);
        print_text(context->out, steered_text(reply->json, "state"));
        fputc('\n', context->out);
    } else {
        write_report(context, id, "done", reply);
    }
    steered->next(context, reply->json);
}

enum exit_code steered_make(struct context *context, const struct steered *steered,
                            const struct arguments *arguments, const char *member, json_t *value)
{
    OWN(json) json_t *given = value;
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    json_t *body = NULL;
    enum err_code made = body_call("POST", steered->list, &call, &err);
    if (made == ERR_OK)
        made = pick_body(context, arguments, &body, &err);
    if (made != ERR_OK)
        return context_fail(context, &err);
    if (given != NULL)
        json_object_set(body, member, given);
    if (arguments_has(arguments, OPTION_DRY_RUN))
        call_add(&call, OPERATION_QUERY, "dry_run", "true");
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code code = body_send(context, &call, body, &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    if (json_is_true(json_object_get(reply.json, "dry_run")))
        return steered->preview(context, reply.json);
    report(context, steered, &reply);
    return EXIT_DONE;
}

static bool is_over(const struct steered *steered, const json_t *thing, enum exit_code *out)
{
    const struct steered_end *end = steered->ends;
    while (end->state != NULL && strcmp(end->state, steered_text(thing, "state")) != 0)
        end++;
    bool good = steered->went_well == NULL || steered->went_well(thing);
    *out = good ? end->code : EXIT_REFUSED;
    return end->state != NULL;
}

static bool same_row(const struct steered *steered, const json_t *before, const json_t *now)
{
    if (before == NULL)
        return false;
    OWN(json) json_t *old = steered->make_row(before);
    OWN(json) json_t *new = steered->make_row(now);
    return json_equal(old, new) &&
           (steered->also == NULL || json_equal(json_object_get(before, steered->also),
                                                json_object_get(now, steered->also)));
}

static void show_step(struct context *context, const struct steered *steered, const json_t *thing)
{
    steered_row(context, thing, steered->view, steered->make_row);
    context->headings = false;
    fflush(context->out);
    if (steered->after_row != NULL)
        steered->after_row(context, thing);
}

enum exit_code steered_watch(struct context *context, const struct steered *steered,
                             const struct arguments *arguments)
{
    OWN(json) json_t *before = NULL;
    struct err err = ERR_INIT;
    int64_t interval_s = WATCH_INTERVAL_DEFAULT_S;
    int failures = 0;
    if (arguments_seconds(arguments, OPTION_INTERVAL, &interval_s, &err) != ERR_OK)
        return context_fail(context, &err);
    for (;;) {
        OWN_REPLY struct reply reply = {.printed = false};
        enum exit_code code = steered_fetch(context, steered, arguments, &reply), end;
        failures = code == EXIT_DONE ? 0 : failures + 1;
        if (reply.printed ||
            (code != EXIT_DONE && (code != EXIT_UNREACHABLE || failures == WATCH_FAILURES_MAX)))
            return code;
        if (code == EXIT_DONE && !same_row(steered, before, reply.json)) {
            show_step(context, steered, reply.json);
            json_decref(before);
            before = json_incref(reply.json);
        }
        if (code == EXIT_DONE && is_over(steered, reply.json, &end)) {
            if (steered->at_end != NULL)
                steered->at_end(context, reply.json);
            return end;
        }
        watch_sleep(interval_s);
    }
}

enum exit_code steered_steer(struct context *context, const struct steered *steered,
                             const struct arguments *arguments, const char *path)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("POST", path, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, steered->what, arguments->words[0]);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code code = context_call(context, &call, &reply);
    if (code == EXIT_DONE && !reply.printed)
        report(context, steered, &reply);
    return code;
}
