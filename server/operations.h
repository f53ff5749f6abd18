#pragma once
/*
 * server/operations.h - long work that a caller does not wait for: a row in the store (truth), and
 * what is under way in memory: progress, a wish to cancel, and whether it is too late for that.
 *
 *     running --> succeeded | failed | cancelled        a restart finds running: interrupted
 *
 * The end is written in the transaction of the work's effect, so that a row never says more or
 * less than what happened. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/own.h"
#include "db/db.h"
#include "db/operations.h"

#define OPERATIONS_RUNNING_MAX 4
#define OPERATION_ID_SIZE      40

struct operations;

ERR_MUST_CHECK enum err_code operations_new(struct operations **out, struct err *err);
void operations_free(struct operations *operations);
OWN_DEFINE(operations, struct operations *, operations_free)

/* Makes an id and stores a running operation. ERR_LIMIT: too many run. The id has a place in memory
 * until operations_end(). */
ERR_MUST_CHECK enum err_code operations_start(struct operations *operations, struct db_tx *tx,
                                              const char *kind, const char *actor, int64_t total,
                                              char out_id[OPERATION_ID_SIZE], struct err *err);
/* False: it is to be cancelled; stop and say so. */
bool operations_progress(struct operations *operations, const char *id, int64_t done);
/* The point of no return: false when it is to be cancelled, else it cannot be any more. */
bool operations_commit(struct operations *operations, const char *id);
/* Not stored (a full disk): it is shown as interrupted, and keeps its place until
 * operations_flush() has stored that. */
void operations_end(struct operations *operations, const char *id, bool stored);
/* Queues a write of the ends that could not be stored. Each minute, and before more is begun. */
void operations_flush(struct operations *operations, struct db *db);

enum operations_cancel {
    OPERATIONS_CANCELLED, /* it will stop */
    OPERATIONS_TOO_LATE,  /* it is past the point of no return */
    OPERATIONS_NOT_HERE,  /* it does not run */
};
enum operations_cancel operations_cancel(struct operations *operations, const char *id);

/* The row as callers see it, with the progress of one that runs; NULL = no memory. */
json_t *operations_to_json(struct operations *operations, const struct db_operation *row);
