/*
 * tests/unit/server/test_http_requests.c - what a request must be, and what each answer carries.
 */
#include "tests/unit/server/test_http_fixture.h"

#include <stdatomic.h>

#include "base/json.h"

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

static void show_param(struct request *request)
{
    const char *text = request_param(request, 0);
    request_reply_text(request, 200, "text/plain", text, strlen(text));
}

static void show_json(struct request *request)
{
    json_t *copy = json_deep_copy(request_json(request));
    request_reply_json(request, 201, copy, "\"7\"", "/v1/made/7");
}

static void show_blob(struct request *request)
{
    request_reply_blob(request, 200, blob);
}

static void show_length(struct request *request)
{
    size_t len;
    request_body(request, &len);
    request_reply_json(request, 200, json_pack("{s:I}", "length", (json_int_t)len), NULL, NULL);
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

static void findings(struct request *request)
{
    OWN_FINDINGS struct finding_list list;
    finding_list_init(&list);
    finding_addf(&list, "bw-limit-floor", FINDING_ERROR, "/qos_policy/a/bw_limit", "too low");
    request_set_header(request, "Retry-After", "9");
    request_reply_problem(request, 429, "policy-refused", &list, "\"3\"", "%d problem", 1);
}

#define ANY_ROLE                                                                                   \
    (ROLE_BIT(ROLE_ADMIN) | ROLE_BIT(ROLE_OPERATOR) | ROLE_BIT(ROLE_AUDITOR) |                     \
     ROLE_BIT(ROLE_TENANT_ADMIN) | ROLE_BIT(ROLE_TENANT_USER) | ROLE_BIT(ROLE_AGENT))

static const struct route table[] = {
    {"GET", "/open", 0, ROUTE_OPEN, echo, "open"},
    {"GET", "/v1/echo", ANY_ROLE, 0, echo, "echo"},
    {"GET", "/v1/names/{name}", ANY_ROLE, 0, show_param, "name"},
    {"GET", "/v1/blob", ANY_ROLE, 0, show_blob, "blob"},
    {"GET", "/v1/strict", 0, ROUTE_OPEN, strict_query, "strict"},
    {"GET", "/v1/fail/{code}", 0, ROUTE_OPEN, fail_with, "fail"},
    {"GET", "/v1/findings", 0, ROUTE_OPEN, findings, "findings"},
    {"POST", "/v1/json", 0, ROUTE_OPEN | ROUTE_JSON, show_json, "json"},
    {"PUT", "/v1/doc", ANY_ROLE, ROUTE_JSON | ROUTE_IF_MATCH, show_json, "doc"},
    {"POST", "/v1/small", 0, ROUTE_OPEN, show_length, "small"},
    {"POST", "/v1/large", 0, ROUTE_OPEN | ROUTE_LARGE, show_length, "large"},
    {"GET", "/v1/tenants/{tenant}", ANY_ROLE & ~ROLE_BIT(ROLE_AGENT), ROUTE_TENANT, show_param,
     "tenant"},
    {"GET", "/v1/admin", ROLE_BIT(ROLE_ADMIN), 0, echo, "r1"},
    {"GET", "/v1/operator", ROLE_BIT(ROLE_OPERATOR), 0, echo, "r2"},
    {"GET", "/v1/auditor", ROLE_BIT(ROLE_AUDITOR), 0, echo, "r3"},
    {"GET", "/v1/tenant-admin", ROLE_BIT(ROLE_TENANT_ADMIN), 0, echo, "r4"},
    {"GET", "/v1/tenant-user", ROLE_BIT(ROLE_TENANT_USER), 0, echo, "r5"},
    {"GET", "/v1/agent", ROLE_BIT(ROLE_AGENT), 0, echo, "r6"},
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

/* "GET /path HTTP/1.1" with Host and these lines, as admin. */
static void get(const char *target, const char *lines, struct answer *out)
{
    char text[16384];
    snprintf(text, sizeof(text),
             "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n%s\r\n", target, lines);
    raw_call(port, text, out);
}

static void post(const char *path, const char *lines, const char *body, struct answer *out)
{
    char text[16384];
    snprintf(text, sizeof(text), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n%s\r\n%s",
             path, strlen(body), lines, body);
    raw_call(port, text, out);
}

static void assert_problem(const struct answer *answer, int status, const char *code)
{
    assert_status(*answer, status);
    assert_header(*answer, "Content-Type", "application/problem+json");
    struct err err = ERR_INIT;
    OWN(json) json_t *body = NULL;
    assert_ok(json_parse(answer->body, answer->body_len, &body, &err));
    assert_string_equal(json_string_value(json_object_get(body, "code")), code);
    assert_int_equal(json_integer_value(json_object_get(body, "status")), status);
    assert_true(json_string_length(json_object_get(body, "title")) > 0);
    assert_true(json_string_length(json_object_get(body, "detail")) > 0);
    assert_header(*answer, "X-Request-Id", json_string_value(json_object_get(body, "request_id")));
}

static void an_answer_carries_the_usual_headers(void **state)
{
    (void)state;
    struct answer a;
    get("/v1/echo?q=a+b%20c", "X-Request-Id: abc_1.2-Z\r\n", &a);
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
    get("/v1/echo", "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n", &a);
    assert_header(a, "X-Request-Id", "4bf92f3577b34da6a3ce929d0e0e4736");
    get("/v1/echo", "traceparent: 00-00000000000000000000000000000000-00f067aa0ba902b7-01\r\n", &a);
    answer_header(&a, "X-Request-Id", one, sizeof(one));
    get("/v1/echo", "X-Request-Id: has blanks\r\n", &a);
    answer_header(&a, "X-Request-Id", two, sizeof(two));
    assert_int_equal(strlen(one), 32);
    assert_int_equal(strlen(two), 32);
    assert_string_not_equal(one, two);
    get("/v1/echo", "X-Request-Id: 123456789012345678901234567890123456\r\n", &a);
    assert_header(a, "X-Request-Id", "123456789012345678901234567890123456");
    get("/v1/echo", "X-Request-Id: 1234567890123456789012345678901234567\r\n", &a);
    answer_header(&a, "X-Request-Id", one, sizeof(one));
    assert_int_equal(strlen(one), 32);
}

static void bad_targets_are_refused(void **state)
{
    (void)state;
    static const char *const targets[] = {
        "/v1//echo",
        "/v1/./echo",
        "/v1/../echo",
        "/v1/%2e%2e/echo",
        "/v1/names/a%2fb",
        "/v1/names/%00",
        "/v1/names/%0a",
        "/v1/names/%7f",
        "/v1/names/%",
        "/v1/names/%4",
        "/v1/names/%zz",
        "/v1/names/%ff",
        "/v1/names/%c0%80",
        "/v1/echo/",
        "v1/echo",
        "/v1/echo?a=%00",
        "/v1/echo?a=%g",
        "/v1/echo?a=1&a=2",
        "/v1/echo?=1",
        "/v1/echo#x",
        "/v1/echo?a=%ed%a0%80",
        "/v1/names/%e2%80%ae",
        "http://x/v1/echo",
        "/v1/names/\x01",
        "/v1/echo?dry_run=yes",
    };
    struct answer a;
    for (size_t i = 0; i < COUNT(targets); i++) {
        get(targets[i], "", &a);
        if (a.status != 400)
            fail_msg("%s gave %d", targets[i], a.status);
    }
}

static void good_targets_reach_the_handler(void **state)
{
    (void)state;
    struct answer a;
    get("/v1/names/a%20b%C3%A9:c", "", &a);
    assert_status(a, 200);
    assert_string_equal(a.body, "a b\xc3\xa9:c");
    get("/v1/echo?q", "", &a);
    assert_contains(a.body, "\"q\":\"\"");
    get("/v1/echo?dry_run=true&", "", &a);
    assert_contains(a.body, "\"dry_run\":true");
    get("/v1/echo?dry_run=0", "", &a);
    assert_contains(a.body, "\"dry_run\":false");
}

static void a_url_one_byte_too_long_is_refused(void **state)
{
    (void)state;
    struct answer a;
    char target[HTTP_URL_MAX + 2];
    memset(target, 'a', sizeof(target));
    memcpy(target, "/v1/names/", 10);
    target[HTTP_URL_MAX] = '\0';
    get(target, "", &a);
    assert_status(a, 200);
    assert_int_equal(a.body_len, HTTP_URL_MAX - 10);
    target[HTTP_URL_MAX] = 'a';
    target[HTTP_URL_MAX + 1] = '\0';
    get(target, "", &a);
    assert_problem(&a, 414, "url-too-long");
}

static void unknown_paths_and_methods_are_told_apart(void **state)
{
    (void)state;
    struct answer a;
    get("/v1/nothing", "", &a);
    assert_problem(&a, 404, "not-found");
    raw_call(port, "DELETE /v1/doc HTTP/1.1\r\nHost: x\r\n\r\n", &a);
    assert_problem(&a, 405, "method-not-allowed");
    assert_header(a, "Allow", "PUT, OPTIONS");
    raw_call(port, "BREW /v1/echo HTTP/1.1\r\nHost: x\r\n\r\n", &a);
    assert_problem(&a, 405, "method-not-allowed");
    assert_header(a, "Allow", "GET, HEAD, OPTIONS");
    raw_call(port, "OPTIONS /v1/echo HTTP/1.1\r\nHost: x\r\n\r\n", &a);
    assert_status(a, 204);
    assert_header(a, "Allow", "GET, HEAD, OPTIONS");
    raw_call(port, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", &a);
    assert_status(a, 204);
    raw_call(port, "OPTIONS /nothing HTTP/1.1\r\nHost: x\r\n\r\n", &a);
    assert_status(a, 404);
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
        get("/v1/blob", line, &a);
        assert_status(a, 304);
        assert_header(a, "ETag", "\"tag-1\"");
    }
    for (size_t i = 0; i < COUNT(other); i++) {
        snprintf(line, sizeof(line), "If-None-Match: %s\r\n", other[i]);
        get("/v1/blob", line, &a);
        assert_status(a, 200);
        assert_header(a, "Cache-Control", "private, no-cache");
    }
}

static void credentials_are_asked_for(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "Authorization: Bearer nobody\r\n", "Authorization: Basic YTpi\r\n",
        "Authorization: Bearer\r\n", "Authorization: Bearer a b\r\n", "Authorization:\r\n"};
    struct answer a;
    char text[512], challenge[128];
    raw_call(port, "GET /v1/echo HTTP/1.1\r\nHost: x\r\n\r\n", &a);
    assert_problem(&a, 401, "unauthenticated");
    assert_header(a, "WWW-Authenticate", "Bearer realm=\"stellar\"");
    for (size_t i = 0; i < COUNT(lines); i++) {
        snprintf(text, sizeof(text), "GET /v1/echo HTTP/1.1\r\nHost: x\r\n%s\r\n", lines[i]);
        raw_call(port, text, &a);
        assert_problem(&a, 401, "unauthenticated");
        assert_contains(answer_header(&a, "WWW-Authenticate", challenge, sizeof(challenge)),
                        "invalid_token");
    }
    raw_call(port, "GET /v1/echo HTTP/1.1\r\nHost: x\r\nauthorization: bEaReR admin\r\n\r\n", &a);
    assert_status(a, 200);
    raw_call(port, "GET /open HTTP/1.1\r\nHost: x\r\n\r\n", &a);
    assert_status(a, 200);
}

static void each_role_reaches_its_rows_only(void **state)
{
    (void)state;
    static const char *const roles[] = {"admin",        "operator",    "auditor",
                                        "tenant-admin", "tenant-user", "agent"};
    struct answer a;
    char text[256];
    for (size_t caller = 0; caller < COUNT(roles); caller++) {
        for (size_t row = 0; row < COUNT(roles); row++) {
            snprintf(text, sizeof(text),
                     "GET /v1/%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
                     roles[row], roles[caller]);
            raw_call(port, text, &a);
            if (caller == row)
                assert_status(a, 200);
            else
                assert_problem(&a, 403, "denied");
        }
    }
}

static void a_tenant_cannot_tell_whether_another_exists(void **state)
{
    (void)state;
    struct answer a;
    static const char *const form =
        "GET /v1/tenants/%s HTTP/1.1\r\nHost: x\r\nX-Request-Id: same\r\n"
        "Authorization: Bearer %s\r\n\r\n";
    char text[256];
    snprintf(text, sizeof(text), form, "a", "tenant-user:a");
    raw_call(port, text, &a);
    assert_status(a, 200);
    snprintf(text, sizeof(text), form, "b", "tenant-admin:a");
    raw_call(port, text, &a);
    assert_problem(&a, 404, "not-found");
    snprintf(text, sizeof(text), form, "b", "operator");
    raw_call(port, text, &a);
    assert_status(a, 200);
    snprintf(text, sizeof(text), form, "b", "agent");
    raw_call(port, text, &a);
    assert_problem(&a, 403, "denied");
    snprintf(text, sizeof(text), form, "%61", "tenant-user:a");
    raw_call(port, text, &a);
    assert_status(a, 200);
}

static void writes_need_a_precondition(void **state)
{
    (void)state;
    struct answer a;
    static const char *const form =
        "PUT /v1/doc HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n%s"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    static const struct {
        const char *lines;
        int status;
    } rows[] = {
        {"", 428},
        {"If-None-Match: \"1\"\r\n", 428},
        {"If-None-Match: *\r\n", 201},
        {"If-Match: \"1\"\r\n", 201},
    };
    char text[512];
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(text, sizeof(text), form, rows[i].lines);
        raw_call(port, text, &a);
        assert_status(a, rows[i].status);
    }
    assert_header(a, "ETag", "\"7\"");
    assert_header(a, "Location", "/v1/made/7");
}

