/*
 * datapath/linux_inventory_rdma.c - the RDMA devices of a node: netlink says which, sysfs and verbs
 * what they are. See linux_inventory.h.
 */
#include "datapath/linux_inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netlink.h>

#include "datapath/facts.h"
#include "datapath/sys/rdma_class.h"
#include "datapath/sys/sys.h"
#include "datapath/verbs/devices.h"

#define SUBJECT_SIZE 96

void linux_inventory_list_rdma(struct linux_inventory *job)
{
    OWN(nlx) struct nlx *nlx = NULL;
    struct err err = ERR_INIT;
    enum err_code code = nlx_open(NETLINK_RDMA, &nlx, &err);
    if (code == ERR_OK)
        code = rdma_list(nlx, job->rdma, &err);
    if (code != ERR_OK && code != ERR_UNSUPPORTED)
        fact_problem(job->problems, "rdma", err.text);
}

bool linux_rdma_is_software(const struct dp_linux *dp, const char *name)
{
    /* rxe and siw are drivers without hardware: rxe names its netdev in "parent". */
    char path[DP_SYSFS_MAX];
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent", name);
    if (sys_exists(dp->root, path))
        return true;
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", name);
    return !sys_exists(dp->root, path);
}

/* Which device belongs to which port ---------------------------------------------------------- */

static const struct rdma_device *device_of_ifindex(const struct rdma_list *rdma, int ifindex)
{
    for (size_t i = 0; i < rdma->port_count; i++) {
        if (rdma->ports[i].ifindex != (uint32_t)ifindex)
            continue;
        for (size_t d = 0; d < rdma->device_count; d++)
            if (rdma->devices[d].index == rdma->ports[i].device)
                return &rdma->devices[d];
    }
    return NULL;
}

/* The bond or bridge that the port is in; "" = none. */
static void master_of(const struct dp_linux *dp, const struct dp_port *port, char out[IFNAME_SIZE])
{
    char path[DP_SYSFS_MAX + 16];
    snprintf(path, sizeof(path), "%s/master", port->sysfs);
    if (!sys_link_name(dp->root, path, out, IFNAME_SIZE))
        out[0] = '\0';
}

/* The functions of one card: the address without the function's number. */
static bool is_same_card(const struct dp_port *a, const struct dp_port *b)
{
    size_t len = strcspn(a->device, ".");
    return len > 0 && len == strcspn(b->device, ".") && strncmp(a->device, b->device, len) == 0;
}

/* A device that stands on the bond itself names one of the card's functions as its own. */
static const struct rdma_device *device_of_bond(const struct linux_inventory *job,
                                                const struct dp_port *port)
{
    struct dp_port owner = {.device = ""};
    char path[DP_SYSFS_MAX];
    for (size_t d = 0; d < job->rdma->device_count; d++) {
        const struct rdma_device *device = &job->rdma->devices[d];
        snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", device->name);
        if (strstr(device->name, "bond") != NULL &&
            sys_link_name(job->dp->root, path, owner.device, sizeof(owner.device)) &&
            is_same_card(port, &owner))
            return device;
    }
    return NULL;
}

const struct rdma_device *linux_inventory_rdma_of(const struct linux_inventory *job,
                                                  const struct dp_port *port)
{
    const struct dp_linux *dp = job->dp;
    const struct rdma_device *device = device_of_ifindex(job->rdma, port->ifindex);
    char master[IFNAME_SIZE], other[IFNAME_SIZE];
    if (device != NULL)
        return device;
    master_of(dp, port, master);
    if (master[0] == '\0')
        return NULL;
    /* Two ports in a bond become one RDMA device, which stands on either or on the bond. */
    for (size_t i = 0; i < dp->port_count && device == NULL; i++) {
        master_of(dp, &dp->ports[i], other);
        if (strcmp(master, other) == 0 && is_same_card(port, &dp->ports[i]))
            device = device_of_ifindex(job->rdma, dp->ports[i].ifindex);
    }
    return device != NULL ? device : device_of_bond(job, port);
}

/* What a device is ---------------------------------------------------------------------------- */

struct look {
    char root[SYS_PATH_MAX];
    char name[RDMA_NAME_SIZE];
    json_t *facts; /* out */
    json_t *verbs; /* out; NULL = see err */
    struct err err;
};

