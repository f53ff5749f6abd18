/*
 * server/operations.c - see operations.h.
 */
#include "server/operations.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "server/api.h"

struct slot {
    char id[OPERATION_ID_SIZE]; /* "" = free */
    int64_t done;
    bool cancel, committed;
    bool lost; /* it has ended, but its row says that it runs */
};

struct operations {
    pthread_mutex_t lock;
    struct slot slots[OPERATIONS_RUNNING_MAX];
};

enum err_code operations_new(struct operations **out, struct err *err)
{
    struct operations *operations = calloc(1, sizeof(*operations));
    if (operations == NULL)
        return err_nomem(err);
    pthread_mutex_init(&operations->lock, NULL);
    *out = operations;
    return ERR_OK;
}

void operations_free(struct operations *operations)
{
    if (operations == NULL)
        return;
    pthread_mutex_destroy(&operations->lock);
    free(operations);
}

/* Under the lock; id "" = a free one. */
static struct slot *find(struct operations *operations, const char *id)
{
    for (size_t i = 0; i < OPERATIONS_RUNNING_MAX; i++)
        if (strcmp(operations->slots[i].id, id) == 0)
            return &operations->slots[i];
    return NULL;
}

enum err_code operations_start(struct operations *operations, struct db_tx *tx, const char *kind,
                               const char *actor, int64_t total, char out_id[OPERATION_ID_SIZE],
                               struct err *err)
{
    unsigned char noise[4];
    char hex[2 * sizeof(noise) + 1];
    random_bytes(noise, sizeof(noise));
    hex_encode(noise, sizeof(noise), hex);
    snprintf(out_id, OPERATION_ID_SIZE, "op-%014llx-%s", (unsigned long long)db_tx_now_us(tx), hex);
    pthread_mutex_lock(&operations->lock);
    struct slot *slot = find(operations, "");
    if (slot != NULL)
        memcpy(slot->id, out_id, OPERATION_ID_SIZE);
    pthread_mutex_unlock(&operations->lock);
    if (slot == NULL)
        return err_set(err, ERR_LIMIT, "%d operations are running; wait for one to end",
                       OPERATIONS_RUNNING_MAX);
    const struct db_operation row = {.id = out_id, .kind = kind, .actor = actor, .total = total};
    enum err_code code = operation_add(tx, &row, err);
    if (code != ERR_OK)
        operations_end(operations, out_id, true);
    return code;
}

bool operations_progress(struct operations *operations, const char *id, int64_t done)
{
    pthread_mutex_lock(&operations->lock);
    struct slot *slot = find(operations, id);
    bool go_on = slot == NULL || !slot->cancel;
    if (slot != NULL)
        slot->done = done;
    pthread_mutex_unlock(&operations->lock);
    return go_on;
}

bool operations_commit(struct operations *operations, const char *id)
{
    pthread_mutex_lock(&operations->lock);
    struct slot *slot = find(operations, id);
    bool go_on = slot == NULL || !slot->cancel;
    if (slot != NULL)
        slot->committed = go_on;
    pthread_mutex_unlock(&operations->lock);
    return go_on;
}

void operations_end(struct operations *operations, const char *id, bool stored)
{
    pthread_mutex_lock(&operations->lock);
    struct slot *slot = find(operations, id);
    if (slot != NULL && stored)
        *slot = (struct slot){.done = 0};
    else if (slot != NULL)
        slot->lost = true;
    pthread_mutex_unlock(&operations->lock);
}

struct lost {
    struct operations *operations;
    char ids[OPERATIONS_RUNNING_MAX][OPERATION_ID_SIZE];
    size_t count;
};

static enum err_code write_lost(struct db_tx *tx, void *arg, struct err *err)
{
    const struct lost *lost = arg;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < lost->count && code == ERR_OK; i++) {
        const struct db_operation row = {.id = lost->ids[i], .state = "interrupted"};
        code = operation_finish(tx, &row, err);
        if (code == ERR_NOT_FOUND)
            code = ERR_OK; /* another flush was faster */
    }
    return code;
}

static void wrote_lost(void *arg, enum err_code code, const struct err *err)
{
    struct lost *lost = arg;
    if (code != ERR_OK)
        log_warning("store", "operations that ended are not stored yet: %s", err->text);
    for (size_t i = 0; i < lost->count && code == ERR_OK; i++)
        operations_end(lost->operations, lost->ids[i], true);
    free(lost);
}

void operations_flush(struct operations *operations, struct db *db)
{
    struct err err = ERR_INIT;
    struct lost *lost = calloc(1, sizeof(*lost));
    if (lost == NULL)
        return; /* the next minute comes */
    lost->operations = operations;
    pthread_mutex_lock(&operations->lock);
    for (size_t i = 0; i < OPERATIONS_RUNNING_MAX; i++)
        if (operations->slots[i].lost)
            memcpy(lost->ids[lost->count++], operations->slots[i].id, OPERATION_ID_SIZE);
    pthread_mutex_unlock(&operations->lock);
    if (lost->count == 0)
        free(lost);
    else if (db_write(db, write_lost, wrote_lost, lost, &err) != ERR_OK)
        wrote_lost(lost, err.code, &err);
}

enum operations_cancel operations_cancel(struct operations *operations, const char *id)
{
    enum operations_cancel outcome = OPERATIONS_NOT_HERE;
    pthread_mutex_lock(&operations->lock);
    struct slot *slot = id[0] == '\0' ? NULL : find(operations, id);
    if (slot != NULL && !slot->lost) {
        outcome = slot->committed ? OPERATIONS_TOO_LATE : OPERATIONS_CANCELLED;
        slot->cancel = !slot->committed;
    }
    pthread_mutex_unlock(&operations->lock);
    return outcome;
}

/* Until its place is free, the commit that ended it may not be shown to everybody yet. */
json_t *operations_to_json(struct operations *operations, const struct db_operation *row)
{
    struct db_operation shown = *row;
    pthread_mutex_lock(&operations->lock);
    const struct slot *slot = find(operations, row->id);
    if (slot != NULL) {
        shown.state = slot->lost ? "interrupted" : "running";
        shown.done = slot->done;
        shown.finished_us = 0;
        shown.result = "";
    }
    pthread_mutex_unlock(&operations->lock);
    json_t *item = json_pack("{ss, ss, ss, ss, s{sI, sI}}", "id", shown.id, "kind", shown.kind,
                             "state", shown.state, "actor", shown.actor, "progress", "done",
                             (json_int_t)shown.done, "total", (json_int_t)shown.total);
    if (item == NULL)
        return NULL;
    api_set_time(item, "created", shown.created_us);
    api_set_time(item, "finished", shown.finished_us);
    if (shown.result[0] != '\0')
        json_object_set_new(item, "result", json_loads(shown.result, 0, NULL));
    return item;
}
