/*
 * datapath/nl/devlink.c - see devlink.h.
 */
#include "datapath/nl/devlink.h"

#include <errno.h>
#include <string.h>

#include <linux/devlink.h>
#include <linux/genetlink.h>

bool devlink_put_handle(struct nl_msg *msg, const char *bus, const char *device)
{
    return nla_put_string(msg, DEVLINK_ATTR_BUS_NAME, bus) >= 0 &&
           nla_put_string(msg, DEVLINK_ATTR_DEV_NAME, device) >= 0;
}

bool devlink_is_handle(struct nlattr *const *tb, const char *bus, const char *device)
{
    char have_bus[32], have_device[DEVLINK_TEXT_SIZE];
    return nlx_text(tb[DEVLINK_ATTR_BUS_NAME], have_bus, sizeof(have_bus)) &&
           nlx_text(tb[DEVLINK_ATTR_DEV_NAME], have_device, sizeof(have_device)) &&
           strcmp(have_bus, bus) == 0 && strcmp(have_device, device) == 0;
}

struct nl_msg *devlink_encode_info(uint16_t family, const char *bus, const char *device)
{
    struct nl_msg *msg = nlx_genl_new(family, DEVLINK_CMD_INFO_GET, 0);
    if (msg != NULL && !devlink_put_handle(msg, bus, device)) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

static void take_version(const struct nlattr *nest, struct devlink_versions *out)
{
    struct nlattr *tb[DEVLINK_ATTR_MAX + 1];
    if (out->count == DEVLINK_VERSIONS_MAX || !nlx_parse_nested(nest, tb, DEVLINK_ATTR_MAX))
        return;
    struct devlink_version *version = &out->items[out->count];
    if (nlx_text(tb[DEVLINK_ATTR_INFO_VERSION_NAME], version->name, sizeof(version->name)) &&
        nlx_text(tb[DEVLINK_ATTR_INFO_VERSION_VALUE], version->value, sizeof(version->value)))
        out->count++;
}

enum err_code devlink_decode_info(const struct nlmsghdr *msg, struct devlink_info *out,
                                  struct err *err)
{
    struct nlattr *tb[DEVLINK_ATTR_MAX + 1], *attr;
    if (!nlx_parse(msg, GENL_HDRLEN, tb, DEVLINK_ATTR_MAX))
        return err_set(err, ERR_IO, "the kernel's devlink answer is malformed");
    memset(out, 0, sizeof(*out));
    nlx_text(tb[DEVLINK_ATTR_INFO_DRIVER_NAME], out->driver, sizeof(out->driver));
    nlx_text(tb[DEVLINK_ATTR_INFO_SERIAL_NUMBER], out->serial, sizeof(out->serial));
    /* The three version lists are attributes that repeat, so that a table keeps only the last. */
    int left = nlmsg_attrlen(msg, GENL_HDRLEN);
    for (attr = nlmsg_attrdata(msg, GENL_HDRLEN); nla_ok(attr, left);
         attr = nla_next(attr, &left)) {
        int type = nla_type(attr);
        if (type == DEVLINK_ATTR_INFO_VERSION_FIXED)
            take_version(attr, &out->fixed);
        else if (type == DEVLINK_ATTR_INFO_VERSION_RUNNING)
            take_version(attr, &out->running);
        else if (type == DEVLINK_ATTR_INFO_VERSION_STORED)
            take_version(attr, &out->stored);
    }
    return ERR_OK;
}

const char *devlink_firmware(const struct devlink_versions *versions)
{
    static const char *const names[] = {"fw", "fw.version", "fw.mgmt"};
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
        for (size_t i = 0; i < versions->count; i++)
            if (strcmp(versions->items[i].name, names[n]) == 0)
                return versions->items[i].value;
    return NULL;
}

#define PSID_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

/* A driver may write anything there: the server would refuse the whole inventory for a wrong one.
 */
bool devlink_psid(const struct devlink_versions *fixed, const char *firmware,
                  char out[DEVLINK_PSID_SIZE])
{
    const char *psid = NULL, *open = strchr(firmware, '(');
    for (size_t i = 0; i < fixed->count; i++)
        if (strcmp(fixed->items[i].name, "fw.psid") == 0)
            psid = fixed->items[i].value;
    bool bare = psid != NULL;
    if (!bare && open != NULL)
        psid = open + 1;
    size_t len = psid == NULL ? 0 : strspn(psid, PSID_CHARS);
    if (len == 0 || len >= DEVLINK_PSID_SIZE || psid[len] != (bare ? '\0' : ')'))
        return false;
    memcpy(out, psid, len);
    out[len] = '\0';
    return true;
}

struct reply {
    bool came;
    struct devlink_info *info;
};

static enum err_code take_info(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct reply *reply = arg;
    reply->came = true;
    return devlink_decode_info(msg, reply->info, err);
}

enum err_code devlink_info_get(struct nlx *nlx, const char *bus, const char *device,
                               struct devlink_info *out, struct err *err)
{
    uint16_t family;
    enum err_code code = nlx_family(nlx, "devlink", &family, err);
    if (code != ERR_OK)
        return code;
    OWN(nl_msg) struct nl_msg *msg = devlink_encode_info(family, bus, device);
    if (msg == NULL)
        return err_nomem(err);
    struct reply reply = {.info = out};
    code = nlx_txn(nlx, msg, take_info, &reply, err);
    if (code == ERR_OK && !reply.came)
        code = err_set(err, ERR_IO, "the kernel gave no devlink answer");
    return code;
}
