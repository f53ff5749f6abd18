// SPDX-License-Identifier: GPL-2.0
/*
 * Counters per queue pair for an rxe device on a port: what Debian's rxe lacks. An ib_client fills
 * the five empty counter operations of such a device; the wire counts RoCE packets by queue pair.
 *
 *   received: by the number in the packet, which is the local queue pair's
 *   sent:     by the number in the packet, the peer's; of an RC queue pair, the core tells the peer
 *
 * A UD queue pair has no peer, so that only what it receives is counted. A bound counter holds the
 * module. State lives apart from the port: queue pairs end after the client was told to leave.
 */
#include <linux/hashtable.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/udp.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

#include "solar_rdma.h"

#define ROCE_PORT 4791
#define SOLAR_FLOWS 4096 /* queue pairs counted a port, both directions; more are not counted */
#define BTH_24_BITS 0xffffff
#define SOLAR_RXE_STATS_MAX 64

enum { TX_PACKETS, TX_BYTES, RX_PACKETS, RX_BYTES, RX_ECN_MARKED, RETRANSMITS, STATS };

static const char *const stat_names[STATS] = {
	"tx_packets", "tx_bytes", "rx_packets", "rx_bytes", "rx_ecn_marked", "retransmits",
};

struct bth {
	u8 opcode, flags;
	__be16 pkey;
	__be32 qpn, psn;
};

struct flow {
	struct hlist_node node;
	u32 qpn;
	bool tx;
	u32 next_psn;
	u64 value[STATS];
};

struct bound {
	struct list_head list;
	struct ib_qp *qp;
	u32 counter, peer; /* peer 0: not known yet */
};

struct total {
	struct list_head list;
	u32 counter;
	u64 value[STATS]; /* of queue pairs that are unbound again */
};

struct solar_qps {
	struct list_head list;
	struct rcu_head rcu;
	struct ib_device *ibdev;
	struct solar_port *port; /* NULL: removed */
	u32 last_counter;
	struct list_head bound, totals;
	spinlock_t lock; /* what follows */
	unsigned int flow_count;
	bool counting;
	DECLARE_HASHTABLE(flows, 8);
};

static LIST_HEAD(all);
static DEFINE_MUTEX(all_lock);

/*
 * The core adds a counter's values to those of the port by their place, so the first places are
 * left to rxe's own: they are switched off in a counter and not shown.
 */
static struct rdma_stat_desc descs[SOLAR_RXE_STATS_MAX + STATS];
static unsigned int base; /* how many rxe has */

/* ---- packets */

static struct flow *flow_find(struct solar_qps *qps, u32 qpn, bool tx)
{
	struct flow *flow;

	hash_for_each_possible(qps->flows, flow, node, qpn)
		if (flow->qpn == qpn && flow->tx == tx)
			return flow;
	return NULL;
}

static struct flow *flow_get(struct solar_qps *qps, u32 qpn, bool tx)
{
	struct flow *flow = flow_find(qps, qpn, tx);

	if (flow || qps->flow_count >= SOLAR_FLOWS)
		return flow;
	flow = kzalloc(sizeof(*flow), GFP_ATOMIC);
	if (!flow)
		return NULL;
	flow->qpn = qpn;
	flow->tx = tx;
	hash_add(qps->flows, &flow->node, qpn);
	qps->flow_count++;
	return flow;
}

static const struct bth *bth_of(struct sk_buff *skb, const struct solar_key *key,
				struct bth *buffer)
{
	int offset = ETH_HLEN + sizeof(struct udphdr);

	if (key->ip_proto != IPPROTO_UDP || key->dport != htons(ROCE_PORT))
		return NULL;
	if (key->eth_type == htons(ETH_P_IP)) {
		struct iphdr ip_buffer;
		const struct iphdr *ip =
			skb_header_pointer(skb, ETH_HLEN, sizeof(ip_buffer), &ip_buffer);

		if (!ip)
			return NULL;
		offset += ip->ihl * 4;
	} else {
		offset += sizeof(struct ipv6hdr);
	}
	return skb_header_pointer(skb, offset, sizeof(*buffer), buffer);
}

