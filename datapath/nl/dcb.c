/*
 * datapath/nl/dcb.c - see dcb.h.
 */
#include "datapath/nl/dcb.h"

#include <errno.h>
#include <string.h>

#include <linux/rtnetlink.h>

#define KBIT_BPS  INT64_C(1000)
#define MODE_HOST (DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE)

_Static_assert(VALUE_PRIORITIES == IEEE_8021QAZ_MAX_TCS, "classes");

/* Encode -------------------------------------------------------------------------------------- */

struct nl_msg *dcb_encode(uint16_t type, uint8_t command, const char *ifname)
{
    const struct dcbmsg header = {.dcb_family = AF_UNSPEC, .cmd = command};
    struct nl_msg *msg = nlx_msg_new(type, 0, &header, sizeof(header), 1024);
    if (msg != NULL && nla_put_string(msg, DCB_ATTR_IFNAME, ifname) < 0) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

struct nl_msg *dcb_encode_ieee(uint8_t command, const char *ifname, int attr, const void *data,
                               size_t len)
{
    struct nl_msg *msg = dcb_encode(RTM_SETDCB, command, ifname);
    if (msg == NULL)
        return NULL;
    struct nlattr *nest = nla_nest_start(msg, DCB_ATTR_IEEE);
    if (nest == NULL || nla_put(msg, attr, (int)len, data) < 0) {
        nlmsg_free(msg);
        return NULL;
    }
    nla_nest_end(msg, nest);
    return msg;
}

struct nl_msg *dcb_encode_app(uint8_t command, const char *ifname, struct app_entry entry)
{
    struct {
        struct nlattr head;
        struct dcb_app app;
    } table;
    memset(&table, 0, sizeof(table));
    table.head.nla_type = DCB_ATTR_IEEE_APP;
    table.head.nla_len = sizeof(table);
    table.app.selector = IEEE_8021QAZ_APP_SEL_DSCP;
    table.app.protocol = entry.dscp;
    table.app.priority = entry.priority;
    return dcb_encode_ieee(command, ifname, DCB_ATTR_IEEE_APP_TABLE | NLA_F_NESTED, &table,
                           table.head.nla_len);
}

/* Decode -------------------------------------------------------------------------------------- */

static void decode_ets(const struct nlattr *attr, struct dcb_state *out)
{
    struct ieee_ets ets;
    if (!nlx_struct(attr, &ets, sizeof(ets)))
        return;
    out->has_ets = true;
    out->ets_cap = ets.ets_cap;
    for (int i = 0; i < VALUE_PRIORITIES; i++) {
        out->ets.bw_percent[i] = ets.tc_tx_bw[i];
        out->ets.prio_tc[i] = ets.prio_tc[i];
        out->ets.tsa[i] = ets.tc_tsa[i];
    }
}

static void decode_pfc(const struct nlattr *attr, struct dcb_state *out)
{
    struct ieee_pfc pfc;
    if (!nlx_struct(attr, &pfc, sizeof(pfc)))
        return;
    out->has_pfc = true;
    out->pfc = (struct pfc_value){.delay = pfc.delay, .mask = pfc.pfc_en};
}

static void decode_maxrate(const struct nlattr *attr, struct dcb_state *out)
{
    struct ieee_maxrate maxrate;
    if (!nlx_struct(attr, &maxrate, sizeof(maxrate)))
        return;
    out->has_maxrate = true;
    for (int i = 0; i < VALUE_PRIORITIES; i++) {
        uint64_t kbps = maxrate.tc_maxrate[i];
        out->maxrate.rate_bps[i] = kbps == 0                     ? RATE_NONE
                                   : kbps > INT64_MAX / KBIT_BPS ? INT64_MAX
                                                                 : (int64_t)kbps * KBIT_BPS;
    }
}

static void decode_buffer(const struct nlattr *attr, struct dcb_state *out)
{
    struct dcbnl_buffer buffer;
    if (!nlx_struct(attr, &buffer, sizeof(buffer)))
        return;
    out->has_buffer = true;
    out->buffer_total_bytes = buffer.total_size;
    for (int i = 0; i < VALUE_PRIORITIES; i++) {
        out->buffer.prio_buffer[i] = buffer.prio2buffer[i];
        out->buffer.size_bytes[i] = buffer.buffer_size[i];
    }
}

/* Entries of other selectors (EtherType, ports) are not ours to show. */
static void decode_app(struct nlattr *nest, struct dcb_state *out)
{
    struct nlattr *attr;
    int left;
    nla_for_each_nested(attr, nest, left)
    {
        struct dcb_app app;
        if (nla_type(attr) != DCB_ATTR_IEEE_APP || !nlx_struct(attr, &app, sizeof(app)))
            continue;
        if (app.selector != IEEE_8021QAZ_APP_SEL_DSCP || app.protocol > 63 || app.priority > 7)
            continue;
        if (out->app.count == APP_VALUE_MAX) {
            out->app_truncated = true;
            return;
        }
        out->app.entries[out->app.count++] =
            (struct app_entry){.dscp = (uint8_t)app.protocol, .priority = app.priority};
    }
}

enum err_code dcb_decode(const struct nlmsghdr *msg, struct dcb_state *out, struct err *err)
{
    struct nlattr *tb[DCB_ATTR_MAX + 1], *ieee[DCB_ATTR_IEEE_MAX + 1];
    if (msg->nlmsg_type != RTM_GETDCB || !nlx_parse(msg, sizeof(struct dcbmsg), tb, DCB_ATTR_MAX) ||
        !nlx_parse_nested(tb[DCB_ATTR_IEEE], ieee, DCB_ATTR_IEEE_MAX))
        return err_set(err, ERR_IO, "the kernel's dcb answer is malformed");
    memset(out, 0, sizeof(*out));
    decode_ets(ieee[DCB_ATTR_IEEE_ETS], out);
    decode_pfc(ieee[DCB_ATTR_IEEE_PFC], out);
    decode_maxrate(ieee[DCB_ATTR_IEEE_MAXRATE], out);
    decode_buffer(ieee[DCB_ATTR_DCB_BUFFER], out);
    /* The table is the kernel's and there for every driver with dcb operations, even one that never
     * looks at it: the kernel does not tell (mlx5, bnxt, ice, hns3 and qede do). */
    out->has_app = ieee[DCB_ATTR_IEEE_APP_TABLE] != NULL;
    if (out->has_app)
        decode_app(ieee[DCB_ATTR_IEEE_APP_TABLE], out);
    app_value_sort(&out->app);
    return ERR_OK;
}

static enum err_code decode_byte(const struct nlmsghdr *msg, int attr, uint8_t *out,
                                 struct err *err)
{
    struct nlattr *tb[DCB_ATTR_MAX + 1];
    if ((msg->nlmsg_type != RTM_SETDCB && msg->nlmsg_type != RTM_GETDCB) ||
        !nlx_parse(msg, sizeof(struct dcbmsg), tb, DCB_ATTR_MAX) || !nlx_u8(tb[attr], out))
        return err_set(err, ERR_IO, "the kernel's dcb answer is malformed");
    return ERR_OK;
}

enum err_code dcb_decode_set(const struct nlmsghdr *msg, int *out, struct err *err)
{
    uint8_t byte;
    enum err_code code = decode_byte(msg, DCB_ATTR_IEEE, &byte, err);
    if (code != ERR_OK)
        return code;
    /* Success is 0, errors are negative; a positive byte is an errno that some driver forgot to
     * negate (mlx5). */
    int value = (int8_t)byte;
    *out = value < 0 ? -value : value;
    return ERR_OK;
}

enum err_code dcb_decode_mode(const struct nlmsghdr *msg, uint8_t *out, struct err *err)
{
    return decode_byte(msg, DCB_ATTR_DCBX, out, err);
}

/* Get and set --------------------------------------------------------------------------------- */

struct reply {
    bool came;
    int sys_errno;
    uint8_t mode;
    struct dcb_state *state;
};

static enum err_code take_state(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct reply *reply = arg;
    reply->came = true;
    return dcb_decode(msg, reply->state, err);
}

static enum err_code take_set(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct reply *reply = arg;
    reply->came = true;
    return dcb_decode_set(msg, &reply->sys_errno, err);
}

static enum err_code take_mode(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct reply *reply = arg;
    reply->came = true;
    return dcb_decode_mode(msg, &reply->mode, err);
}

enum err_code dcb_get(struct nlx *nlx, const char *ifname, struct dcb_state *out, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = dcb_encode(RTM_GETDCB, DCB_CMD_IEEE_GET, ifname);
    if (msg == NULL)
        return err_nomem(err);
    struct reply reply = {.state = out};
    enum err_code code = nlx_txn(nlx, msg, take_state, &reply, err);
    if (code == ERR_OK && !reply.came)
        code = err_set(err, ERR_IO, "the kernel gave no dcb answer");
    if (code != ERR_OK)
        (void)err_context(err, "dcb of %s", ifname);
    return code;
}

static enum err_code send_set(struct nlx *nlx, struct nl_msg *msg, const char *what,
                              const char *ifname, struct err *err)
{
    if (msg == NULL)
        return err_nomem(err);
    struct reply reply = {0};
    enum err_code code = nlx_txn(nlx, msg, take_set, &reply, err);
    if (code == ERR_OK && !reply.came)
        code = err_set(err, ERR_IO, "the kernel gave no dcb answer");
    if (code == ERR_OK && reply.sys_errno != 0)
        code = err_set_errno(err, nlx_code_of_errno(reply.sys_errno), reply.sys_errno, "kernel");
    if (code != ERR_OK)
        (void)err_context(err, "set %s of %s", what, ifname);
    return code;
}

enum err_code dcb_set_ets(struct nlx *nlx, const char *ifname, const struct ets_value *value,
                          struct err *err)
{
    struct ieee_ets ets;
    memset(&ets, 0, sizeof(ets));
    for (int i = 0; i < VALUE_PRIORITIES; i++) {
        ets.tc_tx_bw[i] = value->bw_percent[i];
        ets.prio_tc[i] = value->prio_tc[i];
        ets.tc_tsa[i] = value->tsa[i];
    }
    OWN(nl_msg)
    struct nl_msg *msg =
        dcb_encode_ieee(DCB_CMD_IEEE_SET, ifname, DCB_ATTR_IEEE_ETS, &ets, sizeof(ets));
    return send_set(nlx, msg, "ets", ifname, err);
}

enum err_code dcb_set_pfc(struct nlx *nlx, const char *ifname, const struct pfc_value *value,
                          struct err *err)
{
    struct ieee_pfc pfc;
    memset(&pfc, 0, sizeof(pfc));
    pfc.pfc_en = value->mask;
    pfc.delay = value->delay;
    OWN(nl_msg)
    struct nl_msg *msg =
        dcb_encode_ieee(DCB_CMD_IEEE_SET, ifname, DCB_ATTR_IEEE_PFC, &pfc, sizeof(pfc));
    return send_set(nlx, msg, "pfc", ifname, err);
}

enum err_code dcb_set_maxrate(struct nlx *nlx, const char *ifname,
                              const struct maxrate_value *value, struct err *err)
{
    struct ieee_maxrate maxrate;
    memset(&maxrate, 0, sizeof(maxrate));
    for (int i = 0; i < VALUE_PRIORITIES; i++) {
        if (value->rate_bps[i] == RATE_NONE)
            continue;
        if (value->rate_bps[i] < KBIT_BPS)
            return err_set(err, ERR_INVALID,
                           "set maxrate of %s: class %d has a rate under 1 kbit/s", ifname, i);
        maxrate.tc_maxrate[i] = (uint64_t)(value->rate_bps[i] / KBIT_BPS);
    }
    OWN(nl_msg)
    struct nl_msg *msg =
        dcb_encode_ieee(DCB_CMD_IEEE_SET, ifname, DCB_ATTR_IEEE_MAXRATE, &maxrate, sizeof(maxrate));
    return send_set(nlx, msg, "maxrate", ifname, err);
}

enum err_code dcb_set_buffer(struct nlx *nlx, const char *ifname, const struct buffer_value *value,
                             struct err *err)
{
    struct dcbnl_buffer buffer;
    memset(&buffer, 0, sizeof(buffer));
    for (int i = 0; i < VALUE_PRIORITIES; i++) {
        buffer.prio2buffer[i] = value->prio_buffer[i];
        buffer.buffer_size[i] = value->size_bytes[i];
    }
    OWN(nl_msg)
    struct nl_msg *msg =
        dcb_encode_ieee(DCB_CMD_IEEE_SET, ifname, DCB_ATTR_DCB_BUFFER, &buffer, sizeof(buffer));
    return send_set(nlx, msg, "buffer", ifname, err);
}

static enum err_code set_entry(struct nlx *nlx, const char *ifname, bool add,
                               struct app_entry entry, struct err *err)
{
    OWN(nl_msg)
    struct nl_msg *msg = dcb_encode_app(add ? DCB_CMD_IEEE_SET : DCB_CMD_IEEE_DEL, ifname, entry);
    struct err problem = ERR_INIT;
    enum err_code code = send_set(nlx, msg, "app", ifname, &problem);
    /* A driver that holds one priority a DSCP drops the old entry itself (mlx5), and an entry
     * that is there is fine. */
    if (code != ERR_OK && problem.sys_errno == (add ? EEXIST : ENOENT))
        return ERR_OK;
    if (code != ERR_OK && err != NULL) {
        *err = problem;
        (void)err_context(err, "%s dscp %u to priority %u", add ? "add" : "delete", entry.dscp,
                          entry.priority);
    }
    return code;
}

enum err_code dcb_set_app(struct nlx *nlx, const char *ifname, const struct app_value *have,
                          const struct app_value *want, struct err *err)
{
    for (size_t i = 0; i < want->count; i++) {
        if (app_value_has(have, want->entries[i]))
            continue;
        enum err_code code = set_entry(nlx, ifname, true, want->entries[i], err);
        if (code != ERR_OK)
            return code;
    }
    for (size_t i = 0; i < have->count; i++) {
        if (app_value_has(want, have->entries[i]))
            continue;
        enum err_code code = set_entry(nlx, ifname, false, have->entries[i], err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

enum err_code dcb_get_mode(struct nlx *nlx, const char *ifname, bool *out_has, uint8_t *out,
                           struct err *err)
{
    *out_has = false;
    OWN(nl_msg) struct nl_msg *get = dcb_encode(RTM_GETDCB, DCB_CMD_GDCBX, ifname);
    if (get == NULL)
        return err_nomem(err);
    struct reply reply = {0};
    enum err_code code = nlx_txn(nlx, get, take_mode, &reply, err);
    if (code != ERR_OK)
        return code == ERR_UNSUPPORTED ? ERR_OK : code;
    *out_has = reply.came;
    *out = reply.mode;
    return ERR_OK;
}

enum err_code dcb_set_mode(struct nlx *nlx, const char *ifname, uint8_t mode, struct err *err)
{
    OWN(nl_msg) struct nl_msg *set = dcb_encode(RTM_SETDCB, DCB_CMD_SDCBX, ifname);
    if (set == NULL || nla_put_u8(set, DCB_ATTR_DCBX, mode) < 0)
        return err_nomem(err);
    struct reply answer = {.mode = 1};
    enum err_code code = nlx_txn(nlx, set, take_mode, &answer, err);
    if (code == ERR_OK && answer.mode != 0) /* it answers 0 or 1, no errno */
        code = err_set(err, ERR_UNSUPPORTED, "the driver refuses the DCBX mode 0x%02x", mode);
    return code;
}

enum err_code dcb_claim(struct nlx *nlx, const char *ifname, bool *out_host, struct err *err)
{
    bool has;
    uint8_t mode = 0;
    *out_host = true;
    enum err_code code = dcb_get_mode(nlx, ifname, &has, &mode, err);
    if (code != ERR_OK || !has || (mode & MODE_HOST) == MODE_HOST)
        return code;
    code = dcb_set_mode(nlx, ifname, MODE_HOST, err);
    *out_host = code == ERR_OK;
    return code == ERR_UNSUPPORTED ? ERR_OK : code;
}
