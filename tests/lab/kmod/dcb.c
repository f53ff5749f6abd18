// SPDX-License-Identifier: GPL-2.0
/*
 * dcbnl: stored and read back; nothing is scheduled by it. The DSCP table also decides the priority
 * that a packet is counted under. Rounding and refusals follow mlx5 (see the rate and app setters).
 */
#include <linux/if_vlan.h>
#include <net/dcbnl.h>

#include "solar_rdma.h"

static struct solar_port *port_of(struct net_device *netdev)
{
	return netdev_priv(netdev);
}

void solar_dcb_init(struct solar_dcb *dcb)
{
	unsigned int i;

	dcb->ets.ets_cap = SOLAR_PRIOS;
	for (i = 0; i < SOLAR_PRIOS; i++)
		dcb->ets.prio_tc[i] = i;
	dcb->dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
	dcb->buffer.total_size = SOLAR_BUFFER_TOTAL;
	dcb->buffer.buffer_size[0] = SOLAR_BUFFER_TOTAL / 2;
}

/* As after a reload of the device: the defaults, and an empty app table. Under the rtnl lock. */
void solar_dcb_reset(struct solar_port *port)
{
	struct dcb_app app = { .selector = IEEE_8021QAZ_APP_SEL_DSCP };
	u32 total = port->dcb.buffer.total_size;

	for_each_set_bit(app.protocol, port->dcb.dscp_set, SOLAR_DSCPS) {
		app.priority = port->dcb.dscp_prio[app.protocol];
		dcb_ieee_delapp(port->netdev, &app);
	}
	memset(&port->dcb, 0, sizeof(port->dcb));
	solar_dcb_init(&port->dcb);
	port->dcb.buffer.total_size = total;
}

/* Trust: DSCP as soon as one DSCP entry exists, else the VLAN tag, else 0. */
unsigned int solar_dcb_prio(const struct solar_port *port, const struct sk_buff *skb, u8 tos,
			    bool is_ip)
{
	if (is_ip && !bitmap_empty(port->dcb.dscp_set, SOLAR_DSCPS))
		return port->dcb.dscp_prio[tos >> 2];
	if (skb_vlan_tag_present(skb))
		return skb_vlan_tag_get_prio(skb);
	return 0;
}

/* The common fault of all setters first, then the setter's own. */
static int dcb_fault(struct solar_port *port, enum solar_op op)
{
	int verdict = solar_fault_check(port, SOLAR_OP_DCB);

	return verdict == SOLAR_APPLY ? solar_fault_check(port, op) : verdict;
}

/* bnxt and ice take sets only while the host manages DCBX; mlx5 always does. */
static bool is_refused(const struct solar_port *port)
{
	return port->dcbx_refuses && !(port->dcb.dcbx & DCB_CAP_DCBX_HOST);
}

static int get_ets(struct net_device *netdev, struct ieee_ets *ets)
{
	*ets = port_of(netdev)->dcb.ets;
	return 0;
}

static int check_ets(const struct ieee_ets *ets)
{
	unsigned int i, sum = 0;
	bool any = false;

	for (i = 0; i < SOLAR_PRIOS; i++) {
		if (ets->prio_tc[i] >= SOLAR_PRIOS)
			return -EINVAL;
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS) {
			any = true;
			sum += ets->tc_tx_bw[i];
		} else if (ets->tc_tsa[i] != IEEE_8021QAZ_TSA_STRICT &&
			   ets->tc_tsa[i] != IEEE_8021QAZ_TSA_VENDOR) {
			return -EOPNOTSUPP;
		}
	}
	return any && sum != 100 ? -EINVAL : 0;
}

static int set_ets(struct net_device *netdev, struct ieee_ets *ets)
{
	struct solar_port *port = port_of(netdev);
	int verdict, err = check_ets(ets);

	if (err)
		return err;
	if (is_refused(port))
		return -EINVAL;
	verdict = dcb_fault(port, SOLAR_OP_ETS);
	if (verdict != SOLAR_APPLY)
		return min(verdict, 0);
	port->dcb.ets = *ets;
	port->dcb.ets.ets_cap = SOLAR_PRIOS;
	port->dcb.ets.willing = 0;
	port->dcb.ets.cbs = 0;
	return 0;
}

static int get_pfc(struct net_device *netdev, struct ieee_pfc *pfc)
{
	struct solar_port *port = port_of(netdev);
	unsigned int i;

	pfc->pfc_cap = SOLAR_PRIOS;
	pfc->pfc_en = port->dcb.pfc_en;
	pfc->delay = port->dcb.pfc_delay;
	for (i = 0; i < SOLAR_PRIOS; i++) {
		pfc->requests[i] = atomic64_read(&port->counters.prio[i].tx_pause);
		pfc->indications[i] = atomic64_read(&port->counters.prio[i].rx_pause);
	}
	return 0;
}

static int set_pfc(struct net_device *netdev, struct ieee_pfc *pfc)
{
	struct solar_port *port = port_of(netdev);
	bool changed = port->dcb.pfc_en != pfc->pfc_en;
	int verdict;

	if (is_refused(port))
		return -EINVAL;
	verdict = dcb_fault(port, SOLAR_OP_PFC);
	if (verdict != SOLAR_APPLY)
		return min(verdict, 0);
	port->dcb.pfc_en = pfc->pfc_en;
	if (pfc->delay)
		port->dcb.pfc_delay = pfc->delay;
	if (changed && port->pfc_resets_link && netif_carrier_ok(netdev)) {
		solar_port_set_carrier(port, false);
		solar_port_set_carrier(port, true);
	}
	return 0;
}

