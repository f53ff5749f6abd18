/*
 * datapath/nl/tc_qdisc.c - see tc_qdisc.h.
 */
#include "datapath/nl/tc_qdisc.h"

#include <string.h>

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#define HTB_RATE2QUANTUM 10 /* tc's default */
#define HTB_VERSION      3

static struct nl_msg *qdisc_new(uint16_t type, uint16_t flags, const struct tcmsg *header,
                                const char *kind)
{
    struct nl_msg *msg = nlx_msg_new(type, flags, header, sizeof(*header), 512);
    if (msg != NULL && kind != NULL && nla_put_string(msg, TCA_KIND, kind) < 0) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

struct nl_msg *tc_qdisc_encode_clsact(uint16_t type, uint16_t flags, int ifindex)
{
    const struct tcmsg header = {
        .tcm_ifindex = ifindex,
        .tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0),
        .tcm_parent = TC_H_CLSACT,
    };
    return qdisc_new(type, flags, &header, "clsact");
}

struct nl_msg *tc_qdisc_encode_htb(int ifindex, const struct qdisc_value *value)
{
    const struct tcmsg header = {
        .tcm_ifindex = ifindex, .tcm_handle = value->handle, .tcm_parent = TC_H_ROOT};
    struct nl_msg *msg = qdisc_new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &header, "htb");
    if (msg == NULL)
        return NULL;
    struct tc_htb_glob init;
    memset(&init, 0, sizeof(init));
    init.version = HTB_VERSION;
    init.rate2quantum = HTB_RATE2QUANTUM;
    init.defcls = TC_H_MIN(value->default_class);
    struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);
    if (nest == NULL || nla_put(msg, TCA_HTB_INIT, sizeof(init), &init) < 0) {
        nlmsg_free(msg);
        return NULL;
    }
    nla_nest_end(msg, nest);
    return msg;
}

static bool put_quanta(struct nl_msg *msg, const struct qdisc_value *value)
{
    struct nlattr *nest = nla_nest_start(msg, TCA_ETS_QUANTA);
    bool whole = nest != NULL;
    for (unsigned band = value->strict; whole && band < value->bands; band++)
        whole = nla_put_u32(msg, TCA_ETS_QUANTA_BAND, value->quanta[band]) >= 0;
    if (whole)
        nla_nest_end(msg, nest);
    return whole;
}

static bool put_priomap(struct nl_msg *msg, const struct qdisc_value *value)
{
    struct nlattr *nest = nla_nest_start(msg, TCA_ETS_PRIOMAP);
    bool whole = nest != NULL;
    for (int i = 0; whole && i < QDISC_PRIOMAP; i++)
        whole = nla_put_u8(msg, TCA_ETS_PRIOMAP_BAND, value->priomap[i]) >= 0;
    if (whole)
        nla_nest_end(msg, nest);
    return whole;
}

struct nl_msg *tc_qdisc_encode_ets(uint16_t flags, int ifindex, const struct qdisc_value *value)
{
    const struct tcmsg header = {
        .tcm_ifindex = ifindex, .tcm_handle = value->handle, .tcm_parent = TC_H_ROOT};
    struct nl_msg *msg = qdisc_new(RTM_NEWQDISC, flags, &header, "ets");
    if (msg == NULL)
        return NULL;
    struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);
    if (nest == NULL || nla_put_u8(msg, TCA_ETS_NBANDS, value->bands) < 0 ||
        nla_put_u8(msg, TCA_ETS_NSTRICT, value->strict) < 0 ||
        (value->strict < value->bands && !put_quanta(msg, value)) || !put_priomap(msg, value)) {
        nlmsg_free(msg);
        return NULL;
    }
    nla_nest_end(msg, nest);
    return msg;
}

static bool take_quanta(const struct nlattr *nest, struct qdisc_value *out)
{
    const struct nlattr *attr;
    unsigned band = out->strict;
    int left;
    if (nest != NULL)
        nla_for_each_nested(
            attr, nest,
            left) if (nla_type(attr) == TCA_ETS_QUANTA_BAND &&
                      (band >= out->bands || !nlx_u32(attr, &out->quanta[band++]))) return false;
    return band == out->bands;
}

static bool take_priomap(const struct nlattr *nest, struct qdisc_value *out)
{
    const struct nlattr *attr;
    int count = 0, left;
    if (nest == NULL)
        return false;
    nla_for_each_nested(attr, nest, left)
    {
        if (nla_type(attr) != TCA_ETS_PRIOMAP_BAND)
            continue;
        if (count >= QDISC_PRIOMAP || !nlx_u8(attr, &out->priomap[count]) ||
            out->priomap[count] >= out->bands)
            return false;
        count++;
    }
    return count == QDISC_PRIOMAP;
}

static bool decode_ets(const struct nlattr *options, struct qdisc_value *out)
{
    struct nlattr *tb[TCA_ETS_MAX + 1];
    struct qdisc_value value = {.ets = true};
    if (!nlx_parse_nested(options, tb, TCA_ETS_MAX) || !nlx_u8(tb[TCA_ETS_NBANDS], &value.bands) ||
        value.bands == 0 || value.bands > QDISC_BANDS_MAX)
        return false;
    nlx_u8(tb[TCA_ETS_NSTRICT], &value.strict); /* left out when 0 */
    if (value.strict > value.bands || !take_quanta(tb[TCA_ETS_QUANTA], &value) ||
        !take_priomap(tb[TCA_ETS_PRIOMAP], &value))
        return false;
    *out = value;
    return true;
}

