/*
 * cli/cmd_misc.c - commands that are one call: wait, audit verify, tokens, rollback, import,
 * whoami.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/fetch.h"
#include "cli/problem.h"
#include "cli/watch.h"
#include "cli/write.h"

#define WAIT_STEP_S 25 /* of one request; the server lets none wait longer than 100 s */
#define WAIT_REST_S                                                                                \
    1 /* between two requests: a server that answers at once is not asked on end                   \
       */

enum exit_code cmd_version(struct context *context, const struct arguments *arguments)
{
    (void)arguments;
    fputs("stellarctl " STELLAR_VERSION "\n", context->out);
    return EXIT_DONE;
}

/* Asks in steps until it is applied or the whole time is over. */
enum exit_code cmd_wait(struct context *context, const struct arguments *arguments)
{
    struct clock *clock = clock_system();
    int64_t end = clock->mono_ns(clock) + context->timeout_ns;
    context->timeout_ns = 2 * WAIT_STEP_S * NS_PER_S; /* of one request from here on */
    const struct kind *kind = kind_find("generations");
    struct err err = ERR_INIT;
    if (strcmp(arguments->words[0], "generation") != 0) {
        context_error(context, "wait generation N, or wait generation current");
        return EXIT_USAGE;
    }
    for (;;) {
        OWN_REPLY struct reply reply = {.printed = false};
        struct call call;
        char timeout[32];
        int64_t left_ns = end - clock->mono_ns(clock);
        int64_t left_s = left_ns > 0 ? (left_ns - 1) / NS_PER_S + 1 : 1;
        snprintf(timeout, sizeof(timeout), "%llds",
                 (long long)(left_s > WAIT_STEP_S ? WAIT_STEP_S : left_s));
        if (fetch_call(kind, kind->get, arguments->words[1], arguments, &call, &err) != ERR_OK)
            return context_fail(context, &err);
        call_add(&call, OPERATION_QUERY, "wait", "applied");
        call_add(&call, OPERATION_QUERY, "timeout", timeout);
        enum exit_code code = context_call(context, &call, &reply);
        if (code != EXIT_DONE || reply.printed)
            return code;
        bool applied = json_is_true(json_object_get(reply.json, "applied"));
        if (!applied && clock->mono_ns(clock) < end) {
            watch_sleep(WAIT_REST_S);
            continue;
        }
        if (view_print_one(context, &kind->view, reply.json, &err) != ERR_OK)
            return context_fail(context, &err);
        return applied ? EXIT_DONE : EXIT_REFUSED;
    }
}

/* One call whose answer is shown as it is. */
static enum exit_code show_call(struct context *context, struct call *call, json_t *body)
{
    OWN_REPLY struct reply reply = {.printed = false};
    enum exit_code code = body_send(context, call, body, &reply);
    return code == EXIT_DONE ? body_show(context, &reply) : code;
}

