/*
 * datapath/nl/nlx_run.c - see nlx_run.h. Called by the knob kinds with many members.
 */
#include "datapath/nl/nlx_run.h"

#include <stdlib.h>

#include "base/clock.h"

struct batch {
    struct nlx_item items[NLX_BATCH_MAX];
    size_t count;
};

static int64_t now_ms(void)
{
    struct clock *clock = clock_system();
    return clock->mono_ns(clock) / NS_PER_MS;
}

static void batch_clear(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        nlmsg_free(batch->items[i].request);
    batch->count = 0;
}

/* Changes from `first` on, at most `most` and NLX_RUN_BYTES_MAX, but one at least. */
static enum err_code batch_fill(struct batch *batch, const struct nlx_changes *changes,
                                size_t first, size_t most, struct err *err)
{
    size_t bytes = 0;
    batch->count = 0;
    while (batch->count < most && bytes < NLX_RUN_BYTES_MAX) {
        struct nl_msg *msg = changes->make(changes->arg, first + batch->count);
        if (msg == NULL)
            return err_nomem(err);
        bytes += NLMSG_ALIGN(nlmsg_hdr(msg)->nlmsg_len);
        if (batch->count > 0 && bytes > NLX_RUN_BYTES_MAX) {
            nlmsg_free(msg); /* made again for the next batch */
            break;
        }
        if (changes->on_reply != NULL)
            nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_ECHO;
        batch->items[batch->count++] =
            (struct nlx_item){.request = msg, .on_reply = changes->on_reply, .arg = changes->arg};
    }
    return ERR_OK;
}

static enum err_code batch_send(struct nlx *nlx, struct batch *batch, size_t *out_failed,
                                struct err *err)
{
    struct err first = ERR_INIT; /* its items tell the same without the place in this batch */
    enum err_code code = nlx_batch(nlx, batch->items, batch->count, &first);
    *out_failed = 0;
    while (*out_failed < batch->count && batch->items[*out_failed].code == ERR_OK)
        ++*out_failed;
    if (code != ERR_OK && err != NULL)
        *err = *out_failed < batch->count ? batch->items[*out_failed].err : first;
    return code;
}

/* As long as doubling fits in what is left of the time. */
static size_t next_size(size_t size, int64_t took_ms, int64_t left_ms)
{
    if (4 * took_ms <= left_ms)
        size = 2 * size;
    else if (took_ms > left_ms)
        size = size / 2;
    return size > NLX_BATCH_MAX ? NLX_BATCH_MAX : size < 1 ? 1 : size;
}

enum err_code nlx_run(struct nlx *nlx, const struct nlx_changes *changes, int wait_ms,
                      struct nlx_run *out, struct err *err)
{
    struct batch *batch = calloc(1, sizeof(*batch));
    struct nlx_run run = {0};
    *out = run;
    if (batch == NULL)
        return err_nomem(err);
    int64_t until_ms = now_ms() + wait_ms / 2;
    enum err_code code = ERR_OK;
    for (size_t size = 1; code == ERR_OK && run.begun < changes->count;) {
        int64_t begin_ms = now_ms();
        if (run.begun > 0 && begin_ms >= until_ms)
            break;
        size_t left = changes->count - run.begun;
        code = batch_fill(batch, changes, run.begun, left < size ? left : size, err);
        size_t failed = 0;
        if (code == ERR_OK) {
            code = batch_send(nlx, batch, &failed, err);
            run.failed = run.begun + failed;
            run.begun += batch->count;
        }
        batch_clear(batch);
        size = next_size(size, now_ms() - begin_ms, until_ms - now_ms());
    }
    free(batch);
    *out = run;
    return code;
}
