#pragma once
/*
 * fleet/inventory_device.h - private to fleet/inventory*.c: what a port's device can take beyond
 * dcb and tc: RoCE's type of service and congestion control, who manages dcb, parameters, rates of
 * functions.
 */

#include "fleet/inventory.h"

/* Members of an open reader on "caps"; the caller ends it. */
void device_caps_from_json(struct json_reader *r, struct port *port);
