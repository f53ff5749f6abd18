// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion control (DCQCN) parameters, stored and read back: no packet obeys them. Two views of
 * the same values, chosen by the module parameter cc (1: the first, 2: the second, 3: both):
 *   /sys/class/net/solarN/ecn/{roce_np,roce_rp}/...            as the vendor's own driver package
 *   /sys/kernel/debug/solar_rdma/solarN/cc_params/{np_,rp_}... as the driver of the kernel
 * Ranges and defaults are those of mlx5. The switch per priority exists in the first only.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>

#include "solar_rdma.h"

#define SOLAR_CC_MAX_MBPS 400000

struct solar_cc_file {
	const char *name;	/* below ecn/roce_*; NULL: not there */
	const char *debug_name; /* below cc_params */
	u32 min, max, initial;
	bool np; /* of the notification point, else of the reaction point */
};

static const struct solar_cc_file files[] = {
	{ "cnp_dscp", "np_cnp_dscp", 0, 63, 48, true },
	{ "cnp_802p_prio", "np_cnp_prio", 0, 7, 6, true },
	{ "min_time_between_cnps", "np_min_time_between_cnps", 0, 131071, 4, true },
	{ NULL, "np_cnp_prio_mode", 0, 1, 0, true },
	{ "clamp_tgt_rate", "rp_clamp_tgt_rate", 0, 1, 0, false },
	{ "clamp_tgt_rate_after_time_inc", "rp_clamp_tgt_rate_ati", 0, 1, 1, false },
	{ "dce_tcp_g", "rp_dce_tcp_g", 0, 1023, 1019, false },
	{ "dce_tcp_rtt", "rp_dce_tcp_rtt", 1, 131071, 1, false },
	{ "initial_alpha_value", "rp_initial_alpha_value", 1, 1023, 1023, false },
	{ "rate_reduce_monitor_period", "rp_rate_reduce_monitor_period", 0, 131071, 4, false },
	{ "rate_to_set_on_first_cnp", "rp_rate_to_set_on_first_cnp", 0, SOLAR_CC_MAX_MBPS, 0,
	  false },
	{ "rpg_ai_rate", "rp_ai_rate", 1, SOLAR_CC_MAX_MBPS, 5, false },
	{ "rpg_byte_reset", "rp_byte_reset", 0, 32767, 32767, false },
	{ "rpg_gd", "rp_gd", 10, 11, 11, false },
	{ "rpg_hai_rate", "rp_hai_rate", 1, SOLAR_CC_MAX_MBPS, 50, false },
	{ "rpg_max_rate", "rp_max_rate", 0, SOLAR_CC_MAX_MBPS, 0, false },
	{ "rpg_min_dec_fac", "rp_min_dec_fac", 0, 100, 50, false },
	{ "rpg_min_rate", "rp_min_rate", 1, SOLAR_CC_MAX_MBPS, 1, false },
	{ "rpg_threshold", "rp_threshold", 0, 31, 1, false },
	{ "rpg_time_reset", "rp_time_reset", 0, 131071, 300, false },
};

struct solar_cc_attr {
	struct kobj_attribute attr; /* first */
	char name[4];		    /* of a priority */
	unsigned int index;	    /* of a file, or priority */
	bool np;
};

/* One set for all ports: the port is found from the folder. */
static struct solar_cc_attr value_attrs[ARRAY_SIZE(files)];
static struct solar_cc_attr enable_attrs[2 * SOLAR_PRIOS];

/* As a device whose firmware does not answer: no signal ends it. */
static void stall(struct solar_port *port)
{
	u32 delay_ms = READ_ONCE(port->cc_delay_ms);

	if (delay_ms)
		msleep(delay_ms);
}

static u32 get_value(struct solar_port *port, unsigned int index)
{
	stall(port);
	return READ_ONCE(port->cc.values[index]);
}

static int set_value(struct solar_port *port, unsigned int index, u32 value)
{
	int verdict;

	stall(port);
	if (value < files[index].min || value > files[index].max)
		return -EINVAL;
	verdict = solar_fault_check(port, SOLAR_OP_CC);
	if (verdict == SOLAR_APPLY)
		WRITE_ONCE(port->cc.values[index], value);
	return min(verdict, 0);
}

/* ---- sysfs */

/* depth: folders up to that of the netdev */
static struct solar_port *port_above(struct kobject *kobj, unsigned int depth)
{
	while (depth--)
		kobj = kobj->parent;
	return netdev_priv(to_net_dev(kobj_to_dev(kobj)));
}

static ssize_t value_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct solar_cc_attr *cc = (const struct solar_cc_attr *)attr;

	return sysfs_emit(buf, "%u\n", get_value(port_above(kobj, 2), cc->index));
}

static ssize_t value_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			   size_t size)
{
	const struct solar_cc_attr *cc = (const struct solar_cc_attr *)attr;
	u32 value;
	int err = kstrtou32(buf, 0, &value);

	if (!err)
		err = set_value(port_above(kobj, 2), cc->index, value);
	return err ? err : (ssize_t)size;
}

static u8 *enable_mask(struct kobject *kobj, const struct solar_cc_attr *cc)
{
	struct solar_cc *state = &port_above(kobj, 3)->cc;

	return cc->np ? &state->np_enable : &state->rp_enable;
}

static ssize_t enable_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct solar_cc_attr *cc = (const struct solar_cc_attr *)attr;

	stall(port_above(kobj, 3));
	return sysfs_emit(buf, "%u\n", *enable_mask(kobj, cc) >> cc->index & 1);
}

