#pragma once
/*
 * fleet/fabric_host.h - private to fleet/fabric.c: members "host", "nccl" and "firmware_minimums".
 */

#include "base/json.h"
#include "fleet/fabric.h"

void fabric_host_from_json(struct json_reader *profile, struct fabric *fabric);
