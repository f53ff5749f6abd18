#pragma once
/*
 * fleet/plan.h - everything one node must be (schemas/plan.json), what it is (state), and the
 * ordered steps between the two. Server and agent meet here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/json.h"
#include "base/own.h"
#include "fleet/inventory.h"
#include "fleet/knob.h"
#include "fleet/name.h"
#include "fleet/peer.h"
#include "fleet/rules.h"

#define PLAN_KNOBS_MAX 16384
#define KNOB_ID_SIZE   96

#define PLAN_CONFIRM_TIMEOUT_MAX_S 86400 /* a day; at least 1 */

/* The plan is on trial: unless it is confirmed in time, the node goes back by itself. */
struct plan_confirm {
    char rollout[NAME_SIZE]; /* "" = no trial: the plan is final */
    int32_t timeout_s;
};

struct plan_knob {
    const struct knob_kind *kind;
    char subject[PORT_ID_SIZE];
    char id[KNOB_ID_SIZE];
    json_t *want; /* owned */
    enum enforcement enforcement;
    bool observe_only;      /* drift is reported, not repaired */
    bool strict;            /* what the kernel took but did not enforce rolls the plan back */
    char tenant[NAME_SIZE]; /* for people and reports; "" = the fabric's own */
    char job[NAME_SIZE];
};

struct plan {
    char node[NAME_SIZE];
    int64_t generation;
    struct plan_knob *knobs; /* in knob_compare order, no two with the same key */
    size_t knob_count;
    size_t knob_room;             /* private: what knobs has memory for */
    char digest[DIGEST_TEXT_MAX]; /* over node and knobs' keys, wants and flags; not the generation
                                   */
    struct plan_confirm confirm;  /* of this assignment; no part of the digest */
    struct peer_list peers;       /* the same: whom the self-test asks */
    int64_t attempt; /* the same: which order to try it again this follows; 0 = none was given */
    /* The same: an operator approves a reboot for what has this digest (inventory_reboot); "" =
     * none is approved. */
    char approved[DIGEST_TEXT_MAX];
};

/* JSON form: {"version":1,"node","generation","digest","knobs":[{"kind","subject","id"?,"want",
 * "enforcement","strict"?,"observe_only"?,"tenant"?,"job"?}],"confirm"?:{"rollout","timeout_s"},
 * "attempt"?,"approved"?,"peers"?:[{"port","node","address"}]}.
 * from_json checks the digest
 * (ERR_INVALID when it does not match) and refuses unknown kinds with ERR_UNSUPPORTED. */
ERR_MUST_CHECK enum err_code plan_from_json(const json_t *document, struct plan **out,
                                            struct err *err);
json_t *plan_to_json(const struct plan *plan);
void plan_free(struct plan *plan);
OWN_DEFINE(plan, struct plan *, plan_free)

/* Building: add knobs in any order, then seal (sorts, checks for doubles, digests). */
ERR_MUST_CHECK enum err_code plan_new(const char *node, int64_t generation, struct plan **out,
                                      struct err *err);
/* Takes over knob->want, also on failure. */
ERR_MUST_CHECK enum err_code plan_add(struct plan *plan, const struct plan_knob *knob,
                                      struct err *err);
/* A copy of another plan's knob, which keeps its own. */
ERR_MUST_CHECK enum err_code plan_add_copy(struct plan *plan, const struct plan_knob *knob,
                                           struct err *err);
ERR_MUST_CHECK enum err_code plan_seal(struct plan *plan, struct err *err);
/* Of a sealed plan; borrowed, NULL = it has none. */
const struct plan_knob *plan_knob_get(const struct plan *plan, const struct knob_kind *kind,
                                      const char *subject, const char *id);

static inline bool plan_is_final(const struct plan *plan)
{
    return plan->confirm.rollout[0] == '\0';
}

/*
 * What tells one assignment from another: "DIGEST" of a final plan, "DIGEST+ROLLOUT" of one on
 * trial, "!ATTEMPT" behind either. The server publishes under it, the agent says it as the one it
 * knows.
 */
#define PLAN_TAG_SIZE (DIGEST_TEXT_MAX + 1 + NAME_MAX_LEN + 1 + 19)
void plan_tag(const struct plan *plan, char out[PLAN_TAG_SIZE]);

/* State --------------------------------------------------------------------------------------- */

enum knob_owner {
    KNOB_OWNER_UNKNOWN = 0,
    KNOB_OWNER_STELLAR, /* carries our mark (cookie, handle, file) or was last set by us */
    KNOB_OWNER_OTHER,
};

