/*
 * datapath/nl/devlink_rate.c - see devlink_rate.h.
 */
#include "datapath/nl/devlink_rate.h"

#include <stdio.h>
#include <string.h>

#include <linux/devlink.h>
#include <linux/genetlink.h>

#include "datapath/nl/devlink.h"

#define BITS_A_BYTE 8

uint64_t devlink_rate_bytes(int64_t rate_bps)
{
    return rate_bps == RATE_NONE ? 0 : (uint64_t)rate_bps / BITS_A_BYTE;
}

/* Requests ------------------------------------------------------------------------------------ */

struct nl_msg *devlink_port_encode_all(uint16_t family)
{
    return nlx_genl_new(family, DEVLINK_CMD_PORT_GET, 0);
}

struct nl_msg *devlink_rate_encode_all(uint16_t family)
{
    return nlx_genl_new(family, DEVLINK_CMD_RATE_GET, 0);
}

static bool put_values(struct nl_msg *msg, const struct devlink_rate *rate)
{
    uint64_t share = devlink_rate_bytes(rate->value.tx_share_bps);
    uint64_t max = devlink_rate_bytes(rate->value.tx_max_bps);
    return nla_put_u64(msg, DEVLINK_ATTR_RATE_TX_SHARE, share) == 0 &&
           nla_put_u64(msg, DEVLINK_ATTR_RATE_TX_MAX, max) == 0 &&
           (rate->is_node || rate->keep_parent ||
            nla_put_string(msg, DEVLINK_ATTR_RATE_PARENT_NODE_NAME, rate->value.parent) == 0);
}

struct nl_msg *devlink_rate_encode(uint16_t family, const char *bus, const char *device,
                                   enum devlink_rate_op op, const struct devlink_rate *rate)
{
    static const uint8_t commands[] = {
        [DEVLINK_RATE_SET] = DEVLINK_CMD_RATE_SET,
        [DEVLINK_RATE_NEW] = DEVLINK_CMD_RATE_NEW,
        [DEVLINK_RATE_DEL] = DEVLINK_CMD_RATE_DEL,
    };
    OWN(nl_msg) struct nl_msg *msg = nlx_genl_new(family, commands[op], 0);
    if (msg == NULL || !devlink_put_handle(msg, bus, device))
        return NULL;
    if (rate->is_node ? nla_put_string(msg, DEVLINK_ATTR_RATE_NODE_NAME, rate->node) < 0
                      : nla_put_u32(msg, DEVLINK_ATTR_PORT_INDEX, rate->port_index) < 0)
        return NULL;
    if (op != DEVLINK_RATE_DEL && !put_values(msg, rate))
        return NULL;
    return GIVE(msg);
}

/* Answers ------------------------------------------------------------------------------------- */

/* As net/devlink names representors (devlink_port_phys_port_name_get). */
static void name_port(struct nlattr *const *tb, struct devlink_port *out)
{
    uint16_t flavour = UINT16_MAX, pf = 0;
    uint32_t number = out->index, sf = 0, controller = 0;
    char head[16] = "";
    nlx_u16(tb[DEVLINK_ATTR_PORT_FLAVOUR], &flavour);
    nlx_u32(tb[DEVLINK_ATTR_PORT_NUMBER], &number);
    nlx_u16(tb[DEVLINK_ATTR_PORT_PCI_PF_NUMBER], &pf);
    nlx_u32(tb[DEVLINK_ATTR_PORT_PCI_SF_NUMBER], &sf);
    if (nlx_u32(tb[DEVLINK_ATTR_PORT_CONTROLLER_NUMBER], &controller) && controller != 0)
        snprintf(head, sizeof(head), "c%u", (unsigned)controller);
    out->pf = pf;
    uint16_t vf = 0;
    out->is_vf =
        flavour == DEVLINK_PORT_FLAVOUR_PCI_VF && nlx_u16(tb[DEVLINK_ATTR_PORT_PCI_VF_NUMBER], &vf);
    out->vf = vf;
    if (out->is_vf)
        snprintf(out->name, sizeof(out->name), "%spf%uvf%u", head, pf, vf);
    else if (flavour == DEVLINK_PORT_FLAVOUR_PCI_SF)
        snprintf(out->name, sizeof(out->name), "%spf%usf%u", head, pf, (unsigned)sf);
    else if (flavour == DEVLINK_PORT_FLAVOUR_PCI_PF)
        snprintf(out->name, sizeof(out->name), "%spf%u", head, pf);
    else
        snprintf(out->name, sizeof(out->name), "p%u", (unsigned)number);
}

enum err_code devlink_port_decode(const struct nlmsghdr *msg, const char *bus, const char *device,
                                  struct devlink_port *out, bool *out_ours, struct err *err)
{
    struct nlattr *tb[DEVLINK_ATTR_MAX + 1];
    *out = (struct devlink_port){.ifindex = 0};
    *out_ours = false;
    if (!nlx_parse(msg, GENL_HDRLEN, tb, DEVLINK_ATTR_MAX))
        return err_set(err, ERR_IO, "the kernel's answer about device ports is malformed");
    if (!devlink_is_handle(tb, bus, device))
        return ERR_OK;
    if (!nlx_u32(tb[DEVLINK_ATTR_PORT_INDEX], &out->index))
        return err_set(err, ERR_IO, "the kernel's answer about device ports has no index");
    nlx_u32(tb[DEVLINK_ATTR_PORT_NETDEV_IFINDEX], &out->ifindex);
    name_port(tb, out);
    *out_ours = true;
    return ERR_OK;
}

