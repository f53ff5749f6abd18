/*
 * tests/unit/server/test_http_url.c - the request target taken apart.
 */
#include "tests/unit/test.h"

#include "server/http_url.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char room[2 * HTTP_URL_MAX + 64];

static enum err_code parse(const char *raw, struct http_url *out, struct err *err)
{
    /* An exact copy, so that a sanitizer sees a byte read or written too far. */
    size_t len = strlen(raw);
    char *exact = malloc(len + 1), *decoded = malloc(HTTP_URL_ROOM(len));
    assert_true(exact != NULL && decoded != NULL);
    memcpy(exact, raw, len + 1);
    enum err_code code = http_url_parse(exact, len, decoded, out, err);
    free(exact);
    free(decoded);
    return code;
}

static void segments_stay_raw_and_the_path_is_decoded(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct http_url url;
    const char *raw = "/v1/a%20b/c?x=1";
    assert_ok(http_url_parse(raw, strlen(raw), room, &url, &err));
    assert_int_equal(url.segment_count, 3);
    assert_memory_equal(url.segments[1].text, "a%20b", 5);
    assert_int_equal(url.segments[1].len, 5);
    assert_string_equal(url.path, "/v1/a b/c");
    char segment[8];
    http_segment_decode(&url.segments[1], segment);
    assert_string_equal(segment, "a b");
    assert_ok(http_url_parse("/", 1, room, &url, &err));
    assert_int_equal(url.segment_count, 0);
    assert_string_equal(url.path, "/");
}

static void queries_are_decoded_and_unique(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct http_url url;
    const char *raw = "/?a=1+2%2B&b&c=&%64=x=y&&";
    assert_fails(http_url_parse(raw, strlen(raw), room, &url, &err), ERR_INVALID);
    raw = "/?a=1+2%2B&b&c=&%64=x=y";
    assert_ok(http_url_parse(raw, strlen(raw), room, &url, &err));
    assert_int_equal(url.query_count, 4);
    assert_string_equal(url.queries[0].value, "1 2+");
    assert_string_equal(url.queries[1].key, "b");
    assert_string_equal(url.queries[1].value, "");
    assert_string_equal(url.queries[2].value, "");
    assert_string_equal(url.queries[3].key, "d");
    assert_string_equal(url.queries[3].value, "x=y");
    assert_fails(parse("/?a=1&%61=2", &url, &err), ERR_INVALID);
    assert_contains(err.text, "'a' twice");
}

static void limits_are_exact(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct http_url url;
    static char raw[HTTP_URL_MAX + 2];
    memset(raw, 'a', sizeof(raw) - 1);
    raw[0] = '/';
    raw[HTTP_URL_MAX] = '\0';
    assert_ok(parse(raw, &url, &err));
    raw[HTTP_URL_MAX] = 'a';
    assert_fails(parse(raw, &url, &err), ERR_LIMIT);
    raw[0] = '\0';
    for (int i = 0; i < ROUTE_SEGMENTS_MAX; i++)
        strcat(raw, "/s");
    assert_ok(parse(raw, &url, &err));
    strcat(raw, "/s");
    assert_fails(parse(raw, &url, &err), ERR_INVALID);
    strcpy(raw, "/?q=1");
    for (int i = 1; i < HTTP_QUERIES_MAX; i++)
        sprintf(raw + strlen(raw), "&k%d", i);
    assert_ok(parse(raw, &url, &err));
    strcat(raw, "&last");
    assert_fails(parse(raw, &url, &err), ERR_INVALID);
}

static void hostile_targets_are_refused(void **state)
{
    (void)state;
    static const char *const targets[] = {
        "",        "*",          "a",      "//",      "/a//b",      "/a/",           "/.",
        "/..",     "/a/../b",    "/%2e",   "/%2E%2e", "/a%2fb",     "/a%2Fb",        "/%",
        "/%4",     "/%4g",       "/%00",   "/%09",    "/%7f",       "/%80",          "/%c3",
        "/%c3%28", "/%ed%a0%80", "/a#b",   "/a b",    "/a\tb",      "/\x7f",         "/?=",
        "/?a&a",   "/?%",        "/?a=%f", "/?a=%ff", "/%e2%80%8b", "/?a=%e2%80%ae", "/?%00=1",
        "/?&a",    "/\xff",
    };
    struct http_url url;
    for (size_t i = 0; i < COUNT(targets); i++) {
        struct err err = ERR_INIT;
        if (parse(targets[i], &url, &err) != ERR_INVALID)
            fail_msg("'%s' was taken", targets[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_stay_raw_and_the_path_is_decoded),
        cmocka_unit_test(queries_are_decoded_and_unique),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(hostile_targets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
