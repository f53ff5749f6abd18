/*
 * datapath/solar/place.c - see place.h.
 */
#include "datapath/solar/place.h"

#include <assert.h>

#define THERE 0x80

enum err_code place_init(struct place *p, struct place_slot *slots, size_t slot_count,
                         int ack_every, struct err *err)
{
    if (slot_count < PLACE_SLOTS_MIN || slot_count > PLACE_SLOTS_MAX ||
        (slot_count & (slot_count - 1)) != 0)
        return err_set(err, ERR_INVALID, "a window of %zu packets (has a power of two, %d to %d)",
                       slot_count, PLACE_SLOTS_MIN, PLACE_SLOTS_MAX);
    if (ack_every < 1 || ack_every > PLACE_ACK_EVERY_MAX)
        return err_set(err, ERR_INVALID, "an acknowledgement each %d packets (has 1 to %d)",
                       ack_every, PLACE_ACK_EVERY_MAX);
    *p = (struct place){
        .slots = slots, .mask = slot_count - 1, .ack_every = ack_every, .base_ns = -1};
    for (size_t i = 0; i < slot_count; i++)
        slots[i] = (struct place_slot){0};
    return ERR_OK;
}

bool place_has(const struct place *p, uint64_t psn)
{
    return psn < p->next || (psn < p->above && psn - p->next <= p->mask &&
                             (p->slots[psn & p->mask].flags & THERE) != 0);
}

/* Transit above the least seen. Clocks of two hosts differ by anything: only differences count,
 * modulo the turn of the ticks; and they drift: the least is forgotten after two spans. */
static uint32_t queue_of(struct place *p, uint32_t sent_ticks, int64_t now_ns)
{
    uint32_t transit = (wire_ticks(now_ns) - sent_ticks) % WIRE_TICKS;
    if (p->base_ns < 0 || now_ns - p->base_ns > PLACE_BASE_NS) {
        p->base_ticks = p->base_ns < 0 ? transit : p->base_next_ticks;
        p->base_next_ticks = transit;
        p->base_ns = now_ns;
    }
    if ((p->base_next_ticks - transit) % WIRE_TICKS < WIRE_TICKS / 2)
        p->base_next_ticks = transit;
    if ((p->base_ticks - transit) % WIRE_TICKS < WIRE_TICKS / 2)
        p->base_ticks = transit;
    return (transit - p->base_ticks) % WIRE_TICKS * WIRE_TICK_NS;
}

static void remember_echo(struct place *p, const struct wire_packet *packet, bool duplicate,
                          int64_t now_ns)
{
    p->has_echo = true;
    p->echo_psn = packet->psn;
    p->echo_attempt = packet->attempt;
    p->echo_duplicate = duplicate;
    p->echo_ticks = packet->sent_ticks;
    p->echo_ns = now_ns;
    p->queue_ns = queue_of(p, packet->sent_ticks, now_ns);
    p->unacked++;
}

enum place_verdict place_arrive(struct place *p, const struct wire_packet *packet, bool marked,
                                int64_t now_ns)
{
    uint64_t psn = packet->psn;
    p->counters.marked += marked;
    if (place_has(p, psn)) {
        p->counters.duplicates++;
        p->urgent = true; /* its acknowledgement was lost, or came too late */
        remember_echo(p, packet, true, now_ns);
        return PLACE_DUPLICATE;
    }
    /* Slots are needed until their message is told. */
    if (psn - p->told > p->mask) {
        p->counters.beyond++;
        return PLACE_BEYOND;
    }
    p->slots[psn & p->mask] = (struct place_slot){.type = (uint8_t)packet->type,
                                                  .flags = packet->flags | THERE,
                                                  .id = packet->id,
                                                  .len = (uint32_t)packet->payload_len,
                                                  .start = packet->start};
    p->counters.arrived++;
    bool had_gap = p->above > p->next;
    p->above = psn >= p->above ? psn + 1 : p->above;
    p->untold = psn < p->untold ? psn : p->untold;
    while (p->next < p->above && (p->slots[p->next & p->mask].flags & THERE) != 0)
        p->next++;
    /* A gap that opens or closes is news for the sender. */
    if ((packet->flags & WIRE_F_ASK) != 0 || had_gap != (p->above > p->next))
        p->urgent = true;
    remember_echo(p, packet, false, now_ns);
    return PLACE_NEW;
}

void place_probed(struct place *p, uint32_t sent_ticks)
{
    p->echo_ticks = sent_ticks;
    p->urgent = true;
}

