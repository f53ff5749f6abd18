#pragma once
/*
 * datapath/sys/uevents.h - devices that come and go, as the kernel announces them (uevents, by
 * libudev): RDMA devices, PCI functions, clocks. No udev daemon is needed.
 */

#include <stdbool.h>

#include "base/err.h"
#include "base/own.h"

struct uevents;

/* ERR_UNSUPPORTED: this process may not listen (a container). */
ERR_MUST_CHECK enum err_code uevents_open(struct uevents **out, struct err *err);
void uevents_close(struct uevents *events);
OWN_DEFINE(uevents, struct uevents *, uevents_close)

int uevents_fd(const struct uevents *events);
/* Reads all there is, never waits; whether a device that an inventory tells of came, went or was
 * bound to another driver. *out_knobs becomes true when one did that has knobs and that netlink
 * does not announce. */
bool uevents_drain(struct uevents *events, bool *out_knobs);

/* Pure. "add" of "infiniband" is news, "change" of a disk is none. */
bool uevents_is_news(const char *subsystem, const char *action);
/* Pure. RDMA devices: Linux 6.1 tells nobody else that they come. */
bool uevents_has_knobs(const char *subsystem, const char *action);
