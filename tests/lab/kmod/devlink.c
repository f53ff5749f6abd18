// SPDX-License-Identifier: GPL-2.0
/*
 * devlink: identity, ports and reload of a port's device. Parts with a file of their own: firmware
 * images (flash.c), parameters (devparam.c), rates of the virtual functions (rate.c), health
 * (health.c). The instance is published last and withdrawn first: no request meets half a device.
 */
#include <linux/rtnetlink.h>

#include "solar_rdma.h"

struct solar_port *solar_port_of(struct devlink *devlink)
{
	return *(struct solar_port **)devlink_priv(devlink);
}

/* ---- identity */

static int put_fixed(struct devlink_info_req *req)
{
	int err = devlink_info_version_fixed_put(req, "fw.psid", SOLAR_FW_PSID);

	if (!err)
		err = devlink_info_version_fixed_put(
			req, DEVLINK_INFO_VERSION_GENERIC_BOARD_ID, SOLAR_BOARD_ID);
	return err;
}

/* Only what may be named in a flash request is a component: "fw.version" says "fw" again. */
static int put_versions(struct devlink_info_req *req, const struct solar_port *port)
{
	const enum devlink_info_version_type component = DEVLINK_INFO_VERSION_TYPE_COMPONENT;
	const struct solar_fw *fw = port->fw;
	int i, err = devlink_info_version_running_put(req, "fw.version", fw->running);

	if (!err)
		err = devlink_info_version_stored_put(req, "fw.version", fw->stored);
	for (i = 0; !err && i < SOLAR_FWS; i++) {
		err = devlink_info_version_running_put_ext(req, solar_fw_names[i], fw[i].running,
							   component);
		if (!err)
			err = devlink_info_version_stored_put_ext(req, solar_fw_names[i],
								  fw[i].stored, component);
	}
	return err;
}

static int info_get(struct devlink *devlink, struct devlink_info_req *req,
		    struct netlink_ext_ack *extack)
{
	const struct solar_port *port = solar_port_of(devlink);
	char serial[16];
	int err;

	snprintf(serial, sizeof(serial), "SOLAR%04u", port->index);
	err = devlink_info_driver_name_put(req, SOLAR_NAME);
	if (!err)
		err = devlink_info_serial_number_put(req, serial);
	if (!err)
		err = put_fixed(req);
	return err ? err : put_versions(req, port);
}

/* ---- reload: the link goes down, and comes back unless the new firmware is a bad one */

static int reload_down(struct devlink *devlink, bool netns_change,
		       enum devlink_reload_action action, enum devlink_reload_limit limit,
		       struct netlink_ext_ack *extack)
{
	struct solar_port *port = solar_port_of(devlink);
	int verdict;

	if (netns_change) {
		NL_SET_ERR_MSG_MOD(extack, "the device stays in its network namespace");
		return -EOPNOTSUPP;
	}
	if (action == DEVLINK_RELOAD_ACTION_FW_ACTIVATE && port->activate_needs_reboot) {
		NL_SET_ERR_MSG_MOD(extack, "this firmware is activated by a cold reboot only");
		return -EOPNOTSUPP;
	}
	verdict = solar_fault_check(port, SOLAR_OP_RELOAD);
	if (verdict < 0) {
		NL_SET_ERR_MSG_MOD(extack, "fault on demand");
		return verdict;
	}
	port->reload_ignored = verdict == SOLAR_SWALLOW;
	rtnl_lock();
	port->reload_had_link = netif_carrier_ok(port->netdev) || port->link_dead;
	solar_port_set_carrier(port, false);
	rtnl_unlock();
	return 0;
}

static int reload_up(struct devlink *devlink, enum devlink_reload_action action,
		     enum devlink_reload_limit limit, u32 *performed,
		     struct netlink_ext_ack *extack)
{
	struct solar_port *port = solar_port_of(devlink);

	*performed = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT);
	if (action == DEVLINK_RELOAD_ACTION_FW_ACTIVATE)
		*performed |= BIT(DEVLINK_RELOAD_ACTION_FW_ACTIVATE);
	rtnl_lock();
	if (!port->reload_ignored) {
		if (action == DEVLINK_RELOAD_ACTION_FW_ACTIVATE)
			solar_fw_activate(port);
		solar_devparam_apply(port);
		solar_dcb_reset(port);
	}
	if (port->reload_had_link)
		solar_port_set_carrier(port, true);
	rtnl_unlock();
	return 0;
}

static const struct devlink_ops solar_devlink_ops = {
	.info_get = info_get,
	.reload_actions = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT) |
			  BIT(DEVLINK_RELOAD_ACTION_FW_ACTIVATE),
	.reload_down = reload_down,
	.reload_up = reload_up,
	.flash_update = solar_flash_update,
	.rate_leaf_tx_share_set = solar_rate_share_set,
	.rate_leaf_tx_max_set = solar_rate_max_set,
	.rate_leaf_parent_set = solar_rate_parent_set,
	.rate_node_new = solar_rate_node_new,
	.rate_node_del = solar_rate_node_del,
	.rate_node_tx_share_set = solar_rate_share_set,
	.rate_node_tx_max_set = solar_rate_max_set,
};

/* ---- life */

static int ports_create(struct solar_port *port)
{
	struct devlink_port_attrs attrs = { .flavour = DEVLINK_PORT_FLAVOUR_PHYSICAL };
	int err;

	attrs.phys.port_number = port->index;
	devlink_port_attrs_set(&port->devlink_port, &attrs);
	err = devlink_port_register(port->devlink, &port->devlink_port, 0);
	if (err)
		return err;
	err = solar_rate_create(port);
	if (err)
		devlink_port_unregister(&port->devlink_port);
	return err;
}

static void ports_destroy(struct solar_port *port)
{
	solar_rate_destroy(port);
	devlink_port_unregister(&port->devlink_port);
}

int solar_devlink_create(struct solar_port *port)
{
	int err;

	port->devlink =
		devlink_alloc(&solar_devlink_ops, sizeof(struct solar_port *), &port->pdev->dev);
	if (!port->devlink)
		return -ENOMEM;
	*(struct solar_port **)devlink_priv(port->devlink) = port;
	devlink_set_features(port->devlink, DEVLINK_F_RELOAD);
	err = solar_devparam_create(port);
	if (err)
		goto no_params;
	err = solar_health_create(port);
	if (err)
		goto no_health;
	err = ports_create(port);
	if (err)
		goto no_ports;
	return 0;

no_ports:
	solar_health_destroy(port);
no_health:
	solar_devparam_destroy(port);
no_params:
	devlink_free(port->devlink);
	return err;
}

void solar_devlink_publish(struct solar_port *port)
{
	devlink_register(port->devlink);
}

void solar_devlink_withdraw(struct solar_port *port)
{
	devlink_unregister(port->devlink);
}

void solar_devlink_destroy(struct solar_port *port)
{
	ports_destroy(port);
	solar_health_destroy(port);
	solar_devparam_destroy(port);
	devlink_free(port->devlink);
}
