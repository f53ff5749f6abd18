#pragma once
/*
 * datapath/nl/ethtool_tune.h - pause frames of the whole link and interrupt moderation, over
 * ethtool netlink. Reading answers ERR_UNSUPPORTED where the driver has no such operation.
 */

#include "datapath/nl/nlx.h"
#include "datapath/value.h"
#include "fleet/coalesce.h"

/* As set, not as negotiated with the peer. */
ERR_MUST_CHECK enum err_code ethtool_pause_get(struct nlx *nlx, const char *ifname,
                                               struct pause_value *out, struct err *err);
ERR_MUST_CHECK enum err_code ethtool_pause_set(struct nlx *nlx, const char *ifname,
                                               const struct pause_value *value, struct err *err);

/* What the driver supports is present, also when it is 0. */
ERR_MUST_CHECK enum err_code ethtool_coalesce_get(struct nlx *nlx, const char *ifname,
                                                  struct coalesce *out, struct err *err);
/* What is not present is left alone. */
ERR_MUST_CHECK enum err_code ethtool_coalesce_set(struct nlx *nlx, const char *ifname,
                                                  const struct coalesce *value, struct err *err);

/* NULL = no memory. */
struct nl_msg *ethtool_encode_pause(uint16_t family, const char *ifname,
                                    const struct pause_value *value);
struct nl_msg *ethtool_encode_coalesce(uint16_t family, const char *ifname,
                                       const struct coalesce *value);
ERR_MUST_CHECK enum err_code ethtool_decode_pause(const struct nlmsghdr *msg,
                                                  struct pause_value *out, struct err *err);
ERR_MUST_CHECK enum err_code ethtool_decode_coalesce(const struct nlmsghdr *msg,
                                                     struct coalesce *out, struct err *err);
