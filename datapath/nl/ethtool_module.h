#pragma once
/*
 * datapath/nl/ethtool_module.h - the transceiver or cable in a port: what its memory says it is.
 */

#include "datapath/nl/nlx.h"

#define ETHTOOL_MODULE_BYTES     256 /* lower memory and upper page 0 */
#define ETHTOOL_MODULE_TEXT_SIZE 17

struct ethtool_module {
    const char *kind; /* "SFP", "QSFP28", ...; static */
    char vendor[ETHTOOL_MODULE_TEXT_SIZE];
    char part[ETHTOOL_MODULE_TEXT_SIZE];
    char serial[ETHTOOL_MODULE_TEXT_SIZE];
};

/* ERR_UNSUPPORTED: the driver does not give it, or it is of no kind that we know; others: there is
 * no module, or its bus does not answer. */
ERR_MUST_CHECK enum err_code ethtool_module_get(struct nlx *nlx, const char *ifname,
                                                struct ethtool_module *out, struct err *err);

/* Pure. False: no kind that we know. The bytes are a cable's: texts lose what no reader takes. */
bool ethtool_module_decode(const uint8_t data[ETHTOOL_MODULE_BYTES], struct ethtool_module *out);

struct nl_msg *ethtool_encode_module(uint16_t family, const char *ifname, uint32_t offset,
                                     uint32_t length);
/* Copies the answer's bytes when there are exactly `length`. */
ERR_MUST_CHECK enum err_code ethtool_decode_module(const struct nlmsghdr *msg, uint8_t *out,
                                                   size_t length, struct err *err);
