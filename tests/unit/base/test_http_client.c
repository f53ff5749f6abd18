/* The client against a small server of this file: one thread, its own loop. */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/http_client.h"

#define LONG_LINE (512 * 1024) /* bytes; curl takes 100 KiB */
#define MANY      2000

static struct err err;
static struct loop *server_loop, *loop;
static struct http_client *client;
static pthread_t server_thread;
static int listen_fd, port;
static _Atomic int connections_made;

/* Server --------------------------------------------------------------------------------------- */

struct connection {
    int fd;
    struct loop_fd *lfd;
    char request[4096];
    size_t len;
};

static void send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        data += n;
        len -= (size_t)n;
    }
}

static void answer(int fd, const char *head, const char *body, size_t len)
{
    char text[1024];
    int n = snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n", head, len);
    send_all(fd, text, (size_t)n);
    send_all(fd, body, len);
}

static void answer_big(int fd, size_t len)
{
    char *body = calloc(1, len);
    answer(fd, "200 OK", body, len);
    free(body);
}

/* One line of the head that is longer than curl takes. */
static void answer_long_line(int fd)
{
    static const char begin[] = "HTTP/1.1 200 OK\r\nX: ";
    char *line = malloc(LONG_LINE);
    memset(line, 'a', LONG_LINE);
    send_all(fd, begin, sizeof(begin) - 1);
    send_all(fd, line, LONG_LINE);
    free(line);
}

/* False when the connection must end. */
static bool serve(struct connection *c)
{
    const char *path = strchr(c->request, ' ') + 1;
    if (strncmp(path, "/ok", 3) == 0)
        answer(c->fd, "200 OK\r\neTaG:  \"r7\" ", "hello", 5);
    else if (strncmp(path, "/echo", 5) == 0)
        answer(c->fd, "201 Created", c->request, c->len);
    else if (strncmp(path, "/redirect", 9) == 0)
        answer(c->fd, "302 Found\r\nLocation: /ok\r\nstellar-STORE: 00ff", "", 0);
    else if (strncmp(path, "/just", 5) == 0)
        answer_big(c->fd, HTTP_CLIENT_BODY_MAX);
    else if (strncmp(path, "/big", 4) == 0)
        answer_big(c->fd, HTTP_CLIENT_BODY_MAX + 1);
    else if (strncmp(path, "/long-line", 10) == 0)
        answer_long_line(c->fd);
    else if (strncmp(path, "/head", 5) == 0)
        answer(c->fd, "204 No Content", "", 0);
    else if (strncmp(path, "/slow", 5) != 0)
        return false;
    c->len = 0;
    return true;
}

static void drop(struct connection *c)
{
    loop_fd_del(c->lfd);
    close(c->fd);
    free(c);
}

static void on_readable(void *arg, uint32_t events)
{
    struct connection *c = arg;
    (void)events;
    ssize_t n = recv(c->fd, c->request + c->len, sizeof(c->request) - 1 - c->len, 0);
    if (n <= 0) {
        drop(c);
        return;
    }
    c->len += (size_t)n;
    c->request[c->len] = '\0';
    const char *end = strstr(c->request, "\r\n\r\n");
    const char *length = strcasestr(c->request, "\r\ncontent-length:");
    size_t body = length != NULL ? (size_t)atol(length + 17) : 0;
    if (end != NULL && c->len >= (size_t)(end + 4 - c->request) + body && !serve(c))
        drop(c);
}

static void on_connection(void *arg, uint32_t events)
{
    (void)arg;
    (void)events;
    struct connection *c = calloc(1, sizeof(*c));
    c->fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (c->fd < 0 || loop_fd_add(server_loop, c->fd, EPOLLIN, on_readable, c, &c->lfd, NULL)) {
        free(c);
        return;
    }
    connections_made++;
}

static void *serve_thread(void *arg)
{
    (void)arg;
    if (loop_run(server_loop, NULL))
        abort();
    return NULL;
}

