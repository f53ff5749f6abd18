#pragma once
/*
 * fleet/chain.h - the way of a packet's mark through a port: DSCP -> priority -> traffic class ->
 * PFC -> buffer, followed in what the port shows and held against what the plan wants. A lossless
 * job is lossless only when every hop of it is so. Pure; what the neighbour does is not seen here:
 * fleet/chain_report.h.
 */

#include "fleet/plan.h"

#define CHAIN_DSCPS 64
#define CHAIN_PRIOS 8

enum chain_hop {
    CHAIN_DSCP = 0, /* what the application's packets carry */
    CHAIN_PRIORITY, /* the port's DSCP table */
    CHAIN_CLASS,    /* the priority's traffic class, which has a share */
    CHAIN_PFC,      /* the priority is paused, not dropped */
    CHAIN_BUFFER,   /* where a lossless priority waits: it has room */
};
#define CHAIN_HOP_COUNT (CHAIN_BUFFER + 1)
const char *chain_hop_name(enum chain_hop hop); /* "dscp", "priority", "class", "pfc", "buffer" */

enum chain_verdict {
    CHAIN_WHOLE = 0,
    CHAIN_BROKEN,  /* `at` is the first hop that is not as wanted, or leads nowhere */
    CHAIN_UNKNOWN, /* nothing is broken up to `at`, which the port does not show */
};
const char *chain_verdict_name(enum chain_verdict verdict); /* "whole", "broken", "unknown" */

/* What a port does with marks. A hop whose bit in `has` is not set is unknown (of a port that is
 * wanted: anything is right). */
struct chain_port {
    unsigned has;                 /* 1 << hop; of CHAIN_PRIORITY and later */
    int priority_of[CHAIN_DSCPS]; /* -1 = no entry, -2 = several that differ */
    int class_of[CHAIN_PRIOS];
    bool starved[CHAIN_PRIOS]; /* an ETS class with 0 % */
    unsigned lossless;         /* 1 << priority */
    int buffer_of[CHAIN_PRIOS];
    int64_t size_bytes[CHAIN_PRIOS]; /* of a buffer */
};

struct chain {
    char subject[PORT_ID_SIZE];
    char source[2 * NAME_SIZE];                /* "roce.tos", "NCCL_IB_TC", or "TENANT/JOB" */
    int64_t label;                             /* of the job's flow table entry; -1 = none */
    int dscp, priority, traffic_class, buffer; /* -1 = not got so far */
    bool lossless;
    enum chain_verdict verdict;
    enum chain_hop at; /* unless whole */
    char why[160];     /* unless whole */
};

/* Live values, or those that are wanted; a value that is not of its kind's form is unknown. */
void chain_port_is(const struct state *state, const char *subject, struct chain_port *out);
void chain_port_wanted(const struct plan *plan, const char *subject, struct chain_port *out);

/*
 * What the neighbour does with marks, as it told by LLDP: the member "neighbour" of a port of an
 * inventory (NULL: nothing is known). DSCP, class and PFC; it does not tell of its buffers.
 */
void chain_port_neighbour(const json_t *neighbour, struct chain_port *out);

/* From the DSCP on; subject and source of *out are left alone. */
void chain_follow(const struct chain_port *is, const struct chain_port *wanted, int dscp,
                  struct chain *out);

/* The kinds that a proof reads, NULL-terminated: observe them on the plan's ports. */
extern const char *const chain_kinds[];

/*
 * Every mark that the plan gives a port's traffic: roce.tos, NCCL's traffic class (on each port
 * whose DSCP table is managed), and the DSCPs of jobs' flows (those of one job and DSCP once).
 * *out: malloc'ed, *out_count of them, in the plan's order.
 */
ERR_MUST_CHECK enum err_code chain_prove(const struct plan *plan, const struct state *state,
                                         struct chain **out, size_t *out_count, struct err *err);
