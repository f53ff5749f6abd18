/*
 * cli/cmd_backup.c - copies of the server's store: made (waiting for the end), listed, fetched,
 * removed.
 */
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/watch.h"

#define POLL_S 1

/* Asks until the operation has ended or the whole time is over. */
static enum exit_code await_operation(struct context *context, const char *id)
{
    struct clock *clock = clock_system();
    int64_t end = clock->mono_ns(clock) + context->timeout_ns;
    for (;;) {
        OWN_REPLY struct reply reply = {.printed = false};
        struct err err = ERR_INIT;
        struct call call;
        if (body_call("GET", "/v1/operations/{operation}", &call, &err) != ERR_OK)
            return context_fail(context, &err);
        call_add(&call, OPERATION_PATH, "operation", id);
        enum exit_code code = context_call(context, &call, &reply);
        if (code != EXIT_DONE || reply.printed)
            return code;
        const char *state = json_string_value(json_object_get(reply.json, "state"));
        bool runs = state != NULL && strcmp(state, "running") == 0;
        if (runs && clock->mono_ns(clock) < end) {
            watch_sleep(POLL_S);
            continue;
        }
        bool good = state != NULL && strcmp(state, "succeeded") == 0;
        if (good) { /* what was made, not how */
            json_t *backup = json_object_get(json_object_get(reply.json, "result"), "backup");
            json_incref(backup);
            json_decref(reply.json);
            reply.json = backup;
        }
        code = body_show(context, &reply);
        return code == EXIT_DONE && !good ? EXIT_REFUSED : code;
    }
}

enum exit_code cmd_backup_create(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("POST", "/v1/backups", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code code = context_call(context, &call, &reply);
    const char *id = json_string_value(json_object_get(reply.json, "operation"));
    return code != EXIT_DONE || id == NULL ? code : await_operation(context, id);
}

/* The same words behind the kind's name, for the commands that know all kinds. */
static struct arguments of_kind(const struct arguments *arguments)
{
    struct arguments words = *arguments;
    memmove(&words.words[1], &words.words[0], words.word_count * sizeof(words.words[0]));
    words.words[0] = "backups";
    words.word_count++;
    return words;
}

enum exit_code cmd_backup_list(struct context *context, const struct arguments *arguments)
{
    struct arguments words = of_kind(arguments);
    return cmd_get(context, &words);
}

enum exit_code cmd_backup_delete(struct context *context, const struct arguments *arguments)
{
    if (arguments->word_count == ARGUMENTS_MAX) {
        context_error(context, "too many backups at once");
        return EXIT_USAGE;
    }
    struct arguments words = of_kind(arguments);
    return cmd_delete(context, &words);
}

/* With --out the copy itself, else what it is. */
enum exit_code cmd_backup_get(struct context *context, const struct arguments *arguments)
{
    struct arguments words = of_kind(arguments);
    struct err err = ERR_INIT;
    struct call call;
    const char *out = arguments_get(arguments, OPTION_OUT);
    if (out == NULL)
        return cmd_get(context, &words);
    if (body_call("GET", "/v1/backups/{backup}/content", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "backup", arguments->words[0]);
    return call_to_file(context, &call, out);
}
