/*
 * datapath/solar/perf/solar_perf_main.c - solar-perf: latency and bandwidth of libsolar, beside TCP
 * if asked, between two processes of this host or two hosts.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/options.h"
#include "base/own.h"
#include "base/text.h"
#include "datapath/solar/perf/perf.h"

#define KEY_FILE_MAX 256
#define NS_PER_S     1000000000

struct settings {
    struct perf_options perf;
    const char *key_file;
    const char *connect; /* the server's address; NULL = one is started here */
    bool serve, help, version;
};

static enum err_code read_number(const char *text, int64_t min, int64_t max, int64_t *out,
                                 struct err *err)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max)
        return err_set(err, ERR_INVALID, "\"%s\": has to be a number from %lld to %lld", text,
                       (long long)min, (long long)max);
    *out = value;
    return ERR_OK;
}

/* An option that is a number of struct perf_options. */
#define NUMBER(function, member, min, max, unit)                                                   \
    static enum err_code function(void *target, const char *text, struct err *err)                 \
    {                                                                                              \
        struct settings *s = target;                                                               \
        int64_t value;                                                                             \
        if (read_number(text, min, max, &value, err) != ERR_OK)                                    \
            return ERR_INVALID;                                                                    \
        s->perf.member = (__typeof__(s->perf.member))(value * (unit));                             \
        return ERR_OK;                                                                             \
    }

NUMBER(set_port, port, 0, UINT16_MAX, 1)
NUMBER(set_size, size_bytes, 1, PERF_SIZE_MAX, 1)
NUMBER(set_depth, depth, 1, PERF_DEPTH_MAX, 1)
NUMBER(set_rounds, rounds, 1, PERF_ROUNDS_MAX, 1)
NUMBER(set_paths, paths, 1, SOLAR_PATHS_MAX, 1)
NUMBER(set_payload, payload_max, SOLAR_PAYLOAD_MIN, SOLAR_PAYLOAD_MAX, 1)
NUMBER(set_milliseconds, round_ns, 1, PERF_SECONDS_MAX * 1000, 1000000)
NUMBER(set_spin, spin_ns, 0, 1000000, 1000)
NUMBER(set_rate, rate_bps, 1, 1000000, 1000000)
NUMBER(set_line, line_bps, 1, 1000000, 1000000)
NUMBER(set_senders, senders, 1, PERF_SENDERS_MAX, 1)
NUMBER(set_label, label, 1, UINT32_MAX, 1)
NUMBER(set_server_pid, server_pid, 1, INT32_MAX, 1)

static enum err_code read_word(const char *const words[3], const char *text, int *out,
                               struct err *err)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return ERR_OK;
        }
    return err_set(err, ERR_INVALID, "\"%s\": has to be %s, %s or %s", text, words[0], words[1],
                   words[2]);
}

static enum err_code set_format(void *target, const char *text, struct err *err)
{
    static const char *const words[3] = {
        [PERF_TEXT] = "text", [PERF_JSON] = "json", [PERF_CSV] = "csv"};
    int word;
    if (read_word(words, text, &word, err) != ERR_OK)
        return ERR_INVALID;
    ((struct settings *)target)->perf.format = (enum perf_format)word;
    return ERR_OK;
}

static enum err_code set_policy(void *target, const char *text, struct err *err)
{
    static const char *const words[3] = {[PERF_POLICY_NONE] = "none",
                                         [PERF_POLICY_WEIGHT] = "weight",
                                         [PERF_POLICY_LIMIT] = "limit"};
    int word;
    if (read_word(words, text, &word, err) != ERR_OK)
        return ERR_INVALID;
    ((struct settings *)target)->perf.policy = (enum perf_policy)word;
    return ERR_OK;
}

#define SWITCH(function, member)                                                                   \
    static enum err_code function(void *target, const char *text, struct err *err)                 \
    {                                                                                              \
        (void)text;                                                                                \
        (void)err;                                                                                 \
        ((struct settings *)target)->member = true;                                                \
        return ERR_OK;                                                                             \
    }

SWITCH(set_tcp, perf.tcp)
SWITCH(set_ring, perf.ring)
SWITCH(set_serve, serve)
SWITCH(set_help, help)
SWITCH(set_version, version)

