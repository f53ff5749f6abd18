/*
 * datapath/nl/nlx_msg.c - making requests and reading attributes; see nlx.h.
 */
#include "datapath/nl/nlx.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <linux/genetlink.h>

#include "base/text.h"

enum err_code nlx_code_of_errno(int sys_errno)
{
    switch (sys_errno) {
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case ENOPROTOOPT:
        return ERR_UNSUPPORTED;
    case EPERM:
    case EACCES:
        return ERR_DENIED;
    case ENOSPC:
        return ERR_LIMIT;
    case ENODEV:
    case ENOENT:
    case ESRCH:
        return ERR_NOT_FOUND;
    case EEXIST:
    case EBUSY:
        return ERR_CONFLICT;
    case EAGAIN:
    case ETIMEDOUT:
        return ERR_UNAVAILABLE;
    default:
        return ERR_IO;
    }
}

struct nl_msg *nlx_msg_new(uint16_t type, uint16_t flags, const void *header, size_t header_len,
                           size_t size)
{
    struct nl_msg *msg = nlmsg_alloc_size(NLMSG_HDRLEN + header_len + size + 64);
    if (msg == NULL)
        return NULL;
    if (nlmsg_put(msg, 0, 0, type, 0, flags | NLM_F_REQUEST) == NULL ||
        (header_len > 0 &&
         nlmsg_append(msg, (void *)(uintptr_t)header, header_len, NLMSG_ALIGNTO) < 0)) {
        nlmsg_free(msg);
        return NULL;
    }
    return msg;
}

struct nl_msg *nlx_genl_new(uint16_t family, uint8_t command, uint16_t flags)
{
    const struct genlmsghdr header = {.cmd = command, .version = 1};
    return nlx_msg_new(family, flags, &header, sizeof(header), 1024);
}

bool nlx_parse(const struct nlmsghdr *msg, size_t header_len, struct nlattr **tb, int max)
{
    if (!nlmsg_valid_hdr(msg, (int)header_len))
        return false;
    return nla_parse(tb, max, nlmsg_attrdata(msg, (int)header_len),
                     nlmsg_attrlen(msg, (int)header_len), NULL) == 0;
}

bool nlx_parse_nested(const struct nlattr *nest, struct nlattr **tb, int max)
{
    memset(tb, 0, sizeof(*tb) * ((size_t)max + 1));
    return nest != NULL && nla_parse(tb, max, nla_data(nest), nla_len(nest), NULL) == 0;
}

bool nlx_struct(const struct nlattr *attr, void *out, size_t size)
{
    if (attr == NULL || nla_len(attr) < (int)size)
        return false;
    memcpy(out, nla_data(attr), size);
    return true;
}

bool nlx_u8(const struct nlattr *attr, uint8_t *out)
{
    return nlx_struct(attr, out, sizeof(*out));
}

bool nlx_u16(const struct nlattr *attr, uint16_t *out)
{
    return nlx_struct(attr, out, sizeof(*out));
}

bool nlx_u32(const struct nlattr *attr, uint32_t *out)
{
    return nlx_struct(attr, out, sizeof(*out));
}

bool nlx_u64(const struct nlattr *attr, uint64_t *out)
{
    return nlx_struct(attr, out, sizeof(*out));
}

bool nlx_text(const struct nlattr *attr, char *out, size_t size)
{
    out[0] = '\0';
    if (attr == NULL)
        return false;
    size_t len = strnlen(nla_data(attr), (size_t)nla_len(attr));
    snprintf(out, size, "%.*s", (int)len, (const char *)nla_data(attr));
    text_clean(out, "");
    return true;
}

/* Generic netlink families -------------------------------------------------------------------- */

static enum err_code take_family(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct nlattr *tb[CTRL_ATTR_MAX + 1];
    if (!nlx_parse(msg, GENL_HDRLEN, tb, CTRL_ATTR_MAX) || !nlx_u16(tb[CTRL_ATTR_FAMILY_ID], arg))
        return err_set(err, ERR_IO, "the kernel's answer about a family is malformed");
    return ERR_OK;
}

enum err_code nlx_family(struct nlx *nlx, const char *name, uint16_t *out, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = nlx_genl_new(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
    if (msg == NULL || nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, name) < 0)
        return err_nomem(err);
    uint16_t family = 0;
    enum err_code code = nlx_txn(nlx, msg, take_family, &family, err);
    if (code == ERR_NOT_FOUND || (code == ERR_OK && family == 0))
        return err_set(err, ERR_UNSUPPORTED, "this kernel has no netlink family %s", name);
    if (code == ERR_OK)
        *out = family;
    return code;
}
