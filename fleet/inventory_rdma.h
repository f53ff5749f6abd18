#pragma once
/*
 * fleet/inventory_rdma.h - what RDMA devices add to ports. Private to fleet/inventory*.c.
 */

#include "fleet/inventory.h"

/* Fills rdma_port, gid_index and roce_address of the ports out of the document's rdma_devices. What
 * is missing or has another shape leaves them unknown: a newer agent may tell it differently. */
void rdma_ports_from_json(const json_t *devices, struct inventory *inventory);
