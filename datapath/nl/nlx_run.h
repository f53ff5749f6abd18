#pragma once
/*
 * datapath/nl/nlx_run.h - a long list of changes, in batches (nlx_batch) whose size follows the
 * time that the device takes: a fast one gets NLX_BATCH_MAX requests a send, a slow one few, so
 * that no run exceeds the time that it has.
 */

#include "datapath/nl/nlx.h"

/* Of one batch: well below the kernel's default of a socket's send buffer (212,992). */
#define NLX_RUN_BYTES_MAX (64 * 1024)

/* The request for change i, owned by the caller; NULL = no memory. */
typedef struct nl_msg *nlx_make_fn(void *arg, size_t i);

struct nlx_changes {
    nlx_make_fn *make;
    nlx_reply_fn *on_reply; /* of what the kernel shows of each (NLM_F_ECHO); NULL: not asked for */
    void *arg;              /* of both */
    size_t count;
};

/* How far a run came. */
struct nlx_run {
    size_t begun;  /* changes [0, begun) were sent; the kernel goes on behind one that it refuses */
    size_t failed; /* the first that failed; = begun: none did */
};

/*
 * Sends changes 0, 1, ... until one fails, or half of wait_ms is used up (ERR_OK with
 * begun < count; at least one is sent). The err is that of the first failure, as nlx_txn's, in the
 * kernel's words; what became of those begun behind it is not told.
 */
ERR_MUST_CHECK enum err_code nlx_run(struct nlx *nlx, const struct nlx_changes *changes,
                                     int wait_ms, struct nlx_run *out, struct err *err);
