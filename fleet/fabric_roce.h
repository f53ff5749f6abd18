#pragma once
/*
 * fleet/fabric_roce.h - private to fleet/fabric*.c: the profile's member "roce".
 */

#include "fleet/fabric.h"

/* After the priorities: the one that "roce" names must be there. */
void fabric_roce_from_json(struct json_reader *profile, struct fabric *fabric);
