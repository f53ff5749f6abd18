#pragma once
/*
 * datapath/rdma_users.h - whether programs use RDMA on this node. Called before it is rebooted, and
 * before a device's firmware is changed.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct rdma_list;
/* Whether list->devices[at] counts. */
typedef bool rdma_users_pick(void *arg, const struct rdma_list *list, size_t at);

/* Queue pairs of user programs on the picked RDMA devices (pick NULL: all); 0 when the kernel has
 * none. root: prefix of /sys for tests, "" in real life. Blocks as dp.h says, a device. Any
 * thread. */
ERR_MUST_CHECK enum err_code rdma_users(const char *root, rdma_users_pick *pick, void *arg,
                                        int *out, struct err *err);
