#pragma once
/*
 * datapath/dp_linux.h - the provider over this node's kernel: netlink, verbs, sysfs, procfs.
 */

#include "datapath/dp.h"

struct lldp_listen; /* datapath/lldp_listen.h */

struct dp_linux_config {
    const char *const *devices; /* interface names this node owns, NULL-terminated; NULL = every
                                   interface with a device that is no bridge, bond or virtual one */
    const char *root;           /* prefix of /sys, /proc, /etc for tests; NULL = "" */
    struct lldp_listen *lldp;   /* taken over, also on failure; NULL = neighbours are unknown */
    const char *nvml;           /* NVIDIA's management library; NULL = as it is called everywhere */
};

ERR_MUST_CHECK enum err_code dp_linux_new(const struct dp_linux_config *config, struct dp **out,
                                          struct err *err);
