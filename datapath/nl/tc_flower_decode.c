/*
 * datapath/nl/tc_flower_decode.c - one filter out of a reply; see tc_flower.h.
 */
#include "datapath/nl/tc_flower.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_skbedit.h>

#include "datapath/nl/tc_rate.h"

/* Attributes of newer kernels may stand behind our headers' last one; they count as foreign only
 * by being there. */
#define KEYS_MAX 255

/* A prefix of `size` bytes; false: the mask is no prefix. */
static bool decode_prefix(struct nlattr *const *tb, int key, int mask_key, size_t size,
                          struct flower_prefix *out)
{
    uint8_t mask[16] = {0};
    if (!nlx_struct(tb[key], out->addr, size))
        return true;
    memset(mask, 0xff, size);
    nlx_struct(tb[mask_key], mask, size);
    size_t bits = 0;
    while (bits < 8 * size && (mask[bits / 8] >> (7 - bits % 8) & 1))
        bits++;
    for (size_t i = bits; i < 8 * size; i++)
        if (mask[i / 8] >> (7 - i % 8) & 1)
            return false;
    out->set = bits > 0;
    out->bits = (uint8_t)bits;
    for (size_t i = 0; i < size; i++)
        out->addr[i] &= mask[i];
    return true;
}

/* A port in full; false: masked in part. */
static bool decode_port(struct nlattr *const *tb, int key, int mask_key, bool *has, uint16_t *out)
{
    uint16_t value, mask = UINT16_MAX;
    if (!nlx_u16(tb[key], &value))
        return true;
    nlx_u16(tb[mask_key], &mask);
    *has = mask != 0;
    *out = mask == 0 ? 0 : ntohs(value);
    return mask == 0 || mask == UINT16_MAX;
}

static bool decode_dscp(struct nlattr *const *tb, struct flower_value *out)
{
    uint8_t tos, mask = UINT8_MAX;
    if (!nlx_u8(tb[TCA_FLOWER_KEY_IP_TOS], &tos))
        return true;
    nlx_u8(tb[TCA_FLOWER_KEY_IP_TOS_MASK], &mask);
    out->has_dscp = mask != 0;
    out->dscp = mask == 0 ? 0 : tos >> 2;
    return mask == 0 || mask == 0xfc;
}

/* Keys that our values can tell, and what comes along with any filter. */
static bool key_is_known(int key)
{
    switch (key) {
    case TCA_FLOWER_ACT:
    case TCA_FLOWER_FLAGS:
    case TCA_FLOWER_IN_HW_COUNT:
    case TCA_FLOWER_KEY_ETH_TYPE:
    case TCA_FLOWER_KEY_IP_PROTO:
    case TCA_FLOWER_KEY_IP_TOS:
    case TCA_FLOWER_KEY_IP_TOS_MASK:
    case TCA_FLOWER_KEY_IPV4_SRC:
    case TCA_FLOWER_KEY_IPV4_SRC_MASK:
    case TCA_FLOWER_KEY_IPV4_DST:
    case TCA_FLOWER_KEY_IPV4_DST_MASK:
    case TCA_FLOWER_KEY_IPV6_SRC:
    case TCA_FLOWER_KEY_IPV6_SRC_MASK:
    case TCA_FLOWER_KEY_IPV6_DST:
    case TCA_FLOWER_KEY_IPV6_DST_MASK:
    case TCA_FLOWER_KEY_UDP_SRC:
    case TCA_FLOWER_KEY_UDP_SRC_MASK:
    case TCA_FLOWER_KEY_UDP_DST:
    case TCA_FLOWER_KEY_UDP_DST_MASK:
    case TCA_FLOWER_KEY_TCP_SRC:
    case TCA_FLOWER_KEY_TCP_SRC_MASK:
    case TCA_FLOWER_KEY_TCP_DST:
    case TCA_FLOWER_KEY_TCP_DST_MASK:
        return true;
    default:
        return false;
    }
}

