/*
 * datapath/linux_inventory_host.c - the host, its GPUs, and what is near what. See
 * linux_inventory.h.
 */
#include "datapath/linux_inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/facts.h"
#include "datapath/sys/gpu.h"
#include "datapath/sys/host.h"
#include "datapath/sys/sys.h"
#include "datapath/sys/topology.h"

/* Host ---------------------------------------------------------------------------------------- */

struct look {
    char root[SYS_PATH_MAX];
    char library[SYS_PATH_MAX];
    char drivers[HOST_MODULES_MAX][SYS_NAME_MAX];
    size_t driver_count;
    json_t *facts;    /* out */
    json_t *problems; /* out */
    struct err err;   /* out */
};

static void look_release(void *arg)
{
    struct look *look = arg;
    json_decref(look->facts);
    json_decref(look->problems);
    free(look);
}

static struct look *look_new(const struct dp_linux *dp)
{
    struct look *look = calloc(1, sizeof(*look));
    if (look == NULL)
        return NULL;
    snprintf(look->root, sizeof(look->root), "%s", dp->root);
    snprintf(look->library, sizeof(look->library), "%s", dp->nvml);
    look->problems = json_array();
    return look;
}

static void host_run(void *arg)
{
    struct look *look = arg;
    const char *drivers[HOST_MODULES_MAX + 1] = {NULL};
    for (size_t i = 0; i < look->driver_count; i++)
        drivers[i] = look->drivers[i];
    look->facts = host_facts(look->root, drivers);
}

static void put_host(struct linux_inventory *job, json_t *inventory)
{
    struct look *look = look_new(job->dp);
    if (look == NULL)
        return;
    for (size_t i = 0; i < job->dp->port_count && look->driver_count < HOST_MODULES_MAX; i++)
        snprintf(look->drivers[look->driver_count++], SYS_NAME_MAX, "%s", job->dp->ports[i].driver);
    const struct aside_job work = {.run = host_run, .release = look_release, .arg = look};
    if (!linux_aside(job, "host", &work))
        return;
    json_object_update(inventory, look->facts);
    look_release(look);
}

/* GPUs ---------------------------------------------------------------------------------------- */

static void gpu_pci_run(void *arg)
{
    struct look *look = arg;
    look->facts = gpu_pci_list(look->root);
}

static void gpu_nvml_run(void *arg)
{
    struct look *look = arg;
    (void)!gpu_nvml_list(look->library, &look->facts, look->problems, &look->err);
}

/* *out_code: why there is nothing; ERR_UNAVAILABLE also when it hangs, which is told already. */
static json_t *gpus_by(struct linux_inventory *job, const char *subject, void (*run)(void *),
                       struct err *out)
{
    struct look *look = look_new(job->dp);
    *out = (struct err)ERR_INIT;
    if (look == NULL)
        return NULL;
    const struct aside_job work = {.run = run, .release = look_release, .arg = look};
    if (!linux_aside(job, subject, &work))
        return NULL;
    json_t *list = json_incref(look->facts);
    json_array_extend(job->problems, look->problems);
    *out = look->err;
    look_release(look);
    return list;
}

static void put_gpus(struct linux_inventory *job, json_t *inventory)
{
    struct err err;
    json_t *pci = gpus_by(job, "gpu", gpu_pci_run, &err);
    json_t *nvml = gpus_by(job, "nvml", gpu_nvml_run, &err);
    /* A host without NVIDIA's library and without its cards has nothing to complain about. */
    if (err.code != ERR_OK && (err.code != ERR_UNSUPPORTED || json_array_size(pci) > 0)) {
        char text[ERR_TEXT_MAX + 32];
        snprintf(text, sizeof(text), "no GPU data: %s", err.text);
        fact_problem(job->problems, "gpu", text);
    }
    fact_part(inventory, "gpus", gpu_merge(pci, nvml));
}

/* Topology ------------------------------------------------------------------------------------ */

struct topology_look {
    struct topology_request request;
    json_t *facts;  /* out */
    struct err err; /* out */
};

static void topology_run(void *arg)
{
    struct topology_look *look = arg;
    (void)!topology_read(&look->request, &look->facts, &look->err);
}

static void topology_release(void *arg)
{
    struct topology_look *look = arg;
    json_decref(look->facts);
    free(look);
}

static bool is_listed(const struct topology_request *request, const char *address)
{
    for (size_t i = 0; i < request->nic_count; i++)
        if (strcmp(request->nics[i], address) == 0)
            return true;
    return false;
}

static void ask_for(const struct dp_linux *dp, const json_t *gpus, struct topology_request *request)
{
    size_t i;
    json_t *gpu;
    for (i = 0; i < dp->port_count && request->nic_count < TOPOLOGY_DEVICES_MAX; i++)
        if (strcmp(dp->ports[i].bus, "pci") == 0 &&
            strlen(dp->ports[i].device) < TOPOLOGY_ADDR_SIZE &&
            !is_listed(request, dp->ports[i].device))
            snprintf(request->nics[request->nic_count++], TOPOLOGY_ADDR_SIZE, "%.31s",
                     dp->ports[i].device);
    json_array_foreach(gpus, i, gpu)
    {
        if (request->gpu_count < TOPOLOGY_DEVICES_MAX)
            snprintf(request->gpus[request->gpu_count++], TOPOLOGY_ADDR_SIZE, "%.31s",
                     json_string_value(json_object_get(gpu, "id")));
    }
}

static void move(json_t *from, json_t *to, const char *key)
{
    json_t *value = json_object_get(from, key);
    if (value != NULL)
        json_object_set(to, key, value);
}

static void put_topology(struct linux_inventory *job, json_t *inventory)
{
    static const char *const of_cpu[] = {"sockets", "cores", "threads"};
    struct topology_look *look = calloc(1, sizeof(*look));
    if (look == NULL)
        return;
    ask_for(job->dp, json_object_get(inventory, "gpus"), &look->request);
    const struct aside_job work = {.run = topology_run, .release = topology_release, .arg = look};
    if (!linux_aside(job, "topology", &work))
        return;
    json_t *cpu = json_object_get(inventory, "cpu");
    for (size_t i = 0; cpu != NULL && i < sizeof(of_cpu) / sizeof(of_cpu[0]); i++)
        move(look->facts, cpu, of_cpu[i]);
    move(look->facts, inventory, "numa");
    move(look->facts, inventory, "paths");
    if (json_object_get(look->facts, "truncated") != NULL)
        fact_problem(job->problems, "topology", "there are more paths than are listed");
    if (look->err.code != ERR_OK)
        fact_problem(job->problems, "topology", look->err.text);
    topology_release(look);
}

void linux_inventory_host(struct linux_inventory *job, json_t *inventory)
{
    put_host(job, inventory);
    put_gpus(job, inventory);
    put_topology(job, inventory);
}
