#pragma once
/*
 * tests/unit/test.h - what every unit test includes first: cmocka's headers in the order it wants,
 * and helpers that print why a call failed.
 *
 * assert_ok() and assert_fails() expect a `struct err err` in scope, the one that the call fills:
 *
 *   struct err err = ERR_INIT;
 *   assert_ok(json_parse(text, len, &doc, &err));
 *   assert_fails(json_parse("[", 1, &doc, &err), ERR_INVALID);
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

#ifndef STELLAR_TEST_DATA
#error "STELLAR_TEST_DATA is the tests/ folder; the Makefile defines it"
#endif

#define TEST_PATH_MAX 4096

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        if ((call) != ERR_OK)                                                                      \
            fail_msg("%s\n  failed: %s: %s (pointer '%s')", #call, err_code_name(err.code),        \
                     err.text, err.pointer);                                                       \
    } while (0)

/* The call fails with exactly this code, and its text says something. */
#define assert_fails(call, wanted)                                                                 \
    do {                                                                                           \
        enum err_code got_ = (call);                                                               \
        if (got_ != (wanted))                                                                      \
            fail_msg("%s\n  gave %s, wanted %s: %s", #call, err_code_name(got_),                   \
                     err_code_name(wanted), err.text);                                             \
        assert_int_equal(err.code, (wanted));                                                      \
        assert_true(err.text[0] != '\0');                                                          \
    } while (0)

#define assert_contains(haystack, needle)                                                          \
    do {                                                                                           \
        const char *hay_ = (haystack), *needle_ = (needle);                                        \
        if (strstr(hay_, needle_) == NULL)                                                         \
            fail_msg("'%s' is not in '%s'", needle_, hay_);                                        \
    } while (0)

/* The path of tests/<name>, in the caller's buffer. */
static inline void test_path(const char *name, char out[TEST_PATH_MAX])
{
    int n = snprintf(out, TEST_PATH_MAX, "%s/%s", STELLAR_TEST_DATA, name);
    assert_true(n > 0 && n < TEST_PATH_MAX);
}

/* Loads a whole file by its full path; malloc'ed, NUL-terminated. Fails the test if it is not
 * there. len may be NULL. */
static inline char *test_load_path(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("test data %s cannot be opened", path);
    size_t size = 0, room = 4096;
    char *data = malloc(room + 1);
    assert_non_null(data);
    for (size_t n; (n = fread(data + size, 1, room - size, file)) > 0;) {
        size += n;
        if (size == room) {
            room *= 2;
            data = realloc(data, room + 1);
            assert_non_null(data);
        }
    }
    fclose(file);
    data[size] = '\0';
    if (len != NULL)
        *len = size;
    return data;
}

/* Loads tests/<name>, for example "data/hostile-json/x.json". */
static inline char *test_load(const char *name, size_t *len)
{
    char path[TEST_PATH_MAX];
    test_path(name, path);
    return test_load_path(path, len);
}

/* Makes an empty folder for one test under TMPDIR (/tmp). */
static inline void test_folder(char out[TEST_PATH_MAX])
{
    const char *tmp = getenv("TMPDIR");
    snprintf(out, TEST_PATH_MAX, "%s/stellar-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(out));
}
