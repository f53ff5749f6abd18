/*
 * datapath/linux_apply.c - changing what dp_linux observes: nothing is done twice, what is not ours
 * is left alone, and every change is read back. See dp.h.
 *
 * A run (steps of one op, kind and port) is looked at with one list, changed in batches, and read
 * back from what the kernel shows in its answers, or with one list: a thousand filters one at a
 * time are five thousand requests.
 */
#include "datapath/linux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "datapath/nl/nlx_run.h"

/* Below this a list of everything costs more than it saves. */
#define RUN_MIN 8

static enum err_code resolve_row(const struct plan_step *step, const struct linux_knob **out_row,
                                 struct err *err)
{
    const char *kind = step->kind->name;
    *out_row = linux_knob_get(kind);
    if (*out_row == NULL)
        return err_set(err, ERR_UNSUPPORTED, "this provider has no knob %s", kind);
    if (linux_is_host(kind) != (strcmp(step->subject, "host") == 0))
        return err_set(err, ERR_INVALID, "%s is no knob of %s", kind, step->subject);
    if (step->op == STEP_REMOVE && !step->kind->is_set && step->kind->view != KNOB_VIEW_NEXT_BOOT)
        return err_set(err, ERR_INVALID, "%s of %s can be changed but not removed", kind,
                       step->subject);
    if (step->op != STEP_REMOVE && step->to == NULL)
        return err_set(err, ERR_INVALID, "%s of %s: the step has no value", kind, step->subject);
    return ERR_OK;
}

/* The row and port of a step; port stays NULL for the host. */
static enum err_code resolve(struct dp_linux *dp, const struct plan_step *step,
                             const struct linux_knob **out_row, const struct dp_port **out_port,
                             struct err *err)
{
    *out_port = NULL;
    enum err_code code = resolve_row(step, out_row, err);
    if (code != ERR_OK || linux_is_host(step->kind->name))
        return code;
    return linux_port(dp, step->subject, out_port, err);
}

static void name_step(const struct plan_step *step, const struct dp_port *port, struct err *err)
{
    const char *ifname = port == NULL ? "" : port->ifname;
    (void)err_context(err, "%s%s%s%s %s%s%s", step->subject, *ifname == '\0' ? "" : " (", ifname,
                      *ifname == '\0' ? "" : ")", step->kind->name, step->id[0] == '\0' ? "" : " ",
                      step->id);
}

enum err_code linux_check(struct dp *base, const struct plan_step *step, struct err *err)
{
    struct dp_linux *dp = (struct dp_linux *)base;
    const struct linux_knob *row;
    const struct dp_port *port = linux_port_listed(dp, step->subject);
    linux_start_deadline(dp);
    /* The port of the last scan will do: apply() looks whether it still is the same. */
    enum err_code code =
        port != NULL ? resolve_row(step, &row, err) : resolve(dp, step, &row, &port, err);
    if (code != ERR_OK)
        return code;
    code = row->check(dp, port, step, err);
    if (code != ERR_OK)
        name_step(step, port, err);
    return code;
}

/* The one knob of a step, as the kernel shows it now; *out NULL: absent. Owned. */
static enum err_code look(struct dp_linux *dp, const struct linux_knob *row,
                          const struct dp_port *port, const struct plan_step *step, json_t **out,
                          enum knob_owner *out_owner, struct err *err)
{
    OWN_STATE struct state state;
    state_init(&state);
    *out = NULL;
    *out_owner = KNOB_OWNER_UNKNOWN;
    enum err_code code = row->observe(dp, port, step->id, &state, err);
    if (code != ERR_OK)
        return code;
    for (size_t i = 0; i < state.knob_count; i++) {
        if (strcmp(state.knobs[i].id, step->id) != 0)
            continue;
        *out = json_incref((json_t *)(uintptr_t)state_knob_value(&state.knobs[i]));
        *out_owner = state.knobs[i].owner;
    }
    return ERR_OK;
}

static bool is_there(const struct linux_knob *row, const json_t *live, const json_t *want)
{
    return live != NULL && (json_equal(live, want) || (row->same != NULL && row->same(live, want)));
}

/* Nothing is set twice: on some drivers that alone takes the link down. */
static bool is_done(const struct linux_knob *row, const struct plan_step *step, const json_t *live)
{
    return step->op == STEP_REMOVE ? live == NULL : is_there(row, live, step->to);
}

