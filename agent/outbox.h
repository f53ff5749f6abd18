#pragma once
/*
 * agent/outbox.h - receipts that the server has not acknowledged, oldest first, on disk
 * (STATE_DIR/receipt.json: {"version":1,"receipts":[...]}), so that they survive a restart.
 */

#include <stddef.h>

#include "base/clock.h"
#include "fleet/receipt.h"

#define OUTBOX_FILE "receipt.json"
#define OUTBOX_MAX  16 /* undelivered receipts; one more drops the second oldest, with a warning */

struct outbox {
    const char *state_dir; /* borrowed */
    const char *node;      /* borrowed */
    json_t *receipts;      /* array, owned */
};

/* Reads what was left of this node; a file that does not read back is set aside. */
ERR_MUST_CHECK enum err_code outbox_init(struct outbox *outbox, const char *state_dir,
                                         const char *node, struct clock *clock, struct err *err);
void outbox_release(struct outbox *outbox);

/* Durable when it returns ERR_OK; after an error the receipt is only in memory. */
ERR_MUST_CHECK enum err_code outbox_add(struct outbox *outbox, const struct receipt *receipt,
                                        struct err *err);
/* The oldest, borrowed; NULL = none. */
const json_t *outbox_first(const struct outbox *outbox);
/* The oldest was acknowledged (or can never be). */
ERR_MUST_CHECK enum err_code outbox_drop_first(struct outbox *outbox, struct err *err);
