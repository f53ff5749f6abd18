/*
 * tests/unit/server/test_http_requests.c - what a request must be to reach its handler, and who may
 * call.
 */
#include "tests/unit/server/test_http_fixture.h"

static struct http_server *server;
static uint16_t port;

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

static void show_length(struct request *request)
{
    size_t len;
    request_body(request, &len);
    request_reply_json(request, 200, json_pack("{s:I}", "length", (json_int_t)len), NULL, NULL);
}

#define ANY_ROLE                                                                                   \
    (ROLE_BIT(ROLE_ADMIN) | ROLE_BIT(ROLE_OPERATOR) | ROLE_BIT(ROLE_AUDITOR) |                     \
     ROLE_BIT(ROLE_TENANT_ADMIN) | ROLE_BIT(ROLE_TENANT_USER) | ROLE_BIT(ROLE_AGENT))

static const char *const strict_queries[] = {"dry_run", "q", NULL};

static const struct route table[] = {
    {"GET", "/open", 0, ROUTE_OPEN, echo, "open", NULL},
    {"GET", "/v1/echo", ANY_ROLE, 0, echo, "echo", NULL},
    {"GET", "/v1/names/{name}", ANY_ROLE, 0, show_param, "name", NULL},
    {"POST", "/v1/json", 0, ROUTE_OPEN | ROUTE_JSON, show_json, "json", NULL},
    {"PUT", "/v1/doc", ANY_ROLE, ROUTE_JSON | ROUTE_IF_MATCH, show_json, "doc", NULL},
    {"POST", "/v1/small", 0, ROUTE_OPEN, show_length, "small", NULL},
    {"POST", "/v1/large", 0, ROUTE_OPEN | ROUTE_LARGE, show_length, "large", NULL},
    {"GET", "/v1/tenants/{tenant}", ANY_ROLE & ~ROLE_BIT(ROLE_AGENT), ROUTE_TENANT, show_param,
     "tenant", NULL},
    {"GET", "/v1/admin", ROLE_BIT(ROLE_ADMIN), 0, echo, "r1", NULL},
    {"GET", "/v1/operator", ROLE_BIT(ROLE_OPERATOR), 0, echo, "r2", NULL},
    {"GET", "/v1/auditor", ROLE_BIT(ROLE_AUDITOR), 0, echo, "r3", NULL},
    {"GET", "/v1/tenant-admin", ROLE_BIT(ROLE_TENANT_ADMIN), 0, echo, "r4", NULL},
    {"GET", "/v1/tenant-user", ROLE_BIT(ROLE_TENANT_USER), 0, echo, "r5", NULL},
    {"GET", "/v1/agent", ROLE_BIT(ROLE_AGENT), 0, echo, "r6", NULL},
    {"GET", "/v1/strict", ANY_ROLE, 0, echo, "strict", strict_queries},
};

static int setup(void **state)
{
    (void)state;
    server = fixture_start((struct http_config){.routes = table, .route_count = COUNT(table)});
    port = http_server_port(server);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    http_server_stop(server);
    return 0;
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
        raw_get(port, targets[i], "", &a);
        if (a.status != 400)
            fail_msg("%s gave %d", targets[i], a.status);
    }
}

static void good_targets_reach_the_handler(void **state)
{
    (void)state;
    struct answer a;
    raw_get(port, "/v1/names/a%20b%C3%A9:c", "", &a);
    assert_status(a, 200);
    assert_string_equal(a.body, "a b\xc3\xa9:c");
    raw_get(port, "/v1/echo?q", "", &a);
    assert_contains(a.body, "\"q\":\"\"");
    raw_get(port, "/v1/echo?dry_run=true&", "", &a);
    assert_contains(a.body, "\"dry_run\":true");
    raw_get(port, "/v1/echo?dry_run=0", "", &a);
    assert_contains(a.body, "\"dry_run\":false");
}

static void a_route_refuses_queries_that_it_does_not_know(void **state)
{
    (void)state;
    struct answer a;
    raw_get(port, "/v1/strict?q=1&dry_run=true", "", &a);
    assert_status(a, 200);
    raw_get(port, "/v1/strict?q=1&dryrun=true", "", &a);
    assert_status(a, 400);
    assert_contains(a.body, "did you mean 'dry_run'?");
    raw_get(port, "/v1/strict?Q=1", "", &a);
    assert_status(a, 400);
}

static void an_idempotency_key_stands_once(void **state)
{
    (void)state;
    struct answer a;
    raw_get(port, "/v1/echo", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n", &a);
    assert_status(a, 400);
}

static void a_url_one_byte_too_long_is_refused(void **state)
{
    (void)state;
    struct answer a;
    char target[HTTP_URL_MAX + 2];
    memset(target, 'a', sizeof(target));
    memcpy(target, "/v1/names/", 10);
    target[HTTP_URL_MAX] = '\0';
    raw_get(port, target, "", &a);
    assert_status(a, 200);
    assert_int_equal(a.body_len, HTTP_URL_MAX - 10);
    target[HTTP_URL_MAX] = 'a';
    target[HTTP_URL_MAX + 1] = '\0';
    raw_get(port, target, "", &a);
    assert_problem(&a, 414, "url-too-long");
}

static void unknown_paths_and_methods_are_told_apart(void **state)
{
    (void)state;
    struct answer a;
    raw_get(port, "/v1/nothing", "", &a);
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
        raw_post(port, "/v1/json", rows[i].line, "{\"b\":1,\"a\":[]}", &a);
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
        raw_post(port, "/v1/json", "Content-Type: application/json\r\n", bodies[i], &a);
        assert_problem(&a, 400, "invalid-json");
    }
    raw_post(port, "/v1/json", "Content-Type: application/json\r\n", "{\n \"a\": ?}", &a);
    assert_contains(a.body, "line 2");
    char deep[200];
    snprintf(deep, sizeof(deep), "{\"a\":%.*s%.*s}", 40, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
             40, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    raw_post(port, "/v1/json", "Content-Type: application/json\r\n", deep, &a);
    assert_problem(&a, 400, "invalid-json");
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
        raw_get(port, "/v1/echo", lines[i], &a);
        assert_status(a, 400);
    }
    raw_get(port, "/v1/echo", "Transfer-Encoding: gzip, chunked\r\n", &a);
    assert_status(a, 501);
    assert_true(a.close);
    raw_call(port, "GET /open HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", &a);
    assert_status(a, 400);
    raw_get(port, "/v1/echo", "Content-Length: 0\r\n", &a);
    assert_status(a, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_targets_are_refused),
        cmocka_unit_test(good_targets_reach_the_handler),
        cmocka_unit_test(a_route_refuses_queries_that_it_does_not_know),
        cmocka_unit_test(an_idempotency_key_stands_once),
        cmocka_unit_test(a_url_one_byte_too_long_is_refused),
        cmocka_unit_test(unknown_paths_and_methods_are_told_apart),
        cmocka_unit_test(credentials_are_asked_for),
        cmocka_unit_test(each_role_reaches_its_rows_only),
        cmocka_unit_test(a_tenant_cannot_tell_whether_another_exists),
        cmocka_unit_test(writes_need_a_precondition),
        cmocka_unit_test(json_bodies_say_that_they_are_json),
        cmocka_unit_test(bad_json_answers_400_with_the_place),
        cmocka_unit_test(doubled_or_conflicting_headers_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
