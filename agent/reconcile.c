/*
 * agent/reconcile.c - one pass from what a node is to what its plan says. Called by agent.c.
 *
 *        plan (latest: just came | trial or good: re-assert, check | back from a trial)
 *          |
 *          v                 unreadable (what stands: and nothing else to be done)
 *      [ observe ]---------------------------------------> refused (transient: tried again)
 *          | state "before"
 *          v
 *      [ plan_diff ] - what earlier deviations explain
 *          |         + values from before of knobs that the plan drops (origin.h)
 *          | steps                no steps
 *          |---------------------------------------------> unchanged
 *          v                 it failed too often (budget.h)
 *      [ may it be tried? ]------------------------------> quarantined
 *          v                 any step unsupported (what stands: all of them)
 *      [ check every step ]------------------------------> refused, every one of them named
 *          |
 *          v                 disk full, ...
 *      [ origin.json, durable  ]
 *      [ journal.json, durable ]-------------------------> refused (transient)
 *          |
 *  ========|========== from here on the node changes; a crash is settled by reconcile_recover ====
 *          v                 the first that fails
 *      [ apply step 1..n ]------------------+
 *          | all done                       |
 *          v            differs and strict  v
 *      [ observe again ]--------------> [ undo in reverse ]
 *          | equal, or differs              |
 *          | without strict:                v
 *          | a deviation, told      [ observe: as before? ]
 *          v                          | yes           | no
 *      [ plan.json, or        ]       v               v
 *      [ confirm.json: durable]       |               |
 *      [ journal removed ]     [ journal removed ]  journal stays
 *          |                          |               |
 *          v                          v               v
 *       applied (drift)          rolled-back        stuck: a person; the next check and the
 *                                                   next start try again
 *
 * What stands is re-asserted around what fails (isolate.h): a knob that cannot be read or is
 * refused is gone on without, a port that failed and was rolled back is left out of another
 * attempt, one that failed too often out of every pass.
 *
 * The order on disk makes every crash safe: the journal before the first change, plan.json or
 * confirm.json (a plan on trial) before the journal goes. A journal whose plan is the one that
 * stands (confirm.json's, else plan.json's) means "forward": the plan is re-asserted. On the way
 * back from a trial the journal goes first: until confirm.json says "expired", the way back is
 * begun again.
 */
#include "agent/reconcile.h"

#include <stdio.h>
#include <string.h>

#include "agent/apply.h"
#include "agent/deviation.h"
#include "agent/fallback.h"
#include "agent/hold.h"
#include "agent/isolate.h"
#include "agent/keep.h"
#include "agent/look.h"
#include "agent/origin.h"
#include "agent/report.h"
#include "agent/run.h"
#include "agent/settle.h"
#include "agent/undo.h"
#include "base/log.h"

static void run_release(struct run *run)
{
    plan_free(run->merged);
    plan_free(run->back);
    state_release(&run->before);
    state_release(&run->after);
    plan_steps_release(&run->steps);
    plan_steps_release(&run->watched);
    plan_steps_release(&run->left_out);
}

/* What cannot be told of, or is in quarantine, is gone on without; the run knows the first. */
static enum err_code diff(struct run *run, const struct state *state, struct plan_steps *out,
                          struct err *err)
{
    const struct reconcile *r = run->r;
    OWN(plan) struct plan *readable = NULL;
    if (run->back != NULL)
        return fallback_diff(run->plan, r->good, &r->confirm.undo, state, out, err);
    enum err_code code = ERR_OK;
    if (isolate_applies(run) && !isolate_is_blind(&run->steps, state))
        code = isolate_readable(run->plan, state, &readable, &run->unread, err);
    if (code == ERR_OK)
        code = plan_diff(readable != NULL ? readable : run->plan, state, out, err);
    if (code == ERR_OK)
        code = origin_diff(&r->origin, run->plan, state, out, err);
    hold_filter(out, r->held);
    isolate_filter(run->isolate, out);
    run_drop_closed(run, out);
    deviation_filter(out, &run->left_out);
    return code;
}

