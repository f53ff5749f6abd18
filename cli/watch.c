/*
 * cli/watch.c - see watch.h: things that are looked at again and again.
 */
#include "cli/watch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/own.h"
#include "cli/fetch.h"
#include "cli/state_rows.h"

void watch_sleep(int64_t seconds)
{
    struct timespec time = {.tv_sec = seconds};
    nanosleep(&time, NULL);
}

/* The items now: of a list, or the one thing. */
static enum exit_code look(struct context *context, const struct kind *kind, const char *name,
                           const struct arguments *arguments, json_t **out)
{
    if (name == NULL && (kind->list != NULL || kind->walk))
        return fetch_list(context, kind, arguments, out);
    OWN_REPLY struct reply reply = {.printed = false};
    enum exit_code code = fetch_one(context, kind, name, arguments, &reply);
    if (code != EXIT_DONE)
        return code;
    *out = json_array();
    struct err err = ERR_INIT;
    if (kind->rows != NULL && fetch_rows(kind, name, reply.json, *out, &err) != ERR_OK)
        return context_fail(context, &err);
    if (kind->judged)
        return state_rows_judge(context, name, reply.json, *out);
    if (kind->rows == NULL && reply.json != NULL)
        json_array_append(*out, reply.json);
    return EXIT_DONE;
}

/* What is new or other than before. */
static json_t *changed(const json_t *before, const json_t *now)
{
    json_t *out = json_array(), *item, *old;
    size_t i, j;
    json_array_foreach(now, i, item)
    {
        bool known = false;
        json_array_foreach(before, j, old) known = known || json_equal(old, item);
        if (!known)
            json_array_append(out, item);
    }
    return out;
}

/* A table is printed anew; lines of JSON only where they changed. */
static enum err_code show(struct context *context, const struct kind *kind, const json_t *before,
                          const json_t *now, struct err *err)
{
    enum err_code code;
    if (context->output == OUTPUT_JSONL || context->output == OUTPUT_NAME) {
        OWN(json) json_t *news = changed(before, now);
        code = view_print(context, &kind->view, news, err);
    } else if (view_columns(&kind->view) == 0) {
        code = print_json(context->out, json_array_get(now, 0), 2, err);
    } else {
        if (before != NULL && context->output == OUTPUT_TABLE)
            fputc('\n', context->out);
        code = view_print(context, &kind->view, now, err);
    }
    fflush(context->out);
    return code;
}

/* Both for events in a row and for tables of one event: a row each, with titles once. */
struct printing {
    struct context *context;
    const struct kind *kind;
    enum exit_code code;
    int64_t left; /* events to print; -1 = no end */
};

static bool print_event(void *arg, json_t *event)
{
    struct printing *printing = arg;
    struct err err = ERR_INIT;
    struct context *context = printing->context;
    OWN(json) json_t *items = json_pack("[O]", event);
    enum err_code code = context->output == OUTPUT_JSON
                             ? print_json(context->out, event, 2, &err)
                             : view_print(context, &printing->kind->view, items, &err);
    context->headings = false;
    fflush(context->out);
    if (code != ERR_OK)
        printing->code = context_fail(context, &err);
    if (printing->left > 0)
        printing->left--;
    return code == ERR_OK && printing->left != 0;
}

static enum exit_code watch_all_events(struct context *context, const struct kind *kind,
                                       const struct arguments *arguments)
{
    static const int64_t ids[2] = {0, INT64_MAX}, counts[2] = {1, INT64_MAX};
    struct err err = ERR_INIT;
    struct printing printing = {context, kind, EXIT_DONE, -1};
    int64_t after = 0;
    if (arguments_number(arguments, OPTION_AFTER, ids, &after, &err) != ERR_OK ||
        arguments_number(arguments, OPTION_LIMIT, counts, &printing.left, &err) != ERR_OK)
        return context_fail(context, &err);
    if (!arguments_has(arguments, OPTION_AFTER))
        after = -1;
    enum exit_code code = watch_events(context, after, print_event, &printing);
    return printing.code != EXIT_DONE ? printing.code : code;
}

enum exit_code watch_kind(struct context *context, const struct kind *kind, const char *name,
                          const struct arguments *arguments)
{
    struct err err = ERR_INIT;
    int64_t interval_s = WATCH_INTERVAL_DEFAULT_S;
    OWN(json) json_t *before = NULL;
    int failures = 0;
    if (strcmp(kind->name, "events") == 0 && !context->print_request)
        return watch_all_events(context, kind, arguments);
    if (arguments_seconds(arguments, OPTION_INTERVAL, &interval_s, &err) != ERR_OK)
        return context_fail(context, &err);
    for (;;) {
        OWN(json) json_t *now = NULL;
        enum exit_code code = look(context, kind, name, arguments, &now);
        if (context->print_request)
            return code;
        failures = code == EXIT_DONE ? 0 : failures + 1;
        if (code != EXIT_DONE && (code != EXIT_UNREACHABLE || failures == WATCH_FAILURES_MAX))
            return code;
        if (code == EXIT_DONE && (before == NULL || !json_equal(before, now))) {
            if (show(context, kind, before, now, &err) != ERR_OK)
                return context_fail(context, &err);
            json_decref(before);
            before = GIVE(now);
        }
        watch_sleep(interval_s);
    }
}