static bool decode_keys(struct nlattr *const *tb, struct flower_value *out)
{
    uint16_t eth_type = 0;
    bool all = nlx_u16(tb[TCA_FLOWER_KEY_ETH_TYPE], &eth_type);
    eth_type = ntohs(eth_type);
    out->ipv6 = eth_type == ETH_P_IPV6;
    all &= eth_type == ETH_P_IP || eth_type == ETH_P_IPV6;
    nlx_u8(tb[TCA_FLOWER_KEY_IP_PROTO], &out->ip_proto);
    all &= out->ip_proto == 0 || out->ip_proto == IPPROTO_UDP || out->ip_proto == IPPROTO_TCP;
    all &= decode_dscp(tb, out);
    if (out->ip_proto == IPPROTO_UDP) {
        all &= decode_port(tb, TCA_FLOWER_KEY_UDP_SRC, TCA_FLOWER_KEY_UDP_SRC_MASK,
                           &out->has_src_port, &out->src_port);
        all &= decode_port(tb, TCA_FLOWER_KEY_UDP_DST, TCA_FLOWER_KEY_UDP_DST_MASK,
                           &out->has_dst_port, &out->dst_port);
    } else if (out->ip_proto == IPPROTO_TCP) {
        all &= decode_port(tb, TCA_FLOWER_KEY_TCP_SRC, TCA_FLOWER_KEY_TCP_SRC_MASK,
                           &out->has_src_port, &out->src_port);
        all &= decode_port(tb, TCA_FLOWER_KEY_TCP_DST, TCA_FLOWER_KEY_TCP_DST_MASK,
                           &out->has_dst_port, &out->dst_port);
    }
    if (out->ipv6) {
        all &=
            decode_prefix(tb, TCA_FLOWER_KEY_IPV6_SRC, TCA_FLOWER_KEY_IPV6_SRC_MASK, 16, &out->src);
        all &=
            decode_prefix(tb, TCA_FLOWER_KEY_IPV6_DST, TCA_FLOWER_KEY_IPV6_DST_MASK, 16, &out->dst);
    } else {
        all &=
            decode_prefix(tb, TCA_FLOWER_KEY_IPV4_SRC, TCA_FLOWER_KEY_IPV4_SRC_MASK, 4, &out->src);
        all &=
            decode_prefix(tb, TCA_FLOWER_KEY_IPV4_DST, TCA_FLOWER_KEY_IPV4_DST_MASK, 4, &out->dst);
    }
    for (int key = 1; key <= KEYS_MAX; key++)
        all &= tb[key] == NULL || key_is_known(key);
    return all;
}

static bool decode_skbedit(const struct nlattr *options, struct flower_action *out)
{
    struct nlattr *tb[TCA_SKBEDIT_MAX + 1];
    struct tc_skbedit parms;
    if (!nlx_parse_nested(options, tb, TCA_SKBEDIT_MAX) ||
        !nlx_struct(tb[TCA_SKBEDIT_PARMS], &parms, sizeof(parms)) ||
        !nlx_u32(tb[TCA_SKBEDIT_PRIORITY], &out->priority))
        return false;
    out->kind = out->priority >> 16 == TC_OUR_MAJOR ? FLOWER_ACTION_CLASS : FLOWER_ACTION_PRIORITY;
    return parms.action == TC_ACT_PIPE && tb[TCA_SKBEDIT_MARK] == NULL &&
           tb[TCA_SKBEDIT_QUEUE_MAPPING] == NULL && tb[TCA_SKBEDIT_PTYPE] == NULL;
}

static bool decode_police(const struct nlattr *options, struct flower_action *out)
{
    struct nlattr *tb[TCA_POLICE_MAX + 1];
    struct tc_police parms;
    uint32_t conform = 0;
    if (!nlx_parse_nested(options, tb, TCA_POLICE_MAX) ||
        !nlx_struct(tb[TCA_POLICE_TBF], &parms, sizeof(parms)))
        return false;
    uint64_t rate = parms.rate.rate;
    nlx_u64(tb[TCA_POLICE_RATE64], &rate);
    nlx_u32(tb[TCA_POLICE_RESULT], &conform);
    out->kind = FLOWER_ACTION_POLICE;
    out->police_bps = tc_rate_bps(rate);
    out->burst_bytes = (int64_t)tc_size_of_ticks(rate, parms.burst);
    return parms.action == TC_ACT_SHOT && conform == TC_ACT_PIPE && parms.mtu == TC_RATE_MTU;
}

