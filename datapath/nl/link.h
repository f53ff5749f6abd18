#pragma once
/*
 * datapath/nl/link.h - network interfaces: list, MTU.
 */

#include "datapath/nl/nlx.h"

#define LINK_NAME_SIZE 16
#define LINKS_MAX      4096

struct link_info {
    int ifindex;
    char name[LINK_NAME_SIZE];
    char kind[32];          /* "" = no virtual kind (IFLA_INFO_KIND) */
    uint32_t mtu_bytes;     /* 0 = unknown */
    uint32_t mtu_min_bytes; /* 0 = unknown */
    uint32_t mtu_max_bytes; /* 0 = unknown */
};

struct link_list {
    struct link_info *items; /* owned */
    size_t count;
};
void link_list_release(struct link_list *list);
#define OWN_LINKS __attribute__((cleanup(link_list_release)))

/* ERR_LIMIT over LINKS_MAX. `out` is replaced. */
ERR_MUST_CHECK enum err_code link_list(struct nlx *nlx, struct link_list *out, struct err *err);
ERR_MUST_CHECK enum err_code link_get(struct nlx *nlx, int ifindex, struct link_info *out,
                                      struct err *err);
ERR_MUST_CHECK enum err_code link_set_mtu(struct nlx *nlx, int ifindex, uint32_t mtu_bytes,
                                          struct err *err);

struct nl_msg *link_encode(uint16_t type, int ifindex);
ERR_MUST_CHECK enum err_code link_decode(const struct nlmsghdr *msg, struct link_info *out,
                                         struct err *err);
