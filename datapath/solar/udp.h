#pragma once
/*
 * datapath/solar/udp.h - the sockets of a context: one that is known to peers and receives, and a
 * socket for each further path (source port) that only sends. Never blocks, but in udp_sleep().
 *
 * Sending: packets are put into a batch (udp_head, udp_put) and go out together (udp_flush). Those
 * that follow each other on one path to one peer with one size become one datagram of up to
 * UDP_BURST_BYTES that the kernel cuts up (UDP_SEGMENT). The payload is sent from where it stands;
 * only heads, which the caller writes into udp_head(), are in the batch.
 *
 * Receiving: datagrams that the kernel has put together (UDP_GRO) are told packet by packet.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

#define UDP_HEAD_MAX      96 /* of a packet, or a whole handshake */
#define UDP_PATHS_MAX     64
#define UDP_BURST_BYTES   65000 /* of a datagram before it is cut up */
#define UDP_BURST_PACKETS 64
#define UDP_PACKETS_MAX   256 /* of a batch */
#define UDP_GROUPS_MAX    64
#define UDP_BUFFER_BYTES  (32 * 1024 * 1024) /* of the receiving socket, where it is allowed */
#define UDP_WIRE_V4       42 /* of Ethernet, IP and UDP, before a datagram's content */
#define UDP_WIRE_V6       62
#define UDP_SEGMENTS_MAX  64 /* of a datagram that was put together */

struct udp_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } u;
    socklen_t len;
};

/* ERR_INVALID = no numeric IPv4 or IPv6 address. */
ERR_MUST_CHECK enum err_code udp_address_parse(const char *text, uint16_t port,
                                               struct udp_address *out, struct err *err);
bool udp_address_is(const struct udp_address *a, const struct udp_address *b);
/* "[::1]:80" */
#define UDP_ADDRESS_TEXT 64
void udp_address_format(const struct udp_address *address, char out[UDP_ADDRESS_TEXT]);

struct udp_counters {
    uint64_t send_calls, receive_calls, sent_datagrams, unsent_datagrams;
};

struct udp;

ERR_MUST_CHECK enum err_code udp_new(const struct udp_address *own, int paths, struct udp **out,
                                     struct err *err);
void udp_free(struct udp *udp);

uint16_t udp_port(const struct udp *udp);
int udp_fd(const struct udp *udp);               /* epoll descriptor */
int64_t udp_buffer_bytes(const struct udp *udp); /* what the receiving socket holds */
const struct udp_counters *udp_counters(const struct udp *udp);
/* The largest datagram's content to the peer; ERR_UNAVAILABLE = no route. */
ERR_MUST_CHECK enum err_code udp_datagram_max(const struct udp *udp, const struct udp_address *to,
                                              int *out_bytes, struct err *err);

/* Is there room for one more packet? Not while the sockets are full (udp_flush tries again). */
bool udp_has_room(const struct udp *udp);
/* The same, after what waits was sent, where there was none. */
bool udp_make_room(struct udp *udp);
/* Is there as much in the batch as one datagram can take? Then waiting for more saves no call. */
bool udp_has_burst(const struct udp *udp);
struct udp_packet {
    const struct udp_address *to; /* borrowed for the call */
    uint8_t path, dscp;
    size_t head_len;
    const uint8_t *payload; /* borrowed until it is sent or dropped */
    size_t payload_len;
};
/* Where the next packet's head is to be written: UDP_HEAD_MAX bytes; needs room (asserted). */
uint8_t *udp_head(struct udp *udp);
void udp_put(struct udp *udp, const struct udp_packet *packet);
void udp_flush(struct udp *udp);
/* Drops what could not be sent yet: its memory goes away. */
void udp_drop(struct udp *udp);
/* A datagram was longer than the path allows since the last call. */
bool udp_was_too_long(struct udp *udp);

struct udp_arrived {
    const uint8_t *data; /* until the next call */
    size_t len;
    const struct udp_address *from;
    int64_t arrived_ns; /* at the kernel, monotonic; when it was read, if that is not known */
    bool marked;        /* ECN CE */
    bool ends_group;    /* the last of its datagram */
};
/* Tells up to one batch of datagrams; returns how many packets. *out_more = there may be more. */
int udp_receive(struct udp *udp, void (*tell)(void *arg, const struct udp_arrived *packet),
                void *arg, bool *out_more);

/* For tests: sees every datagram as it is handed to the kernel. */
void udp_watch(struct udp *udp, void (*seen)(void *arg, const struct msghdr *message), void *arg);

/* Until something arrives, a full socket has room, or timeout_ns is over. */
void udp_sleep(struct udp *udp, int64_t timeout_ns);
