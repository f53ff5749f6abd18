/*
 * tests/unit/server/test_http_faults.c - clients that are slow, greedy, broken or gone.
 */
#include "tests/unit/server/test_http_fixture.h"

#include <curl/curl.h>

#define DEADLINE_MS 400
#define IDLE_MS     1200
#define MIB         ((size_t)1024 * 1024)

static struct http_server *server;
static uint16_t port;

static void hello(struct request *request)
{
    request_reply_text(request, 200, "text/plain", "hello", 5);
}

static void length(struct request *request)
{
    size_t len;
    request_body(request, &len);
    char text[32];
    int n = snprintf(text, sizeof(text), "%zu", len);
    request_reply_text(request, 200, "text/plain", text, (size_t)n);
}

static const struct route table[] = {
    {"GET", "/hello", 0, ROUTE_OPEN, hello, "hello", NULL},
    {"POST", "/small", 0, ROUTE_OPEN, length, "small", NULL},
    {"POST", "/large", 0, ROUTE_OPEN | ROUTE_LARGE, length, "large", NULL},
    {"POST", "/closed", ROLE_BIT(ROLE_ADMIN), ROUTE_LARGE, length, "closed", NULL},
};

static int start(uint32_t deadline_ms, uint32_t connections_max)
{
    server = fixture_start((struct http_config){.routes = table,
                                                .route_count = COUNT(table),
                                                .request_deadline_ms = deadline_ms,
                                                .idle_ms = deadline_ms != 0 ? IDLE_MS : 0,
                                                .connections_max = connections_max});
    port = http_server_port(server);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return start(DEADLINE_MS, 0);
}

static int setup_tight(void **state)
{
    (void)state;
    return start(DEADLINE_MS, 64);
}

static int setup_patient(void **state)
{
    (void)state;
    return start(0, 0);
}

static int teardown(void **state)
{
    (void)state;
    http_server_stop(server);
    return 0;
}

