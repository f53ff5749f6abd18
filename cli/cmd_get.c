/*
 * cli/cmd_get.c - stellarctl get: shows things, once or as they change.
 */
#include <string.h>
#include <time.h>

#include "base/own.h"
#include "cli/command.h"
#include "cli/fetch.h"
#include "cli/state_rows.h"
#include "cli/watch.h"

/* The document itself in the JSON forms, its rows in the others. */
static enum exit_code show_rows(struct context *context, const struct kind *kind, const char *name,
                                json_t *document)
{
    struct err err = ERR_INIT;
    if (context_is_json(context))
        return view_show_json(context, document);
    OWN(json) json_t *rows = json_array();
    if (fetch_rows(kind, name, document, rows, &err) != ERR_OK)
        return context_fail(context, &err);
    enum exit_code code = EXIT_DONE;
    if (kind->judged && context->output != OUTPUT_NAME)
        code = state_rows_judge(context, name, document, rows);
    return code != EXIT_DONE ? code : view_show(context, &kind->view, rows);
}

/* The table of the thing, and under it that of its items, if it has any. */
static enum err_code show_table(struct context *context, const struct kind *kind, json_t *document,
                                struct err *err)
{
    enum err_code code = view_print_one(context, &kind->view, document, err);
    const json_t *items = kind->items == NULL ? NULL : json_object_get(document, kind->items);
    if (code != ERR_OK || context->output != OUTPUT_TABLE || json_array_size(items) == 0)
        return code;
    fputc('\n', context->out);
    return view_print(context, kind->items_view, items, err);
}

static enum err_code show_one(struct context *context, const struct kind *kind, json_t *document,
                              struct err *err)
{
    if (context->output == OUTPUT_NAME && kind->view.name == NULL)
        return err_set(err, ERR_INVALID, "%s has no name to print", kind->name);
    if (view_columns(&kind->view) > 0)
        return show_table(context, kind, document, err);
    if (context->output == OUTPUT_CSV)
        return err_set(err, ERR_INVALID, "%s can be shown as JSON only", kind->name);
    return print_json(context->out, document, context->output == OUTPUT_JSONL ? 0 : 2, err);
}

/* A bare document has no name: the table needs it beside, as lists have it. */
static enum err_code with_name(const struct kind *kind, const char *name, json_t *document,
                               struct err *err)
{
    if (kind->bare == NULL || document == NULL)
        return ERR_OK;
    OWN(json) json_t *copy = json_copy(document);
    if (copy == NULL || json_object_clear(document) != 0 ||
        json_object_set(document, kind->bare, copy) != 0 ||
        json_object_set_new(document, "name", json_string(name)) != 0)
        return err_nomem(err);
    return ERR_OK;
}

static enum exit_code get_one(struct context *context, const struct kind *kind, const char *name,
                              const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    enum exit_code code = fetch_one(context, kind, name, arguments, &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    enum err_code shown = ERR_OK;
    if (context->output != OUTPUT_JSON)
        shown = with_name(kind, name, reply.json, &err);
    if (shown == ERR_OK && reply.json == NULL)
        shown = err_set(&err, ERR_UNAVAILABLE, "the answer is no JSON that can be read");
    if (shown == ERR_OK && kind->rows != NULL)
        return show_rows(context, kind, name, reply.json);
    if (shown == ERR_OK)
        shown = show_one(context, kind, reply.json, &err);
    return shown == ERR_OK ? EXIT_DONE : context_fail(context, &err);
}

static enum exit_code get_list(struct context *context, const struct kind *kind,
                               const struct arguments *arguments)
{
    OWN(json) json_t *items = NULL;
    struct err err = ERR_INIT;
    struct arguments below = *arguments;
    below.words[0] = arguments->words[1]; /* the thing that they are of */
    enum exit_code code = kind->below != NULL
                              ? fetch_list_below(context, kind, kind->below, &below, &items)
                              : fetch_list(context, kind, arguments, &items);
    if (code != EXIT_DONE || context->print_request)
        return code;
    if (view_print(context, &kind->view, items, &err) != ERR_OK)
        return context_fail(context, &err);
    return EXIT_DONE;
}

enum exit_code cmd_get(struct context *context, const struct arguments *arguments)
{
    const struct kind *kind = NULL;
    struct err err = ERR_INIT;
    const char *name = arguments->word_count > 1 ? arguments->words[1] : NULL;
    if (kind_need(arguments->words[0], &kind, &err) != ERR_OK)
        return context_fail(context, &err);
    bool has_list = kind->list != NULL || kind->walk;
    if (name == NULL && (kind->below != NULL || (kind->key != NULL && !has_list))) {
        context_error(context, "%s need a name: stellarctl get %s NAME", kind->name, kind->single);
        return EXIT_USAGE;
    }
    if (arguments_has(arguments, OPTION_WATCH))
        return watch_kind(context, kind, name, arguments);
    return has_list && (name == NULL || kind->below != NULL)
               ? get_list(context, kind, arguments)
               : get_one(context, kind, name, arguments);
}
