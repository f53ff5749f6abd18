/*
 * datapath/knob_clsact.c - tc.clsact: the hooks for filters. Ours unless it holds a filter that is
 * not.
 */
#include "datapath/linux.h"

#include "datapath/nl/tc_flower.h"
#include "datapath/nl/tc_qdisc.h"

static enum err_code has_foreign(struct dp_linux *dp, const struct dp_port *port, bool *out,
                                 struct err *err)
{
    *out = false;
    for (int egress = 0; egress <= 1; egress++) {
        OWN_FLOWERS struct flower_list list = {0};
        enum err_code code = tc_flower_list(dp->route, port->ifindex, egress == 1, &list, err);
        if (code != ERR_OK)
            return code;
        *out |= list.others > 0;
        for (size_t i = 0; i < list.count; i++)
            *out |= !list.items[i].ours;
    }
    return ERR_OK;
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct qdisc_state qdiscs;
    bool foreign;
    enum err_code code = tc_qdisc_get(dp->route, port->ifindex, &qdiscs, err);
    if (code != ERR_OK || !qdiscs.clsact)
        return code;
    code = has_foreign(dp, port, &foreign, err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "tc.clsact", port, "", json_true(),
                          foreign ? KNOB_OWNER_OTHER : KNOB_OWNER_STELLAR, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct qdisc_state qdiscs;
    if (step->op != STEP_REMOVE && !json_is_true(step->to))
        return err_set(err, ERR_INVALID, "the value is not true");
    enum err_code code = tc_qdisc_get(dp->route, port->ifindex, &qdiscs, err);
    if (code == ERR_OK && qdiscs.ingress_other && step->op != STEP_REMOVE)
        return err_set(err, ERR_CONFLICT,
                       "%s has an ingress qdisc of somebody else where clsact must stand",
                       port->ifname);
    return code;
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    return step->op == STEP_REMOVE ? tc_qdisc_del_clsact(dp->route, port->ifindex, err)
                                   : tc_qdisc_add_clsact(dp->route, port->ifindex, err);
}

const struct linux_knob knob_clsact = {
    .kind = "tc.clsact",
    .observe = observe,
    .check = check,
    .apply = apply,
};
