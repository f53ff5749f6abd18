/*
 * datapath/solar/udp.c - see udp.h.
 */
#include "datapath/solar/udp.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "datapath/solar/wire.h"

_Static_assert(WIRE_HEAD_MAX <= UDP_HEAD_MAX, "a head has room");

#define HEADERS_V4    28 /* IP and UDP */
#define HEADERS_V6    48
#define RECEIVE_BATCH 8
#define RECEIVE_BYTES 65536
#define CONTROL_SPACE 128
#define SEND_BUFFER   (1024 * 1024)
#define ECT0          2
#define CE            3
#define MS_NS         1000000

/* Packets that leave as one datagram. */
struct group {
    struct udp_address to;
    uint8_t path, dscp;
    bool closed; /* its last packet was shorter than the others */
    int iov, iovs, packets;
    size_t segment, bytes;
    _Alignas(struct cmsghdr) char control[CONTROL_SPACE];
};

struct inbox {
    struct udp_address from;
    struct iovec iov;
    _Alignas(struct cmsghdr) char control[CONTROL_SPACE];
    uint8_t data[RECEIVE_BYTES];
};

struct udp {
    int fds[UDP_PATHS_MAX];
    int paths, epoll, family;
    bool segments; /* the kernel cuts */
    bool full;     /* the socket of the first group left */
    bool too_long;
    bool epolls_out; /* the epoll descriptor waits for room */
    struct udp_counters counters;
    void (*seen)(void *arg, const struct msghdr *message);
    void *seen_arg;
    int packets, iovs, groups;
    uint8_t heads[UDP_PACKETS_MAX][UDP_HEAD_MAX];
    struct iovec iov[2 * UDP_PACKETS_MAX];
    struct group group[UDP_GROUPS_MAX];
    struct mmsghdr out[UDP_GROUPS_MAX];
    struct mmsghdr in[RECEIVE_BATCH];
    struct inbox inbox[RECEIVE_BATCH];
};

enum err_code udp_address_parse(const char *text, uint16_t port, struct udp_address *out,
                                struct err *err)
{
    struct udp_address a = {.len = 0};
    if (inet_pton(AF_INET, text, &a.u.v4.sin_addr) == 1) {
        a.u.v4.sin_family = AF_INET;
        a.u.v4.sin_port = htons(port);
        a.len = sizeof(a.u.v4);
    } else if (inet_pton(AF_INET6, text, &a.u.v6.sin6_addr) == 1) {
        a.u.v6.sin6_family = AF_INET6;
        a.u.v6.sin6_port = htons(port);
        a.len = sizeof(a.u.v6);
    } else {
        return err_set(err, ERR_INVALID, "\"%s\" is no IPv4 or IPv6 address in numbers", text);
    }
    *out = a;
    return ERR_OK;
}

bool udp_address_is(const struct udp_address *a, const struct udp_address *b)
{
    return a->len == b->len && memcmp(&a->u, &b->u, a->len) == 0;
}

void udp_address_format(const struct udp_address *a, char out[UDP_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "?";
    bool v6 = a->u.any.sa_family == AF_INET6;
    const void *at = v6 ? (const void *)&a->u.v6.sin6_addr : (const void *)&a->u.v4.sin_addr;
    inet_ntop(a->u.any.sa_family, at, host, sizeof(host));
    snprintf(out, UDP_ADDRESS_TEXT, v6 ? "[%s]:%u" : "%s:%u", host,
             ntohs(v6 ? a->u.v6.sin6_port : a->u.v4.sin_port));
}

/* Options without which all works, only worse, are not checked. */
static void set_option(int fd, int level, int name, int value)
{
    if (setsockopt(fd, level, name, &value, sizeof(value)) != 0)
        errno = 0;
}

static void set_buffer(int fd, int forced, int name, int bytes)
{
    if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof(bytes)) != 0)
        set_option(fd, SOL_SOCKET, name, bytes);
}

static enum err_code open_socket(struct udp *u, int path, const struct udp_address *own,
                                 struct err *err)
{
    struct udp_address at = *own;
    int fd = socket(u->family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "a UDP socket");
    u->fds[path] = fd;
    bool v6 = u->family == AF_INET6;
    if (path > 0)
        *(v6 ? &at.u.v6.sin6_port : &at.u.v4.sin_port) = 0;
    if (bind(fd, &at.u.any, at.len) != 0) {
        char text[UDP_ADDRESS_TEXT];
        udp_address_format(own, text);
        return err_set_errno(err, ERR_IO, errno, "binding a UDP socket to %s", text);
    }
    /* A router must not cut packets: the size is found out, not hidden. */
    set_option(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
               IP_PMTUDISC_DO);
    set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER);
    if (path > 0)
        return ERR_OK;
    set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, UDP_BUFFER_BYTES / 2); /* the kernel doubles it */
    set_option(fd, SOL_UDP, UDP_GRO, 1);
    set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    set_option(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVTCLASS : IP_RECVTOS, 1);
    int probe = 0;
    u->segments = setsockopt(fd, SOL_UDP, UDP_SEGMENT, &probe, sizeof(probe)) == 0;
    return ERR_OK;
}

