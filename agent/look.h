#pragma once
/*
 * agent/look.h - what a pass observes, and whether it found what it left. Called by reconcile.
 */

#include "agent/reconcile_private.h"

/*
 * What to observe for `plan`: also the subjects that only the last good plan or the one on trial
 * names, and the knobs that have a value to go back to, so that what was left there is seen and
 * taken back. `back`: plan is the way back from the trial, every knob of which counts. *out = NULL:
 * plan itself will do.
 */
ERR_MUST_CHECK enum err_code look_view(const struct reconcile *r, const struct plan *plan,
                                       bool back, struct plan **out, struct err *err);

/* Whether every knob of the plan shows in `after` what it showed in `before`; else why not. */
bool look_is_same(const struct plan *plan, const struct state *before, const struct state *after,
                  struct err *why);
