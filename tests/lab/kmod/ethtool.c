// SPDX-License-Identifier: GPL-2.0
/* ethtool: counters (private and standard groups), link, pause, FEC, coalescing, channels. */
#include <linux/module.h>

#include "solar_rdma.h"

#define PRIO_STAT(member) { #member, offsetof(struct solar_prio_counters, member) }
#define PORT_STAT(name, member) { name, offsetof(struct solar_counters, member) }

struct solar_stat {
	const char *name;
	size_t offset;
};

/* The names follow mlx5: tx_prio3_packets, rx_crc_errors_phy. */
static const struct solar_stat prio_stats[] = {
	PRIO_STAT(tx_packets), PRIO_STAT(tx_bytes),	 PRIO_STAT(rx_packets),
	PRIO_STAT(rx_bytes),   PRIO_STAT(tx_pause),	 PRIO_STAT(rx_pause),
	PRIO_STAT(rx_discards), PRIO_STAT(rx_pause_duration),
};

static const struct solar_stat port_stats[] = {
	PORT_STAT("tx_packets", tx_packets),
	PORT_STAT("tx_bytes", tx_bytes),
	PORT_STAT("rx_packets", rx_packets),
	PORT_STAT("rx_bytes", rx_bytes),
	PORT_STAT("tx_discards", tx_dropped),
	PORT_STAT("rx_discards", rx_dropped),
	PORT_STAT("rx_crc_errors_phy", fcs),
	PORT_STAT("rx_symbol_err_phy", symbol_errors),
	PORT_STAT("rx_ecn_marked", rx_ecn_marked),
	PORT_STAT("tx_global_pause", tx_global_pause),
	PORT_STAT("rx_global_pause", rx_global_pause),
	PORT_STAT("link_down_events_phy", link_flaps),
};

#define PRIO_STATS ARRAY_SIZE(prio_stats)
#define PORT_STATS ARRAY_SIZE(port_stats)

static struct solar_port *port_of(struct net_device *netdev)
{
	return netdev_priv(netdev);
}

static u64 read_at(const void *base, size_t offset)
{
	return atomic64_read((const atomic64_t *)((const char *)base + offset));
}

static void get_drvinfo(struct net_device *netdev, struct ethtool_drvinfo *info)
{
	struct solar_port *port = port_of(netdev);

	strscpy(info->driver, SOLAR_NAME, sizeof(info->driver));
	strscpy(info->bus_info, dev_name(&port->pdev->dev), sizeof(info->bus_info));
	snprintf(info->fw_version, sizeof(info->fw_version), "%s (%s)", port->fw[0].running,
		 SOLAR_FW_PSID);
}

static int get_sset_count(struct net_device *netdev, int set)
{
	return set == ETH_SS_STATS ? PORT_STATS + SOLAR_PRIOS * PRIO_STATS : -EOPNOTSUPP;
}

/* tx_packets of priority 3 -> tx_prio3_packets */
static void prio_stat_name(u8 **data, unsigned int prio, const char *member)
{
	ethtool_sprintf(data, "%.2s_prio%u_%s", member, prio, member + 3);
}

static void get_strings(struct net_device *netdev, u32 set, u8 *data)
{
	unsigned int i, prio;

	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < PORT_STATS; i++)
		ethtool_sprintf(&data, "%s", port_stats[i].name);
	for (prio = 0; prio < SOLAR_PRIOS; prio++)
		for (i = 0; i < PRIO_STATS; i++)
			prio_stat_name(&data, prio, prio_stats[i].name);
}

static void get_stats(struct net_device *netdev, struct ethtool_stats *stats, u64 *data)
{
	struct solar_counters *c = &port_of(netdev)->counters;
	unsigned int i, prio;

	for (i = 0; i < PORT_STATS; i++)
		*data++ = read_at(c, port_stats[i].offset);
	for (prio = 0; prio < SOLAR_PRIOS; prio++)
		for (i = 0; i < PRIO_STATS; i++)
			*data++ = read_at(&c->prio[prio], prio_stats[i].offset);
}

