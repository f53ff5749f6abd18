/*
 * datapath/dp_linux_inventory.c - what this node is made of, in the form of schemas/inventory.json
 * without "version" and "node". A device that fails is listed with its problem.
 *
 *   netlink: which interfaces and RDMA devices -> linux_scan, linux_inventory_list_rdma
 *   each port, each RDMA device, host, GPUs, topology: its own look, what may hang aside
 */
#include "datapath/linux_inventory.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "datapath/facts.h"

/* What is left when the budget is spent, so that the answer of what does not hang is taken. */
#define LEAST_WAIT_MS 100
#define KEPT_EXTRA    32 /* of a key, beside the port's id */

static int64_t now_ms(void)
{
    struct clock *clock = clock_system();
    return clock->mono_ns(clock) / NS_PER_MS;
}

bool linux_aside(struct linux_inventory *job, const char *subject, const struct aside_job *work)
{
    struct err err = ERR_INIT;
    int64_t left_ms = job->until_ms - now_ms();
    int wait_ms = left_ms > ASIDE_DEADLINE_MS ? ASIDE_DEADLINE_MS
                  : left_ms < LEAST_WAIT_MS   ? LEAST_WAIT_MS
                                              : (int)left_ms;
    if (aside_run(job->dp->aside, subject, work, wait_ms, &err) == ERR_OK)
        return true;
    fact_problem(job->problems, subject, err.text);
    return false;
}

/* An interface that comes again has another index. */
static void kept_key(const struct dp_port *port, const char *what,
                     char key[PORT_ID_SIZE + KEPT_EXTRA])
{
    snprintf(key, PORT_ID_SIZE + KEPT_EXTRA, "%s %d %s", port->id, port->ifindex, what);
}

json_t *linux_kept_get(const struct dp_linux *dp, const struct dp_port *port, const char *what)
{
    char key[PORT_ID_SIZE + KEPT_EXTRA];
    kept_key(port, what, key);
    return json_object_get(dp->kept, key);
}

void linux_kept_put(struct dp_linux *dp, const struct dp_port *port, const char *what,
                    json_t *value)
{
    char key[PORT_ID_SIZE + KEPT_EXTRA];
    kept_key(port, what, key);
    if (dp->kept == NULL)
        dp->kept = json_object();
    json_object_set_new(dp->kept, key, value); /* without memory it is read again */
}

enum err_code linux_inventory(struct dp *base, json_t **out, struct err *err)
{
    struct dp_linux *dp = (struct dp_linux *)base;
    OWN(json) json_t *problems = json_array();
    OWN(json) json_t *ports = json_array();
    OWN(json) json_t *inventory = json_object();
    OWN(mem) void *memory = calloc(1, sizeof(struct rdma_list));
    struct linux_inventory job = {.dp = dp,
                                  .rdma = memory,
                                  .problems = problems,
                                  .until_ms = now_ms() + LINUX_INVENTORY_BUDGET_MS};
    struct err problem = ERR_INIT;
    if (memory == NULL || ports == NULL || problems == NULL || inventory == NULL)
        return err_nomem(err);
    if (dp->devices_changed)
        json_object_clear(dp->kept);
    dp->devices_changed = false;
    dp->inventory_stale = false;  /* what comes from now on may be missing in it */
    nlx_set_budget(dp->route, 0); /* each request has its deadline; there are many devices */
    enum err_code code = linux_scan(dp, problems, err);
    if (code != ERR_OK)
        return code;
    if (linux_genl(dp, &job.genl, &problem))
        fact_problem(problems, "netlink", problem.text);
    else
        nlx_set_budget(job.genl, 0);
    linux_inventory_list_rdma(&job);
    for (size_t i = 0; i < dp->port_count; i++)
        json_array_append_new(ports, linux_inventory_port(&job, &dp->ports[i]));
    linux_inventory_host(&job, inventory);
    json_object_set_new(inventory, "rdma_devices", linux_inventory_rdma(&job));
    json_object_set(inventory, "ports", ports);
    json_object_set(inventory, "problems", problems);
    if (json_array_size(ports) != dp->port_count ||
        json_object_get(inventory, "problems") == NULL ||
        json_object_get(inventory, "rdma_devices") == NULL)
        return err_nomem(err);
    *out = GIVE(inventory);
    return ERR_OK;
}
