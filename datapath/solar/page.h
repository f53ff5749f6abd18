#pragma once
/*
 * datapath/solar/page.h - the control page of a port: what each label (job) gets of its line, as
 * the agent tells the processes that send there through a board (board.h). Pure.
 *
 * A page is public on its node: it has labels and numbers, no names and no keys. What stands in it
 * is hostile until page_decode() took it: every number is in the range that the arbiter and the
 * congestion control take, and every label is there once.
 *
 *    0 line_bps:64 | count:16 0:16 | interface (16 bytes, ends with 0)
 *   28 count labels:  label:32 | weight:16 dscp:8 priority:8 | guarantee:64 | limit:64 |
 *                     eta_micro:32 beta_micro:32          numbers are big-endian
 */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PAGE_LABELS_MAX   256 /* as many as the arbiter has */
#define PAGE_IFNAME_SIZE  16
#define PAGE_HEAD_SIZE    28
#define PAGE_LABEL_SIZE   32
#define PAGE_BYTES_MAX    (PAGE_HEAD_SIZE + PAGE_LABELS_MAX * PAGE_LABEL_SIZE)
#define PAGE_LINE_MIN_BPS INT64_C(1000000)
#define PAGE_LINE_MAX_BPS INT64_C(10000000000000)
#define PAGE_ETA_MAX      1000000   /* 1, in millionths; congestion control's ranges */
#define PAGE_BETA_MIN     1000      /* 0.001 */
#define PAGE_BETA_MAX     500000000 /* 500 */

struct page_label {
    uint32_t label;
    int weight; /* 1 to 10000 */
    int dscp;   /* 0 to 63 */
    int priority;
    int64_t guarantee_bps; /* 0 = none; not above the limit */
    int64_t limit_bps;     /* 0 = none */
    int32_t eta_micro;     /* of Solar-CC, in millionths; 0 = the library's */
    int32_t beta_micro;
};

struct page {
    int64_t line_bps;
    char ifname[PAGE_IFNAME_SIZE]; /* of the port, at the time it was written */
    size_t count;
    struct page_label labels[PAGE_LABELS_MAX]; /* by label */
};

/* ERR_INVALID says which label and number; ERR_LIMIT. */
ERR_MUST_CHECK enum err_code page_check(const struct page *page, struct err *err);
/* Of a page that page_check() takes (asserted); returns the length, at most PAGE_BYTES_MAX. */
size_t page_encode(const struct page *page, uint8_t out[PAGE_BYTES_MAX]);
ERR_MUST_CHECK enum err_code page_decode(const uint8_t *data, size_t len, struct page *out,
                                         struct err *err);
/* NULL = it is not there. */
const struct page_label *page_find(const struct page *page, uint32_t label);
