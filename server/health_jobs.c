/*
 * server/health_jobs.c - what jobs were promised on each node, told to its health after each sweep:
 * policies, placements and ports as the world has them. On the writer thread, so many nodes a
 * turn, that others' writes come in between; where nothing changed since, nothing is computed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "fleet/health_job.h"
#include "server/health_private.h"
#include "server/world.h"

#define TURN_NODES 64

/* The first node after that name. */
static size_t first_after(const struct view *view, const char *name)
{
    size_t low = 0, high = view->node_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(view->nodes[middle].name, name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Since the walk before: what was promised everywhere, or this node. Not of a node that was not
 * told yet. */
static bool is_changed(const struct health_desk *desk, size_t node)
{
    const struct world *world = desk->app->world;
    return desk->walked.serial != world->serial || world->changed > desk->walked.changes ||
           world->nodes[node]->changed > desk->walked.changes;
}

static bool is_due(struct health_desk *desk, size_t node)
{
    bool is_changed_now = is_changed(desk, node);
    pthread_mutex_lock(&desk->lock);
    struct health_node *known = health_node_find(desk, desk->app->world->view.nodes[node].name);
    bool is = known != NULL && (is_changed_now || !known->is_promised);
    pthread_mutex_unlock(&desk->lock);
    return is;
}

static enum err_code promise(struct health_desk *desk, const struct view *view,
                             const struct view_node *node, struct health_promise *promises,
                             struct err *err)
{
    size_t count = 0;
    bool truncated = false;
    enum err_code code = health_promises_of(view, node, promises, &count, &truncated, err);
    if (code != ERR_OK)
        return code;
    if (truncated)
        log_warning("health", "node=%s: only %d jobs on ports are held against their promises",
                    node->name, JOB_PROMISES_MAX);
    pthread_mutex_lock(&desk->lock);
    struct health_node *known = health_node_find(desk, node->name);
    if (known != NULL) {
        code = health_promise(known->health, promises, count, err);
        known->is_promised = code == ERR_OK;
    }
    pthread_mutex_unlock(&desk->lock);
    return code;
}

static enum err_code turn(struct db_tx *tx, void *arg, struct err *err)
{
    struct health_desk *desk = arg;
    const struct view *view = &desk->app->world->view;
    size_t first = first_after(view, desk->promised), end = first + TURN_NODES;
    OWN(mem) void *promises = calloc(JOB_PROMISES_MAX, sizeof(struct health_promise));
    enum err_code code = promises == NULL ? err_nomem(err) : ERR_OK;
    (void)tx;
    desk->promised[0] = '\0';
    if (first == 0)
        desk->walking = (struct health_mark){desk->app->world->serial, desk->app->world->changes};
    for (size_t i = first; i < view->node_count && i < end && code == ERR_OK; i++)
        if (is_due(desk, i))
            code = promise(desk, view, &view->nodes[i], promises, err);
    if (code == ERR_OK && end < view->node_count)
        text_copy(desk->promised, sizeof(desk->promised), view->nodes[end - 1].name);
    else if (code == ERR_OK)
        desk->walked = desk->walking;
    return code;
}

static void end_walk(struct health_desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    desk->sweeping = false;
    pthread_cond_broadcast(&desk->changed);
    pthread_mutex_unlock(&desk->lock);
}

static void turned(void *arg, enum err_code code, const struct err *err)
{
    struct health_desk *desk = arg;
    struct err failed = ERR_INIT;
    if (code != ERR_OK) {
        log_warning("health", "promises of jobs could not be looked at: %s", err->text);
        desk->promised[0] = '\0';
    }
    pthread_mutex_lock(&desk->lock);
    bool goes_on = desk->promised[0] != '\0' && !desk->ended;
    pthread_mutex_unlock(&desk->lock);
    if (!goes_on || db_write(desk->app->db, turn, turned, desk, &failed) != ERR_OK)
        end_walk(desk); /* the next sweep begins anew */
}

void health_jobs_begin(struct health_desk *desk)
{
    struct err err = ERR_INIT;
    desk->promised[0] = '\0'; /* nobody else has it before the first turn */
    if (db_write(desk->app->db, turn, turned, desk, &err) != ERR_OK)
        end_walk(desk);
}
