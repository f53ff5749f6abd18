/*
 * datapath/solar/arbiter.c - see arbiter.h.
 */
#include "datapath/solar/arbiter.h"

#include <assert.h>

#define SENT_UNIT    (UINT64_C(1) << 20)
#define RANK_CONTROL 0
#define RANK_FIRST   1  /* of sizes */
#define SIZE_SHIFT   12 /* messages below 4 KiB are of one size */
#define BURST_QUANTA 2
#define SENT_REBASE  (UINT64_C(1) << 62)
#define BIT_NS       UINT64_C(8000000000) /* of a byte at 1 bit/s */

enum err_code arbiter_init(struct arbiter *a, const struct arbiter_config *config, struct err *err)
{
    if (config->quantum_bytes < 1 || config->quantum_bytes > ARBITER_QUANTUM_MAX)
        return err_set(err, ERR_INVALID, "a quantum of %lld bytes (has 1 to %d)",
                       (long long)config->quantum_bytes, ARBITER_QUANTUM_MAX);
    if (config->age_ns < 1 || config->age_ns > ARBITER_AGE_MAX_NS)
        return err_set(err, ERR_INVALID, "ageing of %lld ns (has 1 to %lld)",
                       (long long)config->age_ns, (long long)ARBITER_AGE_MAX_NS);
    a->config = *config;
    a->assured = a->sent = 0;
    a->labels = 0;
    a->free = 0;
    for (int i = 0; i < ARBITER_LABELS_MAX; i++)
        a->label[i] = (struct arbiter_label){.used = false};
    for (int i = 0; i < ARBITER_ENTRIES_MAX; i++)
        a->entry[i] = (struct arbiter_entry){.next = i + 1 < ARBITER_ENTRIES_MAX ? (uint16_t)(i + 1)
                                                                                 : ARBITER_NONE};
    return ERR_OK;
}

static struct arbiter_label *find(struct arbiter *a, uint32_t label)
{
    for (int i = 0; i < a->labels; i++)
        if (a->label[i].used && a->label[i].label == label)
            return &a->label[i];
    return NULL;
}

static struct arbiter_label *free_slot(struct arbiter *a)
{
    for (int i = 0; i < ARBITER_LABELS_MAX; i++)
        if (!a->label[i].used) {
            a->labels = i >= a->labels ? i + 1 : a->labels;
            return &a->label[i];
        }
    return NULL;
}

static enum err_code check_share(uint32_t label, const struct arbiter_share *s, struct err *err)
{
    if (s->weight < 1 || s->weight > ARBITER_WEIGHT_MAX)
        return err_set(err, ERR_INVALID, "label %u: weight %d (has 1 to %d)", label, s->weight,
                       ARBITER_WEIGHT_MAX);
    if (s->guarantee_bps < 0 || s->guarantee_bps > BUCKET_RATE_MAX_BPS || s->limit_bps < 0 ||
        s->limit_bps > BUCKET_RATE_MAX_BPS)
        return err_set(err, ERR_INVALID, "label %u: guarantee or limit out of range (0 to %lld)",
                       label, (long long)BUCKET_RATE_MAX_BPS);
    if (s->limit_bps > 0 && s->limit_bps < s->guarantee_bps)
        return err_set(err, ERR_INVALID, "label %u: limit %lld bit/s is below guarantee %lld",
                       label, (long long)s->limit_bps, (long long)s->guarantee_bps);
    return ERR_OK;
}

static void set_bucket(struct bucket *bucket, int64_t before_bps, int64_t rate_bps, int64_t burst,
                       int64_t now_ns)
{
    if (rate_bps == 0)
        return;
    if (before_bps > 0)
        bucket_retune(bucket, rate_bps, burst, now_ns);
    else
        bucket_init(bucket, rate_bps, burst, now_ns);
}

enum err_code arbiter_label_set(struct arbiter *a, uint32_t label,
                                const struct arbiter_share *share, int64_t now_ns, struct err *err)
{
    if (check_share(label, share, err) != ERR_OK)
        return ERR_INVALID;
    struct arbiter_label *l = find(a, label);
    if (l == NULL) {
        l = free_slot(a);
        if (l == NULL)
            return err_set(err, ERR_LIMIT, "label %u: there are %d labels already", label,
                           ARBITER_LABELS_MAX);
        *l = (struct arbiter_label){.used = true, .label = label, .current = ARBITER_NONE};
        for (int r = 0; r < ARBITER_RANKS; r++)
            l->ranks[r] = (struct arbiter_list){ARBITER_NONE, ARBITER_NONE};
    }
    int64_t burst = BURST_QUANTA * a->config.quantum_bytes;
    set_bucket(&l->guarantee, l->share.guarantee_bps, share->guarantee_bps, burst, now_ns);
    set_bucket(&l->limit, l->share.limit_bps, share->limit_bps, burst, now_ns);
    l->share = *share;
    return ERR_OK;
}

