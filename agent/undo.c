/*
 * agent/undo.c - see undo.h. Called by reconcile: after a failed step, and for a journal left
 * behind.
 */
#include "agent/undo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/deviation.h"
#include "agent/report.h"

enum err_code undo_view(const char *node, const struct plan_steps *steps, struct plan **out,
                        struct err *err)
{
    OWN(plan) struct plan *plan = NULL;
    enum err_code code = plan_new(node, 0, &plan, err);
    for (size_t i = 0; code == ERR_OK && i < steps->count; i++) {
        const struct plan_step *step = &steps->items[i];
        struct plan_knob knob = {
            .kind = step->kind,
            .want = json_incref(step->to != NULL ? step->to : step->from),
        };
        memcpy(knob.subject, step->subject, sizeof(knob.subject));
        memcpy(knob.id, step->id, sizeof(knob.id));
        code = plan_add(plan, &knob, err);
    }
    if (code == ERR_OK)
        code = plan_seal(plan, err);
    if (code == ERR_OK)
        *out = GIVE(plan);
    return code;
}

static bool is_at_from(const struct plan_step *step, const struct state *state,
                       const json_t **out_shown)
{
    const struct state_knob *is = state_get(state, step->kind, step->subject, step->id);
    const json_t *shown = is == NULL ? NULL : state_knob_value(is);
    *out_shown = shown;
    if (is != NULL && is->problem[0] != '\0')
        return false; /* absent or unreadable cannot be told apart */
    if (shown == NULL || step->from == NULL)
        return shown == step->from;
    return json_equal(shown, step->from) != 0;
}

/* The first reason why a step is not taken back, into err; ERR_OK = all are. */
static enum err_code read_back(const struct undo *undo, const struct state *state, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < undo->count; i++) {
        const struct plan_step *step = &undo->steps->items[i];
        struct receipt_step *told = report_step(undo->receipt, i);
        const json_t *shown;
        bool back = is_at_from(step, state, &shown);
        if (told != NULL)
            told->undone = back;
        if (back)
            continue;
        struct plan_step left = *step; /* borrowed values */
        left.to = step->from;
        left.from = (json_t *)shown;
        char text[ERR_TEXT_MAX];
        deviation_describe(&left, text, sizeof(text));
        if (told != NULL && told->problem[0] == '\0')
            snprintf(told->problem, sizeof(told->problem), "not undone: %.400s", text);
        if (code == ERR_OK)
            code = err_set(err, ERR_IO, "not undone: %s", text);
    }
    return code;
}

/* What is left to be taken back, in reverse; borrows its values. */
static enum err_code collect(const struct undo *undo, const struct state *state,
                             struct plan_step **out, size_t *out_count, struct err *err)
{
    struct plan_step *steps = calloc(undo->count + 1, sizeof(*steps));
    *out_count = 0;
    if (steps == NULL)
        return err_nomem(err);
    for (size_t i = undo->count; i-- > 0;) {
        const struct plan_step *step = &undo->steps->items[i];
        const json_t *shown;
        if (state != NULL && is_at_from(step, state, &shown))
            continue;
        struct plan_step *back = &steps[*out_count];
        enum err_code code = plan_step_undo(step, back, err);
        if (code != ERR_OK) {
            free(steps);
            return code;
        }
        json_decref(back->from); /* the step has them */
        json_decref(back->to);
        ++*out_count;
    }
    *out = steps;
    return ERR_OK;
}

/* state == NULL: nothing is known, so all is undone; every step is idempotent. Goes on after a
 * failure, behind what was begun with the failed one. */
static void take_back(const struct undo *undo, const struct state *state, bool *out_killed,
                      struct err *first)
{
    OWN(mem) void *memory = NULL;
    struct plan_step *steps = NULL;
    size_t count;
    if (collect(undo, state, &steps, &count, first))
        return;
    memory = steps;
    for (size_t i = 0; i < count;) {
        struct dp_progress did;
        struct err err = ERR_INIT;
        enum err_code code = dp_apply_run(undo->dp, &steps[i], count - i, &did, &err);
        i += did.begun;
        if (code != ERR_OK && first->code == ERR_OK)
            *first = err;
        *out_killed = undo->killed != NULL && undo->killed(undo->killed_arg);
        if (*out_killed)
            return;
    }
}

static void forget_round(const struct undo *undo)
{
    for (size_t i = 0; i < undo->count; i++) {
        struct receipt_step *told = report_step(undo->receipt, i);
        if (told != NULL && strncmp(told->problem, "not undone", strlen("not undone")) == 0)
            told->problem[0] = '\0';
    }
}

enum err_code undo_run(const struct undo *undo, struct err *err)
{
    struct err why = ERR_INIT;
    for (int round = 0; round <= UNDO_ROUNDS; round++) {
        OWN_STATE struct state state;
        state_init(&state);
        struct err looked = ERR_INIT;
        bool readable = dp_observe(undo->dp, undo->view, &state, &looked) == ERR_OK;
        forget_round(undo);
        enum err_code code = readable ? read_back(undo, &state, &looked) : looked.code;
        if (code == ERR_OK)
            return ERR_OK;
        if (round == UNDO_ROUNDS) {
            /* What the device said tells more than what it shows. */
            if (why.code != ERR_OK)
                return err_set(err, code, "%.300s (%.200s)", looked.text, why.text);
            return err_set(err, code, "%s", looked.text);
        }
        why = (struct err)ERR_INIT;
        bool killed = false;
        take_back(undo, readable ? &state : NULL, &killed, &why);
        if (killed)
            return err_set(err, ERR_UNAVAILABLE, "stopped in the middle of an undo");
    }
    return ERR_OK;
}
