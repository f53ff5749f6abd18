/*
 * datapath/value.c - values of the host, link and dcb kinds; see value.h.
 */
#include "datapath/value.h"

#include <string.h>

#include "base/own.h"
#include "base/units.h"

/* Kernel codes of enum ieee_tsa, include/uapi/linux/dcbnl.h. */
#define TSA_STRICT 0
#define TSA_ETS    2
static const struct {
    uint8_t code;
    const char *name;
} tsa_names[] = {
    {TSA_STRICT, "strict"},
    {1, "cbs"},
    {TSA_ETS, "ets"},
    {255, "vendor"},
};
#define TSA_COUNT (sizeof(tsa_names) / sizeof(tsa_names[0]))

/* Reader -------------------------------------------------------------------------------------- */

void value_reader_init(struct value_reader *r, const json_t *json, const char *what,
                       struct err *err)
{
    *r = (struct value_reader){.object = json, .what = what, .err = err};
    if (!json_is_object(json))
        r->code = err_set(err, ERR_INVALID, "the value of %s is no object", what);
}

void value_reader_fail(struct value_reader *r, const char *key, const char *wanted)
{
    if (r->code == ERR_OK)
        r->code = err_set(r->err, ERR_INVALID, "the value of %s: member \"%s\" is not %s", r->what,
                          key, wanted);
}

const json_t *value_reader_get(struct value_reader *r, const char *key, bool required)
{
    if (r->code != ERR_OK)
        return NULL;
    const json_t *member = json_object_get(r->object, key);
    if (member != NULL)
        r->seen++;
    else if (required)
        r->code =
            err_set(r->err, ERR_INVALID, "the value of %s: member \"%s\" is missing", r->what, key);
    return member;
}

int64_t value_reader_int(struct value_reader *r, const char *key, int64_t min, int64_t max)
{
    const json_t *member = value_reader_get(r, key, true);
    if (member == NULL)
        return min;
    json_int_t n = json_integer_value(member);
    if (json_is_integer(member) && n >= min && n <= max)
        return n;
    value_reader_fail(r, key, "an integer in its range");
    return min;
}

const char *value_reader_text(struct value_reader *r, const char *key, bool required)
{
    const json_t *member = value_reader_get(r, key, required);
    if (member == NULL)
        return NULL;
    const char *text = json_string_value(member);
    if (text == NULL || json_string_length(member) != strlen(text))
        value_reader_fail(r, key, "a text");
    return r->code == ERR_OK ? text : NULL;
}

static const json_t *reader_array8(struct value_reader *r, const char *key)
{
    const json_t *array = value_reader_get(r, key, true);
    if (array == NULL)
        return NULL;
    if (json_is_array(array) && json_array_size(array) == VALUE_PRIORITIES)
        return array;
    value_reader_fail(r, key, "an array of 8");
    return NULL;
}

/* One element as an integer of 0..max; -1 after a problem. */
static int64_t reader_element(struct value_reader *r, const char *key, const json_t *element,
                              int64_t max)
{
    json_int_t n = json_integer_value(element);
    if (json_is_integer(element) && n >= 0 && n <= max)
        return n;
    value_reader_fail(r, key, "an array of 8 integers in their range");
    return -1;
}

void value_reader_bytes8(struct value_reader *r, const char *key, uint8_t max, uint8_t out[8])
{
    const json_t *array = reader_array8(r, key);
    for (size_t i = 0; array != NULL && i < VALUE_PRIORITIES; i++) {
        int64_t n = reader_element(r, key, json_array_get(array, i), max);
        out[i] = (uint8_t)(n < 0 ? 0 : n);
    }
}

enum err_code value_reader_end(struct value_reader *r)
{
    if (r->code == ERR_OK && r->seen != json_object_size(r->object))
        r->code = err_set(r->err, ERR_INVALID, "the value of %s has an unknown member", r->what);
    return r->code;
}

static json_t *bytes8_to_json(const uint8_t bytes[8])
{
    json_t *array = json_array();
    for (size_t i = 0; i < VALUE_PRIORITIES; i++)
        json_array_append_new(array, json_integer(bytes[i]));
    return array;
}

/* Host and link ------------------------------------------------------------------------------- */

enum err_code text_value_from_json(const json_t *json, const char **out, struct err *err)
{
    const char *text = json_string_value(json);
    size_t len = text == NULL ? 0 : json_string_length(json);
    if (len == 0 || len >= VALUE_TEXT_MAX)
        return err_set(err, ERR_INVALID, "the value is no text of 1 to %d bytes",
                       VALUE_TEXT_MAX - 1);
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x20 || text[i] > 0x7e)
            return err_set(err, ERR_INVALID, "the value holds a byte that is no printable ASCII");
    *out = text;
    return ERR_OK;
}

