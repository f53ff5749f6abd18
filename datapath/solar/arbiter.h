#pragma once
/*
 * datapath/solar/arbiter.h - which message sends next, in two levels. Pure: time is an argument;
 * all memory is in struct arbiter.
 *
 * Between labels (jobs of tenants):
 *   1. a label with a backlog and something left of its guarantee goes first; among several the one
 *      with the least bytes / guarantee, so that guarantees above the line are cut in proportion;
 *   2. what is left goes to the label with the least bytes / weight sent in this part;
 *   3. a label never sends above its limit, not even when the line is idle otherwise.
 * Nothing else keeps the line idle while there is a backlog.
 *
 * Inside a label, by rank: control messages (tensor class 0) first, then by the order chosen:
 *   ARBITER_SMALL_FIRST  the fewest remaining bytes first (by powers of two): the least mean time
 *                        to completion
 *   ARBITER_LARGE_FIRST  the most remaining bytes first: gradients before the small ones
 * Who waits rises one rank each age_ns, so nobody starves: arbiter_wait_bound_ns() is the most a
 * message waits between two grants. Among equals the one that was begun goes on for age_ns.
 *
 * The caller: arbiter_push() a message; arbiter_pick() one; send at most grant.bytes;
 * arbiter_sent(). A message that may not send (window, credit) is parked and costs nobody.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/bucket.h"

#define ARBITER_LABELS_MAX  256
#define ARBITER_ENTRIES_MAX 4096
#define ARBITER_RANKS       20 /* control, then powers of two from 4 KiB to 1 GiB */
#define ARBITER_WEIGHT_MAX  10000
#define ARBITER_QUANTUM_MAX (1024 * 1024)
#define ARBITER_AGE_MAX_NS  INT64_C(1000000000)
#define ARBITER_MESSAGE_MAX (INT64_C(1) << 30)
#define ARBITER_NONE        UINT16_MAX

enum arbiter_order { ARBITER_SMALL_FIRST, ARBITER_LARGE_FIRST };

struct arbiter_config {
    int64_t quantum_bytes; /* of one grant, 1 to ARBITER_QUANTUM_MAX */
    int64_t age_ns;        /* 1 to ARBITER_AGE_MAX_NS */
    enum arbiter_order order;
};

struct arbiter_share {
    int64_t guarantee_bps; /* 0 = none */
    int64_t limit_bps;     /* 0 = none; not below the guarantee */
    int weight;            /* 1 to ARBITER_WEIGHT_MAX */
};

struct arbiter_grant {
    uint16_t entry;
    uint32_t token; /* of arbiter_push */
    int64_t bytes;  /* at most what remains and a quantum */
};

struct arbiter_list {
    uint16_t first, last; /* entries by the time they were served last, oldest first */
};

struct arbiter_label {
    bool used;
    uint32_t label;
    struct arbiter_share share;
    struct bucket guarantee, limit;
    uint64_t assured; /* bytes / guarantee of part 1, in ns */
    uint64_t sent;    /* bytes / weight of part 2, in 1/2^20 */
    int waiting;      /* entries in lists */
    int entries;      /* and parked ones */
    uint16_t current;
    struct arbiter_list ranks[ARBITER_RANKS];
    int64_t bytes; /* sent in all */
};

struct arbiter_entry {
    bool used, parked;
    uint8_t tensor, rank;
    uint16_t label, next, prev;
    uint32_t token;
    int64_t remaining;
    int64_t served_ns;
};

struct arbiter {
    struct arbiter_config config;
    uint64_t assured, sent; /* of the label that went last in that part: who wakes starts here */
    int labels;             /* slots in use are below it */
    uint16_t free;          /* list of entries, by next */
    struct arbiter_label label[ARBITER_LABELS_MAX];
    struct arbiter_entry entry[ARBITER_ENTRIES_MAX];
};

ERR_MUST_CHECK enum err_code arbiter_init(struct arbiter *a, const struct arbiter_config *config,
                                          struct err *err);

/* Makes or changes a label, live. ERR_INVALID, ERR_LIMIT (ARBITER_LABELS_MAX). */
ERR_MUST_CHECK enum err_code arbiter_label_set(struct arbiter *a, uint32_t label,
                                               const struct arbiter_share *share, int64_t now_ns,
                                               struct err *err);
/* ERR_NOT_FOUND, ERR_CONFLICT (it has messages). */
ERR_MUST_CHECK enum err_code arbiter_label_drop(struct arbiter *a, uint32_t label, struct err *err);
/* Bytes sent in all; -1 = no such label. */
int64_t arbiter_label_bytes(const struct arbiter *a, uint32_t label);
/* What it gets; NULL = no such label. */
const struct arbiter_share *arbiter_label_share(const struct arbiter *a, uint32_t label);
/* Messages of it could be sent, were it not for limits and for the others. */
bool arbiter_label_waits(const struct arbiter *a, uint32_t label);

/* A message of 1 to ARBITER_MESSAGE_MAX bytes. ERR_INVALID, ERR_NOT_FOUND (label), ERR_LIMIT. */
ERR_MUST_CHECK enum err_code arbiter_push(struct arbiter *a, uint32_t label, uint8_t tensor,
                                          int64_t bytes, uint32_t token, int64_t now_ns,
                                          uint16_t *out_entry, struct err *err);

/* False = nothing may send now; *out_ready_ns is when a limit lets one (INT64_MAX = not by itself).
 */
bool arbiter_pick(struct arbiter *a, int64_t now_ns, struct arbiter_grant *out,
                  int64_t *out_ready_ns);

/* wire_bytes went out for the entry, of which progress_bytes for the first time (the rest is repair
 * and headers: it counts against the label's shares, not against the message). The message leaves
 * with its last byte: then true, and the entry is no more. */
bool arbiter_sent(struct arbiter *a, uint16_t entry, int64_t wire_bytes, int64_t progress_bytes,
                  int64_t now_ns);
/* Takes an entry out of and back into the choice. Parking a parked one does nothing. */
void arbiter_park(struct arbiter *a, uint16_t entry);
void arbiter_unpark(struct arbiter *a, uint16_t entry, int64_t now_ns);
void arbiter_remove(struct arbiter *a, uint16_t entry);

/* The most that a message waits between two grants while its label gets rate_bps and holds
 * `entries` messages: it has risen to the top, then all others may go once before it. */
int64_t arbiter_wait_bound_ns(const struct arbiter *a, int64_t rate_bps, int entries);
