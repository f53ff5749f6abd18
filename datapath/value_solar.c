/*
 * datapath/value_solar.c - the value of a control page; see value.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "datapath/solar/page.h"
#include "datapath/value.h"

#define KIND "solar.page"

static int64_t read_or_none(struct value_reader *r, const char *key, int64_t max)
{
    const json_t *member = value_reader_get(r, key, true);
    int64_t value = json_integer_value(member);
    if (member == NULL || json_is_null(member))
        return 0;
    if (!json_is_integer(member) || value < 1 || value > max)
        value_reader_fail(r, key, "null, or an integer in its range");
    return value;
}

static enum err_code read_label(const json_t *json, struct page_label *out, struct err *err)
{
    struct value_reader r;
    value_reader_init(&r, json, KIND, err);
    out->label = (uint32_t)value_reader_int(&r, "label", 0, UINT32_MAX);
    out->weight = (int)value_reader_int(&r, "weight", 1, UINT16_MAX);
    out->dscp = (int)value_reader_int(&r, "dscp", 0, UINT8_MAX);
    out->priority = (int)value_reader_int(&r, "priority", 0, UINT8_MAX);
    out->guarantee_bps = read_or_none(&r, "guarantee_bps", PAGE_LINE_MAX_BPS);
    out->limit_bps = read_or_none(&r, "limit_bps", PAGE_LINE_MAX_BPS);
    out->eta_micro = (int32_t)read_or_none(&r, "eta_micro", PAGE_ETA_MAX);
    out->beta_micro = (int32_t)read_or_none(&r, "beta_micro", PAGE_BETA_MAX);
    return value_reader_end(&r);
}

enum err_code page_value_from_json(const json_t *json, struct page *out, struct err *err)
{
    struct page page = {.count = 0};
    struct value_reader r;
    value_reader_init(&r, json, KIND, err);
    page.line_bps = value_reader_int(&r, "line_bps", PAGE_LINE_MIN_BPS, PAGE_LINE_MAX_BPS);
    const char *ifname = value_reader_text(&r, "interface", false);
    if (ifname != NULL && strlen(ifname) >= sizeof(page.ifname))
        value_reader_fail(&r, "interface", "the name of one");
    else if (ifname != NULL)
        snprintf(page.ifname, sizeof(page.ifname), "%s", ifname);
    const json_t *labels = value_reader_get(&r, "labels", true);
    if (!json_is_array(labels) || json_array_size(labels) > PAGE_LABELS_MAX)
        value_reader_fail(&r, "labels", "an array of at most 256 labels");
    enum err_code code = value_reader_end(&r);
    for (; code == ERR_OK && page.count < json_array_size(labels); page.count++)
        code = read_label(json_array_get(labels, page.count), &page.labels[page.count], err);
    if (code == ERR_OK)
        code = page_check(&page, err);
    if (code == ERR_OK)
        *out = page;
    return code;
}

static json_t *number_or_null(int64_t number)
{
    return number > 0 ? json_integer(number) : json_null();
}

static json_t *label_to_json(const struct page_label *l)
{
    return json_pack("{s:o, s:i, s:o, s:o, s:I, s:o, s:i, s:i}", "beta_micro",
                     number_or_null(l->beta_micro), "dscp", l->dscp, "eta_micro",
                     number_or_null(l->eta_micro), "guarantee_bps",
                     number_or_null(l->guarantee_bps), "label", (json_int_t)l->label, "limit_bps",
                     number_or_null(l->limit_bps), "priority", l->priority, "weight", l->weight);
}

json_t *page_value_to_json(const struct page *page, const char *ifname)
{
    OWN(json) json_t *labels = json_array();
    for (size_t i = 0; i < page->count; i++)
        if (json_array_append_new(labels, label_to_json(&page->labels[i])) != 0)
            return NULL;
    OWN(json)
    json_t *object =
        json_pack("{s:O, s:I}", "labels", labels, "line_bps", (json_int_t)page->line_bps);
    if (object == NULL ||
        (ifname != NULL && json_object_set_new(object, "interface", json_string(ifname)) != 0))
        return NULL;
    return GIVE(object);
}
