// SPDX-License-Identifier: GPL-2.0
/*
 * The netdev of a port: sending is receiving at the other end of the wire.
 *
 *   stack, rxe --> qdisc --> xmit: key, priority, egress TCAM, ECN mark, count
 *                              `--> peer: FCS fault, ingress TCAM, count --> dev_forward_skb
 */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <net/inet_ecn.h>

#include "solar_rdma.h"

static bool is_ip(const struct solar_key *key)
{
	return key->eth_type == htons(ETH_P_IP) || key->eth_type == htons(ETH_P_IPV6);
}

static bool nth(atomic_t *tick, u32 every)
{
	return every && (u32)atomic_inc_return(tick) % every == 0;
}

static void mark_ecn(struct solar_port *port, struct sk_buff *skb, const struct solar_key *key)
{
	if (!READ_ONCE(port->ecn_every) || !is_ip(key) || !(key->tos & INET_ECN_MASK))
		return;
	if (!nth(&port->ecn_tick, READ_ONCE(port->ecn_every)))
		return;
	if (skb_ensure_writable(skb, min_t(unsigned int, skb->len,
					   ETH_HLEN + sizeof(struct ipv6hdr))))
		return;
	INET_ECN_set_ce(skb);
}

static void drop_rx(struct solar_port *port, struct sk_buff *skb, atomic64_t *why)
{
	atomic64_inc(why);
	atomic64_inc(&port->counters.rx_dropped);
	dev_kfree_skb_any(skb);
}

static void receive(struct solar_port *port, struct sk_buff *skb, const struct solar_key *key)
{
	struct solar_counters *c = &port->counters;
	struct solar_decision hit = {};
	unsigned int len = skb->len, prio = solar_dcb_prio(port, skb, key->tos, is_ip(key));
	bool marked;

	if (nth(&port->fcs_tick, READ_ONCE(port->fcs_every))) {
		atomic64_inc(&c->fcs); /* an error, which the kernel's rx_dropped excludes */
		dev_kfree_skb_any(skb);
		return;
	}
	solar_tcam_lookup(&port->ingress, key, len, &hit);
	if (hit.has_prio)
		prio = hit.prio;
	if (hit.drop) {
		drop_rx(port, skb, &c->prio[prio].rx_discards);
		return;
	}
	marked = is_ip(key) && skb_get_dsfield(skb) >= 0 && INET_ECN_is_ce(skb_get_dsfield(skb));
	if (marked)
		atomic64_inc(&c->rx_ecn_marked);
	solar_qp_count(port, skb, key, false, marked);
	if (dev_forward_skb(port->netdev, skb) != NET_RX_SUCCESS) {
		atomic64_inc(&c->rx_dropped);
		return;
	}
	atomic64_inc(&c->rx_packets);
	atomic64_add(len, &c->rx_bytes);
	atomic64_inc(&c->prio[prio].rx_packets);
	atomic64_add(len, &c->prio[prio].rx_bytes);
}

static void transmit(struct solar_port *port, struct sk_buff *skb, const struct solar_key *key,
		     unsigned int prio)
{
	struct solar_counters *c = &port->counters;
	unsigned int len = skb->len;
	struct solar_port *peer = rcu_dereference(port->peer);

	if (!peer || !netif_running(peer->netdev)) {
		atomic64_inc(&c->tx_dropped);
		dev_kfree_skb_any(skb);
		return;
	}
	mark_ecn(port, skb, key);
	skb_tx_timestamp(skb);
	solar_qp_count(port, skb, key, true, false);
	atomic64_inc(&c->tx_packets);
	atomic64_add(len, &c->tx_bytes);
	atomic64_inc(&c->prio[prio].tx_packets);
	atomic64_add(len, &c->prio[prio].tx_bytes);
	receive(peer, skb, key);
}

