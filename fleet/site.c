/*
 * fleet/site.c - see site.h.
 */
#include "fleet/site.h"

#include <stdlib.h>
#include <string.h>

#define SITES_ROOM_MIN 16
#define POOL_ROOM_MIN  64

void site_index_init(struct site_index *index)
{
    memset(index, 0, sizeof(*index));
}

void site_index_release(struct site_index *index)
{
    free(index->sites);
    free(index->pool);
    site_index_init(index);
}

/* Grows an array to hold one more element. */
static bool make_room(void **items, size_t count, size_t *room, size_t size, size_t room_min)
{
    if (count < *room)
        return true;
    size_t more = *room == 0 ? room_min : 2 * *room;
    void *grown = realloc(*items, more * size);
    if (grown == NULL)
        return false;
    *items = grown;
    *room = more;
    return true;
}

static bool covers_port(const struct placement *placement, const struct port *port)
{
    if (placement->port_count == 0)
        return port->speed_bps > 0;
    for (size_t i = 0; i < placement->port_count; i++)
        if (strcmp(placement->ports[i], port->id) == 0)
            return true;
    return false;
}

static bool resolve(const struct view *view, const struct placement *placement,
                    struct site_job *out)
{
    const struct view_tenant *tenant = view_tenant_get(view, placement->tenant);
    if (tenant == NULL || tenant->policy == NULL)
        return false;
    const struct policy_job *job = policy_job_get(tenant->policy, placement->job);
    if (job == NULL)
        return false;
    *out = (struct site_job){.tenant = tenant,
                             .job = job,
                             .placement = placement,
                             .match = placement->match,
                             .traffic_class = -1};
    if (view->fabric == NULL)
        return true;
    const struct fabric_priority *priority = &view->fabric->priorities[job->priority];
    if (priority->used)
        out->traffic_class = priority->traffic_class;
    if (out->match.dscp < 0 && priority->dscp_count > 0 && view->fabric->trust == FABRIC_TRUST_DSCP)
        out->match.dscp = priority->dscps[0];
    return true;
}

static void add_job(struct site_index *index, const struct site_job *job)
{
    void *pool = index->pool;
    if (!make_room(&pool, index->pool_count, &index->pool_room, sizeof(*index->pool),
                   POOL_ROOM_MIN)) {
        index->nomem = true;
        return;
    }
    index->pool = pool;
    index->pool[index->pool_count++] = *job;
}

static void add_site(struct site_index *index, const struct view_node *node,
                     const struct port *port, const struct site_job *placed, size_t placed_count)
{
    void *sites = index->sites;
    if (!make_room(&sites, index->site_count, &index->site_room, sizeof(*index->sites),
                   SITES_ROOM_MIN)) {
        index->nomem = true;
        return;
    }
    index->sites = sites;
    size_t before = index->pool_count;
    for (size_t i = 0; i < placed_count; i++)
        if (covers_port(placed[i].placement, port))
            add_job(index, &placed[i]);
    index->sites[index->site_count++] =
        (struct site){.node = node, .port = port, .job_count = index->pool_count - before};
}

void site_index_add_node(struct site_index *index, const struct view *view,
                         const struct view_node *node)
{
    if (node->inventory == NULL || node->inventory->port_count == 0)
        return;
    struct site_job *placed = NULL;
    size_t count = 0, room = 0;
    for (size_t i = 0; i < view->placement_count && !index->nomem; i++) {
        struct site_job job;
        if (!view_placed_on(view->placements[i], node) || !resolve(view, view->placements[i], &job))
            continue;
        void *items = placed;
        if (!make_room(&items, count, &room, sizeof(*placed), SITES_ROOM_MIN)) {
            index->nomem = true;
            break;
        }
        placed = items;
        placed[count++] = job;
    }
    for (size_t i = 0; i < node->inventory->port_count; i++)
        add_site(index, node, &node->inventory->ports[i], placed, count);
    free(placed);
}

void site_index_add_tenant(struct site_index *index, const struct view *view, const char *tenant)
{
    size_t placed;
    view_placements_of(view, tenant, &placed);
    for (size_t i = 0; placed > 0 && i < view->node_count; i++)
        if (view_tenant_is_on(view, tenant, &view->nodes[i]))
            site_index_add_node(index, view, &view->nodes[i]);
}

void site_index_finish(struct site_index *index)
{
    size_t at = 0;
    for (size_t i = 0; i < index->site_count; i++) {
        index->sites[i].jobs = index->pool == NULL ? NULL : index->pool + at;
        at += index->sites[i].job_count;
    }
}

bool site_kernel_shapes(const struct port *port)
{
    return port->caps.tc && (port->rdma_software || port->rdma_device[0] == '\0');
}

