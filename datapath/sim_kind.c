/*
 * datapath/sim_kind.c - the simulator's knob kinds: defaults, checks and relations, a row a kind.
 * The host's are in sim_host.c.
 */
#include "datapath/sim_kind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "datapath/solar/page.h"
#include "datapath/sys/arp_conf.h"
#include "datapath/value.h"
#include "fleet/coalesce.h"
#include "fleet/roce_cc.h"

/* What the simulated device can set of its interrupt moderation. */
#define SIM_COALESCE                                                                               \
    (coalesce_bit(COALESCE_ADAPTIVE_RX) | coalesce_bit(COALESCE_RX_FRAMES) |                       \
     coalesce_bit(COALESCE_RX_USECS))

static const struct {
    const char *kind;
    const char *json;
} port_defaults[] = {
    {"link.mtu", "1500"},
    {"link.coalesce", "{\"adaptive_rx\":true,\"rx_frames\":128,\"rx_usecs\":8}"},
    {"link.arp", "{\"arp_announce\":0,\"arp_ignore\":0,\"rp_filter\":0}"},
    {"link.pause", "{\"rx\":true,\"tx\":true}"},
    {"dcb.dcbx", "{\"agent\":\"none\",\"mode\":[\"host\",\"ieee\"]}"},
    {"dcb.app", "[]"},
    {"dcb.ets", "{\"bw_percent\":[0,0,0,0,0,0,0,0],\"prio_tc\":[0,0,0,0,0,0,0,0],"
                "\"tsa\":[\"strict\",\"strict\",\"strict\",\"strict\",\"strict\",\"strict\","
                "\"strict\",\"strict\"]}"},
    {"dcb.maxrate", "[null,null,null,null,null,null,null,null]"},
    {"dcb.buffer", "{\"prio_buffer\":[0,0,0,0,0,0,0,0],\"size_bytes\":[262144,0,0,0,0,0,0,0]}"},
    {"dcb.pfc", "{\"delay\":0,\"priorities\":[]}"},
    {"roce.cc", "{\"notify\":[],\"parameters\":{\"cnp_dscp\":0,\"cnp_priority\":0},\"react\":[]}"},
    {"roce.tos", "{\"mode\":\"RoCE v2\",\"tos\":0}"},
};
#define PORT_DEFAULTS (sizeof(port_defaults) / sizeof(port_defaults[0]))

/* Link and dcb -------------------------------------------------------------------------------- */

static enum err_code check_mtu(const struct dp_sim *sim, const char *id, const json_t *to,
                               json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    int mtu;
    enum err_code code = mtu_value_from_json(to, &mtu, err);
    return code != ERR_OK ? code : sim_give(json_integer(mtu), out, err);
}

static enum err_code check_app(const struct dp_sim *sim, const char *id, const json_t *to,
                               json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    struct app_value value;
    enum err_code code = app_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(app_value_to_json(&value), out, err);
}

static enum err_code check_ets(const struct dp_sim *sim, const char *id, const json_t *to,
                               json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    struct ets_value value;
    enum err_code code = ets_value_from_json(to, &value, err);
    if (code == ERR_OK)
        code = ets_value_check(&value, err);
    return code != ERR_OK ? code : sim_give(ets_value_to_json(&value), out, err);
}

static enum err_code check_maxrate(const struct dp_sim *sim, const char *id, const json_t *to,
                                   json_t **out, struct err *err)
{
    (void)id;
    struct maxrate_value value;
    enum err_code code = maxrate_value_from_json(to, &value, err);
    if (code != ERR_OK)
        return code;
    for (int tc = 0; tc < VALUE_PRIORITIES && sim->rate_unit_bps > 0; tc++) {
        if (value.rate_bps[tc] == RATE_NONE)
            continue;
        value.rate_bps[tc] -= value.rate_bps[tc] % sim->rate_unit_bps;
        if (value.rate_bps[tc] == 0)
            return err_set(err, ERR_INVALID,
                           "dcb.maxrate: the rate of traffic class %d is below the unit of %lld "
                           "bit/s",
                           tc, (long long)sim->rate_unit_bps);
    }
    return sim_give(maxrate_value_to_json(&value), out, err);
}

static enum err_code check_buffer(const struct dp_sim *sim, const char *id, const json_t *to,
                                  json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    struct buffer_value value;
    enum err_code code = buffer_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(buffer_value_to_json(&value), out, err);
}

static enum err_code check_pfc(const struct dp_sim *sim, const char *id, const json_t *to,
                               json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    struct pfc_value value;
    enum err_code code = pfc_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(pfc_value_to_json(&value), out, err);
}

