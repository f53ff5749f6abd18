/*
 * datapath/knob_class.c - tc.class: an htb class of our scheduler. id = its handle, "5e11:1a".
 */
#include "datapath/linux.h"

#include "datapath/nl/tc_class.h"
#include "datapath/nl/tc_rate.h"

static enum err_code parse_id(const char *id, uint32_t *out, struct err *err)
{
    if (tc_handle_parse(id, out) && *out >> 16 == TC_OUR_MAJOR && (*out & 0xffff) != 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "the id \"%s\" is no class of 5e11:", id);
}

static enum err_code add(const struct class_info *info, const struct dp_port *port,
                         struct state *out, struct err *err)
{
    char id[TC_HANDLE_TEXT_MAX];
    tc_handle_format(info->handle, id);
    return linux_observed(out, "tc.class", port, id, class_value_to_json(&info->value),
                          KNOB_OWNER_STELLAR, err);
}

static enum err_code observe_id(struct dp_linux *dp, const struct dp_port *port, const char *id,
                                struct state *out, struct err *err)
{
    uint32_t handle;
    struct class_info info;
    bool present = false;
    enum err_code code = parse_id(id, &handle, err);
    if (code == ERR_OK)
        code = tc_class_get(dp->route, port->ifindex, handle, &info, &present, err);
    return code != ERR_OK || !present ? code : add(&info, port, out, err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    if (id != NULL)
        return observe_id(dp, port, id, out, err);
    OWN_CLASSES struct class_list list = {0};
    enum err_code code = tc_class_list(dp->route, port->ifindex, TC_OUR_MAJOR, &list, err);
    for (size_t i = 0; code == ERR_OK && i < list.count; i++)
        code = add(&list.items[i], port, out, err);
    return code;
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    (void)dp;
    (void)port;
    uint32_t handle;
    struct class_value value;
    enum err_code code = parse_id(step->id, &handle, err);
    if (code != ERR_OK || step->op == STEP_REMOVE)
        return code;
    return class_value_from_json(step->to, &value, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    uint32_t handle;
    struct class_value value;
    struct class_info info;
    bool present;
    enum err_code code = parse_id(step->id, &handle, err);
    if (code == ERR_OK && step->op == STEP_REMOVE)
        return tc_class_del(dp->route, port->ifindex, handle, err);
    if (code == ERR_OK)
        code = class_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = tc_class_get(dp->route, port->ifindex, handle, &info, &present, err);
    if (code != ERR_OK)
        return code;
    if (present && info.value.parent != value.parent)
        return err_set(err, ERR_CONFLICT, "a class cannot move to another parent while it lives");
    return tc_class_set(dp->route, port->ifindex, handle, &value, !present, err);
}

/* The kernel counts in bytes per second. */
static bool same(const json_t *live, const json_t *want)
{
    struct class_value is, wanted;
    return class_value_from_json(live, &is, NULL) == ERR_OK &&
           class_value_from_json(want, &wanted, NULL) == ERR_OK && is.parent == wanted.parent &&
           tc_rate_bytes(is.rate_bps) == tc_rate_bytes(wanted.rate_bps) &&
           tc_rate_bytes(is.ceil_bps) == tc_rate_bytes(wanted.ceil_bps);
}

const struct linux_knob knob_class = {
    .kind = "tc.class",
    .observe = observe,
    .check = check,
    .apply = apply,
    .same = same,
};
