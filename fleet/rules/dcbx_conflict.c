/*
 * fleet/rules/dcbx_conflict.c - two managers of one port's DCB undo each other's work.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/rules/rule.h"

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    const struct site *first = NULL;
    size_t count = 0;
    if (view->fabric == NULL || view->fabric->dcbx_unmanaged ||
        (change->kind != CHANGE_FABRIC && change->kind != CHANGE_INVENTORY))
        return;
    for (size_t i = 0; i < change->sites->site_count; i++) {
        const struct site *site = &change->sites->sites[i];
        if (!port_has_other_dcbx(site->port))
            continue;
        first = first == NULL ? site : first;
        count++;
    }
    if (first == NULL)
        return;
    char where[RULE_SITE_TEXT_MAX];
    const char *agent = first->port->caps.dcbx_agent;
    struct rule_finding what = {.severity = FINDING_WARNING,
                                .site = first,
                                .observed = agent,
                                .limit = "none",
                                .hint = strcmp(agent, "firmware") == 0
                                            ? "switch off the NIC's LLDP or DCBX agent with its "
                                              "vendor's tool"
                                            : "stop it on the node (systemctl disable --now "
                                              "lldpad.service lldpad.socket)"};
    rule_report(findings, &rule_dcbx_conflict, change, &what,
                "%zu %s another DCBX agent, so DCB is not programmed there; the first is %s (%s)",
                count, count == 1 ? "port has" : "ports have", rule_site_text(first, where), agent);
}

const struct rule rule_dcbx_conflict = {
    .id = "dcbx-conflict",
    .text = "No other DCBX agent (lldpad, the NIC's firmware) manages a port whose DCB the profile "
            "programs.",
    .reason = "Two managers undo each other's work, and peers see a class layout that flaps.",
    .check = check,
};
