/*
 * datapath/solar/completion.c - completion queues: rings in which each operation that is posted
 * holds a place until it completes.
 */
#include <assert.h>
#include <stdlib.h>

#include "datapath/solar/context.h"

enum err_code solar_cq_new(struct solar_context *context, int depth, struct solar_cq **out,
                           struct err *err)
{
    if (depth < 1 || depth > SOLAR_CQ_MAX)
        return err_set(err, ERR_INVALID, "a completion queue of %d (has 1 to %d)", depth,
                       SOLAR_CQ_MAX);
    struct solar_cq *cq = calloc(1, sizeof(*cq));
    struct solar_completion *ring = calloc((size_t)depth, sizeof(*ring));
    if (cq == NULL || ring == NULL) {
        free(cq);
        free(ring);
        return err_nomem(err);
    }
    *cq = (struct solar_cq){.context = context, .ring = ring, .depth = depth};
    context->queues++;
    *out = cq;
    return ERR_OK;
}

void solar_cq_free(struct solar_cq *cq)
{
    if (cq == NULL)
        return;
    assert(cq->users == 0);
    cq->context->queues--;
    free(cq->ring);
    free(cq);
}

bool completion_has_room(const struct solar_cq *cq)
{
    return cq->count + cq->held < cq->depth;
}

void completion_hold(struct solar_cq *cq)
{
    assert(completion_has_room(cq));
    cq->held++;
}

void completion_add(struct solar_cq *cq, const struct solar_completion *completion, bool held)
{
    cq->held -= held;
    assert(completion_has_room(cq));
    cq->ring[(cq->first + cq->count++) % cq->depth] = *completion;
    cq->context->busy = cq->context->told = true;
}

int solar_cq_poll(struct solar_cq *cq, struct solar_completion *out, int count)
{
    if (cq->count == 0)
        solar_progress(cq->context, 0);
    int n = 0;
    for (; n < count && cq->count > 0; n++, cq->count--) {
        out[n] = cq->ring[cq->first];
        cq->first = (cq->first + 1) % cq->depth;
    }
    if (n > 0 && cq->context->untold) {
        cq->context->untold = false;
        context_wake_at(cq->context, 0);
    }
    return n;
}
