/*
 * datapath/nl/tc_rate.c - see tc_rate.h.
 */
#include "datapath/nl/tc_rate.h"

#include <string.h>

#include <linux/pkt_sched.h>

/* One tick is 1 << PSCHED_SHIFT ns, include/net/pkt_sched.h; /proc/net/psched has told 64 since
 * 2.6.31. */
#define TICK_NS  64U
#define NS_PER_S UINT64_C(1000000000)
#define CELL_LOG 8 /* 65535 >> 8 = 255, the last cell of the table */
#define ETHERNET 1 /* TC_LINKLAYER_ETHERNET */

uint64_t tc_rate_bytes(int64_t rate_bps)
{
    return rate_bps <= 0 ? 0 : (uint64_t)rate_bps / 8;
}

int64_t tc_rate_bps(uint64_t rate_bytes)
{
    return rate_bytes > INT64_MAX / 8 ? INT64_MAX : (int64_t)(rate_bytes * 8);
}

uint32_t tc_ticks_of_size(uint64_t rate_bytes, uint64_t size_bytes)
{
    if (rate_bytes == 0)
        return UINT32_MAX;
    unsigned __int128 unit = (unsigned __int128)rate_bytes * TICK_NS;
    unsigned __int128 ticks = ((unsigned __int128)size_bytes * NS_PER_S + unit / 2) / unit;
    return ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
}

uint64_t tc_size_of_ticks(uint64_t rate_bytes, uint32_t ticks)
{
    unsigned __int128 size =
        ((unsigned __int128)rate_bytes * ticks * TICK_NS + NS_PER_S / 2) / NS_PER_S;
    return size > INT64_MAX ? INT64_MAX : (uint64_t)size;
}

void tc_rate_table(uint64_t rate_bytes, struct tc_ratespec *out_spec, uint32_t out_table[256])
{
    memset(out_spec, 0, sizeof(*out_spec));
    out_spec->rate = rate_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)rate_bytes;
    out_spec->cell_log = CELL_LOG;
    out_spec->cell_align = -1;
    out_spec->linklayer = ETHERNET;
    for (uint32_t i = 0; i < 256; i++)
        out_table[i] = tc_ticks_of_size(rate_bytes, (uint64_t)(i + 1) << CELL_LOG);
}