static void json_bodies_say_that_they_are_json(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int status;
    } rows[] = {
        {"", 415},
        {"Content-Type: text/plain\r\n", 415},
        {"Content-Type: application/jsonx\r\n", 415},
        {"Content-Type: application/json; charset=latin1\r\n", 415},
        {"Content-Type: application/json\r\n", 201},
        {"Content-Type: Application/JSON;charset=UTF-8\r\n", 201},
        {"Content-Type: application/json ; charset=\"utf-8\"\r\n", 201},
    };
    struct answer a;
    for (size_t i = 0; i < COUNT(rows); i++) {
        post("/v1/json", rows[i].line, "{\"b\":1,\"a\":[]}", &a);
        assert_status(a, rows[i].status);
    }
    assert_string_equal(a.body, "{\"a\":[],\"b\":1}");
}

static void bad_json_answers_400_with_the_place(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "", "{", "[]", "null", "{\"a\":1,\"a\":2}", "{}x", "{\"a\":01}", "{\"a\":\"\xff\"}"};
    struct answer a;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        post("/v1/json", "Content-Type: application/json\r\n", bodies[i], &a);
        assert_problem(&a, 400, "invalid-json");
    }
    post("/v1/json", "Content-Type: application/json\r\n", "{\n \"a\": ?}", &a);
    assert_contains(a.body, "line 2");
    char deep[200];
    snprintf(deep, sizeof(deep), "{\"a\":%.*s%.*s}", 40, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
             40, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    post("/v1/json", "Content-Type: application/json\r\n", deep, &a);
    assert_problem(&a, 400, "invalid-json");
}

