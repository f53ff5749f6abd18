/*
 * datapath/nl/link.c - see link.h.
 */
#include "datapath/nl/link.h"

#include <string.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

struct nl_msg *link_encode(uint16_t type, int ifindex)
{
    const struct ifinfomsg header = {.ifi_family = AF_UNSPEC, .ifi_index = ifindex};
    return nlx_msg_new(type, 0, &header, sizeof(header), 256);
}

enum err_code link_decode(const struct nlmsghdr *msg, struct link_info *out, struct err *err)
{
    struct ifinfomsg header;
    struct nlattr *tb[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1];
    memset(out, 0, sizeof(*out));
    if ((msg->nlmsg_type != RTM_NEWLINK && msg->nlmsg_type != RTM_DELLINK) ||
        !nlx_parse(msg, sizeof(header), tb, IFLA_MAX))
        return err_set(err, ERR_IO, "the kernel's link answer is malformed");
    memcpy(&header, nlmsg_data(msg), sizeof(header));
    out->ifindex = header.ifi_index;
    if (header.ifi_index <= 0 || !nlx_text(tb[IFLA_IFNAME], out->name, sizeof(out->name)))
        return err_set(err, ERR_IO, "the kernel's link answer has no name or index");
    nlx_u32(tb[IFLA_MTU], &out->mtu_bytes);
    nlx_u32(tb[IFLA_MIN_MTU], &out->mtu_min_bytes);
    nlx_u32(tb[IFLA_MAX_MTU], &out->mtu_max_bytes);
    if (nlx_parse_nested(tb[IFLA_LINKINFO], info, IFLA_INFO_MAX))
        nlx_text(info[IFLA_INFO_KIND], out->kind, sizeof(out->kind));
    return ERR_OK;
}

void link_list_release(struct link_list *list)
{
    free(list->items);
    *list = (struct link_list){0};
}

static enum err_code take_link(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct link_list *list = arg;
    if (list->count == LINKS_MAX)
        return err_set(err, ERR_LIMIT, "this node has more than %d interfaces", LINKS_MAX);
    if (list->count % 16 == 0) {
        struct link_info *grown = realloc(list->items, (list->count + 16) * sizeof(list->items[0]));
        if (grown == NULL)
            return err_nomem(err);
        list->items = grown;
    }
    enum err_code code = link_decode(msg, &list->items[list->count], err);
    if (code == ERR_OK)
        list->count++;
    return code;
}

static void restart(void *arg)
{
    ((struct link_list *)arg)->count = 0;
}

enum err_code link_list(struct nlx *nlx, struct link_list *out, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = link_encode(RTM_GETLINK, 0);
    if (msg == NULL)
        return err_nomem(err);
    OWN_LINKS struct link_list list = {0};
    enum err_code code = nlx_dump(nlx, msg, take_link, restart, &list, err);
    if (code != ERR_OK) {
        (void)err_context(err, "list the interfaces");
        return code;
    }
    link_list_release(out);
    *out = list;
    list = (struct link_list){0};
    return ERR_OK;
}

static enum err_code take_one(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    return link_decode(msg, arg, err);
}

enum err_code link_get(struct nlx *nlx, int ifindex, struct link_info *out, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = link_encode(RTM_GETLINK, ifindex);
    if (msg == NULL)
        return err_nomem(err);
    struct link_info info = {0};
    enum err_code code = nlx_txn(nlx, msg, take_one, &info, err);
    if (code == ERR_OK && info.ifindex == 0)
        code = err_set(err, ERR_IO, "the kernel gave no link answer");
    if (code == ERR_OK)
        *out = info;
    return code;
}

enum err_code link_set_mtu(struct nlx *nlx, int ifindex, uint32_t mtu_bytes, struct err *err)
{
    OWN(nl_msg) struct nl_msg *msg = link_encode(RTM_NEWLINK, ifindex);
    if (msg == NULL || nla_put_u32(msg, IFLA_MTU, mtu_bytes) < 0)
        return err_nomem(err);
    return nlx_txn(nlx, msg, NULL, NULL, err);
}
