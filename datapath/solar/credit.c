/*
 * datapath/solar/credit.c - see credit.h.
 */
#include "datapath/solar/credit.h"

#include <assert.h>

#define POOL_MAX   (INT64_C(1) << 40)
#define PACKET_MAX 65536

enum err_code credit_init(struct credit *c, int64_t pool_bytes, int64_t packet_bytes,
                          struct err *err)
{
    if (packet_bytes < 1 || packet_bytes > PACKET_MAX || pool_bytes < packet_bytes ||
        pool_bytes > POOL_MAX)
        return err_set(err, ERR_INVALID, "a pool of %lld bytes for packets of %lld",
                       (long long)pool_bytes, (long long)packet_bytes);
    c->pool_bytes = c->alone_bytes = pool_bytes;
    c->packet_bytes = packet_bytes;
    c->first_pools = 1;
    c->held_bytes = c->outstanding = c->weight_active = 0;
    c->joined = c->senders = 0;
    c->first = c->last = CREDIT_NONE;
    for (int i = 0; i < CREDIT_SENDERS_MAX; i++)
        c->sender[i] = (struct credit_sender){.used = false};
    return ERR_OK;
}

void credit_set_alone(struct credit *c, int64_t bytes)
{
    c->alone_bytes = bytes > c->pool_bytes ? bytes : c->pool_bytes;
}

void credit_set_first(struct credit *c, int pools)
{
    assert(pools >= 1 && pools <= CREDIT_FIRST_MAX);
    c->first_pools = pools;
}

void credit_set_held(struct credit *c, int64_t bytes)
{
    c->held_bytes = bytes;
}

static bool is_active(const struct credit_sender *s)
{
    return s->demand > s->arrived;
}

/* What an idle sender may start with. */
static uint64_t first_credit(const struct credit *c)
{
    int64_t part = c->pool_bytes * c->first_pools / (c->joined > 0 ? c->joined : 1);
    part = part < c->pool_bytes ? part : c->pool_bytes;
    if (c->first_pools > 1) /* a part of a packet would be one of its own (pump_fit) */
        part -= part % c->packet_bytes;
    return part >= c->packet_bytes ? (uint64_t)part : 0;
}

enum err_code credit_join(struct credit *c, int weight, uint16_t *out_sender, struct err *err)
{
    if (weight < 1 || weight > CREDIT_WEIGHT_MAX)
        return err_set(err, ERR_INVALID, "weight %d (has 1 to %d)", weight, CREDIT_WEIGHT_MAX);
    int i = 0;
    while (i < CREDIT_SENDERS_MAX && c->sender[i].used)
        i++;
    if (i == CREDIT_SENDERS_MAX)
        return err_set(err, ERR_LIMIT, "%d queue pairs send to this receiver already",
                       CREDIT_SENDERS_MAX);
    c->senders = i >= c->senders ? i + 1 : c->senders;
    c->joined++;
    c->sender[i] = (struct credit_sender){.used = true, .weight = weight, .next = CREDIT_NONE};
    *out_sender = (uint16_t)i;
    return ERR_OK;
}

static void enqueue(struct credit *c, uint16_t index)
{
    struct credit_sender *s = &c->sender[index];
    s->waits = true;
    s->next = CREDIT_NONE;
    *(c->last == CREDIT_NONE ? &c->first : &c->sender[c->last].next) = index;
    c->last = index;
}

static void push_front(struct credit *c, uint16_t index)
{
    struct credit_sender *s = &c->sender[index];
    s->waits = true;
    s->next = c->first;
    c->first = index;
    if (c->last == CREDIT_NONE)
        c->last = index;
}

static uint16_t dequeue(struct credit *c)
{
    uint16_t index = c->first;
    c->first = c->sender[index].next;
    if (c->first == CREDIT_NONE)
        c->last = CREDIT_NONE;
    c->sender[index].waits = false;
    return index;
}

static void unqueue(struct credit *c, uint16_t index)
{
    for (int i = 0; c->first != CREDIT_NONE && i < CREDIT_SENDERS_MAX; i++) {
        uint16_t first = dequeue(c);
        if (first == index)
            break;
        enqueue(c, first);
    }
}

