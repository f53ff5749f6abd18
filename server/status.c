/*
 * server/status.c - see status.h.
 */
#include "server/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/api.h"

struct row {
    char name[NAME_SIZE];
    int64_t revision;
    char *document; /* owned: canonical JSON of the node's document */
    enum node_sync sync;
    char digest[DIGEST_TEXT_MAX];
    char released[DIGEST_TEXT_MAX]; /* "" = digest is what it was given */
    int64_t rollout;                /* to be confirmed in it, 0 = none */
    char problem[256];
    struct receipt_note receipt;
    struct inventory_reboot reboot;
    _Atomic int64_t last_seen_us; /* 0 = never */
    _Atomic uint64_t heard;       /* requests of its agent */
};

struct status {
    pthread_rwlock_t lock;
    struct row **rows; /* sorted by name */
    size_t count, capacity;
    struct fleet_status fleet;
};

enum err_code status_new(struct status **out, struct err *err)
{
    struct status *status = calloc(1, sizeof(*status));
    if (status == NULL)
        return err_nomem(err);
    pthread_rwlock_init(&status->lock, NULL);
    *out = status;
    return ERR_OK;
}

static void row_free(struct row *row)
{
    if (row == NULL)
        return;
    free(row->document);
    free(row);
}

void status_free(struct status *status)
{
    if (status == NULL)
        return;
    for (size_t i = 0; i < status->count; i++)
        row_free(status->rows[i]);
    free(status->rows);
    pthread_rwlock_destroy(&status->lock);
    free(status);
}

