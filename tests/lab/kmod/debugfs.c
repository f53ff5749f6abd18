// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/solar_rdma/<netdev>/: every counter readable and settable, the device's fixed
 * properties, and faults on demand. The folder keeps the name the port was created with.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "solar_rdma.h"

static struct dentry *root;

/* ---- counters */

static int counter_get(void *data, u64 *value)
{
	*value = atomic64_read((atomic64_t *)data);
	return 0;
}

static int counter_set(void *data, u64 value)
{
	atomic64_set((atomic64_t *)data, value);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(counter_fops, counter_get, counter_set, "%llu\n");

static void counter_file(const char *name, struct dentry *dir, atomic64_t *counter)
{
	debugfs_create_file_unsafe(name, 0644, dir, counter, &counter_fops);
}

static void prio_files(struct dentry *dir, unsigned int prio, struct solar_prio_counters *c)
{
	const struct {
		const char *format;
		atomic64_t *counter;
	} files[] = {
		{ "tx_prio%u_packets", &c->tx_packets },   { "tx_prio%u_bytes", &c->tx_bytes },
		{ "rx_prio%u_packets", &c->rx_packets },   { "rx_prio%u_bytes", &c->rx_bytes },
		{ "tx_prio%u_pause", &c->tx_pause },	   { "rx_prio%u_pause", &c->rx_pause },
		{ "rx_prio%u_discards", &c->rx_discards },
		{ "rx_prio%u_pause_duration", &c->rx_pause_duration },
	};
	char name[32];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(name, sizeof(name), files[i].format, prio);
		counter_file(name, dir, files[i].counter);
	}
}

static void counter_files(struct dentry *parent, struct solar_counters *c)
{
	struct dentry *dir = debugfs_create_dir("counters", parent);
	unsigned int prio;

	counter_file("tx_packets", dir, &c->tx_packets);
	counter_file("tx_bytes", dir, &c->tx_bytes);
	counter_file("rx_packets", dir, &c->rx_packets);
	counter_file("rx_bytes", dir, &c->rx_bytes);
	counter_file("tx_dropped", dir, &c->tx_dropped);
	counter_file("rx_dropped", dir, &c->rx_dropped);
	counter_file("fcs", dir, &c->fcs);
	counter_file("symbol_errors", dir, &c->symbol_errors);
	counter_file("tx_global_pause", dir, &c->tx_global_pause);
	counter_file("rx_global_pause", dir, &c->rx_global_pause);
	counter_file("rx_ecn_marked", dir, &c->rx_ecn_marked);
	counter_file("fec_corrected", dir, &c->fec_corrected);
	counter_file("fec_uncorrectable", dir, &c->fec_uncorrectable);
	counter_file("link_flaps", dir, &c->link_flaps);
	for (prio = 0; prio < SOLAR_PRIOS; prio++)
		prio_files(dir, prio, &c->prio[prio]);
}

/* ---- the device */

static int carrier_get(void *data, u64 *value)
{
	*value = netif_carrier_ok(((struct solar_port *)data)->netdev);
	return 0;
}

