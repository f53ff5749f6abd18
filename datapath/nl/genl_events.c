/*
 * datapath/nl/genl_events.c - see genl_events.h.
 */
#include "datapath/nl/genl_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/devlink.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

struct genl_events {
    struct nl_sock *sock;
    uint16_t devlink; /* family; 0 = not there */
    uint16_t ethtool;
    uint32_t buffer[8 * 1024]; /* aligned as messages are */
};

bool genl_events_is_news(bool devlink, uint8_t command)
{
    if (!devlink)
        return true; /* ethtool tells of settings only */
    switch (command) {
    case DEVLINK_CMD_NEW:
    case DEVLINK_CMD_DEL:
    case DEVLINK_CMD_PORT_NEW:
    case DEVLINK_CMD_PORT_DEL:
    case DEVLINK_CMD_PARAM_NEW:
    case DEVLINK_CMD_PARAM_DEL:
    case DEVLINK_CMD_RATE_NEW: /* a change, too */
    case DEVLINK_CMD_RATE_DEL:
    case DEVLINK_CMD_FLASH_UPDATE_END:
        return true;
    default:
        return false;
    }
}

uint32_t genl_events_group(const struct nlmsghdr *msg, const char *name)
{
    struct nlattr *tb[CTRL_ATTR_MAX + 1], *group;
    int left;
    if (!nlx_parse(msg, GENL_HDRLEN, tb, CTRL_ATTR_MAX) || tb[CTRL_ATTR_MCAST_GROUPS] == NULL)
        return 0;
    nla_for_each_nested(group, tb[CTRL_ATTR_MCAST_GROUPS], left)
    {
        struct nlattr *fields[CTRL_ATTR_MCAST_GRP_MAX + 1];
        char text[GENL_NAMSIZ];
        uint32_t id = 0;
        if (nlx_parse_nested(group, fields, CTRL_ATTR_MCAST_GRP_MAX) &&
            nlx_text(fields[CTRL_ATTR_MCAST_GRP_NAME], text, sizeof(text)) &&
            strcmp(text, name) == 0 && nlx_u32(fields[CTRL_ATTR_MCAST_GRP_ID], &id))
            return id;
    }
    return 0;
}

struct lookup {
    const char *name;
    uint32_t group; /* out */
};

static enum err_code take_family(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    struct lookup *lookup = arg;
    (void)err;
    lookup->group = genl_events_group(msg, lookup->name);
    return ERR_OK;
}

/* Joins the family's group; 0 = this kernel has it not. */
static uint16_t join(struct genl_events *events, struct nlx *nlx, const char *family,
                     const char *group)
{
    uint16_t id;
    struct lookup lookup = {.name = group};
    OWN(nl_msg) struct nl_msg *msg = nlx_genl_new(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
    if (msg == NULL || nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, family) < 0 ||
        nlx_family(nlx, family, &id, NULL) != ERR_OK ||
        nlx_txn(nlx, msg, take_family, &lookup, NULL) != ERR_OK || lookup.group == 0 ||
        nl_socket_add_memberships(events->sock, (int)lookup.group, 0) < 0)
        return 0;
    return id;
}

enum err_code genl_events_open(struct nlx *nlx, struct genl_events **out, struct err *err)
{
    OWN(genl_events) struct genl_events *events = calloc(1, sizeof(*events));
    if (events == NULL || (events->sock = nl_socket_alloc()) == NULL)
        return err_nomem(err);
    int rc = nl_connect(events->sock, NETLINK_GENERIC);
    if (rc >= 0)
        rc = nl_socket_set_nonblocking(events->sock);
    if (rc < 0)
        return err_set(err, ERR_IO, "cannot listen for devlink events: %s", nl_geterror(rc));
    events->devlink = join(events, nlx, DEVLINK_GENL_NAME, DEVLINK_GENL_MCGRP_CONFIG_NAME);
    events->ethtool = join(events, nlx, ETHTOOL_GENL_NAME, ETHTOOL_MCGRP_MONITOR_NAME);
    if (events->devlink == 0 && events->ethtool == 0)
        return err_set(err, ERR_UNSUPPORTED, "this kernel has neither devlink nor ethtool events");
    *out = GIVE(events);
    return ERR_OK;
}

void genl_events_close(struct genl_events *events)
{
    if (events == NULL)
        return;
    nl_socket_free(events->sock);
    free(events);
}

int genl_events_fd(const struct genl_events *events)
{
    return nl_socket_get_fd(events->sock);
}

static bool is_news(const struct genl_events *events, const struct nlmsghdr *msg)
{
    struct genlmsghdr header;
    if (msg->nlmsg_len < NLMSG_HDRLEN + sizeof(header))
        return false;
    memcpy(&header, nlmsg_data(msg), sizeof(header));
    return (msg->nlmsg_type == events->devlink && genl_events_is_news(true, header.cmd)) ||
           (msg->nlmsg_type == events->ethtool && genl_events_is_news(false, header.cmd));
}

bool genl_events_drain(struct genl_events *events)
{
    bool changed = false;
    for (;;) {
        struct sockaddr_nl from = {0};
        socklen_t from_len = sizeof(from);
        ssize_t n = recvfrom(genl_events_fd(events), events->buffer, sizeof(events->buffer),
                             MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
        if (n < 0 && (errno == ENOBUFS || errno == EINTR)) {
            changed |= errno == ENOBUFS;
            continue;
        }
        if (n <= 0)
            return changed;
        if (from.nl_pid != 0)
            continue;
        int left = (int)n;
        for (struct nlmsghdr *msg = (struct nlmsghdr *)events->buffer; nlmsg_ok(msg, left);
             msg = nlmsg_next(msg, &left))
            changed |= is_news(events, msg);
    }
}
