#pragma once
/*
 * datapath/nl/ethtool_fec.h - forward error correction and the hardware clock of a port.
 */

#include "datapath/nl/nlx.h"

#define ETHTOOL_FEC_MODES 4 /* off, rs, baser, llrs */

struct ethtool_fec {
    bool automatic;                     /* the driver chooses */
    bool configured[ETHTOOL_FEC_MODES]; /* may be used, in the order of ethtool_fec_name() */
    int active;                         /* index of the mode in use; -1 = unknown or no link */
};
const char *ethtool_fec_name(int mode); /* "off", "rs", "baser", "llrs"; NULL = no such mode */

/* ERR_UNSUPPORTED: the driver has no FEC. */
ERR_MUST_CHECK enum err_code ethtool_fec_get(struct nlx *nlx, const char *ifname,
                                             struct ethtool_fec *out, struct err *err);

/* *out -1: the port has no hardware clock. */
ERR_MUST_CHECK enum err_code ethtool_clock_get(struct nlx *nlx, const char *ifname, int *out,
                                               struct err *err);

ERR_MUST_CHECK enum err_code ethtool_decode_fec(const struct nlmsghdr *msg, struct ethtool_fec *out,
                                                struct err *err);
ERR_MUST_CHECK enum err_code ethtool_decode_clock(const struct nlmsghdr *msg, int *out,
                                                  struct err *err);
