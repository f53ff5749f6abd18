#pragma once
/*
 * datapath/solar/cc.h - congestion control of one sender: laws behind one interface, so that each
 * runs in the library and in the simulator as the same object. Pure: time is an argument.
 *
 * A law turns acknowledgements and losses into a rate. The window is the same for all: what the law
 * allows, at most the product of line rate and base round trip, at most the receiver's credit. The
 * window matters more than the law: with it the queue of an incast is bounded before the first
 * acknowledgement is back.
 *
 * Numbers are double, not fixed point: a law multiplies rates over eight orders of magnitude, runs
 * once an acknowledgement (not a packet), and IEEE arithmetic without -ffast-math is the same in
 * the library and in the simulator. What comes out is finite and in range whatever goes in.
 *
 * Solar-CC, in the words of its law: alpha(t+1) = alpha(t) + eta [R(t) - beta q(t)], alpha = own
 * rate / line rate, R = reward, q = queue / (line rate * base round trip), one step a round trip.
 * - CC_SOLAR_LITERAL: R = reward + reward_rate * alpha. It does not converge to fairness: with
 *   reward_rate = 0 all flows do the same steps, so that their first distances stay; with more, the
 *   largest takes all. Kept to show that.
 * - CC_SOLAR: R = w - (alpha - 1) beta q, that is alpha += eta [w - alpha beta q], Kelly's
 *   proportional fairness: alpha = w / (beta q) wherever flows share a queue. w is the share
 *   weight / weight_total; with the total from the receiver the standing queue is 1/beta whatever
 *   the number of senders, and the gain falls as 1/N. Without it weight_assumed is the total. q is
 *   looked at a little ahead (damping * its change), so that the answer, one round trip late, does
 *   not swing. q is the share of packets with ECN marks where the path marks, the delay otherwise.
 *   A round trip is the base and what the hosts' processes hold up (cc_ack.hold_ns); an
 *   acknowledgement that comes later than one after the last step makes as many steps as it is
 *   late, at most CC_STEPS_MAX, so that senders that hear seldom grow as fast as others.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum cc_kind { CC_SOLAR, CC_SOLAR_LITERAL, CC_DCQCN, CC_SWIFT, CC_HPCC };
#define CC_KINDS (CC_HPCC + 1)

#define CC_RATE_MIN_BPS  INT64_C(1000000)        /* a line's least */
#define CC_RATE_MAX_BPS  INT64_C(10000000000000) /* and most: 10 Tbit/s */
#define CC_RTT_MIN_NS    INT64_C(100)
#define CC_RTT_MAX_NS    INT64_C(10000000000)
#define CC_PACKET_MIN    64 /* bytes */
#define CC_PACKET_MAX    65536
#define CC_WEIGHT_MAX    1000000
#define CC_SHARE_MIN     1e-5 /* of the line: no law goes lower */
#define CC_GAIN_MAX      1e3  /* eta, beta, reward, damping */
#define CC_STEPS_MAX     8    /* of Solar-CC in one acknowledgement */
#define CC_QUEUE_RTT_MAX 1e3  /* queues above count as this many base round trips */

struct cc_params {
    /* Of the path. */
    int64_t line_bps, base_rtt_ns;
    int packet_bytes; /* a full packet on the wire */
    /* Of the sender. */
    double weight;         /* tenant's weight * tensor class; above 0, at most CC_WEIGHT_MAX */
    double weight_assumed; /* total when the receiver does not tell; at least weight */
    /* Solar-CC; what a tuner finds and the control page carries. */
    double eta, beta, damping, reward, reward_rate;
};

/* One acknowledgement. Unknown is -1. */
struct cc_ack {
    int64_t now_ns;
    int64_t rtt_ns;          /* of the echoed packet, without the receiver's hold */
    int64_t queue_ns;        /* delay above the base, or -1: then rtt_ns - base */
    int64_t hold_ns;         /* of hosts whose processes do not always run: no queue; 0 = none */
    int64_t acked_bytes;     /* newly */
    int64_t packets, marked; /* since the last one; marked = -1: the path does not mark */
    double weight_total;     /* of all senders to the receiver; 0 = not known */
    /* In-band telemetry of the most loaded hop, where there is one: (queue / (rate * base round
     * trip)) + (throughput / rate), or -1: then CC_HPCC infers it. */
    double utilisation;
};

struct cc_solar {
    double alpha, queue;
    int64_t step_ns; /* the last one */
    int64_t packets, marked;
    double delay_sum; /* of `delays` acknowledgements, in round trips */
    int64_t delays;
};
struct cc_dcqcn {
    double target_bps, alpha;
    int64_t cut_ns, alpha_ns, timer_ns, bytes;
    int timer_stage, byte_stage;
};
struct cc_swift {
    double window; /* packets */
    int64_t cut_ns;
};
struct cc_hpcc {
    double base_bytes, utilisation;
    int64_t next_ns;
    int stage;
};

struct cc {
    enum cc_kind kind;
    struct cc_params params;
    double rate_bps;     /* CC_SHARE_MIN of the line to the line */
    double window_bytes; /* of the law: one byte to one BDP */
    double bdp_bytes;
    union {
        struct cc_solar solar;
        struct cc_dcqcn dcqcn;
        struct cc_swift swift;
        struct cc_hpcc hpcc;
    } u;
};

/* Parameters that measured well on the paths of the simulator; the path's members are arguments. */
struct cc_params cc_defaults(int64_t line_bps, int64_t base_rtt_ns, int packet_bytes);

/* Starts at line rate and a full window. ERR_INVALID = a parameter out of range; says which. */
ERR_MUST_CHECK enum err_code cc_init(struct cc *cc, enum cc_kind kind,
                                     const struct cc_params *params, struct err *err);
/* New parameters for a sender under way; its rate stays as far as the new line allows. */
ERR_MUST_CHECK enum err_code cc_retune(struct cc *cc, const struct cc_params *params,
                                       struct err *err);

void cc_on_ack(struct cc *cc, const struct cc_ack *ack);
/* A packet is lost (not: suspected). */
void cc_on_loss(struct cc *cc, int64_t now_ns, int64_t lost_bytes);
/* At least once a base round trip while packets are in flight. */
void cc_on_tick(struct cc *cc, int64_t now_ns);

int64_t cc_rate_bps(const struct cc *cc);
/* Bytes that may be in flight: min(law, BDP, credit). Never negative; 0 only without credit. */
int64_t cc_window_bytes(const struct cc *cc, int64_t credit_bytes);

/* "solar", "solar-literal", "dcqcn", "swift", "hpcc". */
const char *cc_kind_name(enum cc_kind kind);
bool cc_kind_from_name(const char *name, enum cc_kind *out);
