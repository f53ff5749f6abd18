#pragma once
/*
 * agent/reconcile_private.h - the object behind reconcile.h, shared by reconcile.c (one pass),
 * look.c (what it observes), run.c (what it says and remembers), recover.c (its life, and what a
 * crash left) and settle.c (what is on disk once a plan stands).
 */

#include "agent/budget.h"
#include "agent/confirm.h"
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
    struct confirm confirm;     /* the plan on trial stands in good's place */
    struct plan *latest;        /* taken and not good (yet) */
    char held[PORT_ID_SIZE];    /* a device to be left alone; "" = none */
    struct plan_steps accepted; /* deviations of what stands that were told */
    struct plan_steps watched;  /* drift of its observe-only knobs that was told */
    struct state origin;        /* origin.json */
    bool origin_dirty;          /* it is not on disk */
    struct budget budget;
    bool show;     /* the state is wanted though it is good */
    bool rebooted; /* since the agent ran last; until it is told */
};

bool reconcile_is_killed(const struct reconcile *r);
enum err_code reconcile_killed(struct err *err); /* the error to leave with */

/* Removes the journal: the outcome is certain. */
void reconcile_settle(struct reconcile *r);
