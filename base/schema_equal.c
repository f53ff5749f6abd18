/*
 * base/schema_equal.c - equality, order and divisibility of JSON values as JSON Schema means them;
 * see schema_node.h.
 */
#include "base/schema_node.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/file.h"

#define PAIRWISE_MAX 24 /* arrays up to this long are compared pair by pair, without memory */
#define TWO_63       9223372036854775808.0

/* Exact: no conversion that rounds. */
static int compare_int_real(json_int_t i, double d)
{
    if (d >= TWO_63)
        return -1;
    if (d < -TWO_63)
        return 1;
    json_int_t whole = (json_int_t)d;
    if (i != whole)
        return i < whole ? -1 : 1;
    double fraction = d - (double)whole;
    return (fraction < 0) - (fraction > 0);
}

int schema_number_compare(const json_t *a, const json_t *b)
{
    if (json_is_integer(a) && json_is_integer(b)) {
        json_int_t ia = json_integer_value(a), ib = json_integer_value(b);
        return (ia > ib) - (ia < ib);
    }
    if (json_is_integer(a))
        return compare_int_real(json_integer_value(a), json_real_value(b));
    if (json_is_integer(b))
        return -compare_int_real(json_integer_value(b), json_real_value(a));
    double da = json_real_value(a), db = json_real_value(b);
    return (da > db) - (da < db);
}

bool schema_is_integral(const json_t *value)
{
    if (json_is_integer(value))
        return true;
    double d = json_real_value(value);
    return json_is_real(value) && isfinite(d) && trunc(d) == d;
}

static bool fits_int(const json_t *value, json_int_t *out)
{
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    double d = json_real_value(value);
    if (!schema_is_integral(value) || d >= TWO_63 || d < -TWO_63)
        return false;
    *out = (json_int_t)d;
    return true;
}

bool schema_is_multiple(const json_t *value, const json_t *divisor)
{
    json_int_t iv, id;
    if (fits_int(value, &iv) && fits_int(divisor, &id))
        return id == -1 || iv % id == 0;
    double v = json_number_value(value), d = json_number_value(divisor);
    double quotient = v / d;
    /* From 2^53 on every double is whole and the quotient tells nothing: fmod() is exact. */
    if (!isfinite(quotient) || fabs(quotient) >= 9007199254740992.0)
        return fmod(v, d) == 0;
    /* 0.0075 / 0.0001 is 75.000000000000014: decimal fractions have no exact double. */
    return fabs(quotient - nearbyint(quotient)) <= fabs(quotient) * 0x1p-51;
}

static bool equal_objects(const json_t *a, const json_t *b)
{
    if (json_object_size(a) != json_object_size(b))
        return false;
    json_t *object = (json_t *)a; /* iterators do not change it */
    for (void *it = json_object_iter(object); it != NULL; it = json_object_iter_next(object, it)) {
        const json_t *other =
            json_object_getn(b, json_object_iter_key(it), json_object_iter_key_len(it));
        if (other == NULL || !schema_equal(json_object_iter_value(it), other))
            return false;
    }
    return true;
}

bool schema_equal(const json_t *a, const json_t *b)
{
    if (a == b)
        return true;
    if (json_is_number(a) && json_is_number(b))
        return schema_number_compare(a, b) == 0;
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_string(a))
        return json_string_length(a) == json_string_length(b) &&
               memcmp(json_string_value(a), json_string_value(b), json_string_length(a)) == 0;
    if (json_is_object(a))
        return equal_objects(a, b);
    if (!json_is_array(a))
        return true;
    if (json_array_size(a) != json_array_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!schema_equal(json_array_get(a, i), json_array_get(b, i)))
            return false;
    return true;
}

static unsigned char hash_key[crypto_shorthash_KEYBYTES];

static void make_hash_key(void)
{
    random_bytes(hash_key, sizeof(hash_key));
}

/* SipHash with a key of this process: nobody can send an array whose elements all collide. */
static uint64_t hash_bytes(const void *data, size_t len)
{
    uint64_t hash;
    crypto_shorthash((unsigned char *)&hash, data, len, hash_key);
    return hash;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t both[] = {a, b};
    return hash_bytes(both, sizeof(both));
}

/* Equal values (schema_equal) have equal hashes. */
static uint64_t hash_value(const json_t *value)
{
    uint64_t hash = 0;
    if (json_is_number(value)) {
        json_int_t whole;
        if (fits_int(value, &whole))
            return mix(1, (uint64_t)whole);
        double d = json_real_value(value);
        return mix(2, hash_bytes(&d, sizeof(d)));
    }
    if (json_is_string(value))
        return hash_bytes(json_string_value(value), json_string_length(value));
    if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++)
            hash = mix(hash, hash_value(json_array_get(value, i)));
        return mix(3, hash);
    }
    if (!json_is_object(value))
        return mix(4, (uint64_t)json_typeof(value));
    json_t *object = (json_t *)value;
    for (void *it = json_object_iter(object); it != NULL; it = json_object_iter_next(object, it)) {
        uint64_t key = hash_bytes(json_object_iter_key(it), json_object_iter_key_len(it));
        hash += mix(key, hash_value(json_object_iter_value(it))); /* in any order */
    }
    return mix(5, hash);
}

struct hashed {
    uint64_t hash;
    size_t index;
};

static int hashed_order(const void *a, const void *b)
{
    const struct hashed *ha = a, *hb = b;
    if (ha->hash != hb->hash)
        return ha->hash < hb->hash ? -1 : 1;
    return (ha->index > hb->index) - (ha->index < hb->index);
}

static enum schema_unique find_equal_sorted(const json_t *array, size_t *first, size_t *second)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_hash_key);
    size_t count = json_array_size(array);
    struct hashed *items = malloc(count * sizeof(*items));
    if (items == NULL)
        return SCHEMA_UNIQUE_NOMEM;
    for (size_t i = 0; i < count; i++)
        items[i] = (struct hashed){hash_value(json_array_get(array, i)), i};
    qsort(items, count, sizeof(*items), hashed_order);
    enum schema_unique result = SCHEMA_UNIQUE;
    for (size_t i = 0; i < count && result == SCHEMA_UNIQUE; i++) {
        for (size_t j = i + 1; j < count && items[j].hash == items[i].hash; j++) {
            if (schema_equal(json_array_get(array, items[i].index),
                             json_array_get(array, items[j].index))) {
                *first = items[i].index;
                *second = items[j].index;
                result = SCHEMA_NOT_UNIQUE;
                break;
            }
        }
    }
    free(items);
    return result;
}

enum schema_unique schema_find_equal(const json_t *array, size_t *first, size_t *second)
{
    size_t count = json_array_size(array);
    if (count > PAIRWISE_MAX)
        return find_equal_sorted(array, first, second);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            if (schema_equal(json_array_get(array, i), json_array_get(array, j))) {
                *first = i;
                *second = j;
                return SCHEMA_NOT_UNIQUE;
            }
        }
    }
    return SCHEMA_UNIQUE;
}
