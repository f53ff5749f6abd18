#pragma once
/*
 * datapath/solar/perf/perf_end.h - a context with what solar-perf needs in it, of client or server.
 */

#include "base/own.h"
#include "datapath/solar/perf/perf.h"

#define PERF_EPOCH 1

/* What sends is told apart by its label, as jobs are: the receiver grants by the labels' weights.
 */
struct perf_label {
    uint32_t label;
    int weight;
    int accepting; /* queue pairs of a server that wait for clients of it */
};
#define PERF_LABELS 3

struct perf_end {
    /* Those of solar-perf itself, or the job's alone. */
    int label_count;
    struct perf_label labels[PERF_LABELS];
    uint64_t epoch; /* 0 = the agent's */
    struct solar_context *context;
    struct solar_pd *pd;
    struct solar_cq *cq;
    struct solar_mr *mr; /* of the client */
    uint8_t *memory;
    struct solar_qp *own_qp; /* of the client */
};

ERR_MUST_CHECK enum err_code perf_end_new(const struct perf_options *options, uint16_t port,
                                          struct perf_end **out, struct err *err);
void perf_end_free(struct perf_end *end);
OWN_DEFINE(perf_end, struct perf_end *, perf_end_free)
/* The label of that weight; the first where no label has it. */
const struct perf_label *perf_end_label(const struct perf_end *end, int weight);
/* At least a request's and an answer's room. */
ERR_MUST_CHECK enum err_code perf_end_memory(struct perf_end *end, uint64_t bytes, unsigned access,
                                             struct err *err);
ERR_MUST_CHECK enum err_code perf_end_qp(struct perf_end *end, uint32_t label,
                                         struct solar_qp **out, struct err *err);
