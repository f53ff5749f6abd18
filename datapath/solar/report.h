#pragma once
/*
 * datapath/solar/report.h - what a context tells the agent of one label, through a board of its own
 * in the folder of the label's job. Pure.
 *
 * The label is that of the folder, in which only the job may write: a report has none. What stands
 * in it is hostile until report_decode() took it, and no more than the word of its process: it can
 * say that it sends less than it does, or wants more; what it gets by that is in share.h.
 *
 *   0 process:64 | made_ns:64 | sent:64 | may:64 | pid:32 flags:8 0:8 count:16 | ifname (16)
 *  56 count queue pairs:  number:16 bad_paths:8 paths:8 0:32 | ten counters and gauges:64 |
 *     histogram (REPORT_BUCKETS:64)                        numbers are big-endian
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/page.h"
#include "fleet/histogram.h"

#define REPORT_QPS_MAX   64 /* of a context and label; the others are not told of: `truncated` */
#define REPORT_HEAD_SIZE 56
#define REPORT_VALUES    10
#define REPORT_QP_SIZE   (8 + 8 * REPORT_VALUES + 8 * HISTOGRAM_BUCKETS)
#define REPORT_BYTES_MAX (REPORT_HEAD_SIZE + REPORT_QPS_MAX * REPORT_QP_SIZE)

struct report_qp {
    uint16_t number;
    uint8_t paths, bad_paths;
    int64_t sent_bytes, sent_packets, received_bytes; /* counters; payload */
    int64_t resent_packets, lost_packets, spurious_packets, timeouts;
    int64_t rtt_ns;           /* smoothed; 0 = not known */
    int64_t rate_bps;         /* what congestion control allows */
    int64_t window_bytes;     /* what may be in flight */
    struct histogram latency; /* of operations, from posting to completion */
};

struct report {
    uint64_t process;   /* of the context: random, not 0 */
    int64_t made_ns;    /* the process's clock: only differences count */
    int64_t sent_bytes; /* on the wire, repairs and headers included; grows */
    int64_t may_bps;    /* the limit that it holds itself to; 0 = none */
    uint32_t pid;       /* in its own namespace: for people */
    bool waits;         /* it has more to send than it may */
    bool truncated;     /* there are more queue pairs */
    char ifname[PAGE_IFNAME_SIZE];
    size_t count;
    struct report_qp qps[REPORT_QPS_MAX];
};

size_t report_encode(const struct report *report, uint8_t out[REPORT_BYTES_MAX]);
/* ERR_INVALID: no report, or a number that none can be (negative, a queue pair twice). */
ERR_MUST_CHECK enum err_code report_decode(const uint8_t *data, size_t len, struct report *out,
                                           struct err *err);
