// SPDX-License-Identifier: GPL-2.0
/*
 * tc flower in "hardware": a finite table of value/mask rows a port, ingress and egress each with a
 * block callback of its own. Rows act on packets, so that a skip_sw rule really takes effect.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/pkt_cls.h>

#include "solar_rdma.h"

struct solar_police {
	u64 rate_bytes_ps; /* 0: no policer */
	u64 burst_ns, last_ns, credit_ns;
	spinlock_t lock;
};

struct solar_entry {
	struct list_head list;
	struct rcu_head rcu;
	unsigned long cookie;
	u32 tc_prio;
	struct solar_key value, mask;
	bool drop, has_prio;
	unsigned int prio;
	struct solar_police police;
	atomic64_t packets, bytes, drops;
	u64 reported_packets, reported_bytes, reported_drops;
	unsigned long last_used;
};

static LIST_HEAD(solar_block_list);

/* ---- the key of a packet */

static void key_of_ports(struct sk_buff *skb, struct solar_key *key, int offset)
{
	const __be16 *ports;
	__be16 buffer[2];

	if (key->ip_proto != IPPROTO_TCP && key->ip_proto != IPPROTO_UDP &&
	    key->ip_proto != IPPROTO_SCTP)
		return;
	ports = skb_header_pointer(skb, offset, sizeof(buffer), buffer);
	if (ports) {
		key->sport = ports[0];
		key->dport = ports[1];
	}
}

static void key_of_ipv4(struct sk_buff *skb, struct solar_key *key, int offset)
{
	struct iphdr buffer;
	const struct iphdr *ip = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);

	if (!ip)
		return;
	key->ip_proto = ip->protocol;
	key->tos = ip->tos;
	key->src.s6_addr32[3] = ip->saddr;
	key->dst.s6_addr32[3] = ip->daddr;
	if (!(ip->frag_off & htons(IP_OFFSET)))
		key_of_ports(skb, key, offset + ip->ihl * 4);
}

static void key_of_ipv6(struct sk_buff *skb, struct solar_key *key, int offset)
{
	struct ipv6hdr buffer;
	const struct ipv6hdr *ip = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);

	if (!ip)
		return;
	key->ip_proto = ip->nexthdr;
	key->tos = ipv6_get_dsfield(ip);
	key->src = ip->saddr;
	key->dst = ip->daddr;
	key_of_ports(skb, key, offset + sizeof(*ip));
}

/* At the sending side: data starts at the Ethernet header. A tag in the data hides the rest. */
void solar_key_of(struct sk_buff *skb, struct solar_key *key)
{
	struct ethhdr buffer;
	const struct ethhdr *eth = skb_header_pointer(skb, 0, sizeof(buffer), &buffer);

	memset(key, 0, sizeof(*key));
	if (!eth)
		return;
	key->eth_type = eth->h_proto;
	if (key->eth_type == htons(ETH_P_IP))
		key_of_ipv4(skb, key, ETH_HLEN);
	else if (key->eth_type == htons(ETH_P_IPV6))
		key_of_ipv6(skb, key, ETH_HLEN);
}

/* ---- packets against rows */

static bool matches(const struct solar_entry *entry, const struct solar_key *key)
{
	const u64 *k = (const u64 *)key, *v = (const u64 *)&entry->value;
	const u64 *m = (const u64 *)&entry->mask;
	unsigned int i;

	BUILD_BUG_ON(sizeof(*key) % sizeof(u64));
	for (i = 0; i < sizeof(*key) / sizeof(u64); i++)
		if ((k[i] & m[i]) != v[i])
			return false;
	return true;
}

/* Token bucket in time: a packet costs its length at the rate. */
static bool conforms(struct solar_police *police, unsigned int len)
{
	u64 now, cost = div64_u64((u64)len * NSEC_PER_SEC, police->rate_bytes_ps);
	bool ok;

	spin_lock_bh(&police->lock);
	now = ktime_get_ns(); /* inside: another processor's later time must not come first */
	police->credit_ns = min(police->burst_ns, police->credit_ns + (now - police->last_ns));
	police->last_ns = now;
	ok = police->credit_ns >= cost;
	if (ok)
		police->credit_ns -= cost;
	spin_unlock_bh(&police->lock);
	return ok;
}

