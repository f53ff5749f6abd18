/*
 * datapath/solar/track.c - see track.h.
 */
#include "datapath/solar/track.h"

#include <assert.h>

#define TIMEOUT_FIRST_FACTOR 4 /* of the least timeout, before the first sample */
#define ASK_DOUBLINGS        6
#define LATE_FADE            64 /* acknowledged packets, until a third of the latest is left */
#define UNHEARD_FACTOR       4  /* of the wait, on a path by which nothing has arrived yet */

enum err_code track_init(struct track *t, struct track_packet *slots, size_t slot_count, int paths,
                         int64_t timeout_min_ns, struct err *err)
{
    if (slot_count < TRACK_SLOTS_MIN || slot_count > TRACK_SLOTS_MAX ||
        (slot_count & (slot_count - 1)) != 0)
        return err_set(err, ERR_INVALID, "%zu packets in flight (has a power of two, %d to %d)",
                       slot_count, TRACK_SLOTS_MIN, TRACK_SLOTS_MAX);
    if (paths < 1 || paths > TRACK_PATHS_MAX)
        return err_set(err, ERR_INVALID, "%d paths (has 1 to %d)", paths, TRACK_PATHS_MAX);
    if (timeout_min_ns < 1 || timeout_min_ns > TRACK_TIMEOUT_MAX_NS)
        return err_set(err, ERR_INVALID, "a timeout of %lld ns (has 1 to %lld)",
                       (long long)timeout_min_ns, (long long)TRACK_TIMEOUT_MAX_NS);
    *t = (struct track){.slots = slots,
                        .mask = slot_count - 1,
                        .lost_first = TRACK_NONE,
                        .lost_last = TRACK_NONE,
                        .paths = paths,
                        .stride = 1,
                        .burst = 1,
                        .timeout_min_ns = timeout_min_ns,
                        .patience_ns = timeout_min_ns};
    for (size_t i = 0; i < slot_count; i++)
        slots[i] = (struct track_packet){.state = TRACK_FREE};
    for (int i = 0; i < TRACK_PATHS_MAX; i++)
        t->path[i] = (struct track_path){
            .first = TRACK_NONE, .last = TRACK_NONE, .tolerance = TRACK_TOLERANCE};
    return ERR_OK;
}

static struct track_packet *slot_of(const struct track *t, uint64_t psn)
{
    return &t->slots[psn & t->mask];
}

/* The list that a packet stands in by its state: of its path, or of the lost ones. */
static void enlist(struct track *t, struct track_packet *p)
{
    bool lost = p->state == TRACK_LOST;
    uint16_t *first = lost ? &t->lost_first : &t->path[p->path].first;
    uint16_t *last = lost ? &t->lost_last : &t->path[p->path].last;
    uint16_t index = (uint16_t)(p - t->slots);
    p->prev = *last;
    p->next = TRACK_NONE;
    *(*last == TRACK_NONE ? first : &t->slots[*last].next) = index;
    *last = index;
    if (!lost)
        t->flight_bytes += p->len;
}

static void delist(struct track *t, struct track_packet *p)
{
    bool lost = p->state == TRACK_LOST;
    uint16_t *first = lost ? &t->lost_first : &t->path[p->path].first;
    uint16_t *last = lost ? &t->lost_last : &t->path[p->path].last;
    *(p->prev == TRACK_NONE ? first : &t->slots[p->prev].next) = p->next;
    *(p->next == TRACK_NONE ? last : &t->slots[p->next].prev) = p->prev;
    if (!lost && !p->passed)
        t->flight_bytes -= p->len;
}

static void fly(struct track *t, struct track_packet *p, uint8_t path, int64_t now_ns)
{
    assert(path < t->paths);
    p->path = path;
    p->path_seq = t->path[path].sent++;
    p->sent_ns = t->sent_ns = now_ns;
    p->state = TRACK_FLIGHT;
    p->passed = false;
    p->behind_ns = t->behind_ns;
    enlist(t, p);
}

bool track_has_room(const struct track *t)
{
    return t->next - t->una <= t->mask;
}

bool track_path_is_bad(const struct track *t, uint8_t path, int64_t now_ns)
{
    return t->path[path].bad_until_ns > now_ns;
}

void track_set_patience(struct track *t, int64_t patience_ns)
{
    t->patience_ns = patience_ns;
}