static netdev_tx_t solar_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct solar_port *port = netdev_priv(netdev);
	struct solar_decision hit = {};
	struct solar_key key;
	unsigned int prio;

	rcu_read_lock();
	solar_key_of(skb, &key);
	prio = solar_dcb_prio(port, skb, key.tos, is_ip(&key));
	solar_tcam_lookup(&port->egress, &key, skb->len, &hit);
	if (hit.has_prio)
		prio = hit.prio;
	if (hit.drop) {
		atomic64_inc(&port->counters.tx_dropped);
		dev_kfree_skb_any(skb);
	} else {
		transmit(port, skb, &key, prio);
	}
	rcu_read_unlock();
	return NETDEV_TX_OK;
}

static void solar_get_stats64(struct net_device *netdev, struct rtnl_link_stats64 *stats)
{
	struct solar_counters *c = &((struct solar_port *)netdev_priv(netdev))->counters;

	stats->tx_packets = atomic64_read(&c->tx_packets);
	stats->tx_bytes = atomic64_read(&c->tx_bytes);
	stats->tx_dropped = atomic64_read(&c->tx_dropped);
	stats->rx_packets = atomic64_read(&c->rx_packets);
	stats->rx_bytes = atomic64_read(&c->rx_bytes);
	stats->rx_dropped = atomic64_read(&c->rx_dropped);
	stats->rx_crc_errors = atomic64_read(&c->fcs);
	stats->rx_errors = stats->rx_crc_errors;
}

static int solar_open(struct net_device *netdev)
{
	netif_tx_start_all_queues(netdev);
	return 0;
}

static int solar_stop(struct net_device *netdev)
{
	netif_tx_stop_all_queues(netdev);
	return 0;
}

static int solar_change_mtu(struct net_device *netdev, int mtu)
{
	int verdict = solar_fault_check(netdev_priv(netdev), SOLAR_OP_MTU);

	if (verdict == SOLAR_APPLY)
		netdev->mtu = mtu;
	return verdict < 0 ? verdict : 0;
}

static int solar_set_features(struct net_device *netdev, netdev_features_t wanted)
{
	struct solar_port *port = netdev_priv(netdev);

	if (!(wanted & NETIF_F_HW_TC) && (port->tcam_used || port->htb.on)) {
		netdev_err(netdev, "hw-tc-offload stays on: %u TCAM entries in use, htb %s\n",
			   port->tcam_used, port->htb.on ? "on" : "off");
		return -EBUSY;
	}
	return 0;
}

/*
 * A cable has one state: both ends follow. Without a neighbour, or with firmware that came up dead
 * at one end, it stays down.
 * Under the rtnl lock, which also holds the peer.
 */
void solar_port_set_carrier(struct solar_port *port, bool up)
{
	struct solar_port *ends[] = { port, rtnl_dereference(port->peer) };
	unsigned int i;

	if (up && (!ends[1] || port->link_dead || ends[1]->link_dead))
		return;
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		if (!ends[i] || netif_carrier_ok(ends[i]->netdev) == up)
			continue;
		if (up) {
			netif_carrier_on(ends[i]->netdev);
		} else {
			netif_carrier_off(ends[i]->netdev);
			atomic64_inc(&ends[i]->counters.link_flaps);
		}
	}
}

static int solar_change_carrier(struct net_device *netdev, bool up)
{
	solar_port_set_carrier(netdev_priv(netdev), up);
	return 0;
}

static struct devlink_port *solar_get_devlink_port(struct net_device *netdev)
{
	struct solar_port *port = netdev_priv(netdev);

	return &port->devlink_port;
}

static const struct net_device_ops solar_netdev_ops = {
	.ndo_open = solar_open,
	.ndo_stop = solar_stop,
	.ndo_start_xmit = solar_xmit,
	.ndo_select_queue = solar_select_queue,
	.ndo_get_stats64 = solar_get_stats64,
	.ndo_change_mtu = solar_change_mtu,
	.ndo_change_carrier = solar_change_carrier,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_set_features = solar_set_features,
	.ndo_setup_tc = solar_setup_tc,
	.ndo_get_devlink_port = solar_get_devlink_port,
};

