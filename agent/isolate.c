/*
 * agent/isolate.c - see isolate.h.
 */
#include "agent/isolate.h"

#include <stdlib.h>
#include <string.h>

#include "agent/deviation.h"
#include "agent/report.h"

bool isolate_applies(const struct run *run)
{
    return run->back == NULL && (run->cause == RECONCILE_CHECK || run->cause == RECONCILE_START);
}

static bool is_unreadable(const struct state_knob *is)
{
    return is != NULL && is->problem[0] != '\0' && state_knob_value(is) == NULL;
}

enum err_code isolate_readable(const struct plan *plan, const struct state *state,
                               struct plan **out, struct err *why, struct err *err)
{
    OWN(plan) struct plan *readable = NULL;
    size_t missing = 0;
    enum err_code code = plan_new(plan->node, plan->generation, &readable, err);
    for (size_t i = 0; code == ERR_OK && i < plan->knob_count; i++) {
        const struct plan_knob *knob = &plan->knobs[i];
        const struct state_knob *is = state_get(state, knob->kind, knob->subject, knob->id);
        if (knob->observe_only || !is_unreadable(is))
            code = plan_add_copy(readable, knob, err);
        else if (missing++ == 0)
            err_set(why, ERR_UNAVAILABLE, "%s %s%s%s cannot be read: %s", knob->kind->name,
                    knob->subject, knob->id[0] == '\0' ? "" : " ", knob->id, is->problem);
    }
    if (code == ERR_OK && missing > 0)
        code = plan_seal(readable, err);
    if (code == ERR_OK && missing > 0)
        *out = GIVE(readable);
    return code;
}

bool isolate_is_blind(const struct plan_steps *steps, const struct state *state)
{
    for (size_t i = 0; i < steps->count; i++) {
        const struct plan_step *step = &steps->items[i];
        if (is_unreadable(state_get(state, step->kind, step->subject, step->id)))
            return true;
    }
    return false;
}

bool isolate_refused(struct run *run)
{
    struct receipt *receipt = run->out->receipt;
    struct plan_steps *steps = &run->steps;
    size_t count = steps->count, kept = 0, refused = 0;
    if (count > RECEIPT_STEPS_MAX || receipt->step_count < count)
        return false;
    for (size_t i = 0; i < count; i++)
        refused += receipt->steps[i].problem[0] != '\0';
    struct plan_step *left =
        realloc(run->left_out.items, (run->left_out.count + refused + 1) * sizeof(*left));
    struct receipt_step *told = calloc(refused + 1, sizeof(*told));
    if (left != NULL)
        run->left_out.items = left;
    bool moved = left != NULL && told != NULL && refused > 0 && refused < count;
    refused = 0;
    for (size_t i = 0; moved && i < count; i++) {
        if (receipt->steps[i].problem[0] == '\0') {
            steps->items[kept] = steps->items[i];
            receipt->steps[kept++] = receipt->steps[i];
            continue;
        }
        left[run->left_out.count++] = steps->items[i];
        told[refused++] = receipt->steps[i];
    }
    if (moved) {
        memcpy(receipt->steps + kept, told, refused * sizeof(*told));
        steps->count = kept;
        deviation_sort(&run->left_out);
    }
    free(told);
    return moved;
}

void isolate_failed(struct run *run)
{
    for (size_t i = 0; i < run->steps.count; i++) {
        const struct receipt_step *told = report_step(run->out->receipt, i);
        if (told == NULL || told->problem[0] == '\0')
            continue;
        memcpy(run->failed_subject, run->steps.items[i].subject, PORT_ID_SIZE);
        return;
    }
}

static bool is_left(const struct isolate *isolate, const char *subject)
{
    for (size_t i = 0; i < isolate->count; i++)
        if (strcmp(isolate->subjects[i], subject) == 0)
            return true;
    return false;
}

void isolate_filter(const struct isolate *isolate, struct plan_steps *steps)
{
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (is_left(isolate, steps->items[i].subject))
            plan_step_release(&steps->items[i]);
        else
            steps->items[kept++] = steps->items[i];
    }
    steps->count = kept;
}

bool isolate_is_alone(const struct run *run)
{
    return isolate_applies(run) && run->out->receipt->result == RECEIPT_ROLLED_BACK &&
           run->failed_subject[0] != '\0';
}

bool isolate_add(struct isolate *isolate, const struct run *run)
{
    const struct receipt *receipt = run->out->receipt;
    bool others = false;
    for (size_t i = 0; i < run->steps.count; i++)
        others = others || strcmp(run->steps.items[i].subject, run->failed_subject) != 0;
    if (!isolate_is_alone(run) || !others || isolate->count == ISOLATE_MAX)
        return false;
    memcpy(isolate->subjects[isolate->count++], run->failed_subject, PORT_ID_SIZE);
    if (isolate->why[0] == '\0')
        memcpy(isolate->why, receipt->problem, sizeof(isolate->why));
    return true;
}

void isolate_tell(const struct isolate *isolate, struct run *run)
{
    struct receipt *receipt = run->out->receipt;
    bool refused = run->unread.code != ERR_OK || run->refused.code != ERR_OK;
    bool later = isolate->count > 0 || refused;
    if (receipt == NULL || (!later && run->closed[0] == '\0'))
        return;
    run->out->transient = run->out->transient || later;
    if (receipt->result == RECEIPT_UNCHANGED)
        receipt->result = isolate->count > 0 ? RECEIPT_ROLLED_BACK
                          : refused          ? RECEIPT_REFUSED
                                             : RECEIPT_QUARANTINED;
    report_problem(receipt, "%s",
                   isolate->count > 0            ? isolate->why
                   : run->unread.code != ERR_OK  ? run->unread.text
                   : run->refused.code != ERR_OK ? run->refused.text
                                                 : run->closed);
}
