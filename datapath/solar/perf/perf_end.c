/*
 * datapath/solar/perf/perf_end.c - see perf_end.h.
 */
#include "datapath/solar/perf/perf_end.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_BYTES 64
#define CQ_DEPTH    (4 * PERF_DEPTH_MAX * 8)

static const struct perf_label own_labels[PERF_LABELS] = {
    {1, 1, PERF_SENDERS_MAX}, {2, PERF_TENANT_B, PERF_TENANT_A}, {3, PERF_TENANT_A, PERF_TENANT_B}};

const struct perf_label *perf_end_label(const struct perf_end *end, int weight)
{
    for (int i = 0; i < end->label_count; i++)
        if (end->labels[i].weight == weight)
            return &end->labels[i];
    return &end->labels[0];
}

/* A job's share and key are the agent's. */
static enum err_code set_labels(struct perf_end *end, const struct perf_options *options,
                                struct err *err)
{
    if (options->control != NULL) {
        end->label_count = 1;
        end->labels[0] = (struct perf_label){options->label, 1, PERF_SENDERS_MAX};
        return ERR_OK;
    }
    end->label_count = PERF_LABELS;
    end->epoch = PERF_EPOCH;
    memcpy(end->labels, own_labels, sizeof(own_labels));
    for (int i = 0; i < PERF_LABELS; i++) {
        const struct perf_label *l = &end->labels[i];
        const struct solar_share share = {.weight = l->weight};
        if (solar_key_set(end->context, l->label, PERF_EPOCH, options->key, err) ||
            solar_label_set(end->context, l->label, &share, err))
            return err->code;
    }
    return ERR_OK;
}

enum err_code perf_end_new(const struct perf_options *options, uint16_t port, struct perf_end **out,
                           struct err *err)
{
    OWN(perf_end) struct perf_end *end = calloc(1, sizeof(*end));
    if (end == NULL)
        return err_nomem(err);
    const struct solar_config config = {.address = options->address,
                                        .port = port,
                                        .paths = options->paths,
                                        .payload_max = options->payload_max,
                                        .line_bps = options->line_bps,
                                        .control = options->control,
                                        .spin_ns = options->spin_ns};
    enum err_code code = solar_context_new(&config, &end->context, err);
    if (code == ERR_OK)
        code = set_labels(end, options, err);
    if (code == ERR_OK)
        code = solar_pd_new(end->context, &end->pd, err);
    if (code == ERR_OK)
        code = solar_cq_new(end->context, CQ_DEPTH, &end->cq, err);
    if (code == ERR_OK)
        *out = GIVE(end);
    return code;
}

void perf_end_free(struct perf_end *end)
{
    if (end == NULL)
        return;
    struct err err = ERR_INIT;
    solar_qp_free(end->own_qp);
    if (solar_mr_free(end->mr, &err) != ERR_OK)
        abort(); /* its queue pairs are gone */
    solar_cq_free(end->cq);
    solar_pd_free(end->pd);
    solar_context_free(end->context);
    free(end->memory);
    free(end);
}

enum err_code perf_end_memory(struct perf_end *end, uint64_t bytes, unsigned access,
                              struct err *err)
{
    bytes = bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
    end->memory = malloc(bytes);
    if (end->memory == NULL)
        return err_nomem(err);
    memset(end->memory, 1, bytes); /* that its pages are there is not to be measured */
    return solar_mr_new(end->pd, end->memory, bytes, access, &end->mr, err);
}

enum err_code perf_end_qp(struct perf_end *end, uint32_t label, struct solar_qp **out,
                          struct err *err)
{
    const struct solar_qp_config config = {.label = label,
                                           .epoch = end->epoch,
                                           .send_cq = end->cq,
                                           .receive_cq = end->cq,
                                           .send_depth = PERF_DEPTH_MAX,
                                           .receive_depth = 4};
    return solar_qp_new(end->pd, &config, out, err);
}
