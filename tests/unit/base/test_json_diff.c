/*
 * Differences: whatever two documents are, the patch between them makes one of the other, and the
 * text between them, read as a patch of lines, does too.
 */
#include "tests/unit/test.h"

#include "base/json_diff.h"
#include "base/json_patch.h"
#include "base/own.h"

static json_t *parse(const char *text)
{
    struct err err = ERR_INIT;
    json_t *json = NULL;
    assert_ok(json_parse_limit(text, strlen(text), JSON_TEXT_MAX, true, &json, &err));
    return json;
}

static void check(const char *from, const char *to, const char *wanted)
{
    OWN(json) json_t *a = parse(from);
    OWN(json) json_t *b = parse(to);
    OWN(json) json_t *patch = json_diff(a, b);
    OWN(str) char *text = json_canonical(patch, NULL);
    assert_string_equal(text, wanted);
}

static void only_what_differs_is_in_the_patch(void **state)
{
    (void)state;
    check("{\"a\":1,\"b\":{\"c\":[1,2]}}", "{\"b\":{\"c\":[1,2]},\"a\":1}", "[]");
    check("{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":3}",
          "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":3}]");
    check("{\"a\":1,\"b\":2}", "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]");
    check("{\"x/y\":{}}", "{\"x/y\":{\"~\":null}}",
          "[{\"op\":\"add\",\"path\":\"/x~1y/~0\",\"value\":null}]");
    check("{\"a\":1}", "{\"a\":1.0}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":1.0}]");
    check("[1]", "{}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{}}]");
}

static void elements_of_arrays_are_matched(void **state)
{
    (void)state;
    check("[1,2,3,4,5]", "[1,2,4,5]", "[{\"op\":\"remove\",\"path\":\"/2\"}]");
    check("[1,2,4]", "[1,2,3,4]", "[{\"op\":\"add\",\"path\":\"/2\",\"value\":3}]");
    check("[1,2,3,4]", "[9,2,4,5]",
          "[{\"op\":\"replace\",\"path\":\"/0\",\"value\":9},{\"op\":\"remove\",\"path\":\"/2\"},"
          "{\"op\":\"add\",\"path\":\"/3\",\"value\":5}]");
    check("[{\"n\":1,\"v\":1},{\"n\":2,\"v\":2}]", "[{\"n\":1,\"v\":9},{\"n\":2,\"v\":2}]",
          "[{\"op\":\"replace\",\"path\":\"/0/v\",\"value\":9}]");
}

static uint32_t seed = 20260;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static json_t *random_value(int depth)
{
    static const char *const keys[] = {"a", "b", "", "~", "/", "m~0n", "k1", "k2"};
    uint32_t kind = random_below(depth == 0 ? 5 : 8);
    if (kind == 0)
        return json_null();
    if (kind == 1)
        return json_boolean((int)random_below(2));
    if (kind == 2)
        return json_integer(random_below(3));
    if (kind == 3)
        return json_real(random_below(3));
    if (kind == 4)
        return json_string(random_below(2) == 0 ? "x{\"y\\" : "");
    json_t *value = kind == 5 ? json_object() : json_array();
    for (uint32_t n = random_below(6); n > 0; n--) {
        if (kind == 5)
            json_object_set_new(value, keys[random_below(8)], random_value(depth - 1));
        else
            json_array_append_new(value, random_value(depth - 1));
    }
    return value;
}

/* Changes some of it, so that two documents have much in common. */
static json_t *random_change(const json_t *value, int depth)
{
    if (random_below(6) == 0 || depth == 0)
        return random_value(depth);
    json_t *copy = json_deep_copy(value), *sub;
    const char *key;
    void *next;
    json_object_foreach_safe(copy, next, key, sub)
    {
        if (random_below(4) == 0)
            json_object_del(copy, key);
        else if (random_below(3) == 0)
            json_object_set_new(copy, key, random_change(sub, depth - 1));
    }
    for (size_t i = 0; json_is_array(copy) && i < json_array_size(copy); i++) {
        if (random_below(4) == 0)
            json_array_remove(copy, i);
        else if (random_below(4) == 0)
            json_array_insert_new(copy, i, random_value(depth - 1));
    }
    return copy;
}

