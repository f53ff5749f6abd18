/*
 * base/json_diff.c - two documents -> a JSON Patch; see json_diff.h.
 */
#include "base/json_diff.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_patch.h"
#include "base/own.h"
#include "base/text.h"

struct diff {
    json_t *ops; /* owned */
    bool nomem;
    bool is_full; /* more operations than a patch may have */
};

/* The part of two arrays between their equal ends. */
struct span {
    const json_t *a, *b;
    size_t first;     /* index of the part in both */
    size_t n, m;      /* its length in a and in b */
    uint64_t *hashes; /* owned: n of a, then m of b */
    uint16_t *cells;  /* owned, (n + 1) * (m + 1): length of the longest common rest; NULL = none */
};

static void compare(struct diff *d, const json_t *a, const json_t *b, const char *path);

static void emit(struct diff *d, const char *op, const char *path, const json_t *value)
{
    if (d->is_full || d->nomem)
        return;
    if (json_array_size(d->ops) == JSON_PATCH_OPS_MAX) {
        d->is_full = true;
        return;
    }
    json_t *item = json_pack("{ss, ss}", "op", op, "path", path);
    if (item != NULL && value != NULL && json_object_set_new(item, "value", json_deep_copy(value)))
        json_decref(GIVE(item));
    d->nomem |= item == NULL || json_array_append_new(d->ops, item) != 0;
}

/* path + "/" + token, escaped; malloc'ed. */
static char *path_join(struct diff *d, const char *path, const char *token)
{
    size_t len = strlen(path), room = len + 2 * strlen(token) + 2;
    char *joined = malloc(room), *to;
    if (joined == NULL) {
        d->nomem = true;
        return NULL;
    }
    memcpy(joined, path, len);
    to = joined + len;
    *to++ = '/';
    for (; *token != '\0'; token++) {
        if (*token == '~' || *token == '/') {
            *to++ = '~';
            *to++ = *token == '~' ? '0' : '1';
        } else {
            *to++ = *token;
        }
    }
    *to = '\0';
    return joined;
}

static char *path_index(struct diff *d, const char *path, size_t index)
{
    char token[24];
    snprintf(token, sizeof(token), "%zu", index);
    return path_join(d, path, token);
}

static void at_member(struct diff *d, const char *path, const char *key, const json_t *a,
                      const json_t *b)
{
    OWN(str) char *sub = path_join(d, path, key);
    if (sub == NULL)
        return;
    if (a == NULL)
        emit(d, "add", sub, b);
    else if (b == NULL)
        emit(d, "remove", sub, NULL);
    else
        compare(d, a, b, sub);
}

static void compare_objects(struct diff *d, const json_t *a, const json_t *b, const char *path)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)a, key, value)
    {
        at_member(d, path, key, value, json_object_get(b, key));
    }
    json_object_foreach((json_t *)(uintptr_t)b, key, value)
    {
        if (json_object_get(a, key) == NULL)
            at_member(d, path, key, NULL, value);
    }
}

static bool span_equal(const struct span *s, size_t i, size_t j)
{
    return s->hashes[i] == s->hashes[s->n + j] &&
           json_equal(json_array_get(s->a, s->first + i), json_array_get(s->b, s->first + j));
}

static bool hash_all(const json_t *array, size_t first, size_t count, uint64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        OWN(str) char *text = json_canonical(json_array_get(array, first + i), NULL);
        if (text == NULL)
            return false;
        out[i] = text_hash(text);
    }
    return true;
}

#define CELL(s, i, j) ((s)->cells[(i) * ((s)->m + 1) + (j)])

static bool span_match(struct span *s)
{
    if (s->n == 0 || s->m == 0 || s->n > JSON_DIFF_CELLS_MAX / s->m)
        return true;
    s->hashes = malloc((s->n + s->m) * sizeof(*s->hashes));
    s->cells = calloc((s->n + 1) * (s->m + 1), sizeof(*s->cells));
    if (s->hashes == NULL || s->cells == NULL || !hash_all(s->a, s->first, s->n, s->hashes) ||
        !hash_all(s->b, s->first, s->m, s->hashes + s->n))
        return false;
    for (size_t i = s->n; i-- > 0;)
        for (size_t j = s->m; j-- > 0;) {
            uint16_t down = CELL(s, i + 1, j), right = CELL(s, i, j + 1);
            CELL(s, i, j) = span_equal(s, i, j) ? (uint16_t)(CELL(s, i + 1, j + 1) + 1)
                                                : (down > right ? down : right);
        }
    return true;
}

