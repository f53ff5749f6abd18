#pragma once
/*
 * datapath/verbs/devices.h - RDMA devices as libibverbs sees them; the only user of libibverbs
 * besides Solar-RDMA.
 */

#include <jansson.h>

#include "base/err.h"

#define VERBS_PORTS_MAX 16
#define VERBS_GIDS_MAX  256 /* a device */

/*
 * {"fw_version", "node_guid", "sys_image_guid", "vendor_id", "part_id", "hw_version", "max_sge",
 * "max_qp", "flow_steering", "ports": [{"port", "state", "link_layer", "active_mtu", "max_mtu",
 * "gids": [{"index", "gid", "type", "netdev"}]}], "problem"} of the device of this name; what is
 * unknown is absent, a part that cannot be asked leaves "problem". May hang with its device.
 * ERR_NOT_FOUND: no verbs device has the name; ERR_IO: it cannot be opened; ERR_UNSUPPORTED: this
 * kernel has no verbs.
 */
ERR_MUST_CHECK enum err_code verbs_device(const char *name, json_t **out, struct err *err);

/* "f41d:6b03:00dc:f4f8" of eight bytes in network order. */
#define VERBS_GUID_SIZE 20
void verbs_guid_format(const void *guid, char out[VERBS_GUID_SIZE]);
