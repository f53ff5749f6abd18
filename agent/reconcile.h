#pragma once
/*
 * agent/reconcile.h - makes the node what its plan says, or leaves it as it was. No network, no
 * timers: one call, one outcome. Blocking as dp.h says.
 */

#include <stdbool.h>

#include "agent/journal.h"
#include "base/clock.h"
#include "datapath/dp.h"
#include "fleet/plan.h"
#include "fleet/receipt.h"

#define PLAN_FILE "plan.json"

struct reconcile;

struct reconcile_config {
    const char *node;
    const char *state_dir; /* exists, writable */
    const char *boot_id;   /* differs after a reboot; "" = unknown: taken as the same boot */
    struct dp *dp;         /* borrowed */
    struct clock *clock;   /* borrowed */
    /* Test hook: asked after each call that changes node or disk; true = act as if killed here, and
     * true ever after. */
    bool (*killed)(void *arg);
    void *killed_arg;
};

enum reconcile_cause {
    RECONCILE_PLAN,   /* the latest plan taken: on success it becomes the last good one, or stands
                         on trial when it says so (plan.h) */
    RECONCILE_START,  /* what stands, after a start: what is missing is put back */
    RECONCILE_CHECK,  /* what stands, later: a difference is drift. Deviations and observe-only
                         drift that were told once are not told again */
    RECONCILE_RETURN, /* nobody confirmed the plan on trial: back to where the node was before */
};

struct outcome {
    struct receipt *receipt; /* owned; NULL = there was no plan */
    json_t *state;           /* owned; the node's state, when it is not the plan's or was asked
                                for by reconcile_show(); else NULL */
    bool transient;          /* not all was decided (unreadable, disk full): worth another try */
    bool repaired;           /* drift was taken back */
    int64_t found_ns;        /* monotonic, when drift was seen; 0 = none was */
    bool again;              /* knobs that were not touched differ now: check again soon */
};
void outcome_release(struct outcome *outcome);
#define OWN_OUTCOME __attribute__((cleanup(outcome_release)))

/* Copies the config's strings. Reads the last good plan; a file that does not read back, or is
 * another node's, is set aside. */
ERR_MUST_CHECK enum err_code reconcile_new(const struct reconcile_config *config,
                                           struct reconcile **out, struct err *err);
void reconcile_free(struct reconcile *reconcile); /* changes neither node nor disk */
OWN_DEFINE(reconcile, struct reconcile *, reconcile_free)

/* Borrowed; NULL = none. */
const struct plan *reconcile_good(const struct reconcile *reconcile);
/* The last one taken, when it did not come to stand. */
const struct plan *reconcile_latest(const struct reconcile *reconcile);
/* What the node is meant to be now: the plan on trial, else the last good one. */
const struct plan *reconcile_standing(const struct reconcile *reconcile);

/* plan_tag() of the last assignment that was dealt with, applied or not; "" = none. */
void reconcile_known(const struct reconcile *reconcile, char out[PLAN_TAG_SIZE]);
/* A trial expired and no other plan came since. */
bool reconcile_has_expired(const struct reconcile *reconcile);

/* How long the trial still has; -1 = nothing is on trial, 0 = it is over: RECONCILE_RETURN. */
int64_t reconcile_left_ns(const struct reconcile *reconcile);
/* Saves the time that is left, each CONFIRM_SAVE_NS, or at once with `now`. Errors are logged. */
void reconcile_save_left(struct reconcile *reconcile, bool now);

/* Takes over a plan of this node, to be run with RECONCILE_PLAN. */
void reconcile_take(struct reconcile *reconcile, struct plan *plan);

/* Whether the node booted since the agent ran last; true once. */
bool reconcile_rebooted(struct reconcile *reconcile);
/* What stands was held for BUDGET_HOLD_NS (budget.h) since the start. */
void reconcile_held(struct reconcile *reconcile);
/* The plan that came follows this order of an operator: a new one ends a quarantine. */
void reconcile_order(struct reconcile *reconcile, int64_t attempt);
/* What failed too often may be tried again. */
void reconcile_begin_anew(struct reconcile *reconcile);

/* CHECK passes neither read nor change the ports of this device (a port's id without "/PORT") until
 * told otherwise; "" = none. The caller begins no other pass and no reconcile_recover() until then.
 */
void reconcile_hold(struct reconcile *reconcile, const char *device);

/* Passes from now on give the node's state also when it is the plan's. */
void reconcile_show(struct reconcile *reconcile, bool show);

/*
 * A journal left behind: takes the node back to before that plan, unless it is the plan that stands
 * (then re-asserting goes forward). After a reboot only what outlives one is taken back.
 * Without a journal nothing happens. When it cannot be taken back: the receipt says "stuck", the
 * journal stays for the next try. To be called before START and CHECK; cheap when all is settled.
 */
ERR_MUST_CHECK enum err_code reconcile_recover(struct reconcile *reconcile, struct outcome *out,
                                               struct err *err);

/*
 * One pass. Whatever the node does is an outcome, not an error: errors are ours (no memory, or
 * the hook killed us). START and CHECK without a plan that stands, RETURN without a trial: an empty
 * outcome.
 */
ERR_MUST_CHECK enum err_code reconcile_run(struct reconcile *reconcile, enum reconcile_cause cause,
                                           struct outcome *out, struct err *err);
