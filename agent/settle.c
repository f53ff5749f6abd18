/*
 * agent/settle.c - see settle.h. The order on disk: plan.json, then confirm.json. A crash in
 * between leaves a trial whose base is another plan than plan.json: confirm_load() drops it.
 */
#include "agent/settle.h"

#include <string.h>

#include "agent/report.h"
#include "base/json.h"
#include "base/log.h"

bool settle_is_return(const struct reconcile *r)
{
    return r->latest != NULL && r->good != NULL && r->confirm.state == CONFIRM_ARMED &&
           strcmp(r->latest->digest, r->good->digest) == 0;
}

static enum err_code store_latest(const struct reconcile *r, struct err *err)
{
    OWN(json) json_t *document = plan_to_json(r->latest);
    return document == NULL ? err_nomem(err) : keep_write(r->state_dir, PLAN_FILE, document, err);
}

static void make_good(struct reconcile *r)
{
    plan_free(r->good);
    r->good = r->latest;
    r->latest = NULL;
}

static void end_trial(struct reconcile *r)
{
    struct err err = ERR_INIT;
    if (confirm_clear(&r->confirm, &err))
        log_error("agent", "node %s: the trial that ended stays on disk: %s", r->node, err.text);
}

void settle_final(struct reconcile *r, struct receipt *receipt)
{
    struct err err = ERR_INIT;
    if (store_latest(r, &err)) {
        log_error("agent", "node %s: the last good plan cannot be stored: %s", r->node, err.text);
        report_problem(receipt, "the last good plan cannot be stored: %s", err.text);
    }
    make_good(r);
    if (!reconcile_is_killed(r))
        end_trial(r);
}

enum err_code settle_trial(struct reconcile *r, const struct plan_steps *done, struct err *err)
{
    char rollout[NAME_SIZE];
    memcpy(rollout, r->latest->confirm.rollout, sizeof(rollout));
    int32_t timeout_s = r->latest->confirm.timeout_s;
    enum err_code code = confirm_arm(&r->confirm, &r->latest, r->good, done, err);
    if (code != ERR_OK)
        return err_context(err, "the trial's timer cannot be stored");
    log_info("agent", "node %s: on trial for rollout %s: back in %d s unless confirmed", r->node,
             rollout, (int)timeout_s);
    return ERR_OK;
}

enum err_code settle_confirmed(struct reconcile *r, struct err *err)
{
    if (store_latest(r, err))
        return err_context(err, "the confirmation cannot be stored; the trial goes on");
    log_info("agent", "node %s: rollout %s is confirmed", r->node,
             r->confirm.plan->confirm.rollout);
    make_good(r);
    if (!reconcile_is_killed(r))
        end_trial(r);
    return ERR_OK;
}

void settle_expired(struct reconcile *r)
{
    struct err err = ERR_INIT;
    if (confirm_expire(&r->confirm, &err))
        log_error("agent", "node %s: that the trial expired cannot be stored: %s", r->node,
                  err.text);
}
