/*
 * agent/run.c - see run.h.
 */
#include "agent/run.h"

#include <stdio.h>
#include <string.h>

#include "agent/deviation.h"
#include "agent/isolate.h"
#include "agent/origin.h"
#include "agent/report.h"
#include "base/log.h"

enum err_code run_refuse(struct run *run, const struct err *why, bool transient)
{
    struct receipt *receipt = run->out->receipt;
    bool drift = run->cause == RECONCILE_CHECK && run->steps.count > 0;
    receipt->result = drift ? RECEIPT_DRIFT : RECEIPT_REFUSED;
    report_problem(receipt, "%s%s", drift ? "not repaired: " : "", why->text);
    run->out->transient = transient;
    return ERR_OK;
}

enum err_code run_tell_state(struct run *run, const struct state *state, struct err *err)
{
    struct receipt *receipt = run->out->receipt;
    const struct plan *meant = run->plan;
    if (run->back != NULL)
        meant = run->r->good != NULL ? run->r->good : run->r->confirm.plan;
    enum err_code code = plan_observed_digest(meant, state, receipt->observed, err);
    if (code != ERR_OK)
        return code;
    bool same = strcmp(receipt->observed, meant->digest) == 0 && run->watched.count == 0;
    if (same && receipt->result != RECEIPT_DRIFT && !run->r->show)
        return ERR_OK;
    struct state told = *state; /* its knobs are borrowed */
    memcpy(told.of.digest, receipt->digest, sizeof(told.of.digest));
    told.of.generation = receipt->generation;
    told.of.time_us = receipt->time_us;
    json_decref(run->out->state);
    run->out->state = state_to_json(&told);
    return run->out->state == NULL ? err_nomem(err) : ERR_OK;
}

enum err_code run_tell_watched(struct run *run, struct err *err)
{
    struct reconcile *r = run->r;
    if (run->cause == RECONCILE_CHECK && deviation_same(&run->watched, &r->watched))
        return ERR_OK;
    struct receipt *receipt = run->out->receipt;
    size_t first = receipt->step_count;
    enum err_code code = report_steps(receipt, &run->watched, true, err);
    if (code != ERR_OK)
        return code;
    report_writers(receipt, r->dp, &run->watched, first);
    for (size_t i = first; i < receipt->step_count; i++)
        snprintf(receipt->steps[i].problem, sizeof(receipt->steps[i].problem),
                 "observe only: not repaired");
    plan_steps_release(&r->watched);
    r->watched = run->watched;
    run->watched = (struct plan_steps){0};
    if (r->watched.count > 0 && run->cause == RECONCILE_CHECK &&
        receipt->result == RECEIPT_UNCHANGED)
        receipt->result = RECEIPT_DRIFT;
    return ERR_OK;
}

void run_tell_deviation(struct run *run, const struct plan_step *left)
{
    for (size_t i = 0; i < run->steps.count; i++) {
        const struct plan_step *step = &run->steps.items[i];
        if (knob_compare(step->kind, step->subject, step->id, left->kind, left->subject,
                         left->id) != 0)
            continue;
        char text[ERR_TEXT_MAX];
        deviation_describe(left, text, sizeof(text));
        report_problem(run->out->receipt, "%s", text);
        struct receipt_step *told = report_step(run->out->receipt, i);
        if (told != NULL)
            memcpy(told->problem, text, sizeof(told->problem));
        return;
    }
}

static void leave_out(struct run *run, struct plan_step *step, const struct err *why)
{
    char name[256];
    plan_step_describe(step, name, sizeof(name));
    report_problem(run->out->receipt,
                   "%s: no plan names it any more, and it cannot be given back: %.300s", name,
                   why->text);
    run->left_out.items[run->left_out.count++] = *step;
}

enum err_code run_drop_refused(struct run *run, struct err *err)
{
    const struct reconcile *r = run->r;
    size_t kept = 0;
    if (r->origin.knob_count == 0 || run->steps.count == 0 || run->back != NULL)
        return ERR_OK;
    run->left_out.items = calloc(run->steps.count, sizeof(*run->left_out.items));
    if (run->left_out.items == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < run->steps.count; i++) {
        struct plan_step *step = &run->steps.items[i];
        struct err why = ERR_INIT;
        if (origin_is_return(&r->origin, run->plan, step) && dp_check(r->dp, step, &why) != ERR_OK)
            leave_out(run, step, &why);
        else
            run->steps.items[kept++] = *step;
    }
    run->steps.count = kept;
    return ERR_OK;
}

static void save_origin(struct reconcile *r)
{
    struct err err = ERR_INIT;
    if (!r->origin_dirty)
        return;
    if (origin_save(r->state_dir, r->node, &r->origin, &err))
        log_error("agent", "node %s: %s cannot be stored: %s", r->node, ORIGIN_FILE, err.text);
    else
        r->origin_dirty = false;
}

