#pragma once
/*
 * fleet/site.h - sites: a port of a node and the jobs that are placed on it. Rules and compiler see
 * the fleet through these. Private to fleet/.
 */

#include "fleet/rules.h"
#include "fleet/view.h"

struct site_job {
    const struct view_tenant *tenant;
    const struct policy_job *job;
    const struct placement *placement;
    struct flow_match match; /* of the placement, with its DSCP resolved; dscp -1 = none known */
    int traffic_class;       /* -1: the fabric does not offer the job's priority */
};

struct site {
    const struct view_node *node;
    const struct port *port;
    struct site_job *jobs; /* in the order of the view's placements: tenant, job */
    size_t job_count;
};

struct site_index {
    struct site *sites; /* by node, then port; every port of a node in scope, also without jobs */
    size_t site_count, site_room;
    struct site_job *pool;
    size_t pool_count, pool_room;
    bool nomem;
};

void site_index_init(struct site_index *index);
void site_index_release(struct site_index *index);

/* Adds the node's ports. Placements whose job is in no policy do not count. */
void site_index_add_node(struct site_index *index, const struct view *view,
                         const struct view_node *node);
/* All nodes that a placement of the tenant covers; no look at any node when it has none. */
void site_index_add_tenant(struct site_index *index, const struct view *view, const char *tenant);
/* After the last node: makes site->jobs valid. */
void site_index_finish(struct site_index *index);

/* Who enforces what on one site. */
struct site_enforcement {
    enum enforcement guarantee;
    enum enforcement limit;
};
struct site_enforcement site_enforce(const struct view *view, const struct site *site,
                                     const struct site_job *job);

/* The kernel's scheduler sees the traffic of this port: RDMA in software, or none at all. */
bool site_kernel_shapes(const struct port *port);

/* A virtual function whose rates the NIC holds. Its dcb, congestion control and driver's parameters
 * are those of the port that switches it. */
bool site_is_function(const struct port *port);
/* The port that pauses for this one (PFC): itself, or the one that switches the function. */
const struct port *site_physical_port(const struct site *site);

/* The port has as many traffic classes as the profile uses, and shares bandwidth between them. */
bool site_has_classes(const struct fabric *fabric, const struct port_caps *caps);

/* The limit of a traffic class on a port: the profile's, or the sum of its jobs' limits when all
 * of them have one, whichever is lower; 0 = none. Not rounded. */
int64_t site_class_limit_bps(const struct view *view, const struct site *site, int traffic_class);