static enum err_code compare(const struct linux_knob *row, const struct plan_step *step,
                             const json_t *live, enum knob_owner owner, struct err *err)
{
    if (step->op == STEP_REMOVE) {
        if (live == NULL || owner == KNOB_OWNER_OTHER)
            return ERR_OK;
        return err_set(err, ERR_IO, "kernel took the removal but still shows it");
    }
    if (is_there(row, live, step->to))
        return ERR_OK;
    if (live != NULL && !step->strict && row->rounded != NULL && row->rounded(live, step->to))
        return ERR_OK;
    OWN(str) char *asked = json_canonical(step->to, NULL);
    OWN(str) char *shown = live == NULL ? strdup("nothing") : json_canonical(live, NULL);
    if (asked == NULL || shown == NULL)
        return err_nomem(err);
    return err_set(err, ERR_IO, "kernel took %.200s but shows %.200s", asked, shown);
}

static enum err_code apply_step(struct dp_linux *dp, const struct linux_knob *row,
                                const struct dp_port *port, const struct plan_step *step,
                                struct err *err)
{
    OWN(json) json_t *before = NULL;
    OWN(json) json_t *after = NULL;
    enum knob_owner owner;
    enum err_code code = look(dp, row, port, step, &before, &owner, err);
    if (code != ERR_OK)
        return code;
    if (is_done(row, step, before))
        return ERR_OK;
    if (before != NULL && owner == KNOB_OWNER_OTHER)
        return err_set(err, ERR_CONFLICT, "what is there is not ours and is left alone");
    struct plan_step now = *step; /* borrowed; what the plan was made from may be long gone */
    now.from = before;
    code = row->apply(dp, port, &now, err);
    if (code == ERR_OK)
        code = look(dp, row, port, step, &after, &owner, err);
    return code != ERR_OK ? code : compare(row, step, after, owner, err);
}

enum err_code linux_apply(struct dp *base, const struct plan_step *step, struct err *err)
{
    struct dp_linux *dp = (struct dp_linux *)base;
    const struct linux_knob *row;
    const struct dp_port *port;
    linux_start_deadline(dp);
    enum err_code code = resolve(dp, step, &row, &port, err);
    if (code != ERR_OK)
        return code;
    code = apply_step(dp, row, port, step, err);
    if (code != ERR_OK)
        name_step(step, port, err);
    return code;
}

/* Runs ---------------------------------------------------------------------------------------- */

struct run {
    const struct linux_knob *row;
    const struct dp_port *port;
    const struct plan_step *steps; /* as asked for, borrowed */
    size_t count;                  /* of steps: those that go together */
    struct plan_step *todo;        /* owned; copies that borrow: what is not there yet */
    size_t *place;                 /* owned; of each in `steps` */
    size_t todo_count;
};

static void run_release(struct run *run)
{
    free(run->todo);
    free(run->place);
}

static size_t run_length(const struct plan_step *steps, size_t count)
{
    size_t n = 1;
    while (n < count && n < DP_RUN_MAX && steps[n].op == steps[0].op &&
           steps[n].kind == steps[0].kind && strcmp(steps[n].subject, steps[0].subject) == 0 &&
           (steps[n].op == STEP_REMOVE || steps[n].to != NULL))
        n++;
    return n;
}

/* What is to be done, seen what is there; ends before a step that is not ours to do. */
static enum err_code run_collect(struct run *run, const struct state *state, struct err *err)
{
    run->todo = calloc(run->count, sizeof(*run->todo));
    run->place = calloc(run->count, sizeof(*run->place));
    if (run->todo == NULL || run->place == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < run->count; i++) {
        const struct plan_step *step = &run->steps[i];
        const struct state_knob *is = state_get(state, step->kind, step->subject, step->id);
        const json_t *live = is == NULL ? NULL : state_knob_value(is);
        if (is_done(run->row, step, live))
            continue;
        if (live != NULL && is->owner == KNOB_OWNER_OTHER) {
            run->count = i;
            break;
        }
        run->todo[run->todo_count] = *step;
        run->todo[run->todo_count].from = (json_t *)(uintptr_t)live;
        run->place[run->todo_count++] = i;
    }
    return ERR_OK;
}

static enum err_code run_look(struct dp_linux *dp, const struct run *run, struct state *out,
                              struct err *err)
{
    linux_start_deadline(dp);
    enum err_code code = run->row->observe(dp, run->port, NULL, out, err);
    state_seal(out);
    return code;
}

static bool is_shown(const struct run *run, size_t count, const struct state *shown)
{
    bool all = run->steps[0].op != STEP_REMOVE;
    for (size_t k = 0; all && k < count; k++) {
        const struct plan_step *step = &run->todo[k];
        all = state_get(shown, step->kind, step->subject, step->id) != NULL;
    }
    return all;
}

