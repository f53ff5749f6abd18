/*
 * fleet/compile_solar.c - the control page of a port (datapath/solar/page.h): what each job that is
 * placed there gets of it, for programs that use libsolar.
 */
#include <stdlib.h>

#include "base/own.h"
#include "fleet/compile_job.h"
#include "fleet/read.h"

#define PAGE_LABELS 256  /* of a page */
#define BETA_LEAST  1000 /* what congestion control takes; policies may say less */
#define WEIGHT      1    /* jobs say no weight: what is left over is shared evenly */
#define LINE_LEAST  INT64_C(1000000)
#define LINE_MOST   INT64_C(10000000000000)

static json_t *number_or_null(int64_t number)
{
    return number > 0 ? json_integer(number) : json_null();
}

static json_t *label_to_json(const struct compile *c, const struct site_job *job)
{
    const struct solar_cc *own = &job->job->solar, *all = &c->view->fabric->solar;
    int64_t port_bps = c->site->port->speed_bps;
    int64_t limit = bandwidth_on_port_bps(&job->job->limit, port_bps);
    int64_t guarantee = bandwidth_on_port_bps(&job->job->guarantee, port_bps);
    int64_t eta = own->has_eta ? own->eta_micro : all->has_eta ? all->eta_micro : 0;
    int64_t beta = own->has_beta ? own->beta_micro : all->has_beta ? all->beta_micro : 0;
    limit = limit < port_bps ? limit : port_bps;
    guarantee = guarantee < port_bps ? guarantee : port_bps;
    guarantee = limit > 0 && guarantee > limit ? limit : guarantee;
    OWN(json) json_t *object = json_object();
    bool whole =
        write_member(object, "beta_micro",
                     number_or_null(beta > 0 && beta < BETA_LEAST ? BETA_LEAST : beta)) &&
        write_member(object, "dscp", json_integer(job->match.dscp < 0 ? 0 : job->match.dscp)) &&
        write_member(object, "eta_micro", number_or_null(eta)) &&
        write_member(object, "guarantee_bps", number_or_null(guarantee)) &&
        write_member(object, "label", json_integer(job->placement->label)) &&
        write_member(object, "limit_bps", number_or_null(limit)) &&
        write_member(object, "priority", json_integer(job->job->priority)) &&
        write_member(object, "weight", json_integer(WEIGHT));
    return whole ? GIVE(object) : NULL;
}

static int compare_labels(const void *a, const void *b)
{
    const struct site_job *x = *(const struct site_job *const *)a;
    const struct site_job *y = *(const struct site_job *const *)b;
    return (x->placement->label > y->placement->label) -
           (x->placement->label < y->placement->label);
}

/* The oldest labels first, so that a newcomer never pushes out what works. */
static json_t *labels_to_json(struct compile *c)
{
    size_t count = c->site->job_count;
    OWN(mem) void *memory = calloc(count, sizeof(struct site_job *));
    const struct site_job **jobs = memory;
    OWN(json) json_t *labels = json_array();
    if (jobs == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        jobs[i] = &c->site->jobs[i];
    qsort(jobs, count, sizeof(*jobs), compare_labels);
    if (count > PAGE_LABELS) {
        compile_leave_out(c, "its control page holds %d labels; %zu of %zu are left out",
                          PAGE_LABELS, count - PAGE_LABELS, count);
        count = PAGE_LABELS;
    }
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(labels, label_to_json(c, jobs[i])) != 0)
            return NULL;
    return GIVE(labels);
}

void compile_page(struct compile *c)
{
    int64_t line_bps = c->site->port->speed_bps;
    if (!c->view->fabric->solar_page || c->site->job_count == 0)
        return;
    if (line_bps < LINE_LEAST || line_bps > LINE_MOST) {
        compile_leave_out(c, "Solar-RDMA knows no line of %lld bit/s", (long long)line_bps);
        return;
    }
    OWN(json) json_t *want = json_object();
    bool whole = write_member(want, "labels", labels_to_json(c)) &&
                 write_member(want, "line_bps", json_integer(line_bps));
    compile_add(c, &(struct compile_knob){.kind = "solar.page",
                                          .want = whole ? GIVE(want) : NULL,
                                          .enforcement = ENFORCEMENT_SOLAR});
}