/* Applies unified text to the pretty form, strictly: every line that it names must be there. */
static char *apply_text(const char *from, const char *text)
{
    char *out = NULL;
    size_t len = 0, at = 0;
    FILE *file = open_memstream(&out, &len);
    const char *p = from;
    for (const char *line = text, *end; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        assert_non_null(end);
        if (strncmp(line, "--- ", 4) == 0 || strncmp(line, "+++ ", 4) == 0)
            continue;
        if (line[0] == '@') {
            size_t start, count = 1;
            assert_true(sscanf(line, "@@ -%zu,%zu", &start, &count) >= 1);
            for (size_t wanted = count == 0 ? start : start - 1; at < wanted; at++) {
                const char *next = strchr(p, '\n') + 1;
                fwrite(p, 1, (size_t)(next - p), file);
                p = next;
            }
            continue;
        }
        size_t n = (size_t)(end - line);
        if (line[0] != '+') {
            assert_int_equal(strncmp(p, line + 1, n), 0);
            p += n;
            at++;
        }
        if (line[0] != '-')
            fwrite(line + 1, 1, n, file);
    }
    fputs(p, file);
    fclose(file);
    return out;
}

static void a_patch_between_two_documents_makes_one_of_the_other(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        OWN(json) json_t *a = random_value(4);
        OWN(json) json_t *b = i % 4 == 0 ? random_value(4) : random_change(a, 4);
        OWN(json) json_t *patch = json_diff(a, b);
        OWN(json) json_t *made = NULL;
        assert_non_null(patch);
        assert_ok(json_patch_apply(a, patch, &made, &err));
        if (!json_equal(made, b))
            fail_msg("document %d", i);
        OWN(str) char *text = json_diff_text(a, b, "1", "2");
        OWN(str) char *from = json_pretty(a);
        OWN(str) char *to = json_pretty(b);
        OWN(str) char *applied = apply_text(from, text);
        assert_string_equal(applied, to);
        assert_int_equal(text[0] == '\0', json_equal(a, b));
    }
}

static void the_text_is_unified(void **state)
{
    OWN(json) json_t *a = parse("{\"a\":1,\"b\":[1,2,3,4,5,6,7,8,9],\"c\":{}}");
    OWN(json) json_t *b = parse("{\"a\":2,\"b\":[1,2,3,4,5,6,7,8,9,10],\"c\":{}}");
    OWN(str) char *text = json_diff_text(a, b, "revision 1", "revision 2");
    (void)state;
    assert_string_equal(text, "--- revision 1\n+++ revision 2\n"
                              "@@ -1,5 +1,5 @@\n {\n-  \"a\": 1,\n+  \"a\": 2,\n   \"b\": [\n"
                              "     1,\n     2,\n"
                              "@@ -9,7 +9,8 @@\n     6,\n     7,\n     8,\n-    9\n+    9,\n"
                              "+    10\n   ],\n   \"c\": {}\n }\n");
}

static json_t *numbers(int first, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_integer(first + i));
    return list;
}

static void what_differs_beyond_every_limit_is_still_right(void **state)
{
    struct err err = ERR_INIT;
    OWN(json) json_t *a = numbers(0, 3000);
    OWN(json) json_t *b = numbers(2000, 4000);
    OWN(json) json_t *patch = json_diff(a, b);
    OWN(json) json_t *made = NULL;
    (void)state;
    assert_int_equal(json_array_size(patch), 1); /* over the operations that a patch may have */
    assert_ok(json_patch_apply(a, patch, &made, &err));
    assert_true(json_equal(made, b));
    OWN(str) char *text = json_diff_text(a, b, "1", "2");
    OWN(str) char *from = json_pretty(a);
    OWN(str) char *to = json_pretty(b);
    OWN(str) char *applied = apply_text(from, text);
    assert_string_equal(applied, to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_differs_is_in_the_patch),
        cmocka_unit_test(elements_of_arrays_are_matched),
        cmocka_unit_test(a_patch_between_two_documents_makes_one_of_the_other),
        cmocka_unit_test(the_text_is_unified),
        cmocka_unit_test(what_differs_beyond_every_limit_is_still_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
