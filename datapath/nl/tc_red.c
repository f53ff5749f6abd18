/*
 * datapath/nl/tc_red.c - see tc_red.h.
 *
 * Wlog is 0: the average is the queue as it is, as switches compare it with Kmin and Kmax. Then the
 * table for idle times does nothing but has to be one that the kernel takes.
 */
#include "datapath/nl/tc_red.h"

#include <stdlib.h>
#include <string.h>

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#define STAB_SIZE  256
#define SCELL_LOG  10 /* a cell of the table is a millisecond */
#define STAB_SHIFT 31 /* after one of them the queue counts as empty */
#define ROUND_HALF (UINT64_C(1) << 31)

static uint32_t max_p(uint32_t permyriad)
{
    uint64_t p = (((uint64_t)permyriad << 32) + RED_PERMYRIAD / 2) / RED_PERMYRIAD;
    return p > UINT32_MAX ? UINT32_MAX : (uint32_t)p;
}

static uint32_t permyriad_of(uint32_t p)
{
    return (uint32_t)(((uint64_t)p * RED_PERMYRIAD + ROUND_HALF) >> 32);
}

/* The old form of the probability, 2^-Plog over the distance; the kernel wants it sane. */
static uint8_t plog_of(const struct red_value *value)
{
    uint8_t log = 0;
    for (uint64_t span = value->max_bytes - value->min_bytes; span > 1; span >>= 1)
        log++;
    return log;
}

struct nl_msg *tc_red_encode(int ifindex, uint32_t parent, const struct red_value *value)
{
    const struct tcmsg header = {.tcm_ifindex = ifindex, .tcm_parent = parent};
    uint8_t stab[STAB_SIZE];
    memset(stab, STAB_SHIFT, sizeof(stab));
    stab[0] = 0;
    struct tc_red_qopt options = {
        .limit = value->limit_bytes,
        .qth_min = value->min_bytes,
        .qth_max = value->max_bytes,
        .Plog = plog_of(value),
        .Scell_log = SCELL_LOG,
        .flags = value->ecn ? TC_RED_ECN : 0,
    };
    struct nl_msg *msg =
        nlx_msg_new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &header, sizeof(header), 1024);
    if (msg == NULL)
        return NULL;
    struct nlattr *nest = NULL;
    if (nla_put_string(msg, TCA_KIND, "red") < 0 ||
        (nest = nla_nest_start(msg, TCA_OPTIONS)) == NULL ||
        nla_put(msg, TCA_RED_PARMS, sizeof(options), &options) < 0 ||
        nla_put(msg, TCA_RED_STAB, sizeof(stab), stab) < 0 ||
        nla_put_u32(msg, TCA_RED_MAX_P, max_p(value->probability_permyriad)) < 0) {
        nlmsg_free(msg);
        return NULL;
    }
    nla_nest_end(msg, nest);
    return msg;
}

struct nl_msg *tc_red_encode_del(int ifindex, uint32_t parent)
{
    const struct tcmsg header = {.tcm_ifindex = ifindex, .tcm_parent = parent};
    return nlx_msg_new(RTM_DELQDISC, 0, &header, sizeof(header), 64);
}

enum err_code tc_red_decode(const struct nlmsghdr *msg, int ifindex, struct red_info *out,
                            bool *out_red, struct err *err)
{
    struct tcmsg header;
    struct nlattr *tb[TCA_MAX + 1], *red[TCA_RED_MAX + 1];
    struct tc_red_qopt options;
    char kind[16];
    uint32_t probability = 0;
    uint8_t offloaded = 0;
    *out_red = false;
    if (msg->nlmsg_type != RTM_NEWQDISC || !nlx_parse(msg, sizeof(header), tb, TCA_MAX))
        return err_set(err, ERR_IO, "the kernel's qdisc answer is malformed");
    memcpy(&header, nlmsg_data(msg), sizeof(header));
    if (header.tcm_ifindex != ifindex || !nlx_text(tb[TCA_KIND], kind, sizeof(kind)) ||
        strcmp(kind, "red") != 0)
        return ERR_OK;
    if (!nlx_parse_nested(tb[TCA_OPTIONS], red, TCA_RED_MAX) ||
        !nlx_struct(red[TCA_RED_PARMS], &options, sizeof(options)) ||
        !nlx_u32(red[TCA_RED_MAX_P], &probability))
        return err_set(err, ERR_IO, "the kernel's red answer is malformed");
    nlx_u8(tb[TCA_HW_OFFLOAD], &offloaded);
    *out = (struct red_info){
        .parent = header.tcm_parent,
        .value = {.ecn = (options.flags & TC_RED_ECN) != 0,
                  .min_bytes = options.qth_min,
                  .max_bytes = options.qth_max,
                  .limit_bytes = options.limit,
                  .probability_permyriad = permyriad_of(probability),
                  .offloaded = offloaded != 0},
    };
    *out_red = true;
    return ERR_OK;
}

void red_list_release(struct red_list *list)
{
    free(list->items);
    *list = (struct red_list){.items = NULL};
}

struct query {
    int ifindex;
    uint32_t major;
    struct red_list *list;
};

static enum err_code take(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct query *query = arg;
    struct red_list *list = query->list;
    struct red_info info;
    bool red;
    enum err_code code = tc_red_decode(msg, query->ifindex, &info, &red, err);
    if (code != ERR_OK || !red || info.parent >> 16 != query->major)
        return code;
    if (list->count == RED_LIST_MAX)
        return err_set(err, ERR_LIMIT, "more than %d red queues", RED_LIST_MAX);
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 16 : 2 * list->room;
        struct red_info *items = realloc(list->items, room * sizeof(*items));
        if (items == NULL)
            return err_nomem(err);
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = info;
    return ERR_OK;
}

static void restart(void *arg)
{
    ((struct query *)arg)->list->count = 0;
}

enum err_code tc_red_list(struct nlx *nlx, int ifindex, uint32_t major, struct red_list *out,
                          struct err *err)
{
    const struct tcmsg header = {.tcm_ifindex = ifindex};
    OWN(nl_msg) struct nl_msg *msg = nlx_msg_new(RTM_GETQDISC, 0, &header, sizeof(header), 64);
    OWN_REDS struct red_list list = {.items = NULL};
    struct query query = {ifindex, major, &list};
    if (msg == NULL)
        return err_nomem(err);
    enum err_code code = nlx_dump(nlx, msg, take, restart, &query, err);
    if (code != ERR_OK)
        return code;
    *out = list;
    list.items = NULL;
    return ERR_OK;
}

enum err_code tc_red_set(struct nlx *nlx, int ifindex, uint32_t parent,
                         const struct red_value *value, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = tc_red_encode(ifindex, parent, value);
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}

enum err_code tc_red_del(struct nlx *nlx, int ifindex, uint32_t parent, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = tc_red_encode_del(ifindex, parent);
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}
