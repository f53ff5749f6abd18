/*
 * fleet/rules/knob_unsupported.c - what a placed port cannot enforce is refused, not ignored.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/rules/rule.h"

static const char *driver_of(const struct site *site)
{
    return site->port->driver[0] == '\0' ? "unknown" : site->port->driver;
}

static void report_job(const struct change *change, const struct site *site,
                       const struct site_job *job, const char *member, const char *text,
                       struct finding_list *findings)
{
    char where[RULE_SITE_TEXT_MAX];
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = job->tenant->name,
                                .job = job->job->name,
                                .member = member,
                                .site = site,
                                .observed = driver_of(site),
                                .hint =
                                    "place the job on other ports, or give it a priority (traffic "
                                    "class) of its own"};
    rule_report(findings, &rule_knob_unsupported, change, &what, "job %s: %s on %s (driver %s)",
                job->job->name, text, rule_site_text(site, where), driver_of(site));
}

static bool check_job(const struct view *view, const struct change *change, const struct site *site,
                      const struct site_job *job, struct finding_list *findings)
{
    const struct fabric_priority *priority = &view->fabric->priorities[job->job->priority];
    struct site_enforcement by = site_enforce(view, site, job);
    size_t before = findings->count;
    if (job->job->guarantee.kind != BANDWIDTH_NONE && by.guarantee == ENFORCEMENT_NONE)
        report_job(change, site, job, "bw_guarantee", "nothing can enforce the guarantee",
                   findings);
    if (job->job->limit.kind != BANDWIDTH_NONE && by.limit == ENFORCEMENT_NONE)
        report_job(change, site, job, "bw_limit", "nothing can enforce the limit of one job",
                   findings);
    if (priority->used && priority->lossless && !site_physical_port(site)->caps.dcb_pfc)
        report_job(change, site, job, "priority",
                   "the job's priority is lossless, but there is no PFC", findings);
    return findings->count > before;
}

static void check_flows(const struct change *change, const struct site *site,
                        struct finding_list *findings)
{
    const struct port_caps *caps = &site->port->caps;
    if (!caps->flower_hw || caps->flower_hw_entries < 0 ||
        site->job_count <= (size_t)caps->flower_hw_entries)
        return;
    char where[RULE_SITE_TEXT_MAX], limit[32];
    snprintf(limit, sizeof(limit), "%d entries", (int)caps->flower_hw_entries);
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = change->tenant,
                                .site = change->tenant == NULL ? site : NULL,
                                .pointer = change->kind == CHANGE_PLACEMENT ? "" : NULL,
                                .limit = limit,
                                .hint = "place fewer jobs on the port"};
    rule_report(findings, &rule_knob_unsupported, change, &what,
                "the flow table of %s (driver %s) has no room: it holds %s",
                rule_site_text(site, where), driver_of(site), limit);
}

static bool lacks_pfc(const struct fabric *fabric, const struct port *port)
{
    bool lossless = false;
    for (int i = 0; i < PRIORITY_COUNT; i++)
        lossless |= fabric->priorities[i].used && fabric->priorities[i].lossless;
    return lossless && !port->caps.dcb_pfc;
}

static bool lacks_app(const struct fabric *fabric, const struct port *port)
{
    return fabric->trust == FABRIC_TRUST_DSCP && !port->caps.dcb_app;
}

static bool lacks_ets(const struct fabric *fabric, const struct port *port)
{
    return !site_has_classes(fabric, &port->caps);
}

static bool lacks_maxrate(const struct fabric *fabric, const struct port *port)
{
    bool limits = false;
    for (int i = 0; i < PRIORITY_COUNT; i++)
        limits |= fabric->priorities[i].used && fabric->priorities[i].limit.kind != BANDWIDTH_NONE;
    return limits && !port->caps.dcb_maxrate;
}

static bool lacks_buffer(const struct fabric *fabric, const struct port *port)
{
    return fabric->has_buffer && !port->caps.dcb_buffer;
}

static bool lacks_tos(const struct fabric *fabric, const struct port *port)
{
    return fabric->has_roce_priority && !port->caps.roce_tos;
}

static bool lacks_cnp(const struct fabric *fabric, const struct port *port)
{
    return fabric->has_cnp && (port->caps.roce_cc & roce_cc_bit(ROCE_CC_CNP_DSCP)) == 0;
}

static bool lacks_cc(const struct fabric *fabric, const struct port *port)
{
    return (fabric->cc.present & ~port->caps.roce_cc) != 0 ||
           (fabric->cc.has_notify && !port->caps.roce_cc_notify) ||
           (fabric->cc.has_react && !port->caps.roce_cc_react);
}

static bool lacks_param(const struct fabric *fabric, const struct port *port)
{
    for (size_t i = 0; i < fabric->param_count; i++)
        if (strcmp(fabric->params[i].driver, port->driver) == 0 &&
            !port_has_param(port, fabric->params[i].name, fabric->params[i].cmode))
            return true;
    return false;
}

static bool lacks_coalesce(const struct fabric *fabric, const struct port *port)
{
    return (fabric->coalesce.present & ~port->caps.coalesce) != 0;
}

static const struct {
    bool (*lacks)(const struct fabric *fabric, const struct port *port);
    const char *text;
} needs[] = {
    {lacks_app, "map DSCPs to priorities"},
    {lacks_ets, "share bandwidth between the profile's traffic classes (ETS)"},
    {lacks_maxrate, "limit traffic classes"},
    {lacks_buffer, "set receive buffers"},
    {lacks_pfc, "pause single priorities (PFC)"},
    {lacks_tos, "give RDMA connections the profile's type of service"},
    {lacks_cnp, "mark congestion notifications (CNPs) with the profile's DSCP"},
    {lacks_cc, "take all of the profile's congestion control"},
    {lacks_param, "take all of the profile's parameters of their driver"},
    {lacks_coalesce, "moderate interrupts as the profile says"},
};

/* What the profile asks of every port: one finding a need, with how many ports lack it. */
static void check_profile(const struct view *view, const struct change *change,
                          struct finding_list *findings)
{
    for (size_t n = 0; n < sizeof(needs) / sizeof(needs[0]); n++) {
        const struct site *first = NULL;
        size_t count = 0;
        for (size_t i = 0; i < change->sites->site_count; i++) {
            const struct site *site = &change->sites->sites[i];
            if (site_is_function(site->port) || !needs[n].lacks(view->fabric, site->port))
                continue;
            first = first == NULL ? site : first;
            count++;
        }
        if (first == NULL)
            continue;
        char where[RULE_SITE_TEXT_MAX], observed[48];
        snprintf(observed, sizeof(observed), "%zu port%s", count, count == 1 ? "" : "s");
        struct rule_finding what = {.severity = FINDING_WARNING,
                                    .site = first,
                                    .observed = observed,
                                    .hint = "the profile is not enforced there"};
        rule_report(findings, &rule_knob_unsupported, change, &what,
                    "%s cannot %s; the first is %s (driver %s)", observed, needs[n].text,
                    rule_site_text(first, where), driver_of(first));
    }
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    struct rule_seen seen = {.count = 0};
    if (view->fabric == NULL)
        return;
    if (change->kind == CHANGE_FABRIC || change->kind == CHANGE_INVENTORY)
        check_profile(view, change, findings);
    for (size_t i = 0; i < change->sites->site_count; i++) {
        const struct site *site = &change->sites->sites[i];
        bool own = false;
        for (size_t j = 0; j < site->job_count && site->port->speed_bps > 0; j++) {
            const struct site_job *job = &site->jobs[j];
            if (!rule_in_scope(change, job->tenant->name))
                continue;
            own = true;
            if (!rule_is_seen(&seen, job->job) && check_job(view, change, site, job, findings))
                rule_first(&seen, job->job, findings);
        }
        if (own)
            check_flows(change, site, findings);
    }
}

const struct rule rule_knob_unsupported = {
    .id = "knob-unsupported",
    .text = "Every port that a job is placed on can enforce the job's guarantee, limit and "
            "losslessness, and has room in its flow table.",
    .reason = "A promise that no hardware and no kernel keeps is worse than a refusal.",
    .check = check,
};
