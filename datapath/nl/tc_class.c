/*
 * datapath/nl/tc_class.c - see tc_class.h.
 */
#include "datapath/nl/tc_class.h"

#include <string.h>

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "datapath/nl/tc_rate.h"

/* One GSO packet or a millisecond of the rate, whichever is more: htb hands out nothing larger than
 * its bucket, and its timer is too slow for a fast port's single packets. */
#define BURST_MIN_BYTES 65536
#define BURSTS_PER_S    1000
/* Unused bandwidth is lent in proportion to quanta; htb wants 1000..200000 (sch_htb.c). 62500 makes
 * a 100 Gbit/s class 200000. */
#define QUANTUM_DIVISOR 62500
#define QUANTUM_MIN     1600
#define QUANTUM_MAX     200000

static uint32_t burst_ticks(uint64_t rate_bytes)
{
    uint64_t burst = rate_bytes / BURSTS_PER_S;
    return tc_ticks_of_size(rate_bytes, burst < BURST_MIN_BYTES ? BURST_MIN_BYTES : burst);
}

static uint32_t quantum_of(uint64_t rate_bytes)
{
    uint64_t quantum = rate_bytes / QUANTUM_DIVISOR;
    return quantum < QUANTUM_MIN   ? QUANTUM_MIN
           : quantum > QUANTUM_MAX ? QUANTUM_MAX
                                   : (uint32_t)quantum;
}

static int put_htb(struct nl_msg *msg, const struct class_value *value)
{
    uint64_t rate = tc_rate_bytes(value->rate_bps), ceil = tc_rate_bytes(value->ceil_bps);
    uint32_t rate_table[256], ceil_table[256];
    struct tc_htb_opt opt;
    memset(&opt, 0, sizeof(opt));
    tc_rate_table(rate, &opt.rate, rate_table);
    tc_rate_table(ceil, &opt.ceil, ceil_table);
    opt.buffer = burst_ticks(rate);
    opt.cbuffer = burst_ticks(ceil);
    opt.quantum = quantum_of(rate);
    struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);
    if (nest == NULL)
        return -1;
    int rc = 0;
    if (rate > UINT32_MAX)
        rc |= nla_put_u64(msg, TCA_HTB_RATE64, rate);
    if (ceil > UINT32_MAX)
        rc |= nla_put_u64(msg, TCA_HTB_CEIL64, ceil);
    rc |= nla_put(msg, TCA_HTB_PARMS, sizeof(opt), &opt);
    rc |= nla_put(msg, TCA_HTB_RTAB, sizeof(rate_table), rate_table);
    rc |= nla_put(msg, TCA_HTB_CTAB, sizeof(ceil_table), ceil_table);
    nla_nest_end(msg, nest);
    return rc;
}

struct nl_msg *tc_class_encode(int ifindex, uint32_t handle, const struct class_value *value,
                               bool create)
{
    const struct tcmsg header = {
        .tcm_ifindex = ifindex, .tcm_handle = handle, .tcm_parent = value->parent};
    uint16_t flags = create ? NLM_F_CREATE | NLM_F_EXCL : 0;
    struct nl_msg *msg = nlx_msg_new(RTM_NEWTCLASS, flags, &header, sizeof(header), 4096);
    if (msg == NULL)
        return NULL;
    if (nla_put_string(msg, TCA_KIND, "htb") < 0 || put_htb(msg, value) < 0) {
        nlmsg_free(msg);
        return NULL;
    }
    return msg;
}

struct nl_msg *tc_class_encode_del(int ifindex, uint32_t handle)
{
    const struct tcmsg header = {.tcm_ifindex = ifindex, .tcm_handle = handle};
    return nlx_msg_new(RTM_DELTCLASS, 0, &header, sizeof(header), 64);
}

