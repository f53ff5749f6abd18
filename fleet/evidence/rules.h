#pragma once
/*
 * fleet/evidence/rules.h - the rules over what files say, as a table (doc/rules.md lists them).
 * Ids are public and never reused. Private to fleet/evidence/.
 */

#include "base/finding.h"

#define RULE_FCS_ERRORS       "fcs-errors"
#define RULE_SYMBOL_ERRORS    "symbol-errors"
#define RULE_RX_DISCARDS      "receive-discards"
#define RULE_RX_DISCARDS_FEW  "receive-discards-few"
#define RULE_LOSSLESS_DISCARD "lossless-discards"
#define RULE_LINK_PAUSE       "link-pause-active"
#define RULE_PAUSE_STORM      "pause-storm"
#define RULE_PAUSE_GROWING    "priority-pause-growing"
#define RULE_PCIE_SIGNAL      "pcie-signal"
#define RULE_COUNTER_FULL     "counter-saturated"
#define RULE_LINK_FLAPPING    "link-flapping"
#define RULE_SEND_DISCARDS    "send-discards"
#define RULE_RDMA_RETRIES     "rdma-retries-exceeded"
#define RULE_RDMA_LOSS        "rdma-packet-loss"
#define RULE_DRIVER_ERRORS    "driver-errors"
#define RULE_FIRMWARE_OLD     "firmware-old"
#define RULE_FIRMWARE_STAGED  "firmware-staged"
#define RULE_FLASH_FAILED     "flash-failed"
#define RULE_FLASH_PSID       "flash-psid-mismatch"
#define RULE_NIC_UNSUPPORTED  "nic-not-rdma"
#define RULE_PORT_DISABLED    "port-disabled"
#define RULE_PORT_POLLING     "port-polling"
#define RULE_PORT_DOWN        "port-down"
#define RULE_DEVICE_VANISHED  "device-vanished"
#define RULE_RDMA_MTU_LOW     "rdma-mtu-low"
#define RULE_RDMA_BOND        "rdma-bond"
#define RULE_PING_LOSS        "ping-loss"
#define RULE_RUN_FAILED       "run-failed"
#define RULE_TRUST_NOT_DSCP   "trust-not-dscp"
#define RULE_ROCE_NO_PFC      "roce-without-pfc"
#define RULE_QDISC_DROPS      "qdisc-drops"
#define RULE_FLOW_LIMIT       "flow-limit-drops"
#define RULE_IRQ_ONE_CPU      "irq-one-cpu"
#define RULE_PCIE_SLOW        "pcie-link-degraded"
#define RULE_PCIE_SLOW_OTHER  "pcie-link-degraded-other"
#define RULE_PCIE_SLOW_BRIDGE "pcie-link-bridge"
#define RULE_SWITCH_ALARM     "switch-alarm"
#define RULE_SM_ERROR         "subnet-manager-error"

struct evidence_rule {
    const char *id;
    enum finding_severity severity;
    const char *what; /* that is wrong, one sentence */
    const char *hint; /* what to do */
};

/* Of a listed id; asserts that it is listed. */
const struct evidence_rule *evidence_rule_get(const char *id);