/* roce ---------------------------------------------------------------------------------------- */

static enum err_code check_cc(const struct dp_sim *sim, const char *id, const json_t *to,
                              json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    struct roce_cc value;
    enum err_code code = roce_cc_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(roce_cc_to_json(&value), out, err);
}

static enum err_code check_tos(const struct dp_sim *sim, const char *id, const json_t *to,
                               json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    struct roce_tos value;
    enum err_code code = roce_tos_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(roce_tos_value_to_json(&value), out, err);
}

static enum err_code check_page(const struct dp_sim *sim, const char *id, const json_t *to,
                                json_t **out, struct err *err)
{
    struct page value;
    (void)sim;
    (void)id;
    if (to == NULL)
        return ERR_OK;
    enum err_code code = page_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(page_value_to_json(&value, NULL), out, err);
}

static enum err_code check_dcbx(const struct dp_sim *sim, const char *id, const json_t *to,
                                json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    struct dcbx_value value;
    enum err_code code = dcbx_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(dcbx_value_to_json(&value), out, err);
}

static enum err_code check_pause(const struct dp_sim *sim, const char *id, const json_t *to,
                                 json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    struct pause_value value;
    enum err_code code = pause_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(pause_value_to_json(&value), out, err);
}

static enum err_code check_coalesce(const struct dp_sim *sim, const char *id, const json_t *to,
                                    json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    struct coalesce value;
    enum err_code code = coalesce_from_json(to, &value, err);
    if (code == ERR_OK && (value.present & ~SIM_COALESCE) != 0)
        code = err_set(err, ERR_UNSUPPORTED, "link.coalesce: the device moderates no such thing");
    return code != ERR_OK ? code : sim_give(coalesce_to_json(&value), out, err);
}

static enum err_code check_arp(const struct dp_sim *sim, const char *id, const json_t *to,
                               json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    struct arp_conf value;
    enum err_code code = arp_conf_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(arp_to_json(&value.own), out, err);
}

static enum err_code check_param(const struct dp_sim *sim, const char *id, const json_t *to,
                                 json_t **out, struct err *err)
{
    (void)sim;
    if (strcmp(id, "enable_roce") != 0)
        return err_set(err, ERR_UNSUPPORTED, "devlink.param: the device has no parameter %s", id);
    if (to == NULL)
        return ERR_OK;
    enum err_code code = param_value_check(to, err);
    if (code == ERR_OK && !json_is_boolean(json_object_get(to, "driverinit")))
        code = err_set(err, ERR_INVALID, "devlink.param: enable_roce is a driverinit boolean");
    return code != ERR_OK ? code : sim_give(json_incref((json_t *)(uintptr_t)to), out, err);
}

static enum err_code check_rate(const struct dp_sim *sim, const char *id, const json_t *to,
                                json_t **out, struct err *err)
{
    (void)sim;
    bool node;
    const char *name;
    struct rate_value value;
    enum err_code code = rate_id_parse(id, &node, &name, err);
    if (code != ERR_OK || to == NULL)
        return code;
    code = rate_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(rate_value_to_json(&value), out, err);
}

/* tc ------------------------------------------------------------------------------------------ */

static enum err_code check_clsact(const struct dp_sim *sim, const char *id, const json_t *to,
                                  json_t **out, struct err *err)
{
    (void)sim;
    (void)id;
    if (to != NULL && !json_is_true(to))
        return err_set(err, ERR_INVALID, "the value of tc.clsact is not true");
    return to == NULL ? ERR_OK : sim_give(json_true(), out, err);
}

static enum err_code relate_clsact(struct dp_sim *sim, const char *subject, const char *id,
                                   const json_t *taken, struct err *err)
{
    (void)id;
    if (taken != NULL)
        return ERR_OK;
    if (sim_foreign_flows(sim, subject))
        return err_set(err, ERR_CONFLICT, "tc.clsact: it holds filters that are not ours");
    return sim_remove_all(sim, "tc.flower", subject, err);
}

static enum err_code check_qdisc(const struct dp_sim *sim, const char *id, const json_t *to,
                                 json_t **out, struct err *err)
{
    (void)sim;
    if (strcmp(id, "root") != 0)
        return err_set(err, ERR_INVALID, "tc.qdisc: the id \"%s\" is not root", id);
    struct qdisc_value value;
    if (to == NULL)
        return ERR_OK;
    enum err_code code = qdisc_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(qdisc_value_to_json(&value), out, err);
}

