/*
 * datapath/nl/tc_flower.c - requests and lists; see tc_flower.h. tc_flower_decode.c reads.
 */
#include "datapath/nl/tc_flower.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_skbedit.h>

#include "datapath/nl/tc_rate.h"

#define MSG_BYTES (2048 + FLOWER_ACTIONS_MAX * (TC_RATE_TABLE_SIZE + 256))

static struct tcmsg flower_header(int ifindex, bool egress, bool ipv6, uint32_t handle)
{
    uint32_t pref = ipv6 ? FLOWER_PREF_IPV6 : FLOWER_PREF_IPV4;
    return (struct tcmsg){
        .tcm_ifindex = ifindex,
        .tcm_handle = handle,
        .tcm_parent = TC_H_MAKE(TC_H_CLSACT, egress ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS),
        .tcm_info = TC_H_MAKE(pref << 16, htons(ipv6 ? ETH_P_IPV6 : ETH_P_IP)),
    };
}

static int put_u16_masked(struct nl_msg *msg, int key, int mask, uint16_t value)
{
    int rc = nla_put_u16(msg, key, htons(value));
    return rc | nla_put_u16(msg, mask, UINT16_MAX);
}

static int put_prefix(struct nl_msg *msg, int key, int mask_key, const struct flower_prefix *prefix,
                      size_t size)
{
    if (!prefix->set)
        return 0;
    uint8_t mask[16] = {0};
    for (size_t bit = 0; bit < prefix->bits; bit++)
        mask[bit / 8] |= (uint8_t)(0x80U >> bit % 8);
    int rc = nla_put(msg, key, (int)size, prefix->addr);
    return rc | nla_put(msg, mask_key, (int)size, mask);
}

static int put_keys(struct nl_msg *msg, const struct flower_value *value)
{
    bool udp = value->ip_proto == IPPROTO_UDP;
    size_t size = value->ipv6 ? 16 : 4;
    int rc = nla_put_u16(msg, TCA_FLOWER_KEY_ETH_TYPE, htons(value->ipv6 ? ETH_P_IPV6 : ETH_P_IP));
    if (value->ip_proto != 0)
        rc |= nla_put_u8(msg, TCA_FLOWER_KEY_IP_PROTO, value->ip_proto);
    if (value->has_dscp) {
        rc |= nla_put_u8(msg, TCA_FLOWER_KEY_IP_TOS, (uint8_t)(value->dscp << 2));
        rc |= nla_put_u8(msg, TCA_FLOWER_KEY_IP_TOS_MASK, 0xfc); /* not the ECN bits */
    }
    if (value->has_src_port)
        rc |= put_u16_masked(msg, udp ? TCA_FLOWER_KEY_UDP_SRC : TCA_FLOWER_KEY_TCP_SRC,
                             udp ? TCA_FLOWER_KEY_UDP_SRC_MASK : TCA_FLOWER_KEY_TCP_SRC_MASK,
                             value->src_port);
    if (value->has_dst_port)
        rc |= put_u16_masked(msg, udp ? TCA_FLOWER_KEY_UDP_DST : TCA_FLOWER_KEY_TCP_DST,
                             udp ? TCA_FLOWER_KEY_UDP_DST_MASK : TCA_FLOWER_KEY_TCP_DST_MASK,
                             value->dst_port);
    rc |= put_prefix(msg, value->ipv6 ? TCA_FLOWER_KEY_IPV6_SRC : TCA_FLOWER_KEY_IPV4_SRC,
                     value->ipv6 ? TCA_FLOWER_KEY_IPV6_SRC_MASK : TCA_FLOWER_KEY_IPV4_SRC_MASK,
                     &value->src, size);
    rc |= put_prefix(msg, value->ipv6 ? TCA_FLOWER_KEY_IPV6_DST : TCA_FLOWER_KEY_IPV4_DST,
                     value->ipv6 ? TCA_FLOWER_KEY_IPV6_DST_MASK : TCA_FLOWER_KEY_IPV4_DST_MASK,
                     &value->dst, size);
    return rc;
}

static int put_skbedit(struct nl_msg *msg, uint32_t priority)
{
    struct tc_skbedit parms;
    memset(&parms, 0, sizeof(parms));
    parms.action = TC_ACT_PIPE;
    int rc = nla_put(msg, TCA_SKBEDIT_PARMS, sizeof(parms), &parms);
    return rc | nla_put_u32(msg, TCA_SKBEDIT_PRIORITY, priority);
}

