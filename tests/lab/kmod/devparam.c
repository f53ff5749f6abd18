// SPDX-License-Identifier: GPL-2.0
/*
 * devlink parameters, one of each kind: runtime, driverinit (asked for now, in effect after a
 * reload: debugfs enable_roce and io_eq_size show what is in effect) and permanent.
 */
#include "solar_rdma.h"

enum solar_param_id {
	SOLAR_PARAM_BASE = DEVLINK_PARAM_GENERIC_ID_MAX,
	SOLAR_PARAM_DCE_TCP_G,
	SOLAR_PARAM_STEERING,
};

#define SOLAR_DCE_TCP_G_MAX 1023
#define SOLAR_EQ_SIZE_MIN 64
#define SOLAR_EQ_SIZE_MAX 4096

static int get(struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx)
{
	const struct solar_devparams *params = &solar_port_of(devlink)->params;

	switch (id) {
	case SOLAR_PARAM_DCE_TCP_G:
		ctx->val.vu32 = params->dce_tcp_g;
		return 0;
	case SOLAR_PARAM_STEERING:
		strscpy(ctx->val.vstr, params->smfs ? "smfs" : "dmfs", sizeof(ctx->val.vstr));
		return 0;
	case DEVLINK_PARAM_GENERIC_ID_ENABLE_SRIOV:
		ctx->val.vbool = params->enable_sriov;
		return 0;
	case DEVLINK_PARAM_GENERIC_ID_FW_LOAD_POLICY:
		ctx->val.vu8 = params->fw_load_policy;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int set(struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx)
{
	struct solar_port *port = solar_port_of(devlink);
	struct solar_devparams *params = &port->params;
	int verdict = solar_fault_check(port, SOLAR_OP_PARAM);

	if (verdict != SOLAR_APPLY)
		return min(verdict, 0);
	switch (id) {
	case SOLAR_PARAM_DCE_TCP_G:
		params->dce_tcp_g = ctx->val.vu32;
		return 0;
	case SOLAR_PARAM_STEERING:
		params->smfs = !strcmp(ctx->val.vstr, "smfs");
		return 0;
	case DEVLINK_PARAM_GENERIC_ID_ENABLE_SRIOV:
		params->enable_sriov = ctx->val.vbool;
		return 0;
	case DEVLINK_PARAM_GENERIC_ID_FW_LOAD_POLICY:
		params->fw_load_policy = ctx->val.vu8;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int check_dce_tcp_g(struct devlink *devlink, u32 id, union devlink_param_value value,
			   struct netlink_ext_ack *extack)
{
	if (value.vu32 >= 1 && value.vu32 <= SOLAR_DCE_TCP_G_MAX)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "dce_tcp_g must be 1..1023");
	return -ERANGE;
}

static int check_steering(struct devlink *devlink, u32 id, union devlink_param_value value,
			  struct netlink_ext_ack *extack)
{
	if (!strcmp(value.vstr, "dmfs") || !strcmp(value.vstr, "smfs"))
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "flow_steering_mode must be dmfs or smfs");
	return -EINVAL;
}

static int check_eq_size(struct devlink *devlink, u32 id, union devlink_param_value value,
			 struct netlink_ext_ack *extack)
{
	if (value.vu32 >= SOLAR_EQ_SIZE_MIN && value.vu32 <= SOLAR_EQ_SIZE_MAX)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "io_eq_size must be 64..4096");
	return -ERANGE;
}

static int check_load_policy(struct devlink *devlink, u32 id, union devlink_param_value value,
			     struct netlink_ext_ack *extack)
{
	if (value.vu8 <= DEVLINK_PARAM_FW_LOAD_POLICY_VALUE_UNKNOWN)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "fw_load_policy must be 0..3");
	return -ERANGE;
}

static const struct devlink_param solar_params[] = {
	DEVLINK_PARAM_DRIVER(SOLAR_PARAM_DCE_TCP_G, "dce_tcp_g", DEVLINK_PARAM_TYPE_U32,
			     BIT(DEVLINK_PARAM_CMODE_RUNTIME), get, set, check_dce_tcp_g),
	DEVLINK_PARAM_DRIVER(SOLAR_PARAM_STEERING, "flow_steering_mode",
			     DEVLINK_PARAM_TYPE_STRING, BIT(DEVLINK_PARAM_CMODE_RUNTIME), get,
			     set, check_steering),
	DEVLINK_PARAM_GENERIC(ENABLE_ROCE, BIT(DEVLINK_PARAM_CMODE_DRIVERINIT), NULL, NULL, NULL),
	DEVLINK_PARAM_GENERIC(IO_EQ_SIZE, BIT(DEVLINK_PARAM_CMODE_DRIVERINIT), NULL, NULL,
			      check_eq_size),
	DEVLINK_PARAM_GENERIC(ENABLE_SRIOV, BIT(DEVLINK_PARAM_CMODE_PERMANENT), get, set, NULL),
	DEVLINK_PARAM_GENERIC(FW_LOAD_POLICY, BIT(DEVLINK_PARAM_CMODE_PERMANENT), get, set,
			      check_load_policy),
};

/* The driverinit values that were asked for come into effect. */
void solar_devparam_apply(struct solar_port *port)
{
	union devlink_param_value value;

	if (!devlink_param_driverinit_value_get(port->devlink,
						DEVLINK_PARAM_GENERIC_ID_ENABLE_ROCE, &value))
		port->params.enable_roce = value.vbool;
	if (!devlink_param_driverinit_value_get(port->devlink,
						DEVLINK_PARAM_GENERIC_ID_IO_EQ_SIZE, &value))
		port->params.io_eq_size = value.vu32;
}

int solar_devparam_create(struct solar_port *port)
{
	union devlink_param_value value;
	int err = devlink_params_register(port->devlink, solar_params, ARRAY_SIZE(solar_params));

	if (err)
		return err;
	port->params.dce_tcp_g = 1019;
	value.vbool = true;
	devlink_param_driverinit_value_set(port->devlink, DEVLINK_PARAM_GENERIC_ID_ENABLE_ROCE,
					   value);
	value.vu32 = 1024;
	devlink_param_driverinit_value_set(port->devlink, DEVLINK_PARAM_GENERIC_ID_IO_EQ_SIZE,
					   value);
	port->params.enable_roce = true;
	port->params.io_eq_size = 1024;
	return 0;
}

void solar_devparam_destroy(struct solar_port *port)
{
	devlink_params_unregister(port->devlink, solar_params, ARRAY_SIZE(solar_params));
}
