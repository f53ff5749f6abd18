#pragma once
/*
 * datapath/solar/place.h - the receiver's book: each packet is placed at once, wherever it is in
 * the order; messages are told of in order, once each, when all of their packets are there. Pure:
 * time is an argument; the memory is the caller's.
 *
 * place_arrive() says whether a packet is new; the caller then copies its payload to (id, offset),
 * after it has checked that this is allowed. What a packet means for its message is looked at in
 * the order of psn only, so that a peer that contradicts itself is found out whatever the order of
 * arrival.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/wire.h"

#define PLACE_SLOTS_MIN     64
#define PLACE_SLOTS_MAX     32768
#define PLACE_ACK_EVERY_MAX 1024

enum place_verdict {
    PLACE_NEW,
    PLACE_DUPLICATE, /* its payload is where it belongs already: do not write it again */
    PLACE_BEYOND,    /* further ahead than this side has room for: not recorded, drop it */
};

struct place_slot {
    uint8_t type, flags; /* flags' top bit: there */
    uint16_t id;
    uint32_t len;
    struct wire_start start;
};

/* One that is complete. */
struct place_message {
    enum wire_type type;
    uint16_t id; /* of its first packet */
    bool has_immediate;
    uint32_t immediate;
    uint32_t length;
    uint64_t last_psn;
};

struct place_counters {
    uint64_t arrived, duplicates, beyond, marked; /* packets; arrived counts the new ones */
};

struct place {
    struct place_slot *slots; /* borrowed; a power of two */
    uint64_t mask;
    uint64_t next;  /* all before it are there */
    uint64_t told;  /* messages are told up to here */
    uint64_t above; /* one above the highest that arrived */
    bool in_message, broken;
    int turn;           /* of the bitmaps */
    uint64_t turn_word; /* where the words in turn have come to */
    uint64_t untold;    /* no bitmap has told what arrived from here on */
    struct place_message message;
    uint64_t message_bytes;
    /* For the acknowledgement. */
    int unacked, ack_every;
    bool urgent, has_echo;
    uint64_t echo_psn;
    uint8_t echo_attempt;
    bool echo_duplicate;
    uint32_t echo_ticks; /* of the echo, or of a probe that came after it */
    int64_t echo_ns;
    uint32_t queue_ns;
    uint32_t base_ticks, base_next_ticks; /* least transit, of the last spans of PLACE_BASE_NS */
    int64_t base_ns;                      /* when the span under way began; -1 = none */
    struct place_counters counters;
};

#define PLACE_BITMAP_TURNS 4
#define PLACE_BASE_NS      INT64_C(10000000000)

/* slot_count: a power of two, PLACE_SLOTS_MIN to _MAX: packets that may be ahead of the first gap.
 */
ERR_MUST_CHECK enum err_code place_init(struct place *p, struct place_slot *slots,
                                        size_t slot_count, int ack_every, struct err *err);

/* Has this packet arrived before? */
bool place_has(const struct place *p, uint64_t psn);

/* A genuine data packet. `marked` = it came with ECN CE. */
enum place_verdict place_arrive(struct place *p, const struct wire_packet *packet, bool marked,
                                int64_t now_ns);

/* A genuine WIRE_PROBE, with its `sent_ticks`: what arrived before it is told at once. */
void place_probed(struct place *p, uint32_t sent_ticks);

/* The next message that is complete, in order: ERR_OK and *out_has. ERR_INVALID = the packets
 * contradict each other (no start, a start inside a message, another length than was said): the
 * peer is broken, and the queue pair should be closed; so it stays. */
ERR_MUST_CHECK enum err_code place_message(struct place *p, bool *out_has,
                                           struct place_message *out, struct err *err);

/* Is an acknowledgement due now (asked for, a gap, a duplicate, ack_every packets, or the last
 * one's bitmap had no room for all that arrived)? */
bool place_wants_ack(const struct place *p);
/* Has anything arrived since the last one? Then it should go within the time the sides agreed on.
 */
bool place_owes_ack(const struct place *p);
/* Fills all but the credit and the weights, and begins anew. A bitmap shows what none has shown
 * yet; one of PLACE_BITMAP_TURNS shows the next word of all, so that a lost acknowledgement is made
 * up for. While place_wants_ack() another one should follow at once. */
void place_ack(struct place *p, int64_t now_ns, struct wire_ack *out);
