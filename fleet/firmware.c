/*
 * fleet/firmware.c - see firmware.h.
 */
#include "fleet/firmware.h"

#include <stdio.h>
#include <string.h>

#include "fleet/version.h"

#define TEXT_SIZE 512

const char *firmware_verdict_name(enum firmware_verdict verdict)
{
    static const char *const names[FIRMWARE_VERDICTS] = {"compliant", "below", "unknown",
                                                         "no-minimum"};
    return names[verdict];
}

const char *firmware_minimum(const struct fabric *fabric, const char *driver)
{
    const char *highest = NULL;
    int order;
    for (size_t i = 0; fabric != NULL && i < fabric->firmware_count; i++) {
        const struct fabric_firmware *wanted = &fabric->firmware[i];
        if (strcmp(wanted->driver, driver) == 0 &&
            (highest == NULL || (version_order(wanted->minimum, highest, &order) && order > 0)))
            highest = wanted->minimum;
    }
    return highest;
}

enum firmware_verdict firmware_judge(const char *version, const char *minimum)
{
    int order;
    if (minimum == NULL)
        return FIRMWARE_NO_MINIMUM;
    if (!version_order(version, minimum, &order))
        return FIRMWARE_UNKNOWN;
    return order >= 0 ? FIRMWARE_COMPLIANT : FIRMWARE_BELOW;
}

bool firmware_is_staged(const struct port *port)
{
    int order;
    return version_order(port->firmware_stored, port->firmware, &order) && order != 0;
}

static void report(const char *node, const struct port *port, const char *minimum,
                   struct finding_list *findings)
{
    char subject[TEXT_SIZE], message[TEXT_SIZE];
    bool unknown = firmware_judge(port->firmware, minimum) == FIRMWARE_UNKNOWN;
    bool waits = firmware_is_staged(port) &&
                 firmware_judge(port->firmware_stored, minimum) == FIRMWARE_COMPLIANT;
    snprintf(subject, sizeof(subject), "node/%s/port/%s", node, port->id);
    if (unknown)
        snprintf(message, sizeof(message),
                 "port %s of node %s: its firmware is not known, so nobody can say that it is at "
                 "least %s",
                 port->id, node, minimum);
    else
        snprintf(message, sizeof(message),
                 "port %s of node %s runs firmware %s, the fabric profile wants at least %s",
                 port->id, node, port->firmware, minimum);
    const char *hint = unknown ? NULL
                       : waits
                           ? "a new enough firmware is stored already: activate it by a reload "
                             "or a reboot of the node"
                           : "flash an image of the firmware catalogue in a maintenance window, "
                             "then activate it";
    finding_add(findings, &(struct finding){
                              .rule = RULE_FIRMWARE_MINIMUM,
                              .severity = unknown ? FINDING_INFO : FINDING_WARNING,
                              .subject = subject,
                              .message = message,
                              .observed = (char *)(uintptr_t)(unknown ? "unknown" : port->firmware),
                              .limit = (char *)(uintptr_t)minimum,
                              .hint = (char *)(uintptr_t)hint,
                          });
}

void firmware_check_node(const struct fabric *fabric, const char *node,
                         const struct inventory *inventory, struct finding_list *findings)
{
    for (size_t i = 0; i < inventory->port_count; i++) {
        const struct port *port = &inventory->ports[i];
        const char *minimum = firmware_minimum(fabric, port->driver);
        enum firmware_verdict verdict = firmware_judge(port->firmware, minimum);
        if (verdict == FIRMWARE_BELOW || verdict == FIRMWARE_UNKNOWN)
            report(node, port, minimum, findings);
    }
}
