/*
 * datapath/knob_devlink_rate.c - devlink.rate: transmit guarantee and limit of a virtual function
 * (id "leaf/PORT") and the nodes that group them (id "node/NAME"), on the first port of the device
 * that switches them.
 *
 * A leaf is there as long as its function is: without rates and parent it counts as absent. Nodes
 * whose name begins with "stellar" are ours, and so are the leaves in them.
 */
#include <stdlib.h>
#include <string.h>

#include "datapath/linux_devlink.h"

/* What one look at a device needs; too much for the stack. */
struct look {
    struct devlink_port_list ports;
    struct devlink_rate_list rates;
};

static enum err_code look_at(struct dp_linux *dp, const struct dp_port *port, struct look **out,
                             struct nlx **out_nlx, struct err *err)
{
    OWN(mem) void *memory = NULL;
    enum err_code code = linux_devlink(dp, port, out_nlx, err);
    if (code != ERR_OK)
        return code;
    struct look *look = memory = calloc(1, sizeof(*look));
    if (look == NULL)
        return err_nomem(err);
    code = devlink_port_all(*out_nlx, port->bus, port->device, &look->ports, err);
    if (code == ERR_OK)
        code = devlink_rate_all(*out_nlx, port->bus, port->device, &look->rates, err);
    if (code == ERR_OK && (look->ports.truncated || look->rates.truncated))
        code = err_set(err, ERR_LIMIT, "the device %s has more than %d functions or rates",
                       port->device, DEVLINK_PORTS_MAX);
    if (code != ERR_OK)
        return code;
    memory = NULL;
    *out = look;
    return ERR_OK;
}

static const struct devlink_port *port_of(const struct look *look, uint32_t index)
{
    for (size_t i = 0; i < look->ports.count; i++)
        if (look->ports.items[i].index == index)
            return &look->ports.items[i];
    return NULL;
}

static const char *name_of(const struct look *look, const struct devlink_rate *rate)
{
    if (rate->is_node)
        return rate->node;
    const struct devlink_port *port = port_of(look, rate->port_index);
    return port == NULL ? NULL : port->name;
}

static const struct devlink_rate *find(const struct look *look, bool node, const char *name)
{
    for (size_t i = 0; i < look->rates.count; i++) {
        const struct devlink_rate *rate = &look->rates.items[i];
        const char *have = name_of(look, rate);
        if (rate->is_node == node && have != NULL && strcmp(have, name) == 0)
            return rate;
    }
    return NULL;
}

static bool is_idle(const struct devlink_rate *rate)
{
    return !rate->is_node && rate->value.parent[0] == '\0' && rate->value.tx_max_bps == RATE_NONE &&
           rate->value.tx_share_bps == RATE_NONE;
}

