/*
 * datapath/sim_host.c - the simulator's host kinds; see sim_kind.h.
 */
#include "datapath/sim_kind.h"

#include <string.h>

#include "datapath/sys/env_file.h"
#include "datapath/value.h"

/* What the host has; anything else is absent, as on a node without the module. */
static const struct {
    const char *kind;
    const char *id;
    const char *value;
} host_names[] = {
    {"host.modparam", "solar_rdma.cq_moderation", "0"},
    {"host.modparam", "solar_rdma.max_sge", "32"},
    {"host.modparam", "solar_rdma.qp_mtu", "1024"},
    {"host.sysctl", "net.core.rmem_max", "212992"},
    {"host.sysctl", "net.core.wmem_max", "212992"},
    {"host.sysctl", "net.solar.flow_steering", "0"},
    {"host.thp", "", "madvise"},
};
#define HOST_NAMES (sizeof(host_names) / sizeof(host_names[0]))

enum err_code sim_give(json_t *value, json_t **out, struct err *err)
{
    if (value == NULL)
        return err_nomem(err);
    *out = value;
    return ERR_OK;
}

static const char *host_value(const char *kind, const char *id)
{
    for (size_t i = 0; i < HOST_NAMES; i++)
        if (strcmp(host_names[i].kind, kind) == 0 && strcmp(host_names[i].id, id) == 0)
            return host_names[i].value;
    return NULL;
}

const char *sim_modparam_live(const char *id)
{
    const char *value = host_value("host.modparam", id);
    return value == NULL ? "" : value;
}

static enum err_code check_host(const char *kind, const char *id, const json_t *to, json_t **out,
                                struct err *err)
{
    if (host_value(kind, id) == NULL)
        return err_set(err, ERR_UNSUPPORTED, "%s: this node has no %s", kind, id);
    const char *text;
    if (to == NULL)
        return ERR_OK;
    enum err_code code = text_value_from_json(to, &text, err);
    return code != ERR_OK ? code : sim_give(json_string(text), out, err);
}

enum err_code sim_check_modparam(const struct dp_sim *sim, const char *id, const json_t *to,
                                 json_t **out, struct err *err)
{
    (void)sim;
    return check_host("host.modparam", id, to, out, err);
}

enum err_code sim_check_sysctl(const struct dp_sim *sim, const char *id, const json_t *to,
                               json_t **out, struct err *err)
{
    (void)sim;
    return check_host("host.sysctl", id, to, out, err);
}

enum err_code sim_check_thp(const struct dp_sim *sim, const char *id, const json_t *to,
                            json_t **out, struct err *err)
{
    (void)sim;
    const char *text = json_string_value(to);
    if (text == NULL ||
        (strcmp(text, "always") != 0 && strcmp(text, "madvise") != 0 && strcmp(text, "never") != 0))
        return err_set(err, ERR_INVALID, "host.thp is always, madvise or never");
    return check_host("host.thp", id, to, out, err);
}

enum err_code sim_check_file(const struct dp_sim *sim, const char *id, const json_t *to,
                             json_t **out, struct err *err)
{
    (void)sim;
    enum err_code code = env_name_check(id, err);
    if (code != ERR_OK || to == NULL)
        return code;
    code = env_value_check(to, err);
    return code != ERR_OK ? code : sim_give(json_incref((json_t *)(uintptr_t)to), out, err);
}

enum err_code sim_host_defaults(struct dp_sim *sim, struct err *err)
{
    for (size_t i = 0; i < HOST_NAMES; i++) {
        if (strcmp(host_names[i].kind, "host.modparam") == 0)
            continue; /* nothing is persisted yet */
        OWN(json) json_t *value = json_string(host_names[i].value);
        if (sim_put(sim, host_names[i].kind, "host", host_names[i].id, value, err))
            return ERR_NOMEM;
    }
    return ERR_OK;
}
