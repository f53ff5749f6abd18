/*
 * fleet/evidence/nccl_info.c - what NCCL's INFO lines tell: versions, settings that the environment
 * gives, how ranks are connected.
 */
#include <stdio.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/nccl_line.h"
#include "fleet/evidence/rules_logs.h"

static const struct {
    const char *after, *name;
} infos[] = {
    {"Using network ", "network"},
    {"cudaDriverVersion ", "cuda_driver_version"},
    {"Bootstrap : Using ", "bootstrap_interface"},
    {"Bootstrap: Using ", "bootstrap_interface"},
    {"P2P plugin ", "p2p_plugin"},
    {"Plugin Path : ", "plugin_path"},
    {"NET/Plugin: Loaded net plugin ", "net_plugin"},
    {"NCCL version ", "nccl_version"},
    {"RCCL version : ", "nccl_version"},
    {"NET/OFI Using aws-ofi-nccl ", "ofi_version"},
    {"NET/OFI Initializing aws-ofi-nccl ", "ofi_version"},
    {"NET/OFI Selected Provider is ", "ofi_provider"},
    {"NET/OFI Selected provider is ", "ofi_provider"},
    {"NET/Socket : Using ", "socket_interface"},
};

/* "NCCL_IB_GID_INDEX set by environment to 3.", "NCCL_IB_HCA set to mlx5_0,mlx5_1" */
static bool put_setting(struct evidence_job *job, size_t i, struct slice text)
{
    char name[EVIDENCE_NAME_MAX];
    struct slice value, variable, line = text;
    variable = slice_word(&text);
    if ((!slice_starts(variable, "NCCL_") && !slice_starts(variable, "RCCL_")) ||
        (!slice_after(line, " set by environment to ", &value) &&
         !slice_after(line, " set to ", &value)))
        return false;
    if (slice_ends(value, "."))
        value.len--;
    snprintf(name, sizeof(name), "env.%.*s", (int)(variable.len < 80 ? variable.len : 80),
             variable.at);
    put_value(job, i, name, value, "");
    return true;
}

static const struct {
    const char *text, *also, *way;
    bool staged; /* over the host's memory, where the NIC could reach the GPU's */
} ways[] = {
    {"via NET/Socket", NULL, "NET/Socket", false},
    {"via NET/", "/GDRDMA", "NET/GDRDMA", false},
    {"via NET/", NULL, "NET", true},
    {"via P2P", NULL, "P2P", false},
    {"via SHM", NULL, "SHM", false},
    {"via NVLS", NULL, "NVLS", false},
};

/* "Channel 00/0 : 3[3] -> 4[4] [receive] via NET/IB/2/GDRDMA": one fact for each way. */
static bool put_channel(struct evidence_job *job, size_t i, struct slice text,
                        struct nccl_seen *seen)
{
    if (!slice_starts(text, "Channel ") || !slice_has(text, " via "))
        return false;
    for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
        if (!slice_has(text, ways[k].text) ||
            (ways[k].also != NULL && !slice_has(text, ways[k].also)))
            continue;
        if ((seen->ways & 1u << k) == 0)
            put_text(job, i, "way", slice_of(ways[k].way));
        seen->ways |= 1u << k;
        if (ways[k].staged)
            put_finding(job, i, RULE_NCCL_NO_GDR, "%.*s", (int)(text.len < 160 ? text.len : 160),
                        text.at);
        break;
    }
    return true;
}

/* "NET/IB: Dev 0 Port 1 qpn 4660 mtu 3 GID 3 (...)": enum ibv_mtu, 1 is 256 bytes. A GID in place
 * of a LID is of RoCE. */
static bool put_connection(struct evidence_job *job, size_t i, struct slice text)
{
    struct slice rest, behind;
    if (!slice_starts(text, "NET/IB") || !slice_has(text, " qpn ") ||
        !slice_after(text, " mtu ", &rest))
        return false;
    struct number mtu = number_front(rest, &behind);
    if (!mtu.is_unsigned || mtu.value < 1 || mtu.value > 5)
        return true;
    put_uint(job, i, "path_mtu", 128u << mtu.value, "bytes");
    if (slice_after(text, " GID ", &rest)) {
        struct number index = number_front(slice_word(&rest), &behind);
        if (index.is_unsigned)
            put_uint(job, i, "gid_index", index.value, "");
        judge_mtu(job, i, 128u << mtu.value, 4096);
    }
    return true;
}

void nccl_info_put(struct evidence_job *job, size_t i, struct slice text, struct nccl_seen *seen)
{
    struct slice rest;
    if (put_channel(job, i, text, seen) || put_connection(job, i, text) ||
        put_setting(job, i, text))
        return;
    for (size_t k = 0; k < sizeof(infos) / sizeof(infos[0]); k++) {
        if (!slice_after(text, infos[k].after, &rest) || rest.len == 0)
            continue;
        if (slice_ends(rest, "."))
            rest.len--;
        put_value(job, i, infos[k].name, rest, "");
        return;
    }
}
