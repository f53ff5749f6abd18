/*
 * fleet/compile_device.c - knobs of devices: parameters of their drivers, and transmit rates of
 * virtual functions that jobs have to themselves.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/compile_job.h"
#include "fleet/read.h"

#define RATE_NODE     "stellar"
#define RATE_NODE_ID  "node/" RATE_NODE
#define RATE_STEP_BPS INT64_C(1000000) /* mlx5 and ice take whole Mb/s */

/* Parameters ---------------------------------------------------------------------------------- */

/* The part of a port's id before the "/": ports of one device share its parameters. */
static bool is_first_of_device(const struct compile *c)
{
    const struct inventory *inventory = c->node->inventory;
    const struct port *port = c->site->port;
    size_t len = strcspn(port->id, "/") + 1;
    return port == inventory->ports || strncmp(port[-1].id, port->id, len) != 0;
}

static void compile_parameter(struct compile *c, const char *name)
{
    const struct fabric *fabric = c->view->fabric;
    const struct port *port = c->site->port;
    OWN(json) json_t *want = json_object();
    for (size_t i = 0; i < fabric->param_count; i++) {
        const struct fabric_param *param = &fabric->params[i];
        if (strcmp(param->driver, port->driver) != 0 || strcmp(param->name, name) != 0)
            continue;
        if (!port_has_param(port, name, param->cmode))
            compile_leave_out(c, "its driver has no parameter %s that is %s", name, param->cmode);
        else if (!write_member(want, param->cmode, json_incref((json_t *)param->value)))
            c->code = err_nomem(c->err);
    }
    if (json_object_size(want) > 0)
        compile_add(c, &(struct compile_knob){.kind = "devlink.param",
                                              .id = name,
                                              .want = GIVE(want),
                                              .enforcement = ENFORCEMENT_NIC});
}

static void compile_parameters(struct compile *c)
{
    const struct fabric *fabric = c->view->fabric;
    for (size_t i = 0; i < fabric->param_count; i++) {
        const struct fabric_param *param = &fabric->params[i];
        /* They are sorted by driver and name: once for all cmodes of a name. */
        bool again = i > 0 && strcmp(param[-1].driver, param->driver) == 0 &&
                     strcmp(param[-1].name, param->name) == 0;
        if (!again && strcmp(param->driver, c->site->port->driver) == 0)
            compile_parameter(c, param->name);
    }
}

void compile_device(struct compile *c)
{
    if (c->view->fabric->param_count > 0 && is_first_of_device(c))
        compile_parameters(c);
}

/* Rates --------------------------------------------------------------------------------------- */

struct rates {
    int64_t share_bps; /* 0 = none */
    int64_t max_bps;   /* 0 = none */
};

static bool has_leaf(const struct site *site)
{
    return site_is_function(site->port) && site->port->speed_bps > 0 && site->job_count > 0;
}

/* A share that was rounded down would break the promise. */
static int64_t round_up(int64_t rate_bps)
{
    return (rate_bps + RATE_STEP_BPS - 1) / RATE_STEP_BPS * RATE_STEP_BPS;
}

/* A limit of 0 would be none. */
static int64_t round_down(int64_t rate_bps)
{
    return rate_bps < RATE_STEP_BPS ? RATE_STEP_BPS : rate_bps / RATE_STEP_BPS * RATE_STEP_BPS;
}

/* What the jobs on a function are promised, and held to when all of them have a limit. */
static struct rates rates_of(const struct site *site)
{
    struct rates sum = {0, 0};
    bool limited = true;
    int64_t port_bps = site->port->speed_bps;
    for (size_t i = 0; i < site->job_count; i++) {
        const struct policy_job *job = site->jobs[i].job;
        sum.share_bps += bandwidth_on_port_bps(&job->guarantee, port_bps);
        limited = limited && job->limit.kind != BANDWIDTH_NONE;
        sum.max_bps += bandwidth_on_port_bps(&job->limit, port_bps);
        if (sum.share_bps > port_bps)
            sum.share_bps = port_bps;
        if (sum.max_bps > port_bps)
            sum.max_bps = port_bps;
    }
    sum.share_bps = sum.share_bps == 0 ? 0 : round_up(sum.share_bps);
    sum.max_bps = limited ? round_down(sum.max_bps) : 0;
    if (limited && sum.share_bps > sum.max_bps)
        sum.share_bps = sum.max_bps;
    return sum;
}

static json_t *rate_or_null(int64_t rate_bps)
{
    return rate_bps == 0 ? json_null() : json_integer(rate_bps);
}

static void add_rate(struct compile *c, const char *subject, const char *id, const char *parent,
                     const struct rates *rates)
{
    const struct site_job *only = parent != NULL && c->site->job_count == 1 ? c->site->jobs : NULL;
    OWN(json) json_t *want = json_object();
    bool whole = (parent == NULL || write_member(want, "parent", json_string(parent))) &&
                 write_member(want, "tx_max_bps", rate_or_null(rates->max_bps)) &&
                 write_member(want, "tx_share_bps", rate_or_null(rates->share_bps));
    compile_add(c, &(struct compile_knob){.kind = "devlink.rate",
                                          .subject = subject,
                                          .id = id,
                                          .want = whole ? GIVE(want) : NULL,
                                          .enforcement = ENFORCEMENT_NIC,
                                          .job = only});
}

/* All functions of one switching port: their node holds what they are promised together. */
static void compile_functions(struct compile *c, const struct site_index *index, size_t first)
{
    const char *subject = index->sites[first].port->rate_port;
    const struct port *switching = inventory_port_get(c->node->inventory, subject);
    struct rates sum = {0, 0};
    for (size_t i = first; i < index->site_count; i++) {
        const struct site *site = &index->sites[i];
        if (!has_leaf(site) || strcmp(site->port->rate_port, subject) != 0)
            continue;
        struct rates rates = rates_of(site);
        c->site = site;
        sum.share_bps += rates.share_bps;
        if (switching != NULL && switching->speed_bps > 0 && sum.share_bps > switching->speed_bps) {
            compile_leave_out(c,
                              "with it, the functions of %s are guaranteed more than that port "
                              "has; its guarantee is left out",
                              subject);
            sum.share_bps -= rates.share_bps;
            rates.share_bps = 0;
        }
        add_rate(c, subject, site->port->rate_leaf, RATE_NODE, &rates);
    }
    c->site = &index->sites[first];
    add_rate(c, subject, RATE_NODE_ID, NULL, &sum);
}

static bool is_done(const struct site_index *index, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (has_leaf(&index->sites[i]) &&
            strcmp(index->sites[i].port->rate_port, index->sites[at].port->rate_port) == 0)
            return true;
    return false;
}

void compile_rates(struct compile *c, const struct site_index *index)
{
    for (size_t i = 0; i < index->site_count; i++)
        if (has_leaf(&index->sites[i]) && !is_done(index, i))
            compile_functions(c, index, i);
}
