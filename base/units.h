#pragma once
/*
 * base/units.h - exact decimal bandwidth, sizes and shares. Never binary floating point.
 *
 * A bandwidth as users write it is either a share of a port ("40%", "12.5%") or an absolute rate
 * ("90Gbps", "2.5 Gbit" is refused: no blanks). Inside: int64 bits per second, or permyriad
 * (1/100 of a percent, 10000 = 100 %).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SHARE_PERMYRIAD_FULL 10000
#define RATE_BPS_MAX         INT64_C(1000000000000000) /* 10^15 bit/s: 1 Pbit/s */

enum bandwidth_kind {
    BANDWIDTH_NONE = 0, /* not given */
    BANDWIDTH_SHARE,
    BANDWIDTH_RATE,
};

struct bandwidth {
    enum bandwidth_kind kind;
    int32_t share_permyriad; /* BANDWIDTH_SHARE: 1..10000 */
    int64_t rate_bps;        /* BANDWIDTH_RATE: 1..RATE_BPS_MAX */
};

/*
 * Grammar: digits ["." digits] ("%" | "bps" | "Kbps" | "Mbps" | "Gbps" | "Kbit" | "Mbit" |
 * "Gbit"), ASCII only, no sign, no blank, no leading zeros but "0.". Share: at most two decimals,
 * 0 < share <= 100 %. Rate: must come out as whole bits per second, 0 < rate <= RATE_BPS_MAX.
 * Zero is refused: to many drivers 0 means "no limit". ERR_INVALID with a text that names the
 * input and what would pass.
 */
ERR_MUST_CHECK enum err_code bandwidth_parse(const char *text, struct bandwidth *out,
                                             struct err *err);

#define BANDWIDTH_TEXT_MAX 40
/* Shortest exact text: "40%", "12.5%", "90Gbps", "1500bps". BANDWIDTH_NONE -> "". */
void bandwidth_format(const struct bandwidth *bw, char out[BANDWIDTH_TEXT_MAX]);
void rate_format(int64_t rate_bps, char out[BANDWIDTH_TEXT_MAX]);
void share_format(int64_t share_permyriad, char out[BANDWIDTH_TEXT_MAX]);

/*
 * The rate of bw on a port of port_bps: shares are floored to whole bit/s, rates returned as they
 * are (they may exceed the port). 0 for BANDWIDTH_NONE. No overflow for port_bps <= RATE_BPS_MAX.
 */
int64_t bandwidth_on_port_bps(const struct bandwidth *bw, int64_t port_bps);

/*
 * The share of bw on a port in permyriad, rounded up (so that sums never look smaller than they
 * are). port_bps must be > 0.
 */
int64_t bandwidth_on_port_permyriad(const struct bandwidth *bw, int64_t port_bps);

#define SIZE_BYTES_MAX INT64_C(1000000000000000000) /* 10^18 */
/*
 * "1MB", "64KiB", "512B", "1.5MB": decimal KB MB GB and binary KiB MiB GiB; must come out as
 * whole bytes, 0 < bytes <= SIZE_BYTES_MAX.
 */
ERR_MUST_CHECK enum err_code size_parse(const char *text, int64_t *out_bytes, struct err *err);

/* Dotted numeric versions, part by part ("2.1.8" < "2.1.10"); missing parts are 0. -1, 0, 1;
 * parts may have any number of digits. ERR_INVALID when either is empty, has an empty part or
 * holds anything but digits and dots. */
ERR_MUST_CHECK enum err_code version_compare(const char *a, const char *b, int *out,
                                             struct err *err);
