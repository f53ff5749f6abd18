#pragma once
/*
 * agent/settle.h - what of a plan that stands on the node is on disk from now on: the last good
 * plan, the trial, or that a trial expired. Called by reconcile once a pass succeeded.
 */

#include "agent/reconcile_private.h"

/* The latest plan returns the node from its trial: more goes back than the good plan's own knobs.
 */
bool settle_is_return(const struct reconcile *r);

/* r->latest stands for good: plan.json, then no trial. A plan that cannot be stored is still good;
 * the receipt says so. */
void settle_final(struct reconcile *r, struct receipt *receipt);

/* r->latest stands on trial. `done` brought it. After an error nothing is on trial that was not. */
ERR_MUST_CHECK enum err_code settle_trial(struct reconcile *r, const struct plan_steps *done,
                                          struct err *err);

/* The plan on trial is confirmed: r->latest, which is the same for good, takes its place. After an
 * error the trial goes on. */
ERR_MUST_CHECK enum err_code settle_confirmed(struct reconcile *r, struct err *err);

/* The node went back. */
void settle_expired(struct reconcile *r);