static int start_server(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    struct loop_fd *lfd;
    listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listen_fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listen_fd, 4096), 0);
    assert_int_equal(getsockname(listen_fd, (struct sockaddr *)&address, &len), 0);
    port = ntohs(address.sin_port);
    assert_ok(loop_new(&server_loop, &err));
    assert_ok(loop_fd_add(server_loop, listen_fd, EPOLLIN, on_connection, NULL, &lfd, &err));
    assert_int_equal(pthread_create(&server_thread, NULL, serve_thread, NULL), 0);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    loop_stop(server_loop);
    pthread_join(server_thread, NULL);
    loop_free(server_loop);
    close(listen_fd);
    return 0;
}

/* Client --------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    assert_ok(loop_new(&loop, &err));
    assert_ok(http_client_new(loop, &client, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    http_client_free(client);
    loop_free(loop);
    return 0;
}

static const char *url(const char *path)
{
    static char text[8][256];
    static unsigned next;
    char *out = text[next++ % 8];
    snprintf(out, 256, "http://127.0.0.1:%d%s", port, path);
    return out;
}

struct seen {
    int count;
    long status;
    enum err_code code;
    char text[ERR_TEXT_MAX], etag[64], store[HTTP_STORE_MAX], location[64], body[4096];
    size_t body_len;
};

static void on_done(void *arg, const struct http_response *response)
{
    struct seen *seen = arg;
    seen->count++;
    seen->status = response->status;
    seen->code = response->err.code;
    snprintf(seen->text, sizeof(seen->text), "%s", response->err.text);
    snprintf(seen->etag, sizeof(seen->etag), "%s", response->etag);
    snprintf(seen->store, sizeof(seen->store), "%s", response->store);
    snprintf(seen->location, sizeof(seen->location), "%s", response->location);
    snprintf(seen->body, sizeof(seen->body), "%s", response->body);
    seen->body_len = response->body_len;
}

static void run_until(const int *count, int wanted)
{
    for (int i = 0; i < 100000 && *count < wanted; i++)
        assert_ok(loop_turn(loop, 1000, &err));
    assert_int_equal(*count, wanted);
}

static struct seen request(const struct http_request *what)
{
    struct seen seen = {0};
    assert_ok(http_client_start(client, what, on_done, &seen, NULL, &err));
    assert_int_equal(seen.count, 0);
    run_until(&seen.count, 1);
    return seen;
}

static void answer_has_status_body_and_etag(void **state)
{
    (void)state;
    struct seen seen = request(&(struct http_request){.method = "GET", .url = url("/ok")});
    assert_int_equal(seen.status, 200);
    assert_int_equal(seen.code, ERR_OK);
    assert_string_equal(seen.body, "hello");
    assert_string_equal(seen.etag, "\"r7\"");
}

static void method_token_headers_and_body_reach_the_server(void **state)
{
    (void)state;
    char body[] = "{\"a\":1}";
    struct http_request put = {.method = "PUT",
                               .url = url("/echo?x=1"),
                               .bearer = "st_secret",
                               .headers = {"If-Match: \"3\"", "X-Y: z"},
                               .body = body,
                               .body_len = 7};
    struct seen seen = {0};
    assert_ok(http_client_start(client, &put, on_done, &seen, NULL, &err));
    memset(body, 'x', 7); /* the body was copied */
    run_until(&seen.count, 1);
    assert_int_equal(seen.status, 201);
    assert_contains(seen.body, "PUT /echo?x=1 HTTP/1.1\r\n");
    assert_contains(seen.body, "Authorization: Bearer st_secret\r\n");
    assert_contains(seen.body, "If-Match: \"3\"\r\n");
    assert_contains(seen.body, "X-Y: z\r\n");
    assert_contains(seen.body, "Content-Type: application/json\r\n");
    assert_contains(seen.body, "\r\n\r\n{\"a\":1}");
    assert_null(strstr(seen.body, "Expect:"));
}

