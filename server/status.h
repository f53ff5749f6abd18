#pragma once
/*
 * server/status.h - the nodes as HTTP threads see them: what they applied, when they were heard,
 * and whether the fleet has reached a generation. The writer thread writes after commits; last_seen
 * is set by any request of the node's agent.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/own.h"
#include "server/selector.h"
#include "server/world.h"

#define STATUS_STALE_US          INT64_C(60000000)
#define STATUS_PENDING_NAMES_MAX 100

struct status;

/* Counts of the whole fleet. */
struct fleet_status {
    int64_t generation;         /* of the desired state */
    int64_t planned_generation; /* every node's plan is at least of this one */
    size_t nodes;               /* known */
    size_t total;               /* targeted: in_sync + pending + failed */
    size_t in_sync, pending, failed;
    size_t quarantined;      /* of failed: they try nothing more by themselves */
    size_t held, confirming; /* of pending: they wait for a rollout, or for its confirmation */
    size_t tenants, placements;
};

ERR_MUST_CHECK enum err_code status_new(struct status **out, struct err *err);
void status_free(struct status *status);
OWN_DEFINE(status, struct status *, status_free)

/* The node's row as it is now; without memory the old row stays and is logged. */
void status_set(struct status *status, const struct world_node *node);
void status_remove(struct status *status, const char *node);
void status_set_fleet(struct status *status, const struct fleet_status *fleet);

void status_touch(struct status *status, const char *node, int64_t now_us);
/* How often the node was touched; 0 = never, or there is no such node. */
uint64_t status_heard(struct status *status, const char *node);

void status_fleet(struct status *status, struct fleet_status *out);
struct status_filter {
    struct selector selector; /* of labels */
    enum node_sync sync;      /* NODE_SYNC_COUNT = any */
};
/* At most `limit` items of nodes after `after` that the filter lets pass; *next is the last name
 * when there are more, else "". NULL without memory. */
json_t *status_list(struct status *status, const char *after, int limit,
                    const struct status_filter *filter, int64_t now_us, char next[NAME_SIZE]);
/* NULL: no such node (or no memory). */
json_t *status_get(struct status *status, const char *node, int64_t now_us, int64_t *out_revision);
/* Nodes not heard of for STATUS_STALE_US. */
size_t status_stale(struct status *status, int64_t now_us);
bool status_has(struct status *status, const char *node);
/* Every node by name; last_seen_us 0 = never. Nobody may call the status from fn. */
void status_each(struct status *status,
                 void (*fn)(void *arg, const char *node, int64_t last_seen_us), void *arg);

/* The answer of the barrier at this moment; NULL without memory. */
json_t *status_barrier(struct status *status, int64_t generation, bool *out_applied);
bool status_is_applied(struct status *status, int64_t generation);