static void act(struct solar_entry *entry, unsigned int len, struct solar_decision *out)
{
	out->has_prio = entry->has_prio;
	out->prio = entry->prio;
	out->drop = entry->drop ||
		    (entry->police.rate_bytes_ps && !conforms(&entry->police, len));
	atomic64_inc(&entry->packets);
	atomic64_add(len, &entry->bytes);
	if (out->drop)
		atomic64_inc(&entry->drops);
	WRITE_ONCE(entry->last_used, jiffies);
}

/* First row in tc priority order wins. Under rcu_read_lock. */
void solar_tcam_lookup(struct solar_tcam *tcam, const struct solar_key *key, unsigned int len,
		       struct solar_decision *out)
{
	struct solar_entry *entry;

	list_for_each_entry_rcu(entry, &tcam->entries, list) {
		if (matches(entry, key)) {
			act(entry, len, out);
			return;
		}
	}
}

/* ---- tc rules to rows */

#define SOLAR_DISSECTOR_KEYS                                                              \
	(BIT(FLOW_DISSECTOR_KEY_CONTROL) | BIT(FLOW_DISSECTOR_KEY_BASIC) |                \
	 BIT(FLOW_DISSECTOR_KEY_IP) | BIT(FLOW_DISSECTOR_KEY_PORTS) |                     \
	 BIT(FLOW_DISSECTOR_KEY_IPV4_ADDRS) | BIT(FLOW_DISSECTOR_KEY_IPV6_ADDRS))

static void parse_addresses(const struct flow_rule *rule, struct solar_entry *entry)
{
	struct flow_match_ipv4_addrs v4;
	struct flow_match_ipv6_addrs v6;
	struct flow_match_control control = {};

	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_CONTROL))
		flow_rule_match_control(rule, &control);
	if (!control.key)
		return;
	if (control.key->addr_type == FLOW_DISSECTOR_KEY_IPV4_ADDRS) {
		flow_rule_match_ipv4_addrs(rule, &v4);
		entry->value.src.s6_addr32[3] = v4.key->src;
		entry->value.dst.s6_addr32[3] = v4.key->dst;
		entry->mask.src.s6_addr32[3] = v4.mask->src;
		entry->mask.dst.s6_addr32[3] = v4.mask->dst;
	} else if (control.key->addr_type == FLOW_DISSECTOR_KEY_IPV6_ADDRS) {
		flow_rule_match_ipv6_addrs(rule, &v6);
		entry->value.src = v6.key->src;
		entry->value.dst = v6.key->dst;
		entry->mask.src = v6.mask->src;
		entry->mask.dst = v6.mask->dst;
	}
}

static void parse_headers(const struct flow_rule *rule, struct solar_entry *entry)
{
	struct flow_match_basic basic;
	struct flow_match_ip ip;
	struct flow_match_ports ports;

	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_BASIC)) {
		flow_rule_match_basic(rule, &basic);
		entry->value.eth_type = basic.key->n_proto;
		entry->mask.eth_type = basic.mask->n_proto;
		entry->value.ip_proto = basic.key->ip_proto;
		entry->mask.ip_proto = basic.mask->ip_proto;
	}
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_IP)) {
		flow_rule_match_ip(rule, &ip);
		entry->value.tos = ip.key->tos;
		entry->mask.tos = ip.mask->tos;
	}
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_PORTS)) {
		flow_rule_match_ports(rule, &ports);
		entry->value.sport = ports.key->src;
		entry->value.dport = ports.key->dst;
		entry->mask.sport = ports.mask->src;
		entry->mask.dport = ports.mask->dst;
	}
}

static void mask_value(struct solar_entry *entry)
{
	u64 *value = (u64 *)&entry->value;
	const u64 *mask = (const u64 *)&entry->mask;
	unsigned int i;

	for (i = 0; i < sizeof(entry->value) / sizeof(u64); i++)
		value[i] &= mask[i];
}

static int refuse(struct netlink_ext_ack *extack, const char *text)
{
	/* The text must live as long as the extack: callers pass literals. */
	if (extack)
		extack->_msg = text;
	return -EOPNOTSUPP;
}

