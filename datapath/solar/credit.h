#pragma once
/*
 * datapath/solar/credit.h - how a receiver divides its line among those who send to it, so that an
 * incast never overflows the last switch. Pure; all memory is in struct credit.
 *
 * A sender may send new payload up to a sum of bytes that the receiver raises. What is granted to
 * all of them together and has not arrived is at most `pool_bytes` (a little more than one
 * bandwidth-delay product): an arriving packet makes room for one grant, which goes to the senders
 * in turn, by weight.
 *
 * One that idles holds a first credit, so that a message can start at once: an equal part of the
 * pool (or of several, credit_set_first), of at most one, for each sender that has joined. Where
 * that is less than a packet it is nothing: many senders announce their demand first (a
 * WIRE_PROBE), which costs a round trip, where all of them beginning at once would cost the whole
 * buffer. (127 senders of a packet each are 3.5 bandwidth-delay products of 100 Gbit/s and 12 us.)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CREDIT_SENDERS_MAX 4096
#define CREDIT_FIRST_MAX   16
#define CREDIT_FIRST_SPRAY 2 /* pools, where queue pairs have several paths */
#define CREDIT_WEIGHT_MAX  10000
#define CREDIT_NONE        UINT16_MAX

/* Who sends alone to a receiver makes no incast: it may have more than the pool on its way, so much
 * as the receiver can keep while its process does not run (credit_set_alone). */

struct credit_sender {
    bool used, waits;
    int weight, turns;                 /* grants left in this round */
    uint64_t granted, arrived, demand; /* payload bytes, sums from 0 */
    uint16_t next;                     /* of those that wait */
};

struct credit {
    int64_t pool_bytes, packet_bytes, alone_bytes, held_bytes;
    int first_pools;
    int64_t outstanding; /* granted to active senders and not arrived */
    int joined;
    int64_t weight_active; /* of those with demand that has not arrived */
    uint16_t first, last;  /* those that wait for a grant */
    int senders;           /* slots in use are below it */
    struct credit_sender sender[CREDIT_SENDERS_MAX];
};

/* packet_bytes: payload of a full packet; pool_bytes at least that. ERR_INVALID. */
ERR_MUST_CHECK enum err_code credit_init(struct credit *c, int64_t pool_bytes, int64_t packet_bytes,
                                         struct err *err);

/* What the one active sender may have on its way; less than the pool counts as the pool, as it is
 * at first. */
void credit_set_alone(struct credit *c, int64_t bytes);

/* What the line brings while the receiver's process does not run: it waits in the socket and in no
 * switch, so that senders may have so much more than the pool on their way, up to what one alone
 * may have. 0 at first. */
void credit_set_held(struct credit *c, int64_t bytes);

/* What all idle senders together may start with, in pools (1 at first, to CREDIT_FIRST_MAX): so
 * much stands in the last switch where all of them do so at once, and so much less of a round trip
 * does one wait that starts alone. */
void credit_set_first(struct credit *c, int pools);

/* A queue pair more; ERR_LIMIT, ERR_INVALID (weight). */
ERR_MUST_CHECK enum err_code credit_join(struct credit *c, int weight, uint16_t *out_sender,
                                         struct err *err);
void credit_leave(struct credit *c, uint16_t sender);

/* The sender wants to have sent so many payload bytes in all; a lower sum than before, or one that
 * is more than CREDIT_DEMAND_MAX ahead, is a lie and counts as that. */
#define CREDIT_DEMAND_MAX (INT64_C(1) << 40)
void credit_demand(struct credit *c, uint16_t sender, uint64_t sum_bytes);
/* New payload arrived (not a duplicate). */
void credit_arrived(struct credit *c, uint16_t sender, int64_t bytes);

/* It wants more than has arrived. */
bool credit_is_active(const struct credit *c, uint16_t sender);
/* Nothing came of it for a long time: what it was granted counts no more, so that others have the
 * line. What it was told it may send still holds; it is active again when something of it comes. */
void credit_rest(struct credit *c, uint16_t sender);

/* Gives one grant; false = none is due. The sender is then to be told of credit_sum(). */
bool credit_grant(struct credit *c, uint16_t *out_sender);

/* For wire_ack: what the sender may send in all, and the weights of all active ones. */
uint64_t credit_sum(const struct credit *c, uint16_t sender);
uint32_t credit_weight_total(const struct credit *c);
