#pragma once
/*
 * fleet/ip_prefix.h - IPv4 and IPv6 networks as people write them: "10.9.0.0/24", "2001:db8::1".
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct ip_prefix {
    int family; /* AF_INET, AF_INET6, 0 = not given */
    uint8_t addr[16];
    int prefix_len;
};

/* ERR_INVALID: no address, a length that is none, or bits behind the prefix. */
ERR_MUST_CHECK enum err_code ip_prefix_parse(const char *text, struct ip_prefix *out,
                                             struct err *err);
/* "10.9.0.0/24"; a host's prefix length only when full. */
#define IP_PREFIX_TEXT_MAX 64
void ip_prefix_format(const struct ip_prefix *prefix, bool full, char out[IP_PREFIX_TEXT_MAX]);
/* Whether every address of `inner` is one of `outer`. */
bool ip_prefix_covers(const struct ip_prefix *outer, const struct ip_prefix *inner);
