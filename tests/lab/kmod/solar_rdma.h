/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test NIC "solar_rdma": pairs of wired Ethernet ports with the management interfaces of an RDMA
 * NIC and faults on demand. One platform device, one devlink instance and one netdev a port.
 * Not a driver for any hardware; README.md of the lab says what is real and what is only stored.
 */
#pragma once

#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/in6.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/workqueue.h>
#include <net/devlink.h>

struct tc_htb_qopt_offload;
struct ib_client;

#define SOLAR_NAME "solar_rdma"
#define SOLAR_PRIOS 8
#define SOLAR_DSCPS 64
#define SOLAR_MAX_PAIRS 8
#define SOLAR_MAX_PORTS (2 * SOLAR_MAX_PAIRS)
#define SOLAR_MAX_TCAM 65536
#define SOLAR_DEFAULT_MTU 4200
#define SOLAR_MAX_MTU 9978
#define SOLAR_RATE_UNIT_KBPS 100000ULL
#define SOLAR_BUFFER_TOTAL (512 * 1024)
#define SOLAR_FW_PSID "SOL0000000200"
#define SOLAR_FW_MAX 32
#define SOLAR_FWS 2 /* firmware components */
#define SOLAR_BOARD_ID "SOLAR-TEST-100G"
#define SOLAR_VFS 2
#define SOLAR_CC_VALUES 20
#define SOLAR_CC_MAX (SOLAR_CC_SYSFS | SOLAR_CC_DEBUGFS)
#define SOLAR_CC_SYSFS 1
#define SOLAR_CC_DEBUGFS 2
#define SOLAR_HTB_LEAVES 16 /* leaves of an offloaded htb; each has a queue after the first */
#define SOLAR_QDISCS 32	    /* offloaded ets, tbf and red of a port */

/* Every set operation that debugfs can make fail, be swallowed or be slow. */
enum solar_op {
	SOLAR_OP_DCB, /* any of the dcbnl setters */
	SOLAR_OP_ETS,
	SOLAR_OP_PFC,
	SOLAR_OP_MAXRATE,
	SOLAR_OP_APP,
	SOLAR_OP_BUFFER,
	SOLAR_OP_DCBX,
	SOLAR_OP_FLOWER,
	SOLAR_OP_PAUSE,
	SOLAR_OP_COALESCE,
	SOLAR_OP_FEC,
	SOLAR_OP_LINK,
	SOLAR_OP_MTU,
	SOLAR_OP_FLASH,
	SOLAR_OP_RELOAD,
	SOLAR_OP_PARAM,
	SOLAR_OP_RATE,
	SOLAR_OP_CC,
	SOLAR_OP_QDISC, /* ets, tbf, red, htb */
	SOLAR_OPS
};

enum solar_verdict {
	SOLAR_APPLY,
	SOLAR_SWALLOW /* answer success, change nothing */
};

struct solar_fault {
	u32 fail;   /* the next N fail with EIO */
	u32 ignore; /* the next N are answered with success and dropped */
};

/* All counters are settable in debugfs, hence signed atomics and no per-CPU split. */
struct solar_prio_counters {
	atomic64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
	atomic64_t tx_pause, rx_pause, rx_pause_duration, rx_discards;
};

struct solar_counters {
	struct solar_prio_counters prio[SOLAR_PRIOS];
	atomic64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
	atomic64_t tx_dropped, rx_dropped, fcs, symbol_errors;
	atomic64_t tx_global_pause, rx_global_pause;
	atomic64_t rx_ecn_marked, fec_corrected, fec_uncorrectable, link_flaps;
};

struct solar_dcb {
	struct ieee_ets ets;
	u8 pfc_en;
	u16 pfc_delay;
	u64 maxrate_kbps[SOLAR_PRIOS];
	u8 dscp_prio[SOLAR_DSCPS];
	DECLARE_BITMAP(dscp_set, SOLAR_DSCPS);
	struct dcbnl_buffer buffer;
	u8 dcbx;
};

struct solar_tcam {
	struct list_head entries; /* sorted by tc priority; writers hold rtnl, readers RCU */
};

