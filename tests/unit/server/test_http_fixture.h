#pragma once
/*
 * tests/unit/server/test_http_fixture.h - a real HTTP server on a free loopback port, and a raw
 * client that sends bytes as they are.
 */

#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "server/http.h"
#include "server/route.h"

#define ANSWER_MAX   (64 * 1024)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The token, or the cookie, is the role's name; of tenants "tenant-admin:NAME". "read:ROLE" has the
 * scope read only. */
static inline bool fixture_authenticate(void *app, const struct credentials *given,
                                        struct principal *out)
{
    (void)app;
    static const char *const names[ROLE_COUNT] = {
        [ROLE_NONE] = "none",
        [ROLE_ADMIN] = "admin",
        [ROLE_OPERATOR] = "operator",
        [ROLE_AUDITOR] = "auditor",
        [ROLE_TENANT_ADMIN] = "tenant-admin",
        [ROLE_TENANT_USER] = "tenant-user",
        [ROLE_AGENT] = "agent",
    };
    const char *token = given->bearer != NULL ? given->bearer : given->session;
    bool read_only = strncmp(token, "read:", 5) == 0;
    token += read_only ? 5 : 0;
    size_t len = strcspn(token, ":");
    for (int role = ROLE_ADMIN; role < ROLE_COUNT; role++) {
        if (strlen(names[role]) != len || strncmp(token, names[role], len) != 0)
            continue;
        *out = (struct principal){.role = (enum role)role,
                                  .scopes = read_only ? SCOPE_READ : SCOPE_ALL,
                                  .by_cookie = given->bearer == NULL};
        snprintf(out->name, sizeof(out->name), "token:%s", token);
        if (token[len] == ':')
            snprintf(out->tenant, sizeof(out->tenant), "%s", token + len + 1);
        return true;
    }
    return false;
}

static inline struct http_server *fixture_start(struct http_config config)
{
    struct err err = ERR_INIT;
    struct http_server *server = NULL;
    config.address = config.address != NULL ? config.address : "127.0.0.1";
    config.authenticate = fixture_authenticate;
    assert_ok(http_server_start(&config, &server, &err));
    return server;
}

static inline int64_t now_ms(void)
{
    return clock_system()->mono_ns(clock_system()) / NS_PER_MS;
}

static inline void sleep_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Waits up to 10 s for a condition. */
#define assert_soon(condition)                                                                     \
    do {                                                                                           \
        int64_t until_ = now_ms() + 10000;                                                         \
        while (!(condition) && now_ms() < until_)                                                  \
            sleep_ms(2);                                                                           \
        if (!(condition))                                                                          \
            fail_msg("not true within 10 s: %s", #condition);                                      \
    } while (0)

static inline uint32_t fixture_connections(struct http_server *server)
{
    struct http_stats stats;
    http_stats_get(server, &stats);
    return stats.connections;
}

static inline uint32_t fixture_waiting(struct http_server *server)
{
    struct http_stats stats;
    http_stats_get(server, &stats);
    return stats.waiting;
}

/* Raw client ---------------------------------------------------------------------------------- */

static inline int raw_open(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct timeval patience = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int rc = connect(fd, (const struct sockaddr *)&to, sizeof(to));
    if (rc != 0)
        fail_msg("connect: %s", strerror(errno));
    return fd;
}

/* False when the server has cut the connection. */
static inline bool raw_send_len(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static inline bool raw_send(int fd, const char *text)
{
    return raw_send_len(fd, text, strlen(text));
}

struct answer {
    int status; /* 0 = the connection ended without an answer */
    bool close; /* the server says it closes */
    char head[4096];
    char body[ANSWER_MAX];
    size_t body_len;
};

/* One whole answer by its Content-Length; 100 Continue is skipped when it is not wanted. */
static inline void raw_read_of(int fd, struct answer *out, bool has_body)
{
    memset(out, 0, sizeof(*out));
    size_t used = 0;
    while (strstr(out->head, "\r\n\r\n") == NULL) {
        assert_true(used + 1 < sizeof(out->head));
        ssize_t n = recv(fd, out->head + used, 1, 0);
        if (n <= 0)
            return;
        out->head[++used] = '\0';
    }
    assert_int_equal(sscanf(out->head, "HTTP/1.%*d %d", &out->status), 1);
    out->close = strcasestr(out->head, "\r\nconnection: close") != NULL;
    const char *length = strcasestr(out->head, "\r\ncontent-length:");
    size_t body = length != NULL ? strtoul(length + 17, NULL, 10) : 0;
    if (!has_body || out->status == 304 || out->status == 204 || out->status == 100)
        body = 0;
    assert_true(body < sizeof(out->body));
    while (out->body_len < body) {
        ssize_t n = recv(fd, out->body + out->body_len, body - out->body_len, 0);
        if (n <= 0)
            fail_msg("the body ended after %zu of %zu bytes", out->body_len, body);
        out->body_len += (size_t)n;
    }
}

static inline void raw_read(int fd, struct answer *out)
{
    raw_read_of(fd, out, true);
}

/* Nothing more comes and the server closes. */
static inline bool raw_is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, 0) <= 0 && errno != EAGAIN;
}

/* One connection, one request, one answer. */
static inline void raw_call(uint16_t port, const char *text, struct answer *out)
{
    int fd = raw_open(port);
    raw_send(fd, text);
    raw_read_of(fd, out, strncmp(text, "HEAD ", 5) != 0);
    close(fd);
}

/* The value of a header into `out`; "" when it is absent. */
static inline const char *answer_header(const struct answer *answer, const char *name, char *out,
                                        size_t size)
{
    out[0] = '\0';
    size_t len = strlen(name);
    for (const char *line = strstr(answer->head, "\r\n"); line != NULL;
         line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) != 0 || line[len] != ':')
            continue;
        const char *value = line + len + 1 + strspn(line + len + 1, " ");
        snprintf(out, size, "%.*s", (int)strcspn(value, "\r"), value);
        break;
    }
    return out;
}

#define assert_status(answer, wanted)                                                              \
    do {                                                                                           \
        if ((answer).status != (wanted))                                                           \
            fail_msg("status %d, wanted %d\n%s%.400s", (answer).status, (wanted), (answer).head,   \
                     (answer).body);                                                               \
    } while (0)

#define assert_header(answer, name, wanted)                                                        \
    do {                                                                                           \
        char got_[512];                                                                            \
        assert_string_equal(answer_header(&(answer), (name), got_, sizeof(got_)), (wanted));       \
    } while (0)

/* "GET /path HTTP/1.1" with Host and these lines, as admin. */
static inline void raw_get(uint16_t port, const char *target, const char *lines, struct answer *out)
{
    char text[16384];
    snprintf(text, sizeof(text),
             "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n%s\r\n", target, lines);
    raw_call(port, text, out);
}

static inline void raw_post(uint16_t port, const char *path, const char *lines, const char *body,
                            struct answer *out)
{
    char text[16384];
    snprintf(text, sizeof(text), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n%s\r\n%s",
             path, strlen(body), lines, body);
    raw_call(port, text, out);
}

static inline void assert_problem(const struct answer *answer, int status, const char *code)
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
