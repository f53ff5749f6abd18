#pragma once
/*
 * fleet/fabric_roce.h - private to fleet/fabric*.c: the profile's members "roce" (fabric_roce.c),
 * "dcbx" and "devlink_params" (fabric_device.c).
 */

#include "fleet/fabric.h"

/* After the priorities: the one that "roce" names must be there. */
void fabric_roce_from_json(struct json_reader *profile, struct fabric *fabric);
void fabric_device_from_json(struct json_reader *profile, struct fabric *fabric);
