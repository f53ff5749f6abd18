/*
 * agent/recover.c - the life of a reconcile object, and what a crash left behind; see reconcile.h.
 */
#include <stdio.h>
#include <string.h>

#include "agent/reconcile_private.h"
#include "agent/report.h"
#include "agent/undo.h"
#include "base/log.h"

bool reconcile_is_killed(const struct reconcile *r)
{
    return r->killed != NULL && r->killed(r->killed_arg);
}

enum err_code reconcile_killed(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "stopped in the middle of a plan");
}

void reconcile_settle(struct reconcile *r)
{
    struct err err = ERR_INIT;
    if (journal_remove(r->state_dir, &err))
        log_error("agent", "node %s: %s", r->node, err.text);
    else
        r->unsettled = false;
}

static bool names_subject(const struct plan *plan, const char *subject)
{
    for (size_t i = 0; i < plan->knob_count; i++)
        if (strcmp(plan->knobs[i].subject, subject) == 0)
            return true;
    return false;
}

static enum err_code add_copy(struct plan *plan, const struct plan_knob *knob, struct err *err)
{
    struct plan_knob copy = *knob;
    json_incref(copy.want);
    return plan_add(plan, &copy, err);
}

enum err_code reconcile_view(const struct plan *plan, const struct plan *good, struct plan **out,
                             struct err *err)
{
    OWN(plan) struct plan *merged = NULL;
    enum err_code code = ERR_OK;
    const char *last = ""; /* knobs of one subject stand together within a kind */
    for (size_t i = 0; good != NULL && good != plan && i < good->knob_count; i++) {
        const struct plan_knob *knob = &good->knobs[i];
        bool seen = strcmp(knob->subject, last) == 0;
        last = knob->subject;
        if (seen || names_subject(merged != NULL ? merged : plan, knob->subject))
            continue;
        if (merged == NULL)
            code = plan_new(plan->node, plan->generation, &merged, err);
        for (size_t k = 0; code == ERR_OK && merged->knob_count < plan->knob_count; k++)
            code = add_copy(merged, &plan->knobs[k], err);
        if (code == ERR_OK)
            code = add_copy(merged, knob, err);
        if (code != ERR_OK)
            return code;
    }
    if (merged != NULL)
        code = plan_seal(merged, err);
    if (code == ERR_OK)
        *out = GIVE(merged);
    return code;
}

static enum err_code load_good(struct reconcile *r, struct err *err)
{
    OWN(json) json_t *document = NULL;
    OWN(plan) struct plan *plan = NULL;
    struct err why = ERR_INIT;
    enum err_code code = keep_read(r->state_dir, PLAN_FILE, &document, &why);
    if (code == ERR_NOT_FOUND)
        return ERR_OK;
    if (code == ERR_OK)
        code = plan_from_json(document, &plan, &why);
    if (code == ERR_OK && strcmp(plan->node, r->node) != 0)
        code = err_set(&why, ERR_INVALID, "it is the plan of node %s", plan->node);
    if (code == ERR_NOMEM)
        return err_nomem(err);
    if (code != ERR_OK) {
        keep_set_aside(r->state_dir, PLAN_FILE, r->clock, &why);
        return ERR_OK;
    }
    r->good = GIVE(plan);
    return ERR_OK;
}

enum err_code reconcile_new(const struct reconcile_config *config, struct reconcile **out,
                            struct err *err)
{
    if (strlen(config->state_dir) >= KEEP_PATH_MAX)
        return err_set(err, ERR_LIMIT, "the state folder's path is too long");
    OWN(reconcile) struct reconcile *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return err_nomem(err);
    snprintf(r->node, sizeof(r->node), "%s", config->node);
    snprintf(r->state_dir, sizeof(r->state_dir), "%s", config->state_dir);
    snprintf(r->boot_id, sizeof(r->boot_id), "%s", config->boot_id);
    r->dp = config->dp;
    r->clock = config->clock;
    r->killed = config->killed;
    r->killed_arg = config->killed_arg;
    r->unsettled = true;
    enum err_code code = load_good(r, err);
    if (code == ERR_OK)
        *out = GIVE(r);
    return code;
}

