/*
 * tests/unit/server/test_http_auth.c - cookies beside tokens, scopes, and changes that another
 * site's page asks a browser for.
 */
#include "tests/unit/server/test_http_fixture.h"

static struct http_server *server;
static uint16_t port;

static void show_who(struct request *request)
{
    const struct principal *who = request_principal(request);
    json_t *body =
        json_pack("{s:s, s:b, s:b, s:s}", "by", who->name, "cookie", (int)who->by_cookie, "leaked",
                  (int)(request_header(request, "Cookie") != NULL ||
                        request_header(request, "Authorization") != NULL),
                  "peer", request_peer(request));
    request_reply_json(request, 200, body, NULL, NULL);
}

static const struct route table[] = {
    {"GET", "/v1/who", ROLE_BIT(ROLE_ADMIN), 0, show_who, "who", NULL},
    {"POST", "/v1/who", ROLE_BIT(ROLE_ADMIN), 0, show_who, "who_post", NULL},
    {"POST", "/v1/who:look", ROLE_BIT(ROLE_ADMIN), ROUTE_SAFE, show_who, "who_look", NULL},
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

static void call(const char *line, const char *headers, struct answer *out)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "%s HTTP/1.1\r\nHost: stellar.test:8440\r\nContent-Length: 0\r\n%s\r\n", line,
             headers);
    raw_call(port, text, out);
}

#define COOKIE "Cookie: __Host-stellar=admin\r\n"

static void a_cookie_is_read_among_others(void **state)
{
    (void)state;
    static const struct {
        const char *cookie;
        int status;
    } cases[] = {
        {"__Host-stellar=admin", 200},
        {"a=1; __Host-stellar=admin; b=2", 200},
        {"a=1;__Host-stellar=admin", 200},
        {"x__Host-stellar=admin", 401},
        {"__host-stellar=admin", 401},
        {"__Host-stellar=", 401},
        {"__Host-stellar=admin; __Host-stellar=admin", 401},
        {"__Host-stellar=nobody", 401},
        {"__Host-stellar", 401},
        {";;; ;", 401},
        {"", 401},
    };
    struct answer a;
    char lines[256];
    for (size_t i = 0; i < COUNT(cases); i++) {
        snprintf(lines, sizeof(lines), "Cookie: %s\r\n", cases[i].cookie);
        call("GET /v1/who", lines, &a);
        assert_status(a, cases[i].status);
    }
    call("GET /v1/who", COOKIE, &a);
    assert_contains(a.body, "\"cookie\":true");
    assert_contains(a.body, "\"leaked\":false");
    assert_contains(a.body, "\"peer\":\"127.0.0.1\"");
    call("GET /v1/who", COOKIE COOKIE, &a);
    assert_problem(&a, 400, "bad-request");
}

static void a_cookie_at_its_longest_is_read_and_one_byte_more_is_not(void **state)
{
    (void)state;
    struct answer a;
    char lines[1024];
    for (int over = 0; over <= 1; over++) {
        snprintf(lines, sizeof(lines), "Cookie: __Host-stellar=admin:%0*d\r\n",
                 512 - (int)strlen("admin:") + over, 0);
        call("GET /v1/who", lines, &a);
        assert_status(a, over ? 401 : 200);
    }
}

static void a_token_wins_over_a_cookie(void **state)
{
    (void)state;
    struct answer a;
    call("GET /v1/who", COOKIE "Authorization: Bearer admin:t\r\n", &a);
    assert_status(a, 200);
    assert_contains(a.body, "\"cookie\":false");
    call("GET /v1/who", COOKIE "Authorization: Bearer nobody\r\n", &a);
    assert_problem(&a, 401, "unauthenticated");
    call("POST /v1/who", COOKIE "Authorization: Bearer admin\r\nOrigin: https://evil.test\r\n", &a);
    assert_status(a, 200);
}

static void a_change_by_cookie_must_come_from_our_own_page(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        int status;
    } cases[] = {
        {"", 403},
        {"Origin: https://stellar.test:8440\r\n", 200},
        {"Origin: http://STELLAR.test:8440\r\n", 200},
        {"Origin: https://stellar.test\r\n", 403},
        {"Origin: https://stellar.test:8441\r\n", 403},
        {"Origin: https://stellar.test:8440.evil.test\r\n", 403},
        {"Origin: https://evil.test\r\n", 403},
        {"Origin: ftp://stellar.test:8440\r\n", 403},
        {"Origin: null\r\n", 403},
        {"Origin: \r\n", 403},
        {"Referer: https://stellar.test:8440/page?x=1\r\n", 200},
        {"Referer: https://evil.test/stellar.test:8440\r\n", 403},
        {"Referer: https://stellar.test:8440@evil.test/\r\n", 403},
        {"Origin: null\r\nReferer: https://stellar.test:8440/\r\n", 403},
        {"Sec-Fetch-Site: same-origin\r\n", 200},
        {"Sec-Fetch-Site: same-site\r\nOrigin: https://stellar.test:8440\r\n", 403},
        {"Sec-Fetch-Site: cross-site\r\n", 403},
        {"Sec-Fetch-Site: none\r\n", 403},
    };
    struct answer a;
    char lines[512];
    for (size_t i = 0; i < COUNT(cases); i++) {
        snprintf(lines, sizeof(lines), "%s%s", COOKIE, cases[i].lines);
        call("POST /v1/who", lines, &a);
        if (cases[i].status == 200)
            assert_status(a, 200);
        else
            assert_problem(&a, 403, "cross-origin");
    }
    call("GET /v1/who", COOKIE "Origin: https://evil.test\r\n", &a);
    assert_status(a, 200);
    call("POST /v1/who:look", COOKIE "Origin: https://evil.test\r\n", &a);
    assert_status(a, 200);
}

static void the_scope_read_changes_nothing(void **state)
{
    (void)state;
    struct answer a;
    call("GET /v1/who", "Authorization: Bearer read:admin\r\n", &a);
    assert_status(a, 200);
    call("POST /v1/who:look", "Authorization: Bearer read:admin\r\n", &a);
    assert_status(a, 200);
    call("POST /v1/who", "Authorization: Bearer read:admin\r\n", &a);
    assert_problem(&a, 403, "scope");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cookie_is_read_among_others),
        cmocka_unit_test(a_cookie_at_its_longest_is_read_and_one_byte_more_is_not),
        cmocka_unit_test(a_token_wins_over_a_cookie),
        cmocka_unit_test(a_change_by_cookie_must_come_from_our_own_page),
        cmocka_unit_test(the_scope_read_changes_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