/* How many elements of a and b stand here before the next that both have. */
static void run_length(const struct span *s, size_t i, size_t j, size_t *out_a, size_t *out_b)
{
    size_t x = i, y = j;
    if (s->cells == NULL) {
        *out_a = s->n - i;
        *out_b = s->m - j;
        return;
    }
    while (x < s->n || y < s->m) {
        if (x < s->n && y < s->m && span_equal(s, x, y))
            break;
        if (y == s->m || (x < s->n && CELL(s, x + 1, y) >= CELL(s, x, y + 1)))
            x++;
        else
            y++;
    }
    *out_a = x - i;
    *out_b = y - j;
}

/* Elements that stand across from each other are compared; what is over is removed or added. `at`
 * is the place in the array as the operations so far have made it. */
static void span_run(struct diff *d, const struct span *s, size_t i, size_t j, size_t count_a,
                     size_t count_b, const char *path)
{
    size_t at = s->first + j, pairs = count_a < count_b ? count_a : count_b;
    for (size_t k = 0; k < pairs; k++) {
        OWN(str) char *sub = path_index(d, path, at + k);
        if (sub != NULL)
            compare(d, json_array_get(s->a, s->first + i + k),
                    json_array_get(s->b, s->first + j + k), sub);
    }
    for (size_t k = pairs; k < count_a; k++) {
        OWN(str) char *sub = path_index(d, path, at + pairs);
        if (sub != NULL)
            emit(d, "remove", sub, NULL);
    }
    for (size_t k = pairs; k < count_b; k++) {
        OWN(str) char *sub = path_index(d, path, at + k);
        if (sub != NULL)
            emit(d, "add", sub, json_array_get(s->b, s->first + j + k));
    }
}

static void compare_arrays(struct diff *d, const json_t *a, const json_t *b, const char *path)
{
    struct span s = {.a = a, .b = b, .n = json_array_size(a), .m = json_array_size(b)};
    while (s.first < s.n && s.first < s.m &&
           json_equal(json_array_get(a, s.first), json_array_get(b, s.first)))
        s.first++;
    while (s.n > s.first && s.m > s.first &&
           json_equal(json_array_get(a, s.n - 1), json_array_get(b, s.m - 1))) {
        s.n--;
        s.m--;
    }
    s.n -= s.first;
    s.m -= s.first;
    d->nomem |= !span_match(&s);
    for (size_t i = 0, j = 0; (i < s.n || j < s.m) && !d->nomem;) {
        size_t count_a, count_b;
        if (s.cells != NULL && i < s.n && j < s.m && span_equal(&s, i, j)) {
            i++;
            j++;
            continue;
        }
        run_length(&s, i, j, &count_a, &count_b);
        span_run(d, &s, i, j, count_a, count_b, path);
        i += count_a;
        j += count_b;
    }
    free(s.hashes);
    free(s.cells);
}

static void compare(struct diff *d, const json_t *a, const json_t *b, const char *path)
{
    if (d->nomem || d->is_full || json_equal(a, b))
        return;
    if (json_is_object(a) && json_is_object(b))
        compare_objects(d, a, b, path);
    else if (json_is_array(a) && json_is_array(b))
        compare_arrays(d, a, b, path);
    else
        emit(d, "replace", path, b);
}

json_t *json_diff(const json_t *from, const json_t *to)
{
    struct diff d = {.ops = json_array()};
    if (d.ops == NULL)
        return NULL;
    compare(&d, from, to, "");
    if (d.is_full) {
        d.is_full = false;
        json_array_clear(d.ops);
        emit(&d, "replace", "", to);
    }
    if (d.nomem)
        json_decref(GIVE(d.ops));
    return d.ops;
}
