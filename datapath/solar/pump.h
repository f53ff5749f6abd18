#pragma once
/*
 * datapath/solar/pump.h - when one queue pair may send what: track.h, cc.h and the receiver's
 * credit put together, the same in the library and in the simulator. Pure: time is an argument.
 *
 * The owner asks pump_next() and does what it says:
 *   PUMP_REPAIR  send pump_repair()'s packet again, from where its bytes stand
 *   PUMP_NEW     if it has new bytes: pump_send()
 *   PUMP_PROBE   new bytes wait, there is no credit for a packet, and the receiver does not know of
 * them, or has been silent for long: announce them (WIRE_PROBE) and say pump_announced() PUMP_WAIT
 * nothing before *out_ready_ns, or before an acknowledgement Packets are paced: one may go when the
 * time of the last one at the rate of cc.h is over.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/cc.h"
#include "datapath/solar/track.h"

enum pump_action { PUMP_WAIT, PUMP_NEW, PUMP_REPAIR, PUMP_PROBE };

/* Where hosts hold packets up (pump_set_hold), a queue is what the least of so many measurements
 * shows: one that stands is in all of them, a core that was busy elsewhere in some. */
#define PUMP_QUEUES 8

struct pump {
    struct track *track; /* borrowed */
    struct cc cc;
    int header_bytes;               /* of a packet on the wire, beside its payload */
    uint64_t sent_bytes;            /* new payload, sum from 0 */
    uint64_t credit_bytes;          /* its limit */
    double next_ns;                 /* when pacing lets the next packet go */
    double line_ns;                 /* when the line will have carried what was sent */
    int burst, run;                 /* packets that leave together; how many of them left */
    int64_t hold_max_ns;            /* of a receiver's hold that the window makes up for */
    double hold_ns;                 /* the longest of late */
    double absent_ns;               /* of the own process, of late */
    int64_t queues_ns[PUMP_QUEUES]; /* the last that were measured */
    int queue_turn;
    uint64_t announced_bytes; /* payload that the receiver knows of, sum from 0 */
    int64_t heard_ns;         /* of credit, or when it was asked for last */
    uint32_t heard_arrived, heard_marked;
    double weight_total;
    double window_bdps;
    bool path_marks; /* the path has ECN: no marks mean no queue */
};

void pump_init(struct pump *p, struct track *track, const struct cc *cc, int header_bytes,
               uint64_t credit_bytes, bool path_marks);

/* What the sender put on the line itself is no queue of others: a round trip is less by what of its
 * own was before the packet, and the window longer by a burst.
 *
 * So many packets leave together when pacing lets the first of them go (1 at first), but no more
 * than the own rate carries in a round trip, or PUMP_BURST_LEAST: the bursts of those who share a
 * slow link are no more than that of one who has it alone. The time of all of them passes before
 * the next burst. Not below 1. */
#define PUMP_BURST_LEAST 2
void pump_set_burst(struct pump *p, int packets);

/* On several paths packets overtake each other, and one that waits in a queue keeps no other back:
 * the window that keeps a line full is longer by what waits. In products of the law's window; 1 at
 * first, not below. */
#define PUMP_SPRAY_BDPS 1.5
void pump_set_window(struct pump *p, double bdps);

/* What a receiver holds has left the network: the window is longer by what the rate carries in the
 * longest hold of late, of which at most so much counts (0 at first). The credit still bounds it.
 */
void pump_set_hold(struct pump *p, int64_t most_ns);

/* The sender's own process came so long after an acknowledgement did, or after pacing let it go on.
 * Counts as a hold does;
 * and of what pacing would have let go meanwhile, PUMP_CATCH_UP_NS' worth at most goes at once. */
void pump_note_absence(struct pump *p, int64_t absent_ns);
#define PUMP_CATCH_UP_NS INT64_C(10000000)

#define PUMP_EMPTY -1 /* a packet without payload waits: it needs no credit */

/* Payload of the next new packet, where the owner has `len` for it: all, or what the credit leaves
 * when none of the queue pair is on its way. A rest of credit that is less than the packet would
 * otherwise wait for a grant; and where the rests of many fill the receiver's pool, there is none
 * ever. `len` where nothing is left: pump_next() then asks. */
int64_t pump_fit(const struct pump *p, int64_t len);

/* `waiting` = payload bytes that the owner has to send for the first time, of the next packet
 * (pump_fit), or PUMP_EMPTY; 0 = nothing waits. */
enum pump_action pump_next(struct pump *p, int64_t waiting, int64_t now_ns, int64_t *out_ready_ns);

const struct track_packet *pump_send(struct pump *p, uint32_t token, uint64_t offset, uint16_t len,
                                     int64_t now_ns);
const struct track_packet *pump_repair(struct pump *p, int64_t now_ns);

/* A start or a probe told the receiver that this much is wanted, sum of payload from 0. */
void pump_announced(struct pump *p, uint64_t sum_bytes, int64_t now_ns);

/* ERR_INVALID = the peer is broken. */
ERR_MUST_CHECK enum err_code pump_on_ack(struct pump *p, const struct wire_ack *ack, int64_t now_ns,
                                         struct err *err);
/* Credit alone (WIRE_CREDIT); also used by pump_on_ack(). */
void pump_on_credit(struct pump *p, const struct wire_ack *ack, int64_t now_ns);
/* Timers; call at pump_deadline_ns(). */
void pump_on_tick(struct pump *p, int64_t now_ns);
int64_t pump_deadline_ns(const struct pump *p);
