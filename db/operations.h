#pragma once
/*
 * db/operations.h - rows of long work. Errors as in db/tables.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "db/db.h"

#define OPERATIONS_KEPT_US (INT64_C(30) * 86400 * 1000000) /* after their end */

struct db_operation {
    const char *id;    /* sorts by age */
    const char *kind;  /* "import" */
    const char *state; /* "running", "succeeded", "failed", "cancelled", "interrupted" */
    const char *actor;
    int64_t done, total;             /* of its own unit */
    const char *result;              /* JSON object; "" = none yet */
    int64_t created_us, finished_us; /* 0 = not yet */
};
typedef bool db_operation_fn(void *arg, const struct db_operation *operation);

/* A running one; created_us = now. Drops a few that ended longer ago than OPERATIONS_KEPT_US. */
ERR_MUST_CHECK enum err_code operation_add(struct db_tx *tx, const struct db_operation *operation,
                                           struct err *err);
/* ERR_NOT_FOUND when it does not run (any more). */
ERR_MUST_CHECK enum err_code
operation_finish(struct db_tx *tx, const struct db_operation *operation, struct err *err);
/* At start: what still runs by its row was interrupted. */
ERR_MUST_CHECK enum err_code operations_interrupt(struct db_tx *tx, struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code operation_get(struct db_ro *ro, const char *id, db_operation_fn *fn,
                                           void *arg, struct err *err);
/* Newest first; before NULL or "" = from the newest. */
ERR_MUST_CHECK enum err_code operation_list(struct db_ro *ro, const char *before, int limit,
                                            db_operation_fn *fn, void *arg, struct err *err);
