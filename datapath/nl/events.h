#pragma once
/*
 * datapath/nl/events.h - the kernel's announcements of changes: links, dcb, qdiscs and filters.
 */

#include "datapath/nl/nlx.h"

struct nl_events;

/* own_port: the port id whose changes are our own and no news (nlx_port); 0 = none. */
ERR_MUST_CHECK enum err_code nl_events_open(uint32_t own_port, struct nl_events **out,
                                            struct err *err);
void nl_events_close(struct nl_events *events);
OWN_DEFINE(nl_events, struct nl_events *, nl_events_close)

int nl_events_fd(const struct nl_events *events);
/* Reads all there is, never waits. Lost announcements count as a change of both. *out_links: an
 * interface came, went or is another, whoever did it. */
ERR_MUST_CHECK enum err_code nl_events_drain(struct nl_events *events, bool *out_changed,
                                             bool *out_links, struct err *err);

/* Whether one message tells of a change of something that we manage. */
bool nl_events_relevant(const struct nlmsghdr *msg, uint32_t own_port);
