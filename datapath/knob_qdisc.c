/*
 * datapath/knob_qdisc.c - tc.qdisc: htb or ets as the port's scheduler, ours by its handle. id =
 * "root".
 */
#include "datapath/linux.h"

#include <string.h>

#include "datapath/nl/tc_qdisc.h"

static bool is_ours(const struct qdisc_info *root)
{
    return root->handle == TC_OUR_HANDLE && root->known;
}

/* A root with handle 0 is the kernel's default (mq, pfifo_fast, noqueue): nothing is there. */
static bool is_default(const struct qdisc_info *root)
{
    return !root->present || root->handle == 0;
}

static json_t *foreign_to_json(const struct qdisc_info *root)
{
    char handle[TC_HANDLE_TEXT_MAX];
    tc_handle_format(root->handle, handle);
    return json_pack("{s:s,s:s}", "handle", handle, "kind", root->kind);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    struct qdisc_state qdiscs;
    enum err_code code = tc_qdisc_get(dp->route, port->ifindex, &qdiscs, err);
    if (code != ERR_OK || is_default(&qdiscs.root))
        return code;
    if (!is_ours(&qdiscs.root))
        return linux_observed(out, "tc.qdisc", port, "root", foreign_to_json(&qdiscs.root),
                              KNOB_OWNER_OTHER, err);
    return linux_observed(out, "tc.qdisc", port, "root", qdisc_value_to_json(&qdiscs.root.value),
                          KNOB_OWNER_STELLAR, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct qdisc_value value;
    struct qdisc_state qdiscs;
    if (strcmp(step->id, "root") != 0)
        return err_set(err, ERR_INVALID, "the id is not root");
    enum err_code code =
        step->op == STEP_REMOVE ? ERR_OK : qdisc_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = tc_qdisc_get(dp->route, port->ifindex, &qdiscs, err);
    if (code == ERR_OK && !is_default(&qdiscs.root) && !is_ours(&qdiscs.root))
        return err_set(err, ERR_CONFLICT,
                       "%s has a root qdisc of somebody else (%s %x:); remove it first",
                       port->ifname, qdiscs.root.kind, qdiscs.root.handle >> 16);
    return code;
}

/* htb has no change operation: another default class means a new qdisc. ets has one, which keeps
 * the queues. */
static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    struct qdisc_value value = {.handle = 0};
    struct qdisc_state qdiscs;
    enum err_code code = check(dp, port, step, err);
    if (code == ERR_OK)
        code = tc_qdisc_get(dp->route, port->ifindex, &qdiscs, err);
    if (code == ERR_OK && step->op != STEP_REMOVE)
        code = qdisc_value_from_json(step->to, &value, err);
    if (code != ERR_OK)
        return code;
    if (is_ours(&qdiscs.root) && value.ets && qdiscs.root.value.ets)
        return tc_qdisc_change_ets(dp->route, port->ifindex, &value, err);
    if (is_ours(&qdiscs.root))
        code = tc_qdisc_del_root(dp->route, port->ifindex, TC_OUR_HANDLE, err);
    if (code != ERR_OK || step->op == STEP_REMOVE)
        return code;
    code = tc_qdisc_add_root(dp->route, port->ifindex, &value, err);
    /* ENOENT: the kernel knows no such scheduler and could not load it. */
    if (code == ERR_NOT_FOUND)
        code = err_set(err, ERR_UNSUPPORTED, "this kernel has no %s scheduler",
                       value.ets ? "ets" : "htb");
    return code;
}

/* Whether the NIC does it is told, not asked for. */
static bool same(const json_t *live, const json_t *want)
{
    struct qdisc_value is, wanted;
    return qdisc_value_from_json(live, &is, NULL) == ERR_OK &&
           qdisc_value_from_json(want, &wanted, NULL) == ERR_OK && qdisc_value_same(&is, &wanted);
}

const struct linux_knob knob_qdisc = {
    .kind = "tc.qdisc",
    .observe = observe,
    .check = check,
    .apply = apply,
    .same = same,
};
