/*
 * fleet/enforcement.c - who makes the guarantees and limits of a tenant's jobs true: the part of
 * the answer to an upload that says what is enforced where.
 */
#include <stdlib.h>
#include <string.h>

#include "fleet/read.h"
#include "fleet/rules.h"
#include "fleet/site.h"

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

static json_t *job_to_json(const struct policy_job *job, const struct worst *worst)
{
    const char *guarantee = worst->placed ? enforcement_name(worst->by.guarantee) : "unplaced";
    const char *limit = worst->placed ? enforcement_name(worst->by.limit) : "unplaced";
    OWN(json) json_t *object = json_object();
    if (object == NULL)
        return NULL;
    if (job->guarantee.kind != BANDWIDTH_NONE && !write_text(object, "guarantee", guarantee))
        return NULL;
    if (job->limit.kind != BANDWIDTH_NONE && !write_text(object, "limit", limit))
        return NULL;
    return GIVE(object);
}

json_t *enforcement_of_policy(const struct view *view, const char *tenant)
{
    const struct view_tenant *owner = view_tenant_get(view, tenant);
    OWN(json) json_t *object = json_object();
    if (object == NULL || owner == NULL || owner->policy == NULL)
        return GIVE(object);
    const struct policy *policy = owner->policy;
    OWN(mem) void *memory = calloc(policy->job_count + 1, sizeof(struct worst));
    struct worst *worst = memory;
    struct site_index index;
    site_index_init(&index);
    for (size_t i = 0; i < view->node_count; i++)
        if (view_tenant_is_on(view, tenant, &view->nodes[i]))
            site_index_add_node(&index, view, &view->nodes[i]);
    site_index_finish(&index);
    bool failed = worst == NULL || index.nomem;
    for (size_t i = 0; i < index.site_count && !failed; i++)
        look_at_site(view, &index.sites[i], policy, tenant, worst);
    site_index_release(&index);
    for (size_t i = 0; i < policy->job_count && !failed; i++)
        failed =
            !write_member(object, policy->jobs[i].name, job_to_json(&policy->jobs[i], &worst[i]));
    return failed ? NULL : GIVE(object);
}
