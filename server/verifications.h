#pragma once
/*
 * server/verifications.h - verifications that are not over, in the world, on the writer thread. As
 * with campaigns (campaigns.h), what comes in is put to a copy inside a write: stored, tasks
 * published with the commit, then settled into the world. What an agent sees is "node/N/verify",
 * the task of the one test that its node is in.
 *
 * A task that is withdrawn stays published as cancelled until the node's next one or a restart of
 * the server; a node that does not see it ends with the task's own deadline.
 */

#include "db/db.h"
#include "fleet/verification.h"
#include "server/app.h"

struct verification_change {
    struct app *app;
    struct verification *copy; /* owned; what the verification becomes */
    struct verification_now now;
    struct effects effects;
};
void verification_change_init(struct verification_change *change, struct app *app);
/* On a copy of the world's verification, or of the stored one (then *out_over). ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code verification_change_begin(struct verification_change *change,
                                                       struct db_ro *ro, int64_t number,
                                                       bool *out_over, struct err *err);
void verification_change_release(struct verification_change *change);
/* Draws the conclusions, stores what changed, makes events and tasks; request_id "" = none. */
ERR_MUST_CHECK enum err_code verification_change_store(struct verification_change *change,
                                                       struct db_tx *tx, const char *request_id,
                                                       struct err *err);
void verification_change_settle(struct verification_change *change);

/* NULL = it is over, or there is none. */
struct verification *verifications_get(const struct world *world, int64_t number);
/* The one that has the node in a test that is not over; NULL = none. */
struct verification *verifications_on(const struct world *world, const char *node);
enum verifications_conflict {
    VERIFICATIONS_FREE = 0,
    VERIFICATIONS_FULL,     /* as many as may be are not over */
    VERIFICATIONS_ACTIVE,   /* a node is in another one: it is in one test at a time */
    VERIFICATIONS_CAMPAIGN, /* a node's firmware is being written */
};
/* Why one that was made cannot begin now; in `why` which node, and what to do. */
enum verifications_conflict verifications_conflict(const struct world *world,
                                                   const struct verification *made,
                                                   char why[VERIFY_WHY_SIZE]);
void verifications_task_key(const char *node, char out[PUBLISH_KEY_SIZE]); /* "node/N/verify" */

/* verification_load.c: start-up; with publish, the tasks of what runs too. */
ERR_MUST_CHECK enum err_code verifications_load(struct app *app, struct world *world,
                                                struct db_ro *ro, bool publish, struct err *err);
/* Any one out of the store; ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code verification_load(struct db_ro *ro, int64_t number,
                                               const struct verification_now *now,
                                               struct verification **out, struct err *err);
ERR_MUST_CHECK enum err_code verifications_task_entry(const struct verification *verification,
                                                      size_t index, int place,
                                                      struct publish_entry **out, struct err *err);

/* verification_pump.c: the work between writes. On the ticker's look; after commits and looks. */
void verifications_look(struct app *app);
void verifications_poke(struct app *app);