enum err_code arbiter_label_drop(struct arbiter *a, uint32_t label, struct err *err)
{
    struct arbiter_label *l = find(a, label);
    if (l == NULL)
        return err_set(err, ERR_NOT_FOUND, "label %u is not known", label);
    if (l->entries > 0)
        return err_set(err, ERR_CONFLICT, "label %u still has %d messages", label, l->entries);
    l->used = false;
    return ERR_OK;
}

static const struct arbiter_label *look(const struct arbiter *a, uint32_t label)
{
    for (int i = 0; i < a->labels; i++)
        if (a->label[i].used && a->label[i].label == label)
            return &a->label[i];
    return NULL;
}

int64_t arbiter_label_bytes(const struct arbiter *a, uint32_t label)
{
    const struct arbiter_label *l = look(a, label);
    return l == NULL ? -1 : l->bytes;
}

const struct arbiter_share *arbiter_label_share(const struct arbiter *a, uint32_t label)
{
    const struct arbiter_label *l = look(a, label);
    return l == NULL ? NULL : &l->share;
}

bool arbiter_label_waits(const struct arbiter *a, uint32_t label)
{
    const struct arbiter_label *l = look(a, label);
    return l != NULL && l->waiting > 0;
}

/* Entries of a label ----------------------------------------------------------------------------
 */

static uint8_t rank_of(const struct arbiter *a, uint8_t tensor, int64_t remaining)
{
    if (tensor == 0)
        return RANK_CONTROL;
    int size = 0;
    const int sizes = ARBITER_RANKS - RANK_FIRST;
    for (int64_t kib4 = (remaining - 1) >> SIZE_SHIFT; kib4 > 0 && size < sizes - 1; kib4 >>= 1)
        size++;
    if (a->config.order == ARBITER_LARGE_FIRST)
        size = sizes - 1 - size;
    return (uint8_t)(RANK_FIRST + size);
}

static void link_last(struct arbiter *a, uint16_t index, int64_t now_ns)
{
    struct arbiter_entry *e = &a->entry[index];
    struct arbiter_label *l = &a->label[e->label];
    e->rank = rank_of(a, e->tensor, e->remaining);
    e->served_ns = now_ns;
    struct arbiter_list *list = &l->ranks[e->rank];
    e->prev = list->last;
    e->next = ARBITER_NONE;
    *(list->last == ARBITER_NONE ? &list->first : &a->entry[list->last].next) = index;
    list->last = index;
    /* One that comes back from idling has no claim on what it did not send. */
    if (l->waiting++ > 0)
        return;
    l->sent = l->sent < a->sent ? a->sent : l->sent;
    l->assured = l->assured < a->assured ? a->assured : l->assured;
}

static void unlink_entry(struct arbiter *a, uint16_t index)
{
    struct arbiter_entry *e = &a->entry[index];
    struct arbiter_label *l = &a->label[e->label];
    struct arbiter_list *list = &l->ranks[e->rank];
    *(e->prev == ARBITER_NONE ? &list->first : &a->entry[e->prev].next) = e->next;
    *(e->next == ARBITER_NONE ? &list->last : &a->entry[e->next].prev) = e->prev;
    l->waiting--;
}

enum err_code arbiter_push(struct arbiter *a, uint32_t label, uint8_t tensor, int64_t bytes,
                           uint32_t token, int64_t now_ns, uint16_t *out_entry, struct err *err)
{
    struct arbiter_label *l = find(a, label);
    if (l == NULL)
        return err_set(err, ERR_NOT_FOUND, "label %u is not known", label);
    if (bytes < 1 || bytes > ARBITER_MESSAGE_MAX)
        return err_set(err, ERR_INVALID, "a message of %lld bytes (has 1 to %lld)",
                       (long long)bytes, (long long)ARBITER_MESSAGE_MAX);
    if (a->free == ARBITER_NONE)
        return err_set(err, ERR_LIMIT, "%d messages wait already", ARBITER_ENTRIES_MAX);
    uint16_t index = a->free;
    a->free = a->entry[index].next;
    a->entry[index] = (struct arbiter_entry){.used = true,
                                             .tensor = tensor,
                                             .label = (uint16_t)(l - a->label),
                                             .token = token,
                                             .remaining = bytes};
    l->entries++;
    link_last(a, index, now_ns);
    *out_entry = index;
    return ERR_OK;
}

void arbiter_park(struct arbiter *a, uint16_t entry)
{
    if (a->entry[entry].parked)
        return;
    unlink_entry(a, entry);
    a->entry[entry].parked = true;
}

void arbiter_unpark(struct arbiter *a, uint16_t entry, int64_t now_ns)
{
    if (!a->entry[entry].parked)
        return;
    a->entry[entry].parked = false;
    link_last(a, entry, now_ns);
}

void arbiter_remove(struct arbiter *a, uint16_t index)
{
    struct arbiter_entry *e = &a->entry[index];
    struct arbiter_label *l = &a->label[e->label];
    assert(e->used);
    if (!e->parked)
        unlink_entry(a, index);
    l->entries--;
    if (l->current == index)
        l->current = ARBITER_NONE;
    *e = (struct arbiter_entry){.next = a->free};
    a->free = index;
}

/* Choice ----------------------------------------------------------------------------------------
 */