static void post_without_a_body_says_length_0_and_delete_says_nothing(void **state)
{
    (void)state;
    struct seen seen = request(&(struct http_request){.method = "POST", .url = url("/echo")});
    assert_contains(seen.body, "Content-Length: 0\r\n");
    assert_null(strstr(seen.body, "Content-Type"));
    seen = request(&(struct http_request){.method = "DELETE", .url = url("/echo")});
    assert_contains(seen.body, "DELETE /echo");
    assert_null(strstr(seen.body, "Content-Length"));
    seen = request(&(struct http_request){.method = "HEAD", .url = url("/head")});
    assert_int_equal(seen.status, 204);
}

static void redirect_is_told_not_followed(void **state)
{
    (void)state;
    struct seen seen = request(&(struct http_request){.method = "GET", .url = url("/redirect")});
    assert_int_equal(seen.status, 302);
    assert_string_equal(seen.location, "/ok");
    assert_string_equal(seen.store, "00ff");
    assert_string_equal(seen.etag, "");
}

static void the_host_of_a_redirect_is_told_and_nothing_else_of_it(void **state)
{
    (void)state;
    static const struct {
        const char *location, *host;
    } rows[] = {
        {"https://sso.example:8443/login?token=s", "sso.example:8443"},
        {"http://user:pass@proxy.example", "proxy.example"},
        {"http://a@b@[2001:db8::1]:80/", "[2001:db8::1]:80"},
        {"//other.example/x", "other.example"},
        {"/login?next=https://sso.example/", ""},
        {"login", ""},
        {"", ""},
        {"mailto:someone", ""},
    };
    char host[64];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        http_location_host(rows[i].location, host, sizeof(host));
        assert_string_equal(host, rows[i].host);
    }
    http_location_host("http://evil\x1b[2J.example/", host, sizeof(host));
    assert_null(strchr(host, '\x1b'));
    char longest[600] = "http://";
    memset(longest + 7, 'a', sizeof(longest) - 8);
    http_location_host(longest, host, sizeof(host));
    assert_true(strlen(host) < sizeof(host));
}

static void proxy_of_the_environment_is_ignored(void **state)
{
    (void)state;
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    struct seen seen = request(&(struct http_request){.method = "GET", .url = url("/ok")});
    assert_int_equal(seen.status, 200);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
}

static void no_answer_is_unavailable(void **state)
{
    (void)state;
    struct seen seen =
        request(&(struct http_request){.method = "GET", .url = "http://127.0.0.1:1/x?secret=1"});
    assert_int_equal(seen.status, 0);
    assert_int_equal(seen.code, ERR_UNAVAILABLE);
    assert_contains(seen.text, "GET http://127.0.0.1:1/x: ");
    assert_null(strstr(seen.text, "secret"));
    seen = request(&(struct http_request){.method = "GET", .url = url("/drop")});
    assert_int_equal(seen.code, ERR_UNAVAILABLE);
}

static void deadline_ends_a_request(void **state)
{
    (void)state;
    struct clock *clock = clock_system();
    int64_t before = clock->mono_ns(clock);
    struct seen seen = request(&(struct http_request){
        .method = "GET", .url = url("/slow"), .deadline_ns = 50 * NS_PER_MS});
    assert_int_equal(seen.code, ERR_UNAVAILABLE);
    int64_t took = clock->mono_ns(clock) - before;
    assert_true(took >= 45 * NS_PER_MS && took < 5 * NS_PER_S);
}

static void body_of_16_mib_passes_and_one_byte_more_is_refused(void **state)
{
    (void)state;
    struct seen seen = request(&(struct http_request){.method = "GET", .url = url("/just")});
    assert_int_equal(seen.code, ERR_OK);
    assert_int_equal(seen.body_len, HTTP_CLIENT_BODY_MAX);
    seen = request(&(struct http_request){.method = "GET", .url = url("/big")});
    assert_int_equal(seen.code, ERR_LIMIT);
    assert_int_equal(seen.status, 0);
}

