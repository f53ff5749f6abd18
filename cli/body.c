/*
 * cli/body.c - see body.h.
 */
#include "cli/body.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "cli/view.h"

enum err_code body_call(const char *method, const char *path, struct call *out, struct err *err)
{
    const struct operation *operation = operation_at(method, path);
    if (operation == NULL)
        return err_set(err, ERR_UNSUPPORTED, "this version's API has no %s %s", method, path);
    call_init(out, operation);
    return ERR_OK;
}

enum exit_code body_send(struct context *context, struct call *call, json_t *body,
                         struct reply *out)
{
    OWN(json) json_t *owned = body;
    OWN(str) char *text = owned != NULL ? json_canonical(owned, NULL) : NULL;
    memset(out, 0, sizeof(*out));
    if (owned != NULL && text == NULL) {
        context_error(context, "out of memory");
        return EXIT_UNREACHABLE;
    }
    if (text != NULL) {
        call->body = text;
        call->body_len = strlen(text);
    }
    enum exit_code code = context_call(context, call, out);
    call->body = NULL;
    if (text != NULL)
        explicit_bzero(text, strlen(text)); /* it may hold a password */
    return code;
}

static enum err_code show_members(struct context *context, const json_t *object, struct err *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        OWN(str) char *text = view_cell(value, "");
        if (text == NULL)
            return err_nomem(err);
        print_text(context->out, key);
        fputs(": ", context->out);
        print_text(context->out, text);
        fputc('\n', context->out);
    }
    return ERR_OK;
}

/* What the answer is called, and its members as columns: the answer says which it has. */
static enum err_code show_row(struct context *context, json_t *object, struct err *err)
{
    static const char *const names[] = {"id", "name", "node"};
    struct view view = {.name = NULL};
    size_t count = 0;
    const char *key;
    json_t *value;
    for (size_t i = 0; view.name == NULL && i < sizeof(names) / sizeof(names[0]); i++)
        if (json_is_string(json_object_get(object, names[i])))
            view.name = names[i];
    if (context->output == OUTPUT_NAME && view.name == NULL)
        return err_set(err, ERR_INVALID, "--output name: the answer has no name");
    json_object_foreach(object, key, value)
    {
        if (count < VIEW_COLUMNS_MAX)
            view.columns[count++] = (struct column){.title = key, .path = key};
    }
    return view_print_one(context, &view, object, err);
}

enum exit_code body_show(struct context *context, const struct reply *reply)
{
    struct err err = ERR_INIT;
    enum err_code code = ERR_OK;
    if (reply->printed || reply->json == NULL)
        return EXIT_DONE;
    if (context_is_json(context))
        code = print_json(context->out, reply->json, context->output == OUTPUT_JSON ? 2 : 0, &err);
    else if (context->output != OUTPUT_TABLE)
        code = show_row(context, reply->json, &err);
    else
        code = show_members(context, reply->json, &err);
    return code == ERR_OK ? EXIT_DONE : context_fail(context, &err);
}
