/*
 * agent/recover.c - the life of a reconcile object, and what a crash left behind; see reconcile.h.
 */
#include <stdio.h>
#include <string.h>

#include "agent/origin.h"
#include "agent/reconcile_private.h"
#include "agent/report.h"
#include "agent/undo.h"
#include "base/log.h"
#include "base/text.h"

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

void outcome_release(struct outcome *outcome)
{
    receipt_free(outcome->receipt);
    json_decref(outcome->state);
    *outcome = (struct outcome){0};
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

void reconcile_save_left(struct reconcile *r, bool now)
{
    struct err err = ERR_INIT;
    int64_t since_ns = r->clock->mono_ns(r->clock) - r->confirm.saved_ns;
    if (r->confirm.state != CONFIRM_ARMED || (!now && since_ns < CONFIRM_SAVE_NS) ||
        reconcile_is_killed(r))
        return;
    if (confirm_save(&r->confirm, &err))
        log_error("agent", "node %s: the time that the trial has left cannot be saved: %s", r->node,
                  err.text);
}

static enum err_code load_trial(struct reconcile *r, struct err *err)
{
    r->confirm = (struct confirm){
        .state_dir = r->state_dir,
        .node = r->node,
        .boot = r->boot_id,
        .clock = r->clock,
    };
    enum err_code code = confirm_load(&r->confirm, r->good, err);
    int64_t left_ns = confirm_left_ns(&r->confirm);
    if (code != ERR_OK || left_ns < 0)
        return code;
    log_info("agent", "node %s: still on trial for rollout %s: back in %lld s unless confirmed",
             r->node, r->confirm.plan->confirm.rollout, (long long)(left_ns / NS_PER_S));
    reconcile_save_left(r, true); /* after a reboot: from now on this boot's deadline counts */
    return ERR_OK;
}

/* A boot that cannot be counted stops nothing. */
static enum err_code load_budget(struct reconcile *r, struct err *err)
{
    struct err why = ERR_INIT;
    r->budget = (struct budget){.state_dir = r->state_dir, .node = r->node, .clock = r->clock};
    if (budget_load(&r->budget, err))
        return err->code;
    const struct plan *standing = reconcile_standing(r);
    if (budget_boot(&r->budget, r->boot_id, standing == NULL ? "" : standing->digest, &r->rebooted,
                    &why))
        log_error("agent", "node %s: %s", r->node, why.text);
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
    state_init(&r->origin);
    enum err_code code = load_good(r, err);
    if (code == ERR_OK)
        code = load_trial(r, err);
    if (code == ERR_OK)
        code = origin_load(r->state_dir, r->node, r->clock, &r->origin, err);
    if (code == ERR_OK)
        code = load_budget(r, err);
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
    confirm_release(&r->confirm);
    plan_steps_release(&r->accepted);
    plan_steps_release(&r->watched);
    state_release(&r->origin);
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

const struct plan *reconcile_standing(const struct reconcile *r)
{
    return r->confirm.state == CONFIRM_ARMED ? r->confirm.plan : r->good;
}

void reconcile_known(const struct reconcile *r, char out[PLAN_TAG_SIZE])
{
    out[0] = '\0';
    if (r->latest != NULL)
        plan_tag(r->latest, out);
    else if (r->confirm.state != CONFIRM_NONE)
        memcpy(out, r->confirm.tag, PLAN_TAG_SIZE);
    else if (r->good != NULL)
        plan_tag(r->good, out);
}

bool reconcile_has_expired(const struct reconcile *r)
{
    return r->confirm.state == CONFIRM_EXPIRED;
}

int64_t reconcile_left_ns(const struct reconcile *r)
{
    return confirm_left_ns(&r->confirm);
}

bool reconcile_rebooted(struct reconcile *r)
{
    bool rebooted = r->rebooted;
    r->rebooted = false;
    return rebooted;
}

void reconcile_held(struct reconcile *r)
{
    budget_held(&r->budget);
}

void reconcile_order(struct reconcile *r, int64_t attempt)
{
    if (attempt == r->budget.attempt)
        return;
    if (attempt < r->budget.attempt) {
        log_warning("agent",
                    "node %s: the server's count of orders to try again went back from %lld to "
                    "%lld, as after a restore: this is none, the next one will be followed",
                    r->node, (long long)r->budget.attempt, (long long)attempt);
        budget_follow(&r->budget, attempt);
        return;
    }
    log_info("agent", "node %s: an operator wants it tried again", r->node);
    budget_release(&r->budget, attempt);
}

void reconcile_begin_anew(struct reconcile *r)
{
    budget_release(&r->budget, r->budget.attempt);
}

void reconcile_hold(struct reconcile *r, const char *device)
{
    text_copy(r->held, sizeof(r->held), device);
}

void reconcile_show(struct reconcile *r, bool show)
{
    r->show = show;
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

/* The undo of the journal is a try of its own, counted before it begins. False: not any more, or
 * not now; *out says why. */
static bool may_take_back(struct reconcile *r, const struct journal *journal, struct outcome *out,
                          enum err_code *out_code, struct err *err)
{
    struct err why = ERR_INIT;
    char text[ERR_TEXT_MAX];
    bool open = budget_allows(&r->budget, BUDGET_RECOVERY, journal->digest, text);
    if (open && budget_begin(&r->budget, BUDGET_RECOVERY, journal->digest, &why) == ERR_OK)
        return true;
    if (!open)
        (void)err_set(&why, ERR_UNAVAILABLE, "%s", text);
    else
        (void)err_context(&why, "the try to take a plan back cannot be counted");
    *out_code = tell_stuck(r, journal, &why, out, err);
    if (*out_code == ERR_OK && !open)
        out->receipt->result = RECEIPT_QUARANTINED;
    return false;
}

static enum err_code take_back(struct reconcile *r, const struct journal *journal,
                               struct outcome *out, struct err *err)
{
    OWN(plan) struct plan *view = NULL;
    struct err why = ERR_INIT;
    enum err_code code = ERR_OK;
    if (!may_take_back(r, journal, out, &code, err))
        return code;
    code = undo_view(r->node, &journal->steps, &view, &why);
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
        budget_good(&r->budget, BUDGET_RECOVERY);
        return ERR_OK;
    }
    (void)err_context(&why, "a plan that a crash cut short cannot be taken back");
    bool last = budget_failed(&r->budget, BUDGET_RECOVERY, why.text);
    code = tell_stuck(r, journal, &why, out, err);
    if (code == ERR_OK && last)
        out->receipt->result = RECEIPT_QUARANTINED;
    return code;
}

enum err_code reconcile_recover(struct reconcile *r, struct outcome *out, struct err *err)
{
    *out = (struct outcome){0};
    if (!r->unsettled)
        return ERR_OK;
    OWN_JOURNAL struct journal journal = {0};
    struct err why = ERR_INIT;
    enum err_code code = journal_read(r->state_dir, r->node, r->clock, &journal, &why);
    if (code == ERR_NOT_FOUND) {
        r->unsettled = false;
        return ERR_OK;
    }
    if (code != ERR_OK)
        return err_nomem(err);
    const struct plan *standing = reconcile_standing(r);
    bool forward = standing != NULL && strcmp(standing->digest, journal.digest) == 0;
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
