#pragma once
/*
 * datapath/sys/rdma_class.h - what sysfs knows of an RDMA device (/sys/class/infiniband/X). It
 * answers also where no device may be opened, and may hang with the device: call it aside.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define RDMA_CLASS_PORTS_MAX 16

/*
 * {"name", "device" (bus address), "software", "fw_version", "node_guid", "sys_image_guid",
 * "board_id", "model", "ports": [{"port", "state", "phys_state", "link_layer", "rate_bps"}]}. The
 * rate of a port that is not active is a placeholder and left out. NULL = no memory.
 */
json_t *rdma_class_facts(const char *root, const char *name);

/* Pure: "5: LinkUp" -> "linkup"; false = it is no state. */
bool rdma_class_state(const char *text, char *out, size_t size);
/* Pure: "200 Gb/sec (2X NDR)" -> 200000000000; -1 = unknown. */
int64_t rdma_class_rate(const char *text);