static void unknown_query_keys_can_be_refused(void **state)
{
    (void)state;
    struct answer a;
    get("/v1/strict?page_size=2s", "", &a);
    assert_problem(&a, 422, "invalid");
    get("/v1/strict?page_size=500ms", "", &a);
    assert_string_equal(a.body, "{\"ns\":500000000}");
    get("/v1/strict", "", &a);
    assert_string_equal(a.body, "{\"ns\":5}");
    static const char *const bad[] = {"1h", "-1s", "s", "1", "1%20s", "9999999999s", ""};
    char target[64];
    for (size_t i = 0; i < COUNT(bad); i++) {
        snprintf(target, sizeof(target), "/v1/strict?page_size=%s", bad[i]);
        get(target, "", &a);
        assert_true(a.status >= 400);
    }
    get("/v1/strict?page_sise=1", "", &a);
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
        get(target, "", &a);
        assert_problem(&a, statuses[i], codes[i]);
        assert_true((strstr(a.body, "secret") == NULL) == (statuses[i] == 500));
        assert_true((strstr(a.body, "/a/b") == NULL) == (statuses[i] == 500));
    }
}

static void problems_carry_findings_and_the_current_etag(void **state)
{
    (void)state;
    struct answer a;
    get("/v1/findings", "", &a);
    assert_problem(&a, 429, "policy-refused");
    assert_header(a, "ETag", "\"3\"");
    assert_header(a, "Retry-After", "9");
    assert_contains(a.body, "\"errors\":[{");
    assert_contains(a.body, "\"pointer\":\"/qos_policy/a/bw_limit\"");
}

