/*
 * datapath/solar/share.c - see share.h.
 */
#include "datapath/solar/share.h"

#include <assert.h>
#include <string.h>

#include "datapath/solar/bytes.h"

#define ROOM_PARTS 4  /* who does not wait may grow by one of these parts until the next look */
#define ROUNDS     16 /* of filling; each ends at least one claimant, the rest gets its part */
#define LABELS_MAX SHARE_PROCESSES_MAX

/* Who claims a part: a label, or a process of one. Rates as double: parts of a line need no more.
 */
struct claim {
    double assured, weight, wants, gets;
};

struct label {
    uint32_t label;
    bool waits;
    double limit;
    struct claim claim;
};

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double assure(double line, struct claim *claims, size_t count)
{
    double promised = 0, left = line;
    for (size_t i = 0; i < count; i++)
        promised += claims[i].assured;
    double part = promised > line ? line / promised : 1;
    for (size_t i = 0; i < count; i++) {
        claims[i].gets = least(claims[i].assured * part, claims[i].wants);
        left -= claims[i].gets;
    }
    return left;
}

/* Guarantees, then the rest by weight, to nobody more than it wants. Returns what is left. */
static double fill(double line, struct claim *claims, size_t count)
{
    double left = assure(line, claims, count);
    for (int round = 0; round < ROUNDS && left > 1; round++) {
        double weights = 0, gave = 0;
        for (size_t i = 0; i < count; i++)
            weights += claims[i].gets < claims[i].wants ? claims[i].weight : 0;
        if (weights <= 0)
            break;
        for (size_t i = 0; i < count; i++) {
            if (claims[i].gets >= claims[i].wants)
                continue;
            double more =
                least(left * claims[i].weight / weights, claims[i].wants - claims[i].gets);
            claims[i].gets += more;
            gave += more;
        }
        left -= gave;
    }
    return left;
}

static double wanted(const struct share_process *p, double most)
{
    double grows = (double)p->sends_bps * (1 + 1.0 / ROOM_PARTS) + SHARE_RATE_MIN_BPS;
    return p->waits ? most : least(grows, most);
}

static size_t collect(const struct page *page, const struct share_process *processes, size_t count,
                      struct label *labels)
{
    size_t n = 0;
    double line = (double)page->line_bps;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < n && labels[at].label != processes[i].label)
            at++;
        if (at == n) {
            const struct page_label *l = page_find(page, processes[i].label);
            double limit = l != NULL && l->limit_bps > 0 ? (double)l->limit_bps : line;
            labels[n++] =
                (struct label){.label = processes[i].label,
                               .limit = least(limit, line),
                               .claim = {.assured = l != NULL ? (double)l->guarantee_bps : 0,
                                         .weight = l != NULL ? l->weight : 1}};
        }
        labels[at].waits |= processes[i].waits;
        labels[at].claim.wants += wanted(&processes[i], labels[at].limit);
    }
    for (size_t i = 0; i < n; i++)
        labels[i].claim.wants = least(labels[i].claim.wants, labels[i].limit);
    return n;
}

/* Fills the line; a label that does not wait keeps what it would get if it wanted all it may have,
 * so that it can begin at once. */
static void divide_line(double line, struct label *labels, size_t n)
{
    struct claim claims[LABELS_MAX];
    double wanted_bps = 0;
    for (size_t i = 0; i < n; i++) {
        claims[i] = labels[i].claim;
        wanted_bps += claims[i].wants;
    }
    if (wanted_bps <= line) {
        for (size_t i = 0; i < n; i++)
            labels[i].claim.gets = labels[i].limit;
        return;
    }
    fill(line, claims, n);
    for (size_t i = 0; i < n; i++)
        labels[i].claim.gets = claims[i].gets;
    for (size_t i = 0; i < n; i++)
        claims[i].wants = labels[i].limit;
    fill(line, claims, n);
    for (size_t i = 0; i < n; i++)
        if (!labels[i].waits && claims[i].gets > labels[i].claim.gets)
            labels[i].claim.gets = claims[i].gets;
}

/* A label's part among its processes: what they want, and of what is left to each as much. */
static void divide_label(const struct label *label, double line, struct share_process *processes,
                         size_t count)
{
    struct claim claims[SHARE_PROCESSES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (processes[i].label == label->label)
            claims[n++] = (struct claim){.weight = 1, .wants = wanted(&processes[i], label->limit)};
    double left = fill(label->claim.gets, claims, n);
    bool free = n == 1 && label->claim.gets >= line;
    const double each = left > 0 ? left / (double)n : 0;
    n = 0;
    for (size_t i = 0; i < count; i++) {
        if (processes[i].label != label->label)
            continue;
        double may = claims[n++].gets + each;
        may = may < SHARE_RATE_MIN_BPS ? SHARE_RATE_MIN_BPS : may;
        processes[i].may_bps = free ? 0 : (int64_t)may;
    }
}

void share_divide(const struct page *page, struct share_process *processes, size_t count)
{
    assert(count <= SHARE_PROCESSES_MAX);
    struct label labels[LABELS_MAX];
    size_t n = collect(page, processes, count, labels);
    divide_line((double)page->line_bps, labels, n);
    for (size_t i = 0; i < n; i++)
        divide_label(&labels[i], (double)page->line_bps, processes, count);
}

size_t share_encode(const struct share_process *processes, size_t count,
                    uint8_t out[SHARE_BYTES_MAX])
{
    assert(count <= SHARE_PROCESSES_MAX);
    uint8_t *at = bytes_put(out, count, 2);
    at = bytes_put(at, 0, 2);
    for (size_t i = 0; i < count; i++) {
        at = bytes_put(at, processes[i].process, 8);
        at = bytes_put(at, (uint64_t)processes[i].may_bps, 8);
    }
    return (size_t)(at - out);
}

enum err_code share_find(const uint8_t *data, size_t len, uint64_t process, int64_t *out_bps,
                         struct err *err)
{
    size_t count = len >= SHARE_HEAD_SIZE ? (size_t)bytes_get(data, 2) : 0;
    if (len < SHARE_HEAD_SIZE || count > SHARE_PROCESSES_MAX ||
        len != SHARE_HEAD_SIZE + count * SHARE_ROW_SIZE)
        return err_set(err, ERR_INVALID, "shares of %zu bytes do not hold %zu rows", len, count);
    for (const uint8_t *at = data + SHARE_HEAD_SIZE; at < data + len; at += SHARE_ROW_SIZE) {
        if (bytes_get(at, 8) != process)
            continue;
        uint64_t rate = bytes_get(at + 8, 8);
        if (rate > (uint64_t)PAGE_LINE_MAX_BPS)
            return err_set(err, ERR_INVALID, "a share of %llu bit/s", (unsigned long long)rate);
        *out_bps = (int64_t)rate;
        return ERR_OK;
    }
    return err_set(err, ERR_NOT_FOUND, "the process has no share yet");
}
