// SPDX-License-Identifier: GPL-2.0
/*
 * htb in "hardware": every leaf class owns a transmit queue after the first, packets take the queue
 * of their class (skb->priority 1:X, else the default class) and are counted there by the core.
 * Rates are stored, not enforced. Called under the rtnl lock.
 */
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>

#include "solar_rdma.h"

static struct solar_htb_class *find(struct solar_htb *htb, u32 classid)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(htb->classes); i++)
		if (htb->classes[i].classid == classid)
			return &htb->classes[i];
	return NULL;
}

/* A free queue, or 0. The queues of leaves are 1..SOLAR_HTB_LEAVES. */
static u16 free_queue(const struct solar_htb *htb)
{
	DECLARE_BITMAP(used, SOLAR_HTB_LEAVES + 1) = { 1 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(htb->classes); i++)
		if (htb->classes[i].classid && htb->classes[i].leaf)
			set_bit(htb->classes[i].qid, used);
	i = find_first_zero_bit(used, SOLAR_HTB_LEAVES + 1);
	return i > SOLAR_HTB_LEAVES ? 0 : i;
}

static void class_init(struct solar_htb_class *class, const struct tc_htb_qopt_offload *opt,
		       u32 parent, u16 qid)
{
	class->parent = parent == TC_HTB_CLASSID_ROOT ? 0 : parent;
	class->rate = opt->rate;
	class->ceil = opt->ceil;
	class->qid = qid;
	class->leaf = true;
	smp_store_release(&class->classid, opt->classid);
}

static int create(struct solar_port *port, struct tc_htb_qopt_offload *opt)
{
	int err = netif_set_real_num_tx_queues(port->netdev, 1 + SOLAR_HTB_LEAVES);

	if (err)
		return err;
	memset(&port->htb, 0, sizeof(port->htb));
	port->htb.defcls = opt->classid;
	port->htb.on = true;
	return 0;
}

static void destroy(struct solar_port *port)
{
	port->htb.on = false;
	netif_set_real_num_tx_queues(port->netdev, 1);
}

static int leaf_new(struct solar_port *port, struct tc_htb_qopt_offload *opt)
{
	struct solar_htb_class *class = find(&port->htb, 0);
	u16 qid = free_queue(&port->htb);

	if (!class || !qid) {
		NL_SET_ERR_MSG_MOD(opt->extack, "htb offload has 16 leaf classes");
		return -ENOSPC;
	}
	class_init(class, opt, opt->parent_classid, qid);
	opt->qid = qid;
	return 0;
}

/* The first child takes over its parent's queue. */
static int leaf_to_inner(struct solar_port *port, struct tc_htb_qopt_offload *opt)
{
	struct solar_htb_class *parent = find(&port->htb, opt->parent_classid);
	struct solar_htb_class *class = find(&port->htb, 0);

	if (!parent || !class)
		return -ENOSPC;
	parent->leaf = false;
	class_init(class, opt, opt->parent_classid, parent->qid);
	opt->qid = parent->qid;
	return 0;
}

/* classid stays as it is: no queue moves. Zero would make the core look for a class that moved. */
static int leaf_del(struct solar_port *port, struct tc_htb_qopt_offload *opt)
{
	struct solar_htb_class *class = find(&port->htb, opt->classid);

	if (!class)
		return -ENOENT;
	WRITE_ONCE(class->classid, 0);
	return 0;
}

/* The parent is a leaf again, with the queue of its last child. */
static int leaf_del_last(struct solar_port *port, struct tc_htb_qopt_offload *opt)
{
	struct solar_htb_class *class = find(&port->htb, opt->classid), *parent;

	if (!class)
		return -ENOENT;
	parent = class->parent ? find(&port->htb, class->parent) : NULL;
	if (parent) {
		parent->qid = class->qid;
		parent->leaf = true;
	}
	WRITE_ONCE(class->classid, 0);
	return 0;
}

static int modify(struct solar_port *port, const struct tc_htb_qopt_offload *opt)
{
	struct solar_htb_class *class = find(&port->htb, opt->classid);

	if (!class)
		return -ENOENT;
	class->rate = opt->rate;
	class->ceil = opt->ceil;
	return 0;
}

static int query_queue(struct solar_port *port, struct tc_htb_qopt_offload *opt)
{
	const struct solar_htb_class *class = find(&port->htb, opt->classid);

	if (!class || !class->leaf || !opt->classid)
		return -ENOENT;
	opt->qid = class->qid;
	return 0;
}

/* What adds or changes may fail on demand; taking away may not. */
static int fault(struct solar_port *port, struct tc_htb_qopt_offload *opt)
{
	int verdict;

	if (opt->command != TC_HTB_CREATE && opt->command != TC_HTB_LEAF_ALLOC_QUEUE &&
	    opt->command != TC_HTB_LEAF_TO_INNER && opt->command != TC_HTB_NODE_MODIFY)
		return 0;
	verdict = solar_fault_check(port, SOLAR_OP_QDISC);
	if (verdict < 0)
		NL_SET_ERR_MSG_MOD(opt->extack, "fault on demand");
	return min(verdict, 0);
}

int solar_setup_htb(struct solar_port *port, struct tc_htb_qopt_offload *opt)
{
	int err = fault(port, opt);

	if (err)
		return err;
	switch (opt->command) {
	case TC_HTB_CREATE:
		return create(port, opt);
	case TC_HTB_DESTROY:
		destroy(port);
		return 0;
	case TC_HTB_LEAF_ALLOC_QUEUE:
		return leaf_new(port, opt);
	case TC_HTB_LEAF_TO_INNER:
		return leaf_to_inner(port, opt);
	case TC_HTB_LEAF_DEL:
		return leaf_del(port, opt);
	case TC_HTB_LEAF_DEL_LAST:
	case TC_HTB_LEAF_DEL_LAST_FORCE:
		return leaf_del_last(port, opt);
	case TC_HTB_NODE_MODIFY:
		return modify(port, opt);
	case TC_HTB_LEAF_QUERY_QUEUE:
		return query_queue(port, opt);
	default:
		return -EOPNOTSUPP;
	}
}

static u16 queue_of(struct solar_htb *htb, u16 classid)
{
	const struct solar_htb_class *class = classid ? find(htb, classid) : NULL;

	return class && READ_ONCE(class->leaf) ? READ_ONCE(class->qid) : 0;
}

u16 solar_select_queue(struct net_device *netdev, struct sk_buff *skb, struct net_device *sb_dev)
{
	struct solar_port *port = netdev_priv(netdev);
	u16 qid = 0;

	if (!READ_ONCE(port->htb.on))
		return 0;
	if (TC_H_MAJ(skb->priority))
		qid = queue_of(&port->htb, TC_H_MIN(skb->priority));
	return qid ? qid : queue_of(&port->htb, READ_ONCE(port->htb.defcls));
}
