#pragma once
/*
 * datapath/solar/share.h - how a port's line is divided among the processes that send on it, so
 * that guarantees and limits of labels hold over all of them. Pure.
 *
 * The agent measures (report.h), divides with share_divide() and publishes the result through a
 * board beside the page; each process holds itself to its part. While nobody is in another's way
 * every label may have its limit, or the line, so that a burst need not ask. Else the line is
 * filled as the arbiter does: guarantees first, then by weight, and nobody gets more than it
 * wants; a label that could use more than it sends keeps what it would get if it wanted all. So a
 * process that lies about what it wants gets at most what its label is entitled to.
 *
 *   0 count:16 0:16 | count rows: process:64 | rate_bps:64
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/page.h"

#define SHARE_PROCESSES_MAX 1024 /* of a port; of all labels */
#define SHARE_HEAD_SIZE     4
#define SHARE_ROW_SIZE      16
#define SHARE_BYTES_MAX     (SHARE_HEAD_SIZE + SHARE_PROCESSES_MAX * SHARE_ROW_SIZE)
#define SHARE_RATE_MIN_BPS  INT64_C(100000) /* nobody gets less: it has to be able to ask */

struct share_process {
    uint64_t process;
    uint32_t label;
    int64_t sends_bps; /* measured */
    bool waits;        /* it has more to send than it may */
    int64_t may_bps;   /* what comes out */
};

/* Sets may_bps of each: 0 = as much as the page says. A label that the page does not have has
 * weight 1 and no limit. count <= SHARE_PROCESSES_MAX (asserted). */
void share_divide(const struct page *page, struct share_process *processes, size_t count);

size_t share_encode(const struct share_process *processes, size_t count,
                    uint8_t out[SHARE_BYTES_MAX]);
/* The rate of a process, from bytes that are hostile: 0 = as much as the page says. ERR_NOT_FOUND =
 * it is not named; ERR_INVALID. */
ERR_MUST_CHECK enum err_code share_find(const uint8_t *data, size_t len, uint64_t process,
                                        int64_t *out_bps, struct err *err);