static void doubled_or_conflicting_headers_are_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Host: y\r\n",
        "Authorization: Bearer admin\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "If-Match: \"1\"\r\nIf-Match: \"2\"\r\n",
    };
    struct answer a;
    for (size_t i = 0; i < COUNT(lines); i++) {
        get("/v1/echo", lines[i], &a);
        assert_status(a, 400);
    }
    get("/v1/echo", "Transfer-Encoding: gzip, chunked\r\n", &a);
    assert_status(a, 501);
    assert_true(a.close);
    raw_call(port, "GET /open HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", &a);
    assert_status(a, 400);
    get("/v1/echo", "Content-Length: 0\r\n", &a);
    assert_status(a, 200);
}

static void stats_count_requests_and_refusals(void **state)
{
    (void)state;
    struct http_stats before, after;
    struct answer a;
    http_stats_get(server, &before);
    get("/v1/echo", "", &a);
    get("/v1/nothing", "", &a);
    get("/v1/fail/7", "", &a);
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
        cmocka_unit_test(bad_targets_are_refused),
        cmocka_unit_test(good_targets_reach_the_handler),
        cmocka_unit_test(a_url_one_byte_too_long_is_refused),
        cmocka_unit_test(unknown_paths_and_methods_are_told_apart),
        cmocka_unit_test(head_answers_as_get_without_the_body),
        cmocka_unit_test(a_blob_that_is_known_is_not_sent_again),
        cmocka_unit_test(credentials_are_asked_for),
        cmocka_unit_test(each_role_reaches_its_rows_only),
        cmocka_unit_test(a_tenant_cannot_tell_whether_another_exists),
        cmocka_unit_test(writes_need_a_precondition),
        cmocka_unit_test(json_bodies_say_that_they_are_json),
        cmocka_unit_test(bad_json_answers_400_with_the_place),
        cmocka_unit_test(unknown_query_keys_can_be_refused),
        cmocka_unit_test(errors_map_to_statuses_and_hide_our_inside),
        cmocka_unit_test(problems_carry_findings_and_the_current_etag),
        cmocka_unit_test(doubled_or_conflicting_headers_are_refused),
        cmocka_unit_test(stats_count_requests_and_refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