void reconcile_free(struct reconcile *r)
{
    if (r == NULL)
        return;
    plan_free(r->good);
    plan_free(r->latest);
    plan_steps_release(&r->accepted);
    plan_steps_release(&r->watched);
    free(r);
}

const struct plan *reconcile_good(const struct reconcile *r)
{
    return r->good;
}

const struct plan *reconcile_latest(const struct reconcile *r)
{
    return r->latest;
}

void reconcile_take(struct reconcile *r, struct plan *plan)
{
    plan_free(r->latest);
    r->latest = plan;
}

/* After a reboot the kernel has forgotten what is live; only files and the like are still changed.
 */
static void drop_live_steps(struct plan_steps *steps)
{
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->items[i].kind->view == KNOB_VIEW_NEXT_BOOT)
            steps->items[kept++] = steps->items[i];
        else
            plan_step_release(&steps->items[i]);
    }
    steps->count = kept;
}

static enum err_code tell_stuck(const struct reconcile *r, const struct journal *journal,
                                const struct err *why, struct outcome *out, struct err *err)
{
    enum err_code code = report_refused(r->node, journal->generation, journal->digest, r->clock,
                                        why, &out->receipt, err);
    if (code == ERR_OK)
        code = report_steps(out->receipt, &journal->steps, false, err);
    if (code == ERR_OK)
        out->receipt->result = RECEIPT_STUCK;
    else
        outcome_release(out);
    return code;
}

static enum err_code take_back(struct reconcile *r, const struct journal *journal,
                               struct outcome *out, struct err *err)
{
    OWN(plan) struct plan *view = NULL;
    struct err why = ERR_INIT;
    enum err_code code = undo_view(r->node, &journal->steps, &view, &why);
    if (code == ERR_NOMEM)
        return err_nomem(err);
    if (code != ERR_OK) { /* steps that no plan of ours has: not written by us */
        keep_set_aside(r->state_dir, JOURNAL_FILE, r->clock, &why);
        r->unsettled = false;
        return ERR_OK;
    }
    struct undo undo = {
        .dp = r->dp,
        .view = view,
        .steps = &journal->steps,
        .count = journal->steps.count,
        .killed = r->killed,
        .killed_arg = r->killed_arg,
    };
    code = undo_run(&undo, &why);
    if (reconcile_is_killed(r))
        return reconcile_killed(err);
    if (code == ERR_OK) {
        log_info("agent", "node %s: generation %lld was taken back", r->node,
                 (long long)journal->generation);
        reconcile_settle(r);
        return ERR_OK;
    }
    (void)err_context(&why, "a plan that a crash cut short cannot be taken back");
    return tell_stuck(r, journal, &why, out, err);
}

enum err_code reconcile_recover(struct reconcile *r, struct outcome *out, struct err *err)
{
    *out = (struct outcome){0};
    if (!r->unsettled)
        return ERR_OK;
    OWN_JOURNAL struct journal journal = {0};
    struct err why = ERR_INIT;
    enum err_code code = journal_read(r->state_dir, r->clock, &journal, &why);
    if (code == ERR_NOT_FOUND) {
        r->unsettled = false;
        return ERR_OK;
    }
    if (code != ERR_OK)
        return err_nomem(err);
    bool forward = r->good != NULL && strcmp(r->good->digest, journal.digest) == 0;
    bool rebooted =
        journal.boot[0] != '\0' && r->boot_id[0] != '\0' && strcmp(journal.boot, r->boot_id) != 0;
    log_warning("agent", "node %s: stopped in the middle of generation %lld; going %s", r->node,
                (long long)journal.generation, forward ? "forward" : "back");
    if (rebooted)
        drop_live_steps(&journal.steps);
    if (forward) {
        reconcile_settle(r);
        return ERR_OK;
    }
    return take_back(r, &journal, out, err);
}
