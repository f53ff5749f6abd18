// SPDX-License-Identifier: GPL-2.0
/* Module parameters with ranges, and the sysctl net.solar.flow_steering. */
#include <linux/module.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>

#include "solar_rdma.h"

struct solar_range {
	unsigned int value;
	const char *name;
	unsigned int min, max;
	bool power_of_two;
};

static int range_set(const char *text, const struct kernel_param *kp)
{
	struct solar_range *range = kp->arg;
	unsigned int value;
	int err = kstrtouint(text, 0, &value);

	if (err)
		return err;
	if (value < range->min || value > range->max ||
	    (range->power_of_two && !is_power_of_2(value))) {
		pr_notice("%s: %s=%u refused, allowed %u..%u%s\n", SOLAR_NAME, range->name, value,
			  range->min, range->max, range->power_of_two ? ", a power of two" : "");
		return -ERANGE;
	}
	range->value = value;
	return 0;
}

static int range_get(char *buffer, const struct kernel_param *kp)
{
	const struct solar_range *range = kp->arg;

	return sysfs_emit(buffer, "%u\n", range->value);
}

static const struct kernel_param_ops range_ops = { .set = range_set, .get = range_get };

static struct solar_range max_sge = { 32, "max_sge", 1, 256, false };
static struct solar_range qp_mtu = { 1024, "qp_mtu", 256, 4096, true };
static struct solar_range cq_moderation = { 0, "cq_moderation", 0, 1000, false };

module_param_cb(max_sge, &range_ops, &max_sge, 0644);
MODULE_PARM_DESC(max_sge, "scatter-gather entries a work request, 1..256 (default 32)");
module_param_cb(qp_mtu, &range_ops, &qp_mtu, 0444);
MODULE_PARM_DESC(qp_mtu, "path MTU of queue pairs: 256, 512, 1024, 2048, 4096 (default 1024)");
module_param_cb(cq_moderation, &range_ops, &cq_moderation, 0644);
MODULE_PARM_DESC(cq_moderation, "completion moderation in us, 0..1000 (default 0)");

unsigned int solar_pairs = 3;
module_param_named(pairs, solar_pairs, uint, 0444);
MODULE_PARM_DESC(pairs, "wired port pairs, 1..8 (default 3)");

unsigned int solar_tcam_entries = 64;
module_param_named(tcam_entries, solar_tcam_entries, uint, 0444);
MODULE_PARM_DESC(tcam_entries, "TCAM entries a port at load time (default 64)");

char *solar_fw_version = "2.1.8";
module_param_named(fw_version, solar_fw_version, charp, 0444);
MODULE_PARM_DESC(fw_version, "running and stored firmware version at load time (default 2.1.8)");

static struct solar_range cc = { SOLAR_CC_SYSFS, "cc", 0, SOLAR_CC_MAX, false };
module_param_cb(cc, &range_ops, &cc, 0444);
MODULE_PARM_DESC(cc, "congestion control files: 1 ecn/ in sysfs, 2 cc_params in debugfs, 3 both");

unsigned int solar_cc_views(void)
{
	return cc.value;
}

static int flow_steering;
static int flow_steering_max = 2;

static struct ctl_table solar_sysctls[] = {
	{
		.procname = "flow_steering",
		.data = &flow_steering,
		.maxlen = sizeof(flow_steering),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = &flow_steering_max,
	},
	{}
};

static struct ctl_table_header *sysctl_header;

int solar_sysctl_register(void)
{
	sysctl_header = register_net_sysctl(&init_net, "net/solar", solar_sysctls);
	return sysctl_header ? 0 : -ENOMEM;
}

void solar_sysctl_unregister(void)
{
	unregister_net_sysctl_table(sysctl_header);
}
