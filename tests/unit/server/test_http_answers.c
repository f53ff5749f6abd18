/*
 * tests/unit/server/test_http_answers.c - what each answer carries.
 */
#include "tests/unit/server/test_http_fixture.h"

#include <stdatomic.h>

static struct http_server *server;
static uint16_t port;
static struct blob *blob;

static void echo(struct request *request)
{
    const char *q = request_query(request, "q");
    json_t *body =
        json_pack("{s:s, s:s, s:s, s:s, s:b}", "method", request_method(request), "path",
                  request_path(request), "q", q != NULL ? q : "(none)", "by",
                  request_principal(request)->name, "dry_run", (int)request_is_dry_run(request));
    request_reply_json(request, 200, body, NULL, NULL);
}

static void show_blob(struct request *request)
{
    request_reply_blob(request, 200, blob);
}

static void strict_query(struct request *request)
{
    static const char *const names[] = {"page_size", "page_token", NULL};
    struct err err = ERR_INIT;
    int64_t wait_ns = 0;
    if (!request_queries_known(request, names))
        return;
    if (request_duration(request, "page_size", 5, NS_PER_S, &wait_ns, &err) != ERR_OK)
        request_reply_err(request, &err);
    else
        request_reply_json(request, 200, json_pack("{s:I}", "ns", (json_int_t)wait_ns), NULL, NULL);
}

static void fail_with(struct request *request)
{
    struct err err = ERR_INIT;
    static const enum err_code codes[] = {ERR_INVALID,     ERR_NOT_FOUND, ERR_CONFLICT,
                                          ERR_DENIED,      ERR_LIMIT,     ERR_UNSUPPORTED,
                                          ERR_UNAVAILABLE, ERR_IO,        ERR_NOMEM};
    size_t at = strtoul(request_param(request, 0), NULL, 10);
    err_set_at(&err, codes[at], "/a/b", "the secret inside");
    request_reply_err(request, &err);
}

static void full_disk(struct request *request)
{
    struct err err = ERR_INIT;
    static const int numbers[] = {ENOSPC, EDQUOT, EFBIG, EIO};
    size_t at = strtoul(request_param(request, 0), NULL, 10);
    err_set_errno(&err, ERR_IO, numbers[at], "the secret inside");
    request_reply_err(request, &err);
}

static void findings(struct request *request)
{
    OWN_FINDINGS struct finding_list list;
    finding_list_init(&list);
    finding_addf(&list, "bw-limit-floor", FINDING_ERROR, "/qos_policy/a/bw_limit", "too low");
    list.truncated = request_query(request, "more") != NULL;
    request_set_header(request, "Retry-After", "9");
    request_reply_problem(request, 429, "policy-refused", &list, "\"3\"", "%d problem", 1);
}

/* Its value could not be made. */
static void without_body(struct request *request)
{
    static const int statuses[] = {200, 201, 202, 204};
    request_reply_json(request, statuses[strtoul(request_param(request, 0), NULL, 10)], NULL,
                       "\"3\"", "/v1/made/3");
}

static void without_body_but_cookie(struct request *request)
{
    request_reply_cookie(request, 200, NULL, "a=b");
}

#define ANY_ROLE (ROLE_BIT(ROLE_ADMIN) | ROLE_BIT(ROLE_AUDITOR))

static const struct route table[] = {
    {"GET", "/open", 0, ROUTE_OPEN, echo, "open", NULL},
    {"GET", "/v1/echo", ANY_ROLE, 0, echo, "echo", NULL},
    {"GET", "/v1/blob", ANY_ROLE, 0, show_blob, "blob", NULL},
    {"GET", "/v1/strict", 0, ROUTE_OPEN, strict_query, "strict", NULL},
    {"GET", "/v1/fail/{code}", 0, ROUTE_OPEN, fail_with, "fail", NULL},
    {"GET", "/v1/full/{number}", 0, ROUTE_OPEN, full_disk, "full", NULL},
    {"GET", "/v1/findings", 0, ROUTE_OPEN, findings, "findings", NULL},
    {"GET", "/v1/without/{status}", 0, ROUTE_OPEN, without_body, "without", NULL},
    {"GET", "/v1/without-cookie", 0, ROUTE_OPEN, without_body_but_cookie, "without_cookie", NULL},
};

static int setup(void **state)
{
    (void)state;
    blob = blob_new(strdup("the bytes"), 9, "\"tag-1\"", "application/json");
    server = fixture_start((struct http_config){.routes = table, .route_count = COUNT(table)});
    port = http_server_port(server);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    http_server_stop(server);
    assert_int_equal(atomic_load(&blob->refs), 1);
    blob_unref(blob);
    return 0;
}

