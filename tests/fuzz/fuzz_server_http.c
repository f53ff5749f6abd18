/*
 * tests/fuzz/fuzz_server_http.c - bytes on a connection of a real HTTP server with a route of every
 * kind: it answers each request in its words or ends the connection, and never with a 5xx of its
 * own making. Heads reach credentials, cookies, origins, preconditions, ranges, ids and framing.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "server/http.h"
#include "server/route.h"
#include "tests/fuzz/fuzz.h"

#define ANSWER_MAX  (256 * 1024) /* of one input; what is more is read and forgotten */
#define PATIENCE_MS 60000        /* much more than an answer takes: it hangs */
#define QUIET_MS    20           /* no answer begins: half a request */
#define IDLE_MS     1000
#define FILE_BYTES  1000

static bool authenticate(void *app, const struct credentials *given, struct principal *out)
{
    (void)app;
    const char *token = given->bearer != NULL ? given->bearer : given->session;
    if (token == NULL || (strcmp(token, "admin") != 0 && strcmp(token, "tenant") != 0))
        return false;
    *out = (struct principal){.role = token[0] == 'a' ? ROLE_ADMIN : ROLE_TENANT_ADMIN,
                              .scopes = SCOPE_ALL,
                              .by_cookie = given->bearer == NULL,
                              .name = "token:x",
                              .tenant = "a"};
    return true;
}

static void tell(struct request *request)
{
    static const char *const types[] = {"application/json", "text/csv", NULL};
    int64_t wait_ns = 0;
    struct err err = ERR_INIT;
    if (request_duration(request, "wait", 0, NS_PER_S, &wait_ns, &err)) {
        request_reply_problem(request, 400, "invalid-query", NULL, NULL, "%s", err.text);
        return;
    }
    json_t *body = json_pack("{si,ss}", "type", (int)request_accept(request, types), "id",
                             request_id(request));
    request_reply_json(request, 200, body, "\"1\"", NULL);
}

static void take(struct request *request)
{
    size_t len;
    request_body(request, &len);
    json_t *body = request_json(request) != NULL ? json_deep_copy(request_json(request))
                                                 : json_pack("{sI}", "size", (json_int_t)len);
    request_reply_json(request, 200, body, NULL, NULL);
}

static void give_file(struct request *request)
{
    char path[] = "/tmp/stellar-fuzz-http-XXXXXX";
    int fd = mkstemp(path);
    must(fd >= 0 && unlink(path) == 0 && ftruncate(fd, FILE_BYTES) == 0);
    request_reply_file(request, fd, FILE_BYTES, "\"f\"");
}

#define ANY  (ROLE_BIT(ROLE_ADMIN) | ROLE_BIT(ROLE_TENANT_ADMIN))
#define ROOT ROLE_BIT(ROLE_ADMIN)
static const char *const tell_queries[] = {"wait", "dry_run", NULL};
static const struct route table[] = {
    {"GET", "/", 0, ROUTE_OPEN, tell, "open", tell_queries},
    {"GET", "/t/{tenant}", ANY, ROUTE_TENANT, tell, "tenant", tell_queries},
    {"PUT", "/t/{tenant}", ANY, ROUTE_TENANT | ROUTE_JSON | ROUTE_IF_MATCH, take, "put", NULL},
    {"PATCH", "/t/{tenant}", ROOT, ROUTE_PATCH_BODY | ROUTE_IF_MATCH, take, "patch", NULL},
    {"POST", "/t/{tenant}:look", ANY, ROUTE_SAFE | ROUTE_JSON | ROUTE_LARGE, take, "look", NULL},
    {"POST", "/raw", ROOT, ROUTE_IDEMPOTENT, take, "raw", NULL},
    {"GET", "/file", ROOT, 0, give_file, "file", NULL},
};

static uint16_t server_port(void)
{
    static struct http_server *server; /* for the life of the process */
    struct http_config config = {.address = "127.0.0.1",
                                 .routes = table,
                                 .route_count = sizeof(table) / sizeof(table[0]),
                                 .authenticate = authenticate,
                                 .idle_ms = IDLE_MS,
                                 .request_deadline_ms = IDLE_MS};
    must(server != NULL || http_server_start(&config, &server, NULL) == ERR_OK);
    return http_server_port(server);
}

static int connect_to(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0);
    return fd;
}

/*
 * Sends all and listens until the server ends the connection. Our end is said late: the library
 * (0.9.75, edge-triggered) does not notice one that comes together with a request, and would keep
 * the connection for its idle time.
 */
static size_t exchange(const uint8_t *data, size_t size, char *out)
{
    int fd = connect_to(server_port());
    size_t used = 0;
    bool ended = false;
    (void)!send(fd, data, size, MSG_NOSIGNAL);
    for (;;) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        int ready = poll(&poll_fd, 1, ended ? PATIENCE_MS : QUIET_MS);
        if (ready < 0 && errno == EINTR) /* the fuzzer's own timer */
            continue;
        must(ready == 1 || (ready == 0 && !ended));
        if (!ended)
            shutdown(fd, SHUT_WR);
        ended = true;
        if (ready == 0)
            continue;
        if (used == ANSWER_MAX)
            used = 0; /* never with inputs of a few KiB */
        ssize_t n = recv(fd, out + used, ANSWER_MAX - used, 0);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    close(fd);
    return used;
}

/* 501 is the answer to a transfer coding that nobody has, 505 to another HTTP. */
static void check_answers(const char *text, size_t len)
{
    static const char start[] = "HTTP/1.";
    must(len == 0 || (len >= 12 && memcmp(text, start, sizeof(start) - 1) == 0));
    for (const char *at = text; at != NULL && at + 12 <= text + len;
         at = memmem(at + 1, (size_t)(text + len - at - 1), "\r\nHTTP/1.", 9)) {
        const char *line = *at == '\r' ? at + 2 : at;
        if (line + 12 > text + len)
            break;
        must(line[8] == ' ' && line[9] >= '1' && line[9] <= '5');
        must(line[9] != '5' || memcmp(line + 9, "501", 3) == 0 || memcmp(line + 9, "505", 3) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char answer[ANSWER_MAX];
    log_set_level(LOG_LEVEL_ERROR);
    check_answers(answer, exchange(data, size, answer));
    return 0;
}
