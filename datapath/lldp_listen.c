/*
 * datapath/lldp_listen.c - see lldp_listen.h. Owned by dp_linux.
 */
#include "datapath/lldp_listen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>

#define ETH_P_LLDP_802_1AB 0x88cc

struct entry {
    int ifindex; /* 0 = free */
    int64_t until_ns;
    struct lldp_neighbour is;
};

struct lldp_listen {
    int fd;
    int only_ifindex; /* of a descriptor that does not tell; 0 = it tells */
    struct clock *clock;
    struct entry entries[LLDP_NEIGHBOURS_MAX];
    int joined[LLDP_NEIGHBOURS_MAX]; /* interfaces; one that comes again has another index */
    size_t joined_count;
};

enum err_code lldp_listen_attach(int fd, int ifindex, struct clock *clock, struct lldp_listen **out,
                                 struct err *err)
{
    struct lldp_listen *listen = calloc(1, sizeof(*listen));
    if (listen == NULL) {
        close(fd);
        return err_nomem(err);
    }
    listen->fd = fd;
    listen->only_ifindex = ifindex;
    listen->clock = clock;
    *out = listen;
    return ERR_OK;
}

enum err_code lldp_listen_open(struct clock *clock, struct lldp_listen **out, struct err *err)
{
    int fd =
        socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_LLDP_802_1AB));
    if (fd < 0)
        return err_set_errno(err, errno == EPERM || errno == EACCES ? ERR_DENIED : ERR_UNSUPPORTED,
                             errno, "cannot listen for LLDP");
    return lldp_listen_attach(fd, 0, clock, out, err);
}

void lldp_listen_close(struct lldp_listen *listen)
{
    if (listen == NULL)
        return;
    close(listen->fd);
    free(listen);
}

int lldp_listen_fd(const struct lldp_listen *listen)
{
    return listen->fd;
}

void lldp_listen_join(struct lldp_listen *listen, int ifindex)
{
    struct packet_mreq request = {
        .mr_ifindex = ifindex,
        .mr_type = PACKET_MR_MULTICAST,
        .mr_alen = ETH_ALEN,
        .mr_address = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}, /* nearest bridge */
    };
    for (size_t i = 0; i < listen->joined_count; i++)
        if (listen->joined[i] == ifindex)
            return;
    if (listen->joined_count == LLDP_NEIGHBOURS_MAX)
        listen->joined_count = 0; /* of interfaces that are gone; the kernel counts memberships */
    listen->joined[listen->joined_count++] = ifindex;
    (void)setsockopt(listen->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request));
}

/* Neighbours ---------------------------------------------------------------------------------- */

static bool is_alive(const struct lldp_listen *listen, const struct entry *entry)
{
    return entry->ifindex != 0 && listen->clock->mono_ns(listen->clock) < entry->until_ns;
}

static struct entry *find(struct lldp_listen *listen, int ifindex)
{
    struct entry *unused = NULL;
    for (size_t i = 0; i < LLDP_NEIGHBOURS_MAX; i++) {
        struct entry *entry = &listen->entries[i];
        if (entry->ifindex == ifindex)
            return entry;
        if (unused == NULL && !is_alive(listen, entry))
            unused = entry;
    }
    if (unused != NULL)
        unused->ifindex = 0;
    return unused;
}

static bool is_speaker(const struct lldp_neighbour *a, const struct lldp_neighbour *b)
{
    return strcmp(a->chassis, b->chassis) == 0 && strcmp(a->port, b->port) == 0;
}

/* True: the neighbour is another, or says something else. */
static bool take(struct lldp_listen *listen, int ifindex, const struct lldp_neighbour *told)
{
    struct entry *entry = find(listen, ifindex);
    if (entry == NULL)
        return false;
    bool known = is_alive(listen, entry);
    if (known && !is_speaker(&entry->is, told))
        return false;
    if (told->ttl_s == 0) {
        entry->ifindex = 0;
        return known;
    }
    bool news = !known || !lldp_same(&entry->is, told);
    entry->ifindex = ifindex;
    entry->is = *told;
    entry->until_ns = listen->clock->mono_ns(listen->clock) + told->ttl_s * INT64_C(1000000000);
    return news;
}

bool lldp_listen_drain(struct lldp_listen *listen)
{
    bool news = false;
    for (int i = 0; i < LLDP_DRAIN_MAX; i++) {
        uint8_t data[LLDP_BYTES_MAX + 1];
        struct sockaddr_ll from = {.sll_ifindex = listen->only_ifindex};
        socklen_t from_len = sizeof(from);
        ssize_t n = recvfrom(listen->fd, data, sizeof(data), MSG_DONTWAIT,
                             listen->only_ifindex == 0 ? (struct sockaddr *)&from : NULL,
                             listen->only_ifindex == 0 ? &from_len : NULL);
        if (n < 0 && (errno == EINTR || errno == ENETDOWN))
            continue; /* ENETDOWN: an interface went down, told once */
        if (n < 0)
            break;
        struct lldp_neighbour told;
        /* What this node sends itself (lldpd) is seen, too. */
        if (from.sll_pkttype != PACKET_OUTGOING && from.sll_ifindex > 0 &&
            lldp_decode(data, (size_t)n, &told, NULL) == ERR_OK)
            news |= take(listen, from.sll_ifindex, &told);
    }
    return news;
}

const struct lldp_neighbour *lldp_listen_get(const struct lldp_listen *listen, int ifindex)
{
    for (size_t i = 0; i < LLDP_NEIGHBOURS_MAX; i++) {
        const struct entry *entry = &listen->entries[i];
        if (entry->ifindex == ifindex && is_alive(listen, entry))
            return &entry->is;
    }
    return NULL;
}
