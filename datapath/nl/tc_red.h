#pragma once
/*
 * datapath/nl/tc_red.h - red queues under the classes of our scheduler, found by their parent.
 */

#include "datapath/nl/nlx.h"
#include "datapath/value.h"

#define RED_LIST_MAX 65536 /* a class each */

struct red_info {
    uint32_t parent; /* class handle */
    struct red_value value;
};
struct red_list {
    struct red_info *items; /* owned */
    size_t count, room;
};
void red_list_release(struct red_list *list);
#define OWN_REDS __attribute__((cleanup(red_list_release)))

/* All red queues whose parent's major is `major`. */
ERR_MUST_CHECK enum err_code tc_red_list(struct nlx *nlx, int ifindex, uint32_t major,
                                         struct red_list *out, struct err *err);
/* Makes or changes it. */
ERR_MUST_CHECK enum err_code tc_red_set(struct nlx *nlx, int ifindex, uint32_t parent,
                                        const struct red_value *value, struct err *err);
ERR_MUST_CHECK enum err_code tc_red_del(struct nlx *nlx, int ifindex, uint32_t parent,
                                        struct err *err);

struct nl_msg *tc_red_encode(int ifindex, uint32_t parent, const struct red_value *value);
struct nl_msg *tc_red_encode_del(int ifindex, uint32_t parent);
/* *out_red: the message is of a red queue of that interface, else *out is untouched. */
ERR_MUST_CHECK enum err_code tc_red_decode(const struct nlmsghdr *msg, int ifindex,
                                           struct red_info *out, bool *out_red, struct err *err);
