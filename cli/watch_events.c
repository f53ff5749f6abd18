/*
 * cli/watch_events.c - events as they happen: see watch.h. A stream (text/event-stream) where the
 * API has one, else the list is asked for what came after the last one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sse.h"
#include "cli/watch.h"

#define ID_TEXT_MAX 24

struct watching {
    struct context *context;
    const struct operation *operation;
    int64_t after; /* the last id that was told; -1 = from now on */
    watch_event_fn *fn;
    void *arg;
    bool enough;
    struct sse sse;
};

static bool tell(struct watching *watching, json_t *event)
{
    int64_t id = json_integer_value(json_object_get(event, "id"));
    if (id > 0 && id <= watching->after)
        return true; /* told before the connection broke */
    if (id > 0)
        watching->after = id;
    watching->enough = !watching->fn(watching->arg, event);
    return !watching->enough;
}

/* The stream says where to go on also when it had nothing to tell yet. */
static void take_place(struct watching *watching)
{
    char *end;
    long long id = strtoll(watching->sse.id, &end, 10);
    if (watching->sse.id[0] != '\0' && *end == '\0' && id >= 0)
        watching->after = id;
}

static bool on_event(void *arg, const struct sse_event *event)
{
    struct watching *watching = arg;
    OWN(json) json_t *value = NULL;
    if (strcmp(event->kind, "resync") == 0) {
        context_error(watching->context,
                      "events were missed: the server does not keep those after %lld any more",
                      (long long)watching->after);
        take_place(watching);
        return true;
    }
    if (json_parse(event->data, event->data_len, &value, NULL) != ERR_OK)
        return true; /* a kind of message that this version does not know */
    return tell(watching, value);
}

static bool on_bytes(void *arg, const char *data, size_t len)
{
    struct watching *watching = arg;
    return sse_feed(&watching->sse, data, len);
}

static bool has_stream(const struct operation *operation)
{
    for (const char *const *type = operation->answers; *type != NULL; type++)
        if (strcmp(*type, "text/event-stream") == 0)
            return true;
    return false;
}

/* One connection, as long as it lasts. */
static enum exit_code follow(struct watching *watching)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    char last[ID_TEXT_MAX];
    const struct sink sink = {on_bytes, watching, WATCH_IDLE_S * NS_PER_S};
    call_init(&call, watching->operation);
    call.accept = "text/event-stream";
    if (watching->after >= 0) {
        snprintf(last, sizeof(last), "%lld", (long long)watching->after);
        call_add(&call, OPERATION_HEADER, "Last-Event-ID", last);
    }
    sse_restart(&watching->sse);
    enum exit_code code = context_stream(watching->context, &call, &sink, &reply, &err);
    if (!watching->enough && watching->after < 0)
        take_place(watching);
    if (watching->sse.failed)
        context_error(watching->context, "%s", watching->sse.why);
    else if (code != EXIT_DONE && !(code == EXIT_UNREACHABLE && err.code != ERR_OK))
        context_explain(watching->context, &reply, &err);
    return code;
}

/* The id of the newest event, so that a watch begins with what comes next. */
static enum exit_code find_newest(struct watching *watching)
{
    for (;;) {
        OWN_REPLY struct reply reply = {.printed = false};
        struct call call;
        char after[ID_TEXT_MAX];
        snprintf(after, sizeof(after), "%lld", (long long)watching->after);
        call_init(&call, watching->operation);
        call.accept = "application/json";
        if (watching->after >= 0)
            call_add(&call, OPERATION_QUERY, "after", after);
        call_add_known(&call, OPERATION_QUERY, "page_size", "1000");
        enum exit_code code = context_call(watching->context, &call, &reply);
        if (code != EXIT_DONE)
            return code;
        int64_t last = json_integer_value(json_object_get(reply.json, "last"));
        size_t got = json_array_size(json_object_get(reply.json, "items"));
        bool more = got > 0 && last > watching->after;
        if (last > watching->after)
            watching->after = last;
        if (!more)
            return EXIT_DONE;
    }
}

/* One look at the list. */
static enum exit_code ask(struct watching *watching)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct call call;
    char after[ID_TEXT_MAX];
    size_t i;
    json_t *event;
    snprintf(after, sizeof(after), "%lld", (long long)watching->after);
    call_init(&call, watching->operation);
    call_add(&call, OPERATION_QUERY, "after", after);
    enum exit_code code = context_call(watching->context, &call, &reply);
    json_array_foreach(json_object_get(reply.json, "items"), i, event)
    {
        if (!watching->enough)
            tell(watching, event);
    }
    return code;
}

enum exit_code watch_events(struct context *context, int64_t after, watch_event_fn *fn, void *arg)
{
    struct watching watching = {.context = context,
                                .operation = operation_find("events_list"),
                                .after = after,
                                .fn = fn,
                                .arg = arg};
    bool stream = has_stream(watching.operation); /* it begins with what comes next by itself */
    enum exit_code code = after < 0 && !stream ? find_newest(&watching) : EXIT_DONE;
    int failures = 0;
    sse_init(&watching.sse, on_event, &watching);
    while (code == EXIT_DONE || (code == EXIT_UNREACHABLE && failures < WATCH_FAILURES_MAX)) {
        int64_t before = watching.after;
        code = stream ? follow(&watching) : ask(&watching);
        if (watching.enough) {
            code = EXIT_DONE;
            break;
        }
        failures = code == EXIT_DONE || watching.after > before ? 0 : failures + 1;
        if (watching.sse.failed)
            break;
        watch_sleep(1);
    }
    sse_release(&watching.sse);
    return code;
}
