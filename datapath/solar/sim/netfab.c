/*
 * datapath/solar/sim/netfab.c - see netfab.h.
 */
#include "datapath/solar/sim/netfab.h"

#include <stdlib.h>

/* Ports, by what they lead to: host up, host down, leaf up (by spine), spine down (by leaf). */
static uint32_t down_port(const struct netfab *f, int host)
{
    return (uint32_t)(f->hosts + host);
}

static uint32_t leaf_port(const struct netfab *f, int leaf, int spine)
{
    return (uint32_t)(2 * f->hosts + leaf * f->params.spines + spine);
}

static uint32_t spine_port(const struct netfab *f, int spine, int leaf)
{
    return (uint32_t)(2 * f->hosts + f->params.leaves * f->params.spines +
                      spine * f->params.leaves + leaf);
}

static enum err_code check(const struct netfab_params *p, struct err *err)
{
    if (p->leaves < 1 || p->hosts_per_leaf < 1 || p->leaves > NETFAB_HOSTS_MAX ||
        p->hosts_per_leaf > NETFAB_HOSTS_MAX || p->leaves * p->hosts_per_leaf > NETFAB_HOSTS_MAX)
        return err_set(err, ERR_INVALID, "%d leaves of %d hosts (has 1 to %d hosts)", p->leaves,
                       p->hosts_per_leaf, NETFAB_HOSTS_MAX);
    if (p->spines < 0 || p->spines > NETFAB_SPINES_MAX || (p->spines == 0) != (p->leaves == 1))
        return err_set(err, ERR_INVALID, "%d spines for %d leaves (none for one leaf, up to %d)",
                       p->spines, p->leaves, NETFAB_SPINES_MAX);
    if (p->host_bps < 1000000 || p->core_bps < 1000000 || p->host_bps > INT64_C(10000000000000) ||
        p->core_bps > INT64_C(10000000000000))
        return err_set(err, ERR_INVALID, "rates of links: 1 Mbit/s to 10 Tbit/s");
    if (p->link_ns < 1 || p->link_ns > 1000000000 || p->queue_bytes < 65536 ||
        p->queue_bytes > (INT64_C(1) << 40))
        return err_set(err, ERR_INVALID, "links of 1 ns to 1 s, queues of 64 KiB to 1 TiB");
    if (p->ecn_min_bytes < 0 || p->ecn_max_bytes < p->ecn_min_bytes || p->loss_ppm < 0 ||
        p->loss_ppm > 1000000)
        return err_set(err, ERR_INVALID, "ECN begins at most where it ends; loss: 0 to 1000000");
    return ERR_OK;
}

enum err_code netfab_init(struct netfab *f, const struct netfab_params *params, struct heap *heap,
                          uint64_t seed, struct err *err)
{
    if (check(params, err) != ERR_OK)
        return ERR_INVALID;
    *f = (struct netfab){.params = *params,
                         .hosts = params->leaves * params->hosts_per_leaf,
                         .packets_free = NETFAB_NONE,
                         .heap = heap,
                         .dice = seed,
                         .seed = seed};
    f->ports_count = 2 * f->hosts + 2 * params->leaves * params->spines;
    f->ports = calloc((size_t)f->ports_count, sizeof(*f->ports));
    if (f->ports == NULL)
        return err_nomem(err);
    for (int i = 0; i < f->ports_count; i++) {
        struct netfab_port *port = &f->ports[i];
        port->bps = i < 2 * f->hosts ? params->host_bps : params->core_bps;
        port->control.first = port->control.last = NETFAB_NONE;
        port->data.first = port->data.last = NETFAB_NONE;
    }
    return ERR_OK;
}

void netfab_release(struct netfab *f)
{
    free(f->ports);
    free(f->packets);
    f->ports = NULL;
    f->packets = NULL;
}

struct netfab_packet *netfab_packet_new(struct netfab *f)
{
    if (f->packets_free == NETFAB_NONE) {
        uint32_t room = f->packets_room > 0 ? f->packets_room * 2 : 1024;
        struct netfab_packet *packets =
            room > NETFAB_PACKETS_MAX ? NULL : realloc(f->packets, room * sizeof(*packets));
        if (packets == NULL) {
            f->failed = true;
            return NULL;
        }
        f->packets = packets;
        for (uint32_t i = room; i > f->packets_room; i--) {
            packets[i - 1].next = f->packets_free;
            f->packets_free = i - 1;
        }
        f->packets_room = room;
    }
    struct netfab_packet *packet = &f->packets[f->packets_free];
    f->packets_free = packet->next;
    *packet = (struct netfab_packet){.next = NETFAB_NONE};
    return packet;
}

void netfab_packet_free(struct netfab *f, struct netfab_packet *packet)
{
    packet->next = f->packets_free;
    f->packets_free = (uint32_t)(packet - f->packets);
}

static uint32_t dice(struct netfab *f)
{
    f->dice = f->dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(f->dice >> 33);
}

static void enqueue(struct netfab *f, struct netfab_queue *queue, uint32_t index)
{
    f->packets[index].next = NETFAB_NONE;
    *(queue->last == NETFAB_NONE ? &queue->first : &f->packets[queue->last].next) = index;
    queue->last = index;
    queue->bytes += f->packets[index].size;
}

static uint32_t dequeue(struct netfab *f, struct netfab_queue *queue)
{
    uint32_t index = queue->first;
    queue->first = f->packets[index].next;
    if (queue->first == NETFAB_NONE)
        queue->last = NETFAB_NONE;
    queue->bytes -= f->packets[index].size;
    return index;
}

