/*
 * datapath/verbs/bench_ring.c - all-reduce over a ring of queue pairs: each end sends to its next
 * and receives from its previous; n - 1 steps add up the chunks, n - 1 more hand the sums round.
 *
 * Memory: the vector of 32-bit numbers in n chunks, then two slots for what comes. The sum is
 * looked at after each iteration: an all-reduce with a wrong result has no time.
 */
#include <stdlib.h>
#include <string.h>

#include "datapath/verbs/bench_private.h"

#define SLOTS 2

static size_t numbers(const struct bench *bench) /* of a chunk */
{
    size_t each = bench->bytes / sizeof(uint32_t) / (size_t)bench->count;
    return each == 0 ? 1 : each;
}

static size_t chunk_bytes(const struct bench *bench)
{
    return numbers(bench) * sizeof(uint32_t);
}

size_t bench_ring_memory(const struct bench *bench)
{
    return chunk_bytes(bench) * ((size_t)bench->count + SLOTS);
}

static size_t slot_offset(const struct bench *bench, unsigned step)
{
    return chunk_bytes(bench) * ((size_t)bench->count + step % SLOTS);
}

static enum err_code receive(struct bench_end *end, unsigned step, struct err *err)
{
    return bench_receive(end, &end->from, slot_offset(end->bench, step), chunk_bytes(end->bench),
                         err);
}

enum err_code bench_ring_prepare(struct bench_end *end, struct err *err)
{
    enum err_code code = receive(end, 0, err);
    return code == ERR_OK ? receive(end, 1, err) : code;
}

/* The chunk that came replaces ours, or is added to it. */
static void take(struct bench_end *end, unsigned step, size_t chunk, bool add)
{
    size_t count = numbers(end->bench);
    uint32_t *ours = (uint32_t *)(void *)(end->memory + chunk * chunk_bytes(end->bench));
    const uint32_t *came =
        (const uint32_t *)(const void *)(end->memory + slot_offset(end->bench, step));
    for (size_t i = 0; i < count; i++)
        ours[i] = came[i] + (add ? ours[i] : 0);
}

static enum err_code turn(struct bench_end *end, unsigned *step, int round, struct err *err)
{
    const struct bench *bench = end->bench;
    int n = bench->count, s = round % (n - 1);
    bool add = round < n - 1;
    size_t sent = (size_t)((bench->place - s + !add + 2 * n) % n);
    size_t got = (size_t)((bench->place - s - add + 2 * n) % n);
    enum err_code code =
        bench_send(end, &end->to, sent * chunk_bytes(bench), chunk_bytes(bench), err);
    if (code == ERR_OK)
        code = bench_await(end, 1, 1, err);
    if (code != ERR_OK)
        return code;
    take(end, *step, got, add);
    code = receive(end, *step, err); /* this slot is free again */
    (*step)++;
    return code;
}

void bench_ring_fill(struct bench_end *end)
{
    size_t all = numbers(end->bench) * (size_t)end->bench->count;
    uint32_t *vector = (uint32_t *)(void *)end->memory;
    for (size_t i = 0; i < all; i++)
        vector[i] = (uint32_t)i + (uint32_t)end->bench->place;
}

static bool is_right(const struct bench_end *end)
{
    uint32_t n = (uint32_t)end->bench->count, places = n * (n - 1) / 2;
    size_t all = numbers(end->bench) * n;
    const uint32_t *vector = (const uint32_t *)(const void *)end->memory;
    for (size_t i = 0; i < all; i++)
        if (vector[i] != (uint32_t)i * n + places)
            return false;
    return true;
}

enum err_code bench_ring_check(const struct bench_end *end, int iteration, struct bench_result *out,
                               struct err *err)
{
    out->corrupt = !is_right(end);
    if (!out->corrupt)
        return ERR_OK;
    return err_set(err, ERR_IO, "iteration %d gave a wrong sum", iteration);
}

static enum err_code reduce(struct bench_end *end, unsigned *step, struct err *err)
{
    enum err_code code = ERR_OK;
    for (int round = 0; code == ERR_OK && round < 2 * (end->bench->count - 1); round++)
        code = turn(end, step, round, err);
    return code;
}

enum err_code bench_ring_run(struct bench_end *end, struct bench_result *out, struct err *err)
{
    int count = end->bench->iterations;
    unsigned step = 0;
    int64_t *times = calloc((size_t)count, sizeof(*times));
    if (times == NULL)
        return err_nomem(err);
    enum err_code code = ERR_OK;
    /* The first one finds caches cold and ends that began later: it does not count. */
    for (int i = -1; code == ERR_OK && i < count; i++) {
        bench_ring_fill(end);
        int64_t begin_ns = bench_now_ns();
        code = reduce(end, &step, err);
        if (i >= 0)
            times[i] = bench_now_ns() - begin_ns;
        if (code == ERR_OK)
            code = bench_ring_check(end, i + 1, out, err);
    }
    if (code == ERR_OK)
        bench_spread(times, (size_t)count, out);
    free(times);
    return code;
}
