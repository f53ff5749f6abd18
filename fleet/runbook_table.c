/*
 * fleet/runbook_table.c - the runbooks and their steps (doc/runbooks.md tells of them). Ids of
 * rules are those of doc/rules.md, names of numbers the canonical ones of telemetry and evidence.
 */
#include "fleet/runbook.h"

#define GROWS(counter)                                                                             \
    {                                                                                              \
        .name = (counter), .kinds = CLUE_NUMBER, .limit = 0                                        \
    }
#define GROWS_LIVE(counter)                                                                        \
    {                                                                                              \
        .name = (counter), .kinds = CLUE_LIVE, .limit = 0                                          \
    }
#define OVER(number, most)                                                                         \
    {                                                                                              \
        .name = (number), .kinds = CLUE_NUMBER, .limit = (most)                                    \
    }
#define UNDER(number, least)                                                                       \
    {                                                                                              \
        .name = (number), .kinds = CLUE_NUMBER, .compare = RUNBOOK_BELOW, .limit = (least)         \
    }
#define AWAY(number, most)                                                                         \
    {                                                                                              \
        .name = (number), .kinds = CLUE_NUMBER, .compare = RUNBOOK_AWAY, .limit = (most)           \
    }
#define IS(name_, text_)                                                                           \
    {                                                                                              \
        .name = (name_), .compare = RUNBOOK_IS, .text = (text_)                                    \
    }
#define IS_NOT(name_, text_)                                                                       \
    {                                                                                              \
        .name = (name_), .compare = RUNBOOK_IS_NOT, .text = (text_)                                \
    }
#define READ(kind_)                                                                                \
    {                                                                                              \
        .name = "read." kind_, .compare = RUNBOOK_READ                                             \
    }

#define PTP_OFFSET_NS       10000 /* as the rule ptp-offset */
#define IRQ_SHARE_PERMYRIAD 8000  /* as the rule irq-one-cpu */
#define PAUSE_PERMILLE      100   /* of the time: a storm, as the rule pause-storm */

const struct runbook_latency runbook_latencies[] = {
    /* A user process answers each ping through a management queue pair: 60 to 300 us is healthy. */
    {"ibping", "rtt_avg", RUNBOOK_CLASS_HARDWARE, 1000},
    {"ibping", "rtt_avg", RUNBOOK_CLASS_SOFTWARE, 0},
    /* One way of a small message between two NICs is 1 to 3 us; ten means another path. */
    {"perftest", "t_typical", RUNBOOK_CLASS_HARDWARE, 10},
    {"perftest", "t_typical", RUNBOOK_CLASS_SOFTWARE, 0},
    /* The same there and back, with the wait for each completion. */
    {"ibv_pingpong", "t_avg", RUNBOOK_CLASS_HARDWARE, 20},
    {"ibv_pingpong", "t_avg", RUNBOOK_CLASS_SOFTWARE, 0},
};
const size_t runbook_latency_count = sizeof(runbook_latencies) / sizeof(runbook_latencies[0]);

/* The link ------------------------------------------------------------------------------------ */

static const struct runbook_step link_state = {
    .id = "link-state",
    .check = "Is every RDMA port up, and has it stayed so?",
    .rules = {"port-down", "port-polling", "port-disabled", "link-down", "link-flapping",
              "cable-unplugged", "module-error", "ufm-link-down"},
    .tests = {IS_NOT("link_state", "up"), GROWS_LIVE("link_downed"), GROWS_LIVE("link_down_events"),
              IS("physical_state", "Disabled|Polling|2: Polling|3: Disabled|DISABLED|POLLING")},
    .each_port = true,
    .effect = "a port that goes down ends every connection over it",
    .action = "Look at both ends of the cable; replace the cable or the transceiver",
    .needs = "ibstat, ip link, or an inventory of the node",
    .explains = {"peer-ping", "address-resolution", "retries", "retransmission", "gid",
                 "base-latency", "discards"},
};

static const struct runbook_step fcs = {
    .id = "fcs",
    .check = "Do frames arrive damaged?",
    .rules = {"fcs-errors", "symbol-errors", "ufm-link-errors"},
    .tests = {GROWS("rx_fcs_errors"), GROWS("rx_symbol_errors"), GROWS("symbol_error")},
    .each_port = true,
    .effect = "a damaged frame is dropped and sent again after a timeout",
    .action = "Clean or replace the cable and both transceivers, then see whether it still grows",
    .needs = "ethtool -S of each port",
    .explains = {"retransmission", "retries", "base-latency"},
};