enum exit_code cmd_whoami(struct context *context, const struct arguments *arguments)
{
    struct err err = ERR_INIT;
    struct call call;
    (void)arguments;
    if (body_call("GET", "/v1/session", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    return show_call(context, &call, NULL);
}

enum exit_code cmd_audit_verify(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("GET", "/v1/audit:verify", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_QUERY, "anchor", arguments_get(arguments, OPTION_ANCHOR));
    enum exit_code code = context_call(context, &call, &reply);
    if (code == EXIT_DONE)
        code = body_show(context, &reply);
    /* What the server finds broken is no failure of the request, but one of the log. */
    const json_t *valid = json_object_get(reply.json, "valid");
    return code == EXIT_DONE && json_is_false(valid) ? EXIT_REFUSED : code;
}

enum exit_code cmd_incident_acknowledge(struct context *context, const struct arguments *arguments)
{
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("POST", "/v1/incidents/{incident}:acknowledge", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "incident", arguments->words[0]);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    return show_call(context, &call, NULL);
}

static enum exit_code node_call(struct context *context, const struct arguments *arguments,
                                const char *path)
{
    struct err err = ERR_INIT;
    struct call call;
    int64_t lifetime_s = 0;
    char text[32];
    enum err_code code = body_call("POST", path, &call, &err);
    if (code == ERR_OK)
        code = arguments_seconds(arguments, OPTION_LIFETIME, &lifetime_s, &err);
    if (code != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "node", arguments->words[0]);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    snprintf(text, sizeof(text), "%llds", (long long)lifetime_s);
    if (lifetime_s > 0)
        call_add(&call, OPERATION_QUERY, "expires", text);
    return show_call(context, &call, NULL);
}

enum exit_code cmd_node_token(struct context *context, const struct arguments *arguments)
{
    return node_call(context, arguments, "/v1/nodes/{node}/token");
}

enum exit_code cmd_node_reboot(struct context *context, const struct arguments *arguments)
{
    return node_call(context, arguments, "/v1/nodes/{node}:reboot");
}

/* What the order is for: a node that is in no quarantine takes it too. */
static void explain_release(struct context *context, const char *node, const char *sync)
{
    if (sync != NULL && strcmp(sync, "quarantined") != 0) {
        fputs("  it was not 'quarantined' but '", context->err);
        print_text(context->err, sync);
        fputs("'; it applies its plan again all the same\n", context->err);
    }
    fputs("  how it goes: stellarctl get receipts --node ", context->err);
    print_text(context->err, node);
    fputc('\n', context->err);
}

enum exit_code cmd_node_release(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply before = {.printed = false};
    struct err err = ERR_INIT;
    bool explains = context->output == OUTPUT_TABLE && !context->print_request;
    /* Who may not read the node, or finds none, hears so from the order itself. */
    if (explains) {
        struct call call;
        call_init(&call, operation_find("node_get"));
        call_add(&call, OPERATION_PATH, "node", arguments->words[0]);
        if (context_try(context, &call, &before, &err) != EXIT_DONE)
            reply_release(&before);
    }
    enum exit_code code = node_call(context, arguments, "/v1/nodes/{node}:release");
    if (code == EXIT_DONE && explains)
        explain_release(context, arguments->words[0],
                        json_string_value(json_object_get(before.json, "sync")));
    return code;
}

enum exit_code cmd_node_join_token(struct context *context, const struct arguments *arguments)
{
    return node_call(context, arguments, "/v1/nodes/{node}/join-token");
}

/* The values of an option that repeats; NULL when there is none. */
static json_t *list_of(const struct arguments *arguments, enum option option)
{
    json_t *list = NULL;
    for (size_t i = 0; i < arguments->given_count; i++) {
        if (arguments->given[i].option != option)
            continue;
        if (list == NULL)
            list = json_array();
        json_array_append_new(list, json_string(arguments->given[i].value));
    }
    return list;
}

enum exit_code cmd_tokens_create(struct context *context, const struct arguments *arguments)
{
    struct err err = ERR_INIT;
    struct call call;
    int64_t lifetime_s = 0;
    enum err_code code = body_call("POST", "/v1/tokens", &call, &err);
    if (code == ERR_OK)
        code = arguments_seconds(arguments, OPTION_LIFETIME, &lifetime_s, &err);
    if (code == ERR_OK && !arguments_has(arguments, OPTION_ROLE))
        code = err_set(&err, ERR_INVALID, "tokens create needs --role");
    if (code != ERR_OK)
        return context_fail(context, &err);
    json_t *body = json_pack(
        "{s:s, s:s*, s:s*, s:o*, s:o*, s:o*}", "role", arguments_get(arguments, OPTION_ROLE),
        "tenant", arguments_get(arguments, OPTION_TENANT), "description",
        arguments_get(arguments, OPTION_DESCRIPTION), "scopes", list_of(arguments, OPTION_SCOPE),
        "sources", list_of(arguments, OPTION_SOURCE), "lifetime_s",
        lifetime_s > 0 ? json_integer(lifetime_s) : NULL);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    return show_call(context, &call, body);
}

/* To --out in one piece, or to standard output. */
enum exit_code cmd_export(struct context *context, const struct arguments *arguments)
{
    struct arguments words = *arguments;
    const struct operation *operation = operation_at("GET", "/v1/export");
    if (operation == NULL) {
        context_error(context, "this version's API has no export");
        return EXIT_USAGE;
    }
    words.words[0] = operation->id;
    words.word_count = 1;
    return cmd_api(context, &words);
}

enum exit_code cmd_import(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    OWN(str) char *body = NULL;
    struct err err = ERR_INIT;
    struct call call;
    const char *file = arguments_get(arguments, OPTION_FILE);
    enum err_code code = body_call("POST", "/v1/import", &call, &err);
    if (code == ERR_OK && file == NULL)
        code = err_set(&err, ERR_INVALID, "import needs -f FILE (- is standard input)");
    if (code == ERR_OK && strcmp(file, "-") == 0) {
        code = input_read(context->in, &body, &call.body_len, &err);
        call.body = body;
    } else {
        call.body_path = file;
    }
    if (code != ERR_OK)
        return context_fail(context, &err);
    if (arguments_has(arguments, OPTION_DRY_RUN))
        call_add(&call, OPERATION_QUERY, "dry_run", "true");
    call_add(&call, OPERATION_QUERY, "mode", arguments_get(arguments, OPTION_MODE));
    call_add(&call, OPERATION_QUERY, "message", arguments_get(arguments, OPTION_MESSAGE));
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code done = context_call(context, &call, &reply);
    if (done != EXIT_DONE)
        return done;
    write_report(context, "import", "done", &reply);
    return EXIT_DONE;
}

static enum err_code rollback_call(const struct arguments *arguments, struct document *document,
                                   struct call *call, int64_t *revision, struct err *err)
{
    static const int64_t range[2] = {1, INT64_MAX};
    const struct kind *kind = NULL;
    struct writing writing;
    writing_init(&writing, arguments);
    enum err_code code = kind_need(arguments->words[0], &kind, err);
    const char *name =
        arguments->word_count > 1 ? arguments->words[1] : arguments_get(arguments, OPTION_TENANT);
    if (code == ERR_OK && strcmp(kind->name, "fabric") != 0 && strcmp(kind->name, "policies") != 0)
        code = err_set(err, ERR_INVALID, "only policies and the fabric have revisions");
    if (code == ERR_OK && !arguments_has(arguments, OPTION_TO))
        code = err_set(err, ERR_INVALID, "rollback needs --to REVISION");
    if (code == ERR_OK)
        code = arguments_number(arguments, OPTION_TO, range, revision, err);
    if (code == ERR_OK)
        code = write_subject(kind, name, arguments, document, err);
    if (code != ERR_OK)
        return code;
    const struct operation *operation = operation_at(
        "POST", kind->key == NULL ? "/v1/fabric:rollback" : "/v1/tenants/{tenant}/policy:rollback");
    writing.message = NULL; /* it stands in the body */
    return write_call(document, operation != NULL ? operation->id : NULL, &writing, call, err);
}

enum exit_code cmd_rollback(struct context *context, const struct arguments *arguments)
{
    OWN_CURRENT struct current current = {.exists = false};
    OWN_REPLY struct reply reply = {.printed = false};
    struct document document;
    struct err err = ERR_INIT;
    struct call call;
    int64_t revision = 0;
    char what[300];
    if (rollback_call(arguments, &document, &call, &revision, &err) != ERR_OK)
        return context_fail(context, &err);
    const char *etag = arguments_get(arguments, OPTION_IF_MATCH);
    enum exit_code code = EXIT_DONE;
    if (etag == NULL && !context->print_request)
        code = write_look(context, &document, &current);
    if (code != EXIT_DONE)
        return code;
    if (etag == NULL && current.exists)
        etag = current.etag;
    if (etag != NULL)
        call_add(&call, OPERATION_HEADER, "If-Match", etag);
    else if (!context->print_request) /* a policy that was removed comes back */
        call_add(&call, OPERATION_HEADER, "If-None-Match", "*");
    code = body_send(context, &call,
                     json_pack("{s:I, s:s*}", "revision", (json_int_t)revision, "message",
                               arguments_get(arguments, OPTION_MESSAGE)),
                     &reply);
    write_name(&document, what, sizeof(what));
    if (code == EXIT_DONE)
        write_report(context, what, "done", &reply);
    return code;
}
