/*
 * datapath/solar/page.c - see page.h.
 */
#include "datapath/solar/page.h"

#include <assert.h>
#include <string.h>

#include "datapath/solar/arbiter.h"
#include "datapath/solar/bytes.h"
#include "datapath/solar/cc.h"
#include "datapath/solar/solar.h"

_Static_assert(PAGE_LABELS_MAX == ARBITER_LABELS_MAX, "as many labels as the arbiter has");
_Static_assert(PAGE_LINE_MIN_BPS == CC_RATE_MIN_BPS && PAGE_LINE_MAX_BPS == CC_RATE_MAX_BPS,
               "lines are those of congestion control");

static enum err_code check_rates(const struct page_label *l, struct err *err)
{
    if (l->guarantee_bps < 0 || l->guarantee_bps > PAGE_LINE_MAX_BPS || l->limit_bps < 0 ||
        l->limit_bps > PAGE_LINE_MAX_BPS)
        return err_set(err, ERR_INVALID, "label %u: guarantee or limit out of range (0 to %lld)",
                       l->label, (long long)PAGE_LINE_MAX_BPS);
    if (l->limit_bps > 0 && l->limit_bps < l->guarantee_bps)
        return err_set(err, ERR_INVALID, "label %u: limit %lld bit/s is below guarantee %lld",
                       l->label, (long long)l->limit_bps, (long long)l->guarantee_bps);
    return ERR_OK;
}

static enum err_code check_label(const struct page_label *l, struct err *err)
{
    if (l->weight < 1 || l->weight > ARBITER_WEIGHT_MAX)
        return err_set(err, ERR_INVALID, "label %u: weight %d (has 1 to %d)", l->label, l->weight,
                       ARBITER_WEIGHT_MAX);
    if (l->dscp < 0 || l->dscp > SOLAR_DSCP_MAX || l->priority < 0 ||
        l->priority > SOLAR_PRIORITY_MAX)
        return err_set(err, ERR_INVALID, "label %u: DSCP %d (has 0 to %d), priority %d (0 to %d)",
                       l->label, l->dscp, SOLAR_DSCP_MAX, l->priority, SOLAR_PRIORITY_MAX);
    if (l->eta_micro < 0 || l->eta_micro > PAGE_ETA_MAX ||
        (l->beta_micro != 0 && (l->beta_micro < PAGE_BETA_MIN || l->beta_micro > PAGE_BETA_MAX)))
        return err_set(err, ERR_INVALID,
                       "label %u: eta %d (has 0 to %d) or beta %d (0, or %d to %d), in millionths",
                       l->label, l->eta_micro, PAGE_ETA_MAX, l->beta_micro, PAGE_BETA_MIN,
                       PAGE_BETA_MAX);
    return check_rates(l, err);
}

enum err_code page_check(const struct page *page, struct err *err)
{
    if (page->line_bps < PAGE_LINE_MIN_BPS || page->line_bps > PAGE_LINE_MAX_BPS)
        return err_set(err, ERR_INVALID, "a line of %lld bit/s (has %lld to %lld)",
                       (long long)page->line_bps, (long long)PAGE_LINE_MIN_BPS,
                       (long long)PAGE_LINE_MAX_BPS);
    if (page->count > PAGE_LABELS_MAX)
        return err_set(err, ERR_LIMIT, "%zu labels (has at most %d)", page->count, PAGE_LABELS_MAX);
    if (memchr(page->ifname, '\0', PAGE_IFNAME_SIZE) == NULL)
        return err_set(err, ERR_INVALID, "the interface's name has no end");
    for (size_t i = 0; i < page->count; i++) {
        enum err_code code = check_label(&page->labels[i], err);
        if (code != ERR_OK)
            return code;
        if (i > 0 && page->labels[i].label <= page->labels[i - 1].label)
            return err_set(err, ERR_INVALID, "label %u is there twice or out of order",
                           page->labels[i].label);
    }
    return ERR_OK;
}

size_t page_encode(const struct page *page, uint8_t out[PAGE_BYTES_MAX])
{
    assert(page_check(page, NULL) == ERR_OK);
    uint8_t *at = bytes_put(out, (uint64_t)page->line_bps, 8);
    at = bytes_put(at, page->count, 2);
    at = bytes_put(at, 0, 2);
    memset(at, 0, PAGE_IFNAME_SIZE);
    memcpy(at, page->ifname, strlen(page->ifname));
    at += PAGE_IFNAME_SIZE;
    for (size_t i = 0; i < page->count; i++) {
        const struct page_label *l = &page->labels[i];
        at = bytes_put(at, l->label, 4);
        at = bytes_put(at, (uint64_t)l->weight, 2);
        at = bytes_put(at, (uint64_t)l->dscp, 1);
        at = bytes_put(at, (uint64_t)l->priority, 1);
        at = bytes_put(at, (uint64_t)l->guarantee_bps, 8);
        at = bytes_put(at, (uint64_t)l->limit_bps, 8);
        at = bytes_put(at, (uint64_t)l->eta_micro, 4);
        at = bytes_put(at, (uint64_t)l->beta_micro, 4);
    }
    return (size_t)(at - out);
}

/* What is too large for an int is out of every range, and stays so. */
static int32_t number(const uint8_t *at, size_t size)
{
    uint64_t value = bytes_get(at, size);
    return value > INT32_MAX ? -1 : (int32_t)value;
}

static int64_t rate(const uint8_t *at)
{
    uint64_t value = bytes_get(at, 8);
    return value > INT64_MAX ? -1 : (int64_t)value;
}

enum err_code page_decode(const uint8_t *data, size_t len, struct page *out, struct err *err)
{
    struct page page = {.count = 0};
    if (len < PAGE_HEAD_SIZE)
        return err_set(err, ERR_INVALID, "a page of %zu bytes", len);
    page.line_bps = rate(data);
    page.count = (size_t)bytes_get(data + 8, 2);
    memcpy(page.ifname, data + 12, PAGE_IFNAME_SIZE);
    if (page.count > PAGE_LABELS_MAX || len != PAGE_HEAD_SIZE + page.count * PAGE_LABEL_SIZE)
        return err_set(err, ERR_INVALID, "a page of %zu bytes does not hold %zu labels", len,
                       page.count);
    const uint8_t *at = data + PAGE_HEAD_SIZE;
    for (size_t i = 0; i < page.count; i++, at += PAGE_LABEL_SIZE)
        page.labels[i] = (struct page_label){
            .label = (uint32_t)bytes_get(at, 4),
            .weight = number(at + 4, 2),
            .dscp = number(at + 6, 1),
            .priority = number(at + 7, 1),
            .guarantee_bps = rate(at + 8),
            .limit_bps = rate(at + 16),
            .eta_micro = number(at + 24, 4),
            .beta_micro = number(at + 28, 4),
        };
    enum err_code code = page_check(&page, err);
    if (code == ERR_OK)
        *out = page;
    return code;
}

const struct page_label *page_find(const struct page *page, uint32_t label)
{
    for (size_t i = 0; i < page->count; i++)
        if (page->labels[i].label == label)
            return &page->labels[i];
    return NULL;
}
