/*
 * bench_events.c - how long one committed change takes to reach every listener. One thread: N
 * connections that listen, one that changes; the same loop for us and for the peers.
 *
 *   bench_events --kind sse|etcd|ovsdb --port P --clients N --rounds R [--tokens FILE]
 *
 * A round: the change leaves; the clock runs until the last listener has it. Prints one JSON line:
 * p50_us and p99_us over the rounds, first_us (median until the first listener has it), answer_us
 * (median until the change is acknowledged), lost (listeners without it after 5 s, in all).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX  4096
#define ROUNDS_MAX   10000
#define TOKENS_MAX   256
#define BUFFER_MAX   65536
#define MARK_SIZE    32
#define ROUND_END_NS INT64_C(5000000000)
#define PAUSE_MS     30 /* between rounds: what a round leaves behind is not the next one's */

struct conn {
    int fd;
    int at_round;    /* the newest one it has heard of */
    bool subscribed; /* its first answer has come */
    size_t left;     /* of a chunk */
    bool chunked;    /* the head is over */
    size_t len;      /* kept in text */
    char text[1024]; /* of the stream: the end, in which the rest of a mark may come */
    char head[4096];
    size_t head_len;
};

struct bench;
struct kind {
    const char *name;
    bool is_http;
    void (*subscribe)(struct bench *b, struct conn *c, int number);
    void (*change)(struct bench *b, int round);
    void (*mark)(int round, char out[MARK_SIZE]); /* what an event of the round holds */
    const char *subscribed;                       /* what the stream shows when it listens */
};

struct bench {
    const struct kind *kind;
    int port, clients, rounds, epfd;
    char *tokens[TOKENS_MAX];
    int token_count;
    struct conn *conns, writer;
    int round, heard;
    char mark[MARK_SIZE];
    int64_t first_ns, answer_ns;
};

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_events: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void say(struct conn *c, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = send(c->fd, text, len, MSG_NOSIGNAL);
        if (n < 0)
            fail("send");
        text += n;
        len -= (size_t)n;
    }
}

static void post(struct conn *c, const char *head, const char *body)
{
    char text[4096];
    int n = snprintf(text, sizeof(text),
                     "%s\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     head, strlen(body), body);
    say(c, text, (size_t)n);
}

/* Kinds ---------------------------------------------------------------------------------------- */

static void sse_subscribe(struct bench *b, struct conn *c, int number)
{
    char text[512];
    int n = snprintf(text, sizeof(text),
                     "GET /v1/events?kinds=policy.changed HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                     "Accept: text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n",
                     b->tokens[number % b->token_count]);
    say(c, text, (size_t)n);
}

static void sse_change(struct bench *b, int round)
{
    char head[512], body[256];
    snprintf(head, sizeof(head),
             "PUT /v1/tenants/t/policy HTTP/1.1\r\nAuthorization: Bearer %s\r\nIf-Match: *\r\n"
             "X-Request-Id: bench-%06d",
             b->tokens[0], round);
    snprintf(body, sizeof(body),
             "{\"qos_policy\":{\"job\":{\"priority\":3,\"description\":\"%06d\"}}}", round);
    post(&b->writer, head, body);
}

static void sse_mark(int round, char out[MARK_SIZE])
{
    snprintf(out, MARK_SIZE, "bench-%06d", round);
}

/* 6 digits and 6 blanks: 12 bytes are 16 of base64. */
static void etcd_mark(int round, char out[MARK_SIZE])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[16];
    snprintf(text, sizeof(text), "%06d      ", round);
    for (int i = 0; i < 4; i++) {
        unsigned v = (unsigned)text[3 * i] << 16 | (unsigned)text[3 * i + 1] << 8 |
                     (unsigned)text[3 * i + 2];
        for (int k = 0; k < 4; k++)
            out[4 * i + k] = digits[v >> (18 - 6 * k) & 63];
    }
    out[16] = '\0';
}

static void etcd_subscribe(struct bench *b, struct conn *c, int number)
{
    (void)b, (void)number;
    post(c, "POST /v3/watch HTTP/1.1", "{\"create_request\":{\"key\":\"cG9saWN5\"}}");
}

static void etcd_change(struct bench *b, int round)
{
    char body[128], value[MARK_SIZE];
    etcd_mark(round, value);
    snprintf(body, sizeof(body), "{\"key\":\"cG9saWN5\",\"value\":\"%s\"}", value);
    post(&b->writer, "POST /v3/kv/put HTTP/1.1", body);
}

static void ovsdb_subscribe(struct bench *b, struct conn *c, int number)
{
    static const char text[] = "{\"method\":\"monitor\",\"id\":1,\"params\":[\"bench\",null,"
                               "{\"policy\":{\"columns\":[\"text\"]}}]}";
    (void)b, (void)number;
    say(c, text, sizeof(text) - 1);
}

