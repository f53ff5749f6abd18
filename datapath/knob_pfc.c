/*
 * datapath/knob_pfc.c - dcb.pfc: priority flow control.
 */
#include "datapath/knob_dcb.h"

static enum err_code get(struct dp_linux *dp, const struct dp_port *port, struct dcb_state *out,
                         struct err *err)
{
    enum err_code code = knob_dcb_get(dp, port, out, err);
    return code != ERR_OK ? code : knob_dcb_need(port, out->has_pfc, "PFC", err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct dcb_state dcb;
    enum err_code code = get(dp, port, &dcb, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "dcb.pfc", port, "", pfc_value_to_json(&dcb.pfc), KNOB_OWNER_UNKNOWN,
                          err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct pfc_value value;
    struct dcb_state dcb;
    enum err_code code = pfc_value_from_json(step->to, &value, err);
    return code != ERR_OK ? code : get(dp, port, &dcb, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct pfc_value value;
    bool host = true;
    enum err_code code = pfc_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = knob_dcb_claim(dp, port, &host, err);
    if (code == ERR_OK)
        code = dcb_set_pfc(dp->route, port->ifname, &value, err);
    return knob_dcb_done(code, host, err);
}

/* A wanted delay of 0 leaves it to the driver: mlx5 ignores 0 and shows its cable length. */
static bool same(const json_t *live, const json_t *want)
{
    struct pfc_value is, wanted;
    return pfc_value_from_json(live, &is, NULL) == ERR_OK &&
           pfc_value_from_json(want, &wanted, NULL) == ERR_OK && is.mask == wanted.mask &&
           (wanted.delay == 0 || is.delay == wanted.delay);
}

const struct linux_knob knob_pfc = {
    .kind = "dcb.pfc",
    .observe = observe,
    .check = check,
    .apply = apply,
    .same = same,
};
