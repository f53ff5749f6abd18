/*
 * cli/write.c - see write.h.
 */
#include "cli/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "base/json.h"
#include "base/json_diff.h"
#include "cli/fetch.h"
#include "cli/problem.h"

void current_release(struct current *current)
{
    json_decref(current->document);
    memset(current, 0, sizeof(*current));
}

void writing_init(struct writing *writing, const struct arguments *arguments)
{
    *writing = (struct writing){
        .dry_run = arguments_has(arguments, OPTION_DRY_RUN),
        .message = arguments_get(arguments, OPTION_MESSAGE),
        .override = arguments_get(arguments, OPTION_OVERRIDE),
        .reason = arguments_get(arguments, OPTION_REASON),
        .if_match = arguments_get(arguments, OPTION_IF_MATCH),
    };
}

void write_name(const struct document *document, char *out, size_t size)
{
    const struct kind *kind = document->kind;
    if (kind->parent != NULL)
        snprintf(out, size, "%s %s/%s", kind->single, document->tenant, document->name);
    else
        snprintf(out, size, "%s%s%s", kind->single, document->name[0] != '\0' ? " " : "",
                 document->name);
}

enum err_code write_subject(const struct kind *kind, const char *name,
                            const struct arguments *arguments, struct document *out,
                            struct err *err)
{
    const char *tenant = arguments_get(arguments, OPTION_TENANT);
    memset(out, 0, sizeof(*out));
    out->kind = kind;
    if (name == NULL && kind->key != NULL)
        return err_set(err, ERR_INVALID, "which %s? its name is wanted", kind->single);
    if (kind->parent != NULL && tenant == NULL)
        return err_set(err, ERR_INVALID, "a %s needs --tenant", kind->single);
    if ((name != NULL && strlen(name) >= sizeof(out->name)) ||
        (tenant != NULL && strlen(tenant) >= sizeof(out->tenant)))
        return err_set(err, ERR_INVALID, "a name has less than %zu bytes", sizeof(out->name));
    snprintf(out->name, sizeof(out->name), "%s", name != NULL && kind->key != NULL ? name : "");
    snprintf(out->tenant, sizeof(out->tenant), "%s", tenant != NULL ? tenant : "");
    return ERR_OK;
}

static enum err_code subject_call(const struct document *document, const char *operation,
                                  struct call *out, struct err *err)
{
    const struct kind *kind = document->kind;
    const struct operation *found = operation != NULL ? operation_find(operation) : NULL;
    if (found == NULL)
        return err_set(err, ERR_INVALID, "the API has no such operation on %s", kind->name);
    call_init(out, found);
    if (kind->key != NULL)
        call_add(out, OPERATION_PATH, kind->key, document->name);
    if (kind->parent != NULL)
        call_add(out, OPERATION_PATH, kind->parent, document->tenant);
    return ERR_OK;
}

static enum err_code add_option(struct call *call, const char *query, const char *value,
                                struct err *err)
{
    if (value == NULL || call_add_known(call, OPERATION_QUERY, query, value))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "%s takes no --%s", call->operation->id, query);
}

enum err_code write_call(const struct document *document, const char *operation,
                         const struct writing *writing, struct call *out, struct err *err)
{
    const struct {
        const char *query, *value;
    } options[] = {
        {"message", writing->message},
        {"override", writing->override},
        {"reason", writing->reason},
    };
    enum err_code code = subject_call(document, operation, out, err);
    if (code == ERR_OK && writing->dry_run &&
        !call_add_known(out, OPERATION_QUERY, "dry_run", "true"))
        code = err_set(err, ERR_INVALID, "%s takes no --dry-run", operation);
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]) && code == ERR_OK; i++)
        code = add_option(out, options[i].query, options[i].value, err);
    return code;
}

/* The members of `item` that the schema names: what was written, without what the server adds. */
static json_t *by_schema(const json_t *item, const char *schema)
{
    OWN(json) json_t *root = NULL;
    json_t *out = json_object(), *value;
    const char *key;
    for (const struct embed_file *file = schema_files; file->name != NULL; file++)
        if (strcmp(file->name, schema) == 0 &&
            json_parse((const char *)file->data, file->len, &root, NULL) != ERR_OK)
            root = NULL;
    json_object_foreach(json_object_get(root, "properties"), key, value)
    {
        json_t *member = json_object_get(item, key);
        if (member != NULL)
            json_object_set(out, key, member);
    }
    return out;
}

static json_t *document_of(const struct kind *kind, json_t *answer)
{
    if (kind->schema != NULL)
        return by_schema(answer, kind->schema);
    return json_incref(kind->member != NULL ? json_object_get(answer, kind->member) : answer);
}

