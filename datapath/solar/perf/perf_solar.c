/*
 * datapath/solar/perf/perf_solar.c - a round over libsolar, as the client.
 */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "datapath/solar/bytes.h"
#include "datapath/solar/perf/perf.h"
#include "datapath/solar/perf/perf_end.h"

#define CONNECT_NS INT64_C(10000000000)
#define WAIT_NS    INT64_C(1000000000)
#define GATE_NS    INT64_C(100000)

/* The next completion; its error ends the round. */
static enum err_code next(struct perf_end *end, struct solar_qp *qp, struct solar_completion *out,
                          struct err *err)
{
    while (solar_cq_poll(end->cq, out, 1) == 0)
        solar_progress(end->context, WAIT_NS);
    if (out->status != ERR_OK) {
        *err = *solar_qp_error(qp);
        return out->status;
    }
    return ERR_OK;
}

/* Tells the server what comes; its answer is the key of its region. */
static enum err_code ask(struct perf_end *end, struct solar_qp *qp,
                         const struct perf_options *options, uint32_t *out_key, struct err *err)
{
    const struct perf_request request = {.test = options->test,
                                         .size_bytes = options->size_bytes,
                                         .depth = (uint32_t)options->depth};
    perf_request_put(&request, end->memory);
    const struct solar_work receive = {.mr = end->mr, .offset = PERF_REQUEST_SIZE, .length = 4};
    const struct solar_work send = {.mr = end->mr, .length = PERF_REQUEST_SIZE};
    struct solar_completion c;
    if (solar_post(qp, SOLAR_RECEIVE, &receive, err) || solar_post(qp, SOLAR_SEND, &send, err) ||
        next(end, qp, &c, err) || next(end, qp, &c, err))
        return err->code;
    *out_key = (uint32_t)bytes_get(end->memory + PERF_REQUEST_SIZE, 4);
    return ERR_OK;
}

static enum err_code ping(struct perf_end *end, struct solar_qp *qp,
                          const struct perf_options *options, int64_t *samples,
                          struct perf_result *r, struct err *err)
{
    const struct solar_work receive = {
        .mr = end->mr, .offset = options->size_bytes, .length = options->size_bytes};
    const struct solar_work send = {.mr = end->mr, .length = options->size_bytes};
    struct solar_completion c;
    int64_t begin_ns = perf_now_ns(), from_ns = begin_ns, now_ns = begin_ns;
    for (; now_ns - begin_ns < options->round_ns && r->operations < PERF_SAMPLES_MAX;
         from_ns = now_ns) {
        if (solar_post(qp, SOLAR_RECEIVE, &receive, err) || solar_post(qp, SOLAR_SEND, &send, err))
            return err->code;
        do
            if (next(end, qp, &c, err) != ERR_OK)
                return err->code;
        while (c.op != SOLAR_RECEIVE);
        now_ns = perf_now_ns();
        samples[r->operations++] = now_ns - from_ns;
        /* The answer may have come before the acknowledgement of what it answers. */
    }
    r->ns = now_ns - begin_ns;
    perf_times(samples, r->operations, r);
    return ERR_OK;
}

/* All processes of a round begin together. One that does not come is found by who started it. */
static void wait_for_others(struct perf_end *end, struct perf_gate *gate)
{
    int64_t from_ns = perf_now_ns();
    atomic_fetch_add(&gate->ready, 1);
    while (atomic_load(&gate->ready) < gate->count && perf_now_ns() - from_ns < CONNECT_NS)
        solar_progress(end->context, GATE_NS);
}

static bool goes_on(const struct perf_options *options, int64_t begin_ns, int64_t posted)
{
    return options->volume_bytes > 0 ? posted * options->size_bytes < options->volume_bytes
                                     : perf_now_ns() - begin_ns < options->round_ns;
}

/* What holds for the label. */
static enum err_code set_share(struct perf_end *end, const struct perf_options *o, struct err *err)
{
    const struct perf_label *label = perf_end_label(end, o->weight);
    if (o->control != NULL)
        return ERR_OK; /* the page says it */
    const struct solar_share share = {
        .weight = label->weight, .limit_bps = o->test == PERF_CPU ? o->rate_bps : o->limit_bps};
    return solar_label_set(end->context, label->label, &share, err);
}

static enum err_code stream(struct perf_end *end, struct solar_qp *qp,
                            const struct perf_options *options, uint32_t key, struct perf_result *r,
                            struct err *err)
{
    bool reads = options->test == PERF_READ_BW;
    int depth = reads && options->depth > SOLAR_READS_MAX ? SOLAR_READS_MAX : options->depth;
    int64_t begin_ns = perf_now_ns(), posted = 0;
    struct solar_completion c;
    for (;;) {
        bool more = goes_on(options, begin_ns, posted);
        if (!more && posted == r->operations)
            break;
        if (more && posted - r->operations < depth) {
            uint64_t at = (uint64_t)(posted % depth) * options->size_bytes;
            const struct solar_work work = {.mr = end->mr,
                                            .offset = at,
                                            .length = options->size_bytes,
                                            .remote_key = key,
                                            .remote_offset = at,
                                            .tensor = 1};
            if (solar_post(qp, reads ? SOLAR_READ : SOLAR_WRITE, &work, err) != ERR_OK)
                return err->code;
            posted++;
            continue;
        }
        if (next(end, qp, &c, err) != ERR_OK)
            return err->code;
        r->operations++;
    }
    r->ns = perf_now_ns() - begin_ns;
    r->bytes = r->operations * options->size_bytes;
    return ERR_OK;
}

enum err_code perf_solar_run(const struct perf_options *options, int64_t *samples,
                             struct perf_result *out, struct err *err)
{
    OWN(perf_end) struct perf_end *end = NULL;
    struct solar_qp *qp;
    struct perf_result r = {.tcp = false};
    uint32_t key = 0;
    enum err_code code = perf_end_new(options, 0, &end, err);
    if (code == ERR_OK)
        code = perf_end_memory(end, (uint64_t)options->size_bytes * (uint64_t)options->depth * 2,
                               SOLAR_LOCAL, err);
    if (code == ERR_OK)
        code = set_share(end, options, err);
    if (code == ERR_OK)
        code = perf_end_qp(end, perf_end_label(end, options->weight)->label, &qp, err);
    if (code != ERR_OK)
        return code;
    end->own_qp = qp;
    if (solar_qp_connect(qp, perf_peer(options), options->port, CONNECT_NS, err) ||
        solar_qp_wait(qp, CONNECT_NS, err) || ask(end, qp, options, &key, err))
        return err->code;
    if (options->gate != NULL)
        wait_for_others(end, options->gate);
    int64_t cpu_ns = perf_cpu_ns(options);
    code = options->test == PERF_SEND_LAT ? ping(end, qp, options, samples, &r, err)
                                          : stream(end, qp, options, key, &r, err);
    r.cpu_ns = perf_cpu_ns(options) - cpu_ns;
    struct solar_qp_stats stats;
    solar_qp_stats(qp, &stats);
    r.sent_packets = stats.sent_packets;
    r.resent_packets = stats.resent_packets;
    r.spurious_packets = stats.spurious_packets;
    if (code == ERR_OK)
        *out = r;
    return code;
}