static int carrier_set(void *data, u64 value)
{
	rtnl_lock();
	solar_port_set_carrier(data, value != 0);
	rtnl_unlock();
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(carrier_fops, carrier_get, carrier_set, "%llu\n");

static int speed_get(void *data, u64 *value)
{
	*value = ((struct solar_port *)data)->speed_mbps;
	return 0;
}

/* Unlike ethtool, any speed. The stack hears of it as of a new link. */
static int speed_set(void *data, u64 value)
{
	struct solar_port *port = data;

	if (value < 1 || value > INT_MAX)
		return -ERANGE;
	rtnl_lock();
	port->speed_mbps = value;
	netdev_state_change(port->netdev);
	rtnl_unlock();
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(speed_fops, speed_get, speed_set, "%llu\n");

static int tcam_get(void *data, u64 *value)
{
	*value = ((struct solar_port *)data)->tcam_entries;
	return 0;
}

/* Below what is in use: nothing is evicted, new rows are refused. */
static int tcam_set(void *data, u64 value)
{
	if (value > SOLAR_MAX_TCAM)
		return -ERANGE;
	((struct solar_port *)data)->tcam_entries = value;
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(tcam_fops, tcam_get, tcam_set, "%llu\n");

static void device_files(struct dentry *dir, struct solar_port *port)
{
	struct solar_pcie *pcie = &port->pcie;

	debugfs_create_file_unsafe("carrier", 0644, dir, port, &carrier_fops);
	debugfs_create_file_unsafe("speed_mbps", 0644, dir, port, &speed_fops);
	debugfs_create_file_unsafe("tcam_entries", 0644, dir, port, &tcam_fops);
	debugfs_create_u32("qdiscs_offloaded", 0444, dir, &port->qdiscs_used);
	debugfs_create_u32("tcam_used", 0444, dir, &port->tcam_used);
	debugfs_create_u32("buffer_total", 0644, dir, &port->dcb.buffer.total_size);
	debugfs_create_u32("pcie_gen", 0644, dir, &pcie->current_gen);
	debugfs_create_u32("pcie_max_gen", 0644, dir, &pcie->max_gen);
	debugfs_create_u32("pcie_width", 0644, dir, &pcie->current_width);
	debugfs_create_u32("pcie_max_width", 0644, dir, &pcie->max_width);
	debugfs_create_u32("aer_correctable", 0644, dir, &pcie->aer_correctable);
	debugfs_create_u32("aer_bad_tlp", 0644, dir, &pcie->aer_bad_tlp);
	debugfs_create_u32("aer_nonfatal", 0644, dir, &pcie->aer_nonfatal);
	debugfs_create_u32("aer_fatal", 0644, dir, &pcie->aer_fatal);
}

/* ---- firmware, health, rates: see flash.c, health.c, rate.c */

/* As a cold reboot: stored firmware and next-boot values come into effect, the link comes up. */
static int cold_reset_set(void *data, u64 value)
{
	struct solar_port *port = data;

	devl_lock(port->devlink);
	rtnl_lock();
	solar_port_set_carrier(port, false);
	solar_fw_activate(port);
	solar_devparam_apply(port);
	solar_dcb_reset(port);
	solar_port_set_carrier(port, true);
	rtnl_unlock();
	devl_unlock(port->devlink);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(cold_reset_fops, NULL, cold_reset_set, "%llu\n");

static int health_report_set(void *data, u64 value)
{
	solar_health_report(data, value);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(health_report_fops, NULL, health_report_set, "%llu\n");

static void vf_files(struct dentry *dir, struct solar_vf *vf, unsigned int i)
{
	char name[32];

	snprintf(name, sizeof(name), "vf%u_tx_share", i);
	debugfs_create_u64(name, 0444, dir, &vf->rate.tx_share);
	snprintf(name, sizeof(name), "vf%u_tx_max", i);
	debugfs_create_u64(name, 0444, dir, &vf->rate.tx_max);
	snprintf(name, sizeof(name), "vf%u_node", i);
	debugfs_create_u32(name, 0444, dir, &vf->node);
}

static void devlink_files(struct dentry *dir, struct solar_port *port)
{
	unsigned int i;

	debugfs_create_u32("flash_step_ms", 0644, dir, &port->flash_step_ms);
	debugfs_create_u32("flash_fail_percent", 0644, dir, &port->flash_fail_percent);
	debugfs_create_bool("activate_kills_link", 0644, dir, &port->activate_kills_link);
	debugfs_create_bool("activate_needs_reboot", 0644, dir, &port->activate_needs_reboot);
	debugfs_create_bool("link_dead", 0444, dir, &port->link_dead);
	debugfs_create_file_unsafe("cold_reset", 0200, dir, port, &cold_reset_fops);
	debugfs_create_file_unsafe("health_report", 0200, dir, port, &health_report_fops);
	debugfs_create_bool("health_recover_fails", 0644, dir, &port->health_recover_fails);
	debugfs_create_bool("enable_roce", 0444, dir, &port->params.enable_roce);
	debugfs_create_u32("io_eq_size", 0444, dir, &port->params.io_eq_size);
	for (i = 0; i < SOLAR_VFS; i++)
		vf_files(dir, &port->vfs[i], i);
}

/* ---- faults of setters */

static const char *const op_names[SOLAR_OPS] = {
	[SOLAR_OP_DCB] = "dcb",		  [SOLAR_OP_ETS] = "ets",
	[SOLAR_OP_PFC] = "pfc",		  [SOLAR_OP_MAXRATE] = "maxrate",
	[SOLAR_OP_APP] = "app",		  [SOLAR_OP_BUFFER] = "buffer",
	[SOLAR_OP_DCBX] = "dcbx",	  [SOLAR_OP_FLOWER] = "flower",
	[SOLAR_OP_PAUSE] = "pause",	  [SOLAR_OP_COALESCE] = "coalesce",
	[SOLAR_OP_FEC] = "fec",		  [SOLAR_OP_LINK] = "link",
	[SOLAR_OP_MTU] = "mtu",		  [SOLAR_OP_FLASH] = "flash",
	[SOLAR_OP_RELOAD] = "reload",	  [SOLAR_OP_PARAM] = "param",
	[SOLAR_OP_RATE] = "rate",	  [SOLAR_OP_CC] = "cc",
	[SOLAR_OP_QDISC] = "qdisc",
};

static void fault_files(struct dentry *dir, struct solar_port *port)
{
	char name[32];
	unsigned int op;

	for (op = 0; op < SOLAR_OPS; op++) {
		snprintf(name, sizeof(name), "fail_%s_set", op_names[op]);
		debugfs_create_u32(name, 0644, dir, &port->faults[op].fail);
		snprintf(name, sizeof(name), "ignore_%s_set", op_names[op]);
		debugfs_create_u32(name, 0644, dir, &port->faults[op].ignore);
	}
	debugfs_create_u32("op_delay_ms", 0644, dir, &port->op_delay_ms);
	debugfs_create_u32("cc_delay_ms", 0644, dir, &port->cc_delay_ms);
	debugfs_create_u32("fcs_every", 0644, dir, &port->fcs_every);
	debugfs_create_u32("ecn_every", 0644, dir, &port->ecn_every);
	debugfs_create_u8("dcbx_mode", 0644, dir, &port->dcb.dcbx);
	debugfs_create_bool("dcbx_refuses", 0644, dir, &port->dcbx_refuses);
	debugfs_create_bool("pfc_resets_link", 0644, dir, &port->pfc_resets_link);
}

/* Called by each setter under the rtnl lock, after it found the values valid. */
int solar_fault_check(struct solar_port *port, enum solar_op op)
{
	struct solar_fault *fault = &port->faults[op];

	if (port->op_delay_ms)
		msleep(port->op_delay_ms);
	if (fault->fail) {
		fault->fail--;
		return -EIO;
	}
	if (fault->ignore) {
		fault->ignore--;
		return SOLAR_SWALLOW;
	}
	return SOLAR_APPLY;
}

/* ---- folders */

void solar_debugfs_root_create(void)
{
	root = debugfs_create_dir(SOLAR_NAME, NULL);
}

void solar_debugfs_root_destroy(void)
{
	debugfs_remove_recursive(root);
}

void solar_debugfs_create(struct solar_port *port)
{
	port->debugfs = debugfs_create_dir(port->netdev->name, root);
	device_files(port->debugfs, port);
	devlink_files(port->debugfs, port);
	fault_files(port->debugfs, port);
	solar_cc_debugfs(port);
	counter_files(port->debugfs, &port->counters);
}

void solar_debugfs_destroy(struct solar_port *port)
{
	debugfs_remove_recursive(port->debugfs);
}
