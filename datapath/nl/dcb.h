#pragma once
/*
 * datapath/nl/dcb.h - data centre bridging of one netdev over rtnetlink (RTM_GETDCB, RTM_SETDCB).
 *
 * The set commands answer their errno as one signed byte inside a data reply, and an attribute
 * whose driver operation is missing is ignored with success (net/dcb/dcbnl.c): one attribute goes
 * in a message, and callers read back. The kernel's unit of max rate, kbit/s, lives only in here.
 */

#include <linux/dcbnl.h>

#include "datapath/nl/nlx.h"
#include "datapath/value.h"

#define DCB_IFNAME_SIZE 16

/* What the driver answers; absent members are operations that it does not have. */
struct dcb_state {
    bool has_ets, has_pfc, has_app, has_maxrate, has_buffer;
    uint8_t ets_cap; /* traffic classes; with has_ets */
    struct ets_value ets;
    struct pfc_value pfc;
    struct app_value app;
    bool app_truncated; /* more than APP_VALUE_MAX entries */
    struct maxrate_value maxrate;
    struct buffer_value buffer;
    uint32_t buffer_total_bytes;
};

/* ERR_UNSUPPORTED: the driver has no dcb operations at all. */
ERR_MUST_CHECK enum err_code dcb_get(struct nlx *nlx, const char *ifname, struct dcb_state *out,
                                     struct err *err);
ERR_MUST_CHECK enum err_code dcb_set_ets(struct nlx *nlx, const char *ifname,
                                         const struct ets_value *value, struct err *err);
ERR_MUST_CHECK enum err_code dcb_set_pfc(struct nlx *nlx, const char *ifname,
                                         const struct pfc_value *value, struct err *err);
ERR_MUST_CHECK enum err_code dcb_set_maxrate(struct nlx *nlx, const char *ifname,
                                             const struct maxrate_value *value, struct err *err);
ERR_MUST_CHECK enum err_code dcb_set_buffer(struct nlx *nlx, const char *ifname,
                                            const struct buffer_value *value, struct err *err);
/* Adds what `have` lacks, then deletes what `want` lacks: a port never stands without entries in
 * between, which would switch its trust back to PCP. */
ERR_MUST_CHECK enum err_code dcb_set_app(struct nlx *nlx, const char *ifname,
                                         const struct app_value *have, const struct app_value *want,
                                         struct err *err);
/* Who runs the port's DCBX, as DCBX_* of value.h; false: the driver knows no modes. */
ERR_MUST_CHECK enum err_code dcb_get_mode(struct nlx *nlx, const char *ifname, bool *out_has,
                                          uint8_t *out, struct err *err);
/* ERR_UNSUPPORTED: the driver refuses the mode. */
ERR_MUST_CHECK enum err_code dcb_set_mode(struct nlx *nlx, const char *ifname, uint8_t mode,
                                          struct err *err);
/* Puts the port into host-managed IEEE mode where the driver knows modes and is in another.
 * *out_host says whether it is then; drivers without modes count as host-managed. */
ERR_MUST_CHECK enum err_code dcb_claim(struct nlx *nlx, const char *ifname, bool *out_host,
                                       struct err *err);

/* Pure parts, for tests: requests as messages (NULL = no memory), replies as values. */
struct nl_msg *dcb_encode(uint16_t type, uint8_t command, const char *ifname);
struct nl_msg *dcb_encode_ieee(uint8_t command, const char *ifname, int attr, const void *data,
                               size_t len);
struct nl_msg *dcb_encode_app(uint8_t command, const char *ifname, struct app_entry entry);
ERR_MUST_CHECK enum err_code dcb_decode(const struct nlmsghdr *msg, struct dcb_state *out,
                                        struct err *err);
/* The errno of a reply to a set, 0 = done. */
ERR_MUST_CHECK enum err_code dcb_decode_set(const struct nlmsghdr *msg, int *out, struct err *err);
ERR_MUST_CHECK enum err_code dcb_decode_mode(const struct nlmsghdr *msg, uint8_t *out,
                                             struct err *err);
