#pragma once
/*
 * datapath/rdma_users.h - whether programs use RDMA on this node. Called before it is rebooted.
 */

#include "base/err.h"

/* Queue pairs of user programs on all RDMA devices; 0 when the kernel has none. root: prefix of
 * /sys for tests, "" in real life. Blocks as dp.h says, a device. Any thread. */
ERR_MUST_CHECK enum err_code rdma_users(const char *root, int *out, struct err *err);