/* Observe and diff. *out_refused: the receipt says why it ends here. */
static enum err_code look(struct run *run, bool *out_refused, struct err *err)
{
    struct reconcile *r = run->r;
    enum err_code code = look_view(r, run->plan, run->back != NULL, &run->merged, err);
    if (code != ERR_OK)
        return code;
    run->view = run->merged != NULL ? run->merged : run->plan;
    struct err why = ERR_INIT;
    code = dp_observe(r->dp, run->view, &run->before, &why);
    if (code == ERR_OK)
        code = diff(run, &run->before, &run->steps, &why);
    *out_refused = code != ERR_OK;
    if (*out_refused)
        return run_refuse(run, &why, true);
    if (run->cause == RECONCILE_CHECK)
        deviation_filter(&run->steps, &r->accepted);
    *out_refused = run->unread.code != ERR_OK && run->steps.count == 0;
    if (*out_refused)
        return run_refuse(run, &run->unread, true);
    code = run_drop_refused(run, err);
    if (code != ERR_OK)
        return code;
    code = deviation_watched(run->plan, &run->before, &run->watched, err);
    hold_filter(&run->watched, r->held);
    if (run->cause == RECONCILE_CHECK && run->steps.count + run->watched.count > 0)
        run->out->found_ns = r->clock->mono_ns(r->clock);
    return code;
}

/* The plan is what the node is now. On an error it must not be: the receipt cannot promise that the
 * node will come back. */
static enum err_code stand(struct run *run, struct err *err)
{
    struct reconcile *r = run->r;
    if (run->cause == RECONCILE_RETURN) {
        reconcile_settle(r); /* first: its journal is of no plan that will stand on disk */
        if (!reconcile_is_killed(r))
            settle_expired(r);
        return ERR_OK;
    }
    if (run->cause != RECONCILE_PLAN || r->latest == NULL)
        return ERR_OK;
    bool nothing_new = r->good != NULL && strcmp(r->good->digest, r->latest->digest) == 0;
    if (!plan_is_final(r->latest) && !nothing_new)
        return settle_trial(r, &run->steps, err);
    settle_final(r, run->out->receipt);
    return ERR_OK;
}

static enum err_code nothing_to_do(struct run *run, struct err *err)
{
    struct reconcile *r = run->r;
    enum err_code code = run_tell_watched(run, err);
    if (code == ERR_OK)
        code = run_tell_state(run, &run->before, err);
    if (code != ERR_OK)
        return code;
    if (run->cause != RECONCILE_CHECK) /* nothing deviates */
        plan_steps_release(&r->accepted);
    struct err why = ERR_INIT;
    code = run_learn(run, &why);
    run_forget_trial(run);
    if (code == ERR_OK && !reconcile_is_killed(r))
        code = stand(run, &why);
    if (reconcile_is_killed(r))
        return reconcile_killed(err);
    if (code != ERR_OK)
        return run_refuse(run, &why, true);
    if (run->cause == RECONCILE_RETURN)
        report_expired(run->out->receipt, r->good != NULL);
    run_forget(run, &run->steps, &run->before);
    return ERR_OK;
}

static struct apply apply_of(const struct run *run)
{
    return (struct apply){
        .dp = run->r->dp,
        .steps = &run->steps,
        .receipt = run->out->receipt,
        .killed = run->r->killed,
        .killed_arg = run->r->killed_arg,
    };
}

/*
 * Reads back. ERR_OK: the node is what was written, or deviates where the plan allows it;
 * *out_strict: it deviates where the plan does not.
 */
static enum err_code read_back(struct run *run, bool *out_strict, struct err *err)
{
    struct reconcile *r = run->r;
    OWN_STEPS struct plan_steps left = {0};
    struct err why = ERR_INIT;
    enum err_code code = dp_observe(r->dp, run->view, &run->after, &why);
    if (code == ERR_OK)
        code = diff(run, &run->after, &left, &why);
    if (code != ERR_OK) {
        report_problem(run->out->receipt, "written, but not read back: %s", why.text);
        for (size_t i = 0; i < run->steps.count; i++)
            *out_strict = *out_strict || run->steps.items[i].strict;
        run->out->again = true;
        return ERR_OK;
    }
    run->has_after = true;
    for (size_t i = 0; i < left.count; i++) {
        if (left.items[i].strict && !*out_strict)
            memcpy(run->failed_subject, left.items[i].subject, PORT_ID_SIZE);
        *out_strict = *out_strict || left.items[i].strict;
    }
    static const struct plan_steps none = {0};
    size_t others;
    char text[ERR_TEXT_MAX];
    code = deviation_split(&left, &run->steps, run->cause == RECONCILE_CHECK ? &r->accepted : &none,
                           &others, text, err);
    if (code != ERR_OK)
        return code;
    for (size_t i = 0; i < left.count; i++)
        run_tell_deviation(run, &left.items[i]);
    if (others > 0)
        report_problem(run->out->receipt, "%.400s (knobs that were not touched and differ: %zu)",
                       text, others);
    run->out->again = others > 0;
    if (*out_strict)
        return ERR_OK;
    plan_steps_release(&r->accepted);
    r->accepted = left;
    left = (struct plan_steps){0};
    return ERR_OK;
}

