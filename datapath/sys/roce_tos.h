#pragma once
/*
 * datapath/sys/roce_tos.h - what rdma_cm gives a connection that asks for nothing: type of service
 * and RoCE version, per RDMA device and port, in configfs (drivers/infiniband/core/cma_configfs.c).
 * QPs that are made without rdma_cm choose for themselves.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define ROCE_TOS_MODE_SIZE 16

struct roce_tos {
    uint8_t tos;
    char mode[ROCE_TOS_MODE_SIZE]; /* "RoCE v2", "IB/RoCE v1" */
};

/* Whether this kernel shows rdma_cm in configfs at all. */
bool roce_tos_is_there(const char *root);

/*
 * The kernel shows a device only to whoever makes its folder, so reading makes it; that changes
 * nothing else. ERR_UNSUPPORTED says what to load or mount, or that rdma_cm does not know the
 * device or port.
 */
ERR_MUST_CHECK enum err_code roce_tos_get(const char *root, const char *device, uint32_t port,
                                          struct roce_tos *out, struct err *err);
ERR_MUST_CHECK enum err_code roce_tos_set(const char *root, const char *device, uint32_t port,
                                          const struct roce_tos *value, struct err *err);

/* As if they were read on this thread, for sys_watch_trace(). */
void roce_tos_seen(const char *root, const char *device, uint32_t port);
