#pragma once
/*
 * server/health.h - the health of all nodes as they tell it: facts in, changes of state out as
 * incidents of the store. Rules are those of fleet/health.h.
 *
 *   batches (db/series' thread) ---+
 *   inventory, profile, chains  ---+--> struct health of a node --> changes --> db/incidents
 *   (sweeps of a reader thread)    |          (under one lock)      (writer thread)
 *   when it was heard (own thread)-+
 *
 * Incidents that are open are raised again after a start, so that they clear like any other. What
 * a crash loses is a change of the last moments that the store has not got yet.
 */

#include <jansson.h>

#include "base/err.h"
#include "base/own.h"
#include "db/incidents.h"
#include "fleet/health.h"
#include "fleet/health_job.h"
#include "fleet/name.h"

struct app;

#define HEALTH_TICK_NS     (5 * NS_PER_S)    /* looks at what the server knows */
#define HEALTH_SWEEP_NS    (60 * NS_PER_S)   /* inventories, when nothing changed */
#define HEALTH_FRESH_US    INT64_C(60000000) /* older telemetry says nothing of now */
#define HEALTH_PENDING_MAX 65536             /* changes that wait for the store */
#define HEALTH_WRITE_MAX   256               /* changes of one write */

struct health_desk;

/* Reads what is open and excluded, then works on a thread of its own. Blocking. */
ERR_MUST_CHECK enum err_code health_desk_new(struct app *app, struct health_desk **out,
                                             struct err *err);
/* The series must not call any more; the store must still run. What waits for the store goes. */
void health_desk_free(struct health_desk *desk);
OWN_DEFINE(health_desk, struct health_desk *, health_desk_free)

/* A stored batch, as of db/series.h: desk is the argument. */
void health_desk_stored(void *desk, const char *node, const struct telemetry_batch *batch,
                        int64_t now_us);
/* Exclusions, after their commit. Any thread. */
void health_desk_exclude(struct health_desk *desk, const struct db_exclusion *row);
void health_desk_include(struct health_desk *desk, int64_t id);
/* The exclusion that holds now for a rule on a subject; 0 = none. Any thread. */
int64_t health_desk_excluded(struct health_desk *desk, const char *rule, const char *subject);

struct health_fleet {
    size_t grades[HEALTH_STATE_COUNT]; /* nodes */
    size_t raised[HEALTH_STATE_COUNT]; /* findings, without excluded ones */
    size_t excluded;                   /* findings */
    uint64_t lost;                     /* changes for which there was no room, since the start */
    uint64_t refused;                  /* incidents over the limit of open ones */
    size_t pending;
};
/* Any thread, as the next three. */
void health_desk_fleet(struct health_desk *desk, struct health_fleet *out);
/* {"grades":{...},"findings":{...},"rules":[{"rule","nodes","severity"}]}; NULL = no memory. */
json_t *health_desk_summary(struct health_desk *desk);
/* Of a node that exists: {"node","grade","telemetry"?,"checks","excluded","findings","unknown",
 * "truncated"}; NULL = no memory. */
json_t *health_desk_node(struct health_desk *desk, const char *node);
/* How the rules stand on a node now, as health_each() tells it; nothing of one that is not known.
 * fn is called under the desk's lock: it is short, and calls nothing of the desk. */
void health_desk_each(struct health_desk *desk, const char *node, health_status_fn *fn, void *arg);
/* What came of every promise on every node; fn as health_desk_each()'s. */
typedef void health_desk_kept_fn(void *arg, const char *node, const struct health_kept *kept);
void health_desk_each_kept(struct health_desk *desk, health_desk_kept_fn *fn, void *arg);
