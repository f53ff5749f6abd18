#pragma once
/*
 * server/planner.h - dirty nodes -> plans, on the writer thread between writes; and what the
 * fleet's status is after a commit. Wakes agents whose plan's digest changed and barriers that are
 * reached.
 */

#include <stdbool.h>

#include "server/app.h"

/* The store's hooks (db/db.h); arg is the app. */
void planner_committed(void *arg);
bool planner_idle(void *arg);
/* After the world was loaded: everything is compiled anew (digests decide whether agents hear). */
void planner_reload(struct app *app);

/* The plan that the node was given. The writer thread. */
ERR_MUST_CHECK enum err_code planner_given(struct app *app, const struct world_node *node,
                                           struct plan **out, struct err *err);

void plan_key(const char *node, char out[PUBLISH_KEY_SIZE]); /* "node/N/plan" */
#define BARRIER_KEY "generation"
