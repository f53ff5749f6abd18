#pragma once
/*
 * datapath/nl/devlink_rate.h - transmit rates of functions over devlink (DEVLINK_CMD_RATE_*): a
 * leaf is a function's port on the device that switches it (a VF of a PF), a node groups leaves.
 * The kernel's unit, bytes a second, lives only in here.
 *
 * Ports are named as the kernel names representors: "p0", "pf0vf1", "pf0sf88", "c1pf0vf1".
 */

#include "datapath/nl/nlx.h"
#include "datapath/value.h"

#define DEVLINK_PORT_NAME_SIZE 32
#define DEVLINK_PORTS_MAX      1024
#define DEVLINK_RATES_MAX      1024

struct devlink_port {
    uint32_t index;
    uint32_t ifindex; /* of its netdev (of a function: the representor's); 0 = none */
    bool is_vf;
    uint32_t pf, vf; /* with is_vf */
    char name[DEVLINK_PORT_NAME_SIZE];
};
struct devlink_port_list {
    struct devlink_port items[DEVLINK_PORTS_MAX];
    size_t count;
    bool truncated;
};

struct devlink_rate {
    bool is_node;
    uint32_t port_index;            /* of a leaf */
    char node[RATE_NODE_NAME_SIZE]; /* of a node */
    bool keep_parent;               /* of a leaf in a request: its parent is not spoken of */
    struct rate_value value;
};
struct devlink_rate_list {
    struct devlink_rate items[DEVLINK_RATES_MAX];
    size_t count;
    bool truncated;
};

/* Of one device; none is no error. ERR_UNSUPPORTED: the kernel has no devlink. */
ERR_MUST_CHECK enum err_code devlink_port_all(struct nlx *nlx, const char *bus, const char *device,
                                              struct devlink_port_list *out, struct err *err);
ERR_MUST_CHECK enum err_code devlink_rate_all(struct nlx *nlx, const char *bus, const char *device,
                                              struct devlink_rate_list *out, struct err *err);

enum devlink_rate_op {
    DEVLINK_RATE_SET = 0,
    DEVLINK_RATE_NEW, /* a node */
    DEVLINK_RATE_DEL, /* a node; CONFLICT while leaves are in it */
};
/* Sets all of rate->value: a rate of RATE_NONE takes the limit or guarantee away, no parent takes a
 * leaf out of its node. A leaf that has a parent can get none, but no other (CONFLICT): keep it, or
 * take it out first. The driver does one after the other and takes nothing back: read back. */
ERR_MUST_CHECK enum err_code devlink_rate_do(struct nlx *nlx, const char *bus, const char *device,
                                             enum devlink_rate_op op,
                                             const struct devlink_rate *rate, struct err *err);

/* bit/s to the kernel's bytes/s, rounded down. */
uint64_t devlink_rate_bytes(int64_t rate_bps);

/* Pure parts. NULL = no memory. *out_ours: the message is about this device. */
struct nl_msg *devlink_port_encode_all(uint16_t family);
struct nl_msg *devlink_rate_encode_all(uint16_t family);
struct nl_msg *devlink_rate_encode(uint16_t family, const char *bus, const char *device,
                                   enum devlink_rate_op op, const struct devlink_rate *rate);
ERR_MUST_CHECK enum err_code devlink_port_decode(const struct nlmsghdr *msg, const char *bus,
                                                 const char *device, struct devlink_port *out,
                                                 bool *out_ours, struct err *err);
ERR_MUST_CHECK enum err_code devlink_rate_decode(const struct nlmsghdr *msg, const char *bus,
                                                 const char *device, struct devlink_rate *out,
                                                 bool *out_ours, struct err *err);
