#pragma once
/*
 * datapath/nl/rdma.h - RDMA devices and their ports over RDMA netlink (nldev): which netdev a
 * device belongs to, and its state. What libibverbs knows stands in datapath/verbs.
 */

#include "datapath/nl/nlx.h"

#define RDMA_NAME_SIZE   64
#define RDMA_DEVICES_MAX 256
#define RDMA_PORTS_MAX   1024

struct rdma_device {
    uint32_t index;
    uint32_t port_count;
    char name[RDMA_NAME_SIZE];
    char firmware[RDMA_NAME_SIZE]; /* "" = unknown */
};
struct rdma_port {
    uint32_t device;  /* index */
    uint32_t port;    /* from 1 */
    uint32_t ifindex; /* of its netdev; 0 = none */
    uint8_t state;    /* enum ib_port_state: 1 down, 2 init, 3 armed, 4 active; 0 = unknown */
};
struct rdma_list {
    size_t device_count, port_count;
    struct rdma_device devices[RDMA_DEVICES_MAX];
    struct rdma_port ports[RDMA_PORTS_MAX];
    bool truncated; /* there are more than fit */
};

/* nlx: NETLINK_RDMA. */
ERR_MUST_CHECK enum err_code rdma_list(struct nlx *nlx, struct rdma_list *out, struct err *err);

const char *rdma_state_name(uint8_t state); /* "down", "active", ...; NULL = unknown */

struct nl_msg *rdma_encode_devices(void);
struct nl_msg *rdma_encode_ports(uint32_t device);
ERR_MUST_CHECK enum err_code rdma_decode_device(const struct nlmsghdr *msg, struct rdma_device *out,
                                                struct err *err);
ERR_MUST_CHECK enum err_code rdma_decode_port(const struct nlmsghdr *msg, struct rdma_port *out,
                                              struct err *err);
