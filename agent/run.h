#pragma once
/*
 * agent/run.h - one pass of reconcile, and what its receipt says. Shared by reconcile.c, run.c and
 * isolate.c alone.
 */

#include "agent/reconcile_private.h"

struct isolate;

struct run {
    struct reconcile *r;
    enum reconcile_cause cause;
    const struct plan *plan;
    const struct plan *view; /* what is observed: plan, or `merged` */
    struct plan *merged;     /* owned */
    struct plan *back;       /* owned; the way back from a trial: it is `plan` then */
    struct state before, after;
    bool has_after; /* after was observed */
    struct plan_steps steps;
    struct plan_steps watched;  /* observe-only knobs that differ now */
    struct plan_steps left_out; /* dropped knobs that cannot be given back, and isolate.h's */
    struct err unread, refused; /* isolate.h: the first knob that was gone on without; ERR_OK */
    char failed_subject[PORT_ID_SIZE]; /* on which the change went wrong; "" = none */
    char closed[ERR_TEXT_MAX]; /* why the first subject in quarantine is left alone; "" = none is */
    struct isolate *isolate;
    bool again; /* the pass goes on without the subject that failed */
    bool tried; /* a try of the budget began */
    struct outcome *out;
    int64_t start_ns;
};

/* Nothing was changed. Drift that is seen and cannot be repaired is still drift. */
ERR_MUST_CHECK enum err_code run_refuse(struct run *run, const struct err *why, bool transient);

/* What the receipt and the server need to know of the state; state == NULL: not observed. */
ERR_MUST_CHECK enum err_code run_tell_state(struct run *run, const struct state *state,
                                            struct err *err);

/* Observe-only drift that was not told yet goes into the receipt, after the steps. */
ERR_MUST_CHECK enum err_code run_tell_watched(struct run *run, struct err *err);

/* Of a knob that this run wrote; others were told when they were. */
void run_tell_deviation(struct run *run, const struct plan_step *left);

/* Steps that only give a dropped knob back and that the device does not take are told and left
 * out: they stop no plan. */
ERR_MUST_CHECK enum err_code run_drop_refused(struct run *run, struct err *err);

/* What the plan's new knobs were before, durable before they are changed. */
ERR_MUST_CHECK enum err_code run_learn(struct run *run, struct err *err);
/* On the way back from a trial, while it is still known: its knobs went back with it. */
void run_forget_trial(struct run *run);
/* `done` was given back, `state` is what the node is now. Errors are logged: what is remembered
 * too long does no harm. */
void run_forget(struct run *run, const struct plan_steps *done, const struct state *state);

/* Whether what would be done failed too often: then the receipt says so, and nothing is done. */
bool run_is_closed(struct run *run);
/* Drops the steps of what stands on subjects that failed too often. */
void run_drop_closed(struct run *run, struct plan_steps *steps);
/* The first change is next: the try is counted, durable. Nothing to count on the way back from a
 * trial. */
ERR_MUST_CHECK enum err_code run_begin(struct run *run, struct err *err);
/* How the try ended, by the receipt. */
void run_end(struct run *run);