static bool decode_htb(const struct nlattr *options, uint32_t handle, struct qdisc_value *out)
{
    struct nlattr *tb[TCA_HTB_MAX + 1];
    struct tc_htb_glob init;
    if (!nlx_parse_nested(options, tb, TCA_HTB_MAX) ||
        !nlx_struct(tb[TCA_HTB_INIT], &init, sizeof(init)))
        return false;
    *out = (struct qdisc_value){.default_class = TC_H_MAKE(handle, init.defcls)};
    return true;
}

static void take_root(struct nlattr *const *tb, struct qdisc_info *info)
{
    uint8_t offloaded = 0;
    info->known = strcmp(info->kind, "htb") == 0
                      ? decode_htb(tb[TCA_OPTIONS], info->handle, &info->value)
                      : strcmp(info->kind, "ets") == 0 && decode_ets(tb[TCA_OPTIONS], &info->value);
    nlx_u8(tb[TCA_HW_OFFLOAD], &offloaded);
    info->value.handle = info->handle;
    info->value.offloaded = offloaded != 0;
}

enum err_code tc_qdisc_decode(const struct nlmsghdr *msg, int ifindex, struct qdisc_state *state,
                              struct err *err)
{
    struct tcmsg header;
    struct nlattr *tb[TCA_MAX + 1];
    if (msg->nlmsg_type != RTM_NEWQDISC || !nlx_parse(msg, sizeof(header), tb, TCA_MAX))
        return err_set(err, ERR_IO, "the kernel's qdisc answer is malformed");
    memcpy(&header, nlmsg_data(msg), sizeof(header));
    if (header.tcm_ifindex != ifindex)
        return ERR_OK;
    struct qdisc_info info = {.present = true, .handle = header.tcm_handle};
    if (!nlx_text(tb[TCA_KIND], info.kind, sizeof(info.kind)))
        return err_set(err, ERR_IO, "the kernel's qdisc answer has no kind");
    if (header.tcm_parent == TC_H_CLSACT) {
        state->clsact |= strcmp(info.kind, "clsact") == 0;
        state->ingress_other |= strcmp(info.kind, "clsact") != 0;
    }
    if (header.tcm_parent != TC_H_ROOT)
        return ERR_OK;
    take_root(tb, &info);
    state->root = info;
    return ERR_OK;
}

struct query {
    int ifindex;
    struct qdisc_state state;
};

static enum err_code take_qdisc(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct query *query = arg;
    return tc_qdisc_decode(msg, query->ifindex, &query->state, err);
}

static void restart(void *arg)
{
    struct query *query = arg;
    query->state = (struct qdisc_state){0};
}

enum err_code tc_qdisc_get(struct nlx *nlx, int ifindex, struct qdisc_state *out, struct err *err)
{
    const struct tcmsg header = {.tcm_ifindex = ifindex};
    OWN(nl_msg) struct nl_msg *msg = qdisc_new(RTM_GETQDISC, 0, &header, NULL);
    if (msg == NULL)
        return err_nomem(err);
    struct query query = {.ifindex = ifindex};
    enum err_code code = nlx_dump(nlx, msg, take_qdisc, restart, &query, err);
    if (code == ERR_OK)
        *out = query.state;
    return code;
}

static enum err_code send_msg(struct nlx *nlx, struct nl_msg *msg, struct err *err)
{
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}

enum err_code tc_qdisc_add_clsact(struct nlx *nlx, int ifindex, struct err *err)
{
    OWN(nl_msg)
    struct nl_msg *msg = tc_qdisc_encode_clsact(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, ifindex);
    return send_msg(nlx, msg, err);
}

enum err_code tc_qdisc_del_clsact(struct nlx *nlx, int ifindex, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = tc_qdisc_encode_clsact(RTM_DELQDISC, 0, ifindex);
    return send_msg(nlx, msg, err);
}

enum err_code tc_qdisc_add_root(struct nlx *nlx, int ifindex, const struct qdisc_value *value,
                                struct err *err)
{
    OWN(nl_msg)
    struct nl_msg *msg = value->ets ? tc_qdisc_encode_ets(NLM_F_CREATE | NLM_F_EXCL, ifindex, value)
                                    : tc_qdisc_encode_htb(ifindex, value);
    return send_msg(nlx, msg, err);
}

enum err_code tc_qdisc_change_ets(struct nlx *nlx, int ifindex, const struct qdisc_value *value,
                                  struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = tc_qdisc_encode_ets(NLM_F_REPLACE, ifindex, value);
    return send_msg(nlx, msg, err);
}

enum err_code tc_qdisc_del_root(struct nlx *nlx, int ifindex, uint32_t handle, struct err *err)
{
    const struct tcmsg header = {
        .tcm_ifindex = ifindex, .tcm_handle = handle, .tcm_parent = TC_H_ROOT};
    OWN(nl_msg) struct nl_msg *msg = qdisc_new(RTM_DELQDISC, 0, &header, NULL);
    return send_msg(nlx, msg, err);
}
