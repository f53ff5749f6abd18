#pragma once
/*
 * datapath/solar/perf/perf.h - what solar-perf measures: a client and a server, over libsolar and,
 * beside it in the same two processes, over TCP. The transport is used through solar.h only.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "datapath/solar/solar.h"

#define PERF_SIZE_MAX    (64 * 1024 * 1024) /* bytes of an operation */
#define PERF_DEPTH_MAX   256                /* operations under way */
#define PERF_ROUNDS_MAX  1000
#define PERF_SAMPLES_MAX 1000000 /* of a round */
#define PERF_CLIENTS_MAX 96      /* queue pairs of a server */
#define PERF_SECONDS_MAX 3600
#define PERF_SENDERS_MAX 32 /* processes of incast */
#define PERF_TENANT_A    5  /* flows of tenants, which weigh as many as the other has */
#define PERF_TENANT_B    2

enum perf_test {
    PERF_SEND_LAT,
    PERF_WRITE_BW,
    PERF_READ_BW,
    PERF_CPU,
    PERF_INCAST,
    PERF_TENANTS,
    PERF_ALLREDUCE
};

/* What two tenants are given: nothing (a flow is a flow), weights so that both weigh the same, or
 * 60 % of the line each as their limit. */
enum perf_policy { PERF_POLICY_NONE, PERF_POLICY_WEIGHT, PERF_POLICY_LIMIT };

/* In memory that processes share: all begin when all are ready. */
struct perf_gate {
    atomic_int ready;
    int count;
};

enum perf_format { PERF_TEXT, PERF_JSON, PERF_CSV };

struct perf_options {
    enum perf_test test;
    enum perf_format format;
    const char *address; /* own */
    const char *peer;    /* the server's; NULL = the same */
    uint16_t port;       /* of the server: UDP, and TCP */
    uint8_t key[SOLAR_KEY_SIZE];
    const char *control; /* folder of the node's agent, whose page and key hold; NULL = by itself */
    uint32_t label;      /* of the job, with `control`; 0 = labels of its own */
    uint32_t size_bytes;
    int depth, rounds, paths, payload_max;
    int64_t round_ns, spin_ns;
    int64_t rate_bps; /* of the test cpu; the line of tenants */
    int64_t line_bps; /* of the network device; 0 = the library's default */
    int senders;      /* of incast; processes of allreduce */
    bool ring;        /* allreduce goes round, else by halves */
    enum perf_policy policy;
    /* Of one process of several; 0 and NULL = none. */
    int64_t volume_bytes; /* ends the round, instead of its length */
    int64_t limit_bps;
    int weight;
    struct perf_gate *gate;
    bool tcp;
    int server_pid; /* its CPU counts too; 0 = on another host */
};

/* Of one round; 0 where it does not apply. */
struct perf_result {
    bool tcp;
    int64_t operations, bytes, ns;
    int64_t min_ns, p50_ns, p99_ns, p999_ns, max_ns; /* half of a round trip */
    int64_t cpu_ns;                                  /* of both processes; of this one alone if the
                                                        server is elsewhere */
    uint64_t sent_packets, resent_packets, spurious_packets;
    double fairness;           /* Jain's index of the senders' rates, of incast */
    double difference_percent; /* of the tenants' times */
};

const char *perf_test_name(enum perf_test test);
bool perf_test_from_name(const char *name, enum perf_test *out);

/* What a client asks of a server, in bytes of a message; the same over TCP. */
#define PERF_REQUEST_SIZE 16
struct perf_request {
    enum perf_test test;
    uint32_t size_bytes, depth;
};
void perf_request_put(const struct perf_request *request, uint8_t out[PERF_REQUEST_SIZE]);
/* False = not one, or out of range. */
bool perf_request_get(const uint8_t data[PERF_REQUEST_SIZE], struct perf_request *out);

int64_t perf_now_ns(void);
/* Of this process and the server's, since they began. */
int64_t perf_cpu_ns(const struct perf_options *options);
/* Sorts the samples (round trips) and sets the result's times. */
void perf_times(int64_t *samples, int64_t count, struct perf_result *result);

/* The server's. */
const char *perf_peer(const struct perf_options *options);

/* One round against the server; `samples` has room for PERF_SAMPLES_MAX (NULL: not of send_lat). */
ERR_MUST_CHECK enum err_code perf_solar_run(const struct perf_options *options, int64_t *samples,
                                            struct perf_result *out, struct err *err);
ERR_MUST_CHECK enum err_code perf_tcp_run(const struct perf_options *options, int64_t *samples,
                                          struct perf_result *out, struct err *err);

/* One round of several processes: incast, tenants. Over TCP policies are what the sender's pacing
 * can do: limits, no weights. */
ERR_MUST_CHECK enum err_code perf_many_run(const struct perf_options *options, bool tcp,
                                           struct perf_result *out, struct err *err);

/* One round of all-reduce over processes of this host; its times are of an all-reduce. */
ERR_MUST_CHECK enum err_code perf_reduce_run(const struct perf_options *options, int64_t *samples,
                                             struct perf_result *out, struct err *err);

struct perf_server;
ERR_MUST_CHECK enum err_code perf_server_new(const struct perf_options *options,
                                             struct perf_server **out, struct err *err);
uint16_t perf_server_port(const struct perf_server *server);
/* Serves until it is killed; returns only on an error. */
enum err_code perf_server_run(struct perf_server *server, struct err *err);

/* TCP: a listener at the port, and one client of it, served to its end; of a test of many, aside.
 */
ERR_MUST_CHECK enum err_code perf_tcp_listen(const struct perf_options *options, uint16_t port,
                                             int *out_fd, struct err *err);
void perf_tcp_serve(int listener, int64_t spin_ns);

void perf_report_begin(const struct perf_options *options, FILE *out);
void perf_report_round(const struct perf_options *options, int round,
                       const struct perf_result *result, FILE *out);
/* Medians of the rounds, and how the transports compare. */
void perf_report_end(const struct perf_options *options, const struct perf_result *results,
                     int count, FILE *out);