/* Reliable connection: sends, writes, read requests, atomics, sends with invalidate. */
static bool is_request(u8 opcode)
{
	return opcode <= 0x0c || opcode == 0x13 || opcode == 0x14 || opcode == 0x16 ||
	       opcode == 0x17;
}

/* A request behind the newest one sent is sent again. Numbers are of 24 bits and wrap. */
static bool is_again(struct flow *flow, const struct bth *bth)
{
	u32 psn = be32_to_cpu(bth->psn) & BTH_24_BITS;
	u32 ahead = (psn - flow->next_psn) & BTH_24_BITS;

	if (!is_request(bth->opcode))
		return false;
	if (flow->value[TX_PACKETS] && ahead >= BTH_24_BITS / 2)
		return true;
	flow->next_psn = psn + 1;
	return false;
}

static void flow_add(struct flow *flow, const struct bth *bth, unsigned int len, bool marked)
{
	if (flow->tx) {
		flow->value[RETRANSMITS] += is_again(flow, bth);
		flow->value[TX_PACKETS]++;
		flow->value[TX_BYTES] += len;
	} else {
		flow->value[RX_PACKETS]++;
		flow->value[RX_BYTES] += len;
		flow->value[RX_ECN_MARKED] += marked;
	}
}

/* Under rcu_read_lock. */
void solar_qp_count(struct solar_port *port, struct sk_buff *skb, const struct solar_key *key,
		    bool tx, bool marked)
{
	struct solar_qps *qps = rcu_dereference(port->qps);
	const struct bth *bth;
	struct bth buffer;
	struct flow *flow;

	if (!qps || !READ_ONCE(qps->counting))
		return;
	bth = bth_of(skb, key, &buffer);
	if (!bth)
		return;
	spin_lock_bh(&qps->lock);
	flow = qps->counting ? flow_get(qps, be32_to_cpu(bth->qpn) & BTH_24_BITS, tx) : NULL;
	if (flow)
		flow_add(flow, bth, skb->len, marked);
	spin_unlock_bh(&qps->lock);
}

/* ---- sums. Under all_lock. */

static struct solar_qps *qps_of(const struct ib_device *ibdev)
{
	struct solar_qps *qps;

	list_for_each_entry(qps, &all, list)
		if (qps->ibdev == ibdev)
			return qps;
	return NULL;
}

static struct total *total_of(struct solar_qps *qps, u32 counter)
{
	struct total *total;

	list_for_each_entry(total, &qps->totals, list)
		if (total->counter == counter)
			return total;
	return NULL;
}

static void learn_peer(struct bound *bound)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (!bound->peer && bound->qp->qp_type == IB_QPT_RC &&
	    !ib_query_qp(bound->qp, &attr, IB_QP_DEST_QPN, &init))
		bound->peer = attr.dest_qp_num;
}

static void add_flow(struct solar_qps *qps, u32 qpn, bool tx, u64 *sum, bool forget)
{
	struct flow *flow;
	unsigned int i;

	spin_lock_bh(&qps->lock);
	flow = flow_find(qps, qpn, tx);
	for (i = 0; flow && i < STATS; i++)
		sum[i] += flow->value[i];
	if (flow && forget) {
		hash_del(&flow->node);
		qps->flow_count--;
		kfree(flow);
	}
	spin_unlock_bh(&qps->lock);
}

static void add_bound(struct solar_qps *qps, struct bound *bound, u64 *sum, bool forget)
{
	learn_peer(bound);
	add_flow(qps, bound->qp->qp_num, false, sum, forget);
	if (bound->peer)
		add_flow(qps, bound->peer, true, sum, forget);
}

