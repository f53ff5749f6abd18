#pragma once
/*
 * server/chains.h - the marking chains that a node told last, from the store. Any thread.
 */

#include "db/db.h"
#include "fleet/chain_report.h"

/* *out = NULL: it told none. received_us may be NULL. */
ERR_MUST_CHECK enum err_code chains_of(struct db_ro *ro, const char *node,
                                       struct chain_report **out, int64_t *received_us,
                                       struct err *err);
/* Appends what is found on them. */
ERR_MUST_CHECK enum err_code chains_find(struct db_ro *ro, const char *node,
                                         struct finding_list *findings, struct err *err);
