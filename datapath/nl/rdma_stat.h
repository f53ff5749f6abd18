#pragma once
/*
 * datapath/nl/rdma_stat.h - queue pairs of user programs and what is counted of them (nldev RES_QP
 * and STAT). A driver without counters of queue pairs takes the request to count and counts nothing
 * (rxe): only what a dump shows is counted.
 */

#include "datapath/nl/nlx.h"
#include "datapath/nl/rdma.h"

#define RDMA_STAT_NAME_SIZE  64
#define RDMA_STAT_VALUES_MAX 64
#define RDMA_STAT_QPS_MAX    4096 /* of a device; more: truncated */

struct rdma_qp {
    uint32_t port; /* 0 = unknown */
    uint32_t number;
    uint32_t pid; /* 0 = not visible */
};
struct rdma_qp_list {
    size_t count;
    struct rdma_qp items[RDMA_STAT_QPS_MAX];
    bool truncated;
};
/* The device's queue pairs whose owners are programs. A device that has gone has none. */
ERR_MUST_CHECK enum err_code rdma_qps(struct nlx *nlx, uint32_t device, struct rdma_qp_list *out,
                                      struct err *err);

struct rdma_stat_value {
    char name[RDMA_STAT_NAME_SIZE];
    uint64_t value;
};
/* One counter set, and the queue pairs that it counts: several are counted together. */
struct rdma_stat {
    uint32_t port, id, pid;
    size_t qp_count; /* all of them; at most RDMA_STAT_VALUES_MAX numbers are kept */
    uint32_t qps[RDMA_STAT_VALUES_MAX];
    size_t value_count;
    struct rdma_stat_value values[RDMA_STAT_VALUES_MAX];
};
typedef bool rdma_stat_fn(void *arg, const struct rdma_stat *stat); /* false = enough */
/* Every set of the device that counts queue pairs. */
ERR_MUST_CHECK enum err_code rdma_stats(struct nlx *nlx, uint32_t device, rdma_stat_fn *fn,
                                        void *arg, struct err *err);

/* From now on one set counts each new queue pair's process and type of a port. Success says only
 * that the kernel took it. ERR_CONFLICT: queue pairs are counted otherwise already. */
ERR_MUST_CHECK enum err_code rdma_stat_auto(struct nlx *nlx, uint32_t device, uint32_t port,
                                            struct err *err);

struct nl_msg *rdma_encode_stats(uint32_t device);
struct nl_msg *rdma_encode_stat_auto(uint32_t device, uint32_t port);
ERR_MUST_CHECK enum err_code rdma_decode_qps(const struct nlmsghdr *msg, struct rdma_qp_list *out,
                                             struct err *err);
/* Calls fn for each set of one message. */
ERR_MUST_CHECK enum err_code rdma_decode_stats(const struct nlmsghdr *msg, rdma_stat_fn *fn,
                                               void *arg, struct err *err);
