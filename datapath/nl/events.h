#pragma once
/*
 * datapath/nl/events.h - the kernel's announcements of changes: links, dcb, qdiscs and filters.
 */

#include "datapath/nl/nlx.h"

struct nl_events;

/* Who caused a change: the kernel tells the netlink port of whoever asked for tc alone. For dcb and
 * links it tells 0 (Linux 6.1), and an ioctl has no port. */
struct nl_change {
    const char *family; /* "link", "dcb", "tc": the first part of a knob kind */
    int ifindex;        /* 0 = unknown */
    char ifname[16];    /* "" = unknown */
    uint32_t port;      /* of who asked; 0 = unknown */
};
typedef void nl_change_fn(void *arg, const struct nl_change *change);

/* own_port: the port id whose changes are our own and no news (nlx_port); 0 = none. */
ERR_MUST_CHECK enum err_code nl_events_open(uint32_t own_port, struct nl_events **out,
                                            struct err *err);
void nl_events_close(struct nl_events *events);
OWN_DEFINE(nl_events, struct nl_events *, nl_events_close)

int nl_events_fd(const struct nl_events *events);
/* Who hears of each change that a drain reads; lost ones excepted. NULL = nobody. */
void nl_events_on_change(struct nl_events *events, nl_change_fn *fn, void *arg);
/* Reads all there is, never waits. Lost announcements count as a change of both. *out_links: an
 * interface came, went or is another, whoever did it. */
ERR_MUST_CHECK enum err_code nl_events_drain(struct nl_events *events, bool *out_changed,
                                             bool *out_links, struct err *err);

/* Whether one message tells of a change of something that we manage; *out (may be NULL) is then
 * filled. */
bool nl_events_relevant(const struct nlmsghdr *msg, uint32_t own_port, struct nl_change *out);
