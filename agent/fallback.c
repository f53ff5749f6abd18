/*
 * agent/fallback.c - see fallback.h. Called by confirm and reconcile.
 */
#include "agent/fallback.h"

#include <stdlib.h>
#include <string.h>

#include "agent/deviation.h"
#include "base/json.h"

static int compare_keys(const void *a, const void *b)
{
    const struct plan_step *x = a, *y = b;
    return knob_compare(x->kind, x->subject, x->id, y->kind, y->subject, y->id);
}

static const struct plan_knob *find_knob(const struct plan *plan, const struct plan_step *step)
{
    return plan == NULL ? NULL : plan_knob_get(plan, step->kind, step->subject, step->id);
}

static const struct plan_step *find_step(const struct plan_steps *steps,
                                         const struct knob_kind *kind, const char *subject,
                                         const char *id)
{
    struct plan_step key = {.kind = kind};
    if (steps->count == 0)
        return NULL;
    memcpy(key.subject, subject, sizeof(key.subject));
    memcpy(key.id, id, sizeof(key.id));
    return bsearch(&key, steps->items, steps->count, sizeof(key), compare_keys);
}

static void share_step(struct plan_step *out, const struct plan_step *step)
{
    *out = *step;
    json_incref(out->from);
    json_incref(out->to);
}

static bool is_no_change(const struct plan_step *step)
{
    if (step->from == NULL || step->to == NULL)
        return step->from == step->to;
    return json_equal(step->from, step->to) != 0;
}

/* `later` follows `step` at the same knob. Takes over later's values. */
static void follow(struct plan_step *step, struct plan_step *later)
{
    json_decref(step->to);
    step->to = later->to;
    later->to = NULL;
    plan_step_release(later);
    step->op = step->from == NULL ? STEP_ADD : step->to == NULL ? STEP_REMOVE : STEP_CHANGE;
}

enum err_code fallback_merge(const struct plan_steps *old, const struct plan_steps *done,
                             struct plan_steps *out, struct err *err)
{
    size_t room = old->count + done->count, count = old->count;
    OWN_STEPS struct plan_steps steps = {.room = room};
    steps.items = calloc(room + 1, sizeof(*steps.items));
    if (steps.items == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < old->count; i++)
        share_step(&steps.items[i], &old->items[i]);
    for (size_t i = 0; i < done->count; i++) {
        struct plan_step step;
        share_step(&step, &done->items[i]);
        const struct plan_step *had = find_step(old, step.kind, step.subject, step.id);
        if (had != NULL)
            follow(&steps.items[had - old->items], &step);
        else
            steps.items[count++] = step;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_no_change(&steps.items[i]))
            plan_step_release(&steps.items[i]);
        else
            steps.items[steps.count++] = steps.items[i];
    }
    if (steps.count > 1)
        qsort(steps.items, steps.count, sizeof(*steps.items), compare_keys);
    *out = steps;
    steps = (struct plan_steps){0};
    return ERR_OK;
}

/* Whether going back is to put the value from before the trial there, not the good plan's. */
static bool is_extra(const struct plan *good, const struct plan_step *step)
{
    if (step->from == NULL)
        return false;
    if (good == NULL)
        return true;
    const struct plan_knob *knob = find_knob(good, step);
    return knob == NULL ? !step->kind->is_set : knob->observe_only;
}

static enum err_code add_extra(struct plan *plan, const struct plan_step *step, struct err *err)
{
    struct plan_knob knob = {.kind = step->kind, .want = json_incref(step->from)};
    memcpy(knob.subject, step->subject, sizeof(knob.subject));
    memcpy(knob.id, step->id, sizeof(knob.id));
    memcpy(knob.tenant, step->tenant, sizeof(knob.tenant));
    memcpy(knob.job, step->job, sizeof(knob.job));
    return plan_add(plan, &knob, err);
}

enum err_code fallback_plan(const char *node, const struct plan *good,
                            const struct plan_steps *undo, struct plan **out, struct err *err)
{
    OWN(plan) struct plan *plan = NULL;
    enum err_code code = plan_new(node, good == NULL ? 0 : good->generation, &plan, err);
    for (size_t i = 0; code == ERR_OK && good != NULL && i < good->knob_count; i++) {
        const struct plan_knob *knob = &good->knobs[i];
        const struct plan_step *changed = find_step(undo, knob->kind, knob->subject, knob->id);
        if (changed == NULL || !is_extra(good, changed))
            code = plan_add_copy(plan, knob, err);
    }
    for (size_t i = 0; code == ERR_OK && i < undo->count; i++)
        if (is_extra(good, &undo->items[i]))
            code = add_extra(plan, &undo->items[i], err);
    if (code == ERR_OK)
        code = plan_seal(plan, err);
    if (code == ERR_OK)
        *out = GIVE(plan);
    return code;
}

enum err_code fallback_view(const struct plan *a, const struct plan *b, struct plan **out,
                            struct err *err)
{
    OWN(plan) struct plan *view = NULL;
    enum err_code code = plan_new(a->node, a->generation, &view, err);
    for (size_t i = 0; code == ERR_OK && i < a->knob_count; i++)
        code = plan_add_copy(view, &a->knobs[i], err);
    for (size_t i = 0; code == ERR_OK && i < b->knob_count; i++) {
        const struct plan_knob *knob = &b->knobs[i];
        if (plan_knob_get(a, knob->kind, knob->subject, knob->id) == NULL)
            code = plan_add_copy(view, knob, err);
    }
    if (code == ERR_OK)
        code = plan_seal(view, err);
    if (code == ERR_OK)
        *out = GIVE(view);
    return code;
}

/* Without a good plan only what the trial brought is removed. */
static void keep_untouched(struct plan_steps *steps, const struct plan_steps *undo)
{
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++) {
        struct plan_step *step = &steps->items[i];
        if (step->op == STEP_REMOVE && find_step(undo, step->kind, step->subject, step->id) == NULL)
            plan_step_release(step);
        else
            steps->items[kept++] = *step;
    }
    steps->count = kept;
}

/* A knob that the trial added, and that no plan removes by leaving it out (a module parameter). */
static bool is_left_over(const struct plan *good, const struct plan_step *was,
                         const struct state *state, const json_t **out_value)
{
    if (was->from != NULL || was->kind->is_set || find_knob(good, was) != NULL)
        return false;
    const struct state_knob *is = state_get(state, was->kind, was->subject, was->id);
    *out_value = is == NULL ? NULL : state_knob_value(is);
    return *out_value != NULL;
}

enum err_code fallback_diff(const struct plan *back, const struct plan *good,
                            const struct plan_steps *undo, const struct state *state,
                            struct plan_steps *out, struct err *err)
{
    OWN_STEPS struct plan_steps steps = {0};
    if (plan_diff(back, state, &steps, err))
        return err->code;
    if (good == NULL)
        keep_untouched(&steps, undo);
    struct plan_step *items =
        realloc(steps.items, (steps.count + undo->count + 1) * sizeof(*items));
    if (items == NULL)
        return err_nomem(err);
    steps.items = items;
    steps.room = steps.count + undo->count + 1;
    for (size_t i = 0; i < undo->count; i++) {
        const json_t *value;
        if (!is_left_over(good, &undo->items[i], state, &value))
            continue;
        struct plan_step *step = &steps.items[steps.count++];
        *step = undo->items[i];
        step->op = STEP_REMOVE;
        step->strict = false;
        step->from = json_incref((json_t *)value);
        step->to = NULL;
    }
    deviation_sort(&steps);
    *out = steps;
    steps = (struct plan_steps){0};
    return ERR_OK;
}