static enum err_code open_all(struct udp *u, const struct udp_address *own, struct err *err)
{
    for (int i = 0; i < u->paths; i++)
        if (open_socket(u, i, own, err) != ERR_OK)
            return err->code;
    u->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (u->epoll < 0 || epoll_ctl(u->epoll, EPOLL_CTL_ADD, u->fds[0], &event) != 0)
        return err_set_errno(err, ERR_IO, errno, "an epoll descriptor");
    return ERR_OK;
}

OWN_DEFINE(udp, struct udp *, udp_free)

enum err_code udp_new(const struct udp_address *own, int paths, struct udp **out, struct err *err)
{
    assert(paths >= 1 && paths <= UDP_PATHS_MAX);
    struct err local = ERR_INIT;
    OWN(udp) struct udp *u = calloc(1, sizeof(*u));
    if (u == NULL)
        return err_nomem(err);
    u->paths = paths;
    u->family = own->u.any.sa_family;
    u->epoll = -1;
    for (int i = 0; i < paths; i++)
        u->fds[i] = -1;
    enum err_code code = open_all(u, own, &local);
    if (code != ERR_OK) {
        if (err != NULL)
            *err = local;
        return code;
    }
    for (int i = 0; i < RECEIVE_BATCH; i++) {
        struct inbox *box = &u->inbox[i];
        box->iov = (struct iovec){.iov_base = box->data, .iov_len = sizeof(box->data)};
    }
    *out = GIVE(u);
    return ERR_OK;
}

void udp_free(struct udp *u)
{
    if (u == NULL)
        return;
    for (int i = 0; i < u->paths; i++)
        if (u->fds[i] >= 0)
            close(u->fds[i]);
    if (u->epoll >= 0)
        close(u->epoll);
    free(u);
}

uint16_t udp_port(const struct udp *u)
{
    struct udp_address own = {.len = sizeof(own.u)};
    if (getsockname(u->fds[0], &own.u.any, &own.len) != 0)
        return 0;
    return ntohs(u->family == AF_INET6 ? own.u.v6.sin6_port : own.u.v4.sin_port);
}

int udp_fd(const struct udp *u)
{
    return u->epoll;
}

int64_t udp_buffer_bytes(const struct udp *u)
{
    int bytes = 0;
    socklen_t len = sizeof(bytes);
    return getsockopt(u->fds[0], SOL_SOCKET, SO_RCVBUF, &bytes, &len) == 0 ? bytes : 0;
}

const struct udp_counters *udp_counters(const struct udp *u)
{
    return &u->counters;
}

enum err_code udp_datagram_max(const struct udp *u, const struct udp_address *to, int *out_bytes,
                               struct err *err)
{
    char text[UDP_ADDRESS_TEXT];
    udp_address_format(to, text);
    if (to->u.any.sa_family != u->family)
        return err_set(err, ERR_INVALID, "%s is of another family than this context's address",
                       text);
    bool v6 = u->family == AF_INET6;
    int fd = socket(u->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "a UDP socket");
    int mtu = 0;
    socklen_t len = sizeof(mtu);
    bool known =
        connect(fd, &to->u.any, to->len) == 0 &&
        getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu, &len) == 0;
    int cause = errno;
    close(fd);
    if (!known)
        return err_set_errno(err, ERR_UNAVAILABLE, cause, "no route to %s", text);
    *out_bytes = mtu - (v6 ? HEADERS_V6 : HEADERS_V4);
    return ERR_OK;
}

/* Sending ------------------------------------------------------------------------------------- */

bool udp_has_room(const struct udp *u)
{
    return !u->full && u->packets < UDP_PACKETS_MAX && u->groups < UDP_GROUPS_MAX;
}

bool udp_has_burst(const struct udp *u)
{
    if (u->groups == 0)
        return false;
    const struct group *g = &u->group[u->groups - 1];
    return u->groups > 1 || g->packets == UDP_BURST_PACKETS ||
           g->bytes + g->segment > UDP_BURST_BYTES;
}

uint8_t *udp_head(struct udp *u)
{
    assert(udp_has_room(u));
    return u->heads[u->packets];
}

