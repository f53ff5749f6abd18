#pragma once
/*
 * agent/deviation.h - where a node is not what was written to it. The kernel may accept a value and
 * show another one (a rate rounded, a filter that is not in hardware); the receipt says so once,
 * and later checks leave such a knob alone while it shows the same: else it would be "repaired"
 * each minute for ever.
 */

#include <stddef.h>

#include "fleet/plan.h"
#include "fleet/receipt.h"

/* "dcb.maxrate sim.0/0 wants [...] and shows [...]": `step` is what would still be to do. */
void deviation_describe(const struct plan_step *step, char *out, size_t size);

/* Puts steps into plan_diff's order. */
void deviation_sort(struct plan_steps *steps);

/* Drops from steps what is in `known` with the same values. Both in plan_diff's order. */
void deviation_filter(struct plan_steps *steps, const struct plan_steps *known);

/*
 * Of `left` (what plan_diff still finds after `done` was applied) keeps the deviations: steps of
 * knobs that `done` wrote, and what is in `known` with the same values. The others (side
 * effects, other hands) are dropped: the next check repairs them. *out_others = how many; the
 * first is described in `text`.
 */
ERR_MUST_CHECK enum err_code deviation_split(struct plan_steps *left, const struct plan_steps *done,
                                             const struct plan_steps *known, size_t *out_others,
                                             char text[ERR_TEXT_MAX], struct err *err);

/* The drift of the plan's observe-only knobs as steps (from = what is there, to = what the plan
 * says), in key order. */
ERR_MUST_CHECK enum err_code deviation_watched(const struct plan *plan, const struct state *state,
                                               struct plan_steps *out, struct err *err);

/* Same keys, same values. */
bool deviation_same(const struct plan_steps *a, const struct plan_steps *b);
