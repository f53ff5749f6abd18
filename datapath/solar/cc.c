/*
 * datapath/solar/cc.c - see cc.h: the laws' table, cleaning of what goes in and comes out.
 */
#include "datapath/solar/cc.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "datapath/solar/cc_law.h"

static const struct cc_law *const laws[CC_KINDS] = {
    [CC_SOLAR] = &cc_law_solar, [CC_SOLAR_LITERAL] = &cc_law_solar_literal,
    [CC_DCQCN] = &cc_law_dcqcn, [CC_SWIFT] = &cc_law_swift,
    [CC_HPCC] = &cc_law_hpcc,
};

/* Ranges of struct cc_params, by member. NaN is in no range. */
static const struct {
    const char *name;
    size_t offset;
    double min, max;
} ranges[] = {
    {"weight", offsetof(struct cc_params, weight), 1e-6, CC_WEIGHT_MAX},
    {"weight_assumed", offsetof(struct cc_params, weight_assumed), 1e-6, CC_WEIGHT_MAX},
    {"eta", offsetof(struct cc_params, eta), 1e-6, 1},
    {"beta", offsetof(struct cc_params, beta), 1e-3, CC_GAIN_MAX},
    {"damping", offsetof(struct cc_params, damping), 0, CC_GAIN_MAX},
    {"reward", offsetof(struct cc_params, reward), 0, CC_GAIN_MAX},
    {"reward_rate", offsetof(struct cc_params, reward_rate), 0, CC_GAIN_MAX},
};

static enum err_code check(const struct cc_params *p, struct err *err)
{
    if (p->line_bps < CC_RATE_MIN_BPS || p->line_bps > CC_RATE_MAX_BPS)
        return err_set(err, ERR_INVALID, "line_bps %lld is out of range (%lld to %lld)",
                       (long long)p->line_bps, (long long)CC_RATE_MIN_BPS,
                       (long long)CC_RATE_MAX_BPS);
    if (p->base_rtt_ns < CC_RTT_MIN_NS || p->base_rtt_ns > CC_RTT_MAX_NS)
        return err_set(err, ERR_INVALID, "base_rtt_ns %lld is out of range (%lld to %lld)",
                       (long long)p->base_rtt_ns, (long long)CC_RTT_MIN_NS,
                       (long long)CC_RTT_MAX_NS);
    if (p->packet_bytes < CC_PACKET_MIN || p->packet_bytes > CC_PACKET_MAX)
        return err_set(err, ERR_INVALID, "packet_bytes %d is out of range (%d to %d)",
                       p->packet_bytes, CC_PACKET_MIN, CC_PACKET_MAX);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        double value;
        memcpy(&value, (const char *)p + ranges[i].offset, sizeof(value));
        if (!(value >= ranges[i].min && value <= ranges[i].max))
            return err_set(err, ERR_INVALID, "%s %g is out of range (%g to %g)", ranges[i].name,
                           value, ranges[i].min, ranges[i].max);
    }
    if (p->weight > p->weight_assumed)
        return err_set(err, ERR_INVALID, "weight %g is above weight_assumed %g", p->weight,
                       p->weight_assumed);
    return ERR_OK;
}

struct cc_params cc_defaults(int64_t line_bps, int64_t base_rtt_ns, int packet_bytes)
{
    return (struct cc_params){.line_bps = line_bps,
                              .base_rtt_ns = base_rtt_ns,
                              .packet_bytes = packet_bytes,
                              .weight = 1,
                              .weight_assumed = 8,
                              .eta = 1.0 / 32,
                              .beta = 4,
                              .damping = 2,
                              .reward = 0.25,
                              .reward_rate = 0};
}

/* NaN becomes the least. */
static double clamp(double value, double min, double max)
{
    return !(value > min) ? min : value > max ? max : value;
}

static void settle(struct cc *cc)
{
    double line = (double)cc->params.line_bps;
    cc->rate_bps = clamp(cc->rate_bps, line * CC_SHARE_MIN, line);
    cc->window_bytes = clamp(cc->window_bytes, 1, cc->bdp_bytes);
}

static void set_path(struct cc *cc, const struct cc_params *params)
{
    cc->params = *params;
    /* A packet more than the product: one is being serialised at each end. */
    cc->bdp_bytes =
        (double)params->line_bps / 8e9 * (double)params->base_rtt_ns + (double)params->packet_bytes;
}