static void get_eth_phy_stats(struct net_device *netdev, struct ethtool_eth_phy_stats *stats)
{
	stats->SymbolErrorDuringCarrier =
		atomic64_read(&port_of(netdev)->counters.symbol_errors);
}

static void get_eth_mac_stats(struct net_device *netdev, struct ethtool_eth_mac_stats *stats)
{
	struct solar_counters *c = &port_of(netdev)->counters;

	stats->FramesTransmittedOK = atomic64_read(&c->tx_packets);
	stats->FramesReceivedOK = atomic64_read(&c->rx_packets);
	stats->OctetsTransmittedOK = atomic64_read(&c->tx_bytes);
	stats->OctetsReceivedOK = atomic64_read(&c->rx_bytes);
	stats->FrameCheckSequenceErrors = atomic64_read(&c->fcs);
}

static void get_pause_stats(struct net_device *netdev, struct ethtool_pause_stats *stats)
{
	stats->tx_pause_frames = atomic64_read(&port_of(netdev)->counters.tx_global_pause);
	stats->rx_pause_frames = atomic64_read(&port_of(netdev)->counters.rx_global_pause);
}

static void get_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause)
{
	*pause = port_of(netdev)->pause;
}

static int set_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause)
{
	int verdict;

	if (pause->autoneg)
		return -EINVAL;
	verdict = solar_fault_check(port_of(netdev), SOLAR_OP_PAUSE);
	if (verdict == SOLAR_APPLY)
		port_of(netdev)->pause = *pause;
	return min(verdict, 0);
}

static int get_coalesce(struct net_device *netdev, struct ethtool_coalesce *coalesce,
			struct kernel_ethtool_coalesce *kernel, struct netlink_ext_ack *extack)
{
	const struct solar_port *port = port_of(netdev);

	coalesce->rx_coalesce_usecs = port->coalesce[0];
	coalesce->rx_max_coalesced_frames = port->coalesce[1];
	coalesce->tx_coalesce_usecs = port->coalesce[2];
	coalesce->tx_max_coalesced_frames = port->coalesce[3];
	coalesce->use_adaptive_rx_coalesce = port->coalesce_adaptive_rx;
	return 0;
}

static int set_coalesce(struct net_device *netdev, struct ethtool_coalesce *coalesce,
			struct kernel_ethtool_coalesce *kernel, struct netlink_ext_ack *extack)
{
	struct solar_port *port = port_of(netdev);
	int verdict;

	if (coalesce->rx_coalesce_usecs > 1000 || coalesce->tx_coalesce_usecs > 1000) {
		NL_SET_ERR_MSG_MOD(extack, "coalescing takes at most 1000 us");
		return -ERANGE;
	}
	verdict = solar_fault_check(port, SOLAR_OP_COALESCE);
	if (verdict != SOLAR_APPLY)
		return min(verdict, 0);
	port->coalesce[0] = coalesce->rx_coalesce_usecs;
	port->coalesce[1] = coalesce->rx_max_coalesced_frames;
	port->coalesce[2] = coalesce->tx_coalesce_usecs;
	port->coalesce[3] = coalesce->tx_max_coalesced_frames;
	port->coalesce_adaptive_rx = coalesce->use_adaptive_rx_coalesce;
	return 0;
}

static int get_link_ksettings(struct net_device *netdev, struct ethtool_link_ksettings *link)
{
	bool up = netif_running(netdev) && netif_carrier_ok(netdev);

	ethtool_link_ksettings_zero_link_mode(link, supported);
	ethtool_link_ksettings_zero_link_mode(link, advertising);
	ethtool_link_ksettings_add_link_mode(link, supported, 25000baseCR_Full);
	ethtool_link_ksettings_add_link_mode(link, supported, 100000baseCR4_Full);
	ethtool_link_ksettings_add_link_mode(link, supported, 200000baseCR4_Full);
	ethtool_link_ksettings_add_link_mode(link, supported, FIBRE);
	ethtool_link_ksettings_add_link_mode(link, supported, Pause);
	link->base.port = PORT_DA;
	link->base.autoneg = AUTONEG_DISABLE;
	link->base.duplex = up ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	link->base.speed = up ? port_of(netdev)->speed_mbps : SPEED_UNKNOWN;
	return 0;
}