void credit_leave(struct credit *c, uint16_t index)
{
    struct credit_sender *s = &c->sender[index];
    assert(s->used);
    if (s->waits)
        unqueue(c, index);
    if (is_active(s)) {
        c->weight_active -= s->weight;
        c->outstanding -= (int64_t)(s->granted - s->arrived);
    }
    *s = (struct credit_sender){.used = false};
    c->joined--;
}

void credit_demand(struct credit *c, uint16_t index, uint64_t sum_bytes)
{
    struct credit_sender *s = &c->sender[index];
    if (sum_bytes > s->arrived + CREDIT_DEMAND_MAX)
        sum_bytes = s->arrived + CREDIT_DEMAND_MAX;
    if (sum_bytes <= s->demand || sum_bytes <= s->arrived)
        return;
    if (!is_active(s)) {
        uint64_t held = s->arrived + first_credit(c);
        s->granted = s->granted > held ? s->granted : held;
        s->granted = s->granted > sum_bytes ? sum_bytes : s->granted;
        c->outstanding += (int64_t)(s->granted - s->arrived);
        c->weight_active += s->weight;
    }
    s->demand = sum_bytes;
    if (!s->waits && s->granted < s->demand)
        enqueue(c, index);
}

void credit_arrived(struct credit *c, uint16_t index, int64_t bytes)
{
    struct credit_sender *s = &c->sender[index];
    uint64_t sum = s->arrived + (uint64_t)bytes;
    if (sum > s->demand) /* it did not say that it wants to: it says so by sending */
        credit_demand(c, index, sum);
    bool was_active = is_active(s);
    if (sum > s->granted) { /* more than it may: nothing is owed to it */
        c->outstanding += was_active ? (int64_t)(sum - s->granted) : 0;
        s->granted = sum;
    }
    s->arrived = sum;
    if (!was_active)
        return;
    c->outstanding -= bytes;
    if (!is_active(s)) {
        c->weight_active -= s->weight;
        c->outstanding -= (int64_t)(s->granted - s->arrived);
        s->granted = s->arrived;
    }
}

bool credit_is_active(const struct credit *c, uint16_t index)
{
    return is_active(&c->sender[index]);
}

void credit_rest(struct credit *c, uint16_t index)
{
    struct credit_sender *s = &c->sender[index];
    if (!is_active(s))
        return;
    if (s->waits)
        unqueue(c, index);
    c->weight_active -= s->weight;
    c->outstanding -= (int64_t)(s->granted - s->arrived);
    s->demand = s->arrived;
    s->turns = 0;
}

static int64_t limit_of(const struct credit *c)
{
    bool alone = c->weight_active == c->sender[c->first].weight;
    int64_t shared = c->pool_bytes + c->held_bytes;
    return alone || shared > c->alone_bytes ? c->alone_bytes : shared;
}

bool credit_grant(struct credit *c, uint16_t *out_sender)
{
    if (c->first == CREDIT_NONE || c->outstanding + c->packet_bytes > limit_of(c))
        return false;
    uint16_t index = dequeue(c);
    struct credit_sender *s = &c->sender[index];
    if (s->turns == 0)
        s->turns = s->weight;
    uint64_t left = s->demand - s->granted;
    uint64_t bytes = left < (uint64_t)c->packet_bytes ? left : (uint64_t)c->packet_bytes;
    s->granted += bytes;
    c->outstanding += (int64_t)bytes;
    s->turns--;
    if (s->granted < s->demand && s->turns > 0)
        push_front(c, index); /* its round is not over */
    else if (s->granted < s->demand)
        enqueue(c, index);
    *out_sender = index;
    return true;
}

uint64_t credit_sum(const struct credit *c, uint16_t index)
{
    const struct credit_sender *s = &c->sender[index];
    return is_active(s) ? s->granted : s->arrived + first_credit(c);
}

uint32_t credit_weight_total(const struct credit *c)
{
    return (uint32_t)c->weight_active;
}