static int64_t time_ps(const struct netfab_port *port, int bytes)
{
    return (int64_t)bytes * INT64_C(8000000000000) / port->bps;
}

static void start_sending(struct netfab *f, uint32_t number, int64_t now_ps)
{
    struct netfab_port *port = &f->ports[number];
    struct netfab_queue *queue = port->control.first != NETFAB_NONE ? &port->control : &port->data;
    port->busy = queue->first != NETFAB_NONE;
    if (!port->busy)
        return;
    uint32_t index = dequeue(f, queue);
    struct netfab_packet *packet = &f->packets[index];
    packet->port = number;
    port->sent_bytes += packet->size;
    int64_t done_ps = now_ps + time_ps(port, packet->size);
    heap_push(f->heap, done_ps, NETFAB_SENT, number);
    heap_push(f->heap, done_ps + f->params.link_ns * 1000, NETFAB_ARRIVES, index);
}

static bool is_marked(struct netfab *f, const struct netfab_port *port)
{
    const struct netfab_params *p = &f->params;
    if (p->ecn_max_bytes == 0 || port->data.bytes <= p->ecn_min_bytes)
        return false;
    if (port->data.bytes >= p->ecn_max_bytes)
        return true;
    int64_t span = p->ecn_max_bytes - p->ecn_min_bytes;
    return dice(f) % (uint64_t)span < (uint64_t)(port->data.bytes - p->ecn_min_bytes);
}

/* Into the queue of a port; or dropped. Hosts have room for all that they send. */
static void pass(struct netfab *f, struct netfab_packet *packet, uint32_t number, int64_t now_ps)
{
    struct netfab_port *port = &f->ports[number];
    bool inside = number >= (uint32_t)f->hosts;
    bool lossy = number >= (uint32_t)(2 * f->hosts) && !packet->control && f->params.loss_ppm > 0;
    if (lossy && dice(f) % 1000000 < (uint32_t)f->params.loss_ppm) {
        f->lost++;
        netfab_packet_free(f, packet);
        return;
    }
    bool full =
        inside && !packet->control && port->data.bytes + packet->size > f->params.queue_bytes;
    if (port->down || full) {
        port->drops++;
        f->drops++;
        netfab_packet_free(f, packet);
        return;
    }
    if (inside && !packet->control && is_marked(f, port)) {
        packet->marked = true;
        port->marks++;
        f->marks++;
    }
    enqueue(f, packet->control ? &port->control : &port->data, (uint32_t)(packet - f->packets));
    if (port->data.bytes > port->data_max)
        port->data_max = port->data.bytes;
    if (!port->busy)
        start_sending(f, number, now_ps);
}

void netfab_send(struct netfab *f, struct netfab_packet *packet, int64_t now_ps)
{
    pass(f, packet, packet->src, now_ps);
}

bool netfab_host_is_idle(const struct netfab *f, int host)
{
    return !f->ports[host].busy && f->ports[host].data.first == NETFAB_NONE;
}

/* The same for a path of a flow, different for its paths as far as there are spines. */
static int spine_of(const struct netfab *f, const struct netfab_packet *packet)
{
    uint64_t hash = (packet->flow ^ f->seed << 32) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (int)(((hash >> 33) + packet->wire.path) % (uint64_t)f->params.spines);
}

/* The port after `port`; NETFAB_NONE = it is at its host. */
static uint32_t next_port(const struct netfab *f, const struct netfab_packet *packet)
{
    int port = (int)packet->port, per = f->params.hosts_per_leaf;
    int leaf = packet->dst / per, edge = 2 * f->hosts;
    if (port < f->hosts)
        return port / per == leaf ? down_port(f, packet->dst)
                                  : leaf_port(f, port / per, spine_of(f, packet));
    if (port < edge)
        return NETFAB_NONE;
    if (port < edge + f->params.leaves * f->params.spines)
        return spine_port(f, (port - edge) % f->params.spines, leaf);
    return down_port(f, packet->dst);
}

void netfab_event(struct netfab *f, const struct heap_event *event,
                  struct netfab_packet **out_packet, int *out_host)
{
    *out_packet = NULL;
    *out_host = -1;
    if (event->what == NETFAB_SENT) {
        start_sending(f, event->which, event->at_ps);
        if (event->which < (uint32_t)f->hosts && netfab_host_is_idle(f, (int)event->which))
            *out_host = (int)event->which;
        return;
    }
    struct netfab_packet *packet = &f->packets[event->which];
    uint32_t next = next_port(f, packet);
    if (next == NETFAB_NONE)
        *out_packet = packet;
    else
        pass(f, packet, next, event->at_ps);
}

int64_t netfab_base_rtt_ns(const struct netfab *f, int src, int dst, int packet, int ack)
{
    bool near = src / f->params.hosts_per_leaf == dst / f->params.hosts_per_leaf;
    int both = packet + ack;
    int64_t ps = 2 * time_ps(&f->ports[src], both) + (near ? 4 : 8) * f->params.link_ns * 1000;
    if (!near)
        ps += 2 * time_ps(&f->ports[leaf_port(f, 0, 0)], both);
    return ps / 1000 + 1;
}

const struct netfab_port *netfab_last_port(const struct netfab *f, int host)
{
    return &f->ports[down_port(f, host)];
}

void netfab_fail_link(struct netfab *f, int leaf, int spine)
{
    f->ports[leaf_port(f, leaf, spine)].down = true;
    f->ports[spine_port(f, spine, leaf)].down = true;
}
