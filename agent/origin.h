#pragma once
/*
 * agent/origin.h - what a knob was before we managed it (STATE_DIR/origin.json), so that a plan
 * that no longer names it gives it back. Of kinds that are sets nothing is kept: what a plan does
 * not name is removed there. Called by reconcile.
 *
 *   {"version":1,"node","state":{"knobs":[...]}}      as in schemas/state.json; no value = absent
 *
 * An entry is learnt and durable before the first change of its knob, and forgotten when no plan
 * that stands names the knob and the value was given back. A knob that was managed before there
 * was this file has no entry: it stays as it is.
 */

#include "agent/keep.h"
#include "fleet/plan.h"

#define ORIGIN_FILE "origin.json"
#define ORIGIN_MAX  (2 * PLAN_KNOBS_MAX)

/* Why knobs of the kind are left as they are when a plan drops them; NULL = they go back. */
const char *origin_left_why(const struct knob_kind *kind);

/* No file is no entries; one that does not read back, or is another node's, is set aside. */
ERR_MUST_CHECK enum err_code origin_load(const char *state_dir, const char *node,
                                         struct clock *clock, struct state *out, struct err *err);
/* Durable. */
ERR_MUST_CHECK enum err_code origin_save(const char *state_dir, const char *node,
                                         const struct state *origin, struct err *err);

/* The plans that stand or may stand again; each may be NULL. */
struct origin_plans {
    const struct plan *good, *trial;
};

/*
 * Adds what `before` shows of each knob that the plan begins to manage. ERR_LIMIT over ORIGIN_MAX.
 * After an error the entries are as they were.
 */
ERR_MUST_CHECK enum err_code origin_learn(struct state *origin, const struct plan *plan,
                                          const struct origin_plans *stood,
                                          const struct state *before, bool *out_news,
                                          struct err *err);

/* `view` with the knobs that have an entry and that the plan does not name. *out = NULL: there are
 * none. */
ERR_MUST_CHECK enum err_code origin_view(const struct state *origin, const struct plan *plan,
                                         const struct plan *view, struct plan **out,
                                         struct err *err);

/* Adds the steps that give back what the plan does not name, in plan_diff's order. What cannot be
 * seen now (a port that is not there) waits. */
ERR_MUST_CHECK enum err_code origin_diff(const struct state *origin, const struct plan *plan,
                                         const struct state *state, struct plan_steps *steps,
                                         struct err *err);

/* Whether the step gives a knob back. */
bool origin_is_return(const struct state *origin, const struct plan *plan,
                      const struct plan_step *step);

/* Drops the entries of knobs that no plan names and that `done` gave back, or that show their
 * value. True = some were. */
bool origin_forget(struct state *origin, const struct origin_plans *stand,
                   const struct plan_steps *done, const struct state *state);
/* Drops the entries of knobs that the trial brought and the good plan does not name. */
bool origin_forget_trial(struct state *origin, const struct origin_plans *stood);
