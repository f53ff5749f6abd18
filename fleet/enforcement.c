/*
 * fleet/enforcement.c - who makes the guarantees and limits of a tenant's jobs true: the part of
 * the answer to an upload that says what is enforced where.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fleet/rules.h"
#include "fleet/site.h"

#define JOB_TEXT_MAX (NAME_SIZE + 64) /* ,"JOB":{"guarantee":"unplaced","limit":"unplaced"} */

const char *enforcement_name(enum enforcement enforcement)
{
    static const char *const names[] = {"nic", "kernel", "solar", "none"};
    return names[enforcement];
}

/* Of one job over all its sites. */
struct worst {
    bool placed;
    struct site_enforcement by;
};

static void look_at_site(const struct view *view, const struct site *site,
                         const struct policy *policy, const char *tenant, struct worst *worst)
{
    for (size_t i = 0; i < site->job_count; i++) {
        const struct site_job *job = &site->jobs[i];
        if (strcmp(job->tenant->name, tenant) != 0)
            continue;
        struct worst *w = &worst[job->job - policy->jobs];
        struct site_enforcement by = site_enforce(view, site, job);
        w->placed = true;
        if (by.guarantee > w->by.guarantee)
            w->by.guarantee = by.guarantee;
        if (by.limit > w->by.limit)
            w->by.limit = by.limit;
    }
}

/* "JOB":{"guarantee":"...","limit":"..."}; names need no escapes. Returns the end. */
static char *write_job(char *at, const struct policy_job *job, const struct worst *worst)
{
    const char *guarantee = worst->placed ? enforcement_name(worst->by.guarantee) : "unplaced";
    const char *limit = worst->placed ? enforcement_name(worst->by.limit) : "unplaced";
    bool guarantees = job->guarantee.kind != BANDWIDTH_NONE;
    bool limits = job->limit.kind != BANDWIDTH_NONE;
    at = text_put(text_put(text_put(at, "\""), job->name), "\":{");
    if (guarantees)
        at = text_put(text_put(text_put(at, "\"guarantee\":\""), guarantee), "\"");
    if (limits)
        at = text_put(text_put(text_put(at, guarantees ? ",\"limit\":\"" : "\"limit\":\""), limit),
                      "\"");
    return text_put(at, "}");
}

static char *write_all(const struct policy *policy, const struct worst *worst)
{
    char *text = malloc(policy->job_count * JOB_TEXT_MAX + sizeof("{}"));
    if (text == NULL)
        return NULL;
    char *at = text;
    *at++ = '{';
    for (size_t i = 0; i < policy->job_count; i++) {
        if (i > 0)
            *at++ = ',';
        at = write_job(at, &policy->jobs[i], &worst[i]);
    }
    strcpy(at, "}");
    return text;
}

char *enforcement_text(const struct view *view, const char *tenant)
{
    const struct view_tenant *owner = view_tenant_get(view, tenant);
    if (owner == NULL || owner->policy == NULL)
        return strdup("{}");
    const struct policy *policy = owner->policy;
    OWN(mem) void *memory = calloc(policy->job_count + 1, sizeof(struct worst));
    struct worst *worst = memory;
    struct site_index index;
    site_index_init(&index);
    site_index_add_tenant(&index, view, tenant);
    site_index_finish(&index);
    bool failed = worst == NULL || index.nomem;
    for (size_t i = 0; i < index.site_count && !failed; i++)
        look_at_site(view, &index.sites[i], policy, tenant, worst);
    site_index_release(&index);
    return failed ? NULL : write_all(policy, worst);
}

json_t *enforcement_of_policy(const struct view *view, const char *tenant)
{
    OWN(str) char *text = enforcement_text(view, tenant);
    return text == NULL ? NULL : json_loads(text, 0, NULL);
}