static int put_police(struct nl_msg *msg, const struct flower_action *action)
{
    uint64_t rate = tc_rate_bytes(action->police_bps);
    uint32_t table[256];
    struct tc_police parms;
    memset(&parms, 0, sizeof(parms));
    tc_rate_table(rate, &parms.rate, table);
    parms.action = TC_ACT_SHOT; /* exceed */
    parms.burst = tc_ticks_of_size(rate, (uint64_t)action->burst_bytes);
    /* tc's default of 2 kB drops every 4 KiB RoCE packet, and the sender retries for ever. */
    parms.mtu = TC_RATE_MTU;
    int rc = nla_put(msg, TCA_POLICE_TBF, sizeof(parms), &parms);
    rc |= nla_put(msg, TCA_POLICE_RATE, sizeof(table), table);
    rc |= nla_put_u32(msg, TCA_POLICE_RESULT, TC_ACT_PIPE); /* conform */
    if (rate > UINT32_MAX)
        rc |= nla_put_u64(msg, TCA_POLICE_RATE64, rate);
    return rc;
}

static int put_action(struct nl_msg *msg, int order, const struct flower_action *action,
                      const uint8_t *cookie)
{
    bool police = action->kind == FLOWER_ACTION_POLICE;
    struct nlattr *nest = nla_nest_start(msg, order);
    if (nest == NULL)
        return -1;
    int rc = nla_put_string(msg, TCA_ACT_KIND, police ? "police" : "skbedit");
    if (cookie != NULL)
        rc |= nla_put(msg, TCA_ACT_COOKIE, FLOWER_COOKIE_SIZE, cookie);
    struct nlattr *options = nla_nest_start(msg, TCA_ACT_OPTIONS);
    if (options == NULL)
        return -1;
    rc |= police ? put_police(msg, action) : put_skbedit(msg, action->priority);
    nla_nest_end(msg, options);
    nla_nest_end(msg, nest);
    return rc;
}

static int put_actions(struct nl_msg *msg, const struct flower_value *value)
{
    struct nlattr *nest = nla_nest_start(msg, TCA_FLOWER_ACT);
    if (nest == NULL)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < value->action_count; i++)
        rc |= put_action(msg, (int)i + 1, &value->actions[i], i == 0 ? value->cookie : NULL);
    nla_nest_end(msg, nest);
    return rc;
}

struct nl_msg *tc_flower_encode(int ifindex, bool egress, uint32_t handle,
                                const struct flower_value *value, bool replace)
{
    const struct tcmsg header = flower_header(ifindex, egress, value->ipv6, handle);
    uint16_t flags = NLM_F_CREATE | (replace ? 0 : NLM_F_EXCL);
    struct nl_msg *msg = nlx_msg_new(RTM_NEWTFILTER, flags, &header, sizeof(header), MSG_BYTES);
    if (msg == NULL)
        return NULL;
    uint32_t where = value->hw ? TCA_CLS_FLAGS_SKIP_SW : TCA_CLS_FLAGS_SKIP_HW;
    int rc = nla_put_string(msg, TCA_KIND, "flower");
    struct nlattr *options = nla_nest_start(msg, TCA_OPTIONS);
    if (options != NULL) {
        rc |= nla_put_u32(msg, TCA_FLOWER_FLAGS, where);
        rc |= put_keys(msg, value);
        rc |= put_actions(msg, value);
        nla_nest_end(msg, options);
    }
    if (options == NULL || rc < 0) {
        nlmsg_free(msg);
        return NULL;
    }
    return msg;
}

static struct nl_msg *flower_by_key(uint16_t type, int ifindex, bool egress, bool ipv6,
                                    uint32_t handle)
{
    const struct tcmsg header = flower_header(ifindex, egress, ipv6, handle);
    struct nl_msg *msg = nlx_msg_new(type, 0, &header, sizeof(header), 64);
    if (msg != NULL && nla_put_string(msg, TCA_KIND, "flower") < 0) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

struct nl_msg *tc_flower_encode_del(int ifindex, bool egress, bool ipv6, uint32_t handle)
{
    return flower_by_key(RTM_DELTFILTER, ifindex, egress, ipv6, handle);
}

static bool action_same(const struct flower_action *a, const struct flower_action *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind != FLOWER_ACTION_POLICE)
        return a->priority == b->priority;
    uint64_t rate = tc_rate_bytes(a->police_bps);
    return rate == tc_rate_bytes(b->police_bps) &&
           tc_ticks_of_size(rate, (uint64_t)a->burst_bytes) ==
               tc_ticks_of_size(rate, (uint64_t)b->burst_bytes);
}

