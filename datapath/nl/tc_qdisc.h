#pragma once
/*
 * datapath/nl/tc_qdisc.h - qdiscs of one netdev: clsact, and htb or ets as root.
 */

#include "datapath/nl/nlx.h"
#include "datapath/value.h"

#define TC_KIND_SIZE 16

struct qdisc_info {
    bool present;
    char kind[TC_KIND_SIZE];
    uint32_t handle;          /* 0: a default that the kernel put there itself */
    bool known;               /* htb or ets, whose settings could be read: */
    struct qdisc_value value; /* default_class is a full class handle */
};

struct qdisc_state {
    struct qdisc_info root;
    bool clsact;
    bool ingress_other; /* an "ingress" qdisc stands where clsact would */
};

ERR_MUST_CHECK enum err_code tc_qdisc_get(struct nlx *nlx, int ifindex, struct qdisc_state *out,
                                          struct err *err);
/* ERR_CONFLICT when one is there. */
ERR_MUST_CHECK enum err_code tc_qdisc_add_clsact(struct nlx *nlx, int ifindex, struct err *err);
ERR_MUST_CHECK enum err_code tc_qdisc_add_root(struct nlx *nlx, int ifindex,
                                               const struct qdisc_value *value, struct err *err);
/* Of an ets that is there. */
ERR_MUST_CHECK enum err_code tc_qdisc_change_ets(struct nlx *nlx, int ifindex,
                                                 const struct qdisc_value *value, struct err *err);
ERR_MUST_CHECK enum err_code tc_qdisc_del_clsact(struct nlx *nlx, int ifindex, struct err *err);
ERR_MUST_CHECK enum err_code tc_qdisc_del_root(struct nlx *nlx, int ifindex, uint32_t handle,
                                               struct err *err);

struct nl_msg *tc_qdisc_encode_clsact(uint16_t type, uint16_t flags, int ifindex);
struct nl_msg *tc_qdisc_encode_htb(int ifindex, const struct qdisc_value *value);
struct nl_msg *tc_qdisc_encode_ets(uint16_t flags, int ifindex, const struct qdisc_value *value);
/* Takes one message of a dump into *state; those of other interfaces are ignored. */
ERR_MUST_CHECK enum err_code tc_qdisc_decode(const struct nlmsghdr *msg, int ifindex,
                                             struct qdisc_state *state, struct err *err);