static void an_answer_carries_the_usual_headers(void **state)
{
    (void)state;
    struct answer a;
    raw_get(port, "/v1/echo?q=a+b%20c", "X-Request-Id: abc_1.2-Z\r\n", &a);
    assert_status(a, 200);
    assert_header(a, "Content-Type", "application/json");
    assert_header(a, "X-Content-Type-Options", "nosniff");
    assert_header(a, "Cache-Control", "no-store");
    assert_header(a, "X-Request-Id", "abc_1.2-Z");
    assert_contains(a.body, "\"q\":\"a b c\"");
    assert_contains(a.body, "\"by\":\"token:admin\"");
}

static void request_ids_come_from_the_caller_the_trace_or_chance(void **state)
{
    (void)state;
    struct answer a;
    char one[64], two[64];
    raw_get(port, "/v1/echo",
            "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n", &a);
    assert_header(a, "X-Request-Id", "4bf92f3577b34da6a3ce929d0e0e4736");
    raw_get(port, "/v1/echo",
            "traceparent: 00-00000000000000000000000000000000-00f067aa0ba902b7-01\r\n", &a);
    answer_header(&a, "X-Request-Id", one, sizeof(one));
    raw_get(port, "/v1/echo", "X-Request-Id: has blanks\r\n", &a);
    answer_header(&a, "X-Request-Id", two, sizeof(two));
    assert_int_equal(strlen(one), 32);
    assert_int_equal(strlen(two), 32);
    assert_string_not_equal(one, two);
    /* The first 12 digits are the milliseconds of their time. */
    one[12] = two[12] = '\0';
    assert_in_range(strtoull(two, NULL, 16) - strtoull(one, NULL, 16), 0, 60000);
    raw_get(port, "/v1/echo", "X-Request-Id: 123456789012345678901234567890123456\r\n", &a);
    assert_header(a, "X-Request-Id", "123456789012345678901234567890123456");
    raw_get(port, "/v1/echo", "X-Request-Id: 1234567890123456789012345678901234567\r\n", &a);
    answer_header(&a, "X-Request-Id", one, sizeof(one));
    assert_int_equal(strlen(one), 32);
}

static void head_answers_as_get_without_the_body(void **state)
{
    (void)state;
    int fd = raw_open(port);
    struct answer a;
    raw_send(fd, "HEAD /v1/blob HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n");
    raw_read_of(fd, &a, false);
    assert_status(a, 200);
    assert_header(a, "Content-Length", "9");
    assert_header(a, "ETag", "\"tag-1\"");
    raw_send(fd, "GET /v1/blob HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n");
    raw_read(fd, &a);
    assert_string_equal(a.body, "the bytes");
    close(fd);
}

static void a_blob_that_is_known_is_not_sent_again(void **state)
{
    (void)state;
    struct answer a;
    static const char *const same[] = {"\"tag-1\"", "W/\"tag-1\"", "\"x\", \"tag-1\"", "*",
                                       "W/\"x\" ,W/\"tag-1\" "};
    static const char *const other[] = {"\"tag-2\"", "tag-1", "\"tag-1", "\"tag-11\"", "", ",,,"};
    char line[128];
    for (size_t i = 0; i < COUNT(same); i++) {
        snprintf(line, sizeof(line), "If-None-Match: %s\r\n", same[i]);
        raw_get(port, "/v1/blob", line, &a);
        assert_status(a, 304);
        assert_header(a, "ETag", "\"tag-1\"");
    }
    for (size_t i = 0; i < COUNT(other); i++) {
        snprintf(line, sizeof(line), "If-None-Match: %s\r\n", other[i]);
        raw_get(port, "/v1/blob", line, &a);
        assert_status(a, 200);
        assert_header(a, "Cache-Control", "private, no-cache");
    }
}

static void unknown_query_keys_can_be_refused(void **state)
{
    (void)state;
    struct answer a;
    raw_get(port, "/v1/strict?page_size=2s", "", &a);
    assert_problem(&a, 422, "invalid");
    raw_get(port, "/v1/strict?page_size=500ms", "", &a);
    assert_string_equal(a.body, "{\"ns\":500000000}");
    raw_get(port, "/v1/strict", "", &a);
    assert_string_equal(a.body, "{\"ns\":5}");
    static const char *const bad[] = {"1h", "-1s", "s", "1", "1%20s", "9999999999s", ""};
    char target[64];
    for (size_t i = 0; i < COUNT(bad); i++) {
        snprintf(target, sizeof(target), "/v1/strict?page_size=%s", bad[i]);
        raw_get(port, target, "", &a);
        assert_true(a.status >= 400);
    }
    raw_get(port, "/v1/strict?page_sise=1", "", &a);
    assert_problem(&a, 400, "unknown-query");
    assert_contains(a.body, "did you mean 'page_size'");
}