static void ovsdb_change(struct bench *b, int round)
{
    char text[512];
    int n = snprintf(text, sizeof(text),
                     "{\"method\":\"transact\",\"id\":2,\"params\":[\"bench\",{\"op\":\"%s\","
                     "\"table\":\"policy\",%s\"row\":{\"text\":\"bench-%06d\"}},"
                     "{\"op\":\"commit\",\"durable\":true}]}",
                     round == 0 ? "insert" : "update", round == 0 ? "" : "\"where\":[],", round);
    say(&b->writer, text, (size_t)n);
}

static const struct kind kinds[] = {
    {"sse", true, sse_subscribe, sse_change, sse_mark, "retry:"},
    {"etcd", true, etcd_subscribe, etcd_change, etcd_mark, "\"created\":true"},
    {"ovsdb", false, ovsdb_subscribe, ovsdb_change, sse_mark, "\"id\":1"},
};

/* Streams -------------------------------------------------------------------------------------- */

/* ovsdb-server asks whether we are there, and hangs up on who is silent. */
static void echo(struct conn *c)
{
    static const char text[] = "{\"id\":\"echo\",\"result\":[],\"error\":null}";
    say(c, text, sizeof(text) - 1);
}

/* Bytes of the stream itself: looks for the mark, keeps what may be the begin of one. */
static void stream(struct bench *b, struct conn *c, const char *data, size_t len)
{
    while (len > 0) {
        size_t take = sizeof(c->text) - 1 - c->len;
        take = take < len ? take : len;
        memcpy(c->text + c->len, data, take);
        c->len += take;
        data += take;
        len -= take;
        c->text[c->len] = '\0';
        c->subscribed |= strstr(c->text, b->kind->subscribed) != NULL;
        if (c->at_round != b->round && strstr(c->text, b->mark) != NULL) {
            c->at_round = b->round;
            if (b->heard++ == 0)
                b->first_ns = now_ns();
        }
        if (!b->kind->is_http && strstr(c->text, "\"method\":\"echo\"") != NULL) {
            echo(c);
            c->len = 0;
        }
        if (c->len > MARK_SIZE) {
            memmove(c->text, c->text + c->len - MARK_SIZE, MARK_SIZE);
            c->len = MARK_SIZE;
        }
    }
}

/* Takes the chunks' frames off (RFC 9112 7.1); a frame's head may come in pieces. */
static void chunks(struct bench *b, struct conn *c, const char *data, size_t len)
{
    while (len > 0) {
        if (c->left > 0) {
            size_t take = c->left < len ? c->left : len;
            stream(b, c, data, take);
            c->left -= take;
            data += take;
            len -= take;
            continue;
        }
        if (c->head_len + 1 < sizeof(c->head))
            c->head[c->head_len++] = *data;
        data++;
        len--;
        c->head[c->head_len] = '\0';
        if (c->head_len > 2 && strcmp(c->head + c->head_len - 2, "\r\n") == 0) {
            c->left = strtoul(c->head + strspn(c->head, "\r\n"), NULL, 16);
            c->head_len = 0;
        }
    }
}

static void take(struct bench *b, struct conn *c, const char *data, size_t len)
{
    if (!b->kind->is_http) {
        stream(b, c, data, len);
        return;
    }
    for (; len > 0 && !c->chunked; data++, len--) {
        if (c->head_len + 1 >= sizeof(c->head))
            fail("a head is too long");
        c->head[c->head_len++] = *data;
        c->head[c->head_len] = '\0';
        if (c->head_len < 4 || strcmp(c->head + c->head_len - 4, "\r\n\r\n") != 0)
            continue;
        if (atoi(c->head + 9) != 200 || strcasestr(c->head, "chunked") == NULL) {
            fprintf(stderr, "bench_events: no stream: %s\n", c->head);
            exit(1);
        }
        c->chunked = true;
        c->head_len = 0;
    }
    chunks(b, c, data, len);
}

/* One answer a round: its status, or for ovsdb its lack of an error, was looked at by the caller of
 * the bench; here only that it came. */
static void answered(struct bench *b, const char *data, size_t len)
{
    if (b->kind->is_http && (len < 12 || data[9] != '2')) {
        fprintf(stderr, "bench_events: the change was refused: %.*s\n", (int)len, data);
        exit(1);
    }
    if (!b->kind->is_http && memmem(data, len, "\"details\"", 9) != NULL) {
        fprintf(stderr, "bench_events: the change was refused: %.*s\n", (int)len, data);
        exit(1);
    }
    if (b->answer_ns == 0)
        b->answer_ns = now_ns();
}

