#pragma once
/*
 * db/tables_private.h - what files of tables share among themselves.
 */

#include "db/stmt.h"
#include "db/store.h"

/* kind: "inventory", "state", "receipt". ERR_NOT_FOUND: no such node. */
ERR_MUST_CHECK enum err_code node_report_put(struct db_tx *tx, const char *node, const char *kind,
                                             const char *body, struct err *err);