/* Counting ends with it. */
static void forget_flows(struct solar_qps *qps)
{
	struct hlist_node *next;
	struct flow *flow;
	int i;

	spin_lock_bh(&qps->lock);
	qps->counting = false;
	hash_for_each_safe(qps->flows, i, next, flow, node) {
		hash_del(&flow->node);
		kfree(flow);
	}
	qps->flow_count = 0;
	spin_unlock_bh(&qps->lock);
}

static void qps_free_unused(struct solar_qps *qps)
{
	if (qps->port || !list_empty(&qps->totals))
		return;
	list_del(&qps->list);
	forget_flows(qps);
	kfree_rcu(qps, rcu);
}

/* ---- the five operations. The core holds the counter's lock: a bound queue pair stays. */

static int counter_new(struct solar_qps *qps, struct rdma_counter *counter)
{
	struct total *total = kzalloc(sizeof(*total), GFP_KERNEL);

	if (!total)
		return -ENOMEM;
	if (!try_module_get(THIS_MODULE)) {
		kfree(total);
		return -ENODEV;
	}
	total->counter = ++qps->last_counter;
	list_add(&total->list, &qps->totals);
	counter->id = total->counter;
	return 0;
}

static int counter_bind_qp(struct rdma_counter *counter, struct ib_qp *qp)
{
	struct bound *bound = kzalloc(sizeof(*bound), GFP_KERNEL);
	struct solar_qps *qps;
	int err = bound ? -ENODEV : -ENOMEM;

	mutex_lock(&all_lock);
	qps = qps_of(qp->device);
	if (bound && qps && qps->port)
		err = counter->id ? 0 : counter_new(qps, counter);
	if (err) {
		kfree(bound);
	} else {
		bound->qp = qp;
		qp->counter = counter;
		bound->counter = counter->id;
		list_add(&bound->list, &qps->bound);
		WRITE_ONCE(qps->counting, true);
	}
	mutex_unlock(&all_lock);
	return err;
}

static int counter_unbind_qp(struct ib_qp *qp)
{
	struct bound *bound, *next;
	struct solar_qps *qps;
	struct total *total;

	mutex_lock(&all_lock);
	qp->counter = NULL;
	qps = qps_of(qp->device);
	if (qps) {
		list_for_each_entry_safe(bound, next, &qps->bound, list) {
			if (bound->qp != qp)
				continue;
			total = total_of(qps, bound->counter);
			if (total)
				add_bound(qps, bound, total->value, true);
			list_del(&bound->list);
			kfree(bound);
		}
		if (list_empty(&qps->bound))
			forget_flows(qps);
	}
	mutex_unlock(&all_lock);
	return 0;
}

static int counter_dealloc(struct rdma_counter *counter)
{
	struct solar_qps *qps;
	struct total *total;

	mutex_lock(&all_lock);
	qps = qps_of(counter->device);
	total = qps ? total_of(qps, counter->id) : NULL;
	if (total) {
		list_del(&total->list);
		kfree(total);
		qps_free_unused(qps);
		module_put(THIS_MODULE);
	}
	mutex_unlock(&all_lock);
	return 0;
}

static struct rdma_hw_stats *stats_new(void)
{
	struct rdma_hw_stats *stats =
		rdma_alloc_hw_stats_struct(descs, base + STATS, RDMA_HW_STATS_DEFAULT_LIFESPAN);

	if (stats)
		bitmap_set(stats->is_disabled, 0, base);
	return stats;
}

static struct rdma_hw_stats *counter_alloc_stats(struct rdma_counter *counter)
{
	return stats_new();
}

static int counter_update_stats(struct rdma_counter *counter)
{
	struct solar_qps *qps;
	struct bound *bound;
	struct total *total;
	u64 sum[STATS];

	mutex_lock(&all_lock);
	qps = qps_of(counter->device);
	total = qps ? total_of(qps, counter->id) : NULL;
	if (total) {
		memcpy(sum, total->value, sizeof(sum));
		list_for_each_entry(bound, &qps->bound, list)
			if (bound->counter == counter->id)
				add_bound(qps, bound, sum, false);
		memcpy(&counter->stats->value[base], sum, sizeof(sum));
	}
	mutex_unlock(&all_lock);
	return total ? 0 : -ENODEV;
}