static enum err_code roll_back(struct run *run, size_t begun, struct err *err)
{
    struct reconcile *r = run->r;
    struct receipt *receipt = run->out->receipt;
    struct undo undo = {
        .dp = r->dp,
        .view = run->view,
        .steps = &run->steps,
        .count = begun,
        .receipt = receipt,
        .killed = r->killed,
        .killed_arg = r->killed_arg,
    };
    struct err why = ERR_INIT;
    enum err_code code = undo_run(&undo, &why);
    if (reconcile_is_killed(r))
        return reconcile_killed(err);
    state_release(&run->after);
    if (code == ERR_OK)
        code = dp_observe(r->dp, run->view, &run->after, &why);
    bool back = code == ERR_OK && look_is_same(run->plan, &run->before, &run->after, &why);
    receipt->result = back ? RECEIPT_ROLLED_BACK : RECEIPT_STUCK;
    if (back) {
        static const struct plan_steps none = {0};
        reconcile_settle(r);
        run_forget(run, &none, &run->after);
        return run_tell_state(run, &run->after, err);
    }
    /* Both stand in the problem: why it failed and why it is stuck. */
    char first[ERR_TEXT_MAX];
    memcpy(first, receipt->problem, sizeof(first));
    snprintf(receipt->problem, sizeof(receipt->problem), "%.250s; %.250s", first, why.text);
    state_release(&run->after);
    if (dp_observe(r->dp, run->view, &run->after, NULL) == ERR_OK)
        return run_tell_state(run, &run->after, err);
    return ERR_OK;
}

static enum err_code settle_good(struct run *run, struct err *err)
{
    struct reconcile *r = run->r;
    struct receipt *receipt = run->out->receipt;
    struct err why = ERR_INIT;
    bool drift = run->cause == RECONCILE_CHECK;
    receipt->result = drift ? RECEIPT_DRIFT : RECEIPT_APPLIED;
    run->out->repaired = drift;
    enum err_code code = run_tell_watched(run, err);
    if (code == ERR_OK && run->has_after)
        code = run_tell_state(run, &run->after, err);
    if (code != ERR_OK)
        return code;
    run_forget_trial(run);
    code = stand(run, &why);
    if (reconcile_is_killed(r))
        return reconcile_killed(err);
    if (code != ERR_OK) {
        report_problem(receipt, "%s", why.text);
        return roll_back(run, run->steps.count, err);
    }
    if (run->cause == RECONCILE_RETURN)
        report_expired(run->out->receipt, r->good != NULL);
    reconcile_settle(r);
    if (!reconcile_is_killed(r))
        run_forget(run, &run->steps, &run->after);
    return ERR_OK;
}

static enum err_code change_node(struct run *run, struct err *err)
{
    struct reconcile *r = run->r;
    struct err why = ERR_INIT;
    /* Of a way back that was asked for: its digest is the plan's that will stand. */
    const struct plan *plan = run->cause == RECONCILE_PLAN && run->back ? r->latest : run->plan;
    if (run_learn(run, &why)) {
        err_context(&why, "nothing was changed");
        return run_refuse(run, &why, true);
    }
    if (reconcile_is_killed(r))
        return reconcile_killed(err);
    if (journal_write(r->state_dir, plan, r->boot_id, &run->steps, &why)) {
        err_context(&why, "nothing was changed, the journal cannot be written");
        return run_refuse(run, &why, true);
    }
    r->unsettled = true;
    if (reconcile_is_killed(r))
        return reconcile_killed(err);
    if (run_begin(run, &why)) {
        reconcile_settle(r);
        return run_refuse(run, &why, true);
    }
    size_t begun = 0;
    struct err failed = ERR_INIT;
    const struct apply apply = apply_of(run);
    if (!apply_run(&apply, &begun, &failed))
        return reconcile_killed(err);
    if (failed.code != ERR_OK) {
        isolate_failed(run);
        return roll_back(run, begun, err);
    }
    bool strict = false;
    enum err_code code = read_back(run, &strict, err);
    if (code != ERR_OK)
        return code;
    return strict ? roll_back(run, begun, err) : settle_good(run, err);
}

static enum err_code one_pass(struct run *run, struct err *err)
{
    bool refused = false;
    enum err_code code = look(run, &refused, err);
    if (code != ERR_OK || refused)
        return code;
    if (run_is_closed(run)) {
        code = report_steps(run->out->receipt, &run->steps, run->cause == RECONCILE_CHECK, err);
        return code == ERR_OK ? run_tell_state(run, &run->before, err) : code;
    }
    if (run->steps.count == 0)
        return nothing_to_do(run, err);
    bool drift = run->cause == RECONCILE_CHECK;
    code = report_steps(run->out->receipt, &run->steps, drift, err);
    if (code != ERR_OK)
        return code;
    if (drift)
        report_writers(run->out->receipt, run->r->dp, &run->steps, 0);
    struct err why = ERR_INIT;
    const struct apply apply = apply_of(run);
    bool fine = apply_check(&apply, &why);
    if (!fine && isolate_applies(run) && isolate_refused(run)) {
        run->refused = why;
        fine = true;
    }
    if (fine)
        return change_node(run, err);
    code = run_tell_state(run, &run->before, err);
    return code == ERR_OK ? run_refuse(run, &why, false) : code;
}

