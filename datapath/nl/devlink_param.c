/*
 * datapath/nl/devlink_param.c - see devlink_param.h.
 */
#include "datapath/nl/devlink_param.h"

#include <errno.h>
#include <string.h>

#include <linux/devlink.h>
#include <linux/genetlink.h>

#include "datapath/nl/devlink.h"

/* The kernel sends its own internal types, which are netlink's (net/devlink, devlink_param_type).
 */
static const struct {
    uint8_t kernel;
    enum devlink_type type;
} types[] = {
    {NLA_FLAG, DEVLINK_TYPE_BOOL}, {NLA_U8, DEVLINK_TYPE_U8},       {NLA_U16, DEVLINK_TYPE_U16},
    {NLA_U32, DEVLINK_TYPE_U32},   {NLA_STRING, DEVLINK_TYPE_TEXT},
};
#define TYPES (sizeof(types) / sizeof(types[0]))

struct nl_msg *devlink_param_encode_get(uint16_t family, const char *bus, const char *device,
                                        const char *name)
{
    OWN(nl_msg) struct nl_msg *msg = nlx_genl_new(family, DEVLINK_CMD_PARAM_GET, 0);
    if (msg == NULL)
        return NULL;
    if (name != NULL && (!devlink_put_handle(msg, bus, device) ||
                         nla_put_string(msg, DEVLINK_ATTR_PARAM_NAME, name) < 0))
        return NULL;
    return GIVE(msg);
}

static bool put_value(struct nl_msg *msg, enum devlink_type type, const struct devlink_value *value)
{
    switch (type) {
    case DEVLINK_TYPE_BOOL:
        return value->number == 0 || nla_put_flag(msg, DEVLINK_ATTR_PARAM_VALUE_DATA) == 0;
    case DEVLINK_TYPE_U8:
        return nla_put_u8(msg, DEVLINK_ATTR_PARAM_VALUE_DATA, (uint8_t)value->number) == 0;
    case DEVLINK_TYPE_U16:
        return nla_put_u16(msg, DEVLINK_ATTR_PARAM_VALUE_DATA, (uint16_t)value->number) == 0;
    case DEVLINK_TYPE_U32:
        return nla_put_u32(msg, DEVLINK_ATTR_PARAM_VALUE_DATA, value->number) == 0;
    case DEVLINK_TYPE_TEXT:
        return nla_put_string(msg, DEVLINK_ATTR_PARAM_VALUE_DATA, value->text) == 0;
    }
    return false;
}

static uint8_t kernel_type(enum devlink_type type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].type == type)
            return types[i].kernel;
    return 0;
}

struct nl_msg *devlink_param_encode_set(uint16_t family, const char *bus, const char *device,
                                        const struct devlink_param *param, enum devlink_cmode cmode,
                                        const struct devlink_value *value)
{
    OWN(nl_msg) struct nl_msg *msg = nlx_genl_new(family, DEVLINK_CMD_PARAM_SET, 0);
    if (msg == NULL || !devlink_put_handle(msg, bus, device) ||
        nla_put_string(msg, DEVLINK_ATTR_PARAM_NAME, param->name) < 0 ||
        nla_put_u8(msg, DEVLINK_ATTR_PARAM_TYPE, kernel_type(param->type)) < 0 ||
        nla_put_u8(msg, DEVLINK_ATTR_PARAM_VALUE_CMODE, (uint8_t)cmode) < 0 ||
        !put_value(msg, param->type, value))
        return NULL;
    return GIVE(msg);
}

static bool take_type(const struct nlattr *attr, enum devlink_type *out)
{
    uint8_t kernel;
    if (!nlx_u8(attr, &kernel))
        return false;
    for (size_t i = 0; i < TYPES; i++) {
        if (types[i].kernel == kernel) {
            *out = types[i].type;
            return true;
        }
    }
    return false;
}

static bool take_data(const struct nlattr *attr, enum devlink_type type, struct devlink_value *out)
{
    uint8_t u8 = 0;
    uint16_t u16 = 0;
    bool good = false;
    *out = (struct devlink_value){.number = 0};
    switch (type) {
    case DEVLINK_TYPE_BOOL:
        out->number = attr != NULL;
        return true;
    case DEVLINK_TYPE_U8:
        good = nlx_u8(attr, &u8);
        out->number = u8;
        return good;
    case DEVLINK_TYPE_U16:
        good = nlx_u16(attr, &u16);
        out->number = u16;
        return good;
    case DEVLINK_TYPE_U32:
        return nlx_u32(attr, &out->number);
    case DEVLINK_TYPE_TEXT:
        return nlx_text(attr, out->text, sizeof(out->text));
    }
    return false;
}

/* One value; of a cmode that this version does not know: none. */
static bool take_value(const struct nlattr *nest, struct devlink_param *out)
{
    struct nlattr *tb[DEVLINK_ATTR_MAX + 1];
    uint8_t cmode;
    if (!nlx_parse_nested(nest, tb, DEVLINK_ATTR_MAX) ||
        !nlx_u8(tb[DEVLINK_ATTR_PARAM_VALUE_CMODE], &cmode))
        return false;
    if (cmode >= DEVLINK_CMODES)
        return true;
    out->has[cmode] = take_data(tb[DEVLINK_ATTR_PARAM_VALUE_DATA], out->type, &out->values[cmode]);
    return out->has[cmode];
}

