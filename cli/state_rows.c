/*
 * cli/state_rows.c - see state_rows.h.
 */
#include "cli/state_rows.h"

#include <string.h>

#include "base/own.h"
#include "fleet/knob.h"

static const char *text_of(const json_t *knob, const char *member)
{
    const char *text = json_string_value(json_object_get(knob, member));
    return text == NULL ? "" : text;
}

/* As in the plan's digest (fleet/state.c): of some kinds the next load's or boot's value counts,
 * and a rule of ours that no plan wants is to go. A kind unknown here is taken for a plain one. */
static const char *verdict(const json_t *row, const json_t *wanted)
{
    const struct knob_kind *kind = knob_kind_get(text_of(row, "kind"));
    bool next = kind != NULL && kind->view == KNOB_VIEW_NEXT_BOOT;
    const json_t *is = json_object_get(row, next ? "next_boot" : "live");
    if (wanted == NULL) {
        bool ours = strcmp(text_of(row, "owner"), "stellar") == 0;
        return kind != NULL && kind->is_set && ours && is != NULL ? "no" : NULL;
    }
    if (is != NULL && json_equal(is, json_object_get(wanted, "want")))
        return "yes";
    return json_is_true(json_object_get(wanted, "observe_only")) ? "watched" : "no";
}

static enum err_code judge(const json_t *plan, json_t *rows, struct err *err)
{
    OWN(json) json_t *wanted = json_object(); /* by the name of the row */
    json_t *knob, *row;
    size_t i;
    json_array_foreach(json_object_get(plan, "knobs"), i, knob)
    {
        OWN(json) json_t *name = fetch_row_name(knob);
        if (name == NULL || json_object_set(wanted, json_string_value(name), knob) != 0)
            return err_nomem(err);
    }
    json_array_foreach(rows, i, row)
    {
        const char *text = verdict(row, json_object_get(wanted, text_of(row, "knob")));
        if (text != NULL && json_object_set_new(row, "in_sync", json_string(text)) != 0)
            return err_nomem(err);
    }
    return ERR_OK;
}

enum exit_code state_rows_judge(struct context *context, const char *node, const json_t *state,
                                json_t *rows)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    call_init(&call, operation_find("node_plan"));
    call_add(&call, OPERATION_PATH, "node", node);
    enum exit_code code = context_try(context, &call, &reply, &err);
    if (code == EXIT_MISSING && err.code == ERR_OK)
        return EXIT_DONE; /* no plan, nothing is wanted */
    if (code != EXIT_DONE) {
        context_explain(context, &reply, &err);
        return code;
    }
    const char *of = text_of(json_object_get(state, "of"), "digest");
    if (strcmp(of, text_of(reply.json, "digest")) != 0)
        return EXIT_DONE;
    return judge(reply.json, rows, &err) == ERR_OK ? EXIT_DONE : context_fail(context, &err);
}
