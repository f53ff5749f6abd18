#pragma once
/*
 * datapath/verbs/bench.h - measures between RDMA devices of nodes over reliable connections of
 * rdma_cm: latency of messages, bandwidth of reads and writes, all-reduce over a ring.
 *
 * All ends are called with the same figures at about the same time, on any threads of any nodes;
 * whoever connects tries again until the other end listens. Each call blocks for wait_ns at most,
 * longer only when its device hangs. What is sent is a pattern, never anything of the node's.
 *
 * An end listens while it is called and at no other time, takes one connection, and that only from
 * the address that its place gives and with the secret of the test: strangers are turned away.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BENCH_ENDS_MAX     32
#define BENCH_SECRET_BYTES 16

enum bench_kind { BENCH_SEND_LAT = 0, BENCH_READ_BW, BENCH_WRITE_BW, BENCH_ALLREDUCE };

struct bench {
    enum bench_kind kind;
    const char *addresses[BENCH_ENDS_MAX]; /* borrowed: IPv4 or IPv6, of one family */
    int count;                             /* 2 for all but BENCH_ALLREDUCE */
    int place;                             /* ours; of pairs 0 asks and measures, 1 serves */
    const char *device;                    /* the RDMA device that our address is to be of */
    uint16_t service;                      /* port of rdma_cm */
    uint8_t secret[BENCH_SECRET_BYTES];    /* of this test; all ends have it */
    size_t bytes;                          /* a message, or the vector that is reduced */
    int iterations;
    int64_t wait_ns;         /* to connect and to run */
    const atomic_bool *stop; /* set by another thread: ends soon with ERR_CONFLICT */
};

struct bench_result { /* -1 = not measured here */
    int64_t latency_p50_ns, latency_p99_ns, latency_min_ns;
    int64_t rate_bps;
    int64_t iteration_ns, spread_permyriad;
    bool corrupt; /* what came is not what was sent; no figure is known then */
};
#define BENCH_RESULT_NONE                                                                          \
    {                                                                                              \
        -1, -1, -1, -1, -1, -1, false                                                              \
    }

/* *out is set in any case, to BENCH_RESULT_NONE but for `corrupt` when it fails. ERR_UNSUPPORTED:
 * no rdma_cm, or the address is of another device or none; ERR_UNAVAILABLE: the other end did not
 * come, or went (also because its sum was wrong); ERR_IO: the device refused something, or what
 * was reduced is wrong: then, and only then, out->corrupt. */
ERR_MUST_CHECK enum err_code verbs_bench(const struct bench *bench, struct bench_result *out,
                                         struct err *err);

/* bench_figures.c ------------------------------------------------------------------------------ */

/* Of times of iterations (count >= 1), which it sorts. */
void bench_latency(int64_t *round_trips_ns, size_t count, struct bench_result *out);
void bench_spread(int64_t *iterations_ns, size_t count, struct bench_result *out);
