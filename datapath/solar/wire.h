#pragma once
/*
 * datapath/solar/wire.h - what a Solar-RDMA packet looks like on the wire. Pure: no I/O, no clock,
 * no allocation. The handshake has a codec of its own: hello.h.
 *
 * A datagram of UDP is one packet: the header, for some types an extension, then the payload. All
 * numbers are big-endian.
 *
 *    0 version:3 type:5 | flags:8 | path:8 | priority:3 tensor:2 attempt:3
 *    4 label:32
 *    8 qp:16            | id:16
 *   12 offset:40                       (with the three bytes of the time: 8 bytes)
 *   17 sent:24
 *   20 psn:32
 *   24 tag:64
 *   32 extension: start (12 bytes, with WIRE_F_START), ack (52 bytes, WIRE_ACK) or credit
 *                 (12 bytes, WIRE_CREDIT)
 *
 * 32 bytes, because a payload of 1440 in a frame of 1514 is 95 % of the link. Each data packet
 * places itself: (id, offset) is where its bytes go, so that none waits for another. The length of
 * the payload is what the datagram leaves.
 *
 * psn counts packets of a direction from 0 in 64 bits, of which the wire carries 32; the rest
 * follows from what the receiver waits for, and all 64 are under the tag. So a packet recorded
 * 2^32 packets ago is refused, and one recorded a moment ago is a duplicate, which place.h drops.
 * Control packets (WIRE_ACK and those after it) count on their own and pass a wire_window once.
 *
 * The tag is SipHash-2-4 under a key of the direction of this queue pair (hello.h). It covers:
 * the header, the extension, the payload's length, and the payload itself when that has at most
 * WIRE_COVER_MAX bytes or WIRE_F_COVER is set. So nobody without the key can inject, replay,
 * relabel or redirect. Longer payloads are not covered by default (515 ns for 1448 bytes, more than
 * all else that is done with a packet): who can alter packets on their way, not only send some, can
 * alter those bytes. A receiver that does not live with that demands WIRE_F_COVER
 * (wire_keys.cover). Nothing is encrypted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mac.h"

#define WIRE_VERSION      2 /* 1 had no wire_start.away */
#define WIRE_HEADER_SIZE  32
#define WIRE_START_SIZE   12
#define WIRE_ACK_SIZE     52
#define WIRE_CREDIT_SIZE  12
#define WIRE_HEAD_MAX     (WIRE_HEADER_SIZE + WIRE_ACK_SIZE) /* of a header and its extension */
#define WIRE_PACKET_MAX   65507                              /* bytes of a datagram */
#define WIRE_COVER_MAX    256                                /* payload always under the tag */
#define WIRE_OFFSET_MAX   ((INT64_C(1) << 40) - 1)
#define WIRE_MESSAGE_MAX  (INT64_C(1) << 30)        /* bytes of a message */
#define WIRE_DEMAND_MAX   ((UINT32_C(1) << 24) - 1) /* KiB */
#define WIRE_AWAY_NS      INT64_C(100000)
#define WIRE_PRIORITY_MAX 7
#define WIRE_TENSOR_MAX   3
#define WIRE_ATTEMPT_MAX  7
#define WIRE_TICK_NS      64                  /* unit of `sent` on the wire */
#define WIRE_TICKS        (UINT32_C(1) << 24) /* it turns over after 1.07 s */

enum wire_type {
    WIRE_WRITE = 1, /* id = region of the receiver, offset in it */
    WIRE_SEND,      /* id = number of the message modulo 2^16, offset in it */
    WIRE_READ,      /* request: id, offset = region of the responder; start.length bytes */
    WIRE_READ_DATA, /* id = start.immediate of the request, offset in what was asked for */
    WIRE_ACK,
    WIRE_PROBE, /* please acknowledge, with echo_ticks of this; carries the demand when WIRE_F_START
                   is set */
    WIRE_CREDIT, /* ack.credit_bytes and ack.weight_total alone */
    WIRE_NAK,    /* id = enum wire_nak, offset = the low 40 bits of the psn refused */
};

enum wire_flag {
    WIRE_F_START = 1,     /* a start extension follows */
    WIRE_F_LAST = 2,      /* last packet of its message */
    WIRE_F_IMMEDIATE = 4, /* start.immediate is told to the receiver */
    WIRE_F_ASK = 8,       /* acknowledge at once */
    WIRE_F_COVER = 16,    /* the whole payload is under the tag */
};
#define WIRE_F_ALL 31

enum wire_nak {
    WIRE_NAK_ACCESS = 1, /* no such region, or not for this queue pair, or out of its range */
    WIRE_NAK_LENGTH,     /* longer than the receive that was posted */
    WIRE_NAK_STATE,      /* the queue pair is closed */
};
#define WIRE_NAK_MAX WIRE_NAK_STATE

