/*
 * agent/deviation.c - see deviation.h. Pure; called by reconcile.
 */
#include "agent/deviation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "base/text.h"

#define VALUE_TEXT_MAX 160 /* of a value in a message; the whole stands in the step */

static void value_text(const json_t *value, char out[VALUE_TEXT_MAX])
{
    size_t len = 0;
    OWN(str) char *text = value == NULL ? NULL : json_canonical(value, &len);
    if (text == NULL)
        snprintf(out, VALUE_TEXT_MAX, "nothing");
    else
        text_quote(text, len, out, VALUE_TEXT_MAX);
}

void deviation_describe(const struct plan_step *step, char *out, size_t size)
{
    char want[VALUE_TEXT_MAX], shown[VALUE_TEXT_MAX];
    value_text(step->to, want);
    value_text(step->from, shown);
    snprintf(out, size, "%s %s%s%s wants %s and shows %s", step->kind->name, step->subject,
             step->id[0] == '\0' ? "" : " ", step->id, want, shown);
}

static int compare_keys(const struct plan_step *a, const struct plan_step *b)
{
    return knob_compare(a->kind, a->subject, a->id, b->kind, b->subject, b->id);
}

static int compare_items(const void *a, const void *b)
{
    return plan_step_compare(a, b);
}

void deviation_sort(struct plan_steps *steps)
{
    if (steps->count > 1)
        qsort(steps->items, steps->count, sizeof(*steps->items), compare_items);
}

static bool same_step(const struct plan_step *a, const struct plan_step *b)
{
    return plan_step_compare(a, b) == 0 && json_same(a->from, b->from) && json_same(a->to, b->to);
}

void deviation_filter(struct plan_steps *steps, const struct plan_steps *known)
{
    size_t kept = 0, j = 0;
    for (size_t i = 0; i < steps->count; i++) {
        struct plan_step *step = &steps->items[i];
        while (j < known->count && plan_step_compare(&known->items[j], step) < 0)
            j++;
        if (j < known->count && same_step(&known->items[j], step))
            plan_step_release(step);
        else
            steps->items[kept++] = *step;
    }
    steps->count = kept;
}

static int compare_pointers(const void *a, const void *b)
{
    const struct plan_step *const *x = a, *const *y = b;
    return compare_keys(*x, *y);
}

/* Pointers to the steps, by key; free it. */
static const struct plan_step **index_new(const struct plan_steps *steps)
{
    const struct plan_step **index = calloc(steps->count + 1, sizeof(struct plan_step *));
    if (index == NULL)
        return NULL;
    for (size_t i = 0; i < steps->count; i++)
        index[i] = &steps->items[i];
    qsort(index, steps->count, sizeof(*index), compare_pointers);
    return index;
}

enum err_code deviation_split(struct plan_steps *left, const struct plan_steps *done,
                              const struct plan_steps *known, size_t *out_others,
                              char text[ERR_TEXT_MAX], struct err *err)
{
    *out_others = 0;
    OWN(mem) void *memory = index_new(done);
    const struct plan_step **index = memory;
    if (index == NULL)
        return err_nomem(err);
    size_t kept = 0, j = 0;
    for (size_t i = 0; i < left->count; i++) {
        struct plan_step *step = &left->items[i];
        const struct plan_step *key = step;
        while (j < known->count && plan_step_compare(&known->items[j], step) < 0)
            j++;
        if ((j < known->count && same_step(&known->items[j], step)) ||
            bsearch(&key, index, done->count, sizeof(*index), compare_pointers) != NULL) {
            left->items[kept++] = *step;
            continue;
        }
        if ((*out_others)++ == 0)
            deviation_describe(step, text, ERR_TEXT_MAX);
        plan_step_release(step);
    }
    left->count = kept;
    return ERR_OK;
}

static enum err_code add_watched(struct plan_steps *steps, const struct plan_knob *knob,
                                 const json_t *shown, struct err *err)
{
    if (steps->count == steps->room) {
        size_t room = steps->room == 0 ? 8 : 2 * steps->room;
        struct plan_step *items = realloc(steps->items, room * sizeof(*items));
        if (items == NULL)
            return err_nomem(err);
        steps->items = items;
        steps->room = room;
    }
    struct plan_step *step = &steps->items[steps->count++];
    *step = (struct plan_step){
        .op = STEP_CHANGE,
        .kind = knob->kind,
        .from = json_incref((json_t *)shown),
        .to = json_incref(knob->want),
        .disruption = DISRUPTION_NONE, /* nothing will be done */
    };
    memcpy(step->subject, knob->subject, sizeof(step->subject));
    memcpy(step->id, knob->id, sizeof(step->id));
    memcpy(step->tenant, knob->tenant, sizeof(step->tenant));
    memcpy(step->job, knob->job, sizeof(step->job));
    return ERR_OK;
}

enum err_code deviation_watched(const struct plan *plan, const struct state *state,
                                struct plan_steps *out, struct err *err)
{
    OWN_STEPS struct plan_steps steps = {0};
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *knob = &plan->knobs[i];
        if (!knob->observe_only)
            continue;
        const struct state_knob *is = state_get(state, knob->kind, knob->subject, knob->id);
        const json_t *shown = is == NULL ? NULL : state_knob_value(is);
        if (!json_same(shown, knob->want) && add_watched(&steps, knob, shown, err))
            return err->code;
    }
    *out = steps;
    steps = (struct plan_steps){0};
    return ERR_OK;
}

bool deviation_same(const struct plan_steps *a, const struct plan_steps *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same_step(&a->items[i], &b->items[i]))
            return false;
    return true;
}