/* A server's fault, and told as one: the node has memory enough. */
static void a_head_with_an_endless_line_is_no_lack_of_memory(void **state)
{
    (void)state;
    struct seen seen = request(&(struct http_request){.method = "GET", .url = url("/long-line")});
    assert_int_equal(seen.code, ERR_UNAVAILABLE);
    assert_int_equal(seen.status, 0);
    assert_contains(seen.text, "/long-line: a line of the answer's head is too long");
}

static void malformed_requests_are_refused_at_once(void **state)
{
    (void)state;
    const struct http_request bad[] = {
        {.method = "get", .url = url("/ok")},
        {.method = "", .url = url("/ok")},
        {.method = "GET /x", .url = url("/ok")},
        {.method = "GET", .url = "ftp://127.0.0.1/"},
        {.method = "GET", .url = "file:///etc/passwd"},
        {.method = "GET", .url = "http://127.0.0.1/a b"},
        {.method = "GET", .url = "http://127.0.0.1/\r\nX: y"},
        {.method = "GET", .url = url("/ok"), .bearer = "a\r\nX: y"},
        {.method = "GET", .url = url("/ok"), .headers = {"X: y\nZ: w"}},
        {.method = "GET", .url = url("/ok"), .headers = {"no colon"}},
        {.method = "PUT", .url = url("/ok"), .body = "x", .body_len = 1, .content_type = "a\nb"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_fails(http_client_start(client, &bad[i], on_done, NULL, NULL, &err), ERR_INVALID);
}

static void connection_is_kept_between_requests(void **state)
{
    (void)state;
    int before = connections_made;
    for (int i = 0; i < 10; i++)
        assert_int_equal(request(&(struct http_request){.method = "GET", .url = url("/ok")}).status,
                         200);
    assert_int_equal(connections_made, before + 1);
}

static void cancelled_request_calls_nobody(void **state)
{
    (void)state;
    struct seen gone = {0};
    uint64_t id;
    struct http_request slow = {.method = "GET", .url = url("/slow")};
    assert_ok(http_client_start(client, &slow, on_done, &gone, &id, &err));
    assert_ok(loop_turn(loop, 10, &err));
    http_client_cancel(client, id);
    http_client_cancel(client, id);
    http_client_cancel(client, 12345);
    request(&(struct http_request){.method = "GET", .url = url("/ok")});
    assert_int_equal(gone.count, 0);
    assert_ok(http_client_start(client, &slow, on_done, &gone, &id, &err)); /* freed running */
}

static int chained;

static void start_next(void *arg, const struct http_response *response)
{
    assert_int_equal(response->status, 200);
    if (++chained < 5)
        assert_ok(http_client_start(client,
                                    &(struct http_request){.method = "GET", .url = url("/ok")},
                                    start_next, arg, NULL, &err));
}

static void callback_may_start_the_next_request(void **state)
{
    (void)state;
    chained = 0;
    assert_ok(http_client_start(client, &(struct http_request){.method = "GET", .url = url("/ok")},
                                start_next, NULL, NULL, &err));
    run_until(&chained, 5);
}

static void free_client(void *arg, const struct http_response *response)
{
    (void)response;
    ++*(int *)arg;
    http_client_free(client);
    client = NULL;
}

static void callback_may_free_the_client(void **state)
{
    (void)state;
    int freed = 0;
    struct seen never = {0};
    struct http_request ok = {.method = "GET", .url = url("/ok")};
    struct http_request slow = {.method = "GET", .url = url("/slow")};
    assert_ok(http_client_start(client, &slow, on_done, &never, NULL, &err));
    assert_ok(http_client_start(client, &ok, free_client, &freed, NULL, &err));
    run_until(&freed, 1);
    assert_ok(loop_turn(loop, 0, &err));
    assert_int_equal(never.count, 0);
}

static int many_done, many_ok;

static void on_many(void *arg, const struct http_response *response)
{
    (void)arg;
    many_done++;
    many_ok += response->status == 200;
}

static void two_thousand_requests_run_at_once(void **state)
{
    (void)state;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int count = limit.rlim_cur > 2 * MANY + 100 ? MANY : (int)(limit.rlim_cur - 100) / 2;
    if (count < MANY)
        print_message("the limit of open files allows only %d requests here\n", count);
    for (int i = 0; i < count; i++)
        assert_ok(http_client_start(client,
                                    &(struct http_request){.method = "GET", .url = url("/ok")},
                                    on_many, NULL, NULL, &err));
    run_until(&many_done, count);
    assert_int_equal(many_ok, count);
}

static void running_requests_have_a_limit(void **state)
{
    (void)state;
    struct http_request ok = {.method = "GET", .url = "http://127.0.0.1:1/"};
    struct seen seen = {0};
    for (int i = 0; i < HTTP_CLIENT_RUNNING_MAX; i++)
        assert_ok(http_client_start(client, &ok, on_done, &seen, NULL, &err));
    assert_fails(http_client_start(client, &ok, on_done, &seen, NULL, &err), ERR_LIMIT);
}

static void blocking_call_gives_status_and_body(void **state)
{
    (void)state;
    long status = 0;
    char *body = NULL;
    size_t len = 0;
    struct http_request get = {.method = "GET", .url = url("/ok")};
    assert_ok(http_call(&get, &status, &body, &len, &err));
    assert_int_equal(status, 200);
    assert_string_equal(body, "hello");
    free(body);
    get.url = url("/head");
    assert_ok(http_call(&get, &status, &body, &len, &err));
    assert_string_equal(body, "");
    free(body);
    get.url = "http://127.0.0.1:1/";
    assert_fails(http_call(&get, &status, &body, &len, &err), ERR_UNAVAILABLE);
    get.url = "gopher://x/";
    assert_fails(http_call(&get, &status, &body, &len, &err), ERR_INVALID);
    get = (struct http_request){
        .method = "GET", .url = "https://127.0.0.1:1/", .ca_file = "/nonexistent/ca.pem"};
    assert_fails(http_call(&get, &status, &body, &len, &err), ERR_NOT_FOUND);
    assert_contains(err.text, "/nonexistent/ca.pem");
    get.ca_file = "/dev/zero"; /* without an end: not given to libcurl */
    assert_fails(http_call(&get, &status, &body, &len, &err), ERR_INVALID);
    get.ca_file = "/dev/null";
    get.cert_file = get.key_file = "/dev/null";
    assert_fails(http_call(&get, &status, &body, &len, &err), ERR_INVALID);
}

#define CLIENT(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT(answer_has_status_body_and_etag),
        CLIENT(method_token_headers_and_body_reach_the_server),
        CLIENT(post_without_a_body_says_length_0_and_delete_says_nothing),
        CLIENT(redirect_is_told_not_followed),
        CLIENT(the_host_of_a_redirect_is_told_and_nothing_else_of_it),
        CLIENT(proxy_of_the_environment_is_ignored),
        CLIENT(no_answer_is_unavailable),
        CLIENT(deadline_ends_a_request),
        CLIENT(body_of_16_mib_passes_and_one_byte_more_is_refused),
        CLIENT(a_head_with_an_endless_line_is_no_lack_of_memory),
        CLIENT(malformed_requests_are_refused_at_once),
        CLIENT(connection_is_kept_between_requests),
        CLIENT(cancelled_request_calls_nobody),
        CLIENT(callback_may_start_the_next_request),
        CLIENT(callback_may_free_the_client),
        CLIENT(two_thousand_requests_run_at_once),
        CLIENT(running_requests_have_a_limit),
        cmocka_unit_test(blocking_call_gives_status_and_body),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