enum exit_code write_look(struct context *context, const struct document *document,
                          struct current *out)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    memset(out, 0, sizeof(*out));
    if (subject_call(document, document->kind->get, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    enum exit_code code = context_try(context, &call, &reply, &err);
    if (code == EXIT_MISSING && err.code == ERR_OK)
        return EXIT_DONE;
    if (code != EXIT_DONE) {
        context_explain(context, &reply, &err);
        return code;
    }
    out->exists = reply.etag[0] != '\0'; /* a default that nobody wrote has no ETag */
    snprintf(out->etag, sizeof(out->etag), "%s", reply.etag);
    out->document = document_of(document->kind, reply.json);
    return EXIT_DONE;
}

/* "2 nodes would change, disruption link-reset: n1 (3 steps, none), ..." */
static void report_preview(struct context *context, const char *what, const json_t *answer)
{
    FILE *out = context->out;
    const json_t *nodes = json_object_get(answer, "nodes");
    const char *disruption = json_string_value(json_object_get(answer, "disruption"));
    size_t i;
    json_t *node;
    print_text(out, what);
    fprintf(out, ": dry run, %lld nodes would change, disruption ",
            (long long)json_integer_value(json_object_get(answer, "nodes_total")));
    print_text(out, disruption != NULL ? disruption : "none");
    fputc('\n', out);
    json_array_foreach(nodes, i, node)
    {
        const char *name = json_string_value(json_object_get(node, "node"));
        const char *class = json_string_value(json_object_get(node, "disruption"));
        fputs("  node ", out);
        print_text(out, name != NULL ? name : "?");
        fprintf(out, ": %zu steps, ", json_array_size(json_object_get(node, "steps")));
        print_text(out, class != NULL ? class : "none");
        fputc('\n', out);
    }
    json_array_foreach(json_object_get(answer, "jobs"), i, node)
    {
        const char *tenant = json_string_value(json_object_get(node, "tenant"));
        const char *job = json_string_value(json_object_get(node, "job"));
        fputs("  job ", out);
        print_text(out, tenant != NULL ? tenant : "?");
        fputc('/', out);
        print_text(out, job != NULL ? job : "?");
        fputc('\n', out);
    }
}

static void report_number(FILE *out, const char *label, const json_t *answer, const char *key)
{
    const json_t *value = json_object_get(answer, key);
    if (json_is_integer(value))
        fprintf(out, ", %s %lld", label, (long long)json_integer_value(value));
}

void write_report(struct context *context, const char *what, const char *done,
                  const struct reply *reply)
{
    FILE *out = context->out;
    const json_t *answer = reply->json;
    struct err err = ERR_INIT;
    if (reply->printed)
        return;
    if (context_is_json(context) && answer != NULL) {
        if (print_json(out, answer, context->output == OUTPUT_JSON ? 2 : 0, &err) != ERR_OK)
            context_fail(context, &err);
        return;
    }
    if (context->output == OUTPUT_NAME) {
        print_text(out, what);
        fputc('\n', out);
    } else if (json_is_true(json_object_get(answer, "dry_run"))) {
        report_preview(context, what, answer);
    } else {
        bool same = json_is_true(json_object_get(answer, "unchanged"));
        print_text(out, what);
        const char *word = same                                          ? "unchanged"
                           : reply->answer.status == 201                 ? "created"
                           : json_object_get(answer, "revision") != NULL ? "changed"
                                                                         : done;
        fputs(": ", out);
        print_text(out, word);
        report_number(out, "revision", answer, "revision");
        report_number(out, "generation", answer, "generation");
        report_number(out, "label", answer, "label");
        fputc('\n', out);
    }
    findings_print(context->err, json_object_get(answer, "findings"));
}

/* What somebody else did between our look and our write. */
static enum exit_code show_between(struct context *context, const struct document *document,
                                   struct current *seen)
{
    OWN_CURRENT struct current now = {.exists = false};
    enum exit_code code = write_look(context, document, &now);
    char what[300];
    if (code != EXIT_DONE)
        return code;
    OWN(json) json_t *empty = json_object();
    OWN(str)
    char *text = json_diff_text(seen->document != NULL ? seen->document : empty,
                                now.document != NULL ? now.document : empty, "as it was read",
                                "as it is now");
    write_name(document, what, sizeof(what));
    context_error(context, "%s was %s by somebody else in between:", what,
                  now.exists ? "changed" : "removed");
    if (text != NULL)
        print_visible(context->err, text, strlen(text));
    struct current old = *seen;
    *seen = now;
    now = old; /* released here */
    return EXIT_DONE;
}

static enum err_code write_once_call(const struct document *document, const struct writing *writing,
                                     const struct current *seen, struct call *call, struct err *err)
{
    enum err_code code = write_call(document, document->kind->put, writing, call, err);
    if (code != ERR_OK)
        return code;
    if (writing->if_match != NULL)
        call_add(call, OPERATION_HEADER, "If-Match", writing->if_match);
    else if (seen->exists)
        call_add(call, OPERATION_HEADER, "If-Match", seen->etag);
    else
        call_add(call, OPERATION_HEADER, "If-None-Match", "*");
    return ERR_OK;
}

/* A stale ETag is 412; a thing that was removed meanwhile is 404. */
static bool was_overtaken(const struct reply *reply)
{
    return reply->answer.status == 412 || reply->answer.status == 404;
}

enum exit_code write_document(struct context *context, const struct document *document,
                              const struct writing *writing)
{
    OWN_CURRENT struct current seen = {.exists = false};
    OWN(str) char *body = json_canonical(document->body, NULL);
    struct err err = ERR_INIT;
    char what[300];
    if (body == NULL) {
        context_error(context, "out of memory");
        return EXIT_UNREACHABLE;
    }
    write_name(document, what, sizeof(what));
    enum exit_code code = context->print_request ? EXIT_DONE : write_look(context, document, &seen);
    for (int try = 1; code == EXIT_DONE; try++) {
        OWN_REPLY struct reply reply = {.printed = false};
        struct call call;
        if (write_once_call(document, writing, &seen, &call, &err) != ERR_OK)
            return context_fail(context, &err);
        call.body = body;
        call.body_len = strlen(body);
        code = context_try(context, &call, &reply, &err);
        if (code == EXIT_DONE) {
            write_report(context, what, "done", &reply);
            return EXIT_DONE;
        }
        bool again = was_overtaken(&reply) && (seen.exists || reply.answer.status == 412);
        if (again && (code = show_between(context, document, &seen)) != EXIT_DONE)
            return code;
        if (!again || writing->if_match != NULL || try == WRITE_TRIES_MAX) {
            context_error(context, "%s was not written", what);
            context_explain(context, &reply, &err);
            return again ? EXIT_CONFLICT : code;
        }
    }
    return code;
}
