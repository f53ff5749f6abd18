/*
 * datapath/knob_maxrate.c - dcb.maxrate: rate limit of each traffic class.
 */
#include "datapath/knob_dcb.h"

#define KBIT_BPS 1000 /* the kernel's own unit */

static enum err_code get(struct dp_linux *dp, const struct dp_port *port, struct dcb_state *out,
                         struct err *err)
{
    enum err_code code = knob_dcb_get(dp, port, out, err);
    return code != ERR_OK ? code : knob_dcb_need(port, out->has_maxrate, "max rate", err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct dcb_state dcb;
    enum err_code code = get(dp, port, &dcb, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "dcb.maxrate", port, "", maxrate_value_to_json(&dcb.maxrate),
                          KNOB_OWNER_UNKNOWN, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct maxrate_value value;
    struct dcb_state dcb;
    enum err_code code = maxrate_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = get(dp, port, &dcb, err);
    int64_t unit = vendor_get(port->driver)->maxrate_unit_bps;
    if (unit < KBIT_BPS)
        unit = KBIT_BPS;
    for (int tc = 0; code == ERR_OK && tc < VALUE_PRIORITIES; tc++)
        if (value.rate_bps[tc] != RATE_NONE && value.rate_bps[tc] < unit)
            return err_set(err, ERR_INVALID,
                           "%lld bit/s of traffic class %d is below the unit of %s, %lld bit/s: "
                           "it would mean no limit",
                           (long long)value.rate_bps[tc], tc, port->ifname, (long long)unit);
    return code;
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct maxrate_value value;
    bool host = true;
    enum err_code code = maxrate_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = knob_dcb_claim(dp, port, &host, err);
    if (code == ERR_OK)
        code = dcb_set_maxrate(dp->route, port->ifname, &value, err);
    return knob_dcb_done(code, host, err);
}

/* Floored, class by class; the 1 Gb/s units that mlx5 has above 25.5 Gb/s are the coarsest known.
 */
static bool rounded(const json_t *live, const json_t *want)
{
    struct maxrate_value is, wanted;
    if (maxrate_value_from_json(live, &is, NULL) || maxrate_value_from_json(want, &wanted, NULL))
        return false;
    for (int tc = 0; tc < VALUE_PRIORITIES; tc++) {
        int64_t less = wanted.rate_bps[tc] - is.rate_bps[tc];
        if ((wanted.rate_bps[tc] == RATE_NONE) != (is.rate_bps[tc] == RATE_NONE))
            return false;
        if (wanted.rate_bps[tc] != RATE_NONE && (less < 0 || less >= INT64_C(1000000000)))
            return false;
    }
    return true;
}

const struct linux_knob knob_maxrate = {
    .kind = "dcb.maxrate",
    .observe = observe,
    .check = check,
    .apply = apply,
    .rounded = rounded,
};
