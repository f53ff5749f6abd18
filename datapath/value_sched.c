/*
 * datapath/value_sched.c - values of the kernel's schedulers and queues; see value.h.
 */
#include "datapath/value.h"

#include <string.h>

#include "base/own.h"

#define QUANTUM_MAX UINT32_MAX

/* An array of `count` integers of min..max. */
static void read_numbers(struct value_reader *r, const char *key, size_t count, int64_t min,
                         int64_t max, int64_t *out)
{
    const json_t *array = value_reader_get(r, key, true);
    if (array != NULL && (!json_is_array(array) || json_array_size(array) != count))
        value_reader_fail(r, key, "an array of the right length");
    for (size_t i = 0; r->code == ERR_OK && i < count; i++) {
        const json_t *item = json_array_get(array, i);
        out[i] = json_integer_value(item);
        if (!json_is_integer(item) || out[i] < min || out[i] > max)
            value_reader_fail(r, key, "an array of integers in their range");
    }
}

static bool read_flag(struct value_reader *r, const char *key, bool required)
{
    const json_t *member = value_reader_get(r, key, required);
    if (member != NULL && !json_is_boolean(member))
        value_reader_fail(r, key, "a boolean");
    return json_is_true(member);
}

/* tc.qdisc ------------------------------------------------------------------------------------ */

static void read_ets(struct value_reader *r, struct qdisc_value *value)
{
    int64_t numbers[QDISC_BANDS_MAX] = {0};
    value->bands = (uint8_t)value_reader_int(r, "bands", 1, QDISC_BANDS_MAX);
    value->strict = (uint8_t)value_reader_int(r, "strict", 0, value->bands);
    if (r->code != ERR_OK)
        return;
    read_numbers(r, "quanta", (size_t)(value->bands - value->strict), 1, QUANTUM_MAX, numbers);
    for (int band = value->strict; band < value->bands; band++)
        value->quanta[band] = (uint32_t)numbers[band - value->strict];
    read_numbers(r, "priomap", QDISC_PRIOMAP, 0, value->bands - 1, numbers);
    for (int i = 0; i < QDISC_PRIOMAP; i++)
        value->priomap[i] = (uint8_t)numbers[i];
}

enum err_code qdisc_value_from_json(const json_t *json, struct qdisc_value *out, struct err *err)
{
    struct value_reader r;
    value_reader_init(&r, json, "tc.qdisc", err);
    struct qdisc_value value = {.handle = value_reader_handle(&r, "handle")};
    const char *kind = value_reader_text(&r, "kind", true);
    value.ets = kind != NULL && strcmp(kind, "ets") == 0;
    value.offloaded = read_flag(&r, "offloaded", false);
    if (kind != NULL && !value.ets && strcmp(kind, "htb") != 0)
        return err_set(err, ERR_UNSUPPORTED, "tc.qdisc: kind \"%.32s\" is neither htb nor ets",
                       kind);
    if (value.ets)
        read_ets(&r, &value);
    else
        value.default_class = value_reader_handle(&r, "default_class");
    if (value_reader_end(&r))
        return r.code;
    if (value.handle != TC_OUR_HANDLE || (!value.ets && value.default_class >> 16 != TC_OUR_MAJOR))
        return err_set(err, ERR_INVALID, "tc.qdisc: handle and default class must be of 5e11:");
    *out = value;
    return ERR_OK;
}

static json_t *ets_to_json(const struct qdisc_value *value, const char *handle)
{
    json_t *quanta = json_array(), *priomap = json_array();
    for (int band = value->strict; band < value->bands; band++)
        json_array_append_new(quanta, json_integer(value->quanta[band]));
    for (int i = 0; i < QDISC_PRIOMAP; i++)
        json_array_append_new(priomap, json_integer(value->priomap[i]));
    return json_pack("{s:i,s:s,s:s,s:o,s:o,s:i}", "bands", (int)value->bands, "handle", handle,
                     "kind", "ets", "priomap", priomap, "quanta", quanta, "strict",
                     (int)value->strict);
}

static json_t *with_offload(json_t *object, bool offloaded)
{
    if (object != NULL && offloaded && json_object_set_new(object, "offloaded", json_true()) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *qdisc_value_to_json(const struct qdisc_value *value)
{
    char handle[TC_HANDLE_TEXT_MAX], default_class[TC_HANDLE_TEXT_MAX];
    tc_handle_format(value->handle, handle);
    tc_handle_format(value->default_class, default_class);
    json_t *object = value->ets ? ets_to_json(value, handle)
                                : json_pack("{s:s,s:s,s:s}", "default_class", default_class,
                                            "handle", handle, "kind", "htb");
    return with_offload(object, value->offloaded);
}

bool qdisc_value_same(const struct qdisc_value *a, const struct qdisc_value *b)
{
    return a->ets == b->ets && a->handle == b->handle && a->default_class == b->default_class &&
           a->bands == b->bands && a->strict == b->strict &&
           memcmp(a->quanta, b->quanta, sizeof(a->quanta)) == 0 &&
           memcmp(a->priomap, b->priomap, sizeof(a->priomap)) == 0;
}

/* tc.red -------------------------------------------------------------------------------------- */

enum err_code red_value_from_json(const json_t *json, struct red_value *out, struct err *err)
{
    struct value_reader r;
    value_reader_init(&r, json, "tc.red", err);
    struct red_value value = {
        .ecn = read_flag(&r, "ecn", true),
        .min_bytes = (uint32_t)value_reader_int(&r, "min_bytes", 1, RED_BYTES_MAX),
        .max_bytes = (uint32_t)value_reader_int(&r, "max_bytes", 1, RED_BYTES_MAX),
        .limit_bytes = (uint32_t)value_reader_int(&r, "limit_bytes", 1, RED_LIMIT_MAX),
        .probability_permyriad =
            (uint32_t)value_reader_int(&r, "probability_permyriad", 1, RED_PERMYRIAD),
        .offloaded = read_flag(&r, "offloaded", false),
    };
    if (value_reader_end(&r))
        return r.code;
    if (value.min_bytes > value.max_bytes || value.max_bytes > value.limit_bytes)
        return err_set(err, ERR_INVALID, "tc.red: min_bytes <= max_bytes <= limit_bytes must hold");
    *out = value;
    return ERR_OK;
}

json_t *red_value_to_json(const struct red_value *value)
{
    return with_offload(json_pack("{s:b,s:I,s:I,s:I,s:I}", "ecn", value->ecn, "limit_bytes",
                                  (json_int_t)value->limit_bytes, "max_bytes",
                                  (json_int_t)value->max_bytes, "min_bytes",
                                  (json_int_t)value->min_bytes, "probability_permyriad",
                                  (json_int_t)value->probability_permyriad),
                        value->offloaded);
}

bool red_value_same(const struct red_value *a, const struct red_value *b)
{
    return a->ecn == b->ecn && a->min_bytes == b->min_bytes && a->max_bytes == b->max_bytes &&
           a->limit_bytes == b->limit_bytes && a->probability_permyriad == b->probability_permyriad;
}
