#pragma once
/*
 * agent/isolate.h - a pass over the plan that stands goes on without what fails: a device that does
 * not answer, a knob that is refused for now, a port on which a change went wrong. A new plan is
 * taken whole or not at all, and so is the way back from a trial; they are not run this way.
 * Called by reconcile.c.
 */

#include "agent/run.h"

#define ISOLATE_MAX 8 /* subjects on which a change went wrong, of one pass */

/* What went wrong so far; outlives the attempts of a pass. */
struct isolate {
    char subjects[ISOLATE_MAX][PORT_ID_SIZE]; /* left alone */
    size_t count;
    char why[ERR_TEXT_MAX]; /* of the first, "" = none */
};

bool isolate_applies(const struct run *run);

/* The plan's knobs that the state can tell of. *out = NULL: all of them; else *why is the first
 * that it cannot. Observe-only knobs stop nothing and count as told. */
ERR_MUST_CHECK enum err_code isolate_readable(const struct plan *plan, const struct state *state,
                                              struct plan **out, struct err *why, struct err *err);

/* Whether one of the steps' knobs is unreadable in the state. */
bool isolate_is_blind(const struct plan_steps *steps, const struct state *state);

/* Moves the steps that the receipt has a problem for to left_out, and their rows behind the others.
 * False: all of them, or too many to tell: nothing was moved. */
bool isolate_refused(struct run *run);

/* The run's failed subject is that of the first step that the receipt has a problem for. */
void isolate_failed(struct run *run);

/* Drops the steps of the subjects that are left alone. */
void isolate_filter(const struct isolate *isolate, struct plan_steps *steps);

/* Whether the run was rolled back because of its failed subject alone. */
bool isolate_is_alone(const struct run *run);

/* After a run that was rolled back: leaves the subject that failed alone too. False: there is
 * nothing else to be done, or ISOLATE_MAX are. */
bool isolate_add(struct isolate *isolate, const struct run *run);

/* The pass is over: what was left alone is told; but for a quarantine it is tried again later. */
void isolate_tell(const struct isolate *isolate, struct run *run);