bool site_is_function(const struct port *port)
{
    return port->virtual_function && port->rate_leaf[0] != '\0';
}

const struct port *site_physical_port(const struct site *site)
{
    const struct port *other = NULL;
    if (site_is_function(site->port))
        other = inventory_port_get(site->node->inventory, site->port->rate_port);
    return other == NULL ? site->port : other;
}

bool site_has_classes(const struct fabric *fabric, const struct port_caps *caps)
{
    int classes = 1;
    for (int i = 0; i < PRIORITY_COUNT; i++)
        if (fabric->priorities[i].used && fabric->priorities[i].traffic_class >= classes)
            classes = fabric->priorities[i].traffic_class + 1;
    return caps->dcb_ets && (caps->ets_tcs == 0 || classes <= caps->ets_tcs);
}

static int64_t add_capped(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Of the profile: the first priority of the class that has one (they agree). */
static int64_t profile_limit_bps(const struct fabric *fabric, int traffic_class, int64_t port_bps)
{
    for (int i = 0; i < PRIORITY_COUNT; i++) {
        const struct fabric_priority *priority = &fabric->priorities[i];
        if (priority->used && priority->traffic_class == traffic_class &&
            priority->limit.kind != BANDWIDTH_NONE)
            return bandwidth_on_port_bps(&priority->limit, port_bps);
    }
    return 0;
}

int64_t site_class_limit_bps(const struct view *view, const struct site *site, int traffic_class)
{
    int64_t sum = 0,
            profile = profile_limit_bps(view->fabric, traffic_class, site->port->speed_bps);
    bool all = true, any = false;
    for (size_t i = 0; i < site->job_count; i++) {
        const struct site_job *job = &site->jobs[i];
        if (job->traffic_class != traffic_class)
            continue;
        any = true;
        all = all && job->job->limit.kind != BANDWIDTH_NONE;
        sum = add_capped(sum, bandwidth_on_port_bps(&job->job->limit, site->port->speed_bps));
    }
    if (!any || !all)
        return profile;
    return profile > 0 && profile < sum ? profile : sum;
}

static size_t jobs_of_class(const struct site *site, int traffic_class)
{
    size_t count = 0;
    for (size_t i = 0; i < site->job_count; i++)
        count += site->jobs[i].traffic_class == traffic_class;
    return count;
}

/* The NIC limits classes, not jobs: it enforces a job's limit when the job is alone in its class
 * and the class's limit is not higher than the job's. */
static bool nic_limits(const struct view *view, const struct site *site, const struct site_job *job)
{
    int64_t limit = bandwidth_on_port_bps(&job->job->limit, site->port->speed_bps);
    return site->port->caps.dcb_maxrate && site_has_classes(view->fabric, &site->port->caps) &&
           site->port->speed_bps > 0 && jobs_of_class(site, job->traffic_class) == 1 &&
           site_class_limit_bps(view, site, job->traffic_class) <= limit;
}

struct site_enforcement site_enforce(const struct view *view, const struct site *site,
                                     const struct site_job *job)
{
    const struct port *port = site->port;
    struct site_enforcement out = {ENFORCEMENT_NONE, ENFORCEMENT_NONE};
    if (view->fabric == NULL || port->speed_bps <= 0)
        return out; /* nothing is compiled for such a port */
    /* A virtual function's rates hold all of its jobs: a limit is one job's when it is alone. */
    bool function = site_is_function(port);
    bool kernel = site_kernel_shapes(port);
    /* Bands of the kernel's ets share like the NIC's classes, and limit nothing. */
    bool ets = view->fabric->scheduler == FABRIC_SCHEDULER_ETS;
    if (function || (site_has_classes(view->fabric, &port->caps) && job->traffic_class >= 0))
        out.guarantee = ENFORCEMENT_NIC;
    else if (kernel && (!ets || job->traffic_class >= 0))
        out.guarantee = ENFORCEMENT_KERNEL;
    if ((function && site->job_count == 1) ||
        (job->traffic_class >= 0 && nic_limits(view, site, job)))
        out.limit = ENFORCEMENT_NIC;
    else if (kernel && (!ets || view->fabric->limit_action == FABRIC_LIMIT_POLICE))
        out.limit = ENFORCEMENT_KERNEL;
    /* What nothing else holds, programs that use libsolar hold themselves to. */
    if (view->fabric->solar_page && out.guarantee == ENFORCEMENT_NONE)
        out.guarantee = ENFORCEMENT_SOLAR;
    if (view->fabric->solar_page && out.limit == ENFORCEMENT_NONE)
        out.limit = ENFORCEMENT_SOLAR;
    return out;
}