struct solar_pcie {
	u32 current_gen, max_gen, current_width, max_width;
	u32 aer_correctable, aer_bad_tlp, aer_nonfatal, aer_fatal;
};

struct solar_fw {
	char running[SOLAR_FW_MAX], stored[SOLAR_FW_MAX];
};

struct solar_devparams {
	u32 dce_tcp_g, io_eq_size;
	bool smfs, enable_roce, enable_sriov;
	u8 fw_load_policy;
};

struct solar_rate {
	u64 tx_share, tx_max; /* bytes a second; 0 none */
};

struct solar_vf {
	struct solar_rate rate; /* first: see rate.c */
	u32 node;		/* number of its rate node, counted from 1; 0 none */
	struct devlink_port port;
};

struct solar_cc {
	u32 values[SOLAR_CC_VALUES];
	u8 np_enable, rp_enable; /* masks of priorities */
	struct kobject *root, *folders[4]; /* each side and its enable folder */
};

struct solar_htb_class {
	u16 classid; /* minor; 0: free */
	u16 parent;
	bool leaf;
	u16 qid;
	u64 rate, ceil;
};

struct solar_htb {
	bool on;
	u16 defcls;
	struct solar_htb_class classes[2 * SOLAR_HTB_LEAVES]; /* writers hold rtnl */
};

struct solar_qdisc {
	u32 handle; /* 0: free */
};

struct solar_port {
	struct net_device *netdev;
	struct platform_device *pdev;
	struct devlink *devlink;
	struct devlink_port devlink_port;
	struct solar_port __rcu *peer;
	struct dentry *debugfs;
	unsigned int index;

	struct solar_counters counters;
	struct solar_dcb dcb;
	struct solar_pcie pcie;
	struct solar_fault faults[SOLAR_OPS];
	u32 op_delay_ms; /* every set operation sleeps so long first */
	u32 cc_delay_ms; /* so does every read or write of a congestion control file, without a lock */
	u32 fcs_every;   /* each N-th packet received is dropped as an FCS error; 0 none */
	u32 ecn_every;   /* each N-th ECN-capable packet sent is marked CE; 0 none */
	atomic_t fcs_tick, ecn_tick;
	bool pfc_resets_link; /* as mlx5: a change of PFC takes the link down and up */

	struct solar_tcam ingress, egress;
	u32 tcam_entries; /* capacity, shared by both directions */
	u32 tcam_used;

	u32 speed_mbps;
	struct ethtool_pauseparam pause;
	u32 coalesce[4]; /* rx usecs, rx frames, tx usecs, tx frames */
	bool coalesce_adaptive_rx;
	u32 fec; /* ETHTOOL_FEC_* as set */
	u32 channels;
	u16 pfc_storm_ms;

	struct solar_fw fw[SOLAR_FWS];
	u32 flash_step_ms, flash_fail_percent;
	bool activate_kills_link, activate_needs_reboot;
	bool link_dead; /* no carrier until a good activation */
	bool reload_had_link, reload_ignored;
	struct solar_devparams params;
	struct solar_vf vfs[SOLAR_VFS];
	u32 rate_nodes, rate_node_last;
	struct devlink_health_reporter *health;
	struct work_struct health_work;
	u32 health_syndrome;
	struct solar_cc cc;
	struct solar_htb htb;
	struct solar_qdisc qdiscs[SOLAR_QDISCS];
	u32 qdiscs_used;
	struct solar_qps __rcu *qps; /* counters per queue pair: qp.c */
	bool dcbx_refuses; /* as bnxt and ice: ets and pfc need host-managed IEEE mode */
	bool health_recover_fails;
};

/* params.c: module parameters and sysctl */
extern unsigned int solar_pairs;
extern unsigned int solar_tcam_entries;
extern char *solar_fw_version;
unsigned int solar_cc_views(void);
int solar_sysctl_register(void);
void solar_sysctl_unregister(void);

/* netdev.c */
int solar_netdev_create(struct platform_device *pdev);
bool solar_is_netdev(const struct net_device *netdev);
void solar_netdev_destroy(struct solar_port *port);
void solar_ports_join(struct solar_port *a, struct solar_port *b);
void solar_port_set_carrier(struct solar_port *port, bool up);

