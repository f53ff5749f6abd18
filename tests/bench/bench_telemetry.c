/*
 * bench_telemetry.c - what many nodes send: each in turn a batch of ten samples of its queue pairs,
 * over some keep-alive connections, a thread each. To stellard, or the same values as text to
 * VictoriaMetrics (with their times) or prometheus-pushgateway (the last of them alone: it keeps no
 * more).
 *
 *   bench_telemetry --port P --to stellar|victoria|pushgateway --nodes N --rounds R [--tokens FILE]
 *                   [--conns C] [--rate BATCHES/S] [--start-us T]
 *
 * With --rate each batch is due at its time and counts as slow from then on. Round r's samples
 * begin 10 s after those of the round before; the first begins at T. Prints one JSON line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fleet/telemetry.h"

#define QPS        16
#define SAMPLES    10
#define COLUMNS    3 /* of a queue pair */
#define CONNS_MAX  256
#define BODY_MAX   (256 * 1024)
#define TOKEN_SIZE 128
#define BATCH_US   INT64_C(10000000)

enum target { STELLAR, VICTORIA, PUSHGATEWAY };
static const char *const targets[] = {"stellar", "victoria", "pushgateway"};

struct options {
    int port, nodes, rounds, conns;
    double rate;
    int64_t start_us;
    enum target to;
    char (*tokens)[TOKEN_SIZE];
};

struct sender {
    const struct options *opt;
    pthread_t thread;
    int number, fd;
    char *body, answer[8192];
    struct telemetry_batch batch;
    uint32_t *samples_us;
    uint64_t count, errors, bytes;
    int last_bad_status;
    int64_t start_ns;
};

static const struct telemetry_name names[COLUMNS] = {{"tx_bytes", TELEMETRY_STAYS, 0},
                                                     {"tx_packets", TELEMETRY_STAYS, 0},
                                                     {"local_ack_timeout_err", TELEMETRY_STAYS, 0}};

static int64_t now_ns(void)
{
    struct clock *clock = clock_system();
    return clock->mono_ns(clock);
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench_telemetry: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* What a queue pair counted: no two seconds of two queue pairs are alike. */
static int64_t value_of(int column, int node, int qp, int64_t second)
{
    uint64_t noise = (uint64_t)(second * 2654435761 + node * 40503 + qp * 9973) >> 7 & 0xfff;
    int64_t packets = (second + 1000) * (100000 + 1000 * qp + node % 97) + (int64_t)noise;
    return column == 0 ? packets * 4096 : column == 1 ? packets : packets / 1000000;
}

static size_t stellar_body(struct sender *s, int node, int round)
{
    struct telemetry_batch *batch = &s->batch;
    struct err err = ERR_INIT;
    uint8_t *data = NULL;
    size_t len = 0;
    bool good = true;
    telemetry_batch_clear(batch);
    batch->stream = (uint64_t)s->opt->start_us;
    batch->seq = (uint64_t)round + 1;
    batch->interval_ms = 1000;
    batch->start_us = s->opt->start_us + round * BATCH_US;
    batch->sample_count = SAMPLES;
    for (uint32_t i = 0; i < SAMPLES; i++)
        batch->offset_ms[i] = i * 1000;
    for (int qp = 0; qp < QPS && good; qp++) {
        struct telemetry_subject subject = {.kind = TELEMETRY_QP,
                                            .number = (uint32_t)(17 + qp),
                                            .pid = (uint32_t)(1000 + qp),
                                            .label = (uint32_t)(1 + node % 100)};
        good = telemetry_device_add(batch, qp < 8 ? "mlx5_0" : "mlx5_1", &subject.device, &err) ==
                   ERR_OK &&
               telemetry_row_add(batch, &subject, &err) == ERR_OK;
        for (int column = 0; column < COLUMNS && good; column++) {
            uint16_t name;
            int64_t *values;
            good = telemetry_name_add(batch, &names[column], &name, &err) == ERR_OK &&
                   telemetry_column_add(batch, name, &values, &err) == ERR_OK;
            for (int i = 0; i < SAMPLES && good; i++)
                values[i] = value_of(column, node, qp, (int64_t)round * SAMPLES + i);
        }
    }
    if (!good || telemetry_encode(batch, &data, &len, &err) != ERR_OK || len > BODY_MAX) {
        fprintf(stderr, "bench_telemetry: %s\n", err.text);
        exit(1);
    }
    memcpy(s->body, data, len);
    free(data);
    return len;
}

static size_t text_body(struct sender *s, int node, int round)
{
    bool all = s->opt->to == VICTORIA;
    size_t at = 0;
    for (int column = 0; column < COLUMNS; column++)
        for (int qp = 0; qp < QPS; qp++)
            for (int i = all ? 0 : SAMPLES - 1; i < SAMPLES; i++) {
                char of_node[32] = "", time[32] = "";
                if (all) {
                    snprintf(of_node, sizeof(of_node), "node=\"n%d\",", node);
                    snprintf(time, sizeof(time), " %" PRId64,
                             (s->opt->start_us + round * BATCH_US) / 1000 + i * 1000);
                }
                at += (size_t)snprintf(
                    s->body + at, BODY_MAX - at,
                    "stellar_qp_%s_total{%sdevice=\"mlx5_%d\",qp=\"%d\",pid=\"%d\","
                    "job_label=\"%d\"} %" PRId64 "%s\n",
                    names[column].text, of_node, qp < 8 ? 0 : 1, 17 + qp, 1000 + qp, 1 + node % 100,
                    value_of(column, node, qp, (int64_t)round * SAMPLES + i), time);
            }
    return at;
}

static void send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0)
            fail("send");
        data += n;
        len -= (size_t)n;
    }
}