static bool take_values(const struct nlattr *list, struct devlink_param *out)
{
    if (list == NULL)
        return false;
    int left = nla_len(list);
    for (const struct nlattr *attr = nla_data(list); nla_ok(attr, left);
         attr = nla_next(attr, &left))
        if (nla_type(attr) == DEVLINK_ATTR_PARAM_VALUE && !take_value(attr, out))
            return false;
    return true;
}

enum err_code devlink_param_decode(const struct nlmsghdr *msg, const char *bus, const char *device,
                                   struct devlink_param *out, bool *out_ours, struct err *err)
{
    struct nlattr *tb[DEVLINK_ATTR_MAX + 1], *param[DEVLINK_ATTR_MAX + 1];
    *out = (struct devlink_param){.type = DEVLINK_TYPE_BOOL};
    *out_ours = false;
    if (!nlx_parse(msg, GENL_HDRLEN, tb, DEVLINK_ATTR_MAX))
        return err_set(err, ERR_IO, "the kernel's answer about device parameters is malformed");
    if (!devlink_is_handle(tb, bus, device))
        return ERR_OK;
    *out_ours = true;
    if (!nlx_parse_nested(tb[DEVLINK_ATTR_PARAM], param, DEVLINK_ATTR_MAX) ||
        !nlx_text(param[DEVLINK_ATTR_PARAM_NAME], out->name, sizeof(out->name)) ||
        !take_type(param[DEVLINK_ATTR_PARAM_TYPE], &out->type) ||
        !take_values(param[DEVLINK_ATTR_PARAM_VALUES_LIST], out))
        return err_set(err, ERR_IO,
                       "the kernel's answer about device parameter \"%s\" is malformed", out->name);
    return ERR_OK;
}

/* Transactions -------------------------------------------------------------------------------- */

struct take {
    const char *bus, *device;
    struct devlink_param_list *list; /* of a dump */
    struct devlink_param *one;
    bool came;
};

static enum err_code take_one(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct take *take = arg;
    bool ours;
    enum err_code code = devlink_param_decode(msg, take->bus, take->device, take->one, &ours, err);
    take->came |= code == ERR_OK && ours;
    return code;
}

static enum err_code take_each(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct take *take = arg;
    struct devlink_param param;
    bool ours;
    enum err_code code = devlink_param_decode(msg, take->bus, take->device, &param, &ours, err);
    if (code != ERR_OK || !ours)
        return code;
    take->list->truncated |= take->list->count == DEVLINK_PARAMS_MAX;
    if (take->list->count < DEVLINK_PARAMS_MAX)
        take->list->items[take->list->count++] = param;
    return ERR_OK;
}

static void start_again(void *arg)
{
    struct take *take = arg;
    take->list->count = 0;
    take->list->truncated = false;
}

enum err_code devlink_param_get(struct nlx *nlx, const char *bus, const char *device,
                                const char *name, struct devlink_param *out, struct err *err)
{
    uint16_t family;
    enum err_code code = nlx_family(nlx, "devlink", &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg) struct nl_msg *msg = devlink_param_encode_get(family, bus, device, name);
    if (msg == NULL)
        return err_nomem(err);
    struct take take = {.bus = bus, .device = device, .one = out};
    struct err own = ERR_INIT, *why = err == NULL ? &own : err;
    code = nlx_txn(nlx, msg, take_one, &take, why);
    /* net/devlink: EINVAL is a name that the device does not have. */
    if (code == ERR_UNSUPPORTED || (code == ERR_IO && why->sys_errno == EINVAL))
        return err_set(err, ERR_UNSUPPORTED, "the device %s/%s has no parameter %s", bus, device,
                       name);
    if (code == ERR_OK && !take.came)
        code = err_set(err, ERR_IO, "the kernel gave no answer about parameter %s", name);
    return code;
}

enum err_code devlink_param_all(struct nlx *nlx, const char *bus, const char *device,
                                struct devlink_param_list *out, struct err *err)
{
    uint16_t family;
    enum err_code code = nlx_family(nlx, "devlink", &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg) struct nl_msg *msg = devlink_param_encode_get(family, bus, device, NULL);
    if (msg == NULL)
        return err_nomem(err);
    struct take take = {.bus = bus, .device = device, .list = out};
    start_again(&take);
    return nlx_dump(nlx, msg, take_each, start_again, &take, err);
}

enum err_code devlink_param_set(struct nlx *nlx, const char *bus, const char *device,
                                const struct devlink_param *param, enum devlink_cmode cmode,
                                const struct devlink_value *value, struct err *err)
{
    uint16_t family;
    enum err_code code = nlx_family(nlx, "devlink", &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg)
    struct nl_msg *msg = devlink_param_encode_set(family, bus, device, param, cmode, value);
    return msg == NULL ? err_nomem(err) : nlx_txn(nlx, msg, NULL, NULL, err);
}
