/*
 * datapath/nl/events.c - see events.h.
 */
#include "datapath/nl/events.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <linux/dcbnl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#define RCVBUF_BYTES (1024 * 1024)

struct nl_events {
    struct nl_sock *sock;
    uint32_t own_port;
    nl_change_fn *on_change; /* NULL = none */
    void *arg;
    uint32_t buffer[16 * 1024]; /* aligned as messages are */
};

enum err_code nl_events_open(uint32_t own_port, struct nl_events **out, struct err *err)
{
    static const int groups[] = {RTNLGRP_LINK, RTNLGRP_TC, RTNLGRP_DCB};
    struct nl_events *events = calloc(1, sizeof(*events));
    if (events == NULL)
        return err_nomem(err);
    OWN(nl_events) struct nl_events *owned = events;
    events->own_port = own_port;
    events->sock = nl_socket_alloc();
    if (events->sock == NULL)
        return err_nomem(err);
    int rc = nl_connect(events->sock, NETLINK_ROUTE);
    for (size_t i = 0; rc >= 0 && i < sizeof(groups) / sizeof(groups[0]); i++)
        rc = nl_socket_add_memberships(events->sock, groups[i], 0);
    if (rc >= 0)
        rc = nl_socket_set_nonblocking(events->sock);
    if (rc < 0)
        return err_set(err, ERR_IO, "cannot listen for kernel events: %s", nl_geterror(rc));
    int size = RCVBUF_BYTES;
    (void)setsockopt(nl_socket_get_fd(events->sock), SOL_SOCKET, SO_RCVBUFFORCE, &size,
                     sizeof(size));
    *out = GIVE(owned);
    return ERR_OK;
}

void nl_events_close(struct nl_events *events)
{
    if (events == NULL)
        return;
    nl_socket_free(events->sock);
    free(events);
}

int nl_events_fd(const struct nl_events *events)
{
    return nl_socket_get_fd(events->sock);
}

void nl_events_on_change(struct nl_events *events, nl_change_fn *fn, void *arg)
{
    events->on_change = fn;
    events->arg = arg;
}

static void link_change(const struct nlmsghdr *msg, struct nl_change *out)
{
    out->family = "link";
    if (nlmsg_valid_hdr(msg, sizeof(struct ifinfomsg)))
        out->ifindex = ((const struct ifinfomsg *)nlmsg_data(msg))->ifi_index;
}

static void tc_change(const struct nlmsghdr *msg, struct nl_change *out)
{
    out->family = "tc";
    if (nlmsg_valid_hdr(msg, sizeof(struct tcmsg)))
        out->ifindex = ((const struct tcmsg *)nlmsg_data(msg))->tcm_ifindex;
}

static void dcb_change(const struct nlmsghdr *msg, struct nl_change *out)
{
    struct nlattr *tb[DCB_ATTR_MAX + 1];
    out->family = "dcb";
    if (nlx_parse(msg, sizeof(struct dcbmsg), tb, DCB_ATTR_MAX))
        (void)nlx_text(tb[DCB_ATTR_IFNAME], out->ifname, sizeof(out->ifname));
}

static const struct announcement {
    uint16_t type;
    void (*read)(const struct nlmsghdr *msg, struct nl_change *out);
} announcements[] = {
    {RTM_NEWLINK, link_change}, {RTM_DELLINK, link_change},  {RTM_SETDCB, dcb_change},
    {RTM_NEWQDISC, tc_change},  {RTM_DELQDISC, tc_change},   {RTM_NEWTCLASS, tc_change},
    {RTM_DELTCLASS, tc_change}, {RTM_NEWTFILTER, tc_change}, {RTM_DELTFILTER, tc_change},
};

bool nl_events_relevant(const struct nlmsghdr *msg, uint32_t own_port, struct nl_change *out)
{
    /* Our own requests are announced with our port id. */
    if (own_port != 0 && msg->nlmsg_pid == own_port)
        return false;
    for (size_t i = 0; i < sizeof(announcements) / sizeof(announcements[0]); i++) {
        if (announcements[i].type != msg->nlmsg_type)
            continue;
        if (out != NULL) {
            *out = (struct nl_change){.port = msg->nlmsg_pid};
            announcements[i].read(msg, out);
        }
        return true;
    }
    return false;
}

enum err_code nl_events_drain(struct nl_events *events, bool *out_changed, bool *out_links,
                              struct err *err)
{
    bool changed = false, links = false;
    for (;;) {
        struct sockaddr_nl from = {0};
        socklen_t from_len = sizeof(from);
        ssize_t n = recvfrom(nl_events_fd(events), events->buffer, sizeof(events->buffer),
                             MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
        if (n < 0 && errno == ENOBUFS) {
            changed = links = true;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n <= 0)
            return err_set_errno(err, ERR_IO, errno, "cannot read the kernel's events");
        if (from.nl_pid != 0)
            continue;
        int left = (int)n;
        for (struct nlmsghdr *msg = (struct nlmsghdr *)events->buffer; nlmsg_ok(msg, left);
             msg = nlmsg_next(msg, &left)) {
            struct nl_change change;
            bool relevant = nl_events_relevant(msg, events->own_port, &change);
            if (relevant && events->on_change != NULL)
                events->on_change(events->arg, &change);
            changed |= relevant;
            links |= msg->nlmsg_type == RTM_NEWLINK || msg->nlmsg_type == RTM_DELLINK;
        }
    }
    *out_changed = changed;
    *out_links = links;
    return ERR_OK;
}