/* The node ------------------------------------------------------------------------------------ */

static const struct runbook_step gpu_ecc = {
    .id = "gpu-ecc",
    .check = "Do GPUs have errors of memory or of their own?",
    .rules = {"gpu-ecc-uncorrected", "gpu-remap-pending", "gpu-remap-failed", "gpu-reset-required",
              "gpu-lost", "gpu-init-failed", "xid-gpu-reset", "xid-gpu-hardware", "xid-nvlink",
              "gpu-xid", "nvswitch-fatal", "gpu-slowdown"},
    .tests = {GROWS("ecc_uncorrected"), GROWS("ecc_errors.volatile.uncorrectable"),
              GROWS("remap_pending"), GROWS("remap_failed"), IS("remapped_rows.pending", "Yes|1"),
              GROWS("is_lost"), READ("xid")},
    .doubts = {"gpu-health-unknown", "gpu-collection-partial"},
    .effect = "a GPU that corrects, remaps or slows down keeps the whole ring waiting",
    .action = "Drain the node and reset the GPU; replace it when it comes again",
    .needs = "nvidia-smi -q, and the kernel's log",
};

static const struct runbook_step irq_balance = {
    .id = "irq-balance",
    .check = "Are interrupts spread over CPUs?",
    .rules = {"irq-one-cpu"},
    .tests = {OVER("busiest_cpu_share_permyriad", IRQ_SHARE_PERMYRIAD)},
    .effect = "one CPU that takes all completions bounds the rate of the port",
    .action = "Spread the affinity of the NIC's interrupts over CPUs of its NUMA node",
    .needs = "/proc/interrupts twice, some seconds apart",
};

static const struct runbook_step pcie = {
    .id = "pcie",
    .check = "Do NICs and GPUs have all of their PCIe link?",
    .rules = {"pcie-link-degraded", "pcie-bandwidth-limited", "pcie-uncorrected", "pcie-corrected",
              "pcie-device-lost", "compat-pcie", "compat-gpu-pcie", "gpu-pcie-narrow"},
    .tests = {UNDER("pcie_share", 100), UNDER("link_share_percent", 100),
              GROWS_LIVE("aer_nonfatal"), GROWS_LIVE("aer_fatal")},
    .effect = "a link of half the lanes or speed gives half the bandwidth",
    .action = "Reseat the card, check the slot's width and the riser",
    .needs = "lspci -vv as root, or an inventory of the node",
};

static const struct runbook_step ptp = {
    .id = "ptp",
    .check = "Are the clocks of the node together?",
    .rules = {"ptp-offset", "clock-offset"},
    .tests = {AWAY("offset_ns", PTP_OFFSET_NS), AWAY("clock_ahead_ms", 2000)},
    .effect = "times of different nodes cannot be compared, and what schedules by them drifts",
    .action = "Look at ptp4l and phc2sys of the node, then at the grandmaster",
    .needs = "a NIC with a PTP clock whose offset the agent reads",
};

static const struct runbook_step host = {
    .id = "host",
    .check = "Is the host itself well: memory, CPUs, heat?",
    .rules = {"cpu-lockup", "hung-task", "out-of-memory", "machine-check", "memory-uncorrected",
              "memory-corrected", "device-hot", "thp-on", "memlock-low", "iommu-fault",
              "bmc-health", "gpu-slowdown"},
    .tests = {OVER("thp_mode", 1), READ("dmesg")},
    .effect = "a host that waits for memory, or cools itself by going slower, is late each time",
    .action = "Read the evidence; take the node out of service while a part of it is broken",
    .needs = "dmesg, and telemetry of the node",
};

static const struct runbook_step device_health = {
    .id = "device-health",
    .check = "Do the NIC, its firmware and its driver work?",
    .rules = {"device-health", "device-recovery-failed", "device-command-timeout", "tx-timeout",
              "firmware-not-ready", "driver-not-bound", "rdma-client-failed", "device-error",
              "qp-table-exhausted", "device-vanished", "driver-safe-mode", "compat-firmware",
              "firmware-minimum"},
    .tests = {READ("dmesg")},
    .effect = "a NIC whose firmware does not answer makes no queue pairs",
    .action = "Reset the device; collect a firmware dump for the vendor when it comes again",
    .needs = "dmesg, devlink health",
    .explains = {"link-state", "gid", "retries"},
};

/* The fabric ---------------------------------------------------------------------------------- */