static bool joins(const struct udp *u, const struct group *g, const struct udp_packet *p,
                  size_t bytes)
{
    return u->segments && !g->closed && g->path == p->path && g->dscp == p->dscp &&
           bytes <= g->segment && g->packets < UDP_BURST_PACKETS &&
           g->bytes + bytes <= UDP_BURST_BYTES && udp_address_is(&g->to, p->to);
}

void udp_put(struct udp *u, const struct udp_packet *p)
{
    assert(udp_has_room(u) && p->path < u->paths && p->head_len <= UDP_HEAD_MAX);
    size_t bytes = p->head_len + p->payload_len;
    struct group *g = u->groups > 0 ? &u->group[u->groups - 1] : NULL;
    if (g == NULL || !joins(u, g, p, bytes)) {
        g = &u->group[u->groups++];
        g->to = *p->to;
        g->path = p->path;
        g->dscp = p->dscp;
        g->closed = false;
        g->iov = u->iovs;
        g->iovs = g->packets = 0;
        g->segment = bytes;
        g->bytes = 0;
    }
    u->iov[u->iovs++] = (struct iovec){.iov_base = u->heads[u->packets++], .iov_len = p->head_len};
    g->iovs++;
    if (p->payload_len > 0) {
        u->iov[u->iovs++] =
            (struct iovec){.iov_base = (void *)(uintptr_t)p->payload, .iov_len = p->payload_len};
        g->iovs++;
    }
    g->packets++;
    g->bytes += bytes;
    g->closed = bytes < g->segment;
}

static void put_control(struct msghdr *m, struct cmsghdr **at, const int kind[2], const void *value,
                        size_t len)
{
    struct cmsghdr *c = *at;
    c->cmsg_level = kind[0];
    c->cmsg_type = kind[1];
    c->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(c), value, len);
    m->msg_controllen += CMSG_SPACE(len);
    *at = (struct cmsghdr *)(void *)((char *)c + CMSG_SPACE(len));
}

static void make_message(struct udp *u, struct group *g, struct msghdr *m)
{
    *m = (struct msghdr){.msg_name = &g->to.u,
                         .msg_namelen = g->to.len,
                         .msg_iov = &u->iov[g->iov],
                         .msg_iovlen = (size_t)g->iovs,
                         .msg_control = g->control};
    struct cmsghdr *at = (struct cmsghdr *)(void *)g->control;
    int tos = g->dscp << 2 | ECT0;
    bool v6 = u->family == AF_INET6;
    put_control(m, &at,
                v6 ? (const int[]){IPPROTO_IPV6, IPV6_TCLASS} : (const int[]){IPPROTO_IP, IP_TOS},
                &tos, sizeof(tos));
    uint16_t segment = (uint16_t)g->segment;
    if (g->packets > 1)
        put_control(m, &at, (const int[]){SOL_UDP, UDP_SEGMENT}, &segment, sizeof(segment));
}

/* Groups from `first` that go through one socket. */
static int run_of(const struct udp *u, int first)
{
    int n = 1;
    while (first + n < u->groups && u->group[first + n].path == u->group[first].path)
        n++;
    return n;
}

/* Groups before `done` are gone; the rest moves to the front, heads stay where they are. */
static void keep_rest(struct udp *u, int done)
{
    if (done == u->groups) {
        u->packets = u->iovs = u->groups = 0;
        return;
    }
    memmove(u->group, u->group + done, (size_t)(u->groups - done) * sizeof(u->group[0]));
    u->groups -= done;
}

void udp_flush(struct udp *u)
{
    int done = 0;
    u->full = false;
    while (done < u->groups && !u->full) {
        int run = run_of(u, done);
        for (int i = 0; i < run; i++) {
            make_message(u, &u->group[done + i], &u->out[i].msg_hdr);
            if (u->seen != NULL)
                u->seen(u->seen_arg, &u->out[i].msg_hdr);
        }
        int sent = sendmmsg(u->fds[u->group[done].path], u->out, (unsigned)run, MSG_DONTWAIT);
        u->counters.send_calls++;
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
            u->full = true;
            break;
        }
        if (sent < 0) { /* the first one cannot go; that it is missing will be seen */
            u->too_long = u->too_long || errno == EMSGSIZE;
            u->counters.unsent_datagrams++;
        } else {
            u->counters.sent_datagrams += (uint64_t)sent;
        }
        done += sent < 0 ? 1 : sent;
    }
    keep_rest(u, done);
}

bool udp_make_room(struct udp *u)
{
    if (!udp_has_room(u))
        udp_flush(u);
    return udp_has_room(u);
}

void udp_drop(struct udp *u)
{
    u->counters.unsent_datagrams += (uint64_t)u->groups;
    keep_rest(u, u->groups);
    u->full = false;
}

bool udp_was_too_long(struct udp *u)
{
    bool was = u->too_long;
    u->too_long = false;
    return was;
}

