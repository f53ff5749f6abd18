#pragma once
/*
 * server/rollouts.h - rollouts that are not over, in the world, on the writer thread.
 *
 * What comes in (receipts, drift, a node heard) goes into the world's rollout at once. Conclusions
 * are drawn on a copy, inside a write: stored, their plans published with the commit, then settled
 * into the world. A crash in between loses nothing: at start the last receipts are told again.
 */

#include "db/db.h"
#include "server/app.h"
#include "server/release.h"

#define ROLLOUT_POLICY_KEY "rollout-policy" /* document, blob */

#define ROLLOUT_SAVE_NS (10 * NS_PER_S) /* at least so often the remaining times are stored */

struct rollout_change {
    struct app *app;
    struct rollout *copy; /* owned; what the rollout becomes */
    struct rollout_actions actions;
    struct releases releases;
};
void rollout_change_release(struct rollout_change *change);
/* On a copy of the world's rollout; or of one that is not in the world (yet). */
ERR_MUST_CHECK enum err_code rollout_change_begin(struct rollout_change *change, struct app *app,
                                                  const struct rollout *rollout, struct err *err);
/* Carries out the copy's actions and stores it; request_id of the events, "" = none. */
ERR_MUST_CHECK enum err_code rollout_change_store(struct rollout_change *change, struct db_tx *tx,
                                                  const char *request_id, struct err *err);
void rollout_change_settle(struct rollout_change *change);

/* NULL = it is over, or there is none. */
struct rollout *rollouts_get(const struct world *world, int64_t number);
/* The rollout that holds the node; *out_index in it. NULL = none. */
struct rollout *rollouts_of(const struct world *world, const char *node, size_t *out_index);

/* What a node said; called when the world holds it. */
void rollouts_on_receipt(struct app *app, const struct world_node *node);
void rollouts_on_drift(struct app *app, const struct world_node *node);

/* Start-up: those that are not over, into the world; the last receipts are told to them. */
ERR_MUST_CHECK enum err_code rollouts_load(struct app *app, struct world *world, struct db_ro *ro,
                                           struct err *err);
/* Any rollout out of the store; ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code rollout_load(struct db_ro *ro, int64_t number, int64_t now_ns,
                                          struct rollout **out, struct err *err);
/* What the node last said, told to the rollout. */
void rollout_tell(struct rollout *rollout, size_t index, const struct world_node *node,
                  int64_t now_ns);

/* rollout_verify.c: the verification of a wave (fleet/rollout_verify.h) ------------------------ */

struct verification_change;
/* Before the copy is stepped: tells it of the end of its verification. */
ERR_MUST_CHECK enum err_code rollout_verify_hear(struct rollout_change *change, struct db_tx *tx,
                                                 bool *out_did, struct err *err);
/* After: orders the verification that is due, or cancels one that nobody waits for any more. Where
 * out->copy is not NULL then, it is stored, and settled by the caller, who releases it in any case.
 */
ERR_MUST_CHECK enum err_code rollout_verify_order(struct rollout_change *change, struct db_tx *tx,
                                                  struct verification_change *out, bool *out_did,
                                                  struct err *err);

/* rollout_pump.c: the work between writes ------------------------------------------------------ */

/* Queues a write when there is something to do. After commits, planning and ticks. */
void rollouts_poke(struct app *app);

/* rollout_ticker.c: time ----------------------------------------------------------------------- */

struct rollout_ticker;
ERR_MUST_CHECK enum err_code rollout_ticker_start(struct app *app, struct rollout_ticker **out,
                                                  struct err *err);
void rollout_ticker_stop(struct rollout_ticker *ticker); /* before the store is closed */
/* It ticks only while there is a rollout. Any thread. */
void rollout_ticker_set(struct rollout_ticker *ticker, bool active);