/* The latest plan is the one on trial, for good: no matter what the pass over it will find. */
static enum err_code confirm(struct run *run, bool *out_refused, struct err *err)
{
    struct reconcile *r = run->r;
    struct err why = ERR_INIT;
    if (run->cause != RECONCILE_PLAN || r->confirm.state != CONFIRM_ARMED ||
        !plan_is_final(r->latest) || strcmp(r->latest->digest, r->confirm.plan->digest) != 0)
        return ERR_OK;
    enum err_code code = settle_confirmed(r, &why);
    *out_refused = code != ERR_OK;
    if (*out_refused)
        return run_refuse(run, &why, true);
    run->plan = r->good;
    return reconcile_is_killed(r) ? reconcile_killed(err) : ERR_OK;
}

/* The plan of this run; NULL = there is none. */
static enum err_code choose(struct run *run, struct err *err)
{
    struct reconcile *r = run->r;
    if (run->cause != RECONCILE_RETURN)
        run->plan = run->cause == RECONCILE_PLAN ? r->latest : reconcile_standing(r);
    if (run->cause == RECONCILE_RETURN ? r->confirm.state != CONFIRM_ARMED
                                       : run->cause != RECONCILE_PLAN || !settle_is_return(r))
        return ERR_OK;
    if (run->cause == RECONCILE_RETURN)
        reconcile_save_left(r, true); /* none: a crash or reboot on the way goes on back */
    if (reconcile_is_killed(r))
        return reconcile_killed(err);
    enum err_code code = fallback_plan(r->node, r->good, &r->confirm.undo, &run->back, err);
    run->plan = run->back;
    return code;
}

static enum err_code one_run(struct run *run, struct err *err)
{
    struct reconcile *r = run->r;
    bool refused = false;
    const struct plan *told = run->back == NULL                ? run->plan
                              : run->cause == RECONCILE_RETURN ? r->confirm.plan
                                                               : r->latest;
    enum err_code code = report_new(told, r->clock, &run->out->receipt, err);
    if (code == ERR_OK)
        code = confirm(run, &refused, err);
    if (code == ERR_OK && !refused)
        code = one_pass(run, err);
    struct receipt *receipt = run->out->receipt;
    if (code == ERR_OK)
        receipt->apply_ns = r->clock->mono_ns(r->clock) - run->start_ns;
    run->again = code == ERR_OK && isolate_add(run->isolate, run);
    if (code == ERR_OK)
        run_end(run);
    if (code != ERR_OK || run->cause != RECONCILE_RETURN || receipt->result == RECEIPT_EXPIRED)
        return code;
    char why[ERR_TEXT_MAX];
    memcpy(why, receipt->problem, sizeof(why));
    snprintf(receipt->problem, sizeof(receipt->problem),
             "nobody confirmed rollout %s in time, and the way back failed: %.380s",
             receipt->rollout, why);
    return ERR_OK;
}

/* *out_again: a subject failed and was added to isolate; the others are still to be done. */
static enum err_code attempt(struct reconcile *r, enum reconcile_cause cause,
                             struct isolate *isolate, struct outcome *out, bool *out_again,
                             struct err *err)
{
    *out = (struct outcome){0};
    struct run run = {.r = r, .cause = cause, .out = out, .isolate = isolate};
    state_init(&run.before);
    state_init(&run.after);
    run.start_ns = r->clock->mono_ns(r->clock);
    enum err_code code = choose(&run, err);
    if (code == ERR_OK && run.plan != NULL)
        code = one_run(&run, err);
    *out_again = run.again;
    if (code == ERR_OK && !*out_again)
        isolate_tell(isolate, &run);
    if (code != ERR_OK || *out_again)
        outcome_release(out);
    run_release(&run);
    return code;
}

enum err_code reconcile_run(struct reconcile *r, enum reconcile_cause cause, struct outcome *out,
                            struct err *err)
{
    struct isolate isolate = {0};
    bool again = true;
    enum err_code code = ERR_OK;
    while (code == ERR_OK && again)
        code = attempt(r, cause, &isolate, out, &again, err);
    return code;
}