bool solar_is_netdev(const struct net_device *netdev)
{
	return netdev->netdev_ops == &solar_netdev_ops;
}

/* b NULL: cut the wire of a. */
void solar_ports_join(struct solar_port *a, struct solar_port *b)
{
	struct solar_port *other;

	if (!a)
		return;
	rtnl_lock();
	other = b ? b : rtnl_dereference(a->peer);
	if (!b)
		solar_port_set_carrier(a, false);
	rcu_assign_pointer(a->peer, b);
	if (other)
		rcu_assign_pointer(other->peer, b ? a : NULL);
	if (b)
		solar_port_set_carrier(a, true);
	rtnl_unlock();
	synchronize_net();
}

static void netdev_setup(struct net_device *netdev, struct solar_port *port)
{
	u8 mac[ETH_ALEN] = { 0x02, 'S', 'O', 'L', 0, port->index };

	eth_hw_addr_set(netdev, mac);
	snprintf(netdev->name, IFNAMSIZ, "solar%u", port->index);
	netdev->netdev_ops = &solar_netdev_ops;
	netdev->ethtool_ops = &solar_ethtool_ops;
	netdev->dcbnl_ops = &solar_dcbnl_ops;
	netdev->min_mtu = ETH_MIN_MTU;
	netdev->max_mtu = SOLAR_MAX_MTU;
	netdev->mtu = SOLAR_DEFAULT_MTU;
	netdev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HW_TC;
	netdev->features = netdev->hw_features | NETIF_F_HIGHDMA | NETIF_F_LLTX |
			   NETIF_F_HW_VLAN_CTAG_TX | NETIF_F_HW_VLAN_CTAG_RX;
	netdev->vlan_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM;
}

static void port_init(struct solar_port *port)
{
	solar_dcb_init(&port->dcb);
	solar_pcie_init(&port->pcie);
	solar_tcam_init(port);
	port->speed_mbps = SPEED_100000;
	port->fec = ETHTOOL_FEC_RS;
	port->channels = 1;
	port->coalesce[0] = 8;
	port->coalesce[1] = 128;
	port->coalesce[2] = 8;
	port->coalesce[3] = 128;
	port->pfc_storm_ms = 8000;
	solar_fw_init(port);
}

int solar_netdev_create(struct platform_device *pdev)
{
	struct net_device *netdev =
		alloc_etherdev_mqs(sizeof(struct solar_port), 1 + SOLAR_HTB_LEAVES, 1);
	struct solar_port *port;
	int err;

	if (!netdev)
		return -ENOMEM;
	SET_NETDEV_DEV(netdev, &pdev->dev);
	port = netdev_priv(netdev);
	port->netdev = netdev;
	port->pdev = pdev;
	port->index = pdev->id;
	port_init(port);
	netif_set_real_num_tx_queues(netdev, 1);
	netdev_setup(netdev, port);
	err = solar_devlink_create(port);
	if (err)
		goto no_devlink;
	netif_carrier_off(netdev);
	err = register_netdev(netdev);
	if (err)
		goto no_netdev;
	devlink_port_type_eth_set(&port->devlink_port, netdev);
	err = solar_cc_create(port);
	if (err)
		goto no_cc;
	platform_set_drvdata(pdev, port);
	solar_devlink_publish(port);
	return 0;

no_cc:
	devlink_port_type_clear(&port->devlink_port);
	unregister_netdev(netdev);

no_netdev:
	solar_devlink_destroy(port);
no_devlink:
	free_netdev(netdev);
	return err;
}

void solar_netdev_destroy(struct solar_port *port)
{
	solar_devlink_withdraw(port);
	solar_cc_destroy(port);
	devlink_port_type_clear(&port->devlink_port);
	unregister_netdev(port->netdev);
	solar_devlink_destroy(port);
	free_netdev(port->netdev);
}