enum err_code mtu_value_from_json(const json_t *json, int *out, struct err *err)
{
    json_int_t n = json_integer_value(json);
    if (!json_is_integer(json) || n < MTU_VALUE_MIN || n > MTU_VALUE_MAX)
        return err_set(err, ERR_INVALID, "the MTU is no integer of %d to %d", MTU_VALUE_MIN,
                       MTU_VALUE_MAX);
    *out = (int)n;
    return ERR_OK;
}

/* dcb ----------------------------------------------------------------------------------------- */

static const char *tsa_name(uint8_t code)
{
    for (size_t i = 0; i < TSA_COUNT; i++)
        if (tsa_names[i].code == code)
            return tsa_names[i].name;
    return "unknown";
}

static void reader_tsa(struct value_reader *r, uint8_t out[8])
{
    const json_t *array = reader_array8(r, "tsa");
    for (size_t i = 0; array != NULL && i < VALUE_PRIORITIES; i++) {
        const char *text = json_string_value(json_array_get(array, i));
        size_t k = 0;
        while (text != NULL && k < TSA_COUNT && strcmp(text, tsa_names[k].name) != 0)
            k++;
        if (text == NULL || k == TSA_COUNT) {
            value_reader_fail(r, "tsa", "an array of 8 of \"strict\" or \"ets\"");
            return;
        }
        out[i] = tsa_names[k].code;
    }
}

enum err_code ets_value_from_json(const json_t *json, struct ets_value *out, struct err *err)
{
    struct ets_value value = {0};
    struct value_reader r;
    value_reader_init(&r, json, "dcb.ets", err);
    value_reader_bytes8(&r, "bw_percent", 100, value.bw_percent);
    value_reader_bytes8(&r, "prio_tc", VALUE_PRIORITIES - 1, value.prio_tc);
    reader_tsa(&r, value.tsa);
    if (value_reader_end(&r))
        return r.code;
    *out = value;
    return ERR_OK;
}

json_t *ets_value_to_json(const struct ets_value *value)
{
    json_t *tsa = json_array();
    for (size_t i = 0; i < VALUE_PRIORITIES; i++)
        json_array_append_new(tsa, json_string(tsa_name(value->tsa[i])));
    return json_pack("{s:o,s:o,s:o}", "bw_percent", bytes8_to_json(value->bw_percent), "prio_tc",
                     bytes8_to_json(value->prio_tc), "tsa", tsa);
}

enum err_code ets_value_check(const struct ets_value *value, struct err *err)
{
    int sum = 0;
    bool any = false;
    for (size_t i = 0; i < VALUE_PRIORITIES; i++) {
        if (value->tsa[i] == TSA_ETS) {
            any = true;
            sum += value->bw_percent[i];
        } else if (value->bw_percent[i] != 0) {
            return err_set(err, ERR_INVALID,
                           "dcb.ets: traffic class %zu is %s and has a share of %u %%", i,
                           tsa_name(value->tsa[i]), value->bw_percent[i]);
        }
    }
    if (any && sum != 100)
        return err_set(err, ERR_INVALID,
                       "dcb.ets: the shares of the ETS classes sum to %d %%, not to 100 %%", sum);
    return ERR_OK;
}

enum err_code pfc_value_from_json(const json_t *json, struct pfc_value *out, struct err *err)
{
    struct value_reader r;
    value_reader_init(&r, json, "dcb.pfc", err);
    uint16_t delay = (uint16_t)value_reader_int(&r, "delay", 0, UINT16_MAX);
    const json_t *array = value_reader_get(&r, "priorities", true);
    uint8_t mask = 0;
    if (array != NULL && (!json_is_array(array) || json_array_size(array) > VALUE_PRIORITIES))
        value_reader_fail(&r, "priorities", "an array of priorities");
    for (size_t i = 0; r.code == ERR_OK && i < json_array_size(array); i++) {
        int64_t n = reader_element(&r, "priorities", json_array_get(array, i), 7);
        if (n >= 0)
            mask |= (uint8_t)(1U << n);
    }
    if (value_reader_end(&r))
        return r.code;
    *out = (struct pfc_value){.delay = delay, .mask = mask};
    return ERR_OK;
}

json_t *pfc_value_to_json(const struct pfc_value *value)
{
    json_t *array = json_array();
    for (int i = 0; i < VALUE_PRIORITIES; i++)
        if (value->mask >> i & 1)
            json_array_append_new(array, json_integer(i));
    return json_pack("{s:i,s:o}", "delay", (int)value->delay, "priorities", array);
}

