#pragma once
/*
 * datapath/solar/context.h - what stands behind the names of solar.h but queue pairs (qp.h). Only
 * the library's own files include it.
 *
 *   solar_post ---> message ring of the queue pair ---> arbiter ---> pump ---> udp
 *   udp ---> handshake | qp_receive: tag, place, credit ---> completion queue
 *   context: what is due when (acknowledgements, timers, pacing), in one round
 */

#include "base/mac.h"
#include "datapath/solar/arbiter.h"
#include "datapath/solar/cc.h"
#include "datapath/solar/credit.h"
#include "datapath/solar/solar.h"
#include "datapath/solar/udp.h"

struct job_key {
    uint32_t label;
    uint64_t epoch;
    unsigned char key[MAC_KEY_SIZE];
};

/* A label's marks on its packets; the shares are in the arbiter. */
struct label_marks {
    uint32_t label;
    uint8_t dscp, priority;
    int weight;
};

struct control; /* control.h */

struct solar_pd {
    struct solar_context *context;
    int users; /* regions and queue pairs */
};

struct solar_mr {
    struct solar_pd *pd;
    uint8_t *base;
    uint64_t size_bytes;
    unsigned access;
    uint16_t key;
    int users; /* operations */
};

/* A ring; `held` places belong to operations that are posted. */
struct solar_cq {
    struct solar_context *context;
    struct solar_completion *ring;
    int depth, first, count, held, users;
};

struct solar_context {
    struct solar_config config; /* no zeros; address is not kept */
    struct udp *udp;
    struct arbiter *arbiter;
    struct credit *credit;
    struct control *control; /* NULL = nobody programs it */
    int domains, queues;     /* for solar_context_free()'s assertion */
    int key_count, label_count;
    struct job_key keys[SOLAR_KEYS_MAX];
    struct label_marks labels[ARBITER_LABELS_MAX];
    struct solar_mr *regions[SOLAR_REGIONS_MAX + 1]; /* 0 stays empty */
    uint8_t generations[SOLAR_REGIONS_MAX + 1];
    struct solar_qp *qps[SOLAR_QPS_MAX + 1]; /* by number; 0 stays empty */
    struct solar_qp *of_sender[CREDIT_SENDERS_MAX];
    int qp_top;  /* numbers in use are not above it */
    int qp_last; /* the last number that was given */
    /* Lists of queue pairs, by link (qp.h): an acknowledgement or credit is due; repairs are due.
     */
    struct solar_qp *ack_first, *kick_first;
    int64_t next_ns;       /* when timers have something to do */
    int64_t refused_ns;    /* when another version was refused last; 0 = never */
    int64_t spin_ns;       /* how long the next look is, at most config.spin_ns */
    int64_t round_ns;      /* when the round under way began */
    double absent_ns;      /* the longest of late that something had come before it was read */
    int64_t absent_now_ns; /* of the round under way */
    double away_ns;        /* the longest of late that a sender's process did not run, as it says */
    bool busy;             /* something happened in it */
    bool told;             /* and the user was told of it */
    bool untold;           /* a queue pair waits for room in a completion queue */
    struct solar_stats stats;
    /* For tests: gets what arrives instead of context_deliver(), to which it may give it on. */
    void (*filter)(void *arg, const struct udp_arrived *arrived);
    void *filter_arg;
};

int64_t context_now_ns(void);
/* A burst is not longer than what the path holds. */
int64_t context_burst_bytes(const struct solar_context *context);
/* A sender says that its process did not run for so long (wire_start.away). */
void context_note_away(struct solar_context *context, int64_t away_ns);
/* Of the path without a queue, for a burst of so many bytes: its last packet waits for the first.
 */
int64_t context_rtt_ns(const struct solar_context *context, int64_t burst_bytes);
void context_deliver(struct solar_context *context, const struct udp_arrived *arrived);
/* Something is to be done at that time. */
void context_wake_at(struct solar_context *context, int64_t at_ns);
/* Lets queue pairs send what they may. */
void context_kick(struct solar_context *context, int64_t now_ns);
const struct job_key *context_key(const struct solar_context *context, uint32_t label,
                                  uint64_t epoch);
const struct label_marks *context_label(const struct solar_context *context, uint32_t label);
/* solar_label_set() for who is asked first. */
ERR_MUST_CHECK enum err_code context_set_label(struct solar_context *context, uint32_t label,
                                               const struct solar_share *share, struct err *err);
/* Makes the label with weight 1 unless it is there. ERR_LIMIT. */
ERR_MUST_CHECK enum err_code context_need_label(struct solar_context *context, uint32_t label,
                                                struct err *err);

/* The place of a peer's access, or NULL: no such region, not of the domain, not allowed, or out of
 * range. `access` = enum solar_access that is needed. */
struct solar_mr *region_find(const struct solar_context *context, const struct solar_pd *pd,
                             uint16_t key, unsigned access);
bool region_holds(const struct solar_mr *mr, uint64_t offset, uint64_t length);

bool completion_has_room(const struct solar_cq *cq);
void completion_hold(struct solar_cq *cq);
/* `held` = the place was held. Needs room (asserted). */
void completion_add(struct solar_cq *cq, const struct solar_completion *completion, bool held);