struct wire_start {
    uint32_t length;     /* bytes of the message, at most WIRE_MESSAGE_MAX */
    uint32_t immediate;  /* of the user (WIRE_F_IMMEDIATE), or the number of a read */
    uint32_t demand_kib; /* what waits to be sent after this message, at most WIRE_DEMAND_MAX */
    uint8_t away; /* for how long the sender's process did not run of late, in WIRE_AWAY_NS */
};

struct wire_ack {
    uint64_t next_psn;     /* all before it have arrived */
    uint64_t sack_base;    /* multiple of 64 */
    uint64_t sack;         /* bit i: sack_base + i has arrived */
    uint64_t echo_psn;     /* the newest packet that arrived ... */
    uint8_t echo_attempt;  /* ... and which of its transmissions */
    bool echo_duplicate;   /* it had arrived before */
    uint32_t echo_ticks;   /* its `sent_ticks`, or those of a probe that came after it */
    uint32_t hold_ns;      /* how long the receiver kept the echo */
    uint32_t queue_ns;     /* one-way delay of the echo above the least seen */
    uint32_t arrived;      /* packets of this direction that arrived, modulo 2^32 */
    uint32_t marked;       /* of them with ECN CE, modulo 2^32 */
    uint64_t credit_bytes; /* payload bytes, from 0, that may be sent in all */
    uint32_t weight_total; /* of all that send to this receiver now; 0 = not known */
};

struct wire_packet {
    enum wire_type type;
    uint8_t flags; /* enum wire_flag */
    uint8_t path;  /* which of the source ports */
    uint8_t priority, tensor, attempt;
    uint32_t label;
    uint16_t qp; /* of the receiver */
    uint16_t id;
    uint64_t offset;     /* at most WIRE_OFFSET_MAX */
    uint32_t sent_ticks; /* below WIRE_TICKS */
    uint64_t psn;
    struct wire_start start; /* with WIRE_F_START */
    struct wire_ack ack;     /* with WIRE_ACK */
    const uint8_t *payload;  /* borrowed from the datagram */
    size_t payload_len;
};

/* Keys of one direction of one queue pair. */
struct wire_keys {
    unsigned char header[SIP_KEY_SIZE], payload[SIP_KEY_SIZE];
    bool cover; /* a receiver refuses payloads that the tag does not cover */
};

/* What a receiver knows, to make 64 bits of 32. */
struct wire_near {
    uint64_t data_psn;    /* the next data packet it waits for */
    uint64_t control_psn; /* the next control packet */
    uint64_t acked_psn;   /* the oldest of its own that is not acknowledged */
};

/* The value with these low bits that is nearest to `near`; never negative. */
uint64_t wire_expand(uint32_t low, uint64_t near);
uint32_t wire_ticks(int64_t now_ns);
/* wire_start.away of a time: the part of a unit is dropped, what is more than it tells is cut. */
uint8_t wire_away(int64_t away_ns);
/* From `sent` to now in ns, at most half a turn (0.53 s); a time in the future counts as 0. */
int64_t wire_ticks_since(uint32_t sent_ticks, int64_t now_ns);

bool wire_is_control(enum wire_type type);
const char *wire_type_name(enum wire_type type);

/* Which queue pair a datagram says it is for, to find its keys; trusts nothing else.
 * ERR_INVALID = not a packet of this version. */
ERR_MUST_CHECK enum err_code wire_peek(const uint8_t *data, size_t len, uint16_t *out_qp,
                                       struct err *err);

/* Checks and decodes. ERR_DENIED = the tag is wrong (checked first), ERR_INVALID = malformed
 * though genuine: the other side is broken. `out` is untouched on failure. err may be NULL. */
ERR_MUST_CHECK enum err_code wire_open(const struct wire_keys *keys, const struct wire_near *near,
                                       const uint8_t *data, size_t len, struct wire_packet *out,
                                       struct err *err);

/* Writes header and extension in front of `packet->payload`, which stays where it is; returns their
 * length. The members must be in range (asserted). */
size_t wire_seal(const struct wire_keys *keys, const struct wire_packet *packet,
                 uint8_t head[WIRE_HEAD_MAX]);

/* Window against replay ---------------------------------------------------------------------- */

#define WIRE_WINDOW_BITS 1024

struct wire_window {
    uint64_t next; /* one above the highest seen */
    uint64_t bits[WIRE_WINDOW_BITS / 64];
};

/* True once for each number that is less than WIRE_WINDOW_BITS - 64 behind the highest; false for
 * all that are WIRE_WINDOW_BITS behind it. A window of zeros is a new one. */
bool wire_window_pass(struct wire_window *window, uint64_t number);
