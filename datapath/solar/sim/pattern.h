#pragma once
/*
 * datapath/solar/sim/pattern.h - flows of a kind, added to a run.
 */

#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/sim/netsim.h"

/* Hosts 1 to `senders` send to host 0. */
ERR_MUST_CHECK enum err_code pattern_incast(struct netsim *sim, int senders, int64_t bytes,
                                            struct err *err);

/* Host i sends to i + n/2 modulo n: each path up is used once. */
ERR_MUST_CHECK enum err_code pattern_permutation(struct netsim *sim, int hosts, int64_t bytes,
                                                 struct err *err);

/* All-reduce of `bytes` over hosts 0 to n - 1 (n a power of two) by recursive halving and doubling:
 * the first step exchanges half of the bytes with the host n/2 away, the next a quarter with the
 * one n/4 away, and so on; then the same back. A host begins a step when it has received the one
 * before. */
ERR_MUST_CHECK enum err_code pattern_all_reduce(struct netsim *sim, int hosts, int64_t bytes,
                                                struct err *err);
