/*
 * datapath/knob_arp.c - link.arp: ARP and reverse path filter of a port, for several in one subnet.
 */
#include "datapath/linux.h"

#include "datapath/sys/arp_conf.h"

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct arp_conf is;
    enum err_code code = arp_conf_get(dp->root, port->ifname, &is, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "link.arp", port, "", arp_conf_to_json(&is), KNOB_OWNER_UNKNOWN,
                          err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct arp_conf want, is;
    enum err_code code = arp_conf_from_json(step->to, &want, err);
    if (code == ERR_OK)
        code = arp_conf_get(dp->root, port->ifname, &is, err);
    return code != ERR_OK ? code : arp_conf_check(&is, port->ifname, &want.own, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct arp_conf want;
    enum err_code code = arp_conf_from_json(step->to, &want, err);
    return code != ERR_OK ? code : arp_conf_set(dp->root, port->ifname, &want.own, err);
}

/* A state that had more in effect than was set is as it was when the interface's values are. */
static bool same(const json_t *live, const json_t *want)
{
    struct arp_conf is, wanted;
    if (arp_conf_from_json(live, &is, NULL) || arp_conf_from_json(want, &wanted, NULL))
        return false;
    is.effective.present &= ~wanted.effective.present;
    return arp_conf_covers(&is, &wanted.own);
}

const struct linux_knob knob_arp = {
    .kind = "link.arp",
    .observe = observe,
    .check = check,
    .apply = apply,
    .same = same,
};
