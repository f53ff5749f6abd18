/*
 * fleet/evidence/rules.c - the rules over what files say.
 */
#include "fleet/evidence/rules.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "fleet/evidence/rules_logs.h"

static const struct evidence_rule rows[] = {
    {RULE_FCS_ERRORS, FINDING_ERROR, "Frames arrived with a wrong check sequence",
     "Clean or replace the cable and both transceivers, then see whether the counter still grows"},
    {RULE_SYMBOL_ERRORS, FINDING_WARNING, "The link delivers symbols that do not exist",
     "Clean or replace the cable and both transceivers"},
    {RULE_RX_DISCARDS, FINDING_WARNING, "The host or the port did not take frames in time",
     "Raise the receive rings (ethtool -G), spread the interrupts, and look for a slow host"},
    {RULE_RX_DISCARDS_FEW, FINDING_INFO, "Fewer than one frame in 100,000 was not taken in time",
     "See whether the counter still grows; if so, raise the receive rings (ethtool -G)"},
    {RULE_LOSSLESS_DISCARD, FINDING_CRITICAL, "Frames of a priority with flow control were dropped",
     "Check the headroom of the priority's buffer and that the switch honours its pause frames"},
    {RULE_LINK_PAUSE, FINDING_WARNING, "The whole link is paused (802.3x), not one priority",
     "Turn link-level pause off (ethtool -A) and use priority flow control instead"},
    {RULE_PAUSE_STORM, FINDING_CRITICAL, "A priority is paused for longer than it should last",
     "Find the host or port that sends pause without end, and take it off the fabric"},
    {RULE_PAUSE_GROWING, FINDING_WARNING, "Pause frames of a priority grew between two samples",
     "Find who is slow behind this port; look at the marking thresholds"},
    {RULE_PCIE_SIGNAL, FINDING_INFO, "The PCIe link had errors in its signal",
     "See whether the counter still grows; if so, reseat the card or change the riser"},
    {RULE_COUNTER_FULL, FINDING_INFO, "A counter stands at its largest value and counts no more",
     "Clear the counters (perfquery -R), then read how fast it grows"},
    {RULE_LINK_FLAPPING, FINDING_WARNING, "The link went down many times",
     "Change the cable or transceiver, and look at the peer's log"},
    {RULE_SEND_DISCARDS, FINDING_WARNING, "A port could not send packets and dropped them",
     "Look at the peer: a slow receiver, or a port that is down"},
    {RULE_RDMA_RETRIES, FINDING_ERROR, "Queue pairs gave up sending again",
     "Look for lost packets on the path: discards, flow control, MTU"},
    {RULE_RDMA_LOSS, FINDING_WARNING, "Packets of RDMA were lost and sent again",
     "See whether it grows; look for discards on the path, PFC and ECN of its priority, and "
     "cables"},
    {RULE_DRIVER_ERRORS, FINDING_WARNING, "The driver counted calls that failed",
     "Look at the kernel's log for what failed"},
    {RULE_FIRMWARE_OLD, FINDING_INFO,
     "The firmware is older than the long-term release of its card",
     "Bring the card to the long-term release with a campaign"},
    {RULE_FIRMWARE_STAGED, FINDING_INFO, "A written firmware does not run yet",
     "Reset the device (mlxfwreset, devlink dev reload) or restart the node"},
    {RULE_FLASH_FAILED, FINDING_ERROR, "Writing the firmware failed, whatever was written before",
     "Read the tool's message; the device keeps its old firmware"},
    {RULE_FLASH_PSID, FINDING_ERROR, "The image is for another board than the device",
     "Take the image of the device's own PSID; never force it"},
    {RULE_NIC_UNSUPPORTED, FINDING_INFO, "The driver serves no RDMA NIC",
     "Expect nothing of RDMA on this interface"},
    {RULE_PORT_DISABLED, FINDING_INFO, "The port is switched off",
     "Enable it if the port should carry traffic"},
    {RULE_PORT_POLLING, FINDING_ERROR, "The port is on and sees no peer",
     "Check the cable, the transceiver and the peer's port"},
    {RULE_PORT_DOWN, FINDING_WARNING, "The port carries no traffic",
     "Check the cable and the peer's port, or that it is meant to be down"},
    {RULE_DEVICE_VANISHED, FINDING_ERROR, "A device disappeared while a tool read it",
     "Look at the kernel's log; what the tool printed is not all there is"},
    {RULE_RDMA_MTU_LOW, FINDING_WARNING, "The RDMA path MTU is smaller than the port can carry",
     "Raise the MTU of the interface and of each switch on the path (4200 or more)"},
    {RULE_RDMA_BOND, FINDING_INFO, "Several ports of a card became one RDMA device",
     "Expect one device; the others are not lost"},
    {RULE_PING_LOSS, FINDING_WARNING, "Pings were not answered",
     "Check the link layer, the peer and the partition"},
    {RULE_RUN_FAILED, FINDING_ERROR, "A test between two hosts failed",
     "Check the path: GID index, MTU, routing, and that the peer runs"},
    {RULE_TRUST_NOT_DSCP, FINDING_WARNING, "The port does not trust DSCP",
     "Set trust to dscp with the fabric profile"},
    {RULE_ROCE_NO_PFC, FINDING_WARNING, "RoCE travels on a priority that has no flow control",
     "Enable flow control on the priority of RoCE, or move RoCE to one that has it"},
    {RULE_QDISC_DROPS, FINDING_WARNING, "A queueing discipline dropped packets",
     "Look at which class drops, and raise its rate or limit"},
    {RULE_FLOW_LIMIT, FINDING_WARNING, "Flows met their own queue limit",
     "Raise flow_limit of fq, or pace the sender"},
    {RULE_IRQ_ONE_CPU, FINDING_WARNING, "One CPU takes most interrupts of a NIC",
     "Spread the affinity of its interrupts over CPUs of its NUMA node"},
    {RULE_PCIE_SLOW, FINDING_ERROR, "An RDMA card or GPU has less PCIe than it can",
     "Reseat the card, check the slot's width and the riser"},
    {RULE_PCIE_SLOW_OTHER, FINDING_INFO, "Another device has less PCIe than it can",
     "Nothing, if it is a management device"},
    {RULE_PCIE_SLOW_BRIDGE, FINDING_INFO, "A bridge runs below its speed",
     "Judge the device below it"},
    {RULE_SWITCH_ALARM, FINDING_ERROR, "A switch reports a part that is not well",
     "Look at the fans and power supplies of the switch"},
    {RULE_SM_ERROR, FINDING_WARNING, "The subnet manager logged an error",
     "Look the code up in its log"},
};

const struct evidence_rule *evidence_rule_get(const char *id)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].id, id) == 0)
            return &rows[i];
    }
    for (size_t i = 0; i < evidence_log_rule_count; i++) {
        if (strcmp(evidence_log_rules[i].id, id) == 0)
            return &evidence_log_rules[i];
    }
    assert(false && "a rule that no table holds");
    return &rows[0];
}
