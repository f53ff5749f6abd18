// SPDX-License-Identifier: GPL-2.0
/*
 * ets, tbf and red in "hardware": accepted, shown as offloaded, not enforced: the software qdisc
 * above them goes on working, as for any driver that lets packets pass through the stack. A port
 * has room for SOLAR_QDISCS of them; beyond it, or with hw-tc-offload off, the qdisc stays in
 * software, which tc shows by leaving out "offloaded".
 */
#include <net/pkt_cls.h>
#include <net/red.h>

#include "solar_rdma.h"

static struct solar_qdisc *find(struct solar_port *port, u32 handle)
{
	unsigned int i;

	for (i = 0; i < SOLAR_QDISCS; i++)
		if (port->qdiscs[i].handle == handle)
			return &port->qdiscs[i];
	return NULL;
}

static int replace(struct solar_port *port, u32 handle)
{
	struct solar_qdisc *slot = find(port, handle);
	int verdict = solar_fault_check(port, SOLAR_OP_QDISC);

	if (verdict < 0)
		return verdict;
	if (verdict == SOLAR_SWALLOW || slot)
		return 0;
	slot = find(port, 0);
	if (!slot)
		return -ENOSPC;
	slot->handle = handle;
	port->qdiscs_used++;
	return 0;
}

/* Also of what was never taken: the core does not remember. */
static int destroy(struct solar_port *port, u32 handle)
{
	struct solar_qdisc *slot = find(port, handle);

	if (!slot || !handle)
		return 0;
	slot->handle = 0;
	port->qdiscs_used--;
	return 0;
}

/* Success is what makes a qdisc "offloaded"; the counts are the software's own. */
static int stats(struct solar_port *port, u32 handle)
{
	return handle && find(port, handle) ? 0 : -EOPNOTSUPP;
}

static int setup_ets(struct solar_port *port, const struct tc_ets_qopt_offload *ets)
{
	switch (ets->command) {
	case TC_ETS_REPLACE:
		if (ets->replace_params.bands > SOLAR_PRIOS)
			return -EOPNOTSUPP;
		return replace(port, ets->handle);
	case TC_ETS_DESTROY:
		return destroy(port, ets->handle);
	case TC_ETS_STATS:
		return stats(port, ets->handle);
	case TC_ETS_GRAFT:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int setup_tbf(struct solar_port *port, const struct tc_tbf_qopt_offload *tbf)
{
	switch (tbf->command) {
	case TC_TBF_REPLACE:
		return replace(port, tbf->handle);
	case TC_TBF_DESTROY:
		return destroy(port, tbf->handle);
	case TC_TBF_STATS:
		return stats(port, tbf->handle);
	case TC_TBF_GRAFT:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int setup_red(struct solar_port *port, const struct tc_red_qopt_offload *red)
{
	switch (red->command) {
	case TC_RED_REPLACE:
		return replace(port, red->handle);
	case TC_RED_DESTROY:
		return destroy(port, red->handle);
	case TC_RED_STATS:
	case TC_RED_XSTATS:
		return stats(port, red->handle);
	case TC_RED_GRAFT:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int solar_setup_qdisc(struct solar_port *port, enum tc_setup_type type, void *data)
{
	if (!(port->netdev->features & NETIF_F_HW_TC))
		return -EOPNOTSUPP;
	switch (type) {
	case TC_SETUP_QDISC_ETS:
		return setup_ets(port, data);
	case TC_SETUP_QDISC_TBF:
		return setup_tbf(port, data);
	case TC_SETUP_QDISC_RED:
		return setup_red(port, data);
	default:
		return -EOPNOTSUPP;
	}
}