static int parse_match(const struct flow_rule *rule, struct solar_entry *entry,
		       struct netlink_ext_ack *extack)
{
	struct flow_match_control control;
	struct flow_match_ip ip;

	if (rule->match.dissector->used_keys & ~SOLAR_DISSECTOR_KEYS)
		return refuse(extack, SOLAR_NAME ": match keys: eth_type, ip_proto, ip_tos, ports, "
					"addresses only");
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_CONTROL)) {
		flow_rule_match_control(rule, &control);
		if (control.mask->flags)
			return refuse(extack, SOLAR_NAME ": no match on fragments");
	}
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_IP)) {
		flow_rule_match_ip(rule, &ip);
		if (ip.mask->ttl)
			return refuse(extack, SOLAR_NAME ": no match on ttl");
	}
	parse_headers(rule, entry);
	parse_addresses(rule, entry);
	mask_value(entry);
	return 0;
}

static int parse_police(const struct flow_action_entry *action, struct solar_entry *entry,
			struct netlink_ext_ack *extack)
{
	if (!action->police.rate_bytes_ps)
		return refuse(extack, SOLAR_NAME ": police takes a byte rate");
	if (action->police.exceed.act_id != FLOW_ACTION_DROP)
		return refuse(extack, SOLAR_NAME ": police conform-exceed must be drop");
	entry->police.rate_bytes_ps = action->police.rate_bytes_ps;
	entry->police.burst_ns = div64_u64((u64)action->police.burst * NSEC_PER_SEC,
					   action->police.rate_bytes_ps);
	entry->police.credit_ns = entry->police.burst_ns;
	entry->police.last_ns = ktime_get_ns();
	return 0;
}

static int parse_action(const struct flow_action_entry *action, struct solar_entry *entry,
			struct netlink_ext_ack *extack)
{
	switch (action->id) {
	case FLOW_ACTION_ACCEPT:
		return 0;
	case FLOW_ACTION_DROP:
		entry->drop = true;
		return 0;
	case FLOW_ACTION_PRIORITY:
		if (action->priority >= SOLAR_PRIOS)
			return refuse(extack, SOLAR_NAME ": skbedit priority must be 0..7");
		entry->has_prio = true;
		entry->prio = action->priority;
		return 0;
	case FLOW_ACTION_POLICE:
		return parse_police(action, entry, extack);
	default:
		return refuse(extack, SOLAR_NAME
			      ": actions: skbedit priority, drop, pass, police only");
	}
}

static int parse_rule(struct flow_cls_offload *flower, struct solar_entry *entry)
{
	const struct flow_rule *rule = flow_cls_offload_flow_rule(flower);
	struct netlink_ext_ack *extack = flower->common.extack;
	const struct flow_action_entry *action;
	int i, err = parse_match(rule, entry, extack);

	if (err)
		return err;
	if (!flow_action_basic_hw_stats_check(&rule->action, extack))
		return -EOPNOTSUPP;
	flow_action_for_each(i, action, &rule->action) {
		err = parse_action(action, entry, extack);
		if (err)
			return err;
	}
	return 0;
}

static struct solar_entry *find(struct solar_tcam *tcam, unsigned long cookie)
{
	struct solar_entry *entry;

	list_for_each_entry(entry, &tcam->entries, list)
		if (entry->cookie == cookie)
			return entry;
	return NULL;
}

static void insert_sorted(struct solar_tcam *tcam, struct solar_entry *new)
{
	struct solar_entry *entry;

	list_for_each_entry(entry, &tcam->entries, list) {
		if (entry->tc_prio > new->tc_prio) {
			list_add_tail_rcu(&new->list, &entry->list);
			return;
		}
	}
	list_add_tail_rcu(&new->list, &tcam->entries);
}

static struct solar_entry *entry_new(struct flow_cls_offload *flower)
{
	struct solar_entry *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	if (!entry)
		return NULL;
	entry->cookie = flower->cookie;
	entry->tc_prio = flower->common.prio;
	entry->last_used = jiffies;
	spin_lock_init(&entry->police.lock);
	return entry;
}

static int replace(struct solar_port *port, struct solar_tcam *tcam,
		   struct flow_cls_offload *flower)
{
	struct solar_entry *entry, *old = find(tcam, flower->cookie);
	int err = solar_fault_check(port, SOLAR_OP_FLOWER);