static enum err_code relate_qdisc(struct dp_sim *sim, const char *subject, const char *id,
                                  const json_t *taken, struct err *err)
{
    const json_t *have = sim_get(sim, "tc.qdisc", subject, id);
    const char *handle = json_string_value(json_object_get(have, "handle"));
    if (have != NULL && (handle == NULL || strcmp(handle, "5e11:") != 0))
        return err_set(err, ERR_CONFLICT, "tc.qdisc: another root qdisc is there");
    if (taken != NULL)
        return ERR_OK;
    enum err_code code = sim_remove_all(sim, "tc.red", subject, err);
    return code != ERR_OK ? code : sim_remove_all(sim, "tc.class", subject, err);
}

static enum err_code check_class(const struct dp_sim *sim, const char *id, const json_t *to,
                                 json_t **out, struct err *err)
{
    (void)sim;
    uint32_t handle;
    if (!tc_handle_parse(id, &handle) || handle >> 16 != TC_OUR_MAJOR || (handle & 0xffff) == 0)
        return err_set(err, ERR_INVALID, "tc.class: the id \"%s\" is no class of 5e11:", id);
    struct class_value value;
    if (to == NULL)
        return ERR_OK;
    enum err_code code = class_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(class_value_to_json(&value), out, err);
}

static enum err_code relate_class(struct dp_sim *sim, const char *subject, const char *id,
                                  const json_t *taken, struct err *err)
{
    /* The kernel hangs a class with an unknown parent under the root, without a word. */
    const char *parent = json_string_value(json_object_get(taken, "parent"));
    if (sim_get(sim, "tc.qdisc", subject, "root") == NULL)
        return err_set_errno(err, ERR_IO, ENOENT, "tc.class %s: there is no root qdisc", id);
    if (taken != NULL && strcmp(parent, "5e11:") != 0 &&
        sim_get(sim, "tc.class", subject, parent) == NULL)
        return err_set(err, ERR_IO, "tc.class %s: kernel took parent %s but shows none", id,
                       parent);
    if (taken == NULL && strcmp(id, "5e11:fffe") == 0 && sim_count(sim, "tc.class", subject) > 1)
        return err_set_errno(err, ERR_IO, EBUSY, "tc.class %s: it has children", id);
    return ERR_OK;
}

static enum err_code check_red(const struct dp_sim *sim, const char *id, const json_t *to,
                               json_t **out, struct err *err)
{
    (void)sim;
    uint32_t handle;
    if (!tc_handle_parse(id, &handle) || handle >> 16 != TC_OUR_MAJOR || (handle & 0xffff) == 0)
        return err_set(err, ERR_INVALID, "tc.red: the id \"%s\" is no class of 5e11:", id);
    struct red_value value;
    if (to == NULL)
        return ERR_OK;
    enum err_code code = red_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(red_value_to_json(&value), out, err);
}

/* A queue stands under a class: one of htb's, or a band of ets. */
static enum err_code relate_red(struct dp_sim *sim, const char *subject, const char *id,
                                const json_t *taken, struct err *err)
{
    const json_t *root = sim_get(sim, "tc.qdisc", subject, "root");
    const char *kind = json_string_value(json_object_get(root, "kind"));
    bool there =
        kind != NULL && (strcmp(kind, "ets") == 0 || sim_get(sim, "tc.class", subject, id) != NULL);
    return taken == NULL || there ? ERR_OK
                                  : err_set_errno(err, ERR_IO, ENOENT, "tc.red %s: no class", id);
}

static enum err_code check_flower(const struct dp_sim *sim, const char *id, const json_t *to,
                                  json_t **out, struct err *err)
{
    (void)sim;
    bool egress;
    uint32_t label;
    enum err_code code = flower_id_parse(id, &egress, &label, err);
    struct flower_value value;
    if (code != ERR_OK || to == NULL)
        return code;
    code = flower_value_from_json(to, &value, err);
    return code != ERR_OK ? code : sim_give(flower_value_to_json(&value), out, err);
}

static bool is_foreign(const json_t *flower)
{
    const char *cookie = json_string_value(json_object_get(flower, "cookie"));
    return flower != NULL && (cookie == NULL || strncmp(cookie, "53544c52", 8) != 0);
}

