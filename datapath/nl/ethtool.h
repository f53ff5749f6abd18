#pragma once
/*
 * datapath/nl/ethtool.h - link and features over ethtool netlink, driver text by the old ioctl
 * (which has no netlink counterpart).
 */

#include "datapath/nl/nlx.h"

#define ETHTOOL_TEXT_SIZE 33

struct ethtool_link {
    int64_t speed_bps; /* -1: unknown (no link, or the driver does not tell) */
    int autoneg;       /* 0, 1; -1 = unknown */
    int lanes;         /* -1 = unknown */
};
/* ERR_UNSUPPORTED: no such operation. */
ERR_MUST_CHECK enum err_code ethtool_link(struct nlx *nlx, const char *ifname,
                                          struct ethtool_link *out, struct err *err);
/* Whether hw-tc-offload is on, and whether it can be (the driver has it). */
struct ethtool_tc_offload {
    bool active;
    bool possible;
};
ERR_MUST_CHECK enum err_code ethtool_tc_offload_get(struct nlx *nlx, const char *ifname,
                                                    struct ethtool_tc_offload *out,
                                                    struct err *err);

struct ethtool_drvinfo_text {
    char driver[ETHTOOL_TEXT_SIZE];
    char firmware[ETHTOOL_TEXT_SIZE];
    char bus[ETHTOOL_TEXT_SIZE];
};
ERR_MUST_CHECK enum err_code ethtool_driver(const char *ifname, struct ethtool_drvinfo_text *out,
                                            struct err *err);

struct nl_msg *ethtool_encode(uint16_t family, uint8_t command, const char *ifname);
ERR_MUST_CHECK enum err_code ethtool_decode_speed(const struct nlmsghdr *msg, int64_t *out_bps,
                                                  struct err *err);
ERR_MUST_CHECK enum err_code ethtool_decode_link(const struct nlmsghdr *msg,
                                                 struct ethtool_link *out, struct err *err);
ERR_MUST_CHECK enum err_code ethtool_decode_tc_offload(const struct nlmsghdr *msg,
                                                       struct ethtool_tc_offload *out,
                                                       struct err *err);

/* Sends a command about an interface and runs on_reply for the answer. For the files
 * ethtool_*.c. */
ERR_MUST_CHECK enum err_code ethtool_query(struct nlx *nlx, uint8_t command, const char *ifname,
                                           nlx_reply_fn *on_reply, void *arg, struct err *err);