static bool prefix_same(const struct flower_prefix *a, const struct flower_prefix *b)
{
    return a->set == b->set && a->bits == b->bits && memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

bool tc_flower_same(const struct flower_value *a, const struct flower_value *b)
{
    if (a->hw != b->hw || a->lost != b->lost || a->ipv6 != b->ipv6 || a->ip_proto != b->ip_proto ||
        a->has_dscp != b->has_dscp || a->dscp != b->dscp || a->has_src_port != b->has_src_port ||
        a->src_port != b->src_port || a->has_dst_port != b->has_dst_port ||
        a->dst_port != b->dst_port || !prefix_same(&a->src, &b->src) ||
        !prefix_same(&a->dst, &b->dst) || memcmp(a->cookie, b->cookie, sizeof(a->cookie)) != 0 ||
        a->action_count != b->action_count)
        return false;
    for (size_t i = 0; i < a->action_count; i++)
        if (!action_same(&a->actions[i], &b->actions[i]))
            return false;
    return true;
}

/* Lists and changes --------------------------------------------------------------------------- */

void flower_list_release(struct flower_list *list)
{
    free(list->items);
    *list = (struct flower_list){0};
}

struct query {
    int ifindex;
    bool egress;
    struct flower_list list;
    size_t room;
};

static enum err_code take_filter(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct query *query = arg;
    struct flower_info info;
    enum flower_entry entry;
    enum err_code code = tc_flower_decode(msg, query->ifindex, &info, &entry, err);
    query->list.others += code == ERR_OK && entry == FLOWER_ENTRY_OTHER;
    if (code != ERR_OK || entry != FLOWER_ENTRY_FILTER)
        return code;
    info.egress = query->egress;
    if (query->list.count == TC_FLOWERS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d filters", TC_FLOWERS_MAX);
    if (query->list.count == query->room) {
        size_t room = query->room == 0 ? 16 : 2 * query->room;
        struct flower_info *grown = realloc(query->list.items, room * sizeof(info));
        if (grown == NULL)
            return err_nomem(err);
        query->list.items = grown;
        query->room = room;
    }
    query->list.items[query->list.count++] = info;
    return ERR_OK;
}

static void restart(void *arg)
{
    struct query *query = arg;
    query->list.count = query->list.others = 0;
}

enum err_code tc_flower_list(struct nlx *nlx, int ifindex, bool egress, struct flower_list *out,
                             struct err *err)
{
    struct tcmsg header = flower_header(ifindex, egress, false, 0);
    header.tcm_info = 0; /* every preference and protocol */
    OWN(nl_msg) struct nl_msg *msg = nlx_msg_new(RTM_GETTFILTER, 0, &header, sizeof(header), 64);
    if (msg == NULL)
        return err_nomem(err);
    struct query query = {.ifindex = ifindex, .egress = egress};
    enum err_code code = nlx_dump(nlx, msg, take_filter, restart, &query, err);
    if (code != ERR_OK) {
        flower_list_release(&query.list);
        return code;
    }
    flower_list_release(out);
    *out = query.list;
    return ERR_OK;
}

/* ENOENT: no such filter; EINVAL: no clsact, or no filter of this preference at all. */
static bool is_absent(const struct nlx_item *item)
{
    return item->code == ERR_NOT_FOUND || (item->code == ERR_IO && item->err.sys_errno == EINVAL);
}

static enum err_code take_found(struct nlx_item *items, struct query *queries,
                                struct flower_found *out, struct err *err)
{
    for (int i = 0; i < 2; i++) {
        if (items[i].code != ERR_OK && !is_absent(&items[i])) {
            if (err != NULL)
                *err = items[i].err;
            return items[i].code;
        }
        out->present[i] = queries[i].list.count > 0;
        if (out->present[i])
            out->items[i] = queries[i].list.items[0];
    }
    return ERR_OK;
}

enum err_code tc_flower_find(struct nlx *nlx, int ifindex, bool egress, uint32_t handle,
                             struct flower_found *out, struct err *err)
{
    OWN(nl_msg) struct nl_msg *ipv4 = flower_by_key(RTM_GETTFILTER, ifindex, egress, false, handle);
    OWN(nl_msg) struct nl_msg *ipv6 = flower_by_key(RTM_GETTFILTER, ifindex, egress, true, handle);
    if (ipv4 == NULL || ipv6 == NULL)
        return err_nomem(err);
    struct query queries[2] = {{.ifindex = ifindex, .egress = egress},
                               {.ifindex = ifindex, .egress = egress}};
    struct nlx_item items[2] = {
        {.request = ipv4, .on_reply = take_filter, .arg = &queries[0]},
        {.request = ipv6, .on_reply = take_filter, .arg = &queries[1]},
    };
    struct flower_found found = {0};
    struct err refusal = ERR_INIT; /* an absent one is a refusal, too: the items tell */
    enum err_code code = nlx_batch(nlx, items, 2, &refusal);
    code = take_found(items, queries, &found, err);
    if (code == ERR_OK)
        *out = found;
    flower_list_release(&queries[0].list);
    flower_list_release(&queries[1].list);
    return code;
}

enum err_code tc_flower_set(struct nlx *nlx, int ifindex, bool egress, uint32_t handle,
                            const struct flower_value *value, bool replace, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = tc_flower_encode(ifindex, egress, handle, value, replace);
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}

enum err_code tc_flower_del(struct nlx *nlx, int ifindex, bool egress, bool ipv6, uint32_t handle,
                            struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = tc_flower_encode_del(ifindex, egress, ipv6, handle);
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}
