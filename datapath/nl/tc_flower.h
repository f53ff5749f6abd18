#pragma once
/*
 * datapath/nl/tc_flower.h - flower filters on the clsact hooks of one netdev.
 *
 * Composed by hand: libnl-route's flower has no ports and writes the DSCP unshifted into the TOS
 * key.
 */

#include "datapath/nl/nlx.h"
#include "datapath/value.h"

#define TC_FLOWERS_MAX 65536

struct flower_info {
    bool egress;
    uint32_t handle;
    uint32_t pref;
    bool ours;    /* the first action carries our mark */
    bool in_hw;   /* the kernel says that the NIC has it */
    bool foreign; /* keys, flags or actions that our values cannot tell */
    struct flower_value value;
};
struct flower_list {
    struct flower_info *items; /* owned */
    size_t count;
    size_t others; /* entries of other kinds of filter on the hook */
};
void flower_list_release(struct flower_list *list);
#define OWN_FLOWERS __attribute__((cleanup(flower_list_release)))

/* All flower filters of a hook, ours and others'. `out` is replaced. */
ERR_MUST_CHECK enum err_code tc_flower_list(struct nlx *nlx, int ifindex, bool egress,
                                            struct flower_list *out, struct err *err);
/* The filters with our preferences and one handle: [0] IPv4, [1] IPv6. Asked for in one batch. */
struct flower_found {
    struct flower_info items[2];
    bool present[2]; /* false: none, the item is not set */
};
ERR_MUST_CHECK enum err_code tc_flower_find(struct nlx *nlx, int ifindex, bool egress,
                                            uint32_t handle, struct flower_found *out,
                                            struct err *err);
/* replace: takes the place of the filter with this handle, in one step; else ERR_CONFLICT when one
 * is there. ERR_LIMIT: the flow table is full. */
ERR_MUST_CHECK enum err_code tc_flower_set(struct nlx *nlx, int ifindex, bool egress,
                                           uint32_t handle, const struct flower_value *value,
                                           bool replace, struct err *err);
ERR_MUST_CHECK enum err_code tc_flower_del(struct nlx *nlx, int ifindex, bool egress, bool ipv6,
                                           uint32_t handle, struct err *err);

/* True when the kernel cannot tell the two apart: rates count in bytes/s, bursts in ticks. */
bool tc_flower_same(const struct flower_value *a, const struct flower_value *b);

struct nl_msg *tc_flower_encode(int ifindex, bool egress, uint32_t handle,
                                const struct flower_value *value, bool replace);
struct nl_msg *tc_flower_encode_del(int ifindex, bool egress, bool ipv6, uint32_t handle);
enum flower_entry {
    FLOWER_ENTRY_NONE = 0, /* of another interface, or the head of a preference */
    FLOWER_ENTRY_FILTER,
    FLOWER_ENTRY_OTHER, /* a filter of another kind, or in another chain */
};
/* *out is set when *out_entry is FLOWER_ENTRY_FILTER. */
ERR_MUST_CHECK enum err_code tc_flower_decode(const struct nlmsghdr *msg, int ifindex,
                                              struct flower_info *out, enum flower_entry *out_entry,
                                              struct err *err);