static const struct runbook_step pause_step = {
    .id = "pause",
    .check = "Is a priority paused for long, or the whole link?",
    .rules = {"pause-storm", "pause-storm-sent", "pause-storm-watch", "pause-frames",
              "link-pause-active", "pause-asymmetry"},
    .tests = {OVER("rx_pause_share", PAUSE_PERMILLE), OVER("tx_pause_share", PAUSE_PERMILLE),
              GROWS_LIVE("tx_pause_storm_warnings"), GROWS_LIVE("tx_pause_storm_errors")},
    .effect = "a paused port sends nothing; the pause spreads to whoever sends to it",
    .action = "Find the host or port that sends pause without end, and take it off the fabric",
    .needs = "ethtool -S of each port, with pause durations",
    .explains = {"base-latency", "send-queue"},
};

static const struct runbook_step retransmission = {
    .id = "retransmission",
    .check = "Are packets sent again?",
    .rules = {"retransmission-rate", "rdma-packet-loss", "rdma-retries-exceeded",
              "nccl-transport-retry"},
    .tests = {GROWS_LIVE("packet_seq_err"), GROWS_LIVE("local_ack_timeout_err"),
              GROWS_LIVE("out_of_sequence"), GROWS_LIVE("implied_nak_seq_err"),
              GROWS_LIVE("rcvd_seq_err"), GROWS_LIVE("completer_retry_err"),
              GROWS_LIVE("retransmits")},
    .each_port = true,
    .effect = "each loss costs a timeout, of milliseconds where a message takes microseconds",
    .action = "Look for where packets are lost: discards, flow control, MTU, cables",
    .needs = "hw_counters of each RDMA port, by the agent",
};

static const struct runbook_step discards = {
    .id = "discards",
    .check = "Do the port, its buffers or a queue drop frames?",
    .rules = {"lossless-discards", "receive-discards", "send-discards", "qdisc-drops",
              "flow-limit-drops", "switch-discards"},
    .tests = {GROWS("rx_discards_host"), GROWS("rx_discards_port"), GROWS("rx_discards_phy"),
              GROWS("rx_discards_buffer"), GROWS("rx_discards"), GROWS("tx_discards"),
              GROWS("port_xmit_discards")},
    .each_port = true,
    .effect = "what is dropped is sent again after a timeout",
    .action = "Check the headroom of the priority's buffer, the receive rings and the slow host",
    .needs = "ethtool -S of each port, tc -s qdisc",
    .explains = {"retransmission", "retries"},
};

static const struct runbook_step receive_queue = {
    .id = "receive-queue",
    .check = "Does the receiver post its buffers in time?",
    .rules = {"nccl-receiver-not-ready"},
    .tests = {GROWS_LIVE("out_of_buffer"), GROWS_LIVE("rnr_nak_retry_err"),
              GROWS_LIVE("send_rnr_err")},
    .effect = "a receiver without a buffer makes the sender wait and try again",
    .action = "Look for a receiver that is late: its CPU, its interrupts, its queue depth",
    .needs = "hw_counters of each RDMA port, by the agent",
};

static const struct runbook_step marking = {
    .id = "marking",
    .check = "Do the marks of traffic go through the ports as planned?",
    .rules = {"marking-chain", "trust-not-dscp", "roce-without-pfc", "traffic-wrong-priority",
              "cnp-lossless", "switch-dscp-lossy", "switch-dscp-unmapped", "switch-pfc-off",
              "switch-pfc-disagrees", "dcbx-conflict"},
    .tests = {IS("chain", "broken"), READ("dcb"), READ("mlnx_qos")},
    .effect = "traffic in another class than planned is dropped there, or delays what is in it",
    .action = "See GET /v1/nodes/NODE/chains for the hop that is not as planned",
    .needs = "the node's chains, which its agent tells when it has a plan",
    .explains = {"discards", "retransmission", "retries"},
};

static const struct runbook_step ecn = {
    .id = "ecn",
    .check = "Is congestion marked before it pauses?",
    .rules = {"ecn-never-marks", "switch-ecn-off", "switch-ecn-threshold", "compat-switch-ecn"},
    .tests = {READ("sonic-qos"), READ("dcqcn")},
    .effect = "without marks the senders never slow down, and pause or loss ends the congestion",
    .action =
        "Look at the switch's ECN profile of the class, and at Kmin against the PFC threshold",
    .needs = "show ecn of the switch; pause and CNP counters of the node",
    .explains = {"pause", "discards"},
};

