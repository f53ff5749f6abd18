#pragma once
/*
 * fleet/inventory_port.h - what a port's report holds besides what plans are made of. Private to
 * inventory.c.
 */

#include "base/json.h"
#include "fleet/inventory.h"

/* Reads these members of a port; sets what is absent to unknown first. */
void port_details_from_json(struct json_reader *r, struct port *port);