static int common(int a, int b)
{
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void track_set_order(struct track *t, uint64_t seed)
{
    seed = (seed ^ seed >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    t->stride = 1 + (int)((seed >> 33) % (uint64_t)t->paths);
    while (common(t->stride, t->paths) != 1)
        t->stride++;
}

void track_set_burst(struct track *t, int packets)
{
    assert(packets >= 1);
    t->burst = packets;
}

static bool may_take(const struct track *t, int index, int64_t now_ns)
{
    const struct track_path *path = &t->path[index];
    bool on_trial = path->timeouts > 0 && path->first != TRACK_NONE;
    return !on_trial && !track_path_is_bad(t, (uint8_t)index, now_ns);
}

uint8_t track_next_path(struct track *t, int64_t now_ns)
{
    if (++t->run < t->burst && may_take(t, t->turn, now_ns))
        return (uint8_t)t->turn;
    t->run = 0;
    int next = (t->turn + t->stride) % t->paths, chosen = next;
    for (int i = 0; i < t->paths; i++) {
        if (may_take(t, next, now_ns)) {
            chosen = next;
            break;
        }
        next = (next + t->stride) % t->paths;
    }
    t->turn = chosen;
    return (uint8_t)chosen;
}

const struct track_packet *track_send(struct track *t, uint32_t token, uint64_t offset,
                                      uint16_t len, uint8_t path, int64_t now_ns)
{
    assert(track_has_room(t));
    struct track_packet *p = slot_of(t, t->next);
    *p = (struct track_packet){.psn = t->next, .token = token, .offset = offset, .len = len};
    fly(t, p, path, now_ns);
    t->next++;
    t->counters.sent++;
    return p;
}

const struct track_packet *track_lost(const struct track *t)
{
    return t->lost_first == TRACK_NONE ? NULL : &t->slots[t->lost_first];
}

const struct track_packet *track_resend(struct track *t, uint8_t path, int64_t now_ns)
{
    assert(t->lost_first != TRACK_NONE);
    struct track_packet *p = &t->slots[t->lost_first];
    delist(t, p);
    if (p->attempt < WIRE_ATTEMPT_MAX)
        p->attempt++;
    fly(t, p, path, now_ns);
    t->counters.resent++;
    return p;
}

static void lose(struct track *t, struct track_packet *p)
{
    delist(t, p);
    p->state = TRACK_LOST;
    enlist(t, p);
    t->counters.lost++;
}

/* At least its round trip: an earlier acknowledgement of it may have got lost. */
static void note_late(struct track *t, int64_t elapsed_ns)
{
    int64_t fade_ns = (t->late_ns - elapsed_ns) / LATE_FADE;
    t->late_ns = elapsed_ns > t->late_ns ? elapsed_ns : t->late_ns - fade_ns;
}

static void acknowledge(struct track *t, uint64_t psn, int64_t now_ns, struct track_news *news)
{
    struct track_packet *p = slot_of(t, psn);
    if (p->psn != psn || (p->state != TRACK_FLIGHT && p->state != TRACK_LOST))
        return;
    struct track_path *path = &t->path[p->path];
    /* Of a packet sent twice this may have been the first transmission: that says nothing about
     * what was sent on the path of the second. */
    if (p->attempt == 0 && (int32_t)(p->path_seq + 1 - path->arrived) > 0)
        path->arrived = p->path_seq + 1;
    if (p->attempt == 0) {
        path->timeouts = 0;
        note_late(t, now_ns - p->sent_ns);
    }
    if (p->state == TRACK_LOST && path->tolerance < TRACK_TOLERANCE_MAX)
        path->tolerance++; /* given up too early; nothing was sent for it yet */
    delist(t, p);
    p->state = TRACK_ACKED;
    t->counters.acked++;
    news->acked_packets++;
    news->acked_bytes += p->len;
}

/* What an acknowledgement is waited for, as TCP reckons it. */
static int64_t usual_wait_ns(const struct track *t)
{
    return t->wait_ns + 4 * t->waitvar_ns;
}

static bool is_patient(const struct track *t)
{
    return t->patience_ns > t->timeout_min_ns;
}

/* Before the first sample. Without patience timers repair then, and nobody is asked: 0. */
static int64_t first_wait_ns(const struct track *t)
{
    return is_patient(t) ? TIMEOUT_FIRST_FACTOR * t->timeout_min_ns : 0;
}

/* That, and never less than one of late took; paths may be of different length. 0 = not known. */
static int64_t long_wait_ns(const struct track *t)
{
    int64_t wait_ns = usual_wait_ns(t), late_ns = t->late_ns + t->late_ns / 4;
    return t->srtt_ns == 0 ? first_wait_ns(t) : wait_ns > late_ns ? wait_ns : late_ns;
}

static void sample_rtt(struct track *t, int64_t rtt_ns, int64_t hold_ns)
{
    int64_t wait_ns = rtt_ns + hold_ns;
    if (t->srtt_ns == 0) {
        t->srtt_ns = rtt_ns;
        t->wait_ns = wait_ns;
        t->waitvar_ns = wait_ns / 2;
        return;
    }
    int64_t off = wait_ns > t->wait_ns ? wait_ns - t->wait_ns : t->wait_ns - wait_ns;
    t->waitvar_ns += (off - t->waitvar_ns) / 4;
    t->wait_ns += (wait_ns - t->wait_ns) / 8;
    t->srtt_ns += (rtt_ns - t->srtt_ns) / 8;
}

/* Of the newest thing that is known to have arrived: nothing that was sent a long wait before it
 * and is missing is still on its way. */
static void see(struct track *t, int64_t sent_ns)
{
    t->seen_ns = sent_ns > t->seen_ns ? sent_ns : t->seen_ns;
}

/* An answer to the question: how long its echo was held is no sample of how long any is. */
static bool hear_answer(struct track *t, const struct wire_ack *ack)
{
    if (t->asked_ns == 0 || ack->echo_ticks != wire_ticks(t->asked_ns))
        return false;
    see(t, t->asked_ns);
    return true;
}

/* The echo tells which transmission arrived: the one sample of time, and of its path. */
static void hear_echo(struct track *t, const struct wire_ack *ack, bool answers, int64_t now_ns,
                      struct track_news *news)
{
    struct track_packet *p = slot_of(t, ack->echo_psn);
    if (p->state == TRACK_FREE || p->psn != ack->echo_psn)
        return;
    struct track_path *path = &t->path[p->path];
    if (ack->echo_duplicate) {
        if (ack->echo_attempt == 0)
            return; /* the network made it two */
        t->counters.spurious++;
        for (int i = 0; i < t->paths; i++)
            if (t->path[i].tolerance < TRACK_TOLERANCE_MAX)
                t->path[i].tolerance++;
        return;
    }
    int64_t elapsed_ns = now_ns - p->sent_ns - (int64_t)ack->hold_ns;
    if (ack->echo_attempt != p->attempt || p->attempt == WIRE_ATTEMPT_MAX || elapsed_ns <= 0)
        return;
    if ((int32_t)(p->path_seq + 1 - path->arrived) > 0)
        path->arrived = p->path_seq + 1;
    path->timeouts = 0;
    see(t, p->sent_ns);
    if (answers)
        return;
    news->rtt_ns = elapsed_ns;
    news->behind_ns = p->behind_ns;
    sample_rtt(t, elapsed_ns, (int64_t)ack->hold_ns);
}

/* Of ones that a bitmap shows missing: by how many of its path that were sent later. */
static int32_t passed_by(const struct track_path *path, const struct track_packet *p)
{
    return (int32_t)(path->arrived - 1 - p->path_seq);
}

static bool is_overdue(const struct track *t, const struct track_packet *p)
{
    const struct track_path *path = &t->path[p->path];
    int64_t wait_ns = long_wait_ns(t) / TRACK_TOLERANCE * path->tolerance;
    wait_ns *= path->arrived > 0 || t->srtt_ns == 0 ? 1 : UNHEARD_FACTOR;
    return wait_ns > 0 && t->seen_ns - p->sent_ns >= wait_ns;
}

/* One that a later one of its path has passed is in the network no more, though it may be too early
 * to send it again: what is behind it may take its place in the window. */
static void leave_network(struct track *t, struct track_packet *p)
{
    if (!p->passed && passed_by(&t->path[p->path], p) > 0) {
        p->passed = true;
        t->flight_bytes -= p->len;
    }
}

/* Without a sign that anything passes its path. */
static void give_up(struct track *t, struct track_packet *p, int64_t now_ns)
{
    struct track_path *path = &t->path[p->path];
    if (path->timeouts == 0 || p->sent_ns >= path->timeout_ns) {
        path->timeouts++;
        path->timeout_ns = now_ns;
    }
    if (path->timeouts >= TRACK_BAD_TIMEOUTS)
        path->bad_until_ns = now_ns + TRACK_BAD_NS;
    lose(t, p);
}

/* What the bitmap shows missing. An acknowledgement that was overtaken shows what was, not what is.
 */
static void find_lost(struct track *t, const struct wire_ack *ack, int64_t now_ns,
                      struct track_news *news)
{
    if ((int32_t)(ack->arrived - t->heard) < 0)
        return;
    t->heard = ack->arrived;
    uint64_t psn = ack->sack_base > t->una ? ack->sack_base : t->una;
    for (; psn < ack->sack_base + 64 && psn < t->next; psn++) {
        struct track_packet *p = slot_of(t, psn);
        if (p->state != TRACK_FLIGHT)
            continue;
        const struct track_path *path = &t->path[p->path];
        bool passed = passed_by(path, p) >= path->tolerance;
        if (!passed && !is_overdue(t, p)) {
            leave_network(t, p);
            continue;
        }
        news->lost_packets++;
        news->lost_bytes += p->len;
        if (passed)
            lose(t, p);
        else
            give_up(t, p, now_ns);
    }
}

static bool is_sane(const struct track *t, const struct wire_ack *ack)
{
    if (ack->next_psn > t->next || ack->echo_psn >= t->next || t->next == 0)
        return false;
    if (ack->sack == 0)
        return true;
    uint64_t highest = ack->sack_base + 63 - (uint64_t)__builtin_clzll(ack->sack);
    return highest >= ack->sack_base && highest < t->next;
}

enum err_code track_on_ack(struct track *t, const struct wire_ack *ack, int64_t now_ns,
                           struct track_news *out, struct err *err)
{
    if (!is_sane(t, ack))
        return err_set(err, ERR_INVALID, "the other side acknowledges packet %llu, %llu were sent",
                       (unsigned long long)ack->next_psn, (unsigned long long)t->next);
    *out = (struct track_news){.rtt_ns = -1};
    bool answers = hear_answer(t, ack);
    hear_echo(t, ack, answers, now_ns, out);
    for (uint64_t psn = t->una; psn < ack->next_psn; psn++)
        acknowledge(t, psn, now_ns, out);
    for (uint64_t bits = ack->sack; bits != 0; bits &= bits - 1) {
        uint64_t psn = ack->sack_base + (uint64_t)__builtin_ctzll(bits);
        if (psn >= t->una)
            acknowledge(t, psn, now_ns, out);
    }
    while (t->una < t->next && slot_of(t, t->una)->state == TRACK_ACKED && t->una < ack->next_psn)
        t->una++;
    if (answers || out->acked_packets > 0)
        t->asks = 0;
    if (out->acked_packets > 0)
        t->news_ns = now_ns;
    find_lost(t, ack, now_ns, out);
    return ERR_OK;
}

/* When the oldest packet of the path counts as lost. Doubled for each timer in a row, as a path
 * that is slow is not helped by haste; but not for what was sent before the last one ended: that is
 * of the same event. */
static int64_t deadline_ns(const struct track *t, const struct track_path *path)
{
    if (path->first == TRACK_NONE)
        return INT64_MAX;
    int64_t sent_ns = t->slots[path->first].sent_ns;
    int64_t ns = t->srtt_ns > 0 ? usual_wait_ns(t) : TIMEOUT_FIRST_FACTOR * t->timeout_min_ns;
    ns = ns < t->patience_ns ? t->patience_ns : ns;
    int doublings = sent_ns < path->timeout_ns ? 0 : path->timeouts;
    for (int i = 0; i < doublings && ns < TRACK_TIMEOUT_MAX_NS; i++)
        ns *= 2;
    int64_t since_ns = is_patient(t) && t->news_ns > sent_ns ? t->news_ns : sent_ns;
    return since_ns + (ns < TRACK_TIMEOUT_MAX_NS ? ns : TRACK_TIMEOUT_MAX_NS);
}

static void end_timer(struct track *t, struct track_path *path, int64_t now_ns)
{
    t->counters.timeouts++;
    give_up(t, &t->slots[path->first], now_ns);
}

int track_on_tick(struct track *t, int64_t now_ns)
{
    int found = 0;
    for (int i = 0; i < t->paths; i++)
        for (; deadline_ns(t, &t->path[i]) <= now_ns; found++)
            end_timer(t, &t->path[i], now_ns);
    return found;
}

/* Silence since the last transmission or question; twice as long after each in vain. */
static int64_t ask_at_ns(const struct track *t)
{
    if (t->una == t->next || long_wait_ns(t) == 0)
        return INT64_MAX;
    int64_t since_ns = t->sent_ns > t->asked_ns ? t->sent_ns : t->asked_ns;
    int64_t wait_ns = long_wait_ns(t) > 2 * t->srtt_ns ? long_wait_ns(t) : 2 * t->srtt_ns;
    return since_ns + (wait_ns << (t->asks < ASK_DOUBLINGS ? t->asks : ASK_DOUBLINGS));
}

bool track_wants_ask(const struct track *t, int64_t now_ns)
{
    return ask_at_ns(t) <= now_ns;
}

void track_asked(struct track *t, int64_t now_ns)
{
    t->asked_ns = now_ns;
    t->asks++;
}

int64_t track_deadline_ns(const struct track *t)
{
    int64_t first_ns = ask_at_ns(t);
    for (int i = 0; i < t->paths; i++) {
        int64_t ns = deadline_ns(t, &t->path[i]);
        first_ns = ns < first_ns ? ns : first_ns;
    }
    return first_ns;
}
