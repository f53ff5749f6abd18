#pragma once
/*
 * datapath/nl/rdma_qp.h - whether user programs have queue pairs on an RDMA device (nldev).
 */

#include "datapath/nl/nlx.h"

struct nl_msg *rdma_encode_qps(uint32_t device);
/* How many queue pairs of user programs one message of the dump lists; the kernel's own do not
 * count. ERR_IO: it is malformed. */
ERR_MUST_CHECK enum err_code rdma_decode_user_qps(const struct nlmsghdr *msg, int *out,
                                                  struct err *err);

/* nlx: NETLINK_RDMA. device: its index (rdma.h). A device that has gone has none. */
ERR_MUST_CHECK enum err_code rdma_user_qps(struct nlx *nlx, uint32_t device, int *out_count,
                                           struct err *err);
