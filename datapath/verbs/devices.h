#pragma once
/*
 * datapath/verbs/devices.h - RDMA devices as libibverbs sees them; the only user of libibverbs
 * besides Solar-RDMA.
 */

#include <jansson.h>

#include "base/err.h"

#define VERBS_DEVICES_MAX 64
#define VERBS_PORTS_MAX   16
#define VERBS_GIDS_MAX    256 /* a device */

/*
 * [{"name","fw_version","max_sge","max_qp","ports":[{"port","state","link_layer","active_mtu",
 * "gids":[{"index","gid","type","netdev"}]}]}]; what is unknown is absent. A device that cannot be
 * opened or asked stands there with "problem". ERR_UNSUPPORTED: this kernel has no verbs.
 */
ERR_MUST_CHECK enum err_code verbs_devices(json_t **out, struct err *err);