static const struct ib_device_ops solar_counter_ops = {
	.counter_bind_qp = counter_bind_qp,
	.counter_unbind_qp = counter_unbind_qp,
	.counter_dealloc = counter_dealloc,
	.counter_alloc_stats = counter_alloc_stats,
	.counter_update_stats = counter_update_stats,
};

/* ---- devices come and go */

static struct solar_port *port_under(struct ib_device *ibdev)
{
	struct net_device *netdev;
	struct solar_port *port = NULL;

	rcu_read_lock();
	netdev = rcu_dereference(ibdev->port_data[1].netdev);
	if (netdev && solar_is_netdev(netdev))
		port = netdev_priv(netdev);
	rcu_read_unlock();
	return port;
}

static int describe_stats(unsigned int rxe_stats)
{
	unsigned int i;

	if (rxe_stats > SOLAR_RXE_STATS_MAX || (base && base != rxe_stats))
		return -EOPNOTSUPP;
	base = rxe_stats;
	for (i = 0; i < base + STATS; i++)
		descs[i].name = i < base ? "reserved" : stat_names[i - base];
	return 0;
}

/* The port's own sums need room for the places that the counters have. */
static int grow_port_stats(struct rdma_port_counter *port)
{
	struct rdma_hw_stats *stats;
	int err = port->hstats ? describe_stats(port->hstats->num_counters) : -EOPNOTSUPP;

	if (err)
		return err;
	stats = stats_new();
	if (!stats)
		return -ENOMEM;
	mutex_lock(&port->lock);
	swap(port->hstats, stats);
	mutex_unlock(&port->lock);
	rdma_free_hw_stats_struct(stats);
	return 0;
}

static struct solar_qps *qps_new(struct ib_device *ibdev, struct solar_port *port)
{
	struct solar_qps *qps = kzalloc(sizeof(*qps), GFP_KERNEL);

	if (!qps)
		return NULL;
	qps->ibdev = ibdev;
	qps->port = port;
	INIT_LIST_HEAD(&qps->bound);
	INIT_LIST_HEAD(&qps->totals);
	spin_lock_init(&qps->lock);
	hash_init(qps->flows);
	return qps;
}

/* An rxe device holds a reference of its netdev until its clients are gone: the port stays. */
static int client_add(struct ib_device *ibdev)
{
	struct solar_port *port = ibdev->phys_port_cnt == 1 ? port_under(ibdev) : NULL;
	struct solar_qps *qps;
	int err;

	if (!port || ibdev->ops.counter_bind_qp)
		return -EOPNOTSUPP;
	qps = qps_new(ibdev, port);
	if (!qps)
		return -ENOMEM;
	err = grow_port_stats(&ibdev->port_data[1].port_counter);
	if (err) {
		kfree(qps);
		return err;
	}
	ib_set_device_ops(ibdev, &solar_counter_ops);
	mutex_lock(&all_lock);
	list_add(&qps->list, &all);
	rcu_assign_pointer(port->qps, qps);
	mutex_unlock(&all_lock);
	return 0;
}

static void client_remove(struct ib_device *ibdev, void *data)
{
	struct solar_qps *qps;

	mutex_lock(&all_lock);
	qps = qps_of(ibdev);
	if (qps && qps->port) {
		rcu_assign_pointer(qps->port->qps, NULL);
		qps->port = NULL;
		qps_free_unused(qps);
	}
	mutex_unlock(&all_lock);
}

struct ib_client solar_qp_client = {
	.name = SOLAR_NAME,
	.add = client_add,
	.remove = client_remove,
};
