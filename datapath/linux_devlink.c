/*
 * datapath/linux_devlink.c - see linux_devlink.h.
 */
#include "datapath/linux_devlink.h"

#include <string.h>

bool linux_is_first_of_device(const struct dp_linux *dp, const struct dp_port *port)
{
    for (size_t i = 0; i < dp->port_count; i++)
        if (strcmp(dp->ports[i].device, port->device) == 0)
            return strcmp(dp->ports[i].id, port->id) == 0; /* they are sorted by id */
    return true;
}

enum err_code linux_devlink(struct dp_linux *dp, const struct dp_port *port, struct nlx **out,
                            struct err *err)
{
    if (port->bus[0] == '\0' || port->device[0] == '\0')
        return err_set(err, ERR_UNSUPPORTED, "%s stands on no device", port->ifname);
    if (!linux_is_first_of_device(dp, port))
        return err_set(err, ERR_UNSUPPORTED,
                       "%s is not the first port of the device %s, which holds its settings",
                       port->ifname, port->device);
    return linux_genl(dp, out, err);
}