static void assert_alive(void)
{
    static struct answer a;
    raw_call(port, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", &a);
    assert_status(a, 200);
    assert_string_equal(a.body, "hello");
}

/* Sends the text one byte each 20 ms; returns after how many ms the server cut us. */
static int64_t trickle(const char *text)
{
    int fd = raw_open(port);
    int64_t begin = now_ms();
    for (const char *p = text; now_ms() - begin < 5000; p += p[1] != '\0') {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (!raw_send_len(fd, p, 1) || poll(&wait, 1, 20) > 0)
            break;
    }
    assert_true(raw_is_closed(fd));
    close(fd);
    return now_ms() - begin;
}

static void assert_cut_near(int64_t ms, int64_t wanted_ms)
{
    if (ms < wanted_ms - 20 || ms > wanted_ms + 3000)
        fail_msg("cut after %lld ms, wanted about %lld", (long long)ms, (long long)wanted_ms);
}

static void a_head_that_comes_byte_by_byte_is_cut(void **state)
{
    (void)state;
    assert_cut_near(trickle("GET /hello"), DEADLINE_MS);
    assert_cut_near(trickle("GET /hello HTTP/1.1\r\nHost: x\r\nX-Slow: aaaaaaaaaaaaaaa"),
                    DEADLINE_MS);
    assert_alive();
}

static void a_body_that_comes_byte_by_byte_is_cut(void **state)
{
    (void)state;
    assert_cut_near(trickle("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\nab"),
                    DEADLINE_MS);
    assert_alive();
}

static void a_client_that_says_nothing_is_cut(void **state)
{
    (void)state;
    int fd = raw_open(port);
    int64_t begin = now_ms();
    assert_true(raw_is_closed(fd));
    assert_cut_near(now_ms() - begin, DEADLINE_MS);
    close(fd);
}

static void a_connection_between_requests_lives_for_the_idle_time(void **state)
{
    (void)state;
    int fd = raw_open(port);
    static struct answer a;
    for (int i = 0; i < 3; i++) {
        raw_send(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        raw_read(fd, &a);
        assert_status(a, 200);
        sleep_ms(IDLE_MS / 2);
    }
    int64_t begin = now_ms();
    assert_true(raw_is_closed(fd));
    assert_cut_near(now_ms() - begin, IDLE_MS / 2);
    close(fd);
}

static void half_a_request_and_gone_leaves_nothing_behind(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "G", "GET /hello HTTP/1.1\r\nHo",
        "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
        "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "POST /closed HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"};
    for (int i = 0; i < 50; i++) {
        int fd = raw_open(port);
        raw_send(fd, parts[(size_t)i % COUNT(parts)]);
        if (i % 2 == 0) { /* reset instead of an orderly end */
            struct linger hard = {.l_onoff = 1};
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
        }
        close(fd);
    }
    assert_soon(fixture_connections(server) == 0);
    assert_alive();
}

static void a_flood_over_the_limit_ends_by_itself(void **state)
{
    (void)state;
    int fds[300];
    for (size_t i = 0; i < COUNT(fds); i++)
        fds[i] = raw_open(port); /* the kernel's backlog takes what we do not */
    assert_true(fixture_connections(server) <= 64);
    assert_alive(); /* after the idle ones were cut */
    for (size_t i = 0; i < COUNT(fds); i++)
        close(fds[i]);
    assert_soon(fixture_connections(server) == 0);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    (void)state;
    static const char *const round =
        "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
        "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
        "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
        "POST /closed HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd"
        "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nab\r\n3;x=y\r\ncde\r\n0\r\n\r\n";
    static struct answer a;
    char text[8192] = "";
    for (int i = 0; i < 10; i++)
        strcat(text, round);
    int fd = raw_open(port);
    raw_send(fd, text);
    for (int i = 0; i < 10; i++) {
        raw_read(fd, &a);
        assert_string_equal(a.body, "hello");
        raw_read(fd, &a);
        assert_string_equal(a.body, "3");
        raw_read(fd, &a);
        assert_status(a, 404);
        raw_read(fd, &a);
        assert_status(a, 401);
        raw_read(fd, &a);
        assert_string_equal(a.body, "5");
    }
    close(fd);
}

/* A body of n bytes with its length said, or in chunks of 8,000 bytes. */
static void send_body(int fd, const char *path, size_t n, bool chunked)
{
    char head[256], chunk[8000];
    memset(chunk, ' ', sizeof(chunk));
    if (chunked)
        snprintf(head, sizeof(head),
                 "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", path);
    else
        snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                 path, n);
    bool open = raw_send(fd, head);
    while (open && n > 0) {
        size_t part = n < sizeof(chunk) ? n : sizeof(chunk);
        char size[32];
        snprintf(size, sizeof(size), "%zx\r\n", part);
        open = (!chunked || raw_send(fd, size)) && raw_send_len(fd, chunk, part) &&
               (!chunked || raw_send(fd, "\r\n"));
        n -= part;
    }
    if (open && chunked)
        raw_send(fd, "0\r\n\r\n");
}

static void bodies_are_taken_up_to_their_limit(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        size_t len;
        int status;
        bool goes_on; /* the connection is good for another request */
    } rows[] = {
        {"/small", 0, 200, true},
        {"/small", HTTP_BODY_MAX, 200, true},
        {"/small", HTTP_BODY_MAX + 1, 413, true},
        {"/large", HTTP_BODY_MAX + 1, 200, true},
        {"/large", HTTP_BODY_LARGE_MAX, 200, true},
        {"/closed", MIB / 2, 401, true},
    };
    static struct answer a;
    char want[32];
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        bool chunked = i % 2 == 1;
        int fd = raw_open(port);
        send_body(fd, rows[i / 2].path, rows[i / 2].len, chunked);
        raw_read(fd, &a);
        assert_status(a, rows[i / 2].status);
        snprintf(want, sizeof(want), "%zu", rows[i / 2].len);
        if (a.status == 200)
            assert_string_equal(a.body, want);
        if (rows[i / 2].goes_on) {
            raw_send(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
            raw_read(fd, &a);
            assert_status(a, 200);
        }
        close(fd);
    }
}

static void a_body_far_over_the_limit_is_not_read(void **state)
{
    (void)state;
    static struct answer a;
    int fd = raw_open(port);
    raw_send(fd,
             "POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n");
    raw_read(fd, &a);
    assert_true(a.status == 413 && a.close);
    close(fd);
    raw_call(port, "POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 16777217\r\n\r\n", &a);
    assert_status(a, 413);
    assert_true(a.close);
    raw_call(port, "POST /closed HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n", &a);
    assert_status(a, 401);
    assert_true(a.close);
    /* Chunks without an end: cut when HTTP_DRAIN_MAX was thrown away. */
    fd = raw_open(port);
    send_body(fd, "/small", 64 * MIB, true);
    raw_read(fd, &a);
    assert_int_equal(a.status, 0);
    close(fd);
    assert_alive();
}

