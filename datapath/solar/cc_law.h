#pragma once
/*
 * datapath/solar/cc_law.h - one law of congestion control. Private to cc*.c.
 *
 * A law reads cleaned input (in range, finite) and sets rate_bps and window_bytes to anything;
 * cc.c brings them into range after each call.
 */

#include "datapath/solar/cc.h"

struct cc_law {
    const char *name;
    void (*init)(struct cc *cc);
    void (*on_ack)(struct cc *cc, const struct cc_ack *ack);
    void (*on_loss)(struct cc *cc, int64_t now_ns, int64_t lost_bytes);
    void (*on_tick)(struct cc *cc, int64_t now_ns); /* NULL = nothing to do */
};

extern const struct cc_law cc_law_solar, cc_law_solar_literal, cc_law_dcqcn, cc_law_swift,
    cc_law_hpcc;