static bool is_limited(const struct arbiter_label *l, int64_t now_ns)
{
    return l->share.limit_bps > 0 && !bucket_has(&l->limit, now_ns);
}

static bool is_assured(const struct arbiter_label *l, int64_t now_ns)
{
    return l->share.guarantee_bps > 0 && bucket_has(&l->guarantee, now_ns);
}

static struct arbiter_label *pick_label(struct arbiter *a, int64_t now_ns, int64_t *out_ready_ns)
{
    struct arbiter_label *assured = NULL, *least = NULL;
    int64_t ready_ns = INT64_MAX;
    for (int i = 0; i < a->labels; i++) {
        struct arbiter_label *l = &a->label[i];
        if (!l->used || l->waiting == 0)
            continue;
        if (is_limited(l, now_ns)) {
            int64_t then = bucket_ready_ns(&l->limit);
            ready_ns = then < ready_ns ? then : ready_ns;
            continue;
        }
        if (is_assured(l, now_ns) && (assured == NULL || l->assured < assured->assured))
            assured = l;
        if (least == NULL || l->sent < least->sent)
            least = l;
    }
    *out_ready_ns = ready_ns;
    return assured != NULL ? assured : least;
}

static int64_t aged_rank(const struct arbiter *a, const struct arbiter_entry *e, int64_t now_ns)
{
    int64_t waited = now_ns > e->served_ns ? now_ns - e->served_ns : 0;
    return e->rank - waited / a->config.age_ns;
}

static uint16_t pick_entry(const struct arbiter *a, const struct arbiter_label *l, int64_t now_ns)
{
    uint16_t best = l->current;
    int64_t best_rank = INT64_MAX;
    if (best != ARBITER_NONE && !a->entry[best].parked)
        best_rank = aged_rank(a, &a->entry[best], now_ns);
    else
        best = ARBITER_NONE;
    for (int r = 0; r < ARBITER_RANKS; r++) {
        uint16_t first = l->ranks[r].first;
        if (first == ARBITER_NONE)
            continue;
        int64_t rank = aged_rank(a, &a->entry[first], now_ns);
        if (rank < best_rank) {
            best_rank = rank;
            best = first;
        }
    }
    return best;
}

bool arbiter_pick(struct arbiter *a, int64_t now_ns, struct arbiter_grant *out,
                  int64_t *out_ready_ns)
{
    struct arbiter_label *l = pick_label(a, now_ns, out_ready_ns);
    if (l == NULL)
        return false;
    l->current = pick_entry(a, l, now_ns);
    const struct arbiter_entry *e = &a->entry[l->current];
    out->entry = l->current;
    out->token = e->token;
    out->bytes = e->remaining < a->config.quantum_bytes ? e->remaining : a->config.quantum_bytes;
    return true;
}

/* The sums grow for ever; only their differences count. */
static void rebase(struct arbiter *a)
{
    for (int i = 0; i < a->labels; i++)
        a->label[i].sent -= a->label[i].sent < a->sent ? a->label[i].sent : a->sent;
    a->sent = 0;
}

static void charge(struct arbiter *a, struct arbiter_label *l, int64_t bytes, int64_t now_ns)
{
    l->bytes += bytes;
    if (l->share.limit_bps > 0)
        bucket_take(&l->limit, bytes, now_ns);
    if (is_assured(l, now_ns)) {
        bucket_take(&l->guarantee, bytes, now_ns);
        a->assured = l->assured > a->assured ? l->assured : a->assured;
        l->assured += (uint64_t)bytes * BIT_NS / (uint64_t)l->share.guarantee_bps;
        return;
    }
    a->sent = l->sent > a->sent ? l->sent : a->sent;
    l->sent += (uint64_t)bytes * SENT_UNIT / (uint64_t)l->share.weight;
    if (a->sent >= SENT_REBASE)
        rebase(a);
}

bool arbiter_sent(struct arbiter *a, uint16_t index, int64_t wire_bytes, int64_t progress_bytes,
                  int64_t now_ns)
{
    struct arbiter_entry *e = &a->entry[index];
    assert(e->used && wire_bytes >= 0 && progress_bytes >= 0 && progress_bytes <= e->remaining);
    charge(a, &a->label[e->label], wire_bytes, now_ns);
    e->remaining -= progress_bytes;
    if (e->remaining == 0) {
        arbiter_remove(a, index);
        return true;
    }
    if (!e->parked) {
        unlink_entry(a, index);
        link_last(a, index, now_ns);
    }
    return false;
}

int64_t arbiter_wait_bound_ns(const struct arbiter *a, int64_t rate_bps, int entries)
{
    /* ARBITER_RANKS steps of age lift the last rank above the first; while one is above, each other
     * can only go before it that has waited as long. A grant under way is not broken off: one more.
     */
    double turn_ns = (double)a->config.quantum_bytes * 8e9 / (double)rate_bps;
    double bound =
        (double)(ARBITER_RANKS + 1) * (double)a->config.age_ns + turn_ns * (double)(entries + 1);
    return bound < (double)(INT64_MAX / 2) ? (int64_t)bound : INT64_MAX / 2;
}
