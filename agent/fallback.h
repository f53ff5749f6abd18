#pragma once
/*
 * agent/fallback.h - where a node goes when a trial is not confirmed. Pure.
 *
 * It goes back to its last good plan, and knobs that the trial changed and that plan does not name
 * to the values they had before. Without a last good plan every knob that the trial changed goes
 * back to what it was, and nothing else is touched.
 */

#include "fleet/plan.h"

/*
 * What the node was before: `old` (by key; what earlier trials in the same window changed) and the
 * steps done since, as one list by key. Knobs that are back where they were drop out.
 */
ERR_MUST_CHECK enum err_code fallback_merge(const struct plan_steps *old,
                                            const struct plan_steps *done, struct plan_steps *out,
                                            struct err *err);

/* The plan to go back to; good may be NULL. undo is fallback_merge's. */
ERR_MUST_CHECK enum err_code fallback_plan(const char *node, const struct plan *good,
                                           const struct plan_steps *undo, struct plan **out,
                                           struct err *err);

/* All knobs of a and those of b that a does not name: what to observe when leaving b for a. */
ERR_MUST_CHECK enum err_code fallback_view(const struct plan *a, const struct plan *b,
                                           struct plan **out, struct err *err);

/* plan_diff() for `back` = fallback_plan(): also removes what the trial added and no plan names,
 * and leaves alone what the trial did not touch. In plan_diff's order. */
ERR_MUST_CHECK enum err_code fallback_diff(const struct plan *back, const struct plan *good,
                                           const struct plan_steps *undo, const struct state *state,
                                           struct plan_steps *out, struct err *err);
