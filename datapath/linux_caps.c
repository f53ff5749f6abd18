/*
 * datapath/linux_caps.c - what a port's device can take beyond dcb and tc, for the inventory. Found
 * by looking, not by driver names.
 */
#include "datapath/linux.h"

#include "datapath/sys/roce_tos.h"

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

void linux_device_caps(const struct dp_linux *dp, const struct dp_port *port,
                       const struct rdma_list *list, json_t *caps)
{
    struct linux_rdma rdma = {.port = 0};
    struct roce_tos tos;
    bool has_tos = linux_rdma_in(list, port->ifindex, &rdma) &&
                   roce_tos_get(dp->root, rdma.device, rdma.port, &tos, NULL) == ERR_OK;
    json_object_set_new(caps, "roce_tos", json_boolean(has_tos));
    put_cc(dp, port, &rdma, caps);
}