static void look(struct bench *b, int wait_ms)
{
    static char data[BUFFER_MAX];
    struct epoll_event events[256];
    int n = epoll_wait(b->epfd, events, 256, wait_ms);
    for (int i = 0; i < n; i++) {
        struct conn *c = events[i].data.ptr;
        ssize_t got = recv(c->fd, data, sizeof(data), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            fail("the server closed a connection");
        if (got > 0 && c == &b->writer && memmem(data, (size_t)got, "\"echo\"", 6) == NULL)
            answered(b, data, (size_t)got);
        else if (got > 0 && c == &b->writer)
            echo(c);
        else if (got > 0)
            take(b, c, data, (size_t)got);
    }
}

static void dial(struct bench *b, struct conn *c)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)b->port)};
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
    int one = 1;
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->at_round = -1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
        fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (epoll_ctl(b->epfd, EPOLL_CTL_ADD, c->fd, &ev) != 0)
        fail("epoll_ctl");
}

static void open_all(struct bench *b)
{
    b->round = -1;
    snprintf(b->mark, sizeof(b->mark), "no round yet");
    dial(b, &b->writer);
    for (int i = 0; i < b->clients; i++) {
        struct conn *c = &b->conns[i];
        dial(b, c);
        b->kind->subscribe(b, c, i);
        for (int64_t end = now_ns() + ROUND_END_NS; !c->subscribed;) {
            if (now_ns() > end)
                fail("a listener was not taken");
            look(b, 100);
        }
    }
}

/* Rounds --------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void run(struct bench *b)
{
    static int64_t last[ROUNDS_MAX], first[ROUNDS_MAX], answer[ROUNDS_MAX];
    int lost = 0;
    for (int r = 0; r < b->rounds; r++) {
        b->heard = 0;
        b->answer_ns = b->first_ns = 0;
        b->round = r;
        b->kind->mark(r, b->mark);
        int64_t start = now_ns();
        b->kind->change(b, r);
        while (b->heard < b->clients && now_ns() < start + ROUND_END_NS)
            look(b, 1000);
        last[r] = now_ns() - start;
        lost += b->clients - b->heard;
        for (int64_t end = now_ns() + ROUND_END_NS; b->answer_ns == 0;) {
            if (now_ns() > end)
                fail("the change was not acknowledged");
            look(b, 100);
        }
        first[r] = b->first_ns - start;
        answer[r] = b->answer_ns - start;
        for (int64_t end = now_ns() + PAUSE_MS * INT64_C(1000000); now_ns() < end;)
            look(b, 5);
    }
    size_t n = (size_t)b->rounds;
    qsort(last, n, sizeof(*last), compare);
    qsort(first, n, sizeof(*first), compare);
    qsort(answer, n, sizeof(*answer), compare);
    printf("{\"p50_us\":%lld,\"p99_us\":%lld,\"first_us\":%lld,\"answer_us\":%lld,\"lost\":%d}\n",
           (long long)last[n / 2] / 1000, (long long)last[n * 99 / 100] / 1000,
           (long long)first[n / 2] / 1000, (long long)answer[n / 2] / 1000, lost);
}

static void read_tokens(struct bench *b, const char *path)
{
    char line[256];
    FILE *f = fopen(path, "r");
    if (f == NULL)
        fail(path);
    while (b->token_count < TOKENS_MAX && fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        b->tokens[b->token_count++] = strdup(line);
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    struct bench b = {.clients = 1000, .rounds = 200};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *key = argv[i], *value = argv[i + 1];
        if (strcmp(key, "--kind") == 0)
            for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
                b.kind = strcmp(kinds[k].name, value) == 0 ? &kinds[k] : b.kind;
        if (strcmp(key, "--port") == 0)
            b.port = atoi(value);
        if (strcmp(key, "--clients") == 0)
            b.clients = atoi(value);
        if (strcmp(key, "--rounds") == 0)
            b.rounds = atoi(value);
        if (strcmp(key, "--tokens") == 0)
            read_tokens(&b, value);
    }
    if (b.kind == NULL || b.port <= 0 || b.clients < 1 || b.clients > CLIENTS_MAX || b.rounds < 1 ||
        b.rounds > ROUNDS_MAX) {
        fprintf(stderr, "bench_events: needs --kind, --port; clients 1..%d, rounds 1..%d\n",
                CLIENTS_MAX, ROUNDS_MAX);
        return 2;
    }
    b.conns = calloc((size_t)b.clients, sizeof(*b.conns));
    b.epfd = epoll_create1(0);
    if (b.conns == NULL || b.epfd < 0)
        fail("out of memory");
    open_all(&b);
    run(&b);
    return 0;
}