static void a_refusal_comes_before_100_continue(void **state)
{
    (void)state;
    static struct answer a;
    int fd = raw_open(port);
    raw_send(fd, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n"
                 "Expect: 100-continue\r\n\r\n");
    raw_read(fd, &a);
    assert_status(a, 413);
    assert_true(a.close);
    close(fd);
    fd = raw_open(port);
    raw_send(fd, "POST /closed HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                 "Expect: 100-continue\r\n\r\n");
    raw_read(fd, &a);
    assert_status(a, 401);
    close(fd);
    fd = raw_open(port);
    raw_send(fd, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                 "Expect: 100-continue\r\n\r\n");
    raw_read(fd, &a);
    assert_status(a, 100);
    raw_send(fd, "abc");
    raw_read(fd, &a);
    assert_string_equal(a.body, "3");
    close(fd);
}

static void absurd_heads_are_refused(void **state)
{
    (void)state;
    static struct answer a;
    static char text[200000];
    static const size_t sizes[] = {14000, sizeof(text) - 1};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        memset(text, 'a', sizes[i]);
        text[sizes[i]] = '\0';
        memcpy(text, "GET /hello HTTP/1.1\r\nHost: x\r\nX-Big: ", 37);
        raw_call(port, text, &a);
        /* When much is unread the reset may overtake the answer. */
        assert_true(a.status == 431 || (i > 0 && a.status == 0));
        memset(text, 'a', 64);
        memcpy(text, "GET /", 5);
        raw_call(port, text, &a);
        assert_true(a.status == 414 || (i > 0 && a.status == 0));
    }
    size_t used = (size_t)snprintf(text, sizeof(text), "GET /hello HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 5000; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "X-%d: y\r\n", i);
    raw_call(port, text, &a);
    assert_true(a.status == 431 || a.status == 0);
    assert_alive();
}

static void http_1_0_is_answered_and_closed(void **state)
{
    (void)state;
    static struct answer a;
    int fd = raw_open(port);
    raw_send(fd, "GET /hello HTTP/1.0\r\n\r\n");
    raw_read(fd, &a);
    assert_status(a, 200);
    assert_string_equal(a.body, "hello");
    assert_true(raw_is_closed(fd));
    close(fd);
}

static void what_is_no_http_is_not_answered_by_a_handler(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\x16\x03\x01\x02\x01\x01\xfc\x03\x03\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /hello\r\n\r\n",
        "GET /hello HTTP/9.9\r\nHost: x\r\n\r\n",
        "GET  HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /hello HTTP/1.1\r\nno colon here\r\n\r\n",
        "GET /hello HTTP/1.1\r\n\r\n",
        "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
        "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET /hello x HTTP/1.1\r\nHost: x\r\n\r\n",
    };
    static struct answer a;
    for (size_t i = 0; i < COUNT(texts); i++) {
        raw_call(port, texts[i], &a);
        if (a.status == 200)
            fail_msg("answered 200: %s", texts[i]);
    }
    assert_alive();
}

static size_t swallow(char *data, size_t size, size_t n, void *arg)
{
    (void)data;
    *(size_t *)arg += size * n;
    return size * n;
}

static void a_real_client_keeps_its_connection(void **state)
{
    (void)state;
    CURL *curl = curl_easy_init();
    assert_non_null(curl);
    char url[64];
    size_t got = 0;
    static char body[MIB + 1];
    memset(body, ' ', sizeof(body) - 1);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &got);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    for (int i = 0; i < 6; i++) {
        long status = 0, opened = 0;
        bool post = i % 2 == 1;
        snprintf(url, sizeof(url), "http://127.0.0.1:%u/%s", port, post ? "small" : "hello");
        curl_easy_setopt(curl, CURLOPT_URL, url);
        curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
        if (post) { /* over 1 MiB curl sends Expect: 100-continue */
            curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)MIB);
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        }
        assert_int_equal(curl_easy_perform(curl), CURLE_OK);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &opened);
        assert_int_equal(status, 200);
        assert_int_equal(opened, i == 0);
    }
    assert_int_equal(got, 3 * (5 + 7));
    curl_easy_cleanup(curl);
}

#define fault_test(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        fault_test(a_head_that_comes_byte_by_byte_is_cut),
        fault_test(a_body_that_comes_byte_by_byte_is_cut),
        fault_test(a_client_that_says_nothing_is_cut),
        fault_test(a_connection_between_requests_lives_for_the_idle_time),
        fault_test(half_a_request_and_gone_leaves_nothing_behind),
        cmocka_unit_test_setup_teardown(a_flood_over_the_limit_ends_by_itself, setup_tight,
                                        teardown),
        fault_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test_setup_teardown(bodies_are_taken_up_to_their_limit, setup_patient,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_body_far_over_the_limit_is_not_read, setup_patient,
                                        teardown),
        fault_test(a_refusal_comes_before_100_continue),
        fault_test(absurd_heads_are_refused),
        fault_test(http_1_0_is_answered_and_closed),
        fault_test(what_is_no_http_is_not_answered_by_a_handler),
        fault_test(a_real_client_keeps_its_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
