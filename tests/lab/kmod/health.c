// SPDX-License-Identifier: GPL-2.0
/*
 * devlink health: a reporter "fw". An error is reported by `devlink health test` or by a write to
 * debugfs health_report, always from a work item: devlink_health_report() takes the instance lock
 * to recover, and the test op is called with that lock held.
 */
#include "solar_rdma.h"

static int recover(struct devlink_health_reporter *reporter, void *context,
		   struct netlink_ext_ack *extack)
{
	struct solar_port *port = devlink_health_reporter_priv(reporter);

	if (READ_ONCE(port->health_recover_fails)) {
		NL_SET_ERR_MSG_MOD(extack, "recovery failed on demand");
		return -EIO;
	}
	WRITE_ONCE(port->health_syndrome, 0);
	return 0;
}

static int describe(struct solar_port *port, struct devlink_fmsg *fmsg)
{
	int err = devlink_fmsg_u32_pair_put(fmsg, "syndrome", READ_ONCE(port->health_syndrome));

	if (!err)
		err = devlink_fmsg_string_pair_put(fmsg, "firmware", port->fw[0].running);
	if (!err)
		err = devlink_fmsg_bool_pair_put(fmsg, "link_dead", port->link_dead);
	return err;
}

static int diagnose(struct devlink_health_reporter *reporter, struct devlink_fmsg *fmsg,
		    struct netlink_ext_ack *extack)
{
	return describe(devlink_health_reporter_priv(reporter), fmsg);
}

/* One of each shape that a reader must know: pairs, an array of numbers, a binary. */
static int dump(struct devlink_health_reporter *reporter, struct devlink_fmsg *fmsg,
		void *context, struct netlink_ext_ack *extack)
{
	static const u8 image[] = { 0x53, 0x4f, 0x4c, 0x00, 0xff };
	struct solar_port *port = devlink_health_reporter_priv(reporter);
	unsigned int i;
	int err = describe(port, fmsg);

	if (!err)
		err = devlink_fmsg_arr_pair_nest_start(fmsg, "rx_discards");
	for (i = 0; !err && i < SOLAR_PRIOS; i++)
		err = devlink_fmsg_u32_put(
			fmsg, atomic64_read(&port->counters.prio[i].rx_discards));
	if (!err)
		err = devlink_fmsg_arr_pair_nest_end(fmsg);
	if (!err)
		err = devlink_fmsg_binary_pair_put(fmsg, "registers", image, sizeof(image));
	return err;
}

static int test(struct devlink_health_reporter *reporter, struct netlink_ext_ack *extack)
{
	solar_health_report(devlink_health_reporter_priv(reporter), 1);
	return 0;
}

static const struct devlink_health_reporter_ops solar_health_ops = {
	.name = "fw",
	.recover = recover,
	.dump = dump,
	.diagnose = diagnose,
	.test = test,
};

static void report_work(struct work_struct *work)
{
	struct solar_port *port = container_of(work, struct solar_port, health_work);
	char text[48];

	snprintf(text, sizeof(text), "firmware syndrome %u", READ_ONCE(port->health_syndrome));
	devlink_health_report(port->health, text, NULL);
}

void solar_health_report(struct solar_port *port, u32 syndrome)
{
	WRITE_ONCE(port->health_syndrome, syndrome);
	schedule_work(&port->health_work);
}

int solar_health_create(struct solar_port *port)
{
	INIT_WORK(&port->health_work, report_work);
	port->health = devlink_health_reporter_create(port->devlink, &solar_health_ops, 0, port);
	return PTR_ERR_OR_ZERO(port->health);
}

void solar_health_destroy(struct solar_port *port)
{
	cancel_work_sync(&port->health_work);
	devlink_health_reporter_destroy(port->health);
}
