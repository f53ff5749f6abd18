#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/http_exchange.h"

/* A server for one request: it reads until a blank line and the body, and sends what it is told. */
static struct err err;
static int listen_fd, port;
static char got[8192];
static char *reply;
static bool drips; /* a byte each 20 ms */
static pthread_t thread;

static void *serve(void *arg)
{
    (void)arg;
    size_t len = 0;
    int fd = accept(listen_fd, NULL, NULL);
    for (;;) {
        ssize_t n = recv(fd, got + len, sizeof(got) - 1 - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
        got[len] = '\0';
        const char *end = strstr(got, "\r\n\r\n"), *size = strcasestr(got, "content-length:");
        if (end != NULL && len >= (size_t)(end + 4 - got) + (size_t)(size ? atol(size + 15) : 0))
            break;
    }
    for (size_t at = 0, all = strlen(reply); at < all;) {
        ssize_t n = send(fd, reply + at, drips ? 1 : all - at, MSG_NOSIGNAL);
        if (drips)
            usleep(20000);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    close(fd);
    return NULL;
}

static void begin(const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listen_fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listen_fd, 1), 0);
    assert_int_equal(getsockname(listen_fd, (struct sockaddr *)&address, &len), 0);
    port = ntohs(address.sin_port);
    memset(got, 0, sizeof(got));
    free(reply);
    reply = strdup(text);
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
}

static void end(void)
{
    pthread_join(thread, NULL);
    close(listen_fd);
}

static enum err_code exchange(struct http_exchange *exchange, struct http_answer *out)
{
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/x", port);
    exchange->request.url = url;
    if (exchange->request.method == NULL)
        exchange->request.method = "GET";
    enum err_code code = http_exchange(exchange, out, &err);
    end();
    return code;
}

static void headers_are_found_by_name_and_the_last_one_counts(void **state)
{
    (void)state;
    struct http_exchange one = {.idle_ns = 0};
    struct http_answer answer;
    char text[8];
    begin("HTTP/1.1 200 OK\r\neTag: \t\"7\" \r\nX: a\r\nx: b\r\nLong: 12345678\r\nContent-Length: "
          "2\r\n\r\nhi");
    assert_ok(exchange(&one, &answer));
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.body, "hi");
    assert_true(http_answer_header(&answer, "ETag", text, sizeof(text)));
    assert_string_equal(text, "\"7\"");
    assert_true(http_answer_header(&answer, "X", text, sizeof(text)));
    assert_string_equal(text, "b");
    assert_false(http_answer_header(&answer, "Long", text, sizeof(text)));
    assert_false(http_answer_header(&answer, "None", text, sizeof(text)));
    http_answer_release(&answer);
}

static bool take(void *arg, const char *data, size_t len)
{
    strncat(arg, data, len);
    return strstr(arg, "stop") == NULL;
}

static void a_sink_takes_a_success_and_may_end_it(void **state)
{
    (void)state;
    char taken[64] = "";
    struct http_exchange one = {.sink = take, .sink_arg = taken, .idle_ns = 5000000000};
    struct http_answer answer;
    begin("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nplease stop");
    assert_ok(exchange(&one, &answer));
    assert_string_equal(taken, "please stop");
    assert_string_equal(answer.body, "");
    http_answer_release(&answer);
}

static void fifty_bytes_a_second_are_as_good_as_none(void **state)
{
    (void)state;
    char taken[512] = "", text[512];
    struct http_exchange one = {
        .sink = take, .sink_arg = taken, .idle_ns = 1000000000, .slow_bytes = 1000};
    struct http_answer answer;
    snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n%0400d", 0);
    drips = true;
    begin(text);
    assert_fails(exchange(&one, &answer), ERR_UNAVAILABLE);
    drips = false;
    assert_true(strlen(taken) < 400);
}

static void a_problem_is_collected_beside_the_sink(void **state)
{
    (void)state;
    char taken[64] = "";
    struct http_exchange one = {.sink = take, .sink_arg = taken};
    struct http_answer answer;
    begin("HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\nnope");
    assert_ok(exchange(&one, &answer));
    assert_int_equal(answer.status, 404);
    assert_string_equal(answer.body, "nope");
    assert_string_equal(taken, "");
    http_answer_release(&answer);
}

static void a_file_is_sent_whole_with_its_type_and_length(void **state)
{
    (void)state;
    char path[] = "/tmp/stellar-body-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "content", 7), 7);
    close(fd);
    struct http_exchange one = {.request = {.method = "POST", .content_type = "text/x"},
                                .body_path = path};
    struct http_answer answer;
    begin("HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n");
    assert_ok(exchange(&one, &answer));
    assert_int_equal(answer.status, 201);
    assert_int_equal(strncmp(got, "POST /x HTTP/1.1\r\n", 18), 0);
    assert_non_null(strstr(got, "\r\nContent-Type: text/x\r\n"));
    assert_non_null(strstr(got, "\r\nContent-Length: 7\r\n"));
    assert_non_null(strstr(got, "\r\n\r\ncontent"));
    http_answer_release(&answer);
    unlink(path);
    struct http_answer none;
    one.request.url = "http://127.0.0.1:1/";
    assert_fails(http_exchange(&one, &none, &err), ERR_IO);
    one.body_path = "/tmp";
    assert_fails(http_exchange(&one, &none, &err), ERR_INVALID);
}

static void headers_are_bounded(void **state)
{
    (void)state;
    struct http_exchange one = {.idle_ns = 0};
    struct http_answer answer;
    char *text = calloc(1, HTTP_EXCHANGE_HEADERS_MAX + 4096);
    strcpy(text, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
    while (strlen(text) <= HTTP_EXCHANGE_HEADERS_MAX)
        strcat(text, "X-Filler: 0123456789012345678901234567890123456789012345678901234567\r\n");
    strcat(text, "\r\n");
    begin(text);
    free(text);
    assert_fails(exchange(&one, &answer), ERR_LIMIT);
    assert_non_null(strstr(err.text, "headers"));
}

static void an_answer_that_breaks_off_is_none(void **state)
{
    (void)state;
    struct http_exchange one = {.idle_ns = 0};
    struct http_answer answer;
    begin("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf");
    assert_fails(exchange(&one, &answer), ERR_UNAVAILABLE);
}

static int done(void **state)
{
    (void)state;
    free(reply);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_found_by_name_and_the_last_one_counts),
        cmocka_unit_test(a_sink_takes_a_success_and_may_end_it),
        cmocka_unit_test(fifty_bytes_a_second_are_as_good_as_none),
        cmocka_unit_test(a_problem_is_collected_beside_the_sink),
        cmocka_unit_test(a_file_is_sent_whole_with_its_type_and_length),
        cmocka_unit_test(headers_are_bounded),
        cmocka_unit_test(an_answer_that_breaks_off_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