/* dcb.c */
extern const struct dcbnl_rtnl_ops solar_dcbnl_ops;
void solar_dcb_init(struct solar_dcb *dcb);
void solar_dcb_reset(struct solar_port *port);
unsigned int solar_dcb_prio(const struct solar_port *port, const struct sk_buff *skb, u8 tos,
			    bool is_ip);

/* ethtool.c */
extern const struct ethtool_ops solar_ethtool_ops;

/* tcam.c */
struct solar_key {
	__be16 eth_type;
	u8 ip_proto;
	u8 tos;
	__be16 sport, dport;
	struct in6_addr src, dst; /* IPv4: last word */
} __aligned(8);

struct solar_decision {
	bool drop;
	bool has_prio;
	unsigned int prio;
};

void solar_key_of(struct sk_buff *skb, struct solar_key *key);
void solar_tcam_init(struct solar_port *port);
void solar_tcam_lookup(struct solar_tcam *tcam, const struct solar_key *key, unsigned int len,
		       struct solar_decision *out);
int solar_setup_tc(struct net_device *netdev, enum tc_setup_type type, void *type_data);

/* devlink.c */
struct solar_port *solar_port_of(struct devlink *devlink);
int solar_devlink_create(struct solar_port *port);
void solar_devlink_publish(struct solar_port *port);
void solar_devlink_withdraw(struct solar_port *port);
void solar_devlink_destroy(struct solar_port *port);

/* flash.c */
extern const char *const solar_fw_names[SOLAR_FWS];
void solar_fw_init(struct solar_port *port);
void solar_fw_activate(struct solar_port *port);
int solar_flash_update(struct devlink *devlink, struct devlink_flash_update_params *params,
		       struct netlink_ext_ack *extack);

/* devparam.c */
int solar_devparam_create(struct solar_port *port);
void solar_devparam_destroy(struct solar_port *port);
void solar_devparam_apply(struct solar_port *port);

/* rate.c */
int solar_rate_create(struct solar_port *port);
void solar_rate_destroy(struct solar_port *port);
int solar_rate_share_set(struct devlink_rate *leaf_or_node, void *priv, u64 rate,
			 struct netlink_ext_ack *extack);
int solar_rate_max_set(struct devlink_rate *leaf_or_node, void *priv, u64 rate,
		       struct netlink_ext_ack *extack);
int solar_rate_parent_set(struct devlink_rate *child, struct devlink_rate *parent,
			  void *priv_child, void *priv_parent, struct netlink_ext_ack *extack);
int solar_rate_node_new(struct devlink_rate *node, void **priv, struct netlink_ext_ack *extack);
int solar_rate_node_del(struct devlink_rate *node, void *priv, struct netlink_ext_ack *extack);

/* health.c */
int solar_health_create(struct solar_port *port);
void solar_health_destroy(struct solar_port *port);
void solar_health_report(struct solar_port *port, u32 syndrome);

/* cc.c */
int solar_cc_create(struct solar_port *port);
void solar_cc_destroy(struct solar_port *port);
void solar_cc_debugfs(struct solar_port *port);

/* qp.c: registered while the module is loaded */
extern struct ib_client solar_qp_client;
void solar_qp_count(struct solar_port *port, struct sk_buff *skb, const struct solar_key *key,
		    bool tx, bool marked);

/* qdisc.c, htb.c: the parts of solar_setup_tc() that are not flower */
int solar_setup_qdisc(struct solar_port *port, enum tc_setup_type type, void *data);
int solar_setup_htb(struct solar_port *port, struct tc_htb_qopt_offload *htb);
u16 solar_select_queue(struct net_device *netdev, struct sk_buff *skb, struct net_device *sb_dev);

/* sysfs.c: PCIe look-alike attributes of the platform device */
extern const struct attribute_group *solar_device_groups[];
void solar_pcie_init(struct solar_pcie *pcie);

/* debugfs.c: settable counters and faults */
void solar_debugfs_root_create(void);
void solar_debugfs_root_destroy(void);
void solar_debugfs_create(struct solar_port *port);
void solar_debugfs_destroy(struct solar_port *port);
int solar_fault_check(struct solar_port *port, enum solar_op op);
