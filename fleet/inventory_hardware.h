#pragma once
/*
 * fleet/inventory_hardware.h - the parts of an inventory that compatibility rules look at: PCIe
 * links, GPUs, the CPU. Private to inventory.c.
 */

#include "base/json.h"
#include "fleet/inventory.h"

/* Member "pcie" of a device. Also "unknown" in all parts when it is absent. */
void pcie_from_json(struct json_reader *device, struct pcie_link *out);

/* Members "gpus" and "cpu" of the inventory; problems are findings, ERR_NOMEM otherwise. */
ERR_MUST_CHECK enum err_code hardware_from_json(struct json_reader *r, struct inventory *out,
                                                struct err *err);