/* False: something that our values cannot tell. */
static bool decode_action(const struct nlattr *nest, struct flower_info *out)
{
    struct nlattr *tb[TCA_ACT_MAX + 1];
    char kind[16];
    if (!nlx_parse_nested(nest, tb, TCA_ACT_MAX) || out->value.action_count == FLOWER_ACTIONS_MAX)
        return false;
    nlx_text(tb[TCA_ACT_KIND], kind, sizeof(kind));
    struct flower_action *action = &out->value.actions[out->value.action_count];
    if (out->value.action_count == 0 && tb[TCA_ACT_COOKIE] != NULL &&
        flower_cookie_is_ours(nla_data(tb[TCA_ACT_COOKIE]), (size_t)nla_len(tb[TCA_ACT_COOKIE]))) {
        out->ours = true;
        memcpy(out->value.cookie, nla_data(tb[TCA_ACT_COOKIE]), FLOWER_COOKIE_SIZE);
    }
    bool told = strcmp(kind, "skbedit") == 0  ? decode_skbedit(tb[TCA_ACT_OPTIONS], action)
                : strcmp(kind, "police") == 0 ? decode_police(tb[TCA_ACT_OPTIONS], action)
                                              : false;
    out->value.action_count++;
    return told;
}

static bool decode_actions(const struct nlattr *nest, struct flower_info *out)
{
    bool all = nest != NULL;
    struct nlattr *tb[TCA_ACT_MAX_PRIO + 1];
    if (!nlx_parse_nested(nest, tb, TCA_ACT_MAX_PRIO))
        return false;
    for (int i = 1; i <= TCA_ACT_MAX_PRIO; i++)
        if (tb[i] != NULL && !decode_action(tb[i], out))
            all = false;
    return all && out->value.action_count > 0;
}

enum err_code tc_flower_decode(const struct nlmsghdr *msg, int ifindex, struct flower_info *out,
                               enum flower_entry *out_entry, struct err *err)
{
    struct tcmsg header;
    struct nlattr *tb[TCA_MAX + 1], *keys[KEYS_MAX + 1];
    char kind[16];
    *out_entry = FLOWER_ENTRY_NONE;
    memset(out, 0, sizeof(*out));
    if (msg->nlmsg_type != RTM_NEWTFILTER || !nlx_parse(msg, sizeof(header), tb, TCA_MAX))
        return err_set(err, ERR_IO, "the kernel's filter answer is malformed");
    memcpy(&header, nlmsg_data(msg), sizeof(header));
    nlx_text(tb[TCA_KIND], kind, sizeof(kind));
    uint32_t chain = 0;
    nlx_u32(tb[TCA_CHAIN], &chain);
    if (header.tcm_ifindex != ifindex)
        return ERR_OK;
    if (strcmp(kind, "flower") != 0 || chain != 0) {
        *out_entry = FLOWER_ENTRY_OTHER;
        return ERR_OK;
    }
    /* A dump starts each preference with an entry that has no handle and no options. */
    if (header.tcm_handle == 0 || tb[TCA_OPTIONS] == NULL)
        return ERR_OK;
    if (!nlx_parse_nested(tb[TCA_OPTIONS], keys, KEYS_MAX))
        return err_set(err, ERR_IO, "the kernel's flower answer is malformed");
    out->handle = header.tcm_handle;
    out->pref = TC_H_MAJ(header.tcm_info) >> 16;
    out->egress = header.tcm_parent == TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS);
    uint32_t flags = 0;
    nlx_u32(keys[TCA_FLOWER_FLAGS], &flags);
    out->in_hw = (flags & TCA_CLS_FLAGS_IN_HW) != 0;
    out->value.hw = (flags & TCA_CLS_FLAGS_SKIP_SW) != 0;
    out->value.lost = out->value.hw && !out->in_hw;
    bool all = decode_keys(keys, &out->value);
    all &= decode_actions(keys[TCA_FLOWER_ACT], out);
    all &= (flags & (TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_SKIP_HW)) != 0;
    out->foreign = !all;
    *out_entry = FLOWER_ENTRY_FILTER;
    return ERR_OK;
}
