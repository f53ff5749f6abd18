/*
 * agent/look.c - see look.h.
 */
#include "agent/look.h"

#include <string.h>

#include "agent/fallback.h"
#include "agent/hold.h"
#include "agent/origin.h"
#include "base/json.h"

static bool names_subject(const struct plan *plan, const char *subject)
{
    for (size_t i = 0; i < plan->knob_count; i++)
        if (strcmp(plan->knobs[i].subject, subject) == 0)
            return true;
    return false;
}

/* Also the subjects that only `other` names. *out = NULL: plan itself will do. */
static enum err_code add_subjects(const struct plan *plan, const struct plan *other,
                                  struct plan **out, struct err *err)
{
    OWN(plan) struct plan *merged = NULL;
    enum err_code code = ERR_OK;
    const char *last = ""; /* knobs of one subject stand together within a kind */
    for (size_t i = 0; other != NULL && other != plan && i < other->knob_count; i++) {
        const struct plan_knob *knob = &other->knobs[i];
        bool seen = strcmp(knob->subject, last) == 0;
        last = knob->subject;
        if (seen || names_subject(merged != NULL ? merged : plan, knob->subject))
            continue;
        if (merged == NULL)
            code = plan_new(plan->node, plan->generation, &merged, err);
        for (size_t k = 0; code == ERR_OK && merged->knob_count < plan->knob_count; k++)
            code = plan_add_copy(merged, &plan->knobs[k], err);
        if (code == ERR_OK)
            code = plan_add_copy(merged, knob, err);
        if (code != ERR_OK)
            return code;
    }
    if (merged != NULL)
        code = plan_seal(merged, err);
    if (code == ERR_OK)
        *out = GIVE(merged);
    return code;
}

enum err_code look_view(const struct reconcile *r, const struct plan *plan, bool back,
                        struct plan **out, struct err *err)
{
    const struct plan *trial = r->confirm.plan;
    OWN(plan) struct plan *first = NULL;
    OWN(plan) struct plan *second = NULL;
    OWN(plan) struct plan *third = NULL;
    if (back)
        return fallback_view(plan, trial, out, err);
    enum err_code code = add_subjects(plan, r->good, &first, err);
    if (code == ERR_OK && trial != plan)
        code = add_subjects(first != NULL ? first : plan, trial, &second, err);
    const struct plan *view = second != NULL ? second : first != NULL ? first : plan;
    if (code == ERR_OK)
        code = origin_view(&r->origin, plan, view, &third, err);
    view = third != NULL ? third : view;
    if (code == ERR_OK && r->held[0] != '\0')
        return hold_view(view, r->held, out, err);
    if (code == ERR_OK)
        *out = third != NULL ? GIVE(third) : second != NULL ? GIVE(second) : GIVE(first);
    return code;
}

bool look_is_same(const struct plan *plan, const struct state *before, const struct state *after,
                  struct err *why)
{
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *knob = &plan->knobs[i];
        if (knob->observe_only)
            continue;
        const struct state_knob *was = state_get(before, knob->kind, knob->subject, knob->id);
        const struct state_knob *is = state_get(after, knob->kind, knob->subject, knob->id);
        const json_t *a = was == NULL ? NULL : state_knob_value(was);
        const json_t *b = is == NULL ? NULL : state_knob_value(is);
        if (json_same(a, b))
            continue;
        err_set(why, ERR_IO, "%s %s%s%s is not what it was before", knob->kind->name, knob->subject,
                knob->id[0] == '\0' ? "" : " ", knob->id);
        return false;
    }
    return true;
}
