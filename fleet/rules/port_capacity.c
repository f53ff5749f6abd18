/*
 * fleet/rules/port_capacity.c - rates against the speed of the port and the step of its limiter.
 */
#include "fleet/rules/rule.h"

/* The job's rate, when it has an absolute one above the port's speed. */
static void check_rate(const struct change *change, const struct site *site,
                       const struct site_job *job, const struct bandwidth *bw, const char *member,
                       struct finding_list *findings)
{
    if (bw->kind != BANDWIDTH_RATE || site->port->speed_bps <= 0 ||
        bw->rate_bps <= site->port->speed_bps)
        return;
    char rate[BANDWIDTH_TEXT_MAX], speed[BANDWIDTH_TEXT_MAX], where[RULE_SITE_TEXT_MAX];
    rate_format(bw->rate_bps, rate);
    rate_format(site->port->speed_bps, speed);
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = job->tenant->name,
                                .job = job->job->name,
                                .member = member,
                                .site = site,
                                .observed = rate,
                                .limit = speed,
                                .hint = "lower the rate, or place the job on faster ports"};
    rule_report(findings, &rule_port_capacity, change, &what,
                "job %s: %s %s is above the speed %s of %s", job->job->name, member, rate, speed,
                rule_site_text(site, where));
}

/* A limit below one step of the NIC's limiter would be programmed as 0: no limit at all. */
static void check_step(const struct view *view, const struct change *change,
                       const struct site *site, const struct site_job *job,
                       struct finding_list *findings)
{
    int64_t unit = site->port->caps.maxrate_unit_bps;
    int64_t limit = bandwidth_on_port_bps(&job->job->limit, site->port->speed_bps);
    if (job->job->limit.kind == BANDWIDTH_NONE || unit <= 0 || limit >= unit ||
        site_enforce(view, site, job).limit != ENFORCEMENT_NIC)
        return;
    char text[BANDWIDTH_TEXT_MAX], step[BANDWIDTH_TEXT_MAX], where[RULE_SITE_TEXT_MAX];
    bandwidth_format(&job->job->limit, text);
    rate_format(unit, step);
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = job->tenant->name,
                                .job = job->job->name,
                                .member = "bw_limit",
                                .site = site,
                                .observed = text,
                                .limit = step,
                                .hint = "raise the limit to one step of the NIC"};
    rule_report(findings, &rule_port_capacity, change, &what,
                "job %s: bw_limit %s is below the step %s of %s and would become 0, which is no "
                "limit",
                job->job->name, text, step, rule_site_text(site, where));
}

static void check_speed(const struct change *change, const struct site *site,
                        const struct site_job *job, struct finding_list *findings)
{
    if (site->port->speed_bps > 0)
        return;
    char where[RULE_SITE_TEXT_MAX];
    struct rule_finding what = {.severity = FINDING_WARNING,
                                .tenant = job->tenant->name,
                                .job = job->job->name,
                                .site = site,
                                .observed = "unknown",
                                .hint = "bring the link up"};
    rule_report(findings, &rule_port_capacity, change, &what,
                "job %s: the speed of %s is unknown; nothing is programmed there until it is known",
                job->job->name, rule_site_text(site, where));
}

/* A class limit of the profile below one step of a NIC. */
static void check_classes(const struct view *view, const struct change *change,
                          const struct site *site, struct rule_seen *seen,
                          struct finding_list *findings)
{
    int64_t unit = site->port->caps.maxrate_unit_bps;
    for (int i = 0; i < PRIORITY_COUNT && site->port->speed_bps > 0; i++) {
        const struct fabric_priority *priority = &view->fabric->priorities[i];
        if (!priority->used || priority->limit.kind == BANDWIDTH_NONE ||
            !site->port->caps.dcb_maxrate ||
            bandwidth_on_port_bps(&priority->limit, site->port->speed_bps) >= unit ||
            !rule_first(seen, priority, findings))
            continue;
        char pointer[ERR_POINTER_MAX], text[BANDWIDTH_TEXT_MAX], step[BANDWIDTH_TEXT_MAX];
        char where[RULE_SITE_TEXT_MAX];
        bandwidth_format(&priority->limit, text);
        rate_format(unit, step);
        rule_priority_pointer(view->fabric, i, "limit", pointer);
        struct rule_finding what = {.severity = FINDING_ERROR,
                                    .pointer = change->kind == CHANGE_FABRIC ? pointer : NULL,
                                    .site = site,
                                    .observed = text,
                                    .limit = step,
                                    .hint = "raise the limit to one step of the NIC"};
        rule_report(findings, &rule_port_capacity, change, &what,
                    "the limit %s of priority %d is below the step %s of %s", text, i, step,
                    rule_site_text(site, where));
    }
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    struct rule_seen jobs = {.count = 0}, classes = {.count = 0};
    bool with_classes = view->fabric != NULL && change->tenant == NULL;
    for (size_t i = 0; i < change->sites->site_count; i++) {
        const struct site *site = &change->sites->sites[i];
        if (with_classes)
            check_classes(view, change, site, &classes, findings);
        for (size_t j = 0; j < site->job_count; j++) {
            const struct site_job *job = &site->jobs[j];
            size_t before = findings->count;
            if (!rule_in_scope(change, job->tenant->name) || rule_is_seen(&jobs, job->job))
                continue;
            check_rate(change, site, job, &job->job->guarantee, "bw_guarantee", findings);
            check_rate(change, site, job, &job->job->limit, "bw_limit", findings);
            check_step(view, change, site, job, findings);
            check_speed(change, site, job, findings);
            if (findings->count > before)
                rule_first(&jobs, job->job, findings);
        }
    }
}

const struct rule rule_port_capacity = {
    .id = "port-capacity",
    .text = "Absolute rates are at most the speed of every port that the job is placed on, and no "
            "limit is below the step of the NIC's limiter.",
    .reason =
        "A rate above the port can never be given; a limit rounded to 0 means no limit to many "
        "drivers.",
    .check = check,
};
