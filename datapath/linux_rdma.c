/*
 * datapath/linux_rdma.c - which RDMA device stands on a port; see linux.h.
 */
#include "datapath/linux.h"

#include <stdlib.h>
#include <string.h>

#include <linux/netlink.h>

#include "base/own.h"

bool linux_rdma_in(const struct rdma_list *list, int ifindex, struct linux_rdma *out)
{
    for (size_t i = 0; i < list->port_count; i++) {
        if (list->ports[i].ifindex != (uint32_t)ifindex)
            continue;
        for (size_t d = 0; d < list->device_count; d++) {
            if (list->devices[d].index != list->ports[i].device)
                continue;
            memcpy(out->device, list->devices[d].name, sizeof(out->device));
            out->port = list->ports[i].port;
            return true;
        }
    }
    return false;
}

enum err_code linux_rdma_of(const struct dp_port *port, struct linux_rdma *out, struct err *err)
{
    OWN(nlx) struct nlx *nlx = NULL;
    OWN(mem) void *memory = calloc(1, sizeof(struct rdma_list));
    struct rdma_list *list = memory;
    if (list == NULL)
        return err_nomem(err);
    enum err_code code = nlx_open(NETLINK_RDMA, &nlx, err);
    if (code == ERR_OK)
        code = rdma_list(nlx, list, err);
    if (code == ERR_OK && !linux_rdma_in(list, port->ifindex, out))
        code = err_set(err, ERR_UNSUPPORTED, "no RDMA device stands on %s", port->ifname);
    return code;
}

void linux_cc_where(const struct dp_linux *dp, const struct dp_port *port,
                    const struct linux_rdma *rdma, struct roce_cc_where *out)
{
    *out = (struct roce_cc_where){.root = dp->root,
                                  .driver = port->driver,
                                  .device = port->device,
                                  .ifname = port->ifname,
                                  .rdma = rdma->device,
                                  .rdma_port = rdma->port};
}
