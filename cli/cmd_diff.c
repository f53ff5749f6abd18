/*
 * cli/cmd_diff.c - stellarctl diff: a file against the server, or two revisions.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_diff.h"
#include "cli/command.h"
#include "cli/fetch.h"
#include "cli/write.h"

/* EXIT_REFUSED when they differ, as diff(1) does it. */
static enum exit_code show_difference(struct context *context, const json_t *from, const json_t *to,
                                      const char *const names[2])
{
    OWN(json) json_t *empty = json_object();
    struct err err = ERR_INIT;
    from = from != NULL ? from : empty;
    to = to != NULL ? to : empty;
    if (context_is_json(context)) {
        OWN(json) json_t *patch = json_diff(from, to);
        if (patch == NULL ||
            print_json(context->out, patch, context->output == OUTPUT_JSON ? 2 : 0, &err) != ERR_OK)
            return context_fail(context, &err);
        return json_array_size(patch) > 0 ? EXIT_REFUSED : EXIT_DONE;
    }
    OWN(str) char *text = json_diff_text(from, to, names[0], names[1]);
    if (text == NULL) {
        err_nomem(&err);
        return context_fail(context, &err);
    }
    print_visible(context->out, text, strlen(text));
    return text[0] != '\0' ? EXIT_REFUSED : EXIT_DONE;
}

static enum exit_code diff_file(struct context *context, const struct document *document)
{
    OWN_CURRENT struct current current = {.exists = false};
    char what[300], there[320];
    enum exit_code code = write_look(context, document, &current);
    if (code != EXIT_DONE)
        return code;
    write_name(document, what, sizeof(what));
    snprintf(there, sizeof(there), "%s on the server", what);
    const char *const names[2] = {there, document->where};
    return show_difference(context, current.document, document->body, names);
}

static enum exit_code diff_files(struct context *context, const struct arguments *arguments)
{
    OWN_DOCUMENTS struct documents documents = {.count = 0};
    struct err err = ERR_INIT;
    enum exit_code worst = EXIT_DONE;
    if (input_documents(arguments, context->in, &documents, &err) != ERR_OK)
        return context_fail(context, &err);
    for (size_t i = 0; i < documents.count; i++) {
        enum exit_code code = diff_file(context, &documents.items[i]);
        worst = code > worst ? code : worst;
    }
    return worst;
}

/* The document of one revision; NULL or "current" = the one now. */
static enum exit_code fetch_revision(struct context *context, const struct document *document,
                                     const char *number, json_t **out)
{
    bool fabric = document->kind->key == NULL;
    if (number == NULL || strcmp(number, "current") == 0) {
        OWN_CURRENT struct current current = {.exists = false};
        enum exit_code code = write_look(context, document, &current);
        *out = json_incref(current.document);
        return code;
    }
    OWN_REPLY struct reply reply = {.printed = false};
    struct call call;
    call_init(&call, operation_find(fabric ? "fabric_revision" : "policy_revision"));
    call_add(&call, OPERATION_PATH, "number", number);
    if (!fabric)
        call_add(&call, OPERATION_PATH, "tenant", document->name);
    enum exit_code code = context_call(context, &call, &reply);
    if (code == EXIT_DONE)
        *out = json_incref(json_object_get(reply.json, "document"));
    return code;
}

static enum exit_code diff_revisions(struct context *context, const struct document *document,
                                     const struct arguments *arguments)
{
    const char *from = arguments_get(arguments, OPTION_FROM);
    const char *to = arguments_get(arguments, OPTION_TO);
    OWN(json) json_t *before = NULL;
    OWN(json) json_t *after = NULL;
    char what[300], names[2][330];
    write_name(document, what, sizeof(what));
    snprintf(names[0], sizeof(names[0]), "%s revision %.20s", what, from);
    snprintf(names[1], sizeof(names[1]), "%s revision %.20s", what, to != NULL ? to : "current");
    enum exit_code code = fetch_revision(context, document, from, &before);
    if (code == EXIT_DONE)
        code = fetch_revision(context, document, to, &after);
    if (code != EXIT_DONE)
        return code;
    const char *const both[2] = {names[0], names[1]};
    return show_difference(context, before, after, both);
}

enum exit_code cmd_diff(struct context *context, const struct arguments *arguments)
{
    const struct kind *kind = NULL;
    struct document document;
    struct err err = ERR_INIT;
    if (arguments_has(arguments, OPTION_FILE) && arguments->word_count == 0)
        return diff_files(context, arguments);
    if (arguments->word_count == 0 || !arguments_has(arguments, OPTION_FROM)) {
        context_error(context, "diff -f FILE, or diff policy TENANT --from N [--to N]");
        return EXIT_USAGE;
    }
    if (kind_need(arguments->words[0], &kind, &err) != ERR_OK)
        return context_fail(context, &err);
    if (strcmp(kind->name, "fabric") != 0 && strcmp(kind->name, "policies") != 0) {
        context_error(context, "only policies and the fabric have revisions");
        return EXIT_USAGE;
    }
    const char *name =
        arguments->word_count > 1 ? arguments->words[1] : arguments_get(arguments, OPTION_TENANT);
    if (write_subject(kind, name, arguments, &document, &err) != ERR_OK)
        return context_fail(context, &err);
    return diff_revisions(context, &document, arguments);
}