static int get_maxrate(struct net_device *netdev, struct ieee_maxrate *maxrate)
{
	BUILD_BUG_ON(sizeof(maxrate->tc_maxrate) != sizeof(port_of(netdev)->dcb.maxrate_kbps));
	memcpy(maxrate->tc_maxrate, port_of(netdev)->dcb.maxrate_kbps,
	       sizeof(maxrate->tc_maxrate));
	return 0;
}

/* Whole hardware units; 0 means no limit, so what would be rounded down to it is refused. */
static int set_maxrate(struct net_device *netdev, struct ieee_maxrate *maxrate)
{
	struct solar_port *port = port_of(netdev);
	u64 floored[SOLAR_PRIOS];
	unsigned int i;
	int verdict;

	for (i = 0; i < SOLAR_PRIOS; i++) {
		floored[i] = rounddown(maxrate->tc_maxrate[i], SOLAR_RATE_UNIT_KBPS);
		if (maxrate->tc_maxrate[i] && !floored[i])
			return -EINVAL;
	}
	verdict = dcb_fault(port, SOLAR_OP_MAXRATE);
	if (verdict != SOLAR_APPLY)
		return min(verdict, 0);
	memcpy(port->dcb.maxrate_kbps, floored, sizeof(floored));
	return 0;
}

static bool app_is_valid(const struct dcb_app *app)
{
	return app->selector == IEEE_8021QAZ_APP_SEL_DSCP && app->protocol < SOLAR_DSCPS &&
	       app->priority < SOLAR_PRIOS;
}

/* One priority a DSCP: a new entry takes the place of the old one; the same again is no error. */
static int set_app(struct net_device *netdev, struct dcb_app *app)
{
	struct solar_port *port = port_of(netdev);
	struct solar_dcb *dcb = &port->dcb;
	struct dcb_app old = *app;
	int verdict, err;

	if (!app_is_valid(app))
		return -EINVAL;
	verdict = dcb_fault(port, SOLAR_OP_APP);
	if (verdict != SOLAR_APPLY)
		return min(verdict, 0);
	old.priority = dcb->dscp_prio[app->protocol];
	if (test_bit(app->protocol, dcb->dscp_set))
		dcb_ieee_delapp(netdev, &old);
	err = dcb_ieee_setapp(netdev, app);
	if (err)
		return err;
	dcb->dscp_prio[app->protocol] = app->priority;
	set_bit(app->protocol, dcb->dscp_set);
	return 0;
}

static int del_app(struct net_device *netdev, struct dcb_app *app)
{
	struct solar_port *port = port_of(netdev);
	int verdict, err;

	if (!app_is_valid(app))
		return -EINVAL;
	if (!test_bit(app->protocol, port->dcb.dscp_set) ||
	    port->dcb.dscp_prio[app->protocol] != app->priority)
		return -ENOENT;
	verdict = dcb_fault(port, SOLAR_OP_APP);
	if (verdict != SOLAR_APPLY)
		return min(verdict, 0);
	err = dcb_ieee_delapp(netdev, app);
	if (err)
		return err;
	clear_bit(app->protocol, port->dcb.dscp_set);
	port->dcb.dscp_prio[app->protocol] = 0;
	return 0;
}

static int get_buffer(struct net_device *netdev, struct dcbnl_buffer *buffer)
{
	*buffer = port_of(netdev)->dcb.buffer;
	return 0;
}

static int set_buffer(struct net_device *netdev, struct dcbnl_buffer *buffer)
{
	struct solar_port *port = port_of(netdev);
	u32 total = port->dcb.buffer.total_size;
	unsigned int i;
	u64 sum = 0;
	int verdict;

	for (i = 0; i < SOLAR_PRIOS; i++) {
		if (buffer->prio2buffer[i] >= DCBX_MAX_BUFFERS)
			return -EINVAL;
		sum += buffer->buffer_size[i];
	}
	if (sum > total)
		return -EINVAL;
	verdict = dcb_fault(port, SOLAR_OP_BUFFER);
	if (verdict != SOLAR_APPLY)
		return min(verdict, 0);
	port->dcb.buffer = *buffer;
	port->dcb.buffer.total_size = total;
	return 0;
}

static u8 get_dcbx(struct net_device *netdev)
{
	return port_of(netdev)->dcb.dcbx;
}

/* 0 hands DCBX to the firmware; host mode is IEEE only. Returns 1 for "no", as the op wants. */
static u8 set_dcbx(struct net_device *netdev, u8 mode)
{
	struct solar_port *port = port_of(netdev);
	int verdict;

	if (mode && mode != (DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE))
		return 1;
	verdict = dcb_fault(port, SOLAR_OP_DCBX);
	if (verdict == SOLAR_APPLY)
		port->dcb.dcbx = mode;
	return verdict < 0;
}

const struct dcbnl_rtnl_ops solar_dcbnl_ops = {
	.ieee_getets = get_ets,
	.ieee_setets = set_ets,
	.ieee_getpfc = get_pfc,
	.ieee_setpfc = set_pfc,
	.ieee_getmaxrate = get_maxrate,
	.ieee_setmaxrate = set_maxrate,
	.ieee_setapp = set_app,
	.ieee_delapp = del_app,
	.dcbnl_getbuffer = get_buffer,
	.dcbnl_setbuffer = set_buffer,
	.getdcbx = get_dcbx,
	.setdcbx = set_dcbx,
};
