#pragma once
/*
 * fleet/rules/rule.h - what the rules share: scope, reporting, exact comparisons. Private to
 * fleet/rules/.
 */

#include "base/units.h"
#include "fleet/rules.h"
#include "fleet/site.h"

__extension__ typedef __int128 rule_wide;

/* True when the change lets its caller see the tenant: it is the caller's, or the caller is not a
 * tenant. */
bool rule_in_scope(const struct change *change, const char *tenant);

struct rule_finding {
    enum finding_severity severity;
    const char *tenant, *job;            /* whose; NULL = the fabric's */
    const char *member;                  /* of the job in a policy, e.g. "bw_limit"; may be NULL */
    const char *pointer;                 /* instead of what tenant, job and member give */
    const struct site *site;             /* where; may be NULL */
    const char *observed, *limit, *hint; /* may be NULL */
};
void rule_report(struct finding_list *findings, const struct rule *rule,
                 const struct change *change, const struct rule_finding *what, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* "port P of node N" */
#define RULE_SITE_TEXT_MAX 192
const char *rule_site_text(const struct site *site, char out[RULE_SITE_TEXT_MAX]);

/* Jobs reported already: a job placed on a thousand ports gives one finding. Only what breaks the
 * rule is entered, so that what does not takes no room. */
#define RULE_SEEN_MAX FINDING_LIST_MAX /* as many as can be told */
struct rule_seen {
    const void *items[RULE_SEEN_MAX];
    size_t count;
};
bool rule_is_seen(const struct rule_seen *seen, const void *item);
/* Enters the item. True the first time; false when seen before or when RULE_SEEN_MAX were (the list
 * is then marked as truncated). */
bool rule_first(struct rule_seen *seen, const void *item, struct finding_list *findings);

/* An amount of bandwidth in units of 1/10,000 bit/s; exact. port_bps may be 1 when all amounts that
 * are compared are shares. */
rule_wide rule_amount(const struct bandwidth *bw, int64_t port_bps);

/* The amount as text: a share of the port when as_share, else a rate. Rounded up. */
void rule_amount_text(rule_wide amount, int64_t port_bps, bool as_share,
                      char out[BANDWIDTH_TEXT_MAX]);

/* Comparisons of two bandwidths of a job, which may need the speed of a port. */
enum rule_verdict {
    RULE_FITS,
    RULE_BREAKS,
    RULE_NEEDS_PORT, /* a share against a rate, and no port yet */
};
struct rule_pair {
    const struct rule *rule;
    /* port_bps 0 = no port. */
    enum rule_verdict (*verdict)(const struct policy_job *job, int64_t port_bps);
    /* Reports a job that breaks it; site == NULL: on any port. */
    void (*report)(const struct change *change, const char *tenant, const struct policy_job *job,
                   const struct site *site, struct finding_list *findings);
};
/* Runs over all jobs in scope, each on all its ports where one is needed. */
void rule_check_pair(const struct rule_pair *pair, const struct view *view,
                     const struct change *change, struct finding_list *findings);

/* The JSON Pointer of a priority of the profile, or of a member of it. */
void rule_priority_pointer(const struct fabric *fabric, int priority, const char *member,
                           char out[ERR_POINTER_MAX]);

extern const struct rule rule_guarantee_sum, rule_limit_below_guarantee, rule_bw_limit_floor,
    rule_priority_range, rule_lossless_set, rule_dscp_conflict, rule_strict_needs_limit,
    rule_port_capacity, rule_knob_unsupported, rule_tenant_quota, rule_selector_empty,
    rule_selector_overlap, rule_solar_stability, rule_dcbx_conflict;
