#pragma once
/*
 * server/campaigns.h - firmware campaigns that are not over, in the world, on the writer thread.
 *
 * Whatever comes in (a report, a word of an operator, time, a node that is gone) is put to a copy
 * inside a write: stored, tasks published with the commit, then settled into the world. What an
 * agent sees is "node/N/flash", the task of the one device of its node that is at work.
 */

#include "db/db.h"
#include "fleet/campaign.h"
#include "server/app.h"

#define CAMPAIGN_SAVE_NS (10 * NS_PER_S) /* at least so often the remaining times are stored */

struct campaign_change {
    struct app *app;
    struct campaign *copy; /* owned; what the campaign becomes */
    struct campaign_actions actions;
    struct effects effects;
};
/* On a copy of the world's campaign; or of one that is not in the world (any more). */
ERR_MUST_CHECK enum err_code campaign_change_begin(struct campaign_change *change, struct app *app,
                                                   const struct campaign *campaign,
                                                   struct err *err);
void campaign_change_release(struct campaign_change *change);
/* Draws the conclusions of what was done to the copy. */
void campaign_change_step(struct campaign_change *change);
/* Carries out the copy's actions and stores it; request_id of the events, "" = none. */
ERR_MUST_CHECK enum err_code campaign_change_store(struct campaign_change *change, struct db_tx *tx,
                                                   const char *request_id, struct err *err);
void campaign_change_settle(struct campaign_change *change);

/* The campaign's node of that name; NULL = it is gone, also when another one, made later, has its
 * name: tasks are not inherited. */
const struct world_node *campaigns_node(const struct world *world, const struct campaign *campaign,
                                        const char *name);
/* NULL = it is over, or there is none. */
struct campaign *campaigns_get(const struct world *world, int64_t number);
/* The campaign that has a device of the node at work; NULL = none. */
struct campaign *campaigns_on(const struct world *world, const char *node);
/* The campaign that is not over and has this device, not ended; NULL = none. */
struct campaign *campaigns_of_device(const struct world *world, const char *node,
                                     const char *device);
/* The campaign that is not over and brings this image; NULL = none. */
struct campaign *campaigns_of_image(const struct world *world, const char *image);

/* Start-up: those that are not over, into the world; with publish, their tasks too. */
ERR_MUST_CHECK enum err_code campaigns_load(struct app *app, struct world *world, struct db_ro *ro,
                                            bool publish, struct err *err);
/* Any campaign out of the store; ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code campaign_load(struct db_ro *ro, int64_t number, int64_t now_ns,
                                           struct campaign **out, struct err *err);

/* campaign_task.c: what agents see --------------------------------------------------------------
 */

void campaign_task_key(const char *node, char out[PUBLISH_KEY_SIZE]); /* "node/N/flash" */
ERR_MUST_CHECK enum err_code campaign_task_entry(const struct campaign *campaign, size_t index,
                                                 struct publish_entry **out, struct err *err);

/* campaign_pump.c: the work between writes ----------------------------------------------------- */

/* Marks what the time and the fleet have changed. On the ticker's look. */
void campaigns_look(struct app *app);
/* Queues a write when there is something to do. After commits and looks. */
void campaigns_poke(struct app *app);
