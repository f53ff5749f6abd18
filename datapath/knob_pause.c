/*
 * datapath/knob_pause.c - link.pause: pause frames of the whole link. Only what is set counts; that
 * the peer has its say in it (autoneg) is left as it is.
 */
#include "datapath/linux.h"

#include "datapath/nl/ethtool_tune.h"

static enum err_code get(struct dp_linux *dp, const struct dp_port *port, struct pause_value *out,
                         struct err *err)
{
    struct nlx *genl;
    enum err_code code = linux_genl(dp, &genl, err);
    if (code == ERR_OK)
        code = ethtool_pause_get(genl, port->ifname, out, err);
    if (code == ERR_UNSUPPORTED)
        code = err_set(err, code, "the driver of %s has no pause settings", port->ifname);
    return code;
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct pause_value is;
    enum err_code code = get(dp, port, &is, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "link.pause", port, "", pause_value_to_json(&is), KNOB_OWNER_UNKNOWN,
                          err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct pause_value want, is;
    enum err_code code = pause_value_from_json(step->to, &want, err);
    return code != ERR_OK ? code : get(dp, port, &is, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct nlx *genl;
    struct pause_value want;
    enum err_code code = pause_value_from_json(step->to, &want, err);
    if (code == ERR_OK)
        code = linux_genl(dp, &genl, err);
    return code != ERR_OK ? code : ethtool_pause_set(genl, port->ifname, &want, err);
}

const struct linux_knob knob_pause = {
    .kind = "link.pause",
    .observe = observe,
    .check = check,
    .apply = apply,
};
