/*
 * datapath/knob_coalesce.c - link.coalesce: when the port interrupts. The plan speaks of some
 * values; what it does not name is left alone.
 */
#include "datapath/linux.h"

#include "datapath/nl/ethtool_tune.h"

static enum err_code get(struct dp_linux *dp, const struct dp_port *port, struct coalesce *out,
                         struct err *err)
{
    struct nlx *genl;
    enum err_code code = linux_genl(dp, &genl, err);
    if (code == ERR_OK)
        code = ethtool_coalesce_get(genl, port->ifname, out, err);
    if (code == ERR_UNSUPPORTED || (code == ERR_OK && out->present == 0))
        code = err_set(err, ERR_UNSUPPORTED, "the driver of %s has no interrupt moderation",
                       port->ifname);
    return code;
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct coalesce is;
    enum err_code code = get(dp, port, &is, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "link.coalesce", port, "", coalesce_to_json(&is), KNOB_OWNER_UNKNOWN,
                          err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct coalesce want, is;
    enum err_code code = coalesce_from_json(step->to, &want, err);
    if (code == ERR_OK)
        code = get(dp, port, &is, err);
    for (int i = 0; code == ERR_OK && i < COALESCE_IDS; i++)
        if ((want.present & ~is.present & coalesce_bit(i)) != 0)
            code = err_set(err, ERR_UNSUPPORTED, "the driver of %s moderates nothing by %s",
                           port->ifname, coalesce_params[i].name);
    return code;
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct nlx *genl;
    struct coalesce want;
    enum err_code code = coalesce_from_json(step->to, &want, err);
    if (code == ERR_OK)
        code = linux_genl(dp, &genl, err);
    return code != ERR_OK ? code : ethtool_coalesce_set(genl, port->ifname, &want, err);
}

static bool same(const json_t *live, const json_t *want)
{
    struct coalesce is, wanted;
    return coalesce_from_json(live, &is, NULL) == ERR_OK &&
           coalesce_from_json(want, &wanted, NULL) == ERR_OK && coalesce_covers(&is, &wanted);
}

const struct linux_knob knob_coalesce = {
    .kind = "link.coalesce",
    .observe = observe,
    .check = check,
    .apply = apply,
    .same = same,
};
