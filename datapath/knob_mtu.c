/*
 * datapath/knob_mtu.c - link.mtu.
 */
#include "datapath/linux.h"

#include "datapath/nl/link.h"
#include "datapath/value.h"

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct link_info link;
    enum err_code code = link_get(dp->route, port->ifindex, &link, err);
    if (code == ERR_OK && link.mtu_bytes == 0)
        code = err_set(err, ERR_IO, "the kernel tells no MTU");
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "link.mtu", port, "", json_integer(link.mtu_bytes),
                          KNOB_OWNER_UNKNOWN, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    int mtu;
    struct link_info link;
    enum err_code code = mtu_value_from_json(step->to, &mtu, err);
    if (code == ERR_OK)
        code = link_get(dp->route, port->ifindex, &link, err);
    if (code != ERR_OK)
        return code;
    uint32_t wanted = (uint32_t)mtu;
    if (wanted < link.mtu_min_bytes || (link.mtu_max_bytes != 0 && wanted > link.mtu_max_bytes))
        return err_set(err, ERR_UNSUPPORTED, "the driver takes an MTU of %u to %u, not %d",
                       link.mtu_min_bytes, link.mtu_max_bytes, mtu);
    return ERR_OK;
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    int mtu;
    enum err_code code = mtu_value_from_json(step->to, &mtu, err);
    return code != ERR_OK ? code : link_set_mtu(dp->route, port->ifindex, (uint32_t)mtu, err);
}

const struct linux_knob knob_mtu = {
    .kind = "link.mtu",
    .observe = observe,
    .check = check,
    .apply = apply,
};
