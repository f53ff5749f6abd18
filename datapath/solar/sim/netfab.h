#pragma once
/*
 * datapath/solar/sim/netfab.h - a simulated fabric of two tiers (leaves and spines; or one leaf):
 * links with a rate and a length, output queues with a limit in bytes and ECN, store and forward.
 *
 *   host --- leaf --- spine --- leaf --- host
 *
 * Control packets (acknowledgements, credit, probes) have a queue of their own at each port, served
 * first, as fabrics have a class for them. A full queue drops what comes; nothing is paused or
 * trimmed. Which spine a packet takes follows from its flow, its path number and the seed alone, so
 * a path keeps its order: one path a flow is ECMP, several are spraying.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/sim/heap.h"
#include "datapath/solar/wire.h"

#define NETFAB_HOSTS_MAX   4096
#define NETFAB_SPINES_MAX  256
#define NETFAB_PACKETS_MAX (1024 * 1024) /* in flight in the whole fabric */
#define NETFAB_NONE        UINT32_MAX

struct netfab_params {
    int leaves, hosts_per_leaf, spines; /* spines 0 = one leaf */
    int64_t host_bps, core_bps;
    int64_t link_ns;                      /* length of each link */
    int64_t queue_bytes;                  /* of each port, data */
    int64_t ecn_min_bytes, ecn_max_bytes; /* marks rise from 0 to all between them; 0 = no ECN */
    int loss_ppm;                         /* random, of data packets at each spine's port */
};

struct netfab_packet {
    uint32_t next; /* in a queue */
    uint32_t flow;
    uint16_t src, dst;
    uint16_t size; /* bytes on the wire */
    bool control, marked;
    uint32_t port; /* that it goes through now */
    struct wire_packet wire;
};

struct netfab_queue {
    uint32_t first, last;
    int64_t bytes;
};

struct netfab_port {
    int64_t bps;
    bool busy, down;
    struct netfab_queue control, data;
    int64_t sent_bytes, data_max; /* longest data queue, bytes */
    uint64_t drops, marks;
};

struct netfab {
    struct netfab_params params;
    int hosts, ports_count;
    struct netfab_port *ports;
    struct netfab_packet *packets;
    uint32_t packets_room, packets_free;
    struct heap *heap; /* borrowed */
    uint64_t dice, seed;
    uint64_t drops, marks, lost; /* of all ports; lost = random ones */
    bool failed;                 /* no memory, or NETFAB_PACKETS_MAX. Sticky. */
};

/* What the fabric puts on the heap: hand these events back to netfab_event(). */
enum netfab_what { NETFAB_SENT = 1, NETFAB_ARRIVES, NETFAB_WHAT_END };

/* ERR_INVALID, ERR_NOMEM. */
ERR_MUST_CHECK enum err_code netfab_init(struct netfab *f, const struct netfab_params *params,
                                         struct heap *heap, uint64_t seed, struct err *err);
void netfab_release(struct netfab *f);

/* An empty packet, or NULL (then failed is set). It belongs to the fabric. */
struct netfab_packet *netfab_packet_new(struct netfab *f);
void netfab_packet_free(struct netfab *f, struct netfab_packet *packet);
/* Puts it into the queue of its source host. */
void netfab_send(struct netfab *f, struct netfab_packet *packet, int64_t now_ps);
/* Is the host's line free for a data packet? */
bool netfab_host_is_idle(const struct netfab *f, int host);

/* Handles an event of the fabric. A packet that has reached its host is *out_packet (then the
 * caller frees it); a host whose line fell idle is *out_host; else NULL and -1. */
void netfab_event(struct netfab *f, const struct heap_event *event,
                  struct netfab_packet **out_packet, int *out_host);

/* Round trip of a full packet and its acknowledgement in an empty fabric. */
int64_t netfab_base_rtt_ns(const struct netfab *f, int src, int dst, int packet, int ack);
/* The port from the leaf down to a host: where an incast queues. */
const struct netfab_port *netfab_last_port(const struct netfab *f, int host);
/* Takes the link between a leaf and a spine down, both ways. */
void netfab_fail_link(struct netfab *f, int leaf, int spine);