static const struct option_row rows[] = {
    {"size", "BYTES", "of an operation, 1 to 67108864 [64; of bandwidth 1048576]", 0, set_size, 0},
    {"depth", "N", "operations under way, 1 to 256; reads at most 16 [16]", 0, set_depth, 0},
    {"rounds", "N", "rounds of each transport, in turn, 1 to 1000 [3]", 0, set_rounds, 0},
    {"time", "MS", "length of a round in milliseconds, 1 to 3600000 [1000]", 0, set_milliseconds,
     0},
    {"rate", "MBPS", "of cpu, or the line of tenants, Mbit/s, 1 to 1000000 [1000]", 0, set_rate, 0},
    {"line", "MBPS", "of the network device, Mbit/s, 1 to 1000000 [100000]", 0, set_line, 0},
    {"ring", NULL, "allreduce goes round, not by halves", 0, set_ring, 0},
    {"senders", "N", "processes of incast or allreduce, 1 to 32 [8]", 0, set_senders, 0},
    {"policy", "POLICY", "of tenants: none, weight or limit [weight]", 0, set_policy, 0},
    {"tcp", NULL, "measure TCP too, between the same processes", 0, set_tcp, 0},
    {"format", "FORMAT", "text, json (a line for each result) or csv [text]", 0, set_format, 0},
    {"paths", "N", "source ports, 1 to 64 [4]", 0, set_paths, 0},
    {"payload", "BYTES", "of a packet, 512 to 8900 [what the path's MTU allows]", 0, set_payload,
     0},
    {"spin", "US", "microseconds of looking before sleeping, 0 to 1000000 [50]", 0, set_spin, 0},
    {"serve", NULL, "be the server of another host; needs --key-file", 0, set_serve, 0},
    {"connect", "ADDRESS", "measure against that server; needs --port and --key-file", OPTION_TEXT,
     NULL, offsetof(struct settings, connect)},
    {"server-pid", "PID", "of the server, if it is on this host: its CPU counts too", 0,
     set_server_pid, 0},
    {"address", "ADDRESS", "own address, IPv4 or IPv6 [127.0.0.1]", OPTION_TEXT, NULL,
     offsetof(struct settings, perf.address)},
    {"port", "PORT", "of the server, UDP and TCP [a free one]", 0, set_port, 0},
    {"key-file", "FILE", "the key of both sides: 64 hexadecimal digits", OPTION_TEXT, NULL,
     offsetof(struct settings, key_file)},
    {"control", "FOLDER",
     "of the node's agent: what its control page says of --label holds,\nunder the key that it "
     "gives that job",
     OPTION_TEXT, NULL, offsetof(struct settings, perf.control)},
    {"label", "LABEL", "of the job, with --control", 0, set_label, 0},
    {"version", NULL, "print the version", OPTION_LINE_ONLY, set_version, 0},
    {"help", NULL, "print this text", OPTION_LINE_ONLY, set_help, 0},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void print_help(FILE *out)
{
    fputs("Usage: solar-perf [options] send_lat | write_bw | read_bw | cpu | incast | tenants |\n"
          "                            allreduce\n"
          "       solar-perf --serve --key-file FILE [options]\n"
          "Measures libsolar: half the round trip of messages, the bandwidth of writes or reads,\n"
          "the CPU that both sides take at a fixed rate, many senders to one, or two tenants with\n"
          "unlike numbers of flows; or the time that processes of this host take to add up what "
          "all have.\nWithout --connect the server is a process of this host,\n"
          "started for the time of the test.\n",
          out);
    options_help(rows, ROWS, out);
    fputs("Exit status: 0 measured, 1 failed, 2 usage.\n", out);
}

/* Options that do not go together: wrong usage, before anything is done. */
static enum err_code check_together(const struct settings *s, struct err *err)
{
    const struct perf_options *o = &s->perf;
    bool reduce = !s->serve && o->test == PERF_ALLREDUCE;
    if (reduce && o->tcp)
        return err_set(err, ERR_UNSUPPORTED, "allreduce is not measured over TCP: leave --tcp out");
    if (reduce && (s->connect != NULL || o->control != NULL))
        return err_set(
            err, ERR_UNSUPPORTED,
            "allreduce is measured between processes of this host, without --connect and "
            "--control");
    if (o->control != NULL && (s->key_file != NULL || o->label == 0))
        return err_set(err, ERR_INVALID,
                       "--control needs the --label of a job, whose key is the agent's: no "
                       "--key-file");
    if (o->control == NULL && o->label != 0)
        return err_set(err, ERR_INVALID, "--label is of a job of --control");
    if (o->control == NULL && s->key_file == NULL && (s->serve || s->connect != NULL))
        return err_set(err, ERR_INVALID,
                       "both hosts need the same key: make a file of 64 hexadecimal digits and "
                       "name it with --key-file");
    if (!s->serve && s->connect != NULL && o->port == 0)
        return err_set(err, ERR_INVALID, "--connect needs --port");
    return ERR_OK;
}

static enum err_code read_key(struct settings *s, struct err *err)
{
    if (s->perf.control != NULL)
        return ERR_OK; /* the agent's */
    if (s->key_file == NULL)
        return getrandom(s->perf.key, SOLAR_KEY_SIZE, 0) == SOLAR_KEY_SIZE
                   ? ERR_OK
                   : err_set_errno(err, ERR_IO, errno, "random bytes");
    OWN(str) char *text = NULL;
    size_t len;
    if (file_read(s->key_file, KEY_FILE_MAX, &text, &len, err) != ERR_OK)
        return err->code;
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        text[--len] = '\0';
    if (!hex_decode(text, s->perf.key, SOLAR_KEY_SIZE))
        return err_set(err, ERR_INVALID, "%s: has to hold 64 hexadecimal digits", s->key_file);
    return ERR_OK;
}

static bool is_many(const struct perf_options *o)
{
    return o->test == PERF_INCAST || o->test == PERF_TENANTS;
}

static enum err_code measure(const struct perf_options *o, struct err *err)
{
    int count = 0;
    struct perf_result *results = calloc((size_t)o->rounds * 2, sizeof(*results));
    int64_t *samples = malloc(PERF_SAMPLES_MAX * sizeof(*samples));
    enum err_code code = results == NULL || samples == NULL ? err_nomem(err) : ERR_OK;
    if (code == ERR_OK)
        perf_report_begin(o, stdout);
    for (int round = 1; code == ERR_OK && round <= o->rounds; round++)
        for (int tcp = 0; code == ERR_OK && tcp <= (int)o->tcp; tcp++) {
            struct perf_result *r = &results[count];
            code = o->test == PERF_ALLREDUCE ? perf_reduce_run(o, samples, r, err)
                   : is_many(o)              ? perf_many_run(o, tcp == 1, r, err)
                                : (tcp ? perf_tcp_run : perf_solar_run)(o, samples, r, err);
            if (code != ERR_OK)
                break;
            perf_report_round(o, round, r, stdout);
            count++;
        }
    if (code == ERR_OK)
        perf_report_end(o, results, count, stdout);
    free(results);
    free(samples);
    return code;
}

/* The server is a child, so that both ends are processes as they are on two hosts. */
static enum err_code measure_here(struct perf_options *o, struct err *err)
{
    struct perf_server *server;
    if (perf_server_new(o, &server, err) != ERR_OK)
        return err->code;
    o->port = perf_server_port(server);
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        return err_set_errno(err, ERR_IO, errno, "a process for the server");
    if (child == 0) {
        struct err own = ERR_INIT;
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
            perf_server_run(server, &own);
        fprintf(stderr, "solar-perf: server: %s\n", own.text);
        _exit(1);
    }
    o->server_pid = child;
    enum err_code code = measure(o, err);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return code;
}

static enum err_code run(struct settings *s, struct err *err)
{
    struct perf_options *o = &s->perf;
    if (read_key(s, err) != ERR_OK)
        return err->code;
    if (s->serve) {
        struct perf_server *server;
        if (perf_server_new(o, &server, err) != ERR_OK)
            return err->code;
        fprintf(stderr, "solar-perf: serving on port %u\n", perf_server_port(server));
        return perf_server_run(server, err);
    }
    if (o->test == PERF_ALLREDUCE) /* has no server: all of its processes are alike */
        return measure(o, err);
    if (s->connect == NULL)
        return measure_here(o, err);
    o->peer = s->connect;
    return measure(o, err);
}

static uint32_t default_size(const struct perf_options *o)
{
    switch (o->test) {
    case PERF_SEND_LAT:
        return 64;
    case PERF_INCAST:
    case PERF_TENANTS:
        return 65536;
    case PERF_ALLREDUCE:
        return 4 * 1048576;
    case PERF_WRITE_BW:
    case PERF_READ_BW:
    case PERF_CPU:
        break;
    }
    return 1048576;
}

int main(int argc, char **argv)
{
    struct settings s = {.perf = {.address = "127.0.0.1",
                                  .depth = 16,
                                  .rounds = 3,
                                  .round_ns = NS_PER_S,
                                  .paths = 4,
                                  .spin_ns = 50000,
                                  .rate_bps = NS_PER_S,
                                  .senders = 8,
                                  .policy = PERF_POLICY_WEIGHT}};
    struct options options = {.rows = rows, .count = ROWS};
    struct err err = ERR_INIT;
    int rest;
    enum err_code code = options_read(&options, argc, argv, &s, &rest, &err);
    bool has_test =
        code == ERR_OK && argc - rest == 1 && perf_test_from_name(argv[rest], &s.perf.test);
    if (code == ERR_OK && (s.help || s.version)) {
        if (s.help)
            print_help(stdout);
        else
            printf("solar-perf %s\n", solar_version());
        return 0;
    }
    if (code == ERR_OK && !has_test && !(s.serve && argc == rest))
        code = err_set(
            &err, ERR_INVALID,
            "name one test: send_lat, write_bw, read_bw, cpu, incast, tenants or allreduce");
    if (code == ERR_OK)
        code = check_together(&s, &err);
    if (code != ERR_OK) {
        fprintf(stderr, "solar-perf: %s\nsolar-perf --help lists tests and options.\n", err.text);
        options_release(&options);
        return 2;
    }
    if (s.perf.size_bytes == 0)
        s.perf.size_bytes = default_size(&s.perf);
    if (s.perf.spin_ns == 0)
        s.perf.spin_ns = -1; /* 0 is the library's default */
    code = run(&s, &err);
    if (code != ERR_OK)
        fprintf(stderr, "solar-perf: %s\n", err.text);
    options_release(&options);
    return code == ERR_OK && fflush(stdout) == 0 ? 0 : 1;
}
