#pragma once
/*
 * datapath/verbs/bench_private.h - the connections of one measurement. Private to bench*.c.
 *
 *   who asks  ---- REQ (struct bench_hello) ---->  who listens
 *             <--- REP (struct bench_hello) -----
 *
 * An end of a pair has one of the two; one of a ring has both: `to` its next, `from` its previous.
 */

#include <rdma/rdma_cma.h>

#include "datapath/verbs/bench.h"

#define BENCH_DEPTH     16                        /* reads, writes or receives on their way */
#define BENCH_LISTEN_NS (200 * INT64_C(1000000))  /* a refused request is made again after */
#define BENCH_LINGER_NS (5 * INT64_C(1000000000)) /* at most, for the previous end to have all */

struct bench_hello { /* in network order, in rdma_cm's private data */
    uint32_t magic, kind;
    uint32_t bytes, rkey;
    uint64_t address;
    uint8_t secret[BENCH_SECRET_BYTES];
};

struct bench_conn {
    struct rdma_cm_id *id; /* NULL = not there */
    struct ibv_cq *cq;     /* of this attempt alone: one that is refused leaves flushed work */
    bool ready, gone;
    struct bench_hello peer; /* in host order */
};

struct bench_end {
    const struct bench *bench;
    int64_t until_ns;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct bench_conn to, from;
    bool wants_to, wants_from;
    int64_t again_ns; /* when to ask again; 0 = it is asked */
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    /* Ended and not awaited yet: one poll may find more than one wait asks for. */
    int sent, received;
    char *memory; /* what the peers may read and write, too */
    size_t memory_bytes;
    struct err why; /* of the last try */
};

int64_t bench_now_ns(void);
/* ERR_UNAVAILABLE when the time is over, ERR_CONFLICT when it was stopped. */
ERR_MUST_CHECK enum err_code bench_may_go_on(const struct bench_end *end, struct err *err);

/* bench.c: connections that `wants_*` name; released by bench_close() in every case. */
ERR_MUST_CHECK enum err_code bench_connect(struct bench_end *end, struct err *err);
/* Reads what rdma_cm says for wait_ms: a peer that leaves is `gone`. */
ERR_MUST_CHECK enum err_code bench_listen(struct bench_end *end, int wait_ms, struct err *err);

/* bench_work.c: work requests, all of them signalled. */
ERR_MUST_CHECK enum err_code bench_receive(struct bench_end *end, const struct bench_conn *conn,
                                           size_t offset, size_t bytes, struct err *err);
ERR_MUST_CHECK enum err_code bench_send(struct bench_end *end, const struct bench_conn *conn,
                                        size_t offset, size_t bytes, struct err *err);
/* IBV_WR_RDMA_READ or _WRITE of the peer's memory. */
ERR_MUST_CHECK enum err_code bench_touch(struct bench_end *end, const struct bench_conn *conn,
                                         enum ibv_wr_opcode opcode, struct err *err);
/* Polls until so many more of either have ended. */
ERR_MUST_CHECK enum err_code bench_await(struct bench_end *end, int sent, int received,
                                         struct err *err);
/* Runs the measurement over what is connected. */
ERR_MUST_CHECK enum err_code bench_run(struct bench_end *end, struct bench_result *out,
                                       struct err *err);
/* bench_ring.c: memory: the vector, then two slots of a chunk each. */
size_t bench_ring_memory(const struct bench *bench);
/* Our part of the sum, before an iteration. */
void bench_ring_fill(struct bench_end *end);
/* ERR_IO, and out->corrupt: the sum of all parts is not the one that they have. */
ERR_MUST_CHECK enum err_code bench_ring_check(const struct bench_end *end, int iteration,
                                              struct bench_result *out, struct err *err);
/* Before the other ends may send. */
ERR_MUST_CHECK enum err_code bench_ring_prepare(struct bench_end *end, struct err *err);
ERR_MUST_CHECK enum err_code bench_ring_run(struct bench_end *end, struct bench_result *out,
                                            struct err *err);
