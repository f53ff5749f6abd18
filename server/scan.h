#pragma once
/*
 * server/scan.h - the fleet's hardware as the store has it, read node by node on a reader thread:
 * for lists over all nodes, which must not keep the writer thread from its work.
 */

#include <stdbool.h>

#include "db/db.h"
#include "fleet/fabric.h"
#include "fleet/inventory.h"

/* false = stop. */
typedef bool scan_fn(void *arg, const char *node, const struct inventory *inventory);

/* Nodes from `from` on (itself too; "" = all) that reported, by name. A report that does not read
 * any more is left out. */
ERR_MUST_CHECK enum err_code scan_inventories(struct db_ro *ro, const char *from, scan_fn *fn,
                                              void *arg, struct err *err);

/* The profile in force; NULL in *out = none. */
ERR_MUST_CHECK enum err_code scan_fabric(struct db_ro *ro, struct fabric **out, struct err *err);
