#pragma once
/*
 * datapath/nl/genl_events.h - announcements of devlink (devices and their ports come and go) and
 * ethtool (a setting of a link changed). Only that something is another, not what.
 */

#include "datapath/nl/nlx.h"

struct genl_events;

/* nlx: NETLINK_GENERIC, to look the groups up. ERR_UNSUPPORTED: this kernel has neither. */
ERR_MUST_CHECK enum err_code genl_events_open(struct nlx *nlx, struct genl_events **out,
                                              struct err *err);
void genl_events_close(struct genl_events *events);
OWN_DEFINE(genl_events, struct genl_events *, genl_events_close)

int genl_events_fd(const struct genl_events *events);
/* Reads all there is, never waits. Lost announcements count as a change. */
bool genl_events_drain(struct genl_events *events);

/* Pure: whether a message of the family is news. The progress of a flash is none. */
bool genl_events_is_news(bool devlink, uint8_t command);

/* Pure: the id of a multicast group in a family's description; 0 = it has none of this name. */
uint32_t genl_events_group(const struct nlmsghdr *msg, const char *name);
