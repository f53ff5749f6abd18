#pragma once
/*
 * datapath/sys/arp_conf.h - arp_announce, arp_ignore and rp_filter of an interface, in
 * /proc/sys/net/ipv4/conf. The kernel takes the larger of the interface's value and of conf/all's
 * (include/linux/inetdevice.h, IN_DEV_MAXCONF): what is in effect is told beside what is set.
 */

#include "fleet/arp.h"

struct arp_conf {
    struct arp own;       /* of the interface */
    struct arp effective; /* present where conf/all's is larger */
};

/* ERR_UNSUPPORTED: the interface has no IPv4 settings. */
ERR_MUST_CHECK enum err_code arp_conf_get(const char *root, const char *ifname,
                                          struct arp_conf *out, struct err *err);
/* ERR_CONFLICT: conf/all has a larger value, so that the wanted one would not be in effect. */
ERR_MUST_CHECK enum err_code arp_conf_check(const struct arp_conf *is, const char *ifname,
                                            const struct arp *want, struct err *err);
/* Sets the interface's, and only those that differ. */
ERR_MUST_CHECK enum err_code arp_conf_set(const char *root, const char *ifname,
                                          const struct arp *want, struct err *err);
/* Everything that `want` speaks of is set so, and in effect. */
bool arp_conf_covers(const struct arp_conf *is, const struct arp *want);

/* A knob's value: {"arp_ignore":1,"rp_filter":0}; as a state has it also
 * "effective":{"rp_filter":1}, which is not set. */
ERR_MUST_CHECK enum err_code arp_conf_from_json(const json_t *json, struct arp_conf *out,
                                                struct err *err);
json_t *arp_conf_to_json(const struct arp_conf *value); /* NULL = no memory */