static size_t find(const struct status *status, const char *name, bool *found)
{
    size_t low = 0, high = status->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(status->rows[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < status->count && strcmp(status->rows[low]->name, name) == 0;
    return low;
}

static struct row *insert(struct status *status, size_t at, const struct world_node *node)
{
    if (status->count == status->capacity) {
        size_t wanted = status->capacity == 0 ? 64 : status->capacity * 2;
        struct row **more = realloc(status->rows, wanted * sizeof(struct row *));
        if (more == NULL)
            return NULL;
        status->rows = more;
        status->capacity = wanted;
    }
    struct row *row = calloc(1, sizeof(*row));
    if (row == NULL)
        return NULL;
    snprintf(row->name, sizeof(row->name), "%s", node->name);
    atomic_init(&row->last_seen_us, node->last_report_us);
    atomic_init(&row->heard, 0);
    memmove(&status->rows[at + 1], &status->rows[at], (status->count - at) * sizeof(struct row *));
    status->rows[at] = row;
    status->count++;
    return row;
}

void status_set(struct status *status, const struct world_node *node)
{
    bool found;
    char *document = strdup(node->document.text);
    pthread_rwlock_wrlock(&status->lock);
    size_t at = find(status, node->name, &found);
    struct row *row = NULL;
    if (document != NULL)
        row = found ? status->rows[at] : insert(status, at, node);
    if (row != NULL) {
        free(row->document);
        row->document = GIVE(document);
        row->revision = node->revision;
        row->sync = node->sync;
        row->receipt = node->receipt;
        row->reboot = node->inventory == NULL ? (struct inventory_reboot){.count = 0}
                                              : node->inventory->reboot;
        memcpy(row->digest, node->plan_digest, sizeof(row->digest));
        bool newest = strcmp(node->release.digest, node->plan_digest) == 0;
        snprintf(row->released, sizeof(row->released), "%s", newest ? "" : node->release.digest);
        row->rollout = node->release.rollout;
        snprintf(row->problem, sizeof(row->problem), "%s",
                 node->plan_problem[0] != '\0' ? node->plan_problem : node->receipt.problem);
    }
    pthread_rwlock_unlock(&status->lock);
    free(document);
    if (row == NULL)
        log_error("status", "out of memory: node=%s is shown as it was before", node->name);
}

void status_remove(struct status *status, const char *node)
{
    bool found;
    struct row *row = NULL;
    pthread_rwlock_wrlock(&status->lock);
    size_t at = find(status, node, &found);
    if (found) {
        row = status->rows[at];
        status->count--;
        memmove(&status->rows[at], &status->rows[at + 1],
                (status->count - at) * sizeof(struct row *));
    }
    pthread_rwlock_unlock(&status->lock);
    row_free(row);
}

void status_set_fleet(struct status *status, const struct fleet_status *fleet)
{
    pthread_rwlock_wrlock(&status->lock);
    status->fleet = *fleet;
    pthread_rwlock_unlock(&status->lock);
}

void status_touch(struct status *status, const char *node, int64_t now_us)
{
    bool found;
    pthread_rwlock_rdlock(&status->lock);
    size_t at = find(status, node, &found);
    if (found) {
        atomic_store_explicit(&status->rows[at]->last_seen_us, now_us, memory_order_relaxed);
        atomic_fetch_add_explicit(&status->rows[at]->heard, 1, memory_order_relaxed);
    }
    pthread_rwlock_unlock(&status->lock);
}

uint64_t status_heard(struct status *status, const char *node)
{
    bool found;
    pthread_rwlock_rdlock(&status->lock);
    size_t at = find(status, node, &found);
    uint64_t heard =
        found ? atomic_load_explicit(&status->rows[at]->heard, memory_order_relaxed) : 0;
    pthread_rwlock_unlock(&status->lock);
    return heard;
}

void status_fleet(struct status *status, struct fleet_status *out)
{
    pthread_rwlock_rdlock(&status->lock);
    *out = status->fleet;
    pthread_rwlock_unlock(&status->lock);
}

static json_t *row_to_json(const struct row *row, int64_t now_us)
{
    char etag[32], seen[CLOCK_TEXT_MAX];
    json_t *item = json_loads(row->document, 0, NULL);
    if (item == NULL)
        return NULL;
    if (json_object_get(item, "labels") == NULL)
        json_object_set_new(item, "labels", json_object());
    etag_format(row->revision, etag);
    int64_t seen_us = atomic_load_explicit(&row->last_seen_us, memory_order_relaxed);
    json_object_set_new(item, "name", json_string(row->name));
    json_object_set_new(item, "revision", json_integer(row->revision));
    json_object_set_new(item, "etag", json_string(etag));
    json_object_set_new(item, "in_sync", json_boolean(row->sync == NODE_IN_SYNC));
    json_object_set_new(item, "sync", json_string(node_sync_name(row->sync)));
    api_set_text(item, "digest", row->digest);
    api_set_text(item, "released", row->released);
    if (row->rollout != 0) {
        char id[ROLLOUT_ID_SIZE];
        rollout_id(row->rollout, id);
        json_object_set_new(item, "rollout", json_string(id));
    }
    api_set_text(item, "problem", row->problem);
    if (row->receipt.id != 0) {
        json_object_set_new(item, "generation_applied", json_integer(row->receipt.generation));
        api_set_text(item, "observed", row->receipt.observed);
        json_object_set_new(item, "result", json_string(receipt_result_name(row->receipt.result)));
        if (row->receipt.gap != RECEIPT_GAP_NONE)
            json_object_set_new(item, "gap",
                                receipt_gap_to_json(row->receipt.gap, row->receipt.gap_ms));
    }
    if (row->reboot.digest[0] != '\0')
        json_object_set_new(item, "reboot", inventory_reboot_to_json(&row->reboot));
    if (seen_us != 0) {
        clock_format(seen_us, seen);
        json_object_set_new(item, "last_seen", json_string(seen));
    }
    json_object_set_new(item, "stale", json_boolean(now_us - seen_us > STATUS_STALE_US));
    return item;
}

/* The row as an item, when the filter lets it pass. */
static json_t *row_pass(const struct row *row, const struct status_filter *filter, int64_t now_us)
{
    if (filter->sync != NODE_SYNC_COUNT && row->sync != filter->sync)
        return NULL;
    json_t *item = row_to_json(row, now_us);
    if (selector_matches(&filter->selector, json_object_get(item, "labels")))
        return item;
    json_decref(item);
    return NULL;
}

json_t *status_list(struct status *status, const char *after, int limit,
                    const struct status_filter *filter, int64_t now_us, char next[NAME_SIZE])
{
    bool found;
    json_t *items = json_array();
    const char *last = "";
    next[0] = '\0';
    pthread_rwlock_rdlock(&status->lock);
    size_t at = find(status, after, &found);
    for (at += found; at < status->count; at++) {
        json_t *item = row_pass(status->rows[at], filter, now_us);
        if (item == NULL)
            continue;
        if (json_array_size(items) == (size_t)limit) {
            snprintf(next, NAME_SIZE, "%s", last);
            json_decref(item);
            break;
        }
        json_array_append_new(items, item);
        last = status->rows[at]->name;
    }
    pthread_rwlock_unlock(&status->lock);
    return items;
}

json_t *status_get(struct status *status, const char *node, int64_t now_us, int64_t *out_revision)
{
    bool found;
    json_t *item = NULL;
    pthread_rwlock_rdlock(&status->lock);
    size_t at = find(status, node, &found);
    if (found) {
        item = row_to_json(status->rows[at], now_us);
        *out_revision = status->rows[at]->revision;
    }
    pthread_rwlock_unlock(&status->lock);
    return item;
}

size_t status_stale(struct status *status, int64_t now_us)
{
    size_t stale = 0;
    pthread_rwlock_rdlock(&status->lock);
    for (size_t i = 0; i < status->count; i++)
        stale += now_us - atomic_load(&status->rows[i]->last_seen_us) > STATUS_STALE_US;
    pthread_rwlock_unlock(&status->lock);
    return stale;
}

void status_each(struct status *status,
                 void (*fn)(void *arg, const char *node, int64_t last_seen_us), void *arg)
{
    pthread_rwlock_rdlock(&status->lock);
    for (size_t i = 0; i < status->count; i++)
        fn(arg, status->rows[i]->name, atomic_load(&status->rows[i]->last_seen_us));
    pthread_rwlock_unlock(&status->lock);
}

bool status_has(struct status *status, const char *node)
{
    bool found;
    pthread_rwlock_rdlock(&status->lock);
    find(status, node, &found);
    pthread_rwlock_unlock(&status->lock);
    return found;
}

static bool is_applied(const struct fleet_status *fleet, int64_t generation)
{
    return fleet->planned_generation >= generation &&
           fleet->planned_generation == fleet->generation && fleet->pending == 0 &&
           fleet->failed == 0;
}

bool status_is_applied(struct status *status, int64_t generation)
{
    pthread_rwlock_rdlock(&status->lock);
    bool applied = is_applied(&status->fleet, generation);
    pthread_rwlock_unlock(&status->lock);
    return applied;
}

/* What else must happen before the pending nodes can be in sync; NULL = waiting is enough. */
static json_t *hint_of(const struct fleet_status *fleet)
{
    if (fleet->held > 0)
        return json_sprintf("%zu nodes have a newer plan that only a rollout gives them: POST "
                            "/v1/rollouts, or GET /v1/rollouts when one is under way",
                            fleet->held);
    if (fleet->confirming > 0)
        return json_sprintf("%zu nodes try a plan until their rollout confirms it: GET "
                            "/v1/rollouts",
                            fleet->confirming);
    return NULL;
}

json_t *status_barrier(struct status *status, int64_t generation, bool *out_applied)
{
    json_t *names = json_array();
    pthread_rwlock_rdlock(&status->lock);
    struct fleet_status fleet = status->fleet;
    *out_applied = is_applied(&fleet, generation);
    for (size_t i = 0; i < status->count && !*out_applied; i++) {
        enum node_sync sync = status->rows[i]->sync;
        if (sync == NODE_IN_SYNC || sync == NODE_IDLE)
            continue;
        json_array_append_new(names, json_string(status->rows[i]->name));
        if (json_array_size(names) == STATUS_PENDING_NAMES_MAX)
            break;
    }
    pthread_rwlock_unlock(&status->lock);
    return json_pack("{sI, sb, s{sI, sI, sI, sI, sI, sI}, so, so*}", "generation",
                     (json_int_t)generation, "applied", (int)*out_applied, "nodes", "total",
                     (json_int_t)fleet.total, "in_sync", (json_int_t)fleet.in_sync, "pending",
                     (json_int_t)fleet.pending, "held", (json_int_t)fleet.held, "confirming",
                     (json_int_t)fleet.confirming, "failed", (json_int_t)fleet.failed, "pending",
                     names, "hint", hint_of(&fleet));
}