static int set_link_ksettings(struct net_device *netdev, const struct ethtool_link_ksettings *link)
{
	int verdict;

	if (link->base.autoneg != AUTONEG_DISABLE || link->base.duplex != DUPLEX_FULL)
		return -EINVAL;
	switch (link->base.speed) {
	case SPEED_25000:
	case SPEED_100000:
	case SPEED_200000:
		break;
	default:
		return -EINVAL;
	}
	verdict = solar_fault_check(port_of(netdev), SOLAR_OP_LINK);
	if (verdict == SOLAR_APPLY)
		port_of(netdev)->speed_mbps = link->base.speed;
	return min(verdict, 0);
}

static void get_fec_stats(struct net_device *netdev, struct ethtool_fec_stats *stats)
{
	struct solar_counters *c = &port_of(netdev)->counters;

	stats->corrected_blocks.total = atomic64_read(&c->fec_corrected);
	stats->uncorrectable_blocks.total = atomic64_read(&c->fec_uncorrectable);
}

static int get_fecparam(struct net_device *netdev, struct ethtool_fecparam *fec)
{
	fec->fec = port_of(netdev)->fec;
	fec->active_fec = port_of(netdev)->fec;
	return 0;
}

static int set_fecparam(struct net_device *netdev, struct ethtool_fecparam *fec)
{
	int verdict;

	if (fec->fec != ETHTOOL_FEC_RS && fec->fec != ETHTOOL_FEC_BASER &&
	    fec->fec != ETHTOOL_FEC_OFF)
		return -EINVAL;
	verdict = solar_fault_check(port_of(netdev), SOLAR_OP_FEC);
	if (verdict == SOLAR_APPLY)
		port_of(netdev)->fec = fec->fec;
	return min(verdict, 0);
}

static void get_channels(struct net_device *netdev, struct ethtool_channels *channels)
{
	channels->max_combined = 8;
	channels->combined_count = port_of(netdev)->channels;
}

/* The ethtool core has checked the maximum and that one is left. */
static int set_channels(struct net_device *netdev, struct ethtool_channels *channels)
{
	port_of(netdev)->channels = channels->combined_count;
	return 0;
}

static int get_tunable(struct net_device *netdev, const struct ethtool_tunable *tuna, void *data)
{
	if (tuna->id != ETHTOOL_PFC_PREVENTION_TOUT)
		return -EOPNOTSUPP;
	*(u16 *)data = port_of(netdev)->pfc_storm_ms;
	return 0;
}

static int set_tunable(struct net_device *netdev, const struct ethtool_tunable *tuna,
		       const void *data)
{
	u16 ms;

	if (tuna->id != ETHTOOL_PFC_PREVENTION_TOUT)
		return -EOPNOTSUPP;
	ms = *(const u16 *)data;
	if (ms == PFC_STORM_PREVENTION_AUTO)
		ms = 100;
	if (ms != PFC_STORM_PREVENTION_DISABLE && (ms < 80 || ms > 8000))
		return -EINVAL;
	port_of(netdev)->pfc_storm_ms = ms;
	return 0;
}

const struct ethtool_ops solar_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_USECS | ETHTOOL_COALESCE_MAX_FRAMES |
				     ETHTOOL_COALESCE_USE_ADAPTIVE_RX,
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_stats,
	.get_eth_phy_stats = get_eth_phy_stats,
	.get_eth_mac_stats = get_eth_mac_stats,
	.get_pause_stats = get_pause_stats,
	.get_pauseparam = get_pauseparam,
	.set_pauseparam = set_pauseparam,
	.get_coalesce = get_coalesce,
	.set_coalesce = set_coalesce,
	.get_link_ksettings = get_link_ksettings,
	.set_link_ksettings = set_link_ksettings,
	.get_fec_stats = get_fec_stats,
	.get_fecparam = get_fecparam,
	.set_fecparam = set_fecparam,
	.get_channels = get_channels,
	.set_channels = set_channels,
	.get_tunable = get_tunable,
	.set_tunable = set_tunable,
};
