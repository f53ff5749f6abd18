/*
 * datapath/knob_ets.c - dcb.ets: traffic classes and their shares.
 */
#include "datapath/knob_dcb.h"

static enum err_code get(struct dp_linux *dp, const struct dp_port *port, struct dcb_state *out,
                         struct err *err)
{
    enum err_code code = knob_dcb_get(dp, port, out, err);
    return code != ERR_OK ? code : knob_dcb_need(port, out->has_ets, "ETS", err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct dcb_state dcb;
    enum err_code code = get(dp, port, &dcb, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "dcb.ets", port, "", ets_value_to_json(&dcb.ets), KNOB_OWNER_UNKNOWN,
                          err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct ets_value value;
    struct dcb_state dcb;
    enum err_code code = ets_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = ets_value_check(&value, err);
    if (code == ERR_OK)
        code = get(dp, port, &dcb, err);
    for (int i = 0; code == ERR_OK && dcb.ets_cap != 0 && i < VALUE_PRIORITIES; i++)
        if (value.prio_tc[i] >= dcb.ets_cap)
            return err_set(err, ERR_UNSUPPORTED,
                           "priority %d goes to traffic class %u, but %s has %u classes", i,
                           value.prio_tc[i], port->ifname, dcb.ets_cap);
    return code;
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct ets_value value;
    bool host = true;
    enum err_code code = ets_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = knob_dcb_claim(dp, port, &host, err);
    if (code == ERR_OK)
        code = dcb_set_ets(dp->route, port->ifname, &value, err);
    return knob_dcb_done(code, host, err);
}

const struct linux_knob knob_ets = {
    .kind = "dcb.ets",
    .observe = observe,
    .check = check,
    .apply = apply,
};