static const struct runbook_step mtu = {
    .id = "mtu",
    .check = "Is the MTU the same along the path?",
    .rules = {"mtu-mismatch", "rdma-mtu-low"},
    .tests = {READ("ibv_devinfo")},
    .effect = "frames that are larger than the peer takes are dropped without a word",
    .action = "Set the MTU with the fabric profile on every port of the rail",
    .needs = "ibv_devinfo of both ends",
    .explains = {"discards", "retransmission", "retries"},
};

/* Connections --------------------------------------------------------------------------------- */

static const struct runbook_step gid = {
    .id = "gid",
    .check = "Has every RDMA port an address that can be routed, where it was?",
    .rules = {"gid-not-routable", "gid-moved"},
    .tests = {UNDER("gid_index", 0)},
    .each_port = true,
    .effect = "a connection is made from an address; without one, or with another, it is refused",
    .action = "Give the interface an IP address; start jobs again that were given the old index",
    .needs = "show_gids, or an inventory of the node",
    .explains = {"address-resolution", "peer-ping"},
};

static const struct runbook_step address_resolution = {
    .id = "address-resolution",
    .check = "Does the connection manager resolve addresses and routes?",
    .rules = {"cm-id-stuck", "cm-listen-failed", "pkey-mismatch", "nccl-modify-qp"},
    .tests = {READ("dmesg"), READ("nccl-log")},
    .effect = "the CM ID goes to ERROR when the peer's address or the route to it has no answer",
    .action = "Compare addresses, VLANs and routes of both ends; see that the listener runs",
    .needs = "dmesg, rdma resource show cm_id, the log of the job",
};

static const struct runbook_step peer_ping = {
    .id = "peer-ping",
    .check = "Does the peer answer?",
    .rules = {"ping-loss", "run-failed", "nccl-peer-lost"},
    .tests = {OVER("packet_loss", 0), UNDER("ping_answered", 0)},
    .effect = "a peer that does not answer cannot be connected to",
    .action = "Look at the peer's link, address and listener, then at the path between",
    .needs = "rping or ib_send_lat between the two nodes",
};

static const struct runbook_step retries = {
    .id = "retries",
    .check = "Did queue pairs give up sending again?",
    .rules = {"rdma-retries-exceeded", "completion-error", "rdma-async-error",
              "nccl-completion-error", "nccl-transport-retry", "nccl-async-event"},
    .tests = {GROWS_LIVE("retry_exceeded_err"), GROWS_LIVE("req_transport_retries_exceeded"),
              GROWS_LIVE("req_rnr_retries_exceeded"), GROWS_LIVE("retry_rnr_exceeded_err")},
    .effect = "a queue pair that gave up is in ERROR, and so is its connection",
    .action = "Look for lost packets on the path: discards, flow control, MTU",
    .needs = "hw_counters of each RDMA port, by the agent",
};

static const struct runbook_step subnet_manager = {
    .id = "subnet-manager",
    .check = "Is the subnet manager well?",
    .rules = {"subnet-manager-error"},
    .tests = {READ("opensm"),
              {.name = "sm_lid", .kinds = CLUE_FILE, .compare = RUNBOOK_BELOW, .limit = 1}},
    .layer = RUNBOOK_INFINIBAND,
    .effect = "without a subnet manager no path is resolved",
    .action = "Read the subnet manager's log; see that exactly one is master",
    .needs = "the log of opensm, sminfo",
    .explains = {"address-resolution", "link-state"},
};

static const struct runbook_step ibping = {
    .id = "ibping",
    .check = "Does ibping reach the peer?",
    .rules = {"ping-loss"},
    .tests = {OVER("packet_loss", 0)},
    .layer = RUNBOOK_INFINIBAND,
    .effect = "management datagrams that are lost tell of the path before any connection is made",
    .action = "Look at the path with ibqueryerrors and iblinkinfo",
    .needs = "ibping -S on the peer, then ibping to it",
};

static const struct runbook_step base_latency = {
    .id = "base-latency",
    .check = "Is the latency without load that of the tool on this class of device?",
    .special = RUNBOOK_BASE_LATENCY,
    .effect = "a base latency beyond its class means a longer path or a slow host",
    .action = "Compare with a node of the same rail; look at the path, then at the host",
    .needs = "ib_send_lat between the two nodes (ibping on InfiniBand)",
};

/* Tenants and jobs ---------------------------------------------------------------------------- */

