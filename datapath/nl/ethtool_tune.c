/*
 * datapath/nl/ethtool_tune.c - see ethtool_tune.h.
 */
#include "datapath/nl/ethtool_tune.h"

#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

#include "datapath/nl/ethtool.h"

/* net/ethtool/coalesce.c leaves out of an answer what the driver does not support. */
static const struct {
    int attr;
    bool is_bool; /* a byte; else 32 bits */
} coalesce_attrs[COALESCE_IDS] = {
    [COALESCE_ADAPTIVE_RX] = {ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, true},
    [COALESCE_ADAPTIVE_TX] = {ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, true},
    [COALESCE_RX_FRAMES] = {ETHTOOL_A_COALESCE_RX_MAX_FRAMES, false},
    [COALESCE_RX_USECS] = {ETHTOOL_A_COALESCE_RX_USECS, false},
    [COALESCE_TX_FRAMES] = {ETHTOOL_A_COALESCE_TX_MAX_FRAMES, false},
    [COALESCE_TX_USECS] = {ETHTOOL_A_COALESCE_TX_USECS, false},
};

struct nl_msg *ethtool_encode_pause(uint16_t family, const char *ifname,
                                    const struct pause_value *value)
{
    struct nl_msg *msg = ethtool_encode(family, ETHTOOL_MSG_PAUSE_SET, ifname);
    if (msg != NULL && (nla_put_u8(msg, ETHTOOL_A_PAUSE_RX, value->rx) < 0 ||
                        nla_put_u8(msg, ETHTOOL_A_PAUSE_TX, value->tx) < 0)) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

struct nl_msg *ethtool_encode_coalesce(uint16_t family, const char *ifname,
                                       const struct coalesce *value)
{
    struct nl_msg *msg = ethtool_encode(family, ETHTOOL_MSG_COALESCE_SET, ifname);
    for (int i = 0; msg != NULL && i < COALESCE_IDS; i++) {
        if ((value->present & coalesce_bit(i)) == 0)
            continue;
        int rc = coalesce_attrs[i].is_bool
                     ? nla_put_u8(msg, coalesce_attrs[i].attr, value->values[i] != 0)
                     : nla_put_u32(msg, coalesce_attrs[i].attr, value->values[i]);
        if (rc < 0) {
            nlmsg_free(msg);
            msg = NULL;
        }
    }
    return msg;
}

enum err_code ethtool_decode_pause(const struct nlmsghdr *msg, struct pause_value *out,
                                   struct err *err)
{
    struct nlattr *tb[ETHTOOL_A_PAUSE_MAX + 1];
    uint8_t rx, tx;
    if (!nlx_parse(msg, GENL_HDRLEN, tb, ETHTOOL_A_PAUSE_MAX) ||
        !nlx_u8(tb[ETHTOOL_A_PAUSE_RX], &rx) || !nlx_u8(tb[ETHTOOL_A_PAUSE_TX], &tx))
        return err_set(err, ERR_IO, "the kernel's ethtool answer is malformed");
    *out = (struct pause_value){.rx = rx != 0, .tx = tx != 0};
    return ERR_OK;
}

enum err_code ethtool_decode_coalesce(const struct nlmsghdr *msg, struct coalesce *out,
                                      struct err *err)
{
    struct nlattr *tb[ETHTOOL_A_COALESCE_MAX + 1];
    if (!nlx_parse(msg, GENL_HDRLEN, tb, ETHTOOL_A_COALESCE_MAX))
        return err_set(err, ERR_IO, "the kernel's ethtool answer is malformed");
    struct coalesce value = {.present = 0};
    for (int i = 0; i < COALESCE_IDS; i++) {
        const struct nlattr *attr = tb[coalesce_attrs[i].attr];
        uint8_t on = 0;
        bool there =
            coalesce_attrs[i].is_bool ? nlx_u8(attr, &on) : nlx_u32(attr, &value.values[i]);
        if (coalesce_attrs[i].is_bool)
            value.values[i] = on != 0;
        if (there)
            value.present |= coalesce_bit(i);
    }
    *out = value;
    return ERR_OK;
}

struct answer {
    bool came;
    struct pause_value pause;
    struct coalesce coalesce;
};

static enum err_code take_pause(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct answer *answer = arg;
    answer->came = true;
    return ethtool_decode_pause(msg, &answer->pause, err);
}

static enum err_code take_coalesce(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct answer *answer = arg;
    answer->came = true;
    return ethtool_decode_coalesce(msg, &answer->coalesce, err);
}

static enum err_code get(struct nlx *nlx, const char *ifname, uint8_t command,
                         nlx_reply_fn *on_reply, struct answer *answer, struct err *err)
{
    *answer = (struct answer){.came = false};
    enum err_code code = ethtool_query(nlx, command, ifname, on_reply, answer, err);
    if (code == ERR_OK && !answer->came)
        code = err_set(err, ERR_IO, "the kernel gave no ethtool answer");
    return code;
}

enum err_code ethtool_pause_get(struct nlx *nlx, const char *ifname, struct pause_value *out,
                                struct err *err)
{
    struct answer answer;
    enum err_code code = get(nlx, ifname, ETHTOOL_MSG_PAUSE_GET, take_pause, &answer, err);
    if (code == ERR_OK)
        *out = answer.pause;
    return code;
}

enum err_code ethtool_coalesce_get(struct nlx *nlx, const char *ifname, struct coalesce *out,
                                   struct err *err)
{
    struct answer answer;
    enum err_code code = get(nlx, ifname, ETHTOOL_MSG_COALESCE_GET, take_coalesce, &answer, err);
    if (code == ERR_OK)
        *out = answer.coalesce;
    return code;
}

static enum err_code send_msg(struct nlx *nlx, struct nl_msg *msg, struct err *err)
{
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}

enum err_code ethtool_pause_set(struct nlx *nlx, const char *ifname,
                                const struct pause_value *value, struct err *err)
{
    uint16_t family;
    enum err_code code = nlx_family(nlx, ETHTOOL_GENL_NAME, &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg) struct nl_msg *msg = ethtool_encode_pause(family, ifname, value);
    return send_msg(nlx, msg, err);
}

enum err_code ethtool_coalesce_set(struct nlx *nlx, const char *ifname,
                                   const struct coalesce *value, struct err *err)
{
    uint16_t family;
    enum err_code code = nlx_family(nlx, ETHTOOL_GENL_NAME, &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg) struct nl_msg *msg = ethtool_encode_coalesce(family, ifname, value);
    return send_msg(nlx, msg, err);
}