static ssize_t enable_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			    size_t size)
{
	const struct solar_cc_attr *cc = (const struct solar_cc_attr *)attr;
	u8 *mask = enable_mask(kobj, cc);
	int verdict, err;
	u32 value;

	err = kstrtou32(buf, 0, &value);
	if (err)
		return err;
	if (value > 1)
		return -EINVAL;
	stall(port_above(kobj, 3));
	verdict = solar_fault_check(port_above(kobj, 3), SOLAR_OP_CC);
	if (verdict == SOLAR_APPLY)
		*mask = (*mask & ~BIT(cc->index)) | value << cc->index;
	return verdict < 0 ? verdict : (ssize_t)size;
}

static void attrs_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		struct solar_cc_attr *cc = &value_attrs[i];

		cc->attr = (struct kobj_attribute){ .attr = { files[i].name, 0644 },
						    .show = value_show,
						    .store = value_store };
		sysfs_attr_init(&cc->attr.attr);
		cc->index = i;
		cc->np = files[i].np;
	}
	for (i = 0; i < ARRAY_SIZE(enable_attrs); i++) {
		struct solar_cc_attr *cc = &enable_attrs[i];

		cc->index = i % SOLAR_PRIOS;
		cc->np = i < SOLAR_PRIOS;
		snprintf(cc->name, sizeof(cc->name), "%u", cc->index);
		cc->attr = (struct kobj_attribute){ .attr = { cc->name, 0644 },
						    .show = enable_show,
						    .store = enable_store };
		sysfs_attr_init(&cc->attr.attr);
	}
}

static int add_files(struct kobject *folder, struct solar_cc_attr *attrs, unsigned int count,
		     bool np)
{
	unsigned int i;
	int err;

	for (i = 0; i < count; i++) {
		if (attrs[i].np != np || !attrs[i].attr.attr.name)
			continue;
		err = sysfs_create_file(folder, &attrs[i].attr.attr);
		if (err)
			return err;
	}
	return 0;
}

static int add_side(struct solar_cc *cc, struct kobject **side, bool np)
{
	struct kobject **enable = side + 1;
	int err;

	*side = kobject_create_and_add(np ? "roce_np" : "roce_rp", cc->root);
	if (!*side)
		return -ENOMEM;
	*enable = kobject_create_and_add("enable", *side);
	if (!*enable)
		return -ENOMEM;
	err = add_files(*side, value_attrs, ARRAY_SIZE(value_attrs), np);
	return err ? err : add_files(*enable, enable_attrs, ARRAY_SIZE(enable_attrs), np);
}

static void sysfs_remove(struct solar_cc *cc)
{
	int i;

	for (i = ARRAY_SIZE(cc->folders) - 1; i >= 0; i--)
		kobject_put(cc->folders[i]);
	kobject_put(cc->root);
}

static int sysfs_add(struct solar_port *port)
{
	struct solar_cc *cc = &port->cc;
	int err;

	cc->root = kobject_create_and_add("ecn", &port->netdev->dev.kobj);
	if (!cc->root)
		return -ENOMEM;
	err = add_side(cc, &cc->folders[0], true);
	if (!err)
		err = add_side(cc, &cc->folders[2], false);
	if (err)
		sysfs_remove(cc);
	return err;
}

/* ---- debugfs */

/* The index of a value is its place in the array that the file points to. */
struct solar_cc_ref {
	struct solar_port *port;
	unsigned int index;
};

static int debug_get(void *data, u64 *value)
{
	const struct solar_cc_ref *ref = data;

	*value = get_value(ref->port, ref->index);
	return 0;
}

static int debug_set(void *data, u64 value)
{
	const struct solar_cc_ref *ref = data;

	return value > U32_MAX ? -EINVAL : set_value(ref->port, ref->index, value);
}

DEFINE_DEBUGFS_ATTRIBUTE(debug_fops, debug_get, debug_set, "%llu\n");

/* Below the port's folder, which goes with everything in it. */
void solar_cc_debugfs(struct solar_port *port)
{
	struct solar_cc_ref *refs;
	struct dentry *dir;
	unsigned int i;

	if (!(solar_cc_views() & SOLAR_CC_DEBUGFS))
		return;
	refs = devm_kcalloc(&port->pdev->dev, ARRAY_SIZE(files), sizeof(*refs), GFP_KERNEL);
	if (!refs)
		return;
	dir = debugfs_create_dir("cc_params", port->debugfs);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		refs[i] = (struct solar_cc_ref){ port, i };
		debugfs_create_file(files[i].debug_name, 0600, dir, &refs[i], &debug_fops);
	}
}

/* ---- life: after the netdev is registered, before it is unregistered */

int solar_cc_create(struct solar_port *port)
{
	unsigned int i;

	BUILD_BUG_ON(ARRAY_SIZE(files) != SOLAR_CC_VALUES);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		port->cc.values[i] = files[i].initial;
	port->cc.np_enable = 0xff;
	port->cc.rp_enable = 0xff;
	if (!(solar_cc_views() & SOLAR_CC_SYSFS))
		return 0;
	if (!value_attrs[0].attr.show)
		attrs_init();
	return sysfs_add(port);
}

void solar_cc_destroy(struct solar_port *port)
{
	if (port->cc.root)
		sysfs_remove(&port->cc);
}
