#pragma once
/*
 * fleet/coalesce.h - when a NIC interrupts for what it received or sent: after so many
 * microseconds or frames, or as the driver adapts it. The profile's host tuning, a port's
 * capability and the knob link.coalesce speak of it by these names. Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

enum coalesce_id { /* in the order of their names */
                   COALESCE_ADAPTIVE_RX = 0,
                   COALESCE_ADAPTIVE_TX,
                   COALESCE_RX_FRAMES,
                   COALESCE_RX_USECS,
                   COALESCE_TX_FRAMES,
                   COALESCE_TX_USECS,
                   COALESCE_IDS,
};

#define COALESCE_USECS_MAX  1000000
#define COALESCE_FRAMES_MAX 65535

struct coalesce_param {
    const char *name;
    uint32_t max; /* of what a profile may ask for; 1 = a boolean */
};
extern const struct coalesce_param coalesce_params[COALESCE_IDS];
int coalesce_param_get(const char *name); /* enum coalesce_id; -1 = unknown */

static inline unsigned coalesce_bit(int id)
{
    return 1U << id;
}

/* {"adaptive_rx":false,"rx_usecs":8}: each may be absent, which is not spoken of. */
struct coalesce {
    unsigned present; /* coalesce_bit() of each value that is there */
    uint32_t values[COALESCE_IDS];
};

/* Members of an open reader; the caller ends it. in_range: within the table's maximum, else 32 bits
 * (what a device shows is given back as it was). */
void coalesce_read(struct json_reader *r, bool in_range, struct coalesce *out);
/* A knob's value. ERR_INVALID names the member. */
ERR_MUST_CHECK enum err_code coalesce_from_json(const json_t *json, struct coalesce *out,
                                                struct err *err);
json_t *coalesce_to_json(const struct coalesce *value); /* NULL = no memory */
/* Everything that `want` speaks of is so in `is`. */
bool coalesce_covers(const struct coalesce *is, const struct coalesce *want);
