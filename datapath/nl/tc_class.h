#pragma once
/*
 * datapath/nl/tc_class.h - htb classes of one netdev.
 */

#include "datapath/nl/nlx.h"
#include "datapath/value.h"

#define TC_CLASSES_MAX 65536

struct class_info {
    uint32_t handle;
    struct class_value value; /* parent "5e11:" (minor 0) for a class right under the qdisc */
};
struct class_list {
    struct class_info *items; /* owned */
    size_t count;
};
void class_list_release(struct class_list *list);
#define OWN_CLASSES __attribute__((cleanup(class_list_release)))

/* The htb classes of major `major` (0x5e11). `out` is replaced. */
ERR_MUST_CHECK enum err_code tc_class_list(struct nlx *nlx, int ifindex, uint32_t major,
                                           struct class_list *out, struct err *err);
ERR_MUST_CHECK enum err_code tc_class_get(struct nlx *nlx, int ifindex, uint32_t handle,
                                          struct class_info *out, bool *out_present,
                                          struct err *err);
/* create: makes it (ERR_CONFLICT when there); else changes rate and ceil of the one that is there,
 * in place. */
ERR_MUST_CHECK enum err_code tc_class_set(struct nlx *nlx, int ifindex, uint32_t handle,
                                          const struct class_value *value, bool create,
                                          struct err *err);
ERR_MUST_CHECK enum err_code tc_class_del(struct nlx *nlx, int ifindex, uint32_t handle,
                                          struct err *err);

struct nl_msg *tc_class_encode(int ifindex, uint32_t handle, const struct class_value *value,
                               bool create);
struct nl_msg *tc_class_encode_del(int ifindex, uint32_t handle);
/* *out_htb false: a class of another kind or interface. */
ERR_MUST_CHECK enum err_code tc_class_decode(const struct nlmsghdr *msg, int ifindex,
                                             struct class_info *out, bool *out_htb,
                                             struct err *err);