enum err_code cc_init(struct cc *cc, enum cc_kind kind, const struct cc_params *params,
                      struct err *err)
{
    if (check(params, err) != ERR_OK)
        return ERR_INVALID;
    struct cc fresh = {.kind = kind};
    set_path(&fresh, params);
    fresh.rate_bps = (double)params->line_bps;
    fresh.window_bytes = fresh.bdp_bytes;
    laws[kind]->init(&fresh);
    settle(&fresh);
    *cc = fresh;
    return ERR_OK;
}

enum err_code cc_retune(struct cc *cc, const struct cc_params *params, struct err *err)
{
    if (check(params, err) != ERR_OK)
        return ERR_INVALID;
    set_path(cc, params);
    settle(cc);
    return ERR_OK;
}

#define TIME_MAX_NS (INT64_MAX / 4) /* so that sums with spans do not overflow */

static int64_t clean_time(int64_t now_ns)
{
    return now_ns < 0 ? 0 : now_ns > TIME_MAX_NS ? TIME_MAX_NS : now_ns;
}

/* A time or a count is not negative, a delay ends somewhere, a share is a number. */
static struct cc_ack cleaned(const struct cc *cc, const struct cc_ack *ack)
{
    struct cc_ack a = *ack;
    double base = (double)cc->params.base_rtt_ns;
    int64_t most_ns = (int64_t)(base * CC_QUEUE_RTT_MAX);
    a.now_ns = clean_time(a.now_ns);
    if (a.rtt_ns < cc->params.base_rtt_ns || a.rtt_ns > INT64_MAX / 2)
        a.rtt_ns = cc->params.base_rtt_ns;
    if (a.queue_ns < 0)
        a.queue_ns = a.rtt_ns - cc->params.base_rtt_ns;
    if (a.queue_ns > most_ns)
        a.queue_ns = most_ns;
    if (a.rtt_ns > most_ns)
        a.rtt_ns = most_ns;
    if (a.hold_ns < 0)
        a.hold_ns = 0;
    if (a.hold_ns > most_ns)
        a.hold_ns = most_ns;
    if (a.acked_bytes < 0)
        a.acked_bytes = 0;
    if (a.packets < 0 || a.packets > UINT32_MAX)
        a.packets = 0;
    if (a.marked > a.packets)
        a.marked = a.packets;
    if (a.marked < 0)
        a.marked = -1;
    a.weight_total = a.weight_total > 0 ? clamp(a.weight_total, 0, CC_WEIGHT_MAX) : 0;
    a.utilisation = a.utilisation >= 0 ? clamp(a.utilisation, 0, CC_QUEUE_RTT_MAX) : -1;
    return a;
}

void cc_on_ack(struct cc *cc, const struct cc_ack *ack)
{
    struct cc_ack clean = cleaned(cc, ack);
    laws[cc->kind]->on_ack(cc, &clean);
    settle(cc);
}

void cc_on_loss(struct cc *cc, int64_t now_ns, int64_t lost_bytes)
{
    laws[cc->kind]->on_loss(cc, clean_time(now_ns), lost_bytes < 0 ? 0 : lost_bytes);
    settle(cc);
}

void cc_on_tick(struct cc *cc, int64_t now_ns)
{
    if (laws[cc->kind]->on_tick != NULL)
        laws[cc->kind]->on_tick(cc, clean_time(now_ns));
    settle(cc);
}

int64_t cc_rate_bps(const struct cc *cc)
{
    return (int64_t)cc->rate_bps;
}

int64_t cc_window_bytes(const struct cc *cc, int64_t credit_bytes)
{
    int64_t window = (int64_t)cc->window_bytes;
    if (credit_bytes < window)
        window = credit_bytes;
    return window > 0 ? window : 0;
}

const char *cc_kind_name(enum cc_kind kind)
{
    return laws[kind]->name;
}

bool cc_kind_from_name(const char *name, enum cc_kind *out)
{
    for (int i = 0; i < CC_KINDS; i++)
        if (strcmp(laws[i]->name, name) == 0) {
            *out = (enum cc_kind)i;
            return true;
        }
    return false;
}