static const struct runbook_step guarantee = {
    .id = "guarantee",
    .check = "Does every job get what it was guaranteed?",
    .rules = {"guarantee-not-met"},
    .tests = {OVER("minutes_below_guarantee", 4)},
    .effect = "a job that gets less than its share while it asks for more is pressed by another",
    .action = "Look for congestion, pause and retransmission on its ports; compare the shares",
    .needs = "queue pairs of labelled jobs, counted by the node",
};

static const struct runbook_step limit_floor = {
    .id = "limit-floor",
    .check = "Is a job's own limit what slows it down?",
    .rules = {"bw-limit-floor"},
    .tests = {{.name = "limit_of_demand_percent",
               .kinds = CLUE_NUMBER,
               .compare = RUNBOOK_BELOW,
               .limit = 70}},
    .effect = "a limit below 70 % of the demand makes senders push back on each other",
    .action = "Raise bw_limit, or place the job elsewhere",
    .needs = "the job's demand: seven days of it, or declared in the policy",
};

static const struct runbook_step unlabelled = {
    .id = "unlabelled-traffic",
    .check = "Is much of the node's RDMA traffic of no job?",
    .tests = {OVER("unlabelled_share", 200)},
    .effect = "traffic without a job has no guarantee and no limit, and takes what is there",
    .action = "Find the processes of queue pairs without a label; place their job",
    .needs = "queue pairs counted by the node (rdma statistic qp)",
    .explains = {"guarantee"},
};

static const struct runbook_step latency_outlier = {
    .id = "latency-outlier",
    .check = "Does a queue pair take longer than its job's others?",
    .rules = {"latency-outlier", "nccl-tests-unstable"},
    .tests = {OVER("latency_of_peers_percent", 200)},
    .effect = "the slowest member bounds a collective operation",
    .action = "Compare the node with its peers: PCIe, interrupts, cable, pause",
    .needs = "latency histograms of Solar-RDMA, or nccl-tests of the job",
};

static const struct runbook_step agent_health = {
    .id = "agent",
    .check = "Is the node heard, and are its counters new?",
    .rules = {"agent-silent", "telemetry-stale"},
    .tests = {OVER("telemetry_age_s", 60), OVER("agent_silent_s", 60)},
    .effect = "what is not heard is not known: other steps may be unknown because of it",
    .action = "Look at stellar-agent.service and at the node itself",
    .needs = "an agent on the node",
};

/* The books ----------------------------------------------------------------------------------- */

static const struct runbook performance_drop = {
    .name = "performance-drop",
    .symptom = "A collective operation takes several times as long as it did",
    .steps = (const struct runbook_step *const[]){&link_state, &fcs, &gpu_ecc, &irq_balance, &pcie,
                                                  &pause_step, &retransmission, &discards,
                                                  &receive_queue, &marking, &ptp, &base_latency,
                                                  &host, NULL},
};

static const struct runbook cm_error = {
    .name = "cm-error",
    .symptom = "Connections fail: the state of a CM ID goes to ERROR",
    .steps =
        (const struct runbook_step *const[]){&link_state, &device_health, &gid, &address_resolution,
                                             &peer_ping, &mtu, &retries, &marking, &subnet_manager,
                                             &ibping, &base_latency, NULL},
};

static const struct runbook tenant_interference = {
    .name = "tenant-interference",
    .symptom = "A job slows down when another tenant's job runs",
    .steps = (const struct runbook_step *const[]){&guarantee, &limit_floor, &marking, &unlabelled,
                                                  &pause_step, &discards, &ecn, &retransmission,
                                                  &latency_outlier, NULL},
};

static const struct runbook packet_loss = {
    .name = "packet-loss",
    .symptom = "Packets are lost, or sent again",
    .steps = (const struct runbook_step *const[]){&link_state, &fcs, &marking, &discards, &mtu,
                                                  &ecn, &pause_step, &receive_queue,
                                                  &retransmission, &retries, NULL},
};

static const struct runbook slow_node = {
    .name = "slow-node",
    .symptom = "One node is slower than others with the same work",
    .steps = (const struct runbook_step *const[]){&agent_health, &pcie, &gpu_ecc, &host, &fcs,
                                                  &irq_balance, &pause_step, &latency_outlier,
                                                  &retransmission, &receive_queue, &ptp,
                                                  &device_health, NULL},
};

const struct runbook *const runbooks[] = {&cm_error, &packet_loss, &performance_drop, &slow_node,
                                          &tenant_interference};
const size_t runbook_count = sizeof(runbooks) / sizeof(runbooks[0]);
