#pragma once
/*
 * datapath/verbs/ping.h - asks RDMA devices of other nodes for an answer over RoCE, by rdma_cm.
 *
 * The question is a request to connect to a service that nobody offers: the kernel of whoever gets
 * it refuses it. So a refusal is the answer. It has gone to the other device and back in RoCE
 * packets (queue pair 1), through the GIDs and addresses that connections of jobs use; it needs no
 * program at the other end, and makes no queue pair at either.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define VERBS_PING_MAX     32
#define VERBS_PING_WHY_MAX 128

struct verbs_ping {
    const char *address; /* whom to ask: IPv4 or IPv6; borrowed */
    bool answered;
    char why[VERBS_PING_WHY_MAX]; /* not answered: what was seen last */
};

/* From where. */
struct verbs_ping_from {
    const char *device;  /* the RDMA device that is to carry it */
    const char *address; /* of its interface, of the peers' family */
};

struct verbs_pinged;

/*
 * Asks all of them (up to VERBS_PING_MAX) at the same time, again and again, until each has
 * answered or wait_ms is over. ERR_OK: each has its `answered` or `why`, and *out is to be given to
 * verbs_ping_end(). ERR_UNSUPPORTED: this kernel shows no rdma_cm (module rdma_ucm); nobody was
 * asked. May hang with its device. Any thread.
 */
ERR_MUST_CHECK enum err_code verbs_ping(const struct verbs_ping_from *from,
                                        struct verbs_ping *peers, size_t count, int wait_ms,
                                        struct verbs_pinged **out, struct err *err);
/*
 * Takes the requests back and frees what was asked; NULL = nothing. Hangs as long as the device
 * keeps a packet of theirs: rxe tries one that the node's own queueing discipline drops again and
 * again (rxe_send() in drivers/infiniband/sw/rxe/rxe_net.c).
 */
void verbs_ping_end(struct verbs_pinged *pinged);