void udp_watch(struct udp *u, void (*seen)(void *arg, const struct msghdr *message), void *arg)
{
    u->seen = seen;
    u->seen_arg = arg;
}

/* Receiving ----------------------------------------------------------------------------------- */

/* What the kernel says of a datagram. */
struct said {
    size_t segment;
    bool marked;
    int64_t arrived_ns;
};

static int64_t ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 * MS_NS + now.tv_nsec;
}

/* Stamps are of the wall clock, which may be set: one that is not of the last second is no use. */
static int64_t monotonic_of(const struct timespec *stamp)
{
    int64_t now_ns = ns_of(CLOCK_MONOTONIC), wall_ns = ns_of(CLOCK_REALTIME);
    int64_t age_ns = wall_ns - ((int64_t)stamp->tv_sec * 1000 * MS_NS + stamp->tv_nsec);
    return age_ns > 0 && age_ns < 1000 * (int64_t)MS_NS ? now_ns - age_ns : now_ns;
}

static void read_control(const struct msghdr *m, struct said *out)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
         c = CMSG_NXTHDR((struct msghdr *)(uintptr_t)m, c)) {
        int number = 0;
        struct timespec stamp;
        size_t len = c->cmsg_len - CMSG_LEN(0);
        memcpy(&number, CMSG_DATA(c), len < sizeof(number) ? len : sizeof(number));
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO && number > 0) {
            out->segment = (size_t)number;
        } else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) ||
                   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)) {
            out->marked = (number & CE) == CE;
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS &&
                   len >= sizeof(stamp)) {
            memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
            out->arrived_ns = monotonic_of(&stamp);
        }
    }
}

static int tell_group(struct inbox *box, const struct msghdr *m, size_t len,
                      void (*tell)(void *arg, const struct udp_arrived *packet), void *arg)
{
    struct said said = {.segment = len, .arrived_ns = -1};
    box->from.len = m->msg_namelen;
    read_control(m, &said);
    if (said.arrived_ns < 0)
        said.arrived_ns = ns_of(CLOCK_MONOTONIC);
    int count = 0;
    for (size_t at = 0; at < len; at += said.segment, count++) {
        size_t left = len - at;
        struct udp_arrived packet = {.data = box->data + at,
                                     .len = left < said.segment ? left : said.segment,
                                     .from = &box->from,
                                     .arrived_ns = said.arrived_ns,
                                     .marked = said.marked,
                                     .ends_group = left <= said.segment};
        tell(arg, &packet);
    }
    return count;
}

int udp_receive(struct udp *u, void (*tell)(void *arg, const struct udp_arrived *packet), void *arg,
                bool *out_more)
{
    for (int i = 0; i < RECEIVE_BATCH; i++) {
        struct inbox *box = &u->inbox[i];
        u->in[i].msg_hdr = (struct msghdr){.msg_name = &box->from.u,
                                           .msg_namelen = sizeof(box->from.u),
                                           .msg_iov = &box->iov,
                                           .msg_iovlen = 1,
                                           .msg_control = box->control,
                                           .msg_controllen = sizeof(box->control)};
    }
    int got = recvmmsg(u->fds[0], u->in, RECEIVE_BATCH, MSG_DONTWAIT, NULL);
    u->counters.receive_calls++;
    int packets = 0;
    for (int i = 0; i < got; i++)
        packets += tell_group(&u->inbox[i], &u->in[i].msg_hdr, u->in[i].msg_len, tell, arg);
    *out_more = got == RECEIVE_BATCH;
    return packets;
}

/* The socket that is full is waited for only while it is. */
static void set_epoll_out(struct udp *u, bool wanted)
{
    int fd = u->groups > 0 ? u->fds[u->group[0].path] : u->fds[0];
    if (u->epolls_out == wanted)
        return;
    /* What strangers send to the other sockets is never read. */
    struct epoll_event event = {.events =
                                    (fd == u->fds[0] ? EPOLLIN : 0) | (wanted ? EPOLLOUT : 0)};
    int what = fd == u->fds[0] ? EPOLL_CTL_MOD : wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
    if (epoll_ctl(u->epoll, what, fd, &event) == 0)
        u->epolls_out = wanted;
}

void udp_sleep(struct udp *u, int64_t timeout_ns)
{
    struct epoll_event event;
    struct timespec span = {.tv_sec = timeout_ns / (1000 * MS_NS),
                            .tv_nsec = timeout_ns % (1000 * MS_NS)};
    set_epoll_out(u, u->full);
    int n = epoll_pwait2(u->epoll, &event, 1, &span, NULL);
    set_epoll_out(u, false);
    if (n < 0)
        errno = 0; /* a signal: the caller looks again */
}