static enum err_code relate_flower(struct dp_sim *sim, const char *subject, const char *id,
                                   const json_t *taken, struct err *err)
{
    if (is_foreign(sim_get(sim, "tc.flower", subject, id)))
        return err_set(err, ERR_CONFLICT, "tc.flower %s: what is there is not ours", id);
    if (taken == NULL)
        return ERR_OK;
    if (sim_get(sim, "tc.clsact", subject, "") == NULL)
        return err_set_errno(err, ERR_IO, ENOENT, "tc.flower %s: there is no clsact qdisc", id);
    const char *hw = json_string_value(json_object_get(taken, "hw"));
    const json_t *have = sim_get(sim, "tc.flower", subject, id);
    const char *had_hw = json_string_value(json_object_get(have, "hw"));
    bool more = strcmp(hw, "only") == 0 && (had_hw == NULL || strcmp(had_hw, "only") != 0);
    int port = 0;
    if (more && sscanf(subject, "sim.%d/", &port) == 1 &&
        sim->flows[port] >= sim->config.flow_entries)
        return err_set_errno(err, ERR_LIMIT, ENOSPC, "tc.flower %s: flow table full (%d entries)",
                             id, sim->config.flow_entries);
    return ERR_OK;
}

/* A leaf needs its node, and a node with leaves stays. */
static enum err_code relate_rate(struct dp_sim *sim, const char *subject, const char *id,
                                 const json_t *taken, struct err *err)
{
    const char *parent = json_string_value(json_object_get(taken, "parent"));
    char node[KNOB_ID_SIZE];
    rate_id_format(true, parent == NULL ? "" : parent, node, sizeof(node));
    if (parent != NULL && sim_get(sim, "devlink.rate", subject, node) == NULL)
        return err_set_errno(err, ERR_IO, ENODEV, "devlink.rate %s: there is no node %s", id,
                             parent);
    if (taken == NULL && strncmp(id, "node/", 5) == 0 &&
        sim_count(sim, "devlink.rate", subject) > 1)
        return err_set_errno(err, ERR_CONFLICT, EBUSY, "devlink.rate %s: it has children", id);
    return ERR_OK;
}

static const struct sim_kind sim_kinds[] = {
    {"host.modparam", sim_check_modparam, NULL},
    {"host.sysctl", sim_check_sysctl, NULL},
    {"host.thp", sim_check_thp, NULL},
    {"host.file", sim_check_file, NULL},
    {"devlink.param", check_param, NULL},
    {"devlink.rate", check_rate, relate_rate},
    {"link.mtu", check_mtu, NULL},
    {"link.coalesce", check_coalesce, NULL},
    {"link.arp", check_arp, NULL},
    {"link.pause", check_pause, NULL},
    {"dcb.dcbx", check_dcbx, NULL},
    {"dcb.app", check_app, NULL},
    {"dcb.ets", check_ets, NULL},
    {"dcb.maxrate", check_maxrate, NULL},
    {"dcb.buffer", check_buffer, NULL},
    {"dcb.pfc", check_pfc, NULL},
    {"roce.cc", check_cc, NULL},
    {"roce.tos", check_tos, NULL},
    {"tc.clsact", check_clsact, relate_clsact},
    {"tc.qdisc", check_qdisc, relate_qdisc},
    {"tc.class", check_class, relate_class},
    {"tc.red", check_red, relate_red},
    {"tc.flower", check_flower, relate_flower},
    {"solar.page", check_page, NULL},
};

const struct sim_kind *sim_kind_get(const char *name)
{
    for (size_t i = 0; i < sizeof(sim_kinds) / sizeof(sim_kinds[0]); i++)
        if (strcmp(sim_kinds[i].name, name) == 0)
            return &sim_kinds[i];
    return NULL;
}

static enum err_code defaults_of_port(struct dp_sim *sim, int index, struct err *err)
{
    char subject[PORT_ID_SIZE];
    snprintf(subject, sizeof(subject), "sim.%d/0", index);
    for (size_t i = 0; i < PORT_DEFAULTS; i++) {
        if (sim->config.no_pfc && strcmp(port_defaults[i].kind, "dcb.pfc") == 0)
            continue;
        OWN(json) json_t *value = json_loads(port_defaults[i].json, JSON_DECODE_ANY, NULL);
        if (value == NULL)
            return err_nomem(err);
        if (sim_put(sim, port_defaults[i].kind, subject, "", value, err))
            return ERR_NOMEM;
    }
    return ERR_OK;
}

enum err_code sim_defaults(struct dp_sim *sim, struct err *err)
{
    if (sim_host_defaults(sim, err))
        return ERR_NOMEM;
    for (int i = 0; i < sim->config.port_count; i++)
        if (defaults_of_port(sim, i, err))
            return ERR_NOMEM;
    return ERR_OK;
}
