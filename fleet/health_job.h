#pragma once
/*
 * fleet/health_job.h - what jobs were promised on a node's ports, held against what their queue
 * pairs sent: facts of HEALTH_JOB. Pure. Filled by server/health_jobs.c.
 *
 * minutes_below_guarantee: of the last JOB_MINUTES minutes, those in which the job sent in nine of
 * ten seconds and yet less than 95 % of what it asked for: its guarantee, or its declared demand
 * where that is less. Who rests asks for nothing; a minute of which less than half is known is
 * unknown.
 *
 * limit_of_demand_percent: its limit, in percent of its demand. The demand is the rate that it did
 * not pass in 95 of 100 minutes of about the last week, once JOB_MEASURED_MINUTES are known; who
 * sends against its limit asks for as much as it declared at least. Else it is what was declared.
 *
 * Of a job on several ports the worst one is told. Queue pairs count by their label and by the port
 * of their device, where that has one port alone; those of Solar-RDMA by the port of their
 * interface.
 */

#include "fleet/health.h"
#include "fleet/view.h"

#define JOB_PROMISES_MAX     256 /* jobs on ports of a node; more set `truncated` */
#define JOB_MINUTES          20
#define JOB_MEASURED_MINUTES 60
#define JOB_HISTORY_MINUTES  10080 /* a week; then what was before counts half */

struct health_promise {
    uint32_t label;
    char job[PORT_ID_SIZE]; /* "TENANT/JOB" */
    char port[PORT_ID_SIZE];
    int64_t speed_bps;                            /* of the port; 0 = unknown */
    int64_t guarantee_bps, limit_bps, demand_bps; /* 0 = none */
    struct bandwidth asked;                       /* the guarantee as the policy has it */
};
/* Of the jobs that are placed on the node and have a guarantee or a limit; into out, which has
 * JOB_PROMISES_MAX. *truncated: there are more. */
ERR_MUST_CHECK enum err_code health_promises_of(const struct view *view,
                                                const struct view_node *node,
                                                struct health_promise *out, size_t *out_count,
                                                bool *truncated, struct err *err);
/* These alone hold from now on (at most JOB_PROMISES_MAX). What was counted of a job on a port
 * stays while it is promised something there. ERR_NOMEM: as before. */
ERR_MUST_CHECK enum err_code health_promise(struct health *health,
                                            const struct health_promise *promises, size_t count,
                                            struct err *err);

/* What came of a promise in the last JOB_MINUTES whole minutes. */
struct health_kept {
    const struct health_promise *promise; /* borrowed, as long as the call */
    int known_minutes, below_minutes;
    int64_t mean_bps, peak_bps; /* of the known minutes; without one 0 */
};
typedef void health_kept_fn(void *arg, const struct health_kept *kept);
void health_each_kept(const struct health *health, health_kept_fn *fn, void *arg);
