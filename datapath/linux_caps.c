/*
 * datapath/linux_caps.c - what a port's device can take beyond dcb and tc, for the inventory. Found
 * by looking, not by driver names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/linux_devlink.h"
#include "datapath/linux_inventory.h"
#include "datapath/nl/ethtool_tune.h"
#include "datapath/sys/roce_tos_aside.h"
#include "datapath/sys/sys.h"

#define FUNCTIONS_MAX 256 /* of a device (PCI: 255) */

/* Aside: rdma_cm's lock may be held by a device that does not come back. What was known before it
 * hung still holds: another inventory would be another plan. */
static void put_tos(struct dp_linux *dp, const struct dp_port *port, const struct linux_rdma *rdma,
                    json_t *caps)
{
    struct roce_tos tos;
    enum err_code code = ERR_UNSUPPORTED;
    if (rdma->device[0] != '\0') {
        const struct roce_tos_port at = {
            .root = dp->root, .device = rdma->device, .port = rdma->port};
        code = roce_tos_ask(dp->aside, &at, NULL, &tos, LINUX_FILES_MS, NULL);
    }
    if (code != ERR_UNAVAILABLE)
        linux_kept_put(dp, port, "roce_tos", json_boolean(code == ERR_OK));
    json_t *known = linux_kept_get(dp, port, "roce_tos");
    if (known != NULL)
        json_object_set(caps, "roce_tos", known);
}

static void put_cc(const struct dp_linux *dp, const struct dp_port *port,
                   const struct linux_rdma *rdma, json_t *caps)
{
    struct roce_cc_where where;
    const struct roce_cc_backend *backend;
    struct roce_cc cc;
    linux_cc_where(dp, port, rdma, &where);
    if (roce_cc_find(&where, &backend, NULL))
        return;
    roce_cc_probe(backend, &where, &cc);
    json_t *names = json_array();
    for (int i = 0; i < ROCE_CC_IDS; i++)
        if ((cc.present & roce_cc_bit((enum roce_cc_id)i)) != 0)
            json_array_append_new(names, json_string(roce_cc_params[i].name));
    json_object_set_new(caps, "roce_cc",
                        json_pack("{s:s,s:b,s:b,s:o}", "backend", roce_cc_backend_name(backend),
                                  "notify", cc.has_notify, "react", cc.has_react, "parameters",
                                  names));
}

static void put_params(struct nlx *genl, const struct dp_port *port, json_t *caps)
{
    OWN(mem) void *memory = calloc(1, sizeof(struct devlink_param_list));
    struct devlink_param_list *list = memory;
    if (list == NULL || devlink_param_all(genl, port->bus, port->device, list, NULL) ||
        list->count == 0)
        return;
    json_t *params = json_object();
    for (size_t i = 0; i < list->count; i++) {
        json_t *cmodes = json_array();
        for (int m = 0; m < DEVLINK_CMODES; m++)
            if (list->items[i].has[m])
                json_array_append_new(cmodes, json_string(param_cmodes[m]));
        json_object_set_new(params, list->items[i].name, cmodes);
    }
    json_object_set_new(caps, "devlink_params", params);
}

static void put_link(struct nlx *genl, const struct dp_port *port, json_t *caps)
{
    struct pause_value pause;
    struct coalesce coalesce;
    json_object_set_new(
        caps, "pause", json_boolean(ethtool_pause_get(genl, port->ifname, &pause, NULL) == ERR_OK));
    if (ethtool_coalesce_get(genl, port->ifname, &coalesce, NULL) || coalesce.present == 0)
        return;
    json_t *names = json_array();
    for (int i = 0; i < COALESCE_IDS; i++)
        if ((coalesce.present & coalesce_bit(i)) != 0)
            json_array_append_new(names, json_string(coalesce_params[i].name));
    json_object_set_new(caps, "coalesce", names);
}

/* Rates of functions -------------------------------------------------------------------------- */

/* The port of the function that this one is a virtual function of, and its number there. */
static const struct dp_port *switching_port(const struct dp_linux *dp, const struct dp_port *port,
                                            uint32_t *out_vf)
{
    char path[DP_SYSFS_MAX + 48], parent[64], name[64];
    snprintf(path, sizeof(path), "%s/device/physfn", port->sysfs);
    if (!sys_link_name(dp->root, path, parent, sizeof(parent)))
        return NULL;
    for (uint32_t vf = 0; vf < FUNCTIONS_MAX; vf++) {
        snprintf(path, sizeof(path), "%s/device/physfn/virtfn%u", port->sysfs, (unsigned)vf);
        if (!sys_link_name(dp->root, path, name, sizeof(name)))
            return NULL;
        if (strcmp(name, port->device) != 0)
            continue;
        *out_vf = vf;
        for (size_t i = 0; i < dp->port_count; i++)
            if (strcmp(dp->ports[i].device, parent) == 0)
                return &dp->ports[i]; /* the first of the device */
    }
    return NULL;
}

static bool has_leaf(struct nlx *genl, const struct dp_port *port, uint32_t index)
{
    OWN(mem) void *memory = calloc(1, sizeof(struct devlink_rate_list));
    struct devlink_rate_list *list = memory;
    if (list == NULL || devlink_rate_all(genl, port->bus, port->device, list, NULL))
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].is_node && list->items[i].port_index == index)
            return true;
    return false;
}

static void put_rate(struct dp_linux *dp, struct nlx *genl, const struct dp_port *port,
                     json_t *caps)
{
    char leaf[RATE_LEAF_SIZE];
    uint32_t vf = 0;
    const struct dp_port *switching = switching_port(dp, port, &vf);
    OWN(mem) void *memory = switching == NULL ? NULL : calloc(1, sizeof(struct devlink_port_list));
    struct devlink_port_list *list = memory;
    if (list == NULL || devlink_port_all(genl, switching->bus, switching->device, list, NULL))
        return;
    for (size_t i = 0; i < list->count; i++) {
        const struct devlink_port *item = &list->items[i];
        /* "c1pf0vf1" belongs to another host. */
        if (!item->is_vf || item->vf != vf || item->name[0] == 'c' ||
            !has_leaf(genl, switching, item->index))
            continue;
        rate_id_format(false, item->name, leaf, sizeof(leaf));
        json_object_set_new(caps, "devlink_rate",
                            json_pack("{s:s,s:s}", "port", switching->id, "leaf", leaf));
        return;
    }
}

void linux_device_caps(struct dp_linux *dp, struct nlx *genl, const struct dp_port *port,
                       const struct rdma_list *list, json_t *caps)
{
    struct linux_rdma rdma = {.port = 0};
    struct dcbx_value dcbx;
    (void)linux_rdma_in(list, port->ifindex, &rdma); /* none: its name stays "" */
    put_tos(dp, port, &rdma, caps);
    if (linux_dcbx(dp, port, &dcbx, NULL) == ERR_OK)
        json_object_set_new(caps, "dcbx_agent", json_string(dcbx.agent));
    put_cc(dp, port, &rdma, caps);
    if (genl != NULL)
        put_link(genl, port, caps);
    if (genl == NULL || port->bus[0] == '\0')
        return;
    put_params(genl, port, caps);
    put_rate(dp, genl, port, caps);
}