static enum err_code broken(struct place *p, const char *what, struct err *err)
{
    p->broken = true;
    return err_set(err, ERR_INVALID, "packet %llu of the other side %s",
                   (unsigned long long)p->told, what);
}

/* Looks at the packet `told`; *out_has when it was the last of its message. */
static enum err_code take_packet(struct place *p, bool *out_has, struct err *err)
{
    const struct place_slot *s = &p->slots[p->told & p->mask];
    bool starts = (s->flags & WIRE_F_START) != 0;
    if (starts == p->in_message)
        return broken(p, starts ? "begins a message inside one" : "belongs to no message", err);
    struct place_message *m = &p->message;
    if (starts) {
        *m = (struct place_message){.type = (enum wire_type)s->type,
                                    .id = s->id,
                                    .has_immediate = (s->flags & WIRE_F_IMMEDIATE) != 0,
                                    .immediate = s->start.immediate,
                                    .length = s->start.length};
        p->message_bytes = 0;
    } else if ((int)s->type != (int)m->type) {
        return broken(p, "is of another type than its message", err);
    }
    p->message_bytes += s->len;
    *out_has = (s->flags & WIRE_F_LAST) != 0;
    uint64_t said = m->type == WIRE_READ ? 0 : m->length; /* a request carries nothing */
    if (p->message_bytes > said || (*out_has && p->message_bytes != said))
        return broken(p, "makes its message another length than was said", err);
    p->in_message = !*out_has;
    m->last_psn = p->told;
    return ERR_OK;
}

enum err_code place_message(struct place *p, bool *out_has, struct place_message *out,
                            struct err *err)
{
    if (p->broken)
        return broken(p, "cannot be believed after what came before", err);
    bool has = false;
    while (!has && p->told < p->next) {
        if (take_packet(p, &has, err) != ERR_OK)
            return ERR_INVALID;
        p->slots[p->told & p->mask].flags = 0;
        p->told++;
    }
    if (has)
        *out = p->message;
    *out_has = has;
    return ERR_OK;
}

bool place_wants_ack(const struct place *p)
{
    return p->has_echo && (p->urgent || p->unacked >= p->ack_every);
}

bool place_owes_ack(const struct place *p)
{
    return p->has_echo && p->unacked > 0;
}

static uint64_t bitmap(const struct place *p, uint64_t base)
{
    uint64_t bits = 0;
    for (uint64_t i = 0; i < 64; i++)
        if (base + i >= p->next && place_has(p, base + i))
            bits |= UINT64_C(1) << i;
    return bits;
}

/* `above` = a bitmap has told all. */
static uint64_t first_untold(const struct place *p)
{
    uint64_t psn = p->untold < p->next ? p->next : p->untold;
    while (psn < p->above && !place_has(p, psn))
        psn++;
    return psn;
}

/* Mostly the first word with something that no bitmap has told yet: what arrived counts against the
 * sender's window until it is told. In between all words from the first gap on, in turn, as
 * acknowledgements get lost. */
static uint64_t next_bitmap(struct place *p)
{
    uint64_t news = first_untold(p), at = news;
    p->turn = (p->turn + 1) % PLACE_BITMAP_TURNS;
    if (p->turn == 0 || news >= p->above) {
        p->turn_word += 64;
        if (p->turn_word < p->next || p->turn_word >= p->above)
            p->turn_word = p->next;
        at = p->turn_word;
    }
    uint64_t base = at & ~UINT64_C(63);
    if (news >= base && news < base + 64)
        p->untold = base + 64;
    return base;
}

void place_ack(struct place *p, int64_t now_ns, struct wire_ack *out)
{
    assert(p->has_echo);
    int64_t hold_ns = now_ns - p->echo_ns;
    *out = (struct wire_ack){
        .next_psn = p->next,
        .sack_base = next_bitmap(p),
        .echo_psn = p->echo_psn,
        .echo_attempt = p->echo_attempt,
        .echo_duplicate = p->echo_duplicate,
        .echo_ticks = p->echo_ticks,
        .hold_ns = hold_ns < 0            ? 0
                   : hold_ns > UINT32_MAX ? UINT32_MAX
                                          : (uint32_t)hold_ns,
        .queue_ns = p->queue_ns,
        .arrived = (uint32_t)p->counters.arrived,
        .marked = (uint32_t)p->counters.marked,
    };
    out->sack = bitmap(p, out->sack_base);
    p->unacked = 0;
    p->echo_duplicate = false; /* it is told once, though the echo may be told again */
    /* What is there and never told looks lost when nothing follows it. */
    p->urgent = first_untold(p) < p->above;
}
