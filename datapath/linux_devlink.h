#pragma once
/*
 * datapath/linux_devlink.h - what the devlink kinds share. Only knob_devlink_*.c and linux_caps.c
 * include it.
 */

#include "datapath/linux.h"
#include "datapath/nl/devlink_param.h"
#include "datapath/nl/devlink_rate.h"
#include "datapath/value.h"

/* A device's knobs stand on its first port: the others would only repeat them. */
bool linux_is_first_of_device(const struct dp_linux *dp, const struct dp_port *port);
/* The netlink socket for a device's devlink. ERR_UNSUPPORTED: the port stands on no device. */
ERR_MUST_CHECK enum err_code linux_devlink(struct dp_linux *dp, const struct dp_port *port,
                                           struct nlx **out, struct err *err);
