#pragma once
/*
 * datapath/solar/track.h - the sender's book of packets in flight: what is acknowledged, what is
 * lost, what was sent again for nothing. Pure: time is an argument; the memory is the caller's.
 *
 * A packet is known by where its bytes stand (token and offset of a message in registered memory),
 * so a repair is sent from there again: nothing is copied or kept here.
 *
 * A packet counts as lost when a bitmap shows it missing and
 * - `tolerance` packets that were sent after it on the same path have arrived, or
 * - something arrived, on any path, that was sent more than a whole wait for an acknowledgement
 *   after it (as RACK of RFC 8985 has it), or
 * - its timer ends.
 * That some acknowledgement was lost makes nothing lost. Paths (source ports) keep their order,
 * different ones need not: what is less than a round trip apart on two paths proves nothing. The
 * tolerance of a path grows when a repair turns out to have been for nothing (the other side says
 * that it got a packet twice).
 *
 * Nothing follows the last packets: when all is silent for a wait, the other side is asked for an
 * acknowledgement (WIRE_PROBE). Its answer tells that it had the question, and so that what is
 * still missing was lost before. A process that does not run answers late, and loses nothing: where
 * there are such (track_set_patience) silence proves nothing, and timers are the last resort.
 *
 * A path on which TRACK_BAD_TIMEOUTS packets in a row were given up by time, with nothing arriving
 * between, is left out for TRACK_BAD_NS.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/wire.h"

#define TRACK_PATHS_MAX      64
#define TRACK_SLOTS_MIN      64
#define TRACK_SLOTS_MAX      32768
#define TRACK_NONE           UINT16_MAX
#define TRACK_TOLERANCE      3
#define TRACK_TOLERANCE_MAX  256
#define TRACK_BAD_TIMEOUTS   2
#define TRACK_BAD_NS         INT64_C(100000000)
#define TRACK_TIMEOUT_MAX_NS INT64_C(1000000000)

enum track_state { TRACK_FREE, TRACK_FLIGHT, TRACK_LOST, TRACK_ACKED };

struct track_packet {
    uint64_t psn;
    uint64_t offset; /* of its bytes in the message */
    int64_t sent_ns;
    uint32_t token; /* the caller's: which message */
    uint32_t path_seq;
    uint16_t len;
    uint16_t next, prev; /* of its path's list, or of the lost ones */
    uint32_t behind_ns;  /* what the sender had put before it, in time of the line */
    uint8_t path, attempt, state;
    bool passed; /* by a later one of its path: not part of flight_bytes */
};

struct track_path {
    uint32_t sent, arrived; /* transmissions; the highest that arrived, plus one */
    uint16_t first, last;   /* in flight, oldest first */
    int tolerance, timeouts;
    int64_t bad_until_ns;
    int64_t timeout_ns; /* when the last timer ended */
};

struct track_counters {
    uint64_t sent, resent, acked, lost, timeouts, spurious; /* packets */
};

struct track {
    struct track_packet *slots; /* borrowed; a power of two */
    uint64_t mask;
    uint64_t una, next;   /* all before una are acknowledged; next is not sent yet */
    int64_t flight_bytes; /* payload in the network, as far as is known */
    uint16_t lost_first, lost_last;
    int paths, turn, stride;
    int burst, run;  /* packets in a row on one path; how many the one in turn has had */
    int64_t srtt_ns; /* without the receiver's hold; 0: no sample yet */
    int64_t wait_ns, waitvar_ns; /* with it: what timers go by, as it may hold the next one too */
    int64_t late_ns;             /* the longest that one of late took to be acknowledged */
    int64_t timeout_min_ns, patience_ns;
    uint32_t heard;            /* wire_ack.arrived of the newest acknowledgement */
    int64_t sent_ns, asked_ns; /* when something, or the question, was sent last; 0 = never */
    int64_t seen_ns;           /* when the newest that is known to have arrived was sent */
    int64_t news_ns;           /* when something was acknowledged for the first time, last */
    int asks;                  /* in a row without an answer */
    uint32_t behind_ns;        /* of the packets entered from now on; the caller's */
    struct track_counters counters;
    struct track_path path[TRACK_PATHS_MAX];
};

/* What an acknowledgement brought. */
struct track_news {
    int64_t acked_bytes, acked_packets; /* for the first time */
    int64_t lost_packets, lost_bytes;   /* found lost by it */
    int64_t rtt_ns;                     /* without the receiver's hold; -1 = no sample */
    int64_t behind_ns;                  /* of that sample's packet */
};

/* slot_count: a power of two, TRACK_SLOTS_MIN to _MAX; paths: 1 to TRACK_PATHS_MAX; the least
 * timeout should be a few base round trips and what the receiver may hold an acknowledgement. */
ERR_MUST_CHECK enum err_code track_init(struct track *t, struct track_packet *slots,
                                        size_t slot_count, int paths, int64_t timeout_min_ns,
                                        struct err *err);

/* The other side's process may be silent for so long though nothing is lost: no timer ends sooner,
 * nor so soon after anything was acknowledged (it may be slow with all that waits before it), and
 * it is asked already before the first sample. The least timeout at first, which changes nothing.
 */
void track_set_patience(struct track *t, int64_t patience_ns);
/* In which order paths take their turns: by one (at first), or by a step that follows from `seed`
 * and has nothing in common with their number. Senders whose orders differ meet at a link now and
 * then; those with the same order, that began together, meet at each one. */
void track_set_order(struct track *t, uint64_t seed);
/* So many packets in a row take one path (1 at first): they leave as one burst. Not below 1. */
void track_set_burst(struct track *t, int packets);

bool track_has_room(const struct track *t); /* for one more packet that is not acknowledged */
/* The next path in turn that is not bad and not on trial; if there is none, the next one. */
uint8_t track_next_path(struct track *t, int64_t now_ns);
bool track_path_is_bad(const struct track *t, uint8_t path, int64_t now_ns);

/* Enters a new packet, in flight from now on; needs room (asserted). Valid until acknowledged. */
const struct track_packet *track_send(struct track *t, uint32_t token, uint64_t offset,
                                      uint16_t len, uint8_t path, int64_t now_ns);

/* The first of the packets found lost, or NULL. */
const struct track_packet *track_lost(const struct track *t);
/* It is sent again now; its attempt is one higher (and stays at WIRE_ATTEMPT_MAX). */
const struct track_packet *track_resend(struct track *t, uint8_t path, int64_t now_ns);

/* ERR_INVALID = it acknowledges what was never sent: the other side is broken; nothing changed. */
ERR_MUST_CHECK enum err_code track_on_ack(struct track *t, const struct wire_ack *ack,
                                          int64_t now_ns, struct track_news *out, struct err *err);

/* Finds the packets whose timer ended; returns how many. */
int track_on_tick(struct track *t, int64_t now_ns);
/* Should the other side be asked for an acknowledgement now? */
bool track_wants_ask(const struct track *t, int64_t now_ns);
/* A WIRE_PROBE was sent, with this time's ticks. */
void track_asked(struct track *t, int64_t now_ns);
/* When one of the two has something to do at the earliest; INT64_MAX = nothing is in flight. */
int64_t track_deadline_ns(const struct track *t);