/* The status of the answer; its body is read away. */
static int read_answer(struct sender *s)
{
    size_t len = 0;
    for (;;) {
        ssize_t n = recv(s->fd, s->answer + len, sizeof(s->answer) - 1 - len, 0);
        if (n <= 0)
            fail("the server closed a connection");
        len += (size_t)n;
        s->answer[len] = '\0';
        const char *end = strstr(s->answer, "\r\n\r\n");
        if (end == NULL)
            continue;
        const char *length = strcasestr(s->answer, "\r\nContent-Length:");
        size_t body = length != NULL && length < end ? strtoul(length + 17, NULL, 10) : 0;
        if (len >= (size_t)(end - s->answer) + 4 + body)
            return atoi(s->answer + 9);
    }
}

static void post(struct sender *s, int node, int round)
{
    char head[1024], path[128];
    size_t len = s->opt->to == STELLAR ? stellar_body(s, node, round) : text_body(s, node, round);
    if (s->opt->to == VICTORIA)
        snprintf(path, sizeof(path), "/api/v1/import/prometheus");
    else if (s->opt->to == STELLAR)
        snprintf(path, sizeof(path), "/v1/nodes/n%d/telemetry", node);
    else
        snprintf(path, sizeof(path), "/metrics/job/stellar/node/n%d", node);
    int n = snprintf(head, sizeof(head),
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                     "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n",
                     path, s->opt->tokens == NULL ? "none" : s->opt->tokens[node],
                     s->opt->to == STELLAR ? "application/octet-stream" : "text/plain", len);
    send_all(s->fd, head, (size_t)n);
    send_all(s->fd, s->body, len);
    int status = read_answer(s);
    s->bytes += len;
    if (status < 200 || status > 299) {
        s->errors++;
        s->last_bad_status = status;
    }
}

static void wait_until(int64_t due_ns)
{
    int64_t left_ns = due_ns - now_ns();
    struct timespec rest = {left_ns / 1000000000, left_ns % 1000000000};
    if (left_ns > 0)
        nanosleep(&rest, NULL);
}

static void *run(void *arg)
{
    struct sender *s = arg;
    const struct options *opt = s->opt;
    for (int round = 0; round < opt->rounds; round++)
        for (int node = s->number; node < opt->nodes; node += opt->conns) {
            int64_t begin_ns = now_ns();
            if (opt->rate > 0) {
                begin_ns =
                    s->start_ns + (int64_t)(1e9 * ((double)round * opt->nodes + node) / opt->rate);
                wait_until(begin_ns);
            }
            post(s, node, round);
            s->samples_us[s->count++] = (uint32_t)((now_ns() - begin_ns) / 1000);
        }
    return NULL;
}

