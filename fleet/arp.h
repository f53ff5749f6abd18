#pragma once
/*
 * fleet/arp.h - how a port answers for addresses and takes packets when several ports of a node
 * are in one subnet: the kernel's arp_announce, arp_ignore and rp_filter (Documentation/networking/
 * ip-sysctl.rst), by these names in the profile and in the knob link.arp. Pure.
 */

#include <stdbool.h>

#include "base/json.h"

enum arp_id { /* in the order of their names */
              ARP_ANNOUNCE = 0,
              ARP_IGNORE,
              ARP_RP_FILTER,
              ARP_IDS,
};

struct arp_param {
    const char *name;
    int max; /* from 0 */
};
extern const struct arp_param arp_params[ARP_IDS];

static inline unsigned arp_bit(int id)
{
    return 1U << id;
}

/* {"arp_ignore":1}: each may be absent, which is not spoken of. */
struct arp {
    unsigned present; /* arp_bit() of each value that is there */
    int values[ARP_IDS];
};

/* Members of an open reader; the caller ends it. */
void arp_read(struct json_reader *r, struct arp *out);
json_t *arp_to_json(const struct arp *value); /* NULL = no memory */
