#pragma once
/*
 * db/tables_private.h - what files of tables share among themselves.
 */

#include "db/stmt.h"
#include "db/store.h"

/* kind: "inventory", "state", "receipt". ERR_NOT_FOUND: no such node. */
ERR_MUST_CHECK enum err_code node_report_put(struct db_tx *tx, const char *node, const char *kind,
                                             const char *body, struct err *err);

/*
 * The revision of a new row, in SQL: one more than that of any deleted row of tenants, placements,
 * nodes and users. So no revision of a name repeats when the name is made anew, and an ETag from
 * before its deletion never fits the new thing.
 */
#define REVISION_OF_NEW                                                                            \
    "coalesce((SELECT value FROM counters WHERE name = 'retired-revision'), 0) + 1"

/* Of tenant_delete(). */
ERR_MUST_CHECK enum err_code users_drop_tenant(struct db_tx *tx, const char *tenant,
                                               struct err *err);

/* For each row that is deleted, with its revision; 0 = there was none. */
ERR_MUST_CHECK enum err_code revision_retire(struct db_tx *tx, int64_t revision, struct err *err);
