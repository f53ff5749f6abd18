#pragma once
/*
 * datapath/linux_watch.h - one descriptor for everything that the kernel announces: links, dcb and
 * tc (rtnetlink), devlink and ethtool, devices (uevents), and files that somebody wrote. What this
 * kernel or container does not offer is left out; the timed look finds it later. Private to
 * dp_linux.
 */

#include "datapath/nl/events.h"
#include "datapath/sys/watch.h"

struct linux_watch;

/* route: whose port id is our own; genl: to look groups up, may be NULL. */
ERR_MUST_CHECK enum err_code linux_watch_open(struct nlx *route, struct nlx *genl,
                                              struct linux_watch **out, struct err *err);
void linux_watch_close(struct linux_watch *watch);

/* One more, which its owner drains. */
ERR_MUST_CHECK enum err_code linux_watch_add(struct linux_watch *watch, int fd, struct err *err);
int linux_watch_fd(const struct linux_watch *watch);
int linux_watch_route_fd(const struct linux_watch *watch); /* rtnetlink's alone */
/* See nl_events_on_change(). */
void linux_watch_on_change(struct linux_watch *watch, nl_change_fn *fn, void *arg);
/* For sys_watch_trace(); borrowed. */
struct sys_watch *linux_watch_files(struct linux_watch *watch);
/* *out_changed: a knob may have another value. *out_devices: the inventory may be another. */
ERR_MUST_CHECK enum err_code linux_watch_drain(struct linux_watch *watch, bool *out_changed,
                                               bool *out_devices, struct err *err);
