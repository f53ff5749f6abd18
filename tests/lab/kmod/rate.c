// SPDX-License-Identifier: GPL-2.0
/*
 * devlink rate: two virtual functions a device, each a devlink port with a rate leaf, and nodes to
 * put them under. Stored, not enforced: the functions have no netdev. devlink answers from its own
 * copy; what the device was told is in debugfs, vfN_tx_share, vfN_tx_max, vfN_node.
 */
#include "solar_rdma.h"

#define SOLAR_RATE_NODES 16
#define SOLAR_BYTES_PER_MBIT (1000 * 1000 / 8)

struct solar_rate_node {
	struct solar_rate rate;
	u32 id;
};

/* Bytes a second, whole Mb/s up to the speed of the link, as mlx5. */
static int check_rate(struct devlink_rate *leaf_or_node, u64 rate, struct netlink_ext_ack *extack)
{
	const struct solar_port *port = solar_port_of(leaf_or_node->devlink);
	u32 rest;
	u64 mbps = div_u64_rem(rate, SOLAR_BYTES_PER_MBIT, &rest);

	if (rest) {
		NL_SET_ERR_MSG_MOD(extack, "a rate must be a multiple of 1 Mb/s");
		return -EINVAL;
	}
	if (mbps > port->speed_mbps) {
		NL_SET_ERR_MSG_MOD(extack, "a rate must not exceed the speed of the link");
		return -EINVAL;
	}
	return solar_fault_check(solar_port_of(leaf_or_node->devlink), SOLAR_OP_RATE);
}

/* priv: of a leaf its solar_vf, of a node its solar_rate_node; both begin with the rate. */
int solar_rate_share_set(struct devlink_rate *leaf_or_node, void *priv, u64 rate,
			 struct netlink_ext_ack *extack)
{
	int verdict = check_rate(leaf_or_node, rate, extack);

	if (verdict == SOLAR_APPLY)
		((struct solar_rate *)priv)->tx_share = rate;
	return min(verdict, 0);
}

int solar_rate_max_set(struct devlink_rate *leaf_or_node, void *priv, u64 rate,
		       struct netlink_ext_ack *extack)
{
	int verdict = check_rate(leaf_or_node, rate, extack);

	if (verdict == SOLAR_APPLY)
		((struct solar_rate *)priv)->tx_max = rate;
	return min(verdict, 0);
}

int solar_rate_parent_set(struct devlink_rate *child, struct devlink_rate *parent,
			  void *priv_child, void *priv_parent, struct netlink_ext_ack *extack)
{
	struct solar_vf *vf = priv_child;
	const struct solar_rate_node *node = priv_parent;
	int verdict = solar_fault_check(solar_port_of(child->devlink), SOLAR_OP_RATE);

	/* Taking away must not fail: the core does it while it removes nodes. */
	if (!parent)
		vf->node = 0;
	else if (verdict == SOLAR_APPLY)
		vf->node = node->id;
	return parent ? min(verdict, 0) : 0;
}

int solar_rate_node_new(struct devlink_rate *node, void **priv, struct netlink_ext_ack *extack)
{
	struct solar_port *port = solar_port_of(node->devlink);
	struct solar_rate_node *new;
	int verdict = solar_fault_check(port, SOLAR_OP_RATE);

	if (verdict < 0)
		return verdict;
	if (port->rate_nodes >= SOLAR_RATE_NODES) {
		NL_SET_ERR_MSG_MOD(extack, "16 rate nodes is the maximum");
		return -ENOSPC;
	}
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->id = ++port->rate_node_last;
	port->rate_nodes++;
	*priv = new;
	return 0;
}

int solar_rate_node_del(struct devlink_rate *node, void *priv, struct netlink_ext_ack *extack)
{
	solar_port_of(node->devlink)->rate_nodes--;
	kfree(priv);
	return 0;
}

static int vf_create(struct solar_port *port, unsigned int i)
{
	struct solar_vf *vf = &port->vfs[i];
	int err;

	devlink_port_attrs_pci_vf_set(&vf->port, 0, 0, i, false);
	err = devl_port_register(port->devlink, &vf->port, 1 + i);
	if (err)
		return err;
	/* The core wants to hear a type within the hour; without a netdev there is none. */
	cancel_delayed_work_sync(&vf->port.type_warn_dw);
	err = devl_rate_leaf_create(&vf->port, vf);
	if (err)
		devl_port_unregister(&vf->port);
	return err;
}

static void vfs_destroy(struct solar_port *port, unsigned int count)
{
	devl_rate_nodes_destroy(port->devlink);
	while (count--) {
		devl_rate_leaf_destroy(&port->vfs[count].port);
		devl_port_unregister(&port->vfs[count].port);
	}
}

int solar_rate_create(struct solar_port *port)
{
	unsigned int i;
	int err = 0;

	devl_lock(port->devlink);
	for (i = 0; i < SOLAR_VFS; i++) {
		err = vf_create(port, i);
		if (err) {
			vfs_destroy(port, i);
			break;
		}
	}
	devl_unlock(port->devlink);
	return err;
}

void solar_rate_destroy(struct solar_port *port)
{
	devl_lock(port->devlink);
	vfs_destroy(port, SOLAR_VFS);
	devl_unlock(port->devlink);
}
