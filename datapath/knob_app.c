/*
 * datapath/knob_app.c - dcb.app: the DSCP to priority map. An empty map trusts the VLAN tag.
 */
#include "datapath/knob_dcb.h"

static enum err_code get(struct dp_linux *dp, const struct dp_port *port, struct dcb_state *out,
                         struct err *err)
{
    enum err_code code = knob_dcb_get(dp, port, out, err);
    if (code != ERR_OK)
        return code;
    if (out->app_truncated)
        return err_set(err, ERR_LIMIT, "the port has more than %d DSCP entries", APP_VALUE_MAX);
    return knob_dcb_need(port, out->has_app && !vendor_get(port->driver)->no_app, "DSCP map", err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct dcb_state dcb;
    enum err_code code = get(dp, port, &dcb, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "dcb.app", port, "", app_value_to_json(&dcb.app), KNOB_OWNER_UNKNOWN,
                          err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct app_value value;
    struct dcb_state dcb;
    enum err_code code = app_value_from_json(step->to, &value, err);
    return code != ERR_OK ? code : get(dp, port, &dcb, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct app_value value;
    struct dcb_state dcb;
    bool host = true;
    enum err_code code = app_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = get(dp, port, &dcb, err);
    if (code == ERR_OK)
        code = knob_dcb_claim(dp, port, &host, err);
    if (code == ERR_OK)
        code = dcb_set_app(dp->route, port->ifname, &dcb.app, &value, err);
    return knob_dcb_done(code, host, err);
}

const struct linux_knob knob_app = {
    .kind = "dcb.app",
    .observe = observe,
    .check = check,
    .apply = apply,
};
