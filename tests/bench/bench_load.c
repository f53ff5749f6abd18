/*
 * bench_load.c - a closed-loop HTTP/1.1 load: N keep-alive connections on one thread, each sends
 * its next request when the last is answered. Used for us and for the peer alike.
 *
 *   bench_load --port P --conns N --seconds S --method PUT --path /v1/x{conn} [--body FILE]
 * [--header H]...
 *
 * In path, headers and body {conn} is the connection's number, {n} its request counter, {etag} the
 * ETag of its last answer (headers that need one before there is one say If-None-Match: * instead).
 * With --rate R it is an open loop: R requests a second in all, each due at its time; one that
 * cannot leave then, because its connection still waits, counts as slow from when it was due.
 * Prints one JSON line: requests, errors (not 2xx), seconds, per_s, p50_us, p99_us.
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

#define CONNS_MAX   4096
#define HEADERS_MAX 8
#define BUFFER_MAX  (256 * 1024)
#define SAMPLES_MAX 4000000
#define WAIT_NS     INT64_C(5000000000)

struct options {
    int port, conns;
    double seconds, rate; /* rate 0: each when the last is answered */
    const char *method, *path;
    char *body;
    const char *headers[HEADERS_MAX];
    size_t header_count;
};

struct conn {
    int fd;
    int number;
    uint64_t n;
    char etag[64];
    char *out, *in;
    size_t out_len, out_at, in_len;
    int64_t start_ns;
    bool resting; /* until it is due */
    int64_t due_ns;
};

struct load {
    struct options opt;
    int epfd;
    int64_t end_ns;
    uint64_t requests, errors;
    uint32_t *samples_us;
    int last_bad_status;
    int open;
};

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Appends text with its placeholders replaced. */
static size_t expand(const struct conn *c, const char *text, char *out, size_t at)
{
    while (*text != '\0' && at < BUFFER_MAX - 128) {
        char value[80];
        const char *take = NULL;
        size_t skip = 0;
        if (strncmp(text, "{conn}", 6) == 0) {
            snprintf(value, sizeof(value), "%d", c->number);
            take = value;
            skip = 6;
        } else if (strncmp(text, "{n}", 3) == 0) {
            snprintf(value, sizeof(value), "%llu", (unsigned long long)c->n);
            take = value;
            skip = 3;
        } else if (strncmp(text, "{etag}", 6) == 0) {
            take = c->etag;
            skip = 6;
        }
        if (take == NULL) {
            out[at++] = *text++;
            continue;
        }
        size_t len = strlen(take);
        memcpy(out + at, take, len);
        at += len;
        text += skip;
    }
    return at;
}

static void build(struct load *l, struct conn *c)
{
    static char body[BUFFER_MAX];
    size_t body_len = l->opt.body != NULL ? expand(c, l->opt.body, body, 0) : 0;
    size_t at = 0;
    at = expand(c, l->opt.method, c->out, at);
    c->out[at++] = ' ';
    at = expand(c, l->opt.path, c->out, at);
    at = expand(c, " HTTP/1.1\r\nHost: 127.0.0.1\r\n", c->out, at);
    for (size_t i = 0; i < l->opt.header_count; i++) {
        bool lacks = strstr(l->opt.headers[i], "{etag}") != NULL && c->etag[0] == '\0';
        at = expand(c, lacks ? "If-None-Match: *" : l->opt.headers[i], c->out, at);
        at = expand(c, "\r\n", c->out, at);
    }
    if (l->opt.body != NULL)
        at += (size_t)sprintf(
            c->out + at, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body_len);
    at = expand(c, "\r\n", c->out, at);
    memcpy(c->out + at, body, body_len);
    c->out_len = at + body_len;
    c->out_at = 0;
    c->in_len = 0;
    c->n++;
    c->start_ns = now_ns();
}