static int app_compare(const void *a, const void *b)
{
    const struct app_entry *x = a, *y = b;
    int order = (int)x->dscp - (int)y->dscp;
    return order != 0 ? order : (int)x->priority - (int)y->priority;
}

void app_value_sort(struct app_value *value)
{
    qsort(value->entries, value->count, sizeof(value->entries[0]), app_compare);
    size_t kept = 0;
    for (size_t i = 0; i < value->count; i++)
        if (kept == 0 || app_compare(&value->entries[kept - 1], &value->entries[i]) != 0)
            value->entries[kept++] = value->entries[i];
    value->count = kept;
}

bool app_value_has(const struct app_value *value, struct app_entry entry)
{
    return bsearch(&entry, value->entries, value->count, sizeof(entry), app_compare) != NULL;
}

enum err_code app_value_from_json(const json_t *json, struct app_value *out, struct err *err)
{
    if (!json_is_array(json))
        return err_set(err, ERR_INVALID, "the value of dcb.app is no array");
    if (json_array_size(json) > APP_VALUE_MAX)
        return err_set(err, ERR_LIMIT, "dcb.app has more than %d entries", APP_VALUE_MAX);
    struct app_value value = {0};
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct value_reader r;
        value_reader_init(&r, json_array_get(json, i), "dcb.app", err);
        value.entries[value.count++] = (struct app_entry){
            .dscp = (uint8_t)value_reader_int(&r, "dscp", 0, 63),
            .priority = (uint8_t)value_reader_int(&r, "priority", 0, 7),
        };
        if (value_reader_end(&r))
            return r.code;
    }
    app_value_sort(&value);
    *out = value;
    return ERR_OK;
}

json_t *app_value_to_json(const struct app_value *value)
{
    json_t *array = json_array();
    for (size_t i = 0; i < value->count; i++)
        json_array_append_new(array, json_pack("{s:i,s:i}", "dscp", (int)value->entries[i].dscp,
                                               "priority", (int)value->entries[i].priority));
    return array;
}

enum err_code maxrate_value_from_json(const json_t *json, struct maxrate_value *out,
                                      struct err *err)
{
    if (!json_is_array(json) || json_array_size(json) != VALUE_PRIORITIES)
        return err_set(err, ERR_INVALID, "the value of dcb.maxrate is no array of 8");
    struct maxrate_value value;
    for (size_t i = 0; i < VALUE_PRIORITIES; i++) {
        const json_t *element = json_array_get(json, i);
        json_int_t n = json_integer_value(element);
        /* 0 would mean "no limit" to the kernel: the opposite of what it looks like. */
        if (!json_is_null(element) && (!json_is_integer(element) || n <= 0 || n > RATE_BPS_MAX))
            return err_set(err, ERR_INVALID,
                           "the value of dcb.maxrate: element %zu is no rate and not null", i);
        value.rate_bps[i] = json_is_null(element) ? RATE_NONE : n;
    }
    *out = value;
    return ERR_OK;
}

json_t *maxrate_value_to_json(const struct maxrate_value *value)
{
    json_t *array = json_array();
    for (size_t i = 0; i < VALUE_PRIORITIES; i++)
        json_array_append_new(array, value->rate_bps[i] == RATE_NONE
                                         ? json_null()
                                         : json_integer(value->rate_bps[i]));
    return array;
}

enum err_code buffer_value_from_json(const json_t *json, struct buffer_value *out, struct err *err)
{
    struct buffer_value value = {0};
    struct value_reader r;
    value_reader_init(&r, json, "dcb.buffer", err);
    value_reader_bytes8(&r, "prio_buffer", VALUE_PRIORITIES - 1, value.prio_buffer);
    const json_t *sizes = reader_array8(&r, "size_bytes");
    for (size_t i = 0; sizes != NULL && i < VALUE_PRIORITIES; i++) {
        int64_t n = reader_element(&r, "size_bytes", json_array_get(sizes, i), UINT32_MAX);
        value.size_bytes[i] = (uint32_t)(n < 0 ? 0 : n);
    }
    if (value_reader_end(&r))
        return r.code;
    *out = value;
    return ERR_OK;
}

json_t *buffer_value_to_json(const struct buffer_value *value)
{
    json_t *sizes = json_array();
    for (size_t i = 0; i < VALUE_PRIORITIES; i++)
        json_array_append_new(sizes, json_integer(value->size_bytes[i]));
    return json_pack("{s:o,s:o}", "prio_buffer", bytes8_to_json(value->prio_buffer), "size_bytes",
                     sizes);
}
