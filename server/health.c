/*
 * server/health.c - see health.h: nodes, batches, the thread that ticks and writes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cond.h"
#include "base/log.h"
#include "base/text.h"
#include "server/health_private.h"

/* Nodes ---------------------------------------------------------------------------------------- */

static size_t place_of(const struct health_desk *desk, const char *name, bool *found)
{
    size_t low = 0, high = desk->node_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(desk->nodes[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < desk->node_count && strcmp(desk->nodes[low]->name, name) == 0;
    return low;
}

struct health_node *health_node_find(struct health_desk *desk, const char *name)
{
    bool found;
    size_t at = place_of(desk, name, &found);
    return found ? desk->nodes[at] : NULL;
}

static void node_free(struct health_node *node)
{
    if (node == NULL)
        return;
    health_free(node->health);
    free(node);
}

struct health_node *health_node_get(struct health_desk *desk, const char *name)
{
    bool found;
    size_t at = place_of(desk, name, &found);
    if (found)
        return desk->nodes[at];
    if (desk->node_count == desk->node_room) {
        size_t room = desk->node_room == 0 ? 64 : 2 * desk->node_room;
        struct health_node **nodes = realloc(desk->nodes, room * sizeof(struct health_node *));
        if (nodes == NULL)
            return NULL;
        desk->nodes = nodes;
        desk->node_room = room;
    }
    struct health_node *node = calloc(1, sizeof(*node));
    if (node == NULL || health_new(desk->book, &node->health, NULL) != ERR_OK) {
        node_free(node);
        return NULL;
    }
    text_copy(node->name, sizeof(node->name), name);
    node->is_seen = true; /* it may have come after this tick's list of nodes was read */
    memmove(&desk->nodes[at + 1], &desk->nodes[at],
            (desk->node_count - at) * sizeof(struct health_node *));
    desk->nodes[at] = node;
    desk->node_count++;
    return node;
}

/* Changes -------------------------------------------------------------------------------------- */

void health_pend(struct health_desk *desk, const struct health_change *change)
{
    if (desk->pending_count == desk->pending_room && desk->pending_room < HEALTH_PENDING_MAX) {
        size_t room = desk->pending_room == 0 ? 64 : 2 * desk->pending_room;
        struct health_change *pending = realloc(desk->pending, room * sizeof(*pending));
        if (pending != NULL) {
            desk->pending = pending;
            desk->pending_room = room;
        }
    }
    if (desk->pending_count == desk->pending_room) {
        desk->lost++;
        return;
    }
    desk->pending[desk->pending_count++] = *change;
    pthread_cond_signal(&desk->changed);
}

struct looking {
    struct health_desk *desk;
    struct health_node *node;
};

static void on_change(void *arg, const struct health_status *status, enum health_state from)
{
    struct looking *looking = arg;
    struct health_change change = {.status = *status};
    (void)from;
    text_copy(change.node, sizeof(change.node), looking->node->name);
    health_port_of(looking->node->health, &status->subject, change.port);
    health_pend(looking->desk, &change);
}

void health_node_look(struct health_desk *desk, struct health_node *node, enum health_source source,
                      int64_t now_us)
{
    struct looking looking = {desk, node};
    struct err err = ERR_INIT;
    if (health_look(node->health, source, now_us, on_change, &looking, &err) != ERR_OK)
        log_warning("health", "node=%s: %s; some rules were not looked at", node->name, err.text);
}

void health_desk_stored(void *arg, const char *name, const struct telemetry_batch *batch,
                        int64_t now_us)
{
    struct health_desk *desk = arg;
    struct err err = ERR_INIT;
    pthread_mutex_lock(&desk->lock);
    struct health_node *node = health_node_get(desk, name);
    if (node != NULL && batch->sample_count > 0) {
        int64_t last_us = telemetry_time_us(batch, batch->sample_count - 1);
        node->batch_us = now_us;
        node->ahead_ms = last_us > now_us ? (last_us - now_us) / 1000 : 0;
        if (health_take_batch(node->health, batch, &err) != ERR_OK)
            log_warning("health", "node=%s: %s; some facts are missing", name, err.text);
        /* What waited on the node's disk is of another time than now. */
        if (now_us - last_us <= HEALTH_FRESH_US)
            health_node_look(desk, node, HEALTH_FROM_NODE, now_us);
    }
    pthread_mutex_unlock(&desk->lock);
}

/* The thread ----------------------------------------------------------------------------------- */

struct ticking {
    struct health_desk *desk;
    int64_t now_us;
};

static void tick_node(void *arg, const char *name, int64_t seen_us)
{
    const struct ticking *ticking = arg;
    struct health_desk *desk = ticking->desk;
    const struct health_subject self = {.kind = TELEMETRY_NODE};
    int64_t now_us = ticking->now_us;
    pthread_mutex_lock(&desk->lock);
    struct health_node *node = health_node_get(desk, name);
    if (node != NULL) {
        struct health *health = node->health;
        int64_t age_us = now_us - node->batch_us;
        enum err_code code = ERR_OK;
        node->is_seen = true;
        if (seen_us != 0)
            code = health_server_put(health, &self, "agent_silent_s",
                                     now_us > seen_us ? (now_us - seen_us) / 1000000 : 0, NULL);
        if (code == ERR_OK && node->batch_us != 0) {
            code = health_server_put(health, &self, "telemetry_age_s",
                                     age_us > 0 ? age_us / 1000000 : 0, NULL);
            if (code == ERR_OK)
                code = health_server_put(health, &self, "clock_ahead_ms", node->ahead_ms, NULL);
        }
        if (code != ERR_OK)
            log_warning("health", "node=%s: out of memory; some facts are missing", name);
        if (age_us > HEALTH_FRESH_US)
            health_node_silent(health);
        health_node_look(desk, node, HEALTH_FROM_SERVER, now_us);
    }
    pthread_mutex_unlock(&desk->lock);
}

/* Nodes that are not there any more. Under the lock. */
static void drop_gone(struct health_desk *desk)
{
    size_t kept = 0;
    for (size_t i = 0; i < desk->node_count; i++) {
        struct health_node *node = desk->nodes[i];
        if (node->is_seen) {
            node->is_seen = false;
            desk->nodes[kept++] = node;
            continue;
        }
        struct health_change change = {.status.rule = NULL};
        text_copy(change.node, sizeof(change.node), node->name);
        health_pend(desk, &change);
        node_free(node);
    }
    desk->node_count = kept;
}

static void tick(struct health_desk *desk)
{
    struct clock *clock = desk->app->clock;
    struct ticking ticking = {desk, clock->wall_us(clock)};
    status_each(desk->app->status, tick_node, &ticking);
    pthread_mutex_lock(&desk->lock);
    drop_gone(desk);
    health_sweep(desk);
    pthread_mutex_unlock(&desk->lock);
}

struct writing {
    struct health_desk *desk;
    size_t count;
    struct health_change changes[HEALTH_WRITE_MAX];
};

static enum err_code write_changes(struct db_tx *tx, void *arg, struct err *err)
{
    struct writing *writing = arg;
    return health_store(writing->desk, tx, writing->changes, writing->count, err);
}

static void written(void *arg, enum err_code code, const struct err *err)
{
    struct writing *writing = arg;
    struct health_desk *desk = writing->desk;
    pthread_mutex_lock(&desk->lock);
    desk->writing = false;
    if (code == ERR_OK) {
        memmove(desk->pending, desk->pending + writing->count,
                (desk->pending_count - writing->count) * sizeof(*desk->pending));
        desk->pending_count -= writing->count;
    } else {
        log_error("health", "incidents could not be stored: %s; tried again", err->text);
    }
    pthread_cond_broadcast(&desk->changed);
    pthread_mutex_unlock(&desk->lock);
    free(writing);
}

/* Begins a write of the oldest changes. Under the lock, which it gives up for a moment. False = it
 * could not. */
static bool begin_write(struct health_desk *desk)
{
    struct writing *writing = malloc(sizeof(*writing));
    struct err err = ERR_INIT;
    if (writing == NULL)
        return false;
    writing->desk = desk;
    writing->count =
        desk->pending_count < HEALTH_WRITE_MAX ? desk->pending_count : HEALTH_WRITE_MAX;
    memcpy(writing->changes, desk->pending, writing->count * sizeof(*desk->pending));
    desk->writing = true;
    pthread_mutex_unlock(&desk->lock);
    enum err_code code = db_write(desk->app->db, write_changes, written, writing, &err);
    pthread_mutex_lock(&desk->lock);
    if (code == ERR_OK)
        return true;
    desk->writing = false;
    free(writing);
    return false;
}

static void *run(void *arg)
{
    struct health_desk *desk = arg;
    struct clock *clock = desk->app->clock;
    int64_t tick_ns = 0, retry_ns = 0;
    pthread_mutex_lock(&desk->lock);
    while (!desk->ended) {
        int64_t now_ns = clock->mono_ns(clock);
        if (now_ns >= tick_ns) {
            pthread_mutex_unlock(&desk->lock);
            tick(desk);
            tick_ns = clock->mono_ns(clock) + HEALTH_TICK_NS;
            pthread_mutex_lock(&desk->lock);
            continue;
        }
        if (desk->pending_count > 0 && !desk->writing && now_ns >= retry_ns) {
            size_t before = desk->pending_count;
            bool begun = begin_write(desk);
            while (begun && desk->writing && !desk->ended)
                pthread_cond_wait(&desk->changed, &desk->lock);
            if (!begun || desk->pending_count >= before)
                retry_ns = clock->mono_ns(clock) + NS_PER_S;
            continue;
        }
        bool waits = desk->pending_count > 0 && retry_ns < tick_ns && retry_ns > now_ns;
        struct timespec end = cond_deadline((waits ? retry_ns : tick_ns) - now_ns);
        (void)pthread_cond_timedwait(&desk->changed, &desk->lock, &end);
    }
    pthread_mutex_unlock(&desk->lock);
    return NULL;
}

/* A start -------------------------------------------------------------------------------------- */

static bool on_open(void *arg, const struct db_incident *row)
{
    struct health_desk *desk = arg;
    const struct health_rule *rule = health_rule_find(row->rule);
    struct health_subject subject = {
        .kind = (int)row->kind, .number = (uint32_t)row->number, .label = (uint32_t)row->label};
    text_copy(subject.device, sizeof(subject.device), row->device);
    struct health_node *node = rule == NULL ? NULL : health_node_get(desk, row->node);
    enum health_state state =
        strcmp(row->severity, "critical") == 0 ? HEALTH_CRITICAL : HEALTH_WARNING;
    struct err err = ERR_INIT;
    if (node == NULL ||
        health_restore(node->health, rule, &subject, state, row->opened_us, &err) != ERR_OK)
        log_warning("health", "incident %lld is not followed any more: no rule %s for it",
                    (long long)row->id, row->rule);
    return true;
}

static bool on_exclusion(void *arg, const struct db_exclusion *row)
{
    health_desk_exclude(arg, row);
    return true;
}

struct last_id {
    struct health_desk *desk;
    int64_t id;
    int rows;
};

static bool on_open_page(void *arg, const struct db_incident *row)
{
    struct last_id *last = arg;
    last->id = row->id;
    last->rows++;
    return on_open(last->desk, row);
}

static enum err_code load(struct db_ro *ro, void *arg, struct err *err)
{
    struct health_desk *desk = arg;
    const struct incident_filter open = {.open = 1, .acknowledged = -1, .root = -1};
    struct last_id last = {.desk = desk};
    enum err_code code;
    do {
        last.rows = 0;
        code = incident_list(ro, &open, last.id, DB_PAGE_MAX, on_open_page, &last, err);
    } while (code == ERR_OK && last.rows == DB_PAGE_MAX);
    return code == ERR_OK ? exclusion_list(ro, 0, EXCLUSIONS_MAX, on_exclusion, desk, err) : code;
}

enum err_code health_desk_new(struct app *app, struct health_desk **out, struct err *err)
{
    struct health_desk *desk = calloc(1, sizeof(*desk));
    if (desk == NULL)
        return err_nomem(err);
    desk->app = app;
    app->health_poked = true;
    pthread_mutex_init(&desk->lock, NULL);
    cond_init(&desk->changed);
    enum err_code code = health_book_new(&desk->book, err);
    if (code == ERR_OK)
        code = db_read_wait(app->db, load, desk, err);
    if (code == ERR_OK) {
        int rc = pthread_create(&desk->thread, NULL, run, desk);
        desk->has_thread = rc == 0;
        if (rc != 0)
            code = err_set_errno(err, ERR_IO, rc, "cannot start the thread of health");
    }
    if (code == ERR_OK)
        *out = desk;
    else
        health_desk_free(desk);
    return code;
}

static void stop(struct health_desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    desk->ended = true;
    pthread_cond_broadcast(&desk->changed);
    pthread_mutex_unlock(&desk->lock);
    if (desk->has_thread)
        pthread_join(desk->thread, NULL);
    pthread_mutex_lock(&desk->lock);
    while (desk->writing || desk->sweeping)
        pthread_cond_wait(&desk->changed, &desk->lock);
    for (bool begun = true; begun && desk->pending_count > 0;) {
        size_t before = desk->pending_count;
        begun = begin_write(desk);
        while (desk->writing)
            pthread_cond_wait(&desk->changed, &desk->lock);
        begun &= desk->pending_count < before;
    }
    pthread_mutex_unlock(&desk->lock);
}

void health_desk_free(struct health_desk *desk)
{
    if (desk == NULL)
        return;
    stop(desk);
    for (size_t i = 0; i < desk->node_count; i++)
        node_free(desk->nodes[i]);
    for (size_t i = 0; i < desk->exclusion_count; i++) {
        free(desk->exclusions[i].rule);
        free(desk->exclusions[i].subject);
    }
    free(desk->nodes);
    free(desk->pending);
    free(desk->exclusions);
    health_peers_free(desk->peers);
    health_book_free(desk->book);
    pthread_cond_destroy(&desk->changed);
    pthread_mutex_destroy(&desk->lock);
    free(desk);
}
