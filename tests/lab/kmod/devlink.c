// SPDX-License-Identifier: GPL-2.0
/* devlink: identity and firmware versions of a port's device. */
#include "solar_rdma.h"

static struct solar_port *port_of(struct devlink *devlink)
{
	return *(struct solar_port **)devlink_priv(devlink);
}

static int put_versions(struct devlink_info_req *req, const struct solar_port *port)
{
	int err = devlink_info_version_fixed_put(req, "fw.psid", SOLAR_FW_PSID);

	if (!err)
		err = devlink_info_version_running_put(req, "fw.version", port->fw_running);
	if (!err)
		err = devlink_info_version_running_put(req, "fw", port->fw_running);
	if (!err)
		err = devlink_info_version_stored_put(req, "fw.version", port->fw_stored);
	if (!err)
		err = devlink_info_version_stored_put(req, "fw", port->fw_stored);
	return err;
}

static int info_get(struct devlink *devlink, struct devlink_info_req *req,
		    struct netlink_ext_ack *extack)
{
	const struct solar_port *port = port_of(devlink);
	char serial[16];
	int err;

	snprintf(serial, sizeof(serial), "SOLAR%04u", port->index);
	err = devlink_info_driver_name_put(req, SOLAR_NAME);
	if (!err)
		err = devlink_info_serial_number_put(req, serial);
	return err ? err : put_versions(req, port);
}

static const struct devlink_ops solar_devlink_ops = { .info_get = info_get };

int solar_devlink_create(struct solar_port *port)
{
	struct devlink_port_attrs attrs = { .flavour = DEVLINK_PORT_FLAVOUR_PHYSICAL };
	struct devlink *devlink =
		devlink_alloc(&solar_devlink_ops, sizeof(struct solar_port *), &port->pdev->dev);
	int err;

	if (!devlink)
		return -ENOMEM;
	*(struct solar_port **)devlink_priv(devlink) = port;
	port->devlink = devlink;
	attrs.phys.port_number = port->index;
	devlink_port_attrs_set(&port->devlink_port, &attrs);
	err = devlink_port_register(devlink, &port->devlink_port, 0);
	if (err) {
		devlink_free(devlink);
		return err;
	}
	devlink_register(devlink);
	return 0;
}

void solar_devlink_destroy(struct solar_port *port)
{
	devlink_unregister(port->devlink);
	devlink_port_unregister(&port->devlink_port);
	devlink_free(port->devlink);
}