static int64_t take_rate(const struct nlattr *attr)
{
    uint64_t bytes = 0;
    if (!nlx_u64(attr, &bytes) || bytes == 0)
        return RATE_NONE;
    return bytes > INT64_MAX / BITS_A_BYTE ? INT64_MAX : (int64_t)bytes * BITS_A_BYTE;
}

enum err_code devlink_rate_decode(const struct nlmsghdr *msg, const char *bus, const char *device,
                                  struct devlink_rate *out, bool *out_ours, struct err *err)
{
    struct nlattr *tb[DEVLINK_ATTR_MAX + 1];
    uint16_t type;
    *out = (struct devlink_rate){.port_index = 0};
    *out_ours = false;
    if (!nlx_parse(msg, GENL_HDRLEN, tb, DEVLINK_ATTR_MAX))
        return err_set(err, ERR_IO, "the kernel's answer about rates is malformed");
    if (!devlink_is_handle(tb, bus, device))
        return ERR_OK;
    bool whole = nlx_u16(tb[DEVLINK_ATTR_RATE_TYPE], &type);
    out->is_node = whole && type == DEVLINK_RATE_TYPE_NODE;
    if (out->is_node)
        whole = nlx_text(tb[DEVLINK_ATTR_RATE_NODE_NAME], out->node, sizeof(out->node));
    else
        whole = whole && nlx_u32(tb[DEVLINK_ATTR_PORT_INDEX], &out->port_index);
    if (!whole)
        return err_set(err, ERR_IO, "the kernel's answer about rates names neither port nor node");
    out->value.tx_share_bps = take_rate(tb[DEVLINK_ATTR_RATE_TX_SHARE]);
    out->value.tx_max_bps = take_rate(tb[DEVLINK_ATTR_RATE_TX_MAX]);
    nlx_text(tb[DEVLINK_ATTR_RATE_PARENT_NODE_NAME], out->value.parent, sizeof(out->value.parent));
    *out_ours = true;
    return ERR_OK;
}

/* Transactions -------------------------------------------------------------------------------- */

struct take {
    const char *bus, *device;
    struct devlink_port_list *ports; /* of one dump or the other */
    struct devlink_rate_list *rates;
};

static void start_again(void *arg)
{
    struct take *take = arg;
    if (take->ports != NULL) {
        take->ports->count = 0;
        take->ports->truncated = false;
    }
    if (take->rates != NULL) {
        take->rates->count = 0;
        take->rates->truncated = false;
    }
}

static enum err_code take_port(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct take *take = arg;
    struct devlink_port port;
    bool ours;
    enum err_code code = devlink_port_decode(msg, take->bus, take->device, &port, &ours, err);
    if (code != ERR_OK || !ours)
        return code;
    take->ports->truncated |= take->ports->count == DEVLINK_PORTS_MAX;
    if (take->ports->count < DEVLINK_PORTS_MAX)
        take->ports->items[take->ports->count++] = port;
    return ERR_OK;
}

static enum err_code take_each_rate(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct take *take = arg;
    struct devlink_rate rate;
    bool ours;
    enum err_code code = devlink_rate_decode(msg, take->bus, take->device, &rate, &ours, err);
    if (code != ERR_OK || !ours)
        return code;
    take->rates->truncated |= take->rates->count == DEVLINK_RATES_MAX;
    if (take->rates->count < DEVLINK_RATES_MAX)
        take->rates->items[take->rates->count++] = rate;
    return ERR_OK;
}

static enum err_code dump(struct nlx *nlx, struct nl_msg *(*encode)(uint16_t family),
                          nlx_reply_fn *on_reply, struct take *take, struct err *err)
{
    uint16_t family;
    enum err_code code = nlx_family(nlx, "devlink", &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg) struct nl_msg *msg = encode(family);
    if (msg == NULL)
        return err_nomem(err);
    start_again(take);
    return nlx_dump(nlx, msg, on_reply, start_again, take, err);
}

enum err_code devlink_port_all(struct nlx *nlx, const char *bus, const char *device,
                               struct devlink_port_list *out, struct err *err)
{
    struct take take = {.bus = bus, .device = device, .ports = out};
    return dump(nlx, devlink_port_encode_all, take_port, &take, err);
}

enum err_code devlink_rate_all(struct nlx *nlx, const char *bus, const char *device,
                               struct devlink_rate_list *out, struct err *err)
{
    struct take take = {.bus = bus, .device = device, .rates = out};
    return dump(nlx, devlink_rate_encode_all, take_each_rate, &take, err);
}

enum err_code devlink_rate_do(struct nlx *nlx, const char *bus, const char *device,
                              enum devlink_rate_op op, const struct devlink_rate *rate,
                              struct err *err)
{
    uint16_t family;
    enum err_code code = nlx_family(nlx, "devlink", &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg) struct nl_msg *msg = devlink_rate_encode(family, bus, device, op, rate);
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}