static void push(struct conn *c)
{
    while (c->out_at < c->out_len) {
        ssize_t n = send(c->fd, c->out + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            fail("send");
        c->out_at += (size_t)n;
    }
}

/* The whole answer's length, or 0 when it is not all there yet. Content-Length answers only. */
static size_t answer_length(struct conn *c)
{
    c->in[c->in_len] = '\0';
    char *end = strstr(c->in, "\r\n\r\n");
    if (end == NULL)
        return 0;
    size_t head = (size_t)(end - c->in) + 4;
    char *length = strcasestr(c->in, "\r\nContent-Length:");
    size_t body = length != NULL && length < end ? strtoul(length + 17, NULL, 10) : 0;
    return c->in_len >= head + body ? head + body : 0;
}

static void take_etag(struct conn *c)
{
    char *etag = strcasestr(c->in, "\r\nETag:");
    if (etag == NULL)
        return;
    etag += 7;
    while (*etag == ' ')
        etag++;
    size_t len = strcspn(etag, "\r\n");
    if (len < sizeof(c->etag)) {
        memcpy(c->etag, etag, len);
        c->etag[len] = '\0';
    }
}

static void answered(struct load *l, struct conn *c)
{
    int status = atoi(c->in + 9);
    if (status < 200 || status > 299) {
        l->errors++;
        l->last_bad_status = status;
    }
    take_etag(c);
    if (l->requests < SAMPLES_MAX)
        l->samples_us[l->requests] = (uint32_t)((now_ns() - c->start_ns) / 1000);
    l->requests++;
    if (now_ns() >= l->end_ns) {
        close(c->fd);
        l->open--;
        return;
    }
    if (l->opt.rate > 0) {
        c->due_ns += (int64_t)(1e9 * l->opt.conns / l->opt.rate);
        c->resting = true;
        return;
    }
    build(l, c);
    push(c);
}

/* Sends what is due; how long until the next is, at most `most_ns`. */
static int64_t send_due(struct load *l, struct conn *conns, int64_t most_ns)
{
    int64_t now = now_ns();
    for (int i = 0; i < l->opt.conns; i++) {
        struct conn *c = &conns[i];
        if (!c->resting)
            continue;
        if (c->due_ns <= now) {
            c->resting = false;
            build(l, c);
            c->start_ns = c->due_ns;
            push(c);
        } else if (c->due_ns - now < most_ns) {
            most_ns = c->due_ns - now;
        }
    }
    return most_ns;
}

static void pull(struct load *l, struct conn *c)
{
    for (;;) {
        ssize_t n = recv(c->fd, c->in + c->in_len, BUFFER_MAX - 1 - c->in_len, 0);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            fail("the server closed a connection");
        c->in_len += (size_t)n;
        if (answer_length(c) != 0) {
            answered(l, c);
            return;
        }
    }
}

static void open_conn(struct load *l, struct conn *c, int number)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)l->opt.port)};
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->number = number;
    c->out = malloc(BUFFER_MAX);
    c->in = malloc(BUFFER_MAX);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
        fail("connect");
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    struct timeval zero = {0, 1};
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &zero, sizeof(zero));
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(l->epfd, EPOLL_CTL_ADD, c->fd, &ev) != 0)
        fail("epoll_ctl");
    l->open++;
    if (l->opt.rate > 0) { /* spread over the first interval */
        c->due_ns = now_ns() + (int64_t)(1e9 * number / l->opt.rate);
        c->resting = true;
        return;
    }
    build(l, c);
    push(c);
}

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail(path);
    char *text = calloc(1, BUFFER_MAX);
    size_t n = fread(text, 1, BUFFER_MAX - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static void parse(int argc, char **argv, struct options *opt)
{
    *opt = (struct options){.conns = 1, .seconds = 3, .method = "GET", .path = "/"};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *key = argv[i], *value = argv[i + 1];
        if (strcmp(key, "--port") == 0)
            opt->port = atoi(value);
        else if (strcmp(key, "--conns") == 0)
            opt->conns = atoi(value);
        else if (strcmp(key, "--seconds") == 0)
            opt->seconds = atof(value);
        else if (strcmp(key, "--rate") == 0)
            opt->rate = atof(value);
        else if (strcmp(key, "--method") == 0)
            opt->method = value;
        else if (strcmp(key, "--path") == 0)
            opt->path = value;
        else if (strcmp(key, "--body") == 0)
            opt->body = slurp(value);
        else if (strcmp(key, "--header") == 0 && opt->header_count < HEADERS_MAX)
            opt->headers[opt->header_count++] = value;
        else {
            fprintf(stderr, "bench_load: unknown option %s\n", key);
            exit(2);
        }
    }
    if (opt->port <= 0 || opt->conns < 1 || opt->conns > CONNS_MAX) {
        fprintf(stderr, "bench_load: needs --port and --conns 1..%d\n", CONNS_MAX);
        exit(2);
    }
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void print(const struct load *l, double seconds)
{
    uint64_t n = l->requests < SAMPLES_MAX ? l->requests : SAMPLES_MAX;
    qsort(l->samples_us, n, sizeof(uint32_t), compare_u32);
    printf("{\"requests\":%llu,\"errors\":%llu,\"last_bad_status\":%d,\"seconds\":%.3f,"
           "\"per_s\":%.1f,\"p50_us\":%u,\"p99_us\":%u}\n",
           (unsigned long long)l->requests, (unsigned long long)l->errors, l->last_bad_status,
           seconds, (double)l->requests / seconds, n ? l->samples_us[n / 2] : 0,
           n ? l->samples_us[n * 99 / 100] : 0);
}

int main(int argc, char **argv)
{
    static struct conn conns[CONNS_MAX];
    struct load load = {.last_bad_status = 0};
    parse(argc, argv, &load.opt);
    load.samples_us = malloc(SAMPLES_MAX * sizeof(uint32_t));
    load.epfd = epoll_create1(0);
    int64_t start = now_ns();
    load.end_ns = start + (int64_t)(load.opt.seconds * 1e9);
    for (int i = 0; i < load.opt.conns; i++)
        open_conn(&load, &conns[i], i);
    while (load.open > 0) {
        struct epoll_event events[64];
        int64_t wait_ns = send_due(&load, conns, WAIT_NS);
        struct timespec wait = {wait_ns / 1000000000, wait_ns % 1000000000};
        int n = epoll_pwait2(load.epfd, events, 64, &wait, NULL);
        if (n == 0 && wait_ns == WAIT_NS) {
            fprintf(stderr, "bench_load: no answer for 5 s\n");
            return 1;
        }
        for (int i = 0; i < n; i++)
            pull(&load, events[i].data.ptr);
    }
    print(&load, (double)(now_ns() - start) / 1e9);
    return 0;
}