static void errors_map_to_statuses_and_hide_our_inside(void **state)
{
    (void)state;
    static const int statuses[] = {422, 404, 409, 403, 422, 422, 503, 500, 500};
    static const char *const codes[] = {"invalid",     "not-found", "conflict",
                                        "denied",      "limit",     "unsupported",
                                        "unavailable", "internal",  "internal"};
    struct answer a;
    char target[32];
    for (size_t i = 0; i < COUNT(statuses); i++) {
        snprintf(target, sizeof(target), "/v1/fail/%zu", i);
        raw_get(port, target, "", &a);
        assert_problem(&a, statuses[i], codes[i]);
        assert_true((strstr(a.body, "secret") == NULL) == (statuses[i] == 500));
        assert_true((strstr(a.body, "/a/b") == NULL) == (statuses[i] == 500));
    }
}

static void problems_carry_findings_and_the_current_etag(void **state)
{
    (void)state;
    struct answer a;
    raw_get(port, "/v1/findings", "", &a);
    assert_problem(&a, 429, "policy-refused");
    assert_header(a, "ETag", "\"3\"");
    assert_header(a, "Retry-After", "9");
    assert_contains(a.body, "\"errors\":[{");
    assert_contains(a.body, "\"pointer\":\"/qos_policy/a/bw_limit\"");
    assert_null(strstr(a.body, "truncated"));
    raw_get(port, "/v1/findings?more=1", "", &a);
    assert_contains(a.body, "\"truncated\":true");
}

static void a_body_that_there_is_no_memory_for_is_no_empty_answer(void **state)
{
    (void)state;
    static const char *const paths[] = {"/v1/without/0", "/v1/without/1", "/v1/without/2",
                                        "/v1/without-cookie"};
    struct answer a;
    for (size_t i = 0; i < COUNT(paths); i++) {
        raw_get(port, paths[i], "", &a);
        assert_problem(&a, 500, "internal");
        assert_header(a, "ETag", "");
        assert_header(a, "Location", "");
    }
    raw_get(port, "/v1/without/3", "", &a);
    assert_status(a, 204);
}

static void a_full_disk_is_no_fault_of_the_server(void **state)
{
    (void)state;
    static const char *const numbers[] = {"0", "1", "2"};
    struct answer a;
    char path[32];
    for (size_t i = 0; i < COUNT(numbers); i++) {
        snprintf(path, sizeof(path), "/v1/full/%s", numbers[i]);
        raw_get(port, path, "", &a);
        assert_problem(&a, 507, "storage-full");
        assert_null(strstr(a.body, "the secret inside"));
    }
    raw_get(port, "/v1/full/3", "", &a);
    assert_problem(&a, 500, "internal");
}

static void stats_count_requests_and_refusals(void **state)
{
    (void)state;
    struct http_stats before, after;
    struct answer a;
    http_stats_get(server, &before);
    raw_get(port, "/v1/echo", "", &a);
    raw_get(port, "/v1/nothing", "", &a);
    raw_get(port, "/v1/fail/7", "", &a);
    http_stats_get(server, &after);
    assert_int_equal(after.requests - before.requests, 3);
    assert_int_equal(after.responses_4xx - before.responses_4xx, 1);
    assert_int_equal(after.responses_5xx - before.responses_5xx, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_carries_the_usual_headers),
        cmocka_unit_test(request_ids_come_from_the_caller_the_trace_or_chance),
        cmocka_unit_test(head_answers_as_get_without_the_body),
        cmocka_unit_test(a_blob_that_is_known_is_not_sent_again),
        cmocka_unit_test(unknown_query_keys_can_be_refused),
        cmocka_unit_test(errors_map_to_statuses_and_hide_our_inside),
        cmocka_unit_test(problems_carry_findings_and_the_current_etag),
        cmocka_unit_test(a_body_that_there_is_no_memory_for_is_no_empty_answer),
        cmocka_unit_test(a_full_disk_is_no_fault_of_the_server),
        cmocka_unit_test(stats_count_requests_and_refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