struct state_knob {
    const struct knob_kind *kind;
    char subject[PORT_ID_SIZE];
    char id[KNOB_ID_SIZE];
    json_t *live;      /* owned; NULL = absent or unreadable (see problem) */
    json_t *persisted; /* owned; NULL = not persisted or no such notion */
    json_t *next_boot; /* owned; what the next load or boot gives; NULL = unknown */
    enum knob_owner owner;
    char problem[160]; /* "" or why it could not be read */
};

struct state {
    struct state_knob *knobs; /* knob_compare order after state_seal */
    size_t knob_count;
    size_t knob_room; /* private */
    struct state_of {
        char digest[DIGEST_TEXT_MAX]; /* "" = it was not said, and nothing of the others */
        int64_t generation;
        int64_t time_us;
    } of; /* the plan by which the node was observed, and when: wall clock, microseconds */
};

void state_init(struct state *state);
void state_release(struct state *state);
#define OWN_STATE __attribute__((cleanup(state_release)))
/* Takes over the JSON values of knob, also on failure. */
ERR_MUST_CHECK enum err_code state_add(struct state *state, const struct state_knob *knob,
                                       struct err *err);
void state_seal(struct state *state); /* sorts */
const struct state_knob *state_get(const struct state *state, const struct knob_kind *kind,
                                   const char *subject, const char *id);
json_t *state_to_json(const struct state *state); /* {"knobs":[...]} */
ERR_MUST_CHECK enum err_code state_from_json(const json_t *document, struct state *out,
                                             struct err *err);

/* The value that counts for the kind's view (live or next boot); borrowed, NULL = absent. */
const json_t *state_knob_value(const struct state_knob *knob);

/*
 * Observed digest: the plan's digest computed with the observed values in place of the wanted
 * ones, plus our own knobs that the plan does not have. Equal to plan->digest exactly when
 * the node is what the plan wants (observe-only knobs count as wanted).
 */
ERR_MUST_CHECK enum err_code plan_observed_digest(const struct plan *plan,
                                                  const struct state *state,
                                                  char out[DIGEST_TEXT_MAX], struct err *err);

/* Steps --------------------------------------------------------------------------------------- */

enum step_op {
    STEP_REMOVE = 0,
    STEP_CHANGE,
    STEP_ADD,
};

struct plan_step {
    enum step_op op;
    const struct knob_kind *kind;
    char subject[PORT_ID_SIZE];
    char id[KNOB_ID_SIZE];
    json_t *from; /* owned; value before (the undo), NULL for ADD */
    json_t *to;   /* owned; value after, NULL for REMOVE */
    enum disruption disruption;
    bool strict;
    char tenant[NAME_SIZE];
    char job[NAME_SIZE];
};

struct plan_steps {
    struct plan_step *items;
    size_t count;
    size_t room; /* private */
};

/* The order of plan_diff()'s steps; 0: the same op of the same knob. */
int plan_step_compare(const struct plan_step *a, const struct plan_step *b);

/*
 * Removals (reverse rank), then changes, then additions (by rank); changes of what stands on
 * something else (knob_base()) are among the additions. Removed is what the state
 * shows as ours, of a kind with is_set, and the plan does not have. Observe-only knobs and knobs
 * that are equal give no step, but a CHANGE from and to the same value where what they stand on is
 * made anew (knob_base()). from == NULL in a CHANGE cannot be: an unreadable knob that the
 * plan wants is ERR_UNAVAILABLE naming it and the problem.
 */
ERR_MUST_CHECK enum err_code plan_diff(const struct plan *plan, const struct state *state,
                                       struct plan_steps *out, struct err *err);
/* The step that takes `step` back (ops and values swapped). Copies. */
ERR_MUST_CHECK enum err_code plan_step_undo(const struct plan_step *step, struct plan_step *out,
                                            struct err *err);
void plan_step_release(struct plan_step *step);
void plan_steps_release(struct plan_steps *steps);
#define OWN_STEPS __attribute__((cleanup(plan_steps_release)))
json_t *plan_steps_to_json(const struct plan_steps *steps);
ERR_MUST_CHECK enum err_code plan_steps_from_json(const json_t *array, struct plan_steps *out,
                                                  struct err *err);
/* "change dcb.pfc solar_rdma.0/0" into out. */
void plan_step_describe(const struct plan_step *step, char *out, size_t size);

/*
 * The steps between two plans of one node, for dry runs: as plan_diff with `from` (NULL = nothing
 * known) taken as the state.
 */
ERR_MUST_CHECK enum err_code plan_compare(const struct plan *from, const struct plan *to,
                                          struct plan_steps *out, struct err *err);
