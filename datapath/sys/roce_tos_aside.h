#pragma once
/*
 * datapath/sys/roce_tos_aside.h - roce_tos.h on a thread of its own: configfs takes rdma_cm's lock
 * (drivers/infiniband/core/cma_configfs.c), which a device that does not come back may hold.
 */

#include "datapath/sys/aside.h"
#include "datapath/sys/roce_tos.h"

/* A port of an RDMA device below a root folder; borrowed texts. */
struct roce_tos_port {
    const char *root, *device;
    uint32_t port;
};

/* want NULL: reads *is. Else sets it, and is may be NULL. ERR_UNAVAILABLE: not within wait_ms, or
 * an earlier call for the device still is out; else as roce_tos_get() and roce_tos_set(). */
ERR_MUST_CHECK enum err_code roce_tos_ask(struct aside *aside, const struct roce_tos_port *at,
                                          const struct roce_tos *want, struct roce_tos *is,
                                          int wait_ms, struct err *err);
