/*
 * cli/cmd_write.c - stellarctl apply, delete, validate and rollback.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/fetch.h"
#include "cli/problem.h"
#include "cli/write.h"

typedef enum exit_code each_fn(struct context *context, const struct document *document,
                               const struct writing *writing);

/* Every document is tried, also when one failed; the exit code says how it went in all. */
static enum exit_code for_each(struct context *context, const struct arguments *arguments,
                               each_fn *fn)
{
    OWN_DOCUMENTS struct documents documents = {.count = 0};
    struct err err = ERR_INIT;
    struct writing writing;
    struct exit_sum sum = {.done = 0};
    writing_init(&writing, arguments);
    if (input_documents(arguments, context->in, &documents, &err) != ERR_OK)
        return context_fail(context, &err);
    /* What others need goes first; within a kind as it was given. */
    for (size_t n = 0; n < KIND_ORDERS * documents.count; n++) {
        size_t i = n % documents.count;
        if (documents.items[i].kind->order != (int)(n / documents.count))
            continue;
        enum exit_code code = fn(context, &documents.items[i], &writing);
        if (code != EXIT_DONE && documents.count > 1)
            context_error(context, "that was %s", documents.items[i].where);
        exit_sum_add(&sum, code);
    }
    if (sum.failed > 0 && documents.count > 1)
        context_error(context, "%d of %zu documents failed", sum.failed, documents.count);
    return exit_sum_code(&sum);
}

enum exit_code cmd_apply(struct context *context, const struct arguments *arguments)
{
    return for_each(context, arguments, write_document);
}

/* The verdict of a :validate operation. */
static enum exit_code verdict(struct context *context, const char *what, const struct reply *reply)
{
    struct err err = ERR_INIT;
    bool valid = json_is_true(json_object_get(reply->json, "valid"));
    if (context_is_json(context)) {
        if (print_json(context->out, reply->json, context->output == OUTPUT_JSON ? 2 : 0, &err) !=
            ERR_OK)
            return context_fail(context, &err);
    } else {
        print_text(context->out, what);
        fputs(valid ? ": valid\n" : ": not valid\n", context->out);
        findings_print(context->err, json_object_get(reply->json, "findings"));
    }
    return valid ? EXIT_DONE : EXIT_REFUSED;
}

/* Kinds without a :validate are checked by a dry run of the write. */
static enum exit_code validate_one(struct context *context, const struct document *document,
                                   const struct writing *writing)
{
    static const struct {
        const char *kind, *operation;
    } known[] = {{"fabric", "fabric_validate"}, {"policies", "policy_validate"}};
    const struct writing none = {.dry_run = false};
    OWN(str) char *body = json_canonical(document->body, NULL);
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    char what[300];
    const char *operation = NULL;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].kind, document->kind->name) == 0)
            operation = known[i].operation;
    if (operation == NULL) {
        struct writing dry = *writing;
        dry.dry_run = true;
        return write_document(context, document, &dry);
    }
    if (body == NULL || write_call(document, operation, &none, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call.body = body;
    call.body_len = strlen(body);
    enum exit_code code = context_call(context, &call, &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    write_name(document, what, sizeof(what));
    return verdict(context, what, &reply);
}

enum exit_code cmd_validate(struct context *context, const struct arguments *arguments)
{
    return for_each(context, arguments, validate_one);
}

/* The precondition of a delete: what was given, or what is there now. */
static enum exit_code removal_etag(struct context *context, const struct document *document,
                                   const struct writing *writing, struct current *out)
{
    memset(out, 0, sizeof(*out));
    if (writing->if_match != NULL || context->print_request) {
        snprintf(out->etag, sizeof(out->etag), "%s",
                 writing->if_match != NULL ? writing->if_match : "*");
        return EXIT_DONE;
    }
    enum exit_code code = write_look(context, document, out);
    if (code == EXIT_DONE && !out->exists) {
        char what[300];
        write_name(document, what, sizeof(what));
        context_error(context, "there is no %s", what);
        return EXIT_MISSING;
    }
    return code;
}

static enum exit_code delete_one(struct context *context, const struct document *document,
                                 const struct writing *writing)
{
    OWN_REPLY struct reply reply = {.printed = false};
    OWN_CURRENT struct current current = {.exists = false};
    struct err err = ERR_INIT;
    struct call call;
    char what[300];
    if (write_call(document, document->kind->remove, writing, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    if (operation_param(call.operation, OPERATION_HEADER, "If-Match") != NULL) {
        enum exit_code looked = removal_etag(context, document, writing, &current);
        if (looked != EXIT_DONE)
            return looked;
        call_add(&call, OPERATION_HEADER, "If-Match", current.etag);
    }
    enum exit_code code = context_call(context, &call, &reply);
    write_name(document, what, sizeof(what));
    if (code == EXIT_DONE)
        write_report(context, what, "removed", &reply);
    return code;
}

enum exit_code cmd_delete(struct context *context, const struct arguments *arguments)
{
    const struct kind *kind = NULL;
    struct err err = ERR_INIT;
    struct writing writing;
    struct exit_sum sum = {.done = 0};
    writing_init(&writing, arguments);
    if (kind_need(arguments->words[0], &kind, &err) != ERR_OK)
        return context_fail(context, &err);
    if (kind->remove == NULL) {
        context_error(context, "%s cannot be deleted", kind->name);
        return EXIT_USAGE;
    }
    for (size_t i = 1; i < arguments->word_count; i++) {
        struct document document;
        if (write_subject(kind, arguments->words[i], arguments, &document, &err) != ERR_OK)
            return context_fail(context, &err);
        exit_sum_add(&sum, delete_one(context, &document, &writing));
    }
    return exit_sum_code(&sum);
}
