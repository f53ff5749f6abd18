#pragma once
/*
 * tests/unit/datapath/solar_pair.h - two contexts on loopback in one process, and a network between
 * them that drops, repeats and delays what a test tells it to.
 */

#include "tests/unit/test.h"

#include "datapath/solar/qp.h"

#define PAIR_BYTES (4 * 1024 * 1024)
#define PAIR_LABEL 7
#define PAIR_EPOCH 3
#define MS_NS      INT64_C(1000000)
#define HELD_MAX   256

struct held {
    uint8_t data[WIRE_PACKET_MAX];
    struct udp_arrived arrived;
    struct udp_address from;
    int after; /* packets that go before it */
};

/* What happens to packets on their way to a side, in parts of a million. */
struct weather {
    int lost, twice, late, late_packets;
    int dead_path; /* -1 = none */
    uint64_t lost_count;
    uint32_t state;
    int held_count;
    struct held *held;
};

struct side {
    struct solar_context *context;
    struct solar_pd *pd;
    struct solar_cq *cq;
    struct solar_qp *qp;
    struct solar_mr *mr;
    uint8_t *memory;
    struct weather weather;
};

struct pair {
    struct side a, b; /* a connects to b */
};

static const uint8_t pair_key[SOLAR_KEY_SIZE] = "a key of thirty-two bytes, known";

static inline uint32_t roll(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static inline bool happens(struct weather *w, int parts)
{
    return parts > 0 && roll(&w->state) % 1000000 < (uint32_t)parts;
}

static inline void let_go(struct side *s, bool all)
{
    struct weather *w = &s->weather;
    for (int i = 0; i < w->held_count;) {
        struct held *h = &w->held[i];
        if (!all && --h->after > 0) {
            i++;
            continue;
        }
        struct held now = *h;
        *h = w->held[--w->held_count];
        now.arrived.data = now.data;
        now.arrived.from = &now.from;
        context_deliver(s->context, &now.arrived);
    }
}

static inline void through_weather(void *arg, const struct udp_arrived *arrived)
{
    struct side *s = arg;
    struct weather *w = &s->weather;
    bool is_hello = hello_is(arrived->data, arrived->len);
    if (!is_hello && (arrived->data[2] == w->dead_path || happens(w, w->lost))) {
        w->lost_count++;
        return;
    }
    if (w->held_count < HELD_MAX && happens(w, w->late)) {
        struct held *h = &w->held[w->held_count++];
        memcpy(h->data, arrived->data, arrived->len);
        h->arrived = *arrived;
        h->from = *arrived->from;
        h->after = w->late_packets;
        return;
    }
    context_deliver(s->context, arrived);
    if (happens(w, w->twice))
        context_deliver(s->context, arrived);
    let_go(s, false);
}

static inline void set_weather(struct side *s, struct weather weather)
{
    weather.held = s->weather.held;
    if (weather.held == NULL)
        weather.held = malloc(HELD_MAX * sizeof(*weather.held));
    assert_non_null(weather.held);
    weather.state = 12345;
    s->weather = weather;
    s->context->filter = through_weather;
    s->context->filter_arg = s;
}

static inline void begin_side(struct side *s, const struct solar_config *config, unsigned access)
{
    struct err err = ERR_INIT;
    memset(s, 0, sizeof(*s));
    s->memory = calloc(1, PAIR_BYTES);
    assert_non_null(s->memory);
    if (solar_context_new(config, &s->context, &err) != ERR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(solar_key_set(s->context, PAIR_LABEL, PAIR_EPOCH, pair_key, &err), ERR_OK);
    assert_int_equal(solar_pd_new(s->context, &s->pd, &err), ERR_OK);
    assert_int_equal(solar_cq_new(s->context, 256, &s->cq, &err), ERR_OK);
    assert_int_equal(solar_mr_new(s->pd, s->memory, PAIR_BYTES, access, &s->mr, &err), ERR_OK);
}

static inline struct solar_qp *new_qp(struct side *s)
{
    struct err err = ERR_INIT;
    struct solar_qp *qp;
    const struct solar_qp_config config = {.label = PAIR_LABEL,
                                           .epoch = PAIR_EPOCH,
                                           .send_cq = s->cq,
                                           .receive_cq = s->cq,
                                           .send_depth = 64,
                                           .receive_depth = 64};
    if (solar_qp_new(s->pd, &config, &qp, &err) != ERR_OK)
        fail_msg("%s", err.text);
    return qp;
}

static inline void end_side(struct side *s)
{
    struct err err = ERR_INIT;
    solar_qp_free(s->qp);
    assert_int_equal(solar_mr_free(s->mr, &err), ERR_OK);
    solar_cq_free(s->cq);
    solar_pd_free(s->pd);
    solar_context_free(s->context);
    free(s->memory);
    free(s->weather.held);
}

static inline void both(struct pair *p)
{
    solar_progress(p->a.context, 0);
    solar_progress(p->b.context, 0);
    if (p->a.weather.held_count > 0 && roll(&p->a.weather.state) % 64 == 0)
        let_go(&p->a, true);
    if (p->b.weather.held_count > 0 && roll(&p->b.weather.state) % 64 == 0)
        let_go(&p->b, true);
}

/* Time stands for "long": tests wait for what must happen, not for how fast. */
#define LONG_NS (INT64_C(60) * 1000 * MS_NS)

static inline void open_pair(struct pair *p, const struct solar_config *config)
{
    struct err err = ERR_INIT;
    begin_side(&p->a, config, SOLAR_REMOTE_WRITE | SOLAR_REMOTE_READ);
    begin_side(&p->b, config, SOLAR_REMOTE_WRITE | SOLAR_REMOTE_READ);
    p->a.qp = new_qp(&p->a);
    p->b.qp = new_qp(&p->b);
    const char *address = config->address != NULL ? config->address : "127.0.0.1";
    assert_int_equal(solar_qp_accept(p->b.qp, &err), ERR_OK);
    if (solar_qp_connect(p->a.qp, address, solar_context_port(p->b.context), LONG_NS, &err) !=
        ERR_OK)
        fail_msg("%s", err.text);
    int64_t end_ns = context_now_ns() + LONG_NS;
    while (context_now_ns() < end_ns &&
           (solar_qp_state(p->a.qp) == SOLAR_OPENING || solar_qp_state(p->b.qp) == SOLAR_OPENING))
        both(p);
    assert_int_equal(solar_qp_state(p->a.qp), SOLAR_OPEN);
    assert_int_equal(solar_qp_state(p->b.qp), SOLAR_OPEN);
}

static inline void close_pair(struct pair *p)
{
    end_side(&p->a);
    end_side(&p->b);
}

static inline void fill(uint8_t *memory, size_t len, uint32_t seed)
{
    for (size_t i = 0; i < len; i++)
        memory[i] = (uint8_t)roll(&seed);
}

/* The next completion of a side. */
static inline struct solar_completion await(struct pair *p, struct side *s)
{
    struct solar_completion c = {.id = 0};
    int64_t end_ns = context_now_ns() + LONG_NS;
    while (solar_cq_poll(s->cq, &c, 1) == 0) {
        if (context_now_ns() > end_ns)
            fail_msg("nothing completed; a: %s; b: %s", solar_qp_error(p->a.qp)->text,
                     solar_qp_error(p->b.qp)->text);
        both(p);
    }
    return c;
}