static void open_conn(struct sender *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->opt->port)};
    int one = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (s->fd < 0 || connect(s->fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        fail("connect");
    setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void read_tokens(struct options *opt, const char *path)
{
    FILE *file = fopen(path, "r");
    opt->tokens = calloc((size_t)opt->nodes, sizeof(*opt->tokens));
    if (file == NULL || opt->tokens == NULL)
        fail(path);
    for (int i = 0; i < opt->nodes; i++) {
        if (fgets(opt->tokens[i], TOKEN_SIZE, file) == NULL)
            fail("too few tokens");
        opt->tokens[i][strcspn(opt->tokens[i], "\n")] = '\0';
    }
    fclose(file);
}

static const char *parse(int argc, char **argv, struct options *opt)
{
    const char *tokens = NULL;
    *opt = (struct options){.nodes = 1000, .rounds = 1, .conns = 16};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *key = argv[i], *value = argv[i + 1];
        const struct {
            const char *key;
            int *out;
        } numbers[] = {{"--port", &opt->port},
                       {"--nodes", &opt->nodes},
                       {"--rounds", &opt->rounds},
                       {"--conns", &opt->conns}};
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
            if (strcmp(key, numbers[k].key) == 0)
                *numbers[k].out = atoi(value);
        for (int k = STELLAR; strcmp(key, "--to") == 0 && k <= PUSHGATEWAY; k++)
            if (strcmp(value, targets[k]) == 0)
                opt->to = (enum target)k;
        if (strcmp(key, "--rate") == 0)
            opt->rate = atof(value);
        if (strcmp(key, "--start-us") == 0)
            opt->start_us = strtoll(value, NULL, 10);
        if (strcmp(key, "--tokens") == 0)
            tokens = value;
    }
    if (opt->port <= 0 || opt->nodes < 1 || opt->conns < 1 || opt->conns > CONNS_MAX ||
        opt->start_us <= 0) {
        fprintf(stderr, "bench_telemetry: needs --port, --start-us, --conns up to %d\n", CONNS_MAX);
        exit(2);
    }
    return tokens;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void print(struct sender *senders, const struct options *opt, double seconds)
{
    size_t total = (size_t)opt->nodes * (size_t)opt->rounds, at = 0;
    uint32_t *all = calloc(total, sizeof(*all));
    uint64_t errors = 0, bytes = 0;
    int bad = 0;
    if (all == NULL)
        fail("memory");
    for (int i = 0; i < opt->conns; i++) {
        memcpy(all + at, senders[i].samples_us, senders[i].count * sizeof(*all));
        at += senders[i].count;
        errors += senders[i].errors;
        bytes += senders[i].bytes;
        bad = senders[i].last_bad_status != 0 ? senders[i].last_bad_status : bad;
    }
    qsort(all, at, sizeof(*all), compare_u32);
    uint64_t values = (uint64_t)at * QPS * COLUMNS * (opt->to == PUSHGATEWAY ? 1 : SAMPLES);
    printf("{\"batches\":%zu,\"values\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"errors\":%" PRIu64
           ",\"last_bad_status\":%d,\"seconds\":%.3f,\"per_s\":%.1f,\"p50_us\":%u,\"p99_us\":%u}\n",
           at, values, bytes, errors, bad, seconds, (double)at / seconds, at ? all[at / 2] : 0,
           at ? all[at * 99 / 100] : 0);
    free(all);
}

int main(int argc, char **argv)
{
    static struct sender senders[CONNS_MAX];
    struct options opt;
    const char *tokens = parse(argc, argv, &opt);
    if (tokens != NULL)
        read_tokens(&opt, tokens);
    int64_t start_ns = now_ns();
    for (int i = 0; i < opt.conns; i++) {
        struct sender *s = &senders[i];
        s->opt = &opt;
        s->number = i;
        s->start_ns = start_ns;
        s->body = malloc(BODY_MAX);
        s->samples_us =
            calloc((size_t)(opt.nodes / opt.conns + 1) * (size_t)opt.rounds, sizeof(uint32_t));
        telemetry_batch_init(&s->batch);
        if (s->body == NULL || s->samples_us == NULL)
            fail("memory");
        open_conn(s);
    }
    for (int i = 0; i < opt.conns; i++)
        if (pthread_create(&senders[i].thread, NULL, run, &senders[i]) != 0)
            fail("a thread");
    for (int i = 0; i < opt.conns; i++)
        pthread_join(senders[i].thread, NULL);
    print(senders, &opt, (double)(now_ns() - start_ns) / 1e9);
    free(opt.tokens);
    return 0;
}
