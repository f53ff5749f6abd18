#pragma once
/*
 * agent/reconcile_private.h - the object behind reconcile.h, shared by reconcile.c (one pass) and
 * recover.c (its life, and what a crash left).
 */

#include "agent/keep.h"
#include "agent/reconcile.h"

struct reconcile {
    char node[NAME_SIZE];
    char state_dir[KEEP_PATH_MAX];
    char boot_id[BOOT_ID_SIZE];
    struct dp *dp;
    struct clock *clock;
    bool (*killed)(void *arg);
    void *killed_arg;
    bool unsettled;             /* a journal may be on disk that is not of the running pass */
    struct plan *good;          /* plan.json */
    struct plan *latest;        /* taken and not good (yet) */
    struct plan_steps accepted; /* deviations of good that were told */
    struct plan_steps watched;  /* drift of good's observe-only knobs that was told */
};

bool reconcile_is_killed(const struct reconcile *r);
enum err_code reconcile_killed(struct err *err); /* the error to leave with */

/* Removes the journal: the outcome is certain. */
void reconcile_settle(struct reconcile *r);

/*
 * What to observe for `plan` when the node is at `good` (may be NULL): also the subjects that only
 * good names, so that what we left there is seen and removed. *out = NULL: plan itself will do.
 */
ERR_MUST_CHECK enum err_code reconcile_view(const struct plan *plan, const struct plan *good,
                                            struct plan **out, struct err *err);