enum err_code tc_class_decode(const struct nlmsghdr *msg, int ifindex, struct class_info *out,
                              bool *out_htb, struct err *err)
{
    struct tcmsg header;
    struct nlattr *tb[TCA_MAX + 1], *htb[TCA_HTB_MAX + 1];
    char kind[16];
    *out_htb = false;
    if (msg->nlmsg_type != RTM_NEWTCLASS || !nlx_parse(msg, sizeof(header), tb, TCA_MAX))
        return err_set(err, ERR_IO, "the kernel's class answer is malformed");
    memcpy(&header, nlmsg_data(msg), sizeof(header));
    nlx_text(tb[TCA_KIND], kind, sizeof(kind));
    if (header.tcm_ifindex != ifindex || strcmp(kind, "htb") != 0)
        return ERR_OK;
    struct tc_htb_opt opt;
    if (!nlx_parse_nested(tb[TCA_OPTIONS], htb, TCA_HTB_MAX) ||
        !nlx_struct(htb[TCA_HTB_PARMS], &opt, sizeof(opt)))
        return err_set(err, ERR_IO, "the kernel's htb class answer is malformed");
    uint64_t rate = opt.rate.rate, ceil = opt.ceil.rate;
    nlx_u64(htb[TCA_HTB_RATE64], &rate);
    nlx_u64(htb[TCA_HTB_CEIL64], &ceil);
    *out = (struct class_info){
        .handle = header.tcm_handle,
        .value.parent =
            header.tcm_parent == TC_H_ROOT ? TC_H_MAJ(header.tcm_handle) : header.tcm_parent,
        .value.rate_bps = tc_rate_bps(rate),
        .value.ceil_bps = tc_rate_bps(ceil),
    };
    *out_htb = true;
    return ERR_OK;
}

void class_list_release(struct class_list *list)
{
    free(list->items);
    *list = (struct class_list){0};
}

struct query {
    int ifindex;
    uint32_t major;
    struct class_list list;
    size_t room;
};

static enum err_code take_class(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct query *query = arg;
    struct class_info info;
    bool htb;
    enum err_code code = tc_class_decode(msg, query->ifindex, &info, &htb, err);
    if (code != ERR_OK || !htb || info.handle >> 16 != query->major)
        return code;
    if (query->list.count == TC_CLASSES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d classes", TC_CLASSES_MAX);
    if (query->list.count == query->room) {
        size_t room = query->room == 0 ? 16 : 2 * query->room;
        struct class_info *grown = realloc(query->list.items, room * sizeof(info));
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
    ((struct query *)arg)->list.count = 0;
}

enum err_code tc_class_list(struct nlx *nlx, int ifindex, uint32_t major, struct class_list *out,
                            struct err *err)
{
    const struct tcmsg header = {.tcm_ifindex = ifindex};
    OWN(nl_msg) struct nl_msg *msg = nlx_msg_new(RTM_GETTCLASS, 0, &header, sizeof(header), 64);
    if (msg == NULL)
        return err_nomem(err);
    struct query query = {.ifindex = ifindex, .major = major};
    enum err_code code = nlx_dump(nlx, msg, take_class, restart, &query, err);
    if (code != ERR_OK) {
        class_list_release(&query.list);
        return code;
    }
    class_list_release(out);
    *out = query.list;
    return ERR_OK;
}

enum err_code tc_class_get(struct nlx *nlx, int ifindex, uint32_t handle, struct class_info *out,
                           bool *out_present, struct err *err)
{
    /* Before 6.3 the answer to a get is an announcement, which only the echo flag sends to us. */
    const struct tcmsg header = {.tcm_ifindex = ifindex, .tcm_handle = handle};
    OWN(nl_msg)
    struct nl_msg *msg = nlx_msg_new(RTM_GETTCLASS, NLM_F_ECHO, &header, sizeof(header), 64);
    if (msg == NULL)
        return err_nomem(err);
    struct query query = {.ifindex = ifindex, .major = handle >> 16};
    struct err problem = ERR_INIT;
    enum err_code code = nlx_txn(nlx, msg, take_class, &query, &problem);
    if (code == ERR_OK || code == ERR_NOT_FOUND) {
        *out_present = query.list.count > 0;
        if (*out_present)
            *out = query.list.items[0];
        code = ERR_OK;
    } else if (err != NULL) {
        *err = problem;
    }
    class_list_release(&query.list);
    return code;
}

enum err_code tc_class_set(struct nlx *nlx, int ifindex, uint32_t handle,
                           const struct class_value *value, bool create, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = tc_class_encode(ifindex, handle, value, create);
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}

enum err_code tc_class_del(struct nlx *nlx, int ifindex, uint32_t handle, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = tc_class_encode_del(ifindex, handle);
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}