	if (err < 0)
		NL_SET_ERR_MSG_MOD(flower->common.extack, "fault on demand");
	if (err != SOLAR_APPLY)
		return min(err, 0);
	if (!old && port->tcam_used >= port->tcam_entries) {
		NL_SET_ERR_MSG_MOD(flower->common.extack, "TCAM full");
		return -ENOSPC;
	}
	entry = entry_new(flower);
	if (!entry)
		return -ENOMEM;
	err = parse_rule(flower, entry);
	if (err) {
		kfree(entry);
		return err;
	}
	insert_sorted(tcam, entry);
	if (old) {
		list_del_rcu(&old->list);
		kfree_rcu(old, rcu);
	} else {
		port->tcam_used++;
	}
	return 0;
}

static int destroy(struct solar_port *port, struct solar_tcam *tcam,
		   struct flow_cls_offload *flower)
{
	struct solar_entry *entry = find(tcam, flower->cookie);

	if (!entry)
		return -ENOENT;
	list_del_rcu(&entry->list);
	kfree_rcu(entry, rcu);
	port->tcam_used--;
	return 0;
}

static int report(struct solar_tcam *tcam, struct flow_cls_offload *flower)
{
	struct solar_entry *entry = find(tcam, flower->cookie);
	u64 packets, bytes, drops;

	if (!entry)
		return -ENOENT;
	packets = atomic64_read(&entry->packets);
	bytes = atomic64_read(&entry->bytes);
	drops = atomic64_read(&entry->drops);
	flow_stats_update(&flower->stats, bytes - entry->reported_bytes,
			  packets - entry->reported_packets, drops - entry->reported_drops,
			  READ_ONCE(entry->last_used), FLOW_ACTION_HW_STATS_IMMEDIATE);
	entry->reported_bytes = bytes;
	entry->reported_packets = packets;
	entry->reported_drops = drops;
	return 0;
}

static int flower_command(struct solar_port *port, struct solar_tcam *tcam,
			  enum tc_setup_type type, struct flow_cls_offload *flower)
{
	if (type != TC_SETUP_CLSFLOWER)
		return -EOPNOTSUPP;
	if (!tc_cls_can_offload_and_chain0(port->netdev, &flower->common))
		return -EOPNOTSUPP;
	switch (flower->command) {
	case FLOW_CLS_REPLACE:
		return replace(port, tcam, flower);
	case FLOW_CLS_DESTROY:
		return destroy(port, tcam, flower);
	case FLOW_CLS_STATS:
		return report(tcam, flower);
	default:
		return -EOPNOTSUPP;
	}
}

/* Two functions: the core takes the same callback with the same port for one block only. */
static int ingress_command(enum tc_setup_type type, void *data, void *priv)
{
	struct solar_port *port = priv;

	return flower_command(port, &port->ingress, type, data);
}

static int egress_command(enum tc_setup_type type, void *data, void *priv)
{
	struct solar_port *port = priv;

	return flower_command(port, &port->egress, type, data);
}

static int setup_block(struct solar_port *port, struct flow_block_offload *block)
{
	switch (block->binder_type) {
	case FLOW_BLOCK_BINDER_TYPE_CLSACT_INGRESS:
		return flow_block_cb_setup_simple(block, &solar_block_list, ingress_command, port,
						  port, true);
	case FLOW_BLOCK_BINDER_TYPE_CLSACT_EGRESS:
		return flow_block_cb_setup_simple(block, &solar_block_list, egress_command, port,
						  port, false);
	default:
		return -EOPNOTSUPP;
	}
}

int solar_setup_tc(struct net_device *netdev, enum tc_setup_type type, void *type_data)
{
	struct solar_port *port = netdev_priv(netdev);

	switch (type) {
	case TC_SETUP_BLOCK:
		return setup_block(port, type_data);
	case TC_SETUP_QDISC_HTB:
		return solar_setup_htb(port, type_data);
	default:
		return solar_setup_qdisc(port, type, type_data);
	}
}

void solar_tcam_init(struct solar_port *port)
{
	INIT_LIST_HEAD(&port->ingress.entries);
	INIT_LIST_HEAD(&port->egress.entries);
	port->tcam_entries = solar_tcam_entries;
}
