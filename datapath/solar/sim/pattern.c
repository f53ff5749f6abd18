/*
 * datapath/solar/sim/pattern.c - see pattern.h.
 */
#include "datapath/solar/sim/pattern.h"

enum err_code pattern_incast(struct netsim *sim, int senders, int64_t bytes, struct err *err)
{
    for (int i = 0; i < senders; i++) {
        uint32_t index;
        struct netsim_flow_params flow = {i + 1, 0, bytes, 0, NETSIM_NONE, 1};
        enum err_code code = netsim_add(sim, &flow, &index, err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

enum err_code pattern_permutation(struct netsim *sim, int hosts, int64_t bytes, struct err *err)
{
    for (int i = 0; i < hosts; i++) {
        uint32_t index;
        struct netsim_flow_params flow = {i, (i + hosts / 2) % hosts, bytes, 0, NETSIM_NONE, 1};
        enum err_code code = netsim_add(sim, &flow, &index, err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

/* into[i] is the flow by which host i is sent its last step; NETSIM_NONE = none yet. */
static enum err_code add_step(struct netsim *sim, int hosts, int distance, int64_t bytes,
                              uint32_t *into, struct err *err)
{
    uint32_t next[NETFAB_HOSTS_MAX];
    for (int i = 0; i < hosts; i++) {
        int peer = i ^ distance;
        struct netsim_flow_params flow = {i, peer, bytes, 0, into[i], 1};
        enum err_code code = netsim_add(sim, &flow, &next[peer], err);
        if (code != ERR_OK)
            return code;
    }
    for (int i = 0; i < hosts; i++)
        into[i] = next[i];
    return ERR_OK;
}

enum err_code pattern_all_reduce(struct netsim *sim, int hosts, int64_t bytes, struct err *err)
{
    if (hosts < 2 || hosts > NETFAB_HOSTS_MAX || (hosts & (hosts - 1)) != 0 || bytes < hosts)
        return err_set(err, ERR_INVALID, "all-reduce of %lld bytes over %d hosts (a power of two)",
                       (long long)bytes, hosts);
    uint32_t into[NETFAB_HOSTS_MAX];
    for (int i = 0; i < hosts; i++)
        into[i] = NETSIM_NONE;
    enum err_code code = ERR_OK;
    int distance = hosts / 2;
    int64_t part = bytes / 2;
    for (; code == ERR_OK && distance >= 1; distance /= 2, part /= 2)
        code = add_step(sim, hosts, distance, part, into, err);
    for (distance = 1, part *= 2; code == ERR_OK && distance < hosts; distance *= 2, part *= 2)
        code = add_step(sim, hosts, distance, part, into, err);
    return code;
}