enum err_code linux_run_changes(struct dp_linux *dp, const struct nlx_changes *changes,
                                struct dp_progress *out, struct err *err)
{
    struct nlx_run did = {0};
    enum err_code code = ERR_OK;
    if (changes->count > 0)
        code = nlx_run(dp->route, changes, DP_DEADLINE_MS, &did, err);
    *out = (struct dp_progress){did.begun, code == ERR_OK ? did.begun : did.failed};
    return code;
}

/* The first of todo [0, count) that the kernel does not show as asked for: *out_failed. What
 * is missing in `shown` makes it a list of all. */
static enum err_code run_read_back(struct dp_linux *dp, const struct run *run, size_t count,
                                   struct state *shown, size_t *out_failed, struct err *err)
{
    *out_failed = 0;
    state_seal(shown);
    enum err_code code = ERR_OK;
    if (!is_shown(run, count, shown)) {
        state_release(shown);
        state_init(shown);
        code = run_look(dp, run, shown, err);
    }
    for (size_t k = 0; code == ERR_OK && k < count; k++) {
        const struct plan_step *step = &run->todo[k];
        const struct state_knob *is = state_get(shown, step->kind, step->subject, step->id);
        *out_failed = k;
        code = compare(run->row, step, is == NULL ? NULL : state_knob_value(is),
                       is == NULL ? KNOB_OWNER_UNKNOWN : is->owner, err);
    }
    return code;
}

/* Changes todo and reads back; *out is in terms of `steps`. */
static enum err_code run_change(struct dp_linux *dp, const struct run *run, struct dp_progress *out,
                                struct err *err)
{
    struct dp_progress did = {0};
    OWN_STATE struct state shown;
    state_init(&shown);
    const struct linux_run todo = {run->port, run->todo, run->todo_count, &shown};
    nlx_set_budget(dp->route, 0); /* each batch has its deadline, and apply_run() ends in time */
    enum err_code code = run->row->apply_run(dp, &todo, &did, err);
    if (code == ERR_OK && did.begun == 0) {
        linux_start_deadline(dp);
        code = apply_step(dp, run->row, run->port, &run->todo[0], err);
        did.begun = 1;
        did.failed = code == ERR_OK ? 1 : 0;
    } else if (code == ERR_OK) {
        did.failed = did.begun;
        size_t failed;
        code = run_read_back(dp, run, did.begun, &shown, &failed, err);
        if (code != ERR_OK)
            did.failed = failed;
    }
    out->begun = did.begun == run->todo_count ? run->count : run->place[did.begun];
    out->failed = code == ERR_OK ? out->begun : run->place[did.failed];
    return code;
}

static enum err_code run_steps(struct dp_linux *dp, struct run *run, struct dp_progress *out,
                               struct err *err)
{
    OWN_STATE struct state before; /* todo borrows from it */
    state_init(&before);
    enum err_code code = run_look(dp, run, &before, err);
    if (code == ERR_OK)
        code = run_collect(run, &before, err);
    if (code != ERR_OK)
        return code;
    if (run->todo_count > 0)
        return run_change(dp, run, out, err);
    if (run->count == 0) {
        *out = (struct dp_progress){.begun = 1, .failed = 0};
        return apply_step(dp, run->row, run->port, &run->steps[0], err);
    }
    *out = (struct dp_progress){.begun = run->count, .failed = run->count};
    return ERR_OK;
}

enum err_code linux_apply_run(struct dp *base, const struct plan_step *steps, size_t count,
                              struct dp_progress *out, struct err *err)
{
    struct dp_linux *dp = (struct dp_linux *)base;
    struct run run = {.steps = steps, .count = run_length(steps, count)};
    *out = (struct dp_progress){.begun = 1, .failed = 0};
    linux_start_deadline(dp);
    enum err_code code = resolve(dp, &steps[0], &run.row, &run.port, err);
    if (code != ERR_OK)
        return code;
    if (run.row->apply_run != NULL && run.count >= RUN_MIN) {
        code = run_steps(dp, &run, out, err);
        run_release(&run);
    } else {
        code = apply_step(dp, run.row, run.port, &steps[0], err);
        out->failed = code == ERR_OK ? 1 : 0;
    }
    if (code == ERR_OK)
        return ERR_OK;
    if (out->begun <= out->failed) /* before anything was sent; a caller goes on behind it */
        out->begun = out->failed + 1;
    name_step(&steps[out->failed], run.port, err);
    return code;
}