static enum err_code add(const struct look *look, const struct devlink_rate *rate,
                         const struct dp_port *port, struct state *out, struct err *err)
{
    char id[KNOB_ID_SIZE];
    const char *name = name_of(look, rate);
    if (name == NULL || is_idle(rate))
        return ERR_OK;
    rate_id_format(rate->is_node, name, id, sizeof(id));
    bool ours = rate_node_is_ours(rate->is_node ? rate->node : rate->value.parent);
    return linux_observed(out, "devlink.rate", port, id, rate_value_to_json(&rate->value),
                          ours ? KNOB_OWNER_STELLAR : KNOB_OWNER_UNKNOWN, err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    OWN(mem) void *memory = NULL;
    struct look *look;
    struct nlx *nlx;
    bool node = false;
    const char *name = NULL;
    enum err_code code = id == NULL ? ERR_OK : rate_id_parse(id, &node, &name, err);
    if (code == ERR_OK)
        code = look_at(dp, port, &look, &nlx, err);
    if (code != ERR_OK)
        return code;
    memory = look;
    if (id != NULL) {
        const struct devlink_rate *rate = find(look, node, name);
        return rate == NULL ? ERR_OK : add(look, rate, port, out, err);
    }
    for (size_t i = 0; code == ERR_OK && i < look->rates.count; i++)
        code = add(look, &look->rates.items[i], port, out, err);
    return code;
}

/* The step as what the kernel is to be told; *out_exists: the object is there now. */
static enum err_code resolve(const struct look *look, const struct dp_port *port,
                             const struct plan_step *step, struct devlink_rate *out,
                             bool *out_exists, struct err *err)
{
    const char *name;
    bool node;
    *out = (struct devlink_rate){.value = {.tx_max_bps = RATE_NONE, .tx_share_bps = RATE_NONE}};
    enum err_code code = rate_id_parse(step->id, &node, &name, err);
    if (code == ERR_OK && step->op != STEP_REMOVE)
        code = rate_value_from_json(step->to, &out->value, err);
    if (code != ERR_OK)
        return code;
    if (node && out->value.parent[0] != '\0')
        return err_set(err, ERR_INVALID, "devlink.rate: a node has no parent");
    out->is_node = node;
    memcpy(out->node, name, strlen(name) + 1);
    const struct devlink_rate *is = find(look, node, name);
    *out_exists = is != NULL;
    if (is == NULL && !node)
        return err_set(err, ERR_UNSUPPORTED,
                       "the device %s has no function %s whose rate could be set", port->device,
                       name);
    if (!node)
        out->port_index = is->port_index;
    return ERR_OK;
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    OWN(mem) void *memory = NULL;
    struct look *look;
    struct nlx *nlx;
    struct devlink_rate rate;
    bool exists;
    enum err_code code = look_at(dp, port, &look, &nlx, err);
    if (code != ERR_OK)
        return code;
    memory = look;
    return resolve(look, port, step, &rate, &exists, err);
}

/* The kernel moves no leaf from node to node: it leaves one before it enters the other. */
static enum err_code set_leaf(struct nlx *nlx, const struct dp_port *port,
                              const struct devlink_rate *is, const struct devlink_rate *want,
                              struct err *err)
{
    struct devlink_rate rate = *want;
    enum err_code code = ERR_OK;
    rate.keep_parent = strcmp(is->value.parent, want->value.parent) == 0;
    if (!rate.keep_parent && is->value.parent[0] != '\0' && want->value.parent[0] != '\0') {
        struct devlink_rate out = *is;
        out.value.parent[0] = '\0';
        code = devlink_rate_do(nlx, port->bus, port->device, DEVLINK_RATE_SET, &out, err);
    }
    if (code == ERR_OK)
        code = devlink_rate_do(nlx, port->bus, port->device, DEVLINK_RATE_SET, &rate, err);
    return code;
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    OWN(mem) void *memory = NULL;
    struct look *look;
    struct nlx *nlx;
    struct devlink_rate rate;
    bool exists;
    enum err_code code = look_at(dp, port, &look, &nlx, err);
    if (code != ERR_OK)
        return code;
    memory = look;
    code = resolve(look, port, step, &rate, &exists, err);
    if (code != ERR_OK)
        return code;
    if (!rate.is_node)
        return set_leaf(nlx, port, find(look, false, rate.node), &rate, err);
    bool remove = step->op == STEP_REMOVE;
    if (remove)
        return exists ? devlink_rate_do(nlx, port->bus, port->device, DEVLINK_RATE_DEL, &rate, err)
                      : ERR_OK;
    return devlink_rate_do(nlx, port->bus, port->device,
                           exists ? DEVLINK_RATE_SET : DEVLINK_RATE_NEW, &rate, err);
}

/* The kernel counts in bytes per second. */
static bool same(const json_t *live, const json_t *want)
{
    struct rate_value is, wanted;
    return rate_value_from_json(live, &is, NULL) == ERR_OK &&
           rate_value_from_json(want, &wanted, NULL) == ERR_OK &&
           strcmp(is.parent, wanted.parent) == 0 &&
           devlink_rate_bytes(is.tx_max_bps) == devlink_rate_bytes(wanted.tx_max_bps) &&
           devlink_rate_bytes(is.tx_share_bps) == devlink_rate_bytes(wanted.tx_share_bps);
}

const struct linux_knob knob_devlink_rate = {
    .kind = "devlink.rate",
    .observe = observe,
    .check = check,
    .apply = apply,
    .same = same,
};
