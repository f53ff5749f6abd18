/*
 * cli/cmd_runbook.c - stellarctl runbook: the runbooks, and runs of them over nodes and files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/view.h"

static const struct view runbooks_view = {
    .name = "name",
    .columns =
        {
            {.title = "RUNBOOK", .path = "name"},
            {.title = "SYMPTOM", .path = "symptom"},
            {.title = "STEPS", .path = "steps"},
        },
};

static const struct view steps_view = {
    .name = "step",
    .columns =
        {
            {.title = "NODE", .path = "node"},
            {.title = "STEP", .path = "step"},
            {.title = "VERDICT", .path = "verdict"},
            {.title = "WHY", .path = "why"},
            {.title = "TO DO", .path = "todo"},
        },
};

/* The rows of a run: the likely causes in their order, then the others. False = no memory. */
static bool add_rows(json_t *rows, const json_t *run)
{
    static const char *const lists[] = {"likely", "open", "excluded"};
    for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
        const json_t *list = json_object_get(run, lists[l]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            OWN(json) json_t *row = json_copy(json_array_get(list, i));
            json_t *node = json_object_get(run, "node");
            json_t *todo = json_object_get(row, l == 0 ? "action" : "needs");
            if (row == NULL ||
                (l == 0 && json_object_set_new(row, "verdict", json_string("fault")) != 0) ||
                (node != NULL && json_object_set(row, "node", node) != 0) ||
                (todo != NULL && json_object_set(row, "todo", todo) != 0) ||
                json_array_append(rows, row) != 0)
                return false;
        }
    }
    return true;
}

/* "n1=eth0.txt" is node n1's; a path with '=' in it is written "./a=b". */
static enum err_code add_file(json_t *files, const char *value, struct err *err)
{
    OWN(str) char *text = NULL;
    size_t len = 0;
    const char *equals = strchr(value, '='), *slash = strchr(value, '/');
    bool has_node = equals != NULL && equals != value && (slash == NULL || equals < slash);
    const char *path = has_node ? equals + 1 : value;
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return err_set(err, ERR_NOT_FOUND, "cannot read %s", path);
    enum err_code code = input_read(in, &text, &len, err);
    fclose(in);
    if (code != ERR_OK)
        return code;
    text_sanitize(text);
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    json_t *file = json_pack("{ss, ss}", "name", name, "text", text);
    if (file != NULL && has_node)
        json_object_set_new(file, "node", json_stringn(value, (size_t)(equals - value)));
    return json_array_append_new(files, file) == 0
               ? ERR_OK
               : err_set(err, ERR_INVALID, "%s cannot be sent: its name is no text", path);
}

static enum err_code make_body(const struct arguments *arguments, json_t *body, struct err *err)
{
    json_t *nodes = json_array(), *files = json_array();
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < arguments->given_count && code == ERR_OK; i++) {
        const char *value = arguments->given[i].value;
        if (arguments->given[i].option == OPTION_NODE)
            json_array_append_new(nodes, json_string(value));
        else if (arguments->given[i].option == OPTION_FILE)
            code = add_file(files, value, err);
        else if (arguments->given[i].option == OPTION_WINDOW)
            json_object_set_new(body, "window", json_string(value));
    }
    json_object_set_new(body, "nodes", nodes);
    json_object_set_new(body, "files", files);
    return code;
}

enum exit_code cmd_runbook_run(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    OWN(json) json_t *body = json_object();
    OWN(json) json_t *rows = json_array();
    struct err err = ERR_INIT;
    struct call call;
    if (make_body(arguments, body, &err) != ERR_OK ||
        body_call("POST", "/v1/runbooks/{runbook}:run", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "runbook", arguments->words[0]);
    enum exit_code code = body_send(context, &call, json_incref(body), &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    if (context->output == OUTPUT_JSON)
        return view_show_json(context, reply.json);
    const json_t *runs = json_object_get(reply.json, "runs");
    for (size_t i = 0; i < json_array_size(runs); i++)
        if (!add_rows(rows, json_array_get(runs, i))) {
            (void)err_nomem(&err);
            return context_fail(context, &err);
        }
    return view_show(context, &steps_view, rows);
}

/* The steps' ids, one after another. */
static json_t *steps_of(const json_t *steps)
{
    char text[512] = "";
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(steps) && at < sizeof(text); i++) {
        const char *id = json_string_value(json_object_get(json_array_get(steps, i), "step"));
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i > 0 ? " " : "",
                               id != NULL ? id : "?");
    }
    return json_string(text);
}

enum exit_code cmd_runbook_list(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    (void)arguments;
    if (body_call("GET", "/v1/runbooks", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    enum exit_code code = context_call(context, &call, &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    if (context->output == OUTPUT_JSON)
        return view_show_json(context, reply.json);
    OWN(json) json_t *rows = json_deep_copy(json_object_get(reply.json, "items"));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        json_object_set_new(row, "steps", steps_of(json_object_get(row, "steps")));
    }
    return view_show(context, &runbooks_view, rows);
}