enum err_code run_learn(struct run *run, struct err *err)
{
    struct reconcile *r = run->r;
    bool news = false;
    if (run->cause != RECONCILE_PLAN || run->back != NULL)
        return ERR_OK;
    struct origin_plans stood = {.good = r->good, .trial = r->confirm.plan};
    enum err_code code = origin_learn(&r->origin, run->plan, &stood, &run->before, &news, err);
    r->origin_dirty = r->origin_dirty || news;
    if (code == ERR_OK && r->origin_dirty)
        code = origin_save(r->state_dir, r->node, &r->origin, err);
    if (code != ERR_OK)
        return err_context(err, "what the knobs were before cannot be stored");
    r->origin_dirty = false;
    return ERR_OK;
}

void run_forget_trial(struct run *run)
{
    struct reconcile *r = run->r;
    struct origin_plans stood = {.good = r->good, .trial = r->confirm.plan};
    if (run->back != NULL && origin_forget_trial(&r->origin, &stood))
        r->origin_dirty = true;
}

void run_forget(struct run *run, const struct plan_steps *done, const struct state *state)
{
    struct reconcile *r = run->r;
    struct origin_plans stand = {.good = r->good, .trial = r->confirm.plan};
    if (origin_forget(&r->origin, &stand, done, state))
        r->origin_dirty = true;
    save_origin(r);
}

/* Budget -------------------------------------------------------------------------------------- */

static enum budget_of budget_of(const struct run *run)
{
    return run->cause == RECONCILE_PLAN ? BUDGET_PLAN : BUDGET_STANDING;
}

/* Of the plan that is tried; a way back that was asked for is known by the plan that will stand. */
static const char *tried_digest(const struct run *run)
{
    bool asked_back = run->cause == RECONCILE_PLAN && run->back != NULL;
    return asked_back ? run->r->latest->digest : run->plan->digest;
}

bool run_is_closed(struct run *run)
{
    char why[ERR_TEXT_MAX];
    if (run->cause == RECONCILE_RETURN || (run->cause == RECONCILE_PLAN && run->steps.count == 0) ||
        run->isolate->count > 0) /* within a pass that is a try already */
        return false;
    if (budget_allows(&run->r->budget, budget_of(run), tried_digest(run), why))
        return false;
    run->out->receipt->result = RECEIPT_QUARANTINED;
    report_problem(run->out->receipt, "%s", why);
    return true;
}

void run_drop_closed(struct run *run, struct plan_steps *steps)
{
    size_t kept = 0;
    if (!isolate_applies(run))
        return;
    for (size_t i = 0; i < steps->count; i++) {
        struct plan_step *step = &steps->items[i];
        char why[ERR_TEXT_MAX];
        if (budget_allows_subject(&run->r->budget, run->plan->digest, step->subject, why)) {
            steps->items[kept++] = *step;
            continue;
        }
        if (run->closed[0] == '\0')
            memcpy(run->closed, why, sizeof(run->closed));
        plan_step_release(step);
    }
    steps->count = kept;
}

enum err_code run_begin(struct run *run, struct err *err)
{
    if (run->cause == RECONCILE_RETURN)
        return ERR_OK;
    run->tried = run->isolate->count > 0; /* a pass is one try, however often it begins again */
    if (run->tried)
        return ERR_OK;
    if (budget_begin(&run->r->budget, budget_of(run), tried_digest(run), err))
        return err_context(err, "the try cannot be counted");
    run->tried = true;
    return ERR_OK;
}

/* True: that was the last try, of the plan or of the subject on which this pass ends. */
static bool fail(struct run *run)
{
    struct budget *budget = &run->r->budget;
    const char *why = run->out->receipt->problem;
    bool last = false;
    if (isolate_is_alone(run) &&
        budget_subject_failed(budget, tried_digest(run), run->failed_subject, why, &last)) {
        if (!run->again)
            budget_good(budget, budget_of(run));
        return last && !run->again;
    }
    return !run->again && budget_failed(budget, budget_of(run), why);
}

static void succeed(struct run *run)
{
    if (run->tried && isolate_applies(run))
        for (size_t i = 0; i < run->steps.count; i++)
            budget_subject_good(&run->r->budget, run->steps.items[i].subject);
    budget_good(&run->r->budget, budget_of(run));
}

void run_end(struct run *run)
{
    struct reconcile *r = run->r;
    struct receipt *receipt = run->out->receipt;
    /* A plan that the node is already at ends what another one failed at: that one is new again. */
    if (!run->tried && run->cause == RECONCILE_PLAN && receipt->result == RECEIPT_UNCHANGED &&
        r->budget.tries[BUDGET_PLAN].count > 0)
        budget_good(&r->budget, BUDGET_PLAN);
    if (!run->tried && run->isolate->count == 0)
        return;
    if (receipt->result != RECEIPT_ROLLED_BACK && receipt->result != RECEIPT_STUCK) {
        succeed(run);
        return;
    }
    if (!fail(run))
        return;
    char why[ERR_TEXT_MAX];
    memcpy(why, receipt->problem, sizeof(why));
    snprintf(receipt->problem, sizeof(receipt->problem),
             "quarantined after %d tries in a row; the last is %s: %.380s", BUDGET_TRIES,
             receipt_result_name(receipt->result), why);
    receipt->result = RECEIPT_QUARANTINED;
}