static void look_run(void *arg)
{
    struct look *look = arg;
    look->facts = rdma_class_facts(look->root, look->name);
    enum err_code code = verbs_device(look->name, &look->verbs, &look->err);
    /* No verbs at all, or none of this device: netlink and sysfs tell what they know. */
    if (code == ERR_UNSUPPORTED || code == ERR_NOT_FOUND)
        look->err = (struct err)ERR_INIT;
}

static void look_release(void *arg)
{
    struct look *look = arg;
    json_decref(look->facts);
    json_decref(look->verbs);
    free(look);
}

static json_t *port_numbered(json_t *ports, json_int_t number)
{
    size_t i;
    json_t *port;
    json_array_foreach(ports, i, port)
    {
        if (json_integer_value(json_object_get(port, "port")) == number)
            return port;
    }
    return NULL;
}

/* What verbs knows goes over what sysfs says, port by port. */
static void merge(json_t *facts, json_t *verbs)
{
    size_t i;
    json_t *port, *ports = json_object_get(facts, "ports");
    json_array_foreach(json_object_get(verbs, "ports"), i, port)
    {
        json_t *known = port_numbered(ports, json_integer_value(json_object_get(port, "port")));
        if (known == NULL)
            continue;
        json_object_update_missing(port, known);
    }
    json_object_update(facts, verbs);
}

static json_t *device_json(struct linux_inventory *job, const struct rdma_device *device)
{
    char subject[SUBJECT_SIZE];
    struct look *look = calloc(1, sizeof(*look));
    json_t *facts = NULL;
    if (look == NULL)
        return NULL;
    snprintf(look->root, sizeof(look->root), "%s", job->dp->root);
    memcpy(look->name, device->name, sizeof(look->name));
    snprintf(subject, sizeof(subject), "rdma/%s", device->name);
    const struct aside_job work = {.run = look_run, .release = look_release, .arg = look};
    if (linux_aside(job, subject, &work)) {
        facts = json_incref(look->facts);
        if (look->verbs != NULL && facts != NULL)
            merge(facts, look->verbs);
        if (look->err.code != ERR_OK)
            fact_text(facts, "problem", look->err.text);
        look_release(look);
    }
    if (facts == NULL)
        facts = json_pack("{s:s,s:s}", "name", device->name, "problem", "it does not answer");
    return facts;
}

static const struct rdma_port *port_of(const struct rdma_list *rdma, uint32_t device)
{
    for (size_t i = 0; i < rdma->port_count; i++)
        if (rdma->ports[i].device == device && rdma->ports[i].ifindex != 0)
            return &rdma->ports[i];
    return NULL;
}

/* The ids of all ports that use the device: two when a bond made one device of them. */
static json_t *port_ids(struct linux_inventory *job, const struct rdma_device *device)
{
    json_t *ids = json_array();
    for (size_t i = 0; i < job->dp->port_count; i++)
        if (linux_inventory_rdma_of(job, &job->dp->ports[i]) == device)
            json_array_append_new(ids, json_string(job->dp->ports[i].id));
    return ids;
}

static const char *ifname_of(const struct dp_linux *dp, uint32_t ifindex)
{
    for (size_t i = 0; i < dp->port_count; i++)
        if ((uint32_t)dp->ports[i].ifindex == ifindex)
            return dp->ports[i].ifname;
    return NULL;
}

json_t *linux_inventory_rdma(struct linux_inventory *job)
{
    const struct rdma_list *rdma = job->rdma;
    json_t *devices = json_array();
    for (size_t i = 0; i < rdma->device_count; i++) {
        const struct rdma_device *entry = &rdma->devices[i];
        json_t *ids = port_ids(job, entry);
        if (job->dp->devices != NULL && json_array_size(ids) == 0) {
            json_decref(ids);
            continue;
        }
        json_t *device = device_json(job, entry);
        const struct rdma_port *port = port_of(rdma, entry->index);
        fact_text(device, "netdev", port == NULL ? NULL : ifname_of(job->dp, port->ifindex));
        fact_part(device, "port_ids", ids);
        if (json_object_get(device, "fw_version") == NULL)
            fact_text(device, "fw_version", entry->firmware);
        const char *problem = json_string_value(json_object_get(device, "problem"));
        if (problem != NULL)
            fact_problem(job->problems, entry->name, problem);
        json_array_append_new(devices, device);
    }
    if (rdma->truncated)
        fact_problem(job->problems, "rdma", "there are more RDMA devices than are listed");
    return devices;
}
