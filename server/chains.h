#pragma once
/*
 * server/chains.h - the marking chains that a node told last, and what the store knows of the
 * neighbour behind a port. Any thread.
 */

#include "db/db.h"
#include "fleet/chain_report.h"
#include "fleet/inventory.h"

/* *out = NULL: it told none. received_us may be NULL. */
ERR_MUST_CHECK enum err_code chains_of(struct db_ro *ro, const char *node,
                                       struct chain_report **out, int64_t *received_us,
                                       struct err *err);
/* Appends what is found on them. */
ERR_MUST_CHECK enum err_code chains_find(struct db_ro *ro, const char *node,
                                         struct finding_list *findings, struct err *err);

/* {"verdict","why","switch"?,"port"?}, as chain_neighbour() has it; NULL = no memory. inventory: of
 * the node, or NULL. nameless: for who hears of no switch. out_verdict may be NULL. */
json_t *chains_neighbour(struct db_ro *ro, const struct chain *chain,
                         const struct inventory *inventory, bool nameless,
                         enum chain_verdict *out_verdict);
